#include "cli/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/check.h"
#include "base/utf8.h"
#include "cli/command.h"

#define TABLE_GAP 2u                        /* spaces between two columns */
#define TABLE_CUT_MIN 8u                    /* a column is not cut to less */

Table table_begin(Arena *arena, const TableColumn *columns)
{
    Table table = { .arena = arena, .columns = columns };
    for (; columns[table.column_count].title; table.column_count++) {
        CHECK(table.column_count < TABLE_COLUMN_COUNT_MAX);
        table.widths[table.column_count] = strlen(columns[table.column_count].title);
    }
    return table;
}

/* What a program wrote may hold anything: here it moves no cursor. */
static Str on_one_line(Arena *arena, Str text)
{
    char *bytes = (char *)arena_copy(arena, text).ptr;
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)bytes[i] < ' ' || bytes[i] == 127) bytes[i] = ' ';
    return (Str){ bytes, text.len };
}

void table_cell(Table *table, Str text)
{
    size_t column = table->count % table->column_count;
    Str cell = on_one_line(table->arena, text);
    size_t width = utf8_width(cell);
    if (width > table->widths[column]) table->widths[column] = width;
    if (table->count == table->capacity)
        table->cells = arena_grow(table->arena, table->cells, sizeof *table->cells, table->count, &table->capacity);
    table->cells[table->count++] = cell;
}

void table_text(Table *table, const char *text) { table_cell(table, str_of(text)); }

void table_buf(Table *table, Buf *buf)
{
    table_cell(table, buf_peek(buf));
    buf_clear(buf);
}

size_t terminal_width(void)
{
    const char *columns = getenv("COLUMNS");
    uint64_t number;
    struct winsize size;
    if (columns && str_to_u64(str_of(columns), &number) && number > 0) return number;
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col) return size.ws_col;
    return SIZE_MAX;
}

/* The widths that are used: the column that gives way is made as narrow as the terminal demands. */
static void fit(const Table *table, size_t widths[TABLE_COLUMN_COUNT_MAX])
{
    size_t total = 0, room = terminal_width();
    memcpy(widths, table->widths, sizeof table->widths);
    for (size_t i = 0; i < table->column_count; i++) total += widths[i] + (i ? TABLE_GAP : 0);
    for (size_t i = 0; i < table->column_count && total > room; i++) {
        if (!table->columns[i].is_cut || widths[i] <= TABLE_CUT_MIN) continue;
        size_t over = total - room;
        size_t cut = widths[i] > TABLE_CUT_MIN + over ? over : widths[i] - TABLE_CUT_MIN;
        widths[i] -= cut;
        total -= cut;
    }
}

static void print_padded(Buf *out, Str text, size_t width, bool is_number, bool is_last)
{
    char storage[1024];
    size_t has = utf8_width(text);
    if (has > width) {
        Buf cut = buf_on(storage, sizeof storage);
        size_t used = 0;
        for (size_t at = 0; at < text.len;) {
            uint32_t point;
            size_t size = utf8_decode(str_slice(text, at, text.len), &point);
            Str one = str_slice(text, at, at + (size ? size : 1));
            if (used + utf8_width(one) + 1 > width) break;
            used += utf8_width(one);
            buf_str(&cut, one);
            at += one.len;
        }
        buf_str(out, buf_peek(&cut));
        buf_text(out, "…");
        if (!is_last) buf_repeat(out, ' ', width - used - 1);
        return;
    }
    if (is_number) buf_repeat(out, ' ', width - has);
    buf_str(out, text);
    if (!is_number && !is_last) buf_repeat(out, ' ', width - has);
}

static void print_row(const Table *table, const size_t *widths, const Str *cells, Buf *out)
{
    for (size_t i = 0; i < table->column_count; i++) {
        if (i) buf_repeat(out, ' ', TABLE_GAP);
        print_padded(out, cells[i], widths[i], table->columns[i].is_number, i + 1 == table->column_count);
    }
    while (out->len && out->ptr[out->len - 1] == ' ') out->len--;       /* empty cells at the end */
    buf_char(out, '\n');
}

void table_print(const Table *table)
{
    Str titles[TABLE_COLUMN_COUNT_MAX];
    size_t widths[TABLE_COLUMN_COUNT_MAX];
    Buf out;
    buf_init(&out, SIZE_MAX);
    fit(table, widths);
    for (size_t i = 0; i < table->column_count; i++) titles[i] = str_of(table->columns[i].title);
    print_row(table, widths, titles, &out);
    for (size_t i = 0; i + table->column_count <= table->count; i += table->column_count)
        print_row(table, widths, table->cells + i, &out);
    print_out(&out);
    buf_deinit(&out);
}
