#!/usr/bin/env python3
"""Keys, secrets and tokens of triggers over the API and by commands that are its clients; the access policy in place of the built-in one."""
import json
import re

from maestro_test import case, main
from server_test import HELLO, Server, problem

VALUE = 'planted-"value"-77ab'

ORDERED = """workflow: order
triggers: [{ webhook: { key: new-order, auth: { bearer: true } } }, { webhook: { key: signed } }]
jobs: { a: { tasks: [{ name: say, run: noop }] } }
"""

GATED = """workflow: gated
jobs:
  a:
    tasks:
      - name: ask
        log: "asked"
        pause_after: { trigger: approval, timeout: 1h, auth: { bearer: true } }
"""

USING = """workflow: using
tenant: acme
jobs:
  a:
    tasks:
      - { name: use, run: shell, input: { command: "test \\"$(printf %s \\"$MAESTRO_INPUT\\" | grep -c planted)\\" = 1", token: "${secrets.TOKEN}" } }
"""


def at_server(t, server, *args, key=None, **options):
    return t.maestro(*args, "--server", f"http://127.0.0.1:{server.port}", env={"MAESTRO_TOKEN": key or server.admin}, **options)


def at_store(t, server, *args, **options):
    return t.maestro(*args, "--store", "sqlite:" + server.store, **options)


def id_of(key):
    return key.split(".")[-2]


def records(t, server):
    shown = at_store(t, server, "ledger", "show", "--limit", "100000")
    return [dict(event, actor=record["actor"], rationale=record.get("rationale")) for record in map(json.loads, shown.out.splitlines())
            for event in record["events"]]


@case("proves: A-199")
def keys_are_made_listed_and_revoked_over_the_api(t):
    server = Server(t)
    made = server.post("/api/keys", {"namespace": "acme", "role": "operator", "expiresAt": "2099-01-31T00:00:00.000Z", "reason": "a robot"})
    t.equal(made.status, 201, str(made))
    key = made.json()
    t.true(key["key"].startswith("mk.acme." + key["id"] + "."), "its text")
    t.equal(made.headers["Cache-Control"], "no-store")
    t.equal((key["namespace"], key["role"], key["expiresAt"], key["lastUsedAt"]), ("acme", "operator", "2099-01-31T00:00:00.000Z", None))
    t.equal(server.get("/api", key=key["key"]).json()["namespace"], "acme", "it is known at once")
    listed = server.get("/api/keys").json()["items"]
    t.equal([(k["namespace"], k["role"]) for k in listed], [("*", "admin"), ("acme", "operator")], "a key of every tenant sees all")
    t.true(all("key" not in k for k in listed), "no list has a key")
    t.equal([k["id"] for k in server.get("/api/keys?namespace=acme").json()["items"]], [key["id"]])
    t.equal([k["id"] for k in server.get("/api/keys?namespace=@all").json()["items"]], [id_of(server.admin)])
    shown = server.get(made.headers["Location"])
    t.equal((shown.status, dict(shown.json(), lastUsedAt=None)), (200, dict(next(k for k in listed if k["id"] == key["id"]), lastUsedAt=None)),
            "where it was made it is shown, as the list has it")
    t.equal(server.get(f"/api/keys/{key['id']}").json()["namespace"], "acme", "also with no word of its tenant")
    gone = server.call("DELETE", f"/api/keys/{key['id']}?reason=left", headers={"Idempotency-Key": "once"})
    t.equal((gone.status, gone.body), (204, b""), "revoked")
    t.equal(server.get("/api", key=key["key"]).status, 401, "it is refused from the answer on")
    again = server.call("DELETE", f"/api/keys/{key['id']}?namespace=acme&reason=left", headers={"Idempotency-Key": "once"})
    t.equal(again.status, 204, "the same request gets its first answer")
    problem(t, server.call("DELETE", f"/api/keys/{key['id']}"), 404, "not-found")
    problem(t, server.get(f"/api/keys/{key['id']}"), 404, "not-found")
    told = [(e["event"], e["tenant"], e["actor"], e["rationale"]) for e in records(t, server) if e.get("name") == "api-key/" + key["id"]]
    who = "key:" + id_of(server.admin)
    t.equal(told, [("secret-set", "acme", who, "a robot"), ("secret-removed", "acme", who, "left")], "who made and revoked it is in the ledger")
    t.lacks(at_store(t, server, "ledger", "show", "--limit", "100000").out, key["key"].split(".")[-1], "the ledger has no key")


