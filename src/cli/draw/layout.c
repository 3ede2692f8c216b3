#include "cli/draw/layout.h"

#include <string.h>

#include "base/check.h"
#include "base/limits.h"

typedef struct Ranking {
    const LayoutGraph *graph;
    uint32_t *layers;                   /* by node */
    uint32_t *order;                    /* nodes, each after all that it has edges from */
    uint32_t *out_first;                /* by node, one more than there are: places in `outs` */
    uint32_t *outs;                     /* edges by the node that they leave */
    uint32_t *in_counts;                /* by node */
} Ranking;

static void list_edges(Ranking *ranking, Arena *arena);
static void rank_down(Ranking *ranking, Arena *arena);
static void pull_down(Ranking *ranking);
static void cut_edges(Layout *layout, const Ranking *ranking, Arena *arena);
static void list_links(Layout *layout, Arena *arena);
static void fill_layers(Layout *layout, Arena *arena);

/* A label needs a layer between the two ends of its edge. */
static uint32_t edge_length(const LayoutEdge *edge) { return edge->has_label ? 2 : 1; }

bool layout_rank(Layout *layout, const LayoutGraph *graph, Arena *arena)
{
    if (graph->node_count > LAYOUT_VERTEX_COUNT_MAX || graph->edge_count > LAYOUT_VERTEX_COUNT_MAX) return false;
    Ranking ranking = {
        .graph = graph,
        .layers = ARENA_ARRAY(arena, uint32_t, graph->node_count),
        .order = ARENA_ARRAY(arena, uint32_t, graph->node_count),
    };
    list_edges(&ranking, arena);
    rank_down(&ranking, arena);
    pull_down(&ranking);

    uint64_t vertex_count = graph->node_count, link_count = 0;
    for (uint32_t i = 0; i < graph->edge_count; i++)
        link_count += ranking.layers[graph->edges[i].to] - ranking.layers[graph->edges[i].from];
    vertex_count += link_count - graph->edge_count;
    if (vertex_count > LAYOUT_VERTEX_COUNT_MAX) return false;
    *layout = (Layout){
        .edges = graph->edges,
        .vertices = ARENA_ARRAY(arena, LayoutVertex, vertex_count),
        .links = ARENA_ARRAY(arena, LayoutLink, link_count),
    };
    cut_edges(layout, &ranking, arena);
    list_links(layout, arena);
    fill_layers(layout, arena);
    layout_order(layout, arena);
    return true;
}

uint32_t layout_width_min(const Layout *layout, const LayoutOptions *options)
{
    uint64_t most = 0;
    for (uint32_t layer = 0; layer < layout->layer_count; layer++) {
        uint64_t width = 0;
        const LayoutVertex *left = NULL;
        for (uint32_t i = layout->layer_first[layer]; i < layout->layer_first[layer + 1]; i++) {
            const LayoutVertex *vertex = &layout->vertices[layout->order[i]];
            bool is_bend = vertex->edge != LAYOUT_NONE || (left && left->edge != LAYOUT_NONE);
            width += vertex->width + (left ? is_bend ? options->bend_gap : options->gap : 0);
            left = vertex;
        }
        if (width > most) most = width;
    }
    return most > INT32_MAX ? INT32_MAX : (uint32_t)most;
}

/* --- layers ------------------------------------------------------------------------------------------------------ */

static void list_edges(Ranking *ranking, Arena *arena)
{
    const LayoutGraph *graph = ranking->graph;
    ranking->out_first = ARENA_ARRAY(arena, uint32_t, graph->node_count + 1);
    ranking->outs = ARENA_ARRAY(arena, uint32_t, graph->edge_count);
    ranking->in_counts = ARENA_ARRAY(arena, uint32_t, graph->node_count);
    uint32_t *filled = ARENA_ARRAY(arena, uint32_t, graph->node_count);
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        ranking->out_first[graph->edges[i].from + 1]++;
        ranking->in_counts[graph->edges[i].to]++;
    }
    for (uint32_t i = 0; i < graph->node_count; i++) ranking->out_first[i + 1] += ranking->out_first[i];
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        uint32_t from = graph->edges[i].from;
        ranking->outs[ranking->out_first[from] + filled[from]++] = i;
    }
}

/* The longest path from above decides: no edge is shorter than it has to be. */
static void rank_down(Ranking *ranking, Arena *arena)
{
    const LayoutGraph *graph = ranking->graph;
    uint32_t *needs = ARENA_ARRAY(arena, uint32_t, graph->node_count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        needs[i] = ranking->in_counts[i];
        if (needs[i] == 0) ranking->order[count++] = i;
    }
    for (uint32_t done = 0; done < count; done++) {
        uint32_t node = ranking->order[done];
        for (uint32_t i = ranking->out_first[node]; i < ranking->out_first[node + 1]; i++) {
            const LayoutEdge *edge = &graph->edges[ranking->outs[i]];
            uint32_t layer = ranking->layers[node] + edge_length(edge);
            if (ranking->layers[edge->to] < layer) ranking->layers[edge->to] = layer;
            if (--needs[edge->to] == 0) ranking->order[count++] = edge->to;
        }
    }
    CHECK(count == graph->node_count);              /* the edges form no cycle: whoever made them has seen to it */
}

