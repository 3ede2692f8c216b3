/* model.h - how a run goes, as far as people are to see it: a fold of what is observed.
 *
 * Events carry numbers, and each is folded once: what is given twice (by the engine and out of the store) does no harm. What
 * attempts write is kept as a tail, the last lines of the current try of a step, for as long as the step is under way or has
 * failed; everything is in the store.
 *
 *   active      steps that are under way or wait for a time or a signal, in no order
 *   failed      the first LIVE_FAILED_COUNT_MAX steps that have failed and were not optional, in the order of failing
 *
 * Owns:   its arrays, texts and tails, until model_deinit(). The plan is the caller's and outlives it.
 * Fails:  never.
 * Bounds: 80 bytes a step; LIVE_TAIL_COUNT lines of LIVE_LINE_SIZE_MAX for each step under way.     Thread: one at a time.
 */
#ifndef CLI_LIVE_MODEL_H
#define CLI_LIVE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/id.h"
#include "base/limits.h"
#include "core/event.h"
#include "core/plan.h"
#include "core/state.h"

/* The last lines of a try, clean. Line n (from 0) of all is at n % LIVE_TAIL_COUNT. */
typedef struct LiveTail {
    uint32_t line_count;            /* of all that were written */
    struct { char *text; uint32_t size; bool is_error; } lines[LIVE_TAIL_COUNT];
} LiveTail;

typedef struct LiveStep {
    int64_t started_ms, ended_ms;   /* of the first try; of the end. 0: not yet */
    int64_t due_ms;                 /* of one that is to be tried again, or polled: when */
    LiveTail *tail;                 /* NULL: nothing was written */
    char *text;                     /* why it or its last try failed; what it waits for; NULL: nothing to say */
    char *news;                     /* what it says of its progress; NULL: nothing */
    uint32_t attempt;
    uint32_t poll_count;            /* polls that gave a result */
    uint32_t active_at;             /* its place in `active`, or PLAN_NONE */
    int16_t thousandths;            /* of its progress; negative: it says none */
    uint8_t state;                  /* a StepState */
    uint8_t cause, class_;          /* of its last failure */
    uint8_t reason;                 /* a SkipReason */
    bool is_optional;               /* its failure does not make the run fail */
    bool is_retrying;               /* a try has failed, and another will follow */
    bool is_ending;                 /* it was told to end */
    bool is_default;                /* its polls have timed out, and it counts as done with the default output */
    uint8_t undo;                   /* of what undoes it, a CompensationState plus one; 0: nothing does */
} LiveStep;

typedef struct LiveJob {
    uint32_t active, ended, failed, skipped;        /* steps */
    int64_t started_ms, ended_ms;   /* of its first step; of its last one so far */
    bool is_paused;                 /* by itself */
} LiveJob;

typedef struct LiveModel {
    const Plan *plan;
    Arena scratch;
    LiveStep *steps;
    LiveJob *jobs;                  /* explicit ones */
    uint32_t *active, *failed;
    uint32_t active_count, failed_count, failed_capacity;
    uint32_t total;                 /* steps that are counted: all but sequences, which only hold others */
    uint32_t counts[STEP_STATE_COUNT];              /* of these */
    uint32_t optional_failed;       /* of the failed ones */
    uint32_t default_count;         /* of those that timed out: which count as done */
    uint64_t event_count;           /* number of the last event folded */
    uint64_t line_count;            /* of logs, in all */
    int64_t created_ms, started_ms, ended_ms;
    uint8_t state;                  /* a RunState */
    uint8_t resolution, cause, class_;
    uint32_t failed_step;           /* that made the run fail, or PLAN_NONE */
    char *failure;                  /* why; NULL: nothing failed */
    struct {
        char *trigger;              /* NULL: none is awaited */
        int64_t since_ms, due_ms;   /* due: its timeout, or when the run goes on by itself; 0: never */
        bool is_scheduled;          /* it goes on by itself */
        uint32_t reminder_count;
    } awaited;
    uint32_t notifying_count;       /* notifications of which no try is over */
    uint8_t paused_for;             /* of a run that is paused: a PausedFor */
    char *ending;                   /* why it ends early; NULL: it does not */
    bool is_cancelling, is_failing;
    bool is_settled;
    uint64_t version;               /* rises with every change that can be seen */
} LiveModel;

void model_init(LiveModel *model, const Plan *plan);
void model_deinit(LiveModel *model);                    /* harmless on a model that is zero */

/* `number` is the event's in its run. False where it was folded before. */
bool model_event(LiveModel *model, const Event *event, uint64_t number, int64_t now_ms);
void model_line(LiveModel *model, uint32_t step, Str text, bool is_error);
/* The same of a step that has failed: a line that was found again. */
void model_tail(LiveModel *model, uint32_t step, Str text, bool is_error);
void model_progress(LiveModel *model, uint32_t step, uint64_t thousandths, Str text);

static inline bool model_counts(const LiveModel *model, uint32_t step)
{
    return model->plan->steps[step].kind != STEP_SEQUENCE;
}
/* Of the counted steps: those that did what they should, with a default output or their own; those that did not. */
uint32_t model_succeeded(const LiveModel *model);
uint32_t model_failed(const LiveModel *model);
/* How often a step is polled at most; 0: it is not polled. */
uint32_t model_poll_max(const LiveModel *model, uint32_t step);
uint32_t model_done(const LiveModel *model);            /* counted steps that have ended, in whatever way */
/* Steps of runners that have been given away: those that a pause waits for. */
uint32_t model_under_way(const LiveModel *model);
/* The first job that is paused by itself and has not ended; PLAN_NONE: there is none. */
uint32_t model_paused_job(const LiveModel *model);
/* How long a step took, or has been taking. */
int64_t  step_took_ms(const LiveStep *step, int64_t now_ms);
int64_t  model_took_ms(const LiveModel *model, int64_t now_ms);
/* Line `index` of those that a tail holds, 0 being the oldest of `tail_count`. */
uint32_t tail_count(const LiveTail *tail);
Str      tail_line(const LiveTail *tail, uint32_t index);

/* Words for people: "is being undone"; "" where nothing is. */
const char *undo_words(const LiveStep *step);
/* Words for people: "dependency failed". */
const char *skip_words(SkipReason reason);

#endif
