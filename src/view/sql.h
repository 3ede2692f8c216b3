/* sql.h - the statements of a store, made of the descriptions of its tables and queries.
 *
 * One generator for every database that speaks SQL: what differs between them is a row of a table in sql.c. Statements have
 * numbered parameters and hold no data. Views and triggers are not made here: they are SQL by nature and lie with their
 * adapter.
 *
 * Parameters of a change are its columns in order, those of the key first; those of a query are its own in order, and behind
 * them the greatest number of rows.
 *
 * Owns: nothing.     Fails: never; a buffer of SQL_TEXT_SIZE_MAX holds every statement.     Thread: pure, any.
 */
#ifndef VIEW_SQL_H
#define VIEW_SQL_H

#include "base/buf.h"
#include "view/queries.h"

typedef enum SqlDialect { SQL_SQLITE, SQL_DIALECT_COUNT } SqlDialect;

void sql_create_table(Buf *buf, SqlDialect dialect, Table table);
void sql_create_index(Buf *buf, const IndexInfo *index);
void sql_change(Buf *buf, SqlDialect dialect, Table table, RowOp op, uint64_t mask);
void sql_query(Buf *buf, SqlDialect dialect, Query query);

#endif
