#include "rego/plan.h"

#include <string.h>

#include "base/limits.h"
#include "rego/print.h"

/* Work that ordering may take for one rule, in statements looked at. */
#define ORDER_WORK_MAX (UINT64_C(1) << 27)

typedef struct Safety {
    const Names *names;
    FlatUnit *unit;
    uint8_t *bound;             /* by variable */
    uint32_t *visible;          /* by variable: how often it stands directly in a block around */
    uint8_t *reported;
    uint64_t work;
    bool is_safe;
    bool in_note;               /* inside print(...) */
    bool in_part;               /* inside a part of a template */
    RegoLoc outer;              /* of the statement around a nested block */
    size_t error_count;         /* before this unit */
} Safety;

/* --- variables of terms ------------------------------------------------------------------------------------------ */

typedef void (*VarVisit)(void *context, const FlatTerm *var);

static void visit_block(const FlatBlock *block, const FlatUnit *unit, VarVisit visit, void *context);

/* `unit` NULL: comprehensions are not entered. */
static void visit_term(const FlatTerm *term, const FlatUnit *unit, VarVisit visit, void *context)
{
    if (!term) return;
    switch ((FlatTermKind)term->kind) {
    case FLAT_CONST:
    case FLAT_INPUT:
    case FLAT_DATA: return;
    case FLAT_VAR: visit(context, term); return;
    case FLAT_REF:
    case FLAT_ARRAY:
    case FLAT_SET:
    case FLAT_OBJECT:
        for (uint32_t i = 0; i < term->count; i++) visit_term(term->items[i], unit, visit, context);
        return;
    case FLAT_COMPREHENSION:
        if (unit) visit_block(term->block, unit, visit, context);
        return;
    }
}

static void visit_with(const FlatStmt *stmt, const FlatUnit *unit, VarVisit visit, void *context)
{
    for (uint32_t w = stmt->with; w; w = unit->withs[w].parent)
        for (uint32_t i = 0; i < unit->withs[w].count; i++)
            visit_term(unit->withs[w].targets[i].value, NULL, visit, context);
}

/* Variables outside of nested blocks. */
static void visit_direct(const FlatStmt *stmt, const FlatUnit *unit, VarVisit visit, void *context)
{
    visit_with(stmt, unit, visit, context);
    if (stmt->kind == FLAT_EVERY) {
        visit_term(stmt->a, NULL, visit, context);
        return;
    }
    if (stmt->kind == FLAT_NOTE) {
        visit_term(stmt->a, NULL, visit, context);
        return;
    }
    visit_term(stmt->a, NULL, visit, context);
    visit_term(stmt->b, NULL, visit, context);
    visit_term(stmt->out, NULL, visit, context);
    for (uint32_t i = 0; i < stmt->arg_count; i++) visit_term(stmt->args[i], NULL, visit, context);
    if (stmt->kind == FLAT_NOT && stmt->needs_all)
        for (size_t i = 0; i < stmt->block->count; i++) visit_direct(stmt->block->stmts[i], unit, visit, context);
}

static void visit_deep(const FlatStmt *stmt, const FlatUnit *unit, VarVisit visit, void *context)
{
    visit_with(stmt, unit, visit, context);
    visit_term(stmt->a, unit, visit, context);
    visit_term(stmt->b, unit, visit, context);
    visit_term(stmt->out, unit, visit, context);
    uint32_t arg_count = stmt->kind == FLAT_EVERY ? 2 : stmt->arg_count;
    for (uint32_t i = 0; i < arg_count; i++) visit_term(stmt->args[i], unit, visit, context);
    if (stmt->block) visit_block(stmt->block, unit, visit, context);
    if (stmt->other) visit_block(stmt->other, unit, visit, context);
}

static void visit_block(const FlatBlock *block, const FlatUnit *unit, VarVisit visit, void *context)
{
    for (size_t i = 0; i < block->count; i++) visit_deep(block->stmts[i], unit, visit, context);
    visit_term(block->key, unit, visit, context);
    visit_term(block->value, unit, visit, context);
}

