#include "cli/draw/tree.h"

#include <string.h>

#include "base/limits.h"
#include "base/map.h"
#include "cli/draw/picture.h"

/* While it grows: children as linked lists. Steps by their index, then the cases. */
typedef struct Branch {
    uint32_t first, last, next;         /* PLAN_NONE ends a list */
    uint32_t child_count;
    Str key;                            /* of a case */
} Branch;

typedef struct Builder {
    const Plan *plan;
    Arena *arena;
    Branch *branches;
    Str *keys;                          /* by step: of the case that leads to it, or empty */
    uint32_t branch_count;
    uint32_t root_first, root_last;
    Map cases;                          /* from parent and key to the case's place */
} Builder;

static void find_keys(Builder *builder);
static void hang_steps(Builder *builder);
static void list_nodes(const Builder *builder, Tree *tree);
static void list_loops(const Builder *builder, Tree *tree, TreeNode *nodes);

void tree_build(Tree *tree, const Plan *plan, Arena *arena)
{
    Builder builder = {
        .plan = plan,
        .arena = arena,
        .branches = ARENA_ARRAY(arena, Branch, (size_t)plan->step_count + plan->edge_count),   /* a case has an edge */
        .keys = ARENA_ARRAY(arena, Str, plan->step_count),
        .root_first = PLAN_NONE,
        .root_last = PLAN_NONE,
    };
    map_init(&builder.cases, arena, 0);
    *tree = (Tree){ .plan = plan };
    find_keys(&builder);
    hang_steps(&builder);
    list_nodes(&builder, tree);
    for (uint32_t i = 0; i < plan->step_count; i++) tree->marks |= picture_step_marks(plan, &plan->steps[i]);
}

/* The step below `parent` that holds `step`, or is it; PLAN_NONE where it lies elsewhere. */
static uint32_t child_that_holds(const Plan *plan, uint32_t parent, uint32_t step)
{
    for (uint32_t i = 0; i < DEFINITION_DEPTH_MAX && step != PLAN_NONE; i++) {
        if (plan->steps[step].parent == parent) return step;
        step = plan->steps[step].parent;
    }
    return PLAN_NONE;
}

/* A branch's edge names the case of the step that it leads to; the steps that follow that one belong to the same. */
static void find_keys(Builder *builder)
{
    const Plan *plan = builder->plan;
    uint32_t *order = ARENA_ARRAY(builder->arena, uint32_t, plan->step_count);
    plan_order(plan, builder->arena, order);
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const PlanStep *step = &plan->steps[order[i]];
        for (uint32_t e = 0; e < step->edge_count; e++) {
            const PlanEdge *edge = &plan->edges[step->edge_first + e];
            uint32_t parent = plan->steps[edge->to].parent;
            if (parent == PLAN_NONE || plan->steps[parent].kind != STEP_BRANCH || builder->keys[edge->to].len) continue;
            uint32_t before = child_that_holds(plan, parent, edge->from);
            if (edge->from == parent) builder->keys[edge->to] = edge->key;
            else if (before != PLAN_NONE) builder->keys[edge->to] = builder->keys[before];
        }
    }
}

/* --- hanging ----------------------------------------------------------------------------------------------------- */

static void hang(Builder *builder, uint32_t parent, uint32_t child)
{
    uint32_t *first = parent == PLAN_NONE ? &builder->root_first : &builder->branches[parent].first;
    uint32_t *last = parent == PLAN_NONE ? &builder->root_last : &builder->branches[parent].last;
    if (*last == PLAN_NONE) *first = child;
    else builder->branches[*last].next = child;
    *last = child;
    if (parent != PLAN_NONE) builder->branches[parent].child_count++;
}

static void branch_init(Builder *builder, uint32_t index, Str key)
{
    builder->branches[index] = (Branch){ .first = PLAN_NONE, .last = PLAN_NONE, .next = PLAN_NONE, .key = key };
}

static uint32_t case_of(Builder *builder, uint32_t parent, Str key)
{
    Str name = arena_format(builder->arena, "%u %.*s", parent, STR_ARG(key));
    uint32_t index = builder->branch_count;
    if (!map_add(&builder->cases, name, index, &index)) return index;
    builder->branch_count++;
    branch_init(builder, index, key);
    hang(builder, parent, index);
    return index;
}

static void hang_steps(Builder *builder)
{
    const Plan *plan = builder->plan;
    builder->branch_count = plan->step_count;
    for (uint32_t i = 0; i < plan->step_count; i++) branch_init(builder, i, STR(""));
    for (uint32_t i = 0; i < plan->step_count; i++) {
        uint32_t parent = plan->steps[i].parent;
        if (builder->keys[i].len) parent = case_of(builder, parent, builder->keys[i]);
        hang(builder, parent, i);
    }
    for (uint32_t i = 0; i < plan->edge_count; i++) {
        const PlanEdge *edge = &plan->edges[i];
        bool is_case = edge->kind == EDGE_BRANCH && edge->key.len && plan->steps[edge->from].kind == STEP_BRANCH;
        bool is_empty = is_case && child_that_holds(plan, edge->from, edge->to) == PLAN_NONE;
        if (is_empty) case_of(builder, edge->from, edge->key);
    }
}

/* --- listing ----------------------------------------------------------------------------------------------------- */

static void list_nodes(const Builder *builder, Tree *tree)
{
    TreeNode *nodes = ARENA_ARRAY(builder->arena, TreeNode, builder->branch_count);
    uint32_t *places = ARENA_ARRAY(builder->arena, uint32_t, builder->branch_count);     /* the walk's way back up */
    uint32_t branch = builder->root_first, parent = PLAN_NONE, depth = 0;
    while (branch != PLAN_NONE) {
        const Branch *at = &builder->branches[branch];
        places[depth] = branch;
        nodes[tree->count] = (TreeNode){
            .step = branch < builder->plan->step_count ? branch : PLAN_NONE,
            .key = at->key,
            .parent = parent,
            .depth = depth,
            .child_count = at->child_count,
            .is_last = at->next == PLAN_NONE,
        };
        uint32_t place = tree->count++;
        if (at->first != PLAN_NONE) {
            parent = place;
            depth++;
            branch = at->first;
            continue;
        }
        while (builder->branches[branch].next == PLAN_NONE && depth > 0) {
            branch = places[--depth];
            parent = nodes[parent].parent;
        }
        branch = builder->branches[branch].next;
    }
    tree->nodes = nodes;
    list_loops(builder, tree, nodes);
}

static void list_loops(const Builder *builder, Tree *tree, TreeNode *nodes)
{
    const Plan *plan = builder->plan;
    const PlanLoop **loops = ARENA_ARRAY(builder->arena, const PlanLoop *, plan->loop_count);
    uint32_t *place_of = ARENA_ARRAY(builder->arena, uint32_t, plan->step_count), first = 0;
    for (uint32_t i = 0; i < tree->count; i++)
        if (nodes[i].step != PLAN_NONE) place_of[nodes[i].step] = i;
    for (uint32_t i = 0; i < plan->loop_count; i++) nodes[place_of[plan->loops[i].tail]].loop_count++;
    for (uint32_t i = 0; i < tree->count; i++) {
        nodes[i].loop_first = first;
        first += nodes[i].loop_count;
        nodes[i].loop_count = 0;
    }
    for (uint32_t i = 0; i < plan->loop_count; i++) {
        TreeNode *tail = &nodes[place_of[plan->loops[i].tail]];
        loops[tail->loop_first + tail->loop_count++] = &plan->loops[i];
    }
    tree->loops = loops;
}
