/* hex.h - bytes as hexadecimal digits, read back: private to this folder; base/buf.h writes them.
 *
 * Owns: nothing.     Fails: by answering false.     Thread: pure, any.
 */
#ifndef LEDGER_HEX_H
#define LEDGER_HEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* The value of a lower-case digit, or -1: there is one way to write a hash. */
static inline int hex_digit(char c)
{
    if (ascii_is_digit(c)) return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Exactly `size` bytes. */
static inline bool hex_read(Str text, uint8_t *out, size_t size)
{
    if (text.len != size * 2) return false;
    for (size_t i = 0; i < size; i++) {
        int high = hex_digit(text.ptr[2 * i]), low = hex_digit(text.ptr[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

#endif
