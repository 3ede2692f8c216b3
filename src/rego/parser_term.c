#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "rego/parser_state.h"
#include "value/number.h"

/* Operators between terms: the builtin each one calls, and how tightly it binds. All associate to the left. */
typedef struct Operator {
    uint8_t token, binding;
    Str name;
} Operator;

static const Operator operators[] = {
    { REGO_TOKEN_EQUAL, 1, STR_INIT("equal") }, { REGO_TOKEN_NEQ, 1, STR_INIT("neq") },
    { REGO_TOKEN_LT, 1, STR_INIT("lt") },       { REGO_TOKEN_GT, 1, STR_INIT("gt") },
    { REGO_TOKEN_LTE, 1, STR_INIT("lte") },     { REGO_TOKEN_GTE, 1, STR_INIT("gte") },
    { REGO_TOKEN_OR, 2, STR_INIT("or") },       { REGO_TOKEN_AND, 3, STR_INIT("and") },
    { REGO_TOKEN_PLUS, 4, STR_INIT("plus") },   { REGO_TOKEN_MINUS, 4, STR_INIT("minus") },
    { REGO_TOKEN_MUL, 5, STR_INIT("mul") },     { REGO_TOKEN_DIV, 5, STR_INIT("div") },
    { REGO_TOKEN_REM, 5, STR_INIT("rem") },
};

static RegoTerm *parse_infix_from(RegoParser *p, RegoTerm *left, bool pairs);

/* --- operators --------------------------------------------------------------------------------------------------- */

RegoTerm *parse_operator(RegoParser *p, Str name)
{
    RegoLoc loc = p->token.loc;
    RegoTermList list = { 0 };
    size_t dot = str_find(name, '.', 0);
    parser_list_term(p, &list, parser_var(p, loc, str_slice(name, 0, dot)));
    if (dot < name.len) parser_list_term(p, &list, parser_string(p, loc, str_slice(name, dot + 1, name.len)));
    parser_advance(p);
    return parser_items(p, REGO_TERM_REF, loc, &list);
}

RegoTerm *parse_call_infix(RegoParser *p, RegoTerm *operator, RegoTerm *const *operands, uint32_t count)
{
    RegoTermList list = { 0 };
    parser_list_term(p, &list, operator);
    for (uint32_t i = 0; i < count; i++) parser_list_term(p, &list, operands[i]);
    RegoTerm *call = parser_items(p, REGO_TERM_CALL, parser_span(p, operands[0]->loc), &list);
    call->flags |= REGO_TERM_INFIX;
    return call;
}

static const Operator *operator_here(const RegoParser *p)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (operators[i].token == p->token.kind) return &operators[i];
    return NULL;
}

/* `left` and all operators behind it that bind at least as tightly as `binding_min`. */
static RegoTerm *parse_operators(RegoParser *p, RegoTerm *left, uint32_t binding_min)
{
    if (!left) left = parse_term(p);
    while (left) {
        const Operator *found = operator_here(p);
        if (!found || found->binding < binding_min) return left;
        RegoTerm *operator = parse_operator(p, found->name);
        RegoTerm *right = parse_operators(p, NULL, found->binding + 1u);
        if (!right) return NULL;
        left = parse_call_infix(p, operator, (RegoTerm *[]){ left, right }, 2);
    }
    return NULL;
}

/* `, v in xs` behind a key; NULL without an error and without a step where the comma means something else. */
static RegoTerm *parse_pair_in(RegoParser *p, RegoTerm *key)
{
    RegoMark mark = parser_mark(p);
    parser_advance(p);
    RegoTerm *value = parse_operators(p, NULL, 1);
    if (value && parser_at(p, REGO_TOKEN_IN)) {
        RegoTerm *operator = parse_operator(p, STR("internal.member_3"));
        RegoTerm *domain = parse_operators(p, NULL, 1);
        if (domain) return parse_call_infix(p, operator, (RegoTerm *[]){ key, value, domain }, 3);
    }
    parser_return(p, &mark);
    return NULL;
}

