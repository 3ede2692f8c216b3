#!/usr/bin/env python3
"""maestro check --production, as a person uses it."""
from maestro_test import case, main

NAMES = """spec-schema spec-lint version-pinned idempotency-keys policy-admission policy-runtime policy-postflight policy-reviewed
approvals-high-risk placement-constraints blast-radius-budget tenant-quotas metrics structured-logs traces ledger-sink ledger-immutable
evidence-retention retry-classes compensations-tested timeouts-deadlines cancellation-semantics secrets-broker least-privilege
network-data-boundaries ledger-backup replay-tested lease-thresholds controls-tested dry-run-reviewed approvals-exercised runbooks-linked
ownership-contact oncall-critical-schedules""".split()

RUNNERS = """
executors: { local: { kind: process, runners: { pay: { command: [./pay] } } } }
policies: { guard: { phases: [pre-flight, mid-flight, post-flight], reviewed_by: Ada } }
"""

READY = """
workflow: orders
owner: payments
contact: payments@example.com
policies: [guard]
config: { timeout: 2h }
blast_radius: { budget: 5 }
placement: { regions: [eu-west] }
evidence: { retention: 90d }
lease: { duration: 30s, heartbeat: 10s }
runbooks: { rollback: https://wiki/rollback, incident: https://wiki/incident }
failure_resolution: { on_cancel: no_compensate }
jobs:
  charge:
    tasks:
      - { run: pay, idempotency: replay-safe, identity: payer, timeout: 30s, retries: { attempts: 3, on: [transient] } }
"""


def answers(result):
    return {row["name"]: row for row in result.json()}


@case()
def every_check_has_an_answer_with_evidence(t):
    result = t.maestro("check", "--production", "--json", "examples/revenue-backfill.yaml")
    t.equal(result.code, 65)
    rows = result.json()
    t.equal([row["name"] for row in rows], NAMES, "the checks")
    t.equal([row["requirement"] for row in rows], [f"F-{n}" for n in range(171, 205)], "the requirements")
    for row in rows:
        with t.row(row["name"]):
            t.true(row["answer"] in ("pass", "fail", "not-applicable", "undecided"), row["answer"])
            t.true(len(row["evidence"]) > 5, "it has evidence")
            t.equal(row["file"], "examples/revenue-backfill.yaml")
            t.equal("line" in row, row["answer"] == "fail", "a place")


@case()
def a_definition_that_is_ready_passes_and_the_rest_says_what_it_needs(t):
    t.write("runners.yaml", RUNNERS)
    path = t.write("ready.yaml", READY)
    result = t.maestro("check", "--production", path)
    t.equal(result.code, 0)
    t.matches(result.out, r"^\d+ passed, 0 failed, \d+ not applicable, \d+ undecided$")
    t.contains(result.out, " 1. specification\n")
    t.contains(result.out, "10. runbooks\n")
    t.lacks(result.out, "\x1b", "what is piped")
    t.contains(t.maestro("check", "--production", "--color", "always", path).out, "\x1b[32mpass")
    for name, row in answers(t.maestro("check", "--production", "--json", path)).items():
        with t.row(name):
            t.equal(row["answer"] == "undecided", row["evidence"].startswith("needs a "), "an undecided check needs something")


@case()
def who_gives_a_store_is_not_told_to_give_one(t):
    t.write("runners.yaml", RUNNERS)
    path = t.write("ready.yaml", READY)
    store = ("--store", f"sqlite:{t.folder}/store.db")
    t.equal(t.maestro("run", "examples/hello.yaml", *store).code, 0)
    without, given = (answers(t.maestro("check", "--production", "--json", path, *args)) for args in ((), store))
    open_ones = [name for name, row in given.items() if row["answer"] == "undecided"]
    t.equal(open_ones, [name for name, row in without.items() if row["answer"] == "undecided"])
    t.true(len(open_ones) >= 12, f"undecided: {open_ones}")
    for name in open_ones:
        with t.row(name):
            t.matches(without[name]["evidence"], r"^needs a (store|server|running server): ")
            t.matches(given[name]["evidence"], r"^is looked at by hand(, with .*)?: ")
    t.contains(given["ledger-immutable"]["evidence"], "with 'maestro store verify'")


