/* arrays.c - array.concat, flatten, reverse and slice. */
#include <string.h>

#include "rego/builtins/operand.h"

static void copy_items(Value *to, const Value *from, size_t count)
{
    if (count) memcpy(to, from, count * sizeof *to);
}

BuiltinResult builtin_array_concat(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    if (!operand_is(args, 0, &OPERAND_ARRAY, err) || !operand_is(args, 1, &OPERAND_ARRAY, err))
        return BUILTIN_TYPE_ERROR;
    uint64_t count = (uint64_t)args[0].count + args[1].count;
    if (!builtin_spend(context, count, err)) return BUILTIN_HALT;
    Value *items = BUILTIN_ARRAY(context, Value, count, err);
    if (!items) return BUILTIN_HALT;
    copy_items(items, args[0].items, args[0].count);
    copy_items(items + args[0].count, args[1].items, args[1].count);
    *out_result = value_array(items, (uint32_t)count);
    return BUILTIN_OK;
}

/* One level: arrays inside the array are replaced by their items. */
BuiltinResult builtin_array_flatten(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    if (!operand_is(args, 0, &OPERAND_ARRAY, err)) return BUILTIN_TYPE_ERROR;
    uint64_t count = 0;
    for (uint32_t i = 0; i < args[0].count; i++)
        count += args[0].items[i].kind == VALUE_ARRAY ? args[0].items[i].count : 1;
    if (!builtin_spend(context, args[0].count + count, err)) return BUILTIN_HALT;
    Value *items = BUILTIN_ARRAY(context, Value, count, err);
    if (!items) return BUILTIN_HALT;
    uint32_t filled = 0;
    for (uint32_t i = 0; i < args[0].count; i++) {
        Value item = args[0].items[i];
        bool is_array = item.kind == VALUE_ARRAY;
        copy_items(items + filled, is_array ? item.items : &item, is_array ? item.count : 1);
        filled += is_array ? item.count : 1;
    }
    *out_result = value_array(items, filled);
    return BUILTIN_OK;
}

BuiltinResult builtin_array_reverse(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    if (!operand_is(args, 0, &OPERAND_ARRAY, err)) return BUILTIN_TYPE_ERROR;
    uint32_t count = args[0].count;
    if (!builtin_spend(context, count, err)) return BUILTIN_HALT;
    Value *items = BUILTIN_ARRAY(context, Value, count, err);
    if (!items) return BUILTIN_HALT;
    for (uint32_t i = 0; i < count; i++) items[i] = args[0].items[count - 1 - i];
    *out_result = value_array(items, count);
    return BUILTIN_OK;
}

/* The items are shared with the whole array. */
BuiltinResult builtin_array_slice(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    int64_t from, to;
    if (!operand_is(args, 0, &OPERAND_ARRAY, err) || !operand_int(args, 1, "number", &from, err)
        || !operand_int(args, 2, "number", &to, err))
        return BUILTIN_TYPE_ERROR;
    int64_t count = args[0].count;
    if (from < 0) from = 0;
    if (to > count) to = count;
    bool is_empty = from >= to;
    *out_result = value_array(is_empty ? NULL : args[0].items + from, is_empty ? 0 : (uint32_t)(to - from));
    return BUILTIN_OK;
}
