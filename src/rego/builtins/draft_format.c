/* The formats that schemas may name. */
#include <string.h>

#include "base/civil.h"
#include "rego/builtins/draft_schema.h"
#include "rego/builtins/ip.h"
#include "rego/builtins/url_escape.h"

/* --- dates and times ---------------------------------------------------------------------------------------------- */

static bool take_digits(Str *text, size_t count, int32_t *out_number)
{
    if (text->len < count) return false;
    int32_t number = 0;
    for (size_t i = 0; i < count; i++) {
        if (!ascii_is_digit(text->ptr[i])) return false;
        number = number * 10 + (text->ptr[i] - '0');
    }
    *out_number = number;
    *text = str_slice(*text, count, text->len);
    return true;
}

static bool take_char(Str *text, char c)
{
    if (text->len == 0 || text->ptr[0] != c) return false;
    *text = str_slice(*text, 1, text->len);
    return true;
}

static bool take_date(Str *text)
{
    int32_t year, month, day;
    return take_digits(text, 4, &year) && take_char(text, '-') && take_digits(text, 2, &month) && take_char(text, '-')
        && take_digits(text, 2, &day) && month >= 1 && month <= 12 && day >= 1 && day <= civil_month_days(year, month);
}

/* hh:mm:ss; a fraction may follow. */
static bool take_time(Str *text)
{
    int32_t hour, minute, second;
    if (!take_digits(text, 2, &hour) || !take_char(text, ':') || !take_digits(text, 2, &minute) || !take_char(text, ':')
        || !take_digits(text, 2, &second) || hour > 23 || minute > 59 || second > 59)
        return false;
    Str rest = *text;
    if ((take_char(&rest, '.') || take_char(&rest, ',')) && rest.len && ascii_is_digit(rest.ptr[0])) {
        while (rest.len && ascii_is_digit(rest.ptr[0])) rest = str_slice(rest, 1, rest.len);
        *text = rest;
    }
    return true;
}

static bool take_zone(Str *text)
{
    int32_t hour, minute;
    if (take_char(text, 'Z')) return true;
    if (!take_char(text, '+') && !take_char(text, '-')) return false;
    return take_digits(text, 2, &hour) && take_char(text, ':') && take_digits(text, 2, &minute) && hour <= 24 && minute <= 60;
}

static bool is_date(Str text) { return take_date(&text) && text.len == 0; }

static bool is_time(Str text)
{
    if (!take_time(&text)) return false;
    return text.len == 0 || (take_zone(&text) && text.len == 0);
}

static bool is_date_time(Str text)
{
    if (is_date(text) || is_time(text)) return true;
    return take_date(&text) && take_char(&text, 'T') && take_time(&text) && take_zone(&text) && text.len == 0;
}

/* --- names and addresses ------------------------------------------------------------------------------------------ */

static bool is_hostname(Str text)
{
    if (text.len == 0 || text.len > 255) return false;
    size_t label = 0;
    for (size_t i = 0; i <= text.len; i++) {
        char c = i < text.len ? text.ptr[i] : '.';
        if (c == '.') {
            if (label == 0 || label > 63 || text.ptr[i - 1] == '-') return false;
            label = 0;
        } else if (ascii_is_alnum(c) || (c == '-' && label > 0)) {
            label++;
        } else {
            return false;
        }
    }
    return true;
}

static bool is_ipv4(Str text)
{
    Ip ip;
    return ip_read(text, &ip) && str_find(text, '.', 0) < text.len;
}

static bool is_ipv6(Str text)
{
    Ip ip;
    return ip_read(text, &ip) && str_find(text, ':', 0) < text.len;
}

static bool is_atom(char c)
{
    return ascii_is_alnum(c) || (unsigned char)c >= 0x80 || (c && strchr("!#$%&'*+-/=?^_`{|}~", c));
}

/* Words of an address, joined by single dots. */
static bool take_dot_atom(Str *text)
{
    size_t at = 0;
    for (;;) {
        size_t from = at;
        while (at < text->len && is_atom(text->ptr[at])) at++;
        if (at == from) return false;
        if (at == text->len || text->ptr[at] != '.') break;
        at++;
    }
    *text = str_slice(*text, at, text->len);
    return true;
}

static bool take_quoted(Str *text)
{
    for (size_t at = 1; at < text->len; at++) {
        char c = text->ptr[at];
        if (c == '"') {
            *text = str_slice(*text, at + 1, text->len);
            return true;
        }
        if (c == '\\') at++;
        else if ((unsigned char)c < 0x20 || c == 0x7f) return false;
    }
    return false;
}

/* local@domain, the local part perhaps in quotes, the domain perhaps an address in brackets. */
static bool take_address(Str *text)
{
    bool is_quoted = text->len && text->ptr[0] == '"';
    if (is_quoted ? !take_quoted(text) : !take_dot_atom(text)) return false;
    if (!take_char(text, '@')) return false;
    if (!take_char(text, '[')) return take_dot_atom(text);
    size_t close = str_find(*text, ']', 0);
    Ip ip;
    Str address = str_slice(*text, 0, close);
    if (str_starts(address, STR("IPv6:"))) address = str_slice(address, 5, address.len);
    *text = str_slice(*text, close + 1, text->len);
    return close > 0 && ip_read(address, &ip);
}

