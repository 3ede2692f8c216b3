/* edge_orders.c - what the puller's thread wants of the engine's: runs for leases, ends, acknowledgements, answers. */
#include "exec/worker/edge_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "value/json.h"

typedef struct Starting { Edge *edge; char *token; } Starting;

static void fail_lease(Edge *edge, Str token, Cause cause, Str why)
{
    edge_lock(edge);
    Kept *kept = kept_of(edge, token);
    Notice notice = { .kind = NOTICE_REPORT, .value = value_null(), .report = { .cause = cause, .message = why, .output = value_null() } };
    if (kept) kept->is_told = kept_tell(edge, kept, &notice);
    edge_unlock(edge);
}

/* What the engine refuses for want of room, or the store, may be taken later; the rest is wrong for good. */
static Cause cause_of(Status status) { return status == ERR_LIMIT || status == ERR_UNAVAILABLE ? CAUSE_TRANSIENT : CAUSE_PERMANENT; }

static void take_started(void *context, const EngineReply *reply)
{
    Starting *starting = context;
    Edge *edge = starting->edge;
    if (reply->status) fail_lease(edge, str_of(starting->token), cause_of(reply->status), str_of(reply->error->text));
    edge_lock(edge);
    Kept *kept = kept_of(edge, str_of(starting->token));
    if (kept && !reply->status) kept->run_no = reply->run_no;
    if (kept && kept->is_ended) order_put(edge, ORDER_END, kept->token, STR(""), /* is_taken= */ false);
    edge_unlock(edge);
    free(starting->token);
    free(starting);
}

static Status give_plan(const Edge *edge, const PlanKept *plan, Digest *out, Error *err)
{
    Engine *engine = host_engine(edge->options.host);
    Status status = engine_plan_add(engine, plan->document, out, err);
    if (!status) engine_plan_text(engine, out, plan->text);
    return status;
}

static Status plan_of(Edge *edge, Str tenant, Str runner, Digest *out, Error *err)
{
    for (const PlanKept *plan = edge->plans; plan; plan = plan->next)
        if (str_is(plan->tenant, tenant) && str_is(plan->runner, runner)) return give_plan(edge, plan, out, err);
    PlanKept *plan = calloc(1, sizeof *plan);
    CHECK(plan);
    arena_init(&plan->arena, SIZE_MAX);
    Status status = edge->options.plan(edge->options.context, &plan->arena, tenant, runner, &plan->document, &plan->text, err);
    if (!status) status = give_plan(edge, plan, out, err);
    if (status) {
        arena_deinit(&plan->arena);
        free(plan);
        return status;
    }
    plan->tenant = arena_copy(&plan->arena, tenant);
    plan->runner = arena_copy(&plan->arena, runner);
    plan->next = edge->plans;
    edge->plans = plan;
    return OK;
}

/* What a run is given of its lease: what somebody may read, and the whole of it sealed. */
static Value params_of(const Edge *edge, Arena *arena, Str token, Value lease, Str text)
{
    MemberList members = { .arena = arena };
    Value task = edge_member(lease, "task");
    member_list_add(&members, STR("token"), value_string(token));
    member_list_add(&members, STR("run"), value_string(value_get_string(task, "run", STR(""))));
    member_list_add(&members, STR("step"), value_string(value_get_string(task, "step", STR(""))));
    member_list_add(&members, STR("lease_ms"), value_int(value_get_int(lease, "lease_ms", LEASE_MS_DEFAULT)));
    member_list_add(&members, STR("effect_recorded"), value_bool(value_get_bool(lease, "effect_recorded", false)));
    member_list_add(&members, STR("sealed"), edge_seal_text(edge, arena, token, "lease", text));
    return member_list_object(&members);
}

