#include "lang/diagnostic.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/utf8.h"

#define SHOWN_COLUMNS 100u          /* of a source line; one longer than a screen is cut around its place */

void diagnostics_init(Diagnostics *diagnostics, Arena *arena, Str file, Str text)
{
    *diagnostics = (Diagnostics){ .arena = arena, .file = file, .text = text };
}

/* Of what is only counted nothing is written down: there may be as many as nodes. */
static bool is_kept(const Diagnostics *diagnostics) { return diagnostics->count < DIAGNOSTIC_COUNT_MAX; }

static Diagnostic *add(Diagnostics *diagnostics, Diagnostic diagnostic)
{
    if (diagnostic.severity == SEVERITY_ERROR) diagnostics->error_count++;
    else diagnostics->warning_count++;
    if (!is_kept(diagnostics)) {
        diagnostics->spare = diagnostic;
        return &diagnostics->spare;
    }
    diagnostics->items = arena_grow(diagnostics->arena, diagnostics->items, sizeof *diagnostics->items,
                                    diagnostics->count, &diagnostics->capacity);
    diagnostics->items[diagnostics->count] = diagnostic;
    return &diagnostics->items[diagnostics->count++];
}

/* Of what was quoted a part may have been cut off inside of a character. */
static Str message_of(Arena *arena, const char *format, va_list args)
{
    Str message = arena_format_args(arena, format, args);
    for (size_t at = 0; (at += utf8_valid_size(str_slice(message, at, message.len))) < message.len;) ((char *)message.ptr)[at] = '?';
    return message;
}

Diagnostic *diagnose(Diagnostics *diagnostics, Severity severity, const Node *at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    Str message = is_kept(diagnostics) ? message_of(diagnostics->arena, format, args) : STR("");
    va_end(args);
    Diagnostic diagnostic = { .severity = severity, .message = message, .at = at };
    if (at) {
        diagnostic.line = at->line;
        diagnostic.column = at->column;
        diagnostic.width = at->width;
    }
    return add(diagnostics, diagnostic);
}

Diagnostic *diagnose_inside(Diagnostics *diagnostics, const Node *at, uint32_t offset, uint32_t width,
                            const char *format, ...)
{
    va_list args;
    va_start(args, format);
    Str message = is_kept(diagnostics) ? message_of(diagnostics->arena, format, args) : STR("");
    va_end(args);
    Diagnostic diagnostic = { .severity = SEVERITY_ERROR, .line = at->line, .column = at->column, .width = at->width, .message = message, .at = at };
    if (at->inner == NODE_ELSEWHERE) return add(diagnostics, diagnostic);
    if (at->inner != NODE_SCATTERED) {
        diagnostic.column += at->inner + offset;
        diagnostic.width = width ? width : 1;
    } else if (is_kept(diagnostics)) {
        NodePlace place = node_place(at, diagnostics->text, offset);
        if (place.line != at->line || place.column != at->column) diagnostic.width = width ? width : 1;
        diagnostic.line = place.line;
        diagnostic.column = place.column;
    }
    return add(diagnostics, diagnostic);
}

void diagnose_error(Diagnostics *diagnostics, const Error *err)
{
    add(diagnostics, (Diagnostic){ .severity = SEVERITY_ERROR, .line = err->line, .column = err->column, .width = 1,
                                   .message = arena_copy(diagnostics->arena, str_of(err->text)) });
}

void diagnostic_help(Diagnostics *diagnostics, Diagnostic *diagnostic, const char *format, ...)
{
    va_list args;
    if (diagnostic == &diagnostics->spare) return;
    va_start(args, format);
    diagnostic->help = message_of(diagnostics->arena, format, args);
    va_end(args);
}

/* --- pointers ---------------------------------------------------------------------------------------------------- */

typedef struct Pointing {
    Diagnostics *diagnostics;
    Diagnostic **items;                 /* by the address of their node */
    size_t count;
    Buf path;
} Pointing;

static int by_node(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)(*(Diagnostic *const *)a)->at, y = (uintptr_t)(*(Diagnostic *const *)b)->at;
    return x == y ? 0 : x < y ? -1 : 1;
}

/* Those of this node get the path to it; a node that several aliases lead to, the first. */
static void point(Pointing *pointing, const Node *node)
{
    size_t low = 0, high = pointing->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((uintptr_t)pointing->items[middle]->at < (uintptr_t)node) low = middle + 1;
        else high = middle;
    }
    for (; low < pointing->count && pointing->items[low]->at == node; low++)
        if (!pointing->items[low]->pointer.len) pointing->items[low]->pointer = arena_copy(pointing->diagnostics->arena, buf_peek(&pointing->path));
}

