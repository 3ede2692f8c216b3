/* What rules read: the edges of the graph that recursion.c looks at. A key that is not known may be any, and so reads
 * every rule below; a variable that can only be one of few constants reads those alone. */
#include "rego/plan.h"

#include "base/limits.h"

#define KNOWN_COUNT_MAX 64u         /* constants that a variable is followed through */

/* --- variables that are one of few constants --------------------------------------------------------------------- */

typedef struct Known {
    Arena *arena;
    const Value **values;           /* by variable: an array of what it can be; NULL: anything */
    uint32_t *vars;                 /* that have one */
    size_t var_count, var_capacity;
} Known;

static void values_add_items(ValueList *list, Value container)
{
    for (uint32_t i = 0; i < container.count && list->count <= KNOWN_COUNT_MAX; i++) {
        if (container.kind == VALUE_OBJECT) value_list_add(list, container.members[i].value);
        else if (container.kind == VALUE_ARRAY || container.kind == VALUE_SET) value_list_add(list, container.items[i]);
    }
}

/* What can be looked up in any of the values; false where that is not known, or too much. */
static bool values_step(Known *known, const FlatTerm *item, Value *values)
{
    ValueList list = { .arena = known->arena };
    for (uint32_t i = 0; i < values->count; i++) {
        if (item->kind == FLAT_CONST) {
            const Value *found = plan_step(&values->items[i], item->value);
            if (found) value_list_add(&list, *found);
        } else {
            values_add_items(&list, values->items[i]);
        }
    }
    *values = value_list_array(&list);
    return list.count <= KNOWN_COUNT_MAX;
}

/* The constants that a term can be. */
static bool values_of(Known *known, const FlatTerm *term, Value *out_values)
{
    if (term->kind == FLAT_CONST) {
        *out_values = value_array(&term->value, 1);
        return true;
    }
    if (term->kind == FLAT_VAR) {
        if (!known->values[term->var]) return false;
        *out_values = *known->values[term->var];
        return true;
    }
    if (term->kind != FLAT_REF || !values_of(known, term->items[0], out_values)) return false;
    for (uint32_t i = 1; i < term->count; i++)
        if (!values_step(known, term->items[i], out_values)) return false;
    return true;
}

static void var_learn(Known *known, const FlatTerm *var, const FlatTerm *from)
{
    Value values;
    if (var->kind != FLAT_VAR || known->values[var->var] || !values_of(known, from, &values)) return;
    known->values[var->var] = arena_copy_items(known->arena, &values, sizeof values);
    known->vars = arena_grow(known->arena, known->vars, sizeof *known->vars, known->var_count, &known->var_capacity);
    known->vars[known->var_count++] = var->var;
}

static void ref_narrow(const Known *known, const FlatTerm *ref)
{
    if (!ref || ref->kind != FLAT_REF || ref->items[0]->kind != FLAT_DATA) return;
    for (uint32_t i = 1; i < ref->count; i++)
        if (ref->items[i]->kind == FLAT_VAR) ref->items[i]->values = known->values[ref->items[i]->var];
}

/* The statements are in the order in which they run: what is known of a variable holds for those that follow. Nested
 * bodies may run at any time. */
static void block_narrow(Known *known, const FlatBlock *block)
{
    for (size_t i = 0; i < block->count; i++) {
        const FlatStmt *stmt = block->stmts[i];
        ref_narrow(known, stmt->a);
        ref_narrow(known, stmt->b);
        if (stmt->kind != FLAT_UNIFY) continue;
        var_learn(known, stmt->a, stmt->b);
        var_learn(known, stmt->b, stmt->a);
    }
    while (known->var_count) known->values[known->vars[--known->var_count]] = NULL;
}

/* --- uses -------------------------------------------------------------------------------------------------------- */

static void use_add(RegoPolicy *policy, RuleGroup *group, RuleUse use)
{
    const RuleUse *last = group->use_count ? &group->uses[group->use_count - 1] : NULL;
    if (last && last->group == use.group && last->node == use.node) return;
    if (policy->use_count++ >= REGO_USE_COUNT_MAX) return;
    group->uses = arena_grow(&policy->arena, group->uses, sizeof *group->uses, group->use_count, &group->use_capacity);
    group->uses[group->use_count++] = use;
}

static bool has_known_key(const FlatTerm *ref, uint32_t from)
{
    for (uint32_t i = from; i < ref->count; i++) {
        const FlatTerm *item = ref->items[i];
        if (item->kind == FLAT_CONST || (item->kind == FLAT_VAR && item->values)) return true;
    }
    return false;
}

static void use_add_ref(RegoPolicy *policy, RuleGroup *group, const TreeNode *node, const FlatTerm *ref, uint32_t from)
{
    const FlatTerm *item = from < ref->count ? ref->items[from] : NULL;
    if (node->group) {
        use_add(policy, group, (RuleUse){ .group = node->group });
    } else if (!has_known_key(ref, from)) {
        use_add(policy, group, (RuleUse){ .node = node });
    } else if (item->kind == FLAT_CONST || (item->kind == FLAT_VAR && item->values)) {
        Value one = item->kind == FLAT_CONST ? value_array(&item->value, 1) : *item->values;
        for (uint32_t i = 0; i < one.count; i++) {
            const TreeNode *child = tree_child(node, one.items[i]);
            if (child) use_add_ref(policy, group, child, ref, from + 1);
        }
    } else {
        for (size_t i = 0; i < node->child_count && policy->use_count <= REGO_USE_COUNT_MAX; i++)
            use_add_ref(policy, group, node->children[i], ref, from + 1);
    }
}

void uses_find(RegoPolicy *policy, RuleGroup *group, const FlatRule *flat)
{
    Known known = { .arena = &policy->arena };
    known.values = ARENA_ARRAY(&policy->arena, const Value *, flat->unit.var_count + 1);
    for (uint32_t i = 0; i < flat->branch_count; i++) block_narrow(&known, &flat->branches[i].block);
    for (size_t i = 0; i < flat->unit.use_count; i++) {
        const FlatUse *use = &flat->unit.uses[i];
        if (use->group) use_add(policy, group, (RuleUse){ .group = use->group });
        else use_add_ref(policy, group, policy->root, use->ref, 1);
    }
}
