/* run_read.h - what a store says about runs, for commands that show it.
 *
 * Rows are arrays of cells by column (view/tables.h): row[RUNS_state].text. Whoever names a run may give its id, the beginning
 * of one, "last" for the newest, or the file of a definition for the newest run of that.
 *
 * Owns:   rows, plans and payloads live in the arena given.
 * Fails:  by Status, with texts for people; find_row() with the exit code, after printing the reason.
 * Bounds: RUN_PREFIX_SCAN_COUNT runs are looked at for the beginning of an id.     Thread: the main one.
 */
#ifndef CLI_RUN_READ_H
#define CLI_RUN_READ_H

#include "base/id.h"
#include "cli/command.h"
#include "core/plan.h"
#include "core/state.h"
#include "view/store.h"

Cell *row_copy(Arena *arena, const Cell *cells, uint32_t count);

/* The run that the operand names; prints what is wrong otherwise. */
ExitCode find_row(const Args *args, Store *store, const char *operand, const Cell **out_row);
/* NULL where there is none. */
MUST_USE Status run_row(Arena *arena, Store *store, Str id, const Cell **out_row, Error *err);

Id          row_id(const Cell *row);
RunState    row_state(const Cell *row);
Resolution  row_resolution(const Cell *row);
bool        row_is_settled(const Cell *row);
/* Of a row of step runs. */
StepState   step_row_state(const Cell *row);

/* The plan that a run is pinned to. */
MUST_USE Status run_plan(Arena *arena, Store *store, const Cell *row, Plan *out_plan, Error *err);

typedef struct StepRows { const Cell **rows; size_t count, capacity; } StepRows;
/* Its step runs in their order. */
MUST_USE Status run_steps(Arena *arena, Store *store, const Cell *row, StepRows *out_steps, Error *err);
/* The newest step run of a step. NULL: none has begun. */
MUST_USE Status run_step_row(Arena *arena, Store *store, const Cell *row, Str step, const Cell **out_step, Error *err);

/* A payload by the three cells that name it: JSON. ERR_NOT_FOUND where there is none, or it was erased. */
MUST_USE Status payload_read(Arena *arena, Store *store, const Cell *at, Value *out_value, Error *err);
/* The same for people: null where there is none, {"erased": true} where it was erased. */
Value payload_or_null(Arena *arena, Store *store, const Cell *at);

/* The record of a run where it stands, newest first: see QUERY_RUN_TAIL. Copies into the arena, oldest first. */
MUST_USE Status run_records(Arena *arena, Store *store, const Cell *row, uint64_t after_event, bool has_payloads,
                            StepRows *out_records, Error *err);

/* Cells as values for JSON; null for null. */
Value cell_value(const Cell *cell);
Value cell_time(Arena *arena, const Cell *cell);        /* milliseconds as UTC text */

#endif
