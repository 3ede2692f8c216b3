/* worker_lease.c - leases: attempts of this executor, from the engine to a worker, and until their answer is forgotten. */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "engine/attempt.h"
#include "exec/worker/worker_parts.h"
#include "value/json.h"

#define KEPT_COUNT_MAX 4096u            /* reports whose answer is remembered */
#define GRACE_MS 2000                   /* the core notices that a lease ran out, and says so: what it does not speak of ends so much later */

/* --- leases -------------------------------------------------------------------------------------------------------------- */

Lease *worker_lease_find(const WorkerExecutor *pool, const AttemptId *id)
{
    Lease *lease = run_index_find(&pool->leases, token_hash(id));
    return lease && attempt_id_is(&lease->id, id) ? lease : NULL;
}

void worker_lease_free(Lease *lease)
{
    free(lease->document);
    free(lease);
}

/* --- what workers are to end, until they are told: who waits asks for his own at every turn ------------------------------ */

static Str lease_worker(const Lease *lease) { return (Str){ lease->worker, lease->worker_size }; }

uint64_t worker_hash(Str worker) { return hash_key(hash_text(HASH_SEED, worker)); }

void worker_cancel_add(WorkerExecutor *pool, Lease *lease)
{
    if (lease->is_untold) return;
    uint64_t hash = worker_hash(lease_worker(lease));
    lease->is_untold = true;
    lease->cancel_previous = NULL;
    lease->cancel_next = run_index_find(&pool->cancels, hash);
    if (lease->cancel_next) lease->cancel_next->cancel_previous = lease;
    run_index_put(&pool->cancels, hash, lease);
    worker_cancels_stir(pool, hash);                               /* an exchange that waits is answered, and tells its worker */
}

void worker_cancel_remove(WorkerExecutor *pool, Lease *lease)
{
    if (!lease->is_untold) return;
    lease->is_untold = false;
    if (lease->cancel_next) lease->cancel_next->cancel_previous = lease->cancel_previous;
    if (lease->cancel_previous) lease->cancel_previous->cancel_next = lease->cancel_next;
    else if (lease->cancel_next) run_index_put(&pool->cancels, worker_hash(lease_worker(lease)), lease->cancel_next);
    else run_index_remove(&pool->cancels, worker_hash(lease_worker(lease)));
}

/* The next that a worker is to be told of, from `lease` on: those of one hash share a list. */
Lease *worker_cancel_of(Lease *lease, Str worker)
{
    while (lease && !str_is(lease_worker(lease), worker)) lease = lease->cancel_next;
    return lease;
}

Lease *worker_cancel_first(const WorkerExecutor *pool, const Exchange *exchange)
{
    return pool->cancels.count ? worker_cancel_of(run_index_find(&pool->cancels, exchange->worker_hash), exchange->worker) : NULL;
}

/* --- the life of a lease ------------------------------------------------------------------------------------------------- */

static void lease_forget(WorkerExecutor *pool, Lease *lease)
{
    worker_cancel_remove(pool, lease);
    run_index_remove(&pool->leases, token_hash(&lease->id));
    worker_lease_free(lease);
}

static void waiting_add(WorkerExecutor *pool, Lease *lease)
{
    lease->next = NULL;
    *(pool->waiting_last ? &pool->waiting_last->next : &pool->waiting) = lease;
    pool->waiting_last = lease;
}

void worker_waiting_remove(WorkerExecutor *pool, const Lease *lease)
{
    Lease **place = &pool->waiting, *before = NULL;
    while (*place && *place != lease) before = *place, place = &before->next;
    if (!*place) return;
    *place = lease->next;
    if (pool->waiting_last == lease) pool->waiting_last = before;
}

/* It does not take a place any more. */
static void lease_leave(WorkerExecutor *pool)
{
    pool->lease_count--;
    if (pool->has_refused) worker_send(pool, &(Notice){ .kind = NOTICE_ROOM, .value = value_null() });
    pool->has_refused = false;
}

