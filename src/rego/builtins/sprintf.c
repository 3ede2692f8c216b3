/* sprintf.c - sprintf and template strings: texts made of values. */
#include "base/limits.h"
#include "rego/builtins/format.h"
#include "rego/builtins/operand.h"
#include "rego/builtins/text.h"

BuiltinResult builtin_sprintf(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str format;
    if (!operand_string(args, 0, &format, err) || !operand_is(args, 1, &OPERAND_ARRAY, err))
        return BUILTIN_TYPE_ERROR;
    if (!format_spend(context, format, args[1].items, args[1].count, err)) return BUILTIN_HALT;
    Buf buf;
    builtin_text_begin(context, &buf);
    format_print(&buf, format, args[1].items, args[1].count);
    return builtin_text_end(context, &buf, out_result, err);
}

static void print_part(Buf *buf, Value part)
{
    if (part.kind == VALUE_STRING) buf_str(buf, value_text(part));
    else value_print(buf, part);
}

/* The compiler hands over the parts of a template string: literals as they are, and each expression as the set of its
 * values, empty where it is undefined. */
BuiltinResult builtin_template_string(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    if (!operand_is(args, 0, &OPERAND_ARRAY, err)) return BUILTIN_TYPE_ERROR;
    uint64_t weight;
    if (!builtin_weigh(context, args[0], &weight, err)) return BUILTIN_HALT;
    Buf buf;
    builtin_text_begin(context, &buf);
    for (uint32_t i = 0; i < args[0].count; i++) {
        Value part = args[0].items[i];
        BuiltinResult result = BUILTIN_OK;
        if (part.kind == VALUE_SET && part.count > 1) {
            error_set(err, ERR_INVALID, "template-strings must not produce multiple outputs");
            result = BUILTIN_CONFLICT;
        } else if (part.kind == VALUE_ARRAY || part.kind == VALUE_OBJECT) {
            result = builtin_error(err, "illegal argument type: %s", value_kind_name(part));
        }
        if (result) {
            builtin_text_drop(&buf);
            return result;
        }
        if (part.kind == VALUE_SET && part.count == 0) buf_text(&buf, "<undefined>");
        else print_part(&buf, part.kind == VALUE_SET ? part.items[0] : part);
    }
    return builtin_text_end(context, &buf, out_result, err);
}
