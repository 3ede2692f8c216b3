#include "value/uri.h"

#include "base/limits.h"

/* A part that is absent is not one that is empty: "a?" has a query, "a" has none. */
typedef struct Part {
    bool present;
    Str text;
} Part;

typedef struct Uri {
    Part scheme, authority, query, fragment;
    Str path;
} Uri;

static bool is_scheme(Str text)
{
    if (text.len == 0 || !ascii_is_alpha(text.ptr[0])) return false;
    for (size_t i = 1; i < text.len; i++) {
        char c = text.ptr[i];
        if (!ascii_is_alnum(c) && c != '+' && c != '-' && c != '.') return false;
    }
    return true;
}

bool uri_cut_fragment(Str uri, Str *out_rest, Str *out_fragment)
{
    size_t at = str_find(uri, '#', 0);
    *out_rest = str_slice(uri, 0, at);
    *out_fragment = str_slice(uri, at + 1, uri.len);
    return at < uri.len;
}

static Uri uri_cut(Str text)
{
    Uri uri = { 0 };
    uri.fragment.present = uri_cut_fragment(text, &text, &uri.fragment.text);
    size_t query_at = str_find(text, '?', 0);
    if (query_at < text.len) uri.query = (Part){ true, str_slice(text, query_at + 1, text.len) };
    text = str_slice(text, 0, query_at);
    size_t colon = str_find(text, ':', 0);
    if (colon < text.len && is_scheme(str_slice(text, 0, colon))) {
        uri.scheme = (Part){ true, str_slice(text, 0, colon) };
        text = str_slice(text, colon + 1, text.len);
    }
    if (str_starts(text, STR("//"))) {
        size_t end = str_find(text, '/', 2);
        uri.authority = (Part){ true, str_slice(text, 2, end) };
        text = str_slice(text, end, text.len);
    }
    uri.path = text;
    return uri;
}

/* Takes the last segment, and the slash before it, off what was written since `begin`. */
static void segment_drop(Buf *buf, size_t begin)
{
    while (buf->len > begin && buf->ptr[buf->len - 1] != '/') buf->len--;
    if (buf->len > begin) buf->len--;
}

/* Writes the path without its "." and ".." segments; those above the root vanish. */
static void path_write(Buf *buf, Str path)
{
    size_t begin = buf->len;
    bool is_rooted = path.len && path.ptr[0] == '/';
    bool is_first = true;
    for (size_t at = is_rooted ? 1 : 0;;) {
        size_t end = str_find(path, '/', at);
        Str segment = str_slice(path, at, end);
        bool is_last = end == path.len;
        bool is_up = str_is(segment, STR("..")), is_dot = is_up || str_is(segment, STR("."));
        if (is_up) {
            segment_drop(buf, begin);
            is_first = buf->len == begin;
        }
        if (!is_dot || is_last) {
            if (is_rooted || !is_first) buf_char(buf, '/');
            if (!is_dot) buf_str(buf, segment);
            is_first = false;
        }
        if (is_last) return;
        at = end + 1;
    }
}

static void part_write(Buf *buf, const char *before, Part part, const char *behind)
{
    if (!part.present) return;
    buf_text(buf, before);
    buf_str(buf, part.text);
    buf_text(buf, behind);
}

/* A relative path takes the place of the base's last segment. */
static void path_merge(Buf *buf, const Uri *base, Str path)
{
    char storage[2 * SCHEMA_REF_SIZE_MAX + 1];
    Buf merged = buf_on(storage, sizeof storage);
    size_t keep = base->path.len;
    while (keep && base->path.ptr[keep - 1] != '/') keep--;
    if (base->authority.present && base->path.len == 0) buf_char(&merged, '/');
    buf_str(&merged, str_slice(base->path, 0, keep));
    buf_str(&merged, path);
    buf->overflowed |= merged.overflowed;
    path_write(buf, buf_peek(&merged));
}

void uri_resolve(Buf *buf, Str base_text, Str reference_text)
{
    Uri base = uri_cut(base_text), reference = uri_cut(reference_text);
    bool is_absolute = reference.scheme.present;
    bool has_authority = is_absolute || reference.authority.present;
    bool has_path = has_authority || reference.path.len;

    part_write(buf, "", is_absolute ? reference.scheme : base.scheme, ":");
    part_write(buf, "//", has_authority ? reference.authority : base.authority, "");
    if (!has_path) buf_str(buf, base.path);
    else if (has_authority || str_starts(reference.path, STR("/"))) path_write(buf, reference.path);
    else path_merge(buf, &base, reference.path);
    part_write(buf, "?", has_path || reference.query.present ? reference.query : base.query, "");
    part_write(buf, "#", reference.fragment, "");
}

static int hex_digit(char c)
{
    c = ascii_to_lower(c);
    if (ascii_is_digit(c)) return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool uri_decode(Buf *buf, Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '%') {
            buf_char(buf, text.ptr[i]);
            continue;
        }
        int high = i + 2 < text.len ? hex_digit(text.ptr[i + 1]) : -1;
        int low = i + 2 < text.len ? hex_digit(text.ptr[i + 2]) : -1;
        if (high < 0 || low < 0) return false;
        buf_char(buf, (char)(high << 4 | low));
        i += 2;
    }
    return true;
}
