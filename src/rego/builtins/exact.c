#include "rego/builtins/exact.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "value/number.h"

typedef unsigned __int128 Wide;

/* --- budgets ----------------------------------------------------------------------------------------------------- */

#define NUMBER_STEPS 6u                 /* for a number however short: it is text, and has to be taken apart */
#define DIGITS_PER_STEP 8u

uint64_t digits_cost(uint64_t count)
{
    return count / DIGITS_PER_STEP + count * count / (1u << 12);
}

uint64_t number_cost(Value number)
{
    if (number.kind == VALUE_INT) return 0;
    Number parts;
    number_parts(number, &parts);
    uint32_t exponent = (uint32_t)(parts.exponent < 0 ? -parts.exponent : parts.exponent);
    return NUMBER_STEPS + digits_cost((uint64_t)parts.digit_count + exponent);
}

/* --- integers ---------------------------------------------------------------------------------------------------- */

#define LONG_DIGIT_COUNT 256u           /* from here on GMP's way of reading, which needs a copy, is the faster one */

static void read_long_digits(mpz_t digits, Str text)
{
    char *copy = malloc(text.len + 1);
    CHECK(copy != NULL);
    size_t size = 0;
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] != '.') copy[size++] = text.ptr[i];
    copy[size] = 0;
    CHECK(mpz_set_str(digits, copy, 10) == 0);
    free(copy);
}

/* The significant digits as an integer, and the power of ten that it is to be multiplied with. */
static int32_t read_digits(mpz_t digits, const Number *number)
{
    mpz_set_ui(digits, 0);
    unsigned long chunk = 0, scale = 1;
    bool is_long = number->digit_count >= LONG_DIGIT_COUNT;
    if (is_long) read_long_digits(digits, number->digits);
    for (size_t i = 0; !is_long && i < number->digits.len; i++) {
        if (number->digits.ptr[i] == '.') continue;
        chunk = chunk * 10 + (unsigned long)(number->digits.ptr[i] - '0');
        scale *= 10;
        if (scale < 1000000000000000000ul) continue;
        mpz_mul_ui(digits, digits, scale);
        mpz_add_ui(digits, digits, chunk);
        chunk = 0;
        scale = 1;
    }
    mpz_mul_ui(digits, digits, scale);
    mpz_add_ui(digits, digits, chunk);
    return number->exponent - (int32_t)number->digit_count + 1;
}

void integer_scale(mpz_t integer, unsigned long base, uint32_t power)
{
    mpz_t factor;
    mpz_init(factor);
    mpz_ui_pow_ui(factor, base, power);
    mpz_mul(integer, integer, factor);
    mpz_clear(factor);
}

void integer_read(mpz_t integer, Value value)
{
    if (value.kind == VALUE_INT) {
        mpz_set_si(integer, value.integer);
        return;
    }
    Number number;
    number_parts(value, &number);
    int32_t power = read_digits(integer, &number);
    if (number.digit_count) {
        CHECK(power >= 0);
        integer_scale(integer, 10, (uint32_t)power);
    }
    if (number.negative) mpz_neg(integer, integer);
}

void decimal_to_fraction(mpq_t fraction, Value value)
{
    Number number;
    number_parts(value, &number);
    int32_t power = read_digits(mpq_numref(fraction), &number);
    mpz_set_ui(mpq_denref(fraction), 1);
    if (number.digit_count == 0) return;
    integer_scale(power < 0 ? mpq_denref(fraction) : mpq_numref(fraction), 10, (uint32_t)(power < 0 ? -power : power));
    if (number.negative) mpz_neg(mpq_numref(fraction), mpq_numref(fraction));
}

BuiltinResult number_refuse(Error *err)
{
    error_set(err, ERR_LIMIT, "the exponent of a number exceeds NUMBER_EXPONENT_MAX (%d)", NUMBER_EXPONENT_MAX);
    return BUILTIN_HALT;
}

BuiltinResult integer_value(BuiltinContext *context, const mpz_t integer, Value *out_value, Error *err)
{
    static_assert(sizeof(long) == sizeof(int64_t), "GMP speaks long");
    if (mpz_fits_slong_p(integer)) {
        *out_value = value_int(mpz_get_si(integer));
        return BUILTIN_OK;
    }
    size_t digits = mpz_sizeinbase(integer, 10);        /* exact, or one too many */
    if (digits > NUMBER_EXPONENT_MAX + 1) return number_refuse(err);
    if (!builtin_spend(context, NUMBER_STEPS + digits_cost(digits), err)) return BUILTIN_HALT;
    char *text = builtin_alloc(context, digits + 2, err);
    if (!text) return BUILTIN_HALT;
    mpz_get_str(text, 10, integer);
    *out_value = number_make(context->arena, str_of(text));
    return BUILTIN_OK;
}

