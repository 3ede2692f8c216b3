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
    MemberList members = { .arena = &call->arena };
    add_member(&members, "items", list);
    call_value(call, 200, is_one ? list.items[0] : member_list_object(&members));
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
