#include "exec/http/http.h"

#include <curl/curl.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/ring.h"
#include "engine/attempt.h"
#include "engine/message.h"
#include "engine/token.h"
#include "exec/http/transfer.h"
#include "os/clock.h"
#include "os/thread.h"
#include "value/json.h"
#include "value/json_pointer.h"

#define CAPACITY_DEFAULT 64u
#define IDLE_MS 60000                   /* the thread looks at least so often; it is woken when there is something */
#define REFUSED_MS 2                    /* until a notice that the sink refused is offered again */

typedef struct Order {
    Transfer *transfer;                 /* to send, or NULL: */
    AttemptId ended;                    /* to give up, or */
    bool is_recorded;                   /* to send what was announced, or */
    bool has_report;                    /* to end with what its service called back with */
    bool is_earlier;                    /* of an attempt that this executor may not have: then it is passed on */
    Report report;
    Arena arena;                        /* of the report */
} Order;

/* Who may call back: one for each attempt of a service that this process has, or that calls back to it. The engine's thread has them,
 * but for `is_used`. */
typedef struct Callback {
    struct Callback *next;
    AttemptId id;
    atomic_bool is_used;                /* the attempt's report is what came by it */
    HttpDone done;                      /* who waits for that to be durable; NULL: nobody called back yet */
    void *context;
} Callback;

/* Something that a service says by the way, until it is durable. The engine's thread has them. */
typedef struct Saying {
    struct Saying *next;
    uint64_t receipt;
    HttpDone done;
    void *context;
} Saying;

typedef struct HttpExecutor {
    Executor base;
    NoticeSink sink;
    CURLM *multi;                       /* from the first order on */
    sem_t begun;                        /* the thread waits for it: there is an order, or none will come */
    Thread thread;
    Ring orders;
    atomic_uint active_count;
    atomic_uint resting_count;          /* of these */
    atomic_bool has_refused, must_close;
    Transfer *under_way, *ended;        /* the thread's own; ended: with a report that was not taken */
    Transfer *announced;                /* not sent before that is durable */
    Transfer *resting;                  /* their service answered 202 and calls back */
    int64_t due_ms;                     /* when the first of them has to have done so; INT64_MAX: none rests */
    bool owes_room;
    Str callback_url;                   /* empty: none is called back */
    TokenScope tokens;
    int64_t beat_ms;                    /* when the leases are renewed; the thread's */
    bool owes_beats;                    /* some of those that rest do; the thread's */
    Callback *callbacks;                /* the engine's thread's, as are: */
    Saying *sayings;
    uint64_t receipt;                   /* the last one */
} HttpExecutor;

static bool http_execute(Executor *executor, const Attempt *attempt);
static void http_end(Executor *executor, const AttemptId *id);
static void http_acknowledge(Executor *executor, const AttemptId *id);
static void http_refuse(Executor *executor, const AttemptId *id);
static void http_settled(Executor *executor, const AttemptId *id, bool is_taken);
static void http_received(Executor *executor, uint64_t receipt, bool is_taken);
static uint32_t http_drain(Executor *executor);
static void http_close(Executor *executor);
static const ExecutorOps http_ops = {
    .execute = http_execute, .end = http_end, .acknowledge = http_acknowledge, .refuse = http_refuse, .settled = http_settled,
    .received = http_received, .drain = http_drain, .close = http_close,
};

static void transfer_all(void *context);

