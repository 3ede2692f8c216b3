#!/usr/bin/env python3
"""Which steps of a run are carried out: conditions, branches of both kinds, joins of any subset, and what is recorded of it.

A first step gives what the file `given` holds; every other one writes its name into the file `log`."""
import itertools
import json
import sqlite3

from maestro_test import case, main

FLOW = """workflow: flow
jobs:
  first: { tasks: [ { name: first, run: shell, input: { command: "cat FOLDER/given > $MAESTRO_OUTPUT" } } ] }
  route:
    needs: [first]
    branch: { type: TYPE, select: outputs.first.way, cases: { a: [a1], b: [b1], c: [c1] }MORE, converge: join }
  a1: { tasks: [ { WRITES(a1) } ] }
  a2: { needs: [a1], tasks: [ { WRITES(a2) } ] }
  b1: { tasks: [ { WRITES(b1) } ] }
  c1: { tasks: [ { WRITES(c1) } ] }
  join: { needs: [a2, b1, c1], tasks: [ { WRITES(join) } ] }
"""
# What a coupon permits, in the middle of a chain.
CHAIN = """workflow: chain
jobs:
  order:
    tasks:
      - { name: first, run: shell, input: { command: "cat FOLDER/given > $MAESTRO_OUTPUT" } }
      - { name: discount, WRITES(discount), when: "outputs.first.coupon == \\"SPRING\\"" }
      - { name: bill, WRITES(bill) }
"""


def store(t):
    return ("--store", f"sqlite:{t.folder}/store.db")


def write(t, text, name="flow.yaml", **parts):
    for key, value in parts.items():
        text = text.replace(key, value)
    while "WRITES(" in text:
        before, rest = text.split("WRITES(", 1)
        what, after = rest.split(")", 1)
        text = f'{before}run: shell, input: {{ command: "echo {what} >> FOLDER/log" }}{after}'
    return t.write(name, text.replace("FOLDER", str(t.folder)))


def flow(t, kind="exclusive", more=""):
    return write(t, FLOW, TYPE=kind, MORE=more)


def run(t, path, given, place=None):
    """Runs it anew; gives the exit code, what was written in order, and the events with their records."""
    (t.folder / "given").write_text(json.dumps(given))
    (t.folder / "log").unlink(missing_ok=True)
    result = t.maestro("run", path, "--json", *(place or store(t)))
    log = (t.folder / "log").read_text().split() if (t.folder / "log").exists() else []
    return result.code, log, [json.loads(line) for line in result.out.splitlines()]


def of_kind(events, kind):
    return [event for event in events if event.get("event") == kind]


def rows(t, sql):
    with sqlite3.connect(f"file:{t.folder}/store.db?mode=ro", uri=True) as db:
        return db.execute(sql).fetchall()


def last_steps(t):
    """Step, status, reason of the newest run."""
    return rows(t, "select step_key, status, skip_reason from maestro_step_runs "
                   "where workflow_id = (select max(run_no) from maestro_workflows) order by step_key")


ARMS = {"a": ["a1", "a2"], "b": ["b1"], "c": ["c1"]}


def expect_arms(t, log, taken):
    t.equal(sorted(log), sorted([*itertools.chain(*(ARMS[key] for key in taken)), "join"]), "what was carried out")
    t.equal(log[-1], "join", "the last of all")
    for step, status, reason in last_steps(t):
        name = step.split(".")[-1]
        is_left_out = name[0] in ARMS and len(name) == 2 and name[0] not in taken
        t.equal((status, reason), ("SKIPPED", "NOT_ON_ACTIVE_BRANCH") if is_left_out else ("SUCCEEDED", None), step)


