#!/usr/bin/env python3
"""What the documents say of the program is so."""
import json
import os
import re
import subprocess

from maestro_test import ROOT, case, main
from schema_test import violations
from server_test import Server


def text(path):
    return (ROOT / path).read_text(encoding="utf-8")


@case()
def the_first_workflow_of_the_readme_is_valid_and_draws(t):
    file = t.write("nightly-report.yaml", re.search(r"```yaml\n(.*?)```", text("README.md"), re.S).group(1))
    for command in ("validate", "plan", "visualize"):
        with t.row(command):
            result = t.maestro(command, file)
            t.true(result.code == 0, f"exit status {result.code}:\n{result.out}{result.err}")


@case()
def every_command_that_the_documents_name_exists(t):
    names = set()
    for document in ("README.md", "docs/hacking.md", "docs/exit-codes.md", "tools/quickstart"):
        names |= set(re.findall(r"(?:build(?:-asan)?/maestro|\$maestro|`maestro) ([a-z][a-z-]+)", text(document)))
    t.true({"validate", "plan", "visualize", "help"} <= names, f"the documents name only {names}")
    for name in sorted(names):
        with t.row(name):
            t.equal(t.maestro("help", name).code, 0, "the exit status of `maestro help`")


def help_of(t, *names):
    result = t.maestro("help", *names)
    t.require(result.code == 0, result.err)
    return result.out


def commands(t):
    """The words of every command, those of commands included."""
    def below(*names):
        part = re.search(r"\ncommands:\n(.*?)(?:\n\n|$)", help_of(t, *names), re.S)
        return [(*names, word) for word in re.findall(r"^  ([a-z][a-z-]*) ", part.group(1), re.M)] if part else []
    found = below()
    return found + [inner for name in found for inner in below(*name)]


@case("proves: A-247")
def every_command_has_a_page_with_its_options_and_exit_codes(t):
    manual = t.maestro("help", "--man").out.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "").replace("\\fI", "")
    codes = set(re.findall(r"EXIT_CODE_\w+ = (\d+)", text("src/cli/exit.h")))
    names = commands(t)
    sources = sorted((ROOT / "src/cli").glob("cmd_*.c"))
    t.true(len(names) >= len(sources), f"{len(names)} commands of {len(sources)} sources")
    for name in names:
        with t.row(" ".join(name)):
            page = help_of(t, *name)
            summary, usage = re.match(r"(.*)\n\nusage: (maestro .*)\n\n\S", page).groups()
            t.true(len(summary) > 10, f"the summary {summary!r}")
            t.true(f".SS {usage}\n" in manual, "it has a section in the manual page")
            told = dict(re.findall(r"^  (?:-\w, |    )--([a-z0-9-]+)(?: \S+)? +(\S.*)$", page, re.M))
            t.equal(set(re.findall(r"\[--([a-z0-9-]+)", usage)) - set(told), set(), "options without a sentence")
            t.true(all(len(sentence) > 5 for sentence in told.values()), f"{told}")
            listed = re.search(r"\nexit codes:\n(.*?)(?:\n\n|$)", page, re.S).group(1)
            t.equal(set(re.findall(r"^ +(\d+)  \S", listed, re.M)), codes, "its exit codes")
    section = manual[manual.index(".SH EXIT STATUS"):]
    t.equal(set(re.findall(r"^\.TP\n(\d+)\n\S", section, re.M)), codes, "the exit codes of the manual page")


