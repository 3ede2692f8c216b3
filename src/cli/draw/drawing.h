/* drawing.h - one drawing under way: what every format needs to make it.
 *
 * Owns: nothing.     Fails: the formats with ERR_LIMIT, where a bound is theirs alone.     Thread: one at a time.
 */
#ifndef CLI_DRAW_DRAWING_H
#define CLI_DRAW_DRAWING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/status.h"
#include "core/plan.h"

typedef struct Drawing {
    const Plan *plan;
    Arena *arena;               /* for this drawing only */
    Buf *out;
    uint32_t width;             /* columns, for text */
    bool color, ascii;
} Drawing;

MUST_USE Status draw_text(const Drawing *drawing, Error *err);
MUST_USE Status draw_mermaid(const Drawing *drawing, Error *err);
MUST_USE Status draw_dot(const Drawing *drawing, Error *err);
MUST_USE Status draw_svg(const Drawing *drawing, Error *err);

/* The plan's name as people know it, as written. */
Str drawing_title(const Plan *plan);
/* What it is made of: "workflow, 7 jobs, 10 steps". */
Str drawing_summary(const Plan *plan, Arena *arena);

#endif
