#!/usr/bin/env python3
"""The user interface in a real browser: what an operator sees of runs as they go, and every action with its reason in the ledger."""
import json
import re

from browser_test import Browser
from maestro_test import ROOT, case, main
from server_test import HELLO, Server

UI = ROOT / "ui"
ENTER, ESCAPE = "\ue007", "\ue00c"

# Goes on when the file `go` is there, so that what is seen in between does not depend on time.
HELD = """workflow: held
jobs:
  first: { tasks: [{ name: work, run: shell, args: ["sh", "-c", "echo at work; until [ -e %s/go ]; do sleep 0.05; done; printf '{\\"rows\\": 12345678901234567890.10}' > $MAESTRO_OUTPUT"],
                     compensation: { run: shell, args: ["sh", "-c", "echo undone"] } }] }
  second: { needs: [first], tasks: [{ name: rest, log: "the rest" }] }
"""

FAILING = """workflow: fails
jobs:
  a:
    tasks:
      - { name: book, run: shell, args: ["sh", "-c", "echo booked"], compensation: { run: shell, args: ["sh", "-c", "echo undone"] } }
      - { name: pay, run: shell, args: ["sh", "-c", "exit 65"], retries: { attempts: 1 } }
"""

PAUSING = """workflow: pausing
jobs:
  a:
    tasks:
      - name: ask
        log: "asked"
        pause_after: { trigger: manager-approval, timeout: 1h, auth: { api_key: true } }
      - { name: after, log: "after" }
"""

GATED = """workflow: gated
jobs:
  gate: { tasks: [{ name: wait, log: "asks", wait_for_signal: { signal: release, timeout: 1h } }] }
  after: { needs: [gate], tasks: [{ name: ship, log: "released" }] }
"""


def sign_in(page, server, key=None, place=""):
    page.open(f"http://127.0.0.1:{server.port}/{place}")
    page.type("#key", key or server.admin)
    page.click("form button[type=submit]")
    page.until("#who")


def actor_of(key):
    """As the ledger names whoever has that key."""
    return "key:" + key.split(".")[-2]


def run_of(server, run):
    return server.get("/api/executions/" + run).json()


def events_of(server, run):
    return server.get(f"/api/executions/{run}/events?limit=500").json()["items"]


def is_told(event, actor, reason):
    return event["actor"] == actor and reason in json.dumps([event.get("rationale"), event.get("message")])


def act(page, action, reason, fields=lambda page: None):
    """Clicks an action, fills in its dialog and sends it."""
    page.click(f"[data-action='{action}']")
    page.until("dialog[open] h2")
    fields(page)
    page.type("dialog #f-reason", reason)
    page.click("dialog button[type=submit]")
    page.t.until(lambda: not page.has("dialog[open]") or page.has("dialog .problem"), "the dialog is closed")
    page.t.equal(page.text("dialog .problem"), "", "what was refused")


def state_of(page):
    return page.js("return document.querySelector('.place-head .chip')?.dataset.state ?? ''")


# --- who ----------------------------------------------------------------------------------------------------------------------


@case("proves: R-018")
def a_person_signs_in_with_a_key_that_stays_in_the_tab(t):
    server = Server(t)
    with Browser(t) as page:
        page.open(f"http://127.0.0.1:{server.port}/")
        page.type("#key", "mk.default.abcdefgh.nonsense")
        page.click("form button[type=submit]")
        page.until(".problem", "nobody is known by this key")
        t.true(page.has(".problem a[href='#/errors/unauthenticated']"), "the help is named")
        page.type("#key", server.admin)
        page.click("form button[type=submit]")
        page.until("#who", "every namespace · admin")
        page.until(".empty", "Nothing has been started yet")
        t.equal(page.js("return [Object.keys(localStorage).length, document.cookie]"), [0, ""], "nothing is kept beyond the tab")
        page.js("location.reload()")
        page.until("#who", "admin")
        page.click("#sign-out")
        page.until("#key")
        t.equal(page.js("return sessionStorage.length"), 0, "the key is forgotten")
        viewer = server.key("viewer", "acme")
        page.type("#key", viewer)
        page.click("form button[type=submit]")
        page.until("#who", "acme · viewer")
        made = t.maestro("key", "revoke", viewer.split(".")[-2], "--store", "sqlite:" + server.store)
        t.equal(made.code, 0, made.err)
        page.until("main.signin", "no longer known")


