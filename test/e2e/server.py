#!/usr/bin/env python3
"""The server over real sockets: revisions, executions, identity, events, metrics."""
import gzip
import hmac
import json
import os
import re
import signal
import socket
import ssl
import stat
import subprocess
import threading
import time

from maestro_test import MAESTRO, ROOT, case, main
from schema_test import violations
from server_test import HELLO, Server, problem

FAILING = """workflow: fails
jobs:
  a:
    tasks:
      - { name: first, log: "one" }
      - { name: second, run: shell, args: ["sh", "-c", "exit 65"], retries: { attempts: 1 } }
      - { name: third, log: "three" }
"""

PAUSING = """workflow: pausing
jobs:
  a:
    tasks:
      - name: ask
        log: "asked"
        pause_after:
          trigger: approval
          timeout: 1h
          auth: { api_key: true }
      - { name: after, log: "after" }
"""


@case("proves: R-016 R-036 R-037 R-039 R-012 R-091 C-27 C-51 G-05")
def revisions_are_created_listed_activated_and_deleted(t):
    server = Server(t)
    made = server.call("POST", "/api/workflows", HELLO, headers={"Content-Type": "application/yaml"})
    t.equal(made.status, 201)
    first = made.json()
    t.equal(first["revisionId"], {"namespace": "default", "workflowId": "hello", "version": 1})
    t.equal((first["active"], first["parameters"][0]["name"]), (False, "who"))
    t.equal(made.headers["Location"], "/api/workflows/default/hello/revisions/1")
    again = server.call("POST", "/api/workflows", HELLO, headers={"Content-Type": "application/yaml"})
    t.equal((again.status, again.json()["revisionId"]["version"]), (200, 1), "the same definition")
    second = server.call("POST", "/api/workflows/default/hello/revisions", HELLO.replace("hello $", "good day $"),
                         headers={"Content-Type": "application/yaml"})
    t.equal((second.status, second.json()["revisionId"]["version"]), (201, 2), "the next definition")
    base = "/api/workflows/default/hello/revisions"
    problem(t, server.post("/api/executions", {"workflowId": "hello", "parameters": {"who": "x"}}), 409, "revision-not-active")
    active = server.post(base + "/1/activate", {"reason": "first"})
    t.equal((active.status, active.json()["active"]), (200, True))
    server.post(base + "/2/activate")
    t.equal([r["active"] for r in server.get(base).json()["items"]], [True, False], "at most one is active")
    problem(t, server.call("DELETE", base + "/2"), 409, "active-revision")
    t.equal(server.call("DELETE", base + "/1").status, 204)
    problem(t, server.get(base + "/1"), 404, "workflow-revision-not-found")
    off = server.post(base + "/2/deactivate")
    t.equal((off.status, off.json()["active"]), (200, False))
    server.post(base + "/2/activate")
    server.begin("hello", {"who": "x"}, wait="20s")
    server.post(base + "/2/deactivate")
    problem(t, server.call("DELETE", base + "/2"), 409, "conflict")
    t.equal(server.get("/api/workflows").json()["items"][0]["newestVersion"], 2)
    server.stop()
    checked = t.maestro("store", "verify", "--store", "sqlite:" + server.store)
    t.equal(checked.code, 0, "the store agrees with its ledger: " + checked.out + checked.err)


@case("")
def a_number_has_one_address_and_a_time_that_is_waited_is_one(t):
    server = Server(t)
    server.define(HELLO)
    base = "/api/workflows/default/hello/revisions"
    for number in ("01", "0", "+1", "1.0"):
        with t.row(number):
            problem(t, server.get(f"{base}/{number}"), 404, "workflow-revision-not-found")
    for wait in ("", "abc", "s", "ms"):
        with t.row(f"wait={wait}"):
            problem(t, server.post(f"/api/executions?wait={wait}", {"workflowId": "hello", "parameters": {"who": "x"}}), 400, "invalid")
    t.equal(server.get("/api/executions").json()["items"], [], "nothing was started")


@case("proves: F-118 R-082")
def a_revision_that_breaks_who_relies_on_the_active_one_is_refused(t):
    server = Server(t)
    server.define(HELLO)
    server.call("POST", "/api/workflows", HELLO.replace("name: who", "name: whom").replace("params.who", "params.whom"), headers={"Content-Type": "application/yaml"})
    path = "/api/workflows/default/hello/revisions/2/activate"
    body = problem(t, server.post(path), 409, "revision-incompatible")
    t.equal([(e["pointer"], e["detail"]) for e in body["errors"]],
            [("/parameters/who", "was removed"), ("/parameters/whom", "is new and has no default")], "each is named by its place")
    t.equal(server.post(path, {"allowIncompatible": True}).status, 200)


@case("proves: F-118")
def what_was_active_last_is_relied_on_by_every_door(t):
    server = Server(t)
    other = HELLO.replace("name: who", "name: whom").replace("params.who", "params.whom")
    there = ("--server", f"http://127.0.0.1:{server.port}")
    base = "/api/workflows/default/hello/revisions"

    def store(text):
        return server.call("POST", "/api/workflows", text, headers={"Content-Type": "application/yaml"})

    first = store(HELLO)
    t.equal((first.status, first.json()["comparedWith"], first.json()["incompatibilities"]), (201, None, []), "nobody relies on any yet")
    t.equal(store(other).json()["comparedWith"], None, "nor on one that was never active")
    t.equal(server.post(base + "/1/activate").status, 200, "so a first one breaks nobody")
    again = store(other)
    t.equal((again.status, again.json()["comparedWith"], again.json()["incompatibilities"]),
            (200, 1, ["parameter 'who' was removed", "parameter 'whom' is new and has no default"]), "what it breaks is told where it is stored")
    t.equal(server.post(base + "/1/deactivate").status, 200)
    t.contains(problem(t, server.post(base + "/2/activate"), 409, "revision-incompatible")["detail"], "revision 1, which was active last;")
    dry = server.post(base + "/2/dry-run", {"parameters": {"whom": "x"}}).json()
    t.equal((dry["comparedWith"], dry["incompatibilities"]), (1, again.json()["incompatibilities"]))
    t.equal("comparedWith" in server.get(base + "/2").json(), False, "of one that is looked at it is not told")
    file = t.write("other.yaml", other)
    for args, code in ((("revisions", "activate", "hello@2"), 65), (("run", file, "-p", "whom=x"), 65), (("revisions", "store", file), 0)):
        with t.row(" ".join(map(str, args[:2]))):
            done = t.maestro(*args, *there, env={"MAESTRO_TOKEN": server.admin})
            t.equal(done.code, code, done.out + done.err)
            t.contains(done.err, "this version of hello is not compatible with revision 1, which was active last:\n  parameter 'who' was removed\n")
    planned = t.maestro("plan", file, "--dry-run", "--json", "-p", "whom=x", *there, env={"MAESTRO_TOKEN": server.admin})
    t.equal(json.loads(planned.out)["comparedWith"], 1, "a dry run of a file")
    t.equal(server.post(base + "/2/activate", {"allowIncompatible": True}).status, 200)


