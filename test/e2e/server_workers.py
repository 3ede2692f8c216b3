#!/usr/bin/env python3
"""Workers that pull their work from a server: 'maestro worker' over real sockets."""
import asyncio
import collections
import http.client
import json
import resource
import signal
import socket
import struct
import threading
import time

from maestro_test import case, main
from server_test import Clock, Server, problem

RUNNERS = """executors:
  far:
    kind: worker
    runners:
      far/greet: {}
"""

HERE = """executors:
  local:
    kind: process
    runners:
      far/greet: { command: ["sh", "-c", "echo '{\\"said\\": \\"hello\\"}' > \\"$MAESTRO_OUTPUT\\""] }
"""

FAR = """workflow: far
jobs:
  a:
    tasks:
      - { name: greet, run: far/greet }
"""


def begin(t):
    server = Server(t, "--runners", t.write("server-runners.yaml", RUNNERS))
    server.define(FAR)
    return server


def worker_args(t, server, key, *args):
    return ("worker", "--server", f"http://127.0.0.1:{server.port}", "--executor", "far", "--runners", t.write("runners.yaml", HERE),
            "--token-file", t.write("token-" + key[-5:], key), *args)


@case("")
def a_worker_pulls_its_work_and_reports_what_became_of_it(t):
    server = begin(t)
    run = server.begin("far")
    worker = t.start(*worker_args(t, server, server.key("worker", "*")))
    done = server.get("/api/executions/%s?wait=30s" % run["executionId"]).json()
    t.require(done["steps"], f"the step has begun: {done} {t.said(worker)} {t.said(server.process)}")
    t.equal((done["status"], done["steps"][0]["outputData"]), ("COMPLETED", {"said": "hello"}), t.said(worker))
    for _ in range(5):
        t.equal(server.begin("far", wait="30s")["status"], "COMPLETED")
    worker.send_signal(signal.SIGTERM)
    t.equal(t.end(worker).code, 0, "the code of the worker")


LACK = "waits for a worker of the executor 'far' that takes 'far/greet': none is there"


@case()
def who_waits_for_a_worker_that_is_not_there_says_so(t):
    server = begin(t)
    env = {"MAESTRO_TOKEN": server.admin, "MAESTRO_SERVER": f"http://127.0.0.1:{server.port}", "no_proxy": "127.0.0.1"}
    ran = t.start("run", "far", env=env)
    t.until(lambda: LACK in t.said(ran), "the run says what it waits for")
    t.contains(t.said(ran), "Waiting step: a.greet")
    run = t.said(ran).split()[1]
    watched = t.start("watch", run, env=env)
    t.until(lambda: LACK in t.said(watched), "so does who watches it")
    for where in (("--store", "sqlite:" + server.store), ()):
        shown = t.maestro("show", run, *where, env=env)
        t.contains(shown.out, f"waits       a.greet {LACK}", shown.err)
    t.equal([(w["step"], LACK in w["why"]) for w in t.maestro("show", run, "--json", env=env).json()["waiting"]], [("a.greet", True)])
    worker = t.start(*worker_args(t, server, server.key("worker", "*")))
    for shown in (ran, watched):
        t.equal(t.end(shown).code, 0)
    t.lacks(t.maestro("show", run, env=env).out, "none is there")
    t.equal(t.maestro("show", run, "--events", env=env).out.count("step-deferred"), 1, "recorded once")
    kept = server.begin("far", wait="30s")["executionId"]
    t.lacks(t.maestro("show", kept, "--events", env=env).out, "step-deferred", "while a worker is there")
    t.equal(worker.poll(), None)


@case()
def a_worker_that_went_is_missed_when_its_lease_would_have_run_out(t):
    server = Server(t, "--runners", t.write("server-runners.yaml", RUNNERS.replace("kind: worker", "kind: worker\n    lease: 1s")))
    server.define(FAR)
    path, key = "/api/executors/far/exchange", server.key("worker", "*")
    t.equal(server.post(path, {"worker": "w", "want": 1, "wait_ms": 1}, key=key).json()["leases"], [])
    runs = [server.begin("far")["executionId"] for _ in range(3)]
    for run in runs:
        t.until(lambda: LACK in t.maestro("show", run, "--store", "sqlite:" + server.store).out, "each of those that wait says it")
    leases = server.post(path, {"worker": "w", "want": 3, "wait_ms": 20000}, key=key).json()["leases"]
    t.true(leases, "who comes back gets them")


@case()
def a_run_of_ones_own_store_says_that_its_worker_is_not_there(t):
    store = ("--store", f"sqlite:{t.folder}/own.db")
    ran = t.start("run", t.write("far.yaml", FAR), "--runners", t.write("own-runners.yaml", RUNNERS), *store)
    t.until(lambda: LACK in t.said(ran), "the run says what it waits for")
    t.contains(t.maestro("show", "last", *store).out, LACK)
    ran.send_signal(signal.SIGINT)
    t.equal(t.end(ran).code, 75)


