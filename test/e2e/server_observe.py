#!/usr/bin/env python3
"""What a server tells about itself: metrics, traces, its log, lines of steps as they are written, whether it is ready."""
import contextlib
import http.client
import json
import os
import queue
import re
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from maestro_test import MAESTRO, ROOT, case, main
from server_test import HELLO, Collector, Server
from stores import Disk, fill_disk

SHARED = ROOT.parent / "shared" if "MAESTRO_SHARED" not in os.environ else ROOT / os.environ["MAESTRO_SHARED"]
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

FAILING = """workflow: fails
tenant: default
jobs:
  a:
    tasks:
      - { name: first, log: "one" }
      - { name: second, run: shell, args: ["sh", "-c", "exit 75"], retries: { attempts: 2, delay: 1ms, on: [transient] } }
"""

SLOW = """workflow: slow
jobs:
  a:
    tasks:
      - { name: wait, run: shell, args: ["sleep", "600"] }
"""


def scrape(server, key=""):
    """Values of /metrics by name and labels as they are written."""
    text = server.get("/metrics", key=key).body.decode()
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if not line.startswith("#")}


def names(text):
    return set(re.findall(r"^# TYPE (\S+)", text, re.M))


# --- metrics ---

@case("proves: F-100 R-109")
def transitions_queues_retries_and_commits_are_counted_and_timed(t):
    server = Server(t)
    server.define(HELLO)
    server.define(FAILING)
    for _ in range(3):
        server.begin("hello", {"who": "x"}, wait="30s")
    t.equal(server.begin("fails", wait="30s")["status"], "FAILED")
    text = server.get("/metrics", key="").body
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True)
    t.equal((checked.returncode, checked.stdout + checked.stderr), (0, b""), "promtool")
    got = scrape(server)
    rows = [('maestro_execution_transitions_total{from="running",to="succeeded"}', 3),
            ('maestro_execution_transitions_total{from="running",to="failed"}', 1),
            ('maestro_execution_transition_seconds_count{from="running",to="succeeded"}', 3),
            ('maestro_execution_duration_seconds_count{state="succeeded"}', 3),
            ('maestro_execution_duration_seconds_count{state="failed"}', 1),
            ('maestro_step_transitions_total{from="running",to="succeeded"}', 4),
            ('maestro_step_transitions_total{from="running",to="failed"}', 1),
            ('maestro_step_transitions_total{from="queued",to="dispatched"}', 6),
            ('maestro_step_transition_seconds_count{from="running",to="failed"}', 1),
            ('maestro_retries_total{of="step"}', 1), ('maestro_retries_total{of="execution"}', 0),
            ('maestro_queue_depth{queue="commands"}', 0), ('maestro_queue_oldest_seconds{queue="commands"}', 0),
            ('maestro_queue_oldest_seconds{queue="consequences"}', 0), ('maestro_queue_wait_seconds_count{queue="log-lines"}', 4),
            ('maestro_policy_decisions_total{hook="run-start",verdict="allow"}', 4),
            ('maestro_engine_starts_total', 4), ('maestro_ready', 1), ('maestro_store_failures_total', 0)]
    for name, value in rows:
        with t.row(name):
            t.equal(got.get(name), value)
    t.true(got["maestro_store_commit_seconds_count"] >= 8, "commits are timed")
    t.equal(got["maestro_store_batch_records_count"] >= got["maestro_store_commit_seconds_count"], True, "and their sizes known")
    t.true(got["maestro_store_batch_events_sum"] >= got["maestro_engine_events_total"], "events of commits")
    t.true(got["process_resident_memory_bytes"] > 1e6 and got["process_open_fds"] > 3, "the process")
    buckets = [v for n, v in got.items() if n.startswith('maestro_execution_duration_seconds_bucket{state="succeeded"')]
    t.equal(buckets, sorted(buckets), "buckets are cumulative")


def histograms(text):
    """Every histogram of /metrics: (name, labels) -> its buckets as (bound, how many up to it), its sum and its count."""
    found = {}
    for name, labels, value in re.findall(r"^(\w+?)(?:\{(.*)\})? (\S+)$", text, re.M):
        part = re.search("_(bucket|sum|count)$", name)
        bound = re.search(r',?le="([^"]+)"', labels)
        if not part or (part[1] == "bucket") != bool(bound) or f"# TYPE {name[:part.start()]} histogram" not in text:
            continue
        one = found.setdefault((name[:part.start()], labels.replace(bound[0], "") if bound else labels), {"bucket": []})
        if bound:
            one["bucket"].append((float(bound[1]), float(value)))
        else:
            one[part[1]] = float(value)
    return found


@case("proves: F-100 R-109")
def every_histogram_agrees_with_itself_and_with_the_clock_of_who_asks(t):
    began = time.monotonic()
    server = Server(t, "--policy", t.write("p.rego", "package maestro.policies.p\nimport rego.v1\ndeny contains \"no\" if input.workflow == \"x\"\n"))
    server.define("workflow: nap\njobs:\n  a:\n    tasks:\n      - { name: rest, run: sleep, input: { duration: 300ms } }\n")
    t.equal(server.begin("nap", wait="30s")["status"], "COMPLETED")
    text = server.get("/metrics", key="").body.decode()
    found, lasted = histograms(text), time.monotonic() - began
    t.equal({name for name, _ in found}, set(re.findall(r"^# TYPE (\S+) histogram", text, re.M)), "each that is declared is there")
    for (name, labels), one in found.items():
        with t.row(f"{name}{{{labels}}}"):
            counts = [count for _, count in one["bucket"]]
            t.equal((counts, counts[-1], one["bucket"][-1][0]), (sorted(counts), one["count"], float("inf")), "its buckets add up")
            each = [(bound, count - before) for (bound, count), before in zip(one["bucket"], [0.0, *counts])]
            least = sum(count * low for (_, count), low in zip(each, [0.0, *(bound for bound, _ in each)]) if count)
            most = sum(count * bound for bound, count in each if count)
            t.true(0.98 * least <= one["sum"] <= 1.02 * most, f"its sum is what its buckets say: {least} <= {one['sum']} <= {most}")
            if name.endswith("_seconds"):
                t.true(one["sum"] <= one["count"] * lasted, f"nothing lasted longer than the case: {one['sum']}")
    for name, labels in (("maestro_http_request_duration_seconds", 'route="execution_start"'), ("maestro_execution_duration_seconds", 'state="succeeded"'),
                         ("maestro_step_transition_seconds", 'from="running",to="succeeded"')):
        with t.row(name):
            one = found[name, labels]
            t.true(one["count"] == 1 and 0.29 <= one["sum"] <= lasted, f"as long as it took: {one['sum']}")


def ledger_counts(server):
    with contextlib.closing(sqlite3.connect(f"file:{server.store}?mode=ro", uri=True)) as db:
        return db.execute("SELECT count(*), sum(event_count) FROM maestro_ledger").fetchone()


PAUSING = """workflow: pausing
jobs:
  a:
    tasks:
      - { name: one, log: "1", pause_after: { trigger: go, timeout: 1h, auth: { api_key: true } } }
      - { name: two, log: "2" }
"""


