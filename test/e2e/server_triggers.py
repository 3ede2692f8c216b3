#!/usr/bin/env python3
"""What starts an execution from outside: webhooks, signals, pushes, people; who is let in, how often, and what debouncing does."""
import contextlib
import hmac
import json
import os
import re
import resource
import signal
import subprocess
import time

from maestro_test import ROOT, SANITIZED, case, main
from schema_test import violations
from server_test import Server, problem

TRIGGERED = """workflow: triggered
triggers:
  - webhook: { key: signed, auth: { hmac: order-secret } }
  - webhook: { key: twin, auth: { hmac: order-secret } }
  - webhook: { key: plain }
  - webhook: { key: token, auth: { bearer: true } }
  - webhook: { key: keyed, auth: { api_key: true } }
  - webhook: { key: asked, auth: { policy: hooks } }
  - webhook: { key: rare, auth: { api_key: true }, rate_limit: 2/h }
  - signal: restock
  - git_push: { branch: main, repository: shop, signed_commits_only: true }
  - manual: { rate_limit: 3/h }
jobs:
  a: { tasks: [{ name: say, log: "payload ${payload.n}" }] }
"""

POLICY = """package maestro.policies.hooks

default allow := false

allow if input.headers["x-team"] == "shop"
"""

PAUSED = """workflow: paused
jobs: { a: { tasks: [{ name: ask, log: asked, pause_after: { trigger: approval, timeout: 1h, auth: { hmac: order-secret } } }] } }
"""

DEBOUNCED = """workflow: debounced
triggers:
  - webhook: { key: order, auth: { api_key: true }, debounce: %s }
jobs:
  a: { tasks: [{ name: say, log: "order ${payload.n}" }] }
"""


def secret(t, server, name, value, tenant="default"):
    made = t.maestro("secret", "set", name, "--tenant", tenant, "--store", "sqlite:" + server.store, stdin=value)
    t.require(made.code == 0, "the secret is set: " + made.err)


def sign(value, path, body, at=None):
    """Headers of a request that is signed for that address."""
    at = str(int(time.time()) if at is None else at)
    mac = hmac.new(value.encode(), f"{at}\nPOST\n{path}\n".encode() + body, "sha256").hexdigest()
    return {"X-Maestro-Timestamp": at, "X-Maestro-Signature": "sha256=" + mac, "Content-Type": "application/json"}


def runs(server, workflow):
    return server.get("/api/executions?namespace=default&workflowId=" + workflow).json()["items"]


def refused_by_ledger(t, server, verb):
    shown = t.maestro("ledger", "show", "--limit", "100000", "--store", "sqlite:" + server.store).out
    records = [json.loads(line) for line in shown.splitlines()]
    return [r["rationale"] for r in records for e in r["events"] if e["event"] == "access-refused" and e["name"] == verb]


@case("proves: F-043 F-048 A-197 A-198 A-199 A-200 C-28 G-20")
def each_way_to_authenticate_lets_in_whom_it_names_and_nobody_else(t):
    t.write("hooks.rego", POLICY)
    server = Server(t, "--runners", t.write("runners.yaml", "policies:\n  hooks: { file: hooks.rego }\n"))
    server.define(TRIGGERED)
    secret(t, server, "order-secret", "s3cret-value")
    secret(t, server, "definition/triggered", "of-the-definition")
    made = t.maestro("trigger-token", "--workflow", "triggered", "token", "--store", "sqlite:" + server.store)
    t.require(made.code == 0, "the token is made: " + made.err)
    token = made.out.strip()
    operator = server.key("operator")
    body, where = b'{"n": 1}', "/maestro/hooks/default/triggered/"
    rows = [
        ("signed", "signed", sign("s3cret-value", where + "signed", body), 202), ("signed by another", "signed", sign("another", where + "signed", body), 401),
        ("signed for another body", "signed", sign("s3cret-value", where + "signed", b"{}"), 401), ("too old", "signed", sign("s3cret-value", where + "signed", body, 1700000000), 401),
        ("signed for another trigger with the same secret", "signed", sign("s3cret-value", where + "twin", body), 401),
        ("the same, where it was signed for", "twin", sign("s3cret-value", where + "twin", body), 202),
        ("not signed", "signed", {}, 401), ("the secret of the definition", "plain", sign("of-the-definition", where + "plain", body), 202),
        ("another secret", "plain", sign("s3cret-value", where + "plain", body), 401),
        ("a token", "token", {"Authorization": "Bearer " + token}, 202), ("another token", "token", {"Authorization": "Bearer " + token[::-1]}, 401),
        ("no token", "token", {}, 401), ("a key", "keyed", {"Authorization": "Bearer " + operator}, 202),
        ("a key that may not", "keyed", {"Authorization": "Bearer " + server.key("viewer")}, 403),
        ("a key of another tenant", "keyed", {"Authorization": "Bearer " + server.key("operator", "other")}, 404), ("no key", "keyed", {}, 401),
        ("a policy", "asked", {"X-Team": "shop"}, 202), ("a policy that does not permit it", "asked", {"X-Team": "yard"}, 401),
        ("a signal", "restock", {"Authorization": "Bearer " + operator}, 202), ("a signal of nobody", "restock", {}, 401),
        ("a trigger that is not there", "none", {}, 401), ("the same, for who has a key", "none", {"Authorization": "Bearer " + operator}, 404),
    ]
    started = 0
    for name, trigger, headers, status in rows:
        with t.row(name):
            answer = server.call("POST", "/maestro/hooks/default/triggered/" + trigger, body, key="", headers=headers)
            t.equal(answer.status, status, str(answer))
            started += status == 202
            if status == 202:
                run = server.get("/api/executions/%s?wait=30s" % answer.json()["executionId"]).json()
                t.equal((run["status"], run["triggerPayload"]), ("COMPLETED", {"n": 1}))
                kind = "signal" if trigger == "restock" else "webhook"
                t.equal(run["source"], f"{kind}:{trigger}")
    t.equal(len(runs(server, "triggered")), started, "what was refused has started nothing")
    server.stop()
    told = refused_by_ledger(t, server, "execution.start")
    for why in ("the signature is not that of time, method, path and body", "the role viewer does not permit", "it belongs to tenant"):
        t.true(any(why in text for text in told), f"{why}: {told}")


