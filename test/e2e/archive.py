#!/usr/bin/env python3
"""Runs that leave the store for a sealed file, and payloads that are erased: what stays verifies, and nothing is lost on the way."""
import json
import resource
import signal
import sqlite3
import subprocess

from maestro_test import MAESTRO, SANITIZED, case, main

VERIFY = MAESTRO.parent / "ledger-verify"
LATER = "2999-01-01"

ORDER = """workflow: order
params:
  - { name: customer, type: string, default: nobody }
idempotency_key: "order-${params.customer}"
jobs:
  order:
    tasks:
      - { name: reserve, run: shell, input: { command: "echo reserved; printf '{\\"shelf\\": 7}' > $MAESTRO_OUTPUT" } }
      - { name: ship, run: shell, input: { command: "true" } }
"""
BROKEN = """workflow: broken
jobs:
  broken:
    tasks:
      - { name: fail, run: shell, input: { command: "exit 65" } }
"""
WAITING = """workflow: waiting
jobs:
  waiting:
    tasks:
      - { log: asks, wait_for_signal: { signal: go, timeout: 1h } }
      - { name: last, run: shell, input: { command: "true" } }
"""


def store(t):
    return ("--store", f"sqlite:{t.folder}/store.db")


def rows(t, sql):
    with sqlite3.connect(f"file:{t.folder}/store.db?mode=ro", uri=True) as db:
        return db.execute(sql).fetchall()


def ok(t, *args):
    result = t.maestro(*args, *store(t))
    t.equal(result.code, 0, f"maestro {' '.join(str(a) for a in args)}: {result.out}{result.err}")
    return result


def run(t, text, name, *args):
    """Runs a definition; its id."""
    path = t.write(f"{name}.yaml", text)
    result = t.maestro("run", path, "--quiet", *args, *store(t))
    t.true(result.code in (0, 1), result.err)
    return newest(t)


def newest(t):
    return t.maestro("show", "last", "--json", *store(t)).json()["run"]


def order(t, customer):
    return run(t, ORDER, "order", "--param", f"customer={customer}")


def archive(t, name="old.jsonl", *args):
    return t.maestro("store", "archive", "--before", LATER, "--to", t.folder / name, *args, *store(t))


def sound(t, archived):
    """The whole log verifies, here and by the program that shares nothing with maestro."""
    t.contains(ok(t, "ledger", "verify").out, f"{archived} archived" if archived else "ok:")
    ok(t, "store", "verify")
    export = t.folder / "whole.jsonl"
    export.unlink(missing_ok=True)
    ok(t, "ledger", "export", "-o", export)
    ok(t, "ledger", "verify", export)
    result = t.run(VERIFY, export)
    t.equal(result.code, 0, result.out)
    if archived:
        t.contains(result.out, f"{archived} runs archived")


@case()
def runs_that_are_over_leave_their_heads_and_can_be_verified(t):
    runs = [order(t, "ana"), order(t, "ben")]
    before = {run: ok(t, "show", run, "--json").json() for run in runs}
    result = archive(t)
    t.equal(result.code, 0, result.err)
    t.contains(result.out, "2 runs")
    file = t.folder / "old.jsonl"
    t.true(not (t.folder / "old.jsonl.part").exists(), "what was written first is still there")
    sound(t, 2)
    t.equal(ok(t, "ledger", "verify", file).out.split(":")[0], "ok")
    t.equal(t.run(VERIFY, file).code, 0)
    t.equal(file.stat().st_mode & 0o777, 0o600)
    for table, key in (("step_runs", "workflow_id"), ("attempts", "workflow_id"), ("logs", "run_no"), ("snapshots", "run_no")):
        t.equal(rows(t, f"select count(*) from maestro_{table} where {key} is not null"), [(0,)], table)
    t.equal(rows(t, "select count(*) from maestro_ledger where run_no is not null and (length(record) > 0 or payload is not null)"), [(0,)])
    for one in runs:
        shown = ok(t, "show", one, "--json").json()
        t.equal(shown["archivedTo"], str(file))
        for member in ("run", "workflow", "state", "startedAt", "completedAt", "eventCount", "idempotencyKey"):
            t.equal(shown[member], before[one][member], member)
        t.contains(ok(t, "show", one).out, str(file))
        for command in (("show", one, "--events"), ("replay", one), ("inspect", one), ("logs", one), ("ledger", "export", one)):
            refused = t.maestro(*command, *store(t))
            t.true(refused.code != 0, command)
            t.contains(refused.err, str(file), command)
        refused = t.maestro("signal", one, "go", *store(t))
        t.true(refused.code != 0 and "archived" in refused.err, refused.err)
    # The digest that ends the file is in the log.
    digest = json.loads(file.read_text().splitlines()[-1])["digest"]
    notes = [event for line in ok(t, "ledger", "show", "-n", "100").out.splitlines() for event in json.loads(line).get("events", [])
             if event["event"] == "run-archived"]
    t.equal([(note["name"], note["key"]) for note in notes], [(one, digest) for one in runs])


