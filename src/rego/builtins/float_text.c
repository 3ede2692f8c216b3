#include "rego/builtins/float_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "value/number.h"

#define FLOAT_STEPS 4u              /* for a float however short its text is */

/* --- digits ------------------------------------------------------------------------------------------------------ */

static Decimal decimal_of(mpz_t number, int32_t exponent)
{
    if (exponent >= 0) mpz_mul_2exp(number, number, (mp_bitcnt_t)exponent);
    else integer_scale(number, 5, (uint32_t)-exponent);             /* x / 2^k is x 5^k / 10^k */
    Decimal decimal = { .size = mpz_sizeinbase(number, 10) + 2 };
    decimal.digits = malloc(decimal.size);
    CHECK(decimal.digits != NULL);
    mpz_get_str(decimal.digits, 10, number);
    decimal.count = strlen(decimal.digits);
    decimal.point = (int32_t)decimal.count - (exponent < 0 ? -exponent : 0);
    while (decimal.count && decimal.digits[decimal.count - 1] == '0') decimal.count--;
    if (decimal.count == 0) decimal.point = 0;
    return decimal;
}

void decimal_free(Decimal *decimal)
{
    free(decimal->digits);
    *decimal = (Decimal){ 0 };
}

static Decimal decimal_exact(Float number)
{
    mpz_t mantissa;
    mpz_init_set_ui(mantissa, number.mantissa);
    Decimal decimal = decimal_of(mantissa, float_is_zero(number) ? 0 : number.exponent);
    mpz_clear(mantissa);
    return decimal;
}

static bool rounds_up(const Decimal *decimal, size_t count)
{
    if (count >= decimal->count) return false;
    if (decimal->digits[count] == '5' && count + 1 == decimal->count)
        return count > 0 && ((decimal->digits[count - 1] - '0') & 1);
    return decimal->digits[count] >= '5';
}

/* Cuts to `count` digits, the last one raised by one or not. */
static void decimal_cut(Decimal *decimal, size_t count, bool raise)
{
    decimal->count = count;
    if (raise) {
        while (decimal->count && decimal->digits[decimal->count - 1] == '9') decimal->count--;
        if (decimal->count) {
            decimal->digits[decimal->count - 1]++;
        } else {
            decimal->digits[decimal->count++] = '1';
            decimal->point++;
        }
        return;
    }
    while (decimal->count && decimal->digits[decimal->count - 1] == '0') decimal->count--;
    if (decimal->count == 0) decimal->point = 0;
}

/* To nearest, a half to the even digit; `count` digits from the first one on, none where it is negative. */
static void decimal_round(Decimal *decimal, int64_t count)
{
    if (count >= (int64_t)decimal->count) return;
    if (count < 0) decimal_cut(decimal, 0, false);
    else decimal_cut(decimal, (size_t)count, rounds_up(decimal, (size_t)count));
}

/* --- the fewest digits ------------------------------------------------------------------------------------------- */

static char digit_at(const Decimal *decimal, int64_t index)
{
    return index >= 0 && index < (int64_t)decimal->count ? decimal->digits[index] : '0';
}

/* Whether the digits so far, the last one raised, stay below a bound: known once a digit differs by two, or differs
 * by one and is not followed by 9s against 0s. */
typedef enum Distance { DISTANCE_NONE, DISTANCE_ONE, DISTANCE_MORE } Distance;

static Distance distance_next(Distance distance, char digit, char bound)
{
    if (distance == DISTANCE_NONE && digit + 1 < bound) return DISTANCE_MORE;
    if (distance == DISTANCE_NONE && digit != bound) return DISTANCE_ONE;
    if (distance == DISTANCE_ONE && (digit != '9' || bound != '0')) return DISTANCE_MORE;
    return distance;
}

/* Between the halfway points to its neighbours every decimal is read back as the number; the points themselves too
 * where the mantissa is even. The digits are walked until cutting, or cutting and raising, stays between them. */
