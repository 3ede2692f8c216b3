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
 * Beside the lists it has its polls (how often, since when), and the pauses that are to be awaited, in the order in which their
 * steps ended; the first of these is the one that is awaited, and the whole run is paused for it.
 *
 * While it is compensated, what has to be done is in its rollback: the compensations, in order, one at a time.
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
#include "core/command.h"
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
    STEP_RENEWED = 1024,            /* its step run took the place of another and has not been asked anything yet */
    STEP_WORK_DONE = 2048,          /* its work was done, whatever became of the step: it waited behind it */
    STEP_UNDONE = 4096,             /* its compensation succeeded */
    STEP_IN_SCOPE = 8192,           /* named by the rollback, which undoes a part */
    STEP_LOST = 16384 | 32768,      /* two bits: how many executions have ended with their owner, up to LOST_COUNT_MAX */
} StepFlag;
#define STEP_LOST_SHIFT 14

/* The current step run of a step: 32 bytes. */
typedef struct StepRun {
    uint8_t state;                  /* a StepState */
    uint8_t cause;                  /* of the last failure: a Cause; of a skipped one: a SkipReason */
    uint16_t flags;                 /* StepFlag */
    uint16_t attempt;               /* tries begun */
    uint16_t retry;                 /* of these, the ones after a failure: the retry depth */
    uint32_t need_left;             /* incoming edges not yet decided; of a running sequence: steps in it not yet ended; of
                                     * work that has ended and was not skipped: the how manieth it was to end in its run */
    uint32_t number;                /* of the step run in its run, from 1; 0: not begun */
    uint32_t generation;            /* of its idempotency key */
    uint32_t next;                  /* in reached or ready: the next of the list; in active: its slot */
    uint64_t output_at;             /* position of the record with its output; 0: none. Where it failed or was cancelled: of
                                     * the effect that it announced or committed, or the output kept back */
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
    uint64_t notice;                /* number of the last cost that its holder reported; 0: none. What is said again after a
                                     * commit of which nobody knew whether it was kept is known by it */
    uint64_t intended_at;           /* position of the record with the effect that was announced last; 0: none */
    uint32_t signal;                /* of a waiting step: number of the signal that it has been waiting for; 0: none yet */
    bool is_overdue;                /* its time is over and its executor was told to end it: it has failed once it has ended */
    bool is_spent;                  /* so it is, and what is over is not its time, but what its tenant may have */
} ActiveStep;

typedef enum JobFlag {
    JOB_BEGAN = 1, JOB_RAN = 2, JOB_FAILED = 4,
    JOB_CUT = 8,                    /* not all of it was done */
    JOB_IN_MOVED = 16,
    JOB_PAUSED = 32,                /* by a person: none of its steps begins, until it is resumed; a retry of the run does not end that */
    JOB_CANCELLED = 64,             /* by a person: what is left of it is ended or skipped */
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
    bool is_denial, is_trigger;
    Str name;                       /* owned by the run */
    uint64_t at;                    /* position of the record with its payload */
    uint64_t holder, notice;        /* of the attempt that sent it, and its number among what is said in that epoch; 0: none did */
} RunSignal;

/* What undoes one step, in a rollback. */
typedef struct Compensation {
    uint32_t step;
    uint16_t attempt, attempt_max;  /* tries begun; how many there may be, raised by who asks for more */
    uint8_t state;                  /* a CompensationState */
    uint8_t lost;                   /* executions of it that ended with their owner */
} Compensation;

typedef enum RollbackFlag {
    ROLLBACK_THEN_RETRIES = 1,      /* the run is then retried from the step */
    ROLLBACK_EXCLUDES_STEP = 2,     /* of FROM_STEP: what comes after the step, not the step itself */
    ROLLBACK_UNKNOWN_IS_DONE = 4,   /* effects of which nobody knows whether they took place count as such that did ... */
    ROLLBACK_UNKNOWN_IS_NONE = 8,   /* ... or as such that did not */
    ROLLBACK_AS_DECLARED = 16,      /* of PARTIAL: the steps that the definition names */
    ROLLBACK_IS_EMPTY = 32,         /* there is nothing to compensate */
} RollbackFlag;