/* --- which variables a statement needs and binds ----------------------------------------------------------------- */

typedef struct BoundCheck {
    const uint8_t *bound;
    bool all;
} BoundCheck;

static void check_bound(void *context, const FlatTerm *var)
{
    BoundCheck *check = context;
    if (!check->bound[var->var]) check->all = false;
}

static bool is_bound(const FlatTerm *term, const uint8_t *bound)
{
    BoundCheck check = { bound, true };
    visit_term(term, NULL, check_bound, &check);
    return check.all;
}

/* Marks the variables of a pattern that a value is matched with. Keys of objects and items of sets have to be known. */
static bool pattern_bind(const FlatTerm *term, uint8_t *bound)
{
    switch ((FlatTermKind)term->kind) {
    case FLAT_VAR: bound[term->var] = 1; return true;
    case FLAT_ARRAY: {
        bool all = true;
        for (uint32_t i = 0; i < term->count; i++) all &= pattern_bind(term->items[i], bound);
        return all;
    }
    case FLAT_OBJECT: {
        bool all = true;
        for (uint32_t i = 0; i < term->count; i += 2)
            all &= is_bound(term->items[i], bound) && pattern_bind(term->items[i + 1], bound);
        return all;
    }
    case FLAT_SET: return is_bound(term, bound);
    case FLAT_CONST:
    case FLAT_INPUT:
    case FLAT_DATA:
    case FLAT_REF:
    case FLAT_COMPREHENSION: return true;
    }
    return true;
}

/* The same for a constant: where its shape is another one, nothing is bound. */
static bool pattern_bind_value(const FlatTerm *term, Value value, uint8_t *bound)
{
    if (term->kind == FLAT_ARRAY && value.kind == VALUE_ARRAY && term->count == value.count) {
        bool all = true;
        for (uint32_t i = 0; i < term->count; i++) all &= pattern_bind_value(term->items[i], value.items[i], bound);
        return all;
    }
    if (term->kind == FLAT_OBJECT && value.kind == VALUE_OBJECT && term->count == 2 * value.count) {
        bool all = true;
        for (uint32_t i = 0; i < term->count; i += 2) {
            bool is_known = term->items[i]->kind == FLAT_CONST;
            const Value *member = is_known ? value_lookup(value, term->items[i]->value) : NULL;
            if (member) all &= pattern_bind_value(term->items[i + 1], *member, bound);
            else all &= !is_known && is_bound(term->items[i], bound) && pattern_bind(term->items[i + 1], bound);
        }
        return all;
    }
    return term->kind == FLAT_VAR ? pattern_bind(term, bound) : is_bound(term, bound);
}

/* A ref binds the variables in its brackets, once its head is known. */
static bool ref_bind(const FlatTerm *ref, uint8_t *bound)
{
    if (!is_bound(ref->items[0], bound)) return false;
    bool all = true;
    for (uint32_t i = 1; i < ref->count; i++) all &= pattern_bind(ref->items[i], bound);
    return all;
}

static bool unify_bind(const FlatTerm *a, const FlatTerm *b, uint8_t *bound);

