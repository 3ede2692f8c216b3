#include "rego/planner.h"

void plan_equal(Planner *p, Operand a, Operand b)
{
    Op *op = op_emit(p, OP_EQUAL);
    op->a = a;
    op->b = b;
}

static void match_items(Planner *p, Operand value, const FlatTerm *pattern)
{
    bool is_object = pattern->kind == FLAT_OBJECT;
    Op *check = op_emit(p, is_object ? OP_IS_OBJECT : OP_IS_ARRAY);
    check->a = value;
    check->c = (int32_t)(is_object ? pattern->count / 2 : pattern->count);
    for (uint32_t i = 0; i < pattern->count; i += is_object ? 2 : 1) {
        Operand key = is_object ? plan_term(p, pattern->items[i], -1) : const_operand(p, value_int(i));
        const FlatTerm *item = pattern->items[is_object ? i + 1 : i];
        bool is_fresh = item->kind == FLAT_VAR && !p->bound[item->var];
        int32_t dst = is_fresh ? (int32_t)item->var : register_new(p, 1);
        Op *op = op_emit(p, OP_GET);
        op->dst = dst;
        op->a = value;
        op->b = key;
        height_set(p, dst, height_of(p, value));
        if (is_fresh) var_bind(p, item->var);
        else plan_match(p, dst, item);
    }
}

void plan_match(Planner *p, Operand value, const FlatTerm *pattern)
{
    if (pattern->kind == FLAT_VAR && !p->bound[pattern->var]) {
        Op *op = op_emit(p, OP_COPY);
        op->dst = (int32_t)pattern->var;
        op->a = value;
        height_set(p, op->dst, height_of(p, value));
        var_bind(p, pattern->var);
        return;
    }
    bool is_open = (pattern->kind == FLAT_ARRAY || pattern->kind == FLAT_OBJECT) && !term_is_bound(p, pattern);
    if (is_open) {
        match_items(p, value, pattern);
        return;
    }
    Operand other = plan_term(p, pattern, -1);
    plan_equal(p, value, other);
}

static const FlatTerm *pair_value(const FlatTerm *object, const FlatTerm *key)
{
    for (uint32_t k = 0; k < object->count; k += 2) {
        const FlatTerm *other = object->items[k];
        if (key->kind == FLAT_CONST && other->kind == FLAT_CONST && value_equals(key->value, other->value))
            return object->items[k + 1];
        if (key->kind == FLAT_VAR && other->kind == FLAT_VAR && key->var == other->var) return object->items[k + 1];
    }
    return NULL;
}

/* Two containers, each with unknown variables: item by item, those first that have a known side. */
static void unify_items(Planner *p, const FlatTerm *a, const FlatTerm *b)
{
    if (a->kind != b->kind || a->count != b->count) {
        op_emit(p, OP_FAIL);
        return;
    }
    uint32_t step = a->kind == FLAT_OBJECT ? 2 : 1, left = a->count / step;
    uint8_t *done = ARENA_ARRAY(p->arena, uint8_t, a->count + 1u);
    for (bool progress = true; progress && left;) {
        progress = false;
        for (uint32_t i = step - 1; i < a->count; i += step) {
            if (done[i]) continue;
            const FlatTerm *x = a->items[i], *y = step == 1 ? b->items[i] : pair_value(b, a->items[i - 1]);
            if (!y) {
                op_emit(p, OP_FAIL);
                return;
            }
            if (term_is_unbound_var(p, x) && !term_is_value(p, y)) continue;
            if (term_is_unbound_var(p, y) && !term_is_value(p, x)) continue;
            plan_unify(p, x, y);
            done[i] = 1;
            left--;
            progress = true;
        }
    }
}

/* In `x = xs[x]` the reference itself binds x, and what it finds has to be the same. */
static bool term_has_var(const FlatTerm *term, uint32_t var)
{
    if (term->kind == FLAT_VAR) return term->var == var;
    bool has_items = term->kind == FLAT_REF || term->kind == FLAT_ARRAY || term->kind == FLAT_OBJECT;
    for (uint32_t i = 0; has_items && i < term->count; i++)
        if (term_has_var(term->items[i], var)) return true;
    return false;
}

/* The other side has several values, of which none matters to the comprehension: a statement stands behind all that bind what
 * its comprehensions need. Whoever watches wants to see each try. */
static bool is_made_once(const Planner *p, const FlatTerm *other)
{
    return !term_is_bound(p, other) && !p->names->policy->options.instrument;
}

static int32_t register_clear(Planner *p)
{
    Operand nothing = const_operand(p, rego_undefined());
    Op *op = op_emit(p, OP_COPY);
    op->a = nothing;
    return op->dst = (int32_t)register_new(p, 1);
}

bool plan_like(Planner *p, const FlatTerm *a, const FlatTerm *b)
{
    bool is_first = a->kind == FLAT_COMPREHENSION;
    const FlatTerm *made = is_first ? a : b, *other = is_first ? b : a;
    if (made->kind != FLAT_COMPREHENSION || other->kind == FLAT_COMPREHENSION || !term_is_value(p, other)) return false;
    int32_t kept = is_made_once(p, other) ? register_clear(p) : -1;
    Operand value = plan_term(p, other, -1);
    Op *op = op_emit(p, OP_IS_LIKE);
    op->a = value;
    op->c = made->flavour;
    Operand answer = plan_term(p, made, kept);
    p->ops[p->op_count - 1].is_once = kept >= 0;
    plan_equal(p, value, answer);
    return true;
}

void plan_unify(Planner *p, const FlatTerm *a, const FlatTerm *b)
{
    if (plan_like(p, a, b)) return;
    if (!term_is_value(p, a)) {
        if (!term_is_value(p, b)) {
            unify_items(p, a, b);
            return;
        }
        const FlatTerm *other = a;
        a = b;
        b = other;
    }
    /* a is a value now; the answer goes straight to where it is wanted. */
    if (b->kind == FLAT_REF && a->kind == FLAT_REF && term_is_bound(p, b) && !term_is_bound(p, a)) {
        Operand known = plan_term(p, b, -1);
        plan_equal(p, plan_term(p, a, -1), known);
        return;
    }
    bool is_fresh = term_is_unbound_var(p, b) && !term_has_var(a, b->var);
    Operand value = plan_term(p, a, is_fresh ? (int32_t)b->var : -1);
    if (is_fresh && value == (Operand)b->var) var_bind(p, b->var);
    else plan_match(p, value, b);
}
