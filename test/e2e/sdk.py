#!/usr/bin/env python3
"""Definitions in TypeScript: the SDK built as its README says, and what maestro makes of .ts files."""
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from maestro_test import ROOT, case, main
from server_test import Server

SDK = ROOT / "sdk" / "typescript"
_place = None


def sdk(t):
    """A copy of the SDK with its packages, built once for the suite; ends the case where it cannot be."""
    global _place
    if _place is None:
        folder = tempfile.TemporaryDirectory(prefix="maestro-sdk-")
        place = Path(folder.name) / "sdk"
        shutil.copytree(SDK, place, ignore=shutil.ignore_patterns("node_modules", "dist"))
        _place = (folder, place, build(place))
    _, place, why = _place
    if why:
        t.not_run(why)
    return place


def build(place):
    """Why the SDK cannot be built, or nothing."""
    for command in (["npm", "ci", "--no-audit", "--no-fund"], ["npm", "run", "build"]):
        try:
            done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=240, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{' '.join(command)}: {error}"
        if done.returncode:
            return f"{' '.join(command)}: {(done.stdout + done.stderr)[-1500:]}"
    return ""


def maestro(t, *args, env=None, **options):
    return t.maestro(*args, env={"MAESTRO_SDK": str(sdk(t)), **(env or {})}, **options)


SERVICE_DEPLOY = """
workflow: service-deploy
tenant: acme
idempotency_key: "deploy-${commit}"
triggers:
  - git_push: { branch: main, signed_commits_only: true }
  - schedule: { cron: "H/10 * * * *", blackout: maintenanceWindows }
jobs:
  build:
    tasks:
      - { name: compile, run: ci/builder, retries: { attempts: 3, backoff_ms: 2000 } }
      - { name: scan, run: ci/scanner, policy: sast-required }
  deploy-staging:
    needs: build
    tasks:
      - { name: helm, run: k8s-deployer, compensation: helm-rollback }
      - { name: smoke, run: tester, wait_for_signal: smoke-pass }
  canary-prod:
    needs: deploy-staging
    canary: { percentage: 10, metrics: [errorRate, latency] }
    tasks: [{ name: rollout, run: k8s-deployer, policy: prod-guardrails }]
  full-prod:
    needs: canary-prod
    tasks: [{ name: rollout, run: k8s-deployer }]
on_failure: compensate_all
provenance: true
"""

INCIDENT_PLAYBOOK = """
workflow: incident-playbook
tenant: sre
priority: critical
triggers: [{ signal: pagerduty.incident.open }]
jobs:
  triage:
    tasks:
      - { name: gather-context, run: context-collector }
      - { name: classify, run: incident-classifier, wait_for_signal: classifier-ready }
  contain:
    needs: triage
    tasks:
      - { name: rate-limit, run: edge-controller, compensation: restore-limits }
      - { name: feature-flag, run: flagger, policy: change-management }
  eradicate:
    needs: contain
    tasks: [{ name: patch, run: fleet-patcher, retries: { attempts: 2 } }]
  recover:
    needs: eradicate
    tasks: [{ name: scale, run: autoscaler }, { name: verify, run: synthetic-checks }]
  postmortem:
    needs: recover
    tasks: [{ name: report, run: lm-report }]
    wait_for_signal: postmortem-approved
on_failure: { compensate: [rate-limit, feature-flag] }
on_signal: { anomaly-spike: [pause_all, policy_recheck] }
"""


@case("proves: F-119 F-120")
def the_examples_are_the_same_plans_as_their_yaml(t):
    for name, yaml in (("service-deploy", SERVICE_DEPLOY), ("incident-playbook", INCIDENT_PLAYBOOK)):
        with t.row(name):
            code, written = f"examples/{name}.ts", t.write(f"{name}.yaml", yaml)
            t.equal(maestro(t, "validate", code).code, 0, "validate")
            plan = maestro(t, "plan", "--json", code)
            t.require(plan.code == 0)
            t.equal(plan.json(), t.maestro("plan", "--json", "--runners", "examples/runners.yaml", written).json())
            t.equal(maestro(t, "visualize", code).out, t.maestro("visualize", "--runners", "examples/runners.yaml", written).out)
            t.equal(maestro(t, "plan", "--json", code).json()["digest"], plan.json()["digest"], "a second compile")


