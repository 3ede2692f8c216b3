#include "cli/draw/route.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"

/* Columns are counted from the layout's left end; the canvas may have a margin. */

static void add_tops(const RouteMap *map, uint32_t layer, Gap *gap);
static void add_bottoms(const RouteMap *map, uint32_t layer, Gap *gap, Arena *arena);
static void add_buses(Gap *gap, Arena *arena);
static void stack_buses(Gap *gap, Arena *arena);

static bool is_node(const RouteMap *map, uint32_t vertex) { return vertex < map->node_count; }

void route_plan(const RouteMap *map, uint32_t layer, Arena *arena, Gap *out_gap)
{
    const Layout *layout = map->layout;
    uint32_t link_count = 0;
    for (uint32_t i = layout->layer_first[layer]; i < layout->layer_first[layer + 1]; i++)
        link_count += layout->vertices[layout->order[i]].out_count;
    Gap gap = {
        .tops = ARENA_ARRAY(arena, Pin, link_count),
        .bottoms = ARENA_ARRAY(arena, Pin, link_count),
        .wires = ARENA_ARRAY(arena, Wire, link_count),
    };
    add_tops(map, layer, &gap);
    add_bottoms(map, layer + 1, &gap, arena);
    add_buses(&gap, arena);
    stack_buses(&gap, arena);

    bool has_head = false, has_arrow = false;
    for (uint32_t i = 0; i < gap.top_count; i++) has_head |= gap.tops[i].is_loop && is_node(map, gap.tops[i].vertex);
    for (uint32_t i = 0; i < gap.bottom_count; i++) has_arrow |= is_node(map, gap.bottoms[i].vertex);
    gap.row_count = gap.bus_row_count + has_head + has_arrow;
    if (has_head)                                           /* the first row is for the arrows of loops alone */
        for (uint32_t i = 0; i < gap.bus_count; i++) gap.buses[i].row++;
    *out_gap = gap;
}

/* --- pins -------------------------------------------------------------------------------------------------------- */

/* The columns between the borders of a box, or of a bend's slot; a loop's pin takes the last ones. */
typedef struct Span {
    uint32_t first, last;
} Span;

static Span inside(const RouteMap *map, uint32_t vertex_index, bool has_loop)
{
    const LayoutVertex *vertex = &map->layout->vertices[vertex_index];
    uint32_t x = (uint32_t)vertex->x;
    if (!is_node(map, vertex_index)) return (Span){ x, x + vertex->width - 1 };
    return (Span){ x + 1, x + vertex->width - (has_loop ? 4 : 2) };
}

static uint32_t loop_column(const LayoutVertex *vertex)
{
    return (uint32_t)vertex->x + vertex->width - ROUTE_BACK_INSET;
}

static bool link_is_loop(const Layout *layout, uint32_t link)
{
    return layout->edges[layout->links[link].edge].is_back;
}

static bool leads_to_loop(const Layout *layout, const LayoutVertex *vertex)
{
    bool does = false;
    for (uint32_t i = 0; i < vertex->out_count; i++) does |= link_is_loop(layout, layout->outs[vertex->out_first + i]);
    return does;
}

static uint32_t apart(const LayoutVertex *vertex, uint32_t column)
{
    return (uint32_t)abs(layout_center(vertex) - (int32_t)column);
}

/* In the middle of the box, or right above the place that it leads to, which saves the line a turn: where that place
 * has no other line to it, or is but a step aside. */
static uint32_t out_column(const RouteMap *map, uint32_t vertex_index, bool has_loop)
{
    const Layout *layout = map->layout;
    const LayoutVertex *vertex = &layout->vertices[vertex_index], *to = NULL;
    Span span = inside(map, vertex_index, has_loop);
    uint32_t column = (uint32_t)layout_center(vertex), count = 0;
    for (uint32_t i = 0; i < vertex->out_count; i++) {
        uint32_t link = layout->outs[vertex->out_first + i];
        if (link_is_loop(layout, link)) continue;
        const LayoutVertex *other = &layout->vertices[layout->links[link].to];
        if (!to || apart(other, column) < apart(to, column)) to = other;
        count++;
    }
    uint32_t wanted = (uint32_t)layout_center(to);
    bool is_worth_it = count % 2 && (to->in_count == 1 ? count == 1 : apart(to, column) <= 2);
    if (is_worth_it && wanted >= span.first && wanted <= span.last) column = wanted;
    return column > span.last ? span.last : column;
}

static uint32_t add_top(Gap *gap, uint32_t vertex, uint32_t column, bool is_loop)
{
    gap->tops[gap->top_count] = (Pin){ .vertex = vertex, .column = column, .is_loop = is_loop };
    return gap->top_count++;
}