Status http_executor_open(const HttpOptions *options, Executor **out_executor, Error *err)
{
    HttpExecutor *http = calloc(1, sizeof *http);
    CHECK(http != NULL);
    uint32_t capacity = options->capacity ? options->capacity : CAPACITY_DEFAULT;
    if (capacity > HTTP_COUNT_MAX) capacity = HTTP_COUNT_MAX;
    http->base = (Executor){ .ops = &http_ops, .name = options->name, .kind = STR("http"), .is_outside = true,
                             .is_keeper = true, .capacity = capacity };
    http->sink = options->sink;
    http->callback_url = options->callback;
    if (options->callback.len) {
        CHECK(options->token_key);
        http->tokens = (TokenScope){ options->token_key, options->name };
        http->base.lease_ms = options->lease_ms ? options->lease_ms : LEASE_MS_DEFAULT;
    }
    http->due_ms = INT64_MAX;
    CHECK(sem_init(&http->begun, /* pshared= */ 0, 0) == 0);
    ring_init(&http->orders, 4 * capacity + 1024);
    Status status = thread_start(&http->thread, "http", transfer_all, http, err);
    if (status) {
        sem_destroy(&http->begun);
        ring_deinit(&http->orders);
        free(http);
        return status;
    }
    *out_executor = &http->base;
    return OK;
}

bool executor_is_http(const Executor *executor)
{
    return executor->ops == &http_ops;
}

/* --- the engine's thread ----------------------------------------------------------------------------------------- */

/* libcurl and the TLS library behind it take two megabytes, and most servers send no request: they begin with the first one. That takes less
 * than a millisecond, and fails for want of memory alone. */
static void multi_begin(HttpExecutor *http)
{
    CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
    http->multi = curl_multi_init();
    CHECK(http->multi != NULL);
    CHECK(sem_post(&http->begun) == 0);
}

static void order_put(HttpExecutor *http, Order order)
{
    if (!http->multi) multi_begin(http);
    Order *copy = malloc(sizeof *copy);
    CHECK(copy != NULL);
    *copy = order;
    while (!ring_put(&http->orders, copy)) sched_yield();       /* the thread waits for nobody: in a moment */
    curl_multi_wakeup(http->multi);
}

static bool has_room(const HttpExecutor *http)
{
    return atomic_load(&http->active_count) < http->base.capacity;
}

static Callback *callback_new(HttpExecutor *http, const AttemptId *id)
{
    Callback *callback = calloc(1, sizeof *callback);
    CHECK(callback != NULL);
    callback->id = *id;
    callback->next = http->callbacks;
    http->callbacks = callback;
    return callback;
}

/* The attempt may be completed by whoever has its token. */
static void callback_add(HttpExecutor *http, Transfer *transfer)
{
    char token[TOKEN_SIZE_MAX];
    Callback *callback = callback_new(http, &transfer->attempt.id);
    transfer->callback = callback;
    Str url = arena_format(&transfer->arena, "%.*s/maestro/callbacks/%.*s", STR_ARG(http->callback_url), STR_ARG(http->base.name));
    Buf text = buf_on(arena_bytes(&transfer->arena, 6 * url.len + 128), 6 * url.len + 128);
    buf_text(&text, "{\"url\":");
    json_print_string(&text, url);
    buf_format(&text, ",\"token\":\"%.*s\"}", STR_ARG(token_print(&http->tokens, &callback->id, /* queue= */ 0, token)));
    transfer->callback_text = buf_peek(&text);
    transfer->due_ms = clock_monotonic_ms() + attempt_left_ms(&transfer->attempt, HTTP_TIMEOUT_MS_DEFAULT);
}

/* It says itself what it is about to do; without a callback it has no way to. */
static bool service_announces(const Transfer *transfer)
{
    const Value *settings = value_get_text(transfer->attempt.settings, "settings");
    return transfer->callback && settings && value_get_bool(*settings, "announces", false);
}

static bool http_execute(Executor *executor, const Attempt *attempt)
{
    HttpExecutor *http = (HttpExecutor *)executor;
    if (!has_room(http)) {
        atomic_store(&http->has_refused, true);
        if (!has_room(http)) return false;
        atomic_store(&http->has_refused, false);
    }
    atomic_fetch_add(&http->active_count, 1);
    Transfer *transfer = transfer_new(attempt);
    if (http->callback_url.len && value_get_text(attempt->settings, "url")) callback_add(http, transfer);
    transfer->is_announced = attempt->is_effect_recorded && !service_announces(transfer);
    order_put(http, (Order){ .transfer = transfer });
    return true;
}

