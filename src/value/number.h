/* number.h - exact numbers: decimal text read as digits and an exponent, never as a double.
 *
 * Every number of JSON is  (-1)^negative x d.ddd x 10^exponent  with finitely many digits. Comparing, testing and
 * printing work on the digits where they stand, so nothing is rounded and nothing is allocated.
 *
 * Owns:   nothing.
 * Fails:  number_read() with ERR_INVALID for what is no JSON number and ERR_LIMIT beyond NUMBER_EXPONENT_MAX.
 * Bounds: |exponent| <= NUMBER_EXPONENT_MAX, written and scientific alike.     Thread: pure, any.
 */
#ifndef VALUE_NUMBER_H
#define VALUE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/status.h"
#include "value/value.h"

/* A number taken apart. `digits` are the significant ones: no leading and no trailing zero, but perhaps a point among
 * them, which digit_count does not count. Zero has no digits. */
typedef struct Number {
    bool negative;
    Str digits;
    uint32_t digit_count;
    int32_t exponent;               /* of the first digit: 123.4 is 1.234 x 10^2 */
    char storage[20];               /* where the digits of an int64 stand */
} Number;

/* The value of a JSON number: VALUE_INT where it is a plain int64, else VALUE_DECIMAL with the text copied to `arena`.
 * Places in `err` count from the start of `text`. */
MUST_USE Status number_read(Arena *arena, Str text, Value *out_value, Error *err);
MUST_USE Status number_check(Str text, Error *err);         /* the same refusals, nothing made */
Value number_make(Arena *arena, Str text);                  /* of a text that number_check() has accepted */

/* `value` must be a number; `out_number` borrows its text, and must not be moved (digits may point into itself). */
void number_parts(Value value, Number *out_number);

int  number_compare(Value a, Value b);
bool number_is_integer(Value value);                        /* 1, 1.0 and 1e2 are */
bool number_to_int64(Value value, int64_t *out_integer);    /* true where it is a number, and exactly one of these */
int64_t number_milli(Value value);                          /* thousandths, rounded up; of what is negative 0; at most INT64_MAX */

/* The canonical text, in the notation of ECMAScript: equal numbers have one form, different numbers never share one. */
void number_print_canonical(Buf *buf, Value value);

#endif
