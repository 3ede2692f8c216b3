#!/usr/bin/env python3
"""Schedules that something holds back: shown, and overridden for one occurrence, over HTTP and by the command."""
import datetime
import json
import re
import signal
import sqlite3

from maestro_test import ROOT, case, main
from schema_test import violations
from server_test import HELLO, Clock, Server, problem

RUNNERS = """windows: { always: ["00:00-24:00"], never: ["2001-01-01"] }
calendars: { once: { include: ["2001-01-01"] } }
"""
JOBS = "jobs: { a: { tasks: [{ name: say, log: held }] } }\n"


def flow(name, *schedules):
    return f"workflow: {name}\ntriggers:\n" + "".join(f"  - schedule: {s}\n" for s in schedules) + JOBS


def ahead(seconds):
    """An instant so many seconds from now, as the API writes it."""
    at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    return at.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def seconds(text):
    return int(datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=datetime.timezone.utc).timestamp())


def held_server(t):
    t.write("runners.yaml", RUNNERS)
    server = Server(t, "--runners", t.folder / "runners.yaml")
    server.define(flow("tick", '{ cron: "* * * * * *", blackout: always }'))
    return server


def override(server, at, workflow="tick", reason="the auditors wait", key=None, headers=None, **more):
    return server.call("POST", "/api/schedules/override", {"workflowId": workflow, "at": at, "reason": reason, **more}, key=key, headers=headers)


def runs(server, workflow="tick"):
    return server.get(f"/api/executions?workflowId={workflow}&limit=500").json()["items"]


def events(t, server, kind):
    shown = t.maestro("ledger", "show", "--limit", "100000", "--store", "sqlite:" + server.store)
    return [{**r, "event": e} for r in map(json.loads, shown.out.splitlines()) for e in r["events"] if e["event"] == kind]


@case("proves: F-042 F-039")
def one_occurrence_is_overridden_and_no_other(t):
    server = held_server(t)
    at = ahead(4)
    answer = override(server, at, key=server.key("operator"))
    t.equal(answer.status, 201, str(answer))
    document = server.get("/openapi.json").json()
    made = answer.json()
    t.equal(violations(document, document["components"]["schemas"]["Override"], made), [])
    t.equal((made["at"], made["trigger"], made["heldBy"], made["reason"]), (at, 0, ["blackout"], "the auditors wait"))
    t.until(lambda: len(runs(server)) == 1, "it is started")
    later = ahead(1)
    t.until(lambda: f'"due":"{later}"' in t.said(server.process), "others were due since")
    (run,) = runs(server)
    first = server.get(f"/api/executions/{run['executionId']}/events").json()["items"][0]
    t.equal((run["source"], first["actor"]), ("schedule", "schedule:tick/0"))
    t.equal(first["rationale"], f"due at {at}; blackout overridden by {made['createdBy']}: the auditors wait")
    (record,) = events(t, server, "schedule-overridden")
    event = record["event"]
    t.equal((record["actor"], record["rationale"], event["name"], event.get("count", 0), event["dueAt"], event["message"]),
            (made["createdBy"], "the auditors wait", "tick", 0, at, "blackout"), "it is audited")
    problem(t, override(server, at), 409, "conflict")
    server.stop()
    t.equal(t.maestro("store", "verify", "--store", "sqlite:" + server.store).code, 0)


@case("proves: F-042")
def an_override_outlives_a_server_that_is_killed(t):
    server = held_server(t)
    at = ahead(8)
    made = override(server, at, headers={"Idempotency-Key": "once"})
    t.equal(made.status, 201, str(made))
    server.stop(signal.SIGKILL)
    server.start()
    shown = server.get(f"/api/schedules?workflowId=tick&count=100").json()["items"][0]["next"]
    found = {n["at"]: n for n in shown}
    t.equal(found[at]["override"], {k: made.json()[k] for k in ("reason", "createdAt", "createdBy")})
    t.equal((found[at]["barred"], found[at]["held"]), ("blackout", [{"by": "blackout", "name": "always", "window": "00:00-24:00"}]))
    t.equal([a for a, n in found.items() if n["override"]], [at], "no other")
    again = override(server, at, headers={"Idempotency-Key": "once"})
    t.equal((again.status, again.json()), (201, made.json()), "asked again it is the same answer")
    t.until(lambda: runs(server), "the next server starts it")
    t.equal(len(events(t, server, "schedule-overridden")), 1)
    t.equal(len(runs(server)), 1)