/* A service is not told: it learns by its token, which is none any more. That goes for one that an earlier process asked, too. */
static void http_end(Executor *executor, const AttemptId *id)
{
    Order order = { .ended = *id, .is_earlier = !id->serial };
    if (order.is_earlier) {
        arena_init(&order.arena, SIZE_MAX);
        order.report = (Report){ .cause = CAUSE_CANCELLED, .message = STR("it was ended on request"), .output = value_null() };
    }
    order_put((HttpExecutor *)executor, order);
}

static void http_acknowledge(Executor *executor, const AttemptId *id)
{
    order_put((HttpExecutor *)executor, (Order){ .ended = *id, .is_recorded = true });
}

/* What may not be recorded is not done. */
static void http_refuse(Executor *executor, const AttemptId *id)
{
    http_end(executor, id);
}

/* What is wrong with a message has a place where it has one member: that one. */
static Status refuse_message(Value request, Error *err)
{
    char storage[2 * NAME_SIZE_MAX + 1];                    /* each byte may be escaped by two */
    Buf place = buf_on(storage, sizeof storage);
    if (request.count == 1 && request.members[0].key.count <= NAME_SIZE_MAX) json_pointer_add(&place, value_text(request.members[0].key));
    error_prefix(err, "%.*s%sneither `output` nor `failure`: ", STR_ARG(buf_peek(&place)), place.len ? ": " : "");
    return err->status;
}

/* Anything but the report. Where the inbox is full the service is asked to say it again: it is told so before anything happened. */
static Status message_take(HttpExecutor *http, const AttemptId *id, Value request, HttpDone done, void *context, Error *err)
{
    Notice notice = { .value = value_null() };
    Status status = message_of(request, &notice, err);
    if (status) return refuse_message(request, err);
    notice.id = *id;
    notice.teller = &http->base;
    notice.receipt = ++http->receipt;
    if (!http->sink.notice(http->sink.context, &notice)) return error_set(err, ERR_UNAVAILABLE, "the engine takes nothing now: send it again");
    Saying *saying = malloc(sizeof *saying);
    CHECK(saying != NULL);
    *saying = (Saying){ http->sayings, notice.receipt, done, context };
    http->sayings = saying;
    return OK;
}

static Status report_take(HttpExecutor *http, const AttemptId *id, Value request, HttpDone done, void *context, Error *err)
{
    Report report;
    Status status = message_report_check(request, /* beside= */ NULL, err);
    if (!status) status = message_report(request, &report, err);
    if (status) return status;
    Callback *callback = http->callbacks;
    while (callback && !attempt_id_is(&callback->id, id)) callback = callback->next;
    if (callback && callback->done) return error_set(err, ERR_CONFLICT, "a report of this attempt is being recorded");
    /* One that this process does not have is of an earlier one, or has ended: the engine knows. */
    bool is_earlier = !callback;
    if (is_earlier) callback = callback_new(http, id);
    atomic_store(&callback->is_used, is_earlier);
    callback->done = done;
    callback->context = context;
    Order order = { .ended = callback->id, .has_report = true, .is_earlier = is_earlier, .report = report };
    arena_init(&order.arena, SIZE_MAX);
    order.report.message = arena_copy(&order.arena, report.message);
    order.report.output = value_copy(&order.arena, report.output);
    order_put(http, order);
    return OK;
}

Status http_callback(Executor *executor, Str token, Value request, HttpDone done, void *context, Error *err)
{
    HttpExecutor *http = (HttpExecutor *)executor;
    Token shown;
    if (!http->callback_url.len || !token_read(token, &shown) || !token_is_genuine(&http->tokens, &shown)) {
        http->base.token_refused_count++;
        return error_set(err, ERR_NOT_FOUND, "no attempt that is under way has this token");
    }
    const AttemptId id = shown.id;
    if (request.kind != VALUE_OBJECT) return error_set(err, ERR_INVALID, "a callback is an object: `output`, `failure` or a message");
    bool is_report = value_get_text(request, "output") || value_get_text(request, "failure");
    return is_report ? report_take(http, &id, request, done, context, err) : message_take(http, &id, request, done, context, err);
}

