#!/usr/bin/env python3
"""Policies at the command line: eval, test, check, fmt, bench, and bundles."""
import base64
import io
import json
import re
import tarfile

from maestro_test import MAESTRO, ROOT, case, main

DEPLOY = """package deploy

default allow := false

allow if {
    input.user == data.admins[_]
    count(reasons) == 0
}

reasons contains sprintf("%s is frozen", [input.service]) if input.service in data.frozen
"""
ADMINS = '{"admins": ["ann", "bob"], "frozen": ["billing"]}'
INPUT = '{"user": "ann", "service": "web"}'


def policy(t):
    return t.write("deploy.rego", DEPLOY), t.write("data.json", ADMINS), t.write("input.json", INPUT)


def archive(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


# --- eval -----------------------------------------------------------------------------------------------------------


@case()
def a_query_is_evaluated_over_policies_data_and_input(t):
    rego, data, given = policy(t)
    result = t.maestro("policy", "eval", "-d", rego, "-d", data, "-i", given, "data.deploy.allow; x := data.admins[1]")
    t.equal(result.code, 0, result.err)
    t.equal(result.json(), {"result": [{
        "expressions": [{"value": True, "text": "data.deploy.allow", "location": {"row": 1, "col": 1}},
                        {"value": True, "text": "x := data.admins[1]", "location": {"row": 1, "col": 20}}],
        "bindings": {"x": "bob"}}]})
    frozen = t.maestro("policy", "eval", "-d", rego, "-d", data, "-I", "-f", "raw", "[data.deploy.allow, data.deploy.reasons]",
                       stdin='{"user": "ann", "service": "billing"}')
    t.equal(frozen.out, '[false,["billing is frozen"]]\n')


@case()
def results_have_five_forms(t):
    for form, want in (("json", '"bindings"'), ("pretty", "│ 1 │"), ("values", "[\n  true\n]\n[\n  true\n]\n"),
                       ("bindings", '{\n  "x": 1\n}\n{\n  "x": 2\n}\n'), ("raw", "true\ntrue\n")):
        with t.row(form):
            result = t.maestro("policy", "eval", "--format", form, "x := [1, 2][_]")
            t.equal(result.code, 0)
            t.contains(result.out, want)
    t.equal(t.maestro("policy", "eval", "-f", "pretty", "1 + 1").out, "2\n")
    t.equal(t.maestro("policy", "eval", "-f", "raw", '"a b"').out, "a b\n")


@case()
def undefined_is_an_empty_result_and_may_be_a_failure(t):
    t.equal(t.maestro("policy", "eval", "data.nothing").json(), {})
    t.equal(t.maestro("policy", "eval", "-f", "pretty", "data.nothing").out, "undefined\n")
    for option, query, want in (("--fail", "data.nothing", 1), ("--fail", "true", 0), ("--fail-defined", "true", 1),
                                ("--fail-defined", "data.nothing", 0)):
        with t.row(option + " " + query):
            t.equal(t.maestro("policy", "eval", option, query).code, want)


@case()
def mistakes_are_told_with_their_place(t):
    bad = t.write("bad.rego", "package bad\n\np if x > 1\n")
    result = t.maestro("policy", "eval", "-d", bad, "data")
    t.equal(result.code, 65)
    error = result.json()["errors"][0]
    t.equal((error["code"], error["location"]["file"], error["location"]["row"], error["message"]),
            ("rego_unsafe_var_error", str(bad), 3, "var x is unsafe"))
    query = t.maestro("policy", "eval", "data.", "-f", "pretty")
    t.equal(query.code, 65)
    t.contains(query.err, "rego_parse_error")
    conflict = t.write("conflict.rego", "package c\n\np := 1\n\np := 2\n")
    result = t.maestro("policy", "eval", "-d", conflict, "data.c.p")
    t.equal((result.code, result.json()["errors"][0]["code"]), (65, "eval_conflict_error"))
    strict = t.maestro("policy", "eval", "--strict-builtin-errors", "1 / 0")
    t.equal((strict.code, strict.json()["errors"][0]["code"]), (65, "eval_builtin_error"))
    t.equal(t.maestro("policy", "eval", "1 / 0").json(), {})
    missing = t.maestro("policy", "eval", "-d", t.folder / "none.rego", "1", "-f", "pretty")
    t.equal(missing.code, 69)
    t.contains(missing.err, "none.rego")


@case()
def an_evaluation_is_explained_covered_and_profiled(t):
    rego, data, given = policy(t)
    base = ("policy", "eval", "-d", rego, "-d", data, "-i", given)
    whole = t.maestro(*base, "--coverage", "--profile", "data.deploy.allow").json()
    coverage = whole["coverage"]["files"][str(rego)]
    t.true(any(r["start"]["row"] == 6 for r in coverage["covered"]), "line 6 was evaluated")
    t.true(0 < whole["coverage"]["coverage"] <= 100, "a percentage")
    t.true(any(p["location"]["row"] == 6 and p["num_eval"] >= 1 for p in whole["profile"]), "line 6 has a count")
    t.true(whole["metrics"]["timer_rego_query_eval_ns"] > 0, "evaluating took time")
    full = t.maestro(*base, "--explain", "full", "-f", "pretty", "data.deploy.allow")
    t.contains(full.out, "deploy.rego:5")
    t.contains(full.out, "Enter")
    notes = t.maestro("policy", "eval", "--explain", "notes", "-f", "pretty", 'trace("seen"); print("said")')
    t.contains(notes.out, 'Note "seen"')
    t.contains(notes.err, "said")


EXPLAINED = """package app

default allow := false

allow if {
    some role in input.roles
    permits(role, input.action)
    trace(sprintf("role %s", [role]))
}

permits(role, action) if action in data.grants[role]
"""
# What OPA 1.22 prints for the same, with the numbers of generated variables that are ours.
FULL = """query:1         Enter data.app.allow = _
query:1         | Eval data.app.allow = _
query:1         | Index data.app.allow (matched 1 rule, early exit)
app.rego:5      | Enter data.app.allow
app.rego:6      | | Eval role = input.roles[__local0__]
app.rego:7      | | Eval __local1__ = input.action
app.rego:7      | | Eval data.app.permits(role, __local1__)
app.rego:7      | | Index data.app.permits (matched 1 rule, early exit)
app.rego:11     | | Enter data.app.permits
app.rego:11     | | | Eval __local2__ = data.grants[role]
app.rego:11     | | | Eval internal.member_2(action, __local2__)
app.rego:11     | | | Fail internal.member_2(action, __local2__)
app.rego:11     | | | Redo __local2__ = data.grants[role]
app.rego:7      | | Fail data.app.permits(role, __local1__)
app.rego:7      | | Redo __local1__ = input.action
app.rego:6      | | Redo role = input.roles[__local0__]
app.rego:7      | | Eval __local1__ = input.action
app.rego:7      | | Eval data.app.permits(role, __local1__)
app.rego:7      | | Index data.app.permits (matched 1 rule, early exit)
app.rego:11     | | Enter data.app.permits
app.rego:11     | | | Eval __local2__ = data.grants[role]
app.rego:11     | | | Eval internal.member_2(action, __local2__)
app.rego:11     | | | Exit data.app.permits early
app.rego:8      | | Eval sprintf("role %s", [role], __local3__)
app.rego:8      | | Eval trace(__local3__)
app.rego:8      | | Note "role admin"
app.rego:5      | | Exit data.app.allow early
query:1         | Exit data.app.allow = _
query:1         Redo data.app.allow = _
query:1         | Redo data.app.allow = _
app.rego:5      | Redo data.app.allow
app.rego:8      | | Redo trace(__local3__)
app.rego:8      | | Redo sprintf("role %s", [role], __local3__)
app.rego:7      | | Redo data.app.permits(role, __local1__)
app.rego:11     | | | Redo internal.member_2(action, __local2__)
app.rego:11     | | | Redo __local2__ = data.grants[role]
app.rego:7      | | Redo __local1__ = input.action
app.rego:6      | | Redo role = input.roles[__local0__]
true
"""


def explained(t):
    t.write("app.rego", EXPLAINED)
    t.write("app.json", '{"grants": {"dev": ["read"], "admin": ["read", "write"]}}')
    t.write("app-input.json", '{"roles": ["dev", "admin"], "action": "write"}')
    return ("policy", "eval", "-d", "app.rego", "-d", "app.json", "-i", "app-input.json")


def renumbered(text):
    """The names of generated variables in the order in which they appear."""
    names = {}
    return re.sub(r"__local\d+__", lambda m: names.setdefault(m.group(0), f"__local{len(names)}__"), text)


@case()
def the_way_to_a_result_has_the_form_that_opa_gives_it(t):
    base = explained(t)
    full = t.maestro(*base, "--explain", "full", "-f", "pretty", "data.app.allow", cwd=t.folder)
    t.equal(renumbered(full.out), FULL)
    t.equal(t.maestro(*base, "--explain", "debug", "-f", "pretty", "data.app.allow", cwd=t.folder).out, full.out)
    notes = t.maestro(*base, "--explain", "notes", "-f", "pretty", "data.app.allow", cwd=t.folder)
    t.equal(notes.out, """query:1        Enter data.app.allow = _
app.rego:5     | Enter data.app.allow
app.rego:8     | | Note "role admin"
true
""")
    fails = t.maestro(*base, "--explain", "fails", "-f", "pretty", "data.app.allow", cwd=t.folder)
    t.equal(renumbered(fails.out), """query:1         Enter data.app.allow = _
app.rego:5      | Enter data.app.allow
app.rego:11     | | Enter data.app.permits
app.rego:11     | | | Fail internal.member_2(action, __local0__)
app.rego:7      | | Fail data.app.permits(role, __local1__)
true
""")
    values = t.maestro(*base, "--explain", "fails", "--var-values", "-f", "pretty", "data.app.allow", cwd=t.folder)
    t.matches(values.out, r'Fail internal\.member_2\(action, __local\d+__\) +\{__local\d+__: \["read"\], action: "write"\}$')


@case()
def an_explanation_as_json_has_events_with_their_trees(t):
    events = t.maestro(*explained(t), "--explain", "full", "data.app.allow", cwd=t.folder).json()["explanation"]
    t.equal(len(events), len(FULL.splitlines()) - 1)
    t.equal(sorted(events[0]), ["LocalMetadata", "Locals", "Location", "Message", "Node", "Op", "ParentID", "QueryID", "Ref"])
    t.equal(events[0]["Node"], [{"index": 0, "terms": [
        {"type": "ref", "value": [{"type": "var", "value": "eq"}]},
        {"type": "ref", "value": [{"type": "var", "value": "data"}, {"type": "string", "value": "app"}, {"type": "string", "value": "allow"}]},
        {"type": "var", "value": "$term0"}]}])
    index = events[2]
    t.equal((index["Op"], index["Message"], index["Location"]), ("Index", "(matched 1 rule, early exit)", {"file": "", "row": 1, "col": 1}))
    t.equal(index["Ref"], [{"type": "var", "value": "data"}, {"type": "string", "value": "app"}, {"type": "string", "value": "allow"}])
    enter = events[3]
    t.equal((enter["Op"], enter["QueryID"], enter["ParentID"], enter["Node"]["head"]["name"]), ("Enter", 1, 0, "allow"))
    call = events[6]
    t.true({"name": "role", "type": "string", "value": "dev"} in call["Locals"], call["Locals"])
    t.equal(call["LocalMetadata"]["role"]["location"]["row"], 6)
    note = next(event for event in events if event["Op"] == "Note")
    t.equal((note["Node"], note["Message"], note["Locals"]), (None, "role admin", None))


@case()
def a_profile_has_a_row_for_each_line(t):
    base = explained(t)
    whole = t.maestro(*base, "--profile", "data.app.allow", cwd=t.folder).json()
    rows = {(row["location"]["file"], row["location"]["row"]): row for row in whole["profile"]}
    counts = {place: (row["num_eval"], row["num_redo"], row["num_gen_expr"]) for place, row in rows.items()}
    t.equal(counts, {("", 1): (1, 1, 1), ("app.rego", 6): (1, 2, 1), ("app.rego", 7): (4, 3, 2), ("app.rego", 8): (2, 2, 2),
                     ("app.rego", 11): (4, 3, 2)})
    times = [row["total_time_ns"] for row in whole["profile"]]
    t.equal(times, sorted(times, reverse=True))
    t.true(all(times), times)
    two = t.maestro(*base, "--profile", "--profile-limit", "2", "--profile-sort", "num_eval", "--profile-sort", "line",
                    "data.app.allow", cwd=t.folder).json()["profile"]
    t.equal([row["location"]["row"] for row in two], [11, 7])
    pretty = t.maestro(*base, "--profile", "-f", "pretty", "data.app.allow", cwd=t.folder).out
    t.matches(pretty, r"│ +Time +│ Num Eval │ Num Redo │ Num Gen Expr │ +Location +│")
    t.matches(pretty, r"│ 4 +│ 3 +│ 2 +│ app\.rego:11 +│")
    t.matches(pretty, r"│ data\.app\.allow │")
    for option, value in (("--profile-limit", "few"), ("--profile-sort", "colour")):
        with t.row(option):
            t.equal(t.maestro(*base, option, value, "1", cwd=t.folder).code, 2)


@case()
def coverage_names_ranges_and_lines(t):
    t.write("c.rego", "package c\n\np if {\n\tinput.a == 1\n\tinput.b == 2\n}\n\nq := [x |\n\tx := 1\n]\n")
    t.write("a.json", '{"a": 1}')
    coverage = t.maestro("policy", "eval", "-d", "c.rego", "-i", "a.json", "--coverage", "data.c", cwd=t.folder).json()["coverage"]
    file = coverage["files"]["c.rego"]
    ranges = [(r["start"]["row"], r["start"]["col"], r["end"]["row"], r["end"]["col"]) for r in file["covered"]]
    t.equal(ranges, [(4, 2, 4, 14), (5, 2, 5, 14), (8, 1, 10, 2), (8, 6, 10, 2), (9, 2, 9, 8)])
    t.equal([r["start"]["row"] for r in file["not_covered"]], [3])
    t.equal((file["covered_lines"], file["not_covered_lines"], coverage["covered_lines"]), (5, 1, 5))
    t.equal(coverage["coverage"], 100 * 5 / 6)
    t.write("d/e.rego", "package e\n\np if input.a\n")
    for folder in ("d", "./d", ".//d/", "d/."):
        with t.row(folder):
            files = t.maestro("policy", "eval", "-d", folder, "--coverage", "1", cwd=t.folder).json()["coverage"]["files"]
            t.equal((list(files), sorted(files.popitem()[1])), (["d/e.rego"], ["not_covered", "not_covered_lines"]))
    here = t.maestro("policy", "eval", "-d", ".", "-i", "a.json", "--coverage", "data.e", cwd=t.folder).json()["coverage"]["files"]
    t.equal(sorted(here), ["c.rego", "d/e.rego"])
    t.true("not_covered_lines" not in here["d/e.rego"], "what is 0 of a file is left out")


@case()
def budgets_end_an_evaluation(t):
    query = "count([1 | some a in numbers.range(1, 1000); some b in numbers.range(1, 1000); a == b]) > 0"
    for words, want in ((["--max-steps", "1000"], "took more than 1000 steps"),
                        (["--max-memory", "1"], "took more than 1048576 bytes of memory")):
        with t.row(" ".join(words)):
            result = t.maestro("policy", "eval", *words, "numbers.range(1, 1000000)" if "memory" in words[0] else query)
            error = result.json()["errors"][0]
            t.equal((result.code, error["code"]), (65, "eval_cancel_error"))
            t.contains(error["message"], want)
            t.equal(error["location"]["row"], 1)
    t.equal(t.maestro("policy", "eval", "--max-steps", "0", "1").code, 2)


@case()
def errors_have_details(t):
    parse = t.write("parse.rego", "package e\n\np := {\nq if\n")
    error = t.maestro("policy", "check", "--format", "json", parse).json()["errors"][0]
    t.equal(error["details"], {"line": "q if", "idx": 2})
    types = t.write("type.rego", "package e\n\np := upper(1)\n")
    error = t.maestro("policy", "check", "--format", "json", types).json()["errors"][0]
    t.equal((error["code"], error["message"]), ("rego_type_error", "upper: invalid argument(s)"))
    t.equal(sorted(error["details"]), ["have", "want"])
    conflict = t.write("conflict.rego", "package e\n\np := 1\n\np := 2\n")
    error = t.maestro("policy", "eval", "-d", conflict, "data.e.p").json()["errors"][0]
    t.equal(error["details"], f"rule data.e.p produced conflicting values:\n  1 at {conflict}:3\n  2 at {conflict}:5")
    pretty = t.maestro("policy", "eval", "-f", "pretty", "-d", conflict, "data.e.p")
    t.matches(pretty.err, r"^  2 at .*conflict\.rego:5$")


@case()
def bytes_that_are_no_text_are_replaced(t):
    for form, want in (("json", b'"value": "a\xef\xbf\xbd"'), ("pretty", b'"a\xef\xbf\xbd"\n'), ("values", b'"a\xef\xbf\xbd"')):
        with t.row(form):
            result = t.maestro("policy", "eval", "-f", form, 'hex.decode("61ff")')
            t.equal(result.code, 0)
            t.contains(result.out.encode(), want)


@case()
def the_examples_of_policies_answer(t):
    build = t.write("build.json", '{"phase": "pre-flight", "run": {"payload": {"commit": "abc"}}}')
    result = t.maestro("policy", "eval", "-d", "examples/policies", "-i", build, "-f", "raw", "data.maestro.policies.sast_required.allow")
    t.equal((result.code, result.out), (0, "true\n"))
    t.equal(t.maestro("policy", "check", "--strict", "examples/policies").code, 0)
    t.equal(t.maestro("policy", "fmt", "--list", "--fail", "examples/policies").code, 0)


@case()
def time_zones_and_the_clock_are_those_of_the_machine(t):
    zone = t.maestro("policy", "eval", "-f", "raw", 'time.clock([1700000000000000000, "Europe/Berlin"])')
    t.equal(zone.out, "[23,13,20]\n")
    bad = t.maestro("policy", "eval", "-f", "raw", 'time.clock([0, "../../etc/passwd"])')
    t.equal((bad.code, bad.out), (0, ""))
    now = t.maestro("policy", "eval", "-f", "raw", "x := time.now_ns(); x > 1700000000000000000; time.now_ns() == x")
    t.equal(now.out, "true true true\n")


# --- files, directories, bundles ---------------------------------------------------------------------------------------


@case()
def directories_are_loaded_with_their_data_in_place(t):
    t.write("p/deploy.rego", DEPLOY)
    t.write("p/a/b/x.json", '{"one": 1}')
    t.write("p/a/y.yaml", "two: 2\nb: {three: 3}\n")
    t.write("p/.hidden/z.json", "{")
    result = t.maestro("policy", "eval", "-d", t.folder / "p", "-f", "values", "data.a")
    t.equal(json.loads(result.out), [{"b": {"one": 1, "three": 3}, "two": 2}])
    t.write("p/a/again.json", '{"two": 3}')
    twice = t.maestro("policy", "eval", "-d", t.folder / "p", "data.a")
    t.equal(twice.code, 65)
    t.contains(twice.out, "data.a.two is defined twice")
    wrong = t.write("wrong.json", '{"a": }')
    t.contains(t.maestro("policy", "eval", "-d", wrong, "1", "-f", "raw").err, "wrong.json:1:7")
    t.contains(t.maestro("policy", "eval", "-d", t.write("x.txt", ""), "1", "-f", "raw").err, "neither a policy")


@case()
def bundles_are_read_from_directories_and_archives(t):
    files = {"deploy/deploy.rego": DEPLOY, "data.json": ADMINS, "other.json": "{", "./roles//data.yaml": "ann: admin\n",
             ".manifest": '{"roots": ["deploy", "admins", "frozen", "roles"]}'}
    packed = t.write("bundle.tar.gz", archive(files))
    for name, text in files.items():
        t.write("bundle/" + name, text)
    given = t.write("input.json", INPUT)
    for path in (packed, t.folder / "bundle"):
        with t.row(path.name):
            result = t.maestro("policy", "eval", "-b", path, "-i", given, "-f", "raw", "data.deploy.allow; data.roles.ann")
            t.equal((result.code, result.out), (0, "true admin\n"), result.err)


@case()
def what_a_bundle_may_not_do_is_refused(t):
    rows = (
        ("a package outside of the roots", {"x.rego": "package other\n", ".manifest": '{"roots": ["deploy"]}'}, "outside of the roots"),
        ("data outside of the roots", {"a/data.json": "{}", ".manifest": '{"roots": ["deploy"]}'}, "outside of the roots"),
        ("data beside a root", {"data.json": '{"a": {"b": 1, "c": 2}}', ".manifest": '{"roots": ["a/b"]}'}, "'a/c' is outside"),
        ("a manifest that is none", {".manifest": "{"}, ".manifest:1:2"),
        ("roots that are none", {".manifest": '{"roots": "a"}'}, "roots has to be a list"),
        ("an empty list of roots", {".manifest": '{"roots": []}'}, "roots is empty"),
        ("roots inside one another", {".manifest": '{"roots": ["a/b", "a"]}'}, "its roots 'a' and 'a/b' overlap"),
        ("a revision that is none", {".manifest": '{"revision": 3}'}, "revision has to be a string"),
        ("a name that leads out", {"../x.rego": "package a"}, "leads out of the archive"),
        ("data that is no object", {"data.json": "[]"}, "has to be an object"),
    )
    for name, files, want in rows:
        with t.row(name):
            result = t.maestro("policy", "eval", "-b", t.write("b.tar.gz", archive(files)), "1", "-f", "raw")
            t.equal(result.code, 65)
            t.contains(result.err, want)
    with t.row("an archive that is cut off"):
        result = t.maestro("policy", "eval", "-b", t.write("cut.tar.gz", archive({"a.rego": DEPLOY})[:60]), "1", "-f", "raw")
        t.equal(result.code, 65)
        t.contains(result.err, "cut.tar.gz")
    with t.row("no archive"):
        t.equal(t.maestro("policy", "eval", "-b", t.write("none.tar.gz", "hello"), "1", "-f", "raw").code, 65)
    with t.row("two bundles that define the same"):
        one, two = t.write("1.tar.gz", archive({"data.json": "{}"})), t.write("2.tar.gz", archive({"data.json": "{}"}))
        t.contains(t.maestro("policy", "eval", "-b", one, "-b", two, "1", "-f", "raw").err, "overlaps")
    with t.row("a root inside that of another bundle"):
        one = t.write("1.tar.gz", archive({".manifest": '{"roots": ["a"]}'}))
        two = t.write("2.tar.gz", archive({".manifest": '{"roots": ["a/b"]}'}))
        t.contains(t.maestro("policy", "eval", "-b", one, "-b", two, "1", "-f", "raw").err, "'a/b' overlaps the root 'a'")
    with t.row("roots that only begin alike"):
        two = t.write("2.tar.gz", archive({".manifest": '{"roots": ["ab"]}'}))
        t.equal(t.maestro("policy", "eval", "-b", one, "-b", two, "1", "-f", "raw").code, 0)


@case()
def the_package_of_a_query_is_read_as_that_of_a_module(t):
    rego = t.write("p.rego", 'package a["x y"].b\n\nq := 1\n')
    for name in ('a["x y"].b', 'data.a["x y"].b'):
        with t.row(name):
            result = t.maestro("policy", "eval", "-d", rego, "--package", name, "-f", "raw", "q")
            t.equal((result.code, result.out), (0, "1\n"), result.err)
    for name in ("a b", "1x", "a..b", "a[0]", "a.b]", "a-b", "a\nq := 2"):
        with t.row("not " + name):
            result = t.maestro("policy", "eval", "-d", rego, "--package", name, "-f", "raw", "1")
            t.equal(result.code, 65)
            t.contains(result.err, "is no package")


@case()
def conflicts_are_told_whole(t):
    rego = t.write("c.rego", "package c\n\np.q := 1\n\np.q.r := 2\n")
    result = t.maestro("policy", "check", "--format", "json", rego)
    t.equal(result.code, 65)
    t.equal(result.json()["errors"][0]["message"], f"rule data.c.p.q conflicts with:\n  rule data.c.p.q.r at {rego}:5")


@case()
def an_explanation_has_a_limit_that_is_told(t):
    rego = t.write("l.rego", "package l\n\nxs := numbers.range(1, 300)\n\np if {\n\tsome a in xs\n\tsome b in xs\n"
                   "\ta + b + count(xs) < 0\n}\n")
    result = t.maestro("policy", "eval", "-d", rego, "--explain", "full", "-f", "json", "data.l.p")
    t.equal(result.code, 0)
    t.contains(result.err, "further events beyond TRACE_SIZE_MAX (268435456 bytes)")
    t.true(1000 < len(result.json()["explanation"]), "what fits is there")
    whole = t.maestro("policy", "eval", "-d", rego, "--explain", "fails", "-f", "pretty", "data.l.p")
    t.equal(whole.out.count("Fail lt("), 300 * 300)


# --- test ---------------------------------------------------------------------------------------------------------------

TESTS = """package deploy_test

import data.deploy

test_admins if deploy.allow with input as {"user": "ann", "service": "web"}

test_frozen if {
    print("looking at billing")
    deploy.allow with input as {"user": "ann", "service": "billing"}
}

todo_test_later if false

test_conflict if conflict == 1

conflict := 1

conflict := 2

test_each[name] if {
    some name in ["ann", "bob"]
    deploy.allow with input as {"user": name, "service": "web"}
}
"""


def suite(t, tests=TESTS):
    t.write("p/deploy.rego", DEPLOY)
    t.write("p/data.json", ADMINS)
    t.write("p/deploy_test.rego", tests)
    return t.folder / "p"


@case()
def tests_pass_fail_and_are_skipped(t):
    result = t.maestro("policy", "test", suite(t))
    t.equal(result.code, 1)
    for line in (r"^data\.deploy_test\.test_frozen: FAIL \(", "looking at billing", r"^data\.deploy_test\.todo_test_later: SKIPPED$",
                 r"^data\.deploy_test\.test_conflict: ERROR \(", "eval_conflict_error", "^    2 at .*deploy_test.rego:18$", "^PASS: 3/6$", "^FAIL: 1/6$",
                 "^SKIPPED: 1/6$", "^ERROR: 1/6$"):
        t.matches(result.out, line)
    t.lacks(result.out, "test_admins")
    verbose = t.maestro("policy", "test", "-v", suite(t))
    t.matches(verbose.out, r"^data\.deploy_test\.test_admins: PASS \(")
    t.matches(verbose.out, r"^FAILURES$")
    t.matches(verbose.out, r"deploy_test\.rego:9 +\| \| Fail data\.deploy\.allow with input as ")
    chosen = t.maestro("policy", "test", "--run", "admins$", suite(t))
    t.equal((chosen.code, chosen.out), (0, "PASS: 1/1\n"))


@case()
def a_case_that_does_not_come_to_its_end_fails_its_test(t):
    tests = suite(t, '''package deploy_test

test_each[name] if {
    some name, wanted in {"ann": "web", "bob": "billing"}
    data.deploy.allow with input as {"user": name, "service": wanted}
}

test_all[name] if some name in ["a", "b"]
''')
    result = t.maestro("policy", "test", "-v", tests)
    t.equal(result.code, 1)
    for line in (r"^data\.deploy_test\.test_each: FAIL \(", "^  ann: PASS$", "^  bob: FAIL$", r"^data\.deploy_test\.test_all: PASS \(",
                 "^PASS: 3/4$", "^FAIL: 1/4$"):
        t.matches(result.out, line)
    each = {test["name"]: test for test in t.maestro("policy", "test", "-f", "json", tests).json()}["test_each"]
    t.equal((each["fail"], each["sub_results"]["bob"].get("fail"), each["sub_results"]["ann"].get("fail")), (True, True, None))


@case()
def what_failed_in_a_test_is_explained_as_far_as_wanted(t):
    for words, present, absent in ((["--explain", "full"], "Enter data.deploy.allow", "nothing"),
                                   (["--explain", "fails"], "Fail data.deploy.allow", "Eval"),
                                   (["--explain", "notes"], "FAILURES", "Enter"),
                                   (["--var-values"], "{__local", "Eval")):
        with t.row(" ".join(words)):
            result = t.maestro("policy", "test", *words, "--run", "test_frozen", suite(t))
            t.equal(result.code, 1)
            t.contains(result.out, present)
            t.lacks(result.out, absent)


@case()
def results_of_tests_are_available_as_json(t):
    result = t.maestro("policy", "test", "--format", "json", suite(t))
    t.equal(result.code, 1)
    tests = {test["name"]: test for test in result.json()}
    t.equal(tests["test_admins"].get("fail"), None)
    t.equal(tests["test_admins"]["package"], "data.deploy_test")
    t.equal(tests["test_frozen"]["fail"], True)
    t.equal(base64.b64decode(tests["test_frozen"]["output"]), b"looking at billing\n")
    t.equal(tests["todo_test_later"]["skip"], True)
    t.equal(tests["test_conflict"]["error"]["code"], "eval_conflict_error")
    t.equal(sorted(tests["test_each"]["sub_results"]), ["ann", "bob"])


@case()
def coverage_of_tests_has_a_threshold(t):
    good = suite(t, TESTS.split("test_frozen")[0])
    result = t.maestro("policy", "test", "--coverage", good)
    t.equal(result.code, 0, result.err)
    percent = result.json()["coverage"]
    t.true(0 < percent < 100, f"{percent} percent")
    t.equal(t.maestro("policy", "test", "--coverage", "--threshold", str(percent - 1), good).code, 0)
    low = t.maestro("policy", "test", "--coverage", "--threshold", "99.9", good)
    t.equal(low.code, 1)
    t.contains(low.err, "less than the threshold")


@case()
def a_test_ends_when_its_time_is_over(t):
    long = suite(t, "package long_test\n\ntest_long if count([1 | numbers.range(1, 3000)[_]; numbers.range(1, 3000)[_]; numbers.range(1, 3000)[_]]) > 0\n")
    result = t.maestro("policy", "test", "--timeout", "200ms", long)
    t.equal(result.code, 1)
    t.contains(result.out, "eval_cancel_error")
    t.true(result.seconds < 30, f"it took {result.seconds} s")


@case()
def wrong_options_of_test_are_refused(t):
    for option, value in (("--run", "("), ("--timeout", "soon"), ("--timeout", "0s"), ("--threshold", "many"), ("--threshold", "101")):
        with t.row(f"{option} {value}"):
            t.equal(t.maestro("policy", "test", option, value, suite(t)).code, 2)
    broken = t.maestro("policy", "test", t.write("broken.rego", "package a\n\np if x\n"))
    t.equal(broken.code, 65)


# --- check, fmt, bench ------------------------------------------------------------------------------------------------------


@case()
def check_underlines_mistakes(t):
    bad = t.write("bad.rego", "package bad\n\np if {\n\tx > 1\n}\n\nq if y\n")
    result = t.maestro("policy", "check", bad)
    t.equal((result.code, result.out), (65, ""))
    t.contains(result.err, f"{bad}:4:2: error:")
    t.contains(result.err, "     7 | q if y\n")
    t.contains(result.err, "^")
    t.equal(len(t.maestro("policy", "check", "--format", "json", bad).json()["errors"]), 2)
    typed = t.maestro("policy", "check", t.write("typed.rego", "package a\n\np := upper(1)\n"))
    t.contains(typed.err, "upper: invalid argument(s)\n    have: (number, ???)\n    want: (x: string, y: string)\n     3 | p := ")
    good = t.maestro("policy", "check", t.write("good.rego", DEPLOY))
    t.equal((good.code, good.out, good.err), (0, "", ""))
    unused = t.write("unused.rego", "package a\n\nimport data.b\n\np := 1\n")
    t.equal(t.maestro("policy", "check", unused).code, 0)
    t.equal(t.maestro("policy", "check", "--strict", unused).code, 65)
    old = t.write("old.rego", "package a\n\np[x] { x := 1 }\n")
    t.equal((t.maestro("policy", "check", old).code, t.maestro("policy", "check", "--v0", old).code), (65, 0))


@case()
def fmt_prints_writes_lists_and_compares(t):
    text, want = "package a\n# why\np if {input.x==1}   # so\n", "package a\n\n# why\np if input.x == 1 # so\n"
    path = t.write("a.rego", text)
    t.equal(t.maestro("policy", "fmt", path).out, want)
    t.equal(t.maestro("policy", "fmt", "-", stdin=text).out, want)
    t.equal(t.maestro("policy", "fmt", "-l", t.folder).out, f"{path}\n")
    t.equal(t.maestro("policy", "fmt", "--fail", "-l", t.folder).code, 1)
    diff = t.maestro("policy", "fmt", "-d", path).out
    for part in ("@@ -1,3 +1,4 @@", "-p if {input.x==1}   # so", "+p if input.x == 1 # so", " # why"):
        t.contains(diff, part)
    t.equal(path.read_text(), text)
    t.equal(t.maestro("policy", "fmt", "-w", t.folder).code, 0)
    t.equal(path.read_text(), want)
    t.equal(t.maestro("policy", "fmt", "--fail", "-l", path).code, 0)


@case()
def fmt_leaves_what_it_cannot_read(t):
    path = t.write("bad.rego", "package a\np if {\n")
    result = t.maestro("policy", "fmt", "-w", path)
    t.equal(result.code, 65)
    t.contains(result.err, "rego_parse_error")
    t.equal(path.read_text(), "package a\np if {\n")
    t.equal(t.maestro("policy", "fmt", t.folder / "none.rego").code, 69)
    old = t.write("old.rego", "package a\np { input.x }\n")
    t.equal(t.maestro("policy", "fmt", "--v0", old).out, "package a\n\np {\n\tinput.x\n}\n")


@case()
def bench_reports_figures(t):
    rego, data, given = policy(t)
    result = t.maestro("policy", "bench", "-d", rego, "-d", data, "-i", given, "--count", "50", "--threads", "2", "--format", "json", "data.deploy.allow")
    t.equal(result.code, 0, result.err)
    figures = result.json()
    t.equal((figures["samples"], figures["threads"]), (100, 2))
    for name in ("evals_per_second", "p50_ns", "p99_ns", "bytes_per_op", "steps_per_op", "compile_ns"):
        t.true(figures[name] > 0, f"{name} is {figures[name]}")
    t.true(figures["p50_ns"] <= figures["p99_ns"] <= figures["max_ns"], "in order")
    t.equal(t.maestro("policy", "bench", "--count", "0", "1").code, 2)
    t.equal(t.maestro("policy", "bench", "--count", "10", "data.").code, 65)


# --- the command itself --------------------------------------------------------------------------------------------------------


@case()
def the_guide_names_every_option_and_shows_the_program_that_is_built(t):
    guide = (ROOT / "docs" / "policy.md").read_text()
    t.contains(guide, "```c\n" + (ROOT / "examples" / "embed" / "policy.c").read_text() + "```\n")
    for command in ("eval", "test", "check", "fmt", "bench"):
        text = t.maestro("help", "policy", command).out.split("options:")[1].split("--runners")[0]
        for option in re.findall(r"^ +(?:-\w, )?(--[\w-]+)", text, re.MULTILINE):
            with t.row(f"{command} {option}"):
                short = re.search(r"-(\w), " + option, text)
                t.true(re.search(option + r"(?![\w-])", guide) or (short and f"`-{short.group(1)}" in guide), "it is in the guide")


@case()
def commands_of_a_command_are_listed_helped_and_completed(t):
    lacking = t.maestro("policy")
    t.equal((lacking.code, lacking.out), (2, ""))
    t.contains(lacking.err, "usage: maestro policy COMMAND")
    t.equal(t.maestro("policy", "--help").code, 0)
    wrong = t.maestro("policy", "evl")
    t.equal(wrong.code, 2)
    t.contains(wrong.err, "did you mean 'policy eval'?")
    for command in ("eval", "test", "check", "fmt", "bench"):
        with t.row(command):
            shown = t.maestro("help", "policy", command)
            t.equal(shown.code, 0)
            t.contains(shown.out, f"usage: maestro policy {command} ")
            t.equal(t.maestro("policy", command, "--help").out, shown.out)
            t.contains(t.maestro("help", "--man").out, f".SS maestro policy {command}")
    t.contains(t.maestro("help", "policy", "eval").out, "[--data PATH]...")
    if t.run("bash", "-c", "true").code == 0:
        script = f"source <({MAESTRO} completion bash); COMP_WORDS=(maestro policy e); COMP_CWORD=2; _maestro; echo ${{COMPREPLY[@]}}; " \
                 f"COMP_WORDS=(maestro policy eval --format ''); COMP_CWORD=4; _maestro; echo ${{COMPREPLY[@]}}"
        t.equal(t.run("bash", "-c", script).out, "eval\njson pretty values bindings raw\n")


@case()
def the_example_of_embedding_works_as_the_guide_shows_it(t):
    result = t.run(MAESTRO.parent / "embedded-policy")
    t.equal(result.code, 0, result.err)
    t.equal(result.out.strip(), "allowed")


main()
