#!/usr/bin/env python3
"""What the documents say of the program is so."""
import re

from maestro_test import ROOT, case, main
from server_test import Server


def text(path):
    return (ROOT / path).read_text(encoding="utf-8")


@case()
def the_first_workflow_of_the_readme_is_valid_and_draws(t):
    file = t.write("nightly-report.yaml", re.search(r"```yaml\n(.*?)```", text("README.md"), re.S).group(1))
    for command in ("validate", "plan", "visualize"):
        with t.row(command):
            result = t.maestro(command, file)
            t.true(result.code == 0, f"exit status {result.code}:\n{result.out}{result.err}")


@case()
def every_command_that_the_documents_name_exists(t):
    names = set()
    for document in ("README.md", "docs/hacking.md", "docs/exit-codes.md", "tools/quickstart"):
        names |= set(re.findall(r"(?:build(?:-asan)?/maestro|\$maestro|`maestro) ([a-z][a-z-]+)", text(document)))
    t.true({"validate", "plan", "visualize", "help"} <= names, f"the documents name only {names}")
    for name in sorted(names):
        with t.row(name):
            t.equal(t.maestro("help", name).code, 0, "the exit status of `maestro help`")


def help_of(t, *names):
    result = t.maestro("help", *names)
    t.require(result.code == 0, result.err)
    return result.out


def commands(t):
    """The words of every command, those of commands included."""
    def below(*names):
        part = re.search(r"\ncommands:\n(.*?)(?:\n\n|$)", help_of(t, *names), re.S)
        return [(*names, word) for word in re.findall(r"^  ([a-z][a-z-]*) ", part.group(1), re.M)] if part else []
    found = below()
    return found + [inner for name in found for inner in below(*name)]


@case("proves: A-247")
def every_command_has_a_page_with_its_options_and_exit_codes(t):
    manual = t.maestro("help", "--man").out.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "").replace("\\fI", "")
    codes = set(re.findall(r"EXIT_CODE_\w+ = (\d+)", text("src/cli/exit.h")))
    names = commands(t)
    sources = sorted((ROOT / "src/cli").glob("cmd_*.c"))
    t.true(len(names) >= len(sources), f"{len(names)} commands of {len(sources)} sources")
    for name in names:
        with t.row(" ".join(name)):
            page = help_of(t, *name)
            summary, usage = re.match(r"(.*)\n\nusage: (maestro .*)\n\n\S", page).groups()
            t.true(len(summary) > 10, f"the summary {summary!r}")
            t.true(f".SS {usage}\n" in manual, "it has a section in the manual page")
            told = dict(re.findall(r"^  (?:-\w, |    )--([a-z0-9-]+)(?: \S+)? +(\S.*)$", page, re.M))
            t.equal(set(re.findall(r"\[--([a-z0-9-]+)", usage)) - set(told), set(), "options without a sentence")
            t.true(all(len(sentence) > 5 for sentence in told.values()), f"{told}")
            listed = re.search(r"\nexit codes:\n(.*?)(?:\n\n|$)", page, re.S).group(1)
            t.equal(set(re.findall(r"^ +(\d+)  \S", listed, re.M)), codes, "its exit codes")
    section = manual[manual.index(".SH EXIT STATUS"):]
    t.equal(set(re.findall(r"^\.TP\n(\d+)\n\S", section, re.M)), codes, "the exit codes of the manual page")


@case("proves: A-247")
def every_route_has_a_summary_and_a_description(t):
    table = re.sub(r"/\*.*?\*/", "", text("src/api/routes.def"), flags=re.S)
    names = re.findall(r"^ROUTE\((\w+),", table, re.M)
    t.true(len(names) > 30, f"only {len(names)} routes")
    server = Server(t)
    document = server.get("/openapi.json").json()
    server.stop()
    operations = {o["operationId"]: (path, o) for path, methods in document["paths"].items() for o in methods.values()}
    t.equal(sorted(operations), sorted(names), "the operations")
    for name, (path, operation) in sorted(operations.items()):
        with t.row(f"{name} {path}"):
            t.true(len(operation["summary"]) > 5, operation["summary"])
            t.true(operation["description"].startswith(operation["summary"]) and len(operation["description"]) > len(operation["summary"]) + 10,
                   operation["description"])
            t.true(all(p["description"] for p in operation["parameters"]), "every parameter is described")
            t.equal({p["name"] for p in operation["parameters"] if p["in"] == "path"}, set(re.findall(r"{(\w+)}", path)),
                    "the parts of the address")
            t.true(all("description" in answer or "$ref" in answer for answer in operation["responses"].values()), "every answer")