def documented(t, secret_value, address, path):
    """The commands that docs/secrets.md has for a sender, as a shell runs them."""
    guide = (ROOT / "docs" / "secrets.md").read_text()
    script = guide.split("### Signatures")[1].split("```sh\n")[1].split("```")[0]
    done = subprocess.run(["sh", "-euc", script + "\n"], capture_output=True, text=True, timeout=60,
                          env={"PATH": os.environ["PATH"], "SECRET": secret_value, "SERVER": address, "ADDRESS": path})
    t.equal(done.returncode, 0, done.stderr)
    return json.loads(done.stdout)


@case("proves: F-043 C-04")
def a_start_trigger_waits_as_a_start_does(t):
    server = Server(t)
    server.define(TRIGGERED)
    secret(t, server, "order-secret", "s3cret-value")
    path = "/maestro/hooks/default/triggered/signed"

    def send(query, n):
        body = json.dumps({"n": n}).encode()
        return server.call("POST", path + query, body, key="", headers=sign("s3cret-value", path, body))

    for query in ("?wait=zzz", "?wait=-1", "?wait=31s", "?wait=5m"):
        with t.row(query):
            t.contains(problem(t, send(query, 1), 400, "invalid")["detail"], "'wait' of the query")
    t.equal(runs(server, "triggered"), [], "what is wrong starts nothing")
    waited = send("?wait=20s", 1)
    t.equal((waited.status, waited.json()["accepted"], waited.json()["repeated"], waited.json()["status"]), (202, True, False, "COMPLETED"))
    t.equal(sorted(waited.json()), ["accepted", "executionId", "repeated", "status"], "whoever may start may not read")
    at_once = send("", 2)
    t.equal((at_once.status, at_once.json()["accepted"]), (202, True))


@case("proves: F-048 F-050 A-197")
def a_sender_signs_as_the_guide_says(t):
    server = Server(t)
    server.define(TRIGGERED)
    server.define(PAUSED)
    secret(t, server, "order-secret", "s3cret-value")
    address = f"http://127.0.0.1:{server.port}"
    hooked = documented(t, "s3cret-value", address, "/maestro/hooks/default/triggered/signed")
    run = server.get(f"/api/executions/{hooked['executionId']}?wait=30s").json()
    t.equal(run["triggerPayload"], {"approved": True})
    waiting = [server.begin("paused", wait="30s")["executionId"] for _ in range(2)]
    t.equal(documented(t, "s3cret-value", address, f"/maestro/trigger/{waiting[0]}/approval")["accepted"], True)
    body = b'{"approved":true}'
    first, other = (f"/maestro/trigger/{run}/approval" for run in waiting)
    problem(t, server.call("POST", other, body, key="", headers=sign("s3cret-value", first, body)), 401, "unauthenticated")
    t.equal(server.get("/api/executions/" + waiting[1]).json()["state"], "paused", "what was signed for one run resumes no other")
    taken = server.call("POST", other + "?", body, key="", headers=sign("s3cret-value", other, body))
    t.equal(taken.status, 200, "the query is no part of it")
    t.true(any("time, method, path and body" in text for text in refused_by_ledger(t, server, "execution.trigger")), "it is audited")