@case("proves: A-114 A-118 A-127 A-131 A-269 A-270")
def a_step_is_skipped_unless_its_condition_holds(t):
    path = write(t, CHAIN)
    for given, want in (({"coupon": "SPRING"}, ["discount", "bill"]), ({"coupon": "AUTUMN"}, ["bill"]), ({}, ["bill"])):
        with t.row(str(given)):
            code, log, events = run(t, path, given)
            t.equal((code, log), (0, want))
            skipped = [(s["stepId"], s["reason"]) for s in of_kind(events, "step-skipped")]
            t.equal(skipped, [] if "discount" in want else [("order.discount", "CONDITION_FALSE")])
            states = {step: (status, reason) for step, status, reason in last_steps(t)}
            t.equal(states["order.discount"], ("SUCCEEDED", None) if "discount" in want else ("SKIPPED", "CONDITION_FALSE"))
            t.equal(len(of_kind(events, "compensation-started")), 0, "nothing is compensated where nothing declares it")


@case("proves: A-004 A-115 A-129 A-140 A-142 A-143 A-134")
def exactly_one_way_of_an_exclusive_branch_is_taken(t):
    path = flow(t)
    for key in ("a", "b", "c", ["b"]):
        with t.row(str(key)):
            taken = key if isinstance(key, str) else key[0]
            code, log, events = run(t, path, {"way": key})
            t.equal(code, 0)
            expect_arms(t, log, taken)
            decided = of_kind(events, "branch-taken")
            t.equal([(e["stepId"], e["condition"], e["name"]) for e in decided], [("route", "outputs.first.way", taken)])
            skipped = of_kind(events, "step-skipped")
            t.equal({e["reason"] for e in skipped}, {"NOT_ON_ACTIVE_BRANCH"})
            t.equal(sum(e.get("last", e["step"]) - e["step"] + 1 for e in skipped), 4 - len(ARMS[taken]), "an event names the steps it skips")
    made = rows(t, "select branch_point_key, condition_class, selected_branches, input_summary, evaluated_at is null "
                   "from maestro_branch_decisions order by evaluated_ms")
    t.equal(made[0], ("route", "outputs.first.way", '["a"]', '{"selected":"a"}', 0))
    t.equal([row[2] for row in made], ['["a"]', '["b"]', '["c"]', '["b"]'])
    told = t.maestro("show", "last", "--events", *store(t))
    t.matches(told.out, r"branch-taken +route name=b .*condition=outputs\.first\.way")


@case("proves: A-116 A-119 A-126 A-141 A-004 A-139")
def an_inclusive_branch_takes_any_subset_and_joins_it(t):
    path = flow(t, "inclusive")
    subsets = [keys for count in (1, 2, 3) for keys in itertools.combinations("abc", count)]
    for keys in subsets:
        with t.row("".join(keys)):
            code, log, events = run(t, path, {"way": list(keys)})
            t.equal(code, 0)
            expect_arms(t, log, keys)
            t.equal([e["name"] for e in of_kind(events, "branch-taken")], [",".join(keys)])
    t.equal([json.loads(row[0]) for row in rows(t, "select selected_branches from maestro_branch_decisions order by evaluated_ms")],
            [list(keys) for keys in subsets])
    verified = t.maestro("store", "verify", *store(t))
    t.equal(verified.code, 0, verified.out + verified.err)


@case("proves: A-115 A-116 A-138 C-85")
def a_selection_of_nothing_or_too_much_fails_the_branch_and_starts_no_arm(t):
    several = "the selection names several cases"
    table = (("exclusive", "", ["a", "b"], several), ("exclusive", "", [], "the selection names no case"),
             ("exclusive", "", "q", "there is no case 'q'"), ("exclusive", "", 5, "the selection names no case"),
             ("exclusive", ", default: c", ["a", "b"], several), ("inclusive", "", [], "the selection names no case"),
             ("inclusive", "", ["a", "q"], "there is no case 'q'"), ("exclusive", "", None, "the selection names no case"))
    for kind, more, way, why in table:
        with t.row(f"{kind} {way}{more}"):
            code, log, events = run(t, flow(t, kind, more), {"way": way})
            t.equal((code, log), (1, []))
            failed = of_kind(events, "step-failed")
            t.equal([e["stepId"] for e in failed], ["route"])
            t.contains(failed[0]["message"], why)
            t.equal(failed[0]["class"], "permanent")
            t.equal({reason for step, status, reason in last_steps(t) if status == "SKIPPED"}, {"PREDECESSOR_FAILED"})
    t.equal(rows(t, "select count(*) from maestro_branch_decisions"), [(0,)], "decisions")
    code, log, _ = run(t, flow(t, "exclusive", ", default: c"), {"way": "q"})
    t.equal((code, log), (0, ["c1", "join"]), "the default takes what no case does")


