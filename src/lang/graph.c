#include "lang/graph.h"

#include <string.h>

#include "base/check.h"

#define NONE UINT32_MAX

void graph_build(Graph *graph, Arena *arena, uint32_t count, const GraphEdge *edges, uint32_t edge_count)
{
    uint32_t *first = ARENA_ARRAY(arena, uint32_t, (size_t)count + 1);
    uint32_t *next = ARENA_ARRAY(arena, uint32_t, edge_count);
    for (uint32_t i = 0; i < edge_count; i++) first[edges[i].from + 1]++;
    for (uint32_t i = 0; i < count; i++) first[i + 1] += first[i];
    uint32_t *fill = ARENA_ARRAY(arena, uint32_t, count);
    for (uint32_t i = 0; i < edge_count; i++) next[first[edges[i].from] + fill[edges[i].from]++] = edges[i].to;
    *graph = (Graph){ .arena = arena, .count = count, .first = first, .next = next };
    graph->mark = ARENA_ARRAY(arena, uint32_t, count);
    graph->stack = ARENA_ARRAY(arena, uint32_t, count);
}

/* --- cycles ------------------------------------------------------------------------------------------------------- */

typedef struct Frame {
    uint32_t node, edge;
} Frame;

/* Tarjan's components, without recursion: `part[n]` becomes the number of n's component. */
typedef struct Components {
    uint32_t *index, *low, *part, *stack, *size;
    Frame *frames;
    uint32_t stack_count, frame_count, index_next, part_count;
} Components;

static void component_enter(Components *c, uint32_t node)
{
    c->index[node] = c->low[node] = ++c->index_next;
    c->stack[c->stack_count++] = node;
    c->frames[c->frame_count++] = (Frame){ node, 0 };
}

static void component_close(Components *c, uint32_t node)
{
    uint32_t size = 0, member;
    do {
        member = c->stack[--c->stack_count];
        c->part[member] = c->part_count;
        size++;
    } while (member != node);
    c->size[c->part_count++] = size;
}

static void component_walk(const Graph *graph, Components *c, uint32_t root)
{
    component_enter(c, root);
    while (c->frame_count) {
        Frame *frame = &c->frames[c->frame_count - 1];
        uint32_t node = frame->node;
        if (graph->first[node] + frame->edge < graph->first[node + 1]) {
            uint32_t next = graph->next[graph->first[node] + frame->edge++];
            if (!c->index[next]) component_enter(c, next);
            else if (c->part[next] == NONE && c->index[next] < c->low[node]) c->low[node] = c->index[next];
            continue;
        }
        c->frame_count--;
        if (c->frame_count) {
            uint32_t parent = c->frames[c->frame_count - 1].node;
            if (c->low[node] < c->low[parent]) c->low[parent] = c->low[node];
        }
        if (c->low[node] == c->index[node]) component_close(c, node);
    }
}

/* The shortest cycle through `start` within its component: breadth first, back along the way it was found. */
static uint32_t cycle_find(const Graph *graph, const Components *c, uint32_t start, uint32_t *came, uint32_t *queue,
                           uint32_t *out)
{
    uint32_t head = 0, tail = 0, last = NONE;
    queue[tail++] = start;
    while (head < tail && last == NONE) {
        uint32_t node = queue[head++];
        for (uint32_t e = graph->first[node]; e < graph->first[node + 1] && last == NONE; e++) {
            uint32_t next = graph->next[e];
            if (next == start) last = node;
            if (next == start || c->part[next] != c->part[start] || came[next] != NONE) continue;
            came[next] = node;
            queue[tail++] = next;
        }
    }
    CHECK(last != NONE);
    uint32_t count = 0;
    for (uint32_t node = last; node != start; node = came[node]) out[count++] = node;
    out[count++] = start;
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t swap = out[i];
        out[i] = out[count - 1 - i];
        out[count - 1 - i] = swap;
    }
    return count;
}

static bool has_self_edge(const Graph *graph, uint32_t node)
{
    for (uint32_t e = graph->first[node]; e < graph->first[node + 1]; e++)
        if (graph->next[e] == node) return true;
    return false;
}

