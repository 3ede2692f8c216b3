#include "rego/flatten.h"

#include "base/check.h"
#include "base/limits.h"

/* --- patterns ---------------------------------------------------------------------------------------------------- */

/* The left side of := or of `some ... in`: its variables are declared. */
static FlatTerm *flat_pattern(Flattener *f, const RegoTerm *term, ScopeKind kind)
{
    bool is_object = term->kind == REGO_TERM_OBJECT;
    if (term->kind == REGO_TERM_VAR) return flat_var(f, scope_declare(f, term->name, kind, term->loc), term->loc);
    if (term->kind != REGO_TERM_ARRAY && !is_object) {
        if (kind == SCOPE_ASSIGNED)
            flat_error(f, REGO_ERROR_COMPILE, term->loc, "cannot assign to %s", rego_term_kind_name(term));
        return flat_operand(f, term);
    }
    FlatTerm *flat = flat_new(f, is_object ? FLAT_OBJECT : FLAT_ARRAY, term->loc);
    flat->count = is_object ? 2 * term->count : term->count;
    flat->items = ARENA_ARRAY(f->arena, FlatTerm *, flat->count + 1u);
    bool is_const = true;
    for (uint32_t i = 0; i < flat->count; i++) {
        if (is_object && i % 2 == 0) flat->items[i] = flat_operand(f, term->pairs[i / 2].key);
        else flat->items[i] = flat_pattern(f, is_object ? term->pairs[i / 2].value : term->items[i], kind);
        if (flat->items[i]->kind != FLAT_CONST) is_const = false;
    }
    return is_const ? flat_const(f, flat_fold(f, flat), term->loc) : flat;
}

/* --- with -------------------------------------------------------------------------------------------------------- */

static bool path_of(Flattener *f, const FlatTerm *ref, FlatTarget *target)
{
    target->path = ARENA_ARRAY(f->arena, Value, ref->count);
    target->path_count = ref->count - 1;
    for (uint32_t i = 1; i < ref->count; i++) {
        if (ref->items[i]->kind != FLAT_CONST || ref->items[i]->value.kind != VALUE_STRING) return false;
        target->path[i - 1] = ref->items[i]->value;
    }
    return true;
}

static bool replaces_in_part(Flattener *f, const FlatTarget *target)
{
    const TreeNode *node = f->names->policy->root;
    for (uint32_t i = 0; node && i < target->path_count; i++) {
        if (node->group) return true;
        node = tree_child(node, target->path[i]);
    }
    return false;
}

static bool is_local(Flattener *f, Str name)
{
    for (Scope *scope = f->scope; scope; scope = scope->parent) {
        const ScopeEntry *entry = scope_find(scope, name);
        if (entry && entry->kind != SCOPE_SEEN) return true;
    }
    return false;
}

static bool names_function(Flattener *f, const RegoTerm *term, Callee *out_callee)
{
    if (term->kind != REGO_TERM_VAR && term->kind != REGO_TERM_REF) return false;
    const RegoTerm *head = term->kind == REGO_TERM_VAR ? term : term->items[0];
    if (head->kind != REGO_TERM_VAR || is_local(f, head->name)) return false;
    for (uint32_t i = 1; term->kind == REGO_TERM_REF && i < term->count; i++)
        if (!rego_term_is_string(term->items[i])) return false;
    return flat_callee(f, term, out_callee);
}

static bool target_function(Flattener *f, const RegoWith *with, const Callee *callee, FlatTarget *target)
{
    if (callee->builtin && (callee->builtin->infix || str_starts(callee->name, STR("internal.")))) {
        flat_error(f, REGO_ERROR_COMPILE, with->target->loc, "with keyword replacing built-in function: target must not be internal");
        return false;
    }
    target->kind = callee->builtin ? FLAT_TARGET_BUILTIN : FLAT_TARGET_GROUP;
    target->builtin = callee->builtin;
    target->group = callee->group;
    Callee by;
    if (!names_function(f, with->value, &by)) return true;
    target->by_builtin = by.builtin;
    target->by_group = by.group;
    if (by.group) flat_use(f, NULL, by.group, with->loc);
    if (by.arity != callee->arity) {
        flat_error(f, REGO_ERROR_TYPE, with->loc, "%.*s: arity mismatch\n\thave: %u\n\twant: %u", STR_ARG(callee->name),
                   by.arity, callee->arity);
        return false;
    }
    return true;
}

