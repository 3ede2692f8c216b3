#!/usr/bin/env python3
"""What failure resolution, retries from a step, compensations, branches, polls and pauses promise their users: what each is for,
the events by their promised names, the tables, and the examples that are shipped for them."""
import gzip
import json
import signal
import sqlite3

from maestro_test import ROOT, case, main

# Four steps; each writes its name and gives it as its output. The third works by what the script does.
CHAIN = """workflow: chain
HEAD
jobs:
  chain:
    tasks:
      - { name: one, run: shell, input: { command: "echo one >> FOLDER/log; echo '{\\"from\\": \\"one\\"}' > $MAESTRO_OUTPUT" }, UNDO(one) }
      - { name: two, run: shell, input: { command: "echo two >> FOLDER/log; cat FOLDER/data > $MAESTRO_OUTPUT" }, UNDO(two) }
      - { name: three, run: shell, input: { command: "sh FOLDER/three.sh", got: "${outputs.two}" } }
      - { name: four, run: shell, input: { command: "echo four >> FOLDER/log" } }
"""
WORKS = "echo three >> FOLDER/log; case \"$MAESTRO_INPUT\" in *good*) exit 0;; esac; exit 65\n"
COMPENSATES = "failure_resolution: { strategy: auto_compensate }"
RETRIES = "failure_resolution: { strategy: auto_retry, max_retries: 2, retry_delay: 20ms, fallback: await_decision }"


def store(t):
    return ("--store", f"sqlite:{t.folder}/store.db")


def chain(t, head="description: a chain", undo="echo undo-NAME >> FOLDER/log", data="bad", three=WORKS):
    text = CHAIN.replace("HEAD", head)
    for name in ("one", "two"):
        command = undo.replace("NAME", name).replace('"', '\\"')
        text = text.replace(f"UNDO({name})", "compensation: { run: shell, retries: { attempts: 2, delay: 10ms, jitter_ms: 0 }, "
                                             f'input: {{ command: "{command}" }} }}')
    give(t, data)
    t.write("three.sh", three.replace("FOLDER", str(t.folder)))
    (t.folder / "log").unlink(missing_ok=True)
    return t.write("chain.yaml", text.replace("FOLDER", str(t.folder)))


def give(t, data):
    t.write("data", json.dumps({"quality": data}))


def log(t):
    path = t.folder / "log"
    words = path.read_text().split() if path.exists() else []
    path.unlink(missing_ok=True)
    return words


def do(t, *words, code=0):
    result = t.maestro(*words, *store(t))
    t.equal(result.code, code, f"{' '.join(map(str, words))}: {result.out}{result.err}")
    return result


def go_on(t):
    return t.maestro("resume", "last", "--until-waiting", *store(t)).code


def rows(t, sql, name="store.db"):
    with sqlite3.connect(f"file:{t.folder}/{name}?mode=ro", uri=True) as db:
        return db.execute(sql.replace("THIS", "workflow_id = (select max(run_no) from maestro_workflows)")).fetchall()


def state(t):
    return rows(t, "select state, resolution from maestro_workflows order by run_no desc limit 1")[0]


def events(t, run="last"):
    return [json.loads(line) for line in t.maestro("show", run, "--events", "--json", *store(t)).out.splitlines()]


def emitted(found, name):
    return [event for event in found if name in event.get("emits", [])]


# --- what each is for ------------------------------------------------------------------------------------------------------------

