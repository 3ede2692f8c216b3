#include "core/plan.h"

#include <inttypes.h>
#include <string.h>

#include "base/limits.h"
#include "base/map.h"
#include "core/name.h"
#include "core/plan_graph.h"
#include "core/terms.h"

static const char *const plan_kind_names[PLAN_KIND_COUNT] = {
    [PLAN_WORKFLOW] = "workflow", [PLAN_RUNBOOK] = "runbook", [PLAN_STEP_TREE] = "step-tree",
};
static const char *const step_kind_names[STEP_KIND_COUNT] = {
    [STEP_TASK] = "task", [STEP_BRANCH] = "branch", [STEP_SEQUENCE] = "sequence", [STEP_ARTIFACT] = "artifact",
};
static const char *const edge_kind_names[EDGE_KIND_COUNT] = {
    [EDGE_ORDER] = "order", [EDGE_DATA] = "data", [EDGE_BRANCH] = "branch",
};
static const char *const strategy_names[STRATEGY_COUNT] = {
    [STRATEGY_REPLAY_SAFE] = "replay-safe",
    [STRATEGY_DEDUPE_KEY] = "dedupe-key",
    [STRATEGY_EFFECT_RECORDED] = "effect-recorded",
};
static const char *const priority_names[PRIORITY_COUNT] = {
    [PRIORITY_LOW] = "low", [PRIORITY_NORMAL] = "normal", [PRIORITY_HIGH] = "high", [PRIORITY_CRITICAL] = "critical",
};

const char *plan_kind_name(PlanKind kind) { return plan_kind_names[kind]; }
const char *step_kind_name(StepKind kind) { return step_kind_names[kind]; }
const char *edge_kind_name(EdgeKind kind) { return edge_kind_names[kind]; }
const char *strategy_name(Strategy strategy) { return strategy_names[strategy]; }
const char *priority_name(Priority priority) { return priority_names[priority]; }

/* --- reading a document ------------------------------------------------------------------------------------------ */

typedef struct Reader {
    Arena *arena;
    Plan *plan;
    PlanJob *jobs;
    PlanStep *steps;
    PlanEdge *edges;
    PlanLoop *loops;
    uint8_t priority;               /* of the definition: that of steps without a job */
    Error *err;
} Reader;

static Status corrupt(Reader *reader, const char *what, uint32_t index)
{
    return error_set(reader->err, ERR_CORRUPT, "the plan is damaged: %s, at %" PRIu32, what, index);
}

/* The number of a member that names one of a list; false where it is missing or names none. */
static bool read_name(Value object, const char *key, const char *const *names, uint8_t count, uint8_t *out)
{
    const Value *member = value_get_text(object, key);
    if (!member || member->kind != VALUE_STRING) return false;
    for (uint8_t i = 0; i < count; i++) {
        if (!str_is_text(value_text(*member), names[i])) continue;
        *out = i;
        return true;
    }
    return false;
}

/* A member that is an index below `count`; an absent one is PLAN_NONE. */
static bool read_index(Value object, const char *key, uint32_t count, uint32_t *out)
{
    const Value *member = value_get_text(object, key);
    *out = PLAN_NONE;
    if (!member) return true;
    if (member->kind != VALUE_INT || member->integer < 0 || member->integer >= count) return false;
    *out = (uint32_t)member->integer;
    return true;
}

static bool read_list(Value document, const char *key, uint32_t count_max, Value *out)
{
    const Value *member = value_get_text(document, key);
    *out = member ? *member : value_array(NULL, 0);
    return out->kind == VALUE_ARRAY && out->count <= count_max;
}

static Status read_jobs(Reader *reader, Value list)
{
    reader->jobs = ARENA_ARRAY(reader->arena, PlanJob, list.count);
    for (uint32_t i = 0; i < list.count; i++) {
        PlanJob *job = &reader->jobs[i];
        job->settings = list.items[i];
        job->id = value_get_string(list.items[i], "id", STR(""));
        job->step_first = PLAN_NONE;
        if (job->id.len == 0) return corrupt(reader, "a job without id", i);
        if (!read_name(list.items[i], "priority", priority_names, PRIORITY_COUNT, &job->priority))
            return corrupt(reader, "a job without priority", i);
    }
    reader->plan->job_count = list.count;
    return OK;
}

