#!/usr/bin/env python3
"""One job of a run: paused, resumed and cancelled by itself, by command and by the server, in every state it can be in, and over
the death of its owner.

The table follows from the transitions of jobs (M-3, C-90), not from what the program says."""
import json
import signal

from maestro_test import case, main
from server_test import Server, problem

# `left` has two steps, the first of which works until go-left; `right` one, until go-right; `after` needs both.
HOLD = "echo begun; until [ -e %(folder)s/go-%(name)s ]; do sleep 0.02; done; echo %(name)s >> %(folder)s/done"
FLOW = """workflow: two
failure_mode: %(mode)s
jobs:
  left:
    tasks:
      - { name: one, run: shell, input: { command: "%(left)s" }%(more)s }
      - { name: two, run: shell, input: { command: "echo two >> %(folder)s/done" } }
  right: { tasks: [{ name: work, run: shell, input: { command: "%(right)s" } }] }
  after: { needs: [left, right], tasks: [{ name: rest, run: shell, input: { command: "echo rest >> %(folder)s/done" } }] }
"""


def store(t):
    return ("--store", f"sqlite:{t.folder}/store.db")


def flow(t, mode="continue-independent", more="", left=None):
    parts = {"folder": t.folder}
    return FLOW % {"folder": t.folder, "mode": mode, "more": more, "left": left or HOLD % dict(parts, name="left"),
                   "right": HOLD % dict(parts, name="right")}


def go(t, name):
    t.write("go-" + name, "")


def done(t):
    path = t.folder / "done"
    return path.read_text().split() if path.exists() else []


def begin(t, **options):
    process = t.start("run", t.write("two.yaml", flow(t, **options)), *store(t))
    t.until(lambda: runs(t) and "running" in states(t, runs(t)[0]).values(), "its jobs run")
    return runs(t)[0], process


def runs(t):
    listed = t.maestro("runs", "--json", *store(t))
    return [json.loads(line)["run"] for line in listed.out.splitlines()] if listed.code == 0 else []


def show(t, run):
    return t.maestro("show", run, "--json", *store(t)).json()


def states(t, run):
    return {job["job"]: job["state"] for job in show(t, run)["jobs"]}


def events(t, run):
    listed = t.maestro("show", run, "--events", "--json", *store(t))
    return [json.loads(line) for line in listed.out.splitlines()]


def order(t, verb, run, job, *more):
    return t.maestro(verb, run, "--job", job, "--reason", f"{verb} of {job}", *more, *store(t))


def is_sound(t, run):
    for args in (("store", "verify"), ("ledger", "verify"), ("replay", run, "--verify")):
        checked = t.maestro(*args, *store(t))
        t.equal(checked.code, 0, " ".join(args) + ": " + checked.out + checked.err)


@case("proves: F-128 F-129 F-007")
def a_paused_job_waits_and_the_others_go_on(t):
    run, process = begin(t)
    paused = order(t, "pause", run, "left")
    t.equal((paused.code, paused.out), (0, f"run {run}: running, job left: paused, none of its steps begins\n"), paused.err)
    t.equal(states(t, run), {"left": "paused", "right": "running", "after": "queued"})
    go(t, "left")
    t.until(lambda: "left" in done(t), "what was under way is finished")
    go(t, "right")
    t.until(lambda: states(t, run)["right"] == "succeeded", "the other job goes on")
    t.equal(show(t, run)["state"], "running", "the run, of which only a paused job is left")
    shown = t.maestro("show", run, *store(t))
    t.contains(shown.out, "job         left is paused (user:")
    t.contains(shown.out, "pause of left)")
    t.contains(shown.out, f"next: maestro resume {run} --job left")
    t.equal(done(t), ["left", "right"], "nothing of it has begun")
    resumed = order(t, "resume", run, "left", "--json")
    t.equal((resumed.code, resumed.json()["job"], resumed.json()["noop"]), (0, "left", False), resumed.err)
    t.equal(t.end(process).code, 0, "the code of the run")
    t.equal(done(t), ["left", "right", "two", "rest"])
    told = [(e["event"], e["rationale"]) for e in events(t, run) if e["event"] in ("job-paused", "job-resumed")]
    t.equal(told, [("job-paused", "pause of left"), ("job-resumed", "resume of left")])
    is_sound(t, run)


