#!/usr/bin/env python3
"""The protocol of workers as it is documented: what 'maestro worker' and the server really send, held against the schemas of
/openapi.json, and a worker that was written from the document and docs/worker-protocol.md alone."""
import http.client
import json
import queue
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from maestro_test import case, main
from schema_test import resolve, violations
from server_test import Server

RUNNERS = """executors:
  far:
    kind: worker
    lease: 3s
    runners:
      far/say: { queue: talk }
      far/act: { queue: acts }
      far/flaky: { queue: talk }
      far/broken: { queue: talk }
      far/long: { queue: talk }
"""

HERE = """executors:
  local:
    kind: process
    runners:
      far/say:
        command:
          - sh
          - -c
          - |
            echo "to standard output"; echo "to standard error" >&2
            for m in '{"cost": 0.25}' '{"signal": "reached"}' '{"signal": {"name": "other", "kind": "health", "value": [1]}}' '{"progress": 0.5}' \\
                     '{"progress": {"done": 0.75, "text": "nearly"}}'; do echo "$m" >&3; done
            sleep 2.5
            echo '{"said": "hello"}' > "$MAESTRO_OUTPUT"
      far/act:
        command: [sh, -c, 'echo "{\\"effect\\": {\\"charge\\": 5}}" >&3; read -r ack <&4; echo "{\\"effectCommitted\\": true}" >&3; read -r ack <&4']
      far/flaky: { command: [sh, -c, 'test "$MAESTRO_ATTEMPT" -gt 1 || exit 75'] }
      far/broken: { command: [sh, -c, 'echo "it is broken" >&2; exit 65'] }
      far/long: { command: [sleep, "600"] }
"""

ALL = """workflow: all
params: [{ name: who, type: string, default: "you" }]
jobs:
  a:
    resources: { memory_mb: 512 }
    tasks:
      - { name: say, run: far/say, args: ["${params.who}"], input: { to: "${params.who}" }, timeout: 1h }
      - { name: act, run: far/act, idempotency: effect-recorded, compensation: { run: noop } }
      - { name: flaky, run: far/flaky, retries: { attempts: 3, delay: 10ms, on: [transient] } }
      - { name: broken, run: far/broken, retries: { attempts: 1 } }
"""

LONG = """workflow: long
jobs: { a: { tasks: [{ name: wait, run: far/long }] } }
"""

EXCHANGE = "/api/executors/{executorId}/exchange"


def finished(t, server, run):
    t.until(lambda: server.get("/api/executions/" + run).json()["status"] != "RUNNING", "the execution ends")
    return server.get("/api/executions/" + run).json()


class Recorder:
    """Stands between a worker and a server, passes everything on, and keeps both bodies."""

    def __init__(self, port):
        self.kept = []
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
                connection.request("POST", self.path, body, {name: self.headers[name] for name in ("Authorization", "Content-Type")})
                answer = connection.getresponse()
                told = answer.read()
                connection.close()
                recorder.kept.append((self.path, json.loads(body), answer.status, json.loads(told)))
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.headers["Content-Type"])
                self.send_header("Content-Length", str(len(told)))
                self.end_headers()
                self.wfile.write(told)

            def log_message(self, *_):
                pass
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.url = "http://127.0.0.1:%d" % self.http.server_port

    def end(self):
        self.http.shutdown()
        self.http.server_close()


class Described:
    """What the document says of the exchange."""

    def __init__(self, server):
        self.document = server.get("/openapi.json").json()
        operation = self.document["paths"][EXCHANGE]["post"]
        self.statuses = operation["responses"]
        self.asked = operation["requestBody"]["content"]["application/json"]["schema"]
        self.told = operation["responses"]["200"]["content"]["application/json"]["schema"]

    def wrong(self, asked, told):
        return violations(self.document, self.asked, asked) + violations(self.document, self.told, told)

    def members(self, name):
        return set(resolve(self.document, {"$ref": "#/components/schemas/" + name})["properties"])


