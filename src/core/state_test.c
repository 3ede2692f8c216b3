#include "core/state.h"

#include <string.h>

#include "core/command.h"
#include "harness/test.h"

/* Tables M-3 and M-4 as they are written in the requirements, by the names that people see. */
typedef struct Row { const char *from, *to; } Row;

static const Row run_rows[] = {
    { "queued", "dispatched failed cancelled" },
    { "dispatched", "running queued failed cancelled" },
    { "running", "paused waiting-signal succeeded failed compensating cancelled" },
    { "paused", "running failed cancelled" },
    { "waiting-signal", "running failed cancelled" },
    { "failed", "queued compensating cancelled failed" },
    { "compensating", "compensated compensation-failed failed" },
    { "compensation-failed", "compensating compensated" },
    { "succeeded", "" }, { "compensated", "" }, { "cancelled", "" }, { "skipped", "" },
};

static const Row step_rows[] = {
    { "queued", "dispatched skipped failed superseded" },
    { "dispatched", "running queued failed cancelled" },
    { "running", "succeeded failed polling paused waiting-signal queued cancelled" },
    { "paused", "running failed cancelled" },
    { "waiting-signal", "running failed cancelled" },
    { "polling", "running succeeded failed timed-out cancelled" },
    { "succeeded", "superseded" }, { "failed", "superseded" }, { "timed-out", "superseded" }, { "skipped", "superseded" },
    { "cancelled", "superseded" }, { "superseded", "" },
};

static bool is_listed(const Row *rows, size_t count, const char *from, const char *to)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].from, from) != 0) continue;
        Str list = str_of(rows[i].to);
        for (size_t at = 0; at < list.len;) {
            size_t end = str_find(list, ' ', at);
            if (str_is_text(str_slice(list, at, end), to)) return true;
            at = end + 1;
        }
        return false;
    }
    EXPECT(!"a row for every state");
    return false;
}

TEST(every_cell_of_the_run_and_job_tables_is_as_required, "proves: F-069 F-084 A-093 A-094 A-254 C-01 C-06 C-11 C-12 C-85 C-90")
{
    size_t count = sizeof run_rows / sizeof *run_rows;
    EXPECT_INT(count, RUN_STATE_COUNT);
    for (int from = 0; from < RUN_STATE_COUNT; from++)
        for (int to = 0; to < RUN_STATE_COUNT; to++) {
            ROW(run_state_name((RunState)from));
            bool wanted = is_listed(run_rows, count, run_state_name((RunState)from), run_state_name((RunState)to));
            EXPECT_INT(run_can((RunState)from, (RunState)to), wanted);
            bool is_skip = from == RUN_QUEUED && to == RUN_SKIPPED;
            EXPECT_INT(job_can((RunState)from, (RunState)to), wanted || is_skip);
        }
}

TEST(every_cell_of_the_step_table_is_as_required, "proves: F-084 C-85 R-055")
{
    size_t count = sizeof step_rows / sizeof *step_rows;
    EXPECT_INT(count, STEP_STATE_COUNT);
    for (int from = 0; from < STEP_STATE_COUNT; from++)
        for (int to = 0; to < STEP_STATE_COUNT; to++) {
            ROW(step_state_name((StepState)from));
            bool wanted = is_listed(step_rows, count, step_state_name((StepState)from), step_state_name((StepState)to));
            EXPECT_INT(step_can((StepState)from, (StepState)to), wanted);
        }
}

TEST(states_are_shown_by_the_names_of_each_document, "proves: C-01 C-02 C-07 C-09 R-043 R-054")
{
    static const struct {
        const char *name, *stored, *status;
        Resolution resolution;
        bool cancel, settled, terminal;
    } rows[] = {
        { "queued", "PENDING", "PENDING", 0, false, false, false },
        { "dispatched", "DISPATCHED", "PENDING", 0, false, false, false },
        { "running", "RUNNING", "RUNNING", 0, false, false, false },
        { "paused", "PAUSED", "RUNNING", 0, false, false, false },
        { "waiting-signal", "WAITING_SIGNAL", "RUNNING", 0, false, false, false },
        { "succeeded", "SUCCEEDED", "COMPLETED", 0, false, true, true },
        { "failed", "FAILED", "RUNNING", RESOLUTION_AUTO_RETRY_SCHEDULED, false, false, false },
        { "failed", "FAILED", "FAILED", RESOLUTION_AWAITING_DECISION, false, true, false },
        { "failed", "FAILED", "FAILED", RESOLUTION_RESOLVED, false, true, true },
        { "compensating", "COMPENSATING", "RUNNING", 0, false, false, false },
        { "compensated", "COMPENSATED", "FAILED", 0, false, true, true },
        { "compensated", "COMPENSATED", "CANCELLED", 0, true, true, true },
        { "compensation-failed", "COMPENSATION_FAILED", "FAILED", 0, false, true, false },
        { "cancelled", "CANCELLED", "CANCELLED", 0, false, true, true },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        RunState state, stored;
        ROW(rows[i].name);
        REQUIRE(run_state_find(str_of(rows[i].name), &state) && run_state_find(str_of(rows[i].stored), &stored));
        EXPECT_INT(state, stored);
        EXPECT_STR(str_of(run_state_stored(state)), str_of(rows[i].stored));
        EXPECT_STR(str_of(run_status(state, rows[i].resolution, rows[i].cancel)), str_of(rows[i].status));
        EXPECT_INT(run_state_is_settled(state, rows[i].resolution), rows[i].settled);
        EXPECT_INT(run_state_is_terminal(state, rows[i].resolution), rows[i].terminal);
    }
    RunState state;
    EXPECT(!run_state_find(STR("nowhere"), &state));
}