# What the language finds in a program, and where.
FOUND = {
    'workflow("w").job("a", (j) => j.task("t", (t) => t.run("nop")));': ":1:56: error: ",
    'workflow("w")\n  .job("a", (j) => j.needs("b").task("t", (t) => t.run("noop")));': ":2:28: error: ",
    'workflow("w").job("a", (j) => j.task("t", (t) => t.run("noop").when("params.x >")));': ":1:80: error: ",
    'workflow("w").job("a", (j) => j.task("t", (t) => t.run("noop").with({ identity: "a b" })));': ":1:81: error: ",
    'workflow("w").job("a b", (j) => j.task("t", (t) => t.run("noop")));': ":1:19: error: ",
    'workflow("w", { policies: ["x"] }).job("a", (j) => j.task("t", (t) => t.run("noop")));': ":1:28: error: ",
    'workflow("w").job("a", (j) => j.task("t", (t) => t.run("noop").policy("nope")));': ":1:71: error: there is no policy 'nope'",
    'const runner = "nop";\nworkflow("w").job("a", (j) => j.task("t", (t) => t.run(runner)));': ":2:56: error: ",
}


@case("proves: F-148")
def what_the_language_has_to_say_is_said_of_the_typescript(t):
    result = maestro(t, "validate", "examples/incident-playbook.ts")
    t.contains(result.err, "examples/incident-playbook.ts:29:51: warning: ")
    t.contains(result.err, '.onFailure(selectiveCompensation(["rate-limit", "feature-flag"]))')
    for text, place in FOUND.items():
        with t.row(text):
            result = maestro(t, "validate", t.write("w.ts", text + "\n"))
            t.equal(result.code, 65)
            t.contains(result.err, place)
            t.contains(result.err, text.split("\n")[-1][-40:])


@case("proves: F-148")
def what_a_server_has_to_say_is_said_of_the_typescript_too(t):
    """The SDK makes the definition here, the server compiles it, and its mistakes are shown in the program."""
    runners = str(ROOT / "examples" / "runners.yaml")
    server = Server(t, "--runners", runners)

    def there(*args):
        return maestro(t, *args, "--server", f"http://127.0.0.1:{server.port}", env={"MAESTRO_TOKEN": server.admin, "MAESTRO_RUNNERS": runners})
    for text, place in FOUND.items():
        with t.row(text):
            path = t.write("w.ts", text + "\n")
            ran, wanted = there("run", path), maestro(t, "validate", path, "--runners", runners)
            t.equal(ran.code, 65)
            t.contains(ran.err, place)
            t.contains(wanted.err.replace(runners, "runners.yaml"), ran.err.strip(), "as it is said here, but for where a server's files are")
    ran = there("run", t.write("right.ts", 'workflow("w").job("a", (j) => j.task("t", (t) => t.run("log").input({ message: "hello" })));\n'))
    t.equal(ran.code, 0, ran.out + ran.err)
    t.contains(ran.out + ran.err, "hello")


