#!/usr/bin/env python3
"""Revisions: what is run is stored under a number and never changes; runs keep theirs; one is active and is started by its name."""
import json
import signal
import sqlite3

from maestro_test import case, main

GREET = '''workflow: greet
version: "{version}"
description: says something nice
params:
  - {{ name: who, type: string }}
{more}jobs:
  say: {{ tasks: [{{ name: say, log: "{word} ${{params.who}}" }}] }}
'''
# Waits for a file, then says which version it is.
HELD = '''workflow: held
jobs:
  a: {{ tasks: [{{ name: wait, run: shell, input: {{ command: "touch {folder}/begun; while [ ! -e {folder}/go ]; do sleep 0.05; done" }} }}] }}
  b: {{ needs: [a], tasks: [{{ name: tell, run: shell, input: {{ command: "echo {word} >> {folder}/told" }} }}] }}
'''

ALONE = {"comparedWith": None, "incompatibilities": []}         # of a revision that is stored where none was ever active


def store(t):
    return ("--store", f"sqlite:{t.folder}/store.db")


def select(t, sql, *params):
    with sqlite3.connect(f"file:{t.folder}/store.db?mode=ro", uri=True) as connection:
        return connection.execute(sql, params).fetchall()


def greet(t, version, word="hello", more=""):
    return t.write(f"greet-{version}-{word}.yaml", GREET.format(version=version, word=word, more=more))


def run(t, what, *args):
    return t.maestro("run", what, "-p", "who=Ana", *args, *store(t))


def revisions(t):
    return select(t, "SELECT version, label, active FROM maestro_revisions ORDER BY workflow_id, version")


def run_count(t):
    return select(t, "SELECT count(*) FROM maestro_workflows")[0][0]


def problem(result):
    return json.loads(result.out.splitlines()[-1])


@case("proves: R-006 R-036 R-037")
def what_is_run_is_a_revision_and_the_same_again_is_the_same_one(t):
    first, second = greet(t, "1.0"), greet(t, "1.1", "good day")
    for file in (first, first, second, first):
        t.equal(run(t, file).code, 0)
    t.equal(select(t, "SELECT definition_version FROM maestro_workflows ORDER BY run_no"), [(1,), (1,), (2,), (1,)])
    t.equal(revisions(t), [(1, "1.0", 1), (2, "1.1", 0)], "numbers, labels, which is active")
    row = select(t, "SELECT tenant, workflow_id, name, description, parameters, steps, text, digest, created_ms, updated_ms "
                    "FROM maestro_revisions WHERE version = 2")[0]
    t.equal(row[:4], ("default", "greet", "greet", "says something nice"))
    t.equal([p["name"] for p in json.loads(row[4])], ["who"])
    t.equal([s["id"] for s in json.loads(row[5])], ["say.say"])
    t.equal(row[6], second.read_text(), "the text as it was written")
    t.equal(select(t, "SELECT count(*) FROM maestro_plans WHERE digest = ?", row[7]), [(1,)], "its plan is stored")
    t.true(row[9] > row[8], "when its flag changed")
    t.equal(select(t, "SELECT namespace, workflow_id, version, active FROM workflows WHERE version = 1"), [("default", "greet", 1, 1)])


@case("proves: R-006")
def the_revision_of_a_run_is_shown(t):
    file = greet(t, "1.0")
    run(t, file)
    run(t, greet(t, "1.1", "good day"))
    t.equal(json.loads(t.maestro("show", "last", "--json", *store(t)).out)["revision"], 2)
    t.matches(t.maestro("show", "last", *store(t)).out, r"(?m)^revision +2$")
    t.equal([json.loads(line)["revision"] for line in t.maestro("runs", "--json", *store(t)).out.splitlines()], [2, 1])
    t.equal(json.loads(t.maestro("inspect", "last", "--json", *store(t)).out)["revision"], 2)
    event = json.loads(t.maestro("show", "last", "--events", "--json", *store(t)).out.splitlines()[0])
    t.equal((event["event"], event["revision"]), ("run-created", 2), "its first event")
    listed = [json.loads(line) for line in t.maestro("revisions", "greet", "--json", *store(t)).out.splitlines()]
    t.equal([(r["revisionId"], r["label"], r["active"]) for r in listed],
            [({"namespace": "default", "workflowId": "greet", "version": 2}, "1.1", True),
             ({"namespace": "default", "workflowId": "greet", "version": 1}, "1.0", False)])
    t.matches(t.maestro("revisions", *store(t)).out, r"(?m)^greet +2 +1\.1 +active")