@case("")
def the_end_of_a_key_is_written_as_any_program_writes_a_time(t):
    server = Server(t)
    for given, meant in (("2099-01-31T00:00:00Z", "2099-01-31T00:00:00.000Z"), ("2099-01-31T02:00:00.5+02:00", "2099-01-31T00:00:00.500Z"),
                         ("2099-01-30T20:30:00-03:30", "2099-01-31T00:00:00.000Z")):
        with t.row(given):
            made = server.post("/api/keys", {"role": "viewer", "expiresAt": given})
            t.equal((made.status, made.json().get("expiresAt")), (201, meant))


@case("")
def what_is_no_key_is_refused(t):
    server = Server(t)
    rows = [("no role", {}, "/role"), ("another role", {"role": "emperor"}, "/role"), ("an end that was", {"role": "viewer", "expiresAt": "2001-01-01T00:00:00.000Z"}, "/expiresAt"),
            ("no time", {"role": "viewer", "expiresAt": "soon"}, "/expiresAt"), ("another member", {"role": "viewer", "secret": "x"}, "/secret")]
    for name, body, pointer in rows:
        with t.row(name):
            t.equal(problem(t, server.post("/api/keys", body), 400, "invalid")["errors"][0]["pointer"], pointer)
    for namespace in ("a b", "x#y", "a%2fb", "..", "*x", "a/b", "a.b", "-a", "\u00e9", "x" * 129):
        with t.row(namespace):
            refused = problem(t, server.post("/api/keys", {"role": "viewer", "namespace": namespace}), 400, "invalid")
            t.equal([error["pointer"] for error in refused["errors"]], ["/namespace"])
    made = server.call("PUT", "/api/secrets/some/S?namespace=x%23%26y", {"value": "x"}).json()
    t.equal(made["_links"]["remove"]["href"], "/api/secrets/some/S?namespace=x%23%26y", "what stands in a link is escaped")
    t.equal(server.call("DELETE", made["_links"]["remove"]["href"]).status, 204, "and leads there")
    problem(t, server.get("/api/keys?cursor=nonsense"), 400, "invalid")
    first = server.post("/api/keys", {"role": "viewer"}, headers={"Idempotency-Key": "k"})
    second = server.post("/api/keys", {"role": "viewer"}, headers={"Idempotency-Key": "k"})
    t.equal(first.status, 201)
    t.contains(problem(t, second, 422, "idempotency-key-reused")["detail"], "shown once")
    t.equal(len(server.get("/api/keys").json()["items"]), 2, "nothing was made twice")


