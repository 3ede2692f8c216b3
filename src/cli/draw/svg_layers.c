/* Boxes in layers, as a picture. Edges are curves between the layers and straight lines through them, so that none runs
 * behind a box. */
#include <inttypes.h>

#include "base/limits.h"
#include "cli/draw/label.h"
#include "cli/draw/layout.h"
#include "cli/draw/mark.h"
#include "cli/draw/picture.h"
#include "cli/draw/svg.h"

#define LABEL_HEIGHT 20
#define BACK_INSET 18                   /* where loops meet a box, from its right end */
#define PORT_DISTANCE 16                /* between arrows that enter one box, where there is room ... */
#define PORT_DISTANCE_MIN 10            /* ... and where there is less than this, they enter at one point */

typedef struct Sheet {
    const Drawing *drawing;
    const Picture *picture;
    Layout layout;
    Str *labels;                        /* by edge, cut */
    PictureRows *rows;                  /* by node */
    Str *titles;                        /* by node */
    int32_t *heights;                   /* by node */
    int32_t *tops, *bottoms;            /* by layer */
    int32_t *entries;                   /* by link: the x where it enters */
} Sheet;

static void size_vertices(Sheet *sheet);
static void place_layers(Sheet *sheet);
static void place_entries(Sheet *sheet);
static void draw_edges(const Sheet *sheet);
static void draw_labels(const Sheet *sheet);
static void draw_nodes(const Sheet *sheet);

Status svg_layers(const Drawing *drawing, Error *err)
{
    Picture picture;
    picture_build(&picture, drawing->plan, drawing->arena);
    if (picture.node_count > DRAW_SVG_COUNT_MAX) return svg_refuse(picture.node_count, err);
    Sheet sheet = { .drawing = drawing, .picture = &picture };
    PictureGraph edges = picture_graph(&picture, /* ascii= */ false, drawing->arena);
    for (uint32_t i = 0; i < edges.edge_count; i++)
        edges.labels[i] = label_cut(drawing->arena, edges.labels[i], SVG_NAME_WIDTH / 2, /* ascii= */ false);
    sheet.labels = edges.labels;
    LayoutGraph graph = { edges.edges, picture.node_count, edges.edge_count };
    if (!layout_rank(&sheet.layout, &graph, drawing->arena))
        return error_set(err, ERR_LIMIT, "the edges of this plan pass more layers than a picture can show "
                                         "(LAYOUT_VERTEX_COUNT_MAX, %u); the formats text and dot can",
                         LAYOUT_VERTEX_COUNT_MAX);
    size_vertices(&sheet);
    LayoutOptions options = { .gap = 28, .bend_gap = 20, .back_inset = BACK_INSET };
    layout_place(&sheet.layout, &options, drawing->arena);
    place_layers(&sheet);
    place_entries(&sheet);
    uint32_t layer_count = sheet.layout.layer_count;
    SvgSize size = { (int32_t)sheet.layout.width, layer_count ? sheet.bottoms[layer_count - 1] : 0 };
    svg_begin(drawing, size, picture.marks);
    draw_edges(&sheet);
    draw_labels(&sheet);
    draw_nodes(&sheet);
    svg_end(drawing, size, picture.marks);
    return OK;
}

/* --- sizes and places -------------------------------------------------------------------------------------------- */

/* The sign of a branch has points on both sides, in which there is no room for text. */
static int32_t inset_of(const PictureNode *node) { return node->kind == NODE_BRANCH ? SVG_POINT : SVG_PAD; }

static void size_node(Sheet *sheet, uint32_t index)
{
    const PictureNode *node = &sheet->picture->nodes[index];
    Arena *arena = sheet->drawing->arena;
    PictureRows rows = picture_rows(sheet->picture, index, /* ascii= */ false, arena);
    PictureRow *cut = ARENA_ARRAY(arena, PictureRow, rows.count);
    sheet->titles[index] = label_cut(arena, label_clean(arena, node->title, false), SVG_NAME_WIDTH, false);
    int32_t width = svg_text_width(sheet->titles[index], FONT_NAME) + svg_marks_width(node->marks);
    for (uint32_t i = 0; i < rows.count; i++) {
        cut[i] = rows.items[i];
        cut[i].text = label_cut(arena, cut[i].text, SVG_NAME_WIDTH, false);
        int32_t row_width = svg_text_width(cut[i].text, FONT_ROW) + svg_marks_width(cut[i].marks);
        if (width < row_width) width = row_width;
    }
    sheet->rows[index] = (PictureRows){ cut, rows.count };
    width += 2 * inset_of(node);
    sheet->layout.vertices[index].width = width < 72 ? 72 : (uint32_t)width;
    sheet->heights[index] = 36 + (int32_t)rows.count * SVG_ROW + (node->kind == NODE_JOB ? 6 : 0);
}

