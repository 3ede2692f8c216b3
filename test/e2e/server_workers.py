#!/usr/bin/env python3
"""Workers that pull their work from a server: 'maestro worker' over real sockets."""
import json
import signal

from maestro_test import case, main
from server_test import Server

RUNNERS = """executors:
  far:
    kind: worker
    runners:
      far/greet: {}
"""

HERE = """executors:
  local:
    kind: process
    runners:
      far/greet: { command: ["sh", "-c", "echo '{\\"said\\": \\"hello\\"}' > \\"$MAESTRO_OUTPUT\\""] }
"""

FAR = """workflow: far
jobs:
  a:
    tasks:
      - { name: greet, run: far/greet }
"""


def begin(t):
    server = Server(t, "--runners", t.write("server-runners.yaml", RUNNERS))
    server.define(FAR)
    return server


def worker_args(t, server, key, *args):
    return ("worker", "--server", f"http://127.0.0.1:{server.port}", "--executor", "far", "--runners", t.write("runners.yaml", HERE),
            "--token-file", t.write("token-" + key[-5:], key), *args)


@case("")
def a_worker_pulls_its_work_and_reports_what_became_of_it(t):
    server = begin(t)
    run = server.begin("far")
    worker = t.start(*worker_args(t, server, server.key("worker", "*")))
    done = server.get("/api/executions/%s?wait=30s" % run["executionId"]).json()
    t.require(done["steps"], f"the step has begun: {done} {t.said(worker)} {t.said(server.process)}")
    t.equal((done["status"], done["steps"][0]["outputData"]), ("COMPLETED", {"said": "hello"}), t.said(worker))
    for _ in range(5):
        t.equal(server.begin("far", wait="30s")["status"], "COMPLETED")
    worker.send_signal(signal.SIGTERM)
    t.equal(t.end(worker).code, 0, "the code of the worker")


@case("")
def a_lease_is_good_for_one_report_and_outlives_the_server(t):
    server = begin(t)
    key = server.key("worker", "*")
    run = server.begin("far")["executionId"]
    path = "/api/executors/far/exchange"
    got = server.post(path, {"worker": "w", "want": 1, "wait_ms": 20000}, key=key)
    t.require(got.status == 200 and got.json()["leases"], f"a lease is granted: {got}")
    lease = got.json()["leases"][0]
    server.stop(signal.SIGKILL)
    server.start()
    report = {"worker": "w", "reports": [{"token": lease["token"], "output": {"n": 1}}], "want": 0}
    first = server.post(path, report, key=key)
    t.equal(first.status, 200, f"the report: {first}")
    t.until(lambda: server.get("/api/executions/" + run).json()["status"] == "COMPLETED", "the execution is completed")
    server.post(path, report, key=key)
    steps = server.get("/api/executions/" + run).json()["steps"]
    t.equal([(s["status"], s["outputData"]) for s in steps], [("COMPLETED", {"n": 1})], "the second report changes nothing")


@case("proves: F-113")
def exchanges_need_the_role_of_a_worker_and_an_executor_that_there_is(t):
    server = begin(t)
    path = "/api/executors/far/exchange"
    for role in ("viewer", "operator", "author"):
        with t.row(role):
            t.equal(server.post(path, {"want": 0}, key=server.key(role)).status, 403)
    t.equal(server.post(path, {"want": 0}, key=server.key("worker")).status, 200)
    t.equal(server.post("/api/executors/none/exchange", {"want": 0}).status, 404)
    t.equal(server.post(path, {"reports": "x"}).status, 400)
    t.equal(server.get("/api/executions", key=server.key("worker")).status, 403, "a worker looks at nothing")
    of_another = server.post(path, {"worker": "o", "want": 1, "wait_ms": 200}, key=server.key("worker", "other"))
    server.begin("far")
    t.equal(of_another.json()["leases"], [], "nothing of another tenant is given out")
    again = server.post(path, {"worker": "o", "want": 1, "wait_ms": 500}, key=server.key("worker", "other"))
    t.equal(again.json()["leases"], [], "also where there is work")


if __name__ == "__main__":
    main()
