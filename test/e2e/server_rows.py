#!/usr/bin/env python3
"""Rows of the document of the server that a client sees: steps, parameters, use cases, work that outlives its request."""
import json
import os
import resource
import signal
import sqlite3
import subprocess

from maestro_test import MAESTRO, case, main
from server_test import HELLO, Clock, Server, problem

TREE = """workflow: tree
namespace: default
name: Tree
description: Every type of step
steps:
  - name: both
    sequence:
      - { name: note, log: "first ${params.word}" }
      - { name: work, run: noop, input: { output: { word: "${params.word}" } } }
  - name: choice
    if: params.word == "yes"
    then: [{ name: taken, log: "taken" }]
    else: [{ name: other, log: "other" }]
parameters: [{ name: word, type: string }]
"""


@case("proves: R-004 R-031 R-034 R-035")
def every_type_of_step_is_executed_and_gives_an_output_or_nothing(t):
    server = Server(t)
    server.define(TREE)
    run = server.begin("tree", {"word": "yes"}, wait="30s")
    t.equal(run["status"], "COMPLETED", str(run))
    steps = {s["stepId"].split(".")[-1]: s for s in run["steps"]}
    t.equal(steps["note"]["outputData"], None, "a log task gives null")
    t.equal(steps["work"]["outputData"], {"word": "yes"}, "a work task gives the result of its work")
    t.equal((steps["work"]["inputData"], steps["note"]["inputData"]), ({"output": {"word": "yes"}}, {"message": "first yes"}), "what each was given")
    t.equal(steps["taken"]["status"], "COMPLETED")
    kinds = {s["stepType"]: s for s in run["steps"]}
    t.true({"sequence", "branch", "task"} <= set(kinds), f"all types are there: {sorted(kinds)}")
    t.equal([kinds["sequence"]["outputData"], kinds["branch"]["outputData"]], [None, None], "what holds others gives null")
    lines = [(line["stream"], line["text"]) for line in server.get(run["_links"]["logs"]["href"]).json()["items"]]
    t.true(any(text == "first yes" for _, text in lines), f"a log task logs its message: {lines}")
    t.true(all(text != "other" for _, text in lines), "what was not chosen is not executed")


@case("proves: R-038")
def parameters_with_one_name_are_refused(t):
    server = Server(t)
    twice = HELLO.replace("params: [{ name: who, type: string }]", "params: [{ name: who, type: string }, { name: who, type: integer }]")
    answer = server.call("POST", "/api/workflows", twice, headers={"Content-Type": "application/yaml"})
    body = problem(t, answer, 400, "definition-invalid")
    t.contains(json.dumps(body["errors"]), "who")
    t.equal([(e["pointer"], e["line"]) for e in body["errors"]], [("/params/1/name", 2)], "where, in the text that was sent")
    problem(t, server.get("/api/workflows/default/hello"), 404, "workflow-not-found")


@case("proves: R-083")
def an_active_revision_is_not_deleted(t):
    server = Server(t)
    path = server.define(HELLO)["_links"]["self"]["href"]
    body = problem(t, server.call("DELETE", path), 409, "active-revision")
    t.equal(body["error"], "ActiveRevisionException")
    t.equal(server.get(path).json()["active"], True, "nothing has changed")
    server.post(path + "/deactivate")
    t.equal(server.call("DELETE", path).status, 204, "and when it is not active, it is")


@case("proves: R-013")
def an_execution_is_started_looked_at_and_listed_by_workflow_and_by_revision(t):
    server = Server(t)
    server.define(HELLO)
    old = server.begin("hello", {"who": "x"}, wait="30s")["executionId"]
    server.define(HELLO.replace("hello $", "good day $"))
    new = server.begin("hello", {"who": "x"}, wait="30s")["executionId"]
    server.define(HELLO.replace("workflow: hello", "workflow: another"))
    server.begin("another", {"who": "x"}, wait="30s")
    t.equal((server.get("/api/executions/" + old).json()["status"], server.get("/api/executions/" + old).json()["revisionId"]["version"]),
            ("COMPLETED", 1))
    listed = lambda query: [e["executionId"] for e in server.get("/api/executions?" + query).json()["items"]]
    t.equal(listed("workflowId=hello"), [new, old], "of a workflow, the newest first")
    t.equal((listed("workflowId=hello&version=1"), listed("workflowId=hello&version=2")), ([old], [new]), "of a revision")


@case("proves: R-064 R-087")
def the_store_is_a_matter_of_configuration_alone(t):
    file = t.write("hello.yaml", HELLO)
    told = []
    for url in ("memory:", f"sqlite:{t.folder}/a.db"):
        result = t.maestro("run", file, "-p", "who=Ana", "--json", "--store", url)
        t.equal(result.code, 0, url + result.err)
        lines = [json.loads(line) for line in result.out.splitlines()]
        told.append([sorted(line) for line in lines])
    t.equal(told[0], told[1], "the same is told by either store")
    build = MAESTRO.resolve().parent / "src"
    libraries = [path for path in sorted(build.rglob("lib*.a")) if path.name != "libmaestro.a"]      # that one is all of them, for embedding
    t.true({"libcore.a", "libengine.a", "libapi.a", "libcli.a", "libview.a", "libstore-sqlite.a"} <= {path.name for path in libraries}, f"{libraries}")
    called = {path.name for path in libraries
              if "sqlite3_" in subprocess.run(["nm", "--undefined-only", path], capture_output=True, text=True, check=True).stdout}
    t.equal(called, {"libstore-sqlite.a"}, "who calls a database")