@case("proves: A-125 C-97")
def what_a_step_requires_is_there_or_the_definition_is_refused(t):
    reads = ('workflow: reads\njobs:\n  make: { tasks: [ { name: make, run: shell, outputs: { n: integer }, WHEN'
             'input: { command: "echo \'{\\"n\\": 7}\' > $MAESTRO_OUTPUT" } } ] }\n'
             '  use: { needs: [make], tasks: [ { name: use, run: shell, input: '
             '{ n: "${outputs.make.n}", command: "printf %s \\"$MAESTRO_INPUT\\" > FOLDER/input" } } ] }\n')
    t.equal(t.maestro("run", write(t, reads, WHEN=""), *store(t)).code, 0)
    t.equal(json.loads((t.folder / "input").read_text())["n"], 7)
    maybe = reads.replace("workflow: reads", "workflow: reads\nparams: [ { name: x, type: integer, default: 0 } ]")
    refused = t.maestro("validate", write(t, maybe, name="maybe.yaml", WHEN='when: "params.x == 1", '))
    t.equal(refused.code, 65, "an output that may be missing: " + refused.out)
    t.contains(refused.out + refused.err, "make")
    # Not ready before its producer has ended: its input could not be read.
    slow = ('workflow: slow\njobs:\n  make: { tasks: [ { name: make, run: shell, '
            'input: { command: "while ! [ -e FOLDER/go ]; do sleep 0.02; done; echo made >> FOLDER/order; echo \'{\\"n\\": 7}\' > $MAESTRO_OUTPUT" } } ] }\n'
            '  other: { tasks: [ { run: shell, input: { command: "echo other >> FOLDER/order; touch FOLDER/go" } } ] }\n'
            '  use: { tasks: [ { name: use, run: shell, input: { n: "${outputs.make.n}", command: "echo use >> FOLDER/order" } } ], needs: [make] }\n')
    t.equal(t.maestro("run", write(t, slow, name="slow.yaml"), *store(t)).code, 0)
    t.equal((t.folder / "order").read_text().split(), ["other", "made", "use"])


@case("proves: A-126 A-124 A-131")
def a_skipped_predecessor_counts_by_why_it_was_skipped(t):
    text = """workflow: counted
jobs:
  first: { tasks: [ { name: first, run: shell, input: { command: "cat FOLDER/given > $MAESTRO_OUTPUT" } } ] }
  route: { needs: [first], branch: { type: exclusive, select: outputs.first.way, cases: { a: [a1], b: [b1] }, converge: join } }
  a1: { when: outputs.first.wanted == true, tasks: [ { WRITES(a1) } ] }
  a2: { needs: [a1], tasks: [ { WRITES(a2) } ] }
  b1: { tasks: [ { WRITES(b1) } ] }
  b2: { needs: [b1], tasks: [ { WRITES(b2) } ] }
  join: { needs: [a2, b2], tasks: [ { WRITES(join) } ] }
  end: { needs: [join], tasks: [ { WRITES(end) } ] }
"""
    path = write(t, text)
    code, log, _ = run(t, path, {"way": "a", "wanted": False})
    t.equal((code, log), (0, ["a2", "join", "end"]), "behind a condition that is false it goes on; behind an arm that is not taken it does not")
    reasons = {step.split(".")[0]: reason for step, status, reason in last_steps(t) if status == "SKIPPED"}
    t.equal(reasons, {"a1": "CONDITION_FALSE", "b1": "NOT_ON_ACTIVE_BRANCH", "b2": "NOT_ON_ACTIVE_BRANCH"})
    code, log, _ = run(t, path, {"way": "b", "wanted": True})
    t.equal((code, log), (0, ["b1", "b2", "join", "end"]))


