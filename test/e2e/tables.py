#!/usr/bin/env python3
"""Whoever can write the file changes one value in one table: verify notices, whichever it is, and says where."""
import json
import re
import shutil
import signal
import sqlite3
import time

from maestro_test import ROOT, case, main

# Columns that nothing can be held against; docs/ledger.md has the reason of each.
EXEMPT = {("maestro_logs", "*"), ("maestro_requests", "*"), ("maestro_revisions", "text"), ("maestro_tenant_use", "*"),
          ("maestro_key_uses", "*"), ("maestro_waiting_starts", "*")}
# What is ahead of the records on purpose: it is noticed where it falls behind them.
FROM_BELOW = {("maestro_log_heads", "epoch"), ("maestro_log_heads", "now_ms"), ("maestro_log_heads", "next_step_run_no")}
# A cache: without it a run is read from its first record.
CACHES = {"maestro_snapshots"}

FLOWS = {
    "plain": """workflow: plain
version: "1.0"
description: the first
params: [{ name: who, type: string, default: ana }]
idempotency_key: "plain-${params.who}"
jobs:
  one: { tasks: [{ name: say, run: shell, input: { command: "echo said; printf '{\\"n\\": 7}' > $MAESTRO_OUTPUT" } }] }
  no: { needs: [one], when: "outputs.one.say.n > 8", tasks: [{ log: never }] }
""",
    "order": """workflow: order
jobs:
  order:
    tasks:
      - { name: reserve, run: shell, input: { command: "true" }, compensation: { run: shell, input: { command: "true" } } }
      - { name: charge, run: shell, input: { command: "true" },
          compensation: { run: shell, input: { command: "echo no >&2; exit 75" }, retries: { attempts: 2, delay: 10ms, jitter_ms: 0 } } }
      - { name: ship, run: shell, input: { command: "test -e FOLDER/fixed || { echo broken >&2; exit 65; }" } }
""",
    "routing": """workflow: routing
jobs:
  check: { tasks: [{ name: look, run: shell, input: { command: "printf '{\\"kind\\": \\"fast\\"}' > $MAESTRO_OUTPUT" } }] }
  route: { needs: [check], branch: { select: outputs.check.look.kind, cases: { fast: [quick], slow: [lazy] }, converge: done } }
  quick: { tasks: [{ log: quick }] }
  lazy: { tasks: [{ log: lazy }] }
  done: { needs: [quick, lazy], tasks: [{ log: done }] }
""",
    "retried": """workflow: retried
jobs:
  flaky:
    tasks:
      - { name: twice, run: shell, retries: { attempts: 3, delay: 10ms, jitter_ms: 0 },
          input: { command: "test -e FOLDER/tried || { touch FOLDER/tried; echo not yet >&2; exit 75; }" } }
""",
    "waiting": """workflow: waiting
jobs:
  gate:
    tasks:
      - { log: first, wait_for_signal: { signal: start, timeout: 3h } }
      - { log: asks, wait_for_signal: { signal: go, timeout: 2h } }
""",
    "keyed": """workflow: keyed
jobs:
  pay: { tasks: [{ name: once, run: shell, idempotency: { strategy: dedupe-key, key: "charge-7", domain: orders }, input: { command: "true" } }] }
""",
    "costly": """workflow: costly
jobs:
  run: { tasks: [{ name: paid, run: shell, input: { command: "printf '{\\"cost\\": 0.25}\\n' >&$MAESTRO_EVENTS" } }] }
""",
    "later": """workflow: later
failure_resolution: { strategy: auto_retry, max_retries: 3, retry_delay: 5h }
jobs:
  bad: { tasks: [{ name: fails, run: shell, input: { command: "exit 65" } }] }
""",
    "held": """workflow: held
jobs:
  long: { tasks: [{ name: sleeps, run: shell, input: { command: "exec sleep 600" } }] }
  after: { needs: [long], tasks: [{ log: after }] }
""",
}


def store(t, name="store.db"):
    return ("--store", f"sqlite:{t.folder}/{name}")


def rows(t, sql, name="store.db"):
    with sqlite3.connect(f"file:{t.folder}/{name}?mode=ro", uri=True) as db:
        return db.execute(sql).fetchall()


def run(t, flow, *args, text=None):
    path = t.write(f"{flow}.yaml", (text or FLOWS[flow]).replace("FOLDER", str(t.folder)))
    result = t.maestro("run", path, "--quiet", *args, *store(t))
    t.require(result.code in (0, 1, 75), f"{flow}: {result.code} {result.out}{result.err}")
    return rows(t, "select id from maestro_workflows order by run_no desc limit 1")[0][0]


def ok(t, *args):
    result = t.maestro(*args, *store(t))
    t.require(result.code == 0, f"maestro {' '.join(map(str, args))}: {result.code} {result.out}{result.err}")
    return result


