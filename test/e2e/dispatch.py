"""Where attempts go and how often: executors that offer the same runner, constraints, other places, retries, budgets of tasks."""
import json
import signal

from maestro_test import case, main

# Each executor says where it was in a file, and fails as a variable tells it to.
RUNNERS = """executors:
  east:
    kind: process
    region: eu-east
    cost: 1.5
    capabilities: [docker]
    runners:
      job/work: { command: [sh, -c, 'echo east >> "$PLACES"; exit ${EAST:-0}'], settings: { env: [PLACES, EAST] } }
  west:
    kind: process
    region: eu-west
    cost: 0.1
    runners:
      job/work: { command: [sh, -c, 'echo west >> "$PLACES"; exit ${WEST:-0}'], settings: { env: [PLACES, WEST] } }
  far:
    kind: process
    region: us-east
    tenants: [other]
    capabilities: [gpu]
    runners:
      job/work: { command: [sh, -c, 'echo far >> "$PLACES"'], settings: { env: [PLACES] } }
"""

WORK = """workflow: work
jobs:
  a:
    tasks:
      - { name: one, run: job/work, retries: { attempts: 3, delay: 10ms, jitter_ms: 0 } }
      - { name: two, run: job/work }
"""


class Desk:
    """A store, runners, and the file in which they say where they were."""

    def __init__(self, t, runners=RUNNERS):
        self.t, self.places = t, t.folder / "places"
        self.options = ("--store", "sqlite:" + str(t.folder / "store.db"))
        self.runners = ("--runners", t.write("runners.yaml", runners))

    def run(self, text, name="work.yaml", **env):
        return self.t.maestro("run", *self.options, *self.runners, self.t.write(name, text), env={"PLACES": str(self.places), **env})

    def do(self, *args):
        return self.t.maestro(*args, *self.options)

    def went(self):
        return self.places.read_text().split() if self.places.exists() else []

    def events(self, kind, run="last"):
        shown = self.do("show", run, "--events", "--json")
        self.t.require(shown.code == 0, shown.err)
        return [event for event in flat(shown) if event["event"] == kind]


def flat(shown):
    """The events of `show --events --json`: a list, or one a line."""
    try:
        found = shown.json()
        return found["events"] if isinstance(found, dict) else found
    except json.JSONDecodeError:
        return [json.loads(line) for line in shown.out.splitlines() if line.startswith("{")]


@case("proves: F-071 F-094")
def of_several_executors_one_is_chosen_and_the_ledger_has_why(t):
    desk = Desk(t)
    t.equal(desk.run(WORK).code, 0)
    t.equal(desk.went(), ["west", "west"], "the cheaper one, and the job stays there")
    first, second = desk.events("step-dispatched")
    t.equal(first["name"], "west")
    t.matches(first["message"], r"^west \d+, east \d+$")
    t.matches(second["message"], r"^west 1\d{4}, east \d+$")


@case("proves: R-107 F-094 F-116")
def a_transient_failure_is_tried_again_by_itself_and_elsewhere(t):
    desk = Desk(t)
    result = desk.run(WORK, WEST="75")
    t.equal(result.code, 0, result.err)
    t.equal(desk.went(), ["west", "east", "east"], "the second try is not where the first one failed")
    t.contains(desk.events("step-dispatched")[1]["message"], "not west: the last try failed there; rerouted from west")
    t.equal([event["cause"] for event in desk.events("attempt-failed")], ["transient"])
    # Where both fail for now it goes back and forth as long as tries are left; what is wrong for good is not tried again.
    desk.places.unlink()
    t.equal(desk.run(WORK, WEST="75", EAST="75").code, 1)
    t.equal(desk.went(), ["west", "east", "west"])
    desk.places.unlink()
    t.equal(desk.run(WORK, WEST="65").code, 1)
    t.equal(desk.went(), ["west"])


