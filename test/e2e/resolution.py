#!/usr/bin/env python3
"""What becomes of runs that fail: resolve, retry-from, compensate, retry-compensation, skip-compensation, and strategies."""
import json
import os
import pty
import re
import signal
import sqlite3

from maestro_test import MAESTRO, case, main

# Three steps that can be undone and write into the file `log` what they do, then one that fails until the file `fixed` is there.
ORDER = """workflow: order
%(head)s
jobs:
  order:
    tasks:
      - { name: reserve, run: shell, input: { command: "echo reserve >> %(folder)s/log; printf '{\\"shelf\\": 7}' > $MAESTRO_OUTPUT" },
          compensation: { run: shell, input: { command: "echo undo-reserve $MAESTRO_IDEMPOTENCY_KEY >> %(folder)s/log; printf '%%s' \\"$MAESTRO_CONTEXT\\" > %(folder)s/context" } } }
      - { name: charge, run: shell, input: { command: "echo charge >> %(folder)s/log" },
          compensation: { run: shell, input: { command: "%(undo)s" }, retries: { attempts: 2, delay: 10ms, jitter_ms: 0 } } }
      - { name: ship, run: shell, input: { command: "echo ship >> %(folder)s/log; test -e %(folder)s/fixed || exit 65" } }
      - { name: mail, run: shell, input: { command: "echo mail >> %(folder)s/log" } }
"""
UNDO = "echo undo-charge >> %(folder)s/log"


def store(t):
    return ("--store", f"sqlite:{t.folder}/store.db")


def order(t, head="description: an order", undo=UNDO):
    folder = {"folder": t.folder}
    return t.write("order.yaml", ORDER % {"folder": t.folder, "head": head, "undo": (undo % folder).replace('"', '\\"')})


def show(t, run="last"):
    return t.maestro("show", run, "--json", *store(t)).json()


def log(t):
    path = t.folder / "log"
    return [line.split()[0] for line in path.read_text().splitlines()] if path.exists() else []


def rows(t, sql):
    with sqlite3.connect(f"file:{t.folder}/store.db?mode=ro", uri=True) as db:
        return db.execute(sql).fetchall()


def go_on(t):
    """Carries the run on where nobody owns the store."""
    return t.maestro("resume", "last", *store(t))


@case("proves: A-014 A-029 A-034 A-035 A-040 A-041 A-044 A-013 A-064 A-065 A-236 C-07")
def a_failed_run_is_retried_from_what_failed(t):
    result = t.maestro("run", order(t), *store(t))
    t.equal(result.code, 1)
    t.contains(result.out + result.err, "maestro resolve", "what to type next")
    t.equal(log(t), ["reserve", "charge", "ship"])
    t.equal(show(t)["state"], "failed")
    choices = t.maestro("resolve", "last", *store(t))
    t.contains(choices.out, "--decision retry")
    (t.folder / "fixed").touch()
    decided = t.maestro("resolve", "last", "--decision", "retry", "--reason", "the truck is back", *store(t))
    t.equal(decided.code, 0, decided.err)
    t.contains(decided.out, "failed -> running")
    t.equal(go_on(t).code, 0)
    t.equal(log(t), ["reserve", "charge", "ship", "ship", "mail"])
    t.equal(show(t)["state"], "succeeded")
    made = rows(t, "select decision_type, reason, decided_by like 'user:%', compensate_step_keys from maestro_resolution_decisions")
    t.equal(made, [("RETRY", "the truck is back", 1, None)])
    steps = rows(t, "select step_key, status, retry_source, superseded_by_id is not null from maestro_step_runs order by step_index")
    t.true(("order.ship", "SUPERSEDED", None, 1) in steps, steps)
    t.true(("order.ship", "SUCCEEDED", "FAILED_RETRY", 0) in steps, steps)
    run = rows(t, "select error_message, resolution from maestro_workflows")
    t.equal(run, [(None, None)])
    again = t.maestro("resolve", "last", "--decision", "retry", *store(t))
    t.equal(again.code, 1)
    t.contains(again.err, "succeeded")
    t.equal(len(rows(t, "select 1 from maestro_resolution_decisions")), 1, "decisions")


