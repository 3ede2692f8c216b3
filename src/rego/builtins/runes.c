#include "rego/builtins/runes.h"

#include <string.h>

#include "base/utf8.h"

/* --- reading ----------------------------------------------------------------------------------------------------- */

uint32_t rune_first(Str text, size_t *out_size)
{
    unsigned char byte = (unsigned char)text.ptr[0];
    *out_size = 1;
    if (byte < 0x80) return byte;
    uint32_t point;
    size_t size = utf8_decode(text, &point);
    if (size == 0) return RUNE_INVALID;
    *out_size = size;
    return point;
}

uint32_t rune_last(Str text, size_t *out_size)
{
    for (size_t size = 1; size <= 4 && size <= text.len; size++) {
        size_t got;
        uint32_t rune = rune_first(str_slice(text, text.len - size, text.len), &got);
        bool is_valid = rune != RUNE_INVALID || got > 1;
        if (got == size && is_valid) {
            *out_size = size;
            return rune;
        }
    }
    *out_size = 1;
    return RUNE_INVALID;
}

size_t runes_count(Str text)
{
    size_t count = 0;
    for (size_t at = 0, size; at < text.len; at += size) {
        rune_first(str_slice(text, at, text.len), &size);
        count++;
    }
    return count;
}

size_t runes_offset(Str text, size_t index)
{
    size_t at = 0;
    for (size_t size; index && at < text.len; at += size, index--) rune_first(str_slice(text, at, text.len), &size);
    return at;
}

void rune_print(Buf *buf, uint32_t rune)
{
    char bytes[4];
    bool is_scalar = rune < 0xd800 || (rune > 0xdfff && rune <= 0x10ffff);
    buf_bytes(buf, bytes, utf8_encode(is_scalar ? rune : RUNE_INVALID, bytes));
}

size_t text_find(Str text, Str part, size_t from)
{
    if (from > text.len) return text.len + 1;
    if (part.len == 0) return from;
    const char *found = memmem(text.ptr + from, text.len - from, part.ptr, part.len);
    return found ? (size_t)(found - text.ptr) : text.len + 1;
}

/* --- properties -------------------------------------------------------------------------------------------------- */

typedef struct CaseRange {
    uint32_t first, last;
    int32_t step, difference;
} CaseRange;

typedef struct PrintRange {
    uint32_t first, last;
} PrintRange;

static const CaseRange upper_ranges[] = {
#define UPPER(first, last, step, difference) { first, last, step, difference },
#include "rego/builtins/unicode.def"
};

static const CaseRange lower_ranges[] = {
#define LOWER(first, last, step, difference) { first, last, step, difference },
#include "rego/builtins/unicode.def"
};

static const PrintRange print_ranges[] = {
#define PRINT(first, last) { first, last },
#include "rego/builtins/unicode.def"
};

/* The ranges of one mapping do not overlap, but a range by twos may enclose the strangers between its members. */
static uint32_t map_case(const CaseRange *ranges, size_t count, uint32_t rune)
{
    size_t low = 0, high = count;
    while (low < high) {                                /* the last range that begins at or before the character */
        size_t middle = low + (high - low) / 2;
        if (ranges[middle].first <= rune) low = middle + 1;
        else high = middle;
    }
    for (size_t back = 0; back < 2 && low > back; back++) {
        const CaseRange *range = &ranges[low - 1 - back];
        if (rune <= range->last && (rune - range->first) % (uint32_t)range->step == 0)
            return (uint32_t)((int32_t)rune + range->difference);
    }
    return rune;
}

uint32_t rune_to_upper(uint32_t rune)
{
    if (rune < 0x80) return rune - (rune >= 'a' && rune <= 'z' ? 'a' - 'A' : 0);
    return map_case(upper_ranges, sizeof upper_ranges / sizeof upper_ranges[0], rune);
}

uint32_t rune_to_lower(uint32_t rune)
{
    if (rune < 0x80) return rune + (rune >= 'A' && rune <= 'Z' ? 'a' - 'A' : 0);
    return map_case(lower_ranges, sizeof lower_ranges / sizeof lower_ranges[0], rune);
}

bool rune_is_printable(uint32_t rune)
{
    size_t low = 0, high = sizeof print_ranges / sizeof print_ranges[0];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rune < print_ranges[middle].first) high = middle;
        else if (rune > print_ranges[middle].last) low = middle + 1;
        else return true;
    }
    return false;
}

bool rune_is_space(uint32_t rune)
{
    if (rune < 0x80) return ascii_is_space((char)rune);
    return rune == 0x85 || rune == 0xa0 || rune == 0x1680 || (rune >= 0x2000 && rune <= 0x200a) || rune == 0x2028
        || rune == 0x2029 || rune == 0x202f || rune == 0x205f || rune == 0x3000;
}
