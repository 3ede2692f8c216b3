#include "cli/draw/reduce.h"

#include "base/limits.h"

typedef struct Search {
    const ReduceEdge *edges;
    uint32_t *need_first;               /* by node, one more than there are: places in `needs` */
    uint32_t *needs;                    /* edges by the node that they enter */
    uint32_t *ranks;                    /* by node: its place in the order */
    uint32_t *seen;                     /* by node: the last target whose search came here, plus one */
    uint32_t *stack;
    uint32_t budget;
} Search;

static void list_needs(Search *search, uint32_t edge_count, uint32_t node_count, Arena *arena)
{
    uint32_t *filled = ARENA_ARRAY(arena, uint32_t, node_count);
    search->need_first = ARENA_ARRAY(arena, uint32_t, (size_t)node_count + 1);
    search->needs = ARENA_ARRAY(arena, uint32_t, edge_count);
    for (uint32_t i = 0; i < edge_count; i++) search->need_first[search->edges[i].to + 1]++;
    for (uint32_t i = 0; i < node_count; i++) search->need_first[i + 1] += search->need_first[i];
    for (uint32_t i = 0; i < edge_count; i++) {
        uint32_t to = search->edges[i].to;
        search->needs[search->need_first[to] + filled[to]++] = i;
    }
}

/* Marks every node from which a way of two edges or more leads to the target, down to the given rank. False where the
 * budget ran out before all were found. */
static bool search_above(Search *search, uint32_t target, uint32_t rank_min)
{
    uint32_t count = 0, mark = target + 1;
    for (uint32_t i = search->need_first[target]; i < search->need_first[target + 1]; i++)
        search->stack[count++] = search->edges[search->needs[i]].from;
    while (count) {
        uint32_t node = search->stack[--count];
        for (uint32_t i = search->need_first[node]; i < search->need_first[node + 1]; i++) {
            uint32_t from = search->edges[search->needs[i]].from;
            if (search->budget == 0) return false;
            search->budget--;
            if (search->seen[from] == mark || search->ranks[from] < rank_min) continue;
            search->seen[from] = mark;
            search->stack[count++] = from;
        }
    }
    return true;
}

void reduce_edges(ReduceEdge *edges, uint32_t edge_count, const uint32_t *order, uint32_t node_count, Arena *arena)
{
    Search search = {
        .edges = edges,
        .ranks = ARENA_ARRAY(arena, uint32_t, node_count),
        .seen = ARENA_ARRAY(arena, uint32_t, node_count),
        .stack = ARENA_ARRAY(arena, uint32_t, (size_t)node_count + edge_count),
        .budget = REDUCE_STEP_COUNT_MAX,
    };
    list_needs(&search, edge_count, node_count, arena);
    for (uint32_t i = 0; i < node_count; i++) search.ranks[order[i]] = i;
    for (uint32_t node = 0; node < node_count; node++) {
        uint32_t first = search.need_first[node], end = search.need_first[node + 1], rank_min = UINT32_MAX;
        for (uint32_t i = first; i < end; i++) {
            const ReduceEdge *edge = &edges[search.needs[i]];
            if (edge->may_go && search.ranks[edge->from] < rank_min) rank_min = search.ranks[edge->from];
        }
        if (rank_min == UINT32_MAX) continue;
        if (!search_above(&search, node, rank_min)) return;
        for (uint32_t i = first; i < end; i++) {
            ReduceEdge *edge = &edges[search.needs[i]];
            edge->is_implied = edge->may_go && search.seen[edge->from] == node + 1;
        }
    }
}