static void size_vertices(Sheet *sheet)
{
    Arena *arena = sheet->drawing->arena;
    uint32_t node_count = sheet->picture->node_count;
    sheet->titles = ARENA_ARRAY(arena, Str, node_count);
    sheet->rows = ARENA_ARRAY(arena, PictureRows, node_count);
    sheet->heights = ARENA_ARRAY(arena, int32_t, node_count);
    for (uint32_t i = 0; i < node_count; i++) size_node(sheet, i);
    for (uint32_t i = node_count; i < sheet->layout.vertex_count; i++) {
        LayoutVertex *vertex = &sheet->layout.vertices[i];
        vertex->width = vertex->is_label ? (uint32_t)svg_text_width(sheet->labels[vertex->edge], FONT_LABEL) + 12 : 2;
    }
}

/* A gap grows with the way that its edges go aside, so that they stay easy to follow. */
static int32_t gap_below(const Sheet *sheet, uint32_t layer)
{
    const Layout *layout = &sheet->layout;
    int32_t most = 0;
    bool has_boxes = false;
    for (uint32_t i = layout->layer_first[layer]; i < layout->layer_first[layer + 1]; i++) {
        const LayoutVertex *vertex = &layout->vertices[layout->order[i]];
        for (uint32_t k = 0; k < vertex->out_count; k++) {
            const LayoutLink *link = &layout->links[layout->outs[vertex->out_first + k]];
            int32_t aside = layout_center(&layout->vertices[link->to]) - layout_center(vertex);
            if (aside < 0) aside = -aside;
            if (aside > most) most = aside;
            has_boxes |= link->to < sheet->picture->node_count;
        }
    }
    int32_t growth = most / 7;
    return (has_boxes ? 30 : 16) + (growth > 60 ? 60 : growth);
}

static void place_layers(Sheet *sheet)
{
    const Layout *layout = &sheet->layout;
    sheet->tops = ARENA_ARRAY(sheet->drawing->arena, int32_t, layout->layer_count);
    sheet->bottoms = ARENA_ARRAY(sheet->drawing->arena, int32_t, layout->layer_count);
    int32_t y = 0;
    for (uint32_t layer = 0; layer < layout->layer_count; layer++) {
        int32_t height = LABEL_HEIGHT;
        for (uint32_t i = layout->layer_first[layer]; i < layout->layer_first[layer + 1]; i++) {
            uint32_t vertex = layout->order[i];
            if (vertex < sheet->picture->node_count && sheet->heights[vertex] > height) height = sheet->heights[vertex];
        }
        sheet->tops[layer] = y;
        sheet->bottoms[layer] = y + height;
        y += height + gap_below(sheet, layer);
    }
}

/* Edges enter a box side by side, in the order in which they come. */
static void place_entries(Sheet *sheet)
{
    const Layout *layout = &sheet->layout;
    sheet->entries = ARENA_ARRAY(sheet->drawing->arena, int32_t, layout->link_count);
    for (uint32_t v = 0; v < layout->vertex_count; v++) {
        const LayoutVertex *vertex = &layout->vertices[v];
        const uint32_t *ins = &layout->ins[vertex->in_first];
        int32_t count = 0, distance = PORT_DISTANCE, room = (int32_t)vertex->width - 24;
        for (uint32_t i = 0; i < vertex->in_count; i++) count += !layout->edges[layout->links[ins[i]].edge].is_back;
        if (count > 1 && distance * count > room) distance = room / count;
        if (distance < PORT_DISTANCE_MIN) distance = 0;
        for (uint32_t i = 0; i < vertex->in_count; i++) {
            const LayoutLink *link = &layout->links[ins[i]];
            int32_t rank = 0;
            for (uint32_t k = 0; k < vertex->in_count; k++) {
                const LayoutLink *other = &layout->links[ins[k]];
                if (!layout->edges[other->edge].is_back)
                    rank += layout->vertices[other->from].place < layout->vertices[link->from].place;
            }
            bool is_back = layout->edges[link->edge].is_back && v < sheet->picture->node_count;
            sheet->entries[ins[i]] = is_back ? vertex->x + (int32_t)vertex->width - BACK_INSET
                                             : layout_center(vertex) + (2 * rank - count + 1) * distance / 2;
            if (vertex->edge != LAYOUT_NONE) sheet->entries[ins[i]] = layout_center(vertex);
        }
    }
}

/* --- edges ------------------------------------------------------------------------------------------------------- */

