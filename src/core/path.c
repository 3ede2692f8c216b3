#include "core/path.h"

static bool refuse(PathScan *scan, size_t at, const char *what)
{
    scan->wrong_at = at;
    scan->wrong = what;
    return false;
}

static bool is_name_char(char c)
{
    return ascii_is_alnum(c) || c == '_' || c == '-';
}

static bool part_add(PathScan *scan, Path *path, size_t from, size_t to)
{
    if (from == to) return refuse(scan, from, "a name is missing in the path");
    if (path->part_count == PATH_PART_COUNT_MAX)
        return refuse(scan, from, "the path has more than PATH_PART_COUNT_MAX (32) parts");
    path->parts[path->part_count++] = str_slice(scan->text, from, to);
    return true;
}

/* Behind '[': a number or a quoted name, then ']'. */
static bool read_bracket(PathScan *scan, size_t *at, Path *path)
{
    Str text = scan->text;
    char quote = *at < text.len ? text.ptr[*at] : '\0';
    size_t from, to;
    if (quote == '"' || quote == '\'') {
        from = *at + 1;
        to = str_find(text, quote, from);
        if (to == text.len) return refuse(scan, *at, "the quoted name has no end");
        *at = to + 1;
    } else {
        from = *at;
        for (to = from; to < text.len && ascii_is_digit(text.ptr[to]); to++) {}
        if (from == to) return refuse(scan, from, "a number or a quoted name belongs between [ and ]");
        *at = to;
    }
    if (*at >= text.len || text.ptr[*at] != ']') return refuse(scan, *at, "a ']' is missing in the path");
    (*at)++;
    return part_add(scan, path, from, to);
}

static bool read_path(PathScan *scan, size_t begin, Path *path)
{
    Str text = scan->text;
    size_t at = begin + 2, from = at;
    path->begin = begin;
    path->part_count = 0;
    while (at < text.len && is_name_char(text.ptr[at])) at++;
    if (from == at && at < text.len && text.ptr[at] == '}') return refuse(scan, begin, "'${}' names nothing");
    if (!part_add(scan, path, from, at)) return false;
    while (at < text.len && text.ptr[at] != '}') {
        char c = text.ptr[at++];
        if (c == '.') {
            from = at;
            while (at < text.len && is_name_char(text.ptr[at])) at++;
            if (!part_add(scan, path, from, at)) return false;
        } else if (c == '[') {
            if (!read_bracket(scan, &at, path)) return false;
        } else {
            return refuse(scan, at - 1, "'${...}' holds a path of names, not an expression; a plain ${ is written $${");
        }
    }
    if (at == text.len) return refuse(scan, begin, "the '${' that begins here has no '}'");
    scan->at = path->end = at + 1;
    return true;
}

PathStep path_next(PathScan *scan, Path *out_path)
{
    for (;;) {
        Str text = scan->text;
        size_t at = str_find(text, '$', scan->at);
        if (at + 1 >= text.len) return PATH_END;
        if (text.ptr[at + 1] == '{') {
            scan->at = at + 2;
            return read_path(scan, at, out_path) ? PATH_FOUND : PATH_WRONG;
        }
        bool is_double = text.ptr[at + 1] == '$';
        scan->at = at + 1 + is_double;
        if (!is_double || at + 2 >= text.len || text.ptr[at + 2] != '{') continue;
        scan->at = at + 3;
        out_path->begin = at;
        out_path->end = at + 3;
        out_path->part_count = 0;
        return PATH_ESCAPE;
    }
}

bool path_is_in(Str text)
{
    Path path;
    return path_next(&(PathScan){ .text = text }, &path) != PATH_END;
}
