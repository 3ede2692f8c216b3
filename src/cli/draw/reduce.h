/* reduce.h - edges that say nothing new: where another way leads from the one end to the other.
 *
 * The edges of a graph without cycles that may go are marked as implied where the rest of the graph connects their ends
 * all the same. Leaving out all that are marked changes nothing about what comes before what.
 *
 * Owns:   nothing.     Fails: never.     Thread: pure, any.
 * Bounds: REDUCE_STEP_COUNT_MAX visits; an edge that was not reached by then is not marked.
 */
#ifndef CLI_DRAW_REDUCE_H
#define CLI_DRAW_REDUCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

typedef struct ReduceEdge {
    uint32_t from, to;
    bool may_go;
    bool is_implied;                    /* out */
} ReduceEdge;

/* `order` holds the nodes, each after all that it has edges from. */
void reduce_edges(ReduceEdge *edges, uint32_t edge_count, const uint32_t *order, uint32_t node_count, Arena *arena);

#endif