def fill(t):
    """A store with runs of every kind."""
    run(t, "plain")
    time.sleep(0.002)                   # a run that ended before another began, by the clock of the log
    ok(t, "store", "archive", "--before", "2999-01-01", "--to", t.folder / "old.jsonl")
    run(t, "plain", "-p", "who=ben")
    run(t, "plain", "-p", "who=cleo", text=FLOWS["plain"].replace('"1.0"', '"1.1"').replace("the first", "the second"))
    failed = run(t, "order")
    (t.folder / "fixed").touch()
    ok(t, "resolve", failed, "--decision", "retry", "--reason", "mended")
    ok(t, "resume", failed, "--quiet")
    (t.folder / "fixed").unlink()
    undone = run(t, "order")
    ok(t, "compensate", undone, "--reason", "wrong customer", "--step", "order.reserve")
    t.maestro("resume", undone, "--quiet", *store(t))
    half = run(t, "order")
    ok(t, "compensate", half)
    t.maestro("resume", half, "--quiet", *store(t))
    for flow in ("routing", "retried", "keyed", "costly"):
        run(t, flow)
    run(t, "keyed")
    for flow in ("later", "waiting", "held", "held"):
        owner = t.start("run", t.write(f"{flow}.yaml", FLOWS[flow]), "--quiet", *store(t))
        t.until(lambda: rows(t, "select 1 from maestro_step_runs as s join maestro_workflows as w on w.run_no = s.workflow_id where"
                                f" w.definition_key = '{flow}' and (w.completed_ms is null or w.auto_retry_at is not null) and (waiting_for is not null or s.status = 'RUNNING' or w.auto_retry_at is not null)"),
                f"{flow} is under way")
        one = rows(t, "select id from maestro_workflows order by run_no desc limit 1")[0][0]
        if flow == "waiting":
            ok(t, "signal", one, "start", "--payload", '{"by": "ana"}')
            t.until(lambda: rows(t, "select 1 from maestro_step_runs where waiting_for = 'go'"), "the second gate")
        elif flow == "later":
            pass
        elif not rows(t, "select 1 from maestro_workflows where state = 'CANCELLED'"):
            ok(t, "cancel", one)
            t.end(owner)
            continue
        else:
            ok(t, "pause", one)
        owner.send_signal(signal.SIGKILL)
        t.end(owner)
    for name, tenant in (("TOKEN", "default"), ("TOKEN", "default"), ("OTHER", "default"), ("TOKEN", "acme")):
        t.equal(t.maestro("secret", "set", name, "--tenant", tenant, *store(t), stdin="value").code, 0)
    ok(t, "secret", "remove", "OTHER")
    run(t, "cold", text="workflow: cold\ntriggers: [{ manual: true }, { schedule: { cron: '0 1 * * *', freeze_windows: ['Jan 1..Dec 31'] } }]\n"
                        "jobs: { a: { tasks: [{ log: x }] } }\n")
    for at in [n["at"] for n in ok(t, "schedule", "next", "cold", "--json").json()[0]["next"]][:2]:
        ok(t, "schedule", "override", "cold", at, "--reason", "for the auditors")
    ok(t, "schedule", "override", "cold", at, "--remove")
    for verdict in ("rejected", "approved"):
        ok(t, "policy", "review", "prod-guardrails", "--verdict", verdict, "--reviewer", "ana", "--comment", "read")
    with sqlite3.connect(t.folder / "store.db") as db:
        for (trigger,) in db.execute("select name from sqlite_master where type = 'trigger'").fetchall():
            db.execute(f"drop trigger {trigger}")
    db.execute("pragma wal_checkpoint(truncate)").fetchall()
    db.close()


def tables(t):
    text = (ROOT / "src" / "view" / "tables.def").read_text()
    names = {macro: name for macro, name in re.findall(r'^TABLE\((\w+), "(\w+)"', text, re.M)}
    return {names[macro]: [column for other, column in re.findall(r"^COLUMN\((\w+), (\w+),", text, re.M) if other == macro] for macro in names}


def changed(value, column):
    """Another value that the table takes."""
    if value is None:
        return 7 if column.endswith(("_ms", "_at", "_offset", "_size", "_count", "_no", "holder")) else "changed"
    if isinstance(value, int):
        return value + 1000003
    if isinstance(value, bytes):
        return bytes([value[0] ^ 1]) + value[1:] if value else b"x"
    if value[:1] in "[{":
        return json.dumps(["changed"])
    return value + "x"


def copy_with(t, sql, *args):
    """A copy of the store in which somebody has done this."""
    path = t.folder / "changed.db"
    for suffix in ("", "-wal", "-shm"):
        (t.folder / f"changed.db{suffix}").unlink(missing_ok=True)
    shutil.copy(t.folder / "store.db", path)
    db = sqlite3.connect(path)
    count = db.execute(sql, args).rowcount
    db.commit()
    db.close()
    return count


def exempt(table, column):
    return (table, "*") in EXEMPT or (table, column) in EXEMPT


