/* terminate.h - runs that end before all of their steps were carried out, because one of these says so.
 *
 * Once a step is done, the conditions of its `terminate_when` are asked before anything behind it begins. Where one holds the run
 * winds down: what is under way is ended, what has not begun is skipped, and the run ends as the definition says. It is no
 * failure that anybody has to decide on (C-83).
 *
 * Owns: nothing; events live in the decision.     Fails: by BEGIN_MISSING, with what to fetch.     Thread: pure, any.
 */
#ifndef CORE_TERMINATE_H
#define CORE_TERMINATE_H

#include "core/begin.h"

/* Whether the run ends behind this step, which is done. */
Begin terminate_ask(const Settle *settle, uint32_t step);
/* The run has wound down: its end. */
void terminate_run(const Settle *settle);

#endif
