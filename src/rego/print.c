#include "rego/print.h"

#include "rego/lexer.h"

/* Source right behind `if {`, where `a | b` would be read as a comprehension: a leading union goes into parentheses. */
enum { PRINT_GUARDED = REGO_PRINT_SOURCE + 1 };

/* The operators of calls that were written infix, by the builtin's name. */
static const struct { Str name, sign; } signs[] = {
    { STR_INIT("assign"), STR_INIT(":=") }, { STR_INIT("eq"), STR_INIT("=") },   { STR_INIT("equal"), STR_INIT("==") },
    { STR_INIT("neq"), STR_INIT("!=") },    { STR_INIT("lt"), STR_INIT("<") },   { STR_INIT("gt"), STR_INIT(">") },
    { STR_INIT("lte"), STR_INIT("<=") },    { STR_INIT("gte"), STR_INIT(">=") }, { STR_INIT("or"), STR_INIT("|") },
    { STR_INIT("and"), STR_INIT("&") },     { STR_INIT("plus"), STR_INIT("+") }, { STR_INIT("minus"), STR_INIT("-") },
    { STR_INIT("mul"), STR_INIT("*") },     { STR_INIT("div"), STR_INIT("/") },  { STR_INIT("rem"), STR_INIT("%") },
    { STR_INIT("internal"), STR_INIT("in") },
};

/* --- strings and names ------------------------------------------------------------------------------------------- */

/* The text between quotes. In a template a brace has to be escaped as well. */
static void print_escaped(Buf *buf, Str text, bool in_template)
{
    static const char named[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        const char *found = NULL;
        for (const char *n = named; *n; n++)
            if (*n == c) found = n;
        if (found) {
            buf_char(buf, '\\');
            buf_char(buf, letters[found - named]);
        } else if ((unsigned char)c < ' ') {
            buf_format(buf, "\\u%04x", (unsigned)(unsigned char)c);
        } else {
            if (in_template && c == '{') buf_char(buf, '\\');
            buf_char(buf, c);
        }
    }
}

void rego_print_quoted(Buf *buf, Str text)
{
    buf_char(buf, '"');
    print_escaped(buf, text, /* in_template= */ false);
    buf_char(buf, '"');
}

static void print_name(Buf *buf, Str name)
{
    buf_str(buf, rego_var_is_wildcard(name) ? STR("_") : name);
}

bool rego_name_is_plain(Str text)
{
    if (!text.len || ascii_is_digit(text.ptr[0])) return false;
    for (size_t i = 0; i < text.len; i++)
        if (!ascii_is_alnum(text.ptr[i]) && text.ptr[i] != '_') return false;
    uint32_t keyword = rego_keyword_find(text);
    return keyword == REGO_TOKEN_KEYWORD_COUNT || !((REGO_KEYWORDS_ALWAYS | REGO_KEYWORDS_V1) >> keyword & 1);
}

/* --- terms ------------------------------------------------------------------------------------------------------- */

static void print_terms(Buf *buf, RegoTerm *const *terms, uint32_t count, RegoPrintStyle style)
{
    for (uint32_t i = 0; i < count; i++) {
        if (i) buf_text(buf, ", ");
        rego_print_term(buf, terms[i], style);
    }
}

static void print_scalar(Buf *buf, const RegoTerm *term, RegoPrintStyle style)
{
    Value value = term->value;
    switch ((ValueKind)value.kind) {
    case VALUE_NULL:
        buf_text(buf, "null");
        break;
    case VALUE_BOOL:
        buf_text(buf, value.count ? "true" : "false");
        break;
    case VALUE_INT:
        buf_i64(buf, value.integer);
        break;
    case VALUE_DECIMAL:
        buf_str(buf, value_text(value));
        break;
    case VALUE_STRING:
        if (style == REGO_PRINT_SOURCE && term->flags & REGO_TERM_RAW) {
            buf_char(buf, '`');
            buf_str(buf, value_text(value));
            buf_char(buf, '`');
        } else {
            rego_print_quoted(buf, value_text(value));
        }
        break;
    case VALUE_ARRAY:
    case VALUE_OBJECT:
    case VALUE_SET:
        break;
    }
}

static void print_ref_tail(Buf *buf, RegoTerm *const *items, uint32_t count, RegoPrintStyle style)
{
    for (uint32_t i = 0; i < count; i++) {
        Str text = rego_term_is_string(items[i]) ? value_text(items[i]->value) : STR("");
        if (rego_name_is_plain(text)) {
            buf_char(buf, '.');
            buf_str(buf, text);
        } else {
            buf_char(buf, '[');
            rego_print_term(buf, items[i], style);
            buf_char(buf, ']');
        }
    }
}

