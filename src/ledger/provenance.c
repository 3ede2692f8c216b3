#include "ledger/provenance.h"

#include <inttypes.h>

#include "base/map.h"
#include "core/command.h"

typedef struct Graph {
    Arena *arena;
    ValueList nodes, edges;
    const Plan *plan;
    const Run *run;
    Str run_node;
} Graph;

/* --- the graph of a run ------------------------------------------------------------------------------------------------ */

static Str node_id(Graph *graph, const char *kind, Str name)
{
    return arena_format(graph->arena, "%s:%.*s", kind, STR_ARG(name));
}

static Str signal_id(Graph *graph, uint32_t number)
{
    return arena_format(graph->arena, "signal:%" PRIu32, number);
}

/* `state` may be NULL, `record` 0. */
static void add_node(Graph *graph, Str id, const char *kind, Str name, const char *state, uint64_t record)
{
    MemberList list = { .arena = graph->arena };
    member_list_add(&list, STR("id"), value_string(id));
    member_list_add(&list, STR("kind"), value_string(str_of(kind)));
    member_list_add(&list, STR("name"), value_string(arena_copy(graph->arena, name)));
    if (state) member_list_add(&list, STR("state"), value_string(str_of(state)));
    if (record) member_list_add(&list, STR("record"), value_int((int64_t)record));
    value_list_add(&graph->nodes, member_list_object(&list));
}

static void add_edge(Graph *graph, Str from, Str to, const char *how)
{
    MemberList list = { .arena = graph->arena };
    member_list_add(&list, STR("from"), value_string(from));
    member_list_add(&list, STR("to"), value_string(to));
    member_list_add(&list, STR("how"), value_string(str_of(how)));
    value_list_add(&graph->edges, member_list_object(&list));
}

static bool step_happened(const StepRun *step)
{
    return step->number != 0 || step->state != STEP_QUEUED;
}

static void add_run(Graph *graph)
{
    const Run *run = graph->run;
    graph->run_node = node_id(graph, "run", id_peek(&run->id));
    add_node(graph, graph->run_node, "run", run->definition, run_state_name((RunState)run->state), run->params_at);
    if (run->source.len > 0) {
        Str trigger = node_id(graph, "trigger", run->source);
        add_node(graph, trigger, "trigger", run->source, NULL, 0);
        add_edge(graph, graph->run_node, trigger, "started-by");
    }
    if (run->parent.len > 0) {
        Str parent = node_id(graph, "run", run->parent);
        add_node(graph, parent, "run", run->parent, NULL, 0);
        add_edge(graph, graph->run_node, parent, "child-of");
    }
}

/* A run that a signal started names it in its source: "signal:NAME". */
static void add_signals(Graph *graph)
{
    const Run *run = graph->run;
    for (uint32_t i = 0; i < run->signal_count; i++) {
        const RunSignal *signal = &run->signals[i];
        Str id = signal_id(graph, signal->number);
        add_node(graph, id, "signal", signal->name, signal->is_denial ? "denial" : signal_kind_name((SignalKind)signal->sort),
                 signal->at);
        add_edge(graph, graph->run_node, id, "received");
        if (str_starts(run->source, STR("signal:")) && str_is(str_slice(run->source, 7, run->source.len), signal->name))
            add_edge(graph, node_id(graph, "trigger", run->source), id, "fired-by");
    }
    for (uint32_t i = 0; i < run->use_count; i++)
        add_edge(graph, node_id(graph, "task", graph->plan->steps[run->uses[i].step].id), signal_id(graph, run->uses[i].number),
                 "released-by");
}

static void add_jobs(Graph *graph)
{
    for (uint32_t i = 0; i < graph->plan->job_count; i++) {
        Str id = node_id(graph, "job", graph->plan->jobs[i].id);
        add_node(graph, id, "job", graph->plan->jobs[i].id, run_state_name((RunState)graph->run->jobs[i].state), 0);
        add_edge(graph, id, graph->run_node, "part-of");
    }
}