@case("proves: F-003")
def an_admin_of_a_tenant_manages_that_one_and_makes_nobody_more_than_itself(t):
    server = Server(t)
    admin, other = server.key("admin", "acme"), server.key("admin", "other")
    for namespace in ("other", "@all", "*", "nobody"):
        with t.row("a key of " + namespace):
            problem(t, server.post("/api/keys", {"role": "viewer", "namespace": namespace}, key=admin), 404, "not-found")
    made = server.post("/api/keys", {"role": "admin"}, key=admin)
    t.equal((made.status, made.json()["namespace"]), (201, "acme"), "of its own tenant")
    t.equal({k["namespace"] for k in server.get("/api/keys", key=admin).json()["items"]}, {"acme"}, "it lists its own")
    foreign, none = (server.call("DELETE", "/api/keys/" + which, key=admin) for which in (id_of(other), "c" * 8))
    t.equal([foreign.json()["detail"].replace(id_of(other), "ID"), foreign.status], [none.json()["detail"].replace("c" * 8, "ID"), none.status], "as one that is not there")
    t.equal(server.get("/api", key=other).status, 200, "it was not revoked")
    foreign, none = (server.get("/api/keys/" + which, key=admin) for which in (id_of(other), "c" * 8))
    t.equal([foreign.json()["detail"].replace(id_of(other), "ID"), foreign.status], [none.json()["detail"].replace("c" * 8, "ID"), none.status], "nor is it shown")
    t.until(lambda: [e for e in records(t, server) if e["event"] == "access-refused" and e["name"] == "key.revoke" and "'other'" in (e["rationale"] or "")],
            "the refusal is in the ledger")
    for role in ("viewer", "operator", "author", "worker"):
        key = server.key(role, "acme")
        for method, path, body in (("GET", "/api/keys", None), ("POST", "/api/keys", {"role": "viewer"}), ("DELETE", "/api/keys/" + id_of(key), None),
                                   ("GET", "/api/secrets", None), ("PUT", "/api/secrets/A", {"value": "x"}), ("DELETE", "/api/secrets/A", None),
                                   ("POST", "/api/workflows/acme/w/trigger-token", {"trigger": "x"})):
            with t.row(f"{method} {path} as {role}"):
                problem(t, server.call(method, path, body, key=key), 403, "denied")
    rego = t.write("wide.rego", "package maestro.mine\ndefault allow := true\n")
    server.stop()
    wide = Server(t, "--access", str(rego), store=server.store)
    keys = {role: wide.key(role, "acme") for role in ("viewer", "operator", "author", "worker", "admin")}
    allowed = {"viewer": {"viewer"}, "operator": {"viewer", "operator"}, "author": {"viewer", "author"}, "worker": {"worker"}, "admin": set(keys)}
    for own in keys:
        for role in keys:
            with t.row(f"{own} makes {role}, whatever the policy permits"):
                t.equal(wide.post("/api/keys", {"role": role}, key=keys[own]).status, 201 if role in allowed[own] else 403)


@case("proves: F-103")
def secrets_are_set_listed_and_removed_over_the_api_and_never_answered(t):
    server = Server(t)
    admin = server.key("admin", "acme")
    answers = [server.call("PUT", "/api/secrets/TOKEN", {"value": VALUE, "reason": "new"}, key=admin, headers={"Idempotency-Key": "s"})]
    t.equal(answers[0].status, 200, str(answers[0]))
    t.equal({k: answers[0].json()[k] for k in ("namespace", "name", "updatedBy")},
            {"namespace": "acme", "name": "TOKEN", "updatedBy": "key:" + id_of(admin)})
    again = server.call("PUT", "/api/secrets/TOKEN", {"value": VALUE, "reason": "new"}, key=admin, headers={"Idempotency-Key": "s"})
    t.equal((again.status, again.json()), (200, answers[0].json()), "the same request gets its first answer")
    problem(t, server.call("PUT", "/api/secrets/TOKEN", {"value": "other"}, key=admin, headers={"Idempotency-Key": "s"}), 422, "idempotency-key-reused")
    answers.append(server.call("PUT", "/api/secrets/definition%2Forder", {"value": VALUE}, key=admin))
    answers.append(server.call("PUT", "/api/secrets/TOKEN?namespace=other", {"value": "another"}))
    answers.append(server.get("/api/secrets", key=admin))
    t.equal([s["name"] for s in answers[-1].json()["items"]], ["TOKEN", "definition/order"], "its own, and no keys")
    page = server.get("/api/secrets?limit=1", key=admin).json()
    t.equal([s["name"] for s in server.get(page["_links"]["next"]["href"], key=admin).json()["items"]], ["definition/order"], "by pages")
    server.define(USING, tenant="acme")
    t.equal(server.begin("using", wait="30s", namespace="acme")["status"], "COMPLETED", "a step gets it")
    for name, path, body, status, kind in (
            ("empty", "/api/secrets/A", {"value": ""}, 400, "invalid"), ("no value", "/api/secrets/A", {}, 400, "invalid"),
            ("too large", "/api/secrets/A", {"value": "x" * 65537}, 422, "limit-exceeded"), ("a name", "/api/secrets/a%20b", {"value": "x"}, 400, "invalid"),
            ("a key", "/api/secrets/api-key/abcdefgh", {"value": "{}"}, 400, "invalid"), ("another tenant's", "/api/secrets/A?namespace=other", {"value": "x"}, 404, "not-found")):
        with t.row(name):
            problem(t, server.call("PUT", path, body, key=admin), status, kind)
    t.equal(server.call("DELETE", "/api/secrets/definition/order?reason=over", key=admin).status, 204)
    problem(t, server.call("DELETE", "/api/secrets/definition/order", key=admin), 404, "not-found")
    told = [(e["event"], e["actor"]) for e in records(t, server) if e.get("name") == "definition/order"]
    t.equal(told, [("secret-set", "key:" + id_of(admin)), ("secret-removed", "key:" + id_of(admin))])
    t.true(all(b"planted" not in a.body for a in answers), "no answer has it")
    log = server.stop().err
    with open(server.store, "rb") as file:
        kept = file.read()
    t.true(b"planted-" not in kept and "planted" not in log, "neither the store nor the log has it")


