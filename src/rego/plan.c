#include <string.h>

#include "rego/planner.h"

/* What a value can be matched with before the body has run. Items of sets and keys of objects have to be known for that. */
static bool term_is_pattern(const FlatTerm *term)
{
    if (term->kind == FLAT_SET) return false;
    bool is_object = term->kind == FLAT_OBJECT;
    for (uint32_t i = 0; (is_object || term->kind == FLAT_ARRAY) && i < term->count; i++)
        if (is_object && i % 2 == 0 ? term->items[i]->kind != FLAT_CONST : !term_is_pattern(term->items[i])) return false;
    return true;
}

/* Instructions that, made again for a further answer, may end the evaluation or be heard of. OP_RULE is none of them: what it
 * gave at the first answer is remembered. */
static const bool may_fail_again[OP_COUNT] = {
    [OP_LOOKUP] = true, [OP_TREE_ENTER] = true, [OP_TREE_GET] = true, [OP_TREE_SCAN] = true, [OP_TREE_VALUE] = true,
    [OP_BUILTIN] = true, [OP_CALL] = true, [OP_COLLECT] = true, [OP_NOT] = true, [OP_EXISTS] = true, [OP_EITHER] = true,
    [OP_EVERY] = true, [OP_WITH] = true, [OP_NOTE] = true,
};

/* Comparisons and `in` take whatever they are given. */
static bool is_comparison(const Op *op)
{
    return op->code == OP_BUILTIN && op->builtin->infix && strchr("=!<>i", *op->builtin->infix);
}

/* All further answers would be the same as the first one: none is asked for where nothing can happen on the way to it, unless
 * somebody watches. */
static void block_settle(Planner *p)
{
    if (p->names->places) return;
    for (size_t i = 0; i < p->op_count; i++) {
        const Op *op = &p->ops[i];
        bool is_repeated = op->fail != OP_NO_CHOICE || op->code == OP_TREE_SCAN;
        if (is_repeated && may_fail_again[op->code] && !is_comparison(op)) return;
    }
    p->ops[p->op_count - 1].fail = OP_NO_CHOICE;
}

/* Checks what can be known of a key before the body has run, where it is no pattern: a key that is no set is none of
 * `contains {x}`, and the body, which may fail, is not run for it. */
static void plan_shape(Planner *p, Operand key, const FlatTerm *wanted)
{
    Op *op = NULL;
    switch (wanted->kind) {
    case FLAT_ARRAY:
        op = op_emit(p, OP_IS_ARRAY);
        op->c = (int32_t)wanted->count;
        break;
    case FLAT_OBJECT:
    case FLAT_SET:
        op = op_emit(p, OP_IS_LIKE);
        op->c = wanted->kind == FLAT_SET ? REGO_TERM_SET_COMPREHENSION : REGO_TERM_OBJECT_COMPREHENSION;
        break;
    default: return;
    }
    op->a = key;
    for (uint32_t i = 0; wanted->kind == FLAT_ARRAY && i < wanted->count; i++) {
        if (term_is_pattern(wanted->items[i])) continue;
        int32_t item = register_new(p, 1);
        op = op_emit(p, OP_GET);
        op->dst = item;
        op->a = key;
        op->b = const_operand(p, value_int(i));
        height_set(p, item, height_of(p, key));
        plan_shape(p, item, wanted->items[i]);
    }
}