static RegoTerm *parse_infix_from(RegoParser *p, RegoTerm *left, bool pairs)
{
    left = parse_operators(p, left, 1);
    if (!left) return NULL;
    if (pairs && parser_at(p, REGO_TOKEN_COMMA)) {
        RegoTerm *pair = parse_pair_in(p, left);
        if (pair) left = pair;
    }
    for (;;) {
        parser_keyword_to_name(p);
        if (!parser_at(p, REGO_TOKEN_IN)) return left;
        RegoTerm *operator = parse_operator(p, STR("internal.member_2"));
        RegoTerm *domain = parse_operators(p, NULL, 1);
        if (!domain) return NULL;
        left = parse_call_infix(p, operator, (RegoTerm *[]){ left, domain }, 2);
    }
}

RegoTerm *parse_infix(RegoParser *p, bool pairs)
{
    return parse_infix_from(p, NULL, pairs);
}

bool parse_is_member_call(const RegoTerm *term)
{
    return term->kind == REGO_TERM_CALL && (term->flags & REGO_TERM_INFIX)
        && rego_term_is_var(term->items[0]->items[0], STR("internal"));
}

/* --- numbers and strings ----------------------------------------------------------------------------------------- */

static bool has_leading_zero(Str digits)
{
    return digits.len > 1 && digits.ptr[0] == '0' && ascii_is_digit(digits.ptr[1]);
}

/* A sign and a leading dot are tokens of their own: -.5 is written by three. */
static RegoTerm *parse_number(RegoParser *p)
{
    RegoLoc loc = p->token.loc;
    bool negative = parser_at(p, REGO_TOKEN_MINUS);
    if (negative) parser_advance(p);
    bool fraction = parser_at(p, REGO_TOKEN_DOT);
    if (fraction) parser_advance(p);
    if (!parser_at(p, REGO_TOKEN_NUMBER)) {
        parser_unexpected(p, "expected number");
        return NULL;
    }
    Str digits = p->token.text;
    if (!fraction && has_leading_zero(digits)) {
        parser_unexpected(p, "expected number without leading zero");
        return NULL;
    }
    Buf text = buf_on(parser_alloc(p, digits.len + 3), digits.len + 3);
    if (negative) buf_char(&text, '-');
    if (fraction) buf_text(&text, "0.");
    buf_str(&text, digits);
    Error err;
    Status status = number_check(buf_peek(&text), &err);
    if (status == ERR_LIMIT) parser_error(p, p->token.loc, "number too big");
    else if (status) parser_unexpected(p, "%s", err.text);
    if (status) return NULL;

    parser_need(p, digits.len + 3);
    RegoTerm *term = parser_term(p, REGO_TERM_SCALAR, loc);
    term->value = number_make(p->arena, buf_peek(&text));
    parser_advance(p);
    term->loc = parser_span(p, loc);
    return term;
}

/* Four hexadecimal digits at `at`, or -1. */
static int hex4(Str text, size_t at)
{
    if (text.len < at + 4) return -1;
    int unit = 0;
    for (size_t i = at; i < at + 4; i++) {
        char c = ascii_to_lower(text.ptr[i]);
        if (ascii_is_digit(c)) unit = unit * 16 + (c - '0');
        else if (c >= 'a' && c <= 'f') unit = unit * 16 + (c - 'a' + 10);
        else return -1;
    }
    return unit;
}

/* Writes the character of \uXXXX at `at` (behind the u) and returns where the text goes on, or 0. A surrogate without
 * its partner becomes the replacement character, as in JSON readers of the kind that OPA uses. */