@case("proves: A-002 A-049 A-051 A-068 A-071 A-073")
def a_run_goes_on_from_a_step_once_its_data_or_its_program_is_mended(t):
    for what in ("the data", "the program"):
        with t.row(what):
            do(t, "run", chain(t), code=1)
            t.equal(log(t), ["one", "two", "three"])
            step = "two" if what == "the data" else "three"
            if what == "the data":
                give(t, "good")
            else:
                t.write("three.sh", f"echo three-mended >> {t.folder}/log\n")
            shown = do(t, "retry-from", "last", step, "--dry-run").out
            t.equal(log(t), [], "a look changes nothing")
            before = len(events(t))
            do(t, "retry-from", "last", step, "--reason", "mended")
            made = events(t)[before:]
            t.equal(len(emitted(made, "RetryFromStepInitiated")), 1)
            t.equal(len(emitted(made, "RetryFromStepCompleted")), 1)
            t.equal(go_on(t), 0)
            done = ["two", "three", "four"] if what == "the data" else ["three-mended", "four"]
            t.equal((log(t), state(t)), (done, ("SUCCEEDED", None)))
            for name in ("one", "two", "three", "four"):
                t.equal(f"chain.{name}" in shown, name in ("two", "three", "four")[0 if step == "two" else 1:], f"{name} in the list")


@case("proves: A-005 A-271")
def a_poll_waits_for_a_file_and_a_step_without_one_is_carried_out_once(t):
    poll = ('if test -e FOLDER/arrived; then echo \\\'{\\"complete\\": true, \\"output\\": {\\"file\\": true}}\\\'; '
            'else echo \\\'{\\"continue\\": true}\\\'; fi > $MAESTRO_OUTPUT').replace("\\'", "'")
    path = t.write("file.yaml", f"""workflow: file
jobs:
  wait:
    tasks:
      - {{ name: before, run: shell, input: {{ command: "echo before >> FOLDER/log" }} }}
      - {{ name: wait, run: shell, input: {{ command: "echo asked >> FOLDER/asked; {poll}" }}, poll: {{ interval: 20ms, max_duration: 10m }} }}
      - {{ name: read, run: shell, input: {{ command: "echo read >> FOLDER/log", got: "${{outputs.wait.file}}" }} }}
""".replace("FOLDER", str(t.folder)))
    process = t.start("run", path, *store(t))
    t.until(lambda: (t.folder / "asked").exists() and len((t.folder / "asked").read_text().split()) >= 3, "it was asked for thrice")
    t.equal((t.folder / "log").read_text().split(), ["before"])
    (t.folder / "arrived").touch()
    t.equal(t.end(process).code, 0)
    t.equal(log(t), ["before", "read"])
    t.equal(rows(t, "select step_key, poll_attempt_count >= 4 from maestro_step_runs order by step_index"),
            [("wait.before", 0), ("wait.wait", 1), ("wait.read", 0)], "which steps were polled")


@case("proves: A-006 A-181")
def the_example_of_an_approval_pauses_until_a_manager_approves(t):
    plan = t.maestro("plan", "--json", "examples/approval.yaml").json()["plan"]
    step = next(s for s in plan["steps"] if s["name"] == "submit-for-approval")
    t.equal((step["run"], step["output_schema"]["title"], step["kind"]), ("SubmitApprovalRequestJob", "ApprovalRequestOutput", "task"))
    t.equal((step["pause_after"]["trigger"], step["pause_after"]["timeout_ms"]), ("manager-approval", 7 * 24 * 3600 * 1000))
    t.equal(t.maestro("run", "examples/approval.yaml", "--until-waiting", *store(t)).code, 75)
    t.equal(state(t)[0], "PAUSED")
    do(t, "trigger", "last", "manager-approval", "--payload", '{"approved": false, "by": "Ana"}', code=1)
    t.equal(state(t)[0], "PAUSED", "who says no has not approved")
    do(t, "approve", "last", "--reason", "fine")
    t.equal(go_on(t), 0)
    t.equal(state(t)[0], "SUCCEEDED")
    awaited = emitted(events(t), "WorkflowAwaitingTrigger")
    t.equal([e["name"] for e in awaited], ["manager-approval"])
    t.true(awaited and awaited[0].get("dueAt"), "with its deadline")


# --- failure resolution ----------------------------------------------------------------------------------------------------------

