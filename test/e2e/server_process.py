#!/usr/bin/env python3
"""The server as a process: the file of its settings, what systemd gives it and is told, signals."""
import gzip
import http.client
import json
import os
import re
import resource
import shlex
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import threading
import time
from pathlib import Path

from maestro_test import MAESTRO, ROOT, case, main
from server_test import HELLO, Server, free_port

SETTINGS = """listen: 127.0.0.1:0
store: sqlite:data/store.db
runners: runners.yaml
rate: 3
log: { requests: true }
"""
RUNNERS = """executors:
  far: { kind: worker, runners: { far/greet: {} } }
"""


class Manager:
    """What systemd is to a service: a socket that hears how it stands."""

    def __init__(self, t, name="notify"):
        self.path = str(t.folder / name)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.settimeout(60)

    def hear(self):
        return self.socket.recv(4096).decode()


# --- settings --------------------------------------------------------------------------------------------------------


def serve(t, *args, env=None, cwd=None):
    process = t.start("server", *args, env=env, cwd=cwd)
    t.until(lambda: "maestro serves" in t.said(process) or process.poll() is not None, "the server listens")
    line = next((line for line in t.said(process).splitlines() if "maestro serves" in line), "")
    t.require(line, "the server listens: " + t.said(process))
    return process, line


@case("proves: R-015 R-087")
def what_the_options_say_can_be_written_down_and_paths_are_the_files(t):
    config = t.write("etc/server.yaml", SETTINGS)
    t.write("etc/runners.yaml", RUNNERS)
    (t.folder / "etc" / "data").mkdir()
    process, line = serve(t, "--config", config, cwd="/")
    t.contains(line, f"sqlite:{t.folder}/etc/data/store.db", "the store is beside the file")
    server = Server.__new__(Server)
    server.t, server.store, server.connection, server.process = t, str(t.folder / "etc/data/store.db"), None, process
    server.port = int(line.split("/api")[0].rsplit(":", 1)[1])
    server.admin = Path(server.store + ".admin-key").read_text().strip()
    t.equal(server.post("/api/executors/far/exchange", {"worker": "w"}).status, 200, "the runners of the file")
    t.true(any(server.get("/api").status == 429 for _ in range(50)), "the rate of the file")
    t.until(lambda: '"path":"/api"' in t.said(process), "requests are logged as the file wants it")
    t.equal(server.stop().code, 0)


@case()
def who_was_silent_may_send_two_seconds_worth_at_once_as_the_page_says(t):
    server = Server(t, "--rate", "10")
    key = server.key("viewer")
    begun = time.monotonic()
    taken = sum(server.get("/api", key=key).status == 200 for _ in range(60))
    t.true(20 <= taken <= 21 + 10 * (time.monotonic() - begun), f"{taken} of 60 were taken")
    t.contains((ROOT / "docs/server.md").read_text(), "two\nseconds' worth at once", "the page")


@case("proves: R-087")
def an_option_wins_over_the_file(t):
    config = t.write("server.yaml", "listen: 127.0.0.1:1\nstore: sqlite:one.db\npolicy: nowhere.rego\n")
    policy = t.write("fine.rego", "package maestro.fine\n\nimport rego.v1\n\nallow if true\n")
    process, line = serve(t, "--config", config, "--listen", "127.0.0.1:0", "--store", f"sqlite:{t.folder}/two.db", "--policy", policy)
    t.contains(line, "two.db")
    t.true(not (t.folder / "one.db").exists(), "the store of the file is not touched")
    process.send_signal(signal.SIGTERM)
    t.equal(t.end(process).code, 0)


