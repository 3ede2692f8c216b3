#include "rego/type_tree.h"

#include <string.h>

#include "base/limits.h"

/* --- nodes ------------------------------------------------------------------------------------------------------- */

static size_t child_place(const TypeNode *node, Value key, bool *out_found)
{
    size_t low = 0, high = node->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = value_compare(node->children[middle]->key, key);
        if (order == 0) {
            *out_found = true;
            return middle;
        }
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    *out_found = false;
    return low;
}

TypeNode *type_node_child(const TypeNode *node, Value key)
{
    bool found;
    size_t at = child_place(node, key, &found);
    return found ? node->children[at] : NULL;
}

static TypeNode *child_add(Arena *arena, TypeNode *node, Value key)
{
    bool found;
    size_t at = child_place(node, key, &found);
    if (found) return node->children[at];
    TypeNode *child = ARENA_NEW(arena, TypeNode);
    child->key = key;
    node->children = arena_grow(arena, node->children, sizeof *node->children, node->count, &node->capacity);
    memmove(node->children + at + 1, node->children + at, (node->count - at) * sizeof *node->children);
    node->children[at] = child;
    node->count++;
    return child;
}

void type_tree_put(Arena *arena, TypeNode *root, const Value *path, uint32_t count, const Type *type)
{
    for (uint32_t i = 0; i < count; i++) root = child_add(arena, root, path[i]);
    root->type = type;
}

/* --- rules ------------------------------------------------------------------------------------------------------- */

/* The object with a further member somewhere inside it, which is known by the type of its keys alone. */
static const Type *object_insert(Arena *arena, const Type *object, const Value *path, uint32_t count, const Type *type)
{
    if (!count) return object;
    const Type *key = type_of_value(arena, path[0]);
    if (count > 1) type = object_insert(arena, type_object(arena, NULL, NULL, 0), path + 1, count - 1, type);
    if (object->is_open) {
        key = type_or(arena, object->key, key);
        type = type_or(arena, object->rest, type);
    }
    return type_object_open(arena, object, key, type);
}

typedef struct Path {
    Value *keys;
    size_t count, capacity;
} Path;

static const Type *object_insert_below(Arena *arena, const Type *object, const TypeNode *node, Path *path)
{
    for (size_t i = 0; i < node->count; i++) {
        const TypeNode *child = node->children[i];
        path->keys = arena_grow(arena, path->keys, sizeof *path->keys, path->count, &path->capacity);
        path->keys[path->count++] = child->key;
        object = child->type ? object_insert(arena, object, path->keys, (uint32_t)path->count, child->type)
                             : object_insert_below(arena, object, child, path);
        path->count--;
    }
    return object;
}

void type_tree_insert(Arena *arena, TypeNode *root, const Value *path, uint32_t count, const Type *type)
{
    for (uint32_t i = 0; i < count; i++) {
        root = child_add(arena, root, path[i]);
        if (root->type && root->type->kind == TYPE_OBJECT && i + 1 < count)
            root->type = object_insert(arena, root->type, path + i + 1, count - i - 1, type);
    }
    root->type = type_merge(arena, root->type, type);
    if (!root->count || type->kind != TYPE_OBJECT || root->type->kind != TYPE_OBJECT) return;
    Path below = { 0 };
    root->type = object_insert_below(arena, root->type, root, &below);
}

/* --- lookups ----------------------------------------------------------------------------------------------------- */

/* `left` bounds the nodes looked at: of more than that the type would be too heavy to be kept anyway. */
static const Type *extent_of(Arena *arena, const TypeNode *node, size_t *left)
{
    if (node->type) return node->type;
    if (node->count >= *left) return &rego_type_any;
    *left -= node->count;
    Value *keys = ARENA_ARRAY(arena, Value, node->count + 1);
    const Type **items = ARENA_ARRAY(arena, const Type *, node->count + 1);
    uint32_t count = 0;
    for (size_t i = 0; i < node->count; i++) {
        ValueKind kind = (ValueKind)node->children[i]->key.kind;
        if (kind == VALUE_NULL || kind > VALUE_STRING) continue;
        keys[count] = node->children[i]->key;
        items[count++] = extent_of(arena, node->children[i], left);
    }
    return type_object_open(arena, type_object(arena, keys, items, count), &rego_type_string, &rego_type_any);
}

const Type *type_node_extent(Arena *arena, const TypeNode *node)
{
    size_t left = REGO_TYPE_WEIGHT_MAX;
    return extent_of(arena, node, &left);
}

static const Type *type_follow(Arena *arena, const Type *type, const TypeKey *keys, uint32_t count)
{
    for (uint32_t i = 0; type && i < count; i++) {
        bool is_scalar = keys[i].is_constant && keys[i].value.kind <= VALUE_STRING;
        type = is_scalar ? type_select(arena, type, keys[i].value) : type_values(arena, type);
    }
    return type;
}

const Type *type_layer_select(Arena *arena, const TypeLayer *layer, const TypeKey *keys, uint32_t count)
{
    for (; layer; layer = layer->next) {
        const TypeNode *node = layer->root;
        if (!node->type && !node->count) continue;
        uint32_t i = 0;
        for (;;) {
            if (i == count) return type_node_extent(arena, node);
            const TypeNode *child = keys[i].is_constant ? type_node_child(node, keys[i].value) : NULL;
            if (!child && node->type) return type_follow(arena, node->type, keys + i, count - i);
            if (!keys[i].is_constant) return type_follow(arena, type_node_extent(arena, node), keys + i, count - i);
            if (!child) break;
            node = child;
            i++;
        }
    }
    return &rego_type_any;
}
