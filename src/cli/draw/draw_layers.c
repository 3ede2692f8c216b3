/* Boxes in layers, for a terminal. */
#include "base/limits.h"
#include "base/utf8.h"
#include "cli/draw/canvas.h"
#include "cli/draw/draw_text.h"
#include "cli/draw/label.h"
#include "cli/draw/layout.h"
#include "cli/draw/mark.h"
#include "cli/draw/route.h"

#define MARGIN 1u                       /* columns left of everything */
#define BEND_WIDTH 3u                   /* a line, and room to step aside */
#define DETAIL_WIDTH 32u

/* Long names are cut harder and harder until every layer fits. */
static const uint32_t name_widths[] = { 48, 32, 24, 16, 12 };

typedef struct Border {
    const char *corners[4];             /* top left, top right, bottom left, bottom right */
    const char *level, *upright, *out;  /* `out` is where a line leaves below */
} Border;

typedef enum BorderKind {
    BORDER_STEP,
    BORDER_JOB,
    BORDER_BRANCH,
    BORDER_OUTPUT,
    BORDER_OPTIONAL,
    BORDER_COUNT
} BorderKind;

static const Border borders[2][BORDER_COUNT] = {
    {
        [BORDER_STEP]     = { { "╭", "╮", "╰", "╯" }, "─", "│", "┬" },
        [BORDER_JOB]      = { { "┌", "┐", "└", "┘" }, "─", "│", "┬" },
        [BORDER_BRANCH]   = { { "╱", "╲", "╲", "╱" }, "─", "│", "┬" },
        [BORDER_OUTPUT]   = { { "╔", "╗", "╚", "╝" }, "═", "║", "╤" },
        [BORDER_OPTIONAL] = { { "╭", "╮", "╰", "╯" }, "╌", "╎", "┬" },
    },
    {
        [BORDER_STEP]     = { { ".", ".", "'", "'" }, "-", "|", "+" },
        [BORDER_JOB]      = { { "+", "+", "+", "+" }, "-", "|", "+" },
        [BORDER_BRANCH]   = { { "/", "\\", "\\", "/" }, "-", "|", "+" },
        [BORDER_OUTPUT]   = { { "#", "#", "#", "#" }, "=", "|", "+" },
        [BORDER_OPTIONAL] = { { ".", ".", "'", "'" }, ".", ":", "+" },
    },
};

typedef struct Box {
    Str title;                          /* cut */
    PictureRow *rows;                   /* cut */
    uint32_t row_count;
    uint32_t width, height;
} Box;

typedef struct Sheet {
    const Drawing *drawing;
    const Picture *picture;
    Layout layout;
    PictureGraph graph;
    Box *boxes;                         /* by node */
    uint32_t *bottoms;                  /* by vertex: the row below it */
    RouteMap map;
    Gap *gaps;
    Canvas canvas;
} Sheet;

static bool fit(Sheet *sheet, uint32_t name_width);
static bool plan_gaps(Sheet *sheet);
static void draw_sheet(Sheet *sheet);

bool text_layers(const Drawing *drawing, const Picture *picture)
{
    if (picture->node_count > DRAW_BOX_COUNT_MAX || picture->edge_count > LAYOUT_VERTEX_COUNT_MAX) return false;
    if (picture->loop_count > DRAW_BOX_COUNT_MAX) return false;
    Sheet sheet = {
        .drawing = drawing, .picture = picture, .graph = picture_graph(picture, drawing->ascii, drawing->arena),
    };
    LayoutGraph graph = { sheet.graph.edges, picture->node_count, sheet.graph.edge_count };
    if (!layout_rank(&sheet.layout, &graph, drawing->arena)) return false;
    sheet.boxes = ARENA_ARRAY(drawing->arena, Box, picture->node_count);
    size_t tried = 0, count = sizeof name_widths / sizeof *name_widths;
    while (tried < count && !fit(&sheet, name_widths[tried])) tried++;
    if (tried == count || !plan_gaps(&sheet)) return false;
    draw_sheet(&sheet);
    canvas_print(&sheet.canvas, drawing->out, drawing->color);
    return true;
}

/* --- boxes ------------------------------------------------------------------------------------------------------- */

static uint32_t columns_of(Str text, uint32_t marks)
{
    return (uint32_t)utf8_width(text) + (marks ? 1 + mark_width(marks) : 0);
}

