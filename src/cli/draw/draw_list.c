/* A plan as a list for a terminal: where boxes do not fit, each job with what it needs; a step tree as a tree. */
#include "base/limits.h"
#include "base/utf8.h"
#include "cli/draw/canvas.h"
#include "cli/draw/draw_text.h"
#include "cli/draw/label.h"
#include "cli/draw/mark.h"

#define INDENT 4u

/* One line at a time, and where it ends so far. */
typedef struct Pen {
    const Drawing *drawing;
    Canvas line;
    uint32_t x;
} Pen;

static Pen pen_on(const Drawing *drawing)
{
    Pen pen = { .drawing = drawing };
    canvas_init(&pen.line, drawing->arena, drawing->width, 1);
    pen.line.ascii = drawing->ascii;
    return pen;
}

/* Writes text cut to the room that is left. */
static void put(Pen *pen, Str text, Ink ink)
{
    uint32_t room = pen->x < pen->line.width ? pen->line.width - pen->x : 0;
    pen->x = canvas_text(&pen->line, pen->x, 0, label_cut(pen->drawing->arena, text, room, pen->drawing->ascii), ink);
}

static void put_marks(Pen *pen, uint32_t marks)
{
    if (marks) pen->x++;
    for (Mark i = 0; i < MARK_COUNT; i++) {
        if (!mark_has(marks, i)) continue;
        pen->x = canvas_text(&pen->line, pen->x, 0, mark_sign(i, pen->drawing->ascii), INK_MARK);
    }
}

/* A name with its marks, which stay visible where the name is cut. */
static void put_name(Pen *pen, Str name, uint32_t marks, Ink ink)
{
    uint32_t kept = marks ? 1 + mark_width(marks) : 0, room = pen->line.width - kept;
    Str label = label_clean(pen->drawing->arena, name, pen->drawing->ascii);
    put(pen, label_cut(pen->drawing->arena, label, room > pen->x + 4 ? room - pen->x : 4, pen->drawing->ascii), ink);
    put_marks(pen, marks);
}

static void end_line(Pen *pen)
{
    canvas_print(&pen->line, pen->drawing->out, pen->drawing->color);
    canvas_clear(&pen->line);
    pen->x = 0;
}

static void put_more(Pen *pen, uint64_t count)
{
    put(pen, label_more(pen->drawing->arena, count, pen->drawing->ascii), INK_FAINT);
}

static uint32_t listed_count(uint32_t count)
{
    return count > DRAW_LIST_COUNT_MAX ? DRAW_LIST_HEAD_COUNT : count;
}

/* --- a list of jobs ---------------------------------------------------------------------------------------------- */

/* The column that needs are written from: behind the longest name, but leaving them half of the line. */
static uint32_t need_column(const Drawing *drawing, const Picture *picture, uint32_t count)
{
    uint32_t column = 0;
    for (uint32_t i = 0; i < count; i++) {
        const PictureNode *node = &picture->nodes[picture->order[i]];
        Str title = label_clean(drawing->arena, node->title, drawing->ascii);
        uint32_t width = 4 + (uint32_t)utf8_width(title) + (node->marks ? 1 + mark_width(node->marks) : 0);
        if (width > column && width <= drawing->width / 2) column = width;
    }
    return column + 2;
}

/* One need, on the next line where this one is full. */
static void put_need(Pen *pen, uint32_t column, Str name, Str key, bool is_last)
{
    uint32_t width = (uint32_t)utf8_width(name) + (key.len ? 3 + (uint32_t)utf8_width(key) : 0) + !is_last;
    if (pen->x > column && pen->x + 1 + width > pen->line.width) {
        end_line(pen);
        pen->x = column;
    } else if (pen->x > column) {
        pen->x++;
    }
    put(pen, name, INK_PLAIN);
    if (key.len) {
        put(pen, STR(" ["), INK_FAINT);
        put(pen, key, INK_BRANCH);
        put(pen, STR("]"), INK_FAINT);
    }
    if (!is_last) put(pen, STR(","), INK_FAINT);
}

static void put_needs(Pen *pen, const Picture *picture, const PictureNode *node, uint32_t column)
{
    if (node->need_count == 0) return;
    const Drawing *drawing = pen->drawing;
    uint32_t shown = node->need_count > DRAW_NEED_COUNT_MAX ? DRAW_NEED_COUNT_MAX : node->need_count;
    Str arrow = label_signs(drawing->ascii)->arrow_back;
    if (pen->x + 2 > column) {
        end_line(pen);
        column = INDENT;
    }
    pen->x = column;
    put(pen, arrow, INK_FAINT);
    uint32_t name_column = pen->x;
    for (uint32_t i = 0; i < shown; i++) {
        const PictureEdge *edge = &picture->edges[picture->needs[node->need_first + i]];
        Str name = label_clean(drawing->arena, picture->nodes[edge->from].title, drawing->ascii);
        Str key = label_clean(drawing->arena, edge->label, drawing->ascii);
        uint32_t room = drawing->width - name_column - 2;        /* a space before, a comma behind */
        name = label_cut(drawing->arena, name, room, drawing->ascii);
        if (pen->x == name_column) pen->x++;
        put_need(pen, name_column + 1, name, key, i + 1 == node->need_count);
    }
    if (shown == node->need_count) return;
    end_line(pen);
    pen->x = name_column + 1;
    put_more(pen, node->need_count - shown);
}