@case("proves: F-128 F-129")
def the_pause_of_a_job_and_of_its_run_are_independent(t):
    run, process = begin(t)
    t.equal(order(t, "pause", run, "left").code, 0)
    t.equal(t.maestro("pause", run, *store(t)).code, 0)
    go(t, "left")
    go(t, "right")
    t.until(lambda: done(t) and sorted(done(t)) == ["left", "right"], "what was under way is finished")
    t.equal(t.maestro("resume", run, *store(t)).code, 0)
    t.until(lambda: states(t, run)["right"] == "succeeded" and show(t, run)["state"] == "running", "the run goes on")
    t.equal((states(t, run)["left"], sorted(done(t))), ("paused", ["left", "right"]), "the job does not")
    t.equal(order(t, "resume", run, "left").code, 0)
    t.equal(t.end(process).code, 0)
    t.equal(done(t)[-2:], ["two", "rest"])


# In each state of the job `left` (of `after` for those that have not begun) what each command does: "ok", "noop", or what its refusal says.
ENDED = "it has ended"
TABLE = {
    "queued": {"pause": "ok", "resume": "it is not paused", "cancel": "ok"},
    "queued, paused": {"pause": "queued and paused before it runs: it is paused already", "resume": "ok", "cancel": "ok"},
    "running": {"pause": "ok", "resume": "it is not paused", "cancel": "ok"},
    "paused": {"pause": "it is paused already", "resume": "ok", "cancel": "ok"},
    "waiting-signal": {"pause": "ok", "resume": "it is not paused", "cancel": "ok"},
    "being cancelled": {"pause": "nothing of it begins any more", "resume": "nothing of it begins any more", "cancel": "noop"},
    "succeeded": {"pause": ENDED, "resume": ENDED, "cancel": ENDED},
    "failed": {"pause": ENDED, "resume": ENDED, "cancel": ENDED},
    "skipped": {"pause": ENDED, "resume": ENDED, "cancel": ENDED},
    "cancelled": {"pause": ENDED, "resume": ENDED, "cancel": "noop"},
}
STUBBORN = "trap '' TERM; " + HOLD
MAKE = {
    "waiting-signal": {"left": "true", "more": ", wait_for_signal: go"},
    "being cancelled": {"left": "stubborn"},
    "succeeded": {"left": "true"}, "failed": {"left": "exit 65"}, "skipped": {"left": "exit 65"},
}


def make(t, state):
    """A run with a job in that state: (run, process, job)."""
    for path in t.folder.iterdir():
        if path.name.startswith(("go-", "done", "store")):
            path.unlink()
    options = dict(MAKE.get(state, {}))
    if options.get("left") == "stubborn":
        options["left"] = STUBBORN % {"folder": t.folder, "name": "left"}
    run, process = begin(t, **options)
    job = "after" if state.startswith("queued") or state == "skipped" else "left"
    if state in ("queued, paused", "paused"):
        t.require(order(t, "pause", run, job).code == 0, "it is paused")
    if state in ("being cancelled", "cancelled"):
        t.require(order(t, "cancel", run, job).code == 0, "it is cancelled")
    if state == "skipped":
        go(t, "right")
    want = {"queued, paused": "queued", "being cancelled": "running"}.get(state, state)
    t.until(lambda: states(t, run)[job] == want, f"the job is {want}")
    return run, process, job


@case("proves: F-084 F-128 F-129 F-130 F-083 F-069 C-90")
def every_command_in_every_state_of_a_job(t):
    for state, row in TABLE.items():
        for verb, want in row.items():
            with t.row(f"{verb} of a job that is {state}"):
                run, process, job = make(t, state)
                before = show(t, run)["eventCount"]
                said = order(t, verb, run, job, "--json")
                if want in ("ok", "noop"):
                    t.equal((said.code, said.code == 0 and said.json()["noop"]), (0, want == "noop"), said.out + said.err)
                elif show(t, run)["state"] == "failed":
                    t.equal(said.code, 1, said.err)
                    t.contains(said.err, "the run is failed: all its jobs have ended; resolve it, or cancel it")
                else:
                    t.equal(said.code, 1, said.err)
                    t.contains(said.err, f"the job '{job}' is ")
                    t.contains(said.err, want)
                if want != "ok" and state != "being cancelled":
                    t.equal(show(t, run)["eventCount"], before, "nothing was recorded")
                process.kill()
                t.end(process)


@case("proves: F-128 F-129 F-130")
def what_is_no_job_is_refused_by_name(t):
    run, process = begin(t)
    for verb in ("pause", "resume", "cancel"):
        with t.row(verb):
            said = order(t, verb, run, "nowhere")
            t.equal((said.code, said.err), (69, "maestro: the run has no job 'nowhere'\n"))
    said = order(t, "cancel", run, "left", "--compensate")
    t.equal(said.code, 65, said.err)
    t.contains(said.err, "compensate that, once it has failed")
    process.kill()
    t.end(process)