/* `key` >= 0: a register that the first yield has to be equal to; what is bound by that is a check in the body. */
static Block plan_branch(Planner *p, const FlatRule *flat, const FlatBranch *branch, FlatTerm *const *yields,
                         uint32_t count, int32_t key)
{
    p->ops = NULL;
    p->op_count = p->op_capacity = 0;
    p->choice = OP_NO_CHOICE;
    p->log_count = 0;
    p->locals = NULL;
    memset(p->bound, 0, p->unit->var_count);
    for (uint32_t i = 0; i < flat->arg_count; i++) {
        p->bound[i] = 1;
        local_add(p, i);
    }
    for (uint32_t i = 0; i < flat->arg_count; i++)
        if (flat->args[i]) plan_match(p, (Operand)i, flat->args[i]);
    bool is_early = key >= 0 && term_is_pattern(yields[0]);
    if (is_early) plan_match(p, key, yields[0]);
    else if (key >= 0) plan_shape(p, key, yields[0]);
    plan_stmts(p, &branch->block);
    if (key >= 0 && !is_early) plan_match(p, key, yields[0]);
    Operand *operands = ARENA_ARRAY(p->arena, Operand, count + 1u);
    for (uint32_t i = 0; i < count; i++) operands[i] = plan_term(p, yields[i], -1);
    p->height_max = height_highest(p, operands, count);
    Op *op = op_emit(p, OP_YIELD);
    op->operands = operands;
    op->count = count;
    if (branch->place && !branch->place->locals_after) branch->place->locals_after = p->locals;
    return planner_block(p, branch->place);
}

void plan_rule(const Names *names, RuleGroup *group, const FlatRule *flat, PlanRule *out_rule)
{
    Planner p;
    planner_begin(&p, names, &flat->unit);
    bool is_single = group->kind == GROUP_COMPLETE || group->kind == GROUP_FUNCTION;
    bool has_lookup = !is_single && flat->branch_count == 1;
    out_rule->key_register = has_lookup ? register_new(&p, 1) : -1;
    out_rule->branches = ARENA_ARRAY(names->arena, PlanBranch, flat->branch_count);
    out_rule->branch_count = flat->branch_count;
    const RegoRule *rule = out_rule->source;
    for (uint32_t i = 0; i < flat->branch_count; i++, rule = rule->otherwise) {
        const FlatBranch *branch = &flat->branches[i];
        FlatTerm **yields = ARENA_ARRAY(names->arena, FlatTerm *, branch->path_count + 1u);
        if (branch->path_count) memcpy(yields, branch->path, branch->path_count * sizeof *yields);
        FlatTerm *value = branch->key ? branch->key : branch->value;
        yields[branch->path_count] = value;
        PlanBranch *planned = &out_rule->branches[i];
        memset(p.with_made, 0, flat->unit.with_count);
        planned->block = plan_branch(&p, flat, branch, yields, branch->path_count + 1, -1);
        planned->is_constant = value->kind == FLAT_CONST;
        if (planned->is_constant && is_single) block_settle(&p);
        planned->loc = rule->loc;
        if (branch->place) {
            branch->place->node = node_of_branch(names, flat, branch, rule);
            branch->place->name = tree_path_text(names->arena, group->node);
        }
        uint32_t height = p.height_max + branch->path_count + (branch->key ? 1 : 0);
        if (height > group->height) group->height = height;
        for (TreeNode *node = group->node; node && node->height < height; node = node->parent) node->height = height++;
        if (planned->is_constant) planned->constant = value->value;
        planned->is_written = planned->is_constant && rule->head.value && rego_term_is_ground(rule->head.value);
        out_rule->path_count = branch->path_count;
        out_rule->is_set = branch->key != NULL;
        if (!has_lookup) continue;
        memset(p.with_made, 0, flat->unit.with_count);
        out_rule->lookup = plan_branch(&p, flat, branch, yields, branch->path_count + 1, out_rule->key_register);
        if (group->kind == GROUP_SET) block_settle(&p);
    }
    plan_guard(&p, flat, out_rule);
    out_rule->unit = planner_end(&p);
    names->policy->scan_count = p.scan_count;
}

void plan_query(const Names *names, const FlatRule *flat, FlatTerm *const *yields, uint32_t yield_count, Unit *out_unit,
                Block *out_block)
{
    Planner p;
    planner_begin(&p, names, &flat->unit);
    FlatBranch *branch = &flat->branches[0];
    branch->place = place_of_body(names, &flat->unit, &branch->block);
    *out_block = plan_branch(&p, flat, branch, yields, yield_count, -1);
    *out_unit = planner_end(&p);
}