@case("proves: R-006 C-26")
def a_label_belongs_to_one_revision(t):
    run(t, greet(t, "1.0"))
    result = run(t, greet(t, "1.0", "good day"))
    t.equal(result.code, 65)
    t.contains(result.err, 'version "1.0" of \'greet\' is revision 1')
    t.equal((revisions(t), run_count(t)), ([(1, "1.0", 1)], 1), "nothing was stored")


@case("proves: R-039")
def nothing_of_a_revision_can_be_changed_but_its_flag(t):
    run(t, greet(t, "1.0"))
    connection = sqlite3.connect(f"{t.folder}/store.db")
    for column in ("tenant", "workflow_id", "version", "label", "digest", "name", "description", "triggers", "parameters", "steps", "text",
                   "created_ms"):
        with t.row(column):
            try:
                connection.execute(f"UPDATE maestro_revisions SET {column} = {column}")
                t.true(False, "it was changed")
            except sqlite3.Error as error:
                t.contains(str(error), "a revision is immutable")
    try:
        connection.execute("UPDATE maestro_workflows SET definition_version = 2")
        t.true(False, "the revision of a run was changed")
    except sqlite3.Error as error:
        t.contains(str(error), "immutable")
    connection.execute("UPDATE maestro_revisions SET active = 0")
    connection.rollback()
    connection.close()


@case("proves: R-023")
def a_stored_revision_is_started_by_its_name(t):
    run(t, greet(t, "1.0"))
    run(t, greet(t, "1.1", "good day"))
    t.contains(run(t, "greet").out, "good day Ana")
    t.contains(run(t, "greet@2").out, "good day Ana")
    t.contains(run(t, "greet@1.1").out, "good day Ana")
    before = run_count(t)
    t.equal(before, 5)
    cases = (("nobody", 69, 404, "WorkflowNotFoundException"), ("nobody@1", 69, 404, "WorkflowNotFoundException"),
             ("greet@3", 69, 404, "WorkflowRevisionNotFoundException"), ("greet@9.9", 69, 404, "WorkflowRevisionNotFoundException"),
             ("greet@1", 1, 409, "RevisionNotActiveException"), ("greet@1.0", 1, 409, "RevisionNotActiveException"))
    for name, code, status, error in cases:
        with t.row(name):
            result = run(t, name, "--json")
            t.equal(result.code, code)
            t.equal((problem(result)["error"], problem(result)["status"]), (error, status))
            t.contains(result.err, problem(result)["detail"])
    t.equal(run(t, "greet", "--tenant", "other", "--json").code, 69)
    t.equal(run_count(t), before, "runs")


@case("proves: R-024")
def wrong_parameters_start_nothing_and_all_are_named(t):
    more = "  - { name: count, type: integer, default: 1 }\n"
    file = greet(t, "1.0", more=more)
    for what in (file, "greet"):
        with t.row(what):
            result = t.maestro("run", what, "-p", "count=many", "-p", "colour=red", "--json", *store(t))
            t.equal(result.code, 65)
            t.equal((problem(result)["error"], problem(result)["status"]), ("ParameterValidationException", 400))
            for part in ("'count' is not of type integer", "'colour' is not declared", "'who' is missing"):
                t.contains(problem(result)["detail"], part)
        if what == file:
            t.true(not (t.folder / "store.db").exists() or (revisions(t), run_count(t)) == ([], 0), "nothing was stored")
            t.equal(run(t, file).code, 0)
    t.equal((run_count(t), len(revisions(t))), (1, 1))


