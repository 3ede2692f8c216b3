#!/usr/bin/env python3
"""maestro migrate, as a person uses it."""
from maestro_test import case, main

OLD = "examples/legacy-log-analysis.yaml"


@case("proves: K-069")
def an_old_runbook_is_recognised_and_points_to_its_migration(t):
    result = t.maestro("validate", OLD)
    t.contains(result.err, "a runbook of the old format")
    t.contains(result.err, f"maestro migrate {OLD}")


@case("proves: K-069")
def the_result_validates_and_what_was_derived_is_said(t):
    result = t.maestro("migrate", OLD)
    t.equal(result.code, 0)
    t.contains(result.out, "\nartifacts:\n  log_files:\n    source:\n      type: filesystem_connector\n")
    t.contains(result.err, "maestro: note: the name 'Legacy Log Analysis' is derived from the file's name")
    t.contains(result.err, "maestro: note: the description ")
    new = t.write("new.yaml", result.out)
    t.equal(t.maestro("validate", new).code, 0)
    t.equal(t.maestro("migrate", OLD).out, result.out, "the result of a second time")


@case("proves: K-069")
def the_plan_of_the_result_is_that_of_the_new_example(t):
    new = t.write("new.yaml", t.maestro("migrate", OLD).out)
    plans = [t.maestro("plan", "--json", path).json()["plan"] for path in (new, "examples/log-analysis.yaml")]
    same = [[{k: step.get(k) for k in ("run", "source", "transform", "input_schema", "output_schema", "output")}
             for step in plan["steps"]] for plan in plans]
    t.equal(same[0], same[1], "what the artifacts are made of")
    t.equal(plans[0]["edges"], plans[1]["edges"], "the edges")


@case()
def an_existing_file_is_overwritten_only_by_force(t):
    path = t.folder / "new.yaml"
    t.equal(t.maestro("migrate", OLD, "-o", path).code, 0)
    first = path.read_text()
    t.contains(first, "artifacts:")
    path.write_text("mine")
    result = t.maestro("migrate", OLD, "-o", path)
    t.equal(result.code, 2)
    t.contains(result.err, "exists already; --force overwrites it")
    t.equal(path.read_text(), "mine", "the file")
    t.equal(t.maestro("migrate", OLD, "--force", "--output", path).code, 0)
    t.equal(path.read_text(), first, "the file")
    result = t.maestro("migrate", OLD, "-o", "-")
    t.equal(result.out, first, "standard output")


@case("proves: K-073")
def what_must_be_decided_has_its_place_in_both_files(t):
    path = t.write("old.yaml", "connectors:\n  - { name: a, type: filesystem, properties: { path: . } }\nexecution:\n"
                               "  - { id: x, connector: a, speed: 9 }\n")
    result = t.maestro("migrate", path)
    t.equal(result.code, 0)
    t.contains(result.err, f"{path}:4:28: warning: 'speed' has no place in the new format")
    t.contains(result.out, "  # DECIDE: 'speed' has no place in the new format (line 4 of the old file).\n  #   speed: 9\n  x:\n")


@case("proves: K-073")
def a_result_that_is_not_finished_is_written_and_is_no_success(t):
    path = t.write("old.yaml", "connectors:\n  - { name: files, type: filesystem, properties: { path: . } }\nexecution:\n"
                               "  - { id: x, connector: file }\n")
    new = t.folder / "new.yaml"
    result = t.maestro("migrate", path, "-o", new)
    t.equal(result.code, 65)
    t.contains(result.err, f"{path}:4:25: error: there is no connector 'file'")
    t.contains(result.err, "did you mean 'files'?")
    t.contains(result.err, "the result is not finished")
    t.contains(new.read_text(), "# DECIDE: there is no connector 'file'")
    t.equal(t.maestro("validate", new).code, 65)


@case()
def a_component_that_is_not_installed_here_is_reported_of_the_result(t):
    path = t.write("old.yaml", "connectors:\n  - { name: a, type: sap }\nexecution:\n  - { id: x, connector: a }\n")
    result = t.maestro("migrate", path)
    t.equal(result.code, 65)
    t.contains(result.out, "type: sap")
    t.contains(result.err, "names the connector 'sap', which does not exist")
    t.contains(result.err, "the result does not validate here")


@case()
def everything_else_is_refused_with_a_reason(t):
    rows = {
        "the new format": ("name: n\ndescription: d\nartifacts: { a: { source: { type: filesystem } } }\n", "has the new format already"),
        "a workflow": ("workflow: w\njobs: { a: { tasks: [{ run: noop }] } }\n", "this is a workflow"),
        "a configuration": ("executors: {}\n", "no runbook of the old format"),
        "no YAML": ("a: [\n", "error"),
        "nothing": ("", "the file is empty"),
    }
    for name, (text, reason) in rows.items():
        with t.row(name):
            result = t.maestro("migrate", t.write("x.yaml", text))
            t.equal(result.code, 65)
            t.equal(result.out, "", "standard output")
            t.contains(result.err, reason)
    t.equal(t.maestro("migrate", "nowhere.yaml").code, 69)
    t.equal(t.maestro("migrate").code, 2)


main()