static bool target_document(Flattener *f, const RegoWith *with, FlatTarget *target)
{
    FlatTerm *ref = flat_top(f, with->target);
    bool is_input = ref->kind == FLAT_REF && ref->items[0]->kind == FLAT_INPUT;
    if (ref->kind != FLAT_REF || (!is_input && ref->items[0]->kind != FLAT_DATA) || !path_of(f, ref, target)) {
        flat_error(f, REGO_ERROR_TYPE, with->target->loc,
                   "with keyword target must reference existing input, data, or a function");
        return false;
    }
    target->kind = is_input ? FLAT_TARGET_INPUT : FLAT_TARGET_DATA;
    if (!is_input) f->unit->use_count--;        /* replacing is not reading */
    if (is_input || !replaces_in_part(f, target)) return true;
    flat_error(f, REGO_ERROR_COMPILE, with->target->loc, "with keyword cannot partially replace virtual document(s)");
    return false;
}

/* The values of all targets are evaluated outside; what follows is evaluated inside. */
static void with_begin(Flattener *f, const RegoExpr *expr)
{
    if (!expr->with_count) return;
    FlatWith with = { .parent = f->with, .targets = ARENA_ARRAY(f->arena, FlatTarget, expr->with_count) };
    for (uint32_t i = 0; i < expr->with_count; i++) {
        const RegoWith *source = &expr->withs[i];
        FlatTarget target = { 0 };
        Callee callee;
        bool is_good = names_function(f, source->target, &callee) ? target_function(f, source, &callee, &target)
                                                                  : target_document(f, source, &target);
        if (!is_good) continue;
        if (!target.by_builtin && !target.by_group) target.value = flat_operand(f, source->value);
        with.targets[with.count++] = target;
    }
    FlatUnit *unit = f->unit;
    if (!unit->with_count) unit->with_count = 1;
    if (unit->with_count >= unit->with_capacity) {
        size_t capacity = unit->with_capacity ? 2 * unit->with_capacity : 8;
        FlatWith *withs = ARENA_ARRAY(f->arena, FlatWith, capacity);
        for (size_t i = 0; i < unit->with_count && unit->withs; i++) withs[i] = unit->withs[i];
        unit->withs = withs;
        unit->with_capacity = capacity;
    }
    unit->withs[unit->with_count] = with;
    f->with = (uint32_t)unit->with_count++;
}

/* --- expressions ------------------------------------------------------------------------------------------------- */

static void flat_assign(Flattener *f, const RegoTerm *left, const RegoTerm *right, RegoLoc loc)
{
    FlatTerm *constant = right->kind == REGO_TERM_CALL ? flat_metadata(f, right) : NULL;
    if (right->kind == REGO_TERM_CALL && !constant) {
        FlatStmt *call = flat_call(f, right, /* is_statement= */ false);
        FlatTerm *pattern = flat_pattern(f, left, SCOPE_ASSIGNED);
        if (call) call->out = pattern;
        return;
    }
    FlatTerm *value = constant ? constant : flat_top(f, right);
    FlatTerm *pattern = flat_pattern(f, left, SCOPE_ASSIGNED);
    /* A name for a constant is that constant: references through it are known before the evaluation. */
    if (left->kind == REGO_TERM_VAR && value->kind == FLAT_CONST && value->value.kind <= VALUE_STRING && !f->in_query) {
        ScopeEntry *entry = scope_find(f->scope, left->name);
        if (entry && entry->kind == SCOPE_ASSIGNED) entry->constant = &value->value;
    }
    FlatStmt *stmt = flat_add(f, FLAT_UNIFY, loc);
    stmt->a = pattern;
    stmt->b = value;
    stmt->is_assign = true;
}

