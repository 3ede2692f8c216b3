#!/usr/bin/env python3
"""What definitions, runs and the store promise beside the commands of their own: the same plan every time, checks before
anything is done, states and results, versions, and rest while nothing happens."""
import json
import os
import re
import sqlite3
import time

from maestro_test import MAESTRO, SANITIZED, case, main

# A step that works until the file `go` is there, then one that comes after it.
HELD = """workflow: held
jobs:
  first: { tasks: [{ name: work, run: shell, input: { command: "echo begun; while ! [ -e %(folder)s/go ]; do sleep 0.05; done; %(end)s" } }] }
  second: { needs: [first], tasks: [{ name: rest, run: shell, input: { command: "echo %(mark)s >> %(folder)s/done" } }] }
"""
GATED = "workflow: gated\njobs: { a: { tasks: [{ log: asks, wait_for_signal: { signal: release, timeout: 1h } }] } }\n"


def store(t, name="store.db"):
    return ("--store", f"sqlite:{t.folder}/{name}")


def held(t, mark="one", end="true", name="held.yaml"):
    return t.write(name, HELD % {"folder": t.folder, "mark": mark, "end": end})


def select(t, text, *args, name="store.db"):
    db = sqlite3.connect(f"file:{t.folder}/{name}?mode=ro", uri=True)
    try:
        return db.execute(text, args).fetchall()
    finally:
        db.close()


def runs(t):
    if not (t.folder / "store.db").exists():
        return []
    listed = t.maestro("runs", "--json", *store(t))
    return [json.loads(line) for line in listed.out.splitlines()] if listed.code == 0 else []


def start(t, file, *args):
    """A `maestro run` in the background, once its run is in the store; gives the process and the run's id."""
    before = len(runs(t))
    process = t.start("run", file, *args, *store(t))
    t.until(lambda: len(runs(t)) > before, "the run is in the store")
    return process, runs(t)[0]["run"]


def until_begun(t, run_id):
    t.until(lambda: "begun" in t.maestro("logs", run_id, *store(t)).out, "its first step is under way")


def events(t, run_id):
    return [json.loads(line) for line in t.maestro("show", run_id, "--events", "--json", *store(t)).out.splitlines()]


def kinds(t, run_id, part):
    return [event["event"] for event in events(t, run_id) if event["event"].startswith(part)]


# --- definitions -------------------------------------------------------------------------------------------------------------

@case("proves: F-004")
def the_same_definition_gives_the_same_bytes_and_the_same_course(t):
    files = ("examples/order-fulfillment.yaml", "examples/log-analysis.yaml", "examples/step-tree.yaml", "examples/approval.yaml")
    places = ({}, {"TZ": "Asia/Tokyo", "LC_ALL": "C", "HOME": "/nonexistent"}, {"MALLOC_PERTURB_": "165", "COLUMNS": "40"})
    for file in files:
        with t.row(file):
            copy = t.write("elsewhere/" + os.path.basename(file), open(file, "rb").read())
            texts = {t.maestro("plan", "--json", file, env=env).out for env in places}
            texts.add(t.maestro("plan", "--json", copy, "--runners", "examples/runners.yaml").out)
            t.equal(len(texts), 1, "different plans")
            t.contains(texts.pop(), "sha256:")
    # What happens follows from the definition and its inputs: two runs differ in ids, times, chance and who carried them out.
    courses = []
    for _ in range(2):
        t.equal(t.maestro("run", "examples/step-tree.yaml", "-p", "name=Ana", *store(t)).code, 0)
        courses.append([{key: value for key, value in event.items() if key not in ("run", "time", "trace", "command", "seed", "holder", "position")}
                        for event in events(t, "last")])
    t.equal(courses[0], courses[1], "the events of two runs")


def nested(depth):
    """Sequences and choices inside one another, a log at each level, written as JSON."""
    steps = [{"log": "the innermost"}]
    for level in range(depth):
        inner = {"sequence": steps} if level % 2 else {"if": "params.deep", "then": steps, "else": [{"log": f"not {level}"}]}
        steps = [{"log": f"before {level}"}, inner, {"log": f"after {level}"}]
    return json.dumps({"workflow": "deep", "parameters": [{"name": "deep", "type": "boolean", "default": True}], "steps": steps})


