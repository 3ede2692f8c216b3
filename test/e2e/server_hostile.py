#!/usr/bin/env python3
"""Clients of the server that mean ill, or do not know what they do: others are served all the same, and memory stays bounded."""
import errno
import hmac
import json
import random
import re
import resource
import select
import signal
import socket
import ssl
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from maestro_test import ROOT, SANITIZED, case, main
from server_test import HELLO, Server, problem
from server_tls import Authority


def resident_kb(server):
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def plain(server, data=b"", source="127.0.0.1"):
    client = socket.create_connection(("127.0.0.1", server.port), timeout=60, source_address=(source, 0))
    client.sendall(data)
    return client


def others_are_served(t, server):
    t.equal(server.get("/api").status, 200, "the answer to somebody else")


@case("")
def a_body_that_is_too_large_is_refused_before_it_is_sent(t):
    server = Server(t)
    head = f"POST /api/executions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.admin}\r\nContent-Length: 1073741824\r\n\r\n"
    client = plain(server, head.encode())
    answer = client.recv(65536)
    t.true(answer.startswith(b"HTTP/1.1 413"), f"413 and not {answer[:60]!r}")
    t.contains(answer.decode(), "content-too-large")
    others_are_served(t, server)


def in_chunks(server, path, count, behind, key=None):
    """What is answered to a body of so many pieces of a megabyte, and what is behind them."""
    client = plain(server, (f"POST {path} HTTP/1.1\r\nHost: x\r\n" + (f"Authorization: Bearer {key}\r\n" if key else "") +
                            "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n").encode())
    for _ in range(count):
        client.sendall(b"100000\r\n" + b" " * 0x100000 + b"\r\n")
    client.sendall(behind)
    answer = b""
    while piece := client.recv(65536):
        answer += piece
    client.close()
    return answer


@case("proves: R-084")
def a_body_without_an_announced_size_is_refused_at_the_limit_whatever_else_comes(t):
    server = Server(t)
    before = resident_kb(server)
    for path, key in (("/api/executions", server.admin), ("/maestro/hooks/default/no/thing", None)):
        for what, behind in (("its end", b"0\r\n\r\n"), ("what is no chunk", b"zz\r\nnothing\r\n"), ("a trailer that is none", b"0\r\nx\r\n\r\n"),
                             ("a size beyond 64 bits", b"ffffffffffffffffff\r\n")):
            with t.row(f"{path}: {what}"):
                answer = in_chunks(server, path, 24, behind, key)
                t.equal(answer.count(b"HTTP/1.1 "), 1, "answers")
                t.true(answer.startswith(b"HTTP/1.1 413 "), "413")
                t.contains(answer.decode(), "a body has at most 16777216 bytes")
    long = in_chunks(server, "/maestro/trigger/default/" + '"' * 15_000, 24, b"0\r\n\r\n")
    t.true(long.startswith(b"HTTP/1.1 413 "), "however long its path is")
    t.equal(gauge(server, "maestro_http_body_bytes"), 0, "nothing of them is held")
    client = plain(server, (f"POST /api/executions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.admin}\r\n"
                            "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n").encode())
    while not select.select([client], [], [], 0)[0]:
        client.sendall(b"100000\r\n" + b" " * 0x100000 + b"\r\n")
    t.true(client.recv(65536).startswith(b"HTTP/1.1 413 "), "it is told while the body still comes, which has no end")
    t.equal(gauge(server, "maestro_http_body_bytes"), 0, "and what it took is free")
    client.close()
    t.true(SANITIZED or resident_kb(server) - before < 80 * 1024, "memory is bounded")
    others_are_served(t, server)


@case("")
def clients_that_leave_in_the_middle_of_a_body_are_let_go_of_before_their_time_is_over(t):
    server = Server(t)
    began = time.monotonic()
    head = f"POST /api/executions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.admin}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"

    def leave():
        for _ in range(100):
            plain(server, head.encode()).close()
    leavers = [threading.Thread(target=leave) for _ in range(4)]
    for leaver in leavers:
        leaver.start()
    for leaver in leavers:
        leaver.join()
    t.until(lambda: gauge(server, "maestro_http_connections") == 1, "they are gone")
    t.true(time.monotonic() - began < bound("API_REQUEST_MS_MAX") / 1000, "though a body may take longer")
    t.equal(server.stop().code, 0, "the exit code")


@case("")
def a_client_that_says_that_nothing_more_comes_has_all_its_answers_and_is_let_go_of(t):
    server = Server(t)
    began, answers = time.monotonic(), b""
    client = plain(server, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * 3)
    client.shutdown(socket.SHUT_WR)
    while piece := client.recv(65536):
        answers += piece
    t.equal(answers.count(b"HTTP/1.1 200"), 3, "what was asked before is answered")
    t.true(time.monotonic() - began < bound("API_IDLE_S"), "though a connection without a request may stay longer")


@case("")
def bodies_of_strangers_are_not_taken_and_keep_nobody_from_sending_theirs(t):
    server = Server(t)
    server.define(HELLO)
    head = "POST {} HTTP/1.1\r\nHost: x\r\n{}Content-Type: application/json\r\nContent-Length: 16777216\r\n\r\n"
    for what, line in (("no key", ""), ("an unknown key", "Authorization: Bearer mk.default.cccccccc.dddddddddddddddddddddddddddddddd\r\n")):
        with t.row(what):
            client = plain(server, head.format("/api/executions", line).encode())
            t.true(client.recv(65536).startswith(b"HTTP/1.1 401"), "the head is answered")
    before = resident_kb(server)
    body = b"x" * (1 << 20)
    stalled = []
    for _ in range(20):                         # a trigger has its own credentials, which may be in its body
        client = plain(server, head.format("/maestro/hooks/default/hello/manual", "").encode())
        client.settimeout(5)
        try:
            for _ in range(15):
                client.sendall(body)
        except OSError:
            pass
        stalled.append(client)
    t.true(SANITIZED or resident_kb(server) - before < 100 * 1024, "memory of those without a key is bounded")
    begun = server.post("/api/executions", {"workflowId": "hello", "parameters": {"who": "me"}})
    t.equal(begun.status, 201, "who has a key")
    further = head.format("/maestro/hooks/default/hello/manual", "").replace("16777216", "4000000").encode() + b"x" * 4000000
    refused = plain(server, further).recv(65536)
    t.true(refused.startswith(b"HTTP/1.1 503"), f"503 and not {refused[:60]!r}")
    t.contains(refused.decode(), "Retry-After")
    t.contains(refused.decode(), "bodies of this address")
    other = plain(server, further, source="127.0.0.2").recv(65536)
    t.true(other.startswith(b"HTTP/1.1 401"), f"what comes from another address is read: 401 and not {other[:60]!r}")


