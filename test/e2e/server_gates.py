#!/usr/bin/env python3
"""What a server does not let through by itself: programs of authors, runners that nobody has, requests beyond what was said."""
import base64
import hmac
import json
import time

from maestro_test import USER, case, main
from server_test import Answer, HELLO, Server, problem

THIEF = """workflow: thief
tenant: acme
jobs:
  a:
    tasks:
      - { name: steal, run: shell, args: ["sh", "-c", "cat '%s.admin-key'"] }
"""


def list_number(tenant, path):
    """As the server names a list without filters in its cursors."""
    number = 0xcbf29ce484222325
    for byte in tenant.encode() + b"\xff" + path.encode() + b"\xff":
        number = (number ^ byte) * 0x100000001b3 % 2 ** 64
    return (number ^ number >> 32) % 2 ** 32


def refused_definition(t, server, text, *parts):
    answer = server.call("POST", "/api/workflows?namespace=acme", text, headers={"Content-Type": "application/yaml"})
    body = problem(t, answer, 400, "definition-invalid")
    for part in parts:
        t.contains("\n".join(error["detail"] for error in body["errors"]), part)
    return body


@case("proves: F-003 F-103 F-113")
def an_author_runs_no_program_of_his_own_unless_the_operator_permits_it(t):
    server = Server(t, shell=False)
    author = server.key("author", "acme")
    text = THIEF % server.store
    answer = server.call("POST", "/api/workflows?namespace=acme", text, key=author, headers={"Content-Type": "application/yaml"})
    body = problem(t, answer, 400, "definition-invalid")
    for part in ("shell", "maestro server --shell", "shell: true"):
        t.contains(str(body), part, "how it is turned on")
    t.equal(server.stop().code, 0)
    for settings in (("--shell",), ("--config", t.write("server.yaml", "shell: true\n"))):
        with t.row(settings[0]):
            server = Server(t, *settings, shell=False)
            server.define(text, tenant="acme")
            made = server.begin("thief", wait="20s", namespace="acme")
            t.equal(made["status"], "COMPLETED", "the operator has permitted it")
            t.equal(server.stop().code, 0)
    # What was stored while it was permitted is not started without it.
    server = Server(t, shell=False)
    again = server.post("/api/executions", {"workflowId": "thief", "namespace": "acme"})
    t.equal(again.status, 400, again)
    for part in ("a.steal", "'shell'", "maestro server --shell", "shell: true"):
        t.contains(again.json()["detail"], part)


@case("proves: F-113")
def a_runner_of_the_operators_may_be_called_shell(t):
    runners = t.write("runners.yaml", "executors: { box: { kind: process, runners: { shell: { command: [echo, boxed] } } } }\n")
    server = Server(t, "--runners", runners, shell=False)
    server.define(THIEF % server.store, tenant="acme")
    made = server.begin("thief", wait="20s", namespace="acme")
    logs = server.get(f"/api/executions/{made['executionId']}/logs")
    t.contains(str(logs.json()), "boxed sh -c", "the program of the operator was run")
    t.lacks(str(logs.json()), server.admin)


@case("proves: F-103 F-113")
def a_program_gets_no_variable_of_the_server(t):
    runners = t.write("runners.yaml", "executors: { here: { kind: process, runners: { look: { command: [sh, -c, env] } } } }\n")
    secrets = {"MAESTRO_TOKEN": "mk.planted-token", "MAESTRO_CA": "planted-ca", "AWS_SECRET_ACCESS_KEY": "planted-cloud",
               "OTEL_EXPORTER_OTLP_HEADERS": "authorization=planted-otlp", "MAESTRO_STORE": "planted-store", "CREDENTIALS_DIRECTORY": "/planted"}
    server = Server(t, "--runners", runners, env=secrets)
    server.define("workflow: look\njobs: { a: { tasks: [{ name: b, run: look }] } }\n")
    made = server.begin("look", wait="20s")
    lines = [line["text"] for line in server.get(f"/api/executions/{made['executionId']}/logs").json()["items"]]
    t.lacks("\n".join(lines), "planted")
    t.lacks("\n".join(lines), server.admin)
    names = {line.split("=")[0] for line in lines if "=" in line}
    t.true("MAESTRO_RUN" in names, f"the variables were seen: {names}")
    others = {name for name in names if not name.startswith("MAESTRO_")} - {"PATH", "HOME", "LANG", "TZ", "PWD", "SHLVL", "_", "OLDPWD"}
    t.equal(others, set(), "variables that nobody has named")