static size_t decode_unicode(Str text, size_t at, Buf *out)
{
    int unit = hex4(text, at);
    if (unit < 0) return 0;
    at += 4;
    uint32_t point = (uint32_t)unit;
    if (unit >= 0xd800 && unit <= 0xdfff) {
        bool pair = unit < 0xdc00 && at + 1 < text.len && text.ptr[at] == '\\' && text.ptr[at + 1] == 'u';
        int low = pair ? hex4(text, at + 2) : -1;
        bool valid = low >= 0xdc00 && low <= 0xdfff;
        point = valid ? 0x10000 + ((point - 0xd800) << 10) + (uint32_t)(low - 0xdc00) : 0xfffd;
        if (valid) at += 6;
    }
    char bytes[4];
    buf_bytes(out, bytes, utf8_encode(point, bytes));
    return at;
}

/* The string that the text between quotes stands for; false where an escape or a character is not allowed in it. */
static bool decode_string(RegoParser *p, Str text, Str *out_text)
{
    static const char from[] = "\"\\/bfnrt{", to[] = "\"\\/\b\f\n\r\t{";
    if (str_find(text, '\\', 0) == text.len) {
        *out_text = text;
        return true;
    }
    Buf out = buf_on(parser_alloc(p, text.len), text.len);      /* an escape is never shorter than what it stands for */
    for (size_t at = 0; at < text.len;) {
        char c = text.ptr[at++];
        if ((unsigned char)c < ' ') return false;
        if (c != '\\') {
            buf_char(&out, c);
            continue;
        }
        char escaped = at < text.len ? text.ptr[at++] : '\0';
        const char *found = escaped ? strchr(from, escaped) : NULL;
        if (found) buf_char(&out, to[found - from]);
        else if (escaped == 'u') at = decode_unicode(text, at, &out);
        if (at == 0 || (!found && escaped != 'u')) return false;
    }
    *out_text = buf_peek(&out);
    return true;
}

/* Raw templates know one escape: \{ for a brace. */
static Str decode_raw_template(RegoParser *p, Str text)
{
    if (str_find(text, '\\', 0) == text.len) return text;
    Buf out = buf_on(parser_alloc(p, text.len), text.len);
    for (size_t at = 0; at < text.len; at++)
        if (text.ptr[at] != '\\' || at + 1 == text.len || text.ptr[at + 1] != '{') buf_char(&out, text.ptr[at]);
    return buf_peek(&out);
}

static RegoTerm *parse_string(RegoParser *p)
{
    bool raw = parser_at(p, REGO_TOKEN_RAW_STRING);
    Str text = p->token.text;
    if (!raw && !decode_string(p, text, &text)) {
        parser_error(p, p->token.loc, "illegal string literal: %.*s", STR_ARG(parser_text(p, p->token.loc)));
        return NULL;
    }
    RegoTerm *term = parser_string(p, p->token.loc, text);
    if (raw) term->flags |= REGO_TERM_RAW;
    parser_advance(p);
    return term;
}

/* --- template strings -------------------------------------------------------------------------------------------- */

typedef struct PartList {
    RegoTemplatePart *items;
    size_t count, capacity;
} PartList;

static void add_part(RegoParser *p, PartList *list, RegoTemplatePart part)
{
    list->items = parser_grow(p, list->items, sizeof *list->items, list->count, &list->capacity);
    list->items[list->count++] = part;
}

/* What a template's braces may not hold: an expression that yields no value to put into the text. */
static const char *part_refusal(const RegoExpr *expr)
{
    if (expr->flags & REGO_EXPR_NEGATED || expr->kind == REGO_EXPR_NOT) return "negation ('not')";
    if (expr->kind == REGO_EXPR_SOME || expr->kind == REGO_EXPR_SOME_IN) return "'some'";
    if (expr->kind == REGO_EXPR_EVERY) return "'every'";
    if (expr->kind != REGO_EXPR_CALL || expr->term->items[0]->kind != REGO_TERM_REF) return NULL;
    const RegoTerm *operator = expr->term->items[0];
    if (operator->count != 1) return NULL;
    if (rego_term_is_var(operator->items[0], STR("eq"))) return "unification ('=')";
    if (rego_term_is_var(operator->items[0], STR("assign"))) return "assignment (':=')";
    return NULL;
}

