#include "api/otlp.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "value/json.h"

#define FD_COUNT_MAX 4u
#define ANSWER_SIZE_MAX (64u * 1024)

typedef struct Waiting { struct Waiting *next; uint32_t size; char text[]; } Waiting;

struct Otlp {
    Arena arena;
    Str url, resource;
    CURLM *multi;
    CURL *easy;
    struct curl_slist *headers;
    Waiting *first, *last;
    uint32_t count;
    int64_t due_ms;                 /* of the first that waits; 0: none does */
    int64_t retry_ms, retry_wait_ms;    /* not before, of a collector that is away; 0: it is there */
    Buf sent, answer;
    uint32_t sending_count;         /* spans of the request under way; 0: none is */
    atomic_ullong sent_total, refused_total, dropped_total, waiting_total, export_total, failure_total;
    atomic_int refusal_status;
    atomic_int away_code;           /* of a collector that is away: the status of its answer, or less than 0: what libcurl says, negated */
};

/* --- as JSON ------------------------------------------------------------------------------------------------------------------ */

static void print_id(Buf *out, const char *name, const uint8_t *bytes, size_t size)
{
    buf_format(out, "\"%s\":\"", name);
    buf_hex(out, bytes, size);
    buf_text(out, "\",");
}

static void print_text_attribute(Buf *out, const char *name, Str text)
{
    buf_format(out, "{\"key\":\"%s\",\"value\":{\"stringValue\":", name);
    json_print_string(out, text);
    buf_text(out, "}}");
}

static void print_span(Buf *out, const Span *span)
{
    static const uint8_t none[8];
    buf_char(out, '{');
    print_id(out, "traceId", span->trace.id, sizeof span->trace.id);
    print_id(out, "spanId", span->trace.span, sizeof span->trace.span);
    if (memcmp(span->parent, none, sizeof none) != 0) print_id(out, "parentSpanId", span->parent, sizeof span->parent);
    if (span->tracestate.len) {
        buf_text(out, "\"traceState\":");
        json_print_string(out, span->tracestate);
        buf_char(out, ',');
    }
    buf_text(out, "\"name\":");
    json_print_string(out, span->name);
    buf_format(out, ",\"kind\":%d,\"flags\":%u,\"startTimeUnixNano\":\"%" PRId64 "\",\"endTimeUnixNano\":\"%" PRId64 "\",\"attributes\":[",
               (int)span->kind, span->trace.flags, span->began_ns, span->ended_ns < span->began_ns ? span->began_ns : span->ended_ns);
    for (uint32_t i = 0; i < span->attribute_count; i++) {
        const SpanAttribute *attribute = &span->attributes[i];
        if (i) buf_char(out, ',');
        if (attribute->text.len) print_text_attribute(out, attribute->name, attribute->text);
        else buf_format(out, "{\"key\":\"%s\",\"value\":{\"intValue\":\"%" PRId64 "\"}}", attribute->name, attribute->number);
    }
    buf_format(out, "],\"status\":{\"code\":%d", (int)span->status);
    if (span->message.len) {
        buf_text(out, ",\"message\":");
        json_print_string(out, span->message);
    }
    buf_text(out, "}}");
}

void otlp_add(Otlp *otlp, const Span *span)
{
    if (otlp->count >= SPAN_COUNT_MAX) {
        atomic_fetch_add_explicit(&otlp->dropped_total, 1, memory_order_relaxed);
        return;
    }
    Buf text;
    buf_init(&text, JSON_SIZE_MAX);
    print_span(&text, span);
    Waiting *waiting = malloc(sizeof *waiting + text.len);
    CHECK(waiting);
    *waiting = (Waiting){ .size = (uint32_t)text.len };
    memcpy(waiting->text, text.ptr, text.len);
    buf_deinit(&text);
    *(otlp->last ? &otlp->last->next : &otlp->first) = waiting;
    otlp->last = waiting;
    otlp->count++;
    atomic_store_explicit(&otlp->waiting_total, otlp->count, memory_order_relaxed);
}

/* --- sending --------------------------------------------------------------------------------------------------------------------- */

static size_t take_answer(char *bytes, size_t one, size_t size, void *context)
{
    buf_bytes(context, bytes, one * size);
    return buf_overflowed(context) ? 0 : one * size;        /* what says more than a collector has to say is not listened to */
}

