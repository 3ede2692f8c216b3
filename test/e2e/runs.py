#!/usr/bin/env python3
"""Looking at runs and steering them: runs, show, inspect, logs, watch, pause, resume, cancel, signal."""
import datetime
import json
import re
import signal
import subprocess

from maestro_test import MAESTRO, SANITIZED, USER, case, main

HELLO = """workflow: hello
params:
  - { name: who, type: string, default: world }
jobs:
  greet: { tasks: [{ log: "Hello, ${params.who}!" }] }
  part: { needs: [greet], tasks: [{ log: "Goodbye." }] }
"""

# A step that works until the file `go` is there, then one that comes after it.
HELD = """workflow: held
jobs:
  first: { tasks: [{ name: work, run: shell, input: { command: "echo begun; while ! [ -e %(folder)s/go ]; do sleep 0.05; done; echo first >> %(folder)s/done" } }] }
  second: { needs: [first], tasks: [{ name: rest, run: shell, input: { command: "echo second >> %(folder)s/done" } }] }
"""

GATED = """workflow: gated
jobs:
  gate: { tasks: [{ log: "asks", wait_for_signal: { signal: release, timeout: 1h } }] }
  after: { needs: [gate], tasks: [{ log: "released" }] }
"""

FAILING = """workflow: failing
jobs:
  good: { tasks: [{ log: "fine" }] }
  bad: { needs: [good], tasks: [{ name: breaks, run: shell, input: { command: "echo oh no >&2; exit 65" } }] }
  never: { needs: [bad], tasks: [{ log: "never" }] }
"""


def store(t):
    return ("--store", f"sqlite:{t.folder}/store.db")


def run(t, text, *args, name="flow.yaml"):
    return t.maestro("run", t.write(name, text % {"folder": t.folder} if "%(" in text else text), *args, *store(t))


def newest(t):
    """The id of the newest run; None where there is none, or no store yet."""
    if not (t.folder / "store.db").exists():
        return None
    listed = t.maestro("runs", "--json", "-n", "1", *store(t))
    return json.loads(listed.out)["run"] if listed.code == 0 and listed.out else None


def start(t, text, *args, name="flow.yaml"):
    """A `maestro run` in the background, once its run is in the store; gives the process and the run's id."""
    before = newest(t)
    process = t.start("run", t.write(name, text % {"folder": t.folder} if "%(" in text else text), *args, *store(t))
    t.until(lambda: newest(t) != before, "the run is in the store")
    return process, newest(t)


def show(t, run_id):
    return t.maestro("show", run_id, "--json", *store(t)).json()


def await_state(t, run_id, state):
    t.until(lambda: show(t, run_id)["state"] == state, f"run {run_id} is {state}")


def id_of(result):
    return re.search(r"(?<![0-9A-Za-z_-])[0-9A-Za-z_-]{21}(?![0-9A-Za-z_-])", result.out).group(0)


@case("proves: R-094 R-097")
def runs_are_listed_newest_first_and_filtered(t):
    t.equal(run(t, HELLO).code, 0)
    t.equal(run(t, FAILING, name="failing.yaml").code, 1)
    listed = t.maestro("runs", *store(t))
    t.equal(listed.code, 0)
    lines = listed.out.splitlines()
    t.equal(len(lines), 3, "lines")
    t.matches(lines[0], r"^RUN +WORKFLOW +STATE +STARTED +TOOK +STEPS$")
    t.contains(lines[1], "failing")
    t.matches(lines[2], r"hello +succeeded .* 2/2$")
    t.true(max(map(len, lines)) <= 80, "a line is longer than 80 columns")
    t.true(listed.seconds < (10 if SANITIZED else 1), f"it took {listed.seconds} s")
    rows = [json.loads(line) for line in t.maestro("runs", "--json", *store(t)).out.splitlines()]
    t.equal([row["workflow"] for row in rows], ["failing", "hello"])
    t.equal(rows[1]["steps"], {"done": 2, "total": 2})
    for filters, want in ((("--state", "failed"), ["failing"]), (("--state", "succeeded"), ["hello"]),
                          (("--workflow", "hello"), ["hello"]), (("--workflow", "none"), []), (("--since", "1h"), ["failing", "hello"]),
                          (("--since", "2200-01-01"), []), (("-n", "1"), ["failing"]), (("--tenant", "nobody"), []),
                          (("--tenant", rows[0]["tenant"], "--state", "failed"), ["failing"]),
                          (("--tenant", rows[0]["tenant"], "--workflow", "hello"), ["hello"])):
        with t.row(" ".join(filters)):
            got = [json.loads(line)["workflow"] for line in t.maestro("runs", "--json", *filters, *store(t)).out.splitlines()]
            t.equal(got, want)


