#include "cli/draw/draw_text.h"

#include "base/utf8.h"
#include "cli/draw/canvas.h"
#include "cli/draw/label.h"
#include "cli/draw/mark.h"

static void draw_heading(const Drawing *drawing, Canvas *line);
static void draw_legend(const Drawing *drawing, Canvas *line, uint32_t marks);

Status draw_text(const Drawing *drawing, Error *err)
{
    (void)err;                                          /* text has a form for every size */
    Canvas line;
    canvas_init(&line, drawing->arena, drawing->width, 1);
    line.ascii = drawing->ascii;
    draw_heading(drawing, &line);
    uint32_t marks;
    if (drawing->plan->kind == PLAN_STEP_TREE) {
        Tree tree;
        tree_build(&tree, drawing->plan, drawing->arena);
        text_tree(drawing, &tree);
        marks = tree.marks;
    } else {
        Picture picture;
        picture_build(&picture, drawing->plan, drawing->arena);
        if (!text_layers(drawing, &picture)) text_list(drawing, &picture);
        marks = picture.marks;
    }
    draw_legend(drawing, &line, marks);
    return OK;
}

static void print_line(const Drawing *drawing, Canvas *line)
{
    canvas_print(line, drawing->out, drawing->color);
    canvas_clear(line);
}

/* The name, and behind it or below it what the plan is made of. */
static void draw_heading(const Drawing *drawing, Canvas *line)
{
    Str title = label_clean(drawing->arena, drawing_title(drawing->plan), drawing->ascii);
    Str summary = drawing_summary(drawing->plan, drawing->arena);
    title = label_cut(drawing->arena, title, drawing->width, drawing->ascii);
    uint32_t x = canvas_text(line, 0, 0, title, INK_TITLE);
    if (x > 0 && x + 2 + summary.len > drawing->width) {
        print_line(drawing, line);
        x = 0;
    }
    canvas_text(line, x ? x + 2 : 0, 0, label_cut(drawing->arena, summary, drawing->width, drawing->ascii), INK_FAINT);
    print_line(drawing, line);
    print_line(drawing, line);
}

static void draw_legend(const Drawing *drawing, Canvas *line, uint32_t marks)
{
    uint32_t x = 0;
    if (marks) print_line(drawing, line);
    for (Mark i = 0; i < MARK_COUNT; i++) {
        if (!mark_has(marks, i)) continue;
        uint32_t width = 2 + (uint32_t)utf8_width(mark_meaning(i));
        if (x > 0 && x + 3 + width > drawing->width) {
            print_line(drawing, line);
            x = 0;
        }
        x = canvas_text(line, x ? x + 3 : 1, 0, mark_sign(i, drawing->ascii), INK_MARK);
        x = canvas_text(line, x + 1, 0, mark_meaning(i), INK_FAINT);
    }
    if (marks) print_line(drawing, line);
}
