#include "exec/worker/worker.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/check.h"
#include "base/limits.h"
#include "engine/attempt.h"
#include "engine/message.h"
#include "engine/run_index.h"
#include "engine/token.h"
#include "exec/worker/exchange.h"
#include "value/json.h"

#define SETTLE_MS_MAX 10000             /* how long an exchange waits for what it said to be durable */
#define KEPT_COUNT_MAX 4096u            /* reports whose answer is remembered */
#define TICK_MS 1000                    /* leases are looked at so often */
#define GRACE_MS 2000                   /* the core notices that a lease ran out, and says so: what it does not speak of ends so much later */

static const char not_under_way[] = "the attempt is not under way any more";

typedef enum LeaseState {
    LEASE_WAITS,                        /* granted by the engine; no worker has it yet */
    LEASE_HELD,                         /* by a worker */
    LEASE_REPORTED,                     /* the engine was told; that is not durable yet */
    LEASE_TAKEN, LEASE_REFUSED,         /* the answer to its report, remembered for who sends it again */
} LeaseState;

/* An attempt that was given to this executor. */
typedef struct Lease {
    struct Lease *next;                 /* of those that wait for a worker; of those whose answer is remembered */
    struct Lease *cancel_next, *cancel_previous;            /* of those that their worker is to end and was not told so */
    AttemptId id;
    uint8_t state;                      /* a LeaseState */
    bool is_ended;                      /* its worker is to end it ... */
    bool is_untold;                     /* ... and was not told so */
    bool is_lost;                       /* given up for its worker's silence: whatever that one says is refused */
    int64_t heard_ms;                   /* when its worker last said anything */
    char *document;                     /* {"task", "definition", "args", "resources", "effect_recorded"}, JSON; NULL: a worker has it */
    uint32_t document_size;
    uint32_t queue;                     /* index */
    Str tenant, runner;                 /* behind the lease, in one allocation */
    char worker[WORKER_NAME_SIZE_MAX];
    size_t worker_size;
} Lease;

/* One thing that an exchange said and that is answered when it is durable; or a heartbeat, by its receipt: whether anybody wants it. */
typedef struct Item { AttemptId id; Str token; uint64_t receipt; bool is_report, is_open, is_taken; const char *refusal; } Item;

typedef struct Exchange {
    struct Exchange *next;
    Arena arena;
    Str worker, tenant;
    uint64_t worker_hash;
    uint64_t queues;                    /* that it wants work of: a bit for each */
    uint64_t permitted;                 /* that its credential is for, whatever it wants */
    bool is_limited;                    /* to these */
    uint32_t want_left;
    int64_t wait_ms;
    int64_t due_ms, settle_ms;          /* from the first turn that sees it: before, nobody knows the time; 0: not yet */
    Item *items;
    uint32_t item_count, open_count;
    ValueList leases;
    ValueList ended;                    /* of those tokens that it says are alive: which are of no attempt that is under way and its own */
    WorkerDone done;
    void *context;
} Exchange;

typedef struct Pending { struct Pending *next; Arena arena; Notice notice; } Pending;

typedef struct WorkerExecutor {
    Executor base;
    NoticeSink sink;
    TokenScope tokens;
    SealKey own_key;                    /* of the tokens, where nobody gave it one */
    Str queues[WORKER_QUEUE_COUNT_MAX];
    uint32_t queue_tags[WORKER_QUEUE_COUNT_MAX];            /* what tokens have in their place */
    uint32_t queue_count;
    RunIndex leases;                    /* by the hash of the id */
    uint32_t lease_count;               /* not reported yet */
    RunIndex cancels;                   /* those that their worker is to end and was not told so: a list for each hash of a worker */
    Lease *waiting, *waiting_last;
    Lease *kept, *kept_last;            /* the oldest first */
    uint32_t kept_count;
    Exchange *exchanges;                /* the oldest first */
    uint32_t exchange_count;
    uint64_t receipt;                   /* the last one that was given to a heartbeat */
    Pending *pending, *pending_last;    /* notices that the inbox had no room for */
    int64_t now_ms, looked_ms;
    bool has_refused;                   /* at its capacity: it says when there is room */
    bool is_awake;                      /* the timer rings already */
    bool is_draining;                   /* the process is about to end */
    int timer_fd;
    Value runners;
} WorkerExecutor;

