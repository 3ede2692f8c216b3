#!/usr/bin/env python3
"""Services: an http executor, a service and a server over real sockets. They answer, or answer 202 and call back later."""
import json
import signal
import threading
import time

from maestro_test import case, main
from server_test import Server, Service, call_back, problem

WORKFLOW = """workflow: later
jobs:
  a:
    tasks:
      - { name: ask, run: far/ask, %s }
"""


EFFECT = "idempotency: effect-recorded, compensation: { run: noop }, retries: { attempts: 3, delay: 1ms, on: [transient, timeout, lease-expired] }"


def begin(t, terms="timeout: 1h", lease="30s", calls_back=True, settings="{}"):
    service = Service(t)
    runners = """executors:
  far:
    kind: http
    %s
    runners:
      far/ask: { url: "http://127.0.0.1:%d/ask", settings: %s }
""" % (f"callback: http://maestro.example\n    lease: {lease}" if calls_back else "", service.http.server_port, settings)
    server = Server(t, "--runners", t.write("runners.yaml", runners), env={"no_proxy": "127.0.0.1"})
    server.define(WORKFLOW % terms)
    return server, service


def status_of(server, run):
    return server.get("/api/executions/" + run["executionId"]).json()["status"]


@case("")
def a_service_answers_202_and_completes_the_step_by_calling_back(t):
    server, service = begin(t)
    run = server.begin("later")
    document = service.document()
    t.equal(status_of(server, run), "RUNNING", "a 202 ends nothing")
    t.equal(call_back(server, document, {"output": {"n": 7}}).json(), {"accepted": True})
    done = server.get("/api/executions/%s?wait=30s" % run["executionId"]).json()
    t.equal((done["status"], done["steps"][0]["outputData"]), ("COMPLETED", {"n": 7}))
    again = call_back(server, document, {"output": {"n": 8}})
    t.equal(again.status, 404, f"the token ended with its attempt: {again}")
    steps = server.get("/api/executions/" + run["executionId"]).json()["steps"]
    t.equal([s["outputData"] for s in steps], [{"n": 7}], "the second report changes nothing")


@case("proves: F-100")
def what_is_called_back_is_counted_as_a_request_and_as_no_exchange_of_a_worker(t):
    server, service = begin(t)
    for _ in range(3):
        server.begin("later")
        document = service.document()
        t.equal([call_back(server, document, {"output": {}}).status for _ in range(2)], [200, 404])
    counts = dict(line.rsplit(" ", 1) for line in server.get("/metrics").body.decode().splitlines() if not line.startswith("#"))
    for name, count in (('maestro_http_requests_total{route="callback",status="2xx"}', 3), ('maestro_http_requests_total{route="callback",status="4xx"}', 3),
                        ("maestro_leases_granted_total", 3), ('maestro_worker_exchanges_total{outcome="answered"}', 0),
                        ('maestro_worker_exchanges_total{outcome="refused"}', 0), ("maestro_worker_exchanges_waiting", 0)):
        with t.row(name):
            t.equal(float(counts[name]), count)


@case("")
def a_service_may_call_back_before_it_has_answered(t):
    server, service = begin(t)
    answers = []
    service.before = lambda document: answers.append(call_back(server_of[0], document, {"output": "early"}))
    server_of = [Server.__new__(Server)]
    server_of[0].__dict__.update(server.__dict__, connection=None)      # the service has a connection of its own
    run = server.begin("later")
    done = server.get("/api/executions/%s?wait=30s" % run["executionId"]).json()
    t.equal((done["status"], done["steps"][0]["outputData"]), ("COMPLETED", "early"))
    service.document()
    t.equal([answer.status for answer in answers], [200])


@case("")
def a_failure_that_is_called_back_is_tried_again_with_another_token(t):
    server, service = begin(t, "timeout: 1h, retries: { attempts: 2, delay: 1ms, on: [transient] }")
    run = server.begin("later")
    first = service.document()
    t.equal(call_back(server, first, {"failure": {"cause": "transient", "message": "busy"}}).status, 200)
    second = service.document()
    t.equal((first["attempt"], second["attempt"]), (1, 2))
    t.true(first["callback"]["token"] != second["callback"]["token"], "each attempt has a token of its own")
    t.equal(call_back(server, first, {"output": "late"}).status, 404, "the token of an earlier attempt")
    t.equal(status_of(server, run), "RUNNING")
    t.equal(call_back(server, second, {"output": "done"}).status, 200)
    done = server.get("/api/executions/%s?wait=30s" % run["executionId"]).json()
    t.equal((done["status"], done["steps"][0]["outputData"]), ("COMPLETED", "done"))


