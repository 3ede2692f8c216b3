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

/* A question on its way: what is small is answered at once, as most that commands ask is, and a hop to another thread would cost more than it. What
 * turns out to be larger is left, and asked again beside the server's thread; so is what the store may look at much for, at once. */
typedef struct Selecting { QueryAsk ask; ClientRows rows; } Selecting;

typedef struct Printing {
    Buf *out;
    ClientRows *rows;
    uint32_t seen;
    bool is_here;
    bool is_cut;                    /* there is more than may be looked at here */
} Printing;

static size_t row_size(const Cell *cells, uint32_t count)
{
    size_t size = 0;
    for (uint32_t i = 0; i < count; i++)
        if (cells[i].kind == CELL_TEXT || cells[i].kind == CELL_BLOB) size += cells[i].text.len;
    return size;
}

static bool print_row(void *context, const Cell *cells, uint32_t count)
{
    Printing *printing = context;
    Buf *out = printing->out;
    printing->seen++;
    printing->is_cut = printing->is_here ? printing->seen > API_STORE_HERE_COUNT || out->len + row_size(cells, count) > API_HERE_SIZE_MAX
                                         : printing->rows->is_filtered && printing->seen > API_STORE_SCAN_COUNT_MAX;
    if (printing->is_cut) return false;
    ClientSight sight = client_sight(printing->rows, cells);
    if (sight != CLIENT_SEES) return sight == CLIENT_PASSES_OVER;
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
    return out->len < API_STORE_ANSWER_SIZE_MAX && --printing->rows->left;
}

/* False, and nothing is answered, where it is too much for the server's thread. */
static bool select_rows(Call *call, const Selecting *selecting, bool is_here)
{
    ClientRows found = selecting->rows;
    Buf rows;
    Printing printing = { .out = &rows, .rows = &found, .is_here = is_here };
    Status status = OK;
    Error err;
    found.call = call;
    bool is_there = client_finds(&found, &selecting->ask, is_here ? API_STORE_HERE_COUNT : API_STORE_ROW_COUNT_MAX, &printing.is_cut);
    if (is_here && printing.is_cut) return false;
    printing.is_cut = false;
    buf_init(&rows, 2u * API_STORE_ANSWER_SIZE_MAX);
    buf_text(&rows, "{\"rows\":[");
    if (is_there) status = store_select(call->api->store, &selecting->ask, print_row, &printing, &err);
    if (!status && printing.is_cut && !is_here)
        status = error_set(&err, ERR_LIMIT, "more than API_STORE_SCAN_COUNT_MAX (%u) rows would have to be looked at", API_STORE_SCAN_COUNT_MAX);
    if (!status && rows.len >= API_STORE_ANSWER_SIZE_MAX)
        status = error_set(&err, ERR_LIMIT, "the answer has more than %u bytes; ask for fewer rows", API_STORE_ANSWER_SIZE_MAX);
    buf_text(&rows, "]}");
    bool is_left = is_here && !status && printing.is_cut;
    if (!call->status && status) call_error(call, &err);
    else if (!call->status && !is_left) call_text(call, 200, "application/json", buf_peek(&rows));
    buf_deinit(&rows);
    return !is_left;
}

static void select_aside(Call *copy) { (void)select_rows(copy, copy->state, /* is_here= */ false); }

/* The store may look at many rows and give few: what is counted, and lists with a condition that no index leads with. */
static bool is_walked(const QueryAsk *ask)
{
    const QueryInfo *info = query_info(ask->query);
    uint32_t at = 0;
    if (info->kind == QUERY_COUNT_ALL || info->kind == QUERY_COUNT_BY) return true;
    for (const QueryCondition *condition = info->conditions; condition->op != CONDITION_END; condition++) {
        bool is_loose = condition->op == CONDITION_EQ_IF || condition->op == CONDITION_LE_IF || condition->op == CONDITION_GE_IF;
        if (is_loose && ask->params[at].kind != CELL_NULL) return true;
        at += condition_param_count((ConditionOp)condition->op);
    }
    return false;
}

void route_store_query(Call *call)
{
    static const BodyMember known[] = { { "params", VALUE_ARRAY, true }, { "limit", VALUE_INT, false } };
    Value body;
    QueryAsk ask = { 0 };
    if (!call_read_json(call, &body) || !body_check(call, body, known, 2)) return;
    const Value *params = value_get_text(body, "params");
    int64_t limit = value_get_int(body, "limit", 0);
    if (!query_find(call->segments[0], &ask.query)) {
        call_problem(call, PROBLEM_NOT_FOUND, "there is no query '%.*s'", STR_ARG(call->segments[0]));
        return;
    }
    bool is_right = params->count == query_param_count(query_info(ask.query)) && limit >= 0;
    for (uint32_t i = 0; is_right && i < params->count; i++) is_right = read_param(call, params->items[i], &ask.params[i]);
    if (!is_right) {
        call_problem(call, PROBLEM_INVALID, "the query takes %u parameters: null, whole numbers, texts or {\"blob\": base64}",
                     query_param_count(query_info(ask.query)));
        return;
    }
    if (limit > API_STORE_ROW_COUNT_MAX) {
        call_problem(call, PROBLEM_INVALID, "'limit' is at most API_STORE_ROW_COUNT_MAX (%u)", API_STORE_ROW_COUNT_MAX);
        return;
    }
    ask.param_count = params->count;
    ask.row_count_max = (uint32_t)limit;
    Selecting *selecting = ARENA_NEW(&call->arena, Selecting);
    selecting->ask = ask;
    call->state = selecting;
    if (!client_may_select(call, &selecting->ask, &selecting->rows)) return;
    if (is_walked(&selecting->ask) || !select_rows(call, selecting, /* is_here= */ true)) aside_begin(call, select_aside, /* done= */ NULL);
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

/* With the plan that the call has, if any. */
static void send(Call *call, const ClientPetition *petition)
{
    EnginePlan *plan = call->plan;
    call->plan = NULL;
    if (!bridge_ask_plan(call->api->bridge, client_petition(call, petition), plan, answered, call)) {
        call_problem(call, PROBLEM_UNAVAILABLE, "the engine takes no further requests now");
        return;
    }
    call->use_count++;
    call_wait(call, API_ANSWER_MS_MAX, be_late, NULL);
}

static void read_brought(Call *copy) { client_read_plan(copy, copy->state); }

static void brought(Call *call, Call *copy)
{
    ClientPetition *petition = call->state;
    if (!client_may_start(call, petition)) return;
    definition_hand_over(call, copy);
    send(call, petition);
}

void route_petition(Call *call)
{
    ClientPetition *petition = ARENA_NEW(&call->arena, ClientPetition);
    call->state = petition;
    if (!call_read_json(call, &petition->body) || !client_may_ask(call, petition)) return;
    if (petition->is_start) aside_begin(call, read_brought, brought);
    else send(call, petition);
}