uint32_t graph_cycles(Graph *graph, CycleVisit visit, void *context)
{
    Arena scratch;
    arena_init(&scratch, SIZE_MAX);
    uint32_t n = graph->count, found = 0;
    Components c = {
        .index = ARENA_ARRAY(&scratch, uint32_t, n), .low = ARENA_ARRAY(&scratch, uint32_t, n),
        .part = ARENA_ARRAY(&scratch, uint32_t, n),  .stack = ARENA_ARRAY(&scratch, uint32_t, n),
        .size = ARENA_ARRAY(&scratch, uint32_t, n),  .frames = ARENA_ARRAY(&scratch, Frame, n),
    };
    uint32_t *came = ARENA_ARRAY(&scratch, uint32_t, n), *queue = ARENA_ARRAY(&scratch, uint32_t, n);
    uint32_t *path = ARENA_ARRAY(&scratch, uint32_t, n);
    bool *told = ARENA_ARRAY(&scratch, bool, n);
    if (n) {
        memset(c.part, 0xff, n * sizeof *c.part);
        memset(came, 0xff, n * sizeof *came);
    }
    for (uint32_t i = 0; i < n; i++)
        if (!c.index[i]) component_walk(graph, &c, i);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t part = c.part[i];
        if (told[part] || (c.size[part] == 1 && !has_self_edge(graph, i))) continue;
        told[part] = true;
        found++;
        uint32_t count = cycle_find(graph, &c, i, came, queue, path);
        if (visit) visit(context, path, count);
    }
    arena_deinit(&scratch);
    return found;
}

/* --- order and ancestry ----------------------------------------------------------------------------------------- */

/* The successors of a node in the order of a walk: as they are, backwards, or from the middle on. */
static uint32_t successor(const Graph *graph, uint32_t node, uint32_t edge, unsigned walk)
{
    uint32_t count = graph->first[node + 1] - graph->first[node];
    uint32_t at = walk == 0 ? edge : walk == 1 ? count - 1 - edge : (edge + count / 2) % count;
    return graph->next[graph->first[node] + at];
}

/* A walk in depth from every root; roots in order, or backwards. `left` (if not NULL) gets the nodes in the order in which
 * they are left for good. */
static void walk_label(const Graph *graph, unsigned walk, Frame *frames, GraphLabel *labels, uint32_t *left)
{
    uint32_t n = graph->count, clock = 0, depth = 0, left_count = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t root = walk == 1 ? n - 1 - i : i;
        if (labels[root].enter) continue;
        labels[root].enter = ++clock;
        frames[depth++] = (Frame){ root, 0 };
        while (depth) {
            Frame *frame = &frames[depth - 1];
            uint32_t node = frame->node;
            if (graph->first[node] + frame->edge < graph->first[node + 1]) {
                uint32_t next = successor(graph, node, frame->edge++, walk);
                if (labels[next].enter) continue;
                labels[next].enter = ++clock;
                frames[depth++] = (Frame){ next, 0 };
                continue;
            }
            labels[node].leave = labels[node].low = ++clock;
            for (uint32_t e = graph->first[node]; e < graph->first[node + 1]; e++)
                if (labels[graph->next[e]].low && labels[graph->next[e]].low < labels[node].low)
                    labels[node].low = labels[graph->next[e]].low;
            if (left) left[left_count++] = node;
            depth--;
        }
    }
}

void graph_sort(Graph *graph)
{
    Arena scratch;
    arena_init(&scratch, SIZE_MAX);
    uint32_t n = graph->count;
    Frame *frames = ARENA_ARRAY(&scratch, Frame, n);
    uint32_t *left = ARENA_ARRAY(&scratch, uint32_t, n);
    graph->order = ARENA_ARRAY(graph->arena, uint32_t, n);
    graph->place = ARENA_ARRAY(graph->arena, uint32_t, n);
    for (unsigned walk = 0; walk < GRAPH_LABEL_COUNT; walk++) {
        graph->labels[walk] = ARENA_ARRAY(graph->arena, GraphLabel, n);
        walk_label(graph, walk, frames, graph->labels[walk], walk == 0 ? left : NULL);
    }
    for (uint32_t i = 0; i < n; i++) {              /* whoever is left last comes first */
        graph->order[n - 1 - i] = left[i];
        graph->place[left[i]] = n - 1 - i;
    }
    arena_deinit(&scratch);
}

