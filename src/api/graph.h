/* graph.h - an execution beside its plan: for each step how far it is.
 *
 * Owns:   the plan is the server's, rows live in the call's arena.     Fails: by answers.
 * Bounds: API_GRAPH_STEP_COUNT_MAX.     Thread: the aside's, of a copy.
 */
#ifndef API_GRAPH_H
#define API_GRAPH_H

#include "api/api.h"

typedef struct Graph {
    const Plan *plan;
    const Cell **rows;              /* for each step its newest step run; NULL where none has begun */
    Map ids;                        /* of steps, to their indices */
} Graph;

/* False after answering. */
bool graph_read(Call *call, const Cell *row, Graph *out_graph);

#endif