static void send_batch(Otlp *otlp)
{
    buf_clear(&otlp->sent);
    buf_clear(&otlp->answer);
    buf_format(&otlp->sent, "{\"resourceSpans\":[{\"resource\":%.*s,\"scopeSpans\":[{\"scope\":{\"name\":\"maestro\",\"version\":\"%s\"},\"spans\":[",
               STR_ARG(otlp->resource), MAESTRO_VERSION);
    otlp->sending_count = 0;
    for (const Waiting *waiting = otlp->first; waiting && otlp->sending_count < SPAN_BATCH_COUNT; waiting = waiting->next) {
        if (otlp->sending_count++) buf_char(&otlp->sent, ',');
        buf_bytes(&otlp->sent, waiting->text, waiting->size);
    }
    buf_text(&otlp->sent, "]}]}]}");
    curl_easy_setopt(otlp->easy, CURLOPT_POSTFIELDS, otlp->sent.ptr);
    curl_easy_setopt(otlp->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)otlp->sent.len);
    curl_multi_add_handle(otlp->multi, otlp->easy);
}

/* Those of the request are done with. */
static void drop_sent(Otlp *otlp)
{
    for (; otlp->sending_count; otlp->sending_count--) {
        Waiting *waiting = otlp->first;
        otlp->first = waiting->next;
        free(waiting);
        otlp->count--;
    }
    if (!otlp->first) otlp->last = NULL;
    atomic_store_explicit(&otlp->waiting_total, otlp->count, memory_order_relaxed);
}

/* A collector may take a part: {"partialSuccess":{"rejectedSpans":"3"}}. */
static uint64_t rejected_count(Otlp *otlp)
{
    Arena arena;
    Value answer;
    Error err;
    uint64_t count = 0;
    arena_init(&arena, SIZE_MAX);
    if (!buf_overflowed(&otlp->answer) && otlp->answer.len && !json_parse(&arena, buf_peek(&otlp->answer), &answer, &err)) {
        const Value *part = value_get_text(answer, "partialSuccess"), *rejected = part ? value_get_text(*part, "rejectedSpans") : NULL;
        if (rejected && rejected->kind == VALUE_STRING) (void)str_to_u64(value_text(*rejected), &count);
        if (rejected && rejected->kind == VALUE_INT && rejected->integer > 0) count = (uint64_t)rejected->integer;
    }
    arena_deinit(&arena);
    return count < otlp->sending_count ? count : otlp->sending_count;
}

/* When it may be tried again: ever more rarely, and not before it wants. */
static int64_t retry_wait_ms(Otlp *otlp, int64_t wanted_s)
{
    int64_t wanted_ms = wanted_s < OTLP_RETRY_AFTER_MS_MAX / 1000 ? wanted_s * 1000 : OTLP_RETRY_AFTER_MS_MAX;
    otlp->retry_wait_ms = otlp->retry_wait_ms ? 2 * otlp->retry_wait_ms : OTLP_RETRY_MS;
    if (otlp->retry_wait_ms > OTLP_RETRY_MS_MAX) otlp->retry_wait_ms = OTLP_RETRY_MS_MAX;
    return wanted_ms > otlp->retry_wait_ms ? wanted_ms : otlp->retry_wait_ms;
}

/* What OTLP calls retryable; of everything else it says that it must not be sent again, and one batch that a collector cannot
 * stomach would keep all others from it. */
static bool is_retryable(long status) { return status == 429 || status == 502 || status == 503 || status == 504; }

