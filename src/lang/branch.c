#include "lang/shapes.h"
#include "lang/task.h"
#include "lang/workflow.h"

/* --- names and edges -------------------------------------------------------------------------------------------- */

static void case_job(Workflow *workflow, uint32_t branch, Str key, const Node *name)
{
    Diagnostics *diagnostics = workflow->compiler->diagnostics;
    uint32_t index;
    if (name->kind != NODE_TEXT) return;
    if (!workflow_find(workflow, node_text(name), &index)) {
        refuse_job(workflow, name, "a case");
        return;
    }
    Job *job = &workflow->jobs[index];
    if (job->branch_of != JOB_NONE) {
        diagnose(diagnostics, SEVERITY_ERROR, name, "'%.*s' is started already by the case '%.*s' of '%.*s'",
                 STR_ARG(job->id), STR_ARG(job->case_key), STR_ARG(workflow->jobs[job->branch_of].id));
        return;
    }
    job->branch_of = branch;
    job->case_key = key;
    workflow_edge(workflow, branch, index);
}

/* A select that is one text in quotes says now already which case it takes. */
static void check_literal(Workflow *workflow, const Job *job, const Node *cases)
{
    const Node *select = get_text(job->branch, "select");
    Str text = select ? str_trim(node_text(select)) : STR("");
    if (!cases || text.len < 2 || text.ptr[0] != '"' || str_find(text, '"', 1) != text.len - 1) return;
    Str key = str_slice(text, 1, text.len - 1);
    for (uint32_t i = 0; i < cases->count; i++)
        if (str_is(node_text(node_key(cases, i)), key)) return;
    diagnose(workflow->compiler->diagnostics, SEVERITY_ERROR, select, "there is no case '%.*s'", STR_ARG(key));
}

static void collect_cases(Workflow *workflow, uint32_t branch)
{
    Job *job = &workflow->jobs[branch];
    Diagnostics *diagnostics = workflow->compiler->diagnostics;
    const Node *cases = get_map(job->branch, "cases");
    for (uint32_t i = 0; cases && i < cases->count; i++) {
        const Node *jobs = node_value(cases, i);
        for (uint32_t j = 0; j < many_count(jobs); j++)
            case_job(workflow, branch, node_text(node_key(cases, i)), many_at(jobs, j));
    }
    const Node *otherwise = get_text(job->branch, "default");
    if (cases && otherwise && !node_get(cases, otherwise->text)) {
        Diagnostic *diagnostic = diagnose(diagnostics, SEVERITY_ERROR, otherwise,
                                          "the default '%.*s' is none of the cases", STR_ARG(node_text(otherwise)));
        Suggestion suggestion = suggest_begin(node_text(otherwise));
        for (uint32_t i = 0; i < cases->count; i++) suggest_offer(&suggestion, node_text(node_key(cases, i)));
        if (suggestion.best.len)
            diagnostic_help(diagnostics, diagnostic, "did you mean '%.*s'?", STR_ARG(suggestion.best));
    }
    const Node *converge = get_text(job->branch, "converge");
    if (converge && !workflow_find(workflow, node_text(converge), &job->converge))
        refuse_job(workflow, converge, "the convergence");
    check_literal(workflow, job, cases);
    /* An empty case leads straight to the convergence, or ends where there is none. */
    for (uint32_t i = 0; cases && i < cases->count; i++) {
        const Node *jobs = node_value(cases, i);
        if (jobs->kind != NODE_LIST || jobs->count) continue;
        if (job->converge != JOB_NONE) workflow_edge(workflow, branch, job->converge);
    }
}

/* The job in which cases meet cannot be one of them: it would start by its case and after the others at once. */
static void check_meeting(Workflow *workflow, uint32_t branch)
{
    const Job *job = &workflow->jobs[branch], *met = &workflow->jobs[job->converge];
    if (met->branch_of != branch) return;
    Diagnostic *diagnostic =
        diagnose(workflow->compiler->diagnostics, SEVERITY_ERROR, get_text(job->branch, "converge"),
                 "'%.*s' cannot be a case and the job in which the cases meet", STR_ARG(met->id));
    diagnostic_help(workflow->compiler->diagnostics, diagnostic, "a case that leads straight there is empty: %.*s: []",
                    STR_ARG(met->case_key));
}

