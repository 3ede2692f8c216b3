#!/usr/bin/env python3
"""Commands as clients of a server: --server URL does and says the same as a store of one's own."""
import json
import re
import sqlite3

from maestro_test import ROOT, case, main
from server_test import HELLO, Server, problem

SLOW = "workflow: slow\njobs:\n  a:\n    tasks:\n      - { name: wait, run: shell, args: [\"sleep\", \"600\"] }\n"

FAILING = """workflow: fails
jobs:
  a:
    tasks:
      - { name: one, log: "one" }
      - { name: two, run: shell, args: ["sh", "-c", "exit 65"], retries: { attempts: 1 } }
"""


def stored_plan(server, workflow):
    with sqlite3.connect(server.store) as store:
        return next(text for (text,) in store.execute("select document from maestro_plans") if json.loads(text)["id"] == workflow)


def both(t, server, *args):
    """What a command says beside the store, and what it says of the server."""
    here = t.maestro(*args, "--store", "sqlite:" + server.store)
    there = remote(t, server, *args)
    return here, there


def remote(t, server, *args, **options):
    return t.maestro(*args, "--server", f"http://127.0.0.1:{server.port}", env={"MAESTRO_TOKEN": server.admin}, **options)


@case("")
def looking_is_the_same_by_either_way(t):
    server = Server(t)
    server.define(HELLO)
    server.define(FAILING)
    run = server.begin("hello", {"who": "Ana"}, wait="30s")["executionId"]
    failed = server.begin("fails", wait="30s")["executionId"]
    rows = [("runs",), ("runs", "--json"), ("runs", "--state", "failed"), ("show", run), ("show", run, "--json"), ("show", failed),
            ("show", run, "--events"), ("inspect", run, "greet.say"), ("logs", run), ("revisions",), ("revisions", "hello", "--json"),
            ("ledger", "show"), ("ledger", "verify"), ("replay", run), ("show", "nobody"), ("runs", "--state", "odd")]
    for args in rows:
        with t.row(" ".join(args)):
            here, there = both(t, server, *args)
            said = there.out.replace(f"--server http://127.0.0.1:{server.port}", f"--store sqlite:{server.store}")
            t.equal((there.code, said), (here.code, here.out), "code and output: " + there.err)
            t.equal(there.err, here.err, "what is said about it")


@case("")
def runs_are_started_and_steered_from_elsewhere(t):
    server = Server(t)
    path = t.write("hello.yaml", HELLO)
    ran = remote(t, server, "run", path, "--param", "who=Ana")
    t.equal(ran.code, 0, "the code of the run: " + ran.out + ran.err)
    t.contains(ran.out + ran.err, "hello Ana")
    server.define(SLOW)
    run = server.begin("slow")["executionId"]
    t.until(lambda: server.get("/api/executions/" + run).json()["state"] == "running", "it runs")
    for verb, state in (("pause", "paused"), ("resume", "running"), ("cancel", "cancelled")):
        with t.row(verb):
            done = remote(t, server, verb, run, "--reason", "because")
            if verb == "resume":
                t.equal(done.code in (0, 75), True, done.out + done.err)
            else:
                t.equal(done.code, 0, done.out + done.err)
            t.until(lambda: server.get("/api/executions/" + run).json()["state"] == state, "it is " + state)
    server.define(FAILING)
    failed = server.begin("fails", wait="30s")["executionId"]
    done = remote(t, server, "resolve", failed, "--decision", "mark-resolved", "--reason", "known")
    t.equal(done.code, 0, done.out + done.err)
    t.equal(server.get("/api/executions/" + failed).json()["resolution"], "RESOLVED")
    events = server.get("/api/executions/%s/events" % failed).json()["items"]
    t.true(any(re.match(r"user:.* by key:", e["actor"]) for e in events), "user and key are recorded")
    off = remote(t, server, "revisions", "deactivate", "hello@1")
    t.equal(off.code, 0, off.out + off.err)
    t.equal(server.get("/api/workflows/default/hello").json()["activeVersion"], None)


@case()
def a_run_prints_the_same_lines_in_the_same_order_from_elsewhere(t):
    server = Server(t)
    path = t.write("hello.yaml", HELLO)

    def said(ran):
        t.equal(ran.code, 0, ran.out + ran.err)
        return re.sub(r"\([\d.]+s\)", "()", re.sub(r"run \S{21}", "run", ran.out + ran.err)).splitlines()
    here = said(t.maestro("run", path, "--param", "who=Ana", "--store", f"sqlite:{t.folder}/own.db"))
    for _ in range(5):
        t.equal(said(remote(t, server, "run", path, "--param", "who=Ana", "--again")), here)


