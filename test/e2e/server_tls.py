#!/usr/bin/env python3
"""HTTPS with an authority of the case's own: commands and workers as clients, certificates that are replaced, and those that are refused."""
import contextlib
import json
import os
import signal
import socket
import ssl
import time
import urllib.request

from maestro_test import case, main
from server_test import HELLO, Server

CA = """[ca]
default_ca = here
[here]
dir = {folder}
database = {folder}/index.txt
new_certs_dir = {folder}
serial = {folder}/serial
default_md = sha256
policy = any
unique_subject = no
copy_extensions = copy
[any]
commonName = supplied
"""
RUNNERS = """executors:
  far: { kind: worker, runners: { far/greet: {} } }
"""
HERE = """executors:
  here: { kind: process, runners: { far/greet: { command: [sh, -c, 'echo "{}" > "$MAESTRO_OUTPUT"'] } } }
"""


class Authority:
    def __init__(self, t, name="ca"):
        self.t, self.folder = t, t.folder / name
        self.folder.mkdir()
        (self.folder / "index.txt").write_text("")
        (self.folder / "serial").write_text("01\n")
        (self.folder / "ca.cnf").write_text(CA.format(folder=self.folder))
        self.file = self.folder / "ca.pem"
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "3650", "-subj", "/CN=" + name,
                     "-keyout", self.folder / "ca.key", "-out", self.file)

    def openssl(self, *args):
        made = self.t.run("openssl", *args)
        self.t.require(made.code == 0, "openssl: " + made.err)

    def sign(self, name, cert, key, dates=("20200101000000Z", "20991231000000Z")):
        request = self.folder / "request.pem"
        self.openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=server", "-addext",
                     "subjectAltName=" + name, "-keyout", key, "-out", request)
        self.openssl("ca", "-batch", "-config", self.folder / "ca.cnf", "-cert", self.file, "-keyfile", self.folder / "ca.key", "-startdate", dates[0],
                     "-enddate", dates[1], "-notext", "-in", request, "-out", cert)


EXPIRED = ("20200101000000Z", "20200201000000Z")


def serve(t, authority, *args, name="IP:127.0.0.1", dates=None):
    cert, key = t.folder / "cert.pem", t.folder / "key.pem"
    authority.sign(name, cert, key, *([dates] if dates else []))
    return Server(t, "--tls-cert", cert, "--tls-key", key, *args)


