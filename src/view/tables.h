/* tables.h - the tables of a store as data: names, columns, keys, indexes (tables.def).
 *
 * Whoever writes or reads a row names its columns by the constants made here: cells[RUNS_state]. Adapters generate their
 * statements from the descriptions, so that a column is added in one line and known everywhere.
 *
 * Owns: nothing; everything is constant.     Fails: never.     Thread: pure, any.
 */
#ifndef VIEW_TABLES_H
#define VIEW_TABLES_H

#include <stdbool.h>
#include <stdint.h>

typedef enum Table {
#define TABLE(NAME, sql_name, key_count, shape, meaning) TABLE_##NAME,
#include "view/tables.def"
    TABLE_COUNT
} Table;

/* Columns numbered through all tables; the marks of a table take no number. */
enum {
#define TABLE(NAME, sql_name, key_count, shape, meaning) COLUMN_FIRST_##NAME, COLUMN_BEFORE_##NAME = COLUMN_FIRST_##NAME - 1,
#define COLUMN(NAME, column, type, need, meaning) COLUMN_##NAME##_##column,
#define END(NAME) COLUMN_END_##NAME, COLUMN_LAST_##NAME = COLUMN_END_##NAME - 1,
#include "view/tables.def"
    COLUMN_TOTAL
};

/* Columns numbered within their table: RUNS_state. */
enum {
#define COLUMN(NAME, column, type, need, meaning) NAME##_##column = COLUMN_##NAME##_##column - COLUMN_FIRST_##NAME,
#include "view/tables.def"
};

#define COLUMN_COUNT_MAX 64u            /* of one table: masks have a bit each */
#define COLUMN_BIT(column) (UINT64_C(1) << (column))

typedef enum ColumnType { COLUMN_INT, COLUMN_BOOL, COLUMN_STAMP, COLUMN_TIME, COLUMN_MOMENT, COLUMN_TEXT, COLUMN_JSON,
                          COLUMN_BLOB, COLUMN_TYPE_COUNT } ColumnType;
typedef enum ColumnNeed { NEED_REQUIRED, NEED_OPTIONAL, NEED_FIXED, NEED_FIXED_OPTIONAL, NEED_SEALED, NEED_ERASABLE } ColumnNeed;
typedef enum TableShape { SHAPE_PLAIN, SHAPE_CLUSTERED, SHAPE_NUMBERED } TableShape;

typedef struct ColumnInfo {
    const char *name, *meaning;
    uint8_t type, need;             /* a ColumnType, a ColumnNeed */
} ColumnInfo;

typedef struct TableInfo {
    const char *name, *meaning;
    const ColumnInfo *columns;
    uint8_t column_count, key_count;
    uint8_t shape;                  /* a TableShape */
} TableInfo;

typedef struct IndexInfo {
    const char *name, *columns, *where;     /* SQL text; `where` is empty for all rows */
    uint8_t table;
    bool is_unique;
} IndexInfo;

const TableInfo *table_info(Table table);
static inline bool column_is_required(const ColumnInfo *column)         /* never null */
{
    return column->need == NEED_REQUIRED || column->need == NEED_FIXED;
}
/* Masks of the columns that are fixed, whether null or not; that are sealed; that are erasable. */
uint64_t table_fixed(Table table);
uint64_t table_sealed(Table table);
uint64_t table_erasable(Table table);
static inline uint64_t table_mask(const TableInfo *info)       /* all columns */
{
    return info->column_count == COLUMN_COUNT_MAX ? UINT64_MAX : COLUMN_BIT(info->column_count) - 1;
}
static inline uint64_t table_key_mask(const TableInfo *info) { return COLUMN_BIT(info->key_count) - 1; }

extern const IndexInfo index_infos[];
extern const uint32_t index_count;

const char *column_type_name(ColumnType type);      /* "integer", "time", ...: what documents call it */

#endif
