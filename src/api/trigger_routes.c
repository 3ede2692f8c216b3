#include "api/aside.h"
#include "api/body.h"
#include "api/document.h"
#include "api/plan_facts.h"
#include "api/routes.h"
#include "base/limits.h"

/* What its sender may know: that it was taken, and whether the run goes on by it. The run's owner sees the rest. */
static void taken(Call *call, const BridgeAnswer *answer)
{
    MemberList members = { .arena = &call->arena };
    add_member(&members, "workflow_id", value_string(call->segments[0]));
    add_member(&members, "trigger_key", value_string(call->segments[1]));
    add_member(&members, "accepted", value_bool(true));
    add_member(&members, "repeated", value_bool(answer->is_noop || answer->was_asked));
    if (answer->outcome) add_member(&members, "outcome", value_string(str_of(answer->outcome)));
    call_value(call, 200, member_list_object(&members));
}

/* Reasons of a refusal are for the ledger: strangers learn neither which triggers there are nor what was wrong with their signature. Who
 * has a key of the tenant may know whether there is one; that of another tenant is answered as one that is not there. */
void trigger_refuse(Call *call, Str tenant, const Error *err)
{
    if (err->status == ERR_DENIED || err->status == ERR_NOT_FOUND || err->status == ERR_LIMIT) call_refuse(call, tenant, str_of(err->text));
    if (err->status == ERR_NOT_FOUND && call->caller.key.len) call_problem(call, PROBLEM_NOT_FOUND, "there is no such trigger");
    else if (err->status == ERR_NOT_FOUND || err->status == ERR_DENIED)
        call_problem(call, PROBLEM_UNAUTHENTICATED, "the trigger was not authenticated, or there is none");
    else if (err->status == ERR_LIMIT) call_problem_fields(call, PROBLEM_RATE, str_of(err->text), NULL, 0);
    else call_error(call, err);
}

/* Beside the server's thread, and before anybody is let in: so nothing is read of the body yet. */
static void make_sums(Call *copy) { trigger_sums_make(copy->sums, buf_peek(&copy->body)); }

void trigger_begin(Call *call)
{
    call->sums = ARENA_NEW(&call->arena, TriggerSums);
    *call->sums = (TriggerSums){ .size_max = API_HERE_SIZE_MAX };
}

bool trigger_is_settled(Call *call, Status status, AsideDone again)
{
    TriggerSums *sums = call->sums;
    bool is_stranger = !call->caller.key.len && (status == ERR_DENIED || status == ERR_NOT_FOUND);
    if (is_stranger) trigger_waste(sums, buf_peek(&call->body), &call->arena);
    if (!trigger_sums_are_wanted(sums)) return true;
    aside_begin(call, make_sums, again);
    return false;
}

bool trigger_is_seen(Call *call, Str tenant)
{
    Error err;
    if (!call->caller.key.len || api_sees(call, tenant)) return true;
    error_set(&err, ERR_NOT_FOUND, "it belongs to tenant '%.*s'", STR_ARG(tenant));
    trigger_refuse(call, tenant, &err);
    return false;
}

/* A signature that the store knows came before: what it came with is what is meant, whatever key its sender gives it now. Of this process
 * whoever let it in remembers. */
Status trigger_settle_id(Call *call, Str tenant, Str *id, Str *alias, Error *err)
{
    const Cell *row;
    Status status = api_request_row(call, tenant, *alias, &row, err);
    if (status || !row) return status;
    *id = *alias;
    *alias = (Str){ 0 };
    return OK;
}

/* False after answering: whoever sends a key may know of the run, or learns nothing. */
static bool run_is_seen(Call *call)
{
    Error err;
    Id id;
    const Cell *row = NULL;
    if (!call->caller.key.len || !id_read(call->segments[0], &id)) return true;
    if (run_row(&call->arena, call->api->store, call->segments[0], &row, &err)) {
        call_error(call, &err);
        return false;
    }
    return !row || trigger_is_seen(call, row[RUNS_tenant].text);
}

static void settled(Call *call) { trigger_settle(&call->api->triggers, call->state); }

/* --- what its plan says of it ---------------------------------------------------------------------------------------------------------------- */

typedef struct Sending {
    Digest digest;                  /* of the plan of its run */
    bool is_known;                  /* what that says of the trigger: */
    TriggerTerms terms;
    Error err;                      /* ... or why it is none */
} Sending;

static bool take_size(void *context, const Cell *cells, uint32_t count)
{
    (void)count;
    *(size_t *)context = cells[PLANS_document].text.len;
    return false;
}

