/* worker_wait.c - exchanges that wait, kept so that nobody looks at all of them: thousands of workers wait for one that has work.
 *
 * Each is in a list for whatever it may be found by. What changes one stirs it, and a turn looks at those that were stirred, and at those
 * whose time has come, alone.
 */
#include "exec/worker/worker_parts.h"

#define SETTLE_MS_MAX 10000             /* how long an exchange waits for what it said to be durable */

/* --- lists ---------------------------------------------------------------------------------------------------------------- */

static void tie_add(TieList *list, Tie *tie, Exchange *exchange)
{
    *tie = (Tie){ .exchange = exchange, .previous = list->last };
    *(list->last ? &list->last->next : &list->first) = tie;
    list->last = tie;
}

/* Nothing where it is in none. */
static void tie_remove(TieList *list, Tie *tie)
{
    if (!tie->exchange) return;
    *(tie->previous ? &tie->previous->next : &list->first) = tie->next;
    *(tie->next ? &tie->next->previous : &list->last) = tie->previous;
    *tie = (Tie){ 0 };
}

static TieList *list_of_worker(WorkerExecutor *pool, uint64_t hash) { return &pool->of_workers[hash % WORKER_BUCKET_COUNT]; }

/* Addresses are alike in their lowest bits. */
static TieList *list_of_context(WorkerExecutor *pool, const void *context)
{
    return &pool->of_contexts[((uintptr_t)context * UINT64_C(0x9e3779b97f4a7c15) >> 32) % WORKER_BUCKET_COUNT];
}

/* --- what changes ----------------------------------------------------------------------------------------------------------- */

void worker_exchange_stir(WorkerExecutor *pool, Exchange *exchange)
{
    if (!exchange->stirred.exchange) tie_add(&pool->stirred, &exchange->stirred, exchange);
    worker_wake_after(pool, 0);
}

void worker_exchange_open(WorkerExecutor *pool, Exchange *exchange, bool is_open)
{
    exchange->open_count += is_open ? 1u : UINT32_MAX;
    if (is_open && exchange->open_count == 1) tie_add(&pool->open, &exchange->open, exchange);
    else if (!exchange->open_count) tie_remove(&pool->open, &exchange->open);
    worker_exchange_stir(pool, exchange);
}

static void set_want(WorkerExecutor *pool, Exchange *exchange, uint32_t want)
{
    bool wants = want > 0, wanted = exchange->want_left > 0;
    exchange->want_left = want;
    if (wants == wanted) return;
    pool->asked |= exchange->queues;            /* until now */
    for (uint32_t i = 0, at = 0; i < pool->queue_count; i++) {
        if (!(exchange->queues >> i & 1)) continue;
        if (wants) tie_add(&pool->wanting[i], &exchange->wanting[at++], exchange);
        else tie_remove(&pool->wanting[i], &exchange->wanting[at++]);
    }
}

void worker_exchange_want(WorkerExecutor *pool, Exchange *exchange, uint32_t want)
{
    set_want(pool, exchange, want);
    worker_exchange_stir(pool, exchange);
}

void worker_cancels_stir(WorkerExecutor *pool, uint64_t hash)
{
    for (Tie *tie = list_of_worker(pool, hash)->first; tie; tie = tie->next)
        if (tie->exchange->worker_hash == hash) worker_exchange_stir(pool, tie->exchange);
}

/* --- to begin and end to wait ------------------------------------------------------------------------------------------------- */

void worker_exchange_join(WorkerExecutor *pool, Exchange *exchange)
{
    uint32_t count = 0;
    for (uint64_t left = exchange->queues; left; left &= left - 1) count++;
    exchange->wanting = ARENA_ARRAY(&exchange->arena, Tie, count + 1u);
    exchange->slot = pool->spare_count ? pool->spares[--pool->spare_count] : pool->exchange_count;
    pool->slots[exchange->slot] = exchange;
    pool->exchange_count++;
    tie_add(&pool->exchanges, &exchange->all, exchange);
    tie_add(list_of_worker(pool, exchange->worker_hash), &exchange->of_worker, exchange);
    tie_add(list_of_context(pool, exchange->context), &exchange->of_context, exchange);
    pool->asked |= exchange->queues;
}

void worker_exchange_leave(WorkerExecutor *pool, Exchange *exchange)
{
    set_want(pool, exchange, 0);
    tie_remove(&pool->open, &exchange->open);
    tie_remove(&pool->stirred, &exchange->stirred);
    tie_remove(&pool->exchanges, &exchange->all);
    tie_remove(list_of_worker(pool, exchange->worker_hash), &exchange->of_worker);
    tie_remove(list_of_context(pool, exchange->context), &exchange->of_context);
    (void)heap_remove(&pool->times, exchange->slot);
    pool->slots[exchange->slot] = NULL;
    pool->spares[pool->spare_count++] = exchange->slot;
    pool->exchange_count--;
}

Exchange *worker_exchange_that_wants(WorkerExecutor *pool, uint64_t hash, Str worker)
{
    for (Tie *tie = list_of_worker(pool, hash)->first; tie; tie = tie->next)
        if (tie->exchange->want_left && str_is(tie->exchange->worker, worker)) return tie->exchange;
    return NULL;
}

Exchange *worker_exchange_of(WorkerExecutor *pool, const void *context)
{
    Tie *tie = list_of_context(pool, context)->first;
    while (tie && tie->exchange->context != context) tie = tie->next;
    return tie ? tie->exchange : NULL;
}

/* --- turns ---------------------------------------------------------------------------------------------------------------------- */

/* When it has to be looked at though nothing changes. */
static int64_t time_of(const WorkerExecutor *pool, const Exchange *exchange)
{
    bool is_settling = exchange->open_count && pool->steady_ms < exchange->settle_ms;
    return is_settling ? exchange->settle_ms : exchange->due_ms;
}

static void look(WorkerExecutor *pool, Exchange *exchange)
{
    if (!exchange->due_ms) {
        exchange->due_ms = pool->steady_ms + exchange->wait_ms;
        exchange->settle_ms = pool->steady_ms + SETTLE_MS_MAX;
    }
    if (worker_exchange_is_ready(pool, exchange)) worker_exchange_answer(pool, exchange);
    else heap_put(&pool->times, exchange->slot, time_of(pool, exchange));
}

int64_t worker_exchanges_look(WorkerExecutor *pool)
{
    HeapItem first;
    for (Tie *tie; (tie = pool->stirred.first);) {
        Exchange *exchange = tie->exchange;
        tie_remove(&pool->stirred, tie);
        look(pool, exchange);
    }
    while (heap_peek(&pool->times, &first) && first.due <= pool->steady_ms) {
        (void)heap_remove(&pool->times, first.slot);
        look(pool, pool->slots[first.slot]);
    }
    return heap_peek(&pool->times, &first) ? first.due - pool->steady_ms : INT64_MAX;
}
