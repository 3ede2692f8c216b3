#!/usr/bin/env python3
"""Some generated policies, evaluated here and by OPA; test/long/differential runs many more."""
import re

from maestro_test import MAESTRO, ROOT, SANITIZED, case, main

PAIRS = 100 if SANITIZED else 400
SEED = 2026
CANNOT_BE_BUILT = 69            # there is no Go, or no module and no network


@case()
def generated_policies_give_what_opa_gives(t):
    build = MAESTRO.parent
    if not (build / "rego-answers").exists():
        t.not_run(f"{build / 'rego-answers'} is not built")
    result = t.run(ROOT / "test" / "differential" / "run", "--build", build, "--pairs", PAIRS, "--seed", SEED, seconds_max=900)
    if result.code == CANNOT_BE_BUILT:
        return          # a machine without Go has nothing to compare with; test/long/differential insists on it
    t.equal(result.code, 0, f"the exit status, after\n{result.out[-3000:]}{result.err[-500:]}")
    last = result.out.strip().splitlines()[-1] if result.out.strip() else ""
    found = re.fullmatch(r"(\d+) pairs, (\d+) equal, (\d+) explained, 0 different", last)
    if t.true(found, f"the last line is {last!r}"):
        t.true(int(found.group(1)) >= PAIRS, last)
        t.true(int(found.group(2)) > PAIRS * 0.9, last)     # what is explained is rare


@case()
def every_explained_difference_is_told_in_the_documents(t):
    program = ("import sys; sys.path.insert(0, 'test/differential'); sys.dont_write_bytecode = True; import explained; "
               "print('\\n'.join(name for name, _ in explained.REASONS))")
    names = t.run("python3", "-c", program).out.split("\n")[:-1]
    text = (ROOT / "docs" / "policy.md").read_text()
    rows = re.findall(r"^\| (.*?) \|", text[text.index("## Where Maestro differs from OPA"):], re.M)
    t.equal(sorted(names), sorted(set(rows) - {"name", "---"}), "the reasons of explained.py, and the rows of docs/policy.md")


@case()
def a_case_is_the_same_whenever_it_is_made(t):
    program = ("import sys; sys.path.insert(0, 'test/differential'); sys.dont_write_bytecode = True; import grammar, hashlib; "
               "print(hashlib.sha256(''.join(grammar.case_line(grammar.generate(5, i)) for i in range(50)).encode()).hexdigest())")
    first, second = (t.run("python3", "-c", program, env={"PYTHONHASHSEED": seed}) for seed in ("1", "2"))
    t.equal(first.code, 0, first.err)
    t.equal(first.out, second.out)


main()