static void shorten(Decimal *number, const Decimal *lower, const Decimal *upper, bool inclusive, ShortestStyle style)
{
    Distance distance = DISTANCE_NONE;
    bool is_aligned = style == SHORTEST_DOUBLE;
    for (size_t i = 0; i < number->count; i++) {
        int64_t low_at = (int64_t)i + (is_aligned ? lower->point - number->point : 0);
        int64_t high_at = (int64_t)i + (is_aligned ? upper->point - number->point : 0);
        char digit = digit_at(number, (int64_t)i), low = digit_at(lower, low_at), high = digit_at(upper, high_at);
        distance = distance_next(distance, digit, high);
        bool may_cut = low != digit || (inclusive && low_at + 1 == (int64_t)lower->count);
        bool may_raise;
        if (style == SHORTEST_DOUBLE)
            may_raise = distance != DISTANCE_NONE
                     && (inclusive || distance == DISTANCE_MORE || high_at + 1 < (int64_t)upper->count);
        else
            may_raise = digit != high && (inclusive || digit + 1 < high || high_at + 1 < (int64_t)upper->count);
        if (!may_cut && !may_raise) continue;
        decimal_cut(number, i + 1, may_cut && may_raise ? rounds_up(number, i + 1) : may_raise);
        return;
    }
}

Decimal decimal_shortest(Float number, ShortestStyle style)
{
    Decimal middle = decimal_exact(number);
    if (float_is_zero(number)) return middle;
    /* In units of half the last place of the mantissa. */
    uint32_t unused = 64u - number.precision;
    uint64_t mantissa = number.mantissa >> unused;
    int32_t exponent = number.exponent + (int32_t)unused - 1;
    mpz_t bound;
    mpz_init_set_ui(bound, mantissa);
    mpz_mul_2exp(bound, bound, 1);
    mpz_add_ui(bound, bound, 1);
    Decimal upper = decimal_of(bound, exponent);
    /* Below a power of two the doubles lie twice as close, but for the smallest ones. */
    bool is_power = style == SHORTEST_DOUBLE && number.precision == FLOAT_PRECISION_DOUBLE
                 && number.mantissa == UINT64_C(1) << 63 && number.exponent + 64 > -1021;
    mpz_set_ui(bound, mantissa);
    mpz_mul_2exp(bound, bound, is_power ? 2 : 1);
    mpz_sub_ui(bound, bound, 1);
    Decimal lower = decimal_of(bound, is_power ? exponent - 1 : exponent);
    shorten(&middle, &lower, &upper, (mantissa & 1) == 0, style);
    mpz_clear(bound);
    decimal_free(&lower);
    decimal_free(&upper);
    return middle;
}

/* --- notation ---------------------------------------------------------------------------------------------------- */

static void print_exponent(Buf *buf, char letter, int64_t exponent)
{
    buf_char(buf, letter);
    buf_char(buf, exponent < 0 ? '-' : '+');
    uint64_t magnitude = (uint64_t)(exponent < 0 ? -exponent : exponent);
    if (magnitude < 10) buf_char(buf, '0');
    buf_u64(buf, magnitude);
}

static void print_scientific(Buf *buf, const Decimal *decimal, int64_t precision, char letter)
{
    buf_char(buf, digit_at(decimal, 0));
    if (precision > 0) {
        buf_char(buf, '.');
        for (int64_t i = 1; i <= precision; i++) buf_char(buf, digit_at(decimal, i));
    }
    print_exponent(buf, letter, decimal->count ? decimal->point - 1 : 0);
}

static void print_plain(Buf *buf, const Decimal *decimal, int64_t precision)
{
    if (decimal->point <= 0) buf_char(buf, '0');
    for (int64_t i = 0; i < decimal->point; i++) buf_char(buf, digit_at(decimal, i));
    if (precision <= 0) return;
    buf_char(buf, '.');
    for (int64_t i = 0; i < precision; i++) buf_char(buf, digit_at(decimal, decimal->point + i));
}

static int64_t fraction_count(const Decimal *decimal)
{
    int64_t count = (int64_t)decimal->count - decimal->point;
    return count > 0 ? count : 0;
}

/* %g: plain where the exponent is from -4 up to the precision, 6 where the fewest digits are asked for. */
static void print_general(Buf *buf, const Decimal *decimal, int64_t precision, char letter)
{
    int64_t count = (int64_t)decimal->count, limit = precision;
    if (limit > count && count >= decimal->point) limit = count;
    if (precision < 0) limit = 6;
    int64_t exponent = decimal->count ? decimal->point - 1 : -1;
    if (exponent < -4 || exponent >= limit) {
        if (precision < 0 || precision > count) precision = count;
        print_scientific(buf, decimal, precision - 1, letter);
    } else {
        print_plain(buf, decimal, fraction_count(decimal));
    }
}

