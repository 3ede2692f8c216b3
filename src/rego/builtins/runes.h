/* runes.h - texts that may hold bytes which are no UTF-8, read the way the policy language reads them.
 *
 * base64.decode() and hex.decode() give bytes of any kind as a string. Wherever a builtin looks at characters, each
 * byte that is not part of valid UTF-8 counts as one character, U+FFFD.
 *
 * Owns: nothing.     Fails: never.     Thread: pure, any.
 */
#ifndef REGO_BUILTINS_RUNES_H
#define REGO_BUILTINS_RUNES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

#define RUNE_INVALID 0xfffdu

/* The character at the start of a text that is not empty, and how many bytes it takes. */
uint32_t rune_first(Str text, size_t *out_size);
/* The one at its end. */
uint32_t rune_last(Str text, size_t *out_size);
size_t   runes_count(Str text);
/* The offset of character `index`, or text.len where there are not so many. */
size_t   runes_offset(Str text, size_t index);
void     rune_print(Buf *buf, uint32_t rune);

bool     rune_is_space(uint32_t rune);          /* White_Space of Unicode */
bool     rune_is_printable(uint32_t rune);      /* letters, marks, numbers, punctuation, symbols, the space */
uint32_t rune_to_upper(uint32_t rune);          /* the simple mapping: one character to one */
uint32_t rune_to_lower(uint32_t rune);

/* The first place of `part` in `text` at or after `from`, or text.len + 1 where there is none. */
size_t   text_find(Str text, Str part, size_t from);

#endif
