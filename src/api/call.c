#include "api/call.h"

#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "api/api.h"
#include "api/head.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "os/gzip.h"
#include "value/json.h"

/* --- what was asked ---------------------------------------------------------------------------------------------------------- */

bool call_is_name(Str name, const char *text)
{
    return strlen(text) == name.len && strncasecmp(name.ptr, text, name.len) == 0;
}

static bool is_text(Str text) { return utf8_valid_size(text) == text.len; }

static bool are_text(const CallPair *pairs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!is_text(pairs[i].name) || !is_text(pairs[i].value)) return false;
    return true;
}

bool call_is_text(Call *call)
{
    Str path = head_decode(&call->arena, call->path);
    if (is_text(path) && is_text(call->path) && are_text(call->query, call->query_count) && are_text(call->headers, call->header_count)) return true;
    call->path = str_slice(call->path, 0, utf8_valid_size(call->path));         /* problems and logs tell it */
    call_problem(call, PROBLEM_INVALID, "%s is not text in UTF-8", !is_text(path) ? "the address"
                 : are_text(call->query, call->query_count) ? "a header" : "the query");
    return false;
}

Str call_header(const Call *call, const char *name)
{
    for (uint32_t i = 0; i < call->header_count; i++)
        if (call_is_name(call->headers[i].name, name)) return call->headers[i].value;
    return (Str){ 0 };
}

uint32_t call_header_count(const Call *call, const char *name)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < call->header_count; i++) count += call_is_name(call->headers[i].name, name);
    return count;
}

Str call_list(Call *call, const char *name)
{
    Str list = call_header(call, name);
    bool is_first = true;
    if (call_header_count(call, name) < 2) return list;
    for (uint32_t i = 0; i < call->header_count; i++) {
        if (!call_is_name(call->headers[i].name, name)) continue;
        if (!is_first) list = arena_format(&call->arena, "%.*s, %.*s", STR_ARG(list), STR_ARG(call->headers[i].value));
        is_first = false;
    }
    return list;
}

/* "gzip;q=0" does not take it; any other weight is a yes. Neither the word nor the q has a case, and spaces say nothing. */
static bool has_weight(Str parameters)
{
    for (size_t at = 0; at < parameters.len;) {
        size_t end = str_find(parameters, ';', at);
        Str one = str_slice(parameters, at, end);
        size_t equals = str_find(one, '=', 0);
        at = end + 1;
        if (equals == one.len || !call_is_name(str_trim(str_slice(one, 0, equals)), "q")) continue;
        Str number = str_slice(one, equals + 1, one.len);
        for (size_t i = 0; i < number.len; i++)
            if (number.ptr[i] >= '1' && number.ptr[i] <= '9') return true;
        return false;
    }
    return true;
}

bool call_takes(Call *call, const char *name, const char *word)
{
    Str list = call_list(call, name);
    for (size_t at = 0; at < list.len;) {
        size_t end = str_find(list, ',', at);
        Str item = str_slice(list, at, end);
        size_t stop = str_find(item, ';', 0);
        at = end + 1;
        if (call_is_name(str_trim(str_slice(item, 0, stop)), word)) return has_weight(str_slice(item, stop < item.len ? stop + 1 : stop, item.len));
    }
    return false;
}

bool call_has_tag(Call *call, const char *name, Str tag, bool is_weak_enough)
{
    Str list = call_list(call, name);
    if (is_weak_enough && str_starts(tag, STR("W/"))) tag = str_slice(tag, 2, tag.len);
    for (size_t at = 0; at < list.len;) {
        size_t end = str_find(list, ',', at);
        Str item = str_trim(str_slice(list, at, end));
        if (is_weak_enough && str_starts(item, STR("W/"))) item = str_slice(item, 2, item.len);
        if (str_is_text(item, "*") || str_is(item, tag)) return true;
        at = end + 1;
    }
    return false;
}

bool call_has_query(const Call *call, const char *name)
{
    for (uint32_t i = 0; i < call->query_count; i++)
        if (str_is_text(call->query[i].name, name)) return true;
    return false;
}

bool call_has_header(const Call *call, const char *name)
{
    for (uint32_t i = 0; i < call->header_count; i++)
        if (call_is_name(call->headers[i].name, name)) return true;
    return false;
}

Str call_query(const Call *call, const char *name)
{
    for (uint32_t i = 0; i < call->query_count; i++)
        if (str_is_text(call->query[i].name, name)) return call->query[i].value;
    return (Str){ 0 };
}

bool call_is_json(const Call *call)
{
    Str type = call_header(call, "Content-Type"), name = str_trim(str_slice(type, 0, str_find(type, ';', 0)));
    return !type.len || call_is_name(name, "application/json") || (name.len > 5 && str_ends(name, STR("+json")));
}

