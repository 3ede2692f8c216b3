/* compile.h - the text of a definition to its plan, or to everything that is wrong with it.
 *
 * The one door of this folder. Workflows, runbooks and step trees, in YAML or JSON, become one kind of plan. The same
 * text with the same catalog gives the same bytes on every compile and every machine.
 *
 * Owns:   the result and its diagnostics live in the arena given, and point into the text, which must live as long.
 * Fails:  never by status: a definition with mistakes has errors in its diagnostics and no plan.
 * Bounds: those of definitions and plans in limits.h, each reported by name.     Thread: pure, any.
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

typedef struct CompileOptions {
    Str file;                       /* as the person named it */
    TextFormat format;
    const Catalog *catalog;
    Str source;                     /* where the text was written by a program: what its author wrote, and where each */
    const Node *places;             /* node stands in that (node_relocate()); NULL: the text is the author's own */
} CompileOptions;

void compile(Arena *arena, Str text, const CompileOptions *options, Compiled *out);

/* The format by a file's name: .json is JSON, everything else YAML. */
TextFormat text_format_of(Str file);

#endif
