/* run_history.h - a run made again from its records, with all its attempts: what trace, provenance, replay and diff are told from.
 *
 * Each tells its part as a value, the same for the server and for commands:
 *
 *   run_state_value()       the run and its steps as they were after the last event that was folded
 *   run_trace_value()       spans of the run, its step runs and their attempts, as W3C Trace Context names them
 *   run_provenance_value()  what each output came from: revision, parameters, policies, runner, inputs with their digests
 *   run_compare_attempts(), run_compare_runs()      what differs between two: see value/value_diff.h
 *
 * Owns:   a RunHistory owns its replay until run_history_close(); what is told lives in its arena.
 * Fails:  with the store's reason; ERR_NOT_FOUND where the run was archived; ERR_CORRUPT where its records do not follow.
 * Bounds: DIFF_LINE_COUNT_MAX differences.     Thread: as store_select() of the store.
 */
#ifndef VIEW_RUN_HISTORY_H
#define VIEW_RUN_HISTORY_H

#include "ledger/history.h"
#include "view/run_rows.h"

typedef struct RunHistory {
    Arena *arena;
    Store *store;
    const Cell *row;                /* of the run */
    Plan plan;
    Replay replay;
    History history;
    StepRows steps;                 /* rows of all its step runs */
} RunHistory;

/* Folds up to `event_max`, REPLAY_ALL for all. Nothing is open where it fails. */
MUST_USE Status run_history_open(RunHistory *it, Arena *arena, Store *store, const Cell *row, uint64_t event_max, Error *err);
void run_history_close(RunHistory *it);

/* "12" is that event, "2026-11-16T01:25:00.000Z" the last one up to then; ERR_INVALID with what is right. */
MUST_USE Status run_event_at(Arena *arena, Store *store, const Cell *row, Str at, uint64_t *out_event, Error *err);

Value run_state_value(const RunHistory *it);
Value run_trace_value(const RunHistory *it);
Value run_provenance_value(const RunHistory *it);

/* Two attempts of a step: of its step run with that number, or where a decision has run it again, the left one of the step run before.
 * ERR_NOT_FOUND where there are none. */
typedef struct AttemptPair { uint32_t number, left, right, left_number; } AttemptPair;
MUST_USE Status run_compare_attempts(const RunHistory *it, const AttemptPair *pair, Value *out, Error *err);
/* "1,2": of which attempts of the step run. */
MUST_USE Status attempt_pair_read(Str text, AttemptPair *pair, Error *err);
/* The newest step run that has two attempts at least, of `step`, by its id or name, or where that is empty of any step; and where none has, the
 * last attempts of two step runs of one step. */
MUST_USE Status run_find_pair(const RunHistory *it, Str step, AttemptPair *out_pair, Error *err);
/* Both of one arena. */
Value run_compare_runs(const RunHistory *left, const RunHistory *right);

#endif