static void path_add(Buf *path, Str key)
{
    buf_char(path, '/');
    for (size_t i = 0; i < key.len; i++)
        if (key.ptr[i] == '~') buf_text(path, "~0");
        else if (key.ptr[i] == '/') buf_text(path, "~1");
        else buf_char(path, key.ptr[i]);
}

/* As deep as DEFINITION_DEPTH_MAX. */
static void point_below(Pointing *pointing, const Node *node)
{
    size_t size = pointing->path.len;
    point(pointing, node);
    if (node_is_scalar(node)) return;
    for (uint32_t i = 0; i < node->count; i++) {
        bool is_map = node->kind == NODE_MAP;
        if (is_map) path_add(&pointing->path, node_text(node_key(node, i)));
        else buf_format(&pointing->path, "/%u", i);
        if (is_map) point(pointing, node_key(node, i));
        point_below(pointing, is_map ? node_value(node, i) : &node->items[i]);
        pointing->path.len = size;
    }
}

void diagnostics_point(Diagnostics *diagnostics, const Node *root)
{
    if (!diagnostics->count) return;
    Pointing pointing = { .diagnostics = diagnostics, .items = ARENA_ARRAY(diagnostics->arena, Diagnostic *, diagnostics->count) };
    for (size_t i = 0; i < diagnostics->count; i++)
        if (diagnostics->items[i].at) pointing.items[pointing.count++] = &diagnostics->items[i];
    qsort(pointing.items, pointing.count, sizeof *pointing.items, by_node);
    buf_init(&pointing.path, DEFINITION_SIZE_MAX);
    point_below(&pointing, root);
    buf_deinit(&pointing.path);
}

/* --- order ------------------------------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const Diagnostic *x = a, *y = b;
    if (x->line != y->line) return x->line < y->line ? -1 : 1;
    if (x->column != y->column) return x->column < y->column ? -1 : 1;
    return str_compare(x->message, y->message);
}

/* Two checks may see the same mistake: the same words at the same place are said once. */
void diagnostics_sort(Diagnostics *diagnostics)
{
    if (diagnostics->count == 0) return;
    qsort(diagnostics->items, diagnostics->count, sizeof *diagnostics->items, by_place);
    size_t kept = 1;
    for (size_t i = 1; i < diagnostics->count; i++) {
        if (by_place(&diagnostics->items[kept - 1], &diagnostics->items[i]) != 0) {
            diagnostics->items[kept++] = diagnostics->items[i];
            continue;
        }
        if (diagnostics->items[i].severity == SEVERITY_ERROR) diagnostics->error_count--;
        else diagnostics->warning_count--;
    }
    diagnostics->count = kept;
}

/* --- printing ---------------------------------------------------------------------------------------------------- */

typedef struct Colors { const char *bold, *error, *warning, *mark, *off; } Colors;

static const Colors plain_colors = { "", "", "", "", "" };
static const Colors terminal_colors = { "\x1b[1m", "\x1b[1;31m", "\x1b[1;33m", "\x1b[1;36m", "\x1b[0m" };

/* Lines are found once, walking on: diagnostics come sorted. */
typedef struct Lines { Str text; size_t at; uint32_t line; } Lines;

static Str line_find(Lines *lines, uint32_t line)
{
    while (lines->line < line && lines->at < lines->text.len) {
        lines->at = str_find(lines->text, '\n', lines->at);
        if (lines->at < lines->text.len) lines->at++;
        lines->line++;
    }
    if (lines->line != line) return STR("");
    Str found = str_slice(lines->text, lines->at, str_find(lines->text, '\n', lines->at));
    if (found.len && found.ptr[found.len - 1] == '\r') found.len--;
    return found;
}

/* The bytes of `count` characters from the start. */
static size_t chars_size(Str text, size_t count)
{
    size_t at = 0;
    while (at < text.len && count) {
        at++;
        while (at < text.len && ((unsigned char)text.ptr[at] & 0xc0) == 0x80) at++;
        count--;
    }
    return at;
}

/* Tabs and control characters (of C1 too, two bytes in UTF-8) would move the mark away from what it marks, or command the
 * terminal. */
static void print_clean(Buf *out, Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        bool is_c1 = c == 0xc2 && i + 1 < text.len && (unsigned char)text.ptr[i + 1] < 0xa0;
        buf_char(out, c < 0x20 || c == 0x7f || is_c1 ? ' ' : (char)c);
        i += is_c1;
    }
}