@case()
def what_fails_is_said_with_its_place(t):
    t.write("runners.yaml", RUNNERS)
    path = t.write("x.yaml", READY.replace("identity: payer, ", "").replace("owner: payments\n", ""))
    result = t.maestro("check", "--production", path)
    t.equal(result.code, 65)
    t.contains(result.out, f"FAIL       least-privilege            {path}:15:9: 1 of 1 task without an identity of their own: charge.charge (line 15)\n")
    t.contains(result.out, f"FAIL       ownership-contact          {path}:2:1: missing: owner\n")
    t.matches(result.out, r"^\d+ passed, 2 failed, ")


@case()
def a_definition_with_mistakes_fails_with_all_of_them(t):
    path = t.write("x.yaml", "workflow: w\njobs: { a: { tasks: [{ run: nobody, colour: red }] } }\n")
    result = t.maestro("check", "--production", "--json", path)
    t.equal(result.code, 65)
    t.contains(result.err, "unknown key 'colour'")
    t.contains(result.err, "there is no runner 'nobody'")
    rows = answers(result)
    t.equal([rows["spec-schema"]["answer"], rows["spec-lint"]["answer"], rows["secrets-broker"]["answer"]], ["fail", "fail", "undecided"])


@case()
def every_example_has_an_answer(t):
    for name in ("approval", "hello", "inventory", "log-analysis", "order-fulfillment", "order-routing", "revenue-backfill", "review-loop", "step-tree"):
        with t.row(name):
            result = t.maestro("check", "--production", "--json", f"examples/{name}.yaml")
            t.equal(result.code, 65)
            rows = answers(result)
            t.equal([rows["spec-schema"]["answer"], rows["spec-lint"]["answer"], rows["secrets-broker"]["answer"]], ["pass", "pass", "pass"])


@case()
def an_old_runbook_is_checked_as_it_would_be_migrated(t):
    result = t.maestro("check", "--production", "--json", "examples/legacy-log-analysis.yaml")
    t.equal(result.code, 65)
    rows = answers(result)
    t.equal([rows["spec-schema"]["answer"], rows["timeouts-deadlines"]["answer"]], ["pass", "fail"])
    t.contains(rows["spec-lint"]["evidence"], "old format")


@case()
def without_a_checklist_the_command_says_which_there_is(t):
    result = t.maestro("check", "examples/hello.yaml")
    t.equal(result.code, 2)
    t.contains(result.err, "--production runs the production readiness checklist")
    t.equal(t.maestro("check", "--production").code, 2)
    t.equal(t.maestro("check", "--production", "nowhere.yaml").code, 69)
    t.equal(t.maestro("check", "--production", "examples/service-deploy.ts", env={"MAESTRO_SDK": str(t.folder)}).code, 69)


@case("")
def the_store_of_the_environment_counts_as_one_that_is_named(t):
    path, url = "examples/revenue-backfill.yaml", f"sqlite:{t.folder}/store.db"
    none = t.maestro("check", "--production", path)
    t.equal(t.maestro("run", "examples/hello.yaml", "--store", url).code, 0)
    named = t.maestro("check", "--production", path, "--store", url)
    given = t.maestro("check", "--production", path, env={"MAESTRO_STORE": url})
    t.equal((given.code, given.out), (named.code, named.out))
    t.true(named.out != none.out, "a store has reviews, or has none")
    absent = t.maestro("check", "--production", path, env={"MAESTRO_STORE": f"sqlite:{t.folder}/none.db"})
    t.equal((absent.code, absent.out), (none.code, none.out), "one that is not there yet says nothing")


main()
