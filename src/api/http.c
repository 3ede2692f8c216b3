#include "api/http.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/tls.h"
#include "base/check.h"
#include "base/limits.h"
#include "os/clock.h"
#include "os/entropy.h"
#include "os/gzip.h"

#define TICK_MS 100                 /* how often deadlines of waiting calls are looked at */
#define CUT_TICK_MS 1000            /* and those of connections */

/* One connection: from when on it has no request that came whole. */
typedef struct Link {
    struct Link *next, *prev;
    Http *http;
    int fd;
    int64_t since_ms;
    int64_t patience_ms;            /* 0: a request is being answered */
} Link;

struct Http {
    HttpOptions options;
    struct MHD_Daemon *daemon;
    int epoll_fd;
    bool is_draining, is_closing;
    Link *links;
    Call *waiting;
    HttpStats stats;
    int64_t tick_ms, cut_ms;
    Tls tls;
};

static int64_t steady_ms(void) { return (int64_t)(clock_monotonic_ns() / 1000000u); }

/* --- waiting ------------------------------------------------------------------------------------------------------------------ */

/* What libmicrohttpd knows of a request: the call, and where it belongs. */
typedef struct Request {
    Call call;                      /* first: call->connection is the way back */
    Http *http;
    Link *link;
    struct MHD_Connection *connection;
    bool is_handled, is_suspended, is_refused, is_sent;
    struct MHD_Response *response;
    size_t counted;                 /* of its body, in stats.body_size */
    Buf piece;                      /* of a stream */
    size_t piece_at;
    bool has_ended;
} Request;

static Request *request_of(Call *call) { return (Request *)call; }

static void waiting_add(Http *http, Call *call)
{
    call->prev = NULL;
    call->next = http->waiting;
    if (http->waiting) http->waiting->prev = call;
    http->waiting = call;
    call->is_waiting = true;
    http->stats.waiting_count++;
}

static void waiting_remove(Http *http, Call *call)
{
    if (!call->is_waiting) return;
    if (call->prev) call->prev->next = call->next;
    else http->waiting = call->next;
    if (call->next) call->next->prev = call->prev;
    call->is_waiting = false;
    http->stats.waiting_count--;
}

void call_wait(Call *call, int64_t ms, void (*late)(Call *call), void (*woken)(Call *call))
{
    Http *http = request_of(call)->http;
    call->deadline_ms = steady_ms() + ms;
    call->late = late;
    call->woken = woken;
    if (!call->is_waiting) waiting_add(http, call);
}

void call_wake(Call *call)
{
    Request *request = request_of(call);
    if (call->status && !call->stream.next) waiting_remove(request->http, call);
    if (!request->is_suspended) {
        call->is_woken = true;
        return;
    }
    request->is_suspended = false;
    MHD_resume_connection(request->connection);
}

static void suspend(Request *request)
{
    request->is_suspended = true;
    request->call.is_woken = false;
    MHD_suspend_connection(request->connection);
}

/* --- what was asked --------------------------------------------------------------------------------------------------------- */

typedef struct Pairs { Arena *arena; CallPair *pairs; uint32_t count, count_max; } Pairs;

static enum MHD_Result take_pair(void *context, enum MHD_ValueKind kind, const char *name, size_t name_size, const char *value,
                                 size_t value_size)
{
    Pairs *pairs = context;
    (void)kind;
    if (pairs->count == pairs->count_max) return MHD_NO;
    pairs->pairs[pairs->count++] = (CallPair){ arena_copy(pairs->arena, (Str){ name, name_size }),
                                               arena_copy(pairs->arena, (Str){ value ? value : "", value ? value_size : 0 }) };
    return MHD_YES;
}

static const CallPair *read_pairs(Request *request, enum MHD_ValueKind kind, uint32_t count_max, uint32_t *out_count)
{
    Pairs pairs = { .arena = &request->call.arena, .count_max = count_max };
    pairs.pairs = ARENA_ARRAY(&request->call.arena, CallPair, count_max);
    MHD_get_connection_values_n(request->connection, kind, take_pair, &pairs);
    *out_count = pairs.count;
    return pairs.pairs;
}