@case("proves: R-015")
def mistakes_of_the_file_are_pointed_at(t):
    rows = [
        ("lisen: 127.0.0.1:80\n", ":1:1:", "did you mean 'listen'?"),
        ("store: sqlite:x.db\ntls: { cert: a.pem, kee: b.pem }\n", ":2:", "did you mean 'key'?"),
        ("rate: fast\n", ":1:7:", "rate"),
        ("rate: 0\n", ":1:7:", "1"),
        ("tls: { cert: a.pem }\n", ":1:", "key"),
        ("log: { requests: maybe }\n", ":1:", "requests"),
        ("listen: [a, b]\n", ":1:9:", "listen"),
        ("store: 'x\n", ":", "error"),
    ]
    for text, place, part in rows:
        with t.row(text):
            result = t.maestro("server", "--config", t.write("server.yaml", text), "--check-config")
            t.equal(result.code, 65, result.err)
            t.contains(result.err, "server.yaml" + place)
            t.contains(result.err, part)
    result = t.maestro("server", "--config", t.folder / "nowhere.yaml")
    t.equal(result.code, 69, result.err)
    t.contains(result.err, "nowhere.yaml")


@case("proves: R-015")
def settings_are_checked_without_starting_anything(t):
    store = t.folder / "store.db"
    t.write("runners.yaml", RUNNERS)
    good = t.maestro("server", "--config", t.write("good.yaml", f"store: sqlite:{store}\nrunners: runners.yaml\n"), "--check-config")
    t.equal(good.code, 0, good.err)
    t.contains(good.out, "nothing is wrong")
    t.write("text.db", "this is no store, and never was one\n" * 40)
    t.write("a-file", "")
    rows = [
        (f"store: sqlite:{store}\nrunners: none.yaml\n", "none.yaml"), (f"store: sqlite:{store}\npolicy: none.rego\n", "none.rego"),
        (f"store: sqlite:{store}\naccess: none.rego\n", "none.rego"), (f"store: sqlite:{store}\ntls: {{ cert: c.pem, key: k.pem }}\n", "c.pem"),
        (f"store: sqlite:{store}\nlisten: nonsense\n", "ADDRESS:PORT"), ("store: 'memory:'\n", "sqlite:PATH"), ("store: mysql:x\n", "mysql:"),
        ("store: sqlite:text.db\n", "text.db"), ("store: sqlite:a-file/store.db\n", "no directory"),
        (f"store: sqlite:{store}\nlisten: 192.0.2.7:8080\n", "192.0.2.7:8080"),        # of the addresses that nobody has
    ]
    for text, part in rows:
        with t.row(text):
            result = t.maestro("server", "--config", t.write("bad.yaml", text), "--check-config")
            t.true(result.code not in (0, None), f"the exit code {result.code}")
            t.contains(result.err, part)
            if "text.db" in text or "a-file" in text or "192.0.2.7" in text:
                free = [] if "listen" in text else ["--listen", "127.0.0.1:0"]
                started = t.maestro("server", "--config", t.folder / "bad.yaml", *free)
                t.equal(started.code, result.code, "a server ends with the same: " + started.err)
    t.true(not store.exists(), "nothing was made")


@case("proves: R-015")
def settings_are_checked_beside_a_server_that_runs_and_a_store_of_another_time_is_left_alone(t):
    server = Server(t)
    settings = t.write("server.yaml", f"store: sqlite:{server.store}\nlisten: 127.0.0.1:{server.port}\n")
    beside = t.maestro("server", "--config", settings, "--check-config")
    t.equal(beside.code, 0, beside.err)
    t.contains(beside.out, "which is there")
    server.stop()
    with sqlite3.connect(server.store) as file:
        newest = file.execute("SELECT max(version) FROM maestro_schema").fetchone()[0]
        file.execute("INSERT INTO maestro_schema VALUES (?, 0)", (newest + 1,))
    file.close()
    newer = t.maestro("server", "--config", settings, "--check-config")
    t.equal(newer.code, 69, newer.err)
    t.contains(newer.err, "newer maestro")
    old = t.folder / "old.db"
    old.write_bytes(gzip.decompress((ROOT / "test/golden/store/1.db.gz").read_bytes()))
    before = old.read_bytes()
    older = t.maestro("server", "--store", f"sqlite:{old}", "--check-config")
    t.equal((older.code, old.read_bytes() == before), (0, True), "a store of an earlier maestro, which a start upgrades: " + older.err)