/* At the brace that opens an expression; leaves the template's next part as the present token. */
static RegoExpr *parse_part_expr(RegoParser *p, bool raw)
{
    parser_advance(p);
    size_t error_count = p->errors->count;
    RegoExpr *expr = parse_literal(p);
    if (!expr) {
        if (p->errors->count == error_count) parser_error(p, p->token.loc, "invalid template-string expression");
        return NULL;
    }
    const char *refusal = part_refusal(expr);
    if (refusal) {
        parser_error(p, expr->loc, "unexpected %s in template-string expression", refusal);
        return NULL;
    }
    if (!parser_at(p, REGO_TOKEN_BRACE_CLOSE)) {
        parser_error(p, p->token.loc, "expected } to end template string expression");
        return NULL;
    }
    parser_advance_template(p, raw);
    return expr;
}

static RegoTerm *parse_template(RegoParser *p)
{
    RegoLoc loc = p->token.loc;
    bool raw = parser_at(p, REGO_TOKEN_RAW_TEMPLATE_PART) || parser_at(p, REGO_TOKEN_RAW_TEMPLATE_END);
    if (p->options.v0) {
        parser_error(p, loc, "template strings are not supported by Rego v0");
        return NULL;
    }
    RegoTerm *term = parser_term(p, REGO_TERM_TEMPLATE, loc);
    if (raw) term->flags |= REGO_TERM_RAW;
    PartList parts = { 0 };
    for (;;) {
        Str text = p->token.text;
        if (parser_at(p, REGO_TOKEN_ILLEGAL)) {
            parser_unexpected(p, "%s", "");
            return NULL;
        }
        if (raw) text = decode_raw_template(p, text);
        else if (!decode_string(p, text, &text)) {
            parser_error(p, p->token.loc, "illegal template-string part: %.*s", STR_ARG(parser_text(p, p->token.loc)));
            return NULL;
        }
        if (text.len) add_part(p, &parts, (RegoTemplatePart){ .text = text });
        if (parser_at(p, REGO_TOKEN_TEMPLATE_END) || parser_at(p, REGO_TOKEN_RAW_TEMPLATE_END)) break;
        RegoExpr *expr = parse_part_expr(p, raw);
        if (!expr) return NULL;
        add_part(p, &parts, (RegoTemplatePart){ .expr = expr });
        parser_raise_term(p, term, expr->height);
    }
    parser_advance(p);
    term->loc = parser_span(p, loc);
    term->parts = parts.items;
    term->count = (uint32_t)parts.count;
    return term;
}

/* --- lists and comprehensions ------------------------------------------------------------------------------------ */

/* What follows the first item of a list: a comma and more, and then `end`, which is read too. */
static bool parse_list_rest(RegoParser *p, RegoTermList *list, RegoTokenKind end)
{
    while (!parser_at(p, end)) {
        if (!parser_at(p, REGO_TOKEN_COMMA)) {
            parser_unexpected(p, "expected \",\" or \"%s\"", rego_token_kind_name(end));
            return false;
        }
        parser_advance(p);
        if (parser_at(p, end)) break;
        RegoTerm *item = parse_infix(p, /* pairs= */ false);
        if (!item) return false;
        parser_list_term(p, list, item);
    }
    parser_advance(p);
    return true;
}

static RegoTerm *parse_list(RegoParser *p, RegoTermKind kind, RegoLoc loc, RegoTerm *first, RegoTokenKind end)
{
    RegoTermList list = { 0 };
    parser_list_term(p, &list, first);
    if (!parse_list_rest(p, &list, end)) return NULL;
    return parser_items(p, kind, parser_span(p, loc), &list);
}

