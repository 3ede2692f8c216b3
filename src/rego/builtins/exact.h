/* exact.h - the two ways in which the policy language computes: integers of any size, and floats of a wide mantissa.
 *
 * Arithmetic on integers (1.0 and 1e3 are integers too) is exact, in GMP. Everything else is computed as OPA does it,
 * so that a policy gives the same number here and there: binary floats of 64 bits of mantissa (53 in one place),
 * rounded to nearest-even after each operation, and printed by the fewest digits that give the same float again. The
 * C type double is not used: its 53 bits are too few, and its text depends on the library.
 *
 * Owns:   an Integer owns memory of GMP between integer_init() and integer_clear(); a Float is a plain value.
 * Fails:  integer_value() with BUILTIN_HALT beyond NUMBER_EXPONENT_MAX.
 * Bounds: NUMBER_EXPONENT_MAX on every number that is made into a value.     Thread: pure, any.
 */
#ifndef REGO_BUILTINS_EXACT_H
#define REGO_BUILTINS_EXACT_H

#include <gmp.h>
#include <stdbool.h>
#include <stdint.h>

#include "rego/builtins/builtin.h"
#include "value/value.h"

/* --- integers ---------------------------------------------------------------------------------------------------- */

/* Steps for turning so many digits from decimal to binary or back, which takes a little more than proportional time. */
uint64_t digits_cost(uint64_t count);
/* Steps for reading a number, its exponent counted as the digits that it stands for; none for those that need no reading. */
uint64_t number_cost(Value number);
#define NUMBER_PRINT_TIMES 8u       /* printing one in the fewest digits takes so many times as long */

/* `integer` must be initialized (mpz_init) and `value` a number that number_is_integer(). */
void integer_read(mpz_t integer, Value value);
/* Any number as numerator and denominator, not yet in lowest terms; `fraction` must be initialized (mpq_init). */
void decimal_to_fraction(mpq_t fraction, Value value);
void integer_scale(mpz_t integer, unsigned long base, uint32_t power);       /* times base^power */
/* operator(args[0], args[1]) of two integers, as a value. */
typedef void (*IntegerOperator)(mpz_ptr result, mpz_srcptr a, mpz_srcptr b);
BuiltinResult integers_apply(BuiltinContext *context, IntegerOperator operator, const Value *args, Value *out_value,
                             Error *err);
BuiltinResult integer_value(BuiltinContext *context, const mpz_t integer, Value *out_value, Error *err);

/* Writes that a number is beyond NUMBER_EXPONENT_MAX; returns BUILTIN_HALT: undefined would let `not` turn a
 * limit of ours into a permission. */
BuiltinResult number_refuse(Error *err);

/* Of machine integers; false where the result does not fit. */
static inline bool small_add(int64_t a, int64_t b, int64_t *out) { return !__builtin_add_overflow(a, b, out); }
static inline bool small_subtract(int64_t a, int64_t b, int64_t *out) { return !__builtin_sub_overflow(a, b, out); }
static inline bool small_multiply(int64_t a, int64_t b, int64_t *out) { return !__builtin_mul_overflow(a, b, out); }

/* --- floats ------------------------------------------------------------------------------------------------------ */

#define FLOAT_PRECISION 64u         /* of all operations */
#define FLOAT_PRECISION_DOUBLE 53u  /* of product() */

/* (-1)^negative x mantissa x 2^exponent; the highest bit of the mantissa is set, or it is 0. */
typedef struct Float {
    bool negative;
    uint8_t precision;
    uint64_t mantissa;
    int32_t exponent;
} Float;

Float float_read(Value value, uint32_t precision);      /* the nearest one */
/* The nearest double, with the precision it has: less than 53 bits below 2^-1022. False beyond the largest one. */
bool  double_read(Value value, Float *out_double);
Float float_of_integer(const mpz_t integer, uint32_t precision);
/* Results take the precision of the first operand. */
Float float_add(Float a, Float b);
Float float_subtract(Float a, Float b);
Float float_multiply(Float a, Float b);
Float float_divide(Float a, Float b);                   /* b is not zero */

static inline bool float_is_zero(Float number) { return number.mantissa == 0; }
bool float_is_integer(Float number);
void float_truncate(mpz_t integer, Float number);       /* towards zero */

#endif