@case("proves: A-031 A-074 A-080 A-084 A-092 A-096 A-097 A-104 F-078 F-090 F-067 F-131")
def a_failed_run_is_compensated_newest_first(t):
    t.equal(t.maestro("run", order(t), *store(t)).code, 1)
    decided = t.maestro("compensate", "last", "--reason", "wrong customer", *store(t))
    t.equal(decided.code, 0, decided.err)
    t.equal(show(t)["state"], "compensating")
    go_on(t)
    t.equal(log(t), ["reserve", "charge", "ship", "undo-charge", "undo-reserve"])
    t.equal(show(t)["state"], "compensated")
    found = rows(t, "select step_key, compensation_job_class, status, attempt, max_attempts from maestro_compensation_runs order by step_key")
    t.equal(found, [("order.charge", "shell", "SUCCEEDED", 1, 2), ("order.reserve", "shell", "SUCCEEDED", 1, 3)])
    about = json.loads((t.folder / "context").read_text())["compensation"]
    t.equal((about["step"], about["output"], about["attempt"]), ("order.reserve", {"shelf": 7}, 1))
    key = (t.folder / "log").read_text().splitlines()[-1].split()[1]
    t.equal(key, show(t)["run"] + "/order.reserve/compensation", "the key of what undoes it")
    t.equal(rows(t, "select state, compensation_started_at is null, compensated_at is null from maestro_workflows"), [("COMPENSATED", 0, 0)])
    verified = t.maestro("ledger", "verify", *store(t))
    t.equal(verified.code, 0, verified.out + verified.err)


@case("proves: A-017 A-019 A-081 F-153")
def a_strategy_compensates_without_being_asked(t):
    result = t.maestro("run", order(t, "failure_resolution: { strategy: auto_compensate }"), *store(t))
    t.equal(result.code, 1)
    t.equal(log(t), ["reserve", "charge", "ship", "undo-charge", "undo-reserve"])
    t.equal(show(t)["state"], "compensated")
    t.equal(rows(t, "select decision_type, decided_by from maestro_resolution_decisions"), [("COMPENSATE", "AUTO_COMPENSATE")])


@case("proves: A-001")
def a_definition_says_how_its_failures_are_handled(t):
    ways = (("await_decision", "failed", "AWAITING_DECISION", 1), ("auto_retry, max_retries: 1, retry_delay: 10ms", "failed", "AWAITING_DECISION", 2),
            ("auto_compensate", "compensated", None, 1))
    for strategy, state, resolution, count in ways:
        with t.row(strategy):
            (t.folder / "log").unlink(missing_ok=True)
            path = order(t, "failure_resolution: { strategy: %s }" % strategy)
            t.equal(t.maestro("run", path, "--again", "--allow-incompatible", *store(t)).code, 1)
            shown = show(t)
            t.equal((shown["state"], shown.get("resolution"), log(t).count("ship")), (state, resolution, count))


@case("proves: F-167")
def a_definition_names_what_is_compensated(t):
    t.equal(t.maestro("run", order(t, "on_failure: { compensate: [reserve] }"), *store(t)).code, 1)
    t.equal(log(t), ["reserve", "charge", "ship", "undo-reserve"])


@case("proves: A-015 A-016 A-022 A-027 A-219")
def a_strategy_retries_and_then_waits_for_a_person(t):
    head = "failure_resolution: { strategy: auto_retry, max_retries: 2, retry_delay: 100ms }"
    t.equal(t.maestro("run", order(t, head), *store(t)).code, 1)
    t.equal(log(t), ["reserve", "charge", "ship", "ship", "ship"])
    t.equal(rows(t, "select state, resolution, auto_retry_count, auto_retry_at from maestro_workflows"),
            [("FAILED", "AWAITING_DECISION", 2, None)])
    t.equal([row[0] for row in rows(t, "select retry_source from maestro_step_runs where step_key = 'order.ship' order by step_index")],
            [None, "AUTO_RETRY", "AUTO_RETRY"])