@case()
def what_is_archived_is_not_started_again_and_the_store_goes_on(t):
    first = order(t, "ana")
    t.equal(archive(t).code, 0)
    again = t.maestro("run", t.folder / "order.yaml", "--quiet", "--param", "customer=ana", *store(t))
    t.equal(again.code, 69, "a start with the key of an archived run")
    t.contains(again.err, f"run {first} was archived")
    t.equal(rows(t, "select count(*) from maestro_workflows"), [(1,)])
    second = order(t, "cleo")
    t.true(second != first, "another key")
    t.equal(ok(t, "show", second, "--json").json()["state"], "succeeded")
    sound(t, 1)
    again = archive(t, "more.jsonl")
    t.equal(again.code, 0, again.err)
    t.contains(again.out, "1 run,")
    sound(t, 2)
    t.equal(ok(t, "show", first, "--json").json()["archivedTo"], str(t.folder / "old.jsonl"))


KEYED = """workflow: keyed
params: [{ name: n, type: integer, default: 0 }]
jobs:
  pay:
    tasks:
      - { name: once, run: shell, idempotency: { strategy: dedupe-key, key: "charge-7", domain: orders },
          input: { command: "echo paid >> FOLDER/paid" } }
"""


@case("proves: F-059")
def what_was_done_under_a_key_is_not_done_again_after_it_was_archived(t):
    text = KEYED.replace("FOLDER", str(t.folder))
    run(t, text, "keyed")
    t.equal(archive(t).code, 0)
    run(t, text, "keyed", "--param", "n=1")
    t.equal((t.folder / "paid").read_text(), "paid\n")
    t.equal(ok(t, "show", "last", "--json").json()["state"], "succeeded")
    sound(t, 1)


@case()
def archived_runs_are_listed_as_such_and_not_exported_in_half(t):
    one = order(t, "ana")
    t.equal(archive(t).code, 0)
    listed = ok(t, "runs").out
    t.contains(listed, "archived")
    t.lacks(listed, "0/2")
    t.equal(json.loads(ok(t, "runs", "--json").out)["steps"]["done"], None)
    for args in ((), ("-o", t.folder / "one.jsonl")):
        refused = t.maestro("ledger", "export", one, *args, *store(t))
        t.equal((refused.code, refused.out), (69, ""))
    t.equal(list(t.folder.glob("one.jsonl*")), [])


@case()
def open_runs_and_those_that_await_a_decision_stay(t):
    done = order(t, "ana")
    failed = run(t, BROKEN, "broken")
    owner = t.start("run", t.write("waiting.yaml", WAITING), "--quiet", *store(t))
    t.until(lambda: rows(t, "select 1 from maestro_step_runs where waiting_for = 'go'"), "the step waits")
    waiting = rows(t, "select id from maestro_workflows where definition_key = 'waiting'")[0][0]
    owned = archive(t)
    t.true(owned.code != 0, "a store that a process owns")
    t.contains(owned.err, f"process {owner.pid}")
    t.contains(owned.err, "end what uses it")
    t.true(not (t.folder / "old.jsonl").exists(), "something was written")
    owner.send_signal(signal.SIGKILL)
    t.end(owner)
    kept = {one: ok(t, "show", one, "--json").out for one in (failed, waiting)}
    result = archive(t)
    t.equal(result.code, 0, result.err)
    t.contains(result.out, "1 run,")
    t.true("archivedTo" in ok(t, "show", done, "--json").json(), "what was over is archived")
    for one, text in kept.items():
        t.equal(ok(t, "show", one, "--json").out, text)
        ok(t, "replay", one, "--verify")
    sound(t, 1)
    ok(t, "signal", waiting, "go")
    ok(t, "resume", waiting, "--quiet")
    ok(t, "resolve", failed, "--decision", "mark-resolved", "--reason", "not needed any more")
    sound(t, 1)
    result = archive(t, "rest.jsonl")
    t.equal(result.code, 0, result.err)
    t.contains(result.out, "2 runs")
    sound(t, 3)


