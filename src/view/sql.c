#include "view/sql.h"

#include <string.h>

#include "base/check.h"
#include "view/change.h"

typedef struct Dialect {
    const char *types[COLUMN_TYPE_COUNT];
    const char *param;                      /* before its number */
    const char *json_check;                 /* of a column, twice */
    const char *time_text;                  /* milliseconds as text, the column three times */
    const char *clustered;                  /* behind a table whose rows lie in the order of the key */
} Dialect;

static const Dialect dialects[SQL_DIALECT_COUNT] = {
    [SQL_SQLITE] = {
        .types = { [COLUMN_INT] = "INTEGER", [COLUMN_BOOL] = "INTEGER", [COLUMN_STAMP] = "INTEGER",
                   [COLUMN_TIME] = "INTEGER", [COLUMN_MOMENT] = "TEXT", [COLUMN_TEXT] = "TEXT",
                   [COLUMN_JSON] = "TEXT", [COLUMN_BLOB] = "BLOB" },
        .param = "?",
        .json_check = " CHECK (%s IS NULL OR json_valid(%s))",
        /* By whole numbers: a fraction of seconds as a double may be off by one. */
        .time_text = "iif(%s IS NULL, NULL, strftime('%%Y-%%m-%%dT%%H:%%M:%%S', %s / 1000, 'unixepoch')"
                     " || printf('.%%03dZ', %s %% 1000))",
        .clustered = " WITHOUT ROWID",
    },
};

/* --- tables -------------------------------------------------------------------------------------------------------- */

static void add_key(Buf *buf, const TableInfo *info)
{
    for (uint32_t i = 0; i < info->key_count; i++) buf_format(buf, "%s%s", i ? ", " : "", info->columns[i].name);
}

/* A column that may be left out of an insert, although it is never null. */
static bool begins_with_zero(const TableInfo *info, uint32_t column)
{
    uint8_t type = info->columns[column].type;
    return column >= info->key_count && column_is_required(&info->columns[column]) && (type == COLUMN_INT || type == COLUMN_BOOL);
}

static void add_column(Buf *buf, const Dialect *dialect, const TableInfo *info, uint32_t column)
{
    const ColumnInfo *it = &info->columns[column];
    buf_format(buf, "  %s %s", it->name, dialect->types[it->type]);
    bool is_number = info->shape == SHAPE_NUMBERED ? column == info->key_count
                   : info->shape == SHAPE_PLAIN && info->key_count == 1 && column == 0 && it->type == COLUMN_INT;
    if (is_number) buf_text(buf, " PRIMARY KEY");
    if (column_is_required(it)) buf_text(buf, " NOT NULL");
    if (!is_number && begins_with_zero(info, column)) buf_text(buf, " DEFAULT 0");
    if (it->type == COLUMN_JSON) buf_format(buf, dialect->json_check, it->name, it->name);
    if (it->type != COLUMN_TIME) return;

    Str stem = str_slice(str_of(it->name), 0, strlen(it->name) - 2);        /* without "ms" */
    CHECK(str_is_text(str_slice(str_of(it->name), stem.len, SIZE_MAX), "ms"));
    buf_format(buf, ",\n  %.*sat TEXT GENERATED ALWAYS AS (", STR_ARG(stem));
    buf_format(buf, dialect->time_text, it->name, it->name, it->name);
    buf_text(buf, ") VIRTUAL");
}

void sql_create_table(Buf *buf, SqlDialect dialect, Table table)
{
    const TableInfo *info = table_info(table);
    buf_format(buf, "CREATE TABLE %s (\n", info->name);
    for (uint32_t i = 0; i < info->column_count; i++) {
        if (i) buf_text(buf, ",\n");
        add_column(buf, &dialects[dialect], info, i);
    }
    bool is_integer = info->shape == SHAPE_PLAIN && info->key_count == 1 && info->columns[0].type == COLUMN_INT;
    if (!is_integer) {
        buf_text(buf, info->shape == SHAPE_NUMBERED ? ",\n  UNIQUE (" : ",\n  PRIMARY KEY (");
        add_key(buf, info);
        buf_text(buf, ")");
    }
    buf_text(buf, "\n)");
    if (info->shape == SHAPE_CLUSTERED) buf_text(buf, dialects[dialect].clustered);
}