@case("")
def a_lease_is_good_for_one_report_and_outlives_the_server(t):
    server = begin(t)
    key = server.key("worker", "*")
    run = server.begin("far")["executionId"]
    path = "/api/executors/far/exchange"
    got = server.post(path, {"worker": "w", "want": 1, "wait_ms": 20000}, key=key)
    t.require(got.status == 200 and got.json()["leases"], f"a lease is granted: {got}")
    lease = got.json()["leases"][0]
    server.stop(signal.SIGKILL)
    server.start()
    report = {"worker": "w", "reports": [{"token": lease["token"], "output": {"n": 1}}], "want": 0}
    first = server.post(path, report, key=key)
    t.equal(first.status, 200, f"the report: {first}")
    t.until(lambda: server.get("/api/executions/" + run).json()["status"] == "COMPLETED", "the execution is completed")
    server.post(path, report, key=key)
    steps = server.get("/api/executions/" + run).json()["steps"]
    t.equal([(s["status"], s["outputData"]) for s in steps], [("COMPLETED", {"n": 1})], "the second report changes nothing")


AGAIN = """workflow: again
params: [{ name: n, type: integer, default: 1 }]
jobs:
  a:
    tasks:
      - { name: greet, run: far/greet, retries: { attempts: 2, delay: 1ms, on: [transient, lease-expired] }, compensation: { run: far/greet } }
      - { name: last, run: far/greet, retries: { attempts: 1 } }
"""


@case("proves: F-115 C-33")
def a_report_that_is_sent_again_gets_its_first_answer_from_the_next_server_too(t):
    server = Server(t, "--runners", t.write("runners.yaml", RUNNERS.replace("kind: worker", "kind: worker\n    lease: 2s")))
    server.define(AGAIN)
    key, foreign, path = server.key("worker"), server.key("worker", "other"), "/api/executors/far/exchange"

    def lease():
        got = []
        while not got:                  # it may be answered by what is to be ended first
            got = server.post(path, {"worker": "w", "want": 1, "wait_ms": 20000}, key=key).json()["leases"]
        return got[0]

    def tell(token, said, by=key):
        told = server.post(path, {"worker": "w", "reports": [{"token": token, **said}]}, key=by).json()["results"]
        return [(result["of"], result["result"]) for result in told]
    run = server.begin("again")["executionId"]
    failed, done = {"failure": {"cause": "transient", "message": "busy"}}, {"output": {"n": 1}}
    tried = lease()
    t.equal(tell(tried["token"], failed), [("report", "accepted")])
    lost = lease()
    t.equal((tried["task"]["attempt"], lost["task"]["attempt"]), (1, 2))
    t.until(lambda: server.get("/api/executions/" + run).json()["status"] == "FAILED", "nobody was heard of until its lease was over")
    t.equal(server.post(f"/api/executions/{run}/resolve", {"decision": "retry", "reason": "once more"}).status, 200)
    anew = lease()
    t.equal(anew["task"]["attempt"], 1, "a step that is run anew counts from 1")
    t.equal(tell(anew["token"], done), [("report", "accepted")])
    last = lease()
    t.equal(tell(last["token"], {"failure": {"cause": "permanent", "message": "no"}}), [("report", "accepted")])
    t.until(lambda: server.get("/api/executions/" + run).json()["status"] == "FAILED", "the last one failed")
    t.equal(server.post(f"/api/executions/{run}/compensate", {"reason": "undo it"}).status, 200)
    undo = lease()
    t.equal(tell(undo["token"], {"output": None}), [("report", "accepted")])
    before = server.get("/api/executions/" + run).json()
    for when in ("by the same server", "by the next one", "by the one after that"):
        for name, token, said, want in (("a failure that was tried again", tried["token"], failed, "accepted"),
                                        ("of a lease that ran out", lost["token"], done, "refused"),
                                        ("a success", anew["token"], done, "accepted"),
                                        ("another one of the same token", anew["token"], {"output": {"n": 666}}, "accepted"),
                                        ("a failure that ended the step", last["token"], failed, "accepted"),
                                        ("a compensation", undo["token"], {"output": None}, "accepted"),
                                        ("of a token that nobody was given", anew["token"][:-1] + "x", done, "refused")):
            with t.row(f"{name}, {when}"):
                t.equal(tell(token, said), [("report", want)])
                t.equal(tell(token, said, by=foreign), [("report", "refused")], "whoever it is not for learns nothing")
        now = server.get("/api/executions/" + run).json()
        t.equal((now["status"], now["steps"]), (before["status"], before["steps"]), "nothing is changed by it")
        server.stop(signal.SIGKILL)
        server.start()


@case("proves: F-113")
def exchanges_need_the_role_of_a_worker_and_an_executor_that_there_is(t):
    server = begin(t)
    path = "/api/executors/far/exchange"
    for role in ("viewer", "operator", "author"):
        with t.row(role):
            t.equal(server.post(path, {"want": 0}, key=server.key(role)).status, 403)
    t.equal(server.post(path, {"want": 0}, key=server.key("worker")).status, 200)
    t.equal(server.post("/api/executors/none/exchange", {"want": 0}).status, 404)
    t.equal(server.post(path, {"reports": "x"}).status, 400)
    t.equal(server.get("/api/executions", key=server.key("worker")).status, 403, "a worker looks at nothing")
    of_another = server.post(path, {"worker": "o", "want": 1, "wait_ms": 200}, key=server.key("worker", "other"))
    server.begin("far")
    t.equal(of_another.json()["leases"], [], "nothing of another tenant is given out")
    again = server.post(path, {"worker": "o", "want": 1, "wait_ms": 500}, key=server.key("worker", "other"))
    t.equal(again.json()["leases"], [], "also where there is work")


