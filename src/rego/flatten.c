#include "rego/flatten.h"

#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "rego/print.h"

/* --- parts ------------------------------------------------------------------------------------------------------- */

FlatTerm *flat_new(Flattener *f, FlatTermKind kind, RegoLoc loc)
{
    FlatTerm *term = ARENA_NEW(f->arena, FlatTerm);
    term->kind = (uint8_t)kind;
    term->loc = loc;
    return term;
}

FlatTerm *flat_const(Flattener *f, Value value, RegoLoc loc)
{
    FlatTerm *term = flat_new(f, FLAT_CONST, loc);
    term->value = value;
    return term;
}

FlatTerm *flat_var(Flattener *f, uint32_t var, RegoLoc loc)
{
    FlatTerm *term = flat_new(f, FLAT_VAR, loc);
    term->var = var;
    return term;
}

uint32_t flat_var_add(Flattener *f, Str name, RegoLoc loc, uint32_t flags)
{
    FlatUnit *unit = f->unit;
    unit->vars = arena_grow(f->arena, unit->vars, sizeof *unit->vars, unit->var_count, &unit->var_capacity);
    unit->vars[unit->var_count] = (FlatVar){ name, loc, flags };
    return (uint32_t)unit->var_count++;
}

FlatTerm *flat_fresh(Flattener *f, RegoLoc loc)
{
    return flat_var(f, flat_var_add(f, (Str){ 0 }, loc, FLAT_VAR_GENERATED), loc);
}

FlatStmt *flat_add(Flattener *f, FlatStmtKind kind, RegoLoc loc)
{
    FlatStmt *stmt = ARENA_NEW(f->arena, FlatStmt);
    stmt->kind = (uint8_t)kind;
    stmt->loc = loc;
    stmt->with = f->with;
    stmt->place = f->place;
    stmt->expr_loc = f->expr_loc.row ? f->expr_loc : loc;
    FlatBlock *block = f->block;
    block->stmts = arena_grow(f->arena, block->stmts, sizeof *block->stmts, block->count, &block->capacity);
    block->stmts[block->count++] = stmt;
    return stmt;
}

void flat_error(Flattener *f, RegoErrorCode code, RegoLoc loc, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    rego_errors_add_list(f->names->errors, code, f->names->file, loc, format, args);
    va_end(args);
}

void flat_use(Flattener *f, FlatTerm *ref, RuleGroup *group, RegoLoc loc)
{
    FlatUnit *unit = f->unit;
    unit->uses = arena_grow(f->arena, unit->uses, sizeof *unit->uses, unit->use_count, &unit->use_capacity);
    unit->uses[unit->use_count++] = (FlatUse){ ref, group, loc };
}

/* --- scopes ------------------------------------------------------------------------------------------------------ */

ScopeEntry *scope_find(Scope *scope, Str name)
{
    uint32_t index;
    return map_find(&scope->names, name, &index) ? scope->entries[index] : NULL;
}

ScopeEntry *scope_add(Flattener *f, Scope *scope, Str name, ScopeKind kind, uint32_t var, RegoLoc loc)
{
    ScopeEntry *entry = ARENA_NEW(f->arena, ScopeEntry);
    *entry = (ScopeEntry){ .kind = kind, .var = var, .loc = loc, .name = name };
    scope->entries = arena_grow(f->arena, scope->entries, sizeof *scope->entries, scope->count, &scope->capacity);
    scope->entries[scope->count] = entry;
    map_add(&scope->names, name, (uint32_t)scope->count++, NULL);
    return entry;
}

void scope_begin(Flattener *f, Scope *scope)
{
    *scope = (Scope){ .parent = f->scope };
    map_init(&scope->names, f->arena, 0);
    f->scope = scope;
}

