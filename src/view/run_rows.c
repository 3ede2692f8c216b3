#include "view/run_rows.h"

#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "base/civil.h"
#include "base/limits.h"
#include "ledger/record.h"
#include "value/json.h"

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

Status row_select(Arena *arena, Store *store, const QueryAsk *ask, const Cell **out_row, Error *err)
{
    OneRow one = { arena, NULL };
    Status status = store_select(store, ask, take_one, &one, err);
    if (!status) *out_row = one.row;
    return status;
}

typedef struct ManyRows { Arena *arena; StepRows *rows; } ManyRows;
typedef struct RecordRows { ManyRows many; size_t size; } RecordRows;           /* size: of what one read has brought */

static bool take_row(void *context, const Cell *cells, uint32_t count)
{
    ManyRows *many = context;
    StepRows *rows = many->rows;
    if (rows->count == rows->capacity)
        rows->rows = arena_grow(many->arena, rows->rows, sizeof *rows->rows, rows->count, &rows->capacity);
    rows->rows[rows->count++] = row_copy(many->arena, cells, count);
    return true;
}

/* Of rows that may be large: the read ends before it takes too long, and whoever asked goes on behind the last of them. */
static bool take_record(void *context, const Cell *cells, uint32_t count)
{
    RecordRows *records = context;
    for (uint32_t i = 0; i < count; i++)
        if (cells[i].kind == CELL_TEXT || cells[i].kind == CELL_BLOB) records->size += cells[i].text.len;
    return take_row(&records->many, cells, count) && records->size < STORE_READ_SIZE;
}

Status row_select_all(Arena *arena, Store *store, const QueryAsk *ask, StepRows *out_rows, Error *err)
{
    *out_rows = (StepRows){ 0 };
    return store_select(store, ask, take_row, &(ManyRows){ arena, out_rows }, err);
}

