#include "rego/plan.h"

#include "base/limits.h"
#include "rego/types.h"

typedef struct Checker {
    const Names *names;
    Arena *arena;
    const Type **vars;          /* by variable; NULL: nothing is known yet */
    bool in_with;               /* documents may have been replaced */
} Checker;

/* --- the type of a term ------------------------------------------------------------------------------------------ */

static void block_check(Checker *c, const FlatBlock *block);

static void error_ref(Checker *c, const FlatTerm *ref, const Type *type)
{
    Buf buf;
    buf_init(&buf, REGO_TEXT_SIZE_MAX);
    type_print(&buf, type);
    Str text = rego_loc_text(c->names->text, ref->loc);
    rego_errors_add(c->names->errors, REGO_ERROR_TYPE, c->names->file, ref->loc, "undefined ref: %.*s\n\thave: %.*s",
                    STR_ARG(text), STR_ARG(buf_peek(&buf)));
    buf_deinit(&buf);
}

static const Type *term_type(Checker *c, const FlatTerm *term);

static const Type *ref_type(Checker *c, const FlatTerm *ref)
{
    const FlatTerm *head = ref->items[0];
    const Type *type = &type_anything;
    uint32_t i = 1;
    if (head->kind == FLAT_DATA && c->in_with) return &type_anything;
    if (head->kind == FLAT_DATA) {
        const TreeNode *node = c->names->policy->root;
        for (; node && !node->group && i < ref->count; i++)
            node = ref->items[i]->kind == FLAT_CONST ? tree_child(node, ref->items[i]->value) : NULL;
        if (!node || !node->group || !node->group->type) return &type_anything;
        type = node->group->type;
    } else if (head->kind != FLAT_INPUT) {
        type = term_type(c, head);
    }
    for (; i < ref->count; i++) {
        const FlatTerm *item = ref->items[i];
        const Type *next = type_step(c->arena, type, item->kind == FLAT_CONST ? &item->value : NULL);
        if (!next) {
            error_ref(c, ref, type);
            return &type_anything;
        }
        type = next;
    }
    return type;
}

static const Type *term_type(Checker *c, const FlatTerm *term)
{
    switch ((FlatTermKind)term->kind) {
    case FLAT_CONST: return type_of_value(c->arena, term->value);
    case FLAT_VAR: return c->vars[term->var] ? c->vars[term->var] : &type_anything;
    case FLAT_REF: return ref_type(c, term);
    case FLAT_ARRAY: {
        const Type **items = ARENA_ARRAY(c->arena, const Type *, term->count + 1u);
        for (uint32_t i = 0; i < term->count; i++) items[i] = term_type(c, term->items[i]);
        return type_array(c->arena, items, term->count);
    }
    case FLAT_SET: return type_set(c->arena, &type_anything);
    case FLAT_COMPREHENSION: block_check(c, term->block); break;
    case FLAT_OBJECT:
    case FLAT_INPUT:
    case FLAT_DATA: break;
    }
    if (term->kind == FLAT_COMPREHENSION && term->flavour == REGO_TERM_SET_COMPREHENSION)
        return type_set(c->arena, &type_anything);
    if (term->kind == FLAT_COMPREHENSION && term->flavour == REGO_TERM_ARRAY_COMPREHENSION) {
        static const Type array = { .kind = TYPE_ARRAY, .rest = &type_anything };
        return &array;
    }
    if (term->kind == FLAT_OBJECT || term->kind == FLAT_COMPREHENSION) {
        static const Type object = { .kind = TYPE_OBJECT, .rest = &type_anything };
        return &object;
    }
    return &type_anything;
}

/* --- statements -------------------------------------------------------------------------------------------------- */

static void var_learn(Checker *c, const FlatTerm *term, const Type *type)
{
    if (term->kind == FLAT_VAR && !c->vars[term->var]) c->vars[term->var] = type;
}

static void check_match(Checker *c, const FlatStmt *stmt)
{
    const Type *left = term_type(c, stmt->a), *right = term_type(c, stmt->b);
    if (type_overlaps(left, right)) {
        var_learn(c, stmt->a, right);
        var_learn(c, stmt->b, left);
        return;
    }
    Buf buf;
    buf_init(&buf, REGO_TEXT_SIZE_MAX);
    buf_text(&buf, "match error\n\tleft  : ");
    type_print(&buf, left);
    buf_text(&buf, "\n\tright : ");
    type_print(&buf, right);
    rego_errors_add(c->names->errors, REGO_ERROR_TYPE, c->names->file, stmt->expr_loc, "%.*s", STR_ARG(buf_peek(&buf)));
    buf_deinit(&buf);
}

static void error_call(Checker *c, const FlatStmt *stmt, const Type **types)
{
    Buf buf;
    buf_init(&buf, REGO_TEXT_SIZE_MAX);
    for (uint32_t i = 0; i < stmt->arg_count; i++) {
        if (i) buf_text(&buf, ", ");
        type_print(&buf, types[i]);
    }
    rego_errors_add(c->names->errors, REGO_ERROR_TYPE, c->names->file, stmt->loc,
                    "%s: invalid argument(s)\n\thave: (%.*s)\n\twant: %s", stmt->builtin->name, STR_ARG(buf_peek(&buf)),
                    stmt->builtin->signature);
    buf_deinit(&buf);
}

static void check_call(Checker *c, const FlatStmt *stmt)
{
    if (!stmt->builtin || stmt->with) return;       /* what replaces a function may take other things */
    const Type *types[REGO_ARG_COUNT_MAX], *wanted[REGO_ARG_COUNT_MAX], *result;
    type_of_signature(c->arena, stmt->builtin->signature, wanted, stmt->arg_count, &result);
    bool is_good = true;
    for (uint32_t i = 0; i < stmt->arg_count; i++) {
        types[i] = term_type(c, stmt->args[i]);
        if (!type_overlaps(types[i], wanted[i])) is_good = false;
    }
    if (!is_good) error_call(c, stmt, types);
    if (stmt->out && !(stmt->builtin->flags & BUILTIN_RELATION)) var_learn(c, stmt->out, result);
}

static void stmt_check(Checker *c, const FlatStmt *stmt)
{
    c->in_with = stmt->with != 0;
    switch ((FlatStmtKind)stmt->kind) {
    case FLAT_TEST: term_type(c, stmt->a); break;
    case FLAT_UNIFY:
    case FLAT_EQUAL: check_match(c, stmt); break;
    case FLAT_CALL: check_call(c, stmt); break;
    case FLAT_NOT:
    case FLAT_BOTH:
    case FLAT_EITHER:
    case FLAT_EVERY:
        block_check(c, stmt->block);
        if (stmt->other) block_check(c, stmt->other);
        break;
    case FLAT_NOTE: break;
    }
}

static void block_check(Checker *c, const FlatBlock *block)
{
    for (size_t i = 0; i < block->count; i++) stmt_check(c, block->stmts[i]);
}

void type_check_rule(const Names *names, RuleGroup *group, const FlatRule *flat)
{
    for (uint32_t i = 0; i < flat->branch_count; i++) {
        const FlatBranch *branch = &flat->branches[i];
        Checker c = { .names = names, .arena = names->arena };
        c.vars = ARENA_ARRAY(names->arena, const Type *, flat->unit.var_count + 1);
        block_check(&c, &branch->block);
        bool is_whole = group->kind == GROUP_COMPLETE && branch->value;
        group->type = is_whole ? type_choice(names->arena, group->type, term_type(&c, branch->value)) : &type_anything;
    }
    if (group->kind == GROUP_SET) group->type = type_set(names->arena, &type_anything);
}