static const char *unused_word(const Flattener *f, const ScopeEntry *entry)
{
    bool strict = f->names->policy->options.strict;
    switch (entry->kind) {
    case SCOPE_SOME:
    case SCOPE_EVERY: return "declared";
    case SCOPE_ASSIGNED: return strict ? "assigned" : NULL;
    case SCOPE_ARG: return strict ? "argument" : NULL;
    case SCOPE_SOME_IN:
    case SCOPE_SEEN: return NULL;
    }
    return NULL;
}

void scope_end(Flattener *f)
{
    Scope *scope = f->scope;
    for (size_t i = 0; i < scope->count; i++) {
        const ScopeEntry *entry = scope->entries[i];
        if (entry->used || rego_var_is_wildcard(entry->name)) continue;
        const char *word = unused_word(f, entry);
        if (!word) continue;
        if (entry->kind == SCOPE_ARG)
            flat_error(f, REGO_ERROR_COMPILE, entry->loc,
                       "unused argument %.*s. (hint: use _ (wildcard variable) instead)", STR_ARG(entry->name));
        else flat_error(f, REGO_ERROR_COMPILE, entry->loc, "%s var %.*s unused", word, STR_ARG(entry->name));
    }
    f->scope = scope->parent;
}

/* Makes the name a variable of the present scope. */
uint32_t scope_declare(Flattener *f, Str name, ScopeKind kind, RegoLoc loc)
{
    if (rego_var_is_wildcard(name)) return flat_implicit(f, name, loc);
    ScopeEntry *entry = scope_find(f->scope, name);
    if (entry && kind == SCOPE_SOME_IN && entry->kind == kind && entry->pattern == f->pattern) return entry->var;
    if (entry) {
        const char *text = entry->kind == SCOPE_ARG ? "arg %.*s redeclared"
                         : entry->kind == SCOPE_SEEN ? "var %.*s referenced above"
                         : entry->kind == SCOPE_ASSIGNED ? "var %.*s assigned above"
                                                         : "var %.*s declared above";
        flat_error(f, REGO_ERROR_COMPILE, loc, text, STR_ARG(name));
        return entry->kind == SCOPE_SEEN ? flat_implicit(f, name, loc) : entry->var;
    }
    uint32_t var = flat_var_add(f, name, loc, 0);
    scope_add(f, f->scope, name, kind, var, loc)->pattern = f->pattern;
    return var;
}

/* The variable that was declared under that name, in this scope or around it; false where there is none. */
static bool scope_resolve(Flattener *f, Str name, const ScopeEntry **out_entry)
{
    for (Scope *scope = f->scope; scope; scope = scope->parent) {
        ScopeEntry *entry = scope_find(scope, name);
        if (!entry || entry->kind == SCOPE_SEEN) continue;
        entry->used = true;
        *out_entry = entry;
        return true;
    }
    return false;
}

/* A variable that nobody declared: the same one throughout the rule. */
uint32_t flat_implicit(Flattener *f, Str name, RegoLoc loc)
{
    uint32_t var;
    if (map_find(&f->implicit, name, &var)) return var;
    var = flat_var_add(f, name, loc, rego_var_is_wildcard(name) ? FLAT_VAR_WILDCARD : 0);
    map_add(&f->implicit, name, var, NULL);
    return var;
}

/* --- names ------------------------------------------------------------------------------------------------------- */

static Str import_name(const RegoImport *import)
{
    if (import->alias.len) return import->alias;
    const RegoTerm *last = import->path->items[import->path->count - 1];
    return last->kind == REGO_TERM_VAR ? last->name : value_text(last->value);
}

static const RegoImport *import_find(Flattener *f, Str name)
{
    const RegoModule *module = f->names->module;
    for (uint32_t i = 0; module && i < module->import_count; i++) {
        const RegoImport *import = &module->imports[i];
        const RegoTerm *head = import->path->items[0];
        if (!rego_term_is_var(head, STR("data")) && !rego_term_is_var(head, STR("input"))) continue;
        if (!str_is(import_name(import), name)) continue;
        if (f->names->import_used) f->names->import_used[i] = true;
        return import;
    }
    return NULL;
}

typedef struct TermList {
    FlatTerm **items;
    size_t count, capacity;
} TermList;