Status run_row(Arena *arena, Store *store, Str id, const Cell **out_row, Error *err)
{
    QueryAsk ask = { .query = QUERY_RUN_BY_ID, .params = { cell_text(id) }, .param_count = 1 };
    return row_select(arena, store, &ask, out_row, err);
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

bool row_is_over(const Cell *row)
{
    RunState state = row_state(row);
    if (row[RUNS_completed_ms].kind != CELL_INT || !row_is_settled(row) || state == RUN_COMPENSATION_FAILED) return false;
    return state != RUN_FAILED || row_resolution(row) == RESOLUTION_RESOLVED;
}

Status run_is_here(const Cell *row, Error *err)
{
    if (row[RUNS_archived_to].kind != CELL_TEXT) return OK;
    return error_set(err, ERR_NOT_FOUND, "run %.*s was archived: its steps, events and logs are in %.*s", STR_ARG(row[RUNS_id].text),
                     STR_ARG(row[RUNS_archived_to].text));
}

StepState step_row_state(const Cell *row)
{
    for (int i = 0; i < STEP_STATE_COUNT; i++)
        if (str_is_text(row[STEP_RUNS_status].text, step_state_stored((StepState)i))) return (StepState)i;
    return STEP_QUEUED;
}

/* --- what belongs to it ---------------------------------------------------------------------------------------------------- */

static Status read_plan(Arena *arena, Store *store, Str digest, Plan *out_plan, Error *err)
{
    const Cell *plan;
    QueryAsk ask = { .query = QUERY_PLAN, .params = { cell_blob(digest) }, .param_count = 1 };
    Status status = row_select(arena, store, &ask, &plan, err);
    if (status) return status;
    if (!plan) return error_set(err, ERR_CORRUPT, "its plan is not in the store");
    Value document;
    status = json_parse(arena, plan[PLANS_document].text, &document, err);
    return status ? status : plan_read(arena, document, out_plan, err);
}

Status run_plan(Arena *arena, Store *store, const Cell *row, Plan *out_plan, Error *err)
{
    Status status = read_plan(arena, store, row[RUNS_plan_digest].text, out_plan, err);
    if (status == ERR_CORRUPT) error_prefix(err, "run %.*s: ", STR_ARG(row[RUNS_id].text));
    return status;
}

Status store_plan(void *store, Arena *arena, const Digest *digest, Plan *out_plan, Error *err)
{
    return read_plan(arena, store, (Str){ (const char *)digest->bytes, DIGEST_SIZE }, out_plan, err);
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

static bool take_count(void *context, const Cell *cells, uint32_t count)
{
    (void)count;
    *(uint64_t *)context = (uint64_t)cells[STEP_RUNS_step_index].integer + 1;
    return false;
}

Status run_step_count(Store *store, const Cell *row, uint64_t *out_count, Error *err)
{
    uint64_t count = 0;
    QueryAsk ask = { .query = QUERY_STEP_RUN_LAST, .params = { row[RUNS_run_no] }, .param_count = 1 };
    Status status = store_select(store, &ask, take_count, &count, err);
    if (!status) *out_count = count;
    return status;
}

Status run_step_row(Arena *arena, Store *store, const Cell *row, Str step, const Cell **out_step, Error *err)
{
    QueryAsk ask = { .query = QUERY_STEP_RUN_BY_KEY, .params = { row[RUNS_run_no], cell_text(step) }, .param_count = 2 };
    return row_select(arena, store, &ask, out_step, err);
}

Status run_records(Arena *arena, Store *store, const Cell *row, uint64_t after_event, bool has_payloads,
                   StepRows *out_records, Error *err)
{
    *out_records = (StepRows){ 0 };
    Status here = run_is_here(row, err);
    if (here) return here;
    RecordRows records = { { arena, out_records }, 0 };
    int64_t position = row[RUNS_last_position].integer;
    while (position > 0) {
        size_t seen = out_records->count;
        records.size = 0;
        QueryAsk ask = { .query = has_payloads ? QUERY_RUN_RECORDS : QUERY_RUN_TAIL, .param_count = 2,
                         .params = { cell_int(position), cell_int((int64_t)after_event) },
                         .row_count_max = has_payloads ? 256 : FOLLOW_PAGE_COUNT };
        Status status = store_select(store, &ask, take_record, &records, err);
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

/* The record at that place may have been read in part: then it is wanted once more. */
static Status walk_from(Arena *arena, Store *store, const Cell *row, RecordPlace *place, StepRows *out_records, Error *err)
{
    const Cell *found = NULL;
    uint64_t after = place->event;
    QueryAsk ask = { .query = QUERY_RECORD_HASHES, .params = { cell_int((int64_t)place->position) }, .param_count = 1, .row_count_max = 1 };
    Status status = place->position && after ? row_select(arena, store, &ask, &found, err) : OK;
    if (status) return status;
    bool is_its = found && found[LEDGER_run_no].kind == CELL_INT && found[LEDGER_run_no].integer == row[RUNS_run_no].integer;
    if (is_its && (uint64_t)found[LEDGER_first_event].integer <= after) after = (uint64_t)found[LEDGER_first_event].integer - 1;
    return run_records(arena, store, row, after, /* has_payloads= */ false, out_records, err);
}

/* Records know the one before them, not the one behind: the first of a long run are found by looking at a stretch of the log, and the
 * last, of which there are few, by walking back to them. */
Status run_records_next(Arena *arena, Store *store, const Cell *row, RecordPlace *place, StepRows *out_records, bool *out_has_more,
                        Error *err)
{
    uint64_t last = (uint64_t)row[RUNS_last_position].integer, event_count = (uint64_t)row[RUNS_event_count].integer;
    uint64_t from = place->position ? place->position : row[RUNS_params_at].kind == CELL_INT ? (uint64_t)row[RUNS_params_at].integer : 0;
    Status status = run_is_here(row, err);
    *out_records = (StepRows){ 0 };
    *out_has_more = false;
    if (status) return status;
    if (!from || event_count < place->event + RUN_WALK_EVENT_COUNT_MAX) {
        status = walk_from(arena, store, row, place, out_records, err);
        if (!status) place->position = last + 1;
        return status;
    }
    uint64_t to = last - from >= RUN_STRETCH_COUNT && last >= from ? from + RUN_STRETCH_COUNT - 1 : last;
    RecordRows records = { { arena, out_records }, 0 };
    QueryAsk ask = { .query = QUERY_RUN_STRETCH, .param_count = 3, .row_count_max = RUN_STRETCH_RECORD_COUNT,
                     .params = { cell_int((int64_t)from), cell_int((int64_t)to), row[RUNS_run_no] } };
    status = store_select(store, &ask, take_record, &records, err);
    if (status) return status;
    bool is_cut = out_records->count >= RUN_STRETCH_RECORD_COUNT || records.size >= STORE_READ_SIZE;
    place->position = is_cut ? (uint64_t)out_records->rows[out_records->count - 1][LEDGER_position].integer + 1 : to + 1;
    *out_has_more = place->position <= last;
    return OK;
}

Digest cell_digest(const Cell *cell)
{
    Digest digest = { { 0 } };
    if (cell->kind == CELL_BLOB && cell->text.len == sizeof digest) memcpy(&digest, cell->text.ptr, sizeof digest);
    return digest;
}

LedgerRow ledger_row_of(const Cell *cells)
{
    return (LedgerRow){
        .position = (uint64_t)cells[LEDGER_position].integer,
        .run_no = cells[LEDGER_run_no].kind == CELL_INT ? (uint64_t)cells[LEDGER_run_no].integer : 0,
        .prev_position = (uint64_t)cells[LEDGER_prev_position].integer,
        .first_event = (uint64_t)cells[LEDGER_first_event].integer,
        .event_count = (uint32_t)cells[LEDGER_event_count].integer,
        .hash = cell_digest(&cells[LEDGER_hash]),
        .record = cells[LEDGER_record].kind == CELL_BLOB ? cells[LEDGER_record].text : (Str){ 0 },
        .payload = cells[LEDGER_payload].kind == CELL_BLOB ? cells[LEDGER_payload].text : (Str){ 0 },
    };
}

/* --- payloads -------------------------------------------------------------------------------------------------------------- */

Status payload_read(Arena *arena, Store *store, const Cell *at, Value *out_value, Error *err)
{
    if (at[0].kind != CELL_INT) return error_set(err, ERR_NOT_FOUND, "there is none");
    const Cell *record;
    QueryAsk ask = { .query = QUERY_RECORD, .params = { at[0] }, .param_count = 1 };
    Status status = row_select(arena, store, &ask, &record, err);
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