@case("proves: A-091 A-095 A-105 A-106 C-82")
def a_compensation_that_fails_is_retried_or_skipped(t):
    undo = "test -e %(folder)s/bank && echo undo-charge >> %(folder)s/log"
    t.equal(t.maestro("run", order(t, "failure_resolution: { strategy: auto_compensate }", undo), *store(t)).code, 1)
    t.equal(show(t)["state"], "compensation-failed")
    t.equal(log(t), ["reserve", "charge", "ship"])
    t.equal(t.maestro("skip-compensation", "last", "reserve", *store(t)).code, 1)
    t.equal(t.maestro("retry-compensation", "last", *store(t)).code, 0)
    go_on(t)
    t.equal(show(t)["state"], "compensation-failed")
    t.equal(rows(t, "select attempt, max_attempts from maestro_compensation_runs where step_key = 'order.charge'"), [(4, 4)])
    t.equal(t.maestro("skip-compensation", "last", "charge", "--reason", "refunded by hand", *store(t)).code, 0)
    go_on(t)
    t.equal(show(t)["state"], "compensated")
    t.equal(log(t), ["reserve", "charge", "ship", "undo-reserve"])
    t.equal(rows(t, "select status from maestro_compensation_runs where step_key = 'order.charge'"), [("SKIPPED",)])


@case("proves: A-010")
def show_tells_what_was_decided_and_what_is_undone(t):
    undo = "printf 'the bank\\nis closed' >&2; exit 3"
    t.equal(t.maestro("run", order(t, undo=undo), *store(t)).code, 1)
    failed = t.maestro("show", "last", *store(t)).out
    t.matches(failed, r"maestro resolve \S+")
    t.equal(t.maestro("retry-from", "last", "charge", "--reason", "once more", *store(t)).code, 0)
    go_on(t)
    t.equal(t.maestro("compensate", "last", "--reason", "wrong customer", *store(t)).code, 0)
    stuck = go_on(t)
    t.contains(stuck.out + stuck.err, "why: the compensation of step 'order.charge' failed after 2 of 2 attempts")
    text = t.maestro("show", "last", *store(t)).out
    t.matches(text, r"^steps +4 begun or skipped, of 4; 3 superseded; ")
    t.matches(text, r"order\.charge +superseded +1 .* by 4$")
    t.matches(text, r"RETRY_FROM_STEP +order\.charge +\S+ +once more")
    t.matches(text, r"COMPENSATE +\S+ +wrong customer")
    t.matches(text, r"order\.charge +shell +FAILED +2 of 2 .*the bank is closed")
    t.matches(text, r"order\.reserve +shell +PENDING +0 of ")
    t.true(text.index("order.charge   shell") < text.index("order.reserve  shell"), "in the order in which they are undone")
    t.matches(text, r"next: maestro retry-compensation \S+")
    run = show(t)
    t.equal([(d["decision"], d["reason"], d.get("fromStep")) for d in run["decisions"]],
            [("RETRY_FROM_STEP", "once more", "order.charge"), ("COMPENSATE", "wrong customer", None)])
    t.equal([(c["step"], c["state"], c["attempts"]) for c in run["compensations"]],
            [("order.charge", "FAILED", 2), ("order.reserve", "PENDING", 0)])
    steps = [(step["step"], step.get("supersededBy"), step.get("retrySource")) for step in run["steps"]]
    t.true(("order.charge", 4, None) in steps and ("order.charge", None, "RETRY_FROM_STEP") in steps, steps)
    for verb in ("pause", "resume", "resolve"):
        with t.row(verb):
            refused = t.maestro(verb, "last", *store(t))
            t.equal(refused.code, 1)
            t.contains(refused.err, "use retry-compensation or skip-compensation")