@case()
def what_is_wrong_with_the_command_is_told_and_changes_nothing(t):
    order(t, "ana")
    for args, code, text in ((("--to", t.folder / "x"), 2, "--before is needed"), (("--before", "soon"), 2, "is no time"),
                             (("--before", "2001-01-01", "--to", t.folder / "x"), 0, "nothing was archived")):
        result = t.maestro("store", "archive", *args, *store(t))
        t.equal(result.code, code, args)
        t.contains(result.out + result.err, text)
    taken = t.write("taken.jsonl", "mine")
    result = archive(t, "taken.jsonl")
    t.true(result.code != 0, "a file that exists")
    t.contains(result.err, "is not overwritten")
    t.equal(taken.read_text(), "mine")
    result = archive(t, "nowhere/old.jsonl")
    t.true(result.code != 0, "a directory that does not exist")
    t.contains(result.err, "nowhere")
    t.equal(rows(t, "select count(*) from maestro_workflows where archived_to is not null"), [(0,)])
    sound(t, 0)


@case()
def every_change_of_an_archive_is_found(t):
    order(t, "ana")
    order(t, "ben")
    t.equal(archive(t).code, 0)
    whole = (t.folder / "old.jsonl").read_bytes()
    lines = whole.splitlines(keepends=True)
    damaged = [b"".join(lines[:i] + lines[i + 1:]) for i in range(len(lines))] + [b"".join(lines[:i]) for i in range(len(lines))]
    last = len(whole) - len(lines[-1])              # what no digest covers is looked at byte by byte
    for at in [*range(0, last, 401 if SANITIZED else 101), *range(last, len(whole) - 1, 7 if SANITIZED else 1)]:
        changed = bytearray(whole)
        changed[at] ^= 1
        damaged.append(bytes(changed))
    for number, text in enumerate(damaged):
        path = t.write("changed.jsonl", text)
        alone = t.run(VERIFY, path)
        if not t.true(alone.code in (1, 65), f"change {number}: ledger-verify says {alone.out}{alone.err}"):
            break
        if number % 5 == 0:
            t.true(t.maestro("ledger", "verify", path).code in (65, 69) or b"shown" in text, f"change {number}")


@case()
def records_that_somebody_takes_away_are_missed(t):
    order(t, "ana")
    order(t, "ben")
    with sqlite3.connect(t.folder / "store.db") as db:
        db.execute("drop trigger maestro_ledger_keeps_records")
        db.execute("update maestro_ledger set record = x'', payload = null where run_no = 1")
        db.execute("update maestro_workflows set archived_to = 'nowhere' where run_no = 1")
    result = t.maestro("ledger", "verify", *store(t))
    t.equal(result.code, 65)
    t.contains(result.out, "record-missing")
    result = archive(t)
    t.equal(result.code, 0, result.err)
    t.equal(t.maestro("ledger", "verify", *store(t)).code, 65, "archiving others does not hide it")


@case()
def damaged_runs_are_not_archived(t):
    order(t, "ana")
    with sqlite3.connect(t.folder / "store.db") as db:
        db.execute("drop trigger maestro_ledger_keeps_records")
        db.execute("update maestro_ledger set record = cast(replace(cast(record as text), 'order', 'odder') as blob) where run_no = 1")
    result = archive(t)
    t.equal(result.code, 65, result.err)
    t.contains(result.err, "damaged")
    t.equal(list(t.folder.glob("old.jsonl*")), [])
    t.equal(rows(t, "select count(*) from maestro_workflows where archived_to is not null"), [(0,)])


MANY = "workflow: many\njobs:\n  many:\n    tasks:\n" + "".join(
    f'      - {{ name: t{i}, run: shell, input: {{ command: "true" }} }}\n' for i in range(40))


