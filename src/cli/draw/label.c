#include "cli/draw/label.h"

#include "base/utf8.h"
#include "cli/draw/plain.h"

static const LabelSigns unicode_signs = {
    STR_INIT("…"), STR_INIT("→"), STR_INIT("←"), STR_INIT("≤"), STR_INIT("×"), STR_INIT("↺"), STR_INIT("•"),
    STR_INIT("◇"),
};
static const LabelSigns ascii_signs = {
    STR_INIT("..."), STR_INIT("->"), STR_INIT("<-"), STR_INIT("max "), STR_INIT("x"), STR_INIT("loop"), STR_INIT("*"),
    STR_INIT("<>"),
};

const LabelSigns *label_signs(bool ascii) { return ascii ? &ascii_signs : &unicode_signs; }

#define REPLACEMENT 0xfffdu

/* What moves to another place or line becomes a space, what is obeyed otherwise a sign. */
static uint32_t safe_point(uint32_t point, bool ascii)
{
    bool is_space = (point >= '\t' && point <= '\r') || point == 0x85 || point == 0x2028 || point == 0x2029;
    if (!plain_is_shown(point)) point = is_space ? ' ' : REPLACEMENT;
    return ascii && point > 0x7e ? '?' : point;
}

static bool is_plain(Str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] < ' ' || text.ptr[i] > '~') return false;
    return true;
}

Str label_clean(Arena *arena, Str name, bool ascii)
{
    if (is_plain(name)) return name;
    char *clean = arena_alloc(arena, name.len * 3);         /* a bad byte becomes three at most */
    size_t size = 0;
    for (size_t at = 0; at < name.len;) {
        uint32_t point = REPLACEMENT;
        size_t step = utf8_decode(str_slice(name, at, name.len), &point);
        if (step == 0) {
            point = REPLACEMENT;
            step = 1;
        }
        size += utf8_encode(safe_point(point, ascii), clean + size);
        at += step;
    }
    return (Str){ clean, size };
}

Str label_cut(Arena *arena, Str label, uint32_t width, bool ascii)
{
    Str ellipsis = label_signs(ascii)->ellipsis;
    size_t room = width, tail = utf8_width(ellipsis), used = 0, cut = 0;
    for (size_t at = 0; at < label.len;) {
        uint32_t point;
        size_t step = utf8_decode(str_slice(label, at, label.len), &point);
        if (step == 0) step = 1;
        used += utf8_width(str_slice(label, at, at + step));
        at += step;
        if (used + tail <= room) cut = at;
        if (used > room) return arena_format(arena, "%.*s%.*s", (int)cut, label.ptr, STR_ARG(ellipsis));
    }
    return label;
}

void label_count(Buf *buf, uint64_t count)
{
    if (count >= 1000) {
        label_count(buf, count / 1000);
        buf_format(buf, ",%03u", (unsigned)(count % 1000));
    } else {
        buf_u64(buf, count);
    }
}

Str label_more(Arena *arena, uint64_t count, bool ascii)
{
    char storage[64];
    Buf buf = buf_on(storage, sizeof storage);
    buf_str(&buf, label_signs(ascii)->ellipsis);
    buf_char(&buf, ' ');
    label_count(&buf, count);
    buf_text(&buf, " more");
    return arena_copy(arena, buf_peek(&buf));
}
