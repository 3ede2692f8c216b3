#include "api/http.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/head.h"
#include "api/link.h"
#include "api/own_words.h"
#include "api/route.h"
#include "api/tls.h"
#include "base/check.h"
#include "base/limits.h"
#include "os/clock.h"
#include "os/entropy.h"

#define TICK_MS 100                 /* how often deadlines of waiting calls are looked at */
#define TLS_PRIORITIES "NORMAL:-VERS-TLS1.0:-VERS-TLS1.1:-RSA"     /* nothing before 1.2, nor without forward secrecy */
#define IDLE_TURN_COUNT_MAX 8u      /* turns that brought nothing before it is not believed any more that there is something to do */
#define IDLE_TURN_MS 5              /* how long it waits before the next one then: before each further one twice as long, ... */
#define IDLE_TURN_DOUBLE_COUNT 6u   /* ... so often */
#define TLS_BLOCK_SIZE (64u * 1024) /* of a large answer by HTTPS, at a time */
#define STREAM_BLOCK_SIZE 4096u     /* what libmicrohttpd keeps for a stream; it is used for HTTP 1.0 alone */

struct Http {
    HttpOptions options;
    struct MHD_Daemon *daemon;
    int epoll_fd;
    bool is_draining, is_closing;
    Links links;
    Call *waiting;
    HttpStats stats;
    int64_t tick_ms;
    int64_t late_ms;                /* before that none of those that wait is late */
    uint32_t idle_turn_count;       /* in a row, of HTTPS */
    Tls tls;
};

/* --- waiting ------------------------------------------------------------------------------------------------------------------ */

/* What libmicrohttpd knows of a request: the call, and where it belongs. */
typedef struct Request {
    Call call;                      /* first: call->connection is the way back */
    Http *http;
    Link *link;
    struct MHD_Connection *connection;
    bool is_handled, is_suspended, is_refused, is_sent;
    bool is_head;                   /* its answer has no body */
    bool is_unwanted;               /* it is answered already: its body is read and thrown away */
    bool is_chunked;                /* where its body ends another reader may see elsewhere: nothing behind it is taken for a request */
    ShareHold bodies;               /* what its body takes, as long as somebody reads that */
    ShareHold unread;               /* what its answer takes until it is sent */
    Shares *shares;                 /* that these are of; they outlive the server's thread */
    bool is_cut;                    /* it has more headers or parameters than are read */
    struct MHD_Response *response;
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
    share_give_back(http->options.shares, &call->hold);
}