@case("proves: F-109")
def another_tenant_sees_nothing(t):
    server = Server(t)
    server.define(HELLO)
    run = server.begin("hello", {"who": "x"}, wait="30s")["executionId"]
    with Browser(t) as page:
        sign_in(page, server, server.key("operator", "other"))
        page.until(".empty", "Nothing has been started yet")
        page.go("#/executions/" + run)
        page.until(".problem", "There is no such execution")
        page.go("#/workflows")
        page.until(".empty", "No workflow is stored here")
        page.go("#/workflows/default/hello")
        page.until(".problem", "There is no such workflow")
        page.go("#/waiting")
        page.until(".empty", "Nobody waits for you")
        t.lacks(page.js("return document.documentElement.outerHTML").replace(run, ""), "greet", "the page")


# --- one run --------------------------------------------------------------------------------------------------------------------


@case("proves: F-127 F-047 R-018")
def a_run_is_started_and_seen_on_one_page_as_it_goes(t):
    server = Server(t)
    server.define(HELD % t.folder)
    with Browser(t) as page:
        sign_in(page, server, place="#/workflows/default/held")
        page.click("[data-action='start']")
        page.until("dialog[open] h2", "Start held")
        page.click("dialog button[type=submit]")
        page.until(".place-head .chip", "running")
        run = page.js("return location.hash").split("/")[-1]
        page.until("[data-step='first.work'][data-state='running']")
        page.until(".lamp.live", "live")
        page.until(".log", "at work")
        page.until(".place-figures", "no earlier execution to compare")
        t.equal(page.js("return document.querySelector('.node[data-step=\"second.rest\"]').dataset.state"), "not begun")
        t.write("go", "")
        page.until(".place-head .chip", "succeeded")                # nobody loads the page again
        with t.row("lineage"):
            t.equal(page.js("return [...document.querySelectorAll('.node')].map((n) => n.dataset.step + ' ' + n.dataset.state)"),
                    ["first.work succeeded", "second.rest succeeded"])
            t.equal(page.js("return document.querySelectorAll('path.edge').length"), 1, "edges")
            page.press(".node[data-step='first.work']", ENTER)
            page.until("#step-detail", "12345678901234567890.1")
            t.contains(page.text("#step-detail"), "second.rest")
        with t.row("transitions"):
            page.until(".timeline li[data-event='run-succeeded']")
            told = page.js("return [...document.querySelectorAll('.timeline li')].map((l) => l.dataset.event)")
            t.equal([kind for kind in reversed(told) if kind.startswith("run-")], ["run-created", "run-running", "run-succeeded"])
            t.contains(page.text(".timeline li[data-event='run-created']"), actor_of(server.admin))
            page.click("#details-toggle")
            page.until(".timeline li[data-event='job-moved']", "second")
        with t.row("policy decisions"):
            page.t.until(lambda: len(page.texts("tr[data-verdict='permitted']")) == 5, "the start, and both ends of both steps")
            rows = server.get(f"/api/executions/{run}/verdicts").json()["items"]
            t.equal([row["hook"] for row in rows], ["run-start", "step-dispatch", "step-end", "step-dispatch", "step-end"])
            t.contains(page.text(".place-verdicts"), rows[0]["digest"][7:19])
        with t.row("projections"):
            again = server.begin("held", wait="30s")["executionId"]
            page.go("#/executions/" + again)
            page.until(".place-figures", "usually")
            page.until(".place-figures", "1 earlier execution")
            t.contains(page.text(".place-figures"), "Projected cost")
        t.equal(page.console(), [], "the browser complains about nothing")


METER = """executors:
  meter:
    kind: process
    cost: 3600
    runners:
      meter/read: { command: "echo '{\\"cost\\": 0.25}' >&3" }
      meter/work: { command: "sleep 0.3" }
      meter/wait: { command: ["sh", "-c", "until [ -e %s/go ]; do sleep 0.05; done"] }
"""
METERED = """workflow: %s
config: { cost_limit: 2, timeout: 1h }
jobs:
  a: { tasks: [{ name: wait, run: meter/wait }] }
  b: { needs: [a], tasks: [{ name: work, run: %s }] }
"""


