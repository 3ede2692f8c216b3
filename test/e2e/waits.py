#!/usr/bin/env python3
"""Runs that wait: steps that are polled, pauses for triggers, early ends, reactions to signals, and the sweeps that act on time.

Everything goes through the command line and the runner `shell`. Intervals are short, and no duration is asserted."""
import json
import signal
import sqlite3

from maestro_test import case, main

# A step that is polled by poll.sh, then one that shows what came out of it.
POLLED = """workflow: polled
jobs:
  wait:
    tasks:
      - { name: check, run: shell, input: { command: "sh FOLDER/poll.sh" }, POLL }
      - { name: then, run: shell, input: { command: "echo after >> FOLDER/done" } }
"""
POLL = "poll: { interval: 50ms, max_duration: 1h, max_attempts: 50 }"
# Counts its calls; complete with the third one.
THIRD = """n=$(($(cat FOLDER/count 2>/dev/null || echo 0) + 1))
echo $n > FOLDER/count
if [ $n -ge 3 ]; then printf '{"complete": true, "output": {"n": %d}}' $n; else echo '{"continue": true}'; fi > "$MAESTRO_OUTPUT"
"""
NEVER = """echo call >> FOLDER/calls; echo '{"continue": true, "output": {"seen": 1}}' > "$MAESTRO_OUTPUT"\n"""

# A step behind which the run pauses, then one that is given what the trigger brought.
PAUSED = """workflow: paused
jobs:
  ask:
    tasks:
      - { name: request, run: shell, input: { command: "echo request >> FOLDER/done" }, pause_after: { PAUSE } }
      - { name: then, run: shell, input: { command: "echo after >> FOLDER/done", got: "${outputs[\\"go\\"]}" } }
"""
SCHEMA = ("trigger: go, timeout: 1h, payload_schema: { type: object, required: [approved], properties: "
          "{ approved: { type: boolean } } }")


def store(t):
    return ("--store", f"sqlite:{t.folder}/store.db")


def write(t, text, name="flow.yaml", **parts):
    for key, value in parts.items():
        text = text.replace(key, value)
    return t.write(name, text.replace("FOLDER", str(t.folder)))


def ids(t):
    if not (t.folder / "store.db").exists():
        return []
    listed = t.maestro("runs", "--json", *store(t))
    return [json.loads(line)["run"] for line in listed.out.splitlines()] if listed.code == 0 else []


def start(t, path):
    """A `maestro run` in the background, once its run is in the store."""
    before = ids(t)
    process = t.start("run", path, *store(t))
    t.until(lambda: len(ids(t)) > len(before), "the run is in the store")
    return process, ids(t)[0]


def show(t, run="last"):
    return t.maestro("show", run, "--json", *store(t)).json()


def step(t, name, run="last"):
    return next((s for s in reversed(show(t, run)["steps"]) if s["step"].endswith(name)), None)


def events(t, run="last"):
    return [json.loads(line) for line in t.maestro("show", run, "--events", "--json", *store(t)).out.splitlines()]


def names(t, run="last"):
    return [event["event"] for event in events(t, run)]


def rows(t, sql):
    with sqlite3.connect(t.folder / "store.db") as db:
        return db.execute(sql).fetchall()


def lines(t, name):
    path = t.folder / name
    return path.read_text().split() if path.exists() else []


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.wait()


def awaits(t, run, trigger="go"):
    t.until(lambda: show(t, run).get("awaiting", {}).get("trigger") == trigger, f"it awaits {trigger}")


def pause(t, more, text=PAUSED):
    """A run that awaits its trigger, and the process that carries it out."""
    process, run = start(t, write(t, text, PAUSE=more))
    awaits(t, run)
    return process, run


def sound(t, run):
    """What was written is what happened."""
    for words in (("store", "verify"), ("ledger", "verify"), ("replay", run, "--verify")):
        result = t.maestro(*words, *store(t))
        t.equal(result.code, 0, f"{' '.join(words)}: {result.out}{result.err}")


# --- polls ---------------------------------------------------------------------------------------------------------------


