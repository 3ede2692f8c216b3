#include "core/state.h"

/* Tables M-3 and M-4 of the requirements: a bit for each state that may follow. */
#define TO(state) (1u << (state))

static const uint16_t run_next[RUN_STATE_COUNT] = {
    [RUN_QUEUED] = TO(RUN_DISPATCHED) | TO(RUN_FAILED) | TO(RUN_CANCELLED),
    [RUN_DISPATCHED] = TO(RUN_RUNNING) | TO(RUN_QUEUED) | TO(RUN_FAILED) | TO(RUN_CANCELLED),
    [RUN_RUNNING] = TO(RUN_PAUSED) | TO(RUN_WAITING_SIGNAL) | TO(RUN_SUCCEEDED) | TO(RUN_FAILED) | TO(RUN_COMPENSATING)
                  | TO(RUN_CANCELLED),
    [RUN_PAUSED] = TO(RUN_RUNNING) | TO(RUN_FAILED) | TO(RUN_CANCELLED),
    [RUN_WAITING_SIGNAL] = TO(RUN_RUNNING) | TO(RUN_FAILED) | TO(RUN_CANCELLED),
    /* From failed to failed: the resolution becomes RESOLVED. */
    [RUN_FAILED] = TO(RUN_QUEUED) | TO(RUN_COMPENSATING) | TO(RUN_CANCELLED) | TO(RUN_FAILED),
    [RUN_COMPENSATING] = TO(RUN_COMPENSATED) | TO(RUN_COMPENSATION_FAILED) | TO(RUN_FAILED),
    [RUN_COMPENSATION_FAILED] = TO(RUN_COMPENSATING) | TO(RUN_COMPENSATED),
};                                                              /* succeeded, compensated, cancelled, skipped: none */

static const uint16_t step_next[STEP_STATE_COUNT] = {
    [STEP_QUEUED] = TO(STEP_DISPATCHED) | TO(STEP_SKIPPED) | TO(STEP_FAILED) | TO(STEP_SUPERSEDED),
    [STEP_DISPATCHED] = TO(STEP_RUNNING) | TO(STEP_QUEUED) | TO(STEP_FAILED) | TO(STEP_CANCELLED),
    [STEP_RUNNING] = TO(STEP_SUCCEEDED) | TO(STEP_FAILED) | TO(STEP_POLLING) | TO(STEP_PAUSED) | TO(STEP_WAITING_SIGNAL)
                   | TO(STEP_QUEUED) | TO(STEP_CANCELLED),
    [STEP_PAUSED] = TO(STEP_RUNNING) | TO(STEP_FAILED) | TO(STEP_CANCELLED),
    [STEP_WAITING_SIGNAL] = TO(STEP_RUNNING) | TO(STEP_FAILED) | TO(STEP_CANCELLED),
    [STEP_POLLING] = TO(STEP_RUNNING) | TO(STEP_SUCCEEDED) | TO(STEP_FAILED) | TO(STEP_TIMED_OUT) | TO(STEP_CANCELLED),
    [STEP_SUCCEEDED] = TO(STEP_SUPERSEDED),
    [STEP_FAILED] = TO(STEP_SUPERSEDED),
    [STEP_TIMED_OUT] = TO(STEP_SUPERSEDED),
    [STEP_SKIPPED] = TO(STEP_SUPERSEDED),
    [STEP_CANCELLED] = TO(STEP_SUPERSEDED),
};                                                              /* superseded: none */

static const uint8_t compensation_next[COMPENSATION_STATE_COUNT] = {
    [COMPENSATION_PENDING] = TO(COMPENSATION_RUNNING) | TO(COMPENSATION_SKIPPED),
    [COMPENSATION_RUNNING] = TO(COMPENSATION_SUCCEEDED) | TO(COMPENSATION_FAILED),
    [COMPENSATION_FAILED] = TO(COMPENSATION_RUNNING) | TO(COMPENSATION_SKIPPED),
};                                                              /* succeeded, skipped: none */

/* --- what a state is called, and what is true in it ----------------------------------------------------------------- */