/* What has been done is undone: the newest rollback of a run, or the one that it winds down for. */
typedef struct Rollback {
    uint8_t scope;                  /* a CompensationScope */
    uint8_t flags;                  /* RollbackFlag */
    bool is_planned;                /* all its compensations are in `items` */
    bool is_stuck;                  /* the attempts of the one at `at` are used up */
    uint32_t from;                  /* of FROM_STEP, and where the run is retried from; else STEP_NONE */
    uint32_t number;                /* which one of the run it is; 0: there was none */
    uint32_t earlier_count;         /* compensations of earlier ones: the next has the next number */
    Compensation *items;            /* in the order in which they are carried out */
    uint32_t count, capacity;
    uint32_t at;                    /* the first that has neither succeeded nor been skipped */
    ActiveStep active;              /* of that one: who has it, until when; not before when, where it is tried again */
} Rollback;

/* How far the polls of a step run are. */
typedef struct PollRun {
    uint32_t count;                 /* polls that gave a result */
    bool is_held;                   /* its polls have timed out, and the run is paused for that */
    uint16_t attempt_first;         /* attempts before the poll under way: each poll has its own tries */
    int64_t started_ms;             /* when the first one began; 0: none has */
    int64_t due_ms;                 /* when the next one may begin */
} PollRun;

/* What a run is paused for. */
typedef enum PausedFor { PAUSED_BY_PERSON, PAUSED_FOR_TRIGGER, PAUSED_FOR_POLL, PAUSED_FOR_COUNT } PausedFor;

/* Of a trigger that was received. */
typedef enum TriggerFlag {
    TRIGGER_IS_DENIAL = 1,
    TRIGGER_IS_KEPT = 2,            /* for a pause that is still ahead */
    TRIGGER_IS_UNMET = 4,           /* the condition of its pause does not hold */
} TriggerFlag;
const char *trigger_flags_name(uint32_t flags);     /* what came of it: "answered", "denied", "kept", "unmet" */

/* The trigger that is awaited. */
typedef struct Awaited {
    uint32_t step;                  /* behind which the run paused; STEP_NONE: none is awaited */
    int64_t since_ms;
    int64_t due_ms;                 /* its timeout, or when the run goes on by itself; 0: never */
    uint32_t reminder_count;
} Awaited;

/* Somebody outside is to learn of the pause that is awaited, and has not confirmed it. */
typedef struct Notification {
    uint32_t number;                /* which one of the run, from 1 */
    uint32_t step;                  /* behind which the run paused */
    uint32_t reminder;              /* which one it tells of; 0: of the pause itself */
    uint32_t attempt;               /* tries that have failed */
    int64_t due_ms;                 /* of the next one */
    int64_t until_ms;               /* of one that this process has under way: when it is given up; 0: none is. Not part of the snapshot */
    Str target;                     /* whom, as the definition has it; owned by the run */
} Notification;

typedef struct SignalUse { uint32_t number, step; } SignalUse;      /* a signal that a step has consumed */

