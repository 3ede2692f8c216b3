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
#include "exec/worker/token.h"
#include "value/json.h"

#define SETTLE_MS_MAX 10000             /* how long an exchange waits for what it said to be durable */
#define KEPT_COUNT_MAX 4096u            /* reports whose answer is remembered */
#define TICK_MS 1000                    /* leases are looked at so often */
#define GRACE_MS 2000                   /* the core, whose clock counts, notices first that a lease ran out */

typedef enum LeaseState {
    LEASE_WAITS,                        /* granted by the engine; no worker has it yet */
    LEASE_HELD,                         /* by a worker */
    LEASE_REPORTED,                     /* the engine was told; that is not durable yet */
    LEASE_TAKEN, LEASE_REFUSED,         /* the answer to its report, remembered for who sends it again */
} LeaseState;

/* An attempt that was given to this executor. */
typedef struct Lease {
    struct Lease *next;                 /* of those that wait for a worker; of those whose answer is remembered */
    AttemptId id;
    uint8_t state;                      /* a LeaseState */
    bool is_ended;                      /* its worker is to end it */
    bool is_ended_told;
    bool is_lost;                       /* given up for its worker's silence: whatever that one says is refused */
    int64_t heard_ms;                   /* when its worker last said anything */
    char *document;                     /* {"task", "definition", "args", "resources", "effect_recorded"}, JSON; NULL: a worker has it */
    uint32_t document_size;
    uint32_t queue;                     /* index */
    Str tenant, runner;                 /* behind the lease, in one allocation */
    char worker[WORKER_NAME_SIZE_MAX];
    size_t worker_size;
} Lease;

/* One thing that an exchange said and that is answered when it is durable. */
typedef struct Item { AttemptId id; bool is_report, is_open, is_taken; const char *refusal; } Item;

typedef struct Exchange {
    struct Exchange *next;
    Arena arena;
    Str worker, tenant;
    uint64_t queues;                    /* a bit for each */
    uint32_t want_left;
    int64_t wait_ms;
    int64_t due_ms, settle_ms;          /* from the first turn that sees it: before, nobody knows the time; 0: not yet */
    Item *items;
    uint32_t item_count, open_count;
    ValueList leases;
    WorkerDone done;                    /* NULL: abandoned */
    void *context;
} Exchange;

typedef struct Pending { struct Pending *next; Arena arena; Notice notice; } Pending;

typedef struct WorkerExecutor {
    Executor base;
    NoticeSink sink;
    Str queues[WORKER_QUEUE_COUNT_MAX];
    uint32_t queue_count;
    RunIndex leases;                    /* by the hash of the id */
    uint32_t lease_count;               /* not reported yet */
    uint32_t cancel_count;              /* of these, those that their worker is to end and was not told so */
    Lease *waiting, *waiting_last;
    Lease *kept, *kept_last;            /* the oldest first */
    uint32_t kept_count;
    Exchange *exchanges;                /* the oldest first */
    uint32_t exchange_count;
    Pending *pending, *pending_last;    /* notices that the inbox had no room for */
    int64_t now_ms, looked_ms;
    bool has_refused;                   /* at its capacity: it says when there is room */
    int timer_fd;
    Value runners;
} WorkerExecutor;

