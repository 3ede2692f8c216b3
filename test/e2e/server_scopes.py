#!/usr/bin/env python3
"""What the key of a worker is for: its tenant, and in it executors and queues. And that a token of an attempt is not guessed."""
import json
import signal

from maestro_test import case, main
from server_test import Server, problem

RUNNERS = """executors:
  far:
    kind: worker
    lease: 20s
    runners:
      ci/build: { queue: builds }
      ci/deploy: { queue: deploys }
  beside:
    kind: worker
    runners:
      beside/other: {}
"""

BOTH = """workflow: %s
jobs: { a: { tasks: [{ name: do, run: %s, timeout: 1h }] } }
"""

FAR = "/api/executors/far/exchange"


def begin(t):
    server = Server(t, "--runners", t.write("server-runners.yaml", RUNNERS))
    for name, runner in (("build", "ci/build"), ("deploy", "ci/deploy"), ("other", "beside/other")):
        server.define(BOTH % (name, runner))
    return server


def limited(server, *args):
    return server.key("worker", "default", *args)


def lease(server, key, path=FAR, **members):
    got = server.post(path, {"worker": "w", "want": 1, "wait_ms": 20000, **members}, key=key)
    server.t.require(got.status == 200 and len(got.json()["leases"]) == 1, f"a lease is granted: {got}")
    return got.json()["leases"][0]


def say_all(token, output="forged"):
    return {"worker": "x", "reports": [{"token": token, "output": output}], "heartbeats": [token], "logs": [{"token": token, "text": "forged"}],
            "messages": [{"token": token, "message": {"effect": 1}}, {"token": token, "message": {"signal": "forged"}}]}


def refusals(t, server, key):
    shown = t.maestro("ledger", "show", "--limit", "100000", "--store", "sqlite:" + server.store)
    return [event for record in map(json.loads, shown.out.splitlines()) for event in record["events"]
            if event["event"] == "access-refused" and record["actor"] == "key:" + key.split(".")[-2]]


@case("proves: F-003 F-113")
def what_a_workers_key_is_for_is_set_when_it_is_made_and_shown_with_it(t):
    server = begin(t)
    made = server.post("/api/keys", {"namespace": "acme", "role": "worker", "executors": ["far"], "queues": ["builds", "deploys"]})
    t.equal(made.status, 201, str(made))
    t.equal((made.json()["executors"], made.json()["queues"]), (["far"], ["builds", "deploys"]))
    by_command = t.maestro("key", "create", "--role", "worker", "--tenant", "acme", "--queue", "builds", "--json", "--store", "sqlite:" + server.store)
    t.equal((json.loads(by_command.out)["executors"], json.loads(by_command.out)["queues"]), (None, ["builds"]))
    at = ("--server", f"http://127.0.0.1:{server.port}")
    by_client = t.maestro("key", "create", "--role", "worker", "--tenant", "acme", "--executor", "far", "--json", *at, env={"MAESTRO_TOKEN": server.admin})
    want = {made.json()["id"]: (["far"], ["builds", "deploys"]), json.loads(by_command.out)["id"]: (None, ["builds"]),
            json.loads(by_client.out)["id"]: (["far"], None)}
    listed = {k["id"]: (k["executors"], k["queues"]) for k in server.get("/api/keys?namespace=acme").json()["items"]}
    t.equal(listed, want, "the list of the server")
    for name, args in (("of the store", ("--store", "sqlite:" + server.store)), ("of a client", at)):
        with t.row("the list " + name):
            shown = t.maestro("key", "list", "--tenant", "acme", "--json", *args, env={"MAESTRO_TOKEN": server.admin})
            t.equal({k["id"]: (k["executors"], k["queues"]) for k in json.loads(shown.out)}, want)
    table = t.maestro("key", "list", "--store", "sqlite:" + server.store).out
    t.contains(table, "builds,deploys", "people see it, too")
    rows = [("another role", {"role": "operator", "queues": ["builds"]}, "/queues"), ("no list", {"role": "worker", "executors": "far"}, "/executors"),
            ("an empty one", {"role": "worker", "queues": []}, "/queues"), ("no name", {"role": "worker", "queues": [""]}, "/queues"),
            ("too many", {"role": "worker", "executors": ["e%d" % i for i in range(33)]}, "/executors")]
    for name, body, pointer in rows:
        with t.row(name):
            t.equal(problem(t, server.post("/api/keys", body), 400, "invalid")["errors"][0]["pointer"], pointer)
    refused = t.maestro("key", "create", "--role", "viewer", "--queue", "builds", "--store", "sqlite:" + server.store)
    t.equal(refused.code, 2, refused.err)
    t.contains(refused.err, "--queue is for keys of the role worker alone")


