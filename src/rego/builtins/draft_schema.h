/* draft_schema.h - JSON Schema as OPA understands it: drafts 4, 6 and 7, or what all three allow.
 *
 * value/schema.h checks what Maestro itself agrees upon, by the newest draft alone. Policies bring schemas written for OPA,
 * whose drafts differ from it in meaning (items and additionalItems, $ref without siblings, dependencies, formats that
 * refuse), and whose violations are data that policies read. So this is a second reader of schemas, bound to OPA's words.
 * Without $schema, or with one that is none of the three, a schema is read as a hybrid of them.
 *
 * Owns:   nothing; a DraftSchema lives in the arena given to draft_compile(), with a copy of what it needs of the document.
 * Fails:  draft_compile() with BUILTIN_ERROR and OPA's words. References lead to places of the document itself; any other
 *         would need the network and is refused.
 * Bounds: DRAFT_NODE_COUNT_MAX subschemas, DRAFT_DEPTH_MAX applied inside one another, the budget of the evaluation.
 * Thread: a schema holds working memory for its patterns and so belongs to one thread at a time.
 */
#ifndef REGO_BUILTINS_DRAFT_SCHEMA_H
#define REGO_BUILTINS_DRAFT_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

#include "rego/builtins/builtin.h"
#include "rego/regex/regex.h"
#include "value/divisor.h"

typedef struct DraftNode DraftNode;

typedef struct DraftNodes {
    DraftNode **items;
    size_t count, capacity;
} DraftNodes;

/* A subschema for members of one name or pattern, or a dependency of one member. */
typedef struct DraftMember {
    Str name;
    RegexMachine *pattern;          /* of patternProperties */
    DraftNode *node;                /* NULL for a dependency on members */
    Value names;                    /* of which it depends: an array of strings */
} DraftMember;

typedef struct DraftMembers {
    DraftMember *items;
    size_t count, capacity;
} DraftMembers;

/* Whether something may be there at all, and if so what it has to be. */
typedef struct DraftRest {
    bool is_given, is_allowed;
    DraftNode *node;                /* NULL where it is a plain yes or no */
} DraftRest;

/* An absent number is null, an absent count -1, other absent things NULL or empty. */
struct DraftNode {
    uint8_t draft;                  /* 4, 6, 7 or DRAFT_HYBRID */
    bool is_constant, constant;     /* the schema true or false */
    DraftNode *ref;                 /* alone decides where it is given */
    Value types;                    /* an array of names */
    DraftMembers properties, pattern_properties, dependencies;
    DraftRest additional_properties, additional_items;
    DraftNode *property_names, *contains, *not, *if_node, *then_node, *else_node;
    DraftNodes items, one_of, any_of, all_of;
    bool items_are_single, unique_items;
    Value multiple_of, minimum, maximum, exclusive_minimum, exclusive_maximum;
    const Divisor *divisor;
    int64_t min_length, max_length, min_items, max_items, min_properties, max_properties;
    RegexMachine *pattern;
    Str pattern_text, format;
    Value required;                 /* an array of strings */
    bool has_const, has_enum;
    Value constant_value, choices;  /* const, and the array of enum */
};

#define DRAFT_HYBRID UINT8_MAX

typedef struct DraftSchema {
    DraftNode *root;
    uint64_t steps;                 /* that reading and compiling took: charged again where it is found in the cache */
} DraftSchema;

/* `document` must be JSON: no sets, no keys but strings. */
BuiltinResult draft_compile(BuiltinContext *context, Arena *arena, Value document, DraftSchema **out_schema, Error *err);
/* All violations as [{"error", "type", "field", "desc"}, ...]. */
BuiltinResult draft_check(BuiltinContext *context, const DraftSchema *schema, Value instance, Value *out_errors, Error *err);

/* --- draft_format.c ----------------------------------------------------------------------------------------------- */

/* True for formats that nobody knows. BUILTIN_HALT when the budget is spent. */
BuiltinResult draft_format_check(BuiltinContext *context, Str format, Str text, bool *out_matches, Error *err);

#endif
