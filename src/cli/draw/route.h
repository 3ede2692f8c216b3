/* route.h - the lines between two layers of boxes on a canvas.
 *
 * Lines leave the lower side of the layer above at pins and enter the layer below at pins. What leaves one pin for
 * several places, or enters one pin from several, shares one level line, a bus; buses that would touch lie on different
 * rows, ordered so that few lines cross. Where lines do cross, the upright one passes over the level one, which is
 * interrupted: a joint is always a joint.
 *
 *      └───┬───┘  └──┬──┘  └─┬─┘
 *          ├─────────│──┐    │          a bus of the first box, which passes under the line of the second
 *          │         │  └─┐┌─┘
 *          ▼         ▼    ▼▼
 *
 * A box that is entered by lines of several forks has a pin for each, so that following a line downwards from its box
 * leads to the boxes after it and to no other. The lines of loops have pins of their own, at the right end.
 *
 * Owns:   everything lives in the arena given.
 * Fails:  never.     Thread: one at a time.
 * Invariant W1: in no column do lines of two buses run at the same height.
 */
#ifndef CLI_DRAW_ROUTE_H
#define CLI_DRAW_ROUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "cli/draw/canvas.h"
#include "cli/draw/layout.h"

#define ROUTE_BACK_INSET 2u              /* where loops meet a box: the last column inside of its right border */

typedef struct Pin {
    uint32_t vertex, column, bus;
    uint32_t wire_count;
    bool is_loop;
} Pin;

typedef struct Wire {
    uint32_t top, bottom;               /* pins */
} Wire;

typedef struct Bus {
    uint32_t left, right;               /* columns */
    uint32_t row;                       /* among the rows of the buses; of no meaning where left == right */
    bool is_loop;
} Bus;

typedef struct Gap {
    Pin *tops, *bottoms;
    Wire *wires;
    Bus *buses;
    uint32_t top_count, bottom_count, wire_count, bus_count;
    uint32_t bus_row_count;
    uint32_t row_count;                 /* all of them, with one for heads of loops and one for arrows */
} Gap;

typedef struct RouteMap {
    const Layout *layout;
    uint32_t *columns;                  /* by vertex: where the line of a bend stands; set as the gaps are planned */
    uint32_t *wires;                    /* by link: its place in its gap; set as the gaps are planned */
    uint32_t node_count;                /* vertices below this are boxes, the others bends */
} RouteMap;

/* How wide a box must be at least for its pins to have room. */
uint32_t route_box_width_min(const Layout *layout, uint32_t node);

/* The gap below a layer. Gaps are planned from the top down, since one decides where bends stand in the next. */
void route_plan(const RouteMap *map, uint32_t layer, Arena *arena, Gap *out_gap);

/* Where a gap is on the canvas: its first row, and by vertex the row below what is drawn of it. */
typedef struct GapPlace {
    uint32_t left, y;
    const uint32_t *bottoms;
} GapPlace;

void route_draw(const RouteMap *map, const Gap *gap, const GapPlace *place, Canvas *canvas);

#endif
