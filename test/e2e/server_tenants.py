#!/usr/bin/env python3
"""What tenants are held to, as their keys see it: limits, what is used up, and refusals that say why."""
import datetime
import json
import signal
import time

from maestro_test import case, main
from server_test import HELLO, Server, Service, call_back, problem

RUNNERS = """executors:
  local:
    kind: process
    runners:
      pay: { command: ["sh", "-c", "echo '{\\"cost\\": 0.6}' >&3"] }
      hold: { command: ["sleep", "600"] }
      fail: { command: ["sh", "-c", "exit 75"], breaker: { failures: 1, open: 10m } }
tenants:
  acme: %s
"""

FLOW = """workflow: %s
tenant: %s
jobs:
  a:
    %stasks:
      - { name: t, run: %s }
"""


def begin(t, limits, *args):
    server = Server(t, "--runners", t.write("runners.yaml", RUNNERS % limits), *args)
    for tenant in ("acme", "other"):
        for runner in ("pay", "hold", "fail"):
            server.define(FLOW % (runner, tenant, "", runner), tenant=tenant)
    return server


def start(server, workflow, tenant, wait="", key=None):
    path = "/api/executions" + ("?wait=" + wait if wait else "")
    return server.post(path, {"workflowId": workflow, "namespace": tenant}, key=key)


def refused(t, answer, kind):
    t.equal((answer.status, answer.json()["type"]), (429, "https://maestro/errors/" + kind), str(answer))
    t.true(int(answer.headers["Retry-After"]) >= 1, "Retry-After")
    return answer.json()["detail"]


def tenant_of(server, name, key=None):
    answer = server.get("/api/tenants/" + name, key=key)
    return answer.json() if answer.status == 200 else answer.status


@case("proves: F-093")
def a_schedule_of_a_tenant_without_money_starts_nothing_and_the_ledger_says_why(t):
    server = begin(t, "{ cost: 1.00, window: 3650d }")
    server.define((FLOW % ("billed", "acme", "", "pay")).replace("jobs:", 'triggers: [{ schedule: "* * * * * *" }]\njobs:'), tenant="acme")
    shown = lambda: [json.loads(line) for line in t.maestro("ledger", "show", "--limit", "100000", "--store", "sqlite:" + server.store).out.splitlines()]
    skips = lambda: [(r, e) for r in shown() for e in r["events"] if e["event"] == "occurrence-skipped"]
    t.until(lambda: len(skips()) >= 2, "its occurrences are held back")
    for record, event in skips():
        t.equal((event["tenant"], event["name"], event["message"], record["actor"]), ("acme", "billed", "quota", "schedule:billed/0"))
        t.contains(record["rationale"], "the tenant 'acme' has used 1.200000 of its cost of 1.000000")
    t.equal(len(server.get("/api/executions?namespace=acme&workflowId=billed").json()["items"]), 2, "what it could pay was started")
    server.stop()
    t.equal(t.maestro("ledger", "verify", "--store", "sqlite:" + server.store).code, 0)


@case("proves: F-112 F-093")
def a_tenant_without_money_is_refused_and_told_until_when_also_after_a_crash(t):
    server = begin(t, "{ cost: 1.00, window: 3650d }")
    t.equal(start(server, "pay", "acme", wait="30s").json()["status"], "COMPLETED")
    second = start(server, "pay", "acme", wait="30s").json()        # it says what it cost and ends; who looks in between ends it
    t.true(second["status"] == "COMPLETED" or second["errorCause"] == "budget-exceeded", f"the one that uses up the rest: {second}")
    before = time.time()
    answer = start(server, "pay", "acme")
    detail = refused(t, answer, "quota-exceeded")
    t.contains(detail, "the tenant 'acme' has used 1.200000 of its cost of 1.000000; the next window begins at 20")
    opens = datetime.datetime.fromisoformat(detail.split(" begins at ")[1].replace("Z", "+00:00")).timestamp()
    t.true(opens - time.time() - 1 <= int(answer.headers["Retry-After"]) <= opens - before + 2, "Retry-After is until the next window")
    t.equal(start(server, "pay", "other", wait="30s").json()["status"], "COMPLETED", "others are not meant")
    server.stop(signal.SIGKILL)
    server.start()
    refused(t, start(server, "pay", "acme"), "quota-exceeded")
    seen = tenant_of(server, "acme")
    t.equal((seen["limits"]["cost"], seen["use"]["cost"], seen["left"]["cost"]), (1, 1.2, 0), "after the crash")
    t.contains(server.get("/metrics", key="").body.decode(), "maestro_starts_over_quota_total 1\n")


