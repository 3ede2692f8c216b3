#include "cli/draw/syntax.h"

#include "cli/draw/label.h"
#include "cli/draw/picture.h"
#include "cli/draw/reduce.h"
#include "cli/draw/tree.h"

typedef struct Writer {
    const Drawing *drawing;
    const Syntax *syntax;
} Writer;

static uint32_t write_jobs(const Writer *writer);
static uint32_t write_tree(const Writer *writer);
static void write_edges(const Writer *writer);

void syntax_write(const Drawing *drawing, const Syntax *syntax)
{
    Writer writer = { .drawing = drawing, .syntax = syntax };
    Str title = label_clean(drawing->arena, drawing_title(drawing->plan), /* ascii= */ false);
    syntax->begin(drawing->out, title, drawing_summary(drawing->plan, drawing->arena));
    uint32_t marks = drawing->plan->kind == PLAN_STEP_TREE ? write_tree(&writer) : write_jobs(&writer);
    write_edges(&writer);
    syntax->end(drawing->out, marks);
}

static Str clean(const Writer *writer, Str name)
{
    return label_clean(writer->drawing->arena, name, /* ascii= */ false);
}

static const SyntaxShape shapes[STEP_KIND_COUNT] = {
    [STEP_TASK] = SHAPE_TASK,
    [STEP_BRANCH] = SHAPE_BRANCH,
    [STEP_SEQUENCE] = SHAPE_TASK,
    [STEP_ARTIFACT] = SHAPE_ARTIFACT,
};

static void write_step(const Writer *writer, uint32_t index, uint32_t depth, Str name, uint32_t marks)
{
    const PlanStep *step = &writer->drawing->plan->steps[index];
    SyntaxNode node = {
        .step = index,
        .depth = depth,
        .name = clean(writer, name),
        .detail = picture_detail(step, /* ascii= */ false, writer->drawing->arena),
        .marks = marks,
        .shape = shapes[step->kind],
    };
    writer->syntax->node(writer->drawing->out, &node);
}

/* --- jobs -------------------------------------------------------------------------------------------------------- */

static uint32_t write_jobs(const Writer *writer)
{
    const Drawing *drawing = writer->drawing;
    Picture picture;
    picture_build(&picture, drawing->plan, drawing->arena);
    for (uint32_t i = 0; i < picture.node_count; i++) {
        const PictureNode *node = &picture.nodes[i];
        if (node->kind != NODE_JOB) {
            write_step(writer, node->step_first, 0, node->title, node->marks);
            continue;
        }
        SyntaxGroup group = { .index = i, .name = clean(writer, node->title), .marks = node->marks };
        writer->syntax->open(drawing->out, &group);
        for (uint32_t step = node->step_first; step < node->step_first + node->step_count; step++) {
            const PlanStep *task = &drawing->plan->steps[step];
            write_step(writer, step, 1, task->name, picture_step_marks(drawing->plan, task));
        }
        writer->syntax->close(drawing->out, 0);
    }
    return picture.marks;
}

/* --- trees ------------------------------------------------------------------------------------------------------- */

/* A sequence is a group, and a point in it where edges lead to the sequence itself; the steps below a branch stand
 * beside it, since its edges say which belongs to which case. */
static uint32_t write_tree(const Writer *writer)
{
    const Drawing *drawing = writer->drawing;
    Tree tree;
    tree_build(&tree, drawing->plan, drawing->arena);
    uint32_t *open = ARENA_ARRAY(drawing->arena, uint32_t, tree.count), open_count = 0;     /* depths of the groups */
    for (uint32_t i = 0; i < tree.count; i++) {
        const TreeNode *node = &tree.nodes[i];
        while (open_count && node->depth <= open[open_count - 1]) writer->syntax->close(drawing->out, --open_count);
        if (node->step == PLAN_NONE) continue;
        const PlanStep *step = &drawing->plan->steps[node->step];
        if (node->child_count == 0 || step->kind == STEP_BRANCH) {
            write_step(writer, node->step, open_count, step->name, picture_step_marks(drawing->plan, step));
            continue;
        }
        SyntaxGroup group = {
            .index = node->step,
            .depth = open_count,
            .name = clean(writer, step->name),
            .marks = picture_step_marks(drawing->plan, step),
        };
        writer->syntax->open(drawing->out, &group);
        open[open_count++] = node->depth;
        SyntaxNode point = { .step = node->step, .depth = open_count, .shape = SHAPE_POINT };
        if (step->edge_count || step->need_count) writer->syntax->node(drawing->out, &point);
    }
    while (open_count) writer->syntax->close(drawing->out, --open_count);
    return tree.marks;
}

/* --- edges ------------------------------------------------------------------------------------------------------- */

/* By edge: whether it only says that data flows, along a way that other edges make anyway. */
static const ReduceEdge *find_implied(const Writer *writer)
{
    const Plan *plan = writer->drawing->plan;
    Arena *arena = writer->drawing->arena;
    ReduceEdge *edges = ARENA_ARRAY(arena, ReduceEdge, plan->edge_count);
    uint32_t *order = ARENA_ARRAY(arena, uint32_t, plan->step_count);
    for (uint32_t i = 0; i < plan->edge_count; i++) {
        const PlanEdge *edge = &plan->edges[i];
        bool is_data = edge->kind == EDGE_DATA && plan->kind != PLAN_RUNBOOK;
        edges[i] = (ReduceEdge){ .from = edge->from, .to = edge->to, .may_go = is_data };
    }
    plan_order(plan, arena, order);
    reduce_edges(edges, plan->edge_count, order, plan->step_count, arena);
    return edges;
}

static void write_edges(const Writer *writer)
{
    const Plan *plan = writer->drawing->plan;
    const ReduceEdge *edges = find_implied(writer);
    for (uint32_t i = 0; i < plan->edge_count; i++) {
        const PlanEdge *edge = &plan->edges[i];
        SyntaxEdge line = {
            .from = edge->from, .to = edge->to, .label = clean(writer, edge->key),
            .kind = edges[i].is_implied ? LINE_DATA : LINE_FLOW,
        };
        writer->syntax->edge(writer->drawing->out, &line);
    }
    for (uint32_t i = 0; i < plan->loop_count; i++) {
        const PlanLoop *loop = &plan->loops[i];
        SyntaxEdge line = {
            .from = loop->tail, .to = loop->head, .kind = LINE_LOOP,
            .label = picture_loop_bound(loop, /* ascii= */ false, writer->drawing->arena),
        };
        writer->syntax->edge(writer->drawing->out, &line);
    }
}