@case("proves: A-010 A-027")
def show_tells_what_became_of_each_step_and_when_it_is_retried_by_itself(t):
    t.equal(t.maestro("run", order(t), *store(t)).code, 1)
    t.equal(t.maestro("resolve", "last", "--decision", "retry", *store(t)).code, 0)
    go_on(t)
    text = t.maestro("show", "last", *store(t)).out
    t.matches(text, r"order\.ship +superseded +1 .* by 4; exit code 65")
    t.matches(text, r"order\.mail +superseded +0 +by 5; PREDECESSOR_FAILED")
    t.matches(t.maestro("runs", *store(t)).out, r"order +failed .* 4/4")
    t.equal(t.maestro("runs", "--json", *store(t)).json()["steps"], {"done": 4, "total": 4})
    path = order(t, "failure_resolution: { strategy: auto_retry, max_retries: 3, retry_delay: 1h }")
    process = t.start("run", path, "--again", "--allow-incompatible", *store(t))
    t.until(lambda: show(t).get("autoRetryAt"), "its retry is scheduled")
    process.send_signal(signal.SIGKILL)
    process.wait()
    text, at = t.maestro("show", "last", *store(t)).out, show(t)["autoRetryAt"]
    t.contains(text, f"retried     {at}, by itself: number 1 of 3")
    t.matches(text, r"maestro resolve \S+ --store \S+ +retry it, compensate it, or close it")
    t.equal(t.maestro("resolve", "last", "--decision", "mark-resolved", "--reason", "known", *store(t)).code, 0)
    t.lacks(t.maestro("show", "last", *store(t)).out, "retried  ")


@case("proves: F-128 F-130 A-010")
def show_tells_who_paused_and_who_cancelled_a_run_and_why(t):
    path = t.write("naps.yaml", "workflow: naps\njobs: { a: { tasks: [{ run: sleep, input: { duration: 1h } }, { log: done }] } }\n")
    t.start("run", path, *store(t))
    t.until(lambda: t.maestro("show", "last", *store(t)).code == 0 and show(t)["steps"], "it runs")
    for verb, label, member in (("pause", "paused", "paused"), ("cancel", "cancelled", "cancelled")):
        with t.row(verb):
            t.equal(t.maestro(verb, "last", "--reason", f"why {verb}", *store(t)).code, 0)
            t.matches(t.maestro("show", "last", *store(t)).out, rf"{label} +by user:\S+, \S+ \S+ UTC: why {verb}")
            shown = show(t)
            t.true(shown[member + "By"].startswith("user:"), shown)
            t.equal(shown[member + "Because"], f"why {verb}")


@case("proves: A-183")
def what_show_says_to_type_next_is_about_the_same_store(t):
    path = t.write("asks.yaml", "workflow: asks\njobs: { a: { tasks: [{ log: asked, pause_after: { trigger: ok, timeout: 1h } }] } }\n")
    t.equal(t.maestro("run", path, "--until-waiting", *store(t)).code, 75)
    text = t.maestro("show", "last", *store(t)).out
    for verb, more in (("approve", ""), ("trigger", " ok --payload JSON")):
        t.matches(text, rf"maestro {verb} \S{{21}}{more} --store sqlite:{t.folder}/store.db")


@case("proves: A-047 A-053 A-054 A-056 A-070")
def a_run_is_retried_from_a_step_after_what_follows_is_undone(t):
    t.equal(t.maestro("run", order(t), *store(t)).code, 1)
    shown = t.maestro("retry-from", "last", "reserve", "--mode", "compensate-then-retry", "--dry-run", *store(t))
    t.equal(shown.code, 0, shown.err)
    t.equal(shown.out.splitlines(), ["compensate order.charge", "run anew   order.reserve", "run anew   order.charge", "run anew   order.ship",
                                     "run anew   order.mail"])
    for more in ((), ("--dry-run",)):
        with t.row(more):
            refused = t.maestro("retry-from", "last", "mail", *more, *store(t))
            t.equal((refused.code, refused.out), (1, ""))
            t.contains(refused.err, "step 'order.mail' was not completed: it is skipped")
    (t.folder / "fixed").touch()
    t.equal(t.maestro("retry-from", "last", "reserve", "--mode", "compensate-then-retry", *store(t)).code, 0)
    t.equal(go_on(t).code, 0)
    t.equal(log(t), ["reserve", "charge", "ship", "undo-charge", "reserve", "charge", "ship", "mail"])
    t.equal(rows(t, "select decision_type, retry_from_step_key from maestro_resolution_decisions"), [("RETRY_FROM_STEP", "order.reserve")])


