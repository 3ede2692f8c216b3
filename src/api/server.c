#include "api/server.h"

#include <inttypes.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/api.h"
#include "api/aside.h"
#include "api/bearer.h"
#include "api/body.h"
#include "api/debounce.h"
#include "api/follow.h"
#include "api/plan_facts.h"
#include "api/refusal.h"
#include "api/routes.h"
#include "api/scheduler.h"
#include "api/stream.h"
#include "api/tls.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "os/clock.h"
#include "os/thread.h"
#include "os/usage.h"
#include "os/wake.h"

#define DRAIN_TURN_MS 50

struct Server {
    ServerOptions options;
    Api api;
    Thread thread;
    Access *aside_access;           /* of the thread beside the server's */
    Scheduler *scheduler;
    bool has_thread;
    Wake wake;
    atomic_bool is_draining, is_settled, is_drained, is_stopping, is_reloading;
};

/* --- the log ------------------------------------------------------------------------------------------------------------------------------ */

/* A stranger decides how long an address is. What is left out of it is told. */
static void log_path(LogLine *line, Str path)
{
    char storage[API_REFUSAL_TEXT_SIZE + sizeof "... (4294967295 bytes)"];
    Buf text = buf_on(storage, sizeof storage);
    if (path.len > API_REFUSAL_TEXT_SIZE)
        buf_format(&text, "%.*s... (%u bytes)", STR_ARG(utf8_head(path, API_REFUSAL_TEXT_SIZE)), (unsigned)path.len);
    log_text(line, "path", text.len ? buf_peek(&text) : path);
}

static bool has_every_request(const Log *log) { return log->has_requests || log_wants(log, LOG_INFO); }

/* What belongs to another tenant is refused, too, though its answer is that of what is not there. */
static bool is_refusal(const Call *call)
{
    return call->status == 401 || call->status == 403 || call->status == 429 || (call->status >= 400 && call->refused.len);
}

/* Refusals are the audit of who tried what; failures are what somebody has to look at. Who wants to see every request gets each of these, too. */
static void log_call(Api *api, const Call *call, uint64_t took_ns)
{
    static const char *const methods[] = { "GET", "POST", "PUT", "DELETE", "OTHER" };
    unsigned status = call->status;
    bool was_refused = is_refusal(call), has_left = !status;
    LogLevel level = status >= 500 ? LOG_ERROR : was_refused || call->is_cut ? LOG_WARNING : LOG_INFO;
    if (!log_wants(api->log, level) && !api->log->has_requests) return;
    LogKind kind = log_kind(call);
    if (!has_every_request(api->log) && !log_share_take(&api->log_shares, &kind, clock_monotonic_ms())) return;
    LogLine line = log_begin(level, call->now_ms,
                             was_refused ? "request refused"
                             : call->is_cut ? "stream cut off: its reader is too slow"
                             : has_left ? "request left by its client before the answer" : "request");
    log_text(&line, "tenant", call->tenant.len ? call->tenant : call->caller.tenant);
    log_text(&line, "run", call->run_id);
    log_trace(&line, &call->trace);
    log_text(&line, "requestId", str_of(call->id));
    log_text(&line, "method", str_of(methods[call->method]));
    log_path(&line, call->path);
    if (!has_left) log_number(&line, "status", status);
    log_number(&line, "us", (int64_t)(took_ns / 1000));
    if (call->route) log_text(&line, "route", str_of(call->route->name));
    log_text(&line, "key", call->caller.key.len ? call->caller.key : call->claimed);
    log_text(&line, "address", call->source);
    log_text(&line, "detail", call->hidden.len ? call->hidden : call->refused);
    if (status >= 400) log_text(&line, "problem", str_of(problem_info(call->problem)->type));
    herald_line(api->herald, &line);
}

