#include "rego/ast.h"

#include <string.h>

#include "base/buf.h"
#include "base/limits.h"

static const char *const term_kind_names[REGO_TERM_KIND_COUNT] = {
    [REGO_TERM_VAR] = "var",
    [REGO_TERM_REF] = "ref",
    [REGO_TERM_CALL] = "call",
    [REGO_TERM_ARRAY] = "array",
    [REGO_TERM_SET] = "set",
    [REGO_TERM_OBJECT] = "object",
    [REGO_TERM_ARRAY_COMPREHENSION] = "arraycomprehension",
    [REGO_TERM_SET_COMPREHENSION] = "setcomprehension",
    [REGO_TERM_OBJECT_COMPREHENSION] = "objectcomprehension",
    [REGO_TERM_TEMPLATE] = "templatestring",
};

static const char *const scope_names[REGO_SCOPE_COUNT] = {
    [REGO_SCOPE_RULE] = "rule",
    [REGO_SCOPE_DOCUMENT] = "document",
    [REGO_SCOPE_PACKAGE] = "package",
    [REGO_SCOPE_SUBPACKAGES] = "subpackages",
};

/* --- look -------------------------------------------------------------------------------------------------------- */

const char *rego_term_kind_name(const RegoTerm *term)
{
    return term->kind == REGO_TERM_SCALAR ? value_kind_name(term->value) : term_kind_names[term->kind];
}

const char *rego_scope_name(RegoScope scope)
{
    return scope_names[scope];
}

bool rego_term_is_var(const RegoTerm *term, Str name)
{
    return term->kind == REGO_TERM_VAR && str_is(term->name, name);
}

bool rego_term_is_string(const RegoTerm *term)
{
    return term->kind == REGO_TERM_SCALAR && term->value.kind == VALUE_STRING;
}

static bool is_ground_term(void *context, RegoTerm **place)
{
    bool *ground = context;
    const RegoTerm *term = *place;
    switch ((RegoTermKind)term->kind) {
    case REGO_TERM_VAR:
    case REGO_TERM_CALL:
    case REGO_TERM_ARRAY_COMPREHENSION:
    case REGO_TERM_SET_COMPREHENSION:
    case REGO_TERM_OBJECT_COMPREHENSION:
    case REGO_TERM_TEMPLATE:
        *ground = false;
        return false;
    case REGO_TERM_REF:
        if (term->items[0]->kind == REGO_TERM_VAR) {
            for (uint32_t i = 1; i < term->count; i++)
                if (!rego_term_is_ground(term->items[i])) *ground = false;
            return false;
        }
        return true;
    case REGO_TERM_SCALAR:
    case REGO_TERM_ARRAY:
    case REGO_TERM_SET:
    case REGO_TERM_OBJECT:
    case REGO_TERM_KIND_COUNT:
        return true;
    }
    return true;
}

bool rego_term_is_ground(const RegoTerm *term)
{
    bool ground = true;
    const RegoWalk walk = { .context = &ground, .term = is_ground_term };
    RegoTerm *place = (RegoTerm *)(uintptr_t)term;      /* the callback replaces nothing */
    rego_walk_term(&walk, &place);
    return ground;
}

Str rego_call_name(Arena *arena, const RegoTerm *call)
{
    const RegoTerm *operator = call->items[0];
    if (operator->kind == REGO_TERM_VAR) return operator->name;
    if (operator->kind != REGO_TERM_REF || operator->items[0]->kind != REGO_TERM_VAR) return STR("");
    if (operator->count == 1) return operator->items[0]->name;

    size_t size = operator->items[0]->name.len;
    for (uint32_t i = 1; i < operator->count; i++) {
        if (!rego_term_is_string(operator->items[i])) return STR("");
        size += 1 + operator->items[i]->value.count;
    }
    Buf buf = buf_on(arena_alloc(arena, size), size);
    buf_str(&buf, operator->items[0]->name);
    for (uint32_t i = 1; i < operator->count; i++) {
        buf_char(&buf, '.');
        buf_str(&buf, value_text(operator->items[i]->value));
    }
    return buf_peek(&buf);
}

/* --- walk -------------------------------------------------------------------------------------------------------- */

static void walk_terms(const RegoWalk *walk, RegoTerm **places, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) rego_walk_term(walk, &places[i]);
}

