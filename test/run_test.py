#!/usr/bin/env python3
"""test/run counts honestly: whatever ends badly is a failure, and the last line says so."""
import json
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test" / "e2e"))
from maestro_test import case, main                     # noqa: E402, the path comes first

PROGRAM = """#!{python}
import json, os, signal, sys, time
def report(case, result, proves=""):
    print(f"{{result:8}} {{case}}")
    with open(sys.argv[2], "a") as file:
        file.write(json.dumps(dict(suite="x", case=case, proves=proves, result=result, seconds=0)) + "\\n")
{body}
"""


def run(t, programs, *args, env=None):
    """Runs test/run over a build folder of small programs, and gives the result and the report of the unit suites."""
    build, tests = t.folder / "build", []
    for name, body in programs.items():
        path = t.write(f"build/src/{name}/test-{name}", PROGRAM.format(python=sys.executable, body=body))
        path.chmod(0o755)
        tests.append({"name": name, "cmd": [str(path)], "env": {}})
    t.write("build/meson-info/intro-tests.json", json.dumps(tests))
    result = t.run(sys.executable, ROOT / "test" / "run", "--build", build, *(args or ["--suite", "unit/"]), env=env)
    report = build / "report-part.jsonl"
    return result, [json.loads(line) for line in report.read_text().splitlines()] if report.exists() else []


@case()
def passed_cases_are_counted_and_reported(t):
    result, report = run(t, {"a": "report('one', 'pass', 'proves: F-001')", "b": "report('two', 'pass')"})
    t.equal(result.code, 0)
    t.equal(result.out.splitlines()[-1], "2 passed, 0 failed")
    t.matches(result.out, r"^ok +unit/a +1 passed +0 failed +\d+\.\d\d min$")
    t.equal(report[0], {"suite": "unit/a", "case": "one", "proves": "proves: F-001", "result": "pass", "seconds": 0})


@case()
def a_failed_case_shows_its_output_and_fails_the_run(t):
    result, _ = run(t, {"a": "report('good', 'pass'); print('  a.c:3: got 1, want 2'); report('bad', 'fail'); sys.exit(1)"})
    t.equal(result.code, 1)
    t.equal(result.out.splitlines()[-1], "1 passed, 1 failed")
    t.contains(result.out, "a.c:3: got 1, want 2")
    t.lacks(result.out, "pass     good")


@case()
def what_was_not_run_counts_as_failed_in_ci_alone(t):
    programs = {"a": "report('here', 'pass'); report('peer', 'not-run'); sys.exit(1)"}
    result, _ = run(t, programs, env={"CI": "true"})
    t.equal(result.code, 1)
    t.equal(result.out.splitlines()[-1], "1 passed, 1 failed")
    t.contains(result.out, "1 case(s) not run, counted as failed")
    result, _ = run(t, programs, env={"CI": ""})
    t.equal(result.code, 0)
    t.equal(result.out.splitlines()[-1], "1 passed, 0 failed")
    t.contains(result.out, "1 case(s) not run")


@case()
def a_crash_a_bad_status_and_an_empty_suite_are_failures(t):
    for body, why in (("report('one', 'pass'); os.kill(os.getpid(), signal.SIGSEGV)", "ended by SIGSEGV"),
                      ("report('one', 'pass'); sys.exit(3)", "exit status 3"),
                      ("pass", "no case was reported"),
                      ("open(sys.argv[2], 'a').write('nonsense\\n')", "is no JSON object")):
        with t.row(why):
            result, report = run(t, {"a": body})
            t.equal(result.code, 1)
            t.contains(result.out, why)
            t.equal(sum(c["result"] == "fail" for c in report), 1, "failed cases in the report")


@case()
def a_suite_that_hangs_is_stopped_with_all_its_processes(t):
    body = "report('one', 'pass'); os.fork(); open(str(os.getpid()), 'w'); time.sleep(600)"
    result, _ = run(t, {"a": f"os.chdir({str(t.folder)!r}); {body}"}, "--suite", "unit/", "--seconds", "1")
    t.equal((result.code, result.out.splitlines()[-1]), (1, "1 passed, 1 failed"))
    t.contains(result.out, "stopped after 1 s")
    for name in (f.name for f in t.folder.iterdir() if f.name.isdigit()):
        t.true(is_gone(int(name)), f"process {name} is still there")


def is_gone(pid, seconds_max=5):
    """Within a few seconds: no process, or one that has ended and only waits to be collected."""
    end = time.monotonic() + seconds_max
    while time.monotonic() < end:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


@case()
def names_narrow_what_is_run(t):
    programs = {"a": "report('one', 'pass') if 'on' in sys.argv[3:] else sys.exit(4)", "b": "sys.exit(5)"}
    result, _ = run(t, programs, "--suite", "unit/a", "-k", "on")
    t.equal((result.code, result.out.splitlines()[-1]), (0, "1 passed, 0 failed"))
    result, _ = run(t, programs, "--suite", "nonsense")
    t.equal(result.code, 2)


@case()
def a_folder_that_is_not_built_is_refused(t):
    result = t.run(sys.executable, ROOT / "test" / "run", "--build", t.folder)
    t.true(result.code not in (0, None), "the exit status")
    t.contains(result.err, "make test")


@case()
def the_check_of_a_change_ends_with_the_count(t):
    rows = [("all is well", "echo '3 passed, 0 failed'", 0, "3 passed, 0 failed"),
            ("a test fails", "echo '2 passed, 1 failed'; echo 'make: *** Error 1' >&2; exit 2", 1, "2 passed, 1 failed"),
            ("the build fails", "echo 'a.c:1: error'; exit 2", 1, "0 passed, 1 failed"),
            ("make fails after all passed", "echo '3 passed, 0 failed'; exit 2", 1, "0 passed, 1 failed"),
            ("nothing was counted", "exit 0", 1, "0 passed, 1 failed")]
    for name, script, code, last in rows:
        with t.row(name):
            t.write("bin/make", f"#!/bin/sh\n{script}\n").chmod(0o755)
            result = t.run(ROOT / ".ci" / "run", env={"PATH": f"{t.folder}/bin:/usr/bin:/bin"})
            t.equal(result.code, code, "the exit status")
            t.equal(result.out.splitlines()[-1], last, "the last line")
            t.equal(sum(line.endswith(" failed") for line in result.out.splitlines()), 1, "lines that count")


main()
