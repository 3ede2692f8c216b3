#!/usr/bin/env python3
"""Reviews of policies: recorded over HTTP and by the command, and what the readiness checklist makes of them."""
import json

from maestro_test import case, main
from schema_test import violations
from server_test import Server, problem

RUNNERS = """policies:
  small: { file: small.rego, phases: [pre-flight, mid-flight, post-flight], reviewed_by: nobody-in-particular }
  other: { file: other.rego, phases: [pre-flight] }
  gone: { file: gone.rego }
"""
SMALL = "package maestro.small\n\nallow := true\n"
FLOW = "workflow: guarded\ntenant: acme\npolicies: [small, other]\njobs: { a: { tasks: [{ log: x }] } }\n"


def prepare(t):
    t.write("runners.yaml", RUNNERS)
    t.write("small.rego", SMALL)
    t.write("other.rego", "package maestro.other\n\nallow := true\n")
    t.write("flow.yaml", FLOW)
    return Server(t, "--runners", t.folder / "runners.yaml")


def digests(server, **options):
    return {p["name"]: p["digest"] for p in server.get("/api/policies", **options).json()["items"]}


def review(server, policy="small", key=None, headers=None, **more):
    body = {"policy": policy, "digest": digests(server)[policy], "reviewer": "Ada", "verdict": "approved", **more}
    return server.call("POST", "/api/policies/review", {k: v for k, v in body.items() if v is not None}, key=key, headers=headers)


def standing(server, **options):
    """Of each policy, who said what of the version in force."""
    return {p["name"]: [(r["namespace"], r["reviewer"], r["verdict"]) for r in p["reviews"]] for p in server.get("/api/policies", **options).json()["items"]}


def checked(t, *where, env=None):
    result = t.maestro("check", "--production", "--json", t.folder / "flow.yaml", "--runners", t.folder / "runners.yaml", *where, env=env)
    (found,) = [c for c in result.json() if c["name"] == "policy-reviewed"]
    return found["answer"], found["evidence"]


@case("proves: F-178")
def a_review_of_a_version_is_recorded_and_listed(t):
    server = prepare(t)
    document = server.get("/openapi.json").json()
    schema = lambda name, value: t.equal(violations(document, document["components"]["schemas"][name], value), [], name)
    made = review(server, comment="as agreed", key=server.key("operator", "@all"), headers={"Idempotency-Key": "one"})
    t.equal(made.status, 201, str(made))
    schema("Review", made.json())
    t.equal({k: made.json()[k] for k in ("namespace", "policy", "reviewer", "verdict", "comment")},
            {"namespace": "*", "policy": "small", "reviewer": "Ada", "verdict": "approved", "comment": "as agreed"})
    t.equal(review(server, reviewer="Ben", verdict="rejected", key=server.key("operator", "acme")).json()["namespace"], "acme")
    schema("PolicyPage", server.get("/api/policies").json())
    t.equal(standing(server)["small"], [("*", "Ada", "approved")], "those that count for the tenant 'default'")
    t.equal(standing(server, key=server.key("viewer", "acme"))["small"], [("*", "Ada", "approved"), ("acme", "Ben", "rejected")])
    t.equal(review(server, reviewer="Ada", verdict="rejected").status, 201)
    t.equal(standing(server)["small"], [("*", "Ada", "rejected")], "the last word of a reviewer counts")
    for reviewer in ("Cid", "Dan", "Eve"):
        review(server, "other", reviewer=reviewer, namespace="acme")
    for key, want in ((None, 5), (server.key("viewer", "acme"), 5), (server.key("viewer", "beta"), 1)):
        seen, link = [], "/api/policies/review?limit=2"
        while link:
            page = server.get(link, key=key).json()
            schema("ReviewPage", page)
            seen += page["items"]
            link = page["_links"].get("next", {}).get("href")
        t.equal((len(seen), len({json.dumps(s, sort_keys=True) for s in seen})), (want, want), "each once")
    shown = t.maestro("ledger", "show", "--limit", "1000", "--store", "sqlite:" + server.store)
    records = [r for r in map(json.loads, shown.out.splitlines()) if r["events"][0]["event"] == "policy-reviewed"]
    t.equal(len(records), 6, "every word is in the ledger")
    first = records[-1] if records[-1]["events"][0].get("message") else records[0]
    t.equal((first["events"][0]["source"], first["events"][0]["key"], first["events"][0]["message"]), ("Ada", digests(server)["small"], "as agreed"))
    t.true(first["actor"].startswith("key:"), "and who recorded it")
    server.stop()
    t.write("small.rego", SMALL + "\n# another version\n")
    server.start()
    t.equal(standing(server)["small"], [], "another version was reviewed by nobody")
    t.equal(len(server.get("/api/policies/review").json()["items"]), 5, "what was said of the other is there still")
    server.stop()
    t.equal(t.maestro("store", "verify", "--store", "sqlite:" + server.store).code, 0)


