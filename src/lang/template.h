/* template.h - the ${paths} of core/path.h, with places for people.
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
#include "core/path.h"
#include "lang/diagnostic.h"
#include "lang/node.h"

typedef struct TemplateScan {
    Str text;
    PathScan paths;
    size_t counted, chars;              /* bytes whose characters have been counted, and how many these are */
} TemplateScan;

typedef enum TemplateStep { TEMPLATE_PATH, TEMPLATE_WRONG, TEMPLATE_END } TemplateStep;

/* The next path of the text. One that is wrong is described by *err, with its column (1-based, in characters of the text);
 * the scan goes on behind it. */
TemplateStep template_next(TemplateScan *scan, Path *out_path, Error *err);

/* Reports mistakes of syntax. */
void template_check(Diagnostics *diagnostics, const Node *node);

#endif