@case("proves: F-130 A-014 C-34")
def a_cancelled_job_fails_its_run_which_waits_for_a_decision(t):
    run, process = begin(t)
    cancelled = order(t, "cancel", run, "left")
    t.equal((cancelled.code, cancelled.out), (0, f"run {run}: running, job left: being cancelled\n"), cancelled.err)
    t.until(lambda: states(t, run)["left"] == "cancelled", "the job is cancelled")
    t.equal(states(t, run)["right"], "running", "the other one goes on")
    go(t, "right")
    t.equal(t.end(process).code, 1, "the code of the run")
    now = show(t, run)
    t.equal((now["state"], now["resolution"], now["error"]["cause"], now["error"]["class"], now["failedStep"]),
            ("failed", "AWAITING_DECISION", "cancelled", "permanent", "left.two"))
    t.equal(now["error"]["message"], "the job 'left' was cancelled")
    t.equal({step["step"]: (step["state"], step.get("skipReason")) for step in now["steps"]},
            {"left.one": ("cancelled", None), "left.two": ("skipped", "RUN_CANCELLED"), "right.work": ("succeeded", None),
             "after.rest": ("skipped", "PREDECESSOR_FAILED")})
    t.equal(states(t, run), {"left": "cancelled", "right": "succeeded", "after": "skipped"})
    is_sound(t, run)
    go(t, "left")
    retried = t.maestro("resolve", run, "--decision", "retry", *store(t))
    t.equal(retried.code, 0, retried.err)
    t.equal(t.maestro("resume", run, *store(t)).code, 0, "who retries has it done after all")
    t.equal((show(t, run)["state"], done(t)), ("succeeded", ["right", "left", "two", "rest"]))
    is_sound(t, run)


@case("proves: F-128 F-129 F-002 R-005")
def a_paused_job_outlives_its_owner(t):
    run, process = begin(t)
    t.until(lambda: [step.get("state") for step in show(t, run)["steps"]][:2] == ["running"] * 2, "a step of either job is under way")
    t.equal(order(t, "pause", run, "left").code, 0)
    process.send_signal(signal.SIGKILL)                 # with a step of either job under way
    t.end(process)
    with t.row("nobody owns the store"):
        t.equal(states(t, run)["left"], "paused")
        t.equal(order(t, "pause", run, "after").code, 0)
    heir = t.start("resume", run, *store(t))
    t.until(lambda: show(t, run)["steps"][1].get("lost") == 1, "another one takes the run over")
    t.equal(states(t, run), {"left": "paused", "right": "running", "after": "queued"})
    go(t, "right")
    t.until(lambda: states(t, run)["right"] == "succeeded", "the job that is not paused goes on")
    t.equal(done(t), ["right"], "the step that was lost is not begun again")
    heir.send_signal(signal.SIGKILL)                    # now nothing of it is under way
    t.end(heir)
    heir = t.start("resume", run, *store(t))
    t.until(lambda: order(t, "resume", run, "left").code == 0, "the job is resumed at its third owner")
    go(t, "left")
    t.until(lambda: states(t, run)["left"] == "succeeded", "it goes on where it was")
    t.equal(done(t), ["right", "left", "two"])
    t.equal(order(t, "resume", run, "after").code, 0)
    t.equal(t.end(heir).code, 0, "the code of the run")
    t.equal(done(t), ["right", "left", "two", "rest"], "once each")
    is_sound(t, run)


@case("proves: F-006")
def a_command_about_a_job_is_done_once(t):
    run, process = begin(t)
    t.equal(order(t, "pause", run, "left", "--id", "p1", "--json").json()["noop"], False)
    again = order(t, "pause", run, "left", "--id", "p1", "--json")
    t.equal((again.code, again.json()["after"]), (0, "running"), "the first answer")
    other = t.maestro("pause", run, "--job", "right", "--reason", "pause of left", "--id", "p1", *store(t))
    t.true(other.code not in (0,), "another job under the same id: " + other.out + other.err)
    t.equal(states(t, run)["right"], "running")
    t.equal([e["event"] for e in events(t, run)].count("job-paused"), 1)
    process.kill()
    t.end(process)


