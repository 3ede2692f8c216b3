#include "base/limits.h"
#include "rego/parser_state.h"

/* --- names that are keywords ------------------------------------------------------------------------------------- */

#define TOKEN(kind) (UINT64_C(1) << REGO_TOKEN_##kind)

/* A keyword, and the tokens that behind it leave no reading but a rule of that name. Paths of packages and imports may
 * be keywords themselves; not (x) negates, and or(x, y) calls. */
static const struct { uint8_t keyword; uint64_t followers; } keyword_names[] = {
    { REGO_TOKEN_EVERY, TOKEN(ASSIGN) | TOKEN(UNIFY) | TOKEN(IF) | TOKEN(CONTAINS) | TOKEN(PAREN_OPEN) },
    { REGO_TOKEN_IF, TOKEN(ASSIGN) | TOKEN(UNIFY) | TOKEN(IF) | TOKEN(CONTAINS) | TOKEN(PAREN_OPEN) },
    { REGO_TOKEN_IN, TOKEN(ASSIGN) | TOKEN(UNIFY) | TOKEN(IF) | TOKEN(CONTAINS) | TOKEN(PAREN_OPEN) },
    { REGO_TOKEN_SOME, TOKEN(ASSIGN) | TOKEN(UNIFY) | TOKEN(IF) | TOKEN(CONTAINS) | TOKEN(PAREN_OPEN) },
    { REGO_TOKEN_AS, TOKEN(ASSIGN) | TOKEN(UNIFY) | TOKEN(IF) | TOKEN(CONTAINS) | TOKEN(PAREN_OPEN) },
    { REGO_TOKEN_PACKAGE, TOKEN(ASSIGN) | TOKEN(UNIFY) | TOKEN(PAREN_OPEN) },
    { REGO_TOKEN_IMPORT, TOKEN(ASSIGN) | TOKEN(UNIFY) | TOKEN(PAREN_OPEN) },
    { REGO_TOKEN_NOT, TOKEN(ASSIGN) | TOKEN(UNIFY) | TOKEN(IF) | TOKEN(CONTAINS) },
    { REGO_TOKEN_LOGICAL_AND, TOKEN(ASSIGN) | TOKEN(UNIFY) | TOKEN(IF) | TOKEN(CONTAINS) },
    { REGO_TOKEN_LOGICAL_OR, TOKEN(ASSIGN) | TOKEN(UNIFY) | TOKEN(IF) | TOKEN(CONTAINS) },
    { REGO_TOKEN_CONTAINS, TOKEN(IF) | TOKEN(CONTAINS) },
};

static_assert(REGO_TOKEN_KIND_COUNT <= 64, "a set of tokens is 64 bits");

bool parse_keyword_rule_name(RegoParser *p, bool is_default)
{
    for (size_t i = 0; i < sizeof keyword_names / sizeof *keyword_names; i++) {
        if (keyword_names[i].keyword != p->token.kind) continue;
        if (!is_default && !(keyword_names[i].followers >> parser_peek(p) & 1)) return false;
        parser_error(p, p->token.loc, "%s keyword cannot be used for rule name", rego_token_kind_name(p->token.kind));
        return true;
    }
    return false;
}

/* --- parts ------------------------------------------------------------------------------------------------------- */

static RegoTerm *true_term(RegoParser *p, RegoLoc loc)
{
    RegoTerm *term = parser_term(p, REGO_TERM_SCALAR, loc);
    term->value = value_bool(true);
    term->flags |= REGO_TERM_GENERATED;
    return term;
}

RegoBody rule_true_body(RegoParser *p, RegoLoc loc)
{
    RegoExpr *expr = parser_expr(p, REGO_EXPR_TERM, loc);
    expr->flags |= REGO_EXPR_GENERATED;
    expr->term = true_term(p, loc);
    parser_raise_expr(p, expr, 1);
    return parser_body_of(p, expr);
}

/* `term` is what a head begins with: a name, a reference or a call. */
static bool head_from_term(RegoHead *head, RegoTerm *term)
{
    const RegoTerm *ref = term;
    if (term->kind == REGO_TERM_CALL) {
        ref = term->items[0];
        head->args = term->items + 1;
        head->arg_count = term->count - 1;
        if (head->arg_count) head->flags |= REGO_HEAD_FUNCTION;         /* p() is the rule p */
    }
    if (ref->kind != REGO_TERM_REF || ref->items[0]->kind != REGO_TERM_VAR) return false;
    head->ref = ref->items;
    head->ref_count = ref->count;
    return true;
}

