#include "exec/http/transfer.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "engine/attempt.h"
#include "rego/crypto/hash.h"
#include "value/json.h"

static Status request_read(Transfer *transfer, Error *err);
static size_t body_take(char *bytes, size_t one, size_t size, void *context);
static size_t head_take(char *bytes, size_t one, size_t size, void *context);
static Status answer_read(Transfer *transfer, long status, Value *out_answer, Error *err);

Transfer *transfer_new(const Attempt *attempt)
{
    Transfer *transfer = calloc(1, sizeof *transfer);
    CHECK(transfer != NULL);
    arena_init(&transfer->arena, SIZE_MAX);
    transfer->attempt = attempt_copy(&transfer->arena, attempt);
    buf_init(&transfer->sent, 4 * (size_t)OUTPUT_SIZE_MAX);
    buf_init(&transfer->head, HTTP_HEADER_SIZE_MAX);
    buf_init(&transfer->body, OUTPUT_SIZE_MAX);
    return transfer;
}

Value transfer_effect(Transfer *transfer)
{
    MemberList members = { .arena = &transfer->arena };
    member_list_add(&members, STR("runner"), value_string(transfer->attempt.runner));
    member_list_add(&members, STR("idempotencyKey"), value_string(transfer->attempt.key));
    return member_list_object(&members);
}

Transfer *transfer_earlier(const AttemptId *id, const Report *report)
{
    Transfer *transfer = calloc(1, sizeof *transfer);
    CHECK(transfer != NULL);
    arena_init(&transfer->arena, SIZE_MAX);
    transfer->attempt.id = *id;
    transfer->is_earlier = true;
    transfer_report(transfer, report);
    return transfer;
}

void transfer_free(Transfer *transfer)
{
    if (transfer->easy) curl_easy_cleanup(transfer->easy);
    curl_slist_free_all(transfer->headers);
    buf_deinit(&transfer->sent);
    buf_deinit(&transfer->head);
    buf_deinit(&transfer->body);
    arena_deinit(&transfer->arena);
    free(transfer);
}

static void fail(Transfer *transfer, Cause cause, const char *text)
{
    transfer->report = (Report){ .cause = cause, .message = arena_copy(&transfer->arena, str_of(text)) };
    transfer->has_report = true;
}

void transfer_cancel(Transfer *transfer)
{
    if (!transfer->has_report) fail(transfer, CAUSE_CANCELLED, "it was ended on request");
}

void transfer_rest(Transfer *transfer)
{
    curl_easy_cleanup(transfer->easy);
    transfer->easy = NULL;
    buf_deinit(&transfer->sent);
    buf_init(&transfer->sent, 0);
}

void transfer_report(Transfer *transfer, const Report *report)
{
    transfer->report = *report;
    transfer->report.message = arena_copy(&transfer->arena, report->message);
    transfer->report.output = value_copy(&transfer->arena, report->output);
    transfer->has_report = true;
}

void transfer_expire(Transfer *transfer)
{
    fail(transfer, CAUSE_TIMEOUT, "the service answered 202 and did not call back in time");
}

/* --- the request ------------------------------------------------------------------------------------------------- */

bool transfer_begin(Transfer *transfer)
{
    transfer->easy = curl_easy_init();
    CHECK(transfer->easy != NULL);
    Error err;
    Status status = request_read(transfer, &err);
    if (status) {
        fail(transfer, status == ERR_UNAVAILABLE ? CAUSE_PERMANENT : CAUSE_INPUT_INVALID, err.text);
        return false;
    }
    int64_t left_ms = attempt_left_ms(&transfer->attempt, HTTP_TIMEOUT_MS_DEFAULT);
    if (left_ms <= 0) {
        fail(transfer, CAUSE_TIMEOUT, "its time was over before the request was sent");
        return false;
    }
    CURL *easy = transfer->easy;
    curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);         /* else one whose time is over keeps all others waiting until its name is resolved */
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(easy, CURLOPT_MAXREDIRS, (long)HTTP_REDIRECT_COUNT_MAX);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)HTTP_CONNECT_MS_MAX);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)(left_ms < DURATION_MS_MAX ? left_ms : 0));
    curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "maestro");
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer->headers);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, body_take);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, head_take);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
    if (transfer->is_announced) curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
    return true;
}