@case("proves: F-092")
def a_runner_that_nobody_offers_is_refused_and_never_pretended(t):
    server = Server(t, shell=False)
    for runner in ("helm-rollback", "mail/send"):
        with t.row(runner):
            refused_definition(t, server, f"workflow: w\ntenant: acme\njobs: {{ a: {{ tasks: [{{ name: b, run: {runner} }}] }} }}\n",
                               f"there is no runner '{runner}'", "runners.yaml")
    worker = t.maestro("worker", "--help")
    t.contains(worker.out, "--shell")


# --- what is wrong with a definition ------------------------------------------------------------------------------------


@case("proves: F-092")
def a_mistake_in_a_definition_has_its_pointer(t):
    server = Server(t)
    wrong = {"workflow": "w", "jobs": {"a": {"tasks": [{"name": "one", "lgo": "x"}]}, "b/c~d": {"needs": ["nobody"], "tasks": [{"run": "nothing"}]}}}
    yaml = "workflow: w\njobs:\n  a: { tasks: [{ name: one, lgo: x }] }\n  b/c~d: { needs: [nobody], tasks: [{ run: nothing }] }\n"
    for text, kind in ((json.dumps(wrong), "application/json"), (yaml, "application/yaml"), (json.dumps({"definition": yaml}), "application/json")):
        with t.row(kind):
            answer = server.call("POST", "/api/workflows", text, headers={"Content-Type": kind})
            body = problem(t, answer, 400, "definition-invalid")
            pointers = {error["pointer"] for error in body["errors"]}
            for wanted in ("/jobs/a/tasks/0/lgo", "/jobs/b~1c~0d/needs/0", "/jobs/b~1c~0d/tasks/0/run"):
                t.true(wanted in pointers, f"{wanted} is among {sorted(pointers)}")
            t.true(all(error["detail"] and error["line"] for error in body["errors"]), "each has text and line")
    check = server.call("POST", "/api/runbooks?action=validate", "name: r\nartifacts: { a: { sorce: {} } }\n", headers={"Content-Type": "application/yaml"})
    t.true(any(found["pointer"].startswith("/artifacts/a") for found in check.json()["diagnostics"]), check)


# --- triggers -----------------------------------------------------------------------------------------------------------

HOOKED = """workflow: %s
tenant: %s
triggers:
  - webhook: { key: %s, auth: %s, rate_limit: %s, replay_window: 5m, debounce: %s }
jobs:
  a: { tasks: [{ name: say, run: noop }] }
"""


def signed(value, path, body, at):
    text = f"{at}\nPOST\n{path}\n".encode() + body
    return {"X-Maestro-Timestamp": str(at), "X-Maestro-Signature": "sha256=" + hmac.new(value.encode(), text, "sha256").hexdigest()}


@case("proves: F-003 F-050")
def webhooks_of_one_tenant_leave_those_of_another_theirs(t):
    server = Server(t)
    for tenant in ("acme", "other"):
        server.define(HOOKED % ("w", tenant, "order", "{ hmac: hook }", "200/s", "1h"), tenant=tenant)
        t.require(t.maestro("secret", "set", "hook", "--tenant", tenant, "--store", "sqlite:" + server.store, stdin="s3cret").code == 0, "the secret is set")

    begin = int(time.time())

    def send(tenant, number):
        body, path = b'{"n":%d}' % number, f"/maestro/hooks/{tenant}/w/order"
        return server.call("POST", path, body, key="", headers=signed("s3cret", path, body, begin))
    taken = 0
    while taken < 4200:                         # more than were remembered of all tenants together once
        answer = send("acme", taken)
        if answer.status == 429 and "rate_limit" in answer.json()["detail"]:
            time.sleep(0.05)
            continue
        t.require(answer.status == 202, f"request {taken}: {answer}")
        taken += 1
    t.equal(send("other", 1).status, 202, "the other tenant")
    t.equal(send("other", 1).status, 401, "and a replay is one")
    t.equal(send("acme", 1).status, 401, "the first one, too, is remembered")


@case("proves: F-050")
def a_trigger_that_could_not_remember_what_comes_is_refused(t):
    server = Server(t)
    body = refused_definition(t, server, HOOKED % ("w", "acme", "k", "{ hmac: hook }", "1000/s", "0s"), "TRIGGER_REPLAY_COUNT_MAX", "rate_limit of 217")
    t.equal(body["errors"][0]["pointer"], "/triggers/0/webhook/rate_limit")