@case("proves: F-093 F-039")
def an_occurrence_that_starts_nothing_is_recorded_once_with_the_reason(t):
    t.write("runners.yaml", RUNNERS)
    server = Server(t, "--runners", t.folder / "runners.yaml")
    every = '"* * * * * *"'
    today = datetime.datetime.now(datetime.timezone.utc)
    frozen = f'["{today:%Y-%m-%d}..{today + datetime.timedelta(days=1):%Y-%m-%d}"]'
    server.define(flow("dark", f"{{ cron: {every}, blackout: always }}"))
    server.define(flow("cold", '"0 0 1 1 *"', f"{{ cron: {every}, freeze_windows: {frozen} }}"))
    server.define(flow("off", f"{{ cron: {every}, calendar: once }}"))
    server.define(flow("shut", f"{{ cron: {every}, release_windows: never }}"))
    server.define(flow("needy", every).replace("jobs:", "params: [{ name: who, type: string }]\njobs:"))
    server.define(flow("open", every))
    found = lambda: events(t, server, "occurrence-skipped")
    wanted = {"dark": (0, "blackout", "'always', 00:00-24:00, holds it back"), "cold": (1, "freeze", "holds it back"),
              "off": (0, "calendar", "'once'"), "shut": (0, "release-window", "'never'"), "needy": (0, "refused", "parameter 'who'")}
    t.until(lambda: all(sum(r["event"]["name"] == name for r in found()) >= 3 for name in wanted), "each is recorded as it passes")
    server.stop(signal.SIGKILL)
    server.start()
    count = len(found())
    t.until(lambda: len(found()) > count + 5, "the next server goes on")
    server.stop()
    records = found()
    for name, (trigger, by, words) in wanted.items():
        with t.row(name):
            of = [r for r in records if r["event"]["name"] == name]
            t.equal({(r["actor"], r["event"]["tenant"], r["event"].get("count", 0), r["event"]["message"]) for r in of},
                    {(f"schedule:{name}/{trigger}", "default", trigger, by)})
            t.true(all(words in r["rationale"] for r in of), of[0]["rationale"])
            due = [seconds(r["event"]["dueAt"]) + i for r in of for i in range(r["event"]["flags"])]
            t.equal(len(set(due)), len(due), "each occurrence once")
    t.equal({r["event"]["name"] for r in records}, set(wanted), "what was started is none of them")
    t.equal(t.maestro("store", "verify", "--store", "sqlite:" + server.store).code, 0)
    t.equal(t.maestro("ledger", "verify", "--store", "sqlite:" + server.store).code, 0)
    exported = t.maestro("ledger", "export", "--store", "sqlite:" + server.store).out
    t.equal(exported.count('"occurrence-skipped"'), len(records), "and it is exported")


