#!/usr/bin/env python3
"""Tenants at one server: nobody reads, changes or learns of what is another's. Made of the served document, so that an address that is
new is tried as well; one whose names nobody has a rule for fails."""
import json
import re

from maestro_test import case, main
from server_test import HELLO, Server

WAITING = """workflow: waiting
tenant: acme
triggers:
  - webhook: { key: order, auth: { api_key: true } }
  - webhook: { key: signed }
jobs:
  a:
    tasks:
      - name: ask
        log: "asked"
        pause_after: { trigger: approval, timeout: 1h, auth: { api_key: true } }
"""

HELD = """workflow: held
tenant: other
jobs:
  a:
    tasks:
      - name: hold
        run: shell
        args: ["sh", "-c", "echo \\"$MAESTRO_TOKEN\\" > {path}.new; mv {path}.new {path}; sleep 600"]
"""

# What the names of addresses, queries and bodies stand for: (of the other tenant, of nobody).
IDS = {
    "executionId": ("{run}", "c" * 21), "run": ("{run}", "c" * 21), "workflow_id": ("{run}", "c" * 21), "executionIds": (["{run}"], ["c" * 21]),
    "namespace": ("acme", "nobody"), "tenant": ("acme", "nobody"), "workflowId": ("waiting", "none"), "workflow": ("waiting", "none"),
    "trigger_key": ("approval", "approval"), "trigger": ("order", "order"), "version": ("1", "1"), "stepId": ("a.ask", "a.ask"),
    "artifactId": ("a", "a"), "keyId": ("{key}", "c" * 8), "name": ("TOKEN", "NONE"),
}
# Names that are nobody's: the same is asked twice, and both are told alike.
OF_NOBODY = {"executorId": "far", "query": "RUN", "type": "denied"}
# Addresses that speak of whoever asks, or of everybody: there is no id of another in them.
WITHOUT_IDS = {"root", "tenants", "executors"}
ROLES = ("viewer", "operator", "author", "admin", "worker")


