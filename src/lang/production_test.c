#include "lang/production.h"

#include <string.h>

#include "harness/test.h"
#include "value/json.h"

static const char config[] =
    "executors:\n"
    "  local:\n"
    "    kind: process\n"
    "    runners:\n"
    "      pay: { command: [./pay] }\n"
    "      ship: { command: [./ship], timeout: 5m }\n"
    "      undo: { command: [./undo] }\n"
    "      leaky: { command: [./leaky, --password, hunter2] }\n"
    "policies:\n"
    "  guard: { phases: [pre-flight, mid-flight, post-flight], reviewed_by: Ada }\n"
    "  admit: { phases: [pre-flight] }\n";

/* A workflow that passes everything that it decides; each row below takes one thing away. */
static const char ready[] =
    "workflow: orders\n"
    "owner: payments\n"
    "contact: payments@example.com\n"
    "idempotency_key: \"order-${params.id}\"\n"
    "params: [{ name: id, type: string }]\n"
    "policies: [guard]\n"
    "config: { timeout: 2h }\n"
    "blast_radius: { budget: 5 }\n"
    "placement: { regions: [eu-west] }\n"
    "evidence: { retention: 90d }\n"
    "lease: { duration: 30s, heartbeat: 10s }\n"
    "runbooks: { rollback: https://wiki/rollback, incident: https://wiki/incident }\n"
    "failure_resolution: { on_cancel: compensate }\n"
    "triggers:\n"
    "  - schedule: { cron: \"0 2 * * *\", critical: true, on_call: payments-primary }\n"
    "jobs:\n"
    "  charge:\n"
    "    tasks:\n"
    "      - name: ask\n"
    "        run: pay\n"
    "        idempotency: replay-safe\n"
    "        identity: asker\n"
    "        timeout: 30s\n"
    "        retries: { attempts: 3, on: [transient] }\n"
    "        pause_after: { trigger: yes-or-no, timeout: 7d }\n"
    "      - name: take\n"
    "        run: pay\n"
    "        risk: high\n"
    "        idempotency: dedupe-key\n"
    "        identity: taker\n"
    "        timeout: 30s\n"
    "        retry: { attempts: 1 }\n"
    "        compensation: undo\n"
    "        input: { token: \"${secrets.PAY}\" }\n";

static Arena arena;

/* Answers live until the next call. */
static const ProductionReport *check(const char *text)
{
    static ProductionReport report;
    static Catalog catalog;
    static Diagnostics diagnostics;
    static Compiled compiled;
    Node *root;
    Error err;
    arena_deinit(&arena);
    arena_init(&arena, SIZE_MAX);
    catalog_init(&catalog, &arena);
    diagnostics_init(&diagnostics, &arena, STR("runners.yaml"), str_of(config));
    EXPECT_OK(node_read(&arena, str_of(config), TEXT_YAML, &root, &err), &err);
    catalog_add_config(&catalog, &diagnostics, root);
    EXPECT_INT(diagnostics.error_count, 0);
    compile(&arena, arena_copy(&arena, str_of(text)), &(CompileOptions){ STR("x.yaml"), TEXT_YAML, &catalog },
            &compiled);
    production_check(&arena, &compiled, &catalog, /* facts= */ NULL, &report);
    return &report;
}

static const ProductionResult *result_of(const ProductionReport *report, const char *name)
{
    for (size_t i = 0; i < PRODUCTION_CHECK_COUNT; i++)
        if (strcmp(report->results[i].name, name) == 0) return &report->results[i];
    return NULL;
}

static bool contains(Str text, const char *part)
{
    for (size_t i = 0; i + strlen(part) <= text.len; i++)
        if (memcmp(text.ptr + i, part, strlen(part)) == 0) return true;
    return false;
}

/* The text with its first `from` replaced; lives for a few calls. */
static const char *with(const char *text, const char *from, const char *to)
{
    static char storage[4][16384];
    static unsigned turn;
    Buf out = buf_on(storage[++turn % 4], sizeof storage[0]);
    const char *at = strstr(text, from);
    if (!EXPECT(at != NULL)) return text;
    buf_bytes(&out, text, (size_t)(at - text));
    buf_text(&out, to);
    buf_bytes(&out, at + strlen(from), strlen(at + strlen(from)) + 1);
    EXPECT(!buf_overflowed(&out));
    return out.ptr;
}

