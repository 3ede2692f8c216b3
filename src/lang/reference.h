/* reference.h - what conditions and ${paths} refer to: does it exist, is it known by then, can it be missing?
 *
 * outputs.<job>.<task> names a task's output; the bare task name works where it is unique. A reference is sound when the
 * producer comes before on every way that leads to the consumer. One that can be skipped on some way (by `when`, or on a
 * branch that is not taken) must be declared optional where it is read.
 *
 * Owns: tables in the arena given.     Fails: by diagnostics.     Thread: one at a time.
 */
#ifndef LANG_REFERENCE_H
#define LANG_REFERENCE_H

#include "base/map.h"
#include "lang/compiler.h"
#include "lang/condition.h"
#include "lang/graph.h"

#define SCOPE_TOP 0u

/* A task as others refer to it. */
typedef struct RefTask {
    Str job, task;                  /* job is empty in a step tree */
    uint32_t job_index;
    uint32_t scope;                 /* the branch arm it stands in */
    bool may_skip;                  /* it has a condition of its own */
    bool job_may_skip;
} RefTask;

/* An arm of a branch: what stands in it runs only if the arm is taken. Arms nest. */
typedef struct RefScope {
    uint32_t parent;
} RefScope;

struct References {
    Compiler *compiler;
    Map params;
    Map jobs;                       /* id -> index */
    Map task_names;                 /* bare name -> task, or ambiguous */
    Map task_ids;                   /* "job.task" -> task */
    Map triggers;                   /* key of a pause -> the task it stands behind: its payload is an output, too */
    RefTask *tasks;
    size_t task_count, task_capacity;
    RefScope *scopes;
    size_t scope_count, scope_capacity;
    Graph *graph;                   /* of jobs, sorted; NULL in a step tree, where the order written decides */
    bool is_cyclic;                 /* the jobs form a cycle: before and after have no meaning, names still do */
    const Node *optional_lists[2];  /* of the task and job last looked at, with their names */
    Map optional_names[2];
    const GraphEdge *guards;        /* guarded edges, tail to head: the head begins again after the tail */
    uint32_t guard_count;
};

/* Where a reference stands. */
typedef struct Place {
    unsigned roots;                 /* which names may be used here */
    uint32_t job;
    uint32_t task_limit;            /* tasks of the same job (of the tree) below this one come before */
    uint32_t scope;
    bool is_command_line;           /* a program is started with it: everybody on its machine can read that */
    bool after_guard;               /* the condition of a guard: outputs of the cycle's tail are known */
    const Node *optional[2];        /* optional_outputs of the task and of its job; NULL where there are none */
} Place;

void references_init(References *references, Compiler *compiler);
void references_params(References *references);                     /* reads `params`, reports what is wrong with them */
/* Adds one; returns its index, or that of the first one of the same job and name. */
uint32_t references_task(References *references, RefTask task);
void references_pause(References *references, const Node *task, uint32_t index);       /* if the task has one */
uint32_t references_scope(References *references, uint32_t parent);
bool scope_holds(const References *references, uint32_t outer, uint32_t inner);
/* A task by "task" or "job.task"; false where there is none or several. */
bool references_find(const References *references, Str name, uint32_t *out_task);

void reference_condition(References *references, const Place *place, const Node *condition);
void reference_value(References *references, const Place *place, const Node *value);   /* all ${paths} in it */

/* The tasks whose outputs a value or condition reads, for data edges; references must be sound. */
typedef void (*ProducerVisit)(void *context, uint32_t task);
void producers_of_condition(References *references, const Node *condition, ProducerVisit visit, void *context);
void producers_of_value(References *references, const Node *value, ProducerVisit visit, void *context);

#endif