static bool worker_execute(Executor *executor, const Attempt *attempt);
static void worker_end(Executor *executor, const AttemptId *id);
static void worker_acknowledge(Executor *executor, const AttemptId *id);
static void worker_settled(Executor *executor, const AttemptId *id, bool is_taken);
static bool worker_has_room(Executor *executor, Str tenant, Str runner, uint32_t taken);
static void worker_turn(Executor *executor, int64_t now_ms);
static int  worker_wake_fd(Executor *executor);
static void worker_close(Executor *executor);
static const ExecutorOps worker_ops = {
    .execute = worker_execute, .end = worker_end, .acknowledge = worker_acknowledge, .settled = worker_settled,
    .has_room = worker_has_room, .turn = worker_turn, .wake_fd = worker_wake_fd, .close = worker_close,
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
    pool->base = (Executor){ .ops = &worker_ops, .name = options->name, .kind = STR("worker"), .capacity = capacity,
                             .lease_ms = options->lease_ms ? options->lease_ms : LEASE_MS_DEFAULT };
    pool->sink = options->sink;
    pool->runners = options->runners;
    for (uint32_t i = 0; i < options->runners.count && options->runners.kind == VALUE_OBJECT; i++) {
        Str queue = queue_name(pool, value_text(options->runners.members[i].key));
        if (queue_find(pool, queue) < pool->queue_count) continue;
        if (pool->queue_count == WORKER_QUEUE_COUNT_MAX) {
            free(pool);
            return error_set(err, ERR_LIMIT, "the worker executor '%.*s' has more than %u queues", STR_ARG(options->name), WORKER_QUEUE_COUNT_MAX);
        }
        pool->queues[pool->queue_count++] = queue;
    }
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

static void lease_forget(WorkerExecutor *pool, Lease *lease)
{
    run_index_remove(&pool->leases, token_hash(&lease->id));
    lease_free(lease);
}

static void waiting_remove(WorkerExecutor *pool, const Lease *lease)
{
    Lease **place = &pool->waiting, *before = NULL;
    while (*place && *place != lease) before = *place, place = &before->next;
    if (!*place) return;
    *place = lease->next;
    if (pool->waiting_last == lease) pool->waiting_last = before;
}

/* The report is on its way: whatever its worker says from now on is too late. */
static void lease_report(WorkerExecutor *pool, Lease *lease, const Report *report)
{
    if (lease->state == LEASE_WAITS) waiting_remove(pool, lease);
    else if (lease->is_ended && !lease->is_ended_told) pool->cancel_count--;
    lease->state = LEASE_REPORTED;
    pool->lease_count--;
    if (pool->has_refused) send(pool, &(Notice){ .kind = NOTICE_ROOM, .value = value_null() });
    pool->has_refused = false;
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

static bool is_for(const Exchange *exchange, uint32_t queue, Str tenant)
{
    return exchange->want_left && exchange->done && exchange->queues >> queue & 1
        && (!exchange->tenant.len || str_is(exchange->tenant, tenant));
}

static void lease_grant(WorkerExecutor *pool, Exchange *exchange, Lease *lease)
{
    Arena *arena = &exchange->arena;
    char text[TOKEN_SIZE_MAX];
    Value work = value_null();
    Error err;
    CHECK(json_parse(arena, (Str){ lease->document, lease->document_size }, &work, &err) == OK);     /* we printed it */
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("token"), value_string(arena_copy(arena, token_print(&lease->id, text))));
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
        lease->document = malloc(document.len);
        CHECK(lease->document);
        memcpy(lease->document, document.ptr, document.len);
        lease->document_size = (uint32_t)document.len;
        if (!lease_offer(pool, lease)) {
            *(pool->waiting_last ? &pool->waiting_last->next : &pool->waiting) = lease;
            pool->waiting_last = lease;
        }
    }
    buf_deinit(&document);
    return true;
}

static void worker_end(Executor *executor, const AttemptId *id)
{
    WorkerExecutor *pool = (WorkerExecutor *)executor;
    Lease *lease = lease_find(pool, id);
    if (!lease || lease->state > LEASE_HELD) return;
    if (lease->state == LEASE_HELD && !lease->is_ended) pool->cancel_count++;
    lease->is_ended = true;
    if (lease->state == LEASE_WAITS) lease_cancel(pool, lease, CAUSE_CANCELLED, STR("it was ended before a worker had it"));
    else wake_after(pool, 0);                               /* an exchange that waits is answered, and tells its worker */
}

/* --- what is durable --------------------------------------------------------------------------------------------------- */

/* The first that is open: what an attempt says is decided in its order. */
static void item_close(WorkerExecutor *pool, const AttemptId *id, bool is_report, bool is_taken)
{
    for (Exchange *exchange = pool->exchanges; exchange; exchange = exchange->next)
        for (uint32_t i = 0; i < exchange->item_count; i++) {
            Item *item = &exchange->items[i];
            if (!item->is_open || item->is_report != is_report || !attempt_id_is(&item->id, id)) continue;
            item->is_open = false;
            item->is_taken = is_taken;
            item->refusal = is_taken ? NULL : "the attempt is not under way any more";
            exchange->open_count--;
            wake_after(pool, 0);
            return;
        }
}

static void worker_acknowledge(Executor *executor, const AttemptId *id)
{
    item_close((WorkerExecutor *)executor, id, /* is_report= */ false, /* is_taken= */ true);
}

