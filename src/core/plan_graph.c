#include "core/plan_graph.h"

#include <inttypes.h>
#include <string.h>

#include "base/limits.h"
#include "base/map.h"

/* --- arms ----------------------------------------------------------------------------------------------------------- */

#define ARM_TOP 0u                      /* outside all branches */

typedef struct Arm {
    uint32_t branch, parent, depth;
    Str key;
} Arm;

/* What is known of the arm a step stands in while its incoming edges are being looked at. */
typedef struct Standing {
    uint32_t deepest;                   /* of the arms that edges lead from */
    uint32_t shared;                    /* the innermost one around all of them */
    bool is_seen, is_apart;             /* some edge was seen; two lead from arms of which neither holds the other */
} Standing;

typedef struct Arms {
    const Plan *plan;
    Arena *scratch;
    Map by_case;                        /* "branch key" -> arm */
    Arm *items;
    size_t count, capacity;
    uint8_t **beyond;                   /* by branch: bits of the steps that follow its convergence, made when asked for */
} Arms;

static bool arm_holds(const Arms *arms, uint32_t outer, uint32_t inner)
{
    while (arms->items[inner].depth > arms->items[outer].depth) inner = arms->items[inner].parent;
    return inner == outer;
}

static uint32_t arm_shared(const Arms *arms, uint32_t a, uint32_t b)
{
    while (a != b) {
        if (arms->items[a].depth >= arms->items[b].depth) a = arms->items[a].parent;
        else b = arms->items[b].parent;
    }
    return a;
}

static uint32_t arm_of_case(Arms *arms, uint32_t branch, Str key, uint32_t parent)
{
    uint32_t arm = (uint32_t)arms->count;
    Str name = arena_format(arms->scratch, "%" PRIu32 " %.*s", branch, STR_ARG(key));
    if (!map_add(&arms->by_case, name, arm, &arm)) return arm;
    arms->items = arena_grow(arms->scratch, arms->items, sizeof *arms->items, arms->count, &arms->capacity);
    arms->items[arms->count++] = (Arm){ branch, parent, arms->items[parent].depth + 1, key };
    return arm;
}

static bool is_beyond(Arms *arms, uint32_t branch, uint32_t step)
{
    const Plan *plan = arms->plan;
    uint8_t *bits = arms->beyond[branch];
    if (!bits) {
        bits = arms->beyond[branch] = arena_alloc(arms->scratch, plan->step_count / 8 + 1);
        uint32_t *stack = ARENA_ARRAY(arms->scratch, uint32_t, plan->step_count), count = 0;
        stack[count++] = plan->steps[branch].converge;
        while (count) {
            const PlanStep *from = &plan->steps[stack[--count]];
            for (uint32_t e = 0; e < from->edge_count; e++) {
                uint32_t to = plan->edges[from->edge_first + e].to;
                if (bits[to / 8] >> to % 8 & 1) continue;
                bits[to / 8] |= (uint8_t)(1u << to % 8);
                stack[count++] = to;
            }
        }
    }
    return bits[step / 8] >> step % 8 & 1;
}

/* The arm that an edge leads from, as `to` sees it: arms that come together there, or have before, are left. */
static uint32_t edge_arm(Arms *arms, const PlanEdge *edge, uint32_t from_arm)
{
    const Plan *plan = arms->plan;
    uint32_t arm = from_arm;
    if (edge->kind == EDGE_BRANCH && edge->to != plan->steps[edge->from].converge)
        return arm_of_case(arms, edge->from, edge->key, from_arm);
    while (arm != ARM_TOP) {
        uint32_t branch = arms->items[arm].branch, converge = plan->steps[branch].converge;
        bool is_left = converge == edge->to
                    || (edge->kind == EDGE_DATA && converge != PLAN_NONE && is_beyond(arms, branch, edge->to));
        if (!is_left) break;
        arm = arms->items[arm].parent;
    }
    return arm;
}

static void stand(const Arms *arms, Standing *standing, uint32_t arm)
{
    if (!standing->is_seen) {
        *standing = (Standing){ arm, arm, true, false };
        return;
    }
    standing->shared = arm_shared(arms, standing->shared, arm);
    if (arm_holds(arms, standing->deepest, arm)) standing->deepest = arm;
    else if (!arm_holds(arms, arm, standing->deepest)) standing->is_apart = true;
}

static uint32_t standing_arm(const Standing *standing)
{
    if (!standing->is_seen) return ARM_TOP;
    return standing->is_apart ? standing->shared : standing->deepest;
}

void plan_arms(const Plan *plan, PlanStep *steps, PlanEdge *edges, const uint32_t *order, Arena *scratch)
{
    bool has_branch = false;
    for (uint32_t e = 0; e < plan->edge_count; e++) {
        edges[e].decides = true;
        has_branch = has_branch || edges[e].kind == EDGE_BRANCH;
    }
    if (!has_branch) return;
    Arms arms = { .plan = plan, .scratch = scratch };
    map_init(&arms.by_case, scratch, 0);
    arms.items = arena_grow(scratch, NULL, sizeof *arms.items, 0, &arms.capacity);
    arms.items[arms.count++] = (Arm){ .branch = PLAN_NONE, .parent = ARM_TOP };
    arms.beyond = ARENA_ARRAY(scratch, uint8_t *, plan->step_count);
    Standing *standings = ARENA_ARRAY(scratch, Standing, plan->step_count);
    uint32_t *from_arms = ARENA_ARRAY(scratch, uint32_t, plan->edge_count);
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const PlanStep *step = &plan->steps[order[i]];
        uint32_t arm = standing_arm(&standings[order[i]]);
        for (uint32_t e = step->edge_first; e < step->edge_first + step->edge_count; e++) {
            from_arms[e] = edge_arm(&arms, &edges[e], arm);
            stand(&arms, &standings[edges[e].to], from_arms[e]);
        }
    }
    for (uint32_t i = 0; i < plan->step_count; i++) steps[i].branch_key = arms.items[standing_arm(&standings[i])].key;
    for (uint32_t e = 0; e < plan->edge_count; e++) {
        uint32_t arm = standing_arm(&standings[edges[e].to]);
        edges[e].decides = from_arms[e] == arm || !arm_holds(&arms, from_arms[e], arm);
    }
}

