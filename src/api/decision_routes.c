/* decision_routes.c - the same decision about many executions: a few petitions at a time, one after the other. */
#include <stdlib.h>

#include "api/decision_terms.h"
#include "api/routes.h"
#include "base/limits.h"

typedef struct BulkPart { Call *call; uint32_t index; Str id; Value tenant; } BulkPart;

typedef struct Bulk {
    Value ids, terms;               /* what was asked */
    Str key;                        /* the id of the whole request; empty: it has none */
    Value asked;                    /* the words of the whole */
    Value *results;                 /* in the order in which they were asked for */
    BulkPart *parts;                /* those that the engine is asked about ... */
    uint32_t part_count, next;      /* ... and up to where it was */
    uint32_t under_way, under_way_max;
    ShareHold hold;                 /* until all are answered, be its sender gone */
} Bulk;

static void set_result(const BulkPart *part, const char *outcome, Value state, Value detail)
{
    MemberList result = { .arena = &part->call->arena };
    Bulk *bulk = part->call->state;
    add_member(&result, "executionId", value_string(part->id));
    add_member(&result, "outcome", value_string(str_of(outcome)));
    add_member(&result, "state", state);
    add_member(&result, "detail", detail);
    bulk->results[part->index] = member_list_object(&result);
}

static void be_late(Call *call)
{
    call_problem(call, PROBLEM_UNAVAILABLE, "the engine has not answered for %d s; the same request with the same Idempotency-Key gets "
                 "its answers, and does the rest", API_ANSWER_MS_MAX / 1000);
}

/* What it does not find, and what the caller may not, is a result, too; the engine is not asked about that. */
static void look(Call *call, Bulk *bulk, uint32_t index)
{
    Str id = value_text(bulk->ids.items[index]);
    Denial denial;
    const Cell *row = NULL;
    Error err;
    Id read;
    BulkPart part = { .call = call, .index = index, .id = id };
    if (id_read(id, &read) && run_row(&call->arena, call->api->store, id, &row, &err)) row = NULL;
    if (row && !api_sees(call, row[RUNS_tenant].text)) {
        call_refuse_part(call, 404, arena_format(&call->arena, "execution %.*s belongs to tenant '%.*s'", STR_ARG(id),
                                                 STR_ARG(row[RUNS_tenant].text)));
        row = NULL;
    }
    if (!row) {
        set_result(&part, "not-found", value_null(), value_null());
        return;
    }
    if (!access_permits(call->api->access, call, call->route->verb, row[RUNS_tenant].text, &denial)) {
        call_refuse_part(call, 403, arena_format(&call->arena, "execution %.*s: %.*s", STR_ARG(id), STR_ARG(denial.why)));
        set_result(&part, "denied", value_null(), value_string(denial.told));
        return;
    }
    part.tenant = cell_value(&row[RUNS_tenant]);
    bulk->parts[bulk->part_count++] = part;
}

static void take_answer(void *context, const BridgeAnswer *answer);

/* One petition about one of them. False: nothing more fits on the way to the engine. */
static bool ask(Call *call, const Bulk *bulk, BulkPart *part)
{
    MemberList members = { .arena = &call->arena };
    for (uint32_t i = 0; i < bulk->terms.count; i++) member_list_add(&members, value_text(bulk->terms.members[i].key), bulk->terms.members[i].value);
    add_member(&members, "run", value_string(part->id));
    add_member(&members, "tenant", part->tenant);
    if (bulk->key.len) {
        add_member(&members, "id", value_string(arena_format(&call->arena, "%.*s/%.*s", STR_ARG(bulk->key), STR_ARG(part->id))));
        add_member(&members, "asked", bulk->asked);
    }
    return bridge_ask(call->api->bridge, member_list_object(&members), take_answer, part);
}

/* Each petition is a copy of all that was asked, and has a place on the way to the engine: a few at a time are enough to fill its commits. They
 * are all asked, whether somebody still waits for the answer or not. */
static void go_on(Call *call, Bulk *bulk)
{
    for (; bulk->next < bulk->part_count && bulk->under_way < bulk->under_way_max; bulk->next++) {
        BulkPart *part = &bulk->parts[bulk->next];
        if (ask(call, bulk, part)) {
            call->use_count++;
            bulk->under_way++;
        } else if (bulk->under_way) {
            break;                  /* the next answer comes here again */
        } else {
            set_result(part, "unavailable", value_null(), value_null());
        }
    }
    if (bulk->under_way) return;
    share_give_back(call->api->shares, &bulk->hold);
    if (call->is_gone || call->status) return;
    MemberList members = { .arena = &call->arena };
    add_member(&members, "items", value_array(bulk->results, bulk->ids.count));
    call_value(call, 200, member_list_object(&members));
}