void call_wait(Call *call, int64_t ms, void (*late)(Call *call), void (*woken)(Call *call))
{
    Http *http = request_of(call)->http;
    call->deadline_ms = clock_monotonic_ms() + ms;
    if (call->deadline_ms < http->late_ms) http->late_ms = call->deadline_ms;
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

void call_watch(Call *call, void (*left)(Call *call, bool is_broken))
{
    call->left = left;
    link_watch(request_of(call)->link, call);
}

bool call_has_left(const Call *call) { return !call->is_gone && link_has_left(((const Request *)call)->link); }

static void suspend(Request *request)
{
    request->is_suspended = true;
    request->call.is_woken = false;
    MHD_suspend_connection(request->connection);
}

/* --- what was asked --------------------------------------------------------------------------------------------------------- */

typedef struct Pairs { CallPair *pairs; uint32_t count, count_max; bool is_cut; } Pairs;

static enum MHD_Result take_pair(void *context, enum MHD_ValueKind kind, const char *name, size_t name_size, const char *value,
                                 size_t value_size)
{
    Pairs *pairs = context;
    (void)kind;
    if (pairs->count == pairs->count_max) {
        pairs->is_cut = true;
        return MHD_NO;
    }
    pairs->pairs[pairs->count++] = (CallPair){ { name, name_size }, { value ? value : "", value ? value_size : 0 } };
    return MHD_YES;
}

/* They lie in the memory of the connection. How many there are. */
static uint32_t peek_pairs(Request *request, enum MHD_ValueKind kind, CallPair *out_pairs, uint32_t count_max)
{
    Pairs pairs = { .pairs = out_pairs, .count_max = count_max };
    MHD_get_connection_values_n(request->connection, kind, take_pair, &pairs);
    request->is_cut = request->is_cut || pairs.is_cut;
    return pairs.count;
}

static const CallPair *copy_pairs(Arena *arena, const CallPair *pairs, uint32_t count, Str (*copy)(Arena *arena, Str text))
{
    CallPair *copies = ARENA_ARRAY(arena, CallPair, count + 1u);
    for (uint32_t i = 0; i < count; i++) copies[i] = (CallPair){ copy(arena, pairs[i].name), copy(arena, pairs[i].value) };
    return copies;
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

/* All of its headers, in their order, are one list. */
static void read_state(Call *call)
{
    char fitted[TRACE_STATE_SIZE_MAX];
    size_t size = 1;
    for (uint32_t i = 0; i < call->header_count; i++) size += call->headers[i].value.len + 1;
    Buf text = buf_on(arena_bytes(&call->arena, size), size);
    for (uint32_t i = 0; i < call->header_count; i++) {
        Str name = call->headers[i].name;
        if (name.len != 10 || strncasecmp(name.ptr, "tracestate", 10) != 0) continue;
        if (text.len) buf_char(&text, ',');
        buf_str(&text, call->headers[i].value);
    }
    Str state = trace_state_fit(str_trim(buf_peek(&text)), fitted);
    if (state.len) call->tracestate = arena_copy(&call->arena, state);
}

static void read_trace(Call *call)
{
    uint32_t count = call->header_count;
    TraceHeader *headers = ARENA_ARRAY(&call->arena, TraceHeader, count + 1u);
    for (uint32_t i = 0; i < count; i++) headers[i] = (TraceHeader){ call->headers[i].name, call->headers[i].value };
    call->has_parent = trace_of_headers(headers, count, &call->trace);
    if (!call->has_parent) {
        call->trace = trace_make(entropy_seed());
        return;
    }
    memcpy(call->parent, call->trace.span, sizeof call->parent);
    call->trace = trace_child(&call->trace, entropy_seed());        /* the call's own span */
    read_state(call);
}

static Link *link_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

/* Nothing of it is read yet. */
static Request *request_new(Http *http, struct MHD_Connection *connection)
{
    Request *request = calloc(1, sizeof *request);
    CHECK(request);
    Call *call = &request->call;
    request->http = http;
    request->shares = http->options.shares;
    request->connection = connection;
    request->link = link_of(connection);
    arena_init(&call->arena, SIZE_MAX);
    arena_init(&call->read_arena, API_BODY_READ_SIZE_MAX);
    buf_init(&call->body, API_BODY_SIZE_MAX);
    buf_init(&call->out, JSON_SIZE_MAX);
    call->began_ns = clock_monotonic_ns();
    call->now_ms = clock_realtime_ms();
    call->method = METHOD_OTHER;
    call->source = address_of(request);
    if (request->link) request->link->call = call;
    return request;
}

static void read_head(Request *request, const char *url, const Head *head)
{
    Call *call = &request->call;
    CallPair query[CALL_QUERY_COUNT_MAX];
    call->method = method_of(head->method.ptr);
    request->is_head = str_is_text(head->method, "HEAD");
    call->path = arena_copy(&call->arena, head_path(str_of(url)));
    call->headers = copy_pairs(&call->arena, head->headers, head->header_count, arena_copy);
    call->header_count = head->header_count;
    call->query_count = peek_pairs(request, MHD_GET_ARGUMENT_KIND, query, CALL_QUERY_COUNT_MAX);
    call->query = copy_pairs(&call->arena, query, call->query_count, head_decode);
    name_call(call);
    read_trace(call);
    link_begin(request->link);
}

static void request_free(Request *request)
{
    Call *call = &request->call;
    share_give_back(request->shares, &request->bodies);
    share_give_back(request->shares, &request->unread);
    share_give_back(request->shares, &call->reading);
    buf_deinit(&call->body);
    buf_deinit(&call->out);
    buf_deinit(&request->piece);
    arena_deinit(&call->read_arena);
    arena_deinit(&call->arena);
    free(request);
}

/* --- the answer --------------------------------------------------------------------------------------------------------------- */

static ssize_t stream_read(void *context, uint64_t position, char *bytes, size_t size_max)
{
    Request *request = context;
    Call *call = &request->call;
    request->http->idle_turn_count = 0;
    (void)position;
    if (request->piece_at == request->piece.len && !request->has_ended) {
        buf_clear(&request->piece);
        request->piece_at = 0;
        call->is_woken = false;
        request->has_ended = request->http->is_closing || !call->stream.next(call->stream.context, &request->piece);
    }
    size_t size = request->piece.len - request->piece_at;
    link_stream(request->link, /* is_sent= */ size);           /* it has taken what was sent before, else it would not ask */
    if (!size && request->has_ended) return MHD_CONTENT_READER_END_OF_STREAM;
    if (!size) {
        buf_deinit(&request->piece);            /* one that waits holds nothing */
        buf_init(&request->piece, SIZE_MAX);
        if (!call->is_woken) suspend(request);
        return 0;
    }
    if (size > size_max) size = size_max;
    memcpy(bytes, request->piece.ptr + request->piece_at, size);
    request->piece_at += size;
    return (ssize_t)size;
}

static ssize_t read_nothing(void *context, uint64_t position, char *bytes, size_t size_max)
{
    (void)context, (void)position, (void)bytes, (void)size_max;
    return MHD_CONTENT_READER_END_OF_STREAM;
}

/* That of a body of no size would be in pieces, which readers of a 304 look for: it ends with its connection. */
static struct MHD_Response *bare_response(void)
{
    struct MHD_Response *response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 1, read_nothing, NULL, NULL);
    if (response) MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
    return response;
}

/* A large answer takes memory until its receiver has read it. Where too many are left unread, further ones are not sent; but what was done,
 * and work that was given out, is told whatever it takes. */
static void hold_answer(Request *request)
{
    Call *call = &request->call;
    if (request->is_head || call->out.len <= API_ANSWER_FREE_SIZE) return;
    ShareBound bound = share_take(request->shares, SHARE_ANSWERS, call_sharer(call), call->out.len, &request->unread);
    if (bound == SHARE_FREE || call->is_done || !call->route || !route_is_read(call->route)) return;
    call_take_back(call);
    call_refuse_share(call, SHARE_ANSWERS, bound);
}

static ssize_t answer_read(void *context, uint64_t position, char *bytes, size_t size_max)
{
    const Request *request = context;
    Str rest = str_slice(buf_peek(&request->call.out), (size_t)position, request->call.out.len);
    if (rest.len > size_max) rest.len = size_max;
    request->http->idle_turn_count = 0;
    memcpy(bytes, rest.ptr, rest.len);
    return (ssize_t)rest.len;
}

static struct MHD_Response *response_of(Request *request)
{
    Call *call = &request->call;
    /* Of a stream that has no size libmicrohttpd would send the end all the same: the next answer would begin with it. */
    if (call->stream.next && request->is_head) return MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    if (call->stream.next) {
        buf_init(&request->piece, SIZE_MAX);
        return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK_SIZE, stream_read, request, NULL);
    }
    if (call->is_bare) return bare_response();
    call_pack(call);
    hold_answer(request);
    /* Of HTTPS it has to be seen that a large answer goes on: see http_due_ms(). */
    if (request->http->options.certificate && call->out.len > API_ANSWER_FREE_SIZE)
        return MHD_create_response_from_callback(call->out.len, TLS_BLOCK_SIZE, answer_read, request, NULL);
    return MHD_create_response_from_buffer(call->out.len, call->out.ptr, MHD_RESPMEM_PERSISTENT);
}

