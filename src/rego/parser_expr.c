#include "base/limits.h"
#include "rego/parser_state.h"

/* --- plain expressions ------------------------------------------------------------------------------------------- */

RegoExpr *parse_expr(RegoParser *p)
{
    RegoLoc loc = p->token.loc;
    RegoTerm *term = parse_infix(p, /* pairs= */ true);
    if (!term) return NULL;
    bool assigns = parser_at(p, REGO_TOKEN_ASSIGN);
    if (assigns || parser_at(p, REGO_TOKEN_UNIFY)) {
        RegoTerm *operator = parse_operator(p, assigns ? STR("assign") : STR("eq"));
        RegoTerm *right = parse_infix(p, /* pairs= */ true);
        if (!right) return NULL;
        term = parse_call_infix(p, operator, (RegoTerm *[]){ term, right }, 2);
    }
    RegoExprKind kind = term->kind == REGO_TERM_CALL ? REGO_EXPR_CALL : REGO_EXPR_TERM;
    RegoExpr *expr = parser_expr(p, kind, parser_span(p, loc));
    expr->term = term;
    parser_raise_expr(p, expr, term->height);
    return expr;
}

typedef struct WithList {
    RegoWith *items;
    size_t count, capacity;
} WithList;

/* At `with`. */
static bool parse_with(RegoParser *p, RegoWith *out_with)
{
    RegoLoc loc = p->token.loc;
    parser_advance(p);
    if (!parser_at(p, REGO_TOKEN_IDENT)) {
        parser_unexpected(p, "expected ident");
        return false;
    }
    RegoTerm *target = parse_term(p);
    if (!target) return false;
    if (target->kind != REGO_TERM_REF && target->kind != REGO_TERM_VAR) {
        parser_unexpected(p, "expected with target path");
        return false;
    }
    if (!parser_at(p, REGO_TOKEN_AS)) {
        parser_unexpected(p, "expected as keyword");
        return false;
    }
    parser_advance(p);
    RegoTerm *value = parse_infix(p, /* pairs= */ true);
    if (!value) return false;
    *out_with = (RegoWith){ parser_span(p, loc), target, value };
    return true;
}

bool parse_withs(RegoParser *p, RegoExpr *expr)
{
    WithList list = { 0 };
    while (parser_at(p, REGO_TOKEN_WITH)) {
        RegoWith with;
        if (!parse_with(p, &with)) return false;
        list.items = parser_grow(p, list.items, sizeof *list.items, list.count, &list.capacity);
        list.items[list.count++] = with;
        parser_raise_expr(p, expr, with.target->height);
        parser_raise_expr(p, expr, with.value->height);
    }
    if (!list.count) return true;
    expr->withs = list.items;
    expr->with_count = (uint32_t)list.count;
    return true;
}

/* --- some and every ---------------------------------------------------------------------------------------------- */

/* The parts of `[key,] value in domain`. */
static RegoEach *each_from_call(RegoParser *p, const RegoTerm *call)
{
    RegoEach *each = parser_alloc(p, sizeof *each);
    uint32_t at = 1;
    each->key = call->count == 4 ? call->items[at++] : NULL;
    each->value = call->items[at++];
    each->domain = call->items[at];
    return each;
}

static RegoExpr *parse_some_in(RegoParser *p, RegoLoc loc, const RegoTerm *term)
{
    if (!parse_is_member_call(term)) {
        parser_unexpected(p, "expected `x in xs` or `x, y in xs` expression");
        return NULL;
    }
    RegoExpr *expr = parser_expr(p, REGO_EXPR_SOME_IN, loc);
    expr->each = each_from_call(p, term);
    parser_raise_expr(p, expr, term->height);
    return parse_withs(p, expr) ? expr : NULL;
}

static RegoExpr *parse_some_vars(RegoParser *p, RegoLoc loc)
{
    RegoTermList list = { 0 };
    do {
        parser_advance(p);
        if (!parser_at(p, REGO_TOKEN_IDENT)) {
            parser_unexpected(p, "expected var");
            return NULL;
        }
        parser_list_term(p, &list, parser_var(p, p->token.loc, p->token.text));
        parser_advance(p);
    } while (parser_at(p, REGO_TOKEN_COMMA));
    RegoExpr *expr = parser_expr(p, REGO_EXPR_SOME, loc);
    expr->some = parser_alloc(p, sizeof *expr->some);
    *expr->some = (RegoSome){ list.items, (uint32_t)list.count };
    parser_raise_expr(p, expr, 1);
    return expr;
}

