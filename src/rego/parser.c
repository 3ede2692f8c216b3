#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "rego/parser_state.h"

/* Terms of fewer bytes are read again rather than remembered. */
#define MEMO_TERM_SIZE_MIN 32u

/* Memory of the tree for each byte of text; the worst is -x, two bytes and five nodes. */
#define NODE_SIZE_PER_BYTE_MAX 256u
/* Tokens that even a short text may take, so that small policies never meet REGO_SCAN_FACTOR. */
#define TOKEN_BUDGET_MIN (1u << 16)

enum { MEMO_TERM, MEMO_NO_OPERAND };

/* --- tokens ------------------------------------------------------------------------------------------------------ */

static void keep_comment(RegoParser *p, const RegoToken *token)
{
    /* Going back to a mark meets comments again; their order is that of the text, so the last one tells. */
    if (p->comment_count && p->comments[p->comment_count - 1].loc.offset >= token->loc.offset) return;
    p->comments = parser_grow(p, p->comments, sizeof *p->comments, p->comment_count, &p->comment_capacity);
    p->comments[p->comment_count++] = (RegoComment){ .loc = token->loc, .text = token->text };
}

static void spend(RegoParser *p, uint64_t tokens)
{
    if (p->token_budget < tokens)
        parser_stop(p, "the text is too ambiguous: more than REGO_SCAN_FACTOR (%u) tokens a byte were read",
                    REGO_SCAN_FACTOR);
    p->token_budget -= tokens;
}

void parser_advance(RegoParser *p)
{
    p->end = p->token.loc.offset + p->token.loc.size;
    bool space = false, newline = false;
    for (;;) {
        spend(p, 1);
        rego_lexer_next(&p->lexer, &p->token);
        space |= p->token.space_before;
        newline |= p->token.newline_before;
        if (p->token.kind != REGO_TOKEN_COMMENT) break;
        keep_comment(p, &p->token);
        space = true;
    }
    p->token.space_before = space;
    p->token.newline_before = newline;
}

void parser_advance_template(RegoParser *p, bool raw)
{
    p->end = p->token.loc.offset + p->token.loc.size;
    spend(p, 1);
    rego_lexer_next_template(&p->lexer, raw, &p->token);
}

bool parser_keyword_is_name(const RegoParser *p)
{
    if (!rego_token_kind_is_keyword(p->token.kind) || p->lexer.at >= p->text.len) return false;
    char next = p->text.ptr[p->lexer.at];
    return next == '.' || next == '[';
}

void parser_keyword_to_name(RegoParser *p)
{
    if (parser_keyword_is_name(p)) p->token.kind = REGO_TOKEN_IDENT;
}

bool parser_at_logical(const RegoParser *p)
{
    return parser_at(p, REGO_TOKEN_LOGICAL_AND) || parser_at(p, REGO_TOKEN_LOGICAL_OR);
}

bool parser_has_logical(const RegoParser *p)
{
    return p->lexer.keywords & REGO_KEYWORDS_LOGICAL;
}

RegoTokenKind parser_peek(RegoParser *p)
{
    RegoLexer ahead = p->lexer;
    RegoToken token;
    do {
        spend(p, 1);
        rego_lexer_next(&ahead, &token);
    } while (token.kind == REGO_TOKEN_COMMENT);
    return (RegoTokenKind)token.kind;
}

/* --- places ------------------------------------------------------------------------------------------------------ */

RegoMark parser_mark(const RegoParser *p)
{
    return (RegoMark){ p->lexer, p->token, p->end, p->wildcard_count, p->errors->count, p->errors->dropped };
}

void parser_return(RegoParser *p, const RegoMark *mark)
{
    p->lexer = mark->lexer;
    p->token = mark->token;
    p->end = mark->end;
    p->wildcard_count = mark->wildcard_count;
    rego_errors_truncate(p->errors, mark->error_count);
    p->errors->dropped = mark->error_dropped;
    p->hint[0] = '\0';
}

RegoLoc parser_span(const RegoParser *p, RegoLoc from)
{
    from.size = p->end > from.offset ? p->end - from.offset : 0;
    return from;
}

Str parser_text(const RegoParser *p, RegoLoc loc)
{
    return rego_loc_text(p->text, loc);
}

/* --- errors ------------------------------------------------------------------------------------------------------ */

void parser_hint(RegoParser *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(p->hint, sizeof p->hint, format, args);
    va_end(args);
}

