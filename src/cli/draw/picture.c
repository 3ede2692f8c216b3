#include "cli/draw/picture.h"

#include <inttypes.h>
#include <string.h>

#include "base/limits.h"
#include "cli/draw/label.h"
#include "cli/draw/mark.h"
#include "cli/draw/reduce.h"

typedef struct Builder {
    const Plan *plan;
    Arena *arena;
    PictureNode *nodes;
    PictureEdge *edges;
    uint32_t *node_of;                  /* by step */
    bool is_flat;                       /* the steps of jobs are drawn one by one */
    uint32_t node_count, edge_count;
    uint32_t marks;
} Builder;

static void drop_implied(Builder *builder, const uint32_t *order);
static void add_nodes(Builder *builder);
static void add_edges(Builder *builder);
static bool order_nodes(const Builder *builder, uint32_t *out_order);
static uint32_t *list_needs(Builder *builder);
static PictureLoop *list_loops(Builder *builder);

void picture_build(Picture *picture, const Plan *plan, Arena *arena)
{
    Builder builder = {
        .plan = plan,
        .arena = arena,
        .nodes = ARENA_ARRAY(arena, PictureNode, plan->step_count),
        .edges = ARENA_ARRAY(arena, PictureEdge, plan->edge_count),
        .node_of = ARENA_ARRAY(arena, uint32_t, plan->step_count),
    };
    uint32_t *order = ARENA_ARRAY(arena, uint32_t, plan->step_count);
    add_nodes(&builder);
    add_edges(&builder);
    if (!order_nodes(&builder, order)) {                    /* jobs that need each other by turns */
        builder.is_flat = true;
        add_nodes(&builder);
        add_edges(&builder);
        order_nodes(&builder, order);                       /* D1: the steps of a plan have an order */
    }
    if (plan->kind == PLAN_WORKFLOW) drop_implied(&builder, order);
    *picture = (Picture){
        .plan = plan,
        .nodes = builder.nodes,
        .edges = builder.edges,
        .needs = list_needs(&builder),
        .order = order,
        .loops = list_loops(&builder),
        .node_count = builder.node_count,
        .edge_count = builder.edge_count,
        .loop_count = plan->loop_count,
        .marks = builder.marks,
    };
}

/* --- nodes ------------------------------------------------------------------------------------------------------- */

uint32_t picture_step_marks(const Plan *plan, const PlanStep *step)
{
    return mark_set(step->settings, step->job == PLAN_NONE ? plan->document : plan->jobs[step->job].settings);
}

/* A job of one branch, or of one task that bears its name, needs no frame around it. */
static bool is_framed(const Plan *plan, const PlanJob *job)
{
    const PlanStep *first = &plan->steps[job->step_first];
    return job->step_count > 1 || (first->kind != STEP_BRANCH && !str_is(first->name, job->id));
}

static void make_job_node(PictureNode *node, const Plan *plan, const PlanJob *job)
{
    const PlanStep *first = &plan->steps[job->step_first];
    *node = (PictureNode){
        .kind = NODE_JOB, .title = job->id, .step_first = job->step_first, .step_count = job->step_count,
        .marks = mark_set(job->settings, plan->document),
    };
    if (is_framed(plan, job)) return;
    node->kind = first->kind == STEP_BRANCH ? NODE_BRANCH : NODE_STEP;
    node->marks |= picture_step_marks(plan, first);
}

static void make_step_node(PictureNode *node, const Plan *plan, uint32_t index)
{
    const PlanStep *step = &plan->steps[index];
    *node = (PictureNode){
        .kind = step->kind == STEP_BRANCH ? NODE_BRANCH : NODE_STEP,
        .title = step->job == PLAN_NONE ? step->name : step->id,
        .step_first = index, .step_count = 1,
        .marks = picture_step_marks(plan, step),
    };
}