@case("")
def many_keys_stand_between_nobody_and_what_he_looks_for(t):
    server = Server(t)
    admin = server.key("admin", "acme")
    ids = {tenant: [server.post("/api/keys", {"role": "viewer", "namespace": tenant}).json()["id"] for _ in range(300)] for tenant in ("acme", "other")}
    for name in ("aaa", "api", "api-kez", "zzz"):
        t.equal(server.call("PUT", "/api/secrets/" + name, {"value": "x"}, key=admin).status, 200)
    listed, path = [], "/api/secrets?limit=1"
    while path:
        page = server.get(path, key=admin).json()
        listed += [s["name"] for s in page["items"]]
        path = page["_links"].get("next", {}).get("href")
    t.equal(listed, ["aaa", "api", "api-kez", "zzz"], "secrets on both sides of them")
    for tenant, key in (("acme", admin), ("acme", server.admin), ("other", server.admin)):
        for i in (0, 150, 299):
            shown = server.get("/api/keys/" + ids[tenant][i], key=key)
            t.equal((shown.status, shown.json().get("namespace")), (200, tenant), f"key {i} of {tenant}")
    t.equal(server.get("/api/keys/" + ids["other"][7], key=admin).status, 404)
    t.equal(server.call("DELETE", "/api/keys/" + ids["other"][7]).status, 204, "whoever has every tenant need not name it")
    t.equal([server.get("/api/keys/" + ids["other"][i]).status for i in (6, 7, 8)], [200, 404, 200])


@case("")
def several_who_set_the_first_secret_of_a_tenant_at_once_all_succeed(t):
    server = Server(t)
    connections = [server.connect() for _ in range(8)]
    for i, connection in enumerate(connections):
        connection.request("PUT", f"/api/secrets/S{i}?namespace=fresh", json.dumps({"value": str(i)}),
                           {"Authorization": "Bearer " + server.admin, "Content-Type": "application/json"})
    t.equal([c.getresponse().status for c in connections], [200] * 8)
    t.equal(len([e for e in records(t, server) if e["event"] == "tenant-key-made" and e["tenant"] == "fresh"]), 1, "under one key")


