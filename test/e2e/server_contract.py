#!/usr/bin/env python3
"""The served /openapi.json as a contract: every operation is called with what its schemas permit and with what they do not.

Whatever is sent, the answer has a status that is documented for the operation and below 500, its body is as the schema of that status
says, and an error is a problem. What is sent is made of the document and a seed, so that a failure can be repeated."""
import json
import os
import random
import re
import socket
from urllib.parse import quote

from maestro_test import case, main
from schema_test import is_kind, resolve, violations
from server_test import HELLO, Server

SEED = int(os.environ.get("MAESTRO_SEED", "20261117"))
ROUNDS = int(os.environ.get("MAESTRO_ROUNDS", "12"))

RUNNERS = "executors:\n  far:\n    kind: worker\n    runners: { pack: {} }\npolicies: { calm: { file: calm.rego, phases: [pre-flight] } }\n"

FAILING = """workflow: fails
jobs:
  a:
    tasks:
      - { name: one, log: "one" }
      - { name: two, run: shell, args: ["sh", "-c", "exit 65"], retries: { attempts: 1 } }
"""

WAITING = """workflow: waits
triggers: [{ schedule: "0 1 * * *" }, { webhook: { key: hook, auth: { api_key: true } } }, { webhook: { key: bearing, auth: { bearer: true } } }]
jobs:
  a:
    tasks:
      - name: ask
        log: "asked"
        pause_after: { trigger: approval, timeout: 1h, auth: { api_key: true } }
      - { name: after, log: "after" }
"""

GATED = """workflow: gated
jobs:
  a:
    tasks:
      - { name: held, log: "on", wait_for_signal: { signal: go, timeout: 1h } }
"""

UNDOING = """workflow: undoing
jobs:
  a:
    tasks:
      - { name: done, run: noop, compensation: { run: shell, args: ["sh", "-c", "exit 65"], retries: { attempts: 1 } } }
      - { name: two, run: shell, args: ["sh", "-c", "exit 65"], retries: { attempts: 1 } }
"""

BEARING = """workflow: bearing
jobs: { a: { tasks: [{ name: ask, log: "asked", pause_after: { trigger: approval, timeout: 1h, auth: { bearer: true } } }] } }
"""

COLD = "workflow: cold\ntriggers: [{ schedule: { cron: '0 1 * * *', freeze_windows: ['Jan 1..Dec 31'] } }]\njobs: { a: { tasks: [{ log: x }] } }\n"
MADE = "workflow: made\njobs: { a: { tasks: [{ name: list, run: noop, input: { output: [1, 2] } }] } }\n"

# In which state an execution has to be for each to succeed; of a name with a verb behind it, after that was asked.
FITTING = {"execution_pause": ("gated",), "petition": ("gated",), "execution_resume": ("gated", "pause"), "execution_cancel": ("waits",), "execution_resolve": ("fails",),
           "execution_retry_from": ("fails",), "execution_compensate": ("undoing",), "execution_approve": ("waits",), "decisions": ("fails",),
           "signals": ("gated",), "execution_placement": ("gated",), "trigger": ("waits",), "execution_retry_compensation": ("undoing", "compensate"),
           "execution_skip_compensation": ("undoing", "compensate")}

# Members that exclude one another: each is right, and not all of them together.
PLAIN = {"execution_compensate": {"reason": "why not"}, "execution_resolve": {"decision": "RETRY"}, "execution_skip_compensation": {"reason": "why not", "remaining": True},
         "exchange": {"worker": "w", "want": 1, "wait_ms": 0},
         "runbooks": {"name": "letters", "description": "Letters", "artifacts": {"list": {"source": {"type": "filesystem"}}}}}

# A definition is more than its schema says, a worker's wishes are cut to what it may have, and a petition is read member by member.
LENIENT = {"workflow_create", "revision_create", "runbooks", "exchange", "petition"}

NASTY = ["", "x", "0", "-1", "99999999999999999999", "1.5", "null", "a b", "%", "..", "'", "\"", "\u0000", "\ud7ff\U0001f600", "x" * 300, "é",
         "*", "default", "sha256:00", "1,2", "2026-11-16T01:25:00.000Z", "task:a.one", "hello"]


