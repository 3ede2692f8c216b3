#include "api/bridge.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/petition.h"
#include "api/run_counts.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/ring.h"
#include "os/wake.h"
#include "value/json.h"

typedef struct Job {
    struct Job *next;               /* of those that are about to be told */
    struct Job *later, *earlier;    /* of all that there are; the server's */
    Bridge *bridge;
    Arena arena;                    /* of the request */
    Value request;
    EnginePlan *plan;               /* of a start, until the engine has it; NULL: none */
    BridgeDone done;
    void *context;
    BridgeAnswer answer;
    ExchangeDone exchanged;         /* of an exchange; NULL: a petition */
    ExchangeAsk exchange;
    bool is_look;                   /* at tenants: exchange.tenant */
    Buf text;                       /* its answer */
    uint32_t order_count;           /* leases and cancels in that */
    bool is_withdrawn;              /* the engine is told so, or knows; the server's */
    bool is_given_back;             /* it has been told, and its leases go back */
    SurveyDone surveyed;            /* of a survey; NULL: something else */
    Survey *survey;
    EngineKeep keep;                /* of what is kept; else of no kind */
} Job;

struct Bridge {
    Host *host;
    BridgeOptions options;
    Ring asked, answered, news;
    Wake to_engine, to_server;
    atomic_uint listener_count;
    atomic_bool has_missed;         /* news did not fit */
    atomic_ullong secret_version;
    uint32_t job_count;             /* under way; the server's */
    Job *jobs;                      /* all that there are, the last one first; the server's */
    void **taken;                   /* news, API_RING_COUNT; the server's */
    bool is_closed;
    atomic_uint known_state;        /* an EngineState, twice, and one where it is ready */
    pthread_mutex_t mutex;          /* of the trouble below */
    Error trouble;
    ExchangeCounts exchanges;       /* the engine's */
    RunCounts run_counts;           /* the same */
};

/* Beside jobs, which are asked once each, there may be the withdrawal of each: its address, plus one. By then it may be answered and freed:
 * it is a name, and another job of the same name is asked later. */
enum { ASKED_WITHDRAWAL = 1 };

/* An item of the news: the number of the run, and beside it what there is of it. */
enum { NEWS_LOG = 1, NEWS_STILL = 2 };

/* --- the engine's thread --------------------------------------------------------------------------------------------------------- */

static unsigned state_of(const Engine *engine) { return (unsigned)engine_state(engine) << 1 | engine_is_ready(engine); }

void bridge_turn(Bridge *bridge)
{
    const Engine *engine = host_engine(bridge->host);
    unsigned state = state_of(engine);
    if (atomic_load_explicit(&bridge->known_state, memory_order_relaxed) == state) return;
    const Error *trouble = engine_trouble(engine);
    pthread_mutex_lock(&bridge->mutex);
    bridge->trouble = trouble ? *trouble : (Error){ 0 };
    atomic_store_explicit(&bridge->known_state, state, memory_order_release);
    pthread_mutex_unlock(&bridge->mutex);
    wake_raise(&bridge->to_server);
}

static void survey(Bridge *bridge, Survey *out)
{
    const Engine *engine = host_engine(bridge->host);
    out->stats = engine_stats(engine);
    out->meter = *engine_meter(engine);
    engine_gauge(engine, &out->gauge);
    if (bridge->options.guard) memcpy(out->policy_times, guard_times(bridge->options.guard), sizeof out->policy_times);
    out->exchanges = bridge->exchanges;
    out->has_run_counts = run_counts_look(&bridge->run_counts, bridge->options.store, engine, out->run_counts);
}

static void send_back(Job *job)
{
    Bridge *bridge = job->bridge;                       /* once it is in the ring the job is the server's, which frees it */
    CHECK(ring_put(&bridge->answered, job));            /* as many as may be asked fit */
    wake_raise(&bridge->to_server);
}

static void take_reply(void *context, const EngineReply *reply)
{
    Job *job = context;
    job->answer = (BridgeAnswer){ .status = reply->status, .run_id = reply->run_id, .run_no = reply->run_no,
                                  .state = (RunState)reply->run_state, .resolution = (Resolution)reply->resolution,
                                  .is_repeat = reply->is_repeat, .is_noop = reply->is_noop,
                                  .is_other_request = reply->is_other_request, .is_over_quota = reply->is_over_quota,
                                  .quota_ms = reply->quota_ms, .is_other_start = reply->is_other_start,
                                  .is_stale = reply->is_stale, .is_overtaken = reply->is_overtaken,
                                  .was_asked = reply->was_asked, .outcome = reply->outcome };
    if (reply->status) {
        job->answer.error = *reply->error;
        job->answer.problem = petition_problem(reply);
    }
    send_back(job);
}

