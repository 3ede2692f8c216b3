/* compile.h - the text of a definition to its plan, or to everything that is wrong with it.
 *
 * The one door of this folder. Workflows, runbooks and step trees, in YAML or JSON, become one kind of plan. The same
 * text with the same catalog gives the same bytes on every compile and every machine.
 *
 * Owns:   the result and its diagnostics live in the arena given, and point into the text, which must live as long.
 * Fails:  never by status: a definition with mistakes has errors in its diagnostics and no plan.
 * Bounds: those of definitions and plans in limits.h, and of the options, each reported by name.     Thread: pure, any.
 */
#ifndef LANG_COMPILE_H
#define LANG_COMPILE_H

#include "core/plan.h"
#include "lang/catalog.h"
#include "lang/diagnostic.h"
#include "lang/shape.h"

typedef struct Compiled {
    bool is_valid;                  /* there is a plan (but for a configuration); there may be warnings all the same */
    bool is_config;                 /* a configuration, runners.yaml: checked, and no definition */
    bool is_old_runbook;            /* the format of connectors, analysers and execution: to be migrated */
    Plan plan;
    Diagnostics diagnostics;
    const Node *root;               /* what was written; NULL where the text could not be read */
    const Type *type;               /* the table it was held against; NULL where it is no definition */
} Compiled;

/* What a definition of a stranger may take. A file that a person has compiled on a machine of their own is bounded by limits.h alone. */
typedef struct CompileBounds {
    uint64_t node_count_max;        /* of the text, aliases counted in full */
    size_t size_max;                /* of the arena given */
    const char *node_name, *size_name;      /* as the refusal names them */
} CompileBounds;

typedef struct CompileOptions {
    Str file;                       /* as the person named it */
    TextFormat format;
    const Catalog *catalog;
    Str tenant;                     /* whose runners there are, whatever the definition says; empty: those of whose it is */
    const CompileBounds *bounds;    /* NULL: none but those of limits.h */
    Str source;                     /* where the text was written by a program: what its author wrote, and where each */
    const Node *places;             /* node stands in that (node_relocate()); NULL: the text is the author's own */
} CompileOptions;

void compile(Arena *arena, Str text, const CompileOptions *options, Compiled *out);

/* The format by a file's name: .json is JSON, everything else YAML. */
TextFormat text_format_of(Str file);

#endif