/* 0x1.8p+00: the mantissa by its hexadecimal digits, rounded to even where fewer are asked for. */
static void print_hexadecimal(Buf *buf, Float number, bool upper, int64_t precision)
{
    const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    uint64_t mantissa = number.mantissa >> 3;                       /* one digit, 1, and 60 bits behind the point */
    int64_t exponent = float_is_zero(number) ? 0 : number.exponent + 63;
    if (precision >= 0 && precision < 15) {
        uint32_t cut = (uint32_t)(60 - precision * 4);
        uint64_t rest = mantissa & ((UINT64_C(1) << cut) - 1), half = UINT64_C(1) << (cut - 1);
        mantissa >>= cut;
        mantissa += rest > half || (rest == half && (mantissa & 1));
        mantissa <<= cut;
        if (mantissa >> 61) {
            mantissa >>= 1;
            exponent++;
        }
    }
    buf_text(buf, upper ? "0X" : "0x");
    buf_char(buf, (char)('0' + (mantissa >> 60)));
    mantissa <<= 4;
    if (precision > 0 || (precision < 0 && mantissa)) buf_char(buf, '.');
    for (int64_t i = 0; precision < 0 ? mantissa != 0 : i < precision; i++, mantissa <<= 4)
        buf_char(buf, digits[mantissa >> 60]);
    print_exponent(buf, upper ? 'P' : 'p', exponent);
}

/* 4503599627370496p-52: the mantissa of a double as an integer. */
static void print_binary(Buf *buf, Float number)
{
    uint32_t unused = 64u - number.precision;
    buf_u64(buf, number.mantissa >> unused);
    int64_t exponent = float_is_zero(number) ? -1074 : number.exponent + (int64_t)unused;
    buf_char(buf, 'p');
    if (exponent >= 0) buf_char(buf, '+');
    buf_i64(buf, exponent);
}

/* How many digits, from the first one on, a verb needs for its precision. */
static int64_t digits_needed(char verb, int64_t precision, int32_t point)
{
    if (verb == 'e' || verb == 'E') return precision + 1;
    return verb == 'f' ? point + precision : precision;
}

void float_format(Buf *buf, Float number, char verb, int64_t precision)
{
    buf_char(buf, number.negative ? '-' : '+');
    if (verb == 'b') {
        print_binary(buf, number);
        return;
    }
    if (verb == 'x' || verb == 'X') {
        print_hexadecimal(buf, number, verb == 'X', precision);
        return;
    }
    if (precision == 0 && (verb == 'g' || verb == 'G')) precision = 1;
    bool is_shortest = precision < 0;
    Decimal decimal = is_shortest ? decimal_shortest(number, SHORTEST_DOUBLE) : decimal_exact(number);
    if (!is_shortest) decimal_round(&decimal, digits_needed(verb, precision, decimal.point));
    if (verb == 'e' || verb == 'E')
        print_scientific(buf, &decimal, is_shortest ? (int64_t)decimal.count - 1 : precision, verb);
    else if (verb == 'f') print_plain(buf, &decimal, is_shortest ? fraction_count(&decimal) : precision);
    else print_general(buf, &decimal, precision, verb == 'G' ? 'E' : 'e');
    decimal_free(&decimal);
}

bool float_spend(BuiltinContext *context, Float number, Error *err)
{
    uint64_t digits = number.exponent < 0 ? (uint64_t)-(int64_t)number.exponent : (uint64_t)number.exponent / 3;
    return builtin_spend(context, FLOAT_STEPS + 3 * digits_cost(digits), err);
}

/* Integers are written out; other numbers by the rules of %g. */
BuiltinResult float_value(BuiltinContext *context, Float number, Value *out_value, Error *err)
{
    if (!float_spend(context, number, err)) return BUILTIN_HALT;
    Decimal decimal = decimal_shortest(number, SHORTEST_BIG);
    BuiltinResult result = BUILTIN_HALT;
    if (decimal.point > NUMBER_EXPONENT_MAX + 1 || decimal.point < -NUMBER_EXPONENT_MAX + 1) {
        result = number_refuse(err);
    } else {
        Buf buf;
        buf_init(&buf, (size_t)NUMBER_EXPONENT_MAX + 64);
        if (number.negative) buf_char(&buf, '-');
        if (float_is_integer(number)) print_plain(&buf, &decimal, 0);
        else print_general(&buf, &decimal, -1, 'e');
        if (builtin_fits(context, buf.len, err)) {
            *out_value = number_make(context->arena, buf_peek(&buf));
            result = BUILTIN_OK;
        }
        buf_deinit(&buf);
    }
    decimal_free(&decimal);
    return result;
}