void rego_print_ref(Buf *buf, RegoTerm *const *items, uint32_t count, RegoPrintStyle style)
{
    rego_print_term(buf, items[0], style);
    print_ref_tail(buf, items + 1, count - 1, style);
}

static Str sign_of(const RegoTerm *call)
{
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (rego_term_is_var(call->items[0]->items[0], signs[i].name)) return signs[i].sign;
    return STR("");
}

static bool is_open_infix(const RegoTerm *term)
{
    return term->flags & REGO_TERM_INFIX && !(term->flags & REGO_TERM_PARENS);
}

static void print_infix(Buf *buf, const RegoTerm *call, RegoPrintStyle style)
{
    Str sign = sign_of(call);
    RegoTerm *const *operands = call->items + 1;
    uint32_t last = call->count - 2;
    bool guarded = style == (RegoPrintStyle)PRINT_GUARDED;
    bool leads = guarded && str_is(sign, STR("|")) && !is_open_infix(operands[0]);
    if (operands[0]->flags & REGO_TERM_GENERATED) {             /* -x */
        buf_str(buf, sign);
        rego_print_term(buf, operands[1], REGO_PRINT_SOURCE);
        return;
    }
    if (leads) buf_char(buf, '(');
    rego_print_term(buf, operands[0], style);
    if (last > 1) buf_text(buf, ", ");
    print_terms(buf, operands + 1, last - 1, REGO_PRINT_SOURCE);
    buf_char(buf, ' ');
    buf_str(buf, sign);
    buf_char(buf, ' ');
    rego_print_term(buf, operands[last], REGO_PRINT_SOURCE);
    if (leads) buf_char(buf, ')');
}

static void print_call(Buf *buf, const RegoTerm *call, RegoPrintStyle style)
{
    if (style != REGO_PRINT_CALLS && call->flags & REGO_TERM_INFIX) {
        print_infix(buf, call, style);
        return;
    }
    rego_print_term(buf, call->items[0], style);
    buf_char(buf, '(');
    print_terms(buf, call->items + 1, call->count - 1, style);
    buf_char(buf, ')');
}

static void print_object(Buf *buf, const RegoTerm *term, RegoPrintStyle style)
{
    buf_char(buf, '{');
    for (uint32_t i = 0; i < term->count; i++) {
        if (i) buf_text(buf, ", ");
        rego_print_term(buf, term->pairs[i].key, style);
        buf_text(buf, ": ");
        rego_print_term(buf, term->pairs[i].value, style);
    }
    buf_char(buf, '}');
}

static void print_comprehension(Buf *buf, const RegoTerm *term, RegoPrintStyle style)
{
    bool is_array = term->kind == REGO_TERM_ARRAY_COMPREHENSION;
    buf_char(buf, is_array ? '[' : '{');
    if (term->comprehension->key) {
        rego_print_term(buf, term->comprehension->key, style);
        buf_text(buf, ": ");
    }
    rego_print_term(buf, term->comprehension->value, style);
    buf_text(buf, " | ");
    rego_print_body(buf, &term->comprehension->body, style);
    buf_char(buf, is_array ? ']' : '}');
}

static void print_raw_template_text(Buf *buf, Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '{') buf_char(buf, '\\');
        buf_char(buf, text.ptr[i]);
    }
}

static void print_template(Buf *buf, const RegoTerm *term, RegoPrintStyle style)
{
    bool raw = style == REGO_PRINT_SOURCE && term->flags & REGO_TERM_RAW;
    buf_text(buf, raw ? "$`" : "$\"");
    for (uint32_t i = 0; i < term->count; i++) {
        if (term->parts[i].expr) {
            buf_char(buf, '{');
            rego_print_expr(buf, term->parts[i].expr, style);
            buf_char(buf, '}');
        } else if (raw) {
            print_raw_template_text(buf, term->parts[i].text);
        } else {
            print_escaped(buf, term->parts[i].text, /* in_template= */ true);
        }
    }
    buf_char(buf, raw ? '`' : '"');
}

static void print_bare_term(Buf *buf, const RegoTerm *term, RegoPrintStyle style)
{
    switch ((RegoTermKind)term->kind) {
    case REGO_TERM_SCALAR:
        print_scalar(buf, term, style);
        break;
    case REGO_TERM_VAR:
        print_name(buf, term->name);
        break;
    case REGO_TERM_REF:
        rego_print_ref(buf, term->items, term->count, style);
        break;
    case REGO_TERM_CALL:
        print_call(buf, term, style);
        break;
    case REGO_TERM_ARRAY:
        buf_char(buf, '[');
        print_terms(buf, term->items, term->count, style);
        buf_char(buf, ']');
        break;
    case REGO_TERM_SET:
        buf_text(buf, term->count ? "{" : "set(");
        print_terms(buf, term->items, term->count, style);
        buf_char(buf, term->count ? '}' : ')');
        break;
    case REGO_TERM_OBJECT:
        print_object(buf, term, style);
        break;
    case REGO_TERM_ARRAY_COMPREHENSION:
    case REGO_TERM_SET_COMPREHENSION:
    case REGO_TERM_OBJECT_COMPREHENSION:
        print_comprehension(buf, term, style);
        break;
    case REGO_TERM_TEMPLATE:
        print_template(buf, term, style);
        break;
    case REGO_TERM_KIND_COUNT:
        break;
    }
}