class Contract:
    """Values by the schemas of a document: right ones, and ones with exactly something wrong."""

    def __init__(self, document, chance, known):
        self.document, self.chance, self.known = document, chance, known

    def anything(self, depth=0):
        makers = [lambda: None, lambda: True, lambda: self.chance.randrange(-2**62, 2**62), lambda: self.chance.choice(NASTY), lambda: 1.5e300,
                  lambda: [], lambda: {}, lambda: [self.anything(depth + 1) for _ in range(3)],
                  lambda: {self.chance.choice(NASTY): self.anything(depth + 1) for _ in range(3)}]
        return makers[self.chance.randrange(9 if depth < 3 else 7)]()

    def right(self, schema, name=""):
        if schema.get("$ref", "").endswith("/Definition"):
            return {"definition": HELLO.replace("hello $", f"hello {self.chance.randrange(10**9)} $")}
        schema = resolve(self.document, schema)
        known = [value for value in self.known.get(name, []) if not violations(self.document, schema, value)]
        if known:
            return self.chance.choice(known)
        for word in ("anyOf", "oneOf"):
            if word in schema:
                return self.right(self.chance.choice(schema[word]), name)
        if "enum" in schema:
            return self.chance.choice(schema["enum"])
        kinds = schema.get("type", "string")
        kind = kinds if isinstance(kinds, str) else self.chance.choice(kinds)
        if kind == "object":
            members = {key: self.right(inner, key) for key, inner in schema.get("properties", {}).items()
                       if key in schema.get("required", []) or self.chance.randrange(2)}
            return members
        if kind == "array":
            low = schema.get("minItems", 0)
            return [self.right(schema.get("items", {}), name) for _ in range(self.chance.randrange(low, max(low, min(3, schema.get("maxItems", 3))) + 1))]
        if kind == "integer":
            low = schema.get("minimum", 0)
            return self.chance.choice([low, min(schema.get("maximum", low + 5), low + self.chance.randrange(5))])
        return {"boolean": self.chance.random() < 0.5, "null": None, "number": 1.5}.get(kind, self.chance.choice(["hello", "a.one", "why not"]))

    def members(self, schema):
        """Names of all that an object of it may have, of whichever of several kinds."""
        schema = resolve(self.document, schema)
        return set(schema.get("properties", {})).union(*(self.members(one) for word in ("anyOf", "oneOf") for one in schema.get(word, [])))

    def wrong(self, schema):
        """A right value with one place changed into anything; by chance that is right, too."""
        value = self.right(schema)
        if not isinstance(value, dict) or not self.chance.randrange(4):
            return self.anything()
        names = sorted(self.members(schema))
        how = self.chance.randrange(3)
        if how == 0 and value:
            del value[self.chance.choice(sorted(value))]
        elif how == 1 and names:
            value[self.chance.choice(names)] = self.anything()
        else:
            value[self.chance.choice(NASTY) or "unknown"] = self.anything()
        return value

    def parameter(self, parameter, is_right):
        value = self.right(parameter["schema"], parameter["name"]) if is_right else self.chance.choice(NASTY)
        return quote(str(value), safe="")


def check(t, document, operation, answer, what):
    with t.row(what):
        described = operation["responses"].get(str(answer.status))
        if not t.true(described is not None, f"{answer.status} is documented: {answer}"):
            return
        t.true(answer.status < 500, f"no failure of the server: {answer}")
        described = resolve(document, described)
        for name, header in described.get("headers", {}).items():
            t.true(not header.get("required") or answer.headers.get(name), f"it has the header {name}: {answer}")
        kind = answer.headers.get("Content-Type", "").split(";")[0]
        if not described.get("content"):
            t.equal(answer.body, b"", "the body of an answer that has none")
            return
        if answer.status >= 400:
            t.equal(kind, "application/problem+json", "the type of an error")
        if kind.endswith("json"):
            schema = described["content"].get(kind, {}).get("schema")
            t.true(schema is not None, f"{kind} is documented for {answer.status}")
            t.equal(violations(document, schema or {}, answer.json())[:3], [], f"the body is as its schema says: {answer}")
            if answer.status >= 400:
                t.equal(answer.json()["status"], answer.status, "the status in the body")


