#!/usr/bin/env python3
"""Who may do what at a server, and what the ledger tells of those who may not."""
import http.client
import json
import re
import threading

from maestro_test import ROOT, case, main
from server_test import HELLO, Server, problem


def refusals(t, server):
    """What the ledger has of refusals: records of the log itself."""
    shown = t.maestro("ledger", "show", "--limit", "100000", "--store", "sqlite:" + server.store)
    t.require(shown.code == 0, "the ledger is shown: " + shown.err)
    records = [json.loads(line) for line in shown.out.splitlines()]
    return [dict(event, actor=record["actor"], rationale=record["rationale"])
            for record in records for event in record["events"] if event["event"] == "access-refused"]


@case("proves: F-003")
def a_definition_of_another_tenant_is_answered_as_what_is_not_there_and_told_to_the_ledger(t):
    server = Server(t)
    author = server.key("admin", "gamma")
    server.define(HELLO.replace("workflow: hello", "workflow: x\ntenant: gamma"), tenant="gamma", key=author)
    with open(ROOT / "examples" / "log-analysis.yaml", encoding="utf-8") as file:
        runbook = "tenant: default\n" + file.read()
    stolen = HELLO.replace("workflow: hello", "workflow: hello\ntenant: default")
    rows = (("/api/workflows", stolen, "workflow.create", "not-found"), ("/api/workflows/gamma/x/revisions", stolen, "workflow.create", "workflow-not-found"),
            ("/api/runbooks?action=run", runbook, "workflow.validate", "not-found"), ("/api/runbooks?action=plan", runbook, "workflow.validate", "not-found"))
    for path, text, verb, kind in rows:
        with t.row(path):
            answer = server.call("POST", path, text, key=author, headers={"Content-Type": "application/yaml"})
            body = problem(t, answer, 404, kind)
            t.equal(body["detail"], "there is nothing here that this key may see")
            t.until(lambda: [r for r in refusals(t, server) if r["name"] == verb and r["rationale"] == "it belongs to tenant 'default'"], "it is in the ledger")
    own = server.call("POST", "/api/workflows/gamma/x/revisions", HELLO.replace("workflow: hello", "workflow: y\ntenant: gamma"), key=author,
                      headers={"Content-Type": "application/yaml"})
    t.contains(problem(t, own, 400, "invalid")["detail"], "the definition is of workflow 'y'")
    t.equal(server.get("/api/workflows?namespace=default").json()["items"], [], "nothing was stored")


@case("proves: C-27")
def a_definition_without_a_namespace_is_of_default_and_others_are_told_what_to_write(t):
    server = Server(t)
    author = server.key("admin", "acme")
    with open(ROOT / "examples" / "log-analysis.yaml", encoding="utf-8") as file:
        runbook = file.read()
    server.define(HELLO.replace("workflow: hello", "workflow: hello\nnamespace: acme"), tenant="acme", key=author)
    rows = [("/api/workflows", HELLO, author), ("/api/runbooks?action=plan", runbook, author), ("/api/runbooks?action=run", runbook, author),
            ("/api/workflows?namespace=acme", HELLO, author), ("/api/workflows?namespace=acme", HELLO, server.admin), ("/api/workflows/acme/hello/revisions", HELLO, author),
            ("/api/runbooks?action=plan&namespace=acme", runbook, author), ("/api/runbooks?action=run&namespace=acme", runbook, server.admin)]
    for path, text, key in rows:
        with t.row(path):
            body = problem(t, server.call("POST", path, text, key=key, headers={"Content-Type": "application/yaml"}), 400, "invalid")
            t.equal(body["detail"], "the definition names no namespace, so that it is of 'default'; write 'namespace: acme' into it")
            t.equal(body["errors"], [{"pointer": "/namespace", "detail": "is missing: write 'namespace: acme'"}])
    made = server.call("POST", "/api/workflows", HELLO, headers={"Content-Type": "application/yaml"})
    t.equal((made.status, made.json()["revisionId"]["namespace"]), (201, "default"), "a key of every tenant stores it where it belongs")
    t.equal([w["namespace"] for w in server.get("/api/workflows").json()["items"]], ["acme", "default"], "nothing else was stored")
    server.stop()
    t.equal([r for r in refusals(t, server) if r["name"] in ("workflow.create", "workflow.validate")], [], "nobody tried to reach another tenant")


