/* schema_node.h - private to schema_*.c: the compiled form of a JSON Schema.
 *
 *   Schema --> node (a subschema) --> rules, in the order they are checked
 *                                 --> sets of child nodes, one for each keyword that holds subschemas
 *
 * A rule holds what one keyword demands, or what several demand together because one is meaningless without the others
 * (if, then, else). Sets exist so that a JSON pointer can be followed from node to node; rules point to the same sets.
 * A node never copies names or paths: it knows its parent, the set it belongs to and its place there, from which its
 * JSON pointer is written when somebody asks.
 */
#ifndef VALUE_SCHEMA_NODE_H
#define VALUE_SCHEMA_NODE_H

#include "base/buf.h"
#include "value/divisor.h"
#include "value/pattern.h"
#include "value/schema.h"

typedef struct SchemaNode SchemaNode;
typedef struct NodeSet NodeSet;

/* In the order of checking: what is cheap first, what needs to know what the others have seen last. */
typedef enum RuleKind {
    RULE_TYPE,
    RULE_CONST,
    RULE_ENUM,
    RULE_MINIMUM,
    RULE_MAXIMUM,
    RULE_EXCLUSIVE_MINIMUM,
    RULE_EXCLUSIVE_MAXIMUM,
    RULE_MULTIPLE_OF,
    RULE_MIN_LENGTH,
    RULE_MAX_LENGTH,
    RULE_PATTERN,
    RULE_MIN_ITEMS,
    RULE_MAX_ITEMS,
    RULE_UNIQUE_ITEMS,
    RULE_MIN_PROPERTIES,
    RULE_MAX_PROPERTIES,
    RULE_REQUIRED,
    RULE_DEPENDENT_REQUIRED,
    RULE_PROPERTY_NAMES,
    RULE_MEMBERS,               /* properties, patternProperties, additionalProperties */
    RULE_ITEMS,                 /* prefixItems, items */
    RULE_CONTAINS,              /* contains, minContains, maxContains */
    RULE_REF,
    RULE_DYNAMIC_REF,
    RULE_ALL_OF,
    RULE_ANY_OF,
    RULE_ONE_OF,
    RULE_NOT,
    RULE_CONDITION,             /* if, then, else */
    RULE_DEPENDENT_SCHEMAS,
    RULE_UNEVALUATED_ITEMS,
    RULE_UNEVALUATED_PROPERTIES,
    RULE_COUNT,
    RULE_NONE = RULE_COUNT      /* of keywords that demand nothing */
} RuleKind;

/* A part of the document with a URI of its own. */
typedef struct SchemaResource {
    Str uri;                    /* without fragment; empty for a document without $id */
    Str document_uri;           /* of the built-in document it is part of; empty for the user's */
    SchemaNode *root;
} SchemaResource;

/* All places of one anchor name; a name has at most one in each resource. */
typedef struct AnchorPlace {
    const SchemaResource *resource;
    SchemaNode *node;
    struct AnchorPlace *next;
} AnchorPlace;

typedef struct AnchorName {
    AnchorPlace *fixed, *dynamic;       /* of $anchor and of $dynamicAnchor */
} AnchorName;

typedef enum SetShape { SET_SINGLE, SET_LIST, SET_MAP } SetShape;

typedef struct NodeChild {
    Str name;                   /* of a SET_MAP, sorted */
    SchemaNode *node;
} NodeChild;

struct NodeSet {
    Str keyword;
    SetShape shape;
    uint32_t count;
    NodeChild *items;
    NodeSet *next;              /* of the same node */
};

typedef struct Rule {
    RuleKind kind;
    union {
        uint32_t types;                                 /* a bit for each TypeBit */
        struct { Value value; uint64_t weight; } constant;      /* an enum's value is a set */
        Value limit;                                    /* of numbers */
        const Divisor *divisor;
        uint64_t count;
        const Pattern *pattern;
        Value names;                                    /* required: array; dependentRequired: object of arrays */
        SchemaNode *node;                         /* of a single subschema or a $ref */
        const NodeSet *set;
        struct { const NodeSet *named, *patterned; const Pattern **patterns; SchemaNode *rest; } members;
        struct { const NodeSet *prefix; SchemaNode *rest; } items;
        struct { SchemaNode *node; uint64_t min, max; } contains;
        struct { SchemaNode *condition, *then, *otherwise; } branch;
        struct { SchemaNode *node; const AnchorName *name; } dynamic;     /* name is NULL for a plain reference */
    };
} Rule;

typedef enum TypeBit {
    TYPE_NULL = 1u << 0,
    TYPE_BOOLEAN = 1u << 1,
    TYPE_OBJECT = 1u << 2,
    TYPE_ARRAY = 1u << 3,
    TYPE_NUMBER = 1u << 4,
    TYPE_STRING = 1u << 5,
    TYPE_INTEGER = 1u << 6,
} TypeBit;
#define TYPE_COUNT 7u

struct SchemaNode {
    const SchemaNode *parent;           /* NULL for the root of a document */
    const NodeSet *set;                 /* the parent's set it is in; NULL for a root and for a stray */
    Str stray;                          /* JSON pointer from the parent, where no keyword makes the place a subschema */
    uint32_t set_index;
    uint32_t depth;                     /* below its document's root */
    const SchemaResource *resource;
    Value source;                       /* a boolean or an object */
    NodeSet *sets;
    Rule *rules;
    uint32_t rule_count;
    bool has_unevaluated;               /* wants to know what other keywords have evaluated */
    uint8_t walk;                       /* of the search for loops; nothing to the checker */
};

struct Schema {
    const SchemaNode *root;
};

const NodeChild *node_set_find(const NodeSet *set, Str name);
/* The place of the node, then "/keyword" and "/token" where they are not empty. */
void node_pointer_print(Buf *buf, const SchemaNode *node, Str keyword, Str token);
/* What comparing the value with another costs at most, in steps; counting stops beyond `weight_max`, since a value may
 * hold the same part many times. */
uint64_t value_weight(Value value, uint64_t weight_max);
/* The value in a few words: 3, "text", an empty array, an object of 2 members. */
void value_describe(Buf *buf, Value value);

#endif