def begin(t):
    t.write("calm.rego", "package maestro.calm\n\nallow := true\n")
    server = Server(t, "--runners", t.write("runners.yaml", RUNNERS))
    for text in (HELLO, FAILING, WAITING, GATED, UNDOING, MADE):
        server.define(text)
    runs = [server.begin("hello", {"who": "x"}, wait="30s"), server.begin("fails", wait="30s"), server.begin("waits", wait="30s"),
            server.begin("undoing", wait="30s")]
    ids = [run["executionId"] for run in runs]
    known = {"executorId": ["far"], "query": ["RUNS", "PLANS", "RUN_BY_ID"], "tenant": ["default"], "namespace": ["default"],
             "workflow": ["waits"], "trigger": ["hook", "approval"], "executionId": ids, "executionIds": [ids], "workflow_id": ids,
             "trigger_key": ["approval"], "workflowId": ["hello", "fails", "waits"], "version": [1], "type": ["invalid", "not-found"],
             "file": ["icon.svg", "style.css"], "artifactId": ["a.done"], "approved": [True], "scope": ["FULL"], "mode": ["RETRY_ONLY"], "name": ["go"],
             "parameters": [{}], "cursor": [""], "wait": ["0"], "step": ["a.one", "a.two", "greet.say"], "steps": [["a.one"]],
             "attempts": ["1,2"], "with": ids, "at": ["1", "3"], "node": ["task:a.one", "run:" + ids[1]], "from": ["2026-12-24T12:00:00.000Z"],
             "definition": [HELLO], "keyId": ["cccccccc"], "expiresAt": ["2099-01-31T00:00:00.000Z", None], "idempotencyKey": ["k1", "k2"], "wait_ms": [0], "worker": ["w"], "params": [[], [1]]}
    return server, server.get("/openapi.json").json(), known


def operations(document):
    for path, methods in sorted(document["paths"].items()):
        for method, operation in sorted(methods.items()):
            if operation["operationId"] != "events":            # a stream that does not end: server.py reads it
                yield path, method.upper(), operation


def fit(server, operation):
    """What stands for names in this call, so that it finds what it is for."""
    name = operation["operationId"]
    if name in FITTING:
        workflow, *verbs = FITTING[name]
        server.define({"gated": GATED, "waits": WAITING, "fails": FAILING, "undoing": UNDOING}[workflow])      # another call may have deactivated it
        run = server.begin(workflow, wait="0" if workflow == "gated" else "30s")["executionId"]
        if workflow == "gated":
            server.t.until(lambda: server.get("/api/executions/" + run).json()["state"] == "waiting-signal", "it waits")
        for verb in verbs:
            server.post(f"/api/executions/{run}/{verb}", {"reason": "for the next"})
        if workflow == "undoing" and verbs:
            server.t.until(lambda: server.get("/api/executions/" + run).json()["state"] == "compensation-failed", "it cannot be undone")
        return {"executionId": [run], "executionIds": [[run]], "workflow_id": [run], "run": [run], "verb": ["pause"], "steps": [["a.one"]], "step": ["a.two"]}
    if name in ("key", "key_revoke"):
        return {"keyId": [server.post("/api/keys", {"role": "viewer"}).json()["id"]]}
    if name == "secret_remove":
        server.call("PUT", "/api/secrets/go", {"value": "x"})
        return {"name": ["go"]}
    if name == "execution_token":
        server.define(BEARING)
        return {"executionId": [server.begin("bearing", wait="30s")["executionId"]], "trigger": ["approval"]}
    if name == "hook":
        server.define(WAITING)
        return {"trigger": ["hook"]}
    if name == "workflow_token":
        server.define(WAITING)
        return {"workflowId": ["waits"], "trigger": ["bearing"]}
    if name == "artifact":
        server.define(MADE)
        return {"executionId": [server.begin("made", wait="30s")["executionId"]], "artifactId": ["a.list"]}
    if name.startswith("override_"):
        server.define(COLD)
        (schedule,) = server.get("/api/schedules?workflowId=cold&count=1").json()["items"]
        at = schedule["next"][0]["at"]
        if name == "override_remove":
            server.post("/api/schedules/override", {"workflowId": "cold", "at": at, "reason": "for the next"})
            return {"workflowId": ["cold"], "at": [at], "trigger": [0], "_always": ["workflowId", "at"]}
        return {"workflowId": ["cold"], "at": [at], "trigger": [0]}
    if name == "review_create":
        policy = server.get("/api/policies").json()["items"][0]
        return {"policy": [policy["name"]], "digest": [policy["digest"]], "reviewer": ["ana"]}
    if name == "revision_delete":
        made = server.call("POST", "/api/workflows", HELLO.replace("hello $", "to be deleted $"), headers={"Content-Type": "application/yaml"})
        return {"workflowId": ["hello"], "version": [made.json()["revisionId"]["version"]]}
    if name == "revision_create":
        return {"workflowId": ["hello"]}
    return {}


