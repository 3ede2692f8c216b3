#include "rego/module_value.h"

#include <stdlib.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/limits.h"
#include "rego/print.h"

static Value term_value(Arena *arena, const RegoTerm *term);
static Value body_value(Arena *arena, const RegoBody *body);

/* --- order ------------------------------------------------------------------------------------------------------- */

static int kind_rank(const RegoTerm *term)
{
    static const uint8_t ranks[REGO_TERM_KIND_COUNT] = {
        [REGO_TERM_SCALAR] = 0, [REGO_TERM_TEMPLATE] = 1, [REGO_TERM_VAR] = 2, [REGO_TERM_REF] = 3,
        [REGO_TERM_ARRAY] = 4, [REGO_TERM_OBJECT] = 5, [REGO_TERM_SET] = 6, [REGO_TERM_ARRAY_COMPREHENSION] = 7,
        [REGO_TERM_OBJECT_COMPREHENSION] = 8, [REGO_TERM_SET_COMPREHENSION] = 9, [REGO_TERM_CALL] = 10,
    };
    return ranks[term->kind];
}

/* Bodies and templates have no order that anybody could rely on: their text decides. */
static int text_compare(const RegoTerm *a, const RegoTerm *b)
{
    Buf x, y;
    buf_init(&x, REGO_TEXT_SIZE_MAX);
    buf_init(&y, REGO_TEXT_SIZE_MAX);
    rego_print_term(&x, a, REGO_PRINT_CALLS);
    rego_print_term(&y, b, REGO_PRINT_CALLS);
    int order = str_compare(buf_peek(&x), buf_peek(&y));
    buf_deinit(&x);
    buf_deinit(&y);
    return order;
}

static int term_compare(const RegoTerm *a, const RegoTerm *b)
{
    int order = kind_rank(a) - kind_rank(b);
    if (order) return order;
    switch ((RegoTermKind)a->kind) {
    case REGO_TERM_SCALAR: return value_compare(a->value, b->value);
    case REGO_TERM_VAR: return str_compare(a->name, b->name);
    case REGO_TERM_REF:
    case REGO_TERM_CALL:
    case REGO_TERM_ARRAY:
    case REGO_TERM_SET:
    case REGO_TERM_OBJECT:
        for (uint32_t i = 0; !order && i < a->count && i < b->count; i++) {
            bool is_object = a->kind == REGO_TERM_OBJECT;
            order = is_object ? term_compare(a->pairs[i].key, b->pairs[i].key) : term_compare(a->items[i], b->items[i]);
            if (!order && is_object) order = term_compare(a->pairs[i].value, b->pairs[i].value);
        }
        return order ? order : (a->count > b->count) - (a->count < b->count);
    case REGO_TERM_ARRAY_COMPREHENSION:
    case REGO_TERM_SET_COMPREHENSION:
    case REGO_TERM_OBJECT_COMPREHENSION:
    case REGO_TERM_TEMPLATE:
    case REGO_TERM_KIND_COUNT: break;
    }
    return text_compare(a, b);
}

typedef struct Entry {
    RegoPair pair;                  /* of a set: the key alone */
    uint32_t index;                 /* as written */
} Entry;

static int entry_compare(const void *a, const void *b)
{
    const Entry *x = a, *y = b;
    int order = term_compare(x->pair.key, y->pair.key);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

/* --- terms ------------------------------------------------------------------------------------------------------- */

static Value tagged(Arena *arena, const char *type, Value value)
{
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("type"), value_string(str_of(type)));
    member_list_add(&members, STR("value"), value);
    return member_list_object(&members);
}

static Value items_value(Arena *arena, RegoTerm *const *items, uint32_t count)
{
    ValueList list = { .arena = arena };
    for (uint32_t i = 0; i < count; i++) value_list_add(&list, term_value(arena, items[i]));
    return value_list_array(&list);
}

