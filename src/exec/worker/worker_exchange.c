/* worker_exchange.c - exchanges: what workers say and want, until each is answered. */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "engine/attempt.h"
#include "engine/message.h"
#include "exec/worker/exchange.h"
#include "exec/worker/worker_parts.h"
#include "value/json.h"

static const char not_under_way[] = "the attempt is not under way any more";

/* --- who gets what ------------------------------------------------------------------------------------------------------- */

static bool has_queue(uint64_t queues, uint32_t queue) { return queue < WORKER_QUEUE_COUNT_MAX && queues >> queue & 1; }

static bool is_for(const Exchange *exchange, uint32_t queue, Str tenant)
{
    return exchange->want_left && has_queue(exchange->queues, queue)
        && (!exchange->tenant.len || str_is(exchange->tenant, tenant));
}

/* The trust domain of a worker is its tenant: of another one's attempts it may say nothing. A lease that this executor does not know (NULL)
 * is of an earlier owner of the log, or of nobody: the engine decides. */
static bool may_speak(const Exchange *exchange, const Lease *lease)
{
    return !lease || !exchange->tenant.len || str_is(exchange->tenant, lease->tenant);
}

static void lease_grant(WorkerExecutor *pool, Exchange *exchange, Lease *lease)
{
    Arena *arena = &exchange->arena;
    Value work = value_null();
    Error err;
    CHECK(json_parse(arena, (Str){ lease->document, lease->document_size }, &work, &err) == OK);     /* we printed it */
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("token"), worker_lease_token(pool, arena, lease));
    member_list_add(&members, STR("queue"), value_string(pool->queues[lease->queue]));
    member_list_add(&members, STR("runner"), value_string(arena_copy(arena, lease->runner)));
    member_list_add(&members, STR("tenant"), value_string(arena_copy(arena, lease->tenant)));
    member_list_add(&members, STR("lease_ms"), value_int(pool->base.lease_ms));
    for (uint32_t i = 0; i < work.count; i++) member_list_add(&members, value_text(work.members[i].key), work.members[i].value);
    value_list_add(&exchange->leases, member_list_object(&members));
    lease->state = LEASE_HELD;
    lease->heard_ms = pool->steady_ms;
    lease->worker_size = exchange->worker.len;
    memcpy(lease->worker, exchange->worker.ptr, exchange->worker.len);
    free(lease->document);
    lease->document = NULL;
    worker_exchange_want(pool, exchange, exchange->want_left - 1);
}

bool worker_lease_offer(WorkerExecutor *pool, Lease *lease)
{
    for (Tie *tie = pool->wanting[lease->queue].first; tie; tie = tie->next)
        if (is_for(tie->exchange, lease->queue, lease->tenant)) {
            lease_grant(pool, tie->exchange, lease);
            return true;
        }
    return false;
}

static void waiting_offer(WorkerExecutor *pool, Exchange *exchange)
{
    for (Lease *lease = pool->waiting, *next; lease && exchange->want_left; lease = next) {
        next = lease->next;
        if (!is_for(exchange, lease->queue, lease->tenant)) continue;
        worker_waiting_remove(pool, lease);
        lease_grant(pool, exchange, lease);
    }
}

bool worker_has_room(Executor *executor, Str tenant, Str runner, uint32_t taken)
{
    const WorkerExecutor *pool = (const WorkerExecutor *)executor;
    uint32_t queue = worker_queue_find(pool, worker_queue_name(pool, runner)), wanted = 0;
    uint32_t promised = taken > pool->lease_count ? taken - pool->lease_count : 0;     /* decided, and on their way */
    for (const Tie *tie = queue < pool->queue_count ? pool->wanting[queue].first : NULL; tie && wanted <= promised; tie = tie->next)
        if (is_for(tie->exchange, queue, tenant)) wanted += tie->exchange->want_left;
    return wanted > promised;
}

bool worker_is_served(Executor *executor, Str runner)
{
    const WorkerExecutor *pool = (const WorkerExecutor *)executor;
    return !has_queue(pool->forsaken & ~pool->asked, worker_queue_find(pool, worker_queue_name(pool, runner)));
}

/* --- what is durable ----------------------------------------------------------------------------------------------------- */