static Method method_of(const char *text)
{
    static const struct { const char *name; Method method; } methods[] = {
        { "GET", METHOD_GET }, { "HEAD", METHOD_GET }, { "POST", METHOD_POST }, { "PUT", METHOD_PUT }, { "DELETE", METHOD_DELETE },
    };
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(text, methods[i].name) == 0) return methods[i].method;
    return METHOD_OTHER;
}

static Str address_of(Request *request)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    char text[INET6_ADDRSTRLEN] = "";
    if (!info || !info->client_addr) return STR("local");
    const struct sockaddr *address = info->client_addr;
    if (address->sa_family == AF_INET)
        (void)inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)address)->sin_addr, text, sizeof text);
    else if (address->sa_family == AF_INET6)
        (void)inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, text, sizeof text);
    return arena_copy(&request->call.arena, text[0] ? str_of(text) : STR("local"));
}

/* The caller's own where it is a plain word, so that its logs and these can be laid side by side. */
static void name_call(Call *call)
{
    Str given = call_header(call, "X-Request-Id");
    bool is_plain = given.len && given.len < sizeof call->id;
    for (size_t i = 0; is_plain && i < given.len; i++)
        is_plain = ascii_is_alnum(given.ptr[i]) || given.ptr[i] == '-' || given.ptr[i] == '_' || given.ptr[i] == '.';
    if (is_plain) {
        memcpy(call->id, given.ptr, given.len);
        return;
    }
    uint8_t chance[8];
    entropy_bytes(chance, sizeof chance);
    Buf text = buf_on(call->id, sizeof call->id);
    buf_hex(&text, chance, sizeof chance);
}

static void read_trace(Call *call)
{
    uint32_t count = call->header_count;
    TraceHeader *headers = ARENA_ARRAY(&call->arena, TraceHeader, count + 1u);
    for (uint32_t i = 0; i < count; i++) headers[i] = (TraceHeader){ call->headers[i].name, call->headers[i].value };
    if (!trace_of_headers(headers, count, &call->trace)) call->trace = trace_make(entropy_seed());
}

static Request *request_new(Http *http, struct MHD_Connection *connection, const char *url, const char *method)
{
    Request *request = calloc(1, sizeof *request);
    CHECK(request);
    Call *call = &request->call;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    request->http = http;
    request->connection = connection;
    request->link = info ? info->socket_context : NULL;
    arena_init(&call->arena, SIZE_MAX);
    buf_init(&call->body, API_BODY_SIZE_MAX);
    buf_init(&call->out, JSON_SIZE_MAX);
    call->began_ns = clock_monotonic_ns();
    call->now_ms = clock_realtime_ns() / 1000000;
    call->method = method_of(method);
    call->path = arena_copy(&call->arena, str_of(url));
    call->source = address_of(request);
    call->headers = read_pairs(request, MHD_HEADER_KIND, TRIGGER_HEADER_COUNT_MAX, &call->header_count);
    call->query = read_pairs(request, MHD_GET_ARGUMENT_KIND, CALL_QUERY_COUNT_MAX, &call->query_count);
    name_call(call);
    read_trace(call);
    if (request->link) request->link->since_ms = steady_ms(), request->link->patience_ms = API_REQUEST_MS_MAX;
    return request;
}

static void request_free(Request *request)
{
    Call *call = &request->call;
    buf_deinit(&call->body);
    buf_deinit(&call->out);
    buf_deinit(&request->piece);
    arena_deinit(&call->arena);
    free(request);
}

/* --- the answer --------------------------------------------------------------------------------------------------------------- */

