/* state.h - the states of runs, jobs and steps, and the ways between them.
 *
 * One vocabulary (docs/glossary.md), three tables, total: for every pair of states there is an answer, and what is not
 * listed is refused. The names that other documents use for a state (the stored one, the REST status) are columns beside
 * it, so that no translation is written down twice.
 *
 * Owns: nothing.     Fails: never.     Thread: pure, any.
 */
#ifndef CORE_STATE_H
#define CORE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* Runs and jobs. */
typedef enum RunState {
    RUN_QUEUED, RUN_DISPATCHED, RUN_RUNNING, RUN_PAUSED, RUN_WAITING_SIGNAL, RUN_SUCCEEDED, RUN_FAILED, RUN_COMPENSATING,
    RUN_COMPENSATED, RUN_COMPENSATION_FAILED, RUN_CANCELLED, RUN_SKIPPED /* jobs alone */, RUN_STATE_COUNT
} RunState;

typedef enum StepState {
    STEP_QUEUED, STEP_DISPATCHED, STEP_RUNNING, STEP_PAUSED, STEP_WAITING_SIGNAL, STEP_POLLING, STEP_SUCCEEDED, STEP_FAILED,
    STEP_TIMED_OUT, STEP_SKIPPED, STEP_SUPERSEDED, STEP_CANCELLED, STEP_STATE_COUNT
} StepState;

/* What a failed run is waiting for. */
typedef enum Resolution {
    RESOLUTION_NONE, RESOLUTION_AWAITING_DECISION, RESOLUTION_AUTO_RETRY_SCHEDULED, RESOLUTION_RESOLVED, RESOLUTION_COUNT
} Resolution;

/* What is decided about a failed run, by a person or by its strategy. */
typedef enum DecisionKind {
    DECISION_RETRY, DECISION_RETRY_FROM_STEP, DECISION_COMPENSATE, DECISION_CANCEL, DECISION_MARK_RESOLVED, DECISION_KIND_COUNT
} DecisionKind;

/* Why a step run took the place of another. */
typedef enum RetrySource {
    RETRY_SOURCE_NONE, RETRY_SOURCE_FAILED_RETRY, RETRY_SOURCE_RETRY_FROM_STEP, RETRY_SOURCE_AUTO_RETRY, RETRY_SOURCE_COUNT
} RetrySource;

typedef enum RetryMode { RETRY_ONLY, COMPENSATE_THEN_RETRY, RETRY_MODE_COUNT } RetryMode;

typedef enum CompensationState {
    COMPENSATION_PENDING, COMPENSATION_RUNNING, COMPENSATION_SUCCEEDED, COMPENSATION_FAILED, COMPENSATION_SKIPPED,
    COMPENSATION_STATE_COUNT
} CompensationState;

typedef enum CompensationScope { SCOPE_FULL, SCOPE_PARTIAL, SCOPE_FROM_STEP, COMPENSATION_SCOPE_COUNT } CompensationScope;

typedef enum SkipReason {
    SKIP_NONE, SKIP_CONDITION_FALSE, SKIP_NOT_ON_ACTIVE_BRANCH, SKIP_TERMINATED_EARLY, SKIP_PREDECESSOR_FAILED,
    SKIP_RUN_CANCELLED, SKIP_REASON_COUNT
} SkipReason;

/* How a pause came to its end. */
typedef enum TriggerOutcome {
    TRIGGER_ANSWERED,               /* by its trigger, or by a signal that its condition takes */
    TRIGGER_RESUMED,                /* by a person, without its trigger */
    TRIGGER_SCHEDULED,              /* by the time after which it goes on by itself */
    TRIGGER_AUTO_APPROVED,          /* by the time that it was given */
    TRIGGER_DENIED, TRIGGER_TIMEOUT, TRIGGER_CANCELLED, TRIGGER_OUTCOME_COUNT
} TriggerOutcome;

typedef enum FailureClass { CLASS_NONE, CLASS_TRANSIENT, CLASS_POLICY_BLOCKED, CLASS_PERMANENT, CLASS_COUNT } FailureClass;

