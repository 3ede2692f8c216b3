#include "exec/worker/edge_parts.h"

#include <poll.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/check.h"
#include "base/limits.h"
#include "os/clock.h"
#include "value/json.h"
#include "view/run_rows.h"

#define LOOK_MS 3000                    /* how often runs are looked at that may have ended without telling */
#define AGAIN_MS 5000                   /* after a central server has refused the cell */

/* --- what the puller sees: one executor, which takes everything ------------------------------------------------------------------------- */

static Edge *edge_of(Executor *relay) { return (Edge *)(void *)((char *)relay - offsetof(Edge, relay)); }

static bool relay_execute(Executor *executor, const Attempt *attempt)
{
    Edge *edge = edge_of(executor);
    Value lease = attempt->step;
    Buf text;
    Error err;
    buf_init(&text, SIZE_MAX);
    if (json_print(&text, lease, JSON_COMPACT, &err)) buf_clear(&text);
    edge_lock(edge);
    Kept *kept = kept_add(edge, value_get_string(lease, "token", STR("")));
    kept->serial = attempt->id.serial;
    kept->lease_ms = value_get_int(lease, "lease_ms", LEASE_MS_DEFAULT);
    order_put(edge, ORDER_START, kept->token, buf_peek(&text), /* is_taken= */ false);
    edge_unlock(edge);
    buf_deinit(&text);
    return true;
}

static void relay_order(Executor *executor, const AttemptId *id, OrderKind kind, bool is_taken)
{
    Edge *edge = edge_of(executor);
    edge_lock(edge);
    Kept *kept = kept_of_serial(edge, id->serial);
    if (kept && kind == ORDER_END) kept->is_ended = true;
    if (kept) order_put(edge, kind, kept->token, STR(""), is_taken);
    edge_unlock(edge);
}

static void relay_end(Executor *executor, const AttemptId *id) { relay_order(executor, id, ORDER_END, false); }
static void relay_acknowledge(Executor *executor, const AttemptId *id) { relay_order(executor, id, ORDER_ACKNOWLEDGE, false); }
static void relay_settled(Executor *executor, const AttemptId *id, bool is_taken) { relay_order(executor, id, ORDER_SETTLE, is_taken); }
static void relay_close(Executor *executor) { (void)executor; }

/* Runs that have ended without telling: somebody here has cancelled one, or its workers were lost again and again. */
static void look_at_run(Edge *edge, Kept *kept)
{
    Arena arena;
    Error err;
    const Cell *row;
    QueryAsk ask = { .query = QUERY_RUN, .params = { cell_int((int64_t)kept->run_no) }, .param_count = 1, .row_count_max = 1 };
    arena_init(&arena, SIZE_MAX);
    if (row_select(&arena, edge->options.store, &ask, &row, &err) == OK && row && row_is_settled(row)) {
        bool is_cancelled = row_state(row) == RUN_CANCELLED;
        Str why = row[RUNS_error_message].kind == CELL_TEXT ? row[RUNS_error_message].text : STR("it has ended there");
        Notice notice = { .kind = NOTICE_REPORT, .value = value_null(),
                          .report = { .cause = is_cancelled ? CAUSE_CANCELLED : CAUSE_TRANSIENT, .output = value_null(),
                                      .message = arena_format(&arena, "run %.*s of the cell %.*s: %.*s", STR_ARG(row[RUNS_id].text),
                                                              STR_ARG(edge->options.name), STR_ARG(why)) } };
        kept->is_told = kept_tell(edge, kept, &notice);
    }
    arena_deinit(&arena);
}

static void relay_turn(Executor *executor, int64_t steady_ms)
{
    Edge *edge = edge_of(executor);
    int64_t now_ms = clock_realtime_ms();
    bool is_looking = steady_ms - edge->looked_ms >= LOOK_MS;
    if (is_looking) edge->looked_ms = steady_ms;
    edge_lock(edge);
    for (Kept *kept = edge->kept; kept; kept = kept->next) {
        bool is_late = kept->inner && kept->deadline_ms && now_ms >= kept->deadline_ms && !kept->is_late;
        if (kept->is_telling && !kept->is_told) kept_tell_report(edge, kept);
        else if ((is_looking || kept->is_ended) && kept->run_no && !kept->is_telling && !kept->is_told) look_at_run(edge, kept);
        if (!is_late) continue;
        kept->is_late = true;
        order_put(edge, ORDER_END, kept->token, STR(""), /* is_taken= */ false);
    }
    edge_unlock(edge);
}

static const ExecutorOps relay_ops = { .execute = relay_execute, .end = relay_end, .acknowledge = relay_acknowledge, .settled = relay_settled,
                                       .turn = relay_turn, .close = relay_close };

/* --- the puller's thread ------------------------------------------------------------------------------------------------------------------- */

static bool find_relay(void *context, Str runner, Executor **out_executor, Value *out_settings)
{
    Edge *edge = context;
    *out_executor = &edge->relay;
    *out_settings = value_null();
    return edge->options.knows(edge->options.context, runner);
}

static void tell_person(void *context, Str line)
{
    Edge *edge = context;
    edge->options.told(edge->options.context, line);
}

/* Those that it has already: of an earlier process, or of a puller that the central server refused. */
static bool adopt(void *context, uint32_t index, const AttemptId *id, Str *out_token, int64_t *out_lease_ms, Executor **out_executor)
{
    Edge *edge = context;
    edge_lock(edge);
    Kept *kept = edge->kept;
    while (kept && index--) kept = kept->next;
    if (kept) {
        kept->serial = id->serial;
        kept->is_told = false;
        *out_token = str_of(kept->token);
        *out_lease_ms = kept->lease_ms;
        *out_executor = &edge->relay;
    }
    edge_unlock(edge);
    return kept != NULL;
}