static void callback_end(Callback *callback, Value is_taken)
{
    if (callback->done) callback->done(callback->context, is_taken);
    free(callback);
}

static void http_settled(Executor *executor, const AttemptId *id, bool is_taken)
{
    Callback **place = &((HttpExecutor *)executor)->callbacks, *callback;
    while (*place && !attempt_id_is(&(*place)->id, id)) place = &(*place)->next;
    if (!(callback = *place)) return;
    *place = callback->next;
    callback_end(callback, value_bool(is_taken && atomic_load(&callback->is_used)));
}

static void http_received(Executor *executor, uint64_t receipt, bool is_taken)
{
    Saying **place = &((HttpExecutor *)executor)->sayings, *saying;
    while (*place && (*place)->receipt != receipt) place = &(*place)->next;
    if (!(saying = *place)) return;
    *place = saying->next;
    saying->done(saying->context, value_bool(is_taken));
    free(saying);
}

/* A service that calls back does so to the next process, too. */
static uint32_t http_drain(Executor *executor)
{
    return atomic_load(&((HttpExecutor *)executor)->resting_count);
}

static void http_close(Executor *executor)
{
    HttpExecutor *http = (HttpExecutor *)executor;
    atomic_store(&http->must_close, true);
    if (http->multi) curl_multi_wakeup(http->multi);
    else CHECK(sem_post(&http->begun) == 0);
    thread_join(&http->thread);
    if (http->multi) {
        curl_multi_cleanup(http->multi);
        curl_global_cleanup();
    }
    sem_destroy(&http->begun);
    ring_deinit(&http->orders);
    for (Callback *callback; (callback = http->callbacks);) {
        http->callbacks = callback->next;
        callback_end(callback, value_null());
    }
    for (Saying *saying; (saying = http->sayings); free(saying)) {
        http->sayings = saying->next;
        saying->done(saying->context, value_null());
    }
    free(http);
}

/* --- the thread -------------------------------------------------------------------------------------------------- */

static void list_put(Transfer **list, Transfer *transfer)
{
    transfer->next = *list;
    *list = transfer;
}

static bool list_remove(Transfer **list, const Transfer *transfer)
{
    while (*list && *list != transfer) list = &(*list)->next;
    if (!*list) return false;
    *list = transfer->next;
    return true;
}

/* It is not under way any more: what is left of it is its report. */
static void transfer_leave(HttpExecutor *http, Transfer *transfer)
{
    if (transfer->easy) curl_multi_remove_handle(http->multi, transfer->easy);
    list_remove(&http->announced, transfer);
    list_remove(&http->under_way, transfer);
    if (list_remove(&http->resting, transfer)) atomic_fetch_sub(&http->resting_count, 1);
    list_put(&http->ended, transfer);
}

/* Its service has it and calls back. */
static void transfer_park(HttpExecutor *http, Transfer *transfer)
{
    curl_multi_remove_handle(http->multi, transfer->easy);
    list_remove(&http->under_way, transfer);
    list_put(&http->resting, transfer);
    atomic_fetch_add(&http->resting_count, 1);
    transfer_rest(transfer);
    transfer->owes_beat = http->owes_beats = true;
    if (transfer->due_ms < http->due_ms) http->due_ms = transfer->due_ms;
}

static Transfer *transfer_find(const HttpExecutor *http, const AttemptId *id)
{
    Transfer *lists[] = { http->announced, http->under_way, http->resting };
    for (unsigned i = 0; i < 3; i++)
        for (Transfer *transfer = lists[i]; transfer; transfer = transfer->next)
            if (attempt_id_is(&transfer->attempt.id, id)) return transfer;
    return NULL;
}

