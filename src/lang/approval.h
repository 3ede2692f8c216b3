/* approval.h - which steps run only after somebody has said yes.
 *
 * A gate is a wait for a signal, or a pause that a trigger ends; one that lets go by itself (auto_approve,
 * auto_resume_after) is none. A gate before the work (wait_for_signal with `when: before`) covers its own step; a gate
 * after the work covers the steps behind it. It covers a step only if it cannot be missed on the way there: not in an arm
 * of a branch that the step is not in, and not in something that `when` may skip and the step may not.
 *
 * Owns:   arrays in the arena given.
 * Fails:  never. In doubt a step is not covered.     Thread: pure, any.
 */
#ifndef LANG_APPROVAL_H
#define LANG_APPROVAL_H

#include <stdbool.h>

#include "base/arena.h"
#include "core/plan.h"

typedef struct Approvals {
    const bool *is_covered;         /* by step */
    const bool *has_gate;           /* by step: a gate of its own or, for the last one, of its job; before or after */
} Approvals;

void approvals_find(Arena *arena, const Plan *plan, Approvals *out);

#endif
