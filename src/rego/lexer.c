#include "rego/lexer.h"

#include "base/check.h"
#include "base/utf8.h"

static const Str keyword_texts[] = {
#define X(kind, name) STR_INIT(name),
    REGO_KEYWORDS(X)
#undef X
};

static const char *const kind_names[REGO_TOKEN_KIND_COUNT] = {
#define X(kind, name) [REGO_TOKEN_##kind] = name,
    REGO_KEYWORDS(X)
    REGO_SYMBOLS(X)
#undef X
};

/* Symbols of one character, or of two where the second one is '='. */
static const struct { char c; uint8_t alone, with_equal; } symbols[] = {
    { '[', REGO_TOKEN_BRACKET_OPEN, 0 }, { ']', REGO_TOKEN_BRACKET_CLOSE, 0 },
    { '{', REGO_TOKEN_BRACE_OPEN, 0 },   { '}', REGO_TOKEN_BRACE_CLOSE, 0 },
    { '(', REGO_TOKEN_PAREN_OPEN, 0 },   { ')', REGO_TOKEN_PAREN_CLOSE, 0 },
    { ',', REGO_TOKEN_COMMA, 0 },        { ';', REGO_TOKEN_SEMICOLON, 0 },
    { '.', REGO_TOKEN_DOT, 0 },          { '+', REGO_TOKEN_PLUS, 0 },
    { '-', REGO_TOKEN_MINUS, 0 },        { '*', REGO_TOKEN_MUL, 0 },
    { '/', REGO_TOKEN_DIV, 0 },          { '%', REGO_TOKEN_REM, 0 },
    { '&', REGO_TOKEN_AND, 0 },          { '|', REGO_TOKEN_OR, 0 },
    { ':', REGO_TOKEN_COLON, REGO_TOKEN_ASSIGN },
    { '=', REGO_TOKEN_UNIFY, REGO_TOKEN_EQUAL },
    { '<', REGO_TOKEN_LT, REGO_TOKEN_LTE },
    { '>', REGO_TOKEN_GT, REGO_TOKEN_GTE },
    { '!', REGO_TOKEN_ILLEGAL, REGO_TOKEN_NEQ },
};

void rego_lexer_init(RegoLexer *lexer, Str text, uint32_t keywords)
{
    *lexer = (RegoLexer){ .text = text, .row = 1, .col = 1, .keywords = keywords | REGO_KEYWORDS_ALWAYS };
    if (str_starts(text, STR("\xef\xbb\xbf"))) lexer->at = 3;
}

const char *rego_token_kind_name(uint32_t kind)
{
    return kind_names[kind];
}

bool rego_token_kind_is_keyword(uint32_t kind)
{
    return kind < REGO_TOKEN_KEYWORD_COUNT;
}

uint32_t rego_keyword_find(Str word)
{
    uint32_t kind = 0;
    while (kind < REGO_TOKEN_KEYWORD_COUNT && !str_is(keyword_texts[kind], word)) kind++;
    return kind;
}

/* --- characters -------------------------------------------------------------------------------------------------- */

/* The byte that lies `ahead` of the next one, NUL behind the end (the text holds none). */
static char peek(const RegoLexer *lexer, uint32_t ahead)
{
    return lexer->at + ahead < lexer->text.len ? lexer->text.ptr[lexer->at + ahead] : '\0';
}

/* Steps over one character; columns count characters, not bytes. */
static void step(RegoLexer *lexer)
{
    if (lexer->at >= lexer->text.len) return;
    char c = lexer->text.ptr[lexer->at++];
    while (lexer->at < lexer->text.len && ((unsigned char)lexer->text.ptr[lexer->at] & 0xc0) == 0x80) lexer->at++;
    if (c == '\n') {
        lexer->row++;
        lexer->col = 1;
    } else {
        lexer->col++;
    }
}

static void step_many(RegoLexer *lexer, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) step(lexer);
}

static bool is_at_end(const RegoLexer *lexer)
{
    return lexer->at >= lexer->text.len;
}

static bool is_letter(char c)
{
    return ascii_is_alpha(c) || c == '_';
}

