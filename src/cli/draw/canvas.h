/* canvas.h - a grid of character cells for terminals: text, and lines that join where they meet.
 *
 * A cell of a line remembers in which directions it goes on, and becomes the right character when it is printed. Text
 * takes as many cells as it has columns, wide characters two, marks that combine none; what lies outside of the canvas
 * is not drawn, so no printed line is wider than the canvas.
 *
 * Owns:   its cells, in the arena given; text is borrowed until it is printed.
 * Fails:  never.     Bounds: width x height is the caller's to bound.     Thread: one at a time.
 */
#ifndef CLI_DRAW_CANVAS_H
#define CLI_DRAW_CANVAS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

typedef enum Ink {
    INK_PLAIN,
    INK_TITLE,
    INK_FAINT,              /* lines and details */
    INK_BRANCH,
    INK_LOOP,
    INK_MARK,
    INK_OUTPUT,
    INK_COUNT
} Ink;

/* The directions in which a cell's line goes on. */
enum { LINE_UP = 1, LINE_RIGHT = 2, LINE_DOWN = 4, LINE_LEFT = 8 };

typedef struct Cell {
    const char *text;       /* NULL where the cell is empty or a line */
    uint8_t size;           /* of the text; 0 for the second half of a wide character */
    uint8_t lines;
    uint8_t ink;
    bool is_dashed;
} Cell;

typedef struct Canvas {
    Cell *cells;
    uint32_t width, height;
    bool ascii;
} Canvas;

typedef struct CanvasPen {
    Ink ink;
    bool is_dashed;
} CanvasPen;

void canvas_init(Canvas *canvas, Arena *arena, uint32_t width, uint32_t height);
void canvas_clear(Canvas *canvas);

/* Writes clean text from (x, y) to the right; returns the column behind it. */
uint32_t canvas_text(Canvas *canvas, uint32_t x, uint32_t y, Str text, Ink ink);
void canvas_repeat(Canvas *canvas, uint32_t x, uint32_t y, Str sign, uint32_t count, Ink ink);
/* Adds directions to a cell, or sets them: a line that passes over another one without meeting it. */
void canvas_join(Canvas *canvas, uint32_t x, uint32_t y, uint8_t lines, CanvasPen pen);
void canvas_pass(Canvas *canvas, uint32_t x, uint32_t y, uint8_t lines, CanvasPen pen);

/* Every row as a line without spaces at its end; colours only where the ink changes. */
void canvas_print(const Canvas *canvas, Buf *out, bool color);

#endif
