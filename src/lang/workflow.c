#include "lang/workflow.h"

#include "base/limits.h"
#include "lang/shapes.h"
#include "lang/suggest.h"
#include "lang/task.h"

/* --- names ------------------------------------------------------------------------------------------------------ */

bool workflow_find(const Workflow *workflow, Str id, uint32_t *out_job)
{
    return map_find(&workflow->references.jobs, id, out_job);
}

void workflow_edge(Workflow *workflow, uint32_t from, uint32_t to)
{
    workflow->edges = arena_grow(workflow->compiler->scratch, workflow->edges, sizeof *workflow->edges,
                                 workflow->edge_count, &workflow->edge_capacity);
    workflow->edges[workflow->edge_count++] = (GraphEdge){ from, to };
}

Diagnostic *refuse_job(Workflow *workflow, const Node *name, const char *what)
{
    Diagnostics *diagnostics = workflow->compiler->diagnostics;
    Diagnostic *diagnostic = diagnose(diagnostics, SEVERITY_ERROR, name,
                                      "%s names the job '%.*s', which does not exist", what, STR_ARG(node_text(name)));
    if (!may_suggest(workflow->compiler)) return diagnostic;
    Suggestion suggestion = suggest_begin(node_text(name));
    for (uint32_t i = 0; i < workflow->job_count; i++) suggest_offer(&suggestion, workflow->jobs[i].id);
    if (suggestion.best.len) diagnostic_help(diagnostics, diagnostic, "did you mean '%.*s'?", STR_ARG(suggestion.best));
    return diagnostic;
}

static const Node *written_name(const Node *task)
{
    const Node *name = get_text(task, "name");
    return name ? name : get_text(task, "id");
}

/* An unnamed task is named after its job; where there are several, with its number. What is taken already gets another
 * number behind it. */
static Str task_name(Workflow *workflow, const Job *job, uint32_t index, Map *taken)
{
    const Node *name = written_name(&job->tasks->items[index]);
    if (name) return node_text(name);
    Arena *arena = workflow->compiler->arena;
    Str made = job->tasks->count == 1 ? job->id : arena_format(arena, "%.*s-%u", STR_ARG(job->id), index + 1);
    Str base = made;
    for (unsigned number = 2; !map_add(taken, made, 0, NULL); number++)
        made = arena_format(arena, "%.*s-%u", STR_ARG(base), number);
    return made;
}

static void collect_tasks(Workflow *workflow, uint32_t index)
{
    Job *job = &workflow->jobs[index];
    References *references = &workflow->references;
    job->task_first = (uint32_t)references->task_count;
    job->task_count = job->tasks ? job->tasks->count : 0;
    bool job_may_skip = may_be_skipped(job->node);
    Map taken;
    map_init(&taken, workflow->compiler->scratch, job->task_count);
    for (uint32_t i = 0; i < job->task_count; i++)
        if (written_name(&job->tasks->items[i]))
            map_add(&taken, node_text(written_name(&job->tasks->items[i])), 0, NULL);
    for (uint32_t i = 0; i < job->task_count; i++) {
        const Node *task = &job->tasks->items[i];
        Str name = task_name(workflow, job, i, &taken);
        bool may_skip = may_be_skipped(task);
        uint32_t task_index = (uint32_t)references->task_count, twin;
        twin = references_task(references, (RefTask){ job->id, name, index, SCOPE_TOP, may_skip, job_may_skip });
        references_pause(references, task, task_index);
        if (twin != task_index && references->tasks[twin].job_index == index)
            diagnose(workflow->compiler->diagnostics, SEVERITY_ERROR,
                     get_text(task, "name") ? get_text(task, "name") : task, "the job '%.*s' has two tasks '%.*s'",
                     STR_ARG(job->id), STR_ARG(name));
    }
}

