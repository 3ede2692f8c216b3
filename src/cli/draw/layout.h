/* layout.h - where the nodes of a graph without cycles stand: in layers from top to bottom, side by side in each.
 *
 *   1. layout_rank()    gives each node a layer below all it has edges from, and cuts edges that pass layers into links
 *                       from one layer to the next: where a link ends without a node there is a bend, which takes a
 *                       place of its own among the nodes. A label of an edge is a bend with a width, in a layer between
 *                       the two ends, so that it covers nothing. Then it orders each layer so that few links cross
 *                       (medians of neighbours, then exchanges of neighbours, a fixed number of rounds).
 *   2. the caller       sets the widths of all vertices, in its own unit: columns or pixels
 *   3. layout_place()   gives each vertex its x: long edges straight, nodes in the middle of their neighbours, nothing
 *                       overlapping. It may be called again with other widths. Heights are left to the caller.
 *
 * Integers only, ties broken by place and index: the same graph gives the same layout everywhere.
 *
 * Owns:   everything lives in the arena given.
 * Fails:  layout_rank() by returning false beyond LAYOUT_VERTEX_COUNT_MAX vertices, bends included.
 * Bounds: LAYOUT_SWEEP_COUNT rounds over all links.     Thread: pure, any.
 */
#ifndef CLI_DRAW_LAYOUT_H
#define CLI_DRAW_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

#define LAYOUT_NONE UINT32_MAX

typedef struct LayoutEdge {
    uint32_t from, to;                  /* nodes; the edges form no cycle */
    bool has_label;
    bool is_back;                       /* meets its nodes near their right ends: it stands for one that goes up */
} LayoutEdge;

typedef struct LayoutLink {
    uint32_t from, to;                  /* vertices in adjacent layers */
    uint32_t edge;
} LayoutLink;

typedef struct LayoutVertex {
    uint32_t edge;                      /* of a bend; LAYOUT_NONE for a node */
    bool is_label;                      /* a bend that holds its edge's label */
    uint32_t width;                     /* set by the caller, at least 1 */
    uint32_t layer, place;              /* from the top, from the left */
    int32_t x;                          /* left end; not below 0 */
    uint32_t in_first, in_count;        /* places in `ins`: links from above */
    uint32_t out_first, out_count;      /* places in `outs`: links to below */
} LayoutVertex;

typedef struct Layout {
    const LayoutEdge *edges;            /* of the caller */
    LayoutVertex *vertices;             /* the nodes by their index, then the bends */
    LayoutLink *links;
    uint32_t *ins, *outs;               /* links, by the vertex that they enter and leave */
    uint32_t *order;                    /* vertices, layer by layer from left to right */
    uint32_t *layer_first;              /* places in `order`; one more than there are layers */
    uint32_t vertex_count, link_count, layer_count;
    uint32_t width;                     /* of everything, after layout_place() */
} Layout;

typedef struct LayoutOptions {
    uint32_t gap;                       /* between two nodes */
    uint32_t bend_gap;                  /* beside a bend */
    uint32_t back_inset;                /* from the right end of a node to where edges that go back meet it */
    uint32_t width_max;                 /* 0 for none; else not below layout_width_min() */
} LayoutOptions;

typedef struct LayoutGraph {
    const LayoutEdge *edges;
    uint32_t node_count, edge_count;
} LayoutGraph;

bool layout_rank(Layout *layout, const LayoutGraph *graph, Arena *arena);
uint32_t layout_width_min(const Layout *layout, const LayoutOptions *options);     /* of the widest layer */
void layout_place(Layout *layout, const LayoutOptions *options, Arena *arena);

/* The column in the middle of a vertex, where its lines meet it. */
static inline int32_t layout_center(const LayoutVertex *vertex) { return vertex->x + (int32_t)(vertex->width / 2); }

/* The part of layout_rank() that orders the layers, in a file of its own. */
void layout_order(Layout *layout, Arena *arena);

#endif
