#!/usr/bin/env python3
"""Policies at the hooks of runs: who is asked, what a denial does, what is recorded of it."""
import json
import os

from maestro_test import USER, case, main

ONE = """workflow: one
params:
  - { name: who, type: string, default: world }
jobs:
  a: { tasks: [{ name: s, log: "hello ${params.who}" }] }
"""

NAMED = """workflow: named
policies: [guard]
jobs:
  a: { tasks: [{ name: s, log: "hello" }] }
"""

GATED = """workflow: gated
jobs:
  gate: { tasks: [{ log: "asks", wait_for_signal: { signal: release, timeout: 1h } }] }
  after: { needs: [gate], tasks: [{ log: "released" }] }
"""

# A step that works until the file `go` is there.
HELD = """workflow: held
jobs:
  first: { tasks: [{ name: work, run: shell, input: { command: "while ! [ -e %s/go ]; do sleep 0.05; done" } }] }
  second: { needs: [first], tasks: [{ name: rest, log: "rest" }] }
"""

DENY_AT = """package maestro.test

deny contains sprintf("not at %%s", [input.hook]) if input.hook == "%s"
"""


def store(t):
    return ("--store", f"sqlite:{t.folder}/store.db")


def deny_at(t, hook, name="deny.rego"):
    return ("--policy", t.write(name, DENY_AT % hook))


def run(t, text, *args, **options):
    return t.maestro("run", t.write("flow.yaml", text), *args, *store(t), **options)


def records(t):
    """Those of runs; the log has some of its own."""
    every = [json.loads(line) for line in t.maestro("ledger", "show", *store(t)).out.splitlines()]
    return [record for record in every if "run" in record]


def events(t, kind):
    return [event for record in records(t) for event in record["events"] if event["event"] == kind]


def runs(t):
    listed = t.maestro("runs", "--json", *store(t))
    return [json.loads(line) for line in listed.out.splitlines()] if listed.code == 0 else []


def verifies(t):
    t.equal(t.maestro("ledger", "verify", *store(t)).code, 0, "the ledger verifies")


@case("proves: F-095")
def a_start_that_is_denied_makes_no_run(t):
    t.equal(run(t, ONE).code, 0)
    before = len(records(t))
    result = run(t, ONE, *deny_at(t, "run-start"))
    t.equal(result.code, 77)
    t.contains(result.err, "a policy does not permit this run: deny.rego: not at run-start")
    t.equal(len(runs(t)), 1, "runs")
    t.equal(len(records(t)), before, "records")


@case("proves: F-063 F-095")
def a_dispatch_that_is_denied_fails_the_step_as_policy_blocked(t):
    result = run(t, ONE, *deny_at(t, "step-dispatch"))
    t.equal(result.code, 1)
    t.contains(result.out + result.err, "a policy does not permit it: deny.rego: not at step-dispatch")
    t.lacks(result.out, "hello world")
    verdict, = events(t, "verdict")
    t.equal((verdict["kind"], verdict["message"]), ("step-dispatch", "deny.rego: not at step-dispatch"))
    t.matches(verdict["digest"], "^sha256:[0-9a-f]{64}$")
    failed, = events(t, "step-failed")
    t.equal((failed["class"], failed["cause"]), ("policy-blocked", "policy"))
    for command in (("show", "last"), ("inspect", "last", "a.s")):
        t.contains(t.maestro(*command, *store(t)).out, "deny.rego: not at step-dispatch")
    verifies(t)


@case("proves: F-095")
def an_end_that_is_denied_is_no_success(t):
    result = run(t, ONE, *deny_at(t, "step-end"))
    t.equal(result.code, 1)
    t.contains(result.out, "hello world")
    t.contains(result.out + result.err, "a policy does not permit this end: deny.rego: not at step-end")
    verdict, = events(t, "verdict")
    t.equal(verdict["kind"], "step-end")
    t.equal(events(t, "step-succeeded"), [])
    failed, = events(t, "step-failed")
    t.equal(failed["class"], "policy-blocked")
    verifies(t)


@case("proves: F-095")
def a_signal_that_is_denied_changes_nothing_and_is_recorded(t):
    process = t.start("run", t.write("flow.yaml", GATED), *deny_at(t, "signal"), *store(t))
    t.until(lambda: (t.folder / "store.db").exists() and events(t, "step-waiting-signal"), "the step waits")
    result = t.maestro("signal", "last", "release", *store(t))
    t.equal(result.code, 77)
    t.contains(result.err, "deny.rego: not at signal")
    verdict, = events(t, "verdict")
    t.equal((verdict["kind"], verdict["message"]), ("signal", "deny.rego: not at signal"))
    t.true("step" not in verdict, "a signal belongs to no step")
    t.equal(events(t, "signal-received"), [])
    process.terminate()
    t.end(process)
    # Nobody owns the store: whoever sends the signal asks the policies itself.
    t.equal(t.maestro("signal", "last", "release", *deny_at(t, "signal"), *store(t)).code, 77)
    t.equal(len(events(t, "verdict")), 2)
    t.equal(t.maestro("signal", "last", "release", *store(t)).code, 0)
    t.equal(t.maestro("resume", "last", *store(t)).code, 0)
    verifies(t)


