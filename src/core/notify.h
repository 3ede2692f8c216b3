/* notify.h - what somebody outside is to learn of a pause.
 *
 * With the event that begins a pause, and with each reminder, there is a notification for each of those that its definition
 * names. It is open until somebody has confirmed it or its tries are used up; pending() lists the open ones, and the engine
 * has each of them carried out by a runner when its time has come. Which process does so is recorded nowhere: after the end of
 * an owner the next one finds it open and sends it again, under the same key. So it is received at least once, or given up.
 * What becomes of a notification changes nothing else of the run. The end of its pause withdraws it, as does a reminder.
 *
 * Owns:   nothing; events live in the decision.     Thread: pure, any.
 * Fails:  notify_report() with ERR_CONFLICT where that try is not the one that is open.
 * Bounds: NOTIFY_TARGET_COUNT_MAX open ones, NOTIFY_ATTEMPT_COUNT_MAX tries of each, RUN_NOTIFICATION_COUNT_MAX of a run: a
 *         reminder beyond that reminds nobody.
 */
#ifndef CORE_NOTIFY_H
#define CORE_NOTIFY_H

#include "core/decide_kinds.h"

/* About the pause behind that step, whose beginning or reminder has been decided just now. */
void notify_queue(const Settle *settle, uint32_t step, uint32_t reminder);
/* None of those that are open is wanted any more. */
void notify_withdraw(const Settle *settle, Str why);
/* By which whoever receives it more than once can tell. */
Str notify_key(const Id *run, uint32_t number, Arena *arena);
/* What the executor of a try says of it. */
MUST_USE Status notify_report(const Asked *asked, Error *err);

#endif
