#include "cli/run_read.h"

#include <stdio.h>

#include "base/limits.h"
#include "cli/load.h"
#include "lang/suggest.h"
#include "os/file.h"

/* --- which run ------------------------------------------------------------------------------------------------------------- */

typedef struct PrefixScan {
    Arena *arena;
    Str prefix;
    const Cell *found;
    uint32_t match_count, seen_count;
    int64_t cursor;
} PrefixScan;

static bool take_prefix(void *context, const Cell *cells, uint32_t count)
{
    PrefixScan *scan = context;
    scan->seen_count++;
    scan->cursor = cells[RUNS_run_no].integer;
    if (str_starts(cells[RUNS_id].text, scan->prefix) && ++scan->match_count == 1)
        scan->found = row_copy(scan->arena, cells, count);
    return scan->match_count < 2;
}

/* The newest run whose id begins so; ids begin with their time, so that a few characters rarely tell two runs apart. */
static Status scan_prefix(PrefixScan *scan, Store *store, Error *err)
{
    uint32_t seen;
    do {
        seen = scan->seen_count;
        QueryAsk ask = { .query = QUERY_RUNS, .param_count = 3, .row_count_max = 1000,
                         .params = { cell_int(scan->cursor), cell_null(), cell_null() } };
        Status status = store_select(store, &ask, take_prefix, scan, err);
        if (status) return status;
    } while (scan->seen_count > seen && scan->match_count < 2 && scan->seen_count < RUN_PREFIX_SCAN_COUNT);
    return OK;
}

static Status newest_row(Arena *arena, Store *store, const Cell **out_row, Error *err)
{
    QueryAsk ask = { .query = QUERY_RUNS, .params = { cell_int(INT64_MAX), cell_null(), cell_null() }, .param_count = 3,
                     .row_count_max = 1 };
    return row_select(arena, store, &ask, out_row, err);
}

static ExitCode row_of_file(const Args *args, Store *store, const char *path, const Cell **out_row)
{
    Loaded loaded;
    ExitCode code = load_plan(args, path, &loaded);
    if (code) return code;
    const Plan *plan = &loaded.compiled.plan;
    QueryAsk ask = { .query = QUERY_RUNS_OF_DEFINITION, .param_count = 5, .row_count_max = 1,
                     .params = { cell_text(plan->tenant), cell_text(plan->id), cell_int(INT64_MAX), cell_null(), cell_null() } };
    Error err = { 0 };
    Status status = row_select(args->arena, store, &ask, out_row, &err);
    if (!status && !*out_row)
        status = error_set(&err, ERR_NOT_FOUND, "%s has not been run in this store; 'maestro run %s' does it", path, path);
    return status ? fail(&err) : EXIT_CODE_OK;
}

ExitCode find_row(const Args *args, Store *store, const char *operand, const Cell **out_row)
{
    Error err = { 0 };
    Str text = str_of(operand);
    *out_row = NULL;
    if (file_exists(operand) && !file_is_directory(operand)) return row_of_file(args, store, operand, out_row);
    if (str_is_text(text, "last")) {
        Status status = newest_row(args->arena, store, out_row, &err);
        if (!status && !*out_row)
            status = error_set(&err, ERR_NOT_FOUND, "there is no run in this store yet; 'maestro run FILE' starts one");
        return status ? fail(&err) : EXIT_CODE_OK;
    }
    Status status = run_row(args->arena, store, text, out_row, &err);
    if (status) return fail(&err);
    if (*out_row) return EXIT_CODE_OK;
    PrefixScan scan = { .arena = args->arena, .prefix = text, .cursor = INT64_MAX };
    if (text.len && text.len < ID_SIZE) status = scan_prefix(&scan, store, &err);
    if (status) return fail(&err);
    *out_row = scan.found;
    if (scan.match_count == 1) return EXIT_CODE_OK;
    if (scan.match_count)
        status = error_set(&err, ERR_INVALID, "'%s' is the beginning of several ids of runs; give more of it", operand);
    else
        status = error_set(&err, ERR_NOT_FOUND, "there is no run '%s' in this store; 'maestro runs' lists them", operand);
    return fail(&err);
}

bool plan_find_step(const Plan *plan, const char *text, uint32_t *out_step)
{
    Suggestion suggestion = suggest_begin(str_of(text));
    uint32_t found = PLAN_NONE, match_count = 0;
    uint64_t index;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const PlanStep *step = &plan->steps[i];
        suggest_offer(&suggestion, step->id);
        if (str_is_text(step->id, text)) {
            *out_step = i;
            return true;
        }
        if (!str_is_text(step->name, text)) continue;
        found = i;
        match_count++;
    }
    if (!match_count && str_to_u64(str_of(text), &index) && index < plan->step_count) {
        found = (uint32_t)index;
        match_count = 1;
    }
    *out_step = found;
    if (match_count == 1) return true;
    if (match_count) print_note("maestro: %u steps are named '%s'; give the id of one, as job.task\n", match_count, text);
    else if (suggestion.best.len)
        print_note("maestro: the run has no step '%s'; did you mean '%.*s'?\n", text, STR_ARG(suggestion.best));
    else print_note("maestro: the run has no step '%s'; 'maestro show RUN' lists them\n", text);
    return false;
}
