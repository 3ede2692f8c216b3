#!/usr/bin/env python3
"""Looking into runs over HTTP: trace, provenance, replay, diff, artifacts; dry runs, runbooks, schedules, policies, executors."""
import json
import re
import sqlite3

from maestro_test import case, main
from schema_test import violations
from server_test import HELLO, Server, problem

FLAKY = """workflow: flaky
params: [{ name: n, type: integer, default: 1 }]
jobs:
  a:
    tasks:
      - name: try
        run: shell
        args: ["sh", "-c", "test -e FOLDER/done || { touch FOLDER/done; exit 75; }; echo '{\\"sum\\": 7}' > $MAESTRO_OUTPUT"]
        retries: { attempts: 3, strategy: fixed, delay: 1ms }
      - { name: after, log: "n is ${params.n}" }
"""

RUNNERS = """executors:
  here:
    kind: process
    runners:
      letters_connector: { command: ["sh", "-c", "echo '{\\"content\\": [1, 2, 3]}' > $MAESTRO_OUTPUT"] }
      text_connector: { command: ["sh", "-c", "echo '\\"plain words\\"' > $MAESTRO_OUTPUT"] }
      broken_connector: { command: ["sh", "-c", "exit 65"] }
  far:
    kind: worker
    runners: { pack: {} }
windows: { nights: ["Mon-Sun 22:00-04:00"], always: ["00:00-24:00"] }
calendars: { weekdays: { weekdays: [Mon, Tue, Wed, Thu, Fri], exclude: ["Dec 25"] } }
policies:
  small: { file: small.rego, phases: [pre-flight], reviewed_by: ana }
  gone: { file: gone.rego }
"""

SMALL = """package maestro.small

default allow := false

allow if input.run.params.n < 10

reasons contains "n is too large" if not allow
"""

GUARDED = """workflow: guarded
policies: [small]
params: [{ name: n, type: integer }]
blast_radius: { budget: 1 }
jobs:
  a:
    tasks:
      - { name: first, log: "n is ${params.n}" }
      - { name: second, run: noop }
"""


def both_forms(server, document, path, name, **options):
    """The answer, held against the schema that the document names for it."""
    answer = server.get(path, **options)
    server.t.equal(answer.status, 200, f"{path}: {answer}")
    found = violations(document, {"$ref": "#/components/schemas/" + name}, answer.json())
    server.t.equal(found, [], f"{path} is as its schema {name} says")
    return answer.json()


def configured(t, *args):
    t.write("small.rego", SMALL)
    server = Server(t, "--runners", t.write("runners.yaml", RUNNERS), *args)
    return server, server.get("/openapi.json").json()


def flaky(t, server, **members):
    server.define(FLAKY.replace("FOLDER", str(t.folder)))
    return server.begin("flaky", wait="30s", **members)["executionId"]


@case("proves: R-037 R-039")
def a_version_that_was_removed_is_not_given_again(t):
    server = Server(t)
    base = "/api/workflows/default/hello/revisions"
    stored = lambda word: server.call("POST", "/api/workflows", HELLO.replace("hello $", word + " $"),
                                      headers={"Content-Type": "application/yaml"}).json()["revisionId"]["version"]
    t.equal([stored("a"), stored("b"), stored("c")], [1, 2, 3])
    t.equal(server.call("DELETE", base + "/3").status, 204)
    t.equal(stored("d"), 4, "the number behind the one that was removed")
    for version in (4, 2):
        t.equal(server.call("DELETE", f"{base}/{version}").status, 204)
    t.equal(stored("c"), 5, "what was stored before is a new revision")
    for version in (5, 1):
        t.equal(server.call("DELETE", f"{base}/{version}").status, 204)
    problem(t, server.get("/api/workflows/default/hello"), 404, "workflow-not-found")
    t.equal(stored("a"), 6, "also where none was left")
    server.stop()
    checked = t.maestro("store", "verify", "--store", "sqlite:" + server.store)
    t.equal(checked.code, 0, checked.out + checked.err)
    for change in ("update maestro_removed_revisions set version = 2", "delete from maestro_removed_revisions"):
        with t.row(change):
            copy = t.folder / "changed.db"
            copy.write_bytes((t.folder / "store.db").read_bytes())
            with sqlite3.connect(copy) as connection:
                connection.execute(change)
            t.equal(t.maestro("store", "verify", "--store", f"sqlite:{copy}").code, 65, "it is noticed")
    server.start()
    t.equal(stored("e"), 7, "after a restart")


