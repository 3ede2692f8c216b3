#include "lang/template.h"

#include <string.h>

#include "base/utf8.h"

/* Counts on from where the last count ended, so that a text of many paths is counted once. */
static uint32_t column_at(TemplateScan *scan, size_t at)
{
    if (at < scan->counted) scan->counted = scan->chars = 0;
    scan->chars += utf8_count(str_slice(scan->text, scan->counted, at));
    scan->counted = at;
    return (uint32_t)scan->chars + 1;
}

static bool refuse(TemplateScan *scan, size_t at, Error *err, const char *what)
{
    error_at(err, ERR_INVALID, 1, column_at(scan, at), "%s", what);
    return false;
}

static bool is_name_char(char c)
{
    return ascii_is_alnum(c) || c == '_' || c == '-';
}

static bool part_add(TemplateScan *scan, Path *path, size_t from, size_t to, Error *err)
{
    if (from == to) return refuse(scan, from, err, "a name is missing in the path");
    if (path->part_count == PATH_PART_COUNT_MAX) return refuse(scan, from, err, "the path has more than PATH_PART_COUNT_MAX (32) parts");
    path->parts[path->part_count++] = str_slice(scan->text, from, to);
    return true;
}

/* Behind '[': a number or a quoted name, then ']'. */
static bool read_bracket(TemplateScan *scan, size_t *at, Path *path, Error *err)
{
    Str text = scan->text;
    char quote = *at < text.len ? text.ptr[*at] : '\0';
    size_t from, to;
    if (quote == '"' || quote == '\'') {
        from = *at + 1;
        to = str_find(text, quote, from);
        if (to == text.len) return refuse(scan, *at, err, "the quoted name has no end");
        *at = to + 1;
    } else {
        from = *at;
        for (to = from; to < text.len && ascii_is_digit(text.ptr[to]); to++) {}
        if (from == to) return refuse(scan, from, err, "a number or a quoted name belongs between [ and ]");
        *at = to;
    }
    if (*at >= text.len || text.ptr[*at] != ']') return refuse(scan, *at, err, "a ']' is missing in the path");
    (*at)++;
    return part_add(scan, path, from, to, err);
}

static bool read_path(TemplateScan *scan, size_t begin, Path *path, Error *err)
{
    Str text = scan->text;
    size_t at = begin + 2;
    *path = (Path){ .offset = column_at(scan, begin) - 1 };
    size_t from = at;
    while (at < text.len && is_name_char(text.ptr[at])) at++;
    if (from == at && at < text.len && text.ptr[at] == '}') return refuse(scan, begin, err, "'${}' names nothing");
    if (!part_add(scan, path, from, at, err)) return false;
    while (at < text.len && text.ptr[at] != '}') {
        char c = text.ptr[at++];
        if (c == '.') {
            from = at;
            while (at < text.len && is_name_char(text.ptr[at])) at++;
            if (!part_add(scan, path, from, at, err)) return false;
        } else if (c == '[') {
            if (!read_bracket(scan, &at, path, err)) return false;
        } else {
            return refuse(scan, at - 1, err, "'${...}' holds a path of names, not an expression; a plain ${ is written $${");
        }
    }
    if (at == text.len) return refuse(scan, begin, err, "the '${' that begins here has no '}'");
    scan->at = at + 1;
    path->width = (uint32_t)utf8_count(str_slice(text, begin, scan->at));
    return true;
}

TemplateStep template_next(TemplateScan *scan, Path *out_path, Error *err)
{
    for (;;) {
        size_t at = str_find(scan->text, '$', scan->at);
        if (at + 1 >= scan->text.len) return TEMPLATE_END;
        if (scan->text.ptr[at + 1] == '{') {
            scan->at = at + 2;
            return read_path(scan, at, out_path, err) ? TEMPLATE_PATH : TEMPLATE_WRONG;
        }
        scan->at = at + 1 + (scan->text.ptr[at + 1] == '$');
    }
}

void template_check(Diagnostics *diagnostics, const Node *node)
{
    TemplateScan scan = { .text = node_text(node) };
    Path path;
    Error err;
    for (TemplateStep step; (step = template_next(&scan, &path, &err)) != TEMPLATE_END;)
        if (step == TEMPLATE_WRONG) diagnose_inside(diagnostics, node, err.column - 1, 1, "%s", err.text);
}
