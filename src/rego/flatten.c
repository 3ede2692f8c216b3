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
    unit->vars[unit->var_count] = (FlatVar){ .name = name, .loc = loc, .flags = flags };
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
    stmt->place = place_new(f->names, REGO_PLACE_EXPR, loc);
    stmt->expr_loc = f->expr_loc.row ? f->expr_loc : loc;
    FlatBlock *block = f->block;
    block->stmts = arena_grow(f->arena, block->stmts, sizeof *block->stmts, block->count, &block->capacity);
    block->stmts[block->count++] = stmt;
    return stmt;
}

void flat_error(Flattener *f, RegoPass pass, RegoErrorCode code, RegoLoc loc, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    f->names->errors->pass = pass;
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

static bool entry_is_unused(const ScopeEntry *entry)
{
    return !entry->used && !rego_var_is_wildcard(entry->name);
}

/* One mistake of a rule's names explains others: nothing more is said of unused ones then. */
void scope_end(Flattener *f)
{
    Scope *scope = f->scope;
    f->scope = scope->parent;
    bool is_strict = f->names->policy->options.strict, is_known = f->has_name_errors;
    for (size_t i = 0; i < scope->count && is_strict && !is_known; i++) {
        const ScopeEntry *entry = scope->entries[i];
        if (entry->kind != SCOPE_ASSIGNED || !entry_is_unused(entry)) continue;
        flat_error(f, REGO_PASS_USES, REGO_ERROR_COMPILE, entry->loc, "assigned var %.*s unused", STR_ARG(entry->name));
        f->has_name_errors = true;
    }
    is_known = f->has_name_errors;
    for (size_t i = 0; i < scope->count && !is_known; i++) {
        const ScopeEntry *entry = scope->entries[i];
        if ((entry->kind != SCOPE_SOME && entry->kind != SCOPE_EVERY) || !entry_is_unused(entry)) continue;
        flat_error(f, REGO_PASS_USES, REGO_ERROR_COMPILE, entry->loc, "declared var %.*s unused", STR_ARG(entry->name));
        f->has_name_errors = true;
    }
    for (size_t i = 0; i < scope->count && is_strict; i++) {
        const ScopeEntry *entry = scope->entries[i];
        if (entry->kind == SCOPE_ARG && entry_is_unused(entry))
            flat_error(f, REGO_PASS_USES, REGO_ERROR_COMPILE, entry->loc,
                       "unused argument %.*s. (hint: use _ (wildcard variable) instead)", STR_ARG(entry->name));
    }
}

ScopeEntry *scope_see(Flattener *f, Str name, RegoLoc loc)
{
    ScopeEntry *entry = scope_find(f->scope, name);
    if (!entry) return scope_add(f, f->scope, name, SCOPE_SEEN, 0, loc);
    if (entry->kind == SCOPE_INSIDE) entry->kind = SCOPE_SEEN;
    return entry;
}

/* The same for the name of a rule or an import, which a declaration hides from the scopes inside of its own as well. The
 * outermost scope has arguments alone. */
static void scope_see_document(Flattener *f, Str name, bool is_call, RegoLoc loc)
{
    scope_see(f, name, loc);
    for (Scope *scope = f->scope->parent; scope && scope->parent && !scope_find(scope, name); scope = scope->parent)
        scope_add(f, scope, name, SCOPE_INSIDE, 0, loc)->is_call = is_call;
}

/* What was seen inside is no rule or import, but this variable, which has no value there. */
static uint32_t scope_declare_late(Flattener *f, ScopeEntry *entry, ScopeKind kind, RegoLoc loc)
{
    if (entry->is_call)
        flat_error(f, REGO_PASS_CALLS, REGO_ERROR_TYPE, entry->loc, "undefined function %.*s", STR_ARG(entry->name));
    else flat_error(f, REGO_PASS_SAFETY, REGO_ERROR_UNSAFE_VAR, entry->loc, "var %.*s is unsafe", STR_ARG(entry->name));
    *entry = (ScopeEntry){ .kind = kind, .name = entry->name, .loc = loc, .each = f->each,
                           .var = flat_var_add(f, entry->name, loc, 0) };
    return entry->var;
}

/* Makes the name a variable of the present scope. */
uint32_t scope_declare(Flattener *f, Str name, ScopeKind kind, RegoLoc loc)
{
    if (rego_var_is_wildcard(name)) return flat_implicit(f, name, loc);
    ScopeEntry *entry = scope_find(f->scope, name);
    if (entry && entry->kind == SCOPE_INSIDE) return scope_declare_late(f, entry, kind, loc);
    bool is_known = entry && kind == SCOPE_SOME_IN && entry->each == f->each;      /* declared, or refused, by this one */
    if (entry && !is_known) {
        const char *text = entry->kind == SCOPE_ARG ? "arg %.*s redeclared"
                         : entry->kind == SCOPE_SEEN ? "var %.*s referenced above"
                         : entry->kind == SCOPE_ASSIGNED ? "var %.*s assigned above"
                                                         : "var %.*s declared above";
        flat_error(f, REGO_PASS_NAMES, REGO_ERROR_COMPILE, loc, text, STR_ARG(name));
        f->has_name_errors = true;
        if (kind == SCOPE_SOME_IN) entry->each = f->each;
    }
    if (entry) return entry->kind == SCOPE_SEEN ? flat_implicit(f, name, loc) : entry->var;
    uint32_t var = flat_var_add(f, name, loc, 0);
    scope_add(f, f->scope, name, kind, var, loc)->each = f->each;
    return var;
}

/* The variable that was declared under that name, in this scope or around it; false where there is none. */
static bool scope_resolve(Flattener *f, Str name, const ScopeEntry **out_entry)
{
    for (Scope *scope = f->scope; scope; scope = scope->parent) {
        ScopeEntry *entry = scope_find(scope, name);
        if (!entry || entry->kind >= SCOPE_SEEN) continue;
        entry->used = true;
        *out_entry = entry;
        return true;
    }
    return false;
}

static bool scope_declares_within(const Flattener *f, Str name, const Scope *end)
{
    for (Scope *scope = f->scope; scope != end; scope = scope->parent) {
        const ScopeEntry *entry = scope_find(scope, name);
        if (entry && entry->kind < SCOPE_SEEN) return true;
    }
    return false;
}

bool scope_declares(const Flattener *f, Str name)
{
    return scope_declares_within(f, name, NULL);
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

/* The node of the rules that have the name in the present package; or NULL. */
static const TreeNode *package_name(const Flattener *f, Str name)
{
    const TreeNode *node = f->names->package ? tree_child(f->names->package, value_string(name)) : NULL;
    return node && node->is_name ? node : NULL;
}

/* A variable of the `every` whose domain is made flat: there it stands for nothing. */
static bool is_var_of_every(const Flattener *f, Str name)
{
    const RegoEach *each = f->domain;
    return each && (rego_term_is_var(each->value, name) || (each->key && rego_term_is_var(each->key, name)));
}

Str flat_name_root(Flattener *f, Str name)
{
    if (scope_declares(f, name)) return name;
    const RegoImport *import = import_find(f, name);
    if (import) return import->path->items[0]->name;
    return package_name(f, name) ? STR("data") : name;
}

uint32_t flat_name_path(Flattener *f, Str name, Value **out_keys)
{
    *out_keys = NULL;
    if (scope_declares(f, name)) return 0;
    const RegoImport *import = import_find(f, name);
    const TreeNode *node = import ? NULL : package_name(f, name);
    if (!import && !node) return 0;
    uint32_t count = import ? import->path->count - 1 : node->depth;
    Value *keys = *out_keys = ARENA_ARRAY(f->arena, Value, count + 1u);
    for (uint32_t i = 0; import && i < count; i++) keys[i] = import->path->items[i + 1]->value;
    for (; node && node->parent; node = node->parent) keys[node->depth - 1] = node->key;
    return count;
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
        FlatTerm *term = entry->constant ? flat_const(f, *entry->constant, loc) : flat_var(f, entry->var, loc);
        if (entry->constant) term->named = entry->var + 1;
        list_add(f, list, term);
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
    bool is_hidden = is_var_of_every(f, name);
    const RegoImport *import = is_hidden ? NULL : import_find(f, name);
    const TreeNode *node = is_hidden ? NULL : package_name(f, name);
    if (import || node) scope_see_document(f, name, /* is_call= */ false, f->expr_loc.row ? f->expr_loc : loc);
    if (import) {
        list_add_import(f, list, import, loc);
        return;
    }
    if (node) {
        list_add_path(f, list, node, loc);
        return;
    }
    if (!rego_var_is_wildcard(name)) scope_see(f, name, loc)->is_var = true;
    list_add(f, list, flat_var(f, flat_implicit(f, name, loc), loc));
}

/* The term of a list that begins with a root or variable. */
static FlatTerm *list_ref(Flattener *f, const TermList *list, RegoLoc loc)
{
    bool is_root = list->items[0]->kind == FLAT_INPUT || list->items[0]->kind == FLAT_DATA;
    if (list->count == 1 && !is_root) return list->items[0];
    FlatTerm *ref = flat_new(f, FLAT_REF, loc);
    ref->items = list->items;
    ref->count = (uint32_t)list->count;
    if (list->items[0]->kind == FLAT_DATA) flat_use(f, ref, NULL, loc);
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
    const uint32_t *order = flat_order(f, term);
    const uint32_t *places = kind == FLAT_OBJECT ? flat_places(f, term, order) : NULL;
    for (uint32_t i = 0; i < term->count; i++) {
        if (kind != FLAT_OBJECT) {
            flat->items[i] = flat_operand(f, term->items[order[i]]);
            continue;
        }
        flat->items[2 * places[i]] = flat_operand(f, term->pairs[order[i]].key);
        flat->items[2 * places[i] + 1] = flat_operand(f, term->pairs[order[i]].value);
    }
    bool is_const = true;
    for (uint32_t i = 0; i < flat->count; i++) is_const &= flat->items[i]->kind == FLAT_CONST;
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
    size_t from = f->block->count;
    flat->block->value = flat_operand(f, comprehension->value);
    flat_settle(f, from, f->block->count);
    f->block = outer;
    f->with = with;
    scope_end(f);
    return flat;
}

/* A variable that stands for the term, which becomes a statement of its own. */
FlatTerm *flat_extract(Flattener *f, FlatTerm *term)
{
    FlatTerm *var = flat_fresh(f, term->loc);
    f->unit->vars[var->var].subject = term;
    FlatStmt *stmt = flat_add(f, FLAT_UNIFY, term->loc);
    stmt->a = var;
    stmt->b = term;
    stmt->is_assign = true;
    stmt->level = f->level + 1;
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

static const RegoTerm *operator_head(const RegoTerm *operator)
{
    return operator->kind == REGO_TERM_REF ? operator->items[0] : operator;
}

bool flat_name_is_taken(Flattener *f, const RegoTerm *operator)
{
    const RegoTerm *head = operator_head(operator);
    return head->kind == REGO_TERM_VAR && (import_find(f, head->name) || package_name(f, head->name));
}

/* The node that the operator's path leads to where its first name is a rule, an import or data; else NULL. */
const TreeNode *flat_callee_node(Flattener *f, const RegoTerm *operator)
{
    const RegoTerm *head = operator_head(operator);
    if (head->kind != REGO_TERM_VAR) return NULL;
    const TreeNode *node = NULL;
    const RegoImport *import = import_find(f, head->name);
    if (str_is(head->name, STR("data"))) {
        node = f->names->policy->root;
    } else if (import && rego_term_is_var(import->path->items[0], STR("data"))) {
        node = f->names->policy->root;
        for (uint32_t i = 1; node && i < import->path->count; i++)
            node = tree_child(node, import->path->items[i]->value);
    } else node = package_name(f, head->name);
    for (uint32_t i = 1; node && operator->kind == REGO_TERM_REF && i < operator->count; i++) {
        if (operator->items[i]->kind != REGO_TERM_SCALAR) return NULL;
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
    out_callee->builtin = node || flat_name_is_taken(f, operator) ? NULL : builtin_find(name);
    if (!out_callee->builtin) return false;
    out_callee->arity = out_callee->builtin->arity;
    return true;
}

/* The operator's name, resolved where its beginning is a rule of the package, or an import. */
static Str name_text(Flattener *f, const RegoTerm *operator)
{
    const RegoTerm *head = operator_head(operator);
    if (head->kind != REGO_TERM_VAR) return operator_name(f, operator);
    const RegoImport *import = import_find(f, head->name);
    const TreeNode *node = package_name(f, head->name);
    if (!import && !node) return operator_name(f, operator);
    uint32_t from = import ? import->path->count : 0, rest = operator->kind == REGO_TERM_REF ? operator->count - 1 : 0;
    RegoTerm **items = ARENA_ARRAY(f->arena, RegoTerm *, from + rest + 1u);
    for (uint32_t i = 0; i < from; i++) items[i] = import->path->items[i];
    Buf buf;
    buf_init(&buf, REGO_ERROR_TEXT_SIZE_MAX);
    if (!import) {
        items[from] = ARENA_NEW(f->arena, RegoTerm);
        *items[from] = (RegoTerm){ .kind = REGO_TERM_VAR, .name = tree_path_text(f->arena, node) };
        from++;
    }
    for (uint32_t i = 0; i < rest; i++) items[from + i] = operator->items[i + 1];
    rego_print_ref(&buf, items, from + rest, REGO_PRINT_CALLS);
    Str text = arena_copy(f->arena, buf_peek(&buf));
    buf_deinit(&buf);
    return text;
}

/* The call stands under a `with` that puts something else in its place, whoever asks. */
static bool callee_is_replaced(const Flattener *f, const Callee *callee)
{
    for (uint32_t w = f->with; w; w = f->unit->withs[w].parent)
        for (uint32_t i = 0; i < f->unit->withs[w].count; i++)
            if (f->unit->withs[w].targets[i].builtin == callee->builtin) return true;
    return false;
}

bool flat_callee_is_allowed(Flattener *f, const Callee *callee, RegoLoc loc)
{
    bool needs_network = callee->builtin && (callee->builtin->flags & BUILTIN_NETWORK);
    if (!needs_network || f->names->policy->options.allow_network || callee_is_replaced(f, callee)) return true;
    flat_error(f, REGO_PASS_CALLS, REGO_ERROR_COMPILE, loc, "%.*s needs the network, which this policy may not use",
               STR_ARG(callee->name));
    return false;
}

static void error_arity(Flattener *f, const Callee *callee, FlatTerm **args, uint32_t arg_count, bool has_answer,
                        RegoLoc loc)
{
    if (callee->builtin) {
        f->names->errors->pass = REGO_PASS_CALLS;
        type_check_arity(f->names, f->unit, callee->builtin, args, arg_count, has_answer, loc);
        return;
    }
    flat_error(f, REGO_PASS_CALLS, REGO_ERROR_TYPE, loc, "function %.*s has arity %u, got %u argument%s",
               STR_ARG(tree_path_text(f->arena, callee->group->node)), callee->arity, arg_count,
               arg_count == 1 ? "" : "s");
}

/* What is no function: a rule without arguments has an arity of 0, be it called by name or by an operator that is named like
 * it; what is left of the call is then one value too many, unless it may be where the answer goes. */
static void error_unknown(Flattener *f, const RegoTerm *term, bool is_statement)
{
    const TreeNode *node = flat_callee_node(f, term->items[0]);
    uint32_t arg_count = term->count - 1;
    Str name = name_text(f, term->items[0]);
    if (node && node->group && arg_count > is_statement)
        flat_error(f, REGO_PASS_CALLS, REGO_ERROR_TYPE, term->loc, "function %.*s has arity 0, got %u argument%s",
                   STR_ARG(name), arg_count, arg_count == 1 ? "" : "s");
    else
        flat_error(f, REGO_PASS_CALLS, REGO_ERROR_TYPE, term->loc, "undefined function %.*s", STR_ARG(name));
}

/* A call that is an expression by itself is noticed later than one inside of a term. */
static void error_hidden(Flattener *f, const RegoTerm *call, bool is_value)
{
    Str name = operator_name(f, call->items[0]);
    if (is_value)
        flat_error(f, REGO_PASS_NAMES, REGO_ERROR_COMPILE, call->loc, "called function %.*s shadowed", STR_ARG(name));
    else flat_error(f, REGO_PASS_CALLS, REGO_ERROR_TYPE, call->loc, "undefined function %.*s", STR_ARG(name));
}

static bool scope_has_var(const Flattener *f, Str name)
{
    for (Scope *scope = f->scope; scope; scope = scope->parent) {
        const ScopeEntry *entry = scope_find(scope, name);
        if (entry && entry->is_var) return true;
    }
    return false;
}

bool flat_call_is_hidden(Flattener *f, const RegoTerm *call, bool is_value)
{
    const RegoTerm *head = operator_head(call->items[0]);
    if (head->kind != REGO_TERM_VAR || str_is(head->name, STR("data"))) return false;
    bool is_var = scope_declares(f, head->name) || is_var_of_every(f, head->name);
    if (is_var || (f->head && scope_has_var(f, head->name))) {
        bool is_late = f->head && !scope_declares_within(f, head->name, f->head);   /* variables of bodies come last to heads */
        error_hidden(f, call, is_value && !is_late);
        return true;
    }
    if (flat_name_is_taken(f, head)) scope_see_document(f, head->name, /* is_call= */ true, call->loc);
    else scope_see(f, head->name, call->loc);
    f->calls = arena_grow(f->arena, f->calls, sizeof *f->calls, f->call_count, &f->call_capacity);
    f->calls[f->call_count++] = (NamedCall){ call, is_value };
    return false;
}

void flat_calls_check(Flattener *f)
{
    for (size_t i = 0; i < f->call_count && !f->has_name_errors; i++) {
        const RegoTerm *call = f->calls[i].term;
        const ScopeEntry *entry = scope_find(f->scope, operator_head(call->items[0])->name);
        if (entry && entry->is_var) error_hidden(f, call, f->calls[i].is_value);
    }
    f->call_count = 0;
}

/* trace(text) is true and leaves a note. */
static bool flat_is_trace(Flattener *f, const RegoTerm *term)
{
    return term->count == 2 && str_is(operator_name(f, term->items[0]), STR("trace"))
        && !flat_name_is_taken(f, term->items[0]);
}

static FlatStmt *flat_trace(Flattener *f, const RegoTerm *term)
{
    FlatStmt *note = flat_add(f, FLAT_NOTE, term->loc);
    note->args = ARENA_ARRAY(f->arena, FlatTerm *, 1);
    note->a = flat_operand(f, term->items[1]);
    FlatStmt *stmt = flat_add(f, FLAT_CALL, term->loc);
    stmt->builtin = builtin_find(STR("trace"));
    CHECK(stmt->builtin);
    stmt->args = ARENA_ARRAY(f->arena, FlatTerm *, 1);
    stmt->args[0] = note->a;
    stmt->arg_count = 1;
    stmt->place = NULL;             /* a trace tells of the note alone */
    return stmt;
}

/* What is taken out of a call that is a value belongs to that call, not to the expression around it. */
static FlatTerm **flat_call_args(Flattener *f, const RegoTerm *call, bool is_statement)
{
    RegoLoc expr_loc = f->expr_loc;
    if (!is_statement) f->expr_loc = call->loc;
    FlatTerm **args = ARENA_ARRAY(f->arena, FlatTerm *, call->count);
    size_t from = f->block->count;
    f->level++;
    for (uint32_t i = 1; i < call->count; i++) args[i - 1] = flat_operand(f, call->items[i]);
    flat_settle(f, from, f->block->count);
    f->level--;
    f->expr_loc = expr_loc;
    return args;
}

static void error_void(Flattener *f, const RegoTerm *call)
{
    Buf buf;
    buf_init(&buf, REGO_ERROR_TEXT_SIZE_MAX);
    rego_print_term(&buf, call, REGO_PRINT_CALLS);
    flat_error(f, REGO_PASS_VALUES, REGO_ERROR_TYPE, call->loc, "%.*s used as value", STR_ARG(buf_peek(&buf)));
    buf_deinit(&buf);
}

/* Adds the call as a statement. `is_statement`: the last argument may be the output. */
FlatStmt *flat_call(Flattener *f, const RegoTerm *term, bool is_statement)
{
    Callee callee;
    uint32_t arg_count = term->count - 1;
    if (flat_call_is_hidden(f, term, !is_statement)) return NULL;
    if (flat_is_trace(f, term)) return flat_trace(f, term);
    bool is_known = flat_callee(f, term->items[0], &callee);
    if (callee.builtin && (callee.builtin->flags & BUILTIN_VOID) && !is_statement) {
        error_void(f, term);
        return NULL;
    }
    if (!is_known) {
        error_unknown(f, term, is_statement);
        (void)flat_call_args(f, term, is_statement);
        return NULL;
    }
    if (!flat_callee_is_allowed(f, &callee, term->loc)) return NULL;
    FlatTerm **args = flat_call_args(f, term, is_statement);
    if (arg_count != callee.arity && !(is_statement && arg_count == callee.arity + 1)) {
        error_arity(f, &callee, args, arg_count, !is_statement, term->loc);
        return NULL;
    }
    if (callee.group) flat_use(f, NULL, callee.group, term->loc);
    FlatStmt *call = flat_add(f, FLAT_CALL, term->loc);
    call->builtin = callee.builtin;
    call->group = callee.group;
    call->args = args;
    call->arg_count = callee.arity;
    call->out_is_arg = arg_count > callee.arity;
    if (call->out_is_arg) call->out = args[callee.arity];
    return call;
}

FlatTerm *flat_call_value(Flattener *f, const RegoTerm *term)
{
    FlatTerm *constant = flat_metadata(f, term);
    if (constant) return constant;
    FlatStmt *call = flat_call(f, term, /* is_statement= */ false);
    if (!call) return flat_const(f, value_null(), term->loc);
    call->out = flat_fresh(f, term->loc);
    f->unit->vars[call->out->var].call = call;
    return call->out;
}
