/* parser.h - what reading queries and reading schemas have in common. Private to this folder.
 *
 * The parser looks one token ahead. The first failure is kept and ends everything: from then on every look shows the last
 * token again, so that loops need no checks of their own but for the failure.
 */
#ifndef REGO_GRAPHQL_PARSER_H
#define REGO_GRAPHQL_PARSER_H

#include "rego/graphql/lexer.h"

typedef struct GqlParser {
    Arena *arena;
    GqlLexer lexer;
    GqlToken ahead, last;
    bool has_ahead;
    GqlComment *comment;            /* the lines just before the token ahead, or NULL */
    uint32_t depth;                 /* of nesting */
    Status status;
    Error *err;
} GqlParser;

void     gql_parser_init(GqlParser *parser, Arena *arena, Str text, Error *err);
GqlToken gql_peek(GqlParser *parser);
GqlToken gql_next(GqlParser *parser);
bool     gql_skip(GqlParser *parser, GqlTokenKind kind);        /* takes the token where it is of the kind */
GqlToken gql_expect(GqlParser *parser, GqlTokenKind kind);
void     gql_expect_keyword(GqlParser *parser, const char *keyword);
bool     gql_peek_is(GqlParser *parser, GqlTokenKind kind);
bool     gql_peek_word(GqlParser *parser, const char *word);    /* by the token's text alone */
void     gql_unexpected(GqlParser *parser, GqlToken token);
GqlPlace gql_place(GqlParser *parser);
GqlComment *gql_comment(GqlParser *parser);                     /* before the token ahead */

/* `open item item close`, at least one item; nothing where the opening token is absent. Returns the comment before the
 * closing one. */
typedef void (*GqlItem)(GqlParser *parser, void *owner);
GqlComment *gql_some(GqlParser *parser, GqlTokenKind open, GqlTokenKind close, GqlItem item, void *owner);

/* Both are to be balanced; entering fails beyond GRAPHQL_DEPTH_MAX. */
bool gql_enter(GqlParser *parser);
void gql_leave(GqlParser *parser);

/* Parts of both kinds of documents. */
Str       gql_read_name(GqlParser *parser);
GqlType  *gql_read_type(GqlParser *parser);
GqlValue *gql_read_value(GqlParser *parser, bool is_constant);
void      gql_read_arguments(GqlParser *parser, bool is_constant, GqlList *out_list);
void      gql_read_directives(GqlParser *parser, bool is_constant, GqlList *out_list);

#endif