@case()
def every_option_has_its_key_and_every_key_is_documented(t):
    options = set(re.findall(r"^ +--([a-z-]+)", t.maestro("server", "--help").out, re.M))
    options -= {"config", "check-config", "server", "ca", "color", "help"}        # what a file cannot say
    schema = json.loads((ROOT / "spec/server.schema.json").read_text())
    page = (ROOT / "docs/server.md").read_text()

    def keys(shape, before=()):
        for key, value in schema["$defs"][shape]["properties"].items():
            inner = value.get("$ref", "").rsplit("/", 1)[-1]
            yield from keys(inner, before + (key,)) if inner else [before + (key,)]
    known = list(keys("server"))
    t.true(len(known) >= 9, f"the schema has only {known}")
    documented = dict(re.findall(r"^\| `(\S+?)`[^|]*\| `--(\S+?)`", page, re.M))
    for key in known:
        with t.row(".".join(key)):
            t.contains(page, "`" + ".".join(key) + "`", "docs/server.md")
    for option in options:
        with t.row(option):
            t.contains(page, f"`--{option}`", "the table of docs/server.md")
    t.equal(len(known), len(options), f"keys {sorted(known)} and options {sorted(options)}")
    t.true(documented, "the table is read")


@case()
def the_example_of_the_units_is_right(t):
    text = (ROOT / "deploy/server.yaml").read_text().replace("/var/lib/maestro", str(t.folder))
    result = t.maestro("server", "--config", t.write("server.yaml", text), "--check-config")
    t.equal(result.code, 0, result.err)
    schema = json.loads((ROOT / "spec/server.schema.json").read_text())["$defs"]
    for key, value in schema["server"]["properties"].items():
        inner = schema.get(value.get("$ref", "").rsplit("/", 1)[-1], {}).get("properties", {})
        with t.row(key):
            t.matches(text, rf"(?m)^(# )?{key}: ", "it has every setting that there is")
            line = next((line for line in text.splitlines() if re.match(rf"(# )?{key}: ", line)), "")
            for name in inner:
                t.contains(line, f"{name}: ")


# --- systemd ---------------------------------------------------------------------------------------------------------