@case("proves: F-100")
def records_refusals_and_the_times_of_runs_that_left_memory_are_those_of_the_ledger(t):
    server = Server(t)
    records, events = ledger_counts(server)
    begun = scrape(server)
    server.define(PAUSING)                                  # records of the log are records, too
    server.define(FAILING)
    paused = [server.begin("pausing", wait="30s")["executionId"] for _ in range(2)]
    failed = server.begin("fails", wait="30s")["executionId"]
    t.equal(server.post(f"/api/executions/{paused[0]}/pause", {"reason": "again"}).status, 409)
    t.equal(scrape(server)["maestro_engine_refused_total"], 1, "who was refused is counted")
    time.sleep(0.2)                                         # what a run waits is told, be it in memory meanwhile or not
    server.post(f"/api/executions/{paused[0]}/resume", {"reason": "go"})
    server.post(f"/api/executions/{failed}/resolve", {"decision": "RETRY", "reason": "once more"})
    for run in (paused[0], failed):
        server.get(f"/api/executions/{run}?wait=30s")
    got = scrape(server)
    now = ledger_counts(server)
    t.equal((got["maestro_engine_records_total"] - begun["maestro_engine_records_total"],
             got["maestro_engine_events_total"] - begun["maestro_engine_events_total"]), (now[0] - records, now[1] - events))
    t.equal((got["maestro_store_batch_records_sum"], got["maestro_store_batch_events_sum"]),
            (got["maestro_engine_records_total"], got["maestro_engine_events_total"]))
    for move in ('from="paused",to="running"', 'from="failed",to="queued"'):
        with t.row(move):
            t.equal(got["maestro_execution_transition_seconds_count{%s}" % move], 1)
            t.true(got["maestro_execution_transition_seconds_sum{%s}" % move] >= 0.2, "as long as it waited")
    server.stop(signal.SIGKILL)
    server.start()
    server.post(f"/api/executions/{paused[1]}/resume", {"reason": "go"})
    server.get(f"/api/executions/{paused[1]}?wait=30s")
    t.true(scrape(server)['maestro_execution_transition_seconds_sum{from="paused",to="running"}'] >= 0.2, "over a restart, too")


def stored_states(server):
    with contextlib.closing(sqlite3.connect(f"file:{server.store}?mode=ro", uri=True)) as db:
        return {state.lower().replace("_", "-"): count for state, count in db.execute("SELECT state, count(*) FROM maestro_workflows GROUP BY state")}


def told_states(server):
    prefix = 'maestro_executions{state="'
    return {name[len(prefix):-2]: int(count) for name, count in scrape(server).items() if name.startswith(prefix) and count}


@case("proves: F-100 R-109")
def executions_are_counted_by_state_as_they_are_committed_and_right_after_a_restart_too(t):
    server = Server(t)
    server.define(HELLO)
    server.define(FAILING)
    server.define(SLOW)
    t.equal(scrape(server)['maestro_executions{state="failed"}'], 0, "of a state that nothing is in")
    for _ in range(3):
        server.begin("hello", {"who": "x"}, wait="30s")
    failed = server.begin("fails", wait="30s")["executionId"]
    gone = server.begin("slow")["executionId"]
    server.post(f"/api/executions/{gone}/cancel", {"reason": "enough"})
    server.get(f"/api/executions/{gone}?wait=30s")
    server.begin("slow")
    t.until(lambda: told_states(server) == stored_states(server), "what is told is what is stored")
    t.equal(told_states(server).get("succeeded"), 3)
    infinity = resource.RLIM_INFINITY
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (16384, infinity))      # commits that the store does not take are not counted
    t.equal(server.post("/api/executions", {"workflowId": "hello", "parameters": {"who": "x"}}).status, 503)
    t.until(lambda: server.get("/readyz", key="").status == 503, "it is not ready")
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (infinity, infinity))
    t.until(lambda: server.get("/readyz", key="").status == 200, "it is ready again")
    server.begin("hello", {"who": "x"}, wait="30s")
    t.until(lambda: told_states(server) == stored_states(server), "what is told is what is stored, after commits that failed")
    for how in (signal.SIGKILL, signal.SIGTERM):
        server.stop(how)
        server.start()
        t.until(lambda: told_states(server) == stored_states(server), "what is told is what is stored, after a restart")
    server.post(f"/api/executions/{failed}/resolve", {"decision": "CANCEL", "reason": "enough"})
    t.until(lambda: told_states(server) == stored_states(server), "and so it stays")
    # Nobody who asks has the store counted: what a stranger wrote into it is not seen.
    before = told_states(server)
    with contextlib.closing(sqlite3.connect(server.store)) as db:
        columns = [row[1] for row in db.execute("PRAGMA table_info(maestro_workflows)")]
        row = dict(zip(columns, db.execute("SELECT * FROM maestro_workflows ORDER BY run_no DESC LIMIT 1").fetchone()))
        row.update(run_no=row["run_no"] + 1000, id=row["id"][:-1] + ("0" if row["id"][-1] != "0" else "1"))
        db.execute(f"INSERT INTO maestro_workflows ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})", list(row.values()))
        db.commit()
    t.equal(told_states(server), before)
    t.true(stored_states(server) != before, "the stranger's row is there")


@case("proves: F-100")
def what_waits_for_room_is_counted_with_its_age_by_executor_and_tenant(t):
    runners = "executors:\n  one:\n    kind: process\n    capacity: 1\n    runners:\n      slow/wait: { command: [\"sleep\", \"600\"] }\n"
    server = Server(t, "--runners", t.write("runners.yaml", runners))
    server.define("workflow: slow\njobs:\n  a:\n    tasks:\n      - { name: wait, run: slow/wait }\n")
    for _ in range(3):
        server.begin("slow")
    depth, oldest = 'maestro_queue_depth{queue="room",executor="one"}', 'maestro_queue_oldest_seconds{queue="room",executor="one"}'
    t.until(lambda: scrape(server)[depth] == 2, "two wait for the one place")
    t.until(lambda: scrape(server)[oldest] > 0, "the first of them grows older")
    got = scrape(server, key=server.admin)
    t.equal(got['maestro_executor_attempts{executor="one",kind="process"}'], 1)
    t.equal(got['maestro_executor_capacity{executor="one",kind="process"}'], 1)
    t.equal(got['maestro_tenant_queue_depth{tenant="default",queue="room"}'], 2)
    t.equal(got['maestro_tenant_attempts{tenant="default"}'], 1)


@case("proves: F-100")
def what_waits_for_room_at_any_of_several_executors_or_at_none_is_counted_too(t):
    place = "  {0}:\n    kind: process\n    capacity: 1\n    region: eu-{0}\n    runners:\n      slow/wait: {{ command: [\"sleep\", \"600\"] }}\n"
    server = Server(t, "--runners", t.write("runners.yaml", "executors:\n" + place.format("one") + place.format("two")))
    job = "jobs:\n  a:\n    tasks:\n      - { name: wait, run: slow/wait }\n"
    server.define("workflow: slow\n" + job)
    server.define("workflow: far\nplacement: { regions: [mars] }\n" + job)
    first = [server.begin("slow") for _ in range(4)][0]["executionId"]
    server.begin("far")

    def room(metric, executor):
        return scrape(server)['maestro_queue_%s{queue="room",executor="%s"}' % (metric, executor)]
    t.until(lambda: (room("depth", "(several)"), room("depth", "(nobody)")) == (2, 1), "two wait for either, and one for a place that there is not")
    for executor in ("(several)", "(nobody)"):
        t.until(lambda: room("oldest_seconds", executor) > 0, f"{executor} grows older")
    got = scrape(server, key=server.admin)
    t.equal((got['maestro_tenant_queue_depth{tenant="default",queue="room"}'], got['maestro_tenant_attempts{tenant="default"}']), (3, 2), "of its tenant")
    before = got['maestro_queue_wait_seconds_count{queue="room"}']
    t.equal(server.post(f"/api/executions/{first}/cancel", {"reason": "room"}).status, 200)
    t.until(lambda: room("depth", "(several)") == 1, "one of them has got it")
    got = scrape(server)
    t.true(got['maestro_queue_wait_seconds_count{queue="room"}'] > before and got['maestro_queue_wait_seconds_sum{queue="room"}'] > 0, "how long it had waited")
    for queue in ("commands", "consequences"):
        t.true(got['maestro_queue_wait_seconds_count{queue="%s"}' % queue] > 0, queue)