static void collect_jobs(Workflow *workflow, const Node *jobs)
{
    workflow->job_count = jobs->count;
    workflow->jobs = ARENA_ARRAY(workflow->compiler->scratch, Job, jobs->count);
    static const Node nothing = { .kind = NODE_MAP };
    for (uint32_t i = 0; i < jobs->count; i++) {
        const Node *node = node_value(jobs, i);
        Job *job = &workflow->jobs[i];
        *job = (Job){ .id = node_text(node_key(jobs, i)),
                      .key = node_key(jobs, i),
                      .node = node->kind == NODE_MAP ? node : &nothing,
                      .branch_of = JOB_NONE,
                      .converge = JOB_NONE };
        job->tasks = get_list(job->node, "tasks");
        job->branch = get_map(job->node, "branch");
        map_add(&workflow->references.jobs, job->id, i, NULL);
        if (node->kind == NODE_MAP && !node_get(node, "tasks") && !node_get(node, "branch")) {
            Diagnostic *diagnostic = diagnose(workflow->compiler->diagnostics, SEVERITY_ERROR, job->key,
                                              "the job '%.*s' has nothing to do", STR_ARG(job->id));
            diagnostic_help(
                workflow->compiler->diagnostics, diagnostic,
                "a job has 'tasks', or a 'branch', or both; one that only waits has tasks: [{ run: noop }]");
        }
        collect_tasks(workflow, i);
    }
}

static void collect_need(Workflow *workflow, uint32_t index, const Node *need)
{
    const Node *name = need->kind == NODE_MAP ? get_text(need, "job") : need;
    const Node *guard = need->kind == NODE_MAP ? get_map(need, "guard") : NULL;
    uint32_t from;
    if (!name || name->kind != NODE_TEXT) return;
    if (!workflow_find(workflow, node_text(name), &from)) {
        refuse_job(workflow, name, "'needs'");
    } else if (guard) {
        workflow->guards = arena_grow(workflow->compiler->scratch, workflow->guards, sizeof *workflow->guards,
                                      workflow->guard_count, &workflow->guard_capacity);
        workflow->guards[workflow->guard_count++] = (Guard){ from, index, guard, name };
    } else if (from == index) {
        diagnose(workflow->compiler->diagnostics, SEVERITY_ERROR, name, "the job '%.*s' needs itself",
                 STR_ARG(node_text(name)));
    } else {
        workflow_edge(workflow, from, index);
    }
}

static void collect_needs(Workflow *workflow)
{
    for (uint32_t i = 0; i < workflow->job_count; i++) {
        const Node *needs = node_get(workflow->jobs[i].node, "needs");
        for (uint32_t j = 0; j < many_count(needs); j++) collect_need(workflow, i, many_at(needs, j));
    }
}

/* --- the graph -------------------------------------------------------------------------------------------------- */

static void refuse_cycle(void *context, const uint32_t *nodes, uint32_t count)
{
    Workflow *workflow = context;
    Diagnostics *diagnostics = workflow->compiler->diagnostics;
    Buf path;
    buf_init(&path, 4096);
    for (uint32_t i = 0; i < count; i++) {
        if (count > 24 && i == 12) {
            buf_format(&path, "... %u more ... -> ", count - 24);
            i = count - 12;
        }
        buf_format(&path, "%.*s -> ", STR_ARG(workflow->jobs[nodes[i]].id));
    }
    buf_str(&path, workflow->jobs[nodes[0]].id);
    Diagnostic *diagnostic = diagnose(diagnostics, SEVERITY_ERROR, workflow->jobs[nodes[0]].key,
                                      "the jobs form a cycle: %.*s", STR_ARG(buf_peek(&path)));
    diagnostic_help(
        diagnostics, diagnostic,
        "a cycle needs a guard on the edge that closes it: needs: [{ job: %.*s, guard: { when: ..., max_iterations: 3 } }]",
        STR_ARG(workflow->jobs[nodes[count - 1]].id));
    buf_deinit(&path);
}

static Diagnostic *refuse_guard(Workflow *workflow, const Guard *guard, const char *what)
{
    return diagnose(workflow->compiler->diagnostics, SEVERITY_ERROR, guard->at, "%s: '%.*s' and '%.*s'", what,
                    STR_ARG(workflow->jobs[guard->to].id), STR_ARG(workflow->jobs[guard->from].id));
}

