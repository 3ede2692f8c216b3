#include "rego/flatten.h"

#include "base/check.h"

/* --- rules that are taken for defined ------------------------------------------------------------------------------ */

/* A term of a head that has no body behind it: a name in it is that of a rule or an import. */
static bool is_closed(const RegoTerm *term)
{
    switch ((RegoTermKind)term->kind) {
    case REGO_TERM_SCALAR:
    case REGO_TERM_VAR: return true;
    case REGO_TERM_ARRAY:
    case REGO_TERM_SET:
    case REGO_TERM_CALL:
        for (uint32_t i = 0; i < term->count; i++)
            if (!is_closed(term->items[i])) return false;
        return true;
    case REGO_TERM_OBJECT:
        for (uint32_t i = 0; i < term->count; i++)
            if (!is_closed(term->pairs[i].key) || !is_closed(term->pairs[i].value)) return false;
        return true;
    case REGO_TERM_REF:
    case REGO_TERM_ARRAY_COMPREHENSION:
    case REGO_TERM_SET_COMPREHENSION:
    case REGO_TERM_OBJECT_COMPREHENSION:
    case REGO_TERM_TEMPLATE:
    case REGO_TERM_KIND_COUNT: break;
    }
    return rego_term_is_ground(term);
}

static bool has_no_body(const RegoRule *rule)
{
    const RegoExpr *only = rule->body.count == 1 ? rule->body.exprs[0] : NULL;
    return (rule->flags & REGO_RULE_BODY_GENERATED)
        || (only && only->kind == REGO_EXPR_TERM && !only->flags && !only->with_count && only->term->kind == REGO_TERM_SCALAR
            && value_is_true(only->term->value));
}

/* Other Rego tools take a rule that has no body and a container for its value for defined, even where that is `[input.x]`: a
 * template that has it is undefined where the rule is. */
static bool is_taken_for_defined(Flattener *f, const RegoExpr *expr)
{
    const RegoTerm *term = expr->kind == REGO_EXPR_TERM ? expr->term : NULL;
    if (!term || expr->with_count || (term->kind != REGO_TERM_VAR && term->kind != REGO_TERM_REF)) return false;
    const RegoTerm *head = term->kind == REGO_TERM_REF ? term->items[0] : term;
    if (head->kind != REGO_TERM_VAR || scope_declares(f, head->name)) return false;
    const TreeNode *node = flat_callee_node(f, term);
    const RuleGroup *group = node ? node->group : NULL;
    if (!group || group->source_count != 1 || group->kind == GROUP_FUNCTION) return false;
    const RegoTerm *value = group->sources[0].rule->head.value;
    return value && has_no_body(group->sources[0].rule) && is_closed(value)
        && (value->kind == REGO_TERM_ARRAY || value->kind == REGO_TERM_SET || value->kind == REGO_TERM_OBJECT);
}

/* --- templates ----------------------------------------------------------------------------------------------------- */

static FlatTerm *flat_part(Flattener *f, RegoExpr *expr)
{
    if (is_taken_for_defined(f, expr)) {
        FlatTerm *set = flat_new(f, FLAT_SET, expr->loc);
        set->items = ARENA_ARRAY(f->arena, FlatTerm *, 1);
        set->items[set->count++] = flat_operand(f, expr->term);
        return set;
    }
    FlatTerm *set = flat_new(f, FLAT_COMPREHENSION, expr->loc);
    set->flavour = REGO_TERM_SET_COMPREHENSION;
    set->is_part = true;
    set->block = ARENA_NEW(f->arena, FlatBlock);
    FlatBlock *outer = f->block;
    f->block = set->block;
    set->block->value = flat_captured(f, expr);
    f->block = outer;
    return flat_extract(f, set);
}

FlatTerm *flat_template(Flattener *f, const RegoTerm *term)
{
    FlatTerm *parts = flat_new(f, FLAT_ARRAY, term->loc);
    parts->items = ARENA_ARRAY(f->arena, FlatTerm *, term->count + 1u);
    parts->count = term->count;
    RegoLoc expr_loc = f->expr_loc;
    f->expr_loc = term->loc;
    f->level++;                     /* a template is a call */
    for (uint32_t i = 0; i < term->count; i++) {
        const RegoTemplatePart *part = &term->parts[i];
        parts->items[i] = part->expr ? flat_part(f, part->expr) : flat_const(f, value_string(part->text), term->loc);
    }
    f->level--;
    f->expr_loc = expr_loc;
    FlatStmt *call = flat_add(f, FLAT_CALL, term->loc);
    call->builtin = builtin_find(STR("internal.template_string"));
    CHECK(call->builtin);
    call->args = ARENA_ARRAY(f->arena, FlatTerm *, 1);
    call->args[0] = parts;
    call->arg_count = 1;
    call->out = flat_fresh(f, term->loc);
    f->unit->vars[call->out->var].call = call;
    return call->out;
}