static void flat_unify(Flattener *f, const RegoTerm *left, const RegoTerm *right, RegoLoc loc)
{
    if (left->kind == REGO_TERM_CALL && right->kind != REGO_TERM_CALL) {
        const RegoTerm *other = left;
        left = right;
        right = other;
    }
    FlatTerm *constant = right->kind == REGO_TERM_CALL ? flat_metadata(f, right) : NULL;
    if (right->kind == REGO_TERM_CALL && !constant) {
        FlatTerm *out = flat_operand(f, left);
        FlatStmt *call = flat_call(f, right, /* is_statement= */ false);
        if (call) call->out = out;
        return;
    }
    FlatTerm *a = flat_top(f, left), *b = constant ? constant : flat_top(f, right);
    FlatStmt *stmt = flat_add(f, FLAT_UNIFY, loc);
    stmt->a = a;
    stmt->b = b;
}

static void flat_print(Flattener *f, const RegoTerm *term)
{
    uint32_t count = term->count - 1;
    FlatTerm **args = ARENA_ARRAY(f->arena, FlatTerm *, count + 1u);
    for (uint32_t i = 0; i < count; i++) {
        FlatTerm *set = flat_new(f, FLAT_COMPREHENSION, term->items[i + 1]->loc);
        set->flavour = REGO_TERM_SET_COMPREHENSION;
        set->block = ARENA_NEW(f->arena, FlatBlock);
        FlatBlock *outer = f->block;
        f->block = set->block;
        set->block->value = flat_operand(f, term->items[i + 1]);
        f->block = outer;
        args[i] = set;
    }
    FlatStmt *note = flat_add(f, FLAT_NOTE, term->loc);
    note->args = args;
    note->arg_count = count;
}

static bool is_operator(const RegoTerm *call, const char *name)
{
    const RegoTerm *operator = call->items[0];
    const RegoTerm *head = operator->kind == REGO_TERM_REF ? operator->items[0] : operator;
    if (operator->kind == REGO_TERM_REF && operator->count != 1) return false;
    return head->kind == REGO_TERM_VAR && str_is_text(head->name, name);
}

static void flat_call_expr(Flattener *f, const RegoTerm *term, RegoLoc loc)
{
    if (term->count == 3 && is_operator(term, "assign")) {
        flat_assign(f, term->items[1], term->items[2], loc);
    } else if (term->count == 3 && is_operator(term, "eq")) {
        flat_unify(f, term->items[1], term->items[2], loc);
    } else if (term->count == 3 && is_operator(term, "equal")) {
        FlatTerm *a = flat_top(f, term->items[1]), *b = flat_top(f, term->items[2]);
        FlatStmt *stmt = flat_add(f, FLAT_EQUAL, loc);
        stmt->a = a;
        stmt->b = b;
    } else if (is_operator(term, "print") && !flat_callee_node(f, term->items[0])) {
        flat_print(f, term);
    } else {
        FlatTerm *constant = flat_metadata(f, term);
        if (constant) flat_add(f, FLAT_TEST, loc)->a = constant;
        else flat_call(f, term, /* is_statement= */ true);
    }
}

/* some key, value in domain  is  value = domain[key] */
static void flat_some_in(Flattener *f, const RegoEach *each, RegoLoc loc)
{
    FlatTerm *ref = flat_new(f, FLAT_REF, loc);
    ref->items = ARENA_ARRAY(f->arena, FlatTerm *, 2);
    ref->count = 2;
    ref->items[0] = flat_operand(f, each->domain);
    f->pattern++;
    ref->items[1] = each->key ? flat_pattern(f, each->key, SCOPE_SOME_IN) : flat_fresh(f, loc);
    FlatTerm *value = flat_pattern(f, each->value, SCOPE_SOME_IN);
    FlatStmt *stmt = flat_add(f, FLAT_UNIFY, loc);
    stmt->a = value;
    stmt->b = ref;
}

