/* graph.h - directed graphs of jobs, artifacts and steps: cycles, order, ancestry.
 *
 * Owns:   arrays in the arena given to graph_build().
 * Fails:  never; the caller bounds the number of nodes and edges.     Thread: one at a time (searching uses marks).
 */
#ifndef LANG_GRAPH_H
#define LANG_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

typedef struct GraphEdge {
    uint32_t from, to;
} GraphEdge;

/* What one walk in depth says of a node. Whoever is entered and left inside another was reached from it: that decides most
 * questions with yes. `low` is the least leave-time of all that can be reached: a node left before it, or after this one,
 * cannot be reached, which decides most others with no. Walks in different orders decide different questions. */
typedef struct GraphLabel {
    uint32_t enter, leave, low;
} GraphLabel;

#define GRAPH_LABEL_COUNT 3u

/* Everything that one node reaches, a bit each. */
typedef struct GraphReach {
    uint32_t from;
    uint64_t *bits;                 /* NULL: unused */
} GraphReach;

#define GRAPH_REACH_COUNT 8u

typedef struct Graph {
    Arena *arena;
    uint32_t count;
    const uint32_t *first;          /* count + 1 entries: where each node's successors begin in `next` */
    const uint32_t *next;
    uint32_t *order;                /* a topological order, and each node's place in it; NULL before graph_sort() */
    uint32_t *place;
    GraphLabel *labels[GRAPH_LABEL_COUNT];
    uint32_t *stack, *mark, mark_now;   /* of searches */
    GraphReach reaches[GRAPH_REACH_COUNT];  /* all that some nodes reach, for those that are asked about again and again */
    uint32_t reach_next;
} Graph;

void graph_build(Graph *graph, Arena *arena, uint32_t count, const GraphEdge *edges, uint32_t edge_count);

/* Calls `visit` with one cycle for each knot of the graph: the nodes in order, from the smallest; the last leads back to
 * the first. Returns how many there are. */
typedef void (*CycleVisit)(void *context, const uint32_t *nodes, uint32_t count);
uint32_t graph_cycles(Graph *graph, CycleVisit visit, void *context);

/* For a graph without cycles: makes graph_reaches() possible. */
void graph_sort(Graph *graph);
/* Whether a way of one or more edges leads from one node to the other. Constant time where a label or the order decides;
 * else a short search among the nodes that no label rules out; else everything the first node reaches is kept for the next
 * question about it. */
bool graph_reaches(Graph *graph, uint32_t from, uint32_t to);

#endif