static const struct {
    const char *name, *stored, *status;
    bool is_terminal, is_settled;           /* of failed: as its resolution says */
} runs[RUN_STATE_COUNT] = {
    [RUN_QUEUED] = { "queued", "PENDING", "PENDING", false, false },
    [RUN_DISPATCHED] = { "dispatched", "DISPATCHED", "PENDING", false, false },
    [RUN_RUNNING] = { "running", "RUNNING", "RUNNING", false, false },
    [RUN_PAUSED] = { "paused", "PAUSED", "RUNNING", false, false },
    [RUN_WAITING_SIGNAL] = { "waiting-signal", "WAITING_SIGNAL", "RUNNING", false, false },
    [RUN_SUCCEEDED] = { "succeeded", "SUCCEEDED", "COMPLETED", true, true },
    [RUN_FAILED] = { "failed", "FAILED", "FAILED", false, true },
    [RUN_COMPENSATING] = { "compensating", "COMPENSATING", "RUNNING", false, false },
    [RUN_COMPENSATED] = { "compensated", "COMPENSATED", "FAILED", true, true },
    [RUN_COMPENSATION_FAILED] = { "compensation-failed", "COMPENSATION_FAILED", "FAILED", false, true },
    [RUN_CANCELLED] = { "cancelled", "CANCELLED", "CANCELLED", true, true },
    [RUN_SKIPPED] = { "skipped", "SKIPPED", "COMPLETED", true, true },
};

static const struct {
    const char *name, *stored, *status;
    bool is_final;
} steps[STEP_STATE_COUNT] = {
    [STEP_QUEUED] = { "queued", "PENDING", "PENDING", false },
    [STEP_DISPATCHED] = { "dispatched", "DISPATCHED", "PENDING", false },
    [STEP_RUNNING] = { "running", "RUNNING", "RUNNING", false },
    [STEP_PAUSED] = { "paused", "PAUSED", "RUNNING", false },
    [STEP_WAITING_SIGNAL] = { "waiting-signal", "WAITING_SIGNAL", "RUNNING", false },
    [STEP_POLLING] = { "polling", "POLLING", "RUNNING", false },
    [STEP_SUCCEEDED] = { "succeeded", "SUCCEEDED", "COMPLETED", true },
    [STEP_FAILED] = { "failed", "FAILED", "FAILED", true },
    [STEP_TIMED_OUT] = { "timed-out", "TIMED_OUT", "FAILED", true },
    [STEP_SKIPPED] = { "skipped", "SKIPPED", "SKIPPED", true },
    [STEP_SUPERSEDED] = { "superseded", "SUPERSEDED", "COMPLETED", true },
    [STEP_CANCELLED] = { "cancelled", "CANCELLED", "FAILED", true },
};

static const char *const resolution_names[RESOLUTION_COUNT] = {
    [RESOLUTION_NONE] = "",
    [RESOLUTION_AWAITING_DECISION] = "AWAITING_DECISION",
    [RESOLUTION_AUTO_RETRY_SCHEDULED] = "AUTO_RETRY_SCHEDULED",
    [RESOLUTION_RESOLVED] = "RESOLVED",
};

static const char *const decision_names[DECISION_KIND_COUNT] = {
    [DECISION_RETRY] = "RETRY",
    [DECISION_RETRY_FROM_STEP] = "RETRY_FROM_STEP",
    [DECISION_COMPENSATE] = "COMPENSATE",
    [DECISION_CANCEL] = "CANCEL",
    [DECISION_MARK_RESOLVED] = "MARK_RESOLVED",
};

static const char *const trigger_outcome_names[TRIGGER_OUTCOME_COUNT] = {
    [TRIGGER_ANSWERED] = "answered",           [TRIGGER_RESUMED] = "resumed",
    [TRIGGER_SCHEDULED] = "scheduled",         [TRIGGER_AUTO_APPROVED] = "auto-approved",
    [TRIGGER_DENIED] = "denied",               [TRIGGER_TIMEOUT] = "timed-out",
    [TRIGGER_CANCELLED] = "cancelled",
};

static const char *const retry_source_names[RETRY_SOURCE_COUNT] = {
    [RETRY_SOURCE_NONE] = "",
    [RETRY_SOURCE_FAILED_RETRY] = "FAILED_RETRY",
    [RETRY_SOURCE_RETRY_FROM_STEP] = "RETRY_FROM_STEP",
    [RETRY_SOURCE_AUTO_RETRY] = "AUTO_RETRY",
};

static const char *const retry_mode_names[RETRY_MODE_COUNT] = {
    [RETRY_ONLY] = "RETRY_ONLY",
    [COMPENSATE_THEN_RETRY] = "COMPENSATE_THEN_RETRY",
};

static const char *const compensation_names[COMPENSATION_STATE_COUNT] = {
    [COMPENSATION_PENDING] = "PENDING",
    [COMPENSATION_RUNNING] = "RUNNING",
    [COMPENSATION_SUCCEEDED] = "SUCCEEDED",
    [COMPENSATION_FAILED] = "FAILED",
    [COMPENSATION_SKIPPED] = "SKIPPED",
};