@case()
def a_kill_at_any_moment_loses_nothing_and_the_next_call_finishes(t):
    """Killed when the file appears, when rows name it, when rows go; whatever was reached, every run is in the store or in a
    file that verifies."""
    stages = [lambda: (t.folder / "0.jsonl.part").exists() or (t.folder / "0.jsonl").exists(),
              lambda: (t.folder / "1.jsonl").exists(),
              lambda: rows(t, "select 1 from maestro_workflows where archived_to like '%/2.jsonl'"),
              lambda: rows(t, "select 1 from maestro_workflows as w where archived_to like '%/3.jsonl' and not exists"
                              " (select 1 from maestro_step_runs as s where s.workflow_id = w.run_no)")]
    for number, stage in enumerate(stages):
        with t.row(f"stage {number}"):
            t.maestro("run", t.write("many.yaml", MANY), "--quiet", *store(t))
            one = newest(t)
            process = t.start("store", "archive", "--before", LATER, "--to", t.folder / f"{number}.jsonl", *store(t))
            t.until(lambda: process.poll() is not None or stage(), "the stage is reached")
            process.kill()
            t.end(process)
            t.contains(ok(t, "ledger", "verify").out, "ok:")
            ok(t, "store", "verify")
            shown = ok(t, "show", one, "--json").json()
            if "archivedTo" in shown:
                t.equal(t.run(VERIFY, shown["archivedTo"]).code, 0)
                t.contains((t.folder / f"{number}.jsonl").read_text(), one)
            else:
                ok(t, "replay", one, "--verify")
            again = archive(t, f"{number}-again.jsonl")
            t.equal(again.code, 0, again.err)
            t.true("archivedTo" in ok(t, "show", one, "--json").json(), "not finished")
            t.equal(rows(t, "select count(*) from maestro_step_runs"), [(0,)])
            t.equal(rows(t, "select count(*) from maestro_ledger where run_no is not null and length(record) > 0"), [(0,)])
            sound(t, number + 1)


@case()
def what_an_interrupted_call_has_left_is_taken_away_by_the_next(t):
    """As a kill between two commits leaves it: rows name the file, some of what they had is gone, some is not."""
    first, second = order(t, "ana"), order(t, "ben")
    copy = t.folder / "copy.db"
    ok(t, "store", "backup", copy)
    t.equal(archive(t).code, 0)
    with sqlite3.connect(f"file:{copy}?mode=ro", uri=True) as old, sqlite3.connect(t.folder / "store.db") as db:
        db.execute("drop trigger maestro_ledger_keeps_records")
        db.execute("drop trigger maestro_ledger_keeps_payloads")
        position, record = old.execute("select position, record from maestro_ledger where run_no = 1 order by position desc").fetchone()
        db.execute("update maestro_ledger set record = ? where position = ?", (record, position))
        columns = [row[1] for row in old.execute("pragma table_info(maestro_step_runs)")]
        names = ", ".join(columns)
        for row in old.execute(f"select {names} from maestro_step_runs where workflow_id = 1 limit 1"):
            db.execute(f"insert into maestro_step_runs ({names}) values ({', '.join('?' * len(row))})", row)
    sound(t, 2)
    result = t.maestro("store", "archive", "--before", LATER, "--to", t.folder / "next.jsonl", *store(t))
    t.equal(result.code, 0, result.err)
    t.contains(result.out, "finished an archiving that was interrupted: took away what 1 archived run had left")
    t.equal(rows(t, "select count(*) from maestro_step_runs"), [(0,)])
    sound(t, 2)
    for one in (first, second):
        t.equal(ok(t, "show", one, "--json").json()["archivedTo"], str(t.folder / "old.jsonl"))


@case()
def a_file_that_cannot_be_written_whole_changes_nothing(t):
    one = order(t, "ana")
    target = t.folder / "old.jsonl"
    done = subprocess.run([str(MAESTRO), "store", "archive", "--before", LATER, "--to", str(target), *store(t)], capture_output=True,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024)), timeout=120, check=False)
    t.true(done.returncode != 0, "there was no room for it")
    t.true(not target.exists(), "a part has the name of the whole")
    t.equal(rows(t, "select count(*) from maestro_workflows where archived_to is not null"), [(0,)])
    ok(t, "replay", one, "--verify")
    t.equal(archive(t).code, 0)
    sound(t, 1)


@case()
def a_key_signs_the_end_of_the_log_beside_the_archive(t):
    order(t, "ana")
    key = t.folder / "anchor.key"
    result = archive(t, "old.jsonl", "--key", key)
    t.equal(result.code, 0, result.err)
    anchor = t.folder / "old.jsonl.anchor"
    ok(t, "ledger", "verify", "--anchor", anchor, "--key", f"{key}.pub")


# --- erasing ---

