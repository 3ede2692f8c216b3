#include "cli/grid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/check.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/draw/plain.h"

#define GRID_GAP 2u                        /* spaces between two columns */
#define GRID_CUT_MIN 8u                    /* a column is not cut to less */

Grid grid_begin(Arena *arena, const GridColumn *columns)
{
    Grid grid = { .arena = arena, .columns = columns };
    for (; columns[grid.column_count].title; grid.column_count++) {
        CHECK(grid.column_count < GRID_COLUMN_COUNT_MAX);
        grid.widths[grid.column_count] = strlen(columns[grid.column_count].title);
    }
    return grid;
}

void grid_cell(Grid *grid, Str text)
{
    size_t column = grid->count % grid->column_count;
    Str plain = plain_text(grid->arena, text, PLAIN_LINE), cell = plain.ptr == text.ptr ? arena_copy(grid->arena, text) : plain;
    size_t width = utf8_width(cell);
    if (width > grid->widths[column]) grid->widths[column] = width;
    if (grid->count == grid->capacity)
        grid->cells = arena_grow(grid->arena, grid->cells, sizeof *grid->cells, grid->count, &grid->capacity);
    grid->cells[grid->count++] = cell;
}

void grid_text(Grid *grid, const char *text) { grid_cell(grid, str_of(text)); }

void grid_buf(Grid *grid, Buf *buf)
{
    grid_cell(grid, buf_peek(buf));
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
static void fit(const Grid *grid, size_t widths[GRID_COLUMN_COUNT_MAX])
{
    size_t total = 0, room = terminal_width();
    memcpy(widths, grid->widths, sizeof grid->widths);
    for (size_t i = 0; i < grid->column_count; i++) total += widths[i] + (i ? GRID_GAP : 0);
    for (size_t i = 0; i < grid->column_count && total > room; i++) {
        if (!grid->columns[i].is_cut || widths[i] <= GRID_CUT_MIN) continue;
        size_t over = total - room;
        size_t cut = widths[i] > GRID_CUT_MIN + over ? over : widths[i] - GRID_CUT_MIN;
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

static void print_row(const Grid *grid, const size_t *widths, const Str *cells, Buf *out)
{
    for (size_t i = 0; i < grid->column_count; i++) {
        if (i) buf_repeat(out, ' ', GRID_GAP);
        print_padded(out, cells[i], widths[i], grid->columns[i].is_number, i + 1 == grid->column_count);
    }
    while (out->len && out->ptr[out->len - 1] == ' ') out->len--;       /* empty cells at the end */
    buf_char(out, '\n');
}

void grid_print(const Grid *grid)
{
    Str titles[GRID_COLUMN_COUNT_MAX];
    size_t widths[GRID_COLUMN_COUNT_MAX];
    Buf out;
    buf_init(&out, SIZE_MAX);
    fit(grid, widths);
    for (size_t i = 0; i < grid->column_count; i++) titles[i] = str_of(grid->columns[i].title);
    print_row(grid, widths, titles, &out);
    for (size_t i = 0; i + grid->column_count <= grid->count; i += grid->column_count)
        print_row(grid, widths, grid->cells + i, &out);
    print_out(&out);
    buf_deinit(&out);
}