static Value sorted_value(Arena *arena, const RegoTerm *term)
{
    bool is_object = term->kind == REGO_TERM_OBJECT;
    Entry *entries = ARENA_ARRAY(arena, Entry, term->count + 1u);
    for (uint32_t i = 0; i < term->count; i++)
        entries[i] = (Entry){ is_object ? term->pairs[i] : (RegoPair){ term->items[i], NULL }, i };
    qsort(entries, term->count, sizeof *entries, entry_compare);
    ValueList list = { .arena = arena };
    for (uint32_t i = 0; i < term->count; i++) {
        const RegoTerm *next = !is_object && i + 1 < term->count ? entries[i + 1].pair.key : NULL;
        if (next && term_compare(entries[i].pair.key, next) == 0) continue;
        Value key = term_value(arena, entries[i].pair.key);
        if (!is_object) {
            value_list_add(&list, key);
            continue;
        }
        ValueList pair = { .arena = arena };
        value_list_add(&pair, key);
        value_list_add(&pair, term_value(arena, entries[i].pair.value));
        value_list_add(&list, value_list_array(&pair));
    }
    return value_list_array(&list);
}

static Value comprehension_value(Arena *arena, const RegoComprehension *comprehension)
{
    MemberList members = { .arena = arena };
    if (comprehension->key) member_list_add(&members, STR("key"), term_value(arena, comprehension->key));
    member_list_add(&members, comprehension->key ? STR("value") : STR("term"), term_value(arena, comprehension->value));
    member_list_add(&members, STR("body"), body_value(arena, &comprehension->body));
    return member_list_object(&members);
}

static Value expr_value(Arena *arena, const RegoExpr *expr, uint32_t index);

static Value template_value(Arena *arena, const RegoTerm *term)
{
    ValueList parts = { .arena = arena };
    for (uint32_t i = 0; i < term->count; i++) {
        const RegoExpr *expr = term->parts[i].expr;
        bool is_constant = expr && expr->kind == REGO_EXPR_TERM && expr->term->kind == REGO_TERM_SCALAR;
        if (is_constant) value_list_add(&parts, term_value(arena, expr->term));
        else if (expr) value_list_add(&parts, expr_value(arena, expr, 0));
        else value_list_add(&parts, tagged(arena, "string", value_string(term->parts[i].text)));
    }
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("multi_line"), value_bool(term->flags & REGO_TERM_RAW));
    member_list_add(&members, STR("parts"), term->count ? value_list_array(&parts) : value_null());
    return member_list_object(&members);
}

static Value term_value(Arena *arena, const RegoTerm *term)
{
    const char *type = rego_term_kind_name(term);
    switch ((RegoTermKind)term->kind) {
    case REGO_TERM_SCALAR:
        return tagged(arena, type, term->value.kind == VALUE_NULL ? (Value){ .kind = VALUE_OBJECT } : term->value);
    case REGO_TERM_VAR: return tagged(arena, type, value_string(term->name));
    case REGO_TERM_REF:
    case REGO_TERM_CALL:
    case REGO_TERM_ARRAY: return tagged(arena, type, items_value(arena, term->items, term->count));
    case REGO_TERM_SET:
    case REGO_TERM_OBJECT: return tagged(arena, type, sorted_value(arena, term));
    case REGO_TERM_ARRAY_COMPREHENSION:
    case REGO_TERM_SET_COMPREHENSION:
    case REGO_TERM_OBJECT_COMPREHENSION: return tagged(arena, type, comprehension_value(arena, term->comprehension));
    case REGO_TERM_TEMPLATE: return tagged(arena, type, template_value(arena, term));
    case REGO_TERM_KIND_COUNT: break;
    }
    return value_null();
}

/* --- expressions ------------------------------------------------------------------------------------------------- */

/* `some x in xs` declares what a call of the operator names. */
static Value member_call(Arena *arena, const RegoEach *each)
{
    ValueList name = { .arena = arena }, call = { .arena = arena };
    value_list_add(&name, tagged(arena, "var", value_string(STR("internal"))));
    value_list_add(&name, tagged(arena, "string", value_string(each->key ? STR("member_3") : STR("member_2"))));
    value_list_add(&call, tagged(arena, "ref", value_list_array(&name)));
    if (each->key) value_list_add(&call, term_value(arena, each->key));
    value_list_add(&call, term_value(arena, each->value));
    value_list_add(&call, term_value(arena, each->domain));
    return tagged(arena, "call", value_list_array(&call));
}

