#!/usr/bin/env python3
"""Commands as clients of a server: --server URL does and says the same as a store of one's own."""
import json
import os
import re
import signal
import sqlite3
import subprocess

from maestro_test import MAESTRO, ROOT, case, main
from server_test import HELLO, Relay, Server, free_port, problem

SLOW = "workflow: slow\njobs:\n  a:\n    tasks:\n      - { name: wait, run: shell, args: [\"sleep\", \"600\"] }\n"

FAILING = """workflow: fails
jobs:
  a:
    tasks:
      - { name: one, log: "one" }
      - { name: two, run: shell, args: ["sh", "-c", "exit 65"], retries: { attempts: 1 } }
"""


def stored_plan(server, workflow):
    with sqlite3.connect(server.store) as store:
        return next(text for (text,) in store.execute("select document from maestro_plans") if json.loads(text)["id"] == workflow)


def both(t, server, *args):
    """What a command says beside the store, and what it says of the server."""
    here = t.maestro(*args, "--store", "sqlite:" + server.store)
    there = remote(t, server, *args)
    return here, there


def remote(t, server, *args, **options):
    return t.maestro(*args, "--server", f"http://127.0.0.1:{server.port}", env={"MAESTRO_TOKEN": server.admin}, **options)


@case("")
def looking_is_the_same_by_either_way(t):
    server = Server(t)
    server.define(HELLO)
    server.define(FAILING)
    run = server.begin("hello", {"who": "Ana"}, wait="30s")["executionId"]
    failed = server.begin("fails", wait="30s")["executionId"]
    rows = [("runs",), ("runs", "--json"), ("runs", "--state", "failed"), ("show", run), ("show", run, "--json"), ("show", failed),
            ("show", run, "--events"), ("inspect", run, "greet.say"), ("logs", run), ("revisions",), ("revisions", "hello", "--json"),
            ("ledger", "show"), ("ledger", "verify"), ("replay", run), ("show", "nobody"), ("runs", "--state", "odd")]
    for args in rows:
        with t.row(" ".join(args)):
            here, there = both(t, server, *args)
            said = there.out.replace(f"--server http://127.0.0.1:{server.port}", f"--store sqlite:{server.store}")
            t.equal((there.code, said), (here.code, here.out), "code and output: " + there.err)
            t.equal(there.err, here.err, "what is said about it")


@case("")
def runs_are_started_and_steered_from_elsewhere(t):
    server = Server(t)
    path = t.write("hello.yaml", HELLO)
    ran = remote(t, server, "run", path, "--param", "who=Ana")
    t.equal(ran.code, 0, "the code of the run: " + ran.out + ran.err)
    t.contains(ran.out + ran.err, "hello Ana")
    server.define(SLOW)
    run = server.begin("slow")["executionId"]
    t.until(lambda: server.get("/api/executions/" + run).json()["state"] == "running", "it runs")
    for verb, state in (("pause", "paused"), ("resume", "running"), ("cancel", "cancelled")):
        with t.row(verb):
            done = remote(t, server, verb, run, "--reason", "because")
            if verb == "resume":
                t.equal(done.code in (0, 75), True, done.out + done.err)
            else:
                t.equal(done.code, 0, done.out + done.err)
            t.until(lambda: server.get("/api/executions/" + run).json()["state"] == state, "it is " + state)
    server.define(FAILING)
    failed = server.begin("fails", wait="30s")["executionId"]
    done = remote(t, server, "resolve", failed, "--decision", "mark-resolved", "--reason", "known")
    t.equal(done.code, 0, done.out + done.err)
    t.equal(server.get("/api/executions/" + failed).json()["resolution"], "RESOLVED")
    events = server.get("/api/executions/%s/events" % failed).json()["items"]
    t.true(any(re.match(r"user:.* by key:", e["actor"]) for e in events), "user and key are recorded")
    off = remote(t, server, "revisions", "deactivate", "hello@1")
    t.equal(off.code, 0, off.out + off.err)
    t.equal(server.get("/api/workflows/default/hello").json()["activeVersion"], None)


@case()
def a_run_prints_the_same_lines_in_the_same_order_from_elsewhere(t):
    server = Server(t)
    path = t.write("hello.yaml", HELLO)

    def said(ran):
        t.equal(ran.code, 0, ran.out + ran.err)
        return re.sub(r"\([\d.]+s\)", "()", re.sub(r"run \S{21}", "run", ran.out + ran.err)).splitlines()
    here = said(t.maestro("run", path, "--param", "who=Ana", "--store", f"sqlite:{t.folder}/own.db"))
    for _ in range(5):
        t.equal(said(remote(t, server, "run", path, "--param", "who=Ana", "--again")), here)


GATED = """workflow: gated
jobs:
  gate: { tasks: [{ log: "asks", wait_for_signal: { signal: go, timeout: 1h } }] }
  after: { needs: [gate], tasks: [{ log: "released" }] }
"""


@case()
def lines_that_are_written_before_a_resumption_is_answered_are_shown(t):
    server = Server(t)
    server.define(GATED)
    run = server.begin("gated")["executionId"]
    path = "/api/executions/" + run
    t.until(lambda: server.get(path).json()["state"] == "waiting-signal", "it waits")
    for verb in (("pause",), ("signal", "go")):
        done = remote(t, server, verb[0], run, *verb[1:])
        t.equal(done.code, 0, done.err)
    relay = Relay(server)

    def wait(asked):
        if asked == "/api/petitions":
            t.until(lambda: "released" in t.maestro("logs", run, "--store", "sqlite:" + server.store).out, "the line is stored")
    relay.before_answer = wait
    done = t.maestro("resume", run, "--follow", "--server", f"http://127.0.0.1:{relay.port}", env={"MAESTRO_TOKEN": server.admin})
    t.equal(done.code, 0, done.err)
    t.contains(done.out + done.err, "after.after: released")
    t.lacks(done.out + done.err, "gate.gate: asks", "what was there before")


