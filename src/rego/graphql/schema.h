/* schema.h - a schema document merged and found consistent. Private to this folder. */
#ifndef REGO_GRAPHQL_SCHEMA_H
#define REGO_GRAPHQL_SCHEMA_H

#include "base/map.h"
#include "rego/graphql/node.h"

struct GqlSchema {
    Arena *arena;
    GqlList types;                  /* of GqlDefinition */
    GqlList directives;             /* of GqlDirectiveDefinition */
    Map type_places, directive_places;      /* from the name to the place in the list */
    GqlDefinition *query, *mutation, *subscription;
    const GqlBudget *budget;        /* while it is being built */
};

/* ERR_LIMIT when the budget is spent. */
MUST_USE Status gql_spend(const GqlBudget *budget, uint64_t count, Error *err);

/* NULL where there is none of that name. */
GqlDefinition          *gql_schema_type(const GqlSchema *schema, Str name);
GqlDirectiveDefinition *gql_schema_directive(const GqlSchema *schema, Str name);
/* The type that operations of a kind begin with; a query where the kind is empty. */
const GqlDefinition    *gql_schema_root(const GqlSchema *schema, Str operation);

static inline bool gql_is(const GqlDefinition *definition, const char *kind)
{
    return str_is_text(definition->kind, kind);
}

bool gql_is_composite(const GqlDefinition *definition);         /* has fields or is made of types that have */
bool gql_is_input(const GqlDefinition *definition);             /* may be the type of an argument */
bool gql_is_leaf(const GqlDefinition *definition);

/* --- schema_check.c ----------------------------------------------------------------------------------------------- */

/* Writes "input:LINE:COLUMN: ..." and returns ERR_INVALID. */
Status gql_schema_refuse(Error *err, GqlPlace place, const char *format, ...) PRINTF_LIKE(3, 4);
MUST_USE Status gql_directives_check(const GqlSchema *schema, const GqlList *directives, const char *location,
                                     const GqlDirectiveDefinition *inside, bool is_single, Error *err);
/* All types, then input objects that need themselves, then all directives. */
MUST_USE Status gql_schema_check(const GqlSchema *schema, Error *err);

#endif
