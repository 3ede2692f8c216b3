/* comparison.c - the operators that compare two values by the total order. */
#include "rego/builtins/operand.h"

/* A comparison walks at most through the lighter value; weighing the one with fewer items is a fair measure. */
static BuiltinResult compare(BuiltinContext *context, const Value *args, int *out_order, Error *err)
{
    uint64_t weight;
    Value lighter = args[0].count < args[1].count ? args[0] : args[1];
    if (!builtin_weigh(context, lighter, &weight, err)) return BUILTIN_HALT;
    *out_order = value_compare(args[0], args[1]);
    return BUILTIN_OK;
}

#define COMPARISON(function, condition) \
    BuiltinResult function(BuiltinContext *context, const Value *args, Value *out_result, Error *err) \
    { \
        int order; \
        BuiltinResult result = compare(context, args, &order, err); \
        if (result == BUILTIN_OK) *out_result = value_bool(condition); \
        return result; \
    }

COMPARISON(builtin_equal, order == 0)
COMPARISON(builtin_neq, order != 0)
COMPARISON(builtin_lt, order < 0)
COMPARISON(builtin_lte, order <= 0)
COMPARISON(builtin_gt, order > 0)
COMPARISON(builtin_gte, order >= 0)