@case("proves: F-042")
def what_cannot_be_overridden_is_refused_by_name(t):
    server = held_server(t)
    server.define(HELLO)
    server.define(flow("free", '"0 * * * *"'))
    server.define(flow("off", '{ cron: "0 * * * *", calendar: once, blackout: always }'))
    server.define(flow("two", '{ cron: "0 * * * *", blackout: always }', '{ cron: "30 * * * *", release_windows: never }'))
    hour = server.get("/api/schedules?workflowId=free&count=1").json()["items"][0]["next"][0]["at"]
    for why, answer, status, kind, words in (
        ("no such workflow", override(server, hour, "none"), 404, "not-found", "no active workflow 'none'"),
        ("no schedule", override(server, hour, "hello"), 404, "not-found", "no schedule"),
        ("no such trigger", override(server, hour, "two", trigger=7), 404, "not-found", "trigger 7"),
        ("not which", override(server, hour, "two"), 400, "invalid", "several schedules"),
        ("no occurrence", override(server, hour.replace("00.000Z", "01.000Z"), "free"), 400, "invalid", "is no occurrence"),
        ("of the other one", override(server, hour, "two", trigger=1), 400, "invalid", "is no occurrence"),
        ("no time", override(server, "tomorrow"), 400, "invalid", "'at' is a time"),
        ("nothing holds it", override(server, hour, "free"), 409, "conflict", "nothing holds"),
        ("a calendar", override(server, hour, "off"), 409, "conflict", "calendar 'once'"),
        ("it has passed", override(server, ahead(-5)), 409, "conflict", "has passed"),
        ("an empty reason", override(server, ahead(60), reason=" "), 400, "invalid", "needs a reason"),
        ("a long reason", override(server, ahead(60), reason="x" * 20000), 422, "limit-exceeded", "TEXT_SIZE_MAX"),
        ("no reason", server.call("POST", "/api/schedules/override", {"workflowId": "tick", "at": ahead(60)}), 400, "invalid", "'reason' is missing"),
        ("a viewer", override(server, ahead(60), key=server.key("viewer")), 403, "denied", "schedule.override"),
        ("an author", override(server, ahead(60), key=server.key("author")), 403, "denied", "schedule.override"),
        ("another tenant", override(server, ahead(60), key=server.key("operator", "other"), namespace="default"), 404, "not-found", "may see"),
    ):
        t.contains(problem(t, answer, status, kind)["detail"], words, why)
    t.equal(events(t, server, "schedule-overridden"), [], "and nothing is recorded")
    both = override(server, hour, "two", trigger=0)
    t.equal((both.status, both.json()["heldBy"]), (201, ["blackout"]))
    half = next(n["at"] for n in server.get("/api/schedules?workflowId=two").json()["items"][1]["next"])
    t.equal(override(server, half, "two", trigger=1).json()["heldBy"], ["release-window"])


@case("proves: F-042")
def an_override_is_listed_and_removed_before_it_is_due(t):
    server = held_server(t)
    server.define(flow("cold", '{ cron: "0 0 * * *", freeze_windows: ["Jan 1..Dec 31"] }'))
    day = server.get("/api/schedules?workflowId=cold&count=1").json()["items"][0]["next"][0]["at"]
    for at, workflow in ((day, "cold"), (ahead(300), "tick"), (ahead(301), "tick")):
        t.equal(override(server, at, workflow).status, 201)
    document = server.get("/openapi.json").json()
    seen, link = [], "/api/schedules/override?limit=2"
    while link:
        page = server.get(link).json()
        t.equal(violations(document, document["components"]["schemas"]["OverridePage"], page), [])
        seen += [(i["workflowId"], i["heldBy"]) for i in page["items"]]
        link = page["_links"].get("next", {}).get("href")
    t.equal(seen, [("cold", ["freeze"]), ("tick", ["blackout"]), ("tick", ["blackout"])])
    t.equal(server.get("/api/schedules/override?namespace=other").json()["items"], [])
    where = f"/api/schedules/override?workflowId=cold&at={day}&reason=no+longer"
    problem(t, server.call("DELETE", where, key=server.key("viewer")), 403, "denied")
    t.equal(server.call("DELETE", where).status, 204)
    problem(t, server.call("DELETE", where), 404, "not-found")
    problem(t, server.call("DELETE", where + "&trigger=3"), 404, "not-found")
    t.equal(server.get("/api/schedules?workflowId=cold&count=1").json()["items"][0]["next"][0]["override"], None)
    (record,) = events(t, server, "override-removed")
    t.equal((record["rationale"], record["event"]["dueAt"]), ("no longer", day))
    at = ahead(3)
    override(server, at)
    t.until(lambda: runs(server), "one is started")
    problem(t, server.call("DELETE", f"/api/schedules/override?workflowId=tick&at={at}"), 409, "conflict")
    server.stop()
    t.equal(t.maestro("store", "verify", "--store", "sqlite:" + server.store).code, 0)