@case("proves: F-094 F-025 F-161")
def constraints_of_workflow_and_job_narrow_who_may_carry_it(t):
    rows = (("a region", "placement: { regions: [eu-east] }\n", "", ["east"]),
            ("a capability", "placement: { requires: [docker] }\n", "", ["east"]),
            ("where data may be", "placement: { data_sovereignty: [eu-west] }\n", "", ["west"]),
            ("the job's own", "", "    placement: { regions: [eu-east, us-east] }\n", ["east"]),
            ("where the data of the job may be", "", "    data_sovereignty: [eu-east]\n", ["east"]))
    for name, whole, job, want in rows:
        with t.row(name):
            desk = Desk(t)
            desk.places = t.folder / ("places-" + name.replace(" ", "-"))
            text = f"workflow: w\n{whole}jobs:\n  a:\n{job}    tasks: [{{ name: t, run: job/work }}]\n"
            t.equal(desk.run(text, name="w.yaml").code, 0)
            t.equal(desk.went(), want)


POLICY = """package maestro.test

deny contains sprintf("not in %s", [input.placement.region]) if {
    input.hook == "step-dispatch"
    input.placement.region == "eu-west"
}
"""


@case("proves: F-071")
def policies_are_told_which_executor_was_chosen(t):
    desk = Desk(t)
    desk.runners += ("--policy", t.write("deny.rego", POLICY))
    t.equal(desk.run(WORK).code, 1, "the one that scores best is in a region that a policy does not permit")
    t.contains(desk.events("verdict")[0]["message"], "not in eu-west")
    t.equal(desk.went(), [])
    t.equal(desk.run(WORK.replace("workflow: work", "workflow: other\nplacement: { regions: [eu-east] }")).code, 0)
    t.equal(desk.went(), ["east", "east"], "the other one is told as it is")


@case("proves: F-133 F-071")
def what_nobody_may_carry_waits_and_is_bound_elsewhere_by_a_person(t):
    desk = Desk(t)
    file = t.write("mars.yaml", WORK.replace("workflow: work", "workflow: mars\nplacement: { regions: [mars] }"))
    runner = t.start("run", *desk.options, *desk.runners, file, env={"PLACES": str(desk.places)})
    t.until(lambda: "qualifies" in desk.do("show", "last").out, "show says that it waits, and why")
    shown = desk.do("show", "last").out
    t.contains(shown, "no executor that offers 'job/work' qualifies: not east: region eu-east, west: region eu-west")
    t.equal(len(desk.events("step-deferred")), 1, "recorded once")
    with t.row("nothing to bind it to"):
        t.equal(desk.do("rebind", "last").code, 2)
        t.equal(desk.do("rebind", "last", "--as-defined", "--region", "x").code, 2)
    bound = desk.do("rebind", "last", "--region", "eu-east", "--requires", "docker", "--reason", "mars is far")
    t.equal(bound.code, 0, bound.err)
    t.contains(bound.out, "what is placed next is placed by the new constraints")
    t.equal(t.end(runner).code, 0, "the run goes on by itself")
    t.equal(desk.went(), ["east", "east"])
    event = desk.events("run-rebound")[0]
    t.equal(json.loads(event["message"]), {"regions": ["eu-east"], "requires": ["docker"]})
    story = desk.do("show", "last").out
    t.matches(story, r'rebound +\{"regions":\["eu-east"\],"requires":\["docker"\]\} \(user:\w+: mars is far\)')
    t.equal(desk.do("show", "last", "--json").json()["rebound"][0]["placement"], {"regions": ["eu-east"], "requires": ["docker"]})
    late = desk.do("rebind", "last", "--region", "eu-west")
    t.equal(late.code, 1, "a run that has ended is not bound")
    t.contains(late.err, "it has ended")
    t.equal(desk.do("replay", "last", "--verify").code, 0, "a replay reads what was chosen")


@case("proves: F-133")
def a_binding_is_kept_in_the_store_while_nobody_owns_it(t):
    desk = Desk(t)
    file = t.write("mars.yaml", WORK.replace("workflow: work", "workflow: mars\nplacement: { regions: [mars] }"))
    runner = t.start("run", *desk.options, *desk.runners, file, env={"PLACES": str(desk.places)})
    t.until(lambda: "qualifies" in desk.do("show", "last").out, "it waits")
    runner.send_signal(signal.SIGINT)
    t.end(runner)
    t.equal(desk.do("rebind", "last", "--region", "eu-west").code, 0)
    t.equal(desk.do("rebind", "last", "--region", "eu-west").out.count("nothing to do"), 1, "the same again changes nothing")
    done = t.maestro("resume", "last", *desk.options, *desk.runners, env={"PLACES": str(desk.places)})
    t.equal(done.code, 0, done.err)
    t.equal(desk.went(), ["west", "west"])
    t.equal(desk.do("rebind", "last", "--as-defined").code, 1)