@case("proves: F-128")
def who_waits_only_while_something_goes_on_does_not_wait_for_a_paused_job(t):
    process = t.start("run", t.write("two.yaml", flow(t)), "--until-waiting", *store(t))
    t.until(lambda: runs(t) and states(t, runs(t)[0])["left"] == "running", "it runs")
    run = runs(t)[0]
    t.equal(order(t, "pause", run, "left").code, 0)
    go(t, "left")
    go(t, "right")
    ended = t.end(process)
    t.equal(ended.code, 75, ended.out + ended.err)
    t.contains(ended.out + ended.err, f"maestro resume {run} --job left")
    t.equal(sorted(done(t)), ["left", "right"])


# --- the server ---------------------------------------------------------------------------------------------------------------


def job_of(server, run, name):
    return next(job for job in server.get(f"/api/executions/{run}/graph").json()["jobs"] if job["job"] == name)


@case("proves: F-128 F-129 F-130 F-006")
def jobs_are_steered_by_the_api_and_by_commands_as_its_clients(t):
    server = Server(t)
    server.define(flow(t))
    run = server.begin("two")["executionId"]
    path = "/api/executions/" + run
    t.until(lambda: job_of(server, run, "left")["state"] == "running", "it runs")
    t.equal(sorted(job_of(server, run, "left")["_links"]), ["cancel", "pause"])
    key = server.key("operator")
    with t.row("pause"):
        href = job_of(server, run, "left")["_links"]["pause"]["href"]
        paused = server.post(href, {"job": "left", "reason": "lunch"}, key=key, headers={"Idempotency-Key": "k1"})
        t.equal((paused.status, paused.json()["state"]), (200, "running"))
        again = server.post(href, {"job": "left", "reason": "lunch"}, key=key, headers={"Idempotency-Key": "k1"})
        t.equal(again.status, 200, "sent again it is answered as the first")
        now = job_of(server, run, "left")
        t.equal((now["state"], now["paused"], sorted(now["_links"])), ("paused", True, ["cancel", "resume"]))
        told = [e for e in server.get(path + "/events").json()["items"] if e["event"] == "job-paused"]
        t.equal([(e["rationale"], e["job"]) for e in told], [("lunch", 0)])
        t.matches(told[0]["actor"], "^key:.")
    with t.row("refusals"):
        problem(t, server.post(path + "/pause", {"job": "left"}), 409, "conflict")
        problem(t, server.post(path + "/resume", {"job": "right"}), 409, "conflict")
        answer = server.post(path + "/cancel", {"job": "nowhere"})
        t.equal(answer.status, 404, str(answer))
        t.contains(answer.json()["detail"], "no job 'nowhere'")
        for body in ({"job": ""}, {"job": 7}, {"jobs": "left"}):
            t.equal(server.post(path + "/pause", body).status, 400, str(body))
        t.equal(server.post(path + "/cancel", {"job": "left", "compensate": True}).status, 400)
        other = server.post(path + "/pause", {"job": "right", "reason": "lunch"}, key=key, headers={"Idempotency-Key": "k1"})
        t.equal(other.status, 422, f"another job under the same key: {other}")
        t.equal(server.post(path + "/pause", {"job": "left"}, key=server.key("viewer")).status, 403)
    with t.row("commands as clients"):
        there = {"env": {"MAESTRO_TOKEN": key}}
        at = ("--server", f"http://127.0.0.1:{server.port}")
        held = t.maestro("pause", run, "--job", "after", *at, **there)
        t.equal(held.code, 0, held.out + held.err)
        t.true(job_of(server, run, "after")["paused"], "it is paused in the queue")
        shown = t.maestro("show", run, *at, **there)
        t.contains(shown.out, "after is queued, paused before it runs")
        back = t.maestro("resume", run, "--job", "after", *at, **there)
        t.equal(back.code, 0, back.out + back.err)
    with t.row("over a kill"):
        server.stop(signal.SIGKILL)
        server.start()
        t.until(lambda: job_of(server, run, "right")["state"] == "running", "the other one goes on")
        t.equal(job_of(server, run, "left")["paused"], True)
        t.equal(server.post(path + "/resume", {"job": "left"}).status, 200)
    with t.row("cancel"):
        t.equal(server.post(path + "/cancel", {"job": "left", "reason": "enough"}).status, 200)
        t.until(lambda: job_of(server, run, "left")["state"] == "cancelled", "it is cancelled")
        t.equal(job_of(server, run, "left")["_links"], {})
        go(t, "right")
        t.until(lambda: server.get(path).json()["state"] == "failed", "the execution fails")
        t.equal(server.get(path).json()["errorCause"], "cancelled")


main()