static void add_tops(const RouteMap *map, uint32_t layer, Gap *gap)
{
    const Layout *layout = map->layout;
    for (uint32_t i = layout->layer_first[layer]; i < layout->layer_first[layer + 1]; i++) {
        uint32_t index = layout->order[i], pins[2] = { LAYOUT_NONE, LAYOUT_NONE };
        const LayoutVertex *vertex = &layout->vertices[index];
        bool has_loop = leads_to_loop(layout, vertex);
        for (uint32_t k = 0; k < vertex->out_count; k++) {
            uint32_t link = layout->outs[vertex->out_first + k];
            bool is_loop = link_is_loop(map->layout, link);
            if (pins[is_loop] == LAYOUT_NONE) {
                uint32_t column = !is_node(map, index) ? map->columns[index]
                                : is_loop              ? loop_column(vertex)
                                                       : out_column(map, index, has_loop);
                pins[is_loop] = add_top(gap, index, column, is_loop);
            }
            gap->tops[pins[is_loop]].wire_count++;
            map->wires[link] = gap->wire_count;
            gap->wires[gap->wire_count++] = (Wire){ .top = pins[is_loop], .bottom = LAYOUT_NONE };
        }
    }
}

/* A wire that enters a box, by where it comes from. */
typedef struct Entry {
    uint32_t column, wire;
    bool is_shared;                     /* comes alone from its box: such wires share a pin */
} Entry;

static int by_column(const void *a, const void *b)
{
    const Entry *x = a, *y = b;
    if (x->column != y->column) return (x->column > y->column) - (x->column < y->column);
    return (x->wire > y->wire) - (x->wire < y->wire);
}

/* The wires of a vertex that are loops or not, sorted. Those that share a pin all stand where their middle one is, or
 * between the two that are. */
static uint32_t list_entries(const RouteMap *map, const Gap *gap, const LayoutVertex *vertex, bool loops,
                             Entry *entries)
{
    uint32_t count = 0, shared_count = 0, middle = 0;
    for (uint32_t i = 0; i < vertex->in_count; i++) {
        uint32_t link = map->layout->ins[vertex->in_first + i];
        if (link_is_loop(map->layout, link) != loops) continue;
        const Pin *top = &gap->tops[gap->wires[map->wires[link]].top];
        entries[count++] = (Entry){ top->column, map->wires[link], top->wire_count == 1 };
    }
    qsort(entries, count, sizeof *entries, by_column);
    for (uint32_t i = 0; i < count; i++) shared_count += entries[i].is_shared;
    for (uint32_t i = 0, seen = 0; i < count; i++) {
        if (!entries[i].is_shared) continue;
        if (seen == (shared_count - 1) / 2) middle = entries[i].column;
        if (seen == shared_count / 2) middle += (entries[i].column - middle) / 2;
        seen++;
    }
    for (uint32_t i = 0; i < count; i++)
        if (entries[i].is_shared) entries[i].column = middle;
    qsort(entries, count, sizeof *entries, by_column);
    return count;
}

typedef struct Columns {
    uint32_t *tops;                     /* by column: the pin above, or LAYOUT_NONE */
    bool *is_taken;                     /* by column: by a pin below */
} Columns;

static bool is_wired(const Gap *gap, uint32_t top, uint32_t bottom)
{
    for (uint32_t i = 0; i < gap->wire_count; i++)
        if (gap->wires[i].top == top && gap->wires[i].bottom == bottom) return true;
    return false;
}

/* The free column nearest to the wanted one. A column of a pin above is free for its own wire alone: W1. */
static uint32_t free_column(const Gap *gap, const Columns *columns, uint32_t bottom, Span span, uint32_t wanted)
{
    if (wanted < span.first) wanted = span.first;
    if (wanted > span.last) wanted = span.last;
    for (uint32_t away = 0; away <= span.last - span.first; away++) {
        for (int side = 0; side < 2; side++) {
            if (side ? wanted < span.first + away : wanted + away > span.last) continue;
            uint32_t column = side ? wanted - away : wanted + away;
            if (columns->is_taken[column]) continue;
            if (columns->tops[column] == LAYOUT_NONE || is_wired(gap, columns->tops[column], bottom)) return column;
        }
    }
    check_failed("a pin has a free column", __FILE__, __LINE__);        /* route_box_width_min() has seen to it */
}

