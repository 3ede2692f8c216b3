/* terms.h - the terms under which each step of a plan is carried out, made ready for the engine.
 *
 * A plan's settings are values with names; looking them up at every step would cost more than the step. plan_read() fills
 * these structs once for a plan. Conditions and schemas are numbered: who evaluates them compiles them once, too.
 *
 * Owns: everything lives in the plan's arena.     Thread: immutable, any.
 */
#ifndef CORE_TERMS_H
#define CORE_TERMS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/placement.h"
#include "core/plan.h"
#include "core/state.h"
#include "dispatch/admission.h"

#define CONDITION_NONE UINT32_MAX

typedef struct RetryTerms {
    uint32_t attempt_count_max;     /* tries in all */
    int64_t delay_ms, delay_ms_max, jitter_ms;
    bool is_exponential;
    uint32_t on;                    /* bit of each Cause that is retried */
    uint32_t spawn_count_max;       /* its spawn budget: sub-routines in all, those of dispatches that nobody accepted included */
} RetryTerms;

typedef struct GateTerms { Str signal; int64_t timeout_ms; bool is_before; } GateTerms;     /* empty signal: no gate */

/* What becomes of a run whose poll gave up or was given up. */
typedef enum PollAction { POLL_FAILS, POLL_PAUSES, POLL_CONTINUES, POLL_ACTION_COUNT } PollAction;

/* A step that is executed again and again until its runner says that it is complete; an interval of 0: it is not. */
typedef struct PollTerms {
    int64_t interval_ms, interval_ms_max, duration_ms;
    uint32_t count_max;             /* polls in all */
    bool is_exponential;
    PollAction on_timeout, on_abort;
    Value otherwise;                /* the output of POLL_CONTINUES */
    bool otherwise_has_paths;
    uint32_t slot;                  /* its index in Run.polls */
} PollTerms;

/* What happens when nobody resumes a paused run in time. */
typedef enum PauseAction { PAUSE_FAILS, PAUSE_REMINDS, PAUSE_APPROVES, PAUSE_ACTION_COUNT } PauseAction;

/* The run pauses behind a step until a trigger resumes it; an empty trigger: it does not. */
typedef struct PauseTerms {
    Str trigger;
    int64_t timeout_ms;             /* 0: none */
    int64_t resume_ms;              /* after which it goes on by itself; 0: it does not */
    PauseAction on_timeout;
    uint32_t reminder_count_max;    /* of PAUSE_REMINDS; then the trigger fails the run */
    uint32_t resume_when;           /* index of a condition, or CONDITION_NONE */
    Value payload_schema;           /* null: none */
    Value otherwise;                /* the payload of PAUSE_APPROVES; null: none */
    bool otherwise_has_paths;
    Value auth;                     /* how its trigger is authenticated */
    int64_t window_ms;              /* how old a signed trigger may be; 0: as usual */
    uint64_t rate_count;            /* how many triggers are taken ... */
    int64_t rate_ms;                /* ... in this time; 0: as usual */
    const Value *notify;            /* texts: whom to notify, when it begins and with each reminder ... */
    uint32_t notify_count;          /* ... up to NOTIFY_TARGET_COUNT_MAX */
    uint32_t slot;                  /* its index in PlanTerms.pauses */
} PauseTerms;

/* Behind a step the run may end at once. */
typedef struct TerminateTerms {
    bool is_declared, is_success;
    uint32_t condition;             /* CONDITION_NONE: always */
    Str reason;
} TerminateTerms;

/* What undoes a step; an empty runner: nothing does. */
typedef struct UndoTerms {
    Str runner;
    Value settings;                 /* the whole object in the document */
    RetryTerms retry;
    int64_t timeout_ms;             /* of one attempt; 0: none */
    Value input, args;              /* as of steps; an input of null: what the step gave */
    bool input_has_paths, args_have_paths;
} UndoTerms;

typedef struct StepTerms {
    Intent intent;                  /* how heavy its work is, for the dispatch of it */
    RetryTerms retry;
    int64_t timeout_ms;             /* 0: none */
    uint32_t when;                  /* index of a condition, or CONDITION_NONE */
    uint32_t job_when;              /* of the first step of a job: the condition of the whole job */
    uint32_t select;                /* of a branch: what it selects by, or its condition */
    GateTerms gate;                 /* of the task; the gate of a job is that of its last task (before: of its first) */
    Value input;                    /* with ${paths} where input_has_paths; null: none */
    Value args;                     /* the same */
    Value input_schema, output_schema;      /* null: none */
    Value outputs;                  /* {name: type} that the output must have; null: none */
    Value cases;                    /* of a branch: its keys */
    Str otherwise;                  /* of a branch: its default; empty: none */
    Str key, domain;                /* declared idempotency key (a template) and its domain */
    bool input_has_paths, args_have_paths;
    bool has_secrets;               /* in input or args: what is recorded is not yet what the runner gets */
    bool is_optional;               /* an artifact that the run may do without */
    bool is_selecting;              /* a branch by `select`; else by a condition */
    bool is_inclusive;
    bool is_undone_on_failure;      /* named by `on_failure: { compensate: [...] }` */
    UndoTerms undo;
    PollTerms poll;
    PauseTerms pause;
    TerminateTerms terminate[2];    /* its own, then that of the job that it is the last task of */
    const PlacementTerms *placement;        /* where it may run; NULL: anywhere */
    uint32_t weight;                /* against the blast-radius budget (G-21) */
    uint32_t end_slot;              /* of one that has any: its index in Run.ends */
} StepTerms;

