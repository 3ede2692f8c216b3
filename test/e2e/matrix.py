#!/usr/bin/env python3
"""The features of runs two by two: resolution, retry from a step, compensation, branches, polls, pauses (A-255..A-266).

One definition has them all; each cell is a story told by commands, and what happened is read from the file `log`, into which
every step and every compensation writes its name. What needs no second command is told with a store in memory, too; the rest of
the cells on that store is in test/engine."""
import json
import sqlite3

from maestro_test import case, main

# start -> route -> left | right -> join -> last. `last` fails until the file `fixed` is there.
FLOW = """workflow: matrix
HEAD
jobs:
  start: { tasks: [ { name: start, SHELL(echo start >> FOLDER/log; cat FOLDER/given > $MAESTRO_OUTPUT), UNDO(start) } ] }
  route: { needs: [start], branch: { type: exclusive, select: outputs.start.way, cases: { a: [left], b: [right] }, converge: join } }
  left: { tasks: [ { name: left, SHELL(echo left >> FOLDER/log; ANSWER), UNDO(left) LEFT } ] }
  right: { tasks: [ { name: right, SHELL(echo right >> FOLDER/log), UNDO(right) } ] }
  join:
    needs: [left, right]
    tasks:
      - { name: join, SHELL(echo join >> FOLDER/log), UNDO(join) JOIN }
      - { name: last, SHELL(echo last >> FOLDER/log; test -e FOLDER/fixed || exit 65) }
"""
# Complete with every second question.
ANSWER = ('n=$(($(cat FOLDER/asked 2>/dev/null || echo 0) + 1)); echo $n > FOLDER/asked; '
          'if [ $((n % 2)) = 0 ]; then echo \\"{\\\\\\"complete\\\\\\":true}\\"; else echo \\"{\\\\\\"continue\\\\\\":true}\\"; fi > $MAESTRO_OUTPUT')
POLL = ", poll: { interval: 20ms, max_duration: 1h, max_attempts: 50 }"
PAUSE = ", pause_after: { trigger: go, timeout: 1h }"
BY_ITSELF = ", pause_after: { trigger: go, auto_resume_after: 50ms }"
COMPENSATES = "failure_resolution: { strategy: auto_compensate }"
RETRIES = "failure_resolution: { strategy: auto_retry, max_retries: 1, retry_delay: 20ms }"
WAITING = 75


def store(t):
    return ("--store", f"sqlite:{t.folder}/store.db")


def replace_calls(text, name, make):
    """Each NAME(argument) of the text becomes make(argument); arguments may hold balanced parentheses."""
    while f"{name}(" in text:
        begin = text.index(f"{name}(")
        end, depth = begin + len(name), 0
        while True:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
            if not depth:
                break
        text = text[:begin] + make(text[begin + len(name) + 1:end - 1]) + text[end:]
    return text


def flow(t, head="description: everything", left="", join="", answer="true", way="a"):
    text = FLOW.replace("HEAD", head).replace("LEFT", left).replace("JOIN", join).replace("ANSWER", answer)
    text = replace_calls(text, "SHELL", lambda command: f'run: shell, input: {{ command: "{command}" }}')
    text = replace_calls(text, "UNDO", lambda name: 'compensation: { run: shell, input: { command: '
                                                    f'"echo undo-{name} >> FOLDER/log" }} }}')
    give(t, way)
    for name in ("log", "fixed", "asked"):
        (t.folder / name).unlink(missing_ok=True)
    return t.write("matrix.yaml", text.replace("FOLDER", str(t.folder)))


def give(t, way):
    (t.folder / "given").write_text(json.dumps({"way": way}))


def fix(t):
    (t.folder / "fixed").touch()


def log(t):
    """What was written since it was last asked for."""
    path = t.folder / "log"
    words = path.read_text().split() if path.exists() else []
    path.unlink(missing_ok=True)
    return words


def run(t, path, *more, place=None):
    result = t.maestro("run", path, "--json", *more, *(place or store(t)))
    return result.code, [json.loads(line) for line in result.out.splitlines()]


def do(t, *words):
    result = t.maestro(*words, *store(t))
    t.equal(result.code, 0, f"{' '.join(words)}: {result.out}{result.err}")
    return result.out


def go_on(t):
    return t.maestro("resume", "last", "--until-waiting", *store(t)).code


