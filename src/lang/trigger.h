/* trigger.h - what a trigger declares, as a whole: how often it may come, and for how long each request is remembered.
 *
 * A request may be dated ahead by as much as it may be old, so that it is remembered for two windows at most; what comes in that time is
 * what has to be remembered at once.
 *
 * Owns: nothing.     Thread: pure, any.
 */
#ifndef LANG_TRIGGER_H
#define LANG_TRIGGER_H

#include "lang/compiler.h"

/* Of one trigger: a mapping with `rate_limit` and `replay_window`, either of which may be left out. */
void trigger_check(Compiler *compiler, const Node *settings);
/* All that start the definition. */
void triggers_check(Compiler *compiler);

#endif
