/* json_scan.h - which bytes stand for themselves inside a JSON string, found eight at a time.
 *
 * The reader and the printer both spend most of their time stepping over such bytes. Private to this folder.
 *
 * Owns: nothing.     Fails: never.     Thread: pure, any.
 */
#ifndef VALUE_JSON_SCAN_H
#define VALUE_JSON_SCAN_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/str.h"

#define JSON_SCAN_ONES UINT64_C(0x0101010101010101)
#define JSON_SCAN_HIGH UINT64_C(0x8080808080808080)         /* in the bits gathered: some byte was not ASCII */

/* A quote, a backslash or a control character. */
static inline bool json_is_special(unsigned char c)
{
    return c < 0x20 || c == '"' || c == '\\';
}

/* The high bit of the first special one of eight bytes, the first being the lowest, or 0. Subtracting from a byte sets
 * its high bit where it was smaller; bytes that had the bit before are masked out. A borrow from a special byte may
 * mark the one above it, never one below, so that the lowest mark is right. */
static inline uint64_t json_special_mark(uint64_t eight)
{
    uint64_t quote = eight ^ JSON_SCAN_ONES * '"', backslash = eight ^ JSON_SCAN_ONES * '\\';
    uint64_t control = (eight - JSON_SCAN_ONES * 0x20) & ~eight;
    uint64_t marks = (control | ((quote - JSON_SCAN_ONES) & ~quote) | ((backslash - JSON_SCAN_ONES) & ~backslash))
                   & JSON_SCAN_HIGH;
    return marks & -marks;
}

/* The first special byte at or after `at`, or text.len; the bits of all bytes stepped over are added to *bits. */
static inline size_t json_plain_end(Str text, size_t at, uint64_t *bits)
{
    while (text.len - at >= sizeof(uint64_t)) {
        uint64_t eight;
        memcpy(&eight, text.ptr + at, sizeof eight);
        eight = le64toh(eight);
        uint64_t mark = json_special_mark(eight);
        if (mark) {
            unsigned plain = (unsigned)__builtin_ctzll(mark) / 8;
            *bits |= eight & ((UINT64_C(1) << (plain * 8)) - 1);
            return at + plain;
        }
        *bits |= eight;
        at += sizeof eight;
    }
    for (; at < text.len && !json_is_special((unsigned char)text.ptr[at]); at++) *bits |= (unsigned char)text.ptr[at];
    return at;
}

#endif