@case("proves: A-145 A-151 A-152 A-153 A-161 A-162 A-163 A-169 A-176 A-177 C-61")
def a_step_is_polled_at_once_and_until_it_is_complete(t):
    write(t, THIRD, name="poll.sh")
    result = t.maestro("run", write(t, POLLED, POLL=POLL), *store(t))
    t.equal(result.code, 0, result.err)
    t.matches(result.out, r"\[INFO\] Polling step: wait\.check \(poll 1 of 50, next in ")
    t.matches(result.out, r"\[INFO\] Polling step: wait\.check \(poll 2 of 50, next in ")
    t.equal(result.out.count("Starting step: wait.check"), 1, "the step starts once")
    t.equal(lines(t, "done"), ["after"], "what comes after it")
    t.equal(rows(t, "SELECT attempt_number, result_complete, result_continue FROM maestro_poll_attempts ORDER BY attempt_number"),
            [(1, 0, 1), (2, 0, 1), (3, 1, 0)], "its polls")
    t.equal(rows(t, "SELECT status, poll_attempt_count, next_poll_at, poll_started_at IS NULL FROM maestro_step_runs "
                    "WHERE step_key = 'wait.check'"), [("SUCCEEDED", 3, None, 0)], "its step run")
    told = names(t)
    t.equal((told.count("poll-attempted"), told.count("poll-completed")), (3, 1), "events")
    t.true(told.index("poll-attempted") < told.index("step-polling"), "the first poll is made before anything is waited for")
    inspected = t.maestro("inspect", "last", "check", "--json", *store(t)).json()
    t.equal(([p["attempt"] for p in inspected["polls"]], inspected["output"]), ([1, 2, 3], {"n": 3}), "inspected")
    t.contains(t.maestro("show", "last", *store(t)).out, "complete")
    sound(t, "last")


@case("proves: A-154 A-162 C-62")
def a_poll_may_ask_for_its_next_time(t):
    write(t, """n=$(($(cat FOLDER/count 2>/dev/null || echo 0) + 1)); echo $n > FOLDER/count
if [ $n -ge 2 ]; then echo '{"complete": true}'; else echo '{"continue": true, "nextInterval": 0.25}'; fi > "$MAESTRO_OUTPUT"
""", name="poll.sh")
    result = t.maestro("run", write(t, POLLED, POLL="poll: { interval: 30m, max_duration: 3h }"), *store(t))
    t.equal(result.code, 0, result.err)
    t.equal(rows(t, "SELECT next_interval_ms FROM maestro_poll_attempts ORDER BY attempt_number"), [(250,), (None,)],
            "seconds are stored as milliseconds")


@case("proves: A-173")
def a_poll_sees_what_the_ones_before_it_gave(t):
    write(t, THIRD.replace('{"continue": true}', '{"continue": true, "output": {"call": \'$n\'}}')
          + """printf '%s\\n' "$MAESTRO_CONTEXT" >> FOLDER/contexts\n""", name="poll.sh")
    t.equal(t.maestro("run", write(t, POLLED, POLL=POLL), *store(t)).code, 0)
    contexts = [json.loads(line)["poll"] for line in (t.folder / "contexts").read_text().splitlines()]
    t.equal([c["attempt"] for c in contexts], [1, 2, 3], "which poll it is")
    t.equal([len(c.get("results") or []) for c in contexts], [0, 1, 2], "the results before it")
    t.equal([r["output"] for r in contexts[2]["results"]], [{"call": 1}, {"call": 2}], "what they gave")
    t.equal(contexts[2]["max_attempts"], 50)


@case("proves: A-148 A-150 A-160 A-165 A-178 C-66 C-84")
def polls_end_by_their_limits_as_the_definition_says(t):
    write(t, NEVER, name="poll.sh")
    limit = "poll: { interval: 50ms, max_duration: 1h, max_attempts: 2, %s }"
    with t.row("fail_workflow"):
        result = t.maestro("run", write(t, POLLED, POLL=limit % "on_timeout: fail_workflow"), *store(t))
        t.equal(result.code, 1)
        t.contains(result.out, "[ERROR] Timed out step: wait.check - it was not complete after 2 polls")
        t.equal((show(t)["state"], step(t, "check")["state"]), ("failed", "timed-out"))
        t.equal(rows(t, "SELECT status, next_poll_at, result FROM maestro_step_runs WHERE step_key = 'wait.check'"),
                [("TIMED_OUT", None, "FAILED")])
        t.contains(names(t), "poll-timed-out")
    with t.row("continue_with_default"):
        result = t.maestro("run", write(t, POLLED, POLL=limit % "on_timeout: continue_with_default, default_output: { paid: false }"),
                           *store(t))
        t.equal(result.code, 0, result.err)
        t.contains(result.out, "(done with the default output)")
        t.contains(result.out, "Execution complete: 2 succeeded, 0 failed")
        t.equal((show(t)["state"], step(t, "check")["state"]), ("succeeded", "timed-out"))
        t.equal(t.maestro("inspect", "last", "check", "--json", *store(t)).json()["output"], {"paid": False})
        t.equal(rows(t, "SELECT result FROM maestro_step_runs WHERE step_key = 'wait.check' ORDER BY step_run_no DESC LIMIT 1"),
                [("COMPLETED",)])
    with t.row("pause_workflow"):
        process, run = start(t, write(t, POLLED, POLL=limit % "on_timeout: pause_workflow"))
        t.until(lambda: show(t, run)["state"] == "paused", "it pauses")
        t.contains(t.maestro("show", run, *store(t)).out, "UTC: a poll timed out")
        (t.folder / "poll.sh").write_text("""echo '{"complete": true}' > "$MAESTRO_OUTPUT"\n""")
        t.equal(t.maestro("resume", run, *store(t)).code, 0)
        t.equal(t.end(process).code, 0, "it polls anew")
        t.equal(rows(t, "SELECT status, poll_attempt_count FROM maestro_step_runs WHERE step_key = 'wait.check' "
                        "ORDER BY step_run_no DESC LIMIT 2"), [("SUCCEEDED", 1), ("SUPERSEDED", 2)], "a new step run")
        sound(t, run)


