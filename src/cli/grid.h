/* grid.h - a table for people: rows of text in columns, as wide as they need to be and no wider than the terminal.
 *
 * Columns are as wide as their widest cell. Where that is too wide for the terminal, the one column that is marked so is cut,
 * with "…" at the end of what was cut. Where output is no terminal nothing is cut, unless $COLUMNS says how much room there is.
 *
 *   Grid grid = grid_begin(arena, (const GridColumn[]){ { "ID" }, { "WORKFLOW", .is_cut = true }, { NULL } });
 *   grid_cell(&grid, text) ... in the order of columns, row by row
 *   grid_print(&grid);
 *
 * Owns:   cells are copied into the arena given.     Fails: never.
 * Bounds: GRID_COLUMN_COUNT_MAX.     Thread: the main one.
 */
#ifndef CLI_GRID_H
#define CLI_GRID_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"

#define GRID_COLUMN_COUNT_MAX 12u

typedef struct GridColumn {
    const char *title;
    bool is_cut;                    /* this one gives way where there is too little room; one of a grid */
    bool is_number;                 /* stands at the right */
} GridColumn;

typedef struct Grid {
    Arena *arena;
    const GridColumn *columns;     /* ended by a NULL title; outlives the grid */
    size_t column_count;
    Str *cells;
    size_t count, capacity;
    size_t widths[GRID_COLUMN_COUNT_MAX];
} Grid;

Grid grid_begin(Arena *arena, const GridColumn *columns);
void  grid_cell(Grid *grid, Str text);           /* one line, see draw/plain.h */
void  grid_text(Grid *grid, const char *text);
void  grid_buf(Grid *grid, Buf *buf);            /* takes the text and clears the buffer */
void  grid_print(const Grid *grid);              /* to standard output, its titles first */

/* How many columns there are to write in; SIZE_MAX where nobody says. */
size_t terminal_width(void);

#endif