@case("proves: A-028 A-043 A-267 A-039 A-013")
def a_failed_run_stays_failed_until_somebody_decides(t):
    do(t, "run", chain(t), code=1)
    waits = ("FAILED", "AWAITING_DECISION")
    t.equal(state(t), waits)
    t.equal(rows(t, "select failure_resolution_strategy from maestro_workflows"), [("AWAIT_DECISION",)])
    told = emitted(events(t), "WorkflowAwaitingResolution")
    t.equal([(e["event"], e["resolution"]) for e in told], [("run-failed", "AWAITING_DECISION")])
    before = len(events(t))
    for words in (("process-auto-retries",), ("recover-polls",), ("check-trigger-timeouts",), ("process-scheduled-resumes",),
                  ("dispatch-polls",), ("retry-from", "last", "two", "--dry-run")):
        do(t, *words)
    for words in (("resolve", "last"), ("resume", "last")):
        t.maestro(*words, *store(t))
    other = t.write("other.yaml", "workflow: other\njobs: { a: { tasks: [{ log: x }] } }\n")
    do(t, "run", other)                     # another owner, which recovers everything
    t.equal(rows(t, "select state, resolution from maestro_workflows order by run_no")[0], waits)
    run = rows(t, "select id from maestro_workflows order by run_no")[0][0]
    t.equal(len(events(t, run)), before, "nothing more was recorded of it")
    do(t, "resolve", run, "--decision", "mark-resolved")
    t.equal(rows(t, "select state, resolution from maestro_workflows order by run_no")[0], ("FAILED", "RESOLVED"))


@case("proves: A-039 A-044 A-045 A-046 A-026 A-268")
def each_strategy_is_applied_once_a_failure_and_told_by_its_events(t):
    counts = {"await": ("description: waits", {"WorkflowAwaitingResolution": 1}),
              "retry": (RETRIES, {"AutoRetryScheduled": 2, "AutoRetryExhausted": 1, "WorkflowAwaitingResolution": 1, "StepRunSuperseded": 4}),
              "compensate": (COMPENSATES, {"ResolutionDecisionMade": 1, "CompensationStarted": 1, "CompensationCompleted": 1})}
    watched = {name for _, want in counts.values() for name in want} - {"ResolutionDecisionMade"}
    for strategy, (head, want) in counts.items():
        with t.row(strategy):
            do(t, "run", chain(t, head), code=1)
            found = events(t)
            t.equal({name: len(emitted(found, name)) for name in watched if emitted(found, name)},
                    {name: count for name, count in want.items() if name in watched})
            for scheduled in emitted(found, "AutoRetryScheduled"):
                t.true(scheduled["attempt"] in (1, 2) and scheduled["dueAt"], "the number of the retry and when it is due")
    do(t, "run", chain(t), code=1)
    do(t, "resolve", "last", "--decision", "cancel", "--reason", "no longer wanted")
    made = emitted(events(t), "ResolutionDecisionMade")
    t.equal([(e["kind"], e["message"]) for e in made], [("CANCEL", "no longer wanted")])
    t.true(made[0]["actor"].startswith("user:"), "who decided")


# --- retries from a step ---------------------------------------------------------------------------------------------------------

@case("proves: A-067 A-072 A-060 A-061 A-063")
def superseding_is_one_operation_that_links_and_clears(t):
    do(t, "run", chain(t), code=1)
    before = len(events(t))
    do(t, "retry-from", "last", "one")
    made = events(t)[before:]
    gone = emitted(made, "StepRunSuperseded")
    t.equal(len(gone), 4, "step runs that are replaced")
    t.equal(len({e["position"] for e in gone} | {e["position"] for e in emitted(made, "ResolutionDecisionMade")}), 1,
            "one record, committed as a whole, with the decision")
    old = rows(t, "select step_key, superseded_at is not null, superseded_by_id from maestro_step_runs where status = 'SUPERSEDED'")
    t.equal([(key, at) for key, at, _ in old], [(f"chain.{name}", 1) for name in ("one", "two", "three", "four")])
    log(t)
    t.equal(go_on(t), 1)
    t.equal(log(t), ["one", "two", "three"])
    new = dict(rows(t, "select step_key, id from maestro_step_runs where status <> 'SUPERSEDED'"))
    for key, _, by in old:
        t.equal(by, new[key], f"what replaces {key}")
    # What the first round gave is not what the second reads.
    give(t, "good")
    do(t, "retry-from", "last", "two")
    t.equal(go_on(t), 0, "the third step reads the new output of the second")
    do(t, "ledger", "verify")


