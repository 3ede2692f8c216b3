/* unicode.h - classes of characters by name, and which characters differ only by case.
 *
 * The facts of the Unicode character database that regular expressions need: general categories (L, Lu, Letter), their
 * unions, scripts (Greek), Any, ASCII and Assigned, and simple case folding. The tables are
 * generated; tools/unicode-tables says from what.
 *
 * Owns:   nothing; the tables are immutable process data.
 * Fails:  unicode_class_find() by returning false.     Thread: pure, any.
 */
#ifndef REGO_REGEX_UNICODE_H
#define REGO_REGEX_UNICODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define UNICODE_POINT_MAX 0x10ffffu

/* A walk over the ranges of one class, in ascending order. */
typedef struct UnicodeClass {
    const uint8_t *data;
    uint32_t ranges_left, next;
} UnicodeClass;

/* Names are compared without case, spaces, hyphens and underscores. */
bool unicode_class_find(Str name, UnicodeClass *out_class);
bool unicode_class_next(UnicodeClass *class, uint32_t *out_low, uint32_t *out_high);
/* Whether the character is of that class; false where there is no such class. */
bool unicode_is(Str name, uint32_t point);

/* Characters that are equal but for case form a ring of at most UNICODE_FOLD_RING_MAX. A run maps each `step`th character
 * of first..last to its successor in the ring, which is `delta` away. Runs are sorted by `first`, and none reaches beyond
 * the beginning of the second one behind it. */
#define UNICODE_FOLD_RING_MAX 4u
typedef struct UnicodeFoldRun {
    uint32_t first, last;
    int32_t delta;
    uint32_t step;
} UnicodeFoldRun;

/* The run that may concern characters from `point` on, and all behind it up to `out_end`. */
const UnicodeFoldRun *unicode_fold_from(uint32_t point, const UnicodeFoldRun **out_end);
/* The next character of the ring of `point`, itself where it stands alone. */
uint32_t unicode_fold_next(uint32_t point);

#endif