@case()
def what_is_said_of_a_run_that_waits_can_be_typed(t):
    server = Server(t)
    waits = remote(t, server, "run", t.write("gated.yaml", GATED), "--until-waiting")
    t.equal(waits.code, 75, waits.out + waits.err)
    t.contains(waits.err, " go --server ", "the command that lets it go on")
    t.lacks(waits.err, "maestro resume", "which would be refused")
    words = next(line for line in waits.err.splitlines() if "maestro signal" in line).split("   ")[0].split()[1:]
    done = t.maestro(*words, env={"MAESTRO_TOKEN": server.admin})
    t.equal(done.code, 0, done.err)
    run = re.search(r"run (\S{21})", waits.out).group(1)
    t.until(lambda: server.get("/api/executions/" + run).json()["state"] == "succeeded", "it goes on")
    here = t.maestro("run", t.folder / "gated.yaml", "--until-waiting", "--store", f"sqlite:{t.folder}/own.db")
    t.equal(here.code, 75, here.err)
    for verb in ("maestro signal", "maestro resume"):       # nobody carries it out then
        t.contains(here.err, verb)


@case()
def an_authors_and_an_operators_key_put_a_definition_into_service(t):
    server = Server(t)
    author, operator, viewer = (server.key(role, "acme") for role in ("author", "operator", "viewer"))
    path = t.write("hello.yaml", HELLO.replace("workflow: hello", "workflow: hello\ntenant: acme"))
    for key in (operator, viewer):
        t.equal(as_key(t, server, key, "revisions", "store", path).code, 77, "who may not")
    stored = as_key(t, server, author, "revisions", "store", path)
    t.equal((stored.code, stored.out), (0, "revision 1 of hello is now stored\n"), stored.err)
    t.contains(stored.err, f"'maestro revisions activate hello@1 --tenant acme --server http://127.0.0.1:{server.port}'")
    revision = server.get("/api/workflows/acme/hello/revisions/1").json()
    t.equal(revision["active"], False)
    on = as_key(t, server, author, "revisions", "activate", "hello@1", "--tenant", "acme")
    t.equal(on.code, 0, on.err)
    ran = as_key(t, server, operator, "run", "hello", "-p", "who=Ida", "--tenant", "acme")
    t.equal(ran.code, 0, ran.out + ran.err)
    path.write_text(path.read_text().replace("hello $", "good day $"))
    t.equal(as_key(t, server, author, "revisions", "store", path, "--json").json(),
            {"workflow": "hello", "version": 2, "active": False, "noop": False, "comparedWith": 1, "incompatibilities": []})
    gone = as_key(t, server, author, "revisions", "remove", "hello@2", "--tenant", "acme")
    t.equal((gone.code, gone.out), (0, "revision 2 of hello is now removed\n"), gone.err)
    problem(t, server.get("/api/workflows/acme/hello/revisions/2"), 404, "workflow-revision-not-found")


@case("proves: R-082 R-084 F-006")
def refusals_have_their_names_by_either_way(t):
    server = Server(t)
    hello = t.write("hello.yaml", HELLO)
    t.equal(remote(t, server, "revisions", "store", hello).code, 0)
    for done, way in zip(both(t, server, "run", hello, "--json", "-p", "who=x"), ("here", "there")):
        with t.row(way):
            t.equal((done.code, json.loads(done.out.splitlines()[-1])["error"]), (1, "RevisionNotActiveException"), done.err)
            t.contains(done.err, "is not active; 'maestro revisions activate NAME@VERSION' makes it so")
    server.define(SLOW)
    runs = [server.begin("slow")["executionId"] for _ in range(2)]
    for way, args in (("here", ("--store", "sqlite:" + server.store)), ("there", ("--server", f"http://127.0.0.1:{server.port}"))):
        with t.row(way):
            def ask(run):
                return t.maestro("pause", run, "--id", "x-" + way, "--json", *args, env={"MAESTRO_TOKEN": server.admin})

            t.maestro("resume", runs[0], *args, env={"MAESTRO_TOKEN": server.admin})
            first, again, other = ask(runs[0]), ask(runs[0]), ask(runs[1])
            t.equal((first.code, again.code), (0, 0), first.err + again.err)
            t.equal((first.json()["repeat"], "before" in first.json()), (False, True))
            t.equal((again.json()["repeat"], "before" in again.json(), again.json()["after"]), (True, False, "paused"))
            t.equal((other.code, other.json()["error"]), (65, "IdempotencyKeyReused"), other.err)


@case("")
def who_carries_out_a_run_that_waits_is_offered_where_nobody_does(t):
    server = Server(t)
    path = t.write("sig.yaml", "workflow: sig\njobs: { a: { tasks: [{ name: s, log: x, wait_for_signal: go }] } }\n")
    there = remote(t, server, "run", path, "--until-waiting", "--quiet")
    t.contains(there.err, "maestro signal ")
    t.lacks(there.err, "maestro resume", "the server carries it out")
    store = ("--store", f"sqlite:{t.folder}/own.db")
    here = t.maestro("run", path, "--until-waiting", "--quiet", *store)
    t.equal((there.code, here.code), (75, 75))
    t.contains(here.err, "carries it out, as no process does now")
    run = re.search(r"maestro resume (\S{21})", here.err).group(1)
    resumed = t.start("resume", run, *store)
    t.until(lambda: t.maestro("signal", run, "go", "--id", "1", *store).code == 0, "the signal is taken")
    t.equal(t.end(resumed).code, 0, "and it is so")


