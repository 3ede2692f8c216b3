#include "base/utf8.h"

#include <string.h>

/* The size of the well-formed sequence that begins with a byte above 0x7f, or 0. Only the second byte has bounds that
 * depend on the first: they exclude overlong forms, surrogates and what lies above U+10FFFF. */
static inline size_t sequence_size(const unsigned char *s, size_t left)
{
    unsigned char lead = s[0];
    if (lead < 0xc2 || lead > 0xf4) return 0;
    size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (left < size) return 0;
    unsigned char least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    unsigned char most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (s[1] < least || s[1] > most) return 0;
    if (size > 2 && (s[2] & 0xc0) != 0x80) return 0;
    if (size > 3 && (s[3] & 0xc0) != 0x80) return 0;
    return size;
}

size_t utf8_decode(Str text, uint32_t *out_point)
{
    if (text.len == 0) return 0;
    const unsigned char *s = (const unsigned char *)text.ptr;
    if (s[0] < 0x80) {
        *out_point = s[0];
        return 1;
    }
    size_t size = sequence_size(s, text.len);
    if (size == 0) return 0;
    uint32_t point = s[0] & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) point = point << 6 | (s[i] & 0x3fu);
    *out_point = point;
    return size;
}

size_t utf8_encode(uint32_t point, char out[4])
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        out[0] = (char)(0xc0 | point >> 6);
        out[1] = (char)(0x80 | (point & 0x3f));
        return 2;
    }
    if (point < 0x10000) {
        out[0] = (char)(0xe0 | point >> 12);
        out[1] = (char)(0x80 | (point >> 6 & 0x3f));
        out[2] = (char)(0x80 | (point & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | point >> 18);
    out[1] = (char)(0x80 | (point >> 12 & 0x3f));
    out[2] = (char)(0x80 | (point >> 6 & 0x3f));
    out[3] = (char)(0x80 | (point & 0x3f));
    return 4;
}

size_t utf8_valid_size(Str text)
{
    const unsigned char *s = (const unsigned char *)text.ptr;
    size_t at = 0;
    while (at < text.len) {
        uint64_t eight;
        while (text.len - at >= sizeof eight) {         /* most text is ASCII: eight bytes at a time */
            memcpy(&eight, s + at, sizeof eight);
            if (eight & UINT64_C(0x8080808080808080)) break;
            at += sizeof eight;
        }
        while (at < text.len && s[at] < 0x80) at++;
        while (at < text.len && s[at] >= 0x80) {        /* and other scripts come in runs */
            size_t size = sequence_size(s + at, text.len - at);
            if (size == 0) return at;
            at += size;
        }
    }
    return at;
}

Str utf8_head(Str text, size_t size_max)
{
    if (text.len <= size_max) return text;
    while (size_max && ((unsigned char)text.ptr[size_max] & 0xc0) == 0x80) size_max--;
    return str_slice(text, 0, size_max);
}

size_t utf8_count(Str text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++) count += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
    return count;
}

/* The ranges that terminals draw two columns wide, and those that take none. Coarse on purpose: blocks, not tables of
 * single characters; what falls between is one column, as for most scripts. */
static const struct { uint32_t first, last; unsigned char width; } widths[] = {
    { 0x0300, 0x036f, 0 },  { 0x1100, 0x115f, 2 },   { 0x200b, 0x200f, 0 },   { 0x20d0, 0x20ff, 0 },
    { 0x2e80, 0x303e, 2 },  { 0x3041, 0x33ff, 2 },   { 0x3400, 0x4dbf, 2 },   { 0x4e00, 0x9fff, 2 },
    { 0xa000, 0xa4cf, 2 },  { 0xac00, 0xd7a3, 2 },   { 0xf900, 0xfaff, 2 },   { 0xfe00, 0xfe0f, 0 },
    { 0xfe20, 0xfe2f, 0 },  { 0xfe30, 0xfe4f, 2 },   { 0xff00, 0xff60, 2 },   { 0xffe0, 0xffe6, 2 },
    { 0x1f300, 0x1f64f, 2 }, { 0x1f680, 0x1f6ff, 2 }, { 0x1f900, 0x1f9ff, 2 }, { 0x20000, 0x3fffd, 2 },
};

size_t utf8_width(Str text)
{
    size_t width = 0;
    for (size_t at = 0; at < text.len;) {
        uint32_t point = 0;
        size_t size = utf8_decode(str_slice(text, at, text.len), &point);
        if (size == 0) size = 1;
        at += size;
        unsigned char columns = 1;
        for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
            if (point >= widths[i].first && point <= widths[i].last) columns = widths[i].width;
        width += columns;
    }
    return width;
}
