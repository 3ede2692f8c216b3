/* parser_state.h - what the files of the parser share; private to them.
 *
 * The grammar is read by recursive descent, a file for each layer: parser_term.c (terms and operators), parser_expr.c
 * (literals, bodies), parser_logic.c (and, or, not { ... }), parser_rule.c (rules), parser_module.c (statements). A
 * parse_*() function begins at the present token and leaves the first one behind what it read. It returns NULL (or false)
 * after an error was recorded, and the callers pass that on.
 *
 * Where the grammar is ambiguous a function marks its place, tries one reading, and returns to the mark to try another;
 * errors of the failed attempt are forgotten. Long terms and failed attempts are remembered by their place, so that
 * nesting does not multiply the work.
 *
 * Bounds are enforced by parser_stop(), which leaves the parser at once: the tree under construction is worthless then,
 * and nothing but arenas was allocated.
 */
#ifndef REGO_PARSER_STATE_H
#define REGO_PARSER_STATE_H

#include <setjmp.h>

#include "base/map.h"
#include "rego/parser.h"

typedef struct RegoMark {
    RegoLexer lexer;
    RegoToken token;
    uint32_t end;
    uint32_t wildcard_count;
    size_t error_count, error_dropped;
} RegoMark;

typedef struct RegoMemo {
    uint64_t key;
    RegoTerm *term;                     /* NULL: the braces here are no operand of and/or */
    RegoMark after;
} RegoMemo;

typedef struct RegoParser {
    Arena *arena;
    Arena scratch;                      /* for the parse: statements, and what checks need */
    RegoErrors *errors;
    size_t error_base;                  /* how many there were before this text */
    RegoParseOptions options;
    Str text;

    RegoLexer lexer;
    RegoToken token;                    /* the present one; never a comment */
    uint32_t end;                       /* where the one before it ended */
    bool has_not_bodies;                /* future.keywords.not */

    uint32_t depth;
    uint64_t token_budget;
    uint32_t wildcard_count;
    char hint[REGO_HINT_SIZE_MAX];      /* advice for the next error; empty: none */

    RegoComment *comments;
    size_t comment_count, comment_capacity;
    Arena memo_arena;                   /* for one statement */
    Map memo_map;
    RegoMemo **memos;
    size_t memo_count, memo_capacity;

    jmp_buf stop;
} RegoParser;

typedef struct RegoTermList {
    RegoTerm **items;
    size_t count, capacity;
} RegoTermList;

typedef struct RegoExprList {
    RegoExpr **items;
    size_t count, capacity;
} RegoExprList;

typedef struct RegoRuleList {
    RegoRule **items;
    size_t count, capacity;
} RegoRuleList;

/* --- parser.c: the present token, places, errors, memory ---------------------------------------------------------- */

void parser_advance(RegoParser *p);
void parser_advance_template(RegoParser *p, bool raw);
/* Whether the present token is a keyword directly before a dot or bracket, where it is a name: if.foo, not["x"]. */
bool parser_keyword_is_name(const RegoParser *p);
void parser_keyword_to_name(RegoParser *p);             /* makes it one, if so */
/* Whether the present token goes on with what was just read: no space between. */
static inline bool parser_is_glued(const RegoParser *p, uint32_t kind)
{
    return p->token.kind == kind && !p->token.space_before;
}
static inline bool parser_at(const RegoParser *p, uint32_t kind) { return p->token.kind == kind; }
bool parser_at_logical(const RegoParser *p);            /* `and` or `or` */
bool parser_has_logical(const RegoParser *p);           /* one of them is a keyword */
RegoTokenKind parser_peek(RegoParser *p);               /* the kind of the token behind the present one */

RegoMark parser_mark(const RegoParser *p);
void     parser_return(RegoParser *p, const RegoMark *mark);
RegoLoc  parser_span(const RegoParser *p, RegoLoc from);    /* from its start to the end of what was read */
Str      parser_text(const RegoParser *p, RegoLoc loc);

void parser_hint(RegoParser *p, const char *format, ...) PRINTF_LIKE(2, 3);
void parser_error(RegoParser *p, RegoLoc loc, const char *format, ...) PRINTF_LIKE(3, 4);
/* "unexpected } token: <note>" at the present token; the note may be empty. */
void parser_unexpected(RegoParser *p, const char *note, ...) PRINTF_LIKE(2, 3);
_Noreturn void parser_stop(RegoParser *p, const char *format, ...) PRINTF_LIKE(2, 3);
void parser_enter(RegoParser *p);                       /* one level of nesting; stops beyond the limit */
void parser_leave(RegoParser *p);

void *parser_alloc(RegoParser *p, size_t size);
void  parser_need(RegoParser *p, size_t size);          /* stops unless the arena has room for it */
void *parser_grow(RegoParser *p, void *items, size_t item_size, size_t count, size_t *capacity);
void  parser_list_term(RegoParser *p, RegoTermList *list, RegoTerm *term);
void  parser_list_expr(RegoParser *p, RegoExprList *list, RegoExpr *expr);
void  parser_list_rule(RegoParser *p, RegoRuleList *list, RegoRule *rule);

