/* types.c - what kind of value it is, and the casts of Rego v0. */
#include "rego/builtins/operand.h"

static BuiltinResult is_kind(const Value *args, uint32_t kinds, Value *out)
{
    *out = value_bool(kinds & KIND(args[0].kind));
    return BUILTIN_OK;
}

#define KIND_QUESTION(function, kinds) \
    BuiltinResult function(BuiltinContext *context, const Value *args, Value *out_result, Error *err) \
    { \
        return is_kind(args, kinds, out_result); \
    }

KIND_QUESTION(builtin_is_null, KIND(VALUE_NULL))
KIND_QUESTION(builtin_is_boolean, KIND(VALUE_BOOL))
KIND_QUESTION(builtin_is_number, KIND_NUMBER)
KIND_QUESTION(builtin_is_string, KIND(VALUE_STRING))
KIND_QUESTION(builtin_is_array, KIND(VALUE_ARRAY))
KIND_QUESTION(builtin_is_object, KIND(VALUE_OBJECT))
KIND_QUESTION(builtin_is_set, KIND(VALUE_SET))

BuiltinResult builtin_type_name(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    *out_result = value_string(str_of(value_kind_name(args[0])));
    return BUILTIN_OK;
}

static BuiltinResult cast(const Value *args, const OperandType *type, Value *out, Error *err)
{
    if (!operand_is(args, 0, type, err)) return BUILTIN_TYPE_ERROR;
    *out = args[0];
    return BUILTIN_OK;
}

#define CAST(function, type) \
    BuiltinResult function(BuiltinContext *context, const Value *args, Value *out_result, Error *err) \
    { \
        return cast(args, &type, out_result, err); \
    }

CAST(builtin_cast_null, OPERAND_NULL)
CAST(builtin_cast_boolean, OPERAND_BOOLEAN)
CAST(builtin_cast_string, OPERAND_STRING)
CAST(builtin_cast_object, OPERAND_OBJECT)

BuiltinResult builtin_cast_array(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    if (!operand_is(args, 0, &OPERAND_ARRAY_OR_SET, err)) return BUILTIN_TYPE_ERROR;
    *out_result = value_array(args[0].items, args[0].count);        /* a set's items lie sorted */
    return BUILTIN_OK;
}

BuiltinResult builtin_cast_set(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    if (!operand_is(args, 0, &OPERAND_ARRAY_OR_SET, err)) return BUILTIN_TYPE_ERROR;
    if (args[0].kind == VALUE_SET) {
        *out_result = args[0];
        return BUILTIN_OK;
    }
    ValueList list = { .arena = context->arena };
    for (uint32_t i = 0; i < args[0].count; i++)
        if (!builtin_list_add(context, &list, args[0].items[i], err)) return BUILTIN_HALT;
    return builtin_list_set(context, &list, out_result, err);
}