@case("proves: R-039")
def one_revision_is_active_and_the_ledger_says_who_chose_it(t):
    run(t, greet(t, "1.0"))
    run(t, greet(t, "1.1", "good day"))
    result = t.maestro("revisions", "activate", "greet@1", "--reason", "shorter", "--json", *store(t))
    t.equal((result.code, json.loads(result.out)), (0, {"workflow": "greet", "version": 1, "active": True, "noop": False}))
    t.equal(revisions(t), [(1, "1.0", 1), (2, "1.1", 0)])
    t.contains(run(t, "greet").out, "hello Ana")
    t.equal(json.loads(t.maestro("revisions", "activate", "greet@1.0", "--json", *store(t)).out)["noop"], True, "once more")
    t.equal(t.maestro("revisions", "deactivate", "greet@1", *store(t)).code, 0)
    t.equal([row[2] for row in revisions(t)], [0, 0])
    before = run_count(t)
    for what in ("greet", "greet@1", greet(t, "1.0")):
        with t.row(what):
            result = run(t, what)
            t.equal(result.code, 1)
            t.contains(result.err, "active")
    t.equal(run_count(t), before, "runs")
    t.equal(run(t, greet(t, "1.2", "hi")).code, 0, "a file that says something new")
    t.equal([row[2] for row in revisions(t)], [0, 0, 1])
    events = [(record["actor"].split(":")[0], record.get("rationale"), event["event"], event["revision"])
              for record in map(json.loads, t.maestro("ledger", "show", "--from", "1", "-n", "1000", *store(t)).out.splitlines())
              for event in record["events"] if event["event"].startswith("revision-")]
    started, asked = "a run of it was started", "to deactivate it was asked for"
    t.equal(events, [("user", started, "revision-stored", 1), ("user", started, "revision-activated", 1),
                     ("user", started, "revision-stored", 2), ("user", started, "revision-activated", 2),
                     ("user", "shorter", "revision-activated", 1), ("user", asked, "revision-deactivated", 1),
                     ("user", started, "revision-stored", 3), ("user", started, "revision-activated", 3)])
    t.equal(t.maestro("revisions", "activate", "greet", *store(t)).code, 2, "without a version")
    t.equal(t.maestro("revisions", "activate", "greet@7", *store(t)).code, 69)
    t.equal(t.maestro("ledger", "verify", *store(t)).code, 0)
    t.equal(t.maestro("store", "verify", *store(t)).code, 0)


@case("proves: F-118")
def what_breaks_who_relies_on_the_revision_in_use_needs_leave(t):
    run(t, greet(t, "1.0"))
    file = greet(t, "2.0", more="  - { name: count, type: integer }\n")
    args = ("run", file, "-p", "who=Ana", "-p", "count=2", *store(t))
    result = t.maestro(*args)
    t.equal(result.code, 65)
    t.contains(result.err, "not compatible with revision 1")
    t.contains(result.err, "count")
    t.equal((len(revisions(t)), run_count(t)), (1, 1), "nothing was stored")
    t.equal(t.maestro(*args, "--allow-incompatible").code, 0)
    t.equal(t.maestro(*args).code, 0, "it is the one in use now")
    t.equal(t.maestro("revisions", "activate", "greet@1", *store(t)).code, 65, "the way back breaks who gives a count")
    t.equal(t.maestro("revisions", "activate", "greet@1", "--allow-incompatible", *store(t)).code, 0)
    t.equal(revisions(t), [(1, "1.0", 1), (2, "2.0", 0)])


@case("proves: F-118")
def what_was_active_last_is_still_relied_on(t):
    first, second = greet(t, "1.0"), greet(t, "2.0", more="  - { name: count, type: integer }\n")

    def activate(version, code, *words):
        done = t.maestro("revisions", "activate", f"greet@{version}", *store(t))
        t.equal(done.code, code, f"activating {version}: {done.out}{done.err}")
        for word in words:
            t.contains(done.err, word)

    for file in (first, second):
        t.equal(t.maestro("revisions", "store", file, *store(t)).code, 0)
    activate(1, 0)                                                      # a first one breaks nobody, whatever else is stored
    activate(2, 65, "not compatible with revision 1, which is active:")
    t.maestro("revisions", "deactivate", "greet@1", *store(t))
    activate(2, 65, "not compatible with revision 1, which was active last:", "parameter 'count' is new and has no default")
    dry = t.maestro("plan", second, "--dry-run", "--json", "-p", "who=x", "-p", "count=1", *store(t))
    found = json.loads(dry.out)
    t.equal((found["comparedWith"], len(found["incompatibilities"])), (1, 1), "a dry run compares with the same one")
    for name, url in (("there", store(t)[1]), ("not there", f"sqlite:{t.folder}/none.db")):
        with t.row(f"MAESTRO_STORE, {name}"):
            dry = t.maestro("plan", second, "--dry-run", "--json", "-p", "who=x", "-p", "count=1", env={"MAESTRO_STORE": url})
            t.equal((dry.code, dry.json()["comparedWith"]), (0, 1 if name == "there" else None), dry.err)
    third = greet(t, "3.0", more="  - { name: other, type: integer }\n")
    ran = t.maestro("run", third, "-p", "who=x", "-p", "other=1", *store(t))
    t.equal(ran.code, 65, "so does a file that is run")
    t.contains(ran.err, "which was active last:")
    t.equal(len(revisions(t)), 2, "and nothing of it was stored")
    t.equal(t.maestro("revisions", "activate", "greet@2", "--allow-incompatible", *store(t)).code, 0)
    t.maestro("revisions", "deactivate", "greet@2", *store(t))
    activate(1, 65, "revision 2, which was active last:")               # 1 was active, too, but not last
    activate(2, 0)


