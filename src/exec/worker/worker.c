#include "exec/worker/worker.h"

#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/check.h"
#include "exec/worker/worker_parts.h"

#define TICK_MS 1000                    /* leases are looked at so often */

static uint32_t worker_lane(Executor *executor, Str runner);
static void worker_turn(Executor *executor, int64_t steady_ms);
static int  worker_wake_fd(Executor *executor);
static void worker_close(Executor *executor);
static const ExecutorOps worker_ops = {
    .execute = worker_execute, .end = worker_end, .lose = worker_lose, .acknowledge = worker_acknowledge,
    .refuse = worker_refuse, .settled = worker_settled, .received = worker_received, .has_room = worker_has_room, .is_served = worker_is_served,
    .lane = worker_lane, .drain = worker_drain, .keep = worker_keep, .turn = worker_turn, .wake_fd = worker_wake_fd, .close = worker_close,
};

bool executor_is_worker(const Executor *executor)
{
    return executor->ops == &worker_ops;
}

/* --- make ---------------------------------------------------------------------------------------------------------------- */

uint32_t worker_queue_find(const WorkerExecutor *pool, Str name)
{
    uint32_t i = 0;
    while (i < pool->queue_count && !str_is(pool->queues[i], name)) i++;
    return i;
}

/* The queue of a runner: what runners.yaml says, else its own name. */
Str worker_queue_name(const WorkerExecutor *pool, Str runner)
{
    const Value *settings = pool->runners.kind == VALUE_OBJECT ? value_get(pool->runners, runner) : NULL;
    return settings ? value_get_string(*settings, "queue", runner) : runner;
}

Status worker_executor_open(const WorkerOptions *options, Executor **out_executor, Error *err)
{
    WorkerExecutor *pool = calloc(1, sizeof *pool);
    CHECK(pool);
    uint32_t capacity = options->capacity && options->capacity < WORKER_LEASE_COUNT_MAX ? options->capacity : WORKER_LEASE_COUNT_MAX;
    pool->base = (Executor){ .ops = &worker_ops, .name = options->name, .kind = STR("worker"), .is_outside = true,
                             .answers_again = true, .capacity = capacity,
                             .lease_ms = options->lease_ms ? options->lease_ms : LEASE_MS_DEFAULT };
    pool->sink = options->sink;
    pool->runners = options->runners;
    if (!options->token_key) seal_key_make(&pool->own_key);
    pool->tokens = (TokenScope){ options->token_key ? options->token_key : &pool->own_key, options->name };
    for (uint32_t i = 0; i < options->runners.count && options->runners.kind == VALUE_OBJECT; i++) {
        Str queue = worker_queue_name(pool, value_text(options->runners.members[i].key));
        if (worker_queue_find(pool, queue) < pool->queue_count) continue;
        if (pool->queue_count == WORKER_QUEUE_COUNT_MAX) {
            free(pool);
            return error_set(err, ERR_LIMIT, "the worker executor '%.*s' has more than %u queues", STR_ARG(options->name), WORKER_QUEUE_COUNT_MAX);
        }
        pool->queue_tags[pool->queue_count] = token_queue(queue);
        pool->queues[pool->queue_count++] = queue;
    }
    pool->base.lane_count = pool->queue_count;
    pool->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (pool->timer_fd < 0) {
        free(pool);
        return error_set(err, ERR_LIMIT, "no timer for the worker executor '%.*s'", STR_ARG(options->name));
    }
    *out_executor = &pool->base;
    return OK;
}

void worker_wake_after(WorkerExecutor *pool, int64_t ms)
{
    if (!ms && pool->is_awake) return;
    pool->is_awake = !ms;
    struct itimerspec when = { .it_value = { ms / 1000, ms % 1000 * 1000000 + (ms ? 0 : 1) } };
    CHECK(timerfd_settime(pool->timer_fd, 0, &when, NULL) == 0);
}

/* --- notices ------------------------------------------------------------------------------------------------------------- */

static bool pending_send(WorkerExecutor *pool)
{
    for (Pending *first; (first = pool->pending);) {
        if (!pool->sink.notice(pool->sink.context, &first->notice)) return false;
        pool->pending = first->next;
        if (!pool->pending) pool->pending_last = NULL;
        arena_deinit(&first->arena);
        free(first);
    }
    return true;
}