TEST(steps_have_the_status_of_the_rest_document, "proves: R-045 R-055")
{
    static const struct { StepState state; bool began, has_output; const char *stored, *status; } rows[] = {
        { STEP_QUEUED, false, false, "PENDING", "PENDING" },        { STEP_DISPATCHED, true, false, "DISPATCHED", "PENDING" },
        { STEP_RUNNING, true, false, "RUNNING", "RUNNING" },        { STEP_PAUSED, true, false, "PAUSED", "RUNNING" },
        { STEP_WAITING_SIGNAL, true, false, "WAITING_SIGNAL", "RUNNING" }, { STEP_POLLING, true, false, "POLLING", "RUNNING" },
        { STEP_SUCCEEDED, true, true, "SUCCEEDED", "COMPLETED" },   { STEP_FAILED, true, false, "FAILED", "FAILED" },
        { STEP_TIMED_OUT, true, false, "TIMED_OUT", "FAILED" },     { STEP_TIMED_OUT, true, true, "TIMED_OUT", "COMPLETED" },
        { STEP_SKIPPED, false, false, "SKIPPED", "SKIPPED" },       { STEP_CANCELLED, true, false, "CANCELLED", "FAILED" },
        { STEP_CANCELLED, false, false, "CANCELLED", "SKIPPED" },   { STEP_SUPERSEDED, true, true, "SUPERSEDED", "COMPLETED" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].stored);
        EXPECT_STR(str_of(step_state_stored(rows[i].state)), str_of(rows[i].stored));
        EXPECT_STR(str_of(step_status(rows[i].state, rows[i].began, rows[i].has_output)), str_of(rows[i].status));
    }
    for (int state = 0; state < STEP_STATE_COUNT; state++)
        EXPECT_INT(step_state_is_final((StepState)state), state >= STEP_SUCCEEDED);
}

TEST(each_cause_belongs_to_one_class, "proves: F-063 C-34 C-19")
{
    static const struct { const char *cause, *failure_class; } rows[] = {
        { "timeout", "transient" },        { "lease-expired", "transient" },  { "not-accepted", "transient" },
        { "transient", "transient" },      { "error", "transient" },          { "policy", "policy-blocked" },
        { "budget-exceeded", "policy-blocked" }, { "dropped", "permanent" },  { "cancelled", "permanent" },
        { "permanent", "permanent" },      { "input-invalid", "permanent" },  { "output-invalid", "permanent" },
        { "condition-undefined", "permanent" }, { "condition-error", "permanent" }, { "signal-denied", "permanent" },
        { "deadline", "permanent" },       { "effect-unknown", "permanent" }, { "terminated", "permanent" },
        { "lost", "transient" },           { "blast-radius", "policy-blocked" },
    };
    EXPECT_INT(sizeof rows / sizeof *rows, CAUSE_COUNT - 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Cause cause;
        ROW(rows[i].cause);
        REQUIRE(cause_find(str_of(rows[i].cause), &cause));
        EXPECT_STR(str_of(failure_class_name(cause_class(cause))), str_of(rows[i].failure_class));
    }
    Cause cause;
    EXPECT(!cause_find(STR(""), &cause));
    EXPECT_STR(str_of(skip_reason_name(SKIP_PREDECESSOR_FAILED)), STR("PREDECESSOR_FAILED"));
    EXPECT_STR(str_of(skip_reason_name(SKIP_RUN_CANCELLED)), STR("RUN_CANCELLED"));
    EXPECT_STR(str_of(resolution_name(RESOLUTION_AWAITING_DECISION)), STR("AWAITING_DECISION"));
}