@case("proves: F-100")
def tenants_are_named_up_to_a_bound_and_the_others_are_one(t):
    server = Server(t)
    for i in range(40):
        server.define(SLOW.replace("workflow: slow", f"workflow: slow\ntenant: t{i}"), tenant=f"t{i}")
        server.begin("slow", namespace=f"t{i}")

    def attempts():
        return {n: v for n, v in scrape(server, key=server.admin).items() if n.startswith("maestro_tenant_attempts")}
    t.until(lambda: sum(attempts().values()) == 40, "all are under way")
    t.equal(len(attempts()), 33, "32 by name, and all others together")
    t.equal(attempts()['maestro_tenant_attempts{tenant="*"}'], 8)
    for name, key in (("nobody", ""), ("a key of one of them", server.key("admin", "t1")), ("another secret", server.admin[:-3] + "abc")):
        with t.row(name):
            told = server.get("/metrics", key=key).body.decode()
            t.contains(told, 'maestro_tenant_attempts{tenant="*"} 40', "they are one")
            t.lacks(told, 'tenant="t', "and have no names")
    t.contains(server.get("/metrics", key=server.key("viewer", "*")).body.decode(), 'maestro_tenant_attempts{tenant="t')


@case("")
def exchanges_and_leases_of_workers_are_counted(t):
    server = Server(t, "--runners", t.write("runners.yaml", "executors:\n  far:\n    kind: worker\n    lease: 1s\n    runners:\n      far/greet: {}\n"))
    server.define("workflow: far\njobs:\n  a:\n    tasks:\n      - { name: greet, run: far/greet, retries: { attempts: 2, delay: 1ms } }\n")
    key = server.key("worker", "*")
    run = server.begin("far")

    def exchange(**request):
        return server.post("/api/executors/far/exchange", dict(request, worker="w"), key=key).json()
    lease = exchange(want=1, wait_ms=30000)["leases"][0]
    got = scrape(server)
    t.equal((got["maestro_leases"], got["maestro_leases_granted_total"], got["maestro_worker_leases_total"]), (1, 1, 1))
    t.until(lambda: scrape(server)["maestro_leases_expired_total"] == 1, "nobody renews it: it runs out")
    late = exchange(reports=[{"token": lease["token"], "output": {}}])
    t.equal(late["results"][0]["result"], "refused", f"{late}")
    again = exchange(want=1, wait_ms=30000)["leases"][0]
    exchange(reports=[{"token": again["token"], "output": {}}])
    t.equal(server.get("/api/executions/%s?wait=30s" % run["executionId"]).json()["status"], "COMPLETED")
    got = scrape(server)
    t.equal((got["maestro_leases"], got["maestro_leases_granted_total"], got["maestro_worker_reports_total"]), (0, 2, 2))
    t.equal(server.get("/api/tenants").status, 200)                     # goes the same way to the engine, and is no exchange
    got = scrape(server)
    t.equal((got['maestro_worker_exchanges_total{outcome="answered"}'], got["maestro_worker_exchanges_waiting"]), (4, 0))
    t.equal(server.post("/api/executors/far/exchange", {"worker": "w", "heartbeats": 1}, key=key).status, 400)
    t.equal(scrape(server)['maestro_worker_exchanges_total{outcome="refused"}'], 1)


@case("")
def verdicts_of_policies_are_counted_and_timed(t):
    policy = t.write("p.rego", 'package maestro.policies.p\nimport rego.v1\ndeny contains "no" if input.workflow == "fails"\n'
                     'deny contains "not that" if { input.hook == "step-dispatch"; input.run.params.who == "nobody" }\n')
    server = Server(t, "--policy", policy)
    server.define(HELLO)
    server.define(FAILING)
    server.begin("hello", {"who": "x"}, wait="30s")
    refused = server.post("/api/executions", {"workflowId": "fails", "parameters": {}})
    t.equal(refused.status, 403)
    t.equal(server.begin("hello", {"who": "nobody"}, wait="30s")["status"], "FAILED")
    got = scrape(server)
    for hook, allowed, denied in (("run-start", 2, 1), ("step-dispatch", 1, 1), ("step-end", 1, 0)):
        with t.row(hook):
            t.equal((got['maestro_policy_decisions_total{hook="%s",verdict="allow"}' % hook],
                     got['maestro_policy_decisions_total{hook="%s",verdict="deny"}' % hook]), (allowed, denied), "they are counted")
            t.equal(got['maestro_policy_decision_seconds_count{hook="%s"}' % hook], allowed + denied, "and timed")


@case("proves: R-109 R-110")
def every_metric_is_documented_and_what_dashboard_and_alerts_name_is_there(t):
    server = Server(t)
    server.define(HELLO)
    server.begin("hello", {"who": "x"}, wait="30s")
    served = names(server.get("/metrics").body.decode())
    with open(ROOT / "docs" / "observability.md", encoding="utf-8") as file:
        documented = set(re.findall(r"^\| `((?:maestro|process)_\w+)` \|", file.read(), re.M))
    t.equal((sorted(served - documented), sorted(documented - served)), ([], []), "in one and not in the other")
    rules = subprocess.run(["promtool", "check", "rules", str(ROOT / "deploy" / "alerts.yml")], capture_output=True, text=True)
    t.equal(rules.returncode, 0, "promtool: " + rules.stdout + rules.stderr)
    fired = subprocess.run(["promtool", "test", "rules", str(ROOT / "test" / "e2e" / "alerts_test.yml")], capture_output=True, text=True)
    t.equal(fired.returncode, 0, "promtool: " + fired.stdout + fired.stderr)
    for name in ("alerts.yml", "grafana-dashboard.json"):
        with t.row(name), open(ROOT / "deploy" / name, encoding="utf-8") as file:
            used = {re.sub("_(bucket|sum|count)$", "", m) for m in re.findall(r"\b(?:maestro|process)_\w+", file.read())}
            t.equal(sorted(used - served), [], "metrics that nobody serves")
            t.true(len(used) > 5, "it uses some")


@case("proves: R-110")
def what_alerts_look_at_is_told_before_it_happens(t):
    got = scrape(Server(t))                     # a counter that begins with what it counts has not increased
    for name in ('maestro_execution_transitions_total{from="running",to="failed"}', 'maestro_http_requests_total{route="execution_start",status="5xx"}',
                 'maestro_http_requests_total{route="none",status="5xx"}', 'maestro_policy_decisions_total{hook="run-start",verdict="deny"}',
                 'maestro_access_decisions_total{verdict="deny"}', 'maestro_trace_spans_total{outcome="dropped"}',
                 'maestro_server_log_lines_dropped_total', "maestro_keys_refused_total", "maestro_leases_expired_total",
                 'maestro_executions{state="failed"}'):
        with t.row(name):
            t.equal(got.get(name), 0)


@case("proves: R-110")
def a_prometheus_scrapes_it_and_understands_every_expression(t):
    if not shutil.which("prometheus"):
        t.not_run("prometheus is not installed")
    server = Server(t)
    server.define(HELLO)
    server.begin("hello", {"who": "x"}, wait="30s")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = t.write("prometheus.yml", f"global: {{ scrape_interval: 1s, evaluation_interval: 1s }}\nrule_files: [{ROOT}/deploy/alerts.yml]\n"
                                       f"scrape_configs:\n  - job_name: maestro\n    static_configs: [{{ targets: ['127.0.0.1:{server.port}'] }}]\n"
                                       f"  - job_name: another\n    static_configs: [{{ targets: ['127.0.0.1:{port}'] }}]\n")
    with open(t.folder / "prometheus.log", "wb") as log:
        process = subprocess.Popen(["prometheus", "--config.file", config, "--storage.tsdb.path", str(t.folder / "tsdb"),
                                    "--web.listen-address", f"127.0.0.1:{port}"], stdout=log, stderr=log)
    try:
        def ask(expression):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("GET", "/api/v1/query?query=" + urllib.request.quote(expression))
            return json.loads(connection.getresponse().read())

        def is_scraped():
            try:
                return all(ask(one)["data"]["result"] for one in ('maestro_execution_duration_seconds_count{state="succeeded"}',
                                                                  'process_open_fds{job="another"}'))
            except (OSError, KeyError, ValueError):
                return False
        t.until(is_scraped, "prometheus has scraped the server")
        with open(ROOT / "deploy" / "grafana-dashboard.json", encoding="utf-8") as file:
            expressions = [target["expr"] for panel in json.load(file)["panels"] for target in panel.get("targets", [])]
        for expression in expressions:
            with t.row(expression):
                answer = ask(expression.replace("$__rate_interval", "1m"))
                t.equal(answer["status"], "success")
                t.equal([one for one in answer["data"]["result"] if one["metric"].get("job") == "another"], [], "of this server, and of no other program")
        t.until(lambda: ask("maestro_up")["data"]["result"][0]["value"][1] == "1", "it is up")
    finally:
        process.terminate()
        process.wait()


