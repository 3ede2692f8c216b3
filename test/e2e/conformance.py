#!/usr/bin/env python3
"""The published cases of the policy language, run by the program that counts them; the floor is what was reached."""
import os
import re

from maestro_test import MAESTRO, ROOT, case, main

SHARED = ROOT.parent / "shared" if "MAESTRO_SHARED" not in os.environ else ROOT / os.environ["MAESTRO_SHARED"]
FLOORS = {"v1": 1648, "v0": 1419, "compile": 10}


@case()
def the_policy_language_passes_the_published_cases(t):
    for name, floor in FLOORS.items():
        folder = SHARED / "rego-cases" / name
        if not folder.exists():
            t.not_run("the policy cases are not on this machine")
        with t.row(name):
            result = t.run(MAESTRO.parent / "rego-conformance", folder, seconds_max=600)
            found = re.search(r"^(\d+) of (\d+)$", result.out.strip().splitlines()[-1] if result.out.strip() else "")
            if t.true(found, f"no count in the last line:\n{result.out[-500:]}{result.err[-500:]}"):
                t.true(int(found.group(1)) >= floor, f"{found.group(0)}, wanted are {floor}")


@case()
def cases_are_found_wherever_they_lie_and_failures_are_told(t):
    program = MAESTRO.parent / "rego-conformance"
    t.write("cases/v0/sets/test-one.yaml", "cases:\n- note: sets/old\n  modules:\n  - |\n    package t\n    p[x] { x := 1 }\n"
            "  query: data.t.p = x\n  want_result: [{x: [1]}]\n- note: sets/wrong\n  query: x = 1\n  want_result: [{x: 2}]\n")
    t.write("cases/more/plain.json", '{"cases": [{"note": "good", "query": "x = 1", "want_result": [{"x": 1}]}]}')
    result = t.run(program, t.folder / "cases")
    t.equal(result.code, 1)
    t.contains(result.out, 'sets/wrong: got [{"x":1}], wanted [{"x":2}]')
    t.equal(result.out.splitlines()[-1], "2 of 3")
    t.write("broken/a.json", "{")
    broken = t.run(program, t.folder / "broken")
    t.equal((broken.code, broken.out.splitlines()[-1]), (1, "0 of 1"))
    (t.folder / "none").mkdir()
    for folder in ("none", "missing"):
        with t.row(folder):
            empty = t.run(program, t.folder / folder)
            t.equal((empty.code, empty.out), (2, "0 of 0\n"))


main()
