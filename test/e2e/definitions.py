#!/usr/bin/env python3
"""Definitions at the command line: validate, plan, visualize, help, completion."""
import json
import re
import shutil
import xml.dom.minidom

from maestro_test import MAESTRO, ROOT, SANITIZED, case, main

EXAMPLES = sorted(p for p in (ROOT / "examples").glob("*.yaml") if p.name != "runners.yaml")
SMALL = "workflow: small\njobs: { a: { tasks: [{ run: noop }] } }\n"


def without_configuration(t):
    """An environment in which no configuration of this machine is found."""
    return {"XDG_CONFIG_HOME": str(t.folder / "config"), "XDG_DATA_HOME": str(t.folder / "data"), "MAESTRO_RUNNERS": "",
            "MAESTRO_COMPONENTS": "", "HOME": str(t.folder)}


@case("proves: K-057")
def every_example_validates_plans_and_draws(t):
    for path in EXAMPLES:
        with t.row(path.name):
            t.equal(t.maestro("validate", path).code, 0, "validate")
            t.equal(t.maestro("plan", path).code, 0, "plan")
            for form in ("text", "mermaid", "dot", "svg"):
                drawn = t.maestro("visualize", "--format", form, path)
                t.equal(drawn.code, 0, form)
                t.true(drawn.out.strip(), f"{form} is empty")
                if form == "svg":
                    xml.dom.minidom.parseString(drawn.out)


@case()
def examples_work_on_a_fresh_installation(t):
    """Copied to a folder without any configuration, they find the stand-ins that are built in."""
    for path in EXAMPLES:
        copy = t.write(path.name, path.read_text())
        with t.row(path.name):
            t.equal(t.maestro("validate", copy, cwd=t.folder, env=without_configuration(t)).code, 0)


@case("proves: F-121 F-092")
def every_mistake_is_reported_with_place_line_and_hint(t):
    path = t.write("wrong.yaml", "workflow: wrong\ntenent: acme\njobs:\n  a: { tasks: [{ run: nop, timeout: 30 }] }\n  b: { needs: [c], tasks: [{ log: x }] }\n")
    result = t.maestro("validate", path)
    t.equal(result.code, 65)
    for part in (f"{path}:2:1: error: unknown key 'tenent'", "2 | tenent: acme", "| ^~~~~~", "did you mean 'tenant'?",
                 ":4:23: error: there is no runner 'nop'", "did you mean 'noop'?", ":4:37: error: '30' is no duration", ":5:16: error: 'needs' names the job 'c'"):
        t.contains(result.err, part)
    t.equal(result.out, "")


@case("proves: F-092")
def mistakes_are_available_as_json(t):
    good, bad = t.write("good.yaml", SMALL), t.write("bad.yaml", "workflow: x\njobs: { a: { tasks: [{ run: nop }] } }\n")
    result = t.maestro("validate", "--json", good, bad)
    t.equal(result.code, 65)
    first, second = result.json()
    t.equal((first["valid"], first["kind"], first["id"]), (True, "workflow", "small"))
    t.matches(first["digest"], r"^sha256:[0-9a-f]{64}$")
    t.equal(second["valid"], False)
    t.equal({k: second["diagnostics"][0][k] for k in ("line", "column", "severity")}, {"line": 2, "column": 29, "severity": "error"})


@case()
def a_plan_has_the_same_digest_wherever_it_is_compiled(t):
    first = t.maestro("plan", "--json", "examples/order-fulfillment.yaml").json()
    copy = t.write("elsewhere/copy.yaml", (ROOT / "examples/order-fulfillment.yaml").read_text())
    second = t.maestro("plan", "--json", "--runners", ROOT / "examples/runners.yaml", copy, cwd=t.folder).json()
    t.equal(first, second)
    again = t.maestro("plan", "--json", "examples/order-fulfillment.yaml").json()
    t.equal(first["digest"], again["digest"])


