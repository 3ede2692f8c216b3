#!/usr/bin/env python3
"""Large values: what is admitted fits, what does not fit is refused by the name of its limit, and nobody else notices either."""
import base64
import hashlib
import json
import os
import re
import resource
import select
import signal
import socket
import struct
from pathlib import Path

from maestro_test import SANITIZED, case, main
from server_test import HELLO, Server, problem

MEGA = 1 << 20

# One step ends, and then many begin in one decision, each with all of the parameter as its input.
WIDE = """workflow: wide
params: [{ name: who, type: string }]
jobs:
  first:
    tasks:
      - { name: nap, run: sleep, input: { duration: 10ms } }
""" + "".join(f"""  j{i}:
    needs: [first]
    tasks:
      - {{ name: say, log: "${{params.who}}" }}
""" for i in range(8))

LOCAL = """workflow: local
jobs:
  first:
    tasks:
      - name: make
        run: shell
        args: ["sh", "-c", "(printf '\\"'; head -c 9000000 /dev/zero | tr '\\\\0' x; printf '\\"') > \\"$MAESTRO_OUTPUT\\""]
""" + WIDE[WIDE.index("  j0:"):].replace("params.who", "outputs.make")

GROWN = """workflow: grown
params: [{ name: who, type: string }]
jobs:
  a:
    tasks:
      - name: say
        log: "x${params.who}${params.who}"
"""

KEYED = """workflow: keyed
params: [{ name: who, type: string }]
jobs:
  a:
    tasks:
      - { name: say, log: "a", idempotency: { strategy: dedupe-key, key: "${params.who}" } }
"""

CHOSEN = """workflow: chosen
params: [{ name: who, type: string }]
jobs:
  pick:
    branch: { select: '{"a": {params.who}}', cases: { x: [b], y: [c] }, default: x, converge: d }
  b: { tasks: [{ log: "b" }] }
  c: { tasks: [{ log: "c" }] }
  d: { needs: [b, c], tasks: [{ log: "d" }] }
"""

GIVES = """workflow: gives
jobs:
  a:
    tasks:
      - name: numbers
        run: shell
        args: ["sh", "-c", "(printf '['; yes 1e20, | head -n {count} | tr -d '\\n'; printf '1]') > \\"$MAESTRO_OUTPUT\\""]
"""

WAITS = """workflow: waits
jobs:
  a:
    tasks:
      - { name: wait, log: "go", wait_for_signal: go }
"""

# Two outputs that are not kept at hand together, and a step that needs both.
PAIR = """workflow: pair
jobs:
  a:
    tasks:
""" + "".join(f"""      - name: {name}
        run: shell
        args: ["sh", "-c", "(printf '\\"'; head -c 700000 /dev/zero | tr '\\\\0' x; printf '\\"') > \\"$MAESTRO_OUTPUT\\""]
""" for name in ("p", "q")) + """      - { name: both, run: noop, input: { output: { p: "${outputs.p}", q: "${outputs.q}" } } }
"""

FAR = """executors:
  far:
    kind: worker
    lease: 60s
    runners:
      far/x: {}
"""

PULLED = """workflow: pulled
params: [{ name: who, type: string }]
jobs:
  a:
    tasks:
      - { name: t, run: far/x, input: { to: "${params.who}" } }
"""


def resident(server):
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) << 10


def ended(server, run):
    return server.get(f"/api/executions/{run}?wait=30s").json()


@case("proves: R-084")
def parameters_as_large_as_a_body_may_be_start_a_run(t):
    server = Server(t)
    server.define(HELLO)
    run = server.begin("hello", {"who": "x" * (12 * MEGA)}, wait="30s")
    t.equal(run["status"], "COMPLETED", "the run")
    t.equal(server.get("/healthz").status, 200, "the server")


@case("")
def one_decision_that_begins_many_steps_with_large_inputs_is_made_in_pieces(t):
    server = Server(t)
    server.define(WIDE)
    run = server.begin("wide", {"who": "x" * (9 * MEGA)})
    t.equal(ended(server, run["executionId"])["status"], "COMPLETED", "the run")
    server.stop()
    server.start()
    t.equal(server.get(f"/api/executions/{run['executionId']}").json()["status"], "COMPLETED", "the run after a restart")