def pages(server, path, key="items"):
    """Every item of a list, and the pages that it came in."""
    found, sizes = [], []
    while path:
        answer = server.get(path)
        server.t.require(answer.status == 200, f"{path}: {answer}")
        page = answer.json()
        found += page[key]
        sizes.append(len(page[key]))
        path = page["_links"].get("next", {}).get("href")
    return found, sizes


def large(jobs, tasks):
    return "workflow: large\njobs:\n" + "".join(
        f"  j{j}:\n    tasks:\n" + "".join(f"      - {{ name: t{i}, run: noop, input: {{ output: {{ n: {i} }} }} }}\n" for i in range(tasks))
        for j in range(jobs))


@case("proves: R-072 R-097 R-105")
def an_execution_of_many_steps_has_the_first_and_says_where_the_others_are(t):
    server = Server(t)
    document = server.get("/openapi.json").json()
    server.define(large(jobs=24, tasks=100))
    server.define(HELLO)
    run = server.begin("large", wait="30s")
    among = [server.begin("hello", {"who": str(i)}, wait="30s") for i in range(3)]
    path = f"/api/executions/{run['executionId']}"
    t.until(lambda: server.get(path + "?wait=30s").json()["status"] == "COMPLETED", "it ends")
    run = both_forms(server, document, path, "Execution")
    t.equal((len(run["steps"]), run["stepCount"]), (500, 2400), "as many as a page has, and how many there are")
    listed, sizes = pages(server, path + "/steps?limit=500")
    t.equal([len(listed), max(sizes)], [2400, 500])
    rest, _ = pages(server, run["_links"]["next"]["href"])
    t.equal(run["steps"] + rest, listed, "with the pages behind them they are all of them, each once")
    t.equal(server.get(f"{path}/steps?limit=1&cursor={run['nextCursor']}").json()["items"], listed[500:501])
    small = server.get(f"/api/executions/{among[0]['executionId']}").json()
    t.equal((small["stepCount"], len(small["steps"]), "next" in small["_links"], "nextCursor" in small), (1, 1, False, False))
    t.true(run["eventCount"] > 8192, "more events than are walked over at once")
    events, sizes = pages(server, path + "/events?limit=500")
    t.equal([e["number"] for e in events], list(range(1, run["eventCount"] + 1)), "every event once, in order")
    t.equal(events[:90], pages(server, path + "/events?limit=7")[0][:90], "however they are cut")
    verdicts, _ = pages(server, path + "/verdicts?limit=500")
    t.equal(len([v for v in verdicts if v["hook"] == "step-dispatch"]), 2400)
    told = server.call("GET", path + "/events", headers={"Accept": "text/event-stream"}).body.decode()
    t.equal([int(number) for number in re.findall(r'"number":(\d+)', told)],
            list(range(1, run["eventCount"] + 1)), "and its stream")
    shown = t.maestro("show", run["executionId"], "--json", "--server", f"http://127.0.0.1:{server.port}", env={"MAESTRO_TOKEN": server.admin})
    t.equal(len(json.loads(shown.out)["steps"]), 2400, "a command shows all of them")


@case("")
def a_trace_has_the_spans_of_run_steps_and_attempts(t):
    server = Server(t)
    document = server.get("/openapi.json").json()
    server.define(FLAKY.replace("FOLDER", str(t.folder)))
    given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    answer = server.call("POST", "/api/executions?wait=30s", {"workflowId": "flaky"}, headers={"traceparent": given})
    started, request = answer.json(), answer.headers["traceparent"].split("-")
    trace = both_forms(server, document, f"/api/executions/{started['executionId']}/trace", "Trace")
    t.equal(trace["traceId"], given.split("-")[1], "the trace of its caller")
    run, *rest = trace["spans"]
    t.equal((run["kind"], run["parentSpanId"], run["status"]["code"]), ("run", request[2], "OK"), "below the request that started it")
    t.equal([(s["kind"], s["name"]) for s in rest],
            [("step", "a.try"), ("attempt", "a.try"), ("attempt", "a.try"), ("step", "a.after"), ("attempt", "a.after")])
    steps = [s for s in rest if s["kind"] == "step"]
    t.true(all(s["parentSpanId"] == run["spanId"] for s in steps), "steps are below the run")
    t.true(all(s["parentSpanId"] == steps[0]["spanId"] for s in rest[1:3]), "attempts are below their step")
    t.equal([s["status"]["code"] for s in rest[1:3]], ["ERROR", "OK"])
    t.equal([s["attributes"]["attempt"] for s in rest[1:3]], [1, 2])
    t.equal(len({s["spanId"] for s in trace["spans"]}), len(trace["spans"]), "no two spans have one id")
    events = server.get(f"/api/executions/{started['executionId']}/events").json()["items"]
    of_attempt = [e["trace"].split("-")[2] for e in events if e["event"] == "step-succeeded"]
    t.true({rest[2]["spanId"], rest[4]["spanId"]} == set(of_attempt), "events join spans by their ids")
    server.stop()
    made = t.maestro("run", t.write("hello.yaml", HELLO), "-p", "who=x", "--store", "sqlite:" + server.store, "--quiet")
    t.equal(made.code, 0, made.err)
    server.start()
    own = server.get("/api/executions?workflowId=hello").json()["items"][0]["executionId"]
    t.equal(server.get(f"/api/executions/{own}/trace").json()["spans"][0]["parentSpanId"], None, "what nobody called begins a trace of its own")


