#include "rego/planner.h"

#define BUILTIN_HEIGHT 2u       /* containers that a builtin may put around its arguments */

static void plan_with(Planner *p, uint32_t with)
{
    if (!with || p->with_made[with]) return;
    const FlatWith *flat = &p->unit->withs[with];
    plan_with(p, flat->parent);
    p->with_made[with] = 1;
    p->scope = (uint16_t)flat->parent;
    WithTarget *targets = ARENA_ARRAY(p->arena, WithTarget, flat->count + 1u);
    uint32_t height = 0;
    for (uint32_t i = 0; i < flat->count; i++) {
        const FlatTarget *source = &flat->targets[i];
        WithTarget target = { .kind = source->kind, .is_late = source->is_late, .path = source->path,
                              .path_count = source->path_count, .builtin = source->builtin, .by_builtin = source->by_builtin,
                              .group = source->group, .by_group = source->by_group };
        if (source->kind == FLAT_TARGET_DATA || source->is_late) {
            const TreeNode *node = p->names->policy->root;
            for (uint32_t k = 0; node && k < source->path_count; k++) node = tree_child(node, source->path[k]);
            target.node = node;
        }
        bool has_value = source->value && !source->is_late;
        if (has_value) target.value = plan_term(p, source->value, -1);
        targets[i] = target;
        uint32_t target_height = source->path_count + (has_value ? height_of(p, target.value) : 0);
        if (source->is_late) target_height = target.node->height;
        if (target_height > height) height = target_height;
    }
    p->with_heights[with] = p->with_heights[flat->parent] + height;
    Op *op = op_emit(p, OP_WITH);
    op->b = (int32_t)height;
    op->c = (int32_t)with;
    op->targets = targets;
    op->count = flat->count;
}

static void plan_call(Planner *p, const FlatStmt *stmt)
{
    Operand *operands = ARENA_ARRAY(p->arena, Operand, stmt->arg_count + 1u);
    for (uint32_t i = 0; i < stmt->arg_count; i++) operands[i] = plan_term(p, stmt->args[i], -1);
    bool is_relation = stmt->builtin && (stmt->builtin->flags & BUILTIN_RELATION);
    bool is_fresh = stmt->out && term_is_unbound_var(p, stmt->out);
    int32_t dst = is_fresh && !is_relation ? (int32_t)stmt->out->var : register_new(p, 1);
    Op *op = op_emit(p, stmt->builtin ? OP_BUILTIN : OP_CALL);
    op->dst = dst;
    op->operands = operands;
    op->count = stmt->arg_count;
    op->is_relation = is_relation;
    if (stmt->builtin) op->builtin = stmt->builtin;
    else op->group = stmt->group;
    uint32_t height = height_highest(p, operands, stmt->arg_count);
    height += stmt->group ? stmt->group->height : height ? BUILTIN_HEIGHT : 0;
    height_set(p, dst, height);
    if (is_relation) {
        int32_t key = register_new(p, 3);
        Op *scan = op_emit_choice(p, OP_SCAN);
        scan->a = dst;
        scan->c = key;
        scan->b = key + 1;
        scan->dst = dst = is_fresh ? (int32_t)stmt->out->var : key + 2;
        height_set(p, dst, height);
    }
    if (is_fresh) {
        var_bind(p, stmt->out->var);
    } else if (stmt->out) {
        plan_match(p, dst, stmt->out);
    } else {
        op_emit(p, OP_TRUE)->a = dst;
    }
}

static void plan_every(Planner *p, const FlatStmt *stmt)
{
    Operand domain = plan_term(p, stmt->a, -1);
    size_t log = p->log_count;
    const RegoLocal *locals = p->locals;
    int32_t registers[2] = { -1, -1 };
    for (uint32_t i = 0; i < 2; i++) {
        if (!stmt->args[i]) continue;
        registers[i] = (int32_t)stmt->args[i]->var;
        height_set(p, registers[i], height_of(p, domain));
        var_bind(p, stmt->args[i]->var);
    }
    const Block *block = plan_block(p, stmt->block, NULL, NULL);
    while (p->log_count > log) p->bound[p->log[--p->log_count]] = 0;
    p->locals = locals;
    Op *op = op_emit(p, OP_EVERY);
    op->a = domain;
    op->b = registers[0];
    op->c = registers[1];
    op->block = block;
}

static void plan_note(Planner *p, const FlatStmt *stmt)
{
    if (!stmt->a && !p->names->policy->options.keep_print) return;
    uint32_t count = stmt->a ? 1 : stmt->arg_count;
    Operand *operands = ARENA_ARRAY(p->arena, Operand, count + 1u);
    for (uint32_t i = 0; i < count; i++) operands[i] = plan_term(p, stmt->a ? stmt->a : stmt->args[i], -1);
    Op *op = op_emit(p, OP_NOTE);
    op->operands = operands;
    op->count = count;
    op->is_text = stmt->a != NULL;
}

static void plan_nested(Planner *p, const FlatStmt *stmt)
{
    const Block *block = plan_block(p, stmt->block, NULL, NULL);
    const Block *other = stmt->other ? plan_block(p, stmt->other, NULL, NULL) : NULL;
    Op *op = op_emit(p, stmt->kind == FLAT_NOT ? OP_NOT : stmt->kind == FLAT_EITHER ? OP_EITHER : OP_EXISTS);
    op->block = block;
    if (stmt->kind == FLAT_EITHER) op->other = other;
    if (stmt->kind == FLAT_BOTH) op_emit(p, OP_EXISTS)->block = other;
}

static void plan_stmt(Planner *p, const FlatStmt *stmt)
{
    switch ((FlatStmtKind)stmt->kind) {
    case FLAT_TEST: {
        Operand value = plan_term(p, stmt->a, -1);
        op_emit(p, OP_TRUE)->a = value;
        break;
    }
    case FLAT_UNIFY: plan_unify(p, stmt->a, stmt->b); break;
    case FLAT_EQUAL: {
        if (plan_like(p, stmt->a, stmt->b)) break;
        /* Both have to be defined; a known side is compared as soon as possible. */
        Operand a = plan_term(p, stmt->a, -1);
        Operand b = plan_term(p, stmt->b, -1);
        plan_equal(p, a, b);
        break;
    }
    case FLAT_CALL: plan_call(p, stmt); break;
    case FLAT_NOT:
    case FLAT_BOTH:
    case FLAT_EITHER: plan_nested(p, stmt); break;
    case FLAT_EVERY: plan_every(p, stmt); break;
    case FLAT_NOTE: plan_note(p, stmt); break;
    }
}

void plan_stmts(Planner *p, const FlatBlock *block)
{
    for (size_t i = 0; i < block->count; i++) {
        const FlatStmt *stmt = block->stmts[i];
        uint16_t scope = p->scope;
        /* What is planned twice, for lookups, tells of itself as it does the first time. */
        bool is_new = stmt->place && stmt->place->node.kind == VALUE_NULL;
        loc_begin(p, stmt->loc, stmt->place);
        if (is_new) {
            stmt->place->node = node_of_stmt(p->names, p->unit, stmt, i);
            stmt->place->row = (uint32_t)i;
            stmt->place->locals = p->locals;
        }
        if (stmt->place) op_emit(p, OP_MARK);
        plan_with(p, stmt->with);
        p->scope = (uint16_t)stmt->with;
        plan_stmt(p, stmt);
        p->scope = scope;
        if (is_new) stmt->place->locals_after = p->locals;
    }
}