/* In their order; what the inbox has no room for is kept, since it bounds how much a request may say. */
void worker_send(WorkerExecutor *pool, const Notice *notice)
{
    Notice told = *notice;
    told.teller = &pool->base;
    if (pending_send(pool) && pool->sink.notice(pool->sink.context, &told)) return;
    Pending *pending = malloc(sizeof *pending);
    CHECK(pending);
    *pending = (Pending){ .notice = told };
    arena_init(&pending->arena, SIZE_MAX);
    Notice *kept = &pending->notice;
    kept->report.message = arena_copy(&pending->arena, told.report.message);
    kept->report.output = value_copy(&pending->arena, told.report.output);
    kept->value = value_copy(&pending->arena, told.value);
    kept->name = arena_copy(&pending->arena, told.name);
    kept->text = arena_copy(&pending->arena, told.text);
    kept->tenant = arena_copy(&pending->arena, told.tenant);
    *(pool->pending_last ? &pool->pending_last->next : &pool->pending) = pending;
    pool->pending_last = pending;
    worker_wake_after(pool, 1);
}

/* --- the port ------------------------------------------------------------------------------------------------------------ */

/* Each queue is one: a backlog of one that nobody asks for costs the others nothing. */
static uint32_t worker_lane(Executor *executor, Str runner)
{
    WorkerExecutor *pool = (WorkerExecutor *)executor;
    uint32_t queue = worker_queue_find(pool, worker_queue_name(pool, runner));
    return queue < pool->queue_count ? queue : 0;
}

/* Which queues nobody asks for any more, or nobody has since the start: those that wait there are looked at again, to say so. How long until
 * the next may be one of them; INT64_MAX: none by itself. */
static int64_t queues_look(WorkerExecutor *pool)
{
    int64_t next = INT64_MAX;
    uint64_t gone = 0;
    for (uint32_t i = 0; i < pool->queue_count; i++) {
        uint64_t bit = UINT64_C(1) << i;
        bool is_asked = pool->asked & bit || pool->wanting[i].first;
        if (is_asked || !pool->heard_ms[i]) pool->heard_ms[i] = pool->steady_ms;
        if (is_asked) pool->forsaken &= ~bit, pool->known |= bit;
        if (pool->forsaken & bit) continue;
        int64_t left = pool->heard_ms[i] + (pool->known & bit ? pool->base.lease_ms : WORKER_AWAY_MS) - pool->steady_ms;
        if (left <= 0) gone |= bit;
        else if (left < next) next = left;
    }
    pool->asked = 0;
    pool->forsaken |= gone;
    if (gone) worker_send(pool, &(Notice){ .kind = NOTICE_ROOM, .value = value_null(), .lanes = gone });
    return next;
}

static void worker_turn(Executor *executor, int64_t steady_ms)
{
    WorkerExecutor *pool = (WorkerExecutor *)executor;
    uint64_t rung;
    if (read(pool->timer_fd, &rung, sizeof rung) < 0) rung = 0;     /* it had not rung */
    pool->is_awake = false;
    if (steady_ms > pool->steady_ms) pool->steady_ms = steady_ms;
    pending_send(pool);
    if (pool->steady_ms - pool->looked_ms >= TICK_MS) {
        pool->looked_ms = pool->steady_ms;
        worker_leases_look(pool);
    }
    int64_t next = queues_look(pool), due = worker_exchanges_look(pool);
    if ((pool->lease_count || pool->pending) && next > TICK_MS) next = TICK_MS;
    if (due < next) next = due;
    if (next != INT64_MAX) worker_wake_after(pool, pool->pending ? 2 : next);
}

static int worker_wake_fd(Executor *executor)
{
    return ((WorkerExecutor *)executor)->timer_fd;
}

/* Whoever waits is told that there is nothing; workers go on with what they have, and report to the next owner. */
static void worker_close(Executor *executor)
{
    WorkerExecutor *pool = (WorkerExecutor *)executor;
    while (pool->exchanges.first) worker_exchange_answer(pool, pool->exchanges.first->exchange);
    heap_deinit(&pool->times);
    for (uint32_t i = 0; i < pool->leases.capacity; i++)
        if (pool->leases.slots[i].number) worker_lease_free(pool->leases.slots[i].item);
    run_index_deinit(&pool->leases);
    run_index_deinit(&pool->cancels);
    for (Pending *pending; (pending = pool->pending);) {
        pool->pending = pending->next;
        arena_deinit(&pending->arena);
        free(pending);
    }
    close(pool->timer_fd);
    free(pool);
}