static Value every_value(Arena *arena, const RegoEach *each)
{
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("key"), each->key ? term_value(arena, each->key) : value_null());
    member_list_add(&members, STR("value"), term_value(arena, each->value));
    member_list_add(&members, STR("domain"), term_value(arena, each->domain));
    member_list_add(&members, STR("body"), body_value(arena, &each->body));
    return member_list_object(&members);
}

static Value logic_value(Arena *arena, const RegoExpr *expr)
{
    const RegoLogic *logic = expr->logic;
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("type"), value_string(expr->kind == REGO_EXPR_AND ? STR("and") : STR("or")));
    member_list_add(&members, STR("lhs"), body_value(arena, &logic->left));
    member_list_add(&members, STR("rhs"), body_value(arena, &logic->right));
    if (logic->left_braces) member_list_add(&members, STR("explicit_lhs"), value_bool(true));
    if (logic->right_braces) member_list_add(&members, STR("explicit_rhs"), value_bool(true));
    return member_list_object(&members);
}

static Value terms_value(Arena *arena, const RegoExpr *expr)
{
    MemberList members = { .arena = arena };
    switch ((RegoExprKind)expr->kind) {
    case REGO_EXPR_TERM: return term_value(arena, expr->term);
    case REGO_EXPR_CALL: return items_value(arena, expr->term->items, expr->term->count);
    case REGO_EXPR_SOME:
        member_list_add(&members, STR("symbols"), items_value(arena, expr->some->vars, expr->some->count));
        return member_list_object(&members);
    case REGO_EXPR_SOME_IN: {
        ValueList symbols = { .arena = arena };
        value_list_add(&symbols, member_call(arena, expr->each));
        member_list_add(&members, STR("symbols"), value_list_array(&symbols));
        return member_list_object(&members);
    }
    case REGO_EXPR_EVERY: return every_value(arena, expr->each);
    case REGO_EXPR_NOT:
        member_list_add(&members, STR("type"), value_string(STR("not")));
        member_list_add(&members, STR("body"), body_value(arena, expr->not));
        member_list_add(&members, STR("explicit_body"), value_bool(expr->flags & REGO_EXPR_BRACES));
        return member_list_object(&members);
    case REGO_EXPR_AND:
    case REGO_EXPR_OR: return logic_value(arena, expr);
    case REGO_EXPR_KIND_COUNT: break;
    }
    return value_null();
}

static Value expr_value(Arena *arena, const RegoExpr *expr, uint32_t index)
{
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("index"), value_int(index));
    member_list_add(&members, STR("terms"), terms_value(arena, expr));
    if (expr->flags & REGO_EXPR_GENERATED) member_list_add(&members, STR("generated"), value_bool(true));
    if (expr->flags & REGO_EXPR_NEGATED) member_list_add(&members, STR("negated"), value_bool(true));
    ValueList withs = { .arena = arena };
    for (uint32_t i = 0; i < expr->with_count; i++) {
        MemberList with = { .arena = arena };
        member_list_add(&with, STR("target"), term_value(arena, expr->withs[i].target));
        member_list_add(&with, STR("value"), term_value(arena, expr->withs[i].value));
        value_list_add(&withs, member_list_object(&with));
    }
    if (expr->with_count) member_list_add(&members, STR("with"), value_list_array(&withs));
    return member_list_object(&members);
}

static Value body_value(Arena *arena, const RegoBody *body)
{
    ValueList list = { .arena = arena };
    for (uint32_t i = 0; i < body->count; i++) value_list_add(&list, expr_value(arena, body->exprs[i], i));
    return value_list_array(&list);
}

/* --- rules ------------------------------------------------------------------------------------------------------- */

/* A path of two items is also told as name and key, as it was before paths could be longer: the name where a value was
 * written, the key where it is computed or the rule has no body. `first` is the branch that begins the rule. */
static void head_add_names(Arena *arena, MemberList *members, const RegoRule *first, const RegoHead *head)
{
    bool is_pair = head->ref_count == 2 && !head->key && !(first->flags & REGO_RULE_DEFAULT);
    bool is_function = head->flags & REGO_HEAD_FUNCTION, has_body = !(first->flags & REGO_RULE_BODY_GENERATED);
    bool has_value = !(head->flags & REGO_HEAD_VALUE_GENERATED);
    bool is_computed = is_pair && (head->ref[1]->kind == REGO_TERM_REF || !rego_term_is_ground(head->ref[1]));
    bool has_key = is_pair && !is_function && (is_computed || (has_value && !has_body));
    if (head->ref_count == 1 || (is_pair && (is_function ? has_body : has_value)))
        member_list_add(members, STR("name"), value_string(head->ref[0]->name));
    if (head->key || has_key)
        member_list_add(members, STR("key"), term_value(arena, head->key ? head->key : head->ref[1]));
}

