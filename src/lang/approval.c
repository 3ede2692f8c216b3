#include "lang/approval.h"

#include "base/map.h"

#define SCOPE_NONE UINT32_MAX
#define SCOPE_TOP 0u

/* Steps that run or are skipped together: the whole plan, an arm of a branch, what stands under one `when`. */
typedef struct Scope {
    uint32_t parent;
    uint32_t depth;
    uint32_t branch;                /* the branch step of an arm, else PLAN_NONE */
} Scope;

/* A step's view of the gates: `before` is the outermost scope in which one was passed when the step begins, `after` when
 * it has ended. The outermost is enough: whoever is inside an inner scope is inside it too. */
typedef struct StepGates {
    uint32_t scope;                 /* in which the step stands */
    uint32_t inner;                 /* in which the steps below it stand: of a sequence or choice */
    uint32_t arm;                   /* of a choice: the arm whose steps come at present */
    uint32_t before, after;
} StepGates;

typedef struct Finder {
    Arena *arena;
    const Plan *plan;
    Scope *scopes;
    size_t scope_count, scope_capacity;
    StepGates *steps;
    uint32_t *edge_first, *edges_in;        /* incoming edges by step: indices into plan->edges */
    uint32_t *edge_scopes;                  /* of branch edges: the arm they lead into */
} Finder;

/* --- scopes ------------------------------------------------------------------------------------------------------ */

static uint32_t scope_add(Finder *finder, uint32_t parent, uint32_t branch)
{
    uint32_t depth = parent == SCOPE_NONE ? 0 : finder->scopes[parent].depth + 1;
    finder->scopes =
        arena_grow(finder->arena, finder->scopes, sizeof *finder->scopes, finder->scope_count, &finder->scope_capacity);
    finder->scopes[finder->scope_count] = (Scope){ parent, depth, branch };
    return (uint32_t)finder->scope_count++;
}

static bool scope_contains(const Finder *finder, uint32_t outer, uint32_t inner)
{
    while (finder->scopes[inner].depth > finder->scopes[outer].depth) inner = finder->scopes[inner].parent;
    return inner == outer;
}

static bool may_skip(Value settings)
{
    return value_get_text(settings, "when") != NULL;
}

/* A step tree says it itself: the parent of each step, and which arm its steps are in. */
static void tree_scope(Finder *finder, uint32_t index)
{
    const PlanStep *step = &finder->plan->steps[index];
    StepGates *gates = &finder->steps[index];
    gates->scope = SCOPE_TOP;
    if (step->parent != PLAN_NONE) {
        const PlanStep *parent = &finder->plan->steps[step->parent];
        StepGates *holder = &finder->steps[step->parent];
        for (uint32_t e = parent->edge_first;
             parent->kind == STEP_BRANCH && e < parent->edge_first + parent->edge_count; e++)
            if (finder->plan->edges[e].to == index && finder->plan->edges[e].kind == EDGE_BRANCH)
                holder->arm = scope_add(finder, holder->inner, step->parent);
        gates->scope = parent->kind == STEP_BRANCH ? holder->arm : holder->inner;
    }
    gates->inner =
        step->kind != STEP_TASK && may_skip(step->settings) ? scope_add(finder, gates->scope, PLAN_NONE) : gates->scope;
    gates->arm = gates->inner;
}

/* A scope as the step sees that comes behind it: arms that come together there are left, and what a job's `when` may skip. */
static uint32_t scope_left(const Finder *finder, uint32_t from, uint32_t to)
{
    const Plan *plan = finder->plan;
    uint32_t scope = finder->steps[from].scope;
    if (plan->steps[from].job != PLAN_NONE && may_skip(plan->jobs[plan->steps[from].job].settings))
        scope = finder->scopes[scope].parent;
    for (;;) {
        uint32_t branch = finder->scopes[scope].branch;
        if (branch == PLAN_NONE || value_get_int(plan->steps[branch].settings, "converge", -1) != (int64_t)to)
            return scope;
        scope = finder->scopes[scope].parent;
    }
}

/* In a workflow the first step of a job stands in the innermost scope that it is reached from. */
static void job_scope(Finder *finder, uint32_t index)
{
    const Plan *plan = finder->plan;
    const PlanJob *job = plan->steps[index].job == PLAN_NONE ? NULL : &plan->jobs[plan->steps[index].job];
    if (job && index > job->step_first) {
        finder->steps[index].scope = finder->steps[index - 1].scope;
        return;
    }
    uint32_t scope = SCOPE_TOP;
    for (uint32_t i = finder->edge_first[index]; i < finder->edge_first[index + 1]; i++) {
        const PlanEdge *edge = &plan->edges[finder->edges_in[i]];
        bool is_case = edge->kind == EDGE_BRANCH
                    && value_get_int(plan->steps[edge->from].settings, "converge", -1) != (int64_t)index;
        uint32_t other = is_case ? finder->edge_scopes[finder->edges_in[i]] : scope_left(finder, edge->from, index);
        if (finder->scopes[other].depth > finder->scopes[scope].depth) scope = other;
    }
    finder->steps[index].scope = job && may_skip(job->settings) ? scope_add(finder, scope, PLAN_NONE) : scope;
}

/* The arms that leave a branch of a workflow, one for each key. */
static void branch_arms(Finder *finder, uint32_t index)
{
    const PlanStep *step = &finder->plan->steps[index];
    Map keys;
    map_init(&keys, finder->arena, step->edge_count);
    for (uint32_t e = step->edge_first; e < step->edge_first + step->edge_count; e++) {
        const PlanEdge *edge = &finder->plan->edges[e];
        uint32_t arm;
        if (edge->kind != EDGE_BRANCH) continue;
        if (!map_find(&keys, edge->key, &arm)) {
            arm = scope_add(finder, finder->steps[index].scope, index);
            map_add(&keys, edge->key, arm, NULL);
        }
        finder->edge_scopes[e] = arm;
    }
}