@case("proves: A-132 A-131 C-19")
def every_skipped_step_has_its_reason_and_no_other_step_has_one(t):
    text = """workflow: reasons
jobs:
  flow:
    tasks:
      - { name: first, run: shell, input: { command: "cat FOLDER/given > $MAESTRO_OUTPUT" } }
      - { name: gate, run: shell, input: { command: "true" }, terminate_when: { condition: outputs.first.end == true, state: succeeded, reason: enough } }
      - { name: maybe, run: shell, input: { command: "true" }, when: outputs.first.maybe == true }
      - { name: work, run: shell, input: { command: "test -e FOLDER/broken && exit 65; true" } }
      - { name: last, run: shell, input: { command: "true" } }
"""
    path = write(t, text)
    for name, given, broken, want in (("condition", {"maybe": False}, False, {"maybe": "CONDITION_FALSE"}),
                                      ("early end", {"end": True}, False, {n: "TERMINATED_EARLY" for n in ("maybe", "work", "last")}),
                                      ("failure", {"maybe": True}, True, {"last": "PREDECESSOR_FAILED"}),
                                      ("nothing", {"maybe": True}, False, {})):
        with t.row(name):
            (t.folder / "broken").unlink(missing_ok=True)
            if broken:
                (t.folder / "broken").touch()
            code, _, events = run(t, path, given)
            t.equal(code, 1 if broken else 0, events[-1:])
            t.equal({step.split(".")[-1]: reason for step, status, reason in last_steps(t) if status == "SKIPPED"}, want)
    t.equal(rows(t, "select count(*) from maestro_step_runs where (status = 'SKIPPED') <> (skip_reason is not null)"), [(0,)])


@case("proves: A-113")
def the_example_of_routing_follows_one_of_its_three_ways(t):
    text = t.run("cat", "examples/order-routing.yaml").out
    runners = t.run("cat", "examples/runners.yaml").out
    for priority, way in (("high", "express-fulfill"), ("standard", "standard-fulfill"), ("low", "queue-for-batch")):
        with t.row(priority):
            t.true('\\"priority\\":\\"standard\\"' in runners, "the stand-in says what it gives")
            t.write("runners.yaml", runners.replace('\\"priority\\":\\"standard\\"', f'\\"priority\\":\\"{priority}\\"'))
            path = t.write("order-routing.yaml", text)
            result = t.maestro("run", path, "-p", "order_id=17", "--runners", t.folder / "runners.yaml", *store(t))
            t.equal(result.code, 0, result.err)
            done = [step.split(".")[0] for step, status, _ in last_steps(t) if status == "SUCCEEDED"]
            t.equal(done, sorted(["validate", "route", way, "send-confirmation"]))


@case("")
def conditions_that_take_long_are_asked_in_turns_between_which_others_have_theirs(t):
    when = "count([1 | some i in numbers.range(1, 700); some j in numbers.range(1, 700); i + j == 0 - 1]) == 0"
    jobs = "".join(f"  j{i}: {{ when: '{when}', tasks: [{{ log: hi }}] }}\n" for i in range(12))
    t.equal(t.maestro("run", t.write("long.yaml", f"workflow: long\nconfig: {{ max_concurrency: 100 }}\njobs:\n{jobs}"), *store(t)).code, 0)
    t.true(rows(t, "select max(event_count) from maestro_ledger")[0][0] < 24, "no decision begins all of them, with some events each")


main()
