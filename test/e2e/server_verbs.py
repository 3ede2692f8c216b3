#!/usr/bin/env python3
"""Every command of 'maestro help', beside a store and as a client of a server: the same output, or a refusal that says why."""
import re
import sqlite3

from maestro_test import ROOT, case, main
from server_test import HELLO, Server

FAILING = """workflow: fails
jobs:
  a:
    tasks:
      - { name: one, log: "one" }
      - { name: two, run: shell, args: ["sh", "-c", "exit 65"], retries: { attempts: 1 } }
"""
PAUSED = """workflow: asks
jobs: { a: { tasks: [{ name: ask, log: asked, pause_after: { trigger: approval, timeout: 1h, auth: { bearer: true } } }] } }
"""
COLD = "workflow: cold\ntriggers: [{ schedule: { cron: '0 1 * * *', freeze_windows: ['Jan 1..Dec 31'] } }]\njobs: { a: { tasks: [{ log: x }] } }\n"


def words_of(t):
    """Every command, those of commands included, as 'maestro help' has them."""
    found = []
    for name in re.findall(r"^  ([a-z-]+) ", t.maestro("help").out.split("commands:")[1].split("exit codes:")[0], re.M):
        inner = re.findall(r"^  ([a-z-]+) ", t.maestro("help", name).out.split("commands:")[1].split("options:")[0], re.M) \
            if "\ncommands:\n" in t.maestro("help", name).out else []
        found += [f"{name} {word}" for word in inner]
        if not inner or name == "revisions":            # which lists, and has commands beside
            found.append(name)
    return found


# What each is tried with. {run}, {failed}, {asks}: executions; {other}: another one of the same. A command that changes something is tried on
# one of them beside the store and on the other as a client.
SAME = {
    "run": ["run {flow} --param who=Ana --quiet"], "validate": ["validate {flow}"], "validate-runbook": ["validate-runbook {runbook}"],
    "plan": ["plan {flow}", "plan {flow} --dry-run -p who=Ana --json"], "visualize": ["visualize {flow}"],
    "check": ["check --production {flow} --json", "check {flow} --against {flow}"], "migrate": ["migrate {runbook}"],
    "runs": ["runs", "runs --json"], "revisions": ["revisions", "revisions hello --json"],
    "revisions activate": ["revisions activate hello@1", "revisions activate none@1"], "revisions deactivate": ["revisions deactivate none@1"],
    "revisions store": ["revisions store {flow}", "revisions store {flow} --json", "revisions store {wrong}"],
    "revisions remove": ["revisions remove none@1", "revisions remove hello@1"],
    "schedule list": ["schedule list", "schedule list --json"], "schedule next": ["schedule next cold --json"],
    "schedule override": ["schedule override --list", "schedule override cold 2101-01-01T00:00:00Z --reason x"],
    "show": ["show {run}", "show {run} --json", "show nobody"], "inspect": ["inspect {run} greet.say"], "logs": ["logs {run}"],
    "watch": ["watch {run} --quiet"], "pause": ["pause {run}"], "resume": ["resume {run}"], "cancel": ["cancel {run}"],
    "rebind": ["rebind {run} --region eu", "rebind {asks} --as-defined --json"], "signal": ["signal {run} go"], "approve": ["approve {run}"], "trigger": ["trigger {run} go"],
    "resolve": ["resolve {run} --decision retry --reason x"], "retry-from": ["retry-from {run} greet.say"], "compensate": ["compensate {failed} --reason x"],
    "retry-compensation": ["retry-compensation {run}"], "skip-compensation": ["skip-compensation {run}"],
    "dispatch-polls": ["dispatch-polls"], "recover-polls": ["recover-polls"], "process-auto-retries": ["process-auto-retries"],
    "check-trigger-timeouts": ["check-trigger-timeouts"], "process-scheduled-resumes": ["process-scheduled-resumes"],
    "key list": ["key list --json"], "key revoke": ["key revoke nobody"], "key create": ["key create --role odd"],
    "secret list": ["secret list"], "secret remove": ["secret remove NONE"], "secret set": ["secret set"],
    "trigger-token": ["trigger-token {asks} approval", "trigger-token {run} approval"],
    "ledger verify": ["ledger verify", "ledger verify {run}"], "ledger show": ["ledger show", "ledger show --limit 3"],
    "ledger export": ["ledger export {run}"], "ledger anchor": ["ledger anchor --key {anchor}"],
    "replay": ["replay {run}", "replay {run} --verify"], "diff": ["diff {run} {failed}"],
    "policy eval": ["policy eval 1+1"], "policy test": ["policy test {policy}"], "policy check": ["policy check {policy}"], "policy fmt": ["policy fmt {policy}"],
    "policy review": ["policy review", "policy review --json"], "policy bench": ["policy bench"],
    "help": ["help", "help runs"], "completion": ["completion bash"], "version": ["version"],
}
USAGE = {"key create --role odd", "secret set", "policy bench"}
# What a client cannot do, with the exit code and words of the refusal: it is a matter of the machine that has the store.
REFUSED = {
    "ledger erase": ("ledger erase {run} greet.say --reason x", 69, "on the machine that has the store"),
    "store backup": ("store backup {copy}", 69, "on the machine that has the store"),
    "store archive": ("store archive --before 1h --to {copy}", 69, "on the machine that has the store"),
    "server": ("server --listen 127.0.0.1:0", 69, "on the machine that has the store"),
}
# What is said in other words, since a server is looked at from outside, or what is no matter of a store at all.
OTHERWISE = {"store verify", "doctor", "worker", "bench"}


