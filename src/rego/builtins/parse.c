/* parse.c - rego.parse_module: the tree of a policy as a value. */
#include "rego/builtins/operand.h"

#include "base/limits.h"
#include "rego/module_value.h"
#include "rego/parser.h"

/* Trees take some hundred bytes for each byte of text: what the budget has left decides how long a text may be. */
#define TREE_SIZE_FACTOR 512u

static bool is_builtin(Str name)
{
    return builtin_find(name) != NULL;
}

static BuiltinResult parse_error(const RegoErrors *errors, Error *err)
{
    char text[ERROR_TEXT_SIZE];
    Buf buf = buf_on(text, sizeof text - 1);
    size_t count = errors->count + errors->dropped;
    if (count == 1 && !errors->items[0].loc.row) {
        buf_format(&buf, "%.*s:0: %s: %.*s", STR_ARG(errors->items[0].file), rego_error_code_name(errors->items[0].code),
                   STR_ARG(errors->items[0].text));
    } else {
        if (count == 1) buf_text(&buf, "1 error occurred: ");
        else buf_format(&buf, "%zu errors occurred:\n", count);
        for (size_t i = 0; i < errors->count; i++) {
            if (i) buf_char(&buf, '\n');
            rego_error_print(&buf, &errors->items[i]);
        }
    }
    return builtin_error(err, "%.*s", (int)buf.len, text);
}

BuiltinResult builtin_rego_parse_module(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str file, text;
    if (!operand_string(args, 0, &file, err) || !operand_string(args, 1, &text, err)) return BUILTIN_TYPE_ERROR;
    if (!builtin_spend(context, text.len, err)) return BUILTIN_HALT;
    if (!builtin_fits(context, text.len * TREE_SIZE_FACTOR, err)) return BUILTIN_HALT;
    RegoErrors errors;
    rego_errors_init(&errors, context->arena);
    const RegoParseOptions options = { .file = file, .is_builtin = is_builtin };
    RegoModule *module;
    Status status = rego_parse_module(context->arena, text, &options, &module, &errors);
    if (status == ERR_LIMIT) return builtin_limit(err, "%.*s", STR_ARG(errors.items[errors.count - 1].text));
    if (status) return parse_error(&errors, err);
    *out_result = rego_module_value(context->arena, module);
    return BUILTIN_OK;
}