@case("proves: F-127")
def time_and_cost_are_projected_from_earlier_runs_and_declared_prices(t):
    server = Server(t, "--runners", str(t.write("runners.yaml", METER % t.folder)))
    server.define(METERED % ("reads", "meter/read"))
    server.define(METERED % ("works", "meter/work"))
    gate = t.folder / "go"

    def begun(workflow):
        run = server.begin(workflow)["executionId"]
        t.until(lambda: [s["state"] for s in run_of(server, run)["steps"]] == ["running"], "the first step runs")
        return run

    def projected(run):
        return server.get(f"/api/executions/{run}/projection").json()

    def finished(run):
        gate.write_text("")
        t.until(lambda: run_of(server, run)["state"] == "succeeded", "it ends")
        gate.unlink()

    with t.row("the first one"):
        run = begun("reads")
        now = projected(run)
        t.equal((now["sampleCount"], now["latency"]["remainingMs"], now["latency"]["usualMs"]), (0, None, None), "there is nothing to compare with")
        t.equal((now["latency"]["stepsLeft"], now["latency"]["stepsUnknown"]), (2, 2))
        t.equal((now["cost"]["spent"], now["cost"]["limit"], now["cost"]["projected"], now["cost"]["basis"]), (0, 2, 0, "reported"))
        t.matches(now["latency"]["deadlineAt"], r"^\d{4}-")
        t.contains(now["method"], "median")
        finished(run)
        t.equal([projected(run)["cost"][name] for name in ("spent", "projected")], [0.25, 0.25], "what it reported")
        t.equal(projected(run)["latency"]["remainingMs"], 0)
    with t.row("by what earlier ones cost"):
        run = begun("reads")
        now = projected(run)
        t.equal((now["sampleCount"], now["cost"]["spent"], now["cost"]["projected"], now["cost"]["basis"]), (1, 0, 0.25, "earlier-executions"))
        t.true(now["latency"]["usualMs"] > 0 and now["latency"]["expectedEndAt"] < now["latency"]["deadlineAt"], f"what it took counts: {now}")
        t.equal(now["latency"]["stepsUnknown"], 0)
        finished(run)
    with t.row("by declared prices"):
        run = begun("works")
        finished(run)
        run = begun("works")
        now = projected(run)
        t.true(now["latency"]["remainingMs"] >= 300, f"the second step takes its time: {now}")
        t.true(now["cost"]["basis"] == "declared-prices" and now["cost"]["projected"] >= 0.3, f"a second costs 1: {now}")
        with Browser(t) as page:
            sign_in(page, server, place="#/executions/" + run)
            page.until(".place-figures", "by the prices of executors")
            page.until(".place-figures", "until about")
            page.until(".place-figures", "of 2.00 at most")
            page.until(".place-figures", "1 earlier execution")
        finished(run)


@case("proves: F-127")
def a_denial_is_shown_with_its_policy_digest_and_reason(t):
    policy = t.write("guard.rego", 'package maestro.guard\n\ndeny contains "not on fridays" if {\n\tinput.hook == "step-dispatch"\n\tinput.step.name == "pay"\n}\n')
    t.write("runners.yaml", "policies:\n  guard: { file: guard.rego, phases: [pre-flight, post-flight] }\n")
    server = Server(t, "--runners", str(t.folder / "runners.yaml"))
    server.define(FAILING.replace("workflow: fails", "workflow: fails\npolicies: [guard]"))
    run = server.begin("fails", wait="30s")["executionId"]
    verdicts = server.get(f"/api/executions/{run}/verdicts").json()["items"]
    t.equal([(v["hook"], v["stepId"], v["verdict"]) for v in verdicts], [("run-start", None, "permitted"), ("step-dispatch", "a.book", "permitted"),
            ("step-end", "a.book", "permitted"), ("step-dispatch", "a.pay", "denied")], str(policy))
    denied = verdicts[-1]
    t.equal((denied["policies"], denied["reason"]), (["guard"], "guard: not on fridays"))
    t.matches(denied["digest"] + denied["inputDigest"], "^sha256:[0-9a-f]{64}sha256:[0-9a-f]{64}$")
    for name, whole in (("verdicts", verdicts), ("events", events_of(server, run))):
        for limit in (1, 2, 3, 5):
            with t.row(f"{name} in pages of {limit}"):
                pages = [server.get(f"/api/executions/{run}/{name}?limit={limit}").json()]
                while "next" in pages[-1]["_links"]:
                    pages.append(server.get(pages[-1]["_links"]["next"]["href"]).json())
                t.equal([item["number"] for page in pages for item in page["items"]], [item["number"] for item in whole], "none is left out")
    with Browser(t) as page:
        sign_in(page, server, place="#/executions/" + run)
        page.until("tr[data-verdict='denied']", "not on fridays")
        t.contains(page.text("tr[data-verdict='denied']"), "guard")
        t.contains(page.text("tr[data-verdict='denied']"), denied["digest"][7:19])
        page.until(".timeline li[data-event='verdict']", "A policy denies step-dispatch")


