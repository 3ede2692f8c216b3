#include "rego/plan.h"

#include "base/limits.h"
#include "rego/type_error.h"
#include "rego/type_tree.h"

/* What a variable was before a nested body said more of it. */
typedef struct VarChange {
    uint32_t var;
    const Type *type;
} VarChange;

typedef struct Checker {
    const Names *names;
    Arena *arena;
    const FlatUnit *unit;
    const Type **vars;          /* by variable; NULL: nothing is known yet */
    VarChange *changes;
    size_t change_count, change_capacity;
    const TypeLayer *base;      /* the rules of the policy */
    const TypeLayer *layers;    /* what the statement under way sees */
    const TypeLayer **withs;    /* by FlatWith, once they are known */
    uint64_t work;
    bool in_query;
} Checker;

static const Type *term_type(Checker *c, const FlatTerm *term);
static const Type *closure_check(Checker *c, const FlatTerm *term);
static bool term_meets(Checker *c, const FlatTerm *term, const Type *type, bool joins);

/* --- variables --------------------------------------------------------------------------------------------------- */

static void var_set(Checker *c, uint32_t var, const Type *type)
{
    c->changes = arena_grow(c->arena, c->changes, sizeof *c->changes, c->change_count, &c->change_capacity);
    c->changes[c->change_count++] = (VarChange){ var, c->vars[var] };
    c->vars[var] = type;
}

static void vars_restore(Checker *c, size_t count)
{
    while (c->change_count > count) {
        const VarChange *change = &c->changes[--c->change_count];
        c->vars[change->var] = change->type;
    }
}

/* The variable that a term is in the source; false where it is none. */
static bool term_var(const FlatTerm *term, uint32_t *out_var)
{
    if (term->kind == FLAT_VAR) *out_var = term->var;
    else if (term->kind == FLAT_CONST && term->named) *out_var = term->named - 1;
    else return false;
    return true;
}

static size_t error_count(const Checker *c)
{
    return c->names->errors->count + c->names->errors->dropped;
}

/* --- the type of a term ------------------------------------------------------------------------------------------ */

static TypeKey key_of(const FlatTerm *term)
{
    bool is_constant = term->kind == FLAT_CONST && !term->named;
    return (TypeKey){ is_constant, is_constant ? term->value : value_null() };
}

static bool is_scalar(const FlatTerm *term)
{
    return term->kind == FLAT_CONST && !term->named && term->value.kind <= VALUE_STRING;
}

static const Type *ref_type(Checker *c, const FlatTerm *ref)
{
    const FlatTerm *head = ref->items[0];
    if (head->kind == FLAT_INPUT) return &rego_type_any;
    if (head->kind == FLAT_DATA) {
        TypeKey *keys = ARENA_ARRAY(c->arena, TypeKey, ref->count);
        for (uint32_t i = 1; i < ref->count; i++) keys[i - 1] = key_of(ref->items[i]);
        return type_layer_select(c->arena, c->layers, keys, ref->count - 1);
    }
    if (is_scalar(head)) return NULL;       /* `some x in 1`: nothing lies in it */
    const Type *type = term_type(c, head);
    for (uint32_t i = 1; type && i < ref->count; i++) {
        TypeKey key = key_of(ref->items[i]);
        bool is_name = key.is_constant && key.value.kind <= VALUE_STRING;
        type = is_name ? type_select(c->arena, type, key.value) : type_values(c->arena, type);
    }
    return type;
}

static const Type *object_type(Checker *c, const FlatTerm *term)
{
    uint32_t count = 0;
    Value *keys = ARENA_ARRAY(c->arena, Value, term->count / 2 + 1u);
    const Type **items = ARENA_ARRAY(c->arena, const Type *, term->count / 2 + 1u);
    const FlatTerm *open = NULL, *rest = NULL;
    for (uint32_t i = 0; i + 1 < term->count; i += 2) {
        if (term->items[i]->kind == FLAT_CONST && !term->items[i]->named) {
            keys[count] = term->items[i]->value;
            items[count++] = term_type(c, term->items[i + 1]);
        } else {
            open = term->items[i];
            rest = term->items[i + 1];
        }
    }
    const Type *object = type_object(c->arena, keys, items, count);
    return open ? type_object_open(c->arena, object, term_type(c, open), term_type(c, rest)) : object;
}