@case("proves: F-050 F-006 F-048")
def what_is_not_signed_has_its_window_as_well(t):
    server = Server(t)
    server.define(HOOKED % ("w", "acme", "k", "{ api_key: true }", "60/m", "0s"), tenant="acme")
    key, now = server.key("operator", "acme"), int(time.time())
    rows = [
        ("nothing that tells one from another", {}, 202), ("a second is another", {}, 202),
        ("too old", {"X-Maestro-Timestamp": str(now - 301)}, 401), ("too far ahead", {"X-Maestro-Timestamp": str(now + 400)}, 401),
        ("no time", {"X-Maestro-Timestamp": "noon"}, 401), ("a time", {"X-Maestro-Timestamp": str(now)}, 202),
        ("the same body of the same time", {"X-Maestro-Timestamp": str(now)}, 401),
        ("a delivery", {"X-GitHub-Delivery": "d1"}, 202), ("the same delivery", {"X-GitHub-Delivery": "d1"}, 401),
        ("another", {"Webhook-Id": "d1"}, 202), ("the same", {"Webhook-Id": "d1"}, 401),
        ("with an old date", {"Idempotency-Key": "i0", "X-Maestro-Timestamp": str(now - 301)}, 401),
    ]
    for name, headers, status in rows:
        with t.row(name):
            answer = server.call("POST", "/maestro/hooks/acme/w/k", b'{"n":1}', key=key, headers=headers)
            t.equal(answer.status, status, answer)
    first, again = (server.call("POST", "/maestro/hooks/acme/w/k", b'{"n":1}', key=key, headers={"Idempotency-Key": "i1"}).json() for _ in range(2))
    t.equal((again.pop("repeated"), first.pop("repeated")), (True, False))
    t.equal(first, again, "with an Idempotency-Key the answer is that of the first")
    t.equal(len(server.get("/api/executions?namespace=acme&workflowId=w").json()["items"]), 6, "what was started")


@case("proves: F-049")
def the_rate_of_a_trigger_with_long_names_holds(t):
    server = Server(t)
    tenant, workflow, name = ("t" * 128, "w" * 128, "k" * 128)
    server.define(HOOKED % (workflow, tenant, name, "{ api_key: true }", "2/h", "0s"), tenant=tenant)
    send = lambda: server.call("POST", f"/maestro/hooks/{tenant}/{workflow}/{name}", b"{}").status
    t.equal([send() for _ in range(4)], [202, 202, 429, 429])


@case("proves: F-049")
def triggers_of_one_tenant_leave_the_rates_of_another_alone(t):
    server = Server(t)
    server.define(HOOKED % ("w", "acme", "k", "{ api_key: true }", "2/h", "0s"), tenant="acme")
    server.define("workflow: many\ntenant: umbrella\ntriggers:\n"
                  + "".join(f"  - webhook: {{ key: k{i}, auth: {{ api_key: true }}, rate_limit: 1/h }}\n" for i in range(1100))
                  + "jobs: { j: { tasks: [{ name: a, run: noop }] } }\n", tenant="umbrella")
    send = lambda path: server.call("POST", "/maestro/hooks/" + path, b"{}")
    t.equal([send("acme/w/k").status for _ in range(3)], [202, 202, 429])
    t.equal({send(f"umbrella/many/k{i}").status for i in range(1100)}, {202}, "each of the many has its own")
    refused = send("acme/w/k")
    problem(t, refused, 429, "too-many-requests")
    t.true(0 < int(refused.headers["Retry-After"]) <= 3600, "and is told when")
    t.equal({send(f"umbrella/many/k{i}").status for i in range(0, 1100, 50)}, {429}, "the first of the many are remembered, too")


# --- settings, people, streams, rates ------------------------------------------------------------------------------------


@case("proves: R-015")
def what_a_start_refuses_the_check_refuses_too(t):
    store = f"store: sqlite:{t.folder}/store.db\n"
    rows = [("listen: 127.0.0.1:70000\n", "65535"), ("listen: 127.0.0.1:99999\n", "65535"), ("listen: '127.0.0.1:-1'\n", "65535"),
            ("listen: '127.0.0.1:80x'\n", "65535"), ("otlp: notaurl\n", "http://"), ("public: foo\n", "--public"),
            ("cell: { name: eu, central: 'http://127.0.0.1:1', token_file: nowhere }\n", "nowhere"), ("access: none.rego\n", "none.rego")]
    for text, part in rows:
        for args in (("--check-config",), ()):
            with t.row(f"{text.strip()} {args}"):
                result = t.maestro("server", "--config", t.write("server.yaml", ("" if "listen" in text else "listen: 127.0.0.1:0\n") + store + text), *args)
                t.true(result.code in (64, 65, 69, 2), f"the exit code {result.code}")
                t.contains(result.err, part)
    t.true(not (t.folder / "store.db").exists(), "nothing was made")
    t.equal(t.maestro("server", "--listen", "127.0.0.1:99999", "--store", f"sqlite:{t.folder}/store.db").code, 65)