@case("proves: F-003")
def who_is_refused_is_in_the_ledger_with_who_what_where_and_why(t):
    server = Server(t)
    server.define(HELLO.replace("workflow: hello", "workflow: hello\ntenant: acme"), tenant="acme")
    run = server.begin("hello", {"who": "x"}, wait="30s", namespace="acme")["executionId"]
    viewer, stranger = server.key("viewer", "acme"), server.key("admin", "other")
    wrong = viewer[:-2] + ("aa" if not viewer.endswith("aa") else "bb")
    rows = [
        ("no key", ("GET", "/api", None, ""), 401, "nobody", "", "root.read", "no API key"),
        ("another secret", ("GET", "/api/executions", None, wrong), 401, "nobody", "", "execution.read", "the secret of key"),
        ("a role", ("POST", "/api/executions/%s/cancel" % run, {}, viewer), 403, "key:" + viewer.split(".")[2], "acme", "execution.cancel",
         "the role viewer does not permit"),
        ("another tenant's", ("GET", "/api/executions/" + run, None, stranger), 404, "key:" + stranger.split(".")[2], "other", "execution.read",
         "it belongs to tenant 'acme'"),
        ("another tenant", ("GET", "/api/workflows/acme/hello", None, stranger), 404, "key:" + stranger.split(".")[2], "other", "workflow.read",
         "it belongs to tenant 'acme'"),
    ]
    for name, (method, path, body, key), status, actor, tenant, verb, why in rows:
        with t.row(name):
            t.equal(server.call(method, path, body, key=key).status, status, "the status")

            def told():
                return [r for r in refusals(t, server) if r["name"] == verb and r["actor"] == actor and r["flags"] == status]
            t.until(told, "it is in the ledger")
            record = told()[0]
            t.equal((record.get("tenant", ""), record["count"], record["source"]), (tenant, 1, "127.0.0.1"))
            t.contains(record["message"], f"{method} {path}")
            t.contains(record["rationale"], why)
    ledger = t.maestro("ledger", "show", "--limit", "100000", "--store", "sqlite:" + server.store).out
    for key in (viewer, stranger, wrong, server.admin):
        t.lacks(ledger, key.split(".")[-1], "no secret is told")
    t.equal(t.maestro("ledger", "verify", "--store", "sqlite:" + server.store).code, 0)


@case("")
def a_flood_of_refusals_is_counted_and_fills_neither_the_ledger_nor_the_log(t):
    server = Server(t)
    for i in range(500):
        t.equal(server.get("/api/executions/" + "c" * 21, key=f"mk.default.{i:08d}.x").status, 401)
    viewer = server.key("viewer")
    t.equal(server.post("/api/executions", {"workflowId": "none"}, key=viewer).status, 403)
    lines = [json.loads(line) for line in server.stop().err.splitlines()]
    refused = [line for line in lines if line["message"] == "request refused"]
    t.equal([sum(line["status"] == status for line in refused) for status in (401, 403)], [16, 1], "lines of the log, and another caller has its own")
    more = [line for line in lines if line["message"] == "further requests were refused alike"]
    t.equal([(line["level"], line["count"], line["status"], line["route"], line["address"]) for line in more],
            [("warning", 484, 401, "execution", "127.0.0.1")], "the others are a number")
    told = [r for r in refusals(t, server) if r["flags"] == 401]
    t.equal(sum(r["count"] for r in told), 500, "each is counted")
    t.true(len(told) <= 68, f"in a few records: {len(told)}")
    several = [r for r in told if r["rationale"] == "for more reasons than are told apart"]
    t.equal((len(told) - len(several), sum(r["count"] for r in several)), (65, 435), "some are told apart, the others together")


@case("proves: F-109")
def who_is_refused_in_many_ways_hides_nobody_elses_refusal(t):
    server = Server(t)
    apart = int(re.search(r"#define API_REFUSAL_TENANT_MAX +(\d+)", (ROOT / "src/base/limits.h").read_text())[1])
    for i in range(2 * apart):
        stranger = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60, source_address=(f"127.0.{1 + i // 200}.{1 + i % 200}", 0))
        stranger.request("GET", "/api")
        t.equal(stranger.getresponse().status, 401)
        stranger.close()
    viewer = server.key("viewer", "beta")
    t.equal(server.call("DELETE", "/api/secrets/prod?reason=x", key=viewer).status, 403)
    lines = [json.loads(line) for line in server.stop().err.splitlines()]
    t.equal([line["key"] for line in lines if line["message"] == "request refused" and line["status"] == 403], [viewer.split(".")[2]], "lines of the log")
    told = refusals(t, server)
    strangers = [r for r in told if r["flags"] == 401]
    t.equal((len({r["source"] for r in strangers if r["actor"] == "nobody"}), sum(r["count"] for r in strangers)), (apart - 1, 2 * apart))
    t.equal({r["actor"] for r in strangers}, {"nobody", "several"}, "the others are counted together")
    t.equal([(r["actor"], r["tenant"], r["name"]) for r in told if r["flags"] == 403], [("key:" + viewer.split(".")[2], "beta", "secret.remove")])