@case("proves: F-048 A-196 A-197")
def a_large_body_lets_in_whom_a_small_one_does(t):
    t.write("hooks.rego", POLICY)
    server = Server(t, "--runners", t.write("runners.yaml", "policies:\n  hooks: { file: hooks.rego }\n"))
    for text in (TRIGGERED.replace("payload ${payload.n}", "x"), FORGED, GATED, PAUSED):
        server.define(text)
    for name in ("order-secret", "forge-secret", "definition/triggered"):
        secret(t, server, name, "s3cret-value")
    body = json.dumps({"n": 1, "more": "x" * 600000}).encode()
    push = json.dumps({"ref": "refs/heads/main", "repository": {"full_name": "acme/shop"}, "more": "x" * 600000}).encode()
    forged = lambda body, value="s3cret-value": {"X-Hub-Signature-256": "sha256=" + hmac.new(value.encode(), body, "sha256").hexdigest()}
    operator = {"Authorization": "Bearer " + server.key("operator")}
    waiting = {name: server.begin(name, wait="30s")["_links"]["trigger"]["href"] for name in ("paused", "gated")}
    where = "/maestro/hooks/default/"
    rows = [
        (where + "triggered/signed", body, "signed", 202), (where + "triggered/twin", body, "for another", 401), (where + "triggered/signed", body, "signed", 401),
        (where + "triggered/none", body, "signed", 401), (where + "none/signed", body, "signed", 401), (where + "triggered/asked", body, {"X-Team": "shop"}, 202),
        (where + "triggered/asked", body, {"X-Team": "yard"}, 401), (where + "triggered/keyed", body, operator, 202), (where + "triggered/keyed", body, {}, 401),
        (where + "triggered/none", body, operator, 404), (where + "forged/ci", body, forged(body), 202), (where + "forged/twin", body, forged(body, "another"), 401),
        (where + "forged/git_push", push, forged(push), 202), (where + "forged/git_push", body, forged(body, "another"), 401),
        (waiting["paused"], body, "for another", 401), (waiting["paused"], body, "signed", 200), (waiting["gated"], body, forged(body), 200),
        ("/maestro/trigger/" + "c" * 21 + "/approval", body, "signed", 401),
    ]
    for path, sent, headers, status in rows:
        with t.row(f"{path} {str(headers)[:40]}"):
            if isinstance(headers, str):
                headers = sign("s3cret-value", path if headers == "signed" else path + "x", sent)
            answer = server.call("POST", path, sent, key="", headers=headers)
            t.equal(answer.status, status, str(answer))
    for name in ("paused", "gated"):
        t.equal(server.get("/api/executions/%s?wait=30s" % waiting[name].split("/")[3]).json()["status"], "COMPLETED", name)


def memory_with(pid, text):
    """Of each place of a process's memory that has a text: whether core dumps leave it out."""
    places, found = [], []
    with open(f"/proc/{pid}/smaps", encoding="utf-8") as lines:
        for line in lines:
            place = re.match("([0-9a-f]+)-([0-9a-f]+) r", line)
            if re.match("[0-9a-f]+-[0-9a-f]+ ", line):
                places.append([int(n, 16) for n in place.groups()] + [False] if place else None)
            elif line.startswith("VmFlags:") and places[-1]:
                places[-1][2] = " dd" in line
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for begin, end, is_left_out in filter(None, places):
            with contextlib.suppress(OSError, ValueError, OverflowError):
                memory.seek(begin)
                found += [is_left_out] * memory.read(end - begin).count(text)
    return found


@case("proves: A-197")
def the_secret_that_a_body_is_compared_with_is_in_no_memory_that_is_dumped(t):
    if SANITIZED:                   # its memory is terabytes, as far as can be seen
        return
    server = Server(t)
    server.define(TRIGGERED.replace("payload ${payload.n}", "x"))
    value = "s3cret-" + os.urandom(16).hex()
    secret(t, server, "order-secret", value)
    path = "/maestro/hooks/default/triggered/signed"
    for size in (10, 600000):
        with t.row(str(size)):
            body = json.dumps({"n": 1, "more": "x" * size}).encode()
            t.equal(server.call("POST", path, body, key="", headers=sign(value, path, body)).status, 202)
            found = memory_with(server.process.pid, value.encode())
            t.true(found and all(found), f"left out of dumps: {found}")


@case("proves: A-212")
def a_payload_that_two_readers_would_take_differently_is_none(t):
    server = Server(t)
    for text in (TRIGGERED, PAUSED):
        server.define(text)
    secret(t, server, "order-secret", "s3cret-value")
    run = server.begin("paused", wait="30s")
    for path in ("/maestro/hooks/default/triggered/signed", run["_links"]["trigger"]["href"]):
        for body in (b'{"n":1,"n":2}', b'{"n":', b'{"n":1,"n":2,"more":"%s"}' % (b"x" * 600000)):
            with t.row(f"{path} {body[:20]}"):
                problem(t, server.call("POST", path, body, key="", headers=sign("s3cret-value", path, body)), 400, "invalid")
    t.equal(server.get(run["_links"]["self"]["href"]).json()["state"], "paused", "it has resumed nothing")
    t.equal(runs(server, "triggered"), [], "nor started anything")