/* Names are tokens and values have no control characters: nothing can begin a second header or a body. */
static bool header_is_valid(Str name, Str value)
{
    for (size_t i = 0; i < name.len; i++)
        if (!ascii_is_alnum(name.ptr[i]) && !memchr("!#$%&'*+-.^_`|~", name.ptr[i], 15)) return false;
    for (size_t i = 0; i < value.len; i++)
        if (((unsigned char)value.ptr[i] < 0x20 && value.ptr[i] != '\t') || value.ptr[i] == 0x7f) return false;
    return name.len > 0;
}

static Status header_add(Transfer *transfer, Str name, Str value, Error *err)
{
    if (!header_is_valid(name, value))
        return error_set(err, ERR_INVALID, "the header '%.*s' has a character that headers cannot have", STR_ARG(name));
    /* To libcurl a name with a semicolon is a header without a value; one with a colon alone is a header to be left out. */
    Str line = value.len ? arena_format(&transfer->arena, "%.*s: %.*s", STR_ARG(name), STR_ARG(value))
                         : arena_format(&transfer->arena, "%.*s;", STR_ARG(name));
    transfer->headers = curl_slist_append(transfer->headers, line.ptr);
    return OK;
}

static bool has_header(Value headers, Str wanted)
{
    for (uint32_t i = 0; headers.kind == VALUE_OBJECT && i < headers.count; i++) {
        Str name = value_text(headers.members[i].key);
        bool is_same = name.len == wanted.len;
        for (size_t at = 0; is_same && at < name.len; at++)
            is_same = ascii_to_lower(name.ptr[at]) == ascii_to_lower(wanted.ptr[at]);
        if (is_same) return true;
    }
    return false;
}

static Status headers_read(Transfer *transfer, const Value *given, bool is_json, Error *err)
{
    Value headers = given ? *given : value_null();
    if (headers.kind != VALUE_NULL && headers.kind != VALUE_OBJECT)
        return error_set(err, ERR_INVALID, "`headers` is not a mapping of names to texts");
    if (headers.kind == VALUE_OBJECT && headers.count > HTTP_HEADER_COUNT_MAX)
        return error_set(err, ERR_LIMIT, "`headers` are more than HTTP_HEADER_COUNT_MAX (%u)", HTTP_HEADER_COUNT_MAX);
    Status status = OK;
    for (uint32_t i = 0; headers.kind == VALUE_OBJECT && i < headers.count && !status; i++) {
        const Member *member = &headers.members[i];
        if (member->value.kind != VALUE_STRING)
            return error_set(err, ERR_INVALID, "the header '%.*s' is not a text", STR_ARG(value_text(member->key)));
        status = header_add(transfer, value_text(member->key), value_text(member->value), err);
    }
    const struct { Str name, value; bool is_wanted; } own[] = {
        { STR("Content-Type"), STR("application/json"), is_json },
        { STR("Idempotency-Key"), transfer->attempt.key, transfer->attempt.key.len > 0 },
        { STR("traceparent"), transfer->attempt.traceparent, transfer->attempt.traceparent.len > 0 },
        { STR("tracestate"), transfer->attempt.tracestate, transfer->attempt.tracestate.len > 0 },
    };
    for (size_t i = 0; i < sizeof own / sizeof *own && !status; i++)
        if (own[i].is_wanted && !has_header(headers, own[i].name)) status = header_add(transfer, own[i].name, own[i].value, err);
    if (!status && !has_header(headers, STR("Expect")))
        transfer->headers = curl_slist_append(transfer->headers, "Expect:");        /* no round trip before the body */
    return status;
}

static Status url_set(Transfer *transfer, Str url, Error *err)
{
    if (!str_starts(url, STR("http://")) && !str_starts(url, STR("https://")))
        return error_set(err, ERR_INVALID, "`url` is missing or does not begin with http:// or https://");
    if (memchr(url.ptr, '\0', url.len)) return error_set(err, ERR_INVALID, "`url` holds a zero byte");
    curl_easy_setopt(transfer->easy, CURLOPT_URL, arena_copy(&transfer->arena, url).ptr);
    return OK;
}

static void body_set(Transfer *transfer)
{
    curl_easy_setopt(transfer->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)transfer->sent.len);
    curl_easy_setopt(transfer->easy, CURLOPT_POSTFIELDS, transfer->sent.ptr ? transfer->sent.ptr : "");
}

/* A secret of this machine: a variable that the settings name. */
static Status secret_read(Value auth, const char *key, Str *out, Error *err)
{
    Str name = value_get_string(auth, key, STR(""));
    char text[128];
    Buf buf = buf_on(text, sizeof text - 1);
    buf_str(&buf, name);
    *out = (Str){ 0 };
    if (!name.len) return OK;
    text[buf.len] = '\0';
    const char *value = buf_overflowed(&buf) ? NULL : getenv(text);
    if (!value || !*value)
        return error_set(err, ERR_UNAVAILABLE, "the variable %.*s, which `auth.%s` of the runner names, is not set", STR_ARG(name), key);
    *out = str_of(value);
    return OK;
}

