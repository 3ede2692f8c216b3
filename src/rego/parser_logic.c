/* The operators `and` and `or` between expressions, and `not { ... }`.
 *
 *   or-chain    = and-chain { "or" and-chain }
 *   and-chain   = operand { "and" operand }
 *   operand     = "{" body "}" | "not" "{" body "}" | [ "not" ] "(" or-chain [ with ] ")" | [ "not" ] expression
 *
 * Braces and parentheses also open terms: a set, an object, an expression in parentheses. In an operand's place braces
 * are a body. At the start of a literal nothing tells yet, so both readings are tried, the operand first.
 */
#include "base/limits.h"
#include "rego/parser_state.h"

static bool parse_operand(RegoParser *p, const char *word, RegoOperand *out_operand);
static RegoGroup parse_group(RegoParser *p, bool is_operand, const char *prefix, RegoOperand *out_operand);

static RegoOperand operand_of(RegoParser *p, RegoExpr *expr)
{
    return (RegoOperand){ .body = parser_body_of(p, expr), .loc = expr->loc };
}

/* --- chains ------------------------------------------------------------------------------------------------------ */

/* An operand that only prints can never fail: most likely it was meant to stand outside. */
static bool check_void_operand(RegoParser *p, const RegoBody *body, const char *word)
{
    for (uint32_t i = 0; i < body->count; i++) {
        const RegoExpr *expr = body->exprs[i];
        if (expr->kind != REGO_EXPR_CALL || expr->flags & REGO_EXPR_NEGATED) return true;
        const RegoTerm *operator = expr->term->items[0];
        if (operator->count != 1 || !rego_term_is_var(operator->items[0], STR("print"))) return true;
    }
    parser_hint(p, "`print` produces no value and always succeeds, so the operand can never fail; move it out of the "
                "operand, or add an expression that can fail");
    parser_error(p, body->exprs[0]->loc, "operand of `%s` cannot consist only of calls to `print`", word);
    return false;
}

/* `left` becomes the operand  left word right. */
static bool join(RegoParser *p, RegoExprKind kind, RegoOperand *left, const RegoOperand *right)
{
    const char *word = kind == REGO_EXPR_AND ? "and" : "or";
    if (!check_void_operand(p, &left->body, word) || !check_void_operand(p, &right->body, word)) return false;
    RegoExpr *expr = parser_expr(p, kind, parser_span(p, left->loc));
    expr->logic = parser_alloc(p, sizeof *expr->logic);
    *expr->logic = (RegoLogic){ left->body, right->body, left->braces, right->braces };
    parser_raise_expr(p, expr, parser_body_height(&left->body));
    parser_raise_expr(p, expr, parser_body_height(&right->body));
    *left = operand_of(p, expr);
    return true;
}

static bool parse_and_chain(RegoParser *p, RegoOperand *left)
{
    while (parser_at(p, REGO_TOKEN_LOGICAL_AND)) {
        RegoOperand right;
        parser_advance(p);
        if (!parse_operand(p, "and", &right) || !join(p, REGO_EXPR_AND, left, &right)) return false;
    }
    return true;
}

static RegoExpr *parse_or_chain(RegoParser *p, RegoOperand left)
{
    if (!parse_and_chain(p, &left)) return NULL;
    while (parser_at(p, REGO_TOKEN_LOGICAL_OR)) {
        RegoOperand right;
        parser_advance(p);
        if (!parse_operand(p, "or", &right) || !parse_and_chain(p, &right)) return NULL;
        if (!join(p, REGO_EXPR_OR, &left, &right)) return NULL;
    }
    return left.body.exprs[0];
}

RegoExpr *parse_logic_tail(RegoParser *p, RegoOperand left)
{
    RegoExpr *expr = parser_at_logical(p) ? parse_or_chain(p, left) : left.body.exprs[0];
    return expr && parse_withs(p, expr) ? expr : NULL;
}

/* --- bodies in braces -------------------------------------------------------------------------------------------- */