@case("proves: F-207")
def provenance_says_what_each_output_came_from_and_what_came_of_it(t):
    server = Server(t)
    document = server.get("/openapi.json").json()
    server.define("""workflow: chain
params: [{ name: n, type: integer, default: 2 }]
jobs:
  a: { tasks: [{ name: make, run: noop, input: { output: { n: "${params.n}" } } }] }
  b: { needs: [a], tasks: [{ name: use, run: noop, input: { output: { from: "${outputs.make.n}" } } }] }
""")
    run = server.begin("chain", wait="30s")["executionId"]
    again = server.begin("chain", wait="30s")["executionId"]
    other = server.begin("chain", {"n": 3}, wait="30s")["executionId"]
    told = [both_forms(server, document, f"/api/executions/{one}/provenance", "Provenance") for one in (run, again, other)]
    t.equal(told[0]["revision"]["version"], 1)
    t.equal([o["step"] for o in told[0]["outputs"]], ["a.make", "b.use"])
    use = told[0]["outputs"][1]
    t.equal((use["runner"], use["attempt"]), ("noop", 1))
    t.true(any(i["step"] == "a.make" and i["digest"] == told[0]["outputs"][0]["output"] for i in use["inputs"]), "what it read, by its digest")
    t.equal(told[0]["parameters"], told[1]["parameters"], "equal contents have equal digests")
    t.equal([o["output"] for o in told[0]["outputs"]], [o["output"] for o in told[1]["outputs"]])
    t.true(told[0]["parameters"] != told[2]["parameters"], "other contents have others")
    path = f"/api/executions/{run}/provenance"
    causes = both_forms(server, document, path + "?node=task:b.use", "Provenance")["graph"]
    t.true({"task:a.make", "job:b", "run:" + run} <= {n["id"] for n in causes["nodes"]}, "its causes")
    effects = both_forms(server, document, path + "?node=task:a.make&direction=effects", "Provenance")["graph"]
    t.equal([n["id"] for n in effects["nodes"]], ["task:a.make", "task:b.use"], "its effects")
    problem(t, server.get(path + "?node=task:nobody"), 404, "not-found")
    problem(t, server.get(path + "?direction=sideways"), 400, "invalid")


@case("proves: F-134")
def the_state_of_a_run_is_shown_at_any_event_and_time(t):
    server = Server(t)
    document = server.get("/openapi.json").json()
    run = flaky(t, server)
    path = f"/api/executions/{run}/replay"
    whole = both_forms(server, document, path, "Replay")
    t.equal((whole["state"], whole["event"], [s["attempts"] for s in whole["steps"]]), ("succeeded", whole["eventCount"], [2, 1]))
    events = server.get(f"/api/executions/{run}/events?limit=500").json()["items"]
    for event in events:
        told = server.get(f"{path}?at={event['number']}").json()
        t.equal(told["event"], event["number"])
    dispatched = next(e["number"] for e in events if e["event"] == "step-dispatched")
    told = both_forms(server, document, f"{path}?at={dispatched}", "Replay")
    t.equal([(s["state"], s["begun"]) for s in told["steps"]], [("dispatched", True), ("queued", False)])
    t.equal(server.get(f"{path}?at={events[-1]['time']}").json()["event"], len(events), "at a time")
    for wrong in ("0", "9999", "soon", "1999-01-01T00:00:00.000Z"):
        with t.row(wrong):
            problem(t, server.get(f"{path}?at={wrong}"), 400, "invalid")
    server.stop()
    said = t.maestro("replay", run, "--at", str(dispatched), "--json", "--store", "sqlite:" + server.store)
    shown = {key: value for key, value in told.items() if key != "_links"}
    t.equal(json.loads(said.out), shown, "a command says the same")


