"""`maestro worker` against a server that leases what a case has: what it asks for, carries out, says and survives."""
import json
import signal
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from maestro_test import MAESTRO, case, main

RUNNERS = """executors:
  here:
    kind: process
    capacity: 4
    runners:
      q/echo: { command: [sh, -c, 'echo hello; echo "{\\"n\\": 7}" > "$MAESTRO_OUTPUT"'] }
      q/fail: { command: [sh, -c, 'exit 75'] }
      q/slow: { command: [sleep, "600"] }
      q/effect: { command: [sh, -c, 'echo "{\\"effect\\": {\\"charge\\": 5}}" >&3; read -r ack <&4; echo "{\\"effectCommitted\\": true}" >&3; read -r ack <&4'] }
"""


class Server:
    """Leases in a list, everything that was said in others; answers as docs/worker-protocol.md has it."""

    def __init__(self, leases, status=200):
        self.leases, self.status, self.cancels = list(leases), status, []
        self.reports, self.messages, self.logs, self.beats, self.bodies, self.heads = [], [], [], set(), [], []
        self.changed = threading.Condition()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, answer = server.exchange(self.path, dict(self.headers), body)
                text = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def exchange(self, path, head, body):
        with self.changed:
            self.heads.append((path, head))
            self.bodies.append(body)
            if self.status != 200:
                self.changed.notify_all()
                return self.status, {"title": "no"}
            results = []
            for report in body.get("reports", []):
                self.reports.append(report)
                results.append({"token": report["token"], "of": "report", "result": "accepted"})
            for message in body.get("messages", []):
                self.messages.append(message)
                if set(message["message"]) & {"effect", "effectCommitted"}:
                    results.append({"token": message["token"], "of": "effect", "result": "accepted"})
            self.logs += body.get("logs", [])
            self.beats |= set(body.get("heartbeats", []))
            want = body.get("want", 0)
            if want and not self.leases and not self.cancels:
                self.changed.notify_all()
                self.changed.wait(0.2)
            leases, self.leases = self.leases[:want], self.leases[want:]
            cancels, self.cancels = self.cancels, []
            self.changed.notify_all()
            return 200, {"results": results, "leases": leases, "cancels": cancels}

    def until(self, what):
        with self.changed:
            return self.changed.wait_for(lambda: what(self), timeout=60)

    def close(self):
        self.http.shutdown()
        self.http.server_close()


def lease(token, runner, lease_ms=30000, **task):
    return {"token": token, "runner": runner, "queue": "q", "tenant": "default", "lease_ms": lease_ms, "definition": "w", "args": None, "resources": None,
            "effect_recorded": False, "task": {"input": None, "params": {}, "context": None, "idempotencyKey": f"k-{token}", "attempt": 1,
                                               "deadline": None, "traceparent": None, "run": "r", "step": "s", **task}}


class Worker:
    def __init__(self, t, server, *more):
        runners = t.write("runners.yaml", RUNNERS)
        self.process = subprocess.Popen([MAESTRO, "worker", "--server", server.url, "--runners", runners, "--queue", "q", *more],
                                        stderr=subprocess.PIPE, text=True, env={"PATH": "/usr/bin:/bin", "MAESTRO_TOKEN": "the-token"})

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.process.kill()
        self.process.communicate()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60), self.process.stderr.read()


@case("proves: F-072")
def what_is_leased_is_carried_out_and_reported(t):
    server = Server([lease("1.0.1.9.1", "q/echo"), lease("1.1.1.9.2", "q/fail"), lease("1.2.1.9.3", "q/nowhere")])
    with Worker(t, server, "--executor", "pool", "--name", "w1") as worker:
        t.require(server.until(lambda s: len(s.reports) == 3))
        code, err = worker.stop()
        t.equal(code, 0, err)
    said = {report["token"]: report for report in server.reports}
    t.equal(said["1.0.1.9.1"]["output"], {"n": 7})
    t.equal(said["1.1.1.9.2"]["failure"]["cause"], "transient")
    t.equal(said["1.2.1.9.3"]["failure"]["cause"], "permanent")
    t.contains(said["1.2.1.9.3"]["failure"]["message"], "q/nowhere")
    t.equal([log["text"] for log in server.logs], ["hello"])
    path, head = server.heads[0]
    t.equal(path, "/api/executors/pool/exchange")
    t.equal(head["Authorization"], "Bearer the-token")
    pulls = [body for body in server.bodies if body.get("want")]
    t.equal((pulls[0]["worker"], pulls[0]["queues"], pulls[0]["want"]), ("w1", ["q"], 4))
    server.close()


