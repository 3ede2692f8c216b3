/* watch.h - what the store has, folded beside the engine, and the invariants of docs/invariants.md held against it.
 *
 * The watch reads each record as soon as it is committed and applies it to runs of its own, which no code of the engine has
 * touched. It therefore knows what is durable; whatever leaves the engine is compared with that (I11).
 *
 * Owns: its runs, until watch_free().     Fails: through world_fail().     Thread: one.
 */
#ifndef TEST_SIM_WATCH_H
#define TEST_SIM_WATCH_H

#include "sim/world.h"

typedef struct WatchStep {
    uint32_t effect_generation;         /* generation whose effect was committed, plus one; 0: none */
    uint32_t intended_generation, intended_attempt;     /* of the last announcement that is recorded */
    uint32_t acted_generation;          /* the same for an attempt that has acted and did not say that it failed */
    uint32_t superseded_count;          /* how often it was begun anew by a decision */
    uint32_t execution_count;           /* how often its current step run was given to an executor, and not given back */
    uint32_t spawn_count;               /* sub-routines of its dispatches, whatever became of them */
    uint32_t poll_count;                /* of its current step run, that are recorded */
    uint32_t polled_generation;         /* of the last of them, plus one */
    bool is_repeating;                  /* it polls, and some loop of its run goes round */
    uint32_t key_generation;            /* of `key`, plus one */
    Digest key;                         /* of the idempotency key that attempts carry */
} WatchStep;

/* A declared key of the strategy dedupe-key, and the step run that has it. */
typedef struct WatchKey { Digest key; uint64_t run_no; uint32_t step, generation; } WatchKey;

typedef struct WatchRun {
    Run run;
    const SimPlan *plan;
    uint64_t run_no, last_position;
    WatchStep *steps;
    char trace[32];                     /* the trace id of its first record */
    uint32_t *failures;                 /* by step: attempts that failed, of the current step run */
    uint32_t awaited_count;             /* pauses that are awaited and have not ended */
    bool is_rerunning;                  /* it was queued again; by step: what has yet to be named as run anew */
    uint8_t *rerun;
    uint8_t *held_jobs;                 /* by job: 1: paused, 2: cancelled, as people had it */
    bool is_touched;                    /* since its row was looked at */
    Value params;                       /* as its records have them */
    bool has_other_params;              /* they were changed: what is run anew may have another declared key */
} WatchRun;

struct Watch {
    World *world;
    WatchRun **runs;                    /* by run number; NULL: there is none */
    uint64_t run_end, run_capacity;
    uint64_t position;                  /* of the last record seen */
    int64_t log_ms;
    uint64_t owner_epoch;               /* of the last owner that the log tells of */
    bool is_delicate;                   /* polls, pauses, retries or compensations have moved: a good moment for a crash */
    bool is_opening;                    /* the last record of the log itself told of an owner */
    bool said[SAID_MAX];                /* by the number of what an attempt said by the way: it is recorded */
    uint8_t recorded[ASKS_MAX];         /* by command: records that carry its id */
    uint64_t revised_count;             /* runs that went on with another revision */
    uint32_t revisions[PLANS_MAX];      /* by plan: its number as the log tells it; 0: none */
    uint64_t record_count, event_count;
    WatchKey *keys;
    size_t key_count, key_capacity;
    Arena arena;                        /* of the keys */
    Arena scratch;
    Buf before, after;
};

Watch *watch_new(World *world);
void   watch_free(Watch *watch);
/* Takes in what was committed since, and checks it. */
void   watch_sync(Watch *watch);
WatchRun *watch_run(const Watch *watch, uint64_t run_no);          /* or NULL */
bool   watch_is_settled(const WatchRun *run);
/* An attempt was handed to an executor: is it one that the store knows of, with the right key? */
void   watch_attempt(Watch *watch, const Attempt *attempt);
/* The same of a notification. */
void   watch_notification(Watch *watch, const Attempt *attempt);
/* It acts now. */
void   watch_acts(Watch *watch, const SimAttempt *attempt);
void   watch_observe(void *context, const Observation *observation);

/* waits.c: what polls, pauses, ends and retries have to be like: before an event, after a record, in the rows, at an executor. */
void   waits_before(Watch *watch, WatchRun *run, const Event *event);
void   waits_after(Watch *watch, WatchRun *run);
void   waits_row(Watch *watch, const WatchRun *run);
void   waits_params(Watch *watch, WatchRun *run, Str text);
void   waits_attempt(Watch *watch, const WatchRun *run, const Attempt *attempt);

#endif