static void add_nodes(Builder *builder)
{
    const Plan *plan = builder->plan;
    builder->node_count = 0;
    builder->marks = 0;
    for (uint32_t i = 0; i < plan->step_count;) {
        const PlanStep *step = &plan->steps[i];
        PictureNode *node = &builder->nodes[builder->node_count];
        bool is_job = step->job != PLAN_NONE && !builder->is_flat;
        if (is_job) make_job_node(node, plan, &plan->jobs[step->job]);
        else make_step_node(node, plan, i);
        builder->marks |= node->marks;
        for (uint32_t end = i + node->step_count; i < end; i++) {
            builder->node_of[i] = builder->node_count;
            builder->marks |= picture_step_marks(plan, &plan->steps[i]);
        }
        builder->node_count++;
    }
}

/* --- edges ------------------------------------------------------------------------------------------------------- */

static const uint8_t edge_weights[EDGE_KIND_COUNT] = { [EDGE_DATA] = 0, [EDGE_ORDER] = 1, [EDGE_BRANCH] = 2 };

static void join_label(Arena *arena, PictureEdge *edge, Str key)
{
    if (key.len == 0 || edge->label.len > DRAW_LABEL_SIZE_MAX) return;
    if (edge->label.len == 0) edge->label = key;
    else edge->label = arena_format(arena, "%.*s, %.*s", STR_ARG(edge->label), STR_ARG(key));
}

/* Steps of a node lie together, so the plan's edges are grouped by the node they leave as they stand. A mark at each
 * node remembers the edge that last led there, which is this node's or an earlier one's. */
static void add_edges(Builder *builder)
{
    const Plan *plan = builder->plan;
    uint32_t *last = ARENA_ARRAY(builder->arena, uint32_t, builder->node_count);
    memset(last, 0xff, builder->node_count * sizeof *last);
    builder->edge_count = 0;
    for (uint32_t i = 0; i < plan->edge_count; i++) {
        const PlanEdge *edge = &plan->edges[i];
        uint32_t from = builder->node_of[edge->from], to = builder->node_of[edge->to];
        PictureNode *node = &builder->nodes[from];
        if (from == to) continue;                           /* the rows of a job say it */
        bool is_known = last[to] != PLAN_NONE && builder->edges[last[to]].from == from;
        if (!is_known) {
            if (node->edge_count++ == 0) node->edge_first = builder->edge_count;
            builder->nodes[to].need_count++;
            last[to] = builder->edge_count;
            builder->edges[builder->edge_count++] = (PictureEdge){ .from = from, .to = to, .kind = edge->kind };
        }
        PictureEdge *known = &builder->edges[last[to]];
        if (edge_weights[edge->kind] > edge_weights[known->kind]) known->kind = edge->kind;
        if (edge->kind == EDGE_BRANCH) join_label(builder->arena, known, edge->key);
    }
}

/* The nodes are a plan of their own, as far as its order is concerned. False where they form a cycle. */
static bool order_nodes(const Builder *builder, uint32_t *out_order)
{
    Plan nodes = { .step_count = builder->node_count, .edge_count = builder->edge_count };
    PlanStep *steps = ARENA_ARRAY(builder->arena, PlanStep, builder->node_count);
    PlanEdge *edges = ARENA_ARRAY(builder->arena, PlanEdge, builder->edge_count);
    for (uint32_t i = 0; i < builder->node_count; i++) {
        const PictureNode *node = &builder->nodes[i];
        steps[i] = (PlanStep){
            .edge_first = node->edge_first, .edge_count = node->edge_count, .need_count = node->need_count,
        };
        out_order[i] = PLAN_NONE;
    }
    for (uint32_t i = 0; i < builder->edge_count; i++)
        edges[i] = (PlanEdge){ .from = builder->edges[i].from, .to = builder->edges[i].to };
    nodes.steps = steps;
    nodes.edges = edges;
    plan_order(&nodes, builder->arena, out_order);
    return builder->node_count == 0 || out_order[builder->node_count - 1] != PLAN_NONE;
}

