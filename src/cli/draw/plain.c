#include "cli/draw/plain.h"

#include "base/utf8.h"

/* C0, DEL and C1; marks of direction and isolation; separators that end a line; the byte order mark and what is no character. */
static const struct { uint32_t first, last; } hidden[] = {
    { 0x00, 0x1f },     { 0x7f, 0x9f },     { 0x061c, 0x061c }, { 0x200e, 0x200f },
    { 0x2028, 0x202e }, { 0x2066, 0x2069 }, { 0xfeff, 0xfeff }, { 0xfffe, 0xffff },
};

bool plain_is_shown(uint32_t point)
{
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (point >= hidden[i].first && point <= hidden[i].last) return false;
    return true;
}

static bool is_ascii_shown(char c, PlainKind kind)
{
    return (c >= ' ' && c <= '~') || (kind == PLAIN_LINES && (c == '\n' || c == '\t'));
}

/* How many bytes from here on stand for themselves. */
static size_t shown_size(Str text, size_t from, PlainKind kind)
{
    size_t at = from;
    while (at < text.len) {
        uint32_t point;
        size_t size = 1;
        if (!is_ascii_shown(text.ptr[at], kind)) {
            size = utf8_decode(str_slice(text, at, text.len), &point);
            if (size == 0 || !plain_is_shown(point)) break;
        }
        at += size;
    }
    return at - from;
}

/* Of the one character, or byte, that does not; returns its size. */
static size_t put_escape(Buf *out, Str text, PlainKind kind)
{
    uint32_t point;
    size_t size = utf8_decode(text, &point);
    if (kind == PLAIN_JOINED && size && (point == '\n' || point == '\t')) {
        buf_char(out, ' ');
        return size;
    }
    if (size == 0) {
        buf_format(out, "\\x%02x", (unsigned)(uint8_t)text.ptr[0]);
        return 1;
    }
    if (point == '\n') buf_text(out, "\\n");
    else if (point == '\r') buf_text(out, "\\r");
    else if (point == '\t') buf_text(out, "\\t");
    else buf_format(out, "\\u%04x", (unsigned)point);
    return size;
}

void plain_put(Buf *out, Str text, PlainKind kind)
{
    for (size_t at = 0; at < text.len;) {
        size_t size = shown_size(text, at, kind);
        buf_bytes(out, text.ptr + at, size);
        at += size;
        if (at < text.len) at += put_escape(out, str_slice(text, at, text.len), kind);
    }
}

Str plain_text(Arena *arena, Str text, PlainKind kind)
{
    if (shown_size(text, 0, kind) == text.len) return text;
    Buf out;
    buf_init(&out, SIZE_MAX);
    plain_put(&out, text, kind);
    Str copy = arena_copy(arena, buf_peek(&out));
    buf_deinit(&out);
    return copy;
}
