/* picture.h - what is drawn of a workflow or a runbook: nodes and the edges between them, without any place or size.
 *
 * A job whose tasks follow one another is one node with a row for each task; a branch is a node of its own; any other
 * step is a node. Edges between the same two nodes are one edge, the keys of their cases joined. Where drawing jobs as
 * boxes would be untrue (two jobs need each other by turns), the steps become
 * nodes under their full ids. No edge of the plan is left out but one kind: where a workflow's step reads the output of
 * another, and the other edges make it come later anyway, the picture does not say it twice.
 *
 * Owns:   everything lives in the arena given; texts point into the plan, as written there.
 * Fails:  never.     Bounds: linear in the plan, times the logarithm of its steps for the order.     Thread: pure, any.
 * Invariant D1: `order` holds every node once, each after all that it has edges from.
 */
#ifndef CLI_DRAW_PICTURE_H
#define CLI_DRAW_PICTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "cli/draw/layout.h"
#include "core/plan.h"

typedef enum NodeKind { NODE_STEP, NODE_JOB, NODE_BRANCH, NODE_KIND_COUNT } NodeKind;

typedef struct PictureNode {
    Str title;                          /* the job's id, or the step's name */
    uint32_t step_first, step_count;    /* the steps it stands for */
    uint32_t edge_first, edge_count;    /* edges that leave it */
    uint32_t need_first, need_count;    /* places in `needs`: edges that enter it */
    uint32_t loop_first, loop_count;    /* loops whose head it is */
    uint32_t marks;                     /* of the whole node; a job's tasks have their own */
    uint8_t kind;                       /* a NodeKind */
} PictureNode;

typedef struct PictureEdge {
    uint32_t from, to;                  /* nodes */
    Str label;                          /* keys of cases: "high, urgent"; cut at DRAW_LABEL_SIZE_MAX */
    uint8_t kind;                       /* an EdgeKind: branch over order over data */
} PictureEdge;

typedef struct PictureLoop {
    uint32_t head, tail;                /* nodes; equal for a loop inside of one */
    const PlanLoop *loop;
} PictureLoop;

typedef struct Picture {
    const Plan *plan;
    const PictureNode *nodes;
    const PictureEdge *edges;           /* by the node that they leave */
    const uint32_t *needs;              /* edges by the node that they enter */
    const uint32_t *order;
    const PictureLoop *loops;           /* by the node of their head */
    uint32_t node_count, edge_count, loop_count;
    uint32_t marks;                     /* all that occur, for the legend */
} Picture;

/* A line inside of a box. */
typedef enum RowKind { ROW_TASK, ROW_DETAIL, ROW_LOOP, ROW_MORE } RowKind;

typedef struct PictureRow {
    Str text;                           /* clean */
    uint32_t marks;
    RowKind kind;
} PictureRow;

void picture_build(Picture *picture, const Plan *plan, Arena *arena);

/* The rows of a node below its title, at most DRAW_ROW_COUNT_MAX and a last one that counts the rest. */
typedef struct PictureRows {
    const PictureRow *items;
    uint32_t count;
} PictureRows;

PictureRows picture_rows(const Picture *picture, uint32_t node, bool ascii, Arena *arena);

/* The picture as a graph to lay out: its edges, then the loops between two nodes, with the labels of both, clean. A
 * loop's edge goes down from its head to its tail, so that there is no cycle, and is marked as one that goes back; one
 * whose tail does not come after its head is an edge like others. */
typedef struct PictureGraph {
    LayoutEdge *edges;
    Str *labels;
    uint32_t edge_count;
} PictureGraph;

PictureGraph picture_graph(const Picture *picture, bool ascii, Arena *arena);

/* The marks of a step, beyond those of the job or the plan that holds it. */
uint32_t picture_step_marks(const Plan *plan, const PlanStep *step);
/* Who does a task, what an artifact is made by, what a branch asks; clean, and empty where the name says it. */
Str picture_detail(const PlanStep *step, bool ascii, Arena *arena);
Str picture_loop_bound(const PlanLoop *loop, bool ascii, Arena *arena);         /* "≤5×" */

#endif
