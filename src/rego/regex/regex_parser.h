/* regex_parser.h - the parser's state, shared by the file that reads expressions and the one that reads characters.
 * Private to this folder.
 */
#ifndef REGO_REGEX_REGEX_PARSER_H
#define REGO_REGEX_REGEX_PARSER_H

#include <stdbool.h>
#include <stdint.h>

#include "rego/regex/regex_node.h"

enum {
    FLAG_FOLD = 1,          /* (?i) letters match in either case */
    FLAG_LINES = 2,         /* (?m) ^ and $ match at line ends too */
    FLAG_DOT_ALL = 4,       /* (?s) . matches a line feed */
    FLAG_LAZY = 8,          /* (?U) repetitions prefer fewer, and a ? behind them means more */
};

/* An open parenthesis. Nodes from `base` up to `branch` on the stack are finished alternatives, those from `branch` on the
 * parts of the one being read. */
typedef struct Frame {
    size_t base, branch;
    uint32_t group;         /* its number, 0 where it does not capture */
    uint8_t flags;          /* to be restored at the closing parenthesis */
} Frame;

typedef struct Parser {
    Arena *arena;
    Str text;
    size_t at;
    uint8_t flags;
    Node **stack;
    size_t stack_count, stack_capacity;
    Frame *frames;
    size_t frame_count, frame_capacity;
    Pattern pattern;
    size_t class_capacity, group_capacity;
    Status status;          /* sticky: the first failure counts */
    Error *err;
} Parser;

/* Refuses by setting parser->status, and returns false so that refusing is one line. */
bool parser_fail(Parser *parser, const char *reason, Str expression);

static inline bool parser_done(const Parser *parser) { return parser->at >= parser->text.len; }
static inline Str  parser_rest(const Parser *parser) { return str_slice(parser->text, parser->at, parser->text.len); }
/* The character there, and moves behind it; not at the end. */
uint32_t parser_take(Parser *parser);

/* --- regex_class.c ------------------------------------------------------------------------------------------------ */

/* A bracket expression, \pL or \d at the present place, into a normal set. class_parse_escape() finds whether there is one
 * of the latter two: false and status OK where there is none. */
bool class_parse_brackets(Parser *parser, Charset *out_set);
bool class_parse_escape(Parser *parser, Charset *out_set);
/* \n, \x{1F600}, \. and the like: one character. */
bool class_parse_char_escape(Parser *parser, uint32_t *out_point);

#endif