@case("proves: F-113 F-109")
def a_worker_of_one_tenant_says_nothing_about_the_attempts_of_another(t):
    server = begin(t)
    path = "/api/executors/far/exchange"
    own, foreign = server.key("worker"), server.key("worker", "other")
    run = server.begin("far")["executionId"]
    lease = server.post(path, {"worker": "w", "want": 1, "wait_ms": 20000}, key=own).json()["leases"][0]

    def forge(name):
        with t.row(name):
            told = server.post(path, {"worker": "w", "want": 0, "reports": [{"token": lease["token"], "output": {"n": 666}}],
                                      "heartbeats": [lease["token"]], "logs": [{"token": lease["token"], "text": "forged"}],
                                      "messages": [{"token": lease["token"], "message": {"effect": {"a": 1}}}]}, key=foreign)
            t.equal({result["result"] for result in told.json()["results"]}, {"refused"}, str(told))
            now = server.get("/api/executions/" + run).json()
            t.equal((now["status"], [s["outputData"] for s in now["steps"]]), ("RUNNING", [None]), "it goes on")
    forge("to the server that gave it out")
    server.stop(signal.SIGKILL)
    server.start()
    forge("to the next one, which knows it by the ledger alone")
    t.equal(server.get("/api/executions/%s/logs" % run).json()["items"], [], "nor writes into its log")
    told = server.post(path, {"worker": "w", "want": 0, "reports": [{"token": lease["token"], "output": {"n": 1}}]}, key=own).json()
    t.equal([result["result"] for result in told["results"]], ["accepted"], "whose it is may")
    t.until(lambda: server.get("/api/executions/" + run).json()["status"] == "COMPLETED", "the execution is completed")


BESIDE = RUNNERS + """  beside:
    kind: worker
    runners:
      beside/other: {}
"""

HERE_TOO = """workflow: here
jobs:
  a:
    tasks:
      - { name: wait, run: shell, args: ["sleep", "3"] }
"""


FOREIGN = RUNNERS + """      far/other: {}
  beside:
    kind: worker
    runners:
      beside/other: {}
"""

FOREIGN_TASKS = """workflow: %s
jobs:
  a: { tasks: [{ name: one, run: %s, timeout: 1h }] }
"""


@case("proves: F-109 F-113")
def a_heartbeat_of_what_is_not_ones_own_has_one_answer_whatever_it_is(t):
    server = Server(t, "--runners", t.write("runners.yaml", FOREIGN))
    for name, runner in (("own", "far/greet"), ("queued", "far/other"), ("beside", "beside/other")):
        server.define(FOREIGN_TASKS % (name, runner))
    server.define("tenant: other\n" + FOREIGN_TASKS % ("theirs", "far/greet"), tenant="other")
    key, everybody = server.key("worker", "default", "--queue", "far/greet"), server.key("worker", "*")

    def lease(executor="far", by=everybody):
        return server.post(f"/api/executors/{executor}/exchange", {"worker": "w", "want": 1, "wait_ms": 20000}, key=by).json()["leases"][0]["token"]

    def beat(token, by=key, **more):
        told = server.post("/api/executors/far/exchange", {"worker": "w", "heartbeats": [token], **more}, key=by)
        t.equal(told.status, 200, str(told))
        return told.json()
    server.begin("own")
    own = lease()
    over = server.begin("own")
    ended = lease()
    t.equal(beat(own, reports=[{"token": ended, "output": 1}])["cancels"], [], "its own goes on")
    server.begin("queued")
    queued = lease()
    server.begin("beside")
    beside = lease("beside")
    run = server.post("/api/executions", {"workflowId": "theirs", "namespace": "other"}).json()["executionId"]
    theirs = lease()
    rows = (("made up", own[:-1] + ("0" if own[-1] != "0" else "1")), ("a number alone", "1.2.3.4.5"), ("of an attempt that ended", ended), ("of another queue", queued),
            ("of another executor", beside), ("of another tenant", theirs))
    for when in ("by the server that gave them out", "by the next one"):
        for name, token in rows:
            with t.row(f"{name}, {when}"):
                t.until(lambda token=token: beat(token) == {"results": [], "leases": [], "cancels": [token]}, "it is told to end what it has")
                spoken = beat(own, messages=[{"token": token, "message": {"heartbeat": True}}])
                t.equal(spoken, {"results": [], "leases": [], "cancels": [token]}, "the same by a message")
                t.equal(beat(token), {"results": [], "leases": [], "cancels": [token]}, "and every time")
        t.equal((beat(own)["cancels"], beat(theirs, by=server.key("worker", "other"))["cancels"]), ([], []), "whose it is, goes on")
        t.equal(server.get("/api/executions/" + run).json()["status"], "RUNNING")
        t.equal(server.get("/api/executions/" + over["executionId"]).json()["status"], "COMPLETED")
        server.stop(signal.SIGKILL)
        server.start()


