#include "rego/flatten.h"

#include <string.h>

#include "base/check.h"
#include "base/limits.h"

/* --- patterns ---------------------------------------------------------------------------------------------------- */

/* A part of an argument that is no pattern, as a template: each branch compares it with what was given. */
static FlatTerm *flat_arg_value(Flattener *f, const RegoTerm *term)
{
    const RegoTerm *head = term->kind == REGO_TERM_REF ? term->items[0] : NULL;
    if (term->kind == REGO_TERM_CALL)
        flat_error(f, REGO_PASS_NAMES, REGO_ERROR_COMPILE, term->loc, "rule arguments cannot contain calls");
    if (head && head->kind == REGO_TERM_VAR && !scope_find(f->scope, head->name))
        flat_error(f, REGO_PASS_SAFETY, REGO_ERROR_UNSAFE_VAR, term->loc, "var %.*s is unsafe", STR_ARG(head->name));
    FlatTerm *var = flat_fresh(f, term->loc);
    f->arg_values = arena_grow(f->arena, f->arg_values, sizeof *f->arg_values, f->arg_value_count,
                               &f->arg_value_capacity);
    f->arg_values[f->arg_value_count++] = (ArgValue){ var, term };
    return var;
}

/* The name of a pattern's variable; `input` and `data` are references where they are not shadowed. */
static bool pattern_name(const RegoTerm *term, Str *out_name)
{
    const RegoTerm *var = term->kind == REGO_TERM_REF && term->count == 1 ? term->items[0] : term;
    if (var->kind != REGO_TERM_VAR) return false;
    *out_name = var->name;
    return true;
}

/* Keys of arguments have to be known before anything is matched. */
static FlatTerm *flat_pattern_key(Flattener *f, const RegoTerm *key, ScopeKind kind)
{
    if (kind != SCOPE_ARG || key->kind == REGO_TERM_SCALAR) return flat_operand(f, key);
    flat_error(f, REGO_PASS_NAMES, REGO_ERROR_COMPILE, key->loc, "keys of objects in rule arguments must be constants");
    return flat_const(f, value_null(), key->loc);
}