/* The pins of one vertex, each in a slice of its own of the span. */
static void add_pins(Gap *gap, Columns *columns, uint32_t vertex, Span span, const Entry *entries, uint32_t count,
                     bool is_loop)
{
    uint32_t pin_count = 0, shared = LAYOUT_NONE, first = gap->bottom_count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t pin = entries[i].is_shared && shared != LAYOUT_NONE ? shared : first + pin_count++;
        if (entries[i].is_shared) shared = pin;
        gap->wires[entries[i].wire].bottom = pin;
        gap->bottoms[pin].column = entries[i].column;       /* where it comes from, for now */
        gap->bottoms[pin].wire_count++;
    }
    gap->bottom_count += pin_count;
    uint32_t width = span.last - span.first + 1;
    for (uint32_t i = 0; i < pin_count; i++) {
        Pin *pin = &gap->bottoms[first + i];
        Span slice = { span.first + width * i / pin_count, span.first + width * (i + 1) / pin_count - 1 };
        uint32_t middle = slice.first + (slice.last - slice.first + 1) / 2;
        bool is_above = pin->column >= slice.first && pin->column <= slice.last;
        pin->column = free_column(gap, columns, first + i, slice, is_above ? pin->column : middle);
        columns->is_taken[pin->column] = true;
        pin->vertex = vertex;
        pin->is_loop = is_loop;
    }
}

static void add_bottoms(const RouteMap *map, uint32_t layer, Gap *gap, Arena *arena)
{
    const Layout *layout = map->layout;
    Columns columns = { ARENA_ARRAY(arena, uint32_t, layout->width), ARENA_ARRAY(arena, bool, layout->width) };
    Entry *entries = ARENA_ARRAY(arena, Entry, gap->wire_count);
    for (uint32_t i = 0; i < layout->width; i++) columns.tops[i] = LAYOUT_NONE;
    for (uint32_t i = 0; i < gap->top_count; i++) columns.tops[gap->tops[i].column] = i;
    for (uint32_t i = layout->layer_first[layer]; i < layout->layer_first[layer + 1]; i++) {
        uint32_t index = layout->order[i];
        const LayoutVertex *vertex = &layout->vertices[index];
        uint32_t loop_count = list_entries(map, gap, vertex, true, entries);
        Span span = inside(map, index, loop_count > 0);
        if (is_node(map, index) && loop_count)
            add_pins(gap, &columns, index, (Span){ span.last + 1, span.last + 2 }, entries, loop_count, true);
        else if (loop_count)
            add_pins(gap, &columns, index, span, entries, loop_count, true);
        uint32_t count = list_entries(map, gap, vertex, false, entries);
        if (count) add_pins(gap, &columns, index, span, entries, count, false);
        if (!is_node(map, index)) map->columns[index] = gap->bottoms[gap->bottom_count - 1].column;
    }
}

uint32_t route_box_width_min(const Layout *layout, uint32_t node)
{
    const LayoutVertex *vertex = &layout->vertices[node];
    uint32_t pin_count = 0;
    bool has_shared = false, has_loop = leads_to_loop(layout, vertex);
    for (uint32_t i = 0; i < vertex->in_count; i++) {
        const LayoutLink *link = &layout->links[layout->ins[vertex->in_first + i]];
        const LayoutVertex *from = &layout->vertices[link->from];
        if (layout->edges[link->edge].is_back) has_loop = true;
        else if (from->out_count > 1) pin_count++;
        else has_shared = true;
    }
    pin_count += has_shared;
    /* Of two columns side by side at most one is below a pin of the layer above: two a pin, and the borders. */
    return 2 * pin_count + 3 + (has_loop ? 4 : 0);
}

/* --- buses ------------------------------------------------------------------------------------------------------- */

static void widen(Bus *bus, const Pin *pin)
{
    if (pin->column < bus->left) bus->left = pin->column;
    if (pin->column > bus->right) bus->right = pin->column;
    bus->is_loop |= pin->is_loop;
}

/* Wires that leave one pin share its bus; a wire that leaves alone belongs to the bus of the pin it enters. */
static void add_buses(Gap *gap, Arena *arena)
{
    gap->buses = ARENA_ARRAY(arena, Bus, gap->top_count + gap->bottom_count);
    for (uint32_t i = 0; i < gap->top_count; i++) gap->tops[i].bus = LAYOUT_NONE;
    for (uint32_t i = 0; i < gap->bottom_count; i++) gap->bottoms[i].bus = LAYOUT_NONE;
    for (uint32_t i = 0; i < gap->wire_count; i++) {
        Pin *top = &gap->tops[gap->wires[i].top], *bottom = &gap->bottoms[gap->wires[i].bottom];
        uint32_t bus = top->bus != LAYOUT_NONE ? top->bus : bottom->bus;
        if (bus == LAYOUT_NONE) {
            bus = gap->bus_count++;
            gap->buses[bus] = (Bus){ .left = UINT32_MAX };
        }
        CHECK(bottom->bus == LAYOUT_NONE || bottom->bus == bus);        /* W1: no pin joins two buses */
        top->bus = bottom->bus = bus;
        widen(&gap->buses[bus], top);
        widen(&gap->buses[bus], bottom);
    }
}

static bool buses_touch(const Bus *a, const Bus *b) { return a->left <= b->right && b->left <= a->right; }

