/* decide_kinds.h - one function for each kind of command; decide() finds it in a table. Nothing outside core includes this.
 *
 * Owns: nothing.     Fails: as decide.h says.     Thread: pure, any.
 */
#ifndef CORE_DECIDE_KINDS_H
#define CORE_DECIDE_KINDS_H

#include "core/settle.h"

typedef struct Asked {
    Settle settle;
    const Command *command;
} Asked;

typedef Status (*DecideKind)(const Asked *asked, Error *err);

/* decide.c */
Status decide_pause(const Asked *asked, Error *err);
Status decide_resume(const Asked *asked, Error *err);
Status decide_cancel(const Asked *asked, Error *err);
Status decide_signal(const Asked *asked, Error *err);
Status decide_rebind(const Asked *asked, Error *err);
/* pause.c */
Status decide_trigger(const Asked *asked, Error *err);
/* decide_start.c: parameters after all, with defaults and the payload of the start; ERR_INVALID with all that is wrong */
MUST_USE Status decide_params(const Plan *plan, Value params, Value payload, Arena *arena, Value *out, Error *err);
/* decide_report.c: what holders of attempts say */
Status decide_accept(const Asked *asked, Error *err);
Status decide_report(const Asked *asked, Error *err);
Status decide_effect(const Asked *asked, Error *err);
Status decide_cost(const Asked *asked, Error *err);
/* decide_time.c: what the passing of time says, and the loss of a holder */
Status decide_timer(const Asked *asked, Error *err);
Status decide_orphaned(const Asked *asked, Error *err);
Status decide_spent(const Asked *asked, Error *err);
Status decide_recover(const Asked *asked, Error *err);
Status decide_release(const Asked *asked, Error *err);

/* decide_resolve.c: what is decided about a run that has failed, and about its compensation */
Status decide_resolve(const Asked *asked, Error *err);
Status decide_retry_from(const Asked *asked, Error *err);
Status decide_compensate(const Asked *asked, Error *err);
Status decide_retry_compensation(const Asked *asked, Error *err);
Status decide_skip_compensation(const Asked *asked, Error *err);

/* ERR_DENIED where a policy forbids it, ERR_UNAVAILABLE where it has yet to answer. */
MUST_USE Status decide_ask_policy(const Asked *asked, Hook hook, Value input, Error *err);
/* ERR_CONFLICT with the run's state, why, and what would work instead (empty: nothing). */
Status decide_refuse(const Asked *asked, Error *err, const char *why, const char *instead);

#endif