static void list_add(Flattener *f, TermList *list, FlatTerm *term)
{
    list->items = arena_grow(f->arena, list->items, sizeof *list->items, list->count, &list->capacity);
    list->items[list->count++] = term;
}

static void list_add_root(Flattener *f, TermList *list, FlatTermKind kind, RegoLoc loc)
{
    list_add(f, list, flat_new(f, kind, loc));
}

static void list_add_path(Flattener *f, TermList *list, const TreeNode *node, RegoLoc loc)
{
    if (!node->parent) {
        list_add_root(f, list, FLAT_DATA, loc);
        return;
    }
    list_add_path(f, list, node->parent, loc);
    list_add(f, list, flat_const(f, node->key, loc));
}

static void list_add_import(Flattener *f, TermList *list, const RegoImport *import, RegoLoc loc)
{
    const RegoTerm *path = import->path;
    list_add_root(f, list, rego_term_is_var(path->items[0], STR("input")) ? FLAT_INPUT : FLAT_DATA, loc);
    for (uint32_t i = 1; i < path->count; i++) list_add(f, list, flat_const(f, path->items[i]->value, loc));
}

/* What a variable stands for, as the beginning of a reference. */
static void list_add_name(Flattener *f, TermList *list, Str name, RegoLoc loc)
{
    const ScopeEntry *entry;
    if (scope_resolve(f, name, &entry)) {
        list_add(f, list, entry->constant ? flat_const(f, *entry->constant, loc) : flat_var(f, entry->var, loc));
        return;
    }
    if (str_is(name, STR("input"))) {
        list_add_root(f, list, FLAT_INPUT, loc);
        return;
    }
    if (str_is(name, STR("data"))) {
        list_add_root(f, list, FLAT_DATA, loc);
        return;
    }
    const RegoImport *import = import_find(f, name);
    if (import) {
        list_add_import(f, list, import, loc);
        return;
    }
    const TreeNode *package = f->names->package;
    const TreeNode *node = package ? tree_child(package, value_string(name)) : NULL;
    if (node && node->is_name) {
        list_add_path(f, list, node, loc);
        return;
    }
    if (!rego_var_is_wildcard(name) && !scope_find(f->scope, name)) scope_add(f, f->scope, name, SCOPE_SEEN, 0, loc);
    list_add(f, list, flat_var(f, flat_implicit(f, name, loc), loc));
}

static void check_function(Flattener *f, const FlatTerm *ref)
{
    const TreeNode *node = f->names->policy->root;
    for (uint32_t i = 1; node && i < ref->count && ref->items[i]->kind == FLAT_CONST; i++) {
        node = tree_child(node, ref->items[i]->value);
        if (!node || !node->group) continue;
        if (node->group->kind == GROUP_FUNCTION)
            flat_error(f, REGO_ERROR_TYPE, ref->loc, "function %.*s used as reference, not called",
                       STR_ARG(tree_path_text(f->arena, node)));
        return;
    }
}

/* The term of a list that begins with a root or variable. */
static FlatTerm *list_ref(Flattener *f, const TermList *list, RegoLoc loc)
{
    bool is_root = list->items[0]->kind == FLAT_INPUT || list->items[0]->kind == FLAT_DATA;
    if (list->count == 1 && !is_root) return list->items[0];
    FlatTerm *ref = flat_new(f, FLAT_REF, loc);
    ref->items = list->items;
    ref->count = (uint32_t)list->count;
    if (list->items[0]->kind == FLAT_DATA) {
        check_function(f, ref);
        flat_use(f, ref, NULL, loc);
    }
    return ref;
}

/* --- terms ------------------------------------------------------------------------------------------------------- */

static FlatTerm *flat_ref(Flattener *f, const RegoTerm *term)
{
    TermList list = { 0 };
    const RegoTerm *head = term->items[0];
    if (head->kind == REGO_TERM_VAR) list_add_name(f, &list, head->name, term->loc);
    else list_add(f, &list, flat_operand(f, head));
    for (uint32_t i = 1; i < term->count; i++) list_add(f, &list, flat_operand(f, term->items[i]));
    return list_ref(f, &list, term->loc);
}

