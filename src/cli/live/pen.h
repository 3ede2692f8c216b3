/* pen.h - lines of text for a terminal: tinted, measured in columns, never wider than there is room.
 *
 * Everything that a person sees of a run is written by a pen, and what comes from outside (names, messages, lines of logs)
 * only through pen_text() and its siblings after text_clean(): nothing of it can move a cursor or change a colour. Without
 * colour the same characters are written.
 *
 * Owns:   nothing; writes to the buffer given.     Fails: never; text beyond the width is cut.
 * Thread: one at a time.
 */
#ifndef CLI_LIVE_PEN_H
#define CLI_LIVE_PEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

typedef enum Tint { TINT_PLAIN, TINT_STRONG, TINT_FAINT, TINT_GOOD, TINT_BAD, TINT_WARN, TINT_ACTIVE, TINT_COUNT } Tint;

/* How a terminal may be written to. */
typedef struct PenStyle {
    bool color;
    bool ascii;                     /* it shows no other characters */
} PenStyle;

typedef struct Pen {
    Buf *out;
    PenStyle style;
    uint32_t width;                 /* columns of a line; UINT32_MAX: no end */
    uint32_t used;                  /* columns written in this one */
} Pen;

void pen_text(Pen *pen, Tint tint, Str text);                       /* cut at the end of the line with an ellipsis */
void pen_cut(Pen *pen, Tint tint, Str text, uint32_t width);        /* the same after so many columns */
void pen_put(Pen *pen, Tint tint, const char *text);
void pen_format(Pen *pen, Tint tint, const char *format, ...) __attribute__((format(printf, 3, 4)));
void pen_pad(Pen *pen, uint32_t column);                            /* spaces up to that column; none where it is behind */
void pen_end(Pen *pen);                                             /* the line is over */

/* One line of foreign text made safe: sequences that colour or move are left out, of a line that was written over again and
 * again (by carriage returns) the last state remains, other control characters become signs. In the arena, or the text. */
Str text_clean(Arena *arena, Str text, bool ascii);

/* "3s", "4m05s": of something that still goes on, so that it changes once a second. */
void duration_going(Buf *buf, int64_t ms);

#endif