# --- actions --------------------------------------------------------------------------------------------------------------------


@case("proves: F-128 F-129 F-130")
def a_run_is_paused_resumed_and_cancelled_by_command_api_and_page(t):
    server = Server(t)
    server.define(HELD % t.folder)
    key = server.key("operator")
    actor = actor_of(key)
    order = [("pause", "paused", "run-paused"), ("resume", "running", "run-running"), ("cancel", "cancelled", "run-cancelling")]

    def begun():
        run = server.begin("held")["executionId"]
        t.until(lambda: run_of(server, run)["state"] == "running", "it runs")
        return run

    def told(run, name, event, who, reason):
        found = [e for e in events_of(server, run) if e["event"] == event and is_told(e, who, reason)]
        t.true(found, f"the ledger tells {event} by {who}: {reason}: {[e for e in events_of(server, run) if e['event'] == event]}")

    with t.row("command"):
        run = begun()
        for name, state, event in order:
            done = t.maestro(name, run, "--reason", f"{name} by command", "--store", "sqlite:" + server.store)
            t.equal(done.code, 0, done.err)
            t.until(lambda: run_of(server, run)["state"] == state, state)
            t.true([e for e in events_of(server, run) if e["event"] == event and f"{name} by command" in json.dumps(e)], event)
    with t.row("api"):
        run = begun()
        for name, state, event in order:
            t.equal(server.post(f"/api/executions/{run}/{name}", {"reason": f"{name} by api"}, key=key).status, 200)
            t.until(lambda: run_of(server, run)["state"] == state, state)
            told(run, name, event, actor, f"{name} by api")
    with t.row("page"), Browser(t) as page:
        run = begun()
        sign_in(page, server, key, "#/executions/" + run)
        for name, state, event in order:
            act(page, name, f"{name} by page")
            t.until(lambda: state_of(page) == state, f"the page says {state}")
            told(run, name, event, actor, f"{name} by page")
            page.until(".timeline", f"{name} by page")
        t.true(not page.has("[data-action]"), "nothing more can be done")
        t.equal(page.console(), [], "the browser complains about nothing")


TWO_JOBS = """workflow: jobs
failure_mode: continue-independent
jobs:
  left:
    tasks:
      - { name: one, run: shell, input: { command: "until [ -e %(folder)s/go ]; do sleep 0.05; done" } }
      - { name: two, log: "two" }
  right: { tasks: [{ name: work, run: shell, input: { command: "until [ -e %(folder)s/go-right ]; do sleep 0.05; done" } }] }
"""


@case("proves: F-128 F-129 F-130 F-069")
def a_job_is_paused_resumed_and_cancelled_by_page(t):
    server = Server(t)
    server.define(TWO_JOBS % {"folder": t.folder})
    key = server.key("operator")
    run = server.begin("jobs")["executionId"]

    def of(page, name):
        return page.js(f"return document.querySelector('tr[data-job=\\'{name}\\']')?.dataset.state ?? ''")

    def act_on(page, job, action, reason):
        page.click(f"tr[data-job='{job}'] [data-job-action='{action}']")
        page.until("dialog[open] h2", job)
        page.type("dialog #f-reason", reason)
        page.click("dialog button[type=submit]")
        t.until(lambda: not page.has("dialog[open]") or page.has("dialog .problem"), "the dialog is closed")
        t.equal(page.text("dialog .problem"), "", "what was refused")

    with Browser(t) as page:
        sign_in(page, server, key, "#/executions/" + run)
        t.until(lambda: of(page, "left") == "running" and of(page, "right") == "running", "both run")
        for action, state, event in (("pause", "paused", "job-paused"), ("resume", "running", "job-resumed"), ("cancel", "cancelled", "job-cancelling")):
            with t.row(action):
                act_on(page, "left", action, f"{action} by page")
                t.until(lambda: of(page, "left") == state, f"the page says {state}")
                t.true([e for e in events_of(server, run) if e["event"] == event and is_told(e, actor_of(key), f"{action} by page")], event)
                page.until(f".timeline li[data-event='{event}']", "left")
                t.equal(of(page, "right"), "running", "the other job")
        t.true(not page.has("tr[data-job='left'] [data-job-action]"), "nothing more can be done about it")
        t.true(page.has("tr[data-job='right'] [data-job-action='pause']"), "about the other one there is")
        t.write("go-right", "")
        page.until(".place-head .chip", "failed")
        t.equal(page.console(), [], "the browser complains about nothing")