@case("proves: R-001")
def steps_are_made_of_steps_to_any_depth(t):
    depth = 40
    file = t.write("deep.json", nested(depth))
    t.equal(t.maestro("run", file, *store(t)).code, 0)
    messages = [json.loads(row[0])["message"] for row in
                select(t, "SELECT input_data FROM execution_step_results WHERE step_type = 'task' AND status = 'COMPLETED' ORDER BY step_index")]
    want = [f"before {n}" for n in reversed(range(depth))] + ["the innermost"] + [f"after {n}" for n in range(depth)]
    t.equal(messages, want, "what was done, in order")
    t.equal(select(t, "SELECT count(*) FROM execution_step_results WHERE status = 'SKIPPED'"), [(depth // 2,)], "other sides")
    t.equal(t.maestro("run", file, "-p", "deep=false", *store(t)).code, 0)
    t.contains(t.maestro("logs", "last", *store(t)).out + str(events(t, "last")), "not ")
    beyond = t.maestro("validate", t.write("beyond.json", nested(200)))
    t.equal(beyond.code, 65, "what is deeper than its bound")
    t.matches(beyond.err, r"nest|deep|DEPTH")


@case("proves: A-009")
def conditions_compensations_and_triggers_are_checked_when_a_definition_is_compiled(t):
    head = "workflow: typed\nparams: [{ name: amount, type: number, default: 1 }]\n"
    jobs = "jobs: { a: { tasks: [{ name: t, run: noop, outputs: { n: integer } }] }, b: { needs: [a], %s } }\n"
    task = "tasks: [{ name: u, run: noop, %s }]"
    rows = (
        ("a sound one", head + jobs % (task % "when: outputs.a.t.n > params.amount, compensation: noop"), None),
        ("a condition that is no expression", head + jobs % (task % "when: 'params.amount >'"), ":3:"),
        ("a parameter that is not declared", head + jobs % (task % "when: params.amuont > 1"), "amount"),
        ("an output of a step that does not come before", head + jobs % (task % "when: outputs.c.x.n > 1"), ":3:"),
        ("a compensation that no runner carries out", head + jobs % (task % "compensation: undo/nothing"), "undo/nothing"),
        ("a compensation with a wrong key", head + jobs % (task % "compensation: { run: noop, timeuot: 3s }"), "timeout"),
        ("a trigger with a schema that is none", head + jobs % (task % "pause_after: { trigger: go, payload_schema: { type: objekt } }"), ":3:"),
        ("a trigger whose condition speaks of nothing", head + jobs % (task % "pause_after: { trigger: go, resume_when: paylod.ok == true }"), "paylod"),
        ("a start trigger of no kind", head + "triggers: [{ webhok: { key: x } }]\n" + jobs % (task % "timeout: 1s"), "webhook"),
        ("a schedule that never is", head + "triggers: [{ schedule: { cron: '61 * * * *' } }]\n" + jobs % (task % "timeout: 1s"), ":3:"),
    )
    for name, text, part in rows:
        with t.row(name):
            result = t.maestro("validate", t.write("typed.yaml", text))
            t.equal(result.code, 65 if part else 0, f"the exit code; {result.err}")
            if part:
                t.contains(result.err, part)
                t.matches(result.err, r"typed\.yaml:\d+:\d+: error: ", "its place")


@case("proves: F-118")
def a_version_that_breaks_who_relies_on_it_is_reported_and_refused(t):
    text = """workflow: priced
params: [%s]
jobs:
  a: { tasks: [{ name: price, run: shell, input: { command: "echo '{\\"total\\": 3}' > $MAESTRO_OUTPUT" }, outputs: { %s } }] }
"""
    old = t.write("old.yaml", text % ("{ name: item, type: string, default: x }", "total: integer"))
    t.equal(t.maestro("run", old, *store(t)).code, 0)
    wider = t.write("wider.yaml", text % ("{ name: item, type: string, default: y }, { name: more, type: number, default: 1 }", "total: integer"))
    t.equal(t.maestro("check", wider, "--against", old).code, 0)
    t.equal(t.maestro("run", wider, *store(t)).code, 0, "a version that breaks nobody")
    rows = (
        ("a removed parameter", text % ("{ name: more, type: number, default: 1 }", "total: integer"), "parameter 'item' was removed"),
        ("another type", text % ("{ name: item, type: integer, default: 1 }, { name: more, type: number, default: 1 }", "total: integer"),
         "parameter 'item' was of type string and is now of type integer"),
        ("one that must be given", text % ("{ name: item, type: string }, { name: more, type: number, default: 1 }", "total: integer"),
         "parameter 'item' could be left out and is now required"),
        ("another output", text % ("{ name: item, type: string, default: x }, { name: more, type: number, default: 1 }", "total: number"),
         "output 'total' of step 'a.price' was of type integer and is now of type number"),
    )
    for name, changed, part in rows:
        with t.row(name):
            new = t.write("new.yaml", changed)
            checked = t.maestro("check", new, "--against", wider)
            t.equal((checked.code, part in checked.out), (65, True), checked.out)
            found = t.maestro("check", new, "--against", wider, "--json").json()
            t.equal((found["compatible"], found["count"]), (False, 1))
            count = len(runs(t))
            refused = t.maestro("run", new, "-p", "more=2", *store(t))
            t.equal(refused.code, 65)
            t.contains(refused.err, part)
            t.contains(refused.err, "--allow-incompatible")
            t.equal(len(runs(t)), count, "runs after a refusal")
    allowed = t.maestro("run", new, "--allow-incompatible", *store(t))
    t.equal(allowed.code, 0)
    t.contains(allowed.err, part, "it is reported all the same")
    t.lacks(t.maestro("run", new, *store(t)).err, "compatible", "it is now the version that was run last")
    t.equal(t.maestro("run", new, *store(t, "fresh.db")).code, 0, "a store that never saw it")
    t.equal(t.maestro("check", new).code, 2, "nothing to hold it against")


@case("proves: F-117")
def a_run_goes_on_with_the_version_it_was_started_with(t):
    file = held(t, mark="one")
    process, first = start(t, file)
    until_begun(t, first)
    digest = select(t, "SELECT plan_digest FROM maestro_workflows")[0][0]
    held(t, mark="two")                                             # the same file: a newer version
    newer, second = start(t, file)                                  # is given to the owner, which has the old one at work
    process.kill()
    newer.kill()
    process.wait()
    newer.wait()
    file.unlink()                                                   # and now no version lies there
    (t.folder / "go").touch()
    t.equal(t.maestro("resume", first, *store(t)).code, 0)
    done = (t.folder / "done").read_text().split()
    t.true("one" in done, f"the first run has done {done}")
    if "two" not in done:                                           # the owner of the first one may have ended before it
        t.equal(t.maestro("resume", second, *store(t)).code, 0)
    t.equal(sorted((t.folder / "done").read_text().split()), ["one", "two"], "each its own version")
    rows = dict(select(t, "SELECT id, plan_digest FROM maestro_workflows"))
    t.equal((rows[first], rows[second] != digest), (digest, True), "the plans they are pinned to")
    for run_id in (first, second):
        t.equal(t.maestro("replay", run_id, "--verify", *store(t)).code, 0)


# --- before anything is done ---------------------------------------------------------------------------------------------------

@case("proves: R-003")
def parameters_are_checked_before_anything_is_done(t):
    file = t.write("flow.yaml", """workflow: checked
params:
  - { name: count, type: integer }
  - { name: who, type: string, default: x }
jobs: { a: { tasks: [{ name: t, run: shell, input: { command: "touch %s/touched" } }] } }
""" % t.folder)
    t.equal(t.maestro("run", "examples/hello.yaml", *store(t)).code, 0)
    count = "SELECT (SELECT count(*) FROM maestro_workflows), (SELECT count(*) FROM maestro_ledger WHERE run_no IS NOT NULL)"
    before = select(t, count)
    rows = (((), "parameter 'count' is missing"), (("-p", "count=1.5"), "parameter 'count' is not of type integer"),
            (("-p", "count=many"), "parameter 'count' is not of type integer"),
            (("-p", "count=1", "-p", "other=2"), "parameter 'other' is not declared"))
    for params, part in rows:
        with t.row(" ".join(params)):
            result = t.maestro("run", file, *params, *store(t))
            t.equal(result.code, 65)
            t.contains(result.err, part)
            t.true(not (t.folder / "touched").exists(), "a step was carried out")
            t.equal(select(t, count), before, "runs and their records")
    t.equal(t.maestro("run", file, "-p", "count=2", *store(t)).code, 0)
    t.true((t.folder / "touched").exists(), "with right ones it is carried out")


@case("proves: R-021")
def a_start_checks_then_records_then_works_then_tells(t):
    (t.folder / "go").touch()
    result = t.maestro("run", held(t), "--json", *store(t))
    t.equal(result.code, 0)
    run_id = runs(t)[0]["run"]
    t.matches(run_id, r"^[0-9A-Za-z_-]{21}$")
    t.contains(result.out, run_id, "the id is told")
    order = [event["event"] for event in events(t, run_id)]
    want = ["run-created", "run-dispatched", "run-running", "step-running", "step-succeeded", "run-succeeded"]
    places = [order.index(kind) for kind in want]
    t.equal(places, sorted(places), f"the order of {order}")
    # The record of the start holds the state RUNNING and the first step: no earlier state is ever visible.
    records = [json.loads(line)["events"] for line in t.maestro("ledger", "show", "-n", "1000", *store(t)).out.splitlines()]
    first = [{event["event"] for event in record} for record in records if record[0]["event"] == "run-created"]
    t.true(len(first) == 1 and "run-running" in first[0], f"the record of the start: {first}")
    t.equal(select(t, "SELECT status FROM workflow_executions"), [("COMPLETED",)])
    failing = t.write("failing.yaml", "workflow: failing\njobs: { a: { tasks: [{ run: shell, input: { command: exit 65 } }] } }\n")
    t.equal(t.maestro("run", failing, *store(t)).code, 1)
    t.equal(select(t, "SELECT status FROM workflow_executions WHERE workflow_id = 'failing'"), [("FAILED",)])


# --- states and results ----------------------------------------------------------------------------------------------------

@case("proves: A-234 A-237")
def a_run_is_paused_and_resumed_any_number_of_times(t):
    process, run_id = start(t, held(t))
    until_begun(t, run_id)
    for _ in range(3):
        t.equal(t.maestro("pause", run_id, *store(t)).code, 0)
        t.equal(select(t, "SELECT state FROM maestro_workflows"), [("PAUSED",)])
        t.equal(t.maestro("resume", run_id, *store(t)).code, 0)
        t.equal(select(t, "SELECT state FROM maestro_workflows"), [("RUNNING",)])
    (t.folder / "go").touch()
    t.equal(t.end(process).code, 0)
    t.equal(kinds(t, run_id, "run-"), ["run-created", "run-dispatched", "run-running"] + ["run-paused", "run-running"] * 3 + ["run-succeeded"])
    t.equal(select(t, "SELECT state FROM maestro_workflows"), [("SUCCEEDED",)])
    t.equal(select(t, "SELECT DISTINCT status FROM maestro_step_runs"), [("SUCCEEDED",)])


@case("proves: A-235")
def a_run_fails_while_it_runs_and_while_it_is_paused(t):
    (t.folder / "go").touch()
    t.equal(t.maestro("run", held(t, end="exit 65"), *store(t)).code, 1)
    t.equal(kinds(t, "last", "run-")[-1], "run-failed")
    (t.folder / "go").unlink()
    process, run_id = start(t, held(t, end="exit 65"))
    until_begun(t, run_id)
    t.equal(t.maestro("pause", run_id, *store(t)).code, 0)
    (t.folder / "go").touch()
    t.until(lambda: select(t, "SELECT state FROM maestro_workflows WHERE id = ?", run_id) == [("FAILED",)], "the paused run has failed")
    t.equal(t.end(process).code, 1)
    t.equal(kinds(t, run_id, "run-")[2:], ["run-running", "run-paused", "run-failing", "run-failed"])
    t.true(not (t.folder / "done").exists(), "nothing new began")


@case("proves: F-015 A-274")
def outputs_are_held_against_what_is_declared_and_kept_for_each_run(t):
    text = """workflow: made
params: [{ name: json, type: string }]
jobs:
  a: { tasks: [{ name: make, run: shell, input: { command: "printf %%s '${params.json}' > $MAESTRO_OUTPUT" }, outputs: { n: integer, s: string } }] }
  b: { needs: [a], tasks: [{ name: use, run: noop, input: { n: "${outputs.a.make.n}" } }] }
"""
    file = t.write("made.yaml", text.replace("%%", "%"))
    rows = (("as declared", '{"n": 3, "s": "x"}', None), ("more than declared", '{"n": 4, "s": "x", "more": true}', None),
            ("missing", '{"s": "x"}', "n"), ("mistyped", '{"n": "3", "s": "x"}', "n"), ("a fraction", '{"n": 1.5, "s": "x"}', "n"),
            ("nothing", "", None))
    for name, output, wrong in rows:
        with t.row(name):
            result = t.maestro("run", file, "-p", f"json={output}", *store(t))
            is_wrong = wrong is not None or not output
            t.equal(result.code, 1 if is_wrong else 0, f"the exit code; {result.err}")
            run_id = runs(t)[0]["run"]
            found = select(t, "SELECT status, output_data, error_details FROM execution_step_results WHERE execution_id = ? ORDER BY step_index", run_id)
            if is_wrong:
                t.equal(found[0][:2], ("FAILED", None), "the failed step")
                t.equal(t.maestro("show", run_id, "--json", *store(t)).json()["error"]["cause"], "output-invalid")
                t.equal(found[1][0], "SKIPPED", "what needs it")
            else:
                t.equal((found[0][0], json.loads(found[0][1])), ("COMPLETED", json.loads(output)))
                t.equal(json.loads(select(t, "SELECT input_data FROM execution_step_results WHERE execution_id = ? AND step_index = 1",
                                          run_id)[0][0])["n"], json.loads(output)["n"], "what the next step was given")
    outputs = select(t, "SELECT output_data FROM execution_step_results WHERE step_id = 'a.make' AND status = 'COMPLETED'")
    kept = sorted(json.loads(row[0])["n"] for row in outputs)
    t.equal(kept, [3, 4], "each run keeps its own")
    required = t.maestro("validate", t.write("wrong.yaml", text.replace("%%", "%").replace("outputs.a.make.n", "outputs.a.made.n")))
    t.equal(required.code, 65, "what is required must be produced")


@case("proves: A-275")
def a_single_job_a_branch_and_a_polling_step_are_steps_of_their_own_kind(t):
    file = t.write("kinds.yaml", """workflow: kinds
params: [{ name: way, type: string, default: left }]
jobs:
  single: { tasks: [{ name: work, run: noop }] }
  choose: { needs: [single], branch: { type: exclusive, select: params.way, cases: { left: [left], right: [right] }, converge: after } }
  left: { tasks: [{ run: noop }] }
  right: { tasks: [{ run: noop }] }
  after: { needs: [left, right], tasks: [{ run: noop }] }
""")
    t.equal(t.maestro("run", file, *store(t)).code, 0)
    t.equal(dict(select(t, "SELECT step_key, step_type FROM maestro_step_runs WHERE step_key IN ('single.work', 'choose')")),
            {"single.work": "task", "choose": "branch"})
    polled = t.write("polled.yaml", "workflow: polled\njobs: { a: { tasks: [{ name: t, run: noop, poll: { interval: 5m, max_duration: 48h } }] } }\n")
    steps = t.maestro("plan", "--json", polled).json()["plan"]["steps"]
    t.equal((steps[0]["kind"], steps[0]["poll"]["interval_ms"]), ("task", 300000), "a polling step in its plan")


@case("proves: R-056 R-063")
def each_result_is_there_as_soon_as_its_step_has_ended(t):
    file = t.write("three.yaml", """workflow: three
jobs:
  a: { tasks: [{ name: a, run: shell, input: { command: "echo '{\\"n\\": 1}' > $MAESTRO_OUTPUT" } }] }
  b: { needs: [a], tasks: [{ name: b, run: shell, input: { command: "echo begun; while ! [ -e %s/go ]; do sleep 0.05; done" } }] }
  c: { needs: [b], tasks: [{ log: "c" }] }
""" % t.folder)
    process, run_id = start(t, file)
    until_begun(t, run_id)
    query = "SELECT step_index, step_id, status, output_data, result_id FROM execution_step_results ORDER BY step_index"
    found = select(t, query)
    t.equal([row[:3] for row in found], [(0, "a.a", "COMPLETED")], "results while the second step works")
    t.equal(json.loads(found[0][3]), {"n": 1})
    process.kill()
    process.wait()
    t.equal(select(t, query), found, "and after the process was killed")
    (t.folder / "go").touch()
    t.equal(t.maestro("resume", run_id, *store(t)).code, 0)
    after = select(t, query)
    t.equal([row[:3] for row in after], [(0, "a.a", "COMPLETED"), (1, "b.b", "COMPLETED"), (2, "c.c", "COMPLETED")])
    t.equal(after[0], found[0], "the first result has not changed")
    t.equal(t.maestro("run", file, *store(t)).code, 0)
    ids = [row[4] for row in select(t, query)]
    t.equal((len(set(ids)), {len(i) for i in ids}), (6, {21}), "ids of results")


@case("proves: R-057")
def whatever_goes_wrong_inside_a_step_is_a_failed_result(t):
    runners = t.write("runners.yaml", """executors:
  local:
    kind: process
    runners:
      missing: { command: [/nonexistent/program] }
      killed: { command: [sh, -c, 'kill -SEGV $$'] }
      code: { command: [sh, -c, 'exit 3'] }
      garbage: { command: [sh, -c, 'echo "{not json" > "$MAESTRO_OUTPUT"'] }
      noise: { command: [sh, -c, 'echo "{\\"effectCommitted\\": true}" >&3; echo nonsense >&3; exit 65'] }
      closed: { command: [sh, -c, 'exec 0<&- 1>&- 2>&-; exit 9'] }
""")
    names = ("missing", "killed", "code", "garbage", "noise", "closed")
    jobs = "".join(f"  {name}: {{ tasks: [{{ name: t, run: {name} }}] }}\n" for name in names)
    file = t.write("wrong.yaml", f"workflow: wrong\nfailure_mode: continue-independent\njobs:\n{jobs}  path: {{ tasks: [{{ name: t, log: \"x\" }}] }}\n")
    result = t.maestro("run", file, "--runners", runners, *store(t))
    t.equal(result.code, 1, result.err)
    found = {row[0]: row[1:] for row in select(t, "SELECT step_id, status, error_message, error_details FROM execution_step_results")}
    for name in names:
        with t.row(name):
            status, message, details = found[f"{name}.t"]
            t.equal(status, "FAILED")
            t.true(message and json.loads(details), f"what is said: {message} {details}")
    t.equal(found["path.t"][0], "COMPLETED", "what has nothing to do with it")
    t.equal(t.maestro("store", "verify", *store(t)).code, 0)


@case("proves: R-044")
def no_run_or_step_ends_before_it_began(t):
    (t.folder / "go").touch()
    for end in ("true", "exit 65"):
        t.maestro("run", held(t, end=end), *store(t))
    process, run_id = start(t, t.write("gated.yaml", GATED))
    t.equal(t.maestro("cancel", run_id, *store(t)).code, 0)
    t.end(process)
    for view in ("workflow_executions", "execution_step_results"):
        found = select(t, f"SELECT started_at, completed_at FROM {view}")
        t.true(found, f"{view} is empty")
        t.equal([row for row in found if row[1] is None or row[1] < row[0]], [], f"{view} that end before they begin")


@case("proves: F-016")
def a_step_that_takes_too_long_is_given_up_and_what_it_says_later_is_refused(t):
    file = t.write("slow.yaml", """workflow: slow
jobs:
  a: { tasks: [{ name: t, run: shell, timeout: 200ms, input: { command: "trap '' TERM; while ! [ -e %s/go ]; do sleep 0.05; done; echo '{\\"late\\": true}' > $MAESTRO_OUTPUT" } }] }
""" % t.folder)
    process, run_id = start(t, file)
    t.until(lambda: "step-failed" in kinds(t, run_id, "step-"), "the attempt is given up")
    (t.folder / "go").touch()                                       # now it would succeed
    t.equal(t.end(process).code, 1)
    failed = next(event for event in events(t, run_id) if event["event"] == "step-failed")
    t.equal((failed["cause"], failed["class"]), ("timeout", "transient"))
    t.true("step-succeeded" not in kinds(t, run_id, "step-"), "the late report was taken")
    t.equal(select(t, "SELECT status, output_data FROM execution_step_results"), [("FAILED", None)])
    t.equal(t.maestro("show", run_id, "--json", *store(t)).json()["error"]["cause"], "timeout")


# --- the store -----------------------------------------------------------------------------------------------------------------

# What a column may hold JSON in: payloads of users, definitions, answers kept for who asks again, and what is stated as JSON.
JSON_COLUMNS = {("maestro_plans", "document"), ("maestro_revisions", "parameters"), ("maestro_revisions", "steps"), ("maestro_revisions", "text"),
                ("maestro_revisions", "triggers"),
                ("maestro_requests", "answer"), ("maestro_resolution_decisions", "compensate_step_keys"),
                ("maestro_branch_decisions", "selected_branches"), ("maestro_branch_decisions", "input_summary"),
                ("maestro_compensation_runs", "output"), ("maestro_trigger_payloads", "payload"), ("maestro_logs", "text"),
                ("maestro_workflows", "error_message"), ("maestro_step_runs", "error_message")}
BLOB_COLUMNS = {("maestro_ledger", "hash"), ("maestro_ledger", "record"), ("maestro_ledger", "payload"), ("maestro_log_heads", "head"),
                ("maestro_workflows", "plan_digest"), ("maestro_workflows", "head"), ("maestro_plans", "digest"),
                ("maestro_revisions", "digest"), ("maestro_snapshots", "digest"), ("maestro_snapshots", "state"),
                ("maestro_requests", "digest"), ("maestro_blobs", "bytes"),
                ("maestro_tenant_keys", "sealed"), ("maestro_secrets", "sealed")}


@case("proves: A-008 C-36")
def what_is_decided_by_lies_in_columns_and_not_in_json(t):
    (t.folder / "go").touch()
    for end in ("true", "exit 65"):
        t.maestro("run", held(t, end=end), *store(t))
    t.equal(t.maestro("run", "examples/order-routing.yaml", *store(t)).code in (0, 1, 65), True)
    process, run_id = start(t, t.write("gated.yaml", GATED))
    t.until(lambda: select(t, "SELECT count(*) FROM maestro_step_runs WHERE waiting_for = 'release'") == [(1,)], "a wait is a column")
    t.equal(t.maestro("cancel", run_id, *store(t)).code, 0)
    t.end(process)
    tables = [row[0] for row in select(t, "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'maestro_%'")]
    t.true(len(tables) > 15, f"tables: {tables}")
    for table in tables:
        for _, column, kind, *_ in select(t, f"PRAGMA table_info({table})"):
            with t.row(f"{table}.{column}"):
                if kind == "BLOB":
                    t.true((table, column) in BLOB_COLUMNS, "a column of bytes that nobody knows")
                elif kind == "TEXT" and (table, column) not in JSON_COLUMNS:
                    t.equal(select(t, f"SELECT {column} FROM {table} WHERE json_valid({column}) AND json_type({column}) IN ('object', 'array')"), [])
    # No question that the engine asks of a store looks into JSON: they are all made of columns, and answered by indexes.
    questions = open("src/view/queries.def").read()
    t.lacks(re.sub(r"/\*.*?\*/", "", questions, flags=re.S).lower(), "json")
    t.equal(select(t, "SELECT state, count(*) FROM maestro_workflows GROUP BY state ORDER BY state")[0][0], "CANCELLED", "asked by plain SQL")


# --- rest ------------------------------------------------------------------------------------------------------------------------

def doings(pid):
    """What the threads of a process have done so far: how often each gave up the processor by itself, and ticks of all."""
    threads = {}
    for task in os.listdir(f"/proc/{pid}/task"):
        status = open(f"/proc/{pid}/task/{task}/status").read()
        name = re.search(r"^Name:\s*(.*)", status, re.M).group(1)
        threads[f"{name} {task}"] = int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", status, re.M).group(1))
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return threads, int(fields[11]) + int(fields[12])


@case("proves: A-011")
def who_waits_for_a_signal_does_nothing_at_all(t):
    process, run_id = start(t, t.write("gated.yaml", GATED))
    t.until(lambda: select(t, "SELECT state FROM maestro_workflows") == [("WAITING_SIGNAL",)], "it waits")
    quiet, before = 0, doings(process.pid)
    for _ in range(40):                                             # until it has come to rest, then it stays so
        time.sleep(0.5)
        now = doings(process.pid)
        quiet, before = (quiet + 1 if now == before else 0), now
        if quiet == 8:
            break
    t.equal(quiet, 8, f"half seconds in which no thread woke up; {before}")
    t.equal(t.maestro("signal", run_id, "release", *store(t)).code, 0)
    t.equal(t.end(process).code, 0)
    for question in ("SELECT run_no FROM maestro_timers WHERE due_ms <= 1 ORDER BY due_ms, run_no",
                     "SELECT run_no FROM maestro_workflows WHERE state = 'FAILED' AND auto_retry_at <= 'x' ORDER BY auto_retry_at",
                     "SELECT step_run_no FROM maestro_step_runs WHERE status = 'POLLING' AND next_poll_at <= 'x' ORDER BY next_poll_at"):
        with t.row(question):
            plan = " ".join(row[3] for row in select(t, "EXPLAIN QUERY PLAN " + question))
            t.matches(plan, r"SEARCH .* USING (COVERING )?INDEX")
            t.lacks(plan, "SCAN")


# --- schemas by name ----------------------------------------------------------------------------------------------------------------

NAMED = """
workflow: named
schemas: { Mine: { type: object, required: [n] } }
jobs:
  a:
    tasks:
      - { name: mine, run: shell, input: { script: 'echo "{\\"n\\": 1}" > $MAESTRO_OUTPUT' }, produces: Mine }
      - { name: theirs, run: ReserveInventoryJob, produces: InventoryReservedOutput }
      - { name: wrong, run: shell, input: { script: 'echo "{}" > $MAESTRO_OUTPUT' }, produces: Mine }
"""


@case("proves: A-274 F-015")
def a_schema_that_is_given_by_name_is_the_one_that_outputs_are_checked_by(t):
    file = t.write("named.yaml", NAMED)
    plan = t.maestro("plan", "--json", "--runners", "examples/runners.yaml", file).json()["plan"]
    t.equal([step["output_schema"]["title"] for step in plan["steps"]], ["Mine", "InventoryReservedOutput", "Mine"])
    result = t.maestro("run", file, "--runners", "examples/runners.yaml", *store(t))
    t.matches(result.out, r"2 succeeded, 1 failed")
    t.matches(result.out + result.err, r'a\.wrong: .*output_schema says: .*"n"')


# --- figures ------------------------------------------------------------------------------------------------------------------------

@case("proves: R-092 R-096")
def a_benchmark_tells_what_a_start_and_a_commit_cost(t):
    figures = t.maestro("bench", "--shape", "one-step", "--runs", "20" if SANITIZED else "200", "--inflight", "1", "--json", *store(t)).json()
    t.true(figures["latency_ms_p50"] > 0 and figures["commits_per_step"] > 0, f"{figures}")
    limits = t.maestro("bench", "--limits", "--json", *store(t)).json()
    t.true(any("sync" in key or "us" in key for key in limits), f"what the disk itself takes: {limits}")
    begun, spawned = [], []                                         # beside what it costs to start the program at all
    for _ in range(5):                                              # from the command to the record, as the record itself says
        before = time.time()
        t.equal(t.maestro("version").code, 0)
        spawned.append(time.time() - before)
        before = time.time()
        t.equal(t.maestro("run", "examples/hello.yaml", "--quiet", *store(t)).code, 0)
        begun.append(select(t, "SELECT max(started_ms) FROM maestro_workflows")[0][0] / 1000 - before)
    t.true(min(begun) < 100 * min(spawned), f"seconds until a run had begun: {begun}; until the program had ended: {spawned}")


@case("proves: G-12")
def tasks_of_a_job_go_one_after_another_and_stop_at_the_first_that_fails(t):
    task = '{ name: %s, run: shell, input: { command: "echo %s >> ' + str(t.folder) + '/order; %s" } }'
    tasks = [task % (name, name, end) for name, end in (("zeta", "true"), ("alpha", "true"), ("mid", "exit 65"), ("last", "true"))]
    file = t.write("order.yaml", "workflow: order\njobs: { a: { tasks: [" + ", ".join(tasks) + "] } }\n")
    t.equal(t.maestro("run", file, *store(t)).code, 1)
    t.equal((t.folder / "order").read_text().split(), ["zeta", "alpha", "mid"], "as written")
    told = [(e["event"], e["step"]) for e in events(t, runs(t)[0]["run"]) if e["event"] in ("step-running", "step-succeeded", "step-failed")]
    t.equal(told, [("step-running", 0), ("step-succeeded", 0), ("step-running", 1), ("step-succeeded", 1), ("step-running", 2),
                   ("step-failed", 2)], "each begins when the one before it has succeeded")


@case("proves: G-22")
def the_row_of_a_run_has_its_resolution_cancellation_retry_and_deadline(t):
    failing = t.write("failing.yaml", "workflow: failing\nconfig: { timeout: 2h }\n"
                      "failure_resolution: { strategy: auto_retry, max_retries: 2, retry_delay: 1h }\n"
                      "jobs: { a: { tasks: [{ name: s, run: shell, input: { command: exit 75 } }] } }\n")
    process, run_id = start(t, failing)
    columns = "SELECT state, resolution, auto_retry_at IS NOT NULL, deadline_at IS NOT NULL, cancel_requested FROM maestro_workflows WHERE id = ?"
    t.until(lambda: select(t, columns, run_id)[0][0] == "FAILED", "it waits for its retry")
    t.equal(select(t, columns, run_id)[0], ("FAILED", "AUTO_RETRY_SCHEDULED", 1, 1, 0))
    t.equal(t.maestro("cancel", run_id, *store(t)).code, 0)
    t.equal(t.end(process).code, 1)
    t.equal(select(t, columns, run_id)[0][0], "CANCELLED")
    held_process, held_id = start(t, held(t))
    until_begun(t, held_id)
    t.equal(t.maestro("cancel", held_id, *store(t)).code, 0)
    t.end(held_process)
    t.equal(select(t, columns, held_id)[0][::4], ("CANCELLED", 1))
    plan = select(t, "EXPLAIN QUERY PLAN SELECT id FROM maestro_workflows WHERE state = 'FAILED' AND auto_retry_at <= '2999'")
    t.contains(str(plan), "idx_workflows_auto_retry")


@case("proves: C-21")
def what_a_retry_clears_stays_in_the_history_and_other_runs_stay_as_they_are(t):
    file = t.write("twice.yaml", f"workflow: twice\nparams: [{{ name: who, type: string }}]\njobs: {{ a: {{ tasks: [{{ name: s, run: shell, "
                   f"input: {{ command: 'n=$(cat {t.folder}/n 2>/dev/null || echo 0); n=$((n+1)); echo $n > {t.folder}/n; "
                   "echo \"{\\\"n\\\": $n}\" > $MAESTRO_OUTPUT' } }, "
                   f"{{ name: e, run: shell, input: {{ command: 'test -e {t.folder}/${{params.who}} || exit 65' }} }}] }} }}\n")
    (t.folder / "a").touch()
    t.equal(t.maestro("run", file, "-p", "who=a", *store(t)).code, 0)
    t.equal(t.maestro("run", file, "-p", "who=b", *store(t)).code, 1)
    (t.folder / "b").touch()
    second, first = [row["run"] for row in runs(t)[:2]]
    t.equal(t.maestro("retry-from", second, "a.s", *store(t)).code, 0)
    t.equal(t.maestro("resume", second, *store(t)).code, 0)
    t.equal(t.maestro("inspect", second, "a.s", "--json", *store(t)).json()["output"], {"n": 3}, "the current one")
    t.equal(t.maestro("inspect", first, "a.s", "--json", *store(t)).json()["output"], {"n": 1}, "another run")
    outputs = [e for e in events(t, second) if e["event"] == "step-succeeded" and e["step"] == 0]
    t.equal(len(outputs), 2, "both results are in the ledger")
    rows = select(t, "SELECT s.status, s.output_at IS NOT NULL FROM maestro_step_runs s JOIN maestro_workflows w ON w.run_no = s.workflow_id "
                     "WHERE w.id = ? AND s.step_key = 'a.s' ORDER BY s.step_index", second)
    t.equal(rows, [("SUPERSEDED", 1), ("SUCCEEDED", 1)], "and in the table")
    t.equal(t.maestro("ledger", "verify", *store(t)).code, 0)


main()
