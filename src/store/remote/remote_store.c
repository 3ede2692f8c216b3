#include "store/remote/remote_store.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/base64.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "store/remote/remote_parts.h"
#include "value/json.h"
#include "view/queries.h"

bool remote_is_url(Str url) { return str_starts(url, STR("http://")) || str_starts(url, STR("https://")); }

/* --- one request --------------------------------------------------------------------------------------------------------------- */

static size_t take_bytes(char *bytes, size_t one, size_t size, void *context)
{
    Buf *answer = context;
    buf_bytes(answer, bytes, one * size);
    return buf_overflowed(answer) ? 0 : one * size;
}

Status remote_refused(long status, Value problem, Error *err)
{
    static const struct { long status; Status error; } kinds[] = {
        { 400, ERR_INVALID }, { 401, ERR_DENIED }, { 403, ERR_DENIED }, { 404, ERR_NOT_FOUND }, { 409, ERR_CONFLICT }, { 413, ERR_LIMIT },
        { 422, ERR_LIMIT }, { 500, ERR_CORRUPT },
    };
    Str detail = value_get_string(problem, "detail", STR("it does not say why"));
    bool is_reused = str_is_text(value_get_string(problem, "error", STR("")), "IdempotencyKeyReused");
    if (is_reused) return error_set(err, ERR_INVALID, "the server answers %ld: %.*s", status, STR_ARG(detail));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].status == status) return error_set(err, kinds[i].error, "the server answers %ld: %.*s", status, STR_ARG(detail));
    return error_set(err, ERR_UNAVAILABLE, "the server answers %ld: %.*s", status, STR_ARG(detail));
}

/* What a thing or a state does not permit is told as a command beside the store tells it; what the server does not permit, as its word. */
static Status refused(long code, Value problem, Error *err)
{
    Status status = remote_refused(code, problem, err);
    bool is_plain = code == 400 || code == 404 || code == 409 || code == 422;
    Str detail = value_get_string(problem, "detail", STR(""));
    return is_plain && detail.len ? error_set(err, status, "%.*s", STR_ARG(detail)) : status;
}

static void set_method(Remote *remote, const char *method, const Buf *sent)
{
    curl_easy_setopt(remote->easy, CURLOPT_CUSTOMREQUEST, method);
    if (!sent->len) return;
    curl_easy_setopt(remote->easy, CURLOPT_POSTFIELDS, sent->ptr);
    curl_easy_setopt(remote->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)sent->len);
}

static Status ask_once(Remote *remote, Arena *arena, const RemoteCall *call, long *out_code, Value *out, Error *err)
{
    Buf sent, answer;
    char reason[CURL_ERROR_SIZE] = "";
    buf_init(&sent, CONTROL_LINE_SIZE_MAX);
    buf_init(&answer, API_STORE_ANSWER_SIZE_MAX);
    Status status = call->body.kind == VALUE_NULL ? OK : json_print(&sent, call->body, JSON_COMPACT, err);
    if (!status && utf8_valid_size(buf_peek(&sent)) < sent.len)             /* in the words of an owner beside the command */
        status = error_set(err, ERR_INVALID, "the text is not UTF-8 here");
    Str address = arena_format(arena, "%.*s%.*s", STR_ARG(remote->url), STR_ARG(call->path));
    *out = value_null();
    if (!status) {
        curl_easy_setopt(remote->easy, CURLOPT_URL, address.ptr);
        set_method(remote, call->method, &sent);
        curl_easy_setopt(remote->easy, CURLOPT_WRITEDATA, &answer);
        curl_easy_setopt(remote->easy, CURLOPT_ERRORBUFFER, reason);
        CURLcode failed = curl_easy_perform(remote->easy);
        curl_easy_getinfo(remote->easy, CURLINFO_RESPONSE_CODE, out_code);
        if (failed)
            status = error_set(err, ERR_UNAVAILABLE, "the server %.*s cannot be asked: %s%s", STR_ARG(remote->url),
                               reason[0] ? reason : curl_easy_strerror(failed),
                               failed == CURLE_PEER_FAILED_VERIFICATION ? "; --ca FILE names the authorities that it is believed by" : "");
    }
    if (!status && *out_code != 204 && json_parse(arena, arena_copy(arena, buf_peek(&answer)), out, err)) {
        *out = value_null();
        status = error_set(err, ERR_UNAVAILABLE, "%.*s answers %ld and no JSON: is it a server of maestro?", STR_ARG(remote->url), *out_code);
    }
    if (sent.len) explicit_bzero(sent.ptr, sent.len);           /* it may be a secret */
    buf_deinit(&sent);
    buf_deinit(&answer);
    return status;
}