static const char *const scope_names[COMPENSATION_SCOPE_COUNT] = {
    [SCOPE_FULL] = "FULL",
    [SCOPE_PARTIAL] = "PARTIAL",
    [SCOPE_FROM_STEP] = "FROM_STEP",
};

static const char *const skip_reason_names[SKIP_REASON_COUNT] = {
    [SKIP_NONE] = "",
    [SKIP_CONDITION_FALSE] = "CONDITION_FALSE",
    [SKIP_NOT_ON_ACTIVE_BRANCH] = "NOT_ON_ACTIVE_BRANCH",
    [SKIP_TERMINATED_EARLY] = "TERMINATED_EARLY",
    [SKIP_PREDECESSOR_FAILED] = "PREDECESSOR_FAILED",
    [SKIP_RUN_CANCELLED] = "RUN_CANCELLED",
};

static const char *const class_names[CLASS_COUNT] = {
    [CLASS_NONE] = "",
    [CLASS_TRANSIENT] = "transient",
    [CLASS_POLICY_BLOCKED] = "policy-blocked",
    [CLASS_PERMANENT] = "permanent",
};

static const struct {
    const char *name;
    FailureClass failure_class;
    CauseHealth health;
} causes[CAUSE_COUNT] = {
    [CAUSE_NONE] = { "", CLASS_NONE, HEALTH_GOOD },
    /* A runner that says no more than that it failed may succeed the next time; its `retries` say whether that is tried. */
    [CAUSE_ERROR] = { "error", CLASS_TRANSIENT, HEALTH_BAD },
    [CAUSE_TRANSIENT] = { "transient", CLASS_TRANSIENT, HEALTH_BAD },
    [CAUSE_TIMEOUT] = { "timeout", CLASS_TRANSIENT, HEALTH_BAD },
    [CAUSE_LEASE_EXPIRED] = { "lease-expired", CLASS_TRANSIENT, HEALTH_BAD },
    [CAUSE_NOT_ACCEPTED] = { "not-accepted", CLASS_TRANSIENT, HEALTH_NONE },
    [CAUSE_POLICY] = { "policy", CLASS_POLICY_BLOCKED, HEALTH_NONE },
    [CAUSE_BUDGET_EXCEEDED] = { "budget-exceeded", CLASS_POLICY_BLOCKED, HEALTH_NONE },
    [CAUSE_PERMANENT] = { "permanent", CLASS_PERMANENT, HEALTH_BAD },
    [CAUSE_INPUT_INVALID] = { "input-invalid", CLASS_PERMANENT, HEALTH_NONE },
    [CAUSE_OUTPUT_INVALID] = { "output-invalid", CLASS_PERMANENT, HEALTH_BAD },
    [CAUSE_CONDITION_UNDEFINED] = { "condition-undefined", CLASS_PERMANENT, HEALTH_NONE },
    [CAUSE_CONDITION_ERROR] = { "condition-error", CLASS_PERMANENT, HEALTH_NONE },
    [CAUSE_DROPPED] = { "dropped", CLASS_PERMANENT, HEALTH_NONE },
    [CAUSE_CANCELLED] = { "cancelled", CLASS_PERMANENT, HEALTH_NONE },
    [CAUSE_SIGNAL_DENIED] = { "signal-denied", CLASS_PERMANENT, HEALTH_NONE },
    [CAUSE_DEADLINE] = { "deadline", CLASS_PERMANENT, HEALTH_NONE },
    [CAUSE_EFFECT_UNKNOWN] = { "effect-unknown", CLASS_PERMANENT, HEALTH_BAD },
    [CAUSE_TERMINATED] = { "terminated", CLASS_PERMANENT, HEALTH_NONE },
    [CAUSE_BLAST_RADIUS] = { "blast-radius", CLASS_POLICY_BLOCKED, HEALTH_NONE },
    [CAUSE_LOST] = { "lost", CLASS_TRANSIENT, HEALTH_NONE },                                                                /* as a lease */
};

/* --- questions ------------------------------------------------------------------------------------------------------ */

bool run_can(RunState from, RunState to)
{
    return run_next[from] >> to & 1;
}

bool job_can(RunState from, RunState to)
{
    return run_can(from, to) || (from == RUN_QUEUED && to == RUN_SKIPPED);
}

bool step_can(StepState from, StepState to)
{
    return step_next[from] >> to & 1;
}

