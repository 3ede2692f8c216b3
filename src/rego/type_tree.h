/* type_tree.h - the types of rules by their path below data, in layers.
 *
 * The policy has one tree that its rules are put into as they are checked. An expression with `with` sees it through
 * further layers, which say what is known of the documents it replaces and of the rules that read them. A lookup that a
 * layer knows nothing of goes on in the one below; what no layer knows is anything, since base data may lie there.
 *
 * Owns:   nothing; nodes live in the arena given.
 * Fails:  never.     Bounds: the depth of a path, REGO_PATH_COUNT_MAX.     Thread: one writer, then any readers.
 */
#ifndef REGO_TYPE_TREE_H
#define REGO_TYPE_TREE_H

#include "rego/types.h"

typedef struct TypeNode TypeNode;
struct TypeNode {
    Value key;
    const Type *type;           /* NULL: only what lies below it is known */
    TypeNode **children;        /* sorted by key */
    size_t count, capacity;
};

typedef struct TypeLayer TypeLayer;
struct TypeLayer {
    const TypeNode *root;       /* data itself */
    const TypeLayer *next;      /* or NULL */
};

/* One key of a reference: a constant, or something of a type that may not be known. */
typedef struct TypeKey {
    bool is_constant;
    Value value;
} TypeKey;

TypeNode *type_node_child(const TypeNode *node, Value key);     /* or NULL */
/* Whatever was there is replaced. */
void type_tree_put(Arena *arena, TypeNode *root, const Value *path, uint32_t count, const Type *type);
/* A rule of that type: merged with what other rules gave, there and in objects above and below. */
void type_tree_insert(Arena *arena, TypeNode *root, const Value *path, uint32_t count, const Type *type);

/* The whole document at a node: an object whose known members are those below it, and which may have others. */
const Type *type_node_extent(Arena *arena, const TypeNode *node);
/* What a reference into data is; `keys` are those behind data. */
const Type *type_layer_select(Arena *arena, const TypeLayer *layer, const TypeKey *keys, uint32_t count);

#endif