@case("proves: F-119")
def mistakes_of_a_program_are_told_with_their_place(t):
    t.write("other.ts", "export const limit: number = 'x';\n")
    t.write("bad.ts", "export const name: string = (() => { throw new Error('no luck'); })();\n")
    job = '.job("a", (j) => j.task("t", (t) => t.run("noop")))'
    rows = {
        f'workflow("w", {{ tenat: "x" }}){job};': ":1:17: error: Object literal may only specify known properties, but 'tenat'",
        f'workflow("w", {{ tenant: 5 }}){job};': ":1:17: error: Type 'number' is not assignable to type 'string'",
        'workflow("w").job("a", (j) => j.task("t", (t) => t.rum("noop")));': ":1:52: error: Property 'rum' does not exist",
        f'workflow("w").schedule(cron("@daily", {{ blackout: holidays }})){job};': "Cannot find name 'holidays'",
        'workflow("w").job("a", (j) => j.task("t", (t) => t.run("noop").timeout("soon")));': "TS2345",
        'workflow("w")\n  .job("a", (j) => j.task("t", (t) => t.run("noop").run("log")));': ":2:53: error: 'run' is already set",
        f'workflow("w"){job}{job};': "'a' stands twice in 'jobs'",
        'interface Gone {\n  a: 1;\n}\nconst f = (x?: Gone) => x!.a;\nworkflow("w" + f());': ":4:28: error: TypeError: ",
        'workflow("w" + Math.random());': "the same on every compile",
        'workflow("w" + new Date());': "the same on every compile",
        'import { readFileSync } from "node:fs"; workflow("w" + readFileSync("x"));': ":1:30: error: Cannot find module 'node:fs'",
        'new Function("return process")(); workflow("w");': "Code generation from strings disallowed",
        'import { limit } from "./other"; workflow("w" + limit);': "other.ts:1:14: Type 'string' is not assignable",
        'import { name } from "./bad"; workflow("w" + name);': "bad.ts:1:44: Error: no luck",
        'const a = 1;': "no workflow is made",
        'workflow("a"); workflow("b");': "2 workflows are made (a, b)",
        'workflow("w"': "error: ')' expected",
        'workflow("w").onSignal("s", () => {});': "the signal 's' has no action",
        'const own: any = {}; own.own = own; workflow("w").job("a", (j) => j.task("t", (t) => t.run("noop").input(own)));':
            "or holds itself",
        'workflow("w").job("a", (j) => j.task("t", (t) => t.run("noop").input({ a: NaN })));': "a definition is JSON",
        'workflow("w"); for (;;) {}': "the definition is not built after 10 s",
    }
    for text, want in rows.items():
        with t.row(text):
            result = maestro(t, "validate", t.write("w.ts", text + "\n"))
            t.equal(result.code, 65)
            t.contains(result.err, want)
    told = maestro(t, "validate", "--json", t.write("w.ts", 'workflow("w", { tenat: "x" });\n'))
    t.contains(told.out, '"line": 1')
    t.equal(told.code, 65)


@case("proves: F-119")
def a_definition_may_import_the_sdk_and_files_of_its_own(t):
    t.write("parts/steps.ts", 'import type { JobBuilder } from "maestro-sdk";\n'
            'export const noop = (name: string) => (job: JobBuilder) => job.task(name, (t) => t.run("noop"));\n')
    path = t.write("w.ts", 'import { workflow, type Duration } from "maestro-sdk";\nimport { noop } from "./parts/steps";\n'
                   'const limit: Duration = "1h30m";\nworkflow("other").job("x", noop("y"));\n'
                   'export default workflow("w", { config: { timeout: limit } }).job("a", noop("t"));\n')
    yaml = t.write("w.yaml", "workflow: w\nconfig: { timeout: 1h30m }\njobs: { a: { tasks: [{ name: t, run: noop }] } }\n")
    made = maestro(t, "plan", "--json", path)
    t.require(made.code == 0)
    t.equal(made.json()["digest"], t.maestro("plan", "--json", yaml).json()["digest"])


@case("proves: F-163 F-166")
def the_incident_playbook_runs_as_written(t):
    """Its policy wants a ticket or an incident, which only a signal that starts the run brings; here it permits everything."""
    shutil.copytree(ROOT / "examples" / "policies", t.folder / "policies")
    t.write("policies/change-management.rego", "package maestro.policies.change_management\n\nallow := true\n")
    runners = t.write("runners.yaml", (ROOT / "examples" / "runners.yaml").read_text())
    options = ("--store", f"sqlite:{t.folder / 'store.db'}", "--until-waiting", "--runners", runners)
    for command, name in ((("run", "examples/incident-playbook.ts"), "classifier-ready"), (("resume", "last"), "postmortem-approved")):
        with t.row(name):
            waiting = maestro(t, *command, *options)
            t.equal(waiting.code, 75)
            t.contains(waiting.out + waiting.err, f"signal {name}")
            sent = maestro(t, "signal", "last", name, *options[:2])
            t.equal(sent.code, 0)
    t.contains(waiting.out + waiting.err, "postmortem.report: reporting")
    t.contains(sent.out, "waiting-signal -> succeeded")


