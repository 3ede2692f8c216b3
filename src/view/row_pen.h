/* row_pen.h - private to the projection: the rows of a batch by their keys, and a pen to write into one of them.
 *
 * However often a row is written to, by however many records, it is one change in the end. row_pen.c holds the rows of a
 * Projection; the files of the fold write by pens alone.
 *
 * Owns: everything lives in the arena of the batch.     Fails: never.     Thread: one at a time.
 */
#ifndef VIEW_ROW_PEN_H
#define VIEW_ROW_PEN_H

#include "view/projection.h"

typedef struct RowPen { Projection *projection; uint32_t index; } RowPen;

/* The row with this key. Of one that was written to before, `op` is joined with what was done to it. */
RowPen pen_at(Projection *projection, Table table, RowOp op, const Cell *key);
Arena *pen_arena(RowPen pen);

void put(RowPen pen, uint32_t column, Cell cell);
void put_int(RowPen pen, uint32_t column, uint64_t number);
void put_name(RowPen pen, uint32_t column, const char *name);
void put_null(RowPen pen, uint32_t column);
/* Nothing where it is 0. A moment is the time as text. */
void put_time(RowPen pen, uint32_t column, int64_t ms);
void put_moment(RowPen pen, uint32_t column, int64_t ms);
/* Nothing where it is empty. Texts of plans and runs outlive the batch; those of events do not. */
void put_borrowed(RowPen pen, uint32_t column, Str text);
void put_copied(RowPen pen, uint32_t column, Str text);

#endif
