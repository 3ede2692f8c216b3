#include <stdlib.h>

#include "rego/planner.h"

/* --- guards ------------------------------------------------------------------------------------------------------ */

static bool is_input_path(const FlatTerm *term)
{
    return term->kind == FLAT_REF && term->items[0]->kind == FLAT_INPUT && ref_const_end(term, 1) == term->count;
}

/* Scalars, and arrays of them. Other engines pass over rules by these alone; a rule that they run and that fails, fails here. */
static bool is_indexed(Value value)
{
    if (value.kind == VALUE_SET || value.kind == VALUE_OBJECT) return false;
    for (uint32_t i = 0; value.kind == VALUE_ARRAY && i < value.count; i++)
        if (value.items[i].kind > VALUE_STRING) return false;
    return true;
}

/* A test of the body that needs no other one to be made before it: such rules can be passed over without being run. */
void plan_guard(Planner *p, const FlatRule *flat, PlanRule *rule)
{
    if (flat->branch_count != 1) return;
    const FlatBlock *block = &flat->branches[0].block;
    for (size_t i = 0; i < block->count; i++) {
        const FlatStmt *stmt = block->stmts[i];
        if ((stmt->kind != FLAT_EQUAL && stmt->kind != FLAT_UNIFY) || stmt->with) continue;
        const FlatTerm *ref = is_input_path(stmt->a) ? stmt->a : stmt->b, *other = ref == stmt->a ? stmt->b : stmt->a;
        if (!is_input_path(ref) || other->kind != FLAT_CONST || !is_indexed(other->value)) continue;
        rule->guard = (PlanGuard){ .is_present = true, .keys = ref_keys(p, ref, 1, ref->count),
                                   .key_count = ref->count - 1, .value = other->value };
        return;
    }
}

/* --- which rules of a group may hold ----------------------------------------------------------------------------- */

static bool guards_share_path(const PlanGuard *a, const PlanGuard *b)
{
    if (!a->is_present || !b->is_present || a->key_count != b->key_count) return false;
    for (uint32_t i = 0; i < a->key_count; i++)
        if (!value_equals(a->keys[i], b->keys[i])) return false;
    return true;
}

static int row_order(const void *a, const void *b)
{
    const IndexRow *x = a, *y = b;
    int order = value_compare(x->value, y->value);
    return order ? order : x->rule < y->rule ? -1 : 1;
}

void plan_index(Arena *arena, RuleGroup *group)
{
    const PlanGuard *best = NULL;
    uint32_t best_count = INDEX_RULE_COUNT_MIN - 1;
    for (uint32_t i = 0; i < group->rule_count && i < INDEX_RULE_COUNT_MIN; i++) {
        uint32_t count = 0;
        for (uint32_t k = 0; k < group->rule_count; k++)
            count += guards_share_path(&group->rules[i].guard, &group->rules[k].guard);
        if (count <= best_count) continue;
        best = &group->rules[i].guard;
        best_count = count;
    }
    if (!best) return;
    RuleIndex *index = ARENA_NEW(arena, RuleIndex);
    index->guard = *best;
    index->rows = ARENA_ARRAY(arena, IndexRow, best_count);
    index->rest = ARENA_ARRAY(arena, uint32_t, group->rule_count + 1u);
    for (uint32_t i = 0; i < group->rule_count; i++) {
        if (guards_share_path(best, &group->rules[i].guard))
            index->rows[index->row_count++] = (IndexRow){ group->rules[i].guard.value, i };
        else index->rest[index->rest_count++] = i;
    }
    qsort(index->rows, index->row_count, sizeof *index->rows, row_order);
    group->rule_index = index;
}
