/* aws.c - providers.aws.sign_req: requests signed for Amazon's services (Signature Version 4). */
#include <string.h>

#include "base/civil.h"
#include "rego/builtins/json_text.h"
#include "rego/builtins/operand.h"
#include "rego/builtins/request.h"
#include "rego/builtins/url_escape.h"
#include "rego/crypto/hash.h"
#include "value/number.h"

typedef struct Config {
    Str access_key, secret_key, region, service, session_token;
    bool unsigned_payload;
} Config;

/* --- operands ----------------------------------------------------------------------------------------------------- */

static BuiltinResult config_read(const Value *args, Config *out_config, Error *err)
{
    const struct { const char *name; Str *text; } members[] = {
        { "aws_access_key", &out_config->access_key },
        { "aws_region", &out_config->region },
        { "aws_secret_access_key", &out_config->secret_key },
        { "aws_service", &out_config->service },
    };
    enum { COUNT = sizeof members / sizeof members[0] };
    Value missing[COUNT], invalid[COUNT];
    size_t missing_count = 0, invalid_count = 0;
    for (size_t i = 0; i < COUNT; i++) {
        const Value *member = value_get_text(args[1], members[i].name);
        if (!member) missing[missing_count++] = value_string(str_of(members[i].name));
        else if (member->kind != VALUE_STRING) invalid[invalid_count++] = value_string(str_of(members[i].name));
        else *members[i].text = value_text(*member);
    }
    if (missing_count) return request_refuse(err, 1, "missing required AWS config parameters(s)", missing, missing_count);
    if (invalid_count)
        return request_refuse(err, 1, "invalid values for required AWS config parameters(s)", invalid, invalid_count);
    out_config->session_token = value_get_string(args[1], "aws_session_token", STR(""));
    return BUILTIN_OK;
}

static BuiltinResult request_read(const Value *args, Error *err)
{
    static const char *const texts[] = { "method", "url" };
    Value invalid[2];
    size_t count = 0;
    const Value *headers = value_get_text(args[0], "headers");
    if (headers && headers->kind != VALUE_OBJECT)         /* OPA calls this one operand 0 */
        return operand_error(err, UINT32_MAX, "must be object but got %s", value_kind_name(*headers));
    for (size_t i = 0; i < 2; i++)
        if (value_get_text(args[0], texts[i])->kind != VALUE_STRING) invalid[count++] = value_string(str_of(texts[i]));
    if (count == 0) return BUILTIN_OK;
    return request_refuse(err, 0, "invalid values for required request parameters(s)", invalid, count);
}

static BuiltinResult payload_option_read(const Value *args, Config *config, Error *err)
{
    const Value *option = value_get_text(args[1], "disable_payload_signing");
    if (!option) return BUILTIN_OK;
    if (option->kind != VALUE_BOOL)
        return operand_error(err, 1, "invalid value for 'disable_payload_signing' in AWS config");
    config->unsigned_payload = value_is_true(*option);
    return BUILTIN_OK;
}

/* --- the request in canonical form -------------------------------------------------------------------------------- */

typedef struct Signing {
    BuiltinContext *context;
    const Config *config;
    Value request;
    char date[9], moment[17];           /* YYYYMMDD and YYYYMMDDThhmmssZ */
    Value host, path, query;
    Value payload_hash;
    Value added;                        /* headers that signing adds, an object */
    Value signed_headers;               /* all that are signed: lower case, sorted */
} Signing;

static Value hex_text(BuiltinContext *context, const Hash *hash)
{
    char text[2 * HASH_SIZE_MAX];
    Buf buf = buf_on(text, sizeof text);
    buf_hex(&buf, hash->bytes, hash->size);
    return value_string(arena_copy(context->arena, buf_peek(&buf)));
}

static BuiltinResult payload_hash(Signing *signing, Error *err)
{
    const Value *body = value_get_text(signing->request, "body"), *raw = value_get_text(signing->request, "raw_body");
    if (signing->config->unsigned_payload) {
        signing->payload_hash = value_string(STR("UNSIGNED-PAYLOAD"));
        return BUILTIN_OK;
    }
    Value text = value_string(STR(""));
    if (raw) {
        if (raw->kind == VALUE_STRING) text = *raw;
    } else if (body) {
        BuiltinResult result = builtin_json_marshal(signing->context, body, &text, err);
        if (result != BUILTIN_OK) return result;
    }
    Hash hash = hash_of(HASH_SHA256, value_text(text));
    signing->payload_hash = hex_text(signing->context, &hash);
    return BUILTIN_OK;
}

/* The path as it is written in a URL that has been found valid. */
static Str path_written(Str url)
{
    url = str_slice(url, 0, str_find(url, '#', 0));
    url = str_slice(url, 0, str_find(url, '?', 0));
    size_t colon = str_find(url, ':', 0);
    if (colon < url.len && colon < str_find(url, '/', 0)) url = str_slice(url, colon + 1, url.len);
    return str_starts(url, STR("//")) ? str_slice(url, str_find(url, '/', 2), url.len) : url;
}