@case("proves: A-147 A-160")
def polls_end_with_their_time(t):
    write(t, NEVER, name="poll.sh")
    result = t.maestro("run", write(t, POLLED, POLL="poll: { interval: 50ms, max_duration: 150ms, backoff: exponential }"), *store(t))
    t.equal(result.code, 1)
    t.equal(step(t, "check")["state"], "timed-out")
    t.true(lines(t, "calls"), "it was polled")


@case("proves: A-155 A-179 G-19")
def a_poll_may_give_up(t):
    write(t, """echo '{"continue": false}' > "$MAESTRO_OUTPUT"\n""", name="poll.sh")
    with t.row("by default it fails"):
        t.equal(t.maestro("run", write(t, POLLED, POLL=POLL), *store(t)).code, 1)
        failed = step(t, "check")
        t.equal((failed["state"], failed["error"]["class"]), ("failed", "permanent"))
        t.contains(names(t), "poll-aborted")
    with t.row("on_abort"):
        path = write(t, POLLED, POLL=POLL.replace(" }", ", on_abort: continue_with_default, default_output: 7 }"))
        t.equal(t.maestro("run", path, *store(t)).code, 0)
        t.equal(step(t, "check")["state"], "timed-out")
    sound(t, "last")


@case("proves: A-156 A-157 A-159 A-170 A-171 A-174 C-65 M-7")
def polls_survive_their_process_and_are_made_late_once(t):
    write(t, THIRD.replace('{"continue": true}', '{"continue": true, "nextInterval": 4}'), name="poll.sh")
    process, run = start(t, write(t, POLLED, POLL="poll: { interval: 5m, max_duration: 1h }"))
    t.until(lambda: (step(t, "check", run) or {}).get("state") == "polling", "it is polling")
    kill(process)
    due = step(t, "check", run).get("nextPollAt")
    t.require(due, "the next poll is stored")
    t.until(lambda: rows(t, "SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now') > '" + due + "'")[0][0], "it is due while nobody is there")
    before = len(lines(t, "count")) and int(lines(t, "count")[0])
    first = t.start("dispatch-polls", "--json", *store(t))
    second = t.start("dispatch-polls", "--json", *store(t))
    told = [json.loads(t.end(p).out) for p in (first, second)]
    t.true(any(answer["done"] == 1 for answer in told) or all(answer["due"] for answer in told), f"one of them made it: {told}")
    t.until(lambda: int(lines(t, "count")[0]) > before, "the poll was made")
    t.equal(int(lines(t, "count")[0]), before + 1, "once")
    t.equal(t.maestro("resume", run, *store(t)).code, 0, "it goes on to its end")
    counts = rows(t, "SELECT poll_attempt_count FROM maestro_step_runs WHERE step_key = 'wait.check'")
    t.equal((counts, rows(t, "SELECT count(*) FROM maestro_poll_attempts")), ([(3,)], [(3,)]), "every poll is there once")
    again = t.maestro("dispatch-polls", *store(t))
    t.equal((again.code, again.out), (0, "nothing is due\n"), "called again")
    sound(t, run)


@case("proves: A-174 A-175")
def polls_that_were_lost_with_their_process_are_recovered(t):
    write(t, "echo call >> FOLDER/calls; while ! [ -e FOLDER/go ]; do sleep 0.05; done\n"
             """echo '{"complete": true}' > "$MAESTRO_OUTPUT"\n""", name="poll.sh")
    process, run = start(t, write(t, POLLED, POLL=POLL))
    t.until(lambda: lines(t, "calls"), "the poll runs")
    t.equal(t.maestro("recover-polls", *store(t)).out, "nothing is due\n", "nothing is lost while its process lives")
    kill(process)
    (t.folder / "go").write_text("")
    result = t.maestro("recover-polls", *store(t))
    t.equal(result.code, 0, result.err)
    t.matches(result.out, rf"^run {run}: polled wait\.check: recovered, ")
    t.until(lambda: show(t, run)["state"] == "succeeded" or t.maestro("resume", run, *store(t)).code == 0, "it ends well")
    t.equal(lines(t, "done"), ["after"])
    sound(t, run)