@case("proves: F-003")
def each_key_that_nobody_has_is_told_by_its_name_and_never_by_its_secret(t):
    server = Server(t)
    keys = [server.key("viewer") for _ in range(4)]
    for key in keys[:2]:
        t.equal(server.call("DELETE", "/api/keys/" + key.split(".")[2]).status, 204)
    wrong = keys[2][:-3] + ("aaa" if not keys[2].endswith("aaa") else "bbb")
    sent = [("", "no API key was sent", None)]
    sent += [(key, f"there is no key {key.split('.')[2]} of tenant 'default'", key.split(".")[2]) for key in keys[:2]]
    sent += [(wrong, f"the secret of key {wrong.split('.')[2]} is another", wrong.split(".")[2]), ("mk.nothing", "no key looks like this", None),
             (keys[3].replace(".", ":"), "no key looks like this", None)]
    for key, _, _ in sent + sent:
        t.equal(server.get("/api/executors", key=key).status, 401)
    said = server.stop().err
    reasons = {}
    for record in refusals(t, server):
        t.equal((record["actor"], record["name"], record["flags"]), ("nobody", "executor.read", 401))
        reasons[record["rationale"]] = reasons.get(record["rationale"], 0) + record["count"]
    t.equal(reasons, dict({why: 2 for _, why, _ in sent}, **{"no key looks like this": 4}), "each is told with its reason")
    lines = [json.loads(line) for line in said.splitlines() if '"request refused"' in line]
    t.equal([line.get("key") or None for line in lines], [name for _, _, name in sent] * 2, "the log names the key that was sent")
    ledger = t.maestro("ledger", "show", "--limit", "100000", "--store", "sqlite:" + server.store).out
    for key in (*keys, wrong, server.admin):
        t.lacks(ledger + said, key.split(".")[-1], "no secret is told")


@case("proves: F-003")
def decisions_on_many_that_the_caller_may_not_make_are_refusals_of_each(t):
    rule = """package maestro.mine
default allow := true
allow := false if { input.verb == "execution.resolve"; input.tenant == "acme" }
reasons contains "not in acme" if not allow
"""
    server = Server(t, "--access", t.write("access.rego", rule))
    for tenant in ("acme", "other"):
        server.define(HELLO.replace("workflow: hello", "workflow: hello\ntenant: " + tenant), tenant=tenant)
    of = {tenant: [server.begin("hello", {"who": "x"}, wait="30s", namespace=tenant)["executionId"] for _ in range(3)] for tenant in ("acme", "other")}
    stranger = server.key("admin", "other")
    answer = server.post("/api/decisions", {"executionIds": of["acme"] + of["other"][:1], "decision": "RETRY"}, key=stranger)
    t.equal([i["outcome"] for i in answer.json()["items"]], ["not-found"] * 3 + ["refused"], f"of other tenants: {answer}")
    denied = server.post("/api/decisions", {"executionIds": of["acme"] + of["other"][:1], "decision": "RETRY"})
    t.equal([i["outcome"] for i in denied.json()["items"]], ["denied"] * 3 + ["refused"], f"denied: {denied}")
    server.stop()
    told = {(r["actor"], r["flags"], r["rationale"]): (r["count"], r["message"]) for r in refusals(t, server)}
    want = {("key:" + stranger.split(".")[2], 404, f"execution {i} belongs to tenant 'acme'"): (1, "POST /api/decisions") for i in of["acme"]}
    want.update({("key:" + server.admin.split(".")[2], 403, f"execution {i}: not in acme"): (1, "POST /api/decisions") for i in of["acme"]})
    t.equal(told, want)