def get(server, authority, path):
    context = ssl.create_default_context(cafile=str(authority.file))
    request = urllib.request.Request(f"https://127.0.0.1:{server.port}{path}", headers={"Authorization": "Bearer " + server.admin})
    with urllib.request.build_opener(urllib.request.HTTPSHandler(context=context), urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
        return json.load(answer)


def ask(t, server, *args, env=None):
    return t.maestro(*args, "--server", f"https://127.0.0.1:{server.port}", env={"MAESTRO_TOKEN": server.admin, "no_proxy": "127.0.0.1", **(env or {})})


@case("")
def commands_and_workers_are_clients_of_a_server_with_an_authority_of_its_own(t):
    authority = Authority(t)
    server = serve(t, authority, "--runners", t.write("server-runners.yaml", RUNNERS))
    hello = t.write("hello.yaml", HELLO)
    ran = ask(t, server, "run", hello, "--param", "who=Ana", "--ca", authority.file)
    t.equal(ran.code, 0, ran.err)
    runs = ask(t, server, "runs", env={"MAESTRO_CA": str(authority.file)})
    t.equal(runs.code, 0, runs.err)
    t.contains(runs.out, "hello")
    token = t.write("token", server.key("worker", "*"))
    worker = t.start("worker", "--server", f"https://127.0.0.1:{server.port}", "--executor", "far", "--ca", authority.file, "--token-file", token,
                     "--runners", t.write("here.yaml", HERE), env={"no_proxy": "127.0.0.1"})
    far = t.write("far.yaml", "workflow: far\njobs: { a: { tasks: [{ name: greet, run: far/greet }] } }\n")
    ran = ask(t, server, "run", far, "--ca", authority.file, "--runners", t.folder / "server-runners.yaml")
    t.equal(ran.code, 0, ran.err)
    items = get(server, authority, "/api/executions")["items"]
    t.equal([item["status"] for item in items], ["COMPLETED", "COMPLETED"])
    worker.send_signal(signal.SIGTERM)
    t.equal(t.end(worker).code, 0)
    t.equal(server.stop().code, 0)


@case("")
def a_certificate_that_is_not_believed_is_refused_with_the_reason(t):
    authority, other = Authority(t), Authority(t, "other")
    rows = [
        ("expired", {"dates": EXPIRED}, authority, "expired"),
        ("of another name", {"name": "DNS:elsewhere.example"}, authority, "127.0.0.1"),
        ("of another authority", {}, other, "certificate"),
    ]
    for what, made, believed, part in rows:
        with t.row(what):
            server = serve(t, authority, "--runners", t.write("server-runners.yaml", RUNNERS), **made)
            asked = ask(t, server, "runs", "--ca", believed.file)
            t.equal(asked.code, 69, asked.err)
            t.contains(asked.err, part)
            t.contains(asked.err, "--ca FILE")
            worker = t.maestro("worker", "--server", f"https://127.0.0.1:{server.port}", "--executor", "far", "--ca", believed.file,
                               env={"MAESTRO_TOKEN": server.admin, "no_proxy": "127.0.0.1"})
            t.equal(worker.code, 69, worker.err)
            t.contains(worker.err, "is not believed")
            t.contains(worker.err, part)
            server.stop()
    server = serve(t, authority)
    asked = ask(t, server, "runs")
    t.equal(asked.code, 69, "an authority that nobody has named")
    asked = ask(t, server, "runs", "--ca", t.folder / "nowhere.pem")
    t.equal(asked.code, 69, "a file that there is not")
    t.contains(asked.err, "nowhere.pem")


@case("")
def a_certificate_is_replaced_while_a_worker_has_work(t):
    authority = Authority(t)
    server = serve(t, authority, "--log-level", "info", "--runners", t.write("server-runners.yaml", RUNNERS))
    gate = t.folder / "gate"
    here = t.write("here.yaml", "executors:\n  here: { kind: process, runners: { far/greet: { command: [sh, -c, 'while [ ! -e %s ]; do sleep 0.05; done'] } } }\n" % gate)
    token = t.write("token", server.key("worker", "*"))
    worker = t.start("worker", "--server", f"https://127.0.0.1:{server.port}", "--executor", "far", "--ca", authority.file, "--token-file", token,
                     "--runners", here, env={"no_proxy": "127.0.0.1"})
    far = t.write("far.yaml", "workflow: far\njobs: { a: { tasks: [{ name: greet, run: far/greet, timeout: 1h }] } }\n")
    runner = t.start("run", far, "--server", f"https://127.0.0.1:{server.port}", "--ca", authority.file, "--runners", t.folder / "server-runners.yaml",
                     env={"MAESTRO_TOKEN": server.admin, "no_proxy": "127.0.0.1"})

    def status():
        return get(server, authority, "/api/executions")["items"][0]
    t.until(lambda: get(server, authority, "/api/executions")["items"], "the run is there")
    run = status()["executionId"]
    t.until(lambda: [s["status"] for s in get(server, authority, "/api/executions/" + run)["steps"]] == ["RUNNING"], "the worker has it")
    runner.kill()
    t.end(runner)

    def replace(dates):
        authority.sign("IP:127.0.0.1", t.folder / "cert.pem", t.folder / "key.pem", dates)
        before = t.said(server.process).count("were read again")
        server.process.send_signal(signal.SIGHUP)
        t.until(lambda: t.said(server.process).count("were read again") > before, "they were read again")
    replace(EXPIRED)
    t.equal(ask(t, server, "runs", "--ca", authority.file).code, 69, "new connections see the new one")
    gate.write_text("")
    t.equal(worker.poll(), None, "the worker goes on")
    replace(("20200101000000Z", "20991231000000Z"))
    t.until(lambda: status()["status"] == "COMPLETED", "its report arrives in the end")
    of_another = t.folder / "of-another.pem"
    authority.sign("IP:127.0.0.1", of_another, t.folder / "another.key")
    (t.folder / "cert.pem").write_text(of_another.read_text())
    server.process.send_signal(signal.SIGHUP)
    t.until(lambda: "is not the private key of" in t.said(server.process), "half of a pair is no pair")
    t.equal(ask(t, server, "runs", "--ca", authority.file).code, 0, "the one before stays")
    (t.folder / "cert.pem").write_text("no certificate")
    server.process.send_signal(signal.SIGHUP)
    t.until(lambda: "is no certificate chain" in t.said(server.process), "what is wrong with it is in the log")
    t.equal(ask(t, server, "runs", "--ca", authority.file).code, 0, "the one before stays")
    worker.send_signal(signal.SIGTERM)
    t.equal(t.end(worker).code, 0)


@case("")
def a_certificate_that_is_no_file_any_more_keeps_nobody_waiting(t):
    authority = Authority(t)
    server = serve(t, authority)
    for name in ("cert.pem", "key.pem"):
        with t.row(name):
            path = t.folder / name
            text = path.read_bytes()
            path.unlink()
            os.mkfifo(path)
            server.process.send_signal(signal.SIGHUP)
            t.until(lambda: f"{name} is no regular file" in t.said(server.process), "it is told")
            t.contains(get(server, authority, "/api"), "_links", "the pair before stays")
            beside = t.maestro("server", "--check-config", "--store", f"sqlite:{t.folder}/other.db", "--tls-cert", t.folder / "cert.pem",
                               "--tls-key", t.folder / "key.pem")
            t.equal(beside.code, 65, beside.err)
            path.unlink()
            path.write_bytes(text)
    t.equal(server.stop().code, 0)


@case("")
def half_a_handshake_costs_nothing_and_old_versions_are_refused(t):
    authority = Authority(t)
    server = serve(t, authority)

    def ticks():
        with open(f"/proc/{server.process.pid}/stat", encoding="ascii") as file:
            return sum(int(field) for field in file.read().rsplit(")", 1)[1].split()[11:13])

    def calm_ticks():
        begin = ticks()
        time.sleep(1.5)
        return ticks() - begin

    for name, part in (("nothing", b""), ("a byte", b"\x16"), ("a part of a record", b"\x16\x03\x01\x02\x00\x01")):
        with t.row(name), socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(part)
            count = calm_ticks()
            t.true(count < 40, f"of 150 ticks it takes few: {count}")
            t.equal(get(server, authority, "/healthz")["status"], "ok", "others are served")
    with t.row("many of them"), contextlib.ExitStack() as stack:
        for _ in range(2000):
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port))).sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        t.until(lambda: calm_ticks() < 40, "of 150 ticks they take few")
        t.equal(get(server, authority, "/healthz")["status"], "ok", "others are served")
        t.equal(get(server, authority, "/openapi.json")["openapi"], "3.1.0", "and what is large comes whole")
    for version, is_taken in (("-tls1", False), ("-tls1_1", False), ("-tls1_2", True), ("-tls1_3", True)):
        with t.row(version):
            said = t.run("openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", version, "-cipher", "ALL:@SECLEVEL=0", stdin="").out
            t.equal("Cipher is (NONE)" not in said, is_taken)


if __name__ == "__main__":
    main()