# --- pauses --------------------------------------------------------------------------------------------------------------


@case("proves: A-180 A-183 A-185 A-187 A-190 A-191 A-193 A-194 A-195 A-208 A-212 A-213")
def a_pause_ends_by_its_trigger_and_its_payload_is_an_output(t):
    process, run = pause(t, SCHEMA)
    columns = "awaiting_trigger_key, trigger_timeout_at IS NULL, trigger_registered_at IS NULL, scheduled_resume_at"
    t.equal(rows(t, f"SELECT state, {columns} FROM maestro_workflows"), [("PAUSED", "go", 0, 0, None)], "while it is awaited")
    t.matches(t.maestro("runs", *store(t)).out, r"paused: go\b")
    shown = t.maestro("show", run, *store(t)).out
    t.matches(shown, r"^awaits      trigger go since ")
    t.contains(shown, f"next: maestro approve {run}")
    t.contains(t.said(process), f"Run awaits trigger: go until ")
    t.contains(t.said(process), f"maestro approve {run}")
    refused = t.maestro("trigger", run, "go", "--payload", '{"approved": "yes"}', *store(t))
    t.equal(refused.code, 65)
    t.contains(refused.err, "payload_schema")
    t.equal(show(t, run)["state"], "paused", "a payload that does not fit changes nothing")
    t.equal(rows(t, "SELECT count(*) FROM maestro_trigger_payloads"), [(0,)], "payloads so far")
    t.contains(names(t, run), "trigger-refused")
    t.equal(t.maestro("trigger", run, "nope", *store(t)).code, 69, "a trigger that the definition has not")
    t.write("payload.json", '{"approved": true, "by": "ana"}')
    sent = t.maestro("trigger", run, "go", "--payload", f"@{t.folder}/payload.json", "--actor", "boss@example.com", "--json",
                     *store(t)).json()
    t.equal((sent["outcome"], sent["before"], sent["after"], sent["awaiting"]), ("answered", "paused", "running", None))
    t.equal(t.end(process).code, 0)
    t.equal(lines(t, "done"), ["request", "after"], "what was done")
    t.equal(rows(t, f"SELECT state, awaiting_trigger_key, trigger_timeout_at, trigger_registered_at, scheduled_resume_at "
                    "FROM maestro_workflows"), [("SUCCEEDED", None, None, None, None)], "the columns are cleared")
    got = rows(t, "SELECT trigger_key, payload, source_identifier FROM maestro_trigger_payloads")
    t.equal((len(got), got[0][0], json.loads(got[0][1])), (1, "go", {"approved": True, "by": "ana"}))
    records = [json.loads(line)["events"] for line in t.maestro("ledger", "show", "-n", "1000", *store(t)).out.splitlines()]
    taken = next({event["event"] for event in record} for record in records if any(event["event"] == "trigger-received" for event in record))
    t.true({"trigger-received", "trigger-ended", "run-running"} <= taken, f"it is taken and the run goes on in one transaction: {taken}")
    t.matches(got[0][2], r"^boss@example\.com by user:")
    t.equal(t.maestro("inspect", run, "then", "--json", *store(t)).json()["input"]["got"], {"approved": True, "by": "ana"})
    late = t.maestro("trigger", run, "go", "--payload", '{"approved": true}', *store(t))
    t.equal((late.code, late.out), (1, ""), "after its end")
    told = show(t, run)["triggers"]
    t.equal([(x["event"], x["outcome"]) for x in told],
            [("trigger-refused", "refused"), ("trigger-received", "answered"), ("trigger-ended", "answered")], "what show tells")
    sound(t, run)


@case("proves: A-187 A-214 A-215 F-006 F-132")
def approve_finds_the_trigger_by_itself_and_may_be_repeated(t):
    process, run = pause(t, SCHEMA)
    first = t.maestro("approve", run, "--id", "approval-1", "--reason", "fine", *store(t))
    t.equal(first.code, 0, first.err)
    t.matches(first.out, rf"^run {run}: trigger go answered, paused -> running")
    t.equal(t.end(process).code, 0)
    again = t.maestro("approve", run, "--id", "approval-1", "--key", "go", "--reason", "fine", *store(t))
    t.equal(again.code, 0, again.err)
    t.contains(again.out, "asked before")
    without = t.maestro("approve", run, "--reason", "fine", *store(t))
    t.equal(without.code, 1)
    t.contains(without.err, "awaits no trigger")
    t.equal(rows(t, "SELECT count(*) FROM maestro_trigger_payloads"), [(1,)])
    received = next(e for e in events(t, run) if e["event"] == "trigger-received")
    t.equal(received["rationale"], "fine")


