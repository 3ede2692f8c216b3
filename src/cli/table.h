/* table.h - rows of text in columns, as wide as they need to be and no wider than the terminal.
 *
 * Columns are as wide as their widest cell. Where that is too wide for the terminal, the one column that is marked so is cut,
 * with "…" at the end of what was cut. Where output is no terminal nothing is cut, unless $COLUMNS says how much room there is.
 *
 *   Table table = table_begin(arena, (const TableColumn[]){ { "ID" }, { "WORKFLOW", .is_cut = true }, { NULL } });
 *   table_cell(&table, text) ... in the order of columns, row by row
 *   table_print(&table);
 *
 * Owns:   cells are copied into the arena given.     Fails: never.
 * Bounds: TABLE_COLUMN_COUNT_MAX.     Thread: the main one.
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"

#define TABLE_COLUMN_COUNT_MAX 12u

typedef struct TableColumn {
    const char *title;
    bool is_cut;                    /* this one gives way where there is too little room; one of a table */
    bool is_number;                 /* stands at the right */
} TableColumn;

typedef struct Table {
    Arena *arena;
    const TableColumn *columns;     /* ended by a NULL title; outlives the table */
    size_t column_count;
    Str *cells;
    size_t count, capacity;
    size_t widths[TABLE_COLUMN_COUNT_MAX];
} Table;

Table table_begin(Arena *arena, const TableColumn *columns);
void  table_cell(Table *table, Str text);           /* line ends and control characters become spaces */
void  table_text(Table *table, const char *text);
void  table_buf(Table *table, Buf *buf);            /* takes the text and clears the buffer */
void  table_print(const Table *table);              /* to standard output, its titles first */

/* How many columns there are to write in; SIZE_MAX where nobody says. */
size_t terminal_width(void);

#endif