# --- whether it is ready ---

@case("proves: F-099")
def a_store_that_refuses_commits_makes_it_unready_and_is_logged(t):
    server = Server(t)
    server.define(HELLO)
    infinity = resource.RLIM_INFINITY
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (16384, infinity))      # as good as a full disk
    answer = server.post("/api/executions", {"workflowId": "hello", "parameters": {"who": "x"}})
    t.equal(answer.status, 503, f"{answer}")
    t.until(lambda: server.get("/readyz", key="").status == 503, "it is not ready")
    body = server.get("/readyz", key="").json()
    t.contains(body["detail"], "stalled")
    t.equal(server.get("/healthz", key="").status, 200, "the process lives")
    got = scrape(server)
    t.equal(got["maestro_ready"], 0)
    t.true(got["maestro_engine_stalls"] >= 1 and got["maestro_store_failures_total"] >= 1, "stalls and failures")
    end = time.monotonic() + 8                  # it is tried after 1 and 3 and 7 seconds, though nobody asks for anything
    while time.monotonic() < end:
        t.require(server.get("/readyz", key="").status == 503, "it is not ready while the disk is full")
        t.require(scrape(server)["maestro_ready"] == 0, "nor do the metrics say so")
        time.sleep(0.5)                         # each is a line of the log, whose file has the same limit
    t.true(scrape(server)["maestro_engine_stalls"] >= 3, "it was tried")
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (infinity, infinity))
    t.until(lambda: server.get("/readyz", key="").status == 200, "it is ready again")
    t.equal(server.begin("hello", {"who": "x"}, wait="30s")["status"], "COMPLETED")
    lines = [json.loads(line) for line in server.stop().err.splitlines()]
    told = [(e["level"], e["message"]) for e in lines if "store" in e["message"]]
    t.equal([level for level, _ in told], ["error", "warning"], f"{told}")
    t.contains(told[1][1], "again")


@case("proves: F-099")
def a_server_on_a_full_disk_is_not_ready_until_there_is_room(t):
    with Disk(t, "6m") as disk:
        server = Server(t, store=str(disk / "store.db"))
        server.define(HELLO)

        def start():
            fill_disk(disk)
            return server.post("/api/executions", {"workflowId": "hello", "parameters": {"who": "x" * 20000}}).status
        t.until(lambda: start() == 503, "the store has no room")
        t.until(lambda: server.get("/readyz", key="").status == 503, "it is not ready")
        end = time.monotonic() + 8
        while time.monotonic() < end:
            t.require(server.get("/readyz", key="").status == 503, "it is not ready while the disk is full")
            time.sleep(0.2)
        os.unlink(disk / "ballast")
        began = time.monotonic()
        t.until(lambda: server.get("/readyz", key="").status == 200, "it is ready again")
        t.true(time.monotonic() - began < 20, "soon")
        t.equal(server.begin("hello", {"who": "x"}, wait="30s")["status"], "COMPLETED")
        told = [e["message"] for e in map(json.loads, server.stop().err.splitlines()) if "the store" in e["message"]]
        t.equal(sum("takes commits again" in message for message in told), 1, f"once: {told}")


@case("")
def a_server_that_ends_is_not_ready_meanwhile(t):
    server = Server(t)
    server.define("workflow: nap\njobs:\n  a:\n    tasks:\n      - { name: wait, run: shell, args: [\"sleep\", \"3\"] }\n")
    waiting = threading.Thread(target=lambda: Server.post(server, "/api/executions?wait=30s", {"workflowId": "nap"}))
    waiting.start()
    other = server.connect()

    def ask(path):
        other.request("GET", path)
        answer = other.getresponse()
        return answer.status, answer.read()
    t.until(lambda: b"maestro_http_requests_waiting 1" in ask("/metrics")[1], "the request waits")
    t.equal(ask("/readyz")[0], 200)
    server.process.send_signal(signal.SIGTERM)
    seen = []

    def is_unready():
        try:
            seen.append(ask("/readyz"))
            return seen[-1][0] == 503
        except (OSError, http.client.HTTPException):
            return True
    t.until(is_unready, "it says so")
    t.true(seen and seen[-1][0] == 503 and b"draining" in seen[-1][1], f"{seen[-1:]}")
    waiting.join()
    t.equal(t.end(server.process).code, 0)


@case("")
def a_server_that_recovers_is_not_ready_until_it_has(t):
    server = Server(t)
    server.define(SLOW)
    for _ in range(300):
        server.begin("slow")
    server.stop(signal.SIGKILL)
    # The socket is there before the process, as systemd makes it: what is asked meanwhile is answered as soon as it can.
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    port = listener.getsockname()[1]

    def ask(path):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    early = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    early.request("GET", "/readyz")
    script = 'exec 3<&%d; export LISTEN_FDS=1 LISTEN_PID=$$; exec "$0" "$@"' % listener.fileno()
    with open(t.folder / "second.log", "wb") as log:
        process = subprocess.Popen(["sh", "-c", script, str(MAESTRO), "server", "--store", "sqlite:" + server.store],
                                   pass_fds=[listener.fileno()], stdout=log, stderr=log)
    try:
        first = early.getresponse()
        body = json.loads(first.read())
        if first.status == 503:
            t.contains(body["detail"], "recovering")
        t.until(lambda: ask("/readyz")[0] == 200, "it is ready in the end")
        t.equal(ask("/readyz")[1]["engine"], "running")
    finally:
        process.kill()
        process.wait()
        listener.close()


# --- the log ---

@case("proves: F-099")
def the_log_is_one_object_a_line_with_tenant_run_trace_and_request(t):
    server = Server(t, "--log-level", "info")
    server.define(HELLO)
    server.define(FAILING)
    answer = server.post("/api/executions?wait=30s", {"workflowId": "hello", "parameters": {"who": "x"}},
                         headers={"traceparent": TRACE, "X-Request-Id": "mine-17"})
    run = answer.json()["executionId"]
    server.begin("fails", wait="30s")
    refused = server.get("/api/executions/none", key="nonsense", headers={"X-Request-Id": "bad-1"})
    t.equal(refused.status, 401)
    t.contains(refused.json()["instance"], "bad-1")
    t.equal(refused.headers["X-Request-Id"], "bad-1")
    odd = http.client.HTTPConnection("127.0.0.1", server.port)
    odd.request("GET", "/api/%0a%7B%22level%22:%22error%22%7D%1b[31m", headers={"Authorization": "Bearer x", "X-Request-Id": "a\tb"})
    odd.getresponse().read()
    t.equal(server.get("/api/" + "long" * 3000, key="", headers={"X-Request-Id": "long-1"}).status, 404)
    breaks = "\u0085\u2028\u2029"                                       # what some readers end a line at
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        raw.sendall(f"GET /api/{breaks}{{}} HTTP/1.1\r\nHost: x\r\nX-Request-Id: breaks-3\r\nConnection: close\r\n\r\n".encode())
        while raw.recv(4096):
            pass
    lines = [json.loads(line) for line in server.stop().err.splitlines()]
    t.contains(next(e for e in lines if e.get("requestId") == "breaks-3")["path"], breaks, "they are told, and end no line")
    long = next(e for e in lines if e.get("requestId") == "long-1")
    t.equal(long["path"], ("/api/" + "long" * 50)[:200] + "... (12005 bytes)", "of a long address the beginning")
    t.true(all({"time", "level", "message"} <= set(e) for e in lines), "every line has time, level and message")
    about = [e for e in lines if e.get("run") == run]
    request = next(e for e in about if e["message"] == "request")
    t.equal((request["requestId"], request["trace"], request["level"]), ("mine-17", TRACE[3:35], "info"))
    events = [e for e in about if "event" in e]
    t.equal([e["message"] for e in events], ["run-created", "run-dispatched", "run-running", "run-succeeded"])
    t.true(all(e["tenant"] == "default" and e["trace"] == TRACE[3:35] for e in events), "with tenant and trace")
    failed = next(e for e in lines if e["message"] == "run-failed")
    t.equal([failed.get(name) for name in ("level", "workflow", "step", "stepIndex", "cause", "detail")],
            ["warning", "fails", "a.second", 1, "dropped", "dropped by retry-depth: exit code 75: a failure that may pass"], "a run that fails is a warning")
    t.true(all(e["workflow"] in ("hello", "fails") for e in lines if "event" in e), "what happens in runs is told with their workflow")
    audit = next(e for e in lines if e.get("requestId") == "bad-1")
    t.equal((audit["level"], audit["message"], audit["status"]), ("warning", "request refused", 401))
    t.true(any("%0a%7B" in e.get("path", "") for e in lines), "what was sent stays inside its line, as it was sent")


