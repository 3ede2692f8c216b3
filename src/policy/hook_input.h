/* hook_input.h - the document that a policy is asked about.
 *
 * One form for all hooks; what a hook does not have is left out (docs/policy.md has the table). Values of the plan and of the
 * question are borrowed, keys are written in their order, so that making a document sorts nothing and prints nothing.
 *
 * Owns: what is made lives in the arena given.     Fails: never.     Thread: pure, any.
 */
#ifndef POLICY_HOOK_INPUT_H
#define POLICY_HOOK_INPUT_H

#include "core/decide.h"

/* What is known beside the question itself. */
typedef struct HookFacts {
    const Value *params, *payload;      /* of the run; NULL: left out */
    const Value *placement;             /* where the step goes; NULL: left out */
    bool has_now;                       /* the time is wanted */
} HookFacts;

Value hook_input(Arena *arena, const VerdictAsk *ask, const HookFacts *facts);

#endif