HELD = """workflow: held
jobs:
  first: { tasks: [{ name: work, run: shell, retries: { attempts: 9 }, input: { command: "echo begun; while ! [ -e %s/go ]; do sleep 0.05; done; echo ended" } }] }
"""


def start_remote(t, server, *args):
    return t.start(*args, "--server", f"http://127.0.0.1:{server.port}", env={"MAESTRO_TOKEN": server.admin})


def show_both(t, server):
    """A run of the server that is shown by who started it and by one who watches, once it has begun: its id, and both."""
    ran = start_remote(t, server, "run", t.write("held.yaml", HELD % t.folder))
    t.until(lambda: "first.work: begun" in t.said(ran), "it has begun")
    run = re.search(r"run (\S{21})", t.said(ran)).group(1)
    watched = start_remote(t, server, "watch", run)
    t.until(lambda: "first.work: begun" in t.said(watched), "it is watched")
    return run, ran, watched


@case()
def a_run_is_shown_to_its_end_though_its_server_is_killed_and_comes_back(t):
    server = Server(t, "--listen", f"127.0.0.1:{free_port()}")
    run, ran, watched = show_both(t, server)
    logged = start_remote(t, server, "logs", "-f", run)
    env = {**os.environ, "MAESTRO_TOKEN": server.admin}
    ordered = subprocess.Popen([MAESTRO, "watch", run, "--server", f"http://127.0.0.1:{server.port}"], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, env=env)
    t.until(lambda: "first.work: begun" in t.said(logged), "its lines are followed")
    line = ""
    while "first.work: begun" not in line:
        line = ordered.stdout.readline()
    server.stop(signal.SIGKILL)
    for shown in (ran, watched, logged):
        t.until(lambda: "it is tried again for 30 seconds" in t.said(shown), "it is said that the server is away")
    server.start()
    (t.folder / "go").touch()
    for name, shown in (("run", ran), ("watch", watched)):
        with t.row(name):
            done = t.end(shown)
            said = done.out + done.err
            t.equal(done.code, 0, said)
            t.equal((said.count("it is tried again"), said.count("the server answers again")), (1, 1), said)
            t.contains(said, "first.work: ended")
            t.contains(said, "Execution complete: 1 succeeded")
            t.equal(said.count("Completed step: first.work"), 1, said)
    with t.row("logs -f"):
        done = t.end(logged)
        t.equal((done.code, done.out.count("first.work: ended\n")), (0, 1), done.out)
        t.equal((done.err.count("it is tried again for 30 seconds"), done.err.count("maestro: the server answers again\n")), (1, 1), done.err)
    with t.row("in order"):
        said, _ = ordered.communicate(timeout=120)
        t.true(-1 < said.find("the server answers again") < said.find("first.work: ended"), "that it answers is said before its answer: " + said)


@case()
def ctrl_c_ends_the_showing_of_a_servers_run_and_says_that_it_goes_on(t):
    server = Server(t)
    run, ran, watched = show_both(t, server)
    for shown in (ran, watched):
        shown.send_signal(signal.SIGINT)
    done = t.end(ran)
    t.equal(done.code, 75, done.err)
    t.contains(done.err, "interrupted; the run goes on: the server carries it out")
    for verb in ("watch", "pause"):
        t.contains(done.err, f"maestro {verb} {run} --server http://127.0.0.1:{server.port}")
    t.equal(t.end(watched).code, -signal.SIGINT)
    t.equal(server.get("/api/executions/" + run).json()["state"], "running")
    t.contains(t.maestro("help", "run").out, "with --server, Ctrl-C ends the showing and the run goes on")


@case()
def who_gives_a_server_up_says_that_the_run_is_there_all_the_same(t):
    server = Server(t)
    run, ran, watched = show_both(t, server)
    server.stop(signal.SIGKILL)
    for name, shown in (("run", ran), ("watch", watched)):
        with t.row(name):
            done = t.end(shown)
            t.equal(done.code, 69, done.out + done.err)
            t.contains(done.err, f"run {run} is the server's and goes on there")
            t.contains(done.err, f"'maestro watch {run} --server http://127.0.0.1:{server.port}'")


@case()
def a_key_of_a_run_with_other_parameters_is_refused_in_the_same_words_from_elsewhere(t):
    server = Server(t)
    path = t.write("hello.yaml", HELLO)

    def refused(run):
        t.equal(run("-p", "who=Ana").code, 0)
        told = run("-p", "who=Ben", "--json")
        t.equal((told.code, told.json()["error"]), (1, "IdempotencyKeyConflict"))
        return re.sub(r"run \S{21}", "run", told.err)
    here = refused(lambda *args: t.maestro("run", path, "--key", "once", *args, "--store", f"sqlite:{t.folder}/own.db"))
    t.contains(here, 'who is "Ana" there and "Ben" here')
    t.equal(refused(lambda *args: remote(t, server, "run", path, "--key", "once", *args)), here)


def as_key(t, server, key, *args, **options):
    return t.maestro(*args, "--server", f"http://127.0.0.1:{server.port}", env={"MAESTRO_TOKEN": key}, **options)


