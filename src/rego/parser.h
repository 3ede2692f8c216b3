/* parser.h - the text of a policy to its tree.
 *
 * Reads Rego v1, and Rego v0 by an option, as OPA 1.x reads them: the same grammar, precedence, newline rules and places
 * of nodes. A query is a body without a rule around it; conditions of other programs are queries whose options switch on
 * `and`, `or` and `not { ... }` without an import.
 *
 * Where it is stricter than OPA: expressions of a query need a newline or a semicolon between them.
 * Where it does more: after a mistake it goes on with the next statement that begins a line, so that several mistakes of
 * a module are reported at once.
 *
 * Owns:   nothing. The tree lives in `arena`, with a copy of the text that it points into.
 * Fails:  ERR_INVALID with at least one entry in `errors` (rego_parse_error, row, column, what was found and what was
 *         expected); ERR_LIMIT, also with an entry, beyond a bound below or where the arena is full.
 * Bounds: REGO_TEXT_SIZE_MAX; REGO_DEPTH_MAX; REGO_ERROR_COUNT_MAX; the tokens read, backtracking included, by
 *         REGO_SCAN_FACTOR. Memory is proportional to the text.     Thread: any, one at a time for each arena.
 */
#ifndef REGO_PARSER_H
#define REGO_PARSER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"
#include "rego/ast.h"
#include "rego/errors.h"
#include "rego/lexer.h"

/* Reads a YAML text; on failure `err` says why, and the line. */
typedef Status (*RegoReadYaml)(Arena *arena, Str text, Value *out_value, Error *err);

typedef struct RegoParseOptions {
    Str file;                           /* named in errors; empty for a query */
    bool v0;                            /* the old syntax: if, contains, in and every need an import */
    uint32_t keywords;                  /* REGO_KEYWORD(...) that are on without an import; NOT stands for not { ... } */
    bool (*is_builtin)(Str name);       /* to refuse f(x) as a rule where f is a builtin; NULL knows operators alone */
    RegoReadYaml read_yaml;             /* of METADATA blocks; NULL: they are comments as others are */
} RegoParseOptions;

/* What conditions of other programs use: and, or, not { ... }. */
#define REGO_KEYWORDS_CONDITION (REGO_KEYWORDS_LOGICAL | REGO_KEYWORD(NOT))

/* `options` may be NULL: v1, no further keywords. */
MUST_USE Status rego_parse_module(Arena *arena, Str text, const RegoParseOptions *options, RegoModule **out_module,
                                  RegoErrors *errors);
MUST_USE Status rego_parse_query(Arena *arena, Str text, const RegoParseOptions *options, RegoBody *out_body,
                                 RegoErrors *errors);
/* One term and nothing else, as in `{"a", 1}`. */
MUST_USE Status rego_parse_term(Arena *arena, Str text, const RegoParseOptions *options, RegoTerm **out_term,
                                RegoErrors *errors);

#endif
