/* tree.h - a step tree as a list of branches and leaves, in the order to draw them.
 *
 * Every step is a node below its parent. The steps below a branch are held together by the key of the case that leads
 * to them: each case is a node of its own, without a step, between the branch and its steps; a case that leads straight
 * to what follows the branch is one without steps. Nodes are listed parents first, each followed by all that lies below
 * it; nothing here or in its users recurses, since a plan that came from a disk may be as deep as it has steps.
 *
 * Owns:   everything lives in the arena given; texts point into the plan.
 * Fails:  never.     Bounds: linear in the plan.     Thread: pure, any.
 */
#ifndef CLI_DRAW_TREE_H
#define CLI_DRAW_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "core/plan.h"

typedef struct TreeNode {
    uint32_t step;                      /* PLAN_NONE for a case */
    Str key;                            /* of a case */
    uint32_t parent;                    /* a place in the list; PLAN_NONE at the top */
    uint32_t depth;
    uint32_t child_count;
    uint32_t loop_first, loop_count;    /* places in `loops`: those whose tail it is */
    bool is_last;                       /* of its parent's */
} TreeNode;

typedef struct Tree {
    const Plan *plan;
    const TreeNode *nodes;
    const PlanLoop *const *loops;       /* by the step of their tail */
    uint32_t count;
    uint32_t marks;                     /* all that occur, for the legend */
} Tree;

void tree_build(Tree *tree, const Plan *plan, Arena *arena);

#endif