@case("proves: A-187 F-132")
def a_denial_fails_the_run(t):
    process, run = pause(t, SCHEMA)
    denied = t.maestro("approve", run, "--deny", "--reason", "too expensive", *store(t))
    t.equal(denied.code, 0, denied.err)
    t.matches(denied.out, r"trigger go denied, paused -> failed")
    t.equal(t.end(process).code, 1)
    t.equal(show(t, run)["error"]["cause"], "signal-denied")
    t.equal([trigger.get("reason") for trigger in show(t, run)["triggers"]], ["too expensive", None], "why, where somebody said it")
    t.matches(t.maestro("show", run, *store(t)).out, r"go +denied +user:\S+ +too expensive\n")
    t.equal(lines(t, "done"), ["request"])
    with t.row("retried, it is asked again"):
        t.equal(t.maestro("resolve", run, "--decision", "retry", *store(t)).code, 0)
        awaits(t, run)
        t.equal(t.maestro("approve", run, "--reason", "fine", *store(t)).code, 0)
        t.equal(t.maestro("resume", run, *store(t)).code, 0)
        t.equal(lines(t, "done"), ["request", "after"], "the step itself was not run again")
        sound(t, run)


@case("proves: A-189 A-192 C-100")
def a_condition_that_does_not_hold_leaves_it_paused(t):
    process, run = pause(t, "trigger: go, resume_when: payload.approved == true")
    unmet = t.maestro("trigger", run, "go", "--payload", '{"approved": false}', *store(t))
    t.equal(unmet.code, 1)
    t.contains(unmet.out, "resume_when does not hold")
    t.equal(show(t, run)["state"], "paused")
    with t.row("nobody resumes it without a payload"):
        resumed = t.maestro("resume", run, *store(t))
        t.equal(resumed.code, 1)
        t.contains(resumed.err, "maestro trigger")
    with t.row("a signal that meets it"):
        t.equal(t.maestro("signal", run, "anything", "--payload", '{"approved": true}', *store(t)).code, 0)
    t.equal(t.end(process).code, 0)
    t.equal([x["outcome"] for x in show(t, run)["triggers"]], ["unmet", "answered"])
    sound(t, run)


@case("proves: A-188 A-202 A-210 A-217 M-7")
def a_run_resumes_by_itself(t):
    with t.row("while its process lives"):
        result = t.maestro("run", write(t, PAUSED, PAUSE="trigger: go, auto_resume_after: 100ms"), *store(t))
        t.equal(result.code, 0, result.err)
        t.contains(result.out, "it goes on by itself at ")
        t.contains(result.out, "Trigger scheduled: go")
    with t.row("by a sweep"):
        process, run = start(t, write(t, PAUSED, PAUSE="trigger: go, auto_resume_after: 4s"))
        awaits(t, run)
        kill(process)
        due = rows(t, "SELECT scheduled_resume_at FROM maestro_workflows WHERE state = 'PAUSED'")
        if due and due[0][0]:
            t.until(lambda: rows(t, f"SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now') > '{due[0][0]}'")[0][0], "it is due")
            swept = t.maestro("process-scheduled-resumes", "--json", *store(t)).json()
            t.equal((swept["due"], swept["done"], swept["runs"][0]["trigger"]), (1, 1, "go"))
        t.until(lambda: show(t, run)["state"] == "succeeded", "the sweep carries it on")
        t.equal(t.maestro("process-scheduled-resumes", *store(t)).out, "nothing is due\n")
        sound(t, run)


@case("proves: A-184 A-209 A-216 C-64 C-100 M-7")
def a_trigger_that_does_not_come_in_time(t):
    with t.row("reminder, then it fails"):
        result = t.maestro("run", write(t, PAUSED, PAUSE="trigger: go, timeout: 100ms, on_timeout: reminder, reminders: 2"), *store(t))
        t.equal(result.code, 1)
        t.contains(result.out, "Reminder 2 of trigger: go")
        t.equal(names(t).count("trigger-reminded"), 2)
        t.equal(show(t)["error"]["cause"], "timeout")
    with t.row("retried, it awaits the trigger again and not the step"):
        t.equal(t.maestro("resolve", "last", "--decision", "retry", *store(t)).code, 0)
        t.until(lambda: names(t).count("trigger-awaited") == 2, "it awaits it again")
        t.equal(lines(t, "done"), ["request"])
    with t.row("auto_approve"):
        more = "trigger: go, timeout: 100ms, on_timeout: auto_approve, default_payload: { approved: maybe }"
        t.equal(t.maestro("run", write(t, PAUSED, PAUSE=more), *store(t)).code, 0)
        t.equal(t.maestro("inspect", "last", "then", "--json", *store(t)).json()["input"]["got"], {"approved": "maybe"})
        t.equal(show(t)["triggers"][-1]["outcome"], "auto-approved")
    with t.row("by a sweep"):
        process, run = start(t, write(t, PAUSED, PAUSE="trigger: go, timeout: 4s"))
        awaits(t, run)
        kill(process)
        due = rows(t, f"SELECT trigger_timeout_at FROM maestro_workflows WHERE state = 'PAUSED' AND id = '{run}'")
        if due and due[0][0]:
            t.until(lambda: rows(t, f"SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now') > '{due[0][0]}'")[0][0], "it is due")
            swept = t.maestro("check-trigger-timeouts", *store(t))
            t.matches(swept.out, rf"run {run}: paused go: timeout applied, failed\n")          # perhaps beside the one before
        t.equal(show(t, run)["state"], "failed")
    sound(t, "last")