static void skip_space(RegoLexer *lexer, RegoToken *token)
{
    for (;;) {
        char c = peek(lexer, 0);
        if (c != ' ' && c != '\t' && c != '\n' && c != '\r') return;
        token->space_before = true;
        if (c == '\n') token->newline_before = true;
        step(lexer);
    }
}

/* --- tokens of several characters -------------------------------------------------------------------------------- */

/* The first thing that is wrong with a token is the one to tell. */
static void set_problem(RegoToken *token, const char *problem)
{
    if (!token->problem) token->problem = problem;
}

static void scan_word(RegoLexer *lexer, RegoToken *token)
{
    uint32_t from = lexer->at;
    while (is_letter(peek(lexer, 0)) || ascii_is_digit(peek(lexer, 0))) step(lexer);
    token->text = str_slice(lexer->text, from, lexer->at);
    uint32_t keyword = rego_keyword_find(token->text);
    bool is_on = keyword < REGO_TOKEN_KEYWORD_COUNT && (lexer->keywords >> keyword & 1);
    token->kind = (uint8_t)(is_on ? keyword : REGO_TOKEN_IDENT);
}

static bool scan_digits(RegoLexer *lexer)
{
    bool found = false;
    for (; ascii_is_digit(peek(lexer, 0)); found = true) step(lexer);
    return found;
}

/* Leading zeros are the parser's to refuse: behind a dot they are digits like others. */
static void scan_number(RegoLexer *lexer, RegoToken *token)
{
    uint32_t from = lexer->at;
    token->kind = REGO_TOKEN_NUMBER;
    scan_digits(lexer);
    if (peek(lexer, 0) == '.') {
        step(lexer);
        if (!scan_digits(lexer)) set_problem(token, "expected fraction");
    }
    if (ascii_to_lower(peek(lexer, 0)) == 'e') {
        step(lexer);
        if (peek(lexer, 0) == '+' || peek(lexer, 0) == '-') step(lexer);
        if (!scan_digits(lexer)) set_problem(token, "expected exponent");
    }
    if (is_letter(peek(lexer, 0))) {        /* 0a2b is one wrong number, not a number and a name */
        set_problem(token, "illegal number format");
        while (is_letter(peek(lexer, 0)) || ascii_is_digit(peek(lexer, 0))) step(lexer);
    }
    token->text = str_slice(lexer->text, from, lexer->at);
}

/* Steps over an escape, backslash included. `brace` allows the one that only template strings have. */
static void scan_escape(RegoLexer *lexer, bool brace, RegoToken *token)
{
    step(lexer);
    char c = peek(lexer, 0);
    switch (c) {
    case '\\': case '"': case '/': case 'b': case 'f': case 'n': case 'r': case 't':
        step(lexer);
        break;
    case 'u':
        step(lexer);                        /* its digits are checked when the string is decoded */
        break;
    default:
        if (brace && c == '{') step(lexer);
        else set_problem(token, "illegal escape sequence");
    }
}

static void scan_string(RegoLexer *lexer, RegoToken *token)
{
    step(lexer);
    uint32_t from = lexer->at;
    token->kind = REGO_TOKEN_STRING;
    while (!is_at_end(lexer) && peek(lexer, 0) != '"' && peek(lexer, 0) != '\n') {
        if (peek(lexer, 0) == '\\') scan_escape(lexer, /* brace= */ false, token);
        else step(lexer);
    }
    token->text = str_slice(lexer->text, from, lexer->at);
    if (peek(lexer, 0) == '"') step(lexer);
    else set_problem(token, "non-terminated string");
}

static void scan_raw_string(RegoLexer *lexer, RegoToken *token)
{
    step(lexer);
    uint32_t from = lexer->at;
    token->kind = REGO_TOKEN_RAW_STRING;
    while (!is_at_end(lexer) && peek(lexer, 0) != '`') step(lexer);
    token->text = str_slice(lexer->text, from, lexer->at);
    if (is_at_end(lexer)) set_problem(token, "non-terminated string");
    else step(lexer);
}