static Value head_value(Arena *arena, const RegoRule *first, const RegoHead *head)
{
    MemberList members = { .arena = arena };
    head_add_names(arena, &members, first, head);
    member_list_add(&members, STR("ref"), items_value(arena, head->ref, head->ref_count));
    if (head->arg_count) member_list_add(&members, STR("args"), items_value(arena, head->args, head->arg_count));
    if (head->value) member_list_add(&members, STR("value"), term_value(arena, head->value));
    if (head->flags & REGO_HEAD_ASSIGN) member_list_add(&members, STR("assign"), value_bool(true));
    return member_list_object(&members);
}

/* Branches may be many: the last one is made first. */
static Value rule_value(Arena *arena, const RegoRule *rule)
{
    uint32_t count = 0;
    for (const RegoRule *at = rule; at; at = at->otherwise) count++;
    const RegoRule **branches = ARENA_ARRAY(arena, const RegoRule *, count);
    count = 0;
    for (const RegoRule *at = rule; at; at = at->otherwise) branches[count++] = at;
    Value value = value_null();
    for (uint32_t i = count; i-- > 0;) {
        MemberList members = { .arena = arena };
        member_list_add(&members, STR("head"), head_value(arena, rule, &branches[i]->head));
        member_list_add(&members, STR("body"), body_value(arena, &branches[i]->body));
        if (branches[i]->flags & REGO_RULE_DEFAULT) member_list_add(&members, STR("default"), value_bool(true));
        if (i + 1 < count) member_list_add(&members, STR("else"), value);
        value = member_list_object(&members);
    }
    return value;
}

/* --- modules ----------------------------------------------------------------------------------------------------- */

static Value comment_value(Arena *arena, const RegoModule *module, const RegoComment *comment)
{
    Buf text;
    buf_init(&text, REGO_TEXT_SIZE_MAX * 2);
    base64_encode(&text, comment->text, BASE64_STANDARD);
    MemberList place = { .arena = arena }, members = { .arena = arena };
    member_list_add(&place, STR("file"), value_string(module->file));
    member_list_add(&place, STR("row"), value_int(comment->loc.row));
    member_list_add(&place, STR("col"), value_int(comment->loc.col));
    member_list_add(&members, STR("Location"), member_list_object(&place));
    member_list_add(&members, STR("Text"), value_string(arena_copy(arena, buf_peek(&text))));
    buf_deinit(&text);
    return member_list_object(&members);
}

static Value import_value(Arena *arena, const RegoImport *import)
{
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("path"), term_value(arena, import->path));
    if (import->alias.len) member_list_add(&members, STR("alias"), value_string(import->alias));
    return member_list_object(&members);
}

Value rego_module_value(Arena *arena, const RegoModule *module)
{
    MemberList members = { .arena = arena }, package = { .arena = arena };
    ValueList imports = { .arena = arena }, rules = { .arena = arena }, comments = { .arena = arena };
    member_list_add(&package, STR("path"), items_value(arena, module->package->items, module->package->count));
    member_list_add(&members, STR("package"), member_list_object(&package));
    for (uint32_t i = 0; i < module->import_count; i++) value_list_add(&imports, import_value(arena, &module->imports[i]));
    for (uint32_t i = 0; i < module->rule_count; i++) value_list_add(&rules, rule_value(arena, module->rules[i]));
    for (uint32_t i = 0; i < module->comment_count; i++)
        value_list_add(&comments, comment_value(arena, module, &module->comments[i]));
    if (imports.count) member_list_add(&members, STR("imports"), value_list_array(&imports));
    if (rules.count) member_list_add(&members, STR("rules"), value_list_array(&rules));
    if (comments.count) member_list_add(&members, STR("comments"), value_list_array(&comments));
    return member_list_object(&members);
}