@case("")
def a_stranger_is_refused_by_its_head_and_asked_for_no_body(t):
    server = Server(t)
    body = b'{"workflowId":"none"}'
    head = f"POST /api/executions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    known, asked = f"Authorization: Bearer {server.admin}\r\n", "Expect: 100-Continue\r\n"
    with t.row("a stranger that asks"):
        answer = whole(server, (head + asked + "\r\n").encode())
        t.true(answer.startswith(b"HTTP/1.1 401 "), f"401 and not {answer[:60]!r}")
        t.contains(answer.decode().lower(), "connection: close")
    with t.row("a stranger that asks with nothing to send"):
        answer = plain(server, (head.replace(str(len(body)), "0") + asked + "\r\n").encode()).recv(65536)
        t.true(answer.startswith(b"HTTP/1.1 401 "), f"401 and not {answer[:60]!r}")
    with t.row("one in chunks"):
        answer = whole(server, (head.replace(f"Content-Length: {len(body)}", "Transfer-Encoding: chunked") + "\r\n").encode())
        t.true(answer.startswith(b"HTTP/1.1 401 "), f"401 and not {answer[:60]!r}")
    with t.row("who has a key"):
        client = plain(server, (head + known + asked + "\r\n").encode())
        t.equal(client.recv(65536), b"HTTP/1.1 100 Continue\r\n\r\n")
        client.sendall(body)
        t.true(client.recv(65536).startswith(b"HTTP/1.1 404 "), "it is answered when its body has come")
    with t.row("a stranger that does not ask"):
        client = plain(server, (head + "\r\n").encode())
        client.sendall(body)
        t.true(client.recv(65536).startswith(b"HTTP/1.1 401 "), "401")
        client.sendall((head + known + "\r\n").encode() + body)
        t.true(client.recv(65536).startswith(b"HTTP/1.1 404 "), "the connection goes on")


@case("")
def the_bodies_of_one_tenant_leave_room_for_those_of_others(t):
    server = Server(t)
    server.define(HELLO)
    server.define(HELLO.replace("workflow: hello", "workflow: hello\ntenant: acme"), tenant="acme")
    key, other = server.key("operator", "acme"), server.key("operator")
    head = f"POST /api/executions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\nContent-Length: 16777216\r\n\r\n"
    stalled = []
    for _ in range(20):
        client = plain(server, head.encode())
        client.settimeout(5)
        try:
            for _ in range(15):
                client.sendall(b" " * (1 << 20))
        except OSError:
            pass
        stalled.append(client)
    begin = {"workflowId": "hello", "parameters": {"who": "me" * 3_000_000}}
    answer = server.post("/api/executions", begin, key=key)
    t.equal((answer.status, "Retry-After" in answer.headers), (503, True), "its own tenant")
    t.equal(server.post("/api/executions", begin, key=other).status, 201, "another tenant")