/* A node that more edges leave than enter stands right above what needs it: all together the edges become shorter. */
static void pull_down(Ranking *ranking)
{
    for (uint32_t i = ranking->graph->node_count; i-- > 0;) {
        uint32_t node = ranking->order[i], layer = LAYOUT_NONE;
        uint32_t out_count = ranking->out_first[node + 1] - ranking->out_first[node];
        if (out_count <= ranking->in_counts[node]) continue;
        for (uint32_t e = ranking->out_first[node]; e < ranking->out_first[node + 1]; e++) {
            const LayoutEdge *edge = &ranking->graph->edges[ranking->outs[e]];
            uint32_t above = ranking->layers[edge->to] - edge_length(edge);
            if (above < layer) layer = above;
        }
        ranking->layers[node] = layer;
    }
}

/* --- links ------------------------------------------------------------------------------------------------------- */

static void cut_edges(Layout *layout, const Ranking *ranking, Arena *arena)
{
    const LayoutGraph *graph = ranking->graph;
    layout->vertex_count = graph->node_count;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        layout->vertices[i] = (LayoutVertex){ .edge = LAYOUT_NONE, .width = 1, .layer = ranking->layers[i] };
        if (layout->layer_count <= ranking->layers[i]) layout->layer_count = ranking->layers[i] + 1;
    }
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        const LayoutEdge *edge = &graph->edges[i];
        uint32_t from = edge->from, above = ranking->layers[edge->from];
        for (uint32_t layer = above + 1; layer <= ranking->layers[edge->to]; layer++) {
            uint32_t to = layer == ranking->layers[edge->to] ? edge->to : layout->vertex_count++;
            layout->links[layout->link_count++] = (LayoutLink){ .from = from, .to = to, .edge = i };
            if (to != edge->to)
                layout->vertices[to] = (LayoutVertex){
                    .edge = i, .is_label = edge->has_label && layer == above + 1, .width = 1, .layer = layer,
                };
            from = to;
        }
    }
}

static void list_links(Layout *layout, Arena *arena)
{
    layout->ins = ARENA_ARRAY(arena, uint32_t, layout->link_count);
    layout->outs = ARENA_ARRAY(arena, uint32_t, layout->link_count);
    for (uint32_t i = 0; i < layout->link_count; i++) {
        layout->vertices[layout->links[i].from].out_count++;
        layout->vertices[layout->links[i].to].in_count++;
    }
    uint32_t in_first = 0, out_first = 0;
    for (uint32_t i = 0; i < layout->vertex_count; i++) {
        LayoutVertex *vertex = &layout->vertices[i];
        vertex->in_first = in_first;
        vertex->out_first = out_first;
        in_first += vertex->in_count;
        out_first += vertex->out_count;
        vertex->in_count = vertex->out_count = 0;
    }
    for (uint32_t i = 0; i < layout->link_count; i++) {
        LayoutVertex *from = &layout->vertices[layout->links[i].from], *to = &layout->vertices[layout->links[i].to];
        layout->outs[from->out_first + from->out_count++] = i;
        layout->ins[to->in_first + to->in_count++] = i;
    }
}

/* The first order is that of a walk from the nodes at the top, each followed as deep as it goes, in the order written:
 * a tree comes out of this without a crossing. */
static void fill_layers(Layout *layout, Arena *arena)
{
    layout->order = ARENA_ARRAY(arena, uint32_t, layout->vertex_count);
    layout->layer_first = ARENA_ARRAY(arena, uint32_t, layout->layer_count + 1);
    for (uint32_t i = 0; i < layout->vertex_count; i++) layout->layer_first[layout->vertices[i].layer + 1]++;
    for (uint32_t i = 0; i < layout->layer_count; i++) layout->layer_first[i + 1] += layout->layer_first[i];

    uint32_t *filled = ARENA_ARRAY(arena, uint32_t, layout->layer_count);
    uint32_t *stack = ARENA_ARRAY(arena, uint32_t, layout->link_count + layout->vertex_count);
    bool *is_seen = ARENA_ARRAY(arena, bool, layout->vertex_count);
    uint32_t count = 0;
    for (uint32_t i = layout->vertex_count; i-- > 0;)
        if (layout->vertices[i].in_count == 0) stack[count++] = i;
    while (count) {
        uint32_t index = stack[--count];
        if (is_seen[index]) continue;
        is_seen[index] = true;
        LayoutVertex *vertex = &layout->vertices[index];
        vertex->place = filled[vertex->layer]++;
        layout->order[layout->layer_first[vertex->layer] + vertex->place] = index;
        for (uint32_t i = vertex->out_count; i-- > 0;)
            stack[count++] = layout->links[layout->outs[vertex->out_first + i]].to;
    }
}