static void flat_every(Flattener *f, const RegoEach *each, RegoLoc loc)
{
    FlatTerm *domain = flat_operand(f, each->domain);
    Scope scope;
    scope_begin(f, &scope);
    FlatTerm *key = each->key ? flat_pattern(f, each->key, SCOPE_EVERY) : NULL;
    FlatTerm *value = flat_pattern(f, each->value, SCOPE_EVERY);
    FlatBlock *block = flat_block(f, each->body);
    scope_end(f);
    FlatStmt *stmt = flat_add(f, FLAT_EVERY, loc);
    stmt->a = domain;
    stmt->block = block;
    stmt->args = ARENA_ARRAY(f->arena, FlatTerm *, 2);
    stmt->args[0] = key;
    stmt->args[1] = value;
}

static FlatBlock *flat_scoped(Flattener *f, RegoBody body)
{
    Scope scope;
    scope_begin(f, &scope);
    FlatBlock *block = flat_block(f, body);
    scope_end(f);
    return block;
}

static void flat_logic(Flattener *f, const RegoExpr *expr)
{
    FlatBlock *left = flat_scoped(f, expr->logic->left), *right = flat_scoped(f, expr->logic->right);
    FlatStmt *stmt = flat_add(f, expr->kind == REGO_EXPR_AND ? FLAT_BOTH : FLAT_EITHER, expr->loc);
    stmt->block = left;
    stmt->other = right;
}

static void flat_some(Flattener *f, const RegoSome *some)
{
    for (uint32_t i = 0; i < some->count; i++)
        scope_declare(f, some->vars[i]->name, SCOPE_SOME, some->vars[i]->loc);
}

static void flat_plain(Flattener *f, const RegoExpr *expr)
{
    switch ((RegoExprKind)expr->kind) {
    case REGO_EXPR_TERM: {
        FlatTerm *term = flat_top(f, expr->term);
        flat_add(f, FLAT_TEST, expr->loc)->a = term;
        break;
    }
    case REGO_EXPR_CALL: flat_call_expr(f, expr->term, expr->loc); break;
    case REGO_EXPR_SOME: flat_some(f, expr->some); break;
    case REGO_EXPR_SOME_IN: flat_some_in(f, expr->each, expr->loc); break;
    case REGO_EXPR_EVERY: flat_every(f, expr->each, expr->loc); break;
    case REGO_EXPR_NOT: {
        FlatBlock *block = flat_scoped(f, *expr->not);
        flat_add(f, FLAT_NOT, expr->loc)->block = block;
        break;
    }
    case REGO_EXPR_AND:
    case REGO_EXPR_OR: flat_logic(f, expr); break;
    case REGO_EXPR_KIND_COUNT: break;
    }
}

/* Only what the expression itself became is negated: what was taken out of it has to be defined. */
static void negate_last(Flattener *f, RegoLoc loc)
{
    FlatStmt *inner = f->block->stmts[--f->block->count];
    FlatBlock *block = ARENA_NEW(f->arena, FlatBlock);
    block->stmts = arena_grow(f->arena, NULL, sizeof *block->stmts, 0, &block->capacity);
    block->stmts[block->count++] = inner;
    FlatStmt *stmt = flat_add(f, FLAT_NOT, loc);
    stmt->block = block;
    stmt->needs_all = true;
}

static void place_begin(Flattener *f, RegoLoc loc)
{
    const Names *names = f->names;
    if (!names->places || !loc.row) return;
    *names->places = arena_grow(names->arena, *names->places, sizeof **names->places, *names->place_count,
                                names->place_capacity);
    (*names->places)[(*names->place_count)++] = (RegoPlace){ names->file, loc };
    f->place = (uint32_t)*names->place_count;
}

