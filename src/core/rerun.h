/* rerun.h - which steps are run anew when a run is retried, as one pure function.
 *
 * A retry of what failed runs anew the steps that failed, were cancelled, or were skipped because another failed. A retry from
 * a step runs anew that step and whatever comes after it, besides: what failed elsewhere could not be left as it is, or the
 * run could never succeed. A sequence around a step that is run anew begins anew, too, and passes over what is done in it. Steps
 * of cases that a branch did not take are left alone, unless the branch itself is asked again.
 *
 * decide(), advance(), what-if and the command line ask here, and nobody else decides it.
 *
 * Owns:   the set lives in the arena given.
 * Fails:  never.     Bounds: a byte a step; steps and edges are looked at once.     Thread: pure, any.
 */
#ifndef CORE_RERUN_H
#define CORE_RERUN_H

#include "base/arena.h"
#include "core/run.h"

/* A byte a step: whether it is run anew. `from` is STEP_NONE for a retry of what failed. Steps that a retry under way has
 * queued already belong to the set. */
const uint8_t *rerun_set(const Plan *plan, const Run *run, uint32_t from, Arena *arena);
uint32_t       rerun_count(const uint8_t *set, uint32_t step_count);

/* A byte a step: whether it comes after `from`, which itself is not among them. Where `run` is given, cases that were not taken
 * are left out as above. */
uint8_t *rerun_after(const Plan *plan, const Run *run, uint32_t from, Arena *arena);

#endif