@case("proves: F-178")
def what_is_no_review_is_refused(t):
    server = prepare(t)
    for why, answer, status, kind, words in (
        ("a viewer", review(server, key=server.key("viewer", "acme")), 403, "denied", "policy.review"),
        ("an author", review(server, key=server.key("author", "acme")), 403, "denied", "policy.review"),
        ("another tenant", review(server, key=server.key("operator", "acme"), namespace="beta"), 404, "not-found", "may see"),
        ("for all, by one", review(server, key=server.key("operator", "acme"), namespace="*"), 404, "not-found", "may see"),
        ("no such policy", server.post("/api/policies/review", {"policy": "none", "digest": "sha256:" + "0" * 64, "reviewer": "Ada", "verdict": "approved"}), 404,
         "not-found", "no policy 'none'"),
        ("another version", review(server, digest="sha256:" + "0" * 64), 409, "conflict", "that is in force"),
        ("no version", review(server, "gone", digest="sha256:" + "0" * 64), 409, "conflict", "cannot be used"),
        ("nobody", review(server, reviewer=" "), 400, "invalid", "'reviewer'"),
        ("who?", review(server, reviewer=None), 400, "invalid", "'reviewer' is missing"),
        ("a verdict", review(server, verdict="fine"), 400, "invalid", "'verdict'"),
        ("too much", review(server, comment="x" * 20000), 422, "limit-exceeded", "TEXT_SIZE_MAX"),
    ):
        with t.row(why):
            t.contains(problem(t, answer, status, kind)["detail"], words)
    t.equal(server.get("/api/policies/review").json()["items"], [])


@case("proves: F-178 F-170")
def the_readiness_checklist_wants_a_recorded_review_of_every_version(t):
    server = prepare(t)
    runners = ("--runners", t.folder / "runners.yaml")
    store, token = ("--store", "sqlite:" + server.store), {"MAESTRO_TOKEN": server.admin}
    ways = [("beside the store", store, None), ("as a client", ("--server", f"http://127.0.0.1:{server.port}"), token)]
    both = lambda: [checked(t, *where, env=env) for _, where, env in ways]
    t.contains(checked(t)[1], "reviewed_by", "without a store the configuration is all there is")
    for answer, evidence in both():
        t.equal(answer, "fail")
        t.equal(evidence, "2 of 2 policy versions attached without a recorded review that approves it: small (line 3: not reviewed), other (line 3: not reviewed)")
    for name, where, env in ways:
        with t.row(name):
            policy = "small" if env is None else "other"
            done = t.maestro("policy", "review", policy, "--verdict", "approved", "--reviewer", "Ada", "--comment", "read", *where, *runners, env=env)
            t.equal(done.code, 0, done.err)
            t.equal(done.out, f"{digests(server)[policy]} of {policy} is approved by Ada\n")
    lists = [t.maestro("policy", "review", *extra, *where, *runners, env=env).out for extra in ((), ("--json",), ("small",)) for _, where, env in ways]
    t.equal(lists[0::2], lists[1::2], "the same by either way")
    t.contains(lists[0], "approved by Ada")
    for answer, evidence in both():
        t.equal((answer, evidence), ("pass", "2 policies attached, each with a recorded review of its version"))
    t.equal(t.maestro("policy", "review", "small", "--verdict", "rejected", "--reviewer", "Ben", "--tenant", "acme", *store, *runners).code, 0)
    for answer, evidence in both():
        t.equal(answer, "fail")
        t.contains(evidence, "small (line 3: rejected by Ben)", "the tenant of the definition has a say of its own")
    for name, where, env in ways:
        with t.row("refusals " + name):
            ask = lambda *words: t.maestro("policy", "review", *words, "--reviewer", "Ben", *where, *runners, env=env)
            t.equal(ask("none", "--verdict", "approved").code, 69)
            t.equal(ask("small", "--verdict", "approved", "--digest", "sha256:" + "0" * 64).code, 1)
            t.equal(ask("gone", "--verdict", "approved").code, 1)
            t.equal(ask("--verdict", "approved").code, 2)
            t.equal(ask("small", "--verdict", "fine").code, 2)
    server.stop()
    t.equal(t.maestro("policy", "review", "small", "--verdict", "approved", "--reviewer", "Ben", "--tenant", "acme", *store, *runners).code, 0,
            "nobody owns the store")
    t.equal(checked(t, *store)[0], "pass")
    t.write("small.rego", SMALL + "\n# another version\n")
    t.equal(checked(t, *store)[0], "fail", "another version was reviewed by nobody")


if __name__ == "__main__":
    main()