@case("proves: A-196 A-197")
def a_trigger_of_a_large_plan_lets_in_whom_that_of_a_small_one_does(t):
    server = Server(t)
    steps = "".join(f"      - {{ name: s{i}, run: noop }}\n" for i in range(6000))
    pause = "{ name: %s, log: x, pause_after: { trigger: %s, timeout: 1h, rate_limit: 1/h, resume_when: 'payload.ok == true' } }"
    server.define(f"workflow: large\njobs:\n  a:\n    tasks:\n      - {pause % ('one', 'first')}\n      - {pause % ('two', 'second')}\n{steps}")
    secret(t, server, "definition/large", "s3cret-value")
    run = server.begin("large", wait="30s")["executionId"]
    large = json.dumps({"ok": False, "more": "x" * 300000}).encode()
    rows = [("first", b"{}", "another", 401), ("none", b"{}", "s3cret-value", 401), ("first", large, "another", 401), ("first", large, "s3cret-value", 200),
            ("first", b"{}", "s3cret-value", 429), ("first", b"{}", None, 401), ("second", b'{"ok": true}', "s3cret-value", 200)]
    for trigger, body, value, status in rows:
        with t.row(f"{trigger} {len(body)} {value}"):
            path = f"/maestro/trigger/{run}/{trigger}"
            answer = server.call("POST", path, body, key="", headers=sign(value, path, body) if value else {})
            t.equal(answer.status, status, str(answer))
    t.equal(server.post(f"/maestro/trigger/{run}/none", {}, key=server.key("operator")).status, 404, "who has a key is told")
    t.equal(server.post(f"/maestro/trigger/{run}/none", {}, key=server.key("operator", "other")).status, 404)
    server.post(f"/api/executions/{run}/cancel", {})


@case("proves: F-049 F-050")
def a_trigger_is_taken_as_often_as_it_declares_and_no_request_twice(t):
    server = Server(t)
    server.define(TRIGGERED)
    secret(t, server, "order-secret", "s3cret-value")
    path = "/maestro/hooks/default/triggered/"
    for status in (202, 202, 429):
        answer = server.post(path + "rare", {"n": 1})
        t.equal(answer.status, status, str(answer))
    t.true(3500 <= int(answer.headers["Retry-After"]) <= 3600, "it says when to come again")
    server.define("workflow: rated\njobs: { a: { tasks: [{ name: ask, log: x, pause_after: { trigger: approval, timeout: 1h, "
                  "auth: { api_key: true }, rate_limit: 1/h } }] } }\n")
    run = server.begin("rated", wait="30s")["executionId"]
    for status in (200, 429):
        answer = server.post(f"/maestro/trigger/{run}/approval", {})
        t.equal(answer.status, status, str(answer))
    t.true(3500 <= int(answer.headers["Retry-After"]) <= 3600, "one that resumes says so, too")
    body = b'{"n": 2}'
    headers = sign("s3cret-value", path + "signed", body)
    first = server.call("POST", path + "signed", body, key="", headers=headers)
    t.equal(first.status, 202)
    t.equal(server.call("POST", path + "signed", body, key="", headers=headers).status, 401, "a replay")
    server.stop(signal.SIGKILL)
    server.start()
    again = server.call("POST", path + "signed", body, key="", headers=headers)
    t.equal((again.status, again.json().get("executionId")), (202, first.json()["executionId"]), "another process answers it as the first, and starts nothing")
    t.equal(len(runs(server, "triggered")), 3)


@case("proves: F-049")
def requests_whose_bodies_come_late_are_taken_no_more_often(t):
    server = Server(t)
    server.define(TRIGGERED)
    body, begun = b'{"n": 1}', []
    for _ in range(6):
        connection = server.connect()
        connection.putrequest("POST", "/maestro/hooks/default/triggered/rare")
        for name, value in (("Authorization", "Bearer " + server.admin), ("Content-Type", "application/json"), ("Content-Length", str(len(body)))):
            connection.putheader(name, value)
        connection.endheaders()
        begun.append(connection)
        t.equal(server.get("/readyz", key="").status, 200, "its head has come")
        time.sleep(0.01)
    statuses = []
    for connection in reversed(begun):
        connection.send(body)
        statuses.append(connection.getresponse().status)
    t.equal(statuses, [202] * 2 + [429] * 4, "whose head came first may be the last")


@case("proves: F-006 F-050")
def what_is_signed_anew_with_the_same_key_starts_nothing(t):
    server = Server(t)
    server.define(TRIGGERED)
    secret(t, server, "order-secret", "s3cret-value")
    now, where = int(time.time()), "/maestro/hooks/default/triggered/"

    def request(key, at, n=1, trigger="signed"):
        body = b'{"n": %d}' % n
        return where + trigger, body, dict(sign("s3cret-value", where + trigger, body, at), **({"Idempotency-Key": key} if key else {}))

    def send(path, body, headers):
        return server.call("POST", path, body, key="", headers=headers)
    first, again = send(*request("q1", now)), send(*request("q1", now + 1))
    t.equal((first.status, again.status, again.json()["executionId"]), (202, 202, first.json()["executionId"]), "signed anew")
    t.equal((first.json()["repeated"], again.json()["repeated"]), (False, True))
    problem(t, send(*request("q1", now, n=2)), 422, "idempotency-key-reused")
    t.true(send(*request("q1", now, trigger="twin")).json()["executionId"] != first.json()["executionId"], "of another trigger it is another")
    path, body, headers = request("q1", now + 1)
    for name, replayed in (("another key", dict(headers, **{"Idempotency-Key": "q2"})), ("the same", headers)):
        with t.row("a replay with " + name):
            problem(t, send(path, body, replayed), 401, "unauthenticated")
    server.stop(signal.SIGKILL)
    server.start()
    for name, key in (("the same key", "q1"), ("another key", "q2"), ("no key", None)):
        with t.row("a replay to another process with " + name):
            for at in (now, now + 1):
                server.stop(signal.SIGKILL)
                server.start()
                t.equal(send(*request(key, at)).json().get("executionId"), first.json()["executionId"], "what it knows by its signature starts nothing")
    t.equal(len(runs(server, "triggered")), 2)