static void flat_expr(Flattener *f, const RegoExpr *expr)
{
    uint32_t place = f->place, with = f->with;
    RegoLoc expr_loc = f->expr_loc;
    f->expr_loc = expr->loc;
    place_begin(f, expr->loc);
    with_begin(f, expr);
    size_t count = f->block->count;
    flat_plain(f, expr);
    if ((expr->flags & REGO_EXPR_NEGATED) && f->block->count > count) negate_last(f, expr->loc);
    if (f->block->count > count) f->block->stmts[f->block->count - 1]->is_main = true;
    f->expr_loc = expr_loc;
    f->with = with;
    f->place = place;
}

void flat_body(Flattener *f, RegoBody body)
{
    for (uint32_t i = 0; i < body.count; i++) flat_expr(f, body.exprs[i]);
}

FlatTerm *flat_captured(Flattener *f, const RegoExpr *expr)
{
    bool is_value = !(expr->flags & REGO_EXPR_NEGATED)
                 && (expr->kind == REGO_EXPR_TERM || expr->kind == REGO_EXPR_CALL);
    if (is_value && expr->kind == REGO_EXPR_CALL) {
        const RegoTerm *call = expr->term;
        Callee callee;
        is_value = !is_operator(call, "assign") && !is_operator(call, "eq") && !is_operator(call, "print")
                && (!flat_callee(f, call->items[0], &callee) || callee.arity + 1 == call->count);
    }
    if (!is_value) {
        flat_expr(f, expr);
        return flat_const(f, value_bool(true), expr->loc);
    }
    uint32_t place = f->place, with = f->with;
    RegoLoc expr_loc = f->expr_loc;
    f->expr_loc = expr->loc;
    place_begin(f, expr->loc);
    with_begin(f, expr);
    FlatTerm *value = flat_operand(f, expr->term);
    if (f->block->count) f->block->stmts[f->block->count - 1]->is_main = true;
    f->expr_loc = expr_loc;
    f->with = with;
    f->place = place;
    return value;
}

/* --- rules and queries ------------------------------------------------------------------------------------------- */

static void flat_begin(Flattener *f, const Names *names, FlatUnit *unit)
{
    *f = (Flattener){ .names = names, .arena = names->arena, .unit = unit };
    map_init(&f->implicit, names->arena, 0);
}

/* Arguments are the first variables. One that is a pattern is matched against its variable. */
static void flat_args(Flattener *f, const RegoHead *head, FlatRule *out_rule)
{
    uint32_t count = head->arg_count;
    if (count > REGO_ARG_COUNT_MAX)
        flat_error(f, REGO_ERROR_COMPILE, head->loc, "a function has more than REGO_ARG_COUNT_MAX (%u) arguments",
                   REGO_ARG_COUNT_MAX);
    out_rule->arg_count = count;
    out_rule->args = ARENA_ARRAY(f->arena, FlatTerm *, count + 1u);
    for (uint32_t i = 0; i < count; i++) {
        const RegoTerm *arg = head->args[i];
        bool is_plain = arg->kind == REGO_TERM_VAR && !rego_var_is_wildcard(arg->name) && !scope_find(f->scope, arg->name);
        flat_var_add(f, is_plain ? arg->name : (Str){ 0 }, arg->loc, is_plain ? 0 : FLAT_VAR_GENERATED);
        if (is_plain) scope_add(f, f->scope, arg->name, SCOPE_ARG, i, arg->loc);
    }
    for (uint32_t i = 0; i < count; i++) {
        const RegoTerm *arg = head->args[i];
        if (arg->kind == REGO_TERM_VAR) {
            const ScopeEntry *entry = scope_find(f->scope, arg->name);
            if (entry && entry->var != i) out_rule->args[i] = flat_var(f, entry->var, arg->loc);
            continue;
        }
        out_rule->args[i] = flat_pattern(f, arg, SCOPE_ARG);
    }
}

