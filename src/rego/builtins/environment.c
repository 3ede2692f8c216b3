/* environment.c - what a policy may know of the program it runs in. */
#include "rego/builtins/builtin.h"

BuiltinResult builtin_opa_runtime(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    *out_result = context->environment;
    return BUILTIN_OK;
}