@case("proves: A-247")
def every_route_has_a_summary_and_a_description(t):
    table = re.sub(r"/\*.*?\*/", "", text("src/api/routes.def"), flags=re.S)
    names = re.findall(r"^ROUTE\((\w+),", table, re.M)
    t.true(len(names) > 30, f"only {len(names)} routes")
    server = Server(t)
    document = server.get("/openapi.json").json()
    server.stop()
    operations = {o["operationId"]: (path, o) for path, methods in document["paths"].items() for o in methods.values()}
    t.equal(sorted(operations), sorted(names), "the operations")
    for name, (path, operation) in sorted(operations.items()):
        with t.row(f"{name} {path}"):
            t.true(len(operation["summary"]) > 5, operation["summary"])
            t.true(operation["description"].startswith(operation["summary"]) and len(operation["description"]) > len(operation["summary"]) + 10,
                   operation["description"])
            t.true(all(p["description"] for p in operation["parameters"]), "every parameter is described")
            t.equal({p["name"] for p in operation["parameters"] if p["in"] == "path"}, set(re.findall(r"{(\w+)}", path)),
                    "the parts of the address")
            t.true(all("description" in answer or "$ref" in answer for answer in operation["responses"].values()), "every answer")


# The tables M-6 and M-7 of the requirements, one by one.
EXECUTION = "/api/executions/{executionId}"
REVISION = "/api/workflows/{namespace}/{workflowId}/revisions/{version}"
DEMANDED = {
    "get": ["/api", "/api/executions", EXECUTION, *(EXECUTION + part for part in ("/steps", "/events", "/logs", "/trace", "/provenance", "/replay", "/diff",
            "/artifacts/{artifactId}")), "/api/workflows", "/api/workflows/{namespace}/{workflowId}", "/api/workflows/{namespace}/{workflowId}/revisions", REVISION,
            "/api/schedules", "/api/schedules/override", "/api/policies", "/api/policies/review", "/api/tenants", "/api/executors", "/metrics"],
    "post": ["/api/executions", *(EXECUTION + part for part in ("/pause", "/resume", "/cancel", "/compensate", "/resolve", "/retry-from", "/skip-compensation",
             "/retry-compensation", "/approvals", "/placement")), "/api/workflows", "/api/workflows/{namespace}/{workflowId}/revisions",
             *(REVISION + part for part in ("/activate", "/deactivate", "/dry-run")), "/api/runbooks", "/api/signals", "/api/schedules/override",
             "/api/policies/review", "/api/executors/{executorId}/exchange", "/maestro/trigger/{workflow_id}/{trigger_key}",
             "/maestro/hooks/{tenant}/{workflow}/{trigger}"],
    "delete": [REVISION],
}
QUERIES = {"/api/executions": {"namespace", "workflowId", "version", "cursor"}, EXECUTION + "/steps": {"cursor"}, EXECUTION + "/replay": {"at"},
           EXECUTION + "/diff": {"attempts"}}
DEMANDED_COMMANDS = """resolve process-auto-retries retry-from compensate skip-compensation retry-compensation dispatch-polls recover-polls
    check-trigger-timeouts process-scheduled-resumes run validate-runbook inspect visualize migrate validate plan replay diff pause resume cancel approve
    signal rebind check server worker""".split()
DEMANDED_OPTIONS = {"plan": "--dry-run", "check": "--production", "server": "--cell"}


def table(name):
    return text("docs/requirements.md").split(f"\n#### {name} ")[1].split("\n#### ")[0]


@case("proves: G-07 C-47")
def every_address_that_the_requirements_demand_is_served(t):
    paths = Server(t).get("/openapi.json").json()["paths"]
    for method, addresses in DEMANDED.items():
        for address in addresses:
            with t.row(f"{method} {address}"):
                t.true(method in paths.get(address, {}), "it is served")
                t.true(address.split("{")[0].rstrip("/") in table("M-6") or "/" + address.rsplit("/", 1)[1] in table("M-6"), "the table has it")
    for address, names in QUERIES.items():
        with t.row(address):
            t.equal(names - {p["name"] for p in paths[address]["get"]["parameters"] if p["in"] == "query"}, set(), "filters that it does not take")