static void worker_settled(Executor *executor, const AttemptId *id, bool is_taken)
{
    WorkerExecutor *pool = (WorkerExecutor *)executor;
    Lease *lease = lease_find(pool, id);
    if (lease && lease->state == LEASE_REPORTED) lease_keep(pool, lease, is_taken && !lease->is_lost ? LEASE_TAKEN : LEASE_REFUSED);
    item_close(pool, id, /* is_report= */ true, is_taken);
}

/* --- what a request says ------------------------------------------------------------------------------------------------ */

/* {"token", "output"} or {"token", "failure": {"cause", "message", "details"}}. */
static Status report_read(Value item, AttemptId *out_id, Report *out_report, Error *err)
{
    if (!token_read(value_get_string(item, "token", STR("")), out_id))
        return error_set(err, ERR_INVALID, "a report without the `token` of a lease");
    return message_report(item, out_report, err);
}

static void item_add(Exchange *exchange, Item item)
{
    exchange->items[exchange->item_count++] = item;
    exchange->open_count += item.is_open;
}

/* A token that this executor does not know is of an earlier owner of the log, or of nobody: the core decides. */
static void report_take(WorkerExecutor *pool, Exchange *exchange, const AttemptId *id, const Report *report)
{
    Lease *lease = lease_find(pool, id);
    if (lease && lease->state > LEASE_REPORTED) {
        bool is_taken = lease->state == LEASE_TAKEN;
        item_add(exchange, (Item){ .id = *id, .is_report = true, .is_taken = is_taken, .refusal = is_taken ? NULL : "the attempt is not under way any more" });
        return;
    }
    item_add(exchange, (Item){ .id = *id, .is_report = true, .is_open = true });
    if (lease && lease->state == LEASE_REPORTED) return;        /* said twice: both are answered by the one */
    if (lease) lease_report(pool, lease, report);
    else send(pool, &(Notice){ .kind = NOTICE_REPORT, .id = *id, .report = *report, .value = value_null() });
}

static const Value *list_of(Value request, const char *key)
{
    const Value *list = value_get_text(request, key);
    return list && list->kind == VALUE_ARRAY ? list : NULL;
}

static Status check_list(Value request, const char *key, Error *err)
{
    const Value *list = value_get_text(request, key);
    if (!list || list->kind == VALUE_NULL) return OK;
    if (list->kind != VALUE_ARRAY) return error_set(err, ERR_INVALID, "`%s` is not a list", key);
    return list->count <= WORKER_ITEM_COUNT_MAX ? OK : error_set(err, ERR_LIMIT, "`%s` has more than %u items", key, WORKER_ITEM_COUNT_MAX);
}

/* Everything is read before anything is said: a request that is wrong does nothing. */
static Status check_request(Value request, Error *err)
{
    static const char *const lists[] = { "queues", "reports", "messages", "logs", "heartbeats" };
    if (request.kind != VALUE_OBJECT) return error_set(err, ERR_INVALID, "an exchange is a JSON object");
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        Status status = check_list(request, lists[i], err);
        if (status) return status;
    }
    AttemptId id;
    Report report;
    Notice notice;
    const Value *reports = list_of(request, "reports"), *messages = list_of(request, "messages");
    for (uint32_t i = 0; reports && i < reports->count; i++) {
        Status status = report_read(reports->items[i], &id, &report, err);
        if (status) return status;
    }
    for (uint32_t i = 0; messages && i < messages->count; i++) {
        const Value *message = value_get_text(messages->items[i], "message");
        if (!message || !token_read(value_get_string(messages->items[i], "token", STR("")), &id))
            return error_set(err, ERR_INVALID, "a message needs `token` and `message`");
        Status status = message_of(*message, &notice, err);
        if (status) return status;
    }
    return OK;
}

/* Any message of an attempt renews its lease; one that says nothing else is passed on for that alone. */
static void hear(WorkerExecutor *pool, const AttemptId *id, bool is_silent)
{
    Lease *lease = lease_find(pool, id);
    if (lease) lease->heard_ms = pool->now_ms;
    if (is_silent) send(pool, &(Notice){ .kind = NOTICE_HEARTBEAT, .id = *id, .value = value_null() });
}