@case("proves: E-037 E-038 E-015 C-71")
def the_number_of_cooperatives_is_configured_up_to_its_bound_and_sizes_the_budget(t):
    for count, budget in ((0, 3), (1, 6), (2, 9), (4, 15)):
        with t.row(str(count)):
            runners = t.write("runners.yaml", RUNNERS + f"dispatch: {{ cooperatives: {count} }}\n")
            plan = t.maestro("plan", "--json", "--runners", runners, t.write("work.yaml", WORK))
            t.equal(plan.code, 0, plan.err)
            t.equal(plan.json()["plan"]["steps"][0]["spawn_budget"], budget, "three tries of one primary and its cooperatives")
            t.equal(plan.json()["plan"].get("cooperatives"), None if count == 2 else count, "the plan has it, so that a replay does not depend on the file")
    plain = t.maestro("plan", "--json", "--runners", t.write("runners.yaml", RUNNERS), t.write("work.yaml", WORK)).json()
    two = t.maestro("plan", "--json", "--runners", t.write("two.yaml", RUNNERS + "dispatch: { cooperatives: 2 }\n"), t.write("work.yaml", WORK)).json()
    t.equal(two["digest"], plain["digest"], "what is the default changes no digest")
    refused = t.maestro("plan", "--runners", t.write("five.yaml", RUNNERS + "dispatch: { cooperatives: 5 }\n"), t.write("work.yaml", WORK))
    t.equal(refused.code, 65)
    t.contains(refused.err, "5 cooperative sub-routines are more than COOPERATIVE_COUNT_MAX (4)")


HEAVY = """workflow: heavy
jobs:
  a: { tasks: [{ name: t, run: job/work, intent: heavy, retries: { attempts: 2, delay: 10ms, jitter_ms: 0 } }] }
"""


@case("proves: E-016 E-053 C-71")
def a_run_keeps_the_cooperatives_that_its_plan_was_compiled_with(t):
    one = RUNNERS + "dispatch: { cooperatives: 0 }\n"
    for name, runners, flags in (("none", one, None), ("two", RUNNERS, 1)):
        with t.row(name):
            desk = Desk(t, runners)
            desk.options = ("--store", "sqlite:" + str(t.folder / (name + ".db")))
            t.equal(desk.run(HEAVY).code, 0)
            found = desk.events("step-dispatched")[0].get("flags", 0) & 7
            t.equal(found, flags or 0, "cooperatives of the group that carried it: bits 0 to 2")
            t.equal(desk.do("replay", "last", "--verify").code, 0)


TASKS = """workflow: tasks
failure_resolution: { strategy: auto_compensate }
jobs:
  book:
    tasks:
      - name: seat
        run: job/seat
        compensation: { run: job/unseat, retries: { attempts: 3, strategy: fixed, delay: 10ms, jitter_ms: 0 } }
  wait:
    needs: [book]
    tasks:
      - name: paid
        run: job/poll
        retries: { attempts: 2, delay: 10ms, jitter_ms: 0 }
        poll: { interval: 10ms, max_duration: 5m, max_attempts: 6 }
  ends:
    needs: [wait]
    tasks: [{ name: bad, run: job/bad }]
"""

# Every poll fails the first time; the sixth is complete. What undoes the seat fails twice.
TASK_RUNNERS = """executors:
  here:
    kind: process
    runners:
      job/seat: { command: ["true"] }
      job/bad: { command: [sh, -c, "exit 65"] }
      job/unseat: { command: [sh, -c, 'n=$(cat "$COUNT-u" 2>/dev/null || echo 0); echo $((n+1)) > "$COUNT-u"; test $n -ge 2 || exit 75'], settings: { env: [COUNT] } }
      job/poll:
        command: [sh, -c, 'n=$(cat "$COUNT" 2>/dev/null || echo 0); echo $((n+1)) > "$COUNT"; test $((n%2)) = 1 || exit 75; test $n -ge 11 && c=true || c=false; echo "{\\"complete\\": $c, \\"continue\\": true}" > "$MAESTRO_OUTPUT"']
        settings: { env: [COUNT] }
"""