static void walk_inside_term(const RegoWalk *walk, RegoTerm *term)
{
    switch ((RegoTermKind)term->kind) {
    case REGO_TERM_REF:
    case REGO_TERM_CALL:
    case REGO_TERM_ARRAY:
    case REGO_TERM_SET:
        walk_terms(walk, term->items, term->count);
        break;
    case REGO_TERM_OBJECT:
        for (uint32_t i = 0; i < term->count; i++) {
            rego_walk_term(walk, &term->pairs[i].key);
            rego_walk_term(walk, &term->pairs[i].value);
        }
        break;
    case REGO_TERM_ARRAY_COMPREHENSION:
    case REGO_TERM_SET_COMPREHENSION:
    case REGO_TERM_OBJECT_COMPREHENSION:
        if (term->comprehension->key) rego_walk_term(walk, &term->comprehension->key);
        rego_walk_term(walk, &term->comprehension->value);
        rego_walk_body(walk, &term->comprehension->body);
        break;
    case REGO_TERM_TEMPLATE:
        for (uint32_t i = 0; i < term->count; i++)
            if (term->parts[i].expr) rego_walk_expr(walk, &term->parts[i].expr);
        break;
    case REGO_TERM_SCALAR:
    case REGO_TERM_VAR:
    case REGO_TERM_KIND_COUNT:
        break;
    }
}

void rego_walk_term(const RegoWalk *walk, RegoTerm **place)
{
    if (!walk->term || walk->term(walk->context, place)) walk_inside_term(walk, *place);
    if (walk->term_end) walk->term_end(walk->context, place);
}

static void walk_each(const RegoWalk *walk, RegoEach *each)
{
    if (each->key) rego_walk_term(walk, &each->key);
    rego_walk_term(walk, &each->value);
    rego_walk_term(walk, &each->domain);
    if (each->body.count) rego_walk_body(walk, &each->body);
}

static void walk_inside_expr(const RegoWalk *walk, RegoExpr *expr)
{
    switch ((RegoExprKind)expr->kind) {
    case REGO_EXPR_TERM:
    case REGO_EXPR_CALL:
        rego_walk_term(walk, &expr->term);
        break;
    case REGO_EXPR_SOME:
        walk_terms(walk, expr->some->vars, expr->some->count);
        break;
    case REGO_EXPR_SOME_IN:
    case REGO_EXPR_EVERY:
        walk_each(walk, expr->each);
        break;
    case REGO_EXPR_NOT:
        rego_walk_body(walk, expr->not);
        break;
    case REGO_EXPR_AND:
    case REGO_EXPR_OR:
        rego_walk_body(walk, &expr->logic->left);
        rego_walk_body(walk, &expr->logic->right);
        break;
    case REGO_EXPR_KIND_COUNT:
        break;
    }
    for (uint32_t i = 0; i < expr->with_count; i++) {
        rego_walk_term(walk, &expr->withs[i].target);
        rego_walk_term(walk, &expr->withs[i].value);
    }
}

void rego_walk_expr(const RegoWalk *walk, RegoExpr **place)
{
    if (!walk->expr || walk->expr(walk->context, place)) walk_inside_expr(walk, *place);
    if (walk->expr_end) walk->expr_end(walk->context, place);
}

void rego_walk_body(const RegoWalk *walk, RegoBody *body)
{
    if (!walk->body || walk->body(walk->context, body))
        for (uint32_t i = 0; i < body->count; i++) rego_walk_expr(walk, &body->exprs[i]);
    if (walk->body_end) walk->body_end(walk->context, body);
}

void rego_walk_head(const RegoWalk *walk, RegoHead *head)
{
    walk_terms(walk, head->ref, head->ref_count);
    walk_terms(walk, head->args, head->arg_count);
    if (head->key) rego_walk_term(walk, &head->key);
    if (head->value) rego_walk_term(walk, &head->value);
}

void rego_walk_rule(const RegoWalk *walk, RegoRule *rule)
{
    for (; rule; rule = rule->otherwise) {
        rego_walk_head(walk, &rule->head);
        rego_walk_body(walk, &rule->body);
    }
}

void rego_walk_module(const RegoWalk *walk, RegoModule *module)
{
    rego_walk_term(walk, &module->package);
    for (uint32_t i = 0; i < module->import_count; i++) rego_walk_term(walk, &module->imports[i].path);
    for (uint32_t i = 0; i < module->rule_count; i++) rego_walk_rule(walk, module->rules[i]);
}

/* --- copy -------------------------------------------------------------------------------------------------------- */

static void *memory_copy(Arena *arena, const void *from, size_t size)
{
    void *copy = arena_alloc(arena, size);
    if (size) memcpy(copy, from, size);
    return copy;
}