static bool items_bind(const FlatTerm *a, const FlatTerm *b, uint8_t *bound)
{
    if (a->count != b->count) return is_bound(a, bound) && is_bound(b, bound);
    uint32_t step = a->kind == FLAT_OBJECT ? 2 : 1;
    bool all = false;
    for (uint32_t round = 0; !all && round < 1 + a->count; round++) {
        all = true;
        bool progress = false;
        for (uint32_t i = step - 1; i < a->count; i += step) {
            const FlatTerm *x = a->items[i], *y = b->items[i];
            if (step == 2) {
                if (!is_bound(a->items[i - 1], bound) || !is_bound(b->items[i - 1], bound)) return false;
                /* Pairs are matched by key: those that are not constants and equal are compared at run time. */
                y = NULL;
                for (uint32_t k = 0; k < b->count; k += 2) {
                    const FlatTerm *p = a->items[i - 1], *q = b->items[k];
                    bool same = (p->kind == FLAT_CONST && q->kind == FLAT_CONST && value_equals(p->value, q->value))
                             || (p->kind == FLAT_VAR && q->kind == FLAT_VAR && p->var == q->var);
                    if (same) y = b->items[k + 1];
                }
                if (!y) return is_bound(a, bound) && is_bound(b, bound);
            }
            bool before = is_bound(x, bound) && is_bound(y, bound);
            if (before) continue;
            if (unify_bind(x, y, bound)) progress = true;
            else all = false;
        }
        if (!progress) break;
    }
    return all;
}

static bool is_value(const FlatTerm *term)
{
    return term->kind == FLAT_REF || term->kind == FLAT_COMPREHENSION || term->kind == FLAT_INPUT;
}

static bool unify_bind(const FlatTerm *a, const FlatTerm *b, uint8_t *bound)
{
    if (a->kind == FLAT_REF && !ref_bind(a, bound)) return false;
    if (b->kind == FLAT_REF && !ref_bind(b, bound)) return false;
    if (a->kind == FLAT_CONST) return pattern_bind_value(b, a->value, bound);
    if (b->kind == FLAT_CONST) return pattern_bind_value(a, b->value, bound);
    bool a_has_items = a->kind == FLAT_ARRAY || a->kind == FLAT_OBJECT;
    bool b_has_items = b->kind == FLAT_ARRAY || b->kind == FLAT_OBJECT;
    if (a_has_items && b_has_items)
        return a->kind == b->kind ? items_bind(a, b, bound) : is_bound(a, bound) && is_bound(b, bound);
    if (is_value(a) || is_bound(a, bound)) return pattern_bind(b, bound);
    if (is_value(b) || is_bound(b, bound)) return pattern_bind(a, bound);
    return false;
}

static bool equal_bind(const FlatTerm *term, uint8_t *bound)
{
    return term->kind == FLAT_REF ? ref_bind(term, bound) : is_bound(term, bound);
}

/* Marks what the statement binds; false where something it needs is missing. Nested blocks are not looked at. */
static bool stmt_bind(const FlatStmt *stmt, uint8_t *bound)
{
    switch ((FlatStmtKind)stmt->kind) {
    case FLAT_TEST: return equal_bind(stmt->a, bound);
    case FLAT_UNIFY: return unify_bind(stmt->a, stmt->b, bound);
    case FLAT_EQUAL: {
        bool first = equal_bind(stmt->a, bound);
        return equal_bind(stmt->b, bound) && (first || equal_bind(stmt->a, bound));
    }
    case FLAT_CALL:
        for (uint32_t i = 0; i < stmt->arg_count; i++)
            if (!is_bound(stmt->args[i], bound)) return false;
        return !stmt->out || pattern_bind(stmt->out, bound);
    case FLAT_EVERY: return is_bound(stmt->a, bound);
    case FLAT_NOT:
    case FLAT_BOTH:
    case FLAT_EITHER: return true;
    case FLAT_NOTE: return !stmt->a || is_bound(stmt->a, bound);
    }
    return true;
}

void safety_outputs(const FlatStmt *stmt, uint8_t *bound)
{
    (void)stmt_bind(stmt, bound);
}

/* --- ready or not ------------------------------------------------------------------------------------------------ */

static void check_closure(void *context, const FlatTerm *var)
{
    Safety *s = context;
    if (!s->visible[var->var] || s->bound[var->var]) return;
    s->is_safe = false;                 /* borrowed as the answer by closures_ready() */
}