@case("proves: G-15")
def who_acts_is_whom_the_operating_system_knows(t):
    path = t.write("hello.yaml", HELLO)
    where = ("--store", f"sqlite:{t.folder}/store.db")
    t.equal(t.maestro("run", path, "--param", "who=x", *where, env={"USER": "ceo", "LOGNAME": "ceo"}).code, 0)
    t.equal(t.maestro("secret", "set", "S", *where, stdin="value", env={"USER": "ceo"}).code, 0)
    shown = t.maestro("ledger", "show", "-n", "1000", *where).out + t.maestro("show", "last", "--events", "--json", *where).out
    t.lacks(shown, "ceo")
    t.contains(shown, f'"user:{USER}"')


@case("")
def a_stream_does_not_go_on_behind_what_was_never_sent(t):
    server = Server(t)
    server.define(HELLO)
    run = server.begin("hello", {"who": "x"}, wait="20s")["executionId"]
    for path in ("/api/events", f"/api/executions/{run}/events", f"/api/executions/{run}/logs"):
        with t.row(path):
            last = "999999" if path.endswith("logs") else "999999.1"
            answer = server.get(path, headers={"Accept": "text/event-stream", "Last-Event-ID": last})
            body = problem(t, answer, 409, "conflict")
            t.contains(body["detail"], "Ask without it")


@case("")
def a_list_takes_no_cursor_of_another_list_and_none_that_it_never_gave(t):
    server = Server(t)
    server.define(HELLO)
    run = server.begin("hello", {"who": "x"}, wait="20s")["executionId"]
    document = server.get("/openapi.json", key="").json()
    lists = [path.format(namespace="default", workflowId="hello", executionId=run) for path, methods in document["paths"].items()
             if any(parameter["name"] == "cursor" for parameter in methods.get("get", {}).get("parameters", ()))]
    t.true(len(lists) >= 14, f"the lists: {lists}")

    def cursor(path, number, second, text="default/xxxxxxxx"):
        plain = f"{list_number('*', path)} {number} {second} {text}"
        return f"{path}?cursor=" + base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")
    for path in lists:
        with t.row(path):
            t.equal(server.get(cursor(path, 0, 0)).status, 200, "its own")
            t.equal(server.get(cursor(path, 2 ** 63 - 2, 0)).status, 200, "the highest")
            for number, second in ((2 ** 63 - 1, 0), (0, 2 ** 63 - 1), (2 ** 64 - 1, 0), (-1, 0)):
                problem(t, server.get(cursor(path, number, second)), 400, "invalid")
            own = cursor(path, 0, 0).removeprefix(path)
            t.equal([other for other in lists if server.get(other + own).status == 200], [path], "those that take it")


@case("proves: R-105")
def a_cursor_is_of_one_list_with_its_filters(t):
    server = Server(t)
    timed = "workflow: {}\ntriggers: [{{ schedule: '0 1 * * *' }}, {{ schedule: '0 2 * * *' }}]\njobs: {{ a: {{ tasks: [{{ log: x }}] }} }}\n"
    for name in ("one", "two", "three"):
        server.define(timed.format(name))
        server.begin(name, wait="20s")
    keys = {"every tenant": server.admin, "its own": server.key("viewer"), "its own, another": server.key("viewer")}

    def cursor_of(path, key="every tenant"):
        return "&cursor=" + server.get(path, key=keys[key]).json()["nextCursor"]
    refused = [("workflows of all, of one", "/api/workflows?limit=1", "/api/workflows?limit=1&namespace=default", "every tenant"),
               ("workflows of one, of all", "/api/workflows?limit=1&namespace=default", "/api/workflows?limit=1", "every tenant"),
               ("workflows of all, of who has one", "/api/workflows?limit=1", "/api/workflows?limit=1", "its own"),
               ("schedules of all, of one", "/api/schedules?limit=3", "/api/schedules?limit=3&workflowId=two", "every tenant"),
               ("executions in one state, in another", "/api/executions?limit=1&state=succeeded", "/api/executions?limit=1&state=failed", "every tenant")]
    for name, path, other, key in refused:
        with t.row(name):
            cursor = cursor_of(path)
            t.equal(server.get(path + cursor).status, 200, "as it was given")
            t.contains(problem(t, server.get(other + cursor, key=keys[key]), 400, "invalid")["detail"], "nextCursor")
    server.begin("one", wait="20s")
    cursor = cursor_of("/api/executions?workflowId=one&state=succeeded&limit=1")
    t.equal(len(server.get("/api/executions?workflowId=one&state=succeeded&limit=9" + cursor).json()["items"]), 1, "how many a page has may change")
    t.equal(server.get("/api/executions?state=succeeded&workflowId=one" + cursor).status, 200, "and the order of its filters")
    cursor = cursor_of("/api/workflows?limit=1", "its own")
    t.equal(server.get("/api/workflows?limit=1" + cursor, key=keys["its own, another"]).status, 200, "and the key, of one tenant")