/* Whether an expression can end before the present token. */
static bool ends_expr(const RegoParser *p)
{
    static const uint8_t ends[] = { REGO_TOKEN_END, REGO_TOKEN_SEMICOLON, REGO_TOKEN_BRACE_CLOSE,
                                    REGO_TOKEN_BRACKET_CLOSE };
    for (size_t i = 0; i < sizeof ends; i++)
        if (parser_at(p, ends[i])) return true;
    return p->token.newline_before;
}

static RegoExpr *parse_some(RegoParser *p)
{
    RegoLoc loc = p->token.loc;
    RegoMark mark = parser_mark(p);
    parser_advance(p);
    const RegoTerm *term = parse_infix(p, /* pairs= */ true);
    if (term && term->kind == REGO_TERM_CALL) return parse_some_in(p, loc, term);
    bool failed = !term;
    parser_return(p, &mark);
    RegoExpr *expr = parse_some_vars(p, loc);
    if (!failed || !expr || ends_expr(p)) return expr;
    parser_return(p, &mark);                /* `some x in [1, 2` was meant, and what is wrong with that is to be told */
    parser_advance(p);
    parse_infix(p, /* pairs= */ true);
    return NULL;
}

static RegoExpr *parse_every(RegoParser *p)
{
    RegoLoc loc = p->token.loc;
    parser_advance(p);
    const RegoTerm *term = parse_infix(p, /* pairs= */ true);
    if (!term) return NULL;
    if (!parse_is_member_call(term)) {
        parser_unexpected(p, "expected `x[, y] in xs { ... }` expression");
        return NULL;
    }
    RegoExpr *expr = parser_expr(p, REGO_EXPR_EVERY, loc);
    expr->each = each_from_call(p, term);
    parser_raise_expr(p, expr, term->height);
    const char *wrong = NULL;
    if (expr->each->key && expr->each->key->kind != REGO_TERM_VAR) wrong = "expected key to be a variable";
    else if (expr->each->value->kind != REGO_TERM_VAR) wrong = "expected value to be a variable";
    else if (!parser_at(p, REGO_TOKEN_BRACE_OPEN)) wrong = "missing body";
    if (wrong) {
        parser_unexpected(p, "%s", wrong);
        return NULL;
    }
    if (!parse_braces(p, &expr->each->body)) return NULL;
    parser_raise_expr(p, expr, parser_body_height(&expr->each->body));
    return parse_withs(p, expr) ? expr : NULL;
}

/* --- literals ---------------------------------------------------------------------------------------------------- */

static void error_with_on_operand(RegoParser *p, RegoLoc loc)
{
    const char *word = rego_token_kind_name(p->token.kind);
    parser_hint(p, "wrap the operand in `(...)` or `{...}` to scope it, or move `with` behind the `%s` expression to "
                "apply it to the whole", word);
    parser_error(p, loc, "`with` modifier is not allowed on operand of `%s`", word);
}

/* The braces of `{...} and x` were no body, but a value. */
static void error_brace_operand(RegoParser *p, const RegoExpr *expr)
{
    bool empty = expr->kind == REGO_EXPR_TERM && expr->term->kind == REGO_TERM_OBJECT && !expr->term->count;
    if (empty) {
        parser_error(p, expr->loc, "found empty body");
        return;
    }
    const char *word = rego_token_kind_name(p->token.kind);
    parser_hint(p, "wrap the operand to keep the value: `(%.*s) %s ...`", STR_ARG(parser_text(p, expr->loc)), word);
    parser_error(p, expr->loc, "operand of `%s` cannot begin with `{` unless the braces hold a body", word);
}

/* A term, call, assignment or unification, what `not` and `with` make of it, and what `and` and `or` add. */
static RegoExpr *parse_plain(RegoParser *p, bool negated, RegoLoc not_loc)
{
    RegoExpr *expr;
    if (negated && p->has_not_bodies && parser_at(p, REGO_TOKEN_PAREN_OPEN)) {
        RegoGroup group = parse_not_group(p, not_loc, &expr);
        if (group != REGO_GROUP_NONE) return group == REGO_GROUP_READ ? expr : NULL;
    }
    expr = parse_expr(p);
    if (!expr) return NULL;
    RegoLoc with_loc = p->token.loc;
    if (!parse_withs(p, expr)) return NULL;
    if (negated && p->has_not_bodies) expr = parse_not_wrap(p, expr, not_loc);
    else if (negated) expr->flags |= REGO_EXPR_NEGATED;
    if (!parser_at_logical(p)) return expr;

    if (expr->with_count) {
        error_with_on_operand(p, with_loc);
        return NULL;
    }
    if (!negated && p->text.ptr[expr->loc.offset] == '{') {
        error_brace_operand(p, expr);
        return NULL;
    }
    return parse_logic_tail(p, (RegoOperand){ .body = parser_body_of(p, expr), .loc = expr->loc });
}