@case("")
def a_report_says_what_became_of_the_attempt_or_is_none(t):
    server = begin(t)
    run = server.begin("far")["executionId"]
    key, path = server.key("worker"), "/api/executors/far/exchange"
    token = server.post(path, {"worker": "w", "want": 1, "wait_ms": 20000}, key=key).json()["leases"][0]["token"]
    for name, members in (("nothing", {}), ("a name that is none", {"outptu": 1}), ("both", {"output": 1, "failure": {"cause": "transient"}}),
                          ("a failure that is a text", {"failure": "it broke"}), ("no failure", {"failure": None})):
        with t.row(name):
            t.equal(server.post(path, {"worker": "w", "reports": [{"token": token, **members}]}, key=key).status, 400)
    t.equal(server.get("/api/executions/" + run).json()["status"], "RUNNING", "none of it was taken")
    told = server.post(path, {"worker": "w", "reports": [{"token": token, "output": None}]}, key=key).json()
    t.equal([result["result"] for result in told["results"]], ["accepted"], "null is an output")


@case("")
def what_is_wrong_with_an_exchange_is_named_and_nothing_of_it_is_taken(t):
    server = begin(t)
    run = server.begin("far")["executionId"]
    key, path = server.key("worker"), "/api/executors/far/exchange"
    token = server.post(path, {"worker": "w", "want": 1, "wait_ms": 20000}, key=key).json()["leases"][0]["token"]
    report = {"reports": [{"token": token, "output": 1}]}
    for pointer, body in (
            ("", "null"), ("", "[]"), ("", '"x"'), ("/worker", {"worker": 5}), ("/worker", {"worker": "x" * 101}), ("/worker", {"worker": None}),
            ("/want", {"want": "x"}), ("/want", {"want": -1}), ("/want", {"want": 1.5}), ("/want", '{"want": 1e30}'), ("/wait_ms", {"wait_ms": [1]}),
            ("/queues", {"queues": "far/greet"}), ("/queues/1", {"queues": ["far/greet", 1]}), ("/heartbeat", {"heartbeat": [token]}),
            ("/reports/0", {"reports": [5]}), ("/reports/0", {"reports": [{"output": 1}]}), ("/reports/0", {"reports": [{"token": token}]}),
            ("/reports/0/moon", {"reports": [{"token": token, "output": 1, "moon": 1}]}),
            ("/reports/0/failure", {"reports": [{"token": token, "failure": "it broke"}]}),
            ("/reports/1/failure/cause", {"reports": [{"token": token, "output": 1}, {"token": token, "failure": {"cause": "moon"}}]}),
            ("/reports/0/failure/cause", {"reports": [{"token": token, "failure": {"cause": ["transient"]}}]}),
            ("/reports/0/failure/message", {"reports": [{"token": token, "failure": {"message": {"text": "it broke"}}}]}),
            ("/reports/0/failure/a~1b", {"reports": [{"token": token, "failure": {"cause": "transient", "a/b": 1}}]}),
            ("/reports/0/failure/" + "\u00fc" * 30, {"reports": [{"token": token, "failure": {"\u00fc" * 5000: 1}}]}),
            ("/messages/0", {"messages": [{"token": "x", "message": {"cost": 1}}]}), ("/messages/0", {"messages": [{"token": token}]}),
            ("/messages/1", {"messages": [{"token": token, "message": {"cost": 1}}, {"token": token, "message": {"cost": -1}}]}),
            ("/logs/0", {"logs": [5]}), ("/logs/0", {"logs": [{"token": token, "text": 5}]}),
            ("/logs/0", {"logs": [{"token": token, "text": "x", "is_error": 1}]}), ("/heartbeats", {"heartbeats": {}}),
            ("/a~1b", {"a/b": 1}), ("/heartbeats/0", {"heartbeats": [None, 5]}), ("/heartbeats/1", {"heartbeats": [token, "x"]})):
        with t.row(f"{pointer} {str(body)[:40]}"):
            sent = {**report, **body} if isinstance(body, dict) else body
            answer = server.call("POST", path, sent, key=key, headers={"Content-Type": "application/json"})
            told = problem(t, answer, 400, "invalid")
            t.equal([error["pointer"] for error in told.get("errors", [])], [pointer] if pointer else [])
    for pointer, body in (("/heartbeats", {"heartbeats": [token] * 1025}),
                          ("/reports/0/failure/message", {"reports": [{"token": token, "failure": {"message": "x" * 16385}}]})):
        with t.row("too long: " + pointer):
            told = server.post(path, {**report, **body}, key=key)
            t.equal((told.status, [error["pointer"] for error in told.json()["errors"]]), (422, [pointer]), str(told))
    now = server.get("/api/executions/" + run).json()
    t.equal((now["status"], [s["outputData"] for s in now["steps"]]), ("RUNNING", [None]), "none of the reports was taken")
    told = server.post(path, {"worker": "x" * 100, "want": 0, "wait_ms": 10 ** 18, **report}, key=key).json()
    t.equal([result["result"] for result in told["results"]], ["accepted"], "what is right is")