@case("proves: F-119")
def a_definition_in_typescript_runs(t):
    path = t.write("w.ts", 'workflow("w", { tenant: "acme" })\n  .param("who", "string", { default: "you" })\n'
                   '  .job("a", (j) => j.task("t", (t) => t.log("hello ${params.who}")));\n')
    store = f"sqlite:{t.folder / 'store.db'}"
    result = maestro(t, "run", path, "--store", store, "--param", "who=them")
    t.equal(result.code, 0)
    t.contains(result.out + result.err, "hello them")


# A method's call, and what it puts into the definition: of the task 't' of the job 'a', of the job, of the workflow.
TASK_ROWS = {
    '.args("x", "y").args("z")': {"args": ["x", "y", "z"]},
    '.input({ backoffMs: 1, list: [1, null] })': {"input": {"backoffMs": 1, "list": [1, None]}},
    '.timeout("90s")': {"timeout": "90s"},
    '.retry({ attempts: 3, backoffMs: 2000, maxDelay: "1m", on: ["transient"] })':
        {"retries": {"attempts": 3, "backoff_ms": 2000, "max_delay": "1m", "on": ["transient"]}},
    '.idempotency("replay-safe")': {"idempotency": "replay-safe"},
    '.idempotency({ strategy: "dedupe-key", key: "k" })': {"idempotency": {"strategy": "dedupe-key", "key": "k"}},
    '.policy("sast-required", "prod-guardrails")': {"policies": ["sast-required", "prod-guardrails"]},
    '.compensation("helm-rollback")': {"compensation": "helm-rollback"},
    '.compensation({ run: "helm-rollback", timeout: "60s", retries: { attempts: 3, jitterMs: 5 } })':
        {"compensation": {"run": "helm-rollback", "timeout": "60s", "retries": {"attempts": 3, "jitter_ms": 5}}},
    '.withCompensation("helm-rollback")': {"compensation": "helm-rollback"},
    '.pauseAfter("ok")': {"pause_after": {"trigger": "ok"}},
    '.pauseAfter("ok", { timeout: "7d", onTimeout: "reminder", payloadSchema: { type: "object", onTimeout: true }, '
    'resumeWhen: "payload.approved == true", auth: { apiKey: true } })':
        {"pause_after": {"trigger": "ok", "timeout": "7d", "on_timeout": "reminder",
                         "payload_schema": {"type": "object", "onTimeout": True},
                         "resume_when": "payload.approved == true", "auth": {"api_key": True}}},
    '.poll({ interval: "5m", maxDuration: "48h", maxAttempts: 576, backoff: "exponential", '
    'onTimeout: "continue_with_default", defaultOutput: { isPaid: false } })':
        {"poll": {"interval": "5m", "max_duration": "48h", "max_attempts": 576, "backoff": "exponential",
                  "on_timeout": "continue_with_default", "default_output": {"isPaid": False}}},
    '.when("params.n > 1")': {"when": "params.n > 1"},
    '.terminateWhen({ condition: "output.valid == false", state: "failed", reason: "not valid" })':
        {"terminate_when": {"condition": "output.valid == false", "state": "failed", "reason": "not valid"}},
    '.waitForSignal("go")': {"wait_for_signal": "go"},
    '.waitForSignal("go", { when: "before", timeout: "1h" })':
        {"wait_for_signal": {"signal": "go", "when": "before", "timeout": "1h"}},
    '.with({ blastRadius: 2, labels: { teamName: "x" } })': {"blast_radius": 2, "labels": {"teamName": "x"}},
}
JOB_ROWS = {
    '.needs("before")': {"needs": ["before"]},
    '.needs({ job: "before" })': {"needs": [{"job": "before"}]},
    '.when("params.n > 1")': {"when": "params.n > 1"},
    '.branch({ select: "params.key", cases: { theFirst: ["before"] }, default: "theFirst" })':
        {"branch": {"select": "params.key", "cases": {"theFirst": ["before"]}, "default": "theFirst"}},
    '.terminateWhen({ condition: "params.n > 1", state: "succeeded", reason: "enough" })':
        {"terminate_when": {"condition": "params.n > 1", "state": "succeeded", "reason": "enough"}},
    '.waitForSignal("go")': {"wait_for_signal": "go"},
    '.policy("sast-required").policy("prod-guardrails")': {"policies": ["sast-required", "prod-guardrails"]},
    '.canary({ percentage: 10, metrics: ["errorRate"] })': {"canary": {"percentage": 10, "metrics": ["errorRate"]}},
    '.placement({ regions: ["eu-west"], dataSovereignty: ["eu"] })':
        {"placement": {"regions": ["eu-west"], "data_sovereignty": ["eu"]}},
    '.onSignal("s", (s) => s.shortCircuit({ outcome: "skipped", target: "a" }))':
        {"on_signal": {"s": [{"short_circuit": {"outcome": "skipped", "target": "a"}}]}},
    '.with({ resources: { memoryMb: 5 } })': {"resources": {"memory_mb": 5}},
}
WORKFLOW_ROWS = {
    '.trigger(gitPush({ branch: "main", signedCommitsOnly: true }))':
        {"triggers": [{"git_push": {"branch": "main", "signed_commits_only": True}}]},
    '.trigger(signal("s"), manual())': {"triggers": [{"signal": "s"}, {"manual": True}]},
    '.trigger(signal("s", { debounce: "2s" }))': {"triggers": [{"signal": {"name": "s", "debounce": "2s"}}]},
    '.trigger(webhook("k", { rateLimit: "50/s", auth: { hmac: "secret" } }))':
        {"triggers": [{"webhook": {"key": "k", "rate_limit": "50/s", "auth": {"hmac": "secret"}}}]},
    '.trigger(message("topic"))': {"triggers": [{"message": "topic"}]},
    '.schedule("@daily")': {"triggers": [{"schedule": "@daily"}]},
    '.schedule(cron("0 2 * * *", { timezone: "Europe/Berlin", freezeWindows: ["Dec 25"] }))':
        {"triggers": [{"schedule": {"cron": "0 2 * * *", "timezone": "Europe/Berlin", "freeze_windows": ["Dec 25"]}}]},
    '.policy("sast-required")': {"policies": ["sast-required"]},
    '.failureResolution({ strategy: "auto_retry", maxRetries: 3, retryDelay: "60s", backoff: "exponential", '
    'fallback: "await_decision", onCancel: "compensate", onTimeout: "await_decision" })':
        {"failure_resolution": {"strategy": "auto_retry", "max_retries": 3, "retry_delay": "60s", "backoff": "exponential",
                                "fallback": "await_decision", "on_cancel": "compensate", "on_timeout": "await_decision"}},
    '.onFailure(compensateAll())': {"on_failure": "compensate_all"},
    '.onFailure(selectiveCompensation(["t"]))': {"on_failure": {"compensate": ["t"]}},
    '.onSignal("s", (s) => s.pauseAll().policyRecheck())': {"on_signal": {"s": ["pause_all", "policy_recheck"]}},
    '.onSignal("s", (s) => s.resume()).onSignal("r", (s) => s.cancel())': {"on_signal": {"s": ["resume"], "r": ["cancel"]}},
    '.onSignal("s", (s) => s.amplifyRetries({ tasks: ["t"], attempts: 5 }).compensateAll())':
        {"on_signal": {"s": [{"amplify_retries": {"tasks": ["t"], "attempts": 5}}, "compensate_all"]}},
    '.emitProvenance()': {"provenance": True},
    '.with({ blastRadius: { budget: 5 }, failureMode: "fail-fast" })': {"blast_radius": {"budget": 5}, "failure_mode": "fail-fast"},
}