static void resting_expire(HttpExecutor *http)
{
    int64_t now_ms = clock_monotonic_ms();
    if (now_ms < http->due_ms) return;
    http->due_ms = INT64_MAX;
    for (Transfer *transfer = http->resting, *next; transfer; transfer = next) {
        next = transfer->next;
        if (transfer->due_ms > now_ms) {
            if (transfer->due_ms < http->due_ms) http->due_ms = transfer->due_ms;
            continue;
        }
        transfer_expire(transfer);
        transfer_leave(http, transfer);
    }
}

static bool beat(HttpExecutor *http, const Transfer *transfer)
{
    Notice notice = { .kind = NOTICE_HEARTBEAT, .id = transfer->attempt.id, .teller = &http->base, .value = value_null() };
    return http->sink.notice(http->sink.context, &notice);
}

/* Its service has it now, and has one lease to be heard of: from its answer, and from each message on (which the engine sees). False
 * where the sink is full. */
static bool resting_renew(HttpExecutor *http)
{
    for (Transfer *transfer = http->resting; transfer; transfer = transfer->next) {
        if (transfer->owes_beat && !beat(http, transfer)) return false;
        transfer->owes_beat = false;
    }
    http->owes_beats = false;
    return true;
}

/* F-086: a heartbeat is a sign of life, so only what this process itself is at is renewed by it. Of a service that has taken the work
 * nothing is known here but what it says. Where the sink is full, the next time is soon enough. */
static void leases_renew(HttpExecutor *http)
{
    int64_t now_ms = clock_monotonic_ms();
    if (!http->base.lease_ms || (now_ms < http->beat_ms && !http->owes_beats)) return;
    http->beat_ms = now_ms + http->base.lease_ms / 3;
    bool is_told = resting_renew(http);
    Transfer *lists[] = { http->announced, http->under_way };
    for (unsigned i = 0; i < 2; i++)
        for (const Transfer *transfer = lists[i]; is_told && transfer; transfer = transfer->next) is_told = beat(http, transfer);
    if (!is_told) http->beat_ms = now_ms + REFUSED_MS;
}

/* How long there is nothing to do, unless somebody wakes the thread. */
static int idle_ms(const HttpExecutor *http)
{
    int64_t due_ms = http->due_ms, beat_ms = http->announced || http->under_way || http->owes_beats ? http->beat_ms : INT64_MAX;
    if (http->base.lease_ms && beat_ms < due_ms) due_ms = beat_ms;
    int64_t left_ms = due_ms == INT64_MAX ? IDLE_MS : due_ms - clock_monotonic_ms();
    return left_ms <= 0 ? 0 : left_ms < IDLE_MS ? (int)left_ms : IDLE_MS;
}

static void transfer_send(HttpExecutor *http, Transfer *transfer)
{
    list_put(&http->under_way, transfer);
    CHECK(curl_multi_add_handle(http->multi, transfer->easy) == CURLM_OK);
}

/* What cannot be sent is no effect: it is announced when it is ready to go. */
static void transfer_take(HttpExecutor *http, Transfer *transfer)
{
    if (!transfer_begin(transfer)) list_put(&http->ended, transfer);
    else if (transfer->is_announced) list_put(&http->announced, transfer);
    else transfer_send(http, transfer);
}

static void transfer_recorded(HttpExecutor *http, const AttemptId *id)
{
    Transfer *transfer = http->announced;
    while (transfer && !attempt_id_is(&transfer->attempt.id, id)) transfer = transfer->next;
    if (!transfer) return;                              /* of what became of it, which nobody waits for; or it was ended meanwhile */
    list_remove(&http->announced, transfer);
    transfer->is_announcing = false;
    transfer_send(http, transfer);
}

static bool effect_send(HttpExecutor *http, const Transfer *transfer, Notice notice)
{
    notice.kind = NOTICE_EFFECT;
    notice.id = transfer->attempt.id;
    notice.teller = transfer->callback ? &http->base : NULL;
    return http->sink.notice(http->sink.context, &notice);
}

