#include <strings.h>

#include "api/routes.h"
#include "base/limits.h"

static void exchanged(void *context, Status status, const Error *err, Str answer)
{
    Call *call = context;
    if (!call->is_gone && !call->status) {
        if (status) call_error(call, err);
        else call_text(call, 200, "application/json", answer);
    }
    call_release(call);
}

static void be_late(Call *call) { call_problem(call, PROBLEM_UNAVAILABLE, "it was not answered in time; what it said counts"); }

/* Who a worker is, is what its key says and what it calls itself: two processes with one key are two workers. */
void route_exchange(Call *call)
{
    Value body;
    bool is_of_all = str_is_text(call->caller.tenant, "*");
    if (!api_may(call, call->caller.tenant, PROBLEM_NOT_FOUND) || !call_read_json(call, &body)) return;
    Str name = value_get_string(body, "worker", STR(""));
    ExchangeAsk ask = { .executor = call->segments[0], .tenant = is_of_all ? STR("") : call->caller.tenant, .request = body,
                        .worker = arena_format(&call->arena, "%.*s/%.*s", STR_ARG(call->caller.key), STR_ARG(name)) };
    if (!bridge_exchange(call->api->bridge, &ask, exchanged, call)) {
        call_problem(call, PROBLEM_UNAVAILABLE, "the engine takes no further requests now");
        return;
    }
    call->use_count++;
    call_wait(call, 2 * API_ANSWER_MS_MAX, be_late, NULL);
}

/* Whoever has no token of an attempt that is under way learns nothing, not even whether there ever was one. */
static void refuse_callback(Call *call)
{
    call_problem(call, PROBLEM_NOT_FOUND, "no attempt that is under way has this token; what was sent changes nothing");
}

static void called_back(void *context, Status status, const Error *err, Str answer)
{
    Call *call = context;
    if (!call->is_gone && !call->status) {
        if (status == ERR_NOT_FOUND || (!status && !str_is(answer, STR("true")))) refuse_callback(call);
        else if (status) call_error(call, err);
        else call_text(call, 200, "application/json", STR("{\"accepted\":true}"));
    }
    call_release(call);
}

void route_callback(Call *call)
{
    Str given = call_header(call, "Authorization");
    Value body;
    if (given.len <= 7 || strncasecmp(given.ptr, "Bearer ", 7) != 0) {
        call_problem(call, PROBLEM_UNAUTHENTICATED, "send the token of the task document: Authorization: Bearer TOKEN");
        return;
    }
    if (!call_read_json(call, &body)) return;
    ExchangeAsk ask = { .executor = call->segments[0], .request = body, .token = str_trim(str_slice(given, 7, given.len)) };
    if (!bridge_exchange(call->api->bridge, &ask, called_back, call)) {
        call_problem(call, PROBLEM_UNAVAILABLE, "the engine takes no further requests now");
        return;
    }
    call->use_count++;
    call_wait(call, 2 * API_ANSWER_MS_MAX, be_late, NULL);
}