def table():
    """(call, code, definition) of every row."""
    for rows, where in ((TASK_ROWS, 0), (JOB_ROWS, 1), (WORKFLOW_ROWS, 2)):
        for call, keys in rows.items():
            calls = [call if where == i else "" for i in range(3)]
            calls[0] = calls[0] or '.compensation("helm-rollback").retry({ attempts: 2, attemptsMax: 9 })'
            code = (f'workflow("w").param("n", "number", {{ default: 0 }}).param("key", "string", {{ default: "theFirst" }})\n'
                    f'  .job("a", (j) => j.task("t", (t) => t.run("noop"){calls[0]}){calls[1]})\n'
                    f'  .job("before", (j) => j.task("b", (t) => t.log("x"))){calls[2]}')
            usual = {"compensation": "helm-rollback", "retries": {"attempts": 2, "attempts_max": 9}}
            task = {"name": "t", "run": "noop", **(usual if where else keys)}
            job, flow = keys if where == 1 else {}, keys if where == 2 else {}
            yield call, code, {
                "workflow": "w", "params": [{"name": "n", "type": "number", "default": 0},
                                            {"name": "key", "type": "string", "default": "theFirst"}],
                "jobs": {"a": {"tasks": [task], **job}, "before": {"tasks": [{"name": "b", "log": "x"}]}}, **flow}