@case("")
def an_option_that_a_decision_does_not_take_is_refused_and_nothing_is_done(t):
    t.equal(t.maestro("run", order(t), *store(t)).code, 1)
    rows_of = (("retry", "--step", "reserve"), ("retry", "--mode", "compensate-then-retry"), ("retry", "--unknown-effects", "leave"),
               ("cancel", "--from", "reserve"), ("cancel", "--scope", "full"), ("mark-resolved", "--include-step"),
               ("compensate", "--mode", "retry-only"), ("retry-from-step", "--step", "reserve"), ("retry-from-step", "--scope", "full"))
    for decision, option, *value in rows_of:
        for more in ((), ("--dry-run",)):
            with t.row(f"{decision} {option} {' '.join(more)}"):
                refused = t.maestro("resolve", "last", "--decision", decision, option, *value, *more, *store(t))
                t.equal((refused.code, refused.out), (2, ""))
                t.contains(refused.err, option)
    for args in (("retry-from", "last", "reserve", "--include-step"), ("cancel", "last", "--compensate", "--no-compensate"),
                 ("resolve", "--where", "workflow=order", "--decision", "retry", "--from", "reserve")):
        with t.row(" ".join(args)):
            t.equal(t.maestro(*args, *store(t)).code, 2)
    t.equal((show(t)["state"], rows(t, "select count(*) from maestro_resolution_decisions")), ("failed", [(0,)]))


@case("proves: A-032 A-033 C-10")
def a_failed_run_is_closed_for_good(t):
    for decision, state in (("cancel", "cancelled"), ("mark-resolved", "failed")):
        with t.row(decision):
            t.equal(t.maestro("run", order(t), "--again", *store(t)).code, 1)
            t.equal(t.maestro("resolve", "last", "--decision", decision, "--reason", "known", *store(t)).code, 0)
            t.equal(show(t)["state"], state)
            t.equal(t.maestro("resolve", "last", "--decision", "retry", *store(t)).code, 1)
            t.equal(t.maestro("compensate", "last", *store(t)).code, 1)
    t.true("undo-charge" not in log(t), "something was undone")


@case("proves: F-068 F-002 A-089")
def a_kill_in_the_middle_of_a_compensation_undoes_nothing_twice(t):
    undo = "echo undo-charge-begins >> %(folder)s/log; while ! [ -e %(folder)s/bank ]; do sleep 0.05; done; echo undo-charge >> %(folder)s/log"
    path = order(t, "failure_resolution: { strategy: auto_compensate }", undo)
    process = t.start("run", path, *store(t))
    t.until(lambda: "undo-charge-begins" in log(t), "the compensation is under way")
    process.send_signal(signal.SIGKILL)
    process.wait()
    t.equal(show(t)["state"], "compensating")
    (t.folder / "bank").touch()
    go_on(t)
    t.equal(show(t)["state"], "compensated")
    done = log(t)
    t.equal([word for word in done if word != "undo-charge-begins"], ["reserve", "charge", "ship", "undo-charge", "undo-reserve"])
    t.equal(rows(t, "select attempt from maestro_compensation_runs where step_key = 'order.charge'"), [(1,)])
    t.equal(t.maestro("replay", "last", "--verify", *store(t)).code, 0)


@case("proves: A-012 A-027 F-002")
def a_scheduled_retry_outlives_the_process(t):
    head = "failure_resolution: { strategy: auto_retry, max_retries: 1000, retry_delay: 1s }"
    process = t.start("run", order(t, head), *store(t))
    t.until(lambda: "ship" in log(t) and show(t)["state"] == "failed", "the retry is scheduled")
    process.send_signal(signal.SIGKILL)
    process.wait()
    (t.folder / "fixed").touch()
    t.equal(go_on(t).code, 0)
    t.equal(show(t)["state"], "succeeded")
    t.equal([word for word in log(t) if word != "ship"], ["reserve", "charge", "mail"])