@case("proves: F-118")
def a_revision_that_is_stored_is_told_what_it_breaks(t):
    run(t, greet(t, "1.0"))
    file = greet(t, "2.0", more="  - { name: count, type: integer }\n")
    done = t.maestro("revisions", "store", file, *store(t))
    t.equal(done.code, 0, "it is stored all the same")
    t.contains(done.out, "revision 2 of greet is now stored")
    t.contains(done.err, "not compatible with revision 1, which is active:\n  parameter 'count' is new and has no default\n")
    again = t.maestro("revisions", "store", file, "--json", *store(t))
    t.equal(json.loads(again.out), {"workflow": "greet", "version": 2, "active": False, "noop": True, "comparedWith": 1,
                                    "incompatibilities": ["parameter 'count' is new and has no default"]})
    fits = t.maestro("revisions", "store", greet(t, "1.1", "good day"), *store(t))
    t.equal((fits.code, "compatible" in fits.err), (0, False), "of one that fits nothing is said")


@case("proves: F-117 R-006")
def a_run_keeps_its_revision_when_a_newer_one_is_stored_and_its_owner_is_killed(t):
    old = t.write("held-old.yaml", HELD.format(folder=t.folder, word="old"))
    new = t.write("held-new.yaml", HELD.format(folder=t.folder, word="new"))
    first = t.start("run", old, *store(t))
    t.until(lambda: (t.folder / "begun").exists(), "the first run is under way")
    second = t.start("run", new, *store(t))
    t.until(lambda: len(revisions(t)) == 2, "the second revision is stored, by the owner")
    t.equal(revisions(t), [(1, None, 0), (2, None, 1)])
    first.send_signal(signal.SIGKILL)
    second.send_signal(signal.SIGKILL)
    t.end(first), t.end(second)
    (t.folder / "go").touch()
    runs = [row[0] for row in select(t, "SELECT id FROM maestro_workflows ORDER BY run_no")]
    for run_id in runs:                         # who carries out the first one may carry out the other, too
        if select(t, "SELECT completed_ms FROM maestro_workflows WHERE id = ?", run_id) == [(None,)]:
            t.equal(t.maestro("resume", run_id, *store(t)).code, 0)
    t.equal(sorted((t.folder / "told").read_text().split()), ["new", "old"], "each run told its own version")
    t.equal(select(t, "SELECT definition_version, state FROM maestro_workflows ORDER BY run_no"), [(1, "SUCCEEDED"), (2, "SUCCEEDED")])
    for run_id in runs:
        t.equal(t.maestro("replay", run_id, "--verify", *store(t)).code, 0)


@case()
def activation_goes_through_the_owner_of_the_store(t):
    run(t, greet(t, "1.0"))
    run(t, greet(t, "1.1", "good day"))
    owner = t.start("run", t.write("held.yaml", HELD.format(folder=t.folder, word="x")), *store(t))
    t.until(lambda: (t.folder / "begun").exists(), "a process owns the store")
    t.equal(t.maestro("revisions", "activate", "greet@1", *store(t)).code, 0)
    t.contains(run(t, "greet").out, "hello Ana", "carried out by the owner")
    t.equal(run(t, "greet@2").code, 1, "not active any more")
    t.equal(t.maestro("revisions", "deactivate", "greet@1", *store(t)).code, 0)
    t.equal(run(t, greet(t, "1.0")).code, 1, "the owner knows that it is not active")
    (t.folder / "go").touch()
    t.equal(t.end(owner).code, 0)


