#!/usr/bin/env python3
"""Cells: a server that carries out leases of a central one, also while that is away, and while it is itself killed."""
import json
import signal
from pathlib import Path

from maestro_test import case, main
from server_test import Server, free_port

CENTRAL = """executors:
  eu:
    kind: worker
    lease: %s
    runners: { eu/echo: {}, eu/gate: {}, eu/fail: {}, eu/slow: {}, eu/far: {}, eu/effect: {}, eu/nowhere: {} }
"""
# What a program of the cell leaves behind: a line for each time that it begins, with the key that it was given.
CELL = """executors:
  here:
    kind: process
    capacity: 8
    runners:
      eu/echo: {{ command: [sh, -c, 'echo "run $MAESTRO_RUN step $MAESTRO_STEP"; cp /dev/stdin {folder}/document; echo "{{\\"n\\": 7}}" > "$MAESTRO_OUTPUT"'] }}
      eu/gate: {{ command: [sh, -c, 'echo "$MAESTRO_IDEMPOTENCY_KEY" >> {folder}/began; while [ ! -e {folder}/gate ]; do sleep 0.05; done; echo "{{\\"done\\": true}}" > "$MAESTRO_OUTPUT"'] }}
      eu/fail: {{ command: [sh, -c, 'echo no >&2; exit 65'] }}
      eu/slow: {{ command: [sleep, "600"] }}
      eu/effect: {{ command: [sh, -c, 'echo "{{\\"effect\\": {{\\"charge\\": 5}}}}" >&3; read -r ack <&4; echo acted >> {folder}/began; echo "{{\\"effectCommitted\\": true}}" >&3; read -r ack <&4'] }}
  pool:
    kind: worker
    lease: 1h
    runners: {{ eu/far: {{}} }}
"""


class Pair:
    """A central server, and a cell of it, each with a port that it keeps."""

    def __init__(self, t, lease="1h", tenant="*", capacity=64, limits=()):
        self.t = t
        t.write("central.yaml", CENTRAL % lease)
        t.write("cell.yaml", CELL.format(folder=t.folder))
        self.central = Server(t, "--listen", f"127.0.0.1:{free_port()}", "--runners", t.folder / "central.yaml", store=str(t.folder / "central.db"),
                              env={"no_proxy": "127.0.0.1"})
        self.token = t.write("token", self.central.key("worker", tenant, *limits))
        self.cell = Server(t, "--listen", f"127.0.0.1:{free_port()}", "--runners", t.folder / "cell.yaml", "--cell", "eu-west", "--central",
                           f"http://127.0.0.1:{self.central.port}", "--executor", "eu", "--token-file", self.token, "--capacity", str(capacity), store=str(t.folder / "cell.db"),
                           env={"no_proxy": "127.0.0.1"})

    def define(self, runner, more=""):
        name = runner.replace("/", "-")
        self.central.define(f"workflow: {name}\njobs: {{ a: {{ tasks: [{{ name: do, run: {runner}, timeout: 1h{more} }}] }} }}\n")
        return name

    def begin(self, runner, more="", wait=""):
        return self.central.begin(self.define(runner, more), wait=wait)["executionId"]

    def run(self, run):
        return self.central.get("/api/executions/" + run).json()

    def until(self, run, status):
        self.t.until(lambda: self.run(run)["status"] == status, f"the execution is {status}")
        return self.run(run)

    def here(self):
        """What the cell has, each with its steps."""
        items = self.cell.get("/api/executions").json()["items"]
        return [self.cell.get("/api/executions/" + item["executionId"]).json() for item in items]

    def kept(self, step, status):
        return any(one["steps"] and any(s["stepId"].endswith(step) and s["status"] == status for s in one["steps"]) for one in self.here())

    def began(self):
        path = self.t.folder / "began"
        return path.read_text().split() if path.exists() else []

    def open(self):
        (self.t.folder / "gate").write_text("")


