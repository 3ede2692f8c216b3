#!/usr/bin/env python3
"""Several processes on one store: one owns it, the others hand it their runs and requests; owners end, and are killed."""
import json
import re
import resource
import signal
import time

from maestro_test import SANITIZED, case, main

STEP = "echo one; sleep 0.4; echo %d >> {folder}/done-${{params.who}}"
FLOW = "workflow: chain\nparams: [{{ name: who, type: string }}]\njobs:\n" + "".join(
    f'  j{i}: {{{{ {f"needs: [j{i - 1}], " if i else ""}tasks: [{{{{ name: t{i}, run: shell, input: {{{{ command: "{STEP % i}" }}}} }}}}] }}}}\n'
    for i in range(4))


def store(t):
    return ("--store", f"sqlite:{t.folder}/store.db")


def start(t, who):
    file = t.folder / "chain.yaml"
    if not file.exists():                       # others may be reading it
        t.write("chain.yaml", FLOW.format(folder=t.folder))
    return t.start("run", file, "-p", f"who={who}", *store(t))


def runs(t):
    listed = t.maestro("runs", "--json", *store(t))
    return [json.loads(line) for line in listed.out.splitlines()] if listed.code == 0 else []


def done(t, who):
    path = t.folder / f"done-{who}"
    return path.read_text().split() if path.exists() else []


def is_done_in_order(t, who):
    """Every step, in order. One that had acted when its owner was killed, and was not recorded yet, has acted once more."""
    steps = done(t, who)
    t.equal([step for i, step in enumerate(steps) if i == 0 or steps[i - 1] != step], ["0", "1", "2", "3"], f"steps of {who}")


def is_recorded_once(t, run_id):
    """No step succeeds twice, and none that has succeeded is dispatched again."""
    succeeded = set()
    for line in t.maestro("show", run_id, "--events", "--json", *store(t)).out.splitlines():
        event = json.loads(line)
        if event["event"] in ("step-succeeded", "step-dispatched"):
            t.true(event["step"] not in succeeded, f"after its success: {event}")
        if event["event"] == "step-succeeded":
            succeeded.add(event["step"])
    t.equal(succeeded, {0, 1, 2, 3}, "steps that have succeeded")


def owner(t):
    """The process that owns the store: its number is in the lock file."""
    return int((t.folder / "store.db.lock").read_text())


def is_sound(t):
    for row in runs(t):
        with t.row(row["run"]):
            t.equal(row["state"], "succeeded")
            t.equal(t.maestro("replay", row["run"], "--verify", *store(t)).code, 0, "replay --verify")
    t.equal(t.maestro("store", "verify", *store(t)).code, 0, "store verify")


@case()
def a_second_run_is_carried_out_by_the_owner_and_outlives_it(t):
    first = start(t, "a")
    t.until(lambda: done(t, "a"), "the first run is under way")
    second = start(t, "b")
    t.until(lambda: len(runs(t)) == 2, "the second run is in the store")
    t.equal(owner(t), first.pid, "the owner")
    one, two = t.end(first), t.end(second)
    t.equal((one.code, two.code), (0, 0), f"codes; {one.err}{two.err}")
    for text in (one.err, two.err):
        t.lacks(text, "lock")
    t.equal((done(t, "a"), done(t, "b")), (["0", "1", "2", "3"],) * 2, "steps that were done")
    is_sound(t)