TEST(each_cause_says_something_about_who_failed_or_nothing, "proves: R-108")
{
    static const char *const bad[] = { "error", "transient", "timeout", "lease-expired", "permanent", "output-invalid", "effect-unknown" };
    static const char *const none[] = { "not-accepted", "policy", "budget-exceeded", "input-invalid", "condition-undefined", "condition-error",
                                        "dropped", "cancelled", "signal-denied", "deadline", "terminated", "lost", "blast-radius" };
    EXPECT_INT(sizeof bad / sizeof *bad + sizeof none / sizeof *none, CAUSE_COUNT - 1);
    EXPECT_INT(cause_health(CAUSE_NONE), HEALTH_GOOD);
    for (size_t i = 0; i < sizeof bad / sizeof *bad + sizeof none / sizeof *none; i++) {
        bool is_bad = i < sizeof bad / sizeof *bad;
        const char *name = is_bad ? bad[i] : none[i - sizeof bad / sizeof *bad];
        Cause cause;
        ROW(name);
        REQUIRE(cause_find(str_of(name), &cause));
        EXPECT_INT(cause_health(cause), is_bad ? HEALTH_BAD : HEALTH_NONE);
    }
}

TEST(signals_are_of_five_kinds, "proves: C-80")
{
    static const char *const names[] = { "health", "anomaly", "milestone", "approval", "operator" };
    EXPECT_INT(sizeof names / sizeof *names, SIGNAL_KIND_COUNT);
    for (int i = 0; i < SIGNAL_KIND_COUNT; i++) {
        SignalKind kind;
        REQUIRE(signal_kind_find(str_of(names[i]), &kind));
        EXPECT_INT(kind, i);
        EXPECT_STR(str_of(signal_kind_name(kind)), str_of(names[i]));
    }
    SignalKind kind;
    EXPECT(!signal_kind_find(STR("retry"), &kind));
}

TEST(every_cell_of_the_compensation_table_is_as_required, "proves: A-240 C-82")
{
    static const Row rows[] = {
        { "PENDING", "RUNNING SKIPPED" }, { "RUNNING", "SUCCEEDED FAILED" }, { "FAILED", "RUNNING SKIPPED" }, { "SUCCEEDED", "" }, { "SKIPPED", "" },
    };
    size_t count = sizeof rows / sizeof *rows;
    EXPECT_INT(count, COMPENSATION_STATE_COUNT);
    for (int from = 0; from < COMPENSATION_STATE_COUNT; from++)
        for (int to = 0; to < COMPENSATION_STATE_COUNT; to++) {
            ROW(compensation_state_name((CompensationState)from));
            bool wanted = is_listed(rows, count, compensation_state_name((CompensationState)from), compensation_state_name((CompensationState)to));
            EXPECT_INT(compensation_can((CompensationState)from, (CompensationState)to), wanted);
        }
}

TEST(decisions_scopes_and_modes_are_spelled_as_in_the_document_or_in_lower_case, "proves: A-036 A-066 A-099 C-49")
{
    static const struct { const char *text; DecisionKind want; } decisions[] = {
        { "RETRY", DECISION_RETRY }, { "retry-from-step", DECISION_RETRY_FROM_STEP }, { "compensate", DECISION_COMPENSATE },
        { "Cancel", DECISION_CANCEL }, { "mark_resolved", DECISION_MARK_RESOLVED },
    };
    for (size_t i = 0; i < sizeof decisions / sizeof *decisions; i++) {
        DecisionKind found;
        ROW(decisions[i].text);
        if (EXPECT(decision_kind_find(str_of(decisions[i].text), &found))) EXPECT_INT(found, decisions[i].want);
    }
    DecisionKind decision;
    CompensationScope scope;
    RetryMode mode;
    EXPECT(!decision_kind_find(STR("retr"), &decision) && !decision_kind_find(STR("retryy"), &decision) && !decision_kind_find(STR(""), &decision));
    EXPECT(compensation_scope_find(STR("from-step"), &scope) && scope == SCOPE_FROM_STEP && !compensation_scope_find(STR("some"), &scope));
    EXPECT(retry_mode_find(STR("compensate_then_retry"), &mode) && mode == COMPENSATE_THEN_RETRY && !retry_mode_find(STR("both"), &mode));
    EXPECT(strcmp(retry_source_name(RETRY_SOURCE_AUTO_RETRY), "AUTO_RETRY") == 0);
    EXPECT(strcmp(retry_mode_name(COMPENSATE_THEN_RETRY), "COMPENSATE_THEN_RETRY") == 0);
    EXPECT(strcmp(compensation_scope_name(SCOPE_FROM_STEP), "FROM_STEP") == 0);
}