@case("proves: F-007 F-113 E-023")
def a_worker_says_nothing_about_what_another_executor_has(t):
    server = Server(t, "--runners", t.write("server-runners.yaml", BESIDE))
    server.define(FAR)
    server.define(HERE_TOO)
    own, foreign = server.key("worker"), server.key("worker", "other")
    run = server.begin("far")["executionId"]
    path = "/api/executors/far/exchange"
    token = server.post(path, {"worker": "w", "want": 1, "wait_ms": 20000}, key=own).json()["leases"][0]["token"]

    def forge(tokens, key):
        told = server.post("/api/executors/beside/exchange", {"worker": "x", "heartbeats": tokens, "reports": [
            {"token": token, "output": "forged"} for token in tokens], "messages": [
            {"token": token, "message": {"effect": 1}} for token in tokens]}, key=key)
        t.equal({(result["of"], result["result"]) for result in told.json()["results"]}, {("report", "refused"), ("effect", "refused")}, str(told))
    for name, key in (("of another tenant", foreign), ("of the same", own)):
        with t.row(name):
            forge([token], key)
    told = server.post(path, {"worker": "w", "reports": [{"token": token, "output": {"n": 1}}]}, key=own).json()
    t.equal([result["result"] for result in told["results"]], ["accepted"], "who has it may")
    run_no, step, attempt, holder, serial = (int(part) for part in token.split(".")[:5])
    queue, code = token.split(".")[5:]
    here = server.begin("here")["executionId"]
    t.until(lambda: server.get("/api/executions/" + here).json()["steps"][0]["state"] == "running", "a program runs")
    for slot in range(8):
        guessed = [f"{run_no + 1}.{step}.{attempt}.{(holder >> 16 << 16) + slot}.{serial + i}{end}" for i in range(4) for end in ("", f".{queue}.{code}")]
        for key in (foreign, own):
            forge(guessed, key)
    for which, outputs in ((run, [{"n": 1}]), (here, [None])):
        done = server.get(f"/api/executions/{which}?wait=20s").json()
        t.equal((done["status"], [s["outputData"] for s in done["steps"]]), ("COMPLETED", outputs), "it goes on as if nothing had been")


CAREFUL = """workflow: careful
jobs:
  a:
    tasks:
      - { name: act, run: far/greet, idempotency: effect-recorded, compensation: { run: noop }, input: { password: "${secrets.password}" } }
"""


@case("proves: F-116")
def what_a_worker_says_while_it_works_counts_at_the_next_server_too(t):
    server = Server(t, "--runners", t.write("server-runners.yaml", RUNNERS.replace("kind: worker", "kind: worker\n    lease: 2s")))
    server.define(CAREFUL)
    t.equal(t.maestro("secret", "set", "password", "--store", "sqlite:" + server.store, stdin="correct horse battery").code, 0)
    key, foreign = server.key("worker"), server.key("worker", "other")
    run = server.begin("careful")["executionId"]

    def tell(key=key, **members):
        told = server.post("/api/executors/far/exchange", {"worker": "w", **members}, key=key).json()
        return told if "want" in members else [result["result"] for result in told["results"]]

    def say(token, *messages, key=key):
        return tell(key, messages=[{"token": token, "message": message} for message in messages])
    lease = tell(want=1, wait_ms=20000)["leases"][0]
    token = lease["token"]
    t.equal(lease["effect_recorded"], True)
    t.equal(say(token, {"effect": {"n": 0}}, {"cost": 0.5}), ["accepted"])
    server.stop(signal.SIGKILL)
    server.start()
    t.equal(say(token, {"effect": 1}, {"signal": "forged"}, {"cost": 5}, key=foreign), ["refused"])
    t.equal(say(token, {"effect": {"n": 1}}, {"cost": 0.25}, {"signal": "reached"}, {"effectCommitted": True}), ["accepted", "accepted"])
    tell(logs=[{"token": token, "text": "with correct horse battery"}])
    tell(foreign, logs=[{"token": token, "text": "forged"}])
    t.equal(tell(reports=[{"token": token, "output": {"n": 1}}]), ["accepted"])
    events = server.get(f"/api/executions/{run}/events?limit=500").json()["items"]
    kinds = [event["event"] for event in events]
    t.equal([kinds.count(kind) for kind in ("effect-intended", "effect-committed", "cost-reported", "signal-received")], [2, 1, 2, 1], str(kinds))
    t.equal([line["text"] for line in server.get(f"/api/executions/{run}/logs").json()["items"]], ["with ***"])
    t.equal(t.maestro("replay", "--verify", run, "--store", "sqlite:" + server.store).code, 0)
    with t.row("too late it is refused at once"):
        server.begin("careful")
        token = tell(want=1, wait_ms=20000)["leases"][0]["token"]
        t.equal(say(token, {"effectCommitted": True}), ["refused"], "it has announced none")
        t.until(lambda: server.get("/api/executions?limit=1").json()["items"][0]["status"] != "RUNNING", "the lease runs out")
        t.equal(say(token, {"effect": 1}), ["refused"])


