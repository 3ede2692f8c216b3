/* A step tree as a picture: boxes inside of boxes. What follows one another stands below one another; the cases of a
 * branch stand side by side below the branch's own sign. Nothing recurses: sizes are summed up from the last node of
 * the list to the first, places are given from the first to the last. */
#include "base/limits.h"
#include "cli/draw/label.h"
#include "cli/draw/mark.h"
#include "cli/draw/picture.h"
#include "cli/draw/svg.h"
#include "cli/draw/tree.h"

#define INNER 16                        /* between a group's border and what is in it */
#define BELOW 26                        /* between two steps that follow one another: the room of an arrow */
#define BESIDE 20                       /* between two cases */
#define LEAF_HEIGHT 36
#define BRANCH_ROOM 40                  /* between a branch's sign and its cases: curves and keys */
#define JOIN_ROOM 24                    /* below the cases of a branch that something follows: where their ways meet */
#define KEY_HEIGHT 20

/* How the children of a node stand, and what is drawn of itself. */
typedef enum PartKind { PART_LEAF, PART_GROUP, PART_BRANCH, PART_CASE } PartKind;

typedef struct Part {
    PartKind kind;
    Str name, detail, loops;            /* cut; what a branch asks, and what loops from here, if anything */
    uint32_t marks;
    bool goes_on;                       /* something follows it, or the case that it ends */
    int32_t name_width;
    int32_t width, height;
    int32_t x, y;
    int32_t sum, most;                  /* of its children: along the way they stand, and across */
    int32_t next;                       /* where the next child goes, along that way */
} Part;

typedef struct Sheet {
    const Drawing *drawing;
    Tree tree;
    Part *parts;                        /* by node of the tree */
    Part root;
} Sheet;

static void make_parts(Sheet *sheet);
static void find_ways(Sheet *sheet);
static void size_parts(Sheet *sheet);
static void place_parts(Sheet *sheet);
static void draw_part(const Sheet *sheet, uint32_t index);

Status svg_tree(const Drawing *drawing, Error *err)
{
    Sheet sheet = { .drawing = drawing };
    tree_build(&sheet.tree, drawing->plan, drawing->arena);
    if (sheet.tree.count > DRAW_SVG_COUNT_MAX) return svg_refuse(sheet.tree.count, err);
    make_parts(&sheet);
    find_ways(&sheet);
    size_parts(&sheet);
    place_parts(&sheet);
    SvgSize size = { sheet.root.width, sheet.root.height };
    svg_begin(drawing, size, sheet.tree.marks);
    for (uint32_t i = 0; i < sheet.tree.count; i++) draw_part(&sheet, i);
    svg_end(drawing, size, sheet.tree.marks);
    return OK;
}

static bool stands_beside(const Part *parent) { return parent->kind == PART_BRANCH; }

static Part *parent_of(Sheet *sheet, uint32_t index)
{
    uint32_t parent = sheet->tree.nodes[index].parent;
    return parent == PLAN_NONE ? &sheet->root : &sheet->parts[parent];
}

/* --- what there is ----------------------------------------------------------------------------------------------- */

static Str cut(const Sheet *sheet, Str name)
{
    Arena *arena = sheet->drawing->arena;
    return label_cut(arena, label_clean(arena, name, /* ascii= */ false), SVG_NAME_WIDTH, /* ascii= */ false);
}

static Str loop_text(const Sheet *sheet, const TreeNode *node)
{
    if (node->loop_count == 0) return STR("");
    const PlanLoop *loop = sheet->tree.loops[node->loop_first];
    const LabelSigns *signs = label_signs(/* ascii= */ false);
    Arena *arena = sheet->drawing->arena;
    Str bound = picture_loop_bound(loop, /* ascii= */ false, arena);
    Str head = label_clean(arena, sheet->tree.plan->steps[loop->head].name, /* ascii= */ false);
    Str text = arena_format(arena, "%.*s %.*s to %.*s", STR_ARG(signs->loop), STR_ARG(bound), STR_ARG(head));
    Str more = label_more(arena, node->loop_count - 1, /* ascii= */ false);
    if (node->loop_count > 1) text = arena_format(arena, "%.*s, %.*s", STR_ARG(text), STR_ARG(more));
    return label_cut(arena, text, SVG_NAME_WIDTH, /* ascii= */ false);
}