/* The links of one edge lie together, from its upper end to its lower one: they are one path. */
static void draw_edges(const Sheet *sheet)
{
    const Layout *layout = &sheet->layout;
    uint32_t node_count = sheet->picture->node_count;
    Buf *out = sheet->drawing->out;
    SvgPoint at = { 0, 0 };
    for (uint32_t i = 0; i < layout->link_count; i++) {
        const LayoutLink *link = &layout->links[i];
        const LayoutVertex *from = &layout->vertices[link->from];
        bool begins = link->from < node_count, ends = link->to < node_count;
        bool is_loop = layout->edges[link->edge].is_back;
        if (begins) {
            at.x = is_loop ? from->x + (int32_t)from->width - BACK_INSET : layout_center(from);
            at.y = sheet->tops[from->layer] + sheet->heights[link->from];
            if (is_loop) svg_arrow(out, (SvgPoint){ at.x, at.y + 1 }, /* is_up= */ true, true);
            if (is_loop) at.y += SVG_ARROW;
            svg_path_begin(out, at, is_loop);
        }
        SvgPoint low = { at.x, sheet->bottoms[from->layer] };
        if (low.y > at.y) svg_path_down(out, at, low);
        else low.y = at.y;
        at = (SvgPoint){ sheet->entries[i], sheet->tops[from->layer + 1] - (ends && !is_loop ? SVG_ARROW : 0) };
        svg_path_down(out, low, at);
        if (!ends) continue;
        svg_path_end(out);
        if (!is_loop) svg_arrow(out, (SvgPoint){ at.x, at.y + SVG_ARROW - 1 }, /* is_up= */ false, false);
    }
}

static void draw_labels(const Sheet *sheet)
{
    for (uint32_t i = sheet->picture->node_count; i < sheet->layout.vertex_count; i++) {
        const LayoutVertex *vertex = &sheet->layout.vertices[i];
        if (!vertex->is_label) continue;
        int32_t y = sheet->tops[vertex->layer];
        bool is_loop = sheet->layout.edges[vertex->edge].is_back;
        svg_rect(sheet->drawing->out, (SvgBox){ vertex->x, y, (int32_t)vertex->width, LABEL_HEIGHT }, "behind");
        svg_text_centered(sheet->drawing->out, (SvgPoint){ layout_center(vertex), y + 14 }, sheet->labels[vertex->edge],
                          is_loop ? FONT_LOOP : FONT_LABEL);
    }
}

/* --- nodes ------------------------------------------------------------------------------------------------------- */

static void draw_rows(const Sheet *sheet, uint32_t index, SvgBox box)
{
    static const SvgFont row_fonts[] = {
        [ROW_TASK] = FONT_ROW, [ROW_DETAIL] = FONT_FAINT, [ROW_LOOP] = FONT_LOOP, [ROW_MORE] = FONT_FAINT,
    };
    Buf *out = sheet->drawing->out;
    const PictureNode *node = &sheet->picture->nodes[index];
    int32_t y = box.y + (node->kind == NODE_JOB ? 52 : 42), inset = inset_of(node);
    for (uint32_t i = 0; i < sheet->rows[index].count; i++, y += SVG_ROW) {
        const PictureRow *row = &sheet->rows[index].items[i];
        svg_text(out, (SvgPoint){ box.x + inset, y }, row->text, row_fonts[row->kind]);
        svg_marks(out, (SvgPoint){ box.x + box.width - inset, y }, row->marks);
    }
}

static void draw_node(const Sheet *sheet, uint32_t index)
{
    const PictureNode *node = &sheet->picture->nodes[index];
    const LayoutVertex *vertex = &sheet->layout.vertices[index];
    Buf *out = sheet->drawing->out;
    SvgBox box = { vertex->x, sheet->tops[vertex->layer], (int32_t)vertex->width, sheet->heights[index] };
    bool is_branch = node->kind == NODE_BRANCH;
    if (is_branch) {
        svg_hexagon(out, box);
    } else {
        char storage[32];
        Buf classes = buf_on(storage, sizeof storage);
        buf_text(&classes, "box");
        if (mark_has(node->marks, MARK_OUTPUT)) buf_text(&classes, " output");
        if (mark_has(node->marks, MARK_OPTIONAL)) buf_text(&classes, " optional");
        buf_char(&classes, '\0');
        svg_rect(out, box, classes.ptr);
    }
    int32_t inset = inset_of(node);
    svg_text(out, (SvgPoint){ box.x + inset, box.y + 23 }, sheet->titles[index], FONT_NAME);
    svg_marks(out, (SvgPoint){ box.x + box.width - inset, box.y + 23 }, node->marks);
    if (node->kind == NODE_JOB)
        buf_format(out, "<path class=\"rule\" d=\"M%" PRId32 " %" PRId32 "H%" PRId32 "\"/>\n", box.x, box.y + 34,
                   box.x + box.width);
    draw_rows(sheet, index, box);
}

/* Each box has its id as a title, which browsers show under the pointer: a name that was cut can be read there. */
static void draw_nodes(const Sheet *sheet)
{
    Buf *out = sheet->drawing->out;
    for (uint32_t i = 0; i < sheet->picture->node_count; i++) {
        buf_text(out, "<g><title>");
        svg_escape(out, label_clean(sheet->drawing->arena, sheet->picture->nodes[i].title, /* ascii= */ false));
        buf_text(out, "</title>\n");
        draw_node(sheet, i);
        buf_text(out, "</g>\n");
    }
}