/* A job has its title in its border, the others inside. */
static void size_box(Sheet *sheet, uint32_t node_index, uint32_t name_width)
{
    const PictureNode *node = &sheet->picture->nodes[node_index];
    Arena *arena = sheet->drawing->arena;
    bool ascii = sheet->drawing->ascii, is_job = node->kind == NODE_JOB;
    PictureRows rows = picture_rows(sheet->picture, node_index, ascii, arena);
    Box *box = &sheet->boxes[node_index];
    Str title = label_clean(arena, node->title, ascii);
    if (node->kind == NODE_BRANCH)
        title = arena_format(arena, "%.*s %.*s", STR_ARG(label_signs(ascii)->diamond), STR_ARG(title));
    *box = (Box){ .title = label_cut(arena, title, name_width, ascii),
                  .rows = ARENA_ARRAY(arena, PictureRow, rows.count),
                  .row_count = rows.count,
                  .height = 2 + rows.count + !is_job };
    box->width = columns_of(box->title, node->marks) + (is_job ? 6 : 4);
    for (uint32_t i = 0; i < rows.count; i++) {
        box->rows[i] = rows.items[i];
        bool is_detail = rows.items[i].kind == ROW_DETAIL;      /* a long condition must not cost others their names */
        uint32_t row_width = is_detail && name_width > DETAIL_WIDTH ? DETAIL_WIDTH : name_width;
        box->rows[i].text = label_cut(arena, rows.items[i].text, row_width, ascii);
        uint32_t width = columns_of(box->rows[i].text, rows.items[i].marks) + 4;
        if (box->width < width) box->width = width;
    }
    uint32_t least = route_box_width_min(&sheet->layout, node_index);
    if (box->width < least) box->width = least;
}

/* Gives every vertex its width and place; false where a layer is too wide for that. */
static bool fit(Sheet *sheet, uint32_t name_width)
{
    Layout *layout = &sheet->layout;
    Arena *arena = sheet->drawing->arena;
    for (uint32_t i = 0; i < sheet->picture->node_count; i++) {
        size_box(sheet, i, name_width);
        layout->vertices[i].width = sheet->boxes[i].width;
    }
    for (uint32_t i = sheet->picture->node_count; i < layout->vertex_count; i++) {
        LayoutVertex *vertex = &layout->vertices[i];
        vertex->width = BEND_WIDTH;
        if (!vertex->is_label) continue;
        Str label = label_cut(arena, sheet->graph.labels[vertex->edge], name_width, sheet->drawing->ascii);
        uint32_t width = (uint32_t)utf8_width(label);
        if (vertex->width < width) vertex->width = width;
    }
    LayoutOptions options = {
        .gap = 2, .bend_gap = 1, .back_inset = ROUTE_BACK_INSET, .width_max = sheet->drawing->width - MARGIN,
    };
    if (layout_width_min(layout, &options) > options.width_max) return false;
    layout_place(layout, &options, arena);
    return true;
}

static BorderKind border_of(const PictureNode *node)
{
    if (node->kind == NODE_BRANCH) return BORDER_BRANCH;
    if (mark_has(node->marks, MARK_OUTPUT)) return BORDER_OUTPUT;
    if (mark_has(node->marks, MARK_OPTIONAL)) return BORDER_OPTIONAL;
    return node->kind == NODE_JOB ? BORDER_JOB : BORDER_STEP;
}

static const Ink border_inks[BORDER_COUNT] = { [BORDER_BRANCH] = INK_BRANCH, [BORDER_OUTPUT] = INK_OUTPUT };

static Ink row_ink(RowKind kind) { return kind == ROW_LOOP ? INK_LOOP : kind == ROW_TASK ? INK_PLAIN : INK_FAINT; }

static void draw_marks(Sheet *sheet, uint32_t x, uint32_t y, uint32_t marks)
{
    for (Mark i = 0; i < MARK_COUNT; i++)
        if (mark_has(marks, i)) x = canvas_text(&sheet->canvas, x, y, mark_sign(i, sheet->drawing->ascii), INK_MARK);
}

static void draw_box(Sheet *sheet, uint32_t node_index, uint32_t y)
{
    const PictureNode *node = &sheet->picture->nodes[node_index];
    const Box *box = &sheet->boxes[node_index];
    Canvas *canvas = &sheet->canvas;
    BorderKind kind = border_of(node);
    const Border *border = &borders[sheet->drawing->ascii][kind];
    Ink ink = border_inks[kind];
    uint32_t x = MARGIN + (uint32_t)sheet->layout.vertices[node_index].x, right = x + box->width - 1;
    uint32_t bottom = y + box->height - 1;
    for (uint32_t i = 0; i < 4; i++)
        canvas_text(canvas, i % 2 ? right : x, i < 2 ? y : bottom, str_of(border->corners[i]), ink);
    canvas_repeat(canvas, x + 1, y, str_of(border->level), box->width - 2, ink);
    canvas_repeat(canvas, x + 1, bottom, str_of(border->level), box->width - 2, ink);

    bool is_job = node->kind == NODE_JOB;
    uint32_t title_y = is_job ? y : y + 1, title_x = is_job ? x + 3 : x + 2;
    if (is_job) canvas_repeat(canvas, x + 2, y, STR(" "), 2 + columns_of(box->title, node->marks), ink);
    uint32_t end = canvas_text(canvas, title_x, title_y, box->title, INK_TITLE);
    draw_marks(sheet, is_job ? end + 1 : right - 1 - mark_width(node->marks), title_y, node->marks);
    for (uint32_t i = y + 1; i < bottom; i++) {
        canvas_text(canvas, x, i, str_of(border->upright), ink);
        canvas_text(canvas, right, i, str_of(border->upright), ink);
    }
    for (uint32_t i = 0; i < box->row_count; i++) {
        const PictureRow *row = &box->rows[i];
        uint32_t row_y = y + 1 + !is_job + i;
        canvas_text(canvas, x + 2, row_y, row->text, row_ink(row->kind));
        draw_marks(sheet, right - 1 - mark_width(row->marks), row_y, row->marks);
    }
}