/* Variables of nested blocks that also stand outside of them have to be bound before. */
static bool closures_ready(Safety *s, const FlatStmt *stmt)
{
    bool before = s->is_safe;
    s->is_safe = true;
    if (stmt->block) visit_block(stmt->block, s->unit, check_closure, s);
    if (stmt->other) visit_block(stmt->other, s->unit, check_closure, s);
    const FlatTerm *terms[2] = { stmt->a, stmt->b };
    for (uint32_t i = 0; i < 2; i++)
        if (terms[i] && terms[i]->kind == FLAT_COMPREHENSION) visit_block(terms[i]->block, s->unit, check_closure, s);
    for (uint32_t i = 0; stmt->kind == FLAT_NOTE && i < stmt->arg_count; i++)
        visit_block(stmt->args[i]->block, s->unit, check_closure, s);
    bool ready = s->is_safe;
    s->is_safe = before;
    return ready;
}

typedef struct Undo {
    uint32_t *vars;
    size_t count, capacity;
} Undo;

typedef struct Note {
    Safety *safety;
    Undo *undo;
} Note;

static void note_unbound(void *context, const FlatTerm *var)
{
    Note *note = context;
    if (note->safety->bound[var->var]) return;
    Undo *undo = note->undo;
    undo->vars = arena_grow(note->safety->names->arena, undo->vars, sizeof *undo->vars, undo->count, &undo->capacity);
    undo->vars[undo->count++] = var->var;
}

/* Whether the statement may come next; its outputs are marked then, and remembered in `undo`. */
static bool stmt_take(Safety *s, const FlatStmt *stmt, Undo *undo)
{
    size_t from = undo->count;
    Note note = { s, undo };
    BoundCheck with = { s->bound, true };
    visit_with(stmt, s->unit, check_bound, &with);
    if (!with.all || !closures_ready(s, stmt)) return false;
    visit_direct(stmt, s->unit, note_unbound, &note);
    bool ready = stmt_bind(stmt, s->bound);
    for (size_t i = from; i < undo->count; i++) ready &= s->bound[undo->vars[i]];
    if (ready) return true;
    for (size_t i = from; i < undo->count; i++) s->bound[undo->vars[i]] = 0;
    undo->count = from;
    return false;
}

/* --- what is unsafe ---------------------------------------------------------------------------------------------- */

static Str rule_name(Arena *arena, const RegoRule *rule)
{
    Buf buf;
    buf_init(&buf, REGO_TEXT_SIZE_MAX);
    rego_print_ref(&buf, rule->head.ref, rule->head.ref_count, REGO_PRINT_CALLS);
    Str text = arena_copy(arena, buf_peek(&buf));
    buf_deinit(&buf);
    return text;
}

/* " in rule p" where another rule begins in the same line, so that the line does not say which one is meant. */
static Str unsafe_where(const Names *names)
{
    if (!names->rule || !names->module) return (Str){ 0 };
    Str name = rule_name(names->arena, names->rule);
    for (uint32_t i = 0; i < names->module->rule_count; i++) {
        const RegoRule *other = names->module->rules[i];
        if (other == names->rule || other->loc.row != names->rule->loc.row) continue;
        if (!str_is(rule_name(names->arena, other), name))
            return arena_format(names->arena, " in rule %.*s", STR_ARG(name));
    }
    return (Str){ 0 };
}

static void report(Safety *s, uint32_t var, RegoLoc loc)
{
    FlatVar *v = &s->unit->vars[var];
    s->is_safe = false;
    if ((v->flags & FLAT_VAR_GENERATED) || s->reported[var]) return;
    s->reported[var] = 1;
    Str name = v->flags & FLAT_VAR_WILDCARD ? STR("_") : v->name;
    RegoErrors *errors = s->names->errors;
    RegoPass pass = errors->pass;
    if (s->in_note) {
        errors->pass = REGO_PASS_VALUES;        /* others look at these before they look for unsafe ones */
        rego_errors_add(errors, REGO_ERROR_COMPILE, s->names->file, loc, "var %.*s is undeclared", STR_ARG(name));
        errors->pass = pass;
    } else {
        rego_errors_add(errors, REGO_ERROR_UNSAFE_VAR, s->names->file, loc, "var %.*s is unsafe%.*s", STR_ARG(name),
                        STR_ARG(unsafe_where(s->names)));
    }
}