def activated(t, listener, manager, descriptor_count=None):
    """A server that was given the socket of somebody else."""
    def adopt():                                                            # what systemd does between fork and exec
        os.dup2(listener.fileno(), 3)
        os.set_inheritable(3, True)
        if descriptor_count:
            resource.setrlimit(resource.RLIMIT_NOFILE, (descriptor_count, descriptor_count))
    with open(t.folder / "activated.err", "ab") as out:
        return subprocess.Popen(["/bin/sh", "-c", 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" "$@"', MAESTRO, "server", "--store", f"sqlite:{t.folder}/store.db"],
                                env={**os.environ, "NOTIFY_SOCKET": manager.path}, preexec_fn=adopt, close_fds=False, stdout=out, stderr=out, cwd=ROOT)


@case()
def a_socket_that_was_handed_over_is_served_and_the_manager_hears_how_it_stands(t):
    manager = Manager(t)
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    early = socket.create_connection(("127.0.0.1", port))             # before there is a process: it waits in the socket
    early.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    process = activated(t, listener, manager)
    try:
        t.contains(manager.hear(), "READY=1")
        t.true(early.recv(65536).startswith(b"HTTP/1.1 200"), "who came early is answered")
        process.send_signal(signal.SIGHUP)
        told = manager.hear()
        t.contains(told, "RELOADING=1")
        t.matches(told, r"MONOTONIC_USEC=\d+")
        t.contains(manager.hear(), "READY=1", "after it has reloaded")
        process.send_signal(signal.SIGTERM)
        t.contains(manager.hear(), "STOPPING=1")
        t.equal(process.wait(60), 0)
        log = (t.folder / "activated.err").read_text()
        t.contains(log, "there is nothing to read again: the server has no certificate")
        t.lacks(log, "were read again", "what was not done")
        late = socket.create_connection(("127.0.0.1", port))
        t.true(late, "the socket outlives the process: who comes late waits for the next")
    finally:
        process.kill()
        process.wait()


@case()
def who_waits_in_a_socket_that_was_handed_over_is_answered_by_the_next_process(t):
    manager = Manager(t)
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    process = activated(t, listener, manager, descriptor_count=720)
    try:
        t.contains(manager.hear(), "READY=1")
        t.contains((t.folder / "activated.err").read_text(), "180 connections are taken at a time")
        idle = [socket.create_connection(listener.getsockname(), 60, (f"127.0.0.{i % 2 + 1}", 0)) for i in range(180)]     # one address has not all
        waiting = [socket.create_connection(listener.getsockname(), 60, ("127.0.0.3", 0)) for _ in range(40)]
        for client in waiting:
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        process.send_signal(signal.SIGTERM)
        t.contains(manager.hear(), "STOPPING=1")
        t.equal(process.wait(60), 0)
        process = activated(t, listener, manager)
        t.contains(manager.hear(), "READY=1")
        t.equal([client.recv(65536)[:12] for client in waiting], [b"HTTP/1.1 200"] * len(waiting), "all of them")
        t.equal([client.recv(1) for client in idle], [b""] * len(idle), "those that asked nothing were closed")
    finally:
        process.kill()
        process.wait()


@case()
def a_manager_of_the_abstract_kind_is_told_and_steps_are_not_told_of_it(t):
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    name = f"maestro-test-{os.getpid()}"
    manager.bind("\0" + name)
    manager.settimeout(60)
    runners = t.write("runners.yaml", """executors:
  here:
    kind: process
    runners:
      env/show: { command: [sh, -c, 'echo "socket=${NOTIFY_SOCKET-none} fds=${LISTEN_FDS-none}"'] }
""")
    server = Server(t, "--runners", runners, env={"NOTIFY_SOCKET": "@" + name, "LISTEN_PID": "1", "LISTEN_FDS": "1"})
    t.contains(manager.recv(4096).decode(), "READY=1")
    server.define("workflow: env\njobs: { a: { tasks: [{ name: show, run: env/show }] } }\n")
    run = server.begin("env", wait="30s")
    t.contains(server.get(f"/api/executions/{run['executionId']}/logs").body.decode(), "socket=none fds=none")
    t.equal(server.stop().code, 0)


@case()
def a_socket_of_the_file_system_that_was_handed_over_is_served_and_has_no_url(t):
    path, manager = str(t.folder / "api.sock"), Manager(t)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        process = activated(t, listener, manager)
        try:
            t.contains(manager.hear(), "READY=1")
            said = (t.folder / "activated.err").read_text()
            t.contains(said, f"maestro serves the socket {path} on sqlite:")
            t.contains(said, f"the socket {path} has no URL: give --public")
            if not shutil.which("curl"):
                t.not_run("curl is missing")
            command = shlex.split(said.split("; ")[-1].removesuffix(" asks it\n"))
            asked = t.run(*command, "--silent", "--header", f"Authorization: Bearer {(t.folder / 'store.db.admin-key').read_text().strip()}")
            t.contains(asked.out, '"_links"', "as it says, it is asked")
            process.send_signal(signal.SIGTERM)
            t.equal(process.wait(60), 0)
        finally:
            process.kill()
            process.wait()


@case()
def what_was_handed_over_and_is_no_listening_socket_is_refused(t):
    rows = [("1", "no socket that listens"), ("2", "more than one socket")]
    for count, part in rows:
        with t.row(count):
            result = t.run("/bin/sh", "-c", f'LISTEN_PID=$$ LISTEN_FDS={count} exec "$0" "$@" 3</dev/null', MAESTRO, "server", "--store",
                           f"sqlite:{t.folder}/store.db")
            t.equal(result.code, 65, result.err)
            t.contains(result.err, part)


@case()
def systemd_starts_it_on_the_first_connection(t):
    if not shutil.which("systemd-socket-activate"):
        t.not_run("systemd-socket-activate is missing (package systemd)")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    process = subprocess.Popen(["systemd-socket-activate", "-l", f"127.0.0.1:{port}", MAESTRO, "server", "--store", f"sqlite:{t.folder}/store.db"],
                               stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=ROOT, env={**os.environ, "HOME": str(t.folder)})
    try:
        client = None

        def connected():
            nonlocal client
            try:
                client = socket.create_connection(("127.0.0.1", port), timeout=60)
                return True
            except ConnectionRefusedError:
                return False
        t.until(connected, "systemd listens")
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        t.true(client.recv(65536).startswith(b"HTTP/1.1 200"), "the first connection is answered by the server that it started")
        process.send_signal(signal.SIGTERM)
        t.equal(process.wait(60), 0)
    finally:
        process.kill()
        process.wait()


@case()
def what_the_page_says_about_systemd_works_where_nothing_of_it_is_there(t):
    if not shutil.which("systemd-analyze"):
        t.not_run("systemd-analyze is missing (package systemd)")
    page = (ROOT / "docs" / "server.md").read_text()
    lines = page.split("\n## systemd\n")[1].split("```\n")[1].splitlines()
    t.equal([line.split()[0] for line in lines], ["make", "mkdir", "cp", "cp", "systemctl", "systemctl", "cat", "systemctl"], "what it says")
    script = "\n".join(line.split("#")[0].replace(" /etc", f" {t.folder}/image/etc") for line in lines if line.startswith(("mkdir", "cp")))
    for place in ("usr/local/bin", "usr/bin"):              # where `make install` puts it, and where a package would
        with t.row(place):
            root = t.folder / "image"
            shutil.rmtree(root, ignore_errors=True)
            (root / "etc/systemd/system").mkdir(parents=True)
            (root / place).mkdir(parents=True)
            shutil.copy(MAESTRO, root / place / "maestro")
            done = t.run("sh", "-euc", script)
            t.equal((done.code, done.err), (0, ""), "the commands")
            told = t.run("systemd-analyze", "verify", "--man=no", f"--root={root}", "/etc/systemd/system/maestro.service")
            t.lacks(told.err, "Command maestro", "what systemd says")
            checked = t.maestro("server", "--config", root / "etc/maestro/server.yaml", "--check-config")
            t.equal(checked.code, 0, checked.err)


@case()
def the_units_are_what_systemd_takes(t):
    if not shutil.which("systemd-analyze"):
        t.not_run("systemd-analyze is missing (package systemd)")
    folder = t.folder / "units"
    folder.mkdir()
    for name in ("maestro.service", "maestro.socket"):
        text = (ROOT / "deploy" / name).read_text()
        t.contains(text, "[Unit]")
        (folder / name).write_text(text.replace("=maestro ", f"={MAESTRO} "))
    result = t.run("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", folder / "maestro.service", folder / "maestro.socket")
    t.equal((result.code, result.err), (0, ""), "systemd-analyze verify")
    secure = t.run("systemd-analyze", "security", "--offline=true", "--threshold=40", folder / "maestro.service")
    t.equal(secure.code, 0, secure.out + secure.err)
    command = re.search(r"^ExecStart=\S+ (.*)$", (folder / "maestro.service").read_text(), re.M).group(1).split()
    (t.folder / "etc").mkdir()
    text = (ROOT / "deploy/server.yaml").read_text().replace("/var/lib/maestro", str(t.folder)).replace("127.0.0.1:8080", "127.0.0.1:0")
    config = t.write("etc/server.yaml", text)
    process, _ = serve(t, *[str(config) if word == "/etc/maestro/server.yaml" else word for word in command[1:]])
    process.send_signal(signal.SIGTERM)
    t.equal(t.end(process).code, 0, "the command of the unit")


@case("proves: C-93")
def who_is_answered_is_shown_what_was_committed(t):
    server, end, wrong = Server(t, "--rate", "100000"), time.monotonic() + 4, []

    def create(worker):
        connection, count = server.connect(), 0
        while time.monotonic() < end:
            count += 1
            headers = {"Authorization": "Bearer " + server.admin, "Content-Type": "application/yaml"}
            connection.request("POST", "/api/workflows", HELLO.replace("workflow: hello", f"workflow: hello-{worker}-{count}"), headers)
            answer = connection.getresponse()
            body = answer.read().decode()
            if answer.status != 201:
                wrong.append(body)
                return
            connection.request("POST", json.loads(body)["_links"]["self"]["href"] + "/activate", "{}", dict(headers, **{"Content-Type": "application/json"}))
            connection.getresponse().read()
    workers = [threading.Thread(target=create, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    t.equal(wrong, [], "none is told that what it stored is not there")


@case()
def a_server_ends_in_order_beside_many_who_waited_and_have_gone(t):
    server = Server(t, "--runners", str(t.write("runners.yaml", RUNNERS)))
    server.define("workflow: waits\njobs: { a: { tasks: [{ name: one, run: far/greet }] } }\n")
    run = server.begin("waits")["executionId"]
    question = f"GET /api/executions/{run}?wait=30s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.admin}\r\n\r\n".encode()
    sockets = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(200)]
    for one in sockets:
        one.sendall(question)
    t.until(lambda: "\nmaestro_http_requests_waiting 200\n" in server.get("/metrics").body.decode(), "all of them wait")
    for one in sockets:
        one.close()
    t.equal(server.stop().code, 0, "the exit code")


@case()
def a_server_that_is_told_twice_to_end_does_so_though_requests_still_come(t):
    server = Server(t)
    request = (f"PUT /api/secrets/s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.admin}\r\nContent-Type: application/json\r\n"
               'Content-Length: 13\r\n\r\n{"value":"v"}').encode()
    for _ in range(4):
        sockets = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(400)]
        t.until(lambda: "\nmaestro_http_connections 401\n" in server.get("/metrics").body.decode(), "all of them are taken")
        for index, one in enumerate(sockets):
            if index in (100, 200):
                server.process.send_signal(signal.SIGTERM)
            try:
                one.sendall(request)
            except ConnectionError:
                pass                                    # it ends already
        t.equal(t.end(server.process).code, 0, "the exit code")
        for one in sockets:
            one.close()
        server.start()


@case()
def who_waits_when_a_server_ends_is_told_that_the_connection_closes(t):
    server = Server(t, "--runners", str(t.write("runners.yaml", RUNNERS)))
    server.define("workflow: waits\njobs: { a: { tasks: [{ name: one, run: far/greet }] } }\n")
    run = server.begin("waits")["executionId"]
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(f"GET /api/executions/{run}?wait=30s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.admin}\r\n\r\n".encode())
        t.until(lambda: "\nmaestro_http_requests_waiting 1\n" in server.get("/metrics").body.decode(), "it waits")
        server.process.send_signal(signal.SIGTERM)
        head = answer_to(client).partition("\r\n\r\n")[0]
    t.true(head.startswith("HTTP/1.1 200 "), "it is answered")
    t.contains(head, "Connection: close")
    t.equal(t.end(server.process).code, 0, "the exit code")


@case()
def who_has_connected_when_a_server_is_told_to_end_is_answered(t):
    server = Server(t)
    server.process.send_signal(signal.SIGSTOP)          # the system takes connections for it meanwhile
    clients = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(200)]
    for client in clients:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    server.process.send_signal(signal.SIGTERM)
    server.process.send_signal(signal.SIGCONT)
    heads = [said_to(client).partition("\r\n\r\n")[0] for client in clients]
    t.equal(sum(head.startswith("HTTP/1.1 200 ") for head in heads), len(clients), "all of them are answered, and none is broken off")
    t.equal(t.end(server.process).code, 0, "the exit code")