@case()
def json_is_a_definition_too(t):
    path = t.write("small.json", json.dumps({"workflow": "small", "jobs": {"a": {"tasks": [{"log": "\U0001f600 \"hi\""}]}}}))
    plan = t.maestro("plan", "--json", path).json()["plan"]
    t.equal(plan["steps"][0]["input"]["message"], "\U0001f600 \"hi\"")
    same = t.write("same.yaml", "workflow: small\njobs: { a: { tasks: [{ log: '\U0001f600 \"hi\"' }] } }\n")
    t.equal(t.maestro("plan", "--json", same).json()["plan"], plan)
    wrong = t.maestro("validate", t.write("wrong.json", '{"workflow": "x",\n "jobs": {"a": {"tasks": [{"run": "noop",}]}}}'))
    t.equal(wrong.code, 65)
    t.contains(wrong.err, "wrong.json:2:42: error: expected a member name")


@case()
def a_definition_comes_from_standard_input(t):
    t.equal(t.maestro("validate", "-", stdin=SMALL).code, 0)
    t.contains(t.maestro("validate", "-", stdin="a: [").err, "-:")


@case("proves: C-46 K-032")
def names_are_looked_up_in_the_nearest_configuration(t):
    definition = t.write("w.yaml", "workflow: w\njobs: { a: { tasks: [{ run: mine }] } }\n")
    env = without_configuration(t)
    refused = t.maestro("validate", definition, env=env)
    t.equal(refused.code, 65)
    t.contains(refused.err, "register it in runners.yaml")
    config = "executors: { here: { kind: process, runners: { mine: { command: [./mine] } } } }\n"
    named = t.write("other/named.yaml", config)
    t.equal(t.maestro("validate", "--runners", named, definition, env=env).code, 0, "--runners")
    t.equal(t.maestro("validate", definition, env={**env, "MAESTRO_RUNNERS": str(named)}).code, 0, "MAESTRO_RUNNERS")
    t.write("config/maestro/runners.yaml", config)
    t.equal(t.maestro("validate", definition, env=env).code, 0, "XDG_CONFIG_HOME")
    shutil.rmtree(t.folder / "config")
    t.write("runners.yaml", config)
    t.equal(t.maestro("validate", definition, env=env).code, 0, "beside the definition")
    t.write("runners.yaml", "executors: { here: { knd: process } }\n")
    broken = t.maestro("validate", definition, env=env)
    t.equal(broken.code, 65)
    t.contains(broken.err, "runners.yaml:1:22: error: unknown key 'knd'")
    t.equal(t.maestro("validate", t.folder / "runners.yaml", env=env).code, 65, "the configuration itself")
    missing = t.maestro("validate", "--runners", t.folder / "gone.yaml", definition, env=env)
    t.equal(missing.code, 69)
    t.contains(missing.err, "gone.yaml")


@case("proves: K-033 K-034")
def a_component_is_added_without_rebuilding(t):
    runbook = t.write("r.yaml", "name: R\ndescription: d\nartifacts:\n  rows: { source: { type: mysql, properties: { table: t } } }\n"
                      "  found: { inputs: rows, transform: { type: personal_data_analyser } }\n")
    env = without_configuration(t)
    t.contains(t.maestro("validate", runbook, env=env).err, "the artifact 'rows' names the connector 'mysql', which does not exist")
    manifest = ("name: mysql_connector\noutput_schema: standard_input\ncommand: [./mysql]\n"
                "properties: { type: object, required: [table] }\n")
    for where, extra in (("components/waivern.connectors/mysql.yaml", {}),
                         ("elsewhere/waivern.connectors/mysql.yaml", {"MAESTRO_COMPONENTS": str(t.folder / "elsewhere")}),
                         ("data/maestro/components/waivern.connectors/mysql.yaml", {})):
        with t.row(where):
            file = t.write(where, manifest)
            t.equal(t.maestro("validate", runbook, env={**env, **extra}).code, 0)
            plan = t.maestro("plan", "--json", runbook, env={**env, **extra}).json()["plan"]
            t.equal(plan["steps"][0]["source"]["type"], "mysql_connector")
            file.unlink()
    t.write("components/waivern.connectors/mysql.yaml", manifest.replace("standard_input", "other_schema"))
    t.contains(t.maestro("validate", runbook, env=env).err, "gets other_schema 1.0.0, but 'personal_data_analyser' takes standard_input 1.0.0")
    t.write("components/waivern.connectors/mysql.yaml", "name: mysql_connector\n")
    t.equal(t.maestro("validate", runbook, env=env).code, 65, "a broken manifest")


