#include "cli/line_diff.h"

#include "base/limits.h"

#define CONTEXT_COUNT 3u            /* equal lines shown around a change */

typedef struct Lines {
    Str *items;
    size_t count;
} Lines;

/* A line of the result: ' ' in both, '-' before alone, '+' after alone. */
typedef struct Edit {
    char sign;
    Str line;
    size_t before, after;           /* lines of each text that stand above it */
} Edit;

typedef struct Edits {
    Edit *items;
    size_t count;
    size_t before, after;
} Edits;

static Lines split(Arena *scratch, Str text)
{
    Lines lines = { .count = 0 };
    size_t count = 1;
    for (size_t i = 0; i < text.len; i++) count += text.ptr[i] == '\n';
    lines.items = ARENA_ARRAY(scratch, Str, count);
    for (size_t at = 0; at < text.len;) {
        size_t end = str_find(text, '\n', at);
        lines.items[lines.count++] = str_slice(text, at, end);
        at = end + 1;
    }
    return lines;
}

static void add(Edits *edits, char sign, Str line)
{
    edits->items[edits->count++] = (Edit){ sign, line, edits->before, edits->after };
    edits->before += sign != '+';
    edits->after += sign != '-';
}

static void add_all(Edits *edits, char sign, Lines lines)
{
    for (size_t i = 0; i < lines.count; i++) add(edits, sign, lines.items[i]);
}

/* lengths[i][k]: the longest common sequence of what is left from line i and line k on. */
static void compare(Arena *scratch, Edits *edits, Lines before, Lines after)
{
    size_t width = after.count + 1;
    if (before.count && after.count > DIFF_CELL_COUNT_MAX / before.count) {
        add_all(edits, '-', before);
        add_all(edits, '+', after);
        return;
    }
    uint32_t *lengths = ARENA_ARRAY(scratch, uint32_t, (before.count + 1) * width);
    for (size_t i = before.count; i-- > 0;)
        for (size_t k = after.count; k-- > 0;) {
            uint32_t down = lengths[(i + 1) * width + k], right = lengths[i * width + k + 1];
            bool is_equal = str_is(before.items[i], after.items[k]);
            lengths[i * width + k] = is_equal ? lengths[(i + 1) * width + k + 1] + 1 : down > right ? down : right;
        }
    size_t i = 0, k = 0;
    while (i < before.count || k < after.count) {
        if (i < before.count && k < after.count && str_is(before.items[i], after.items[k])) {
            add(edits, ' ', before.items[i++]);
            k++;
        } else if (k == after.count || (i < before.count && lengths[(i + 1) * width + k] >= lengths[i * width + k + 1])) {
            add(edits, '-', before.items[i++]);
        } else {
            add(edits, '+', after.items[k++]);
        }
    }
}

static void print_line(Buf *out, const Edit *edit, bool color)
{
    const char *paint = edit->sign == '-' ? "\x1b[31m" : edit->sign == '+' ? "\x1b[32m" : "";
    if (color) buf_text(out, paint);
    buf_char(out, edit->sign);
    buf_str(out, edit->line);
    if (color && *paint) buf_text(out, "\x1b[0m");
    buf_char(out, '\n');
}

/* Edits from..to, changes and the equal lines around them. */
static void print_hunk(Buf *out, const Edits *edits, size_t from, size_t to, bool color)
{
    size_t before = 0, after = 0;
    for (size_t i = from; i < to; i++) {
        before += edits->items[i].sign != '+';
        after += edits->items[i].sign != '-';
    }
    const Edit *first = &edits->items[from];
    buf_format(out, "@@ -%zu,%zu +%zu,%zu @@\n", first->before + (before > 0), before, first->after + (after > 0), after);
    for (size_t i = from; i < to; i++) print_line(out, &edits->items[i], color);
}

static void print_hunks(Buf *out, const Edits *edits, bool color)
{
    for (size_t i = 0; i < edits->count; i++) {
        if (edits->items[i].sign == ' ') continue;
        size_t from = i > CONTEXT_COUNT ? i - CONTEXT_COUNT : 0, to = i, equal = 0;
        while (to < edits->count && equal <= 2 * CONTEXT_COUNT) equal = edits->items[to++].sign == ' ' ? equal + 1 : 0;
        if (equal > CONTEXT_COUNT) to -= equal - CONTEXT_COUNT;
        print_hunk(out, edits, from, to, color);
        i = to - 1;
    }
}

void line_diff(Buf *out, Arena *scratch, Str name, Str before, Str after, bool color)
{
    Lines a = split(scratch, before), b = split(scratch, after);
    Edits edits = { .items = ARENA_ARRAY(scratch, Edit, a.count + b.count + 1) };
    size_t head = 0, tail = 0;
    while (head < a.count && head < b.count && str_is(a.items[head], b.items[head])) head++;
    while (tail < a.count - head && tail < b.count - head
           && str_is(a.items[a.count - tail - 1], b.items[b.count - tail - 1]))
        tail++;
    add_all(&edits, ' ', (Lines){ a.items, head });
    Lines old = { a.items + head, a.count - head - tail }, new = { b.items + head, b.count - head - tail };
    compare(scratch, &edits, old, new);
    add_all(&edits, ' ', (Lines){ a.items + a.count - tail, tail });
    buf_format(out, "--- %.*s\n+++ %.*s (formatted)\n", STR_ARG(name), STR_ARG(name));
    print_hunks(out, &edits, color);
}