@case("")
def what_is_no_callback_is_refused_without_harm(t):
    server, service = begin(t)
    run = server.begin("later")
    document = service.document()
    token = document["callback"]["token"]
    rows = (("a token that nobody has", {"output": 1}, "0" * len(token), 404), ("half of it", {"output": 1}, token[:16], 404),
            ("more of it", {"output": 1}, token + "0", 404), ("a key of the server", {"output": 1}, server.admin, 404),
            ("no object", [1], token, 400), ("a cause that there is not", {"failure": {"cause": "moon"}}, token, 400))
    for name, body, sent, status in rows:
        with t.row(name):
            t.equal(call_back(server, document, body, token=sent).status, status)
    rows = (("/moon", {"output": 1, "moon": 1}, 400), ("/token", {"output": 1, "token": token}, 400), ("/failure", {"failure": "it broke"}, 400),
            ("/failure/cause", {"failure": {"cause": "moon"}}, 400), ("/failure/cause", {"failure": {"cause": None}}, 400),
            ("/failure/message", {"failure": {"message": 5}}, 400), ("/failure/message", {"failure": {"message": "x" * 16385}}, 422),
            ("/failure/class", {"failure": {"class": "transient"}}, 400), ("/moon", {"moon": 1}, 400), ("/cost", {"cost": -1}, 400))
    for pointer, body, status in rows:
        with t.row(f"the place of what is wrong: {str(body)[:60]}"):
            told = problem(t, call_back(server, document, body), status, "limit-exceeded" if status == 422 else "invalid")
            t.equal([error["pointer"] for error in told["errors"]], [pointer])
    path = "/maestro/callbacks/far"
    t.equal(server.post(path, {"output": 1}, key="").status, 401, "no token at all")
    t.equal(server.post("/maestro/callbacks/none", {"output": 1}, key=token).status, 404, "another executor")
    t.equal(status_of(server, run), "RUNNING")
    t.equal(call_back(server, document, {"output": "right"}).status, 200)
    server.stop()
    shown = t.maestro("ledger", "show", "--limit", "100000", "--store", "sqlite:" + server.store).out
    told = {}
    for record in (json.loads(line) for line in shown.splitlines()):
        for event in record["events"]:
            if event["event"] == "access-refused":
                told[record["actor"], event["flags"], record["rationale"]] = told.get((record["actor"], event["flags"], record["rationale"]), 0) + event["count"]
    unknown = "no attempt that is under way has this token"
    t.equal(told, {("nobody", 404, unknown): 4, ("key:" + server.admin.split(".")[2], 404, unknown): 1, ("nobody", 401, "no token was sent"): 1},
            "who was refused is in the ledger")
    t.lacks(shown, token, "the token is not")


@case("")
def who_has_no_token_is_refused_before_the_body_comes(t):
    server, service = begin(t)
    run = server.begin("later")
    document = service.document()
    token = document["callback"]["token"]
    rows = (("no token", None, "far", 401), ("one that nobody has", token[:-1] + ("0" if token[-1] != "0" else "1"), "far", 404),
            ("one of another executor", token, "x" * 300, 404), ("no text of a token", "moon", "far", 404))
    for name, sent, executor, status in rows:
        with t.row(name):
            connection = server.connect()
            connection.putrequest("POST", "/maestro/callbacks/" + executor)
            connection.putheader("Content-Type", "application/json")
            connection.putheader("Content-Length", str(10 << 20))
            if sent:
                connection.putheader("Authorization", "Bearer " + sent)
            connection.endheaders()
            t.equal(connection.getresponse().status, status, "it is answered, though nothing of the body was sent")
            connection.close()
    t.equal(call_back(server, document, {"output": "x" * 600000}).status, 200, "whose it is has a large one read")
    t.equal(server.get("/api/executions/%s?wait=30s" % run["executionId"]).json()["status"], "COMPLETED")


@case("")
def a_token_ends_with_the_deadline_and_a_cancellation(t):
    server, service = begin(t, "timeout: 300ms")
    run = server.begin("later")
    document = service.document()
    done = server.get("/api/executions/%s?wait=30s" % run["executionId"]).json()
    t.equal(done["status"], "FAILED", "nobody called back in time")
    t.equal(call_back(server, document, {"output": 1}).status, 404, "after the deadline")
    server.define(WORKFLOW % "timeout: 1h")
    run = server.begin("later")
    document = service.document()
    t.equal(server.post("/api/executions/%s/cancel" % run["executionId"], {"reason": "enough"}).status, 200)
    t.until(lambda: status_of(server, run) == "CANCELLED", "it is cancelled")
    t.equal(call_back(server, document, {"output": 1}).status, 404, "after its cancellation")