static bool ref_is_ground(const RegoHead *head)
{
    for (uint32_t i = 1; i < head->ref_count; i++)
        if (!rego_term_is_ground(head->ref[i])) return false;
    return true;
}

/* --- heads ------------------------------------------------------------------------------------------------------- */

static bool is_glued_operator(const RegoParser *p)
{
    const uint64_t operators = TOKEN(PLUS) | TOKEN(MINUS) | TOKEN(MUL) | TOKEN(DIV) | TOKEN(REM) | TOKEN(AND)
                             | TOKEN(OR) | TOKEN(EQUAL) | TOKEN(NEQ) | TOKEN(GT) | TOKEN(GTE) | TOKEN(LT) | TOKEN(LTE);
    return !p->token.space_before && operators >> p->token.kind & 1;
}

/* The name and what belongs to it: p, p.q[x], f(x). Here alone space may stand before the first bracket. */
static RegoTerm *parse_head_name(RegoParser *p)
{
    RegoTerm *name = parser_var(p, p->token.loc, p->token.text);
    parser_advance(p);
    if (is_glued_operator(p)) {
        parser_unexpected(p, "%s", "");
        return NULL;
    }
    bool goes_on = parser_at(p, REGO_TOKEN_PAREN_OPEN) || parser_at(p, REGO_TOKEN_DOT)
                || parser_at(p, REGO_TOKEN_BRACKET_OPEN);
    return goes_on ? parse_ref_tail(p, name) : parser_ref_of(p, name);
}

static bool parse_head_key(RegoParser *p, RegoHead *head, Str name)
{
    if (head->args) {
        parser_unexpected(p, "the contains keyword can only be used with multi-value rule definitions "
                          "(e.g., %.*s contains <VALUE> { ... })", STR_ARG(name));
        return false;
    }
    parser_advance(p);
    head->flags |= REGO_HEAD_CONTAINS;
    head->key = parse_infix(p, /* pairs= */ true);
    return head->key != NULL;
}

/* Behind the name: `contains key`, `= value`, `:= value` or nothing. */
static bool parse_head(RegoParser *p, RegoHead *head)
{
    RegoLoc loc = p->token.loc;
    RegoTerm *term = parse_head_name(p);
    if (!term) return false;
    Str name = parser_text(p, parser_span(p, loc));
    if (!head_from_term(head, term)) {
        if (term->kind != REGO_TERM_SET) parser_error(p, term->loc, "rule head ref %.*s invalid", STR_ARG(name));
        return false;                                   /* set(): an expression, and refused as such */
    }
    if (parser_at(p, REGO_TOKEN_CONTAINS)) {
        if (!parse_head_key(p, head, name)) return false;
    } else if (parser_at(p, REGO_TOKEN_UNIFY) || parser_at(p, REGO_TOKEN_ASSIGN)) {
        if (parser_at(p, REGO_TOKEN_ASSIGN)) head->flags |= REGO_HEAD_ASSIGN;
        parser_advance(p);
        head->value = parse_infix(p, /* pairs= */ true);
        if (!head->value) return false;
    }
    head->loc = parser_span(p, loc);
    return true;
}

/* p[x] { ... } was a partial set before `contains` existed; with `if` it is a rule of an object, its value is true. */
static void settle_head(RegoParser *p, RegoHead *head, bool has_if)
{
    if (head->key || head->value) return;
    bool is_function = head->flags & REGO_HEAD_FUNCTION;
    if (!has_if && !is_function && head->ref_count == 2) {
        head->key = head->ref[1];
        head->ref_count = 1;
        return;
    }
    head->value = true_term(p, head->loc);
    head->flags |= REGO_HEAD_VALUE_GENERATED;
}

/* --- default rules ----------------------------------------------------------------------------------------------- */

typedef struct DefaultCheck {
    RegoParser *p;
    RegoLoc loc;
    bool valid;
} DefaultCheck;

