#include "rego/plan.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/limits.h"

/* The graph of needs has two sorts of vertices: groups, and nodes of the tree. A reference whose keys are not known reads
 * everything below a node, and a node reads its own group and the nodes under it: so many such references, and many
 * rules that they may read, are not multiplied.
 *
 *   vertex    below group_count: a group;  from there on: a node by its number */

typedef struct Graph {
    const RegoPolicy *policy;
    const TreeNode **nodes;         /* by number */
    uint32_t group_count, vertex_count;
} Graph;

static void nodes_list(const TreeNode *node, const TreeNode **nodes)
{
    nodes[node->first] = node;
    for (size_t i = 0; i < node->child_count; i++) nodes_list(node->children[i], nodes);
}

static Graph graph_of(RegoPolicy *policy)
{
    Graph graph = { .policy = policy, .group_count = (uint32_t)policy->group_count };
    graph.nodes = ARENA_ARRAY(&policy->arena, const TreeNode *, policy->root->last + 1u);
    nodes_list(policy->root, graph.nodes);
    graph.vertex_count = graph.group_count + policy->root->last + 1;
    return graph;
}

/* The successor of that index, UINT32_MAX behind the last one. */
static uint32_t vertex_next(const Graph *graph, uint32_t vertex, size_t index)
{
    if (vertex < graph->group_count) {
        const RuleGroup *group = graph->policy->groups[vertex];
        if (index == group->use_count) return UINT32_MAX;
        const RuleUse *use = &group->uses[index];
        return use->group ? use->group->index : graph->group_count + use->node->first;
    }
    const TreeNode *node = graph->nodes[vertex - graph->group_count];
    bool has_own = node->group != NULL;     /* functions too, though they are no part of the document */
    if (has_own && index == 0) return node->group->index;
    index -= has_own;
    return index < node->child_count ? graph->group_count + node->children[index]->first : UINT32_MAX;
}

/* --- order and cycles ---------------------------------------------------------------------------------------------- */

static int group_compare(const void *a, const void *b)
{
    const RuleGroup *x = *(RuleGroup *const *)a, *y = *(RuleGroup *const *)b;
    int order = str_compare(x->sources[0].module->file, y->sources[0].module->file);
    if (order) return order;
    uint32_t from = x->sources[0].rule->loc.offset, to = y->sources[0].rule->loc.offset;
    return from < to ? -1 : from > to;
}

typedef struct Step {
    uint32_t vertex;
    size_t next;
} Step;

/* One walk in depth over all vertices (Tarjan): each is left behind those it needs, and those that need one another are
 * left together. */
typedef struct Walk {
    const Graph *graph;
    uint32_t *numbers, *lowest;     /* by vertex: when it was entered, from 1; the earliest one it leads back to */
    bool *is_open, *in_cycle;
    uint32_t *open, open_count;     /* entered and not yet left */
    Step *steps;
    size_t depth;
    uint32_t number;
    uint32_t *order;                /* of groups */
    size_t order_count;
} Walk;

static void walk_enter(Walk *walk, uint32_t vertex)
{
    walk->numbers[vertex] = walk->lowest[vertex] = ++walk->number;
    walk->is_open[vertex] = true;
    walk->open[walk->open_count++] = vertex;
    walk->steps[walk->depth++] = (Step){ vertex, 0 };
}

static void walk_leave(Walk *walk, uint32_t vertex)
{
    walk->depth--;
    if (walk->depth) {
        uint32_t above = walk->steps[walk->depth - 1].vertex;
        if (walk->lowest[vertex] < walk->lowest[above]) walk->lowest[above] = walk->lowest[vertex];
    }
    if (walk->lowest[vertex] != walk->numbers[vertex]) return;
    bool is_alone = walk->open[walk->open_count - 1] == vertex;
    for (uint32_t left = UINT32_MAX; left != vertex;) {
        left = walk->open[--walk->open_count];
        walk->is_open[left] = false;
        if (!is_alone) walk->in_cycle[left] = true;
        if (left < walk->graph->group_count) walk->order[walk->order_count++] = left;
    }
}

static void walk_from(Walk *walk, uint32_t vertex)
{
    if (walk->numbers[vertex]) return;
    walk_enter(walk, vertex);
    while (walk->depth) {
        Step *step = &walk->steps[walk->depth - 1];
        uint32_t next = vertex_next(walk->graph, step->vertex, step->next++);
        if (next == UINT32_MAX) {
            walk_leave(walk, step->vertex);
        } else if (!walk->numbers[next]) {
            walk_enter(walk, next);
        } else if (walk->is_open[next]) {
            if (next == step->vertex) walk->in_cycle[next] = true;
            if (walk->numbers[next] < walk->lowest[step->vertex]) walk->lowest[step->vertex] = walk->numbers[next];
        }
    }
}

