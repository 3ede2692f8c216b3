/* environment.c - what a policy may know of the program it runs in. */
#include "rego/builtins/operand.h"

BuiltinResult builtin_opa_runtime(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    *out_result = context->environment;
    return BUILTIN_OK;
}

/* What the compiler turns into notes and constants comes here only where there is nothing to do: print(...) of a policy
 * whose notes are not kept, and metadata outside of any rule. */
BuiltinResult builtin_print(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    *out_result = value_bool(true);
    return BUILTIN_OK;
}

BuiltinResult builtin_trace(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str note;
    if (!operand_string(args, 0, &note, err)) return BUILTIN_TYPE_ERROR;
    *out_result = value_bool(true);
    return BUILTIN_OK;
}

BuiltinResult builtin_metadata(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    return BUILTIN_UNDEFINED;
}
