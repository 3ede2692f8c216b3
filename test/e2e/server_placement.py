#!/usr/bin/env python3
"""Where a server places work: constraints over the API, workers of several executors, one that vanishes."""
from maestro_test import case, main
from server_test import Server

RUNNERS = """executors:
  near:
    kind: worker
    region: eu-west
    lease: 1s
    runners:
      far/greet: {}
  spare:
    kind: worker
    region: eu-central
    cost: 2.5
    lease: 1s
    runners:
      far/greet: {}
"""

GREET = """workflow: greet
%sjobs:
  a:
    tasks:
      - { name: t, run: far/greet, idempotency: replay-safe, retries: { attempts: 3, delay: 10ms, jitter_ms: 0 } }
"""


def begin(t, placement=""):
    server = Server(t, "--runners", t.write("server-runners.yaml", RUNNERS))
    server.define(GREET % placement)
    return server


def pull(server, executor, wait_ms=60000):
    return server.post(f"/api/executors/{executor}/exchange", {"worker": "w-" + executor, "want": 1, "wait_ms": wait_ms}).json()["leases"]


def report(server, executor, lease):
    done = {"worker": "w-" + executor, "reports": [{"token": lease["token"], "output": {"at": executor}}], "want": 0}
    return server.post(f"/api/executors/{executor}/exchange", done).json()["results"][0]["result"]


def events(server, run, kind):
    page = server.get(f"/api/executions/{run}/events?limit=200").json()
    return [event for event in page["items"] if event["event"] == kind]


@case("proves: F-116 F-094 F-087")
def work_of_a_worker_that_vanishes_goes_to_another_executor(t):
    server = begin(t)
    run = server.begin("greet")["executionId"]
    first = pull(server, "near")
    t.require(first, "the one that asks gets it")
    again = pull(server, "spare")                       # waits until the lease of the other has run out
    t.require(again, "the other one gets it")
    t.true(report(server, "near", first[0]) != "accepted", "who comes back late is refused")
    t.equal(report(server, "spare", again[0]), "accepted")
    t.until(lambda: server.get("/api/executions/" + run).json()["status"] == "COMPLETED", "the execution is completed")
    dispatched = events(server, run, "step-dispatched")
    t.equal([event["name"] for event in dispatched], ["near", "spare"])
    t.contains(dispatched[1]["message"], "rerouted from near")
    t.equal(len(events(server, run, "lease-expired")), 1)
    step = server.get("/api/executions/" + run).json()["steps"][0]
    t.equal((step["executor"], step["outputData"]), ("spare", {"at": "spare"}))


@case("proves: F-133")
def an_execution_is_bound_elsewhere_over_the_api(t):
    server = begin(t, "placement: { regions: [mars] }\n")
    run = server.begin("greet")["executionId"]
    t.until(lambda: events(server, run, "step-deferred"), "that nobody qualifies is recorded")
    path = f"/api/executions/{run}/placement"
    t.equal(server.get("/api/executions/" + run).json()["_links"]["placement"]["href"], path)
    with t.row("who may not"):
        t.equal(server.post(path, {"regions": ["eu-central"]}, key=server.key("viewer")).status, 403)
        t.equal(server.post(path, {"regions": ["eu-central"]}, key=server.key("operator", "other")).status, 404)
    for name, body, part in (("an unknown member", {"region": ["x"]}, "region"), ("a text", {"regions": "x"}, "regions"),
                             ("no names", {"regions": []}, "1 to PLACEMENT_NAME_COUNT_MAX (16)"), ("numbers", {"requires": [7]}, "requires"),
                             ("too many", {"clouds": ["c"] * 17}, "PLACEMENT_NAME_COUNT_MAX (16)")):
        with t.row(name):
            answer = server.post(path, body)
            t.true(answer.status in (400, 422), f"it is refused: {answer}")
            t.contains(answer.body.decode(), part)
    t.equal(events(server, run, "run-rebound"), [], "what is refused changes nothing")
    bound = server.post(path, {"regions": ["eu-central"], "reason": "mars is far"}, key=server.key("operator"))
    t.equal(bound.status, 200, bound)
    found = events(server, run, "run-rebound")
    t.equal([event["message"] for event in found], ['{"regions":["eu-central"]}'])
    t.matches(found[0]["actor"], r"^key:|^user:|\w")
    t.equal(pull(server, "near", wait_ms=300), [], "nothing for the other region")
    lease = pull(server, "spare")
    t.require(lease, "the region that it is bound to gets it")
    t.equal(report(server, "spare", lease[0]), "accepted")
    t.until(lambda: server.get("/api/executions/" + run).json()["status"] == "COMPLETED", "the execution is completed")
    t.equal(server.post(path, {"regions": ["eu-west"]}).status, 409, "one that has ended is not bound")


@case("proves: F-133")
def a_command_binds_an_execution_of_a_server(t):
    server = begin(t, "placement: { regions: [mars] }\n")
    run = server.begin("greet")["executionId"]
    t.until(lambda: events(server, run, "step-deferred"), "that nobody qualifies is recorded")
    at = ("--server", f"http://127.0.0.1:{server.port}")
    told = t.maestro("rebind", run, "--region", "eu-west", "--reason", "by hand", *at, env={"MAESTRO_TOKEN": server.admin})
    t.equal(told.code, 0, told.err)
    t.contains(told.out, "what is placed next is placed by the new constraints")
    t.require(pull(server, "near"), "it is placed there")
    shown = t.maestro("show", run, *at, env={"MAESTRO_TOKEN": server.admin})
    t.contains(shown.out, "by hand")


main()
