"""What the dispatch core is linked to: nothing that reports, records or waits for an outcome; and where its rules are tested."""
import re
import subprocess

from maestro_test import ROOT, case, main

# What it may need of others: texts, errors, checks, and what a compiler makes of plain C.
PERMITTED = re.compile(r"^(error_\w+|check_\w+|str_\w+|mem\w+|strlen|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_|__asan_\w+|__ubsan_\w+|__sanitizer_\w+)$")
NEEDED = re.compile(r"report|notice|settle|executor|engine|ledger|run_|store|alloc|lease|malloc|free$|poll|wait|read$|write$")
# What one would call to tell it how work ended. Its own signals (retry, escalate, drop) say nothing of that.
OUTCOME = re.compile(r"succe|fail|complet|finish|done|result|outcome|report|notice|settle|lease|breaker|circuit")


def symbols(t):
    """What the dispatch core defines, and what it needs of others."""
    archive = ROOT / "build" / "src" / "dispatch" / "libdispatch.a"
    if not archive.exists():
        t.not_run(f"{archive} is not there: build first")
    names = subprocess.run(["nm", "-A", str(archive)], capture_output=True, text=True, check=True).stdout.splitlines()
    defined = {line.split()[-1] for line in names if re.search(r" [TtDdBbRr] ", line)}
    needed = {line.split()[-1] for line in names if " U " in line} - defined
    return names, defined, needed


@case("proves: E-001 C-03")
def rfc_1_the_dispatch_core_is_one_module_that_needs_texts_and_checks_alone(t):
    _, defined, needed = symbols(t)
    t.equal(sorted(name for name in needed if not PERMITTED.match(name)), [])
    for part in ("task_accept", "task_admit", "task_dispatch", "task_signal", "cooperative_count", "group_spawn"):
        t.true(part in defined, f"{part} is in it")


@case("proves: E-003 C-03")
def rfc_2_the_dispatch_core_links_to_nothing_that_knows_an_outcome(t):
    _, defined, needed = symbols(t)
    t.equal(sorted(name for name in needed if NEEDED.search(name)), [])
    t.equal("group_dispatch" in defined, True)


@case("proves: E-003 C-03")
def rfc_2_the_dispatch_core_has_no_operation_that_receives_an_outcome(t):
    _, defined, _ = symbols(t)
    t.equal(sorted(name for name in defined if OUTCOME.search(name)), [])
    for name in ("breaker_succeeded", "breaker_failed", "task_report", "group_result", "lease_settled"):
        with t.row(name):
            t.true(OUTCOME.search(name), "would be noticed")


@case("proves: E-005 E-006 E-007")
def rfc_3_1_a_sub_routine_executes_nothing_is_not_resumed_and_cannot_be_waited_for(t):
    names, defined, needed = symbols(t)
    t.equal(sorted(name for name in needed if re.search(r"exec|fork|spawn|pthread|context|jmp|wait|poll", name)), [])
    t.equal([line for line in names if re.search(r" [BbC] ", line)], [])       # and keeps nothing between two calls
    t.equal(sorted(name for name in defined if re.search(r"resume|await|result|value", name)), [])


@case("proves: E-014")
def rfc_3_3_a_sub_routine_gives_back_whether_a_call_was_issued_and_nothing_else(t):
    text = (ROOT / "src/dispatch/carrier.h").read_text()
    t.equal(re.findall(r"^typedef (\w+) \(\*(\w+)\)", text, re.M), [("bool", "DispatchCall")])
    t.equal(sorted(set(re.findall(r"^(\w+) (?:subroutine|group)_\w+\(", text, re.M))), ["SubRoutineGroup", "bool"])


@case("proves: E-026")
def rfc_5_2_no_outcome_reaches_a_cooperative(t):
    for name in ("carrier.h", "carrier.c"):
        with t.row(name):
            code = re.sub(r"/\*.*?\*/", "", (ROOT / "src/dispatch" / name).read_text(), flags=re.S)
            t.equal(re.findall(r"\b(?:report|outcome|signal|cause|Task|Outcome\w*)\b", code), [])


@case("proves: E-041")
def rfc_5_4_what_counts_cooperatives_knows_no_sub_routine(t):
    for name in ("admission.h", "admission.c"):
        with t.row(name):
            code = re.sub(r"/\*.*?\*/", "", (ROOT / "src/dispatch" / name).read_text(), flags=re.S)
            t.equal(re.findall(r"SubRoutine\w*|subroutine_\w+|group_\w+|carrier", code), [])


@case("proves: E-062")
def every_rule_of_the_execution_model_has_a_test_named_after_its_section(t):
    rules, tests = {}, []
    for line in (ROOT / "docs/requirements.md").read_text().splitlines():
        found = re.match(r"\| (E-\d+) \| (.*?) \| (\d+(?:\.\d+)?)\.? [^|]*\|", line)
        if found:
            rules[found[1]] = found[3].replace(".", "_")
    for path in [*ROOT.glob("src/**/*_test.c"), *ROOT.glob("test/**/*_test.c")]:
        tests += re.findall(r'TEST\((\w+), "([^"]*)"\)', path.read_text())
    for path in ROOT.glob("test/e2e/*.py"):
        tests += [(name, proves) for proves, name in re.findall(r'@case\("([^"]*)"\)\s*def (\w+)', path.read_text())]
    t.equal(len(rules), 61, "rules with a section: E-001 to E-061")
    for rule, section in sorted(rules.items()):
        with t.row(rule):
            named = [name for name, proves in tests if name.startswith(f"rfc_{section}_") and rule in proves.split()]
            t.true(named, f"a test rfc_{section}_... proves {rule}")


def calls(folder, pattern):
    """Lines of the product that call it: no test, no definition, no declaration."""
    found = subprocess.run(["grep", "-rnE", "--include=*.c", pattern, str(ROOT / "src" / folder)], capture_output=True, text=True, check=False).stdout
    return [line for line in found.splitlines() if "_test.c:" not in line]


@case("proves: E-002 E-012")
def every_attempt_leaves_the_engine_by_one_call_of_a_carrier(t):
    t.equal(len(calls("engine", r"ops->execute\(")), 1, "one call reaches executors, and it is what carriers issue")
    t.equal(calls("engine", r"group_dispatch\("), [], "no carrier is sent but by its task")
    t.equal(len(calls("engine", r"task_dispatch\(")), len(calls("engine", r"task_admit\(")), "and no task without its admission")


@case("proves: E-001 E-002 C-70")
def rfc_2_the_machine_of_tasks_is_the_one_that_the_product_runs_by(t):
    for folder, part in (("core", "task_accept"), ("engine", "task_admit"), ("engine", "task_dispatch"), ("core", "task_signal"), ("core", "task_return")):
        with t.row(part):
            t.true(calls(folder, part + r"\("), f"src/{folder} calls it")


main()
