/* utf8.h - strict UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
 *
 * Owns: nothing.     Fails: by returning 0.     Thread: pure, any.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* The code point at the start of `text` and how many bytes it takes; 0 bytes where it is not valid (or text is empty). */
size_t utf8_decode(Str text, uint32_t *out_point);
/* Writes 1 to 4 bytes and returns how many; `point` must be a scalar value. */
size_t utf8_encode(uint32_t point, char out[4]);
/* The offset of the first byte that is not part of valid UTF-8, or text.len. */
size_t utf8_valid_size(Str text);
/* As much of the beginning of valid text as fits: no character is cut in two. */
Str    utf8_head(Str text, size_t size_max);
/* Code points of valid text. */
size_t utf8_count(Str text);
/* Terminal columns that the text takes: wide East Asian characters count two, combining marks none. */
size_t utf8_width(Str text);

#endif