/* The server says which header has it; who types a command is told which variable. */
static Status ask_for_key(Error *err)
{
    return error_set(err, ERR_DENIED, "a server asks for a key: MAESTRO_TOKEN has it, and 'maestro key create' makes one");
}

/* A command beside the store has no rate, and one of a server whose key is over it says the same a little later: what was sent too soon was
 * not looked at, so that it is sent again. Who interrupts the wait is told what the server said. */
static bool waits_for_rate(const Remote *remote, long code, Value problem, int64_t *waited_ms)
{
    curl_off_t seconds = 0;
    if (code != 429 || !str_is_text(value_get_string(problem, "error", STR("")), "TooManyRequests")) return false;
    curl_easy_getinfo(remote->easy, CURLINFO_RETRY_AFTER, &seconds);
    int64_t wait_ms = seconds < 1 ? 1000 : seconds * 1000;
    if (seconds > REMOTE_AWAY_MS_MAX / 1000 || (*waited_ms += wait_ms) > REMOTE_AWAY_MS_MAX) return false;
    return !nanosleep(&(struct timespec){ .tv_sec = (time_t)(wait_ms / 1000) }, NULL);
}

static Status ask(Remote *remote, Arena *arena, const RemoteCall *call, long *out_code, Value *out, Error *err)
{
    Status status;
    int64_t waited_ms = 0;
    do status = ask_once(remote, arena, call, out_code, out, err);
    while (!status && waits_for_rate(remote, *out_code, *out, &waited_ms));
    return !status && *out_code == 401 && !remote->has_key ? ask_for_key(err) : status;
}

static Status post(Remote *remote, Arena *arena, Str path, Value body, Value *out, Error *err)
{
    long code = 0;
    Status status = ask(remote, arena, &(RemoteCall){ .method = "POST", .path = path, .body = body }, &code, out, err);
    return status || code == 200 ? status : remote_refused(code, *out, err);
}