def as_key(t, server, key, *args, **options):
    return t.maestro(*args, "--server", f"http://127.0.0.1:{server.port}", env={"MAESTRO_TOKEN": key}, **options)


@case("proves: F-003")
def a_key_of_one_tenant_uses_the_commands_for_what_its_tenant_has(t):
    server = Server(t)
    server.define(HELLO.replace("workflow: hello", "workflow: hello\ntenant: acme"), tenant="acme")
    server.define(HELLO)
    own = server.begin("hello", {"who": "Ana"}, wait="30s", namespace="acme")["executionId"]
    foreign = server.begin("hello", {"who": "Bob"}, wait="30s")["executionId"]
    viewer, operator, author, admin = (server.key(role, "acme") for role in ("viewer", "operator", "author", "admin"))
    rows = [(("runs",), own), (("runs", "--state", "succeeded"), own), (("show", own), "hello"), (("show", own, "--events"), "run-succeeded"),
            (("logs", own), "hello Ana"), (("inspect", own, "greet.say"), "greet.say"), (("revisions",), "hello"), (("replay", own), "")]
    for args, said in rows:
        with t.row(" ".join(args)):
            done = as_key(t, server, viewer, *args, *(("--tenant", "acme") if args == ("revisions",) else ()))
            t.equal(done.code, 0, done.err)
            t.contains(done.out, said)
            t.lacks(done.out, foreign)
    for args in (("show",), ("logs",), ("show", "--events"), ("replay",), ("cancel",), ("pause",)):
        with t.row("of another tenant: " + " ".join(args)):
            done = [as_key(t, server, admin, args[0], run, *args[1:]) for run in (foreign, "c" * 21)]
            t.true(done[0].code != 0, "it is refused")
            t.equal([(d.code, d.out, d.err.replace(foreign, "ID").replace("c" * 21, "ID")) for d in done][0],
                    (done[1].code, done[1].out, done[1].err.replace("c" * 21, "ID")), "as what is not there")
    for args in (("ledger", "show"), ("ledger", "verify")):
        with t.row("of every tenant: " + " ".join(args)):
            t.contains(as_key(t, server, admin, *args).err, "needs a key of every one")
    text = HELLO.replace("workflow: hello", "workflow: by-key\ntenant: acme")
    path = t.write("by-key.yaml", text)
    t.contains(as_key(t, server, viewer, "run", path, "--param", "who=x").err, "the server answers 403")
    t.contains(as_key(t, server, operator, "run", path, "--param", "who=x").err, "does not permit workflow.create")
    ran = as_key(t, server, admin, "run", path, "--param", "who=Eve")
    t.equal(ran.code, 0, ran.out + ran.err)
    t.contains(ran.out + ran.err, "hello Eve")
    ran = as_key(t, server, operator, "run", path, "--param", "who=Ida")
    t.equal(ran.code, 0, "what is stored is started by who may start: " + ran.out + ran.err)
    t.contains(as_key(t, server, author, "run", path, "--param", "who=x").err, "does not permit execution.start")
    strange = t.write("strange.yaml", text.replace("tenant: acme", "tenant: default"))
    t.contains(as_key(t, server, admin, "run", strange, "--param", "who=x").err, "of another tenant")
    t.equal(server.get("/api/workflows/default/by-key").status, 404, "nothing was stored for another tenant")
    forged = {"verb": "start", "plan": "{}", "tenant": "default", "params": {}}
    t.equal(server.post("/api/petitions", forged, key=admin).status, 403)
    forged = {"verb": "pause", "run": foreign, "tenant": "default"}
    problem(t, server.post("/api/petitions", forged, key=admin), 404, "not-found")


@case("proves: R-084")
def a_start_by_petition_obeys_the_rules_of_starts(t):
    server = Server(t)
    text = HELLO.replace("params:", "triggers: [{ manual: { %s } }]\nparams:").replace("workflow: hello", "workflow: %s")
    for name, rule, status, kind in (("never", "enabled: false", 409, "conflict"), ("seldom", "rate_limit: 1/h", 429, "too-many-requests")):
        with t.row(name):
            server.define(text % (name, rule))
            plan = stored_plan(server, name)
            if name == "seldom":
                server.begin(name, {"who": "x"})
            asked = server.post("/api/petitions", {"verb": "start", "plan": plan, "params": {"who": "x"}}, key=server.key("operator"))
            problem(t, asked, status, kind)


