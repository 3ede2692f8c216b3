/* canonical.h - one text and one digest for each value.
 *
 * The canonical form is RFC 8785 for member order, strings and white space. Numbers are printed by all their significant
 * digits in the same notation: wherever RFC 8785's own form (the shortest text of the nearest double) reads back as
 * exactly the number, the two agree; any other number keeps its digits. So equal values have one form, and different
 * values never share one, which RFC 8785 alone does not give for numbers that a double cannot hold.
 *
 * Fails:  ERR_INVALID for sets and keys that are no strings; ERR_LIMIT where the text does not fit.
 * Thread: pure, any.
 */
#ifndef VALUE_CANONICAL_H
#define VALUE_CANONICAL_H

#include <stdint.h>

#include "base/buf.h"
#include "base/status.h"
#include "value/value.h"

#define DIGEST_SIZE 32u
#define DIGEST_TEXT_SIZE 71u            /* "sha256:" and 64 hexadecimal digits */

typedef struct Digest {
    uint8_t bytes[DIGEST_SIZE];         /* SHA-256 */
} Digest;

MUST_USE Status canonical_print(Buf *buf, Value value, Error *err);
MUST_USE Status canonical_digest(Value value, Digest *out_digest, Error *err);
Digest digest_of(Str bytes);
void   digest_print(Buf *buf, const Digest *digest);        /* "sha256:..." */
Value  digest_value(Arena *arena, const Digest *digest);    /* the same, as a value */

#endif