@case("proves: F-115 F-116")
def a_service_calls_back_to_a_server_that_was_killed_meanwhile(t):
    server, service = begin(t, lease="10m")
    runs = [server.begin("later") for _ in range(2)]
    documents = {document["run"]: document for document in (service.document() for _ in runs)}
    first, second = (documents[run["executionId"]] for run in runs)
    server.stop(signal.SIGKILL)
    server.start()
    for name, token in (("of another attempt", first["callback"]["token"][:-32] + second["callback"]["token"][-32:]),
                        ("without its end", first["callback"]["token"][:-1])):
        with t.row(name):
            t.equal(call_back(server, first, {"output": 0}, token=token).status, 404)
    t.equal(call_back(server, first, {"output": {"n": 1}}).json(), {"accepted": True})
    done = server.get("/api/executions/%s?wait=30s" % runs[0]["executionId"]).json()
    t.equal((done["status"], [s["outputData"] for s in done["steps"]]), ("COMPLETED", [{"n": 1}]))
    t.equal(call_back(server, first, {"output": {"n": 2}}).status, 404, "a second report")
    server.stop(signal.SIGKILL)
    server.start()
    t.equal(call_back(server, first, {"output": {"n": 3}}).status, 404, "a second report, to the next process")
    t.equal(call_back(server, second, {"failure": {"cause": "permanent", "message": "no"}}).status, 200, "after two crashes")
    t.equal(server.get("/api/executions/%s?wait=30s" % runs[1]["executionId"]).json()["status"], "FAILED")
    t.true(service.documents.empty(), "nothing was sent twice")


@case("proves: F-115 F-116")
def a_service_calls_back_to_the_server_after_one_that_was_stopped(t):
    server, service = begin(t)
    run = server.begin("later")
    document = service.document()
    t.until(lambda: status_of(server, run) == "RUNNING", "it runs")
    t.equal(server.stop().code, 0, "the code of the server, which does not wait for it")
    server.start()
    t.equal(call_back(server, document, {"output": {"n": 1}}).json(), {"accepted": True})
    done = server.get("/api/executions/%s?wait=30s" % run["executionId"]).json()
    t.equal((done["status"], [s["outputData"] for s in done["steps"]]), ("COMPLETED", [{"n": 1}]))
    t.true(service.documents.empty(), "nothing was sent twice")


@case("proves: F-087 F-116")
def a_service_that_does_not_call_back_after_a_crash_is_asked_again_when_its_lease_is_over(t):
    server, service = begin(t, "timeout: 1h, retries: { attempts: 2, delay: 1ms, on: [transient, lease-expired] }", lease="1s")
    run = server.begin("later")
    first = service.document()
    server.stop(signal.SIGKILL)
    server.start()
    second = service.document()
    t.true(first["callback"]["token"] != second["callback"]["token"], "another attempt has another token")
    t.equal(first["idempotencyKey"], second["idempotencyKey"], "by which the service knows it")
    t.equal(call_back(server, first, {"output": "late"}).status, 404, "the earlier one is over")
    t.equal(call_back(server, second, {"output": "again"}).status, 200)
    done = server.get("/api/executions/%s?wait=30s" % run["executionId"]).json()
    t.equal((done["status"], done["steps"][0]["outputData"]), ("COMPLETED", "again"))


def ended(server, run):
    done = server.get("/api/executions/%s?wait=30s" % run["executionId"]).json()
    return done["status"], done.get("resolution"), done.get("errorCause")


def events_of(server, run, *kinds):
    events = server.get("/api/executions/%s/events?limit=500" % run["executionId"]).json()["items"]
    return [event["event"] for event in events if event["event"] in kinds]


UNKNOWN = ("FAILED", "AWAITING_DECISION", "effect-unknown")


@case("proves: C-22 F-060 F-115 F-116")
def what_a_service_may_have_done_is_not_asked_for_again(t):
    for name, lost in (("the server is killed", "kill"), ("the time is over", "timeout"), ("it answers 500", 500), ("it answers 504", 504),
                       ("it cuts the connection", 0)):
        with t.row(name):
            server, service = begin(t, EFFECT + (", timeout: 500ms" if lost == "timeout" else ""), calls_back=False)
            hold = threading.Event()
            if isinstance(lost, str):
                service.before = lambda document: (service.documents.put(document), hold.wait(60))
            else:
                service.statuses = [lost]
            run = server.begin("later")
            service.document()
            if lost == "kill":
                server.stop(signal.SIGKILL)
                server.start()
            t.equal(ended(server, run), UNKNOWN)
            t.equal(events_of(server, run, "effect-intended", "effect-committed", "effect-withdrawn"), ["effect-intended"])
            t.true(service.documents.empty(), "it is asked once")
            hold.set()
            server.stop()