@case("proves: F-131")
def a_failed_run_is_compensated_retried_and_decided_on_by_page(t):
    server = Server(t)
    server.define(FAILING)
    key = server.key("operator")
    runs = [server.begin("fails", wait="30s")["executionId"] for _ in range(4)]
    with Browser(t) as page:
        sign_in(page, server, key, "#/executions/" + runs[0])
        page.until(".banner.bad", "exit code 65")
        page.until(".figures", "2 of 2")            # a step that failed has ended, too
        act(page, "compensate", "the customer is gone", lambda p: p.choose("dialog #f-scope", "PARTIAL") or p.choose("dialog #f-steps", "a.book"))
        t.until(lambda: state_of(page) == "compensated", "the page says compensated")
        t.true([e for e in events_of(server, runs[0]) if e["event"] == "compensation-started" and is_told(e, actor_of(key), "the customer is gone")], "the ledger has who and why")
        page.go("#/executions/" + runs[1])
        page.until(".banner.bad")
        act(page, "retry-from", "the till was closed", lambda p: p.choose("dialog #f-step", "a.book"))
        t.until(lambda: [e for e in events_of(server, runs[1]) if e["event"] == "decision-made" and is_told(e, actor_of(key), "the till was closed")], "the ledger has it")
        page.go("#/waiting")
        page.until(f"li[data-run='{runs[2]}']", "exit code 65")
        for run in runs[2:]:
            page.click(f"li[data-run='{run}'] input[type=checkbox]")
            t.until(lambda: page.js("return document.querySelector(arguments[0])?.checked", f"li[data-run='{run}'] input[type=checkbox]"), "it is chosen")
        act(page, "decide-many", "known since monday", lambda p: p.choose("dialog #f-decision", "MARK_RESOLVED"))
        page.until(".note", "2 executions decided")
        for run in runs[2:]:
            t.equal(run_of(server, run)["resolution"], "RESOLVED")
            t.true([e for e in events_of(server, run) if e["event"] == "decision-made" and is_told(e, actor_of(key), "known since monday")], "the ledger has who and why")


@case("proves: F-132")
def a_waiting_gate_is_approved_or_denied_with_identity_and_reason(t):
    server = Server(t)
    server.define(PAUSING)
    server.define(GATED)
    key = server.key("operator")
    actor = actor_of(key)
    rows = [("pausing", "approve", "succeeded", "trigger-received"), ("pausing", "deny", "failed", "trigger-received"),
            ("gated", "approve-gate", "succeeded", "signal-received"), ("gated", "deny-gate", "failed", "signal-received")]
    with Browser(t) as page:
        sign_in(page, server, key)
        for workflow, action, state, event in rows:
            with t.row(f"{workflow} {action}"):
                run = server.begin(workflow, wait="30s")["executionId"]
                page.go("#/waiting")
                page.until(f"li[data-run='{run}'] [data-action='{action}']")
                page.go("#/executions/" + run)
                page.until(f"[data-action='{action}']")
                act(page, action, f"{action}: said the manager")
                t.until(lambda: state_of(page) == state, f"the page says {state}")
                t.true([e for e in events_of(server, run) if e["event"] == event and is_told(e, actor, f"{action}: said the manager")], "the ledger has who and why")
        with t.row("what does not fit is refused in words"):
            run = server.begin("pausing", wait="30s")["executionId"]
            page.go("#/executions/" + run)
            page.click("[data-action='approve']")
            page.type("dialog #f-payload", "{no json")
            page.type("dialog #f-reason", "x")
            page.click("dialog button[type=submit]")
            page.until("dialog .problem", "is no JSON")
            page.type("dialog #f-payload", '{"approved": true}')
            server.post(f"/api/executions/{run}/cancel", {"reason": "meanwhile"})
            page.click("dialog button[type=submit]")
            page.until("dialog .problem", "The state does not permit it")
            t.true(page.has("dialog .problem a[href='#/errors/conflict']"), "with the way to its help")
            page.press("dialog #f-reason", ESCAPE)
        with t.row("who may only look is offered nothing of it, or told so"):
            paused, run = (server.begin(name, wait="30s")["executionId"] for name in ("pausing", "gated"))
            sign_out_and_in(page, server, server.key("viewer"), paused)
            t.until(lambda: state_of(page) == "paused", "the page says so")
            for action in ("approve", "deny", "cancel"):
                t.true(not page.has(f"[data-action='{action}']"), action)
            page.go("#/executions/" + run)
            page.click("[data-action='approve-gate']")
            page.type("dialog #f-reason", "x")
            page.click("dialog button[type=submit]")
            page.until("dialog .problem", "the role viewer does not permit execution.signal")
            t.equal([run_of(server, one)["state"] for one in (paused, run)], ["paused", "waiting-signal"])


