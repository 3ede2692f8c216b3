#include "rego/planner.h"

#include "base/check.h"

/* --- containers and nested blocks -------------------------------------------------------------------------------- */

static Operand plan_items(Planner *p, const FlatTerm *term, int32_t target)
{
    Operand *operands = ARENA_ARRAY(p->arena, Operand, term->count + 1u);
    for (uint32_t i = 0; i < term->count; i++) operands[i] = plan_term(p, term->items[i], -1);
    int32_t dst = target >= 0 ? target : register_new(p, 1);
    Op *op = op_emit(p, term->kind == FLAT_ARRAY ? OP_ARRAY : term->kind == FLAT_SET ? OP_SET : OP_OBJECT);
    op->dst = dst;
    op->operands = operands;
    op->count = term->count;
    height_set(p, dst, 1 + height_highest(p, operands, term->count));
    return dst;
}

static const RegoPlace *body_place(Planner *p, const FlatBlock *flat, const RegoLocal *before)
{
    RegoPlace *place = place_of_body(p->names, p->unit, flat);
    if (!place) return NULL;
    place->locals = before;
    place->locals_after = p->locals;
    return place;
}

const Block *plan_block(Planner *p, const FlatBlock *flat, const FlatTerm *key, const FlatTerm *value)
{
    Planner outer = *p;
    p->ops = NULL;
    p->op_count = p->op_capacity = 0;
    p->choice = OP_NO_CHOICE;
    plan_stmts(p, flat);
    Operand *operands = ARENA_ARRAY(p->arena, Operand, 2);
    uint32_t count = 0;
    if (key) operands[count++] = plan_term(p, key, -1);
    if (value) operands[count++] = plan_term(p, value, -1);
    Op *op = op_emit(p, OP_YIELD);
    op->operands = operands;
    op->count = count;
    p->height_max = height_highest(p, operands, count);
    Block *block = ARENA_NEW(p->arena, Block);
    *block = planner_block(p, body_place(p, flat, outer.locals));
    while (p->log_count > outer.log_count) p->bound[p->log[--p->log_count]] = 0;
    p->ops = outer.ops;
    p->op_count = outer.op_count;
    p->op_capacity = outer.op_capacity;
    p->choice = outer.choice;
    p->scope = outer.scope;
    p->locals = outer.locals;
    loc_begin(p, p->locs[outer.loc_count - 1], p->places[outer.loc_count - 1]);
    return block;
}

static Operand plan_comprehension(Planner *p, const FlatTerm *term, int32_t target)
{
    const Block *block = plan_block(p, term->block, term->block->key, term->block->value);
    uint32_t height = 1 + p->height_max;
    bool is_object = term->flavour == REGO_TERM_OBJECT_COMPREHENSION;
    if (is_object) loc_begin(p, term->block->key->loc, p->places[p->loc_count - 1]);     /* where conflicts are */
    Op *op = op_emit(p, OP_COLLECT);
    op->dst = target >= 0 ? target : register_new(p, 1);
    height_set(p, op->dst, height);
    op->c = term->flavour;
    op->block = block;
    return op->dst;
}

/* --- references --------------------------------------------------------------------------------------------------- */

/* The steps of a reference behind its head. */
static Operand plan_steps(Planner *p, const FlatTerm *ref, uint32_t from, Operand at, int32_t target, bool is_base)
{
    for (uint32_t i = from; i < ref->count; i++) {
        const FlatTerm *item = ref->items[i];
        int32_t dst = i + 1 == ref->count && target >= 0 ? target : register_new(p, 1);
        if (term_is_bound(p, item)) {
            Operand key = plan_term(p, item, -1);
            Op *op = op_emit(p, OP_GET);
            op->dst = dst;
            op->a = at;
            op->b = key;
            op->is_base = is_base;
        } else {
            int32_t key = item->kind == FLAT_VAR ? (int32_t)item->var : register_new(p, 1);
            int32_t place = register_new(p, 1);
            Op *op = op_emit_choice(p, OP_SCAN);
            op->dst = dst;
            op->a = at;
            op->b = place;
            op->c = key;
            height_set(p, key, height_of(p, at));
            if (item->kind == FLAT_VAR) var_bind(p, item->var);
            else plan_match(p, key, item);
        }
        height_set(p, dst, height_of(p, at));
        at = dst;
    }
    return at;
}

/* Steps through nodes that are packages: what lies there is known at run time alone. */
static Operand plan_tree_steps(Planner *p, const FlatTerm *ref, uint32_t from, const TreeNode *node, int32_t target)
{
    int32_t at = register_new(p, 2);
    Op *enter = op_emit(p, OP_TREE_ENTER);
    enter->dst = at;
    enter->node = (TreeNode *)node;
    Value *keys = ARENA_ARRAY(p->arena, Value, node->depth + 1u);
    for (const TreeNode *n = node; n->parent; n = n->parent) keys[n->depth - 1] = n->key;
    enter->keys = keys;
    enter->count = node->depth;
    for (uint32_t i = from; i < ref->count; i++) {
        const FlatTerm *item = ref->items[i];
        int32_t dst = register_new(p, 2);
        if (term_is_bound(p, item)) {
            Operand key = plan_term(p, item, -1);
            Op *op = op_emit(p, OP_TREE_GET);
            op->dst = dst;
            op->a = at;
            op->b = key;
        } else {
            int32_t key = item->kind == FLAT_VAR ? (int32_t)item->var : register_new(p, 1);
            int32_t place = register_new(p, 2);
            Op *op = op_emit_choice(p, OP_TREE_SCAN);
            op->dst = dst;
            op->a = at;
            op->b = place;
            op->c = key;
            if (item->kind == FLAT_VAR) var_bind(p, item->var);
            else plan_match(p, key, item);
        }
        at = dst;
    }
    Op *op = op_emit(p, OP_TREE_VALUE);
    op->dst = target >= 0 ? target : register_new(p, 1);
    op->a = at;
    height_set(p, op->dst, node->height);
    return op->dst;
}

