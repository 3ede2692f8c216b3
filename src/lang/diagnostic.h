/* diagnostic.h - everything that is wrong with a definition, each with its place and what to do about it.
 *
 * Checks go on after a mistake: a person fixes ten at once rather than one ten times. Errors keep a definition from
 * becoming a plan; warnings do not.
 *
 *   order.yaml:12:9: error: unknown key 'retrys' in a task
 *      12 |         retrys: { attempts: 3 }
 *         |         ^~~~~~
 *         = help: did you mean 'retries'?
 *
 * Owns:   texts live in the arena given to diagnostics_init().
 * Bounds: DIAGNOSTIC_COUNT_MAX are kept, the rest counted.     Thread: one at a time.
 */
#ifndef LANG_DIAGNOSTIC_H
#define LANG_DIAGNOSTIC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/status.h"
#include "lang/node.h"

typedef enum Severity { SEVERITY_ERROR, SEVERITY_WARNING } Severity;

typedef struct Diagnostic {
    Severity severity;
    uint32_t line, column, width;       /* line 0: about the file as a whole */
    Str message;
    Str details;                        /* lines that stand indented below the message; may be empty */
    Str help;                           /* may be empty */
    const Node *at;                     /* NULL: the file as a whole, or what is no node */
    Str pointer;                        /* of `at`, once diagnostics_point() has found it: a JSON pointer; empty: the whole */
} Diagnostic;

typedef struct Diagnostics {
    Arena *arena;
    Str file;                           /* as the person named it */
    Str text;                           /* what was read, to show the lines */
    Diagnostic *items;
    size_t count, capacity;
    uint32_t error_count, warning_count;
    Diagnostic spare;                   /* what is only counted */
    Str subject;                        /* what the mapping being looked at is called, for "the artifact 'x' needs ..." */
} Diagnostics;

void diagnostics_init(Diagnostics *diagnostics, Arena *arena, Str file, Str text);

/* The place is the node's; NULL stands for the file. Returns the entry, to which diagnostic_help() may be added, or a
 * spare one where no more are kept. */
Diagnostic *diagnose(Diagnostics *diagnostics, Severity severity, const Node *at, const char *format, ...) PRINTF_LIKE(4, 5);
/* The same inside a scalar's text: `offset` characters into it, `width` of them. */
Diagnostic *diagnose_inside(Diagnostics *diagnostics, const Node *at, uint32_t offset, uint32_t width, const char *format, ...)
    PRINTF_LIKE(5, 6);
void diagnose_error(Diagnostics *diagnostics, const Error *err);     /* what a reader of text refused */
void diagnostic_help(Diagnostics *diagnostics, Diagnostic *diagnostic, const char *format, ...) PRINTF_LIKE(3, 4);

/* Gives each the JSON pointer of its node in the tree that it was found in; of a key, that of its member. */
void diagnostics_point(Diagnostics *diagnostics, const Node *root);
/* In the order of their places. */
void diagnostics_sort(Diagnostics *diagnostics);
void diagnostics_print(const Diagnostics *diagnostics, bool color, Buf *out);
/* [{"severity","file","line","column","width","message","details","help","pointer"}] */
Value diagnostics_value(const Diagnostics *diagnostics, Arena *arena);

#endif