void parser_error(RegoParser *p, RegoLoc loc, const char *format, ...)
{
    char text[ERROR_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (p->hint[0]) rego_errors_add(p->errors, REGO_ERROR_PARSE, p->options.file, loc, "%s (hint: %s)", text, p->hint);
    else rego_errors_add(p->errors, REGO_ERROR_PARSE, p->options.file, loc, "%s", text);
    p->hint[0] = '\0';
}

void parser_unexpected(RegoParser *p, const char *note, ...)
{
    if (parser_at(p, REGO_TOKEN_ILLEGAL)) {
        parser_error(p, p->token.loc, "%s", p->token.problem ? p->token.problem : "illegal token");
        return;
    }
    char text[ERROR_TEXT_SIZE];
    va_list args;
    va_start(args, note);
    vsnprintf(text, sizeof text, note, args);
    va_end(args);
    parser_error(p, p->token.loc, "unexpected %s %s%s%s", rego_token_kind_name(p->token.kind),
                 rego_token_kind_is_keyword(p->token.kind) ? "keyword" : "token", text[0] ? ": " : "", text);
}

void parser_stop(RegoParser *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    rego_errors_add_list(p->errors, REGO_ERROR_PARSE, p->options.file, p->token.loc, format, args);
    va_end(args);
    longjmp(p->stop, 1);
}

void parser_enter(RegoParser *p)
{
    if (++p->depth > REGO_DEPTH_MAX) parser_stop(p, "the policy nests deeper than REGO_DEPTH_MAX (%u)", REGO_DEPTH_MAX);
}

void parser_leave(RegoParser *p)
{
    p->depth--;
}

/* --- memory ------------------------------------------------------------------------------------------------------ */

void parser_need(RegoParser *p, size_t size)
{
    if (!arena_fits(p->arena, size))
        parser_stop(p, "the tree of the policy exceeds the memory it was given (%zu bytes)", p->arena->size_max);
}

void *parser_alloc(RegoParser *p, size_t size)
{
    parser_need(p, size);
    return arena_alloc(p->arena, size);
}

void *parser_grow(RegoParser *p, void *items, size_t item_size, size_t count, size_t *capacity)
{
    if (count < *capacity) return items;
    parser_need(p, (*capacity ? *capacity * 2 : 8) * item_size);
    return arena_grow(p->arena, items, item_size, count, capacity);
}

void parser_list_term(RegoParser *p, RegoTermList *list, RegoTerm *term)
{
    list->items = parser_grow(p, list->items, sizeof *list->items, list->count, &list->capacity);
    list->items[list->count++] = term;
}

void parser_list_expr(RegoParser *p, RegoExprList *list, RegoExpr *expr)
{
    list->items = parser_grow(p, list->items, sizeof *list->items, list->count, &list->capacity);
    list->items[list->count++] = expr;
}

void parser_list_rule(RegoParser *p, RegoRuleList *list, RegoRule *rule)
{
    list->items = parser_grow(p, list->items, sizeof *list->items, list->count, &list->capacity);
    list->items[list->count++] = rule;
}

/* --- nodes ------------------------------------------------------------------------------------------------------- */

static uint16_t height_above(RegoParser *p, uint32_t child_height)
{
    if (child_height >= REGO_DEPTH_MAX)
        parser_stop(p, "the policy nests deeper than REGO_DEPTH_MAX (%u)", REGO_DEPTH_MAX);
    return (uint16_t)(child_height + 1);
}

void parser_raise_term(RegoParser *p, RegoTerm *term, uint32_t child_height)
{
    uint16_t height = height_above(p, child_height);
    if (term->height < height) term->height = height;
}

void parser_raise_expr(RegoParser *p, RegoExpr *expr, uint32_t child_height)
{
    uint16_t height = height_above(p, child_height);
    if (expr->height < height) expr->height = height;
}

uint32_t parser_body_height(const RegoBody *body)
{
    uint32_t height = 0;
    for (uint32_t i = 0; i < body->count; i++)
        if (body->exprs[i]->height > height) height = body->exprs[i]->height;
    return height;
}

RegoTerm *parser_term(RegoParser *p, RegoTermKind kind, RegoLoc loc)
{
    RegoTerm *term = parser_alloc(p, sizeof *term);
    term->kind = (uint8_t)kind;
    term->loc = loc;
    term->height = 1;
    return term;
}

RegoTerm *parser_string(RegoParser *p, RegoLoc loc, Str text)
{
    RegoTerm *term = parser_term(p, REGO_TERM_SCALAR, loc);
    term->value = value_string(text);
    return term;
}

RegoTerm *parser_var(RegoParser *p, RegoLoc loc, Str name)
{
    RegoTerm *term = parser_term(p, REGO_TERM_VAR, loc);
    term->name = name;
    if (str_is(name, STR("_"))) {
        parser_need(p, 16);
        term->name = arena_format(p->arena, "$%u", p->wildcard_count++);
    }
    return term;
}

RegoTerm *parser_items(RegoParser *p, RegoTermKind kind, RegoLoc loc, const RegoTermList *list)
{
    RegoTerm *term = parser_term(p, kind, loc);
    term->items = list->items;
    term->count = (uint32_t)list->count;
    for (size_t i = 0; i < list->count; i++) parser_raise_term(p, term, list->items[i]->height);
    return term;
}

RegoTerm *parser_ref_of(RegoParser *p, RegoTerm *head)
{
    RegoTermList list = { 0 };
    parser_list_term(p, &list, head);
    return parser_items(p, REGO_TERM_REF, head->loc, &list);
}

RegoTerm *parser_copy(RegoParser *p, const RegoTerm *term)
{
    spend(p, term->loc.size);
    parser_need(p, ((size_t)term->loc.size + 1) * NODE_SIZE_PER_BYTE_MAX);
    return rego_term_copy(p->arena, term);
}

RegoExpr *parser_expr(RegoParser *p, RegoExprKind kind, RegoLoc loc)
{
    RegoExpr *expr = parser_alloc(p, sizeof *expr);
    expr->kind = (uint8_t)kind;
    expr->loc = loc;
    expr->height = 1;
    return expr;
}

RegoBody parser_body_of(RegoParser *p, RegoExpr *expr)
{
    RegoBody body = { parser_alloc(p, sizeof *body.exprs), 1 };
    body.exprs[0] = expr;
    return body;
}

/* --- memos ------------------------------------------------------------------------------------------------------- */

static RegoMemo *memo_find(const RegoParser *p, uint32_t offset, unsigned about)
{
    uint64_t key = (uint64_t)offset << 1 | about;
    uint32_t index;
    if (!map_find(&p->memo_map, (Str){ (const char *)&key, sizeof key }, &index)) return NULL;
    return p->memos[index];
}

static void memo_keep(RegoParser *p, uint32_t offset, unsigned about, RegoTerm *term)
{
    RegoMemo *memo = ARENA_NEW(&p->memo_arena, RegoMemo);
    *memo = (RegoMemo){ .key = (uint64_t)offset << 1 | about, .term = term, .after = parser_mark(p) };
    Str key = { (const char *)&memo->key, sizeof memo->key };
    if (!map_add(&p->memo_map, key, (uint32_t)p->memo_count, NULL)) return;
    p->memos = arena_grow(&p->memo_arena, p->memos, sizeof *p->memos, p->memo_count, &p->memo_capacity);
    p->memos[p->memo_count++] = memo;
}

RegoTerm *parser_memo_term(RegoParser *p)
{
    RegoMemo *memo = p->memo_count ? memo_find(p, p->token.loc.offset, MEMO_TERM) : NULL;
    if (!memo) return NULL;
    p->lexer = memo->after.lexer;
    p->token = memo->after.token;
    p->end = memo->after.end;
    if (p->wildcard_count < memo->after.wildcard_count) p->wildcard_count = memo->after.wildcard_count;
    return memo->term;
}

void parser_memo_keep_term(RegoParser *p, uint32_t offset, RegoTerm *term)
{
    if (p->end - offset >= MEMO_TERM_SIZE_MIN) memo_keep(p, offset, MEMO_TERM, term);
}

bool parser_memo_is_no_operand(const RegoParser *p)
{
    return p->memo_count && memo_find(p, p->token.loc.offset, MEMO_NO_OPERAND);
}

void parser_memo_keep_no_operand(RegoParser *p, uint32_t offset)
{
    memo_keep(p, offset, MEMO_NO_OPERAND, NULL);
}

void parser_memo_clear(RegoParser *p)
{
    if (!p->memo_count && p->memo_map.arena) return;
    arena_reset(&p->memo_arena);
    map_init(&p->memo_map, &p->memo_arena, 0);
    p->memos = NULL;
    p->memo_count = p->memo_capacity = 0;
}

/* --- entrances --------------------------------------------------------------------------------------------------- */

typedef struct Work {
    void (*run)(RegoParser *p, void *out);
    void *out;
} Work;

static bool check_text(RegoErrors *errors, const RegoParseOptions *options, Str text)
{
    if (text.len > REGO_TEXT_SIZE_MAX) {
        rego_errors_add(errors, REGO_ERROR_PARSE, options->file, (RegoLoc){ 0 },
                        "the text exceeds REGO_TEXT_SIZE_MAX (%u bytes)", REGO_TEXT_SIZE_MAX);
        return false;
    }
    size_t valid = utf8_valid_size(text), nul = str_find(text, '\0', 0);
    size_t wrong = nul < valid ? nul : valid;
    if (wrong == text.len) return true;
    RegoLoc loc = { .offset = (uint32_t)wrong, .size = 1, .row = 1 };
    size_t line = 0;
    for (size_t at = 0; at < wrong; at++) {
        if (text.ptr[at] != '\n') continue;
        loc.row++;
        line = at + 1;
    }
    loc.col = (uint32_t)utf8_count(str_slice(text, line, wrong)) + 1;
    rego_errors_add(errors, REGO_ERROR_PARSE, options->file, loc, "%s",
                    wrong == nul ? "illegal null character" : "illegal utf-8 character");
    return false;
}

/* True unless a bound was crossed. Apart from its caller, because what is local to a function that calls setjmp() may
 * be lost when it returns twice. */
static bool run_until_stop(RegoParser *p, Work work)
{
    if (setjmp(p->stop)) return false;
    parser_memo_clear(p);
    parser_advance(p);
    work.run(p, work.out);
    return true;
}

static Status parser_run(Arena *arena, Str text, const RegoParseOptions *options, RegoErrors *errors, Work work)
{
    static const RegoParseOptions none = { 0 };
    if (!options) options = &none;
    size_t error_base = errors->count;
    if (!check_text(errors, options, text)) return text.len > REGO_TEXT_SIZE_MAX ? ERR_LIMIT : ERR_INVALID;
    if (arena->size_max - arena->size < text.len + ARENA_BLOCK_SIZE) {
        rego_errors_add(errors, REGO_ERROR_PARSE, options->file, (RegoLoc){ 0 }, "there is no memory for the text");
        return ERR_LIMIT;
    }
    RegoParser p = { .arena = arena, .errors = errors, .error_base = error_base, .options = *options };
    p.text = arena_copy(arena, text);
    p.options.file = arena_copy(arena, options->file);
    p.token_budget = (uint64_t)text.len * REGO_SCAN_FACTOR + TOKEN_BUDGET_MIN;
    p.has_not_bodies = options->keywords & REGO_KEYWORD(NOT);
    rego_lexer_init(&p.lexer, p.text, options->keywords | (options->v0 ? 0 : REGO_KEYWORDS_V1));
    arena_init(&p.scratch, SIZE_MAX);
    arena_init(&p.memo_arena, SIZE_MAX);
    bool whole = run_until_stop(&p, work);
    arena_deinit(&p.memo_arena);
    arena_deinit(&p.scratch);
    if (!whole) return ERR_LIMIT;
    return errors->count > error_base || errors->dropped ? ERR_INVALID : OK;
}

static void run_module(RegoParser *p, void *out)
{
    parse_module(p, out);
}

static void run_query(RegoParser *p, void *out)
{
    if (parser_at(p, REGO_TOKEN_END)) parser_error(p, p->token.loc, "empty query");
    else parse_body(p, REGO_TOKEN_END, out);
}

static void run_term(RegoParser *p, void *out)
{
    RegoTerm **term = out;
    *term = parse_infix(p, /* pairs= */ true);
    if (*term && !parser_at(p, REGO_TOKEN_END)) parser_unexpected(p, "expected the end of the term");
}

Status rego_parse_module(Arena *arena, Str text, const RegoParseOptions *options, RegoModule **out_module,
                         RegoErrors *errors)
{
    RegoModule module = { 0 };
    Status status = parser_run(arena, text, options, errors, (Work){ run_module, &module });
    if (status) return status;
    *out_module = ARENA_NEW(arena, RegoModule);
    **out_module = module;
    return OK;
}

Status rego_parse_query(Arena *arena, Str text, const RegoParseOptions *options, RegoBody *out_body, RegoErrors *errors)
{
    RegoBody body = { 0 };
    Status status = parser_run(arena, text, options, errors, (Work){ run_query, &body });
    if (!status) *out_body = body;
    return status;
}

Status rego_parse_term(Arena *arena, Str text, const RegoParseOptions *options, RegoTerm **out_term, RegoErrors *errors)
{
    RegoTerm *term = NULL;
    Status status = parser_run(arena, text, options, errors, (Work){ run_term, &term });
    if (!status) *out_term = term;
    return status;
}
