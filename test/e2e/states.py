#!/usr/bin/env python3
"""Every command in every state of a run: what it does, or a refusal that says the state, why, and what would work.

The table follows from the transitions of runs (M-3) and the rulings about cancelling (C-09), pausing and rolling back (C-11) and
stuck compensations (C-82), not from what the program says."""
import json

from maestro_test import case, main

# A step with a compensation, then one that works until `go`, or fails where `fail` is; the compensation likewise.
FLOW = """workflow: flow
jobs:
  flow:
    tasks:
      - { name: first, run: shell, input: { command: "true" },
          compensation: { run: shell, retries: { attempts: 1 }, input: { command: "%(undo)s" } } }
      - { name: work, run: shell, input: { command: "%(work)s" }%(more)s }
"""
HOLD = "echo begun; while ! [ -e %s/go ]; do sleep 0.05; done"
WORK = {"running": HOLD, "paused": HOLD, "waiting-signal": "true", "succeeded": "true", "cancelled": HOLD}
ASKS = "echo '{\\\"continue\\\": true}' > $MAESTRO_OUTPUT"
WORK |= {"polling": ASKS, "paused-for-poll": ASKS, "paused-for-trigger": "true"}
MORE = {"polling": ", poll: { interval: 1h, max_duration: 48h }",
        "paused-for-poll": ", poll: { interval: 1h, max_duration: 48h, max_attempts: 1, on_timeout: pause_workflow }",
        "paused-for-trigger": ", pause_after: { trigger: go, timeout: 1h, payload_schema: { type: object, required: [ok] } }"}
UNDO = {"compensating": HOLD, "compensation-failed": "exit 65"}

COMMANDS = {
    "pause": ("pause", "RUN"),
    "resume": ("resume", "RUN"),
    "cancel": ("cancel", "RUN"),
    "signal": ("signal", "RUN", "any"),
    "resolve": ("resolve", "RUN", "--decision", "mark-resolved"),
    "retry": ("resolve", "RUN", "--decision", "retry"),
    "retry-from": ("retry-from", "RUN", "first"),
    "compensate": ("compensate", "RUN"),
    "retry-compensation": ("retry-compensation", "RUN"),
    "skip-compensation": ("skip-compensation", "RUN"),
    "rebind": ("rebind", "RUN", "--region", "eu"),
}

# What each state permits. Everything else is refused.
PERMITTED = {
    "running": {"rebind", "pause", "cancel", "signal", "compensate"},
    "paused": {"rebind", "resume", "cancel", "signal", "compensate"},
    "polling": {"rebind", "pause", "cancel", "signal", "compensate"},
    "paused-for-poll": {"rebind", "resume", "cancel", "signal", "compensate"},
    "paused-for-trigger": {"rebind", "cancel", "signal", "compensate"},       # its trigger has to bring something
    "failed": {"rebind", "cancel", "resolve", "retry", "retry-from", "compensate"},
    "resolved": set(),
    "compensating": {"rebind", "cancel", "signal"},       # what is undone first and retried then goes on, and finds the signal
    "compensation-failed": {"rebind", "cancel", "retry-compensation", "skip-compensation"},
    "compensated": set(),
    "succeeded": set(),
    "cancelled": {"cancel"},                    # C-09: done already, and no mistake
}
STATE_NAMES = {"resolved": "failed", "polling": "running", "paused-for-poll": "paused", "paused-for-trigger": "paused"}
AFTER = {("running", "pause"): "paused", ("paused", "resume"): "running", ("failed", "cancel"): "cancelled",
         ("failed", "resolve"): "failed", ("failed", "retry"): "running", ("failed", "retry-from"): "running",
         ("failed", "compensate"): "compensating", ("running", "cancel"): "cancelled", ("paused", "cancel"): "cancelled",
         ("cancelled", "cancel"): "cancelled", ("polling", "pause"): "paused", ("polling", "cancel"): "cancelled",
         ("paused-for-poll", "resume"): "running", ("paused-for-poll", "cancel"): "cancelled",
         ("paused-for-trigger", "cancel"): "cancelled"}


