#!/usr/bin/env python3
"""kill -9 at random moments: after the last restart every run has ended, nothing is lost, no recorded effect happened twice,
and no program is left over.

MAESTRO_CRASH_ROUNDS says how often owners are killed (a few by default, 200 in test/long); MAESTRO_CRASH_SEED repeats the
choices of a failed run, though not the moments at which the machine served them."""
import json
import os
import random
import time
from pathlib import Path

from maestro_test import SANITIZED, case, main

ROUNDS = int(os.environ.get("MAESTRO_CRASH_ROUNDS", "4" if SANITIZED else "10"))
SEED = int(os.environ.get("MAESTRO_CRASH_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
STEPS = 6                               # of a run: every third one records its effect

RUNNERS = """executors:
  local:
    kind: process
    capacity: 8
    runners:
      plain: {{ command: [sh, {folder}/plain.sh] }}
      recorded: {{ command: [sh, {folder}/recorded.sh] }}
      undo: {{ command: ["true"] }}
"""
# An effect is one line, written by one call: the key, and who wrote it.
PLAIN = """sleep 0.0$(( $$ % 6 ))
echo "$MAESTRO_IDEMPOTENCY_KEY $$" >> {folder}/plain.log
echo '{{"pid": '$$'}}' > "$MAESTRO_OUTPUT"
"""
RECORDED = """echo '{{"effect": {{"for": "'"$MAESTRO_IDEMPOTENCY_KEY"'"}}}}' >&3
read -r ack <&4 || exit 75
echo "$MAESTRO_IDEMPOTENCY_KEY $$" >> {folder}/recorded.log
sleep 0.0$(( $$ % 3 ))
echo '{{"effectCommitted": true}}' >&3
read -r ack <&4 || exit 75
"""


def definition():
    lines = ["workflow: crash", "params: [{ name: round, type: integer }]", "failure_mode: continue-independent", "jobs:"]
    for i in range(STEPS):
        recorded = i % 3 == 2
        task = ("{ name: t%d, run: recorded, idempotency: effect-recorded, compensation: undo }" if recorded else
                "{ name: t%d, run: plain, idempotency: dedupe-key }") % i
        need = f"needs: [j{i - 1}], " if i % 2 else ""             # two jobs side by side, then their followers
        lines.append(f"  j{i}: {{ {need}tasks: [{task}] }}")
    return "\n".join(lines) + "\n"


class Workshop:
    def __init__(self, t):
        self.t, self.chance, self.keys = t, random.Random(SEED), []
        self.store = ("--store", f"sqlite:{t.folder}/store.db")
        for name, text in (("plain.sh", PLAIN), ("recorded.sh", RECORDED), ("runners.yaml", RUNNERS)):
            t.write(name, text.format(folder=t.folder))
        self.file = t.write("crash.yaml", definition())
        self.runners = ("--runners", str(t.folder / "runners.yaml"))

    def start(self):
        key = f"round-{len(self.keys)}"
        self.keys.append(key)
        return self.t.start("run", self.file, "--quiet", "-p", f"round={len(self.keys)}", "--key", key, *self.store, *self.runners)

    def runs(self):
        listed = self.t.maestro("runs", "--json", "--limit", "100000", *self.store)
        out = listed.out if listed.code == 0 else ""
        return [json.loads(line) for line in out.splitlines()]

    def lines(self, name):
        path = self.t.folder / name
        return [line.split()[0] for line in path.read_text().splitlines()] if path.exists() else []

    def leftovers(self):
        """Processes of this case's runners: their command line names its folder."""
        mark, found = f"{self.t.folder}/".encode(), []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                line = path.read_bytes()
            except OSError:
                continue                                            # it ended meanwhile
            if mark in line and line.startswith(b"sh\0"):
                found.append(path.parent.name)
        return found


def storm(shop):
    """Owners are killed while they work, each with what it has under way; the next one goes on."""
    for _ in range(ROUNDS):
        processes = [shop.start() for _ in range(shop.chance.randrange(1, 4))]
        time.sleep(shop.chance.random() * (1.5 if SANITIZED else 0.4))
        shop.chance.shuffle(processes)
        for process in processes:
            process.kill()                                          # KILL: nothing can be tidied up
            if shop.chance.random() < 0.3:
                time.sleep(shop.chance.random() * 0.1)
        for process in processes:
            process.wait()


def finish(shop):
    """Whoever starts the same again gets the run there is, and it is carried on to its end."""
    t = shop.t
    for key in shop.keys:
        result = t.maestro("run", shop.file, "--quiet", "-p", f"round={shop.keys.index(key) + 1}", "--key", key, *shop.store,
                           *shop.runners)
        t.true(result.code in (0, 1), f"{key} ends with {result.code}: {result.err}")


def check_effects(shop, states):
    t = shop.t
    recorded, plain = shop.lines("recorded.log"), shop.lines("plain.log")
    t.equal(sorted(k for k in set(recorded) if recorded.count(k) > 1), [], "recorded effects that happened twice")
    for run, state in states.items():
        done = {key.split("/", 1)[1] for key in set(recorded + plain) if key.startswith(f"{run}/")}
        if state == "succeeded":
            t.equal(len(done), STEPS, f"steps of {run} whose effect took place")
    strangers = {key.split("/", 1)[0] for key in recorded + plain} - set(states)
    t.equal(strangers, set(), "runs that had effects and are not there")


@case("proves: R-005 F-002 C-22")
def killed_at_any_moment_every_run_ends_once_and_nothing_is_left(t):
    shop = Workshop(t)
    storm(shop)
    t.until(lambda: not shop.leftovers(), "programs of killed owners are gone", seconds_max=15)
    finish(shop)
    rows = shop.runs()
    states = {row["run"]: row["state"] for row in rows}
    with t.row(f"seed {SEED}, {ROUNDS} rounds"):
        t.equal(len(rows), len(shop.keys), "runs: one a key")
        # A run whose owner died between an announced effect and its end waits for a person, and says so.
        t.true(set(states.values()) <= {"succeeded", "failed"}, f"states: {sorted(set(states.values()))}")
        t.true("succeeded" in states.values(), "some run succeeded")
        for run, state in states.items():
            if state == "failed":
                shown = t.maestro("show", run, *shop.store).out
                t.true("whether that took place is not known" in shown or "maestro ended three times" in shown,
                       f"why {run} failed: {shown}")
        check_effects(shop, states)
        for run in states:
            t.equal(t.maestro("replay", run, "--verify", *shop.store).code, 0, f"replay --verify {run}")
        result = t.maestro("store", "verify", *shop.store)
        t.equal(result.code, 0, f"store verify: {result.out}{result.err}")
        t.until(lambda: not shop.leftovers(), "no program is left", seconds_max=10)


POISON = """echo run >> {folder}/runs.log
while ! [ -s {folder}/owner ]; do sleep 0.02; done
kill -9 $(cat {folder}/owner)
sleep 60
"""


def poisoned(t, times, more=""):
    """A step that kills its owner each time; then what the next owner says of it, its run and its store."""
    store = ("--store", f"sqlite:{t.folder}/store.db")
    script = t.write("poison.sh", POISON.format(folder=t.folder))
    file = t.write("poison.yaml", f"workflow: poison\njobs:\n  a:\n    tasks: [{{ run: shell, args: [sh, {script}]{more} }}]\n")
    owner = t.folder / "owner"
    words = ("run", file)
    for _ in range(times):
        process = t.start(*words, *store)
        owner.write_text(str(process.pid))
        t.equal(t.end(process).code, -9, "it was killed by its step")
        owner.unlink()
        run = json.loads(t.maestro("runs", "--json", *store).out.splitlines()[0])["run"]
        words = ("resume", run)
    last = t.maestro(*words, *store)
    t.true(last.code not in (0, -9), f"the run has failed: {last.code} {last.err}")
    t.contains(last.out + last.err, "maestro resolve", "what to type")
    t.equal((t.folder / "runs.log").read_text().count("run"), times, "executions")
    return last.out + last.err, run, store


@case("proves: F-061 F-087 E-015 A-022")
def a_step_that_kills_its_owner_is_not_carried_out_for_ever(t):
    said, run, store = poisoned(t, 3)
    t.contains(said, "maestro ended three times", "why")
    shown = t.maestro("show", run, "--json", *store).json()
    t.equal((shown["state"], shown["resolution"]), ("failed", "AWAITING_DECISION"))
    t.equal(t.maestro("replay", run, "--verify", *store).code, 0, "replay --verify")


@case("proves: E-002 E-018 E-031 E-034 E-053 E-057 F-071 C-34 C-69")
def what_is_repeated_after_a_crash_is_dispatched_by_an_admission_until_its_budget_is_used_up(t):
    said, run, store = poisoned(t, 2, ", intent: heavy")
    t.contains(said, "dropped by spawn-budget: maestro ended twice", "why")
    t.contains(said, "its spawn_budget of 3 is used up", "what to do")
    events = [json.loads(line) for line in t.maestro("show", run, "--events", "--json", *store).out.splitlines()]
    kinds = ("step-dispatched", "step-running", "lease-expired", "step-dropped", "step-failed")
    t.equal([event["event"] for event in events if event["event"] in kinds],
            ["step-dispatched", "step-running", "lease-expired", "step-dispatched", "step-running", "lease-expired", "step-dropped", "step-failed"])
    admissions = [event.get("flags", 0) for event in events if event["event"] == "step-dispatched"]
    t.equal([flags & 7 for flags in admissions], [1, 0], "cooperatives: what the budget has room for")
    t.equal([flags >> 3 & 1 for flags in admissions], [0, 1], "the last is escalated")
    dropped = next(event for event in events if event["event"] == "step-dropped")
    t.equal((dropped["name"], dropped["cause"]), ("spawn-budget", "lost"))
    failed = next(event for event in events if event["event"] == "step-failed")
    t.equal((failed["cause"], failed["class"]), ("dropped", "permanent"))
    t.equal(t.maestro("replay", run, "--verify", *store).code, 0, "replay --verify")


STUBBORN = """trap '' TERM
if [ -s {folder}/last ] && kill -0 $(cat {folder}/last) 2> /dev/null; then echo both >> {folder}/both; fi
echo $$ > {folder}/last
echo begins >> {folder}/begins
while :; do sleep 0.05; done
"""


@case("proves: F-016 F-062")
def the_next_attempt_begins_when_the_program_of_the_last_one_is_gone(t):
    store = ("--store", f"sqlite:{t.folder}/store.db")
    script = t.write("stubborn.sh", STUBBORN.format(folder=t.folder))
    file = t.write("stubborn.yaml", "workflow: stubborn\njobs:\n  a:\n    tasks:\n      - run: shell\n"
                   f"        args: [sh, {script}]\n        timeout: 500ms\n"
                   "        retries: { attempts: 2, delay: 1ms, jitter_ms: 0 }\n")
    result = t.maestro("run", file, *store)
    t.true(result.code != 0, "both attempts took too long")
    t.contains(result.out + result.err, "did not end within 500 ms")
    t.equal((t.folder / "begins").read_text().split(), ["begins", "begins"], "attempts")
    t.true(not (t.folder / "both").exists(), "no two of them at once")


main()