static void add_tasks(Graph *graph)
{
    const Plan *plan = graph->plan;
    const Run *run = graph->run;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const PlanStep *step = &plan->steps[i];
        if (!step_happened(&run->steps[i])) continue;
        Str id = node_id(graph, "task", step->id);
        add_node(graph, id, "task", step->name.len ? step->name : step->id, step_state_name((StepState)run->steps[i].state),
                 run->steps[i].output_at);
        add_edge(graph, id, step->job != PLAN_NONE ? node_id(graph, "job", plan->jobs[step->job].id) : graph->run_node,
                 "part-of");
        for (uint32_t e = step->edge_first; e < step->edge_first + step->edge_count; e++) {
            const PlanEdge *edge = &plan->edges[e];
            if (step_happened(&run->steps[edge->to]))
                add_edge(graph, node_id(graph, "task", plan->steps[edge->to].id), id,
                         edge->kind == EDGE_DATA ? "reads" : edge->kind == EDGE_BRANCH ? "chosen-by" : "after");
        }
    }
}

Value provenance_graph(Arena *arena, const Plan *plan, const Run *run)
{
    Graph graph = { .arena = arena, .nodes = { .arena = arena }, .edges = { .arena = arena }, .plan = plan, .run = run };
    MemberList list = { .arena = arena };
    add_run(&graph);
    add_jobs(&graph);
    add_tasks(&graph);
    add_signals(&graph);
    member_list_add(&list, STR("nodes"), value_list_array(&graph.nodes));
    member_list_add(&list, STR("edges"), value_list_array(&graph.edges));
    return member_list_object(&list);
}

/* --- asking it --------------------------------------------------------------------------------------------------------- */

/* Edges by the node where they begin: `first` of a node, then `next` of the edge, PLAN_NONE behind the last one. */
typedef struct Index {
    Map nodes;
    uint32_t *first, *next, *ends;
} Index;

static void index_make(Arena *arena, Value nodes, Value edges, ProvenanceWay way, Index *out)
{
    static const char *const names[] = { "from", "to" };
    map_init(&out->nodes, arena, nodes.count);
    out->first = ARENA_ARRAY(arena, uint32_t, nodes.count + 1);
    out->next = ARENA_ARRAY(arena, uint32_t, edges.count + 1);
    out->ends = ARENA_ARRAY(arena, uint32_t, edges.count + 1);
    for (uint32_t i = 0; i < nodes.count; i++) {
        map_add(&out->nodes, value_get_string(nodes.items[i], "id", STR("")), i, NULL);
        out->first[i] = PLAN_NONE;
    }
    for (uint32_t i = edges.count; i-- > 0;) {
        uint32_t begin = PLAN_NONE, end = PLAN_NONE;
        map_find(&out->nodes, value_get_string(edges.items[i], names[way == PROVENANCE_EFFECTS], STR("")), &begin);
        map_find(&out->nodes, value_get_string(edges.items[i], names[way == PROVENANCE_CAUSES], STR("")), &end);
        out->ends[i] = end;
        if (begin == PLAN_NONE || end == PLAN_NONE) continue;
        out->next[i] = out->first[begin];
        out->first[begin] = i;
    }
}

Status provenance_trace(Arena *arena, Value graph, Str node, ProvenanceWay way, Value *out_graph, Error *err)
{
    const Value *nodes = value_get_text(graph, "nodes"), *edges = value_get_text(graph, "edges");
    Index index;
    uint32_t start;
    if (!nodes || !edges) return error_set(err, ERR_INVALID, "this is no graph of provenance");
    index_make(arena, *nodes, *edges, way, &index);
    if (!map_find(&index.nodes, node, &start))
        return error_set(err, ERR_NOT_FOUND, "there is no %.*s in the provenance of this run", STR_ARG(node));
    ValueList found = { .arena = arena }, used = { .arena = arena };
    MemberList list = { .arena = arena };
    uint32_t *queue = ARENA_ARRAY(arena, uint32_t, nodes->count), count = 1;
    bool *is_seen = ARENA_ARRAY(arena, bool, nodes->count);
    queue[0] = start;
    is_seen[start] = true;
    for (uint32_t at = 0; at < count; at++) {
        value_list_add(&found, nodes->items[queue[at]]);
        for (uint32_t e = index.first[queue[at]]; e != PLAN_NONE; e = index.next[e]) {
            value_list_add(&used, edges->items[e]);
            if (is_seen[index.ends[e]]) continue;
            is_seen[index.ends[e]] = true;
            queue[count++] = index.ends[e];
        }
    }
    member_list_add(&list, STR("nodes"), value_list_array(&found));
    member_list_add(&list, STR("edges"), value_list_array(&used));
    *out_graph = member_list_object(&list);
    return OK;
}