static int32_t wider(int32_t a, int32_t b) { return a > b ? a : b; }

static void make_parts(Sheet *sheet)
{
    sheet->parts = ARENA_ARRAY(sheet->drawing->arena, Part, sheet->tree.count);
    sheet->root.kind = PART_CASE;
    for (uint32_t i = 0; i < sheet->tree.count; i++) {
        const TreeNode *node = &sheet->tree.nodes[i];
        Part *part = &sheet->parts[i];
        if (node->step == PLAN_NONE) {
            *part = (Part){ .kind = PART_CASE, .name = cut(sheet, node->key) };
            part->name_width = svg_text_width(part->name, FONT_LABEL) + 12;
            continue;
        }
        const PlanStep *step = &sheet->tree.plan->steps[node->step];
        *part = (Part){
            .kind = step->kind == STEP_BRANCH ? PART_BRANCH : node->child_count ? PART_GROUP : PART_LEAF,
            .name = cut(sheet, step->name),
            .detail = cut(sheet, picture_detail(step, /* ascii= */ false, sheet->drawing->arena)),
            .loops = loop_text(sheet, node),
            .marks = picture_step_marks(sheet->tree.plan, step),
        };
        int32_t detail_width = svg_text_width(part->detail, FONT_FAINT);
        part->name_width = svg_text_width(part->name, FONT_NAME) + svg_marks_width(part->marks);
        part->name_width = wider(part->name_width, wider(detail_width, svg_text_width(part->loops, FONT_LOOP)));
        part->name_width += 2 * (part->kind == PART_BRANCH ? SVG_POINT : SVG_PAD);
    }
}

/* A group ends what is in it: only the group itself goes on. */
static void find_ways(Sheet *sheet)
{
    for (uint32_t i = 0; i < sheet->tree.count; i++) {
        const TreeNode *node = &sheet->tree.nodes[i];
        const Part *parent = parent_of(sheet, i);
        bool follows = !node->is_last && !stands_beside(parent);
        bool ends_case = parent != &sheet->root && (stands_beside(parent) || parent->kind == PART_CASE);
        sheet->parts[i].goes_on = follows || (ends_case && parent->goes_on);
    }
}

/* --- sizes and places -------------------------------------------------------------------------------------------- */

/* A part's own box: its name, and a line each for what a branch asks and what loops. */
static int32_t own_height(const Part *part)
{
    return LEAF_HEIGHT + (part->detail.len ? SVG_ROW : 0) + (part->loops.len ? SVG_ROW : 0);
}

/* What of a part lies above its children. */
static int32_t head_height(const Part *part)
{
    if (part->kind == PART_CASE) return part->name.len ? KEY_HEIGHT + (part->sum ? BELOW - SVG_ARROW : 0) : 0;
    return own_height(part) + (part->kind == PART_BRANCH && part->sum ? BRANCH_ROOM : 0);
}

static int32_t foot_height(const Part *part)
{
    if (part->kind == PART_GROUP) return INNER;
    return part->kind == PART_BRANCH && part->sum && part->goes_on ? JOIN_ROOM : 0;
}

static void size_part(Part *part)
{
    bool is_row = stands_beside(part);
    int32_t inner_width = is_row ? part->sum : part->most, inner_height = is_row ? part->most : part->sum;
    int32_t border = part->kind == PART_GROUP ? INNER : 0;
    part->width = inner_width + 2 * border;
    if (part->width < part->name_width) part->width = part->name_width;
    part->height = head_height(part) + inner_height + foot_height(part);
}

static void size_parts(Sheet *sheet)
{
    for (uint32_t i = sheet->tree.count; i-- > 0;) {
        Part *part = &sheet->parts[i], *parent = parent_of(sheet, i);
        size_part(part);
        int32_t along = stands_beside(parent) ? part->width : part->height;
        int32_t across = stands_beside(parent) ? part->height : part->width;
        parent->sum += along + (parent->sum ? stands_beside(parent) ? BESIDE : BELOW : 0);
        if (parent->most < across) parent->most = across;
    }
    size_part(&sheet->root);
}

