#!/usr/bin/env python3
"""What runs do beside going straight on is reached by tests, line by line.

The files named here are compiled once more with counters and linked with the tests in C as they are; gcov says which lines no
test has reached. `make coverage` shows the same of everything, with the commands as people type them."""
import concurrent.futures
import json
import os
import shlex
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test" / "e2e"))
from maestro_test import MAESTRO, case, main                     # noqa: E402, the path comes first

BUILD = MAESTRO.resolve().parent

# Of these no line may be without a unit test of the core that reaches it.
COMPONENTS = {
    "resolution": ("decide_resolve.c", "resolve.c"), "retries from a step": ("rerun.c", "decide_resolve.c"),
    "compensation": ("compensation.c", "run_rollback.c"), "branches": ("begin.c", "advance.c"),
    "polls": ("poll.c",), "triggers": ("pause.c", "run_waits.c"), "states": ("state.c",), "ends": ("terminate.c",),
}
CORE = sorted({f"src/core/{name}" for names in COMPONENTS.values() for name in names})

# Who may send a trigger, and what it brings.
TRIGGERS = ["src/secret/trigger.c", "src/secret/trigger_auth.c"]

# What else retries, resolution, compensation, branches, polls, pauses and triggers are made of, up to the rows that tell of them.
REST = [f"src/{name}.c" for name in (
    "core/decide", "core/decide_report", "core/decide_time", "core/rationale", "core/reaction", "core/retry", "core/revise",
    "core/run_apply", "core/settle", "engine/late", "engine/park", "engine/recover", "engine/secret", "engine/timer",
    "lang/branch", "lang/condition", "lang/resolution", "secret/key_file", "secret/seal", "secret/vault",
    "view/fold_compensation", "view/fold_run", "view/fold_step", "view/fold_wait")]

FILES = [*CORE, *TRIGGERS, *REST]
CORE_PROGRAM = "src/core/test-core"
PROGRAMS = ["src/view/test-view", "src/secret/test-secret", "src/lang/test-lang", "test/cases/test-definition-cases",
            "test/engine/test-engine"]
PERCENT_MIN = 95                    # of all these lines together
FILE_PERCENT_MIN = 70               # of each file, so that none is left out behind the others


def object_of(folder, file):
    return str(folder / (file.replace("/", "-") + ".o"))


def compile_all(t, folder):
    commands = {os.path.relpath(os.path.normpath(BUILD / entry["file"]), ROOT): shlex.split(entry["command"])
                for entry in json.loads((BUILD / "compile_commands.json").read_text())}

    def compile_one(file):
        words = [w for w in commands[file] if w != "ccache" and not w.startswith("-O")]
        words[words.index("-o") + 1] = object_of(folder, file)
        for option in ("-MF", "-MQ"):
            words[words.index(option) + 1] = object_of(folder, file) + ".d"
        return t.run(*words, "-O0", "--coverage", cwd=BUILD)

    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for result in pool.map(compile_one, FILES):
            t.require(result.code == 0, result.err)


def run_counted(t, folder, name):
    """The test program, with the counted files in the place of those of the archives that it is linked with."""
    link = t.run("ninja", "-C", BUILD, "-t", "commands", name).out.splitlines()[-1]
    words = [w for w in shlex.split(link) if w != "ccache"]
    counted = [object_of(folder, file) for file in FILES if any(w.startswith(f"{Path(file).parent}/lib") for w in words)]
    at = words.index("-o")
    program = folder / Path(name).name
    words[at:at + 2] = ["-o", str(program), "--coverage", *counted]     # before the archives, which then give only the others
    result = t.run(*words, cwd=BUILD)
    t.require(result.code == 0, result.err)
    result = t.run(program, seconds_max=200)
    t.require(result.code == 0, "\n".join(line for line in result.out.splitlines() if not line.startswith("pass")))


def read_counts(t, folder, files):
    """By file: how many lines it has, and the numbers of those that were not reached."""
    found = {}
    for file in files:
        told = t.run("gcov", "--stdout", "--json-format", object_of(folder, file), cwd=BUILD)
        for part in json.loads(told.out)["files"] if told.out else []:
            if os.path.relpath(os.path.normpath(BUILD / part["file"]), ROOT) == file:
                lines = {line["line_number"] for line in part["lines"]}
                found[file] = (len(lines), sorted(lines - {line["line_number"] for line in part["lines"] if line["count"]}))
    return found


def measure(t):
    """What the unit tests of the core reach of the core, and what all programs together reach of everything."""
    for name in (CORE_PROGRAM, *PROGRAMS):
        if not (BUILD / name).exists():
            t.not_run(f"{BUILD / name} is not built")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compile_all(t, folder)
        run_counted(t, folder, CORE_PROGRAM)
        core = read_counts(t, folder, CORE)
        for program in PROGRAMS:
            run_counted(t, folder, program)
        return core, read_counts(t, folder, FILES)


MEASURED = {}                       # once for all cases


def measured(t):
    if not MEASURED:
        MEASURED["core"], MEASURED["all"] = measure(t)
    return MEASURED


@case("proves: A-248 A-249 A-250 A-251 A-252 A-254")
def every_line_of_the_parts_that_matter_most_is_reached(t):
    found = measured(t)["core"]
    t.equal(sorted(found), CORE, "files that were measured")
    for part, names in COMPONENTS.items():
        with t.row(part):
            missed = {name: found[f"src/core/{name}"][1] for name in names if found[f"src/core/{name}"][1]}
            t.equal(missed, {}, "lines that no test has reached")


@case("proves: A-253")
def every_line_of_who_may_send_a_trigger_and_of_what_it_brings_is_reached(t):
    found = {**measured(t)["all"], **measured(t)["core"]}
    for file in (*TRIGGERS, "src/core/pause.c"):
        with t.row(file):
            t.equal(found[file][1], [], "lines that no test has reached")


@case("proves: A-243")
def the_code_of_retries_compensation_branches_polls_and_pauses_is_reached(t):
    found = measured(t)["all"]
    t.equal(sorted(found), sorted(FILES), "files that were measured")
    total = sum(count for count, _ in found.values())
    missed = sum(len(lines) for _, lines in found.values())
    story = "\n".join(f"{file}: {lines}" for file, (_, lines) in sorted(found.items()) if lines)
    t.true(100 * (total - missed) >= PERCENT_MIN * total, f"{missed} of {total} lines are not reached:\n{story}")
    for file, (count, lines) in sorted(found.items()):
        with t.row(file):
            t.true(100 * (count - len(lines)) >= FILE_PERCENT_MIN * count, f"{len(lines)} of {count} are not reached: {lines}")
    print(f"         {100 * (total - missed) / total:.1f} percent of {total} lines")


main()