@case("proves: R-005 R-093")
def when_owners_are_killed_others_go_on_and_nothing_recorded_is_done_twice(t):
    names = ["a", "b", "c", "d"]
    processes = {name: start(t, name) for name in names}
    t.until(lambda: len(runs(t)) == len(names), "all runs are in the store")
    ids = {}
    by_pid = {process.pid: name for name, process in processes.items()}
    followers = [t.start("logs", row["run"], "-f", *store(t)) for row in runs(t)]
    for _ in range(2):
        time.sleep(0.5)
        t.until(lambda: owner(t) in by_pid or all(p.poll() is not None for p in processes.values()), "one of them owns the store")
        killed = owner(t)
        if killed not in by_pid or processes[by_pid[killed]].poll() is not None:
            break                               # a `resume` became the owner and has carried out all of it
        processes[by_pid[killed]].send_signal(signal.SIGKILL)
        ids[by_pid.pop(killed)] = True
        for row in runs(t)[:2]:                 # others send requests while nobody, or somebody else, is the owner
            result = t.maestro("pause", row["run"], *store(t))
            t.true(result.code in (0, 1), f"pause: {result.code} {result.err}")
            t.lacks(result.err, "lock")
            result = t.maestro("signal", row["run"], "note", *store(t))
            t.true(result.code in (0, 1), f"signal: {result.code} {result.err}")
            t.equal(t.maestro("show", row["run"], *store(t)).code, 0)
            t.until(lambda: t.maestro("resume", row["run"], *store(t)).code in (0, 1), "it is resumed")
    for name, process in processes.items():
        if name in ids:
            continue
        result = t.end(process, 60)
        t.equal(result.code, 0, f"{name}: {result.out}{result.err}")
        t.lacks(result.err, "lock")
        steps = re.findall(r"Completed step: (\S+)", result.out)
        t.equal(len(steps), len(set(steps)), f"completions told twice: {steps}")
    for row in runs(t):
        if row["state"] != "succeeded":         # its process was killed, and the last owner ended before it
            t.equal(t.maestro("resume", row["run"], *store(t)).code, 0)
    for follower in followers:
        t.equal(t.end(follower).code, 0, "logs -f")
    for name in names:
        is_done_in_order(t, name)
    for row in runs(t):
        is_recorded_once(t, row["run"])
    is_sound(t)
    signals = [e for row in runs(t) for e in t.maestro("show", row["run"], "--events", "--json", *store(t)).out.splitlines()
               if json.loads(e)["event"] == "signal-received"]
    commands = [json.loads(e).get("command") for e in signals]
    t.equal(len(commands), len(set(commands)), "each signal once")


@case()
def starts_during_killings_are_lost_never_and_made_once(t):
    """Whoever started a run sees it end; there are as many runs as starts, however often owners are killed."""
    count = 3 if SANITIZED else 6
    victims = [start(t, "v0")]
    t.until(lambda: done(t, "v0"), "the first owner is at work")
    processes = [start(t, f"p{i}") for i in range(count)]
    time.sleep(0.05)
    victims[0].kill()
    results = [t.end(process, 90) for process in processes]
    for result in results:
        t.equal(result.code, 0, f"{result.out}{result.err}")
    t.until(lambda: len(runs(t)) >= count + 1, "all runs are there")
    t.equal(len(runs(t)), count + 1, "runs")
    for i in range(count):
        is_done_in_order(t, f"p{i}")


@case()
def a_follower_may_be_interrupted_and_the_run_goes_on(t):
    first = start(t, "a")
    t.until(lambda: done(t, "a"), "the first run is under way")
    second = start(t, "b")
    t.until(lambda: len(runs(t)) == 2, "the second run is in the store")
    second.send_signal(signal.SIGINT)
    result = t.end(second)
    t.equal(result.code, 75)
    t.contains(result.err, "maestro watch")
    t.equal(t.end(first).code, 0)
    watched = next(row for row in runs(t) if row["run"] in result.err)
    if watched["state"] != "succeeded":
        t.equal(t.maestro("resume", watched["run"], *store(t)).code, 0)
    t.equal(done(t, "b"), ["0", "1", "2", "3"])


