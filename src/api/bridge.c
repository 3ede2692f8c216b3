#include "api/bridge.h"

#include <pthread.h>
#include <stdlib.h>

#include "api/petition.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/ring.h"
#include "os/wake.h"
#include "value/json.h"

typedef struct Job {
    Bridge *bridge;
    Arena arena;                    /* of the request */
    Value request;
    BridgeDone done;
    void *context;
    BridgeAnswer answer;
    ExchangeDone exchanged;         /* of an exchange; NULL: a petition */
    ExchangeAsk exchange;
    Buf text;                       /* its answer */
} Job;

struct Bridge {
    Host *host;
    BridgeOptions options;
    Ring asked, answered, news;
    Wake to_engine, to_server;
    atomic_uint listener_count;
    atomic_bool has_missed;         /* news did not fit */
    uint32_t job_count;             /* under way; the server's */
    bool is_closed;
    pthread_mutex_t mutex;          /* of the state below */
    BridgeState state;
};

/* --- the engine's thread --------------------------------------------------------------------------------------------------------- */

static void keep_state(Bridge *bridge)
{
    Engine *engine = host_engine(bridge->host);
    BridgeState state = { engine_stats(engine), engine_state(engine) };
    pthread_mutex_lock(&bridge->mutex);
    bridge->state = state;
    pthread_mutex_unlock(&bridge->mutex);
}

static void send_back(Job *job)
{
    CHECK(ring_put(&job->bridge->answered, job));       /* as many as may be asked fit */
    wake_raise(&job->bridge->to_server);
}

static void take_reply(void *context, const EngineReply *reply)
{
    Job *job = context;
    job->answer = (BridgeAnswer){ .status = reply->status, .run_id = reply->run_id, .run_no = reply->run_no,
                                  .state = (RunState)reply->run_state, .resolution = (Resolution)reply->resolution,
                                  .is_repeat = reply->is_repeat, .is_noop = reply->is_noop,
                                  .is_other_request = reply->is_other_request };
    if (reply->status) job->answer.error = *reply->error;
    send_back(job);
}

static void take_exchange(void *context, Value answer)
{
    Job *job = context;
    Error err;
    buf_init(&job->text, JSON_SIZE_MAX);
    job->answer.status = json_print(&job->text, answer, JSON_COMPACT, &err);
    if (job->answer.status) job->answer.error = err;
    send_back(job);
}

static Status send_job(Bridge *bridge, Job *job, Error *err)
{
    if (!job->exchanged) return petition_send(host_engine(bridge->host), job->request, take_reply, job, err);
    if (!bridge->options.exchange) return error_set(err, ERR_NOT_FOUND, "this server has no worker executors");
    return bridge->options.exchange(bridge->options.exchange_context, &job->exchange, take_exchange, job, err);
}

static void take_jobs(void *context, int fd)
{
    Bridge *bridge = context;
    (void)fd;
    wake_lower(&bridge->to_engine);
    for (Job *job; (job = ring_take(&bridge->asked));) {
        Error err = { 0 };
        Status status = send_job(bridge, job, &err);
        if (!status) continue;
        job->answer = (BridgeAnswer){ .status = status, .error = err };
        send_back(job);
    }
    keep_state(bridge);
}

static void take_observation(void *context, const Observation *observation)
{
    Bridge *bridge = context;
    if (observation->kind == OBSERVE_EVENTS) keep_state(bridge);
    if (observation->kind == OBSERVE_PROGRESS || !atomic_load_explicit(&bridge->listener_count, memory_order_acquire)) return;
    uintptr_t item = (uintptr_t)observation->run->run_no << 1 | (observation->kind == OBSERVE_LOG);
    if (!ring_put(&bridge->news, (void *)item)) atomic_store_explicit(&bridge->has_missed, true, memory_order_release);
    wake_raise(&bridge->to_server);
}