@case("proves: F-111")
def one_key_leaves_the_other_keys_of_its_tenant_theirs(t):
    server = Server(t, "--rate", "5")
    greedy, modest = server.key("viewer", "acme"), server.key("viewer", "acme")
    t.true(any(server.get("/api", key=greedy).status == 429 for _ in range(60)), "one key has its rate")
    t.equal([server.get("/api", key=modest).status for _ in range(3)], [200] * 3, "the other has its own")
    t.equal(server.stop().code, 0)
    server = Server(t, "--rate", "1000", "--tenant-rate", "5")
    answers = [server.get("/api", key=key) for _ in range(30) for key in (greedy, modest)]
    late = [answer for answer in answers if answer.status == 429]
    t.true(late and "tenant 'acme'" in late[0].json()["detail"], "and the tenant one of all its keys")


# --- the document and the links ------------------------------------------------------------------------------------------


@case("")
def the_document_has_headers_streams_and_what_is_not_allowed(t):
    server = Server(t)
    document = server.get("/openapi.json", key="").json()
    operations = [(path, method, operation) for path, methods in document["paths"].items() for method, operation in methods.items()]

    def takes(operation, name):
        return any(parameter["in"] == "header" and parameter["name"] == name for parameter in operation["parameters"])
    for path, method, operation in operations:
        with t.row(f"{method} {path}"):
            answers = operation["responses"]
            t.equal(takes(operation, "If-Match"), "412" in answers and method != "put", "If-Match")
            t.equal(takes(operation, "If-None-Match"), "304" in answers or ("412" in answers and method == "put"), "If-None-Match")
            if operation.get("security") != []:
                t.true("405" in answers, "405")
            for status in ("429", "503"):
                named = document["components"]["responses"][answers[status]["$ref"].rsplit("/", 1)[1]] if status in answers else None
                t.true(named is None or "Retry-After" in named["headers"], f"{status} says when to come again")
            if "201" in answers and operation["operationId"] not in ("override_create", "review_create"):       # what has no address of its own
                t.true("Location" in answers["201"]["headers"], "201 says where it is")
            if any(parameter["name"] == "lastEventId" for parameter in operation["parameters"]):
                t.true(takes(operation, "Last-Event-ID") and "text/event-stream" in answers["200"]["content"], "a stream")
    refused = server.call("DELETE", "/api/executions")
    t.equal(refused.status, 405)
    revision = server.define(HELLO)
    t.true(server.get(revision["_links"]["self"]["href"]).headers["ETag"], "a revision has its tag")


@case("proves: F-006")
def an_empty_request_key_is_refused(t):
    server = Server(t)
    server.define(HELLO)
    for key in ("", "  "):
        answer = server.post("/api/executions", {"workflowId": "hello", "parameters": {"who": "x"}}, headers={"Idempotency-Key": key})
        problem(t, answer, 400, "invalid")
        body = problem(t, server.post("/api/executions", {"workflowId": "hello", "parameters": {"who": "x"}, "idempotencyKey": key}), 400, "invalid")
        t.equal(body["errors"], [{"pointer": "/idempotencyKey", "detail": "is empty; leave it out, and that of the definition counts"}])
    sent = [("Content-Type", "application/json"), ("Idempotency-Key", "a"), ("idempotency-key", "a")]
    answer = lined(server, "POST", "/api/executions", sent, json.dumps({"workflowId": "hello", "parameters": {"who": "x"}}))
    t.contains(problem(t, answer, 400, "invalid")["detail"], "there are 2 Idempotency-Keys")
    t.equal(server.get("/api/executions").json()["items"], [], "nothing was started")


