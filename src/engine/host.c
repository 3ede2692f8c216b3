#include "engine/host.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/limits.h"
#include "os/clock.h"
#include "os/poll_set.h"

typedef struct Watch { int fd; HostWatch watch; void *context; } Watch;

struct Host {
    Engine *engine;
    NoticeRing *notices;
    Store *store;
    Executor *const *executors;
    uint32_t executor_count;
    Poll poll;
    Watch watches[HOST_WATCH_COUNT_MAX];
    int64_t turned_ms;                  /* by the steady clock, when it last listened */
    bool has_more;
};

/* Tokens of the poll: what the host itself waits for, then its callers' watches. */
enum { TOKEN_ENGINE, TOKEN_WATCH };

static EngineClock read_clock(void)
{
    return (EngineClock){ .wall_ms = clock_realtime_ms(), .steady_ms = clock_monotonic_ms() };
}

static Status watch_own(Host *host, Error *err)
{
    Status status = poll_add(&host->poll, notice_ring_fd(host->notices), TOKEN_ENGINE, err);
    int fd = store_wake_fd(host->store);
    if (!status && fd >= 0) status = poll_add(&host->poll, fd, TOKEN_ENGINE, err);
    for (uint32_t i = 0; !status && i < host->executor_count; i++) {
        Executor *executor = host->executors[i];
        fd = executor->ops->wake_fd ? executor->ops->wake_fd(executor) : -1;
        if (fd >= 0) status = poll_add(&host->poll, fd, TOKEN_ENGINE, err);
    }
    return status;
}

Status host_open(const HostOptions *options, Host **out_host, Error *err)
{
    Host *host = calloc(1, sizeof *host);
    CHECK(host);
    host->notices = options->notices;
    host->store = options->engine.store;
    host->executors = options->engine.executors;
    host->executor_count = options->engine.executor_count;
    for (uint32_t i = 0; i < HOST_WATCH_COUNT_MAX; i++) host->watches[i].fd = -1;
    EngineClock clock = read_clock();
    Status status = poll_open(&host->poll, err);
    if (!status) status = watch_own(host, err);
    store_lend(host->store);
    if (!status) status = engine_open(&options->engine, &clock, &host->engine, err);
    if (status) {
        host_close(host);
        return status;
    }
    host->has_more = true;
    host->turned_ms = clock.steady_ms;
    *out_host = host;
    return OK;
}

/* Whoever dies instead leaves attempts that count as lost. */
static void give_back(Host *host)
{
    int64_t end_ms = read_clock().steady_ms + HOST_RELEASE_MS_MAX;
    while (host->engine && !engine_trouble(host->engine) && !engine_release(host->engine) && read_clock().steady_ms < end_ms)
        host_turn(host, 100);
}

/* Batches that the store has belong to the engine: they come back before it ends. */
static void finish_commits(Host *host)
{
    while (host->engine && engine_stats(host->engine).batch_under_way) host_turn(host, 100);
}

void host_close(Host *host)
{
    if (!host) return;
    give_back(host);
    finish_commits(host);
    engine_close(host->engine);
    poll_close(&host->poll);
    free(host);
}

Engine *host_engine(Host *host)
{
    return host->engine;
}

Status host_watch(Host *host, int fd, HostWatch watch, void *context, Error *err)
{
    for (uint32_t i = 0; i < HOST_WATCH_COUNT_MAX; i++) {
        if (host->watches[i].fd >= 0) continue;
        Status status = poll_add(&host->poll, fd, TOKEN_WATCH + i, err);
        if (!status) host->watches[i] = (Watch){ fd, watch, context };
        return status;
    }
    return error_set(err, ERR_LIMIT, "more than %u descriptors are waited for", HOST_WATCH_COUNT_MAX);
}

void host_unwatch(Host *host, int fd)
{
    for (uint32_t i = 0; i < HOST_WATCH_COUNT_MAX; i++)
        if (host->watches[i].fd == fd) {
            poll_remove(&host->poll, fd);
            host->watches[i].fd = -1;
        }
}

static int64_t wait_ms(const Host *host, int64_t timeout_ms)
{
    if (host->has_more) return 0;
    if (store_wake_fd(host->store) < 0 && engine_waits_for_store(host->engine)) return 0;      /* it completes when polled */
    int64_t due = engine_due_ms(host->engine);
    if (due == INT64_MAX) return timeout_ms;
    int64_t left = due - clock_realtime_ms();
    if (left < 0) left = 0;
    return timeout_ms < 0 || left < timeout_ms ? left : timeout_ms;
}

/* A process that was stopped, or a machine that had no time for it: what workers said meanwhile still lies in their connections, and is not
 * read by the time that their leases would be looked at. Who waits without end has nobody whose lease could run out. */
static void take_lateness(Host *host, int64_t asked_ms, const EngineClock *clock)
{
    bool is_late = asked_ms >= 0 && clock->steady_ms - host->turned_ms - asked_ms > LEASE_SKIP_MS;
    if (is_late) engine_keep_leases(host->engine);
    host->turned_ms = clock->steady_ms;
}

void host_turn(Host *host, int64_t timeout_ms)
{
    uint64_t tokens[HOST_WATCH_COUNT_MAX + 1];
    int64_t asked_ms = wait_ms(host, timeout_ms);
    uint32_t count = poll_wait(&host->poll, asked_ms, tokens, HOST_WATCH_COUNT_MAX + 1);
    for (uint32_t i = 0; i < count; i++) {
        if (tokens[i] < TOKEN_WATCH) continue;
        const Watch *watch = &host->watches[tokens[i] - TOKEN_WATCH];
        if (watch->fd >= 0) watch->watch(watch->context, watch->fd);
    }
    notice_ring_lower(host->notices);
    EngineClock clock = read_clock();
    engine_tick(host->engine, &clock);          /* what was said while it slept was not said before that */
    take_lateness(host, asked_ms, &clock);
    Notice notice;
    while (notice_ring_take(host->notices, &notice)) engine_notice(host->engine, &notice);
    clock = read_clock();
    host->has_more = engine_turn(host->engine, &clock);
    if (store_help(host->store, !host->has_more && !notice_ring_is_raised(host->notices))) host->has_more = true;
}