typedef struct Row {
    const char *name;           /* of the row */
    const char *check, *from, *to;
    Answer answer;
    const char *evidence;       /* a part of it */
    uint32_t line;
} Row;

static void expect_answer(const char *row, const ProductionReport *report, const char *name, Answer answer,
                          const char *evidence, uint32_t line)
{
    ROW(row);
    const ProductionResult *result = result_of(report, name);
    REQUIRE(result != NULL);
    test_expect(result->answer == answer, __FILE__, __LINE__, "%s: got %s, want %s (%.*s)", name,
                answer_name(result->answer), answer_name(answer), STR_ARG(result->evidence));
    test_expect(contains(result->evidence, evidence), __FILE__, __LINE__, "%s: '%s' is not in '%.*s'", name, evidence,
                STR_ARG(result->evidence));
    EXPECT_INT(result->line, line);
}

/* Each row turns one pass into another answer, and nothing else may fail by it. */
static void expect_rows(const Row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const ProductionReport *report = check(with(ready, rows[i].from, rows[i].to));
        expect_answer(rows[i].name, report, rows[i].check, rows[i].answer, rows[i].evidence, rows[i].line);
    }
    ROW(NULL);
}
#define EXPECT_ROWS(rows) expect_rows(rows, sizeof(rows) / sizeof *(rows))

TEST(a_workflow_that_lacks_nothing_fails_nothing, "")
{
    const ProductionReport *report = check(ready);
    for (size_t i = 0; i < PRODUCTION_CHECK_COUNT; i++) {
        ROW(report->results[i].name);
        EXPECT(report->results[i].answer == ANSWER_PASS || report->results[i].answer == ANSWER_UNDECIDED);
        EXPECT(report->results[i].evidence.len > 0);
        EXPECT_INT(report->results[i].line, 0);
    }
    ROW(NULL);
    EXPECT_INT(report->counts[ANSWER_PASS], 20);
    EXPECT_INT(report->counts[ANSWER_FAIL], 0);
    EXPECT_INT(report->counts[ANSWER_NOT_APPLICABLE], 0);
    EXPECT_INT(report->counts[ANSWER_UNDECIDED], 14);
}

TEST(the_checklist_has_every_check_once_in_order, "")
{
    const ProductionReport *report = check(ready);
    for (size_t i = 0; i < PRODUCTION_CHECK_COUNT; i++) {
        char id[8];
        Buf want = buf_on(id, sizeof id);
        buf_format(&want, "F-%zu", 171 + i);
        EXPECT_STR(str_of(report->results[i].requirement), buf_peek(&want));
        EXPECT(i == 0 || report->results[i].checklist_line >= report->results[i - 1].checklist_line);
        EXPECT(result_of(report, report->results[i].name) == &report->results[i]);
    }
    EXPECT_INT(report->results[0].checklist_line, 1);
    EXPECT_INT(report->results[PRODUCTION_CHECK_COUNT - 1].checklist_line, PRODUCTION_LINE_COUNT);
}

TEST(a_definition_that_breaks_the_schema_or_the_rules_fails_by_it, "proves: F-171 F-172")
{
    static const Row rows[] = {
        { "an unknown key", "spec-schema", "owner: payments", "ownr: payments", ANSWER_FAIL,
          "1 mistake in line 2: unknown key 'ownr'", 2 },
        { "the rules are not looked at then", "spec-lint", "owner: payments", "ownr: payments", ANSWER_UNDECIDED,
          "spec-schema", 0 },
        { "two of them", "spec-schema", "owner: payments", "ownr: payments\nversion: 2", ANSWER_FAIL,
          "2 mistakes, the first in line 2", 2 },
        { "a runner nobody offers fits the schema", "spec-schema", "run: pay", "run: nobody", ANSWER_PASS, "workflow",
          0 },
        { "but not the rules", "spec-lint", "run: pay", "run: nobody", ANSWER_FAIL, "there is no runner 'nobody'", 20 },
        { "both are wrong", "spec-lint", "owner: payments\n", "ownr: payments\npolicy: none\n", ANSWER_FAIL,
          "1 mistake in line 3", 3 },
        { "no YAML", "spec-schema", "workflow: orders", "workflow: [", ANSWER_FAIL, "1 mistake in line 3", 3 },
        { "a warning is no error", "spec-lint", ", critical: true, on_call: payments-primary", ", critical: true",
          ANSWER_PASS, "1 warning, the first in line 15", 0 },
        { "no warning", "spec-lint", "orders", "orders", ANSWER_PASS, "no errors and no warnings", 0 },
        { "the rest cannot be decided", "secrets-broker", "owner: payments", "ownr: payments", ANSWER_UNDECIDED,
          "without mistakes", 0 },
    };
    EXPECT_ROWS(rows);
    expect_answer("no definition", check("a: 1\n"), "spec-schema", ANSWER_FAIL,
                  "1 mistake in line 1: this is no definition", 1);
    expect_answer("a configuration", check(config), "spec-schema", ANSWER_FAIL, "a configuration", 1);
    expect_answer("an old runbook", check("connectors: []\nexecution: []\n"), "spec-schema", ANSWER_FAIL,
                  "the old format", 1);
}

