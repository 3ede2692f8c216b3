/* rationale.h - why something was decided, in the record of every decision.
 *
 * People may say why they want something, and then that is the reason. Where nobody said anything the reason is what led to the
 * decision: an attempt that ended, a time that had come, a start that was asked for. It is written when the decision is made and
 * never again, so the words may change from one version to the next.
 *
 * Owns:   texts that are made live in the arena; others are the command's, or constant.
 * Fails:  never. The answer is never empty.     Bounds: RATIONALE_SIZE_MAX for what is made here.     Thread: pure, any.
 */
#ifndef CORE_RATIONALE_H
#define CORE_RATIONALE_H

#include "base/arena.h"
#include "core/command.h"

/* `first_kind` is the EventKind of the first event that was decided: of a time that has come it says which one. */
Str rationale_of(Arena *arena, const Command *command, uint8_t first_kind);

#endif
