/* svg.h - the parts that pictures are made of: the frame, text, lines with arrows, boxes, the legend.
 *
 * Everything is whole pixels. No font can be asked how wide a text is, so widths are estimated for the widest of the
 * usual sans-serif fonts: a box may have a little room left, but text never leaves it. Colours are classes, given twice
 * in the style sheet, for light and for dark surroundings; there are no ids but those of the title and the description,
 * which bear the plan's digest, so that pictures do not disturb one another on one page.
 *
 * Owns:   nothing.     Fails: never; the caller looks at the buffer.     Thread: one at a time.
 */
#ifndef CLI_DRAW_SVG_H
#define CLI_DRAW_SVG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/draw/drawing.h"

#define SVG_MARGIN 20                   /* around everything */
#define SVG_HEADING 52                  /* title and summary */
#define SVG_PAD 14                      /* between a border and its text */
#define SVG_POINT 30                    /* the same for a branch */
#define SVG_ROW 20                      /* from line to line */
#define SVG_ARROW 8                     /* length of an arrow's head */
#define SVG_NAME_WIDTH 40               /* columns, then a name is cut */

/* What a text is; decides class, size and weight. */
typedef enum SvgFont {
    FONT_TITLE,
    FONT_NAME,
    FONT_ROW,
    FONT_FAINT,
    FONT_LABEL,
    FONT_MARK,
    FONT_LOOP,
    FONT_COUNT
} SvgFont;

typedef struct SvgPoint {
    int32_t x, y;
} SvgPoint;

typedef struct SvgBox {
    int32_t x, y, width, height;
} SvgBox;

typedef struct SvgSize {
    int32_t width, height;              /* of what is drawn, without heading, legend and margins */
} SvgSize;

/* The start of the file, and of its content: the caller draws from (0, 0) to `size`. */
void svg_begin(const Drawing *drawing, SvgSize size, uint32_t marks);
void svg_end(const Drawing *drawing, SvgSize size, uint32_t marks);

int32_t svg_text_width(Str text, SvgFont font);
void svg_text(Buf *out, SvgPoint at, Str text, SvgFont font);               /* from the left */
void svg_text_centered(Buf *out, SvgPoint at, Str text, SvgFont font);
void svg_marks(Buf *out, SvgPoint right, uint32_t marks);                   /* ending at `right` */
int32_t svg_marks_width(uint32_t marks);                                    /* with a space before them, or 0 */
void svg_escape(Buf *out, Str text);

void svg_rect(Buf *out, SvgBox box, const char *classes);
void svg_hexagon(Buf *out, SvgBox box);                                     /* a branch */
void svg_arrow(Buf *out, SvgPoint tip, bool is_up, bool is_loop);
/* A line down from one point to another, in a curve where they are not above each other. */
void svg_path_begin(Buf *out, SvgPoint from, bool is_loop);
void svg_path_down(Buf *out, SvgPoint from, SvgPoint to);
void svg_path_end(Buf *out);

/* The two ways in which a plan is drawn. */
MUST_USE Status svg_layers(const Drawing *drawing, Error *err);
MUST_USE Status svg_tree(const Drawing *drawing, Error *err);
MUST_USE Status svg_refuse(uint64_t count, Error *err);                     /* more than DRAW_SVG_COUNT_MAX boxes */

#endif
