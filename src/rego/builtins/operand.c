#include "rego/builtins/operand.h"

#include <stdarg.h>
#include <stdio.h>

#include "value/number.h"

const OperandType OPERAND_NULL = { KIND(VALUE_NULL), "null" };
const OperandType OPERAND_BOOLEAN = { KIND(VALUE_BOOL), "boolean" };
const OperandType OPERAND_NUMBER = { KIND_NUMBER, "number" };
const OperandType OPERAND_STRING = { KIND(VALUE_STRING), "string" };
const OperandType OPERAND_ARRAY = { KIND(VALUE_ARRAY), "array" };
const OperandType OPERAND_OBJECT = { KIND(VALUE_OBJECT), "object" };
const OperandType OPERAND_SET = { KIND(VALUE_SET), "set" };
const OperandType OPERAND_ARRAY_OR_SET = { KIND(VALUE_ARRAY) | KIND(VALUE_SET), "one of {array, set}" };
const OperandType OPERAND_SET_OR_ARRAY = { KIND(VALUE_ARRAY) | KIND(VALUE_SET), "one of {set, array}" };

BuiltinResult operand_error(Error *err, uint32_t index, const char *format, ...)
{
    char text[ERROR_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    error_set(err, ERR_INVALID, "operand %u %s", index + 1, text);
    return BUILTIN_TYPE_ERROR;
}

BuiltinResult operand_refuse(Error *err, uint32_t index, const char *wanted, const char *got)
{
    return operand_error(err, index, "must be %s but got %s", wanted, got);
}

bool operand_is(const Value *args, uint32_t index, const OperandType *type, Error *err)
{
    if (type->kinds & KIND(args[index].kind)) return true;
    operand_refuse(err, index, type->name, value_kind_name(args[index]));
    return false;
}

bool operand_string(const Value *args, uint32_t index, Str *out_text, Error *err)
{
    if (!operand_is(args, index, &OPERAND_STRING, err)) return false;
    *out_text = value_text(args[index]);
    return true;
}

bool operand_is_integer(const Value *args, uint32_t index, const char *name, Error *err)
{
    if (!operand_is(args, index, &(OperandType){ KIND_NUMBER, name }, err)) return false;
    if (number_is_integer(args[index])) return true;
    operand_refuse(err, index, "integer number", "floating-point number");
    return false;
}

static bool has_exponent(Value number)
{
    if (number.kind == VALUE_INT) return false;
    Str text = value_text(number);
    return str_find(text, 'e', 0) < text.len || str_find(text, 'E', 0) < text.len;
}

bool operand_int(const Value *args, uint32_t index, const char *name, int64_t *out_integer, Error *err)
{
    if (!operand_is(args, index, &(OperandType){ KIND_NUMBER, name }, err)) return false;
    if (!has_exponent(args[index]) && number_to_int64(args[index], out_integer)) return true;
    operand_refuse(err, index, "integer number", "floating-point number");
    return false;
}

bool operand_of_strings(const Value *args, uint32_t index, Error *err)
{
    for (uint32_t i = 0; i < args[index].count; i++) {
        Value item = args[index].items[i];
        if (item.kind == VALUE_STRING) continue;
        const char *kind = value_kind_name(args[index]);
        operand_error(err, index, "must be %s of strings but got %s containing %s", kind, kind, value_kind_name(item));
        return false;
    }
    return true;
}