static bool worker_execute(Executor *executor, const Attempt *attempt);
static void worker_end(Executor *executor, const AttemptId *id);
static void worker_lose(Executor *executor, const AttemptId *id);
static void worker_acknowledge(Executor *executor, const AttemptId *id);
static void worker_refuse(Executor *executor, const AttemptId *id);
static void worker_settled(Executor *executor, const AttemptId *id, bool is_taken);
static void worker_received(Executor *executor, uint64_t receipt, bool is_taken);
static bool worker_has_room(Executor *executor, Str tenant, Str runner, uint32_t taken);
static uint32_t worker_lane(Executor *executor, Str runner);
static uint32_t worker_drain(Executor *executor);
static void worker_turn(Executor *executor, int64_t now_ms);
static int  worker_wake_fd(Executor *executor);
static void worker_close(Executor *executor);
static const ExecutorOps worker_ops = {
    .execute = worker_execute, .end = worker_end, .lose = worker_lose, .acknowledge = worker_acknowledge, .refuse = worker_refuse, .settled = worker_settled,
    .received = worker_received, .has_room = worker_has_room, .lane = worker_lane, .drain = worker_drain, .turn = worker_turn, .wake_fd = worker_wake_fd, .close = worker_close,
};

bool executor_is_worker(const Executor *executor)
{
    return executor->ops == &worker_ops;
}

/* --- make ---------------------------------------------------------------------------------------------------------- */

static uint32_t queue_find(const WorkerExecutor *pool, Str name)
{
    uint32_t i = 0;
    while (i < pool->queue_count && !str_is(pool->queues[i], name)) i++;
    return i;
}

/* The queue of a runner: what runners.yaml says, else its own name. */
static Str queue_name(const WorkerExecutor *pool, Str runner)
{
    const Value *settings = pool->runners.kind == VALUE_OBJECT ? value_get(pool->runners, runner) : NULL;
    return settings ? value_get_string(*settings, "queue", runner) : runner;
}

Status worker_executor_open(const WorkerOptions *options, Executor **out_executor, Error *err)
{
    WorkerExecutor *pool = calloc(1, sizeof *pool);
    CHECK(pool);
    uint32_t capacity = options->capacity && options->capacity < WORKER_LEASE_COUNT_MAX ? options->capacity : WORKER_LEASE_COUNT_MAX;
    pool->base = (Executor){ .ops = &worker_ops, .name = options->name, .kind = STR("worker"), .is_outside = true, .answers_again = true, .capacity = capacity,
                             .lease_ms = options->lease_ms ? options->lease_ms : LEASE_MS_DEFAULT };
    pool->sink = options->sink;
    pool->runners = options->runners;
    if (!options->token_key) seal_key_make(&pool->own_key);
    pool->tokens = (TokenScope){ options->token_key ? options->token_key : &pool->own_key, options->name };
    for (uint32_t i = 0; i < options->runners.count && options->runners.kind == VALUE_OBJECT; i++) {
        Str queue = queue_name(pool, value_text(options->runners.members[i].key));
        if (queue_find(pool, queue) < pool->queue_count) continue;
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

static void wake_after(WorkerExecutor *pool, int64_t ms)
{
    if (!ms && pool->is_awake) return;
    pool->is_awake = !ms;
    struct itimerspec when = { .it_value = { ms / 1000, ms % 1000 * 1000000 + (ms ? 0 : 1) } };
    CHECK(timerfd_settime(pool->timer_fd, 0, &when, NULL) == 0);
}

/* --- notices -------------------------------------------------------------------------------------------------------- */

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
static void send(WorkerExecutor *pool, const Notice *notice)
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
    wake_after(pool, 1);
}

/* --- leases --------------------------------------------------------------------------------------------------------- */

static Lease *lease_find(const WorkerExecutor *pool, const AttemptId *id)
{
    Lease *lease = run_index_find(&pool->leases, token_hash(id));
    return lease && attempt_id_is(&lease->id, id) ? lease : NULL;
}

static void lease_free(Lease *lease)
{
    free(lease->document);
    free(lease);
}

/* --- what workers are to end, until they are told: who waits asks for his own at every turn -------------------------- */

static Str lease_worker(const Lease *lease) { return (Str){ lease->worker, lease->worker_size }; }

static uint64_t worker_hash(Str worker)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < worker.len; i++) hash = (hash ^ (uint8_t)worker.ptr[i]) * UINT64_C(0x100000001b3);
    return hash ? hash : 1;
}