static void place_parts(Sheet *sheet)
{
    for (uint32_t i = 0; i < sheet->tree.count; i++) {
        Part *part = &sheet->parts[i], *parent = parent_of(sheet, i);
        if (stands_beside(parent)) {
            part->x = parent->x + (parent->width - parent->sum) / 2 + parent->next;
            part->y = parent->y + head_height(parent);
            parent->next += part->width + BESIDE;
        } else {
            part->x = parent->x + (parent->width - part->width) / 2;
            part->y = parent->y + head_height(parent) + parent->next;
            parent->next += part->height + BELOW;
        }
    }
}

/* --- drawing ----------------------------------------------------------------------------------------------------- */

static int32_t center(const Part *part) { return part->x + part->width / 2; }

static void draw_line(Buf *out, SvgPoint from, SvgPoint to, bool has_arrow)
{
    SvgPoint end = { to.x, to.y - (has_arrow ? SVG_ARROW : 0) };
    svg_path_begin(out, from, /* is_loop= */ false);
    svg_path_down(out, from, end);
    svg_path_end(out);
    if (has_arrow) svg_arrow(out, (SvgPoint){ to.x, to.y - 1 }, /* is_up= */ false, /* is_loop= */ false);
}

/* The line to a part: from its branch, or from the step before it, or from the key above it. */
static void draw_way(const Sheet *sheet, const Part *part, const Part *parent, bool is_first)
{
    Buf *out = sheet->drawing->out;
    SvgPoint to = { center(part), part->y };
    if (stands_beside(parent)) {
        SvgPoint from = { center(parent), parent->y + head_height(parent) - BRANCH_ROOM };
        draw_line(out, from, to, part->kind != PART_CASE);
    } else if (!is_first) {
        draw_line(out, (SvgPoint){ to.x, to.y - BELOW }, to, true);
    } else if (parent->name.len && parent->kind == PART_CASE) {
        draw_line(out, (SvgPoint){ to.x, parent->y + KEY_HEIGHT }, to, true);
    }
}

/* From the end of a case to where all cases of its branch meet. */
static void draw_join(Buf *out, const Part *part, const Part *branch)
{
    SvgPoint from = { center(part), part->y + part->height };
    SvgPoint to = { center(branch), branch->y + branch->height }, low = { from.x, to.y - JOIN_ROOM };
    svg_path_begin(out, from, /* is_loop= */ false);
    if (low.y > from.y) svg_path_down(out, from, low);
    svg_path_down(out, low, to);
    svg_path_end(out);
}

static void draw_name(Buf *out, const Part *part, SvgBox box, int32_t inset)
{
    svg_text(out, (SvgPoint){ box.x + inset, box.y + 23 }, part->name, FONT_NAME);
    svg_marks(out, (SvgPoint){ box.x + box.width - inset, box.y + 23 }, part->marks);
    SvgPoint at = { box.x + inset, box.y + 23 + SVG_ROW };
    if (part->detail.len) svg_text(out, at, part->detail, FONT_FAINT);
    if (part->detail.len) at.y += SVG_ROW;
    if (part->loops.len) svg_text(out, at, part->loops, FONT_LOOP);
}

static void draw_part(const Sheet *sheet, uint32_t index)
{
    const TreeNode *node = &sheet->tree.nodes[index];
    const Part *part = &sheet->parts[index];
    const Part *parent = node->parent == PLAN_NONE ? &sheet->root : &sheet->parts[node->parent];
    Buf *out = sheet->drawing->out;
    bool is_first = node->parent == PLAN_NONE ? index == 0 : index == node->parent + 1;
    draw_way(sheet, part, parent, is_first);
    if (stands_beside(parent) && parent->goes_on) draw_join(out, part, parent);
    SvgBox box = { part->x, part->y, part->width, part->height };
    switch (part->kind) {
    case PART_CASE:
        svg_text_centered(out, (SvgPoint){ center(part), part->y + 14 }, part->name, FONT_LABEL);
        return;
    case PART_BRANCH:
        box = (SvgBox){ center(part) - part->name_width / 2, part->y, part->name_width, own_height(part) };
        svg_hexagon(out, box);
        draw_name(out, part, box, SVG_POINT);
        return;
    case PART_GROUP:
    case PART_LEAF:
        svg_rect(out, box, part->kind == PART_GROUP ? "group" : "box leaf");
        draw_name(out, part, box, SVG_PAD);
        return;
    }
}