static ssize_t stream_read(void *context, uint64_t position, char *bytes, size_t size_max)
{
    Request *request = context;
    Call *call = &request->call;
    (void)position;
    if (request->piece_at == request->piece.len && !request->has_ended) {
        buf_clear(&request->piece);
        request->piece_at = 0;
        call->is_woken = false;
        request->has_ended = request->http->is_closing || !call->stream.next(call->stream.context, &request->piece);
    }
    size_t size = request->piece.len - request->piece_at;
    if (!size && request->has_ended) return MHD_CONTENT_READER_END_OF_STREAM;
    if (!size) {
        if (!call->is_woken) suspend(request);
        return 0;
    }
    if (size > size_max) size = size_max;
    memcpy(bytes, request->piece.ptr + request->piece_at, size);
    request->piece_at += size;
    return (ssize_t)size;
}

static bool wants_gzip(const Call *call)
{
    Str accepted = call_header(call, "Accept-Encoding");
    return call->out.len >= API_GZIP_SIZE_MIN && accepted.len && memmem(accepted.ptr, accepted.len, "gzip", 4);
}

static struct MHD_Response *response_of(Request *request)
{
    Call *call = &request->call;
    if (call->stream.next) {
        buf_init(&request->piece, SIZE_MAX);
        return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, API_STREAM_PIECE_SIZE, stream_read, request, NULL);
    }
    Buf packed;
    if (wants_gzip(call)) {
        buf_init(&packed, JSON_SIZE_MAX);
        if (gzip_pack(buf_peek(&call->out), &packed)) {
            buf_deinit(&call->out);
            call->out = packed;
            call_add_header(call, "Content-Encoding", STR("gzip"));
        } else {
            buf_deinit(&packed);
        }
        call_add_header(call, "Vary", STR("Accept-Encoding"));
    }
    return MHD_create_response_from_buffer(call->out.len, call->out.ptr, MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result send_answer(Request *request)
{
    Call *call = &request->call;
    char parent[TRACE_TEXT_SIZE];
    request->response = response_of(request);
    if (!request->response) return MHD_NO;
    if (call->type) MHD_add_response_header(request->response, "Content-Type", call->type);
    for (uint32_t i = 0; i < call->answer_count; i++)
        MHD_add_response_header(request->response, call->answer[i].name.ptr, call->answer[i].value.ptr);
    MHD_add_response_header(request->response, "X-Request-Id", call->id);
    MHD_add_response_header(request->response, "X-Content-Type-Options", "nosniff");
    Str traced = arena_copy(&call->arena, trace_print(&call->trace, parent));
    MHD_add_response_header(request->response, "traceparent", traced.ptr);
    if (request->http->is_draining || request->is_refused) MHD_add_response_header(request->response, "Connection", "close");
    request->is_sent = true;
    return MHD_queue_response(request->connection, call->status, request->response);
}

/* --- what libmicrohttpd calls ------------------------------------------------------------------------------------------------- */

/* More than fits: the rest is read and thrown away, so that the answer arrives, and the connection is closed after it. */
static enum MHD_Result take_body(Request *request, const char *bytes, size_t *size)
{
    Http *http = request->http;
    Call *call = &request->call;
    size_t came = *size;
    *size = 0;
    if (request->is_refused) return MHD_YES;
    bool has_room = http->stats.body_size + came <= API_WAITING_SIZE_MAX;
    if (has_room) buf_bytes(&call->body, bytes, came);
    if (has_room && !buf_overflowed(&call->body)) {
        request->counted += came;
        http->stats.body_size += came;
        return MHD_YES;
    }
    request->is_refused = true;
    buf_clear(&call->body);
    call_problem(call, PROBLEM_BODY_SIZE, "a body has at most %u bytes", API_BODY_SIZE_MAX);
    return MHD_YES;
}

/* The size that a head announces is believed before anything of the body is taken. */
static bool is_announced_too_large(const Call *call)
{
    uint64_t size;
    Str announced = call_header(call, "Content-Length");
    return announced.len && str_to_u64(announced, &size) && size > API_BODY_SIZE_MAX;
}

static enum MHD_Result handle(Request *request)
{
    Http *http = request->http;
    Call *call = &request->call;
    if (!request->is_handled) {
        request->is_handled = true;
        if (request->link) request->link->patience_ms = 0;
        if (!call->status && http->stats.waiting_count >= API_WAITING_COUNT_MAX)
            call_problem(call, PROBLEM_UNAVAILABLE, "%u requests wait for their answers already", API_WAITING_COUNT_MAX);
        if (!call->status) http->options.handle(http->options.context, call);
    } else if (!call->status && call->woken) {
        call->woken(call);
    }
    if (call->status) return send_answer(request);
    CHECK(call->is_waiting);
    if (!call->is_woken) suspend(request);
    call->is_woken = false;
    return MHD_YES;
}

static enum MHD_Result take_request(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                                    const char *version, const char *bytes, size_t *size, void **state)
{
    (void)version;
    Request *request = *state;
    if (!request) {
        *state = request = request_new(context, connection, url, method);
        if (!is_announced_too_large(&request->call)) return MHD_YES;
        request->is_refused = request->is_handled = true;
        call_problem(&request->call, PROBLEM_BODY_SIZE, "a body has at most %u bytes", API_BODY_SIZE_MAX);
        return send_answer(request);
    }
    if (*size) return take_body(request, bytes, size);
    return request->is_sent ? MHD_YES : handle(request);
}

static void request_over(void *context, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode code)
{
    Http *http = context;
    Request *request = *state;
    (void)connection;
    (void)code;
    if (!request) return;
    *state = NULL;
    Call *call = &request->call;
    waiting_remove(http, call);
    if (call->stream.next) call->stream.end(call->stream.context);
    if (request->response) MHD_destroy_response(request->response);
    http->stats.body_size -= request->counted;
    if (request->link) request->link->since_ms = steady_ms(), request->link->patience_ms = API_IDLE_S * 1000;
    http->options.done(http->options.context, call, clock_monotonic_ns() - call->began_ns);
    call->is_gone = true;
    if (!call->use_count) request_free(request);
}

void call_release(Call *call)
{
    call->use_count--;
    if (call->is_gone && !call->use_count) request_free(request_of(call));
}

static void take_connection(void *context, struct MHD_Connection *connection, void **state,
                            enum MHD_ConnectionNotificationCode code)
{
    Http *http = context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        Link *link = calloc(1, sizeof *link);
        CHECK(link);
        *link = (Link){ .http = http, .fd = info ? info->connect_fd : -1, .since_ms = steady_ms(),
                        .patience_ms = API_REQUEST_MS_MAX, .next = http->links };
        if (http->links) http->links->prev = link;
        http->links = link;
        http->stats.accepted++;
        http->stats.connection_count++;
        *state = link;
        return;
    }
    Link *link = *state;
    if (!link) return;
    if (link->prev) link->prev->next = link->next;
    else http->links = link->next;
    if (link->next) link->next->prev = link->prev;
    http->stats.connection_count--;
    free(link);
    *state = NULL;
}