static inline bool step_polls(const StepTerms *terms) { return terms->poll.interval_ms != 0; }
static inline bool step_terminates(const StepTerms *terms)
{
    return terms->terminate[0].is_declared || terms->terminate[1].is_declared;
}
static inline bool step_pauses(const StepTerms *terms) { return terms->pause.trigger.len != 0; }

typedef enum ReactionKind {
    REACTION_PAUSE, REACTION_RECHECK, REACTION_RESUME, REACTION_CANCEL, REACTION_COMPENSATE, REACTION_CUT, REACTION_AMPLIFY,
    REACTION_KIND_COUNT
} ReactionKind;
typedef enum CutOutcome { OUTCOME_SUCCEEDED, OUTCOME_FAILED, OUTCOME_SKIPPED, CUT_OUTCOME_COUNT } CutOutcome;

/* One thing that a signal does. */
typedef struct ReactionTerms {
    Str signal;
    ReactionKind kind;
    const uint32_t *steps;          /* of a short circuit or an amplification: the steps that it covers ... */
    uint32_t step_count;            /* ... none: the whole run */
    CutOutcome outcome;
    Str reason;
    uint32_t attempt_count_max;     /* of an amplification; 0: as before */
    int64_t delay_ms;               /* -1: as before */
} ReactionTerms;

typedef struct ConditionTerms { Str text; uint32_t step; } ConditionTerms;

typedef enum FailureStrategy { FAILURE_AWAIT_DECISION, FAILURE_AUTO_RETRY, FAILURE_AUTO_COMPENSATE } FailureStrategy;
typedef enum TimeoutAction { TIMEOUT_AWAITS_DECISION, TIMEOUT_FAILS, TIMEOUT_COMPENSATES } TimeoutAction;
typedef enum FailureScope { FAILURE_SCOPE_ALL, FAILURE_SCOPE_FAILED_STEP, FAILURE_SCOPE_NAMED } FailureScope;

/* What happens when the run fails. */
typedef struct ResolutionTerms {
    FailureStrategy strategy;
    FailureScope scope;             /* of FAILURE_AUTO_COMPENSATE */
    TimeoutAction on_timeout;
    bool cancel_compensates;
    uint32_t retry_count_max;       /* of FAILURE_AUTO_RETRY, with the delay before each */
    RetryTerms retry;
} ResolutionTerms;

typedef struct PlanTerms {
    const StepTerms *steps;         /* step_count of the plan */
    const ConditionTerms *conditions;
    const uint32_t *loop_conditions;        /* loop_count */
    const bool *loop_fails;         /* loop_count: on_max is `fail` */
    uint32_t condition_count;
    uint32_t poll_count;            /* steps that are polled */
    const uint32_t *pauses;         /* steps behind which the run pauses, in the order of steps */
    uint32_t pause_count;
    const ReactionTerms *reactions; /* in the order written, the workflow's first */
    uint32_t reaction_count;
    uint32_t end_count;             /* steps that may end the run early */
    bool is_fail_fast;              /* else continue-independent */
    bool ends_running;              /* fail-fast cancels what runs, instead of letting it finish */
    ResolutionTerms resolution;
    uint32_t running_count_max;
    int64_t timeout_ms, lease_ms;
    int64_t cost_max_micro;
    uint32_t cooperative_max;       /* cooperative sub-routines beside a primary, as configured when it was compiled */
    bool has_cost_max;              /* a cost_limit of 0 permits nothing that costs */
    bool has_blast_max;             /* a budget of 0 permits nothing that has a weight */
    uint32_t blast_max;
    Str unsupported;                /* names the first feature of the definition that runs cannot carry out; empty: none */
} PlanTerms;

/* What a branch selects by, as it is written; empty for every other step. */
Str terms_branch_condition(const PlanTerms *terms, uint32_t step_index);

/* Fails with ERR_CORRUPT where a setting has the wrong form. */
MUST_USE Status terms_read(Arena *arena, const Plan *plan, PlanTerms *out_terms, Error *err);

#endif