@case("proves: C-33 F-072 F-086")
def what_maestro_worker_and_the_server_send_is_as_the_document_says(t):
    server = Server(t, "--runners", t.write("server-runners.yaml", RUNNERS))
    described = Described(server)
    for text in (ALL, LONG):
        server.define(text)
    recorder = Recorder(server.port)
    key = server.key("worker", "default", "--executor", "far", "--queue", "talk", "--queue", "acts")
    worker = t.start("worker", "--server", recorder.url, "--executor", "far", "--queue", "talk", "--queue", "acts", "--runners",
                     t.write("runners.yaml", HERE), "--token-file", t.write("token", key), env={"no_proxy": "127.0.0.1"})
    long = server.begin("long")["executionId"]
    done = finished(t, server, server.begin("all")["executionId"])
    t.equal([s["status"] for s in done["steps"]], ["COMPLETED", "COMPLETED", "COMPLETED", "FAILED"], f"{done} {t.said(worker)}")
    server.post(f"/api/executions/{long}/cancel", {"reason": "enough"})
    t.until(lambda: server.get("/api/executions/" + long).json()["status"] == "CANCELLED", "what was to end has ended")
    worker.send_signal(signal.SIGTERM)
    t.equal(t.end(worker).code, 0, "the code of the worker")
    recorder.end()
    kept = recorder.kept
    t.require(kept, "something was recorded")
    for path, asked, status, told in kept:
        with t.row(json.dumps(asked)[:200]):
            t.equal((path, status), ("/api/executors/far/exchange", 200))
            t.equal(described.wrong(asked, told)[:3], [], json.dumps(told)[:400])
    # What was recorded is worth being held against the document: it has everything that is described there.
    asked, told = [one[1] for one in kept], [one[3] for one in kept]

    def all_of(bodies, name):
        return [item for body in bodies for item in body.get(name, [])]
    t.equal({name for body in asked for name in body}, described.members("Exchange"), "members of requests")
    t.equal({name for item in all_of(asked, "messages") for name in item["message"]}, {"effect", "effectCommitted", "cost", "signal", "progress"})
    t.equal({tuple(sorted(item)) for item in all_of(asked, "reports")}, {("output", "token"), ("failure", "token")})
    t.equal({item["failure"]["cause"] for item in all_of(asked, "reports") if "failure" in item}, {"transient", "input-invalid", "cancelled"})
    t.equal({item["is_error"] for item in all_of(asked, "logs")}, {True, False})
    t.equal({(item["of"], item["result"]) for item in all_of(told, "results")}, {("report", "accepted"), ("effect", "accepted")})
    t.equal({name for item in all_of(told, "leases") for name in item}, described.members("Lease"))
    t.equal({name for item in all_of(told, "leases") for name in item["task"]}, described.members("Task") - {"tracestate"})
    t.equal(len(all_of(told, "cancels")), 1, "one attempt was to end")


class Worker:
    """A worker as docs/worker-protocol.md has it: it waits on one connection and talks on another, in `work` for each lease."""

    def __init__(self, server, key, described, work):
        self.server, self.key, self.described, self.work = server, key, described, work
        self.wrong, self.results, self.cancels = [], {}, set()
        self.is_over = threading.Event()
        self.outbox = queue.Queue()
        self.alive, self.lock = {}, threading.Lock()
        self.threads = [threading.Thread(target=one, daemon=True) for one in (self.wait, self.talk)]
        for thread in self.threads:
            thread.start()

    def exchange(self, connection, body):
        body = {"worker": "by-the-book", **body}
        connection.request("POST", "/api/executors/far/exchange", json.dumps(body),
                           {"Authorization": "Bearer " + self.key, "Content-Type": "application/json"})
        answer = connection.getresponse()
        told = json.loads(answer.read())
        self.wrong += [f"{answer.status} {told}"] if answer.status != 200 else self.described.wrong(body, told)
        if answer.status != 200:
            self.is_over.set()
            return {"results": [], "leases": [], "cancels": []}
        self.cancels |= set(told["cancels"])
        self.results.update({(result["token"], result["of"]): result["result"] for result in told["results"]})
        return told

    def wait(self):
        connection = self.server.connect()
        while not self.is_over.is_set():
            for lease in self.exchange(connection, {"want": 1, "wait_ms": 500})["leases"]:
                with self.lock:
                    self.alive[lease["token"]] = lease["lease_ms"]
                self.work(self, lease)

    def talk(self):
        connection = self.server.connect()
        while not self.is_over.is_set():
            said = {}
            try:
                kind, item = self.outbox.get(timeout=min([*self.alive.values(), 3000]) / 3000)
                said[kind] = [item]
            except queue.Empty:
                with self.lock:
                    said["heartbeats"] = sorted(self.alive)
            self.exchange(connection, said)
            with self.lock:
                for item in said.get("reports", []):
                    self.alive.pop(item["token"], None)

    def end(self):
        self.is_over.set()
        for thread in self.threads:
            thread.join(timeout=60)