TEST(a_task_needs_a_declared_strategy_and_a_declared_or_inherited_key, "proves: F-174 C-79")
{
    static const Row rows[] = {
        { "the workflow's key is inherited", "idempotency-keys", "orders", "orders", ANSWER_PASS,
          "2 tasks: 1 replay-safe, 1 with the workflow's key", 0 },
        { "a derived key does not count", "idempotency-keys", "idempotency_key: \"order-${params.id}\"\n", "",
          ANSWER_FAIL, "1 of 2 tasks without a declared strategy and key: charge.take (line 25: no key)", 25 },
        { "nor a strategy by default", "idempotency-keys", "        idempotency: dedupe-key\n", "", ANSWER_FAIL,
          "charge.take (line 26: no strategy)", 26 },
        { "replay-safe needs no key", "idempotency-keys", "        idempotency: dedupe-key\n",
          "        idempotency: replay-safe\n", ANSWER_PASS, "2 replay-safe", 0 },
    };
    EXPECT_ROWS(rows);
    const char *own =
        with(ready, "idempotency: dedupe-key", "idempotency: { strategy: dedupe-key, key: \"take-${params.id}\" }");
    expect_answer("a key of its own", check(with(own, "idempotency_key: \"order-${params.id}\"\n", "")),
                  "idempotency-keys", ANSWER_PASS, "a key of their own", 0);
}

TEST(policies_of_every_phase_must_cover_every_task, "proves: F-175 F-176 F-177")
{
    static const Row rows[] = {
        { "no policy, no admission", "policy-admission", "policies: [guard]\n", "", ANSWER_FAIL,
          "no policy that is asked pre-flight is attached", 1 },
        { "nor mid-flight", "policy-runtime", "policies: [guard]\n", "", ANSWER_FAIL,
          "no policy that is asked mid-flight is attached", 1 },
        { "nor post-flight", "policy-postflight", "policies: [guard]\n", "", ANSWER_FAIL,
          "no policy that is asked post-flight is attached", 1 },
        { "one for admission alone", "policy-admission", "policies: [guard]", "policy: admit", ANSWER_PASS,
          "admit is asked pre-flight (runners.yaml)", 0 },
        { "is none mid-flight", "policy-runtime", "policies: [guard]", "policy: admit", ANSWER_FAIL, "mid-flight", 1 },
        { "a policy of one task is not of the other", "policy-runtime", "policies: [guard]\n", "labels: { a: b }\n",
          ANSWER_FAIL, "mid-flight", 1 },
    };
    EXPECT_ROWS(rows);
    const char *without = with(ready, "policies: [guard]\n", "");
    expect_answer("on one task of two",
                  check(with(without, "        risk: high\n", "        risk: high\n        policy: guard\n")),
                  "policy-runtime", ANSWER_FAIL,
                  "1 of 2 tasks under no policy that is asked mid-flight: charge.ask (line 18)", 18);
    expect_answer("on the job", check(with(without, "  charge:\n", "  charge:\n    policies: [guard]\n")),
                  "policy-runtime", ANSWER_PASS, "every task is under one", 0);
}