@case("proves: F-091")
def leases_of_the_central_server_are_carried_out_by_the_executors_of_the_cell(t):
    pair = Pair(t)
    run = pair.begin("eu/echo", ', input: { who: "Ana" }')
    told = pair.until(run, "COMPLETED")
    t.equal(told["steps"][0]["outputData"], {"n": 7})
    document = json.loads((t.folder / "document").read_text())
    t.equal((document["run"], document["step"], document["input"]), (run, told["steps"][0]["stepId"], {"who": "Ana"}))
    t.contains(pair.central.get(f"/api/executions/{run}/logs").body.decode(), f"run {run} step", "the log of the central server")
    failed = pair.until(pair.begin("eu/fail"), "FAILED")
    t.equal(failed["errorCause"], "input-invalid")
    lost = pair.until(pair.begin("eu/nowhere"), "FAILED")
    t.contains(lost["errorMessage"], "eu/nowhere")
    t.until(lambda: all(one["status"] == "COMPLETED" for one in pair.here()), "to the cell every lease has an outcome")
    t.equal(len(pair.here()), 2)
    t.equal(pair.cell.stop().code, 0)
    t.equal(pair.central.stop().code, 0)


@case("proves: F-101")
def the_trace_of_a_run_goes_on_in_the_cell_and_to_its_programs(t):
    pair = Pair(t)
    name = pair.define("eu/echo")
    trace = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": "congo=t61rcWkgMzE,rojo=1"}
    run = pair.central.post("/api/executions", {"workflowId": name}, headers=trace).json()["executionId"]
    pair.until(run, "COMPLETED")
    document = json.loads((t.folder / "document").read_text())
    t.equal((document["traceparent"][3:35], document["tracestate"]), (trace["traceparent"][3:35], trace["tracestate"]), "what the program got")
    own = pair.here()[0]["executionId"]
    began = pair.cell.get(f"/api/executions/{own}/events").json()["items"][0]
    t.equal((began["trace"][3:35], began["tracestate"]), (trace["traceparent"][3:35], trace["tracestate"]), "what the ledger of the cell has")


@case("proves: F-010 F-091")
def work_goes_on_while_the_central_server_is_killed_and_is_told_when_it_is_back(t):
    pair = Pair(t)
    runs = [pair.begin("eu/gate") for _ in range(3)]
    t.until(lambda: len(pair.began()) == 3, "the cell has all three")
    pair.central.stop(signal.SIGKILL)
    pair.open()
    t.until(lambda: sum(any(s["stepId"].endswith("attempt") and s["status"] == "COMPLETED" for s in one["steps"]) for one in pair.here()) == 3,
            "what they came to is recorded in the cell")
    t.equal({one["status"] for one in pair.here()}, {"RUNNING"}, "and waits to be told")
    pair.central.start()
    for run in runs:
        t.equal(pair.until(run, "COMPLETED")["steps"][0]["outputData"], {"done": True})
    t.equal(len(pair.began()), 3, "nothing was carried out twice")
    t.until(lambda: {one["status"] for one in pair.here()} == {"COMPLETED"}, "the cell has told everything")


@case("proves: F-010 F-002")
def what_a_killed_cell_had_recorded_is_told_by_its_next_process_and_not_carried_out_again(t):
    pair = Pair(t)
    run = pair.begin("eu/gate")
    t.until(lambda: len(pair.began()) == 1, "the cell has it")
    pair.central.stop(signal.SIGKILL)
    pair.open()
    t.until(lambda: pair.kept("attempt", "COMPLETED"), "what it came to is recorded")
    pair.cell.stop(signal.SIGKILL)
    pair.cell.start()
    t.until(lambda: pair.kept("attempt", "COMPLETED"), "the next process knows it")
    pair.central.start()
    t.equal(pair.until(run, "COMPLETED")["steps"][0]["outputData"], {"done": True})
    t.equal(len(pair.began()), 1, "it was carried out once")
    t.until(lambda: {one["status"] for one in pair.here()} == {"COMPLETED"}, "the cell has told it")


@case("proves: F-010")
def a_cell_that_is_killed_while_it_works_goes_on_under_the_same_key(t):
    pair = Pair(t)
    run = pair.begin("eu/gate")
    t.until(lambda: len(pair.began()) == 1, "the cell has it")
    pair.cell.stop(signal.SIGKILL)
    pair.cell.start()
    t.until(lambda: len(pair.began()) == 2, "its next process has it")
    pair.open()
    pair.until(run, "COMPLETED")
    t.equal(len(set(pair.began())), 1, "the key is the same")
    events = [event["event"] for event in pair.central.get(f"/api/executions/{run}/events?limit=500").json()["items"]]
    t.equal(events.count("step-dispatched"), 1, f"to the central server it is one attempt: {events}")