/* What was not written of them one by one. */
static void log_left_out(Api *api, bool is_end)
{
    LogKind kind;
    uint64_t count;
    while (log_share_next(&api->log_shares, clock_monotonic_ms(), is_end, &kind, &count)) {
        bool is_failure = kind.status >= 500;
        LogLine line = log_begin(is_failure ? LOG_ERROR : LOG_WARNING, clock_realtime_ms(),
                                 is_failure ? "further requests failed alike"
                                 : kind.status ? "further requests were refused alike" : "further requests were refused, or failed");
        log_number(&line, "count", (int64_t)count);
        if (kind.status) log_number(&line, "status", kind.status);
        log_text(&line, "route", str_of(kind.route));
        log_text(&line, "key", str_of(kind.key));
        log_text(&line, "address", str_of(kind.source));
        herald_line(api->herald, &line);
    }
}

/* The store takes no commits, or takes them again; another owner has it; it has recovered. */
static void log_engine(Api *api)
{
    static const struct { LogLevel level; const char *message; } told[] = {
        [ENGINE_RECOVERING] = { LOG_INFO, "the engine recovers" },
        [ENGINE_RUNNING] = { LOG_INFO, "the engine runs" },
        [ENGINE_STALLED] = { LOG_ERROR, "the store refuses commits: nothing is started until it takes them again" },
        [ENGINE_DRAINING] = { LOG_INFO, "the engine drains: it is about to end" },
        [ENGINE_FENCED] = { LOG_ERROR, "another process owns the store: this one ends" },
    };
    BridgeState how = bridge_state(api->bridge);
    if (how.state == api->seen_state) return;
    bool is_relief = api->seen_state == ENGINE_STALLED && how.state == ENGINE_RUNNING;
    LogLevel level = is_relief ? LOG_WARNING : told[how.state].level;
    api->seen_state = how.state;
    if (!log_wants(api->log, level)) return;
    LogLine line = log_begin(level, clock_realtime_ms(), is_relief ? "the store takes commits again" : told[how.state].message);
    log_text(&line, "detail", str_of(how.trouble.text));
    herald_line(api->herald, &line);
}

/* --- requests --------------------------------------------------------------------------------------------------------------------------------- */

static void use_kept(void *context, const BridgeAnswer *answer) { (void)context, (void)answer; }

/* When a key was used last is good to know, and nobody waits for it. */
static void keep_use(Api *api, const Call *call)
{
    EngineKeep keep = { .kind = KEEP_KEY_USE, .tenant = call->caller.tenant, .name = call->caller.key, .since_ms = call->now_ms,
                        .command = { .actor = call->caller.actor, .origin = call->source, .value = value_null(),
                                     .report.output = value_null() } };
    (void)bridge_keep(api->bridge, &keep, use_kept, NULL);
}

/* False after answering: nobody is known by what was sent. */
static bool authenticate(Api *api, Call *call)
{
    Str given = bearer_text(call);
    Error err;
    uint64_t wait_s = 1;
    /* Triggers and attempts have credentials of their own, which look alike; only a key is one. */
    bool has_others = call->route->access == ROUTE_TRIGGER || call->route->access == ROUTE_TOKEN;
    if (has_others && !bearer_is_key(given)) return true;
    if (!given.len) {
        api->metrics.refused_keys++;
        call_refuse(call, STR(""), STR("no API key was sent"));
        call_problem(call, PROBLEM_UNAUTHENTICATED, "send an API key: Authorization: Bearer KEY");
        return false;
    }
    Status status = bearer_find(call, given, &wait_s, &err);
    if (!status && call->caller.is_use_due) keep_use(api, call);
    if (!status) return true;
    if (!call->caller.key.len) call->claimed = key_claimed(given);
    if (!status_is_failure(status)) call_refuse(call, STR(""), str_of(err.text));
    if (status == ERR_LIMIT) {
        api->metrics.limited++;
        call->retry_s = wait_s;
        call_problem(call, PROBLEM_RATE, "%s; come again in %" PRIu64 " s", err.text, wait_s);
    } else if (status_is_failure(status)) {
        call_error(call, &err);
    } else {
        api->metrics.refused_keys++;
        call_problem(call, PROBLEM_UNAUTHENTICATED, "nobody is known by this key");
    }
    return false;
}