@case("proves: F-111 F-093")
def what_a_tenant_has_under_way_ends_at_its_ceiling_and_the_rest_is_held_and_says_why(t):
    server = begin(t, "{ max_concurrency: 2 }")
    runs = [start(server, "hold", "acme").json()["executionId"] for _ in range(5)]
    t.until(lambda: tenant_of(server, "acme")["use"]["running"] == 2, "two are under way")
    t.until(lambda: tenant_of(server, "acme")["waiting"] == 3, "three wait")
    other = start(server, "hold", "other").json()["executionId"]
    t.until(lambda: tenant_of(server, "other")["use"]["running"] == 1, "another tenant has its own")
    waiting = [run for run in runs if not server.get("/api/executions/" + run).json()["steps"]]
    t.equal(len(waiting), 3, "three have not begun")
    events = server.get("/api/executions/%s/events" % waiting[0]).body.decode()
    t.contains(events, "the tenant 'acme' has 2 attempts under way, its max_concurrency")
    for run in runs + [other]:
        t.equal(server.post("/api/executions/%s/cancel" % run, {"reason": "enough"}).status, 200)
    t.until(lambda: tenant_of(server, "acme")["use"]["running"] == 0, "nothing is left")


@case("proves: F-110")
def a_definition_that_asks_for_more_than_its_tenant_may_ever_have_is_refused_at_its_start(t):
    server = begin(t, "{ memory_mb: 512, cpu: 2 }")
    server.define(FLOW % ("large", "acme", "resources: { memory_mb: 513 }\n    ", "pay"), tenant="acme")
    answer = start(server, "large", "acme")
    t.equal(answer.status, 400, str(answer))
    t.contains(answer.json()["detail"], "it needs 513 MB, and the tenant 'acme' may have 512 MB at a time")
    t.contains(start(server, "pay", "acme").json()["detail"], "has to declare resources.memory_mb")
    server.define(FLOW % ("small", "acme", "resources: { memory_mb: 512 }\n    ", "pay"), tenant="acme")
    t.equal(start(server, "small", "acme", wait="30s").json()["status"], "COMPLETED")


@case("proves: F-109 F-113")
def a_key_sees_its_own_tenant_alone_and_one_of_every_tenant_sees_all(t):
    server = begin(t, "{ weight: 3, max_concurrency: 2 }")
    t.equal(start(server, "fail", "acme", wait="30s").json()["status"], "FAILED")
    keys = {tenant: server.key("viewer", tenant) for tenant in ("acme", "other")}
    seen = {tenant: server.get("/api/tenants", key=key).json()["items"] for tenant, key in keys.items()}
    t.equal({tenant: [item["tenant"] for item in items] for tenant, items in seen.items()}, {"acme": ["acme"], "other": ["other"]})
    t.equal((seen["acme"][0]["weight"], seen["acme"][0]["limits"]["maxConcurrency"]), (3, 2))
    t.equal([(c["runner"], c["state"]) for c in seen["acme"][0]["circuits"]], [("fail", "open")], "its circuit")
    t.equal((seen["other"][0]["circuits"], seen["other"][0]["limits"]), ([], {}), "which is not another's")
    t.equal((tenant_of(server, "other", keys["acme"]), tenant_of(server, "acme", keys["other"])), (404, 404))
    every = {item["tenant"] for item in server.get("/api/tenants").json()["items"]}
    t.true({"acme", "other"} <= every, f"all of them: {every}")


@case("proves: C-94 E-060")
def new_executions_are_refused_at_four_fifths_of_what_fits_and_those_that_were_taken_on_are_not(t):
    server = begin(t, "{ weight: 1 }", "--max-executions", "10")
    answers = [start(server, "hold", "other") for _ in range(20)]
    taken = [answer.json()["executionId"] for answer in answers if answer.status == 201]
    t.equal(len(taken), 8, "four fifths of ten")
    for answer in answers:
        if answer.status != 201:
            t.contains(refused(t, answer, "overloaded"), "the engine takes no further runs now")
    t.equal({server.get("/api/executions/" + run).json()["status"] for run in taken}, {"RUNNING"}, "all of them go on")
    for run in taken:
        t.equal(server.post("/api/executions/%s/cancel" % run, {"reason": "enough"}).status, 200, "and are still steered")
    t.until(lambda: start(server, "pay", "other", wait="30s").status == 201, "there is room again")
    t.contains(json.dumps(server.get("/api").json()), "/api/tenants")


