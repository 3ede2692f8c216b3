/* draft.h - a plan's document while it is being written.
 *
 * Owns: values in the arena given.     Fails: never; PLAN_*_MAX are checked by plan_read().     Thread: one at a time.
 */
#ifndef LANG_DRAFT_H
#define LANG_DRAFT_H

#include "core/plan.h"
#include "value/value.h"

typedef struct DraftEdge {
    uint32_t from, to;
    EdgeKind kind;
    Str key;
} DraftEdge;

typedef struct Draft {
    Arena *arena;
    MemberList members;             /* of the document itself */
    ValueList jobs, steps, loops;
    DraftEdge *edges;
    size_t edge_count, edge_capacity;
} Draft;

void draft_init(Draft *draft, Arena *arena, PlanKind kind, Str id);
uint32_t draft_step(Draft *draft, const MemberList *step);          /* returns its index */
uint32_t draft_job(Draft *draft, const MemberList *job);
/* Between two steps one edge is kept: a branch rather than data rather than order. */
void draft_edge(Draft *draft, uint32_t from, uint32_t to, EdgeKind kind, Str key);
Value draft_document(Draft *draft);

#endif