static void print_source(const Diagnostic *diagnostic, Str line, const Colors *colors, Buf *out)
{
    size_t first = diagnostic->column > SHOWN_COLUMNS * 3 / 4 ? diagnostic->column - SHOWN_COLUMNS / 2 : 1;
    Str shown = str_slice(line, chars_size(line, first - 1), line.len);
    size_t shown_size = chars_size(shown, SHOWN_COLUMNS);
    bool is_cut = shown_size < shown.len;
    shown.len = shown_size;
    size_t before = diagnostic->column - first;
    Str lead = str_slice(shown, 0, chars_size(shown, before));
    Str marked = str_slice(shown, lead.len, shown.len);
    marked.len = chars_size(marked, diagnostic->width);

    buf_format(out, "%s%6u |%s %s", colors->mark, diagnostic->line, colors->off, first > 1 ? "..." : "");
    print_clean(out, shown);
    buf_text(out, is_cut ? "...\n" : "\n");
    buf_format(out, "%s       |%s ", colors->mark, colors->off);
    buf_repeat(out, ' ', utf8_width(lead) + (first > 1 ? 3 : 0));
    buf_format(out, "%s^", colors->mark);
    size_t width = utf8_width(marked);
    if (width > 1) buf_repeat(out, '~', width - 1);
    buf_format(out, "%s\n", colors->off);
}

static void print_details(Buf *out, Str details)
{
    for (size_t at = 0; at < details.len;) {
        size_t end = str_find(details, '\n', at);
        buf_text(out, "    ");
        print_clean(out, str_trim(str_slice(details, at, end)));
        buf_char(out, '\n');
        at = end + 1;
    }
}

static void print_one(const Diagnostics *diagnostics, const Diagnostic *diagnostic, Lines *lines, const Colors *colors,
                      Buf *out)
{
    bool is_error = diagnostic->severity == SEVERITY_ERROR;
    buf_text(out, colors->bold);
    buf_str(out, diagnostics->file);
    if (diagnostic->line) buf_format(out, ":%u:%u", diagnostic->line, diagnostic->column);
    buf_format(out, ": %s%s%s: ", colors->off, is_error ? colors->error : colors->warning,
               is_error ? "error" : "warning");
    buf_text(out, colors->off);
    print_clean(out, diagnostic->message);
    buf_char(out, '\n');
    print_details(out, diagnostic->details);
    if (diagnostic->line) {
        Str line = line_find(lines, diagnostic->line);
        if (line.len) print_source(diagnostic, line, colors, out);
    }
    if (diagnostic->help.len) {
        buf_format(out, "%s       =%s help: ", colors->mark, colors->off);
        print_clean(out, diagnostic->help);
        buf_char(out, '\n');
    }
}

void diagnostics_print(const Diagnostics *diagnostics, bool color, Buf *out)
{
    const Colors *colors = color ? &terminal_colors : &plain_colors;
    Lines lines = { diagnostics->text, 0, 1 };
    for (size_t i = 0; i < diagnostics->count; i++) print_one(diagnostics, &diagnostics->items[i], &lines, colors, out);
    size_t total = (size_t)diagnostics->error_count + diagnostics->warning_count;
    if (total > diagnostics->count)
        buf_format(out, "%.*s: %zu more are not shown (DIAGNOSTIC_COUNT_MAX is %u)\n", STR_ARG(diagnostics->file),
                   total - diagnostics->count, DIAGNOSTIC_COUNT_MAX);
}

Value diagnostics_value(const Diagnostics *diagnostics, Arena *arena)
{
    ValueList list = { .arena = arena };
    for (size_t i = 0; i < diagnostics->count; i++) {
        const Diagnostic *diagnostic = &diagnostics->items[i];
        MemberList members = { .arena = arena };
        member_list_add(&members, STR("severity"),
                        value_string(diagnostic->severity == SEVERITY_ERROR ? STR("error") : STR("warning")));
        member_list_add(&members, STR("file"), value_string(diagnostics->file));
        member_list_add(&members, STR("line"), value_int(diagnostic->line));
        member_list_add(&members, STR("column"), value_int(diagnostic->column));
        member_list_add(&members, STR("width"), value_int(diagnostic->width));
        member_list_add(&members, STR("message"), value_string(diagnostic->message));
        if (diagnostic->details.len) member_list_add(&members, STR("details"), value_string(diagnostic->details));
        if (diagnostic->help.len) member_list_add(&members, STR("help"), value_string(diagnostic->help));
        if (diagnostic->pointer.len) member_list_add(&members, STR("pointer"), value_string(diagnostic->pointer));
        value_list_add(&list, member_list_object(&members));
    }
    return value_list_array(&list);
}