ELSEWHERE = """executors:
  far:
    kind: worker
    lease: 60s
    capacity: %d
    cost: %d
    runners:
      far/hold: {}
  services:
    kind: http
    callback: http://maestro.example
    lease: 10m
    runners:
      ask: { url: "http://127.0.0.1:%d/ask" }
tenants:
  acme: %s
"""


class Elsewhere:
    """A server whose work is done by workers and services, which outlive it."""

    def __init__(self, t, limits, capacity=100, cost=0):
        self.t, self.service = t, Service(t)
        self.server = Server(t, "--runners", t.write("runners.yaml", ELSEWHERE % (capacity, cost, self.service.http.server_port, limits)),
                             env={"no_proxy": "127.0.0.1"})
        for runner in ("far/hold", "ask"):
            self.server.define(FLOW % (runner.replace("/", "-"), "acme", "", runner), tenant="acme")
        self.key = self.server.key("worker", "acme")

    def begin(self, workflow="far-hold"):
        return start(self.server, workflow, "acme").json()["executionId"]

    def tell(self, worker="w", **members):
        answer = self.server.post("/api/executors/far/exchange", {"worker": worker, **members}, key=self.key)
        self.t.require(answer.status == 200, str(answer))
        return answer.json()

    def take(self, count, worker="w", wait_ms=20000):
        """Tokens of so many leases, or of those that there are before the time is over."""
        tokens = []
        while len(tokens) < count:
            leases = self.tell(worker, want=count - len(tokens), wait_ms=wait_ms)["leases"]
            tokens += [lease["token"] for lease in leases]
            if not leases:
                break
        return tokens

    def finish(self, token, **said):
        told = self.tell(reports=[dict({"token": token}, **(said or {"output": 1}))])
        self.t.equal([result["result"] for result in told["results"]], ["accepted"], "the report counts")

    def restart(self):
        self.server.stop(signal.SIGKILL)
        self.server.start()

    def clear(self):
        self.server.stop()
        for rest in list(self.t.folder.glob("store.db*")):
            rest.unlink()

    def running(self):
        return tenant_of(self.server, "acme")["use"]["running"]

    def failure(self, run):
        done = self.server.get("/api/executions/%s?wait=30s" % run).json()
        return done["status"], done["errorCause"], done["errorClass"], done["errorMessage"].split(" has used ")[0]


OVER = ("FAILED", "budget-exceeded", "policy-blocked", "budget-exceeded: the tenant 'acme'")


@case("proves: F-110 F-112 F-116 C-34")
def what_a_worker_has_is_ended_where_its_tenant_has_nothing_left_also_by_the_next_server(t):
    rows = (("time", "{ runtime: 4s, window: 3650d }", 0, None), ("the price of the executor", "{ cost: 2, window: 3650d }", 1800, None),
            ("money that is reported", "{ cost: 2, window: 3650d }", 0, 1.5))
    for name, limits, price, cost in rows:
        for restarts in (False, True):
            with t.row(name + (", after a restart" if restarts else "")):
                there = Elsewhere(t, limits, cost=price)
                run = there.begin()
                token, = there.take(1)
                if cost:
                    there.tell(messages=[{"token": token, "message": {"cost": cost}}])
                    t.until(lambda there=there: tenant_of(there.server, "acme")["use"]["cost"] == 1.5, "it is charged")
                if restarts:
                    there.restart()
                    t.until(lambda there=there: there.running() == 1, "what an earlier server gave out is under way")
                if cost:
                    there.tell(messages=[{"token": token, "message": {"cost": 0.5}}])
                t.until(lambda there=there, token=token: there.tell(heartbeats=[token])["cancels"] == [token], "its worker is told")
                t.equal(there.server.get("/api/executions/" + run).json()["status"], "RUNNING", "until it has ended")
                there.finish(token, failure={"cause": "cancelled"})
                t.equal(there.failure(run), OVER, "class and cause")
                t.equal(there.running(), 0, "nothing is under way")
                refused(t, start(there.server, "far-hold", "acme"), "quota-exceeded")
                there.clear()


