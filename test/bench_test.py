#!/usr/bin/env python3
"""The benchmarks of the ways of a run work: each way is played, and what happened in it is counted. No time is looked at."""
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test" / "e2e"))
from maestro_test import MAESTRO, case, main                     # noqa: E402, the path comes first

PROGRAM = MAESTRO.resolve().parent / "bench" / "bench-features"
RUNS = "100"                        # more than take a move together, and not a multiple of them

# By way: attempts and records of one run.
WAYS = {
    "plain": (2, 3), "auto-retry": (3, 5), "resolution": (3, 5), "retry-from": (4, 6), "compensation": (3, 5), "branches": (3, 4),
    "polls": (4, 7), "pause and trigger": (2, 4),
}


@case("proves: A-245")
def every_way_of_a_run_has_a_benchmark_that_counts_right(t):
    result = t.run(PROGRAM, "--json", RUNS)
    t.equal(result.err, "", "standard error")
    t.require(result.code == 0, f"exit status {result.code}")
    rows = {row["way"]: row for row in map(json.loads, result.out.splitlines())}
    t.equal(list(rows), list(WAYS), "the ways")
    for way, (attempts, records) in WAYS.items():
        with t.row(way):
            t.equal(rows[way]["attempts"], attempts, "attempts of a run")
            t.equal(rows[way]["records"], records, "records of a run")
            t.true(rows[way]["us"] > 0 and rows[way]["run_ratio"] > 0 and rows[way]["record_ratio"] > 0, "the figures are there")
    t.equal(rows["plain"]["run_ratio"], 1, "the plain run beside itself")


@case()
def a_number_of_runs_that_makes_no_sense_is_refused(t):
    for words in (("0",), ("many",), ("2097152",), ("1", "2"), ("--json", "1", "2")):
        with t.row(" ".join(words)):
            result = t.run(PROGRAM, *words)
            t.equal(result.code, 2, "the exit status")
            t.true("usage: bench-features" in result.err, result.err)


main()