static void pull(void *context)
{
    Edge *edge = context;
    const EdgeOptions *options = &edge->options;
    Executor *relay = &edge->relay;
    PullerOptions puller = { .server = options->server, .executor = options->executor, .worker = options->name, .bearer = options->bearer,
                             .ca = options->ca, .queues = options->queues, .queue_count = options->queue_count, .capacity = options->capacity,
                             .executors = &relay, .executor_count = 1, .notices = edge->far_ring, .find = find_relay, .adopt = adopt,
                             .context = edge, .stop_fd = wake_fd(&edge->stop), .is_kept = true, .told = tell_person };
    struct pollfd stop = { .fd = wake_fd(&edge->stop), .events = POLLIN };
    Error err;
    while (!wake_is_raised(&edge->stop)) {
        if (puller_run(&puller, &err) == OK) continue;
        tell_person(edge, str_of(err.text));
        (void)poll(&stop, 1, AGAIN_MS);
    }
}

/* --- make ------------------------------------------------------------------------------------------------------------------------------------- */

Status edge_new(NoticeSink near, Edge **out_edge, Error *err)
{
    Edge *edge = calloc(1, sizeof *edge);
    CHECK(edge);
    edge->near = near;
    edge->wake.fd = edge->stop.fd = -1;
    edge->reporter = (Executor){ .ops = &edge_reporter_ops, .name = STR("central"), .kind = STR("cell") };
    edge->relay = (Executor){ .ops = &relay_ops, .name = STR("cell"), .kind = STR("cell") };
    arena_init(&edge->arena, SIZE_MAX);
    CHECK(pthread_mutex_init(&edge->mutex, NULL) == 0);
    Status status = wake_open(&edge->wake, err);
    if (!status) status = wake_open(&edge->stop, err);
    if (!status) status = notice_ring_open(/* count_max= */ 0, &edge->far_ring, err);
    if (status) {
        edge_free(edge);
        return status;
    }
    edge->far = notice_ring_sink(edge->far_ring);
    *out_edge = edge;
    return OK;
}

static Status take_up(Edge *edge, const Cell *row, Error *err)
{
    Arena arena;
    Value start;
    bool is_ours = row[RUNS_source].kind == CELL_TEXT && str_is_text(row[RUNS_source].text, EDGE_SOURCE)
                && row[RUNS_idempotency_key].kind == CELL_TEXT;
    if (!is_ours) return OK;
    arena_init(&arena, SIZE_MAX);
    Status status = payload_read(&arena, edge->options.store, &row[RUNS_params_at], &start, err);
    const Value *params = status ? NULL : value_get_text(start, "params");
    Value lease = status ? value_null() : params ? *params : start;
    if (!status) {
        Kept *kept = kept_add(edge, row[RUNS_idempotency_key].text);
        kept->run_no = (uint64_t)row[RUNS_run_no].integer;
        kept->lease_ms = value_get_int(lease, "lease_ms", LEASE_MS_DEFAULT);
        kept->is_effect = value_get_bool(lease, "effect_recorded", false);
        kept->is_earlier = true;
    }
    arena_deinit(&arena);
    return status;
}

/* Open runs are held leases. */
static Status take_up_all(Edge *edge, Error *err)
{
    int64_t after = 0;
    for (StepRows rows = { 0 };;) {
        Arena arena;
        QueryAsk ask = { .query = QUERY_RUNS_OPEN, .params = { cell_int(after) }, .param_count = 1 };
        rows = (StepRows){ 0 };
        arena_init(&arena, SIZE_MAX);
        Status status = row_select_all(&arena, edge->options.store, &ask, &rows, err);
        for (size_t i = 0; !status && i < rows.count; i++) {
            after = rows.rows[i][RUNS_run_no].integer;
            status = take_up(edge, rows.rows[i], err);
        }
        size_t count = rows.count;
        arena_deinit(&arena);
        if (status || !count) return status;
    }
}

Status edge_start(Edge *edge, const EdgeOptions *options, Error *err)
{
    Arena *arena = &edge->arena;
    edge->options = *options;
    Str *texts[] = { &edge->options.name, &edge->options.server, &edge->options.executor, &edge->options.bearer };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) *texts[i] = arena_copy(arena, *texts[i]);
    Status status = take_up_all(edge, err);
    if (!status) status = host_watch(options->host, wake_fd(&edge->wake), edge_take_orders, edge, err);
    edge->is_watched = !status;
    if (!status) status = thread_start(&edge->thread, "maestro-cell", pull, edge, err);
    edge->has_thread = !status;
    return status;
}

void edge_stop(Edge *edge)
{
    if (!edge) return;
    wake_raise(&edge->stop);
    if (edge->has_thread) thread_join(&edge->thread);
    edge->has_thread = false;
    if (edge->is_watched) host_unwatch(edge->options.host, wake_fd(&edge->wake));
    edge->is_watched = false;
}

void edge_free(Edge *edge)
{
    if (!edge) return;
    while (edge->kept) kept_remove(edge, edge->kept);
    for (Order *order; (order = edge->orders);) edge->orders = order->next, order_free(order);
    for (PlanKept *plan; (plan = edge->plans);) {
        edge->plans = plan->next;
        arena_deinit(&plan->arena);
        free(plan);
    }
    for (uint32_t i = 0; i < edge->wrap_count; i++) free(edge->wraps[i]);
    if (edge->far_ring) notice_ring_close(edge->far_ring);
    if (edge->wake.fd >= 0) wake_close(&edge->wake);
    if (edge->stop.fd >= 0) wake_close(&edge->stop);
    seal_key_wipe(&edge->options.key);
    pthread_mutex_destroy(&edge->mutex);
    arena_deinit(&edge->arena);
    free(edge);
}