@case("proves: F-110")
def time_that_passes_while_no_server_is_there_is_charged_to_what_goes_on_meanwhile(t):
    there = Elsewhere(t, "{ runtime: 100h, window: 3650d }")
    there.begin()
    token, = there.take(1)

    began = time.monotonic()
    t.until(lambda: tenant_of(there.server, "acme")["use"]["runtimeMs"] >= 1000, "its time is charged")
    there.server.stop(signal.SIGKILL)
    time.sleep(2)
    there.server.start()
    passed_ms = (time.monotonic() - began) * 1000                   # less than it was under way
    there.finish(token)
    used_ms = tenant_of(there.server, "acme")["use"]["runtimeMs"]
    t.true(used_ms > passed_ms - 10, f"{used_ms} of {passed_ms}: nothing of it is forgotten")


@case("proves: F-110 F-116 C-34")
def what_a_service_was_asked_for_is_ended_where_its_tenant_has_nothing_left_also_by_the_next_server(t):
    for restarts in (False, True):
        with t.row("after a restart" if restarts else "by the server that asked"):
            there = Elsewhere(t, "{ runtime: 4s, window: 3650d }")
            run = there.begin("ask")
            document = there.service.document()
            if restarts:
                there.restart()
            t.equal(there.failure(run), OVER, "class and cause")
            t.equal(call_back(there.server, document, {"output": 1}).status, 404, "its token ended with it")
            t.equal(there.running(), 0, "nothing is under way")
            there.clear()


@case("proves: F-111 F-116")
def a_ceiling_holds_after_a_crash_by_what_workers_have_of_the_server_before(t):
    for name, limits, capacity in (("of the tenant", "{ max_concurrency: 3 }", 100), ("of the executor", "{ weight: 1 }", 3)):
        with t.row(name):
            there = Elsewhere(t, limits, capacity=capacity)
            runs = [there.begin() for _ in range(8)]
            held = there.take(1, "first") + there.take(4, "second", wait_ms=500)
            t.equal(len(held), 3, "as many as it may have")
            there.restart()
            t.equal(there.take(5, "late", wait_ms=500), [], "whoever asks first finds their places taken")
            t.until(lambda there=there: there.running() == 3, "by those")
            most = 0
            while held:                                            # they come back one after another
                there.finish(held.pop(0))
                held += there.take(5, "late", wait_ms=500)
                most = max(most, len(held), there.running())
            t.equal(most, 3, "never more than that")
            t.until(lambda there=there, runs=runs: {there.server.get("/api/executions/" + run).json()["status"] for run in runs} == {"COMPLETED"},
                    "all of them end")
            there.clear()


@case("proves: F-116")
def who_cancels_what_a_service_was_asked_for_by_the_server_before_need_not_wait_for_its_lease(t):
    there = Elsewhere(t, "{ weight: 1 }")
    run = there.begin("ask")
    document = there.service.document()
    there.restart()
    t.equal(there.server.post("/api/executions/%s/cancel" % run, {"reason": "enough"}).status, 200)
    t.until(lambda: there.server.get("/api/executions/" + run).json()["status"] == "CANCELLED", "it is cancelled")
    t.equal(call_back(there.server, document, {"output": 1}).status, 404)


GATE = """workflow: gate
tenant: acme
jobs:
  a:
    tasks:
      - { name: t, run: noop, wait_for_signal: deploy-done }
"""

BRIDGES = "{ bridges: [{ from: ops, signals: [deploy-done, health-*] }] }"