uint32_t ref_const_end(const FlatTerm *ref, uint32_t from)
{
    uint32_t i = from;
    while (i < ref->count && ref->items[i]->kind == FLAT_CONST) i++;
    return i;
}

const Value *ref_keys(Planner *p, const FlatTerm *ref, uint32_t from, uint32_t to)
{
    Value *keys = ARENA_ARRAY(p->arena, Value, to - from + 1u);
    for (uint32_t i = from; i < to; i++) keys[i - from] = ref->items[i]->value;
    return keys;
}

static int32_t step_target(Planner *p, const FlatTerm *ref, uint32_t done, int32_t target)
{
    return done == ref->count && target >= 0 ? target : register_new(p, 1);
}

static Operand plan_input(Planner *p, const FlatTerm *ref, int32_t target)
{
    uint32_t to = ref_const_end(ref, 1);
    int32_t dst = step_target(p, ref, to, target);
    const Value *keys = ref_keys(p, ref, 1, to);
    Op *op = op_emit(p, OP_INPUT);
    op->dst = dst;
    op->keys = keys;
    op->count = to - 1;
    return plan_steps(p, ref, to, dst, target, false);
}

static const Value *base_value(const RegoPolicy *policy, const Value *keys, uint32_t count)
{
    const Value *at = &policy->data;
    for (uint32_t i = 0; at && i < count; i++) at = plan_step_base(at, keys[i]);
    return at;
}

static Operand plan_base(Planner *p, const FlatTerm *ref, int32_t target)
{
    uint32_t to = ref_const_end(ref, 1);
    int32_t dst = step_target(p, ref, to, target);
    const Value *keys = ref_keys(p, ref, 1, to);
    Op *op = op_emit(p, OP_DATA);
    op->dst = dst;
    op->keys = keys;
    op->count = to - 1;
    op->value = base_value(p->names->policy, keys, to - 1);
    return plan_steps(p, ref, to, dst, target, true);
}

static Operand plan_group(Planner *p, const FlatTerm *ref, uint32_t from, RuleGroup *group, int32_t target)
{
    bool by_key = from < ref->count && (group->kind == GROUP_SET || group->kind == GROUP_OBJECT)
               && term_is_bound(p, ref->items[from]);
    if (group->kind == GROUP_FUNCTION) {
        op_emit(p, OP_FAIL);
        return step_target(p, ref, ref->count, target);
    }
    Operand key = by_key ? plan_term(p, ref->items[from], -1) : 0;
    uint32_t done = by_key ? from + 1 : from;
    int32_t dst = step_target(p, ref, done, target);
    Op *op = op_emit(p, by_key ? OP_LOOKUP : OP_RULE);
    op->dst = dst;
    op->b = key;
    op->group = group;
    height_set(p, dst, group->height);
    return plan_steps(p, ref, done, dst, target, false);
}

static Operand plan_data(Planner *p, const FlatTerm *ref, int32_t target)
{
    const TreeNode *node = p->names->policy->root;
    uint32_t i = 1;
    for (; i < ref->count && !node->group; i++) {
        if (ref->items[i]->kind != FLAT_CONST) return plan_tree_steps(p, ref, i, node, target);
        const TreeNode *child = tree_child(node, ref->items[i]->value);
        if (!child) return plan_base(p, ref, target);
        node = child;
    }
    return node->group ? plan_group(p, ref, i, node->group, target) : plan_tree_steps(p, ref, i, node, target);
}

static Operand plan_ref(Planner *p, const FlatTerm *ref, int32_t target)
{
    const FlatTerm *head = ref->items[0];
    if (head->kind == FLAT_INPUT) return plan_input(p, ref, target);
    if (head->kind == FLAT_DATA) return plan_data(p, ref, target);
    return plan_steps(p, ref, 1, plan_term(p, head, -1), target, false);
}

/* --- the term ----------------------------------------------------------------------------------------------------- */

Operand plan_term(Planner *p, const FlatTerm *term, int32_t target)
{
    switch ((FlatTermKind)term->kind) {
    case FLAT_CONST: return const_operand(p, term->value);
    case FLAT_VAR: return (Operand)term->var;
    case FLAT_REF: return plan_ref(p, term, target);
    case FLAT_ARRAY:
    case FLAT_SET:
    case FLAT_OBJECT: return plan_items(p, term, target);
    case FLAT_COMPREHENSION: return plan_comprehension(p, term, target);
    case FLAT_INPUT:
    case FLAT_DATA: break;
    }
    check_failed("a term of a plan", __FILE__, __LINE__);
}