/* What every answer says of itself. */
static void sign_answer(Request *request)
{
    Call *call = &request->call;
    char parent[TRACE_TEXT_SIZE];
    call_add_header(call, "X-Request-Id", str_of(call->id));
    call_add_header(call, "X-Content-Type-Options", STR("nosniff"));
    call_add_header(call, "traceparent", trace_print(&call->trace, parent));
    if (request->http->is_draining || request->is_refused || request->is_chunked) call_add_header(call, "Connection", STR("close"));
}

static enum MHD_Result send_answer(Request *request)
{
    Call *call = &request->call;
    request->response = response_of(request);
    if (!request->response) return MHD_NO;
    if (call->type) MHD_add_response_header(request->response, "Content-Type", call->type);
    sign_answer(request);
    for (uint32_t i = 0; i < call->answer_count; i++)
        MHD_add_response_header(request->response, call->answer[i].name.ptr, call->answer[i].value.ptr);
    request->is_sent = true;
    return own_words_queue(request->connection, call->status, request->response);
}

/* --- what libmicrohttpd calls ------------------------------------------------------------------------------------------------- */

static void refuse_bodies(Call *call, ShareBound bound)
{
    call_problem(call, PROBLEM_UNAVAILABLE, "bodies of %s take up %zu bytes already: send it again",
                 share_holder(bound), share_bound(SHARE_BODIES, bound));
}