@case("proves: K-055")
def validate_runbook_is_for_runbooks(t):
    t.equal(t.maestro("validate-runbook", "examples/log-analysis.yaml").code, 0)
    t.equal(t.maestro("validate-runbook", t.write("r.yaml", "name: x\nartifacts: {}\n")).code, 65)
    other = t.maestro("validate-runbook", "examples/hello.yaml")
    t.equal(other.code, 65)
    t.contains(other.err, "no runbook")
    t.contains(t.maestro("help").out, "validate-runbook")


@case()
def typescript_says_what_it_needs(t):
    for name in ("service-deploy.ts", "incident-playbook.ts"):
        result = t.maestro("validate", f"examples/{name}", env={"MAESTRO_SDK": str(t.folder)})
        t.equal(result.code, 69)
        t.contains(result.err, "TypeScript SDK")


@case()
def hostile_files_are_refused_by_a_named_limit(t):
    rows = {
        "large.yaml": (b"a" * (100 << 20), "DEFINITION_SIZE_MAX"),
        "deep.yaml": (b"[" * 10000, "DEFINITION_DEPTH_MAX"),
        "deep.json": (b'{"a":' * 10000, "DEFINITION_DEPTH_MAX"),
        "bomb.yaml": (b"a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + b"".join(
            b"a%d: &a%d [%s]\n" % (i, i, b",".join([b"*a%d" % (i - 1)] * 10)) for i in range(1, 10)), "DEFINITION_NODE_COUNT_MAX"),
    }
    for name, (text, limit) in rows.items():
        with t.row(name):
            result = t.maestro("validate", t.write(name, text))
            t.equal(result.code, 65)
            t.contains(result.err, limit)


@case()
def garbage_is_refused_without_a_crash(t):
    for name, text in {"empty": b"", "binary": bytes(range(256)), "nul": b"workflow: \0", "latin": b"workflow: \xe4",
                       "number": b"12", "list": b"- a\n- b\n", "text": b"hello", "utf16": "workflow: x".encode("utf-16")}.items():
        with t.row(name):
            result = t.maestro("validate", t.write(f"{name}.yaml", text))
            t.equal(result.code, 65)
            t.matches(result.err, r":\d+:\d+: error: ")


@case("proves: F-026")
def a_hundred_thousand_steps_are_no_problem(t):
    count = 2000 if SANITIZED else 100000
    lines = ["workflow: big", "jobs:"]
    for i in range(count):
        needs = f"needs: [j{i - 1}], " if i else ""
        lines.append(f"  j{i}: {{ {needs}tasks: [{{ run: noop }}] }}")
    path = t.write("big.yaml", "\n".join(lines))
    t.contains(t.maestro("validate", path).out, f"{count} jobs")
    drawn = t.maestro("visualize", path)
    t.equal(drawn.code, 0)
    t.true(len(drawn.out) < 2_000_000, "the drawing is bounded")
    lines[2] = f"  j0: {{ needs: [j{count - 1}], tasks: [{{ run: noop }}] }}"
    cycle = t.maestro("validate", t.write("cycle.yaml", "\n".join(lines)))
    t.equal(cycle.code, 65)
    t.contains(cycle.err, "the jobs form a cycle: j0 -> j1 -> ")


