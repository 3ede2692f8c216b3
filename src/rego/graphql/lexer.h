/* lexer.h - the tokens of GraphQL. Private to this folder.
 *
 * Owns:   nothing; values of strings live in the arena, others are slices of the text.
 * Fails:  by a token of kind GQL_INVALID whose value says why.     Thread: one at a time.
 */
#ifndef REGO_GRAPHQL_LEXER_H
#define REGO_GRAPHQL_LEXER_H

#include "rego/graphql/node.h"

typedef enum GqlTokenKind {
    GQL_TOKEN_INVALID,
    GQL_TOKEN_END,
    GQL_TOKEN_BANG,
    GQL_TOKEN_DOLLAR,
    GQL_TOKEN_AMP,
    GQL_TOKEN_PAREN_OPEN,
    GQL_TOKEN_PAREN_CLOSE,
    GQL_TOKEN_SPREAD,
    GQL_TOKEN_COLON,
    GQL_TOKEN_EQUALS,
    GQL_TOKEN_AT,
    GQL_TOKEN_BRACKET_OPEN,
    GQL_TOKEN_BRACKET_CLOSE,
    GQL_TOKEN_BRACE_OPEN,
    GQL_TOKEN_BRACE_CLOSE,
    GQL_TOKEN_PIPE,
    GQL_TOKEN_NAME,
    GQL_TOKEN_INT,
    GQL_TOKEN_FLOAT,
    GQL_TOKEN_STRING,
    GQL_TOKEN_BLOCK,
    GQL_TOKEN_COMMENT,
} GqlTokenKind;

typedef struct GqlToken {
    GqlTokenKind kind;
    Str value;                  /* empty for punctuation; the reason for an invalid one */
    GqlPlace place;
} GqlToken;

typedef struct GqlLexer {
    Arena *arena;
    Str text;
    size_t at;
    /* Counted in characters. */
    int32_t start, end, line, line_start;
} GqlLexer;

GqlToken    gql_lexer_next(GqlLexer *lexer);
const char *gql_token_kind_name(GqlTokenKind kind);

#endif
