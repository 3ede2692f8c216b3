/* schema_compiler.h - private to schema_*.c: what is known while a document is being compiled.
 *
 * First every subschema becomes a node with its rules (schema_compile.c). References are only noted on the way, since
 * they may lead to what is not compiled yet; they are resolved afterwards (schema_ref.c), which may bring in parts of
 * the built-in metaschema (schema_meta.c) with references of their own, until none is left.
 *
 * The compiled form lives in the caller's arena; lists and tables that only compiling needs live in `scratch`.
 */
#ifndef VALUE_SCHEMA_COMPILER_H
#define VALUE_SCHEMA_COMPILER_H

#include "base/map.h"
#include "value/schema_node.h"

typedef struct PendingRef {
    SchemaNode *node;
    Rule *rule;
    Str text;                           /* as written */
} PendingRef;

typedef struct Compiler {
    Arena *arena;
    Arena scratch;
    PatternMemory patterns;
    uint64_t weight;                    /* of what was read, at most SCHEMA_WEIGHT_MAX */
    Map keywords;                       /* from a name to the row of the table of keywords */
    Map resources;                      /* from a URI to an index of resource_list */
    SchemaResource **resource_list;
    size_t resource_count, resource_capacity;
    Map anchors;                        /* from a name to an index of anchor_list */
    AnchorName **anchor_list;
    size_t anchor_count, anchor_capacity;
    PendingRef *refs;
    size_t ref_count, ref_capacity;
    SchemaNode **nodes;
    size_t node_count, node_capacity;
    SchemaNode *strays[SCHEMA_STRAY_COUNT_MAX];
    uint32_t stray_count;
    Str *place;                         /* where the pointer of a refusal goes; may be NULL */
    Error *err;
} Compiler;

/* --- schema_compile.c -------------------------------------------------------------------------------------------- */

/* Memory of the compiled form, or NULL with the error written. */
void *compiler_alloc(Compiler *compiler, size_t size);
/* Counts work that the document demands beside its nodes. */
MUST_USE Status compiler_charge(Compiler *compiler, const SchemaNode *node, Str keyword, uint64_t weight);
/* Writes the error, its text led by the JSON pointer of node, keyword and token (empty where there are none). */
Status compiler_refuse(Compiler *compiler, const SchemaNode *node, Str keyword, Str token, Status status,
                       const char *format, ...) PRINTF_LIKE(6, 7);
/* The same for an error that was written by somebody who did not know the place. */
Status compiler_refuse_at(Compiler *compiler, const SchemaNode *node, Str keyword, Str token, Status status);
/* Makes the nodes of a whole document; `uri` is empty for the user's own. */
MUST_USE Status compiler_add_document(Compiler *compiler, Value document, Str uri, SchemaNode **out_root);
/* Makes a node, and those below it, of a place that no keyword makes a subschema. */
MUST_USE Status compiler_add_stray(Compiler *compiler, SchemaNode *parent, Str pointer, Value source,
                                   SchemaNode **out_node);

/* --- schema_ref.c ------------------------------------------------------------------------------------------------ */

/* $id, $anchor, $dynamicAnchor of a node. */
MUST_USE Status compiler_add_resource(Compiler *compiler, SchemaNode *node, Str document_uri, Str uri);
MUST_USE Status compiler_add_id(Compiler *compiler, SchemaNode *node, Value id);
MUST_USE Status compiler_add_anchor(Compiler *compiler, SchemaNode *node, Str keyword, Str name, bool is_dynamic);
MUST_USE Status compiler_add_ref(Compiler *compiler, SchemaNode *node, Rule *rule, Str text);
MUST_USE Status compiler_resolve_refs(Compiler *compiler);
/* Refuses schemas that would apply themselves to the same place for ever. */
MUST_USE Status compiler_refuse_loops(Compiler *compiler);

/* --- schema_meta.c ----------------------------------------------------------------------------------------------- */

#define SCHEMA_DIALECT "https://json-schema.org/draft/2020-12/schema"
#define SCHEMA_META_SIZE_MAX (128u * 1024)      /* more than any built-in document takes */

/* The built-in document of that URI, made in `arena`, and the URI in memory that stays; false where there is none. */
bool schema_meta_find(Arena *arena, Str uri, Str *out_uri, Value *out_document);

#endif
