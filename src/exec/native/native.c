#include "exec/native/native.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/limits.h"
#include "engine/attempt.h"
#include "os/clock.h"
#include "os/thread.h"

#define REFUSED_WAIT_MS 1               /* until a notice that the sink refused is offered again */

struct NativeCall {
    struct Pool *pool;
    const NativeFunction *function;     /* NULL: the runner is not registered */
    Arena arena;
    Attempt attempt;
    Report report;
    NativeCall *next;
    bool is_quick, is_ended;            /* is_ended and ack_count: under the pool's lock */
    uint64_t ack_count;
};

typedef struct CallList { NativeCall *first, *last; } CallList;

/* Everything a thread touches. Left behind where a function does not return, so it is apart from the executor. */
typedef struct Pool {
    pthread_mutex_t lock;
    pthread_cond_t has_work, has_news;  /* for threads; for functions that wait, and for closing */
    NoticeSink sink;
    CallList waiting, running;          /* running: the functions under way, and reports that the sink refused */
    uint32_t call_count, thread_count;
    bool is_closing, is_closed;         /* no new work; nobody listens, and the last thread frees it */
    bool has_refused;
} Pool;

typedef struct NativeExecutor {
    Executor base;
    Pool *pool;
    const NativeFunction *functions;
    uint32_t function_count, thread_count;
    int64_t close_ms;
    CallList refused;                   /* reports of quick functions that the sink did not take; the engine's thread */
    Thread threads[NATIVE_THREAD_COUNT_MAX];
} NativeExecutor;

static bool native_execute(Executor *executor, const Attempt *attempt);
static void native_end(Executor *executor, const AttemptId *id);
static void native_acknowledge(Executor *executor, const AttemptId *id);
static void native_turn(Executor *executor, int64_t steady_ms);
static void native_close(Executor *executor);
static const ExecutorOps native_ops = {
    .execute = native_execute, .end = native_end, .acknowledge = native_acknowledge, .turn = native_turn,
    .close = native_close,
};

static void work(void *pool_pointer);

/* --- make -------------------------------------------------------------------------------------------------------- */