/* An address alone, or in angle brackets behind the name of its owner (RFC 5322). */
static bool is_email(Str text)
{
    Str rest = str_trim(text), address = rest;
    if (take_address(&address) && str_trim(address).len == 0) return true;
    for (;;) {
        rest = str_trim(rest);
        if (rest.len == 0) return false;
        if (take_char(&rest, '<')) break;
        if (rest.ptr[0] == '"' ? !take_quoted(&rest) : !take_dot_atom(&rest)) return false;
    }
    return take_address(&rest) && take_char(&rest, '>') && str_trim(rest).len == 0;
}

/* --- identifiers -------------------------------------------------------------------------------------------------- */

static bool is_uuid(Str text)
{
    if (text.len != 36) return false;
    for (size_t i = 0; i < text.len; i++) {
        bool is_hyphen = i == 8 || i == 13 || i == 18 || i == 23;
        if (is_hyphen ? text.ptr[i] != '-' : hex_value(text.ptr[i]) < 0) return false;
    }
    return true;
}

static bool is_json_pointer(Str text)
{
    if (text.len && text.ptr[0] != '/') return false;
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] == '~' && (i + 1 == text.len || (text.ptr[i + 1] != '0' && text.ptr[i + 1] != '1'))) return false;
    return true;
}

static bool is_relative_json_pointer(Str text)
{
    size_t digits = 0;
    while (digits < text.len && ascii_is_digit(text.ptr[digits])) digits++;
    if (digits == 0 || (digits > 1 && text.ptr[0] == '0')) return false;
    Str rest = str_slice(text, digits, text.len);
    return str_is(rest, STR("#")) || is_json_pointer(rest);
}

/* Braces come in pairs and do not nest. */
static bool is_template_path(Str path)
{
    bool inside = false;
    for (size_t i = 0; i < path.len; i++) {
        if (path.ptr[i] == '{' && !inside) inside = true;
        else if (path.ptr[i] == '}' && inside) inside = false;
    }
    return !inside;
}

/* --- by name ------------------------------------------------------------------------------------------------------ */

typedef enum UriNeed { URI_NONE, URI_ANY, URI_SCHEME, URI_TEMPLATE } UriNeed;

static BuiltinResult uri_check(BuiltinContext *context, UriNeed need, Str text, bool *out_matches, Error *err)
{
    Value parts, operand = value_string(text);
    *out_matches = false;
    if (str_find(text, '\\', 0) < text.len) return BUILTIN_OK;
    BuiltinResult result = builtin_uri_parse(context, &operand, &parts, err);
    if (result == BUILTIN_HALT) return result;
    if (result != BUILTIN_OK) return BUILTIN_OK;
    *out_matches = need == URI_SCHEME     ? value_get_text(parts, "scheme") != NULL
                 : need == URI_TEMPLATE   ? is_template_path(value_get_string(parts, "path", STR("")))
                                          : true;
    return BUILTIN_OK;
}

/* Read into memory of its own: the schema under way may lie in the cache, which must not be asked for room meanwhile. */
static BuiltinResult regex_format(BuiltinContext *context, Str text, bool *out_matches, Error *err)
{
    Arena scratch;
    if (!builtin_spend(context, text.len / 8, err)) return BUILTIN_HALT;
    arena_init(&scratch, SIZE_MAX);
    BuiltinResult result = builtin_result(regex_check(&scratch, text, err));
    arena_deinit(&scratch);
    *out_matches = result == BUILTIN_OK;
    return result == BUILTIN_HALT ? result : BUILTIN_OK;
}

BuiltinResult draft_format_check(BuiltinContext *context, Str format, Str text, bool *out_matches, Error *err)
{
    static const struct { const char *name; bool (*check)(Str text); UriNeed uri; } formats[] = {
        { "date", is_date, URI_NONE },
        { "date-time", is_date_time, URI_NONE },
        { "email", is_email, URI_NONE },
        { "hostname", is_hostname, URI_NONE },
        { "idn-email", is_email, URI_NONE },
        { "ipv4", is_ipv4, URI_NONE },
        { "ipv6", is_ipv6, URI_NONE },
        { "iri", NULL, URI_SCHEME },
        { "iri-reference", NULL, URI_ANY },
        { "json-pointer", is_json_pointer, URI_NONE },
        { "relative-json-pointer", is_relative_json_pointer, URI_NONE },
        { "time", is_time, URI_NONE },
        { "uri", NULL, URI_SCHEME },
        { "uri-reference", NULL, URI_ANY },
        { "uri-template", NULL, URI_TEMPLATE },
        { "uuid", is_uuid, URI_NONE },
    };
    *out_matches = true;
    if (!builtin_spend(context, text.len / 64, err)) return BUILTIN_HALT;
    if (str_is(format, STR("regex"))) return regex_format(context, text, out_matches, err);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (!str_is_text(format, formats[i].name)) continue;
        if (!formats[i].check) return uri_check(context, formats[i].uri, text, out_matches, err);
        *out_matches = formats[i].check(text);
    }
    return BUILTIN_OK;
}