static void cancel_add(WorkerExecutor *pool, Lease *lease)
{
    if (lease->is_untold) return;
    uint64_t hash = worker_hash(lease_worker(lease));
    lease->is_untold = true;
    lease->cancel_previous = NULL;
    lease->cancel_next = run_index_find(&pool->cancels, hash);
    if (lease->cancel_next) lease->cancel_next->cancel_previous = lease;
    run_index_put(&pool->cancels, hash, lease);
    wake_after(pool, 0);                                    /* an exchange that waits is answered, and tells its worker */
}

static void cancel_remove(WorkerExecutor *pool, Lease *lease)
{
    if (!lease->is_untold) return;
    lease->is_untold = false;
    if (lease->cancel_next) lease->cancel_next->cancel_previous = lease->cancel_previous;
    if (lease->cancel_previous) lease->cancel_previous->cancel_next = lease->cancel_next;
    else if (lease->cancel_next) run_index_put(&pool->cancels, worker_hash(lease_worker(lease)), lease->cancel_next);
    else run_index_remove(&pool->cancels, worker_hash(lease_worker(lease)));
}

/* The next that a worker is to be told of, from `lease` on: those of one hash share a list. */
static Lease *cancel_of(Lease *lease, Str worker)
{
    while (lease && !str_is(lease_worker(lease), worker)) lease = lease->cancel_next;
    return lease;
}

static Lease *cancel_first(const WorkerExecutor *pool, const Exchange *exchange)
{
    return pool->cancels.count ? cancel_of(run_index_find(&pool->cancels, exchange->worker_hash), exchange->worker) : NULL;
}

/* --- the life of a lease ---------------------------------------------------------------------------------------------- */

static void lease_forget(WorkerExecutor *pool, Lease *lease)
{
    cancel_remove(pool, lease);
    run_index_remove(&pool->leases, token_hash(&lease->id));
    lease_free(lease);
}

static void waiting_add(WorkerExecutor *pool, Lease *lease)
{
    lease->next = NULL;
    *(pool->waiting_last ? &pool->waiting_last->next : &pool->waiting) = lease;
    pool->waiting_last = lease;
}

static void waiting_remove(WorkerExecutor *pool, const Lease *lease)
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
    if (pool->has_refused) send(pool, &(Notice){ .kind = NOTICE_ROOM, .value = value_null() });
    pool->has_refused = false;
}

/* The report is on its way: whatever its worker says from now on is too late. */
static void lease_report(WorkerExecutor *pool, Lease *lease, const Report *report)
{
    if (lease->state == LEASE_WAITS) waiting_remove(pool, lease);
    cancel_remove(pool, lease);
    lease->state = LEASE_REPORTED;
    lease_leave(pool);
    send(pool, &(Notice){ .kind = NOTICE_REPORT, .id = lease->id, .report = *report, .value = value_null() });
}

static void lease_cancel(WorkerExecutor *pool, Lease *lease, Cause cause, Str why)
{
    lease_report(pool, lease, &(Report){ .cause = cause, .message = why, .output = value_null() });
}

/* Its answer is remembered, for a worker that did not get it and asks again. */
static void lease_keep(WorkerExecutor *pool, Lease *lease, LeaseState state)
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

/* --- exchanges: who gets what ----------------------------------------------------------------------------------------- */

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

static Value lease_token(const WorkerExecutor *pool, Arena *arena, const Lease *lease)
{
    char text[TOKEN_SIZE_MAX];
    return value_string(arena_copy(arena, token_print(&pool->tokens, &lease->id, pool->queue_tags[lease->queue], text)));
}