static const Type *term_type(Checker *c, const FlatTerm *term)
{
    switch ((FlatTermKind)term->kind) {
    case FLAT_CONST: return type_of_value(c->arena, term->value);
    case FLAT_VAR: return c->vars[term->var];
    case FLAT_REF: return ref_type(c, term);
    case FLAT_ARRAY: {
        const Type **items = ARENA_ARRAY(c->arena, const Type *, term->count + 1u);
        for (uint32_t i = 0; i < term->count; i++) items[i] = term_type(c, term->items[i]);
        return type_array(c->arena, items, term->count, NULL);
    }
    case FLAT_SET: {
        const Type *rest = NULL;
        for (uint32_t i = 0; i < term->count; i++) rest = type_or(c->arena, rest, term_type(c, term->items[i]));
        return type_set(c->arena, rest);
    }
    case FLAT_OBJECT: return object_type(c, term);
    case FLAT_COMPREHENSION: return closure_check(c, term);
    case FLAT_INPUT:
    case FLAT_DATA: break;
    }
    return &rego_type_any;
}

/* --- a term and a type ------------------------------------------------------------------------------------------- */

/* `joins` in all of these: what is known of a variable is widened, since the type is one of several. */

static FlatTerm *item_of(Checker *c, const FlatTerm *term, uint32_t index)
{
    if (term->kind != FLAT_CONST) return term->items[index];
    FlatTerm *item = ARENA_NEW(c->arena, FlatTerm);
    *item = (FlatTerm){ .kind = FLAT_CONST, .loc = term->loc };
    if (term->value.kind != VALUE_OBJECT) item->value = term->value.items[index];
    else item->value = index % 2 ? term->value.members[index / 2].value : term->value.members[index / 2].key;
    return item;
}

static FlatTermKind shape_of(const FlatTerm *term)
{
    if (term->kind != FLAT_CONST) return (FlatTermKind)term->kind;
    switch ((ValueKind)term->value.kind) {
    case VALUE_ARRAY: return FLAT_ARRAY;
    case VALUE_SET: return FLAT_SET;
    case VALUE_OBJECT: return FLAT_OBJECT;
    case VALUE_NULL:
    case VALUE_BOOL:
    case VALUE_INT:
    case VALUE_DECIMAL:
    case VALUE_STRING: break;
    }
    return FLAT_CONST;
}

static uint32_t item_count(const FlatTerm *term)
{
    if (term->kind != FLAT_CONST) return term->count;
    return term->value.kind == VALUE_OBJECT ? 2 * term->value.count : term->value.count;
}

static bool object_meets(Checker *c, const FlatTerm *term, const Type *type, bool joins)
{
    uint32_t count = item_count(term);
    if (count / 2 != type->count && !type->rest) return false;
    for (uint32_t i = 0; i < count; i += 2) {
        const FlatTerm *key = item_of(c, term, i), *value = item_of(c, term, i + 1);
        if (key->kind != FLAT_CONST || key->named) {
            (void)term_meets(c, value, &rego_type_any, joins);
            continue;
        }
        const Type *wanted = type_select(c->arena, type, key->value);
        if (!wanted || !term_meets(c, value, wanted, joins)) return false;
    }
    return true;
}

static bool items_meet(Checker *c, const FlatTerm *term, const Type *type, bool joins)
{
    FlatTermKind shape = shape_of(term);
    uint32_t count = item_count(term);
    if (shape == FLAT_OBJECT) return type->kind == TYPE_OBJECT && object_meets(c, term, type, joins);
    if (type->kind != (shape == FLAT_ARRAY ? TYPE_ARRAY : TYPE_SET)) return false;
    if (shape == FLAT_ARRAY && count != type->count && !type->rest) return false;
    for (uint32_t i = 0; i < count; i++)
        if (!term_meets(c, item_of(c, term, i), i < type->count ? type->items[i] : type->rest, joins)) return false;
    return true;
}

static bool var_meets(Checker *c, uint32_t var, const Type *type, bool joins)
{
    const Type *known = c->vars[var];
    if (!joins && known) return type_unifies(known, type);
    var_set(c, var, joins ? type_or(c->arena, known, type) : type);
    return true;
}

/* Whether the term can be of that type; variables that nothing was known of are of it from here on. */
static bool term_meets(Checker *c, const FlatTerm *term, const Type *type, bool joins)
{
    if (term->kind == FLAT_VAR) return var_meets(c, term->var, type, joins);
    FlatTermKind shape = shape_of(term);
    if (shape != FLAT_ARRAY && shape != FLAT_SET && shape != FLAT_OBJECT) return type_unifies(term_type(c, term), type);
    if (!type) return false;
    if (type_is_anything(type)) {
        uint32_t count = term->kind == FLAT_CONST ? 0 : term->count;    /* a constant has no variables */
        for (uint32_t i = 0; i < count; i++) (void)term_meets(c, term->items[i], type, true);
        return true;
    }
    if (type->kind != TYPE_ANY) return items_meet(c, term, type, joins);
    bool meets = false;
    for (uint32_t i = 0; i < type->count; i++) meets |= term_meets(c, term, type->items[i], true);
    return meets;
}

/* --- two terms --------------------------------------------------------------------------------------------------- */

static bool terms_meet(Checker *c, const FlatTerm *a, const FlatTerm *b);