@case("proves: R-085")
def what_is_wrong_with_a_body_is_told_by_its_place(t):
    server = Server(t)
    server.define(HELLO)
    run = "/api/executions/" + server.begin("hello", {"who": "x"}, wait="30s")["executionId"]
    for method, path, body, wrong in (
            ("POST", "/api/executions", {"workflowId": 5, "foo": 1, "b/r": 2}, ["/b~1r", "/foo", "/workflowId"]),
            ("POST", "/api/executions", {"foo": 1}, ["/foo", "/workflowId"]),
            ("POST", "/api/executions", {"workflowId": "hello", "version": 0}, ["/version"]),
            ("POST", run + "/resolve", {"decision": "RETRY_FROM_STEP"}, ["/step"]),
            ("POST", run + "/compensate", {"scope": "FROM_STEP"}, ["/step"]),
            ("POST", run + "/placement", {"regions": []}, ["/regions"]),
            ("POST", run + "/placement", {"regions": [1, "eu", ""], "clouds": ["x" * 200]}, ["/clouds/0", "/regions/0", "/regions/2"]),
            ("PUT", "/api/secrets/x", {"value": ""}, ["/value"]),
            ("PUT", "/api/secrets/x", {"value": "x" * 70000}, ["/value"]),
            ("POST", "/api/schedules/override", {"workflowId": "hello", "at": "x", "reason": "why"}, ["/at"]),
            ("POST", "/api/schedules/override", {"workflowId": "hello", "at": "2099-01-01T00:00:00Z", "trigger": -1, "reason": "why"}, ["/trigger"]),
            ("POST", "/api/plans", {"definition": HELLO, "format": "toml"}, ["/format"])):
        with t.row(f"{method} {path} {body}"[:120]):
            answer = server.call(method, path, body)
            t.true(answer.status in (400, 422), f"it is refused: {answer}")
            t.equal(sorted(error["pointer"] for error in answer.json().get("errors", [])), wrong, f"{answer}")
    many = server.post("/api/executions", {f"m{i}": i for i in range(5000)}).json()
    t.equal((len(many["errors"]), "at least" in many["detail"]), (100, True), "so many are told")


@case("proves: R-085")
def a_condition_that_is_not_taken_is_refused_and_a_secret_can_be_made_only_where_there_is_none(t):
    server = Server(t)
    server.define(HELLO)
    start = {"workflowId": "hello", "parameters": {"who": "x"}}
    for name, value in (("If-Match", '"x"'), ("If-Match", "*"), ("If-None-Match", "*"), ("If-None-Match", '"x"')):
        with t.row(f"a start with {name}: {value}"):
            t.contains(problem(t, server.post("/api/executions", start, headers={name: value}), 400, "invalid")["detail"], "takes no " + name)
    t.equal(server.get("/api/executions").json()["items"], [], "nothing was started")
    revision = "/api/workflows/default/hello/revisions/1"
    problem(t, server.post(revision + "/deactivate", headers={"If-None-Match": "*"}), 400, "invalid")
    put = lambda value, **headers: server.call("PUT", "/api/secrets/cc", {"value": value}, headers={k.replace("_", "-"): v for k, v in headers.items()})
    t.equal(put("first", If_None_Match="*", Idempotency_Key="made").status, 200, "there is none yet")
    t.equal(put("first", If_None_Match="*", Idempotency_Key="made").status, 200, "the same again is answered as it was")
    made = server.get("/api/secrets").json()["items"]
    problem(t, put("second", If_None_Match="*"), 412, "precondition-failed")
    problem(t, put("second", If_None_Match='"x"'), 400, "invalid")
    problem(t, put("second", If_Match="*"), 400, "invalid")
    t.equal(server.get("/api/secrets").json()["items"], made, "it is as it was")
    t.equal(put("second").status, 200)
    t.equal(server.call("DELETE", "/api/secrets/cc").status, 204)
    t.equal(put("third", If_None_Match="*").status, 200, "there is none any more")
    t.equal(server.get(revision, headers={"If-None-Match": '"x"'}).status, 200, "what is read is sent")


def lined(server, method, path, headers, body=None):
    """A request whose headers may be there more than once."""
    connection = server.connect()
    connection.putrequest(method, path)
    for name, value in [("Authorization", "Bearer " + server.admin), *headers, *([("Content-Length", str(len(body)))] if body else [])]:
        connection.putheader(name, value)
    connection.endheaders(body.encode() if body else None)
    answer = connection.getresponse()
    return Answer(answer.status, answer.headers, answer.read())


@case("")
def a_precondition_that_is_empty_is_refused_and_one_that_fails_holds_for_looking_too(t):
    server = Server(t)
    path = server.define(HELLO)["_links"]["self"]["href"]
    tag = server.get(path).headers["ETag"]
    for method, where in (("POST", path + "/activate"), ("POST", path + "/deactivate"), ("DELETE", path), ("GET", path)):
        for given in ("", "  "):
            with t.row(f"{method} {where}, If-Match: {given!r}"):
                answer = server.call(method, where, {} if method == "POST" else None, headers={"If-Match": given})
                t.contains(problem(t, answer, 400, "invalid")["detail"], "If-Match is empty")
    t.equal(server.get(path).headers["ETag"], tag, "nothing was changed")
    for given, status in ((tag, 200), ("*", 200), (f'"1-0-7", {tag}', 200), ('"1-0-7"', 412), ("W/" + tag, 412), ("x", 412)):
        with t.row(f"GET, If-Match: {given}"):
            t.equal(server.get(path, headers={"If-Match": given}).status, status)
    both = server.get(path, headers={"If-Match": '"1-0-7"', "If-None-Match": tag})
    problem(t, both, 412, "precondition-failed")


