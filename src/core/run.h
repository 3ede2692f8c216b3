/* run.h - a run as it stands: what its events have made of it, folded.
 *
 * run_apply() assigns and counts and never refuses: live, replay and simulation use the same function. A run holds 32 bytes
 * a step and no payloads: outputs are known by the position of their record. What a run still has to do is in its lists:
 *
 *   reached     steps whose last need was met and that no event has called ready yet
 *   ready       steps that may start, by priority, first in first out
 *   active      steps that something outside will report on, or that wait: dispatched, running, waiting, to be retried
 *   moved       jobs whose steps have taken them to another state than the last event said
 *   sweep       steps not begun that are to be skipped because the run fails or is cancelled, a bounded number a decision
 *
 * The lists are made of the steps themselves, so that a million-step run needs no more memory when all its steps are ready
 * at once.
 *
 * Owns:   a run owns its arrays until run_deinit().
 * Fails:  run_decode() with ERR_CORRUPT.     Bounds: RUN_SIGNAL_COUNT_MAX; steps of the plan.     Thread: one at a time.
 * Invariant I9: apply meets only transitions of the tables; CHECKed.   I12: fold of the events equals the run.
 */
#ifndef CORE_RUN_H
#define CORE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/id.h"
#include "core/event.h"
#include "core/plan.h"
#include "core/state.h"

#define STEP_NONE UINT32_MAX

typedef enum StepFlag {
    STEP_LIVE = 1,                  /* some way into it was taken */
    STEP_DOOMED = 2,                /* a step it needs has failed */
    STEP_HAS_OUTPUT = 4,
    STEP_EFFECT_INTENDED = 8,
    STEP_EFFECT_COMMITTED = 16,
    STEP_ENDING = 32,               /* its executor was told to end it */
    STEP_DEFER_NOTED = 64,          /* that admission deferred it has been recorded once */
    STEP_IN_REACHED = 128, STEP_IN_READY = 256, STEP_IN_ACTIVE = 512,
} StepFlag;

/* The current step run of a step: 32 bytes. */
typedef struct StepRun {
    uint8_t state;                  /* a StepState */
    uint8_t cause;                  /* of the last failure: a Cause; of a skipped one: a SkipReason */
    uint16_t flags;                 /* StepFlag */
    uint16_t attempt;               /* tries begun */
    uint16_t retry;                 /* of these, the ones after a failure: the retry depth */
    uint32_t need_left;             /* incoming edges not yet decided; of a running sequence: steps in it not yet ended */
    uint32_t number;                /* of the step run in its run, from 1; 0: not begun */
    uint32_t generation;            /* of its idempotency key */
    uint32_t next;                  /* in reached or ready: the next of the list; in active: its slot */
    uint64_t output_at;             /* position of the record with its output; 0: none */
} StepRun;

typedef struct StepList { uint32_t first, last, count; } StepList;

/* A step that something outside will report on, or that waits. */
typedef struct ActiveStep {
    uint32_t step;
    uint64_t holder;                /* who may report: owner epoch and slot; 0 while nobody has it */
    int64_t due_ms;                 /* not before (to be retried), else deadline (running, waiting); 0: none */
    int64_t lease_ms;               /* until when the lease lasts, for remote executors; 0: this process has it */
    int64_t renewed_ms;             /* the same after heartbeats, which are no events: not part of the snapshot */
    uint64_t kept_at;               /* position of the record with an output kept back: of a step that waits after its work,
                                     * of an effect that was committed */
    uint32_t signal;                /* of a waiting step: number of the signal that it has been waiting for; 0: none yet */
} ActiveStep;

typedef enum JobFlag { JOB_BEGAN = 1, JOB_RAN = 2, JOB_FAILED = 4, JOB_CUT = 8 /* not all of it was done */, JOB_IN_MOVED = 16
} JobFlag;

/* An explicit job: its state as the events say, and what its steps have made of it. */
typedef struct JobRun {
    uint8_t state;                  /* a RunState */
    uint8_t flags;                  /* JobFlag */
    uint32_t open;                  /* steps that have not ended */
    uint32_t under_way, waiting;    /* steps dispatched or running; waiting for a signal */
    uint32_t next;                  /* in moved */
} JobRun;

typedef struct RunSignal {
    uint32_t number;                /* from 1 */
    uint8_t sort;                   /* a SignalKind */
    bool is_denial;
    Str name;                       /* owned by the run */
    uint64_t at;                    /* position of the record with its payload */
} RunSignal;

typedef struct SignalUse { uint32_t number, step; } SignalUse;      /* a signal that a step has consumed */

