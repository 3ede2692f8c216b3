/* plan_graph.h - what follows from the edges of a plan, found once: arms of branches, bodies of loops, ends of sequences.
 *
 * An arm is what a case of a branch starts and all that follows it up to the step in which the cases come together. A step
 * stands in the innermost arm that an edge leads it into; edges from further out then say when it may start and not whether
 * it runs at all (PlanEdge.decides).
 *
 * Owns:   what it finds lives in the plan's arena; what it works with in `scratch`.
 * Fails:  plan_loops() with ERR_CORRUPT for a loop whose tail does not follow its head.
 * Bounds: GUARD_COUNT_MAX loops.     Thread: pure, any.
 */
#ifndef CORE_PLAN_GRAPH_H
#define CORE_PLAN_GRAPH_H

#include "core/plan.h"

/* All three fill in members of the plan's own steps, edges and loops; `order` is that of plan_order(). */
void plan_arms(const Plan *plan, PlanStep *steps, PlanEdge *edges, const uint32_t *order, Arena *scratch);
void plan_sequences(const Plan *plan, PlanStep *steps);
MUST_USE Status plan_loops(Arena *arena, const Plan *plan, PlanStep *steps, PlanEdge *edges, PlanLoop *loops,
                           const uint32_t *order, Arena *scratch, Error *err);

#endif