Status bridge_new(const BridgeOptions *options, Bridge **out_bridge, Error *err)
{
    Bridge *bridge = calloc(1, sizeof *bridge);
    CHECK(bridge);
    Host *host = options->host;
    bridge->host = host;
    bridge->options = *options;
    ring_init(&bridge->asked, API_RING_COUNT);
    ring_init(&bridge->answered, API_RING_COUNT);
    ring_init(&bridge->news, API_RING_COUNT);
    pthread_mutex_init(&bridge->mutex, NULL);
    bridge->to_engine.fd = bridge->to_server.fd = -1;
    Status status = wake_open(&bridge->to_engine, err);
    if (!status) status = wake_open(&bridge->to_server, err);
    if (!status) status = host_watch(host, wake_fd(&bridge->to_engine), take_jobs, bridge, err);
    if (status) {
        bridge_free(bridge);
        return status;
    }
    engine_observe(host_engine(host), take_observation, bridge);
    keep_state(bridge);
    *out_bridge = bridge;
    return OK;
}

void bridge_close(Bridge *bridge)
{
    if (!bridge || bridge->is_closed) return;
    bridge->is_closed = true;
    host_unwatch(bridge->host, wake_fd(&bridge->to_engine));
    engine_observe(host_engine(bridge->host), NULL, NULL);
}

static void tell(Job *job)
{
    if (job->exchanged) job->exchanged(job->context, job->answer.status, &job->answer.error, buf_peek(&job->text));
    else job->done(job->context, &job->answer);
}

static void job_free(Job *job)
{
    buf_deinit(&job->text);
    arena_deinit(&job->arena);
    free(job);
}

void bridge_free(Bridge *bridge)
{
    if (!bridge) return;
    /* Whoever asked is told, and lets go of what it kept for the answer. */
    for (Job *job; (job = ring_take(&bridge->asked)) || (job = ring_take(&bridge->answered));) {
        tell(job);
        job_free(job);
    }
    ring_deinit(&bridge->asked);
    ring_deinit(&bridge->answered);
    ring_deinit(&bridge->news);
    if (bridge->to_engine.fd >= 0) wake_close(&bridge->to_engine);
    if (bridge->to_server.fd >= 0) wake_close(&bridge->to_server);
    pthread_mutex_destroy(&bridge->mutex);
    free(bridge);
}

/* --- the server's thread --------------------------------------------------------------------------------------------------------- */

static Job *job_new(Bridge *bridge, Value request, void *context)
{
    Job *job = calloc(1, sizeof *job);
    CHECK(job);
    *job = (Job){ .bridge = bridge, .context = context };
    arena_init(&job->arena, SIZE_MAX);
    job->request = value_copy(&job->arena, request);
    return job;
}

static void job_send(Job *job)
{
    CHECK(ring_put(&job->bridge->asked, job));
    job->bridge->job_count++;
    wake_raise(&job->bridge->to_engine);
}

bool bridge_ask(Bridge *bridge, Value request, BridgeDone done, void *context)
{
    if (bridge->job_count >= API_RING_COUNT) return false;
    Job *job = job_new(bridge, request, context);
    job->done = done;
    job_send(job);
    return true;
}

bool bridge_exchange(Bridge *bridge, const ExchangeAsk *ask, ExchangeDone done, void *context)
{
    if (bridge->job_count >= API_RING_COUNT) return false;
    Job *job = job_new(bridge, ask->request, context);
    job->exchanged = done;
    job->exchange = (ExchangeAsk){ arena_copy(&job->arena, ask->executor), arena_copy(&job->arena, ask->worker),
                                   arena_copy(&job->arena, ask->tenant), job->request,
                                   arena_copy(&job->arena, ask->token) };
    job_send(job);
    return true;
}

int bridge_fd(const Bridge *bridge) { return wake_fd(&bridge->to_server); }

void bridge_take(Bridge *bridge, BridgeNews news, void *context)
{
    wake_lower(&bridge->to_server);
    for (Job *job; (job = ring_take(&bridge->answered));) {
        bridge->job_count--;
        tell(job);
        job_free(job);
    }
    for (void *item; (item = ring_take(&bridge->news));) news(context, (uint64_t)((uintptr_t)item >> 1), (uintptr_t)item & 1);
    if (atomic_exchange_explicit(&bridge->has_missed, false, memory_order_acq_rel)) news(context, 0, /* is_log= */ false);
}

void bridge_listen(Bridge *bridge, int change)
{
    atomic_fetch_add_explicit(&bridge->listener_count, (unsigned)change, memory_order_acq_rel);
}

BridgeState bridge_state(Bridge *bridge)
{
    pthread_mutex_lock(&bridge->mutex);
    BridgeState state = bridge->state;
    pthread_mutex_unlock(&bridge->mutex);
    return state;
}