/* Marks the jobs that a cycle goes through: after its head and before its tail, both included. Returns how many. */
static uint32_t mark_body(Workflow *workflow, const Guard *guard, uint64_t bit, uint64_t *masks)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < workflow->job_count; i++) {
        bool after = i == guard->to || graph_reaches(&workflow->graph, guard->to, i);
        bool before = i == guard->from || graph_reaches(&workflow->graph, i, guard->from);
        if (!after || !before) continue;
        masks[i] |= bit;
        count++;
    }
    return count;
}

/* Cycles lie apart or inside one another: of two that cross, neither could be counted. */
static void check_crossing(Workflow *workflow)
{
    uint64_t *masks = ARENA_ARRAY(workflow->compiler->scratch, uint64_t, workflow->job_count);
    uint32_t sizes[GUARD_COUNT_MAX];
    for (size_t i = 0; i < workflow->guard_count; i++)
        sizes[i] = mark_body(workflow, &workflow->guards[i], UINT64_C(1) << i, masks);
    for (size_t a = 0; a < workflow->guard_count; a++)
        for (size_t b = 0; b < a; b++) {
            uint64_t both = UINT64_C(1) << a | UINT64_C(1) << b;
            uint32_t shared = 0;
            for (uint32_t i = 0; i < workflow->job_count; i++) shared += (masks[i] & both) == both;
            if (shared == 0 || shared == sizes[a] || shared == sizes[b]) continue;
            Diagnostic *diagnostic = refuse_guard(workflow, &workflow->guards[a], "this cycle crosses another");
            diagnostic_help(workflow->compiler->diagnostics, diagnostic,
                            "the other one closes in line %u; one must lie inside the other, or apart",
                            workflow->guards[b].at->line);
        }
}

static void check_guards(Workflow *workflow)
{
    Compiler *compiler = workflow->compiler;
    if (workflow->guard_count > GUARD_COUNT_MAX) {
        diagnose(compiler->diagnostics, SEVERITY_ERROR, workflow->guards[GUARD_COUNT_MAX].at,
                 "a workflow has at most GUARD_COUNT_MAX (%u) guarded cycles, here are %zu", GUARD_COUNT_MAX,
                 workflow->guard_count);
        workflow->guard_count = 0;
    }
    GraphEdge *guards = ARENA_ARRAY(compiler->scratch, GraphEdge, workflow->guard_count);
    Map seen;
    map_init(&seen, compiler->scratch, (uint32_t)workflow->guard_count);
    for (size_t i = 0; i < workflow->guard_count; i++) {
        const Guard *guard = &workflow->guards[i];
        guards[i] = (GraphEdge){ guard->from, guard->to };
        if (guard->from != guard->to && !graph_reaches(&workflow->graph, guard->to, guard->from)) {
            Diagnostic *diagnostic = refuse_guard(workflow, guard, "this guard closes no cycle between");
            diagnostic_help(compiler->diagnostics, diagnostic, "without a guard it is a plain need");
        } else if (workflow->jobs[guard->from].scope != workflow->jobs[guard->to].scope) {
            refuse_guard(workflow, guard, "this cycle leads into or out of a branch, between");
        } else if (!map_add(&seen, arena_format(compiler->scratch, "%u %u", guard->from, guard->to), 0, NULL)) {
            refuse_guard(workflow, guard, "there is a guard already between");
        }
    }
    workflow->references.guards = guards;
    workflow->references.guard_count = (uint32_t)workflow->guard_count;
    if (compiler->diagnostics->error_count == 0) check_crossing(workflow);
}

bool job_always_terminates(Workflow *workflow, const Job *job, bool tell)
{
    bool ends = false;
    for (uint32_t i = 0; job->tasks && i < job->tasks->count; i++) {
        const Node *task = &job->tasks->items[i];
        if (ends && tell)
            diagnose(workflow->compiler->diagnostics, SEVERITY_ERROR, task,
                     "this task is never reached: one before it always ends the run");
        ends = ends || task_always_terminates(task);
    }
    return ends || task_always_terminates(job->node);
}