bool call_is_plain(Call *call)
{
    Str coding = str_trim(call_header(call, "Content-Encoding"));
    if (!coding.len || call_is_name(coding, "identity")) return true;
    call_problem(call, PROBLEM_MEDIA_TYPE, "a body is read as it is, and not in the coding '%.*s'; leave out Content-Encoding", STR_ARG(coding));
    return false;
}

Status call_parse(Call *call, Value *out_value, Error *err)
{
    if (!call->is_read) {
        bool is_apart = call->is_copy || call->body.len > API_HERE_SIZE_MAX;       /* the arena of a copy ends before the call does */
        Arena *arena = is_apart ? &call->read_arena : &call->arena;
        Status status = json_parse_strict(arena, buf_peek(&call->body), &call->read, err);
        call->is_read = true;
        call->read_error = status ? arena_copy_items(&call->arena, err, sizeof *err) : NULL;
    }
    if (call->read_error) {
        *err = *call->read_error;
        return err->status;
    }
    *out_value = call->read;
    return OK;
}

bool call_take_read(Call *call, Call *copy)
{
    ShareBound bound = share_take(call->api->shares, SHARE_READS, call_sharer(call), copy->read_arena.size, &call->reading);
    if (bound != SHARE_FREE) {
        call_refuse_share(call, SHARE_READS, bound);
        return false;
    }
    Arena spare = call->read_arena;
    call->is_read = copy->is_read;
    call->read = copy->read;
    call->read_arena = copy->read_arena;
    copy->read_arena = spare;
    call->read_error = copy->read_error ? arena_copy_items(&call->arena, copy->read_error, sizeof *copy->read_error) : NULL;
    return true;
}

void call_refuse_json(Call *call, const Error *err)
{
    const char *fault = err->status == ERR_LIMIT ? "beyond a limit" : "no JSON that is read here";
    call_problem(call, PROBLEM_INVALID, "the body is %s: line %u, column %u: %s", fault, err->line, err->column, err->text);
}

bool call_read_json(Call *call, Value *out_value)
{
    Error err;
    Str body = buf_peek(&call->body);
    *out_value = (Value){ .kind = VALUE_OBJECT };
    if (!str_trim(body).len) return true;
    if (!call_is_plain(call)) return false;
    if (!call_is_json(call)) {
        call_problem(call, PROBLEM_MEDIA_TYPE, "the body has to be application/json");
        return false;
    }
    if (call_parse(call, out_value, &err)) {
        call_refuse_json(call, &err);
        return false;
    }
    if (out_value->kind != VALUE_OBJECT) {
        call_problem(call, PROBLEM_INVALID, "the body has to be a JSON object, and is of the type %s", value_kind_name(*out_value));
        return false;
    }
    return true;
}

bool call_query_number(Call *call, const char *name, uint64_t otherwise, uint64_t max, uint64_t *out_number)
{
    *out_number = otherwise;
    if (!call_has_query(call, name)) return true;
    Str text = call_query(call, name);
    if (str_to_u64(text, out_number) && *out_number <= max) return true;
    call_problem(call, PROBLEM_INVALID, "'%s' of the query has to be a whole number up to %llu", name, (unsigned long long)max);
    return false;
}

/* --- shares ------------------------------------------------------------------------------------------------------------------- */

ShareOwner call_sharer(const Call *call)
{
    if (call->let_in.tenant.len) return call->let_in;
    return (ShareOwner){ call->caller.tenant, call->caller.tenant.len ? call->caller.actor : call->source };
}

bool call_try_hold(Call *call, ShareKind kind, ShareBound *out_bound)
{
    *out_bound = share_take(call->api->shares, kind, call_sharer(call), 1, &call->hold);
    return *out_bound == SHARE_FREE;
}

bool call_hold(Call *call, ShareKind kind)
{
    ShareBound bound;
    if (call_try_hold(call, kind, &bound)) return true;
    call_refuse_share(call, kind, bound);
    return false;
}

void call_refuse_share(Call *call, ShareKind kind, ShareBound bound)
{
    bool is_stranger = call->route && call->route->access == ROUTE_OPEN;        /* has no share that could be its own fault */
    call_problem(call, bound == SHARE_OF_SERVER || is_stranger ? PROBLEM_UNAVAILABLE : PROBLEM_OVERLOAD,
                 "%s has %zu %s already, and no more at a time: come again later",
                 share_holder(bound), share_bound(kind, bound), share_name(kind));
}

/* --- answers ------------------------------------------------------------------------------------------------------------------ */

void call_answer(Call *call, unsigned status, const char *type)
{
    CHECK(!call->status);
    call->status = status;
    call->type = type;
    if (!call->is_copy) call_wake(call);
}