/* The first that is open: what an attempt says is decided in its order. A report that was said again meanwhile is the same one. */
static void item_close(WorkerExecutor *pool, const AttemptId *id, bool is_report, bool is_taken)
{
    for (Tie *tie = pool->open.first, *next; tie; tie = next) {
        Exchange *exchange = tie->exchange;
        next = tie->next;
        for (uint32_t i = 0; i < exchange->item_count; i++) {
            Item *item = &exchange->items[i];
            if (!item->is_open || item->receipt || item->is_report != is_report || !attempt_id_is(&item->id, id)) continue;
            item->is_open = false;
            item->is_taken = is_taken;
            item->refusal = is_report ? not_under_way : "the attempt is not under way any more, or has announced no effect";
            worker_exchange_open(pool, exchange, false);
            if (!is_report) return;
        }
    }
}

void worker_acknowledge(Executor *executor, const AttemptId *id)
{
    item_close((WorkerExecutor *)executor, id, /* is_report= */ false, /* is_taken= */ true);
}

void worker_refuse(Executor *executor, const AttemptId *id)
{
    item_close((WorkerExecutor *)executor, id, /* is_report= */ false, /* is_taken= */ false);
}

void worker_settled(Executor *executor, const AttemptId *id, bool is_taken)
{
    WorkerExecutor *pool = (WorkerExecutor *)executor;
    Lease *lease = worker_lease_find(pool, id);
    if (lease && lease->state == LEASE_REPORTED) worker_lease_keep(pool, lease, is_taken && !lease->is_lost ? LEASE_TAKEN : LEASE_REFUSED);
    item_close(pool, id, /* is_report= */ true, is_taken);
}

void worker_received(Executor *executor, uint64_t receipt, bool is_taken)
{
    WorkerExecutor *pool = (WorkerExecutor *)executor;
    for (Tie *tie = pool->open.first; tie; tie = tie->next) {
        Exchange *exchange = tie->exchange;
        for (uint32_t i = 0; i < exchange->item_count; i++) {
            Item *item = &exchange->items[i];
            if (!item->is_open || item->receipt != receipt) continue;
            item->is_open = false;
            if (!is_taken) value_list_add(&exchange->ended, value_string(item->token));
            worker_exchange_open(pool, exchange, false);
            return;
        }
    }
}

/* --- what a request says ------------------------------------------------------------------------------------------------- */

/* Which attempt a token is of, where it was given out here, in a queue that the credential is for, for its tenant. Any other is to whoever
 * names it one that is not under way, be it guessed or another's. */
static bool token_open(WorkerExecutor *pool, const Exchange *exchange, Str text, AttemptId *out_id)
{
    Token token;
    CHECK(token_read(text, &token));                        /* the request was checked */
    uint32_t queue = 0;
    while (queue < pool->queue_count && pool->queue_tags[queue] != token.queue) queue++;
    bool is_permitted = !exchange->is_limited || (queue < pool->queue_count && has_queue(exchange->permitted, queue));
    bool is_its_own = token_is_genuine(&pool->tokens, &token) && is_permitted && may_speak(exchange, worker_lease_find(pool, &token.id));
    pool->base.token_refused_count += !is_its_own;
    *out_id = token.id;
    return is_its_own;
}

static void item_add(WorkerExecutor *pool, Exchange *exchange, Item item)
{
    exchange->items[exchange->item_count++] = item;
    if (item.is_open) worker_exchange_open(pool, exchange, true);
}

/* A token that this executor does not know is of an earlier owner of the log, or of nobody: the core decides. */
static void report_take(WorkerExecutor *pool, Exchange *exchange, Value said)
{
    Report report;
    Error err;
    Item item = { .is_report = true, .token = arena_copy(&exchange->arena, exchange_token(said)), .refusal = not_under_way };
    bool is_its_own = token_open(pool, exchange, item.token, &item.id);
    Lease *lease = is_its_own ? worker_lease_find(pool, &item.id) : NULL;
    CHECK(message_report(said, &report, &err) == OK);       /* it was checked */
    if (!is_its_own) {
        item_add(pool, exchange, item);
        return;
    }
    if (lease && lease->state > LEASE_REPORTED) {
        item.is_taken = lease->state == LEASE_TAKEN;
        item_add(pool, exchange, item);
        return;
    }
    item.is_open = true;
    item_add(pool, exchange, item);
    if (lease && lease->state == LEASE_REPORTED) return;        /* said twice: both are answered by the one */
    if (lease) worker_lease_report(pool, lease, &report);
    else worker_send(pool, &(Notice){ .kind = NOTICE_REPORT, .id = item.id, .report = report, .value = value_null(), .tenant = exchange->tenant });
}

