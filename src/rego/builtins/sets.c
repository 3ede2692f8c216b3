#include "rego/builtins/sets.h"

#include "rego/builtins/operand.h"

/* Which items of two sorted sets go into the result: those of one alone, of both, of the other alone. */
typedef struct Choice {
    bool only_a, both, only_b;
} Choice;

static BuiltinResult merge(BuiltinContext *context, Choice choice, Value a, Value b, Value *out, Error *err)
{
    if (!builtin_spend(context, (uint64_t)a.count + b.count, err)) return BUILTIN_HALT;
    Value *items = BUILTIN_ARRAY(context, Value, (size_t)a.count + b.count, err);
    if (!items) return BUILTIN_HALT;
    uint32_t i = 0, j = 0, count = 0;
    while (i < a.count || j < b.count) {
        int order = i == a.count ? 1 : j == b.count ? -1 : value_compare(a.items[i], b.items[j]);
        bool is_taken = order < 0 ? choice.only_a : order > 0 ? choice.only_b : choice.both;
        if (is_taken) items[count++] = order <= 0 ? a.items[i] : b.items[j];
        i += order <= 0;
        j += order >= 0;
    }
    *out = (Value){ .kind = VALUE_SET, .count = count, .items = items };
    return BUILTIN_OK;
}

static BuiltinResult set_union(BuiltinContext *context, Value a, Value b, Value *out_set, Error *err)
{
    return merge(context, (Choice){ true, true, true }, a, b, out_set, err);
}

static BuiltinResult set_intersection(BuiltinContext *context, Value a, Value b, Value *out_set, Error *err)
{
    return merge(context, (Choice){ false, true, false }, a, b, out_set, err);
}

BuiltinResult set_difference(BuiltinContext *context, Value a, Value b, Value *out_set, Error *err)
{
    return merge(context, (Choice){ true, false, false }, a, b, out_set, err);
}

typedef BuiltinResult (*Merge)(BuiltinContext *context, Value a, Value b, Value *out_set, Error *err);

static BuiltinResult merge_operands(BuiltinContext *context, Merge operation, const Value *args, Value *out, Error *err)
{
    if (!operand_is(args, 0, &OPERAND_SET, err) || !operand_is(args, 1, &OPERAND_SET, err)) return BUILTIN_TYPE_ERROR;
    return operation(context, args[0], args[1], out, err);
}

BuiltinResult builtin_and(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    return merge_operands(context, set_intersection, args, out_result, err);
}

BuiltinResult builtin_or(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    return merge_operands(context, set_union, args, out_result, err);
}

BuiltinResult builtin_set_diff(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    return merge_operands(context, set_difference, args, out_result, err);
}

static bool is_set_of_sets(const Value *args, Error *err)
{
    if (!operand_is(args, 0, &OPERAND_SET, err)) return false;
    for (uint32_t i = 0; i < args[0].count; i++)
        if (!operand_is(&args[0].items[i], 0, &OPERAND_SET, err)) return false;
    return true;
}

/* Neighbours are merged in pairs, round after round, so that each item is walked over a logarithm of times. */
BuiltinResult builtin_union(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    if (!is_set_of_sets(args, err)) return BUILTIN_TYPE_ERROR;
    uint32_t count = args[0].count;
    if (count == 0) {
        *out_result = args[0];
        return BUILTIN_OK;
    }
    Value *sets = BUILTIN_ARRAY(context, Value, count, err);
    if (!sets) return BUILTIN_HALT;
    for (uint32_t i = 0; i < count; i++) sets[i] = args[0].items[i];
    for (; count > 1; count = (count + 1) / 2) {
        for (uint32_t i = 0; i + 1 < count; i += 2) {
            BuiltinResult result = set_union(context, sets[i], sets[i + 1], &sets[i / 2], err);
            if (result) return result;
        }
        if (count & 1) sets[count / 2] = sets[count - 1];
    }
    *out_result = sets[0];
    return BUILTIN_OK;
}

BuiltinResult builtin_intersection(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    if (!is_set_of_sets(args, err)) return BUILTIN_TYPE_ERROR;
    Value result = args[0];                             /* of no sets: the empty one */
    for (uint32_t i = 0; i < args[0].count; i++) {
        if (i == 0) {
            result = args[0].items[0];
            continue;
        }
        BuiltinResult failed = set_intersection(context, result, args[0].items[i], &result, err);
        if (failed) return failed;
    }
    *out_result = result;
    return BUILTIN_OK;
}