@case("proves: F-003 F-144")
def a_policy_that_keeps_a_tenant_from_a_key_of_every_tenant_does_so_at_every_door(t):
    rule = """package maestro.mine
default allow := false
allow if input.tenant != "beta"
allow if input.caller.role == "author"
"""
    server = Server(t, "--access", t.write("access.rego", rule))
    maker, key = server.key("author", "*"), server.admin
    texts = {tenant: HELLO.replace("workflow: hello", "workflow: hello\ntenant: " + tenant) for tenant in ("acme", "beta")}
    for tenant, text in texts.items():
        server.define(text, tenant=tenant, key=maker)
    runs = {tenant: server.begin("hello", {"who": "x"}, wait="30s", namespace=tenant, key=maker)["executionId"] for tenant in texts}
    server.key("viewer", "acme"), server.key("viewer", "beta")
    at = ("--server", f"http://127.0.0.1:{server.port}")
    names = {run: tenant for tenant, run in runs.items()}
    lists = {"/api/executions": lambda i: names[i["executionId"]], "/api/workflows": lambda i: i["namespace"], "/api/tenants": lambda i: i["tenant"],
             "/api/keys?limit=1": lambda i: i["namespace"]}
    for path, tenant_of in lists.items():
        with t.row(path):
            seen, asked = set(), path
            while asked:
                page = server.get(asked, key=key).json()
                seen |= {tenant_of(item) for item in page["items"]}
                asked = page["_links"].get("next", {}).get("href")
            t.true("beta" not in seen and "acme" in seen, f"it lists those of {seen}")
    problem(t, server.get("/api/executions/" + runs["beta"], key=key), 403, "denied")
    number = {tenant: server.post("/api/store/RUN_BY_ID", {"params": [run]}, key=maker).json()["rows"][0][0] for tenant, run in runs.items()}
    plan = server.post("/api/plans", {"definition": texts["beta"]}, key=maker).json()["plan"]
    beta = runs["beta"]
    rows = [("/api/store/RUN_BY_ID", {"params": [beta]}), ("/api/store/RUN", {"params": [number["beta"]]}), ("/api/store/STEP_RUNS", {"params": [number["beta"], 0]}),
            ("/api/store/RUN_STRETCH", {"params": [1, 1000, number["beta"]]}), ("/api/store/RUNS_OF_TENANT", {"params": ["beta", 1000, None]}),
            ("/api/store/REVISION_NEWEST", {"params": ["beta", "hello"]}), ("/api/store/RECORDS", {"params": [0]}), ("/api/store/SECRETS", {"params": ["", ""]}),
            ("/api/store/PLANS", {"params": [{"blob": ""}]}), ("/api/petitions", {"verb": "cancel", "run": beta, "reason": "x"}),
            ("/api/petitions", {"verb": "cancel", "run": beta, "reason": "x", "tenant": "acme"}),
            ("/api/petitions", {"verb": "start", "tenant": "beta", "plan": plan, "text": texts["beta"], "params": {"who": "x"}}),
            ("/api/petitions", {"verb": "deactivate", "run": runs["acme"], "tenant": "beta", "workflow": "hello", "revision": 1}),
            ("/api/plans", {"definition": texts["beta"]}), ("/api/plans", {"definition": texts["beta"], "parameters": {"who": "x"}})]
    for path, body in rows:
        with t.row(f"{path} {json.dumps(body)[:80]}"):
            problem(t, server.post(path, body, key=key), 403, "denied")
    listed = server.post("/api/store/RUNS", {"params": [10 ** 15, None, None]}, key=key)
    t.equal([runs["acme"] in listed.body.decode(), beta in listed.body.decode()], [True, False], "a list of the store passes over it")
    for command, code in (("acme", 0), ("beta", 69)):
        shown = t.maestro("show", runs[command], *at, env={"MAESTRO_TOKEN": key})
        t.true((shown.code == 0) == (code == 0), f"show of {command}: {shown.out} {shown.err}")
        ran = t.maestro("run", t.write(command + ".yaml", texts[command]), "-p", "who=x", *at, env={"MAESTRO_TOKEN": key})
        t.true((ran.code == 0) == (code == 0), f"run of {command}: {ran.out} {ran.err}")
    stream = server.connect()
    stream.request("GET", "/api/events", headers={"Authorization": "Bearer " + key, "Accept": "text/event-stream", "Last-Event-ID": "1.1"})
    answer = stream.getresponse()
    later, last = (server.begin("hello", {"who": "x"}, wait="30s", namespace=tenant, key=maker)["executionId"] for tenant in ("beta", "acme"))
    told = ""
    while not (last in told and '"run-succeeded"' in told.split(last, 1)[1]):
        line = answer.fp.readline().decode()
        t.require(line, "the stream goes on")
        told += line
    stream.close()
    t.equal([f'"executionId":"{run}"' in told for run in (runs["acme"], beta, later)], [True, False, False], "whose events are told")
    t.lacks(told, '"beta"', "nor what the log tells of it")