def call(server, contract, path, method, operation, is_right, key):
    known = contract.known
    if is_right and key == server.admin:
        contract.known = {**known, **fit(server, operation)}
    try:
        return call_known(server, contract, path, method, operation, is_right, key)
    finally:
        contract.known = known


def call_known(server, contract, path, method, operation, is_right, key):
    chance = contract.chance
    where = {p["name"]: contract.parameter(p, is_right or chance.randrange(3)) for p in operation["parameters"] if p["in"] == "path"}
    where = {name: value or "x" for name, value in where.items()}
    query = "&".join(f"{p['name']}={contract.parameter(p, is_right or chance.randrange(2))}" for p in operation["parameters"]
                     if p["in"] == "query" and (p["name"] in contract.known.get("_always", ()) or chance.randrange(2)))
    content = operation.get("requestBody", {}).get("content", {})
    schema = content.get("application/json", {}).get("schema")
    headers, body = {}, None
    if schema is not None:
        body = contract.right(schema) if is_right else contract.wrong(schema)
        if is_right and operation["operationId"] in PLAIN and not chance.randrange(2):
            body = PLAIN[operation["operationId"]]
        body, headers = json.dumps(body), {"Content-Type": "application/json"}
        if not is_right and not chance.randrange(6):
            body = chance.choice(["{", "[1,", "nul", "\"\\ud800\"", "{\"a\":1}{", "", "[" * 5000, "1" * 5000])
        if not is_right and not chance.randrange(10):
            headers = {"Content-Type": chance.choice(["text/plain", "application/xml", "nonsense"])}
    if not is_right and not chance.randrange(8):
        headers["Idempotency-Key"] = chance.choice(["k", "x" * 200, "k2"])
    target = path.format(**where) + ("?" + query if query else "")
    answer = server.call(method, target, body, key=key, headers=headers)
    return answer, f"{method} {target} {body!r:.300} {headers} as {key and key[:12]}"


@case("proves: R-085 R-015")
def every_operation_answers_as_its_document_says_whatever_is_sent(t):
    server, document, known = begin(t)
    contract = Contract(document, random.Random(), known)
    keys = [server.admin, server.key("viewer"), server.key("operator", "other"), server.key("author"), "", "nonsense"]
    seen = {}
    for path, method, operation in operations(document):
        statuses = seen.setdefault(operation["operationId"], set())
        contract.chance.seed(f"{SEED} {operation['operationId']}")      # of its own, so that one more operation changes no other
        for round_ in range(ROUNDS + 20):
            if round_ >= ROUNDS and any(status < 400 for status in statuses):
                break
            key = server.admin if round_ < 2 * ROUNDS // 3 or round_ >= ROUNDS else contract.chance.choice(keys)
            answer, what = call(server, contract, path, method, operation, round_ % 2 == 0, key)
            statuses.add(answer.status)
            check(t, document, operation, answer, what)
    silent = sorted(name for name, statuses in seen.items() if not any(status < 400 for status in statuses))
    for path in sorted(document["paths"]):
        answer = server.call("PATCH", path.replace("{", "").replace("}", ""))
        with t.row("PATCH " + path):
            t.equal((answer.status, answer.headers.get("Content-Type")), (405, "application/problem+json"), "a method that is not there")
            t.true(answer.headers.get("Allow"), "those that are there are told")
    t.equal(silent, ["callback"], "every operation has succeeded; a token that a callback needs is told to a service alone")
    t.equal(server.stop().code, 0, "the server ends as it should")


def is_forbidden(document, schema, text):
    """Whether the schema of a parameter forbids a text of the query."""
    if "anyOf" in schema:
        return all(is_forbidden(document, one, text) for one in schema["anyOf"])
    if schema.get("format") == "date-time":
        return not re.fullmatch(r"\d{4}-\d\d-\d\dT\S+", text)
    if schema.get("type") == "integer":
        return not re.fullmatch("[0-9]+", text) or bool(violations(document, schema, int(text)))
    return bool(violations(document, schema, text))