static void lease_grant(WorkerExecutor *pool, Exchange *exchange, Lease *lease)
{
    Arena *arena = &exchange->arena;
    Value work = value_null();
    Error err;
    CHECK(json_parse(arena, (Str){ lease->document, lease->document_size }, &work, &err) == OK);     /* we printed it */
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("token"), lease_token(pool, arena, lease));
    member_list_add(&members, STR("queue"), value_string(pool->queues[lease->queue]));
    member_list_add(&members, STR("runner"), value_string(arena_copy(arena, lease->runner)));
    member_list_add(&members, STR("tenant"), value_string(arena_copy(arena, lease->tenant)));
    member_list_add(&members, STR("lease_ms"), value_int(pool->base.lease_ms));
    for (uint32_t i = 0; i < work.count; i++) member_list_add(&members, value_text(work.members[i].key), work.members[i].value);
    value_list_add(&exchange->leases, member_list_object(&members));
    lease->state = LEASE_HELD;
    lease->heard_ms = pool->now_ms;
    lease->worker_size = exchange->worker.len;
    memcpy(lease->worker, exchange->worker.ptr, exchange->worker.len);
    free(lease->document);
    lease->document = NULL;
    exchange->want_left--;
    wake_after(pool, 0);
}

static bool lease_offer(WorkerExecutor *pool, Lease *lease)
{
    for (Exchange *exchange = pool->exchanges; exchange; exchange = exchange->next)
        if (is_for(exchange, lease->queue, lease->tenant)) {
            lease_grant(pool, exchange, lease);
            return true;
        }
    return false;
}

static void waiting_offer(WorkerExecutor *pool, Exchange *exchange)
{
    for (Lease *lease = pool->waiting, *next; lease && exchange->want_left; lease = next) {
        next = lease->next;
        if (!is_for(exchange, lease->queue, lease->tenant)) continue;
        waiting_remove(pool, lease);
        lease_grant(pool, exchange, lease);
    }
}

/* Each queue is one: a backlog of one that nobody asks for costs the others nothing. */
static uint32_t worker_lane(Executor *executor, Str runner)
{
    WorkerExecutor *pool = (WorkerExecutor *)executor;
    uint32_t queue = queue_find(pool, queue_name(pool, runner));
    return queue < pool->queue_count ? queue : 0;
}

static bool worker_has_room(Executor *executor, Str tenant, Str runner, uint32_t taken)
{
    const WorkerExecutor *pool = (const WorkerExecutor *)executor;
    uint32_t queue = queue_find(pool, queue_name(pool, runner)), wanted = 0;
    uint32_t promised = taken > pool->lease_count ? taken - pool->lease_count : 0;     /* decided, and on their way */
    for (const Exchange *exchange = pool->exchanges; exchange; exchange = exchange->next)
        if (queue < pool->queue_count && is_for(exchange, queue, tenant)) wanted += exchange->want_left;
    return wanted > promised;
}

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

static void document_keep(Lease *lease, const Buf *document)
{
    lease->document = malloc(document->len);
    CHECK(lease->document);
    memcpy(lease->document, document->ptr, document->len);
    lease->document_size = (uint32_t)document->len;
}

static bool worker_execute(Executor *executor, const Attempt *attempt)
{
    WorkerExecutor *pool = (WorkerExecutor *)executor;
    if (pool->lease_count >= pool->base.capacity) {
        pool->has_refused = true;
        return false;
    }
    if (attempt->now_ms > pool->now_ms) pool->now_ms = attempt->now_ms;
    Str name = queue_name(pool, attempt->runner);
    Lease *lease = calloc(1, sizeof *lease + attempt->tenant.len + attempt->runner.len);
    CHECK(lease);
    char *at = (char *)(lease + 1);
    lease->id = attempt->id;
    lease->queue = queue_find(pool, name);
    lease->tenant = text_behind(&at, attempt->tenant);
    lease->runner = text_behind(&at, attempt->runner);
    lease->heard_ms = pool->now_ms;
    run_index_put(&pool->leases, token_hash(&lease->id), lease);
    pool->lease_count++;
    Buf document;
    Error err;
    buf_init(&document, JSON_SIZE_MAX);
    Status status = document_print(&document, attempt, &err);
    if (!status && lease->queue == pool->queue_count)
        status = error_set(&err, ERR_NOT_FOUND, "the executor '%.*s' has no queue '%.*s'", STR_ARG(pool->base.name), STR_ARG(name));
    if (status) {
        lease_cancel(pool, lease, CAUSE_PERMANENT, str_of(err.text));
    } else {
        document_keep(lease, &document);
        if (!lease_offer(pool, lease)) waiting_add(pool, lease);
    }
    buf_deinit(&document);
    return true;
}