/* The report is on its way: whatever its worker says from now on is too late. */
void worker_lease_report(WorkerExecutor *pool, Lease *lease, const Report *report)
{
    if (lease->state == LEASE_WAITS) worker_waiting_remove(pool, lease);
    worker_cancel_remove(pool, lease);
    lease->state = LEASE_REPORTED;
    lease_leave(pool);
    worker_send(pool, &(Notice){ .kind = NOTICE_REPORT, .id = lease->id, .report = *report, .value = value_null() });
}

void worker_lease_cancel(WorkerExecutor *pool, Lease *lease, Cause cause, Str why)
{
    worker_lease_report(pool, lease, &(Report){ .cause = cause, .message = why, .output = value_null() });
}

/* Its answer is remembered, for a worker that did not get it and asks again. */
void worker_lease_keep(WorkerExecutor *pool, Lease *lease, LeaseState state)
{
    free(lease->document);
    lease->document = NULL;
    lease->state = (uint8_t)state;
    lease->next = NULL;
    *(pool->kept_last ? &pool->kept_last->next : &pool->kept) = lease;
    pool->kept_last = lease;
    if (++pool->kept_count <= KEPT_COUNT_MAX) return;
    Lease *oldest = pool->kept;
    pool->kept = oldest->next;
    pool->kept_count--;
    lease_forget(pool, oldest);
}

Value worker_lease_token(const WorkerExecutor *pool, Arena *arena, const Lease *lease)
{
    char text[TOKEN_SIZE_MAX];
    return value_string(arena_copy(arena, token_print(&pool->tokens, &lease->id, pool->queue_tags[lease->queue], text)));
}

static void document_keep(Lease *lease, const Buf *document)
{
    lease->document = malloc(document->len);
    CHECK(lease->document);
    memcpy(lease->document, document->ptr, document->len);
    lease->document_size = (uint32_t)document->len;
}

/* What the engine gave with the attempt stands in the lease that was to be sent. */
void worker_lease_wait_again(WorkerExecutor *pool, Lease *lease, Value granted)
{
    static const char *const members[] = { "definition", "effect_recorded", "args", "resources", "task" };
    Buf document;
    Error err;
    buf_init(&document, JSON_SIZE_MAX);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const Value *member = value_get_text(granted, members[i]);
        buf_format(&document, "%s\"%s\":", i ? "," : "{", members[i]);
        CHECK(member && json_print(&document, *member, JSON_COMPACT, &err) == OK);     /* we printed it */
    }
    buf_char(&document, '}');
    document_keep(lease, &document);
    buf_deinit(&document);
    lease->state = LEASE_WAITS;
    if (!worker_lease_offer(pool, lease)) waiting_add(pool, lease);
}

/* --- what the engine says ------------------------------------------------------------------------------------------------ */

static Str text_behind(char **at, Str text)
{
    memcpy(*at, text.ptr, text.len);
    *at += text.len;
    return (Str){ *at - text.len, text.len };
}

static Status document_print(Buf *buf, const Attempt *attempt, Error *err)
{
    buf_text(buf, "{\"definition\":");
    json_print_string(buf, attempt->definition);
    buf_format(buf, ",\"effect_recorded\":%s,\"args\":", attempt->is_effect_recorded ? "true" : "false");
    Status status = json_print(buf, attempt->args, JSON_COMPACT, err);
    buf_text(buf, ",\"resources\":");
    if (!status) status = json_print(buf, attempt->resources, JSON_COMPACT, err);
    buf_text(buf, ",\"task\":");
    if (!status) status = attempt_document(buf, attempt, err);
    buf_char(buf, '}');
    return status;
}