static void flat_branch(Flattener *f, const RuleSource *source, const RegoRule *rule, FlatBranch *branch)
{
    f->block = &branch->block;
    f->place = 0;
    place_begin(f, rule->head.loc);
    branch->place = f->place;
    f->place = 0;
    if (!(rule->flags & REGO_RULE_BODY_GENERATED) || !f->names->places) flat_body(f, rule->body);
    const RegoHead *head = &source->rule->head;
    branch->path_count = head->ref_count - source->path_from;
    branch->path = ARENA_ARRAY(f->arena, FlatTerm *, branch->path_count + 1u);
    for (uint32_t i = 0; i < branch->path_count; i++)
        branch->path[i] = flat_operand(f, head->ref[source->path_from + i]);
    if (rule->head.key) branch->key = flat_operand(f, rule->head.key);
    if (rule->head.value) branch->value = flat_operand(f, rule->head.value);
}

void flat_rule(const Names *names, const RuleSource *source, FlatRule *out_rule)
{
    *out_rule = (FlatRule){ 0 };
    Flattener f;
    flat_begin(&f, names, &out_rule->unit);
    for (const RegoRule *rule = source->rule; rule; rule = rule->otherwise) out_rule->branch_count++;
    out_rule->branches = ARENA_ARRAY(names->arena, FlatBranch, out_rule->branch_count);
    Scope args;
    scope_begin(&f, &args);
    flat_args(&f, &source->rule->head, out_rule);
    FlatBranch *branch = out_rule->branches;
    for (const RegoRule *rule = source->rule; rule; rule = rule->otherwise) {
        Scope scope;
        scope_begin(&f, &scope);
        for (size_t i = 0; i < args.count; i++) {
            ScopeEntry *entry = scope_add(&f, &scope, args.entries[i]->name, SCOPE_ARG, args.entries[i]->var,
                                          args.entries[i]->loc);
            entry->used = args.entries[i]->used;
        }
        flat_branch(&f, source, rule, branch++);
        for (size_t i = 0; i < args.count; i++) {
            if (scope.entries[i]->used) args.entries[i]->used = true;
            scope.entries[i]->used = true;          /* an argument counts as used where one branch uses it */
        }
        scope_end(&f);
    }
    scope_end(&f);
}

void flat_query(const Names *names, RegoBody body, const Str *bound, uint32_t bound_count, bool capture, FlatRule *out_rule,
                FlatTerm ***out_captures)
{
    *out_rule = (FlatRule){ .branch_count = 1, .branches = ARENA_NEW(names->arena, FlatBranch), .arg_count = bound_count };
    out_rule->args = ARENA_ARRAY(names->arena, FlatTerm *, bound_count + 1u);
    Flattener f;
    flat_begin(&f, names, &out_rule->unit);
    f.in_query = true;
    FlatTerm **captures = ARENA_ARRAY(names->arena, FlatTerm *, body.count + 1u);
    Scope scope, args;
    scope_begin(&f, &args);
    for (uint32_t i = 0; i < bound_count; i++) {
        flat_var_add(&f, bound[i], (RegoLoc){ 0 }, 0);
        scope_add(&f, &args, bound[i], SCOPE_SOME_IN, i, (RegoLoc){ 0 });
    }
    scope_begin(&f, &scope);
    f.block = &out_rule->branches[0].block;
    for (uint32_t i = 0; i < body.count; i++) {
        if (!capture) {
            flat_expr(&f, body.exprs[i]);
            continue;
        }
        captures[i] = flat_captured(&f, body.exprs[i]);
        if (body.exprs[i]->kind == REGO_EXPR_SOME) captures[i] = NULL;
        if (!captures[i]) continue;
        /* Expressions have to hold, but one that stands alone and has no variables may be false. */
        bool has_vars = false;
        for (size_t v = bound_count; v < out_rule->unit.var_count; v++)
            has_vars |= !(out_rule->unit.vars[v].flags & FLAT_VAR_GENERATED);
        if (body.count > 1 || has_vars) flat_add(&f, FLAT_TEST, body.exprs[i]->loc)->a = captures[i];
    }
    scope_end(&f);
    scope_end(&f);
    *out_captures = captures;
}