@case()
def a_run_with_other_runners_waits_for_the_owner_to_end(t):
    flow = "workflow: named\njobs: { a: { tasks: [{ run: say }] } }\n"
    runners = "executors: {{ local: {{ kind: process, runners: {{ say: {{ command: [/bin/sh, -c, 'sleep {sleep}; echo {text} >> {folder}/said'] }} }} }} }}\n"
    file = t.write("named.yaml", flow)
    one = t.write("one.yaml", runners.format(sleep=2, text="one", folder=t.folder))
    two = t.write("two.yaml", runners.format(sleep=0, text="two", folder=t.folder))
    first = t.start("run", file, "--runners", one, *store(t))
    t.until(lambda: (t.folder / "store.db").exists() and runs(t), "the first run is in the store")
    second = t.start("run", file, "--runners", two, *store(t))
    t.equal((t.end(first).code, t.end(second).code), (0, 0))
    t.equal((t.folder / "said").read_text(), "one\ntwo\n", "each by its own runners")
    t.contains(t.end(second).err, "other runners")


@case()
def a_step_whose_runner_the_next_owner_does_not_know_waits_for_one_that_does(t):
    runners = "executors: {{ local: {{ kind: process, runners: {{ say: {{ command: [/bin/sh, -c, '{command}'] }} }} }} }}\n"
    file = t.write("named.yaml", "workflow: named\njobs: { a: { tasks: [{ name: s, run: say }] } }\n")
    gate = t.write("gate.yaml", "workflow: gate\njobs: { a: { tasks: [{ log: x, wait_for_signal: go }] } }\n")
    slow = t.write("slow.yaml", runners.format(command=f"echo begun >> {t.folder}/said; sleep 600"))
    quick = t.write("quick.yaml", runners.format(command=f"echo done >> {t.folder}/said"))
    none = t.write("none.yaml", "executors: { local: { kind: process, runners: { other: { command: [/bin/true] } } } }\n")
    said = t.folder / "said"
    first = t.start("run", file, "--runners", slow, *store(t))
    t.until(lambda: said.exists() and said.read_text(), "the step is under way")
    run = runs(t)[0]["run"]
    first.kill()
    first.wait()
    second = t.start("run", gate, "--runners", none, *store(t))
    t.until(lambda: "waits for a process that knows the runner 'say'" in t.maestro("show", run, *store(t)).out, "show says so")
    shown = t.maestro("show", run, "--json", *store(t)).json()
    t.equal([waiting["step"] for waiting in shown["waiting"]], ["a.s"])
    t.contains(shown["waiting"][0]["why"], "offer it in runners.yaml, or with --runners", "how to offer it")
    t.until(lambda: t.maestro("show", run, *store(t)).out.count("(1 lost)"), "the execution that was lost is told beside its try")
    t.true(shown["state"] not in ("failed", "succeeded"), f"the run goes on: {shown['state']}")
    t.equal(t.maestro("signal", next(row["run"] for row in runs(t) if row["workflow"] == "gate"), "go", *store(t)).code, 0)
    t.equal(t.end(second).code, 0, "the other run")
    t.equal(t.maestro("resume", run, "--runners", quick, *store(t)).code, 0, "one that knows the runner")
    t.equal(said.read_text(), "begun\ndone\n")
    t.lacks(t.maestro("show", run, *store(t)).out, "waits for")
    is_sound(t)
    t.row("a start is refused")
    result = t.maestro("run", file, "--runners", none, *store(t))
    t.equal(result.code, 65)
    t.contains(result.err, "say")
    cloud = t.write("cloud.yaml", "executors: { far: { kind: kubernetes, runners: { say: { image: say } } } }\n")
    result = t.maestro("run", file, "--runners", cloud, *store(t))
    t.equal(result.code, 65)
    t.contains(result.err, "step a.s: no executor offers the runner 'say'")