def said_to(client):
    """As answer_to(); of one that is broken off nothing."""
    try:
        return answer_to(client)
    except ConnectionError:
        return ""


@case()
def a_server_without_standard_streams_writes_to_nothing_else(t):
    port, store = free_port(), t.folder / "store.db"
    process = t.start("server", "--log-level", "debug", "--listen", f"127.0.0.1:{port}", "--store", f"sqlite:{store}",
                      before=lambda: [os.close(fd) for fd in range(3)])
    t.until(lambda: answers(port), "it answers")
    t.equal([os.readlink(f"/proc/{process.pid}/fd/{fd}") for fd in range(3)], ["/dev/null"] * 3)
    process.send_signal(signal.SIGTERM)
    t.equal(t.end(process).code, 69, "its line could not be written")
    t.equal(t.maestro("store", "verify", "--store", f"sqlite:{store}").code, 0, "the store")


def answers(port):
    try:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        client.request("GET", "/healthz")
        return client.getresponse().status == 200
    except ConnectionError:
        return False


def is_listening(server):
    try:
        socket.create_connection(("127.0.0.1", server.port)).close()
    except ConnectionError:                             # refused, or reset: it was about to be taken when the listener closed
        return False
    return True


def answer_to(client):
    """Everything that comes back until the server hangs up."""
    answer = b""
    while piece := client.recv(65536):
        answer += piece
    return answer.decode()


