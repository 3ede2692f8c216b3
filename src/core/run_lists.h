/* run_lists.h - the lists of a run, changed by run_apply() alone.
 *
 * Reached, ready and moved are linked through their members, so that they never need memory of their own; leaving from the
 * front costs nothing, leaving from further back a walk to that place. Active is an array whose order means nothing.
 *
 * Owns: nothing.     Fails: never.     Thread: one at a time.
 */
#ifndef CORE_RUN_LISTS_H
#define CORE_RUN_LISTS_H

#include "core/run.h"

void reached_add(Run *run, uint32_t step);
void ready_add(Run *run, const Plan *plan, uint32_t step, uint32_t since_s);
/* Since when a step of the ready list has been ready: milliseconds. */
static inline int64_t ready_since_ms(const Run *run, uint32_t step)
{
    return run->created_ms + (int64_t)run->steps[step].need_left * 1000;
}
/* Takes the step out of reached, ready or active, wherever it is. */
void lists_leave(Run *run, const Plan *plan, uint32_t step);
void lists_drop(Run *run);                              /* empties reached and ready */

ActiveStep *active_add(Run *run, uint32_t step);        /* cleared, but for the step */
ActiveStep *active_of(Run *run, uint32_t step);         /* CHECKs that it is there */

void moved_add(Run *run, uint32_t job);
void moved_leave(Run *run, uint32_t job);

/* Room for one more item of an array that the run owns. */
void *run_grow(void *items, size_t item_size, uint32_t count, uint32_t *capacity);
Str   run_copy(Str text);                               /* owned by the run */

#endif