@case("")
def what_only_a_command_beside_the_store_may_say_is_not_taken_from_a_client(t):
    server = Server(t)
    server.define(HELLO)
    plan = stored_plan(server, "hello")
    key = server.key("operator")
    asked = server.post("/api/petitions", {"verb": "start", "plan": plan, "params": {"who": "x"}, "directory": "/etc", "source": "schedule:forged",
                                           "payload": {"forged": True}, "origin": "10.0.0.1", "bridge": "acme"}, key=key)
    t.equal(asked.status, 200, str(asked))
    run = asked.json()["run"]
    t.equal(asked.json()["status"], "ok", "the answer")
    shown = t.maestro("ledger", "show", "--limit", "1000", "--store", "sqlite:" + server.store).out
    created = next(e for line in shown.splitlines() for r in [json.loads(line)] if r.get("run") == run for e in r["events"] if e["event"] == "run-created")
    t.equal(created.get("source"), "manual", "what started it")
    t.true("directory" not in created, "where its programs begin: " + json.dumps(created))
    t.lacks(shown, "forged")
    t.lacks(shown, "10.0.0.1")


@case("proves: F-003")
def no_query_of_the_store_gives_a_tenant_what_is_anothers(t):
    """Every query there is, with every number and name of another tenant: what comes back has nothing of it."""
    server = Server(t)
    server.define(HELLO.replace("workflow: hello", "workflow: hello\ntenant: acme"), tenant="acme")
    run = server.begin("hello", {"who": "Secretive"}, wait="30s", namespace="acme")["executionId"]
    with open(ROOT / "src/view/queries.def", encoding="utf-8") as file:
        names = re.findall(r"^QUERY\((\w+),", file.read(), re.M)
    t.true(len(names) > 50, "the queries are found")
    own, attempt_like = server.key("admin", "other"), server.key("viewer", "other")
    step = server.get("/api/executions/" + run).json()["steps"][0]["stepId"]
    numbers, texts = [1, 2, 0, 10 ** 15, None], ["acme", "hello", run, step, "", "SUCCEEDED", "api-key/x"]
    tried = 0
    for name in names:
        probe = server.post("/api/store/" + name, {"params": []}, key=server.admin)
        count = int(re.search(r"takes (\d+) parameters", probe.body.decode()).group(1)) if probe.status == 400 else 0
        for values in ([[v] * count for v in numbers + texts] + [["acme"] + ["hello"] * (count - 1), ["acme"] + [10 ** 15] * (count - 1),
                                                                    [1] + [0] * (count - 1), ["acme", "hello"] + [10 ** 15] * (count - 2)]):
            values = values[:count]
            for key in (own, attempt_like):
                answer = server.post("/api/store/" + name, {"params": values}, key=key)
                with t.row(f"{name} {values}"):
                    t.true(answer.status in (200, 403, 400, 404), str(answer))
                    for leak in (run, "Secretive", "acme"):
                        t.lacks(answer.body.decode(), leak)
                    tried += 1
    t.true(tried > 500, f"{tried} questions were asked")


@case("")
def a_client_needs_a_key_and_a_server(t):
    server = Server(t)
    url = f"http://127.0.0.1:{server.port}"
    t.contains(t.maestro("runs", "--server", url, env={"MAESTRO_TOKEN": ""}).err, "MAESTRO_TOKEN")
    for key in (server.key("worker", "*"), "nonsense"):
        refused = t.maestro("runs", "--server", url, env={"MAESTRO_TOKEN": key})
        t.equal(refused.code != 0, True, "refused")
        t.contains(refused.err, "the server answers 40")
    server.stop()
    gone = t.maestro("runs", "--server", url, env={"MAESTRO_TOKEN": server.admin})
    t.equal(gone.code, 69)
    t.contains(gone.err, "cannot be asked")
    by_variable = t.maestro("runs", env={"MAESTRO_SERVER": url, "MAESTRO_TOKEN": server.admin})
    t.contains(by_variable.err, url)


if __name__ == "__main__":
    main()
