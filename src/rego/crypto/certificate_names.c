/* The names a certificate is good for: host names, mail addresses, IP addresses and URIs. */
#include <stdio.h>
#include <string.h>

#include "rego/crypto/certificate_parts.h"
#include "rego/crypto/der.h"

bool domain_is_valid(Str name, bool is_constraint)
{
    if (name.len == 0) return true;
    if (name.ptr[name.len - 1] == '.') return false;
    if (is_constraint && name.ptr[0] == '.') name = str_slice(name, 1, name.len);
    size_t label = 0;
    for (size_t i = 0; i <= name.len; i++) {
        bool at_end = i == name.len;
        if (!at_end && (name.ptr[i] < 33 || name.ptr[i] > 126)) return false;
        if (!at_end && name.ptr[i] != '.') {
            label++;
            continue;
        }
        if (label == 0) return false;
        label = 0;
    }
    return true;
}

static bool is_ia5(Str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] >= 0x80) return false;
    return true;
}

/* --- addresses ---------------------------------------------------------------------------------------------------- */

/* Where the longest run of at least two zero groups begins, 8 where there is none. */
static size_t longest_zeros(const uint16_t groups[8], size_t *out_count)
{
    size_t best = 8;
    *out_count = 1;
    for (size_t i = 0; i < 8; i++) {
        size_t count = 0;
        while (i + count < 8 && groups[i + count] == 0) count++;
        if (count > *out_count) {
            best = i;
            *out_count = count;
        }
    }
    return best;
}

/* Four or sixteen bytes. */
Value address_value(Arena *arena, Str bytes)
{
    const uint8_t *b = (const uint8_t *)bytes.ptr;
    static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
    if (bytes.len == 16 && memcmp(b, mapped, sizeof mapped) == 0) {
        b += 12;
        bytes.len = 4;
    }
    if (bytes.len == 4) return value_string(arena_format(arena, "%u.%u.%u.%u", b[0], b[1], b[2], b[3]));
    uint16_t groups[8];
    for (size_t i = 0; i < 8; i++) groups[i] = (uint16_t)(b[2 * i] << 8 | b[2 * i + 1]);
    size_t zero_count, zero_at = longest_zeros(groups, &zero_count);
    char text[48];
    Buf buf = buf_on(text, sizeof text);
    for (size_t i = 0; i < 8; i++) {
        if (i == zero_at) {
            buf_text(&buf, "::");
            i += zero_count - 1;
            continue;
        }
        if (i > 0 && i != zero_at + zero_count) buf_char(&buf, ':');
        buf_format(&buf, "%x", groups[i]);
    }
    return value_string(arena_copy(arena, buf_peek(&buf)));
}

/* --- alternative names -------------------------------------------------------------------------------------------- */

typedef struct NameSource {
    Arena *arena;
    ValueList dns, emails, addresses, uris, uri_strings;
} NameSource;

static Status email_add(NameSource *source, Str text, Error *err)
{
    if (!is_ia5(text)) return error_set(err, ERR_INVALID, "x509: SAN rfc822Name is malformed");
    value_list_add(&source->emails, value_string(text));
    return OK;
}

static Status dns_add(NameSource *source, Str text, Error *err)
{
    if (!is_ia5(text)) return error_set(err, ERR_INVALID, "x509: SAN dNSName is malformed");
    value_list_add(&source->dns, value_string(text));
    return OK;
}

static bool uri_value(Arena *arena, Str text, Value *out_value);

static Status uri_add(NameSource *source, Str text, Error *err)
{
    if (!is_ia5(text)) return error_set(err, ERR_INVALID, "x509: SAN uniformResourceIdentifier is malformed");
    Value uri;
    if (!uri_value(source->arena, text, &uri))
        return error_set(err, ERR_INVALID, "x509: cannot parse URI \"%.*s\"", STR_ARG(text));
    if (!domain_is_valid(value_get_string(uri, "Host", STR("")), false))
        return error_set(err, ERR_INVALID, "x509: cannot parse URI \"%.*s\": invalid domain", STR_ARG(text));
    value_list_add(&source->uris, uri);
    value_list_add(&source->uri_strings, value_string(text));
    return OK;
}

