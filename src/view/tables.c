#include "view/tables.h"

#include <assert.h>

#include "base/check.h"

enum { INDEX_PLAIN = false, INDEX_UNIQUE = true };          /* words of tables.def */

static const char *const type_names[COLUMN_TYPE_COUNT] = {
    [COLUMN_INT] = "integer", [COLUMN_BOOL] = "boolean", [COLUMN_STAMP] = "milliseconds",
    [COLUMN_TIME] = "time", [COLUMN_MOMENT] = "time as text", [COLUMN_TEXT] = "text",
    [COLUMN_JSON] = "JSON", [COLUMN_BLOB] = "bytes",
};

static const ColumnInfo columns[] = {
#define COLUMN(NAME, column, type_, need, meaning_) { #column, meaning_, COLUMN_##type_, NEED_##need },
#include "view/tables.def"
};

#define COLUMN_COUNT(NAME) (COLUMN_END_##NAME - COLUMN_FIRST_##NAME)

#define TABLE(NAME, sql_name, key_count, shape, meaning) \
    static_assert(COLUMN_COUNT(NAME) <= COLUMN_COUNT_MAX, "a mask has a bit for each column of " sql_name);
#include "view/tables.def"

static const TableInfo tables[TABLE_COUNT] = {
#define TABLE(NAME, sql_name, key_count_, shape_, meaning_) \
    { sql_name, meaning_, columns + COLUMN_FIRST_##NAME, COLUMN_COUNT(NAME), key_count_, SHAPE_##shape_ },
#include "view/tables.def"
};

/* Masks by table: each row of a table begins one, each of a column adds its bit, the end closes it. */
#define TABLE(NAME, sql_name, key_count, shape, meaning) [TABLE_##NAME] = 0
#define COLUMN(NAME, column, type, need, meaning) \
    | (NEED_##need == NEED_FIXED || NEED_##need == NEED_FIXED_OPTIONAL ? COLUMN_BIT(NAME##_##column) : 0)
#define END(NAME) ,
static const uint64_t fixed_masks[TABLE_COUNT] = {
#include "view/tables.def"
};

#define TABLE(NAME, sql_name, key_count, shape, meaning) [TABLE_##NAME] = 0
#define COLUMN(NAME, column, type, need, meaning) | (NEED_##need == NEED_SEALED ? COLUMN_BIT(NAME##_##column) : 0)
#define END(NAME) ,
static const uint64_t sealed_masks[TABLE_COUNT] = {
#include "view/tables.def"
};

#define TABLE(NAME, sql_name, key_count, shape, meaning) [TABLE_##NAME] = 0
#define COLUMN(NAME, column, type, need, meaning) | (NEED_##need == NEED_ERASABLE ? COLUMN_BIT(NAME##_##column) : 0)
#define END(NAME) ,
static const uint64_t erasable_masks[TABLE_COUNT] = {
#include "view/tables.def"
};

uint64_t table_fixed(Table table) { return fixed_masks[table]; }
uint64_t table_sealed(Table table) { return sealed_masks[table]; }
uint64_t table_erasable(Table table) { return erasable_masks[table]; }

const IndexInfo index_infos[] = {
#define INDEX(NAME, sql_name, unique, columns_, where_) { sql_name, columns_, where_, TABLE_##NAME, INDEX_##unique },
#include "view/tables.def"
};
const uint32_t index_count = sizeof index_infos / sizeof index_infos[0];

const TableInfo *table_info(Table table)
{
    CHECK(table < TABLE_COUNT);
    return &tables[table];
}

const char *column_type_name(ColumnType type) { return type_names[type]; }
