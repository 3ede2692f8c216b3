/* pattern.h - regular expressions of ECMA-262, as JSON Schema uses them.
 *
 * The expression is read by its own grammar (that of the `u` flag), refused where it is none, and only then handed to
 * the matching library in that library's notation: what looks alike in both but means something else (`$`, `.`, \s, a
 * possessive a++) cannot slip through, and nothing else in the project sees the library.
 *   - A match may begin anywhere; `^` and `$` are the very ends of the text. Letters are compared as they are.
 *   - \d, \w, \b know ASCII alone; \s is the white space of ECMAScript; \p{...} takes general categories by short or
 *     long name, binary properties, Script=... and Script_Extensions=...
 *   - Taken over from the grammar without the flag, since many expressions rely on it: a backslash before any ASCII
 *     punctuation, and ] { } where they can only mean themselves, and [\w-.].
 *   - Not offered: look-behind of variable length, (?i:...), counts above 65535, half of a surrogate pair.
 *   - A group that is repeated keeps what it matched last time where ECMAScript would forget it.
 *
 * Owns:   a Pattern lives in the arena of its PatternMemory and is immutable. A PatternMatcher takes its memory from
 *         the arena given to it, and must not be moved once it has matched.
 * Fails:  pattern_compile() with ERR_INVALID that says which character is wrong. Both with ERR_LIMIT where a bound is
 *         spent: that the text does not match is only said where all of it was tried.
 * Bounds: PATTERN_SIZE_MAX, PATTERN_DEPTH_MAX, PatternMemory.size_max; a match takes at most PATTERN_STEP_COUNT_MAX
 *         steps and PATTERN_STEP_BYTE more for each byte of the text, and PATTERN_MEMORY_SIZE_MAX.
 * Thread: a Pattern by any number at once, a PatternMatcher by one.
 */
#ifndef VALUE_PATTERN_H
#define VALUE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"

typedef struct Pattern Pattern;

/* Where compiled patterns live, and how much they may take together. */
typedef struct PatternMemory {
    Arena *arena;
    size_t size, size_max;
} PatternMemory;

MUST_USE Status pattern_compile(PatternMemory *memory, Str text, const Pattern **out_pattern, Error *err);

typedef struct PatternMatcher {
    PatternMemory memory;
    void *context, *state;              /* of the matching library */
    uint64_t step_count;                /* taken by the last match */
} PatternMatcher;

/* Nothing is allocated before the first match. */
void pattern_matcher_init(PatternMatcher *matcher, Arena *arena);
MUST_USE Status pattern_match(PatternMatcher *matcher, const Pattern *pattern, Str text, bool *out_matches, Error *err);

#endif