RegoTerm *parser_term(RegoParser *p, RegoTermKind kind, RegoLoc loc);
RegoTerm *parser_string(RegoParser *p, RegoLoc loc, Str text);
RegoTerm *parser_var(RegoParser *p, RegoLoc loc, Str name);     /* `_` gets a name of its own */
RegoTerm *parser_ref_of(RegoParser *p, RegoTerm *head);         /* a reference of one item */
RegoTerm *parser_items(RegoParser *p, RegoTermKind kind, RegoLoc loc, const RegoTermList *list);
RegoTerm *parser_copy(RegoParser *p, const RegoTerm *term);     /* the whole tree, paid for like reading it again */
RegoExpr *parser_expr(RegoParser *p, RegoExprKind kind, RegoLoc loc);
void      parser_raise_term(RegoParser *p, RegoTerm *term, uint32_t child_height);
void      parser_raise_expr(RegoParser *p, RegoExpr *expr, uint32_t child_height);
uint32_t  parser_body_height(const RegoBody *body);
RegoBody  parser_body_of(RegoParser *p, RegoExpr *expr);        /* a body of one expression */

/* What is remembered about a place: a term that was read there, or that braces there are no operand. */
RegoTerm *parser_memo_term(RegoParser *p);                      /* steps behind it; NULL: nothing known */
void      parser_memo_keep_term(RegoParser *p, uint32_t offset, RegoTerm *term);
bool      parser_memo_is_no_operand(const RegoParser *p);
void      parser_memo_keep_no_operand(RegoParser *p, uint32_t offset);
void      parser_memo_clear(RegoParser *p);

/* --- parser_term.c ------------------------------------------------------------------------------------------------ */

RegoTerm *parse_term(RegoParser *p);                    /* without operators */
/* With operators. `pairs` allows `k, v in xs`, which inside a list would take its comma. */
RegoTerm *parse_infix(RegoParser *p, bool pairs);
RegoTerm *parse_ref_tail(RegoParser *p, RegoTerm *head);        /* at a dot, bracket or parenthesis */
RegoTerm *parse_operator(RegoParser *p, Str name);      /* the present token, as the ref of that builtin */
RegoTerm *parse_call_infix(RegoParser *p, RegoTerm *operator, RegoTerm *const *operands, uint32_t count);
bool      parse_is_member_call(const RegoTerm *term);   /* `x in xs` or `k, v in xs` as written */

/* --- parser_expr.c ------------------------------------------------------------------------------------------------ */

RegoExpr *parse_literal(RegoParser *p);
RegoExpr *parse_expr(RegoParser *p);                    /* a term, call, assignment or unification; no `not`, no `with` */
bool      parse_withs(RegoParser *p, RegoExpr *expr);   /* those that follow, if any */
bool      parse_body(RegoParser *p, RegoTokenKind end, RegoBody *out_body);     /* up to, not including, `end` */
/* `{ body }`, both braces read. */
bool      parse_braces(RegoParser *p, RegoBody *out_body);

/* --- parser_logic.c ----------------------------------------------------------------------------------------------- */

typedef struct RegoOperand {
    RegoBody body;
    bool braces;
    RegoLoc loc;
} RegoOperand;

typedef enum RegoGroup { REGO_GROUP_NONE, REGO_GROUP_READ, REGO_GROUP_FAILED } RegoGroup;

/* At an opening brace or parenthesis with `and` or `or` as keywords: REGO_GROUP_NONE, nothing read, where it is a term. */
RegoGroup parse_logic_start(RegoParser *p, RegoExpr **out_expr);
/* At `(` behind `not`. */
RegoGroup parse_not_group(RegoParser *p, RegoLoc not_loc, RegoExpr **out_expr);
RegoExpr *parse_not_body(RegoParser *p, RegoLoc not_loc);       /* at `{` behind `not` */
RegoExpr *parse_not_wrap(RegoParser *p, RegoExpr *expr, RegoLoc not_loc);
/* `left` and what `and` and `or` add to it, then `with`. */
RegoExpr *parse_logic_tail(RegoParser *p, RegoOperand left);

/* --- parser_rule.c ------------------------------------------------------------------------------------------------ */

/* False without an error: what stands here is no rule, but may be an expression. */
bool parse_rules(RegoParser *p, RegoRuleList *rules);
/* A statement without a body, such as `p := 1`, as the rule it stands for. */
RegoRule *rule_from_body(RegoParser *p, const RegoBody *body);
/* Reports a keyword in the place of a rule's name; `is_default`: behind the word default nothing else can follow. */
bool parse_keyword_rule_name(RegoParser *p, bool is_default);
void rule_check_v1(RegoParser *p, const RegoRule *rule);
RegoBody rule_true_body(RegoParser *p, RegoLoc loc);

/* --- parser_module.c ---------------------------------------------------------------------------------------------- */

void parse_module(RegoParser *p, RegoModule *module);

/* --- annotation.c ------------------------------------------------------------------------------------------------- */

/* Reads the METADATA blocks among the module's comments and attaches them. */
void annotations_read(RegoParser *p, RegoModule *module);

#endif