void sql_create_index(Buf *buf, const IndexInfo *index)
{
    buf_format(buf, "CREATE %sINDEX %s ON %s (%s)", index->is_unique ? "UNIQUE " : "", index->name,
               table_info(index->table)->name, index->columns);
    if (index->where[0]) buf_format(buf, " WHERE %s", index->where);
}

/* --- changes ------------------------------------------------------------------------------------------------------- */

static void add_where_key(Buf *buf, const Dialect *dialect, const TableInfo *info)
{
    for (uint32_t i = 0; i < info->key_count; i++)
        buf_format(buf, "%s%s = %s%u", i ? " AND " : " WHERE ", info->columns[i].name, dialect->param, i + 1);
}

static void add_insert(Buf *buf, const Dialect *dialect, const TableInfo *info, uint64_t mask)
{
    buf_format(buf, "INSERT INTO %s (", info->name);
    uint32_t count = 0;
    for (uint32_t i = 0; i < info->column_count; i++)
        if (mask & COLUMN_BIT(i)) buf_format(buf, "%s%s", count++ ? ", " : "", info->columns[i].name);
    buf_text(buf, ") VALUES (");
    for (uint32_t i = 0; i < count; i++) buf_format(buf, "%s%s%u", i ? ", " : "", dialect->param, i + 1);
    buf_text(buf, ")");
}

/* The columns of `set` behind the key, each from its parameter among those of `mask`. */
static void add_set(Buf *buf, const Dialect *dialect, const TableInfo *info, uint64_t mask, uint64_t set)
{
    uint32_t param = info->key_count;
    const char *before = " SET ";
    for (uint32_t i = info->key_count; i < info->column_count; i++) {
        if (!(mask & COLUMN_BIT(i))) continue;
        param++;
        if (!(set & COLUMN_BIT(i))) continue;
        buf_format(buf, "%s%s = %s%u", before, info->columns[i].name, dialect->param, param);
        before = ", ";
    }
}

/* A row that is sealed does not match: it is as if it were not there. */
static void add_open(Buf *buf, Table table, RowOp op, uint64_t mask, const char *before)
{
    if (!change_needs_open(table, op, mask)) return;
    const TableInfo *info = table_info(table);
    buf_format(buf, "%s%s.%s IS NULL", before, info->name, info->columns[table_seal(table)].name);
}

void sql_change(Buf *buf, SqlDialect dialect_number, Table table, RowOp op, uint64_t mask)
{
    const Dialect *dialect = &dialects[dialect_number];
    const TableInfo *info = table_info(table);
    mask |= table_key_mask(info);
    uint64_t set = change_mask(table, op, mask);        /* of a row that exists */
    if (op == ROW_DELETE) {
        buf_format(buf, "DELETE FROM %s", info->name);
        add_where_key(buf, dialect, info);
    } else if (op == ROW_UPDATE) {
        CHECK(set);                         /* a change that changes nothing was not meant */
        buf_format(buf, "UPDATE %s", info->name);
        add_set(buf, dialect, info, mask, set);
        add_where_key(buf, dialect, info);
        add_open(buf, table, op, mask, " AND ");
    } else {
        add_insert(buf, dialect, info, mask);
        if (op == ROW_INSERT) return;
        buf_text(buf, " ON CONFLICT (");
        add_key(buf, info);
        buf_text(buf, set ? ") DO UPDATE" : ") DO NOTHING");
        if (!set) return;
        add_set(buf, dialect, info, mask, set);
        add_open(buf, table, op, mask, " WHERE ");
    }
}

/* --- queries ------------------------------------------------------------------------------------------------------- */

static const char *const operators[CONDITION_OP_COUNT] = {
    [CONDITION_EQ] = "=", [CONDITION_LT] = "<", [CONDITION_LE] = "<=", [CONDITION_GT] = ">", [CONDITION_GE] = ">=",
    [CONDITION_EQ_IF] = "=", [CONDITION_LE_IF] = "<=", [CONDITION_GE_IF] = ">=", [CONDITION_BEFORE] = "<", [CONDITION_AFTER] = ">",
    [CONDITION_BEYOND] = ">",
};