BuiltinResult integers_apply(BuiltinContext *context, IntegerOperator operator, const Value *args, Value *out_value,
                             Error *err)
{
    mpz_t a, b;
    mpz_init(a);
    mpz_init(b);
    integer_read(a, args[0]);
    integer_read(b, args[1]);
    operator(a, a, b);
    BuiltinResult result = integer_value(context, a, out_value, err);
    mpz_clear(a);
    mpz_clear(b);
    return result;
}

/* --- floats: rounding -------------------------------------------------------------------------------------------- */

static uint32_t bit_length(Wide number)
{
    uint64_t high = (uint64_t)(number >> 64), low = (uint64_t)number;
    if (high) return 128u - (uint32_t)__builtin_clzll(high);
    return low ? 64u - (uint32_t)__builtin_clzll(low) : 0;
}

/* The float nearest to  mantissa x 2^exponent,  or a little more than that where bits are known to be missing. */
static Float float_round(bool negative, Wide mantissa, int32_t exponent, bool is_more, uint32_t precision)
{
    Float result = { .negative = negative, .precision = (uint8_t)precision };
    uint32_t length = bit_length(mantissa);
    if (length == 0) return result;
    if (length > precision) {
        uint32_t cut = length - precision;
        Wide half = (Wide)1 << (cut - 1), rest = mantissa & (((Wide)1 << cut) - 1);
        mantissa >>= cut;
        exponent += (int32_t)cut;
        bool is_up = rest > half || (rest == half && (is_more || (mantissa & 1)));
        mantissa += is_up;
        length = bit_length(mantissa);
        if (length > precision) {                       /* 111...1 has become 1000...0 */
            mantissa >>= 1;
            exponent++;
            length--;
        }
    }
    result.mantissa = (uint64_t)mantissa << (64 - length);
    result.exponent = exponent - (int32_t)(64 - length);
    return result;
}

/* The top 127 bits of an integer and whether anything was cut off: enough to round once and correctly. */
static Float round_integer(bool negative, const mpz_t magnitude, int32_t exponent, bool is_more, uint32_t precision)
{
    mpz_t top;
    size_t length = mpz_sizeinbase(magnitude, 2);
    uint32_t cut = length > 127 ? (uint32_t)(length - 127) : 0;
    mpz_init(top);
    mpz_tdiv_q_2exp(top, magnitude, cut);
    if (cut && mpz_scan1(magnitude, 0) < cut) is_more = true;
    uint64_t limbs[2] = { 0, 0 };
    mpz_export(limbs, NULL, -1, sizeof limbs[0], 0, 0, top);
    mpz_clear(top);
    Wide mantissa = (Wide)limbs[1] << 64 | limbs[0];
    return float_round(negative, mantissa, exponent + (int32_t)cut, is_more, precision);
}

Float float_of_integer(const mpz_t integer, uint32_t precision)
{
    mpz_t magnitude;
    mpz_init(magnitude);
    mpz_abs(magnitude, integer);
    Float result = round_integer(mpz_sgn(integer) < 0, magnitude, 0, false, precision);
    mpz_clear(magnitude);
    return result;
}

/* The quotient is taken with so many bits that rounding it once is rounding the true one. */
static Float round_quotient(bool negative, mpz_t dividend, const mpz_t divisor, uint32_t precision)
{
    size_t have = mpz_sizeinbase(dividend, 2), need = mpz_sizeinbase(divisor, 2) + 100;
    uint32_t shift = have < need ? (uint32_t)(need - have) : 0;
    mpz_t remainder;
    mpz_init(remainder);
    mpz_mul_2exp(dividend, dividend, shift);
    mpz_tdiv_qr(dividend, remainder, dividend, divisor);
    bool is_more = mpz_sgn(remainder) != 0;
    mpz_clear(remainder);
    return round_integer(negative, dividend, -(int32_t)shift, is_more, precision);
}

Float float_read(Value value, uint32_t precision)
{
    if (value.kind == VALUE_INT) {
        uint64_t magnitude = value.integer < 0 ? 0 - (uint64_t)value.integer : (uint64_t)value.integer;
        return float_round(value.integer < 0, magnitude, 0, false, precision);
    }
    Number number;
    number_parts(value, &number);
    bool negative = value.text[0] == '-';                       /* of a zero as well */
    if (number.digit_count == 0) return (Float){ .negative = negative, .precision = (uint8_t)precision };

    mpz_t digits;
    mpz_init(digits);
    int32_t power = read_digits(digits, &number);
    Float result;
    if (power >= 0) {
        integer_scale(digits, 10, (uint32_t)power);
        result = round_integer(negative, digits, 0, false, precision);
    } else {
        mpz_t scale;
        mpz_init(scale);
        mpz_ui_pow_ui(scale, 10, (unsigned long)-power);
        result = round_quotient(negative, digits, scale, precision);
        mpz_clear(scale);
    }
    mpz_clear(digits);
    return result;
}