@case("")
def commands_say_the_same_of_a_server_as_beside_its_store(t):
    server = Server(t)
    server.define(GATED)
    run = server.begin("gated", wait="30s")["executionId"]
    for tenant in ("default", "acme"):
        server.define(f"tenant: {tenant}\n" + ORDERED, tenant=tenant)

    def both(*args, **options):
        here, there = at_store(t, server, *args, **options), at_server(t, server, *args, **options)
        t.equal((there.code, there.out, there.err), (here.code, here.out, here.err), "code and output")
        return there

    def masked(result):
        return result.code, re.sub(r"mk\.[\w@.-]+", "KEY", re.sub(r'"id": "[\w-]{8}"|key [\w-]{8} ', "ID ", result.out)), re.sub(r"key [\w-]{8} |until [\d:.TZ-]+", "ID ", result.err)

    for args in (("key", "create"), ("key", "create", "--tenant", "acme", "--role", "operator", "--expires", "30d"), ("key", "create", "--json"),
                 ("key", "create", "--tenant", "@all", "--role", "admin"), ("key", "create", "--tenant", "a b"), ("key", "create", "--expires", "1d", "--reason", "a robot")):
        with t.row(" ".join(args)):
            t.equal(masked(at_server(t, server, *args)), masked(at_store(t, server, *args)))
    t.until(lambda: all(k["lastUsedAt"] for k in at_store(t, server, "key", "list", "--tenant", "@all", "--json").json() if k["id"] == id_of(server.admin)), "its use is kept")
    for args in (("key", "list"), ("key", "list", "--json"), ("key", "list", "--tenant", "acme"), ("key", "list", "--tenant", "@all"), ("key", "revoke", "cccccccc"),
                 ("secret", "list"), ("secret", "remove", "NONE"), ("secret", "remove", "a b"), ("secret", "set", "api-key/abcdefgh"),
                 ("trigger-token", run, "approval"), ("trigger-token", run, "approval", "--json"), ("trigger-token", run, "none"),
                 ("trigger-token", "--workflow", "order", "new-order"), ("trigger-token", "--workflow", "order", "none"), ("trigger-token", "--workflow", "nothing", "none"), ("trigger-token", "--workflow", "order", "new-order", "--json", "--tenant", "acme")):
        with t.row(" ".join(args)):
            both(*args)
    for args in (("secret", "set", "TOKEN"), ("secret", "set", "definition/order", "--json", "--tenant", "acme")):
        with t.row(" ".join(args)):
            t.equal(both(*args, stdin=VALUE).code, 0)
    both("secret", "set", "TOKEN", stdin="")
    for args in (("secret", "list", "--json"), ("secret", "list", "--tenant", "acme")):
        with t.row(" ".join(args)):
            t.contains(both(*args).out, "key:" + id_of(server.admin) if "--json" in args else "definition/order")
    gone = at_server(t, server, "secret", "remove", "TOKEN", "--json", "--reason", "over & done")
    t.equal((gone.code, gone.json()), (0, {"tenant": "default", "name": "TOKEN", "removed": True}))
    t.true(any(e["event"] == "secret-removed" and e["rationale"] == "over & done" for e in records(t, server)), "the reason is recorded")
    key = at_server(t, server, "key", "create", "--tenant", "acme").out.strip()
    revoked = at_server(t, server, "key", "revoke", id_of(key))
    t.equal((revoked.code, revoked.out), (0, f"key {id_of(key)} of tenant 'acme' is revoked\n"))
    t.equal(server.get("/api", key=key).status, 401)
    denied = at_server(t, server, "key", "list", key=server.key("viewer"))
    t.equal(denied.code, 77)
    t.contains(denied.err, "the role viewer does not permit key.read")


@case("proves: A-199")
def the_token_that_a_server_makes_sends_its_trigger_and_no_other(t):
    server = Server(t)
    server.define(GATED)
    runs = [server.begin("gated", wait="30s")["executionId"] for _ in range(2)]
    token = server.post(f"/api/executions/{runs[0]}/trigger-token", {"trigger": "approval"})
    t.equal((token.status, token.json()["trigger"]), (200, "approval"), str(token))
    sent = {"Authorization": "Bearer " + token.json()["token"]}
    t.equal(server.post(f"/maestro/trigger/{runs[1]}/approval", {"approved": True}, key="", headers=sent).status, 401, "of another run")
    t.equal(server.post(f"/maestro/trigger/{runs[0]}/approval", {"approved": True}, key="", headers=sent).status, 200)
    t.equal(server.get(f"/api/executions/{runs[0]}?wait=30s").json()["status"], "COMPLETED")
    problem(t, server.post(f"/api/executions/{runs[0]}/trigger-token", {"trigger": "none"}), 400, "invalid")
    problem(t, server.post("/api/executions/%s/trigger-token" % ("c" * 21), {"trigger": "approval"}), 404, "execution-not-found")
    of_workflow = "/api/workflows/fresh/order/trigger-token"
    problem(t, server.post(of_workflow, {"trigger": "new-order"}), 404, "workflow-not-found")
    revision = server.define("tenant: fresh\n" + ORDERED, tenant="fresh")["_links"]["self"]["href"]
    t.contains(problem(t, server.post(of_workflow, {"trigger": "x"}), 400, "invalid")["detail"], "has no webhook 'x'")
    problem(t, server.post(of_workflow, {"trigger": "signed"}), 400, "invalid")
    server.post(revision + "/deactivate")
    problem(t, server.post(of_workflow, {"trigger": "new-order"}), 409, "revision-not-active")
    server.post(revision + "/activate")
    t.equal(server.post(of_workflow, {"trigger": "new-order"}).json()["token"],
            at_store(t, server, "trigger-token", "--workflow", "order", "new-order", "--tenant", "fresh").out.strip(), "of a tenant that had no key")