# --- compensation ----------------------------------------------------------------------------------------------------------------

@case("proves: A-107 A-108 A-109 A-110 A-111 A-112 A-102 A-098")
def a_compensation_is_told_step_by_step_and_anything_but_an_error_is_success(t):
    flaky = ("echo undo-NAME >> FOLDER/log; printf '%s\\n' \"$MAESTRO_IDEMPOTENCY_KEY\" >> FOLDER/keys-NAME; "
             "echo told; test -e FOLDER/tried-NAME && exit 0; touch FOLDER/tried-NAME; exit 75")
    do(t, "run", chain(t, COMPENSATES, flaky), code=1)
    t.equal(state(t)[0], "COMPENSATED")
    t.equal(log(t), ["one", "two", "three", "undo-two", "undo-two", "undo-one", "undo-one"])
    found = events(t)
    started = emitted(found, "CompensationStarted")
    planned = [e for e in found if e["event"] == "compensation-planned"]
    t.equal((started[0]["kind"], [e["step"] for e in planned]), ("FULL", [1, 0]), "its scope and its steps, newest first")
    t.equal([(e["step"], e["attempt"]) for e in emitted(found, "CompensationStepStarted")], [(1, 1), (1, 2), (0, 1), (0, 2)])
    failed = emitted(found, "CompensationStepFailed")
    t.equal([e["step"] for e in failed], [1, 0])
    t.true(all(e["message"] for e in failed), "with the message")
    t.equal([e["step"] for e in emitted(found, "CompensationStepSucceeded")], [1, 0])
    t.equal((len(emitted(found, "CompensationCompleted")), len(emitted(found, "CompensationFailed"))), (1, 0))
    for name in ("one", "two"):
        t.equal(len(set((t.folder / f"keys-{name}").read_text().split())), 1, "each try has the same key, so that it can be safe")
    # One after the other: the next begins once the one before it has ended.
    order = [(e["event"], e["step"]) for e in found if e["event"].startswith("compensation-step")]
    t.equal([s for _, s in order], [1, 1, 1, 1, 0, 0, 0, 0])
    do(t, "run", chain(t, COMPENSATES, "exit 65"), code=1)
    t.equal(state(t)[0], "COMPENSATION_FAILED")
    t.equal(len(emitted(events(t), "CompensationFailed")), 1)


@case("proves: A-102 A-031 A-085 A-086")
def a_scope_chooses_what_is_undone(t):
    for words, undone in (((), ["undo-two", "undo-one"]), (("--step", "one"), ["undo-one"]), (("--from", "two"), ["undo-two"]),
                          (("--from", "one"), ["undo-two", "undo-one"])):
        with t.row(" ".join(words)):
            do(t, "run", chain(t), code=1)
            log(t)
            do(t, "compensate", "last", *words)
            go_on(t)
            t.equal((log(t), state(t)[0]), (undone, "COMPENSATED"))