@case("proves: R-085")
def what_a_schema_forbids_is_refused(t):
    server, document, known = begin(t)
    contract = Contract(document, random.Random(), known)
    for path, method, operation in operations(document):
        contract.chance.seed(f"{SEED} forbidden {operation['operationId']}")
        contract.known = {**known, **fit(server, operation)}
        where = {p["name"]: contract.parameter(p, True) or "x" for p in operation["parameters"] if p["in"] == "path"}
        schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        target = path.format(**where)
        query = [(p, text) for p in operation["parameters"] if p["in"] == "query" for text in NASTY if is_forbidden(document, p["schema"], text)]
        for parameter, text in query:
            answer = server.call(method, f"{target}?{parameter['name']}={quote(text)}", "{}" if method == "POST" else None)
            with t.row(f"{method} {target}?{parameter['name']}={text!r:.50}"):
                t.true(400 <= answer.status < 500, f"what the query must not be is refused: {answer}")
        for _ in range(0 if operation["operationId"] in LENIENT else 4 * ROUNDS):
            body = contract.wrong(schema)
            if not violations(document, schema, body):
                continue
            answer = server.call(method, target, json.dumps(body), headers={"Content-Type": "application/json"})
            with t.row(f"{method} {target} {json.dumps(body):.300}"):
                t.true(400 <= answer.status < 500, f"what the body must not be is refused: {answer}")


@case("")
def what_a_request_has_to_have_is_what_the_document_says_it_has_to(t):
    server, document, known = begin(t)
    contract = Contract(document, random.Random(SEED), known)
    for path, method, operation in operations(document):
        contract.known = {**known, **fit(server, operation), "executorId": ["none"]}
        where = {p["name"]: contract.parameter(p, True) or "x" for p in operation["parameters"] if p["in"] == "path"}
        target = path.format(**where)
        if "requestBody" in operation and operation["operationId"] != "callback":         # it is looked at for who has the token alone
            with t.row(f"{method} {path} without a body"):
                answer = server.call(method, target, "", headers={"Content-Type": "application/json"})
                if operation["requestBody"]["required"]:
                    t.equal(answer.status, 400, f"it is refused: {answer}")
                else:
                    t.true(answer.status != 400, f"it is no mistake: {answer}")
        needed = {p["name"]: contract.right(p["schema"], p["name"]) for p in operation["parameters"] if p["in"] == "query" and p["required"]}
        for name in needed:
            with t.row(f"{method} {path} without {name}"):
                query = "&".join(f"{other}={quote(value)}" for other, value in needed.items() if other != name)
                t.true(server.call(method, f"{target}?{query}").status in (400, 404, 422), "it is refused")


@case("proves: R-085")
def no_answer_is_documented_that_no_type_of_error_has(t):
    document = Server(t).get("/openapi.json").json()
    kinds = set(re.findall(r"`\]\([a-z-]+\.md\) \| (\d{3}) \|", open("docs/errors/README.md", encoding="utf-8").read()))
    t.true({"400", "404", "409"} <= kinds, f"the types: {kinds}")
    for path, method, operation in operations(document):
        with t.row(f"{method} {path}"):
            t.equal({status for status in operation["responses"] if status >= "4"} - kinds, set(), "statuses of no error")


@case("")
def whole_numbers_are_integers_however_they_are_written(t):
    server, _, _ = begin(t)
    for text, status in (("1", 201), ("1.0", 201), ("1e0", 201), ("10E-1", 201), ("1.5", 400), ("2", 404), ("0", 400), ("4294967296", 400), ("1e300", 400), ("true", 400)):
        with t.row(text):
            body = '{"workflowId": "hello", "parameters": {"who": "x"}, "version": %s}' % text
            answer = server.call("POST", "/api/executions", body, headers={"Content-Type": "application/json"})
            t.equal(answer.status, status, f"the answer: {answer}")


@case("proves: R-084")
def a_name_that_is_shown_in_part_ends_with_a_whole_character(t):
    server, _, _ = begin(t)
    for at in range(4):
        name = "a" * at + "\u4e8b" * 80
        key = "workflow: w\njobs: { a: { tasks: [{ name: s, run: noop, %s: 1 }] } }\n" % name
        step = "workflow: w\njobs: { a: { tasks: [{ name: %s, run: noop }] } }\n" % name
        runner = "workflow: w\njobs: { a: { tasks: [{ name: s, run: %s }] } }\n" % name
        cron = "workflow: w\ntriggers: [{ schedule: '@%s' }]\njobs: { a: { tasks: [{ name: s, run: noop }] } }\n" % name
        rows = [("POST", "/api/plans", {"definition": text}) for text in (key, step, runner, cron)]
        for method, path, body in rows + [("PUT", "/api/secrets/" + quote(name), {"value": "x"})]:
            with t.row(f"{at} {method} {str(body)[:90]}"):
                answer = server.call(method, path, body)
                text = answer.body if isinstance(answer.body, str) else answer.body.decode()
                t.contains(text, "\u4e8b", "what is wrong is shown")