def rows(t, sql):
    with sqlite3.connect(f"file:{t.folder}/store.db?mode=ro", uri=True) as db:
        return db.execute(sql.replace("THIS", "workflow_id = (select max(run_no) from maestro_workflows)")).fetchall()


def state(t):
    return rows(t, "select state from maestro_workflows order by run_no desc limit 1")[0][0]


def decisions(t):
    return rows(t, "select decision_type, retry_from_step_key from maestro_resolution_decisions where THIS order by created_at")


def sound(t):
    """What was written is what happened."""
    for words in (("store", "verify"), ("ledger", "verify"), ("replay", "last", "--verify")):
        do(t, *words)


def places(t):
    """Each kind of store that a command can be given."""
    for name, place in (("sqlite", store(t)), ("memory", ("--store", "memory:"))):
        with t.row(name):
            yield place


def ends(events):
    """The last event of the run itself."""
    return [e["event"] for e in events if e.get("event", "").startswith("run-")][-1]


def fail(t, **parts):
    """A run that has failed at its last step; what it did is forgotten."""
    code, _ = run(t, flow(t, **parts))
    t.equal((code, state(t)), (1, "FAILED"))
    t.equal(log(t)[-1], "last")


@case("proves: A-255 A-052 A-030")
def resolution_and_retry_from_a_step(t):
    for decision, more, done in (("retry", (), ["last"]), ("retry-from-step", ("--from", "left"), ["left", "join", "last"]),
                                 ("retry-from-step", ("--from", "last"), ["last"])):
        with t.row(f"{decision} {' '.join(more)}"):
            fail(t)
            fix(t)
            do(t, "resolve", "last", "--decision", decision, *more)
            t.equal(go_on(t), 0)
            t.equal((log(t), state(t)), (done, "SUCCEEDED"))
    made = rows(t, "select decision_type, retry_from_step_key from maestro_resolution_decisions order by workflow_id")
    t.equal(made[:2], [("RETRY", None), ("RETRY_FROM_STEP", "left.left")])
    t.equal(len(made), 3)
    sound(t)


@case("proves: A-256 A-003")
def resolution_and_compensation(t):
    fail(t)
    do(t, "resolve", "last", "--decision", "compensate")
    go_on(t)
    t.equal((log(t), state(t)), (["undo-join", "undo-left", "undo-start"], "COMPENSATED"))
    t.equal(decisions(t), [("COMPENSATE", None)])
    sound(t)
    for place in places(t):
        code, events = run(t, flow(t, head=COMPENSATES), place=place)
        t.equal((code, ends(events)), (1, "run-compensated"))
        t.equal(log(t), ["start", "left", "join", "last", "undo-join", "undo-left", "undo-start"])


@case("proves: A-257 A-054 A-055 A-056 A-059")
def retry_from_a_step_and_compensation(t):
    for mode, undone in (("retry-only", []), ("compensate-then-retry", ["undo-join"])):
        with t.row(mode):
            fail(t)
            fix(t)
            do(t, "retry-from", "last", "left", "--mode", mode)
            t.equal(go_on(t), 0)
            t.equal((log(t), state(t)), ([*undone, "left", "join", "last"], "SUCCEEDED"))
            t.equal(len(rows(t, "select 1 from maestro_compensation_runs where THIS")), len(undone), "compensations")
    sound(t)


@case("proves: A-258")
def retry_from_a_step_and_branches(t):
    for step, way, done in (("route", "b", ["left", "join", "last"]),        # its input is what it was: the same way, asked again
                            ("start", "b", ["start", "right", "join", "last"]), ("left", "b", ["left", "join", "last"])):
        with t.row(f"from {step}"):
            fail(t)
            fix(t)
            give(t, way)
            before = len(rows(t, "select 1 from maestro_branch_decisions where THIS"))
            do(t, "retry-from", "last", step)
            t.equal(go_on(t), 0)
            t.equal((log(t), state(t)), (done, "SUCCEEDED"))
            asked = len(rows(t, "select 1 from maestro_branch_decisions where THIS")) - before
            t.equal(asked, 0 if step == "left" else 1, "decisions of the branch")
            if step == "left":
                t.equal(rows(t, "select status, skip_reason, superseded_by_id from maestro_step_runs where THIS and step_key = 'right.right'"),
                        [("SKIPPED", "NOT_ON_ACTIVE_BRANCH", None)], "the arm that is not taken is not touched")
    refused = t.maestro("retry-from", "last", "right", *store(t))
    t.equal(refused.code, 1)
    sound(t)