@case("proves: A-103 A-093 A-094")
def no_step_goes_forward_while_or_after_a_run_is_undone(t):
    path = chain(t, undo="echo undo-NAME >> FOLDER/log; while ! test -e FOLDER/go-NAME; do sleep 0.02; done; test -e FOLDER/bad && exit 65; true")
    do(t, "run", path, code=1)
    log(t)
    (t.folder / "go-two").touch()
    (t.folder / "bad").touch()
    do(t, "compensate", "last")
    go_on(t)
    t.equal((log(t)[0], state(t)[0]), ("undo-two", "COMPENSATION_FAILED"))
    refusals = (("resolve", "last", "--decision", "retry"), ("retry-from", "last", "one"), ("resume", "last"))
    for words in refusals:
        t.true(do(t, *words, code=1).err, "a refusal says why")
    (t.folder / "bad").unlink()
    do(t, "retry-compensation", "last")
    process = t.start("resume", "last", *store(t))
    t.until(lambda: (t.folder / "log").exists() and "undo-one" in (t.folder / "log").read_text(), "the next one runs")
    t.equal(state(t)[0], "COMPENSATING")
    for words in refusals[:2]:
        do(t, *words, code=1)
    t.equal(state(t)[0], "COMPENSATING")
    (t.folder / "go-one").touch()
    t.end(process)
    t.equal((log(t), state(t)[0]), (["undo-two", "undo-one"], "COMPENSATED"))
    for words in (*refusals[:2], ("compensate", "last"), ("cancel", "last"), ("pause", "last")):
        do(t, *words, code=1)
    t.equal((log(t), state(t)[0]), ([], "COMPENSATED"))
    steps = {step: status for step, status in rows(t, "select step_key, status from maestro_step_runs")}
    t.equal(steps["chain.four"], "SKIPPED", "what came after the failure was never begun")


# --- polls and pauses ------------------------------------------------------------------------------------------------------------

def gives(what):
    return "printf '%s' '" + json.dumps(what) + "' > $MAESTRO_OUTPUT"


@case("proves: A-176 A-177 A-178 A-179 A-213 A-214 A-215 A-216 A-217 A-144")
def polls_pauses_and_early_ends_are_told_by_their_events(t):
    poll = "poll: { interval: 20ms, max_duration: 1h, max_attempts: 2 }"
    pause = "pause_after: { trigger: go, %s }"
    asks = "timeout: 1h, payload_schema: { type: object, required: [ok] }"
    table = (
        ("a complete poll", gives({"complete": True}), poll, (), {"PollAttempted": 1, "PollCompleted": 1}),
        ("a poll that comes to its limit", gives({"continue": True}), poll, (), {"PollAttempted": 2, "PollTimedOut": 1}),
        ("a poll that gives up", gives({"complete": False, "continue": False}), poll, (), {"PollAttempted": 1, "PollAborted": 1}),
        ("a trigger", "true", pause % asks, (('{"no": 1}', 65), ('{"ok": 1}', 0)),
         {"WorkflowAwaitingTrigger": 1, "TriggerValidationFailed": 1, "TriggerReceived": 1}),
        ("a trigger that does not come", "true", pause % "timeout: 20ms", (), {"WorkflowAwaitingTrigger": 1, "TriggerTimedOut": 1}),
        ("a pause that ends by itself", "true", pause % "auto_resume_after: 20ms", (), {"WorkflowAwaitingTrigger": 1, "WorkflowAutoResumed": 1}),
        ("an early end", gives({"enough": True}), "terminate_when: { condition: output.enough == true, state: succeeded, reason: it is enough }", (),
         {"WorkflowTerminatedEarly": 1, "StepSkipped": 1}),
    )
    for name, command, more, triggers, want in table:
        with t.row(name):
            text = json.dumps(command)
            path = t.write("one.yaml", f"workflow: one\njobs:\n  a:\n    tasks:\n      - {{ name: work, run: shell, input: {{ command: {text} }}, {more} }}\n"
                                       "      - { name: after, log: after }\n")
            t.maestro("run", path, "--again", *(("--until-waiting",) if triggers else ()), *store(t))
            for payload, code in triggers:
                refused = t.maestro("trigger", "last", "go", "--payload", payload, *store(t))
                t.equal(refused.code != 0, code != 0, refused.out + refused.err)
            if triggers:
                t.equal(go_on(t), 0)
            found = events(t)
            names = {n for row in table for n in row[4]}
            skips = {"StepSkipped"} if "WorkflowTerminatedEarly" not in want else set()
            t.equal({n: len(emitted(found, n)) for n in names - skips if emitted(found, n)}, want)
            for event in emitted(found, "WorkflowTerminatedEarly"):
                t.equal((event["message"], event["flags"]), ("it is enough", 1), "its reason, and that it succeeds")


# --- tables ----------------------------------------------------------------------------------------------------------------------