@case("proves: F-006 F-050")
def what_is_signed_anew_with_the_same_key_is_one_event_of_a_trigger_that_debounces(t):
    server = Server(t)
    server.define(DEBOUNCED.replace("{ api_key: true }", "{ hmac: order-secret }") % "1h")
    secret(t, server, "order-secret", "s3cret-value")
    now, path, body = int(time.time()), "/maestro/hooks/default/debounced/order", b'{"n": 1}'
    send = lambda key, at: server.call("POST", path, body, key="", headers=dict(sign("s3cret-value", path, body, at), **{"Idempotency-Key": key})).json()
    t.equal([sorted(send("q1", at)) for at in (now, now + 1)], [["accepted", "startsAt"], ["accepted", "repeated"]])
    server.stop(signal.SIGKILL)
    server.start()
    t.equal(sorted(send("q2", now + 1)), ["accepted", "repeated"], "another process knows what was signed anew")
    server.stop()
    shown = t.maestro("ledger", "show", "--limit", "1000", "--store", "sqlite:" + server.store).out
    t.equal(shown.count('"start-deferred"'), 1, "one event")


@case("proves: F-006 F-050")
def a_resume_trigger_that_is_signed_anew_with_the_same_key_is_taken_once(t):
    server = Server(t)
    server.define(PAUSED)
    secret(t, server, "order-secret", "s3cret-value")
    run = server.begin("paused", wait="30s")["executionId"]
    now, path = int(time.time()), f"/maestro/trigger/{run}/approval"

    def send(at, body=b"{}", key="q1"):
        return server.call("POST", path, body, key="", headers=dict(sign("s3cret-value", path, body, at), **{"Idempotency-Key": key}))
    t.equal([send(at).status for at in (now, now + 1)], [200, 200], "the second is the first, come again")
    problem(t, send(now, b'{"n":2}'), 422, "idempotency-key-reused")
    problem(t, send(now + 2, key="q2"), 409, "conflict")
    events = server.get(f"/api/executions/{run}/events").json()["items"]
    t.equal([e["event"] for e in events].count("trigger-received"), 1)


@case("proves: A-192 A-193 C-99 F-006")
def a_resume_trigger_is_answered_with_what_came_of_it(t):
    server = Server(t)
    pause = "{ name: %s, log: x, pause_after: { trigger: %s, timeout: 1h, auth: { api_key: true }, resume_when: 'payload.ok == true' } }"
    server.define("workflow: two\njobs: { a: { tasks: [%s, %s] } }\n" % (pause % ("one", "first"), pause % ("two", "second")))
    run, document = server.begin("two", wait="30s")["executionId"], server.get("/openapi.json").json()

    def send(trigger, ok, key):
        answer = server.post(f"/maestro/trigger/{run}/{trigger}", {"ok": ok}, headers={"Idempotency-Key": key})
        t.equal(violations(document, {"$ref": "#/components/schemas/Triggered"}, answer.json()), [], "as the document has it")
        return answer.status, answer.json()["outcome"], answer.json()["repeated"]
    rows = [("its condition does not hold", "first", False, "k1", "unmet", False), ("come again", "first", False, "k1", "unmet", True),
            ("its pause is still ahead", "second", True, "k2", "kept", False), ("it resumes", "first", True, "k3", "answered", False),
            ("come again", "first", True, "k3", "answered", True), ("come again after all is over", "second", True, "k2", "kept", True)]
    for name, trigger, ok, key, outcome, repeated in rows:
        with t.row(name):
            t.equal(send(trigger, ok, key), (200, outcome, repeated))
        if outcome == "answered":
            t.equal(server.get(f"/api/executions/{run}?wait=30s").json()["status"], "COMPLETED")
    server.stop(signal.SIGKILL)
    server.start()
    t.equal(send("first", False, "k1"), (200, "unmet", True), "another process knows it")
    told = problem(t, server.post(f"/maestro/trigger/{run}/first", {"ok": 1}, headers={"Idempotency-Key": "k1"}), 422, "idempotency-key-reused")
    t.contains(told["detail"], "'k1'", "the key that its sender knows")
    t.true("trigger/" not in told["detail"], told["detail"])