@case()
def a_wide_list_is_cut_to_the_terminal(t):
    t.equal(run(t, HELLO.replace("workflow: hello", "workflow: " + "long-" * 20 + "name")).code, 0)
    for width in (100, 80):
        lines = t.maestro("runs", *store(t), env={"COLUMNS": str(width)}).out.splitlines()
        t.equal(max(map(len, lines)), width, "the longest line")
        t.contains(lines[1], "…")
    t.contains(t.maestro("runs", *store(t)).out, "long-" * 20 + "name", "what a program reads")


@case()
def runs_refuses_what_it_does_not_know(t):
    t.equal(run(t, HELLO).code, 0)
    result = t.maestro("runs", "--state", "asleep", *store(t))
    t.equal(result.code, 2)
    t.contains(result.err, "waiting-signal")
    result = t.maestro("runs", "--since", "yesterday", *store(t))
    t.equal(result.code, 2)
    t.contains(result.err, "7d")
    result = t.maestro("runs", "--store", f"sqlite:{t.folder}/nowhere.db")
    t.equal(result.code, 69)
    t.contains(result.err, "maestro run FILE")


@case("proves: R-094")
def show_tells_of_a_run_and_what_to_type_next(t):
    t.equal(run(t, HELLO, "-p", "who=Ana").code, 0)
    t.equal(run(t, FAILING, name="failing.yaml").code, 1)
    failed = t.maestro("show", "last", *store(t))
    t.equal(failed.code, 0)
    t.matches(failed.out, r"^state +failed")
    t.matches(failed.out, r"permanent, cause \S+, step bad\.breaks")
    t.matches(failed.out, r"bad\.breaks +failed +1 ")
    t.matches(failed.out, r"maestro resolve \S+")
    t.matches(failed.out, r"maestro inspect \S+ bad\.breaks")
    t.matches(failed.out, r"never\.never +skipped .*PREDECESSOR_FAILED")
    good = show(t, t.folder / "flow.yaml")
    t.equal((good["state"], good["params"]), ("succeeded", {"who": "Ana"}))
    t.equal([step["state"] for step in good["steps"]], ["succeeded", "succeeded"])
    t.equal(show(t, good["run"][:15])["run"], good["run"], "by the beginning of its id")
    for operand, code, part in (("nope", 69, "maestro runs"), (good["run"][:-1] + "~", 69, "maestro runs"), ("A", 65, "several")):
        with t.row(operand):
            result = t.maestro("show", operand, *store(t))
            t.equal(result.code, code)
            t.contains(result.err, part)


@case("proves: F-085 F-205")
def events_say_who_why_and_in_which_trace(t):
    process, run_id = start(t, HELD)
    t.equal(t.maestro("pause", run_id, "--reason", "lunch", *store(t)).code, 0)
    (t.folder / "go").touch()
    t.equal(t.maestro("resume", run_id, "--reason", "back", *store(t)).code, 0)
    t.equal(t.end(process).code, 0)
    events = [json.loads(line) for line in t.maestro("show", run_id, "--events", "--json", *store(t)).out.splitlines()]
    t.equal([event["number"] for event in events], list(range(1, len(events) + 1)), "numbers of events")
    for event in events:
        for field in ("actor", "rationale", "policy", "trace", "time"):
            t.true(event.get(field), f"event {event['number']} has no {field}: {event}")
    paused = next(event for event in events if event["event"] == "run-paused")
    t.equal((paused["actor"], paused["rationale"]), (f"user:{USER}", "lunch"))
    t.true(any(event["actor"] == f"user:{USER}" and event.get("rationale") == "back" for event in events), "the resumption is there")
    text = t.maestro("show", run_id, "--events", *store(t)).out
    t.matches(text, rf"run-paused .*by user:{USER}: lunch")
    states = [e["event"] for e in events if e["event"].startswith("step-") and e.get("step") == 0]
    t.true({"step-dispatched", "step-running", "step-succeeded"} <= set(states), f"events of a step: {states}")


