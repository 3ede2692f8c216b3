/* run_list.h - runs of a store that fit a filter, the newest first: one reading for 'runs' and for decisions about many.
 *
 * The named query whose index serves the filter best is asked page by page; what it does not say is looked at row by row.
 *
 * A filter may be written as one text, which is read here, too: fields and values, all of which hold.
 *
 *   workflow=order-fulfillment state=failed since=1h step=order.ship cause=timeout tenant=default
 *   workflow="name with spaces"
 *
 * Owns:   rows live in the arena given; texts of a filter are borrowed.
 * Fails:  with the store's reason; run_filter_read() with ERR_INVALID, what is wrong and its column.
 * Bounds: count_max rows.     Thread: the main one.
 */
#ifndef CLI_RUN_LIST_H
#define CLI_RUN_LIST_H

#include "view/run_rows.h"

typedef struct RunFilter {
    Str tenant, workflow;           /* empty: any */
    Str step, cause;                /* of the failure; empty: any */
    RunState state;
    bool has_state;
    Cell since;                     /* null: ever */
} RunFilter;

MUST_USE Status run_filter_read(Str text, int64_t now_ms, RunFilter *out_filter, Error *err);
/* A state that runs have; ERR_INVALID names all of them. */
MUST_USE Status run_filter_state(RunFilter *filter, Str name, Error *err);

MUST_USE Status run_list(Arena *arena, Store *store, const RunFilter *filter, uint64_t count_max, StepRows *out_rows, Error *err);

#endif
