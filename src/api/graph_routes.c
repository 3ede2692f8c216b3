/* graph_routes.c - the steps of an execution and what each depends on, with how far they are: what is drawn of it. */
#include <string.h>

#include "api/aside.h"
#include "api/graph.h"
#include "api/routes.h"
#include "base/limits.h"
#include "core/decide.h"
#include "view/run_now.h"

/* What the step says of it, else its job, else the definition. */
static Value nearest(const Plan *plan, const PlanStep *step, const char *name)
{
    const Value *said = value_get_text(step->settings, name);
    if (!said && step->job != PLAN_NONE) said = value_get_text(plan->jobs[step->job].settings, name);
    if (!said) said = value_get_text(plan->document, name);
    return said ? *said : value_null();
}

static Value step_value(Call *call, const Plan *plan, uint32_t index, const Cell *row)
{
    MemberList members = { .arena = &call->arena };
    const PlanStep *step = &plan->steps[index];
    const Value *pause = value_get_text(step->settings, "pause_after"), *policies = value_get_text(step->settings, "policies");
    add_member(&members, "index", value_int(index));
    add_member(&members, "stepId", value_string(step->id));
    add_member(&members, "name", value_string(step->name.len ? step->name : step->id));
    add_member(&members, "stepType", value_string(str_of(step_kind_name(step->kind))));
    add_member(&members, "job", step->job == PLAN_NONE ? value_null() : value_string(plan->jobs[step->job].id));
    add_member(&members, "run", step->runner.len ? value_string(step->runner) : value_null());
    add_member(&members, "state", row ? value_string(str_of(step_state_name(step_row_state(row)))) : value_null());
    add_member(&members, "stepIndex", row ? cell_value(&row[STEP_RUNS_step_index]) : value_null());
    add_member(&members, "pausesFor", pause ? value_string(value_get_string(*pause, "trigger", STR(""))) : value_null());
    add_member(&members, "policies", policies ? *policies : (Value){ .kind = VALUE_ARRAY });
    add_member(&members, "compensable", value_bool(value_get_text(step->settings, "compensation") != NULL));
    add_member(&members, "owner", nearest(plan, step, "owner"));
    add_member(&members, "contact", nearest(plan, step, "contact"));
    return member_list_object(&members);
}

static Value edge_value(Call *call, const PlanEdge *edge)
{
    MemberList members = { .arena = &call->arena };
    add_member(&members, "from", value_int(edge->from));
    add_member(&members, "to", value_int(edge->to));
    add_member(&members, "kind", value_string(str_of(edge_kind_name(edge->kind))));
    add_member(&members, "key", edge->key.len ? value_string(edge->key) : value_null());
    return member_list_object(&members);
}

static const struct { const char *name, *verb; CommandKind kind; } job_actions[] = {
    { "pause", "execution.pause", COMMAND_PAUSE }, { "resume", "execution.resume", COMMAND_RESUME }, { "cancel", "execution.cancel", COMMAND_CANCEL },
};
#define JOB_ACTION_COUNT (sizeof job_actions / sizeof *job_actions)

/* The access policy is asked before, in the server's thread. */
typedef struct Drawing { const Cell *row; bool is_shown[JOB_ACTION_COUNT]; } Drawing;

/* With what can be done about it alone: as the links of its execution, and the body names the job. */
static Value job_value(Call *call, const Plan *plan, const Run *run, uint32_t index)
{
    const Drawing *drawing = call->state;
    MemberList members = { .arena = &call->arena }, links = { .arena = &call->arena };
    run_job_members(plan, run, index, &members);
    for (size_t i = 0; i < JOB_ACTION_COUNT; i++)
        if (drawing->is_shown[i] && job_may(run, index, job_actions[i].kind))
            add_member(&links, job_actions[i].name, api_link(call, "/api/executions/%s/%s", run->id.text, job_actions[i].name));
    add_member(&members, "_links", member_list_object(&links));
    return member_list_object(&members);
}