@case("proves: F-095")
def a_resumption_that_is_denied_leaves_the_run_paused(t):
    process = t.start("run", t.write("flow.yaml", HELD % t.folder), *store(t))
    t.until(lambda: (t.folder / "store.db").exists() and events(t, "step-running"), "the step runs")
    t.equal(t.maestro("pause", "last", *store(t)).code, 0)
    process.terminate()
    t.write("go", "")
    t.end(process)
    result = t.maestro("resume", "last", *deny_at(t, "run-resume"), *store(t))
    t.equal(result.code, 77)
    t.contains(result.err, "deny.rego: not at run-resume")
    t.equal(runs(t)[0]["state"], "paused")
    verdict, = events(t, "verdict")
    t.equal(verdict["kind"], "run-resume")
    t.equal(t.maestro("resume", "last", *store(t)).code, 0)
    verifies(t)


@case()
def what_is_no_clear_answer_is_a_denial(t):
    cases = (
        ("undefined", 'package maestro\nallow if input.hook == "run-start"', "allow of maestro is undefined"),
        ("a builtin that fails", 'package maestro\nallow if input.hook == "run-start"\nallow if to_number(input.step.name) > 0',
         "it could not be evaluated: "),
        ("a conflict", 'package maestro\nallow := true\nallow := false if input.step', "it could not be evaluated: "),
        ("work without an end",
         'package maestro\nallow if not input.step\nallow if {\n  some a in numbers.range(1, 5000)\n  some b in numbers.range(1, 5000)\n'
         '  a * b == 0\n}', "eval_cancel_error"),
    )
    for name, policy, want in cases:
        t.row(name)
        result = run(t, ONE, "--policy", t.write("unclear.rego", policy))
        t.equal(result.code, 1)
        t.contains(result.out + result.err, want)


@case("proves: F-001")
def every_decision_has_the_digest_of_what_allowed_it(t):
    t.equal(run(t, ONE).code, 0)
    t.equal(run(t, ONE, *deny_at(t, "never")).code, 0)
    t.equal(run(t, ONE, *deny_at(t, "never-ever")).code, 0)
    by_run = {}
    for record in records(t):
        by_run.setdefault(record["run"], set()).add(record.get("policy"))
    digests = list(by_run.values())
    t.equal([len(each) for each in digests], [1, 1, 1], "digests of a run")
    t.equal(len(set.union(*digests)), 3, "different digests")


@case()
def another_text_of_a_policy_is_another_digest_in_later_records(t):
    policy = t.write("p.rego", DENY_AT % "run-resume")
    process = t.start("run", t.write("flow.yaml", GATED), "--policy", policy, *store(t))
    t.until(lambda: (t.folder / "store.db").exists() and events(t, "step-waiting-signal"), "the step waits")
    process.terminate()
    t.end(process)
    before, = {record["policy"] for record in records(t)}
    count = len(records(t))
    t.write("p.rego", DENY_AT % "run-resume" + "\n# reviewed\n")
    t.equal(t.maestro("signal", "last", "release", "--policy", policy, *store(t)).code, 0)
    t.equal(t.maestro("resume", "last", "--policy", policy, *store(t)).code, 0)
    later = records(t)[count:]
    t.true(all(record.get("policy") != before for record in later), "the earlier one is in no later record")
    asked = {record["policy"] for record in later for event in record["events"]
             if event["event"] in ("signal-received", "step-succeeded")}
    t.equal(len(asked), 1, "digests of what was asked later")
    verifies(t)


@case("proves: F-032")
def a_definition_names_policies_that_are_registered(t):
    t.write("guard.rego", DENY_AT % "step-dispatch")
    t.write("runners.yaml", "policies:\n  guard: { file: guard.rego, phases: [pre-flight] }\n")
    result = run(t, NAMED)
    t.equal(result.code, 1)
    t.contains(result.out + result.err, "a policy does not permit it: guard: not at step-dispatch")
    t.row("a phase in which it is not asked")
    t.write("runners.yaml", "policies:\n  guard: { file: guard.rego, phases: [post-flight] }\n")
    t.equal(run(t, NAMED).code, 0)