def at_once(server, calls):
    """The statuses of calls that are sent beside one another, each by a connection of its own."""
    statuses, gate = [], threading.Barrier(len(calls))

    def send(path, headers, body="{}"):
        connection = server.connect()
        gate.wait()
        connection.request("POST", path, body, {"Authorization": "Bearer " + server.admin, "Content-Type": "application/json", **headers})
        statuses.append(connection.getresponse().status)

    threads = [threading.Thread(target=send, args=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(statuses)


@case("proves: F-118 C-51 G-05")
def of_activations_that_saw_the_same_one_alone_is_done(t):
    server = Server(t)
    base = "/api/workflows/default/hello/revisions"
    server.define(HELLO)
    server.define(HELLO.replace("name: who", "name: whom").replace("params.who", "params.whom"))
    for turn in range(5):
        fresh = HELLO.replace("workflow: hello", f"workflow: hello-{turn}")
        for text in (fresh, fresh.replace("name: who", "name: whom").replace("params.who", "params.whom")):
            server.call("POST", "/api/workflows", text, headers={"Content-Type": "application/yaml"})
        t.equal(at_once(server, [(f"/api/workflows/default/hello-{turn}/revisions/{version}/activate", {}) for version in (1, 2)]), [200, 409],
                "two that break one another, where none was active before")
        for version in (1, 2):
            server.post(f"{base}/{version}/deactivate")
        tag = {"If-Match": server.get(base + "/1").headers["ETag"]}
        t.equal(at_once(server, [(base + "/1/activate", tag, '{"allowIncompatible": true}')] * 4), [200, 412, 412, 412], "four with the same tag")
    named = {"If-Match": server.get(base + "/1").headers["ETag"], "Idempotency-Key": "off"}
    for turn in range(2):
        t.equal(server.post(base + "/1/deactivate", headers=named).status, 200, "sent again it gets its first answer")
    named["Idempotency-Key"] = "off again"
    for turn in range(2):
        problem(t, server.post(base + "/1/deactivate", headers=named), 412, "precondition-failed")
    tag = {"If-Match": named["If-Match"]}
    problem(t, server.call("DELETE", base + "/1", headers=tag), 412, "precondition-failed")
    tag = {"If-Match": '"1-0-7", ' + server.get(base + "/1").headers["ETag"]}
    t.equal(server.call("DELETE", base + "/1", headers=tag).status, 204, "one of the tags is right")


@case("proves: F-118 G-05")
def activations_that_break_nobody_are_all_done_though_they_come_at_once(t):
    server = Server(t)
    base = "/api/workflows/default/hello/revisions"
    for word in ("hello", "good day", "good night"):
        server.define(HELLO.replace("hello $", word + " $"))
    for turn in range(3):
        calls = [(f"{base}/{1 + i % 3}/activate", {"Idempotency-Key": f"{turn}-{i}"} if i % 2 else {}) for i in range(30)]
        t.equal(at_once(server, calls), [200] * 30, "each is compared again where another was quicker")
    t.equal(sum(r["active"] for r in server.get(base).json()["items"]), 1)


TOLD = """workflow: told
params: [ { name: order, type: string, default: "7" } ]
jobs:
  a:
    tasks:
      - name: charge
        run: noop
        intent: heavy
        input: { id: "${params.order}" }
        input_schema: { type: object, required: [id] }
        outputs: { receipt: string }
        idempotency: dedupe-key
        idempotency_key: "charge-${params.order}"
        timeout: 30s
        retries: { attempts: 3, strategy: fixed, delay: 1s }
        compensation: noop
"""


@case("proves: F-012")
def a_task_is_told_with_all_that_its_author_said_of_it(t):
    server = Server(t)
    path = server.define(TOLD)["_links"]["self"]["href"]
    step = server.get(path).json()["steps"][0]
    t.equal({key: step[key] for key in ("id", "name", "intent", "input_schema", "outputs", "strategy", "key", "timeout_ms")},
            {"id": "a.charge", "name": "charge", "intent": "heavy", "input_schema": {"type": "object", "required": ["id"]},
             "outputs": {"receipt": "string"}, "strategy": "dedupe-key", "key": "charge-${params.order}", "timeout_ms": 30000})
    t.equal((step["retries"]["attempts"], step["retries"]["strategy"], step["compensation"]["run"]), (3, "fixed", "noop"))
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    started = server.call("POST", "/api/executions", {"workflowId": "told"}, headers={"traceparent": trace})
    events = server.get("/api/executions/%s/events" % started.json()["executionId"]).json()
    t.contains(json.dumps(events), trace.split("-")[1])


@case("proves: R-081 G-06")
def every_parameter_that_is_wrong_is_named(t):
    server = Server(t)
    names = [f"parameter_with_a_long_name_{i:03}" for i in range(60)]
    params = ", ".join(f"{{ name: {name}, type: integer }}" for name in names)
    server.define(f"workflow: many\nparams: [{params}]\njobs: {{ a: {{ tasks: [{{ name: s, run: noop }}] }} }}\n")
    dry = "/api/workflows/default/many/revisions/1/dry-run"
    for given, what in (({}, "is missing"), (dict.fromkeys(names, "x"), "is not of type integer")):
        for path, body in (("/api/executions", {"workflowId": "many", "parameters": given}), (dry, {"parameters": given})):
            with t.row(f"{what}, {path}"):
                told = problem(t, server.post(path, body), 400, "parameter-validation")
                t.equal(told["detail"], "60 parameters are wrong: " + ", ".join(f"'{name}'" for name in names))
                t.equal([(e["pointer"], e["detail"]) for e in told["errors"]], [("/parameters/" + name, f"parameter '{name}' {what}") for name in names])
    flood = {f"p{i}": 1 for i in range(1200)}
    told = problem(t, server.post("/api/executions", {"workflowId": "many", "parameters": flood}), 400, "parameter-validation")
    t.true(told["detail"].startswith("1260 parameters are wrong, of which PARAM_FINDING_COUNT_MAX (1000) are told: '"), told["detail"][:200])
    t.equal((len(told["errors"]), told["detail"].count("', '")), (1000, 999))
    right = problem(t, server.post("/api/executions", {"workflowId": "many", "parameters": dict.fromkeys(names, 1) | {"it's": 1}}), 400, "parameter-validation")
    t.equal((right["detail"], right["errors"]), ("parameter 'it's' is not declared", [{"pointer": "/parameters/it's", "detail": "parameter 'it's' is not declared"}]))


@case("proves: R-081")
def pointers_of_members_are_escaped(t):
    server = Server(t)
    server.define(HELLO)
    for name, token in (("a/b", "a~1b"), ("a~b", "a~0b"), ("~1", "~01"), ('it"s', 'it"s'), ("", ""), ("é", "é")):
        with t.row(name):
            told = problem(t, server.post("/api/executions", {"workflowId": "hello", "parameters": {"who": "x", name: 1}}), 400, "parameter-validation")
            t.equal(told["errors"][0]["pointer"], "/parameters/" + token, "of a parameter")
            told = problem(t, server.post("/api/executions", {"workflowId": "hello", name: 1}), 400, "invalid")
            t.equal(told["errors"][0]["pointer"], "/" + token, "of a member")
    told = problem(t, server.post("/api/executions", {"workflowId": "hello", "version": 1.5}), 400, "invalid")
    t.equal(told["errors"], [{"pointer": "/version", "detail": "has to be of the type integer"}])


@case("proves: F-092")
def a_definition_is_refused_with_every_mistake_and_how_many_there_are(t):
    server = Server(t)

    def refused(count):
        jobs = "".join(f"  j{i}: {{ tasks: [{{ name: s, run: noop, lgo: hi }}] }}\n" for i in range(count))
        answer = server.call("POST", "/api/workflows", "workflow: bad\njobs:\n" + jobs, headers={"Content-Type": "application/yaml"})
        return problem(t, answer, 400, "definition-invalid")

    for count, detail, told in ((1, "the definition has 1 mistake", 1), (300, "the definition has 300 mistakes", 300),
                                (1500, "the definition has 1500 mistakes, of which 1000 are told: DIAGNOSTIC_COUNT_MAX", 1000)):
        body = refused(count)
        t.equal((body["detail"], len(body["errors"])), (detail, told))
        t.equal([e["pointer"] for e in body["errors"]], [f"/jobs/j{i}/tasks/0/lgo" for i in range(told)])


@case("")
def a_definition_with_mistakes_is_refused_with_their_places(t):
    server = Server(t)
    answer = server.call("POST", "/api/workflows", "workflow: x\njobz: {}\n", headers={"Content-Type": "application/yaml"})
    body = problem(t, answer, 400, "definition-invalid")
    t.contains(json.dumps(body["errors"]), '"line": 2', "the errors")


@case("")
def media_types_are_of_any_case(t):
    server = Server(t)
    for kind in ("application/yaml", "Application/YAML", "TEXT/Yaml; charset=utf-8", "application/x-yaml ;q=1"):
        with t.row(kind):
            t.equal(server.call("POST", "/api/workflows", HELLO, headers={"Content-Type": kind}).status // 100, 2)
    for path in ("/api/workflows", "/api/workflows/default/hello/revisions", "/api/runbooks?action=validate"):
        told = problem(t, server.call("POST", path, HELLO, headers={"Content-Type": "application/yamlish"}), 415, "unsupported-media-type")
        t.equal(told["detail"], "a definition has to be application/yaml or application/json")
    told = problem(t, server.call("POST", "/api/executions", HELLO, headers={"Content-Type": "application/yaml"}), 415, "unsupported-media-type")
    t.equal(told["detail"], "the body has to be application/json")


@case("")
def the_tag_of_a_revision_follows_its_flag(t):
    server = Server(t)
    server.define(HELLO)
    path = "/api/workflows/default/hello/revisions/1"
    tag = server.get(path).headers["ETag"]
    for known in (tag, "W/" + tag, f'"other", {tag}', "*"):
        same = server.get(path, headers={"If-None-Match": known})
        t.equal((same.status, same.body, same.headers["ETag"]), (304, b"", tag), known)
        t.equal(same.headers["Content-Length"], server.get(path).headers["Content-Length"], "the size is that of what is not sent")
    t.equal(server.get(path, headers={"If-None-Match": '"other"'}).status, 200)
    t.equal(server.post(path + "/activate", headers={"If-Match": "W/" + tag}).status, 412, "a weak tag is not enough to change something")
    problem(t, server.post(path + "/deactivate", headers={"If-Match": '"other"'}), 412, "precondition-failed")
    t.equal(server.post(path + "/deactivate", headers={"If-Match": tag}).status, 200)
    t.true(server.get(path).headers["ETag"] != tag, "the tag has changed")


@case("proves: R-002 R-019 R-022 R-025 R-040 R-043 R-044 R-045 R-047 R-072 R-095")
def an_execution_is_started_and_answered_with_its_outcome(t):
    server = Server(t)
    server.define(HELLO)
    answer = server.post("/api/executions?wait=30s", {"workflowId": "hello", "parameters": {"who": "Ana"}})
    t.equal(answer.status, 201)
    run = answer.json()
    t.matches(run["executionId"], r"^[A-Za-z0-9_-]{21}$")
    t.equal(answer.headers["Location"], "/api/executions/" + run["executionId"])
    t.equal((run["status"], run["errorMessage"], run["inputParameters"]), ("COMPLETED", None, {"who": "Ana"}))
    t.true(run["completedAt"] >= run["startedAt"], "it ended after it began")
    t.equal([(s["stepIndex"], s["stepId"], s["status"], s["stepType"]) for s in run["steps"]], [(0, "greet.say", "COMPLETED", "task")])
    t.equal(sorted(set(run["_links"]) & {"self", "workflow", "revision", "steps", "events"}),
            ["events", "revision", "self", "steps", "workflow"])
    for name, link in run["_links"].items():
        with t.row(name):
            t.equal(server.get(link["href"]).status, 200, "the link is there")
    logs = server.get(run["_links"]["logs"]["href"]).json()["items"]
    t.equal([line["text"] for line in logs], ["hello Ana"])


@case("proves: C-04 R-095 R-100")
def a_start_is_answered_at_once_and_with_wait_once_the_run_is_settled_or_blocked(t):
    server = Server(t)
    server.define(HELLO)
    server.define(PAUSING)
    server.define('workflow: held\njobs: { a: { tasks: [{ name: w, run: shell, args: ["sh", "-c", "until [ -e %s/go ]; do sleep 0.1; done"] }] } }\n'
                  % t.folder)
    at_once = server.begin("held")                                  # nothing lets it end before it was answered
    t.matches(at_once["status"], "^(PENDING|RUNNING)$")
    over = server.begin("held", wait="200ms")
    t.equal((over["status"], over["completedAt"]), ("RUNNING", None), "the time was over")
    t.equal(server.begin("hello", {"who": "x"}, wait="30s")["status"], "COMPLETED", "settled")
    blocked = server.begin("pausing", wait="30s")
    t.equal((blocked["status"], blocked["awaitingTrigger"]), ("RUNNING", "approval"), "blocked")
    t.true(blocked["triggerTimeoutAt"] > blocked["startedAt"] and not blocked["scheduledResumeAt"], blocked)
    server.define("workflow: again\nfailure_resolution: { strategy: auto_retry, max_retries: 1, retry_delay: 1h }\n"
                  "jobs: { a: { tasks: [{ run: shell, args: [sh, -c, exit 65] }] } }\n")
    failed = server.begin("again")["executionId"]
    t.until(lambda: (server.get("/api/executions/" + failed).json()["autoRetryAt"] or "") > blocked["startedAt"], "when it is retried is told")
    problem(t, server.post("/api/executions?wait=31s", {"workflowId": "hello", "parameters": {"who": "x"}}), 400, "invalid")
    last = server.begin("held")
    server.stop(signal.SIGKILL)                                     # what was answered had been persisted
    server.start()
    t.write("go", "")
    for run in (at_once, over, last):
        path = "/api/executions/" + run["executionId"]
        t.until(lambda: server.get(path).json()["status"] == "COMPLETED", "it was carried on")
    server.stop()
    waiting = t.start("run", t.write("pausing.yaml", PAUSING), "--store", "sqlite:" + server.store)
    listed = lambda: [json.loads(line) for line in t.maestro("runs", "--json", "--store", "sqlite:" + server.store).out.splitlines()]
    t.until(lambda: listed()[0]["run"] != last["executionId"] and listed()[0]["awaitingTrigger"] == "approval", "it waits")
    t.equal(waiting.poll(), None, "and so does its command")
    t.equal(t.maestro("trigger", listed()[0]["run"], "approval", "--payload", "{}", "--store", "sqlite:" + server.store).code, 0)
    t.equal(t.end(waiting).code, 0)


@case("proves: R-029 R-030 R-042 R-048 R-049 R-059 R-060 R-061 C-50 C-68")
def a_failed_execution_says_why_and_skips_the_rest(t):
    server = Server(t)
    server.define(FAILING)
    run = server.begin("fails", wait="30s")
    t.equal((run["status"], run["state"], run["resolution"]), ("FAILED", "failed", "AWAITING_DECISION"))
    t.true(run["errorMessage"], "there is a message")
    steps = {s["stepId"]: s for s in run["steps"]}
    t.equal({k: v["status"] for k, v in steps.items()}, {"a.first": "COMPLETED", "a.second": "FAILED", "a.third": "SKIPPED"})
    t.equal((steps["a.second"]["outputData"], bool(steps["a.second"]["errorMessage"]), bool(steps["a.second"]["errorDetails"])),
            (None, True, True))
    details, told = steps["a.second"]["errorDetails"], server.get(run["_links"]["events"]["href"] + "?limit=500").json()["items"]
    t.equal((run["errorClass"], run["errorCause"], run["failedStep"]), (details["class"], details["cause"], "a.second"), "the same words of both")
    t.equal([e["event"] for e in told if e.get("cause") == run["errorCause"] and e["trace"]], ["step-failed", "run-failing", "run-failed"],
            "and in the ledger, with its trace")
    resolved = server.post(run["_links"]["resolve"]["href"], {"decision": "MARK_RESOLVED", "reason": "known"})
    t.equal((resolved.status, resolved.json()["resolution"]), (200, "RESOLVED"))
    problem(t, server.post("/api/executions/%s/resolve" % run["executionId"], {"decision": "RETRY"}), 409, "conflict")


@case("proves: R-003 R-020 R-023 R-024 R-078 R-079 R-080 R-081 R-082 R-084 R-085 C-67")
def what_is_wrong_is_a_problem_with_its_own_type(t):
    server = Server(t)
    server.define(HELLO)
    before = len(server.get("/api/executions").json()["items"])
    rows = [
        ("no such workflow", {"workflowId": "nobody"}, 404, "workflow-not-found"),
        ("no such revision", {"workflowId": "hello", "version": 9}, 404, "workflow-revision-not-found"),
        ("parameters", {"workflowId": "hello", "parameters": {"who": 3, "x": 1}}, 400, "parameter-validation"),
        ("missing member", {}, 400, "invalid"),
        ("unknown member", {"workflowId": "hello", "foo": 1}, 400, "invalid"),
        ("another kind", {"workflowId": 3}, 400, "invalid"),
    ]
    for name, body, status, kind in rows:
        with t.row(name):
            got = problem(t, server.post("/api/executions", body), status, kind)
            if name == "parameters":
                t.equal(sorted(e["pointer"] for e in got["errors"]), ["/parameters/who", "/parameters/x"])
    json_type = {"Content-Type": "application/json"}
    problem(t, server.call("POST", "/api/executions", "{", headers=json_type), 400, "invalid")
    problem(t, server.call("POST", "/api/executions", "[]", headers=json_type), 400, "invalid")
    problem(t, server.call("POST", "/api/executions", "a=b", headers={"Content-Type": "text/plain"}), 415, "unsupported-media-type")
    problem(t, server.get("/api/executions/" + "a" * 21), 404, "execution-not-found")
    problem(t, server.get("/nowhere"), 404, "not-found")
    problem(t, server.call("PUT", "/api/executions"), 405, "method-not-allowed")
    t.equal(len(server.get("/api/executions").json()["items"]), before, "nothing was started")


@case("proves: R-114")
def every_type_of_error_has_its_page(t):
    server = Server(t)
    with open(ROOT / "src" / "api" / "problems.def", encoding="utf-8") as file:
        kinds = re.findall(r'^PROBLEM\(\w+, "(\w+)", "([\w-]+)",\s*"([^"]*)", (\d+)\)', file.read(), re.M)
    t.true(len(kinds) > 20, f"there are only {len(kinds)} types")
    folder = ROOT / "docs" / "errors"
    t.equal(sorted(name[:-3] for name in os.listdir(folder) if name != "README.md"), sorted(kind for _, kind, _, _ in kinds), "the pages")
    index = (folder / "README.md").read_text(encoding="utf-8")
    for error, kind, title, status in kinds:
        with t.row(kind):
            page = server.get("/errors/" + kind, key="")
            t.equal(page.status, 200)
            t.equal(page.body, (folder / (kind + ".md")).read_bytes(), "the page")
            said = page.body.decode()
            t.contains(said, f"# {title}\n\nType `https://maestro/errors/{kind}`, status {status}, named {error}.\n", "what it is")
            t.contains(said, "**What to do.** ", "what to do")
            t.contains(index, f"| [`{kind}.md`]({kind}.md) | {status} | {title} |", "the index")
    problem(t, server.get("/errors/none", key=""), 404, "not-found")


@case("proves: R-105")
def lists_are_paged_without_loss_or_repetition(t):
    server = Server(t)
    server.define(HELLO)
    ids = [server.begin("hello", {"who": str(i)})["executionId"] for i in range(7)]
    seen, path, pages = [], "/api/executions?workflowId=hello&limit=3", 0
    while path:
        page = server.get(path).json()
        seen += [item["executionId"] for item in page["items"]]
        path = page["_links"].get("next", {}).get("href")
        pages += 1
        if pages == 1:
            server.begin("hello", {"who": "late"})
    t.equal((seen, pages), (ids[::-1], 3), "what was there before, the newest first")
    problem(t, server.get("/api/executions?cursor=nonsense"), 400, "invalid")
    t.contains(problem(t, server.get("/api/executions?status=FAILED"), 400, "invalid")["detail"], "state", "a filter that is none does not list everything")
    problem(t, server.get("/api/executions?limit=0"), 400, "invalid")
    t.equal(len(server.get("/api/executions?state=succeeded&workflowId=none").json()["items"]), 0)
    t.contains(problem(t, server.get("/api/executions?state=odd"), 400, "invalid")["detail"], "COMPLETED, FAILED, CANCELLED, queued, dispatched, running")
    for query in ("version=0", "workflowId=", "namespace=", "state="):
        with t.row(query):
            problem(t, server.get("/api/executions?" + query), 400, "invalid")


@case("proves: C-49")
def executions_are_listed_by_the_status_that_answers_show(t):
    server = Server(t)
    server.define(HELLO)
    server.define(FAILING)
    server.define(PAUSING)
    done = server.begin("hello", {"who": "x"}, wait="30s")["executionId"]
    failed = server.begin("fails", wait="30s")["executionId"]
    waits = server.begin("pausing", wait="30s")["executionId"]
    for word, want in (("COMPLETED", [done]), ("FAILED", [failed]), ("RUNNING", [waits]), ("CANCELLED", []), ("PENDING", []), ("running", []),
                       ("completed", [done]), ("failed", [failed]), ("cancelled", []), ("pending", [])):
        with t.row(word):
            t.equal([i["executionId"] for i in server.get("/api/executions?state=" + word).json()["items"]], want)
    parameters = server.get("/openapi.json", key="").json()["paths"]["/api/executions"]["get"]["parameters"]
    for word in next(parameter["schema"]["enum"] for parameter in parameters if parameter["name"] == "state"):
        t.equal(server.get("/api/executions?state=" + word).status, 200, word)
    for word in ("Completed", "skipped"):
        problem(t, server.get("/api/executions?state=" + word), 400, "invalid")


@case("")
def a_nul_of_an_address_is_told_as_it_was_sent(t):
    server = Server(t)
    server.define(HELLO)
    t.contains(problem(t, server.get("/api/workflows/default/hello%00x/revisions"), 404, "workflow-not-found")["detail"], "'hello%00x'")


@case("")
def a_request_that_is_sent_again_is_answered_as_the_first(t):
    server = Server(t)
    server.define(HELLO)
    body, head = {"workflowId": "hello", "parameters": {"who": "x"}}, {"Idempotency-Key": "order-17"}
    first = server.post("/api/executions", body, headers=head)
    again = server.post("/api/executions", body, headers=head)
    t.equal(again.json()["executionId"], first.json()["executionId"])
    problem(t, server.post("/api/executions", dict(body, parameters={"who": "y"}), headers=head), 422, "idempotency-key-reused")
    server.stop(signal.SIGKILL)
    server.start()
    later = server.post("/api/executions", body, headers=head)
    t.equal(later.json()["executionId"], first.json()["executionId"], "after a crash, too")
    t.equal(len(server.get("/api/executions").json()["items"]), 1, "one was started")


@case("proves: F-006")
def a_key_of_an_execution_with_other_parameters_is_refused_and_nothing_is_started(t):
    server = Server(t)
    server.define(HELLO)
    body = {"workflowId": "hello", "parameters": {"who": "Ana"}, "idempotencyKey": "once"}
    first = server.post("/api/executions?wait=10s", body)
    same = server.post("/api/executions", body)
    t.equal((first.status, same.status, same.json()["executionId"]), (201, 200, first.json()["executionId"]), "the same start")
    for head in ({}, {"Idempotency-Key": "q"}, {"Idempotency-Key": "q"}):
        with t.row(str(head)):
            told = problem(t, server.post("/api/executions", dict(body, parameters={"who": "Ben"}), headers=head), 409, "idempotency-key-conflict")
            t.equal(told["error"], "IdempotencyKeyConflict")
            for part in (first.json()["executionId"], 'who is "Ana" there and "Ben" here'):
                t.contains(told["detail"], part)
    for turn in range(10):
        others = [("/api/executions", {}, json.dumps(dict(body, idempotencyKey=f"race-{turn}", parameters={"who": who}))) for who in "abcd"]
        t.equal(at_once(server, others), [201, 409, 409, 409], "of four at once one is started")
    t.contains(server.get("/metrics").body.decode(), "maestro_store_failures_total 0")
    again = server.post("/api/executions", dict(body, parameters={"who": "Ben"}, again=True))
    t.equal(again.status, 201, str(again))
    t.true(again.json()["executionId"] != first.json()["executionId"], "again is a new one")
    t.equal(len(server.get("/api/executions").json()["items"]), 12)


@case("")
def a_request_that_is_sent_again_is_answered_as_the_first_whatever_has_changed_since(t):
    server = Server(t)
    base = "/api/workflows/default/hello/revisions/"
    server.define(HELLO)
    body = {"workflowId": "hello", "parameters": {"who": "x"}}
    first = server.post("/api/executions", body, headers={"Idempotency-Key": "a"}).json()["executionId"]
    named = server.post("/api/executions", dict(body, version=1), headers={"Idempotency-Key": "b"}).json()["executionId"]

    def again():
        laid_out = server.call("POST", "/api/executions?wait=1s", json.dumps(body, indent=3), headers={"Idempotency-Key": "a", "Content-Type": "application/json"})
        t.equal(laid_out.json()["executionId"], first, "the first, however the body is laid out and however long its sender waits")
        t.equal(server.post("/api/executions", dict(body, version=1), headers={"Idempotency-Key": "b"}).json()["executionId"], named, "the one of a version")
        other = server.post("/api/executions", dict(body, parameters={"who": "y"}), headers={"Idempotency-Key": "a"})
        problem(t, other, 422, "idempotency-key-reused")
        t.equal(len(server.get("/api/executions").json()["items"]), 2, "two were started")

    server.define(HELLO.replace("hello ${", "good day ${"))
    again()
    server.post(base + "2/deactivate")
    again()
    gone = [server.call("DELETE", base + "2", headers={"Idempotency-Key": "gone"}).status for _ in range(2)]
    t.equal(gone, [204, 204], "what was deleted is not there, and its request is known")
    problem(t, server.call("DELETE", base + "2", headers={"Idempotency-Key": "another"}), 404, "workflow-revision-not-found")
    server.stop(signal.SIGKILL)
    server.start()
    again()


@case("")
def an_approval_that_is_sent_again_is_answered_as_the_first(t):
    server = Server(t)
    server.define("workflow: gate\njobs:\n  a: { tasks: [{ name: ask, log: x, pause_after: { trigger: yes-or-no, timeout: 1d } }] }\n")
    run = server.begin("gate", wait="10s")
    answers = [server.post(run["_links"]["approvals"]["href"], {"approved": True, "reason": "fine"}, headers={"Idempotency-Key": "ok"}) for _ in range(2)]
    t.equal([a.status for a in answers], [200, 200], f"both: {answers}")
    problem(t, server.post(run["_links"]["approvals"]["href"], {"approved": False, "reason": "no"}, headers={"Idempotency-Key": "ok"}), 422, "idempotency-key-reused")
    problem(t, server.post(run["_links"]["approvals"]["href"], {"approved": True, "reason": "fine"}), 409, "conflict")


@case("")
def the_head_of_a_stream_has_no_body(t):
    server = Server(t)
    server.define(HELLO)
    run = server.begin("hello", {"who": "x"})["executionId"]
    for path in ("/api/events", f"/api/executions/{run}/events", f"/api/executions/{run}/logs"):
        with t.row(path), socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
            lines = f"Host: x\r\nAuthorization: Bearer {server.admin}\r\nAccept: text/event-stream\r\n"
            client.sendall(f"HEAD {path} HTTP/1.1\r\n{lines}\r\nGET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            answer = b""
            while piece := client.recv(65536):
                answer += piece
            head, _, rest = answer.partition(b"\r\n\r\n")
            t.true(head.startswith(b"HTTP/1.1 200 "), f"200 and not {head[:80]!r}")
            t.true(rest.startswith(b"HTTP/1.1 200 "), f"the next answer, and not {rest[:40]!r}")


@case("proves: R-093")
def what_was_answered_survives_a_kill(t):
    server = Server(t)
    server.define(HELLO)
    ids = []
    for i in range(20):
        ids.append(server.begin("hello", {"who": str(i)})["executionId"])
    server.stop(signal.SIGKILL)
    server.start()
    for i in ids:
        t.until(lambda: server.get("/api/executions/" + i).json()["status"] == "COMPLETED", "it is completed")


@case("proves: R-106 A-045")
def executions_are_paused_resumed_and_cancelled(t):
    server = Server(t)
    server.define("workflow: long\njobs:\n  a:\n    tasks:\n      - { name: wait, run: shell, args: [\"sleep\", \"600\"] }\n")
    run = server.begin("long")
    path = "/api/executions/" + run["executionId"]
    t.until(lambda: server.get(path).json()["state"] == "running", "it runs")
    paused = server.post(path + "/pause", {"reason": "lunch"})
    t.equal((paused.status, paused.json()["state"]), (200, "paused"))
    resumed = server.post(path + "/resume")
    t.equal((resumed.status, resumed.json().get("state")), (200, "running"), f"resumed: {resumed}")
    t.equal(server.post(path + "/cancel", {"reason": "enough"}).status, 200)
    t.until(lambda: server.get(path).json()["status"] == "CANCELLED", "it is cancelled")
    problem(t, server.post(path + "/pause"), 409, "conflict")
    events = server.get(path + "/events").json()["items"]
    t.true(any(e.get("rationale") == "lunch" and e["actor"].startswith("key:") for e in events), "who and why are recorded")


@case("")
def many_failed_executions_are_decided_on_at_once(t):
    server = Server(t)
    server.define(FAILING)
    ids = [server.begin("fails", wait="30s")["executionId"] for _ in range(3)]
    answer = server.post("/api/decisions", {"executionIds": ids + ["b" * 21], "decision": "MARK_RESOLVED", "reason": "known"})
    t.equal(answer.status, 200)
    t.equal({i["executionId"]: i["outcome"] for i in answer.json()["items"]},
            dict({i: "done" for i in ids}, **{"b" * 21: "not-found"}))
    for i in ids:
        t.equal(server.get("/api/executions/" + i).json()["resolution"], "RESOLVED")


def decided(server, run):
    """How many decisions the ledger has about an execution."""
    items = server.get(f"/api/executions/{run}/events?limit=500").json()["items"]
    return sum(1 for e in items if e["event"] == "decision-made")


@case("proves: F-006")
def decisions_on_many_are_one_request_under_their_key(t):
    server = Server(t)
    server.define(FAILING)
    first, second, third, fourth = (server.begin("fails", wait="30s")["executionId"] for _ in range(4))
    asked = {"executionIds": [first, "b" * 21, second], "decision": "MARK_RESOLVED", "reason": "known"}
    head = {"Idempotency-Key": "B"}
    answer = server.post("/api/decisions", asked, headers=head)
    t.equal([i["outcome"] for i in answer.json()["items"]], ["done", "not-found", "done"], f"{answer}")
    rows = (("another execution", "/api/decisions", dict(asked, executionIds=[third])),
            ("another decision", "/api/decisions", dict(asked, decision="CANCEL")),
            ("more of them", "/api/decisions", dict(asked, executionIds=[third, first], decision="CANCEL")),
            ("fewer of them", "/api/decisions", dict(asked, executionIds=[first])),
            ("an execution", "/api/executions", {"workflowId": "fails"}),
            ("one of them", f"/api/executions/{third}/resolve", {"decision": "MARK_RESOLVED", "reason": "known"}))
    for restarted in (False, True):
        for name, path, body in rows:
            with t.row(f"{name}, restarted: {restarted}"):
                problem(t, server.post(path, body, headers=head), 422, "idempotency-key-reused")
        again = server.post("/api/decisions", asked, headers=head)
        t.equal((again.status, again.json()), (200, answer.json()), "the same again is answered as it was")
        t.equal([decided(server, i) for i in (first, second, third)], [1, 1, 0], "each was decided on once")
        if not restarted:
            server.stop()
            server.start()
    t.equal(server.post(f"/api/executions/{third}/resolve", {"decision": "MARK_RESOLVED"}, headers={"Idempotency-Key": "C"}).status, 200)
    for ids in ([fourth], [third], []):
        with t.row(f"a key of another route, about {len(ids)} executions"):
            problem(t, server.post("/api/decisions", {"executionIds": ids, "decision": "MARK_RESOLVED"}, headers={"Idempotency-Key": "C"}), 422, "idempotency-key-reused")
    t.equal(decided(server, fourth), 0, "nothing was done")
    problem(t, server.post("/api/decisions", asked, headers={"Idempotency-Key": "x" * 200}), 400, "invalid")


@case("proves: F-006")
def a_decision_under_the_key_of_another_one_is_refused(t):
    server = Server(t)
    server.define(FAILING)
    path = "/api/executions/%s/resolve" % server.begin("fails", wait="30s")["executionId"]
    head = {"Idempotency-Key": "D"}
    t.equal(server.post(path, {"decision": "MARK_RESOLVED"}, headers=head).status, 200)
    t.equal(server.post(path, {"decision": "mark_resolved"}, headers=head).status, 200, "the same in other words")
    for body in ({"decision": "CANCEL"}, {"decision": "COMPENSATE"}, {"decision": "RETRY_FROM_STEP", "step": "a.b"}):
        with t.row(body["decision"]):
            problem(t, server.post(path, body, headers=head), 422, "idempotency-key-reused")


@case("proves: F-006 R-093")
def decisions_on_many_that_a_crash_interrupts_are_completed_by_the_same_request(t):
    server = Server(t)
    server.define(FAILING)
    ids = [server.begin("fails", wait="30s")["executionId"] for _ in range(60)]
    body = json.dumps({"executionIds": ids, "decision": "MARK_RESOLVED"})
    head = {"Idempotency-Key": "whole", "Content-Type": "application/json", "Authorization": "Bearer " + server.admin}
    for pause_s in (0.001, 0.004, 0.016):
        connection = server.connect()
        connection.request("POST", "/api/decisions", body, head)
        time.sleep(pause_s)
        server.stop(signal.SIGKILL)
        server.start()
    answer = server.call("POST", "/api/decisions", body, headers=head)
    t.equal({i["outcome"] for i in answer.json()["items"]}, {"done"}, f"each is decided on: {answer}")
    t.equal(server.call("POST", "/api/decisions", body, headers=head).json(), answer.json(), "and answered so again")
    t.equal({decided(server, i) for i in ids}, {1}, "once")


@case("proves: F-101")
def a_decision_on_many_is_recorded_with_the_trace_of_its_request(t):
    server = Server(t)
    server.define(FAILING)
    ids = [server.begin("fails", wait="30s")["executionId"] for _ in range(2)]
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    server.post("/api/decisions", {"executionIds": ids, "decision": "MARK_RESOLVED", "reason": "known"}, headers={"traceparent": trace})
    for i in ids:
        made = [e for e in server.get(f"/api/executions/{i}/events?limit=500").json()["items"] if e["event"] == "decision-made"]
        t.equal([e["trace"].split("-")[1] for e in made], [trace[3:35]], "the request's trace")


@case("proves: A-186 A-201 A-279 C-24 C-47 F-132")
def a_pause_is_ended_by_its_trigger_or_an_approval(t):
    server = Server(t)
    server.define(PAUSING)
    run = server.begin("pausing", wait="30s")
    t.equal((run["status"], run["awaitingTrigger"]), ("RUNNING", "approval"))
    path = "/maestro/trigger/%s/approval" % run["executionId"]
    problem(t, server.call("POST", path, "{}", key=""), 401, "unauthenticated")
    problem(t, server.call("POST", path.replace("/approval", "/other"), "{}"), 404, "not-found")
    problem(t, server.call("POST", "/maestro/trigger/pausing/approval", "{}"), 404, "not-found")       # of a run, and not of its definition
    problem(t, server.post(path, {"ok": 1}, key=server.key("viewer")), 403, "denied")
    problem(t, server.post(path, {"ok": 1}, key=server.key("operator", "other")), 404, "not-found")
    t.equal(server.post(path, {"ok": 1}, key=server.key("operator")).status, 200)
    t.until(lambda: server.get("/api/executions/" + run["executionId"]).json()["status"] == "COMPLETED", "it went on")
    run = server.begin("pausing", wait="30s")
    t.equal(server.post(run["_links"]["approvals"]["href"], {"reason": "fine"}).status, 400, "nobody approves by leaving it out")
    for body in ({"approved": True}, {"approved": False}, {"approved": True, "reason": "  "}):
        told = problem(t, server.post(run["_links"]["approvals"]["href"], body), 400, "invalid")
        t.equal(told["errors"][0]["pointer"], "/reason", "nor without saying why")
    t.equal(server.post(run["_links"]["approvals"]["href"], {"approved": True, "reason": "fine"}).status, 200)
    t.equal(server.get("/api/executions/%s?wait=30s" % run["executionId"]).json()["status"], "COMPLETED")
    brought = {}
    for way in ("the API", "the command"):
        run = server.begin("pausing", wait="30s")
        if way == "the API":
            t.equal(server.post(run["_links"]["approvals"]["href"], {"approved": False, "reason": "too dear"}).json()["state"], "failed")
        else:
            t.maestro("approve", run["executionId"], "--deny", "--reason", "too dear", "--store", "sqlite:" + server.store)
        shown = t.maestro("show", run["executionId"], "--json", "--store", "sqlite:" + server.store).json()
        brought[way] = [trigger.get("payload") for trigger in shown["triggers"]]
    t.equal(brought["the API"], brought["the command"], "a denial brings no approval")


HOOKED = """workflow: hooked
triggers:
  - webhook: { key: order, auth: { hmac: order-secret }, rate_limit: 3/m }
  - manual: true
jobs:
  a: { tasks: [ { name: n, log: "order ${id}" } ] }
"""


@case("proves: F-043 F-048 F-049 F-050")
def a_webhook_starts_an_execution_for_who_can_sign(t):
    server = Server(t)
    server.define(HOOKED)
    secret = t.maestro("secret", "set", "order-secret", "--store", "sqlite:" + server.store, stdin="s3cret-value")
    t.require(secret.code == 0, "the secret is set: " + secret.err)
    path = "/maestro/hooks/default/hooked/order"

    def send(body, at=None, key=b"s3cret-value", where=path):
        at = str(int(time.time()) if at is None else at)
        mac = hmac.new(key, f"{at}\nPOST\n{where}\n".encode() + body, "sha256").hexdigest()
        return server.call("POST", where, body, key="", headers={"X-Maestro-Timestamp": at, "X-Maestro-Signature": "sha256=" + mac,
                                                                 "Content-Type": "application/json"})
    taken = send(b'{"id": "17"}')
    t.equal(taken.status, 202, f"taken: {taken}")
    run = server.get("/api/executions/%s?wait=30s" % taken.json()["executionId"]).json()
    t.equal((run["status"], run["source"], run["triggerPayload"]), ("COMPLETED", "webhook:order", {"id": "17"}))
    logs = server.get(run["_links"]["logs"]["href"]).json()["items"]
    t.equal([line["text"] for line in logs], ["order 17"])
    problem(t, send(b'{"id": "17"}', key=b"another"), 401, "unauthenticated")
    problem(t, send(b'{"id": "18"}', at=int(time.time()) - 3600), 401, "unauthenticated")
    problem(t, server.call("POST", path, b"{}", key=""), 401, "unauthenticated")
    problem(t, send(b"{}", where="/maestro/hooks/default/hooked/none"), 401, "unauthenticated")
    problem(t, send(b"{}", where="/maestro/hooks/default/nobody/order"), 401, "unauthenticated")
    at = int(time.time())
    t.equal(send(b'{"id": "19"}', at).status, 202)
    problem(t, send(b'{"id": "19"}', at), 401, "unauthenticated")
    t.equal(send(b'{"id": "20"}').status, 202)
    problem(t, send(b'{"id": "21"}'), 429, "too-many-requests")
    t.equal(len(server.get("/api/executions").json()["items"]), 3, "each was started once")
    log = server.stop().err
    t.true(log.count('"request refused"') >= 4, "refusals are in the log")


@case("")
def events_are_told_as_they_happen_and_go_on_behind_the_last(t):
    server = Server(t)
    server.define(HELLO)

    def read(connection, enough):
        seen, event = [], {}
        answer = connection.getresponse()
        t.equal((answer.status, answer.headers["Content-Type"]), (200, "text/event-stream"))
        for line in answer:
            line = line.decode().rstrip("\n")
            if line.startswith(("id: ", "event: ", "data: ")):
                event[line.split(": ")[0]] = line.split(": ", 1)[1]
            elif not line and event:
                seen.append(event)
                event = {}
                if enough(seen):
                    break
        return seen

    head = {"Authorization": "Bearer " + server.admin, "Accept": "text/event-stream"}
    stream = server.connect()
    stream.request("GET", "/api/events", headers=head)
    t.until(lambda: b"maestro_event_streams 1" in server.get("/metrics").body, "the stream is there")
    run = server.begin("hello", {"who": "x"}, wait="30s")
    seen = read(stream, lambda events: events[-1]["event"] == "run-succeeded")
    stream.close()
    t.equal({json.loads(e["data"])["executionId"] for e in seen}, {run["executionId"]})
    t.equal(len({e["id"] for e in seen}), len(seen), "every event has its own id")
    middle = len(seen) // 2
    stream = server.connect()
    stream.request("GET", "/api/events", headers=dict(head, **{"Last-Event-ID": seen[middle]["id"]}))
    rest = read(stream, lambda events: events[-1]["event"] == "run-succeeded")
    stream.close()
    t.equal([e["id"] for e in rest], [e["id"] for e in seen[middle + 1:]], "what came behind it")
    stream = server.connect()
    stream.request("GET", "/api/executions/%s/events" % run["executionId"], headers=head)
    whole = read(stream, lambda events: False)
    t.equal(whole.pop(), {"event": "end", "data": "{}"}, "the stream of a run says when it ends, and has no id there")
    t.equal([json.loads(e["data"])["number"] for e in whole], list(range(1, run["eventCount"] + 1)), "the stream of a run ends with it")
    for last, status in ((whole[-1]["id"], 204), (whole[-2]["id"], 200)):
        with t.row(f"behind {last}"):
            again = server.get("/api/executions/%s/events" % run["executionId"], headers=dict(head, **{"Last-Event-ID": last}))
            t.equal((again.status, again.body.decode().count("event: ")), (status, 0 if status == 204 else 2), "what is left of it")
    problem(t, server.get("/api/events", headers={"Last-Event-ID": "x"}), 400, "invalid")


@case("proves: F-144")
def keys_are_shown_once_expire_and_are_revoked(t):
    server = Server(t)
    t.equal(stat.S_IMODE(os.stat(server.store + ".admin-key").st_mode), 0o600)
    made = t.maestro("key", "create", "--role", "viewer", "--json", "--store", "sqlite:" + server.store).json()
    t.equal(server.get("/api", key=made["key"]).json()["role"], "viewer")
    with open(server.store, "rb") as store, open(server.store + "-wal", "rb") as wal:
        t.true(made["key"].split(".")[-1].encode() not in store.read() + wal.read(), "the store does not have the key")
    listed = t.maestro("key", "list", "--store", "sqlite:" + server.store).out
    t.contains(listed, made["id"])
    t.lacks(listed, made["key"].split(".")[-1])
    wrong = made["key"][:-2] + ("aa" if not made["key"].endswith("aa") else "bb")
    for name, key in (("another secret", wrong), ("no key", "mk.default.abcdefgh.x"), ("nonsense", "nonsense")):
        with t.row(name):
            problem(t, server.get("/api", key=key), 401, "unauthenticated")
    t.equal(t.maestro("key", "revoke", made["id"], "--store", "sqlite:" + server.store).code, 0)
    t.until(lambda: server.get("/api", key=made["key"]).status == 401, "the key is refused")
    t.equal(t.maestro("key", "create", "--expires", "2001-01-01", "--store", "sqlite:" + server.store).code, 2)
    t.equal(server.get("/api", key=server.key("viewer", "default", "--expires", "1h")).status, 200)


@case("proves: F-113 G-15")
def roles_permit_what_they_say_and_refusals_are_logged(t):
    server = Server(t)
    server.define(HELLO)
    keys = {role: server.key(role) for role in ("viewer", "operator", "author", "admin")}
    run = server.begin("hello", {"who": "x"}, wait="30s")["executionId"]
    rows = [
        ("GET", "/api/executions/" + run, None, {"viewer", "operator", "author", "admin"}),
        ("POST", "/api/executions", {"workflowId": "hello", "parameters": {"who": "y"}}, {"operator", "admin"}),
        ("POST", "/api/workflows", {"definition": HELLO}, {"author", "admin"}),
        ("POST", "/api/workflows/default/hello/revisions/1/activate", {}, {"author", "admin"}),
        ("POST", "/api/executions/%s/pause" % run, {}, {"operator", "admin"}),
    ]
    for method, path, body, allowed in rows:
        for role, key in keys.items():
            with t.row(f"{method} {path} as {role}"):
                answer = server.call(method, path, body, key=key)
                t.equal(answer.status == 403, role not in allowed, f"refused ({answer.status})")
                if answer.status == 403:
                    problem(t, answer, 403, "denied")
    log = server.stop().err
    refused = [json.loads(line) for line in log.splitlines() if '"request refused"' in line]
    t.true(any(entry["status"] == 403 and entry["key"] and entry["path"] for entry in refused), "refusals are in the log")


@case("")
def a_policy_can_take_the_place_of_the_built_in_one(t):
    rego = t.write("access.rego", 'package maestro.mine\ndefault allow := false\nallow if input.verb == "root.read"\n')
    server = Server(t, "--access", str(rego))
    t.equal(server.get("/api").status, 200)
    problem(t, server.get("/api/executions"), 403, "denied")


@case("")
def who_may_start_and_steer_and_not_read_is_told_the_id_the_status_and_links_alone(t):
    rego = t.write("access.rego", 'package maestro.mine\ndefault allow := false\nallow if input.caller.role == "admin"\n'
                   'allow if { input.caller.role == "operator"; not endswith(input.verb, ".read") }\n')
    server = Server(t, "--access", str(rego))
    server.define(HELLO)
    server.define(PAUSING)
    key, document = server.key("operator"), server.get("/openapi.json").json()
    problem(t, server.get("/api/executions", key=key), 403, "denied")
    started = server.begin("hello", {"who": "nobody else"}, wait="20s", key=key)
    waiting = server.begin("pausing", wait="20s", key=key)["executionId"]
    problem(t, server.get(f"/api/executions/{waiting}", key=key), 403, "denied")
    answers = {"a start": started, "a signal": server.post("/api/signals", {"executionId": waiting, "name": "half", "kind": "milestone"}, key=key).json(),
               "cancel": server.post(f"/api/executions/{waiting}/cancel", {"reason": "x"}, key=key).json()}
    for name, answer in answers.items():
        with t.row(name):
            t.equal(sorted(answer), ["_links", "executionId", "status"])
            t.equal(violations(document, {"$ref": "#/components/schemas/ExecutionBrief"}, answer), [], "as the document has it")
    t.equal(answers["a start"]["status"], "COMPLETED")
    server.begin("hello", {"who": "nobody else"}, idempotencyKey="once")
    told = problem(t, server.post("/api/executions", {"workflowId": "hello", "parameters": {"who": "x"}, "idempotencyKey": "once"}, key=key), 409, "idempotency-key-conflict")
    t.true("nobody" not in told["detail"], "nor what another one was started with: " + told["detail"])
    whole = server.begin("hello", {"who": "x"}, wait="20s")
    t.equal((whole["inputParameters"], len(whole["steps"])), ({"who": "x"}, 1), "who may read is told all")


@case("")
def a_key_that_sends_too_much_is_told_when_to_come_again(t):
    server = Server(t, "--rate", "5")
    answers = [server.get("/api") for _ in range(40)]
    limited = [a for a in answers if a.status == 429]
    t.true(limited and answers[0].status == 200, "some are refused")
    problem(t, limited[0], 429, "too-many-requests")
    t.true(int(limited[0].headers["Retry-After"]) >= 1, "Retry-After")


@case("proves: R-109")
def metrics_are_what_prometheus_reads(t):
    server = Server(t)
    server.define(HELLO)
    server.begin("hello", {"who": "x"}, wait="30s")
    text = server.get("/metrics", key="").body
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True)
    t.equal((checked.returncode, checked.stdout + checked.stderr), (0, b""), "promtool")
    t.contains(text.decode(), 'maestro_executions{state="succeeded"} 1')
    t.contains(text.decode(), 'maestro_http_requests_total{route="execution_start",status="2xx"} 1')
    t.equal((server.get("/healthz", key="").status, server.get("/readyz", key="").status), (200, 200))


FLAKY_RUNNERS = """executors:
  local:
    kind: process
    runners:
      flaky/fail: { command: "exit 75", breaker: { failures: 2, open: 5s } }
"""
FLAKY = """workflow: flaky
jobs:
  a:
    tasks:
      - { name: fail, run: flaky/fail, retries: { attempts: 3, delay: 1ms, on: [transient] } }
"""


@case("proves: E-057 R-108")
def rfc_9_drops_deferrals_and_circuits_are_counted(t):
    server = Server(t, "--runners", t.write("runners.yaml", FLAKY_RUNNERS))
    server.define(FLAKY)

    def value(name):
        return next(line.rsplit(" ", 1)[1] for line in server.get("/metrics", key="").body.decode().splitlines() if line.startswith(name + " "))
    drops = 'maestro_dispatch_drops_total{cause="retry-depth"}'
    t.equal((value(drops), value("maestro_circuits_opened_total"), value("maestro_dispatch_deferrals_total")), ("0", "0", "0"))
    run = server.begin("flaky", wait="30s")
    t.equal(run["status"], "FAILED")
    t.until(lambda: value(drops) == "1", "the drop is counted")
    t.equal(value("maestro_circuits_opened_total"), "2", "after two failures, and after the one that tried")
    t.equal(value("maestro_dispatch_deferrals_total"), "1", "the third attempt was held back")
    t.equal((value('maestro_circuits{state="open"}'), value('maestro_circuits{state="half-open"}')), ("1", "0"))
    events = [event["event"] for event in server.get("/api/executions/%s/events" % run["executionId"]).json()["items"]]
    t.equal((events.count("step-deferred"), events.count("step-dropped")), (1, 1), f"the events say the same: {events}")
    step = server.get("/api/executions/" + run["executionId"]).json()["steps"][0]
    t.equal(step["errorDetails"], {"class": "permanent", "cause": "dropped", "details": {"drop": "retry-depth", "cause": "transient"}}, "by what")
    t.contains(step["errorMessage"], "dropped by retry-depth: exit code 75")
    shown = t.maestro("show", run["executionId"], "--store", "sqlite:" + server.store).out
    t.contains(shown, "dropped by retry-depth: exit code 75")
    inspected = t.maestro("inspect", run["executionId"], "a.fail", "--store", "sqlite:" + server.store).out
    t.contains(inspected, '"drop": "retry-depth"')


BREAKER_RUNNERS = """executors:
  local:
    kind: process
    runners:
      local/exit: { command: [sh, -c, 'exit $(cat "%s")'], breaker: { failures: 2, open: 1s } }
  far:
    kind: worker
    lease: 30s
    runners:
      far/ask: { breaker: { failures: 1, open: 10m } }
      far/slow: { breaker: { failures: 1, open: 10m } }
"""
BREAKER = """workflow: %s
jobs:
  a:
    tasks:
      - { name: t, run: %s, timeout: %s }
"""


@case("proves: R-108")
def a_circuit_is_opened_by_every_failure_that_says_something_about_its_runner(t):
    code = t.write("code", "0")
    server = Server(t, "--runners", t.write("runners.yaml", BREAKER_RUNNERS % code))
    server.define(BREAKER % ("exit", "local/exit", "30s"))

    def circuits():
        lines = dict(line.rsplit(" ", 1) for line in server.get("/metrics", key="").body.decode().splitlines() if "maestro_circuits" in line)
        return [int(lines[name]) for name in ("maestro_circuits_opened_total", 'maestro_circuits{state="open"}', 'maestro_circuits{state="half-open"}')]
    steps = (("a success", 0, [0, 0, 0]), ("one failure", 1, [0, 0, 0]), ("a wrong input says nothing", 65, [0, 0, 0]),
             ("nor does a policy", 77, [0, 0, 0]), ("the second failure in a row", 1, [1, 1, 0]),
             ("a probe that says nothing", 65, [1, 0, 1]), ("the next probe fails", 1, [2, 1, 0]), ("the next succeeds", 0, [2, 0, 0]),
             ("one failure", 75, [2, 0, 0]), ("and another, of another kind", 3, [3, 1, 0]))
    for name, exit_code, want in steps:
        with t.row(name):
            t.write("code", str(exit_code))
            run = server.begin("exit", wait="30s")
            t.equal(run["status"], "COMPLETED" if exit_code == 0 else "FAILED")
            t.until(lambda: circuits() == want, f"opened, open, half open: {want}")
    worker = server.key("worker")

    def exchange(**said):
        return server.post("/api/executors/far/exchange", {"worker": "w", **said}, key=worker).json()
    server.define(BREAKER % ("ask", "far/ask", "1h"))
    server.begin("ask")
    lease = exchange(want=1, wait_ms=30000)["leases"][0]
    exchange(reports=[{"token": lease["token"], "failure": {"message": "the service is away"}}])
    t.until(lambda: circuits()[0] == 4, "a failure without a cause counts")
    server.define(BREAKER % ("slow", "far/slow", "300ms"))
    server.begin("slow")
    lease = exchange(want=1, wait_ms=30000, queues=["far/slow"])["leases"][0]
    t.until(lambda: lease["token"] in exchange(heartbeats=[lease["token"]])["cancels"], "its time is over")
    exchange(reports=[{"token": lease["token"], "failure": {"cause": "cancelled"}}])
    t.until(lambda: circuits()[0] == 5, "so does one that is ended since it is too slow")


@case("")
def a_request_carries_its_trace_and_its_id(t):
    server = Server(t, "--log-requests")
    server.define(HELLO)
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    answer = server.post("/api/executions?wait=30s", {"workflowId": "hello", "parameters": {"who": "x"}},
                         headers={"traceparent": trace, "X-Request-Id": "mine-17"})
    t.equal(answer.headers["X-Request-Id"], "mine-17")
    events = server.get(answer.json()["_links"]["events"]["href"]).json()["items"]
    t.true(all(trace[3:35] in e["trace"] for e in events), "the ledger has the trace")
    log = [json.loads(line) for line in server.stop().err.splitlines()]
    t.true(any(e["requestId"] == "mine-17" and trace[3:35] in e["trace"] for e in log), "the log has both")


@case("")
def large_answers_are_packed_for_whoever_accepts_it(t):
    server = Server(t)
    plain = server.get("/openapi.json")
    packed = server.get("/openapi.json", headers={"Accept-Encoding": "gzip"})
    t.equal(packed.headers["Content-Encoding"], "gzip")
    t.equal((packed.headers["Vary"], plain.headers["Vary"]), ("Accept-Encoding", "Accept-Encoding"), "a cache keeps both apart")
    t.equal(gzip.decompress(packed.body), plain.body)
    t.equal(server.get("/openapi.json", headers={"Accept-Encoding": "br, gzip;q=0"}).headers["Content-Encoding"], None, "who refuses it does not get it")
    for accepted, coding in (("GZIP", "gzip"), ("gzip;Q=0", None), ("gzip ; q = 0", None), ("gzip;q=0.000", None), ("gzip;q=0.001", "gzip")):
        with t.row(accepted):
            t.equal(server.get("/openapi.json", headers={"Accept-Encoding": accepted}).headers["Content-Encoding"], coding)
    sent = server.call("POST", "/api/executions", gzip.compress(b"{}"), headers={"Content-Encoding": "gzip", "Content-Type": "application/json"})
    t.contains(problem(t, sent, 415, "unsupported-media-type")["detail"], "gzip", "bodies are not unpacked")


@case("")
def requests_that_have_begun_are_answered_before_the_end(t):
    server = Server(t)
    server.define("workflow: nap\njobs:\n  a:\n    tasks:\n      - { name: wait, run: shell, args: [\"sleep\", \"2\"] }\n")
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(Server.post(server, "/api/executions?wait=30s", {"workflowId": "nap"})))
    waiting.start()
    other = server.connect()

    def is_waiting():
        other.request("GET", "/metrics")
        return b"maestro_http_requests_waiting 1" in other.getresponse().read()
    t.until(is_waiting, "the request waits")
    ended = server.stop()
    waiting.join()
    t.equal(ended.code, 0)
    t.equal(answers[0].status, 201, "it was answered")
    t.equal(answers[0].json()["status"] in ("RUNNING", "COMPLETED"), True)


@case("")
def two_servers_do_not_share_a_store(t):
    server = Server(t)
    second = t.maestro("server", "--listen", "127.0.0.1:0", "--store", "sqlite:" + server.store)
    t.equal(second.code, 75)
    t.contains(second.err, "another process owns the store")
    t.equal(t.maestro("server", "--listen", "nonsense").code, 65)


LINKED = """executors:
  far: { kind: worker, runners: { far/work: { queue: far } } }
  near: { kind: process, runners: { flaky: { command: "test $MAESTRO_ATTEMPT = 2 && echo 7 > $MAESTRO_OUTPUT" } } }
  payments: { kind: http, callback: "https://maestro.example.com", runners: { pay: { url: "https://payments.example.com" } } }
policies: { careful: { file: careful.rego, phases: [pre-flight] } }
"""
EVERYTHING = """workflow: everything
triggers: [{ schedule: "0 6 * * MON" }]
policies: careful
jobs:
  a:
    tasks:
      - { name: twice, run: flaky, retries: { attempts: 2, delay: 1ms } }
      - { name: ask, log: "asked", pause_after: { trigger: go, timeout: 1h, auth: { bearer: true } } }
"""
# What is for others than people and their programs, and what a run has to fail at first.
NOT_LINKED = {"post /api/store/{query}", "post /api/petitions", "post /api/plans", "post /maestro/hooks/{tenant}/{workflow}/{trigger}",
              "post /api/executions/{executionId}/resolve", "post /api/executions/{executionId}/retry-from",
              "post /api/executions/{executionId}/retry-compensation", "post /api/executions/{executionId}/skip-compensation"}


@case("proves: R-091")
def everything_is_reached_by_links_from_the_root(t):
    t.write("careful.rego", "package maestro.policies.careful\n\nallow := true\n")
    server = Server(t, "--runners", t.write("runners.yaml", LINKED))
    server.define(EVERYTHING)
    server.call("POST", "/api/workflows", HELLO, headers={"Content-Type": "application/yaml"})
    server.begin("everything", wait="30s")
    going = server.define("workflow: going\njobs: { a: { tasks: [{ run: far/work }] } }\n")["revisionId"]["workflowId"]
    server.begin(going)
    server.call("PUT", "/api/secrets/some/token", {"value": "x"})
    seen, todo, streams = set(), ["/api"], ("/api/events",)
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        if path in streams:
            continue
        answer = server.get(path)
        t.true(answer.status in (200, 405) or path == "/api/decisions", f"{path} answers {answer.status}")
        kind = answer.headers.get("Content-Type", "")
        found = re.findall(r'<([^>]+)>; rel="help"', answer.headers.get("Link", ""))
        if path != "/openapi.json" and "json" in kind:
            found += re.findall(r'"href":"([^"]+)"', answer.body.decode())
        elif kind.startswith("text/html"):
            found += re.findall(r'(?:href|src)="(/[^"]+)"', answer.body.decode())
        todo += found
    paths = {path.split("?")[0] for path in seen}
    for address, methods in server.get("/openapi.json").json()["paths"].items():
        pattern = re.compile(re.sub(r"\{\w+\}", "[^/]+", address.replace("{name}", ".+")) + "$")
        for method in methods:
            with t.row(f"{method} {address}"):
                is_reached = any(pattern.match(path) for path in paths)
                t.equal(is_reached, f"{method} {address}" not in NOT_LINKED, "it is reached")


@case("proves: R-091")
def links_of_the_root_and_of_revisions_lead_nobody_to_what_it_may_not_do(t):
    server = Server(t)
    server.define(HELLO)
    server.define(HELLO.replace("hello ${", "good day ${"))
    base = "/api/workflows/default/hello/revisions/"
    everything = server.get("/api").json()["_links"]
    posted = {"runbooks", "decisions", "signals", "dry-run", "start", "trigger-token", "activate", "deactivate"}
    for role in ("viewer", "operator", "author", "admin"):
        key = server.key(role)
        links = [*server.get("/api", key=key).json()["_links"].items()]
        for version in ("1", "2"):
            links += server.get(base + version, key=key).json()["_links"].items()
        for name, link in links:
            with t.row(f"{name} as {role}"):
                if name in ("events", "delete"):
                    continue                    # one does not end, the other would be done
                answer = server.post(link["href"], {"unknown": 1}, key=key) if name in posted else server.get(link["href"], key=key)
                t.true(answer.status not in (401, 403, 404, 405), f"it is not refused: {answer}")
        named = {name for name, _ in links}
        t.equal("keys" in named, role == "admin", f"keys are for admins, and not for a {role}")
        t.equal("delete" in named and "activate" in named, role in ("author", "admin"), f"changes of a {role}")
        t.equal("start" in named, role in ("operator", "admin"), f"starts of a {role}")
    t.equal(set(server.get("/api", key=server.key("admin")).json()["_links"]), set(everything), "an admin has them all")


@case("proves: R-091")
def links_of_executions_and_their_jobs_lead_nobody_to_what_it_may_not_do(t):
    server = Server(t)
    server.define(PAUSING.replace("auth: { api_key: true }", "auth: { bearer: true }"))
    server.define("workflow: held\njobs: { a: { tasks: [{ log: x, wait_for_signal: { signal: go, timeout: 1h } }] } }\n")
    server.define(FAILING)
    runs = [server.begin(name, wait="30s")["executionId"] for name in ("pausing", "held", "fails")]
    steering = {"pause", "resume", "cancel", "placement", "resolve", "retry-from", "compensate", "approvals"}
    for role in ("viewer", "operator", "author", "admin"):
        key, named = server.key(role), set()
        listed = {item["executionId"]: item["_links"] for item in server.get("/api/executions", key=key).json()["items"]}
        for run in runs:
            links = server.get("/api/executions/" + run, key=key).json()["_links"]
            t.equal(set(listed[run]), set(links), "of a list as of one")
            jobs = [job["_links"] for job in server.get(links["graph"]["href"], key=key).json()["jobs"]]
            for name, link in [*links.items(), *(pair for job in jobs for pair in job.items())]:
                named.add(name)
                if name == "trigger":
                    continue                    # who may is said by the trigger
                is_posted = name in steering or name == "trigger-token"
                answer = server.post(link["href"], {"unknown": 1}, key=key) if is_posted else server.get(link["href"], key=key)
                t.true(answer.status not in (401, 403, 404, 405), f"{name} as {role} is not refused: {answer}")
        t.equal(named & steering, steering if role in ("operator", "admin") else set(), f"what a {role} may steer")
        t.equal(("trigger-token" in named, "trigger" in named), (role == "admin", role in ("operator", "admin")), f"triggers of a {role}")
        t.true({"self", "workflow", "revision", "steps", "events", "logs", "graph", "verdicts"} <= named, f"what a {role} may read")


@case("proves: R-091")
def links_of_everything_else_lead_nobody_to_what_it_may_not_do(t):
    """Under a policy that lets each key do one thing alone, beside looking at what is linked from."""
    rego = t.write("access.rego", 'package maestro.mine\ndefault allow := false\nallow if input.caller.role == "admin"\n'
                   'looks := {"workflow.read", "executor.read", "tenant.read", "secret.read"}\nallow if input.verb in looks\n'
                   'allow if { input.caller.role == "operator"; input.verb == "execution.read" }\n'
                   'allow if { input.caller.role == "author"; input.verb == "secret.set" }\n'
                   'allow if { input.caller.role == "worker"; input.verb == "executor.exchange" }\n')
    t.write("careful.rego", "package maestro.policies.careful\n\nallow := true\n")
    server = Server(t, "--access", str(rego), "--runners", t.write("runners.yaml", LINKED))
    server.define(HELLO)
    server.call("PUT", "/api/secrets/some", {"value": "x"})
    lists = ("/api/workflows", "/api/workflows/default/hello", "/api/workflows/default/hello/revisions", "/api/workflows/default/hello/revisions/1",
             "/api/executors", "/api/tenants", "/api/tenants/default", "/api/secrets")
    own = {"viewer": set(), "operator": {"executions"}, "author": {"set"}, "worker": {"exchange"}}
    for role in (*own, "admin"):
        key, named = server.key(role), set()
        for path in lists:
            body = server.get(path, key=key).json()
            for place in [body, *body.get("items", [])]:
                for name, link in place["_links"].items():
                    named.add(name)
                    if name in ("remove", "delete", "callback"):
                        continue                # they would be done; who may call back is said by a token
                    how = "PUT" if name == "set" else "POST" if name in ("exchange", "activate", "deactivate", "dry-run", "start", "trigger-token") else "GET"
                    answer = server.call(how, link["href"], None if how == "GET" else {"unknown": 1}, key=key)
                    t.true(answer.status not in (401, 403, 404, 405), f"{name} of {path} as {role} is not refused: {answer}")
        others = set().union(*own.values(), {"remove"})
        t.equal(named & others, own.get(role, others), f"what a {role} is led to")


@case("")
def certificate_and_key_are_replaced_while_it_runs(t):
    def make(name):
        made = subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                               "-subj", "/CN=" + name, "-keyout", t.folder / "key.pem", "-out", t.folder / "cert.pem"], capture_output=True)
        t.require(made.returncode == 0, "openssl makes a certificate")

    def name_shown():
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as plain, context.wrap_socket(plain) as secure:
            secure.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            answer = b"".join(iter(lambda: secure.recv(65536), b""))
            t.true(answer.startswith(b"HTTP/1.1 200"), f"it answers over TLS: {answer[:80]!r}")
            return b"second" if b"second" in secure.getpeercert(binary_form=True) else b"first"
    make("first")
    server = Server(t, "--tls-cert", t.folder / "cert.pem", "--tls-key", t.folder / "key.pem")
    t.equal(name_shown(), b"first")
    make("second")
    server.process.send_signal(signal.SIGHUP)
    t.until(lambda: name_shown() == b"second", "the new certificate is shown")
    t.write("cert.pem", "nonsense")
    server.process.send_signal(signal.SIGHUP)
    t.until(lambda: "is no certificate chain" in t.said(server.process), "the mistake is logged")
    t.equal(name_shown(), b"second", "the one before stays")