static void refuse_method(Call *call, uint32_t allowed)
{
    static const char *const words[] = { "GET, HEAD", "POST", "PUT", "DELETE" };
    char storage[64];
    Buf text = buf_on(storage, sizeof storage);
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (allowed >> i & 1u) buf_format(&text, "%s%s", text.len ? ", " : "", words[i]);
    call_add_header(call, "Allow", buf_peek(&text));
    call_problem(call, PROBLEM_METHOD, "this address takes %.*s", STR_ARG(buf_peek(&text)));
}

static bool is_repeated(const Call *call, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++)
        if (str_is(call->query[i].name, call->query[index].name)) return true;
    return false;
}

/* A filter that is misspelt would be none, and of one that is there twice the second: who asks for too little gets too much. What others send to
 * triggers is theirs. */
static bool is_query_known(Call *call)
{
    if (call->route->access != ROUTE_KEY) return true;
    for (uint32_t i = 0; i < call->query_count; i++) {
        Str name = call->query[i].name;
        bool is_known = route_takes(call->route, name);
        if (is_known && !is_repeated(call, i)) continue;
        if (is_known) call_problem(call, PROBLEM_INVALID, "'%.*s' is more than once in the query; send it once", STR_ARG(name));
        else call_problem(call, PROBLEM_INVALID, "'%.*s' of the query is not known here; %s%s", STR_ARG(name),
                          *call->route->query ? "there are: " : "this address takes none", call->route->query);
        return false;
    }
    return true;
}

/* An empty one would be none: what is meant to be done once would be done twice, and what is meant for one state to any. */
static bool are_heads_usable(Call *call)
{
    uint32_t key_count = call_header_count(call, "Idempotency-Key");
    if (key_count > 1)
        call_problem(call, PROBLEM_INVALID, "there are %" PRIu32 " Idempotency-Keys; a request has one", key_count);
    else if (key_count && !str_trim(call_header(call, "Idempotency-Key")).len)
        call_problem(call, PROBLEM_INVALID, "the Idempotency-Key is empty; leave it out, or give the request one of its own");
    else if (call_header(call, "Idempotency-Key").len > API_REQUEST_KEY_SIZE_MAX)
        call_problem(call, PROBLEM_INVALID, "an Idempotency-Key has at most %u bytes", API_REQUEST_KEY_SIZE_MAX);
    else if (call_has_header(call, "If-Match") && !str_trim(call_list(call, "If-Match")).len)
        call_problem(call, PROBLEM_INVALID, "If-Match is empty; leave it out, or name the ETag of what you have seen");
    else return true;
    return false;
}

/* A condition that nobody looks at would be none, and something be changed that was not to be. */
static bool are_conditions_taken(Call *call)
{
    const Route *route = call->route;
    bool has_match = call_has_header(call, "If-Match"), has_none = call_has_header(call, "If-None-Match");
    if (route->method == METHOD_GET) return true;
    if (has_match && !route_takes_match(route))
        call_problem(call, PROBLEM_INVALID, "this address takes no If-Match: leave it out, and know that what is there is changed whatever it is");
    else if (has_none && !route_takes_new(route))
        call_problem(call, PROBLEM_INVALID, "this address takes no If-None-Match: leave it out, and know that it is done whatever there is");
    else if (has_none && !str_is_text(str_trim(call_list(call, "If-None-Match")), "*"))
        call_problem(call, PROBLEM_INVALID, "If-None-Match is * here: it is done only where there is nothing of that name");
    else return true;
    return false;
}

/* Who is not let in sends no body: the head says all that it takes to know that. */
static bool enter(void *context, Call *call)
{
    Api *api = context;
    uint32_t allowed;
    call->api = api;
    store_renew(api->store);
    if (!call_is_text(call)) return false;
    call->route = route_find(call, &allowed);
    if (!call->route && allowed) refuse_method(call, allowed);
    else if (!call->route) call_problem(call, PROBLEM_NOT_FOUND, "there is nothing at this address; GET /api has links to what there is");
    return call->route && (call->route->access == ROUTE_OPEN || authenticate(api, call))
        && (call->route->access != ROUTE_TOKEN || callback_has_token(call)) && is_query_known(call) && are_heads_usable(call)
        && are_conditions_taken(call);
}

