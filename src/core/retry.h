/* retry.h - whether a failed attempt is tried again, and when.
 *
 * The delay doubles from try to try up to its ceiling, or stays as it is; a part that looks like chance is added, and is
 * made of the run's seed, so that the same run on another machine waits as long. Integers throughout, nothing overflows.
 *
 * Owns: nothing.     Fails: never.     Bounds: DURATION_MS_MAX, twice.     Thread: pure, any.
 */
#ifndef CORE_RETRY_H
#define CORE_RETRY_H

#include "core/run.h"
#include "core/terms.h"
#include "dispatch/task.h"

/* `failure_count` failures so far, this one included: from 1. */
int64_t retry_delay_ms(const RetryTerms *terms, uint32_t failure_count, uint64_t seed);
/* What the jitter of one step's attempt is made of. */
uint64_t retry_seed(uint64_t run_seed, uint32_t step, uint32_t attempt);

/* Whether the step may be tried again after its attempt `attempt` failed for `cause`, and when. A retry that the run's
 * deadline or its cost limit forbids is none. */
bool retry_is_due(const Plan *plan, const Run *run, uint32_t step, uint32_t attempt, Cause cause, int64_t now_ms,
                  int64_t *out_due_ms);
/* The task of that step as the dispatch core sees it, at that stage: what it declares, and what has been spawned for it. */
Task retry_task(const Plan *plan, const Run *run, uint32_t step, TaskStage stage);
/* Why a failure that may be retried is not: the budget or the depth of its task, or neither. */
DropCause retry_drop(const Plan *plan, const Run *run, uint32_t step, uint32_t attempt, Cause cause);
/* Why the attempt under way, whose owner is gone, is not carried out once more: nothing is left of the budget of its task. */
DropCause retry_drop_again(const Plan *plan, const Run *run, uint32_t step);

/* The run has cost as much as its limit permits: nothing more is dispatched. */
bool cost_is_spent(const Plan *plan, const Run *run);

/* Attempts before those that count: each poll of a step has its own tries (C-88). */
uint32_t retry_first(const Plan *plan, const Run *run, uint32_t step);

#endif
