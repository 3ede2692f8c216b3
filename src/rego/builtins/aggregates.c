/* aggregates.c - one value out of many: count, sum, product, max, min, sort, all, any, and membership. */
#include <stdlib.h>

#include "base/limits.h"
#include "rego/builtins/float_text.h"
#include "rego/builtins/operand.h"
#include "rego/builtins/runes.h"
#include "value/number.h"

BuiltinResult builtin_aggregate_count(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    static const OperandType countable = {
        KIND(VALUE_ARRAY) | KIND(VALUE_OBJECT) | KIND(VALUE_SET) | KIND(VALUE_STRING), "one of {array, object, set, string}"
    };
    if (!operand_is(args, 0, &countable, err)) return BUILTIN_TYPE_ERROR;
    if (args[0].kind != VALUE_STRING) {
        *out_result = value_int(args[0].count);
        return BUILTIN_OK;
    }
    if (!builtin_spend(context, args[0].count / REGO_BYTES_PER_STEP, err)) return BUILTIN_HALT;
    *out_result = value_int((int64_t)runes_count(value_text(args[0])));
    return BUILTIN_OK;
}

/* --- sum and product --------------------------------------------------------------------------------------------- */

/* What repeated adding or multiplying begins with, and how it goes on. */
typedef struct Fold {
    int64_t unit;
    uint8_t precision;              /* of floats; OPA multiplies with the mantissa of a double */
    bool (*small)(int64_t a, int64_t b, int64_t *out);      /* false on overflow */
    IntegerOperator integer;
    Float (*real)(Float a, Float b);
} Fold;

static bool fold_small(const Fold *fold, Value numbers, Value *out)
{
    int64_t total = fold->unit;
    for (uint32_t i = 0; i < numbers.count; i++)
        if (numbers.items[i].kind != VALUE_INT || !fold->small(total, numbers.items[i].integer, &total)) return false;
    *out = value_int(total);
    return true;
}

static BuiltinResult fold_integers(BuiltinContext *context, const Fold *fold, Value numbers, Value *out, Error *err)
{
    BuiltinResult result = BUILTIN_OK;
    mpz_t total, next;
    mpz_init_set_si(total, fold->unit);
    mpz_init(next);
    for (uint32_t i = 0; i < numbers.count && !result; i++) {
        if (!builtin_spend(context, number_cost(numbers.items[i]), err)) {
            result = BUILTIN_HALT;
            break;
        }
        integer_read(next, numbers.items[i]);
        fold->integer(total, total, next);
        /* Each step may cost as much as the numbers are long; and a product must not grow without end. */
        if (!builtin_spend(context, mpz_size(total) * (1 + mpz_size(next)) / 64, err)) result = BUILTIN_HALT;
        else if (mpz_size(total) > NUMBER_EXPONENT_MAX / 16) result = integer_value(context, total, out, err);
    }
    if (!result) result = integer_value(context, total, out, err);
    mpz_clear(total);
    mpz_clear(next);
    return result;
}

static BuiltinResult fold_floats(BuiltinContext *context, const Fold *fold, Value numbers, Value *out, Error *err)
{
    Float total = float_read(value_int(fold->unit), fold->precision);
    for (uint32_t i = 0; i < numbers.count; i++) {
        if (!builtin_spend(context, number_cost(numbers.items[i]), err)) return BUILTIN_HALT;
        total = fold->real(total, float_read(numbers.items[i], FLOAT_PRECISION));
        /* Beyond any bound already: the refusal is written where values are made. */
        if (total.exponent > 8 * NUMBER_EXPONENT_MAX || total.exponent < -8 * NUMBER_EXPONENT_MAX) break;
    }
    return float_value(context, total, out, err);
}

static BuiltinResult fold_numbers(BuiltinContext *context, const Fold *fold, const Value *args, Value *out, Error *err)
{
    if (!operand_is(args, 0, &OPERAND_SET_OR_ARRAY, err)) return BUILTIN_TYPE_ERROR;
    if (!builtin_spend(context, args[0].count, err)) return BUILTIN_HALT;
    if (fold_small(fold, args[0], out)) return BUILTIN_OK;
    bool are_integers = true;
    for (uint32_t i = 0; i < args[0].count; i++) {
        Value item = args[0].items[i];
        if (!value_is_number(item)) {
            const char *kind = value_kind_name(args[0]);
            return operand_error(err, 0, "must be %s of numbers but got %s containing %s", kind, kind,
                                 value_kind_name(item));
        }
        are_integers = are_integers && number_is_integer(item);
    }
    return (are_integers ? fold_integers : fold_floats)(context, fold, args[0], out, err);
}

BuiltinResult builtin_sum(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    static const Fold sum = { 0, FLOAT_PRECISION, small_add, mpz_add, float_add };
    return fold_numbers(context, &sum, args, out_result, err);
}

BuiltinResult builtin_product(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    static const Fold product = { 1, FLOAT_PRECISION_DOUBLE, small_multiply, mpz_mul, float_multiply };
    return fold_numbers(context, &product, args, out_result, err);
}

/* --- order ------------------------------------------------------------------------------------------------------- */

