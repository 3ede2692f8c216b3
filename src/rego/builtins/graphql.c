/* graphql.c - GraphQL documents in policies: read, shown, and checked. */
#include "rego/graphql/graphql.h"

#include "base/limits.h"
#include "rego/builtins/cache.h"
#include "rego/builtins/operand.h"

#define DOCUMENT_BYTES_PER_STEP 2u      /* reading a query or schema; charged for a hit in the cache as well */

static GqlBudget budget_of(const BuiltinContext *context)
{
    return (GqlBudget){ context->steps_left, context->step_count_max, context->stop };
}

/* OPA counts these operands from 0. */
static BuiltinResult refuse_operand(Error *err, uint32_t index, Value value)
{
    return operand_error(err, index - 1, "must be one of {string, object} but got %s", value_kind_name(value));
}

/* --- queries ------------------------------------------------------------------------------------------------------ */

static BuiltinResult query_parse(BuiltinContext *context, Str text, GqlQuery **out_query, Error *err)
{
    if (!builtin_spend(context, text.len / DOCUMENT_BYTES_PER_STEP, err)) return BUILTIN_HALT;
    return builtin_result(graphql_query_parse(context->arena, text, out_query, err));
}

static BuiltinResult query_get(BuiltinContext *context, Value operand, GqlQuery **out_query, Error *err)
{
    if (operand.kind == VALUE_STRING) return query_parse(context, value_text(operand), out_query, err);
    if (operand.kind != VALUE_OBJECT) return refuse_operand(err, 0, operand);
    return builtin_result(graphql_query_read(context->arena, operand, out_query, err));
}

BuiltinResult builtin_graphql_parse_query(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str text;
    GqlQuery *query;
    if (!operand_string(args, 0, &text, err)) return BUILTIN_TYPE_ERROR;
    BuiltinResult result = query_parse(context, text, &query, err);
    if (result == BUILTIN_OK) *out_result = graphql_query_value(context->arena, query);
    return result;
}

/* --- schemas ------------------------------------------------------------------------------------------------------ */

/* A schema as the cache keeps it. */
typedef struct CachedSchema {
    GqlSchema *schema;
    Value value;                    /* of its document, before it was merged */
    uint64_t steps;                 /* that building it took */
} CachedSchema;

static BuiltinResult document_get(BuiltinContext *context, Arena *arena, Value operand, GqlSchemaDocument **out_document,
                                  Error *err)
{
    if (operand.kind == VALUE_STRING)
        return builtin_result(graphql_schema_parse(arena, arena_copy(arena, value_text(operand)), out_document, err));
    if (operand.kind != VALUE_OBJECT) return refuse_operand(err, 1, operand);
    return builtin_result(graphql_schema_read(arena, operand, out_document, err));
}

/* Texts are kept in the cache; objects are read each time. */
static BuiltinResult schema_get(BuiltinContext *context, Value operand, CachedSchema **out_schema, Error *err)
{
    bool is_text = operand.kind == VALUE_STRING;
    BuiltinCache *cache = is_text ? context->cache : NULL;
    if (is_text && !builtin_spend(context, operand.count / DOCUMENT_BYTES_PER_STEP, err)) return BUILTIN_HALT;
    CachedSchema *cached = cache ? builtin_cache_find(cache, CACHE_GRAPHQL, value_text(operand)) : NULL;
    if (cached) {
        *out_schema = cached;
        return builtin_spend(context, cached->steps, err) ? BUILTIN_OK : BUILTIN_HALT;
    }
    Arena *arena = cache ? builtin_cache_arena(cache) : context->arena;
    GqlSchemaDocument *document;
    BuiltinResult result = document_get(context, arena, operand, &document, err);
    if (result != BUILTIN_OK) return result;
    cached = ARENA_NEW(arena, CachedSchema);
    cached->value = graphql_schema_value(arena, document);
    GqlBudget budget = budget_of(context);
    uint64_t before = *context->steps_left;
    result = builtin_result(graphql_schema_build(arena, document, &budget, &cached->schema, err));
    if (result != BUILTIN_OK) return result;
    cached->steps = before - *context->steps_left;
    if (cache) builtin_cache_add(cache, CACHE_GRAPHQL, value_text(operand), cached);
    *out_schema = cached;
    return BUILTIN_OK;
}

BuiltinResult builtin_graphql_parse_schema(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str text;
    GqlSchemaDocument *document;
    if (!operand_string(args, 0, &text, err)) return BUILTIN_TYPE_ERROR;
    if (!builtin_spend(context, text.len / DOCUMENT_BYTES_PER_STEP, err)) return BUILTIN_HALT;
    BuiltinResult result = builtin_result(graphql_schema_parse(context->arena, text, &document, err));
    if (result == BUILTIN_OK) *out_result = graphql_schema_value(context->arena, document);
    return result;
}

BuiltinResult builtin_graphql_schema_is_valid(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    CachedSchema *schema;
    BuiltinResult result = schema_get(context, args[0], &schema, err);
    if (result == BUILTIN_HALT) return result;
    *out_result = value_bool(result == BUILTIN_OK);
    return BUILTIN_OK;
}

/* --- both --------------------------------------------------------------------------------------------------------- */

typedef struct Checked {
    Value query, schema;
} Checked;

static BuiltinResult check(BuiltinContext *context, const Value *args, Checked *out_checked, Error *err)
{
    GqlQuery *query;
    CachedSchema *schema;
    BuiltinResult result = query_get(context, args[0], &query, err);
    if (result == BUILTIN_OK) result = schema_get(context, args[1], &schema, err);
    if (result != BUILTIN_OK) return result;
    out_checked->query = graphql_query_value(context->arena, query);
    out_checked->schema = schema->value;
    GqlBudget budget = budget_of(context);
    return builtin_result(graphql_query_check(context->arena, schema->schema, query, &budget, err));
}

BuiltinResult builtin_graphql_parse(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Checked checked;
    BuiltinResult result = check(context, args, &checked, err);
    if (result != BUILTIN_OK) return result;
    Value *pair = BUILTIN_ARRAY(context, Value, 2, err);
    if (!pair) return BUILTIN_HALT;
    pair[0] = checked.query;
    pair[1] = value_copy(context->arena, checked.schema);      /* out of the cache */
    *out_result = value_array(pair, 2);
    return BUILTIN_OK;
}

BuiltinResult builtin_graphql_parse_and_verify(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Checked checked;
    BuiltinResult result = check(context, args, &checked, err);
    if (result == BUILTIN_HALT) return result;
    Value *parts = BUILTIN_ARRAY(context, Value, 3, err);
    if (!parts) return BUILTIN_HALT;
    bool is_valid = result == BUILTIN_OK;
    parts[0] = value_bool(is_valid);
    parts[1] = is_valid ? checked.query : value_object(context->arena, NULL, 0);
    parts[2] = is_valid ? value_copy(context->arena, checked.schema) : value_object(context->arena, NULL, 0);
    *out_result = value_array(parts, 3);
    return BUILTIN_OK;
}

BuiltinResult builtin_graphql_is_valid(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Checked checked;
    BuiltinResult result = check(context, args, &checked, err);
    if (result == BUILTIN_HALT) return result;
    *out_result = value_bool(result == BUILTIN_OK);
    return BUILTIN_OK;
}
