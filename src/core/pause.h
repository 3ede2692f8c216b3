/* pause.h - runs that pause behind a step until something outside resumes them.
 *
 * The pause begins once its step is done: the whole run is paused, what is under way ends, nothing new begins. It ends by its
 * trigger, by a signal that its condition takes, by a person, by the time after which the run goes on by itself, or by a
 * timeout, and only once: what comes later is refused. A trigger may come before its pause, and is kept for it (C-99). The
 * payload that ended it is an output, under the trigger's name.
 *
 * Owns: nothing; events live in the decision.     Thread: pure, any.
 * Fails: as decide.h says. A trigger that is refused for its payload is recorded all the same.
 */
#ifndef CORE_PAUSE_H
#define CORE_PAUSE_H

#include "core/begin.h"
#include "core/decide_kinds.h"

/* The run pauses for the first of its pauses, or passes it, where its trigger has come already. */
Begin pause_begin(const Settle *settle);
/* A signal was taken: it ends a pause whose condition it meets (C-100). */
MUST_USE Status pause_signal(const Asked *asked, uint32_t number, Error *err);
/* A person resumes a run that awaits a trigger, without its payload. */
MUST_USE Status pause_resume(const Asked *asked, Error *err);
/* Whether pauses for this trigger ask nothing of its payload: no schema, no condition. Then a person may resume them without one. */
bool pause_is_plain(const Plan *plan, Str trigger);
/* Its time has come. */
MUST_USE Status pause_timer(const Settle *settle, Error *err);
/* The run is cancelled, fails or is undone while it awaits a trigger. */
void pause_cancel(const Settle *settle);

#endif