def upload(server, path, body):
    return (f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.admin}\r\nContent-Type: application/yaml\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}").encode()


@case()
def a_server_that_ends_answers_the_requests_whose_bodies_still_come(t):
    server = Server(t)
    server.define(HELLO)
    body = json.dumps({"workflowId": "hello", "parameters": {"who": "x"}})
    rows = [("a definition", upload(server, "/api/workflows", HELLO)),
            ("a start", upload(server, "/api/executions", body).replace(b"/yaml", b"/json")),
            ("nobody's", upload(server, "/api/executions", body).replace(b"Bearer", b"Nobody"))]
    clients = [socket.create_connection(("127.0.0.1", server.port), timeout=20) for _ in rows]
    for client, (_, data) in zip(clients, rows):
        client.sendall(data[:-20])
    server.get("/api")                                  # they were before it
    server.process.send_signal(signal.SIGTERM)
    t.until(lambda: not is_listening(server), "it takes nobody any more")
    time.sleep(1)
    for client, (what, data) in zip(clients, rows):
        with t.row(what):
            client.sendall(data[-20:])
            answer = answer_to(client)
            t.matches(answer, {"a definition": r"^HTTP/1\.1 \d\d\d ", "a start": r"^HTTP/1\.1 503 ", "nobody's": r"^HTTP/1\.1 401 "}[what])
            t.contains(answer, "Connection: close\r\n")
    t.equal(t.end(server.process).code, 0, "the exit code")