static FlatTerm *flat_items(Flattener *f, const RegoTerm *term, FlatTermKind kind)
{
    FlatTerm *flat = flat_new(f, kind, term->loc);
    flat->count = kind == FLAT_OBJECT ? 2 * term->count : term->count;
    flat->items = ARENA_ARRAY(f->arena, FlatTerm *, flat->count + 1u);
    bool is_const = true;
    for (uint32_t i = 0; i < flat->count; i++) {
        const RegoTerm *item = kind != FLAT_OBJECT ? term->items[i]
                             : i % 2 ? term->pairs[i / 2].value : term->pairs[i / 2].key;
        flat->items[i] = flat_operand(f, item);
        if (flat->items[i]->kind != FLAT_CONST) is_const = false;
    }
    return is_const ? flat_const(f, flat_fold(f, flat), term->loc) : flat;
}

Value flat_fold(Flattener *f, const FlatTerm *flat)
{
    Value *items = ARENA_ARRAY(f->arena, Value, flat->count + 1u);
    for (uint32_t i = 0; i < flat->count; i++) items[i] = flat->items[i]->value;
    if (flat->kind == FLAT_ARRAY) return value_array(items, flat->count);
    if (flat->kind == FLAT_SET) return value_set(f->arena, items, flat->count);
    Member *members = ARENA_ARRAY(f->arena, Member, flat->count / 2 + 1u);
    for (uint32_t i = 0; i < flat->count / 2; i++) members[i] = (Member){ items[2 * i], items[2 * i + 1] };
    return value_object(f->arena, members, flat->count / 2);
}

FlatBlock *flat_block(Flattener *f, RegoBody body)
{
    FlatBlock *block = ARENA_NEW(f->arena, FlatBlock), *outer = f->block;
    f->block = block;
    flat_body(f, body);
    f->block = outer;
    return block;
}

static FlatTerm *flat_comprehension(Flattener *f, const RegoTerm *term)
{
    FlatTerm *flat = flat_new(f, FLAT_COMPREHENSION, term->loc);
    flat->flavour = term->kind;
    const RegoComprehension *comprehension = term->comprehension;
    Scope scope;
    scope_begin(f, &scope);
    uint32_t with = f->with;
    flat->block = flat_block(f, comprehension->body);
    FlatBlock *outer = f->block;
    f->block = flat->block;
    if (comprehension->key) flat->block->key = flat_operand(f, comprehension->key);
    flat->block->value = flat_operand(f, comprehension->value);
    f->block = outer;
    f->with = with;
    scope_end(f);
    return flat;
}

/* Each expression of a template becomes a set of its values, so that an undefined one leaves the others alone. */
static FlatTerm *flat_template(Flattener *f, const RegoTerm *term)
{
    FlatTerm *parts = flat_new(f, FLAT_ARRAY, term->loc);
    parts->items = ARENA_ARRAY(f->arena, FlatTerm *, term->count + 1u);
    parts->count = term->count;
    for (uint32_t i = 0; i < term->count; i++) {
        const RegoTemplatePart *part = &term->parts[i];
        if (!part->expr) {
            parts->items[i] = flat_const(f, value_string(part->text), term->loc);
            continue;
        }
        FlatTerm *set = flat_new(f, FLAT_COMPREHENSION, part->expr->loc);
        set->flavour = REGO_TERM_SET_COMPREHENSION;
        set->is_part = true;
        set->block = ARENA_NEW(f->arena, FlatBlock);
        FlatBlock *outer = f->block;
        Scope scope;
        scope_begin(f, &scope);
        f->block = set->block;
        set->block->value = flat_captured(f, part->expr);
        f->block = outer;
        scope_end(f);
        parts->items[i] = flat_extract(f, set);
    }
    FlatStmt *call = flat_add(f, FLAT_CALL, term->loc);
    call->builtin = builtin_find(STR("internal.template_string"));
    CHECK(call->builtin);
    call->args = ARENA_ARRAY(f->arena, FlatTerm *, 1);
    call->args[0] = parts;
    call->arg_count = 1;
    call->out = flat_fresh(f, term->loc);
    return call->out;
}