@case("proves: F-135")
def what_differs_between_attempts_and_between_runs_is_listed(t):
    server = Server(t)
    document = server.get("/openapi.json").json()
    run = flaky(t, server)
    found = both_forms(server, document, f"/api/executions/{run}/diff?attempts=1,2", "Diff")
    t.equal((found["left"]["attempt"], found["right"]["attempt"], found["left"]["step"]), (1, 2, "a.try"))
    by_place = {d["pointer"]: d for d in found["differences"]}
    t.equal((by_place["/state"]["left"], by_place["/state"]["right"]), ("failed", "succeeded"))
    t.equal((by_place["/failure"]["left"]["cause"], by_place["/failure"]["right"]), ("transient", None))
    t.equal(by_place["/output"], {"pointer": "/output", "left": None, "right": {"sum": 7}})
    t.true(any(p.startswith("/events/") for p in by_place), "their events")
    t.equal(server.get(f"/api/executions/{run}/diff").json()["count"], found["count"], "the last two are the default")
    other = server.begin("flaky", {"n": 2}, wait="30s")["executionId"]
    runs = both_forms(server, document, f"/api/executions/{run}/diff?with={other}", "Diff")
    by_place = {d["pointer"]: d for d in runs["differences"]}
    t.equal((by_place["/parameters/n"]["left"], by_place["/parameters/n"]["right"]), (1, 2))
    t.equal((by_place["/steps/a.try/attempts"]["left"], by_place["/steps/a.try/attempts"]["right"]), (2, 1))
    rows = [("?attempts=1,7", 404, "not-found"), ("?attempts=1", 400, "invalid"), ("?attempts=0,1", 400, "invalid"),
            ("?step=nobody", 404, "not-found"), ("?step=a.after", 404, "not-found"), ("?with=nobody", 404, "execution-not-found")]
    for query, status, kind in rows:
        with t.row(query):
            problem(t, server.get(f"/api/executions/{run}/diff{query}"), status, kind)
    for args in (("diff", run), ("diff", run, "--step", "try", "--attempts", "1,2"), ("diff", run, other, "--json"), ("diff", other),
                 ("replay", run, "--at", "5"), ("diff", run, "--attempts", "x")):
        with t.row(" ".join(args)):
            here = t.maestro(*args, "--store", "sqlite:" + server.store)
            there = t.maestro(*args, "--server", f"http://127.0.0.1:{server.port}", env={"MAESTRO_TOKEN": server.admin})
            t.equal((there.code, there.out, there.err), (here.code, here.out, here.err))
    t.contains(t.maestro("diff", run, "--store", "sqlite:" + server.store).out, '/state: "failed" -> "succeeded"')


RUNBOOK = """name: letters
description: Letters and words
artifacts:
  list: { source: { type: letters_connector }, output: true }
  words: { source: { type: text_connector }, output: true }
  broken: { source: { type: broken_connector } }
"""