bool worker_execute(Executor *executor, const Attempt *attempt)
{
    WorkerExecutor *pool = (WorkerExecutor *)executor;
    if (pool->lease_count >= pool->base.capacity) {
        pool->has_refused = true;
        return false;
    }
    if (attempt->steady_ms > pool->steady_ms) pool->steady_ms = attempt->steady_ms;
    Str name = worker_queue_name(pool, attempt->runner);
    Lease *lease = calloc(1, sizeof *lease + attempt->tenant.len + attempt->runner.len);
    CHECK(lease);
    char *at = (char *)(lease + 1);
    lease->id = attempt->id;
    lease->queue = worker_queue_find(pool, name);
    lease->tenant = text_behind(&at, attempt->tenant);
    lease->runner = text_behind(&at, attempt->runner);
    lease->heard_ms = pool->steady_ms;
    run_index_put(&pool->leases, token_hash(&lease->id), lease);
    pool->lease_count++;
    Buf document;
    Error err;
    buf_init(&document, JSON_SIZE_MAX);
    Status status = document_print(&document, attempt, &err);
    if (!status && lease->queue == pool->queue_count)
        status = error_set(&err, ERR_NOT_FOUND, "the executor '%.*s' has no queue '%.*s'", STR_ARG(pool->base.name), STR_ARG(name));
    if (status) {
        worker_lease_cancel(pool, lease, CAUSE_PERMANENT, str_of(err.text));
    } else {
        document_keep(lease, &document);
        if (!worker_lease_offer(pool, lease)) waiting_add(pool, lease);
    }
    buf_deinit(&document);
    return true;
}

void worker_end(Executor *executor, const AttemptId *id)
{
    WorkerExecutor *pool = (WorkerExecutor *)executor;
    Lease *lease = worker_lease_find(pool, id);
    if (!lease || lease->state > LEASE_HELD) return;        /* whoever is alive with it is told at its next heartbeat, which the engine answers */
    if (lease->is_ended) return;
    lease->is_ended = true;
    if (lease->state == LEASE_WAITS) worker_lease_cancel(pool, lease, CAUSE_CANCELLED, STR("it was ended before a worker had it"));
    else worker_cancel_add(pool, lease);
}

/* Its worker may be alive: it is told to end it by whatever it asks next. */
void worker_lose(Executor *executor, const AttemptId *id)
{
    WorkerExecutor *pool = (WorkerExecutor *)executor;
    Lease *lease = worker_lease_find(pool, id);
    if (!lease || lease->state > LEASE_HELD) return;
    if (lease->state == LEASE_WAITS) worker_waiting_remove(pool, lease);
    else if (!lease->is_ended) worker_cancel_add(pool, lease);
    lease->is_ended = lease->is_lost = true;
    worker_lease_keep(pool, lease, LEASE_REFUSED);
    lease_leave(pool);
    worker_wake_after(pool, 0);
}

/* What workers have they report to the next owner; what none has yet goes back, and is offered anew then. */
uint32_t worker_drain(Executor *executor)
{
    WorkerExecutor *pool = (WorkerExecutor *)executor;
    pool->is_draining = true;
    while (pool->waiting) worker_lease_cancel(pool, pool->waiting, CAUSE_NOT_ACCEPTED, STR("the server ended before a worker had it"));
    return pool->lease_count;
}

/* --- time ---------------------------------------------------------------------------------------------------------------- */

void worker_keep(Executor *executor, int64_t steady_ms)
{
    WorkerExecutor *pool = (WorkerExecutor *)executor;
    pool->steady_ms = steady_ms;
    for (uint32_t i = 0; i < pool->leases.capacity; i++) {
        Lease *lease = pool->leases.slots[i].number ? pool->leases.slots[i].item : NULL;
        if (lease) lease->heard_ms = steady_ms;
    }
}

/* What no worker has yet is kept alive here; of a worker that is silent the lease is given up, after the core has done so. */
void worker_leases_look(WorkerExecutor *pool)
{
    int64_t lease_ms = pool->base.lease_ms;
    for (uint32_t i = 0; i < pool->leases.capacity; i++) {
        Lease *lease = pool->leases.slots[i].number ? pool->leases.slots[i].item : NULL;
        if (!lease || lease->state > LEASE_HELD) continue;
        if (lease->state == LEASE_WAITS && pool->steady_ms - lease->heard_ms >= lease_ms / 3) {
            lease->heard_ms = pool->steady_ms;
            worker_send(pool, &(Notice){ .kind = NOTICE_HEARTBEAT, .id = lease->id, .value = value_null() });
        } else if (lease->state == LEASE_HELD && !pool->is_draining && pool->steady_ms - lease->heard_ms >= lease_ms + GRACE_MS) {
            worker_lease_cancel(pool, lease, CAUSE_LEASE_EXPIRED, STR("its worker was not heard of until its lease ran out"));
            lease->is_lost = true;
        }
    }
}