@case("proves: F-003")
def a_key_of_one_tenant_uses_the_commands_for_what_its_tenant_has(t):
    server = Server(t)
    server.define(HELLO.replace("workflow: hello", "workflow: hello\ntenant: acme"), tenant="acme")
    server.define(HELLO)
    own = server.begin("hello", {"who": "Ana"}, wait="30s", namespace="acme")["executionId"]
    foreign = server.begin("hello", {"who": "Bob"}, wait="30s")["executionId"]
    viewer, operator, author, admin = (server.key(role, "acme") for role in ("viewer", "operator", "author", "admin"))
    rows = [(("runs",), own), (("runs", "--state", "succeeded"), own), (("show", own), "hello"), (("show", own, "--events"), "run-succeeded"),
            (("logs", own), "hello Ana"), (("inspect", own, "greet.say"), "greet.say"), (("revisions",), "hello"), (("replay", own), "")]
    for args, said in rows:
        with t.row(" ".join(args)):
            done = as_key(t, server, viewer, *args, *(("--tenant", "acme") if args == ("revisions",) else ()))
            t.equal(done.code, 0, done.err)
            t.contains(done.out, said)
            t.lacks(done.out, foreign)
    for args in (("show",), ("logs",), ("show", "--events"), ("replay",), ("cancel",), ("pause",)):
        with t.row("of another tenant: " + " ".join(args)):
            done = [as_key(t, server, admin, args[0], run, *args[1:]) for run in (foreign, "c" * 21)]
            t.true(done[0].code != 0, "it is refused")
            t.equal([(d.code, d.out, d.err.replace(foreign, "ID").replace("c" * 21, "ID")) for d in done][0],
                    (done[1].code, done[1].out, done[1].err.replace("c" * 21, "ID")), "as what is not there")
    for args in (("ledger", "show"), ("ledger", "verify")):
        with t.row("of every tenant: " + " ".join(args)):
            t.contains(as_key(t, server, admin, *args).err, "needs a key of every one")
    text = HELLO.replace("workflow: hello", "workflow: by-key\ntenant: acme")
    path = t.write("by-key.yaml", text)
    t.contains(as_key(t, server, viewer, "run", path, "--param", "who=x").err, "the server answers 403")
    t.contains(as_key(t, server, operator, "run", path, "--param", "who=x").err, "does not permit workflow.create")
    ran = as_key(t, server, admin, "run", path, "--param", "who=Eve")
    t.equal(ran.code, 0, ran.out + ran.err)
    t.contains(ran.out + ran.err, "hello Eve")
    ran = as_key(t, server, operator, "run", path, "--param", "who=Ida")
    t.equal(ran.code, 0, "what is stored is started by who may start: " + ran.out + ran.err)
    t.contains(as_key(t, server, author, "run", path, "--param", "who=x").err, "does not permit execution.start")
    strange = t.write("strange.yaml", text.replace("tenant: acme", "tenant: default"))
    t.contains(as_key(t, server, admin, "run", strange, "--param", "who=x").err, "of another tenant")
    t.equal(server.get("/api/workflows/default/by-key").status, 404, "nothing was stored for another tenant")
    forged = {"verb": "start", "plan": "{}", "tenant": "default", "params": {}}
    t.equal(server.post("/api/petitions", forged, key=admin).status, 403)
    forged = {"verb": "pause", "run": foreign, "tenant": "default"}
    problem(t, server.post("/api/petitions", forged, key=admin), 404, "not-found")


@case("proves: R-084")
def a_start_by_petition_obeys_the_rules_of_starts(t):
    server = Server(t)
    text = HELLO.replace("params:", "triggers: [{ manual: { %s } }]\nparams:").replace("workflow: hello", "workflow: %s")
    for name, rule, status, kind in (("never", "enabled: false", 409, "conflict"), ("seldom", "rate_limit: 1/h", 429, "too-many-requests")):
        with t.row(name):
            server.define(text % (name, rule))
            plan = stored_plan(server, name)
            if name == "seldom":
                server.begin(name, {"who": "x"})
            asked = server.post("/api/petitions", {"verb": "start", "plan": plan, "params": {"who": "x"}}, key=server.key("operator"))
            problem(t, asked, status, kind)


@case("")
def what_only_a_command_beside_the_store_may_say_is_not_taken_from_a_client(t):
    server = Server(t)
    server.define(HELLO)
    plan = stored_plan(server, "hello")
    key = server.key("operator")
    asked = server.post("/api/petitions", {"verb": "start", "plan": plan, "params": {"who": "x"}, "directory": "/etc", "source": "schedule:forged",
                                           "payload": {"forged": True}, "origin": "10.0.0.1", "bridge": "acme"}, key=key)
    t.equal(asked.status, 200, str(asked))
    run = asked.json()["run"]
    t.equal(asked.json()["status"], "ok", "the answer")
    shown = t.maestro("ledger", "show", "--limit", "1000", "--store", "sqlite:" + server.store).out
    created = next(e for line in shown.splitlines() for r in [json.loads(line)] if r.get("run") == run for e in r["events"] if e["event"] == "run-created")
    t.equal(created.get("source"), "manual", "what started it")
    t.true("directory" not in created, "where its programs begin: " + json.dumps(created))
    t.lacks(shown, "forged")
    t.lacks(shown, "10.0.0.1")


