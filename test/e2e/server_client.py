#!/usr/bin/env python3
"""Commands as clients of a server: --server URL does and says the same as a store of one's own."""
import re

from maestro_test import case, main
from server_test import HELLO, Server

SLOW = "workflow: slow\njobs:\n  a:\n    tasks:\n      - { name: wait, run: shell, args: [\"sleep\", \"600\"] }\n"

FAILING = """workflow: fails
jobs:
  a:
    tasks:
      - { name: one, log: "one" }
      - { name: two, run: shell, args: ["sh", "-c", "exit 65"], retries: { attempts: 1 } }
"""


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


@case("")
def a_client_needs_a_key_of_every_tenant_and_a_server(t):
    server = Server(t)
    url = f"http://127.0.0.1:{server.port}"
    t.contains(t.maestro("runs", "--server", url, env={"MAESTRO_TOKEN": ""}).err, "MAESTRO_TOKEN")
    for key in (server.key("admin"), server.key("viewer", "*"), "nonsense"):
        refused = t.maestro("runs", "--server", url, env={"MAESTRO_TOKEN": key})
        t.equal(refused.code != 0, True, "refused")
        t.contains(refused.err, "the server answers 40")
    server.stop()
    gone = t.maestro("runs", "--server", url, env={"MAESTRO_TOKEN": server.admin})
    t.equal(gone.code, 69)
    t.contains(gone.err, "cannot be asked")
    by_variable = t.maestro("runs", env={"MAESTRO_SERVER": url, "MAESTRO_TOKEN": server.admin})
    t.contains(by_variable.err, url)


if __name__ == "__main__":
    main()
