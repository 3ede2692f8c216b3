/* begin.h - beginning a step that is ready: everything that is asked before its work starts.
 *
 * In this order: the condition of its job and its own, the gate before it, a place to run, the cost limit, its input, what
 * has the same declared key, the policy. Branches and sequences are carried out by the engine itself.
 *
 * Owns: nothing; events live in the decision.     Fails: never; a step that cannot begin fails.     Thread: pure, any.
 */
#ifndef CORE_BEGIN_H
#define CORE_BEGIN_H

#include "core/settle.h"

typedef enum Begin {
    BEGIN_GO,                       /* nothing stands in the way; never the final answer */
    BEGIN_DONE,                     /* events were added: it runs, is skipped, has failed */
    BEGIN_LATER,                    /* not now, and nothing to record */
    BEGIN_MISSING,                  /* decision->missing has to be fetched first */
} Begin;

Begin begin_step(const Settle *settle, uint32_t step);
/* Whether the loops that end with this step go round again. */
Begin begin_round(const Settle *settle, uint32_t tail);

#endif