/* --- make ----------------------------------------------------------------------------------------------------------------------- */

/* Handshakes ask for the pair that is to be shown; libmicrohttpd has no word on which session belongs to which daemon, and one process
 * serves one. */
static const Tls *shown;

static int show_certificate(gnutls_session_t session, const gnutls_datum_t *names, int name_count, const gnutls_pk_algorithm_t *algorithms,
                            int algorithm_count, gnutls_pcert_st **out_chain, unsigned *out_count, gnutls_privkey_t *out_key)
{
    (void)session, (void)names, (void)name_count, (void)algorithms, (void)algorithm_count;
    const TlsPair *pair = tls_peek(shown);
    *out_chain = (gnutls_pcert_st *)(uintptr_t)pair->chain;
    *out_count = pair->chain_count;
    *out_key = pair->key;
    return pair->key ? 0 : -1;
}

static Status start(Http *http, Error *err)
{
    const HttpOptions *options = &http->options;
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (options->certificate ? MHD_USE_TLS : 0u);
    Status status = options->certificate ? tls_load(&http->tls, options->certificate, options->key, err) : OK;
    if (status) return status;
    shown = &http->tls;
    struct MHD_OptionItem tls[] = { { MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)(uintptr_t)show_certificate }, { MHD_OPTION_END, 0, NULL } };
    struct MHD_OptionItem none[] = { { MHD_OPTION_END, 0, NULL } };
    http->daemon = MHD_start_daemon(flags, 0, NULL, NULL, take_request, http,
        MHD_OPTION_LISTEN_SOCKET, options->fd, MHD_OPTION_CONNECTION_LIMIT, API_CONNECTION_COUNT_MAX,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, API_CONNECTION_PER_ADDRESS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, API_IDLE_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)API_HEAD_SIZE_MAX, MHD_OPTION_NOTIFY_COMPLETED, request_over, http,
        MHD_OPTION_NOTIFY_CONNECTION, take_connection, http, MHD_OPTION_ARRAY, options->certificate ? tls : none, MHD_OPTION_END);
    if (!http->daemon) return error_set(err, ERR_UNAVAILABLE, "HTTP cannot be served on this socket");
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    http->epoll_fd = info ? info->epoll_fd : -1;
    return OK;
}

