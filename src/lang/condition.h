/* condition.h - conditions of definitions: Rego expressions over a few names.
 *
 * A condition is one Rego query body (`;` and a newline mean and; and, or, not are operators) over exactly the names
 * params, outputs, output, payload, run and poll, and the builtins that need neither network, clock nor chance. It is
 * checked with the definition, so a mistake has its line and column.
 *
 * Owns: nothing; paths point into `arena`.     Fails: by diagnostics.     Bounds: CONDITION_SIZE_MAX.     Thread: pure, any.
 */
#ifndef LANG_CONDITION_H
#define LANG_CONDITION_H

#include "base/arena.h"
#include "lang/diagnostic.h"
#include "lang/node.h"
#include "lang/template.h"

/* The names a condition or a path may begin with; a place permits some of them. */
typedef enum Root {
    ROOT_PARAMS = 1, ROOT_OUTPUTS = 2, ROOT_OUTPUT = 4, ROOT_PAYLOAD = 8, ROOT_RUN = 16, ROOT_POLL = 32, ROOT_SECRETS = 64,
} Root;

Root        root_find(Str name);                /* 0 where it is none of them */
const char *root_list(unsigned roots, Buf *buf);    /* "params, outputs and run" */

/* Reports mistakes that need nothing but the text: syntax, unknown names and functions. */
void condition_check_syntax(Diagnostics *diagnostics, const Node *node);

/* The references of a condition that condition_check_syntax() has accepted, as far as they are constant: params.a["b"] is
 * [params, a, b], outputs[x].y is [outputs]. */
typedef void (*PathVisit)(void *context, const Node *node, const Path *path);
void condition_paths(Arena *arena, const Node *node, PathVisit visit, void *context);

/* Whether the condition is the literal true: what comes after it cannot be reached. */
bool condition_is_always(const Node *node);
/* Whether a task, job or step has a `when` that can fail. */
bool may_be_skipped(const Node *map);

#endif