@case("proves: A-024 A-083 C-09 C-10 F-083")
def cancelling_compensates_where_it_is_asked_for(t):
    held = """workflow: held
jobs:
  held:
    tasks:
      - { name: first, run: shell, input: { command: "echo first >> %(folder)s/log" },
          compensation: { run: shell, input: { command: "echo undo-first >> %(folder)s/log" } } }
      - { name: second, run: shell, input: { command: "echo second >> %(folder)s/log; while :; do sleep 0.05; done" } }
""" % {"folder": t.folder}
    process = t.start("run", t.write("held.yaml", held), *store(t))
    t.until(lambda: "second" in log(t), "the second step is under way")
    cancelled = t.maestro("cancel", "last", "--compensate", *store(t))
    t.equal(cancelled.code, 0, cancelled.err)
    t.end(process)
    t.equal(log(t), ["first", "second", "undo-first"])
    t.equal(show(t)["state"], "compensated")
    t.equal(rows(t, "select status from workflow_executions"), [("CANCELLED",)])


def talk(t, words, answers):
    """The command on a terminal of its own, answered question by question; gives what was seen, and the exit code."""
    child, terminal = pty.fork()
    if child == 0:
        os.execve(str(MAESTRO), ["maestro", *map(str, words), *store(t)], {**os.environ, "TERM": "xterm", "COLUMNS": "80"})
    seen, answers, answered = "", list(answers), 0
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:                 # how a terminal says that the other end is closed
            break
        if not data:
            break
        seen += data.decode("utf-8", "replace").replace("\r", "")
        if answers and re.search(r"(\): |\] )$", seen[answered:]):
            os.write(terminal, answers.pop(0).encode() + b"\n")
            answered = len(seen)
    os.close(terminal)
    t.equal(answers, [], "answers that were not asked for")
    return seen, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@case("proves: A-041 A-030")
def a_terminal_is_asked_for_the_decision(t):
    t.equal(t.maestro("run", order(t), *store(t)).code, 1)
    count = show(t)["eventCount"]
    seen, code = talk(t, ["resolve", "last"], ["q"])
    t.equal(code, 1)
    for part in ("is failed at step order.ship: exit code 65", "1  retry ", "runs anew order.ship, order.mail",
                 "undoes, in this order, order.charge, order.reserve", "nothing was changed"):
        t.contains(seen, part)
    seen, code = talk(t, ["resolve", "last"], ["nine", "3", "why not", "n"])
    t.equal((code, show(t)["eventCount"]), (1, count), "what was not confirmed is not done")
    t.contains(seen, "a number from 1 to 5")
    (t.folder / "fixed").touch()
    seen, code = talk(t, ["resolve", "last"], ["retry from a step", "order.reserve", "wrong shelf", "y"])
    t.equal(code, 0, seen)
    t.contains(seen, "runs anew order.reserve, order.charge, order.ship, order.mail. Do it?")
    t.contains(seen, "failed -> running")
    made = rows(t, "select decision_type, reason, retry_from_step_key from maestro_resolution_decisions")
    t.equal(made, [("RETRY_FROM_STEP", "wrong shelf", "order.reserve")])
    t.equal(go_on(t).code, 0)


@case("proves: A-041")
def where_nobody_can_be_asked_the_options_are_told(t):
    t.equal(t.maestro("run", order(t), *store(t)).code, 1)
    result = t.maestro("resolve", "last", *store(t))
    t.equal(result.code, 2)
    for part in ("exit code 65", "--decision retry ", "--decision retry-from-step --from STEP", "--decision compensate",
                 "--decision cancel", "--decision mark-resolved", "undoes, in this order, order.charge, order.reserve"):
        t.contains(result.out, part)
    t.contains(result.err, "--decision")
    t.equal(t.maestro("resolve", "last", "--dry-run", *store(t)).code, 0)
    which = t.maestro("retry-from", "last", *store(t))
    t.equal(which.code, 2)
    t.contains(which.err, "order.reserve, order.charge, order.ship")
    t.equal(t.maestro("resolve", *store(t)).code, 2, "neither a run nor --where")