@case("proves: F-144")
def a_revoked_key_is_refused_from_the_answer_on(t):
    server = Server(t)
    for tries in range(10):
        with t.row(str(tries)):
            key = server.key("viewer")
            t.equal(server.get("/api", key=key).status, 200, "it is known")
            where = ("--json", "--store", "sqlite:" + server.store)
            t.until(lambda: [k["lastUsedAt"] for k in t.maestro("key", "list", *where).json() if k["id"] == key.split(".")[2]] != [None],
                    "its use is listed")
            revoked = t.maestro("key", "revoke", key.split(".")[2], "--store", "sqlite:" + server.store)
            t.equal(revoked.code, 0, revoked.err)
            t.equal(server.get("/api", key=key).status, 401, "the next request is refused")


@case("")
def a_key_of_every_tenant_needs_no_quotes_in_a_shell(t):
    server = Server(t)
    t.true(server.admin.startswith("mk.@all."), server.admin.split(".")[1])
    t.equal(server.get("/api", key=server.admin.replace("mk.@all.", "mk.*.")).status, 200, "as it was written before")
    for tenant in ("*", "@all"):
        with t.row(tenant):
            key = server.key("viewer", tenant)
            t.true(key.startswith("mk.@all."), "the text")
            t.equal(server.get("/api", key=key).json()["namespace"], "*")


HOLDING = """workflow: holding
jobs:
  a:
    tasks:
      - name: hold
        run: shell
        args: ["sh", "-c", "echo \\"$MAESTRO_SERVER $MAESTRO_TOKEN\\" > {path}.new; mv {path}.new {path}; echo \\"with $MAESTRO_TOKEN\\";
                            while [ ! -e {path}.go ]; do sleep 0.05; done; rm {path}.go; test $MAESTRO_ATTEMPT = 2"]
        retries: {{ attempts: 2, delay: 0s }}
"""


@case("proves: F-102")
def an_attempt_has_a_credential_for_as_long_as_it_is_under_way(t):
    server = Server(t)
    path = t.folder / "credential"
    server.define(HOLDING.format(path=path))
    run = server.begin("holding")["executionId"]
    t.until(path.exists, "the step has begun")
    url, first = path.read_text().split()
    t.equal(url, f"http://127.0.0.1:{server.port}")
    t.equal(server.get("/api/executions/" + run, key=first).json()["executionId"], run, "it reads its own execution")
    sent = server.post("/api/signals", {"executionId": run, "name": "half", "kind": "milestone"}, key=first)
    t.equal(sent.status, 200, f"it sends a signal to its own run: {sent}")
    server.define(HELLO)
    other = server.begin("hello", {"who": "x"})["executionId"]
    for where in (f"/api/executions/{other}", f"/api/executions/{run}/diff?with={other}", f"/api/executions/{other}/diff?with={run}", "/api/executions"):
        with t.row(where):
            t.equal(server.get(where, key=first).status, 404, "it reads no other one")
    t.equal(server.get(f"/api/executions/{run}/diff?with={run}", key=first).status, 200)
    path.unlink()
    (t.folder / "credential.go").touch()
    t.until(path.exists, "the next attempt has begun")
    second = path.read_text().split()[1]
    t.true(first != second, "each has its own")
    t.equal(server.get("/api/executions/" + run, key=first).status, 401, "the first ended with its attempt")
    t.equal(server.get("/api/executions/" + run, key=second).status, 200)
    said = first.split(".")
    for name, wrong in (("another seal", ".".join(said[:2] + [said[2][::-1]])), ("another claim", ".".join([said[0], said[1][::-1], said[2]])),
                        ("half of it", first[:40])):
        with t.row(name):
            t.equal(server.get("/api/executions/" + run, key=wrong).status, 401)
    (t.folder / "credential.go").touch()
    t.equal(server.get(f"/api/executions/{run}?wait=30s").json()["status"], "COMPLETED")
    t.equal(server.get("/api/executions/" + run, key=second).status, 401, "the second as well")
    events = server.get(f"/api/executions/{run}/events").json()["items"]
    t.true(any(e["actor"] == f"attempt:{run}/a.hold/1" for e in events), "the ledger tells which attempt sent the signal")
    where = ("--store", "sqlite:" + server.store)
    said = [t.maestro(*args, *where).out for args in (("logs", run), ("inspect", run, "a.hold"), ("ledger", "show", "--limit", "1000"), ("show", run, "--json"))]
    t.contains(said[0], "with ***")
    with open(server.store, "rb") as store, open(server.store + "-wal", "rb") as wal:
        kept = store.read() + wal.read()
    for secret in (first, second):
        t.true(all(secret.split(".")[2] not in text for text in said), "no command shows it")
        t.true(secret.split(".")[2].encode() not in kept, "the store does not have it")
    t.lacks(server.stop().err, second.split(".")[2])