typedef struct Unsafe {
    Safety *safety;
    const uint8_t *assigned;        /* by variable: the left side of := in a statement that is left; NULL: report all */
    RegoLoc loc;
    bool use_own_loc, any;
} Unsafe;

static void report_var(void *context, const FlatTerm *var)
{
    Unsafe *unsafe = context;
    if (unsafe->safety->bound[var->var]) return;
    if (unsafe->assigned && unsafe->assigned[var->var]) return;
    if (!(unsafe->safety->unit->vars[var->var].flags & FLAT_VAR_GENERATED)) unsafe->any = true;
    report(unsafe->safety, var->var, unsafe->use_own_loc ? var->loc : unsafe->loc);
}

static void report_closure_var(void *context, const FlatTerm *var)
{
    Unsafe *unsafe = context;
    if (unsafe->safety->visible[var->var]) report_var(context, var);
}

/* Where messages about a statement's variables point: a call that was taken out is an expression of its own. */
static RegoLoc stmt_place(const Safety *s, const FlatStmt *stmt)
{
    if (s->in_part) return s->outer;
    if (stmt->kind == FLAT_EVERY) return stmt->a->loc;
    bool is_taken_out = stmt->kind == FLAT_CALL && stmt->out && !stmt->out_is_arg;
    return is_taken_out ? stmt->loc : stmt->expr_loc;
}

/* What is left of an expression that cannot run: variables that it would bind by itself are not to blame. */
static void report_stmt(Safety *s, const FlatStmt *stmt, const uint8_t *assigned, bool *any)
{
    Unsafe unsafe = { s, assigned, stmt_place(s, stmt), false, false };
    Undo own = { 0 };
    Note note = { s, &own };
    visit_with(stmt, s->unit, report_var, &unsafe);         /* needed before the expression binds anything */
    visit_direct(stmt, s->unit, note_unbound, &note);
    (void)stmt_bind(stmt, s->bound);
    if (stmt->kind == FLAT_CALL && stmt->out && !stmt->out_is_arg) {
        visit_with(stmt, s->unit, report_var, &unsafe);
        for (uint32_t i = 0; i < stmt->arg_count; i++) visit_term(stmt->args[i], NULL, report_var, &unsafe);
        unsafe.loc = s->in_part ? s->outer : stmt->expr_loc;
        visit_term(stmt->out, NULL, report_var, &unsafe);
    } else {
        visit_direct(stmt, s->unit, report_var, &unsafe);
    }
    for (size_t i = 0; i < own.count; i++) s->bound[own.vars[i]] = 0;
    if (stmt->block) visit_block(stmt->block, s->unit, report_closure_var, &unsafe);
    if (stmt->other) visit_block(stmt->other, s->unit, report_closure_var, &unsafe);
    const FlatTerm *terms[2] = { stmt->a, stmt->b };
    for (uint32_t i = 0; i < 2; i++)
        if (terms[i] && terms[i]->kind == FLAT_COMPREHENSION)
            visit_block(terms[i]->block, s->unit, report_closure_var, &unsafe);
    unsafe.use_own_loc = true;
    bool in_note = s->in_note;
    s->in_note |= stmt->kind == FLAT_NOTE;
    for (uint32_t i = 0; stmt->kind == FLAT_NOTE && i < stmt->arg_count; i++)
        visit_block(stmt->args[i]->block, s->unit, report_closure_var, &unsafe);
    s->in_note = in_note;
    *any |= unsafe.any;
}