static bool same_key(const FlatTerm *a, const FlatTerm *b)
{
    if (a->kind == FLAT_VAR) return b->kind == FLAT_VAR && a->var == b->var;
    return a->kind == FLAT_CONST && b->kind == FLAT_CONST && value_equals(a->value, b->value);
}

static bool pairs_meet(Checker *c, const FlatTerm *a, const FlatTerm *b)
{
    uint32_t count = item_count(a);
    if (count != item_count(b)) return false;
    for (uint32_t i = 0; i < count; i += 2) {
        uint32_t k = 0;
        while (k < count && !same_key(item_of(c, a, i), item_of(c, b, k))) k += 2;
        if (k == count || !terms_meet(c, item_of(c, a, i + 1), item_of(c, b, k + 1))) return false;
    }
    return true;
}

static bool container_meets(Checker *c, const FlatTerm *a, const FlatTerm *b)
{
    FlatTermKind shape = shape_of(a);
    if (b->kind == FLAT_VAR) return term_meets(c, a, &rego_type_any, false) && term_meets(c, b, term_type(c, a), false);
    if (shape_of(b) != shape) return false;
    if (shape == FLAT_OBJECT) return pairs_meet(c, a, b);
    uint32_t count = item_count(a);
    if (count != item_count(b)) return false;
    for (uint32_t i = 0; i < count; i++)
        if (!terms_meet(c, item_of(c, a, i), item_of(c, b, i))) return false;
    return true;
}

static bool terms_meet_typed(Checker *c, const FlatTerm *a, const Type *left, const FlatTerm *b, const Type *right)
{
    bool no_left = type_is_unknown(left), no_right = type_is_unknown(right);
    if (no_left && !no_right) return term_meets(c, a, right, false);
    if (no_right && !no_left) return term_meets(c, b, left, false);
    if (!no_left) return type_unifies(left, right);
    FlatTermKind shape = shape_of(a), other = shape_of(b);
    if (shape == FLAT_ARRAY || shape == FLAT_OBJECT) return container_meets(c, a, b);
    if (shape == FLAT_VAR && other == FLAT_VAR)
        return term_meets(c, a, &rego_type_any, false) && term_meets(c, b, term_type(c, a), false);
    if (shape == FLAT_VAR && (other == FLAT_ARRAY || other == FLAT_OBJECT)) return container_meets(c, b, a);
    if (shape == FLAT_VAR && !left && right) return term_meets(c, a, right, false);
    if (other == FLAT_VAR && !right && left) return term_meets(c, b, left, false);
    return false;
}

static bool terms_meet(Checker *c, const FlatTerm *a, const FlatTerm *b)
{
    return terms_meet_typed(c, a, term_type(c, a), b, term_type(c, b));
}

/* --- references -------------------------------------------------------------------------------------------------- */

static const Value no_keys = { .kind = VALUE_ARRAY };

/* From the item at `index` on, which is looked up in a value of that type. */
static void ref_follow(Checker *c, const FlatTerm *ref, const Type *type, uint32_t index)
{
    for (; index < ref->count; index++) {
        const FlatTerm *item = ref->items[index];
        uint32_t var;
        if (type_is_empty(type)) {
            type_error_key(c->names, c->unit, ref, index, NULL, NULL, no_keys);
            return;
        }
        const Type *keys = type_keys(c->arena, type);
        if (!keys) {
            type_error_ref(c->names, c->unit, ref, index - 1, type);
            return;
        }
        if (term_var(item, &var)) {
            if (c->vars[var] && !type_unifies(c->vars[var], keys)) {
                type_error_key(c->names, c->unit, ref, index, c->vars[var], keys, type_known_keys(c->arena, type));
                return;
            }
            if (!c->vars[var]) var_set(c, var, keys);
        } else if (shape_of(item) != FLAT_CONST) {
            if (!term_meets(c, item, keys, false)) {
                type_error_key(c->names, c->unit, ref, index, term_type(c, item), keys, no_keys);
                return;
            }
        } else {
            const Type *next = type_select(c->arena, type, item->value);
            if (!next) {
                type_error_key(c->names, c->unit, ref, index, NULL, keys, type_known_keys(c->arena, type));
                return;
            }
            type = next;
            continue;
        }
        type = type_values(c->arena, type);
    }
}

static Value child_keys(Checker *c, const TypeNode *node)
{
    Value *keys = ARENA_ARRAY(c->arena, Value, node->count + 1);
    for (size_t i = 0; i < node->count; i++) keys[i] = node->children[i]->key;
    return value_array(keys, (uint32_t)node->count);
}