@case("proves: F-049 C-28")
def resume_triggers_that_come_at_once_are_taken_as_often_as_their_pause_says(t):
    server = Server(t)
    server.define("workflow: often\njobs: { a: { tasks: [{ name: ask, log: x, pause_after: { trigger: go, timeout: 1h, auth: { api_key: true },"
                  " rate_limit: 5/h, resume_when: 'payload.ok == true' } }] } }\n")
    run = server.begin("often", wait="30s")["executionId"]
    address, head = f"/maestro/trigger/{run}/go", {"Authorization": "Bearer " + server.admin, "Content-Type": "application/json"}
    senders = [server.connect() for _ in range(24)]
    for i, sender in enumerate(senders):
        sender.request("POST", address, json.dumps({"ok": False, "n": i}), head)
    answers = [sender.getresponse() for sender in senders]
    t.equal(sorted(answer.status for answer in answers), [200] * 5 + [429] * 19, "all of them at once")
    for answer in answers:
        answer.read()
    late = server.post(address, {"ok": True})
    t.equal(late.status, 429, "and one more")
    t.true(3000 < int(late.headers["Retry-After"]) <= 3600, "until the first of them is an hour old: " + late.headers["Retry-After"])


@case("proves: F-049 F-050")
def what_was_too_often_may_come_again_as_it_was_signed(t):
    server = Server(t)
    server.define(TRIGGERED.replace("key: rare, auth: { api_key: true }, rate_limit: 2/h", "key: rare, auth: { hmac: order-secret }, rate_limit: 1/s"))
    secret(t, server, "order-secret", "s3cret-value")
    send = lambda body, headers: server.call("POST", "/maestro/hooks/default/triggered/rare", body, key="", headers=headers)
    events = [(body, sign("s3cret-value", "/maestro/hooks/default/triggered/rare", body)) for body in (b'{"n": %d}' % i for i in range(8))]
    late = [event for event in events if send(*event).status == 429]
    t.require(late, "some are too many")
    time.sleep(1.1)
    t.equal(send(*late[0]).status, 202, "it is taken when its time has come")
    t.equal(send(*late[0]).status, 401, "and once")


@case("proves: F-050 F-051")
def an_event_that_is_debounced_counts_once_also_over_a_kill(t):
    server = Server(t)
    server.define((DEBOUNCED % "1s").replace("api_key: true", "hmac: order-secret"))
    secret(t, server, "order-secret", "s3cret-value")
    path = "/maestro/hooks/default/debounced/order"
    send = lambda body, headers: server.call("POST", path, body, key="", headers=headers)
    first, last = ((body, sign("s3cret-value", path, body)) for body in (b'{"n": 1}', b'{"n": 2}'))
    trace = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": "congo=t61 rcWkgMzE,rojo=1"}
    t.equal((send(*first).status, send(last[0], dict(last[1], **trace)).status), (202, 202))
    server.stop(signal.SIGKILL)
    server.start()
    again = send(*first)
    t.equal((again.status, again.json()), (202, {"accepted": True, "repeated": True}), "what comes again does not take the place of the last")
    t.until(lambda: runs(server, "debounced"), "the run is started")
    run = runs(server, "debounced")[0]["executionId"]
    t.equal(server.get("/api/executions/" + run).json()["triggerPayload"], {"n": 2})
    told = server.get(f"/api/executions/{run}/events").json()["items"][0]
    t.equal((told["trace"][3:35], told["tracestate"]), (trace["traceparent"][3:35], trace["tracestate"]), "it is of the last one's trace")
    server.stop(signal.SIGKILL)
    server.start()
    t.equal(send(*last).json(), {"accepted": True, "repeated": True})
    time.sleep(1.5)
    t.equal(len(runs(server, "debounced")), 1, "nor does it start another")


@case("proves: F-047")
def people_start_a_workflow_by_api_and_command_as_its_manual_trigger_says(t):
    server = Server(t)
    server.define(TRIGGERED)
    operator = server.key("operator")
    for status in (201, 201, 201, 429):
        t.equal(server.post("/api/executions", {"workflowId": "triggered"}, key=operator).status, status)
    t.equal({run["source"] for run in runs(server, "triggered")}, {"manual"})
    t.equal(server.post("/api/executions", {"workflowId": "triggered"}, key=server.key("viewer")).status, 403)
    server.define("workflow: locked\ntriggers: [{ manual: { enabled: false } }]\njobs: { a: { tasks: [{ log: x }] } }\n")
    refused = server.post("/api/executions", {"workflowId": "locked"}, key=operator)
    t.equal(refused.status, 409)
    t.contains(refused.json()["detail"], "manual.enabled")
    ran = t.maestro("run", t.write("by-hand.yaml", "workflow: by-hand\ntriggers: [{ manual: true }]\njobs: { a: { tasks: [{ log: x }] } }\n"),
                    "--server", f"http://127.0.0.1:{server.port}", env={"MAESTRO_TOKEN": server.admin})
    t.equal(ran.code, 0, ran.out + ran.err)
    t.equal([run["source"] for run in runs(server, "by-hand")], ["manual"])