@case("proves: C-48")
def every_command_that_the_requirements_demand_is_there(t):
    there = {" ".join(name) for name in commands(t)}
    t.equal([name for name in DEMANDED_COMMANDS if name not in there], [], "commands that are missing")
    t.equal([name for name in DEMANDED_COMMANDS if name not in table("M-7")], [], "commands that the table does not have")
    for name, option in DEMANDED_OPTIONS.items():
        t.contains(help_of(t, name), option)


@case()
def the_table_of_exit_codes_is_that_of_the_program(t):
    documented = set(re.findall(r"^\| +(\d+) \|", text("docs/exit-codes.md"), re.M))
    t.equal(documented, set(re.findall(r"EXIT_CODE_\w+ = (\d+)", text("src/cli/exit.h"))), "the codes")


@case()
def every_invariant_of_the_engine_is_cited_where_it_is_held_and_in_the_simulator(t):
    rows = re.findall(r"^\| (I\d+) \|(.*)$", text("docs/invariants.md"), re.M)
    t.true(len(rows) >= 17, f"only {len(rows)} invariants")
    kinds = (".c", ".h", ".def", ".sql")
    held = "".join(file.read_text(encoding="utf-8") for folder in ("src", "spec") for file in sorted((ROOT / folder).rglob("*"))
                   if file.suffix in kinds and not file.stem.endswith("_test"))
    simulator = "".join(file.read_text(encoding="utf-8") for file in sorted((ROOT / "test/sim").glob("*.[ch]")))
    for number, _ in rows:
        with t.row(number):
            t.true(re.search(rf"\b{number}\b", held), "cited where it is held")
            t.true(re.search(rf"\b{number}\b", simulator), "cited in the simulator")


@case("proves: E-061")
def rfc_11_nothing_promises_that_what_is_accepted_is_completed(t):
    promise = re.compile(r"guarantee[sd]?\s+(that\s+\S+\s+)?(to\s+)?(complet|finish|succe)|(always|certainly|eventually)\s+(completes|finishes|succeeds)"
                         r"|will\s+(always|eventually)\s+(complete|finish|succeed)|completion\s+is\s+guaranteed", re.I)
    t.true(promise.search("It guarantees completion.") and promise.search("will eventually succeed"), "what is looked for is found")
    files = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "src").rglob("*.def")), *sorted((ROOT / "src/cli").rglob("*.c")),
             *sorted((ROOT / "src/api").glob("*.c")), ROOT / "src/api/schemas.json"]
    for file in files:
        if file.name == "requirements.md":
            continue
        with t.row(str(file.relative_to(ROOT))):
            t.equal([found.group(0) for found in promise.finditer(file.read_text(encoding="utf-8"))], [])
    t.contains(text("docs/dispatch.md"), "does not promise that what it attempts is ever completed")


@case("proves: E-063")
def core_types_of_the_dispatch_are_published_as_the_headers_have_them(t):
    published = dict(re.findall(r"^\| ([a-z][a-z -]+) \| (.*) \|$", text("docs/dispatch.md"), re.M))
    core = {"task": "Task", "intent": "Intent", "pressure snapshot": "Pressure", "sub-routine": "SubRoutine",
            "sub-routine group": "SubRoutineGroup", "outcome signal": "OutcomeSignal"}
    headers = "".join(file.read_text(encoding="utf-8") for file in sorted((ROOT / "src/dispatch").glob("*.h")))
    for name, typed in core.items():
        with t.row(name):
            t.true(name in published, "it is published")
            t.true(re.search(rf"^}} {typed};|typedef \w+ {typed} .*\b{typed};", headers, re.M), f"there is the type {typed}")
    signals = re.search(r"enum OutcomeSignal {(.*?)}", headers).group(1)
    t.equal(re.findall(r"`(\w+)`", published["outcome signal"]), [name.lower() for name in re.findall(r"SIGNAL_(\w+)", signals) if name != "COUNT"],
            "the signals")
    for name in re.findall(r"INTENT_([A-Z]+)\b", re.search(r"enum Intent {(.*?)}", headers, re.S).group(1)):
        if name != "COUNT":
            t.contains(published["intent"], f"`{name.lower()}`")


