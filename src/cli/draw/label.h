/* label.h - names made fit to draw: no control characters, no more columns than there are.
 *
 * A name may hold anything. What would move a cursor, end a line or turn the writing direction becomes a space or a
 * replacement character here, so that no format has to think of it; escaping for its own syntax is left to each format.
 *
 * Owns:   results live in the arena given, or are the text itself where nothing changed.
 * Fails:  never.     Thread: pure, any.
 */
#ifndef CLI_DRAW_LABEL_H
#define CLI_DRAW_LABEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

/* The few characters beside the lines, in both alphabets. */
typedef struct LabelSigns {
    Str ellipsis, arrow, arrow_back, at_most, times, loop, bullet, diamond;
} LabelSigns;

const LabelSigns *label_signs(bool ascii);

/* Safe text; in ASCII every other character becomes '?'. */
Str label_clean(Arena *arena, Str name, bool ascii);
/* Clean text of at most `width` columns, its end replaced by an ellipsis where it is longer. */
Str label_cut(Arena *arena, Str label, uint32_t width, bool ascii);
void label_count(Buf *buf, uint64_t count);             /* "99,900" */
Str label_more(Arena *arena, uint64_t count, bool ascii);           /* "… 99,900 more" */

#endif