@case("proves: R-082 R-084")
def a_runbook_is_validated_planned_and_run(t):
    folder = t.folder / "components" / "waivern.connectors"
    folder.mkdir(parents=True)
    for name in ("letters", "text", "broken"):
        (folder / f"{name}.yaml").write_text(f"name: {name}_connector\noutput_schema: standard_input\ncommand: [\"true\"]\n")
    t.write("small.rego", SMALL)
    server = Server(t, "--runners", t.write("runners.yaml", RUNNERS), env={"MAESTRO_COMPONENTS": str(t.folder / "components")})
    document = server.get("/openapi.json").json()
    sent = {"Content-Type": "application/yaml"}
    good = server.call("POST", "/api/runbooks?action=validate", RUNBOOK, headers=sent)
    t.equal((good.status, good.json()["valid"]), (200, True), str(good))
    bad = server.call("POST", "/api/runbooks?action=validate", RUNBOOK.replace("text_connector", "tixt_connector"), headers=sent)
    t.equal((bad.status, bad.json()["valid"]), (200, False))
    t.contains(json.dumps(bad.json()["diagnostics"]), "tixt_connector")
    plan = server.call("POST", "/api/runbooks?action=plan", RUNBOOK, headers=sent).json()
    t.equal(len(plan["plan"]["steps"]), 3)
    problem(t, server.call("POST", "/api/runbooks", HELLO, headers=sent), 400, "invalid")
    problem(t, server.call("POST", "/api/runbooks?action=dance", RUNBOOK, headers=sent), 400, "invalid")
    for action in ("validate", "plan", "run"):
        with t.row(action + " of what is no runbook"):
            told = problem(t, server.call("POST", "/api/runbooks?action=" + action, HELLO, headers=sent), 400, "invalid")
            t.contains(told["detail"], "this is a workflow and no runbook: POST /api/workflows takes it")
    wrong = server.call("POST", "/api/runbooks?action=validate", HELLO.replace("tasks", "taks"), headers=sent)
    t.equal((wrong.status, wrong.json()["valid"]), (200, False), "what is wrong with it is said first")
    t.equal(server.get("/api/workflows").json()["items"], [], "nothing was stored so far")
    problem(t, server.call("POST", "/api/runbooks", RUNBOOK, key=server.key("author"), headers=sent), 403, "denied")
    idle = RUNBOOK.replace("name: letters", "name: idle")
    t.equal(server.call("POST", "/api/workflows", idle, headers=sent).status, 201, "a runbook is stored by the same door")
    told = problem(t, server.call("POST", "/api/runbooks", idle, headers=sent), 409, "revision-not-active")
    t.equal(told["detail"], "revision 1 of workflow 'idle' is not active", "no word of a shell")
    made = server.call("POST", "/api/runbooks?wait=30s", RUNBOOK, headers=sent)
    t.equal(made.status, 201, str(made))
    run = made.json()["executionId"]
    for answer in (good, bad):
        t.equal(violations(document, {"$ref": "#/components/schemas/RunbookAnswer"}, answer.json()), [])
    t.equal([s["stepType"] for s in made.json()["steps"]], ["artifact"] * 3)
    problem(t, server.get(f"/api/executions/{run}/artifacts/broken"), 404, "not-found")
    whole = server.call("POST", "/api/runbooks?wait=30s", RUNBOOK.replace("name: letters", "name: whole").replace("  broken: { source: { type: broken_connector } }\n", ""), headers=sent)
    t.equal((whole.status, whole.json()["status"]), (201, "COMPLETED"), str(whole))
    path = f"/api/executions/{whole.json()['executionId']}/artifacts/"
    t.equal({s["stepId"]: s["_links"]["artifact"]["href"] for s in whole.json()["steps"]}, {"list": path + "list", "words": path + "words"})
    listed, words = server.get(path + "list"), server.get(path + "words")
    t.equal((listed.headers["Content-Type"], listed.json()), ("application/json", {"content": [1, 2, 3]}))
    t.equal((words.headers["Content-Type"], words.body), ("text/plain; charset=utf-8", b"plain words"))
    t.equal(server.get(path + "words", headers={"If-None-Match": words.headers["ETag"]}).status, 304)
    problem(t, server.get(path + "broken"), 404, "not-found")
    problem(t, server.get(path + "list", key=server.key("viewer", "other")), 404, "execution-not-found")



@case("")
def what_a_step_gave_is_read_as_it_is_with_its_type_and_tag(t):
    server = Server(t)
    server.define("""workflow: makes
jobs:
  a:
    tasks:
      - { name: list, run: noop, input: { output: { content: [1, 2, 3] } } }
      - { name: words, run: noop, input: { output: plain words } }
      - { name: nothing, log: "x" }
""")
    run = server.begin("makes", wait="30s")
    path = f"/api/executions/{run['executionId']}/artifacts/"
    t.equal(run["steps"][0]["_links"]["artifact"]["href"], path + "a.list")
    listed, words = server.get(path + "a.list"), server.get(path + "a.words")
    t.equal((listed.headers["Content-Type"], listed.json()), ("application/json", {"content": [1, 2, 3]}))
    t.equal((words.headers["Content-Type"], words.body), ("text/plain; charset=utf-8", b"plain words"))
    t.true(listed.headers["ETag"] != words.headers["ETag"], "each has its tag")
    known = server.get(path + "a.list", headers={"If-None-Match": listed.headers["ETag"]})
    t.equal((known.status, known.body), (304, b""))
    problem(t, server.get(path + "a.nothing"), 404, "not-found")
    problem(t, server.get(path + "nobody"), 404, "not-found")
    problem(t, server.get(path + "a.list", key=server.key("viewer", "other")), 404, "execution-not-found")