/* What is wrong with the body its handler tells, behind what it has to say before. */
static void go_on(Call *call, Call *copy)
{
    (void)copy;
    call->route->handle(call);
}

static void handle(void *context, Call *call)
{
    Api *api = context;
    store_renew(api->store);                /* it sees what was answered to anybody before it came */
    bool is_old = call->body.len && clock_realtime_ms() - call->now_ms > API_KEY_FRESH_MS;
    if (is_old && !bearer_check(call)) return;                      /* it was revoked while its body came */
    if (route_reads_json(call->route) && call_is_json(call)) body_read(call, go_on);
    else call->route->handle(call);
}

static void done(void *context, const Call *call, uint64_t took_ns)
{
    Api *api = context;
    bool may_come_again = call->status == 429 || call->status == 503;
    if (may_come_again && call->proof) trigger_withdraw(&api->triggers.replays, call->proof);
    api->freed_size += API_TRIM_CALL_SIZE + call->body.len + call->out.len;
    api->freed_ms = clock_realtime_ms();
    metrics_count(&api->metrics, call, took_ns);
    herald_call(api->herald, call, took_ns);
    refusals_note(api->refusals, call);
    log_call(api, call, took_ns);
}

/* --- the thread ------------------------------------------------------------------------------------------------------------------------------- */

static void take_news(void *context, const BridgeItem *item)
{
    Api *api = context;
    if (!item->is_log && item->is_still) follow_news(api, item->run_no);
    stream_news(api, item->run_no, item->is_log);
}

static void begin_drain(Api *api)
{
    if (api->is_draining) return;
    api->is_draining = true;
    (void)http_drain(api->http);            /* before anybody is woken: answers say that the connection closes */
    follow_news(api, 0);
    stream_news(api, 0, /* is_log= */ false);
    stream_news(api, 0, /* is_log= */ true);
}

/* Told at every level: somebody has asked for it. */
static void reload(Api *api)
{
    Error err;
    Status status = http_reload(api->http, &err);
    LogLine line = log_begin(status ? LOG_ERROR : LOG_INFO, clock_realtime_ms(),
                             status ? "certificate and key cannot be used: those before stay"
                             : http_has_tls(api->http) ? "certificate and key were read again"
                             : "there is nothing to read again: the server has no certificate");
    if (status) log_text(&line, "detail", str_of(err.text));
    herald_line(api->herald, &line);
}

/* Requests leave holes between what stays: without this the memory of the busiest moment is never given back. It takes milliseconds, so that
 * it waits for a moment in which nobody asks. */
static void trim(Api *api)
{
    HttpStats stats = http_stats(api->http);
    uint64_t closed_count = stats.accepted - stats.connection_count;
    if (closed_count != api->closed_count) {                /* each had memory of its own, however long it has been silent */
        api->freed_size += (size_t)(closed_count - api->closed_count) * API_TRIM_CALL_SIZE;
        api->freed_ms = clock_realtime_ms();
        api->closed_count = closed_count;
    }
    int64_t quiet_ms = clock_realtime_ms() - api->freed_ms;
    if (api->freed_size < API_TRIM_SIZE_MIN || (quiet_ms >= 0 && quiet_ms < API_TRIM_QUIET_MS)) return;
    api->freed_size = 0;
    usage_trim();
}

/* Of two times from now, of which -1 is never. */
static int64_t soonest(int64_t one, int64_t other) { return one < 0 ? other : other < 0 || one < other ? one : other; }