@case("proves: F-042")
def the_command_does_the_same_beside_a_store_and_as_a_client(t):
    server = held_server(t)
    server.define(flow("cold", '{ cron: "0 0 * * *", freeze_windows: ["Jan 1..Dec 31"] }'))
    runners = ("--runners", t.folder / "runners.yaml")
    here = lambda *words: t.maestro(*words, "--store", "sqlite:" + server.store, *runners)
    there = lambda *words: t.maestro(*words, "--server", f"http://127.0.0.1:{server.port}", env={"MAESTRO_TOKEN": server.admin})
    server.post("/api/workflows/default/tick/revisions/1/deactivate")        # it is due every second: two looks differ
    for words in (("schedule", "list"), ("schedule", "list", "--json"), ("schedule", "next", "cold"), ("schedule", "next", "cold", "--json"),
                  ("schedule", "next", "none"), ("schedule", "override", "--list"), ("schedule", "override", "cold", "2026-01-01"),
                  ("schedule", "override", "cold", "2101-01-01T00:00:00Z"), ("schedule", "override", "cold"),
                  ("schedule", "override", "cold", "2101-01-01T00:00:01Z", "--reason", "x"), ("schedule", "override", "none", "2101-01-01T00:00:00Z", "--reason", "x"),
                  ("schedule", "override", "cold", "2001-01-01T00:00:00Z", "--reason", "x"),
                  ("schedule", "override", "cold", "2101-01-01T00:00:00Z", "--remove")):
        one, other = here(*words), there(*words)
        t.equal((other.code, other.out, other.err), (one.code, one.out, one.err), " ".join(words))
    t.contains(here("schedule", "next", "cold").out, "freeze (Jan 1..Dec 31)")
    at = [n["at"] for n in here("schedule", "next", "cold", "--json").json()[0]["next"]]
    for do, which in ((here, 0), (there, 1)):
        done = do("schedule", "override", "cold", at[which], "--reason", "the auditors wait")
        t.equal((done.code, done.out), (0, f"{at[which]} of cold starts, though something holds it\n"), done.err)
        t.contains(do("schedule", "next", "cold").out, ": the auditors wait")
        t.equal(len(do("schedule", "override", "--list", "--json").json()), which + 1)
        t.equal(do("schedule", "override", "cold", at[which]).code, 2, "a reason is needed")
    t.equal(here("schedule", "override", "--list").out, there("schedule", "override", "--list").out)
    t.equal(there("schedule", "override", "cold", at[0], "--remove", "--json").code, 0)
    server.stop()
    t.equal(here("schedule", "override", "cold", at[1], "--remove").code, 0, "nobody owns the store")
    t.equal(here("schedule", "override", "cold", at[1], "--reason", "after all").code, 0)
    t.equal(here("schedule", "override", "--list", "--json").json()[0]["reason"], "after all")
    t.equal(here("store", "verify").code, 0)


# --- what is read of them -------------------------------------------------------------------------------------------------------------------

def listed(server, **query):
    """What every look at the schedules of a tenant tells alike, whenever it is."""
    items = server.get("/api/schedules?limit=500" + "".join(f"&{k}={v}" for k, v in query.items())).json()["items"]
    return [(i["workflowId"], i["version"], i["trigger"], i["cron"]) for i in items]


def due(server, workflow, tenant="default"):
    """For each revision the seconds for which it was started."""
    found = {}
    for run in server.get(f"/api/executions?workflowId={workflow}&namespace={tenant}&limit=500").json()["items"]:
        first = server.get(f"/api/executions/{run['executionId']}/events").json()["items"][0]
        at = first["rationale"].removeprefix("due at ")
        found.setdefault(run["revisionId"]["version"], []).append(seconds(at))
    return {version: sorted(at) for version, at in found.items()}


