/* lexer.h - the text of a policy as tokens.
 *
 * The parser asks for one token at a time, since two things depend on what it has read so far: which words are keywords
 * (imports switch them on), and where the text of a template string goes on behind an expression in braces. A lexer is a
 * small plain value: keeping a copy and going back to it is how the parser looks ahead.
 *
 * White space is no token. It is remembered by the token behind it, because it decides two things in Rego: a reference
 * goes on only without space (`a[0]`, not `a [0]`), and expressions of a body end at a line's end.
 *
 * Owns:   nothing; tokens borrow the text.
 * Fails:  a token of kind REGO_TOKEN_ILLEGAL, with the reason where it has one.
 * Bounds: the text is valid UTF-8 without NUL, at most REGO_TEXT_SIZE_MAX.     Thread: one at a time.
 */
#ifndef REGO_LEXER_H
#define REGO_LEXER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "rego/errors.h"

/* Kinds, and the names that messages give them. Words come first: their order is that of the bits of a keyword set. */
#define REGO_KEYWORDS(X) \
    X(PACKAGE, "package") X(IMPORT, "import") X(AS, "as") X(DEFAULT, "default") X(ELSE, "else") X(NOT, "not") \
    X(SOME, "some") X(WITH, "with") X(NULL, "null") X(TRUE, "true") X(FALSE, "false") \
    X(IN, "in") X(EVERY, "every") X(CONTAINS, "contains") X(IF, "if") X(LOGICAL_AND, "and") X(LOGICAL_OR, "or")

#define REGO_SYMBOLS(X) \
    X(ILLEGAL, "illegal") X(END, "eof") X(COMMENT, "comment") X(IDENT, "identifier") X(NUMBER, "number") \
    X(STRING, "string") X(RAW_STRING, "string") \
    X(TEMPLATE_PART, "template-string-part") X(TEMPLATE_END, "template-string-end") \
    X(RAW_TEMPLATE_PART, "raw-template-string-part") X(RAW_TEMPLATE_END, "raw-template-string-end") \
    X(BRACKET_OPEN, "[") X(BRACKET_CLOSE, "]") X(BRACE_OPEN, "{") X(BRACE_CLOSE, "}") X(PAREN_OPEN, "(") \
    X(PAREN_CLOSE, ")") X(COMMA, ",") X(COLON, ":") X(SEMICOLON, ";") X(DOT, ".") \
    X(PLUS, "plus") X(MINUS, "minus") X(MUL, "mul") X(DIV, "div") X(REM, "rem") X(AND, "and") X(OR, "or") \
    X(UNIFY, "eq") X(EQUAL, "equal") X(ASSIGN, "assign") X(NEQ, "neq") X(GT, "gt") X(LT, "lt") X(GTE, "gte") \
    X(LTE, "lte")

typedef enum RegoTokenKind {
#define X(kind, name) REGO_TOKEN_##kind,
    REGO_KEYWORDS(X)
    REGO_TOKEN_KEYWORD_COUNT,
    REGO_TOKEN_KEYWORD_LAST = REGO_TOKEN_KEYWORD_COUNT - 1,
    REGO_SYMBOLS(X)
#undef X
    REGO_TOKEN_KIND_COUNT
} RegoTokenKind;

/* Sets of keywords, a bit each. */
#define REGO_KEYWORD(kind) (UINT32_C(1) << REGO_TOKEN_##kind)
#define REGO_KEYWORDS_ALWAYS (REGO_KEYWORD(IN) - 1)                     /* package ... false: never switched off */
#define REGO_KEYWORDS_V1 (REGO_KEYWORD(IN) | REGO_KEYWORD(EVERY) | REGO_KEYWORD(CONTAINS) | REGO_KEYWORD(IF))
#define REGO_KEYWORDS_LOGICAL (REGO_KEYWORD(LOGICAL_AND) | REGO_KEYWORD(LOGICAL_OR))

typedef struct RegoToken {
    uint8_t kind;                   /* a RegoTokenKind */
    bool space_before;              /* white space or a comment */
    bool newline_before;
    RegoLoc loc;
    Str text;                       /* a word or number as written; a string without its quotes, escapes and all */
    const char *problem;            /* of an illegal token; may be NULL */
} RegoToken;

typedef struct RegoLexer {
    Str text;
    uint32_t at, row, col;          /* of the next character */
    uint32_t keywords;              /* those that are on */
} RegoLexer;

void rego_lexer_init(RegoLexer *lexer, Str text, uint32_t keywords);
/* The next token; at the end of the text REGO_TOKEN_END, as often as asked. Its column is that of the last character,
 * which behind a newline is 0. */
void rego_lexer_next(RegoLexer *lexer, RegoToken *out_token);
/* The part of a template string that begins right here, behind the brace that ended an expression. */
void rego_lexer_next_template(RegoLexer *lexer, bool raw, RegoToken *out_token);

const char *rego_token_kind_name(uint32_t kind);
bool rego_token_kind_is_keyword(uint32_t kind);
/* The keyword of that spelling, on or not, or REGO_TOKEN_KEYWORD_COUNT. */
uint32_t rego_keyword_find(Str word);

#endif