def columns(path):
    with sqlite3.connect(path) as db:
        tables = [name for name, in db.execute("select name from sqlite_schema where type = 'table' and name like 'maestro_%'")]
        return {table: sorted(row[1:4] + row[5:6] for row in db.execute(f"pragma table_xinfo({table})")) for table in tables}


@case("proves: A-038 A-101 A-139 A-168 A-206 A-273 A-268")
def a_store_of_the_first_version_gets_the_tables_of_today_and_its_runs_what_is_new(t):
    old = t.write("store.db", gzip.decompress((ROOT / "test/golden/store/1.db.gz").read_bytes()))
    t.equal(rows(t, "select max(version) from maestro_schema"), [(1,)])
    do(t, "run", "examples/hello.yaml")
    fresh = t.folder / "fresh.db"
    t.maestro("run", "examples/hello.yaml", "--store", f"sqlite:{fresh}")
    got, want = columns(old), columns(fresh)
    t.equal(sorted(got), sorted(want), "the tables")
    for table in want:
        t.equal([c[0] for c in got.get(table, [])], [c[0] for c in want[table]], f"columns of {table}")
    for table in ("resolution_decisions", "compensation_runs", "branch_decisions", "poll_attempts", "trigger_payloads"):
        t.true(f"maestro_{table}" in got, table)
    # What failed under the first version, of a definition that knew nothing of it, can be decided on and retried from a step.
    failed = json.loads((ROOT / "test/golden/store/1.json").read_text())["failed"]["run"]
    step = rows(t, f"select failed_step_key from maestro_workflows where id = '{failed}'")[0][0]
    shown = do(t, "retry-from", failed, step, "--dry-run").out
    t.contains(shown, step)
    do(t, "resolve", failed, "--decision", "mark-resolved", "--reason", "long ago")
    t.equal(rows(t, "select decision_type, reason from maestro_resolution_decisions"), [("MARK_RESOLVED", "long ago")])
    do(t, "store", "verify")


@case("proves: A-132")
def skip_reasons_that_an_older_version_wrote_are_renamed(t):
    path = t.write("skip.yaml", "workflow: skip\nparams: [ { name: x, type: integer, default: 0 } ]\njobs:\n"
                                "  route: { branch: { type: exclusive, select: '\"a\"', cases: { a: [a], b: [b] } } }\n"
                                "  a: { tasks: [ { name: a, log: a, terminate_when: { condition: params.x == 0, state: succeeded, reason: enough } } ] }\n"
                                "  b: { tasks: [ { log: b } ] }\n  c: { needs: [a], tasks: [ { log: c } ] }\n")
    do(t, "run", path)
    want = rows(t, "select step_key, skip_reason from maestro_step_runs where status = 'SKIPPED' order by step_key")
    t.equal({reason for _, reason in want}, {"NOT_ON_ACTIVE_BRANCH", "TERMINATED_EARLY"})
    with sqlite3.connect(t.folder / "store.db") as db:
        db.executescript("update maestro_step_runs set skip_reason = 'BRANCH_NOT_TAKEN' where skip_reason = 'NOT_ON_ACTIVE_BRANCH';"
                         "update maestro_step_runs set skip_reason = 'EARLY_TERMINATION' where skip_reason = 'TERMINATED_EARLY';"
                         "delete from maestro_schema; insert into maestro_schema (version, applied_ms) values (3, 0);")
        for later in ("maestro_tenant_use", "maestro_removed_revisions", "maestro_key_uses", "maestro_waiting_starts",
                      "maestro_schedule_overrides", "maestro_policy_reviews"):
            db.execute(f"drop table {later}")
    do(t, "run", "examples/hello.yaml")
    t.equal(rows(t, "select step_key, skip_reason from maestro_step_runs where status = 'SKIPPED' order by step_key"), want)
    do(t, "store", "verify")


# --- the examples ----------------------------------------------------------------------------------------------------------------