/* False after answering: all that bodies may take is taken. */
static bool has_room(Request *request, size_t came)
{
    Call *call = &request->call;
    ShareBound bound = share_take(request->shares, SHARE_BODIES, call_sharer(call), came, &request->bodies);
    if (bound != SHARE_FREE) refuse_bodies(call, bound);
    return bound == SHARE_FREE;
}

bool call_let_in(Call *call, Str tenant, Str who)
{
    Request *request = request_of(call);
    if (call->caller.tenant.len) return true;
    call->let_in = (ShareOwner){ arena_copy(&call->arena, tenant), arena_copy(&call->arena, who) };
    ShareBound bodies = share_move(request->shares, call->let_in, &request->bodies);
    ShareBound reads = share_move(request->shares, call->let_in, &call->reading);
    if (bodies != SHARE_FREE) refuse_bodies(call, bodies);
    else if (reads != SHARE_FREE) call_refuse_share(call, SHARE_READS, reads);
    return call->status == 0;
}

/* A body is not taken, and libmicrohttpd sends no answer before it has come to its end, which may be far: so it is told past libmicrohttpd. What
 * still comes is read and thrown away, since closing over it would take the answer back. */
static void refuse_body(Request *request)
{
    Call *call = &request->call;
    request->is_refused = request->is_handled = request->is_sent = true;
    share_give_back(request->shares, &request->bodies);
    buf_deinit(&call->body);
    buf_init(&call->body, API_BODY_SIZE_MAX);
    sign_answer(request);
    own_words_send(request->connection, call);
}

static enum MHD_Result take_body(Request *request, const char *bytes, size_t *size)
{
    Call *call = &request->call;
    size_t came = *size;
    *size = 0;
    if (request->is_refused || request->is_unwanted) return MHD_YES;
    bool fits = has_room(request, came);
    if (fits) buf_bytes(&call->body, bytes, came);
    if (fits && !buf_overflowed(&call->body)) return MHD_YES;
    if (fits) call_problem(call, PROBLEM_BODY_SIZE, "a body has at most %u bytes", API_BODY_SIZE_MAX);
    refuse_body(request);
    return MHD_YES;
}

/* The size that a head announces is believed before anything of the body is taken. */
static bool is_announced_too_large(const Call *call)
{
    uint64_t size;
    Str announced = call_header(call, "Content-Length");
    return announced.len && str_to_u64(announced, &size) && size > API_BODY_SIZE_MAX;
}

/* There is none, or it comes anyway and is soon read: then the connection can go on. Who asks first is told at once, and sends nothing. */
static bool is_body_small(const Call *call)
{
    uint64_t size = 0;
    Str announced = call_header(call, "Content-Length");
    if (call_header(call, "Transfer-Encoding").len) return false;
    if (call_is_name(call_header(call, "Expect"), "100-continue")) return false;
    return !announced.len || (str_to_u64(announced, &size) && size <= API_DISCARD_SIZE_MAX);
}

/* What is wrong with a head is answered before anything of a body is taken; false: nothing is. */
static bool refuse_head(Request *request, const Head *head)
{
    Call *call = &request->call;
    const char *fault = request->is_cut ? NULL : head_gap(head);        /* of one that has more the rest is not looked at */
    if (!fault && request->link) fault = request->link->target_fault;
    if (!fault) fault = head_fault(head);
    if (fault) call_problem(call, PROBLEM_MALFORMED, "this is no request of HTTP: %s", fault);
    else if (head->bytes.len > API_HEAD_SIZE_MAX)
        call_problem(call, PROBLEM_HEAD_SIZE, "the line and the headers of a request have at most %u bytes", API_HEAD_SIZE_MAX);
    else if (request->is_cut)
        call_problem(call, PROBLEM_HEAD_SIZE, "a request has at most %u headers and %u parameters", TRIGGER_HEADER_COUNT_MAX, CALL_QUERY_COUNT_MAX);
    else if (is_announced_too_large(call)) call_problem(call, PROBLEM_BODY_SIZE, "a body has at most %u bytes", API_BODY_SIZE_MAX);
    return call->status != 0;
}

