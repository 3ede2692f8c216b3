#!/usr/bin/env python3
"""tools/trace counts what passed, and nothing else."""
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test" / "e2e"))
from maestro_test import case, main                     # noqa: E402, the path comes first

DOCUMENT = """# Rows

| id | requirement | section | done |
|---|---|---|---|
""" + "".join(f"| F-{n:03} | row {n} | s | [ ] |\n" for n in range(1, 15)) + """| A-001 | one | s | [ ] |
| A-002 | (withdrawn) two | s | [ ] |
| R-001 | (future) one | s | [ ] |
| E-001 | one | s | [ ] |
| K-001 | one | s | [ ] |
| C-01 | a ruling | F-001 | yes |

#### M-1 Vocabulary

Prose that mentions F-099 is no row.
"""


def trace(t, *cases):
    """Runs the tool on DOCUMENT and a report of (name, proves, result)."""
    lines = [json.dumps({"suite": "unit/x", "case": n, "proves": p, "result": r, "seconds": 0}) for n, p, r in cases]
    report = t.write("report.jsonl", "".join(line + "\n" for line in lines))
    return t.run(sys.executable, ROOT / "tools" / "trace", t.write("rows.md", DOCUMENT), "--report", report)


@case()
def an_id_counts_when_its_case_passed(t):
    result = trace(t, ("a", "proves: F-002 K-001", "pass"), ("b", "proves: F-004", "fail"),
                   ("c", "proves: F-005", "not-run"), ("d", "proves: F-002", "fail"), ("e", "", "pass"))
    t.equal(result.code, 0)
    t.contains(result.out, "F    1 of 14\nA    0 of 1\nR    0 of 1\nE    0 of 1\nK    1 of 1\n2 of 18\n")
    t.contains(result.out, "proved by no case:\n  F-001 F-003..F-014\n  A-001\n  R-001\n  E-001\n\n")
    t.contains(result.out, "declared by cases that did not pass:\n  unit/x b: F-004\n  unit/x c: F-005\n  unit/x d: F-002\n")


@case()
def the_last_line_is_the_count(t):
    t.equal(trace(t).out.splitlines()[-1], "0 of 18")
    everything = [(f"c{n}", f"proves: F-{n:03}", "pass") for n in range(1, 15)]
    everything.append(("rest", "proves: A-001 R-001 E-001 K-001", "pass"))
    result = trace(t, *everything)
    t.equal(result.out.splitlines()[-1], "18 of 18")
    t.lacks(result.out, "proved by no case")


@case()
def a_case_with_more_than_twelve_ids_is_suspicious(t):
    twelve = " ".join(f"F-{n:03}" for n in range(1, 13))
    t.lacks(trace(t, ("modest", f"proves: {twelve}", "pass")).out, "suspicious")
    t.contains(trace(t, ("greedy", f"proves: {twelve} F-013", "pass")).out,
               "suspicious, declare more than 12 ids:\n  unit/x greedy: 13 ids\n")


@case()
def unknown_ids_are_listed_and_rulings_are_not(t):
    result = trace(t, ("a", "proves: F-099 F-001 C-01 M-1", "pass"))
    t.contains(result.out, "unknown ids:\n  F-099 in unit/x a\n\n")
    t.equal(result.out.splitlines()[-1], "1 of 18")


@case()
def what_is_missing_is_said(t):
    rows = t.write("rows.md", DOCUMENT)
    result = t.run(sys.executable, ROOT / "tools" / "trace", rows, "--report", t.folder / "none")
    t.equal(result.code, 2)
    t.contains(result.err, "make test")
    report = t.write("report.jsonl", "")
    t.equal(t.run(sys.executable, ROOT / "tools" / "trace", t.write("empty.md", "# no rows\n"), "--report", report).code, 2)


@case()
def the_specification_of_this_repository_is_readable(t):
    report = t.write("report.jsonl", "")
    result = t.run(sys.executable, ROOT / "tools" / "trace", ROOT / "docs" / "requirements.md", "--report", report)
    t.equal(result.out.splitlines()[-6:],
            ["F    0 of 211", "A    0 of 281", "R    0 of 117", "E    0 of 63", "K    0 of 90", "0 of 762"])


main()