@case("proves: F-003")
def a_key_of_every_tenant_stores_by_a_start_only_what_its_role_may_store_and_the_text_that_the_plan_is_of(t):
    server = Server(t)
    text = HELLO.replace("workflow: hello", "workflow: evil\ntenant: acme")
    path = t.write("evil.yaml", text)
    operator, admin = server.key("operator", "*"), server.admin
    refused = as_key(t, server, operator, "run", path, "--param", "who=x")
    t.true(refused.code != 0, "it is refused")
    t.contains(refused.err, "does not permit workflow.create")
    plans = {name: server.post("/api/plans", {"definition": text.replace("evil", name)}).json()["plan"] for name in ("evil", "other")}
    start = {"verb": "start", "tenant": "acme", "params": {"who": "x"}}
    for verb in ("start", "store-revision"):
        with t.row(verb):
            asked = {**start, "verb": verb, "plan": plans["evil"], "text": text}
            problem(t, server.post("/api/petitions", asked, key=operator), 403, "denied")
            forged = {**asked, "plan": plans["other"]}
            told = problem(t, server.post("/api/petitions", forged, key=admin), 409, "conflict")
            t.contains(told["detail"], "reads this definition otherwise")
            problem(t, server.post("/api/petitions", {**asked, "text": ""}, key=admin), 409, "conflict")
            problem(t, server.post("/api/petitions", {**asked, "tenant": "default"}, key=admin), 400, "invalid")
            problem(t, server.post("/api/petitions", {**asked, "plan": "{}"}, key=admin), 400, "invalid")
    t.equal(server.get("/api/workflows?namespace=acme").json()["items"], [], "nothing was stored")
    t.equal(as_key(t, server, admin, "run", path, "--param", "who=x").code, 0, "who may store it does")
    ran = as_key(t, server, operator, "run", path, "--param", "who=Ida")
    t.equal(ran.code, 0, "what is stored is started by who may start: " + ran.out + ran.err)
    text = text.replace("evil", "other")
    revision = server.define(text, tenant="acme")["_links"]["self"]["href"]
    server.stop()
    server.start()
    forged = {**start, "verb": "store-revision", "plan": plans["other"], "text": text.replace("params:", "# forged\nparams:")}
    t.equal(server.post("/api/petitions", forged).status, 200, "of a revision that is active the text is no matter")
    server.post(revision + "/deactivate")
    t.equal(server.call("DELETE", revision).status, 204)
    t.equal(server.get(server.define(text, tenant="acme")["_links"]["self"]["href"]).json()["definition"], text, "nor is it kept")


@case("proves: F-003")
def no_query_of_the_store_gives_a_tenant_what_is_anothers(t):
    """Every query there is, with every number and name of another tenant: what comes back has nothing of it."""
    server = Server(t)
    server.define(HELLO.replace("workflow: hello", "workflow: hello\ntenant: acme"), tenant="acme")
    run = server.begin("hello", {"who": "Secretive"}, wait="30s", namespace="acme")["executionId"]
    with open(ROOT / "src/view/queries.def", encoding="utf-8") as file:
        names = re.findall(r"^QUERY\((\w+),", file.read(), re.M)
    t.true(len(names) > 50, "the queries are found")
    own, attempt_like = server.key("admin", "other"), server.key("viewer", "other")
    step = server.get("/api/executions/" + run).json()["steps"][0]["stepId"]
    numbers, texts = [1, 2, 0, 10 ** 15, None], ["acme", "hello", run, step, "", "SUCCEEDED", "api-key/x"]
    tried = 0
    for name in names:
        probe = server.post("/api/store/" + name, {"params": []}, key=server.admin)
        count = int(re.search(r"takes (\d+) parameters", probe.body.decode()).group(1)) if probe.status == 400 else 0
        for values in ([[v] * count for v in numbers + texts] + [["acme"] + ["hello"] * (count - 1), ["acme"] + [10 ** 15] * (count - 1),
                                                                    [1] + [0] * (count - 1), ["acme", "hello"] + [10 ** 15] * (count - 2)]):
            values = values[:count]
            for key in (own, attempt_like):
                answer = server.post("/api/store/" + name, {"params": values}, key=key)
                with t.row(f"{name} {values}"):
                    t.true(answer.status in (200, 403, 400, 404), str(answer))
                    for leak in (run, "Secretive", "acme"):
                        t.lacks(answer.body.decode(), leak)
                    tried += 1
    t.true(tried > 500, f"{tried} questions were asked")


@case("")
def what_is_no_address_of_a_server_is_refused_and_nothing_runs_here_instead(t):
    server = Server(t)
    path = t.write("hello.yaml", HELLO)
    home = t.folder / "home"
    home.mkdir()
    plain = {"HOME": str(home), "XDG_STATE_HOME": str(home), "MAESTRO_TOKEN": server.admin}
    for address in (f"127.0.0.1:{server.port}", f"localhost:{server.port}", "ftp://x", "", "http://", "http:///api", "store.db", f"http://127.0.0.1:{server.port}?x=1"):
        for name, args, env in (("--server", ("--server", address), {}), ("$MAESTRO_SERVER", (), {"MAESTRO_SERVER": address})):
            if not address and not args:
                continue                                # a variable that is empty is none
            with t.row(f"{name} {address!r}"):
                refused = t.maestro("run", path, "-p", "who=x", *args, env={**plain, **env}, cwd=home)
                t.equal(refused.code, 2, refused.out + refused.err)
                t.contains(refused.err, f"{name} wants the address of a server, http://HOST:PORT")
                t.equal(list(home.iterdir()), [], "nothing is left behind")
    t.equal(server.get("/api/executions").json()["items"], [], "and nothing ran there")
    for address in (f"HTTP://127.0.0.1:{server.port}", f"http://127.0.0.1:{server.port}/", f"http://127.0.0.1:{server.port}/api", f"Http://127.0.0.1:{server.port}/api/"):
        with t.row(address):
            listed = t.maestro("runs", "--server", address, env=plain)
            t.equal(listed.code, 0, listed.err)
            t.equal(t.maestro("runs", env={**plain, "MAESTRO_SERVER": address}).code, 0)
    t.contains(server.line, f"http://127.0.0.1:{server.port}/api", "which is what the server says of itself")
    both = t.maestro("runs", "--server", f"http://127.0.0.1:{server.port}", "--store", "sqlite:" + server.store, env=plain)
    t.equal(both.code, 2, both.out + both.err)
    t.contains(both.err, "say one of them")
    there = {**plain, "MAESTRO_SERVER": "nowhere"}
    t.equal(t.maestro("runs", "--store", "sqlite:" + server.store, env=there).code, 0, "a store that is named is meant, whatever the variable says")
    t.equal(t.maestro("validate", path, env=there).code, 0, "what needs no store does not look at it")


