#include "lang/draft.h"

#include <stdlib.h>

void draft_init(Draft *draft, Arena *arena, PlanKind kind, Str id)
{
    *draft = (Draft){ .arena = arena };
    draft->members.arena = draft->jobs.arena = draft->steps.arena = draft->loops.arena = arena;
    member_list_add(&draft->members, STR("format"), value_int(PLAN_FORMAT));
    member_list_add(&draft->members, STR("kind"), value_string(str_of(plan_kind_name(kind))));
    member_list_add(&draft->members, STR("id"), value_string(id));
}

uint32_t draft_step(Draft *draft, const MemberList *step)
{
    value_list_add(&draft->steps, member_list_object(step));
    return (uint32_t)draft->steps.count - 1;
}

uint32_t draft_job(Draft *draft, const MemberList *job)
{
    value_list_add(&draft->jobs, member_list_object(job));
    return (uint32_t)draft->jobs.count - 1;
}

void draft_edge(Draft *draft, uint32_t from, uint32_t to, EdgeKind kind, Str key)
{
    draft->edges =
        arena_grow(draft->arena, draft->edges, sizeof *draft->edges, draft->edge_count, &draft->edge_capacity);
    draft->edges[draft->edge_count++] = (DraftEdge){ from, to, kind, key };
}

/* By (from, to), and the kind that is kept first. */
static int by_ends(const void *a, const void *b)
{
    const DraftEdge *x = a, *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    if (x->to != y->to) return x->to < y->to ? -1 : 1;
    if (x->kind != y->kind) return x->kind > y->kind ? -1 : 1;
    return str_compare(x->key, y->key);
}

static Value edge_value(Arena *arena, const DraftEdge *edge)
{
    uint32_t count = edge->kind == EDGE_BRANCH ? 4 : 3;
    Value *items = ARENA_ARRAY(arena, Value, count);
    items[0] = value_int(edge->from);
    items[1] = value_int(edge->to);
    items[2] = value_string(str_of(edge_kind_name(edge->kind)));
    if (count == 4) items[3] = value_string(edge->key);
    return value_array(items, count);
}

Value draft_document(Draft *draft)
{
    if (draft->edge_count) qsort(draft->edges, draft->edge_count, sizeof *draft->edges, by_ends);
    ValueList edges = { .arena = draft->arena };
    for (size_t i = 0; i < draft->edge_count; i++) {
        const DraftEdge *edge = &draft->edges[i];
        bool is_repeated = i && edge->from == edge[-1].from && edge->to == edge[-1].to
                        && !(edge->kind == EDGE_BRANCH && edge[-1].kind == EDGE_BRANCH);
        if (!is_repeated) value_list_add(&edges, edge_value(draft->arena, edge));
    }
    if (draft->jobs.count) member_list_add(&draft->members, STR("jobs"), value_list_array(&draft->jobs));
    member_list_add(&draft->members, STR("steps"), value_list_array(&draft->steps));
    member_list_add(&draft->members, STR("edges"), value_list_array(&edges));
    if (draft->loops.count) member_list_add(&draft->members, STR("loops"), value_list_array(&draft->loops));
    return member_list_object(&draft->members);
}