TEST(a_policy_without_a_reviewer_is_named, "")
{
    static const Row rows[] = {
        { "reviewed", "policy-reviewed", "orders", "orders", ANSWER_PASS, "1 policy attached", 0 },
        { "not reviewed", "policy-reviewed", "[guard]", "[guard, admit]", ANSWER_FAIL,
          "1 of 2 policy versions attached without a named reviewer (reviewed_by): admit (line 6)", 6 },
        { "none", "policy-reviewed", "policies: [guard]\n", "", ANSWER_NOT_APPLICABLE, "no policy is attached", 0 },
        { "of a task", "policy-reviewed", "risk: high", "policy: admit", ANSWER_FAIL, "admit (line 28)", 28 },
    };
    EXPECT_ROWS(rows);
}

TEST(a_step_of_high_risk_needs_an_approval_before_its_work, "proves: F-179")
{
    static const Row rows[] = {
        { "behind a pause", "approvals-high-risk", "orders", "orders", ANSWER_PASS,
          "1 task of high risk, each behind an approval gate", 0 },
        { "no gate", "approvals-high-risk", "        pause_after: { trigger: yes-or-no, timeout: 7d }\n", "",
          ANSWER_FAIL, "1 of 1 task of high risk without an approval before the work: charge.take (line 25)", 25 },
        { "a pause that ends by itself", "approvals-high-risk", "timeout: 7d }", "auto_resume_after: 7d }", ANSWER_FAIL,
          "charge.take (line 26)", 26 },
        { "a pause that approves itself", "approvals-high-risk", "timeout: 7d }",
          "timeout: 7d, on_timeout: auto_approve }", ANSWER_FAIL, "charge.take (line 26)", 26 },
        { "a step before that may be skipped", "approvals-high-risk", "      - name: ask\n",
          "      - name: ask\n        when: params.id == \"7\"\n", ANSWER_FAIL, "charge.take", 27 },
        { "a job of high risk has it in all its tasks", "approvals-high-risk", "  charge:\n",
          "  charge:\n    risk: high\n", ANSWER_FAIL,
          "1 of 2 tasks of high risk without an approval before the work: charge.ask (line 20: its gate comes after the work)",
          20 },
        { "its own signal before the work", "approvals-high-risk", "  charge:\n",
          "  charge:\n    risk: high\n    wait_for_signal: { signal: go, when: before }\n", ANSWER_PASS, "2 tasks", 0 },
        { "nothing is marked", "approvals-high-risk", "        risk: high\n", "", ANSWER_NOT_APPLICABLE, "risk: high",
          0 },
    };
    EXPECT_ROWS(rows);
}

TEST(placement_budget_and_quotas_are_looked_at, "proves: F-180 F-181")
{
    static const Row rows[] = {
        { "for the whole workflow", "placement-constraints", "orders", "orders", ANSWER_PASS, "line 9", 0 },
        { "nowhere", "placement-constraints", "placement: { regions: [eu-west] }\n", "", ANSWER_FAIL,
          "1 of 1 job without placement constraints: charge (line 16)", 16 },
        { "a budget", "blast-radius-budget", "orders", "orders", ANSWER_PASS, "a budget of 5 in line 8", 0 },
        { "none", "blast-radius-budget", "blast_radius: { budget: 5 }\n", "", ANSWER_FAIL, "no budget", 1 },
        { "quotas are the server's", "tenant-quotas", "workflow: orders", "workflow: orders\ntenant: acme",
          ANSWER_UNDECIDED, "the tenant 'acme', to compare with 10 steps", 0 },
    };
    EXPECT_ROWS(rows);
    const char *without = with(ready, "placement: { regions: [eu-west] }\n", "");
    expect_answer("on the job", check(with(without, "  charge:\n", "  charge:\n    placement: { clouds: [x] }\n")),
                  "placement-constraints", ANSWER_PASS, "1 job with constraints", 0);
    expect_answer("by where its data may be",
                  check(with(without, "  charge:\n", "  charge:\n    data_sovereignty: [eu]\n")),
                  "placement-constraints", ANSWER_PASS, "1 job", 0);
}

