#include "exec/http/http.h"

#include <curl/curl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/ring.h"
#include "engine/attempt.h"
#include "engine/message.h"
#include "exec/http/transfer.h"
#include "os/clock.h"
#include "os/entropy.h"
#include "os/thread.h"
#include "rego/crypto/hash.h"
#include "value/json.h"

#define CAPACITY_DEFAULT 64u
#define IDLE_MS 60000                   /* the thread looks at least so often; it is woken when there is something */
#define CALLBACK_TOKEN_SIZE 32u         /* 128 bits */
#define REFUSED_MS 2                    /* until a notice that the sink refused is offered again */

typedef struct Order {
    Transfer *transfer;                 /* to send, or NULL: */
    AttemptId ended;                    /* to give up, or */
    bool has_report;                    /* to end with what its service called back with */
    Report report;
    Arena arena;                        /* of the report */
} Order;

/* Who may call back: one for each attempt of a service. The engine's thread has them, but for `is_used`. */
typedef struct Callback {
    struct Callback *next;
    AttemptId id;
    char token[CALLBACK_TOKEN_SIZE];    /* hexadecimal */
    atomic_bool is_used;                /* the attempt's report is what came by it */
    HttpDone done;                      /* who waits for that to be durable; NULL: nobody called back yet */
    void *context;
} Callback;

typedef struct HttpExecutor {
    Executor base;
    NoticeSink sink;
    CURLM *multi;
    Thread thread;
    Ring orders;
    atomic_uint active_count;
    atomic_bool has_refused, must_close;
    Transfer *under_way, *ended;        /* the thread's own; ended: with a report that was not taken */
    Transfer *resting;                  /* their service answered 202 and calls back */
    int64_t due_ms;                     /* when the first of them has to have done so; INT64_MAX: none rests */
    bool owes_room;
    Str callback_url;                   /* empty: none is called back */
    Callback *callbacks;                /* the engine's thread's */
} HttpExecutor;

static bool http_execute(Executor *executor, const Attempt *attempt);
static void http_end(Executor *executor, const AttemptId *id);
static void http_acknowledge(Executor *executor, const AttemptId *id);
static void http_settled(Executor *executor, const AttemptId *id, bool is_taken);
static void http_close(Executor *executor);
static const ExecutorOps http_ops = {
    .execute = http_execute, .end = http_end, .acknowledge = http_acknowledge, .settled = http_settled, .close = http_close,
};

static void transfer_all(void *context);