bool compensation_can(CompensationState from, CompensationState to)
{
    return compensation_next[from] >> to & 1;
}

bool run_state_is_terminal(RunState state, Resolution resolution)
{
    return state == RUN_FAILED ? resolution == RESOLUTION_RESOLVED : runs[state].is_terminal;
}

bool run_state_is_settled(RunState state, Resolution resolution)
{
    return state == RUN_FAILED ? resolution != RESOLUTION_AUTO_RETRY_SCHEDULED : runs[state].is_settled;
}

bool step_state_is_final(StepState state)
{
    return steps[state].is_final;
}

const char *run_state_name(RunState state)
{
    return runs[state].name;
}

const char *run_state_stored(RunState state)
{
    return runs[state].stored;
}

const char *run_status(RunState state, Resolution resolution, bool cancel_requested)
{
    if (state == RUN_FAILED && resolution == RESOLUTION_AUTO_RETRY_SCHEDULED) return "RUNNING";
    if (state == RUN_COMPENSATED && cancel_requested) return "CANCELLED";
    return runs[state].status;
}

bool run_state_find(Str name, RunState *out_state)
{
    for (int state = 0; state < RUN_STATE_COUNT; state++) {
        if (!str_is_text(name, runs[state].name) && !str_is_text(name, runs[state].stored)) continue;
        *out_state = (RunState)state;
        return true;
    }
    return false;
}

const char *step_state_name(StepState state)
{
    return steps[state].name;
}

const char *step_state_stored(StepState state)
{
    return steps[state].stored;
}

const char *step_status(StepState state, bool began, bool has_output)
{
    if (state == STEP_TIMED_OUT && has_output) return "COMPLETED";
    if (state == STEP_CANCELLED && !began) return "SKIPPED";
    if (state == STEP_SUPERSEDED && !has_output) return began ? "FAILED" : "SKIPPED";
    return steps[state].status;
}

const char *resolution_name(Resolution resolution)
{
    return resolution_names[resolution];
}

const char *decision_kind_name(DecisionKind kind)
{
    return decision_names[kind];
}

const char *trigger_outcome_name(TriggerOutcome outcome)
{
    return trigger_outcome_names[outcome];
}

const char *retry_source_name(RetrySource source)
{
    return retry_source_names[source];
}

const char *retry_mode_name(RetryMode mode)
{
    return retry_mode_names[mode];
}

const char *compensation_state_name(CompensationState state)
{
    return compensation_names[state];
}

const char *compensation_scope_name(CompensationScope scope)
{
    return scope_names[scope];
}

/* C-49: a document's own spelling, or lower case. */
static bool is_spelling(Str name, const char *word)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        if (c >= 'a' && c <= 'z') c = (char)(c - 'a' + 'A');
        if (c == '-') c = '_';
        if (c != word[i]) return false;
    }
    return word[name.len] == '\0';
}

static bool find_spelling(Str name, const char *const *words, int count, int *out)
{
    for (*out = 0; *out < count; (*out)++)
        if (is_spelling(name, words[*out])) return true;
    return false;
}

bool decision_kind_find(Str name, DecisionKind *out_kind)
{
    int found;
    if (!find_spelling(name, decision_names, DECISION_KIND_COUNT, &found)) return false;
    *out_kind = (DecisionKind)found;
    return true;
}

bool retry_mode_find(Str name, RetryMode *out_mode)
{
    int found;
    if (!find_spelling(name, retry_mode_names, RETRY_MODE_COUNT, &found)) return false;
    *out_mode = (RetryMode)found;
    return true;
}

bool compensation_scope_find(Str name, CompensationScope *out_scope)
{
    int found;
    if (!find_spelling(name, scope_names, COMPENSATION_SCOPE_COUNT, &found)) return false;
    *out_scope = (CompensationScope)found;
    return true;
}

const char *skip_reason_name(SkipReason reason)
{
    return skip_reason_names[reason];
}

const char *failure_class_name(FailureClass failure_class)
{
    return class_names[failure_class];
}

const char *cause_name(Cause cause)
{
    return causes[cause].name;
}

bool cause_find(Str name, Cause *out_cause)
{
    for (int cause = CAUSE_NONE + 1; cause < CAUSE_COUNT; cause++) {
        if (!str_is_text(name, causes[cause].name)) continue;
        *out_cause = (Cause)cause;
        return true;
    }
    return false;
}

CauseHealth cause_health(Cause cause)
{
    return causes[cause].health;
}

FailureClass cause_class(Cause cause)
{
    return causes[cause].failure_class;
}