/* A variable that stands for the term, which becomes a statement of its own. */
FlatTerm *flat_extract(Flattener *f, FlatTerm *term)
{
    FlatTerm *var = flat_fresh(f, term->loc);
    FlatStmt *stmt = flat_add(f, FLAT_UNIFY, term->loc);
    stmt->a = var;
    stmt->b = term;
    stmt->is_assign = true;
    return var;
}

FlatTerm *flat_top(Flattener *f, const RegoTerm *term)
{
    switch ((RegoTermKind)term->kind) {
    case REGO_TERM_SCALAR: return flat_const(f, term->value, term->loc);
    case REGO_TERM_VAR: {
        TermList list = { 0 };
        list_add_name(f, &list, term->name, term->loc);
        return list_ref(f, &list, term->loc);
    }
    case REGO_TERM_REF: return flat_ref(f, term);
    case REGO_TERM_CALL: return flat_call_value(f, term);
    case REGO_TERM_ARRAY: return flat_items(f, term, FLAT_ARRAY);
    case REGO_TERM_SET: return flat_items(f, term, FLAT_SET);
    case REGO_TERM_OBJECT: return flat_items(f, term, FLAT_OBJECT);
    case REGO_TERM_ARRAY_COMPREHENSION:
    case REGO_TERM_SET_COMPREHENSION:
    case REGO_TERM_OBJECT_COMPREHENSION: return flat_comprehension(f, term);
    case REGO_TERM_TEMPLATE: return flat_template(f, term);
    case REGO_TERM_KIND_COUNT: break;
    }
    check_failed("a kind of term", __FILE__, __LINE__);
}

FlatTerm *flat_operand(Flattener *f, const RegoTerm *term)
{
    FlatTerm *flat = flat_top(f, term);
    return flat->kind == FLAT_REF || flat->kind == FLAT_COMPREHENSION ? flat_extract(f, flat) : flat;
}

/* --- calls ------------------------------------------------------------------------------------------------------- */

/* The node that the operator's path leads to where its first name is a rule, an import or data; else NULL. */
const TreeNode *flat_callee_node(Flattener *f, const RegoTerm *operator)
{
    const RegoTerm *head = operator->kind == REGO_TERM_REF ? operator->items[0] : operator;
    if (head->kind != REGO_TERM_VAR) return NULL;
    const TreeNode *node = NULL, *package = f->names->package;
    const RegoImport *import = import_find(f, head->name);
    if (str_is(head->name, STR("data"))) {
        node = f->names->policy->root;
    } else if (import && rego_term_is_var(import->path->items[0], STR("data"))) {
        node = f->names->policy->root;
        for (uint32_t i = 1; node && i < import->path->count; i++) node = tree_child(node, import->path->items[i]->value);
    } else if (package) {
        node = tree_child(package, value_string(head->name));
        if (node && !node->is_name) node = NULL;
    }
    for (uint32_t i = 1; node && operator->kind == REGO_TERM_REF && i < operator->count; i++) {
        if (!rego_term_is_string(operator->items[i])) return NULL;
        node = tree_child(node, operator->items[i]->value);
    }
    return node;
}

static Str operator_name(Flattener *f, const RegoTerm *operator)
{
    RegoTerm call = { .kind = REGO_TERM_CALL, .count = 1, .items = (RegoTerm *[]){ (RegoTerm *)operator } };
    return rego_call_name(f->arena, &call);
}

