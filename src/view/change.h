/* change.h - which changes of rows are permitted at all.
 *
 * What was written stays: columns of tables.def that are fixed, sealed or erasable say how. In a database triggers see to
 * it, whoever writes; a store's own changes are held against the same rules here, before a statement is made of them, so
 * that the adapter that writes most need not run a trigger for every row.
 *
 * Owns: nothing.     Fails: change_check() with ERR_DENIED.     Thread: pure, any.
 */
#ifndef VIEW_CHANGE_H
#define VIEW_CHANGE_H

#include "view/store.h"

MUST_USE Status change_check(const RowChange *change, Error *err);
/* The columns that the change would give a row that exists: PUT leaves alone what is fixed. */
uint64_t change_mask(Table table, RowOp op, uint64_t mask);
/* It touches what is sealed: the row must not have a result yet. */
bool change_needs_open(Table table, RowOp op, uint64_t mask);
/* The column that seals the rows of a table: STEP_RUNS_result. */
uint32_t table_seal(Table table);

#endif