typedef struct Comprehending {
    RegoTermKind kind;
    RegoTokenKind end;
    RegoLoc loc;
    RegoTerm *key, *value;
    bool failed;                /* and no other reading is possible */
} Comprehending;

/* At `|`. A comprehension has priority over a union; only a comma behind the first operand tells that the bracket holds
 * a list after all. NULL with `failed` unset: back at the `|`, to be read as an operator. */
static RegoTerm *parse_comprehension(RegoParser *p, Comprehending *about)
{
    RegoMark mark = parser_mark(p);
    parser_advance(p);
    RegoBody body;
    if (!parse_body(p, about->end, &body)) {
        about->failed = !parser_at(p, REGO_TOKEN_COMMA);
        if (!about->failed) parser_return(p, &mark);
        return NULL;
    }
    parser_advance(p);
    RegoTerm *term = parser_term(p, about->kind, parser_span(p, about->loc));
    term->comprehension = parser_alloc(p, sizeof *term->comprehension);
    *term->comprehension = (RegoComprehension){ about->key, about->value, body };
    if (about->key) parser_raise_term(p, term, about->key->height);
    parser_raise_term(p, term, about->value->height);
    parser_raise_term(p, term, parser_body_height(&body));
    return term;
}

/* Behind an opening bracket: whether what follows may be a comprehension. A leading comma is allowed by tradition. */
static bool skip_leading_comma(RegoParser *p)
{
    if (!parser_at(p, REGO_TOKEN_COMMA)) return false;
    parser_advance(p);
    return true;
}

static RegoTerm *parse_empty(RegoParser *p, RegoTermKind kind, RegoLoc loc)
{
    parser_advance(p);
    return parser_term(p, kind, parser_span(p, loc));
}

static RegoTerm *parse_array(RegoParser *p)
{
    RegoLoc loc = p->token.loc;
    parser_advance(p);
    if (parser_at(p, REGO_TOKEN_BRACKET_CLOSE)) return parse_empty(p, REGO_TERM_ARRAY, loc);
    bool is_list = skip_leading_comma(p);
    RegoTerm *first = parse_term(p);
    if (!first) return NULL;
    if (!is_list && parser_at(p, REGO_TOKEN_OR)) {
        Comprehending about = { .kind = REGO_TERM_ARRAY_COMPREHENSION, .end = REGO_TOKEN_BRACKET_CLOSE, .loc = loc,
                                .value = first };
        RegoTerm *term = parse_comprehension(p, &about);
        if (term || about.failed) return term;
    }
    first = parse_infix_from(p, first, /* pairs= */ false);
    return first ? parse_list(p, REGO_TERM_ARRAY, loc, first, REGO_TOKEN_BRACKET_CLOSE) : NULL;
}

typedef struct PairList {
    RegoPair *items;
    size_t count, capacity;
} PairList;

static RegoTerm *parse_object_rest(RegoParser *p, RegoLoc loc, RegoTerm *key, RegoTerm *value)
{
    RegoTerm *term = parser_term(p, REGO_TERM_OBJECT, loc);
    PairList pairs = { 0 };
    for (;;) {
        pairs.items = parser_grow(p, pairs.items, sizeof *pairs.items, pairs.count, &pairs.capacity);
        pairs.items[pairs.count++] = (RegoPair){ key, value };
        parser_raise_term(p, term, key->height);
        parser_raise_term(p, term, value->height);
        if (parser_at(p, REGO_TOKEN_COMMA)) parser_advance(p);
        else if (!parser_at(p, REGO_TOKEN_BRACE_CLOSE)) {
            parser_unexpected(p, "expected \",\" or \"}\"");
            return NULL;
        }
        if (parser_at(p, REGO_TOKEN_BRACE_CLOSE)) break;
        key = parse_infix(p, /* pairs= */ false);
        if (!key) return NULL;
        if (!parser_at(p, REGO_TOKEN_COLON)) {
            parser_unexpected(p, "expected \":\"");
            return NULL;
        }
        parser_advance(p);
        value = parse_infix(p, /* pairs= */ false);
        if (!value) return NULL;
    }
    parser_advance(p);
    term->loc = parser_span(p, loc);
    term->pairs = pairs.items;
    term->count = (uint32_t)pairs.count;
    return term;
}