def store(t):
    return ("--store", f"sqlite:{t.folder}/store-{getattr(t, 'store_count', 0)}.db")


def show(t, run_id):
    return t.maestro("show", run_id, "--json", *store(t)).json()


def listed(t):
    result = t.maestro("runs", "--json", *store(t))
    return [json.loads(line)["run"] for line in result.out.splitlines()] if result.code == 0 else []


def make(t, state):
    """A new run in that state; what carries it out, where that is needed, goes on."""
    work, undo = WORK.get(state, "exit 65"), UNDO.get(state, "true")
    path = t.write("flow.yaml", FLOW % {"work": work % t.folder if "%s" in work else work,
                                        "undo": undo % t.folder if "%s" in undo else undo, "more": MORE.get(state, "")})
    process = t.start("run", path, *store(t))
    t.until(lambda: listed(t), "the run is in the store")
    run_id = listed(t)[0]
    if state in ("running", "paused", "cancelled"):
        t.until(lambda: "begun" in t.maestro("logs", run_id, *store(t)).out, "its step runs")
    elif state in MORE:
        t.until(lambda: show(t, run_id)["state"] == STATE_NAMES[state], "the run waits")
    else:
        t.until(lambda: show(t, run_id)["state"] in ("failed", "succeeded"), "it has ended")
        t.end(process)
    for command in {"paused": ["pause"], "cancelled": ["cancel"], "resolved": ["resolve"]}.get(state, []):
        t.equal(give(t, command, run_id).code, 0, f"{command} on the way to {state}")
    if state in ("compensating", "compensation-failed", "compensated"):
        t.equal(give(t, "compensate", run_id).code, 0, "compensate")
        carrier = t.start("resume", run_id, *store(t))
        if state != "compensating":
            t.end(carrier)
    t.until(lambda: show(t, run_id)["state"] == STATE_NAMES.get(state, state), f"the run is {state}")
    if state == "polling":
        t.until(lambda: show(t, run_id)["steps"][-1]["state"] == "polling", "its step is polling")
    if state == "compensating":
        events = lambda: t.maestro("show", run_id, "--events", *store(t)).out
        t.until(lambda: any("compensation-step-started" in line and "name=processes" in line for line in events().splitlines()),
                "its compensation runs")
    return run_id


def give(t, command, run_id, *more):
    return t.maestro(*(run_id if word == "RUN" else word for word in COMMANDS[command]), *more, *store(t))


def leave(t):
    """Ends what carries out the run; the next one has a store of its own."""
    for process in t._processes:
        if process.poll() is None:
            process.kill()
            process.wait()
    t.store_count = getattr(t, "store_count", 0) + 1


def check_refused(t, command, run_id, state):
    before = show(t, run_id)
    result = give(t, command, run_id)
    t.equal((result.code, result.out), (1, ""), "exit code and result of what is refused")
    t.matches(result.err, rf"^maestro: the run is {STATE_NAMES.get(state, state)}\b", "the refusal says the state")
    t.matches(result.err, r"^maestro: the run is [a-z-]+: .+; .+", "the refusal says why, and what would work")
    after = show(t, run_id)
    t.equal((after["state"], after["eventCount"]), (before["state"], before["eventCount"]), "the run after a refusal")
    told = give(t, command, run_id, "--json")
    problem = json.loads(told.out)
    t.equal((told.code, problem["error"], problem["status"]), (1, "Conflict", 409), "the same for programs")
    t.contains(told.err, problem["detail"])


def check_permitted(t, command, run_id, state):
    before = show(t, run_id)["eventCount"]
    result = give(t, command, run_id)
    t.equal(result.code, 0, f"it is permitted: {result.err}")
    t.matches(result.out, rf"^run {run_id}: ", "one line tells what became of it")
    if (state, command) == ("cancelled", "cancel"):
        t.contains(result.out, "nothing to do")
        t.equal(show(t, run_id)["eventCount"], before, "events")
    else:
        t.true(show(t, run_id)["eventCount"] > before, "the ledger has it")
    if (state, command) in AFTER:
        t.contains(result.out, AFTER[state, command])