/* --- sequences ------------------------------------------------------------------------------------------------------ */

void plan_sequences(const Plan *plan, PlanStep *steps)
{
    for (uint32_t i = 0; i < plan->step_count; i++) {           /* a parent comes before its children */
        uint32_t parent = steps[i].parent;
        steps[i].sequence = PLAN_NONE;
        if (parent == PLAN_NONE) continue;
        steps[i].sequence = steps[parent].kind == STEP_SEQUENCE ? parent : steps[parent].sequence;
        if (steps[i].sequence != PLAN_NONE) steps[steps[i].sequence].child_count++;
    }
}

/* --- loops ---------------------------------------------------------------------------------------------------------- */

/* Marks what lies on a way from head to tail with the loop's bit; returns how many steps these are. */
static uint32_t mark_body(const Plan *plan, const PlanLoop *loop, uint64_t bit, uint64_t *masks, const uint32_t *order,
                          uint8_t *follows)
{
    memset(follows, 0, plan->step_count);
    follows[loop->head] = 1;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const PlanStep *step = &plan->steps[order[i]];
        if (!follows[order[i]]) continue;
        for (uint32_t e = 0; e < step->edge_count; e++) follows[plan->edges[step->edge_first + e].to] = 1;
    }
    uint32_t count = 0;
    for (uint32_t i = plan->step_count; i-- > 0;) {
        const PlanStep *step = &plan->steps[order[i]];
        if (!follows[order[i]]) continue;
        bool leads = order[i] == loop->tail;
        for (uint32_t e = 0; e < step->edge_count && !leads; e++)
            leads = masks[plan->edges[step->edge_first + e].to] & bit;
        if (!leads) continue;
        masks[order[i]] |= bit;
        count++;
    }
    return count;
}

static void list_body(Arena *arena, const Plan *plan, PlanLoop *loop, uint64_t bit, const uint64_t *masks,
                      uint32_t *places)
{
    LoopStep *body = ARENA_ARRAY(arena, LoopStep, loop->body_count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        if (!(masks[i] & bit)) continue;
        places[i] = count;
        body[count++] = (LoopStep){ .step = i, .is_live = i == loop->head };
    }
    for (uint32_t e = 0; e < plan->edge_count; e++) {
        const PlanEdge *edge = &plan->edges[e];
        if (!(masks[edge->to] & bit)) continue;
        LoopStep *to = &body[places[edge->to]];
        if (masks[edge->from] & bit) to->need_count++;
        else to->is_live = to->is_live || edge->decides;
    }
    loop->body = body;
}

Status plan_loops(Arena *arena, const Plan *plan, PlanStep *steps, PlanEdge *edges, PlanLoop *loops,
                  const uint32_t *order, Arena *scratch, Error *err)
{
    for (uint32_t e = 0; e < plan->edge_count; e++) edges[e].loop = PLAN_NONE;
    if (plan->loop_count == 0) return OK;
    uint64_t *masks = ARENA_ARRAY(scratch, uint64_t, plan->step_count);
    uint8_t *follows = ARENA_ARRAY(scratch, uint8_t, plan->step_count);
    uint32_t *places = ARENA_ARRAY(scratch, uint32_t, plan->step_count);
    for (uint32_t l = 0; l < plan->loop_count; l++) {
        loops[l].body_count = mark_body(plan, &loops[l], UINT64_C(1) << l, masks, order, follows);
        if (loops[l].body_count == 0)
            return error_set(err, ERR_CORRUPT, "the plan is damaged: a loop whose tail does not follow its head, at %" PRIu32,
                             l);
        steps[loops[l].tail].is_tail = true;
    }
    for (uint32_t l = 0; l < plan->loop_count; l++) {
        list_body(arena, plan, &loops[l], UINT64_C(1) << l, masks, places);
        loops[l].is_outermost = true;
        for (uint32_t k = 0; k < plan->loop_count; k++)
            if (k != l && loops[k].tail == loops[l].tail
                && (loops[k].body_count > loops[l].body_count || (loops[k].body_count == loops[l].body_count && k > l)))
                loops[l].is_outermost = false;
    }
    /* An edge out of several loops at once counts when the largest of them is left. */
    for (uint32_t e = 0; e < plan->edge_count; e++)
        for (uint32_t l = 0; l < plan->loop_count; l++) {
            bool leads_out = (masks[edges[e].from] >> l & 1) && !(masks[edges[e].to] >> l & 1);
            if (leads_out && (edges[e].loop == PLAN_NONE || loops[l].body_count >= loops[edges[e].loop].body_count))
                edges[e].loop = l;
        }
    return OK;
}
