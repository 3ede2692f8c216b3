/* history.h - what each attempt of a run was: when, where, by which policies, and how it ended.
 *
 * Gathered while the records of a run are replayed: after each replay_row() history_note() looks at the record that was applied. The
 * ledger alone has all of it: the rows of a store keep the first and the last attempt of a step run and what failed between.
 *
 *   history_init(&history, arena, plan->step_count);
 *   for each row:  replay_row(&replay, &row, err), history_note(&history, &replay)
 *
 * Owns:   attempts and what they name live in the arena given.
 * Fails:  never.     Bounds: the events of the run.     Thread: pure, one at a time.
 */
#ifndef LEDGER_HISTORY_H
#define LEDGER_HISTORY_H

#include "base/trace.h"
#include "ledger/replay.h"

/* Where a payload lies: the record, and its place behind the salt. position 0: there is none. */
typedef struct PayloadPlace { uint64_t position; uint32_t offset, size; } PayloadPlace;

typedef enum AttemptEnd { ATTEMPT_OPEN, ATTEMPT_SUCCEEDED, ATTEMPT_FAILED, ATTEMPT_CANCELLED, ATTEMPT_ANSWERED } AttemptEnd;
const char *attempt_end_name(AttemptEnd end);           /* "running", "succeeded", "failed", "cancelled", "answered": a poll that goes on */

typedef struct HistoryAttempt {
    uint32_t step, number, attempt; /* index in the plan; number of its step run; from 1 */
    uint32_t generation;
    AttemptEnd end;
    uint8_t cause, class_;          /* of its failure */
    int64_t dispatched_ms, started_ms, ended_ms;        /* 0: not yet */
    Str executor, placement, message;                   /* where it was sent, and why there; why it failed */
    Digest policy;                  /* of the policies that allowed it */
    PayloadPlace input, output, details;
    uint64_t first_event;           /* its dispatch */
    ValueList events;               /* their names, in order */
    ValueList verdicts;             /* events, as event_to_value() shows them */
} HistoryAttempt;

typedef struct History {
    Arena *arena;
    HistoryAttempt *attempts;       /* in the order of their dispatch */
    size_t attempt_count, attempt_capacity;
    uint32_t *last;                 /* by step: its newest attempt plus one; 0: none */
    uint32_t step_count;
    ValueList decisions;            /* verdicts, branches, decisions of people: events, with "time" and "actor" */
    Trace trace;                    /* of its start */
    Digest policy;                  /* of the record of its start */
    uint64_t position;              /* of the record that was noted last */
} History;

void history_init(History *history, Arena *arena, uint32_t step_count);
void history_note(History *history, const Replay *replay);
/* The attempt of a step run, NULL where there is none. */
const HistoryAttempt *history_find(const History *history, uint32_t number, uint32_t attempt);

#endif