static void send_value(Job *job, Value answer)
{
    Error err;
    buf_init(&job->text, JSON_SIZE_MAX);
    job->answer.status = json_print(&job->text, answer, JSON_COMPACT, &err);
    if (job->answer.status) job->answer.error = err;
    send_back(job);
}

static uint32_t list_count(Value object, const char *name)
{
    const Value *list = value_get_text(object, name);
    return list && list->kind == VALUE_ARRAY ? list->count : 0;
}

/* What services call back goes the same way as what workers say, and is no exchange of theirs: it has a token, and is counted as a request. */
static ExchangeCounts *counts_of(Job *job) { return job->exchange.token.len ? NULL : &job->bridge->exchanges; }

static void take_exchange(void *context, Value answer)
{
    Job *job = context;
    ExchangeCounts *counts = counts_of(job);
    uint32_t lease_count = list_count(answer, "leases");
    job->order_count = lease_count + list_count(answer, "cancels");
    if (counts) {
        counts->answered++;
        counts->waiting--;
        counts->leases += lease_count;
    }
    send_value(job, answer);
}

static Status send_exchange(Bridge *bridge, Job *job, Error *err)
{
    ExchangeCounts *counts = counts_of(job);
    if (counts) {
        counts->reports += list_count(job->request, "reports");
        counts->waiting++;                  /* it may be answered before this returns */
    }
    Status status = !bridge->options.exchange ? error_set(err, ERR_NOT_FOUND, "this server has no worker executors")
                  : bridge->options.exchange(bridge->options.exchange_context, &job->exchange, take_exchange, job, err);
    if (status && counts) {
        counts->waiting--;
        counts->refused++;
    }
    return status;
}

static Status send_job(Bridge *bridge, Job *job, Error *err)
{
    if (job->is_look) {
        send_value(job, engine_tenants(host_engine(bridge->host), job->exchange.tenant, &job->arena));
        return OK;
    }
    if (job->keep.kind) {
        job->keep.reply = take_reply;
        job->keep.context = job;
        return engine_keep(host_engine(bridge->host), &job->keep) ? OK : error_set(err, ERR_LIMIT, "the engine takes no further requests now");
    }
    if (!job->exchanged) {
        EnginePlan *plan = job->plan;
        job->plan = NULL;                   /* the job may be answered, and gone, before this returns */
        return petition_send_plan(host_engine(bridge->host), job->request, plan, take_reply, job, err);
    }
    return send_exchange(bridge, job, err);
}

/* The answer is read again rather than kept: it happens to few. */
static void give_back(Bridge *bridge, const Job *job)
{
    Arena arena;
    Value answer;
    Error err;
    arena_init(&arena, SIZE_MAX);
    if (bridge->options.give_back && json_parse(&arena, buf_peek(&job->text), &answer, &err) == OK)
        bridge->options.give_back(bridge->options.exchange_context, job->exchange.executor, answer);
    arena_deinit(&arena);
}

static void take_jobs(void *context, int fd)
{
    Bridge *bridge = context;
    (void)fd;
    wake_lower(&bridge->to_engine);
    for (Job *job; (job = ring_take(&bridge->asked));) {
        Error err = { 0 };
        if ((uintptr_t)job & ASKED_WITHDRAWAL) {
            if (bridge->options.withdraw) bridge->options.withdraw(bridge->options.exchange_context, (const char *)job - ASKED_WITHDRAWAL);
            continue;
        }
        if (job->is_given_back) {
            give_back(bridge, job);
            send_back(job);
            continue;
        }
        if (job->surveyed) {
            survey(bridge, job->survey);
            send_back(job);
            continue;
        }
        bool is_petition = !job->is_look && !job->keep.kind && !job->exchanged;
        Status status = is_petition ? petition_check(job->request, &err) : OK;
        bool is_right = !status;
        if (is_right) status = send_job(bridge, job, &err);
        if (!status) continue;
        bool is_full = is_right && status == ERR_LIMIT && !job->exchanged;          /* the engine took it not even into its queue */
        job->answer = (BridgeAnswer){ .status = status, .error = err, .problem = is_full ? PROBLEM_OVERLOAD : problem_of(status) };
        send_back(job);
    }
}