@case()
def a_store_in_memory_or_at_a_long_path_has_its_owner_too(t):
    folder = t.folder / ("long-" * 20) / ("path-" * 20)
    folder.mkdir(parents=True)
    long_store = ("--store", f"sqlite:{folder}/store.db")
    file = t.write("gate.yaml", "workflow: gate\njobs: { a: { tasks: [{ log: x, wait_for_signal: go }] } }\n")
    process = t.start("run", file, *long_store)
    t.until(lambda: (folder / "store.db").exists() and "waiting-signal" in t.maestro("runs", *long_store).out, "it waits")
    t.equal(t.maestro("signal", "last", "go", *long_store).code, 0)
    result = t.end(process)
    t.equal((result.code, result.err), (0, ""))
    t.equal(t.maestro("run", "examples/hello.yaml", "--store", "memory:").code, 0, "a store in memory")
    failing = t.write("failing.yaml", "workflow: failing\njobs: { a: { tasks: [{ run: shell, input: { command: exit 65 } }] } }\n")
    failed = t.maestro("run", failing, "--store", "memory:")
    t.equal(failed.code, 1)
    t.lacks(failed.out + failed.err, "maestro resolve", "what is offered")
    for words in (("runs",), ("show", "last"), ("resolve", "last", "--decision", "retry"), ("ledger", "verify")):
        gone = t.maestro(*words, "--store", "memory:")
        t.equal(gone.code, 69, words[0])
        t.contains(gone.err, "ends with it")


@case("proves: F-006 F-017")
def a_request_sent_again_with_its_id_counts_once(t):
    trace = "0af7651916cd43dd8448eb211c80319c"
    env = {"TRACEPARENT": f"00-{trace}-b7ad6b7169203331-01"}
    file = t.write("gate.yaml", "workflow: gate\njobs: { a: { tasks: [{ log: x, wait_for_signal: go }] } }\n")
    process = t.start("run", file, *store(t), env=env)
    t.until(lambda: (t.folder / "store.db").exists() and "waiting-signal" in t.maestro("runs", *store(t)).out, "it waits")
    first = t.maestro("signal", "last", "note", "--id", "n-1", "--json", *store(t))
    again = t.maestro("signal", "last", "note", "--id", "n-1", "--json", *store(t))
    t.equal((first.code, again.code), (0, 0))
    was = first.json()
    t.equal((was.pop("repeat"), was.pop("before")), (False, "waiting-signal"))
    t.equal(again.json(), {**was, "repeat": True}, "the same answer, without a state before: nothing was done")
    other = t.maestro("signal", "last", "note", "--id", "n-1", "--payload", "1", "--json", *store(t))
    t.equal((other.code, other.json()["error"]), (65, "IdempotencyKeyReused"), "another request with the same id is refused")
    t.contains(other.err, "another request")
    t.equal(t.maestro("signal", "last", "go", "--id", "g-1", *store(t)).code, 0)
    t.equal(t.end(process).code, 0)
    # The next owner, which this one is itself, knows it too.
    late = t.maestro("signal", "last", "go", "--id", "g-1", *store(t))
    t.equal(late.code, 0, "a signal that was taken, asked again of a run that has ended")
    shown = [json.loads(line) for line in t.maestro("ledger", "show", "--from", "1", "--limit", "100", *store(t)).out.splitlines()]
    events = [event for record in shown for event in record["events"]]
    t.equal([event["name"] for event in events if event["event"] == "signal-received"], ["note", "go"], "signals")
    t.true(all("step" not in event for event in events if event["event"] == "signal-received"), "they are of no step")
    t.true(len([event for event in events if event["event"] == "owner-changed"]) >= 2, "the log tells of its owners")
    t.equal({record["trace"].split("-")[1] for record in shown if "run" in record}, {trace}, "one trace")
    t.true(all("policy" in record for record in shown), "every record names its policy")
    t.equal(t.maestro("ledger", "verify", *store(t)).code, 0, "the ledger")


@case("proves: F-084")
def while_the_disk_is_full_people_are_told_and_then_the_run_goes_on(t):
    go = t.folder / "go"
    file = t.write("full.yaml", "workflow: full\njobs:\n  a:\n    tasks:\n"
                   f"      - {{ name: one, run: shell, args: [sh, -c, 'while ! [ -e {go} ]; do sleep 0.02; done'] }}\n"
                   "      - { name: two, run: shell, args: ['true'] }\n")
    process = t.start("run", file, *store(t))
    t.until(lambda: runs(t) and runs(t)[0]["state"] == "running", "the run is under way")
    run = runs(t)[0]["run"]
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1024, resource.RLIM_INFINITY))        # as good as a full disk
    go.touch()
    t.until(lambda: "cannot be written" in t.said(process), "the run tells of it")
    t.contains(t.said(process), f"maestro resume {run}", "what to type")
    result = t.maestro("pause", run, *store(t))
    t.true(result.code != 0, "nothing was paused")
    t.contains(result.err, "the store cannot be written")
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    result = t.end(process)
    t.equal(result.code, 0, result.err)
    t.contains(result.out + result.err, "can be written again")
    is_sound(t)