@case("proves: F-036")
def each_schedule_starts_its_active_revision_whatever_happens_to_others(t):
    server = Server(t)
    every = '"* * * * * *"'
    for name in ("keep", "off", "gone", "new"):
        server.define(flow(name, every))
    server.define(flow("keep", every).replace("\n", "\ntenant: acme\n", 1), tenant="acme")
    stored = server.call("POST", "/api/workflows", flow("later", '"0 0 1 1 *"', every), headers={"Content-Type": "application/yaml"}).json()
    t.equal(listed(server), [(name, 1, 0, "* * * * * *") for name in ("gone", "keep", "new", "off")])
    t.equal(listed(server, namespace="acme"), [("keep", 1, 0, "* * * * * *")])
    t.until(lambda: all(due(server, name) for name in ("keep", "off", "gone", "new")) and due(server, "keep", "acme"), "each is started")
    t.equal(due(server, "later"), {}, "but for what is not active")
    revision = "/api/workflows/default/{}/revisions/1"
    t.equal(server.post(revision.format("off") + "/deactivate").status, 200)
    t.equal(server.post(revision.format("gone") + "/deactivate").status, 200)
    # Who has runs keeps its revision; one that has none is removed.
    problem(t, server.call("DELETE", revision.format("gone")), 409, "conflict")
    server.define(flow("brief", '"0 0 1 1 *"'))
    t.equal(server.post(revision.format("brief") + "/deactivate").status, 200)
    t.equal(server.call("DELETE", revision.format("brief")).status, 204)
    server.define(flow("new", '"*/2 * * * * *"'))
    t.equal(server.post(stored["_links"]["self"]["href"] + "/activate", {}).status, 200)
    wanted = [("keep", 1, 0, "* * * * * *"), ("later", 1, 0, "0 0 1 1 *"), ("later", 1, 1, "* * * * * *"), ("new", 2, 0, "*/2 * * * * *")]
    t.equal(listed(server), wanted)
    t.until(lambda: len(due(server, "new").get(2, [])) >= 2 and len(due(server, "later").get(1, [])) >= 3, "what was changed is followed")
    found = {name: due(server, name) for name in ("keep", "off", "gone", "new", "later")}
    changed = found["later"][1][0]
    for name in ("off", "gone"):
        t.true(found[name][1][-1] < changed, f"{name} is started no more: {found}")
    late = [r["event"] for r in events(t, server, "occurrence-skipped") if seconds(r["event"]["dueAt"]) >= changed]
    t.equal(late, [], "nor does anybody try")
    for name, version, step in (("keep", 1, 1), ("off", 1, 1), ("gone", 1, 1), ("new", 1, 1), ("new", 2, 2), ("later", 1, 1)):
        at = found[name][version]
        t.equal(at, list(range(at[0], at[-1] + 1, step)), f"each occurrence of {name} once, and none is left out")
    t.true(found["new"][1][-1] < found["new"][2][0], "one revision follows the other")
    t.equal(set(found["new"]), {1, 2})
    t.true(due(server, "keep", "acme")[1][-1] >= changed, "the other tenant's goes on")
    server.stop(signal.SIGKILL)
    server.start()
    t.equal(listed(server), wanted, "and the next server follows the same")
    last = {name: due(server, name)[version][-1] for name, version in (("keep", 1), ("later", 1), ("new", 2))}
    t.until(lambda: all(due(server, name)[version][-1] > last[name] for name, version in (("keep", 1), ("later", 1), ("new", 2))), "it starts them")
    t.equal([due(server, name) for name in ("off", "gone")], [found["off"], found["gone"]])