def sign_out_and_in(page, server, key, run):
    page.click("#sign-out")
    page.type("#key", key)
    page.click("form button[type=submit]")
    page.until("#who")
    page.go("#/executions/" + run)


PLACES = """executors:
  east: { kind: process, region: eu-east, runners: { job/work: { command: "echo east" } } }
  west: { kind: process, region: eu-west, runners: { job/work: { command: "echo west" } } }
"""


@case("proves: F-133")
def a_run_that_nobody_may_carry_is_bound_elsewhere_by_page(t):
    server = Server(t, "--runners", str(t.write("runners.yaml", PLACES)))
    server.define("workflow: far\nplacement: { regions: [mars] }\njobs: { a: { tasks: [{ name: work, run: job/work }] } }\n")
    key = server.key("operator")
    run = server.begin("far")["executionId"]
    with Browser(t) as page:
        sign_in(page, server, key, "#/executions/" + run)
        page.until(".timeline li[data-event='step-deferred']")
        act(page, "rebind", "mars is far", lambda p: p.type("dialog #f-regions", "eu-west, eu-north"))
        t.until(lambda: state_of(page) == "succeeded", "the page says succeeded")
        page.until(".log", "west")
        page.until(".timeline li[data-event='run-rebound']", "mars is far")
    bound = [e for e in events_of(server, run) if e["event"] == "run-rebound"]
    t.equal([json.loads(e["message"]) for e in bound], [{"regions": ["eu-west", "eu-north"]}])
    t.true(is_told(bound[0], actor_of(key), "mars is far"), f"the ledger has who and why: {bound}")


# --- lists, workflows, help -------------------------------------------------------------------------------------------------------


@case("")
def executions_are_listed_filtered_paged_and_live(t):
    server = Server(t)
    server.define(HELLO)
    server.define(FAILING)
    for _ in range(52):
        server.begin("hello", {"who": "x"}, wait="30s")
    failed = server.begin("fails", wait="30s")["executionId"]
    with Browser(t) as page:
        sign_in(page, server)
        t.until(lambda: len(page.texts("tbody tr")) == 50, "a page of fifty")
        page.click(".pager button:last-child")
        t.until(lambda: len(page.texts("tbody tr")) == 3, "the rest")
        page.click(".pager button:first-child")
        t.until(lambda: len(page.texts("tbody tr")) == 50, "the first again")
        page.choose("#q-state", "failed")
        t.until(lambda: page.js("return [...document.querySelectorAll('tbody tr')].map((r) => r.dataset.run)") == [failed], "what failed")
        more = server.begin("fails", wait="30s")["executionId"]
        page.until(f"tr[data-run='{more}']", "exit code 65")                # by itself
        page.go("#/executions?workflow=hello&namespace=default&state=cancelled")
        page.until(".empty", "Nothing fits")


@case("")
def a_definition_is_stored_activated_started_and_deactivated(t):
    server = Server(t)
    with Browser(t) as page:
        sign_in(page, server, place="#/workflows")
        page.click("[data-action='store']")
        page.type("dialog #f-definition", "workflow: x\njobz: {}\n")
        page.click("dialog button[type=submit]")
        page.until("dialog .problem", "line 2")
        page.type("dialog #f-definition", "workflow: sums\nparams:\n- { name: amount, type: number }\n- { name: note, type: string, default: none }\njobs:\n")
        page.js("const e = document.querySelector('#f-definition'); e.value += arguments[0]", "  a: { tasks: [{ name: say, log: \"${params.amount} in all\" }] }\n")
        page.click("dialog button[type=submit]")
        page.until("main", "Activate it to start it.")
        act(page, "activate", "it is right")
        page.click("[data-action='start']")
        page.type("dialog #f-p-amount", "twelve")
        page.click("dialog button[type=submit]")
        page.until("dialog .problem", "is no number")
        page.type("dialog #f-p-amount", "0.10000000000000000000001")
        page.click("dialog button[type=submit]")
        page.until(".place-head .chip", "succeeded")
        run = page.js("return location.hash").split("/")[-1]
        t.contains(server.get("/api/executions/" + run).body.decode(), "0.10000000000000000000001", "to the last digit")
        page.until(".place-params", "0.10000000000000000000001")
        page.go("#/workflows/default/sums")
        page.until("[data-action='deactivate']")
        act(page, "deactivate", "it is not needed")
        page.until("main", "Activate it to start it.")
        t.equal(server.get("/api/workflows/default/sums").json()["activeVersion"], None)
        page.go("#/errors/conflict")
        page.until("article h2")
        t.lacks(page.text("article"), "`", "its text")


