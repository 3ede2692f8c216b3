/* workflow.h - a workflow of jobs while it is being compiled; for workflow.c and branch.c alone.
 *
 * Owns: arrays in the compiler's scratch arena.     Thread: one at a time.
 */
#ifndef LANG_WORKFLOW_H
#define LANG_WORKFLOW_H

#include "lang/compiler.h"
#include "lang/graph.h"
#include "lang/reference.h"

#define JOB_NONE UINT32_MAX

typedef struct Job {
    Str id;
    const Node *key, *node;
    const Node *tasks;                      /* a list, or NULL */
    const Node *branch;                     /* a mapping, or NULL */
    uint32_t task_first, task_count;        /* in the references' table */
    uint32_t step_first, step_count;        /* in the plan: its tasks, then its branch point */
    uint32_t scope;
    uint32_t branch_of;                     /* the job whose branch starts this one, or JOB_NONE */
    Str case_key;                           /* by which case */
    uint32_t converge;                      /* of its own branch, or JOB_NONE */
} Job;

/* The guard of a need: after `from`, the job `to` may begin again. */
typedef struct Guard {
    uint32_t from, to;
    const Node *node;                       /* the mapping under `guard` */
    const Node *at;                         /* the need */
} Guard;

typedef struct Workflow {
    Compiler *compiler;
    References references;
    Job *jobs;
    uint32_t job_count;
    GraphEdge *edges;                       /* between jobs: needs, and branch to case */
    size_t edge_count, edge_capacity;
    Guard *guards;
    size_t guard_count, guard_capacity;
    Graph graph;
} Workflow;

void workflow_edge(Workflow *workflow, uint32_t from, uint32_t to);
bool workflow_find(const Workflow *workflow, Str id, uint32_t *out_job);
Diagnostic *refuse_job(Workflow *workflow, const Node *name, const char *what);     /* "there is no job 'x'" with a suggestion */

/* Whether the job always ends the run; with `tell`, its own tasks behind the one that does are reported. */
bool job_always_terminates(Workflow *workflow, const Job *job, bool tell);

/* Cases, defaults and convergence: names and edges, before the graph is known to have no cycle. */
void branch_collect(Workflow *workflow);
/* Which arm each job stands in, and whether arms come together as declared; needs the sorted graph. */
void branch_scopes(Workflow *workflow);
void branch_lower(Workflow *workflow, uint32_t job, uint32_t step);

#endif