/* Of equal numbers that are written differently (1 and 1.0) the last one is the answer. */
static BuiltinResult extreme(BuiltinContext *context, const Value *args, int sign, Value *out, Error *err)
{
    if (!operand_is(args, 0, &OPERAND_SET_OR_ARRAY, err)) return BUILTIN_TYPE_ERROR;
    if (args[0].count == 0) return BUILTIN_UNDEFINED;
    if (args[0].kind == VALUE_SET) {
        *out = args[0].items[sign > 0 ? args[0].count - 1 : 0];
        return BUILTIN_OK;
    }
    uint64_t weight;
    if (!builtin_weigh(context, args[0], &weight, err)) return BUILTIN_HALT;
    Value best = args[0].items[0];
    for (uint32_t i = 1; i < args[0].count; i++)
        if (value_compare(args[0].items[i], best) * sign >= 0) best = args[0].items[i];
    *out = best;
    return BUILTIN_OK;
}

BuiltinResult builtin_max(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    return extreme(context, args, 1, out_result, err);
}

BuiltinResult builtin_min(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    return extreme(context, args, -1, out_result, err);
}

typedef struct Ranked {
    Value value;
    uint32_t index;
} Ranked;

static int by_value_then_index(const void *a, const void *b)
{
    const Ranked *x = a, *y = b;
    int order = value_compare(x->value, y->value);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

BuiltinResult builtin_sort(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    if (!operand_is(args, 0, &OPERAND_SET_OR_ARRAY, err)) return BUILTIN_TYPE_ERROR;
    uint32_t count = args[0].count;
    if (args[0].kind == VALUE_SET || count < 2) {
        *out_result = value_array(args[0].items, count);
        return BUILTIN_OK;
    }
    if (!builtin_spend_sort(context, args[0], err)) return BUILTIN_HALT;
    Ranked *ranked = BUILTIN_ARRAY(context, Ranked, count, err);
    if (!ranked) return BUILTIN_HALT;
    Value *items = BUILTIN_ARRAY(context, Value, count, err);
    if (!items) return BUILTIN_HALT;
    for (uint32_t i = 0; i < count; i++) ranked[i] = (Ranked){ args[0].items[i], i };
    qsort(ranked, count, sizeof *ranked, by_value_then_index);
    for (uint32_t i = 0; i < count; i++) items[i] = ranked[i].value;
    *out_result = value_array(items, count);
    return BUILTIN_OK;
}

/* --- truth and membership ---------------------------------------------------------------------------------------- */

BuiltinResult builtin_all(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    if (!operand_is(args, 0, &OPERAND_ARRAY_OR_SET, err)) return BUILTIN_TYPE_ERROR;
    if (!builtin_spend(context, args[0].count, err)) return BUILTIN_HALT;
    bool holds = true;
    for (uint32_t i = 0; i < args[0].count && holds; i++) holds = value_is_true(args[0].items[i]);
    *out_result = value_bool(holds);
    return BUILTIN_OK;
}

BuiltinResult builtin_any(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    if (!operand_is(args, 0, &OPERAND_ARRAY_OR_SET, err)) return BUILTIN_TYPE_ERROR;
    if (!builtin_spend(context, args[0].count, err)) return BUILTIN_HALT;
    bool holds = false;
    for (uint32_t i = 0; i < args[0].count && !holds; i++) holds = value_is_true(args[0].items[i]);
    *out_result = value_bool(holds);
    return BUILTIN_OK;
}

/* `x in xs`: anything that is no collection contains nothing. */
BuiltinResult builtin_member_2(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    uint64_t weight;
    Value item = args[0], collection = args[1];
    if (!builtin_weigh(context, item, &weight, err)) return BUILTIN_HALT;
    bool is_found = false;
    if (collection.kind == VALUE_SET) {
        is_found = value_set_has(collection, item);
    } else if (collection.kind == VALUE_ARRAY || collection.kind == VALUE_OBJECT) {
        if (!builtin_spend(context, weight * collection.count, err)) return BUILTIN_HALT;
        bool is_array = collection.kind == VALUE_ARRAY;
        for (uint32_t i = 0; i < collection.count && !is_found; i++)
            is_found = value_equals(is_array ? collection.items[i] : collection.members[i].value, item);
    }
    *out_result = value_bool(is_found);
    return BUILTIN_OK;
}

/* `k, x in xs`. */
BuiltinResult builtin_member_3(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Value key = args[0], item = args[1], collection = args[2];
    uint64_t weight;
    if (!builtin_weigh(context, item, &weight, err)) return BUILTIN_HALT;
    const Value *found = NULL;
    int64_t index;
    if (collection.kind == VALUE_OBJECT) {
        found = value_lookup(collection, key);
    } else if (collection.kind == VALUE_SET) {
        if (value_set_has(collection, key)) found = &key;
    } else if (collection.kind == VALUE_ARRAY && value_is_number(key) && number_to_int64(key, &index)) {
        if (index >= 0 && index < collection.count) found = &collection.items[index];
    }
    *out_result = value_bool(found && value_equals(*found, item));
    return BUILTIN_OK;
}