bool flat_callee(Flattener *f, const RegoTerm *operator, Callee *out_callee)
{
    const TreeNode *node = flat_callee_node(f, operator);
    Str name = operator_name(f, operator);
    *out_callee = (Callee){ .name = name };
    if (node && node->group && node->group->kind == GROUP_FUNCTION) {
        out_callee->group = node->group;
        out_callee->arity = node->group->arity;
        return true;
    }
    out_callee->builtin = node ? NULL : builtin_find(name);
    if (!out_callee->builtin) return false;
    out_callee->arity = out_callee->builtin->arity;
    return true;
}

static bool callee_check(Flattener *f, const Callee *callee, uint32_t arg_count, bool may_have_output, RegoLoc loc)
{
    if (callee->builtin && (callee->builtin->flags & BUILTIN_NETWORK) && !f->names->policy->options.allow_network) {
        flat_error(f, REGO_ERROR_COMPILE, loc, "%.*s needs the network, which this policy may not use",
                   STR_ARG(callee->name));
        return false;
    }
    if (arg_count == callee->arity || (may_have_output && arg_count == callee->arity + 1)) return true;
    if (callee->builtin)
        flat_error(f, REGO_ERROR_TYPE, loc, "%.*s: arity mismatch\n\twant: %s", STR_ARG(callee->name),
                   callee->builtin->signature);
    else
        flat_error(f, REGO_ERROR_TYPE, loc, "function %.*s has arity %u, got %u arguments",
                   STR_ARG(tree_path_text(f->arena, callee->group->node)), callee->arity, arg_count);
    return false;
}

/* trace(text) is true and leaves a note. */
static bool flat_is_trace(Flattener *f, const RegoTerm *term)
{
    return term->count == 2 && str_is(operator_name(f, term->items[0]), STR("trace")) && !flat_callee_node(f, term->items[0]);
}

static FlatStmt *flat_trace(Flattener *f, const RegoTerm *term)
{
    FlatStmt *note = flat_add(f, FLAT_NOTE, term->loc);
    note->args = ARENA_ARRAY(f->arena, FlatTerm *, 1);
    note->a = flat_operand(f, term->items[1]);
    FlatStmt *stmt = flat_add(f, FLAT_CALL, term->loc);
    stmt->builtin = builtin_find(STR("equal"));
    CHECK(stmt->builtin);
    stmt->args = ARENA_ARRAY(f->arena, FlatTerm *, 2);
    stmt->args[0] = stmt->args[1] = note->a;
    stmt->arg_count = 2;
    return stmt;
}

/* Adds the call as a statement. `is_statement`: the last argument may be the output. */
FlatStmt *flat_call(Flattener *f, const RegoTerm *term, bool is_statement)
{
    Callee callee;
    uint32_t arg_count = term->count - 1;
    if (flat_is_trace(f, term)) return flat_trace(f, term);
    bool is_known = flat_callee(f, term->items[0], &callee);
    if (!is_known) {
        flat_error(f, REGO_ERROR_TYPE, term->loc, "undefined function %.*s", STR_ARG(callee.name));
        return NULL;
    }
    if (!callee_check(f, &callee, arg_count, is_statement, term->loc)) return NULL;
    FlatTerm **args = ARENA_ARRAY(f->arena, FlatTerm *, arg_count + 1u);
    for (uint32_t i = 0; i < arg_count; i++) args[i] = flat_operand(f, term->items[i + 1]);
    if (callee.group) flat_use(f, NULL, callee.group, term->loc);
    FlatStmt *call = flat_add(f, FLAT_CALL, term->loc);
    call->builtin = callee.builtin;
    call->group = callee.group;
    call->args = args;
    call->arg_count = callee.arity;
    if (arg_count > callee.arity) call->out = args[callee.arity];
    return call;
}

FlatTerm *flat_call_value(Flattener *f, const RegoTerm *term)
{
    FlatTerm *constant = flat_metadata(f, term);
    if (constant) return constant;
    FlatStmt *call = flat_call(f, term, /* is_statement= */ false);
    if (!call) return flat_const(f, value_null(), term->loc);
    call->out = flat_fresh(f, term->loc);
    return call->out;
}
