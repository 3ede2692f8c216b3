/* reaction.h - what signals do to a run by themselves, as its definition says in `on_signal`.
 *
 * Words act on the run as if a person had sent the command. A short circuit ends a task, a job or the run early: what it covers is
 * not begun any more and what runs is told to end, both with the outcome that was declared. Amplified retries have more attempts,
 * or begin sooner, within the bound that the task declares. Both hold from the signal on; a run remembers which have fired.
 *
 * Owns: nothing; events live in the decision.     Fails: as decide.h says.     Thread: pure, any.
 */
#ifndef CORE_REACTION_H
#define CORE_REACTION_H

#include "core/decide_kinds.h"

/* Everything that this signal, which was just taken, sets off. `has_moved`: it has moved the run already, and nothing else may. */
MUST_USE Status reaction_fire(const Asked *asked, bool has_moved, Error *err);

/* The short circuit that covers a step, or NULL. */
const ReactionTerms *reaction_cut(const Plan *plan, const Run *run, uint32_t step);
/* A step that is covered ends so, before it began or after it was told to end. */
void reaction_end(const Settle *settle, uint32_t step, const ReactionTerms *cut);
/* Its retries, as the signals so far have left them. */
RetryTerms reaction_retry(const Plan *plan, const Run *run, uint32_t step);

#endif
