/* job.h - what people do to one job of a run: pause it, resume it, cancel it.
 *
 * A paused job begins nothing: what is under way ends and is recorded, what becomes due waits in the ready list. The other jobs
 * go on, and the run is what these make of it. The pause of a job and the pause of its run know nothing of each other: a step
 * begins where neither holds it. A cancelled job is ended: what it has under way is told to end, what has not begun is skipped,
 * and what needs it is skipped as behind a step that failed. The table of states (M-3) has no way from `queued` to `paused`: a
 * job that is paused before anything of it has run stays `queued`, and begins nothing either.
 *
 * Owns:   nothing; events live in the decision.     Thread: pure, any.
 * Fails:  job_decide() with ERR_NOT_FOUND (no such job), ERR_CONFLICT (the state of the job or of the run does not permit it: says
 *         which, why, and what would work), ERR_INVALID, and as decide.h says of policies.
 * Bounds: the decision's.
 * Invariant I27: nothing begins in a job that is paused or was cancelled.   CHECKed when a step is dispatched.
 */
#ifndef CORE_JOB_H
#define CORE_JOB_H

#include "core/decide_kinds.h"

/* A command about `command->job` alone. */
MUST_USE Status job_decide(const Asked *asked, Error *err);
/* What cancelled jobs still have is told to end, or skipped, until the decision has `event_count_max` events. False: nothing is left
 * to be told. */
bool job_cut(const Settle *settle, uint32_t event_count_max);
/* A step of a cancelled job has ended. */
void job_cancel_step(const Settle *settle, uint32_t step);

#endif
