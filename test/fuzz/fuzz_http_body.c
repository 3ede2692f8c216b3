/* Requests of HTTP as text, one or several, given to the routes without a socket: path, query, headers and body go through the handlers
 * to petitions and exchanges, and these to a real engine with a store in memory. Whatever comes, there is one answer, it is JSON
 * where it says so, it is never a failure of the server, and nobody is left waiting.
 *
 *   POST /api/executions?wait=1s          a caller of every tenant with the role admin, unless told:
 *   Authorization: viewer acme            a role and a tenant, or a key, which nobody has
 *
 *   {"workflowId":"w"}
 *   ====                                  the next one, to the same server
 *   GET /api/executions/$RUN              the execution that there is; $TOKEN: of the lease that a worker has of it
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/aside.h"
#include "api/debounce.h"
#include "api/petition.h"
#include "api/plan_facts.h"
#include "api/stream.h"
#include "base/limits.h"
#include "engine/message.h"
#include "exec/worker/worker.h"
#include "fuzz/fuzz.h"
#include "store/memory/memory_store.h"
#include "value/json.h"

#define NOW_MS INT64_C(1800000000000)
#define TURN_COUNT 50
#define STREAM_PIECE_COUNT 4
#define WORD_SIZE 256

static const char definition[] =
    "workflow: w\n"
    "params: [{ name: who, type: string, default: x }]\n"
    "triggers:\n"
    "  - webhook: { key: h, auth: { hmac: s } }\n"
    "jobs:\n"
    "  a: { tasks: [{ name: s, run: far/greet }] }\n"
    "  b: { needs: a, tasks: [{ name: t, run: far/greet, pause_after: go }] }\n";

typedef struct Job {
    struct Job *next;
    Arena arena;
    Value request;
    EnginePlan *plan;               /* of a start; NULL: none */
    BridgeDone done;
    ExchangeDone exchanged;
    ExchangeAsk ask;
    void *context;
    bool is_look;                   /* at tenants */
    EngineKeep keep;                /* of what is kept; else of no kind */
    bool is_answered;
    BridgeAnswer answer;
    Buf text;
} Job;

/* One server of everything but sockets and threads. It is made anew where somebody has changed it, so that an input does the same
 * whatever came before it. */
static struct World {
    Api api;
    Store *store;
    Engine *engine;
    Executor *pool;
    Vault *vault;
    uint64_t chance;
    int64_t now_ms;
    Job *jobs;
    char run[WORD_SIZE], token[WORD_SIZE];      /* "": not known yet */
    bool is_open, is_changed;
} world;

static Arena arena;                 /* of what all worlds share */
static Catalog catalog;
static Access *access_rules, *aside_rules;
static Value runners;

/* --- what http.c and bridge.c are in a process with threads ------------------------------------------------------------------- */

void call_wait(Call *call, int64_t ms, void (*late)(Call *call), void (*woken)(Call *call))
{
    FUZZ_HOLDS(ms >= 0 && late);
    call->late = late;
    call->woken = woken;
    call->is_waiting = true;
}

void call_wake(Call *call) { call->is_woken = true; }

/* Nobody leaves here. */
void call_watch(Call *call, void (*left)(Call *call, bool is_broken)) { call->left = left; }
bool call_has_left(const Call *call) { return (void)call, false; }

void call_release(Call *call)
{
    FUZZ_HOLDS(call->use_count);
    call->use_count--;
}

bool call_let_in(Call *call, Str tenant, Str who)
{
    call->let_in = (ShareOwner){ tenant, who };
    return true;
}

HttpStats http_stats(const Http *http)
{
    (void)http;
    return (HttpStats){ 0 };
}

bool bridge_listen(Bridge *bridge, int change)
{
    (void)bridge, (void)change;
    return true;
}

BridgeState bridge_state(Bridge *bridge)
{
    (void)bridge;
    return (BridgeState){ .state = engine_state(world.engine), .is_ready = engine_is_ready(world.engine) };
}