/* As the texts have them, each behind what it needs: what is said of a policy does not depend on the names of rules. */
static Walk walk_all(RegoPolicy *policy, const Graph *graph)
{
    Arena *arena = &policy->arena;
    size_t count = policy->group_count;
    Walk walk = { .graph = graph };
    walk.numbers = ARENA_ARRAY(arena, uint32_t, graph->vertex_count);
    walk.lowest = ARENA_ARRAY(arena, uint32_t, graph->vertex_count);
    walk.is_open = ARENA_ARRAY(arena, bool, graph->vertex_count);
    walk.in_cycle = ARENA_ARRAY(arena, bool, graph->vertex_count);
    walk.open = ARENA_ARRAY(arena, uint32_t, graph->vertex_count);
    walk.steps = ARENA_ARRAY(arena, Step, graph->vertex_count);
    walk.order = ARENA_ARRAY(arena, uint32_t, count + 1);
    RuleGroup **groups = arena_copy_items(arena, policy->groups, count * sizeof *groups);
    if (count) qsort(groups, count, sizeof *groups, group_compare);
    for (size_t i = 0; i < count; i++) walk_from(&walk, groups[i]->index);
    CHECK(walk.order_count == count);
    return walk;
}

/* --- what is said of a cycle --------------------------------------------------------------------------------------- */

#define WAY_COUNT_MAX 64u           /* rules of a cycle that a message names */

/* The shortest way from a group back to itself. */
static bool cycle_find(const Graph *graph, uint32_t start, uint32_t *came_from, uint32_t *queue)
{
    size_t queued = 0;
    for (uint32_t i = 0; i < graph->vertex_count; i++) came_from[i] = UINT32_MAX;
    queue[queued++] = start;
    for (size_t done = 0; done < queued; done++) {
        for (size_t i = 0;; i++) {
            uint32_t next = vertex_next(graph, queue[done], i);
            if (next == UINT32_MAX) break;
            if (came_from[next] != UINT32_MAX) continue;
            came_from[next] = queue[done];
            if (next == start) return true;
            queue[queued++] = next;
        }
    }
    return false;
}

static void cycle_report(RegoPolicy *policy, const Graph *graph, uint32_t start, const uint32_t *came_from,
                         RegoErrors *errors)
{
    uint32_t way[WAY_COUNT_MAX], count = 0;
    for (uint32_t at = came_from[start]; at != start && count < WAY_COUNT_MAX; at = came_from[at])
        if (at < graph->group_count) way[count++] = at;
    const RuleGroup *group = policy->groups[start];
    Str path = tree_path_text(&policy->arena, group->node);
    Buf buf;
    buf_init(&buf, REGO_ERROR_TEXT_SIZE_MAX);
    buf_str(&buf, path);
    while (count) {
        buf_text(&buf, " -> ");
        buf_str(&buf, tree_path_text(&policy->arena, policy->groups[way[--count]]->node));
    }
    buf_text(&buf, " -> ");
    buf_str(&buf, path);
    const RuleSource *source = &group->sources[0];
    rego_errors_add(errors, REGO_ERROR_RECURSION, source->module->file, source->rule->loc,
                    "rule %.*s is recursive: %.*s", STR_ARG(path), STR_ARG(buf_peek(&buf)));
    buf_deinit(&buf);
}

const uint32_t *recursion_check(RegoPolicy *policy, RegoErrors *errors)
{
    Graph graph = graph_of(policy);
    Walk walk = walk_all(policy, &graph);
    uint32_t *came_from = ARENA_ARRAY(&policy->arena, uint32_t, graph.vertex_count);
    uint32_t *queue = ARENA_ARRAY(&policy->arena, uint32_t, graph.vertex_count + 1u);
    uint32_t reported = 0;
    for (uint32_t i = 0; i < graph.group_count && reported < REGO_ERROR_COUNT_MAX; i++) {
        if (!walk.in_cycle[i] || !cycle_find(&graph, i, came_from, queue)) continue;
        cycle_report(policy, &graph, i, came_from, errors);
        reported++;
    }
    return reported ? NULL : walk.order;
}