/* Where the item is a variable: it is one of the keys of the node. */
static bool node_key_check(Checker *c, const FlatTerm *ref, uint32_t index, const TypeNode *node)
{
    const FlatTerm *item = ref->items[index];
    uint32_t var;
    bool is_var = term_var(item, &var);
    if (index <= 2 && !is_var && !(item->kind == FLAT_CONST && item->value.kind == VALUE_STRING)) {
        type_error_key(c->names, c->unit, ref, index, term_type(c, item), &rego_type_string, child_keys(c, node));
        return false;
    }
    if (!is_var) return true;
    const Type *keys = type_keys(c->arena, type_node_extent(c->arena, node));
    if (c->vars[var] && !type_unifies(keys, c->vars[var])) {
        type_error_key(c->names, c->unit, ref, index, c->vars[var], keys, child_keys(c, node));
        return false;
    }
    if (!c->vars[var]) var_set(c, var, keys);
    return true;
}

static void ref_check_data(Checker *c, const FlatTerm *ref)
{
    for (const TypeLayer *layer = c->layers; layer; layer = layer->next) {
        const TypeNode *node = layer->root;
        if (!node->type && !node->count) continue;
        for (uint32_t i = 1;; i++) {
            if (node->type) {
                ref_follow(c, ref, node->type, i);
                return;
            }
            if (i == ref->count || !node_key_check(c, ref, i, node)) return;
            TypeKey key = key_of(ref->items[i]);
            node = key.is_constant ? type_node_child(node, key.value) : NULL;
            if (!node) break;
        }
    }
    ref_follow(c, ref, &rego_type_any, 1);
}

static void ref_check(Checker *c, const FlatTerm *ref)
{
    const FlatTerm *head = ref->items[0];
    const Type *type = ref_type(c, ref);
    if (type && type->kind == TYPE_FUNCTION) {
        type_error_ref(c->names, c->unit, ref, ref->count - 1, type);
        return;
    }
    if (head->kind == FLAT_DATA) {
        ref_check_data(c, ref);
        return;
    }
    if (head->kind == FLAT_VAR && !c->vars[head->var]) var_set(c, head->var, &rego_type_any);
    bool is_literal = head->kind == FLAT_ARRAY || head->kind == FLAT_OBJECT;
    if (is_literal && type_is_unknown(term_type(c, head)))      /* arguments of a function are anything from here on */
        (void)term_meets(c, head, &rego_type_any, false);
    ref_follow(c, ref, head->kind == FLAT_INPUT || is_scalar(head) ? &rego_type_any : term_type(c, head), 1);
}

static void term_check_refs(Checker *c, const FlatTerm *term)
{
    if (term && term->kind == FLAT_REF) ref_check(c, term);
}

/* The head is something that is written there: {"a": 1}.b */
static bool ref_is_literal(const FlatTerm *ref)
{
    FlatTermKind kind = (FlatTermKind)ref->items[0]->kind;
    return kind != FLAT_VAR && kind != FLAT_INPUT && kind != FLAT_DATA;
}

/* In bodies behind `every`, `not`, `and`, `or` only references to documents and variables are looked at, and
 * comprehensions. */
static void block_check_refs(Checker *c, const FlatBlock *block)
{
    const FlatTerm *terms[2];
    for (size_t i = 0; i < block->count; i++) {
        const FlatStmt *stmt = block->stmts[i];
        terms[0] = stmt->a;
        terms[1] = stmt->b;
        for (uint32_t k = 0; k < 2; k++) {
            if (terms[k] && terms[k]->kind == FLAT_REF && !ref_is_literal(terms[k])) ref_check(c, terms[k]);
            if (terms[k] && terms[k]->kind == FLAT_COMPREHENSION) (void)closure_check(c, terms[k]);
        }
        for (uint32_t k = 0; stmt->kind == FLAT_NOTE && k < stmt->arg_count; k++) (void)closure_check(c, stmt->args[k]);
        if (stmt->block) block_check_refs(c, stmt->block);
        if (stmt->other) block_check_refs(c, stmt->other);
    }
}

/* --- with -------------------------------------------------------------------------------------------------------- */

static bool paths_overlap(const RuleGroup *group, const Value *path, uint32_t count)
{
    uint32_t shorter = group->path_count < count ? group->path_count : count;
    for (uint32_t i = 0; i < shorter; i++)
        if (!value_equals(group->path[i], path[i])) return false;
    return true;
}