@case("")
def the_pattern_of_a_request_key_is_what_the_server_takes(t):
    server, document, _ = begin(t)
    (schema,) = [p["schema"] for p in document["paths"]["/api/executions"]["post"]["parameters"] if p["name"] == "Idempotency-Key"]
    for number, key in enumerate(("k", "a b", "a  b", "!~", "x" * 127, "x" * 128, "", " ", "{}")):
        with t.row(repr(key)[:30]):
            answer = server.post("/api/executions", {"workflowId": "hello", "parameters": {"who": str(number)}}, headers={"Idempotency-Key": key})
            t.equal(answer.status in (200, 201), not violations(document, schema, key), f"the document, and the server: {answer}")
            answer = server.post("/api/plans", {"definition": HELLO}, headers={"Idempotency-Key": key})
            t.equal(answer.status == 200, not violations(document, schema, key), f"also where nothing is done: {answer}")


@case("")
def what_the_document_promises_is_whole(t):
    document = Server(t).get("/openapi.json").json()
    used = set()

    def walk(place):
        if isinstance(place, dict):
            if "$ref" in place:
                used.add(place["$ref"])
                resolve(document, place)
            for inner in place.values():
                walk(inner)
        elif isinstance(place, list):
            for inner in place:
                walk(inner)

    walk(document["paths"])
    before = -1
    while before != len(used):
        before = len(used)
        for name in list(used):
            walk(resolve(document, {"$ref": name}))
    schemas = {"#/components/schemas/" + name for name in document["components"]["schemas"]}
    t.equal(sorted(schemas - used), [], "schemas that nothing uses")
    for path, method, operation in operations(document):
        with t.row(f"{method} {path}"):
            for parameter in operation["parameters"]:
                t.true(parameter["description"] and is_kind(parameter["schema"], "object"), f"{parameter['name']} is described")
            t.true(operation["summary"] and operation["description"], "it says what it does")
            t.true(any(status.startswith("2") for status in operation["responses"]), "it says what a success is")


@case("proves: R-084")
def what_is_refused_of_every_address_is_documented_of_every_address(t):
    server = Server(t)
    document = server.get("/openapi.json").json()
    heads = [("two hosts", "GET {} HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400"),
             ("a large head", "GET {} HTTP/1.1\r\nHost: a\r\nX-Large: " + "x" * 17000 + "\r\n\r\n", "431"),
             ("a large body", "GET {} HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n", "413"),
             ("another method", "PATCH {} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "405")]
    for path in ("/healthz", "/readyz", "/metrics", "/openapi.json", "/", "/ui/style.css", "/errors/invalid", "/api"):
        template = {"/ui/style.css": "/ui/{file}", "/errors/invalid": "/errors/{type}"}.get(path, path)
        for name, head, status in heads:
            with t.row(f"{path}: {name}"), socket.create_connection(("127.0.0.1", server.port), timeout=60) as link:
                link.sendall(head.format(path).encode())
                t.equal(link.recv(65536).split(b" ")[1].decode(), status, "the answer")
                t.true(status in document["paths"][template]["get"]["responses"], f"{status} is documented")
    t.equal([f"{method} {path}" for path, methods in document["paths"].items() for method, operation in methods.items()
             if not {"400", "405", "413", "431", "500", "503"} <= set(operation["responses"])], [], "operations that are not documented to be refused")


@case("proves: R-095")
def the_pattern_of_wait_is_what_the_server_takes(t):
    server = Server(t)
    server.define(HELLO)
    run = server.begin("hello", {"who": "x"}, wait="30s")["executionId"]
    operation = server.get("/openapi.json").json()["paths"]["/api/executions/{executionId}"]["get"]
    pattern = next(p for p in operation["parameters"] if p["name"] == "wait")["schema"]["pattern"]
    for text in ("0", "5", "05", "30", "31", "5s", "30s", "31s", "500ms", "0ms", "00500ms", "29999ms", "30000ms", "30001ms", "99999ms", "5m", "s", "ms", "-1",
                 "+5", "1.5s", "5 s", "5S", "0x5"):
        with t.row(text):
            is_taken = server.get(f"/api/executions/{run}?wait={quote(text)}").status == 200
            t.equal(bool(re.search(pattern, text)), is_taken, "the document, and the server")


if __name__ == "__main__":
    main()
