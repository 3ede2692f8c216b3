/* what_if.h - whether a decision about a run would be granted: asked of decide() itself, with nothing committed and nothing done.
 *
 * The run is what its events have made of it; the rules are those that the owner of the store goes by. Policies are not asked:
 * they belong to that process.
 *
 * Owns:   what is made lives in the arena.
 * Fails:  as decide() refuses, in its words; with the store's reason.     Thread: the main one.
 */
#ifndef CLI_WHAT_IF_H
#define CLI_WHAT_IF_H

#include "cli/follow.h"
#include "core/command.h"

/* The run as all of its events have made it; follow_close() it. */
MUST_USE Status what_if_open(Follow *follow, Store *store, const Cell *row, Error *err);
/* `target` is the plan to go on with: the run's own, or that of command->revision. */
MUST_USE Status what_if(Arena *arena, const Follow *follow, const Cell *row, const Plan *target, const Command *command, Error *err);

#endif
