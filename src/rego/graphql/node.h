/* node.h - the trees of GraphQL documents. Private to this folder.
 *
 * Members are named as in the values that policies see. What checking finds out (which definition a name refers to) is noted
 * in the tree of a query, in the members said to be found; the tree of a schema does not change once the schema is built.
 */
#ifndef REGO_GRAPHQL_NODE_H
#define REGO_GRAPHQL_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "rego/graphql/graphql.h"

/* Where a node begins; line 0 where it was not read from a text. The column of a block string may be negative. */
typedef struct GqlPlace {
    int32_t line, column;
} GqlPlace;

/* A list of nodes. */
typedef struct GqlList {
    void **items;
    uint32_t count;
    size_t capacity;
} GqlList;

/* A list of names. */
typedef struct GqlNames {
    Str *items;
    GqlPlace *places;
    uint32_t count;
    size_t capacity, place_capacity;
} GqlNames;

typedef struct GqlDefinition GqlDefinition;
typedef struct GqlVariable GqlVariable;
typedef struct GqlFragment GqlFragment;

typedef struct GqlType {
    Str name;                       /* empty where it is a list of `element` */
    struct GqlType *element;
    bool non_null;
    GqlPlace place;
} GqlType;

typedef enum GqlValueKind {
    GQL_VARIABLE, GQL_INT, GQL_FLOAT, GQL_STRING, GQL_BLOCK, GQL_BOOLEAN, GQL_NULL, GQL_ENUM, GQL_LIST, GQL_OBJECT,
} GqlValueKind;

typedef struct GqlComment {
    GqlList lines;                  /* of GqlCommentLine */
} GqlComment;

typedef struct GqlCommentLine {
    Str text;
} GqlCommentLine;

typedef struct GqlValue {
    Str raw;
    GqlList children;               /* of GqlChild: items of a list without names, members of an object */
    int64_t kind;                   /* a GqlValueKind */
    GqlComment *comment;
    GqlPlace place;
    bool expected_has_default;      /* found, like the following */
    const GqlType *expected;
    const GqlDefinition *definition;
    GqlVariable *variable;
} GqlValue;

typedef struct GqlChild {
    Str name;
    GqlValue *value;
    GqlComment *comment;
    GqlPlace place;
} GqlChild;

typedef struct GqlArgument {
    Str name;
    GqlValue *value;
    GqlComment *comment;
    GqlPlace place;
} GqlArgument;

/* --- schemas ------------------------------------------------------------------------------------------------------ */

/* A field of a type, an argument of a field or directive, or a value of an enum, which has less than the others. */
typedef struct GqlField {
    Str description, name;
    GqlList arguments;              /* of GqlField */
    GqlValue *default_value;
    GqlType *type;
    GqlList directives;             /* of GqlDirective */
    GqlComment *before, *after;
    GqlPlace place;
} GqlField;

typedef struct GqlDirectiveDefinition {
    Str description, name;
    GqlList arguments;              /* of GqlField */
    GqlNames locations;
    bool is_repeatable;
    GqlComment *before, *after;
    GqlPlace place;
} GqlDirectiveDefinition;

struct GqlDefinition {
    Str kind;                       /* "OBJECT", "SCALAR" ... */
    Str description, name;
    GqlList directives;             /* of GqlDirective */
    GqlNames interfaces;
    GqlList fields;                 /* of GqlField */
    GqlNames types;                 /* of a union */
    GqlList enum_values;            /* of GqlField */
    bool is_builtin;
    GqlComment *before, *after, *end;
    GqlPlace place;
    GqlList possible;               /* found: of GqlDefinition, the objects that a value of this type may be */
};

typedef struct GqlOperationType {
    Str operation, type;
    GqlComment *comment;
    GqlPlace place;
} GqlOperationType;

typedef struct GqlSchemaDefinition {
    Str description;
    GqlList directives;             /* of GqlDirective */
    GqlList operation_types;        /* of GqlOperationType */
    GqlComment *before, *after, *end;
    GqlPlace place;
} GqlSchemaDefinition;

struct GqlSchemaDocument {
    GqlList schema, schema_extension;       /* of GqlSchemaDefinition */
    GqlList directives;                     /* of GqlDirectiveDefinition */
    GqlList definitions, extensions;        /* of GqlDefinition */
    GqlComment *comment;
};

/* --- queries ------------------------------------------------------------------------------------------------------ */

typedef struct GqlDirective {
    Str name, location;
    GqlList arguments;              /* of GqlArgument */
    GqlPlace place;
    const GqlDirectiveDefinition *definition;       /* found, like the following */
    bool is_reported;                               /* that it may not stand here */
} GqlDirective;

struct GqlVariable {
    Str name;
    GqlType *type;
    GqlValue *default_value;
    GqlList directives;             /* of GqlDirective */
    GqlComment *comment;
    GqlPlace place;
    bool is_used;                   /* found */
    const GqlDefinition *definition;
};

typedef enum GqlSelectionKind { GQL_FIELD, GQL_SPREAD, GQL_INLINE } GqlSelectionKind;

typedef struct GqlSelection {
    GqlSelectionKind kind;
    Str alias, name;                /* of a field; the name of the fragment for a spread */
    Str type_condition;             /* of an inline fragment; may be empty */
    GqlList arguments;              /* of GqlArgument */
    GqlList directives;             /* of GqlDirective */
    GqlList selections;             /* of GqlSelection */
    GqlComment *comment;
    GqlPlace place;
    const GqlDefinition *parent;            /* found: the type that it stands in */
    const GqlField *field;                  /* of a field: its definition */
    GqlFragment *fragment;                  /* of a spread */
} GqlSelection;

typedef struct GqlOperation {
    Str operation, name;
    GqlList variables;              /* of GqlVariable */
    GqlList directives;             /* of GqlDirective */
    GqlList selections;             /* of GqlSelection */
    GqlComment *comment;
    GqlPlace place;
} GqlOperation;

struct GqlFragment {
    Str name;
    GqlList variables;              /* of GqlVariable */
    Str type_condition;
    GqlList directives;             /* of GqlDirective */
    GqlList selections;             /* of GqlSelection */
    GqlComment *comment;
    GqlPlace place;
    const GqlDefinition *definition;        /* found, like the following */
    uint32_t walk;                          /* the last walk that came through */
    bool is_used, is_in_cycle_search;
};

struct GqlQuery {
    GqlList operations;             /* of GqlOperation */
    GqlList fragments;              /* of GqlFragment */
};

/* --- helpers ------------------------------------------------------------------------------------------------------ */


void gql_list_add(Arena *arena, GqlList *list, void *item);
void gql_list_append(Arena *arena, GqlList *list, const GqlList *more);
void gql_names_add(Arena *arena, GqlNames *names, Str name, GqlPlace place);
bool gql_names_have(const GqlNames *names, Str name);

/* The item whose name is that, or NULL. */
GqlField    *gql_field_find(const GqlList *fields, Str name);
GqlArgument *gql_argument_find(const GqlList *arguments, Str name);

/* The name inside all brackets. */
Str  gql_type_name(const GqlType *type);

#endif