/* What has no row is made of the run itself. False after answering. */
static bool add_jobs(Call *call, const Cell *row, const Plan *plan, MemberList *members)
{
    ValueList jobs = { .arena = &call->arena };
    Replay now;
    Error err;
    if (plan->job_count && run_now_open(&now, &call->arena, call->api->store, row, plan, &err)) {
        call_error(call, &err);
        return false;
    }
    for (uint32_t i = 0; i < plan->job_count; i++) value_list_add(&jobs, job_value(call, plan, &now.run, i));
    if (plan->job_count) replay_deinit(&now);
    add_member(members, "jobs", value_list_array(&jobs));
    return true;
}

bool graph_read(Call *call, const Cell *row, Graph *out_graph)
{
    Error err;
    Digest digest;
    StepRows rows;
    Graph *graph = out_graph;
    Status status = run_is_here(row, &err);
    memcpy(digest.bytes, row[RUNS_plan_digest].text.ptr, DIGEST_SIZE);
    if (!status) status = api_plan(call->api, &digest, &graph->plan, &err);
    if (!status && graph->plan->step_count > API_GRAPH_STEP_COUNT_MAX)
        status = error_set(&err, ERR_LIMIT, "it has %u steps, and more than API_GRAPH_STEP_COUNT_MAX (%u) are only listed: see 'steps' of its links",
                           graph->plan->step_count, API_GRAPH_STEP_COUNT_MAX);
    if (!status) status = run_steps(&call->arena, call->api->store, row, &rows, &err);
    if (status) {
        call_error(call, &err);
        return false;
    }
    const Plan *plan = graph->plan;
    graph->rows = ARENA_ARRAY(&call->arena, const Cell *, plan->step_count + 1u);
    map_init(&graph->ids, &call->arena, plan->step_count);
    for (uint32_t i = 0; i < plan->step_count; i++) (void)map_add(&graph->ids, plan->steps[i].id, i, NULL);
    for (size_t i = 0; i < rows.count; i++) {
        uint32_t index;
        if (map_find(&graph->ids, rows.rows[i][STEP_RUNS_step_key].text, &index)) graph->rows[index] = rows.rows[i];   /* the last one stands */
    }
    return true;
}

static void draw(Call *call)
{
    const Cell *row = ((const Drawing *)call->state)->row;
    Graph graph;
    MemberList members = { .arena = &call->arena }, links = { .arena = &call->arena };
    ValueList nodes = { .arena = &call->arena }, edges = { .arena = &call->arena };
    if (!graph_read(call, row, &graph)) return;
    const Plan *plan = graph.plan;
    for (uint32_t i = 0; i < plan->step_count; i++) value_list_add(&nodes, step_value(call, plan, i, graph.rows[i]));
    for (uint32_t i = 0; i < plan->edge_count; i++) value_list_add(&edges, edge_value(call, &plan->edges[i]));
    add_member(&members, "executionId", cell_value(&row[RUNS_id]));
    if (!add_jobs(call, row, plan, &members)) return;
    add_member(&members, "steps", value_list_array(&nodes));
    add_member(&members, "edges", value_list_array(&edges));
    add_member(&links, "self", api_link(call, "%.*s", STR_ARG(call->path)));
    add_member(&links, "execution", api_link(call, "/api/executions/%.*s", STR_ARG(row[RUNS_id].text)));
    add_member(&members, "_links", member_list_object(&links));
    call_value(call, 200, member_list_object(&members));
}

/* It may have thousands of steps: it is drawn beside the server's thread. */
void route_execution_graph(Call *call)
{
    const Cell *row;
    if (!api_execution(call, &row)) return;
    Drawing *drawing = ARENA_NEW(&call->arena, Drawing);
    drawing->row = row;
    for (size_t i = 0; i < JOB_ACTION_COUNT; i++) drawing->is_shown[i] = api_shows(call, job_actions[i].verb, row[RUNS_tenant].text);
    call->state = drawing;
    aside_begin(call, draw, /* done= */ NULL);
}