static Status read_step(Reader *reader, Value object, uint32_t index, uint32_t step_count)
{
    PlanStep *step = &reader->steps[index];
    step->settings = object;
    step->id = value_get_string(object, "id", STR(""));
    step->name = value_get_string(object, "name", step->id);
    step->runner = value_get_string(object, "run", STR(""));
    if (step->id.len == 0) return corrupt(reader, "a step without id", index);
    if (!read_name(object, "kind", step_kind_names, STEP_KIND_COUNT, &step->kind))
        return corrupt(reader, "a step of no kind", index);
    step->strategy = STRATEGY_DEDUPE_KEY;
    if (value_get_text(object, "strategy")
        && !read_name(object, "strategy", strategy_names, STRATEGY_COUNT, &step->strategy))
        return corrupt(reader, "a step of no known strategy", index);
    if (!read_index(object, "converge", step_count, &step->converge))
        return corrupt(reader, "a branch that meets nowhere", index);
    if (!read_index(object, "job", reader->plan->job_count, &step->job))
        return corrupt(reader, "a step of no job", index);
    if (!read_index(object, "parent", step_count, &step->parent)) return corrupt(reader, "a step of no parent", index);
    if (step->parent != PLAN_NONE && step->parent >= index) return corrupt(reader, "a step before its parent", index);
    step->priority = reader->priority;
    if (step->job == PLAN_NONE) return OK;

    PlanJob *job = &reader->jobs[step->job];
    step->priority = job->priority;
    if (job->step_first == PLAN_NONE) job->step_first = index;
    if (job->step_first + job->step_count != index) return corrupt(reader, "a job whose steps lie apart", step->job);
    job->step_count++;
    return OK;
}

static Status read_steps(Reader *reader, Value list)
{
    Map ids;
    map_init(&ids, reader->arena, list.count);
    reader->steps = ARENA_ARRAY(reader->arena, PlanStep, list.count);
    for (uint32_t i = 0; i < list.count; i++) {
        Status status = read_step(reader, list.items[i], i, list.count);
        if (status) return status;
        if (!map_add(&ids, reader->steps[i].id, i, NULL)) return corrupt(reader, "two steps of one id", i); /* P2 */
    }
    reader->plan->step_count = list.count;
    return OK;
}

/* An edge is [from, to, kind] or [from, to, "branch", key]. */
static Status read_edges(Reader *reader, Value list)
{
    reader->edges = ARENA_ARRAY(reader->arena, PlanEdge, list.count);
    for (uint32_t i = 0; i < list.count; i++) {
        Value row = list.items[i];
        PlanEdge *edge = &reader->edges[i];
        if (row.kind != VALUE_ARRAY || row.count < 3) return corrupt(reader, "an edge of another form", i);
        for (uint32_t end = 0; end < 2; end++) {
            bool in_range = row.items[end].kind == VALUE_INT && row.items[end].integer >= 0
                         && row.items[end].integer < reader->plan->step_count;
            if (!in_range) return corrupt(reader, "an edge to no step", i);                                     /* P1 */
        }
        edge->from = (uint32_t)row.items[0].integer;
        edge->to = (uint32_t)row.items[1].integer;
        if (row.items[2].kind != VALUE_STRING) return corrupt(reader, "an edge of no kind", i);
        uint8_t kind = 0;
        while (kind < EDGE_KIND_COUNT && !str_is_text(value_text(row.items[2]), edge_kind_names[kind])) kind++;
        if (kind == EDGE_KIND_COUNT) return corrupt(reader, "an edge of no kind", i);
        edge->kind = kind;
        if (row.count > 3 && row.items[3].kind == VALUE_STRING) edge->key = value_text(row.items[3]);

        PlanStep *from = &reader->steps[edge->from];
        const PlanEdge *last = i ? &reader->edges[i - 1] : NULL;
        if (last && (edge->from < last->from || (edge->from == last->from && edge->to < last->to)))
            return corrupt(reader, "edges out of order", i);
        if (from->edge_count == 0) from->edge_first = i;
        from->edge_count++;
        reader->steps[edge->to].need_count++;
    }
    reader->plan->edge_count = list.count;
    return OK;
}

static Status read_loops(Reader *reader, Value list)
{
    reader->loops = ARENA_ARRAY(reader->arena, PlanLoop, list.count);
    for (uint32_t i = 0; i < list.count; i++) {
        PlanLoop *loop = &reader->loops[i];
        loop->settings = list.items[i];
        uint32_t count = reader->plan->step_count;
        bool is_whole = read_index(loop->settings, "head", count, &loop->head)
                     && read_index(loop->settings, "tail", count, &loop->tail) && loop->head != PLAN_NONE
                     && loop->tail != PLAN_NONE;
        if (!is_whole) return corrupt(reader, "a loop without head or tail", i);                                /* P5 */
        int64_t most = value_get_int(loop->settings, "max_iterations", 0);
        if (most < 1 || most > ITERATION_COUNT_MAX) return corrupt(reader, "a loop without bound", i);
        loop->iteration_count_max = (uint32_t)most;
    }
    reader->plan->loop_count = list.count;
    return OK;
}

static bool has_edge(const Plan *plan, uint32_t from, uint32_t to)
{
    const PlanStep *step = &plan->steps[from];
    for (uint32_t e = 0; e < step->edge_count; e++)
        if (plan->edges[step->edge_first + e].to == to) return true;
    return false;
}