@case("proves: F-113")
def a_key_that_is_limited_to_queues_gets_work_of_these_alone(t):
    server = begin(t)
    key = limited(server, "--queue", "builds")
    build, deploy = server.begin("build")["executionId"], server.begin("deploy")["executionId"]
    denied = problem(t, server.post(FAR, {"worker": "w", "want": 1, "queues": ["builds", "deploys"]}, key=key), 403, "denied")
    t.contains(denied["detail"], "'deploys'", "the queue is named")
    unknown = problem(t, server.post(FAR, {"worker": "w", "want": 1, "queues": ["nowhere"]}, key=key), 403, "denied")
    t.equal(unknown["detail"], denied["detail"].replace("deploys", "nowhere"), "whether there is such a queue is not told")
    t.until(lambda: refusals(t, server, key), "the refusal is in the ledger")
    got = lease(server, key)
    t.equal((got["queue"], got["task"]["run"]), ("builds", build), "who names no queue gets what the key is for")
    none = server.post(FAR, {"worker": "w", "want": 1, "wait_ms": 500}, key=key).json()
    t.equal(none["leases"], [], "the work of another queue waits for others")
    t.equal(lease(server, server.key("worker"), queues=["deploys"])["task"]["run"], deploy, "a key without a limit gets it")
    told = server.post(FAR, {"worker": "w", "reports": [{"token": got["token"], "output": 1}]}, key=key).json()
    t.equal([result["result"] for result in told["results"]], ["accepted"])


@case("proves: F-003 F-113")
def an_executor_that_a_key_is_not_for_is_answered_as_one_that_there_is_not(t):
    server = begin(t)
    key = limited(server, "--executor", "far")
    server.begin("other")
    answers = []
    for name in ("beside", "none"):
        answer = server.post(f"/api/executors/{name}/exchange", {"worker": "w", "want": 1}, key=key)
        body = problem(t, answer, 404, "not-found")
        kept = {name: value for name, value in answer.headers.items() if name not in ("Date", "X-Request-Id", "traceparent", "Content-Length")}
        answers.append(json.dumps([{k: v for k, v in body.items() if k not in ("instance", "requestId", "traceId", "correlationId")}, kept]).replace(name, "NAME"))
    t.equal(answers[0], answers[1], "nobody learns what there is")
    t.until(lambda: refusals(t, server, key), "the refusal is in the ledger")
    t.equal(server.post(FAR, {"worker": "w", "want": 0}, key=key).status, 200, "its own it reaches")


@case("proves: F-003 F-113 F-116")
def of_attempts_of_another_queue_a_limited_key_says_nothing_not_even_to_the_next_server(t):
    server = begin(t)
    key, beside, own = limited(server, "--queue", "builds"), limited(server, "--executor", "beside"), server.key("worker")
    run = server.begin("deploy")["executionId"]
    token = lease(server, own)["token"]

    def forge(name):
        with t.row(name):
            told = server.post(FAR, say_all(token), key=key)
            t.equal({result["result"] for result in told.json()["results"]}, {"refused"}, str(told))
            t.equal(told.json()["cancels"], [token], "it is answered as one that is not under way")
            told = server.post("/api/executors/beside/exchange", say_all(token), key=beside)
            t.equal({result["result"] for result in told.json()["results"]}, {"refused"}, str(told))
            now = server.get("/api/executions/" + run).json()
            t.equal((now["status"], [s["outputData"] for s in now["steps"]]), ("RUNNING", [None]), "it goes on")
    forge("to the server that gave it out")
    server.stop(signal.SIGKILL)
    server.start()
    forge("to the next one")
    t.equal(server.get("/api/executions/%s/logs" % run).json()["items"], [], "nor writes into its log")
    kinds = [event["event"] for event in server.get(f"/api/executions/{run}/events").json()["items"]]
    t.true("signal-received" not in kinds and "effect-intended" not in kinds, str(kinds))
    told = server.post(FAR, {"worker": "w", "reports": [{"token": token, "output": {"n": 1}}]}, key=own).json()
    t.equal([result["result"] for result in told["results"]], ["accepted"], "whose it is may")
    t.until(lambda: server.get("/api/executions/" + run).json()["status"] == "COMPLETED", "the execution is completed")


