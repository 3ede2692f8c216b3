#include "lang/node.h"

#include "base/check.h"
#include "value/number.h"

const char *node_kind_name(const Node *node)
{
    static const char *const names[] = {
        [NODE_NULL] = "nothing", [NODE_BOOL] = "a boolean", [NODE_NUMBER] = "a number",
        [NODE_TEXT] = "a text",  [NODE_LIST] = "a list",        [NODE_MAP] = "a mapping",
    };
    return names[node->kind];
}

const Node *node_get(const Node *map, const char *key)
{
    if (map->kind != NODE_MAP) return NULL;
    for (uint32_t i = 0; i < map->count; i++)
        if (str_is_text(node_text(node_key(map, i)), key)) return node_value(map, i);
    return NULL;
}

/* One token of a pointer against a key: ~0 is ~ and ~1 is /. */
static bool token_is(Str token, Str key)
{
    size_t at = 0;
    for (size_t i = 0; i < token.len; i++, at++) {
        char c = token.ptr[i];
        if (c == '~' && i + 1 < token.len) c = token.ptr[++i] == '1' ? '/' : '~';
        if (at >= key.len || key.ptr[at] != c) return false;
    }
    return at == key.len;
}

static const Node *step_into(const Node *node, Str token)
{
    uint64_t index;
    if (node->kind == NODE_LIST && str_to_u64(token, &index) && index < node->count) return &node->items[index];
    for (uint32_t i = 0; node->kind == NODE_MAP && i < node->count; i++)
        if (token_is(token, node_text(node_key(node, i)))) return node_value(node, i);
    return NULL;
}

const Node *node_at_pointer(const Node *node, Str pointer)
{
    size_t at = 0;
    while (at < pointer.len && pointer.ptr[at] == '/') {
        size_t end = str_find(pointer, '/', at + 1);
        const Node *next = step_into(node, str_slice(pointer, at + 1, end));
        if (!next) return node;
        node = next;
        at = end;
    }
    return node;
}

Value node_to_value(Arena *arena, const Node *node)
{
    switch ((NodeKind)node->kind) {
    case NODE_NULL:
        return value_null();
    case NODE_BOOL:
        return value_bool(node->truth);
    case NODE_NUMBER:
        return number_make(arena, node_text(node));
    case NODE_TEXT:
        return value_string(node_text(node));
    case NODE_LIST: {
        Value *items = ARENA_ARRAY(arena, Value, node->count);
        for (uint32_t i = 0; i < node->count; i++) items[i] = node_to_value(arena, &node->items[i]);
        return value_array(items, node->count);
    }
    case NODE_MAP: {
        Member *members = ARENA_ARRAY(arena, Member, node->count);
        for (uint32_t i = 0; i < node->count; i++)
            members[i] =
                (Member){ value_string(node_text(node_key(node, i))), node_to_value(arena, node_value(node, i)) };
        return value_object(arena, members, node->count);
    }
    }
    CHECK(!"a kind of node");
    return value_null();
}