static bool is_below(const Graph *graph, uint32_t from, uint32_t to)
{
    for (unsigned walk = 0; walk < GRAPH_LABEL_COUNT; walk++) {
        const GraphLabel *a = &graph->labels[walk][from], *b = &graph->labels[walk][to];
        if (a->enter < b->enter && b->leave < a->leave) return true;
    }
    return false;
}

static bool is_ruled_out(const Graph *graph, uint32_t from, uint32_t to)
{
    if (graph->place[from] >= graph->place[to]) return true;
    for (unsigned walk = 0; walk < GRAPH_LABEL_COUNT; walk++) {
        const GraphLabel *a = &graph->labels[walk][from], *b = &graph->labels[walk][to];
        if (b->leave >= a->leave || b->low < a->low) return true;
    }
    return false;
}

typedef enum Answer { ANSWER_NO, ANSWER_YES, ANSWER_OPEN } Answer;

#define SEARCH_STEPS_MAX 512u           /* beyond this, what was asked once is likely to be asked again */

static Answer search_short(Graph *graph, uint32_t from, uint32_t to)
{
    uint32_t *stack = graph->stack;
    uint32_t depth = 0, steps = 0, now = ++graph->mark_now;
    stack[depth++] = from;
    graph->mark[from] = now;
    while (depth) {
        uint32_t node = stack[--depth];
        for (uint32_t e = graph->first[node]; e < graph->first[node + 1]; e++) {
            uint32_t next = graph->next[e];
            if (next == to) return ANSWER_YES;
            if (++steps > SEARCH_STEPS_MAX) return ANSWER_OPEN;
            if (graph->mark[next] == now || is_ruled_out(graph, next, to)) continue;
            if (is_below(graph, next, to)) return ANSWER_YES;
            graph->mark[next] = now;
            stack[depth++] = next;
        }
    }
    return ANSWER_NO;
}

/* Everything that `from` reaches, in the slot whose turn it is. */
static const GraphReach *reach_fill(Graph *graph, uint32_t from)
{
    GraphReach *reach = &graph->reaches[graph->reach_next++ % GRAPH_REACH_COUNT];
    size_t words = (size_t)graph->count / 64 + 1;
    if (!reach->bits) reach->bits = ARENA_ARRAY(graph->arena, uint64_t, words);
    memset(reach->bits, 0, words * sizeof *reach->bits);
    reach->from = from;
    uint32_t depth = 0;
    graph->stack[depth++] = from;
    while (depth) {
        uint32_t node = graph->stack[--depth];
        for (uint32_t e = graph->first[node]; e < graph->first[node + 1]; e++) {
            uint32_t next = graph->next[e];
            if (reach->bits[next / 64] >> (next % 64) & 1) continue;
            reach->bits[next / 64] |= UINT64_C(1) << (next % 64);
            graph->stack[depth++] = next;
        }
    }
    return reach;
}

bool graph_reaches(Graph *graph, uint32_t from, uint32_t to)
{
    if (from == to || is_ruled_out(graph, from, to)) return false;
    if (is_below(graph, from, to)) return true;
    const GraphReach *reach = NULL;
    for (unsigned i = 0; i < GRAPH_REACH_COUNT; i++)
        if (graph->reaches[i].bits && graph->reaches[i].from == from) reach = &graph->reaches[i];
    if (!reach) {
        Answer answer = search_short(graph, from, to);
        if (answer != ANSWER_OPEN) return answer == ANSWER_YES;
        reach = reach_fill(graph, from);
    }
    return reach->bits[to / 64] >> (to % 64) & 1;
}