@case("proves: F-099 F-003")
def who_reaches_for_what_is_anothers_is_told_in_the_log_as_refused(t):
    server = Server(t)                                      # with the level it has where none is given
    server.define(HELLO)
    run = server.begin("hello", {"who": "x"}, wait="30s")["executionId"]
    stranger = server.key("operator", "acme")
    for path, request in (("/api/executions/" + run, "theirs"), ("/api/executions/" + "A" * 21, "nobodys"), ("/api/workflows/default/hello", "workflow")):
        t.equal(server.get(path, key=stranger, headers={"X-Request-Id": request}).status, 404, request)
    lines = {line.get("requestId"): line for line in map(json.loads, server.stop().err.splitlines())}
    t.true("nobodys" not in lines, "what is not there is no refusal")
    for request in ("theirs", "workflow"):
        with t.row(request):
            line = lines.get(request, {})
            t.equal([line.get(name) for name in ("level", "message", "tenant", "status", "key", "detail")],
                    ["warning", "request refused", "acme", 404, stranger.split(".")[2], "it belongs to tenant 'default'"])


@case("proves: F-099")
def a_request_whose_client_left_is_counted_and_logged_and_the_tenant_is_that_of_the_run(t):
    server = Server(t, "--log-requests")
    server.define(HELLO.replace("workflow: hello", "workflow: hello\ntenant: acme"), tenant="acme")
    run = server.begin("hello", {"who": "x"}, namespace="acme")["executionId"]
    server.get(f"/api/executions/{run}", headers={"X-Request-Id": "reads"})
    client = socket.create_connection(("127.0.0.1", server.port))
    client.sendall((f"POST /api/executions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.admin}\r\nX-Request-Id: leaves\r\n"
                    "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{").encode())
    time.sleep(0.2)
    client.close()
    t.until(lambda: scrape(server).get('maestro_http_requests_total{route="execution_start",status="left"}') == 1, "it is counted")
    lines = {line.get("requestId"): line for line in map(json.loads, server.stop().err.splitlines())}
    left, read = lines["leaves"], lines["reads"]
    t.equal((left["message"], left["route"], "status" in left), ("request left by its client before the answer", "execution_start", False))
    t.equal((read["tenant"], read["run"], read["status"]), ("acme", run, 200), "of a key of all tenants")


@case("")
def the_level_says_what_is_logged(t):
    for level, has_requests, has_events, has_failures in (("error", 0, 0, 0), ("warning", 0, 0, 1), ("info", 1, 0, 1), ("debug", 1, 1, 1)):
        with t.row(level):
            server = Server(t, "--log-level", level, store=str(t.folder / (level + ".db")))
            server.define(FAILING)
            server.begin("fails", wait="30s")
            said = [json.loads(line)["message"] for line in server.stop().err.splitlines()]
            t.equal(("request" in said, "step-succeeded" in said, "run-failed" in said), (bool(has_requests), bool(has_events), bool(has_failures)))
    refused = t.maestro("server", "--listen", "127.0.0.1:0", "--store", "sqlite:" + str(t.folder / "x.db"), "--log-level", "loud")
    t.equal(refused.code, 2)
    t.contains(refused.err, "error, warning, info or debug")


# --- traces ---

def lines_of(reader, enough):
    """What stands in the pipe, until `enough` says so of its lines."""
    text = b""
    while not enough(text):
        piece = os.read(reader, 1 << 16)
        if not piece:
            break
        text += piece
    return [json.loads(line) for line in text.decode().splitlines()]


@case("proves: F-099")
def a_log_that_nobody_reads_holds_nobody_up_and_what_is_lost_is_counted_and_told(t):
    reader, writer = os.pipe()
    server = Server(t, "--log-requests", err_fd=writer)
    os.close(writer)
    path = "/api/" + "x" * 4000

    def ask(count):
        for _ in range(count):
            t.require(server.get(path).status == 404, "everybody is answered")
    ask(2500)                                   # twice what waits for a reader: of a long path a line has the beginning
    t.equal(server.get("/healthz", key="").status, 200)
    t.until(lambda: scrape(server)["maestro_server_log_lines_dropped_total"] > 50, "lines are dropped, and counted")
    t.equal(scrape(server)['maestro_trace_spans_total{outcome="dropped"}'], 0, "no span was: there is no collector")
    os.set_blocking(reader, True)
    told = lines_of(reader, lambda text: b"were dropped" in text and text.endswith(b"\n"))
    note = next(line for line in told if "were dropped" in line["message"])
    t.true(note["count"] > 50 and note["level"] == "warning", f"{note}")
    times = [line["time"] for line in told if line is not note]
    t.equal(times, sorted(times), "in their order")
    before = scrape(server)["maestro_server_log_lines_dropped_total"]
    ask(3)
    lines_of(reader, lambda text: b"xxx" in text and text.endswith(b"\n"))
    t.equal(scrape(server)["maestro_server_log_lines_dropped_total"], before, "nothing is lost any more")
    ask(500)
    began = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    t.equal(t.end(server.process, seconds_max=30).code, 0, "it ends, though nobody reads")
    t.true(time.monotonic() - began < 15, f"soon: {time.monotonic() - began:.1f} s")
    os.close(reader)


def attributes(span):
    return {a["key"]: next(iter(a["value"].values())) for a in span["attributes"]}


LOCAL = {"no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"}