/* --- gates ------------------------------------------------------------------------------------------------------- */

static bool waits_for_signal(Value settings, const char *when)
{
    const Value *gate = value_get_text(settings, "wait_for_signal");
    return gate && str_is_text(value_get_string(*gate, "when", STR("after")), when);
}

static bool pauses(Value settings)
{
    const Value *pause = value_get_text(settings, "pause_after");
    if (!pause || value_get_text(*pause, "auto_resume_after_ms")) return false;
    bool approves_itself = str_is(value_get_string(*pause, "on_timeout", STR("")), STR("AutoApprove"));
    return !(approves_itself && value_get_text(*pause, "timeout_ms"));
}

static const PlanJob *job_of(const Plan *plan, uint32_t index)
{
    return plan->steps[index].job == PLAN_NONE ? NULL : &plan->jobs[plan->steps[index].job];
}

static bool gate_before(const Plan *plan, uint32_t index)
{
    const PlanJob *job = job_of(plan, index);
    return waits_for_signal(plan->steps[index].settings, "before")
        || (job && waits_for_signal(job->settings, "before"));
}

static bool gate_after(const Plan *plan, uint32_t index)
{
    const PlanJob *job = job_of(plan, index);
    Value settings = plan->steps[index].settings;
    bool ends_job = job && index + 1 == job->step_first + job->step_count;
    return waits_for_signal(settings, "after") || pauses(settings)
        || (ends_job && waits_for_signal(job->settings, "after"));
}

static uint32_t outermost(const Finder *finder, uint32_t a, uint32_t b)
{
    if (a == SCOPE_NONE) return b;
    return b == SCOPE_NONE || finder->scopes[a].depth <= finder->scopes[b].depth ? a : b;
}

/* What a step that was passed says about the gates before `index`. One in an arm that `index` is not in may have been
 * skipped as soon as its branch was decided: there the branch speaks for it. */
static uint32_t passed_at(const Finder *finder, uint32_t from, uint32_t index)
{
    uint32_t here = finder->steps[index].scope, scope = finder->steps[from].scope, speaker = from;
    for (; !scope_contains(finder, scope, here); scope = finder->scopes[scope].parent)
        if (finder->scopes[scope].branch != PLAN_NONE) speaker = finder->scopes[scope].branch;
    uint32_t passed = finder->steps[speaker].after;
    return passed != SCOPE_NONE && scope_contains(finder, passed, here) ? passed : SCOPE_NONE;
}

static void find_gates(Finder *finder, uint32_t index)
{
    const Plan *plan = finder->plan;
    StepGates *gates = &finder->steps[index];
    uint32_t reached = SCOPE_NONE;
    for (uint32_t i = finder->edge_first[index]; i < finder->edge_first[index + 1]; i++)
        reached = outermost(finder, reached, passed_at(finder, plan->edges[finder->edges_in[i]].from, index));
    bool is_before = gate_before(plan, index);
    gates->before = outermost(finder, reached, is_before ? gates->scope : SCOPE_NONE);
    /* A step that may be skipped takes its own gates with it. */
    bool leaves_gate = (is_before || gate_after(plan, index)) && !may_skip(plan->steps[index].settings);
    gates->after = outermost(finder, reached, leaves_gate ? gates->scope : SCOPE_NONE);
}

/* --- the story --------------------------------------------------------------------------------------------------- */

static void index_edges(Finder *finder)
{
    const Plan *plan = finder->plan;
    finder->edge_first = ARENA_ARRAY(finder->arena, uint32_t, (size_t)plan->step_count + 1);
    finder->edges_in = ARENA_ARRAY(finder->arena, uint32_t, plan->edge_count);
    finder->edge_scopes = ARENA_ARRAY(finder->arena, uint32_t, plan->edge_count);
    uint32_t *next = ARENA_ARRAY(finder->arena, uint32_t, plan->step_count);
    for (uint32_t i = 0; i < plan->step_count; i++) {
        next[i] = finder->edge_first[i];
        finder->edge_first[i + 1] = finder->edge_first[i] + plan->steps[i].need_count;
    }
    for (uint32_t e = 0; e < plan->edge_count; e++) finder->edges_in[next[plan->edges[e].to]++] = e;
}

void approvals_find(Arena *arena, const Plan *plan, Approvals *out)
{
    Finder finder = { .arena = arena, .plan = plan };
    finder.steps = ARENA_ARRAY(arena, StepGates, plan->step_count);
    index_edges(&finder);
    scope_add(&finder, SCOPE_NONE, PLAN_NONE);
    uint32_t *order = ARENA_ARRAY(arena, uint32_t, plan->step_count);
    plan_order(plan, arena, order);
    bool *is_covered = ARENA_ARRAY(arena, bool, plan->step_count),
         *has_gate = ARENA_ARRAY(arena, bool, plan->step_count);
    for (uint32_t i = 0; plan->kind == PLAN_STEP_TREE && i < plan->step_count; i++) tree_scope(&finder, i);
    for (uint32_t i = 0; i < plan->step_count; i++) {
        uint32_t index = order[i];
        if (plan->kind == PLAN_WORKFLOW) {
            job_scope(&finder, index);
            if (plan->steps[index].kind == STEP_BRANCH) branch_arms(&finder, index);
        }
        find_gates(&finder, index);
        is_covered[index] = finder.steps[index].before != SCOPE_NONE;
        has_gate[index] = gate_before(plan, index) || gate_after(plan, index);
    }
    *out = (Approvals){ is_covered, has_gate };
}
