#!/usr/bin/env python3
"""The static analyser finds nothing in the sources on which runs depend, and finds what was put there for it."""
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test" / "e2e"))
from maestro_test import MAESTRO, case, main                     # noqa: E402, the path comes first

BUILD = MAESTRO.resolve().parent
TOOL = ROOT / "tools" / "analyse"

# What decides, records and performs. `make analyse` looks at the rest, too, which takes minutes.
PLACES = ["src/base", "src/core", "src/dispatch", "src/engine", "src/exec", "src/ledger", "src/os", "src/policy", "src/secret",
          "src/store", "src/view"]


@case("proves: A-244")
def the_analyser_finds_nothing_in_what_runs_depend_on(t):
    if not (BUILD / "compile_commands.json").exists():
        t.not_run(f"{BUILD} is not built")
    result = t.run(TOOL, "--build", BUILD, *PLACES, seconds_max=280)
    t.true(result.out.splitlines()[-1].endswith(" 0 with findings"), result.out[-20000:])
    t.equal(result.code, 0, "the exit status")


@case("proves: A-244")
def every_warning_of_the_compiler_is_an_error_in_every_source(t):
    files = set()
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        if "src/" not in entry["file"]:
            continue
        words = entry["command"].split()
        files.add(entry["file"])
        for option in ("-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wshadow", "-Wswitch-enum", "-Wvla", "-std=c17"):
            if option not in words:
                t.true(False, f"{entry['file']} is built without {option}")
    t.true(len(files) > 300, f"only {len(files)} sources")


FAULTY = """#include <stdlib.h>
int faulty(int count);
int faulty(int count)
{
    int *numbers = malloc(sizeof *numbers);
    if (!numbers) return 0;
    *numbers = count;
    free(numbers);
    return %s;
}
"""


@case()
def a_fault_on_a_path_is_found(t):
    for value, code in (("*numbers", 1), ("count", 0)):
        with t.row(value):
            file = t.write(f"{code}/src/faulty.c", FAULTY % value)
            words = ["cc", "-Wall", "-Werror", "-o", "faulty.o", "-c", str(file)]
            t.write(f"{code}/build/compile_commands.json",
                    json.dumps([{"directory": str(file.parent), "file": str(file), "command": " ".join(words)}]))
            result = t.run(TOOL, "--root", t.folder / str(code), "--build", t.folder / str(code) / "build")
            t.equal(result.code, code, "the exit status")
            t.equal("analyzer-use-after-free" in result.out, bool(code), result.out)


main()
