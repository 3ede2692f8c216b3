#!/usr/bin/env python3
"""Clients of the server that mean ill, or do not know what they do: others are served all the same, and memory stays bounded."""
import json
import random
import resource
import socket

from maestro_test import case, main
from server_test import HELLO, Server


def resident_kb(server):
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def plain(server, data=b""):
    client = socket.create_connection(("127.0.0.1", server.port), timeout=60)
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


@case("")
def a_body_without_an_announced_size_is_cut_at_the_limit(t):
    server = Server(t)
    before = resident_kb(server)
    client = plain(server, (f"POST /api/executions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.admin}\r\n"
                            "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n").encode())
    piece = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    try:
        for _ in range(64):
            client.sendall(piece)
        client.sendall(b"0\r\n\r\n")
        t.true(client.recv(65536).startswith(b"HTTP/1.1 413"), "413")
    except OSError:
        pass                                    # the server may have hung up on the rest of it
    t.true(resident_kb(server) - before < 80 * 1024, "memory is bounded")
    others_are_served(t, server)


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


@case("")
def idle_connections_cost_little_and_are_many(t):
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    count = min(10000, limit - 1000)
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
    for data in rows:
        with t.row(repr(data[:40])):
            try:
                client = plain(server, data)
                client.shutdown(socket.SHUT_WR)
                while client.recv(65536):
                    pass
            except OSError:
                pass
            t.equal(server.process.poll(), None, "the server lives")
    others_are_served(t, server)


@case("")
def bodies_by_chance_are_answered_and_never_with_500(t):
    server = Server(t)
    server.define(HELLO)
    run = server.begin("hello", {"who": "x"}, wait="30s")["executionId"]
    document = server.get("/openapi.json").json()
    chance = random.Random(11)

    def value(depth=0):
        names = ["workflowId", "parameters", "decision", "step", "steps", "reason", "payload", "name", "a"]
        makers = [lambda: None, lambda: True, lambda: chance.randrange(-2**40, 2**40), lambda: "x" * chance.randrange(40), lambda: 1.5e300,
                  lambda: "\u0000\ud7ff", lambda: {}, lambda: [value(depth + 1) for _ in range(chance.randrange(4))],
                  lambda: {chance.choice(names): value(depth + 1) for _ in range(chance.randrange(5))}]
        return makers[chance.randrange(9 if depth < 3 else 7)]()

    def schema_value(schema):
        if "$ref" in schema:
            schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        if chance.randrange(4) == 0:
            return value()
        if "enum" in schema:
            return chance.choice(schema["enum"])
        kind = schema.get("type")
        if kind == "object":
            return {k: schema_value(v) for k, v in schema.get("properties", {}).items() if chance.randrange(3)}
        if kind == "array":
            return [schema_value(schema.get("items", {})) for _ in range(chance.randrange(3))]
        return {"string": chance.choice(["hello", run, "", "a.b"]), "integer": chance.randrange(-1, 4), "boolean": True}.get(kind, value())

    ids = {"executorId": "far", "query": "RUNS", "tenant": "default", "workflow": "hello", "trigger": "x", "executionId": run, "workflow_id": run, "trigger_key": "x", "namespace": "default", "workflowId": "hello", "version": "1",
           "type": "invalid"}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if operation["operationId"] == "events":
                continue
            documented = set(operation["responses"])
            for _ in range(25):
                query = "&".join(f"{p['name']}={chance.choice(['1', '0', 'x', '', '5s', 'hello', '-1', '99999999999999999999'])}"
                                 for p in operation["parameters"] if p["in"] == "query" and p["name"] != "wait" and chance.randrange(2))
                schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
                body = json.dumps(schema_value(schema)) if schema and chance.randrange(8) else (None if method == "get" else "{")
                answer = server.call(method.upper(), path.format(**ids) + ("?" + query if query else ""), body,
                                     headers={"Content-Type": "application/json"} if body else {})
                with t.row(f"{method} {path}?{query} {body}"):
                    t.true(str(answer.status) in documented, f"{answer.status} is documented: {answer}")
                    t.true(answer.status < 500, f"no failure of the server: {answer}")
    t.equal(server.stop().code, 0)


if __name__ == "__main__":
    main()
