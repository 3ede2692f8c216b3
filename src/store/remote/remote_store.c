#include "store/remote/remote_store.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/check.h"
#include "value/json.h"
#include "view/queries.h"

typedef struct Remote {
    Store store;
    CURL *easy;
    struct curl_slist *headers;
    Arena arena;                    /* of address and headers */
    Str url;
} Remote;

bool remote_is_url(Str url) { return str_starts(url, STR("http://")) || str_starts(url, STR("https://")); }

/* --- one request --------------------------------------------------------------------------------------------------------------- */

static size_t take_bytes(char *bytes, size_t one, size_t size, void *context)
{
    Buf *answer = context;
    buf_bytes(answer, bytes, one * size);
    return buf_overflowed(answer) ? 0 : one * size;
}

/* What the server refuses, as a command would say it: by the status of HTTP. */
static Status refused(long status, Value problem, Error *err)
{
    static const struct { long status; Status error; } kinds[] = {
        { 400, ERR_INVALID }, { 401, ERR_DENIED }, { 403, ERR_DENIED }, { 404, ERR_NOT_FOUND }, { 409, ERR_CONFLICT }, { 413, ERR_LIMIT },
        { 422, ERR_LIMIT }, { 500, ERR_CORRUPT },
    };
    Str detail = value_get_string(problem, "detail", STR("it does not say why"));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].status == status) return error_set(err, kinds[i].error, "the server answers %ld: %.*s", status, STR_ARG(detail));
    return error_set(err, ERR_UNAVAILABLE, "the server answers %ld: %.*s", status, STR_ARG(detail));
}

static Status post(Remote *remote, Arena *arena, Str path, Value body, Value *out, Error *err)
{
    Buf sent, answer;
    char reason[CURL_ERROR_SIZE] = "";
    long code = 0;
    buf_init(&sent, CONTROL_LINE_SIZE_MAX);
    buf_init(&answer, API_STORE_ANSWER_SIZE_MAX);
    Status status = json_print(&sent, body, JSON_COMPACT, err);
    Str address = arena_format(arena, "%.*s%.*s", STR_ARG(remote->url), STR_ARG(path));
    if (!status) {
        curl_easy_setopt(remote->easy, CURLOPT_URL, address.ptr);
        curl_easy_setopt(remote->easy, CURLOPT_POSTFIELDS, sent.ptr);
        curl_easy_setopt(remote->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)sent.len);
        curl_easy_setopt(remote->easy, CURLOPT_WRITEDATA, &answer);
        curl_easy_setopt(remote->easy, CURLOPT_ERRORBUFFER, reason);
        CURLcode failed = curl_easy_perform(remote->easy);
        curl_easy_getinfo(remote->easy, CURLINFO_RESPONSE_CODE, &code);
        if (failed)
            status = error_set(err, ERR_UNAVAILABLE, "the server %.*s cannot be asked: %s", STR_ARG(remote->url),
                               reason[0] ? reason : curl_easy_strerror(failed));
    }
    if (!status && json_parse(arena, arena_copy(arena, buf_peek(&answer)), out, err)) {
        *out = value_null();
        status = error_set(err, ERR_UNAVAILABLE, "%.*s answers %ld and no JSON: is it a server of maestro?", STR_ARG(remote->url), code);
    }
    if (!status && code != 200) status = refused(code, *out, err);
    buf_deinit(&sent);
    buf_deinit(&answer);
    return status;
}

static Remote *remote_new(const RemoteOptions *options)
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
    if (options->key.len)
        remote->headers = curl_slist_append(remote->headers,
                                            arena_format(&remote->arena, "Authorization: Bearer %.*s", STR_ARG(options->key)).ptr);
    curl_easy_setopt(remote->easy, CURLOPT_HTTPHEADER, remote->headers);
    curl_easy_setopt(remote->easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(remote->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(remote->easy, CURLOPT_TIMEOUT_MS, (long)CONTROL_ANSWER_MS_MAX);
    curl_easy_setopt(remote->easy, CURLOPT_USERAGENT, "maestro");
    curl_easy_setopt(remote->easy, CURLOPT_WRITEFUNCTION, take_bytes);
    return remote;
}

static void remote_free(Remote *remote)
{
    curl_easy_cleanup(remote->easy);
    curl_slist_free_all(remote->headers);
    arena_deinit(&remote->arena);
    free(remote);
}

Status remote_petition(const RemoteOptions *options, Arena *arena, Value request, Value *out_answer, Error *err)
{
    Remote *remote = remote_new(options);
    Status status = post(remote, arena, STR("/api/petitions"), request, out_answer, err);
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
    if (!options->key.len)
        return error_set(err, ERR_DENIED, "a server asks for a key: MAESTRO_TOKEN has it, and 'maestro key create' makes one");
    Remote *remote = remote_new(options);
    remote->store.ops = &ops;
    *out_store = &remote->store;
    return OK;
}