/* Whether every character may stand in a path as it is. */
static bool path_is_encoded(Str path)
{
    for (size_t i = 0; i < path.len; i++)
        if (!ascii_is_alnum(path.ptr[i]) && !(path.ptr[i] && strchr("-_.~!$&'()*+,;=:@[]%/", path.ptr[i]))) return false;
    return true;
}

/* Host, path and query of the URL as they are signed. */
static BuiltinResult url_split(Signing *signing, Error *err)
{
    Value parts;
    BuiltinResult result = builtin_uri_parse(signing->context, value_get_text(signing->request, "url"), &parts, err);
    if (result != BUILTIN_OK) return result;
    Arena *arena = signing->context->arena;
    Str name = value_get_string(parts, "hostname", STR("")), port = value_get_string(parts, "port", STR(""));
    bool bracketed = str_find(name, ':', 0) < name.len;
    signing->host = value_string(arena_format(arena, "%s%.*s%s%s%.*s", bracketed ? "[" : "", STR_ARG(name),
                                              bracketed ? "]" : "", port.len ? ":" : "", STR_ARG(port)));
    signing->query = value_string(value_get_string(parts, "raw_query", STR("")));
    Str written = path_written(value_text(*value_get_text(signing->request, "url")));
    signing->path = value_string(written);
    if (path_is_encoded(written)) return BUILTIN_OK;
    Buf buf;
    builtin_text_begin(signing->context, &buf);
    url_escape(&buf, value_get_string(parts, "path", STR("")), URL_PATH);
    return builtin_text_end(signing->context, &buf, &signing->path, err);
}

static Str lower_text(Arena *arena, Str text)
{
    char *lower = arena_bytes(arena, text.len);
    for (size_t i = 0; i < text.len; i++) lower[i] = ascii_to_lower(text.ptr[i]);
    return (Str){ lower, text.len };
}

static bool is_signed(Str name)
{
    static const char *const ignored[] = { "authorization", "user-agent", "x-amzn-trace-id" };
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        if (str_is_text(name, ignored[i])) return false;
    return true;
}

static Str header_text(Value value)
{
    return value.kind == VALUE_STRING ? value_text(value) : STR("");
}

static void headers_collect(Signing *signing)
{
    Arena *arena = signing->context->arena;
    MemberList added = { .arena = arena }, all = { .arena = arena };
    member_list_add(&added, STR("host"), signing->host);
    member_list_add(&added, STR("x-amz-date"), value_string(arena_copy(arena, str_of(signing->moment))));
    Str service = signing->config->service, token = signing->config->session_token;
    if (str_is(service, STR("s3")) || str_is(service, STR("glacier")))
        member_list_add(&added, STR("x-amz-content-sha256"), signing->payload_hash);
    if (token.len) member_list_add(&added, STR("x-amz-security-token"), value_string(token));
    for (size_t i = 0; i < added.count; i++) member_list_add(&all, value_text(added.members[i].key), added.members[i].value);
    const Value *given = value_get_text(signing->request, "headers");
    for (uint32_t i = 0; given && i < given->count; i++) {
        Str name = lower_text(arena, header_text(given->members[i].key));
        if (is_signed(name)) member_list_add(&all, name, value_string(header_text(given->members[i].value)));
    }
    signing->added = member_list_object(&added);
    signing->signed_headers = member_list_object(&all);
}

static void header_names(Buf *buf, Value headers)
{
    for (uint32_t i = 0; i < headers.count; i++) {
        if (i) buf_char(buf, ';');
        buf_str(buf, value_text(headers.members[i].key));
    }
}

static void canonical_request(Buf *buf, const Signing *signing)
{
    buf_str(buf, value_get_string(signing->request, "method", STR("")));
    buf_char(buf, '\n');
    buf_str(buf, value_text(signing->path));
    buf_char(buf, '\n');
    buf_str(buf, value_text(signing->query));
    buf_char(buf, '\n');
    for (uint32_t i = 0; i < signing->signed_headers.count; i++) {
        buf_str(buf, value_text(signing->signed_headers.members[i].key));
        buf_char(buf, ':');
        buf_str(buf, value_text(signing->signed_headers.members[i].value));
        buf_char(buf, '\n');
    }
    buf_char(buf, '\n');
    header_names(buf, signing->signed_headers);
    buf_char(buf, '\n');
    buf_str(buf, value_text(signing->payload_hash));
}

/* --- the signature ------------------------------------------------------------------------------------------------ */

static void scope_print(Buf *buf, const Signing *signing)
{
    buf_text(buf, signing->date);
    buf_char(buf, '/');
    buf_str(buf, signing->config->region);
    buf_char(buf, '/');
    buf_str(buf, signing->config->service);
    buf_text(buf, "/aws4_request");
}

