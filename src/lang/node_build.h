/* node_build.h - nodes collected while a text is read, for the two readers alone.
 *
 * The readers push finished nodes; closing a container takes those pushed since it was opened into one array. The work
 * stack is heap memory of the builder, the finished tree is the arena's.
 */
#ifndef LANG_NODE_BUILD_H
#define LANG_NODE_BUILD_H

#include "lang/node.h"

typedef struct NodeBuilder {
    Arena *arena;
    Node *stack;
    size_t count, capacity;
    struct { size_t mark; Node node; } open[128];       /* DEFINITION_DEPTH_MAX */
    uint32_t depth;
    uint64_t node_count;            /* with aliases counted in full */
    uint64_t node_count_max;
    const char *limit;              /* its name */
} NodeBuilder;

void node_builder_init(NodeBuilder *builder, Arena *arena);
void node_builder_deinit(NodeBuilder *builder);

/* Each refuses by the limits of definitions, with the node's place. */
MUST_USE Status node_push(NodeBuilder *builder, Node node, uint64_t size, Error *err);
MUST_USE Status node_open(NodeBuilder *builder, Node node, Error *err);
MUST_USE Status node_close(NodeBuilder *builder, Error *err);

/* The kind of a plain scalar by the YAML 1.2 core schema; a number's text is made a JSON number. ERR_INVALID for
 * .inf and .nan, which no JSON value can hold, and for numbers beyond NUMBER_EXPONENT_MAX. */
MUST_USE Status node_resolve(Arena *arena, Node *node, Error *err);

/* The readers behind node_read(). */
MUST_USE Status node_read_yaml(NodeBuilder *builder, Str text, Error *err);
MUST_USE Status node_read_json(NodeBuilder *builder, Str text, Error *err);

#endif