/* Text up to the end of the template, or to the brace that opens an expression. */
static void scan_template(RegoLexer *lexer, bool raw, RegoToken *token)
{
    char quote = raw ? '`' : '"';
    uint32_t from = lexer->at;
    while (!is_at_end(lexer) && peek(lexer, 0) != quote && peek(lexer, 0) != '{' && (raw || peek(lexer, 0) != '\n')) {
        if (raw && peek(lexer, 0) == '\\' && peek(lexer, 1) == '{') step_many(lexer, 2);
        else if (!raw && peek(lexer, 0) == '\\') scan_escape(lexer, /* brace= */ true, token);
        else step(lexer);
    }
    token->text = str_slice(lexer->text, from, lexer->at);
    char end = peek(lexer, 0);
    if (end == '{') token->kind = raw ? REGO_TOKEN_RAW_TEMPLATE_PART : REGO_TOKEN_TEMPLATE_PART;
    else token->kind = raw ? REGO_TOKEN_RAW_TEMPLATE_END : REGO_TOKEN_TEMPLATE_END;
    if (end == '{' || end == quote) step(lexer);
    else set_problem(token, "non-terminated string");
}

static void scan_comment(RegoLexer *lexer, RegoToken *token)
{
    step(lexer);
    uint32_t from = lexer->at;
    token->kind = REGO_TOKEN_COMMENT;
    while (!is_at_end(lexer) && peek(lexer, 0) != '\n') step(lexer);
    token->text = str_slice(lexer->text, from, lexer->at);
    while (str_ends(token->text, STR("\r"))) token->text.len--;
}

static void scan_symbol(RegoLexer *lexer, RegoToken *token)
{
    char c = peek(lexer, 0);
    step(lexer);
    token->kind = REGO_TOKEN_ILLEGAL;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        if (symbols[i].c != c) continue;
        bool two = symbols[i].with_equal && peek(lexer, 0) == '=';
        if (two) step(lexer);
        token->kind = two ? symbols[i].with_equal : symbols[i].alone;
    }
    if (token->kind != REGO_TOKEN_ILLEGAL) return;
    if (c == '!') set_problem(token, "illegal ! character");
    else if (c == '$') set_problem(token, "illegal $ character");
    else if (str_starts(str_slice(lexer->text, token->loc.offset, lexer->text.len), STR("\xc2\xa0")))
        set_problem(token, "illegal non-breaking space character, use a regular space instead");
}

/* --- the two entrances ------------------------------------------------------------------------------------------- */

static void token_begin(const RegoLexer *lexer, RegoToken *token)
{
    token->loc = (RegoLoc){ .offset = lexer->at, .row = lexer->row, .col = lexer->col };
}

static void token_end(const RegoLexer *lexer, RegoToken *token)
{
    token->loc.size = lexer->at - token->loc.offset;
    if (token->problem) token->kind = REGO_TOKEN_ILLEGAL;
}

void rego_lexer_next(RegoLexer *lexer, RegoToken *out_token)
{
    *out_token = (RegoToken){ 0 };
    skip_space(lexer, out_token);
    token_begin(lexer, out_token);
    char c = peek(lexer, 0);
    if (is_at_end(lexer)) {
        out_token->kind = REGO_TOKEN_END;
        out_token->loc.col--;               /* there is no character here: the place is that of the last one */
    } else if (is_letter(c)) {
        scan_word(lexer, out_token);
    } else if (ascii_is_digit(c)) {
        scan_number(lexer, out_token);
    } else if (c == '"') {
        scan_string(lexer, out_token);
    } else if (c == '`') {
        scan_raw_string(lexer, out_token);
    } else if (c == '#') {
        scan_comment(lexer, out_token);
    } else if (c == '$' && (peek(lexer, 1) == '"' || peek(lexer, 1) == '`')) {
        bool raw = peek(lexer, 1) == '`';
        step_many(lexer, 2);
        scan_template(lexer, raw, out_token);
    } else {
        scan_symbol(lexer, out_token);
    }
    token_end(lexer, out_token);
}

void rego_lexer_next_template(RegoLexer *lexer, bool raw, RegoToken *out_token)
{
    *out_token = (RegoToken){ 0 };
    token_begin(lexer, out_token);
    scan_template(lexer, raw, out_token);
    token_end(lexer, out_token);
}