@case("proves: C-22 F-060 F-087")
def what_a_service_of_a_lost_worker_may_have_done_is_not_asked_for_again(t):
    service, hold = Service(t), threading.Event()
    service.before = lambda document: (service.documents.put(document), hold.wait(60))
    server = Server(t, "--runners", t.write("runners.yaml", "executors: { far: { kind: worker, lease: 1s, runners: { far/ask: {} } } }"))
    server.define(WORKFLOW % ("timeout: 1h, " + EFFECT))
    here = 'executors: { web: { kind: http, runners: { far/ask: { url: "http://127.0.0.1:%d/ask" } } } }' % service.http.server_port
    options = ("--server", f"http://127.0.0.1:{server.port}", "--executor", "far", "--runners", t.write("here.yaml", here),
               "--token-file", t.write("token", server.key("worker", "*")))
    worker = t.start("worker", *options, env={"no_proxy": "127.0.0.1"})
    run = server.begin("later")
    service.document()
    worker.send_signal(signal.SIGKILL)
    t.end(worker)
    t.start("worker", *options, env={"no_proxy": "127.0.0.1"})
    t.equal(ended(server, run), UNKNOWN)
    t.true(service.documents.empty(), "it is asked once")
    hold.set()


@case("proves: C-22 F-060 F-064")
def a_service_that_refuses_has_done_nothing(t):
    server, service = begin(t, EFFECT, calls_back=False)
    service.statuses = [503, 429, 200]
    run = server.begin("later")
    t.equal(ended(server, run)[0], "COMPLETED", "what is refused for now is tried again")
    t.equal([service.document()["attempt"] for _ in range(3)], [1, 2, 3])
    effects = ("effect-intended", "effect-withdrawn")
    t.equal(events_of(server, run, *effects), [*effects, *effects, "effect-intended"], "each request is recorded before it is sent")
    service.statuses = [402]
    run = server.begin("later")
    t.equal(ended(server, run), ("FAILED", "AWAITING_DECISION", "input-invalid"), "what is refused for good fails as any other task")
    t.equal(events_of(server, run, *effects), [*effects])
    service.http.shutdown()
    service.http.server_close()
    run = server.begin("later")
    t.equal(ended(server, run)[2], "dropped", "what cannot be sent is tried again")
    t.equal(events_of(server, run, *effects), [*effects] * 3)


@case("proves: C-22 F-060 F-087")
def a_service_that_called_nobody_back_may_have_acted(t):
    for name, lease, terms, lost in (("after a crash", "1s", "timeout: 1h, ", True), ("after its time", "30s", "timeout: 500ms, ", False)):
        with t.row(name):
            server, service = begin(t, terms + EFFECT, lease=lease)
            run = server.begin("later")
            document = service.document()
            if lost:
                server.stop(signal.SIGKILL)
                server.start()
            t.equal(ended(server, run), UNKNOWN)
            t.true(service.documents.empty(), "it is asked once")
            t.equal(call_back(server, document, {"effectCommitted": True}).status, 404, "it is too late")
            server.stop()


@case("proves: C-22 F-060")
def a_service_that_announces_has_done_nothing_before(t):
    terms = "timeout: 1h, " + EFFECT
    server, service = begin(t, terms, lease="1s", settings="{ announces: true }")
    run = server.begin("later")
    first = service.document()
    server.stop(signal.SIGKILL)
    server.start()
    second = service.document()
    t.equal((first["attempt"], second["attempt"]), (1, 2), "nothing was announced, so it is asked again")
    t.equal(call_back(server, first, {"effect": {"charge": 5}}).status, 404, "the first of the two may not act any more")
    t.equal(call_back(server, second, {"effect": {"charge": 5}}).json(), {"accepted": True})
    server.stop(signal.SIGKILL)
    server.start()
    t.equal(ended(server, run), UNKNOWN, "now it may have acted")
    t.true(service.documents.empty(), "and is not asked again")


