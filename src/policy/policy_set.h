/* policy_set.h - modules and base data from files, directories and bundles.
 *
 * A path is a file or a directory. Of a directory every *.rego, *.json, *.yaml and *.yml below it counts; what a data file
 * holds stands in the base document under the directories that lead to it, and of a single file
 * at the root. A bundle is a directory or a .tar.gz whose data files are called data.json or data.yaml; its .manifest,
 * where it has one, names the roots that the bundle may define, and whatever lies outside of them is a mistake. Two
 * documents are merged where both are objects; a value that is defined twice is a mistake.
 *
 * Owns:   everything lives in the arena of the set.
 * Fails:  ERR_NOT_FOUND, ERR_DENIED, ERR_INVALID with the file's name and, for data, line and column; ERR_LIMIT.
 * Bounds: POLICY_FILE_COUNT_MAX, POLICY_SIZE_MAX, and those of archives.     Thread: one at a time.
 */
#ifndef POLICY_POLICY_SET_H
#define POLICY_POLICY_SET_H

#include "base/arena.h"
#include "base/status.h"
#include "rego/rego.h"
#include "value/value.h"

typedef struct PolicySet {
    Arena *arena;
    RegoModuleText *modules;        /* in the order they were found */
    size_t module_count, module_capacity;
    Value data;                     /* the base document: an object */
    Str *roots;                     /* of bundles so far, which may not overlap */
    size_t root_count, root_capacity;
    size_t file_count, size;
} PolicySet;

void            policy_set_init(PolicySet *set, Arena *arena);
void            policy_set_add(PolicySet *set, Str file, Str text);        /* a module */
MUST_USE Status policy_add_path(PolicySet *set, const char *path, Error *err);
MUST_USE Status policy_add_bundle(PolicySet *set, const char *path, Error *err);
/* The text of a module by its name; empty where there is none. */
Str             policy_module_text(const PolicySet *set, Str file);
bool            policy_is_rego(Str name);
/* A document from a file, "-" for standard input: JSON, or YAML by its name or where JSON cannot read it. */
MUST_USE Status policy_read_document(Arena *arena, const char *path, Value *out_value, Error *err);

#endif