@case("")
def lists_in_headers_count_on_all_their_lines(t):
    server = Server(t)
    path = server.define(HELLO)["_links"]["self"]["href"]
    tag = server.get(path).headers["ETag"]
    t.equal(lined(server, "GET", path, [("If-None-Match", '"x"'), ("If-None-Match", tag)]).status, 304, "If-None-Match")
    t.equal(lined(server, "GET", path, [("If-Match", '"x"'), ("If-Match", tag)]).status, 200, "If-Match of a look")
    changed = lined(server, "POST", path + "/deactivate", [("If-Match", '"x"'), ("If-Match", tag), ("Content-Type", "application/json")], "{}")
    t.equal(changed.status, 200, "If-Match of a change")
    for lines, coding in (((("br"), "gzip"), "gzip"), (("identity", "br, GZIP;q=0.5"), "gzip"), (("br", "gzip;q=0"), None), (("br", "gzip; level=1; q=0.0"), None)):
        with t.row(f"Accept-Encoding: {lines}"):
            t.equal(lined(server, "GET", "/openapi.json", [("Accept-Encoding", line) for line in lines]).headers["Content-Encoding"], coding)


@case("")
def a_name_that_is_in_the_query_twice_is_refused(t):
    server = Server(t)
    run = "c" * 21
    for path, name in (("/api/executions?state=FAILED&state=COMPLETED", "state"), ("/api/executions?limit=1&limit=zz", "limit"),
                       ("/api/executions?limit=1&limit=1", "limit"), ("/api/workflows?namespace=a&limit=1&namespace=b", "namespace"),
                       (f"/api/executions/{run}?wait=1s&wait=2s", "wait"), ("/api/events?lastEventId=1.1&lastEventId=2.1", "lastEventId")):
        with t.row(path):
            t.contains(problem(t, server.get(path), 400, "invalid")["detail"], f"'{name}' is more than once in the query")


@case("")
def a_stream_is_given_to_who_takes_one_and_each_form_takes_its_own_words(t):
    server = Server(t)
    server.define(HELLO)
    run = server.begin("hello", {"who": "x"}, wait="20s")["executionId"]
    for path in (f"/api/executions/{run}/events", f"/api/executions/{run}/logs"):
        for accept, kind in (("text/event-stream", "text/event-stream"), ("application/json;q=0.1, Text/Event-Stream; q=0.5", "text/event-stream"),
                             ("application/json, text/event-stream;q=0", "application/json"), ("application/x-text/event-stream-not", "application/json"),
                             ("text/event-stream;charset=utf-8;q=0.0", "application/json")):
            with t.row(f"{path} Accept: {accept}"):
                t.equal(server.get(path, headers={"Accept": accept}).headers["Content-Type"], kind)
        head = {"Accept": "text/event-stream"}
        for query, sent, said in (("cursor=zz", head, "'cursor' of the query is for lists"), ("limit=zz", head, "'limit' of the query is for lists"),
                                  ("limit=1", head, "'limit' of the query is for lists"), ("lastEventId=1.1", {}, "'lastEventId' of the query is for streams")):
            with t.row(f"{path}?{query}"):
                t.contains(problem(t, server.get(f"{path}?{query}", headers=sent), 400, "invalid")["detail"], said)


@case("")
def a_create_that_comes_again_says_that_its_revision_was_removed(t):
    server = Server(t)
    head = {"Content-Type": "application/yaml", "Idempotency-Key": "once"}
    made = server.call("POST", "/api/workflows", HELLO, headers=head)
    t.equal(made.status, 201)
    t.equal(server.call("DELETE", made.headers["Location"]).status, 204)
    again = problem(t, server.call("POST", "/api/workflows", HELLO, headers=head), 409, "conflict")
    t.contains(again["detail"], "has been removed since; with another key it is stored again")
    t.equal(server.call("POST", "/api/workflows", HELLO, headers=dict(head, **{"Idempotency-Key": "twice"})).status, 201)