@case("proves: F-140 F-141")
def a_dry_run_says_what_a_start_would_meet_and_starts_nothing(t):
    server, document = configured(t)
    server.define(GUARDED)
    path = "/api/workflows/default/guarded/revisions/1/dry-run"

    def dry(n, **options):
        answer = server.post(path, {"parameters": {"n": n}}, **options)
        t.equal(answer.status, 200, str(answer))
        t.equal(violations(document, {"$ref": "#/components/schemas/DryRunAnswer"}, answer.json()), [])
        return answer.json()

    allowed, denied = dry(3), dry(30)
    t.equal((allowed["allowed"], allowed["comparedWith"], allowed["differences"]), (True, 1, []))
    t.equal([(s["step"], s["runner"]) for s in allowed["steps"]], [("a.first", "log"), ("a.second", "noop")])
    t.equal(allowed["blastRadius"], {"weight": sum(s["weight"] for s in allowed["steps"]), "budget": 1,
                                     "exceeded": sum(s["weight"] for s in allowed["steps"]) > 1})
    t.equal(denied["allowed"], False)
    t.contains(denied["decisions"][0]["reason"], "n is too large")
    problem(t, server.post(path, {"parameters": {"n": "x"}}), 400, "parameter-validation")
    problem(t, server.post(path.replace("/1/", "/7/"), {}), 404, "workflow-revision-not-found")
    problem(t, server.post(path, {}, key=server.key("viewer")), 403, "denied")
    t.equal(server.get("/api/executions").json()["items"], [], "nothing was started")
    server.call("POST", "/api/workflows", GUARDED.replace("name: n,", "name: m,").replace("params.n", "params.m"),
                headers={"Content-Type": "application/yaml"})
    other = server.post(path.replace("/1/", "/2/"), {"parameters": {"m": 1}}).json()
    t.true(other["differences"] and any("'n'" in line for line in other["incompatibilities"]), "what differs, and what breaks")
    file = t.write("guarded.yaml", GUARDED)
    common = ("plan", file, "--dry-run", "--runners", t.folder / "runners.yaml", "--json")
    here = t.maestro(*common, "-p", "n=3", "--store", "sqlite:" + server.store)
    there = t.maestro(*common, "-p", "n=3", "--server", f"http://127.0.0.1:{server.port}", env={"MAESTRO_TOKEN": server.admin})
    t.equal((there.code, there.out), (here.code, here.out), "by either way: " + there.err + here.err)
    t.equal((here.code, json.loads(here.out)["steps"]), (0, allowed["steps"]))
    refused = t.maestro("plan", file, "--dry-run", "--runners", t.folder / "runners.yaml", "-p", "n=30")
    t.equal(refused.code, 77)
    t.contains(refused.out, "n is too large")