# The second task gives an output or not; the first one's is kept.
STAGED = '''workflow: staged
params:
  - {{ name: n, type: integer, default: 1 }}
{params}jobs:
  a: {{ tasks: [{{ name: first, run: shell, {first}input: {{ command: "echo a >> {folder}/log; echo 1" }} }}] }}
  b: {{ needs: [a], tasks: [{{ name: second, run: shell, input: {{ command: "echo {word}-${{params.n}} >> {folder}/log; exit {code}" }} }}] }}
  c: {{ needs: [b], tasks: [{{ name: third, log: "{last}" }}{more}] }}
'''


@case("proves: R-036 R-039")
def a_definition_is_stored_without_a_run_put_into_service_and_removed(t):
    first, second = greet(t, "1.0"), greet(t, "1.1", "good day")
    change = lambda *args: t.maestro("revisions", *args, *store(t))
    stored = change("store", first, "--reason", "asked for")
    t.equal((stored.code, stored.out), (0, "revision 1 of greet is now stored\n"), stored.err)
    t.contains(stored.err, f"'maestro revisions activate greet@1 --store sqlite:{t.folder}/store.db'")
    t.equal((revisions(t), run_count(t)), ([(1, "1.0", 0)], 0), "no run, and nothing is active")
    t.equal(select(t, "SELECT text FROM maestro_revisions"), [(first.read_text(),)], "the text as it was written")
    again = change("store", first, "--json")
    t.equal((again.code, again.json()), (0, {"workflow": "greet", "version": 1, "active": False, "noop": True, **ALONE}))
    t.equal(run(t, "greet").code, 1, "it is not started yet")
    t.equal(change("activate", "greet@1").code, 0)
    t.equal(run(t, "greet").code, 0)
    t.equal(change("store", first).out, "revision 1 of greet was stored before, and is active\n")
    t.equal(change("store", second).out, "revision 2 of greet is now stored\n")
    t.equal(revisions(t), [(1, "1.0", 1), (2, "1.1", 0)])
    for what, code, why in (("greet@1", 1, "active"), ("greet@3", 69, "has no revision '3'"), ("nobody@1", 69, "there is no workflow 'nobody'"),
                            ("greet", 2, "NAME@VERSION")):
        with t.row("removing " + what):
            refused = change("remove", what)
            t.equal(refused.code, code, refused.err)
            t.contains(refused.err, why)
    t.equal(change("deactivate", "greet@1").code, 0)
    t.contains(change("remove", "greet@1").err, "run", "one that a run has")
    t.equal(len(revisions(t)), 2, "nothing was removed")
    for _ in ("once", "and sent again"):
        removed = change("remove", "greet@2", "--id", "r-1")
        t.equal((removed.code, removed.out), (0, "revision 2 of greet is now removed\n"), removed.err)
    t.equal(revisions(t), [(1, "1.0", 0)])
    t.equal(change("store", second, "--json").json()["version"], 3, "its number is not given again")
    wrong = change("store", t.write("wrong.yaml", "workflow: w\njobs: { a: { tasks: [{ run: nobody/knows }] } }\n"))
    t.equal(wrong.code, 65, wrong.err)
    t.equal(change("store", "nowhere.yaml").code, 69)


@case()
def a_definition_is_stored_through_the_owner_of_the_store(t):
    process = t.start("run", t.write("held.yaml", HELD.format(folder=t.folder, word="one")), *store(t))
    t.until(lambda: (t.folder / "begun").exists(), "it runs")
    stored = t.maestro("revisions", "store", greet(t, "1.0"), "--json", *store(t))
    t.equal((stored.code, stored.json()), (0, {"workflow": "greet", "version": 1, "active": False, "noop": False, **ALONE}), stored.err)
    removed = t.maestro("revisions", "remove", "greet@1.0", "--json", *store(t))
    t.equal((removed.code, removed.json()), (0, {"workflow": "greet", "version": 1, "active": False, "removed": True, "noop": False}), removed.err)
    (t.folder / "go").touch()
    t.equal(t.end(process).code, 0)


def staged(t, name, params="", first="", word="b", code=65, last="done", more=""):
    return t.write(name, STAGED.format(folder=t.folder, params=params, first=first, word=word, code=code, last=last, more=more))