@case("")
def a_worker_finds_its_server_by_the_variable_and_checks_its_key(t):
    server = Server(t, "--runners", t.write("far.yaml", "executors: { far: { kind: worker, runners: { ci/build: {} } } }\n"))
    server.define("workflow: build\njobs: { a: { tasks: [{ name: do, run: ci/build }] } }\n")
    here = t.write("near.yaml", "executors: { near: { kind: process, runners: { ci/build: { command: ['true'] } } } }\n")
    env = {"MAESTRO_SERVER": f"http://127.0.0.1:{server.port}/api", "MAESTRO_TOKEN": server.key("worker")}
    checked = t.maestro("doctor", env=env)
    t.equal(checked.code, 0, checked.out + checked.err)
    t.contains(checked.out, "ok    key       the server knows it, for what it permits: the role worker does not permit root.read")
    wrong = t.maestro("doctor", env={**env, "MAESTRO_TOKEN": "mk.default.aaaaaaaa.nonsense"})
    t.equal(wrong.code, 69, wrong.out)
    t.contains(wrong.out, "fail  key       the server answers 401")
    worker = t.start("worker", "--executor", "far", "--runners", here, env=env)
    t.until(lambda: "pulls from" in t.said(worker) or worker.poll() is not None, "it pulls")
    t.contains(t.said(worker), f"pulls from http://127.0.0.1:{server.port}, executor far")
    t.equal(server.begin("build", wait="30s")["status"], "COMPLETED")
    t.equal(t.maestro("worker", env={"MAESTRO_SERVER": ""}).code, 2, "without it a server has to be named")
    t.equal(t.maestro("worker", env={"MAESTRO_SERVER": "nowhere"}).code, 2)


@case("proves: F-003")
def commands_of_a_tenants_key_mean_its_tenant(t):
    server = Server(t)
    text = HELLO.replace("workflow: hello", "workflow: greets\ntenant: acme\ntriggers: [{ schedule: { cron: '0 1 * * *' } }, { webhook: { key: in, auth: { bearer: true } } }]")
    server.define(text.replace("[{ name: who, type: string }]", "[{ name: who, type: string, default: you }]"), tenant="acme")
    admin = server.key("admin", "acme")
    rows = [(("revisions",), "greets"), (("revisions", "greets"), "greets"), (("schedule", "list"), "greets"), (("run", "greets", "-p", "who=Ana"), "hello Ana"),
            (("policy", "review"), "no polic"), (("key", "create", "--role", "viewer"), "of tenant 'acme'"), (("trigger-token", "--workflow", "greets", "in"), "")]
    for args, said in rows:
        with t.row(" ".join(args)):
            done = as_key(t, server, admin, *args)
            t.equal(done.code, 0, done.out + done.err)
            t.contains(done.out + done.err, said)
    made = as_key(t, server, admin, "secret", "set", "Q", stdin="v")
    t.equal(made.code, 0, made.err)
    t.contains(as_key(t, server, admin, "secret", "list").out, "Q")
    t.contains(remote(t, server, "secret", "list", "--tenant", "acme").out, "Q", "it is of that tenant")
    t.lacks(remote(t, server, "secret", "list").out, "Q", "a key of every tenant means 'default'")
    t.lacks(remote(t, server, "revisions").out, "greets")
    other = as_key(t, server, admin, "revisions", "--tenant", "default")
    t.lacks(other.out, "greets", "--tenant says otherwise")
    unnamed = as_key(t, server, admin, "run", t.write("hello.yaml", HELLO), "-p", "who=x")
    t.equal(unnamed.code != 0, True)
    t.contains(unnamed.err, "namespace: acme", "the line to write")


@case("")
def a_tenants_key_does_to_its_runs_what_its_role_permits(t):
    server = Server(t)
    server.define(SLOW.replace("workflow: slow", "workflow: slow\ntenant: acme"), tenant="acme")
    server.define(HELLO)
    foreign = server.begin("hello", {"who": "Bob"}, wait="30s")["executionId"]
    run = server.begin("slow", namespace="acme")["executionId"]
    t.until(lambda: server.get("/api/executions/" + run).json()["state"] == "running", "it runs")
    operator, viewer = server.key("operator", "acme"), server.key("viewer", "acme")
    bound = as_key(t, server, operator, "rebind", run, "--region", "eu-central")
    t.equal(bound.code, 0, bound.out + bound.err)
    t.contains(server.get(f"/api/executions/{run}/events").body.decode(), "eu-central")
    t.contains(as_key(t, server, viewer, "rebind", run, "--as-defined").err, "does not permit execution.rebind")
    t.equal(as_key(t, server, operator, "cancel", run).code, 0)
    t.until(lambda: server.get("/api/executions/" + run).json()["state"] == "cancelled", "it is cancelled")
    for verb in ("verify", "export"):
        with t.row("ledger " + verb):
            here = t.maestro("ledger", verb, run, "--store", "sqlite:" + server.store)
            there = as_key(t, server, viewer, "ledger", verb, run)
            t.equal((there.code, there.err), (0, ""))
            t.equal(len(there.out.splitlines()), len(here.out.splitlines()))
            if verb == "verify":
                t.equal(there.out, here.out)
            t.true(as_key(t, server, viewer, "ledger", verb, foreign).code != 0, "that of another is not there")
            t.contains(as_key(t, server, viewer, "ledger", verb).err, "does not permit store.read", "and the whole is of every tenant")
    exported = t.write("run.jsonl", as_key(t, server, viewer, "ledger", "export", run).out)
    t.equal(t.maestro("ledger", "verify", exported).code, 0, "what was exported is whole")