static bool check_default_term(void *context, RegoTerm **place)
{
    DefaultCheck *check = context;
    const RegoTerm *term = *place;
    bool is_closure = term->kind == REGO_TERM_ARRAY_COMPREHENSION || term->kind == REGO_TERM_SET_COMPREHENSION
                   || term->kind == REGO_TERM_OBJECT_COMPREHENSION;
    if (is_closure) return false;
    if (term->kind != REGO_TERM_REF && term->kind != REGO_TERM_VAR && term->kind != REGO_TERM_CALL) return true;
    parser_error(check->p, check->loc, "illegal default rule (value cannot contain %s)", rego_term_kind_name(term));
    check->valid = false;
    return false;
}

static bool check_default_args(RegoParser *p, const RegoRule *rule)
{
    const RegoHead *head = &rule->head;
    Map names;
    map_init(&names, &p->scratch, head->arg_count);
    for (uint32_t i = 0; i < head->arg_count; i++) {
        if (head->args[i]->kind != REGO_TERM_VAR) {
            parser_error(p, rule->loc, "illegal default rule (arguments cannot contain %s)",
                         rego_term_kind_name(head->args[i]));
            return false;
        }
        if (map_add(&names, head->args[i]->name, i, NULL)) continue;
        parser_error(p, rule->loc, "illegal default rule (arguments cannot be repeated %.*s)",
                     STR_ARG(head->args[i]->name));
        return false;
    }
    return true;
}

static bool finish_default(RegoParser *p, RegoRule *rule)
{
    rule->flags |= REGO_RULE_DEFAULT;
    if (!rule->head.value && !rule->head.key && (rule->head.ref_count != 2 || rule->head.flags & REGO_HEAD_FUNCTION))
        settle_head(p, &rule->head, /* has_if= */ true);
    if (!rule->head.value) {
        parser_error(p, rule->loc, "illegal default rule (must have a value)");
        return false;
    }
    DefaultCheck check = { p, rule->loc, true };
    const RegoWalk walk = { .context = &check, .term = check_default_term };
    rego_walk_term(&walk, &rule->head.value);
    if (!check.valid || !check_default_args(p, rule)) return false;
    rule->body = rule_true_body(p, rule->loc);
    rule->loc = parser_span(p, rule->loc);
    return true;
}

/* --- further branches and bodies --------------------------------------------------------------------------------- */

/* The head of a branch or of a further body: name and arguments again, each wildcard among them a variable anew. */
static RegoHead head_again(RegoParser *p, const RegoHead *head, RegoLoc loc)
{
    RegoHead again = *head;
    again.loc = loc;
    uint32_t count = head->ref_count + head->arg_count;
    RegoTerm **terms = parser_alloc(p, sizeof *terms * count);
    for (uint32_t i = 0; i < count; i++) {
        const RegoTerm *term = i < head->ref_count ? head->ref[i] : head->args[i - head->ref_count];
        terms[i] = parser_copy(p, term);
        bool is_wildcard = term->kind == REGO_TERM_VAR && rego_var_is_wildcard(term->name);
        if (is_wildcard) terms[i]->name = parser_var(p, loc, STR("_"))->name;
    }
    again.ref = terms;
    again.args = terms + head->ref_count;
    return again;
}

/* Behind `if`. A literal alone may stand there; one that begins with a brace is a body unless it reads as anything else
 * than a set. */
static bool parse_if_body(RegoParser *p, RegoBody *out_body)
{
    RegoMark mark = parser_mark(p);
    bool brace = parser_at(p, REGO_TOKEN_BRACE_OPEN);
    RegoExpr *expr = parse_literal(p);
    bool is_set = brace && expr && expr->kind == REGO_EXPR_TERM && expr->term->kind == REGO_TERM_SET;
    if (expr && !is_set) {
        *out_body = parser_body_of(p, expr);
        return true;
    }
    if (!brace) return false;
    parser_return(p, &mark);
    return parse_braces(p, out_body);
}

/* Only where messages point: the text that belongs to the node stays its own. */
static void move_place(RegoLoc *loc, const RegoLoc *to)
{
    loc->row = to->row;
    loc->col = to->col;
}

static bool move_term(void *context, RegoTerm **place)
{
    move_place(&(*place)->loc, context);
    return true;
}

static bool move_expr(void *context, RegoExpr **place)
{
    move_place(&(*place)->loc, context);
    return true;
}