def resolved(schema, components):
    """What a reference refers to; of several forms the first."""
    while "$ref" in schema or "oneOf" in schema:
        schema = components[schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema["oneOf"][0]
    return schema


def sample(schema, components):
    """Something that a schema permits, with what it requires."""
    schema = resolved(schema, components)
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {name: sample(schema.get("properties", {}).get(name, {}), components) for name in schema.get("required", [])}
    return {"string": "x", "integer": 1, "number": 1, "boolean": True, "array": []}.get(kind)


def properties(schema, components):
    return resolved(schema, components).get("properties", {})


class Matrix:
    """Every address of the document with the ids that it takes."""

    def __init__(self, t, server, run):
        self.t, self.server, self.run = t, server, run
        document = server.get("/openapi.json").json()
        self.components = document["components"]["schemas"]
        # Without credentials: documents about the server, its pages, its health.
        self.operations = [(method.upper(), path, operation) for path, methods in document["paths"].items()
                           for method, operation in methods.items() if operation.get("security") != [] or path.startswith("/maestro/")]

    def filled(self, value):
        return [self.filled(v) for v in value] if isinstance(value, list) else value.replace("{run}", self.run).replace("{key}", self.server.foreign_key)

    def ids_of(self, path, operation):
        """Names of the path; those of query and body that name something of a tenant."""
        name = operation["operationId"]
        in_path = re.findall(r"{(\w+)}", path)
        for part in in_path:
            self.t.require(part in IDS or part in OF_NOBODY, f"{name}: nobody knows whose {{{part}}} is: give it a rule")
        in_query = [p["name"] for p in operation.get("parameters", []) if p["in"] == "query" and p["name"] in ("namespace", "workflowId")]
        content = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        in_body = [p for p in properties(content, self.components) if p in IDS]
        if "namespace" in in_query:
            in_query = ["namespace"] + [n for n in in_query if n != "namespace"]
        return in_path, in_query, in_body, content

    def request(self, method, path, operation, which):
        """Which: 0 of the other tenant, 1 of nobody. None: it has no id of anybody."""
        in_path, in_query, in_body, content = self.ids_of(path, operation)
        if operation["operationId"] in WITHOUT_IDS:
            return None
        if operation["operationId"] == "client_plan":           # what it is about, the definition says
            return path, {"definition": HELLO.replace("workflow: hello", "workflow: waiting\ntenant: %s" % ("acme", "nobody")[which])}
        self.t.require(in_path or in_query or in_body, f"{operation['operationId']} has no ids: say so in WITHOUT_IDS")
        values = {name: self.filled(IDS[name][which]) if name in IDS else OF_NOBODY[name] for name in in_path + in_query + in_body}
        where = path.format(**values)
        if in_query:
            where += "?" + "&".join(f"{n}={values[n]}" for n in in_query)
        body = None
        if method not in ("GET", "DELETE"):
            body = sample(content, self.components)
            shapes = properties(content, self.components)
            number = lambda value: int(value) if value.isdigit() else 0
            body.update({n: number(values[n]) if shapes[n].get("type") == "integer" else values[n] for n in in_body})
            if operation["operationId"] == "override_create":
                body["at"] = "2101-01-01T00:00:00.000Z"
            if operation["operationId"] == "petition":
                body["verb"] = "pause"
            if operation["operationId"] in ("workflow_create", "revision_create"):
                body = {"definition": HELLO.replace("workflow: hello", "workflow: waiting\ntenant: %s" % ("acme", "nobody")[which])}
        return where, body


def told(answer, server):
    """What can be learnt of an answer, but for the ids that were asked for."""
    kept = {k: v for k, v in answer.headers.items() if k.lower() not in ("date", "x-request-id", "content-length", "traceparent")}
    try:
        body = {k: v for k, v in json.loads(answer.body).items() if k != "instance"}
    except ValueError:
        body = answer.body.decode()
    text = json.dumps([answer.status, kept, body], sort_keys=True)
    text = re.sub(r"'[^']*'", "''", text).replace(server.run, "ID").replace("c" * 21, "ID")
    return re.sub(r"\b(acme|nobody|waiting|none)\b", "NAME", text)


def refusals(t, server):
    shown = t.maestro("ledger", "show", "--limit", "100000", "--store", "sqlite:" + server.store)
    records = [json.loads(line) for line in shown.out.splitlines()]
    counts = {}
    for record in records:
        for event in record["events"]:
            if event["event"] == "access-refused":
                counts[record["actor"]] = counts.get(record["actor"], 0) + event["count"]
    return counts, [r for r in records if not any(e["event"] in ("access-refused", "secret-set", "tenant-key-made") for e in r["events"])]


def prepare(t):
    server = Server(t)
    server.define(WAITING, tenant="acme")
    server.run = server.begin("waiting", namespace="acme", wait="30s")["executionId"]
    server.foreign_key = server.key("viewer", "acme").split(".")[2]
    server.call("PUT", "/api/secrets/TOKEN?namespace=acme", {"value": "secretive"})
    return server


def attempt(t, server, name):
    """The credential of a step that is under way, of the tenant 'other'."""
    path = t.folder / name
    server.define(HELD.replace("workflow: held", "workflow: " + name).format(path=path), tenant="other")
    server.begin(name, namespace="other")
    t.until(path.exists, "the step has its credential")
    return path.read_text().strip()


@case("proves: F-003 F-109 F-113")
def every_address_tells_every_role_of_another_tenant_the_same_as_of_nothing(t):
    server = prepare(t)
    matrix = Matrix(t, server, server.run)
    # One asks for what is another's, one for what there is not, one for what belongs to nobody: their refusals are told apart.
    # Each role has a tenant of its own: those of one are told apart as far as some hundred.
    callers = {role: [server.key(role, "other-" + role) for _ in range(3)] for role in ROLES}
    callers["attempt"] = [attempt(t, server, name) for name in ("one", "two", "three")]
    first = server.get("/api/executions?namespace=other&workflowId=one").json()["items"][0]["executionId"]
    before = server.get("/api/executions/" + server.run).json()
    _, records = refusals(t, server)
    asked = {role: 0 for role in callers}
    tried = 0
    foreign = {}

    def is_nobodys(path, operation):
        return bool(set(matrix.ids_of(path, operation)[0]) & set(OF_NOBODY))

    # First what is another's, all of it: a server tells some hundreds of refusals apart at a time, and these are counted below.
    for method, path, operation in matrix.operations:
        request = matrix.request(method, path, operation, 0)
        for role, keys in callers.items():
            if request is not None and not is_nobodys(path, operation):
                foreign[method, path, role] = server.call(method, *request, key=keys[0])
    for method, path, operation in matrix.operations:
        for role, keys in callers.items():
            with t.row(f"{method} {path} as {role}"):
                requests = [matrix.request(method, path, operation, which) for which in (0, 1)]
                if requests[0] is None:
                    continue
                is_of_nobody = is_nobodys(path, operation)
                answers = [server.call(method, *requests[0], key=keys[2]) if is_of_nobody else foreign[method, path, role],
                           server.call(method, *requests[1], key=keys[2] if is_of_nobody else keys[1])]
                t.true(400 <= answers[0].status < 500 or "items" in answers[0].json(), f"it is refused: {answers[0]}")
                t.equal(told(answers[0], server), told(answers[1], server), "of another tenant's, and of nobody's")
                if "items" in answers[0].json():
                    t.equal([i["outcome"] for i in answers[0].json()["items"]], ["not-found"], "of a list")
                tried += 1
                # Triggers take keys and credentials of their own: an attempt is nobody to them.
                asked[role] += not is_of_nobody and not (role == "attempt" and path.startswith("/maestro/"))
    t.true(tried > 150, f"{tried} requests were compared")
    t.equal(server.get("/api/executions/" + server.run).json(), before, "nothing has changed")
    for run in server.get("/api/executions?namespace=other").json()["items"]:
        server.post("/api/executions/%s/cancel" % run["executionId"], {})
    server.stop()
    counts, after = refusals(t, server)
    t.equal([r for r in after if r not in records and '"attempt' not in json.dumps(r)
             and any(e["event"].startswith(("revision", "run-created")) for e in r["events"])], [], "nothing was done")
    for role in callers:
        with t.row(f"the refusals of {role} are in the ledger"):
            actor = "key:" + callers[role][0].split(".")[2] if role != "attempt" else f"attempt:{first}/a.hold/1"
            t.equal(counts.get(actor, 0), asked[role])


PETITIONS = ("start", "pause", "resume", "cancel", "signal", "rebind", "trigger", "resolve", "retry-from", "compensate", "retry-compensation",
             "skip-compensation", "store-revision", "activate", "deactivate", "remove-revision", "set-secret", "remove-secret", "override-schedule",
             "remove-override", "review-policy", "nothing")


@case("proves: F-003 F-113")
def every_petition_about_another_tenant_is_told_as_one_about_nobody_and_does_nothing_of_the_keys_own(t):
    server = prepare(t)
    server.define(WAITING.replace("tenant: acme", "tenant: other"), tenant="other")
    before = [server.get(f"/api/workflows/{tenant}/waiting").json() for tenant in ("acme", "other")]
    _, records = refusals(t, server)
    keys = {role: [server.key(role, "other") for _ in range(2)] for role in ROLES}
    whole = {"revision": 1, "name": "approval", "kind": "operator", "payload": {}, "reason": "x", "trigger": 0, "at": "2101-01-01T00:00:00.000Z",
             "policy": "p", "plan": "{}", "sealed": "", "tenantKey": ""}
    for verb in PETITIONS:
        for role in ROLES:
            with t.row(f"{verb} as {role}"):
                answers = [server.post("/api/petitions", {**whole, "verb": verb, "run": run, "tenant": tenant, "workflow": workflow}, key=key)
                           for key, run, tenant, workflow in zip(keys[role], (server.run, "c" * 21), ("acme", "nobody"), ("waiting", "none"))]
                t.true(400 <= answers[0].status < 500, f"it is refused: {answers[0]}")
                t.equal(told(answers[0], server), told(answers[1], server), "of another tenant, and of nobody")
    t.equal([server.get(f"/api/workflows/{tenant}/waiting").json() for tenant in ("acme", "other")], before)
    server.stop()
    counts, after = refusals(t, server)
    t.equal([r for r in after if r not in records and any(e["event"].startswith("revision") for e in r["events"])], [], "nothing was done")
    t.equal({role: counts.get("key:" + keys[role][0].split(".")[2]) for role in ROLES}, {role: len(PETITIONS) for role in ROLES}, "all are in the ledger")


@case("proves: F-003")
def a_credential_of_an_attempt_reaches_its_own_run_alone(t):
    server = prepare(t)
    server.define(HELLO.replace("workflow: hello", "workflow: hello\ntenant: other"), tenant="other")
    sibling = server.begin("hello", {"who": "x"}, namespace="other", wait="30s")["executionId"]
    credential = attempt(t, server, "held")
    own = server.get("/api/executions?namespace=other&workflowId=held").json()["items"][0]["executionId"]
    rows = [
        ("GET", f"/api/executions/{own}", None, 200), ("GET", f"/api/executions/{own}/steps", None, 200),
        ("GET", f"/api/executions/{own}/events", None, 200), ("GET", f"/api/executions/{own}/logs", None, 200),
        ("POST", "/api/signals", {"executionId": own, "name": "half", "kind": "milestone"}, 200),
        ("POST", f"/api/executions/{own}/cancel", {}, 403), ("POST", f"/api/executions/{own}/pause", {}, 403),
        ("GET", f"/api/executions/{sibling}", None, 404), ("POST", "/api/signals", {"executionId": sibling, "name": "x"}, 404),
        ("GET", "/api/executions", None, 404), ("GET", "/api/events", None, 404), ("GET", "/api/workflows", None, 404),
        ("POST", "/api/executions", {"workflowId": "hello"}, 404), ("GET", f"/api/executions/{server.run}", None, 404),
    ]
    for method, path, body, status in rows:
        with t.row(f"{method} {path}"):
            answer = server.call(method, path, body, key=credential)
            t.equal(answer.status, status, str(answer))
    t.equal(server.post(f"/api/executions/{own}/cancel", {}).status, 200)
    t.until(lambda: server.get(f"/api/executions/{own}").json()["state"] == "cancelled", "the attempt has ended")
    t.equal(server.get(f"/api/executions/{own}", key=credential).status, 401, "it ends with its attempt")


@case("proves: F-003")
def a_run_of_another_tenant_that_a_query_names_is_as_none_and_is_audited(t):
    server = prepare(t)
    server.define(HELLO.replace("workflow: hello", "workflow: hello\ntenant: other"), tenant="other")
    own = server.begin("hello", {"who": "x"}, namespace="other", wait="30s")["executionId"]
    keys = [server.key("operator", "other") for _ in range(2)]
    answers = [server.get(f"/api/executions/{own}/diff?with={other}", key=key) for key, other in zip(keys, (server.run, "c" * 21))]
    t.equal([a.status for a in answers], [404, 404])
    t.equal(told(answers[0], server), told(answers[1], server), "of another tenant's, and of nobody's")
    t.until(lambda: "key:" + keys[0].split(".")[2] in refusals(t, server)[0], "who asked for another's is in the ledger")


RUNNERS = """executors:
  acme-workers: { kind: worker, tenants: [acme], region: acme-land, runners: { acme/build: {}, greet: {} } }
  common: { kind: worker, runners: { greet: {} } }
"""
BUILD = "workflow: build\ntenant: {tenant}\njobs: {{ a: {{ tasks: [{{ run: {runner} }}] }} }}\n"


def exchange(server, executor, key, worker="w"):
    return server.post(f"/api/executors/{executor}/exchange", {"worker": worker, "want": 0}, key=key)


def executors(server, key):
    return {e["name"]: e for e in server.get("/api/executors", key=key).json()["items"]}


@case("proves: F-003 F-109 F-113")
def an_executor_of_another_tenant_is_as_one_that_there_is_not(t):
    server = Server(t, "--runners", t.write("runners.yaml", RUNNERS))
    server.run = "c" * 21
    with t.row("the list"):
        told_names = {tenant: sorted(executors(server, server.key("viewer", tenant))) for tenant in ("acme", "other", "*")}
        t.equal(told_names, {"acme": ["acme-workers", "common"], "other": ["common"], "*": ["acme-workers", "common"]})
    with t.row("an exchange"):
        worker = server.key("worker", "other")
        answers = [exchange(server, name, worker) for name in ("acme-workers", "nowhere")]
        t.equal([a.status for a in answers], [404, 404])
        t.equal(told(answers[0], server), told(answers[1], server), "of another tenant's, and of nobody's")
        t.equal(exchange(server, "acme-workers", server.key("worker", "acme")).status, 200)
        t.until(lambda: refusals(t, server)[0].get("key:" + worker.split(".")[2]) == 1, "who asked for another's is in the ledger")
    with t.row("metrics"):
        for key in ("", server.key("admin", "other")):
            text = server.get("/metrics", key=key).body.decode()
            t.lacks(text, "acme-workers")
            t.contains(text, 'maestro_executor_attempts{executor="*",kind="*"} 0')
            t.contains(text, 'maestro_executor_attempts{executor="common",kind="worker"} 0')
        text = server.get("/metrics", key=server.key("viewer", "*")).body.decode()
        t.contains(text, 'maestro_executor_attempts{executor="acme-workers",kind="worker"} 0')
        t.lacks(text, 'executor="*"')
    author = server.key("author", "other")

    def define(tenant, runner, key):
        sent = server.call("POST", "/api/workflows", BUILD.format(tenant=tenant, runner=runner), key=key, headers={"Content-Type": "application/yaml"})
        sent.body = sent.body.replace(runner.encode() + b": {", b"RUNNER: {")
        return sent
    with t.row("a definition"):
        for tenant in ("other", "acme"):
            answers = [define(tenant, runner, author) for runner in ("acme/build", "acme/bricks", "acme/buil")]
            t.equal(len({told(answer, server) for answer in answers}), 1, f"of another tenant's runner, and of nobody's: {answers}")
            t.contains(answers[0].body.decode(), "there is no runner 'acme/build'; register it in runners.yaml:")
        t.equal(define("acme", "acme/build", server.key("author", "acme")).status, 201)
        t.equal(define("acme", "acme/build", server.admin).status, 200)
        t.contains(define("acme", "acme/buil", server.key("author", "acme")).body.decode(), "did you mean 'acme/build'")
    with t.row("a dry run, and the reasons of a placement"):
        t.equal(define("other", "greet", author).status, 201)
        tried = server.post("/api/workflows/other/build/revisions/1/dry-run", {}, key=author).json()
        t.equal([step["executor"] for step in tried["steps"]], ["common"])
        t.equal(server.post("/api/workflows/other/build/revisions/1/activate", {}, key=author).status, 200)
        operator = server.key("operator", "other")
        run = server.post("/api/executions", {"workflowId": "build"}, key=operator).json()["executionId"]
        server.post("/api/executors/common/exchange", {"worker": "w", "want": 1, "wait_ms": 20000}, key=worker)
        events = server.get(f"/api/executions/{run}/events?limit=500", key=operator).body.decode()
        t.contains(events, "common ", "it is placed, with the reasons")
        t.lacks(events, "acme")


@case("proves: F-109 F-113")
def the_health_of_executors_is_told_by_workers_of_who_asks(t):
    server = Server(t, "--runners", t.write("runners.yaml", RUNNERS))
    acme, other = server.key("worker", "acme"), server.key("worker", "other")
    viewers = {tenant: server.key("viewer", tenant) for tenant in ("acme", "other", "*")}

    def health(name="common"):
        return {tenant: executors(server, key)[name]["health"] for tenant, key in viewers.items() if name in executors(server, key)}
    with t.row("a worker of another tenant makes it up for that one alone"):
        exchange(server, "common", other)
        t.equal(health(), {"acme": "silent", "other": "up", "*": "up"})
    with t.row("one that was refused is no sign of life"):
        exchange(server, "acme-workers", other)
        t.equal(health("acme-workers"), {"acme": "silent", "*": "silent"})
    with t.row("no tenant has a worker of another one forgotten"):
        exchange(server, "acme-workers", acme)
        for i in range(1100):
            exchange(server, "nowhere" if i % 2 else "common", other, worker=f"w{i}")
        t.equal(health("acme-workers"), {"acme": "up", "*": "up"})
        t.equal(len(executors(server, viewers["acme"])["acme-workers"]["workers"]), 1)
        t.equal(len(executors(server, viewers["other"])["common"]["workers"]), 256, "of its own it has its share")
    with t.row("a worker of every tenant works for each"):
        exchange(server, "common", server.key("worker", "*"))
        t.equal(health(), {"acme": "up", "other": "up", "*": "up"})


if __name__ == "__main__":
    main()