@case("")
def a_client_brings_no_policies_of_its_own(t):
    server = Server(t)
    server.define(SLOW)
    run = server.begin("slow")["executionId"]
    deny = t.write("deny.rego", 'package mine\n\ndeny contains "never"\n')
    path = t.write("hello.yaml", HELLO)
    for args in (("run", path, "-p", "who=x"), ("resume", run), ("signal", run, "go"), ("approve", run), ("trigger", run, "go"), ("dispatch-polls",)):
        with t.row(args[0]):
            refused = remote(t, server, *args, "--policy", deny)
            t.equal(refused.code, 2, refused.out + refused.err)
            t.contains(refused.err, "subject to its own policies")
    t.equal(len(server.get("/api/executions").json()["items"]), 1, "nothing was started")


@case("")
def who_resumes_a_run_until_it_waits_stays_until_then(t):
    server = Server(t)
    server.define("""workflow: asks
jobs:
  a:
    tasks:
      - { name: wait, run: shell, args: ["sleep", "2"] }
      - { name: ask, log: asked, pause_after: { trigger: approval, timeout: 1h } }
""")
    run = server.begin("asks")["executionId"]
    t.until(lambda: server.get("/api/executions/" + run).json()["state"] == "running", "it runs")
    t.equal(remote(t, server, "pause", run).code, 0)
    shown = remote(t, server, "resume", run, "--until-waiting")
    t.equal(shown.code, 75, shown.out + shown.err)
    t.contains(shown.out + shown.err, "asked", "it was shown how it went on")


@case("")
def what_runs_at_a_server_is_compiled_by_it(t):
    """With its runners and none of this machine's; what is wrong is told as beside a store with the same runners."""
    runners = t.write("server-runners.yaml", "executors: { local: { kind: process, runners: { srv/only: { command: ['true'] } } } }\n")
    server = Server(t, "--runners", runners)
    flow = "workflow: %s\ntenant: acme\njobs:\n  a:\n    tasks:\n      - { name: do, run: %s }\n"
    theirs, mine = t.write("theirs.yaml", flow % ("theirs", "srv/only")), t.write("mine.yaml", flow % ("mine", "cli/only"))
    here = t.write("client-runners.yaml", "executors: { local: { kind: process, runners: { cli/only: { command: ['true'] } } } }\n")
    broken = t.write("broken-runners.yaml", "executors: [nonsense\n")
    admin = server.key("admin", "acme")
    for name, key, file in (("of every tenant", server.admin, here), ("of one tenant", admin, here), ("and what is wrong here is no matter", admin, broken)):
        with t.row("a runner of the server, with a key " + name):
            ran = as_key(t, server, key, "run", theirs, "--runners", file)
            t.equal(ran.code, 0, ran.out + ran.err)
        with t.row("a runner of the client, with a key " + name):
            ran, wanted = as_key(t, server, key, "run", mine, "--runners", file), t.maestro("validate", mine, "--runners", runners)
            t.equal((ran.code, ran.out), (65, ""))
            t.contains(ran.err, f"{mine}:6:")
            t.contains(ran.err, "cli/only")
            t.contains(wanted.err, ran.err.strip(), "what a compiler with the same runners says")
        with t.row("stored without a run, with a key " + name):
            stored = as_key(t, server, key, "revisions", "store", theirs, "--runners", file)
            t.equal(stored.code, 0, stored.out + stored.err)
            t.equal(as_key(t, server, key, "revisions", "store", mine, "--runners", file).err, ran.err)
    odd = t.write("odd.json", '{ "workflow": "odd", "jobs": { "a": { "taskz": [ { "log": "x" } ] } } }\n')
    t.equal(as_key(t, server, server.admin, "run", odd).err, t.maestro("run", odd, "--store", "memory:", "--runners", runners).err, "a mistake in JSON")
    torn = t.write("torn.yaml", "workflow: torn\njobs: [\n")
    t.equal(as_key(t, server, server.admin, "run", torn).err, t.maestro("run", torn, "--store", "memory:", "--runners", runners).err, "a text that cannot be read")
    for name, text in (("bytes of another encoding", b"workflow: odd\njobs: { a: { tasks: [{ log: \"caf\xe9\" }] } }\n"), ("a NUL", b"workflow: o\0d\n")):
        with t.row(name):
            (t.folder / "bytes.yaml").write_bytes(text)
            there, wanted = (as_key(t, server, server.admin, "run", t.folder / "bytes.yaml"),
                             t.maestro("run", t.folder / "bytes.yaml", "--store", "memory:", "--runners", runners))
            t.equal((there.code, there.out, there.err), (wanted.code, wanted.out, wanted.err))
            t.contains(there.err, "bytes.yaml:")
    config = as_key(t, server, server.admin, "run", runners)
    t.equal(config.code, 65, config.err)
    t.contains(config.err, "is a configuration, no definition")