bool bridge_survey(Bridge *bridge, SurveyDone done, void *context)
{
    (void)bridge, (void)done, (void)context;
    return false;               /* what the engine has counted is no body: the answer is without it */
}

static Job *job_add(Value request, void *context)
{
    Job *job = calloc(1, sizeof *job), **place = &world.jobs;
    FUZZ_HOLDS(job);
    arena_init(&job->arena, SIZE_MAX);
    job->request = value_copy(&job->arena, request);
    job->context = context;
    while (*place) place = &(*place)->next;
    *place = job;
    world.is_changed = true;
    return job;
}

bool bridge_ask_plan(Bridge *bridge, Value request, EnginePlan *plan, BridgeDone done, void *context)
{
    (void)bridge;
    Job *job = job_add(request, context);
    job->done = done;
    job->plan = plan;
    return true;
}

bool bridge_ask(Bridge *bridge, Value request, BridgeDone done, void *context)
{
    return bridge_ask_plan(bridge, request, /* plan= */ NULL, done, context);
}

BridgeExchange *bridge_exchange(Bridge *bridge, const ExchangeAsk *ask, ExchangeDone done, void *context)
{
    (void)bridge;
    Job *job = job_add(ask->request, context);
    job->exchanged = done;
    job->ask = (ExchangeAsk){ .executor = arena_copy(&job->arena, ask->executor), .worker = arena_copy(&job->arena, ask->worker),
                              .tenant = arena_copy(&job->arena, ask->tenant), .queues = value_copy(&job->arena, ask->queues),
                              .request = job->request, .token = arena_copy(&job->arena, ask->token) };
    return job;
}

void bridge_withdraw(Bridge *bridge, BridgeExchange *exchange) { (void)bridge, (void)exchange; }
uint32_t bridge_order_count(const BridgeExchange *exchange) { return (void)exchange, 0; }
void bridge_give_back(BridgeExchange *exchange) { (void)exchange; }

bool bridge_tenants(Bridge *bridge, Str tenant, ExchangeDone done, void *context)
{
    (void)bridge;
    Job *job = job_add(value_null(), context);
    job->exchanged = done;
    job->is_look = true;
    job->ask.tenant = arena_copy(&job->arena, tenant);
    return true;
}

/* Texts of what is kept live in the call that keeps it, which waits for the answer. */
bool bridge_keep(Bridge *bridge, const EngineKeep *keep, BridgeDone done, void *context)
{
    (void)bridge;
    Job *job = job_add(value_null(), context);
    job->done = done;
    job->keep = *keep;
    return true;
}

/* Callers here are known by what find_caller() makes of them, and stay so while they wait. */
bool __wrap_bearer_holds(const Call *call, Arena *scratch, int64_t now_ms);
bool __wrap_bearer_holds(const Call *call, Arena *scratch, int64_t now_ms)
{
    (void)call, (void)scratch, (void)now_ms;
    return true;
}

bool __wrap_bearer_check(Call *call);
bool __wrap_bearer_check(Call *call)
{
    (void)call;
    return true;
}

uint64_t bridge_secret_version(const Bridge *bridge)
{
    (void)bridge;
    return 0;
}

static void take_reply(void *context, const EngineReply *reply)
{
    Job *job = context;
    job->is_answered = true;
    job->answer = (BridgeAnswer){ .status = reply->status, .run_id = reply->run_id, .run_no = reply->run_no,
                                  .state = (RunState)reply->run_state, .resolution = (Resolution)reply->resolution,
                                  .is_repeat = reply->is_repeat, .is_noop = reply->is_noop, .is_other_request = reply->is_other_request,
                                  .is_other_start = reply->is_other_start };
    if (reply->status) job->answer.error = *reply->error;
    FUZZ_HOLDS(!reply->status || reply->error->text[0]);
}

static void take_exchange(void *context, Value answer)
{
    Job *job = context;
    Error err;
    job->is_answered = true;
    buf_init(&job->text, JSON_SIZE_MAX);
    FUZZ_HOLDS(json_print(&job->text, answer, JSON_COMPACT, &err) == OK);
}