/* An attempt that this executor has. Whatever its worker says renews its lease; the core's with it. */
static void hear(WorkerExecutor *pool, const AttemptId *id)
{
    Lease *lease = worker_lease_find(pool, id);
    if (lease) pool->asked |= UINT64_C(1) << lease->queue;
    if (lease && !lease->is_ended) lease->heard_ms = pool->steady_ms;     /* who does not end when told loses its lease */
}

/* Who is alive with something that nobody wants from him is told so by the same answer, whatever the reason: the attempt ended, is to end,
 * is another's, or there never was one. Of a lease that is not this process's the engine knows. */
static void heartbeat_take(WorkerExecutor *pool, Exchange *exchange, Str text)
{
    Item item = { .token = arena_copy(&exchange->arena, text) };
    bool is_its_own = token_open(pool, exchange, text, &item.id);
    Lease *lease = is_its_own ? worker_lease_find(pool, &item.id) : NULL;
    if (lease && lease->is_lost) worker_cancel_remove(pool, lease);
    if (!is_its_own || (lease && (lease->is_lost || lease->state > LEASE_REPORTED))) {
        value_list_add(&exchange->ended, value_string(item.token));
        return;
    }
    hear(pool, &item.id);
    if (!lease) item.receipt = ++pool->receipt;
    item.is_open = item.receipt != 0;
    if (item.is_open) item_add(pool, exchange, item);             /* first: it may be answered while it is sent */
    worker_send(pool, &(Notice){ .kind = NOTICE_HEARTBEAT, .id = item.id, .value = value_null(),
                                 .tenant = exchange->tenant, .receipt = item.receipt });
}

static void log_take(WorkerExecutor *pool, const Exchange *exchange, Value said)
{
    AttemptId id;
    if (!token_open(pool, exchange, exchange_token(said), &id)) return;
    worker_send(pool, &(Notice){ .kind = NOTICE_LOG, .id = id, .tenant = exchange->tenant, .text = value_get_string(said, "text", STR("")),
                          .is_error = value_get_bool(said, "is_error", false), .value = value_null() });
}

static void message_take(WorkerExecutor *pool, Exchange *exchange, Value said)
{
    Notice notice = { .value = value_null() };
    AttemptId id;
    Error err;
    Str token = exchange_token(said);
    CHECK(message_of(*value_get_text(said, "message"), &notice, &err) == OK);              /* it was checked */
    if (notice.kind == NOTICE_HEARTBEAT) {
        heartbeat_take(pool, exchange, token);
        return;
    }
    bool is_its_own = token_open(pool, exchange, token, &id);
    const Lease *lease = is_its_own ? worker_lease_find(pool, &id) : NULL;
    notice.id = id;
    notice.tenant = exchange->tenant;
    if (is_its_own) {
        hear(pool, &id);
        is_its_own = lease ? lease->state <= LEASE_HELD : notice.kind != NOTICE_PROGRESS;
    }
    if (notice.kind == NOTICE_EFFECT)
        item_add(pool, exchange, (Item){ .id = id, .token = arena_copy(&exchange->arena, token), .is_open = is_its_own, .refusal = not_under_way });
    if (is_its_own) worker_send(pool, &notice);
}

/* What an attempt said before its report is passed on before it. */
static void take_all(WorkerExecutor *pool, Exchange *exchange, Value request)
{
    const Value *logs = exchange_list(request, "logs"), *messages = exchange_list(request, "messages");
    const Value *reports = exchange_list(request, "reports"), *beats = exchange_list(request, "heartbeats");
    for (uint32_t i = 0; beats && i < beats->count; i++) heartbeat_take(pool, exchange, value_text(beats->items[i]));
    for (uint32_t i = 0; logs && i < logs->count; i++) log_take(pool, exchange, logs->items[i]);
    for (uint32_t i = 0; messages && i < messages->count; i++) message_take(pool, exchange, messages->items[i]);
    for (uint32_t i = 0; reports && i < reports->count; i++) report_take(pool, exchange, reports->items[i]);
}

