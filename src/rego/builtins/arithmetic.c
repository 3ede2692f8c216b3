/* arithmetic.c - the operators + - * / % on numbers, - on sets, and rounding. */
#include <gmp.h>

#include "rego/builtins/float_text.h"
#include "rego/builtins/operand.h"
#include "rego/builtins/sets.h"
#include "value/number.h"

/* One operator in its three forms: on machine integers (false where the result does not fit), on integers of any
 * size, and on floats, which are taken as soon as one operand is no integer. */
typedef struct Operator {
    bool (*small)(int64_t a, int64_t b, int64_t *out);
    IntegerOperator integer;
    Float (*real)(Float a, Float b);
} Operator;

static const Operator op_add = { small_add, mpz_add, float_add };
static const Operator op_subtract = { small_subtract, mpz_sub, float_subtract };
static const Operator op_multiply = { small_multiply, mpz_mul, float_multiply };

static BuiltinResult compute(BuiltinContext *context, const Operator *operator, const Value *args, Value *out,
                             Error *err)
{
    int64_t small;
    if (args[0].kind == VALUE_INT && args[1].kind == VALUE_INT
        && operator->small(args[0].integer, args[1].integer, &small)) {
        *out = value_int(small);
        return BUILTIN_OK;
    }
    if (!operand_is(args, 0, &OPERAND_NUMBER, err) || !operand_is(args, 1, &OPERAND_NUMBER, err))
        return BUILTIN_TYPE_ERROR;
    if (number_is_integer(args[0]) && number_is_integer(args[1]))
        return integers_apply(context, operator->integer, args, out, err);
    Float result = operator->real(float_read(args[0], FLOAT_PRECISION), float_read(args[1], FLOAT_PRECISION));
    return float_value(context, result, out, err);
}

BuiltinResult builtin_plus(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    return compute(context, &op_add, args, out_result, err);
}

BuiltinResult builtin_minus(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    static const OperandType number_or_set = { KIND_NUMBER | KIND(VALUE_SET), "one of {number, set}" };
    if (!operand_is(args, 0, &number_or_set, err)) return BUILTIN_TYPE_ERROR;
    if (args[0].kind != VALUE_SET) return compute(context, &op_subtract, args, out_result, err);
    if (!operand_is(args, 1, &OPERAND_SET, err)) return BUILTIN_TYPE_ERROR;
    return set_difference(context, args[0], args[1], out_result, err);
}

BuiltinResult builtin_mul(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    return compute(context, &op_multiply, args, out_result, err);
}

/* Division has no integer form: 6 / 3 is the float 2, which prints as an integer. Small exact quotients take a short
 * way to the same result. */
BuiltinResult builtin_div(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    if (!operand_is(args, 0, &OPERAND_NUMBER, err) || !operand_is(args, 1, &OPERAND_NUMBER, err))
        return BUILTIN_TYPE_ERROR;
    if (args[0].kind == VALUE_INT && args[1].kind == VALUE_INT && args[1].integer > 0 && args[0].integer > 0
        && args[0].integer % args[1].integer == 0) {
        *out_result = value_int(args[0].integer / args[1].integer);
        return BUILTIN_OK;
    }
    Float divisor = float_read(args[1], FLOAT_PRECISION);
    if (float_is_zero(divisor)) return builtin_error(err, "divide by zero");
    return float_value(context, float_divide(float_read(args[0], FLOAT_PRECISION), divisor), out_result, err);
}

BuiltinResult builtin_rem(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    if (!operand_is(args, 0, &OPERAND_NUMBER, err) || !operand_is(args, 1, &OPERAND_NUMBER, err))
        return BUILTIN_TYPE_ERROR;
    if (!number_is_integer(args[0]) || !number_is_integer(args[1]))
        return builtin_error(err, "modulo on floating-point number");
    int64_t divisor;
    bool is_small = number_to_int64(args[1], &divisor);
    if (is_small && divisor == 0) return builtin_error(err, "modulo by zero");
    if (args[0].kind != VALUE_INT || !is_small || divisor == -1)
        return integers_apply(context, mpz_tdiv_r, args, out_result, err);
    *out_result = value_int(args[0].integer % divisor);
    return BUILTIN_OK;
}

/* --- rounding ---------------------------------------------------------------------------------------------------- */

BuiltinResult builtin_abs(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    if (!operand_is(args, 0, &OPERAND_NUMBER, err)) return BUILTIN_TYPE_ERROR;
    if (args[0].kind == VALUE_INT && args[0].integer > INT64_MIN) {
        *out_result = value_int(args[0].integer < 0 ? -args[0].integer : args[0].integer);
        return BUILTIN_OK;
    }
    Float number = float_read(args[0], FLOAT_PRECISION);
    number.negative = false;
    return float_value(context, number, out_result, err);
}

typedef void (*Rounding)(mpz_t result, Float number);

/* A half is rounded away from zero. */
static void round_nearest(mpz_t result, Float number)
{
    Float half = { .negative = number.negative, .precision = FLOAT_PRECISION, .mantissa = UINT64_C(1) << 63,
                   .exponent = -64 };
    float_truncate(result, float_add(number, half));
}

/* Between -1 and 0 these two give 1 and 0. That is what OPA answers, and a policy must not decide otherwise here. */
static void round_up(mpz_t result, Float number)
{
    float_truncate(result, number);
    if (!float_is_integer(number) && mpz_sgn(result) >= 0) mpz_add_ui(result, result, 1);
}

static void round_down(mpz_t result, Float number)
{
    float_truncate(result, number);
    if (!float_is_integer(number) && mpz_sgn(result) < 0) mpz_sub_ui(result, result, 1);
}

static BuiltinResult to_integer(BuiltinContext *context, Rounding rounding, const Value *args, Value *out, Error *err)
{
    if (!operand_is(args, 0, &OPERAND_NUMBER, err)) return BUILTIN_TYPE_ERROR;
    if (args[0].kind == VALUE_INT) {
        *out = args[0];
        return BUILTIN_OK;
    }
    mpz_t integer;
    mpz_init(integer);
    rounding(integer, float_read(args[0], FLOAT_PRECISION));
    BuiltinResult result = integer_value(context, integer, out, err);
    mpz_clear(integer);
    return result;
}

BuiltinResult builtin_round(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    return to_integer(context, round_nearest, args, out_result, err);
}

BuiltinResult builtin_ceil(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    return to_integer(context, round_up, args, out_result, err);
}

BuiltinResult builtin_floor(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    return to_integer(context, round_down, args, out_result, err);
}