/* What follows from the edges. */
static Status read_graph(Reader *reader, Arena *scratch)
{
    const Plan *plan = reader->plan;
    uint32_t *order = ARENA_ARRAY(scratch, uint32_t, plan->step_count);
    memset(order, 0xff, plan->step_count * sizeof *order);
    plan_order(plan, scratch, order);
    for (uint32_t i = 0; i < plan->step_count; i++)
        if (order[i] == PLAN_NONE) return corrupt(reader, "its edges form a cycle", i);                   /* P3, P4 */
    for (uint32_t j = 0; j < plan->job_count; j++)
        for (uint32_t i = 1; i < plan->jobs[j].step_count; i++)
            if (!has_edge(plan, plan->jobs[j].step_first + i - 1, plan->jobs[j].step_first + i))
                return corrupt(reader, "a job whose steps do not follow one another", j);                      /* P6 */
    plan_sequences(plan, reader->steps);
    plan_arms(plan, reader->steps, reader->edges, order, scratch);
    return plan_loops(reader->arena, plan, reader->steps, reader->edges, reader->loops, order, scratch, reader->err);
}

Status plan_read(Arena *arena, Value document, Plan *out_plan, Error *err)
{
    Plan plan = { .document = document };
    Reader reader = { .arena = arena, .plan = &plan, .priority = PRIORITY_NORMAL, .err = err };
    Value jobs, steps, edges, loops;
    uint8_t kind;
    if (value_get_int(document, "format", 0) != PLAN_FORMAT)
        return error_set(err, ERR_CORRUPT, "the plan is of format %" PRId64 ", this program reads %d",
                         value_get_int(document, "format", 0), PLAN_FORMAT);
    if (!read_name(document, "kind", plan_kind_names, PLAN_KIND_COUNT, &kind)) return corrupt(&reader, "no kind", 0);
    plan.kind = (PlanKind)kind;
    if (value_get_text(document, "priority")
        && !read_name(document, "priority", priority_names, PRIORITY_COUNT, &reader.priority))
        return corrupt(&reader, "no known priority", 0);
    plan.id = value_get_string(document, "id", STR(""));
    plan.tenant = value_get_string(document, "tenant", STR(""));
    if (!read_list(document, "jobs", PLAN_STEP_COUNT_MAX, &jobs)
        || !read_list(document, "steps", PLAN_STEP_COUNT_MAX, &steps)
        || !read_list(document, "edges", PLAN_EDGE_COUNT_MAX, &edges)
        || !read_list(document, "loops", GUARD_COUNT_MAX, &loops))
        return error_set(err, ERR_LIMIT,
                         "a plan has at most PLAN_STEP_COUNT_MAX (%u) steps, PLAN_EDGE_COUNT_MAX (%u) edges and "
                         "GUARD_COUNT_MAX (%u) loops",
                         PLAN_STEP_COUNT_MAX, PLAN_EDGE_COUNT_MAX, GUARD_COUNT_MAX);

    Status status = read_jobs(&reader, jobs);
    if (!status) status = read_steps(&reader, steps);
    if (!status) status = read_edges(&reader, edges);
    if (!status) status = read_loops(&reader, loops);
    if (!status) status = canonical_digest(document, &plan.digest, err);
    if (status) return status;
    plan.jobs = reader.jobs;
    plan.steps = reader.steps;
    plan.edges = reader.edges;
    plan.loops = reader.loops;

    Arena scratch;
    arena_init(&scratch, SIZE_MAX);
    status = read_graph(&reader, &scratch);
    arena_deinit(&scratch);
    if (status) return status;
    PlanTerms *terms = ARENA_NEW(arena, PlanTerms);
    plan.names = names_read(arena, &plan);
    status = terms_read(arena, &plan, terms, err);
    if (status) return status;
    plan.terms = terms;
    *out_plan = plan;
    return OK;
}

/* --- order ------------------------------------------------------------------------------------------------------- */

/* A heap of step indices, the smallest first: ready steps leave in the order written. */
static void heap_push(uint32_t *heap, uint32_t *count, uint32_t step)
{
    uint32_t at = (*count)++;
    for (; at > 0 && heap[(at - 1) / 2] > step; at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
    heap[at] = step;
}

static uint32_t heap_pop(uint32_t *heap, uint32_t *count)
{
    uint32_t top = heap[0], last = heap[--*count], at = 0;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= *count) break;
        if (child + 1 < *count && heap[child + 1] < heap[child]) child++;
        if (last <= heap[child]) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return top;
}

void plan_order(const Plan *plan, Arena *scratch, uint32_t *out_order)
{
    uint32_t *needs = ARENA_ARRAY(scratch, uint32_t, plan->step_count);
    uint32_t *heap = ARENA_ARRAY(scratch, uint32_t, plan->step_count);
    uint32_t heap_count = 0, done = 0;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        needs[i] = plan->steps[i].need_count;
        if (needs[i] == 0) heap_push(heap, &heap_count, i);
    }
    while (heap_count) {
        uint32_t step = heap_pop(heap, &heap_count);
        out_order[done++] = step;
        for (uint32_t e = 0; e < plan->steps[step].edge_count; e++) {
            uint32_t to = plan->edges[plan->steps[step].edge_first + e].to;
            if (--needs[to] == 0) heap_push(heap, &heap_count, to);
        }
    }
}