@case()
def the_table_of_exit_codes_is_that_of_the_program(t):
    documented = set(re.findall(r"^\| +(\d+) \|", text("docs/exit-codes.md"), re.M))
    t.equal(documented, set(re.findall(r"EXIT_CODE_\w+ = (\d+)", text("src/cli/exit.h"))), "the codes")


@case()
def every_invariant_of_the_engine_is_cited_where_it_is_held_and_in_the_simulator(t):
    rows = re.findall(r"^\| (I\d+) \|(.*)$", text("docs/invariants.md"), re.M)
    t.true(len(rows) >= 17, f"only {len(rows)} invariants")
    kinds = (".c", ".h", ".def", ".sql")
    held = "".join(file.read_text(encoding="utf-8") for folder in ("src", "spec") for file in sorted((ROOT / folder).rglob("*"))
                   if file.suffix in kinds and not file.stem.endswith("_test"))
    simulator = "".join(file.read_text(encoding="utf-8") for file in sorted((ROOT / "test/sim").glob("*.[ch]")))
    for number, rest in rows:
        if rest.rstrip().endswith("| *later* |"):
            continue
        with t.row(number):
            t.true(re.search(rf"\b{number}\b", held), "cited where it is held")
            t.true(re.search(rf"\b{number}\b", simulator), "cited in the simulator")


@case("proves: E-061")
def nothing_promises_that_what_is_accepted_is_completed(t):
    promise = re.compile(r"guarantee[sd]?\s+(that\s+\S+\s+)?(to\s+)?(complet|finish|succe)|(always|certainly|eventually)\s+(completes|finishes|succeeds)"
                         r"|will\s+(always|eventually)\s+(complete|finish|succeed)|completion\s+is\s+guaranteed", re.I)
    t.true(promise.search("It guarantees completion.") and promise.search("will eventually succeed"), "what is looked for is found")
    files = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "src").rglob("*.def")), *sorted((ROOT / "src/cli").rglob("*.c")),
             *sorted((ROOT / "src/api").glob("*.c")), ROOT / "src/api/schemas.json"]
    for file in files:
        if file.name == "requirements.md":
            continue
        with t.row(str(file.relative_to(ROOT))):
            t.equal([found.group(0) for found in promise.finditer(file.read_text(encoding="utf-8"))], [])
    t.contains(text("docs/dispatch.md"), "does not promise that what it attempts is ever completed")


@case("proves: E-063")
def core_types_of_the_dispatch_are_published_as_the_headers_have_them(t):
    published = dict(re.findall(r"^\| ([a-z][a-z -]+) \| (.*) \|$", text("docs/dispatch.md"), re.M))
    core = {"task": "Task", "intent": "Intent", "pressure snapshot": "Pressure", "sub-routine": "SubRoutine",
            "sub-routine group": "SubRoutineGroup", "outcome signal": "OutcomeSignal"}
    headers = "".join(file.read_text(encoding="utf-8") for file in sorted((ROOT / "src/dispatch").glob("*.h")))
    for name, typed in core.items():
        with t.row(name):
            t.true(name in published, "it is published")
            t.true(re.search(rf"^}} {typed};|typedef \w+ {typed} .*\b{typed};", headers, re.M), f"there is the type {typed}")
    signals = re.search(r"enum OutcomeSignal {(.*?)}", headers).group(1)
    t.equal(re.findall(r"`(\w+)`", published["outcome signal"]), [name.lower() for name in re.findall(r"SIGNAL_(\w+)", signals) if name != "COUNT"],
            "the signals")
    for name in re.findall(r"INTENT_([A-Z]+)\b", re.search(r"enum Intent {(.*?)}", headers, re.S).group(1)):
        if name != "COUNT":
            t.contains(published["intent"], f"`{name.lower()}`")


main()
