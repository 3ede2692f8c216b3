#include "view/revision_row.h"

#include <inttypes.h>

#include "base/check.h"
#include "base/limits.h"
#include "value/canonical.h"
#include "value/json.h"
#include "view/run_rows.h"

static Str print_list(Arena *arena, const Value *list)
{
    Buf buf;
    Error err;
    buf_init(&buf, PLAN_SIZE_MAX);
    CHECK(canonical_print(&buf, list ? *list : value_array(NULL, 0), &err) == OK);     /* it was read from canonical JSON */
    Str text = arena_copy(arena, buf_peek(&buf));
    buf_deinit(&buf);
    return text;
}

void revision_row_describe(Arena *arena, Value document, Str workflow, Cell *cells)
{
    const Value *triggers = value_get_text(document, "triggers");
    Str description = value_get_string(document, "description", STR(""));
    cells[REVISIONS_name] = cell_text(arena_copy(arena, value_get_string(document, "name", workflow)));
    cells[REVISIONS_description] = description.len ? cell_text(arena_copy(arena, description)) : cell_null();
    cells[REVISIONS_triggers] = cell_text(print_list(arena, triggers && triggers->kind == VALUE_ARRAY ? triggers : NULL));
    cells[REVISIONS_parameters] = cell_text(print_list(arena, value_get_text(document, "params")));
    cells[REVISIONS_steps] = cell_text(print_list(arena, value_get_text(document, "steps")));
}

static Status read_list(Arena *arena, const Cell *row, uint32_t column, const char *what, Value *out, Error *err)
{
    Value list;
    Error why = { .text = "it is no list" };
    const Cell *cell = &row[column];
    if (cell->kind == CELL_TEXT && !json_parse(arena, cell->text, &list, &why) && list.kind == VALUE_ARRAY) {
        *out = list;
        return OK;
    }
    return error_set(err, ERR_CORRUPT, "what revision %" PRId64 " of '%.*s' says of its %s is damaged: %s", row[REVISIONS_version].integer,
                     STR_ARG(row[REVISIONS_workflow_id].text), what, why.text);
}

Status revision_row_triggers(Arena *arena, const Cell *row, Value *out_triggers, Error *err)
{
    return read_list(arena, row, REVISIONS_triggers, "triggers", out_triggers, err);
}

Status revision_row_parameters(Arena *arena, const Cell *row, Value *out_parameters, Error *err)
{
    return read_list(arena, row, REVISIONS_parameters, "parameters", out_parameters, err);
}

Status revision_triggers(Arena *arena, Store *store, Str tenant, Str workflow, const Cell **out_row, Value *out_triggers, Error *err)
{
    const Cell *row = NULL;
    QueryAsk ask = { .query = QUERY_REVISION_TRIGGERS, .param_count = 3, .params = { cell_text(tenant), cell_text(workflow), cell_int(1) } };
    Status status = row_select(arena, store, &ask, &row, err);
    if (!status && row) status = revision_row_triggers(arena, row, out_triggers, err);
    if (!status) *out_row = row;
    return status;
}

typedef struct LastActive { Arena *arena; const Cell *row; int64_t version; uint32_t seen; } LastActive;

/* A flag that has changed since its revision was stored was set at some time, and is not now: when it changed is when it was taken away. */
static bool take_last_active(void *context, const Cell *cells, uint32_t count)
{
    LastActive *last = context;
    int64_t updated_ms = cells[REVISIONS_updated_ms].integer;
    last->seen++;
    last->version = cells[REVISIONS_version].integer;
    if (updated_ms == cells[REVISIONS_created_ms].integer) return true;
    if (!last->row || updated_ms > last->row[REVISIONS_updated_ms].integer) last->row = row_copy(last->arena, cells, count);
    return true;
}

Status revision_relied_on(Arena *arena, Store *store, Str tenant, Str workflow, const Cell **out_row, Error *err)
{
    const Cell *active = NULL;
    LastActive last = { .arena = arena, .version = INT64_MAX };
    QueryAsk ask = { .query = QUERY_REVISION_ACTIVE, .param_count = 3, .params = { cell_text(tenant), cell_text(workflow), cell_int(1) } };
    Status status = row_select(arena, store, &ask, &active, err);
    if (!status && !active) do {
        ask = (QueryAsk){ .query = QUERY_REVISIONS_OF_WORKFLOW, .param_count = 3,
                          .params = { cell_text(tenant), cell_text(workflow), cell_int(last.version) } };
        last.seen = 0;
        status = store_select(store, &ask, take_last_active, &last, err);
    } while (!status && last.seen);
    if (!status) *out_row = active ? active : last.row;
    return status;
}

const char *revision_standing(const Cell *row) { return row[REVISIONS_active].integer ? "is active" : "was active last"; }

Status revision_workflow_after(Arena *arena, Store *store, Str tenant, Str after, Str *out_name, Error *err)
{
    const Cell *row = NULL;
    QueryAsk ask = { .query = QUERY_WORKFLOW_AFTER, .params = { cell_text(tenant), cell_text(after) }, .param_count = 2 };
    Status status = row_select(arena, store, &ask, &row, err);
    if (!status) *out_name = row && str_is(row[REVISIONS_tenant].text, tenant) ? row[REVISIONS_workflow_id].text : STR("");
    return status;
}