/* Rules that read what is replaced, by way of others too, may be anything. */
static const TypeLayer *layer_of_readers(Checker *c, const TypeLayer *next, const Value *path, uint32_t count,
                                         const RuleGroup *but)
{
    const RegoPolicy *policy = c->names->policy;
    uint8_t *marked = ARENA_ARRAY(c->arena, uint8_t, policy->group_count + 1);
    uint8_t *below = ARENA_ARRAY(c->arena, uint8_t, policy->root->last + 2u);   /* by node: a group under it is marked */
    TypeNode *root = ARENA_NEW(c->arena, TypeNode);
    for (size_t i = 0; i < policy->group_count; i++) {
        const RuleGroup *group = policy->groups[policy->order[i]];
        bool reads = paths_overlap(group, path, count);
        for (size_t u = 0; u < group->use_count && !reads; u++)
            reads = group->uses[u].group ? marked[group->uses[u].group->index] : below[group->uses[u].node->first];
        c->work += 1 + group->use_count;
        if (!reads) continue;
        marked[group->index] = 1;
        for (const TreeNode *node = group->node; node && !below[node->first]; node = node->parent) below[node->first] = 1;
        if (group != but) type_tree_put(c->arena, root, group->path, group->path_count, &rego_type_any);
    }
    TypeLayer *layer = ARENA_NEW(c->arena, TypeLayer);
    *layer = (TypeLayer){ root, next };
    return layer;
}

static const TypeLayer *with_layer(Checker *c, uint32_t with)
{
    if (!with) return c->base;
    if (c->withs[with]) return c->withs[with];
    const FlatWith *source = &c->unit->withs[with];
    const TypeLayer *outer = with_layer(c, source->parent), *layers = outer, *seen = c->layers;
    TypeNode *root = ARENA_NEW(c->arena, TypeNode);
    c->layers = outer;
    for (uint32_t i = 0; i < source->count; i++) {
        const FlatTarget *target = &source->targets[i];
        if (target->kind == FLAT_TARGET_GROUP)
            layers = layer_of_readers(c, layers, target->group->path, target->group->path_count, target->group);
        if (target->kind != FLAT_TARGET_DATA) continue;
        layers = layer_of_readers(c, layers, target->path, target->path_count, NULL);
        TypeKey *keys = ARENA_ARRAY(c->arena, TypeKey, target->path_count + 1u);
        for (uint32_t k = 0; k < target->path_count; k++) keys[k] = (TypeKey){ true, target->path[k] };
        const Type *type = type_layer_select(c->arena, outer, keys, target->path_count);
        const Type *value = target->value ? term_type(c, target->value) : NULL;
        const Type *either = type && value ? type_or(c->arena, type, value) : NULL;
        type_tree_put(c->arena, root, target->path, target->path_count, either ? either : &rego_type_any);
    }
    c->layers = seen;
    TypeLayer *top = ARENA_NEW(c->arena, TypeLayer);
    *top = (TypeLayer){ root, layers };
    return c->withs[with] = top;
}

/* --- calls ------------------------------------------------------------------------------------------------------- */

typedef struct Callable {
    Str name;
    TypeParam params[REGO_ARG_COUNT_MAX + 1];   /* the answer behind the arguments */
    uint32_t count;                             /* arguments */
    uint32_t param_count;                       /* one more where an answer is known */
} Callable;

/* False where nothing is known of the function: a rule of it has mistakes. */
static bool callable_of(Checker *c, const Builtin *builtin, const RuleGroup *group, Callable *out)
{
    if (builtin) {
        out->name = str_of(builtin->name);
        out->count = builtin->arity;
        out->param_count = out->count + 1;
        type_of_signature(c->arena, builtin->signature, out->params, builtin->arity);
        return true;
    }
    TypeKey *keys = ARENA_ARRAY(c->arena, TypeKey, group->path_count + 1u);
    for (uint32_t i = 0; i < group->path_count; i++) keys[i] = (TypeKey){ true, group->path[i] };
    const Type *type = type_layer_select(c->arena, c->layers, keys, group->path_count);
    if (!type || type->kind != TYPE_FUNCTION || type->count > REGO_ARG_COUNT_MAX) return false;
    out->name = tree_path_text(c->arena, group->node);
    out->count = type->count;
    out->param_count = type->count + (type->rest != NULL);
    for (uint32_t i = 0; i < type->count; i++) out->params[i] = (TypeParam){ .type = type->items[i] };
    out->params[type->count] = (TypeParam){ .type = type->rest };
    return true;
}

static const Type *function_type(Checker *c, const Callable *callable)
{
    const Type **args = ARENA_ARRAY(c->arena, const Type *, callable->count + 1u);
    for (uint32_t i = 0; i < callable->count; i++) args[i] = callable->params[i].type;
    return type_function(c->arena, args, callable->count, callable->params[callable->count].type);
}

/* Something was taken out of the term, which therefore is looked at as a statement of its own. */
static bool term_is_opened(const Checker *c, const FlatTerm *term)
{
    if (term->kind == FLAT_VAR) return c->unit->vars[term->var].flags & FLAT_VAR_GENERATED;
    for (uint32_t i = 0; (term->kind == FLAT_ARRAY || term->kind == FLAT_OBJECT) && i < term->count; i++)
        if (term_is_opened(c, term->items[i])) return true;
    return false;
}