@case("proves: F-039 F-040 F-041")
def schedules_are_listed_with_their_times_and_what_bars_them(t):
    server, document = configured(t)
    for name, schedule in (
        ("daily", '{ cron: "30 2 * * *", timezone: Europe/Berlin, freeze_windows: ["Dec 25"] }'),
        ("nightly", '{ cron: "0 23 * * *", blackout: nights }'),
        ("office", '{ cron: "0 9 * * *", calendar: weekdays }'),
        ("lost", '{ cron: "0 9 * * *", timezone: Atlantis/Center }'),
        ("plain", '"0 12 * * *"'),
    ):
        server.define(f"workflow: {name}\ntriggers: [{{ schedule: {schedule} }}]\njobs: {{ a: {{ tasks: [{{ log: x }}] }} }}\n")
    server.define(HELLO)
    server.call("POST", "/api/workflows", "workflow: idle\ntriggers: [{ schedule: \"0 1 * * *\" }]\njobs: { a: { tasks: [{ log: x }] } }\n",
                headers={"Content-Type": "application/yaml"})
    path = "/api/schedules?from=2026-12-24T12:00:00.000Z&count=2"
    items = {i["workflowId"]: i for i in both_forms(server, document, path, "SchedulePage")["items"]}
    t.equal(sorted(items), ["daily", "lost", "nightly", "office", "plain"], "of active revisions, and of those that have one")
    t.equal(items["daily"]["next"], [
        {"at": "2026-12-25T01:30:00.000Z", "barred": "freeze", "held": [{"by": "freeze", "name": None, "window": "Dec 25"}], "override": None},
        {"at": "2026-12-26T01:30:00.000Z", "barred": None, "held": [], "override": None}])
    t.equal(items["nightly"]["next"][0]["held"][0]["name"], "nights")
    t.equal([n["barred"] for n in items["nightly"]["next"]], ["blackout", "blackout"])
    t.equal([n["barred"] for n in items["office"]["next"]], ["calendar", "calendar"], "a frozen Friday, then a Saturday")
    t.equal((items["lost"]["next"], "Atlantis" in items["lost"]["unusable"]), ([], True))
    t.equal(items["plain"]["next"][0]["at"], "2026-12-25T12:00:00.000Z")
    seen, link = [], path + "&limit=2"
    while link:
        page = both_forms(server, document, link, "SchedulePage")
        seen += [i["workflowId"] for i in page["items"]]
        link = page["_links"].get("next", {}).get("href")
    t.equal(seen, ["daily", "lost", "nightly", "office", "plain"], "by pages")
    t.equal([i["workflowId"] for i in server.get("/api/schedules?workflowId=plain").json()["items"]], ["plain"])
    problem(t, server.get("/api/schedules?from=tomorrow"), 400, "invalid")
    problem(t, server.get("/api/schedules?count=101"), 400, "invalid")
    problem(t, server.get("/api/schedules?namespace=other", key=server.key("viewer")), 404, "not-found")


@case("")
def a_schedule_starts_the_active_revision_when_it_is_due(t):
    server, _ = configured(t)
    flow = """workflow: tick
triggers: [{ schedule: { cron: "* * * * * *", payload: { mode: full } } }]
jobs: { a: { tasks: [{ name: say, log: "mode ${payload.mode} WORD" }] } }
"""
    server.define(flow.replace("WORD", "first"))
    server.define(flow.replace("tick", "barred").replace("payload: {", "blackout: always, payload: {"))
    server.define(flow.replace("tick", "needy").replace("jobs:", "params: [{ name: who, type: string }]\njobs:"))
    done = lambda: [e for e in server.get("/api/executions?workflowId=tick&limit=500").json()["items"] if e["status"] == "COMPLETED"]
    t.until(lambda: len(done()) >= 2, "it was started twice")
    first = done()[-1]
    t.equal((first["source"], first["triggerPayload"], first["revisionId"]["version"]), ("schedule", {"mode": "full"}, 1))
    events = server.get(f"/api/executions/{first['executionId']}/events").json()["items"]
    t.equal((events[0]["actor"], events[0]["rationale"][:7]), ("schedule:tick/0", "due at "))
    whys = [server.get(f"/api/executions/{e['executionId']}/events?limit=1").json()["items"][0]["rationale"] for e in done()]
    t.equal(len(set(whys)), len(whys), "each time once")
    t.until(lambda: "who" in "".join(line for line in t.said(server.process).splitlines() if "refused its run" in line),
            "a start that is refused is told in the log")
    t.until(lambda: any("barred" in line and "blackout" in line for line in t.said(server.process).splitlines()), "what is barred is told")
    t.equal(server.get("/api/executions?workflowId=barred").json()["items"], [], "and starts nothing")
    second = server.define(flow.replace("WORD", "second"))
    t.until(lambda: done()[0]["revisionId"]["version"] == second["revisionId"]["version"], "the next revision is started")
    server.post(second["_links"]["self"]["href"] + "/deactivate")
    server.stop()
    count = len(done_of(server))
    server.start()
    t.until(lambda: "refused its run" in t.said(server.process), "schedules are followed again")
    t.equal(len(done_of(server)), count, "one that is not active is not")


def done_of(server):
    with sqlite3.connect(f"file:{server.store}?mode=ro", uri=True) as connection:
        return connection.execute("select id from maestro_workflows where definition_key = 'tick'").fetchall()