@case()
def a_run_is_carried_out_in_the_directory_of_its_start_whoever_owns_it(t):
    for name in ("here", "there"):
        (t.folder / name).mkdir()
        (t.folder / name / "file").write_text(name)
    gate = t.write("gate.yaml", "workflow: gate\njobs: { a: { tasks: [{ log: x, wait_for_signal: go }] } }\n")
    file = t.write("reads.yaml", "workflow: reads\njobs: { a: { tasks: [{ name: s, run: shell, input: { command: 'cat file' } }] } }\n")
    owns = t.start("run", gate, *store(t), cwd=t.folder / "there")
    t.until(lambda: runs(t), "it owns the store")
    beside = t.maestro("run", file, *store(t), cwd=t.folder / "here")
    t.equal(beside.code, 0, beside.err)
    t.contains(beside.out, "a.s: here", "carried out by the owner, where the run was started")
    t.equal(t.maestro("signal", next(row["run"] for row in runs(t) if row["workflow"] == "gate"), "go", *store(t)).code, 0)
    t.equal(t.end(owns).code, 0)
    with t.row("a directory that is gone"):
        slow = t.write("slow.yaml", "workflow: slow\njobs: { a: { tasks: [{ name: w, log: x, wait_for_signal: go }, "
                                    "{ name: s, run: shell, input: { command: 'cat file' } }] } }\n")
        waits = t.start("run", slow, *store(t), cwd=t.folder / "here")
        t.until(lambda: runs(t)[0]["workflow"] == "slow" and runs(t)[0]["state"] == "waiting-signal", "it waits")
        (t.folder / "here").rename(t.folder / "gone")
        t.equal(t.maestro("signal", runs(t)[0]["run"], "go", *store(t)).code, 0)
        t.equal(t.end(waits).code, 1)
        t.contains(t.maestro("show", "last", *store(t)).out, "its directory")
    t.equal(t.maestro("ledger", "verify", *store(t)).code, 0)


@case()
def the_same_command_tells_what_recovery_decided(t):
    gone = t.folder / "gone"
    file = t.write("held.yaml", f"workflow: held\njobs: {{ a: {{ tasks: [{{ name: s, run: shell, input: {{ command: "
                                f"'test -e {gone} || {{ echo begun > {t.folder}/begun; sleep 600; }}' }} }}] }} }}\n")
    first = t.start("run", file, "--key", "k", *store(t))
    t.until(lambda: (t.folder / "begun").exists() and runs(t), "its step is under way")
    first.kill()
    first.wait()
    gone.touch()
    again = t.maestro("run", file, "--key", "k", *store(t))
    t.equal(again.code, 0, again.err)
    t.contains(again.out, "[WARN] Lost step: a.s - its process has ended")
    t.contains(again.out, "Starting step: a.s", "and that it is carried out again")
    t.matches(t.maestro("show", "last", *store(t)).out, r"a\.s +succeeded +1 \(1 lost\)")
    t.equal([(step["attempts"], step["lost"]) for step in t.maestro("show", "last", "--json", *store(t)).json()["steps"]], [(1, 1)])