static Status address_add(NameSource *source, Str bytes, Error *err)
{
    if (bytes.len != 4 && bytes.len != 16)
        return error_set(err, ERR_INVALID, "x509: cannot parse IP address of length %zu", bytes.len);
    value_list_add(&source->addresses, address_value(source->arena, bytes));
    return OK;
}

static Value list_or_null(const ValueList *list)
{
    return list->count ? value_list_array(list) : value_null();
}

Status alt_names_read(Arena *arena, Str der, AltNames *out_names, Error *err)
{
    static Status (*const adders[])(NameSource *source, Str content, Error *err) = {
        [1] = email_add, [2] = dns_add, [6] = uri_add, [7] = address_add,
    };
    NameSource source = { .arena = arena, .dns = { .arena = arena }, .emails = { .arena = arena },
                          .addresses = { .arena = arena }, .uris = { .arena = arena }, .uri_strings = { .arena = arena } };
    if (!der_take(&der, DER_SEQUENCE, &der))
        return error_set(err, ERR_INVALID, "x509: invalid subject alternative names");
    while (der.len > 0) {
        uint8_t tag;
        Str content;
        if (!der_take_any(&der, &tag, &content, NULL))
            return error_set(err, ERR_INVALID, "x509: invalid subject alternative name");
        uint8_t kind = tag ^ 0x80;
        if (kind >= sizeof adders / sizeof adders[0] || !adders[kind]) continue;
        Status status = adders[kind](&source, content, err);
        if (status) return status;
    }
    *out_names = (AltNames){
        .dns = list_or_null(&source.dns),
        .emails = list_or_null(&source.emails),
        .addresses = list_or_null(&source.addresses),
        .uris = list_or_null(&source.uris),
        .uri_strings = list_or_null(&source.uri_strings),
        .any = source.dns.count || source.emails.count || source.addresses.count || source.uris.count,
    };
    return OK;
}

/* --- URIs --------------------------------------------------------------------------------------------------------- */

static int hex_of(char c)
{
    if (ascii_is_digit(c)) return c - '0';
    c = ascii_to_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* With %XX replaced; false where a percent sign is followed by something else. */
static bool percent_decode(Arena *arena, Str text, Str *out_text)
{
    char *decoded = arena_bytes(arena, text.len + 1);
    size_t size = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '%') {
            decoded[size++] = text.ptr[i];
            continue;
        }
        if (i + 2 >= text.len || hex_of(text.ptr[i + 1]) < 0 || hex_of(text.ptr[i + 2]) < 0) return false;
        decoded[size++] = (char)(hex_of(text.ptr[i + 1]) << 4 | hex_of(text.ptr[i + 2]));
        i += 2;
    }
    *out_text = (Str){ decoded, size };
    return true;
}

/* Whether encoding the decoded text in the usual way gives `raw` again, so that `raw` need not be kept. */
static bool is_usual_form(Str raw, Str decoded, const char *plain)
{
    size_t at = 0;
    for (size_t i = 0; i < decoded.len; i++) {
        char c = decoded.ptr[i];
        if (ascii_is_alnum(c) || (c && strchr(plain, c))) {
            if (at >= raw.len || raw.ptr[at++] != c) return false;
            continue;
        }
        char escape[4];
        snprintf(escape, sizeof escape, "%%%02X", (unsigned char)c);
        if (!str_starts(str_slice(raw, at, raw.len), (Str){ escape, 3 })) return false;
        at += 3;
    }
    return at == raw.len;
}

/* Letters, digits, plus, minus and dot before the first colon, a letter first. */
static size_t scheme_size(Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == ':') return i;
        if (!ascii_is_alpha(c) && (i == 0 || (!ascii_is_digit(c) && c != '+' && c != '-' && c != '.'))) return 0;
    }
    return 0;
}

