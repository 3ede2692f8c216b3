#!/usr/bin/env python3
"""Services that answer 202 and call back later: an http executor, a service and a server over real sockets."""
import json
import queue
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from maestro_test import case, main
from server_test import Server

WORKFLOW = """workflow: later
jobs:
  a:
    tasks:
      - { name: ask, run: far/ask, %s }
"""


class Service:
    """Answers 202 and keeps the documents, for the case to call back; `before` is called before the answer."""

    def __init__(self, t):
        self.documents, self.before = queue.Queue(), None
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if service.before:
                    service.before(document)
                service.documents.put(document)
                self.send_response(202)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def document(self):
        return self.documents.get(timeout=60)


def begin(t, terms="timeout: 1h"):
    service = Service(t)
    runners = """executors:
  far:
    kind: http
    callback: http://maestro.example
    runners:
      far/ask: { url: "http://127.0.0.1:%d/ask" }
""" % service.http.server_port
    server = Server(t, "--runners", t.write("runners.yaml", runners), env={"no_proxy": "127.0.0.1"})
    server.define(WORKFLOW % terms)
    return server, service


def call_back(server, document, body, token=None):
    callback = document["callback"]
    path = callback["url"].removeprefix("http://maestro.example")
    return server.post(path, body, key=token or callback["token"])


def status_of(server, run):
    return server.get("/api/executions/" + run["executionId"]).json()["status"]


@case("")
def a_service_answers_202_and_completes_the_step_by_calling_back(t):
    server, service = begin(t)
    run = server.begin("later")
    document = service.document()
    t.equal(status_of(server, run), "RUNNING", "a 202 ends nothing")
    t.equal(call_back(server, document, {"output": {"n": 7}}).json(), {"accepted": True})
    done = server.get("/api/executions/%s?wait=30s" % run["executionId"]).json()
    t.equal((done["status"], done["steps"][0]["outputData"]), ("COMPLETED", {"n": 7}))
    again = call_back(server, document, {"output": {"n": 8}})
    t.equal(again.status, 404, f"the token ended with its attempt: {again}")
    steps = server.get("/api/executions/" + run["executionId"]).json()["steps"]
    t.equal([s["outputData"] for s in steps], [{"n": 7}], "the second report changes nothing")


@case("")
def a_service_may_call_back_before_it_has_answered(t):
    server, service = begin(t)
    answers = []
    service.before = lambda document: answers.append(call_back(server_of[0], document, {"output": "early"}))
    server_of = [Server.__new__(Server)]
    server_of[0].__dict__.update(server.__dict__, connection=None)      # the service has a connection of its own
    run = server.begin("later")
    done = server.get("/api/executions/%s?wait=30s" % run["executionId"]).json()
    t.equal((done["status"], done["steps"][0]["outputData"]), ("COMPLETED", "early"))
    service.document()
    t.equal([answer.status for answer in answers], [200])


@case("")
def a_failure_that_is_called_back_is_tried_again_with_another_token(t):
    server, service = begin(t, "timeout: 1h, retries: { attempts: 2, delay: 1ms, on: [transient] }")
    run = server.begin("later")
    first = service.document()
    t.equal(call_back(server, first, {"failure": {"cause": "transient", "message": "busy"}}).status, 200)
    second = service.document()
    t.equal((first["attempt"], second["attempt"]), (1, 2))
    t.true(first["callback"]["token"] != second["callback"]["token"], "each attempt has a token of its own")
    t.equal(call_back(server, first, {"output": "late"}).status, 404, "the token of an earlier attempt")
    t.equal(status_of(server, run), "RUNNING")
    t.equal(call_back(server, second, {"output": "done"}).status, 200)
    done = server.get("/api/executions/%s?wait=30s" % run["executionId"]).json()
    t.equal((done["status"], done["steps"][0]["outputData"]), ("COMPLETED", "done"))


@case("")
def what_is_no_callback_is_refused_without_harm(t):
    server, service = begin(t)
    run = server.begin("later")
    document = service.document()
    token = document["callback"]["token"]
    rows = (("a token that nobody has", {"output": 1}, "0" * len(token), 404), ("half of it", {"output": 1}, token[:16], 404),
            ("more of it", {"output": 1}, token + "0", 404), ("a key of the server", {"output": 1}, server.admin, 404),
            ("no object", [1], token, 400), ("a cause that there is not", {"failure": {"cause": "moon"}}, token, 400))
    for name, body, sent, status in rows:
        with t.row(name):
            t.equal(call_back(server, document, body, token=sent).status, status)
    path = "/maestro/callbacks/far"
    t.equal(server.post(path, {"output": 1}, key="").status, 401, "no token at all")
    t.equal(server.post("/maestro/callbacks/none", {"output": 1}, key=token).status, 404, "another executor")
    t.equal(status_of(server, run), "RUNNING")
    t.equal(call_back(server, document, {"output": "right"}).status, 200)


@case("")
def a_token_ends_with_the_deadline_a_cancellation_and_the_process(t):
    server, service = begin(t, "timeout: 300ms")
    run = server.begin("later")
    document = service.document()
    done = server.get("/api/executions/%s?wait=30s" % run["executionId"]).json()
    t.equal(done["status"], "FAILED", "nobody called back in time")
    t.equal(call_back(server, document, {"output": 1}).status, 404, "after the deadline")
    server.define(WORKFLOW % "timeout: 1h")
    run = server.begin("later")
    document = service.document()
    t.equal(server.post("/api/executions/%s/cancel" % run["executionId"], {"reason": "enough"}).status, 200)
    t.until(lambda: status_of(server, run) == "CANCELLED", "it is cancelled")
    t.equal(call_back(server, document, {"output": 1}).status, 404, "after its cancellation")
    run = server.begin("later")
    document = service.document()
    server.stop(signal.SIGKILL)
    server.start()
    t.equal(call_back(server, document, {"output": 1}).status, 404, "of an earlier process")


if __name__ == "__main__":
    main()