static Pool *pool_new(NoticeSink sink)
{
    Pool *pool = calloc(1, sizeof *pool);
    CHECK(pool != NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    CHECK(pthread_mutex_init(&pool->lock, NULL) == 0);
    CHECK(pthread_cond_init(&pool->has_work, &monotonic) == 0);
    CHECK(pthread_cond_init(&pool->has_news, &monotonic) == 0);
    pthread_condattr_destroy(&monotonic);
    pool->sink = sink;
    return pool;
}

static void pool_free(Pool *pool)
{
    pthread_cond_destroy(&pool->has_work);
    pthread_cond_destroy(&pool->has_news);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

Status native_executor_open(const NativeOptions *options, Executor **out_executor, Error *err)
{
    if (options->thread_count > NATIVE_THREAD_COUNT_MAX)
        return error_set(err, ERR_LIMIT, "%u threads exceed NATIVE_THREAD_COUNT_MAX (%u)", options->thread_count,
                         NATIVE_THREAD_COUNT_MAX);
    NativeExecutor *native = calloc(1, sizeof *native);
    CHECK(native != NULL);
    uint32_t capacity = options->capacity ? options->capacity : NATIVE_WAITING_COUNT_MAX;
    native->base = (Executor){ .ops = &native_ops, .name = options->name, .kind = STR("native"), .is_keeper = true,
                               .capacity = capacity < NATIVE_WAITING_COUNT_MAX ? capacity : NATIVE_WAITING_COUNT_MAX };
    native->functions = options->functions;
    native->function_count = options->function_count;
    native->close_ms = options->close_ms ? options->close_ms : NATIVE_CLOSE_MS_DEFAULT;
    native->pool = pool_new(options->sink);
    while (native->thread_count < options->thread_count) {
        native->pool->thread_count++;
        Status status = thread_start(&native->threads[native->thread_count], "native", work, native->pool, err);
        if (!status) {
            native->thread_count++;
            continue;
        }
        native->pool->thread_count--;
        native_close(&native->base);
        return status;
    }
    *out_executor = &native->base;
    return OK;
}

/* --- lists ------------------------------------------------------------------------------------------------------- */

static void list_add(CallList *list, NativeCall *call)
{
    call->next = NULL;
    if (list->last) list->last->next = call;
    else list->first = call;
    list->last = call;
}

static NativeCall *list_take(CallList *list)
{
    NativeCall *call = list->first;
    if (!call) return NULL;
    list->first = call->next;
    if (!list->first) list->last = NULL;
    return call;
}

static void list_remove(CallList *list, NativeCall *call)
{
    CallList kept = { 0 };
    for (NativeCall *each; (each = list_take(list));)
        if (each != call) list_add(&kept, each);
    *list = kept;
}

static NativeCall *list_find(const CallList *list, const AttemptId *id)
{
    NativeCall *call = list->first;
    while (call && !attempt_id_is(&call->attempt.id, id)) call = call->next;
    return call;
}

static void call_free(NativeCall *call)
{
    arena_deinit(&call->arena);
    free(call);
}

/* --- calls ------------------------------------------------------------------------------------------------------- */

static const Cause causes[STATUS_COUNT] = {
    [ERR_INVALID] = CAUSE_INPUT_INVALID, [ERR_DENIED] = CAUSE_POLICY,      [ERR_NOT_FOUND] = CAUSE_ERROR,
    [ERR_CONFLICT] = CAUSE_ERROR,        [ERR_LIMIT] = CAUSE_PERMANENT,    [ERR_UNAVAILABLE] = CAUSE_TRANSIENT,
    [ERR_CORRUPT] = CAUSE_PERMANENT,
};

static const Report not_begun = { .cause = CAUSE_CANCELLED, .message = STR_INIT("it was ended before it began") };

static void call_run(NativeCall *call)
{
    if (!call->function) {
        call->report = (Report){ .cause = CAUSE_PERMANENT,
            .message = arena_format(&call->arena, "no function is registered for the runner %.*s", STR_ARG(call->attempt.runner)) };
        return;
    }
    Status status = call->function->run(call->function->context, call, &call->attempt, &call->arena, &call->report);
    if (!call->is_quick && status && !call->report.cause && native_call_is_ended(call)) call->report.cause = CAUSE_CANCELLED;
    if (status && !call->report.cause) call->report.cause = causes[status];
    if (call->report.cause && !call->report.message.len) call->report.message = str_of(status_name(status));
}

static bool report_send(NativeCall *call)
{
    Notice notice = { .kind = NOTICE_REPORT, .id = call->attempt.id, .report = call->report };
    return call->pool->sink.notice(call->pool->sink.context, &notice);
}

/* Under the lock: one attempt less, and whoever was refused is told. */
static void call_leave(Pool *pool)
{
    pool->call_count--;
    if (!pool->has_refused || pool->is_closed) return;
    Notice room = { .kind = NOTICE_ROOM };
    pool->has_refused = !pool->sink.notice(pool->sink.context, &room);
}

/* --- the engine's thread ----------------------------------------------------------------------------------------- */

static const NativeFunction *function_find(const NativeExecutor *native, Str runner)
{
    for (uint32_t i = 0; i < native->function_count; i++)
        if (str_is(native->functions[i].runner, runner)) return &native->functions[i];
    return NULL;
}

static NativeCall *call_new(NativeExecutor *native, const Attempt *attempt)
{
    NativeCall *call = calloc(1, sizeof *call);
    CHECK(call != NULL);
    arena_init(&call->arena, SIZE_MAX);
    call->pool = native->pool;
    call->function = function_find(native, attempt->runner);
    call->is_quick = native->thread_count == 0 || !call->function || call->function->is_quick;
    return call;
}

/* The attempt is borrowed while the function runs. Its report may point into it, and is made its own before it waits. */
static void call_run_here(NativeExecutor *native, NativeCall *call, const Attempt *attempt)
{
    call->attempt = *attempt;
    call_run(call);
    call->report.message = arena_copy(&call->arena, call->report.message);
    call->report.output = value_copy(&call->arena, call->report.output);
    list_add(&native->refused, call);
    native_turn(&native->base, /* steady_ms= */ 0);
}

static bool native_execute(Executor *executor, const Attempt *attempt)
{
    NativeExecutor *native = (NativeExecutor *)executor;
    Pool *pool = native->pool;
    pthread_mutex_lock(&pool->lock);
    bool has_room = pool->call_count < native->base.capacity;
    if (has_room) pool->call_count++;
    else pool->has_refused = true;
    pthread_mutex_unlock(&pool->lock);
    if (!has_room) return false;

    NativeCall *call = call_new(native, attempt);
    if (call->is_quick) {
        call_run_here(native, call, attempt);
        return true;
    }
    call->attempt = attempt_copy(&call->arena, attempt);
    pthread_mutex_lock(&pool->lock);
    list_add(&pool->waiting, call);
    pthread_cond_signal(&pool->has_work);
    pthread_mutex_unlock(&pool->lock);
    return true;
}

/* Reports of quick functions, in order; what the sink refuses waits for the next turn. */
static void native_turn(Executor *executor, int64_t steady_ms)
{
    NativeExecutor *native = (NativeExecutor *)executor;
    for (NativeCall *call; (call = native->refused.first) && report_send(call);) {
        list_take(&native->refused);
        call_free(call);
        pthread_mutex_lock(&native->pool->lock);
        call_leave(native->pool);
        pthread_mutex_unlock(&native->pool->lock);
    }
}

static void native_end(Executor *executor, const AttemptId *id)
{
    Pool *pool = ((NativeExecutor *)executor)->pool;
    pthread_mutex_lock(&pool->lock);
    NativeCall *waiting = list_find(&pool->waiting, id), *running = list_find(&pool->running, id);
    if (running) running->is_ended = true;
    if (waiting) {
        waiting->is_ended = true;
        waiting->report = not_begun;
        if (report_send(waiting)) {         /* else the thread that takes it says so */
            list_remove(&pool->waiting, waiting);
            call_leave(pool);
            call_free(waiting);
        }
    }
    pthread_cond_broadcast(&pool->has_news);
    pthread_mutex_unlock(&pool->lock);
}

static void native_acknowledge(Executor *executor, const AttemptId *id)
{
    Pool *pool = ((NativeExecutor *)executor)->pool;
    pthread_mutex_lock(&pool->lock);
    NativeCall *call = list_find(&pool->running, id);
    if (call) call->ack_count++;
    pthread_cond_broadcast(&pool->has_news);
    pthread_mutex_unlock(&pool->lock);
}

/* True where every thread has ended within the time. Either way nobody uses the sink afterwards. */
static bool threads_end(Pool *pool, int64_t close_ms)
{
    struct timespec end = clock_after(close_ms);
    pthread_mutex_lock(&pool->lock);
    pool->is_closing = true;
    for (NativeCall *call = pool->running.first; call; call = call->next) call->is_ended = true;
    pthread_cond_broadcast(&pool->has_work);
    pthread_cond_broadcast(&pool->has_news);
    int over = 0;
    while (pool->thread_count > 0 && !over) over = pthread_cond_timedwait(&pool->has_news, &pool->lock, &end);
    bool is_empty = pool->thread_count == 0;
    pool->is_closed = true;
    for (NativeCall *call; (call = list_take(&pool->waiting));) call_free(call);
    pthread_mutex_unlock(&pool->lock);
    return is_empty;
}

static void native_close(Executor *executor)
{
    NativeExecutor *native = (NativeExecutor *)executor;
    bool is_empty = threads_end(native->pool, native->close_ms);
    for (uint32_t i = 0; i < native->thread_count; i++) {
        if (is_empty) thread_join(&native->threads[i]);
        else thread_leave(&native->threads[i]);
    }
    for (NativeCall *call; (call = list_take(&native->refused));) call_free(call);
    if (is_empty) pool_free(native->pool);
    free(native);
}

/* --- the pool's threads ------------------------------------------------------------------------------------------ */

/* Offers a notice until it is taken. Under the lock, which is free while it waits; false once nobody listens. */
static bool notice_offer(Pool *pool, const Notice *notice, const NativeCall *call)
{
    for (;;) {
        if (pool->is_closed) return false;
        if (call && call->is_ended) return false;
        if (pool->sink.notice(pool->sink.context, notice)) return true;
        if (pool->is_closing) return false;
        struct timespec until = clock_after(REFUSED_WAIT_MS);
        pthread_cond_timedwait(&pool->has_news, &pool->lock, &until);
    }
}

/* One that was ended before it began is not begun. */
static void call_perform(Pool *pool, NativeCall *call)
{
    list_add(&pool->running, call);
    bool is_ended = call->is_ended;
    pthread_mutex_unlock(&pool->lock);
    if (is_ended) call->report = not_begun;
    else call_run(call);
    pthread_mutex_lock(&pool->lock);
    Notice notice = { .kind = NOTICE_REPORT, .id = call->attempt.id, .report = call->report };
    notice_offer(pool, &notice, /* call= */ NULL);
    list_remove(&pool->running, call);
    call_leave(pool);
    call_free(call);
}

static void work(void *pool_pointer)
{
    Pool *pool = pool_pointer;
    pthread_mutex_lock(&pool->lock);
    while (!pool->is_closing) {
        NativeCall *call = list_take(&pool->waiting);
        if (call) call_perform(pool, call);
        else pthread_cond_wait(&pool->has_work, &pool->lock);
    }
    bool is_last = --pool->thread_count == 0 && pool->is_closed;
    pthread_cond_broadcast(&pool->has_news);
    pthread_mutex_unlock(&pool->lock);
    if (is_last) pool_free(pool);           /* it was left behind: nobody else has it any more */
}

/* --- functions while they run ------------------------------------------------------------------------------------ */

bool native_call_is_ended(const NativeCall *call)
{
    pthread_mutex_lock(&call->pool->lock);
    bool is_ended = call->is_ended || call->pool->is_closing;
    pthread_mutex_unlock(&call->pool->lock);
    return is_ended;
}

bool native_call_notice(NativeCall *call, const Notice *notice)
{
    CHECK(notice->kind != NOTICE_REPORT && notice->kind != NOTICE_ROOM);
    Notice own = *notice;
    own.id = call->attempt.id;
    if (call->is_quick) return call->pool->sink.notice(call->pool->sink.context, &own);
    pthread_mutex_lock(&call->pool->lock);
    bool is_taken = notice_offer(call->pool, &own, call);
    pthread_mutex_unlock(&call->pool->lock);
    return is_taken;
}

void native_call_log(NativeCall *call, Str line, bool is_error)
{
    native_call_notice(call, &(Notice){ .kind = NOTICE_LOG, .text = line, .is_error = is_error });
}

bool native_call_effect(NativeCall *call, const Notice *effect)
{
    if (call->is_quick) return false;
    Pool *pool = call->pool;
    Notice notice = *effect;
    notice.id = call->attempt.id;
    pthread_mutex_lock(&pool->lock);
    uint64_t wanted = call->ack_count + 1;
    bool is_taken = notice_offer(pool, &notice, call);
    while (is_taken && call->ack_count < wanted && !call->is_ended && !pool->is_closing)
        pthread_cond_wait(&pool->has_news, &pool->lock);
    bool is_durable = is_taken && call->ack_count >= wanted;
    pthread_mutex_unlock(&pool->lock);
    return is_durable;
}
