/* command.h - wishes: everything that can enter a run from outside.
 *
 * A person, a program, a timer, an executor: whoever wants something of a run sends a command, and decide() answers with
 * events or a refusal. A command has an id, so that sending it again is safe, and says who sent it and why.
 *
 * Owns: nothing; texts and values are borrowed until the decision is made.     Fails: never.     Thread: pure, any.
 */
#ifndef CORE_COMMAND_H
#define CORE_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "core/state.h"
#include "value/value.h"

typedef enum CommandKind {
    COMMAND_START,          /* begin a run: decide_start() */
    COMMAND_ACCEPT,         /* a remote executor took an attempt: `step`, `attempt`, `holder`, `lease_ms` */
    COMMAND_REPORT,         /* an attempt ended: `step`, `attempt`, `holder`, `report` */
    COMMAND_EFFECT,         /* an attempt is about to act, has acted, or has not and will not: `step`, `attempt`, `holder`, `value`,
                             * `is_committed`, `is_withdrawn` */
    COMMAND_COST,           /* `step`, `attempt`, `holder`, `number` in millionths */
    COMMAND_SIGNAL,         /* `name`, `sort`, `value`, `is_denial` */
    COMMAND_TRIGGER,        /* the resume trigger `name`, with `value`, from `origin`; `is_denial` */
    COMMAND_TIMER,          /* the time of something has come; what, is found in the run */
    COMMAND_ORPHANED,       /* the holder of `step`, `attempt` is gone: its lease ran out or its process died */
    COMMAND_SPENT,          /* the tenant of `step`, `attempt`, which `holder` has, has nothing left for it: `rationale` says of what */
    COMMAND_RECOVER,        /* a new owner: everything held by `holder` older than this one is orphaned */
    COMMAND_RELEASE,        /* an owner that ends in order: what holders of the epoch of `holder` have in its process is given back */
    COMMAND_PAUSE,          /* the run, or its `job` alone; so of the next two */
    COMMAND_RESUME,
    COMMAND_CANCEL,         /* `undo`, of a run */
    COMMAND_RESOLVE,        /* about a failed run: `decision`; of RETRY `revision`; of RETRY_FROM_STEP and COMPENSATE as the two below */
    COMMAND_RETRY_FROM,     /* from step `name`, in `mode`; `includes` compensates that step, too; `value`: parameters to change;
                             * `revision` */
    COMMAND_COMPENSATE,     /* in `scope`: of FROM_STEP `name`, of PARTIAL `value`, a list of steps; `unknown` */
    COMMAND_RETRY_COMPENSATION,     /* the one that failed */
    COMMAND_SKIP_COMPENSATION,      /* the same, or `name`; `includes` all that are left */
    COMMAND_REBIND,         /* where what has not begun may run: `value`, an object as of placement.h */
    COMMAND_KIND_COUNT
} CommandKind;

typedef enum SignalKind { SIGNAL_HEALTH, SIGNAL_ANOMALY, SIGNAL_MILESTONE, SIGNAL_APPROVAL, SIGNAL_OPERATOR, SIGNAL_KIND_COUNT
} SignalKind;

/* Whether a cancelled run is compensated. */
typedef enum CancelUndo { CANCEL_AS_DEFINED, CANCEL_COMPENSATES, CANCEL_LEAVES } CancelUndo;

/* What a person knows of effects that were announced, and of which no record says whether they took place. */
typedef enum UnknownEffect { UNKNOWN_HOLDS, UNKNOWN_COMPENSATES, UNKNOWN_LEAVES } UnknownEffect;

typedef struct Report {
    Cause cause;                    /* CAUSE_NONE: success */
    Str message;                    /* of a failure */
    Value output;                   /* of a success; details of a failure (null: none) */
} Report;

typedef struct Command {
    CommandKind kind;
    Str id;                         /* unique; empty for what the engine itself sends */
    Str alias;                      /* a second id of it: its answer is kept under both. It is looked for by `id` alone; may be empty */
    Str asked;                      /* digest of the request as its sender wrote it, by which it is known again; empty: of what it is here */
    Str actor, rationale;           /* "user:ana", "executor:local", "timer" / why; may be empty */
    Str origin;                     /* the address that a trigger came from; may be empty */
    Str bridge;                     /* of a signal: the other tenant that sends it, by a bridge; empty: the run's own */
    Str trace;                      /* a W3C traceparent; may be empty: then the run's own */
    Str tracestate;                 /* of a start, the tracestate that came with that; may be empty */
    uint32_t step, attempt;
    uint32_t step_run;              /* of what a holder says: the number of the step run that its attempt is of; 0: not known */
    uint64_t holder;
    uint64_t notice;                /* of what a holder says: its number, growing within the holder's epoch; 0: without one */
    int64_t lease_ms;
    uint64_t number;
    Str name;
    Str job;                        /* of a pause, resume or cancel: that job alone; empty: the whole run */
    SignalKind sort;
    Value value;
    Report report;
    bool is_committed, is_withdrawn, is_denial;
    DecisionKind decision;
    CompensationScope scope;
    RetryMode mode;
    CancelUndo undo;
    UnknownEffect unknown;
    bool includes;
    uint32_t revision;              /* of a retry: the revision to go on with; 0: as before */
    const struct Plan *before;      /* where that is another one: the plan that the run has had; decide() is given the new one */
} Command;

/* Attempts of compensations are told from those of the steps that they undo by the number of their rollback in the upper half
 * of the attempt's number. */
#define ROLLBACK_SHIFT 16u
/* Those of notifications have the highest bit, and the number of the notification in the place of a rollback's. */
#define ATTEMPT_IS_NOTIFICATION (UINT32_C(1) << 31)
#define NOTIFICATION_NUMBER_MASK ((ATTEMPT_IS_NOTIFICATION - 1) >> ROLLBACK_SHIFT)
static inline bool attempt_is_notification(uint32_t attempt) { return attempt & ATTEMPT_IS_NOTIFICATION; }
static inline uint32_t attempt_notification(uint32_t attempt) { return attempt >> ROLLBACK_SHIFT & NOTIFICATION_NUMBER_MASK; }
static inline uint32_t attempt_rollback(uint32_t attempt) { return attempt >> ROLLBACK_SHIFT; }
static inline uint32_t attempt_number(uint32_t attempt) { return attempt & ((1u << ROLLBACK_SHIFT) - 1); }

const char *command_kind_name(CommandKind kind);        /* "report" */
const char *signal_kind_name(SignalKind kind);          /* "approval" */
bool        signal_kind_find(Str name, SignalKind *out_kind);

#endif