@case("")
def a_runbook_of_the_old_format_runs_at_a_server_as_it_does_here(t):
    server = Server(t, "--runners", str(ROOT / "examples" / "runners.yaml"))
    old = ROOT / "examples/legacy-log-analysis.yaml"
    here = t.maestro("run", old, "--quiet", "--store", "memory:", "--runners", ROOT / "examples" / "runners.yaml")
    there = remote(t, server, "run", old, "--quiet")
    t.contains(here.err, "taken as it would be migrated")
    t.equal((there.code, there.err.splitlines()[:4]), (here.code, here.err.splitlines()[:4]))


@case("")
def what_a_start_would_meet_is_asked_of_the_server(t):
    t.write("never.rego", 'package maestro.never\n\ndeny contains "never here" if input.hook == "run-start"\n')
    runners = t.write("server-runners.yaml", "executors: { local: { kind: process, runners: { srv/only: { command: ['true'] } } } }\n")
    server = Server(t, "--runners", runners, "--policy", t.folder / "never.rego")
    path = t.write("flow.yaml", "workflow: flow\njobs: { a: { tasks: [{ name: do, run: srv/only }] } }\n")
    denied = remote(t, server, "plan", path, "--dry-run")
    t.equal(denied.code, 77, denied.out + denied.err)
    t.contains(denied.out, "a start would be denied")
    t.contains(denied.out, "never here")
    t.contains(denied.out, "a.do by srv/only of local")
    here = t.maestro("plan", path, "--dry-run", "--runners", runners, "--policy", t.folder / "never.rego")
    t.equal(denied.out, here.out, "as the same policies and runners say it here")
    viewer = as_key(t, server, server.key("viewer"), "plan", path, "--dry-run")
    t.equal(viewer.code, 77, viewer.out + viewer.err)
    t.contains(viewer.err, "does not permit workflow.validate")
    t.equal(viewer.out, "")
    refused = remote(t, server, "plan", path, "--dry-run", "--policy", t.folder / "never.rego")
    t.equal(refused.code, 2, refused.err)
    foreign = as_key(t, server, server.key("admin", "acme"), "plan", t.write("other.yaml", "workflow: o\ntenant: beta\njobs: { a: { tasks: [{ log: x }] } }\n"), "--dry-run")
    t.equal(foreign.code, 77, foreign.out + foreign.err)


@case("")
def a_client_needs_a_key_and_a_server(t):
    server = Server(t)
    url = f"http://127.0.0.1:{server.port}"
    for words in (("runs",), ("schedule", "list"), ("key", "list"), ("secret", "remove", "X"), ("run", t.write("hello.yaml", HELLO))):
        with t.row("without a key: " + words[0]):
            keyless = t.maestro(*words, "--server", url, env={"MAESTRO_TOKEN": ""})
            t.equal((keyless.code, keyless.err), (77, "maestro: a server asks for a key: MAESTRO_TOKEN has it, and 'maestro key create' makes one\n"))
    for key in (server.key("worker", "*"), "nonsense"):
        refused = t.maestro("runs", "--server", url, env={"MAESTRO_TOKEN": key})
        t.equal(refused.code != 0, True, "refused")
        t.contains(refused.err, "the server answers 40")
    server.stop()
    gone = t.maestro("runs", "--server", url, env={"MAESTRO_TOKEN": server.admin})
    t.equal(gone.code, 69)
    t.contains(gone.err, "cannot be asked")
    by_variable = t.maestro("runs", env={"MAESTRO_SERVER": url, "MAESTRO_TOKEN": server.admin})
    t.contains(by_variable.err, url)


@case("")
def a_command_whose_key_is_over_its_rate_waits_and_says_the_same(t):
    server = Server(t, "--rate", "2", "--tenant-rate", "2")
    path = t.write("hello.yaml", HELLO)
    for args in (("run", path, "-p", "who=Ana", "--again"), ("runs",), ("revisions", "--json"), ("schedule", "list"), ("logs", "last"), ("show", "nobody")):
        with t.row(args[0]):
            there = remote(t, server, *args)
            t.lacks(there.out + there.err, "429")
            if args[0] == "run":
                t.equal(there.code, 0, there.err)
                continue
            here = t.maestro(*args, "--store", "sqlite:" + server.store)
            t.equal((there.code, there.out, there.err), (here.code, here.out, here.err))
    seldom = t.write("seldom.yaml", "workflow: seldom\ntriggers: [{ manual: { rate_limit: 1/h } }]\njobs: { a: { tasks: [{ log: x }] } }\n")
    t.equal(remote(t, server, "run", seldom).code, 0)
    late = remote(t, server, "run", seldom)
    t.equal(late.code, 69, "what comes again in an hour is not waited for")
    t.contains(late.err, "the server answers 429")


@case("proves: R-020")
def a_petition_whose_members_are_of_another_type_is_refused(t):
    server = Server(t)
    server.define(HELLO)
    for verb in "activate", "deactivate", "remove-revision":
        for revision in "1", [], {"a": 1}, True, 1.5, -1, 10**30, None:
            with t.row(f"{verb} {revision}"):
                problem(t, server.post("/api/petitions", {"verb": verb, "workflow": "hello", "revision": revision}), 400, "invalid")
    problem(t, server.post("/api/petitions", {"verb": "activate", "workflow": "hello", "revision": 1, "against": "1"}), 400, "invalid")
    t.equal(server.get("/healthz").status, 200, "the server lives")


if __name__ == "__main__":
    main()