/* What follows a job that always ends the run is never reached. In topological order the word spreads along the edges. */
static void check_reachable(Workflow *workflow)
{
    uint32_t *ended_by = ARENA_ARRAY(workflow->compiler->scratch, uint32_t, workflow->job_count);       /* plus one */
    const Graph *graph = &workflow->graph;
    for (uint32_t i = 0; i < workflow->job_count; i++) {
        uint32_t index = graph->order[i];
        const Job *job = &workflow->jobs[index];
        if (ended_by[index])
            diagnose(workflow->compiler->diagnostics, SEVERITY_ERROR, job->key,
                     "the job '%.*s' is never reached: '%.*s' always ends the run", STR_ARG(job->id),
                     STR_ARG(workflow->jobs[ended_by[index] - 1].id));
        else if (!job_always_terminates(workflow, job, true))
            continue;
        uint32_t by = ended_by[index] ? ended_by[index] : index + 1;
        for (uint32_t e = graph->first[index]; e < graph->first[index + 1]; e++) ended_by[graph->next[e]] = by;
    }
}

/* --- checks of jobs --------------------------------------------------------------------------------------------- */

static void check_job(Workflow *workflow, uint32_t index)
{
    Job *job = &workflow->jobs[index];
    References *references = &workflow->references;
    const Node *optional = node_get(job->node, "optional_outputs");
    Place place = { .job = index,
                    .task_limit = job->task_first,
                    .scope = job->scope,
                    .optional = { NULL, optional },
                    .roots = ROOTS_BEFORE };
    check_policies(workflow->compiler, job->node);
    check_slo(workflow->compiler, get_map(job->node, "slo"));
    reference_condition(references, &place, node_get(job->node, "when"));
    for (uint32_t i = 0; i < job->task_count; i++) {
        const Node *task = &job->tasks->items[i];
        task_check(workflow->compiler, task);
        place.task_limit = job->task_first + i;
        place.optional[0] = task->kind == NODE_MAP ? node_get(task, "optional_outputs") : NULL;
        task_references(references, &place, task);
    }
    place.optional[0] = NULL;
    place.task_limit = job->task_first + job->task_count;
    if (job->branch) reference_condition(references, &place, node_get(job->branch, "select"));
    const Node *terminate = get_map(job->node, "terminate_when");
    if (terminate) reference_condition(references, &place, node_get(terminate, "condition"));
}

static void check_guard_conditions(Workflow *workflow)
{
    for (size_t i = 0; i < workflow->guard_count; i++) {
        const Guard *guard = &workflow->guards[i];
        const Job *tail = &workflow->jobs[guard->from];
        Place place = { .job = guard->from,
                        .task_limit = tail->task_first + tail->task_count,
                        .scope = tail->scope,
                        .after_guard = true,
                        .roots = ROOTS_BEFORE,
                        .optional = { NULL, node_get(workflow->jobs[guard->to].node, "optional_outputs") } };
        reference_condition(&workflow->references, &place, node_get(guard->node, "when"));
    }
}

/* --- lowering --------------------------------------------------------------------------------------------------- */

typedef struct DataEdges {
    Workflow *workflow;
    uint32_t job, step;             /* of the consumer */
} DataEdges;

static uint32_t task_step(const Workflow *workflow, uint32_t task)
{
    const Job *job = &workflow->jobs[workflow->references.tasks[task].job_index];
    return job->step_first + (task - job->task_first);
}

/* Only where the producer comes before: within a guarded cycle the last round's output is read without waiting for it. */
static void data_edge(void *context, uint32_t task)
{
    DataEdges *to = context;
    Workflow *workflow = to->workflow;
    uint32_t from = task_step(workflow, task), job = workflow->references.tasks[task].job_index;
    bool before = job == to->job ? from < to->step : graph_reaches(&workflow->graph, job, to->job);
    if (before) draft_edge(&workflow->compiler->draft, from, to->step, EDGE_DATA, STR(""));
}