/* The left side of := or of `some ... in`: its variables are declared. */
static FlatTerm *flat_pattern(Flattener *f, const RegoTerm *term, ScopeKind kind)
{
    bool is_object = term->kind == REGO_TERM_OBJECT;
    Str name;
    RegoLoc loc = f->expr_loc.row && kind != SCOPE_EVERY ? f->expr_loc : term->loc;
    bool is_name = pattern_name(term, &name);
    bool is_root = is_name && (str_is(name, STR("input")) || str_is(name, STR("data")));
    if (is_root && kind == SCOPE_SOME_IN) return flat_operand(f, term);     /* `some ... in` does not shadow them */
    if (is_name) return flat_var(f, scope_declare(f, name, kind, loc), term->loc);
    if (kind == SCOPE_ARG && term->kind != REGO_TERM_ARRAY && !is_object && term->kind != REGO_TERM_SCALAR)
        return flat_arg_value(f, term);
    if (term->kind != REGO_TERM_ARRAY && !is_object) {
        if (kind == SCOPE_ASSIGNED)
            flat_error(f, REGO_PASS_NAMES, REGO_ERROR_COMPILE, term->loc, "cannot assign to %s",
                       rego_term_kind_name(term));
        return flat_operand(f, term);
    }
    FlatTerm *flat = flat_new(f, is_object ? FLAT_OBJECT : FLAT_ARRAY, term->loc);
    flat->count = is_object ? 2 * term->count : term->count;
    flat->items = ARENA_ARRAY(f->arena, FlatTerm *, flat->count + 1u);
    bool is_const = true;
    for (uint32_t i = 0; i < flat->count; i++) {
        if (is_object && i % 2 == 0) flat->items[i] = flat_pattern_key(f, term->pairs[i / 2].key, kind);
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
        if (ref->items[i]->kind != FLAT_CONST) return false;
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

/* A name with members behind it, which is no variable of the rule. */
static bool is_path(Flattener *f, const RegoTerm *term)
{
    if (term->kind != REGO_TERM_VAR && term->kind != REGO_TERM_REF) return false;
    const RegoTerm *head = term->kind == REGO_TERM_VAR ? term : term->items[0];
    if (head->kind != REGO_TERM_VAR || scope_declares(f, head->name)) return false;
    for (uint32_t i = 1; term->kind == REGO_TERM_REF && i < term->count; i++)
        if (!rego_term_is_string(term->items[i])) return false;
    return true;
}

static bool names_function(Flattener *f, const RegoTerm *term, Callee *out_callee)
{
    return is_path(f, term) && flat_callee(f, term, out_callee);
}

/* A rule, or a package: what stands there is known once it was evaluated. */
static bool names_document(Flattener *f, const RegoTerm *term)
{
    return is_path(f, term) && flat_callee_node(f, term);
}

/* A call of what the language itself knows by that name: no rule and no import has it. */
static bool is_operator(Flattener *f, const RegoTerm *call, const char *name)
{
    const RegoTerm *operator = call->items[0];
    const RegoTerm *head = operator->kind == REGO_TERM_REF ? operator->items[0] : operator;
    if (operator->kind == REGO_TERM_REF && operator->count != 1) return false;
    return head->kind == REGO_TERM_VAR && str_is_text(head->name, name) && !flat_name_is_taken(f, operator);
}

static bool is_print(Flattener *f, const RegoTerm *call)
{
    return is_operator(f, call, "print");
}

static bool target_is_allowed(Flattener *f, const RegoExpr *expr, const RegoWith *with, const Callee *callee)
{
    static const char what[] = "with keyword replacing built-in function";
    RegoLoc loc = with->target->loc;
    if (!callee->builtin) return true;
    if (str_is(callee->name, STR("eq")) || str_starts(callee->name, STR("rego.metadata.")))
        flat_error(f, REGO_PASS_WITH, REGO_ERROR_COMPILE, loc, "%s: replacement of \"%.*s\" invalid", what,
                   STR_ARG(callee->name));
    else if (str_starts(callee->name, STR("internal.")))
        flat_error(f, REGO_PASS_WITH, REGO_ERROR_COMPILE, loc, "%s: replacement of internal function \"%.*s\" invalid",
                   what, STR_ARG(callee->name));
    else if (callee->builtin->flags & BUILTIN_RELATION)
        flat_error(f, REGO_PASS_WITH, REGO_ERROR_COMPILE, loc, "%s: target must not be a relation", what);
    else if ((callee->builtin->flags & BUILTIN_VOID) && !(expr->kind == REGO_EXPR_CALL && is_print(f, expr->term)))
        flat_error(f, REGO_PASS_WITH, REGO_ERROR_COMPILE, loc, "%s: target must not be a void function", what);
    else return true;
    return false;
}

static bool target_function(Flattener *f, const RegoExpr *expr, const RegoWith *with, const Callee *callee, FlatTarget *target)
{
    if (!target_is_allowed(f, expr, with, callee)) return false;
    target->loc = with->loc;
    target->kind = callee->builtin ? FLAT_TARGET_BUILTIN : FLAT_TARGET_GROUP;
    target->builtin = callee->builtin;
    target->group = callee->group;
    if (callee->group) flat_use(f, NULL, callee->group, with->loc);
    Callee by;
    if (!names_function(f, with->value, &by)) {
        if (!names_document(f, with->value)) return true;
        target->value = flat_top(f, with->value);
        target->is_late = target->value->kind == FLAT_REF && path_of(f, target->value, target);
        return true;
    }
    if (!flat_callee_is_allowed(f, &by, with->value->loc)) return false;
    if (by.builtin && (by.builtin->flags & BUILTIN_VOID)) {
        flat_error(f, REGO_PASS_TYPES, REGO_ERROR_TYPE, with->value->loc, "%.*s gives nothing and replaces no function",
                   STR_ARG(by.name));
        return false;
    }
    target->by_builtin = by.builtin;
    target->by_group = by.group;
    if (by.group) flat_use(f, NULL, by.group, with->loc);
    return true;
}

static bool target_document(Flattener *f, const RegoWith *with, FlatTarget *target)
{
    FlatTerm *ref = flat_top(f, with->target);
    bool is_input = ref->kind == FLAT_REF && ref->items[0]->kind == FLAT_INPUT;
    if (ref->kind != FLAT_REF || (!is_input && ref->items[0]->kind != FLAT_DATA) || !path_of(f, ref, target)) {
        flat_error(f, REGO_PASS_WITH, REGO_ERROR_TYPE, with->target->loc,
                   "with keyword target must reference existing input, data, or a function");
        return false;
    }
    target->kind = is_input ? FLAT_TARGET_INPUT : FLAT_TARGET_DATA;
    if (is_input || !replaces_in_part(f, target)) return true;
    flat_error(f, REGO_PASS_WITH, REGO_ERROR_COMPILE, with->target->loc,
               "with keyword cannot partially replace virtual document(s)");
    return false;
}

/* The values of all targets are evaluated outside; what follows is evaluated inside. */
static void with_begin(Flattener *f, RegoExpr *expr)
{
    if (!expr->with_count) return;
    if (expr->kind == REGO_EXPR_SOME_IN) flat_some_declare(f, expr);
    FlatWith with = { .parent = f->with, .targets = ARENA_ARRAY(f->arena, FlatTarget, expr->with_count) };
    size_t from = f->block->count;
    for (uint32_t i = 0; i < expr->with_count; i++) {
        const RegoWith *source = &expr->withs[i];
        FlatTarget target = { 0 };
        Callee callee;
        bool is_good = names_function(f, source->target, &callee) ? target_function(f, expr, source, &callee, &target)
                                                                  : target_document(f, source, &target);
        if (!is_good) continue;
        if (!target.by_builtin && !target.by_group && !target.is_late) target.value = flat_operand(f, source->value);
        with.targets[with.count++] = target;
    }
    flat_settle(f, from, f->block->count);
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
        if (!call) return;
        call->out = pattern;
        call->is_assign = true;
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
    bool is_swapped = left->kind == REGO_TERM_CALL && right->kind != REGO_TERM_CALL;
    if (is_swapped) {
        const RegoTerm *other = left;
        left = right;
        right = other;
    }
    FlatTerm *constant = right->kind == REGO_TERM_CALL ? flat_metadata(f, right) : NULL;
    if (right->kind == REGO_TERM_CALL && !constant) {
        FlatTerm *out = flat_operand(f, left);
        FlatStmt *call = flat_call(f, right, /* is_statement= */ false);
        if (!call) return;
        call->out = out;
        call->out_is_right = is_swapped;
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

static void flat_call_expr(Flattener *f, const RegoTerm *term, RegoLoc loc)
{
    if (term->count == 3 && is_operator(f, term, "assign")) {
        flat_assign(f, term->items[1], term->items[2], loc);
        return;
    }
    bool is_eq = term->count == 3 && is_operator(f, term, "eq"), is_equal = term->count == 3 && is_operator(f, term, "equal");
    if ((is_eq || is_equal || is_print(f, term)) && flat_call_is_hidden(f, term, /* is_value= */ false)) return;
    if (is_eq) {
        flat_unify(f, term->items[1], term->items[2], loc);
    } else if (is_equal) {
        /* In a query it is a call like others, of which `not` negates nothing but the answer. */
        FlatTerm *a = f->in_query ? flat_operand(f, term->items[1]) : flat_top(f, term->items[1]);
        FlatTerm *b = f->in_query ? flat_operand(f, term->items[2]) : flat_top(f, term->items[2]);
        FlatStmt *stmt = flat_add(f, FLAT_EQUAL, loc);
        stmt->a = a;
        stmt->b = b;
    } else if (is_print(f, term)) {
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
    FlatTerm *domain = flat_top(f, each->domain);
    if (domain->kind == FLAT_COMPREHENSION) domain = flat_extract(f, domain);
    bool is_ref = domain->kind == FLAT_REF;
    FlatTerm *ref = flat_new(f, FLAT_REF, loc);
    ref->count = (is_ref ? domain->count : 1) + 1;
    ref->items = ARENA_ARRAY(f->arena, FlatTerm *, ref->count);
    if (is_ref) memcpy(ref->items, domain->items, domain->count * sizeof *ref->items);
    else ref->items[0] = domain;
    const RegoEach *outer = f->each;
    f->each = each;
    ref->items[ref->count - 1] = each->key ? flat_pattern(f, each->key, SCOPE_SOME_IN) : flat_fresh(f, loc);
    FlatTerm *value = flat_pattern(f, each->value, SCOPE_SOME_IN);
    f->each = outer;
    scope_see(f, STR("eq"), loc);
    FlatStmt *stmt = flat_add(f, FLAT_UNIFY, loc);
    stmt->a = value;
    stmt->b = ref;
}

static void flat_every(Flattener *f, const RegoEach *each, RegoLoc loc)
{
    const RegoEach *outer = f->domain;
    f->domain = each;
    FlatTerm *domain = flat_operand(f, each->domain);
    f->domain = outer;
    Scope scope;
    scope_begin(f, &scope);
    FlatTerm *key = each->key ? flat_pattern(f, each->key, SCOPE_EVERY) : NULL;
    FlatTerm *value = flat_pattern(f, each->value, SCOPE_EVERY);
    for (size_t i = 0; i < scope.count; i++) scope.entries[i]->loc = each->body.exprs[0]->loc;
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
    for (uint32_t i = 0; i < some->count; i++) {
        scope_declare(f, some->vars[i]->name, SCOPE_SOME, f->expr_loc);
        if (!rego_var_is_wildcard(some->vars[i]->name) || f->has_name_errors) continue;
        flat_error(f, REGO_PASS_USES, REGO_ERROR_COMPILE, f->expr_loc, "declared var _ unused");    /* each is another one */
        f->has_name_errors = true;
    }
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

static void flat_expr(Flattener *f, RegoExpr *expr)
{
    uint32_t with = f->with;
    RegoLoc expr_loc = f->expr_loc;
    f->expr_loc = expr->loc;
    with_begin(f, expr);
    size_t count = f->block->count;
    flat_plain(f, expr);
    if (f->block->count > count) flat_settle(f, count, f->block->count - 1);
    if ((expr->flags & REGO_EXPR_NEGATED) && f->block->count > count) negate_last(f, expr->loc);
    if (f->block->count > count) f->block->stmts[f->block->count - 1]->is_main = true;
    f->expr_loc = expr_loc;
    f->with = with;
}

void flat_body(Flattener *f, RegoBody body)
{
    for (uint32_t i = 0; i < body.count; i++) flat_expr(f, body.exprs[i]);
}

FlatTerm *flat_captured(Flattener *f, RegoExpr *expr)
{
    bool is_value = !(expr->flags & REGO_EXPR_NEGATED)
                 && (expr->kind == REGO_EXPR_TERM || expr->kind == REGO_EXPR_CALL);
    if (is_value && expr->kind == REGO_EXPR_CALL) {
        const RegoTerm *call = expr->term;
        Callee callee;
        is_value = !is_operator(f, call, "assign") && !is_operator(f, call, "eq") && !is_operator(f, call, "print")
                && (!flat_callee(f, call->items[0], &callee) || callee.arity + 1 == call->count);
        if (is_value && flat_call_is_hidden(f, call, /* is_value= */ false)) return flat_const(f, value_null(), expr->loc);
    }
    if (!is_value) {
        flat_expr(f, expr);
        return flat_const(f, value_bool(true), expr->loc);
    }
    uint32_t with = f->with;
    RegoLoc expr_loc = f->expr_loc;
    f->expr_loc = expr->loc;
    with_begin(f, expr);
    size_t from = f->block->count;
    FlatTerm *value = flat_operand(f, expr->term);
    flat_settle(f, from, f->block->count);
    if (f->block->count) f->block->stmts[f->block->count - 1]->is_main = true;
    f->expr_loc = expr_loc;
    f->with = with;
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
        flat_error(f, REGO_PASS_NAMES, REGO_ERROR_COMPILE, head->loc,
                   "a function has more than REGO_ARG_COUNT_MAX (%u) arguments", REGO_ARG_COUNT_MAX);
    out_rule->arg_count = count;
    out_rule->args = ARENA_ARRAY(f->arena, FlatTerm *, count + 1u);
    for (uint32_t i = 0; i < count; i++) {
        const RegoTerm *arg = head->args[i];
        Str name = { 0 };
        bool is_plain = pattern_name(arg, &name) && !rego_var_is_wildcard(name) && !scope_find(f->scope, name);
        flat_var_add(f, is_plain ? name : (Str){ 0 }, arg->loc, is_plain ? 0 : FLAT_VAR_GENERATED);
        if (is_plain) scope_add(f, f->scope, name, SCOPE_ARG, i, head->loc);
    }
    for (uint32_t i = 0; i < count; i++) {
        const RegoTerm *arg = head->args[i];
        Str name;
        if (pattern_name(arg, &name)) {
            const ScopeEntry *entry = scope_find(f->scope, name);
            if (entry && entry->var != i) out_rule->args[i] = flat_var(f, entry->var, arg->loc);
            continue;
        }
        out_rule->args[i] = flat_pattern(f, arg, SCOPE_ARG);
    }
}

/* A term of a head is an expression of its own, behind the body. */
static FlatTerm *flat_head(Flattener *f, const RegoTerm *term)
{
    size_t from = f->block->count;
    FlatTerm *flat = flat_operand(f, term);
    flat_settle(f, from, f->block->count);
    return flat;
}

static FlatTerm *flat_head_value(Flattener *f, const RegoTerm *term)
{
    f->head = f->scope;
    FlatTerm *flat = flat_head(f, term);
    f->head = NULL;
    return flat;
}

static void flat_branch(Flattener *f, const RuleSource *source, const RegoRule *rule, FlatBranch *branch)
{
    f->block = &branch->block;
    f->branch = rule;
    branch->place = place_new(f->names, REGO_PLACE_RULE, rule->head.loc);
    for (size_t i = 0; i < f->arg_value_count; i++) {
        FlatTerm *value = flat_top(f, f->arg_values[i].term);
        FlatStmt *stmt = flat_add(f, FLAT_UNIFY, f->arg_values[i].term->loc);
        stmt->a = f->arg_values[i].var;
        stmt->b = value;
    }
    flat_body(f, rule->body);
    flat_calls_check(f);
    const RegoHead *head = &source->rule->head;
    branch->path_count = head->ref_count - source->path_from;
    branch->path = ARENA_ARRAY(f->arena, FlatTerm *, branch->path_count + 1u);
    for (uint32_t i = 0; i < branch->path_count; i++)
        branch->path[i] = flat_head(f, head->ref[source->path_from + i]);
    if (rule->head.key) branch->key = flat_head_value(f, rule->head.key);
    if (rule->head.value) branch->value = flat_head_value(f, rule->head.value);
    f->call_count = 0;
    /* The body `true` that nobody wrote is shown where there is nothing else to show. */
    FlatBlock *block = &branch->block;
    if (f->names->places && (rule->flags & REGO_RULE_BODY_GENERATED) && block->count > 1)
        memmove(block->stmts, block->stmts + 1, --block->count * sizeof *block->stmts);
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
    if (!names->places) return;
    out_rule->unit.local_base = names->places->local_count;
    names->places->local_count += (uint32_t)out_rule->unit.var_count;
}

static bool walk_iterates(void *context, RegoTerm **place)
{
    const RegoTerm *term = *place;
    bool *iterates = context;
    if (term->kind == REGO_TERM_VAR && str_is(term->name, STR("walk"))) *iterates = true;
    for (uint32_t i = 1; term->kind == REGO_TERM_REF && i < term->count; i++)
        if (term->items[i]->kind == REGO_TERM_VAR) *iterates = true;
    return term->kind != REGO_TERM_ARRAY_COMPREHENSION && term->kind != REGO_TERM_SET_COMPREHENSION
        && term->kind != REGO_TERM_OBJECT_COMPREHENSION;
}

/* A reference in it has a variable, or a relation is called; what comprehensions do inside does not count. */
static bool expr_iterates(RegoExpr *expr)
{
    bool iterates = false;
    const RegoWalk walk = { .context = &iterates, .term = walk_iterates };
    rego_walk_expr(&walk, &expr);
    return iterates;
}

void flat_query(const Names *names, RegoBody body, const Str *bound, uint32_t bound_count, bool capture,
                FlatRule *out_rule, FlatTerm ***out_captures)
{
    *out_rule = (FlatRule){ .branch_count = 1, .branches = ARENA_NEW(names->arena, FlatBranch),
                            .arg_count = bound_count };
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
        /* Expressions have to hold, but one that stands alone and has one answer may be false. */
        if (body.count > 1 || expr_iterates(body.exprs[i]))
            flat_add(&f, FLAT_TEST, body.exprs[i]->loc)->a = captures[i];
    }
    scope_end(&f);
    scope_end(&f);
    *out_captures = captures;
}
