/* run_rows.h - what a store says about runs: rows, plans, payloads, read at once through the port.
 *
 * Rows are arrays of cells by column (view/tables.h): row[RUNS_state].text. Commands, the embedded library and whoever else
 * shows runs read them here, so that a payload is cut out of its record in one place.
 *
 * Owns:   rows, plans and payloads live in the arena given.
 * Fails:  with the store's reason; ERR_CORRUPT where what a row names is not there.
 * Thread: as store_select() of the store: any, but for the store in memory.
 */
#ifndef VIEW_RUN_ROWS_H
#define VIEW_RUN_ROWS_H

#include "base/id.h"
#include "base/limits.h"
#include "core/plan.h"
#include "core/state.h"
#include "ledger/verify.h"
#include "view/store.h"

Cell *row_copy(Arena *arena, const Cell *cells, uint32_t count);
/* The first row of an answer; NULL where there is none. */
MUST_USE Status row_select(Arena *arena, Store *store, const QueryAsk *ask, const Cell **out_row, Error *err);
/* The row of a run; NULL where there is none. */
MUST_USE Status run_row(Arena *arena, Store *store, Str id, const Cell **out_row, Error *err);

Id          row_id(const Cell *row);
RunState    row_state(const Cell *row);
Resolution  row_resolution(const Cell *row);
bool        row_is_settled(const Cell *row);
/* Settled, and nothing about it is left to decide: not failed without being resolved, not failed while compensating. */
bool        row_is_over(const Cell *row);
/* ERR_NOT_FOUND where it was archived; the text says into which file. */
MUST_USE Status run_is_here(const Cell *row, Error *err);
/* Of a row of step runs. */
StepState   step_row_state(const Cell *row);

/* A plan by its digest, for Replay.find_plan; `store` is a Store. */
MUST_USE Status store_plan(void *store, Arena *arena, const Digest *digest, Plan *out_plan, Error *err);
/* The plan that a run is pinned to. */
MUST_USE Status run_plan(Arena *arena, Store *store, const Cell *row, Plan *out_plan, Error *err);

typedef struct StepRows { const Cell **rows; size_t count, capacity; } StepRows;
/* All rows of an answer, in its order. */
MUST_USE Status row_select_all(Arena *arena, Store *store, const QueryAsk *ask, StepRows *out_rows, Error *err);
/* How many step runs it has. */
MUST_USE Status run_step_count(Store *store, const Cell *row, uint64_t *out_count, Error *err);
/* Its step runs in their order. */
MUST_USE Status run_steps(Arena *arena, Store *store, const Cell *row, StepRows *out_steps, Error *err);
/* The newest step run of a step. NULL: none has begun. */
MUST_USE Status run_step_row(Arena *arena, Store *store, const Cell *row, Str step, const Cell **out_step, Error *err);

/* The outbox entry of a notification of a run, from 1: those of one run lie one behind the other. */
static inline int64_t outbox_entry(uint64_t run_no, uint32_t number) { return (int64_t)(run_no << NOTIFICATION_SHIFT | number); }

/* A payload by the three cells that name it: JSON. ERR_NOT_FOUND where there is none, or it was erased. */
MUST_USE Status payload_read(Arena *arena, Store *store, const Cell *at, Value *out_value, Error *err);
/* The same for people: null where there is none, {"erased": true} where it was erased. */
Value payload_or_null(Arena *arena, Store *store, const Cell *at);

/* The record of a run where it stands, newest first: see QUERY_RUN_TAIL. Copies into the arena, oldest first. ERR_NOT_FOUND
 * where it was archived. */
MUST_USE Status run_records(Arena *arena, Store *store, const Cell *row, uint64_t after_event, bool has_payloads,
                            StepRows *out_records, Error *err);

/* Where a reader of the records of a run has come to. */
typedef struct RecordPlace {
    uint64_t event;                 /* those up to this one were read */
    uint64_t position;              /* and no record before this one is wanted; 0: none was read */
} RecordPlace;
/* Its next records, oldest first, as far as one read goes: its work does not grow with the run, nor with the log. There may be none, and
 * more all the same: *place is where the next read goes on. */
MUST_USE Status run_records_next(Arena *arena, Store *store, const Cell *row, RecordPlace *place, StepRows *out_records,
                                 bool *out_has_more, Error *err);

Digest cell_digest(const Cell *cell);                   /* zeros where it holds none */
/* A row of the ledger, for replay_row() and its siblings; it borrows the cells. */
LedgerRow ledger_row_of(const Cell *cells);

/* Cells as values for JSON; null for null. */
Value cell_value(const Cell *cell);
Value cell_time(Arena *arena, const Cell *cell);        /* milliseconds as UTC text */

#endif