/* { a | b } as a body holds a union, but reads like a comprehension. */
static bool is_ambiguous_union(const RegoParser *p, const RegoBody *body)
{
    const RegoExpr *expr = body->exprs[0];
    if (expr->kind != REGO_EXPR_CALL || p->text.ptr[expr->loc.offset] == '(') return false;
    const RegoTerm *term = expr->term;
    return (term->flags & REGO_TERM_INFIX) && rego_term_is_var(term->items[0]->items[0], STR("or"));
}

static void error_ambiguous_union(RegoParser *p, RegoLoc loc, const RegoBody *body, const char *prefix)
{
    Str braces = parser_text(p, parser_span(p, loc));
    parser_hint(p, "write `%s(%.*s)` for the comprehension, or put `%.*s` in parentheses for the set union", prefix,
                STR_ARG(braces), STR_ARG(parser_text(p, body->exprs[0]->loc)));
    parser_error(p, loc, "ambiguous `{ ... | ... }` operand: read as a body holding a set-union expression, not as a "
                 "comprehension");
}

/* The braces at `mark` are no body. Where they can be read as a value, that is what has to be said; otherwise the error
 * that was recorded stays. */
static void explain_braces(RegoParser *p, const RegoMark *mark, const char *word, const char *prefix)
{
    RegoMark failed = parser_mark(p);
    if (failed.error_count == mark->error_count) return;        /* the list of errors is full */
    RegoError error = p->errors->items[mark->error_count];
    parser_return(p, mark);
    RegoLoc loc = p->token.loc;
    const RegoTerm *term = parse_infix(p, /* pairs= */ true);
    if (!term) {
        parser_return(p, mark);
        p->errors->items[p->errors->count++] = error;
        failed.error_count = p->errors->count;
        parser_return(p, &failed);
        return;
    }
    Str operand = parser_text(p, parser_span(p, loc));
    if (word) {
        parser_hint(p, "wrap the operand to keep the value: `(%.*s) %s ...`", STR_ARG(operand), word);
        parser_error(p, loc, "operand of `%s` cannot begin with `{` unless the braces hold a body", word);
    } else {
        parser_hint(p, "write `%s(%.*s)` to negate the value, or `%s{%.*s}` for a body holding it", prefix,
                    STR_ARG(operand), prefix, STR_ARG(operand));
        parser_error(p, loc, "`{...}` in an operand position must contain expression(s), got: %s",
                     rego_term_kind_name(term));
    }
}

RegoExpr *parse_not_body(RegoParser *p, RegoLoc not_loc)
{
    RegoMark mark = parser_mark(p);
    RegoLoc loc = p->token.loc;
    bool empty = parser_peek(p) == REGO_TOKEN_BRACE_CLOSE;
    RegoBody body;
    if (!parse_braces(p, &body)) {
        if (!empty) explain_braces(p, &mark, /* word= */ NULL, "not ");
        return NULL;
    }
    if (is_ambiguous_union(p, &body)) {
        error_ambiguous_union(p, loc, &body, "not ");
        return NULL;
    }
    RegoExpr *expr = parser_expr(p, REGO_EXPR_NOT, parser_span(p, not_loc));
    expr->flags |= REGO_EXPR_BRACES;
    expr->not = parser_alloc(p, sizeof *expr->not);
    *expr->not = body;
    parser_raise_expr(p, expr, parser_body_height(&body));
    return expr;
}

static RegoExpr *not_around(RegoParser *p, const RegoOperand *operand, RegoLoc not_loc)
{
    RegoExpr *expr = parser_expr(p, REGO_EXPR_NOT, parser_span(p, not_loc));
    if (operand->braces) expr->flags |= REGO_EXPR_BRACES;
    expr->not = parser_alloc(p, sizeof *expr->not);
    *expr->not = operand->body;
    parser_raise_expr(p, expr, parser_body_height(&operand->body));
    return expr;
}

RegoExpr *parse_not_wrap(RegoParser *p, RegoExpr *expr, RegoLoc not_loc)
{
    RegoWith *withs = expr->withs;              /* they belong to the whole */
    uint32_t with_count = expr->with_count;
    expr->withs = NULL;
    expr->with_count = 0;
    RegoOperand operand = operand_of(p, expr);
    RegoExpr *outer = not_around(p, &operand, not_loc);
    outer->withs = withs;
    outer->with_count = with_count;
    return outer;
}

/* --- operands ---------------------------------------------------------------------------------------------------- */