Remote *remote_new(const RemoteOptions *options)
{
    Remote *remote = calloc(1, sizeof *remote);
    CHECK(remote);
    arena_init(&remote->arena, SIZE_MAX);
    remote->url = options->url;
    while (remote->url.len && remote->url.ptr[remote->url.len - 1] == '/') remote->url.len--;
    remote->url = arena_copy(&remote->arena, remote->url);
    remote->easy = curl_easy_init();
    CHECK(remote->easy);
    remote->headers = curl_slist_append(NULL, "Content-Type: application/json");
    remote->headers = curl_slist_append(remote->headers, "Expect:");
    remote->has_key = options->key.len;
    if (remote->has_key)
        remote->headers = curl_slist_append(remote->headers,
                                            arena_format(&remote->arena, "Authorization: Bearer %.*s", STR_ARG(options->key)).ptr);
    curl_easy_setopt(remote->easy, CURLOPT_HTTPHEADER, remote->headers);
    curl_easy_setopt(remote->easy, CURLOPT_PROTOCOLS_STR, "http,https");
    if (options->ca) curl_easy_setopt(remote->easy, CURLOPT_CAINFO, options->ca);
    curl_easy_setopt(remote->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(remote->easy, CURLOPT_QUICK_EXIT, 1L);         /* CURLOPT_TIMEOUT_MS holds whether the name is resolved or not */
    curl_easy_setopt(remote->easy, CURLOPT_TIMEOUT_MS, (long)CONTROL_ANSWER_MS_MAX);
    curl_easy_setopt(remote->easy, CURLOPT_USERAGENT, "maestro");
    curl_easy_setopt(remote->easy, CURLOPT_WRITEFUNCTION, take_bytes);
    return remote;
}

void remote_free(Remote *remote)
{
    curl_easy_cleanup(remote->easy);
    curl_slist_free_all(remote->headers);
    arena_deinit(&remote->arena);
    free(remote);
}

/* What the engine refused, in distinction to what the server did not take on. */
static bool is_word_of_engine(long code, Value problem)
{
    Str error = value_get_string(problem, "error", STR(""));
    bool is_full = str_is_text(error, "Overloaded") || str_is_text(error, "QuotaExceeded");
    return code == 400 || code == 404 || code == 409 || code == 422 || (code == 429 && is_full);
}

/* As the owner of a store beside the command says it. */
static Value answer_of_problem(Arena *arena, long code, Value problem)
{
    Error err;
    MemberList members = { .arena = arena };
    Status status = code == 429 ? ERR_LIMIT : remote_refused(code, problem, &err);
    member_list_add(&members, STR("status"), value_string(str_of(status_name(status))));
    member_list_add(&members, STR("error"), value_string(value_get_string(problem, "detail", STR(""))));
    Str type = value_get_string(problem, "type", STR(""));
    while (str_find(type, '/', 0) < type.len) type = str_slice(type, str_find(type, '/', 0) + 1, type.len);
    member_list_add(&members, STR("problem"), value_string(type));
    return member_list_object(&members);
}

Status remote_petition(const RemoteOptions *options, Arena *arena, Value request, Value *out_answer, Error *err)
{
    Remote *remote = remote_new(options);
    long code = 0;
    Value answer;
    Status status = ask(remote, arena, &(RemoteCall){ .method = "POST", .path = STR("/api/petitions"), .body = request }, &code, &answer, err);
    if (!status && is_word_of_engine(code, answer)) answer = answer_of_problem(arena, code, answer);
    else if (!status && code != 200) status = remote_refused(code, answer, err);
    if (!status) *out_answer = answer;
    remote_free(remote);
    return status;
}

Status remote_call(const RemoteOptions *options, Arena *arena, const RemoteCall *call, Value *out_answer, Error *err)
{
    Remote *remote = remote_new(options);
    long code = 0;
    if (call->id.len) {
        remote->headers = curl_slist_append(remote->headers, arena_format(&remote->arena, "Idempotency-Key: %.*s", STR_ARG(call->id)).ptr);
        curl_easy_setopt(remote->easy, CURLOPT_HTTPHEADER, remote->headers);
    }
    Status status = ask(remote, arena, call, &code, out_answer, err);
    if (!status && (code < 200 || code > 299)) status = refused(code, *out_answer, err);
    remote_free(remote);
    return status;
}

/* --- queries -------------------------------------------------------------------------------------------------------------------- */

static Value cell_to_value(Arena *arena, const Cell *cell)
{
    if (cell->kind == CELL_INT) return value_int(cell->integer);
    if (cell->kind == CELL_TEXT) return value_string(cell->text);
    if (cell->kind != CELL_BLOB) return value_null();
    Buf text;
    MemberList blob = { .arena = arena };
    buf_init(&text, SIZE_MAX);
    base64_encode(&text, cell->text, BASE64_STANDARD);
    member_list_add(&blob, STR("blob"), value_string(arena_copy(arena, buf_peek(&text))));
    buf_deinit(&text);
    return member_list_object(&blob);
}

static bool cell_of_value(Arena *arena, Value value, Cell *out)
{
    size_t size = 0, wrong_at;
    *out = cell_null();
    if (value.kind == VALUE_NULL) return true;
    if (value.kind == VALUE_INT) *out = cell_int(value.integer);
    else if (value.kind == VALUE_STRING) *out = cell_text(value_text(value));
    else if (value.kind != VALUE_OBJECT) return false;
    if (value.kind != VALUE_OBJECT) return true;
    Str text = value_get_string(value, "blob", STR(""));
    char *bytes = arena_bytes(arena, base64_decoded_size_max(text.len) + 1);
    if (!base64_decode(text, BASE64_STANDARD, bytes, &size, &wrong_at)) return false;
    *out = cell_blob((Str){ bytes, size });
    return true;
}

static Status give_rows(Arena *arena, Value answer, RowVisit visit, void *context, Error *err)
{
    const Value *rows = value_get_text(answer, "rows");
    for (uint32_t i = 0; rows && rows->kind == VALUE_ARRAY && i < rows->count; i++) {
        Value row = rows->items[i];
        Cell *cells = ARENA_ARRAY(arena, Cell, row.count + 1u);
        for (uint32_t k = 0; k < row.count; k++)
            if (row.kind != VALUE_ARRAY || !cell_of_value(arena, row.items[k], &cells[k]))
                return error_set(err, ERR_UNAVAILABLE, "the server's answer cannot be read: it is of another version");
        if (!visit(context, cells, row.count)) return OK;
    }
    return OK;
}

static Status remote_select(Store *store, const QueryAsk *ask, RowVisit visit, void *context, Error *err)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    ValueList params = { .arena = &arena };
    MemberList body = { .arena = &arena };
    Value answer;
    for (uint32_t i = 0; i < ask->param_count; i++) value_list_add(&params, cell_to_value(&arena, &ask->params[i]));
    member_list_add(&body, STR("params"), value_list_array(&params));
    member_list_add(&body, STR("limit"), value_int(ask->row_count_max));
    Str path = arena_format(&arena, "/api/store/%s", query_info(ask->query)->name);
    Status status = post((Remote *)store, &arena, path, member_list_object(&body), &answer, err);
    if (!status) status = give_rows(&arena, answer, visit, context, err);
    arena_deinit(&arena);
    return status;
}

