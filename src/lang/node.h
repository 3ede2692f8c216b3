/* node.h - a definition's text as a tree that remembers where everything stood.
 *
 * YAML and JSON are read into the same nodes; whatever is said about a definition afterwards can point at its line and
 * column. Scalars follow the YAML 1.2 core schema: true/false, null/~, numbers; everything else, and everything in
 * quotes, is a text (so `on`, `yes` and `1:30` are texts). Mappings keep the order they were written in.
 *
 * Owns:   nodes live in the arena given; texts too.
 * Fails:  ERR_INVALID with line and column, ERR_LIMIT by DEFINITION_SIZE_MAX, _DEPTH_MAX, _NODE_COUNT_MAX (an alias
 *         counts as everything it stands for, so a few lines cannot grow to billions of nodes).
 * Thread: pure, any.
 */
#ifndef LANG_NODE_H
#define LANG_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"
#include "value/value.h"

typedef enum NodeKind { NODE_NULL, NODE_BOOL, NODE_NUMBER, NODE_TEXT, NODE_LIST, NODE_MAP } NodeKind;

/* A scalar whose text is not the run of characters in the file: escapes, folded or indented lines. node_place() follows
 * the two side by side. */
#define NODE_SCATTERED 255u

/* A scalar that stands somewhere else than its text: only its own place is known. */
#define NODE_ELSEWHERE 254u
typedef struct Node Node;

struct Node {
    uint8_t kind;                   /* a NodeKind */
    bool truth;                     /* of a NODE_BOOL */
    uint8_t inner;                  /* where a scalar's text begins behind its place: 0 plain, 1 quoted, NODE_SCATTERED, _ELSEWHERE */
    uint32_t line, column;          /* of its first character, both from 1, in characters */
    uint32_t width;                 /* characters to underline: those of a scalar on its first line, 1 for others */
    uint32_t count;                 /* items of a list, pairs of a map, bytes of a scalar's text */
    union {
        const char *text;           /* a scalar: decoded; a NODE_NUMBER: a JSON number */
        Node *items;                /* a list; a map: key, value, key, value */
    };
};

typedef enum TextFormat { TEXT_YAML, TEXT_JSON } TextFormat;

MUST_USE Status node_read(Arena *arena, Str text, TextFormat format, Node **out_root, Error *err);
/* The same with a bound of the caller's, which has that name. */
MUST_USE Status node_read_within(Arena *arena, Str text, TextFormat format, uint64_t node_count_max, const char *limit, Node **out_root, Error *err);

static inline Str node_text(const Node *node) { return (Str){ node->text, node->count }; }
static inline bool node_is_scalar(const Node *node) { return node->kind <= NODE_TEXT; }
const char *node_kind_name(const Node *node);           /* "a text", "a number", "a list", ... */

/* Pairs of a map. */
static inline const Node *node_key(const Node *map, uint32_t index) { return &map->items[2 * index]; }
static inline const Node *node_value(const Node *map, uint32_t index) { return &map->items[2 * index + 1]; }
/* The value of that key, or NULL; a scan, for maps of few keys. */
const Node *node_get(const Node *map, const char *key);

/* The node that a JSON pointer leads to; as far as it leads. */
const Node *node_at_pointer(const Node *node, Str pointer);

/* Where the character at `offset` of a scalar's text stands in the source it was read from. */
typedef struct NodePlace {
    uint32_t line, column;
} NodePlace;
NodePlace node_place(const Node *scalar, Str source, uint32_t offset);

/* Gives every node the place in another text that it was written out of: `places` is a list of line, column and width for
 * each node in document order, the keys of maps among them. False, and nothing promised, where it does not fit the tree. */
bool node_relocate(Node *root, const Node *places);
/* The tree as a plain value, places forgotten; of equal keys the last one counts. */
Value node_to_value(Arena *arena, const Node *node);

#endif
