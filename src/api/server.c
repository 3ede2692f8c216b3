#include "api/server.h"

#include <inttypes.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/api.h"
#include "api/follow.h"
#include "api/stream.h"
#include "base/check.h"
#include "base/limits.h"
#include "os/clock.h"
#include "os/thread.h"
#include "os/wake.h"
#include "value/json.h"

#define DRAIN_TURN_MS 50

struct Server {
    ServerOptions options;
    Api api;
    Thread thread;
    bool has_thread;
    Wake wake;
    atomic_bool is_draining, is_drained, is_stopping, is_reloading;
};

/* --- the log ------------------------------------------------------------------------------------------------------------------------------ */

static void print_member(Buf *line, const char *name, Str text)
{
    buf_format(line, ",\"%s\":", name);
    json_print_string(line, text);
}

/* Refusals are the audit of who tried what; failures are what somebody has to look at. */
static void log_call(const Api *api, const Call *call, uint64_t took_ns)
{
    unsigned status = call->status;
    bool is_refusal = status == 401 || status == 403 || status == 429;
    if (!api->logs_all && !is_refusal && status < 500) return;
    Arena arena;
    Buf line;
    static const char *const methods[] = { "GET", "POST", "PUT", "DELETE", "OTHER" };
    char traced[TRACE_TEXT_SIZE];
    Cell time = cell_int(call->now_ms);
    arena_init(&arena, SIZE_MAX);
    buf_init(&line, JSON_SIZE_MAX);
    buf_text(&line, "{\"time\":");
    json_print_string(&line, value_text(cell_time(&arena, &time)));
    print_member(&line, "level", status >= 500 ? STR("error") : is_refusal ? STR("warning") : STR("info"));
    print_member(&line, "message", is_refusal ? STR("request refused") : STR("request"));
    print_member(&line, "requestId", str_of(call->id));
    print_member(&line, "trace", trace_print(&call->trace, traced));
    print_member(&line, "method", str_of(methods[call->method]));
    print_member(&line, "path", call->path);
    buf_format(&line, ",\"status\":%u,\"ms\":%.3f", status, (double)took_ns / 1e6);
    if (call->route) print_member(&line, "route", str_of(call->route->name));
    if (call->caller.key.len) print_member(&line, "key", call->caller.key);
    if (call->caller.tenant.len) print_member(&line, "tenant", call->caller.tenant);
    print_member(&line, "address", call->source);
    if (status >= 400) print_member(&line, "problem", str_of(problem_info(call->problem)->type));
    buf_text(&line, "}\n");
    (void)fwrite(line.ptr, 1, line.len, stderr);
    buf_deinit(&line);
    arena_deinit(&arena);
}

/* --- requests --------------------------------------------------------------------------------------------------------------------------------- */