@case("proves: R-112")
def what_the_walk_through_shows_works_as_written(t):
    server = Server(t)
    with open(ROOT / "docs" / "api.md", encoding="utf-8") as file:
        pieces = re.findall(r"```sh\n(.*?)```", file.read(), re.S)
    t.require(len(pieces) > 6, "the page has examples")
    script = t.write("walk.sh", "set -e\n" + "".join(piece + "echo\necho ====\n" for piece in pieces))
    environment = {"API": f"http://127.0.0.1:{server.port}", "KEY": server.admin, "STORE": "sqlite:" + server.store,
                   "PATH": str(MAESTRO.resolve().parent) + ":" + os.environ["PATH"]}
    result = t.run("sh", script, env=environment, cwd=t.folder)
    t.equal(result.code, 0, "the code: " + result.err)
    said = result.out.split("====\n")
    for index, part in enumerate(('"workflows"', '"active":true', '"COMPLETED"', '"COMPLETED"', '"items"', '"projected"', "conflict",
                                  "parameter-validation", "acme")):
        t.contains(said[index], part, f"what example {index + 1} says")
    ids = re.findall(r'"executionId":"([^"]+)","failedStep"', said[3])
    t.equal(len(set(ids)), 1, "the same key is the same execution")


@case("proves: R-110")
def dashboard_and_alerts_speak_of_metrics_that_there_are(t):
    server = Server(t)
    server.define(HELLO)
    server.begin("hello", {"who": "x"}, wait="30s")
    served = set(re.findall(r"^# TYPE (\S+)", server.get("/metrics").body.decode(), re.M))
    rules = subprocess.run(["promtool", "check", "rules", str(ROOT / "deploy" / "alerts.yml")], capture_output=True, text=True)
    t.equal(rules.returncode, 0, "promtool: " + rules.stdout + rules.stderr)
    for name in ("alerts.yml", "grafana-dashboard.json"):
        with t.row(name), open(ROOT / "deploy" / name, encoding="utf-8") as file:
            used = {re.sub("_(bucket|sum|count)$", "", m) for m in re.findall(r"maestro_\w+", file.read())}
            t.equal(sorted(used - served), [], "metrics that nobody serves")