@case()
def a_server_whose_steps_still_end_answers_what_begins_on_connections_that_it_has(t):
    runners = t.write("runners.yaml", "executors:\n  here: { kind: process, runners: { slow: { command: [sleep, '3'] } } }\n")
    server = Server(t, "--runners", str(runners))
    server.define("workflow: slow\njobs: { a: { tasks: [{ name: one, run: slow }] } }\n")
    client = socket.create_connection(("127.0.0.1", server.port), timeout=20)
    run = server.begin("slow")["executionId"]
    t.until(lambda: server.get(f"/api/executions/{run}/steps").json()["items"][0]["status"] == "RUNNING", "the step runs")
    server.process.send_signal(signal.SIGTERM)
    t.until(lambda: not is_listening(server), "it takes nobody any more")
    data = upload(server, "/api/workflows", HELLO)
    client.sendall(data[:-20])
    time.sleep(4)                                       # the step has ended meanwhile
    client.sendall(data[-20:])
    t.matches(answer_to(client), r"^HTTP/1\.1 \d\d\d ")
    t.equal(t.end(server.process).code, 0, "the exit code")


def began_saying(t, store, listen="127.0.0.1:0"):
    """What a server says until it serves, or cannot."""
    process = t.start("server", "--listen", listen, "--store", "sqlite:" + str(store))
    t.until(lambda: "maestro serves" in t.said(process) or process.poll() is not None, "it begins or ends")
    said = t.said(process)
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    t.end(process)
    return said