Status http_executor_open(const HttpOptions *options, Executor **out_executor, Error *err)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return error_set(err, ERR_UNAVAILABLE, "libcurl cannot be used");
    HttpExecutor *http = calloc(1, sizeof *http);
    CHECK(http != NULL);
    uint32_t capacity = options->capacity ? options->capacity : CAPACITY_DEFAULT;
    if (capacity > HTTP_COUNT_MAX) capacity = HTTP_COUNT_MAX;
    http->base = (Executor){ .ops = &http_ops, .name = options->name, .kind = STR("http"), .capacity = capacity };
    http->sink = options->sink;
    http->callback_url = options->callback;
    http->due_ms = INT64_MAX;
    http->multi = curl_multi_init();
    CHECK(http->multi != NULL);
    ring_init(&http->orders, 4 * capacity + 1024);
    Status status = thread_start(&http->thread, "http", transfer_all, http, err);
    if (status) {
        curl_multi_cleanup(http->multi);
        ring_deinit(&http->orders);
        free(http);
        curl_global_cleanup();
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

static int64_t monotonic_ms(void)
{
    return (int64_t)(clock_monotonic_ns() / 1000000);
}

static void order_put(HttpExecutor *http, Order order)
{
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

/* The attempt may be completed by whoever has its token. */
static void callback_add(HttpExecutor *http, Transfer *transfer)
{
    Callback *callback = calloc(1, sizeof *callback);
    CHECK(callback != NULL);
    uint8_t bytes[CALLBACK_TOKEN_SIZE / 2];
    entropy_bytes(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof callback->token; i++)
        callback->token[i] = "0123456789abcdef"[bytes[i / 2] >> (i % 2 ? 0 : 4) & 15];
    callback->id = transfer->attempt.id;
    callback->next = http->callbacks;
    http->callbacks = callback;
    transfer->callback = callback;
    Str url = arena_format(&transfer->arena, "%.*s/maestro/callbacks/%.*s", STR_ARG(http->callback_url), STR_ARG(http->base.name));
    Buf text = buf_on(arena_bytes(&transfer->arena, 6 * url.len + 128), 6 * url.len + 128);
    buf_text(&text, "{\"url\":");
    json_print_string(&text, url);
    buf_format(&text, ",\"token\":\"%.*s\"}", (int)CALLBACK_TOKEN_SIZE, callback->token);
    transfer->callback_text = buf_peek(&text);
    transfer->due_ms = monotonic_ms() + attempt_left_ms(&transfer->attempt, HTTP_TIMEOUT_MS_DEFAULT);
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
    order_put(http, (Order){ .transfer = transfer });
    return true;
}

static void http_end(Executor *executor, const AttemptId *id)
{
    order_put((HttpExecutor *)executor, (Order){ .ended = *id });
}

static void http_acknowledge(Executor *executor, const AttemptId *id)
{
}

Status http_callback(Executor *executor, Str token, Value request, HttpDone done, void *context, Error *err)
{
    HttpExecutor *http = (HttpExecutor *)executor;
    Callback *callback = http->callbacks;
    while (callback && !hash_equals((Str){ callback->token, sizeof callback->token }, token)) callback = callback->next;
    if (!callback) return error_set(err, ERR_NOT_FOUND, "no attempt that is under way has this token");
    if (request.kind != VALUE_OBJECT) return error_set(err, ERR_INVALID, "a report is an object with `output` or `failure`");
    Report report;
    Status status = message_report(request, &report, err);
    if (status) return status;
    if (callback->done) return error_set(err, ERR_CONFLICT, "a report of this attempt is being recorded");
    callback->done = done;
    callback->context = context;
    Order order = { .ended = callback->id, .has_report = true, .report = report };
    arena_init(&order.arena, SIZE_MAX);
    order.report.message = arena_copy(&order.arena, report.message);
    order.report.output = value_copy(&order.arena, report.output);
    order_put(http, order);
    return OK;
}

static void callback_end(Callback *callback, bool is_taken)
{
    if (callback->done) callback->done(callback->context, value_bool(is_taken && atomic_load(&callback->is_used)));
    free(callback);
}

static void http_settled(Executor *executor, const AttemptId *id, bool is_taken)
{
    Callback **place = &((HttpExecutor *)executor)->callbacks, *callback;
    while (*place && !attempt_id_is(&(*place)->id, id)) place = &(*place)->next;
    if (!(callback = *place)) return;
    *place = callback->next;
    callback_end(callback, is_taken);
}

static void http_close(Executor *executor)
{
    HttpExecutor *http = (HttpExecutor *)executor;
    atomic_store(&http->must_close, true);
    curl_multi_wakeup(http->multi);
    thread_join(&http->thread);
    curl_multi_cleanup(http->multi);
    ring_deinit(&http->orders);
    for (Callback *callback; (callback = http->callbacks);) {
        http->callbacks = callback->next;
        callback_end(callback, /* is_taken= */ false);
    }
    free(http);
    curl_global_cleanup();
}

/* --- the thread -------------------------------------------------------------------------------------------------- */

static void list_put(Transfer **list, Transfer *transfer)
{
    transfer->next = *list;
    *list = transfer;
}

static void list_remove(Transfer **list, const Transfer *transfer)
{
    while (*list && *list != transfer) list = &(*list)->next;
    if (*list) *list = transfer->next;
}

/* It is not under way any more: what is left of it is its report. */
static void transfer_leave(HttpExecutor *http, Transfer *transfer)
{
    if (transfer->easy) curl_multi_remove_handle(http->multi, transfer->easy);
    list_remove(&http->under_way, transfer);
    list_remove(&http->resting, transfer);
    list_put(&http->ended, transfer);
}

/* Its service has it and calls back. */
static void transfer_park(HttpExecutor *http, Transfer *transfer)
{
    curl_multi_remove_handle(http->multi, transfer->easy);
    list_remove(&http->under_way, transfer);
    list_put(&http->resting, transfer);
    transfer_rest(transfer);
    if (transfer->due_ms < http->due_ms) http->due_ms = transfer->due_ms;
}

static Transfer *transfer_find(const HttpExecutor *http, const AttemptId *id)
{
    Transfer *lists[] = { http->under_way, http->resting };
    for (unsigned i = 0; i < 2; i++)
        for (Transfer *transfer = lists[i]; transfer; transfer = transfer->next)
            if (attempt_id_is(&transfer->attempt.id, id)) return transfer;
    return NULL;
}

static void resting_expire(HttpExecutor *http)
{
    int64_t now_ms = monotonic_ms();
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

/* How long there is nothing to do, unless somebody wakes the thread. */
static int idle_ms(const HttpExecutor *http)
{
    int64_t left_ms = http->due_ms == INT64_MAX ? IDLE_MS : http->due_ms - monotonic_ms();
    return left_ms <= 0 ? 0 : left_ms < IDLE_MS ? (int)left_ms : IDLE_MS;
}

static void orders_take(HttpExecutor *http)
{
    for (Order *order; (order = ring_take(&http->orders)); free(order)) {
        if (order->transfer) {
            bool is_begun = transfer_begin(order->transfer);
            list_put(is_begun ? &http->under_way : &http->ended, order->transfer);
            if (is_begun) CHECK(curl_multi_add_handle(http->multi, order->transfer->easy) == CURLM_OK);
            continue;
        }
        Transfer *transfer = transfer_find(http, &order->ended);
        if (transfer && order->has_report) {
            transfer_report(transfer, &order->report);
            atomic_store(&transfer->callback->is_used, true);
        } else if (transfer) {
            transfer_cancel(transfer);
        }
        if (transfer) transfer_leave(http, transfer);
        if (order->has_report) arena_deinit(&order->arena);
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
        Notice notice = { .kind = NOTICE_REPORT, .id = transfer->attempt.id, .report = transfer->report,
                          .teller = transfer->callback ? &http->base : NULL };
        if (!http->sink.notice(http->sink.context, &notice)) return false;
        list_remove(&http->ended, transfer);
        transfer_free(transfer);
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
    while (!atomic_load(&http->must_close)) {
        orders_take(http);
        int running;
        curl_multi_perform(http->multi, &running);
        answers_take(http);
        resting_expire(http);
        bool is_told = reports_send(http);
        curl_multi_poll(http->multi, NULL, 0, is_told ? idle_ms(http) : REFUSED_MS, NULL);
    }
    orders_take(http);
    for (Transfer *transfer; (transfer = http->under_way ? http->under_way : http->resting);) {
        transfer_cancel(transfer);
        transfer_leave(http, transfer);
    }
    reports_send(http);
    for (Transfer *transfer; (transfer = http->ended);) {       /* nobody takes them: as after a crash */
        list_remove(&http->ended, transfer);
        transfer_free(transfer);
    }
}
