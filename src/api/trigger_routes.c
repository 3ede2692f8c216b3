#include "api/document.h"
#include "api/routes.h"
#include "base/limits.h"

/* What a stranger may know: that it was taken. The run's owner sees the rest. */
static void taken(Call *call, const BridgeAnswer *answer)
{
    MemberList members = { .arena = &call->arena };
    add_member(&members, "workflow_id", value_string(call->segments[0]));
    add_member(&members, "trigger_key", value_string(call->segments[1]));
    add_member(&members, "accepted", value_bool(true));
    add_member(&members, "repeated", value_bool(answer->is_noop));
    call_value(call, 200, member_list_object(&members));
}

/* Reasons of a refusal are for the log: strangers learn neither which runs there are nor what was wrong with their signature. */
static void refuse(Call *call, const Error *err)
{
    if (err->status == ERR_NOT_FOUND) call_problem(call, PROBLEM_NOT_FOUND, "there is no such trigger");
    else if (err->status == ERR_DENIED) call_problem(call, PROBLEM_UNAUTHENTICATED, "the trigger was not authenticated");
    else call_error(call, err);
}

void route_trigger(Call *call)
{
    Api *api = call->api;
    TriggerHeader *headers = ARENA_ARRAY(&call->arena, TriggerHeader, call->header_count + 1u);
    TriggerOrder order;
    MemberList members = { .arena = &call->arena };
    Error err = { 0 };
    for (uint32_t i = 0; i < call->header_count; i++) headers[i] = (TriggerHeader){ call->headers[i].name, call->headers[i].value };
    TriggerRequest request = { .run_id = call->segments[0], .trigger = call->segments[1], .headers = headers,
                               .header_count = call->header_count, .body = buf_peek(&call->body), .source = call->source,
                               .identity = call->caller.actor, .now_ms = call->now_ms };
    if (trigger_handle(&api->triggers, &call->arena, &request, &order, &err)) {
        refuse(call, &err);
        return;
    }
    /* A key proves who its bearer is, and not that it may: its tenant and role have to fit as well. */
    if (call->caller.key.len && str_is(order.command.actor, call->caller.actor) && !api_may(call, order.tenant, PROBLEM_NOT_FOUND)) return;
    const Command *command = &order.command;
    add_member(&members, "run", value_string(arena_copy(&call->arena, id_peek(&order.run_id))));
    add_member(&members, "tenant", value_string(order.tenant));
    add_member(&members, "name", value_string(command->name));
    add_member(&members, "payload", command->value);
    add_member(&members, "origin", value_string(command->origin));
    add_member(&members, "denial", value_bool(command->is_denial));
    call->caller.actor = command->actor;
    if (command->id.len) add_member(&members, "id", value_string(command->id));
    api_petition(call, &members, "trigger", taken);
}