/* A service that reports to an http executor: read as that one reads it; no attempt has the token. */
static Status call_back(Job *job, Error *err)
{
    Report report;
    if (job->request.kind != VALUE_OBJECT) return error_set(err, ERR_INVALID, "a report is an object");
    Status status = message_report(job->request, &report, err);
    if (!status) take_exchange(job, value_bool(str_is_text(job->ask.token, "known")));
    return status;
}

static Status job_send(Job *job, Error *err)
{
    if (job->keep.kind) {
        job->keep.reply = take_reply;
        job->keep.context = job;
        return engine_keep(world.engine, &job->keep) ? OK : error_set(err, ERR_LIMIT, "the engine takes no further requests now");
    }
    if (job->done) return petition_send_plan(world.engine, job->request, job->plan, take_reply, job, err);
    if (job->is_look) {
        take_exchange(job, engine_tenants(world.engine, job->ask.tenant, &job->arena));
        return OK;
    }
    if (job->ask.token.len) return call_back(job, err);
    if (!str_is(job->ask.executor, world.pool->name)) return error_set(err, ERR_NOT_FOUND, "there is no such executor");
    WorkerCredential credential = { .worker = job->ask.worker, .tenant = job->ask.tenant, .queues = value_null() };
    return worker_exchange(world.pool, &credential, job->request, take_exchange, job, err);
}

static void turns(void)
{
    for (int i = 0; i < TURN_COUNT; i++) engine_turn(world.engine, &(EngineClock){ world.now_ms, world.now_ms });
}

/* Whatever a handler asked is answered, what waits for work when its time is over. */
static void jobs_carry_out(void)
{
    while (world.jobs) {
        Job *job = world.jobs;
        Error err = { 0 };
        Status status = job_send(job, &err);
        if (status) {
            FUZZ_HOLDS(err.text[0]);
            job->answer = (BridgeAnswer){ .status = status, .error = err };
            job->is_answered = true;
        }
        if (!job->is_answered) turns();
        if (!job->is_answered) {
            world.now_ms += WORKER_WAIT_MS_MAX + 1;
            turns();
        }
        FUZZ_HOLDS(job->is_answered);
        if (job->done) job->done(job->context, &job->answer);
        else job->exchanged(job->context, job->answer.status, &job->answer.error, buf_peek(&job->text));
        world.jobs = job->next;
        buf_deinit(&job->text);
        arena_deinit(&job->arena);
        free(job);
    }
}

/* --- one request ------------------------------------------------------------------------------------------------------------------ */