static void run(void *context)
{
    Server *server = context;
    Api *api = &server->api;
    struct pollfd fds[] = { { .fd = http_fd(api->http), .events = POLLIN }, { .fd = bridge_fd(api->bridge), .events = POLLIN },
                            { .fd = wake_fd(&server->wake), .events = POLLIN }, { .fd = http_left_fd(api->http), .events = POLLIN },
                            { .fd = aside_fd(api->aside), .events = POLLIN } };
    bool has_due = false;
    while (!atomic_load(&server->is_stopping)) {
        int64_t due_ms = soonest(http_due_ms(api->http), refusals_due_ms(api->refusals, clock_realtime_ms()));
        if (!api->is_draining) due_ms = soonest(due_ms, debounces_due_ms(api->debounces, clock_realtime_ms()));
        if (api->is_draining && (due_ms < 0 || due_ms > DRAIN_TURN_MS)) due_ms = DRAIN_TURN_MS;
        due_ms = soonest(due_ms, log_share_due_ms(&api->log_shares, clock_monotonic_ms()));
        int64_t schedule_ms = api->is_draining ? INT64_MAX : scheduler_turn(server->scheduler, clock_realtime_ms());
        if (due_ms < 0 || due_ms > schedule_ms) due_ms = schedule_ms;
        if (has_due) due_ms = 0;
        (void)poll(fds, sizeof fds / sizeof *fds, due_ms > INT32_MAX ? INT32_MAX : (int)due_ms);
        if (fds[2].revents) wake_lower(&server->wake);
        if (atomic_exchange(&server->is_reloading, false)) {
            reload(api);
            if (server->options.reloaded) server->options.reloaded();
        }
        if (atomic_load(&server->is_draining)) begin_drain(api);
        if (fds[3].revents) http_take_left(api->http);
        if (fds[4].revents) {
            store_renew(api->store);
            aside_take(api->aside);
        }
        if (fds[1].revents) {
            store_renew(api->store);        /* schedules were looked at before it waited: what is answered now was committed since */
            bridge_take(api->bridge, take_news, api);
            log_engine(api);
        }
        if (has_due) http_turn(api->http);  /* what has come meanwhile goes before what waits already */
        has_due = follow_turn(api);
        has_due = streams_turn(api) || has_due;
        http_turn(api->http);
        store_renew(api->store);
        if (!api->is_draining) debounces_turn(api->debounces, clock_realtime_ms());
        api_plans_trim(api);
        trim(api);
        bool is_over = api->is_draining && http_drain(api->http) && !share_taken(api->shares, SHARE_BULKS);
        if (api->is_draining && !aside_is_busy(api->aside)) atomic_store(&server->is_settled, true);
        refusals_turn(api->refusals, clock_realtime_ms(), /* is_end= */ is_over);
        log_left_out(api, /* is_end= */ is_over);
        /* Not for good: while the engine's steps end, a connection that was silent can begin a request. */
        atomic_store(&server->is_drained, is_over && refusals_are_told(api->refusals));
    }
    http_close(api->http);
    api->http = NULL;
}

/* --- make --------------------------------------------------------------------------------------------------------- */

/* It denies whoever it cannot say anything about; that nobody can do anything may be what is wanted while somebody mends it. */
static void doubt_access(const Api *api)
{
    Error err;
    if (!access_try(api->access, &err) || !log_wants(api->log, LOG_WARNING)) return;
    LogLine line = log_begin(LOG_WARNING, clock_realtime_ms(), "the access policy denies what it gives no clear answer about");
    log_text(&line, "detail", str_of(err.text));
    herald_line(api->herald, &line);
}

