/* path.h - ${paths} in texts, found and taken apart.
 *
 * A path is a name and steps into what it names: ${params.order_id}, ${outputs.validate.report[0].id},
 * ${outputs["validate-order"].total}, ${secrets.API_TOKEN}, ${run.id}. A first name that is none of the known roots is
 * looked up in the trigger's payload: ${commit}. It is a path, not a program. `$${` stands for the characters `${`.
 *
 * Owns: nothing; parts point into the text.     Fails: by PATH_WRONG, with the place and what is wrong there.
 * Bounds: PATH_PART_COUNT_MAX.     Thread: pure, any.
 */
#ifndef CORE_PATH_H
#define CORE_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/str.h"

typedef struct Path {
    Str parts[PATH_PART_COUNT_MAX];     /* names; an index is its digits */
    uint32_t part_count;
    size_t begin, end;                  /* bytes of the text, "${" and "}" included */
    uint32_t offset, width;             /* the same in characters; left to whoever shows places to people */
} Path;

typedef struct PathScan {
    Str text;
    size_t at;                          /* where the scan goes on */
    size_t wrong_at;                    /* after PATH_WRONG: the byte that is wrong ... */
    const char *wrong;                  /* ... and what is wrong with it */
} PathScan;

typedef enum PathStep { PATH_FOUND, PATH_ESCAPE, PATH_WRONG, PATH_END } PathStep;

/* The next path of the text. PATH_ESCAPE is a `$${` at out_path->begin. After a wrong one the scan goes on behind its "${". */
PathStep path_next(PathScan *scan, Path *out_path);

/* Whether the text holds a path, or an escape that has to be replaced. */
bool path_is_in(Str text);

#endif