/* At the colon behind the first key. */
static RegoTerm *parse_object(RegoParser *p, RegoLoc loc, RegoTerm *key, bool is_list)
{
    parser_advance(p);
    RegoTerm *value = parse_term(p);
    if (!value) return NULL;
    if (!is_list && parser_at(p, REGO_TOKEN_OR)) {
        Comprehending about = { .kind = REGO_TERM_OBJECT_COMPREHENSION, .end = REGO_TOKEN_BRACE_CLOSE, .loc = loc,
                                .key = key, .value = value };
        RegoTerm *term = parse_comprehension(p, &about);
        if (term || about.failed) return term;
    }
    value = parse_infix_from(p, value, /* pairs= */ false);
    if (!value) return NULL;
    if (!parser_at(p, REGO_TOKEN_BRACE_CLOSE) && !parser_at(p, REGO_TOKEN_COMMA)) {
        parser_unexpected(p, "non-terminated object");
        return NULL;
    }
    return parse_object_rest(p, loc, key, value);
}

static RegoTerm *parse_set_or_object(RegoParser *p)
{
    RegoLoc loc = p->token.loc;
    parser_advance(p);
    if (parser_at(p, REGO_TOKEN_BRACE_CLOSE)) return parse_empty(p, REGO_TERM_OBJECT, loc);
    bool is_list = skip_leading_comma(p);
    RegoTerm *first = parse_term(p);
    if (!first) return NULL;
    if (!is_list && parser_at(p, REGO_TOKEN_OR)) {
        Comprehending about = { .kind = REGO_TERM_SET_COMPREHENSION, .end = REGO_TOKEN_BRACE_CLOSE, .loc = loc,
                                .value = first };
        RegoTerm *term = parse_comprehension(p, &about);
        if (term || about.failed) return term;
    }
    first = parse_infix_from(p, first, /* pairs= */ false);
    if (!first) return NULL;
    if (parser_at(p, REGO_TOKEN_COLON)) return parse_object(p, loc, first, is_list);
    if (!parser_at(p, REGO_TOKEN_BRACE_CLOSE) && !parser_at(p, REGO_TOKEN_COMMA)) {
        parser_unexpected(p, "non-terminated set");
        return NULL;
    }
    return parse_list(p, REGO_TERM_SET, loc, first, REGO_TOKEN_BRACE_CLOSE);
}

/* --- references and calls ---------------------------------------------------------------------------------------- */

/* At the parenthesis behind a function's name. */
static RegoTerm *parse_call(RegoParser *p, RegoTerm *operator)
{
    RegoTermList list = { 0 };
    parser_list_term(p, &list, operator);
    parser_advance(p);
    if (parser_at(p, REGO_TOKEN_PAREN_CLOSE)) {
        parser_advance(p);
        bool is_set = operator->count == 1 && rego_term_is_var(operator->items[0], STR("set"));
        RegoLoc loc = parser_span(p, operator->loc);
        return is_set ? parser_term(p, REGO_TERM_SET, loc) : parser_items(p, REGO_TERM_CALL, loc, &list);
    }
    RegoTerm *first = parse_infix(p, /* pairs= */ false);
    if (!first) return NULL;
    parser_list_term(p, &list, first);
    if (!parse_list_rest(p, &list, REGO_TOKEN_PAREN_CLOSE)) return NULL;
    return parser_items(p, REGO_TERM_CALL, parser_span(p, operator->loc), &list);
}