def walk(t, state):
    run_id = make(t, state)
    for command in COMMANDS:
        if command in PERMITTED[state]:
            continue
        with t.row(f"{state}: {command}"):
            check_refused(t, command, run_id, state)
    for looking in (("show", run_id), ("inspect", run_id), ("logs", run_id), ("show", run_id, "--events")):
        with t.row(f"{state}: {looking[0]}"):
            t.equal(t.maestro(*looking, *store(t)).code, 0, "looking is permitted always")
    for command in sorted(PERMITTED[state]):
        with t.row(f"{state}: {command}"):
            check_permitted(t, command, run_id, state)
        leave(t)
        if command != max(PERMITTED[state]):
            run_id = make(t, state)


@case("proves: A-040")
def a_running_run(t):
    walk(t, "running")


@case()
def a_paused_run(t):
    walk(t, "paused")


@case("proves: A-164")
def a_run_whose_step_is_polling(t):
    walk(t, "polling")


@case("proves: A-150")
def a_run_that_is_paused_for_a_poll(t):
    walk(t, "paused-for-poll")


@case("proves: A-187")
def a_run_that_is_paused_for_a_trigger(t):
    walk(t, "paused-for-trigger")
    with t.row("its trigger"):
        run_id = make(t, "paused-for-trigger")
        refused = t.maestro("trigger", run_id, "go", "--payload", "{}", *store(t))
        t.equal((refused.code, show(t, run_id)["state"]), (65, "paused"))
        done = t.maestro("trigger", run_id, "go", "--payload", '{"ok": 1}', *store(t))
        t.equal(done.code, 0, done.err)


@case("proves: A-040 A-057")
def a_run_that_failed_and_waits_for_a_decision(t):
    walk(t, "failed")


@case("proves: A-033")
def a_run_that_is_resolved(t):
    walk(t, "resolved")


@case()
def a_run_that_is_being_compensated(t):
    walk(t, "compensating")


@case("proves: C-82")
def a_run_whose_compensation_failed(t):
    walk(t, "compensation-failed")


@case()
def a_run_that_is_compensated(t):
    walk(t, "compensated")


@case("proves: A-057")
def a_run_that_succeeded(t):
    walk(t, "succeeded")


@case("proves: A-032 F-083")
def a_run_that_was_cancelled(t):
    walk(t, "cancelled")


@case()
def a_run_that_was_archived(t):
    run_id = make(t, "succeeded")
    archived = t.maestro("store", "archive", "--before", "2200-01-01", "--to", t.folder / "runs.archive", *store(t))
    t.require(archived.code == 0, f"it is archived: {archived.err}")
    t.contains(t.maestro("show", run_id, *store(t)).out, "archived")
    for command in ("inspect", "logs"):
        with t.row(command):
            result = t.maestro(command, run_id, *store(t))
            t.equal((result.code, result.out), (69, ""))
            t.contains(result.err, "runs.archive")
    for command in COMMANDS:
        with t.row(command):
            result = give(t, command, run_id)
            t.true(result.code in (1, 69), f"it is refused, not {result.code}")
            t.matches(result.err, r"succeeded|archive")
            t.equal(result.out, "", "the result")


@case()
def a_run_that_does_not_exist(t):
    make(t, "succeeded")
    for command in (*COMMANDS, "show", "inspect", "logs", "watch"):
        with t.row(command):
            words = COMMANDS.get(command, (command, "RUN"))
            for more in ((), ("--json",)):
                result = t.maestro(*("nope" if word == "RUN" else word for word in words), *more, *store(t))
                t.equal(result.code, 69)
                t.contains(result.err, "'maestro runs' lists them")
                t.equal(json.loads(result.out)["error"] if more else result.out, "NotFound" if more else "", "the result")


main()
