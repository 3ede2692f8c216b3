/* show_waits.h - the part of 'maestro show' about what a run waits for or waited for: triggers, polls, reactions, notifications, changes.
 *
 * Owns:   what is read lives in the arena of the arguments; the rest is the caller's and outlives it.
 * Fails:  with the store's reason.
 * Bounds: SHOW_RECORD_COUNT_MAX records of the run are looked at; SHOW_POLL_COUNT_MAX polls of a step are shown.
 * Thread: the main one.
 */
#ifndef CLI_SHOW_WAITS_H
#define CLI_SHOW_WAITS_H

#include "cli/command.h"
#include "cli/run_story.h"

typedef struct ShowWaits {
    const Args *args;
    Store *store;
    const Cell *row;                /* of the run */
    const Plan *plan;
    const StepRows *steps;
    RunStory story;
    StepRows triggers;              /* rows of what triggers brought */
    StepRows notifications;         /* rows of whom its pauses notify */
} ShowWaits;

/* The members above `story` are set before. */
MUST_USE Status show_waits_read(ShowWaits *waits, Error *err);
void show_waits_state(const ShowWaits *waits);          /* lines behind the state: what is awaited */
void show_waits_tables(const ShowWaits *waits);         /* polls, triggers, reactions, notifications */
bool show_waits_next(const ShowWaits *waits);           /* what to type; false: nothing of this kind */
void show_waits_add(const ShowWaits *waits, MemberList *members);

/* The last polls of a step run, for whoever shows one: [{attempt, at, complete, continue, nextIntervalMs}]; null: none. */
MUST_USE Status show_polls(Arena *arena, Store *store, const Cell *step, Value *out, Error *err);

#endif
