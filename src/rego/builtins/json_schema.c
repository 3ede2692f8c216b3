/* json_schema.c - json.match_schema and json.verify_schema. */
#include "base/limits.h"
#include "rego/builtins/cache.h"
#include "rego/builtins/draft_schema.h"
#include "rego/builtins/json_text.h"
#include "rego/builtins/operand.h"

/* The operand as JSON text: as it is where it is a text of JSON, else written as one. */
static BuiltinResult document_text(BuiltinContext *context, Value operand, Str *out_text, Error *err)
{
    if (operand.kind == VALUE_STRING) {
        *out_text = value_text(operand);
        return BUILTIN_OK;
    }
    if (operand.kind != VALUE_OBJECT && operand.kind != VALUE_ARRAY)
        return builtin_error(err, "wrong type, expected string or object");
    Buf buf;
    Value text;
    builtin_text_begin(context, &buf);
    json_text_print(&buf, operand);
    BuiltinResult result = builtin_text_end(context, &buf, &text, err);
    if (result == BUILTIN_OK) *out_text = value_text(text);
    return result;
}

static BuiltinResult document_parse(BuiltinContext *context, Arena *arena, Str text, Value *out_document, Error *err)
{
    if (!builtin_spend(context, text.len / REGO_BYTES_PER_STEP, err)) return BUILTIN_HALT;
    BuiltinResult result = json_text_parse(context, text, out_document, err);
    if (result == BUILTIN_ERROR) return builtin_error(err, "invalid JSON string");
    if (!result && arena != context->arena) *out_document = value_copy(arena, *out_document);
    return result;
}

/* Compiled schemas are kept by their text, which costs the same whether it is found or not. */
static BuiltinResult schema_get(BuiltinContext *context, Value operand, DraftSchema **out_schema, Error *err)
{
    Str text;
    Value document;
    BuiltinResult result = document_text(context, operand, &text, err);
    if (result != BUILTIN_OK) return result;
    BuiltinCache *cache = context->cache;
    DraftSchema *schema = cache ? builtin_cache_find(cache, CACHE_SCHEMA, text) : NULL;
    if (schema) {
        *out_schema = schema;
        return builtin_spend(context, schema->steps, err) ? BUILTIN_OK : BUILTIN_HALT;
    }
    Arena *arena = cache ? builtin_cache_arena(cache) : context->arena;
    uint64_t before = *context->steps_left;
    result = document_parse(context, arena, text, &document, err);
    if (result == BUILTIN_OK) result = draft_compile(context, arena, document, &schema, err);
    if (result != BUILTIN_OK) return result;
    schema->steps = before - *context->steps_left;
    if (cache) builtin_cache_add(cache, CACHE_SCHEMA, text, schema);
    *out_schema = schema;
    return BUILTIN_OK;
}

static BuiltinResult pair(BuiltinContext *context, Value first, Value second, Value *out, Error *err)
{
    Value *items = BUILTIN_ARRAY(context, Value, 2, err);
    if (!items) return BUILTIN_HALT;
    items[0] = first;
    items[1] = second;
    *out = value_array(items, 2);
    return BUILTIN_OK;
}

BuiltinResult builtin_json_verify_schema(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    DraftSchema *schema;
    BuiltinResult result = schema_get(context, args[0], &schema, err);
    if (result == BUILTIN_HALT) return result;
    if (result == BUILTIN_OK) return pair(context, value_bool(true), value_null(), out_result, err);
    Str reason = arena_format(context->arena, "jsonschema: %s", err ? err->text : "");
    return pair(context, value_bool(false), value_string(reason), out_result, err);
}

BuiltinResult builtin_json_match_schema(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str text;
    Value instance, errors;
    DraftSchema *schema;
    BuiltinResult result = document_text(context, args[0], &text, err);
    if (result == BUILTIN_OK) result = document_parse(context, context->arena, text, &instance, err);
    if (result == BUILTIN_OK) result = schema_get(context, args[1], &schema, err);
    if (result == BUILTIN_OK) result = draft_check(context, schema, instance, &errors, err);
    if (result != BUILTIN_OK) return result;
    return pair(context, value_bool(errors.count == 0), errors, out_result, err);
}
