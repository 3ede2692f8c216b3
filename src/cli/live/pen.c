#include "cli/live/pen.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"
#include "cli/draw/label.h"

#define FORMAT_SIZE 1024

static const char *const codes[TINT_COUNT] = {
    [TINT_STRONG] = "\033[1m", [TINT_FAINT] = "\033[2m",  [TINT_GOOD] = "\033[32m",
    [TINT_BAD] = "\033[31m",   [TINT_WARN] = "\033[33m",  [TINT_ACTIVE] = "\033[36m",
};

/* The bytes that fit: all of them, or as many as leave room for an ellipsis, with *out_is_cut set. */
static size_t fitting_size(Str text, size_t room, size_t tail, size_t *out_width, bool *out_is_cut)
{
    size_t used = 0, cut = 0, cut_width = 0;
    *out_is_cut = false;
    for (size_t at = 0; at < text.len;) {
        uint32_t point;
        size_t size = utf8_decode(str_slice(text, at, text.len), &point);
        if (size == 0) size = 1;
        used += utf8_width(str_slice(text, at, at + size));
        at += size;
        if (used + tail <= room) {
            cut = at;
            cut_width = used;
        }
        if (used > room) {
            *out_is_cut = true;
            *out_width = cut_width;
            return cut;
        }
    }
    *out_width = used;
    return text.len;
}

void pen_cut(Pen *pen, Tint tint, Str text, uint32_t width)
{
    uint32_t room = pen->width > pen->used ? pen->width - pen->used : 0;
    if (width < room) room = width;
    if (text.len == 0 || room == 0) return;
    Str ellipsis = label_signs(pen->style.ascii)->ellipsis;
    size_t tail = utf8_width(ellipsis), written;
    bool is_cut;
    size_t size = fitting_size(text, room, tail, &written, &is_cut);
    bool is_tinted = pen->style.color && codes[tint];
    if (is_tinted) buf_text(pen->out, codes[tint]);
    buf_str(pen->out, str_slice(text, 0, size));
    if (is_cut && tail <= room) {
        buf_str(pen->out, ellipsis);
        written += tail;
    }
    if (is_tinted) buf_text(pen->out, "\033[0m");
    pen->used += (uint32_t)written;
}

void pen_text(Pen *pen, Tint tint, Str text) { pen_cut(pen, tint, text, UINT32_MAX); }
void pen_put(Pen *pen, Tint tint, const char *text) { pen_cut(pen, tint, str_of(text), UINT32_MAX); }

void pen_format(Pen *pen, Tint tint, const char *format, ...)
{
    char storage[FORMAT_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(storage, sizeof storage, format, args);
    va_end(args);
    pen_put(pen, tint, storage);
}

void pen_pad(Pen *pen, uint32_t column)
{
    if (column > pen->width) column = pen->width;
    if (column <= pen->used) return;
    buf_repeat(pen->out, ' ', column - pen->used);
    pen->used = column;
}

void pen_end(Pen *pen)
{
    while (pen->out->len && pen->out->ptr[pen->out->len - 1] == ' ') pen->out->len--;
    buf_char(pen->out, '\n');
    pen->used = 0;
}

/* --- foreign text -------------------------------------------------------------------------------------------------------- */

#define ESCAPE '\033'
#define BELL '\007'

/* The size of the escape sequence that begins here; what is not whole goes to the end of the text. */
static size_t escape_size(Str text)
{
    if (text.len < 2) return text.len;
    size_t at = 2;
    char kind = text.ptr[1];
    if (kind == '[') {                                          /* up to a final byte */
        while (at < text.len && (text.ptr[at] < '@' || text.ptr[at] > '~')) at++;
        return at < text.len ? at + 1 : at;
    }
    if (kind == ']' || kind == 'P' || kind == '_' || kind == '^' || kind == 'X') {      /* a string, up to its terminator */
        for (; at < text.len; at++) {
            if (text.ptr[at] == BELL) return at + 1;
            if (text.ptr[at] == ESCAPE && at + 1 < text.len && text.ptr[at + 1] == '\\') return at + 2;
        }
        return at;
    }
    while (at < text.len && text.ptr[at - 1] >= ' ' && text.ptr[at - 1] <= '/') at++;   /* intermediate bytes, a final one */
    return at;
}

/* What is to be seen of a line that was written over: the last piece between carriage returns that is not empty. */
static Str last_state(Str text)
{
    while (text.len && text.ptr[text.len - 1] == '\r') text.len--;
    for (size_t i = text.len; i > 0; i--)
        if (text.ptr[i - 1] == '\r') return str_slice(text, i, text.len);
    return text;
}

Str text_clean(Arena *arena, Str text, bool ascii)
{
    text = last_state(text);
    if (str_find(text, ESCAPE, 0) == text.len) return label_clean(arena, text, ascii);
    char *bytes = arena_bytes(arena, text.len);
    size_t size = 0;
    for (size_t at = 0; at < text.len;) {
        if (text.ptr[at] == ESCAPE) at += escape_size(str_slice(text, at, text.len));
        else bytes[size++] = text.ptr[at++];
    }
    return label_clean(arena, (Str){ bytes, size }, ascii);
}

void duration_going(Buf *buf, int64_t ms)
{
    int64_t seconds = ms > 0 ? ms / 1000 : 0;
    if (seconds < 60) buf_format(buf, "%ds", (int)seconds);
    else if (seconds < 3600) buf_format(buf, "%dm%02ds", (int)(seconds / 60), (int)(seconds % 60));
    else if (seconds < 86400) buf_format(buf, "%dh%02dm", (int)(seconds / 3600), (int)(seconds / 60 % 60));
    else buf_format(buf, "%lldd%02dh", (long long)(seconds / 86400), (int)(seconds / 3600 % 24));
}
