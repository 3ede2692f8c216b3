#include "cli/run_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/civil.h"
#include "base/limits.h"
#include "cli/load.h"
#include "ledger/record.h"
#include "os/file.h"
#include "value/json.h"
#include "view/queries.h"

/* --- rows ------------------------------------------------------------------------------------------------------------------ */

Cell *row_copy(Arena *arena, const Cell *cells, uint32_t count)
{
    Cell *copy = ARENA_ARRAY(arena, Cell, count);
    memcpy(copy, cells, count * sizeof *cells);
    for (uint32_t i = 0; i < count; i++)
        if (copy[i].kind == CELL_TEXT || copy[i].kind == CELL_BLOB) copy[i].text = arena_copy(arena, copy[i].text);
    return copy;
}

typedef struct OneRow { Arena *arena; const Cell *row; } OneRow;

static bool take_one(void *context, const Cell *cells, uint32_t count)
{
    OneRow *one = context;
    one->row = row_copy(one->arena, cells, count);
    return false;
}

static Status select_one(Arena *arena, Store *store, const QueryAsk *ask, const Cell **out_row, Error *err)
{
    OneRow one = { arena, NULL };
    Status status = store_select(store, ask, take_one, &one, err);
    if (!status) *out_row = one.row;
    return status;
}

typedef struct ManyRows { Arena *arena; StepRows *rows; } ManyRows;

static bool take_row(void *context, const Cell *cells, uint32_t count)
{
    ManyRows *many = context;
    StepRows *rows = many->rows;
    if (rows->count == rows->capacity)
        rows->rows = arena_grow(many->arena, rows->rows, sizeof *rows->rows, rows->count, &rows->capacity);
    rows->rows[rows->count++] = row_copy(many->arena, cells, count);
    return true;
}

/* --- which run ------------------------------------------------------------------------------------------------------------- */

Status run_row(Arena *arena, Store *store, Str id, const Cell **out_row, Error *err)
{
    QueryAsk ask = { .query = QUERY_RUN_BY_ID, .params = { cell_text(id) }, .param_count = 1 };
    return select_one(arena, store, &ask, out_row, err);
}

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
    return select_one(arena, store, &ask, out_row, err);
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
    Status status = select_one(args->arena, store, &ask, out_row, &err);
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
        if (!status && !*out_row) status = error_set(&err, ERR_NOT_FOUND, "there is no run in this store yet; 'maestro run FILE' starts one");
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

Id row_id(const Cell *row)
{
    Id id = { { 0 } };
    CHECK(id_read(row[RUNS_id].text, &id));
    return id;
}

RunState row_state(const Cell *row)
{
    RunState state = RUN_QUEUED;
    CHECK(run_state_find(row[RUNS_state].text, &state));
    return state;
}

Resolution row_resolution(const Cell *row)
{
    for (int i = 1; row[RUNS_resolution].kind == CELL_TEXT && i < RESOLUTION_COUNT; i++)
        if (str_is_text(row[RUNS_resolution].text, resolution_name((Resolution)i))) return (Resolution)i;
    return RESOLUTION_NONE;
}

bool row_is_settled(const Cell *row) { return run_state_is_settled(row_state(row), row_resolution(row)); }

StepState step_row_state(const Cell *row)
{
    for (int i = 0; i < STEP_STATE_COUNT; i++)
        if (str_is_text(row[STEP_RUNS_status].text, step_state_stored((StepState)i))) return (StepState)i;
    return STEP_QUEUED;
}

/* --- what belongs to it ---------------------------------------------------------------------------------------------------- */

Status run_plan(Arena *arena, Store *store, const Cell *row, Plan *out_plan, Error *err)
{
    const Cell *plan;
    QueryAsk ask = { .query = QUERY_PLAN, .params = { cell_blob(row[RUNS_plan_digest].text) }, .param_count = 1 };
    Status status = select_one(arena, store, &ask, &plan, err);
    if (status) return status;
    if (!plan) return error_set(err, ERR_CORRUPT, "the plan of run %.*s is not in the store", STR_ARG(row[RUNS_id].text));
    Value document;
    status = json_parse(arena, plan[PLANS_document].text, &document, err);
    return status ? status : plan_read(arena, document, out_plan, err);
}