@case("proves: F-048 G-20")
def a_push_starts_what_waits_for_its_branch_with_the_secret_of_the_definition(t):
    server = Server(t)
    server.define(TRIGGERED)
    secret(t, server, "definition/triggered", "of-the-definition")
    commits = [{"id": "1", "verification": {"verified": True}}]
    rows = [
        ("main", {"ref": "refs/heads/main", "repository": {"name": "shop"}, "commits": commits}, True),
        ("another branch", {"ref": "refs/heads/work", "repository": {"name": "shop"}, "commits": commits}, False),
        ("another repository", {"ref": "refs/heads/main", "repository": {"name": "yard"}, "commits": commits}, False),
        ("a commit without a signature", {"ref": "refs/heads/main", "repository": {"name": "shop"}, "commits": commits + [{"id": "2"}]}, False),
        ("no commits", {"ref": "refs/heads/main", "repository": {"name": "shop"}, "commits": []}, False),
    ]
    for name, push, is_taken in rows:
        with t.row(name):
            body = json.dumps(push).encode()
            wrong = server.call("POST", "/maestro/hooks/default/triggered/git_push", body, key="", headers=sign("another", "/maestro/hooks/default/triggered/git_push", body))
            t.equal(wrong.status, 401)
            answer = server.call("POST", "/maestro/hooks/default/triggered/git_push", body, key="", headers=sign("of-the-definition", "/maestro/hooks/default/triggered/git_push", body))
            t.equal((answer.status, answer.json()["accepted"]), (202, is_taken), str(answer))
    t.equal([run["source"] for run in runs(server, "triggered")], ["push:main"])


FORGED = """workflow: forged
triggers:
  - webhook: { key: ci, auth: { hub_signature: forge-secret } }
  - webhook: { key: twin, auth: { hub_signature: forge-secret } }
  - git_push: { branch: main, repository: acme/shop, auth: { hub_signature: forge-secret } }
jobs:
  a:
    tasks:
      - { name: say, run: noop }
"""
GATED = """workflow: gated
jobs:
  a:
    tasks:
      - { name: say, run: noop, pause_after: { trigger: checks, timeout: 1h, auth: { hub_signature: forge-secret } } }
"""


@case("proves: F-048 F-050 A-197")
def a_forge_signs_its_webhooks_its_own_way(t):
    server = Server(t)
    server.define(FORGED)
    server.define(GATED)
    secret(t, server, "forge-secret", "s3cret-value")
    forged = lambda body, value="s3cret-value", **more: {"X-Hub-Signature-256": "sha256=" + hmac.new(value.encode(), body, "sha256").hexdigest(), **more}
    push = json.dumps({"ref": "refs/heads/main", "repository": {"full_name": "acme/shop"}, "commits": [{"id": "1"}]}).encode()
    other = json.dumps({"ref": "refs/heads/work", "repository": {"full_name": "acme/shop"}}).encode()
    body = b'{"action": "completed"}'
    rows = [
        ("signed by another", "ci", body, forged(body, "another"), 401, None), ("signed for another body", "ci", body, forged(b"{}"), 401, None),
        ("not signed", "ci", body, {}, 401, None), ("as others are signed", "ci", body, sign("s3cret-value", "/maestro/hooks/default/forged/ci", body), 401, None),
        ("signed", "ci", body, forged(body, **{"X-GitHub-Delivery": "d1"}), 202, True),
        ("the same delivery", "ci", body, forged(body, **{"X-GitHub-Delivery": "d1"}), 401, None),
        ("the same under another name", "ci", body, forged(body, **{"X-GitHub-Delivery": "d2"}), 401, None),
        ("at another trigger", "twin", body, forged(body), 202, True),
        ("a push", "git_push", push, forged(push), 202, True), ("a push to another branch", "git_push", other, forged(other), 202, False),
    ]
    for name, trigger, sent, headers, status, is_taken in rows:
        with t.row(name):
            answer = server.call("POST", "/maestro/hooks/default/forged/" + trigger, sent, key="", headers=headers)
            t.equal((answer.status, answer.json().get("accepted")), (status, is_taken), str(answer))
    t.equal(sorted(run["source"] for run in runs(server, "forged")), ["push:main", "webhook:ci", "webhook:twin"])
    run = server.begin("gated", wait="30s")
    path = run["_links"]["trigger"]["href"]
    t.equal(server.call("POST", path, body, key="", headers=forged(body, "another")).status, 401)
    t.equal(server.get(run["_links"]["self"]["href"]).json()["state"], "paused")
    t.equal(server.call("POST", path, body, key="", headers=forged(body)).status, 200)
    t.equal(server.get(run["_links"]["self"]["href"] + "?wait=30s").json()["status"], "COMPLETED", "it has resumed the run")
    server.stop()
    told = refused_by_ledger(t, server, "execution.start")
    t.true(any("the signature is not that of the body" in text for text in told), told)