TEST(failures_timeouts_and_cancellation_are_handled_explicitly, "proves: F-189 F-191 F-192")
{
    static const Row rows[] = {
        { "classes, or a single attempt", "retry-classes", "orders", "orders", ANSWER_PASS,
          "2 tasks with retry classes", 0 },
        { "no classes", "retry-classes", ", on: [transient]", "", ANSWER_FAIL,
          "1 of 2 tasks without retry classes: charge.ask (line 19: 'retries' without 'on')", 19 },
        { "no retries", "retry-classes", "        retry: { attempts: 1 }\n", "", ANSWER_FAIL,
          "charge.take (line 26: no 'retries')", 26 },
        { "timeouts", "timeouts-deadlines", "orders", "orders", ANSWER_PASS,
          "2 tasks with a timeout, the deadline in line 7", 0 },
        { "a task without", "timeouts-deadlines", "        timeout: 30s\n", "", ANSWER_FAIL,
          "1 of 2 tasks without a timeout: charge.ask (line 19)", 19 },
        { "the runner has one", "timeouts-deadlines",
          "        run: pay\n        idempotency: replay-safe\n        identity: asker\n        timeout: 30s\n",
          "        run: ship\n        idempotency: replay-safe\n        identity: asker\n", ANSWER_PASS, "2 tasks", 0 },
        { "no deadline", "timeouts-deadlines", "config: { timeout: 2h }\n", "", ANSWER_FAIL, "no deadline", 1 },
        { "stated", "cancellation-semantics", "orders", "orders", ANSWER_PASS, "compensate on cancel, by line 13", 0 },
        { "not stated", "cancellation-semantics", "failure_resolution: { on_cancel: compensate }\n", "", ANSWER_FAIL,
          "not stated", 1 },
        { "a strategy does not state it", "cancellation-semantics", "{ on_cancel: compensate }",
          "{ strategy: await_decision }", ANSWER_FAIL, "not stated", 1 },
        { "a compensation wants a test", "compensations-tested", "orders", "orders", ANSWER_UNDECIDED,
          "of each compensation: charge.take (line 26)", 0 },
        { "none wants none", "compensations-tested", "        compensation: undo\n", "", ANSWER_NOT_APPLICABLE,
          "no task declares", 0 },
    };
    EXPECT_ROWS(rows);
}

TEST(a_literal_secret_is_found_and_not_repeated, "proves: F-193")
{
    static const Row rows[] = {
        { "from the broker", "secrets-broker", "orders", "orders", ANSWER_PASS,
          "no literal secret; 1 text from the broker", 0 },
        { "a literal", "secrets-broker", "${secrets.PAY}", "hunter2", ANSWER_FAIL, "a literal token (line 34)", 34 },
        { "a parameter is not the broker", "secrets-broker", "${secrets.PAY}", "${params.id}", ANSWER_FAIL,
          "does not come from the broker (line 34)", 34 },
        { "a private key anywhere", "secrets-broker", "workflow: orders",
          "workflow: orders\ndescription: \"-----BEGIN RSA PRIVATE KEY----- MIIE\"", ANSWER_FAIL,
          "a private key (line 2)", 2 },
        { "an argument", "secrets-broker", "{ token: \"${secrets.PAY}\" }",
          "{ x: 1 }\n        args: [--db-password, hunter2]", ANSWER_FAIL, "a literal password (line 35)", 35 },
        { "a default of a parameter", "secrets-broker", "type: string }]",
          "type: string }, { name: api_key, type: string, default: hunter2 }]", ANSWER_FAIL,
          "a literal API key (line 5)", 5 },
        { "the configuration of a runner", "secrets-broker", "run: pay", "run: leaky", ANSWER_FAIL,
          "the runner 'leaky' of local holds a literal password", 1 },
    };
    EXPECT_ROWS(rows);
    const ProductionReport *report = check(with(ready, "${secrets.PAY}", "hunter2"));
    for (size_t i = 0; i < PRODUCTION_CHECK_COUNT; i++) EXPECT(!contains(report->results[i].evidence, "hunter2"));
}

TEST(a_task_has_an_identity_that_no_other_has, "")
{
    static const Row rows[] = {
        { "own ones", "least-privilege", "orders", "orders", ANSWER_PASS, "2 tasks, each with an identity of its own",
          0 },
        { "none", "least-privilege", "        identity: asker\n", "", ANSWER_FAIL,
          "1 of 2 tasks without an identity of their own: charge.ask (line 19)", 19 },
        { "a shared one", "least-privilege", "identity: taker", "identity: asker", ANSWER_FAIL,
          "charge.take (line 26: that of line 19)", 26 },
    };
    EXPECT_ROWS(rows);
}