@case("proves: K-057")
def a_drawing_fits_the_width_and_goes_to_a_file(t):
    result = t.maestro("visualize", "examples/order-fulfillment.yaml", env={"COLUMNS": "80"})
    t.true(max(len(line) for line in result.out.splitlines()) <= 80, "no line is longer than 80 characters")
    plain = t.maestro("visualize", "--ascii", "examples/order-fulfillment.yaml").out
    t.true(plain.isascii(), "--ascii draws ASCII")
    target = t.folder / "picture.svg"
    t.equal(t.maestro("visualize", "-f", "svg", "-o", target, "examples/hello.yaml").code, 0)
    xml.dom.minidom.parse(str(target))
    refused = t.maestro("visualize", "-o", t.folder / "no" / "such" / "place.svg", "examples/hello.yaml")
    t.equal(refused.code, 69)


@case()
def wrong_usage_exits_with_2_and_says_what_is_right(t):
    rows = [((), "usage"), (("vaildate",), "did you mean 'validate'?"), (("validate",), "an operand is missing"), (("validate", "--jsn", "x"), "did you mean '--json'?"),
            (("visualize", "--format", "png", "x"), "takes text, mermaid, dot or svg"), (("plan", "a", "b"), "one operand too many"),
            (("visualize", "x", "--format"), "a value is missing"), (("help", "nothing"), "there is no command"), (("completion", "ksh"), "bash, zsh and fish"),
            (("validate", "--json=yes", "x"), "takes no value")]
    for args, part in rows:
        with t.row(" ".join(args)):
            result = t.maestro(*args)
            t.equal(result.code, 2)
            t.contains(result.err, part)
            t.equal(result.out, "")


@case()
def every_command_has_help_and_is_completed(t):
    listed = re.findall(r"^  ([a-z-]+) ", t.maestro("help").out, re.M)
    t.true({"validate", "plan", "visualize", "migrate", "check", "help"} <= set(listed), f"listed are {listed}")
    completions = {shell: t.maestro("completion", shell).out for shell in ("bash", "zsh", "fish")}
    for name in listed:
        with t.row(name):
            by_help, by_flag = t.maestro("help", name), t.maestro(name, "--help")
            t.equal((by_help.code, by_flag.code), (0, 0))
            t.equal(by_help.out, by_flag.out)
            t.contains(by_help.out, f"usage: maestro {name}")
            for shell, text in completions.items():
                t.contains(text, name, shell)
    t.equal(t.run("bash", "-n", stdin=completions["bash"]).code, 0, "bash can read its completion")
    completed = t.run("bash", "-c", 'source /dev/stdin; COMP_WORDS=(maestro vis); COMP_CWORD=1; _maestro; echo "${COMPREPLY[@]}"', stdin=completions["bash"])
    t.equal(completed.out.strip(), "visualize")


@case()
def the_manual_page_is_a_manual_page(t):
    page = t.maestro("help", "--man").out
    t.matches(page, r"^\.TH MAESTRO 1 ")
    for part in (".SH NAME", ".SH COMMANDS", ".SH EXIT STATUS", "visualize"):
        t.contains(page, part)
    t.true(all(not line.startswith(".") or re.match(r"\.(TH|SH|SS|TP|PP|nf|fi)\b", line) for line in page.splitlines()), "only known requests")


@case()
def a_full_disk_is_not_success(t):
    result = t.run("sh", "-c", f'exec "{MAESTRO}" plan --json examples/order-fulfillment.yaml > /dev/full')
    t.equal(result.code, 69)
    t.contains(result.err, "cannot be written")


@case()
def warnings_do_not_fail_but_with_strict(t):
    path = t.write("w.yaml", "workflow: w\njobs: { a: { tasks: [{ run: noop, when: false }] } }\n")
    result = t.maestro("validate", path)
    t.equal(result.code, 0)
    t.contains(result.err, "warning: this task never runs")
    t.equal(t.maestro("validate", "--strict", path).code, 65)


@case()
def colour_is_for_terminals(t):
    path = t.write("w.yaml", "workflow: w\n")
    t.lacks(t.maestro("validate", path).err, "\x1b[")
    t.contains(t.maestro("validate", "--color", "always", path).err, "\x1b[")
    t.lacks(t.maestro("validate", "--color", "never", path).err, "\x1b[")


main()
