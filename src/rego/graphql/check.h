/* check.h - a query walked against a schema. Private to this folder.
 *
 * The walk goes through the operations, then the fragments. At each node it notes what the names refer to and then lets the
 * rules look, in the order of the rules' names; so violations come in OPA's order.
 */
#ifndef REGO_GRAPHQL_CHECK_H
#define REGO_GRAPHQL_CHECK_H

#include "base/buf.h"
#include "base/map.h"
#include "rego/graphql/schema.h"

typedef struct GqlOverlap GqlOverlap;

typedef struct GqlCheck {
    Arena *arena;
    const GqlSchema *schema;
    GqlQuery *query;
    const GqlBudget *budget;
    GqlOperation *operation;            /* being walked, NULL in the fragments */
    Map fragment_places;                /* from the name to the first fragment of it */
    uint32_t walk;                      /* counts operations and fragments begun */
    uint32_t depth;
    Map fragments_seen, operations_seen;    /* names that were met before */
    bool in_fragments;
    GqlOverlap *overlap;                /* made when first needed, like the following */
    struct CycleSearch *cycles;
    Buf messages;                       /* all violations, one a line */
    GqlPlace first_place;               /* of the first violation */
    size_t first_size;                  /* of what stands before its text */
    uint32_t count;
    Status status;                      /* ERR_LIMIT when the budget is spent; then nothing more is done */
    Error *err;
} GqlCheck;

/* Takes steps; false where there are none left. */
bool gql_check_spend(GqlCheck *check, uint64_t count);
bool gql_check_enter(GqlCheck *check);
void gql_check_leave(GqlCheck *check);

/* A violation is written between the two: begin, write to check->messages, end. */
void gql_violation_begin(GqlCheck *check, GqlPlace place);
void gql_violation_end(GqlCheck *check);
void gql_violation(GqlCheck *check, GqlPlace place, const char *format, ...) PRINTF_LIKE(3, 4);
/* " Did you mean "a" or "b"?" where one of the names is near. */
void gql_violation_suggest(GqlCheck *check, const char *prefix, Str typed, const Str *names, size_t count, bool quoted);

GqlFragment *gql_fragment_find(const GqlCheck *check, Str name);
bool gql_type_is_compatible(const GqlType *type, const GqlType *other);
Str *gql_field_names(Arena *arena, const GqlList *fields);      /* for suggestions */

/* What the rules look at; each calls those of its kind. */
void gql_rules_operation(GqlCheck *check, GqlOperation *operation);
void gql_rules_variable(GqlCheck *check, GqlVariable *variable);
void gql_rules_fragment(GqlCheck *check, GqlFragment *fragment);
void gql_rules_field(GqlCheck *check, GqlSelection *field);
void gql_rules_inline(GqlCheck *check, GqlSelection *fragment);
void gql_rules_spread(GqlCheck *check, GqlSelection *spread);
void gql_rules_directive(GqlCheck *check, GqlDirective *directive);
void gql_rules_directives(GqlCheck *check, const GqlList *directives);
void gql_rules_value(GqlCheck *check, GqlValue *value);

/* --- rule_values.c, rule_overlap.c -------------------------------------------------------------------------------- */

void gql_rule_values_of_correct_type(GqlCheck *check, GqlValue *value);
/* Fields under one name in the answer must be the same field with the same arguments. */
void gql_rule_overlapping_fields(GqlCheck *check, const GqlList *selections);

#endif
