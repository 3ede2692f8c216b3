#include "core/rerun.h"

/* Follows the edges from all that are marked. An edge from outside of a case does not bring that case back. */
static void spread(const Plan *plan, const Run *run, uint8_t *set, uint32_t *stack, uint32_t depth)
{
    while (depth) {
        const PlanStep *step = &plan->steps[stack[--depth]];
        for (uint32_t e = 0; e < step->edge_count; e++) {
            const PlanEdge *edge = &plan->edges[step->edge_first + e];
            const StepRun *to = &run->steps[edge->to];
            bool was_not_taken = to->state == STEP_SKIPPED && to->cause == SKIP_NOT_ON_ACTIVE_BRANCH;
            if (set[edge->to] || (was_not_taken && !edge->decides)) continue;
            set[edge->to] = 1;
            stack[depth++] = edge->to;
        }
    }
}

uint8_t *rerun_after(const Plan *plan, const Run *run, uint32_t from, Arena *arena)
{
    uint8_t *set = ARENA_ARRAY(arena, uint8_t, plan->step_count);
    uint32_t *stack = ARENA_ARRAY(arena, uint32_t, plan->step_count + 1);
    stack[0] = from;
    spread(plan, run, set, stack, 1);
    set[from] = 0;
    return set;
}

/* Failed, or cut short by a failure. */
static bool is_cut(const StepRun *step)
{
    if (step->state == STEP_SKIPPED) return step->cause == SKIP_PREDECESSOR_FAILED || step->cause == SKIP_RUN_CANCELLED;
    return !step_is_done(step);
}

static void add_sequences(const Plan *plan, uint8_t *set)
{
    for (uint32_t i = 0; i < plan->step_count; i++)
        for (uint32_t s = set[i] ? plan->steps[i].sequence : PLAN_NONE; s != PLAN_NONE; s = plan->steps[s].sequence) set[s] = 1;
}

static void seed(uint8_t *set, uint32_t *stack, uint32_t *depth, uint32_t step)
{
    if (set[step]) return;
    set[step] = 1;
    stack[(*depth)++] = step;
}

const uint8_t *rerun_set(const Plan *plan, const Run *run, uint32_t from, Arena *arena)
{
    uint8_t *set = ARENA_ARRAY(arena, uint8_t, plan->step_count);
    uint32_t *stack = ARENA_ARRAY(arena, uint32_t, plan->step_count + 1), depth = 0;
    if (from != STEP_NONE) seed(set, stack, &depth, from);
    /* What comes after a step that failed was cut short itself; a sequence may hold steps that are done. */
    for (uint32_t i = 0; i < plan->step_count; i++)
        if (is_cut(&run->steps[i]) && plan->steps[i].kind != STEP_SEQUENCE) seed(set, stack, &depth, i);
    /* A loop that used up its rounds has failed though none of its steps has: it goes round anew. */
    for (uint32_t l = 0; l < plan->loop_count; l++)
        for (uint32_t i = 0; run->loop_ends[l] == LOOP_HAS_FAILED && i < plan->loops[l].body_count; i++)
            seed(set, stack, &depth, plan->loops[l].body[i].step);
    spread(plan, run, set, stack, depth);
    for (uint32_t i = 0; i < plan->step_count; i++)
        if (is_cut(&run->steps[i])) set[i] = 1;
    add_sequences(plan, set);
    return set;
}

uint32_t rerun_count(const uint8_t *set, uint32_t step_count)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < step_count; i++) count += set[i];
    return count;
}