@case("proves: F-116")
def a_worker_that_is_alive_with_what_is_to_end_is_told_so(t):
    server = Server(t, "--runners", t.write("server-runners.yaml", RUNNERS.replace("kind: worker", "kind: worker\n    lease: 2s")))
    server.define(FAR)
    key = server.key("worker")

    def tell(**members):
        return server.post("/api/executors/far/exchange", {"worker": "w", **members}, key=key).json()

    def status(run):
        return server.get("/api/executions/" + run).json()["status"]
    for restarts in (False, True):
        with t.row("cancelled after a restart" if restarts else "its lease ran out"):
            run = server.begin("far")["executionId"]
            token = tell(want=1, wait_ms=20000)["leases"][0]["token"]
            t.equal(tell(heartbeats=[token])["cancels"], [])
            if restarts:
                server.stop(signal.SIGKILL)
                server.start()
                t.equal(tell(heartbeats=[token])["cancels"], [])
                server.post(f"/api/executions/{run}/cancel", {"reason": "enough"})
            else:
                t.until(lambda run=run: status(run) == "FAILED", "its lease runs out")
            t.until(lambda token=token: tell(heartbeats=[token])["cancels"] == [token], "it is told")
            told = tell(reports=[{"token": token, "failure": {"cause": "cancelled"}}])
            t.equal([result["result"] for result in told["results"]], ["accepted" if restarts else "refused"])
            t.until(lambda run=run: status(run) == ("CANCELLED" if restarts else "FAILED"), "the run is over")


