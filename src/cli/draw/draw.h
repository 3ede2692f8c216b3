/* draw.h - a plan as a picture: for a terminal, for a document, for other programs.
 *
 *   text      boxes and lines for a terminal, at most `width` columns wide. A workflow or runbook is drawn in layers
 *             from top to bottom; where a layer does not fit the width, or the plan is large, it is listed instead,
 *             each job with what it needs. A step tree is drawn as a tree.
 *   mermaid   a flowchart for Markdown that renders Mermaid
 *   dot       a digraph for Graphviz
 *   svg       a picture that stands alone: no script, no font and no file beside it, light and dark
 *
 * What is drawn: a job is a box with its tasks in order, a branch is a diamond whose edges carry the keys of its cases,
 * a loop is an edge back to its head with its bound. Signs behind a name (mark.h) say what else a step does; a legend
 * explains those that occur. Names are made safe for each format: whatever they contain, they stay text.
 *
 * The drawing depends on the plan and the options alone: equal ones give equal bytes.
 *
 * Owns:   nothing; everything on the way lives in `scratch`, which the caller resets.
 * Fails:  ERR_LIMIT where the drawing does not fit `out`, or an svg would have more than DRAW_SVG_COUNT_MAX boxes.
 * Bounds: text lists at most DRAW_LIST_COUNT_MAX jobs; of a larger plan it lists DRAW_LIST_HEAD_COUNT and counts the
 *         rest.
 * Thread: pure, any.
 */
#ifndef CLI_DRAW_DRAW_H
#define CLI_DRAW_DRAW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/status.h"
#include "base/str.h"
#include "core/plan.h"

typedef enum DrawFormat { DRAW_TEXT, DRAW_MERMAID, DRAW_DOT, DRAW_SVG, DRAW_FORMAT_COUNT } DrawFormat;

typedef struct DrawOptions {
    DrawFormat format;
    uint32_t width;             /* columns, for text: 0 means 80; between DRAW_WIDTH_MIN and DRAW_WIDTH_MAX */
    bool color;                 /* ANSI colours, for text */
    bool ascii;                 /* text: nothing but ASCII, other characters of names become '?' */
} DrawOptions;

const char *draw_format_name(DrawFormat format);            /* "text", "mermaid", "dot", "svg" */
bool draw_format_from(Str name, DrawFormat *out_format);

/* Appends the drawing to `out`, which holds an unusable part of it where this fails. */
MUST_USE Status draw_plan(const Plan *plan, const DrawOptions *options, Arena *scratch, Buf *out, Error *err);

#endif
