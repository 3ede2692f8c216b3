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


main()