static void worker_end(Executor *executor, const AttemptId *id)
{
    WorkerExecutor *pool = (WorkerExecutor *)executor;
    Lease *lease = lease_find(pool, id);
    if (!lease || lease->state > LEASE_HELD) return;        /* whoever is alive with it is told at its next heartbeat, which the engine answers */
    if (lease->is_ended) return;
    lease->is_ended = true;
    if (lease->state == LEASE_WAITS) lease_cancel(pool, lease, CAUSE_CANCELLED, STR("it was ended before a worker had it"));
    else cancel_add(pool, lease);
}

/* Its worker may be alive: it is told to end it by whatever it asks next. */
static void worker_lose(Executor *executor, const AttemptId *id)
{
    WorkerExecutor *pool = (WorkerExecutor *)executor;
    Lease *lease = lease_find(pool, id);
    if (!lease || lease->state > LEASE_HELD) return;
    if (lease->state == LEASE_WAITS) waiting_remove(pool, lease);
    else if (!lease->is_ended) cancel_add(pool, lease);
    lease->is_ended = lease->is_lost = true;
    lease_keep(pool, lease, LEASE_REFUSED);
    lease_leave(pool);
    wake_after(pool, 0);
}

/* --- what is durable --------------------------------------------------------------------------------------------------- */

/* The first that is open: what an attempt says is decided in its order. A report that was said again meanwhile is the same one. */
static void item_close(WorkerExecutor *pool, const AttemptId *id, bool is_report, bool is_taken)
{
    for (Exchange *exchange = pool->exchanges; exchange; exchange = exchange->next)
        for (uint32_t i = 0; i < exchange->item_count; i++) {
            Item *item = &exchange->items[i];
            if (!item->is_open || item->receipt || item->is_report != is_report || !attempt_id_is(&item->id, id)) continue;
            item->is_open = false;
            item->is_taken = is_taken;
            item->refusal = is_report ? not_under_way : "the attempt is not under way any more, or has announced no effect";
            exchange->open_count--;
            wake_after(pool, 0);
            if (!is_report) return;
        }
}

static void worker_acknowledge(Executor *executor, const AttemptId *id)
{
    item_close((WorkerExecutor *)executor, id, /* is_report= */ false, /* is_taken= */ true);
}

static void worker_refuse(Executor *executor, const AttemptId *id)
{
    item_close((WorkerExecutor *)executor, id, /* is_report= */ false, /* is_taken= */ false);
}

static void worker_settled(Executor *executor, const AttemptId *id, bool is_taken)
{
    WorkerExecutor *pool = (WorkerExecutor *)executor;
    Lease *lease = lease_find(pool, id);
    if (lease && lease->state == LEASE_REPORTED) lease_keep(pool, lease, is_taken && !lease->is_lost ? LEASE_TAKEN : LEASE_REFUSED);
    item_close(pool, id, /* is_report= */ true, is_taken);
}

static void worker_received(Executor *executor, uint64_t receipt, bool is_taken)
{
    WorkerExecutor *pool = (WorkerExecutor *)executor;
    for (Exchange *exchange = pool->exchanges; exchange; exchange = exchange->next)
        for (uint32_t i = 0; i < exchange->item_count; i++) {
            Item *item = &exchange->items[i];
            if (!item->is_open || item->receipt != receipt) continue;
            item->is_open = false;
            exchange->open_count--;
            if (!is_taken) value_list_add(&exchange->ended, value_string(item->token));
            wake_after(pool, 0);
            return;
        }
}

/* --- what a request says ------------------------------------------------------------------------------------------------ */

/* Which attempt a token is of, where it was given out here, in a queue that the credential is for, for its tenant. Any other is to whoever
 * names it one that is not under way, be it guessed or another's. */
static bool token_open(WorkerExecutor *pool, const Exchange *exchange, Str text, AttemptId *out_id)
{
    Token token;
    CHECK(token_read(text, &token));                        /* the request was checked */
    uint32_t queue = 0;
    while (queue < pool->queue_count && pool->queue_tags[queue] != token.queue) queue++;
    bool is_permitted = !exchange->is_limited || (queue < pool->queue_count && has_queue(exchange->permitted, queue));
    bool is_its_own = token_is_genuine(&pool->tokens, &token) && is_permitted && may_speak(exchange, lease_find(pool, &token.id));
    pool->base.token_refused_count += !is_its_own;
    *out_id = token.id;
    return is_its_own;
}