@case("")
def the_page_follows_a_server_that_was_away(t):
    server = Server(t)
    server.define(HELD % t.folder)
    run = server.begin("held")["executionId"]
    with Browser(t) as page:
        sign_in(page, server, place="#/executions/" + run)
        page.until(".lamp.live")
        port = server.port
        server.stop()
        page.until(".lamp.waiting", "reconnecting")
        server.process = t.start("server", "--shell", "--listen", f"127.0.0.1:{port}", "--store", "sqlite:" + server.store)
        t.until(lambda: "maestro serves" in t.said(server.process), "the server listens again")
        server.connection = None
        t.write("go", "")
        page.until(".place-head .chip", "succeeded")
        page.until(".timeline li[data-event='run-succeeded']")


# --- what it may not do ---------------------------------------------------------------------------------------------------------


EVIL = "<img src=x onerror=\"window.hacked=1\"><script>window.hacked=1</script>"


@case("proves: R-018")
def what_runs_say_is_shown_and_never_carried_out(t):
    server = Server(t)
    server.define(json.dumps({"workflow": "evil", "description": EVIL, "params": [{"name": "who", "type": "string"}], "jobs": {"a": {"tasks": [
        {"name": "out", "run": "shell", "args": ["sh", "-c", "printf '%s\\n' \"$0\"; printf '%s' \"$1\" > $MAESTRO_OUTPUT", EVIL, json.dumps({EVIL: EVIL})]},
        {"name": "fail", "run": "shell", "args": ["sh", "-c", "printf '%s' \"$0\" >&2; exit 65", EVIL], "retries": {"attempts": 1}}]}}}))
    run = server.begin("evil", {"who": EVIL}, wait="30s", reason=EVIL)["executionId"]
    server.post(f"/api/executions/{run}/resolve", {"decision": "MARK_RESOLVED", "reason": EVIL})
    with Browser(t) as page:
        sign_in(page, server, place="#/executions/" + run)
        page.until(".place-params", "onerror")
        page.until(".log", "onerror")
        page.until(".timeline", "onerror")
        page.click("[data-focus='step-0']")
        page.until("#step-detail", "onerror")
        for place in ("#/workflows", "#/workflows/default/evil", "#/executions", "#/errors/" + "%3Cimg%20src%3Dx%3E", "#/executions/%3Cscript%3E", "#/" + "%3Cimg%3E"):
            page.go(place)
            page.until("main h1")
        t.equal(page.js("return [window.hacked === undefined, document.querySelectorAll('img:not([src=\"/ui/icon.svg\"]), main script').length]"), [True, 0])
        said = page.js("try { document.body.innerHTML = '<b>x</b>'; return 'taken' } catch (error) { return error.name }")
        t.equal(said, "TypeError", "the browser itself refuses markup out of text")