static uint64_t queues_permitted(const WorkerExecutor *pool, const WorkerCredential *credential)
{
    uint64_t permitted = 0;
    for (uint32_t i = 0; i < pool->queue_count; i++)
        if (credential->queues.kind != VALUE_ARRAY || exchange_list_has(credential->queues, pool->queues[i])) permitted |= UINT64_C(1) << i;
    return permitted;
}

/* Those it asks for, of those that the executor has and the credential permits. */
static Status queues_read(const WorkerExecutor *pool, const WorkerCredential *credential, Value request, uint64_t *out, Error *err)
{
    const Value *asked = exchange_list(request, "queues");
    bool is_limited = credential->queues.kind == VALUE_ARRAY;
    *out = asked ? 0 : queues_permitted(pool, credential);
    for (uint32_t i = 0; asked && i < asked->count; i++) {
        Str name = value_text(asked->items[i]);
        uint32_t queue = worker_queue_find(pool, name);
        if (is_limited && !exchange_list_has(credential->queues, name))
            return error_set(err, ERR_DENIED, "this credential does not permit the queue '%.*s'", STR_ARG(name));
        if (queue == pool->queue_count)
            return error_set(err, ERR_NOT_FOUND, "the executor '%.*s' has no queue '%.*s'", STR_ARG(pool->base.name), STR_ARG(name));
        *out |= UINT64_C(1) << queue;
    }
    return OK;
}

/* --- answers ------------------------------------------------------------------------------------------------------------- */

static Value results_of(Exchange *exchange)
{
    ValueList list = { .arena = &exchange->arena };
    for (uint32_t i = 0; i < exchange->item_count; i++) {
        const Item *item = &exchange->items[i];
        if (item->receipt) continue;
        MemberList members = { .arena = &exchange->arena };
        const char *state = item->is_open ? "unknown" : item->is_taken ? "accepted" : "refused";
        member_list_add(&members, STR("token"), value_string(item->token));
        member_list_add(&members, STR("of"), value_string(item->is_report ? STR("report") : STR("effect")));
        member_list_add(&members, STR("result"), value_string(str_of(state)));
        if (!item->is_open && !item->is_taken) member_list_add(&members, STR("reason"), value_string(str_of(item->refusal)));
        value_list_add(&list, member_list_object(&members));
    }
    return value_list_array(&list);
}

static Value cancels_of(WorkerExecutor *pool, Exchange *exchange)
{
    ValueList list = exchange->ended;
    for (Lease *lease = worker_cancel_first(pool, exchange), *next; lease; lease = next) {
        next = worker_cancel_of(lease->cancel_next, exchange->worker);
        worker_cancel_remove(pool, lease);
        value_list_add(&list, worker_lease_token(pool, &exchange->arena, lease));
    }
    return value_list_array(&list);
}

void worker_exchange_answer(WorkerExecutor *pool, Exchange *exchange)
{
    MemberList members = { .arena = &exchange->arena };
    member_list_add(&members, STR("results"), results_of(exchange));
    member_list_add(&members, STR("leases"), value_list_array(&exchange->leases));
    member_list_add(&members, STR("cancels"), cancels_of(pool, exchange));
    exchange->done(exchange->context, member_list_object(&members));
    worker_exchange_leave(pool, exchange);
    arena_deinit(&exchange->arena);
    free(exchange);
}

bool worker_exchange_is_ready(const WorkerExecutor *pool, const Exchange *exchange)
{
    if (exchange->open_count && pool->steady_ms < exchange->settle_ms) return false;
    return !exchange->want_left || exchange->leases.count || pool->steady_ms >= exchange->due_ms || worker_cancel_first(pool, exchange);
}

/* Of the same worker an older one that waits is answered: its connection may be gone, and nobody would know. */
static void answer_older(WorkerExecutor *pool, Str worker)
{
    uint64_t hash = worker_hash(worker);
    for (Exchange *exchange; (exchange = worker_exchange_that_wants(pool, hash, worker));) {
        worker_exchange_want(pool, exchange, 0);
        if (!exchange->open_count) worker_exchange_answer(pool, exchange);
    }
}