static bool parse_else_body(RegoParser *p, RegoRule *rule)
{
    bool has_if = parser_at(p, REGO_TOKEN_IF);
    if (!has_if && !parser_at(p, REGO_TOKEN_BRACE_OPEN)) {
        rule->body = rule_true_body(p, rule->loc);
        rule->flags |= REGO_RULE_BODY_GENERATED;
        return true;
    }
    if (has_if) {
        rule->head.flags |= REGO_HEAD_IF;
        parser_advance(p);
    }
    if (parser_at(p, REGO_TOKEN_BRACE_OPEN)) return parse_braces(p, &rule->body);
    if (parser_at(p, REGO_TOKEN_END)) {
        parser_unexpected(p, "rule body expected");
        return false;
    }
    RegoExpr *expr = parse_literal(p);
    if (!expr) return false;
    const RegoWalk walk = { .context = &rule->loc, .term = move_term, .expr = move_expr };
    rego_walk_expr(&walk, &expr);               /* messages about a branch of one line point to its `else` */
    rule->body = parser_body_of(p, expr);
    return true;
}

/* At `else`. */
static RegoRule *parse_else(RegoParser *p, const RegoHead *head)
{
    RegoRule *rule = parser_alloc(p, sizeof *rule);
    rule->loc = p->token.loc;
    rule->head = head_again(p, head, p->token.loc);
    rule->head.flags &= REGO_HEAD_FUNCTION;
    parser_advance(p);
    if (parser_at(p, REGO_TOKEN_BRACE_OPEN) || parser_at(p, REGO_TOKEN_IF)) {
        rule->head.value = true_term(p, rule->loc);
        rule->head.flags |= REGO_HEAD_VALUE_GENERATED;
    } else if (parser_at(p, REGO_TOKEN_ASSIGN) || parser_at(p, REGO_TOKEN_UNIFY)) {
        if (parser_at(p, REGO_TOKEN_ASSIGN)) rule->head.flags |= REGO_HEAD_ASSIGN;
        parser_advance(p);
        rule->head.value = parse_infix(p, /* pairs= */ true);
        if (!rule->head.value) return NULL;
        rule->head.loc = parser_span(p, rule->head.loc);
    } else {
        parser_unexpected(p, "expected else value term or rule body");
        return NULL;
    }
    if (!parse_else_body(p, rule)) return NULL;
    rule->loc = parser_span(p, rule->loc);
    return rule;
}

/* All branches behind a rule. `has_key`: the head was written with a bracket that once meant a partial rule. */
static bool parse_elses(RegoParser *p, RegoRule *rule, bool has_key)
{
    RegoRule *last = rule;                      /* a branch without a body always holds: nothing can follow it */
    while (parser_at(p, REGO_TOKEN_ELSE) && !parser_keyword_is_name(p) && !(last->flags & REGO_RULE_BODY_GENERATED)) {
        const char *wrong = NULL;
        if (rule->head.ref_count > 1 && !ref_is_ground(&rule->head)) wrong = "rules with variables in head";
        else if (has_key) wrong = "multi-value rules";
        if (wrong) {
            parser_error(p, p->token.loc, "else keyword cannot be used on %s", wrong);
            return false;
        }
        last->otherwise = parse_else(p, &rule->head);
        if (!last->otherwise) return false;
        last = last->otherwise;
    }
    return true;
}

/* Messages about a head's terms shall point to the body that they are repeated for. */
static void move_head(RegoHead *head, RegoLoc loc)
{
    RegoHead terms = *head;
    terms.ref_count = 0;                                /* the name stays where it is */
    const RegoWalk walk = { .context = &loc, .term = move_term, .expr = move_expr };
    rego_walk_head(&walk, &terms);
}

static bool parse_chained(RegoParser *p, const RegoRule *first, RegoRuleList *rules)
{
    while (parser_at(p, REGO_TOKEN_BRACE_OPEN)) {
        if (first->otherwise) {
            parser_error(p, p->token.loc, "expected else keyword");
            return false;
        }
        RegoRule *rule = parser_alloc(p, sizeof *rule);
        RegoLoc loc = p->token.loc;
        if (!parse_braces(p, &rule->body)) return false;
        rule->loc = parser_span(p, loc);
        rule->flags = REGO_RULE_CHAINED;
        rule->head = head_again(p, &first->head, rule->loc);
        RegoTerm **shared[] = { &rule->head.key, &rule->head.value };
        for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
            if (*shared[i]) *shared[i] = parser_copy(p, *shared[i]);
        move_head(&rule->head, rule->loc);
        parser_list_rule(p, rules, rule);
    }
    return true;
}

