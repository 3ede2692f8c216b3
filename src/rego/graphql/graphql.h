/* graphql.h - GraphQL documents: read, shown as values, and checked against a schema (the specification of October 2021).
 *
 * Two kinds of documents: a query document (operations and fragments) and a schema document (types and directives). Both
 * become trees, and a tree becomes the value that OPA shows for it, so that policies written for OPA find the members they
 * know; such a value can be read back into a tree. A schema is what a schema document amounts to once extensions are merged
 * and everything is found consistent. A query is checked against a schema by all rules of the specification.
 *
 *   text --graphql_query_parse--> GqlQuery --graphql_query_value--> Value --graphql_query_read--> GqlQuery
 *   GqlSchemaDocument --graphql_schema_build--> GqlSchema         GqlSchema + GqlQuery --graphql_query_check--> verdict
 *
 * Owns:   nothing; everything lives in the arena given. Trees borrow the texts they were read from.
 * Fails:  ERR_INVALID with OPA's words, such as "Expected Name, found { in GraphQL string at location 1:10"; ERR_LIMIT when
 *         the budget is spent, and where a text or value nests too deep.
 * Bounds: GRAPHQL_DEPTH_MAX levels of nesting, the caller's budget of steps for checking.     Thread: one at a time.
 */
#ifndef REGO_GRAPHQL_GRAPHQL_H
#define REGO_GRAPHQL_GRAPHQL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"
#include "value/value.h"

typedef struct GqlQuery GqlQuery;
typedef struct GqlSchemaDocument GqlSchemaDocument;
typedef struct GqlSchema GqlSchema;

typedef struct GqlBudget {
    uint64_t *steps_left;
    uint64_t step_count_max;        /* what they began with, for the refusal */
    const atomic_bool *stop;          /* may be NULL */
} GqlBudget;

MUST_USE Status graphql_query_parse(Arena *arena, Str text, GqlQuery **out_query, Error *err);
MUST_USE Status graphql_query_read(Arena *arena, Value value, GqlQuery **out_query, Error *err);
Value graphql_query_value(Arena *arena, const GqlQuery *query);

MUST_USE Status graphql_schema_parse(Arena *arena, Str text, GqlSchemaDocument **out_document, Error *err);
MUST_USE Status graphql_schema_read(Arena *arena, Value value, GqlSchemaDocument **out_document, Error *err);
Value graphql_schema_value(Arena *arena, const GqlSchemaDocument *document);
/* Takes the document: its definitions become part of the schema. */
MUST_USE Status graphql_schema_build(Arena *arena, GqlSchemaDocument *document, const GqlBudget *budget,
                                     GqlSchema **out_schema, Error *err);

/* OK where the query breaks no rule; else ERR_INVALID with all violations in the order they were found. Notes what it finds
 * out in the query's tree, so that a query is checked once. */
MUST_USE Status graphql_query_check(Arena *arena, const GqlSchema *schema, GqlQuery *query, const GqlBudget *budget,
                                    Error *err);

#endif