typedef struct Run {
    /* --- fixed at creation --- */
    Id id;
    uint64_t run_no;
    Str tenant, definition, key;    /* owned by the run; `key` is its idempotency key, empty for none */
    Str source, parent;             /* what started it, and the run that did; owned, may be empty */
    Digest plan_digest;
    uint32_t revision, key_generation;
    uint64_t seed;
    int64_t created_ms, deadline_ms;
    uint64_t params_at;             /* position of the record with its parameters */
    uint8_t priority;
    /* --- what changes --- */
    uint8_t state;                  /* a RunState */
    uint8_t resolution;             /* a Resolution */
    bool cancel_requested, is_failing, is_cancelling;
    uint8_t cause;                  /* of its failure */
    uint32_t failed_step;           /* that made it fail, or STEP_NONE */
    Str failure;                    /* why, for people; owned, empty where nothing failed */
    uint64_t event_count;           /* events applied: the number of the last one */
    uint64_t cost_micro;
    int64_t started_ms, ended_ms, updated_ms;
    uint32_t step_count, job_count, loop_count;
    uint32_t open_count;            /* steps that have not ended */
    uint32_t begun_count;           /* step runs so far: the last `number` */
    uint32_t running_count;         /* attempts under way, against max_concurrency */
    uint32_t waiting_count;         /* steps that wait for a signal ... */
    uint32_t satisfied_count;       /* ... and of these, those whose signal is there */
    uint32_t sweep_next;            /* first step the sweep has not looked at */
    StepList reached, ready[PRIORITY_COUNT];
    StepList moved;                 /* of jobs */
    StepRun *steps;                 /* step_count */
    ActiveStep *active;             /* in no order: the last one takes the place of one that leaves */
    uint32_t active_count, active_capacity;
    JobRun *jobs;                   /* job_count */
    uint32_t *loops;                /* loop_count: rounds after the first */
    RunSignal *signals;
    SignalUse *uses;
    uint32_t signal_count, use_count, signal_capacity, use_capacity;
} Run;

/* A holder is the epoch of an owner and a slot of its own. */
#define HOLDER_SLOT_BITS 16
static inline uint64_t holder_make(uint64_t epoch, uint32_t slot) { return epoch << HOLDER_SLOT_BITS | slot; }
static inline uint64_t holder_epoch(uint64_t holder) { return holder >> HOLDER_SLOT_BITS; }

/* Where an event stands: what apply needs beside the event itself. */
typedef struct EventPlace {
    int64_t now_ms;                 /* the record's time */
    uint64_t position;              /* the record's position in its log */
} EventPlace;

/* An empty run, to which EVENT_RUN_CREATED is applied first. `plan` outlives the run. */
void run_init(Run *run, const Plan *plan, const Id *id, uint64_t run_no);
void run_deinit(Run *run);
void run_apply(Run *run, const Plan *plan, const Event *event, const EventPlace *place);

/* The snapshot: every byte that matters, and only these, so that equal runs have equal snapshots. */
void            run_encode(const Run *run, Buf *buf);
/* Into a run of run_init(), whose id and number have to be the snapshot's; left as it was where it fails. */
MUST_USE Status run_decode(Run *run, const Plan *plan, Str bytes, Error *err);
size_t          run_size(const Run *run);           /* bytes in memory */

/* The earliest time at which this run has to be looked at by itself, or INT64_MAX. */
int64_t run_due_ms(const Run *run);
/* The same of one active step. */
int64_t active_due_ms(const Run *run, const ActiveStep *active);

/* A heartbeat: no event, and forgotten with the run's memory (after a reload every lease has its recorded end). False where
 * that holder does not have that attempt. */
bool run_renew(Run *run, uint32_t step, uint32_t attempt, uint64_t holder, int64_t lease_ms);

/* The entry of an active step, or NULL. */
const ActiveStep *run_active(const Run *run, uint32_t step);
/* The oldest signal of that name that the step has not consumed; NULL: none. */
const RunSignal *run_signal_for(const Run *run, uint32_t step, Str name);
/* The run is failing or being cancelled: nothing new starts, and what has not begun will be skipped. */
static inline bool run_is_winding(const Run *run) { return run->is_failing || run->is_cancelling; }
/* What state a job's steps have taken it to. */
RunState job_target(const JobRun *job);
/* The next of the states on the way there, by the table. */
RunState job_hop(RunState from, RunState target);

static inline const StepRun *run_step(const Run *run, uint32_t step) { return &run->steps[step]; }
static inline bool run_is_terminal(const Run *run)
{
    return run_state_is_terminal((RunState)run->state, (Resolution)run->resolution);
}
/* Nothing of it can change without a command from outside, a timer or a report: it may leave memory. */
bool run_is_parked(const Run *run);

#endif