def watch(server, path, key):
    """An event stream that has begun: a function that gives all that it tells until it ends, or None where it does not."""
    connection = server.connect()
    connection.request("GET", path, None, {"Authorization": "Bearer " + key, "Accept": "text/event-stream", "Last-Event-ID": "0.0"})
    answer = connection.getresponse()
    server.t.equal(answer.status, 200, "the stream begins")

    def rest():
        connection.sock.settimeout(10)
        try:
            return answer.read().decode()
        except TimeoutError:
            return None
    return rest


@case("proves: F-102 F-144")
def a_stream_ends_with_what_opened_it(t):
    server = Server(t)
    path = t.folder / "credential"
    server.define(HOLDING.format(path=path))
    server.define(HELLO)
    viewer = server.key("viewer")
    run = server.begin("holding")["executionId"]
    t.until(path.exists, "the step has begun")
    streams = {"a key": watch(server, "/api/events", viewer), "an attempt": watch(server, f"/api/executions/{run}/events", path.read_text().split()[1])}
    path.unlink()
    revoked = t.maestro("key", "revoke", viewer.split(".")[2], "--store", "sqlite:" + server.store)
    t.equal(revoked.code, 0, revoked.err)
    (t.folder / "credential.go").touch()
    t.until(path.exists, "the next attempt has begun")
    later = server.begin("hello", {"who": "x"}, wait="30s")["executionId"]
    for name, rest in streams.items():
        with t.row(name):
            told = rest()
            t.require(told is not None, "the stream has ended")
            t.lacks(told, later, "what came after is not told")
            t.lacks(told, '"attempt":2', "nor the next attempt")
    (t.folder / "credential.go").touch()


@case("proves: F-102 F-144")
def a_worker_whose_key_is_revoked_gets_no_work_that_it_waited_for(t):
    runners = t.write("runners.yaml", "executors:\n  far:\n    kind: worker\n    runners:\n      far/greet: {}\n")
    server = Server(t, "--runners", runners)
    server.define("workflow: far\njobs:\n  a:\n    tasks:\n      - { name: greet, run: far/greet }\n")
    key, answers = server.key("worker"), []

    def wait():
        connection = server.connect()
        connection.request("POST", "/api/executors/far/exchange", json.dumps({"worker": "w", "want": 1, "wait_ms": 20000}),
                           {"Authorization": "Bearer " + key, "Content-Type": "application/json"})
        answer = connection.getresponse()
        answers.append((answer.status, answer.read().decode()))
    waiting = threading.Thread(target=wait)
    waiting.start()
    t.until(lambda: "maestro_worker_exchanges_waiting 1" in server.get("/metrics").body.decode(), "it waits")
    t.equal(t.maestro("key", "revoke", key.split(".")[2], "--store", "sqlite:" + server.store).code, 0)
    server.begin("far")
    waiting.join(30)
    t.equal([status for status, _ in answers], [401])
    t.lacks(answers[0][1], "leases")


