#!/usr/bin/env python3
"""Decisions about failed executions over the API: the terms that each takes, and the same one about many."""
import json
import re
import signal

from maestro_test import ROOT, SANITIZED, case, main
from server_test import Server, problem

FAILING = """workflow: fails
params: [{ name: amount, type: integer, default: 1 }]
jobs:
  a:
    tasks:
      - { name: one, run: noop, input: { output: "${params.amount}" }, compensation: { run: noop } }
      - { name: two, run: shell, args: ["sh", "-c", "exit 65"], retries: { attempts: 1 } }
"""


ENDED = "workflow: ended\njobs: { a: { tasks: [{ name: one, run: noop }] } }\n"


def failed(server, count):
    server.define(FAILING)
    return [server.begin("fails", wait="30s")["executionId"] for _ in range(count)]


def pointers(answer):
    return sorted(error["pointer"] for error in answer.json().get("errors", []))


def resolution(server, run):
    return server.get("/api/executions/" + run).json()["resolution"]


@case("proves: R-085 A-040")
def a_decision_takes_the_terms_that_are_its_own_and_no_others(t):
    server = Server(t)
    (run,) = failed(server, 1)
    everything = {"step": "a.one", "steps": ["a.one"], "scope": "PARTIAL", "mode": "RETRY_ONLY", "includeStep": True, "unknownEffects": "leave",
                  "parameters": {"amount": 2}, "version": 1}
    for decision, refused in (("RETRY", "step steps scope mode includeStep unknownEffects parameters"), ("retry", "parameters"),
                              ("CANCEL", "step steps scope mode includeStep unknownEffects parameters version"), ("MARK_RESOLVED", "parameters"),
                              ("RETRY_FROM_STEP", "steps scope"), ("COMPENSATE", "mode includeStep parameters version")):
        names = refused.split()
        terms = everything if len(names) > 1 else {name: everything[name] for name in names}
        if decision in ("RETRY_FROM_STEP", "COMPENSATE"):
            terms = {name: value for name, value in terms.items() if name in names or name == ("step" if decision == "RETRY_FROM_STEP" else "steps")}
        for path, body in ((f"/api/executions/{run}/resolve", {}), ("/api/decisions", {"executionIds": [run]})):
            with t.row(f"{decision} at {path}"):
                answer = server.post(path, {"decision": decision, **terms, **body})
                problem(t, answer, 400, "invalid")
                t.equal(pointers(answer), sorted("/" + name for name in names), f"each term that it does not take: {answer}")
    for name, body, wrong in (("numbers for steps", {"decision": "COMPENSATE", "steps": ["a.one", 1]}, ["/steps/1"]),
                              ("no steps", {"decision": "COMPENSATE", "steps": []}, ["/steps"]),
                              ("a part without steps", {"decision": "COMPENSATE", "scope": "PARTIAL"}, ["/steps"]),
                              ("from no step", {"decision": "COMPENSATE", "scope": "FROM_STEP"}, ["/step"]),
                              ("a step of the whole", {"decision": "COMPENSATE", "step": "a.one"}, ["/step"]),
                              ("steps of the whole", {"decision": "COMPENSATE", "scope": "FULL", "steps": ["a.one"]}, ["/steps"]),
                              ("back to no step", {"decision": "RETRY_FROM_STEP"}, ["/step"]),
                              ("undone without undoing", {"decision": "RETRY_FROM_STEP", "step": "a.one", "includeStep": True}, ["/includeStep"]),
                              ("back to an empty step", {"decision": "RETRY_FROM_STEP", "step": " "}, ["/step"]),
                              ("no version", {"decision": "RETRY", "version": 0}, ["/version"]),
                              ("a version that is no number", {"decision": "RETRY", "version": "2"}, ["/version"]),
                              ("no decision", {"decision": "UNDO"}, ["/decision"])):
        with t.row(name):
            answer = server.post(f"/api/executions/{run}/resolve", body)
            problem(t, answer, 400, "invalid")
            t.equal(pointers(answer), wrong, f"{answer}")
    t.equal(resolution(server, run), "AWAITING_DECISION", "nothing was decided")