static void refuse_late(Call *call) { call_problem(call, PROBLEM_UNAVAILABLE, "the server has ended"); }

static enum MHD_Result handle(Request *request)
{
    Http *http = request->http;
    Call *call = &request->call;
    if (!request->is_handled) {
        request->is_handled = true;
        link_answer(request->link);
        if (!call->status && http->is_closing) refuse_late(call);
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

/* The head of a request has come. */
static enum MHD_Result begin_request(Request *request, const char *url, const char *method, const char *version)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    CallPair headers[TRIGGER_HEADER_COUNT_MAX];
    Head head = { .bytes = { method, info ? info->header_size : 0 }, .method = str_of(method), .version = str_of(version), .headers = headers,
                  .target = request->link ? request->link->target : STR("") };
    head.header_count = peek_pairs(request, MHD_HEADER_KIND, headers, TRIGGER_HEADER_COUNT_MAX);
    read_head(request, url, &head);
    request->is_chunked = call_has_header(&request->call, "Transfer-Encoding");
    bool is_wrong = refuse_head(request, &head);
    if (!is_wrong && request->http->options.enter(request->http->options.context, &request->call)) return MHD_YES;
    request->is_unwanted = !is_wrong && is_body_small(&request->call);
    if (request->is_unwanted) return MHD_YES;
    request->is_refused = request->is_handled = true;
    return send_answer(request);
}

static enum MHD_Result take_request(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                                    const char *version, const char *bytes, size_t *size, void **state)
{
    Request *request = *state;
    ((Http *)context)->idle_turn_count = 0;
    if (!request) {
        *state = request = request_new(context, connection);
        return begin_request(request, url, method, version);
    }
    if (*size) return take_body(request, bytes, size);
    if (!request->is_sent) return handle(request);
    return request->response ? MHD_YES : MHD_NO;            /* of what was told past libmicrohttpd nothing is left to send */
}

static void request_end(Request *request)
{
    Http *http = request->http;
    Call *call = &request->call;
    waiting_remove(http, call);
    if (call->over) call->over(call);
    if (call->stream.next) call->stream.end(call->stream.context);
    if (request->response) MHD_destroy_response(request->response);
    share_give_back(http->options.shares, &call->hold);
    link_rest(request->link);
    http->options.done(http->options.context, call, clock_monotonic_ns() - call->began_ns);
    call->is_gone = true;
    if (!call->use_count) request_free(request);
}

static void request_over(void *context, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode code)
{
    Request *request = *state;
    (void)connection;
    (void)code;
    ((Http *)context)->idle_turn_count = 0;
    *state = NULL;
    if (request) request_end(request);
}

static void refuse_unread(Call *call, unsigned status)
{
    if (status == MHD_HTTP_CONTENT_TOO_LARGE) call_problem(call, PROBLEM_BODY_SIZE, "a body has at most %u bytes", API_BODY_SIZE_MAX);
    else if (status == MHD_HTTP_URI_TOO_LONG || status == MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE)
        call_problem(call, PROBLEM_HEAD_SIZE, "the line and the headers of a request have at most %u bytes", API_HEAD_SIZE_MAX);
    else if (status == MHD_HTTP_HTTP_VERSION_NOT_SUPPORTED)         /* not 505: what strangers send is no error of the server */
        call_problem(call, PROBLEM_MALFORMED, "this is no request of HTTP/1.1, and no other version is spoken here");
    else if (status == MHD_HTTP_BAD_REQUEST)
        call_problem(call, PROBLEM_MALFORMED, "this is no request of HTTP: %s cannot be read",
                     call->path.len ? "its body" : "its line or one of its headers");
    else call_problem(call, PROBLEM_UNAVAILABLE, "the request cannot be answered now: send it again");
}

/* What cannot be read as far as a request, or to its end, is answered, counted and logged as any other one, and its connection is closed. */
static enum MHD_Result answer_unread(struct MHD_Connection *connection, unsigned status)
{
    Link *link = link_of(connection);
    if (!link) return MHD_NO;
    bool is_read = link->call;
    Request *request = is_read ? request_of(link->call) : request_new(link->owner, connection);
    Call *call = &request->call;
    if (!is_read) {
        name_call(call);
        read_trace(call);
    }
    request->is_refused = request->is_handled = true;
    if (!call->status) refuse_unread(call, status);         /* of a body that was too large what follows may be wrong, too */
    if (request->is_sent) return MHD_NO;
    if (is_read) return send_answer(request);
    sign_answer(request);
    own_words_send(connection, call);
    own_words_discard(connection);
    return MHD_NO;
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
        const union MHD_ConnectionInfo *tls = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
        *state = link_new(&http->links, http, info ? info->connect_fd : -1, tls ? tls->tls_session : NULL);
        http->stats.accepted++;
        http->stats.connection_count++;
        return;
    }
    Link *link = *state;
    if (!link) return;
    if (link->call) request_end(request_of(link->call));    /* it never was one: nobody else is told of its end */
    http->stats.connection_count--;
    link_free(link);
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

/* An address is taken apart before it is decoded: %2f is no end of a segment. */
static size_t leave_escaped(void *context, struct MHD_Connection *connection, char *text)
{
    (void)context, (void)connection;
    return strlen(text);
}

/* The line of a request has come: its target lies there as it was sent, and is taken apart there after this. */
static void *note_target(void *context, const char *target, struct MHD_Connection *connection)
{
    Link *link = link_of(connection);
    (void)context;
    if (link) link->target = str_of(target), link->target_fault = head_target_fault(link->target);
    return NULL;                            /* what take_request() finds as its state */
}

static Status start(Http *http, Error *err)
{
    const HttpOptions *options = &http->options;
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (options->certificate ? MHD_USE_TLS : 0u);
    Status status = options->certificate ? tls_load(&http->tls, options->certificate, options->key, err) : OK;
    if (status) return status;
    shown = &http->tls;
    own_words_begin(answer_unread);
    unsigned per_address = (unsigned)((uint64_t)options->connection_count_max * API_CONNECTION_PER_ADDRESS_MAX / API_CONNECTION_COUNT_MAX);
    struct MHD_OptionItem tls[] = { { MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)(uintptr_t)show_certificate },
                                    { MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_PRIORITIES }, { MHD_OPTION_END, 0, NULL } };
    struct MHD_OptionItem none[] = { { MHD_OPTION_END, 0, NULL } };
    http->daemon = MHD_start_daemon(flags, 0, NULL, NULL, take_request, http,
        MHD_OPTION_LISTEN_SOCKET, options->fd, MHD_OPTION_CONNECTION_LIMIT, options->connection_count_max,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, per_address, MHD_OPTION_CONNECTION_TIMEOUT, API_IDLE_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)API_LINK_SIZE, MHD_OPTION_NOTIFY_COMPLETED, request_over, http,
        MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, NULL, MHD_OPTION_URI_LOG_CALLBACK, note_target, NULL,
        MHD_OPTION_NOTIFY_CONNECTION, take_connection, http,
        MHD_OPTION_ARRAY, options->certificate ? tls : none, MHD_OPTION_END);
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
    Status status = links_open(&http->links, err);
    if (!status) status = start(http, err);
    if (status) http_close(http);
    else *out_http = http;
    return status;
}