TWO = """workflow: two
jobs:
  a: { tasks: [{ name: one, run: shell, input: { command: "true" }, pause_after: { trigger: go } }] }
  b: { needs: [a], tasks: [{ name: two, run: shell, input: { command: "true" }, pause_after: { trigger: second } }] }
  c: { needs: [b], tasks: [{ name: end, run: shell, input: { command: "echo end >> FOLDER/done" } }] }
"""


@case("proves: A-180 C-89 C-99")
def triggers_that_come_early_are_kept_and_pauses_come_one_after_the_other(t):
    process, run = pause(t, "", text=TWO)
    kept = t.maestro("trigger", run, "second", "--payload", '{"early": true}', *store(t))
    t.equal(kept.code, 0, kept.err)
    t.contains(kept.out, "kept for its pause")
    t.equal(t.maestro("approve", run, "--reason", "fine", *store(t)).code, 0)
    t.equal(t.end(process).code, 0, "the second pause is passed")
    t.equal([x["outcome"] for x in show(t, run)["triggers"]], ["kept", "answered", "answered", "answered"])
    t.equal(lines(t, "done"), ["end"])
    with t.row("one after the other"):
        process, run = pause(t, "", text=TWO)
        t.equal(t.maestro("approve", run, "--reason", "fine", *store(t)).code, 0)
        awaits(t, run, "second")
        t.contains(t.maestro("trigger", run, "go", *store(t)).err, "no longer awaited")
        t.equal(t.maestro("trigger", run, "second", "--payload", "-", *store(t), stdin='{"x": 1}').code, 0)
        t.equal(t.end(process).code, 0)
    sound(t, run)


@case("proves: A-157 A-190")
def a_pause_survives_its_process_and_is_answered_without_one(t):
    process, run = pause(t, "trigger: go")
    kill(process)
    answered = t.maestro("approve", run, "--reason", "fine", *store(t))
    t.equal(answered.code, 0, answered.err)
    t.contains(answered.err, "maestro resume", "who carries it on")
    t.equal(t.maestro("resume", run, *store(t)).code, 0)
    t.equal(lines(t, "done"), ["request", "after"])
    sound(t, run)


RETRIED = """workflow: retried
params: [{ name: amount, type: integer, default: 5 }]
jobs:
  pay:
    tasks:
      - { name: ask, run: shell, input: { command: "echo ask >> FOLDER/done" }, pause_after: { trigger: go } }
      - { name: charge, run: shell, input: { command: "test $1 -eq 7", amount: "${params.amount}" }, args: ["${params.amount}"] }
"""


@case("proves: A-050 A-061")
def a_retry_from_before_a_pause_awaits_it_again_and_may_change_parameters(t):
    process, run = pause(t, "", text=RETRIED)
    t.equal(t.maestro("approve", run, "--reason", "fine", *store(t)).code, 0)
    t.equal(t.end(process).code, 1, "5 is not 7")
    dry = t.maestro("retry-from", run, "ask", "--with", "amount=7", "--dry-run", *store(t))
    t.equal(dry.code, 0, dry.err)
    t.contains(dry.out, "change     amount: 5 -> 7\n")
    t.contains(dry.out, "run anew   pay.ask")
    for wrong, code in (("amount=many", 65), ("amonut=7", 65), ("amount", 2)):
        with t.row(wrong):
            for more in (("--dry-run",), ()):
                t.equal(t.maestro("retry-from", run, "ask", "--with", wrong, *more, *store(t)).code, code)
    t.equal(show(t, run)["state"], "failed", "nothing of this changed it")
    done = t.maestro("retry-from", run, "ask", "--with", "amount=7", "--reason", "a typo", *store(t))
    t.equal(done.code, 0, done.err)
    t.contains(done.out, "changed: amount: 5 -> 7")
    process = t.start("resume", run, *store(t))
    awaits(t, run)
    t.equal(t.maestro("approve", run, "--reason", "fine", *store(t)).code, 0)
    t.equal(t.end(process).code, 0)
    t.equal(lines(t, "done"), ["ask", "ask"], "the step before the pause was run anew")
    t.contains(t.maestro("show", run, *store(t)).out, "amount: 5 -> 7")
    t.equal(show(t, run)["paramChanges"][0]["difference"], "amount: 5 -> 7")
    t.contains(t.maestro("ledger", "show", "-n", "100", *store(t)).out, "amount: 5 -> 7")
    sound(t, run)