@case("proves: A-030 A-058")
def terms_that_a_decision_takes_are_carried_out(t):
    server = Server(t)
    first, second, third = failed(server, 3)
    outputs = lambda run: [step["outputData"] for step in server.get(f"/api/executions/{run}/steps").json()["items"] if step["stepId"] == "a.one"]
    for run, path, body in ((first, "resolve", {"decision": "retry_from_step", "step": "a.one", "parameters": {"amount": 7}}),
                            (second, "retry-from", {"step": "a.one", "mode": "COMPENSATE_THEN_RETRY", "includeStep": True, "unknownEffects": "leave",
                                                    "parameters": {"amount": 7}})):
        with t.row(path):
            answer = server.post(f"/api/executions/{run}/{path}", body)
            t.equal(answer.status, 200, f"{answer}")
            t.until(lambda: outputs(run)[-1] == 7, "the parameters hold from then on")
    answer = server.post(f"/api/executions/{third}/resolve", {"decision": "COMPENSATE", "steps": ["a.one"], "unknownEffects": "hold"})
    t.equal(answer.status, 200, f"{answer}")
    t.until(lambda: server.get("/api/executions/" + third).json()["state"] == "compensated", "steps alone mean that part")


@case("")
def a_decision_goes_on_with_another_revision_of_the_same_shape(t):
    server = Server(t)
    runs = failed(server, 3)
    server.define(FAILING.replace("exit 65", "exit 0"))
    server.define(FAILING.replace("exit 65", "exit 0") + "      - { name: three, log: x }\n")
    for number, status in ((9, 404), (3, 409)):
        with t.row(f"revision {number} is refused, and nothing is done"):
            refused = server.post(f"/api/executions/{runs[0]}/resolve", {"decision": "RETRY", "version": number})
            t.equal(refused.status, status, str(refused))
            t.equal(resolution(server, runs[0]), "AWAITING_DECISION")
    for run, path, body in ((runs[0], f"/api/executions/{runs[0]}/resolve", {"decision": "RETRY"}), (runs[1], f"/api/executions/{runs[1]}/retry-from", {"step": "a.one"}),
                            (runs[2], "/api/decisions", {"executionIds": [runs[2]], "decision": "RETRY"})):
        with t.row(path):
            t.equal(server.post(path, {**body, "version": 2, "reason": "mended"}).status, 200)
            ended = server.get(f"/api/executions/{run}?wait=30s").json()
            t.equal((ended["status"], ended["revisionId"]["version"]), ("COMPLETED", 2))


@case("proves: F-135")
def what_a_decision_has_run_again_can_be_compared_with_what_it_was(t):
    server = Server(t)
    (run,) = failed(server, 1)
    path = "/api/executions/" + run
    t.true("diff" not in server.get(path).json()["_links"], "nothing was tried twice")
    problem(t, server.get(path + "/diff"), 404, "not-found")
    t.equal(server.post(path + "/retry-from", {"step": "a.one", "parameters": {"amount": 7}}).status, 200)
    t.until(lambda: len(server.get(path + "/steps").json()["items"]) == 4 and server.get(path).json()["state"] == "failed", "it has failed again")
    shown = server.get(path).json()
    t.equal(shown["_links"]["diff"]["href"], path + "/diff")
    t.equal([("diff" in step["_links"], step["stepId"]) for step in shown["steps"]],
            [(True, "a.one"), (True, "a.two"), (False, "a.one"), (False, "a.two")], "of those that another has replaced")
    found = server.get(path + "/diff?step=a.one")
    t.equal([(found.json()[side]["stepIndex"], found.json()[side]["attempt"]) for side in ("left", "right")], [(0, 1), (2, 1)], f"{found}")
    t.contains(str(found.json()["differences"]), "/output")
    t.equal(server.get(shown["_links"]["diff"]["href"]).status, 200)
    t.contains(problem(t, server.get(path + "/diff?attempts=1,2&step=a.one"), 404, "not-found")["detail"], "there is no attempt 2")


@case("proves: R-084")
def the_same_execution_is_not_named_twice(t):
    server = Server(t)
    first, second = failed(server, 2)
    answer = server.post("/api/decisions", {"executionIds": [first, second, first, first], "decision": "MARK_RESOLVED"})
    problem(t, answer, 400, "invalid")
    t.equal(pointers(answer), ["/executionIds/2", "/executionIds/3"], f"{answer}")
    t.equal({resolution(server, run) for run in (first, second)}, {"AWAITING_DECISION"}, "nothing was decided")
    answer = server.post("/api/decisions", {"executionIds": [first] * 1000, "decision": "MARK_RESOLVED"})
    t.equal(len(problem(t, answer, 400, "invalid")["errors"]), 100, "so many are told")
    for name, ids, wrong in (("a number", [first, 5, ""], ["/executionIds/1", "/executionIds/2"]), ("too many", [str(i) for i in range(1001)], ["/executionIds"])):
        with t.row(name):
            answer = server.post("/api/decisions", {"executionIds": ids, "decision": "MARK_RESOLVED"})
            problem(t, answer, 400, "invalid")
            t.equal(pointers(answer), wrong, f"{answer}")