ROUTED = """workflow: routed
jobs:
  look: { tasks: [{ name: up, run: shell, input: { command: "printf '{\\"kind\\": \\"secretive\\"}' > $MAESTRO_OUTPUT" } }] }
  route: { needs: [look], branch: { select: outputs.look.up.kind, cases: { secretive: [a], other: [b] }, converge: done } }
  a: { tasks: [{ log: a }] }
  b: { tasks: [{ log: b }] }
  done: { needs: [a, b], tasks: [{ log: done }] }
"""


@case()
def what_other_tables_show_of_an_erased_payload_goes_with_it(t):
    one = run(t, ROUTED, "routed")
    t.contains(str(rows(t, "select input_summary from maestro_branch_decisions")), "secretive")
    for step in ("look.up", "route.branch", "a.log", "a", "route"):
        t.maestro("ledger", "erase", one, step, "--reason", "asked for", *store(t))
    for (position,) in rows(t, "select distinct output_at from maestro_step_runs where output_at is not null"):
        t.equal(rows(t, f"select payload from maestro_ledger where position = {position}"), [(None,)])
    t.lacks(str(rows(t, "select input_summary from maestro_branch_decisions")), "secretive")
    sound(t, 0)


@case()
def an_erased_payload_is_told_as_erased(t):
    one = order(t, "ana")
    other = order(t, "ben")
    result = ok(t, "ledger", "erase", one, "order.reserve", "--output", "--reason", "held an address")
    t.contains(result.out, "were erased")
    t.contains(ok(t, "ledger", "verify").out, "1 payloads erased")
    shown = ok(t, "inspect", one, "order.reserve", "--json").json()
    t.equal(shown["output"], {"erased": True})
    t.equal(ok(t, "inspect", other, "order.reserve", "--json").json()["output"], {"shelf": 7})
    ok(t, "ledger", "erase", one, "--params", "--reason", "asked for by ana")
    t.equal(ok(t, "show", one, "--json").json()["params"], {"erased": True})
    ok(t, "replay", one, "--verify")
    notes = [event for line in ok(t, "ledger", "show", "-n", "100").out.splitlines() for event in json.loads(line).get("events", [])
             if event["event"] == "payload-erased"]
    t.equal([note["message"] for note in notes], ["held an address", "asked for by ana"])
    export = t.folder / "whole.jsonl"
    ok(t, "ledger", "export", "-o", export)
    alone = t.run(VERIFY, export)
    t.equal(alone.code, 0, alone.out)
    t.contains(alone.out, "its payload was erased")
    t.true(b"ana" not in b"".join(row[0] or b"" for row in rows(t, "select payload from maestro_ledger where run_no = 1")), "the name is still there")
    # A run whose payloads were erased can be archived, and its log still verifies.
    t.equal(archive(t).code, 0)
    sound(t, 2)


@case()
def what_cannot_be_erased_is_refused(t):
    one = order(t, "ana")
    failed = run(t, BROKEN, "broken")
    for args, code, text in (((one, "order.reserve"), 2, "--reason TEXT is needed"), ((one, "--reason", "x"), 2, "name a STEP"),
                             ((one, "--params", "--input", "--reason", "x"), 2, "are of a STEP"),
                             ((one, "nothing", "--reason", "x"), 69, "has no step"),
                             ((failed, "--params", "--reason", "x"), None, "may still need it"),
                             (("nobody", "--params", "--reason", "x"), 69, "there is no run")):
        result = t.maestro("ledger", "erase", *args, *store(t))
        t.true(result.code == code if code is not None else result.code != 0, f"{args}: {result.code}")
        t.contains(result.err, text)
    ok(t, "ledger", "erase", one, "order.reserve", "--reason", "x")
    again = t.maestro("ledger", "erase", one, "order.reserve", "--reason", "x", *store(t))
    t.equal(again.code, 69)
    t.contains(again.err, "nothing to erase")
    owner = t.start("run", t.write("waiting.yaml", WAITING), "--quiet", *store(t))
    t.until(lambda: rows(t, "select 1 from maestro_step_runs where waiting_for = 'go'"), "the step waits")
    owned = t.maestro("ledger", "erase", one, "--params", "--reason", "x", *store(t))
    t.true(owned.code != 0, "a store that a process owns")
    t.contains(owned.err, "end what uses it")
    owner.kill()
    t.end(owner)
    ok(t, "ledger", "verify")


main()