Status http_open(const HttpOptions *options, Http **out_http, Error *err)
{
    Http *http = calloc(1, sizeof *http);
    CHECK(http);
    http->options = *options;
    Status status = start(http, err);
    if (status) http_close(http);
    else *out_http = http;
    return status;
}

/* Calls that wait are answered first, since a suspended request cannot be ended. */
void http_close(Http *http)
{
    if (!http) return;
    http->is_closing = http->is_draining = true;
    for (Call *call = http->waiting, *next; call; call = next) {
        next = call->next;
        if (!call->status) call_problem(call, PROBLEM_UNAVAILABLE, "the server has ended");
        else call_wake(call);
    }
    if (http->daemon) {
        MHD_run(http->daemon);
        MHD_stop_daemon(http->daemon);
    }
    tls_deinit(&http->tls);
    free(http);
}

/* --- the loop -------------------------------------------------------------------------------------------------------------------- */

int http_fd(const Http *http) { return http->epoll_fd; }

int64_t http_due_ms(Http *http)
{
    MHD_UNSIGNED_LONG_LONG own;
    int64_t due_ms = http->waiting ? TICK_MS : http->links ? CUT_TICK_MS : -1;
    if (MHD_get_timeout(http->daemon, &own) == MHD_YES && (due_ms < 0 || (int64_t)own < due_ms)) due_ms = (int64_t)own;
    return due_ms;
}

static void look_at_waiting(Http *http, int64_t now_ms)
{
    if (now_ms < http->tick_ms) return;
    http->tick_ms = now_ms + TICK_MS;
    for (Call *call = http->waiting, *next; call; call = next) {
        next = call->next;
        if (call->deadline_ms <= now_ms) call->late(call);
    }
}

static void look_at_links(Http *http, int64_t now_ms)
{
    if (now_ms < http->cut_ms) return;
    http->cut_ms = now_ms + CUT_TICK_MS;
    for (Link *link = http->links; link; link = link->next)
        if (link->patience_ms && link->since_ms + link->patience_ms <= now_ms) (void)shutdown(link->fd, SHUT_RDWR);
}

void http_turn(Http *http)
{
    int64_t now_ms = steady_ms();
    look_at_waiting(http, now_ms);
    look_at_links(http, now_ms);
    MHD_run(http->daemon);
}

bool http_drain(Http *http)
{
    if (!http->is_draining) {
        http->is_draining = true;
        MHD_socket fd = MHD_quiesce_daemon(http->daemon);
        if (fd != MHD_INVALID_SOCKET) close(fd);
        for (Call *call = http->waiting; call; call = call->next) call_wake(call);
    }
    bool is_quiet = true;
    for (Link *link = http->links; link; link = link->next) is_quiet = is_quiet && link->patience_ms;
    return is_quiet;
}

Status http_reload(Http *http, Error *err)
{
    return http->options.certificate ? tls_load(&http->tls, http->options.certificate, http->options.key, err) : OK;
}

HttpStats http_stats(const Http *http) { return http->stats; }