static void take_observation(void *context, const Observation *observation)
{
    Bridge *bridge = context;
    if (observation->kind == OBSERVE_SECRETS) {
        atomic_fetch_add_explicit(&bridge->secret_version, 1, memory_order_release);
        return;
    }
    const BridgeOptions *options = &bridge->options;
    if (observation->kind == OBSERVE_EVENTS && options->record) options->record(options->record_context, observation);
    bool is_log = observation->kind == OBSERVE_LINES;
    if ((!is_log && observation->kind != OBSERVE_EVENTS) || !atomic_load_explicit(&bridge->listener_count, memory_order_acquire)) return;
    const Run *run = observation->run;          /* of lines there is none */
    bool is_still = !is_log && (run->state == RUN_PAUSED || run->state == RUN_WAITING_SIGNAL || run_state_is_settled(run->state, run->resolution));
    uintptr_t item = (uintptr_t)observation->run_no << 2 | (is_still ? NEWS_STILL : 0) | (is_log ? NEWS_LOG : 0);
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
    ring_init(&bridge->asked, 2 * API_RING_COUNT);
    ring_init(&bridge->answered, API_RING_COUNT);
    ring_init(&bridge->news, API_RING_COUNT);
    bridge->taken = calloc(API_RING_COUNT, sizeof *bridge->taken);
    CHECK(bridge->taken);
    pthread_mutex_init(&bridge->mutex, NULL);
    bridge->to_engine.fd = bridge->to_server.fd = -1;
    Status status = wake_open(&bridge->to_engine, err);
    if (!status) status = wake_open(&bridge->to_server, err);
    if (!status) status = host_watch(host, wake_fd(&bridge->to_engine), take_jobs, bridge, err);
    if (status) {
        bridge_free(bridge);
        return status;
    }
    uint64_t counts[RUN_STATE_COUNT];
    (void)run_counts_look(&bridge->run_counts, options->store, host_engine(host), counts);     /* so that nobody who asks waits for it */
    engine_observe(host_engine(host), take_observation, bridge);
    atomic_store(&bridge->known_state, state_of(host_engine(host)));
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
    if (job->surveyed) job->surveyed(job->context, job->survey);
    else if (job->exchanged) job->exchanged(job->context, job->answer.status, &job->answer.error, buf_peek(&job->text));
    else job->done(job->context, &job->answer);
}

static void job_free(Job *job)
{
    if (job->later) job->later->earlier = job->earlier;
    else job->bridge->jobs = job->earlier;
    if (job->earlier) job->earlier->later = job->later;
    buf_deinit(&job->text);
    engine_plan_free(job->plan);
    arena_deinit(&job->arena);
    free(job->survey);
    free(job);
}

/* Whoever asked lets go of what it kept for the answer. */
static void tell_last(Job *job)
{
    if (!job->is_given_back) tell(job);
    job_free(job);
}

void bridge_free(Bridge *bridge)
{
    if (!bridge) return;
    for (Job *job; (job = ring_take(&bridge->answered));) tell_last(job);
    while (bridge->jobs) {                  /* that were not carried out, or that the engine had when it ended */
        Job *job = bridge->jobs;
        job->answer.status = error_set(&job->answer.error, ERR_UNAVAILABLE, "the server has ended");
        tell_last(job);
    }
    ring_deinit(&bridge->asked);
    ring_deinit(&bridge->answered);
    ring_deinit(&bridge->news);
    free(bridge->taken);
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
    *job = (Job){ .bridge = bridge, .context = context, .earlier = bridge->jobs };
    if (bridge->jobs) bridge->jobs->later = job;
    bridge->jobs = job;
    arena_init(&job->arena, SIZE_MAX);
    job->request = value_copy(&job->arena, request);
    return job;
}

/* False where withdrawals have taken the room that was left: it is gone then. */
static bool job_send(Job *job)
{
    Bridge *bridge = job->bridge;
    if (!ring_put(&bridge->asked, job)) {
        job_free(job);
        return false;
    }
    bridge->job_count++;
    wake_raise(&bridge->to_engine);
    return true;
}

bool bridge_ask_plan(Bridge *bridge, Value request, EnginePlan *plan, BridgeDone done, void *context)
{
    if (bridge->is_closed || bridge->job_count >= API_RING_COUNT) {
        engine_plan_free(plan);
        return false;
    }
    Job *job = job_new(bridge, request, context);
    job->plan = plan;
    job->done = done;
    return job_send(job);
}

bool bridge_ask(Bridge *bridge, Value request, BridgeDone done, void *context)
{
    return bridge_ask_plan(bridge, request, /* plan= */ NULL, done, context);
}