@case("proves: C-88")
def each_poll_and_each_try_of_a_compensation_is_a_task_with_a_budget_and_depth_of_its_own(t):
    desk = Desk(t, TASK_RUNNERS)
    t.equal(desk.run(TASKS, COUNT=str(t.folder / "count")).code, 1, "the run fails at its last job and is undone")
    polls = [event for event in desk.events("attempt-failed")]
    t.equal(len(polls), 6, "each of six polls failed once: with one budget of two tries the second would have been dropped")
    t.equal([event["count"] for event in desk.events("poll-attempted")], [1, 2, 3, 4, 5, 6])
    t.equal(desk.events("step-dropped"), [])
    t.equal(len(desk.events("compensation-step-failed")), 2)
    t.equal(len(desk.events("compensation-step-succeeded")), 1, "its third try, which its own settings permit; the seat itself has one")
    t.matches(desk.do("show", "last").out, r"state +compensated")
    # A poll that fails as often as its own tries permit is dropped, whatever the polls before it had left.
    text = TASKS.replace("workflow: tasks", "workflow: never")
    never = Desk(t, TASK_RUNNERS.replace("test $((n%2)) = 1 ||", "test $n = 1 ||"))
    never.run(text, name="never.yaml", COUNT=str(t.folder / "never"))
    drops = never.events("step-dropped")
    t.equal([(event["name"], event["cause"]) for event in drops], [("retry-depth", "transient")])
    t.equal(len(never.events("attempt-failed")), 2, "one of the first poll, one of the second before its last")


# --- what a task may take, and what a full executor does ---------------------------------------------------------------------------

def flags(event):
    """What an attempt was admitted by: docs/dispatch.md has the bits."""
    packed = event.get("flags") or 0
    return {"cooperatives": packed & 7, "is_escalated": bool(packed >> 3 & 1), "in_flight": packed >> 4 & 1023}


def failing(extra):
    return f"""workflow: w
jobs:
  a:
    tasks:
      - {{ name: t, run: job/fail, retries: {{ attempts: 3, delay: 1ms, jitter_ms: 0 }}{extra} }}
"""


ALONE = """executors:
  east:
    kind: process
    runners:
      job/work: { command: ['true'] }
      job/undo: { command: ['true'] }
  west:
    kind: process
    runners:
      job/load: { command: ['true'] }
      job/work: { command: ['true'] }
      job/undo: { command: ['true'] }
      job/bad: { command: [sh, -c, 'exit 65'] }
"""

FOLLOWING = """workflow: follow
failure_resolution: { strategy: auto_compensate }
jobs:
  a:
    tasks:
      - { name: load, run: job/load, compensation: { run: job/undo } }
      - { name: work, run: job/work }
  b:
    needs: [a]
    tasks: [{ name: alone, run: job/load, compensation: { run: job/undo } }]
  c:
    needs: [b]
    tasks: [{ name: bad, run: job/bad }]
"""


@case("proves: F-094 F-071")
def a_job_and_what_undoes_it_stay_where_a_step_went_that_had_no_choice(t):
    desk = Desk(t, ALONE)
    t.equal(desk.run(FOLLOWING).code, 1)
    dispatched = desk.events("step-dispatched")
    t.equal([event["name"] for event in dispatched], ["west"] * 4)
    t.equal(dispatched[0]["message"], "west alone offers 'job/load'")
    t.matches(dispatched[1]["message"], r"^west 1\d{4}, east \d{4}$")
    t.equal(dispatched[3].get("message"), None, "nobody follows it")
    undone = desk.events("compensation-step-started")
    t.equal([event["name"] for event in undone], ["west", "west"])
    for event in undone:
        t.matches(event["message"], r"^west 1\d{4}, east \d{4}$")
    t.equal(t.maestro("replay", "last", "--verify", *desk.options).code, 0)


FAILING = """executors:
  here:
    kind: process
    runners:
      job/fail: { command: [sh, -c, 'exit 75'] }
"""


@case("proves: E-049 E-050 C-69 E-043")
def rfc_8_the_last_try_of_a_task_is_carried_escalated(t):
    desk = Desk(t, FAILING)
    t.equal(desk.run(failing("")).code, 1)
    t.equal([flags(event)["is_escalated"] for event in desk.events("step-dispatched")], [False, False, True])
    t.equal([event["name"] for event in desk.events("step-dropped")], ["retry-depth"])