@case("proves: R-021 R-026 R-093")
def no_step_begins_before_its_execution_is_stored(t):
    server = Server(t)
    touched = t.folder / "touched"
    server.define('workflow: marks\njobs: { a: { tasks: [{ name: m, run: shell, args: ["touch", "%s"] }] } }\n' % touched)
    infinity = resource.RLIM_INFINITY
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (16384, infinity))      # the store takes no commit
    problem(t, server.post("/api/executions?wait=30s", {"workflowId": "marks"}), 503, "unavailable")
    t.until(lambda: server.get("/readyz", key="").status == 503, "it has tried")
    t.true(not touched.exists(), "nothing was done")
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (infinity, infinity))
    t.until(lambda: server.get("/readyz", key="").status == 200, "the store takes commits again")
    t.equal(server.get("/api/executions?workflowId=marks").json()["items"], [], "what was refused is not there")
    t.true(not touched.exists(), "and is not made up for")
    t.equal(server.begin("marks", wait="30s")["status"], "COMPLETED")
    t.true(touched.exists(), "what is stored is carried out")


@case("proves: R-004 R-063 C-93")
def what_an_execution_has_done_so_far_is_seen_while_it_goes_on(t):
    server = Server(t)
    gate = t.folder / "gate"
    server.define(f"""workflow: parts
jobs:
  a:
    tasks:
      - {{ name: done, run: noop, input: {{ output: {{ n: 1 }} }} }}
      - {{ name: works, run: shell, args: ["sh", "-c", "while ! test -e {gate}; do sleep 0.05; done; exit 65"] }}
      - {{ name: never, log: "x" }}
""")
    path = "/api/executions/" + server.begin("parts")["executionId"]

    def parts():
        shown = server.get(path).json()
        return shown["status"], {step["stepId"]: (step["status"], step["outputData"], bool(step["errorMessage"])) for step in shown["steps"]}
    t.until(lambda: parts()[1].get("a.works", [""])[0] == "RUNNING", "the second step works")
    status, steps = parts()
    t.equal((status, steps["a.done"], steps["a.works"]), ("RUNNING", ("COMPLETED", {"n": 1}, False), ("RUNNING", None, False)))
    gate.touch()
    t.until(lambda: server.get(path + "?wait=30s").json()["status"] == "FAILED", "it ends")
    t.equal(parts()[1], {"a.done": ("COMPLETED", {"n": 1}, False), "a.works": ("FAILED", None, True), "a.never": ("SKIPPED", None, False)})


@case("proves: C-52")
def who_is_responsible_for_a_step_is_whom_the_nearest_names(t):
    server = Server(t)
    server.define("""workflow: owned
owner: everybody
contact: all@example.com
jobs:
  a:
    owner: some
    tasks:
      - { name: one, log: "1", owner: somebody, contact: one@example.com }
      - { name: two, log: "2" }
  b: { tasks: [{ name: three, log: "3" }] }
""")
    server.define("workflow: orphaned\njobs: { a: { tasks: [{ name: one, log: x }] } }\n")

    def told(workflow):
        run = server.begin(workflow, wait="30s")
        return {step["stepId"]: (step["owner"], step["contact"]) for step in server.get(f"/api/executions/{run['executionId']}/graph").json()["steps"]}
    t.equal(told("owned"), {"a.one": ("somebody", "one@example.com"), "a.two": ("some", "all@example.com"), "b.three": ("everybody", "all@example.com")})
    t.equal(told("orphaned"), {"a.one": (None, None)}, "where nobody is named")


LONG = """workflow: long
jobs:
  a:
    tasks:
      - name: arrives
        run: shell
        args: [sh, -c, 'echo >> FOLDER/asked; test -e FOLDER/there && c=true || c=false; echo "{\\"complete\\": $c, \\"continue\\": true}" > $MAESTRO_OUTPUT']
        poll: { interval: 12h, max_duration: 30d }
        pause_after: { trigger: approval, timeout: 60d, auth: { api_key: true } }
      - { name: ends, log: "at last" }
"""


