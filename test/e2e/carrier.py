"""What the dispatch core is linked to: nothing that reports, records or waits for an outcome."""
import re
import subprocess

from maestro_test import ROOT, case, main

# What it may need of others: texts, errors, checks, and what a compiler makes of plain C.
PERMITTED = re.compile(r"^(error_\w+|check_\w+|str_\w+|mem\w+|strlen|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_|__asan_\w+|__ubsan_\w+|__sanitizer_\w+)$")
OUTCOME = re.compile(r"report|notice|settle|executor|engine|ledger|run_|store|alloc|lease|malloc|free$|poll|wait|read$|write$")


@case("proves: E-001 E-003 E-005 E-006 E-007 E-014 E-026 E-041 C-03")
def the_dispatch_core_links_to_nothing_that_knows_an_outcome(t):
    archive = ROOT / "build" / "src" / "dispatch" / "libdispatch.a"
    if not archive.exists():
        t.not_run(f"{archive} is not there: build first")
    names = subprocess.run(["nm", "-A", str(archive)], capture_output=True, text=True, check=True).stdout.splitlines()
    defined = {line.split()[-1] for line in names if re.search(r" [TtDdBbRr] ", line)}
    needed = {line.split()[-1] for line in names if " U " in line} - defined
    t.equal(sorted(name for name in needed if not PERMITTED.match(name)), [])
    t.equal(sorted(name for name in needed if OUTCOME.search(name)), [])
    t.equal("group_dispatch" in defined, True)
    t.equal([line for line in names if re.search(r" [BbC] ", line)], [])       # and keeps nothing between two calls


@case("proves: E-002 E-012")
def every_attempt_leaves_the_engine_by_one_call_of_a_carrier(t):
    calls = subprocess.run(["grep", "-rnE", r"ops->execute\(", str(ROOT / "src")], capture_output=True, text=True, check=False).stdout.splitlines()
    engine = [line for line in calls if "/src/engine/" in line]
    t.equal(len(engine), 1, "\n".join(engine))
    t.contains(engine[0], "effect.c")


main()