/* As triggers are signed: HMAC-SHA256 over the timestamp, a point and the body. */
static Status sign(Transfer *transfer, Str key, Error *err)
{
    Str time = arena_format(&transfer->arena, "%lld", (long long)(transfer->attempt.now_ms / 1000));
    Buf message;
    buf_init(&message, 5 * (size_t)OUTPUT_SIZE_MAX);
    buf_format(&message, "%.*s.", STR_ARG(time));
    buf_str(&message, buf_peek(&transfer->sent));
    Hash hash = hash_hmac(HASH_SHA256, key, buf_peek(&message));
    buf_deinit(&message);
    char text[8 + 2 * HASH_SIZE_MAX];
    Buf signature = buf_on(text, sizeof text);
    buf_text(&signature, "sha256=");
    for (uint32_t i = 0; i < hash.size; i++) buf_format(&signature, "%02x", hash.bytes[i]);
    Status status = header_add(transfer, STR("X-Maestro-Timestamp"), time, err);
    return status ? status : header_add(transfer, STR("X-Maestro-Signature"), buf_peek(&signature), err);
}

static Status authenticate(Transfer *transfer, Value auth, Error *err)
{
    Str bearer, key;
    Status status = secret_read(auth, "bearer_env", &bearer, err);
    if (!status) status = secret_read(auth, "hmac_env", &key, err);
    if (!status && bearer.len)
        status = header_add(transfer, STR("Authorization"), arena_format(&transfer->arena, "Bearer %.*s", STR_ARG(bearer)), err);
    return status || !key.len ? status : sign(transfer, key, err);
}

static Status posting_read(Transfer *transfer, Error *err)
{
    const Attempt *attempt = &transfer->attempt;
    Status status = url_set(transfer, value_get_string(attempt->settings, "url", STR("")), err);
    if (!status) status = attempt_document(&transfer->sent, attempt, err);
    if (status) return status;
    if (transfer->callback) {
        transfer->sent.len--;                               /* one more member, before the brace that ends it */
        buf_format(&transfer->sent, ",\"callback\":%.*s}", STR_ARG(transfer->callback_text));
        if (buf_overflowed(&transfer->sent)) return error_set(err, ERR_LIMIT, "its document exceeds %zu bytes", transfer->sent.size_max);
    }
    body_set(transfer);
    const Value *settings = value_get_text(attempt->settings, "settings");
    const Value *auth = settings ? value_get_text(*settings, "auth") : NULL;
    status = auth ? authenticate(transfer, *auth, err) : OK;
    return status ? status : headers_read(transfer, settings ? value_get_text(*settings, "headers") : NULL, /* is_json= */ true, err);
}

static Status method_set(Transfer *transfer, Str method, bool has_body, Error *err)
{
    for (size_t i = 0; i < method.len; i++)
        if (!ascii_is_upper(method.ptr[i])) method.len = 0;
    if (method.len == 0 || method.len > 16) return error_set(err, ERR_INVALID, "`method` is not a word such as GET or POST");
    if (str_is(method, STR("HEAD"))) curl_easy_setopt(transfer->easy, CURLOPT_NOBODY, 1L);
    else if (!str_is(method, has_body ? STR("POST") : STR("GET")))
        curl_easy_setopt(transfer->easy, CURLOPT_CUSTOMREQUEST, arena_copy(&transfer->arena, method).ptr);
    return OK;
}

static Status request_read(Transfer *transfer, Error *err)
{
    Value input = transfer->attempt.input;
    transfer->is_posting = value_get_text(transfer->attempt.settings, "url") != NULL;
    if (transfer->is_posting) return posting_read(transfer, err);

    Status status = url_set(transfer, value_get_string(input, "url", STR("")), err);
    if (status) return status;
    const Value *body = value_get_text(input, "body");
    bool has_body = body && body->kind != VALUE_NULL, is_text = has_body && body->kind == VALUE_STRING;
    if (is_text) buf_str(&transfer->sent, value_text(*body));
    else if (has_body) status = json_print(&transfer->sent, *body, JSON_COMPACT, err);
    if (status) return status;
    if (has_body) body_set(transfer);
    status = method_set(transfer, value_get_string(input, "method", has_body ? STR("POST") : STR("GET")), has_body, err);
    if (status) return status;
    return headers_read(transfer, value_get_text(input, "headers"), has_body && !is_text, err);
}