/* A function that replaces another has to take what that one takes. */
static bool with_check(Checker *c, uint32_t with)
{
    for (; with; with = c->unit->withs[with].parent) {
        for (uint32_t i = 0; i < c->unit->withs[with].count; i++) {
            const FlatTarget *target = &c->unit->withs[with].targets[i];
            Callable have, want;
            if (target->value && term_is_opened(c, target->value) && type_is_unknown(term_type(c, target->value)))
                (void)term_meets(c, target->value, &rego_type_any, false);
            if (!target->by_builtin && !target->by_group) continue;
            if (!callable_of(c, target->by_builtin, target->by_group, &have)) continue;
            if (!callable_of(c, target->builtin, target->group, &want)) continue;
            if (type_unifies(function_type(c, &want), function_type(c, &have))) continue;
            for (uint32_t k = 0; k < have.count; k++) have.params[k].name = (Str){ 0 };
            type_error_call(c->names, target->loc, want.name, "arity mismatch", have.params, have.count, want.params,
                            want.count);
            return false;
        }
    }
    return true;
}

/* Mistakes of what a statement contains explain why something is not known: nothing more is said then. */
static void error_match(Checker *c, RegoLoc loc, const Type *left, const Type *right, bool is_explained)
{
    if (is_explained && (type_is_unknown(left) || type_is_unknown(right))) return;
    type_error_match(c->names, loc, left, right);
}

static bool member_check_one(Checker *c, const FlatStmt *stmt, const FlatTerm *term, const Type *type)
{
    if (type_is_unknown(type)) return true;
    const Type *have = term_type(c, term);
    if ((type_is_unknown(have) || type_unifies(have, type)) && term_meets(c, term, type, false)) return true;
    type_error_match(c->names, stmt->loc, have, type);
    return false;
}

/* x in xs: what may be found depends on the collection, which a declaration cannot say. */
static bool member_check(Checker *c, const FlatStmt *stmt)
{
    uint32_t count = stmt->arg_count;
    const Type *collection = term_type(c, stmt->args[count - 1]);
    const Type *values = type_values(c->arena, collection);
    if (!values) return true;
    if (count == 3 && !member_check_one(c, stmt, stmt->args[0], type_keys(c->arena, collection))) return false;
    return member_check_one(c, stmt, stmt->args[count - 2], values);
}

static void call_check(Checker *c, const FlatStmt *stmt)
{
    Callable callable;
    if (!callable_of(c, stmt->builtin, stmt->group, &callable)) return;
    const FlatTerm *args[REGO_ARG_COUNT_MAX + 1];
    TypeParam have[REGO_ARG_COUNT_MAX + 1];
    uint32_t count = stmt->arg_count;
    bool is_plain = stmt->out && stmt->out->kind == FLAT_VAR
                 && (c->unit->vars[stmt->out->var].flags & FLAT_VAR_GENERATED);
    for (uint32_t i = 0; i < count; i++) args[i] = stmt->args[i];
    if (stmt->out) args[count++] = is_plain || stmt->out_is_arg ? stmt->out : NULL;
    for (uint32_t i = 0; i < count; i++) {
        have[i] = (TypeParam){ .type = args[i] ? term_type(c, args[i]) : NULL };
        c->work += have[i].type ? have[i].type->weight : 0;
    }
    const char *what = count > callable.param_count ? "too many arguments" : "invalid argument(s)";
    bool is_good = count <= callable.param_count;
    for (uint32_t i = 0; is_good && i < count; i++) {
        const Type *wanted = callable.params[i].type;
        if (!args[i]) continue;
        if (!type_is_unknown(have[i].type) && !type_unifies(have[i].type, wanted)) is_good = false;
        if (!is_good || term_meets(c, args[i], wanted, false)) continue;
        is_good = false;
        for (uint32_t k = 0; k < count; k++) have[k].type = args[k] ? term_type(c, args[k]) : NULL;
    }
    if (!is_good) {
        RegoLoc loc = stmt->out && !stmt->out_is_arg ? stmt->loc : stmt->expr_loc;
        type_error_call(c->names, loc, callable.name, what, have, count, callable.params, callable.param_count);
        return;
    }
    if (!stmt->out || args[count - 1]) return;
    /* `[a, b] := f(x)`: the answer is a variable of its own, which is then compared. */
    const Type *answer = callable.params[callable.count].type, *out = term_type(c, stmt->out);
    bool meets = type_is_unknown(out) ? term_meets(c, stmt->out, answer, false) : type_unifies(out, answer);
    if (meets) return;
    type_error_match(c->names, stmt->expr_loc, stmt->out_is_right ? answer : out, stmt->out_is_right ? out : answer);
}

/* --- statements -------------------------------------------------------------------------------------------------- */

static void match_check(Checker *c, const FlatStmt *stmt, const Type *left, const Type *right, bool is_explained)
{
    if (terms_meet_typed(c, stmt->a, left, stmt->b, right)) return;
    bool is_taken_out = stmt->is_assign && stmt->a->kind == FLAT_VAR
                     && (c->unit->vars[stmt->a->var].flags & FLAT_VAR_GENERATED);
    error_match(c, is_taken_out ? stmt->loc : stmt->expr_loc, left, right, is_explained);
}