static void finish(Otlp *otlp, CURLcode code, int64_t now_ms)
{
    long status = 0;
    curl_off_t wanted_s = 0;
    curl_easy_getinfo(otlp->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(otlp->easy, CURLINFO_RETRY_AFTER, &wanted_s);
    curl_multi_remove_handle(otlp->multi, otlp->easy);
    bool is_heard = code == CURLE_OK || code == CURLE_WRITE_ERROR;          /* of a long answer the beginning is enough */
    bool is_away = !is_heard || is_retryable(status);
    atomic_fetch_add_explicit(is_heard && status / 100 == 2 ? &otlp->export_total : &otlp->failure_total, 1, memory_order_relaxed);
    atomic_store_explicit(&otlp->away_code, !is_away ? 0 : is_heard ? (int)status : -(int)code, memory_order_relaxed);
    if (is_away) {
        otlp->sending_count = 0;
        otlp->retry_ms = now_ms + retry_wait_ms(otlp, wanted_s);
        return;
    }
    uint64_t refused = status / 100 == 2 ? rejected_count(otlp) : otlp->sending_count;
    if (refused) atomic_store_explicit(&otlp->refusal_status, (int)status, memory_order_relaxed);
    atomic_fetch_add_explicit(&otlp->refused_total, refused, memory_order_relaxed);
    atomic_fetch_add_explicit(&otlp->sent_total, otlp->sending_count - refused, memory_order_relaxed);
    drop_sent(otlp);
    otlp->retry_ms = otlp->retry_wait_ms = 0;
    otlp->due_ms = otlp->first ? now_ms : 0;
}

void otlp_wait(Otlp *otlp, const struct pollfd *fds, uint32_t fd_count, int64_t timeout_ms)
{
    struct curl_waitfd extra[FD_COUNT_MAX] = { { 0 } };
    CHECK(fd_count <= FD_COUNT_MAX);
    for (uint32_t i = 0; i < fd_count; i++)
        extra[i] = (struct curl_waitfd){ .fd = fds[i].fd, .events = fds[i].events & POLLOUT ? CURL_WAIT_POLLOUT : CURL_WAIT_POLLIN };
    curl_multi_poll(otlp->multi, extra, fd_count, timeout_ms < 0 || timeout_ms > 60000 ? 60000 : (int)timeout_ms, NULL);
}

int64_t otlp_turn(Otlp *otlp, int64_t now_ms, bool is_last)
{
    int running, left;
    if (otlp->sending_count) curl_multi_perform(otlp->multi, &running);
    for (CURLMsg *message; (message = curl_multi_info_read(otlp->multi, &left));)
        if (message->msg == CURLMSG_DONE) finish(otlp, message->data.result, now_ms);
    if (otlp->sending_count) return OTLP_TIMEOUT_MS;
    if (!otlp->first) return -1;
    if (!otlp->due_ms) otlp->due_ms = now_ms + SPAN_DELAY_MS;
    int64_t due_ms = is_last || otlp->count >= SPAN_BATCH_COUNT ? now_ms : otlp->due_ms;
    if (otlp->retry_ms > due_ms) due_ms = otlp->retry_ms;
    if (due_ms > now_ms) return due_ms - now_ms;
    send_batch(otlp);
    curl_multi_perform(otlp->multi, &running);
    return OTLP_TIMEOUT_MS;
}

bool otlp_is_empty(const Otlp *otlp) { return !otlp->first || (otlp->retry_ms && !otlp->sending_count); }

OtlpStats otlp_stats(const Otlp *otlp)
{
    int away = atomic_load_explicit(&otlp->away_code, memory_order_relaxed);
    return (OtlpStats){ .away_why = away < 0 ? curl_easy_strerror((CURLcode)-away) : away ? "its answer says to come again later" : NULL,
                        .away_status = away > 0 ? away : 0,
                        .sent = atomic_load_explicit(&otlp->sent_total, memory_order_relaxed),
                        .refused = atomic_load_explicit(&otlp->refused_total, memory_order_relaxed),
                        .refusal_status = atomic_load_explicit(&otlp->refusal_status, memory_order_relaxed),
                        .dropped = atomic_load_explicit(&otlp->dropped_total, memory_order_relaxed),
                        .waiting = atomic_load_explicit(&otlp->waiting_total, memory_order_relaxed),
                        .exports = atomic_load_explicit(&otlp->export_total, memory_order_relaxed),
                        .export_failures = atomic_load_explicit(&otlp->failure_total, memory_order_relaxed) };
}

/* --- make ------------------------------------------------------------------------------------------------------------------------ */

static int hex_digit(char c)
{
    return ascii_is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* One name=value, percent-decoded, as a header; a line of its own it cannot become. */
static Status add_header(Otlp *otlp, Str member, Error *err)
{
    size_t equals = str_find(member, '=', 0);
    Str name = str_trim(str_slice(member, 0, equals));
    bool is_right = equals < member.len && name.len;
    char *text = arena_bytes(&otlp->arena, member.len + 4);
    size_t size = 0;
    for (size_t i = 0; i < name.len && is_right; i++)
        is_right = ascii_is_alnum(name.ptr[i]) || name.ptr[i] == '-' || name.ptr[i] == '_' || name.ptr[i] == '.';
    if (!is_right) return error_set(err, ERR_INVALID, "the headers of the collector are name=value between commas, not '%.*s'", STR_ARG(member));
    memcpy(text, name.ptr, name.len);
    size = name.len;
    text[size++] = ':';
    text[size++] = ' ';
    Str value = str_trim(str_slice(member, equals + 1, member.len));
    for (size_t i = 0; i < value.len; i++) {
        int high = i + 2 < value.len && value.ptr[i] == '%' ? hex_digit(value.ptr[i + 1]) : -1;
        int low = high >= 0 ? hex_digit(value.ptr[i + 2]) : -1;
        char c = low >= 0 ? (char)(high << 4 | low) : value.ptr[i];
        if (low >= 0) i += 2;
        if ((unsigned char)c < ' ' || c == 127)
            return error_set(err, ERR_INVALID, "the header '%.*s' of the collector holds a control character", STR_ARG(name));
        text[size++] = c;
    }
    text[size] = '\0';
    otlp->headers = curl_slist_append(otlp->headers, text);
    return OK;
}

static Status add_headers(Otlp *otlp, Str headers, Error *err)
{
    uint32_t count = 0;
    Status status = OK;
    otlp->headers = curl_slist_append(NULL, "Content-Type: application/json");
    otlp->headers = curl_slist_append(otlp->headers, "Expect:");
    for (size_t from = 0; from < headers.len && !status;) {
        size_t end = str_find(headers, ',', from);
        Str member = str_trim(str_slice(headers, from, end));
        from = end + 1;
        if (!member.len) continue;
        if (++count > OTLP_HEADER_COUNT_MAX)
            return error_set(err, ERR_LIMIT, "the collector has more than OTLP_HEADER_COUNT_MAX (%u) headers", OTLP_HEADER_COUNT_MAX);
        status = add_header(otlp, member, err);
    }
    return status;
}

static void print_resource(Otlp *otlp, const OtlpOptions *options)
{
    Buf text;
    buf_init(&text, JSON_SIZE_MAX);
    buf_text(&text, "{\"attributes\":[");
    print_text_attribute(&text, "service.name", options->service);
    buf_char(&text, ',');
    print_text_attribute(&text, "service.version", STR(MAESTRO_VERSION));
    if (options->instance.len) {
        buf_char(&text, ',');
        print_text_attribute(&text, "service.instance.id", options->instance);
    }
    buf_text(&text, "]}");
    otlp->resource = arena_copy(&otlp->arena, buf_peek(&text));
    buf_deinit(&text);
}

Status otlp_open(const OtlpOptions *options, Otlp **out_otlp, Error *err)
{
    bool is_url = str_starts(options->url, STR("http://")) || str_starts(options->url, STR("https://"));
    if (!is_url) return error_set(err, ERR_INVALID, "the address of a collector begins with http:// or https://, not '%.*s'", STR_ARG(options->url));
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return error_set(err, ERR_UNAVAILABLE, "libcurl cannot be used");
    Otlp *otlp = calloc(1, sizeof *otlp);
    CHECK(otlp);
    arena_init(&otlp->arena, SIZE_MAX);
    buf_init(&otlp->sent, SIZE_MAX);
    buf_init(&otlp->answer, ANSWER_SIZE_MAX);
    otlp->url = arena_copy(&otlp->arena, options->url);
    otlp->multi = curl_multi_init();
    otlp->easy = curl_easy_init();
    CHECK(otlp->multi && otlp->easy);
    print_resource(otlp, options);
    Status status = add_headers(otlp, options->headers, err);
    if (status) {
        otlp_close(otlp);
        return status;
    }
    curl_easy_setopt(otlp->easy, CURLOPT_URL, otlp->url.ptr);
    curl_easy_setopt(otlp->easy, CURLOPT_HTTPHEADER, otlp->headers);
    curl_easy_setopt(otlp->easy, CURLOPT_PROTOCOLS_STR, "http,https");
    if (options->authorities.len) curl_easy_setopt(otlp->easy, CURLOPT_CAINFO, arena_copy(&otlp->arena, options->authorities).ptr);
    curl_easy_setopt(otlp->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(otlp->easy, CURLOPT_QUICK_EXIT, 1L);           /* a name that nobody resolves holds up no end */
    curl_easy_setopt(otlp->easy, CURLOPT_TIMEOUT_MS, (long)OTLP_TIMEOUT_MS);
    curl_easy_setopt(otlp->easy, CURLOPT_USERAGENT, "maestro/" MAESTRO_VERSION);
    curl_easy_setopt(otlp->easy, CURLOPT_WRITEFUNCTION, take_answer);
    curl_easy_setopt(otlp->easy, CURLOPT_WRITEDATA, &otlp->answer);
    *out_otlp = otlp;
    return OK;
}

void otlp_close(Otlp *otlp)
{
    if (!otlp) return;
    if (otlp->sending_count) curl_multi_remove_handle(otlp->multi, otlp->easy);
    curl_easy_cleanup(otlp->easy);
    curl_multi_cleanup(otlp->multi);
    curl_slist_free_all(otlp->headers);
    for (Waiting *waiting = otlp->first, *next; waiting; waiting = next) {
        next = waiting->next;
        free(waiting);
    }
    buf_deinit(&otlp->sent);
    buf_deinit(&otlp->answer);
    arena_deinit(&otlp->arena);
    free(otlp);
    curl_global_cleanup();
}
