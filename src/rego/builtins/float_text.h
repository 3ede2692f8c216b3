/* float_text.h - floats as decimal text: the fewest digits that say which one it is, or as many as asked for.
 *
 * Every binary float is a finite decimal. Its digits are computed exactly and then cut, so nothing is rounded twice.
 *
 * Owns:   a Decimal owns its digits until decimal_free().
 * Fails:  float_value() with BUILTIN_ERROR beyond NUMBER_EXPONENT_MAX.     Thread: pure, any.
 */
#ifndef REGO_BUILTINS_FLOAT_TEXT_H
#define REGO_BUILTINS_FLOAT_TEXT_H

#include "base/buf.h"
#include "rego/builtins/exact.h"

/* 0.d1d2d3... x 10^point, without trailing zeros; zero has no digits. */
typedef struct Decimal {
    char *digits;
    size_t count, size;             /* `size` is how many bytes were allocated */
    int32_t point;
} Decimal;

/* How the neighbours of a number are seen when digits are left out. */
typedef enum ShortestStyle {
    SHORTEST_BIG,           /* as for numbers that arithmetic makes: a power of two is not closer to the one below */
    SHORTEST_DOUBLE,        /* as for doubles */
} ShortestStyle;

/* The fewest digits that are read back as the same float. */
Decimal decimal_shortest(Float number, ShortestStyle style);
void    decimal_free(Decimal *decimal);

/* The number in the notation of a verb of Go's fmt, with its sign in front ('+' or '-'): e E f g G b x X. A precision
 * below 0 asks for the fewest digits. */
void float_format(Buf *buf, Float number, char verb, int64_t precision);

/* Takes the steps of finding the fewest digits: those of the exact decimal, three times. */
bool float_spend(BuiltinContext *context, Float number, Error *err);

/* The number that arithmetic has made, as a value. */
BuiltinResult float_value(BuiltinContext *context, Float number, Value *out_value, Error *err);

#endif