def refused_tokens(server):
    text = server.get("/metrics").body.decode()
    return int(next(line for line in text.splitlines() if line.startswith("maestro_worker_tokens_refused_total ")).split()[1])


@case("proves: F-003 F-113 F-072")
def a_token_is_not_guessed_by_another_worker_of_the_same_tenant(t):
    server = begin(t)
    key = server.key("worker")
    first, second = server.begin("build")["executionId"], server.begin("build")["executionId"]
    mine, other = lease(server, key)["token"], lease(server, key)["token"]
    t.true(mine.split(".")[-1] != other.split(".")[-1], "each has a code of its own")

    def forge(name, token):
        with t.row(name):
            before = refused_tokens(server)
            told = server.post(FAR, say_all(token), key=key)
            t.equal({result["result"] for result in told.json()["results"]}, {"refused"}, str(told))
            t.equal({result["token"] for result in told.json()["results"]}, {token}, "it is answered by what was sent")
            t.equal(told.json()["cancels"], [token], "it is answered as one that is not under way")
            t.equal(refused_tokens(server) - before, 5, "each is counted")
    numbers, code = other.rsplit(".", 1)

    def forge_all():
        forge("numbers alone, as they might be guessed", other.rsplit(".", 2)[0])
        forge("the code of another attempt", numbers + "." + mine.rsplit(".", 1)[1])
        forge("a code with one digit changed", numbers + "." + ("1" if code[0] == "0" else "0") + code[1:])
        forge("a part of the code", other[:-2])
        forge("another queue", ".".join(other.split(".")[:5] + ["1", code]))
    forge_all()
    server.stop(signal.SIGKILL)
    server.start()
    forge_all()
    for run in (first, second):
        now = server.get("/api/executions/" + run).json()
        t.equal((now["status"], [s["outputData"] for s in now["steps"]]), ("RUNNING", [None]), "it goes on")
        t.equal(server.get("/api/executions/%s/logs" % run).json()["items"], [], "and its log says nothing")
    told = server.post(FAR, {"worker": "w", "reports": [{"token": token, "output": 1} for token in (mine, other)]}, key=key).json()
    t.equal([result["result"] for result in told["results"]], ["accepted", "accepted"], "what was given out counts at the next server")
    t.equal(server.post(FAR, {"worker": "w", "reports": [{"token": "nonsense", "output": 1}]}, key=key).status, 400, "what is no token is a mistake")


@case("proves: F-113")
def what_is_no_exchange_is_refused_as_a_whole_and_says_where(t):
    server = begin(t)
    key = server.key("worker")
    run = server.begin("build")["executionId"]
    token = lease(server, key)["token"]
    rows = [("a member that there is not", {"heartbeat": [token]}, "/heartbeat"), ("a number that is a text", {"want": "1"}, "/want"),
            ("a worker without a name", {"worker": 1}, "`worker`"), ("a queue that is a number", {"queues": [1]}, "queue"),
            ("a heartbeat that is no token", {"heartbeats": [{"token": token}]}, "heartbeat"), ("a line without a text", {"logs": [{"token": token}]}, "log line"),
            ("a line with more", {"logs": [{"token": token, "text": "a", "level": "info"}]}, "log line"),
            ("a report with more", {"reports": [{"token": token, "output": 1, "cost": 2}]}, "report"),
            ("a message with two", {"messages": [{"token": token, "message": {"cost": 1, "heartbeat": True}}]}, "exactly one"),
            ("a negative wish", {"want": -1}, "/want")]
    for name, members, word in rows:
        with t.row(name):
            t.contains(problem(t, server.post(FAR, {"reports": [{"token": token, "output": 1}], "worker": "w", **members}, key=key), 400, "invalid")["detail"], word)
    t.equal(server.get("/api/executions/" + run).json()["status"], "RUNNING", "none of it was taken")


if __name__ == "__main__":
    main()
