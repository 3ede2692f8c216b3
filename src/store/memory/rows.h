/* rows.h - the rows of one table in memory, kept by its key and its unique indexes.
 *
 * Each order is an array of pointers to rows: numbers given out in append order are appended, anything else is moved into
 * its place. Simple, small, and quick for the sizes that simulations and tests have.
 *
 * Owns:   everything, until rows_deinit(); texts are copied.
 * Fails:  rows_admit() with ERR_CONFLICT or ERR_INVALID; nothing else can.     Thread: one at a time.
 */
#ifndef STORE_MEMORY_ROWS_H
#define STORE_MEMORY_ROWS_H

#include "view/queries.h"

#define ROW_ORDER_COUNT_MAX 4u              /* the key, and unique indexes */

typedef struct Row Row;

/* Rows sorted by some columns. */
typedef struct RowOrder {
    uint8_t columns[4], column_count;
    uint8_t needed;                         /* rows where this column is null are left out, unless it is in the key */
    bool leaves_out;
    Row **rows;
    uint32_t count, capacity;
} RowOrder;

typedef struct Rows {
    const TableInfo *info;
    RowOrder orders[ROW_ORDER_COUNT_MAX];   /* the first is that of the key */
    uint32_t order_count;
} Rows;

void rows_init(Rows *rows, Table table);
void rows_deinit(Rows *rows);

/* Whether the change could be made now. */
MUST_USE Status rows_admit(const Rows *rows, const RowChange *change, Error *err);
void rows_apply(Rows *rows, const RowChange *change);       /* after rows_admit() */
const Row *rows_find(const Rows *rows, const Cell *key);    /* or NULL */
Cell row_cell(const Row *row, uint32_t column);             /* borrowed until the row changes */

/* Calls back for the rows that answer the question, in its order. */
void rows_select(const Rows *rows, const QueryInfo *query, const QueryAsk *ask, RowVisit visit, void *context);

#endif