static void item_add(Exchange *exchange, Item item)
{
    exchange->items[exchange->item_count++] = item;
    exchange->open_count += item.is_open;
}

/* A token that this executor does not know is of an earlier owner of the log, or of nobody: the core decides. */
static void report_take(WorkerExecutor *pool, Exchange *exchange, Value said)
{
    Report report;
    Error err;
    Item item = { .is_report = true, .token = arena_copy(&exchange->arena, exchange_token(said)), .refusal = not_under_way };
    bool is_its_own = token_open(pool, exchange, item.token, &item.id);
    Lease *lease = is_its_own ? lease_find(pool, &item.id) : NULL;
    CHECK(message_report(said, &report, &err) == OK);       /* it was checked */
    if (!is_its_own) {
        item_add(exchange, item);
        return;
    }
    if (lease && lease->state > LEASE_REPORTED) {
        item.is_taken = lease->state == LEASE_TAKEN;
        item_add(exchange, item);
        return;
    }
    item.is_open = true;
    item_add(exchange, item);
    if (lease && lease->state == LEASE_REPORTED) return;        /* said twice: both are answered by the one */
    if (lease) lease_report(pool, lease, &report);
    else send(pool, &(Notice){ .kind = NOTICE_REPORT, .id = item.id, .report = report, .value = value_null(), .tenant = exchange->tenant });
}

/* An attempt that this executor has. Whatever its worker says renews its lease; the core's with it. */
static void hear(WorkerExecutor *pool, const AttemptId *id)
{
    Lease *lease = lease_find(pool, id);
    if (lease && !lease->is_ended) lease->heard_ms = pool->now_ms;     /* who does not end when told loses its lease */
}

/* Who is alive with something that nobody wants from him is told so by the same answer, whatever the reason: the attempt ended, is to end,
 * is another's, or there never was one. Of a lease that is not this process's the engine knows. */
static void heartbeat_take(WorkerExecutor *pool, Exchange *exchange, Str text)
{
    Item item = { .token = arena_copy(&exchange->arena, text) };
    bool is_its_own = token_open(pool, exchange, text, &item.id);
    Lease *lease = is_its_own ? lease_find(pool, &item.id) : NULL;
    if (lease && lease->is_lost) cancel_remove(pool, lease);
    if (!is_its_own || (lease && (lease->is_lost || lease->state > LEASE_REPORTED))) {
        value_list_add(&exchange->ended, value_string(item.token));
        return;
    }
    hear(pool, &item.id);
    if (!lease) item.receipt = ++pool->receipt;
    item.is_open = item.receipt != 0;
    if (item.is_open) item_add(exchange, item);             /* first: it may be answered while it is sent */
    send(pool, &(Notice){ .kind = NOTICE_HEARTBEAT, .id = item.id, .value = value_null(), .tenant = exchange->tenant, .receipt = item.receipt });
}

static void log_take(WorkerExecutor *pool, const Exchange *exchange, Value said)
{
    AttemptId id;
    if (!token_open(pool, exchange, exchange_token(said), &id)) return;
    send(pool, &(Notice){ .kind = NOTICE_LOG, .id = id, .tenant = exchange->tenant, .text = value_get_string(said, "text", STR("")),
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
    const Lease *lease = is_its_own ? lease_find(pool, &id) : NULL;
    notice.id = id;
    notice.tenant = exchange->tenant;
    if (is_its_own) {
        hear(pool, &id);
        is_its_own = lease ? lease->state <= LEASE_HELD : notice.kind != NOTICE_PROGRESS;
    }
    if (notice.kind == NOTICE_EFFECT)
        item_add(exchange, (Item){ .id = id, .token = arena_copy(&exchange->arena, token), .is_open = is_its_own, .refusal = not_under_way });
    if (is_its_own) send(pool, &notice);
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
        uint32_t queue = queue_find(pool, name);
        if (is_limited && !exchange_list_has(credential->queues, name))
            return error_set(err, ERR_DENIED, "this credential does not permit the queue '%.*s'", STR_ARG(name));
        if (queue == pool->queue_count)
            return error_set(err, ERR_NOT_FOUND, "the executor '%.*s' has no queue '%.*s'", STR_ARG(pool->base.name), STR_ARG(name));
        *out |= UINT64_C(1) << queue;
    }
    return OK;
}

/* --- answers -------------------------------------------------------------------------------------------------------------- */

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
    for (Lease *lease = cancel_first(pool, exchange), *next; lease; lease = next) {
        next = cancel_of(lease->cancel_next, exchange->worker);
        cancel_remove(pool, lease);
        value_list_add(&list, lease_token(pool, &exchange->arena, lease));
    }
    return value_list_array(&list);
}