static void drop_implied(Builder *builder, const uint32_t *order)
{
    ReduceEdge *edges = ARENA_ARRAY(builder->arena, ReduceEdge, builder->edge_count);
    for (uint32_t i = 0; i < builder->edge_count; i++) {
        const PictureEdge *edge = &builder->edges[i];
        edges[i] = (ReduceEdge){ .from = edge->from, .to = edge->to, .may_go = edge->kind == EDGE_DATA };
    }
    reduce_edges(edges, builder->edge_count, order, builder->node_count, builder->arena);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < builder->node_count; i++) builder->nodes[i].edge_count = builder->nodes[i].need_count = 0;
    for (uint32_t i = 0; i < builder->edge_count; i++) {
        if (edges[i].is_implied) continue;
        PictureEdge edge = builder->edges[i];
        PictureNode *from = &builder->nodes[edge.from];
        if (from->edge_count++ == 0) from->edge_first = kept;
        builder->nodes[edge.to].need_count++;
        builder->edges[kept++] = edge;
    }
    builder->edge_count = kept;
}

static uint32_t *list_needs(Builder *builder)
{
    uint32_t *needs = ARENA_ARRAY(builder->arena, uint32_t, builder->edge_count), first = 0;
    for (uint32_t i = 0; i < builder->node_count; i++) {
        builder->nodes[i].need_first = first;
        first += builder->nodes[i].need_count;
        builder->nodes[i].need_count = 0;
    }
    for (uint32_t i = 0; i < builder->edge_count; i++) {
        PictureNode *node = &builder->nodes[builder->edges[i].to];
        needs[node->need_first + node->need_count++] = i;
    }
    return needs;
}

static PictureLoop *list_loops(Builder *builder)
{
    const Plan *plan = builder->plan;
    PictureLoop *loops = ARENA_ARRAY(builder->arena, PictureLoop, plan->loop_count);
    uint32_t first = 0;
    for (uint32_t i = 0; i < plan->loop_count; i++) builder->nodes[builder->node_of[plan->loops[i].head]].loop_count++;
    for (uint32_t i = 0; i < builder->node_count; i++) {
        builder->nodes[i].loop_first = first;
        first += builder->nodes[i].loop_count;
        builder->nodes[i].loop_count = 0;
    }
    for (uint32_t i = 0; i < plan->loop_count; i++) {
        const PlanLoop *loop = &plan->loops[i];
        PictureNode *head = &builder->nodes[builder->node_of[loop->head]];
        loops[head->loop_first + head->loop_count++] =
            (PictureLoop){ builder->node_of[loop->head], builder->node_of[loop->tail], loop };
    }
    return loops;
}

PictureGraph picture_graph(const Picture *picture, bool ascii, Arena *arena)
{
    size_t count_max = (size_t)picture->edge_count + picture->loop_count;
    PictureGraph graph = {
        .edges = ARENA_ARRAY(arena, LayoutEdge, count_max), .labels = ARENA_ARRAY(arena, Str, count_max),
    };
    for (uint32_t i = 0; i < picture->edge_count; i++) {
        const PictureEdge *edge = &picture->edges[i];
        graph.labels[graph.edge_count] = label_clean(arena, edge->label, ascii);
        graph.edges[graph.edge_count++] =
            (LayoutEdge){ .from = edge->from, .to = edge->to, .has_label = edge->label.len > 0 };
    }
    uint32_t *ranks = ARENA_ARRAY(arena, uint32_t, picture->node_count);
    for (uint32_t i = 0; i < picture->node_count; i++) ranks[picture->order[i]] = i;
    for (uint32_t i = 0; i < picture->loop_count; i++) {
        const PictureLoop *loop = &picture->loops[i];
        if (loop->head == loop->tail) continue;
        bool goes_back = ranks[loop->head] < ranks[loop->tail];
        graph.labels[graph.edge_count] = picture_loop_bound(loop->loop, ascii, arena);
        graph.edges[graph.edge_count++] = (LayoutEdge){
            .from = goes_back ? loop->head : loop->tail,
            .to = goes_back ? loop->tail : loop->head,
            .has_label = true,
            .is_back = goes_back,
        };
    }
    return graph;
}

/* --- rows -------------------------------------------------------------------------------------------------------- */

static Str member_type(const PlanStep *step, const char *key)
{
    const Value *member = value_get_text(step->settings, key);
    return member ? value_get_string(*member, "type", STR("")) : STR("");
}