static Status open_parts(Server *server, Error *err)
{
    const ServerOptions *options = &server->options;
    Api *api = &server->api;
    HttpOptions http = { .fd = options->fd, .connection_count_max = options->connection_count_max, .certificate = options->certificate,
                         .key = options->key, .enter = enter, .handle = handle, .done = done, .context = api };
    HeraldOptions herald = { .store = options->store, .log = &options->log, .otlp = options->otlp };
    *api = (Api){ .store = store_snapshot(options->store), .store_path = options->store_path,
                  .catalog = options->catalog, .guard = options->guard, .log = &server->options.log,
                  .keys = keyring_new(options->vault, options->rates), .token_key = options->token_key,
                  .triggers = { .store = options->store, .vault = options->vault, .guard = options->guard } };
    buf_init(&api->openapi, JSON_SIZE_MAX);
    api->shares = http.shares = shares_new();
    api->streams = streams_new(api->store);
    api->zones = zones_open(NULL);
    Status status = wake_open(&server->wake, err);
    if (!status) status = access_open(options->access, &api->access, err);
    if (!status) status = access_open(options->access, &server->aside_access, err);
    if (!status) status = herald_open(&herald, &api->herald, err);
    if (!status) doubt_access(api);
    BridgeOptions bridge = { .host = options->host, .store = options->store, .exchange = options->exchange,
                             .exchange_context = options->exchange_context, .withdraw = options->withdraw,
                             .give_back = options->give_back,
                             .guard = options->engine_guard, .record = herald_record, .record_context = api->herald };
    if (!status) status = bridge_new(&bridge, &api->bridge, err);
    if (!status) api->seen_state = bridge_state(api->bridge).state;
    api->facts = plan_facts_new();
    AsideOptions aside = { .store = options->store, .store_path = options->store_path, .catalog = options->catalog, .guard = options->aside_guard,
                           .vault = options->aside_vault, .access = server->aside_access, .facts = api->facts };
    if (!status) status = aside_open(&aside, &api->aside, err);
    if (!status) api->refusals = refusals_new(api->bridge);
    if (!status) server->scheduler = scheduler_new(api, clock_realtime_ms());
    if (!status) status = debounces_open(api, &api->debounces, err);
    if (!status) status = http_open(&http, &api->http, err);
    if (!status) status = thread_start(&server->thread, "maestro-http", run, server, err);
    server->has_thread = !status;
    return status;
}

Status server_check_access(const char *path, Error *err)
{
    Access *access = NULL;
    Status status = access_open(path, &access, err);
    if (!status) status = access_try(access, err);
    access_close(access);
    return status;
}

Status server_check(const char *certificate, const char *key, const char *access_path, Error *err)
{
    Tls tls = { 0 };
    Access *access = NULL;
    Status status = certificate ? tls_load(&tls, certificate, key, err) : OK;
    if (!status) status = access_open(access_path, &access, err);
    access_close(access);
    tls_deinit(&tls);
    return status;
}

Status server_start(const ServerOptions *options, Server **out_server, Error *err)
{
    Server *server = calloc(1, sizeof *server);
    CHECK(server);
    server->options = *options;
    server->wake.fd = -1;
    Status status = open_parts(server, err);
    if (status) {
        server_stop(server);
        server_free(server);
        return status;
    }
    *out_server = server;
    return OK;
}

void server_turn(Server *server) { bridge_turn(server->api.bridge); }

void server_drain(Server *server)
{
    atomic_store(&server->is_draining, true);
    wake_raise(&server->wake);
}

void server_reload(Server *server)
{
    atomic_store(&server->is_reloading, true);
    wake_raise(&server->wake);
}

bool server_is_settled(const Server *server) { return atomic_load(&server->is_settled); }

bool server_is_drained(const Server *server) { return atomic_load(&server->is_drained); }

void server_stop(Server *server)
{
    if (!server) return;
    if (server->has_thread) {
        atomic_store(&server->is_stopping, true);
        wake_raise(&server->wake);
        thread_join(&server->thread);
        server->has_thread = false;
    }
    bridge_close(server->api.bridge);
    aside_stop(server->api.aside);
    herald_close(server->api.herald);       /* it reads plans and records while it tells what there is: before the store is closed */
    server->api.herald = NULL;
    if (server->api.store && server->api.store != server->options.store) store_close(server->api.store);
    server->api.store = NULL;               /* the store is closed before server_free() */
}

void server_free(Server *server)
{
    if (!server) return;
    Api *api = &server->api;
    http_close(api->http);
    bridge_free(api->bridge);
    aside_free(api->aside);
    refusals_free(api->refusals);
    debounces_free(api->debounces);
    plan_facts_free(api->facts);
    shares_free(api->shares);
    streams_free(api->streams);
    access_close(api->access);
    access_close(server->aside_access);
    keyring_free(api->keys);
    zones_close(api->zones);
    scheduler_free(server->scheduler);
    trigger_replays_deinit(&api->triggers.replays);
    hook_rates_deinit(&api->hook_rates);
    api_plans_deinit(api);
    buf_deinit(&api->openapi);
    if (server->wake.fd >= 0) wake_close(&server->wake);
    free(server);
}