static void lower_task(Workflow *workflow, uint32_t job_index, uint32_t task_index, const ValueList *policies)
{
    const Job *job = &workflow->jobs[job_index];
    const Node *task = &job->tasks->items[task_index];
    Compiler *compiler = workflow->compiler;
    Str name = workflow->references.tasks[job->task_first + task_index].task;
    MemberList members = { .arena = compiler->arena };
    member_list_add(&members, STR("id"),
                    value_string(arena_format(compiler->arena, "%.*s.%.*s", STR_ARG(job->id), STR_ARG(name))));
    member_list_add(&members, STR("name"), value_string(name));
    member_list_add(&members, STR("kind"), value_string(STR("task")));
    member_list_add(&members, STR("job"), value_int(job_index));
    task_lower(compiler, &shape_task, task, policies, &members);
    uint32_t step = draft_step(&compiler->draft, &members);
    if (task_index) draft_edge(&compiler->draft, step - 1, step, EDGE_ORDER, STR(""));
    DataEdges edges = { workflow, job_index, step };
    task_producers(&workflow->references, task, data_edge, &edges);
}

static void lower_branch(Workflow *workflow, uint32_t job_index)
{
    const Job *job = &workflow->jobs[job_index];
    Compiler *compiler = workflow->compiler;
    static const char *const without[] = { "cases", "converge", NULL };
    MemberList members = { .arena = compiler->arena };
    ValueList keys = { .arena = compiler->arena };
    const Node *cases = get_map(job->branch, "cases");
    for (uint32_t i = 0; i < cases->count; i++) value_list_add(&keys, value_string(node_text(node_key(cases, i))));
    member_list_add(&members, STR("id"), value_string(job->id));
    member_list_add(&members, STR("name"), value_string(job->id));
    member_list_add(&members, STR("kind"), value_string(STR("branch")));
    member_list_add(&members, STR("job"), value_int(job_index));
    shape_add_all(compiler->arena, &members, &shape_branch, job->branch, without);
    member_list_add(&members, STR("cases"), value_list_array(&keys));
    if (job->converge != JOB_NONE)
        member_list_add(&members, STR("converge"), value_int(workflow->jobs[job->converge].step_first));
    uint32_t step = draft_step(&compiler->draft, &members);
    if (job->task_count) draft_edge(&compiler->draft, step - 1, step, EDGE_ORDER, STR(""));
    DataEdges edges = { workflow, job_index, step };
    producers_of_condition(&workflow->references, node_get(job->branch, "select"), data_edge, &edges);
    branch_lower(workflow, job_index, step);
}

static void lower_job(Workflow *workflow, uint32_t index, const ValueList *global)
{
    static const char *const without[] = { "needs", "tasks", "branch", "priority", "policies", NULL };
    const Job *job = &workflow->jobs[index];
    Compiler *compiler = workflow->compiler;
    MemberList members = { .arena = compiler->arena };
    member_list_add(&members, STR("id"), value_string(job->id));
    shape_add_all(compiler->arena, &members, &shape_job, job->node, without);
    const Node *priority = node_get(job->node, "priority");
    if (!priority) priority = node_get(compiler->root, "priority");
    member_list_add(&members, STR("priority"), value_string(priority ? node_text(priority) : STR("normal")));
    ValueList policies = { .arena = compiler->arena };
    for (size_t i = 0; i < global->count; i++) value_list_add(&policies, global->items[i]);
    add_policies(&policies, job->node);
    if (policies.count) member_list_add(&members, STR("policies"), value_list_array(&policies));
    draft_job(&compiler->draft, &members);

    for (uint32_t i = 0; i < job->task_count && compiler_fits(compiler); i++) lower_task(workflow, index, i, &policies);
    if (job->branch) lower_branch(workflow, index);
    DataEdges edges = { workflow, index, job->step_first };
    producers_of_condition(&workflow->references, node_get(job->node, "when"), data_edge, &edges);
}

static void lower_needs(Workflow *workflow)
{
    for (size_t i = 0; i < workflow->edge_count; i++) {
        const Job *from = &workflow->jobs[workflow->edges[i].from], *to = &workflow->jobs[workflow->edges[i].to];
        bool is_case = to->branch_of == workflow->edges[i].from || from->converge == workflow->edges[i].to;
        if (is_case && from->branch) continue;          /* branch_lower() has written it */
        draft_edge(&workflow->compiler->draft, from->step_first + from->step_count - 1, to->step_first, EDGE_ORDER,
                   STR(""));
    }
}