static void take_answer(void *context, const BridgeAnswer *answer)
{
    const BulkPart *part = context;
    Call *call = part->call;
    Bulk *bulk = call->state;
    if (answer->status)
        set_result(part, "refused", value_null(), value_string(arena_copy(&call->arena, call_public(call, str_of(answer->error.text)))));
    else set_result(part, answer->is_noop ? "unchanged" : "done", value_string(str_of(run_state_name(answer->state))), value_null());
    bulk->under_way--;
    go_on(call, bulk);
    call_release(call);
}

/* The whole is known by its key: one after the other may be done. */
static void begin(Call *call, const BridgeAnswer *answer)
{
    Bulk *bulk = call->state;
    (void)answer;
    ShareBound bound = share_take(call->api->shares, SHARE_BULKS, call_sharer(call), 1, &bulk->hold);
    if (bound != SHARE_FREE) {
        call_refuse_share(call, SHARE_BULKS, bound);
        return;
    }
    for (uint32_t i = 0; i < bulk->ids.count; i++) look(call, bulk, i);
    go_on(call, bulk);
    if (!call->status) call_wait(call, API_ANSWER_MS_MAX, be_late, NULL);
}

/* --- what is asked ---------------------------------------------------------------------------------------------------------------------- */

typedef struct IdPlace { Str id; uint32_t index; } IdPlace;

static int order_places(const void *a, const void *b)
{
    const IdPlace *one = a, *other = b;
    int order = str_compare(one->id, other->id);
    return order ? order : one->index < other->index ? -1 : 1;
}

/* One that is there twice would be decided on twice. False after answering. */
static bool are_different(Call *call, Value ids)
{
    BodyFindings found = { .call = call };
    IdPlace *places = ARENA_ARRAY(&call->arena, IdPlace, ids.count + 1u);
    for (uint32_t i = 0; i < ids.count; i++) places[i] = (IdPlace){ value_text(ids.items[i]), i };
    qsort(places, ids.count, sizeof *places, order_places);
    for (uint32_t i = 1; i < ids.count; i++)
        if (str_is(places[i - 1].id, places[i].id))
            body_find(&found, arena_format(&call->arena, "/executionIds/%u", places[i].index), "is there before, at /executionIds/%u",
                      places[i - 1].index);
    return body_is_right(&found);
}

static uint32_t under_way_max(size_t size)
{
    size_t count = API_BULK_ASKED_SIZE / (size + 1);
    return count < 1 ? 1 : count > API_BULK_ASKED_COUNT ? API_BULK_ASKED_COUNT : (uint32_t)count;
}

/* A request of a key of every tenant may be about executions of several: as what names no namespace it is of 'default'. */
void route_decisions(Call *call)
{
    static const BodyMember known[] = { { "executionIds", VALUE_ARRAY, true, .is_texts = true, .item_count_max = API_BULK_COUNT_MAX,
                                          .item_limit = "API_BULK_COUNT_MAX" }, DECISION_TERMS };
    Value body;
    DecisionKind decision;
    MemberList terms = { .arena = &call->arena };
    if (!api_may(call, call->caller.tenant, PROBLEM_NOT_FOUND) || !call_read_json(call, &body)
        || !body_check(call, body, known, sizeof known / sizeof *known) || !decision_read(call, body, &decision)
        || !decision_add_terms(call, body, decision, &terms))
        return;
    Value ids = *value_get_text(body, "executionIds");
    if (!are_different(call, ids)) return;
    add_member(&terms, "verb", value_string(STR("resolve")));
    add_member(&terms, "decision", *value_get_text(body, "decision"));
    add_member(&terms, "actor", value_string(call->caller.actor));
    api_add_trace(call, &terms);
    Bulk *bulk = ARENA_NEW(&call->arena, Bulk);
    *bulk = (Bulk){ .ids = ids, .terms = member_list_object(&terms), .key = api_request_id(call), .asked = value_string(api_asked(call)),
                    .results = ARENA_ARRAY(&call->arena, Value, ids.count + 1u), .parts = ARENA_ARRAY(&call->arena, BulkPart, ids.count + 1u),
                    .under_way_max = under_way_max(call->body.len) };
    call->state = bulk;
    api_petition_whole(call, api_tenant(call, (Str){ 0 }), begin);
}