@case("proves: F-048")
def triggers_for_pushes_have_a_secret_each(t):
    server = Server(t)
    server.define("""workflow: two
triggers:
  - git_push: { branch: main, auth: { hub_signature: one } }
  - git_push: { branch: dev, auth: { hub_signature: other } }
jobs: { a: { tasks: [{ name: say, run: noop }] } }
""")
    secret(t, server, "one", "first-value")
    secret(t, server, "other", "second-value")
    rows = [("main", "first-value", 202, True), ("dev", "second-value", 202, True), ("dev", "first-value", 202, False), ("main", "third-value", 401, None)]
    for number, (branch, value, status, is_taken) in enumerate(rows):
        with t.row(f"{branch} signed with {value}"):
            body = json.dumps({"ref": "refs/heads/" + branch, "number": number}).encode()
            signed = {"X-Hub-Signature-256": "sha256=" + hmac.new(value.encode(), body, "sha256").hexdigest()}
            answer = server.call("POST", "/maestro/hooks/default/two/git_push", body, key="", headers=signed)
            t.equal((answer.status, answer.json().get("accepted")), (status, is_taken), str(answer))
    t.equal(sorted(run["source"] for run in runs(server, "two")), ["push:dev", "push:main"])


@case("proves: F-051")
def several_events_start_one_run_with_the_last_payload(t):
    server = Server(t)
    server.define(DEBOUNCED % "2s")
    path = "/maestro/hooks/default/debounced/order"
    for n in range(5):
        answer = server.post(path, {"n": n})
        t.equal((answer.status, answer.json()["accepted"]), (202, True), str(answer))
        t.true("executionId" not in answer.json() and answer.json()["startsAt"], "when it starts is told")
    t.until(lambda: runs(server, "debounced"), "the run is started")
    found = runs(server, "debounced")
    run = server.get("/api/executions/%s?wait=30s" % found[0]["executionId"]).json()
    t.equal((len(found), run["triggerPayload"], run["source"]), (1, {"n": 4}, "webhook:order"))
    shown = t.maestro("ledger", "show", "--limit", "1000", "--store", "sqlite:" + server.store).out
    events = [e for line in shown.splitlines() for e in json.loads(line)["events"] if e["event"].startswith("start-")]
    t.equal([e["count"] for e in events if e["event"] == "start-deferred"], [1, 2, 3, 4, 5])
    t.until(lambda: '"start-settled"' in t.maestro("ledger", "show", "--limit", "1000", "--store", "sqlite:" + server.store).out, "it is settled")
    t.equal(server.post(path, {"n": 9}).status, 202)
    t.until(lambda: len(runs(server, "debounced")) == 2, "the next event begins anew")
    t.equal(t.maestro("ledger", "verify", "--store", "sqlite:" + server.store).code, 0)


@case("proves: F-051")
def an_event_that_was_refused_starts_nothing(t):
    server = Server(t)
    server.define(DEBOUNCED % "2s")
    path = "/maestro/hooks/default/debounced/order"
    infinity = resource.RLIM_INFINITY

    def refused(body):
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (16384, infinity))      # as good as a full disk
        t.equal(server.post(path, body).status, 503)
        t.until(lambda: server.get("/readyz", key="").status == 503, "it is not ready")
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (infinity, infinity))
        t.until(lambda: server.get("/readyz", key="").status == 200, "it is ready again")
    refused({"n": 1})
    time.sleep(3)
    t.equal(runs(server, "debounced"), [], "nothing waits, and nothing is started")
    t.equal(server.post(path, {"n": 2}).status, 202)
    refused({"n": 3})
    t.until(lambda: runs(server, "debounced"), "the run is started")
    time.sleep(3)
    found = runs(server, "debounced")
    t.equal([server.get("/api/executions/" + run["executionId"]).json()["triggerPayload"] for run in found], [{"n": 2}], "by what was taken")
    t.equal(t.maestro("ledger", "verify", "--store", "sqlite:" + server.store).code, 0)


@case("proves: F-051")
def what_waits_outlives_its_process_and_is_started_once(t):
    server = Server(t)
    server.define(DEBOUNCED % "3s")
    path = "/maestro/hooks/default/debounced/order"
    for n in range(3):
        t.equal(server.post(path, {"n": n}).status, 202)
    server.stop(signal.SIGKILL)
    server.start()
    t.equal(server.post(path, {"n": 7}).status, 202, "one more comes to the next process")
    t.until(lambda: runs(server, "debounced"), "the run is started")
    server.stop(signal.SIGKILL)
    server.start()
    first = runs(server, "debounced")
    t.until(lambda: server.get("/api/executions/" + first[-1]["executionId"]).json()["status"] == "COMPLETED", "it ends")
    t.equal((len(first), first[-1]["triggerPayload"]), (1, {"n": 7}))
    server.define(DEBOUNCED % "1s")
    t.equal(server.post(path, {"n": 8}).status, 202)
    version = server.get("/api/workflows/default/debounced").json()["activeVersion"]
    t.equal(server.post(f"/api/workflows/default/debounced/revisions/{version}/deactivate", {}).status, 200)
    t.until(lambda: "no revision of workflow" in t.maestro("ledger", "show", "--limit", "1000", "--store", "sqlite:" + server.store).out,
            "what cannot be started is told")
    t.equal(len(runs(server, "debounced")), 1)


if __name__ == "__main__":
    main()