/* Calls that wait are answered first, since a suspended request cannot be ended; what comes whole meanwhile is refused, so that none is added. */
void http_close(Http *http)
{
    if (!http) return;
    http->is_closing = http->is_draining = true;
    for (Call *call = http->waiting, *next; call; call = next) {
        next = call->next;
        if (!call->status) refuse_late(call);
        else call_wake(call);
    }
    if (http->daemon) {
        MHD_run(http->daemon);
        MHD_stop_daemon(http->daemon);
    }
    tls_deinit(&http->tls);
    links_close(&http->links);
    free(http);
}

/* --- the loop -------------------------------------------------------------------------------------------------------------------- */

int http_fd(const Http *http) { return http->epoll_fd; }

int http_left_fd(const Http *http) { return http->links.left_fd; }

void http_take_left(Http *http) { links_take_left(&http->links); }

/* Thousands may wait for long: they are looked at when one of them is late, and not with every tick. */
static void look_at_waiting(Http *http, int64_t now_ms)
{
    if (now_ms < http->tick_ms || now_ms < http->late_ms) return;
    http->tick_ms = now_ms + TICK_MS;
    http->late_ms = INT64_MAX;
    for (Call *call = http->waiting, *next; call; call = next) {
        next = call->next;
        if (call->deadline_ms <= now_ms) call->late(call);
        if (call->is_waiting && call->deadline_ms < http->late_ms) http->late_ms = call->deadline_ms;
    }
}