static void exchange_free(WorkerExecutor *pool, Exchange *exchange)
{
    Exchange **place = &pool->exchanges;
    while (*place != exchange) place = &(*place)->next;
    *place = exchange->next;
    pool->exchange_count--;
    arena_deinit(&exchange->arena);
    free(exchange);
}

static void exchange_answer(WorkerExecutor *pool, Exchange *exchange)
{
    MemberList members = { .arena = &exchange->arena };
    member_list_add(&members, STR("results"), results_of(exchange));
    member_list_add(&members, STR("leases"), value_list_array(&exchange->leases));
    member_list_add(&members, STR("cancels"), cancels_of(pool, exchange));
    exchange->done(exchange->context, member_list_object(&members));
    exchange_free(pool, exchange);
}

static bool is_ready(const WorkerExecutor *pool, const Exchange *exchange)
{
    if (exchange->open_count && pool->now_ms < exchange->settle_ms) return false;
    return !exchange->want_left || exchange->leases.count || pool->now_ms >= exchange->due_ms || cancel_first(pool, exchange);
}

/* Of the same worker an older one that waits is answered: its connection may be gone, and nobody would know. */
static void answer_older(WorkerExecutor *pool, Str worker)
{
    for (Exchange *exchange = pool->exchanges, *next; exchange; exchange = next) {
        next = exchange->next;
        if (exchange->want_left && str_is(exchange->worker, worker)) {
            exchange->want_left = 0;
            if (!exchange->open_count) exchange_answer(pool, exchange);
        }
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
        return error_set(err, ERR_UNAVAILABLE, "%u exchanges wait at '%.*s' already: try again later", WORKER_EXCHANGE_COUNT_MAX, STR_ARG(pool->base.name));
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
    exchange->want_left = (uint32_t)want;
    exchange->wait_ms = wait_ms;
    exchange->leases = exchange->ended = (ValueList){ .arena = &exchange->arena };
    uint32_t said_count = exchange_item_count(request, "reports") + exchange_item_count(request, "messages") + exchange_item_count(request, "heartbeats");
    exchange->items = ARENA_ARRAY(&exchange->arena, Item, said_count + 1u);
    exchange->done = done;
    exchange->context = context;
    Exchange **place = &pool->exchanges;
    while (*place) place = &(*place)->next;
    *place = exchange;
    pool->exchange_count++;
    take_all(pool, exchange, request);
    waiting_offer(pool, exchange);
    if (exchange->want_left)
        send(pool, &(Notice){ .kind = NOTICE_ROOM, .value = value_null(), .number = exchange->want_left, .lanes = queues, .tenant = exchange->tenant });
    wake_after(pool, 0);
    return OK;
}

void worker_exchange_withdraw(Executor *executor, const void *context)
{
    WorkerExecutor *pool = (WorkerExecutor *)executor;
    Exchange *exchange = pool->exchanges;
    while (exchange && exchange->context != context) exchange = exchange->next;
    if (!exchange) return;
    exchange->want_left = 0;
    wake_after(pool, 0);
}

/* What the engine gave with the attempt stands in the lease that was to be sent. */
static void lease_wait_again(WorkerExecutor *pool, Lease *lease, Value granted)
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
    if (!lease_offer(pool, lease)) waiting_add(pool, lease);
}