static void take_all(WorkerExecutor *pool, Exchange *exchange, Value request)
{
    const Value *logs = list_of(request, "logs"), *messages = list_of(request, "messages");
    const Value *reports = list_of(request, "reports"), *beats = list_of(request, "heartbeats");
    AttemptId id;
    Error err;
    for (uint32_t i = 0; beats && i < beats->count; i++)
        if (beats->items[i].kind == VALUE_STRING && token_read(value_text(beats->items[i]), &id)) hear(pool, &id, /* is_silent= */ true);
    for (uint32_t i = 0; logs && i < logs->count; i++)
        if (token_read(value_get_string(logs->items[i], "token", STR("")), &id) && lease_find(pool, &id))
            send(pool, &(Notice){ .kind = NOTICE_LOG, .id = id, .text = value_get_string(logs->items[i], "text", STR("")),
                                  .is_error = value_get_bool(logs->items[i], "is_error", false), .value = value_null() });
    for (uint32_t i = 0; messages && i < messages->count; i++) {
        Notice notice = { .value = value_null() };
        CHECK(token_read(value_get_string(messages->items[i], "token", STR("")), &notice.id));
        id = notice.id;
        CHECK(message_of(*value_get_text(messages->items[i], "message"), &notice, &err) == OK);       /* both were checked */
        notice.id = id;
        hear(pool, &id, /* is_silent= */ notice.kind == NOTICE_HEARTBEAT);
        if (notice.kind == NOTICE_EFFECT) item_add(exchange, (Item){ .id = id, .is_open = lease_find(pool, &id) != NULL, .refusal = "the attempt is not under way any more" });
        if (notice.kind != NOTICE_HEARTBEAT) send(pool, &notice);
    }
    for (uint32_t i = 0; reports && i < reports->count; i++) {
        Report report;
        CHECK(report_read(reports->items[i], &id, &report, &err) == OK);
        report_take(pool, exchange, &id, &report);
    }
}

static bool list_has(Value list, Str text)
{
    for (uint32_t i = 0; i < list.count; i++)
        if (list.items[i].kind == VALUE_STRING && str_is(value_text(list.items[i]), text)) return true;
    return false;
}

