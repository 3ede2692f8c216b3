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

typedef struct Graph {
    Arena *arena;
    uint32_t count;
    const uint32_t *first;          /* count + 1 entries: where each node's successors begin in `next` */
    const uint32_t *next;
    uint32_t *order;                /* a topological order, and each node's place in it; NULL before graph_sort() */
    uint32_t *place;
    uint32_t *enter, *leave;        /* of a walk over a spanning forest: a shortcut for ancestry */
    uint32_t *stack, *mark, mark_now;   /* of searches */
} Graph;

void graph_build(Graph *graph, Arena *arena, uint32_t count, const GraphEdge *edges, uint32_t edge_count);

/* Calls `visit` with one cycle for each knot of the graph: the nodes in order, from the smallest; the last leads back to
 * the first. Returns how many there are. */
typedef void (*CycleVisit)(void *context, const uint32_t *nodes, uint32_t count);
uint32_t graph_cycles(Graph *graph, CycleVisit visit, void *context);

/* For a graph without cycles: makes graph_reaches() possible. */
void graph_sort(Graph *graph);
/* Whether a way of one or more edges leads from one node to the other. Constant time where the walk's tree or the order
 * decides, else a search among the nodes between the two. */
bool graph_reaches(Graph *graph, uint32_t from, uint32_t to);

#endif