@case("proves: F-114")
def a_signal_crosses_tenants_by_a_bridge_alone_and_both_sides_have_it(t):
    server = begin(t, BRIDGES)
    server.define(GATE, tenant="acme")
    run = start(server, "gate", "acme").json()["executionId"]
    keys = {tenant: server.key("operator", tenant) for tenant in ("ops", "other", "acme")}

    def signal(tenant, name, key=None):
        headers = {"Idempotency-Key": key} if key else {}
        return server.post("/api/signals", {"executionId": run, "name": name, "reason": "it is out"}, key=keys[tenant], headers=headers)
    missing = server.post("/api/signals", {"executionId": "c" * 21, "name": "deploy-done"}, key=keys["other"]).json()
    for name, tenant, sent in (("a tenant without a bridge", "other", "deploy-done"), ("a signal that the bridge does not name", "ops", "deploy"),
                               ("the star stands for an end alone", "ops", "xhealth-a")):
        with t.row(name):
            answer = signal(tenant, sent)
            t.equal(answer.status, 404)
            t.equal(answer.json()["detail"].replace(run, "c" * 21), missing["detail"], "as if there were none")
    t.equal(server.post("/api/signals", {"executionId": run, "name": "deploy-done"}, key=server.key("viewer", "ops")).status, 403, "a viewer sends none")
    t.equal(signal("ops", "health-a").json(), {"executionId": run, "bridged": True})
    for _ in range(2):
        t.equal(signal("ops", "deploy-done", key="once").json(), {"executionId": run, "bridged": True})
    done = server.get("/api/executions/%s?wait=30s" % run, key=keys["acme"]).json()
    t.equal(done["status"], "COMPLETED")
    events = [e for e in server.get("/api/executions/%s/events" % run, key=keys["acme"]).json()["items"] if e["event"] == "signal-received"]
    t.equal([e["name"] for e in events], ["health-a", "deploy-done"], "each once")
    t.true(all("of the tenant ops" in e["source"] for e in events), f"the receiver knows from whom: {events}")
    t.equal(server.get("/api/executions/" + run, key=keys["ops"]).status, 404, "and the sender sees nothing by it")
    server.stop()
    ledger = t.maestro("ledger", "show", "--from", "1", "--limit", "1000", "--store", "sqlite:" + server.store)
    sent = [json.loads(line) for line in ledger.out.splitlines() if "signal-bridged" in line]
    told = [event for record in sent for event in record["events"] if event["event"] == "signal-bridged"]
    t.equal([(e["tenant"], e["name"], e["parent"], e["message"]) for e in told],
            [("ops", "health-a", run, "acme"), ("ops", "deploy-done", run, "acme")], "the sender has it in the log")
    t.true(all(record["actor"] and record["rationale"] == "it is out" for record in sent), "with who and why")
    t.equal(t.maestro("store", "verify", "--store", "sqlite:" + server.store).code, 0, "the chains hold")


@case("proves: F-109 R-036")
def a_definition_goes_where_it_says_that_it_belongs(t):
    server = Server(t)

    def send(key=None, query=""):
        text = HELLO.replace("workflow: hello", "workflow: hello\ntenant: acme")
        return server.call("POST", "/api/workflows" + query, text, key=key, headers={"Content-Type": "application/yaml"})
    problem(t, send(server.key("author")), 404, "not-found")
    problem(t, send(query="?namespace=default"), 400, "invalid")
    made = send()
    t.equal((made.status, made.json()["revisionId"]["namespace"]), (201, "acme"), "a key of every tenant")
    t.equal(send(server.key("author", "acme")).status, 200, "a key of its own: it is there already")


@case("proves: F-109 R-069 R-091")
def a_key_of_every_tenant_lists_the_executions_of_a_workflow_in_all(t):
    server = Server(t)
    ids = set()
    for tenant in ("acme", "other"):
        server.define(HELLO.replace("workflow: hello", "workflow: hello\ntenant: " + tenant), tenant)
        ids.add(server.begin("hello", {"who": "x"}, wait="30s", namespace=tenant)["executionId"])
    t.equal({i["executionId"] for i in server.get("/api/executions?workflowId=hello").json()["items"]}, ids)
    listed, path = [], server.get("/api").json()["_links"]["workflows"]["href"] + "?limit=1"
    while path:
        page = server.get(path).json()
        listed += [item["_links"]["self"]["href"] for item in page["items"]]
        path = page["_links"].get("next", {}).get("href")
    t.equal(listed, ["/api/workflows/acme/hello", "/api/workflows/other/hello"], "workflows, too, page by page")
    t.equal(server.get("/api/executions?workflowId=none").json()["items"], [], "of that workflow alone")
    t.equal(len(server.get("/api/executions?workflowId=hello&namespace=acme").json()["items"]), 1)
    t.equal(len(server.get("/api/executions?workflowId=hello", key=server.key("viewer", "acme")).json()["items"]), 1, "others see their own")


main()