BridgeExchange *bridge_exchange(Bridge *bridge, const ExchangeAsk *ask, ExchangeDone done, void *context)
{
    if (bridge->job_count >= API_RING_COUNT) return NULL;
    Job *job = job_new(bridge, ask->request, context);
    job->exchanged = done;
    job->exchange = (ExchangeAsk){ .executor = arena_copy(&job->arena, ask->executor), .worker = arena_copy(&job->arena, ask->worker),
                                   .tenant = arena_copy(&job->arena, ask->tenant), .queues = value_copy(&job->arena, ask->queues),
                                   .request = job->request, .token = arena_copy(&job->arena, ask->token) };
    return job_send(job) ? job : NULL;
}

void bridge_withdraw(Bridge *bridge, BridgeExchange *exchange)
{
    if (exchange->is_withdrawn) return;
    exchange->is_withdrawn = ring_put(&bridge->asked, (char *)exchange + ASKED_WITHDRAWAL);
    wake_raise(&bridge->to_engine);
}

uint32_t bridge_order_count(const BridgeExchange *exchange) { return exchange->order_count; }

void bridge_give_back(BridgeExchange *exchange) { exchange->is_given_back = exchange->order_count > 0; }

bool bridge_tenants(Bridge *bridge, Str tenant, ExchangeDone done, void *context)
{
    if (bridge->job_count >= API_RING_COUNT) return false;
    Job *job = job_new(bridge, value_null(), context);
    job->exchanged = done;
    job->is_look = true;
    job->exchange.tenant = arena_copy(&job->arena, tenant);
    return job_send(job);
}

bool bridge_keep(Bridge *bridge, const EngineKeep *keep, BridgeDone done, void *context)
{
    if (bridge->job_count >= API_RING_COUNT) return false;
    Job *job = job_new(bridge, value_null(), context);
    Arena *arena = &job->arena;
    job->done = done;
    job->keep = *keep;
    Str *texts[] = { &job->keep.tenant, &job->keep.name, &job->keep.key, &job->keep.text, &job->keep.run, &job->keep.payload,
                     &job->keep.command.id, &job->keep.command.alias, &job->keep.command.actor, &job->keep.command.rationale,
                     &job->keep.command.trace, &job->keep.command.origin };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) *texts[i] = arena_copy(arena, *texts[i]);
    return job_send(job);
}

uint64_t bridge_secret_version(const Bridge *bridge)
{
    return atomic_load_explicit(&((Bridge *)bridge)->secret_version, memory_order_acquire);
}

int bridge_fd(const Bridge *bridge) { return wake_fd(&bridge->to_server); }

void bridge_take(Bridge *bridge, BridgeNews news, void *context)
{
    wake_lower(&bridge->to_server);
    Job *first = NULL, **last = &first;
    uint32_t count = 0;
    bool has_missed = atomic_exchange_explicit(&bridge->has_missed, false, memory_order_acq_rel);
    for (void *item; count < API_RING_COUNT && (item = ring_take(&bridge->news));) bridge->taken[count++] = item;
    if (count == API_RING_COUNT) wake_raise(&bridge->to_server);
    for (Job *job; (job = ring_take(&bridge->answered)); last = &job->next) *last = job, job->next = NULL;
    for (Job *job; (job = first);) {
        first = job->next;
        bridge->job_count--;
        bool is_told = job->is_given_back;
        if (!is_told) tell(job);
        if (is_told || !job->is_given_back) job_free(job);
        else (void)job_send(job);
    }
    for (uint32_t i = 0; i < count; i++) {
        uintptr_t item = (uintptr_t)bridge->taken[i];
        news(context, &(BridgeItem){ .run_no = item >> 2, .is_log = item & NEWS_LOG, .is_still = item & NEWS_STILL });
    }
    if (has_missed) news(context, &(BridgeItem){ .is_still = true });
}

bool bridge_listen(Bridge *bridge, int change)
{
    return atomic_fetch_add_explicit(&bridge->listener_count, (unsigned)change, memory_order_acq_rel) == 0;
}

BridgeState bridge_state(Bridge *bridge)
{
    pthread_mutex_lock(&bridge->mutex);
    unsigned known = atomic_load_explicit(&bridge->known_state, memory_order_acquire);
    BridgeState state = { (EngineState)(known >> 1), known & 1, bridge->trouble };
    pthread_mutex_unlock(&bridge->mutex);
    return state;
}

bool bridge_survey(Bridge *bridge, SurveyDone done, void *context)
{
    if (bridge->job_count >= API_RING_COUNT) return false;
    Job *job = job_new(bridge, value_null(), context);
    job->surveyed = done;
    job->survey = calloc(1, sizeof *job->survey);
    CHECK(job->survey);
    return job_send(job);
}
