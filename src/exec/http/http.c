#include "exec/http/http.h"

#include <curl/curl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/ring.h"
#include "engine/attempt.h"
#include "exec/http/transfer.h"
#include "os/thread.h"

#define CAPACITY_DEFAULT 64u
#define IDLE_MS 60000                   /* the thread looks at least so often; it is woken when there is something */
#define REFUSED_MS 2                    /* until a notice that the sink refused is offered again */

typedef struct Order {
    Transfer *transfer;                 /* to send, or NULL: */
    AttemptId ended;                    /* to give up */
} Order;

typedef struct HttpExecutor {
    Executor base;
    NoticeSink sink;
    CURLM *multi;
    Thread thread;
    Ring orders;
    atomic_uint active_count;
    atomic_bool has_refused, must_close;
    Transfer *under_way, *ended;        /* the thread's own; ended: with a report that was not taken */
    bool owes_room;
} HttpExecutor;

static bool http_execute(Executor *executor, const Attempt *attempt);
static void http_end(Executor *executor, const AttemptId *id);
static void http_acknowledge(Executor *executor, const AttemptId *id);
static void http_close(Executor *executor);
static const ExecutorOps http_ops = {
    .execute = http_execute, .end = http_end, .acknowledge = http_acknowledge, .close = http_close,
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

/* --- the engine's thread ----------------------------------------------------------------------------------------- */

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

static bool http_execute(Executor *executor, const Attempt *attempt)
{
    HttpExecutor *http = (HttpExecutor *)executor;
    if (!has_room(http)) {
        atomic_store(&http->has_refused, true);
        if (!has_room(http)) return false;
        atomic_store(&http->has_refused, false);
    }
    atomic_fetch_add(&http->active_count, 1);
    order_put(http, (Order){ .transfer = transfer_new(attempt) });
    return true;
}

static void http_end(Executor *executor, const AttemptId *id)
{
    order_put((HttpExecutor *)executor, (Order){ .ended = *id });
}

static void http_acknowledge(Executor *executor, const AttemptId *id)
{
}

static void http_close(Executor *executor)
{
    HttpExecutor *http = (HttpExecutor *)executor;
    atomic_store(&http->must_close, true);
    curl_multi_wakeup(http->multi);
    thread_join(&http->thread);
    curl_multi_cleanup(http->multi);
    ring_deinit(&http->orders);
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
    curl_multi_remove_handle(http->multi, transfer->easy);
    list_remove(&http->under_way, transfer);
    list_put(&http->ended, transfer);
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
        for (Transfer *transfer = http->under_way; transfer; transfer = transfer->next) {
            if (!attempt_id_is(&transfer->attempt.id, &order->ended)) continue;
            transfer_cancel(transfer);
            transfer_leave(http, transfer);
            break;
        }
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
        transfer_leave(http, transfer);
    }
}

/* False where the sink is full: again soon. */
static bool reports_send(HttpExecutor *http)
{
    for (Transfer *transfer; (transfer = http->ended);) {
        Notice notice = { .kind = NOTICE_REPORT, .id = transfer->attempt.id, .report = transfer->report };
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
        bool is_told = reports_send(http);
        curl_multi_poll(http->multi, NULL, 0, is_told ? IDLE_MS : REFUSED_MS, NULL);
    }
    orders_take(http);
    for (Transfer *transfer; (transfer = http->under_way);) {
        transfer_cancel(transfer);
        transfer_leave(http, transfer);
    }
    reports_send(http);
    for (Transfer *transfer; (transfer = http->ended);) {       /* nobody takes them: as after a crash */
        list_remove(&http->ended, transfer);
        transfer_free(transfer);
    }
}
