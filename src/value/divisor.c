#include "value/divisor.h"

#include <gmp.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "value/number.h"

/* A limb of 64 bits holds 19 decimal digits; log2(10) is below 3.33. */
#define CHUNK_DIGITS 19
#define LIMB_COUNT_MAX (DIVISOR_DIGIT_COUNT_MAX * 333u / 100u / 64u + 1u)

static_assert(GMP_NUMB_BITS == 64, "chunks of 19 digits need limbs of 64 bits");

struct Divisor {
    int64_t integer;                    /* the number itself where it is an int64, else 0 */
    int64_t exponent;                   /* of the last digit */
    uint32_t limb_count;
    mp_limb_t limbs[];                  /* the digits as one integer, lowest limb first, the highest not zero */
};

/* The exponent of a number's last significant digit. */
static int64_t last_exponent(const Number *number)
{
    return (int64_t)number->exponent - ((int64_t)number->digit_count - 1);
}

/* Walks digits, the point stepped over, and then as many zeros as asked for. */
typedef struct DigitWalk {
    Str digits;
    size_t at;
    uint64_t digits_left, zeros_left;
} DigitWalk;

static mp_limb_t walk_next(DigitWalk *walk)
{
    if (walk->digits_left == 0) {
        walk->zeros_left--;
        return 0;
    }
    walk->digits_left--;
    if (walk->digits.ptr[walk->at] == '.') walk->at++;
    return (mp_limb_t)(walk->digits.ptr[walk->at++] - '0');
}

/* The next digits as one number, and the power of ten that makes room for them. */
static mp_limb_t walk_chunk(DigitWalk *walk, mp_limb_t *out_power)
{
    mp_limb_t chunk = 0, power = 1;
    for (int i = 0; i < CHUNK_DIGITS && (walk->digits_left || walk->zeros_left); i++) {
        chunk = chunk * 10 + walk_next(walk);
        power *= 10;
    }
    *out_power = power;
    return chunk;
}

Status divisor_make(Arena *arena, Value value, const Divisor **out_divisor, Error *err)
{
    Number number;
    number_parts(value, &number);
    if (number.digit_count == 0 || number.negative) return error_set(err, ERR_INVALID, "must be greater than 0");
    if (number.digit_count > DIVISOR_DIGIT_COUNT_MAX)
        return error_set(err, ERR_LIMIT, "has more than DIVISOR_DIGIT_COUNT_MAX (%u) digits", DIVISOR_DIGIT_COUNT_MAX);

    Divisor *divisor = arena_try(arena, sizeof *divisor + LIMB_COUNT_MAX * sizeof *divisor->limbs);
    if (!divisor) return error_set(err, ERR_LIMIT, "a divisor does not fit the memory granted");
    divisor->integer = value.kind == VALUE_INT ? value.integer : 0;
    divisor->exponent = last_exponent(&number);

    DigitWalk walk = { .digits = number.digits, .digits_left = number.digit_count };
    while (walk.digits_left) {
        mp_limb_t power, chunk = walk_chunk(&walk, &power);
        mp_limb_t carry = mpn_mul_1(divisor->limbs, divisor->limbs, LIMB_COUNT_MAX, power);
        carry += mpn_add_1(divisor->limbs, divisor->limbs, LIMB_COUNT_MAX, chunk);
        CHECK(carry == 0);
    }
    divisor->limb_count = LIMB_COUNT_MAX;
    while (divisor->limbs[divisor->limb_count - 1] == 0) divisor->limb_count--;
    *out_divisor = divisor;
    return OK;
}

/* The schoolbook division: the remainder so far, ten times as large for each further digit, and that digit. */
static bool remainder_is_zero(const Divisor *divisor, DigitWalk walk)
{
    mp_size_t count = (mp_size_t)divisor->limb_count;
    mp_limb_t remainder[LIMB_COUNT_MAX] = { 0 };
    while (walk.digits_left || walk.zeros_left) {
        mp_limb_t wide[LIMB_COUNT_MAX + 1], quotient[2];
        mp_limb_t power, chunk = walk_chunk(&walk, &power);
        wide[count] = mpn_mul_1(wide, remainder, count, power);
        mpn_add_1(wide, wide, count + 1, chunk);
        mpn_tdiv_qr(quotient, remainder, 0, wide, count + 1, divisor->limbs, count);
    }
    return mpn_zero_p(remainder, count);
}

uint64_t divisor_weight(const Divisor *divisor, Value value)
{
    if (value.kind == VALUE_INT && divisor->integer) return 0;
    uint64_t chunks = ((value.kind == VALUE_INT ? CHUNK_DIGITS : value.count) + 2 * NUMBER_EXPONENT_MAX) / CHUNK_DIGITS;
    return chunks * (divisor->limb_count + 3) / 4;
}

bool divisor_divides(const Divisor *divisor, Value value)
{
    if (value.kind == VALUE_INT && divisor->integer) return value.integer % divisor->integer == 0;
    Number number;
    number_parts(value, &number);
    if (number.digit_count == 0) return true;
    int64_t distance = last_exponent(&number) - divisor->exponent;
    if (distance < 0) return false;             /* a digit stands where no multiple has one */
    return remainder_is_zero(divisor, (DigitWalk){ .digits = number.digits, .digits_left = number.digit_count,
                                                   .zeros_left = (uint64_t)distance });
}