@case()
def a_policy_that_cannot_be_used_is_told_before_the_run(t):
    t.write("broken.rego", "package maestro\nallow if {")
    t.write("idle.rego", "package other\nallow := true")
    cases = (
        ("without a file", "{ phases: [pre-flight] }", "the policy 'guard' cannot be used: it is registered without a file"),
        ("a file that is not there", "{ file: absent.rego }", "absent.rego: no such file"),
        ("with a mistake", "{ file: broken.rego }", "broken.rego:2:"),
        ("with nothing to ask", "{ file: idle.rego }", "there is nothing to ask"),
    )
    for name, settings, want in cases:
        t.row(name)
        t.write("runners.yaml", f"policies:\n  guard: {settings}\n")
        result = run(t, NAMED)
        t.equal(result.code, 65)
        t.contains(result.err, want)
        t.true(not os.path.exists(t.folder / "store.db"), "no store was made")
    t.row("--policy without its file")
    result = run(t, ONE, "--policy", f"{t.folder}/none.rego")
    t.true(result.code != 0, "it is refused")
    t.contains(result.err, "none.rego: no such file or directory")


@case()
def a_policy_reads_what_the_hook_has(t):
    policy = """package maestro
deny contains "eve may not start" if { input.hook == "run-start"; input.run.params.who == "eve" }
deny contains "no" if { input.hook == "step-dispatch"; input.step.input.message != "hello ana" }
deny contains "not here" if { input.step; input.placement.region }
deny contains "actor" if { input.hook == "run-start"; input.actor != "user:%s" }
deny contains "clock" if { time.parse_rfc3339_ns(input.now) != time.now_ns() }
""" % USER
    path = t.write("p.rego", policy)
    t.contains(run(t, ONE, "--param", "who=eve", "--policy", path).err, "p.rego: eve may not start")
    result = run(t, ONE, "--param", "who=ana", "--policy", path)
    t.equal(result.code, 0, result.err)


@case("proves: F-148")
def the_examples_run_under_their_policies_on_a_fresh_machine(t):
    definition = t.write("flow.yaml", """workflow: regional
jobs:
  a: { tasks: [{ name: s, run: dbt-runner, policy: data-sovereignty-eu }] }
  b: { needs: a, policies: [prod-guardrails], tasks: [{ log: "there" }] }
""")
    result = t.maestro("run", definition, *store(t))
    t.equal(result.code, 0, result.err)
    t.row("a policy of the examples that denies")
    definition = t.write("flow.yaml", "workflow: change\npolicies: [change-management]\njobs: { a: { tasks: [{ log: x }] } }\n")
    result = t.maestro("run", definition, *store(t))
    t.contains(result.err, "change-management: allow is false")


@case()
def the_example_for_every_hook_does_what_it_says(t):
    definition = t.write("release.yaml", """workflow: release
labels: { stage: production }
params:
  - { name: ticket, type: string, required: false }
jobs:
  a: { tasks: [{ name: note, log: "released" }] }
  b: { needs: a, tasks: [{ name: copy, run: shell, input: { command: "true" } }] }
""")
    guard = ("--policy", "examples/policies/deploy-guard.rego", *store(t))
    result = t.maestro("run", definition, *guard)
    t.equal(result.code, 77)
    t.contains(result.err, "deploy-guard.rego: a change of production needs a parameter 'ticket'")
    result = t.maestro("run", definition, "--param", "ticket=T-1", *guard)
    t.equal(result.code, 1)
    t.contains(result.out, "released")
    t.contains(result.out + result.err, 'deploy-guard.rego: step b.copy: the runner "shell" is not for production')


@case()
def an_owner_under_other_policies_does_not_take_a_run(t):
    process = t.start("run", t.write("flow.yaml", HELD % t.folder), *store(t))
    t.until(lambda: (t.folder / "store.db").exists() and events(t, "step-running"), "the step runs")
    other = t.start("run", t.write("one.yaml", ONE), *deny_at(t, "step-dispatch"), *store(t))
    t.until(lambda: other.poll() is None and process.poll() is None, "both are there")
    t.write("go", "")
    t.equal(t.end(process).code, 0)
    result = t.end(other)
    t.equal(result.code, 1)
    t.contains(result.out + result.err, "deny.rego: not at step-dispatch")


@case()
def the_benchmark_asks_its_policy_at_every_hook(t):
    result = t.maestro("bench", "--shape", "chain:5", "--runs", "4", "--policy", "bench/policies/rbac.rego", "--json", *store(t))
    t.equal(result.code, 0, result.err)
    figures = json.loads(result.out)
    t.equal(figures["verdicts_per_step"], 2.2)
    t.matches(figures["policy_digest"], "^sha256:[0-9a-f]{64}$")
    t.equal({record["policy"] for record in records(t)}, {figures["policy_digest"]})
    limits = json.loads(t.maestro("bench", "--limits", "--json", *store(t)).out)
    t.true(limits["spawns_per_s"] > 0, "programs are started")


if __name__ == "__main__":
    main()