@case("proves: F-036 F-109")
def a_tenant_with_more_schedules_than_are_followed_is_told_and_leaves_the_others_theirs(t):
    server = Server(t)
    limits = (ROOT / "src/base/limits.h").read_text()
    count, each = int(re.search(r"#define API_SCHEDULE_TENANT_MAX +(\d+)", limits)[1]), 256
    text = flow("many", *['"0 1 * * *"'] * each)
    for i in range(count // each + 1):
        server.define(text.replace("workflow: many", f"workflow: many{i:03}\ntenant: aaa"), tenant="aaa")
    server.define(flow("tick", '"* * * * * *"'))
    t.until(lambda: runs(server), "another tenant's start")
    t.until(lambda: "its tenant has more than API_SCHEDULE_TENANT_MAX" in t.said(server.process), "the log says so")
    first, last = (server.get(f"/api/schedules?namespace=aaa&workflowId=many{i:03}&limit=1").json()["items"][0] for i in (0, count // each))
    t.equal(first["unusable"], None)
    t.contains(last["unusable"], f"API_SCHEDULE_TENANT_MAX ({count})")


@case("proves: F-036 F-042")
def triggers_are_known_without_the_plan(t):
    t.write("runners.yaml", RUNNERS)
    server = Server(t, "--runners", t.folder / "runners.yaml")
    server.define(flow("tick", '"* * * * * *"'))
    server.define(flow("cold", '"0 0 1 1 *"', '{ cron: "0 0 * * *", blackout: always, payload: { a: 1 } }')
                  .replace("jobs:", "  - webhook: { key: order, auth: { bearer: true } }\n  - manual: { enabled: false }\njobs:"))
    here = lambda *words: t.maestro(*words, "--store", "sqlite:" + server.store, "--runners", t.folder / "runners.yaml")
    day = server.get("/api/schedules?workflowId=cold&count=1").json()["items"][1]["next"][0]["at"]
    hook = "/maestro/hooks/default/cold/"

    def looks():
        """Everything that is asked of triggers and starts nothing."""
        shown = [a for i in server.get("/api/schedules?workflowId=cold").json()["items"] for a in (i["cron"], i["next"], i["unusable"])]
        asked = [server.post(hook + "none", key=""), server.post(hook + "order", key=""), server.post(hook + "manual", key=""),
                 server.post("/api/executions", {"workflowId": "cold"}),
                 override(server, day.replace("00.000Z", "01.000Z"), "cold", trigger=1), override(server, day, "cold", trigger=2)]
        return listed(server), shown, [(a.status, a.json()["type"], a.json()["detail"]) for a in asked], here("schedule", "next", "cold", "--json").json()

    before = looks()
    t.equal([a[0] for a in before[2]], [401, 401, 401, 409, 400, 404])
    t.until(lambda: runs(server), "one is due every second")
    server.stop()
    with sqlite3.connect(server.store) as db:
        db.execute("drop trigger maestro_plans_are_immutable")
        t.equal(db.execute("update maestro_plans set document = '{'").rowcount, 2)
    db.close()
    server.start()
    t.equal(looks(), before, "no plan can be read, and nobody needs one")
    t.equal(here("schedule", "list", "--json").code, 0)
    t.equal(override(server, day, "cold", trigger=1).status, 201)
    t.until(lambda: "a schedule was refused its run" in t.said(server.process), "it is due, and only the start of a run needs the plan")


@case("")
def where_the_clock_is_put_on_by_years_the_first_that_was_missed_tells_of_the_rest(t):
    clock = Clock(t)
    server = Server(t, env=clock.env)
    server.define(flow("minutes", '{ cron: "* * * * *" }'))
    clock.put(3 * 365 * 86400)
    t.until(lambda: len(events(t, server, "occurrence-skipped")) >= 2, "what was missed is told")
    first, rest = (record["event"] for record in events(t, server, "occurrence-skipped")[:2])
    t.equal(first["flags"], 1)
    t.true(1400 < rest["flags"] < 1500, f"those of the last day are counted: {rest}")
    t.equal(server.get("/healthz").status, 200)


if __name__ == "__main__":
    main()