@case("proves: R-101")
def an_execution_goes_on_for_days_and_over_the_ends_of_its_server(t):
    clock, hour = Clock(t), 3600
    server = Server(t, env=clock.env)
    server.define(LONG.replace("FOLDER", str(t.folder)))
    path = "/api/executions/" + server.begin("long")["executionId"]
    asked = lambda: len((t.folder / "asked").read_text()) if (t.folder / "asked").exists() else 0
    polled = lambda: (asked(), server.get(path).json()["steps"][0]["state"])        # the clock is put on when the answer was recorded
    t.until(lambda: polled() == (1, "polling"), "it is asked at once")
    clock.put(13 * hour)
    t.until(lambda: polled() == (2, "polling"), "and after half a day")
    server.stop(signal.SIGKILL)
    clock.put(26 * hour)
    server.start()
    t.until(lambda: polled() == (3, "polling"), "and by the next process")
    (t.folder / "there").touch()
    clock.put(39 * hour)
    t.until(lambda: server.get(path).json()["awaitingTrigger"] == "approval", "it waits for somebody")
    server.stop()
    clock.put(40 * 24 * hour)
    server.start()
    t.equal(server.get(path).json()["status"], "RUNNING", "for weeks")
    t.equal(server.post(path + "/approvals", {"approved": True, "reason": "fine"}).status, 200)
    ended = server.get(path + "?wait=30s").json()
    t.equal((ended["status"], asked()), ("COMPLETED", 4))
    t.true(ended["completedAt"][:10] > ended["startedAt"][:10], f"days later: {ended['startedAt']} .. {ended['completedAt']}")


RUNNERS = """executors:
  far:
    kind: worker
    runners:
      far/mark: {}
"""

# Whoever executes a step that another executes already, or has, finds its mark.
MARKS = """executors:
  local:
    kind: process
    runners:
      far/mark: { command: ["sh", "-c", "mkdir FOLDER/marks/$MAESTRO_RUN-$MAESTRO_STEP || exit 65"] }
"""

MARKED = """workflow: marked
jobs:
  a: { tasks: [{ name: one, run: far/mark }, { name: two, run: far/mark }] }
  b: { tasks: [{ name: three, run: far/mark }] }
"""


def workers(t, server, count):
    (t.folder / "marks").mkdir(exist_ok=True)
    runners = t.write("worker-runners.yaml", MARKS.replace("FOLDER", str(t.folder)))
    token = t.write("token", server.key("worker", "*"))
    return [t.start("worker", "--server", f"http://127.0.0.1:{server.port}", "--executor", "far", "--runners", runners, "--token-file", token)
            for _ in range(count)]


@case("proves: R-100 R-102")
def work_that_was_accepted_outlives_the_request_and_the_server(t):
    server = Server(t, "--runners", t.write("runners.yaml", RUNNERS))
    server.define(MARKED)
    answers = [server.post("/api/executions", {"workflowId": "marked"}) for _ in range(5)]
    t.equal([a.status for a in answers], [201] * 5, "accepted, and answered before anything was executed")
    t.true(all(a.json()["completedAt"] is None for a in answers), "none has ended")
    server.stop(signal.SIGKILL)
    server.start()
    workers(t, server, 1)
    for answer in answers:
        run = answer.json()["executionId"]
        t.until(lambda: server.get("/api/executions/" + run).json()["status"] == "COMPLETED", "a worker has carried it out")
    t.equal(len(os.listdir(t.folder / "marks")), 15, "every step was executed")


@case("proves: R-104")
def no_step_is_executed_by_two_nodes_at_once(t):
    server = Server(t, "--runners", t.write("runners.yaml", RUNNERS))
    server.define(MARKED)
    nodes = workers(t, server, 3)
    runs = [server.begin("marked")["executionId"] for _ in range(20)]
    for run in runs:
        t.until(lambda: server.get("/api/executions/" + run).json()["completedAt"], "it has ended")
    shown = [server.get("/api/executions/" + run).json() for run in runs]
    t.equal({s["status"] for s in shown}, {"COMPLETED"}, "no node has found the mark of another")
    t.equal(len(os.listdir(t.folder / "marks")), 60, "each step was executed")
    for node in nodes:
        node.send_signal(signal.SIGTERM)
        t.end(node)
    server.stop()
    with sqlite3.connect(f"file:{server.store}?mode=ro", uri=True) as connection:
        attempts = connection.execute("select count(*), max(attempt) from maestro_step_runs").fetchone()
    t.equal(attempts, (60, 1), "and once")


@case("proves: R-103 C-53")
def steps_that_do_not_depend_on_each_other_run_at_the_same_time(t):
    meet = "touch FOLDER/{0}; while ! test -e FOLDER/{1}; do sleep 0.01; done".replace("FOLDER", str(t.folder))
    server = Server(t)
    server.define(f"""workflow: meeting
jobs:
  a: {{ tasks: [{{ name: left, run: shell, args: ["sh", "-c", "{meet.format('l', 'r')}"] }}] }}
  b: {{ tasks: [{{ name: right, run: shell, args: ["sh", "-c", "{meet.format('r', 'l')}"] }}] }}
  c: {{ needs: [a, b], tasks: [{{ name: end, log: "met" }}] }}
""")
    run = server.begin("meeting", wait="30s")
    t.until(lambda: server.get("/api/executions/" + run["executionId"]).json()["status"] == "COMPLETED", "both met: each waits for the other")
    steps = {s["stepId"]: s for s in server.get("/api/executions/" + run["executionId"]).json()["steps"]}
    t.true(steps["a.left"]["startedAt"] <= steps["b.right"]["completedAt"] and steps["b.right"]["startedAt"] <= steps["a.left"]["completedAt"],
           "their times overlap")


if __name__ == "__main__":
    main()