def begun(t, store):
    """The line by which it says that it serves, or what it said."""
    said = began_saying(t, store)
    return next((line for line in said.splitlines() if "maestro serves" in line), said)


@case("")
def the_first_key_is_in_its_file_or_nobody_has_it(t):
    store, file = t.folder / "st.db", t.folder / "st.db.admin-key"
    file.mkdir()
    t.contains(begun(t, store), "the first key cannot be written")
    t.lacks(t.maestro("key", "list", "--store", f"sqlite:{store}").out, "admin", "no key was stored that nobody knows")
    file.rmdir()
    t.contains(begun(t, store), f"the first key is in {file}")
    first = file.read_text()
    t.contains(begun(t, store), f"the first key is in {file}")
    t.equal(file.read_text(), first, "a further start makes no other one")
    file.unlink()
    later = begun(t, store)
    t.lacks(later, "the first key is in", "where it is not, the line does not say so")
    t.contains(later, "maestro key create")
    t.true(not file.exists(), "one that was taken away is not made again")


@case("")
def the_first_key_is_for_its_owner_alone_whatever_was_there_before(t):
    for name in ("a file that somebody reads", "a pipe", "another name of a file"):
        with t.row(name):
            folder = t.folder / name.replace(" ", "-")
            folder.mkdir()
            store, file, other = folder / "st.db", folder / "st.db.admin-key", folder / "other"
            other.write_text("")
            if name == "a pipe":
                os.mkfifo(file)
            elif name == "another name of a file":
                os.link(other, file)
            else:
                file.touch(mode=0o644)
            with open(other if name == "a pipe" else file, encoding="utf-8") as reader:
                t.contains(begun(t, store), f"the first key is in {file}")
                t.equal(reader.read(), "", "who had it open reads nothing of it")
            t.equal((stat.S_IMODE(os.stat(file).st_mode), stat.S_ISREG(os.stat(file).st_mode)), (0o600, True))
            t.true(file.read_text().startswith("mk.@all."), "the key is there")
            t.equal(other.read_text(), "", "nothing else was written")
            t.equal([n for n in os.listdir(folder) if n.startswith("st.db.admin-key")], ["st.db.admin-key"], "and nothing is left")
    with t.row("a pipe has taken its place since"):
        file.unlink()
        os.mkfifo(file)
        t.contains(begun(t, store), "'maestro key create' makes a key", "nobody waits for what it says")


@case("")
def a_first_key_that_was_revoked_is_not_pointed_at(t):
    store, file = t.folder / "st.db", t.folder / "st.db.admin-key"
    t.contains(begun(t, store), f"the first key is in {file}")
    first = file.read_text().split(".")[2]
    t.equal(t.maestro("key", "create", "--tenant", "*", "--role", "admin", "--store", f"sqlite:{store}").code, 0)
    t.equal(t.maestro("key", "revoke", first, "--tenant", "*", "--store", f"sqlite:{store}").code, 0)
    t.contains(begun(t, store), "'maestro key create' makes a key")


@case("")
def it_listens_on_the_loopback_and_warns_of_keys_in_the_clear(t):
    for listen, address, warns in ((":0", "127.0.0.1", False), ("[::1]:0", "[::1]", False), ("0.0.0.0:0", "0.0.0.0", True)):
        with t.row(listen):
            said = began_saying(t, t.folder / "st.db", listen)
            t.contains(said, f"maestro serves http://{address}:")
            t.equal("in the clear" in said, warns, said)


@case("")
def a_store_without_a_key_of_an_admin_gets_the_first_one(t):
    store, file = t.folder / "st.db", t.folder / "st.db.admin-key"
    t.equal(t.maestro("key", "create", "--tenant", "acme", "--role", "viewer", "--store", f"sqlite:{store}").code, 0)
    t.contains(begun(t, store), f"the first key is in {file}")
    t.true(file.read_text().startswith("mk."), "it is a key")


if __name__ == "__main__":
    main()