static void report_rest(Safety *s, FlatStmt *const *rest, size_t count)
{
    s->is_safe = false;
    uint8_t *assigned = ARENA_ARRAY(s->names->arena, uint8_t, s->unit->var_count + 1);
    for (size_t i = 0; i < count; i++) {
        const FlatTerm *pattern = rest[i]->kind == FLAT_CALL ? rest[i]->out : rest[i]->a;
        if (rest[i]->is_assign && pattern) pattern_bind(pattern, assigned);
    }
    bool any = false;
    for (size_t i = 0; i < count; i++) report_stmt(s, rest[i], assigned, &any);
    for (size_t i = 0; !any && i < count; i++) report_stmt(s, rest[i], NULL, &any);
    const RegoErrors *errors = s->names->errors;
    if (errors->count + errors->dropped == s->error_count)  /* whatever the reason, it cannot run */
        rego_errors_add(s->names->errors, REGO_ERROR_UNSAFE_VAR, s->names->file, stmt_place(s, rest[0]),
                        "expression is unsafe");
}

/* --- blocks ------------------------------------------------------------------------------------------------------ */

static void count_visible(void *context, const FlatTerm *var)
{
    ((Safety *)context)->visible[var->var]++;
}

static void count_hidden(void *context, const FlatTerm *var)
{
    ((Safety *)context)->visible[var->var]--;
}

static void block_visit_direct(Safety *s, const FlatBlock *block, FlatTerm *const *heads, uint32_t head_count,
                               VarVisit visit)
{
    for (size_t i = 0; i < block->count; i++) visit_direct(block->stmts[i], s->unit, visit, s);
    visit_term(block->key, NULL, visit, s);
    visit_term(block->value, NULL, visit, s);
    for (uint32_t i = 0; i < head_count; i++) visit_term(heads[i], NULL, visit, s);
}

static void block_order(Safety *s, FlatBlock *block, FlatTerm *const *heads, uint32_t head_count, Undo *undo);

static void nested_order(Safety *s, FlatBlock *block)
{
    Undo undo = { 0 };
    block_order(s, block, NULL, 0, &undo);
    for (size_t i = 0; i < undo.count; i++) s->bound[undo.vars[i]] = 0;
}

static void report_undeclared(void *context, const FlatTerm *var)
{
    Safety *s = context;
    if (!s->bound[var->var] && !(s->unit->vars[var->var].flags & FLAT_VAR_GENERATED)) report(s, var->var, s->outer);
}

/* A part of a template goes through nothing: its variables come from outside. */
static void part_check(Safety *s, const FlatBlock *block)
{
    if (!block->count && block->value->kind == FLAT_VAR) return;    /* a variable alone is told as unsafe */
    bool in_note = s->in_note;
    s->in_note = true;
    for (size_t i = 0; i < block->count; i++) visit_direct(block->stmts[i], s->unit, report_undeclared, s);
    visit_term(block->value, NULL, report_undeclared, s);
    s->in_note = in_note;
}

static void nested_order_term(Safety *s, const FlatTerm *term)
{
    if (!term || term->kind != FLAT_COMPREHENSION) return;
    bool in_part = s->in_part;
    s->in_part |= term->is_part;
    if (term->is_part) part_check(s, term->block);
    nested_order(s, term->block);
    s->in_part = in_part;
}

static void stmt_order_inside(Safety *s, FlatStmt *stmt)
{
    Undo each = { 0 };
    RegoLoc outer = s->outer;
    if (!s->in_part) s->outer = stmt->expr_loc;
    if (stmt->kind == FLAT_EVERY) {
        Note note = { s, &each };
        for (uint32_t i = 0; i < 2; i++) {
            if (!stmt->args[i]) continue;
            visit_term(stmt->args[i], NULL, note_unbound, &note);
            pattern_bind(stmt->args[i], s->bound);
        }
    }
    if (stmt->block) nested_order(s, stmt->block);
    if (stmt->other) nested_order(s, stmt->other);
    for (size_t i = 0; i < each.count; i++) s->bound[each.vars[i]] = 0;
    nested_order_term(s, stmt->a);
    nested_order_term(s, stmt->b);
    bool in_note = s->in_note;
    s->in_note |= stmt->kind == FLAT_NOTE;
    for (uint32_t i = 0; stmt->kind == FLAT_NOTE && i < stmt->arg_count; i++) nested_order_term(s, stmt->args[i]);
    s->in_note = in_note;
    s->outer = outer;
}