@case()
def inspect_shows_what_a_step_was_given_and_gave(t):
    t.equal(run(t, FAILING).code, 1)
    result = t.maestro("inspect", "last", "breaks", *store(t))
    t.equal(result.code, 0)
    for part in ("bad.breaks", "failed", "oh no", "exit 65", "permanent"):
        t.contains(result.out, part)
    step = t.maestro("inspect", "last", "bad.breaks", "--json", *store(t)).json()
    t.equal(step["input"]["command"], "echo oh no >&2; exit 65")
    t.equal(step["log"], ["oh no"])
    all_steps = [json.loads(line) for line in t.maestro("inspect", "last", "--json", *store(t)).out.splitlines()]
    t.equal([s["step"] for s in all_steps], ["good.good", "bad.breaks", "never.never"])
    wrong = t.maestro("inspect", "last", "bad.break", *store(t))
    t.equal(wrong.code, 69)
    t.contains(wrong.err, "did you mean 'bad.breaks'?")
    book = t.write("book.yaml", """name: Book
description: One artifact
artifacts:
  content:
    source: { type: filesystem_connector, properties: { path: "%s/logs" } }
    output: true
""" % t.folder)
    t.write("logs/a.log", "hello\n")
    t.maestro("run", book, *store(t))
    shown = t.maestro("inspect", book, "content", *store(t))
    t.equal(shown.code, 0, "the exit status")
    t.contains(shown.out, "content", "an artifact by its runbook")


@case()
def a_step_that_was_tried_again_shows_its_tries(t):
    flow = """workflow: retry
jobs:
  flaky: { tasks: [{ name: flaky, run: shell, retries: { attempts: 3, strategy: fixed, delay: 10ms },
                     input: { command: "[ -e %(folder)s/mark ] || { touch %(folder)s/mark; echo not yet; exit 75; }" } }] }
"""
    t.equal(run(t, flow).code, 0)
    step = t.maestro("inspect", "last", "flaky", "--json", *store(t)).json()
    t.equal((step["state"], step["tries"]), ("succeeded", 2))
    t.true(step["attempts"][0].get("class") == "transient", f"the first try: {step['attempts']}")
    t.equal(show(t, "last")["steps"][0]["attempts"], 2)