/* --- floats: operations ------------------------------------------------------------------------------------------ */

static int compare_magnitudes(Float a, Float b)
{
    if (a.exponent != b.exponent) return a.exponent < b.exponent ? -1 : 1;
    return (a.mantissa > b.mantissa) - (a.mantissa < b.mantissa);
}

/* |a| +- |b| for |a| >= |b| > 0. The smaller one is shifted down by the difference of the exponents; what falls off
 * its end only says that the sum is a little more, or the difference a little less. */
static Float combine(Float a, Float b, bool subtract)
{
    uint32_t distance = (uint32_t)(a.exponent - b.exponent);
    Wide large = (Wide)a.mantissa << 62, small = (Wide)b.mantissa << 62;
    bool is_more = false;
    if (distance > 126) {
        small = 0;
        is_more = true;
    } else if (distance) {
        is_more = (small & (((Wide)1 << distance) - 1)) != 0;
        small >>= distance;
    }
    Wide result = subtract ? large - small - is_more : large + small;
    return float_round(a.negative, result, a.exponent - 62, is_more, a.precision);
}

Float float_add(Float a, Float b)
{
    uint8_t precision = a.precision;
    if (float_is_zero(b)) {
        if (float_is_zero(a)) a.negative = a.negative && b.negative;
        return float_round(a.negative, a.mantissa, a.exponent, false, precision);
    }
    if (float_is_zero(a)) return float_round(b.negative, b.mantissa, b.exponent, false, precision);
    int order = compare_magnitudes(a, b);
    bool subtract = a.negative != b.negative;
    if (order == 0 && subtract) return (Float){ .precision = precision };
    if (order < 0) {
        Float swapped = a;
        a = b;
        b = swapped;
    }
    a.precision = precision;
    return combine(a, b, subtract);
}

Float float_subtract(Float a, Float b)
{
    b.negative = !b.negative;
    return float_add(a, b);
}

Float float_multiply(Float a, Float b)
{
    Wide product = (Wide)a.mantissa * b.mantissa;
    return float_round(a.negative != b.negative, product, a.exponent + b.exponent, false, a.precision);
}

/* Long division in two digits of 64 bits: the first quotient fits one since a.mantissa < 2 x b.mantissa. */
Float float_divide(Float a, Float b)
{
    CHECK(!float_is_zero(b));
    Wide dividend = (Wide)a.mantissa << 63;
    Wide high = dividend / b.mantissa, rest = (dividend % b.mantissa) << 64;
    Wide low = rest / b.mantissa;
    bool is_more = rest % b.mantissa != 0;
    return float_round(a.negative != b.negative, high << 64 | low, a.exponent - b.exponent - 127, is_more, a.precision);
}

bool float_is_integer(Float number)
{
    if (number.exponent >= 0 || float_is_zero(number)) return true;
    return number.exponent > -64 && __builtin_ctzll(number.mantissa) >= -number.exponent;
}

void float_truncate(mpz_t integer, Float number)
{
    mpz_set_ui(integer, number.mantissa);
    if (number.exponent >= 0) mpz_mul_2exp(integer, integer, (mp_bitcnt_t)number.exponent);
    else mpz_tdiv_q_2exp(integer, integer, (mp_bitcnt_t)-number.exponent);
    if (number.negative) mpz_neg(integer, integer);
}

/* --- doubles ----------------------------------------------------------------------------------------------------- */

#define DOUBLE_EXPONENT_MAX 1024
#define DOUBLE_EXPONENT_MIN (-1021)         /* of 0.1xxx x 2^e, the smallest with all bits */

bool double_read(Value value, Float *out_double)
{
    Float number = float_read(value, FLOAT_PRECISION_DOUBLE);
    int32_t exponent = number.exponent + 64;
    if (!float_is_zero(number) && exponent > DOUBLE_EXPONENT_MAX) return false;
    if (!float_is_zero(number) && exponent < DOUBLE_EXPONENT_MIN) {
        int32_t precision = (int32_t)FLOAT_PRECISION_DOUBLE - (DOUBLE_EXPONENT_MIN - exponent);
        if (precision > 0) {
            number = float_read(value, (uint32_t)precision);
        } else {
            /* Less than the smallest: that, or zero, whichever is nearer. */
            Float near = float_read(value, FLOAT_PRECISION);
            bool is_above_half = near.exponent == -1075 - 63 && near.mantissa > UINT64_C(1) << 63;
            number.mantissa = is_above_half ? UINT64_C(1) << 63 : 0;
            number.exponent = is_above_half ? -1074 - 63 : 0;
            number.precision = 1;
        }
    }
    *out_double = number;
    return true;
}