/* At a dot. */
static RegoTerm *parse_dot_item(RegoParser *p)
{
    RegoLoc space = p->token.loc;
    space.offset += space.size;
    space.col++;
    parser_advance(p);
    if (p->token.space_before) {
        parser_error(p, space, "unexpected whitespace token: expected identifier");
        return NULL;
    }
    if (!parser_at(p, REGO_TOKEN_IDENT) && !rego_token_kind_is_keyword(p->token.kind)) {
        parser_unexpected(p, "expected identifier");
        return NULL;
    }
    RegoTerm *item = parser_string(p, p->token.loc, p->token.text);
    parser_advance(p);
    return item;
}

/* At a bracket. */
static RegoTerm *parse_bracket_item(RegoParser *p)
{
    parser_advance(p);
    RegoTerm *item = parse_infix(p, /* pairs= */ true);
    if (!item) return NULL;
    if (!parser_at(p, REGO_TOKEN_BRACKET_CLOSE)) {
        parser_unexpected(p, "expected ]");
        return NULL;
    }
    parser_advance(p);
    return item;
}

static bool may_head_ref(const RegoTerm *term)
{
    return term->kind != REGO_TERM_SCALAR && term->kind != REGO_TERM_REF && term->kind != REGO_TERM_TEMPLATE;
}

RegoTerm *parse_ref_tail(RegoParser *p, RegoTerm *head)
{
    for (;;) {                      /* each turn reads a reference; a call inside it is the head of the next one */
        if (!may_head_ref(head)) {
            parser_error(p, head->loc, "illegal ref (head cannot be %s)", rego_term_kind_name(head));
            return NULL;
        }
        RegoTermList list = { 0 };
        parser_list_term(p, &list, head);
        bool first = true;          /* a rule's head may have space before its first bracket */
        for (;; first = false) {
            RegoTerm *item = NULL;
            if (!first && p->token.space_before) break;
            if (parser_at(p, REGO_TOKEN_DOT)) item = parse_dot_item(p);
            else if (parser_at(p, REGO_TOKEN_BRACKET_OPEN)) item = parse_bracket_item(p);
            else break;
            if (!item) return NULL;
            parser_list_term(p, &list, item);
        }
        RegoTerm *ref = parser_items(p, REGO_TERM_REF, parser_span(p, head->loc), &list);
        if (!parser_at(p, REGO_TOKEN_PAREN_OPEN) || (!first && p->token.space_before)) return ref;
        head = parse_call(p, ref);
        if (!head || (!parser_is_glued(p, REGO_TOKEN_DOT) && !parser_is_glued(p, REGO_TOKEN_BRACKET_OPEN))) return head;
    }
}

/* --- one term ---------------------------------------------------------------------------------------------------- */

static RegoTerm *parse_constant(RegoParser *p)
{
    RegoTerm *term = parser_term(p, REGO_TERM_SCALAR, p->token.loc);
    term->value = parser_at(p, REGO_TOKEN_NULL) ? value_null() : value_bool(parser_at(p, REGO_TOKEN_TRUE));
    parser_advance(p);
    return term;
}

static RegoTerm *parse_name(RegoParser *p)
{
    RegoTerm *term = parser_var(p, p->token.loc, p->token.text);
    parser_advance(p);
    return term;
}

/* The place of a term in parentheses stays its own; its text takes them in. */
static RegoTerm *parse_parens(RegoParser *p)
{
    uint32_t offset = p->token.loc.offset;
    parser_advance(p);
    RegoTerm *term = parse_infix(p, /* pairs= */ true);
    if (!term) return NULL;
    if (!parser_at(p, REGO_TOKEN_PAREN_CLOSE)) {
        if (parser_at(p, REGO_TOKEN_ILLEGAL)) parser_unexpected(p, "%s", "");
        else parser_error(p, p->token.loc, "non-terminated expression");
        return NULL;
    }
    parser_advance(p);
    term->loc.offset = offset;
    term->loc.size = p->end - offset;
    term->flags |= REGO_TERM_PARENS;
    return term;
}

