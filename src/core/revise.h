/* revise.h - whether a run can go on with another revision of its workflow.
 *
 * A failed run is retried with another revision where that one has the same shape: the same steps, jobs, edges and loops, the
 * same places at which a run polls, pauses, waits or ends early. What steps do (runners, inputs, conditions, retries, timeouts,
 * compensations) may differ. So every event of the run means the same under both plans, the fold of its records gives the same
 * run, and readers need one plan, the newest.
 *
 * What is kept must fit, too: parameters are accepted by the new revision; the outputs of steps that are not run anew are what it
 * declares; keys of what may still be undone are the same (I4).
 *
 * Owns:   nothing.     Fails: ERR_CONFLICT with the step, and why; ERR_UNAVAILABLE where an output has to be fetched first.
 * Bounds: steps and edges are looked at once.     Thread: pure, any.
 */
#ifndef CORE_REVISE_H
#define CORE_REVISE_H

#include "core/settle.h"

/* Whether a run of one plan can be folded with the other. */
MUST_USE Status revise_check_shape(const Plan *before, const Plan *after, Error *err);

/* Whether what is kept of the run fits the new plan, which is that of `settle`. `anew` is the rerun set; with `is_undone_first`
 * what is run anew may be undone before that. */
MUST_USE Status revise_check_kept(const Settle *settle, const Plan *before, const uint8_t *anew, bool is_undone_first, Error *err);

/* Ids of the steps that differ, by commas; cut off with ", ..." where there are too many to say. */
Str revise_differences(const Plan *before, const Plan *after, Arena *arena);

#endif
