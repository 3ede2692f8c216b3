#include "api/bearer.h"
#include "api/routes.h"
#include "base/limits.h"
#include "engine/token.h"

/* What is wrong with a request has its place in front, as a JSON pointer: "/heartbeats/1: ...". */
static void refuse_request(Call *call, const Error *err)
{
    Str text = str_of(err->text), between = STR(": ");
    size_t end = 0;
    while (end < text.len && !str_starts(str_slice(text, end, text.len), between)) end++;
    if (!str_starts(text, STR("/")) || end == text.len) {
        call_error(call, err);
        return;
    }
    ProblemField field = { .pointer = str_slice(text, 0, end), .detail = str_slice(text, end + between.len, text.len) };
    call_problem_fields(call, problem_of(err->status), text, &field, 1);
}

/* A worker that is gone looks like one that has closed its side and still reads: a lease is for neither. */
static void refuse_left(Call *call)
{
    call_problem(call, PROBLEM_UNAVAILABLE,
                 "the connection was closed from the other side while the exchange waited: it gets no lease; what it said counts");
}

/* Leases, and what they may read, are not for a bearer whose key ended while it waited. False: it is not told. */
static bool tell(Call *call, const BridgeExchange *exchange, Str answer)
{
    if (!bearer_check(call)) return false;
    bool is_left = bridge_order_count(exchange) && call_has_left(call);
    if (is_left) refuse_left(call);
    else call_text(call, 200, "application/json", answer);
    return !is_left;
}

static void exchanged(void *context, Status status, const Error *err, Str answer)
{
    Call *call = context;
    BridgeExchange *exchange = call->state;
    call->state = NULL;
    bool is_told = false;
    if (!call->is_gone && !call->status) {
        if (status == ERR_DENIED) call_refuse(call, call->caller.tenant, str_of(err->text));
        if (status) refuse_request(call, err);
        else is_told = tell(call, exchange, answer);
    }
    if (!is_told) bridge_give_back(exchange);
    call_release(call);
}

/* It gets no lease any more; where it still reads, it is answered at once. */
static void withdraw(Call *call, bool is_broken)
{
    (void)is_broken;
    if (call->state) bridge_withdraw(call->api->bridge, call->state);
}

static void be_late(Call *call) { call_problem(call, PROBLEM_UNAVAILABLE, "it was not answered in time; what it said counts"); }

/* An executor that is not for the key, or not for its tenant, is to the bearer one that there is not; the ledger knows better. */
static bool is_for_executor(Call *call, Str executor)
{
    Error err;
    Value executors = call->api->catalog->executors;
    const Value *settings = executors.kind == VALUE_OBJECT ? value_get(executors, executor) : NULL;
    bool is_there = settings && str_is_text(value_get_string(*settings, "kind", STR("")), "worker");
    bool is_permitted = key_limits_permit_executor(&call->caller.limits, executor);
    if (is_permitted && is_there && catalog_is_for(*settings, call->caller.tenant)) return true;
    if (is_there || !is_permitted)
        call_refuse(call, call->caller.tenant, arena_format(&call->arena, "the executor '%.*s' is not for %s", STR_ARG(executor),
                                                            is_permitted ? "its tenant" : "the key"));
    error_set(&err, ERR_NOT_FOUND, EXCHANGE_NO_EXECUTOR, STR_ARG(executor));
    call_error(call, &err);
    return false;
}

/* Who a worker is, is what its key says and what it calls itself: two processes with one key are two workers. */
void route_exchange(Call *call)
{
    Value body;
    bool is_of_all = str_is_text(call->caller.tenant, "*");
    if (!api_may(call, call->caller.tenant, PROBLEM_NOT_FOUND) || !call_read_json(call, &body) || !is_for_executor(call, call->segments[0])) return;
    Str name = value_get_string(body, "worker", STR(""));
    ExchangeAsk ask = { .executor = call->segments[0], .tenant = is_of_all ? STR("") : call->caller.tenant, .request = body,
                        .queues = call->caller.limits.queues,
                        .worker = arena_format(&call->arena, "%.*s/%.*s", STR_ARG(call->caller.key), STR_ARG(name)) };
    if (value_get_int(body, "wait_ms", 0) > 0 && !call_hold(call, SHARE_WAITS)) return;
    worker_seen(call, ask.executor, ask.worker);
    call->state = bridge_exchange(call->api->bridge, &ask, exchanged, call);
    if (!call->state) {
        call_problem(call, PROBLEM_UNAVAILABLE, "the engine takes no further requests now");
        return;
    }
    call->use_count++;
    call_wait(call, 2 * API_ANSWER_MS_MAX, be_late, NULL);
    call_watch(call, withdraw);
    if (call->api->is_draining) withdraw(call, /* is_broken= */ false);
}

/* Whoever has no token of an attempt that is under way learns nothing, not even whether there ever was one. */
static void refuse_callback(Call *call)
{
    call_refuse(call, STR(""), STR("no attempt that is under way has this token"));
    call_problem(call, PROBLEM_NOT_FOUND, "no attempt that is under way has this token; what was sent changes nothing");
}

static void called_back(void *context, Status status, const Error *err, Str answer)
{
    Call *call = context;
    if (!call->is_gone && !call->status) {
        if (status == ERR_NOT_FOUND || (!status && str_is(answer, STR("false")))) refuse_callback(call);
        else if (status) refuse_request(call, err);
        else if (!str_is(answer, STR("true"))) call_problem(call, PROBLEM_UNAVAILABLE, "the server ends before this is recorded: send it again");
        else call_text(call, 200, "application/json", STR("{\"accepted\":true}"));
    }
    call_release(call);
}

bool callback_has_token(Call *call)
{
    Str text = bearer_text(call), executor = call->segments[0];
    TokenScope scope = { call->api->token_key, executor };
    Token token;
    if (!text.len) {
        call_refuse(call, STR(""), STR("no token was sent"));
        call_problem(call, PROBLEM_UNAUTHENTICATED, "send the token of the task document: Authorization: Bearer TOKEN");
        return false;
    }
    if (executor.len <= NAME_SIZE_MAX && token_read(text, &token) && token_is_genuine(&scope, &token)) return true;
    refuse_callback(call);
    return false;
}

void route_callback(Call *call)
{
    Value body;
    if (!call_read_json(call, &body)) return;
    ExchangeAsk ask = { .executor = call->segments[0], .request = body, .token = bearer_text(call) };
    if (!bridge_exchange(call->api->bridge, &ask, called_back, call)) {
        call_problem(call, PROBLEM_UNAVAILABLE, "the engine takes no further requests now");
        return;
    }
    call->use_count++;
    call_wait(call, 2 * API_ANSWER_MS_MAX, be_late, NULL);
}