/* --- rules ------------------------------------------------------------------------------------------------------- */

/* Whether the head was written like a partial rule of old: p[x], perhaps with a value. */
static bool is_bracket_head(const RegoHead *head, bool has_if)
{
    if (head->key) return true;
    if (head->flags & REGO_HEAD_FUNCTION || head->ref_count != 2) return false;
    return !has_if || !rego_term_is_ground(head->ref[1]) || head->ref[1]->kind == REGO_TERM_REF;
}

bool parse_rules(RegoParser *p, RegoRuleList *rules)
{
    RegoRule *rule = parser_alloc(p, sizeof *rule);
    rule->loc = p->token.loc;
    parser_keyword_to_name(p);
    bool is_default = parser_at(p, REGO_TOKEN_DEFAULT);
    if (is_default) {
        parser_advance(p);
        parser_keyword_to_name(p);
    }
    if (!parser_at(p, REGO_TOKEN_IDENT)) {
        if (is_default && !parse_keyword_rule_name(p, /* is_default= */ true))
            parser_error(p, rule->loc, "unexpected default keyword");
        return false;
    }
    if (!parse_head(p, &rule->head)) return false;
    if (is_default) {
        if (!finish_default(p, rule)) return false;
        parser_list_rule(p, rules, rule);
        return true;
    }

    bool has_if = parser_at(p, REGO_TOKEN_IF);
    if (!has_if && !parser_at(p, REGO_TOKEN_BRACE_OPEN)) {
        if (!rule->head.key) return false;              /* p := 1 and the like are read as expressions */
        rule->body = rule_true_body(p, rule->head.loc);
        rule->flags |= REGO_RULE_BODY_GENERATED;
        rule->loc = rule->head.loc;
        parser_list_rule(p, rules, rule);
        return true;
    }
    bool has_key = is_bracket_head(&rule->head, has_if);
    settle_head(p, &rule->head, has_if);
    if (has_if) {
        rule->head.flags |= REGO_HEAD_IF;
        parser_advance(p);
    }
    if (!(has_if ? parse_if_body(p, &rule->body) : parse_braces(p, &rule->body))) return false;
    if (!parse_elses(p, rule, has_key)) return false;
    rule->loc = parser_span(p, rule->loc);
    parser_list_rule(p, rules, rule);
    return parse_chained(p, rule, rules);
}

/* --- statements without a body ----------------------------------------------------------------------------------- */

static bool is_operator_call(const RegoTerm *term, const char *name)
{
    const RegoTerm *operator = term->items[0];
    return term->kind == REGO_TERM_CALL && operator->kind == REGO_TERM_REF && operator->count == 1
        && rego_term_is_var(operator->items[0], str_of(name)) && term->count == 3;
}

static RegoRule *rule_without_body(RegoParser *p, RegoLoc loc, RegoLoc body_loc)
{
    RegoRule *rule = parser_alloc(p, sizeof *rule);
    rule->loc = rule->head.loc = loc;
    rule->flags |= REGO_RULE_BODY_GENERATED;
    rule->body = rule_true_body(p, body_loc);
    return rule;
}

/* p = 1, p.q := 1, f(x) = 1 */
static RegoRule *rule_from_equation(RegoParser *p, const RegoExpr *expr)
{
    RegoTerm *left = expr->term->items[1];
    RegoRule *rule = rule_without_body(p, expr->loc, expr->term->items[2]->loc);
    if (left->kind == REGO_TERM_VAR) left = parser_ref_of(p, left);
    if (left->kind != REGO_TERM_REF && left->kind != REGO_TERM_CALL) {
        parser_error(p, expr->loc, "%s cannot be used for rule name", rego_term_kind_name(left));
        return NULL;
    }
    if (left->flags & REGO_TERM_INFIX) {                /* a / b := 1 */
        parser_error(p, expr->loc, "rule name conflicts with built-in function");
        return NULL;
    }
    if (!head_from_term(&rule->head, left)) {
        parser_error(p, expr->loc, "invalid rule head: %.*s", STR_ARG(parser_text(p, left->loc)));
        return NULL;
    }
    rule->head.value = expr->term->items[2];
    if (is_operator_call(expr->term, "assign")) rule->head.flags |= REGO_HEAD_ASSIGN;
    return rule;
}