@case("proves: A-070")
def a_terminal_is_asked_for_the_step(t):
    t.equal(t.maestro("run", order(t), *store(t)).code, 1)
    seen, code = talk(t, ["retry-from", "last"], ["2"])
    t.equal(code, 0, seen)
    t.contains(seen, "2  order.charge  succeeded")
    t.equal(rows(t, "select retry_from_step_key from maestro_resolution_decisions"), [("order.charge",)])


@case("proves: A-035")
def many_runs_are_decided_on_at_once_each_by_itself(t):
    path = order(t)
    for _ in range(3):
        t.equal(t.maestro("run", path, "-q", *store(t)).code, 1)
    t.equal(t.maestro("resolve", "last", "--decision", "mark-resolved", *store(t)).code, 0)
    where = ("--where", "workflow=order state=failed since=1h step=order.ship", "--decision", "cancel")
    events = rows(t, "select sum(event_count) from maestro_workflows")
    dry = t.maestro("resolve", *where, "--dry-run", *store(t))
    t.equal(dry.code, 1, "one of them would be refused")
    t.equal((dry.out.count("would be decided: cancel"), dry.out.count("would be refused")), (2, 1))
    t.contains(dry.err, "3 runs: 2 would be decided, 1 would be refused")
    t.equal(rows(t, "select sum(event_count) from maestro_workflows"), events, "events after a dry run")
    for decision, part in ((("retry-from-step", "--from", "mail"), "would be refused: step 'order.mail' was not completed"),
                           (("retry-from-step", "--from", "nope"), "would be refused: the run has no step 'nope'"),
                           (("compensate", "--step", "ship"), "would be refused: the run is failed: there is nothing to compensate")):
        with t.row(decision):
            refused = t.maestro("resolve", *where[:2], "--decision", *decision, "--dry-run", *store(t))
            t.equal(refused.code, 1)
            t.contains(refused.out, part)
    done = t.maestro("resolve", *where, "--reason", "flood", "--id", "flood-1", *store(t))
    t.equal(done.code, 1)
    t.equal((done.out.count("failed -> cancelled"), done.out.count("refused: the run is failed: it is resolved")), (2, 1))
    t.contains(done.err, "3 runs: 2 decided, 1 refused")
    t.equal(rows(t, "select count(*) from maestro_resolution_decisions where decision_type = 'CANCEL' and reason = 'flood'"), [(2,)])
    t.equal(rows(t, "select count(*) from maestro_workflows where state = 'CANCELLED'"), [(2,)])
    again = t.maestro("resolve", "--where", "workflow=order state=cancelled", "--decision", "cancel", "--json", *store(t))
    lines = [json.loads(line) for line in again.out.splitlines()]
    t.equal((again.code, lines[-1]["summary"]["refused"], [line["refused"] for line in lines[:-1]]), (1, 2, [True, True]))
    none = t.maestro("resolve", "--where", "workflow=nothing", "--decision", "retry", *store(t))
    t.equal((none.code, none.out), (0, ""))
    t.contains(none.err, "no run fits")


@case()
def a_wrong_filter_is_refused_with_its_place(t):
    t.equal(t.maestro("run", order(t), "-q", *store(t)).code, 1)
    for where, part in (("workflow=order stat=failed", "column 16: there is no field 'stat'; did you mean 'state'?"),
                        ("state=asleep", "column 7: there is no state 'asleep'"), ("workflow", "column 1: '=' and a value are missing"),
                        ("workflow=", "column 10: a value is missing"), ('workflow="order', "column 10: this quotation does not end"),
                        ('workflow="order"x', "column 17: a space is missing"), ("since=soon", "column 7: since takes"),
                        ("state=failed state=failed", "column 14: this is given twice"), ("", "nothing is chosen")):
        with t.row(where):
            result = t.maestro("resolve", "--where", where, "--decision", "retry", *store(t))
            t.equal((result.code, result.out), (2, ""))
            t.contains(result.err, part)
    lacking = t.maestro("resolve", "--where", "workflow=order", *store(t))
    t.equal(lacking.code, 2)
    t.contains(lacking.err, "--decision")
    t.equal(t.maestro("resolve", "last", "--where", "workflow=order", "--decision", "retry", *store(t)).code, 2, "both ways")
    t.equal(show(t)["state"], "failed")


main()