@case("proves: A-162 A-195")
def a_row_of_a_poll_or_a_trigger_that_somebody_changes_is_noticed(t):
    write(t, THIRD, name="poll.sh")
    t.equal(t.maestro("run", write(t, POLLED, POLL=POLL), *store(t)).code, 0)
    process, run = pause(t, "trigger: go")
    t.equal(t.maestro("approve", run, "--reason", "fine", *store(t)).code, 0)
    t.end(process)
    sound(t, run)
    db = sqlite3.connect(t.folder / "store.db")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")               # all of it in the one file that is put back
    db.close()
    sound_bytes = (t.folder / "store.db").read_bytes()
    for sql in ("SELECT 1", "UPDATE maestro_poll_attempts SET result_continue = 0 WHERE attempt_number = 1",
                "UPDATE maestro_poll_attempts SET executed_ms = executed_ms + 1 WHERE attempt_number = 2",
                "DELETE FROM maestro_poll_attempts WHERE attempt_number = 3",
                "INSERT INTO maestro_poll_attempts SELECT 'x', step_run_id, 4, job_id, 0, 1, NULL, executed_ms "
                "FROM maestro_poll_attempts WHERE attempt_number = 1",
                "INSERT INTO maestro_poll_attempts SELECT 'x', 'y', 1, job_id, 0, 1, NULL, executed_ms "
                "FROM maestro_poll_attempts WHERE attempt_number = 1",
                "UPDATE maestro_trigger_payloads SET payload = '{}'", "UPDATE maestro_trigger_payloads SET source_identifier = 'user:x'",
                "DELETE FROM maestro_trigger_payloads", "UPDATE maestro_trigger_payloads SET workflow_id = 99"):
        with t.row(sql):
            (t.folder / "store.db").write_bytes(sound_bytes)
            for end in ("-wal", "-shm"):
                (t.folder / f"store.db{end}").unlink(missing_ok=True)
            db = sqlite3.connect(t.folder / "store.db")
            for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                db.execute(f"DROP TRIGGER {name}")
            db.execute(sql)
            db.commit()
            db.close()
            table = next((name for name in ("maestro_poll_attempts", "maestro_trigger_payloads") if name in sql), None)
            found = t.maestro("store", "verify", *store(t)).out
            t.equal(any(name in found for name in ("maestro_poll_attempts", "maestro_trigger_payloads")), table is not None, found)
            t.true(not table or table in found, f"the table is named: {found}")


# --- early ends, reactions, retries ---------------------------------------------------------------------------------------


@case("proves: C-83 A-120 A-123")
def a_run_ends_early_in_either_way(t):
    text = """workflow: early
jobs:
  look:
    tasks:
      - { name: found, run: noop, input: { output: { n: 1 } }, terminate_when: { condition: "outputs.look.found.n == 1", state: STATE, reason: nothing to do } }
      - { name: rest, run: shell, input: { command: "echo rest >> FOLDER/done" } }
"""
    for state, code in (("succeeded", 0), ("failed", 1)):
        with t.row(state):
            result = t.maestro("run", write(t, text, STATE=state), *store(t))
            t.equal(result.code, code, result.err)
            t.contains(result.out, f"Ending run early as {state}: look.found - nothing to do")
            shown = show(t)
            t.equal((shown["state"], shown["endedEarly"]), (state, "nothing to do"))
            t.contains(t.maestro("show", "last", *store(t)).out, "ended early by look.found: nothing to do")
            t.equal(lines(t, "done"), [], "what comes after it")
            sound(t, "last")