@case("proves: A-078 A-003")
def the_example_of_an_inventory_is_compensated_when_a_later_step_fails(t):
    shipped = (ROOT / "examples/inventory.yaml").read_text()
    plan = t.maestro("plan", "--json", "examples/inventory.yaml").json()["plan"]
    step = plan["steps"][0]
    t.equal((step["name"], step["run"]), ("reserve-inventory", "ReserveInventoryJob"))
    undo = step["compensation"]
    t.equal((undo["run"], undo["timeout_ms"], undo["retries"]["attempts"], undo["retries"]["strategy"]),
            ("ReleaseInventoryJob", 60000, 3, "exponential"))
    do(t, "run", "examples/inventory.yaml", "-p", "order_id=17")
    t.equal(state(t)[0], "SUCCEEDED")
    path = t.write("inventory.yaml", shipped.replace("1.0.0", "1.1.0") + "  - { name: ship, run: shell, input: { command: exit 65 } }\n")
    t.maestro("run", path, "-p", "order_id=18", "--runners", "examples/runners.yaml", *store(t))
    t.equal(state(t)[0], "COMPENSATED")
    t.equal(rows(t, "select step_key, compensation_job_class, status, max_attempts from maestro_compensation_runs"),
            [("reserve-inventory", "ReleaseInventoryJob", "SUCCEEDED", 3)])


@case("proves: A-146")
def the_example_of_a_payment_is_polled_for_two_days_at_most(t):
    plan = t.maestro("plan", "--json", "examples/payment.yaml").json()["plan"]
    step = next(s for s in plan["steps"] if s["name"] == "wait-for-payment-confirmation")
    poll = step["poll"]
    t.equal((step["run"], step["output_schema"]["title"]), ("CheckPaymentStatusJob", "PaymentConfirmationOutput"))
    t.equal((poll["interval_ms"], poll["max_duration_ms"], poll["max_attempts"]), (300000, 172800000, 576))
    t.equal((poll["on_timeout"], poll["default_output"]), ("ContinueWithDefault", {"paid": False}))
    process = t.start("run", "examples/payment.yaml", *store(t))
    t.until(lambda: (t.folder / "store.db").exists() and t.maestro("show", "last", *store(t)).code == 0
            and rows(t, "select 1 from maestro_poll_attempts"), "the first poll was made")
    t.until(lambda: rows(t, "select 1 from maestro_step_runs where status = 'POLLING'"), "it waits for the next one")
    due = rows(t, "select round((julianday(r.next_poll_at) - julianday(p.executed_at)) * 86400) from maestro_step_runs r "
                  "join maestro_poll_attempts p on p.step_run_id = r.id")
    t.equal(due, [(300.0,)], "seconds to the next poll, as stored")
    process.send_signal(signal.SIGKILL)
    process.wait()
    runners = (ROOT / "examples/runners.yaml").read_text()
    says = '*"\\"results\\":[]"*) echo "{\\"complete\\":false}";;'
    t.true(says in runners, "the stand-in is not complete at first")
    t.write("runners.yaml", runners.replace(says, ""))
    done = t.maestro("run", "examples/payment.yaml", "--runners", t.folder / "runners.yaml", "--store", f"sqlite:{t.folder}/other.db")
    t.equal(done.code, 0, done.err)
    t.equal(rows(t, "select status, poll_attempt_count from maestro_step_runs where step_type = 'PollingStep' or poll_attempt_count > 0",
                 "other.db"), [("SUCCEEDED", 1)])


# --- alone, and what every job is given ------------------------------------------------------------------------------------------