@case("proves: F-101 F-136")
def a_request_its_run_its_steps_and_its_attempts_are_spans_of_one_trace(t):
    collector = Collector()
    server = Server(t, "--otlp", collector.url, env=dict(LOCAL, OTEL_EXPORTER_OTLP_HEADERS="x-key=a%20b,y=2", OTEL_SERVICE_NAME="orders"))
    server.define(FAILING)
    answer = server.post("/api/executions?wait=30s", {"workflowId": "fails"}, headers={"traceparent": TRACE, "tracestate": "vendor=1"})
    run = answer.json()["executionId"]
    t.until(lambda: any(s["name"] == "execution_start" for s in collector.spans) and any(s["name"] == "run fails" for s in collector.spans),
            "the spans arrive")
    path, headers, body = collector.requests[0]
    t.equal((path, headers["x-key"], headers["y"], headers["Content-Type"]), ("/v1/traces", "a b", "2", "application/json"))
    t.equal(attributes(body["resourceSpans"][0]["resource"])["service.name"], "orders")
    spans = [s for s in collector.spans if attributes(s).get("maestro.run.id") == run]
    t.true(all(s["traceId"] == TRACE[3:35] and s["traceState"] == "vendor=1" for s in spans), "one trace")
    t.equal(len({s["spanId"] for s in spans}), len(spans), "every span has its own id")
    by_name = {s["name"]: s for s in spans}
    t.equal(sorted(by_name), ["attempt a.first #1", "attempt a.second #1", "attempt a.second #2", "execution_start", "run fails",
                              "step a.first", "step a.second"])
    parents = {"execution_start": TRACE[36:52], "run fails": by_name["execution_start"]["spanId"], "step a.first": by_name["run fails"]["spanId"],
               "step a.second": by_name["run fails"]["spanId"], "attempt a.first #1": by_name["step a.first"]["spanId"],
               "attempt a.second #1": by_name["step a.second"]["spanId"], "attempt a.second #2": by_name["step a.second"]["spanId"]}
    for name, parent in parents.items():
        with t.row(name):
            t.equal(by_name[name].get("parentSpanId"), parent)
            t.true(int(by_name[name]["startTimeUnixNano"]) <= int(by_name[name]["endTimeUnixNano"]), "it ends after it began")
    t.equal((by_name["step a.first"]["status"]["code"], by_name["step a.second"]["status"]["code"], by_name["run fails"]["status"]["code"]), (1, 2, 2))
    events = server.get("/api/executions/%s/events?limit=500" % run).json()["items"]
    told = {e["event"]: e["trace"].split("-") for e in events}
    t.equal(told["run-created"][1:3], [TRACE[3:35], by_name["execution_start"]["spanId"]], "the ledger names the request")
    t.equal(events[0]["tracestate"], "vendor=1")
    spoken = {e["trace"].split("-")[2] for e in events}
    for name in ("attempt a.first #1", "attempt a.second #1", "attempt a.second #2"):
        t.true(by_name[name]["spanId"] in spoken, f"the ledger has the span of {name}")
    t.equal(scrape(server)['maestro_trace_spans_total{outcome="sent"}'] >= 7, True)


@case("proves: F-101")
def what_ends_while_the_server_ends_is_told_too(t):
    collector = Collector()
    server = Server(t, "--otlp", collector.url, env=LOCAL)
    server.define("workflow: nap\njobs:\n  a:\n    tasks:\n      - { name: rest, run: sleep, input: { duration: 2s } }\n")
    server.begin("nap")
    ended = server.stop()                       # its only step has two seconds to go, and is waited for
    t.equal(ended.code, 0, ended.err)
    names_told = [s["name"] for s in collector.spans]
    for name in ("attempt a.rest #1", "step a.rest", "run nap"):
        t.true(name in names_told, f"the span of {name}: {names_told}")


@case("proves: F-101")
def runs_of_one_trace_have_different_spans_and_unsampled_ones_none(t):
    collector = Collector()
    server = Server(t, env=dict(LOCAL, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=collector.url + "/mine"))
    server.define(HELLO)
    for _ in range(2):
        server.post("/api/executions?wait=30s", {"workflowId": "hello", "parameters": {"who": "x"}}, headers={"traceparent": TRACE})
    server.post("/api/executions?wait=30s", {"workflowId": "hello", "parameters": {"who": "x"}}, headers={"traceparent": TRACE[:-1] + "0"})
    t.until(lambda: sum(s["name"] == "run hello" for s in collector.spans) == 2, "both runs are there")
    server.stop()
    t.equal(len({s["spanId"] for s in collector.spans}), len(collector.spans), "no id twice")
    t.equal(sum(s["name"] == "run hello" for s in collector.spans), 2, "of the one that is not sampled there is nothing")
    t.equal({path for path, _, _ in collector.requests}, {"/mine"}, "the address is taken as it is")


