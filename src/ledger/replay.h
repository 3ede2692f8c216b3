/* replay.h - a run made again from its records, up to any event; and what differs between two states of it.
 *
 * The same run_apply() that made the run live folds its records again, and nothing is executed. Each record's hash is checked
 * before its events are believed: what is folded is what was written. Used by `maestro replay RUN [--at N] [--verify]` and
 * `maestro diff`.
 *
 *   Replay replay;
 *   replay_init(&replay, plan, &id, run_no, REPLAY_ALL);
 *   for each row of the run:  replay_row(&replay, &row, err)
 *   replay_verify(&replay, snapshot, err);      is the stored state what the events make?
 *   replay_deinit(&replay);
 *
 * Owns:   a Replay owns its run until replay_deinit().
 * Fails:  ERR_CORRUPT where a record does not follow from the one before it, names steps that the plan does not have, or a
 *         snapshot is not what the events make; ERR_CONFLICT for another plan than the run's; ERR_UNAVAILABLE for records of
 *         a newer maestro.
 * Bounds: one record at a time.     Thread: one at a time; pure.
 * Invariant I12: the fold of the events equals the run.
 */
#ifndef LEDGER_REPLAY_H
#define LEDGER_REPLAY_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/status.h"
#include "core/run.h"
#include "ledger/record.h"
#include "ledger/verify.h"

#define REPLAY_ALL UINT64_MAX

/* A plan by its digest, into `arena`. */
typedef Status (*FindPlan)(void *plans, Arena *arena, const Digest *digest, Plan *out_plan, Error *err);

typedef struct Replay {
    const Plan *plan;
    Run run;                        /* as it was after event run.event_count */
    uint64_t event_max;             /* the last event that is applied */
    Digest hash;                    /* of the last record seen */
    uint64_t position, next_event;
    uint64_t record_count;
    Record record;                  /* the last one that was applied, until the next row is given */
    Arena scratch;
    FindPlan find_plan;             /* set by who has them: plans of earlier revisions, where the run has gone on with another one */
    void *plans;                    /* its context */
} Replay;

void            replay_init(Replay *replay, const Plan *plan, const Id *id, uint64_t run_no, uint64_t event_max);
void            replay_deinit(Replay *replay);
/* Goes on behind a snapshot, which is believed; `last` is the row of the record that it was made after. */
MUST_USE Status replay_from(Replay *replay, Str snapshot, const LedgerRow *last, Error *err);
/* The plan is the one that the run is pinned to now. Where it was another one earlier, find_plan has to give that, and both have
 * to be of the same shape (core/revise.h). */
/* The next record of the run; those behind event_max are passed over. */
MUST_USE Status replay_row(Replay *replay, const LedgerRow *row, Error *err);
/* Whether the bytes of run_encode() that were stored are those of the run made again; the reason names what differs first. */
MUST_USE Status replay_verify(const Replay *replay, Str snapshot, Error *err);

/* What differs between two states of runs of one plan, a line each: "step build.compile: state running -> succeeded". Nothing
 * is written where they are equal. */
void run_diff(const Plan *plan, const Run *before, const Run *after, Buf *lines);

#endif
