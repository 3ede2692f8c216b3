/* resolve.h - what becomes of a run that has failed: by its strategy, or once a person has decided.
 *
 * Strategies are applied once a failure, in the decision that fails the run. A run that was wound down in order to be compensated
 * or cancelled ends here, too. Retrying is state: the run is queued again, the steps that are run anew are named a bounded
 * number a decision, and then it runs.
 *
 * Owns: nothing.     Fails: never.     Bounds: those of a decision.     Thread: pure, any.
 */
#ifndef CORE_RESOLVE_H
#define CORE_RESOLVE_H

#include "core/settle.h"

/* All its steps have ended, and one of them has failed, or its time is over: EVENT_RUN_FAILED and what its strategy says. */
void resolve_failure(const Settle *settle);
/* All its steps have ended since it was to be cancelled or compensated. */
void resolve_wound_down(const Settle *settle);
/* Its automatic retry is due. */
void resolve_auto_retry(const Settle *settle);
/* The next of the steps that are run anew; after the last the run runs. */
void resolve_rerun(const Settle *settle, uint32_t event_count_max);

/* EVENT_DECISION_MADE; who and why are in the record where nothing is said here. */
Event *resolve_decided(const Settle *settle, DecisionKind kind, Str source, Str reason);

#endif