/* False where the sink is full: again soon. */
static bool announcements_send(HttpExecutor *http)
{
    for (Transfer *transfer = http->announced; transfer; transfer = transfer->next) {
        if (transfer->is_announcing) continue;
        if (!effect_send(http, transfer, (Notice){ .value = transfer_effect(transfer) })) return false;
        transfer->is_announcing = true;
    }
    return true;
}

static void orders_take(HttpExecutor *http)
{
    for (Order *order; (order = ring_take(&http->orders)); free(order)) {
        if (order->transfer) {
            transfer_take(http, order->transfer);
            continue;
        }
        if (order->is_recorded) {
            transfer_recorded(http, &order->ended);
            continue;
        }
        Transfer *transfer = transfer_find(http, &order->ended);
        if (order->is_earlier && !transfer) {
            list_put(&http->ended, transfer_earlier(&order->ended, &order->report));
            arena_deinit(&order->arena);
            continue;
        }
        if (transfer && order->has_report) {
            transfer_report(transfer, &order->report);
            atomic_store(&transfer->callback->is_used, true);
        } else if (transfer) {
            transfer_cancel(transfer);
        }
        if (transfer) transfer_leave(http, transfer);
        if (order->has_report || order->is_earlier) arena_deinit(&order->arena);
    }
}

static void answers_take(HttpExecutor *http)
{
    int left;
    for (CURLMsg *message; (message = curl_multi_info_read(http->multi, &left));) {
        if (message->msg != CURLMSG_DONE) continue;
        Transfer *transfer = NULL;
        CURLcode code = message->data.result;       /* gone with the handle */
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
        transfer_finish(transfer, code);
        if (transfer->has_report) transfer_leave(http, transfer);
        else transfer_park(http, transfer);
    }
}

/* False where the sink is full: again soon. */
static bool reports_send(HttpExecutor *http)
{
    for (Transfer *transfer; (transfer = http->ended);) {
        Notice fate = { .value = value_null(), .is_committed = transfer->fate == FATE_DONE, .is_withdrawn = transfer->fate == FATE_NONE };
        bool is_over = transfer->fate == FATE_UNKNOWN || (transfer->fate == FATE_DONE && !transfer->report.cause);     /* success says it */
        if (!is_over && !effect_send(http, transfer, fate)) return false;
        transfer->fate = FATE_UNKNOWN;
        Notice notice = { .kind = NOTICE_REPORT, .id = transfer->attempt.id, .report = transfer->report,
                          .teller = transfer->callback || transfer->is_earlier ? &http->base : NULL };
        if (!http->sink.notice(http->sink.context, &notice)) return false;
        bool had_room = transfer->is_earlier;
        list_remove(&http->ended, transfer);
        transfer_free(transfer);
        if (had_room) continue;
        atomic_fetch_sub(&http->active_count, 1);
        if (atomic_exchange(&http->has_refused, false)) http->owes_room = true;
    }
    Notice room = { .kind = NOTICE_ROOM };
    if (http->owes_room) http->owes_room = !http->sink.notice(http->sink.context, &room);
    return !http->owes_room;
}

static void transfer_all(void *context)
{
    HttpExecutor *http = context;
    while (sem_wait(&http->begun)) continue;            /* a signal interrupted it */
    while (!atomic_load(&http->must_close)) {
        orders_take(http);
        int running;
        curl_multi_perform(http->multi, &running);
        answers_take(http);
        resting_expire(http);
        leases_renew(http);
        bool is_told = announcements_send(http) && reports_send(http);
        curl_multi_poll(http->multi, NULL, 0, is_told ? idle_ms(http) : REFUSED_MS, NULL);
    }
    orders_take(http);
    for (Transfer *transfer; (transfer = http->announced ? http->announced : http->under_way ? http->under_way : http->resting);) {
        transfer_cancel(transfer);
        transfer_leave(http, transfer);
    }
    reports_send(http);
    for (Transfer *transfer; (transfer = http->ended);) {       /* nobody takes them: as after a crash */
        list_remove(&http->ended, transfer);
        transfer_free(transfer);
    }
}