/* At `{`. Without a word the caller only tries, and wants no explanation. */
static bool parse_brace_operand(RegoParser *p, const char *word, RegoOperand *out_operand)
{
    RegoMark mark = parser_mark(p);
    RegoLoc loc = p->token.loc;
    bool empty = parser_peek(p) == REGO_TOKEN_BRACE_CLOSE;
    RegoBody body;
    if (!parse_braces(p, &body)) {
        if (!empty && word) explain_braces(p, &mark, word, "");
        return false;
    }
    if (is_ambiguous_union(p, &body)) {
        error_ambiguous_union(p, loc, &body, "");
        return false;
    }
    *out_operand = (RegoOperand){ body, true, loc };
    return true;
}

static bool parse_operand_here(RegoParser *p, const char *word, RegoOperand *out_operand)
{
    if (parser_at(p, REGO_TOKEN_BRACE_OPEN)) return parse_brace_operand(p, word, out_operand);
    RegoLoc not_loc = p->token.loc;
    bool negated = parser_at(p, REGO_TOKEN_NOT) && !parser_keyword_is_name(p);
    if (negated) parser_advance(p);
    RegoExpr *expr;
    if (negated && p->has_not_bodies && parser_at(p, REGO_TOKEN_BRACE_OPEN)) {
        expr = parse_not_body(p, not_loc);
        if (expr) *out_operand = operand_of(p, expr);
        return expr != NULL;
    }
    if (parser_at(p, REGO_TOKEN_PAREN_OPEN) && parser_has_logical(p) && (!negated || p->has_not_bodies)) {
        RegoGroup group = parse_group(p, /* is_operand= */ true, negated ? "not " : "", out_operand);
        if (group == REGO_GROUP_READ && negated) *out_operand = operand_of(p, not_around(p, out_operand, not_loc));
        if (group != REGO_GROUP_NONE) return group == REGO_GROUP_READ;
    }
    expr = parse_expr(p);
    if (!expr) return false;
    if (negated && p->has_not_bodies) expr = parse_not_wrap(p, expr, not_loc);
    else if (negated) expr->flags |= REGO_EXPR_NEGATED;
    *out_operand = operand_of(p, expr);
    return true;
}

static bool parse_operand(RegoParser *p, const char *word, RegoOperand *out_operand)
{
    parser_enter(p);
    bool read = parse_operand_here(p, word, out_operand);
    parser_leave(p);
    return read;
}

/* --- groups in parentheses --------------------------------------------------------------------------------------- */

static bool is_logical_or_negated(const RegoBody *body)
{
    if (body->count != 1) return false;
    const RegoExpr *expr = body->exprs[0];
    return expr->kind == REGO_EXPR_AND || expr->kind == REGO_EXPR_OR || expr->kind == REGO_EXPR_NOT
        || expr->flags & REGO_EXPR_NEGATED;
}

static bool expect_close(RegoParser *p)
{
    if (!parser_at(p, REGO_TOKEN_PAREN_CLOSE)) {
        parser_error(p, p->token.loc, "expected ) to close parenthesized group");
        return false;
    }
    parser_advance(p);
    return true;
}

static RegoGroup group_of(RegoParser *p, RegoLoc open, RegoOperand operand, RegoOperand *out_operand)
{
    operand.loc = parser_span(p, open);
    operand.braces = false;
    *out_operand = operand;
    return REGO_GROUP_READ;
}

/* (operand with ... as ...): a group only where it is, or turns out to be, an operand itself. */
static RegoGroup parse_with_group(RegoParser *p, bool is_operand, const RegoMark *mark, RegoOperand operand,
                                  RegoOperand *out_operand)
{
    RegoLoc with_loc = p->token.loc;
    if (!parse_withs(p, operand.body.exprs[0])) return REGO_GROUP_FAILED;
    if (parser_at_logical(p)) {
        const char *word = rego_token_kind_name(p->token.kind);
        parser_error(p, with_loc, "`with` modifier is not allowed on operand of `%s`", word);
        return REGO_GROUP_FAILED;
    }
    if (!expect_close(p)) return REGO_GROUP_FAILED;
    if (is_operand || parser_at_logical(p)) return group_of(p, mark->token.loc, operand, out_operand);
    parser_return(p, mark);
    return REGO_GROUP_NONE;
}