typedef struct Run {
    /* --- fixed at creation --- */
    Id id;
    uint64_t run_no;
    Str tenant, definition, key;    /* owned by the run; `key` is its idempotency key, empty for none */
    Str source, parent;             /* what started it, and the run that did; owned, may be empty */
    Str directory;                  /* where its programs begin; owned, empty: where the owner of its log is */
    Digest plan_digest;             /* of the plan that it is pinned to; this and the next change where it goes on with another revision */
    uint32_t revision, key_generation;
    uint64_t seed;
    int64_t created_ms, deadline_ms;
    uint64_t params_at;             /* position of the record with its parameters */
    uint8_t priority;
    /* --- what changes --- */
    uint8_t state;                  /* a RunState */
    uint8_t resolution;             /* a Resolution */
    bool cancel_requested, is_failing, is_cancelling;
    bool is_rolling_back;           /* it winds down in order to be compensated */
    bool is_rerunning;              /* queued again: the steps that are run anew are being named */
    uint8_t retry_source;           /* of that, a RetrySource */
    uint32_t retry_from;            /* of that: the step, or STEP_NONE: what failed and what was cut short by it */
    uint32_t auto_retry_count;      /* automatic retries so far, a scheduled one included */
    int64_t auto_retry_ms;          /* when the scheduled one is due; 0: none is */
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
    uint32_t paused_ready_count;    /* ready steps of paused jobs: they do not begin */
    uint32_t cutting_count;         /* cancelled jobs with steps that have not ended */
    uint32_t done_count;            /* work that has ended and was not skipped: see StepRun.need_left */
    uint32_t sweep_next;            /* first step the sweep has not looked at */
    StepList reached, ready[PRIORITY_COUNT];
    StepList moved;                 /* of jobs */
    StepRun *steps;                 /* step_count */
    uint32_t *places;               /* step_count: where its last attempt went, as of placement_mark(), where there was a choice or others follow it;
                                     * NULL: never */
    uint16_t *extras;               /* step_count: sub-routines spawned for the task under way beside one for each attempt: cooperatives, and
                                     * the primary ones of executions that an owner gave back; NULL: none ever */
    ActiveStep *active;             /* in no order: the last one takes the place of one that leaves */
    uint32_t active_count, active_capacity;
    JobRun *jobs;                   /* job_count */
    uint32_t *loops;                /* loop_count: rounds after the first */
    uint8_t *loop_ends;             /* loop_count: a LoopEnd */
    Rollback rollback;
    Str bound;                      /* where what has not begun may run: JSON of what took the place of the plan's; owned, empty: nothing did */
    bool is_terminating, ends_well; /* it ends early; and succeeds by that */
    uint8_t paused_for;             /* of a run that is paused: a PausedFor */
    uint32_t polling_count;         /* steps between two polls */
    uint32_t held_count;            /* steps whose polls have timed out, for which the run is paused */
    uint32_t poll_slot_count, pause_slot_count, end_slot_count;
    uint32_t reaction_count;
    uint64_t blast_used;            /* weight of what was started and not undone, where there is a budget ... */
    uint64_t blast_approved;        /* ... and what people have permitted beyond that */
    uint8_t *fired;                 /* a bit for each reaction of the plan: its signal has come */
    bool has_waits;                 /* its plan has polls, pauses or early ends: the snapshot has a part about them */
    PollRun *polls;                 /* poll_slot_count: by PollTerms.slot */
    bool *ends;                     /* end_slot_count: by StepTerms.end_slot: whether the run ends there is still to be asked */
    uint64_t *answers;              /* pause_slot_count: position of the record with the payload that ended it; 0: none */
    uint32_t *pauses;               /* steps whose pause is to be awaited, in their order */
    uint32_t pause_count;
    Awaited awaited;
    Notification *notifications;    /* those that are open, all of them about `awaited` */
    uint32_t notification_count, notification_capacity;
    uint32_t notified_count;        /* notifications so far: the last `number` */
    RunSignal *signals;
    SignalUse *uses;
    uint32_t signal_count, use_count, signal_capacity, use_capacity;
} Run;

typedef enum LoopEnd { LOOP_GOES_ON, LOOP_IS_LEFT, LOOP_HAS_FAILED } LoopEnd;

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
/* The same in the format of that snapshot, which may be an older one. */
void            run_encode_like(const Run *run, const Plan *plan, Str snapshot, Buf *buf);
/* Into a run of run_init(), whose id and number have to be the snapshot's; left as it was where it fails. */
MUST_USE Status run_decode(Run *run, const Plan *plan, Str bytes, Error *err);
size_t          run_size(const Run *run);           /* bytes in memory */

/* The earliest time at which this run has to be looked at by itself, or INT64_MAX. */
int64_t run_due_ms(const Run *run);
/* The same of what it decides about, notifications aside. */
int64_t run_wait_due_ms(const Run *run);
/* The open notification whose try that attempt is (see notification_attempt()), or NULL. */
Notification *run_notification(const Run *run, uint32_t step, uint32_t attempt);
/* The same of one active step. */
int64_t active_due_ms(const Run *run, const ActiveStep *active);

/* By a heartbeat of who has it; or by an owner that has read the run, of which whoever is to end may not have heard yet. */
typedef enum Renewal { RENEWAL_BY_HOLDER, RENEWAL_BY_OWNER } Renewal;
/* No event, and forgotten with the run's memory (after a reload every lease has its recorded end). False where that holder does not have
 * that attempt, and where a holder is to end it: nobody keeps by heartbeats what he was told to end. */
bool run_renew(Run *run, uint32_t step, uint32_t attempt, uint64_t holder, int64_t lease_ms, Renewal renewal);