@case("")
def a_request_is_named_by_its_caller_with_up_to_64_characters(t):
    server = Server(t)
    for given, is_taken in (("123e4567-e89b-12d3-a456-426614174000", True), ("x" * 64, True), ("x" * 65, False)):
        with t.row(given):
            answer = server.call("GET", "/api", headers={"X-Request-Id": given})
            t.equal(answer.headers["X-Request-Id"] == given, is_taken, "its id")


@case("")
def an_escaped_slash_is_part_of_its_segment(t):
    server = Server(t)
    server.define(HELLO)
    run = server.begin("hello", {"who": "x"}, wait="30s")["executionId"]
    t.equal(server.get(f"/api/executions/{run}").status, 200, "the address")
    t.equal(server.get(f"/api/%65xecutions/{run}").status, 200, "with a letter escaped")
    problem(t, server.get(f"/api/executions%2f{run}"), 404, "not-found")
    problem(t, server.get(f"/api/executions/{run}%2Fsteps"), 404, "execution-not-found")
    problem(t, server.get("/api/executions/%ff"), 400, "invalid")
    t.equal(len(server.get("/api/executions?workflowId=h%65llo&limit=1").json()["items"]), 1, "a query with a letter escaped")


@case("")
def two_authorizations_are_no_request(t):
    server = Server(t)
    client = server.connect()
    client.putrequest("GET", "/api/executions")
    client.putheader("Authorization", "Bearer " + server.admin)
    client.putheader("Authorization", "Bearer nonsense")
    client.endheaders()
    t.equal(client.getresponse().status, 400, "the status")


@case("")
def the_link_of_a_list_to_itself_keeps_what_was_asked(t):
    server = Server(t)
    links = server.get("/api/executions?workflowId=hello&limit=3").json()["_links"]
    t.equal(links["self"]["href"], "/api/executions?workflowId=hello&limit=3", "the link")
    t.equal(server.get("/api/executions").json()["_links"]["self"]["href"], "/api/executions", "of what nothing was asked")


@case("")
def decisions_on_many_are_answered_in_the_order_in_which_they_were_asked(t):
    server = Server(t)
    server.define(HELLO)
    runs = [server.begin("hello", {"who": "x"}, wait="30s")["executionId"] for _ in range(4)]
    asked = [runs[0], "c" * 21, runs[1], "d" * 21, runs[2], runs[3]]
    answer = server.post("/api/decisions", {"executionIds": asked, "decision": "RETRY"})
    t.equal([item["executionId"] for item in answer.json()["items"]], asked, "the order")


if __name__ == "__main__":
    main()
