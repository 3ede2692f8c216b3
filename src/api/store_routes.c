/* store_routes.c - the door of commands that are clients: named queries, petitions. client_scope.h says who gets what. */
#include "api/aside.h"
#include "api/client_scope.h"
#include "api/definition.h"
#include "api/routes.h"
#include "base/base64.h"
#include "base/limits.h"
#include "value/json.h"
#include "view/queries.h"

/* --- queries ------------------------------------------------------------------------------------------------------------------------ */

static bool query_find(Str name, Query *out)
{
    for (unsigned i = 0; i < QUERY_COUNT; i++) {
        if (!str_is_text(name, query_info((Query)i)->name)) continue;
        *out = (Query)i;
        return true;
    }
    return false;
}

static bool read_param(Call *call, Value value, Cell *out)
{
    size_t size = 0, wrong_at;
    *out = value.kind == VALUE_INT ? cell_int(value.integer) : value.kind == VALUE_STRING ? cell_text(value_text(value)) : cell_null();
    if (value.kind != VALUE_OBJECT) return value.kind == VALUE_NULL || out->kind != CELL_NULL;
    Str text = value_get_string(value, "blob", STR(""));
    char *bytes = arena_bytes(&call->arena, base64_decoded_size_max(text.len) + 1);
    if (!base64_decode(text, BASE64_STANDARD, bytes, &size, &wrong_at)) return false;
    *out = cell_blob((Str){ bytes, size });
    return true;
}

typedef struct Printing { Buf *out; ClientRows rows; } Printing;

static bool print_row(void *context, const Cell *cells, uint32_t count)
{
    Printing *printing = context;
    Buf *out = printing->out;
    if (!client_sees_row(&printing->rows, cells)) return true;
    buf_text(out, out->ptr[out->len - 1] == '[' ? "[" : ",[");
    for (uint32_t i = 0; i < count; i++) {
        if (i) buf_char(out, ',');
        if (cells[i].kind == CELL_INT) buf_i64(out, cells[i].integer);
        else if (cells[i].kind == CELL_TEXT) json_print_string(out, cells[i].text);
        else if (cells[i].kind == CELL_BLOB) {
            buf_text(out, "{\"blob\":\"");
            base64_encode(out, cells[i].text, BASE64_STANDARD);
            buf_text(out, "\"}");
        } else buf_text(out, "null");
    }
    buf_char(out, ']');
    return out->len < API_STORE_ANSWER_SIZE_MAX && --printing->rows.left;
}

void route_store_query(Call *call)
{
    static const BodyMember known[] = { { "params", VALUE_ARRAY, true }, { "limit", VALUE_INT, false } };
    Value body;
    Error err;
    QueryAsk ask = { 0 };
    if (!call_read_json(call, &body) || !check_members(call, body, known, 2)) return;
    const Value *params = value_get_text(body, "params");
    int64_t limit = value_get_int(body, "limit", 0);
    if (!query_find(call->segments[0], &ask.query)) {
        call_problem(call, PROBLEM_NOT_FOUND, "there is no query '%.*s'", STR_ARG(call->segments[0]));
        return;
    }
    bool is_right = params->count == query_param_count(query_info(ask.query)) && limit >= 0 && limit <= UINT32_MAX;
    for (uint32_t i = 0; is_right && i < params->count; i++) is_right = read_param(call, params->items[i], &ask.params[i]);
    if (!is_right) {
        call_problem(call, PROBLEM_INVALID, "the query takes %u parameters: null, whole numbers, texts or {\"blob\": base64}",
                     query_param_count(query_info(ask.query)));
        return;
    }
    ask.param_count = params->count;
    ask.row_count_max = (uint32_t)limit;
    Printing printing;
    if (!client_may_select(call, &ask, &printing.rows)) return;
    Buf rows;
    printing.out = &rows;
    buf_init(&rows, 2u * API_STORE_ANSWER_SIZE_MAX);
    buf_text(&rows, "{\"rows\":[");
    Status status = printing.rows.is_empty ? OK : store_select(call->api->store, &ask, print_row, &printing, &err);
    if (!status && rows.len >= API_STORE_ANSWER_SIZE_MAX)
        status = error_set(&err, ERR_LIMIT, "the answer has more than %u bytes; ask for fewer rows", API_STORE_ANSWER_SIZE_MAX);
    buf_text(&rows, "]}");
    if (status) call_error(call, &err);
    else call_text(call, 200, "application/json", buf_peek(&rows));
    buf_deinit(&rows);
}

/* --- petitions -------------------------------------------------------------------------------------------------------------------------- */

static void answered(void *context, const BridgeAnswer *answer)
{
    Call *call = context;
    if (!call->is_gone && !call->status && answer->status) {
        api_refuse(call, answer);
    } else if (!call->is_gone && !call->status) {
        MemberList members = { .arena = &call->arena };
        add_member(&members, "status", value_string(STR("ok")));
        if (answer->run_id.text[0]) add_member(&members, "run", value_string(id_peek(&answer->run_id)));
        add_member(&members, "state", value_string(str_of(run_state_name(answer->state))));
        add_member(&members, "noop", value_bool(answer->is_noop));
        add_member(&members, "repeat", value_bool(answer->is_repeat));
        add_member(&members, "asked", value_bool(answer->was_asked));
        call_value(call, 200, member_list_object(&members));
    }
    call_release(call);
}

static void be_late(Call *call)
{
    call_problem(call, PROBLEM_UNAVAILABLE, "the engine has not answered for %d s; ask again with the same id", API_ANSWER_MS_MAX / 1000);
}

typedef struct Petitioning { Value body; ClientPlan plan; } Petitioning;

static void compile_brought(Call *copy)
{
    Petitioning *petitioning = copy->state;
    ClientPlan *plan = &petitioning->plan;
    plan->is_known = true;
    plan->is_right = definition_digest(copy, value_get_string(petitioning->body, "text", STR("")), &plan->digest);
}

static void ask(Call *call, Call *copy)
{
    Petitioning *petitioning = call->state;
    Value petition;
    (void)copy;
    if (!client_may_ask(call, petitioning->body, &petitioning->plan, &petition)) {
        if (!call->status) aside_begin(call, compile_brought, ask);
        return;
    }
    if (!bridge_ask(call->api->bridge, petition, answered, call)) {
        call_problem(call, PROBLEM_UNAVAILABLE, "the engine takes no further requests now");
        return;
    }
    call->use_count++;
    call_wait(call, API_ANSWER_MS_MAX, be_late, NULL);
}

void route_petition(Call *call)
{
    Petitioning *petitioning = ARENA_NEW(&call->arena, Petitioning);
    call->state = petitioning;
    if (call_read_json(call, &petitioning->body)) ask(call, /* copy= */ NULL);
}