static void lower_loops(Workflow *workflow)
{
    Compiler *compiler = workflow->compiler;
    for (size_t i = 0; i < workflow->guard_count; i++) {
        const Guard *guard = &workflow->guards[i];
        const Job *tail = &workflow->jobs[guard->from];
        MemberList members = { .arena = compiler->arena };
        shape_add_all(compiler->arena, &members, &shape_guard, guard->node, NULL);
        member_list_add(&members, STR("head"), value_int(workflow->jobs[guard->to].step_first));
        member_list_add(&members, STR("tail"), value_int(tail->step_first + tail->step_count - 1));
        value_list_add(&compiler->draft.loops, member_list_object(&members));
    }
}

static void lower(Workflow *workflow)
{
    uint32_t step = 0;
    for (uint32_t i = 0; i < workflow->job_count; i++) {
        Job *job = &workflow->jobs[i];
        job->step_first = step;
        job->step_count = job->task_count + (job->branch != NULL);
        step += job->step_count;
    }
    ValueList global = { .arena = workflow->compiler->arena };
    add_policies(&global, workflow->compiler->root);
    for (uint32_t i = 0; i < workflow->job_count && compiler_fits(workflow->compiler); i++) lower_job(workflow, i, &global);
    lower_needs(workflow);
    lower_loops(workflow);
}

/* --- the story -------------------------------------------------------------------------------------------------- */

static void offer_names(void *context, Suggestion *suggestion)
{
    const Workflow *workflow = context;
    for (size_t i = 0; i < workflow->references.task_count; i++)
        suggest_offer(suggestion, workflow->references.tasks[i].task);
    for (uint32_t i = 0; i < workflow->job_count; i++) suggest_offer(suggestion, workflow->jobs[i].id);
}

static bool has_job(void *context, Str name)
{
    uint32_t job;
    return workflow_find(context, name, &job);
}

static bool find_task(void *context, Str name, const Node **out_task)
{
    Workflow *workflow = context;
    uint32_t task;
    if (!references_find(&workflow->references, name, &task)) return false;
    const Job *job = &workflow->jobs[workflow->references.tasks[task].job_index];
    *out_task = &job->tasks->items[task - job->task_first];
    return true;
}

static uint32_t count_compensations(const Workflow *workflow)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < workflow->job_count; i++) {
        const Node *tasks = workflow->jobs[i].tasks;
        for (uint32_t j = 0; tasks && j < tasks->count; j++)
            count += tasks->items[j].kind == NODE_MAP && node_get(&tasks->items[j], "compensation");
    }
    return count;
}

void workflow_compile(Compiler *compiler)
{
    const Node *jobs = get_map(compiler->root, "jobs");
    if (!jobs) return;
    Workflow workflow = { .compiler = compiler };
    references_init(&workflow.references, compiler);
    references_params(&workflow.references);
    header_check(compiler, &workflow.references);
    collect_jobs(&workflow, jobs);
    collect_needs(&workflow);
    branch_collect(&workflow);
    graph_build(&workflow.graph, compiler->scratch, workflow.job_count, workflow.edges, (uint32_t)workflow.edge_count);
    resolution_check(compiler, &(TaskNames){ find_task, has_job, offer_names, &workflow },
                     count_compensations(&workflow));
    workflow.references.is_cyclic = graph_cycles(&workflow.graph, refuse_cycle, &workflow) > 0;
    if (!workflow.references.is_cyclic) {
        graph_sort(&workflow.graph);
        workflow.references.graph = &workflow.graph;
        branch_scopes(&workflow);
        check_guards(&workflow);
        check_reachable(&workflow);
    }
    for (uint32_t i = 0; i < workflow.job_count; i++) check_job(&workflow, i);
    check_guard_conditions(&workflow);
    if (compiler->diagnostics->error_count) return;
    header_lower(compiler);
    resolution_lower(compiler);
    lower(&workflow);
}