def compiled(t, text):
    """Type-checks a program against the SDK and runs it: its output, or None after a failed expectation."""
    place = sdk(t)
    path = t.write("program.ts", text.replace('"maestro-sdk"', json.dumps(str(place / "dist" / "index"))))
    options = ["--strict", "--target", "es2022", "--module", "commonjs", "--skipLibCheck", "--outDir", t.folder / "out"]
    checked = t.run(place / "node_modules" / ".bin" / "tsc", *options, "--typeRoots", place / "node_modules" / "@types",
                    "--types", "node", path, cwd=t.folder)
    if not t.equal(checked.code, 0, checked.out[-2000:]):
        return None
    return t.run("node", t.folder / "out" / "program.js")


@case("proves: A-037 A-100 A-204 F-120")
def every_method_says_what_it_says(t):
    rows = list(table())
    result = compiled(t, 'import { workflow, gitPush, signal, manual, webhook, message, cron, compensateAll, selectiveCompensation }'
                      ' from "maestro-sdk";\nconsole.log(JSON.stringify([\n' + ",\n".join(code for _, code, _ in rows) + "]));\n")
    t.require(result is not None and result.code == 0)
    for (call, _, want), got in zip(rows, result.json(), strict=True):
        with t.row(call):
            t.equal(got, want)
            valid = t.maestro("validate", t.write("w.json", json.dumps(got)))
            t.equal(valid.code, 0, valid.err)


CONTRACTS = """
import type { StepCondition, BranchCondition, TerminationCondition, ConditionResult, PollingStep, PollResult,
  PollingConfiguration, PauseTrigger, TriggerPayload, ResumeCondition, TriggerAuthenticator, FailureResolutionConfig,
  CompensationDefinition } from "maestro-sdk";
const step: StepCondition = "params.n > 1";
const branch: BranchCondition = "params.key";
const end: TerminationCondition = { condition: step, state: "failed", reason: "why" };
const result: ConditionResult = { condition: step, result: true, reason: "n is 2" };
const often: PollingConfiguration = { interval: "5m", maxDuration: "48h" };
const polling: PollingStep = { run: "payments/status", poll: often };
const answer: PollResult = { complete: false, continue: true, output: null, nextInterval: 30 };
const resume: ResumeCondition = "payload.approved";
const auth: TriggerAuthenticator = { hmac: "secret" };
const pause: PauseTrigger = { trigger: "ok", resumeWhen: resume, auth };
const payload: TriggerPayload = { approved: true };
const failure: FailureResolutionConfig = { strategy: "auto_retry", maxRetries: 3 };
const undo: CompensationDefinition = { run: "x", timeout: "1m" };
console.log(JSON.stringify([step, branch, end, result, polling, answer, pause, payload, failure, undo].length));
// @ts-expect-error: a condition is an expression
const step2: StepCondition = 5;
// @ts-expect-error: it ends somehow, for a reason
const end2: TerminationCondition = { condition: step };
// @ts-expect-error: a run cannot end so
const end3: TerminationCondition = { condition: step, state: "paused", reason: "why" };
// @ts-expect-error: a duration has a unit
const often2: PollingConfiguration = { interval: 5, maxDuration: "48h" };
// @ts-expect-error: a polling step polls
const polling2: PollingStep = { run: "payments/status" };
// @ts-expect-error: a poll says whether it is complete
const answer2: PollResult = { continue: true };
// @ts-expect-error: a pause has a trigger
const pause2: PauseTrigger = { timeout: "1h" };
// @ts-expect-error: a payload is JSON
const payload2: TriggerPayload = { approve() {} };
// @ts-expect-error: nobody is let in without one of these
const auth2: TriggerAuthenticator = { password: "x" };
// @ts-expect-error: a value that nobody changes
failure.maxRetries = 4;
"""