static void stmt_check(Checker *c, const FlatStmt *stmt)
{
    const TypeLayer *layers = c->layers;
    size_t before = error_count(c);
    c->work++;
    if (stmt->with) c->layers = with_layer(c, stmt->with);
    const Type *left = stmt->a && stmt->a->kind == FLAT_COMPREHENSION ? closure_check(c, stmt->a) : NULL;
    const Type *right = stmt->b && stmt->b->kind == FLAT_COMPREHENSION ? closure_check(c, stmt->b) : NULL;
    for (uint32_t i = 0; stmt->kind == FLAT_NOTE && i < stmt->arg_count; i++) (void)closure_check(c, stmt->args[i]);
    term_check_refs(c, stmt->a);
    term_check_refs(c, stmt->b);
    if (stmt->kind == FLAT_EVERY && type_is_unknown(term_type(c, stmt->a)))     /* its body knows the domain */
        (void)term_meets(c, stmt->a, &rego_type_any, false);
    bool is_nested = stmt->kind == FLAT_NOT || stmt->kind == FLAT_BOTH || stmt->kind == FLAT_EITHER
                  || stmt->kind == FLAT_EVERY;
    if (is_nested && !stmt->needs_all) {
        block_check_refs(c, stmt->block);
        if (stmt->other) block_check_refs(c, stmt->other);
    }
    bool is_explained = error_count(c) > before;
    if (!with_check(c, stmt->with)) {
        c->layers = layers;
        return;
    }
    if (stmt->kind == FLAT_NOT && stmt->needs_all) stmt_check(c, stmt->block->stmts[0]);
    if (stmt->kind == FLAT_UNIFY || stmt->kind == FLAT_EQUAL) {
        if (stmt->a->kind != FLAT_COMPREHENSION) left = term_type(c, stmt->a);
        if (stmt->b->kind != FLAT_COMPREHENSION) right = term_type(c, stmt->b);
        c->work += (left ? left->weight : 0) + (right ? right->weight : 0);
        if (stmt->kind == FLAT_UNIFY || !c->in_query) match_check(c, stmt, left, right, is_explained);
        else {                          /* a call that takes anything, as any other */
            (void)term_meets(c, stmt->a, &rego_type_any, false);
            (void)term_meets(c, stmt->b, &rego_type_any, false);
        }
    }
    if (stmt->kind == FLAT_CALL) {
        bool is_member = stmt->builtin && str_starts(str_of(stmt->builtin->name), STR("internal.member_"));
        if (!is_member || member_check(c, stmt)) call_check(c, stmt);
    }
    c->layers = layers;
}

static void block_check(Checker *c, const FlatBlock *block)
{
    for (size_t i = 0; i < block->count; i++) stmt_check(c, block->stmts[i]);
}

/* What a body says of variables holds inside of it alone. NULL where there are mistakes in it. */
static const Type *closure_check(Checker *c, const FlatTerm *term)
{
    size_t changes = c->change_count, before = error_count(c);
    block_check(c, term->block);
    const Type *type = NULL;
    if (error_count(c) == before) {
        const Type *value = term_type(c, term->block->value);
        if (term->flavour == REGO_TERM_ARRAY_COMPREHENSION) type = type_array(c->arena, NULL, 0, value);
        else if (term->flavour == REGO_TERM_SET_COMPREHENSION) type = type_set(c->arena, value);
        else type = type_object_open(c->arena, NULL, term_type(c, term->block->key), value);
    }
    vars_restore(c, changes);
    return type;
}

/* --- rules and queries ------------------------------------------------------------------------------------------- */

/* A rule whose path has keys that are computed makes objects inside one another. */
static const Type *nested_type(Checker *c, FlatTerm *const *path, uint32_t count, const Type *type)
{
    while (type && count) {
        const Type *key = term_type(c, path[--count]);
        if (!key) return NULL;
        type = type_object_open(c->arena, NULL, key, type);
    }
    return type;
}

static void args_are_anything(Checker *c, const FlatTerm *term)
{
    if (term->kind == FLAT_VAR && !c->vars[term->var]) var_set(c, term->var, &rego_type_any);
    if (term->kind == FLAT_ARRAY || term->kind == FLAT_OBJECT || term->kind == FLAT_SET)
        for (uint32_t i = 0; i < term->count; i++) args_are_anything(c, term->items[i]);
}

