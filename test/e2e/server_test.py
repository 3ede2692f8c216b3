"""What the suites of the server share: a server of the case's own, and a client that speaks to it over real sockets.

    server = Server(t)                      # started, with its first key
    answer = server.get("/api")             # status, headers, body; answer.json()
    server.post("/api/executions", {"workflowId": "hello"}, key=server.key("viewer"))
"""
import http.client
import json
import os
import queue
import signal
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HELLO = """workflow: hello
params: [{ name: who, type: string }]
jobs:
  greet:
    tasks:
      - { name: say, log: "hello ${params.who}" }
"""


def problem(t, answer, status, kind):
    t.equal(answer.status, status, "the status")
    t.equal(answer.headers["Content-Type"], "application/problem+json", "the type of an error")
    body = answer.json()
    t.equal(body["type"], "https://maestro/errors/" + kind, "the type")
    t.equal(body["status"], status, "the status in the body")
    t.true(body["title"] and body["detail"], "title and detail are there")
    t.contains(answer.headers["Link"], f"</errors/{kind}>", "the help")
    return body


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"<{self.status} {self.body[:400]!r}>"


def free_port():
    """For a server that keeps its port when it is started again."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


class Server:
    def __init__(self, t, *args, store=None, env=None, shell=True, err_fd=None, before=None):
        self.t, self.err_fd, self.before = t, err_fd, before
        self.store = store or str(t.folder / "store.db")
        self.args, self.env = (*args, *["--shell"] * shell), env     # definitions of the suites use the runner shell
        self.start()

    def start(self):
        self.process = self.t.start("server", "--listen", "127.0.0.1:0", "--store", "sqlite:" + self.store, *self.args, env=self.env,
                                    err_fd=self.err_fd, before=self.before)
        self.t.until(lambda: "maestro serves" in self.t.said(self.process) or self.process.poll() is not None, "the server listens")
        self.line = next((line for line in self.t.said(self.process).splitlines() if "maestro serves" in line), "")
        self.t.require("maestro serves" in self.line, "the server listens")
        self.port = int(self.line.split("/api")[0].rsplit(":", 1)[1])
        with open(self.store + ".admin-key", encoding="utf-8") as file:
            self.admin = file.read().strip()
        self.connection = None

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.t.end(self.process)

    def key(self, role, tenant="default", *args):
        made = self.t.maestro("key", "create", "--role", role, "--tenant", tenant, "--store", "sqlite:" + self.store, *args)
        self.t.equal(made.code, 0, "the code of key create")
        return made.out.strip()

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)

    def call(self, method, path, body=None, key=None, headers=None):
        sent = {"Authorization": "Bearer " + (key or self.admin)} if key != "" else {}
        if body is not None and not isinstance(body, (str, bytes)):
            body, sent["Content-Type"] = json.dumps(body), "application/json"
        sent.update(headers or {})
        for attempt in (1, 2):
            if self.connection is None:
                self.connection = self.connect()
            try:
                self.connection.request(method, path, body, sent)
                answer = self.connection.getresponse()
                return Answer(answer.status, answer.headers, answer.read())
            except (ConnectionError, http.client.HTTPException):
                self.connection = None
                if attempt == 2:
                    raise

    def get(self, path, **options):
        return self.call("GET", path, **options)

    def post(self, path, body=None, **options):
        return self.call("POST", path, {} if body is None else body, **options)

    def define(self, text, tenant="default", key=None):
        """Stores a definition and activates it; gives its revision."""
        made = self.call("POST", "/api/workflows?namespace=" + tenant, text, key=key, headers={"Content-Type": "application/yaml"})
        self.t.require(made.status in (200, 201), f"the definition is stored: {made}")
        path = made.json()["_links"]["self"]["href"]
        active = self.post(path + "/activate", {"allowIncompatible": True}, key=key)
        self.t.require(active.status == 200, f"the revision is activated: {active}")
        return active.json()

    def begin(self, workflow, parameters=None, wait="", key=None, **members):
        answer = self.post("/api/executions" + (f"?wait={wait}" if wait else ""),
                           dict(members, workflowId=workflow, parameters=parameters or {}), key=key)
        self.t.require(answer.status in (200, 201), f"the execution is started: {answer}")
        return answer.json()


def preloaded(t, name, text):
    """What a program is started with so that functions of this text in C are in the place of the library's."""
    library = str(t.folder / (name + ".so"))
    made = t.run("cc", "-shared", "-fPIC", "-o", library, t.write(name + ".c", "#define _GNU_SOURCE\n" + text), "-ldl")
    t.require(made.code == 0, f"{name} is compiled: {made.err}")
    return {"LD_PRELOAD": library, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}


class Clock:
    """The wall clock of a server that is started with `env`, which can be put on and back."""
    TEXT = """#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *out)
{
    static const volatile long *by_s;
    int (*ask)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    if (!by_s) by_s = mmap(NULL, sizeof *by_s, PROT_READ, MAP_SHARED, open(getenv("CLOCK_BY"), O_RDONLY | O_CLOEXEC), 0);
    int result = ask(clock, out);
    if (clock == CLOCK_REALTIME) out->tv_sec += *by_s;
    return result;
}
"""

    def __init__(self, t):
        self.path = t.folder / "clock-by"
        self.path.write_bytes(bytes(8))
        self.env = {**preloaded(t, "clock", self.TEXT), "CLOCK_BY": str(self.path)}

    def put(self, by_s):
        with open(self.path, "r+b") as file:
            file.write(by_s.to_bytes(8, "little", signed=True))


class Service:
    """Answers 202 and keeps the documents, for the case to call back; `before` is called before the answer. `statuses` are those of
    the next answers; 0: the connection is cut instead."""

    def __init__(self, t):
        self.documents, self.before, self.statuses = queue.Queue(), None, []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if service.before:
                    service.before(document)
                status = service.statuses.pop(0) if service.statuses else 202
                service.documents.put(document)
                if not status:
                    self.close_connection = True
                    return
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def document(self):
        return self.documents.get(timeout=60)


class Collector:
    """Takes OTLP over HTTP as JSON, with a `context` over TLS; `status` is what it answers, after `gate` is open."""

    def __init__(self, status=200, port=0, context=None):
        self.spans, self.requests, self.status, self.answer = [], [], status, b"{}"
        self.headers, self.times = {}, []
        self.gate = threading.Event()
        self.gate.set()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                collector.gate.wait(60)
                collector.requests.append((self.path, dict(self.headers), body))
                collector.times.append(time.monotonic())
                if collector.status == 200:
                    for resource_spans in body["resourceSpans"]:
                        for scope in resource_spans["scopeSpans"]:
                            collector.spans += scope["spans"]
                self.send_response(collector.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(collector.answer)))
                for name, value in collector.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(collector.answer)

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        if context:
            self.http.handle_error = lambda *which: None            # a client that does not believe it
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"{'https' if context else 'http'}://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


class Relay:
    """Gives requests on to a server, and its answers back: `before_answer` is called with the path of each in between."""

    def __init__(self, server):
        self.before_answer = lambda path: None
        relay = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                connection = server.connect()
                connection.request(self.command, self.path, body, {name: self.headers[name] for name in ("Authorization", "Content-Type")
                                                                   if name in self.headers})
                answer = connection.getresponse()
                said = answer.read()
                connection.close()
                relay.before_answer(self.path)
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.headers["Content-Type"])
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            do_GET = do_POST

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


def call_back(server, document, body, token=None):
    callback = document["callback"]
    path = callback["url"].removeprefix("http://maestro.example")
    return server.post(path, body, key=token or callback["token"])