def peak(server):
    with open(f"/proc/{server.process.pid}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) << 10


@case("")
def a_large_decision_about_many_takes_the_memory_of_a_few(t):
    server = Server(t)
    ids = failed(server, 120)
    numbers = list(range(10**6, 10**6 + 150000))            # each takes more memory as a value than as text
    body = {"decision": "RETRY_FROM_STEP", "step": "a.one", "parameters": {"unknown": numbers}}
    before = server.post("/api/decisions", {**body, "executionIds": ids[:1]})
    t.equal([item["outcome"] for item in before.json()["items"]], ["refused"], "no such parameter is declared")
    one = peak(server)
    asked = ids[1:60] + ["b" * 21] + ids[60:]
    answer = server.post("/api/decisions", {**body, "executionIds": asked})
    t.equal([item["executionId"] for item in answer.json()["items"]], asked, "in the order in which they were asked for")
    t.equal([item["outcome"] for item in answer.json()["items"]], ["not-found" if i == "b" * 21 else "refused" for i in asked])
    t.true(SANITIZED or peak(server) < one + (64 << 20), f"{peak(server) >> 20} MB at the most, and of one {one >> 20}")


@case("proves: F-109")
def decisions_about_many_take_of_the_share_of_who_sends_them(t):
    server = Server(t)
    server.define(ENDED)
    runs = [server.begin("ended")["executionId"] for _ in range(500)]
    of_key = int(re.search(r"#define API_BULK_KEY_MAX +(\d+)", (ROOT / "src/base/limits.h").read_text())[1])
    first, second = server.key("operator"), server.key("operator")
    body = json.dumps({"executionIds": runs, "decision": "RETRY"})
    connections = [server.connect() for _ in range(4 * of_key)]
    for connection in connections:
        connection.request("POST", "/api/decisions", body, {"Authorization": "Bearer " + first, "Content-Type": "application/json"})
    t.equal(server.post("/api/decisions", json.loads(body), key=second).status, 200, "another key")
    answers = [connection.getresponse() for connection in connections]
    found = [(answer.status, json.loads(answer.read())) for answer in answers]
    t.equal({status for status, _ in found}, {200, 429})
    done, refused = ([body for status, body in found if status == wanted] for wanted in (200, 429))
    t.true(len(done) >= of_key, f"as many as its share are carried out: {len(done)}")
    t.true(all(len(body["items"]) == len(runs) for body in done), "all of each")
    t.contains(refused[0]["detail"], f"this key has {of_key} decisions about many executions already")
    t.true(all(answer.headers["Retry-After"] for answer in answers if answer.status == 429), "it is told when to come again")
    t.equal(server.post("/api/decisions", json.loads(body), key=first).status, 200, "what it held is given back")


@case("proves: F-006")
def a_decision_about_many_is_carried_out_whether_its_sender_waits_or_not(t):
    server = Server(t)
    ids = failed(server, 80)
    head = {"Content-Type": "application/json", "Authorization": "Bearer " + server.admin}
    connection = server.connect()
    connection.request("POST", "/api/decisions", json.dumps({"executionIds": ids[:40], "decision": "MARK_RESOLVED"}), head)
    connection.close()
    t.until(lambda: resolution(server, ids[0]) == "RESOLVED" or None, "it is begun")
    t.until(lambda: {resolution(server, run) for run in ids[:40]} == {"RESOLVED"}, "all of them are decided on")
    connection = server.connect()
    connection.request("POST", "/api/decisions", json.dumps({"executionIds": ids[40:], "decision": "MARK_RESOLVED"}), head)
    t.until(lambda: resolution(server, ids[40]) == "RESOLVED", "it is begun")
    t.equal(server.stop(signal.SIGTERM).code, 0, "a server that ends meanwhile")
    server.start()
    t.equal({resolution(server, run) for run in ids[40:]}, {"RESOLVED"}, "has decided on the others, too")


if __name__ == "__main__":
    main()