/* What a term may begin with. `contains` is a keyword in heads alone, elsewhere it is the name of a builtin. */
static RegoTerm *(*const primaries[REGO_TOKEN_KIND_COUNT])(RegoParser *p) = {
    [REGO_TOKEN_NULL] = parse_constant,
    [REGO_TOKEN_TRUE] = parse_constant,
    [REGO_TOKEN_FALSE] = parse_constant,
    [REGO_TOKEN_MINUS] = parse_number,
    [REGO_TOKEN_DOT] = parse_number,
    [REGO_TOKEN_NUMBER] = parse_number,
    [REGO_TOKEN_STRING] = parse_string,
    [REGO_TOKEN_RAW_STRING] = parse_string,
    [REGO_TOKEN_TEMPLATE_PART] = parse_template,
    [REGO_TOKEN_TEMPLATE_END] = parse_template,
    [REGO_TOKEN_RAW_TEMPLATE_PART] = parse_template,
    [REGO_TOKEN_RAW_TEMPLATE_END] = parse_template,
    [REGO_TOKEN_IDENT] = parse_name,
    [REGO_TOKEN_CONTAINS] = parse_name,
    [REGO_TOKEN_BRACKET_OPEN] = parse_array,
    [REGO_TOKEN_BRACE_OPEN] = parse_set_or_object,
    [REGO_TOKEN_PAREN_OPEN] = parse_parens,
};

static RegoTerm *parse_primary(RegoParser *p)
{
    if (primaries[p->token.kind]) return primaries[p->token.kind](p);
    parser_unexpected(p, "%s", "");
    return NULL;
}

static RegoTerm *parse_primary_and_tail(RegoParser *p)
{
    RegoTerm *term = parse_primary(p);
    if (!term) return NULL;
    if (parser_is_glued(p, REGO_TOKEN_DOT) || parser_is_glued(p, REGO_TOKEN_BRACKET_OPEN)
        || parser_is_glued(p, REGO_TOKEN_PAREN_OPEN))
        return parse_ref_tail(p, term);
    bool is_root = rego_term_is_var(term, STR("input")) || rego_term_is_var(term, STR("data"));
    return is_root ? parser_ref_of(p, term) : term;
}

/* -x is minus(0, x), where x is a name; before digits the sign belongs to the number. */
static RegoTerm *parse_negated_name(RegoParser *p)
{
    RegoLoc loc = p->token.loc;
    RegoTerm *operator = parse_operator(p, STR("minus"));
    RegoTerm *operand = parse_primary_and_tail(p);
    if (!operand) return NULL;
    RegoTerm *zero = parser_term(p, REGO_TERM_SCALAR, loc);
    zero->value = value_int(0);
    zero->flags |= REGO_TERM_GENERATED;
    return parse_call_infix(p, operator, (RegoTerm *[]){ zero, operand }, 2);
}

static RegoTerm *parse_term_unknown(RegoParser *p)
{
    if (parser_at(p, REGO_TOKEN_MINUS)) {
        RegoTokenKind next = parser_peek(p);
        if (next == REGO_TOKEN_IDENT || next == REGO_TOKEN_CONTAINS) return parse_negated_name(p);
    }
    /* Where a term is expected, and( and or( can only be the builtins for sets. */
    if (parser_at_logical(p) && p->lexer.at < p->text.len && p->text.ptr[p->lexer.at] == '(')
        p->token.kind = REGO_TOKEN_IDENT;
    return parse_primary_and_tail(p);
}

RegoTerm *parse_term(RegoParser *p)
{
    RegoTerm *term = parser_memo_term(p);
    if (term) return term;
    parser_enter(p);
    uint32_t offset = p->token.loc.offset;
    term = parse_term_unknown(p);
    parser_leave(p);
    if (term) parser_memo_keep_term(p, offset, term);
    return term;
}