void branch_collect(Workflow *workflow)
{
    for (uint32_t i = 0; i < workflow->job_count; i++)
        if (workflow->jobs[i].branch) collect_cases(workflow, i);
    for (uint32_t i = 0; i < workflow->job_count; i++)
        if (workflow->jobs[i].converge != JOB_NONE) check_meeting(workflow, i);
}

/* --- scopes ----------------------------------------------------------------------------------------------------- */

/* Which branch and case each scope is: index 0 is the top, which is none. */
typedef struct Arm {
    uint32_t branch;
    Str key;
} Arm;

typedef struct Scopes {
    Workflow *workflow;
    Map by_case;                    /* "branch:key" -> scope */
    Arm *arms;
    size_t count, capacity;
} Scopes;

static uint32_t arm_scope(Scopes *scopes, uint32_t branch, Str key)
{
    Workflow *workflow = scopes->workflow;
    uint32_t scope;
    Str name = arena_format(workflow->compiler->scratch, "%u:%.*s", branch, STR_ARG(key));
    if (map_find(&scopes->by_case, name, &scope)) return scope;
    scope = references_scope(&workflow->references, workflow->jobs[branch].scope);
    map_add(&scopes->by_case, name, scope, NULL);
    scopes->arms =
        arena_grow(workflow->compiler->scratch, scopes->arms, sizeof *scopes->arms, scopes->count, &scopes->capacity);
    scopes->arms[scopes->count++] = (Arm){ branch, key };
    return scope;
}

/* What a job's scope counts as for `job`: arms that come together there are left. */
static uint32_t scope_at(const Scopes *scopes, uint32_t scope, uint32_t job)
{
    while (scope != SCOPE_TOP && scopes->workflow->jobs[scopes->arms[scope].branch].converge == job)
        scope = scopes->workflow->references.scopes[scope].parent;
    return scope;
}

static void refuse_join(const Scopes *scopes, uint32_t job, uint32_t one, uint32_t other, const Node *at)
{
    const Workflow *workflow = scopes->workflow;
    /* The arms may stand at different depths: name the branch at which the two part. */
    uint32_t outer = one;
    while (outer != SCOPE_TOP && !scope_holds(&workflow->references, workflow->references.scopes[outer].parent, other))
        outer = workflow->references.scopes[outer].parent;
    const Job *branch = &workflow->jobs[scopes->arms[outer].branch];
    Diagnostic *diagnostic = diagnose(workflow->compiler->diagnostics, SEVERITY_ERROR, at,
                                      "'%.*s' needs jobs of different branches of '%.*s', of which not all run",
                                      STR_ARG(workflow->jobs[job].id), STR_ARG(branch->id));
    if (branch->converge == JOB_NONE)
        diagnostic_help(workflow->compiler->diagnostics, diagnostic,
                        "if the branches come together here, say so: converge: %.*s in '%.*s'",
                        STR_ARG(workflow->jobs[job].id), STR_ARG(branch->id));
    else
        diagnostic_help(workflow->compiler->diagnostics, diagnostic,
                        "they come together in '%.*s'; need that one instead",
                        STR_ARG(workflow->jobs[branch->converge].id));
}

static void find_scope(Scopes *scopes, uint32_t index)
{
    Workflow *workflow = scopes->workflow;
    Job *job = &workflow->jobs[index];
    uint32_t scope = job->branch_of != JOB_NONE ? arm_scope(scopes, job->branch_of, job->case_key) : SCOPE_TOP;
    const Node *needs = node_get(job->node, "needs");
    for (uint32_t i = 0; i < many_count(needs); i++) {
        const Node *need = many_at(needs, i);
        const Node *name = need->kind == NODE_MAP ? get_text(need, "job") : need;
        uint32_t from;
        if ((need->kind == NODE_MAP && node_get(need, "guard")) || !name
            || !workflow_find(workflow, node_text(name), &from))
            continue;
        uint32_t other = scope_at(scopes, workflow->jobs[from].scope, index);
        if (scope_holds(&workflow->references, scope, other)) scope = other;
        else if (!scope_holds(&workflow->references, other, scope)) refuse_join(scopes, index, scope, other, name);
    }
    job->scope = scope;
    for (uint32_t i = 0; i < job->task_count; i++) workflow->references.tasks[job->task_first + i].scope = scope;
}

/* --- convergence ------------------------------------------------------------------------------------------------- */

/* The job in which the ways out of a scope have to meet: that of its own branch, else of the nearest one around it that
 * declares one; JOB_NONE where a way may simply end. */