TEST(leases_runbooks_and_owners_are_set, "proves: F-198 F-202 F-203")
{
    static const Row rows[] = {
        { "a lease", "lease-thresholds", "orders", "orders", ANSWER_PASS, "a lease of 30s, a heartbeat every 10s", 0 },
        { "none", "lease-thresholds", "lease: { duration: 30s, heartbeat: 10s }\n", "", ANSWER_FAIL, "not set", 1 },
        { "a lease that is too short is a mistake", "spec-lint", "duration: 30s", "duration: 10s", ANSWER_FAIL,
          "longer than the heartbeat", 11 },
        { "both runbooks", "runbooks-linked", "orders", "orders", ANSWER_PASS,
          "rollback https://wiki/rollback, incident https://wiki/incident", 0 },
        { "one of them", "runbooks-linked", ", incident: https://wiki/incident", "", ANSWER_FAIL, "missing: incident",
          12 },
        { "none", "runbooks-linked", "runbooks: { rollback: https://wiki/rollback, incident: https://wiki/incident }\n",
          "", ANSWER_FAIL, "none is linked", 1 },
        { "owner and contact", "ownership-contact", "orders", "orders", ANSWER_PASS,
          "owner payments, contact payments@example.com", 0 },
        { "no owner", "ownership-contact", "owner: payments\n", "", ANSWER_FAIL, "missing: owner", 1 },
        { "neither", "ownership-contact", "owner: payments\ncontact: payments@example.com\n", "", ANSWER_FAIL,
          "missing: owner and contact", 1 },
    };
    EXPECT_ROWS(rows);
}

TEST(evidence_and_critical_schedules_are_declared, "")
{
    static const Row rows[] = {
        { "kept", "evidence-retention", "orders", "orders", ANSWER_PASS, "90d", 0 },
        { "not kept", "evidence-retention", "evidence: { retention: 90d }\n", "", ANSWER_FAIL, "no retention", 1 },
        { "on call", "oncall-critical-schedules", "orders", "orders", ANSWER_PASS,
          "1 critical schedule, each with people on call", 0 },
        { "nobody", "oncall-critical-schedules", ", on_call: payments-primary", "", ANSWER_FAIL,
          "1 of 1 critical schedule without 'on_call': 0 2 * * * (line 15)", 15 },
        { "not critical", "oncall-critical-schedules", "critical: true", "critical: false", ANSWER_NOT_APPLICABLE,
          "critical: true", 0 },
        { "approvals want to be given once", "approvals-exercised", "orders", "orders", ANSWER_UNDECIDED,
          "each approval was given: charge.ask (line 19)", 0 },
        { "none is there", "approvals-exercised", "        pause_after: { trigger: yes-or-no, timeout: 7d }\n", "",
          ANSWER_NOT_APPLICABLE, "no task or job waits", 0 },
    };
    EXPECT_ROWS(rows);
}

TEST(what_a_store_or_server_must_tell_is_undecided_and_says_so, "")
{
    static const char *const names[] = {
        "version-pinned", "metrics",          "structured-logs",         "traces",
        "ledger-sink",    "ledger-immutable", "network-data-boundaries", "ledger-backup",
        "replay-tested",  "controls-tested",  "dry-run-reviewed",
    };
    const ProductionReport *report = check(ready);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        expect_answer(names[i], report, names[i], ANSWER_UNDECIDED, "needs a ", 0);
    expect_answer("the plan is named", report, "version-pinned", ANSWER_UNDECIDED, "sha256:", 0);
}

TEST(a_few_tasks_are_named_and_the_rest_counted, "")
{
    const ProductionReport *report = check(
        "workflow: w\njobs:\n  j:\n    tasks:\n      - log: a\n      - log: b\n      - log: c\n      - log: d\n      - log: e\n");
    expect_answer(
        "five", report, "timeouts-deadlines", ANSWER_FAIL,
        "5 of 5 tasks without a timeout, and no deadline (config: { timeout: ... }): j.j-1 (line 5), j.j-2 (line 6), j.j-3 (line 7) and 2 more",
        5);
    EXPECT(!contains(result_of(report, "timeouts-deadlines")->evidence, "more and"));
}