@case("proves: F-010 F-091")
def workers_of_the_cell_pull_from_it_and_outlive_both_servers(t):
    pair = Pair(t)
    near = t.write("near.yaml", CELL.format(folder=t.folder).replace("eu/far: {}", "eu/other: {}").replace("eu/gate:", "eu/far:"))
    token = t.write("near-token", pair.cell.key("worker", "*"))
    worker = t.start("worker", "--server", f"http://127.0.0.1:{pair.cell.port}", "--executor", "pool", "--token-file", token, "--runners", near,
                     env={"no_proxy": "127.0.0.1"})
    run = pair.begin("eu/far")
    t.until(lambda: len(pair.began()) == 1, "the worker of the cell has it")
    pair.central.stop(signal.SIGKILL)
    pair.cell.stop(signal.SIGKILL)
    pair.open()
    pair.cell.start()
    t.until(lambda: pair.kept("attempt", "COMPLETED"), "its report is recorded in the cell")
    pair.central.start()
    t.equal(pair.until(run, "COMPLETED")["steps"][0]["outputData"], {"done": True})
    t.equal(len(pair.began()), 1, "it was carried out once")
    worker.send_signal(signal.SIGTERM)
    t.equal(t.end(worker).code, 0)


@case("proves: F-010")
def a_report_comes_too_late_where_the_lease_was_given_up(t):
    pair = Pair(t, lease="2s")
    run = pair.begin("eu/gate", ", retries: { attempts: 2, delay: 10ms, on: [lease-expired] }")
    t.until(lambda: len(pair.began()) == 1, "the cell has it")
    pair.cell.stop(signal.SIGKILL)
    t.until(lambda: '"lease-expired"' in json.dumps(pair.central.get(f"/api/executions/{run}/events?limit=500").json()), "the lease is given up")
    pair.central.stop()
    pair.open()
    pair.cell.start()
    t.until(lambda: pair.kept("attempt", "COMPLETED"), "the cell has carried it out, while nobody could tell it to end that")
    pair.central.start()
    pair.until(run, "COMPLETED")
    t.until(lambda: {one["status"] for one in pair.here()} == {"COMPLETED"}, "both leases are settled")
    results = sorted(s["outputData"]["result"] for one in pair.here() for s in one["steps"] if s["stepId"].endswith("report"))
    t.equal(results, ["accepted", "refused"], "the first was told, and refused")


@case("proves: F-010 F-116")
def a_cell_that_comes_back_ends_what_was_given_up_meanwhile(t):
    pair = Pair(t, lease="2s")
    run = pair.begin("eu/slow", ", retries: { attempts: 1 }")
    t.until(lambda: pair.kept("attempt", "RUNNING"), "the cell has it")
    pair.cell.stop(signal.SIGKILL)
    pair.until(run, "FAILED")
    pair.cell.start()
    t.until(lambda: pair.here()[0]["status"] in ("CANCELLED", "COMPLETED"), "it is told so by the answer to its first heartbeat")


@case("proves: F-091")
def what_the_central_server_ends_is_ended_in_the_cell(t):
    pair = Pair(t)
    run = pair.begin("eu/slow")
    t.until(lambda: pair.kept("attempt", "RUNNING"), "the cell has it")
    t.equal(pair.central.post(f"/api/executions/{run}/cancel", {"reason": "enough"}).status, 200)
    pair.until(run, "CANCELLED")
    t.until(lambda: {one["status"] for one in pair.here()} == {"COMPLETED"}, "the cell has nothing left")


@case("proves: F-010")
def an_effect_is_acted_on_when_the_central_server_has_recorded_it(t):
    pair = Pair(t)
    pair.central.define("workflow: effect\njobs: { a: { tasks: [{ name: do, run: eu/effect, timeout: 1h, idempotency: effect-recorded, compensation: eu/echo }] } }\n")
    run = pair.central.begin("effect")["executionId"]
    pair.until(run, "COMPLETED")
    t.equal(pair.began(), ["acted"])
    events = json.dumps(pair.central.get(f"/api/executions/{run}/events?limit=500").json())
    t.contains(events, "effect", "the ledger of the central server")


@case()
def secrets_of_the_central_server_lie_sealed_in_the_store_of_the_cell(t):
    pair = Pair(t)
    made = t.maestro("secret", "set", "TOKEN", "--store", "sqlite:" + pair.central.store, stdin="correct-horse-battery")
    t.require(made.code == 0, made.err)
    run = pair.begin("eu/echo", ', input: { key: "${secrets.TOKEN}" }')
    pair.until(run, "COMPLETED")
    t.contains((t.folder / "document").read_text(), "correct-horse-battery", "what the program is given")
    t.until(lambda: {one["status"] for one in pair.here()} == {"COMPLETED"}, "the cell has told it")
    for file in Path(t.folder).glob("cell.db*"):
        if file.is_file():
            t.true(b"correct-horse-battery" not in file.read_bytes(), f"{file.name} has the secret")