/* How long until one that waits is late; -1: none does. */
static int64_t late_in_ms(const Http *http)
{
    if (!http->waiting) return -1;
    int64_t now_ms = clock_monotonic_ms(), due_ms = http->late_ms > http->tick_ms ? http->late_ms : http->tick_ms;
    return due_ms > now_ms ? due_ms - now_ms : 0;
}

/* libmicrohttpd takes half a handshake for one that can go on, and would be asked without end until the rest comes, each time for all of them.
 * What comes is seen at once all the same: it wakes the descriptor. -1: it waits for that alone. */
static int64_t library_due_ms(Http *http)
{
    MHD_UNSIGNED_LONG_LONG own;
    if (MHD_get_timeout(http->daemon, &own) != MHD_YES) return -1;
    if (own || http->idle_turn_count < IDLE_TURN_COUNT_MAX || links_have_unread(&http->links)) return (int64_t)own;
    return IDLE_TURN_MS << (http->idle_turn_count - IDLE_TURN_COUNT_MAX);
}

int64_t http_due_ms(Http *http)
{
    int64_t due_ms = library_due_ms(http), late_ms = late_in_ms(http);
    if (late_ms >= 0 && (due_ms < 0 || late_ms < due_ms)) due_ms = late_ms;
    return http->links.first && (due_ms < 0 || due_ms > LINK_LOOK_MS) ? LINK_LOOK_MS : due_ms;
}

void http_turn(Http *http)
{
    int64_t now_ms = clock_monotonic_ms();
    look_at_waiting(http, now_ms);
    links_look(&http->links, now_ms);
    if (http->options.certificate && http->idle_turn_count < IDLE_TURN_COUNT_MAX + IDLE_TURN_DOUBLE_COUNT) http->idle_turn_count++;
    MHD_run(http->daemon);
}

/* The system has answered clients whose connections nobody has taken yet: closing the socket over them would break these off. Those beyond the bound
 * would be, too: of a socket that was handed over the next process takes them. */
static void take_rest(Http *http, int fd)
{
    for (uint32_t i = 0; i < API_CONNECTION_COUNT_MAX && http->stats.connection_count < http->options.connection_count_max; i++) {
        struct sockaddr_storage address;
        socklen_t size = sizeof address;
        int taken = accept4(fd, (struct sockaddr *)&address, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (taken < 0) return;
        (void)MHD_add_connection(http->daemon, taken, (const struct sockaddr *)&address, size);
    }
}

bool http_drain(Http *http)
{
    if (!http->is_draining) {
        http->is_draining = true;
        MHD_socket fd = MHD_quiesce_daemon(http->daemon);
        if (fd != MHD_INVALID_SOCKET) {
            take_rest(http, fd);
            close(fd);
        }
        for (Call *call = http->waiting; call; call = call->next) {
            if (call->left) call->left(call, /* is_broken= */ false);
            call_wake(call);
        }
    }
    return links_are_quiet(&http->links, clock_monotonic_ms());
}

bool http_has_tls(const Http *http) { return http->options.certificate; }

Status http_reload(Http *http, Error *err)
{
    return http->options.certificate ? tls_load(&http->tls, http->options.certificate, http->options.key, err) : OK;
}

HttpStats http_stats(const Http *http)
{
    HttpStats stats = http->stats;
    stats.cut_count = http->links.cut_count;
    return stats;
}