static void add_condition(Buf *buf, const Dialect *dialect, const TableInfo *info, const QueryCondition *condition,
                          uint32_t param)
{
    const char *name = info->columns[condition->column].name, *op = operators[condition->op], *mark = dialect->param;
    switch ((ConditionOp)condition->op) {
    case CONDITION_IS_NULL:
        buf_format(buf, "%s IS NULL", name);
        break;
    case CONDITION_BEFORE: case CONDITION_AFTER:
        buf_format(buf, "(%s, %s) %s (%s%u, %s%u)", name, info->columns[condition->column_second].name, op, mark, param,
                   mark, param + 1);
        break;
    case CONDITION_BEYOND:
        buf_format(buf, "(%s, %s, %s, %s) %s (%s%u, %s%u, %s%u, %s%u)", name, info->columns[condition->column + 1].name,
                   info->columns[condition->column + 2].name, info->columns[condition->column + 3].name, op, mark, param, mark,
                   param + 1, mark, param + 2, mark, param + 3);
        break;
    case CONDITION_EQ_IF: case CONDITION_LE_IF: case CONDITION_GE_IF:
        buf_format(buf, "(%s%u IS NULL OR %s %s %s%u)", mark, param, name, op, mark, param);
        break;
    case CONDITION_EQ: case CONDITION_LT: case CONDITION_LE: case CONDITION_GT: case CONDITION_GE:
        buf_format(buf, "%s %s %s%u", name, op, mark, param);
        break;
    case CONDITION_END: case CONDITION_OP_COUNT:
        CHECK(!"a condition");
    }
}

static void add_answer(Buf *buf, const QueryInfo *query, const TableInfo *info)
{
    if (query->kind == QUERY_COUNT_ALL) {
        buf_text(buf, "count(*)");
    } else if (query->kind == QUERY_COUNT_BY) {
        buf_format(buf, "%s, count(*)", info->columns[query->along].name);
    } else {
        bool is_first = true;
        for (uint32_t i = 0; i < info->column_count; i++) {
            if (!(query->columns & COLUMN_BIT(i))) continue;
            buf_format(buf, "%s%s", is_first ? "" : ", ", info->columns[i].name);
            is_first = false;
        }
    }
}

/* All conditions from the one given on, joined by AND. Answers the number of the parameter behind them. */
static uint32_t add_conditions(Buf *buf, const Dialect *dialect, const TableInfo *info, const QueryCondition *condition,
                               uint32_t param)
{
    for (bool is_first = true; condition->op; condition++, is_first = false) {
        buf_text(buf, is_first ? " WHERE " : " AND ");
        add_condition(buf, dialect, info, condition, param);
        param += condition_param_count(condition->op);
    }
    return param;
}

/* From key to key: only keys go through the recursion; the rows are fetched behind it, in the same order. */
static void add_walk(Buf *buf, const Dialect *dialect, const QueryInfo *query, const TableInfo *info)
{
    const char *key = info->columns[0].name, *along = info->columns[query->along].name;
    buf_format(buf, "WITH RECURSIVE walk (at, next) AS (SELECT %s, %s FROM %s", key, along, info->name);
    add_conditions(buf, dialect, info, query->conditions, 1);
    buf_format(buf, " UNION ALL SELECT %s, %s FROM walk JOIN %s ON %s = next", key, along, info->name, key);
    uint32_t param = add_conditions(buf, dialect, info, query->conditions + 1, 2);
    buf_format(buf, " LIMIT %s%u) SELECT ", dialect->param, param);
    add_answer(buf, query, info);
    buf_format(buf, " FROM walk CROSS JOIN %s ON %s = at", info->name, key);
}

void sql_query(Buf *buf, SqlDialect dialect_number, Query number)
{
    const Dialect *dialect = &dialects[dialect_number];
    const QueryInfo *query = query_info(number);
    const TableInfo *info = table_info(query->table);
    if (query->kind == QUERY_WALK) {
        add_walk(buf, dialect, query, info);
        return;
    }
    buf_text(buf, "SELECT ");
    add_answer(buf, query, info);
    buf_format(buf, " FROM %s", info->name);
    uint32_t param = add_conditions(buf, dialect, info, query->conditions, 1);
    if (query->kind == QUERY_COUNT_BY)
        buf_format(buf, " GROUP BY %s ORDER BY %s", info->columns[query->along].name, info->columns[query->along].name);
    for (uint32_t i = 0; i < QUERY_ORDER_COUNT_MAX && query->orders[i].is_given; i++)
        buf_format(buf, "%s%s%s", i ? ", " : " ORDER BY ", info->columns[query->orders[i].column].name,
                   query->orders[i].is_down ? " DESC" : "");
    buf_format(buf, " LIMIT %s%u", dialect->param, param);
}