static const Type *function_of(Checker *c, const FlatRule *flat, const FlatBranch *branch)
{
    const Type **args = ARENA_ARRAY(c->arena, const Type *, flat->arg_count + 1u);
    for (uint32_t i = 0; i < flat->arg_count; i++) {
        FlatTerm plain = { .kind = FLAT_VAR, .var = i };
        args_are_anything(c, flat->args[i] ? flat->args[i] : &plain);
    }
    for (uint32_t i = 0; i < flat->arg_count; i++)
        args[i] = flat->args[i] ? term_type(c, flat->args[i]) : c->vars[i];
    return type_function(c->arena, args, flat->arg_count, term_type(c, branch->value));
}

static void branch_check(Checker *c, const RuleGroup *group, const FlatRule *flat, const FlatBranch *branch)
{
    RegoPolicy *policy = c->names->policy;
    size_t before = error_count(c);
    Value *path = ARENA_ARRAY(c->arena, Value, group->path_count + branch->path_count + 1u);
    uint32_t count = 0, from = 0;
    for (uint32_t i = 0; i < group->path_count; i++) path[count++] = group->path[i];
    for (; from < branch->path_count && branch->path[from]->kind == FLAT_CONST && !branch->path[from]->named; from++)
        path[count++] = branch->path[from]->value;
    bool is_checked = policy->type_work < REGO_TYPE_WORK_MAX;
    if (is_checked) block_check(c, &branch->block);
    if (!is_checked || error_count(c) > before) {
        if (from == branch->path_count) type_tree_put(c->arena, policy->types, path, count, &rego_type_any);
        return;
    }
    const Type *type;
    if (group->kind == GROUP_FUNCTION) type = function_of(c, flat, branch);
    else if (branch->key) type = type_set(c->arena, term_type(c, branch->key));
    else type = term_type(c, branch->value);
    type = nested_type(c, branch->path + from, branch->path_count - from, type);
    if (type) type_tree_insert(c->arena, policy->types, path, count, type);
}

static Checker checker_of(const Names *names, const FlatRule *flat, TypeLayer *base)
{
    Checker c = { .names = names, .arena = names->arena, .unit = &flat->unit };
    c.vars = ARENA_ARRAY(names->arena, const Type *, flat->unit.var_count + 1);
    c.withs = ARENA_ARRAY(names->arena, const TypeLayer *, flat->unit.with_count + 1);
    *base = (TypeLayer){ names->policy->types, NULL };
    c.base = c.layers = base;
    return c;
}

void type_check_rule(const Names *names, const RuleGroup *group, const FlatRule *flat)
{
    TypeLayer base;
    Checker c = checker_of(names, flat, &base);
    for (uint32_t i = 0; i < flat->branch_count; i++) {
        branch_check(&c, group, flat, &flat->branches[i]);
        vars_restore(&c, 0);
    }
    names->policy->type_work += c.work;
}

void type_check_query(const Names *names, const FlatRule *flat)
{
    TypeLayer base;
    Checker c = checker_of(names, flat, &base);
    c.in_query = true;                  /* where == may compare anything */
    for (uint32_t i = 0; i < flat->arg_count; i++) c.vars[i] = &rego_type_any;
    block_check(&c, &flat->branches[0].block);
}

/* Before anything is known of variables: what was taken out of the call is looked up. */
static const Type *term_type_bare(const Names *names, const FlatUnit *unit, const FlatTerm *term)
{
    if (term->kind == FLAT_CONST) return term->named ? NULL : type_of_value(names->arena, term->value);
    if (term->kind == FLAT_VAR) {
        const FlatTerm *subject = unit->vars[term->var].subject;
        bool is_document = subject && subject->kind == FLAT_REF
                        && (subject->items[0]->kind == FLAT_DATA || subject->items[0]->kind == FLAT_INPUT);
        return is_document ? &rego_type_any : NULL;
    }
    if (term->kind == FLAT_ARRAY) {
        const Type **items = ARENA_ARRAY(names->arena, const Type *, term->count + 1u);
        for (uint32_t i = 0; i < term->count; i++) items[i] = term_type_bare(names, unit, term->items[i]);
        return type_array(names->arena, items, term->count, NULL);
    }
    if (term->kind == FLAT_OBJECT) return type_object(names->arena, NULL, NULL, 0);
    return term->kind == FLAT_SET ? type_set(names->arena, NULL) : NULL;
}

void type_check_arity(const Names *names, const FlatUnit *unit, const Builtin *builtin, FlatTerm **args,
                      uint32_t arg_count, bool has_answer, RegoLoc loc)
{
    TypeParam want[REGO_ARG_COUNT_MAX + 1];
    TypeParam *have = ARENA_ARRAY(names->arena, TypeParam, arg_count + 2u);
    for (uint32_t i = 0; i < arg_count; i++) have[i].type = term_type_bare(names, unit, args[i]);
    type_of_signature(names->arena, builtin->signature, want, builtin->arity);
    type_error_call(names, loc, str_of(builtin->name), "arity mismatch", have, arg_count + has_answer, want,
                    builtin->arity);
}