def waits(t, server, key, name="gone", half=False):
    """A connection on which a worker waits for work; `half`: its side is closed."""
    client = socket.create_connection(("127.0.0.1", server.port))
    body = json.dumps({"worker": name, "want": 4, "wait_ms": 60000}).encode()
    before = waiting(server)
    client.sendall(b"POST /api/executors/far/exchange HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer "
                   + key.encode() + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    if half:
        client.shutdown(socket.SHUT_WR)
    else:
        t.until(lambda: waiting(server) == before + 1, "it waits")
    return client


def waiting(server):
    text = server.get("/metrics").body.decode()
    return int(next(line for line in text.splitlines() if line.startswith("maestro_worker_exchanges_waiting ")).split()[1])


def answer_of(client):
    """Its status and body; None where the server has hung up without one."""
    answer = http.client.HTTPResponse(client)
    try:
        answer.begin()
        return answer.status, json.loads(answer.read())
    except http.client.RemoteDisconnected:
        return None


@case("proves: F-072 F-086")
def a_worker_that_is_gone_swallows_no_lease(t):
    server = begin(t)
    key, path = server.key("worker", "*"), "/api/executors/far/exchange"

    def another(name):
        run = server.begin("far")["executionId"]
        got = server.post(path, {"worker": name, "want": 1, "wait_ms": 20000}, key=key).json()["leases"]
        t.equal(len(got), 1, "the lease is for one that is there")
        server.post(path, {"worker": name, "reports": [{"token": got[0]["token"], "output": 1}]}, key=key)
        t.equal(server.get(f"/api/executions/{run}?wait=20s").json()["status"], "COMPLETED")
    for name in ("closed", "reset"):
        with t.row(name):
            client = waits(t, server, key)
            if name == "reset":
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
            t.until(lambda: waiting(server) == 0, "the server notices")
            another("live-" + name)
    with t.row("work comes before the server can have noticed"):
        for i in range(20):
            waits(t, server, key).close()
            another(f"next-{i}")
    with t.row("many at once"):
        clients = [waits(t, server, key, f"gone-{i}") for i in range(50)]
        for client in clients:
            client.close()
        another("after-many")


@case("")
def who_has_closed_its_side_gets_no_lease_and_is_not_kept_waiting(t):
    server = begin(t)
    key = server.key("worker", "*")
    for name, has_work in (("there is none", False), ("there is work", True)):
        with t.row(name):
            run = server.begin("far")["executionId"] if has_work else None
            told = answer_of(waits(t, server, key, half=True))      # without one it asks again
            t.true(not told or told[0] == 503 or (told[0], told[1]["leases"]) == (200, []), str(told))
            t.equal(waiting(server), 0, "it does not wait")
    got = server.post("/api/executors/far/exchange", {"worker": "live", "want": 1, "wait_ms": 20000}, key=key).json()["leases"]
    t.equal([lease["task"]["run"] for lease in got], [run], "another one gets it")


@case("proves: F-072 F-087")
def workers_are_replaced_one_by_one_and_no_run_fails(t):
    server = begin(t)
    key = server.key("worker", "*")
    worker = t.start(*worker_args(t, server, key, "--name", "w"))
    t.until(lambda: waiting(server) == 1, "the first waits")
    for i, how in enumerate((signal.SIGTERM, signal.SIGKILL, signal.SIGINT) * 3):
        with t.row(f"{i} {how.name}"):
            after = t.start(*worker_args(t, server, key, "--name", f"w{i}"))
            t.until(lambda: waiting(server) == 2, "the next one waits beside it")
            worker.send_signal(how)
            if how == signal.SIGKILL:           # it is idle; one that had work would lose it
                t.end(worker)
            for run in [server.begin("far")["executionId"] for _ in range(8)]:
                t.equal(server.get(f"/api/executions/{run}?wait=20s").json()["status"], "COMPLETED", t.said(worker) + t.said(after))
            if how != signal.SIGKILL:
                t.equal(t.end(worker).code, 0, "the code of a worker that was stopped")
            worker = after
            t.until(lambda: waiting(server) == 1, "one is left")


NAP = "workflow: nap\njobs: { a: { tasks: [{ run: sleep, input: { duration: 1s } }] } }\n"


@case("proves: F-072 F-086 F-116")
def a_clock_that_is_set_takes_no_lease_and_keeps_nobody_waiting(t):
    clock = Clock(t)
    server = Server(t, "--runners", t.write("server-runners.yaml", RUNNERS), env=clock.env)
    for text in (FAR, NAP):
        server.define(text)
    key, path = server.key("worker", "*"), "/api/executors/far/exchange"
    for by_s in (3600, 86400 * 365, -3600, 0):
        with t.row(f"by {by_s} s"):
            run = server.begin("far")["executionId"]
            lease = server.post(path, {"worker": "w", "want": 1, "wait_ms": 20000}, key=key).json()["leases"][0]
            nap = server.begin("nap")["executionId"]
            clock.put(by_s)
            beat = server.post(path, {"worker": "w", "heartbeats": [lease["token"]], "want": 1, "wait_ms": 2000}, key=key).json()
            t.equal((beat["cancels"], beat["leases"]), ([], []), "it is under way, and the wait for more is over")
            said = server.post(path, {"worker": "w", "reports": [{"token": lease["token"], "output": {}}]}, key=key).json()
            t.equal(said["results"][0]["result"], "accepted")
            for each in (run, nap, server.begin("nap")["executionId"]):
                t.equal(server.get(f"/api/executions/{each}?wait=30s").json()["state"], "succeeded")
    t.lacks(t.maestro("ledger", "show", "--store", "sqlite:" + server.store).out, "lease-expired")


@case("proves: F-086 F-116")
def a_server_that_was_stopped_for_longer_than_a_lease_takes_none_of_it(t):
    server = Server(t, "--runners", t.write("server-runners.yaml", RUNNERS.replace("kind: worker", "kind: worker\n    lease: 3s")))
    server.define(FAR.replace("far/greet }", "far/greet, retries: { attempts: 1 } }"))
    slow = HERE.replace("echo '", f"until test -e {t.folder}/go; do sleep 0.1; done; echo '")
    worker = t.start("worker", "--server", f"http://127.0.0.1:{server.port}", "--executor", "far", "--runners", t.write("slow.yaml", slow),
                     env={"MAESTRO_TOKEN": server.key("worker", "*")})
    run = server.begin("far")["executionId"]
    t.until(lambda: server.get("/api/executions/" + run).json()["steps"], "the worker has it")
    server.process.send_signal(signal.SIGSTOP)
    time.sleep(7)                                   # a term, and what the executor grants beyond it
    server.process.send_signal(signal.SIGCONT)
    t.equal(server.get(f"/api/executions/{run}?wait=2s").json()["state"], "running", t.said(worker))
    (t.folder / "go").touch()
    t.equal(server.get(f"/api/executions/{run}?wait=30s").json()["state"], "succeeded", t.said(worker))


@case("proves: F-087 F-116")
def a_server_that_ends_in_order_leaves_what_workers_have_to_the_next(t):
    server = Server(t, "--runners", t.write("server-runners.yaml", RUNNERS.replace("kind: worker", "kind: worker\n    lease: 1s")))
    server.define(FAR)
    server.define(HERE_TOO)                     # a program of three seconds: the server waits for it, longer than a lease lasts
    key, path = server.key("worker", "*"), "/api/executors/far/exchange"
    for restarts in ("with nothing else", "while a program of its own ends"):
        with t.row(restarts):
            run = server.begin("far")["executionId"]
            token = server.post(path, {"worker": "w", "want": 1, "wait_ms": 20000}, key=key).json()["leases"][0]["token"]
            here = server.begin("here")["executionId"] if restarts.startswith("while") else None
            if here:
                t.until(lambda: server.get("/api/executions/" + here).json()["steps"][0]["state"] == "running", "the program runs")
            idle = waits(t, server, key, "idle")
            t.equal(server.post(path, {"worker": "w", "heartbeats": [token]}, key=key).json()["cancels"], [])
            t.equal(server.stop().code, 0, "the code of the server")
            status, body = answer_of(idle)
            t.equal((status, body["leases"]), (200, []), "who waits for work is answered")
            server.start()
            told = server.post(path, {"worker": "w", "reports": [{"token": token, "output": {"n": 1}}]}, key=key).json()
            t.equal([result["result"] for result in told["results"]], ["accepted"])
            for which in [run] + ([here] if here else []):
                done = server.get(f"/api/executions/{which}?wait=20s").json()
                t.equal(done["status"], "COMPLETED", str(done["steps"]))
            kinds = [event["event"] for event in server.get(f"/api/executions/{run}/events?limit=500").json()["items"]]
            t.equal(kinds.count("lease-expired") + kinds.count("attempt-failed"), 0, str(kinds))


SECRET = """workflow: guarded
jobs:
  a:
    tasks:
      - { name: first, log: "hello" }
  b:
    needs: a
    tasks:
      - { name: greet, run: far/greet, input: { password: "${secrets.password}" } }
"""


@case("")
def a_secret_that_a_worker_echoes_is_taken_out_by_the_next_server_too(t):
    server = begin(t)
    server.define(SECRET)
    t.equal(t.maestro("secret", "set", "password", "--store", "sqlite:" + server.store, stdin="correct horse battery").code, 0)
    key = server.key("worker")
    path = "/api/executors/far/exchange"
    for restarts in (False, True):
        with t.row("after a restart" if restarts else "at once"):
            run = server.begin("guarded")["executionId"]
            lease = server.post(path, {"worker": "w", "want": 1, "wait_ms": 20000}, key=key).json()["leases"][0]
            t.equal(lease["task"]["input"], {"password": "correct horse battery"})
            if restarts:
                server.stop(signal.SIGKILL)
                server.start()
            server.post(path, {"worker": "w", "reports": [{"token": lease["token"], "output": {"echo": "a correct horse battery"}}]}, key=key)
            done = server.get(f"/api/executions/{run}?wait=20s").json()
            t.equal((done["status"], done["steps"][-1]["outputData"]), ("COMPLETED", {"echo": "a ***"}))


class Gate:
    """A service that holds every request until its key, or everybody, is let through."""

    def __init__(self):
        self.asked = collections.Counter()      # by idempotency key: how often the work was asked for
        self.held = {}                          # by key: those that wait now
        self.is_open = False
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()
        threading.Thread(target=self.run, args=(ready,), daemon=True).start()
        ready.wait()

    def run(self, ready):
        async def begin():
            server = await asyncio.start_server(self.serve, "127.0.0.1", 0, backlog=1024)
            self.port = server.sockets[0].getsockname()[1]
            ready.set()
        self.loop.run_until_complete(begin())
        self.loop.run_forever()

    async def serve(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
                await reader.readexactly(int(fields["content-length"]))
                await self.hold(fields["idempotency-key"], reader)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def hold(self, key, reader):
        self.asked[key] += 1
        if self.is_open:
            return
        permit = self.held[key] = asyncio.Event()
        waiting = [asyncio.ensure_future(permit.wait()), asyncio.ensure_future(reader.read(1))]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if waiting[1].done():
                raise ConnectionError("whoever asked is gone")
        finally:
            if self.held.get(key) is permit:
                del self.held[key]
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    def let_through(self, keys):
        self.loop.call_soon_threadsafe(lambda: [self.held[key].set() for key in keys])

    def open(self):
        def all_of_them():
            self.is_open = True
            for permit in self.held.values():
                permit.set()
        self.loop.call_soon_threadsafe(all_of_them)


RUN_COUNT, JOB_COUNT, WORKER_COUNT = 20, 50, 4
MANY = "workflow: many\nconfig: { max_concurrency: 100 }\njobs:\n" + "".join(
    "  j%d: { tasks: [{ name: ask, run: far/greet, timeout: 1h, retries: { attempts: 2, delay: 1ms } }] }\n" % i
    for i in range(JOB_COUNT))


@case("proves: F-072 F-086 F-087 F-116")
def half_of_the_workers_of_a_thousand_leases_are_killed_and_nothing_is_lost_or_repeated(t):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    gate, total = Gate(), RUN_COUNT * JOB_COUNT
    server = Server(t, "--runners", t.write("server-runners.yaml", RUNNERS.replace("kind: worker", "kind: worker\n    lease: 15s")))
    server.define(MANY)
    token = t.write("many-token", server.key("worker", "*"))
    here = t.write("many-runners.yaml", """executors:
  near:
    kind: http
    capacity: %d
    runners:
      far/greet: { url: "http://127.0.0.1:%d/" }
""" % (total // WORKER_COUNT, gate.port))
    workers = [t.start("worker", "--server", f"http://127.0.0.1:{server.port}", "--executor", "far", "--runners", here, "--token-file",
                       token, "--capacity", str(total // WORKER_COUNT), env={"no_proxy": "127.0.0.1"})
               for _ in range(WORKER_COUNT)]
    runs = [server.begin("many")["executionId"] for _ in range(RUN_COUNT)]
    t.until(lambda: len(gate.held) == total, f"every one of {total} leases is held at the same time")

    def completed():
        return sum(step["status"] == "COMPLETED" for run in runs for step in server.get("/api/executions/" + run).json()["steps"])
    early = sorted(gate.held)[:total // 5]
    gate.let_through(early)
    t.until(lambda: completed() == len(early), "those that were let through are recorded")
    for worker in workers[:WORKER_COUNT // 2]:
        worker.kill()
        t.end(worker)
    gate.open()
    for run in runs:
        t.until(lambda: server.get("/api/executions/" + run).json()["status"] != "RUNNING", "the execution ends")
    t.equal(completed(), total, "nothing is lost")
    t.equal(len(gate.asked), total, "every step has a key of its own")
    t.equal({gate.asked[name] for name in early}, {1}, "nothing that was recorded is asked for again")
    again = sum(count > 1 for count in gate.asked.values())
    t.true(0 < again <= total - len(early), f"what the killed had is asked for again: {again}")
    for run in runs:
        events, path = collections.Counter(), "/api/executions/%s/events?limit=500" % run
        while path:
            page = server.get(path).json()
            events.update(event.get("step") for event in page["items"] if event["event"] == "step-succeeded")
            path = page["_links"].get("next", {}).get("href")
        t.equal((len(events), set(events.values())), (JOB_COUNT, {1}), "each step succeeded once")
    for worker in workers[WORKER_COUNT // 2:]:
        worker.send_signal(signal.SIGTERM)
        t.equal(t.end(worker).code, 0, "the code of a worker that was not killed")


if __name__ == "__main__":
    main()