@case("proves: A-133 A-166 A-205")
def the_contracts_are_types(t):
    result = compiled(t, CONTRACTS)
    t.require(result is not None)
    t.equal(result.out, "10\n")


@case("proves: F-119")
def the_types_are_those_of_the_schema(t):
    place = sdk(t)
    schema = ROOT / "spec" / "definition.schema.json"
    t.equal(t.run("node", place / "scripts" / "types.mjs", "--check", schema).code, 0)
    other = json.loads(schema.read_text())
    other["$defs"]["task"]["properties"]["new_key"] = {"type": "string"}
    told = t.run("node", place / "scripts" / "types.mjs", "--check", t.write("schema.json", json.dumps(other)))
    t.equal(told.code, 1)
    t.contains(told.err, "npm run types")


@case()
def what_is_missing_is_told_with_what_to_install(t):
    place = sdk(t)
    path = t.write("w.ts", 'workflow("w").job("a", (j) => j.task("t", (t) => t.run("noop")));\n')
    bare = t.folder / "bare"
    shutil.copytree(place / "dist", bare / "dist")
    rows = {
        "no SDK": ({"MAESTRO_SDK": str(t.folder / "nowhere")}, "npm ci && npm run build"),
        "no Node.js": ({"MAESTRO_NODE": str(t.folder / "no-node")}, "Install Node.js 18 or later"),
        "no typescript": ({"MAESTRO_SDK": str(bare)}, f"'npm ci' in {bare}"),
    }
    for name, (env, want) in rows.items():
        with t.row(name):
            result = maestro(t, "validate", path, env=env)
            t.equal(result.code, 69)
            t.contains(result.err, want)
    t.equal(maestro(t, "validate", t.folder / "nowhere.ts").code, 69)


@case()
def a_compiler_that_misbehaves_is_refused(t):
    path = t.write("w.ts", "const a = 1;\n")
    rows = {
        "garbage": ("console.log('x')", 65),
        "nothing": ("", 65),
        "places of another": ("console.log('{\"workflow\":\"w\"}\\n[1,1,1]')", 65),
        "a crash": ("process.abort()", 70),
        "another status": ("console.error('so'); process.exit(3)", 70),
    }
    for name, (program, code) in rows.items():
        with t.row(name):
            t.write("fake/dist/compile.js", program)
            result = t.maestro("validate", path, env={"MAESTRO_SDK": str(t.folder / "fake")})
            t.equal(result.code, code)
            t.contains(result.err, "w.ts")


@case()
def the_environment_is_not_for_definitions(t):
    t.write("fake/dist/compile.js", "console.error(JSON.stringify(Object.keys(process.env).sort())); process.exit(69)")
    result = t.maestro("validate", t.write("w.ts", "\n"), env={"MAESTRO_SDK": str(t.folder / "fake"), "A_SECRET": "x"})
    t.contains(result.err, '["HOME","PATH"]')


@case()
def the_lock_file_names_no_host(t):
    text = (SDK / "package-lock.json").read_text()
    t.lacks(text, "http")
    t.contains(text, '"integrity"')


main()