static Status start_run(Edge *edge, const Order *order, Arena *arena, Error *err)
{
    Value lease;
    Str token = str_of(order->token), text = str_of(order->lease);
    Status status = json_parse(arena, text, &lease, err);
    if (status) return status;
    EngineStart start = {
        .tenant = value_get_string(lease, "tenant", STR("default")),
        .request = { .params = params_of(edge, arena, token, lease, text), .payload = value_null(), .key = token, .source = STR(EDGE_SOURCE) },
        .command = { .actor = arena_format(arena, "cell:%.*s", STR_ARG(edge->options.name)), .rationale = STR("leased by the central server"),
                     .trace = value_get_string(edge_member(lease, "task"), "traceparent", STR("")),
                     .tracestate = value_get_string(edge_member(lease, "task"), "tracestate", STR("")), .value = value_null(),
                     .report.output = value_null() },
        .reply = take_started,
    };
    status = plan_of(edge, start.tenant, value_get_string(lease, "runner", STR("")), &start.plan, err);
    if (status) return status;
    Starting *starting = calloc(1, sizeof *starting);
    CHECK(starting);
    *starting = (Starting){ edge, str_text_new(token) };
    start.context = starting;
    if (engine_start(host_engine(edge->options.host), &start)) return OK;
    free(starting->token);
    free(starting);
    return error_set(err, ERR_LIMIT, "the engine of the cell takes no further runs now");
}

/* What waits for room, or was given to a worker by an earlier process, is ended by its run; the puller sees when that has ended. */
static void end_run(Edge *edge, const Kept *kept)
{
    EngineRequest request = { .run_no = kept->run_no,
                              .command = { .kind = COMMAND_CANCEL, .actor = STR("cell"), .rationale = STR("ended by the central server"),
                                           .value = value_null(), .report.output = value_null() } };
    if (kept->run_no) (void)engine_request(host_engine(edge->options.host), &request);
}

static void end_lease(Edge *edge, Str token)
{
    Executor *inner = NULL;
    AttemptId id = { 0 };
    edge_lock(edge);
    Kept *kept = kept_of(edge, token);
    if (kept && kept->inner) inner = kept->inner, id = kept->work;
    else if (kept && !kept->is_telling && kept->is_ended) end_run(edge, kept);
    edge_unlock(edge);
    if (inner) inner->ops->end(inner, &id);
}

static void acknowledge_effect(Edge *edge, Str token)
{
    Executor *inner = NULL;
    AttemptId id = { 0 };
    edge_lock(edge);
    const Kept *kept = kept_of(edge, token);
    if (kept && kept->inner) inner = kept->inner, id = kept->work;
    edge_unlock(edge);
    if (inner) inner->ops->acknowledge(inner, &id);
}

/* The central server has answered: `tell` ends, and with it the run. False where the inbox has no room now. */
static bool settle_lease(Edge *edge, Str token, bool is_taken)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    MemberList members = { .arena = &arena };
    member_list_add(&members, STR("result"), value_string(is_taken ? STR("accepted") : STR("refused")));
    Notice notice = { .kind = NOTICE_REPORT, .value = value_null(), .report = { .output = member_list_object(&members) } };
    edge_lock(edge);
    Kept *kept = kept_of(edge, token);
    if (kept) notice.id = kept->tell;
    bool is_said = !kept || !kept->is_telling || edge->near.notice(edge->near.context, &notice);
    if (kept && is_said) kept_remove(edge, kept);
    edge_unlock(edge);
    arena_deinit(&arena);
    return is_said;
}

static bool order_carry_out(Edge *edge, const Order *order)
{
    Arena arena;
    Error err;
    Str token = str_of(order->token);
    switch (order->kind) {
    case ORDER_START:
        arena_init(&arena, SIZE_MAX);
        if (start_run(edge, order, &arena, &err)) fail_lease(edge, token, cause_of(err.status), str_of(err.text));
        arena_deinit(&arena);
        return true;
    case ORDER_END: end_lease(edge, token); return true;
    case ORDER_ACKNOWLEDGE: acknowledge_effect(edge, token); return true;
    case ORDER_SETTLE: return settle_lease(edge, token, order->is_taken);
    }
    return true;
}

static Order *order_take(Edge *edge)
{
    edge_lock(edge);
    Order *order = edge->orders;
    if (order) edge->orders = order->next;
    if (!edge->orders) edge->orders_last = NULL;
    edge_unlock(edge);
    return order;
}

void edge_take_orders(void *context, int fd)
{
    Edge *edge = context;
    (void)fd;
    wake_lower(&edge->wake);
    for (Order *order; (order = order_take(edge));) {
        bool is_done = order_carry_out(edge, order);
        if (is_done) {
            order_free(order);
            continue;
        }
        edge_lock(edge);
        order->next = edge->orders;
        edge->orders = order;
        if (!edge->orders_last) edge->orders_last = order;
        wake_raise(&edge->wake);
        edge_unlock(edge);
        return;
    }
}