@case()
def logs_are_printed_and_followed_to_the_end(t):
    process, run_id = start(t, HELD)
    follower = t.start("logs", run_id, "-f", *store(t))
    one_step = t.start("logs", run_id, "second.rest", "-f", "--json", *store(t))
    t.until(lambda: "begun" in t.maestro("logs", run_id, *store(t)).out, "a line of the step is in the store")
    t.true(follower.poll() is None, "the follower has ended before the run")
    (t.folder / "go").touch()
    t.equal(t.end(process).code, 0)
    followed = t.end(follower)
    t.equal((followed.code, followed.out), (0, "first.work: begun\n"))
    t.equal((t.end(one_step).code, t.end(one_step).out), (0, ""), "a step that wrote nothing")
    line = json.loads(t.maestro("logs", run_id, "--json", *store(t)).out)
    t.equal((line["run"], line["step"], line["stream"], line["text"]), (run_id, "first.work", "stdout", "begun"))
    t.equal(t.maestro("logs", run_id, "work", *store(t)).out, "begun\n", "of one step")
    t.matches(t.maestro("logs", run_id, "-t", *store(t)).out, r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d first.work: begun$")


@case()
def a_line_is_not_dated_before_it_was_written(t):
    t.equal(run(t, """workflow: dated
jobs:
  say: { tasks: [{ run: shell, input: { command: "for i in 1 2; do sleep 0.7; date +%s%3N; done" } }] }
""").code, 0)
    lines = [json.loads(line) for line in t.maestro("logs", "last", "--json", *store(t)).out.splitlines()]
    t.equal(len(lines), 2, "lines")
    for line in lines:
        stored = datetime.datetime.fromisoformat(line["time"].replace("Z", "+00:00")).timestamp() * 1000
        t.true(round(stored) >= int(line["text"]), f"written at {line['text']}, dated {round(stored)}")


@case()
def watch_shows_a_run_of_another_process(t):
    process, run_id = start(t, HELD)
    watcher = t.start("watch", run_id, "--json", *store(t))
    (t.folder / "go").touch()
    t.equal(t.end(process).code, 0)
    watched = t.end(watcher)
    t.equal(watched.code, 0)
    events = [json.loads(line) for line in watched.out.splitlines() if '"event"' in line]
    numbers = [event["number"] for event in events if "number" in event]
    t.equal(numbers, list(range(1, len(numbers) + 1)), "each event once")
    t.equal(t.maestro("watch", run_id, *store(t)).code, 0, "a run that has ended")
    t.equal(run(t, FAILING, name="failing.yaml").code, 1)
    t.equal(t.maestro("watch", "last", *store(t)).code, 1, "a run that has failed")


@case("proves: F-084")
def a_run_is_paused_and_resumed_through_its_owner(t):
    process, run_id = start(t, HELD)
    t.until(lambda: "begun" in t.maestro("logs", run_id, *store(t)).out, "its step runs")
    early = t.maestro("resume", run_id, *store(t))
    t.equal(early.code, 1)
    t.contains(early.err, "it is not paused")
    paused = t.maestro("pause", run_id, *store(t))
    t.equal((paused.code, paused.out), (0, f"run {run_id}: running -> paused\n"))
    (t.folder / "go").touch()
    t.until(lambda: show(t, run_id)["steps"][0]["state"] == "succeeded", "the step under way ends")
    t.equal((t.folder / "done").read_text(), "first\n", "nothing new begins")
    events_before = show(t, run_id)["eventCount"]
    again = t.maestro("pause", run_id, *store(t))
    t.equal(again.code, 1)
    t.contains(again.err, "paused already")
    t.equal(show(t, run_id)["eventCount"], events_before, "events after a refusal")
    resumed = t.maestro("resume", run_id, "--json", *store(t)).json()
    t.equal((resumed["before"], resumed["after"]), ("paused", "running"))
    t.equal(t.end(process).code, 0)
    t.equal((t.folder / "done").read_text(), "first\nsecond\n")
    late = t.maestro("pause", run_id, *store(t))
    t.equal(late.code, 1)
    t.contains(late.err, "it has ended")


@case()
def cancelling_twice_succeeds_and_is_recorded_once(t):
    process, run_id = start(t, HELD)
    t.until(lambda: "begun" in t.maestro("logs", run_id, *store(t)).out, "its step runs")
    first = t.maestro("cancel", run_id, "--reason", "not wanted", *store(t))
    t.equal((first.code, first.out), (0, f"run {run_id}: running -> cancelled\n"))
    t.equal(t.end(process).code, 1)
    count = show(t, run_id)["eventCount"]
    second = t.maestro("cancel", run_id, *store(t))
    t.equal((second.code, second.out), (0, f"run {run_id}: cancelled, nothing to do\n"))
    t.equal(show(t, run_id)["eventCount"], count, "events")
    t.true(not (t.folder / "done").exists(), "the program was ended")
    t.equal(run(t, HELLO, name="hello.yaml").code, 0)
    refused = t.maestro("cancel", "last", *store(t))
    t.equal(refused.code, 1)
    t.contains(refused.err, "it has ended")


@case("proves: F-053")
def signals_release_or_deny_what_waits_for_them(t):
    process, run_id = start(t, GATED)
    await_state(t, run_id, "waiting-signal")
    t.equal(t.maestro("signal", run_id, "other", *store(t)).code, 0)
    t.equal(show(t, run_id)["state"], "waiting-signal", "another signal releases nothing")
    sent = t.maestro("signal", run_id, "release", "--kind", "approval", "--reason", "fine", "--payload", '{"by": "ana"}', *store(t))
    t.equal(sent.code, 0)
    t.contains(sent.out, f"run {run_id}: signal release taken, waiting-signal -> ")
    t.equal(t.end(process).code, 0)
    late = t.maestro("signal", run_id, "release", *store(t))
    t.equal(late.code, 1)
    process, denied = start(t, GATED, name="again.yaml")
    await_state(t, denied, "waiting-signal")
    t.equal(t.maestro("signal", denied, "release", "--deny", "--reason", "tests fail", *store(t)).code, 0)
    t.equal(t.end(process).code, 1)
    t.equal(show(t, denied)["error"]["cause"], "signal-denied")
    t.contains(t.maestro("show", denied, "--events", *store(t)).out, f"by user:{USER}: tests fail")
    result = t.maestro("signal", denied, "release", "--payload", "{not json", *store(t))
    t.equal(result.code, 65)
    t.contains(result.err, "--payload")


@case("proves: R-093 R-005")
def without_an_owner_commands_change_the_store_and_resume_carries_on(t):
    process, run_id = start(t, HELD)
    t.until(lambda: "begun" in t.maestro("logs", run_id, *store(t)).out, "its step runs")
    process.kill()
    process.wait()
    paused = t.maestro("pause", run_id, *store(t))
    t.equal((paused.code, paused.out), (0, f"run {run_id}: running -> paused\n"))
    t.lacks(paused.err, run_id, "runs that wait for a process")
    signalled = t.maestro("signal", run_id, "anything", *store(t))
    t.equal((signalled.code, show(t, run_id)["state"]), (0, "paused"))
    (t.folder / "go").touch()
    resumed = t.maestro("resume", run_id, *store(t))
    t.equal(resumed.code, 0, f"resume: {resumed.out}{resumed.err}")
    t.equal(show(t, run_id)["state"], "succeeded")
    t.equal((t.folder / "done").read_text(), "first\nsecond\n", "each step once")
    t.equal(t.maestro("resume", run_id, *store(t)).code, 1, "a run that has ended")
    t.equal(t.maestro("replay", run_id, "--verify", *store(t)).code, 0)


@case()
def a_cancel_without_an_owner_ends_the_run_and_names_the_others(t):
    process, run_id = start(t, GATED)
    await_state(t, run_id, "waiting-signal")
    other, other_id = start(t, GATED, name="other.yaml")
    t.until(lambda: len(t.maestro("runs", "--state", "waiting-signal", "--json", *store(t)).out.splitlines()) == 2, "both wait")
    for one in (process, other):
        one.kill()
        one.wait()
    result = t.maestro("cancel", other_id, *store(t))
    t.equal((result.code, result.out), (0, f"run {other_id}: waiting-signal -> cancelled\n"))
    t.contains(result.err, run_id)
    t.contains(result.err, "maestro resume")
    t.equal(show(t, run_id)["state"], "waiting-signal", "the other run")


@case()
def the_first_interruption_lets_steps_end_and_the_second_ends_them(t):
    process, run_id = start(t, HELD)
    t.until(lambda: "begun" in t.maestro("logs", run_id, *store(t)).out, "its step runs")
    process.send_signal(signal.SIGINT)
    t.until(lambda: "Ctrl-C again" in t.said(process), "it has taken the signal")
    t.true(process.poll() is None, "it has ended before its step")
    (t.folder / "go").touch()
    result = t.end(process)
    t.equal(result.code, 75)
    t.contains(result.err, f"maestro resume {run_id}")
    t.equal((t.folder / "done").read_text(), "first\n")
    t.equal(t.maestro("resume", run_id, *store(t)).code, 0)
    t.equal((t.folder / "done").read_text(), "first\nsecond\n")
    (t.folder / "go").unlink()
    process, second = start(t, HELD, name="second.yaml")
    t.until(lambda: "begun" in t.maestro("logs", second, *store(t)).out, "its step runs")
    process.send_signal(signal.SIGTERM)
    t.until(lambda: "Ctrl-C again" in t.said(process), "it has taken the signal")
    process.send_signal(signal.SIGINT)
    t.equal(t.end(process).code, 75)
    t.equal((t.folder / "done").read_text(), "first\nsecond\n", "the program was ended")


@case("proves: F-033")
def the_same_key_is_the_same_run(t):
    keyed = HELLO.replace("workflow: hello", 'workflow: hello\nidempotency_key: "hello-${params.who}"')
    first, second = run(t, keyed), run(t, keyed)
    t.equal((first.code, second.code), (0, 0))
    t.equal(id_of(first), id_of(second), "the run")
    t.true(id_of(run(t, keyed, "--again")) != id_of(first), "--again makes another")
    t.true(id_of(run(t, keyed, "-p", "who=Ana")) != id_of(first), "another key is another run")
    t.true(id_of(run(t, HELLO)) != id_of(run(t, HELLO)), "without a key each start is a run")


@case()
def the_same_key_with_other_parameters_is_refused_with_what_differs(t):
    first = run(t, HELLO, "--key", "once", "-p", "who=Ana")
    t.equal(first.code, 0)
    for params, differs in ((("-p", "who=Ben"), 'who is "Ana" there and "Ben" here'), ((), 'who is "Ana" there and "world" here')):
        with t.row(differs):
            result = run(t, HELLO, "--key", "once", *params)
            t.equal((result.code, result.out), (1, ""))
            for part in (id_of(first), differs, "--again", "another --key", "maestro show"):
                t.contains(result.err, part)
    told = run(t, HELLO, "--key", "once", "-p", "who=Ben", "--json")
    t.equal((told.code, told.json()["error"], told.json()["status"]), (1, "IdempotencyKeyConflict", 409))
    t.equal(len(t.maestro("runs", "--json", *store(t)).out.splitlines()), 1, "nothing was started")
    t.equal(id_of(run(t, HELLO, "--key", "once", "-p", "who=Ana")), id_of(first), "the same start")
    t.true(id_of(run(t, HELLO, "--key", "once", "-p", "who=Ben", "--again")) != id_of(first), "--again makes another")
    t.equal(run(t, HELLO, "--key", "other", "-p", "who=Ben").code, 0, "another key")


@case()
def of_starts_with_one_key_and_other_parameters_at_once_one_is_run(t):
    path = t.write("flow.yaml", HELLO)
    processes = [t.start("run", path, "--key", "once", "-p", "who=" + who, *store(t)) for who in ("Ana", "Ben", "Cid")]
    ended = [t.end(process) for process in processes]
    t.equal(sorted(end.code for end in ended), [0, 1, 1], str([end.err for end in ended]))
    for end in ended:
        t.true(end.code == 0 or ("started with other parameters: who is" in end.err and "--again" in end.err), end.err)
    t.equal(len(t.maestro("runs", "--json", *store(t)).out.splitlines()), 1, "one was started")


@case()
def a_run_of_a_file_that_has_changed_names_its_revision_and_keeps_its_defaults(t):
    first = run(t, HELLO, "--key", "once")
    t.equal(first.code, 0)
    changed = run(t, HELLO.replace("Goodbye.", "Bye.").replace("default: world", "default: all"), "--key", "once")
    t.equal((changed.code, id_of(changed)), (0, id_of(first)), "a default that has changed since is no other start")
    t.contains(changed.out, "keeps to revision 1")
    t.contains(changed.out, "--again")
    failed = run(t, FAILING, "--key", "once", name="failing.yaml")
    t.matches(failed.out, r"maestro retry-from \S+ bad\.breaks")


NASTY = """workflow: nasty
jobs:
  bad: { tasks: [{ name: shout, run: shell,
           input: { command: "printf 'a\\\\033[31mred\\\\033]0;title\\\\007 \\\\302\\\\2332J \\\\177 \\\\377 \\\\342\\\\200\\\\256z\\\\n'; exit 65" } }] }
"""
OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@case()
def nothing_that_a_terminal_would_obey_is_passed_on_by_any_command(t):
    evil = "\x1b]0;owned\x07\x9b2J\u202e"
    first = run(t, NASTY)
    run_id = id_of(first)
    t.equal(OBEYED.findall(first.out + first.err), [], "run")
    commands = [("logs",), ("logs", "-t"), ("inspect",), ("show",), ("show", "--events"), ("watch",), ("resolve",), ("retry-from",)]
    for command in commands:
        with t.row(" ".join(command)):
            result = t.maestro(command[0], run_id, *command[1:], *store(t))
            t.equal(OBEYED.findall(result.out + result.err), [])
    shown = t.maestro("logs", run_id, *store(t)).out
    t.contains(shown, "a\\u001b[31mred\\u001b]0;title\\u0007 \\u009b2J \\u007f", "sequences are seen")
    t.contains(t.maestro("logs", run_id, "--raw", *store(t)).out, "a\x1b[31mred\x1b]0;title\x07", "--raw is as it was written")
    line = t.maestro("logs", run_id, "--json", *store(t))
    t.equal(OBEYED.findall(line.out), [], "JSON has escapes")
    t.contains(line.json()["text"], "a\x1b[31mred\x1b]0;title\x07 \x9b2J \x7f", "and means what was written")
    t.equal(t.maestro("resolve", run_id, "--decision", "cancel", "--reason", evil, *store(t)).code, 0)
    for words in (("show", evil), ("show", run_id, "--events"), ("signal", run_id, evil), ("pause", evil), ("run", evil), (evil,),
                  ("runs", "--state", evil), ("logs", run_id, evil), ("show", evil, "--json"), ("runs", "--store", evil),
                  ("resolve", "--where", evil, "--decision", "retry")):
        with t.row(repr(words)):
            result = t.maestro(*words, *(() if "--store" in words else store(t)))
            t.equal(OBEYED.findall(result.out + result.err), [])


@case()
def a_reader_that_goes_pauses_the_run_and_leaves_no_socket(t):
    flow = t.write("flow.yaml", HELD.replace("do sleep", "do echo tick; sleep") % {"folder": t.folder})
    with open(t.folder / "err", "wb") as err:
        process = subprocess.Popen([MAESTRO, "run", flow, *store(t)], stdout=subprocess.PIPE, stderr=err, stdin=subprocess.DEVNULL)
    try:
        t.matches(process.stdout.readline().decode(), r"^run \S{21}$")
        process.stdout.close()
        t.until(lambda: "under way may end" in (t.folder / "err").read_text(), "it has noticed that nobody reads")
        (t.folder / "go").touch()
        t.equal(process.wait(120), 141, "exit code")
    finally:
        process.kill()
    t.contains((t.folder / "err").read_text(), "maestro resume")
    t.true(not (t.folder / "store.db.sock").exists(), "its socket is gone")
    t.equal(show(t, newest(t))["state"], "paused")
    t.equal(t.maestro("resume", newest(t), *store(t)).code, 0)
    for command in ("help", "runs", "show last", "logs last", "show last --events"):
        with t.row(command):
            target = "" if command == "help" else " ".join(store(t))
            script = f"({MAESTRO} {command} {target}; echo $? > {t.folder}/code) 2>{t.folder}/err | true"
            t.run("sh", "-c", f"rm -f {t.folder}/code; {script}; while ! [ -s {t.folder}/code ]; do sleep 0.05; done")
            t.true((t.folder / "code").read_text().strip() in ("0", "141"), "exit code")
            t.equal((t.folder / "err").read_text(), "", "no word about it")


@case()
def output_that_cannot_be_written_is_no_success(t):
    t.equal(run(t, HELLO).code, 0)
    for command in ("help", "version", "runs", "runs --json", "show last", "logs last", "inspect last"):
        with t.row(command):
            target = "" if command in ("help", "version") else " ".join(store(t))
            result = t.run("sh", "-c", f"{MAESTRO} {command} {target} >/dev/full")
            t.equal(result.code, 69)
            t.contains(result.err, "standard output cannot be written: No space left on device")
    with t.row("closed"):
        result = t.run("sh", "-c", f"exec {MAESTRO} run {t.write('again.yaml', HELLO)} {' '.join(store(t))} >&-")
        t.equal(result.code, 69)
        t.contains(result.err, "standard output cannot be written: Bad file descriptor")


@case()
def a_store_of_another_kind_is_refused_and_nothing_is_made(t):
    flow = t.write("flow.yaml", HELLO)
    before = sorted(p.name for p in t.folder.iterdir())
    for url, part in (("foo:bar", "there is no store of the kind 'foo:'"), ("postgres://db/x", "'postgres:'"), ("", "names no file"),
                      ("sqlite:", "names no file"), (str(t.folder), "is a directory"), (f"sqlite:{t.folder}", "is a directory")):
        for command in (("run", flow), ("runs",), ("show", "last"), ("pause", "last")):
            with t.row(f"{url} {command[0]}"):
                result = t.maestro(*command, "--store", url, cwd=t.folder)
                t.equal((result.code, result.out), (65, ""))
                t.contains(result.err, part)
                t.contains(result.err, "sqlite:")
    t.equal(sorted(p.name for p in t.folder.iterdir()), before, "files")
    t.equal(t.maestro("run", flow, "--store", "./a:b.db", cwd=t.folder).code, 0, "a path may have a colon")


@case()
def what_is_asked_twice_is_told_as_that(t):
    process, run_id = start(t, GATED)
    await_state(t, run_id, "waiting-signal")
    t.equal(t.maestro("signal", run_id, "release", "--id", "one", *store(t)).code, 0)
    t.equal(t.end(process).code, 0)
    again = t.maestro("signal", run_id, "release", "--id", "one", *store(t))
    t.equal(again.code, 0)
    t.contains(again.out, "asked before")
    t.contains(again.out, "the run is succeeded")
    t.lacks(again.out, "->")
    ended = t.maestro("resume", run_id, *store(t))
    t.equal((ended.code, ended.out), (1, ""), "a run that has ended is not begun to be told")


@case()
def a_summary_after_an_interruption_says_what_show_says(t):
    for first, second in ((signal.SIGINT, signal.SIGINT), (signal.SIGTERM, signal.SIGTERM)):
        with t.row(first.name):
            process, run_id = start(t, HELD, name=f"{first.name}.yaml")
            t.until(lambda: "begun" in t.maestro("logs", run_id, *store(t)).out, "its step runs")
            process.send_signal(first)
            t.until(lambda: "Ctrl-C again" in t.said(process), "it has taken the signal")
            process.send_signal(second)
            result = t.end(process)
            t.equal(result.code, 75)
            stands = show(t, run_id)
            counted = {state: sum(step["state"] == state for step in stands["steps"]) for state in ("succeeded", "failed", "skipped")}
            word = "paused" if stands["state"] == "paused" else "interrupted"
            t.matches(result.err, rf"^{word} after \S+: {counted['succeeded']} succeeded, {counted['failed']} failed, "
                                  rf"{counted['skipped']} skipped")
            t.equal(t.maestro("cancel", run_id, *store(t)).code, 0)


@case()
def a_cycle_that_is_not_left_names_its_ends(t):
    result = run(t, """workflow: round
jobs:
  a: { needs: [{ job: b, guard: { when: "true", max_iterations: 2 } }], tasks: [{ name: t, run: shell, input: { command: "true" } }] }
  b: { needs: [a], tasks: [{ name: t, run: shell, input: { command: "true" } }] }
""")
    t.equal(result.code, 1)
    t.contains(result.out, "the condition for going back from 'b.t' to 'a.t' still holds after 2 rounds")


@case()
def what_is_shown_of_a_failure_is_one_line_and_what_to_type_has_the_store(t):
    flow = t.write("fails.yaml", "workflow: f\njobs: { a: { tasks: [{ name: b, run: shell, input: { command: 'echo oops >&2; exit 3' } }] } }\n")
    place = ("--store", t.folder / "a store.db")
    t.equal(t.maestro("run", flow, *place).code, 1)
    run = json.loads(t.maestro("runs", "--json", *place).out)["run"]
    shown = t.maestro("show", "last", *place).out
    t.matches(shown, r"(?m)^why +exit code 3 oops$")
    t.matches(shown, r"(?m)^0  a.b +failed .*  exit code 3 oops$")
    t.matches(t.maestro("inspect", "last", *place).out, r"(?m)^message +exit code 3 oops$")
    for verb in ("inspect", "resolve"):
        t.matches(shown, rf"maestro {verb} {run}[^\n]* --store '{place[1]}'")
    t.equal(t.maestro("cancel", "last", *place).code, 0)
    t.contains(t.maestro("pause", "last", *place).err, f"'maestro show {run} --store '{place[1]}''")


main()