@case("proves: A-048 F-097")
def a_failed_run_goes_on_with_a_revision_of_the_same_shape(t):
    t.equal(t.maestro("run", staged(t, "1.yaml"), *store(t)).code, 1)
    run_id = select(t, "SELECT id FROM maestro_workflows")[0][0]
    for name, more in (("2.yaml", {"word": "mended", "code": 0, "params": "  - { name: extra, type: string, default: x }\n"}),
                       ("3.yaml", {"code": 0, "more": ', { name: fourth, log: "more" }'}),
                       ("4.yaml", {"code": 0, "first": "outputs: { w: integer }, "})):
        t.maestro("run", staged(t, name, **more), "--allow-incompatible", *store(t))
    with t.row("what does not fit is refused, by the name of the step, and changes nothing"):
        before = select(t, "SELECT event_count, definition_version FROM maestro_workflows WHERE id = ?", run_id)
        for number, words in ((9, "has no revision 9"), (3, "c.fourth"), (4, "step 'a.first' was done and would be kept")):
            refused = t.maestro("retry-from", run_id, "second", "--revision", str(number), *store(t))
            t.true(refused.code != 0, f"revision {number} is refused")
            t.contains(refused.err, words)
        t.equal(t.maestro("retry-from", run_id, "second", "--revision", "none", *store(t)).code, 2)
        t.equal(select(t, "SELECT event_count, definition_version FROM maestro_workflows WHERE id = ?", run_id), before)
    with t.row("what would be done is shown first"):
        dry = t.maestro("retry-from", run_id, "second", "--revision", "2", "--with", "n=7", "--dry-run", *store(t))
        t.equal(dry.out, "revision   2, in which these steps differ: b.second\nchange     n: 1 -> 7\nrun anew   b.second\nrun anew   c.third\n")
        t.equal(select(t, "SELECT definition_version FROM maestro_workflows WHERE id = ?", run_id), [(1,)])
    with t.row("it goes on with the new one, and what was done is kept"):
        t.equal(t.maestro("retry-from", run_id, "second", "--revision", "2", "--with", "n=7", "--reason", "mended", *store(t)).code, 0)
        t.equal(t.maestro("resume", run_id, *store(t)).code, 0)
        shown = t.maestro("show", run_id, *store(t))
        t.matches(shown.out, r"(?m)^revised +goes on with revision 2; other: b\.second \(user:")
        t.matches(shown.out, r"(?m)^state +succeeded$")
        t.equal(t.maestro("show", run_id, "--json", *store(t)).json()["revisions"][0]["revision"], 2)
        t.equal(select(t, "SELECT definition_version FROM maestro_workflows WHERE id = ?", run_id), [(2,)])
    with t.row("and the books are right"):
        for command in (("replay", run_id, "--verify"), ("ledger", "verify"), ("store", "verify")):
            result = t.maestro(*command, *store(t))
            t.equal(result.code, 0, result.out + result.err)
        t.contains(t.maestro("replay", run_id, "--at", "3", *store(t)).out, "after event 3")


@case("proves: A-048")
def a_decision_goes_on_with_another_revision_too(t):
    t.equal(t.maestro("run", staged(t, "1.yaml"), *store(t)).code, 1)
    run_id = select(t, "SELECT id FROM maestro_workflows")[0][0]
    t.equal(t.maestro("run", staged(t, "2.yaml", code=0), *store(t)).code, 0)
    ended = t.maestro("retry-from", "last", "second", "--revision", "1", *store(t))
    t.equal(ended.code, 1)
    t.contains(ended.err, "succeeded")
    with t.row("only a retry does, and what is not looked at is not taken"):
        for decision in ("mark-resolved", "cancel", "compensate"):
            refused = t.maestro("resolve", run_id, "--decision", decision, "--revision", "2", *store(t))
            t.equal(refused.code, 65)
            t.contains(refused.err, "only a retry goes on with another revision")
        t.equal(t.maestro("resolve", run_id, "--decision", "retry", "--revision", "2", "--dry-run", *store(t)).code, 2)
        t.equal(select(t, "SELECT state, definition_version FROM maestro_workflows WHERE id = ?", run_id), [("FAILED", 1)])
    t.equal(t.maestro("resolve", run_id, "--decision", "retry", "--revision", "2", *store(t)).code, 0)
    t.equal(t.maestro("resume", run_id, *store(t)).code, 0)
    t.equal(select(t, "SELECT state, definition_version FROM maestro_workflows WHERE id = ?", run_id), [("SUCCEEDED", 2)])
    t.equal(t.maestro("store", "verify", *store(t)).code, 0)


main()