/* p[x] is a partial set, p.q.r an object that holds true */
static RegoRule *rule_from_ref(RegoParser *p, const RegoExpr *expr)
{
    if (expr->term->kind != REGO_TERM_REF) {
        parser_error(p, expr->loc, "%s cannot be used for rule name", rego_term_kind_name(expr->term));
        return NULL;
    }
    RegoRule *rule = rule_without_body(p, expr->loc, expr->loc);
    if (expr->term->count == 1 || !head_from_term(&rule->head, expr->term)) {
        if (expr->term->count == 1) parser_error(p, expr->loc, "refs cannot be used for rule head");
        else parser_error(p, expr->loc, "invalid rule head: %.*s", STR_ARG(parser_text(p, expr->loc)));
        return NULL;
    }
    settle_head(p, &rule->head, /* has_if= */ false);
    return rule;
}

/* f(x) is a function that answers true */
static RegoRule *rule_from_call(RegoParser *p, const RegoExpr *expr)
{
    parser_need(p, expr->loc.size);
    Str name = rego_call_name(p->arena, expr->term);
    bool is_operator = expr->term->flags & REGO_TERM_INFIX;
    if (is_operator || (p->options.is_builtin && p->options.is_builtin(name))) {
        parser_error(p, expr->loc, "rule name conflicts with built-in function");
        return NULL;
    }
    if (expr->term->count < 2) {
        parser_error(p, expr->loc, "rule argument list must take at least one argument");
        return NULL;
    }
    RegoRule *rule = rule_without_body(p, expr->loc, expr->loc);
    if (!head_from_term(&rule->head, expr->term)) {
        parser_error(p, expr->loc, "invalid rule head: %.*s", STR_ARG(parser_text(p, expr->loc)));
        return NULL;
    }
    rule->head.value = true_term(p, expr->loc);
    return rule;
}

RegoRule *rule_from_body(RegoParser *p, const RegoBody *body)
{
    const RegoExpr *expr = body->exprs[0];
    const char *wrong = NULL;
    bool is_some = expr->kind == REGO_EXPR_SOME || expr->kind == REGO_EXPR_SOME_IN;
    if (body->count != 1) wrong = "multiple expressions cannot be used for rule head";
    else if (expr->with_count) wrong = "expressions using with keyword cannot be used for rule head";
    else if (expr->flags & REGO_EXPR_NEGATED) wrong = "negated expressions cannot be used for rule head";
    else if (is_some) wrong = "'some' declarations cannot be used for rule head";
    else if (expr->kind != REGO_EXPR_TERM && expr->kind != REGO_EXPR_CALL)
        wrong = "expression cannot be used for rule head";
    if (wrong) {
        parser_error(p, expr->loc, "%s", wrong);
        return NULL;
    }
    if (expr->kind == REGO_EXPR_TERM) return rule_from_ref(p, expr);
    bool is_equation = is_operator_call(expr->term, "eq") || is_operator_call(expr->term, "assign");
    if (is_equation) return rule_from_equation(p, expr);
    return rule_from_call(p, expr);
}

/* --- what v1 demands --------------------------------------------------------------------------------------------- */

static bool is_v1_keyword(Str name)
{
    uint32_t keyword = rego_keyword_find(name);
    return keyword < REGO_TOKEN_KEYWORD_COUNT && (REGO_KEYWORDS_ALWAYS | REGO_KEYWORDS_V1) >> keyword & 1;
}

void rule_check_v1(RegoParser *p, const RegoRule *rule)
{
    const RegoHead *head = &rule->head;
    const char *what = head->flags & REGO_HEAD_FUNCTION ? "function" : "rule";
    bool body_generated = rule->flags & REGO_RULE_BODY_GENERATED;
    Str name = head->ref[0]->name;
    if (head->ref_count < 2 && is_v1_keyword(name))
        parser_error(p, rule->loc, "%.*s keyword cannot be used for rule name", STR_ARG(name));
    if (body_generated && head->flags & REGO_HEAD_VALUE_GENERATED)
        parser_error(p, rule->loc, "%s must have value assignment and/or body declaration", what);
    if (!body_generated && !(head->flags & REGO_HEAD_IF) && !(rule->flags & REGO_RULE_DEFAULT))
        parser_error(p, rule->loc, "`if` keyword is required before %s body", what);
    if (head->key && !(head->flags & REGO_HEAD_CONTAINS))
        parser_error(p, rule->loc, "`contains` keyword is required for partial set rules");
}