@case("proves: A-259 A-163")
def retry_from_a_step_and_polls(t):
    fail(t, left=POLL, answer=ANSWER)
    old = rows(t, "select id, poll_attempt_count, poll_started_at from maestro_step_runs where THIS and step_key = 'left.left'")
    t.equal([row[1] for row in old], [2])
    fix(t)
    do(t, "retry-from", "last", "left")
    t.equal(go_on(t), 0)
    t.equal((log(t), state(t)), (["left", "left", "join", "last"], "SUCCEEDED"))
    both = rows(t, "select status, poll_attempt_count, retry_source, poll_started_at > ? from maestro_step_runs where THIS and "
                   "step_key = 'left.left' order by step_index".replace("?", f"'{old[0][2]}'"))
    t.equal(both, [("SUPERSEDED", 2, None, 0), ("SUCCEEDED", 2, "RETRY_FROM_STEP", 1)], "polls count and begin anew")
    per_run = rows(t, "select step_run_id, min(attempt_number), max(attempt_number) from maestro_poll_attempts group by 1")
    t.equal([row[1:] for row in per_run], [(1, 2), (1, 2)])
    sound(t)


@case("proves: A-260")
def retry_from_a_step_and_pauses(t):
    code, _ = run(t, flow(t, left=PAUSE), "--until-waiting")
    t.equal((code, log(t), state(t)), (WAITING, ["start", "left"], "PAUSED"))
    do(t, "trigger", "last", "go")
    t.equal(go_on(t), 1)
    t.equal((log(t), state(t)), (["join", "last"], "FAILED"))
    fix(t)
    do(t, "retry-from", "last", "start")
    t.equal(go_on(t), WAITING)
    t.equal((log(t), state(t)), (["start", "left"], "PAUSED"))
    t.equal(rows(t, "select awaiting_trigger_key from maestro_workflows"), [("go",)])
    do(t, "trigger", "last", "go")
    t.equal(go_on(t), 0)
    t.equal((log(t), state(t)), (["join", "last"], "SUCCEEDED"))
    sound(t)


@case("proves: A-261")
def compensation_and_branches(t):
    for way, arm in (("a", "left"), ("b", "right")):
        for place in places(t):
            code, events = run(t, flow(t, head=COMPENSATES, way=way), place=place)
            t.equal((code, ends(events)), (1, "run-compensated"))
            t.equal(log(t), ["start", arm, "join", "last", "undo-join", f"undo-{arm}", "undo-start"])
        t.equal(rows(t, "select step_key from maestro_compensation_runs where THIS order by step_key"),
                [("join.join",), (f"{arm}.{arm}",), ("start.start",)])


@case("proves: A-262 A-263")
def polls_within_branches_are_compensated_like_other_steps(t):
    for place in places(t):
        code, events = run(t, flow(t, head=COMPENSATES, left=POLL, answer=ANSWER), place=place)
        t.equal((code, ends(events)), (1, "run-compensated"))
        t.equal(log(t), ["start", "left", "left", "join", "last", "undo-join", "undo-left", "undo-start"])
        t.equal(len([e for e in events if e.get("event") == "poll-attempted"]), 2)
        # Of the arm that is not taken nothing is polled.
        code, events = run(t, flow(t, head=COMPENSATES, left=POLL, answer=ANSWER, way="b"), place=place)
        t.equal(log(t), ["start", "right", "join", "last", "undo-join", "undo-right", "undo-start"])
        t.equal(len([e for e in events if e.get("event") == "poll-attempted"]), 0)
    sound(t)