/* What stands in a header is one line. */
void call_add_header(Call *call, const char *name, Str value)
{
    CHECK(call->answer_count < CALL_HEADER_COUNT_MAX);
    Str copy = arena_copy(&call->arena, value);
    for (size_t i = 0; i < copy.len; i++)
        if ((unsigned char)copy.ptr[i] < ' ' || copy.ptr[i] == 127) ((char *)copy.ptr)[i] = ' ';
    call->answer[call->answer_count++] = (CallPair){ str_of(name), copy };
}

void call_value(Call *call, unsigned status, Value value)
{
    Error err;
    if (json_print(&call->out, value, JSON_COMPACT, &err)) {
        buf_clear(&call->out);
        call_problem(call, PROBLEM_LIMIT, "the answer does not fit: %s", err.text);
        return;
    }
    buf_char(&call->out, '\n');
    call_answer(call, status, "application/json");
}

void call_text(Call *call, unsigned status, const char *type, Str text)
{
    buf_str(&call->out, text);
    call_answer(call, status, type);
}

void call_empty(Call *call, unsigned status) { call_answer(call, status, NULL); }

void call_unchanged(Call *call)
{
    call->is_bare = true;
    call_answer(call, 304, NULL);
}

void call_pack(Call *call)
{
    Buf packed;
    if (call->is_packed || call->out.len < API_GZIP_SIZE_MIN) return;
    call->is_packed = true;
    call_add_header(call, "Vary", STR("Accept-Encoding"));          /* on both forms: a cache that has one gives it to whom it fits */
    if (!call_takes(call, "Accept-Encoding", "gzip")) return;
    buf_init(&packed, JSON_SIZE_MAX);
    if (gzip_pack(buf_peek(&call->out), &packed)) {
        buf_deinit(&call->out);
        call->out = packed;
        call_add_header(call, "Content-Encoding", STR("gzip"));
    } else {
        buf_deinit(&packed);
    }
}

void call_take_back(Call *call)
{
    buf_deinit(&call->out);
    buf_init(&call->out, JSON_SIZE_MAX);
    call->status = 0;
    call->type = NULL;
    call->answer_count = 0;
    call->is_packed = call->is_bare = false;
}

void call_stream(Call *call, const char *type, CallSource source)
{
    call->stream = source;
    call_answer(call, 200, type);
}

Str call_public(Call *call, Str reason)
{
    Str path = call->api ? call->api->store_path : (Str){ 0 };
    size_t at = 0;
    while (path.len && at + path.len <= reason.len && !str_starts(str_slice(reason, at, reason.len), path)) at++;
    if (!path.len || at + path.len > reason.len) return reason;
    call->hidden = arena_copy(&call->arena, reason);
    Str before = str_slice(reason, 0, at), after = str_slice(reason, at + path.len, reason.len);
    if (str_starts(after, STR(": "))) after = str_slice(after, 2, after.len);
    size_t end = str_find(after, '(', 0);                           /* what the library says, and its code */
    return arena_format(&call->arena, "%.*sthe store: %.*s", STR_ARG(before), STR_ARG(str_trim(str_slice(after, 0, end))));
}

void call_problem_fields(Call *call, ProblemKind kind, Str detail, const ProblemField *fields, uint32_t count)
{
    const ProblemInfo *info = problem_info(kind);
    detail = call_public(call, detail);
    buf_clear(&call->out);
    problem_print_json(&call->out, kind, detail, arena_format(&call->arena, "%.*s#%s", STR_ARG(call->path), call->id), fields, count);
    buf_char(&call->out, '\n');
    call_add_header(call, "Link", arena_format(&call->arena, "</errors/%s>; rel=\"help\"", info->type));
    if (info->status == 503 || info->status == 429)
        call_add_header(call, "Retry-After", arena_format(&call->arena, "%llu", (unsigned long long)(call->retry_s ? call->retry_s : 1)));
    if (info->status == 401) call_add_header(call, "WWW-Authenticate", STR("Bearer realm=\"maestro\""));
    call->problem = kind;
    call_answer(call, info->status, "application/problem+json");
}

void call_problem(Call *call, ProblemKind kind, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    Str detail = arena_format_args(&call->arena, format, args);
    va_end(args);
    call_problem_fields(call, kind, detail, NULL, 0);
}

static Str reason_of(Call *call, Str why) { return why.len ? arena_copy(&call->arena, why) : STR("it is not allowed"); }

void call_refuse(Call *call, Str tenant, Str why)
{
    call->refused = reason_of(call, why);
    call->refused_tenant = arena_copy(&call->arena, tenant);
}

void call_refuse_part(Call *call, unsigned status, Str why)
{
    CallRefusal *refusal = ARENA_NEW(&call->arena, CallRefusal);
    *refusal = (CallRefusal){ .next = call->refused_parts, .why = reason_of(call, why), .status = status };
    call->refused_parts = refusal;
}

void call_error(Call *call, const Error *err)
{
    call_problem_fields(call, problem_of(err->status), str_of(err->text), NULL, 0);
}
