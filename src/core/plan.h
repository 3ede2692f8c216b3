/* plan.h - the compiled, immutable graph of steps of one definition.
 *
 * Workflows, runbooks and step trees all lower to a plan; the engine knows nothing else. Its stored form is a document
 * (a JSON value in canonical form, addressed by its digest) that is never compiled again. plan_read() turns a document
 * into the arrays below, and checks it: a plan that came from a disk is not trusted.
 *
 *   jobs    groups whose steps share one placement; a step of a definition without jobs has an implicit one of its own
 *   steps   in the order written; a step's index is its identity within the plan
 *   edges   from step to step, sorted by (from, to), so that completing a step costs its out-edges
 *   loops   guarded cycles: the back edge is no edge of the graph, which stays acyclic
 *
 * Owns:   everything lives in the arena given; names and settings point into the document.
 * Fails:  ERR_CORRUPT for a document that contradicts itself, ERR_LIMIT beyond PLAN_*_MAX.
 * Thread: a plan is immutable: any.
 * Invariants, checked by plan_read(): P1 indices are in range; P2 step ids are unique; P3 the edges form no cycle;
 *         P4 every step is reachable from a step without incoming edges; P5 a loop's head and tail are steps, and the
 *         tail follows the head; P6 the steps of a job lie together and follow one another.
 */
#ifndef CORE_PLAN_H
#define CORE_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"
#include "value/canonical.h"
#include "value/value.h"

#define PLAN_FORMAT 1
#define PLAN_NONE UINT32_MAX                /* no step, no job */

typedef enum PlanKind { PLAN_WORKFLOW, PLAN_RUNBOOK, PLAN_STEP_TREE, PLAN_KIND_COUNT } PlanKind;

typedef enum StepKind {
    STEP_TASK,              /* work of a runner */
    STEP_BRANCH,            /* chooses among the edges that leave it; carried out by the engine itself */
    STEP_SEQUENCE,          /* holds the steps below it, one after another; carried out by the engine itself */
    STEP_ARTIFACT,          /* a runbook's artifact: source or inputs, then perhaps a transform */
    STEP_KIND_COUNT
} StepKind;

typedef enum EdgeKind {
    EDGE_ORDER,             /* starts after */
    EDGE_DATA,              /* reads the output of */
    EDGE_BRANCH,            /* taken when the branch step selects its key */
    EDGE_KIND_COUNT
} EdgeKind;

typedef enum Strategy { STRATEGY_REPLAY_SAFE, STRATEGY_DEDUPE_KEY, STRATEGY_EFFECT_RECORDED, STRATEGY_COUNT } Strategy;
typedef enum Priority { PRIORITY_LOW, PRIORITY_NORMAL, PRIORITY_HIGH, PRIORITY_CRITICAL, PRIORITY_COUNT } Priority;

typedef struct PlanStep {
    Str id;                         /* unique in the plan: job.task, artifact id, path in the tree */
    Str name;                       /* what people see */
    Str runner;                     /* empty where the engine itself carries the step out */
    Value settings;                 /* the step's whole object in the document */
    uint32_t job;                   /* PLAN_NONE: an implicit one */
    uint32_t parent;                /* the sequence or branch that holds it in a step tree, or PLAN_NONE */
    uint32_t sequence;              /* the nearest sequence around it, or PLAN_NONE: it ends with the last of these */
    uint32_t child_count;           /* of a sequence: steps whose nearest one it is */
    uint32_t converge;              /* of a branch: where its cases come together, or PLAN_NONE */
    Str branch_key;                 /* of the innermost case that it stands in; empty outside of branches */
    uint32_t edge_first, edge_count;
    uint32_t need_count;            /* incoming edges */
    uint8_t kind;                   /* a StepKind */
    uint8_t strategy;               /* a Strategy */
    uint8_t priority;               /* a Priority */
    bool is_tail;                   /* of a loop: its end is where the question is asked */
} PlanStep;

typedef struct PlanEdge {
    uint32_t from, to;
    Str key;                        /* of the case, for EDGE_BRANCH */
    uint32_t loop;                  /* the loop that it leads out of, or PLAN_NONE: it counts when that is left */
    uint8_t kind;                   /* an EdgeKind */
    bool decides;                   /* whether `to` runs at all depends on it: an edge from outside the branch arm that
                                     * `to` stands in does not */
} PlanEdge;

typedef struct PlanJob {
    Str id;
    Value settings;
    uint32_t step_first, step_count;        /* its steps lie together */
    uint8_t priority;
} PlanJob;

/* A step between head and tail of a loop, both included, and what it is when the loop begins again. */
typedef struct LoopStep {
    uint32_t step;
    uint32_t need_count;            /* edges from other steps of the loop */
    bool is_live;                   /* some way into it leads from outside the loop */
} LoopStep;

typedef struct PlanLoop {
    uint32_t head, tail;            /* after the tail, the head may begin again */
    uint32_t iteration_count_max;   /* rounds in all */
    bool is_outermost;              /* of those that end with this tail */
    const LoopStep *body;           /* in the order of steps */
    uint32_t body_count;
    Value settings;
} PlanLoop;

struct PlanTerms;                           /* core/terms.h */
struct PlanNames;                           /* core/name.h */

typedef struct Plan {
    PlanKind kind;
    Str id, tenant;
    Value document;                 /* everything, triggers and failure resolution included, by name */
    Digest digest;                  /* of the document's canonical form */
    const PlanJob *jobs;
    const PlanStep *steps;
    const PlanEdge *edges;
    const PlanLoop *loops;
    uint32_t job_count, step_count, edge_count, loop_count;
    const struct PlanTerms *terms;
    const struct PlanNames *names;
} Plan;

/* Carried out by a runner; else by the engine itself. */
static inline bool step_works(const PlanStep *step) { return step->kind == STEP_TASK || step->kind == STEP_ARTIFACT; }

MUST_USE Status plan_read(Arena *arena, Value document, Plan *out_plan, Error *err);

const char *plan_kind_name(PlanKind kind);          /* "workflow", "runbook", "step-tree" */
const char *step_kind_name(StepKind kind);
const char *edge_kind_name(EdgeKind kind);
const char *strategy_name(Strategy strategy);
const char *priority_name(Priority priority);

/* Steps in an order in which each comes after all it has edges from; of several, the one written first. Fills
 * `out_order` (step_count entries). The order to draw in, and to produce artifacts one by one. */
void plan_order(const Plan *plan, Arena *scratch, uint32_t *out_order);

#endif