/* That holder has that attempt, of a step or of its compensation. */
bool run_holds(const Run *run, uint32_t step, uint32_t attempt, uint64_t holder);
/* The compensation whose turn it is, or NULL: the run is not compensated, or none is left. */
const Compensation *run_compensation(const Run *run);
/* The number of its attempt, as executors know it. */
static inline uint32_t rollback_attempt(const Run *run, uint32_t attempt)
{
    return run->rollback.number << ROLLBACK_SHIFT | attempt;
}

/* The try of a notification that is next or under way, as executors know it. */
static inline uint32_t notification_attempt(const Notification *it)
{
    return ATTEMPT_IS_NOTIFICATION | (it->number & NOTIFICATION_NUMBER_MASK) << ROLLBACK_SHIFT | (it->attempt + 1);
}

/* Values of a run are outputs of steps, by step, and behind these the payloads that ended its pauses, by PauseTerms.slot: where
 * the record of that one is, 0 where there is none. */
uint64_t run_value_at(const Run *run, uint32_t which);
static inline uint32_t run_value_count(const Run *run) { return run->step_count + run->pause_slot_count; }

/* The entry of an active step, or NULL. */
const ActiveStep *run_active(const Run *run, uint32_t step);
/* The oldest signal of that name that the step has not consumed; NULL: none. */
const RunSignal *run_signal_for(const Run *run, uint32_t step, Str name);
/* The run is failing, ending early, being cancelled or about to be compensated: nothing new starts, and what has not begun will be skipped. */
static inline bool run_is_winding(const Run *run)
{
    return run->is_failing || run->is_cancelling || run->is_rolling_back || run->is_terminating;
}
/* Steps in a sequence that have not ended; all of them where it begins for the first time. */
uint32_t run_open_children(const Run *run, const Plan *plan, uint32_t sequence);
/* The step is of a job that is paused by itself, whatever the run is. */
static inline bool run_holds_job(const Run *run, const Plan *plan, uint32_t step)
{
    uint32_t job = plan->steps[step].job;
    return job != PLAN_NONE && run->jobs[job].flags & JOB_PAUSED;
}
/* The step is of a job that somebody has cancelled. */
static inline bool run_cuts_job(const Run *run, const Plan *plan, uint32_t step)
{
    uint32_t job = plan->steps[step].job;
    return job != PLAN_NONE && run->jobs[job].flags & JOB_CANCELLED;
}
/* Some of its steps are still to be ended or skipped, or are being ended. */
static inline bool job_is_cutting(const JobRun *job) { return job->flags & JOB_CANCELLED && job->open; }
/* What state a job's steps have taken it to. A paused job is `paused` once something of it has run: before that it stays `queued`
 * (M-3), and nothing of it begins either. */
RunState job_target(const JobRun *job);
/* The next of the states on the way there, by the table. */
RunState job_hop(RunState from, RunState target);

/* Its polls have timed out, and the run is paused for that: it has not ended yet, as far as others are concerned. */
bool run_holds_poll(const Run *run, const Plan *plan, uint32_t step);
/* Whether the run ends behind it is still to be asked. */
bool run_asks_end(const Run *run, const Plan *plan, uint32_t step);
/* It was done, or its polls timed out and the run goes on with a default (C-84). */
static inline bool step_is_done(const StepRun *step)
{
    return step->state == STEP_SUCCEEDED || (step->state == STEP_TIMED_OUT && step->cause == CAUSE_NONE);
}
/* Sub-routines that were spawned for the task that the step has under way, of these the cooperative ones. */
static inline uint32_t run_extras(const Run *run, uint32_t step) { return run->extras ? run->extras[step] : 0; }
void run_set_extras(Run *run, uint32_t step, uint32_t count);
static inline uint32_t run_place(const Run *run, uint32_t step) { return run->places ? run->places[step] : 0; }
void run_set_place(Run *run, uint32_t step, uint32_t mark);
/* Executions of the step run that ended with their owner: the first of them were repeated under the same number. */
static inline uint32_t step_lost(const StepRun *step) { return step->flags >> STEP_LOST_SHIFT; }

static inline const StepRun *run_step(const Run *run, uint32_t step) { return &run->steps[step]; }
static inline bool run_is_terminal(const Run *run)
{
    return run_state_is_terminal((RunState)run->state, (Resolution)run->resolution);
}
/* Nothing of it can change without a command from outside, a timer or a report: it may leave memory. */
bool run_is_parked(const Run *run);

#endif