@case("proves: F-054")
def signals_act_on_a_run_as_its_definition_says(t):
    text = """workflow: guarded
on_signal:
  spike: pause_all
  all-clear: resume
  done-elsewhere: { short_circuit: { target: work, outcome: succeeded, reason: done elsewhere } }
jobs:
  work: { tasks: [{ name: hold, run: shell, input: { command: "echo begun >> FOLDER/begun; sleep 600" } }] }
  rest: { needs: [work], tasks: [{ name: rest, run: shell, input: { command: "echo rest >> FOLDER/done" } }] }
"""
    process, run = start(t, write(t, text))
    t.until(lambda: lines(t, "begun"), "its step runs")
    t.equal(t.maestro("signal", run, "spike", *store(t)).code, 0)
    t.equal(show(t, run)["state"], "paused")
    t.equal(t.maestro("signal", run, "all-clear", *store(t)).code, 0)
    t.equal(t.maestro("signal", run, "done-elsewhere", *store(t)).code, 0)
    t.equal(t.end(process).code, 0)
    t.contains(t.said(process), "Reaction to signal: done-elsewhere (short_circuit)")
    t.equal(lines(t, "done"), ["rest"])
    t.equal([r["signal"] for r in show(t, run)["reactions"]], ["spike", "all-clear", "done-elsewhere"])
    sound(t, run)


@case("proves: A-042 M-7")
def due_automatic_retries_are_started_by_a_sweep(t):
    text = """workflow: again
failure_resolution: { strategy: auto_retry, max_retries: 3, retry_delay: 4s }
jobs: { a: { tasks: [{ name: t, run: shell, input: { command: "echo try >> FOLDER/tries; test -e FOLDER/fixed" } }] } }
"""
    process, run = start(t, write(t, text))
    t.until(lambda: show(t, run)["state"] == "failed", "it fails")
    kill(process)
    (t.folder / "fixed").write_text("")
    def is_due():
        due = rows(t, "SELECT auto_retry_at FROM maestro_workflows WHERE state = 'FAILED'")
        return not due or not due[0][0] or rows(t, f"SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now') > '{due[0][0]}'")[0][0]
    t.until(is_due, "the retry is due")
    swept = t.maestro("process-auto-retries", "--json", *store(t)).json()
    t.equal((swept["due"], swept["done"]), (1, 1))
    t.equal(show(t, run)["state"], "succeeded")
    t.equal(len(lines(t, "tries")) >= 2, True, "it was tried again")
    t.equal(t.maestro("process-auto-retries", *store(t)).out, "nothing is due\n")


@case("proves: A-171 M-7")
def a_sweep_leaves_to_the_owner_what_the_owner_does(t):
    process, run = pause(t, "trigger: go, timeout: 1h")
    for sweep in ("dispatch-polls", "recover-polls", "process-auto-retries", "check-trigger-timeouts", "process-scheduled-resumes"):
        with t.row(sweep):
            result = t.maestro(sweep, *store(t))
            t.equal((result.code, result.out), (0, "nothing is due\n"))
            t.equal(t.maestro(sweep, "--store", "sqlite:/nowhere/store.db").code, 69, "no store")
    t.equal(show(t, run)["state"], "paused")


OUTCOMES = """workflow: outcomes
failure_mode: continue-independent
jobs:
  work: { tasks: [{ name: flaky, run: shell, retries: { attempts: 2, delay: 10ms }, input: { command: "echo x >> FOLDER/tries; exit 75" } }] }
  gate: { tasks: [{ name: held, log: through, wait_for_signal: retry }] }
"""


@case("proves: C-29")
def a_resume_trigger_is_a_signal_of_approval_and_outcome_signals_are_none(t):
    process, run = pause(t, "trigger: go, timeout: 1h")
    t.equal(rows(t, "SELECT count(*) FROM maestro_signals"), [(0,)])
    t.equal(t.maestro("trigger", run, "go", "--payload", '{"x": 1}', *store(t)).code, 0)
    t.equal(t.end(process).code, 0)
    t.equal(rows(t, "SELECT trigger_key, payload FROM maestro_trigger_payloads"), [("go", '{"x":1}')])
    t.equal(rows(t, "SELECT name, kind FROM maestro_signals"), [("go", "approval")])
    sound(t, run)
    # What the carrier of an attempt says (retry, then drop) bears the name of a signal that a step waits for, and is none.
    process, run = start(t, write(t, OUTCOMES, name="outcomes.yaml"))
    t.until(lambda: (step(t, "flaky", run) or {}).get("state") == "failed", "it was tried again, and dropped")
    t.equal(lines(t, "tries"), ["x", "x"])
    t.equal(step(t, "held", run)["state"], "waiting-signal")
    t.equal(rows(t, "SELECT name FROM maestro_signals"), [("go",)], "none came in addition")
    t.equal(t.maestro("signal", run, "retry", *store(t)).code, 0)
    t.end(process)
    t.equal(step(t, "held", run)["state"], "succeeded")
    t.equal(rows(t, "SELECT name, kind FROM maestro_signals ORDER BY run_no"), [("go", "approval"), ("retry", "operator")])
    sound(t, run)


main()
