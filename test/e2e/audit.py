#!/usr/bin/env python3
"""What a store proves: ledger verify, show, export, anchor; replay; store backup and verify; doctor."""
import json
import os
import sqlite3

from maestro_test import MAESTRO, case, main

FLOW = """workflow: audited
params: [{ name: who, type: string, default: x }]
jobs:
  a: { tasks: [{ log: "Hello, ${params.who}" }] }
  b: { needs: [a], tasks: [{ log: "Bye" }] }
"""


def store(t, name="store.db"):
    return ("--store", f"sqlite:{t.folder}/{name}")


def fill(t, count=2):
    file = t.write("audited.yaml", FLOW)
    for i in range(count):
        t.require(t.maestro("run", file, "-p", f"who={i}", *store(t)).code == 0, "a run")


def damage(t, *statements, name="store.db"):
    """What someone does who can write the file: without the triggers, SQL can do anything."""
    with sqlite3.connect(t.folder / name) as db:
        for (trigger,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            db.execute(f"DROP TRIGGER {trigger}")
        for statement in statements:
            db.execute(statement)
    db.close()


def verify_damaged(t, statement, name):
    """What is found in a copy of the store that was damaged."""
    t.equal(t.maestro("store", "backup", t.folder / name, *store(t)).code, 0)
    damage(t, statement, name=name)
    found = t.maestro("ledger", "verify", *store(t, name))
    t.equal(found.code, 65)
    return found


@case("proves: F-097")
def a_sound_ledger_verifies_and_every_damage_is_found(t):
    fill(t)
    good = t.maestro("ledger", "verify", *store(t))
    t.equal(good.code, 0)
    t.matches(good.out, r"^ok: \d+ records, \d+ events, 2 runs$")
    summary = json.loads(t.maestro("ledger", "verify", "--json", *store(t)).out.splitlines()[-1])
    t.equal((summary["ok"], summary["damage"], summary["runs"]), (True, 0, 2))
    count = summary["records"]
    cases = {
        "a changed record": "UPDATE maestro_ledger SET record = CAST(substr(record, 1, 20) || X'FF' || substr(record, 22) AS BLOB) WHERE position = 2",
        "a removed record": "DELETE FROM maestro_ledger WHERE position = 2",
        "a cut end": f"DELETE FROM maestro_ledger WHERE position = {count}",
        "a changed payload": "UPDATE maestro_ledger SET payload = CAST(payload || X'20' AS BLOB) WHERE position = (SELECT min(position) FROM maestro_ledger WHERE payload IS NOT NULL)",
        "an erased payload without an event": "UPDATE maestro_ledger SET payload = NULL WHERE position = (SELECT min(position) FROM maestro_ledger WHERE payload IS NOT NULL)",
        "another head of a run": "UPDATE maestro_workflows SET head = zeroblob(32) WHERE run_no = 1",
        "another count of events": "UPDATE maestro_workflows SET event_count = 1 WHERE run_no = 2",
    }
    for number, (what, statement) in enumerate(cases.items()):
        with t.row(what):
            found = verify_damaged(t, statement, name := f"copy-{number}.db")
            t.matches(found.out, r"^DAMAGE .*(record \d+|run )")
            t.matches(found.out, r"^damaged: .* finding")
            t.equal(t.maestro("store", "verify", *store(t, name)).code, 65, "store verify")


@case()
def rows_of_secrets_and_reviews_that_no_record_makes_are_found(t):
    runners = ("--runners", "examples/runners.yaml")
    for value in ("one", "two"):                            # its second value changes when it was set, and not when it was made
        t.require(t.maestro("secret", "set", "TOKEN", *store(t), stdin=value).code == 0, "a secret")
    t.require(t.maestro("secret", "set", "GONE", *store(t), stdin="x").code == 0 and t.maestro("secret", "remove", "GONE", *store(t)).code == 0, "a removed one")
    for verdict in ("rejected", "approved"):
        made = t.maestro("policy", "review", "sast-required", "--verdict", verdict, "--reviewer", "Ada", *store(t), *runners)
        t.require(made.code == 0, "a review: " + made.err)
    good = t.maestro("ledger", "verify", *store(t))
    t.equal(good.code, 0, good.out)
    cases = {
        "other sealed bytes": ("UPDATE maestro_secrets SET sealed = zeroblob(60)", r"maestro_secrets \(.*TOKEN.*\) sealed: found bytes of another digest"),
        "another key of a tenant": ("UPDATE maestro_tenant_keys SET sealed = zeroblob(72)", r"maestro_tenant_keys \(.*\) sealed: found bytes"),
        "another time of a secret": ("UPDATE maestro_secrets SET created_ms = updated_ms + 1", r"maestro_secrets \(.*\) created_ms: found"),
        "a secret that was removed": ("INSERT INTO maestro_secrets SELECT tenant, 'GONE', sealed, created_ms, created_by, updated_ms, updated_by FROM maestro_secrets",
                                      r"maestro_secrets \(.*GONE.*\): no record makes this row"),
        "a secret that is gone": ("DELETE FROM maestro_secrets", r"maestro_secrets \(.*TOKEN.*\): the row is missing"),
        "another verdict": ("UPDATE maestro_policy_reviews SET verdict = 'rejected'", r"maestro_policy_reviews \(.*\) verdict: found \"rejected\", expected \"approved\""),
        "another version, by its last digit": ("UPDATE maestro_policy_reviews SET digest = substr(digest, 1, 70) || CASE substr(digest, 71) WHEN '0' THEN '1' ELSE '0' END",
                                               r"maestro_policy_reviews \(.*\): no record makes this row"),
        "another reviewer": ("UPDATE maestro_policy_reviews SET reviewer = 'Eve'", r"maestro_policy_reviews \(.*Ada.*\): the row is missing"),
    }
    for number, (what, (statement, finding)) in enumerate(cases.items()):
        with t.row(what):
            found = verify_damaged(t, statement, f"copy-{number}.db")
            t.matches(found.out, finding)


@case("proves: F-097")
def rows_of_the_ledger_can_be_neither_changed_nor_deleted(t):
    fill(t, 1)
    db = sqlite3.connect(t.folder / "store.db")
    for statement in ("UPDATE maestro_ledger SET record = X'00'", "DELETE FROM maestro_ledger",
                      "UPDATE maestro_ledger SET payload = X'00' WHERE position = 1", "UPDATE maestro_ledger SET hash = zeroblob(32)"):
        with t.row(statement):
            try:
                db.execute(statement)
                t.true(False, "it was permitted")
            except sqlite3.DatabaseError:
                pass
    db.rollback()
    db.close()
    t.equal(t.maestro("ledger", "verify", *store(t)).code, 0)


@case("proves: F-097")
def anchors_are_signed_kept_and_demanded(t):
    fill(t, 1)
    made = t.maestro("ledger", "anchor", *store(t))
    t.equal(made.code, 0)
    anchor = t.write("anchors.jsonl", made.out)
    key = t.folder / "store.db.key"
    t.equal(os.stat(key).st_mode & 0o777, 0o600, "permissions of the key")
    t.contains(made.err, "store.db.key.pub")
    fill(t, 1)
    anchor.write_text(anchor.read_text() + t.maestro("ledger", "anchor", *store(t)).out)
    t.equal(t.maestro("ledger", "verify", "--anchor", anchor, "--key", f"{key}.pub", *store(t)).code, 0, "the store has gone on")
    other = t.maestro("ledger", "verify", "--anchor", anchor, "--key", "0" * 64, *store(t))
    t.equal(other.code, 65, "another key")
    forged = t.write("forged.jsonl", anchor.read_text().replace('"position":', '"position":1'))
    t.equal(t.maestro("ledger", "verify", "--anchor", forged, "--key", f"{key}.pub", *store(t)).code, 65, "a forged anchor")
    t.equal(t.maestro("store", "backup", t.folder / "old.db", *store(t)).code, 0)
    other_store = ("--store", f"sqlite:{t.folder}/other.db")
    t.equal(t.maestro("run", t.folder / "audited.yaml", *other_store).code, 0)
    swapped = t.maestro("ledger", "verify", "--anchor", anchor, "--key", f"{key}.pub", *other_store)
    t.equal(swapped.code, 65, "a store that was written anew")
    key.chmod(0o644)
    refused = t.maestro("ledger", "anchor", *store(t))
    t.equal(refused.code, 77)
    t.contains(refused.err, "chmod 600")


@case("proves: F-097")
def an_export_is_verified_here_and_without_maestro(t):
    fill(t)
    whole, one = t.folder / "whole.jsonl", t.folder / "one.jsonl"
    t.equal(t.maestro("ledger", "export", "-o", whole, *store(t)).code, 0)
    one.write_text(t.maestro("ledger", "export", "last", *store(t)).out)
    for file in (whole, one):
        with t.row(file.name):
            t.equal(t.maestro("ledger", "verify", file).code, 0)
            if (MAESTRO.parent / "ledger-verify").exists():
                t.equal(t.run(MAESTRO.parent / "ledger-verify", file).code, 0, "ledger-verify")
            text = file.read_text()
            t.equal(t.maestro("ledger", "verify", t.write("bad.jsonl", text.replace('"prev":0', '"prev":1', 1))).code, 65, "a changed one")
    t.equal(t.maestro("ledger", "export", "-o", whole, *store(t)).code, 69, "a file that exists")
    t.equal(t.maestro("ledger", "verify", t.write("no.jsonl", "hello\n")).code, 65, "no export")


@case()
def records_are_shown(t):
    fill(t, 1)
    rows = [json.loads(line) for line in t.maestro("ledger", "show", "-n", "1000", *store(t)).out.splitlines()]
    t.equal([row["position"] for row in rows], list(range(1, len(rows) + 1)))
    events = [event["event"] for row in rows for event in row["events"]]
    t.equal(events[0], "owner-changed", "the log begins with its owner")
    t.true("run-created" in events, "the run's beginning")
    t.equal(rows[-1]["events"][-1]["event"], "run-succeeded")
    newest = [json.loads(line)["position"] for line in t.maestro("ledger", "show", "-n", "1", *store(t)).out.splitlines()]
    t.equal(newest, [len(rows)])
    t.equal([json.loads(line)["position"] for line in t.maestro("ledger", "show", "--from", "1", "-n", "1", *store(t)).out.splitlines()], [1])


@case()
def a_run_is_made_again_up_to_any_event(t):
    fill(t, 1)
    count = t.maestro("show", "last", "--json", *store(t)).json()["eventCount"]
    states = [t.maestro("replay", "last", "--at", n, "--json", *store(t)).json() for n in range(1, count + 1)]
    t.equal([s["event"] for s in states], list(range(1, count + 1)))
    t.equal((states[0]["state"], states[-1]["state"]), ("queued", "succeeded"))
    done = [sum(step["state"] == "succeeded" for step in s["steps"]) for s in states]
    t.equal((done, done[-1]), (sorted(done), 2), "steps that have succeeded never become fewer")
    t.contains(t.maestro("replay", "last", "--at", "1", *store(t)).out, f"after event 1 of {count}: queued")
    t.equal(t.maestro("replay", "last", "--verify", *store(t)).code, 0)
    beyond = t.maestro("replay", "last", "--at", count + 1, *store(t))
    t.equal(beyond.code, 65)
    t.contains(beyond.err, str(count))


@case()
def what_the_store_shows_is_compared_with_what_the_events_make(t):
    fill(t, 1)
    for number, statement in enumerate(("UPDATE maestro_workflows SET state = 'FAILED'", "UPDATE maestro_step_runs SET status = 'FAILED' WHERE step_index = 1",
                                        "UPDATE maestro_step_runs SET attempt = 7 WHERE step_index = 0",
                                        "UPDATE maestro_ledger SET first_event = first_event + 1 WHERE position = 2")):
        with t.row(statement):
            name = f"copy-{number}.db"
            t.equal(t.maestro("store", "backup", t.folder / name, *store(t)).code, 0)
            damage(t, statement, name=name)
            found = t.maestro("replay", "last", "--verify", *store(t, name))
            t.equal(found.code, 65)
            t.true(found.err, "nothing is said")


@case()
def a_backup_is_a_store(t):
    fill(t)
    copy = t.folder / "copy.db"
    t.equal(t.maestro("store", "backup", copy, *store(t)).code, 0)
    t.equal(t.maestro("runs", "--json", *store(t, "copy.db")).out, t.maestro("runs", "--json", *store(t)).out, "its runs")
    t.equal(t.maestro("store", "verify", *store(t, "copy.db")).code, 0)
    again = t.maestro("store", "backup", copy, *store(t))
    t.true(again.code not in (0, 70), f"it was overwritten: {again.code}")
    t.contains(again.err, "exists")


@case()
def doctor_says_what_is_well_and_what_to_do(t):
    fresh = t.maestro("doctor", *store(t))
    t.equal(fresh.code, 0)
    t.contains(fresh.out, "the first 'maestro run' makes it")
    fill(t, 1)
    well = t.maestro("doctor", *store(t))
    t.equal(well.code, 0)
    for check in ("store", "owner", "wal", "disk", "integrity", "clock", "runners", "programs"):
        t.matches(well.out, rf"^(ok|warn) +{check} ", f"the line of {check}")
    t.matches(well.out, r"^well: ")
    runners = t.write("runners.yaml", "executors: { local: { kind: process, runners: { tool: { command: [no-such-program-at-all] } } } }\n")
    ill = t.maestro("doctor", "--runners", runners, *store(t))
    t.equal(ill.code, 69)
    t.matches(ill.out, r"^fail +program +no-such-program-at-all, of runner tool")
    for line in t.maestro("doctor", "--json", *store(t)).out.splitlines():
        t.true(json.loads(line)["health"] in ("ok", "warn"), line)
    (t.folder / "store.db").chmod(0o644)
    t.matches(t.maestro("doctor", *store(t)).out, r"^warn +store .*chmod 600")
    damaged = t.write("bad.db", b"this is no database, whatever it is\n" * 100)
    bad = t.maestro("doctor", "--store", f"sqlite:{damaged}")
    t.equal(bad.code, 69)
    t.matches(bad.out, r"^fail +store ")


@case()
def an_owner_is_named(t):
    file = t.write("gate.yaml", "workflow: gate\njobs: { a: { tasks: [{ log: x, wait_for_signal: go }] } }\n")
    process = t.start("run", file, *store(t))
    t.until(lambda: (t.folder / "store.db").exists() and "waiting-signal" in t.maestro("runs", *store(t)).out, "it waits")
    t.contains(t.maestro("doctor", *store(t)).out, f"process {process.pid}")
    t.equal(t.maestro("ledger", "verify", *store(t)).code, 0, "a store in use is verified")
    t.equal(t.maestro("store", "backup", t.folder / "live.db", *store(t)).code, 0, "a store in use is copied")
    t.equal(t.maestro("store", "verify", *store(t, "live.db")).code, 0)
    t.equal(t.maestro("signal", "last", "go", *store(t)).code, 0)
    t.equal(t.end(process).code, 0)


main()