static void put_rows(Pen *pen, const Picture *picture, uint32_t node_index)
{
    const PictureNode *node = &picture->nodes[node_index];
    const Drawing *drawing = pen->drawing;
    PictureRows rows = picture_rows(picture, node_index, drawing->ascii, drawing->arena);
    for (uint32_t i = 0; i < rows.count; i++) {
        pen->x = INDENT;
        put_name(pen, rows.items[i].text, rows.items[i].marks, rows.items[i].kind == ROW_LOOP ? INK_LOOP : INK_FAINT);
        end_line(pen);
    }
    for (uint32_t i = 0; i < node->loop_count && i < DRAW_ROW_COUNT_MAX; i++) {
        const PictureLoop *loop = &picture->loops[node->loop_first + i];
        if (loop->tail == node_index) continue;             /* a row says it */
        pen->x = INDENT;
        put(pen, label_signs(drawing->ascii)->loop, INK_LOOP);
        put(pen, STR(" from "), INK_LOOP);
        put(pen, label_clean(drawing->arena, picture->nodes[loop->tail].title, drawing->ascii), INK_LOOP);
        put(pen, STR(", "), INK_LOOP);
        put(pen, picture_loop_bound(loop->loop, drawing->ascii, drawing->arena), INK_LOOP);
        end_line(pen);
    }
}

void text_list(const Drawing *drawing, const Picture *picture)
{
    const LabelSigns *signs = label_signs(drawing->ascii);
    Pen pen = pen_on(drawing);
    uint32_t count = listed_count(picture->node_count), column = need_column(drawing, picture, count);
    for (uint32_t i = 0; i < count; i++) {
        const PictureNode *node = &picture->nodes[picture->order[i]];
        bool is_branch = node->kind == NODE_BRANCH;
        pen.x = 1;
        put(&pen, is_branch ? signs->diamond : signs->bullet, is_branch ? INK_BRANCH : INK_FAINT);
        pen.x = INDENT;
        put_name(&pen, node->title, node->marks, INK_TITLE);
        put_needs(&pen, picture, node, column);
        end_line(&pen);
        put_rows(&pen, picture, picture->order[i]);
    }
    if (count == picture->node_count) return;
    pen.x = 1;
    put_more(&pen, picture->node_count - count);
    end_line(&pen);
}

/* --- a tree ------------------------------------------------------------------------------------------------------ */

static const struct { Str last, other, under_last, under_other; } rails[2] = {
    { STR_INIT("└─ "), STR_INIT("├─ "), STR_INIT("   "), STR_INIT("│  ") },
    { STR_INIT("`- "), STR_INIT("+- "), STR_INIT("   "), STR_INIT("|  ") },
};

/* The rails left of a node: one for each level above that goes on, as many as leave room for a name. */
static void put_rails(Pen *pen, const Tree *tree, const TreeNode *node, bool *goes_on, uint32_t depth_max)
{
    const Drawing *drawing = pen->drawing;
    uint32_t depth = node->depth < depth_max ? node->depth : depth_max;
    goes_on[depth] = !node->is_last;
    pen->x = 1;
    for (uint32_t i = 1; i < depth; i++)
        put(pen, goes_on[i] ? rails[drawing->ascii].under_other : rails[drawing->ascii].under_last, INK_FAINT);
    if (depth > 0) put(pen, node->is_last ? rails[drawing->ascii].last : rails[drawing->ascii].other, INK_FAINT);
    if (node->depth > depth_max) put(pen, label_signs(drawing->ascii)->ellipsis, INK_FAINT);
}

static void put_loops(Pen *pen, const Tree *tree, const TreeNode *node)
{
    const Drawing *drawing = pen->drawing;
    for (uint32_t i = 0; i < node->loop_count && i < DRAW_ROW_COUNT_MAX; i++) {
        const PlanLoop *loop = tree->loops[node->loop_first + i];
        put(pen, STR("  "), INK_LOOP);
        put(pen, label_signs(drawing->ascii)->loop, INK_LOOP);
        put(pen, STR(" "), INK_LOOP);
        put(pen, picture_loop_bound(loop, drawing->ascii, drawing->arena), INK_LOOP);
        if (loop->head == loop->tail) continue;
        put(pen, STR(" to "), INK_LOOP);
        put(pen, label_clean(drawing->arena, tree->plan->steps[loop->head].name, drawing->ascii), INK_LOOP);
    }
}

static void put_node(Pen *pen, const Tree *tree, const TreeNode *node)
{
    const Drawing *drawing = pen->drawing;
    if (node->step == PLAN_NONE) {
        put_name(pen, node->key, 0, INK_BRANCH);
        if (node->child_count == 0) put(pen, STR(" goes on"), INK_FAINT);
        return;
    }
    const PlanStep *step = &tree->plan->steps[node->step];
    if (step->kind == STEP_BRANCH) {
        put(pen, label_signs(drawing->ascii)->diamond, INK_BRANCH);
        pen->x++;
    }
    put_name(pen, step->name, picture_step_marks(tree->plan, step), node->child_count ? INK_TITLE : INK_PLAIN);
    Str detail = picture_detail(step, drawing->ascii, drawing->arena);
    if (detail.len) pen->x += 2;
    put(pen, detail, INK_FAINT);
    put_loops(pen, tree, node);
}

void text_tree(const Drawing *drawing, const Tree *tree)
{
    Pen pen = pen_on(drawing);
    uint32_t count = listed_count(tree->count), depth_max = (drawing->width - DRAW_WIDTH_MIN / 2) / 3;
    bool *goes_on = ARENA_ARRAY(drawing->arena, bool, depth_max + 1);
    for (uint32_t i = 0; i < count; i++) {
        put_rails(&pen, tree, &tree->nodes[i], goes_on, depth_max);
        put_node(&pen, tree, &tree->nodes[i]);
        end_line(&pen);
    }
    if (count == tree->count) return;
    uint32_t left = 0;
    for (uint32_t i = count; i < tree->count; i++) left += tree->nodes[i].step != PLAN_NONE;
    pen.x = 1;
    put_more(&pen, left);
    end_line(&pen);
}