/* Each cause belongs to one class; the table is in state.c. */
typedef enum Cause {
    CAUSE_NONE,
    CAUSE_ERROR,                    /* the runner failed and said no more: transient or permanent as it or its retries say */
    CAUSE_TRANSIENT,                /* the runner said so */
    CAUSE_TIMEOUT, CAUSE_LEASE_EXPIRED, CAUSE_NOT_ACCEPTED,
    CAUSE_POLICY, CAUSE_BUDGET_EXCEEDED,
    CAUSE_PERMANENT,                /* the runner said so */
    CAUSE_INPUT_INVALID, CAUSE_OUTPUT_INVALID, CAUSE_CONDITION_UNDEFINED, CAUSE_CONDITION_ERROR, CAUSE_DROPPED,
    CAUSE_CANCELLED, CAUSE_SIGNAL_DENIED, CAUSE_DEADLINE, CAUSE_EFFECT_UNKNOWN, CAUSE_TERMINATED,
    CAUSE_LOST,                     /* its owner ended while it was carried out, again and again: it may be what ends it */
    CAUSE_BLAST_RADIUS,             /* more than the budget would have been started and not undone: somebody has to approve */
    CAUSE_COUNT
} Cause;

/* What the end of an attempt says about whoever carried it out. Of none: what it was asked for was wrong, or somebody else ended it. */
typedef enum CauseHealth { HEALTH_NONE, HEALTH_GOOD, HEALTH_BAD } CauseHealth;

bool run_can(RunState from, RunState to);
bool job_can(RunState from, RunState to);
bool step_can(StepState from, StepState to);
bool compensation_can(CompensationState from, CompensationState to);

bool run_state_is_terminal(RunState state, Resolution resolution);
bool run_state_is_settled(RunState state, Resolution resolution);
bool step_state_is_final(StepState state);          /* succeeded, failed, timed-out, skipped, superseded, cancelled */

const char *run_state_name(RunState state);         /* "waiting-signal" */
const char *run_state_stored(RunState state);       /* "WAITING_SIGNAL" */
/* "PENDING", "RUNNING", "COMPLETED", "FAILED" or "CANCELLED". */
const char *run_status(RunState state, Resolution resolution, bool cancel_requested);
bool        run_state_find(Str name, RunState *out_state);      /* by either name */
const char *step_state_name(StepState state);
const char *step_state_stored(StepState state);
/* "PENDING", "RUNNING", "COMPLETED", "FAILED" or "SKIPPED"; `began` tells whether a cancelled one had been started. */
const char *step_status(StepState state, bool began, bool has_output);
const char *resolution_name(Resolution resolution);             /* "AWAITING_DECISION" */
const char *decision_kind_name(DecisionKind kind);              /* "RETRY_FROM_STEP" */
const char *trigger_outcome_name(TriggerOutcome outcome);       /* "answered" */
const char *retry_source_name(RetrySource source);              /* "FAILED_RETRY"; "" for none */
const char *retry_mode_name(RetryMode mode);                    /* "COMPENSATE_THEN_RETRY" */
const char *compensation_state_name(CompensationState state);   /* "PENDING" */
const char *compensation_scope_name(CompensationScope scope);   /* "FROM_STEP" */
/* By these names, or by the same in lower case, with '-' or '_' between words. */
bool decision_kind_find(Str name, DecisionKind *out_kind);
bool retry_mode_find(Str name, RetryMode *out_mode);
bool compensation_scope_find(Str name, CompensationScope *out_scope);
const char *skip_reason_name(SkipReason reason);                /* "CONDITION_FALSE" */
const char *failure_class_name(FailureClass failure_class);     /* "transient" */
const char *cause_name(Cause cause);                            /* "lease-expired" */
bool        cause_find(Str name, Cause *out_cause);
FailureClass cause_class(Cause cause);
CauseHealth  cause_health(Cause cause);

#endif
