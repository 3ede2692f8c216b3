#!/usr/bin/env python3
"""What the documents say of the program is so."""
import re

from maestro_test import ROOT, case, main


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


main()