TEST(a_runbook_is_spared_what_it_cannot_have, "")
{
    const ProductionReport *report =
        check("name: R\ndescription: D\nowner: o\ncontact: c\npolicies: [guard]\nconfig: { timeout: 60 }\nartifacts:\n"
              "  a: { source: { type: filesystem, properties: { path: . } }, output: true }\n");
    EXPECT_INT(report->counts[ANSWER_FAIL], 0);
    EXPECT_INT(report->counts[ANSWER_PASS], 9);
    EXPECT_INT(report->counts[ANSWER_NOT_APPLICABLE], 13);
    expect_answer("its artifacts are under a policy", report, "policy-runtime", ANSWER_PASS,
                  "every artifact is under one", 0);
    expect_answer("its deadline", report, "timeouts-deadlines", ANSWER_PASS,
                  "the deadline in line 6 bounds every artifact", 0);
    expect_answer("no jobs", report, "placement-constraints", ANSWER_NOT_APPLICABLE, "no jobs", 0);
    report = check(
        "name: R\ndescription: D\nartifacts:\n  a: { source: { type: filesystem, properties: { path: . } } }\n  b: { inputs: a }\n");
    expect_answer("no deadline", report, "timeouts-deadlines", ANSWER_FAIL, "no deadline", 1);
    expect_answer("no policy", report, "policy-admission", ANSWER_FAIL, "no policy", 1);
    expect_answer("no owner", report, "ownership-contact", ANSWER_FAIL, "owner and contact", 1);
}

TEST(a_step_tree_is_looked_at_step_by_step, "")
{
    static const char tree[] =
        "workflow: t\n"
        "steps:\n"
        "  - sequence:\n"
        "      - { name: one, run: pay, pause_after: ok, timeout: 1m }\n"
        "      - { name: two, run: pay, risk: high }\n"
        "  - if: params.x == 1\n"
        "    then: [{ name: three, run: ship }]\n"
        "    else: { name: four, run: pay }\n"
        "params: [{ name: x, type: integer }]\n";
    const ProductionReport *report = check(tree);
    expect_answer(
        "steps at their places", report, "timeouts-deadlines", ANSWER_FAIL,
        "2 of 4 tasks without a timeout, and no deadline (config: { timeout: ... }): two (line 5), four (line 8)", 5);
    expect_answer("a gate before", report, "approvals-high-risk", ANSWER_PASS, "1 task", 0);
    expect_answer("placement is the tree's", report, "placement-constraints", ANSWER_FAIL,
                  "a step tree sets it as a whole", 1);
}

TEST(a_report_is_grouped_counted_and_readable_by_programs, "")
{
    const ProductionReport *report = check(with(ready, "owner: payments\n", ""));
    Buf out;
    Error err;
    buf_init(&out, 1u << 20);
    production_print(report, STR("x.yaml"), false, &out);
    Str text = buf_peek(&out);
    EXPECT(str_starts(
        text, STR(" 1. specification\n      pass       spec-schema                fits the schema of a workflow\n")));
    EXPECT(contains(text, "10. runbooks\n"));
    EXPECT(contains(text, "      FAIL       ownership-contact          x.yaml:1:1: missing: owner\n"));
    EXPECT(contains(text, "      undecided  metrics                    needs a running server"));
    EXPECT(str_ends(text, STR("\n\n19 passed, 1 failed, 0 not applicable, 14 undecided\n")));
    EXPECT(!contains(text, "\x1b"));
    buf_clear(&out);
    production_print(report, STR("x.yaml"), true, &out);
    EXPECT(contains(buf_peek(&out), "\x1b[1;31mFAIL"));
    buf_clear(&out);
    Value list = production_value(report, STR("x.yaml"), &arena);
    EXPECT_OK(json_print(&out, list, JSON_COMPACT, &err), &err);
    EXPECT_INT(list.count, PRODUCTION_CHECK_COUNT);
    EXPECT(contains(
        buf_peek(&out),
        "{\"answer\":\"fail\",\"checklist\":\"runbooks\",\"checklist_line\":10,\"column\":1,\"evidence\":\"missing: owner\","
        "\"file\":\"x.yaml\",\"line\":1,\"name\":\"ownership-contact\",\"requirement\":\"F-203\"}"));
    EXPECT(contains(buf_peek(&out), "\"answer\":\"undecided\""));
    buf_deinit(&out);
    arena_deinit(&arena);
}
