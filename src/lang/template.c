#include "lang/template.h"

#include "base/utf8.h"

/* Counts on from where the last count ended, so that a text of many paths is counted once. */
static uint32_t column_at(TemplateScan *scan, size_t at)
{
    if (at < scan->counted) scan->counted = scan->chars = 0;
    scan->chars += utf8_count(str_slice(scan->text, scan->counted, at));
    scan->counted = at;
    return (uint32_t)scan->chars + 1;
}

TemplateStep template_next(TemplateScan *scan, Path *out_path, Error *err)
{
    scan->paths.text = scan->text;
    PathStep step;
    do step = path_next(&scan->paths, out_path);
    while (step == PATH_ESCAPE);
    if (step == PATH_END) return TEMPLATE_END;
    if (step == PATH_WRONG) {
        error_at(err, ERR_INVALID, 1, column_at(scan, scan->paths.wrong_at), "%s", scan->paths.wrong);
        return TEMPLATE_WRONG;
    }
    out_path->offset = column_at(scan, out_path->begin) - 1;
    out_path->width = (uint32_t)utf8_count(str_slice(scan->text, out_path->begin, out_path->end));
    return TEMPLATE_PATH;
}

void template_check(Diagnostics *diagnostics, const Node *node)
{
    TemplateScan scan = { .text = node_text(node) };
    Path path;
    Error err;
    for (TemplateStep step; (step = template_next(&scan, &path, &err)) != TEMPLATE_END;)
        if (step == TEMPLATE_WRONG) diagnose_inside(diagnostics, node, err.column - 1, 1, "%s", err.text);
}
