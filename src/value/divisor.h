/* divisor.h - is a number a whole multiple of another, exactly.
 *
 * Both numbers are decimal digits and an exponent. With n = N x 10^e and d = D x 10^f, where neither N nor D ends in a
 * zero, n / d is whole only where e >= f and D divides N x 10^(e-f). The remainder is carried along digit by digit, so
 * the power of ten is never written out and nothing is allocated, however large the exponent.
 *
 * Owns:   a Divisor lives in the arena it was made in and is immutable.
 * Fails:  divisor_make() with ERR_INVALID for what is not above zero and ERR_LIMIT beyond DIVISOR_DIGIT_COUNT_MAX
 *         significant digits.
 * Bounds: the time of divisor_divides() grows with the digits of both numbers and the distance of their exponents.
 * Thread: pure, any.
 */
#ifndef VALUE_DIVISOR_H
#define VALUE_DIVISOR_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/status.h"
#include "value/value.h"

typedef struct Divisor Divisor;

MUST_USE Status divisor_make(Arena *arena, Value number, const Divisor **out_divisor, Error *err);
bool divisor_divides(const Divisor *divisor, Value number);
/* How much work divisor_divides() is, in units of some ten nanoseconds: for callers with a budget. */
uint64_t divisor_weight(const Divisor *divisor, Value number);

#endif