/* --- the answer -------------------------------------------------------------------------------------------------- */

static size_t body_take(char *bytes, size_t one, size_t size, void *context)
{
    Transfer *transfer = context;
    buf_bytes(&transfer->body, bytes, size);
    transfer->is_too_large = transfer->is_too_large || buf_overflowed(&transfer->body);
    return transfer->is_too_large ? 0 : size;
}

/* Each answer on the way begins anew with its status line; the last one counts. */
static size_t head_take(char *bytes, size_t one, size_t size, void *context)
{
    Transfer *transfer = context;
    Str line = { bytes, size };
    if (str_starts(line, STR("HTTP/"))) {
        buf_clear(&transfer->head);
        buf_clear(&transfer->body);
    } else {
        buf_str(&transfer->head, line);
    }
    transfer->is_too_large = transfer->is_too_large || buf_overflowed(&transfer->head);
    return transfer->is_too_large ? 0 : size;
}

static const struct { CURLcode code; Cause cause; } failures[] = {
    { CURLE_OPERATION_TIMEDOUT, CAUSE_TIMEOUT },
    { CURLE_URL_MALFORMAT, CAUSE_INPUT_INVALID },
    { CURLE_UNSUPPORTED_PROTOCOL, CAUSE_PERMANENT },
    { CURLE_TOO_MANY_REDIRECTS, CAUSE_PERMANENT },
    { CURLE_PEER_FAILED_VERIFICATION, CAUSE_PERMANENT },
    { CURLE_SSL_CERTPROBLEM, CAUSE_PERMANENT },
    { CURLE_SSL_CACERT_BADFILE, CAUSE_PERMANENT },
};

static void failure_report(Transfer *transfer, CURLcode code)
{
    if (transfer->is_too_large) {
        fail(transfer, CAUSE_OUTPUT_INVALID, "its answer exceeds OUTPUT_SIZE_MAX or HTTP_HEADER_SIZE_MAX");
        return;
    }
    Cause cause = CAUSE_TRANSIENT;      /* what a network does wrong may go well the next time */
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++)
        if (failures[i].code == code) cause = failures[i].cause;
    fail(transfer, cause, transfer->error[0] ? transfer->error : curl_easy_strerror(code));
}