@case()
def resume_beside_an_owner_ends_or_follows(t):
    gate = t.write("gate.yaml", "workflow: gate\njobs: { a: { tasks: [{ log: x, wait_for_signal: go }] } }\n")
    file = t.write("two.yaml", f"workflow: two\njobs: {{ a: {{ tasks: [{{ name: s, run: shell, input: {{ command: "
                               f"'until test -e {t.folder}/go; do sleep 0.05; done' }} }}, {{ name: e, log: end }}] }} }}\n")
    owns = t.start("run", gate, *store(t))
    t.until(lambda: runs(t), "it owns the store")
    beside = t.start("run", file, *store(t))
    t.until(lambda: runs(t)[0]["workflow"] == "two" and runs(t)[0]["state"] == "running", "it runs")
    run = runs(t)[0]["run"]
    t.equal(t.maestro("pause", run, *store(t)).code, 0)
    told = t.maestro("resume", run, *store(t))
    t.equal(told.code, 0)
    t.contains(told.err, f"maestro watch {run}")
    t.equal(t.maestro("pause", run, *store(t)).code, 0)
    followed = t.start("resume", run, "--follow", *store(t))
    t.until(lambda: runs(t)[0]["state"] == "running", "it was resumed")
    (t.folder / "go").touch()
    ended = t.end(followed)
    t.equal(ended.code, 0)
    t.contains(ended.out, "Completed step: a.e")
    t.equal(t.end(beside).code, 0)
    t.equal(t.maestro("signal", next(row["run"] for row in runs(t) if row["workflow"] == "gate"), "go", *store(t)).code, 0)
    t.equal(t.end(owns).code, 0)

@case()
def a_store_has_one_owner_by_whatever_name_it_is_called(t):
    first = start(t, "a")
    t.until(lambda: done(t, "a"), "the first run is under way")
    (t.folder / "link.db").symlink_to("store.db")
    second = t.start("run", t.folder / "chain.yaml", "-p", "who=b", "--store", t.folder / "link.db")
    t.until(lambda: len(runs(t)) == 2, "the second run is in the store")
    t.equal(owner(t), first.pid, "the owner")
    one, two = t.end(first), t.end(second)
    t.equal((one.code, two.code), (0, 0), f"codes; {one.err}{two.err}")
    t.equal((done(t, "a"), done(t, "b")), (["0", "1", "2", "3"],) * 2, "steps that were done")
    t.equal(sorted(p.name for p in t.folder.glob("link.db*")), ["link.db"], "nothing lies beside the link")
    is_sound(t)
    with t.row("a link to what is not there yet"):
        (t.folder / "later.db").symlink_to("made.db")
        t.equal(t.maestro("run", "chain.yaml", "-p", "who=c", "--store", "later.db", cwd=t.folder).code, 0)
        t.equal(((t.folder / "made.db").is_file(), (t.folder / "made.db.lock").is_file()), (True, True), "it was made")
    with t.row("a circle"):
        (t.folder / "round.db").symlink_to("round.db")
        t.equal(t.maestro("run", "chain.yaml", "-p", "who=d", "--store", "round.db", cwd=t.folder).code, 65)
    with t.row("a second hard link"):
        (t.folder / "hard.db").hardlink_to(t.folder / "store.db")
        for name in ("store.db", "hard.db"):
            result = t.maestro("run", "chain.yaml", "-p", "who=d", "--store", name, cwd=t.folder)
            t.equal((result.code, done(t, "d")), (65, []))
            t.contains(result.err, "has 2 names (hard links)")
        (t.folder / "hard.db").unlink()
        t.equal(t.maestro("run", "chain.yaml", "-p", "who=d", "--store", "store.db", cwd=t.folder).code, 0)


@case()
def a_store_may_be_called_what_means_something_else_to_sqlite(t):
    t.write("chain.yaml", "workflow: x\njobs: { a: { tasks: [{ log: hi }] } }\n")
    for name in (":memory:", "file:x.db", "a?mode=ro", "50%41"):
        with t.row(name):
            t.equal(t.maestro("run", "chain.yaml", "--store", "sqlite:" + name, cwd=t.folder).code, 0)
            t.equal(len(t.maestro("runs", "--json", "--store", "sqlite:" + name, cwd=t.folder).out.splitlines()), 1)
            t.true((t.folder / name).is_file(), "it is a file of that name")


main()
