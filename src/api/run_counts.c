#include "api/run_counts.h"

#include <string.h>

#include "view/run_rows.h"

#define STRETCH_COUNT INT64_C(65536)    /* rows that are counted within STORE_READ_MS_MAX on a slow disk, too */

static bool take_state(void *context, const Cell *cells, uint32_t count)
{
    int64_t *counts = context;
    RunState state;
    if (count >= 2 && run_state_find(cells[0].text, &state)) counts[state] += cells[1].integer;
    return true;
}

static bool take_number(void *context, const Cell *cells, uint32_t count)
{
    (void)count;
    *(int64_t *)context = cells[RUNS_run_no].integer;
    return false;
}

/* A narrow index answers for some millions of runs; more than that are counted in stretches. */
static Status count_all(Store *store, int64_t counts[RUN_STATE_COUNT], Error *err)
{
    int64_t last = 0;
    Status status = store_select(store, &(QueryAsk){ .query = QUERY_COUNT_BY_STATE }, take_state, counts, err);
    if (status != ERR_LIMIT) return status;
    memset(counts, 0, sizeof *counts * RUN_STATE_COUNT);
    QueryAsk newest = { .query = QUERY_RUNS, .params = { cell_int(INT64_MAX), cell_null(), cell_null() }, .param_count = 3, .row_count_max = 1 };
    status = store_select(store, &newest, take_number, &last, err);
    for (int64_t from = 1; !status && from <= last; from += STRETCH_COUNT) {
        QueryAsk ask = { .query = QUERY_COUNT_OF_STRETCH_BY_STATE, .param_count = 2,
                         .params = { cell_int(from), cell_int(from + STRETCH_COUNT - 1) } };
        status = store_select(store, &ask, take_state, counts, err);
    }
    return status;
}

bool run_counts_look(RunCounts *counts, Store *store, const Engine *engine, uint64_t out_counts[RUN_STATE_COUNT])
{
    const EngineMeter *meter = engine_meter(engine);
    Error err;
    if (counts->log_takes != meter->log_takes) counts->is_known = false;
    if (!counts->is_known) {
        int64_t found[RUN_STATE_COUNT] = { 0 };
        if (engine_stats(engine).batch_under_way || count_all(store, found, &err)) return false;
        for (int i = 0; i < RUN_STATE_COUNT; i++) counts->base[i] = found[i] - meter->run_changes[i];
        counts->log_takes = meter->log_takes;
        counts->is_known = true;
    }
    for (int i = 0; i < RUN_STATE_COUNT; i++) out_counts[i] = (uint64_t)(counts->base[i] + meter->run_changes[i]);
    return true;
}
