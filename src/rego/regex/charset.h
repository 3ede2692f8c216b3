/* charset.h - sets of characters as sorted ranges.
 *
 * A set is collected range by range in any order, then made normal: sorted, without overlaps or touching ranges. Set
 * operations (adding what differs by case, complement) work on normal sets.
 *
 * Owns:   its ranges, in the arena given.
 * Fails:  sticky: once the arena is full `failed` is set and further calls do nothing; one check at the end suffices.
 * Bounds: by the arena; a normal set has at most 0x88000 ranges.     Thread: one at a time.
 */
#ifndef REGO_REGEX_CHARSET_H
#define REGO_REGEX_CHARSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

typedef struct CharRange {
    uint32_t low, high;         /* both included */
} CharRange;

typedef struct Charset {
    Arena *arena;
    CharRange *ranges;
    size_t count, capacity;
    bool failed;
} Charset;

void charset_add(Charset *set, uint32_t low, uint32_t high);
void charset_add_set(Charset *set, const Charset *other);
void charset_normalise(Charset *set);
/* Adds all characters that differ from one of the set by case alone; normal afterwards. */
void charset_fold(Charset *set);
/* `set` must be normal, and stays so. */
void charset_negate(Charset *set);
bool charset_has(const CharRange *ranges, size_t count, uint32_t point);

#endif