Str picture_detail(const PlanStep *step, bool ascii, Arena *arena)
{
    if (step->kind == STEP_BRANCH) {
        Str asked = value_get_string(step->settings, "condition", value_get_string(step->settings, "select", STR("")));
        return label_clean(arena, asked, ascii);
    }
    bool says_more = !str_is(step->runner, step->name);
    if (step->kind != STEP_ARTIFACT) return says_more ? label_clean(arena, step->runner, ascii) : STR("");
    Str source = member_type(step, "source"), transform = member_type(step, "transform");
    Str detail = source.len ? source : transform.len ? transform : step->runner;
    if (source.len && transform.len)
        detail = arena_format(arena, "%.*s %.*s %.*s", STR_ARG(source), STR_ARG(label_signs(ascii)->arrow),
                              STR_ARG(transform));
    return label_clean(arena, detail, ascii);
}

Str picture_loop_bound(const PlanLoop *loop, bool ascii, Arena *arena)
{
    const LabelSigns *signs = label_signs(ascii);
    return arena_format(arena, "%.*s%" PRIu32 "%.*s", STR_ARG(signs->at_most), loop->iteration_count_max,
                        STR_ARG(signs->times));
}

/* A loop inside of one box: its bound, and where it goes if the box has several steps. */
static Str loop_text(const Picture *picture, const PictureLoop *loop, bool ascii, Arena *arena)
{
    const LabelSigns *signs = label_signs(ascii);
    Str bound = picture_loop_bound(loop->loop, ascii, arena);
    if (loop->loop->head == loop->loop->tail && picture->nodes[loop->head].step_count == 1)
        return arena_format(arena, "%.*s %.*s", STR_ARG(signs->loop), STR_ARG(bound));
    Str tail = label_clean(arena, picture->plan->steps[loop->loop->tail].name, ascii);
    Str head = label_clean(arena, picture->plan->steps[loop->loop->head].name, ascii);
    return arena_format(arena, "%.*s %.*s %.*s %.*s %.*s", STR_ARG(signs->loop), STR_ARG(bound), STR_ARG(tail),
                        STR_ARG(signs->arrow), STR_ARG(head));
}

static Str step_text(const PlanStep *step, bool ascii, Arena *arena)
{
    Str name = label_clean(arena, step->name, ascii);
    if (step->kind != STEP_BRANCH) return name;
    return arena_format(arena, "%.*s %.*s", STR_ARG(label_signs(ascii)->diamond), STR_ARG(name));
}

PictureRows picture_rows(const Picture *picture, uint32_t node_index, bool ascii, Arena *arena)
{
    const PictureNode *node = &picture->nodes[node_index];
    const PlanStep *steps = &picture->plan->steps[node->step_first];
    uint32_t task_count = node->kind == NODE_JOB ? node->step_count : 0, shown = task_count, count = 0;
    uint32_t loop_count = node->loop_count;
    if (shown > DRAW_ROW_COUNT_MAX) shown = DRAW_ROW_COUNT_MAX;
    if (loop_count > DRAW_ROW_COUNT_MAX) loop_count = DRAW_ROW_COUNT_MAX;
    PictureRow *rows = ARENA_ARRAY(arena, PictureRow, shown + 2 + loop_count);
    for (uint32_t i = 0; i < shown; i++) {
        uint32_t marks = picture_step_marks(picture->plan, &steps[i]);
        rows[count++] = (PictureRow){ step_text(&steps[i], ascii, arena), marks, ROW_TASK };
    }
    if (task_count > shown) rows[count++] = (PictureRow){ label_more(arena, task_count - shown, ascii), 0, ROW_MORE };
    Str detail = task_count ? STR("") : picture_detail(steps, ascii, arena);
    if (detail.len) rows[count++] = (PictureRow){ detail, 0, ROW_DETAIL };
    for (uint32_t i = 0; i < loop_count; i++) {
        const PictureLoop *loop = &picture->loops[node->loop_first + i];
        if (loop->tail == node_index)
            rows[count++] = (PictureRow){ loop_text(picture, loop, ascii, arena), 0, ROW_LOOP };
    }
    return (PictureRows){ rows, count };
}