@case("proves: C-33 C-70 F-072 F-086 F-116")
def a_worker_written_from_the_document_carries_a_step_out(t):
    server = Server(t, "--runners", t.write("server-runners.yaml", RUNNERS))
    described = Described(server)
    server.define("""workflow: book
params: [{ name: who, type: string }]
jobs: { a: { tasks: [{ name: say, run: far/say, input: { to: "${params.who}" }, retries: { attempts: 3, delay: 10ms, on: [transient] } }] } }
""")
    seen = []

    def work(worker, lease):
        token, task = lease["token"], lease["task"]
        seen.append((task["attempt"], task["idempotencyKey"], token))
        if task["attempt"] == 1:
            worker.outbox.put(("reports", {"token": token, "failure": {"cause": "transient", "message": "the line is busy", "details": {"code": 7}}}))
            return
        worker.outbox.put(("logs", {"token": token, "text": "hello " + task["input"]["to"]}))
        worker.outbox.put(("messages", {"token": token, "message": {"signal": {"name": "half", "kind": "milestone", "value": 1}}}))
        # It takes longer than its lease, which heartbeats keep alive meanwhile.
        worker.is_over.wait(1.5 * lease["lease_ms"] / 1000)
        worker.outbox.put(("reports", {"token": token, "output": {"greeted": task["input"]["to"], "by": task["params"]["who"]}}))

    worker = Worker(server, server.key("worker", "default", "--executor", "far"), described, work)
    run = server.begin("book", {"who": "Ada"})["executionId"]
    done = finished(t, server, run)
    t.until(lambda: len(worker.results) == 2, "both reports are answered")
    worker.end()
    t.equal((done["status"], done["steps"][0]["outputData"]), ("COMPLETED", {"greeted": "Ada", "by": "Ada"}), str(worker.wrong[:3]))
    t.equal(worker.wrong[:3], [], "both sides keep to the document")
    t.equal([attempt for attempt, _, _ in seen], [1, 2], "a transient failure is tried again, once")
    t.equal(len({idempotency for _, idempotency, _ in seen}), 1, "under the same key")
    t.equal({worker.results[(token, "report")] for _, _, token in seen}, {"accepted"})
    t.equal([line["text"] for line in server.get(f"/api/executions/{run}/logs").json()["items"]], ["hello Ada"])
    events = server.get(f"/api/executions/{run}/events?limit=500").json()["items"]
    t.equal([event["event"] for event in events].count("signal-received"), 1, "its signal")
    t.true(worker.cancels <= {seen[0][2]}, "nothing else was to be ended")


@case("proves: C-33")
def what_the_document_forbids_the_server_refuses(t):
    server = Server(t, "--runners", t.write("server-runners.yaml", RUNNERS))
    described = Described(server)
    server.define(LONG)
    server.begin("long")
    key = server.key("worker")
    path = EXCHANGE.format(executorId="far")
    token = server.post(path, {"worker": "w", "want": 1, "wait_ms": 20000}, key=key).json()["leases"][0]["token"]
    rows = [{"capacity": 1}, {"reports": {}}, {"reports": [{"token": token}]}, {"reports": [{"token": token, "output": 1, "failure": {}}]},
            {"reports": [{"token": token, "failure": {"cause": "moon"}}]}, {"reports": [{"token": token, "failure": {"cause": 5}}]},
            {"reports": [{"token": token, "failure": {"cause": None}}]}, {"reports": [{"token": token, "failure": {"class": "transient"}}]},
            {"reports": [{"token": token, "failure": {"message": ["it broke"]}}]}, {"reports": [{"token": token, "failure": {"message": "x" * 16385}}]},
            {"reports": [{"token": token, "output": 1, "cost": 1}]}, {"reports": [{"output": 1}]}, {"logs": [{"token": token}]},
            {"logs": [{"token": token, "text": "a", "line": 1}]}, {"messages": [{"token": token}]}, {"messages": [{"token": token, "message": {}}]},
            {"messages": [{"token": token, "message": {"progress": 2}}]}, {"messages": [{"token": token, "message": {"cost": -1}}]},
            {"messages": [{"token": token, "message": {"signal": {"name": "x", "kind": "moon"}}}]}, {"messages": [{"token": token, "message": {"effectCommitted": 1}}]},
            {"heartbeats": [1]}, {"queues": [1]}, {"want": -1}, {"wait_ms": 1.5}, {"worker": None}, {"heartbeats": [""]},
            {"heartbeats": [token] * 1025}, []]
    for body in rows:
        with t.row(json.dumps(body)[:120]):
            t.true(violations(described.document, described.asked, body), "the schema forbids it")
            answer = server.post(path, body, key=key)
            t.true(answer.status in (400, 422), f"and the server refuses it: {answer}")
            t.true(str(answer.status) in described.statuses, "by a status that is documented")
    right = [{}, {"reports": None, "queues": None}, {"messages": [{"token": token, "message": {"signal": "x"}}, {"token": token, "message": {"progress": {"done": 1}}}]},
             {"logs": [{"token": token, "text": ""}]}, {"heartbeats": [token], "want": 0, "wait_ms": 0, "queues": ["talk"], "worker": "w"},
             {"messages": [{"token": token, "message": {"heartbeat": True}}]}, {"reports": [{"token": token, "failure": {"cause": "transient", "message": "x" * 16384, "details": None}}]}]
    for body in right:
        with t.row(json.dumps(body)[:120]):
            answer = server.post(path, body, key=key)
            t.equal((answer.status, described.wrong(body, answer.json())), (200, []), str(answer))


if __name__ == "__main__":
    main()
