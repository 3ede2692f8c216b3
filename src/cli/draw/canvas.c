#include "cli/draw/canvas.h"

#include <string.h>

#include "base/utf8.h"

/* By the directions of a cell: up 1, right 2, down 4, left 8. */
static const char *const line_signs[16] = {
    " ", "│", "─", "└", "│", "│", "┌", "├", "─", "┘", "─", "┴", "┐", "┤", "┬", "┼",
};
static const char line_ascii[16 + 1] = " |-+||++-+-+++++";

static const char *const ink_codes[INK_COUNT] = {
    [INK_PLAIN] = "\x1b[0m",     [INK_TITLE] = "\x1b[0;1m", [INK_FAINT] = "\x1b[0;2m", [INK_BRANCH] = "\x1b[0;33m",
    [INK_LOOP] = "\x1b[0;35m",   [INK_MARK] = "\x1b[0;36m", [INK_OUTPUT] = "\x1b[0;32m",
};

void canvas_init(Canvas *canvas, Arena *arena, uint32_t width, uint32_t height)
{
    *canvas = (Canvas){ .cells = ARENA_ARRAY(arena, Cell, (size_t)width * height), .width = width, .height = height };
}

void canvas_clear(Canvas *canvas)
{
    memset(canvas->cells, 0, (size_t)canvas->width * canvas->height * sizeof *canvas->cells);
}

static Cell *cell_at(Canvas *canvas, uint32_t x, uint32_t y)
{
    return x < canvas->width && y < canvas->height ? &canvas->cells[(size_t)y * canvas->width + x] : NULL;
}

uint32_t canvas_text(Canvas *canvas, uint32_t x, uint32_t y, Str text, Ink ink)
{
    Cell *last = NULL;
    for (size_t at = 0; at < text.len;) {
        uint32_t point;
        size_t size = utf8_decode(str_slice(text, at, text.len), &point);
        if (size == 0) size = 1;
        uint32_t width = (uint32_t)utf8_width(str_slice(text, at, at + size));
        if (width == 0) {                                   /* joins the character before it, if there is one */
            if (last && last->size <= UINT8_MAX - size) last->size = (uint8_t)(last->size + size);
        } else if (x + width <= canvas->width) {
            last = cell_at(canvas, x, y);
            if (last) *last = (Cell){ .text = text.ptr + at, .size = (uint8_t)size, .ink = (uint8_t)ink };
            Cell *half = width == 2 ? cell_at(canvas, x + 1, y) : NULL;
            if (half) *half = (Cell){ .text = text.ptr + at, .size = 0, .ink = (uint8_t)ink };
        }
        x += width;
        at += size;
    }
    return x;
}

void canvas_repeat(Canvas *canvas, uint32_t x, uint32_t y, Str sign, uint32_t count, Ink ink)
{
    for (uint32_t i = 0; i < count; i++) canvas_text(canvas, x + i, y, sign, ink);
}

void canvas_pass(Canvas *canvas, uint32_t x, uint32_t y, uint8_t lines, CanvasPen pen)
{
    Cell *cell = cell_at(canvas, x, y);
    if (cell) *cell = (Cell){ .lines = lines, .ink = (uint8_t)pen.ink, .is_dashed = pen.is_dashed };
}

void canvas_join(Canvas *canvas, uint32_t x, uint32_t y, uint8_t lines, CanvasPen pen)
{
    Cell *cell = cell_at(canvas, x, y);
    if (cell) canvas_pass(canvas, x, y, cell->text ? lines : cell->lines | lines, pen);
}

static Str cell_sign(const Cell *cell, bool ascii)
{
    bool is_upright = cell->lines && (cell->lines & ~(LINE_UP | LINE_DOWN)) == 0;
    bool is_level = cell->lines && (cell->lines & ~(LINE_LEFT | LINE_RIGHT)) == 0;
    if (cell->text) return (Str){ cell->text, cell->size };
    if (cell->is_dashed && is_upright) return ascii ? STR(":") : STR("┊");
    if (cell->is_dashed && is_level) return ascii ? STR(".") : STR("┈");
    return ascii ? (Str){ &line_ascii[cell->lines], 1 } : str_of(line_signs[cell->lines]);
}

static bool is_blank(const Cell *cell)
{
    return cell->text ? cell->size == 1 && *cell->text == ' ' : cell->lines == 0;
}

static void print_row(const Canvas *canvas, const Cell *row, Buf *out, bool color)
{
    uint32_t end = canvas->width;
    while (end > 0 && is_blank(&row[end - 1])) end--;
    uint8_t ink = INK_PLAIN;
    for (uint32_t x = 0; x < end; x++) {
        uint8_t wanted = is_blank(&row[x]) ? ink : row[x].ink;
        if (color && wanted != ink) buf_text(out, ink_codes[wanted]);
        ink = wanted;
        buf_str(out, cell_sign(&row[x], canvas->ascii));
    }
    if (color && ink != INK_PLAIN) buf_text(out, ink_codes[INK_PLAIN]);
    buf_char(out, '\n');
}

void canvas_print(const Canvas *canvas, Buf *out, bool color)
{
    for (uint32_t y = 0; y < canvas->height; y++)
        print_row(canvas, &canvas->cells[(size_t)y * canvas->width], out, color);
}