/* ({ body }) is either a value in parentheses or a mistake. */
static RegoGroup parse_brace_group(RegoParser *p, const RegoMark *mark, const RegoOperand *operand, const char *prefix)
{
    RegoLoc braces = parser_span(p, operand->loc);
    parser_return(p, mark);
    parser_advance(p);
    bool is_value = parse_term(p) != NULL;
    parser_return(p, mark);
    if (is_value) return REGO_GROUP_NONE;
    parser_hint(p, "drop the parens to keep the body: `%s%.*s`", prefix, STR_ARG(parser_text(p, braces)));
    parser_error(p, p->token.loc, "`(...)` in an operand position cannot contain a body");
    return REGO_GROUP_FAILED;
}

static RegoGroup parse_group(RegoParser *p, bool is_operand, const char *prefix, RegoOperand *out_operand)
{
    RegoMark mark = parser_mark(p);
    RegoLoc open = p->token.loc;
    parser_advance(p);
    if (parser_at(p, REGO_TOKEN_PAREN_CLOSE)) {
        if (is_operand) parser_error(p, open, "empty parenthesized group");
        else parser_return(p, &mark);
        return is_operand ? REGO_GROUP_FAILED : REGO_GROUP_NONE;
    }
    RegoOperand operand;
    if (!parse_operand(p, /* word= */ NULL, &operand)) {
        parser_return(p, &mark);
        return REGO_GROUP_NONE;
    }
    if (parser_at_logical(p)) {
        RegoExpr *expr = parse_logic_tail(p, operand);
        if (!expr || !expect_close(p)) return REGO_GROUP_FAILED;
        return group_of(p, open, operand_of(p, expr), out_operand);
    }
    if (parser_at(p, REGO_TOKEN_WITH) && !operand.braces)
        return parse_with_group(p, is_operand, &mark, operand, out_operand);
    if (operand.braces) return parse_brace_group(p, &mark, &operand, prefix);
    if (is_logical_or_negated(&operand.body))
        return expect_close(p) ? group_of(p, open, operand, out_operand) : REGO_GROUP_FAILED;
    parser_return(p, &mark);                    /* (a == b): a term like others */
    return REGO_GROUP_NONE;
}

RegoGroup parse_not_group(RegoParser *p, RegoLoc not_loc, RegoExpr **out_expr)
{
    RegoOperand operand;
    RegoGroup group = parse_group(p, /* is_operand= */ true, "not ", &operand);
    if (group != REGO_GROUP_READ) return group;
    *out_expr = parse_logic_tail(p, operand_of(p, not_around(p, &operand, not_loc)));
    return *out_expr ? REGO_GROUP_READ : REGO_GROUP_FAILED;
}

/* { body } at the start of a literal: an operand only where `and` or `or` follows. */
static RegoGroup parse_brace_start(RegoParser *p, RegoOperand *out_operand)
{
    if (parser_memo_is_no_operand(p)) return REGO_GROUP_NONE;
    RegoMark mark = parser_mark(p);
    RegoLoc loc = p->token.loc;
    RegoBody body;
    if (!parse_braces(p, &body) || !parser_at_logical(p)) {
        parser_return(p, &mark);
        parser_memo_keep_no_operand(p, loc.offset);
        return REGO_GROUP_NONE;
    }
    if (is_ambiguous_union(p, &body)) {
        error_ambiguous_union(p, loc, &body, "");
        return REGO_GROUP_FAILED;
    }
    *out_operand = (RegoOperand){ body, true, loc };
    return REGO_GROUP_READ;
}

RegoGroup parse_logic_start(RegoParser *p, RegoExpr **out_expr)
{
    RegoOperand operand;
    RegoGroup group = parser_at(p, REGO_TOKEN_BRACE_OPEN) ? parse_brace_start(p, &operand)
                                                          : parse_group(p, /* is_operand= */ false, "", &operand);
    if (group != REGO_GROUP_READ) return group;
    *out_expr = parse_logic_tail(p, operand);
    return *out_expr ? REGO_GROUP_READ : REGO_GROUP_FAILED;
}