/* --- what only the server can ------------------------------------------------------------------------------------------------------ */

static Status remote_own(Store *store, uint64_t log, LogHead *out_head, Error *err)
{
    (void)store, (void)log, (void)out_head;
    return error_set(err, ERR_CONFLICT, "the server owns its store");
}

static bool remote_submit(Store *store, Batch *batch)
{
    (void)store, (void)batch;
    return false;
}

static bool remote_read(Store *store, const QueryAsk *ask, uint64_t read_id)
{
    (void)store, (void)ask, (void)read_id;
    return false;
}

static bool remote_poll(Store *store, Completion *out)
{
    (void)store, (void)out;
    return false;
}

static int remote_wake_fd(Store *store)
{
    (void)store;
    return -1;
}

static Status remote_check(Store *store, void (*finding)(void *context, Str text), void *context, Error *err)
{
    (void)store, (void)finding, (void)context;
    return error_set(err, ERR_UNAVAILABLE, "the file of a store is looked at on the server's machine, without --server");
}

static Status remote_backup(Store *store, Str path, Error *err)
{
    (void)store, (void)path;
    return error_set(err, ERR_UNAVAILABLE, "a backup is made on the server's machine, without --server");
}

static void remote_close(Store *store) { remote_free((Remote *)store); }

Status remote_store_open(const RemoteOptions *options, Store **out_store, Error *err)
{
    static const StoreOps ops = { .own = remote_own, .submit = remote_submit, .read = remote_read, .poll = remote_poll,
                                  .wake_fd = remote_wake_fd, .select = remote_select, .check = remote_check, .backup = remote_backup,
                                  .close = remote_close };
    if (!options->key.len) return ask_for_key(err);
    Remote *remote = remote_new(options);
    remote->store.ops = &ops;
    *out_store = &remote->store;
    return OK;
}