static bool is_level(const Bus *bus) { return bus->left < bus->right; }

/* How many lines cross when one bus lies above another: upright lines on their way down to the lower one or from the
 * upper one. */
static uint32_t cost_above(const Gap *gap, uint32_t above, uint32_t below)
{
    const Bus *high = &gap->buses[above], *low = &gap->buses[below];
    uint32_t cost = 0;
    for (uint32_t i = 0; i < gap->top_count; i++) {
        const Pin *pin = &gap->tops[i];
        cost += pin->bus == below && pin->column >= high->left && pin->column <= high->right;
    }
    for (uint32_t i = 0; i < gap->bottom_count; i++) {
        const Pin *pin = &gap->bottoms[i];
        cost += pin->bus == above && pin->column >= low->left && pin->column <= low->right;
    }
    return cost;
}

/* An order from the top, by exchanges of neighbours as long as they save crossings; then each bus as high as those
 * above it that it would touch allow. */
static void stack_buses(Gap *gap, Arena *arena)
{
    uint32_t *order = ARENA_ARRAY(arena, uint32_t, gap->bus_count), count = 0;
    for (uint32_t i = 0; i < gap->bus_count; i++)
        if (is_level(&gap->buses[i])) order[count++] = i;
    bool helped = true;
    for (uint32_t round = 0; round < count && helped; round++) {
        helped = false;
        for (uint32_t i = 1; i < count; i++) {
            uint32_t a = order[i - 1], b = order[i];
            if (buses_touch(&gap->buses[a], &gap->buses[b]) && cost_above(gap, a, b) <= cost_above(gap, b, a)) continue;
            if (!buses_touch(&gap->buses[a], &gap->buses[b]) && gap->buses[a].left < gap->buses[b].left) continue;
            order[i - 1] = b;
            order[i] = a;
            helped = true;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        Bus *bus = &gap->buses[order[i]];
        for (uint32_t k = 0; k < i; k++) {
            const Bus *other = &gap->buses[order[k]];
            if (buses_touch(bus, other) && bus->row <= other->row) bus->row = other->row + 1;
        }
        if (gap->bus_row_count <= bus->row) gap->bus_row_count = bus->row + 1;
    }
}

/* --- drawing ----------------------------------------------------------------------------------------------------- */

static CanvasPen pen_of(const Bus *bus)
{
    return (CanvasPen){ .ink = bus->is_loop ? INK_LOOP : INK_FAINT, .is_dashed = bus->is_loop };
}

static void draw_upright(Canvas *canvas, uint32_t x, uint32_t from, uint32_t to, CanvasPen pen)
{
    for (uint32_t y = from; y < to; y++) canvas_pass(canvas, x, y, LINE_UP | LINE_DOWN, pen);
}

static void draw_bus(const Bus *bus, const GapPlace *place, Canvas *canvas)
{
    if (!is_level(bus)) return;
    for (uint32_t column = bus->left; column <= bus->right; column++) {
        uint8_t lines = (uint8_t)((column > bus->left ? LINE_LEFT : 0) | (column < bus->right ? LINE_RIGHT : 0));
        canvas_join(canvas, place->left + column, place->y + bus->row, lines, pen_of(bus));
    }
}

void route_draw(const RouteMap *map, const Gap *gap, const GapPlace *place, Canvas *canvas)
{
    uint32_t end = place->y + gap->row_count;
    for (uint32_t i = 0; i < gap->bus_count; i++) draw_bus(&gap->buses[i], place, canvas);
    for (uint32_t i = 0; i < gap->top_count; i++) {
        const Pin *pin = &gap->tops[i];
        const Bus *bus = &gap->buses[pin->bus];
        uint32_t x = place->left + pin->column, from = place->bottoms[pin->vertex], y = place->y + bus->row;
        draw_upright(canvas, x, from, is_level(bus) ? y : end, pen_of(bus));
        if (is_level(bus)) canvas_join(canvas, x, y, LINE_UP, pen_of(bus));
        if (pin->is_loop && is_node(map, pin->vertex))
            canvas_text(canvas, x, from, canvas->ascii ? STR("^") : STR("▲"), INK_LOOP);
    }
    for (uint32_t i = 0; i < gap->bottom_count; i++) {
        const Pin *pin = &gap->bottoms[i];
        const Bus *bus = &gap->buses[pin->bus];
        uint32_t x = place->left + pin->column, y = place->y + bus->row;
        if (is_level(bus)) {
            draw_upright(canvas, x, y + 1, end, pen_of(bus));
            canvas_join(canvas, x, y, LINE_DOWN, pen_of(bus));
        }
        if (!pin->is_loop && is_node(map, pin->vertex))
            canvas_text(canvas, x, end - 1, canvas->ascii ? STR("v") : STR("▼"), INK_FAINT);
    }
}
