/* regex_node.h - a pattern as a tree, between the parser and the compiler. Private to this folder.
 *
 * Owns:   nothing; nodes live in the arena of the parse.
 * Fails:  regex_parse() as regex_compile() does.
 * Bounds: REGEX_NODE_HEIGHT_MAX, so recursion over a tree is bounded.     Thread: one at a time.
 */
#ifndef REGO_REGEX_REGEX_NODE_H
#define REGO_REGEX_REGEX_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "rego/regex/charset.h"

typedef enum NodeKind {
    NODE_EMPTY,         /* matches the empty text */
    NODE_CHAR,          /* one character: `point` */
    NODE_CLASS,         /* one character of class number `index` */
    NODE_ASSERT,        /* a condition on the place: `assertion` */
    NODE_GROUP,         /* capturing group number `index` around one child */
    NODE_CONCAT,        /* the children one after the other */
    NODE_ALTERNATE,     /* one of the children, the first that leads to a match */
    NODE_REPEAT,        /* one child, min to max times; max is REPEAT_FOREVER where open */
} NodeKind;

#define REPEAT_FOREVER (-1)

typedef enum Assertion {
    ASSERT_TEXT_BEGIN = 1,
    ASSERT_TEXT_END = 2,
    ASSERT_LINE_BEGIN = 4,
    ASSERT_LINE_END = 8,
    ASSERT_WORD_EDGE = 16,
    ASSERT_NO_WORD_EDGE = 32,
} Assertion;

typedef struct Node Node;
struct Node {
    uint8_t kind;               /* a NodeKind */
    uint8_t assertion;
    bool lazy;                  /* a repetition that prefers fewer */
    bool nullable;              /* may match the empty text */
    uint16_t height;
    uint16_t times;             /* how often counted repetitions multiply the innermost child, saturating */
    uint32_t point, index;
    int32_t min, max;
    Node **children;
    uint32_t child_count;
};

typedef struct Pattern {
    Node *root;
    Charset *classes;
    size_t class_count;
    Str *group_names;           /* by group number less one; empty for unnamed groups */
    size_t group_count;
} Pattern;

MUST_USE Status regex_parse(Arena *arena, Str text, Pattern *out_pattern, Error *err);

#endif