void rego_print_term(Buf *buf, const RegoTerm *term, RegoPrintStyle style)
{
    bool parens = style != REGO_PRINT_CALLS && term->flags & REGO_TERM_PARENS;
    if (style != REGO_PRINT_CALLS && !is_open_infix(term)) style = REGO_PRINT_SOURCE;
    if (parens) buf_char(buf, '(');
    print_bare_term(buf, term, style);
    if (parens) buf_char(buf, ')');
}

/* --- expressions ------------------------------------------------------------------------------------------------- */

static void print_braces(Buf *buf, const RegoBody *body, RegoPrintStyle style)
{
    buf_text(buf, "{ ");
    rego_print_body(buf, body, style);
    buf_text(buf, " }");
}

static void print_each(Buf *buf, const RegoEach *each, RegoPrintStyle style)
{
    if (each->key) {
        rego_print_term(buf, each->key, style);
        buf_text(buf, ", ");
    }
    rego_print_term(buf, each->value, style);
    buf_text(buf, " in ");
    rego_print_term(buf, each->domain, style);
    if (!each->body.count) return;
    buf_char(buf, ' ');
    print_braces(buf, &each->body, style);
}

/* Whether a side without braces has to stand in parentheses to stay the side it is. */
static bool needs_parens(const RegoBody *side, RegoExprKind outer, bool is_right)
{
    const RegoExpr *expr = side->exprs[0];
    if (expr->with_count) return true;
    if (expr->kind == REGO_EXPR_OR) return outer == REGO_EXPR_AND || is_right;
    return expr->kind == REGO_EXPR_AND && outer == REGO_EXPR_AND && is_right;
}

static void print_side(Buf *buf, const RegoBody *side, bool braces, bool parens, RegoPrintStyle style)
{
    if (braces || side->count != 1) {
        print_braces(buf, side, style);
        return;
    }
    if (parens) buf_char(buf, '(');
    rego_print_body(buf, side, style);
    if (parens) buf_char(buf, ')');
}

static void print_logic(Buf *buf, const RegoExpr *expr, RegoPrintStyle style)
{
    const RegoLogic *logic = expr->logic;
    RegoExprKind kind = (RegoExprKind)expr->kind;
    print_side(buf, &logic->left, logic->left_braces, needs_parens(&logic->left, kind, false), style);
    buf_text(buf, kind == REGO_EXPR_AND ? " and " : " or ");
    print_side(buf, &logic->right, logic->right_braces, needs_parens(&logic->right, kind, true), style);
}

static void print_not(Buf *buf, const RegoExpr *expr, RegoPrintStyle style)
{
    const RegoExpr *inner = expr->not->exprs[0];
    bool parens = inner->with_count || inner->kind == REGO_EXPR_AND || inner->kind == REGO_EXPR_OR
               || inner->kind == REGO_EXPR_NOT;
    buf_text(buf, "not ");
    print_side(buf, expr->not, expr->flags & REGO_EXPR_BRACES, parens, style);
}

/* An equation is shown as such in either style. */
static void print_call_expr(Buf *buf, const RegoTerm *call, RegoPrintStyle style)
{
    const RegoTerm *operator = call->items[0];
    bool is_equation = operator->kind == REGO_TERM_REF && operator->count == 1 && call->count == 3
                    && rego_term_is_var(operator->items[0], STR("eq"));
    if (style != REGO_PRINT_CALLS || !is_equation) {
        rego_print_term(buf, call, style);
        return;
    }
    rego_print_term(buf, call->items[1], style);
    buf_text(buf, " = ");
    rego_print_term(buf, call->items[2], style);
}