static RegoTerm **terms_copy(Arena *arena, RegoTerm *const *terms, uint32_t count)
{
    RegoTerm **copies = ARENA_ARRAY(arena, RegoTerm *, count);
    for (uint32_t i = 0; i < count; i++) copies[i] = rego_term_copy(arena, terms[i]);
    return copies;
}

static RegoComprehension *comprehension_copy(Arena *arena, const RegoComprehension *from)
{
    RegoComprehension *copy = ARENA_NEW(arena, RegoComprehension);
    copy->key = from->key ? rego_term_copy(arena, from->key) : NULL;
    copy->value = rego_term_copy(arena, from->value);
    copy->body = rego_body_copy(arena, from->body);
    return copy;
}

RegoTerm *rego_term_copy(Arena *arena, const RegoTerm *term)
{
    RegoTerm *copy = memory_copy(arena, term, sizeof *term);
    switch ((RegoTermKind)term->kind) {
    case REGO_TERM_REF:
    case REGO_TERM_CALL:
    case REGO_TERM_ARRAY:
    case REGO_TERM_SET:
        copy->items = terms_copy(arena, term->items, term->count);
        break;
    case REGO_TERM_OBJECT:
        copy->pairs = ARENA_ARRAY(arena, RegoPair, term->count);
        for (uint32_t i = 0; i < term->count; i++) {
            copy->pairs[i].key = rego_term_copy(arena, term->pairs[i].key);
            copy->pairs[i].value = rego_term_copy(arena, term->pairs[i].value);
        }
        break;
    case REGO_TERM_ARRAY_COMPREHENSION:
    case REGO_TERM_SET_COMPREHENSION:
    case REGO_TERM_OBJECT_COMPREHENSION:
        copy->comprehension = comprehension_copy(arena, term->comprehension);
        break;
    case REGO_TERM_TEMPLATE:
        copy->parts = memory_copy(arena, term->parts, sizeof *term->parts * term->count);
        for (uint32_t i = 0; i < term->count; i++)
            if (term->parts[i].expr) copy->parts[i].expr = rego_expr_copy(arena, term->parts[i].expr);
        break;
    case REGO_TERM_SCALAR:
    case REGO_TERM_VAR:
    case REGO_TERM_KIND_COUNT:
        break;
    }
    return copy;
}

static RegoEach *each_copy(Arena *arena, const RegoEach *from)
{
    RegoEach *copy = ARENA_NEW(arena, RegoEach);
    copy->key = from->key ? rego_term_copy(arena, from->key) : NULL;
    copy->value = rego_term_copy(arena, from->value);
    copy->domain = rego_term_copy(arena, from->domain);
    copy->body = rego_body_copy(arena, from->body);
    return copy;
}

RegoExpr *rego_expr_copy(Arena *arena, const RegoExpr *expr)
{
    RegoExpr *copy = memory_copy(arena, expr, sizeof *expr);
    switch ((RegoExprKind)expr->kind) {
    case REGO_EXPR_TERM:
    case REGO_EXPR_CALL:
        copy->term = rego_term_copy(arena, expr->term);
        break;
    case REGO_EXPR_SOME:
        copy->some = ARENA_NEW(arena, RegoSome);
        *copy->some = (RegoSome){ terms_copy(arena, expr->some->vars, expr->some->count), expr->some->count };
        break;
    case REGO_EXPR_SOME_IN:
    case REGO_EXPR_EVERY:
        copy->each = each_copy(arena, expr->each);
        break;
    case REGO_EXPR_NOT:
        copy->not = ARENA_NEW(arena, RegoBody);
        *copy->not = rego_body_copy(arena, *expr->not);
        break;
    case REGO_EXPR_AND:
    case REGO_EXPR_OR:
        copy->logic = memory_copy(arena, expr->logic, sizeof *expr->logic);
        copy->logic->left = rego_body_copy(arena, expr->logic->left);
        copy->logic->right = rego_body_copy(arena, expr->logic->right);
        break;
    case REGO_EXPR_KIND_COUNT:
        break;
    }
    copy->withs = memory_copy(arena, expr->withs, sizeof *expr->withs * expr->with_count);
    for (uint32_t i = 0; i < expr->with_count; i++) {
        copy->withs[i].target = rego_term_copy(arena, expr->withs[i].target);
        copy->withs[i].value = rego_term_copy(arena, expr->withs[i].value);
    }
    return copy;
}

RegoBody rego_body_copy(Arena *arena, RegoBody body)
{
    RegoBody copy = { ARENA_ARRAY(arena, RegoExpr *, body.count), body.count };
    for (uint32_t i = 0; i < body.count; i++) copy.exprs[i] = rego_expr_copy(arena, body.exprs[i]);
    return copy;
}