@case("proves: F-091")
def a_cell_of_a_tenant_gets_that_tenants_work_alone_and_runs_it_as_that_tenants(t):
    pair = Pair(t, tenant="acme")
    other = pair.begin("eu/echo")
    pair.central.define("workflow: ours\ntenant: acme\njobs: { a: { tasks: [{ name: do, run: eu/echo }] } }\n", tenant="acme")
    ours = pair.central.begin("ours", namespace="acme")["executionId"]
    pair.until(ours, "COMPLETED")
    t.equal(pair.run(other)["status"], "RUNNING", "another tenant's waits")
    t.equal(pair.cell.get("/api/executions?namespace=default").json()["items"], [], "the default tenant of the cell has nothing")
    items = pair.cell.get("/api/executions?namespace=acme").json()["items"]
    t.equal([item["source"] for item in items], ["cell"])


@case("proves: F-091 F-113")
def a_cell_whose_key_is_limited_gets_work_of_its_queues_alone_and_survives_both_servers(t):
    pair = Pair(t, limits=("--executor", "eu", "--queue", "eu/echo"))
    other, ours = pair.begin("eu/gate"), pair.begin("eu/echo")
    pair.until(ours, "COMPLETED")
    for server in (pair.central, pair.cell):
        server.stop(signal.SIGKILL)
    pair.central.start()
    pair.cell.start()
    pair.until(pair.begin("eu/echo"), "COMPLETED")
    t.equal((pair.run(other)["status"], pair.began()), ("RUNNING", []), "that of another queue waits")


@case("proves: F-010")
def a_cell_is_stopped_while_the_central_server_is_away_and_its_next_process_tells(t):
    pair = Pair(t)
    run = pair.begin("eu/gate")
    t.until(lambda: len(pair.began()) == 1, "the cell has it")
    pair.central.stop(signal.SIGKILL)
    pair.open()
    t.until(lambda: pair.kept("report", "RUNNING"), "it waits to be told")
    t.equal(pair.cell.stop().code, 0, "the code of the cell that was stopped")
    pair.central.start()
    pair.cell.start()
    pair.until(run, "COMPLETED")
    t.equal(len(pair.began()), 1, "it was carried out once")


@case("proves: F-010")
def a_deadline_is_kept_while_the_central_server_is_away(t):
    pair = Pair(t)
    pair.central.define("workflow: short\njobs: { a: { tasks: [{ name: do, run: eu/gate, timeout: 8s }] } }\n")
    run = pair.central.begin("short")["executionId"]
    t.until(lambda: len(pair.began()) == 1, "the cell has it")
    pair.central.stop(signal.SIGKILL)
    t.until(lambda: pair.kept("report", "RUNNING"), "the cell ends it by itself, and has its outcome")
    pair.central.start()
    t.equal(pair.until(run, "FAILED")["errorCause"], "timeout")
    t.until(lambda: {one["status"] for one in pair.here()} == {"COMPLETED"}, "the cell has nothing left")


@case("proves: F-091")
def what_is_cancelled_in_the_cell_is_told_as_cancelled(t):
    pair = Pair(t)
    run = pair.begin("eu/slow")
    t.until(lambda: pair.kept("attempt", "RUNNING"), "the cell has it")
    here = pair.here()[0]["executionId"]
    t.equal(pair.cell.post(f"/api/executions/{here}/cancel", {"reason": "not here"}).status, 200)
    told = pair.until(run, "FAILED")
    t.equal(told["errorCause"], "cancelled")
    t.contains(told["errorMessage"], here)


@case("proves: F-091")
def what_waits_in_the_cell_is_ended_by_the_central_server(t):
    pair = Pair(t)
    run = pair.begin("eu/far")                      # nobody pulls it from the cell
    t.until(lambda: len(pair.here()) == 1, "the cell has it")
    t.equal(pair.central.post(f"/api/executions/{run}/cancel", {"reason": "enough"}).status, 200)
    pair.until(run, "CANCELLED")
    t.until(lambda: {one["status"] for one in pair.here()} == {"CANCELLED"}, "its run in the cell is cancelled")