@case("")
def heads_that_never_end_and_clients_that_never_read_hold_up_nobody(t):
    server = Server(t)
    server.define(HELLO)
    slow = [plain(server, b"GET /api HTTP/1.1\r\nHost: x\r\nX-Slow: ") for _ in range(200)]
    half = [plain(server, b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n") for _ in range(50)]
    for client in half:
        client.shutdown(socket.SHUT_WR)
    deaf = plain(server, b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 2000)
    for client in slow:
        client.sendall(b"a")
    for _ in range(20):
        t.equal(server.begin("hello", {"who": "x"}, wait="30s")["status"], "COMPLETED")
    for client in slow + half + [deaf]:
        client.close()


WAITS = """workflow: waits
jobs: { a: { tasks: [{ name: t, run: sleep, input: { duration: 10m } }] } }
"""


@case("")
def those_who_wait_and_hang_up_leave_nothing_behind(t):
    server = Server(t)
    server.define(WAITS)
    run = server.begin("waits")["executionId"]
    for path, name in ((f"/api/executions/{run}?wait=30s", "maestro_http_requests_waiting"), ("/api/events", "maestro_event_streams")):
        for is_reset in (True, False):
            if not is_reset and "wait=" in path:
                continue                        # closed is not broken: it may still read, and gets its answer when its time is over
            with t.row(f"{path.split('?')[0]} {'reset' if is_reset else 'closed'}"):
                before = gauge(server, name)             # of those that wait this request is one
                clients = [plain(server, f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.admin}\r\n\r\n".encode()) for _ in range(100)]
                t.until(lambda: gauge(server, name) >= before + 100, "they wait")
                for client in clients:
                    if is_reset:
                        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    client.close()
                t.until(lambda: gauge(server, name) <= before, "none of them is left")
    others_are_served(t, server)


def open_files():
    """As many as the system permits; how many that is."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    return limit


def bound(name):
    """A number of src/base/limits.h."""
    return int(re.search(rf"#define {name} +(\d+)", (ROOT / "src/base/limits.h").read_text())[1])


def gauge(server, name):
    text = server.get("/metrics").body.decode()
    return int(next(line for line in text.splitlines() if line.startswith(name + " ")).split()[1])


def asks(server, path, key):
    return plain(server, f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\r\n".encode())


@case("")
def memory_of_many_streams_is_given_back_when_they_are_gone(t):
    open_files()
    server = Server(t)
    keys = [server.key("viewer", tenant) for tenant in ("acme", "acme", "beta", "beta")]
    others_are_served(t, server)
    before = resident_kb(server)
    for _ in range(3):
        clients = [asks(server, "/api/events", key) for key in keys for _ in range(250)]
        t.until(lambda: gauge(server, "maestro_event_streams") == 1000, "they are open")
        for client in clients:
            client.close()
        t.until(lambda: gauge(server, "maestro_event_streams") == 0, "they are gone")
    if not SANITIZED:                           # which keep what is freed for a while, on purpose
        t.until(lambda: resident_kb(server) - before < 10 * 1024, "their memory is the system's again")


@case("")
def requests_that_wait_take_of_the_share_of_their_key_and_tenant_and_of_nobody_else(t):
    open_files()
    server = Server(t, "--runners", str(t.write("runners.yaml", "executors:\n  far: { kind: worker, runners: { far/greet: {} } }\n")))
    server.define(WAITS.replace("workflow: waits", "workflow: waits\ntenant: acme"), tenant="acme")
    server.define(WAITS)
    first, second, third = (server.key("operator", "acme") for _ in range(3))
    run = server.begin("waits", key=first)["executionId"]
    path = f"/api/executions/{run}?wait=30s"
    of_key, of_tenant = bound("API_WAITING_KEY_MAX"), bound("API_WAITING_TENANT_MAX")
    clients = [asks(server, path, first) for _ in range(of_key)]
    t.until(lambda: gauge(server, "maestro_http_requests_waiting") >= of_key, "they wait")
    refused = server.get(path, key=first)
    t.contains(problem(t, refused, 429, "overloaded")["detail"], f"this key has {of_key} requests that wait already")
    t.equal(refused.headers["Retry-After"], "1")
    t.equal(server.get(path.split("?")[0], key=first).status, 200, "the same without waiting")
    started = server.post("/api/executions?wait=30s", {"workflowId": "waits"}, key=first)
    t.equal((started.status, started.json()["status"]), (201, "RUNNING"), "who starts one is told so at once")
    exchange = {"want": 1, "wait_ms": 1000}
    problem(t, server.post("/api/executors/none/exchange", exchange, key=server.key("worker", "acme")), 404, "not-found")
    clients += [asks(server, path, second) for _ in range(of_tenant - of_key)]
    t.until(lambda: gauge(server, "maestro_http_requests_waiting") >= of_tenant, "as many as a tenant may have")
    with t.row("another key of the tenant"):
        t.contains(problem(t, server.get(path, key=third), 429, "overloaded")["detail"], f"this tenant has {of_tenant} requests that wait already")
        problem(t, server.post("/api/executors/far/exchange", exchange, key=server.key("worker", "acme")), 429, "overloaded")
        t.equal(server.post("/api/executors/far/exchange", {"want": 1}, key=server.key("worker", "acme")).status, 200, "who does not wait")
    for open_path in ("/healthz", "/readyz", "/metrics"):
        with t.row(open_path):
            t.equal(server.get(open_path, key="").status, 200)
    with t.row("another tenant"):
        other = server.begin("waits")["executionId"]
        t.equal(server.get(f"/api/executions/{other}?wait=100ms").status, 200)
    for client in clients:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
    t.until(lambda: server.get(path.replace("30s", "100ms"), key=third).status == 200, "what they held is given back")


HOOKED = """workflow: NAME
tenant: TENANT
triggers:
HOOKSjobs: { a: { tasks: [TASK] } }
"""


@case("proves: F-043 F-109")
def triggers_that_were_let_in_take_of_the_share_of_their_tenant_and_of_nobody_else(t):
    open_files()
    server = Server(t)
    each = 8                                    # triggers, so that no rate_limit is reached
    hooks = "".join(f"  - webhook: {{ key: h{i}, auth: {{ hub_signature: orders }}, rate_limit: 200/s }}\n" for i in range(each))
    for tenant, task in (("acme", "{ name: t, run: sleep, input: { duration: 10m } }"), ("beta", "{ name: t, log: x }")):
        server.define(HOOKED.replace("NAME", "hooked").replace("TENANT", tenant).replace("HOOKS", hooks).replace("TASK", task), tenant=tenant)
        t.require(server.call("PUT", f"/api/secrets/orders?namespace={tenant}", {"value": "s3cret"}).status in (200, 201), "the secret is set")

    def sends(tenant, number, body, wait="30s"):
        mac = hmac.new(b"s3cret", body, "sha256").hexdigest()
        head = f"POST /maestro/hooks/{tenant}/hooked/h{number % each}?wait={wait} HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: sha256={mac}\r\n"
        return plain(server, f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)

    def taken(name, bytes_of):
        large = [sends("acme", i, json.dumps({"n": i, "x": "x" * (bytes_of - 20)}).encode()) for i in range(10)]
        t.until(lambda: gauge(server, "maestro_http_body_bytes") > 9 * bytes_of, name)
        return large

    with t.row("bodies of those that wait"):
        large = taken("more than those of one address without a key may take", 4_000_000)
        answer = sends("beta", 0, b'{"n": 1}').recv(65536).decode()
        t.true(answer.startswith("HTTP/1.1 202") and "COMPLETED" in answer, f"another tenant's is taken: {answer}")
        large += taken("and more than a tenant may have", 2_000_000)
        refused = [sends("acme", i, json.dumps({"m": i, "x": "x" * 9_000_000}).encode(), wait="0") for i in range(2)][-1].recv(65536).decode()
        t.true(refused.startswith("HTTP/1.1 503"), f"its own tenant's is refused: {refused}")
        t.contains(refused, "bodies of this key")
    for client in large:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
    t.until(lambda: gauge(server, "maestro_http_requests_waiting") == 0, "they are gone")
    with t.row("requests that wait"):
        of_key = bound("API_WAITING_KEY_MAX")
        clients = [sends("acme", i, json.dumps({"w": i}).encode()) for i in range(of_key)]
        t.until(lambda: gauge(server, "maestro_http_requests_waiting") >= of_key, "as many as a sender may have")
        answer = sends("acme", 0, b'{"w": "further"}').recv(65536).decode()
        t.true(answer.startswith("HTTP/1.1 202") and "COMPLETED" not in answer, f"a further one is taken, and does not wait: {answer}")
        answer = sends("beta", 1, b'{"n": 2}').recv(65536).decode()
        t.true(answer.startswith("HTTP/1.1 202") and "COMPLETED" in answer, f"another tenant's waits for the end: {answer}")
    del clients
    server.stop(signal.SIGKILL)


@case("")
def event_streams_take_of_the_share_of_their_key_and_tenant_and_of_nobody_else(t):
    open_files()
    server = Server(t)
    first, second, third, other = server.key("viewer", "acme"), server.key("viewer", "acme"), server.key("viewer", "acme"), server.key("viewer", "beta")
    of_key, of_tenant = bound("API_STREAM_KEY_MAX"), bound("API_STREAM_TENANT_MAX")
    clients = [asks(server, "/api/events", first) for _ in range(of_key)]
    t.until(lambda: gauge(server, "maestro_event_streams") == of_key, "they are open")
    refused = server.get("/api/events", key=first)
    t.contains(problem(t, refused, 429, "overloaded")["detail"], f"this key has {of_key} event streams already")
    t.equal(refused.headers["Retry-After"], "1")
    clients += [asks(server, "/api/events", second) for _ in range(of_tenant - of_key)]
    t.until(lambda: gauge(server, "maestro_event_streams") == of_tenant, "as many as a tenant may have")
    t.contains(problem(t, server.get("/api/events", key=third), 429, "overloaded")["detail"], f"this tenant has {of_tenant} event streams already")
    clients += [asks(server, "/api/events", other)]
    t.until(lambda: gauge(server, "maestro_event_streams") == of_tenant + 1, "another tenant has its own")
    for client in clients:
        client.close()
    t.until(lambda: gauge(server, "maestro_event_streams") == 0, "all are given back")
    clients = [asks(server, "/api/events", first)]
    t.until(lambda: gauge(server, "maestro_event_streams") == 1, "and there is room again")


def told(client, enough):
    """The answer to a stream as far as `enough` says."""
    text = ""
    while not enough(text):
        piece = client.recv(65536)
        if not piece:
            break
        text += piece.decode()
    return text


@case("proves: F-003")
def a_record_is_read_once_however_many_streams_listen_and_those_of_others_are_not_woken(t):
    server = Server(t)
    server.define(HELLO)
    server.define(HELLO.replace("workflow: hello", "workflow: hello\ntenant: acme"), tenant="acme")
    keys = {"acme": server.key("operator", "acme"), "beta": server.key("viewer", "beta"), "default": server.key("viewer")}
    streams = {tenant: [asks(server, "/api/events", key) for _ in range(40)] for tenant, key in keys.items()}
    everything = asks(server, "/api/events", server.admin)
    t.until(lambda: gauge(server, "maestro_event_streams") == 121, "they are open")
    counted = ("maestro_engine_records_total", "maestro_event_records_total")
    before = [gauge(server, name) for name in counted]
    run = server.begin("hello", {"who": "x"}, wait="30s", key=keys["acme"])["executionId"]
    others = [server.begin("hello", {"who": "x"}, wait="30s")["executionId"] for _ in range(20)]
    for i, client in enumerate(streams["acme"]):
        with t.row(f"stream {i} of acme"):
            text = told(client, lambda text: "run-succeeded" in text)
            t.contains(text, run)
            t.true(not any(other in text for other in others), "nothing of another tenant")
    for client in streams["default"]:
        text = told(client, lambda text: text.count("event: run-succeeded") == len(others))
        t.lacks(text, run, "nothing of another tenant")
    t.contains(told(everything, lambda text: text.count("event: run-succeeded") == len(others) + 1), run, "who may see all")
    t.until(lambda: gauge(server, counted[1]) - before[1] >= gauge(server, counted[0]) - before[0], "all was read")
    written, read = (gauge(server, name) - was for name, was in zip(counted, before))
    t.true(written > 20, "there was something to read")
    t.true(read <= written + 4, f"{written} records were read {read} times, for 121 streams")      # and what is of no run
    for client in streams["beta"]:
        client.setblocking(False)
        t.lacks(client.recv(65536).decode(), "executionId", "a tenant of which nothing happened")


@case("")
def a_stream_that_begins_far_back_walks_there_in_turns_and_others_go_between(t):
    server = Server(t)
    server.define(HELLO)
    server.define(HELLO.replace("workflow: hello", "workflow: hello\ntenant: acme"), tenant="acme")
    key, turn = server.key("operator", "acme"), bound("FEED_TURN_COUNT")
    first = server.begin("hello", {"who": "x"}, wait="30s", key=key)["executionId"]
    counted = ("maestro_event_records_total", "maestro_event_reads_total", "maestro_engine_records_total")
    while gauge(server, counted[2]) < 5 * turn:
        server.begin("hello", {"who": "x"}, wait="30s")
    last = server.begin("hello", {"who": "x"}, wait="30s", key=key)["executionId"]
    before = [gauge(server, name) for name in counted[:2]]
    client = plain(server, f"GET /api/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nLast-Event-ID: 1.1\r\n\r\n".encode())
    text = told(client, lambda text: text.count("event: run-succeeded") == 2)
    t.true(first in text and last in text, "both of its own are told")
    t.true(text.count("event: run-created") == 2, "nothing is told twice")
    records, reads = (gauge(server, name) - was for name, was in zip(counted, before))
    t.true(records >= 5 * turn, f"it walked {records} records")
    t.true(records <= reads * turn, f"{records} records in {reads} turns, of {turn} at most")
    now = server.begin("hello", {"who": "x"}, wait="30s", key=key)["executionId"]
    t.contains(told(client, lambda text: "run-succeeded" in text), now, "and it goes on with what happens")


@case("proves: F-051")
def starts_that_are_held_back_take_of_the_share_of_who_sends_them(t):
    server = Server(t)
    of_key, each = bound("API_DEBOUNCE_KEY_MAX"), 32
    hooks = "".join(f"  - webhook: {{ key: h{i}, auth: {{ api_key: true }}, debounce: 10m }}\n" for i in range(each))
    for tenant, count in (("default", of_key // each + 1), ("beta", 1)):
        for i in range(count):
            server.define(f"workflow: w{i}\ntenant: {tenant}\ntriggers:\n{hooks}jobs: {{ a: {{ tasks: [{{ name: t, log: x }}] }} }}\n", tenant=tenant)
    first, second, other = server.key("operator"), server.key("operator"), server.key("operator", "beta")
    for i in range(of_key):
        t.require(server.post(f"/maestro/hooks/default/w{i // each}/h{i % each}", key=first).status == 202, f"start {i} is held back")
    further = f"/maestro/hooks/default/w{of_key // each}/h0"
    t.contains(problem(t, server.post(further, key=first), 429, "overloaded")["detail"], f"this key has {of_key} starts that are held back already")
    t.equal(server.post("/maestro/hooks/default/w0/h0", key=first).status, 202, "one more event of what is held back already")
    t.equal(server.post(further, key=second).status, 202, "another key")
    t.equal(server.post("/maestro/hooks/beta/w0/h0", key=other).status, 202, "another tenant")
    server.stop(signal.SIGKILL)
    server.start()
    problem(t, server.post(further.replace("h0", "h1"), key=first), 429, "overloaded")          # what was taken before the end counts after it


@case("")
def idle_connections_cost_little_and_are_many(t):
    count = min(10000, (open_files() - 1100) * 9 // 10)          # the server keeps some of the same for itself
    server = Server(t)
    server.define(HELLO)
    before = resident_kb(server)
    clients = [plain(server) for _ in range(count)]
    others_are_served(t, server)
    t.until(lambda: int(server.get("/metrics").body.split(b"maestro_http_connections ")[-1].split()[0]) >= count, "all are connected")
    t.true(resident_kb(server) - before < 40 * count, f"{count} connections take {resident_kb(server) - before} KB")
    t.equal(server.begin("hello", {"who": "x"}, wait="30s")["status"], "COMPLETED")
    for client in clients:
        client.close()


@case("")
def connections_leave_the_descriptors_that_steps_are_carried_out_with(t):
    server = Server(t, before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024)))
    server.define("workflow: program\njobs: { a: { tasks: [{ name: one, run: shell, args: ['true'] }] } }\n")
    open_files()
    clients = [plain(server) for _ in range(1200)]
    t.until(lambda: int(server.get("/metrics").body.split(b"maestro_http_connections ")[-1].split()[0]) > 200, "many are connected")
    t.equal(server.begin("program", wait="30s")["status"], "COMPLETED", "a program is run beside them")
    t.contains(t.said(server.process), "1024 files may be open: 256 connections are taken at a time", "who runs it is told")
    for client in clients:
        client.close()


@case("proves: R-084")
def a_body_of_no_bytes_is_answered_at_every_address_and_as_every_type(t):
    server = Server(t)
    server.define(HELLO)
    addresses = [(method.upper(), re.sub(r"\{[^}]*\}", "x", path)) for path, methods in server.get("/openapi.json").json()["paths"].items()
                 for method in methods if method != "get"]
    t.true(len(addresses) > 20, "what can be sent to")
    for method, path in addresses + [("POST", "/api/runbooks?action=validate"), ("POST", "/api/runbooks?action=plan")]:
        for kind in ("application/yaml", "application/json", None):
            with t.row(f"{method} {path} {kind}"):
                answer = server.call(method, path, headers={"Content-Type": kind} if kind else {})
                t.true(answer.status < 500, f"no failure of the server: {answer!r}")
    yaml = {"Content-Type": "application/yaml"}
    t.contains(str(problem(t, server.call("POST", "/api/workflows", headers=yaml), 400, "definition-invalid")), "is empty")
    t.contains(str(server.call("POST", "/api/runbooks?action=validate", headers=yaml).json()), "is empty")
    others_are_served(t, server)


@case("")
def what_is_no_http_is_refused_and_nothing_breaks(t):
    server = Server(t)
    chance = random.Random(7)
    rows = [
        b"\x00\x01\x02\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\r\n" * 100, b"GET /%00%ff%zz HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 50000 + b"\r\n",
        b"POST /api/executions HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"POST /api/executions HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        b"POST /api/executions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /api/executions HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ] + [bytes(chance.randrange(256) for _ in range(chance.randrange(1, 3000))) for _ in range(60)]

    def say(data):
        """Until the server hangs up; some of these it waits for until they are late."""
        try:
            client = plain(server, data)
            client.shutdown(socket.SHUT_WR)
            while client.recv(65536):
                pass
        except OSError as error:
            has_hung_up = isinstance(error, ConnectionError) or error.errno == errno.ENOTCONN        # on the rest
            return None if has_hung_up else str(error)
    with ThreadPoolExecutor(len(rows)) as pool:
        for data, fault in zip(rows, pool.map(say, rows)):
            t.equal(fault, None, f"the connection of {data[:40]!r} is ended")
    t.equal(server.process.poll(), None, "the server lives")
    others_are_served(t, server)


def whole(server, data):
    """Everything that comes back for these bytes, until the server hangs up."""
    client, answer = plain(server), b""
    try:
        client.sendall(data)
        while piece := client.recv(65536):
            answer += piece
    except ConnectionError:
        pass                                    # it hung up on the rest of what was sent
    client.close()
    return answer


def in_pieces(server, data, size=1):
    """The same in segments of that many bytes."""
    client, answer = plain(server), b""
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        for at in range(0, len(data), size):
            client.sendall(data[at:at + size])
    except ConnectionError:
        pass                                    # it hung up on the rest, and what it said is read all the same
    try:
        while piece := client.recv(65536):
            answer += piece
    except ConnectionError:
        pass
    client.close()
    return answer


HEAD = "Host: x\r\n"
POST = "POST /api/executions HTTP/1.1\r\n" + HEAD


@case("proves: R-084")
def heads_that_two_readers_could_take_for_different_ones_are_refused_as_problems(t):
    server = Server(t)
    rows = [
        ("GET /api HTTP/1.1\r\n\r\n", 400, "no Host"),
        ("GET /api HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "more than one Host"),
        ("GET /api HTTP/1.1\r\nHost: a/b\r\n\r\n", 400, "Host is none"),
        ("G@T /api HTTP/1.1\r\n" + HEAD + "\r\n", 400, "method"),
        ("GET /api HTTP/1.1\r\n" + HEAD + "X : y\r\n\r\n", 400, "name of a header"),
        ("GET /api HTTP/1.1\r\n X: y\r\n" + HEAD + "\r\n", 400, "name of a header"),
        ("GET /api HTTP/1.1\r\n" + HEAD + "X: a\rb\r\n\r\n", 400, "control character"),
        (POST + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef", 400, "more than one Content-Length"),
        (POST + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "both Content-Length and Transfer-Encoding"),
        (POST + "Transfer-Encoding: gzip\r\n\r\nabc", 400, "not 'chunked'"),
        (POST + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400, "not 'chunked'"),
        (POST.replace("1.1", "1.0") + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "HTTP/1.0 has no Transfer-Encoding"),
        ("GET /api HTTP/1.1\r\n" + HEAD + "X: " + "y" * 17000 + "\r\n\r\n", 431, "16384 bytes"),
        ("GET /" + "a" * 17000 + " HTTP/1.1\r\n" + HEAD + "\r\n", 431, "16384 bytes"),
        ("GET /api HTTP/1.1\r\n" + HEAD + "".join(f"X{i}: y\r\n" for i in range(128)) + "\r\n", 431, "128 headers"),
        ("GET /api?" + "&".join(f"a{i}=1" for i in range(33)) + " HTTP/1.1\r\n" + HEAD + "\r\n", 431, "32 parameters"),
        (POST + "Content-Length: 18446744073709551615\r\n\r\n", 413, "16777216 bytes"),
    ]
    for data, status, part in rows:
        with t.row(repr(data[:80])):
            head, _, body = whole(server, data.encode("latin-1")).partition(b"\r\n\r\n")
            t.true(head.startswith(b"HTTP/1.1 %d " % status), f"{status} and not {head[:60]!r}")
            t.contains(head.decode().lower(), "content-type: application/problem+json")
            t.contains(head.decode().lower(), "connection: close")
            said = json.loads(body)
            t.equal(said["status"], status)
            t.contains(said["detail"], part)
            page = server.get("/errors/" + said["type"].rsplit("/", 1)[1])
            t.equal(page.status, 200, "its page")
    others_are_served(t, server)
    t.contains(whole(server, b"GET http://other/healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").decode(), "200 OK", "a target with scheme and host")
    t.contains(whole(server, b"GET /healthz HTTP/1.0\r\n\r\n").decode(), "200 OK", "the old version")


SECOND = "GET /second HTTP/1.1\r\nHost: x\r\n\r\n"        # which one reader carries out, and another takes for the body of the first
IN_TWO = "goes on in a second line, or has a NUL in it"
IN_LINE = "not a method, a target and a version with one space between them"
HIDDEN = [
    ("a length in a second line", POST + f"Content-Length:\r\n {len(SECOND)}\r\n\r\n", IN_TWO),
    ("a length that goes on", POST + f"Content-Length: {len(SECOND)}\r\n\t0\r\n\r\n", IN_TWO),
    ("a second line of spaces", POST + f"Content-Length: {len(SECOND)}\r\n  \r\n\r\n", IN_TWO),
    ("a second line of an LF", POST + f"Content-Length:\n {len(SECOND)}\n\n", IN_TWO),
    ("a coding in a second line", POST + f"Transfer-Encoding:\r\n chunked\r\n\r\n{len(SECOND):x}\r\n", IN_TWO),
    ("a second line before the length", POST + f"X: a\r\n b\r\nContent-Length: {len(SECOND)}\r\n\r\n", IN_TWO),
    ("a first header that goes on", f"POST /api/signals HTTP/1.1\r\nHost:\r\n x\r\nContent-Length: {len(SECOND)}\r\n\r\n", IN_TWO),
    ("a NUL in the length", POST + f"Content-Length: {len(SECOND)}\0 99\r\n\r\n", IN_TWO),
    ("a NUL before the length", POST + f"Content-Length:\0{len(SECOND)}\r\n\r\n", "one of its headers cannot be read"),
    ("a NUL before a value", "GET /healthz HTTP/1.1\r\n" + HEAD + "X:\0y\r\n\r\n", IN_TWO),
    ("a NUL in the coding", POST + "Transfer-Encoding: chunked\0, identity\r\n\r\n0\r\n\r\n", IN_TWO),
    ("a NUL in the host", "GET /healthz HTTP/1.1\r\nHost: x\0, y\r\n\r\n", IN_TWO),
    ("a NUL in the key", "GET /api HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer KEY\0junk\r\n\r\n", IN_TWO),
    ("a NUL in a name", POST + f"Content-Length\0: {len(SECOND)}\r\n\r\n", "one of its headers cannot be read"),
    ("a line that begins with a NUL", POST + f"X: y\r\n\0Content-Length: {len(SECOND)}\r\n\r\n", IN_TWO),
    ("a line that is a NUL", POST + f"X: y\r\n\0\r\nContent-Length: {len(SECOND)}\r\n\r\n", IN_TWO),
    ("a first line of headers with a NUL", f"POST /api/signals HTTP/1.1\r\n\0Host: x\r\nContent-Length: {len(SECOND)}\r\n\r\n", IN_TWO),
    ("a NUL in the method", "GET\0X /healthz HTTP/1.1\r\n" + HEAD + "\r\n", IN_LINE),
    ("a NUL in the path", "GET /healthz\0/private HTTP/1.1\r\n" + HEAD + "\r\n", IN_LINE),
    ("a NUL in the query", "GET /healthz?a=1\0&b=1 HTTP/1.1\r\n" + HEAD + "\r\n", IN_LINE),
    ("a NUL in the version", "GET /healthz HTTP/1.1\0\r\n" + HEAD + "\r\n", "its line or one of its headers cannot be read"),
    ("two spaces before the target", "GET  /healthz HTTP/1.1\r\n" + HEAD + "\r\n", IN_LINE),
    ("two spaces after the target", "GET /healthz  HTTP/1.1\r\n" + HEAD + "\r\n", "its target has a space"),
    ("a space in the path", "GET /healthz x HTTP/1.1\r\n" + HEAD + "\r\n", "its target has a space"),
    ("a version in the query", "GET /healthz?a HTTP/1.1 HTTP/1.1\r\n" + HEAD + "\r\n", "its target has a space"),
    ("a tab in the query", "GET /healthz?a\tb HTTP/1.1\r\n" + HEAD + "\r\n", "its target has a space or a control character"),
    ("a CR in the path", "GET /healthz\rx HTTP/1.1\r\n" + HEAD + "\r\n", "its target has a space or a control character"),
]


@case("proves: R-084")
def what_a_head_hides_from_one_of_two_readers_is_refused_and_nothing_behind_it_is_carried_out(t):
    cert, key = t.folder / "cert.pem", t.folder / "key.pem"
    Authority(t).sign("IP:127.0.0.1", cert, key)
    plain = Server(t)
    tls = Server(t, "--tls-cert", cert, "--tls-key", key, store=str(t.folder / "tls.db"))
    first = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    for server, ask in ((plain, whole), (tls, encrypted), (plain, in_pieces)):
        for what, data, part in HIDDEN:
            for before in (b"", first):                         # alone, and behind another one of its connection
                with t.row(f"{what}, {ask.__name__}, {'second' if before else 'first'}"):
                    answers = ask(server, before + data.replace("KEY", server.admin).encode("latin-1") + SECOND.encode())
                    t.equal(answers.count(b"HTTP/1.1 "), 2 if before else 1, "answers")
                    head, _, body = answers[answers.rfind(b"HTTP/1.1 "):].partition(b"\r\n\r\n")
                    t.true(head.startswith(b"HTTP/1.1 400 "), f"400 and not {head[:60]!r}")
                    t.contains(head.decode().lower(), "connection: close")
                    t.contains(json.loads(body)["detail"], part)
    others_are_served(t, plain)


@case("proves: R-084")
def nothing_behind_a_body_in_chunks_is_carried_out(t):
    server = Server(t)
    body = '{"workflowId":"none"}'
    head = POST + f"Authorization: Bearer {server.admin}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = f"{len(body):x}\r\n{body}\r\n"
    rows = [
        ("as it should be", chunk + "0\r\n\r\n"),
        ("extensions and trailers", chunk.replace("\r\n", ";a=b\r\n", 1) + "0;c\r\nX: y\r\nZ:\r\n\r\n"),
        ("LF alone", (chunk + "0\r\n\r\n").replace("\r", "")),
        ("a trailer that begins with a NUL", chunk + "0\r\n\0X: y\r\n"),
        ("a trailer that goes on", chunk + "0\r\nX: y\r\n z\r\n\r\n"),
    ]
    for what, data in rows:
        for how, answers in (("whole", whole(server, (head + data + SECOND).encode())), ("bytes", in_pieces(server, (head + data + SECOND).encode()))):
            with t.row(f"{what}, {how}"):
                t.equal(answers.count(b"HTTP/1.1 "), 1, "answers")
                t.true(answers.startswith(b"HTTP/1.1 404 "), f"404 and not {answers[:60]!r}")
                t.contains(answers.decode().lower(), "connection: close")


@case("proves: R-084")
def a_head_within_the_bounds_is_taken_in_whatever_pieces_it_comes(t):
    cert, key = t.folder / "cert.pem", t.folder / "key.pem"
    Authority(t).sign("IP:127.0.0.1", cert, key)
    plain = Server(t)
    tls = Server(t, "--tls-cert", cert, "--tls-key", key, store=str(t.folder / "tls.db"))
    line, end = "GET /healthz HTTP/1.1\r\nHost: x\r\n", "Connection: close\r\n\r\n"
    many = "".join(f"X-{i}: {'y' * (i % 7)}\r\n" for i in range(bound("TRIGGER_HEADER_COUNT_MAX") - 2))
    rows = [
        ("many headers", line + many + end),
        ("a long header", line + "X: " + "y" * (16384 - len(line + end) - 5) + "\r\n" + end),
        ("a long target", line.replace("/healthz", "/healthz?a=" + "b" * (16384 - len(line + end) - 3)) + end),
        ("many headers that are long", line + many.replace("y", "y" * 25) + end),
        ("values that are empty, or have spaces around them", line + "A:\r\nB: \r\nC:c\r\nD: \t d \t \r\n" + end),
        ("parameters of every kind", line.replace("/healthz", "/healthz?a=b+c&d&=e&f==g&&h=%00%20&i") + end),
        ("cookies", line + 'Cookie: a=b; c="d", e; =f\r\n' + end),
        ("lines that end with LF alone", (line + "A:\r\nB: b\r\n" + end).replace("\r", "")),
        ("lines that end with both", line + "A: a\nB:\n" + end),
        ("an empty line before it", "\r\n" + line + end),
        ("one behind others", (line + "\r\n") * 50 + line + end),
        ("large ones behind others", (line + many + "\r\n") * 5 + line + end),
        ("one behind a body", ("POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nGET / HTT") * 3 + line + end),
        ("the old version, without a header", "GET /healthz HTTP/1.0\r\n\r\n"),
    ]
    for what, data in rows:
        data = data.encode()
        for how, answers in (("whole", whole(plain, data)), ("TLS", encrypted(tls, data)), ("bytes", in_pieces(plain, data)),
                             ("pieces", in_pieces(plain, data, 97)), ("large pieces", in_pieces(plain, data, 1400))):
            with t.row(f"{what}, {how}"):
                count = data.count(b"Host: x") or 1
                t.equal(answers.count(b"HTTP/1.1 "), count, "answers")
                t.equal(answers.count(b"HTTP/1.1 200 "), count - data.count(b"POST "), f"answers that are 200: {answers[-300:]!r}")
                t.equal(answers.count(b"HTTP/1.1 405 "), data.count(b"POST "), "those to what is not taken there")


# What cannot be read as far as a request, or to its end; docs/server.md has the same list.
UNREAD = [
    ("a line of a method and a space", "GET \r\n\r\n", 400),
    ("a line without a version", "GET /api\r\n" + HEAD + "\r\n", 400),
    ("a version of something else", "GET / FOO/1.1\r\n" + HEAD + "\r\n", 400),
    ("a version of HTTP other than 1", "GET / HTTP/2.0\r\n" + HEAD + "\r\n", 400),
    ("a header without a colon", "GET /api HTTP/1.1\r\n" + HEAD + "Nonsense\r\n\r\n", 400),
    ("a Content-Length that is no number", POST + "Content-Length: 5x\r\n\r\n", 400),
    ("a Content-Length beyond 64 bits", POST + "Content-Length: 99999999999999999999999\r\n\r\n", 413),
    ("a chunk whose size is no number", POST + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
    ("a chunk whose size is beyond 64 bits", POST + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n", 413),
    ("a chunk that is longer than its size", POST + "Transfer-Encoding: chunked\r\n\r\n3\r\nabcdef\r\n", 400),
    ("a target with a fragment", "GET /healthz#x HTTP/1.1\r\n" + HEAD + "\r\n", 400),
    ("a target that is no path", "GET healthz HTTP/1.1\r\n" + HEAD + "\r\n", 400),
    ("a target that is an authority", "CONNECT x:80 HTTP/1.1\r\n" + HEAD + "\r\n", 400),
    ("a line of more than 24 KiB", "GET /" + "a" * 30000 + " HTTP/1.1\r\n" + HEAD + "\r\n", 431),
    ("headers of more than 24 KiB", "GET /api HTTP/1.1\r\n" + HEAD + "X: " + "y" * 30000 + "\r\n\r\n", 431),
]


# Of these libmicrohttpd closes the connection before anybody is asked for words.
WORDLESS = ["GET\r\n" + HEAD + "\r\n", "hello\r\n\r\n", "GET\t/healthz\tHTTP/1.1\r\n" + HEAD + "\r\n", " GET / HTTP/1.1\r\n" + HEAD + "\r\n",
            "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"]


def encrypted(server, data):
    """The same over TLS, whose certificate is not looked at."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as plain, context.wrap_socket(plain) as client:
        client.sendall(data)
        answer = b""
        try:
            while piece := client.recv(65536):
                answer += piece
        except (ConnectionError, ssl.SSLError):
            pass                                # it hung up on the rest of what was sent
    return answer


@case("proves: R-084")
def what_cannot_be_read_as_a_request_is_refused_as_problems_too(t):
    cert, key = t.folder / "cert.pem", t.folder / "key.pem"
    Authority(t).sign("IP:127.0.0.1", cert, key)
    page = (ROOT / "docs/server.md").read_text()
    plain = Server(t)
    tls = Server(t, "--tls-cert", cert, "--tls-key", key, store=str(t.folder / "tls.db"))
    for server, ask in ((plain, whole), (tls, encrypted)):
        for what, data, status in UNREAD:
            with t.row(f"{what}, {ask.__name__}"):
                data = data.replace("Transfer-Encoding", f"Authorization: Bearer {server.admin}\r\nTransfer-Encoding")       # nobody else's body is read
                head, _, body = ask(server, data.encode("latin-1")).partition(b"\r\n\r\n")
                t.true(head.startswith(b"HTTP/1.1 %d " % status), f"{status} and not {head[:60]!r}")
                t.contains(head.decode().lower(), "content-type: application/problem+json")
                t.contains(head.decode().lower(), "connection: close")
                t.contains(head.decode().lower(), "x-request-id: ")
                said = json.loads(body)
                t.equal(said["status"], status)
                kind = said["type"].rsplit("/", 1)[1]
                t.contains(head.decode(), f'Link: </errors/{kind}>; rel="help"')
                t.contains(page, f"| {what} | {status} |", "docs/server.md")
    t.equal(page.split("## Requests that are none")[1].split("\n## ")[0].count("\n| a "), len(UNREAD) - 1, "rows of docs/server.md")
    for data in WORDLESS:
        with t.row(repr(data[:20])):
            t.equal((whole(plain, data.encode("latin-1")), encrypted(tls, data.encode("latin-1"))), (b"", b""), "what is said to a line that is none")
    t.contains(page, "These connections are closed without a word", "docs/server.md")
    others_are_served(t, plain)


@case("proves: R-084")
def what_cannot_be_read_is_counted_and_logged_as_other_refusals_are(t):
    server = Server(t, "--log-requests")
    refused = 'maestro_http_requests_total{route="none",status="4xx"}'
    whole(server, b"GET /api\r\nHost: x\r\n\r\n")
    whole(server, POST.encode() + f"Authorization: Bearer {server.admin}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".encode())
    t.until(lambda: refused + " 1\n" in server.get("/metrics").body.decode(), "it is counted")
    t.until(lambda: t.said(server.process).count('"malformed-request"') == 2, "it is logged")
    lines = [json.loads(line) for line in t.said(server.process).splitlines() if '"malformed-request"' in line]
    t.equal([line["status"] for line in lines], [400, 400])
    t.equal(lines[1]["path"], "/api/executions")
    t.true(all(line["requestId"] and line["address"] == "127.0.0.1" for line in lines), "each has an id and says from where it came")


if __name__ == "__main__":
    main()