def architecture_rows():
    lines = [line for line in text("docs/architecture.md").splitlines() if line.startswith("|")]
    return [tuple(cell.strip() for cell in line.split("|")[1:4]) for line in lines if line.count("|") == 4]


@case("proves: R-116")
def the_folders_that_the_architecture_names_are_those_of_the_tree(t):
    named = {name.rstrip("/") for first, _, _ in architecture_rows() for name in re.findall(r"`([a-z]+/[a-z/*.]*)`", first)}
    sources = {f"src/{path.name}" for path in (ROOT / "src").iterdir() if path.is_dir()}
    told = {name.removesuffix("/*") for name in named if name.startswith("src/") and not name.endswith(".c")}
    t.equal(sorted(told - {"src/main", "src/crew"}), sorted(sources), "folders of src")
    tops = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith((".", "build"))} - {"src"}
    t.equal(sorted(tops - {name.split("/")[0] for name in named}), [], "folders of the repository that are not named")
    rows = {first: second for first, second, _ in architecture_rows()}
    for port in ("store", "exec"):
        shown = rows[f"`src/{port}/*`"].lower()
        for adapter in (path.name for path in (ROOT / "src" / port).iterdir() if path.is_dir()):
            t.contains(shown, adapter, f"the adapters of {port}")


@case("proves: R-010 R-014")
def what_the_requirements_name_is_where_the_architecture_says(t):
    rows = [(names, module, here) for names, module, here in architecture_rows() if re.search(r"`src/[a-z/_]+\.(h|c|def|json)`", here)
            and module.strip("`") in ("model", "core", "api")]
    folders = {module.strip("`"): set(re.findall(r"`([a-z]+)`", names)) for module, names, _ in architecture_rows()
               if module.strip("`") in ("model", "core", "api")}
    wanted = {"WorkflowRevision", "WorkflowRevisionID", "WorkflowExecution", "ExecutionStepResult", "ExecutionContext", "Step",
              "OrchestrationTask", "Sequence", "If", "LogTask", "WorkTask", "IStepExecutor", "ParameterSchema", "ExecutionStatus",
              "StepStatus", "IWorkflowRevisionRepository", "IWorkflowExecutionRepository", "StepExecutor", "ParameterValidator"}
    t.equal(sorted(wanted - {name for names, _, _ in rows for name in re.findall(r"`(\w+)`", names)}), [], "names without a row")
    for names, module, here in rows:
        with t.row(names):
            files = re.findall(r"`(src/[a-z/_]+\.(?:h|c|def|json))`", here)
            words = [word for word in re.findall(r"`(\w+)`", here.split(";")[0]) if not word.startswith("src")]
            contents = "".join(text(file) for file in files)
            for word in words:
                t.true(re.search(rf"\b{word}\b", contents) is not None, f"{word} is in {files}")
            if module == "`model`":
                t.true(all(file.split("/")[1] in folders["model"] for file in files), "it lies in a folder of the model")
    implemented = [path for path in (ROOT / "src/store").rglob("*.c") if "StoreOps" in path.read_text(encoding="utf-8")]
    t.true({path.parent.name for path in implemented} >= {"memory", "sqlite"}, "the port is implemented by adapters")
    product = [path for path in (ROOT / "src").rglob("*.c") if not path.name.endswith("_test.c")]
    t.true(all("src/store/" in str(path) for path in product if re.search(r"const StoreOps \w+ = ", path.read_text())), "and by nothing else")


@case("proves: R-112")
def the_guide_covers_every_address_that_is_served_with_an_example(t):
    guide = text("docs/api-user-guide.md").replace("\\\n", " ")
    shown = [(("post" if "-X POST" in line else "put" if "-X PUT" in line else "delete" if "-X DELETE" in line else "get"), path)
             for line in guide.splitlines() if line.startswith(("curl ", "command curl ")) for path in re.findall(r'\$API(/[^\s"?]*)', line)]
    for path, methods in Server(t).get("/openapi.json").json()["paths"].items():
        pattern = re.compile(re.sub(r"\{\w+\}", "[^/]+", path) + "$")
        for method in methods:
            with t.row(f"{method} {path}"):
                t.true(any(how == method and pattern.match(where) for how, where in shown), "the guide has an example of it")