@case("")
def every_command_says_the_same_of_a_server_as_beside_its_store(t):
    runners = str(ROOT / "examples" / "runners.yaml")        # of both: a server has no stand-ins
    server = Server(t, "--runners", runners)
    for text in (HELLO, FAILING, PAUSED, COLD):
        server.define(text)
    names = {"run": server.begin("hello", {"who": "Ana"}, wait="30s")["executionId"], "failed": server.begin("fails", wait="30s")["executionId"],
             "asks": server.begin("asks", wait="30s")["executionId"], "flow": t.write("hello.yaml", HELLO), "wrong": t.write("wrong.yaml", "workflow: w\n"), "anchor": t.folder / "anchor.key",
             "runbook": ROOT / "examples" / "log-analysis.yaml", "policy": t.write("calm.rego", "package calm\n\nallow := true\n"), "copy": t.folder / "copy.db"}
    url = f"http://127.0.0.1:{server.port}"
    here = lambda words: t.maestro(*words, "--store", "sqlite:" + server.store, env={"MAESTRO_RUNNERS": runners})
    there = lambda words: t.maestro(*words, "--server", url, env={"MAESTRO_RUNNERS": runners, "MAESTRO_TOKEN": server.admin})
    fill = lambda line: [word.format(**names) for word in line.split()]

    def plain(result):
        """Without how a store or server is named, and without what differs from moment to moment."""
        text = (result.out + result.err).replace("--server " + url, "WHERE").replace("--store sqlite:" + server.store, "WHERE")
        return result.code, re.sub(r"(?<![\w-])[\w-]{21}(?![\w-])|\d\d:\d\d:\d\d(\.\d+)?|\"signature\":\"\w+\"|\d+ms|\d+\.\ds|\"durationMs\":\d+|\"digest\":\"[0-9a-f]{64}\"", "VARIES", text)

    known = words_of(t)
    t.equal(sorted(known), sorted([*SAME, *REFUSED, *OTHERWISE]), "every command is tried")
    here(fill("ledger anchor --key {anchor}"))
    has_store = lambda words: "--store" in t.maestro("help", *words[:2]).out or "--store" in t.maestro("help", words[0]).out
    for command, lines in SAME.items():
        for line in lines:
            with t.row(line):
                words = fill(line)
                local = here(words) if has_store(command.split()) else t.maestro(*words, env={"MAESTRO_RUNNERS": runners})
                t.equal(plain(there(words)), plain(local))
                t.equal(local.code == 2, line in USAGE, "a mistake in the line proves nothing: " + local.err)
    for command, (line, code, why) in REFUSED.items():
        with t.row(line):
            refused = there(fill(line))
            t.equal(refused.code, code, refused.out + refused.err)
            t.contains(refused.err, why)
    checked = there(["store", "verify"])
    t.equal(checked.code, 0, checked.err)
    t.contains(checked.out, "rows are what the records make")
    t.contains(there(["doctor"]).out, "it takes requests")
    other = t.maestro("store", "verify", "--server", url, env={"MAESTRO_TOKEN": server.key("admin", "acme")})
    t.equal(other.code, 77, "a ledger belongs to every tenant: " + other.out + other.err)
    server.stop()
    t.equal((there(["doctor"]).code, there(["store", "verify"]).code), (69, 69), "a server that is not there")


@case("proves: F-097")
def a_client_finds_what_was_changed_in_the_store_of_a_server(t):
    server = Server(t)
    server.define(HELLO)
    run = server.begin("hello", {"who": "Ana"}, wait="30s")["executionId"]
    server.stop()
    with sqlite3.connect(server.store) as db:
        for (trigger,) in db.execute("select name from sqlite_master where type = 'trigger'").fetchall():
            db.execute(f"drop trigger {trigger}")
        db.execute("update maestro_workflows set state = 'FAILED'")
    db.close()
    server.start()
    for words in (("store", "verify"), ("ledger", "verify"), ("ledger", "verify", run)):
        with t.row(" ".join(words)):
            here = t.maestro(*words, "--store", "sqlite:" + server.store)
            there = t.maestro(*words, "--server", f"http://127.0.0.1:{server.port}", env={"MAESTRO_TOKEN": server.admin})
            t.equal((there.code, there.out), (here.code, here.out), there.err)
            t.equal(there.code, 65)
            t.contains(there.out, 'found "FAILED", expected "SUCCEEDED"')


if __name__ == "__main__":
    main()