@case("proves: A-241 A-124")
def each_feature_works_without_the_others(t):
    table = (("resolution", "workflow: f\nfailure_resolution: { strategy: auto_retry, max_retries: 1, retry_delay: 20ms }\n"
                            "jobs: { a: { tasks: [ { run: shell, input: { command: 'test -e FOLDER/second || { touch FOLDER/second; exit 65; }' } } ] } }\n", 0),
             ("compensation", "workflow: f\non_failure: compensate_all\njobs: { a: { tasks: [ { name: x, log: x, compensation: { run: noop } }, "
                              "{ name: y, run: shell, input: { command: exit 65 } } ] } }\n", 1),
             ("a condition", "workflow: f\nparams: [ { name: x, type: integer, default: 0 } ]\njobs: { a: { when: params.x == 1, tasks: [ { log: x } ] } }\n", 0),
             ("polls", "workflow: f\njobs: { a: { tasks: [ { run: shell, poll: { interval: 20ms, max_duration: 10m }, "
                       "input: { command: 'echo ''{\"complete\": true}'' > $MAESTRO_OUTPUT' } } ] } }\n", 0),
             ("a pause", "workflow: f\njobs: { a: { tasks: [ { log: x, pause_after: { trigger: go, auto_resume_after: 20ms } } ] } }\n", 0),
             ("none of them", "workflow: f\njobs: { a: { tasks: [ { log: x } ] }, b: { needs: [a], tasks: [ { log: y } ] } }\n", 0))
    for name, text, code in table:
        with t.row(name):
            text = text.replace("FOLDER", str(t.folder)).replace("workflow: f", f"workflow: {name.replace(' ', '-')}")
            result = t.maestro("run", t.write("f.yaml", text), "--again", *store(t))
            t.equal(result.code, code, result.out + result.err)
    states = [row[0] for row in rows(t, "select state from maestro_workflows order by run_no")]
    t.equal(states, ["SUCCEEDED", "COMPENSATED", "SUCCEEDED", "SUCCEEDED", "SUCCEEDED", "SUCCEEDED"])


@case("proves: A-280 A-097")
def every_kind_of_job_is_given_the_same_and_gives_output_or_error(t):
    save = "cat > FOLDER/NAME.json; "
    text = """workflow: jobs
params: [ { name: order, type: string } ]
on_failure: compensate_all
jobs:
  a:
    tasks:
      - { name: work, run: shell, input: { n: 1, command: "SAVE(work) GIVES(work)" }, compensation: { run: shell, input: { command: "SAVE(undo)" } } }
      - { name: poll, run: shell, poll: { interval: 20ms, max_duration: 10m }, input: { got: "${outputs.work.n}", command: "SAVE(poll) GIVES(poll)" } }
      - { name: fail, run: shell, input: { got: "${outputs.poll.n}", command: "SAVE(fail) echo the reason >&2; exit 65" } }
"""
    outputs = {"work": {"n": 7}, "poll": {"complete": True, "output": {"n": 8}}}
    for name in ("work", "undo", "poll", "fail"):
        text = text.replace(f"SAVE({name})", save.replace("NAME", name))
    for name, output in outputs.items():
        text = text.replace(f"GIVES({name})", f"cat FOLDER/{name}.out > $MAESTRO_OUTPUT")
        t.write(f"{name}.out", json.dumps(output))
    result = t.maestro("run", t.write("jobs.yaml", text.replace("FOLDER", str(t.folder))), "-p", "order=17", *store(t))
    t.equal(result.code, 1, result.err)
    t.equal(state(t)[0], "COMPENSATED")
    given = {name: json.loads((t.folder / f"{name}.json").read_text()) for name in ("work", "poll", "fail", "undo")}
    for name, envelope in given.items():
        with t.row(name):
            t.true({"run", "step", "input", "params", "context", "idempotencyKey", "attempt", "deadline", "traceparent"} <= set(envelope), sorted(envelope))
            t.equal((envelope["params"], envelope["attempt"]), ({"order": "17"}, 1))
    t.equal((given["poll"]["input"]["got"], given["fail"]["input"]["got"]), (7, 8), "outputs that they require")
    about = given["undo"]["context"]["compensation"]
    t.equal((about["step"], about["output"], about["attempt"]), ("a.work", {"n": 7}, 1))
    t.equal(given["undo"]["run"], given["work"]["run"], "what is undone is told of the same run")
    t.equal((given["work"]["context"], "poll" in given["poll"]["context"]), (None, True))
    t.contains(t.maestro("show", "last", *store(t)).out, "the reason")


main()