void worker_exchange_give_back(Executor *executor, Value answer)
{
    WorkerExecutor *pool = (WorkerExecutor *)executor;
    const Value *leases = exchange_list(answer, "leases"), *cancels = exchange_list(answer, "cancels");
    Token token;
    for (uint32_t i = 0; cancels && i < cancels->count; i++) {
        Lease *lease = token_read(value_text(cancels->items[i]), &token) ? lease_find(pool, &token.id) : NULL;
        if (lease && lease->is_ended && (lease->state == LEASE_HELD || lease->is_lost)) cancel_add(pool, lease);
    }
    for (uint32_t i = 0; leases && i < leases->count; i++) {
        Value granted = leases->items[i];
        Lease *lease = token_read(exchange_token(granted), &token) ? lease_find(pool, &token.id) : NULL;
        if (!lease || lease->state != LEASE_HELD) continue;
        if (lease->is_ended) lease_cancel(pool, lease, CAUSE_CANCELLED, STR("it was ended before a worker had it"));
        else lease_wait_again(pool, lease, granted);
    }
}

/* --- time ------------------------------------------------------------------------------------------------------------------ */

/* What no worker has yet is kept alive here; of a worker that is silent the lease is given up, after the core has done so. */
static void leases_look(WorkerExecutor *pool)
{
    int64_t lease_ms = pool->base.lease_ms;
    for (uint32_t i = 0; i < pool->leases.capacity; i++) {
        Lease *lease = pool->leases.slots[i].number ? pool->leases.slots[i].item : NULL;
        if (!lease || lease->state > LEASE_HELD) continue;
        if (lease->state == LEASE_WAITS && pool->now_ms - lease->heard_ms >= lease_ms / 3) {
            lease->heard_ms = pool->now_ms;
            send(pool, &(Notice){ .kind = NOTICE_HEARTBEAT, .id = lease->id, .value = value_null() });
        } else if (lease->state == LEASE_HELD && !pool->is_draining && pool->now_ms - lease->heard_ms >= lease_ms + GRACE_MS) {
            lease_cancel(pool, lease, CAUSE_LEASE_EXPIRED, STR("its worker was not heard of until its lease ran out"));
            lease->is_lost = true;
        }
    }
}

static void worker_turn(Executor *executor, int64_t now_ms)
{
    WorkerExecutor *pool = (WorkerExecutor *)executor;
    uint64_t rung;
    if (read(pool->timer_fd, &rung, sizeof rung) < 0) rung = 0;     /* it had not rung */
    pool->is_awake = false;
    int64_t jump = now_ms - pool->now_ms;
    if (jump > 0) pool->now_ms = now_ms;
    pending_send(pool);
    if (pool->now_ms - pool->looked_ms >= TICK_MS) {
        pool->looked_ms = pool->now_ms;
        leases_look(pool);
    }
    int64_t next = pool->lease_count || pool->pending ? TICK_MS : INT64_MAX;
    for (Exchange *exchange = pool->exchanges, *after; exchange; exchange = after) {
        after = exchange->next;
        if (!exchange->due_ms) {
            exchange->due_ms = pool->now_ms + exchange->wait_ms;
            exchange->settle_ms = pool->now_ms + SETTLE_MS_MAX;
        }
        if (is_ready(pool, exchange)) {
            exchange_answer(pool, exchange);
            continue;
        }
        int64_t due = exchange->open_count ? exchange->settle_ms : exchange->due_ms;
        int64_t left = due > pool->now_ms ? due - pool->now_ms : 1;
        if (left < next) next = left;
    }
    if (next != INT64_MAX) wake_after(pool, pool->pending ? 2 : next);
}

/* What workers have they report to the next owner; what none has yet goes back, and is offered anew then. */
static uint32_t worker_drain(Executor *executor)
{
    WorkerExecutor *pool = (WorkerExecutor *)executor;
    pool->is_draining = true;
    while (pool->waiting) lease_cancel(pool, pool->waiting, CAUSE_NOT_ACCEPTED, STR("the server ended before a worker had it"));
    return pool->lease_count;
}

static int worker_wake_fd(Executor *executor)
{
    return ((WorkerExecutor *)executor)->timer_fd;
}

/* Whoever waits is told that there is nothing; workers go on with what they have, and report to the next owner. */
static void worker_close(Executor *executor)
{
    WorkerExecutor *pool = (WorkerExecutor *)executor;
    while (pool->exchanges) exchange_answer(pool, pool->exchanges);
    for (uint32_t i = 0; i < pool->leases.capacity; i++)
        if (pool->leases.slots[i].number) lease_free(pool->leases.slots[i].item);
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