/* Those it asks for, of those that the executor has and the credential permits. */
static Status queues_read(const WorkerExecutor *pool, const WorkerCredential *credential, Value request, uint64_t *out, Error *err)
{
    const Value *asked = list_of(request, "queues");
    bool is_limited = credential->queues.kind == VALUE_ARRAY;
    *out = 0;
    for (uint32_t i = 0; !asked && i < pool->queue_count; i++)
        if (!is_limited || list_has(credential->queues, pool->queues[i])) *out |= UINT64_C(1) << i;
    for (uint32_t i = 0; asked && i < asked->count; i++) {
        Str name = asked->items[i].kind == VALUE_STRING ? value_text(asked->items[i]) : STR("");
        uint32_t queue = queue_find(pool, name);
        if (is_limited && !list_has(credential->queues, name))
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
    char text[TOKEN_SIZE_MAX];
    for (uint32_t i = 0; i < exchange->item_count; i++) {
        const Item *item = &exchange->items[i];
        MemberList members = { .arena = &exchange->arena };
        const char *state = item->is_open ? "unknown" : item->is_taken ? "accepted" : "refused";
        member_list_add(&members, STR("token"), value_string(arena_copy(&exchange->arena, token_print(&item->id, text))));
        member_list_add(&members, STR("of"), value_string(item->is_report ? STR("report") : STR("effect")));
        member_list_add(&members, STR("result"), value_string(str_of(state)));
        if (!item->is_open && !item->is_taken) member_list_add(&members, STR("reason"), value_string(str_of(item->refusal)));
        value_list_add(&list, member_list_object(&members));
    }
    return value_list_array(&list);
}

static bool is_of(const Lease *lease, Str worker)
{
    return lease->state == LEASE_HELD && str_is((Str){ lease->worker, lease->worker_size }, worker);
}

static Value cancels_of(WorkerExecutor *pool, Exchange *exchange)
{
    ValueList list = { .arena = &exchange->arena };
    char text[TOKEN_SIZE_MAX];
    for (uint32_t i = 0; pool->cancel_count && i < pool->leases.capacity; i++) {
        Lease *lease = pool->leases.slots[i].number ? pool->leases.slots[i].item : NULL;
        if (!lease || !lease->is_ended || lease->is_ended_told || !is_of(lease, exchange->worker)) continue;
        lease->is_ended_told = true;
        pool->cancel_count--;
        value_list_add(&list, value_string(arena_copy(&exchange->arena, token_print(&lease->id, text))));
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
    if (exchange->done) exchange->done(exchange->context, member_list_object(&members));
    exchange_free(pool, exchange);
}

static bool has_cancel(const WorkerExecutor *pool, Str worker)
{
    for (uint32_t i = 0; pool->cancel_count && i < pool->leases.capacity; i++) {
        const Lease *lease = pool->leases.slots[i].number ? pool->leases.slots[i].item : NULL;
        if (lease && lease->is_ended && !lease->is_ended_told && is_of(lease, worker)) return true;
    }
    return false;
}

static bool is_ready(const WorkerExecutor *pool, const Exchange *exchange)
{
    if (exchange->open_count && pool->now_ms < exchange->settle_ms) return false;
    return !exchange->want_left || exchange->leases.count || pool->now_ms >= exchange->due_ms || has_cancel(pool, exchange->worker);
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
    Status status = check_request(request, err);
    if (!status) status = queues_read(pool, credential, request, &queues, err);
    if (status) return status;
    if (!credential->worker.len || credential->worker.len > WORKER_NAME_SIZE_MAX)
        return error_set(err, ERR_INVALID, "a worker has a name of 1 to %u bytes", WORKER_NAME_SIZE_MAX);
    if (pool->exchange_count >= WORKER_EXCHANGE_COUNT_MAX)
        return error_set(err, ERR_LIMIT, "%u exchanges wait at '%.*s' already: try again later", WORKER_EXCHANGE_COUNT_MAX, STR_ARG(pool->base.name));
    int64_t want = value_get_int(request, "want", 0), wait_ms = value_get_int(request, "wait_ms", 0);
    if (want < 0 || wait_ms < 0) return error_set(err, ERR_INVALID, "`want` and `wait_ms` are not below 0");
    if (want > WORKER_ITEM_COUNT_MAX) want = WORKER_ITEM_COUNT_MAX;
    if (wait_ms > WORKER_WAIT_MS_MAX) wait_ms = WORKER_WAIT_MS_MAX;
    if (want) answer_older(pool, credential->worker);
    Exchange *exchange = calloc(1, sizeof *exchange);
    CHECK(exchange);
    arena_init(&exchange->arena, SIZE_MAX);
    exchange->worker = arena_copy(&exchange->arena, credential->worker);
    exchange->tenant = arena_copy(&exchange->arena, credential->tenant);
    exchange->queues = queues;
    exchange->want_left = (uint32_t)want;
    exchange->wait_ms = wait_ms;
    exchange->leases = (ValueList){ .arena = &exchange->arena };
    exchange->items = ARENA_ARRAY(&exchange->arena, Item, 2 * WORKER_ITEM_COUNT_MAX);
    exchange->done = done;
    exchange->context = context;
    Exchange **place = &pool->exchanges;
    while (*place) place = &(*place)->next;
    *place = exchange;
    pool->exchange_count++;
    take_all(pool, exchange, request);
    waiting_offer(pool, exchange);
    /* Who waits for room is looked at: all of them where some of it may not be theirs. */
    bool is_for_all = pool->queue_count <= 1 && !credential->tenant.len;
    if (exchange->want_left)
        send(pool, &(Notice){ .kind = NOTICE_ROOM, .value = value_null(), .number = is_for_all ? exchange->want_left : 0 });
    wake_after(pool, 0);
    return OK;
}

void worker_exchange_abandon(Executor *executor, void *context)
{
    WorkerExecutor *pool = (WorkerExecutor *)executor;
    for (Exchange *exchange = pool->exchanges; exchange; exchange = exchange->next)
        if (exchange->context == context && exchange->done) {
            exchange->done = NULL;
            exchange->want_left = 0;
            wake_after(pool, 0);
            return;
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
        if (lease->state == LEASE_WAITS && pool->now_ms - lease->heard_ms >= lease_ms / 3) hear(pool, &lease->id, /* is_silent= */ true);
        else if (lease->state == LEASE_HELD && pool->now_ms - lease->heard_ms >= lease_ms + GRACE_MS) {
            lease->is_lost = true;
            lease_cancel(pool, lease, CAUSE_LEASE_EXPIRED, STR("its worker was not heard of until its lease ran out"));
        }
    }
}

static void worker_turn(Executor *executor, int64_t now_ms)
{
    WorkerExecutor *pool = (WorkerExecutor *)executor;
    uint64_t rung;
    if (read(pool->timer_fd, &rung, sizeof rung) < 0) rung = 0;     /* it had not rung */
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
    for (Pending *pending; (pending = pool->pending);) {
        pool->pending = pending->next;
        arena_deinit(&pending->arena);
        free(pending);
    }
    close(pool->timer_fd);
    free(pool);
}
