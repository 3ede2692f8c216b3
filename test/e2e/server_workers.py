#!/usr/bin/env python3
"""Workers that pull their work from a server: 'maestro worker' over real sockets."""
import asyncio
import collections
import resource
import signal
import threading

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


class Gate:
    """A service that holds every request until its key, or everybody, is let through."""

    def __init__(self):
        self.asked = collections.Counter()      # by idempotency key: how often the work was asked for
        self.held = {}                          # by key: those that wait now
        self.is_open = False
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()
        threading.Thread(target=self.run, args=(ready,), daemon=True).start()
        ready.wait()

    def run(self, ready):
        async def begin():
            server = await asyncio.start_server(self.serve, "127.0.0.1", 0, backlog=1024)
            self.port = server.sockets[0].getsockname()[1]
            ready.set()
        self.loop.run_until_complete(begin())
        self.loop.run_forever()

    async def serve(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
                await reader.readexactly(int(fields["content-length"]))
                await self.hold(fields["idempotency-key"], reader)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def hold(self, key, reader):
        self.asked[key] += 1
        if self.is_open:
            return
        permit = self.held[key] = asyncio.Event()
        waiting = [asyncio.ensure_future(permit.wait()), asyncio.ensure_future(reader.read(1))]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if waiting[1].done():
                raise ConnectionError("whoever asked is gone")
        finally:
            if self.held.get(key) is permit:
                del self.held[key]
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    def let_through(self, keys):
        self.loop.call_soon_threadsafe(lambda: [self.held[key].set() for key in keys])

    def open(self):
        def all_of_them():
            self.is_open = True
            for permit in self.held.values():
                permit.set()
        self.loop.call_soon_threadsafe(all_of_them)


RUN_COUNT, JOB_COUNT, WORKER_COUNT = 20, 50, 4
MANY = "workflow: many\nconfig: { max_concurrency: 100 }\njobs:\n" + "".join(
    "  j%d: { tasks: [{ name: ask, run: far/greet, timeout: 1h, retries: { attempts: 6, delay: 1ms, on: [transient, timeout, lease-expired] } }] }\n" % i
    for i in range(JOB_COUNT))


@case("proves: F-072 F-086 F-087 F-116")
def half_of_the_workers_of_a_thousand_leases_are_killed_and_nothing_is_lost_or_repeated(t):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    gate, total = Gate(), RUN_COUNT * JOB_COUNT
    server = Server(t, "--runners", t.write("server-runners.yaml", RUNNERS.replace("kind: worker", "kind: worker\n    lease: 15s")))
    server.define(MANY)
    token = t.write("many-token", server.key("worker", "*"))
    here = t.write("many-runners.yaml", """executors:
  near:
    kind: http
    capacity: %d
    runners:
      far/greet: { url: "http://127.0.0.1:%d/" }
""" % (total // WORKER_COUNT, gate.port))
    workers = [t.start("worker", "--server", f"http://127.0.0.1:{server.port}", "--executor", "far", "--runners", here, "--token-file",
                       token, "--capacity", str(total // WORKER_COUNT), env={"no_proxy": "127.0.0.1"})
               for _ in range(WORKER_COUNT)]
    runs = [server.begin("many")["executionId"] for _ in range(RUN_COUNT)]
    t.until(lambda: len(gate.held) == total, f"every one of {total} leases is held at the same time")

    def completed():
        return sum(step["status"] == "COMPLETED" for run in runs for step in server.get("/api/executions/" + run).json()["steps"])
    early = sorted(gate.held)[:total // 5]
    gate.let_through(early)
    t.until(lambda: completed() == len(early), "those that were let through are recorded")
    for worker in workers[:WORKER_COUNT // 2]:
        worker.kill()
        t.end(worker)
    gate.open()
    for run in runs:
        t.until(lambda: server.get("/api/executions/" + run).json()["status"] != "RUNNING", "the execution ends")
    t.equal(completed(), total, "nothing is lost")
    t.equal(len(gate.asked), total, "every step has a key of its own")
    t.equal({gate.asked[name] for name in early}, {1}, "nothing that was recorded is asked for again")
    again = sum(count > 1 for count in gate.asked.values())
    t.true(0 < again <= total - len(early), f"what the killed had is asked for again: {again}")
    for run in runs:
        events, path = collections.Counter(), "/api/executions/%s/events?limit=500" % run
        while path:
            page = server.get(path).json()
            events.update(event.get("step") for event in page["items"] if event["event"] == "step-succeeded")
            path = page["_links"].get("next", {}).get("href")
        t.equal((len(events), set(events.values())), (JOB_COUNT, {1}), "each step succeeded once")
    for worker in workers[WORKER_COUNT // 2:]:
        worker.send_signal(signal.SIGTERM)
        t.equal(t.end(worker).code, 0, "the code of a worker that was not killed")


if __name__ == "__main__":
    main()
