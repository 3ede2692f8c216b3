#include "api/aside.h"
#include "api/body.h"
#include "api/document.h"
#include "api/plan_facts.h"
#include "api/routes.h"
#include "base/limits.h"
#include "os/clock.h"

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

TriggerRequest trigger_request(Call *call)
{
    TriggerHeader *headers = ARENA_ARRAY(&call->arena, TriggerHeader, call->header_count + 1u);
    bool *is_passed = ARENA_NEW(&call->arena, bool);
    *is_passed = false;
    for (uint32_t i = 0; i < call->header_count; i++) headers[i] = (TriggerHeader){ call->headers[i].name, call->headers[i].value };
    return (TriggerRequest){ .method = STR("POST"), .path = call->path, .headers = headers, .header_count = call->header_count,
                             .body = buf_peek(&call->body), .source = call->source, .identity = call->caller.actor, .now_ms = call->now_ms,
                             .is_passed = is_passed };
}

/* A stranger is told after the same work whether there is such a trigger or none. */
void trigger_end_proof(Call *call, Status status, const TriggerRequest *request)
{
    bool is_stranger = !call->caller.key.len && (status == ERR_DENIED || status == ERR_NOT_FOUND);
    if (is_stranger) trigger_waste(request);
    if (!status && call->is_copy && call->body.len) body_read_beside(call);
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

static void settled(Call *call) { trigger_settle(&call->api->triggers, call->state); }

/* --- the request ----------------------------------------------------------------------------------------------------------------------------- */

typedef struct Sending {
    const Cell *run;                /* NULL: there is none */
    Digest large_plan;              /* of the run, where that is large */
    bool has_large_plan;
    TriggerOrder order;
    Status status;
    Error err;
} Sending;

static bool take_size(void *context, const Cell *cells, uint32_t count)
{
    (void)count;
    *(size_t *)context = cells[PLANS_document].text.len;
    return false;
}

/* Nobody has authenticated yet: to read one in the server's thread would be too much for whoever knows of a run. */
static bool is_large_plan(Api *api, const Cell *digest_cell, const Digest *digest)
{
    PlanFact fact;
    Error err;
    size_t size = 0;
    if (plan_facts_find(api->facts, digest, STR(""), &fact) && fact.is_large) return true;
    QueryAsk ask = { .query = QUERY_PLAN, .params = { *digest_cell }, .param_count = 1 };
    if (store_select(api->store, &ask, take_size, &size, &err) || size <= API_HERE_SIZE_MAX) return false;
    plan_facts_put(api->facts, digest, STR(""), (PlanFact){ .is_large = true });      /* and so is a revision of it */
    return true;
}

static void prove(Call *call)
{
    Sending *sending = call->state;
    TriggerRequest request = trigger_request(call);
    const Plan *plan = NULL;
    request.run_id = call->segments[0];
    request.trigger = call->segments[1];
    Status status = sending->has_large_plan ? api_plan(call->api, &sending->large_plan, &plan, &sending->err) : OK;
    if (!status) status = trigger_prove(&call->api->triggers, &call->arena, &request, sending->run, plan, &sending->order, &sending->err);
    trigger_end_proof(call, status, &request);
    sending->status = status;
}

static void send(Call *call, TriggerOrder *order, Value payload)
{
    const Command *command = &order->command;
    MemberList members = { .arena = &call->arena };
    add_member(&members, "run", value_string(arena_copy(&call->arena, id_peek(&order->run_id))));
    add_member(&members, "tenant", value_string(order->tenant));
    add_member(&members, "name", value_string(command->name));
    add_member(&members, "payload", payload);
    add_member(&members, "origin", value_string(command->origin));
    add_member(&members, "denial", value_bool(command->is_denial));
    call->caller.actor = command->actor;
    if (command->id.len) add_member(&members, "id", value_string(command->id));
    if (command->alias.len) add_member(&members, "alias", value_string(command->alias));
    trigger_depart(&call->api->triggers, order);
    call->state = order;
    call->settled = settled;
    api_petition(call, &members, "trigger", taken);
}

static void proved(Call *call, Call *copy)
{
    Sending *sending = call->state;
    TriggerOrder *order = &sending->order;
    Value payload = value_null();
    int64_t wait_ms = 0;
    Error *err = &sending->err;
    Status status = sending->status;
    if (copy && !status) *order = trigger_order_copy(&call->arena, order);
    if (!status) status = trigger_admit(&call->api->triggers, &call->arena, order, clock_realtime_ms(), &wait_ms, err);
    if (status) {
        call->retry_s = wait_ms > 0 ? (uint64_t)(wait_ms + 999) / 1000 : 0;
        trigger_refuse(call, STR(""), err);
        return;
    }
    call->proof = &order->proof;
    /* A key proves who its bearer is, and not that it may: its tenant and role have to fit as well. */
    if (call->caller.key.len && str_is(order->command.actor, call->caller.actor) && !api_may(call, order->tenant, PROBLEM_NOT_FOUND)) return;
    if (!call_let_in(call, order->tenant, order->command.actor)) return;
    if (call->body.len && call_parse(call, &payload, err)) call_refuse_json(call, err);
    else if (trigger_settle_id(call, order->tenant, &order->command.id, &order->command.alias, err)) call_error(call, err);
    else send(call, order, payload);
}

void route_trigger(Call *call)
{
    Sending *sending = ARENA_NEW(&call->arena, Sending);
    Id id;
    *sending = (Sending){ .run = NULL };
    call->state = sending;
    if (id_read(call->segments[0], &id) && run_row(&call->arena, call->api->store, call->segments[0], &sending->run, &sending->err)) {
        call_error(call, &sending->err);
        return;
    }
    /* Whoever sends a key may know of the run, or learns nothing. */
    if (sending->run && !trigger_is_seen(call, sending->run[RUNS_tenant].text)) return;
    if (sending->run) {
        const Cell *digest = &sending->run[RUNS_plan_digest];
        sending->large_plan = cell_digest(digest);
        sending->has_large_plan = is_large_plan(call->api, digest, &sending->large_plan);
    }
    if (sending->has_large_plan || call->body.len > API_HERE_SIZE_MAX) {
        aside_begin(call, prove, proved);
    } else {
        prove(call);
        proved(call, NULL);
    }
}