@case("proves: F-097")
def every_column_of_every_table_that_is_changed_is_noticed(t):
    fill(t)
    sound = t.maestro("store", "verify", *store(t))
    t.require(sound.code == 0, f"the store as it is: {sound.out}{sound.err}")
    t.matches(sound.out, r"\d+ rows are what the records make")
    noticed, empty = 0, set()
    for table, columns in tables(t).items():
        for column in columns:
            if exempt(table, column):
                continue
            with t.row(f"{table}.{column}"):
                # Archived runs aside: their records are elsewhere.
                here = "where archived_to is null" if table == "maestro_workflows" else \
                       "where length(record) > 0" if table == "maestro_ledger" else ""
                found = rows(t, f"select rowid, {column} from {table} {here} order by {column} is null, rowid" if not clustered(t, table)
                             else f"select null, {column} from {table} order by {column} is null")
                if not found:
                    empty.add(table)
                    continue
                row, value = found[0]
                new = 0 if (table, column) in FROM_BELOW else changed(value, column)
                where = f"where rowid = {row}" if row is not None else f"where {column} is ?"
                count = copy_with(t, f"update {table} set {column} = ? {where}", new, *([] if row is not None else [value]))
                t.true(count >= 1, "nothing was changed")
                result = t.maestro("store", "verify", *store(t, "changed.db"))
                if not t.equal(result.code, 65, f"{value!r} -> {new!r}: {result.out}{result.err}"):
                    continue
                t.contains(result.out, "DAMAGE")
                noticed += 1
    t.true(noticed > 150, f"{noticed} columns")
    # Of removed revisions: server_reads.py, since a server alone removes them.
    t.equal(empty, {"maestro_poll_attempts", "maestro_trigger_payloads", "maestro_leases", "maestro_outbox", "maestro_blobs",
                    "maestro_removed_revisions"},
            "tables that nothing writes")


def clustered(t, table):
    return "WITHOUT ROWID" in rows(t, f"select sql from sqlite_master where name = '{table}'")[0][0]


@case("proves: F-097")
def rows_that_are_removed_or_put_there_are_noticed(t):
    fill(t)
    for table in tables(t):
        if (table, "*") in EXEMPT or table in CACHES or not rows(t, f"select 1 from {table}"):
            continue
        with t.row(f"{table}: removed"):
            t.true(copy_with(t, f"delete from {table}") >= 1, "nothing was removed")
            t.equal(t.maestro("store", "verify", *store(t, "changed.db")).code, 65)
    put = {
        "maestro_dedupe": "insert into maestro_dedupe values ('default', 'orders', 'charge-8', 0, 3, 0)",
        "maestro_signals": "insert into maestro_signals (run_no, number, name, kind, received_ms) values (3, 9, 'x', 'operator', 1)",
        "maestro_timers": "insert into maestro_timers values (3, 99)",
        "maestro_tenant_keys": "insert into maestro_tenant_keys values ('t', x'00', 1, 'u')",
        "maestro_secrets": "insert into maestro_secrets values ('default', 'OTHER', x'00', 1, 'u', 1, 'u')",
        "maestro_plans": "insert into maestro_plans (digest, document, created_ms) values (x'00', '{}', 1)",
        "maestro_outbox": "insert into maestro_outbox (entry_no, kind, target, key, created_ms) values (1, 'a', 'b', 'c', 1)",
        "maestro_leases": "insert into maestro_leases values (1, 'x', null, 1)",
        "maestro_blobs": "insert into maestro_blobs values (1, x'00', 1)",
        "maestro_revisions": "insert into maestro_revisions (tenant, workflow_id, version, digest, active, name, triggers, parameters, steps, text,"
                             " created_ms, updated_ms) values ('t', 'w', 1, x'00', 1, 'n', '[]', '[]', '[]', '', 1, 1)",
        "maestro_removed_revisions": "insert into maestro_removed_revisions values ('t', 'w', 1)",
        "maestro_attempts": "insert into maestro_attempts (workflow_id, step_index, attempt) values (3, 0, 9)",
        "maestro_snapshots": "insert or replace into maestro_snapshots select run_no, 1, 1, x'00', x'00' from maestro_workflows where run_no = 3",
    }
    for table, statement in put.items():
        with t.row(f"{table}: put there"):
            copy_with(t, statement)
            t.equal(t.maestro("store", "verify", *store(t, "changed.db")).code, 65)


@case("proves: F-097")
def a_finding_names_table_key_column_found_and_expected(t):
    run(t, "plain")
    copy_with(t, "update maestro_workflows set state = 'FAILED'")
    one = rows(t, "select id from maestro_workflows")[0][0]
    want = 'maestro_workflows (1) state: found "FAILED", expected "SUCCEEDED"'
    for command in (("store", "verify"), ("ledger", "verify"), ("ledger", "verify", one), ("ledger", "verify", "last")):
        with t.row(" ".join(command[:3])):
            result = t.maestro(*command, *store(t, "changed.db"))
            t.equal(result.code, 65, result.err)
            t.contains(result.out, want)
            t.contains(result.out, one)
            sound = t.maestro(*command, *store(t))
            t.equal(sound.code, 0, sound.out + sound.err)
    unknown = t.maestro("ledger", "verify", "nothing-like-it", *store(t))
    t.equal(unknown.code, 69)
    t.contains(unknown.err, "no run")


main()