@case("proves: F-144")
def a_policy_in_place_of_the_built_in_one_decides_on_reads_and_writes(t):
    rego = t.write("access.rego", """package maestro.mine
default allow := false
allow if { input.caller.role == "viewer"; input.verb in {"execution.read", "execution.start", "secret.set"} }
allow if { input.caller.role == "admin"; input.verb in {"workflow.create", "workflow.activate"}; input.tenant == "default" }
reasons contains sprintf("%s is not for %s", [input.verb, input.caller.role]) if not allow
""")
    server = Server(t, "--access", str(rego))
    server.define(HELLO)
    viewer = server.key("viewer")
    rows = [("GET", "/api/executions", None, viewer, 200), ("POST", "/api/executions", {"workflowId": "hello", "parameters": {"who": "x"}}, viewer, 201),
            ("PUT", "/api/secrets/A", {"value": "x"}, viewer, 200), ("GET", "/api/secrets", None, viewer, 403), ("GET", "/api", None, viewer, 403),
            ("GET", "/api/executions", None, server.admin, 403), ("GET", "/api/keys", None, server.admin, 403),
            ("POST", "/api/executions", {"workflowId": "hello", "parameters": {"who": "x"}}, server.admin, 403),
            ("POST", "/api/store/RUNS", {"params": [None, None, None]}, server.admin, 403), ("POST", "/api/petitions", {"verb": "start"}, server.admin, 403)]
    for method, path, body, key, status in rows:
        with t.row(f"{method} {path} as {'viewer' if key == viewer else 'admin'}"):
            answer = server.call(method, path, body, key=key)
            t.equal(answer.status, status, str(answer))
            if status == 403:
                t.contains(answer.json()["detail"], " is not for " + ("viewer" if key == viewer else "admin"))
    stranger = server.key("viewer", "other")
    t.equal(server.get("/api/executions?namespace=default", key=stranger).status, 404, "tenants are not up to it")


@case("proves: F-144")
def a_policy_without_a_clear_answer_denies(t):
    rows = [("it fails", "allow if to_number(input.verb) > 0\n"), ("a conflict", "allow := true if input.verb\nallow := false if input.tenant\n"),
            ("another type", 'allow := "yes"\n'), ("a number", "allow := 1\n"), ("undefined", "allow if input.nobody\n"), ("a division", "allow if 1 / count(input.nobody) > 0\n"),
            ("an object", 'allow := {"allow": true}\n'), ("a denial that is no set", "default allow := true\ndeny := 17\n")]
    for i, (name, rule) in enumerate(rows):
        with t.row(name):
            server = Server(t, "--access", t.write(f"access-{i}.rego", "package maestro.mine\n" + rule), store=str(t.folder / f"store-{i}.db"))
            for method, path, body in (("GET", "/api", None), ("POST", "/api/keys", {"role": "viewer"}), ("PUT", "/api/secrets/A", {"value": "x"})):
                problem(t, server.call(method, path, body), 403, "denied")
            t.equal(server.get("/healthz", key="").status, 200, "what needs no key is answered")
            server.stop()