static Str line_take(Str *rest)
{
    size_t end = str_find(*rest, '\n', 0);
    Str line = str_slice(*rest, 0, end);
    *rest = str_slice(*rest, end < rest->len ? end + 1 : end, rest->len);
    return line;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static Str decoded(Arena *into, Str text)
{
    char *out = arena_alloc(into, text.len + 1);
    size_t size = 0;
    for (size_t i = 0; i < text.len; i++) {
        int high = text.ptr[i] == '%' && i + 2 < text.len ? hex_digit(text.ptr[i + 1]) : -1, low = high >= 0 ? hex_digit(text.ptr[i + 2]) : -1;
        out[size++] = low >= 0 ? (char)(high * 16 + low) : text.ptr[i];
        if (low >= 0) i += 2;
    }
    out[size] = '\0';
    return (Str){ out, size };
}

static void read_query(Call *call, Str text)
{
    CallPair *pairs = ARENA_ARRAY(&call->arena, CallPair, CALL_QUERY_COUNT_MAX);
    for (size_t at = 0; at < text.len && call->query_count < CALL_QUERY_COUNT_MAX;) {
        size_t end = str_find(text, '&', at);
        Str part = str_slice(text, at, end);
        size_t equals = str_find(part, '=', 0);
        pairs[call->query_count++] = (CallPair){ decoded(&call->arena, str_slice(part, 0, equals)),
                                                 decoded(&call->arena, str_slice(part, equals < part.len ? equals + 1 : equals, part.len)) };
        at = end + 1;
    }
    call->query = pairs;
}

static void read_headers(Call *call, Str *rest)
{
    CallPair *pairs = ARENA_ARRAY(&call->arena, CallPair, TRIGGER_HEADER_COUNT_MAX);
    for (Str line; (line = line_take(rest)).len;) {
        size_t colon = str_find(line, ':', 0);
        if (colon == line.len || call->header_count == TRIGGER_HEADER_COUNT_MAX) continue;
        pairs[call->header_count++] = (CallPair){ arena_copy(&call->arena, str_slice(line, 0, colon)),
                                                  arena_copy(&call->arena, str_trim(str_slice(line, colon + 1, line.len))) };
    }
    call->headers = pairs;
}

static void read_request(Call *call, Str text)
{
    static const struct { const char *word; Method method; } methods[] = {
        { "GET", METHOD_GET }, { "POST", METHOD_POST }, { "PUT", METHOD_PUT }, { "DELETE", METHOD_DELETE },
    };
    Str first = line_take(&text);
    size_t space = str_find(first, ' ', 0), question = str_find(first, '?', 0);
    call->method = METHOD_OTHER;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (str_is_text(str_slice(first, 0, space), methods[i].word)) call->method = methods[i].method;
    if (space < first.len) call->path = decoded(&call->arena, str_slice(first, space + 1, question > space ? question : first.len));
    if (question < first.len) read_query(call, str_slice(first, question + 1, first.len));
    read_headers(call, &text);
    buf_str(&call->body, text);
}

/* Who calls: see above. False: nobody is known, as for a server that is asked with a key that it does not have. */
static bool find_caller(Call *call)
{
    Str given = call_header(call, "Authorization");
    size_t space = str_find(given, ' ', 0);
    Str role = str_slice(given, 0, space), tenant = str_slice(given, space < given.len ? space + 1 : space, given.len);
    call->caller = (Caller){ .key = STR("k"), .tenant = STR("*"), .role = STR("admin"), .actor = STR("key:k") };
    if (!given.len) return true;
    for (int i = 0; i < ROLE_COUNT; i++)
        if (str_is_text(role, key_role_names[i]) && tenant.len && tenant.len <= NAME_SIZE_MAX) {
            call->caller.role = str_of(key_role_names[i]);
            call->caller.tenant = tenant;
            return true;
        }
    uint64_t wait_s;
    Error err = { 0 };
    call->caller = (Caller){ 0 };
    FUZZ_HOLDS(keyring_find(world.api.keys, &call->arena, tenant, call->now_ms, &call->caller, &wait_s, &err) != OK && err.text[0]);
    return false;
}

static void check_answer(Call *call)
{
    FUZZ_HOLDS(call->status >= 200 && call->status < 600);
    FUZZ_HOLDS(call->status < 500 || call->status == 503);
    FUZZ_HOLDS(!call->use_count);
    for (int i = 0; call->stream.next && i < STREAM_PIECE_COUNT; i++) {
        Buf piece;
        buf_init(&piece, SIZE_MAX);
        bool goes_on = call->stream.next(call->stream.context, &piece);
        buf_deinit(&piece);
        if (!goes_on) break;
    }
    if (call->stream.next) call->stream.end(call->stream.context);
    if (!call->type || call->stream.next || !strstr(call->type, "json")) return;
    Value value;
    Error err;
    FUZZ_HOLDS(json_parse(&call->arena, buf_peek(&call->out), &value, &err) == OK);
}

/* The first of its kind that an answer has: that of the execution that there is. */
static void keep_word(const Call *call, const char *before, char word[WORD_SIZE])
{
    Str text = buf_peek(&call->out);
    const char *found = *word ? NULL : memmem(text.ptr, text.len, before, strlen(before));
    for (size_t i = 0; found && i + 1 < WORD_SIZE && found[strlen(before) + i] != '"'; i++) word[i] = found[strlen(before) + i];
}

/* What stands for something of the world is replaced by it. */
static Str filled(Arena *into, Str text)
{
    const struct { Str mark; Str word; } words[] = { { STR("$RUN"), str_of(world.run) }, { STR("$TOKEN"), str_of(world.token) } };
    Buf out;
    buf_init(&out, SIZE_MAX);
    for (size_t i = 0; i < text.len;) {
        size_t which = 0;
        while (which < 2 && !str_starts(str_slice(text, i, text.len), words[which].mark)) which++;
        if (which < 2) buf_str(&out, words[which].word);
        else buf_char(&out, text.ptr[i]);
        i += which < 2 ? words[which].mark.len : 1;
    }
    Str copy = arena_copy(into, buf_peek(&out));
    buf_deinit(&out);
    return copy;
}

/* What a handler has done beside it is waited for. */
static void aside_carry_out(void)
{
    while (aside_is_busy(world.api.aside)) {
        (void)poll(&(struct pollfd){ .fd = aside_fd(world.api.aside), .events = POLLIN }, 1, -1);
        aside_take(world.api.aside);
    }
}

static void request_send(Str text)
{
    Call call = { .api = &world.api, .source = STR("127.0.0.1"), .now_ms = world.now_ms, .id = "fuzz", .trace = trace_make(1) };
    uint32_t allowed;
    arena_init(&call.arena, SIZE_MAX);
    arena_init(&call.read_arena, API_BODY_READ_SIZE_MAX);
    buf_init(&call.body, API_BODY_SIZE_MAX);
    buf_init(&call.out, JSON_SIZE_MAX);
    read_request(&call, filled(&call.arena, text));
    if (call_is_text(&call)) call.route = route_find(&call, &allowed);
    else check_answer(&call);
    if (call.route && (find_caller(&call) || call.route->access != ROUTE_KEY)) {
        call.route->handle(&call);
        aside_carry_out();
        jobs_carry_out();
        if (!call.status && call.woken) call.woken(&call);
        if (!call.status) {
            FUZZ_HOLDS(call.is_waiting);
            call.late(&call);
        }
        check_answer(&call);
        keep_word(&call, "\"executionId\":\"", world.run);
        keep_word(&call, "\"token\":\"", world.token);
    }
    for (uint32_t i = 0; i < API_FOLLOW_BUCKET_COUNT; i++) FUZZ_HOLDS(!world.api.followers[i]);
    share_give_back(world.api.shares, &call.hold);
    share_give_back(world.api.shares, &call.reading);
    FUZZ_HOLDS(!share_taken(world.api.shares, SHARE_STREAMS) && !share_taken(world.api.shares, SHARE_WAITS));
    buf_deinit(&call.body);
    buf_deinit(&call.out);
    arena_deinit(&call.read_arena);
    arena_deinit(&call.arena);
}

/* --- the world ---------------------------------------------------------------------------------------------------------------------- */

static bool hear(void *context, const Notice *notice)
{
    (void)context;
    engine_notice(world.engine, notice);
    return true;
}

static bool find_runner(void *context, Str tenant, Str runner, uint32_t nth, RunnerOffer *out)
{
    (void)context, (void)tenant;
    *out = (RunnerOffer){ .executor = world.pool, .settings = value_null() };
    return !nth && str_is_text(runner, "far/greet");
}

static void chance(void *context, uint8_t *bytes, size_t size)
{
    (void)context;
    for (size_t i = 0; i < size; i++) {
        world.chance = world.chance * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = (uint8_t)(world.chance >> 56);
    }
}

static void world_close(void)
{
    if (!world.is_open) return;
    aside_stop(world.api.aside);
    aside_free(world.api.aside);
    engine_close(world.engine);
    world.pool->ops->close(world.pool);
    keyring_free(world.api.keys);
    debounces_free(world.api.debounces);
    shares_free(world.api.shares);
    plan_facts_free(world.api.facts);
    streams_free(world.api.streams);
    vault_free(world.vault);
    trigger_replays_deinit(&world.api.triggers.replays);
    buf_deinit(&world.api.openapi);
    for (uint32_t i = 0; i < API_PLAN_COUNT_MAX; i++)
        if (world.api.plans[i].is_used) arena_deinit(&world.api.plans[i].arena);
    store_close(world.store);
    world.is_open = false;
}

/* A workflow with an active revision, and an execution whose first step a worker has. */
static void world_open(void)
{
    Error err;
    memset(&world, 0, sizeof world);
    world.now_ms = NOW_MS;
    world.store = memory_store_new(NULL);
    world.vault = vault_new(world.store, NULL);
    WorkerOptions worker = { .name = STR("far"), .runners = runners, .sink = { hear, NULL } };
    FUZZ_HOLDS(worker_executor_open(&worker, &world.pool, &err) == OK);
    EngineOptions options = { .store = world.store, .log = 1, .executors = &world.pool, .executor_count = 1,
                              .runner = find_runner, .random = chance };
    FUZZ_HOLDS(engine_open(&options, &(EngineClock){ NOW_MS, NOW_MS }, &world.engine, &err) == OK);
    world.api = (Api){ .store = world.store, .access = access_rules, .catalog = &catalog, .keys = keyring_new(world.vault, (KeyRates){ 1000, 1000 }),
                       .triggers = { .store = world.store, .vault = world.vault }, .public_url = "" };
    buf_init(&world.api.openapi, JSON_SIZE_MAX);
    world.api.shares = shares_new();
    world.api.streams = streams_new(world.api.store);
    world.api.facts = plan_facts_new();
    const AsideOptions aside = { .store = world.store, .catalog = &catalog, .access = aside_rules, .facts = world.api.facts };
    FUZZ_HOLDS(aside_open(&aside, &world.api.aside, &err) == OK);
    FUZZ_HOLDS(debounces_open(&world.api, &world.api.debounces, &err) == OK);
    turns();
    Str made = arena_format(&arena, "POST /api/workflows\nContent-Type: application/yaml\n\n%s", definition);
    request_send(made);
    request_send(STR("POST /api/workflows/default/w/revisions/1/activate\n\n{}"));
    request_send(STR("POST /api/executions\n\n{\"workflowId\":\"w\"}"));
    request_send(STR("POST /api/executors/far/exchange\n\n{\"worker\":\"w\",\"want\":1,\"wait_ms\":1000}"));
    FUZZ_HOLDS(world.run[0] && world.token[0]);
    world.is_open = true;
    world.is_changed = false;
}

static void make_shared(void)
{
    Error err;
    if (access_rules) return;
    arena_init(&arena, SIZE_MAX);
    catalog_init(&catalog, &arena);
    FUZZ_HOLDS(json_parse(&arena, STR("{\"far/greet\":{}}"), &runners, &err) == OK);
    FUZZ_HOLDS(catalog_add_runner(&catalog, STR("far/greet"), STR("far")));
    FUZZ_HOLDS(json_parse(&arena, STR("{\"far\":{\"kind\":\"worker\",\"runners\":{\"far/greet\":{}}}}"), &catalog.executors, &err) == OK);
    FUZZ_HOLDS(access_open(NULL, &access_rules, &err) == OK);
    FUZZ_HOLDS(access_open(NULL, &aside_rules, &err) == OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str rest = { (const char *)data, size }, mark = STR("\n====\n");
    make_shared();
    if (!world.is_open || world.is_changed) {
        world_close();
        world_open();
    }
    while (rest.len) {
        const char *end = memmem(rest.ptr, rest.len, mark.ptr, mark.len);
        size_t one = end ? (size_t)(end - rest.ptr) : rest.len;
        request_send(str_slice(rest, 0, one));
        rest = str_slice(rest, end ? one + mark.len : one, rest.len);
    }
    return 0;
}