static bool host_is_valid(Str host)
{
    for (size_t i = 0; i < host.len; i++)
        if (!ascii_is_alnum(host.ptr[i]) && !(host.ptr[i] && strchr("-_.~!$&'()*+,;=:[]<>\"", host.ptr[i]))) return false;
    size_t colon = host.len;
    while (colon > 0 && ascii_is_digit(host.ptr[colon - 1])) colon--;
    size_t first = str_find(host, ':', 0);
    bool bracketed = host.len && host.ptr[0] == '[';
    if (bracketed) return str_find(host, ']', 0) < host.len;
    return first == host.len || first + 1 == colon;             /* one colon, and digits behind it */
}

typedef struct UriParts {
    Str scheme, opaque, host, path, raw_path, query, fragment, raw_fragment;
    bool has_user, force_query, omit_host;
} UriParts;

static bool authority_split(Str *rest, UriParts *parts)
{
    *rest = str_slice(*rest, 2, rest->len);
    size_t end = str_find(*rest, '/', 0);
    Str authority = str_slice(*rest, 0, end);
    *rest = str_slice(*rest, end, rest->len);
    for (size_t i = authority.len; i-- > 0;) {
        if (authority.ptr[i] != '@') continue;
        parts->has_user = true;
        authority = str_slice(authority, i + 1, authority.len);
        break;
    }
    parts->host = authority;
    return host_is_valid(authority);
}

static bool fragment_split(Arena *arena, Str *text, UriParts *parts)
{
    size_t hash = str_find(*text, '#', 0);
    Str raw = str_slice(*text, hash + 1, text->len);
    *text = str_slice(*text, 0, hash);
    if (!percent_decode(arena, raw, &parts->fragment)) return false;
    if (!is_usual_form(raw, parts->fragment, "-_.~$&+,/:;=?@!()*")) parts->raw_fragment = raw;
    return true;
}

static bool uri_split(Arena *arena, Str text, UriParts *parts)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] < ' ' || text.ptr[i] == 0x7f) return false;
    if (!fragment_split(arena, &text, parts)) return false;
    size_t size = scheme_size(text);
    if (text.len && text.ptr[0] == ':') return false;
    if (size) {
        char *lower = arena_bytes(arena, size);
        for (size_t i = 0; i < size; i++) lower[i] = ascii_to_lower(text.ptr[i]);
        parts->scheme = (Str){ lower, size };
        text = str_slice(text, size + 1, text.len);
    }
    size_t question = str_find(text, '?', 0);
    parts->force_query = question + 1 == text.len;
    parts->query = str_slice(text, question + 1, text.len);
    text = str_slice(text, 0, question);
    bool rooted = text.len && text.ptr[0] == '/';
    if (!rooted && size) {
        parts->opaque = text;
        return true;
    }
    if (!rooted) {          /* a first segment with a colon would look like a scheme */
        size_t colon = str_find(text, ':', 0);
        if (colon < text.len && colon < str_find(text, '/', 0)) return false;
    }
    if ((size || !str_starts(text, STR("///"))) && str_starts(text, STR("//"))) {
        if (!authority_split(&text, parts)) return false;
    } else if (size && rooted) {
        parts->omit_host = true;
    }
    if (!percent_decode(arena, text, &parts->path)) return false;
    if (!is_usual_form(text, parts->path, "-_.~$&+,/:;=@")) parts->raw_path = text;
    return true;
}

/* The URI as Go's encoding of url.URL shows it; false where it cannot be read. */
static bool uri_value(Arena *arena, Str text, Value *out_value)
{
    UriParts parts = { 0 };
    if (!uri_split(arena, text, &parts)) return false;
    const struct { const char *name; Str text; } texts[] = {
        { "Scheme", parts.scheme }, { "Opaque", parts.opaque },   { "Host", parts.host },
        { "Path", parts.path },     { "RawPath", parts.raw_path }, { "RawQuery", parts.query },
        { "Fragment", parts.fragment }, { "RawFragment", parts.raw_fragment },
    };
    MemberList members = { .arena = arena };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        member_list_add(&members, str_of(texts[i].name), text_value(arena, texts[i].text));
    member_list_add(&members, STR("User"), parts.has_user ? value_object(arena, NULL, 0) : value_null());
    member_list_add(&members, STR("ForceQuery"), value_bool(parts.force_query));
    member_list_add(&members, STR("OmitHost"), value_bool(parts.omit_host));
    *out_value = member_list_object(&members);
    return true;
}