@case("proves: A-264")
def branches_and_pauses(t):
    for where, parts, before, after in (("within an arm", {"left": PAUSE}, ["start", "left"], ["join", "last"]),
                                        ("where arms come together", {"join": PAUSE}, ["start", "left", "join"], ["last"])):
        with t.row(where):
            path = flow(t, **parts)
            fix(t)
            t.equal((run(t, path, "--until-waiting")[0], log(t), state(t)), (WAITING, before, "PAUSED"))
            do(t, "approve", "last", "--reason", "fine")
            t.equal(go_on(t), 0)
            t.equal((log(t), state(t)), (after, "SUCCEEDED"))
    path = flow(t, left=PAUSE, way="b")
    fix(t)
    t.equal(run(t, path, "--until-waiting")[0], 0, "a pause of an arm that is not taken is not awaited")
    t.equal(log(t), ["start", "right", "join", "last"])
    sound(t)
    for place in places(t):
        for parts in ({"left": BY_ITSELF}, {"join": BY_ITSELF}):
            path = flow(t, **parts)
            fix(t)
            code, events = run(t, path, place=place)
            t.equal((code, log(t)), (0, ["start", "left", "join", "last"]))
            t.equal([e["event"] for e in events if e.get("event") in ("run-paused", "trigger-ended")], ["run-paused", "trigger-ended"])


@case("proves: A-265")
def polls_and_pauses(t):
    path = flow(t, left=POLL + PAUSE, answer=ANSWER)
    fix(t)
    t.equal((run(t, path, "--until-waiting")[0], log(t), state(t)), (WAITING, ["start", "left", "left"], "PAUSED"))
    t.equal(rows(t, "select status from maestro_step_runs where THIS and step_key = 'left.left'"), [("SUCCEEDED",)],
            "it pauses once the poll is complete, not between two")
    do(t, "trigger", "last", "go")
    t.equal(go_on(t), 0)
    t.equal((log(t), state(t)), (["join", "last"], "SUCCEEDED"))
    sound(t)
    for place in places(t):
        path = flow(t, left=POLL + BY_ITSELF, answer=ANSWER)
        fix(t)
        code, events = run(t, path, place=place)
        t.equal((code, log(t)), (0, ["start", "left", "left", "join", "last"]))
        order = [e["event"] for e in events if e.get("event") in ("poll-completed", "run-paused")]
        t.equal(order, ["poll-completed", "run-paused"])


@case("proves: A-266")
def what_has_nothing_to_do_with_one_another_behaves_as_if_alone(t):
    gives_up = "echo \\\\{\\\\\\\"complete\\\\\\\":false,\\\\\\\"continue\\\\\\\":false\\\\} > $MAESTRO_OUTPUT"
    stories = (
        ("resolution, a branch", {}, ["start", "left", "join", "last", "last"]),
        ("resolution, a failing arm", {"answer": "exit 65"}, ["start", "left", "left"]),
        ("resolution, a poll that gives up", {"left": POLL, "answer": gives_up}, ["start", "left", "left"]),
        ("resolution, a complete poll", {"left": POLL, "answer": ANSWER}, ["start", "left", "left", "join", "last", "last"]),
        ("resolution, a pause", {"left": BY_ITSELF}, ["start", "left", "join", "last", "last"]),
    )
    for name, parts, done in stories:
        for place in places(t):
            with t.row(f"{name}, {place[1][:6]}"):
                code, events = run(t, flow(t, head=RETRIES, **parts), place=place)
                t.equal((code, log(t)), (1, done))
                kinds = [e.get("event") for e in events]
                t.equal(kinds.count("poll-aborted"), 2 if parts.get("answer") == gives_up else 0, "polls that gave up")
                t.equal((kinds.count("auto-retry-scheduled"), kinds.count("auto-retry-exhausted"), ends(events)), (1, 1, "run-failed"))
    with t.row("compensation, a pause"):
        t.equal(run(t, flow(t, left=PAUSE), "--until-waiting")[0], WAITING)
        log(t)
        do(t, "compensate", "last")
        go_on(t)
        t.equal((log(t), state(t)), (["undo-left", "undo-start"], "COMPENSATED"), "what is paused is undone like what runs")
        late = t.maestro("trigger", "last", "go", *store(t))
        t.equal(late.code, 1, "its trigger comes too late")
        t.equal((log(t), state(t)), ([], "COMPENSATED"))
    with t.row("a pause that is denied"):
        t.equal(run(t, flow(t, left=PAUSE), "--until-waiting")[0], WAITING)
        do(t, "approve", "last", "--deny", "--reason", "no")
        t.equal((state(t), decisions(t)), ("FAILED", []), "it awaits a decision and makes none")
    with t.row("a poll that gives up"):
        t.equal(run(t, flow(t, left=POLL, answer=gives_up))[0], 1)
        t.equal((state(t), decisions(t)), ("FAILED", []))
    sound(t)


main()