static uint32_t scope_meets_in(const Scopes *scopes, uint32_t scope)
{
    for (; scope != SCOPE_TOP; scope = scopes->workflow->references.scopes[scope].parent) {
        uint32_t converge = scopes->workflow->jobs[scopes->arms[scope].branch].converge;
        if (converge != JOB_NONE) return converge;
    }
    return JOB_NONE;
}

static void refuse_escape(const Scopes *scopes, uint32_t index)
{
    Workflow *workflow = scopes->workflow;
    const Job *job = &workflow->jobs[index];
    uint32_t met = scope_meets_in(scopes, job->scope);
    Diagnostics *diagnostics = workflow->compiler->diagnostics;
    Diagnostic *diagnostic = diagnose(diagnostics, SEVERITY_ERROR, job->key,
                                      "'%.*s' is on a branch of '%.*s', but neither reaches '%.*s' nor always ends the run",
                                      STR_ARG(job->id), STR_ARG(workflow->jobs[scopes->arms[job->scope].branch].id),
                                      STR_ARG(workflow->jobs[met].id));
    if (!graph_reaches(&workflow->graph, met, index))
        diagnostic_help(diagnostics, diagnostic, "add '%.*s' to the needs of '%.*s'", STR_ARG(job->id),
                        STR_ARG(workflow->jobs[met].id));
    else
        diagnostic_help(diagnostics, diagnostic, "it comes after '%.*s' as well: let it need that one alone",
                        STR_ARG(workflow->jobs[met].id));
}

/* Every way through an arm reaches the job in which the cases meet, or always ends the run. Judged from the end of the
 * graph to its beginning; of the jobs of a way that does not, the first is told. */
static void check_convergence(const Scopes *scopes)
{
    Workflow *workflow = scopes->workflow;
    Graph *graph = &workflow->graph;
    bool *escapes = ARENA_ARRAY(workflow->compiler->scratch, bool, workflow->job_count);
    bool *is_told = ARENA_ARRAY(workflow->compiler->scratch, bool, workflow->job_count);
    for (uint32_t i = workflow->job_count; i-- > 0;) {
        uint32_t index = graph->order[i], first = graph->first[index], last = graph->first[index + 1];
        uint32_t met = scope_meets_in(scopes, workflow->jobs[index].scope);
        if (met == JOB_NONE || met == index || graph_reaches(graph, index, met)) continue;
        if (job_always_terminates(workflow, &workflow->jobs[index], false)) continue;
        escapes[index] = first == last;
        for (uint32_t e = first; e < last; e++) escapes[index] = escapes[index] || escapes[graph->next[e]];
    }
    for (uint32_t i = 0; i < workflow->job_count; i++) {
        uint32_t index = graph->order[i];
        if (!escapes[index]) continue;
        for (uint32_t e = graph->first[index]; e < graph->first[index + 1]; e++) is_told[graph->next[e]] = true;
        if (!is_told[index]) refuse_escape(scopes, index);
    }
}

void branch_scopes(Workflow *workflow)
{
    Scopes scopes = { .workflow = workflow };
    scopes.arms = arena_grow(workflow->compiler->scratch, NULL, sizeof *scopes.arms, 0, &scopes.capacity);
    scopes.arms[scopes.count++] = (Arm){ JOB_NONE, STR("") };
    map_init(&scopes.by_case, workflow->compiler->scratch, 0);
    for (uint32_t i = 0; i < workflow->job_count; i++) find_scope(&scopes, workflow->graph.order[i]);
    check_convergence(&scopes);
}

/* --- lowering --------------------------------------------------------------------------------------------------- */

void branch_lower(Workflow *workflow, uint32_t job_index, uint32_t step)
{
    const Job *job = &workflow->jobs[job_index];
    Draft *draft = &workflow->compiler->draft;
    const Node *cases = get_map(job->branch, "cases");
    for (uint32_t i = 0; i < cases->count; i++) {
        const Node *jobs = node_value(cases, i);
        Str key = node_text(node_key(cases, i));
        uint32_t to;
        for (uint32_t j = 0; j < many_count(jobs); j++)
            if (workflow_find(workflow, node_text(many_at(jobs, j)), &to))
                draft_edge(draft, step, workflow->jobs[to].step_first, EDGE_BRANCH, key);
        if (many_count(jobs) == 0 && job->converge != JOB_NONE)
            draft_edge(draft, step, workflow->jobs[job->converge].step_first, EDGE_BRANCH, key);
    }
}