@case("proves: R-112")
def the_examples_of_the_guide_are_requests_that_the_server_reads(t):
    server = Server(t)
    guide = text("docs/api-user-guide.md").replace("\\\n", " ")
    head = next(line for line in guide.splitlines() if line.startswith("curl() {"))
    for name in re.findall(r"@([\w-]+\.(?:json|yaml))", guide):
        t.write(name, json.dumps({"workflow": "order", "tenant": "acme", "params": [{"name": "order_id", "type": "string"}],
                                  "jobs": {"pay": {"tasks": [{"name": "charge", "log": name}]}}}))
    for line in guide.splitlines():
        if not line.startswith(("curl ", "command curl ")) or "/api/events" in line:      # a stream that does not end
            continue
        with t.row(line):
            asked = subprocess.run(["bash", "-c", f"{head}\n{line} -s -o answer -w '%{{http_code}}'"], capture_output=True, text=True, cwd=t.folder,
                                   env={**os.environ, "API": f"http://127.0.0.1:{server.port}", "KEY": server.admin, "TOKEN": "none"})
            refused = asked.stdout in ("401", "403", "405", "413", "415", "429") and "/maestro/" not in line
            t.true(re.fullmatch("[234]..", asked.stdout) and not refused, f"it is read: {asked.stdout} {asked.stderr}")
            is_twice = re.search("more than one|no JSON", (t.folder / "answer").read_text())
            t.true(not is_twice, f"as it is meant: {is_twice}")


@case("proves: R-112")
def the_answers_that_the_guide_shows_are_those_of_the_server(t):
    server = Server(t)
    guide = text("docs/api-user-guide.md")
    shown = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", guide, re.S)]
    refused = json.loads(re.search(r"application/problem\+json\n\n(.*?)```", guide, re.S).group(1))
    contract = server.get("/openapi.json").json()
    names = ["Root", "Revision", "DryRunAnswer", "Execution", "Diff", "Schedule", "Problem"]
    t.equal(len(shown) + 1, len(names), "every answer has a name")
    for name, value in zip(names, [*shown, refused]):
        with t.row(name):
            t.equal(violations(contract, {"$ref": "#/components/schemas/" + name}, value), [])
    answer = server.get("/api/executions/V1StGXR8Z5jdHi6BmyT0a").json()
    place = answer.pop("instance"), refused.pop("instance")
    t.equal((answer, place[0].split("#")[0]), (refused, place[1].split("#")[0]), "the error is as it is shown")
    order = "workflow: order\ntenant: acme\njobs: { pay: { tasks: [{ name: charge, run: sleep, input: { duration: %s } }] } }\n"
    server.define(order % "10m", "acme")
    stored = server.call("POST", "/api/workflows", order % "11m", headers={"Content-Type": "application/yaml"}).json()
    server.post("/api/workflows/acme/order/revisions/1/deactivate")
    server.post("/api/workflows/acme/order/revisions/2/activate")
    run = server.begin("order", namespace="acme")
    server.post("/api/workflows/acme/order/revisions/2/deactivate")
    for name, value, known in (("Revision", stored, shown[1]), ("Execution", server.get("/api/executions/" + run["executionId"]).json(), shown[3])):
        with t.row("links of " + name):
            links = {rel: link["href"].replace(run["executionId"], "V1StGXR8Z5jdHi6BmyT0a") for rel, link in value["_links"].items()}
            t.equal({rel: links.get(rel) for rel in known["_links"]}, {rel: link["href"] for rel, link in known["_links"].items()})


main()
