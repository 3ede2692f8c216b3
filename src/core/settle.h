/* settle.h - how steps end: the events that the other rules share.
 *
 * A report, a timer, a lost holder and a policy all end attempts; what follows is decided here once.
 *
 * Owns: nothing.     Fails: never.     Thread: pure, any.
 */
#ifndef CORE_SETTLE_H
#define CORE_SETTLE_H

#include "base/limits.h"
#include "core/decide.h"
#include "core/input.h"

typedef struct Settle {
    const DecideEnv *env;
    const Plan *plan;
    const Run *run;
    int64_t now_ms;
    Decision *decision;
} Settle;

typedef struct Failure {
    Cause cause;
    Str text;                       /* borrowed until the decision is made */
    Value details;                  /* null: none */
} Failure;

/* The step fails for good, whatever its retries say. */
void settle_fail(const Settle *settle, uint32_t step, const Failure *failure);
/* Its task is dropped by the dispatch core, for good; `failure`: of its last attempt. */
void settle_drop(const Settle *settle, uint32_t step, const Place *place, const Failure *failure);
/* An attempt failed: the step is tried again later, or fails. One that was told to end is cancelled. */
void settle_attempt(const Settle *settle, uint32_t step, uint32_t attempt, const Failure *failure);
/* An attempt that was told to end has ended: it is cancelled, or ends as the signal says that ended it. */
void settle_told(const Settle *settle, uint32_t step);
/* The time of an attempt is over: it is ended, and fails once it has. */
void settle_overdue(const Settle *settle, uint32_t step);
/* What its tenant may have is over: the same. */
void settle_spent(const Settle *settle, uint32_t step, Str why);
/* The output is what the step declares; else `*out_text` says why not. */
bool settle_output_fits(const Settle *settle, uint32_t step, Value output, Str *out_text);
/* The work is done: the output is checked, a gate is respected. Fails with ERR_UNAVAILABLE where a policy has yet to answer. */
MUST_USE Status settle_success(const Settle *settle, uint32_t step, Value output, Error *err);
/* The signal that a waiting step has waited for is there: it goes on, or is denied. */
void settle_signal(const Settle *settle, uint32_t step, const RunSignal *signal);
/* How an attempt comes to have nobody who carries it out. */
typedef enum Loss {
    LOSS_OF_OWNER,                  /* the process that had it died: it counts as lost */
    LOSS_OF_LEASE,                  /* its executor is silent, or was said to be gone; of one in this process as above */
    LOSS_BY_RELEASE,                /* its owner ends in order, and gives it back: it counts against the spawn budget, and as nothing else */
} Loss;

/* Whoever had the attempt is gone: what its strategy says. */
void settle_orphan(const Settle *settle, uint32_t step, Loss loss, Str why);

/* I17: executions that ended with their owner, one more included. A remote executor is not the owner, and what an owner gives back
 * when it ends in order has told nothing of the step. */
static inline uint32_t settle_lost(uint32_t before, bool is_remote, Loss loss)
{
    return is_remote || loss == LOSS_BY_RELEASE || before == LOST_COUNT_MAX ? before : before + 1;
}

/* The run is queued again: `from` is where, or STEP_NONE for what failed. Its time begins anew. */
void settle_requeue(const Settle *settle, RetrySource source, uint32_t from);

/* What is written with ${paths}, filled in for that step. */
MUST_USE InputAnswer settle_fill(const Settle *settle, uint32_t step, Value written, bool has_paths, InputResult *out);

/* What an attempt goes out with; of one that is repeated neither is told again. */
typedef struct Dispatched {
    Str key;                        /* declared; empty: none */
    uint32_t payload;               /* of its input, or EVENT_NO_PAYLOAD */
} Dispatched;

/* The attempt goes to its place; an executor of this process has it by that. */
void settle_dispatch(const Settle *settle, uint32_t step, uint32_t attempt, const Place *place, const Dispatched *what);

/* Dispatched and running in one: nobody has to accept, and nobody holds a lease. */
void settle_enter(const Settle *settle, uint32_t step);

/* The number of a step's run: the one it has, or the next. */
static inline uint32_t settle_number(const Settle *settle, uint32_t step)
{
    uint32_t number = settle->run->steps[step].number;
    return number ? number : settle->run->begun_count + 1;
}
/* When an attempt that begins now has to end, and 0 where it need not. */
int64_t settle_deadline(const Settle *settle, uint32_t step);

#endif