void rego_print_expr(Buf *buf, const RegoExpr *expr, RegoPrintStyle style)
{
    if (expr->flags & REGO_EXPR_NEGATED) buf_text(buf, "not ");
    switch ((RegoExprKind)expr->kind) {
    case REGO_EXPR_TERM:
        rego_print_term(buf, expr->term, style);
        break;
    case REGO_EXPR_CALL:
        print_call_expr(buf, expr->term, style);
        break;
    case REGO_EXPR_SOME:
        buf_text(buf, "some ");
        print_terms(buf, expr->some->vars, expr->some->count, style);
        break;
    case REGO_EXPR_SOME_IN:
    case REGO_EXPR_EVERY:
        buf_text(buf, expr->kind == REGO_EXPR_EVERY ? "every " : "some ");
        print_each(buf, expr->each, style);
        break;
    case REGO_EXPR_NOT:
        print_not(buf, expr, style);
        break;
    case REGO_EXPR_AND:
    case REGO_EXPR_OR:
        print_logic(buf, expr, style);
        break;
    case REGO_EXPR_KIND_COUNT:
        break;
    }
    if (style != REGO_PRINT_CALLS) style = REGO_PRINT_SOURCE;
    for (uint32_t i = 0; i < expr->with_count; i++) {
        buf_text(buf, " with ");
        rego_print_term(buf, expr->withs[i].target, style);
        buf_text(buf, " as ");
        rego_print_term(buf, expr->withs[i].value, style);
    }
}

void rego_print_body(Buf *buf, const RegoBody *body, RegoPrintStyle style)
{
    for (uint32_t i = 0; i < body->count; i++) {
        if (i) buf_text(buf, "; ");
        rego_print_expr(buf, body->exprs[i], style);
    }
}

/* --- rules ------------------------------------------------------------------------------------------------------- */

static void print_head_value(Buf *buf, const RegoHead *head, RegoPrintStyle style)
{
    bool left_out = style == REGO_PRINT_SOURCE && head->flags & REGO_HEAD_VALUE_GENERATED;
    if (!head->value || left_out) return;
    buf_text(buf, head->flags & REGO_HEAD_ASSIGN ? " := " : " = ");
    rego_print_term(buf, head->value, style);
}

void rego_print_head(Buf *buf, const RegoHead *head, RegoPrintStyle style)
{
    rego_print_ref(buf, head->ref, head->ref_count, style);
    if (head->flags & REGO_HEAD_FUNCTION) {
        buf_char(buf, '(');
        print_terms(buf, head->args, head->arg_count, style);
        buf_char(buf, ')');
    }
    bool is_bracket = style == REGO_PRINT_SOURCE && !(head->flags & REGO_HEAD_CONTAINS);
    if (head->key) {
        buf_text(buf, is_bracket ? "[" : " contains ");
        rego_print_term(buf, head->key, style);
        if (is_bracket) buf_char(buf, ']');
    }
    print_head_value(buf, head, style);
}

static void print_rule_body(Buf *buf, const RegoRule *rule, RegoPrintStyle style)
{
    bool left_out = rule->flags & REGO_RULE_DEFAULT
                 || (style == REGO_PRINT_SOURCE && rule->flags & REGO_RULE_BODY_GENERATED);
    if (left_out) return;
    bool has_if = style == REGO_PRINT_CALLS || rule->head.flags & REGO_HEAD_IF;
    buf_text(buf, has_if ? " if { " : " { ");
    const RegoExpr *first = rule->body.exprs[0];
    bool guarded = style == REGO_PRINT_SOURCE && has_if && first->kind == REGO_EXPR_CALL;
    rego_print_expr(buf, first, guarded ? (RegoPrintStyle)PRINT_GUARDED : style);
    RegoBody others = { rule->body.exprs + 1, rule->body.count - 1 };
    if (others.count) buf_text(buf, "; ");
    rego_print_body(buf, &others, style);
    buf_text(buf, " }");
}

void rego_print_rule(Buf *buf, const RegoRule *rule, RegoPrintStyle style)
{
    if (rule->flags & REGO_RULE_DEFAULT) buf_text(buf, "default ");
    rego_print_head(buf, &rule->head, style);
    print_rule_body(buf, rule, style);
    for (rule = rule->otherwise; rule; rule = rule->otherwise) {
        buf_text(buf, " else");
        print_head_value(buf, &rule->head, style);
        print_rule_body(buf, rule, style);
    }
}

void rego_print_module(Buf *buf, const RegoModule *module, RegoPrintStyle style)
{
    buf_text(buf, "package ");
    buf_str(buf, value_text(module->package->items[1]->value));
    print_ref_tail(buf, module->package->items + 2, module->package->count - 2, style);
    buf_char(buf, '\n');
    for (uint32_t i = 0; i < module->import_count; i++) {
        buf_text(buf, i ? "import " : "\nimport ");
        rego_print_term(buf, module->imports[i].path, style);
        if (module->imports[i].alias.len) {
            buf_text(buf, " as ");
            buf_str(buf, module->imports[i].alias);
        }
        buf_char(buf, '\n');
    }
    for (uint32_t i = 0; i < module->rule_count; i++) {
        buf_char(buf, '\n');
        rego_print_rule(buf, module->rules[i], style);
        buf_char(buf, '\n');
    }
}
