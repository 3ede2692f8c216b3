#include "api/routes.h"
#include "base/limits.h"
#include "value/json.h"

static void be_late(Call *call) { call_problem(call, PROBLEM_UNAVAILABLE, "the engine has not answered in time; try again"); }

static void look(Call *call, Str tenant, ExchangeDone done)
{
    if (!bridge_tenants(call->api->bridge, tenant, done, call)) {
        call_problem(call, PROBLEM_UNAVAILABLE, "the engine takes no further requests now");
        return;
    }
    call->use_count++;
    call_wait(call, API_ANSWER_MS_MAX, be_late, NULL);
}

/* As the engine printed it, with its links. */
static Value tenant_value(Call *call, Value tenant)
{
    MemberList members = { .arena = &call->arena }, links = { .arena = &call->arena };
    Str of = value_get_string(tenant, "tenant", STR("")), name = api_escape(call, of);
    add_member(&links, "self", api_link(call, "/api/tenants/%.*s", STR_ARG(name)));
    if (api_shows(call, "workflow.read", of)) add_member(&links, "workflows", api_link(call, "/api/workflows?namespace=%.*s", STR_ARG(name)));
    if (api_shows(call, "execution.read", of)) add_member(&links, "executions", api_link(call, "/api/executions?namespace=%.*s", STR_ARG(name)));
    for (uint32_t i = 0; i < tenant.count; i++) member_list_add(&members, value_text(tenant.members[i].key), tenant.members[i].value);
    add_member(&members, "_links", member_list_object(&links));
    return member_list_object(&members);
}

/* The array that the engine printed, whole or its only item. */
static void answer(Call *call, Status status, const Error *err, Str text, bool is_one)
{
    Value list = value_null();
    Error wrong;
    if (call->is_gone || call->status) return;
    if (status) {
        call_error(call, err);
        return;
    }
    if (json_parse(&call->arena, text, &list, &wrong) || list.kind != VALUE_ARRAY || (is_one && list.count != 1)) {
        call_problem(call, PROBLEM_CORRUPT, "the engine said something that is no list of tenants");
        return;
    }
    if (is_one) {
        call_value(call, 200, tenant_value(call, list.items[0]));
        return;
    }
    MemberList members = { .arena = &call->arena }, links = { .arena = &call->arena };
    ValueList items = { .arena = &call->arena };
    for (uint32_t i = 0; i < list.count; i++)
        if (api_shows(call, call->route->verb, value_get_string(list.items[i], "tenant", STR(""))))
            value_list_add(&items, tenant_value(call, list.items[i]));
    add_member(&links, "self", api_link(call, "/api/tenants"));
    add_member(&members, "items", value_list_array(&items));
    add_member(&members, "_links", member_list_object(&links));
    call_value(call, 200, member_list_object(&members));
}

static void answer_all(void *context, Status status, const Error *err, Str text)
{
    answer(context, status, err, text, /* is_one= */ false);
    call_release(context);
}

static void answer_one(void *context, Status status, const Error *err, Str text)
{
    answer(context, status, err, text, /* is_one= */ true);
    call_release(context);
}

/* A key sees its own tenant alone. */
void route_tenants(Call *call)
{
    bool is_of_all = str_is_text(call->caller.tenant, "*");
    if (api_may(call, call->caller.tenant, PROBLEM_NOT_FOUND)) look(call, is_of_all ? STR("") : call->caller.tenant, answer_all);
}

void route_tenant(Call *call)
{
    if (api_may(call, call->segments[0], PROBLEM_NOT_FOUND)) look(call, call->segments[0], answer_one);
}
