/* mark.h - the signs behind a name that say what else a step does, and the legend that explains them.
 *
 * A mark is there when the step's settings have its key with something in it, unless what holds the step has the very
 * same setting: policies of a whole workflow would otherwise mark every task. A set of marks is a word of bits, so that
 * the legend shows those alone that occur. Every sign is one column wide.
 *
 * Owns: nothing.     Fails: never.     Thread: pure, any.
 */
#ifndef CLI_DRAW_MARK_H
#define CLI_DRAW_MARK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "value/value.h"

typedef enum Mark {
    MARK_WHEN,
    MARK_COMPENSATION,
    MARK_POLL,
    MARK_PAUSE,
    MARK_SIGNAL,
    MARK_POLICY,
    MARK_OUTPUT,
    MARK_OPTIONAL,
    MARK_COUNT
} Mark;

uint32_t mark_set(Value settings, Value around);        /* around: settings of what holds it, or null */
static inline bool mark_has(uint32_t set, Mark mark) { return set >> mark & 1; }
uint32_t mark_width(uint32_t set);                      /* columns: one a mark */
Str  mark_sign(Mark mark, bool ascii);
Str  mark_meaning(Mark mark);                           /* for the legend */
void mark_print(Buf *buf, uint32_t set, bool ascii);    /* the signs, one after another */

#endif