@case("")
def a_policy_that_does_not_compile_is_refused_at_the_start(t):
    rows = [("no Rego", "allow = = true", "access.rego"), ("an unsafe variable", "package maestro.mine\nallow if x == 1\n", "x"),
            ("a type that cannot be", 'package maestro.mine\nallow if 1 == "a"\n', "access.rego"), ("no such function", "package maestro.mine\nallow if no_such(input)\n", "no_such"),
            ("nothing that decides", "package elsewhere\nallow := true\n", "allow"),
            ("nothing but denials", 'package maestro.access\ndeny contains "no" if input.verb == "key.create"\n', "no package at or below 'maestro' has a rule 'allow'"),
            ("an allow of others", 'package maestro.access\ndeny contains "no" if false\n\n# allow := true\n', "has a rule 'allow'")]
    for name, text, said in rows:
        with t.row(name):
            ended = t.maestro("server", "--listen", "127.0.0.1:0", "--store", f"sqlite:{t.folder / 'none.db'}", "--access", t.write("access.rego", text))
            t.equal(ended.code, 65, ended.out + ended.err)
            t.contains(ended.err, said)
            checked = t.maestro("server", "--store", f"sqlite:{t.folder / 'none.db'}", "--access", t.folder / "access.rego", "--check-config")
            t.equal(checked.code, 65, checked.out + checked.err)
            t.contains(checked.err, said)
            t.true(not (t.folder / "none.db.admin-key").exists(), "nothing was made")
    missing = t.maestro("server", "--listen", "127.0.0.1:0", "--store", f"sqlite:{t.folder / 'none.db'}", "--access", t.folder / "nowhere.rego")
    t.equal(missing.code, 69, missing.err)


@case("")
def who_makes_a_key_is_told_when_it_ends(t):
    store = f"sqlite:{t.folder / 'store.db'}"
    made = t.maestro("key", "create", "--expires", "2099-01-31", "--json", "--store", store).json()
    t.equal(made["expiresAt"], "2099-01-31T00:00:00.000Z")
    t.equal(t.maestro("key", "create", "--json", "--store", store).json()["expiresAt"], None, "never")
    said = t.maestro("key", "create", "--expires", "2099-01-31", "--store", store)
    t.contains(said.err, "with the role viewer, until 2099-01-31T00:00:00.000Z; it is shown this once")
    t.lacks(t.maestro("key", "create", "--store", store).err, "until")
    t.equal(sorted(key["expiresAt"] or "" for key in t.maestro("key", "list", "--json", "--store", store).json()),
            ["", "", "2099-01-31T00:00:00.000Z", "2099-01-31T00:00:00.000Z"])


@case("")
def what_is_wrong_with_an_access_policy_is_for_the_log_and_not_for_callers(t):
    rows = [("a builtin that fails", "allow if to_number(input.caller.key) > 1\n", "it could not be evaluated: "),
            ("an answer of another type", 'allow := "yes"\n', "allow is of the type string, not true"),
            ("of one role alone", 'default allow := true\nallow := 1 if input.caller.role == "worker"\n', "allow is of the type number, not true")]
    for i, (name, rule, reason) in enumerate(rows):
        with t.row(name):
            path, store = t.write(f"private-{i}.rego", "package maestro.mine\n" + rule), str(t.folder / f"store-{i}.db")
            checked = t.maestro("server", "--store", "sqlite:" + store, "--access", path, "--check-config")
            t.equal(checked.code, 65, checked.out + checked.err)
            t.contains(checked.err, "the access policy gives no clear answer, for one, to the role ")
            t.contains(checked.err, reason)
            server = Server(t, "--access", path, store=store)
            t.until(lambda: "denies what it gives no clear answer about" in t.said(server.process), "the log tells it at the start")
            refused = server.post("/api/executors/none/exchange", {}, key=server.key("worker"))
            problem(t, refused, 403, "denied")
            t.contains(refused.body.decode(), "the access policy of this server gives no clear answer; its log says why")
            t.lacks(refused.body.decode(), "private-")
            t.lacks(refused.body.decode(), reason)
            server.stop()
            line = next(line for line in t.said(server.process).splitlines() if '"request refused"' in line)
            t.contains(json.loads(line)["detail"], reason, "the whole reason is in the log")
            t.contains(t.maestro("ledger", "show", "--limit", "1000", "--store", "sqlite:" + store).out, reason, "and in the ledger")
    built_in = t.maestro("server", "--store", f"sqlite:{t.folder / 'none.db'}", "--check-config")
    t.equal(built_in.code, 0, built_in.err)


if __name__ == "__main__":
    main()