static RegoExpr *parse_literal_here(RegoParser *p)
{
    RegoExpr *expr;
    if (parser_has_logical(p) && (parser_at(p, REGO_TOKEN_BRACE_OPEN) || parser_at(p, REGO_TOKEN_PAREN_OPEN))) {
        RegoGroup group = parse_logic_start(p, &expr);
        if (group != REGO_GROUP_NONE) return group == REGO_GROUP_READ ? expr : NULL;
    }
    parser_keyword_to_name(p);
    RegoLoc not_loc = p->token.loc;
    bool negated = parser_at(p, REGO_TOKEN_NOT);
    if (negated) parser_advance(p);
    if (negated && p->has_not_bodies && parser_at(p, REGO_TOKEN_BRACE_OPEN)) {
        expr = parse_not_body(p, not_loc);
        return expr ? parse_logic_tail(p, (RegoOperand){ .body = parser_body_of(p, expr), .loc = expr->loc }) : NULL;
    }
    bool is_some = parser_at(p, REGO_TOKEN_SOME), is_every = parser_at(p, REGO_TOKEN_EVERY);
    if (negated && (is_some || is_every)) {
        parser_unexpected(p, "illegal negation of '%s'", rego_token_kind_name(p->token.kind));
        return NULL;
    }
    if (is_some) return parse_some(p);
    if (is_every) return parse_every(p);
    return parse_plain(p, negated, not_loc);
}

RegoExpr *parse_literal(RegoParser *p)
{
    RegoLoc loc = p->token.loc;
    parser_enter(p);
    RegoExpr *expr = parse_literal_here(p);
    parser_leave(p);
    if (!expr) return NULL;
    expr->loc = parser_span(p, loc);
    /* What a message says about the operand of a `not` without braces, it says about the whole. */
    if (expr->kind == REGO_EXPR_NOT && !(expr->flags & REGO_EXPR_BRACES))
        for (uint32_t i = 0; i < expr->not->count; i++) expr->not->exprs[i]->loc = expr->loc;
    return expr;
}

/* --- bodies ------------------------------------------------------------------------------------------------------ */

/* Where an infix keyword was written that no import has switched on, the message should say so. */
static void hint_missing_keyword(RegoParser *p)
{
    static const struct { Str word; const char *example; } infix[] = {
        { STR_INIT("in"), "x in xs" }, { STR_INIT("and"), "x and y" }, { STR_INIT("or"), "x or y" },
    };
    if (!parser_at(p, REGO_TOKEN_IDENT)) return;
    for (size_t i = 0; i < sizeof infix / sizeof *infix; i++)
        if (str_is(infix[i].word, p->token.text))
            parser_hint(p, "`import future.keywords.%.*s` for `%s` expressions", STR_ARG(infix[i].word),
                        infix[i].example);
}

bool parse_body(RegoParser *p, RegoTokenKind end, RegoBody *out_body)
{
    if (parser_at(p, end)) {
        parser_error(p, p->token.loc, "found empty body");
        return false;
    }
    RegoExprList list = { 0 };
    for (;;) {
        RegoExpr *expr = parse_literal(p);
        if (!expr) return false;
        parser_list_expr(p, &list, expr);
        if (parser_at(p, REGO_TOKEN_SEMICOLON)) {
            parser_advance(p);
        } else if (parser_at(p, end)) {
            break;
        } else if (!p->token.newline_before) {
            hint_missing_keyword(p);
            parser_unexpected(p, "expected \\n or ; or %s", rego_token_kind_name(end));
            return false;
        }
    }
    *out_body = (RegoBody){ list.items, (uint32_t)list.count };
    return true;
}

bool parse_braces(RegoParser *p, RegoBody *out_body)
{
    parser_advance(p);
    if (!parse_body(p, REGO_TOKEN_BRACE_CLOSE, out_body)) return false;
    parser_advance(p);
    return true;
}