Status worker_exchange(Executor *executor, const WorkerCredential *credential, Value request, WorkerDone done, void *context, Error *err)
{
    WorkerExecutor *pool = (WorkerExecutor *)executor;
    uint64_t queues;
    Status status = exchange_check(request, err);
    if (!status) status = queues_read(pool, credential, request, &queues, err);
    if (status) return status;
    if (!credential->worker.len || credential->worker.len > WORKER_NAME_SIZE_MAX)
        return error_set(err, ERR_INVALID, "a worker has a name of 1 to %u bytes", WORKER_NAME_SIZE_MAX);
    if (pool->exchange_count >= WORKER_EXCHANGE_COUNT_MAX)
        return error_set(err, ERR_UNAVAILABLE, "%u exchanges wait at '%.*s' already: try again later",
                         WORKER_EXCHANGE_COUNT_MAX, STR_ARG(pool->base.name));
    int64_t want = value_get_int(request, "want", 0), wait_ms = value_get_int(request, "wait_ms", 0);
    if (want > WORKER_ITEM_COUNT_MAX) want = WORKER_ITEM_COUNT_MAX;
    if (wait_ms > WORKER_WAIT_MS_MAX) wait_ms = WORKER_WAIT_MS_MAX;
    if (want) answer_older(pool, credential->worker);
    Exchange *exchange = calloc(1, sizeof *exchange);
    CHECK(exchange);
    arena_init(&exchange->arena, SIZE_MAX);
    exchange->worker = arena_copy(&exchange->arena, credential->worker);
    exchange->worker_hash = worker_hash(exchange->worker);
    exchange->tenant = arena_copy(&exchange->arena, credential->tenant);
    exchange->queues = queues;
    exchange->permitted = queues_permitted(pool, credential);
    exchange->is_limited = credential->queues.kind == VALUE_ARRAY;
    exchange->wait_ms = wait_ms;
    exchange->leases = exchange->ended = (ValueList){ .arena = &exchange->arena };
    uint32_t said_count = exchange_item_count(request, "reports") + exchange_item_count(request, "messages")
                        + exchange_item_count(request, "heartbeats");
    exchange->items = ARENA_ARRAY(&exchange->arena, Item, said_count + 1u);
    exchange->done = done;
    exchange->context = context;
    worker_exchange_join(pool, exchange);
    worker_exchange_want(pool, exchange, (uint32_t)want);
    take_all(pool, exchange, request);
    waiting_offer(pool, exchange);
    if (exchange->want_left)
        worker_send(pool, &(Notice){ .kind = NOTICE_ROOM, .value = value_null(), .number = exchange->want_left,
                                     .lanes = queues, .tenant = exchange->tenant });
    return OK;
}

void worker_exchange_withdraw(Executor *executor, const void *context)
{
    WorkerExecutor *pool = (WorkerExecutor *)executor;
    Exchange *exchange = worker_exchange_of(pool, context);
    if (exchange) worker_exchange_want(pool, exchange, 0);
}

void worker_exchange_give_back(Executor *executor, Value answer)
{
    WorkerExecutor *pool = (WorkerExecutor *)executor;
    const Value *leases = exchange_list(answer, "leases"), *cancels = exchange_list(answer, "cancels");
    Token token;
    for (uint32_t i = 0; cancels && i < cancels->count; i++) {
        Lease *lease = token_read(value_text(cancels->items[i]), &token) ? worker_lease_find(pool, &token.id) : NULL;
        if (lease && lease->is_ended && (lease->state == LEASE_HELD || lease->is_lost)) worker_cancel_add(pool, lease);
    }
    for (uint32_t i = 0; leases && i < leases->count; i++) {
        Value granted = leases->items[i];
        Lease *lease = token_read(exchange_token(granted), &token) ? worker_lease_find(pool, &token.id) : NULL;
        if (!lease || lease->state != LEASE_HELD) continue;
        if (lease->is_ended) worker_lease_cancel(pool, lease, CAUSE_CANCELLED, STR("it was ended before a worker had it"));
        else worker_lease_wait_again(pool, lease, granted);
    }
}