@case("proves: E-015 E-016 E-017 E-018 E-053 C-69 G-18")
def rfc_4_a_declared_budget_ends_the_task_before_its_tries_do(t):
    desk = Desk(t, FAILING)
    t.equal(desk.run(failing(", spawn_budget: 2")).code, 1)
    t.equal([flags(event)["is_escalated"] for event in desk.events("step-dispatched")], [False, True], "the last that the budget has room for")
    t.equal([event["name"] for event in desk.events("step-dropped")], ["spawn-budget"])
    # A heavy task has a cooperative beside it from the first attempt on; the last try has what is left of the budget.
    t.equal(desk.run(failing(", intent: heavy, spawn_budget: 3"), name="heavy.yaml").code, 1)
    t.equal([(flags(event)["cooperatives"], flags(event)["is_escalated"]) for event in desk.events("step-dispatched")], [(1, False), (0, True)])
    t.equal([event["name"] for event in desk.events("step-dropped")], ["spawn-budget"])


UNDONE = """workflow: undone
failure_resolution: { strategy: auto_compensate }
jobs:
  a:
    tasks:
      - { name: light, run: job/load, intent: light, compensation: { run: job/undo } }
      - { name: heavy, run: job/load, intent: heavy, compensation: { run: job/undo } }
  b:
    needs: [a]
    tasks: [{ name: bad, run: job/bad, intent: heavy }]
"""


@case("proves: E-002 E-031 E-034")
def rfc_2_what_undoes_a_step_is_dispatched_by_an_admission_of_its_own(t):
    desk = Desk(t, ALONE)
    t.equal(desk.run(UNDONE).code, 1)
    t.equal([flags(event)["cooperatives"] for event in desk.events("step-dispatched")], [0, 1, 1])
    undone = desk.events("compensation-step-started")
    t.equal([(event["step"], flags(event)["cooperatives"]) for event in undone], [(1, 1), (0, 0)], "as the intent of the step is")
    t.equal(t.maestro("replay", "last", "--verify", *desk.options).code, 0)


@case("proves: E-019 F-092")
def rfc_4_a_task_without_a_usable_budget_is_refused_when_it_is_read(t):
    desk = Desk(t, FAILING)
    for budget, intent, said in (("0", "normal", "from 1 to 65535"), ("65536", "normal", "from 1 to 65535"),
                                 (".inf", "normal", "spawn_budget")):
        with t.row(f"{budget} of a {intent} task"):
            result = desk.run(failing(f", intent: {intent}, spawn_budget: {budget}"), name="wrong.yaml")
            t.equal(result.code, 65)
            t.contains(result.err, said)
            t.contains(result.err, "wrong.yaml:5:", "the place of it")


FULL = """executors:
  here:
    kind: process
    capacity: 20
    runners:
      job/hold: { command: [sh, -c, 'echo >> "$PLACES"; while ! test -e "$PLACES.go"; do sleep 0.02; done'], settings: { env: [PLACES] } }
"""


@case("proves: C-94 E-002 E-057")
def what_finds_an_executor_full_is_deferred_once_and_no_place_stays_free(t):
    desk = Desk(t, FULL)
    jobs = "".join(f"  j{i}: {{ tasks: [{{ name: t{i}, run: job/hold }}] }}\n" for i in range(24))
    runner = t.start("run", *desk.options, *desk.runners, t.write("wide.yaml", f"workflow: wide\nconfig: {{ max_concurrency: 100 }}\njobs:\n{jobs}"), env={"PLACES": str(desk.places)})
    t.until(lambda: desk.places.exists() and len(desk.places.read_text().splitlines()) == 20, "every place is taken")
    shown = desk.do("show", "last")
    t.contains(shown.out, "in flight 1000", "why the next one waits")
    (t.folder / "places.go").touch()
    t.equal(t.end(runner).code, 0)
    deferred = desk.events("step-deferred")
    t.true(1 <= len(deferred) <= 4, f"{len(deferred)} of the four that waited, each at most once")
    t.equal(len({event["step"] for event in deferred}), len(deferred))
    t.equal(len(desk.places.read_text().splitlines()), 24)


main()