/* Nobody has authenticated yet: to read one in the server's thread would be too much for whoever knows of a run. */
static bool has_large_plan(Call *call, Digest *out_digest)
{
    const Cell *row = NULL;
    PlanFact fact;
    Error err;
    Id id;
    size_t size = 0;
    if (!id_read(call->segments[0], &id) || run_row(&call->arena, call->api->store, call->segments[0], &row, &err) || !row) return false;
    *out_digest = cell_digest(&row[RUNS_plan_digest]);
    if (plan_facts_find(call->api->facts, out_digest, STR(""), &fact) && fact.is_large) return true;
    QueryAsk ask = { .query = QUERY_PLAN, .params = { row[RUNS_plan_digest] }, .param_count = 1 };
    if (store_select(call->api->store, &ask, take_size, &size, &err) || size <= API_HERE_SIZE_MAX) return false;
    plan_facts_put(call->api->facts, out_digest, STR(""), (PlanFact){ .is_large = true });      /* and so is a revision of it */
    return true;
}

static void find_terms(Call *copy)
{
    Sending *sending = copy->state;
    const Plan *plan;
    if (api_plan(copy->api, &sending->digest, &plan, &sending->err)
        || trigger_find_terms(plan, copy->segments[1], &sending->terms, &sending->err)) return;
    sending->terms.auth = value_copy(&copy->arena, sending->terms.auth);
}

static void handle(Call *call, Call *copy);

static void found_terms(Call *call, Call *copy)
{
    Sending *sending = call->state;
    if (!sending->err.status) sending->terms.auth = value_copy(&call->arena, sending->terms.auth);
    sending->is_known = true;
    handle(call, copy);
}

/* --- the request ----------------------------------------------------------------------------------------------------------------------------- */

static Status let_in(Call *call, const TriggerRequest *request, TriggerOrder *out, int64_t *out_wait_ms, Error *err)
{
    const Sending *sending = call->state;
    if (sending->err.status) {
        *err = sending->err;
        return err->status;
    }
    return trigger_handle(&call->api->triggers, &call->arena, request, sending->is_known ? &sending->terms : NULL, out, out_wait_ms, err);
}

static void send(Call *call, Call *copy)
{
    TriggerOrder *order = call->state;
    Command *command = &order->command;
    MemberList members = { .arena = &call->arena };
    Error err;
    (void)copy;
    call->over = NULL;
    if (call->body.len && call_parse(call, &command->value, &err)) {
        settled(call);
        call_refuse_json(call, &err);
        return;
    }
    add_member(&members, "run", value_string(arena_copy(&call->arena, id_peek(&order->run_id))));
    add_member(&members, "tenant", value_string(order->tenant));
    add_member(&members, "name", value_string(command->name));
    add_member(&members, "payload", command->value);
    add_member(&members, "origin", value_string(command->origin));
    add_member(&members, "denial", value_bool(command->is_denial));
    call->caller.actor = command->actor;
    if (command->id.len) add_member(&members, "id", value_string(command->id));
    if (command->alias.len) add_member(&members, "alias", value_string(command->alias));
    call->settled = settled;
    api_petition(call, &members, "trigger", taken);
}

static void handle(Call *call, Call *copy)
{
    Sending *sending = call->state;
    TriggerOrder *order = ARENA_NEW(&call->arena, TriggerOrder);
    TriggerHeader *headers = ARENA_ARRAY(&call->arena, TriggerHeader, call->header_count + 1u);
    int64_t wait_ms = 0;
    Error err = { 0 };
    (void)copy;
    for (uint32_t i = 0; i < call->header_count; i++) headers[i] = (TriggerHeader){ call->headers[i].name, call->headers[i].value };
    TriggerRequest request = { .method = STR("POST"), .path = call->path, .run_id = call->segments[0],
                               .trigger = call->segments[1], .headers = headers, .header_count = call->header_count,
                               .body = buf_peek(&call->body), .source = call->source,
                               .identity = call->caller.actor, .now_ms = call->now_ms, .sums = call->sums };
    if (!run_is_seen(call)) return;
    if (!sending->is_known && has_large_plan(call, &sending->digest)) {
        aside_begin(call, find_terms, found_terms);
        return;
    }
    if (let_in(call, &request, order, &wait_ms, &err)) {
        if (!trigger_is_settled(call, err.status, handle)) return;
        call->retry_s = wait_ms > 0 ? (uint64_t)(wait_ms + 999) / 1000 : 0;
        trigger_refuse(call, STR(""), &err);
        return;
    }
    call->proof = &order->proof;
    /* A key proves who its bearer is, and not that it may: its tenant and role have to fit as well. */
    if (call->caller.key.len && str_is(order->command.actor, call->caller.actor) && !api_may(call, order->tenant, PROBLEM_NOT_FOUND)) return;
    if (trigger_settle_id(call, order->tenant, &order->command.id, &order->command.alias, &err)) {
        call_error(call, &err);
        return;
    }
    trigger_depart(&call->api->triggers, order);
    call->state = order;
    call->over = settled;           /* until the engine is asked */
    body_read(call, send);
}

void route_trigger(Call *call)
{
    Sending *sending = ARENA_NEW(&call->arena, Sending);
    *sending = (Sending){ 0 };
    call->state = sending;
    trigger_begin(call);
    handle(call, NULL);
}
