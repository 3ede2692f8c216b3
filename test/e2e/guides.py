#!/usr/bin/env python3
"""The guides for authors: every complete example in them is valid, and nothing of the program is left out of them."""
import json
import re
import sqlite3
from pathlib import PurePosixPath

from maestro_test import ROOT, case, main
from server_test import HELLO

COMPLETE = ("workflow:", "name:", "executors:")
DOCS = ROOT / "docs"


def text(path):
    return (ROOT / path).read_text(encoding="utf-8")


def sections(page):
    """The page cut at its headings of the second level; a fence hides what looks like one."""
    parts, fenced = [[]], False
    for line in page.split("\n"):
        fenced ^= line.startswith("```")
        if line.startswith("## ") and not fenced:
            parts.append([])
        parts[-1].append(line)
    return ["\n".join(part) for part in parts]


def blocks(part, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", part, re.M | re.S)


def named_path(block):
    """The file that a first comment names, as `# components/waivern.connectors/mail.yaml`."""
    found = re.match(r"# ([\w.-]+(?:/[\w.-]+)*\.(?:yaml|json))\n", block)
    return PurePosixPath(found.group(1)) if found else None


def first_key(block):
    return next((line for line in block.split("\n") if line and not line.startswith("#")), "")


def lay_out(t, folder, part):
    """Writes the examples of one section where they belong; gives those to validate, and the runners they find.

    A definition finds the runners of its own section, where that has an `executors:` example, else those of examples/. A
    file of components/ is no definition: the runbook beside it shows that it works."""
    files, runners = [], ROOT / "examples" / "runners.yaml"
    for number, block in enumerate(blocks(part, "yaml")):
        path = named_path(block)
        if path and path.parts[0] == "components":
            t.write(f"{folder}/{path}", block)
        elif first_key(block).startswith(COMPLETE):
            file = t.write(f"{folder}/{path or f'example-{number}.yaml'}", block)
            files.append(file)
            if first_key(block).startswith("executors:"):
                runners = file
    return files, runners


def tables(page):
    """The rows of every table of the page, as cells."""
    lines = [line for line in page.split("\n") if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def proved():
    """Every id that some case of the tree declares."""
    files = [file for folder in ("src", "test", "tools", "sdk", "ui") for kind in ("*.c", "*.py", "*.ts") for file in (ROOT / folder).rglob(kind)
             if "node_modules" not in file.parts]
    said = "".join(file.read_text(encoding="utf-8") for file in files)
    return {name for names in re.findall(r"proves: ([A-Z0-9 -]+)", said) for name in names.split()}


@case("proves: R-111 R-115 C-92")
def the_documents_that_the_requirements_name_are_there(t):
    for name in ("developer-guide.md", "api-user-guide.md", "data-model.md", "error-handling.md", "architecture.md",
                 "specs/001-workflow-management.md", "specs/002-workflow-execution.md"):
        with t.row(name):
            t.true((DOCS / name).is_file() and len(text(f"docs/{name}")) > 2000, "it is missing, or has nothing in it")
            t.contains(text("docs/README.md"), f"]({name})" if "/" not in name else "](specs/README.md)", "the index")


@case("proves: R-115")
def every_criterion_of_the_specifications_is_proved_by_a_case(t):
    known, ids = proved(), re.compile(r"\b[A-Z]-\d+\b")
    for name in ("001-workflow-management.md", "002-workflow-execution.md"):
        criteria = [row for row in tables(text(f"docs/specs/{name}")) if re.fullmatch(r"[0-9A-Z]\.\d+", row[0])]
        t.true(len(criteria) > 20, f"{name} has only {len(criteria)} criteria")
        for row in criteria:
            with t.row(f"{name} {row[0]}"):
                t.true(ids.findall(row[2]), "it names no requirement")
                t.equal([i for i in ids.findall(row[2]) if i not in known], [], "requirements that no case proves")


STALE = re.compile(r"not there yet|(does|do|did) not exist yet|exists? yet|is(n't| not) (yet )?served|no URL is|nothing of (it|them) runs|not served"
                   r"|(it|that|they|this) comes? later|(exists|works|here|checked) today|today\*\* |\*later|will have to|when the server exists|nothing \w+ (it )?yet|"
                   r"specification only|as specification|^(fail|ok|pass) {2,}\w+$|^\d+ passed, \d+ failed$", re.I | re.M)


@case()
def no_document_speaks_of_what_is_not_there_yet(t):
    for sample in ("Nothing polls yet.", "Specification: not there yet.", "no server exist yet", "**What works today:**", "0 passed, 1 failed"):
        t.true(STALE.search(sample), f"what is looked for is found: {sample}")
    pages = [ROOT / "README.md", *sorted(DOCS.rglob("*.md")), *sorted((ROOT / "src").rglob("README.md"))]
    for page in pages:
        if page.name == "requirements.md":                        # what it has to do, and not what it does
            continue
        with t.row(str(page.relative_to(ROOT))):
            t.equal([found.group(0) for found in STALE.finditer(page.read_text(encoding="utf-8"))], [], "it is said to come")


@case()
def every_complete_definition_in_the_documents_is_valid(t):
    counts = {}
    for page in sorted(DOCS.glob("*.md")):
        for number, part in enumerate(sections(text(f"docs/{page.name}"))):
            files, runners = lay_out(t, f"{page.stem}-{number}", part)
            counts[page.name] = counts.get(page.name, 0) + len(files)
            for file in files:
                result = t.maestro("validate", "--strict", "--runners", runners, file)
                with t.row(f"{page.name}, {part.split(chr(10))[0]}"):
                    t.true(result.code == 0, f"exit status {result.code}:\n{result.out}{result.err}")
    t.true(counts.get("definitions.md", 0) >= 24, f"definitions.md has only {counts.get('definitions.md')} examples")
    t.true(counts.get("developer-guide.md", 0) >= 3, f"developer-guide.md has only {counts.get('developer-guide.md')}")


@case()
def what_the_guide_calls_ready_for_production_fails_no_check(t):
    part = next(p for p in sections(text("docs/developer-guide.md")) if p.startswith("## Ready for production"))
    files, runners = lay_out(t, "ready", part)
    result = t.maestro("check", "--production", "--runners", runners, next(f for f in files if f != runners))
    t.true(result.code == 0, f"exit status {result.code}:\n{result.out}{result.err}")


@case()
def every_key_of_definitions_is_in_the_reference(t):
    page = text("docs/definitions.md")
    documented = set(re.findall(r"^\| `(\w+)` \|", page, re.M))
    keys = 0
    for name in ("spec/definition.schema.json", "spec/runners.schema.json"):
        schema = json.loads(text(name))
        for shape, part in {**schema["$defs"], name: schema}.items():
            required = {key for rule in part.get("allOf", []) for key in rule.get("required", [])}
            for key in part.get("properties", {}):
                keys += 1
                with t.row(f"{shape}.{key}"):
                    t.true(key in documented, "no table of definitions.md has it")
                    if key in required:
                        t.matches(page, rf"^\| `{key}` \|[^|]*\| \*\*required\*\* \|", "definitions.md")
    t.true(keys > 200, f"the schemas have only {keys} keys")


@case()
def every_word_that_a_key_accepts_is_in_the_reference(t):
    page = text("docs/definitions.md")
    words = set()
    for name in ("spec/definition.schema.json", "spec/runners.schema.json"):
        for values in re.findall(r'"enum": \[([^\]]*)\]', text(name)):
            words |= set(json.loads(f"[{values}]"))
    written = {word for word in words if isinstance(word, str) and word.islower()}
    t.true(len(written) > 40, f"the schemas have only {len(written)} words")
    for word in sorted(written):
        with t.row(word):
            t.contains(page, f"`{word}`", "definitions.md")


@case()
def every_limit_of_definitions_is_in_the_reference(t):
    limits = text("src/base/limits.h")
    part = re.search(r"/\* --- definitions -+ \*/(.*?)/\* ---", limits, re.S).group(1)
    names = re.findall(r"^#define (\w+)", part, re.M)
    t.true(len(names) > 10, f"limits.h has only {names}")
    for name in names:
        with t.row(name):
            if name != "PRODUCTION_NAMED_COUNT_MAX":            # of a report, not of what authors write
                t.contains(text("docs/definitions.md"), f"`{name}`", "definitions.md")


@case()
def the_plan_in_the_data_model_is_what_the_program_makes(t):
    page = text("docs/data-model.md")
    shown = [json.loads(block) for block in blocks(page, "json") if '"digest"' in block]
    t.require(len(shown) == 1, f"data-model.md shows {len(shown)} plans")
    file = t.write("example.yaml", next(b for b in blocks(page, "yaml") if first_key(b).startswith("workflow:")))
    result = t.maestro("plan", "--json", "--runners", "examples/runners.yaml", file)
    t.equal(result.code, 0, "the exit status")
    t.equal(result.json(), shown[0], "the plan")
    documented = set(re.findall(r"^\| `(\w+)` \|", page, re.M))
    for member in result.json()["plan"]:
        with t.row(member):
            t.true(member in documented, "no table of data-model.md has it")


SAME = [
    ("a comment and the order of keys", "# c\njobs: { a: { tasks: [{ log: x }] } }\npriority: normal\nworkflow: w\n"),
    ("an alias", "workflowId: w\njobs: { a: { tasks: [{ log: x }] } }\n"),
    ("a default written out", "workflow: w\ntenant: default\nconfig: { max_concurrency: 10 }\n"
                              "jobs: { a: { priority: normal, tasks: [{ log: x, intent: normal }] } }\n"),
    ("other spelling", 'workflow: "w"\njobs:\n  a:\n    tasks:\n    - log: "x"\n'),
]
DIFFERENT = [
    ("the order of jobs", "workflow: w\njobs: { a: { tasks: [{ log: x }] }, b: { tasks: [{ log: y }] } }\n",
     "workflow: w\njobs: { b: { tasks: [{ log: y }] }, a: { tasks: [{ log: x }] } }\n"),
    ("the order of steps", "workflow: w\nsteps: [{ name: a, log: x }, { name: b, log: y }]\n",
     "workflow: w\nsteps: [{ name: b, log: y }, { name: a, log: x }]\n"),
    ("the order of cases",
     "workflow: w\njobs: { r: { branch: { select: '\"x\"', cases: { x: [a], y: [b] } } }, a: { tasks: [{ log: x }] }, "
     "b: { tasks: [{ log: y }] } }\n",
     "workflow: w\njobs: { r: { branch: { select: '\"x\"', cases: { y: [b], x: [a] } } }, a: { tasks: [{ log: x }] }, "
     "b: { tasks: [{ log: y }] } }\n"),
    ("a text", "workflow: w\njobs: { a: { tasks: [{ log: x }] } }\n",
     "workflow: w\njobs: { a: { tasks: [{ log: y }] } }\n"),
]


def digest(t, definition):
    result = t.maestro("plan", "--json", "--runners", "examples/runners.yaml", t.write("w.yaml", definition))
    t.require(result.code == 0, result.err)
    return result.json()["digest"]


@case()
def plans_are_equal_where_the_reference_says_so(t):
    plain = digest(t, "workflow: w\njobs: { a: { tasks: [{ log: x }] } }\n")
    for name, definition in SAME:
        with t.row(name):
            t.equal(digest(t, definition), plain, "the digest")
    for name, one, other in DIFFERENT:
        with t.row(name):
            t.true(digest(t, one) != digest(t, other), "the digests are equal")


@case("proves: R-113")
def the_data_model_has_every_table_view_and_column_of_a_store(t):
    store = t.folder / "store.db"
    t.equal(t.maestro("run", t.write("hello.yaml", HELLO), "--param", "who=x", "--store", f"sqlite:{store}").code, 0)
    parts = {part.split("\n")[0].strip(): part for part in re.split(r"^### ", text("docs/data-model.md"), flags=re.M)[1:]}
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as file:
        names = [row[0] for row in file.execute("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'")]
        t.true(len(names) > 30, f"the store has only {names}")
        for name in names:
            with t.row(name):
                shown = {column for row in tables(parts.get(name, "")) for column in re.findall(r"`(\w+)`", row[0])}
                types = {column: row[1] for row in tables(parts.get(name, "")) for column in re.findall(r"`(\w+)`", row[0]) if len(row) > 1}
                for _, column, _, _, _, _, hidden in file.execute(f"PRAGMA table_xinfo({name})"):
                    twin = re.sub("_at$", "_ms", column)         # a column of the type time has its text beside it
                    t.true(column in shown or (hidden and types.get(twin) == "time"), f"the page does not have {column}")


@case("proves: R-114 R-084")
def the_page_of_errors_has_every_type_with_its_status_and_what_to_do(t):
    kinds = re.findall(r'^PROBLEM\(\w+, "(\w+)", "([\w-]+)",\s*"[^"]*", (\d+)\)', text("src/api/problems.def"), re.M)
    t.true(len(kinds) > 20, f"problems.def has only {len(kinds)} types")
    told = {found.group(1): row for row in tables(text("docs/error-handling.md")) if (found := re.fullmatch(r"\[`([\w-]+)`\]\(errors/\1\.md\)", row[0]))}
    t.equal(sorted(told), sorted(kind for _, kind, _ in kinds), "the types of the page")
    for error, kind, status in kinds:
        with t.row(kind):
            t.equal(told[kind][1:3], [status, f"`{error}`"], "its status and name")
            t.true(len(told[kind][3]) > 10 and len(told[kind][4]) > 10, "when, and what to do")


@case("proves: F-063 C-34")
def the_page_of_errors_has_every_cause_with_its_class(t):
    causes = re.findall(r'^    \[CAUSE_\w+\] = { "([\w-]+)", CLASS_(\w+)', text("src/core/state.c"), re.M)
    t.true(len(causes) > 15, f"state.c has only {len(causes)} causes")
    told = {row[0]: row[1] for row in tables(text("docs/error-handling.md")) if len(row) == 3}
    for cause, group in causes:
        with t.row(cause):
            t.equal(told.get(f"`{cause}`"), f"`{group.lower().replace('_', '-')}`", "its class")


@case()
def the_page_of_errors_has_every_status_and_exit_code(t):
    page = text("docs/error-handling.md")
    statuses = re.findall(r"^    ((?:OK|ERR_\w+))", text("src/base/status.h"), re.M)
    t.true(len(statuses) > 6, f"status.h has only {statuses}")
    for name in statuses + re.findall(r"EXIT_CODE_\w+ = (\d+)", text("src/cli/exit.h")):
        with t.row(name):
            t.matches(page, rf"^\|.*\b{name}\b", "error-handling.md")


main()
