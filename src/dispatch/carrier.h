/* carrier.h - sub-routines: what carries one task to its destination, once, and is gone.
 *
 *           spawn            commit: the dispatch call is issued
 *   (void) ───────▶  0 idle ───────────────────────────────────────▶ 1 ──▶ 0     the primary
 *                    0 idle ──▶ -1 withdrawn                                     a cooperative; a primary that is given up
 *
 * A group has one primary and as many cooperatives as admission computed before any of them was made. The cooperatives stand for
 * send capacity that is kept free while the task is on its way; they withdraw before the call is issued and never issue one. Who
 * may commit is decided by who it is, so that there is nothing to race for.
 *
 * A sub-routine holds nothing but its state: what is carried, and where to, are arguments of the one call that carries it. The
 * call says whether the destination took the task off our hands and nothing more: what becomes of it is not known here.
 *
 * Owns:   nothing.
 * Fails:  subroutine_move() answers false for a transition that there is none; group_dispatch() for a group that has dispatched
 *         or was withdrawn, without issuing the call.
 * Bounds: COOPERATIVE_COUNT_MAX cooperatives, one call a group.     Thread: pure, any.
 */
#ifndef DISPATCH_CARRIER_H
#define DISPATCH_CARRIER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"

typedef enum SubRoutineState {
    SUBROUTINE_WITHDRAWN = -1,
    SUBROUTINE_VOID = 0,
    SUBROUTINE_COMMITTED = 1,
} SubRoutineState;

typedef struct SubRoutine { int8_t state; } SubRoutine;

typedef struct SubRoutineGroup {
    SubRoutine primary;
    SubRoutine cooperatives[COOPERATIVE_COUNT_MAX];
    uint8_t cooperative_count;
    bool is_over;                   /* its life is over: it has committed, or was withdrawn */
} SubRoutineGroup;

/* Who takes a task: answers at once, whether the call could be issued (the transport had room); says nothing of what becomes of it. */
typedef bool (*DispatchCall)(void *destination, const void *task);

bool subroutine_move(SubRoutine *subroutine, SubRoutineState to);

SubRoutineGroup group_spawn(uint32_t cooperative_count);
/* Cooperatives withdraw, the primary commits, the call is issued, everything is void again: true, and the group's life is over. False
 * where nothing was issued: for want of room, then the primary may try again; or the group's life is over, then it is not tried. */
bool group_dispatch(SubRoutineGroup *group, DispatchCall call, void *destination, const void *task);
bool group_withdraw(SubRoutineGroup *group);        /* all of it, before anything was issued */

#endif
