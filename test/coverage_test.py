#!/usr/bin/env python3
"""The parts of the core on which runs depend most are reached by its unit tests line by line.

The files named here are compiled once more with counters and linked with the unit tests of the core as they are; gcov says which
lines no test has reached. `make coverage` shows the same of everything."""
import json
import shlex
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test" / "e2e"))
from maestro_test import MAESTRO, case, main                     # noqa: E402, the path comes first

BUILD = MAESTRO.resolve().parent


def compile_commands():
    return {entry["file"].split("src/core/")[-1]: shlex.split(entry["command"])
            for entry in json.loads((BUILD / "compile_commands.json").read_text()) if "src/core/" in entry["file"]}


def unreached(t, names):
    """By file: the numbers of lines that no unit test of the core has reached."""
    if not (BUILD / "src" / "core" / "test-core").exists():
        t.not_run(f"{BUILD}/src/core/test-core is not built")
    commands, objects = compile_commands(), []
    for name in names:
        words = [w for w in commands[name] if w != "ccache" and not w.startswith("-O")]
        words[words.index("-o") + 1] = str(t.folder / f"{name}.o")
        for option in ("-MF", "-MQ"):
            words[words.index(option) + 1] = str(t.folder / f"{name}.d")
        result = t.run(*words, "-O0", "--coverage", cwd=BUILD)
        t.require(result.code == 0, result.err)
        objects.append(str(t.folder / f"{name}.o"))
    link = t.run("ninja", "-C", BUILD, "-t", "commands", "src/core/test-core").out.splitlines()[-1]
    words = [w for w in shlex.split(link) if w != "ccache"]
    at = words.index("-o")
    program = t.folder / "test-core"
    words[at:at + 2] = ["-o", str(program), "--coverage", *objects]     # before the archive, which then gives only the others
    result = t.run(*words, cwd=BUILD)
    t.require(result.code == 0, result.err)
    result = t.run(program)
    t.require(result.code == 0, "\n".join(line for line in result.out.splitlines() if not line.startswith("pass")))
    found = {}
    for name in names:
        told = t.run("gcov", "--stdout", "--json-format", str(t.folder / f"{name}.o"), cwd=BUILD)
        for file in json.loads(told.out)["files"]:
            if file["file"].endswith(f"src/core/{name}"):
                found[name] = sorted({line["line_number"] for line in file["lines"]}
                                     - {line["line_number"] for line in file["lines"] if line["count"]})
    return found


COMPONENTS = {
    "resolution": ("decide_resolve.c", "resolve.c"), "retries from a step": ("rerun.c", "decide_resolve.c"),
    "compensation": ("compensation.c", "run_rollback.c"), "branches": ("begin.c", "advance.c"),
    "polls": ("poll.c",), "triggers": ("pause.c", "run_waits.c"), "states": ("state.c",), "ends": ("terminate.c",),
}


@case("proves: A-248 A-249 A-250 A-251 A-252 A-254")
def every_line_of_the_parts_that_matter_most_is_reached(t):
    names = sorted({name for part in COMPONENTS.values() for name in part})
    found = unreached(t, names)
    t.equal(sorted(found), names, "files that were measured")
    for part, files in COMPONENTS.items():
        with t.row(part):
            t.equal({name: found[name] for name in files if found.get(name)}, {}, "lines that no test has reached")


main()