@case()
def never_more_than_its_capacity_is_under_way(t):
    server = Server([lease(f"1.{i}.1.9.{i + 1}", "q/echo") for i in range(20)])
    with Worker(t, server, "--capacity", "2") as worker:
        t.require(server.until(lambda s: len(s.reports) == 20))
        worker.stop()
    t.equal(len({report["token"] for report in server.reports}), 20)
    t.equal(all(body.get("want", 0) <= 2 for body in server.bodies), True)
    server.close()


@case()
def an_effect_is_announced_before_it_is_committed(t):
    server = Server([lease("1.0.1.9.1", "q/effect")])
    with Worker(t, server) as worker:
        t.require(server.until(lambda s: s.reports))
        worker.stop()
    t.equal([m["message"] for m in server.messages], [{"effect": {"charge": 5}}, {"effectCommitted": True}])
    t.equal(server.reports[0].get("output", "?"), None)
    server.close()


@case()
def what_is_cancelled_is_ended_and_heartbeats_go_on_until_then(t):
    server = Server([lease("1.0.1.9.1", "q/slow", lease_ms=600)])
    with Worker(t, server) as worker:
        t.require(server.until(lambda s: "1.0.1.9.1" in s.beats))
        server.cancels.append("1.0.1.9.1")
        t.require(server.until(lambda s: s.reports))
        t.equal(server.reports[0]["failure"]["cause"], "cancelled")
        t.equal(worker.stop()[0], 0)
    server.close()


@case("proves: F-010")
def a_server_that_is_away_is_waited_for_and_nothing_is_lost(t):
    server = Server([lease("1.0.1.9.1", "q/echo")], status=503)
    with Worker(t, server) as worker:
        t.require(server.until(lambda s: len(s.bodies) >= 2))
        server.status = 200
        t.require(server.until(lambda s: not s.leases))
        server.status = 503                         # the report finds nobody
        t.require(server.until(lambda s: any(body.get("reports") for body in s.bodies)))
        server.status = 200
        t.require(server.until(lambda s: s.reports))
        worker.stop()
    t.equal(len(server.reports), 1)
    t.equal(server.reports[0]["output"], {"n": 7})
    server.close()


@case("proves: F-113")
def a_worker_that_is_refused_says_so_and_ends(t):
    for status, code in ((401, 77), (403, 77), (404, 69)):
        server = Server([], status=status)
        with Worker(t, server) as worker:
            t.equal(worker.process.wait(60), code)
            t.contains(worker.process.stderr.read(), server.url)
        server.close()


@case()
def a_report_that_the_server_does_not_take_is_told_as_a_failure_and_the_others_arrive(t):
    server = Server([lease("1.0.1.9.1", "q/echo"), lease("1.1.1.9.2", "q/fail"), lease("1.2.1.9.3", "q/echo")])
    answer, refused = server.exchange, []

    def exchange(path, head, body):
        wrong = [report for report in body.get("reports", []) if report["token"] == "1.0.1.9.1" and "output" in report]
        if wrong:
            refused.append(len(body["reports"]) + len(body.get("logs", [])))
            return 413, {"title": "too large"}
        return answer(path, head, body)
    server.exchange = exchange
    with Worker(t, server) as worker:
        t.require(server.until(lambda s: len(s.reports) == 3))
        t.equal(worker.stop()[0], 0)
    said = {report["token"]: report for report in server.reports}
    t.equal(said["1.0.1.9.1"]["failure"]["cause"], "permanent")
    t.contains(said["1.0.1.9.1"]["failure"]["message"], "(413)")
    t.equal(said["1.1.1.9.2"]["failure"]["cause"], "transient")
    t.equal(said["1.2.1.9.3"]["output"], {"n": 7})
    t.equal(refused[-1], 1, "what is wrong is found alone")
    server.close()


@case()
def a_report_of_which_the_server_does_not_know_yet_is_sent_again(t):
    server = Server([lease("1.0.1.9.1", "q/echo")])
    answer, asked = server.exchange, []

    def exchange(path, head, body):
        status, said = answer(path, head, body)
        for result in said["results"]:
            asked.append(result["token"])
            if len(asked) < 3:
                result["result"] = "unknown"
        return status, said
    server.exchange = exchange
    with Worker(t, server) as worker:
        t.require(server.until(lambda s: len(s.reports) == 3))
        t.equal(worker.stop()[0], 0)
    t.equal([report["output"] for report in server.reports], [{"n": 7}] * 3)
    server.close()


@case()
def a_worker_without_a_server_is_told_what_to_say(t):
    result = t.maestro("worker")
    t.equal(result.code, 2)
    t.contains(result.err, "--server URL")


main()
