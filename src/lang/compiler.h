/* compiler.h - what the parts of the compiler share; for them alone.
 *
 * Checks run even after earlier mistakes, on whatever can be understood: these accessors answer NULL for what is missing
 * or of the wrong kind, which the shape has reported already. Lowering runs only for definitions without mistakes.
 */
#ifndef LANG_COMPILER_H
#define LANG_COMPILER_H

#include "base/map.h"
#include "lang/catalog.h"
#include "lang/compile.h"
#include "lang/diagnostic.h"
#include "lang/draft.h"
#include "lang/node.h"

typedef struct References References;

typedef struct Compiler {
    Arena *arena;                   /* of the result */
    Arena *scratch;                 /* of this compilation */
    Diagnostics *diagnostics;
    const Catalog *catalog;
    const Node *root;
    Str tenant;                     /* whose runners there are */
    Map schemas;                    /* names of the definition's own `schemas` */
    Map pause_keys;                 /* trigger keys of its pauses */
    Draft draft;
    const CompileBounds *bounds;    /* NULL: none */
    bool is_full;                   /* it has taken more than these permit, which was told */
} Compiler;

/* Whether it may take more memory; where not, that is a mistake of the definition. Asked before each step is written, since what a step takes is
 * not what was written for it: it has the policies of its job and its workflow. */
bool compiler_fits(Compiler *compiler);

const Node *get_text(const Node *map, const char *key);
const Node *get_list(const Node *map, const char *key);
const Node *get_map(const Node *map, const char *key);

/* A key that takes one thing or a list of them: how many there are, and which; 0 where it is absent. */
uint32_t    many_count(const Node *one_or_list);
const Node *many_at(const Node *one_or_list, uint32_t index);

/* Reports a name that the catalog does not have, with what to do about it. */
void check_known(Compiler *compiler, CatalogKind kind, const Node *name);
/* `policies` and `policy` of a mapping. */
void check_policies(Compiler *compiler, const Node *map);
/* A schema given by name: of this definition's `schemas` or of the catalog. */
void check_schema_name(Compiler *compiler, const Node *schema);
/* What such a name stands for, with the name as its title; a plan has the schema itself, so that it means the same for ever. */
Value schema_by_name(Compiler *compiler, Str name);
/* Adds the policies of a mapping to a list, each once. */
void add_policies(ValueList *list, const Node *map);
/* For names in messages where there may be a hundred thousand of them: is it still worth suggesting? */
bool may_suggest(const Compiler *compiler);

/* The three kinds of definition: check everything, then, where nothing is wrong, write compiler->draft. */
void workflow_compile(Compiler *compiler);
void step_tree_compile(Compiler *compiler);
void runbook_compile(Compiler *compiler);

/* Failure resolution, on_failure and on_signal of a workflow or step tree. `find` takes a task by "task" or "job.task". */
typedef struct TaskNames {
    bool (*find)(void *context, Str name, const Node **out_task);
    bool (*has_job)(void *context, Str name);       /* NULL where there are no jobs */
    void (*offer)(void *context, Suggestion *suggestion);       /* all names, for "did you mean" */
    void *context;
} TaskNames;
void resolution_check(Compiler *compiler, const TaskNames *names, uint32_t compensation_count);
void resolution_lower(Compiler *compiler);
void check_slo(Compiler *compiler, const Node *slo);
/* The members that workflows and step trees have in common. */
void header_check(Compiler *compiler, References *references);
void header_lower(Compiler *compiler);

#endif