Status run_steps(Arena *arena, Store *store, const Cell *row, StepRows *out_steps, Error *err)
{
    *out_steps = (StepRows){ 0 };
    ManyRows many = { arena, out_steps };
    size_t seen;
    do {
        seen = out_steps->count;
        QueryAsk ask = { .query = QUERY_STEP_RUNS, .params = { row[RUNS_run_no], cell_int((int64_t)seen) }, .param_count = 2 };
        Status status = store_select(store, &ask, take_row, &many, err);
        if (status) return status;
    } while (out_steps->count > seen && (out_steps->count - seen) % 1000 == 0);
    return OK;
}

Status run_step_row(Arena *arena, Store *store, const Cell *row, Str step, const Cell **out_step, Error *err)
{
    QueryAsk ask = { .query = QUERY_STEP_RUN_BY_KEY, .params = { row[RUNS_run_no], cell_text(step) }, .param_count = 2 };
    return select_one(arena, store, &ask, out_step, err);
}

Status run_records(Arena *arena, Store *store, const Cell *row, uint64_t after_event, bool has_payloads,
                   StepRows *out_records, Error *err)
{
    *out_records = (StepRows){ 0 };
    ManyRows many = { arena, out_records };
    int64_t position = row[RUNS_last_position].integer;
    while (position > 0) {
        size_t seen = out_records->count;
        QueryAsk ask = { .query = has_payloads ? QUERY_RUN_RECORDS : QUERY_RUN_TAIL, .param_count = 2,
                         .params = { cell_int(position), cell_int((int64_t)after_event) },
                         .row_count_max = has_payloads ? 256 : FOLLOW_PAGE_COUNT };
        Status status = store_select(store, &ask, take_row, &many, err);
        if (status) return status;
        if (out_records->count == seen) break;
        position = out_records->rows[out_records->count - 1][LEDGER_prev_position].integer;
    }
    for (size_t i = 0, k = out_records->count; i + 1 < k; i++) {
        const Cell *swapped = out_records->rows[i];
        out_records->rows[i] = out_records->rows[--k];
        out_records->rows[k] = swapped;
    }
    return OK;
}

/* --- payloads -------------------------------------------------------------------------------------------------------------- */

Status payload_read(Arena *arena, Store *store, const Cell *at, Value *out_value, Error *err)
{
    if (at[0].kind != CELL_INT) return error_set(err, ERR_NOT_FOUND, "there is none");
    const Cell *record;
    QueryAsk ask = { .query = QUERY_RECORD, .params = { at[0] }, .param_count = 1 };
    Status status = select_one(arena, store, &ask, &record, err);
    if (status) return status;
    if (!record) return error_set(err, ERR_CORRUPT, "record %" PRId64 " is missing", at[0].integer);
    Str bytes = record[LEDGER_payload].kind == CELL_BLOB ? record[LEDGER_payload].text : (Str){ 0 };
    if (!bytes.len) return error_set(err, ERR_NOT_FOUND, "it was erased");
    uint64_t from = SALT_SIZE + (uint64_t)at[1].integer, to = from + (uint64_t)at[2].integer;
    if (to > bytes.len) return error_set(err, ERR_CORRUPT, "the payload of record %" PRId64 " is cut", at[0].integer);
    return json_parse(arena, str_slice(bytes, from, to), out_value, err);
}

Value payload_or_null(Arena *arena, Store *store, const Cell *at)
{
    Value value;
    Error err;
    if (!payload_read(arena, store, at, &value, &err)) return value;
    if (at[0].kind != CELL_INT) return value_null();
    MemberList members = { .arena = arena };
    bool is_erased = err.status == ERR_NOT_FOUND;
    member_list_add(&members, is_erased ? STR("erased") : STR("error"),
                    is_erased ? value_bool(true) : value_string(arena_copy(arena, str_of(err.text))));
    return member_list_object(&members);
}

/* --- values ---------------------------------------------------------------------------------------------------------------- */

Value cell_value(const Cell *cell)
{
    if (cell->kind == CELL_INT) return value_int(cell->integer);
    return cell->kind == CELL_TEXT ? value_string(cell->text) : value_null();
}

Value cell_time(Arena *arena, const Cell *cell)
{
    char storage[40];
    Buf buf = buf_on(storage, sizeof storage);
    if (cell->kind != CELL_INT) return value_null();
    civil_print_ms(&buf, cell->integer);
    return value_string(arena_copy(arena, buf_peek(&buf)));
}