@case("")
def a_run_that_a_killed_server_began_is_told_whole_by_the_next(t):
    collector = Collector()
    server = Server(t, "--otlp", collector.url, env=LOCAL)
    server.define("workflow: two\njobs:\n  a:\n    tasks:\n      - { name: one, log: \"1\", pause_after: { trigger: go, timeout: 1h, auth: { api_key: true } } }\n"
                  "      - { name: two, log: \"2\" }\n")
    run = server.begin("two", wait="30s")
    began = server.get("/api/executions/%s/events" % run["executionId"]).json()["items"][0]["time"]
    server.stop(signal.SIGKILL)
    collector.spans.clear()
    server.start()
    server.post("/api/executions/%s/resume" % run["executionId"], {"reason": "go"})
    t.until(lambda: any(s["name"] == "run two" for s in collector.spans), "its span arrives")
    span = next(s for s in collector.spans if s["name"] == "run two")
    t.equal(time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(int(span["startTimeUnixNano"]) // 10**9)), began[:19], "it began when it began")


@case("")
def a_collector_that_is_away_slow_or_refuses_costs_runs_nothing(t):
    collector = Collector()
    collector.gate.clear()                  # it takes requests and does not answer
    server = Server(t, "--otlp", collector.url, env=LOCAL)
    server.define(HELLO)
    for _ in range(50):
        t.equal(server.begin("hello", {"who": "x"}, wait="30s")["status"], "COMPLETED")
    got = scrape(server)
    t.equal(got['maestro_trace_spans_total{outcome="sent"}'], 0)
    collector.gate.set()
    t.until(lambda: scrape(server)['maestro_trace_spans_total{outcome="sent"}'] >= 50 * 4, "what waited is sent")
    collector.status = 400
    server.begin("hello", {"who": "x"}, wait="30s")
    t.until(lambda: scrape(server)['maestro_trace_spans_total{outcome="refused"}'] >= 4, "what it refuses is counted and not sent again")
    for status in (500, 501, 408):
        with t.row(str(status)):
            collector.status = status
            before = scrape(server)['maestro_trace_spans_total{outcome="refused"}']
            server.begin("hello", {"who": "x"}, wait="30s")
            t.until(lambda: scrape(server)['maestro_trace_spans_total{outcome="refused"}'] >= before + 4, "nor what it cannot stomach")
    collector.status = 503
    failed = scrape(server)['maestro_trace_exports_total{outcome="failed"}']
    server.begin("hello", {"who": "x"}, wait="30s")
    t.until(lambda: scrape(server)['maestro_trace_exports_total{outcome="failed"}'] >= failed + 1, "one that is overloaded is tried again")
    collector.status = 200
    before = len(collector.spans)
    t.until(lambda: len(collector.spans) >= before + 4, "until it takes them")
    t.until(lambda: scrape(server)["maestro_trace_spans_waiting"] == 0, "nothing waits")
    bad = t.maestro("server", "--listen", "127.0.0.1:0", "--store", "sqlite:" + str(t.folder / "x.db"), "--otlp", "collector:4318")
    t.equal(bad.code != 0, True)
    t.contains(bad.err, "http://")


@case("")
def spans_that_a_collector_refuses_are_logged_and_it_is_tried_again_when_it_wants(t):
    collector = Collector(status=302)
    collector.headers = {"Location": "/elsewhere"}
    server = Server(t, "--otlp", collector.url, env=LOCAL)
    server.define(HELLO)
    for _ in range(3):
        before = scrape(server)['maestro_trace_spans_total{outcome="refused"}']
        server.begin("hello", {"who": "x"}, wait="30s")
        t.until(lambda: scrape(server)['maestro_trace_spans_total{outcome="refused"}'] > before, "they are counted")

    def told():
        return [json.loads(line) for line in t.said(server.process).splitlines() if "refused spans" in line]
    t.until(told, "and logged")
    line = told()[0]
    t.equal((line["level"], line["status"], line["count"] > 0), ("warning", 302, True), f"{line}")
    t.equal(len(told()), 1, "once in a while")
    collector.status, collector.headers = 503, {"Retry-After": "3"}
    failed = scrape(server)['maestro_trace_exports_total{outcome="failed"}']
    server.begin("hello", {"who": "x"}, wait="30s")
    t.until(lambda: scrape(server)['maestro_trace_exports_total{outcome="failed"}'] > failed, "one that is overloaded is tried again")
    collector.status = 200
    refused_at = collector.times[-1]
    t.until(lambda: collector.spans, "until it takes them")
    t.true(collector.times[-1] - refused_at > 2.9, f"not before it wants: {collector.times}")
    refused = scrape(server)['maestro_trace_spans_total{outcome="refused"}']
    server.stop()
    t.equal(sum(line["count"] for line in told()), refused, "what was not logged yet is logged at the end")


@case("proves: F-099 F-101")
def a_collector_that_is_away_is_told_in_the_log_and_so_are_spans_that_are_lost_with_the_end(t):
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    server = Server(t, "--otlp", f"http://127.0.0.1:{port}", env=LOCAL)         # where nobody listens
    server.define(HELLO)

    def told(part):
        return [json.loads(line) for line in t.said(server.process).splitlines() if part in line]
    server.begin("hello", {"who": "x"}, wait="30s")
    t.until(lambda: told("takes nothing"), "it is told that it is away")
    t.equal(("status" in told("takes nothing")[0], bool(told("takes nothing")[0]["detail"])), (False, True), "and why")
    collector = Collector(port=port)
    t.until(lambda: told("takes spans again"), "and that it is back")
    collector.status = 503
    failed = scrape(server)['maestro_trace_exports_total{outcome="failed"}']
    server.begin("hello", {"who": "x"}, wait="30s")
    t.until(lambda: scrape(server)['maestro_trace_exports_total{outcome="failed"}'] > failed, "it is overloaded")
    t.equal(len(told("takes nothing")), 1, "which is told once in a while")
    waiting = scrape(server)["maestro_trace_spans_waiting"]
    server.stop()
    lost = told("they are lost")
    t.equal(([line["level"] for line in lost], lost[0]["count"] >= waiting > 0), (["warning"], True), f"what it did not take by the end: {lost}")


class Service:
    """Answers attempts of an http executor and keeps the headers that it got."""

    def __init__(self):
        self.got = queue.Queue()
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                service.got.put((document["run"], self.headers.get_all("traceparent"), self.headers.get_all("tracestate"), document))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


def with_headers(server, headers):
    """Starts an execution with these headers, in their order, as often as they are there."""
    connection, body = server.connect(), json.dumps({"workflowId": "traced"})
    connection.connect()
    head = [("Host", "x"), ("Authorization", "Bearer " + server.admin), ("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    text = "".join(f"{name}: {value}\r\n" for name, value in head + headers)
    connection.sock.sendall(f"POST /api/executions?wait=30s HTTP/1.1\r\n{text}\r\n{body}".encode())     # as it is, line breaks too
    answer = http.client.HTTPResponse(connection.sock, method="POST")
    answer.begin()
    content = answer.read()
    return answer.status, answer.headers, json.loads(content) if answer.status == 201 else content


def traced(t):
    service = Service()
    runners = "executors:\n  far:\n    kind: http\n    runners:\n      far/ask: { url: \"http://127.0.0.1:%d/\" }\n" % service.http.server_port
    server = Server(t, "--runners", t.write("runners.yaml", runners), env=LOCAL)
    server.define("workflow: traced\njobs:\n  a:\n    tasks:\n      - { name: ask, run: far/ask }\n")
    return server, service


@case("proves: F-101 F-017")
def every_case_of_trace_context_holds_over_http(t):
    path = SHARED / "trace-cases" / "traceparent.json"
    if not path.exists():
        t.not_run("the cases of trace context are not there")
    with open(path, encoding="utf-8") as file:
        cases = json.load(file)
    t.equal(len(cases), 89, "the number of cases")
    server, service = traced(t)
    for one in cases:
        with t.row(one["id"]):
            status, headers, run = with_headers(server, [tuple(pair) for pair in one["headers"]])
            if status == 400 and any("\n" in value or "\0" in value for _, value in one["headers"]):
                t.equal(one["valid"], False, "no header of HTTP: the request is refused, and nothing continued")
                continue
            t.require(status == 201, f"it is started: {status} {run}")
            events = server.get("/api/executions/%s/events" % run["executionId"]).json()["items"]
            ids = {e["trace"].split("-")[1] for e in events}
            t.equal(len(ids), 1, "all records have one trace")
            got_run, parents, _, document = service.got.get(timeout=60)
            t.equal((got_run, len(parents)), (run["executionId"], 1), "what the service got")
            version, trace, span, flags = parents[0].split("-")
            t.equal((version, trace, document["traceparent"]), ("00", next(iter(ids)), parents[0]))
            given = [value for name, value in one["headers"] if name.lower() == "traceparent"]
            if one["valid"]:
                t.equal(trace, one["trace_id"], "the caller's trace")
                t.equal(int(flags, 16), one["flags"] & 3, "the flags that this version knows")
                t.true(span != one["parent_id"], "with a span of its own")
                t.equal(headers["traceparent"].split("-")[1], one["trace_id"], "the answer names it, too")
            else:
                t.true(not any(trace in value for value in given), "a new trace")
            t.true(span in {e["trace"].split("-")[2] for e in events}, "the record of the report has the span that the service got")


@case("proves: F-101")
def a_tracestate_of_a_client_goes_to_executors_as_one_of_a_header_does(t):
    server, service = traced(t)
    with contextlib.closing(sqlite3.connect(server.store)) as store:
        plan = store.execute("SELECT document FROM maestro_plans").fetchone()[0]
    for given, want in (("a=1", ["a=1"]), ("a=1\r\nX-Else: 1", None), ("A=1", None), ("a=" + 600 * "x", None)):
        with t.row(given[:20]):
            begun = server.post("/api/petitions", {"verb": "start", "plan": plan, "trace": TRACE, "tracestate": given})
            t.equal(begun.status, 200, f"{begun}")
            t.equal(server.get("/api/executions/%s?wait=30s" % begun.json()["run"]).json()["status"], "COMPLETED")
            _, parents, state, _ = service.got.get(timeout=60)
            t.equal((parents[0][3:35], state), (TRACE[3:35], want))


@case("proves: F-101")
def a_tracestate_goes_with_its_trace_to_executors_and_outlives_a_restart(t):
    server, service = traced(t)
    rows = [("one", [("tracestate", "a=1,b=2")], ["a=1,b=2"]), ("two headers are one list", [("tracestate", "a=1"), ("TraceState", "b@v=2")], ["a=1,b@v=2"]),
            ("empty members", [("tracestate", "a=1,,")], ["a=1,,"]), ("none", [], None), ("a key twice", [("tracestate", "a=1,a=2")], None),
            ("a capital", [("tracestate", "A=1")], None), ("no value", [("tracestate", "a")], None),
            ("of what is too long the last ones are left out", [("tracestate", ",".join(f"k{i}=" + 96 * "x" for i in range(10, 18)))],
             [",".join(f"k{i}=" + 96 * "x" for i in range(10, 15))]),
            ("large ones first, also over several headers", [("tracestate", "a=" + 200 * "x" + ", b=1"), ("tracestate", "c=" + 200 * "x" + " ,d=2"),
                                                             ("tracestate", "e=" + 200 * "x" + ",f=3")],
             ["a=" + 200 * "x" + ",b=1,c=" + 200 * "x" + ",d=2,f=3"]),
            ("one that is too long alone", [("tracestate", "a" * 256 + "=" + 256 * "x")], None),
            ("of 512 bytes", [("tracestate", "a" * 255 + "=" + 256 * "x")], ["a" * 255 + "=" + 256 * "x"]),
            ("too long and malformed", [("tracestate", ",".join(f"K{i}=" + 96 * "x" for i in range(10, 18)))], None),
            ("32 members", [("tracestate", ",".join(f"k{i}=1" for i in range(16))), ("tracestate", ""), ("tracestate", ",".join(f"k{i}=1" for i in range(16, 32)))],
             [",".join(f"k{i}=1" for i in range(16)) + ",," + ",".join(f"k{i}=1" for i in range(16, 32))]),
            ("many tenants of one system", [("tracestate", "0t@sys=1,t_-*/9@s_-*/9=2")], ["0t@sys=1,t_-*/9@s_-*/9=2"]),
            ("two systems of a key", [("tracestate", "t@a@b=1,a=2")], None), ("no system", [("tracestate", "t@=1,a=2")], None),
            ("spaces in a value", [("tracestate", "a= 1 2 \t,b=!~")], ["a= 1 2 \t,b=!~"]), ("an equals sign in one", [("tracestate", "a=1=2")], None),
            ("too many", [("tracestate", ",".join(f"k{i}=1" for i in range(33)))], None)]
    for name, headers, want in rows:
        with t.row(name):
            with_headers(server, [("traceparent", TRACE)] + headers)
            t.equal(service.got.get(timeout=60)[2], want)
    with t.row("without its trace it is nothing"):
        with_headers(server, [("tracestate", "a=1")])
        t.equal(service.got.get(timeout=60)[2], None)
    server.define("workflow: traced\njobs:\n  a:\n    tasks:\n      - { name: ask, run: far/ask, pause_after: { trigger: go, timeout: 1h, auth: { api_key: true } } }\n"
                  "      - { name: again, run: far/ask }\n")
    _, _, run = with_headers(server, [("traceparent", TRACE), ("tracestate", "a=1")])
    first = service.got.get(timeout=60)
    server.stop(signal.SIGKILL)
    server.start()
    server.post("/api/executions/%s/resume" % run["executionId"], {"reason": "go"})
    second = service.got.get(timeout=60)
    t.equal((second[1][0][3:35], second[2], first[2]), (TRACE[3:35], ["a=1"], ["a=1"]))
    t.true(second[1][0][36:52] != first[1][0][36:52], "each attempt has a span of its own")
    checked = t.maestro("ledger", "verify", "--store", "sqlite:" + server.store)
    t.equal(checked.code, 0, checked.out + checked.err)


# --- lines of steps, live ---

WRITING = """workflow: writes
jobs:
  a:
    tasks:
      - { name: one, run: shell, args: ["sh", "-c", "echo first; echo second >&2; while [ ! -e '%s' ]; do sleep 0.05; done; echo third"] }
      - { name: two, run: shell, args: ["sh", "-c", "echo fourth"] }
"""


def open_lines(server, run, headers=None, query=""):
    connection = server.connect()
    connection.request("GET", "/api/executions/%s/logs%s" % (run, query),
                       headers=dict({"Authorization": "Bearer " + server.admin, "Accept": "text/event-stream"}, **(headers or {})))
    answer = connection.getresponse()
    assert answer.status == 200, answer.status
    return connection, answer


def events_of(answer, count=None):
    seen, event = [], {}
    while count is None or len(seen) < count:
        line = answer.readline()
        if not line:
            break
        line = line.decode().rstrip("\n")
        if line and not line.startswith(":"):
            event[line.split(": ")[0]] = line.split(": ", 1)[1]
        elif not line and event:
            seen.append(event)
            event = {}
    return seen


@case("proves: F-136")
def lines_of_steps_are_told_as_they_are_written_until_the_run_is_settled(t):
    server = Server(t)
    gate = t.folder / "gate"
    server.define(WRITING % gate)
    run = server.begin("writes")["executionId"]
    connection, answer = open_lines(server, run)
    t.equal(answer.headers["Content-Type"], "text/event-stream")
    first = events_of(answer, 2)                    # while the step still runs
    t.equal(server.get("/api/executions/" + run).json()["status"], "RUNNING")
    gate.write_text("")
    rest = events_of(answer)
    lines = [json.loads(e["data"]) for e in first + rest if e["event"] == "line"]
    t.equal(sorted((e["step"], e["stream"], e["text"]) for e in lines),
            [("a.one", "stderr", "second"), ("a.one", "stdout", "first"), ("a.one", "stdout", "third"), ("a.two", "stdout", "fourth")])
    t.equal((rest[-1]["event"], [e["event"] for e in first]), ("end", ["line", "line"]))
    connection.close()
    _, answer = open_lines(server, run, {"Last-Event-ID": first[1]["id"]})
    again = events_of(answer)
    t.equal([e.get("id") for e in again], [e.get("id") for e in rest], "it goes on behind the last one")
    told = {"Accept": "text/event-stream", "Last-Event-ID": rest[-2]["id"]}
    t.equal(server.get("/api/executions/%s/logs" % run, headers=told).status, 204, "who has had everything")
    _, answer = open_lines(server, run, query="?stepIndex=1")
    t.equal([json.loads(e["data"])["text"] for e in events_of(answer) if e["event"] == "line"], ["fourth"])
    page = server.get("/api/executions/%s/logs?stepIndex=0" % run).json()["items"]
    t.equal(sorted(e["text"] for e in page), ["first", "second", "third"])
    bad = server.get("/api/executions/%s/logs" % run, headers={"Accept": "text/event-stream", "Last-Event-ID": "x"})
    t.equal(bad.status, 400)
    foreign = server.get("/api/executions/%s/logs" % run, key=server.key("admin", "other"), headers={"Accept": "text/event-stream"})
    t.equal(foreign.status, 404)


@case("")
def logs_of_a_server_are_followed_with_the_same_output(t):
    server = Server(t)
    gate = t.folder / "gate"
    server.define(WRITING % gate)
    url, environment = f"http://127.0.0.1:{server.port}", dict(LOCAL, MAESTRO_TOKEN=server.admin)
    run = server.begin("writes")["executionId"]
    follower = t.start("logs", run, "-f", "--server", url, env=environment)
    t.until(lambda: "first" in t.said(follower) and "second" in t.said(follower), "what is written is shown while it runs")
    gate.write_text("")
    followed = t.end(follower)
    t.equal(followed.code, 0, followed.err)
    for args in ((), ("a.one",), ("--times",), ("--json",), ("a.two", "--raw")):
        with t.row(" ".join(args)):
            here = t.maestro("logs", run, *args, "-f", "--store", "sqlite:" + server.store)
            there = t.maestro("logs", run, *args, "-f", "--server", url, env=environment)
            t.equal((there.code, there.out, there.err), (here.code, here.out, here.err))
    t.equal(followed.out, t.maestro("logs", run, "--store", "sqlite:" + server.store).out)
    gone = t.maestro("logs", "AAAAAAAAAAAAAAAAAAAAA", "-f", "--server", url, env=environment)
    t.equal(gone.code, 69)


@case("")
def a_reader_that_takes_nothing_is_cut_off_and_others_go_on(t):
    server = Server(t)
    server.define("workflow: loud\njobs:\n  a:\n    tasks:\n      - { name: shout, run: shell, args: [\"sh\", \"-c\", \"yes %s | head -n 6000\"] }\n" % (1000 * "x"))
    run = server.begin("loud", wait="30s")["executionId"]
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.connect(("127.0.0.1", server.port))
    slow.sendall((f"GET /api/executions/{run}/logs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.admin}\r\n"
                  "Accept: text/event-stream\r\n\r\n").encode())
    _, answer = open_lines(server, run)
    t.equal(sum(e["event"] == "line" for e in events_of(answer)), 6000, "who reads gets all of it")
    t.until(lambda: scrape(server)["maestro_event_streams_cut_total"] == 1, "who does not is cut off")
    slow.close()
    t.until(lambda: scrape(server)["maestro_event_streams"] == 0, "nothing is left of it")
    said = [json.loads(line) for line in server.stop().err.splitlines()]
    t.true(any("too slow" in e["message"] and e["run"] == run for e in said), f"the log names it: {said}")


if __name__ == "__main__":
    main()