@case("")
def a_name_with_a_nul_is_refused_and_not_read_up_to_it(t):
    server = Server(t)
    server.define(HELLO)
    rows = (("/api/executions", {"workflowId": "hello\0b", "parameters": {"who": "x"}}, "workflowId"), ("/api/executions", {"workflowId": "hello", "namespace": "a\0"}, "namespace"),
            ("/api/signals", {"executionId": "a\0b", "name": "x"}, "executionId"), ("/api/keys", {"role": "viewer\0"}, "role"))
    for path, body, name in rows:
        with t.row(f"{name} of {path}"):
            refused = problem(t, server.post(path, body), 400, "invalid")
            t.equal([error["pointer"] for error in refused["errors"]], ["/" + name])
            t.contains(refused["detail"], "U+0000")
    run = server.begin("hello", {"who": "a\0b"}, wait="20s")
    t.equal(run["inputParameters"], {"who": "a\0b"}, "a value may have one")


FLOW = """workflow: %(name)s
jobs:
  flow:
    tasks:
      - { name: first, run: noop, compensation: { run: shell, retries: { attempts: 1 }, args: ["sh", "-c", "%(undo)s"] } }
      - { name: work, run: shell, args: ["sh", "-c", "%(work)s"], retries: { attempts: 1 }%(more)s }
"""
# How each state is come to: what the step does, what undoes the one before it, more of the task, what is then asked for, and the state.
HOLD = "while ! [ -e %s/go ]; do sleep 0.05; done"
STATES = {
    "running": (HOLD, "true", "", (), "running"),
    "paused": (HOLD, "true", "", ("pause",), "paused"),
    "awaiting": ("true", "true", ", pause_after: { trigger: go, timeout: 1h, auth: { api_key: true } }", (), "paused"),
    "awaiting-payload": ("true", "true", ", pause_after: { trigger: go, timeout: 1h, auth: { api_key: true }, payload_schema: { type: object } }", (), "paused"),
    "awaiting-condition": ("true", "true", ", pause_after: { trigger: go, timeout: 1h, auth: { api_key: true }, resume_when: 'payload.ok == true' }", (), "paused"),
    "waiting-signal": ("true", "true", ", wait_for_signal: gate", (), "waiting-signal"),
    "failed": ("exit 65", "true", "", (), "failed"),
    "resolved": ("exit 65", "true", "", ("resolve",), "failed"),
    "compensating": ("exit 65", HOLD, "", ("compensate",), "compensating"),
    "compensation-failed": ("exit 65", "exit 65", "", ("compensate",), "compensation-failed"),
    "compensated": ("exit 65", "true", "", ("compensate",), "compensated"),
    "succeeded": ("true", "true", "", (), "succeeded"),
    "cancelled": (HOLD, "true", "", ("cancel",), "cancelled"),
}
BODIES = {
    "pause": {}, "resume": {}, "cancel": {}, "resolve": {"decision": "MARK_RESOLVED"}, "retry-from": {"step": "first"}, "compensate": {},
    "retry-compensation": {}, "skip-compensation": {}, "placement": {"regions": ["eu"]}, "approvals": {"approved": False},
}


@case("proves: R-091 F-128")
def links_are_exactly_what_the_state_permits(t):
    server = Server(t)
    for state, (work, undo, more, orders, wanted) in STATES.items():
        words = {"name": state, "work": work.replace("%s", str(t.folder)), "undo": undo.replace("%s", str(t.folder)), "more": more}
        server.define(FLOW % words)
        for action, body in BODIES.items():
            with t.row(f"{action} of one that is {state}"):
                run = "/api/executions/" + server.begin(state)["executionId"]
                look = lambda: server.get(run).json()
                ready = {"pause": "running", "cancel": "running", "compensate": "failed", "resolve": "failed"}
                for order in orders:
                    t.until(lambda: look()["state"] == ready[order], f"it may be told to {order}")
                    t.require(server.post(f"{run}/{order}", dict(BODIES[order], reason="test")).status == 200, order)
                is_there = lambda: look()["state"] == wanted and ("awaiting" not in state or look().get("awaitingTrigger"))
                t.until(is_there, f"it is {wanted}")
                links = look()["_links"]
                t.equal("trigger" in links, "awaiting" in state, "the trigger that it waits for")
                answer = server.post(f"{run}/{action}", dict(body, reason="test"))
                done = answer.status == 200 and not (state == "cancelled" and action == "cancel")       # C-09: done already, and no mistake
                t.true(answer.status in (200, 409), answer)
                t.equal(action in links, done, f"the link and the answer {answer.status}")
                if not done and look()["state"] != wanted:
                    t.true(False, "a refusal changes nothing")
    (t.folder / "go").touch()


main()