/* False after answering: nobody is known by what was sent. */
static bool authenticate(Api *api, Call *call)
{
    Str given = call_header(call, "Authorization");
    Error err;
    uint64_t wait_s = 1;
    bool is_bearer = given.len > 7 && strncasecmp(given.ptr, "Bearer ", 7) == 0;
    /* A trigger has its own credentials, which look alike; only a key is one. */
    if (call->route->access == ROUTE_TRIGGER && (!is_bearer || !str_starts(str_trim(str_slice(given, 7, given.len)), STR("mk.")))) return true;
    if (!is_bearer) {
        api->metrics.refused_keys++;
        call_problem(call, PROBLEM_UNAUTHENTICATED, "send an API key: Authorization: Bearer KEY");
        return false;
    }
    Status status = keyring_find(api->keys, &call->arena, str_trim(str_slice(given, 7, given.len)), call->now_ms, &call->caller, &wait_s, &err);
    if (!status) return true;
    if (status == ERR_LIMIT) {
        api->metrics.limited++;
        call_problem(call, PROBLEM_RATE, "%s; come again in %" PRIu64 " s", err.text, wait_s);
    } else if (status == ERR_UNAVAILABLE) {
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

static void handle(void *context, Call *call)
{
    Api *api = context;
    uint32_t allowed;
    call->api = api;
    call->route = route_find(call, &allowed);
    if (!call->route && allowed) refuse_method(call, allowed);
    else if (!call->route) call_problem(call, PROBLEM_NOT_FOUND, "there is nothing at this address; GET /api has links to what there is");
    else if (call->route->access == ROUTE_OPEN || authenticate(api, call)) call->route->handle(call);
}

static void done(void *context, const Call *call, uint64_t took_ns)
{
    Api *api = context;
    metrics_count(&api->metrics, call->route, call->status, took_ns);
    log_call(api, call, took_ns);
}

/* --- the thread ------------------------------------------------------------------------------------------------------------------------------- */

static void take_news(void *context, uint64_t run_no, bool is_log)
{
    Api *api = context;
    if (!is_log) follow_news(api, run_no);
    stream_news(api, run_no);
}

static void begin_drain(Api *api)
{
    if (api->is_draining) return;
    api->is_draining = true;
    follow_news(api, 0);
    stream_news(api, 0);
}

static void reload(Api *api)
{
    Error err;
    Buf line;
    Status status = http_reload(api->http, &err);
    buf_init(&line, JSON_SIZE_MAX);
    buf_format(&line, "{\"level\":\"%s\",\"message\":", status ? "error" : "info");
    json_print_string(&line, status ? str_of(err.text) : STR("certificate and key were read again"));
    buf_text(&line, "}\n");
    (void)fwrite(line.ptr, 1, line.len, stderr);
    buf_deinit(&line);
}

static void run(void *context)
{
    Server *server = context;
    Api *api = &server->api;
    struct pollfd fds[] = { { .fd = http_fd(api->http), .events = POLLIN }, { .fd = bridge_fd(api->bridge), .events = POLLIN },
                            { .fd = wake_fd(&server->wake), .events = POLLIN } };
    while (!atomic_load(&server->is_stopping)) {
        int64_t due_ms = http_due_ms(api->http);
        if (api->is_draining && (due_ms < 0 || due_ms > DRAIN_TURN_MS)) due_ms = DRAIN_TURN_MS;
        (void)poll(fds, sizeof fds / sizeof *fds, due_ms > INT32_MAX ? INT32_MAX : (int)due_ms);
        if (fds[2].revents) wake_lower(&server->wake);
        if (atomic_exchange(&server->is_reloading, false)) reload(api);
        if (atomic_load(&server->is_draining)) begin_drain(api);
        if (fds[1].revents) bridge_take(api->bridge, take_news, api);
        http_turn(api->http);
        if (api->is_draining && http_drain(api->http)) atomic_store(&server->is_drained, true);
    }
    http_close(api->http);
    api->http = NULL;
}

/* --- make ---------------------------------------------------------------------------------------------------------------------------------------- */

static Status open_parts(Server *server, Error *err)
{
    const ServerOptions *options = &server->options;
    Api *api = &server->api;
    HttpOptions http = { .fd = options->fd, .certificate = options->certificate, .key = options->key, .handle = handle, .done = done,
                         .context = api };
    BridgeOptions bridge = { .host = options->host, .exchange = options->exchange, .exchange_context = options->exchange_context };
    *api = (Api){ .store = options->store, .catalog = options->catalog, .guard = options->guard, .logs_all = options->logs_all,
                  .keys = keyring_new(options->vault, options->rate_per_s),
                  .triggers = { .store = options->store, .vault = options->vault, .guard = options->guard } };
    Status status = wake_open(&server->wake, err);
    if (!status) status = access_open(options->access, &api->access, err);
    if (!status) status = bridge_new(&bridge, &api->bridge, err);
    if (!status) status = http_open(&http, &api->http, err);
    if (!status) status = thread_start(&server->thread, "maestro-http", run, server, err);
    server->has_thread = !status;
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
}

void server_free(Server *server)
{
    if (!server) return;
    Api *api = &server->api;
    http_close(api->http);
    bridge_free(api->bridge);
    access_close(api->access);
    keyring_free(api->keys);
    trigger_replays_deinit(&api->triggers.replays);
    for (uint32_t i = 0; i < API_PLAN_COUNT_MAX; i++)
        if (api->plans[i].is_used) arena_deinit(&api->plans[i].arena);
    if (server->wake.fd >= 0) wake_close(&server->wake);
    free(server);
}