@case("")
def policies_and_executors_are_listed_as_they_are(t):
    t.write("all.rego", "package maestro.all\n\nallow := true\n")
    server, document = configured(t, "--policy", str(t.folder / "all.rego"))
    policies = {p["name"]: p for p in both_forms(server, document, "/api/policies", "PolicyPage")["items"]}
    t.equal(sorted(policies), ["all.rego", "gone", "small"])
    t.equal((policies["all.rego"]["everywhere"], policies["all.rego"]["packages"]), (True, ["data.maestro.all"]))
    t.equal((policies["small"]["hooks"], policies["small"]["reviewedBy"]), (["run-start", "step-dispatch"], "ana"))
    t.true(policies["gone"]["digest"] is None and "gone.rego" in policies["gone"]["unusable"], "one that cannot be read says why")
    executors = {e["name"]: e for e in both_forms(server, document, "/api/executors", "ExecutorPage")["items"]}
    t.equal(sorted(executors), ["far", "here"])
    t.equal((executors["here"]["health"], executors["far"]["health"]), ("up", "silent"))
    key = server.key("worker")
    t.equal(server.post("/api/executors/far/exchange", {"worker": "w1", "want": 1, "wait_ms": 0}, key=key).status, 200)
    far = both_forms(server, document, "/api/executors", "ExecutorPage")["items"][0]
    t.equal((far["health"], len(far["workers"])), ("up", 1))
    t.true(far["workers"][0]["worker"].endswith("/w1"), "the worker that asked")
    other = server.get("/api/executors", key=server.key("viewer", "other")).json()["items"][0]
    t.equal((other["health"], other["workers"]), ("silent", []), "workers of another tenant are not told, and do not serve it")


@case("")
def the_description_is_not_sent_again_to_who_has_it(t):
    server = Server(t)
    first = server.get("/openapi.json", key="")
    t.true(first.headers["ETag"].startswith('W/"'), "one tag for the text and for what gzip makes of it is a weak one")
    again = server.get("/openapi.json", key="", headers={"If-None-Match": first.headers["ETag"]})
    t.equal((again.status, again.body), (304, b""))
    other = server.get("/openapi.json", key="", headers={"If-None-Match": '"of-another"'})
    t.equal((other.status, other.body), (200, first.body), "the same as before")


@case("")
def parameters_that_make_no_key_are_refused_as_such_by_the_engine_and_again(t):
    server = Server(t)
    server.define("workflow: keyed\nparams: [{ name: day, type: string, required: false }]\nidempotency_key: \"day-${params.day}\"\n"
                  "jobs: { a: { tasks: [{ name: say, log: hi }] } }\n")
    for what, headers in (("once", {}), ("with a key", {"Idempotency-Key": "k"}), ("the same again", {"Idempotency-Key": "k"})):
        with t.row(what):
            refused = server.post("/api/executions", {"workflowId": "keyed"}, headers=headers)
            t.contains(problem(t, refused, 400, "parameter-validation")["detail"], "the idempotency key cannot be made")
    t.equal(server.post("/api/executions", {"workflowId": "keyed", "parameters": {"day": "monday"}}).status, 201)


@case("")
def a_query_of_the_store_that_looks_at_much_is_bounded_by_name(t):
    server = Server(t)
    server.define(HELLO)
    run = server.begin("hello", {"who": "x"}, wait="30s")["executionId"]
    viewer = server.key("viewer")
    number = server.post("/api/store/RUN_BY_ID", {"params": [run]}, key=viewer).json()["rows"][0][0]
    told = problem(t, server.post("/api/store/STEP_RUNS", {"params": [number, 0], "limit": 4294967295}, key=viewer), 400, "invalid")
    t.contains(told["detail"], "API_STORE_ROW_COUNT_MAX (2097152)")
    told = problem(t, server.post("/api/store/RUN_STRETCH", {"params": [1, 10 ** 15, number]}, key=viewer), 422, "limit-exceeded")
    t.contains(told["detail"], "RUN_STRETCH_COUNT (10000)")
    t.true(server.post("/api/store/RUN_STRETCH", {"params": [1, 10000, number]}, key=viewer).json()["rows"], "one that is short is looked at")
    problem(t, server.post("/api/store/RUNS_OPEN", {"params": [0]}, key=viewer), 403, "denied")
    step = server.get("/api/executions/" + run).json()["steps"][0]["stepId"]
    t.equal([server.post("/api/store/POLLS_OF_STEP_RUN", {"params": [i, 0]}, key=viewer).json() for i in (step, "a" * 21)], [{"rows": []}] * 2)
    t.equal(server.post("/api/store/COUNT_OF_STEP_RUNS", {"params": [number]}, key=viewer).json(), {"rows": [[1]]})


if __name__ == "__main__":
    main()
