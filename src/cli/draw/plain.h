/* plain.h - text from outside, made fit for a terminal: what is not shown as itself is shown as an escape.
 *
 * What steps write, what people name things, what a file holds: any of it may hold sequences that colour, move a cursor, set a
 * title, answer in the person's place or turn the writing direction. Everything that a command prints passes here, so that it is
 * seen and not obeyed: control characters (C0, DEL, C1), marks that turn or hide text, and bytes that are no UTF-8.
 *
 *   plain_put(out, "a\033[31mb", PLAIN_LINES)      a\u001b[31mb
 *
 * A character is written as in JSON, so that a JSON text that passes here stays one and means the same; a byte that is no UTF-8
 * is written \xff, which no JSON text has.
 *
 * Owns:   results live in the arena given, or are the text itself where nothing changed.
 * Fails:  never.     Bounds: at most six times the size.     Thread: pure, any.
 */
#ifndef CLI_DRAW_PLAIN_H
#define CLI_DRAW_PLAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

typedef enum PlainKind {
    PLAIN_LINE,                     /* one line: line feeds and tabs are escaped, too */
    PLAIN_LINES,                    /* line feeds and tabs stay */
    PLAIN_JOINED,                   /* one line: line feeds and tabs are blanks */
} PlainKind;

bool plain_is_shown(uint32_t point);            /* not a control character or a mark that turns or hides text */
void plain_put(Buf *out, Str text, PlainKind kind);
Str  plain_text(Arena *arena, Str text, PlainKind kind);

#endif