@case("proves: F-010")
def a_task_with_recorded_effects_is_not_begun_again_by_a_cell_that_was_killed(t):
    pair = Pair(t)
    cell = (t.folder / "cell.yaml").read_text()
    hold = "echo acted >> %s/began; while [ ! -e %s/gate ]; do sleep 0.05; done;" % (t.folder, t.folder)
    (t.folder / "cell.yaml").write_text(cell.replace("echo acted >> %s/began;" % t.folder, hold))
    pair.cell.stop()
    pair.cell.start()
    pair.central.define("workflow: effect\njobs: { a: { tasks: [{ name: do, run: eu/effect, timeout: 1h, idempotency: effect-recorded, compensation: eu/echo }] } }\n")
    run = pair.central.begin("effect")["executionId"]
    t.until(lambda: pair.began() == ["acted"], "it has acted, and did not say so yet")
    pair.cell.stop(signal.SIGKILL)
    pair.open()
    pair.cell.start()
    pair.until(run, "FAILED")
    t.equal(pair.began(), ["acted"], "it acted once")


@case("proves: F-010")
def a_cell_that_is_refused_keeps_what_it_has_and_comes_back(t):
    pair = Pair(t)
    run = pair.begin("eu/gate")
    t.until(lambda: len(pair.began()) == 1, "the cell has it")
    pair.cell.stop(signal.SIGKILL)
    good = pair.token.read_text()
    pair.token.write_text("mk.nobody.nothing")
    pair.cell.start()
    t.until(lambda: "refuses this worker" in t.said(pair.cell.process), "the log says that it is refused")
    pair.open()
    t.until(lambda: pair.kept("report", "RUNNING"), "what it has goes on")
    pair.cell.stop()
    pair.token.write_text(good)
    pair.cell.start()
    t.equal(pair.until(run, "COMPLETED")["steps"][0]["outputData"], {"done": True})


MANY = "workflow: many\nconfig: { max_concurrency: 64 }\njobs:\n" + "".join(
    "  j%d: { tasks: [{ name: do, run: eu/gate, timeout: 1h, retries: { attempts: 20, delay: 10ms, on: [lease-expired] } }] }\n" % i for i in range(24))


@case("proves: F-002 F-010 F-091")
def many_leases_survive_both_servers_being_killed_again_and_again(t):
    pair = Pair(t, lease="5s", capacity=32)            # an answer that is lost with a server costs its leases one term
    pair.open()
    pair.central.define(MANY)
    runs = []
    for kills in range(4):
        runs += [pair.central.begin("many")["executionId"] for _ in range(2)]
        want = len(pair.began()) + 8
        t.until(lambda: len(pair.began()) >= want or all(pair.run(run)["status"] != "RUNNING" for run in runs), "some of it is done")
        (pair.cell if kills % 2 else pair.central).stop(signal.SIGKILL)
        (pair.cell if kills % 2 else pair.central).start()
    for run in runs:
        told = pair.until(run, "COMPLETED")
        t.equal({json.dumps(step["outputData"]) for step in told["steps"]}, {'{"done": true}'}, "each step has its output")
        events = [event for event in pages(pair.central, f"/api/executions/{run}/events?limit=500") if event["event"] == "step-succeeded"]
        t.equal(len(events), 24, "each step succeeded once")
    t.until(lambda: not any(one["status"] == "RUNNING" for one in pair.here()), "the cell has told everything")


def pages(server, path):
    while path:
        page = server.get(path).json()
        yield from page["items"]
        path = page["_links"].get("next", {}).get("href")


@case()
def options_of_a_cell_belong_together(t):
    rows = [
        (["--central", "http://127.0.0.1:1"], 2, "say --cell NAME"), (["--cell", "a"], 2, "--central"), (["--cell", "a", "--central", "nowhere"], 2, "--central"),
        (["--cell", "a b", "--central", "http://127.0.0.1:1"], 2, "--cell takes a name"),
        (["--cell", "a", "--central", "http://127.0.0.1:1", "--capacity", "0"], 2, "--capacity"),
    ]
    for args, code, part in rows:
        with t.row(" ".join(args)):
            result = t.maestro("server", "--store", f"sqlite:{t.folder}/x.db", "--check-config", *args)
            t.equal(result.code, code, result.err)
            t.contains(result.err, part)
    t.write("token", "mk.x")
    config = t.write("server.yaml", "store: sqlite:y.db\ncell: { name: eu-west, central: 'http://127.0.0.1:1', queues: [builds], capacity: 8, token_file: token }\n")
    t.equal(t.maestro("server", "--config", config, "--check-config").code, 0)


if __name__ == "__main__":
    main()