@case("proves: F-144")
def what_a_request_waited_for_is_not_for_a_key_that_was_revoked_meanwhile(t):
    server = Server(t)
    path = t.folder / "credential"
    server.define(HOLDING.format(path=path))
    run = server.begin("holding")["executionId"]
    t.until(path.exists, "the step has begun")
    viewer, operator, answers = server.key("viewer"), server.key("operator"), {}

    def wait(name, key, method, place, body):
        connection = server.connect()
        connection.request(method, place, body, {"Authorization": "Bearer " + key, "Content-Type": "application/json"})
        answer = connection.getresponse()
        answers[name] = (answer.status, answer.read().decode())
    waiting = [threading.Thread(target=wait, args=args) for args in (
        ("who looks", viewer, "GET", f"/api/executions/{run}?wait=30s", None),
        ("who started", operator, "POST", "/api/executions?wait=30s", json.dumps({"workflowId": "holding"})),
        ("who is known still", server.admin, "GET", f"/api/executions/{run}?wait=30s", None))]
    for thread in waiting:
        thread.start()
    t.until(lambda: len(server.get("/api/executions").json()["items"]) == 2, "both run")
    t.until(lambda: "maestro_http_requests_waiting 3" in server.get("/metrics").body.decode(), "all of them wait")
    for key in (viewer, operator):
        t.equal(t.maestro("key", "revoke", key.split(".")[2], "--store", "sqlite:" + server.store).code, 0)
    for item in server.get("/api/executions").json()["items"]:
        t.equal(server.post(f"/api/executions/{item['executionId']}/cancel", {"reason": "enough"}).status, 200)
    for thread in waiting:
        thread.join(60)
    t.equal({name: status for name, (status, _) in answers.items()}, {"who looks": 401, "who started": 401, "who is known still": 200})
    for name in ("who looks", "who started"):
        t.lacks(answers[name][1], "steps", name)
    t.contains(answers["who started"][1], "was done before that")
    server.stop()
    t.equal(sum(1 for r in refusals(t, server) if "while the request waited" in (r["rationale"] or "")), 2, "the ledger has both")


@case("proves: G-15")
def what_takes_long_is_not_done_for_a_key_that_was_revoked_meanwhile(t):
    server = Server(t)
    author, answers = server.key("author"), {}
    steps = "".join(f"      - {{ name: s{i}, run: noop }}\n" for i in range(20000))

    def send(name):
        connection = server.connect()
        connection.request("POST", "/api/workflows", f"workflow: {name}\njobs:\n  a:\n    tasks:\n{steps}",
                           {"Authorization": "Bearer " + author, "Content-Type": "application/yaml"})
        answer = connection.getresponse()
        answers[name] = (answer.status, answer.read().decode())

    def stored():
        return {w["workflowId"] for w in server.get("/api/workflows?limit=100").json()["items"]}
    sending = [threading.Thread(target=send, args=(f"w{i}",)) for i in range(16)]
    for thread in sending:
        thread.start()
    t.until(stored, "the first is stored, and others wait behind it")
    t.equal(server.call("DELETE", "/api/keys/" + author.split(".")[2]).status, 204)
    done = stored()
    for thread in sending:
        thread.join(60)
    t.equal(stored(), done, "nothing more was done from the answer on")
    t.true(len(done) < len(sending), "some waited")
    told = {name for name, (status, body) in answers.items() if status == 201 or (status == 401 and "was done before that" in body)}
    t.equal(told, done, "who has something done is told so")
    t.equal({answers[f"w{i}"][0] for i in range(len(sending)) if f"w{i}" not in done}, {401})


@case("proves: F-102")
def work_that_is_pulled_brings_its_credential(t):
    runners = t.write("runners.yaml", "executors:\n  far:\n    kind: worker\n    runners:\n      far/greet: {}\n")
    server = Server(t, "--runners", runners, "--public", "https://maestro.example")
    server.define("workflow: far\njobs:\n  a:\n    tasks:\n      - { name: greet, run: far/greet }\n")
    run = server.begin("far")["executionId"]
    key = server.key("worker")
    path = "/api/executors/far/exchange"
    got = server.post(path, {"worker": "w", "want": 1, "wait_ms": 20000}, key=key).json()["leases"]
    t.require(got, "a lease is granted")
    task = got[0]["task"]
    t.equal(task["server"], "https://maestro.example")
    t.equal(server.get("/api/executions/" + run, key=task["credential"]).status, 200)
    server.post(path, {"worker": "w", "reports": [{"token": got[0]["token"], "output": {"gives": task["credential"]}}], "want": 0}, key=key)
    t.until(lambda: server.get("/api/executions/" + run).json()["status"] == "COMPLETED", "it is completed")
    t.equal(server.get("/api/executions/" + run, key=task["credential"]).status, 401)
    t.equal(server.get("/api/executions/" + run).json()["steps"][0]["outputData"], {"gives": "***"}, "it is in no record")


if __name__ == "__main__":
    main()