/* --- the sheet --------------------------------------------------------------------------------------------------- */

static uint32_t layer_height(const Sheet *sheet, uint32_t layer)
{
    uint32_t height = 1;
    for (uint32_t i = sheet->layout.layer_first[layer]; i < sheet->layout.layer_first[layer + 1]; i++) {
        uint32_t vertex = sheet->layout.order[i];
        if (vertex < sheet->picture->node_count && sheet->boxes[vertex].height > height)
            height = sheet->boxes[vertex].height;
    }
    return height;
}

/* The lines between the layers, and with them the height of the whole; false where that is out of bounds. */
static bool plan_gaps(Sheet *sheet)
{
    const Layout *layout = &sheet->layout;
    Arena *arena = sheet->drawing->arena;
    sheet->map = (RouteMap){
        .layout = layout,
        .columns = ARENA_ARRAY(arena, uint32_t, layout->vertex_count),
        .wires = ARENA_ARRAY(arena, uint32_t, layout->link_count),
        .node_count = sheet->picture->node_count,
    };
    sheet->gaps = ARENA_ARRAY(arena, Gap, layout->layer_count);
    uint64_t height = 0;
    for (uint32_t layer = 0; layer < layout->layer_count; layer++) {
        if (layer + 1 < layout->layer_count) route_plan(&sheet->map, layer, arena, &sheet->gaps[layer]);
        height += layer_height(sheet, layer) + sheet->gaps[layer].row_count;
    }
    if (height * (layout->width + MARGIN) > DRAW_CELL_COUNT_MAX) return false;
    canvas_init(&sheet->canvas, arena, layout->width + MARGIN, (uint32_t)height);
    sheet->canvas.ascii = sheet->drawing->ascii;
    return true;
}

/* A bend is a line from the top of its layer to the bottom; a label interrupts it in the first row. */
static void draw_bend(Sheet *sheet, uint32_t index, uint32_t y, uint32_t height)
{
    const LayoutVertex *vertex = &sheet->layout.vertices[index];
    uint32_t column = MARGIN + sheet->map.columns[index];
    bool is_loop = sheet->graph.edges[vertex->edge].is_back;
    CanvasPen pen = { .ink = is_loop ? INK_LOOP : INK_FAINT, .is_dashed = is_loop };
    for (uint32_t i = 0; i < height; i++) canvas_pass(&sheet->canvas, column, y + i, LINE_UP | LINE_DOWN, pen);
    if (!vertex->is_label) return;
    const Drawing *drawing = sheet->drawing;
    Str label = label_cut(drawing->arena, sheet->graph.labels[vertex->edge], vertex->width, drawing->ascii);
    uint32_t width = (uint32_t)utf8_width(label), first = MARGIN + (uint32_t)vertex->x;
    uint32_t x = column > first + width / 2 ? column - width / 2 : first;
    if (x + width > first + vertex->width) x = first + vertex->width - width;
    canvas_text(&sheet->canvas, x, y, label, is_loop ? INK_LOOP : INK_BRANCH);
}

/* The border opens where a line leaves. */
static void draw_outs(Sheet *sheet, const Gap *gap)
{
    for (uint32_t i = 0; i < gap->top_count; i++) {
        const Pin *pin = &gap->tops[i];
        if (pin->is_loop || pin->vertex >= sheet->picture->node_count) continue;
        BorderKind kind = border_of(&sheet->picture->nodes[pin->vertex]);
        Str out = str_of(borders[sheet->drawing->ascii][kind].out);
        canvas_text(&sheet->canvas, MARGIN + pin->column, sheet->bottoms[pin->vertex] - 1, out, border_inks[kind]);
    }
}

static void draw_sheet(Sheet *sheet)
{
    const Layout *layout = &sheet->layout;
    sheet->bottoms = ARENA_ARRAY(sheet->drawing->arena, uint32_t, layout->vertex_count);
    uint32_t y = 0;
    for (uint32_t layer = 0; layer < layout->layer_count; layer++) {
        uint32_t height = layer_height(sheet, layer);
        for (uint32_t i = layout->layer_first[layer]; i < layout->layer_first[layer + 1]; i++) {
            uint32_t vertex = layout->order[i];
            bool is_box = vertex < sheet->picture->node_count;
            sheet->bottoms[vertex] = y + (is_box ? sheet->boxes[vertex].height : height);
            if (is_box) draw_box(sheet, vertex, y);
            else draw_bend(sheet, vertex, y, height);
        }
        y += height;
        if (layer + 1 == layout->layer_count) break;
        GapPlace place = { .left = MARGIN, .y = y, .bottoms = sheet->bottoms };
        draw_outs(sheet, &sheet->gaps[layer]);
        route_draw(&sheet->map, &sheet->gaps[layer], &place, &sheet->canvas);
        y += sheet->gaps[layer].row_count;
    }
}