/* Statements keep their order as far as it is possible: in each round those are taken that have all they need. */
static void block_order(Safety *s, FlatBlock *block, FlatTerm *const *heads, uint32_t head_count, Undo *undo)
{
    block_visit_direct(s, block, heads, head_count, count_visible);
    size_t count = block->count, taken = 0, left = count;
    FlatStmt **ordered = ARENA_ARRAY(s->names->arena, FlatStmt *, count + 1);
    FlatStmt **rest = ARENA_ARRAY(s->names->arena, FlatStmt *, count + 1);
    for (size_t i = 0; i < count; i++) rest[i] = block->stmts[i];
    for (bool progress = true; progress && left;) {
        progress = false;
        size_t kept = 0;
        for (size_t i = 0; i < left; i++) {
            if (++s->work > ORDER_WORK_MAX) break;
            if (!stmt_take(s, rest[i], undo)) {
                rest[kept++] = rest[i];
                continue;
            }
            ordered[taken++] = rest[i];
            stmt_order_inside(s, rest[i]);
            progress = true;
        }
        if (s->work > ORDER_WORK_MAX) {
            rego_errors_add(s->names->errors, REGO_ERROR_COMPILE, s->names->file, rest[0]->expr_loc,
                            "the expressions of this rule take too much work to be put in order");
            s->is_safe = false;
            return;
        }
        left = kept;
    }
    if (left) report_rest(s, rest, left);
    for (size_t i = 0; i < left; i++) ordered[taken++] = rest[i];
    block->stmts = ordered;
    Unsafe unsafe = { s, NULL, s->outer, s->in_note, false };
    visit_term(block->key, NULL, report_var, &unsafe);
    visit_term(block->value, NULL, report_var, &unsafe);
    unsafe.use_own_loc = true;
    if (!left) {
        for (uint32_t i = 0; i < head_count; i++) visit_term(heads[i], NULL, report_var, &unsafe);
    }
    block_visit_direct(s, block, heads, head_count, count_hidden);
}

bool safety_order(const Names *names, FlatUnit *unit, FlatBlock *block, uint8_t *bound, FlatTerm *const *heads,
                  uint32_t head_count)
{
    Safety s = { .names = names, .unit = unit, .bound = bound, .is_safe = true };
    s.error_count = names->errors->count + names->errors->dropped;
    s.visible = ARENA_ARRAY(names->arena, uint32_t, unit->var_count + 1);
    s.reported = ARENA_ARRAY(names->arena, uint8_t, unit->var_count + 1);
    Undo undo = { 0 };
    block_order(&s, block, heads, head_count, &undo);
    return s.is_safe;
}

static void mark_var(void *context, const FlatTerm *var)
{
    ((uint8_t *)context)[var->var] = 1;
}

void safety_heads(const Names *names, FlatUnit *unit, const FlatBlock *block, const uint8_t *bound,
                  FlatTerm *const *heads, uint32_t head_count)
{
    uint8_t *known = ARENA_ARRAY(names->arena, uint8_t, unit->var_count + 1);
    if (unit->var_count) memcpy(known, bound, unit->var_count);
    for (size_t i = 0; i < block->count; i++) visit_direct(block->stmts[i], unit, mark_var, known);
    Safety s = { .names = names, .unit = unit, .bound = known };
    s.reported = ARENA_ARRAY(names->arena, uint8_t, unit->var_count + 1);
    Unsafe unsafe = { &s, NULL, { 0 }, true, false };
    for (uint32_t i = 0; i < head_count; i++) visit_term(heads[i], NULL, report_var, &unsafe);
}