static Hash signing_key(const Signing *signing, Arena *arena)
{
    Str secret = arena_format(arena, "AWS4%.*s", STR_ARG(signing->config->secret_key));
    Hash key = hash_hmac(HASH_SHA256, secret, str_of(signing->date));
    key = hash_hmac(HASH_SHA256, hash_peek(&key), signing->config->region);
    key = hash_hmac(HASH_SHA256, hash_peek(&key), signing->config->service);
    return hash_hmac(HASH_SHA256, hash_peek(&key), STR("aws4_request"));
}

static BuiltinResult authorization(Signing *signing, Value *out_text, Error *err)
{
    Buf buf;
    builtin_text_begin(signing->context, &buf);
    canonical_request(&buf, signing);
    Hash request = hash_of(HASH_SHA256, buf_peek(&buf));
    buf_clear(&buf);
    buf_text(&buf, "AWS4-HMAC-SHA256\n");
    buf_text(&buf, signing->moment);
    buf_char(&buf, '\n');
    scope_print(&buf, signing);
    buf_char(&buf, '\n');
    buf_hex(&buf, request.bytes, request.size);
    Hash key = signing_key(signing, signing->context->arena);
    Hash signature = hash_hmac(HASH_SHA256, hash_peek(&key), buf_peek(&buf));
    buf_clear(&buf);
    buf_text(&buf, "AWS4-HMAC-SHA256 Credential=");
    buf_str(&buf, signing->config->access_key);
    buf_char(&buf, '/');
    scope_print(&buf, signing);
    buf_text(&buf, ",SignedHeaders=");
    header_names(&buf, signing->signed_headers);
    buf_text(&buf, ",Signature=");
    buf_hex(&buf, signature.bytes, signature.size);
    return builtin_text_end(signing->context, &buf, out_text, err);
}

/* The request with the headers as they were, the new ones, and the signature. */
static Value signed_request(const Signing *signing, Value signature)
{
    Arena *arena = signing->context->arena;
    MemberList headers = { .arena = arena }, request = { .arena = arena };
    const Value *given = value_get_text(signing->request, "headers");
    for (uint32_t i = 0; given && i < given->count; i++)
        member_list_add(&headers, header_text(given->members[i].key), value_string(header_text(given->members[i].value)));
    member_list_add(&headers, STR("Authorization"), signature);
    for (uint32_t i = 0; i < signing->added.count; i++)
        member_list_add(&headers, value_text(signing->added.members[i].key), signing->added.members[i].value);
    for (uint32_t i = 0; i < signing->request.count; i++)
        member_list_add(&request, value_text(signing->request.members[i].key), signing->request.members[i].value);
    member_list_add(&request, STR("headers"), member_list_object(&headers));
    return member_list_object(&request);
}

static void moment_set(Signing *signing, int64_t time_ns)
{
    CivilTime now = civil_time(floor_div(time_ns, 1000000000));
    Buf date = buf_on(signing->date, sizeof signing->date - 1), moment = buf_on(signing->moment, sizeof signing->moment - 1);
    buf_format(&date, "%04d%02d%02d", (int)now.date.year, now.date.month, now.date.day);
    buf_format(&moment, "%sT%02d%02d%02dZ", signing->date, now.hour, now.minute, now.second);
}

BuiltinResult builtin_providers_aws_sign_req(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Config config = { 0 };
    /* OPA speaks of operand 1 for each of them. */
    if (!operand_is(args, 0, &OPERAND_OBJECT, err) || !operand_is(args + 1, 0, &OPERAND_OBJECT, err))
        return BUILTIN_TYPE_ERROR;
    BuiltinResult result = config_read(args, &config, err);
    if (result != BUILTIN_OK) return result;
    int64_t time_ns;
    if (!operand_is(args + 2, 0, &OPERAND_NUMBER, err)) return BUILTIN_TYPE_ERROR;
    if (args[2].kind != VALUE_INT || !number_to_int64(args[2], &time_ns))      /* 1e18 is none that OPA takes either */
        return operand_error(err, 2, "could not convert time_ns value into a unix timestamp");
    if (!request_check(args, 0, err)) return BUILTIN_TYPE_ERROR;

    Signing signing = { .context = context, .config = &config, .request = args[0] };
    moment_set(&signing, time_ns);
    result = request_read(args, err);
    if (result == BUILTIN_OK) result = url_split(&signing, err);
    if (result == BUILTIN_OK) result = payload_option_read(args, &config, err);
    if (result == BUILTIN_OK) result = payload_hash(&signing, err);
    if (result != BUILTIN_OK) return result;
    headers_collect(&signing);
    Value signature;
    result = authorization(&signing, &signature, err);
    if (result == BUILTIN_OK) *out_result = signed_request(&signing, signature);
    return result;
}