@case("proves: F-060 F-065 F-119")
def a_service_says_by_its_callback_what_every_runner_may_say(t):
    server, service = begin(t, "timeout: 1h, " + EFFECT)
    run = server.begin("later")
    document = service.document()
    good = ({"effect": {"charge": 5}}, {"effectCommitted": True}, {"cost": 0.25}, {"signal": {"name": "half-way", "value": 1}},
            {"progress": {"done": 0.5, "text": "half"}}, {"heartbeat": True})
    wrong = ({}, {"effectCommitted": 1}, {"cost": -1}, {"heartbeat": True, "cost": 1}, {"moon": 1})
    for when in ("before a crash", "after one"):
        for message in good:
            with t.row(f"{when}: {message}"):
                t.equal(call_back(server, document, message).json(), {"accepted": True})
        for message in wrong:
            with t.row(f"{when}, wrong: {message}"):
                t.equal(call_back(server, document, message).status, 400)
        kinds = ("effect-intended", "effect-committed", "cost-reported", "signal-received")
        said = events_of(server, run, *kinds)
        t.equal([said.count(kind) for kind in kinds], [2, 1, 1, 1] if when == "before a crash" else [3, 2, 2, 2],
                "each is recorded when it is answered; the request itself was announced, too")
        if when == "before a crash":
            server.stop(signal.SIGKILL)
            server.start()
    t.equal(call_back(server, document, {"output": "paid"}).status, 200)
    t.equal(ended(server, run)[0], "COMPLETED")
    for message in good:
        with t.row(f"when it is over: {message}"):
            t.equal(call_back(server, document, message).status, 404)


@case("proves: C-22 F-060")
def a_service_that_calls_back_says_whether_it_has_acted(t):
    server, service = begin(t, "timeout: 1h, " + EFFECT)
    failure = {"failure": {"cause": "permanent", "message": "declined"}}
    for name, said, cause in (("nothing", None, "effect-unknown"), ("that it has not", {"effectCommitted": False}, "permanent")):
        with t.row(name):
            run = server.begin("later")
            document = service.document()
            if said:
                t.equal(call_back(server, document, said).status, 200)
                t.equal(call_back(server, document, said).status, 404, "there is nothing left to take back")
            t.equal(call_back(server, document, failure).status, 200)
            t.equal(ended(server, run)[2], cause)


AGAIN = "timeout: 1h, retries: { attempts: 2, delay: 1ms, on: [transient, lease-expired] }"


@case("proves: F-086 F-087 F-116 G-04")
def a_service_that_took_the_work_and_is_silent_is_given_up_when_its_lease_is_over(t):
    server, service = begin(t, AGAIN, lease="1s\n    capacity: 1")
    run = server.begin("later")
    first, began = service.document(), time.monotonic()
    second = service.document()
    t.true(0.7 < time.monotonic() - began < 10, "one lease after its 202, and not at its deadline: %.1f s" % (time.monotonic() - began))
    t.equal(first["idempotencyKey"], second["idempotencyKey"], "by which the service knows it")
    t.equal(call_back(server, first, {"output": "late"}).status, 404, "the earlier one is over")
    t.equal(call_back(server, second, {"output": "again"}).status, 200)
    t.equal(ended(server, run)[0], "COMPLETED")


@case("proves: F-086 G-04")
def a_service_keeps_its_lease_by_what_it_says_and_while_it_is_asked(t):
    server, service = begin(t, AGAIN, lease="1s")
    service.before = lambda document: time.sleep(2.5)
    run = server.begin("later")
    document = service.document()
    end = time.monotonic() + 3
    while time.monotonic() < end:
        t.equal(call_back(server, document, {"progress": 0.5}).status, 200)
        time.sleep(0.1)
    t.true(service.documents.empty(), "it is asked once")
    t.equal(call_back(server, document, {"output": "slow"}).status, 200)
    t.equal(ended(server, run)[0], "COMPLETED")


@case("proves: F-087 F-116")
def a_heartbeat_keeps_the_lease_of_a_service_alive_after_a_crash(t):
    server, service = begin(t, "timeout: 1h, retries: { attempts: 2, delay: 1ms, on: [transient, lease-expired] }", lease="3s")
    run = server.begin("later")
    document = service.document()
    server.stop(signal.SIGKILL)
    server.start()
    end = time.monotonic() + 7
    while time.monotonic() < end:
        t.equal(call_back(server, document, {"heartbeat": True}).status, 200)
        time.sleep(0.2)
    t.true(service.documents.empty(), "it is not asked again")
    t.equal(call_back(server, document, {"output": "slow"}).status, 200)
    t.equal(ended(server, run)[0], "COMPLETED")


if __name__ == "__main__":
    main()