static long answer_status(const Transfer *transfer)
{
    long status = 0;
    curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

/* What the way it ended says about the effect that was announced. */
static EffectFate fate_of(const Transfer *transfer, CURLcode code)
{
    long sent = 0, redirects = 0, status = answer_status(transfer);
    curl_easy_getinfo(transfer->easy, CURLINFO_REQUEST_SIZE, &sent);
    curl_easy_getinfo(transfer->easy, CURLINFO_REDIRECT_COUNT, &redirects);
    if (!sent) return FATE_NONE;
    if (redirects) return code == CURLE_OK && status >= 200 && status <= 299 ? FATE_DONE : FATE_UNKNOWN;
    if (status >= 200 && status <= 299) return code == CURLE_OK || transfer->is_too_large ? FATE_DONE : FATE_UNKNOWN;
    return code == CURLE_OK && ((status >= 400 && status <= 499) || status == 503) ? FATE_NONE : FATE_UNKNOWN;
}

static bool is_transient(long status)
{
    return status == 408 || status == 425 || status == 429 || (status >= 500 && status <= 599);
}

/* The service works, and what it was asked for is wrong to it. */
static bool is_refusal(long status)
{
    return status == 400 || status == 402 || status == 409 || status == 410 || (status >= 412 && status <= 415) || status == 422;
}

static void answer_report(Transfer *transfer)
{
    long status = answer_status(transfer);
    if (status == 202 && transfer->callback) return;
    Error err;
    Value answer;
    bool is_success = status >= 200 && status <= 299;
    Status read = answer_read(transfer, status, &answer, &err);
    if (is_success && read) {
        fail(transfer, CAUSE_OUTPUT_INVALID, err.text);
        return;
    }
    transfer->has_report = true;
    const Value *body = read ? NULL : value_get_text(answer, "body");
    if (is_success) {
        transfer->report.output = transfer->is_posting ? *body : answer;
        return;
    }
    transfer->report.cause = is_transient(status) ? CAUSE_TRANSIENT : is_refusal(status) ? CAUSE_INPUT_INVALID : CAUSE_PERMANENT;
    transfer->report.message = arena_format(&transfer->arena, "the answer is %ld", status);
    if (!read) transfer->report.output = answer;
}

void transfer_finish(Transfer *transfer, CURLcode code)
{
    if (transfer->has_report) return;
    if (code == CURLE_OK) answer_report(transfer);
    else failure_report(transfer, code);
    if (!transfer->is_announced || !transfer->has_report) return;
    transfer->fate = fate_of(transfer, code);
    if (transfer->report.cause == CAUSE_TRANSIENT && transfer->fate != FATE_NONE) transfer->report.cause = CAUSE_ERROR;
}

static Str text_clean(Arena *arena, Str text)
{
    if (utf8_valid_size(text) == text.len) return arena_copy(arena, text);
    char *clean = arena_bytes(arena, 3 * text.len);
    Buf out = buf_on(clean, 3 * text.len);
    for (; text.len; text = str_slice(text, 1, text.len)) {
        if ((unsigned char)text.ptr[0] < 0x80) buf_char(&out, text.ptr[0]);
        else buf_text(&out, "\xEF\xBF\xBD");
    }
    return buf_peek(&out);
}

static Str lower_copy(Arena *arena, Str text)
{
    char *copy = arena_bytes(arena, text.len + 1);
    for (size_t i = 0; i < text.len; i++) copy[i] = ascii_to_lower(text.ptr[i]);
    return (Str){ copy, text.len };
}

/* A header of a name that is there already is joined to it, as if both had been one. */
static void header_put(Arena *arena, MemberList *headers, Str name, Str value)
{
    for (size_t i = 0; i < headers->count; i++) {
        Member *member = &headers->members[i];
        if (!str_is(value_text(member->key), name)) continue;
        Str before = value_text(member->value);
        member->value = value_string(arena_format(arena, "%.*s, %.*s", STR_ARG(before), STR_ARG(value)));
        return;
    }
    if (headers->count < HTTP_HEADER_COUNT_MAX) member_list_add(headers, name, value_string(value));
}

static Value head_read(Transfer *transfer)
{
    Arena *arena = &transfer->arena;
    MemberList headers = { .arena = arena };
    Str head = buf_peek(&transfer->head);
    while (head.len) {
        size_t end = str_find(head, '\n', 0);
        Str line = str_slice(head, 0, end);
        head = str_slice(head, end + 1, head.len);
        if (line.len && line.ptr[line.len - 1] == '\r') line.len--;
        size_t colon = str_find(line, ':', 0);
        if (colon == 0 || colon == line.len) continue;
        Str name = text_clean(arena, lower_copy(arena, str_slice(line, 0, colon)));
        header_put(arena, &headers, name, text_clean(arena, str_trim(str_slice(line, colon + 1, line.len))));
    }
    return member_list_object(&headers);
}

/* application/json, application/problem+json; parameters do not matter. */
static bool is_json(Str type)
{
    type = str_trim(str_slice(type, 0, str_find(type, ';', 0)));
    return str_is(type, STR("application/json")) || str_ends(type, STR("+json")) || str_is(type, STR("text/json"));
}

static Status body_read(Transfer *transfer, Value headers, Value *out_body, Error *err)
{
    Arena *arena = &transfer->arena;
    Str body = buf_peek(&transfer->body);
    *out_body = value_null();
    if (body.len == 0) return OK;
    Str type = value_get_string(headers, "content-type", STR(""));
    if (is_json(lower_copy(arena, type))) {
        Status status = json_parse(arena, body, out_body, err);
        if (status) error_prefix(err, "the answer is said to be JSON and is not: ");
        return status;
    }
    if (utf8_valid_size(body) == body.len) {
        *out_body = value_string(arena_copy(arena, body));
        return OK;
    }
    size_t room = body.len / 3 * 4 + 8;
    Buf encoded = buf_on(arena_bytes(arena, room), room);
    base64_encode(&encoded, body, BASE64_STANDARD);
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("base64"), value_string(buf_peek(&encoded)));
    *out_body = member_list_object(&members);
    return OK;
}

static Status answer_read(Transfer *transfer, long status, Value *out_answer, Error *err)
{
    Value headers = head_read(transfer), body;
    Status read = body_read(transfer, headers, &body, err);
    if (read) return read;
    MemberList members = { .arena = &transfer->arena };
    member_list_add(&members, STR("status"), value_int(status));
    member_list_add(&members, STR("headers"), headers);
    member_list_add(&members, STR("body"), body);
    *out_answer = member_list_object(&members);
    return OK;
}
