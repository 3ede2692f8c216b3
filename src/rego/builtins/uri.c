/* uri.c - uri.parse and uri.is_valid: a URI taken apart as Go's net/url does it. */
#include "base/limits.h"
#include "rego/builtins/ip.h"
#include "rego/builtins/operand.h"
#include "rego/builtins/text.h"
#include "rego/builtins/url_escape.h"

typedef struct Uri {
    Str scheme, host, path, raw_path, query, fragment;      /* decoded, but for raw_path and query */
} Uri;

typedef struct UriReader {
    BuiltinContext *context;
    Error *err;
    Uri uri;
} UriReader;

static BuiltinResult unescape(UriReader *reader, Str text, UrlPart part, Str *out)
{
    Value plain;
    BuiltinResult result = url_unescape(reader->context, text, part, &plain, reader->err);
    if (!result) *out = value_text(plain);
    return result;
}

static size_t find_last(Str text, char c)
{
    size_t at = text.len;
    while (at && text.ptr[at - 1] != c) at--;
    return at ? at - 1 : text.len;
}

/* --- the authority ----------------------------------------------------------------------------------------------- */

static BuiltinResult check_port(UriReader *reader, Str port)
{
    bool is_valid = port.len == 0 || port.ptr[0] == ':';
    for (size_t i = 1; i < port.len; i++) is_valid = is_valid && ascii_is_digit(port.ptr[i]);
    if (is_valid) return BUILTIN_OK;
    Buf quoted;
    buf_init(&quoted, ERROR_TEXT_SIZE);
    text_quote(&quoted, str_slice(port, 0, 64));
    BuiltinResult result = builtin_error(reader->err, "invalid port %.*s after host", STR_ARG(buf_peek(&quoted)));
    buf_deinit(&quoted);
    return result;
}

/* "[::1%25en0]:80": an IPv6 address, the zone escaped in its own way. */
static BuiltinResult read_literal(UriReader *reader, Str host)
{
    size_t close = find_last(host, ']');
    if (close == host.len) return builtin_error(reader->err, "missing ']' in host");
    BuiltinResult result = check_port(reader, str_slice(host, close + 1, host.len));
    if (result) return result;
    size_t zone = 1;
    while (zone < close && !str_starts(str_slice(host, zone, close), STR("%25"))) zone++;
    Str address, inside, port;
    result = unescape(reader, str_slice(host, 1, zone), URL_HOST, &address);
    if (!result) result = unescape(reader, str_slice(host, zone, close), URL_ZONE, &inside);
    if (!result) result = unescape(reader, str_slice(host, close, host.len), URL_HOST, &port);
    if (result) return result;
    Ip ip;
    if (ip_read_v4(address, &ip)) return builtin_error(reader->err, "invalid IP-literal");
    if (!ip_read_v6(address, &ip))
        return builtin_error(reader->err, "invalid host: ParseAddr(\"%.*s\"): unable to parse IP", STR_ARG(address));
    reader->uri.host = arena_format(reader->context->arena, "[%.*s%.*s%.*s", STR_ARG(address), STR_ARG(inside),
                                    STR_ARG(port));
    return BUILTIN_OK;
}

static BuiltinResult read_host(UriReader *reader, Str host)
{
    if (host.len && host.ptr[0] == '[') return read_literal(reader, host);
    if (find_last(host, '[') < host.len) return builtin_error(reader->err, "invalid IP-literal");
    /* Beyond the web a host may have colons of its own. */
    bool is_web = str_is(reader->uri.scheme, STR("http")) || str_is(reader->uri.scheme, STR("https"));
    size_t colon = is_web ? str_find(host, ':', 0) : find_last(host, ':');
    BuiltinResult result = check_port(reader, str_slice(host, colon, host.len));
    return result ? result : unescape(reader, host, URL_HOST, &reader->uri.host);
}

static bool is_user_character(char c)
{
    return ascii_is_alnum(c) || str_find(STR("-._:~!$&'()*+,;=%@"), c, 0) < 18;
}

static BuiltinResult read_authority(UriReader *reader, Str authority)
{
    size_t at = find_last(authority, '@');
    if (at == authority.len) return read_host(reader, authority);
    BuiltinResult result = read_host(reader, str_slice(authority, at + 1, authority.len));
    if (result) return result;
    Str user = str_slice(authority, 0, at), ignored;
    for (size_t i = 0; i < user.len; i++)
        if (!is_user_character(user.ptr[i])) return builtin_error(reader->err, "net/url: invalid userinfo");
    return unescape(reader, user, URL_USER, &ignored);
}

/* --- the whole --------------------------------------------------------------------------------------------------- */

/* letter (letter | digit | + | - | .)* before a colon; else there is no scheme. */
static BuiltinResult read_scheme(UriReader *reader, Str *rest)
{
    for (size_t i = 0; i < rest->len; i++) {
        char c = rest->ptr[i];
        if (ascii_is_alpha(c)) continue;
        bool may_follow = ascii_is_digit(c) || c == '+' || c == '-' || c == '.';
        if (may_follow && i) continue;
        if (c != ':') return BUILTIN_OK;
        if (i == 0) return builtin_error(reader->err, "missing protocol scheme");
        char *scheme = arena_alloc(reader->context->arena, i);
        for (size_t j = 0; j < i; j++) scheme[j] = ascii_to_lower(rest->ptr[j]);
        reader->uri.scheme = (Str){ scheme, i };
        *rest = str_slice(*rest, i + 1, rest->len);
        return BUILTIN_OK;
    }
    return BUILTIN_OK;
}