@case("proves: R-018")
def nothing_comes_from_elsewhere_and_nothing_goes_there(t):
    server = Server(t)
    server.define(HELLO)
    run = server.begin("hello", {"who": "x"}, wait="30s")["executionId"]
    answer = server.get("/", key="")
    t.equal((answer.status, answer.headers["Content-Type"]), (200, "text/html; charset=utf-8"))
    policy = answer.headers["Content-Security-Policy"]
    for part in ("default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "form-action 'none'", "require-trusted-types-for 'script'"):
        t.contains(policy, part)
    t.lacks(policy, "unsafe")
    t.equal((answer.headers["Referrer-Policy"], answer.headers["X-Content-Type-Options"]), ("no-referrer", "nosniff"))
    with Browser(t) as page:
        sign_in(page, server, place="#/executions/" + run)
        for place in ("#/executions/" + run, "#/executions", "#/waiting", "#/workflows", "#/workflows/default/hello"):
            page.go(place)
            page.until("main h1")
        page.until("[data-action='start']")
        loaded = page.js("return performance.getEntriesByType('resource').map((e) => e.name)")
        t.true(len(loaded) > 20, f"what was loaded: {loaded}")
        t.equal([name for name in loaded if not name.startswith(f"http://127.0.0.1:{server.port}/")], [], "what came from elsewhere")
        t.equal(page.console(), [], "what the policy refused")


@case("")
def files_are_answered_once_packed_and_with_their_type(t):
    server = Server(t)
    for file in sorted(UI.glob("*.*")):
        if file.suffix not in (".js", ".css", ".html", ".svg") or file.name.endswith("_test.js"):
            continue
        with t.row(file.name):
            answer = server.get("/ui/" + file.name, key="")
            t.equal((answer.status, answer.body), (200, file.read_bytes()))
            t.equal(answer.headers["Content-Type"].split(";")[0], {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}[file.suffix])
            known = server.get("/ui/" + file.name, key="", headers={"If-None-Match": answer.headers["ETag"]})
            t.equal((known.status, known.body), (304, b""))
    t.equal(server.get("/ui/style.css", key="", headers={"Accept-Encoding": "gzip"}).headers["Content-Encoding"], "gzip")
    for name in ("README.md", "package.json", "none.js", "..%2fsecret", "layout_test.js"):
        with t.row(name):
            t.equal(server.get("/ui/" + name, key="").status, 404)
    t.equal(server.post("/", {}, key="").status, 405)


@case("proves: R-018")
def the_user_interface_knows_the_api_and_nothing_else(t):
    sources = {file: file.read_text(encoding="utf-8") for file in UI.iterdir() if file.is_file()}
    routes = re.findall(r'^ROUTE\(\w+, \w+, "([^"]+)", (\w+),', (ROOT / "src/api/routes.def").read_text(), re.M)
    public = {path.split("{")[0].rstrip("/") for path, access in routes} | {path for path, _ in routes}
    for file, text in sources.items():
        with t.row(file.name):
            if file.suffix == ".js" and not file.name.endswith("_test.js"):
                t.equal([name for name in re.findall(r'from "([^"]+)"', text) if not (name.startswith("./") and (UI / name[2:]).exists())], [], "what it imports")
                used = set(re.findall(r'["`](/(?:api|errors|openapi|metrics|maestro)[^"`?$]*)', text))
                t.equal([path for path in used if path.rstrip("/") not in public], [], "addresses that are no part of the API")
                t.equal(re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text), [], "ways to make markup out of text")
            if file.suffix in (".js", ".css", ".html", ".svg"):
                t.equal([url for url in re.findall(r"https?://[^\s\"'<>)]+", text) if url != "http://www.w3.org/2000/svg"], [], "addresses of others")
            t.lacks(text if file.suffix == ".js" else "", "src/", "paths inside of the server")
    inside = [file for file in (ROOT / "src").rglob("*.[ch]") if "ui_files" in file.read_text(encoding="utf-8")]
    t.equal([str(file.relative_to(ROOT)) for file in inside], ["src/api/ui_routes.c"], "who knows of it")
    t.equal([str(f.relative_to(ROOT)) for f in (ROOT / "src").rglob("meson.build") if "ui_files" in f.read_text()], ["src/api/meson.build"], "who embeds it")


@case("")
def its_pure_parts_pass_their_own_tests(t):
    result = t.run("node", "--test", "ui/", cwd=ROOT)
    t.equal(result.code, 0, result.out + result.err)
    t.matches(result.out, r"# pass [1-9]\d*")


@case("")
def it_can_be_read_on_a_phone_and_used_with_keys_alone(t):
    server = Server(t)
    server.define(PAUSING)
    run = server.begin("pausing", wait="30s")["executionId"]
    with Browser(t, 500, 844) as page:
        sign_in(page, server)
        for place in ("#/executions", "#/executions/" + run, "#/waiting", "#/workflows", "#/workflows/default/pausing"):
            page.go(place)
            page.until("main h1")
            with t.row(place):
                t.true(page.js("return document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out")
        page.go("#/executions/" + run)
        page.until("[data-action='pause'], [data-action='resume']")
        with t.row("names"):
            page.until(".node")
            bare = page.js("""return [...document.querySelectorAll('button, a, input, select, textarea, [tabindex="0"]')]
                .filter((e) => !(e.innerText || e.getAttribute('aria-label') || e.labels?.length || e.textContent.trim())).map((e) => e.outerHTML)""")
            t.equal(bare, [], "what has no name")
        page.press("[data-action='approve']", ENTER)
        page.until("dialog[open] h2")
        t.true(page.js("return document.activeElement.closest('dialog') !== null"), "the dialog has the focus")
        page.press("dialog #f-reason", ESCAPE)
        t.until(lambda: not page.has("dialog"), "it is closed")
        page.js("document.querySelector('.node').focus()")
        page.press(".node", " ")
        page.until("#step-detail", "a.ask")
        t.equal(page.js("return document.activeElement.getAttribute('data-focus')"), "node-0", "the focus stays")


if __name__ == "__main__":
    main()
