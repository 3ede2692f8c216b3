/* template.h - ${paths} in texts.
 *
 * A path is a name and steps into what it names: ${params.order_id}, ${outputs.validate.report[0].id},
 * ${outputs["validate-order"].total}, ${secrets.API_TOKEN}, ${run.id}. A first name that is none of the known roots is
 * looked up in the trigger's payload: ${commit}. It is a path, not a program. `$${` stands for the characters `${`.
 *
 * Owns: nothing; parts point into the text.     Fails: by TEMPLATE_WRONG.
 * Bounds: PATH_PART_COUNT_MAX.     Thread: pure, any.
 */
#ifndef LANG_TEMPLATE_H
#define LANG_TEMPLATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/str.h"
#include "lang/diagnostic.h"
#include "lang/node.h"

#define PATH_PART_COUNT_MAX 32u

typedef struct Path {
    Str parts[PATH_PART_COUNT_MAX];     /* names; an index is its digits */
    uint32_t part_count;
    uint32_t offset, width;             /* in characters of the text, "${" and "}" included */
} Path;

typedef struct TemplateScan {
    Str text;
    size_t at;
    size_t counted, chars;              /* bytes whose characters have been counted, and how many these are */
} TemplateScan;

typedef enum TemplateStep { TEMPLATE_PATH, TEMPLATE_WRONG, TEMPLATE_END } TemplateStep;

/* The next path of the text. One that is wrong is described by *err, with its column (1-based, in characters of the text);
 * the scan goes on behind it. */
TemplateStep template_next(TemplateScan *scan, Path *out_path, Error *err);

/* Reports mistakes of syntax. */
void template_check(Diagnostics *diagnostics, const Node *node);

#endif