/* The path as written is kept only where it is not the usual spelling of the decoded one. */
static BuiltinResult read_path(UriReader *reader, Str path)
{
    Uri *uri = &reader->uri;
    BuiltinResult result = unescape(reader, path, URL_PATH, &uri->path);
    if (result) return result;
    Buf usual;
    buf_init(&usual, 3 * uri->path.len);
    url_escape(&usual, uri->path, URL_PATH);
    uri->raw_path = str_is(buf_peek(&usual), path) ? uri->path : path;
    buf_deinit(&usual);
    return BUILTIN_OK;
}

/* Everything before the fragment. */
static BuiltinResult read_front(UriReader *reader, Str rest)
{
    Uri *uri = &reader->uri;
    for (size_t i = 0; i < rest.len; i++)
        if ((unsigned char)rest.ptr[i] < 0x20 || rest.ptr[i] == 0x7f)
            return builtin_error(reader->err, "net/url: invalid control character in URL");

    BuiltinResult result = read_scheme(reader, &rest);
    if (result) return result;
    size_t question = str_find(rest, '?', 0);
    uri->query = str_slice(rest, question + 1, rest.len);
    rest = str_slice(rest, 0, question);

    bool is_opaque = !str_starts(rest, STR("/")) && uri->scheme.len;
    size_t slash = str_find(rest, '/', 0), colon = str_find(rest, ':', 0);
    if (!str_starts(rest, STR("/")) && !is_opaque && colon < slash)
        return builtin_error(reader->err, "first path segment in URL cannot contain colon");
    if (!is_opaque && str_starts(rest, STR("//")) && (uri->scheme.len || !str_starts(rest, STR("///")))) {
        size_t end = str_find(rest, '/', 2);
        result = read_authority(reader, str_slice(rest, 2, end));
        if (result) return result;
        rest = str_slice(rest, end, rest.len);
    }
    return is_opaque ? BUILTIN_OK : read_path(reader, rest);
}

static void name_uri(Error *err, Str text)
{
    Buf quoted;
    buf_init(&quoted, ERROR_TEXT_SIZE);
    text_quote(&quoted, str_slice(text, 0, ERROR_TEXT_SIZE / 8));
    error_prefix(err, "parse %.*s: ", STR_ARG(buf_peek(&quoted)));
    buf_deinit(&quoted);
}

static BuiltinResult read_uri(UriReader *reader, Str text)
{
    size_t hash = str_find(text, '#', 0);
    Str front = str_slice(text, 0, hash);
    BuiltinResult result = read_front(reader, front);
    if (result == BUILTIN_ERROR) name_uri(reader->err, front);
    if (result) return result;
    result = unescape(reader, str_slice(text, hash + 1, text.len), URL_FRAGMENT, &reader->uri.fragment);
    if (result == BUILTIN_ERROR) name_uri(reader->err, text);
    return result;
}

static void add_part(MemberList *list, const char *name, Str text)
{
    if (text.len) member_list_add(list, str_of(name), value_string(text));
}

BuiltinResult builtin_uri_parse(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str text;
    if (!operand_string(args, 0, &text, err)) return BUILTIN_TYPE_ERROR;
    if (!builtin_spend(context, 1 + text.len / REGO_BYTES_PER_STEP, err) || !builtin_fits(context, 8 * text.len, err))
        return BUILTIN_HALT;
    UriReader reader = { .context = context, .err = err };
    BuiltinResult result = read_uri(&reader, text);
    if (result) return result;

    Str host = reader.uri.host;
    size_t colon = find_last(host, ':'), close = find_last(host, ']');
    bool has_port = colon < host.len && (close == host.len || close < colon);
    Str name = str_slice(host, 0, has_port ? colon : host.len);
    if (str_starts(name, STR("[")) && str_ends(name, STR("]"))) name = str_slice(name, 1, name.len - 1);
    MemberList parts = { .arena = context->arena };
    add_part(&parts, "scheme", reader.uri.scheme);
    add_part(&parts, "hostname", name);
    add_part(&parts, "port", str_slice(host, has_port ? colon + 1 : host.len, host.len));
    add_part(&parts, "path", reader.uri.path);
    add_part(&parts, "raw_path", reader.uri.raw_path);
    add_part(&parts, "raw_query", reader.uri.query);
    add_part(&parts, "fragment", reader.uri.fragment);
    *out_result = member_list_object(&parts);
    return BUILTIN_OK;
}

BuiltinResult builtin_uri_is_valid(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Value ignored;
    bool is_text = args[0].kind == VALUE_STRING && args[0].count > 0;
    BuiltinResult result = is_text ? builtin_uri_parse(context, args, &ignored, err) : BUILTIN_ERROR;
    if (result == BUILTIN_HALT) return result;
    *out_result = value_bool(result == BUILTIN_OK);
    return BUILTIN_OK;
}