@case("")
def an_input_that_no_record_holds_fails_its_step_by_the_limits_name(t):
    server = Server(t)
    server.define(GROWN)
    for what, text in (("plain", "x" * (9 * MEGA)), ("escapes", "\x01" * (3 * MEGA // 2))):
        with t.row(what):
            run = server.begin("grown", {"who": text}, wait="30s")
            t.equal(run["status"], "FAILED", "the run")
            t.contains(json.dumps(server.get(f"/api/executions/{run['executionId']}/steps").json()), "INPUT_SIZE_MAX")


@case("")
def keys_that_are_made_of_parameters_are_bounded(t):
    server = Server(t)
    server.define(KEYED)
    run = server.begin("keyed", {"who": "x" * (9 * MEGA)}, wait="30s")
    t.equal(run["status"], "FAILED", "the run")
    t.contains(json.dumps(server.get(f"/api/executions/{run['executionId']}/steps").json()), "IDEMPOTENCY_KEY_SIZE_MAX")
    server.define(HELLO.replace("params:", 'idempotency_key: "${params.who}"\nparams:'))
    body = problem(t, server.post("/api/executions", {"workflowId": "hello", "parameters": {"who": "x" * MEGA}}), 422, "limit-exceeded")
    t.contains(body["detail"], "IDEMPOTENCY_KEY_SIZE_MAX (16384)")


@case("")
def a_selection_that_is_no_json_takes_the_default(t):
    server = Server(t)
    server.define(CHOSEN)
    run = server.begin("chosen", {"who": "x"}, wait="30s")
    t.equal(run["status"], "COMPLETED", "the run")


@case("")
def an_output_that_grows_beyond_a_payload_fails_its_step(t):
    server = Server(t)
    server.define(GIVES.format(count=3_300_000))
    run = server.begin("gives")
    t.equal(ended(server, run["executionId"])["status"], "FAILED", "the run")
    t.contains(json.dumps(server.get(f"/api/executions/{run['executionId']}/steps").json()), "PAYLOAD_SIZE_MAX")


@case("")
def a_signal_may_be_as_large_as_a_body_and_no_larger_than_a_payload(t):
    server = Server(t)
    server.define(WAITS)
    run = server.begin("waits")["executionId"]
    wide = "[" + "1e20," * 3_100_000 + "1]"
    sent = server.call("POST", "/api/signals", '{"executionId":"%s","name":"go","payload":%s}' % (run, wide), headers={"Content-Type": "application/json"})
    t.contains(problem(t, sent, 422, "limit-exceeded")["detail"], "PAYLOAD_SIZE_MAX")
    t.equal(server.post("/api/signals", {"executionId": run, "name": "go", "payload": "x" * (12 * MEGA)}).status // 100, 2, "a signal of 12 MiB")
    t.equal(ended(server, run)["status"], "COMPLETED", "the run")


@case("")
def reasons_are_bounded_as_texts_are(t):
    server = Server(t)
    server.define(WAITS)
    run = server.begin("waits")["executionId"]
    for path, body in ((f"/api/executions/{run}/cancel", {}), ("/api/signals", {"executionId": run, "name": "go"})):
        with t.row(path):
            sent = server.post(path, dict(body, reason="x" * (15 * MEGA)))
            t.contains(problem(t, sent, 422, "limit-exceeded")["detail"], "'reason' has more than TEXT_SIZE_MAX (16384) bytes")


@case("")
def lists_of_large_executions_are_bounded_and_leave_nothing_unreadable(t):
    server = Server(t)
    server.define(HELLO)
    runs = [server.begin("hello", {"who": chr(97 + i) * (6 * MEGA)})["executionId"] for i in range(12)]
    small = server.begin("hello", {"who": "small"}, wait="30s")["executionId"]
    for run in runs:
        t.equal(ended(server, run)["status"], "COMPLETED", "a run")
    answer = server.get("/api/executions")
    t.equal(answer.status, 200, "the list")
    t.true(len(answer.body) < 2 * MEGA, f"the list has {len(answer.body)} bytes")
    listed = {item["executionId"]: item["inputParameters"] for item in answer.json()["items"]}
    t.equal(sorted(listed), sorted(runs + [small]), "all of them")
    t.equal(listed[small], {"who": "small"}, "small parameters")
    t.equal(listed[runs[0]].get("omitted"), True, "large ones")
    t.true(listed[runs[0]]["bytes"] > 6 * MEGA, "how large they are")
    one = server.get("/api/executions/" + runs[2]).json()
    t.equal(one["inputParameters"]["who"][:2] + str(len(one["inputParameters"]["who"])), "cc" + str(6 * MEGA), "one of them has all of its parameters")
    verified = t.maestro("ledger", "verify", "--store", "sqlite:" + server.store)
    t.equal((verified.code, verified.err), (0, ""), "the ledger")
    exported = t.maestro("ledger", "export", "--output", str(t.folder / "ledger.jsonl"), "--store", "sqlite:" + server.store)
    t.equal((exported.code, exported.err), (0, ""), "its export")


@case("")
def steps_with_large_inputs_are_listed_in_pages_that_end_early(t):
    server = Server(t)
    server.define(WIDE)
    run = server.begin("wide", {"who": "x" * (5 * MEGA)})["executionId"]
    whole = ended(server, run)
    t.equal(len(whole["steps"]), 9, "the execution has its steps")
    t.true(any(step["inputData"].get("omitted") for step in whole["steps"] if step["inputData"]), "those that do not fit say how large they are")
    path, steps, pages = f"/api/executions/{run}/steps", [], 0
    while path:
        answer = server.get(path)
        t.require(answer.status == 200, str(answer))
        page = answer.json()
        steps += page["items"]
        pages += 1
        path = page["_links"].get("next", {}).get("href")
    t.equal([step["stepIndex"] for step in steps], list(range(9)), "all steps, each once")
    t.true(pages > 2, f"{pages} pages")
    t.true(all(len(json.dumps(step["inputData"])) > 5 * MEGA for step in steps[1:]), "with all of their inputs")


@case("proves: R-084")
def an_answer_tells_neither_where_the_store_lies_nor_the_codes_of_its_library(t):
    server = Server(t)
    server.define(HELLO)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (os.stat(server.store).st_size, resource.RLIM_INFINITY))
    for _ in range(40):
        begun = server.post("/api/executions", {"workflowId": "hello", "parameters": {"who": "x" * MEGA}})
        if begun.status == 503:
            break
    t.equal(begun.status, 503, "the store refuses to write")
    t.until(lambda: server.get("/readyz", key="").status == 503, "the server is not ready")
    for what, answer in (("a start", begun), ("/readyz", server.get("/readyz", key=""))):
        with t.row(what):
            body = problem(t, answer, 503, "unavailable")
            t.contains(body["detail"], "the store: ")
            t.lacks(body["detail"], server.store)
            t.lacks(body["detail"], str(t.folder))
            t.true(not re.search(r"\(.*\d+\)", body["detail"]), "no code: " + body["detail"])
    def logged():
        lines = [json.loads(line) for line in t.said(server.process).splitlines() if line.startswith("{") and line.endswith("}")]
        return any(server.store in line.get("detail", "") for line in lines if line.get("route") == "execution_start")
    t.until(logged, "the log has it")


@case("")
def what_is_made_of_many_events_is_refused_by_name_before_it_is_begun(t):
    server = Server(t)
    server.define("workflow: many\njobs:\n" + "".join(f"  j{i}: {{ tasks: [{{ name: a, run: noop }}] }}\n" for i in range(8000)))
    run = server.begin("many")["executionId"]
    t.until(lambda: ended(server, run)["status"] == "COMPLETED", "the run ends")
    for path in (f"/diff?with={run}", "/provenance", "/replay?at=5", "/trace"):
        with t.row(path):
            detail = problem(t, server.get(f"/api/executions/{run}{path}"), 422, "limit-exceeded")["detail"]
            t.contains(detail, "API_HISTORY_EVENT_COUNT_MAX (40000)")


SLOW = "workflow: slow\njobs:\n" + "".join(f"  k{i}: 1\n" for i in range(280_000))           # 3.5 MB, and a mistake a line
# Six lines that stand for a million nodes.
BOMB = "workflow: bomb\na: &a [" + "1," * 10 + "]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [" + f"*{chr(97 + i)}," * 10 + "]\n" for i in range(4)) + "f: [*e, *e, *e, *e, *e, *e, *e, *e, *e]\n"


def sent(server, text, key=None, path="/api/runbooks?action=validate", kind="application/yaml"):
    """The text of a definition, or another, on its way, by a connection of its own."""
    connection = server.connect()
    connection.request("POST", path, text, {"Authorization": "Bearer " + (key or server.admin), "Content-Type": kind})
    return connection


def answers_in_order(t, connections):
    """The statuses of the connections in the order in which they are answered, each with its place in the list."""
    poll, order, left = select.poll(), [], {c.sock.fileno(): i for i, c in enumerate(connections)}
    for descriptor in left:
        poll.register(descriptor, select.POLLIN)
    while left:
        ready = poll.poll(60_000)
        t.require(ready, "answers come")
        for descriptor, _ in ready:
            poll.unregister(descriptor)
            place = left.pop(descriptor)
            order.append((place, connections[place].getresponse().status))
    return order


@case("")
def a_definition_over_http_is_bounded_by_name(t):
    server = Server(t)
    server.define(HELLO)
    large = HELLO + "#" * (4 * MEGA)
    for path in ("/api/workflows", "/api/workflows/default/hello/revisions", "/api/runbooks?action=validate", "/api/runbooks"):
        with t.row(path):
            answer = server.call("POST", path, large, headers={"Content-Type": "application/yaml"})
            t.contains(problem(t, answer, 413, "content-too-large")["detail"], "API_DEFINITION_SIZE_MAX (4194304)")
    answer = server.call("POST", "/api/workflows", BOMB.replace("f: [", "f: [*e, *e, *e, *e, *e, *e, *e, *e, *e, *e, *e, "), headers={"Content-Type": "application/yaml"})
    t.contains(json.dumps(problem(t, answer, 400, "definition-invalid")["errors"]), "API_DEFINITION_NODE_COUNT_MAX (2097152)")
    t.equal(server.call("POST", "/api/workflows", HELLO + "#" * MEGA, headers={"Content-Type": "application/yaml"}).status, 200, "a comment of a megabyte")


@case("")
def others_are_answered_while_a_definition_is_compiled(t):
    server = Server(t)
    server.define(HELLO)
    run = server.begin("hello", {"who": "x"}, wait="20s")["executionId"]

    def asks_meanwhile():
        slow = sent(server, SLOW)
        for path in ("/healthz", "/api/executions", f"/api/executions/{run}", "/api/workflows/default/hello"):
            t.equal(server.get(path).status, 200, path)
        is_first = not select.select([slow.sock], [], [], 0)[0]
        t.equal(slow.getresponse().status, 200, "what is wrong with it is told in the end")
        return is_first

    t.until(asks_meanwhile, "others are answered before it is compiled")


@case("proves: F-003")
def who_sends_much_that_takes_long_waits_behind_itself(t):
    server = Server(t)
    keys = {tenant: server.key("operator", tenant) for tenant in ("acme", "beta")}
    many = [sent(server, BOMB, keys["acme"]) for _ in range(40)]
    order = answers_in_order(t, many + [sent(server, BOMB, keys["beta"])])
    statuses = [status for place, status in order if place < 40]
    t.true(set(statuses) <= {200, 429} and statuses.count(200) >= 32 and 429 in statuses, f"some are too many: {statuses}")
    t.equal([status for place, status in order if place == 40], [200], "of the other tenant")
    t.true(order.index((40, 200)) < len(order) - 8, f"it did not wait for all of them: {order}")


STEP_COUNT = 10_000 if SANITIZED else 60_000


def many_steps(name, count=STEP_COUNT, first="      - { name: ask, log: hi, pause_after: { trigger: boss } }\n"):
    return f"workflow: {name}\njobs:\n  a:\n    tasks:\n" + first + "".join(f"      - {{ name: t{i}, log: hi }}\n" for i in range(count))


def asked(server, method, path, body=None, headers=None):
    """A request on its way, by a connection of its own."""
    connection = server.connect()
    connection.request(method, path, json.dumps(body) if body is not None else None,
                       {"Authorization": "Bearer " + server.admin, "Content-Type": "application/json"} | (headers or {}))
    return connection


def used(server, thread):
    """The ticks of the processor that a thread of the server has used."""
    ticks = 0
    for place in Path(f"/proc/{server.process.pid}/task").iterdir():
        name, fields = (place / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
        if name == thread:
            ticks += sum(int(field) for field in fields.split()[11:13])
    return ticks


@case("")
def what_is_made_of_a_large_plan_is_not_made_by_the_thread_that_answers_everybody(t):
    server = Server(t)
    server.define(many_steps("large"))
    compiled = used(server, "maestro-aside")
    run = server.begin("large")["executionId"]
    t.until(lambda: server.get(f"/api/executions/{run}").json()["awaitingTrigger"] == "boss", "it awaits its trigger")
    revision = "/api/workflows/default/large/revisions/1"
    for method, path, body, headers in (("GET", revision, None, {}), ("GET", revision, None, {"Accept-Encoding": "gzip"}),
                                        ("POST", revision + "/dry-run", {}, {}), ("POST", revision + "/activate", {}, {}),
                                        ("GET", f"/api/executions/{run}/verdicts", None, {}), ("GET", f"/api/executions/{run}/projection", None, {}),
                                        ("POST", "/api/executions", {"workflowId": "large"}, {})):
        with t.row(f"{method} {path} {headers}"):
            before = used(server, "maestro-http")
            for _ in range(5):
                answer = server.call(method, path, body, headers=headers)
                t.true(len(answer.body) > 100 and answer.status in (200, 201, 422), f"it is answered: {answer.status}")
            took = used(server, "maestro-http") - before
            t.true(took < compiled, f"five of them took {took} ticks of it, and the definition was compiled beside it in {compiled}")


@case("")
def a_large_plan_that_a_command_sends_is_not_read_by_the_thread_that_answers_everybody(t):
    server = Server(t)
    text = many_steps("large", STEP_COUNT // 3)
    server.define(text)
    compiled = used(server, "maestro-aside")
    plan = server.post("/api/plans", {"definition": text}).json()["plan"]
    digest = {"blob": base64.b64encode(hashlib.sha256(plan.encode()).digest()).decode()}
    for name, path, body in (("its plan", "/api/plans", {"definition": text}), ("a dry run", "/api/plans", {"definition": text, "parameters": {}}),
                             ("a start", "/api/petitions", {"verb": "start", "plan": plan, "text": text, "params": {}, "key": "once"}),
                             ("a look at it", "/api/store/PLAN", {"params": [digest]})):
        with t.row(name):
            key, before = server.key("operator"), used(server, "maestro-http")
            for _ in range(5):
                answer = server.post(path, body, key=key)
                t.true(len(answer.body) > (1_000_000 if "store" in path else 1), "there is something")
                t.equal(answer.status, 200, f"it is answered: {answer}")
            took = used(server, "maestro-http") - before
            t.true(took < compiled, f"five of them took {took} ticks of it, and the definition was compiled beside it in {compiled}")


@case("")
def a_large_revision_that_is_known_is_not_made_again(t):
    server = Server(t)
    server.define(many_steps("large"))
    path = "/api/workflows/default/large/revisions/1"
    whole = server.get(path)
    same = server.get(path, headers={"If-None-Match": whole.headers["ETag"]})
    t.equal((same.status, same.body, same.headers["ETag"]), (304, b"", whole.headers["ETag"]))
    t.equal((same.headers.get("Content-Length"), same.headers.get("Transfer-Encoding")), (None, None), "the size of what was not made is not told")
    t.equal(server.get(path, headers={"If-None-Match": '"other"'}).body, whole.body)
    t.equal([step["name"] for step in whole.json()["steps"][:2]], ["ask", "t0"], "it is whole")
    t.equal(server.post(path + "/deactivate").json()["steps"], whole.json()["steps"], "and where it is changed")


@case("proves: R-091 F-003")
def a_list_that_looks_at_many_executions_is_not_made_by_the_thread_that_answers_everybody(t):
    server = Server(t)
    server.define(HELLO)
    count = 1500
    runs = [server.begin("hello", {"who": "x"})["executionId"] for _ in range(count)]
    t.until(lambda: server.get(f"/api/executions/{runs[-1]}").json()["status"] == "COMPLETED", "they are over")

    def listed(path):
        """All of them, page by page."""
        found = []
        while path:
            page = server.get(path).json()
            found += [item["executionId"] for item in page["items"]]
            path = page["_links"].get("next", {}).get("href")
        return found

    for query, wanted in (("state=FAILED", []), ("workflowId=hello&version=2", []), ("limit=500", runs[::-1]), ("limit=7&state=COMPLETED", None)):
        with t.row(query):
            http, beside = used(server, "maestro-http"), used(server, "maestro-aside")
            if wanted is None:
                t.true(listed("/api/executions?" + query) == runs[::-1], "whatever a page has")
                continue
            for _ in range(30):
                t.true(listed("/api/executions?" + query) == wanted, "what it lists")
            http, beside = used(server, "maestro-http") - http, used(server, "maestro-aside") - beside
            t.true(http < beside, f"it took {http} ticks of that thread, and {beside} beside it")


@case("")
def a_list_of_executions_that_await_triggers_of_large_plans_keeps_nobody_waiting(t):
    server = Server(t)
    open_gate, asking = ("      - { name: ask, log: hi, pause_after: { trigger: boss%s } }\n" % more
                         for more in ("", ", payload_schema: { type: object, required: [who] }, auth: { bearer: true }"))
    runs = []
    for name, first in (("open", open_gate), ("asking", asking)):
        server.define(many_steps(name, first=first))
        runs.append(server.begin(name)["executionId"])
        t.until(lambda: server.get(f"/api/executions/{runs[-1]}").json()["awaitingTrigger"] == "boss", "it awaits its trigger")

    def is_passed():                # by a server that knows nothing of them yet
        server.stop()
        server.start()
        slow = asked(server, "GET", "/api/executions")
        t.equal(server.get("/healthz").status, 200)
        is_first = not select.select([slow.sock], [], [], 0)[0]
        answer = json.loads(slow.getresponse().read())
        t.require("items" in answer, f"it is answered: {answer}")
        listed = {item["executionId"]: item["_links"] for item in answer["items"]}
        t.equal([("resume" in listed[run], "trigger-token" in listed[run]) for run in runs], [(True, False), (False, True)], "what can be done")
        t.equal({item["executionId"]: item["_links"] for item in server.get("/api/executions").json()["items"]}, listed, "the same again")
        for run in runs:
            t.equal(server.get(f"/api/executions/{run}").json()["_links"].get("resume"), listed[run].get("resume"), "its own page says the same")
        return is_first

    t.until(is_passed, "others are answered before the list")


@case("")
def a_large_body_of_json_is_read_beside_the_thread_that_answers(t):
    server = Server(t)
    server.define(HELLO)
    numbers = json.dumps({"workflowId": "hello", "parameters": {"numbers": list(range(1_500_000))}})

    def is_seen_waiting():
        client, is_seen = sent(server, numbers, path="/api/executions", kind="application/json"), False
        while not select.select([client.sock], [], [], 0)[0]:
            is_seen = counted(server, "maestro_http_requests_waiting") == 1 or is_seen
        t.equal(json.loads(client.getresponse().read())["errors"][0]["pointer"], "/parameters/numbers", "it is told what is wrong with it")
        return is_seen

    t.until(is_seen_waiting, "others are answered meanwhile")
    ones = server.call("POST", "/api/executions", '{"workflowId":"hello","parameters":{"p":[' + "1," * 7_000_000 + "1]}}")
    t.equal(ones.status, 400, "so many values that they take more than a body may")
    t.contains(ones.json()["detail"], "the body is beyond a limit: line 1, column ")
    t.contains(ones.json()["detail"], "100663296 bytes of memory")


GATED = """workflow: gated
triggers: [{ webhook: { key: hook, auth: { api_key: true } } }]
jobs: { a: { tasks: [{ name: ask, log: x, pause_after: { trigger: boss, timeout: 1h, rate_limit: 1/h, auth: { api_key: true } } }] } }
"""


def gate(t, server):
    """The address of a trigger that an execution awaits, and takes once."""
    run = server.begin("gated")["executionId"]
    t.until(lambda: server.get(f"/api/executions/{run}").json()["awaitingTrigger"] == "boss", "it awaits its trigger")
    return f"/maestro/trigger/{run}/boss"


@case("proves: F-043 F-048 A-196")
def a_large_payload_of_a_trigger_is_read_beside_the_thread_that_answers(t):
    server = Server(t)
    server.define(GATED)
    path = gate(t, server)
    for name, body, detail in (("no JSON", "[" + "1," * 4_000_000, "the body is no JSON that is read here: line 1, column "),
                               ("too many values", "[" + "1," * 7_000_000 + "1]", "100663296 bytes of memory"),
                               ("a member twice", '{"a":1,"a":[' + "1," * 4_000_000 + "1]}", "the object that ends here has 'a' twice")):
        for where in (path, "/maestro/hooks/default/gated/hook"):
            with t.row(f"{name} {where}"):
                before = used(server, "maestro-http"), used(server, "maestro-aside")
                t.contains(problem(t, server.call("POST", where, body), 400, "invalid")["detail"], detail)
                took, read = used(server, "maestro-http") - before[0], used(server, "maestro-aside") - before[1]
                t.true(took < read, f"{took} ticks of the thread that answers, and {read} of the one beside it")
    payload = {"numbers": list(range(100_000))}
    t.equal(server.post(path, payload).status, 200, "what was refused has used up nothing of the rate_limit")
    t.equal(server.post(path, payload).status, 429, "what was taken has")
    hooked = server.post("/maestro/hooks/default/gated/hook", payload)
    t.equal(hooked.status, 202)
    t.equal(server.get("/api/executions/" + hooked.json()["executionId"]).json()["triggerPayload"], payload)


@case("proves: F-043 A-196")
def a_trigger_whose_sender_leaves_while_its_payload_waits_to_be_read_takes_no_place(t):
    server = Server(t)
    server.define(GATED)
    payload = json.dumps({"text": "x" * MEGA})

    def is_left_in_time():          # before anybody has begun to read it
        path = gate(t, server)
        slow = sent(server, many_steps("slow", STEP_COUNT // 2), path="/api/workflows")
        gone = sent(server, payload, path=path, kind="application/json")
        t.until(lambda: counted(server, "maestro_http_requests_waiting") == 2 or select.select([slow.sock], [], [], 0)[0], "both have come")
        break_off(gone)
        t.until(lambda: counted(server, "maestro_http_connections") == 2, "its connection is over")
        is_in_time = not select.select([slow.sock], [], [], 0)[0]
        slow.getresponse().read()
        answer = server.call("POST", path, payload)
        t.true(answer.status == 200 or not is_in_time, f"whoever comes behind has the one place that there is: {answer}")
        return is_in_time

    t.until(is_left_in_time, "it has left")


@case("proves: F-043")
def a_server_that_ends_takes_the_trigger_whose_payload_waits_to_be_read(t):
    server = Server(t)
    server.define(GATED)
    path = gate(t, server)
    slow = sent(server, many_steps("slow", STEP_COUNT // 6), path="/api/workflows")
    waiting = sent(server, json.dumps({"text": "x" * MEGA}), path=path, kind="application/json")
    t.until(lambda: counted(server, "maestro_http_requests_waiting") == 2 or select.select([slow.sock], [], [], 0)[0], "both have come")
    server.process.send_signal(signal.SIGTERM)
    t.equal([c.getresponse().status for c in (slow, waiting)], [201, 200], "both are answered")
    t.equal(t.end(server.process).code, 0, "the code")
    server.start()
    t.equal(server.get(path.replace("/maestro/trigger", "/api/executions").rsplit("/", 1)[0] + "?wait=30s").json()["status"], "COMPLETED")


@case("proves: F-051")
def large_payloads_of_starts_that_are_held_back_lie_in_the_store(t):
    server = Server(t)
    hooks = "".join(f"  - webhook: {{ key: {kind}{i}, auth: {{ api_key: true }}, debounce: {span} }}\n"
                    for kind, span in (("late", "10m"), ("soon", "3s")) for i in range(12))
    server.define(f"workflow: held\ntriggers:\n{hooks}jobs: {{ a: {{ tasks: [{{ log: x }}] }} }}\n")

    def send(kind, i):
        answer = server.call("POST", f"/maestro/hooks/default/held/{kind}{i}", json.dumps({"n": i, "text": "x" * (6 * MEGA)}))
        t.equal(answer.status, 202, f"it is held back: {answer}")

    before = resident(server)
    for i in range(12):
        send("late", i)
    if not SANITIZED:
        t.until(lambda: resident(server) - before < 48 * MEGA, "12 of 6 MB each are not kept in memory")
    for i in range(12):
        send("soon", i)
    server.stop(signal.SIGKILL)
    server.start()
    t.until(lambda: len(server.get("/api/executions").json()["items"]) == 12, "those whose time is over are started, one after the other")
    found = [server.get("/api/executions/" + item["executionId"]).json() for item in server.get("/api/executions").json()["items"]]
    t.equal(sorted((run["source"], run["triggerPayload"]["n"], len(run["triggerPayload"]["text"])) for run in found),
            sorted((f"webhook:soon{i}", i, 6 * MEGA) for i in range(12)), "each by its own payload")


@case("proves: F-051")
def a_large_payload_that_was_held_back_is_read_beside_the_thread_that_answers(t):
    server = Server(t)
    server.define("workflow: held\ntriggers: [{ webhook: { key: hook, auth: { api_key: true }, debounce: 2s } }]\njobs: { a: { tasks: [{ log: x }] } }\n")
    before = used(server, "maestro-aside")
    t.equal(server.call("POST", "/maestro/hooks/default/held/hook", "[" + "1," * 4_000_000 + "1]").status, 202)
    taken = used(server, "maestro-aside")
    t.until(lambda: server.get("/api/executions").json()["items"], "its run is started")
    t.true(used(server, "maestro-aside") - taken > (taken - before) // 8, "it was read once more where it was read first")
    run = server.get("/api/executions").json()["items"][0]["executionId"]
    t.equal(len(server.get("/api/executions/" + run).json()["triggerPayload"]), 4_000_001)


@case("proves: F-051")
def values_of_large_bodies_are_a_share_of_their_key_and_leave_others_theirs(t):
    server = Server(t, "--runners", str(t.write("far.yaml", FAR)))
    keys = {tenant: server.key("operator", tenant) for tenant in ("default", "other")}
    for tenant in keys:
        server.define(PULLED.replace("type: string", "type: string, default: x").replace("workflow: pulled\n", f"workflow: held\ntenant: {tenant}\n"
                                     "triggers: [{ webhook: { key: hook, auth: { api_key: true } } }]\n"), tenant=tenant)
    payload, small = "[" + "{}," * 5_000_000 + "0]", "[" + "{}," * 200_000 + "0]"

    def send(body, tenant="default"):
        return server.call("POST", f"/maestro/hooks/{tenant}/held/hook", body, key=keys[tenant])

    waiting = [sent(server, payload, key=keys["default"], path="/maestro/hooks/default/held/hook?wait=30s") for _ in range(2)]
    t.until(lambda: len(server.get("/api/executions?namespace=default").json()["items"]) == 2, "both are started, and wait")
    t.contains(problem(t, send(payload), 429, "overloaded")["detail"], "this key has 201326592 bytes of values of bodies already")
    t.equal(send(small).status, 202, "there is room for a smaller one")
    t.equal(send(payload, "other").status, 202, "and for another tenant")
    for connection in waiting:
        break_off(connection)
    t.until(lambda: counted(server, "maestro_http_connections") == 1, "their connections are over")
    t.equal(send(payload).status, 202, "what they took is free")


@case("")
def a_member_that_is_in_a_body_twice_is_refused(t):
    server = Server(t)
    server.define(HELLO)
    for body in '{"workflowId":"hello","workflowId":"other"}', '{"workflowId":"hello","parameters":{"a":1,"a":1}}':
        answer = server.call("POST", "/api/executions", body)
        t.equal(answer.status, 400)
        t.matches(answer.json()["detail"], "the object that ends here has '.*' twice")
    t.equal(server.get("/api/executions").json()["items"], [], "nothing is started")


@case("")
def a_server_that_ends_stores_what_is_being_compiled(t):
    server = Server(t)
    names = ["one", "two", "three"]
    slow = [sent(server, many_steps(name, STEP_COUNT // 6), path="/api/workflows") for name in names]
    t.until(lambda: counted(server, "maestro_http_requests_waiting") == 3 or select.select([c.sock for c in slow], [], [], 0)[0], "they have come")
    server.process.send_signal(signal.SIGTERM)
    t.equal([c.getresponse().status for c in slow], [201] * 3, "all are answered")
    t.equal(t.end(server.process).code, 0, "the code")
    server.start()
    t.equal(sorted(item["workflowId"] for item in server.get("/api/workflows").json()["items"]), sorted(names), "and stored")


def counted(server, name):
    return next(int(line.split()[-1]) for line in server.get("/metrics").body.decode().splitlines() if line.startswith(name + " "))


def break_off(connection):
    connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


@case("")
def what_was_sent_by_clients_that_have_left_is_not_begun(t):
    server = Server(t)
    gone = [sent(server, many_steps(f"gone{i}", STEP_COUNT // 3), path="/api/workflows") for i in range(6)]
    t.until(lambda: counted(server, "maestro_http_requests_waiting") == 6, "all have come")
    for connection in gone:
        break_off(connection)
    t.until(lambda: counted(server, "maestro_http_connections") == 1, "their connections are over")
    t.equal(server.call("POST", "/api/workflows", HELLO, headers={"Content-Type": "application/yaml"}).status, 201, "who comes behind them")
    t.equal([item["workflowId"] for item in server.get("/api/workflows").json()["items"]], ["hello"], "nothing of theirs is stored")
    t.equal(counted(server, "maestro_http_body_bytes"), 0, "what their bodies took is free")


@case("")
def a_body_counts_as_long_as_it_is_being_compiled(t):
    server = Server(t)

    def is_counted():
        slow = sent(server, SLOW)
        t.until(lambda: counted(server, "maestro_http_requests_waiting") == 1 or select.select([slow.sock], [], [], 0)[0], "it has come")
        break_off(slow)
        lines = {}
        while lines.get("maestro_http_connections", "2") != "1":
            lines = dict(line.rsplit(" ", 1) for line in server.get("/metrics").body.decode().splitlines() if not line.startswith("#"))
        held = int(lines["maestro_http_body_bytes"])
        t.until(lambda: counted(server, "maestro_http_body_bytes") == 0, "it is given back in the end")
        return held >= len(SLOW)

    t.until(is_counted, "though its client has left")


@case("")
def answers_that_nobody_reads_are_a_share_of_their_key_and_leave_others_theirs(t):
    server = Server(t)
    other = server.key("viewer", "other")
    server.define(many_steps("large", 40_000))
    request = f"GET /api/workflows/default/large/revisions/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.admin}\r\n\r\n".encode()
    unread, refused = [], None
    while not refused:
        t.true(len(unread) < 100, "the share has a bound")
        held = counted(server, "maestro_http_answer_bytes")
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", server.port))
        client.sendall(request)
        t.true(select.select([client], [], [], 60)[0], "it is answered")
        if client.recv(12, socket.MSG_PEEK) == b"HTTP/1.1 429":
            refused = client
        else:
            unread.append(client)
            t.until(lambda: counted(server, "maestro_http_answer_bytes") > held, "it is counted")
    with refused:
        said = refused.recv(65536).decode()
        t.matches(said, r"(?i)retry-after: \d")
        t.contains(said, "134217728 bytes of answers that nobody reads")
        t.lacks(said, "ETag")
    t.true(counted(server, "maestro_http_answer_bytes") <= 128 * MEGA, "no more is held")
    t.equal(server.get("/api/executions").status, 200, "what is small is answered")
    t.equal(server.get("/openapi.json", key=other).status, 200, "and what others ask for")
    for client in unread:
        client.close()
    t.until(lambda: counted(server, "maestro_http_answer_bytes") == 0, "what they took is free")
    t.equal(server.get("/api/workflows/default/large/revisions/1").status, 200, "and is there for whoever reads")


@case("")
def a_server_that_ends_answers_what_is_being_compiled(t):
    server = Server(t)
    slow = [sent(server, BOMB) for _ in range(3)]
    t.equal(server.get("/healthz").status, 200, "what came before has come")
    server.process.send_signal(signal.SIGTERM)
    t.equal([c.getresponse().status for c in slow], [200] * 3, "all are answered")
    t.equal(t.end(server.process).code, 0, "the code")


@case("")
def a_run_without_a_server_is_held_to_the_same(t):
    store = "sqlite:" + str(t.folder / "local.db")
    wide, grown = t.write("wide.yaml", LOCAL), t.write("grown.yaml", LOCAL.replace("log: \"$", "log: \"${outputs.make}$"))
    t.equal(t.maestro("run", str(wide), "--store", store).code, 0, "many inputs")
    refused = t.maestro("run", str(grown), "--store", store)
    t.equal(refused.code, 1, "an input that is too large")
    t.contains(refused.out + refused.err, "INPUT_SIZE_MAX")


@case("")
def a_step_that_needs_more_outputs_than_are_kept_at_hand_gets_them_all(t):
    server = Server(t)
    server.define(PAIR)
    run = server.begin("pair")["executionId"]
    t.equal(ended(server, run)["status"], "COMPLETED", "the run")


@case("proves: E-060 C-94")
def executions_that_wait_for_a_worker_do_not_keep_their_parameters_in_memory(t):
    server = Server(t, "--runners", str(t.write("far.yaml", FAR)), "--max-memory", "256")
    key = server.key("worker", "@all")
    server.define(PULLED)
    before = resident(server)
    runs = [server.begin("pulled", {"who": "x" * (8 * MEGA)})["executionId"] for _ in range(60)]
    grown = (resident(server) - before) // MEGA
    if not SANITIZED:
        t.true(grown < 300, f"480 MiB of parameters wait, and the process grew by {grown} MiB")
    counted = dict(line.rsplit(" ", 1) for line in server.get("/metrics").body.decode().splitlines() if line.startswith("maestro_engine_"))
    t.equal(int(counted["maestro_engine_memory_max_bytes"]), 256 * MEGA, "what may be")
    t.true(int(counted["maestro_engine_memory_bytes"]) < 256 * MEGA * 4 // 5, "what is")
    t.equal(counted['maestro_engine_starts_refused_total{cause="memory"}'], "0", "nothing had to be refused for it")
    answer = server.post("/api/executors/far/exchange", {"worker": "w", "want": 2, "wait_ms": 10000}, key=key).json()
    t.true(answer["leases"], "a worker has one of them")
    for lease in answer["leases"]:
        t.equal(len(lease["task"]["input"]["to"]), 8 * MEGA, "with all of its input")
    server.post("/api/executors/far/exchange", {"worker": "w", "reports": [{"token": lease["token"], "output": 1} for lease in answer["leases"]]}, key=key)
    server.stop()
    server.start()
    t.until(lambda: server.get("/readyz", key="").status == 200, "it is ready again")
    grown = (resident(server) - before) // MEGA
    if not SANITIZED:
        t.true(grown < 300, f"after a restart the process is larger by {grown} MiB")
    t.equal(server.get(f"/api/executions/{runs[-1]}").json()["status"], "RUNNING", "the last of them still waits")


main()
