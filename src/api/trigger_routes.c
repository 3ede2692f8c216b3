#include "api/document.h"
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

void route_trigger(Call *call)
{
    Api *api = call->api;
    TriggerOrder *order = ARENA_NEW(&call->arena, TriggerOrder);
    TriggerHeader *headers = ARENA_ARRAY(&call->arena, TriggerHeader, call->header_count + 1u);
    MemberList members = { .arena = &call->arena };
    Error err = { 0 };
    int64_t wait_ms = 0;
    for (uint32_t i = 0; i < call->header_count; i++) headers[i] = (TriggerHeader){ call->headers[i].name, call->headers[i].value };
    TriggerRequest request = { .method = STR("POST"), .path = call->path, .run_id = call->segments[0],
                               .trigger = call->segments[1], .headers = headers, .header_count = call->header_count,
                               .body = buf_peek(&call->body), .source = call->source,
                               .identity = call->caller.actor, .now_ms = call->now_ms };
    if (!run_is_seen(call)) return;
    if (trigger_handle(&api->triggers, &call->arena, &request, order, &wait_ms, &err)) {
        call->retry_s = (uint64_t)(wait_ms + 999) / 1000;
        trigger_refuse(call, STR(""), &err);
        return;
    }
    call->proof = &order->proof;
    /* A key proves who its bearer is, and not that it may: its tenant and role have to fit as well. */
    if (call->caller.key.len && str_is(order->command.actor, call->caller.actor) && !api_may(call, order->tenant, PROBLEM_NOT_FOUND)) return;
    Command *command = &order->command;
    if (trigger_settle_id(call, order->tenant, &command->id, &command->alias, &err)) {
        call_error(call, &err);
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
    trigger_depart(&api->triggers, order);
    call->state = order;
    call->settled = settled;
    api_petition(call, &members, "trigger", taken);
}
