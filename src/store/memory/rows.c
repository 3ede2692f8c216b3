#include "store/memory/rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "view/change.h"

typedef struct StoredCell {
    uint8_t kind;                           /* a CellKind */
    uint32_t capacity;                      /* bytes at `ptr`, used again by the next text that fits */
    int64_t integer;
    char *ptr;
    size_t len;
} StoredCell;

struct Row { StoredCell cells[1]; };        /* as many as the table has columns */

/* --- cells --------------------------------------------------------------------------------------------------------- */

Cell row_cell(const Row *row, uint32_t column)
{
    const StoredCell *cell = &row->cells[column];
    if (cell->kind == CELL_INT) return cell_int(cell->integer);
    return (Cell){ .kind = cell->kind, .text = { cell->ptr, cell->len } };
}

static void cell_store(StoredCell *stored, Cell cell)
{
    stored->kind = cell.kind;
    if (cell.kind == CELL_INT) {
        stored->integer = cell.integer;
    } else if (cell.kind != CELL_NULL) {
        if (cell.text.len > stored->capacity) {
            free(stored->ptr);
            stored->ptr = malloc(cell.text.len);
            CHECK(stored->ptr != NULL);
            stored->capacity = (uint32_t)cell.text.len;
        }
        if (cell.text.len) memcpy(stored->ptr, cell.text.ptr, cell.text.len);
        stored->len = cell.text.len;
    }
}

/* The order of SQL: null, numbers, texts, bytes. */
static int cell_compare(Cell a, Cell b)
{
    if (a.kind != b.kind) return a.kind < b.kind ? -1 : 1;
    if (a.kind == CELL_NULL) return 0;
    if (a.kind == CELL_INT) return (a.integer > b.integer) - (a.integer < b.integer);
    return str_compare(a.text, b.text);
}

/* --- orders -------------------------------------------------------------------------------------------------------- */

/* Compares the first `count` columns of the order with the cells. */
static int order_compare(const RowOrder *order, const Row *row, const Cell *cells, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        int compared = cell_compare(row_cell(row, order->columns[i]), cells[i]);
        if (compared) return compared;
    }
    return 0;
}

/* The first place whose row is not below the cells; with `is_after`, the first that is above them. */
static uint32_t order_place(const RowOrder *order, const Cell *cells, uint32_t count, bool is_after)
{
    uint32_t low = 0, high = order->count;
    if (high && order_compare(order, order->rows[high - 1], cells, count) < 0) return high;     /* appended: the usual case */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int compared = order_compare(order, order->rows[middle], cells, count);
        if (compared < 0 || (is_after && compared == 0)) low = middle + 1;
        else high = middle;
    }
    return low;
}

static Row *order_find(const RowOrder *order, const Cell *cells)
{
    uint32_t place = order_place(order, cells, order->column_count, /* is_after= */ false);
    if (place == order->count || order_compare(order, order->rows[place], cells, order->column_count)) return NULL;
    return order->rows[place];
}

static void order_insert(RowOrder *order, Row *row)
{
    Cell cells[4];
    for (uint32_t i = 0; i < order->column_count; i++) cells[i] = row_cell(row, order->columns[i]);
    if (order->leaves_out && row->cells[order->needed].kind == CELL_NULL) return;
    uint32_t place = order_place(order, cells, order->column_count, /* is_after= */ true);
    if (order->count == order->capacity) {
        order->capacity = order->capacity ? order->capacity * 2 : 16;
        order->rows = realloc(order->rows, order->capacity * sizeof(Row *));
        CHECK(order->rows != NULL);
    }
    memmove(order->rows + place + 1, order->rows + place, (order->count - place) * sizeof(Row *));
    order->rows[place] = row;
    order->count++;
}

static void order_remove(RowOrder *order, const Row *row)
{
    Cell cells[4];
    for (uint32_t i = 0; i < order->column_count; i++) cells[i] = row_cell(row, order->columns[i]);
    uint32_t place = order_place(order, cells, order->column_count, /* is_after= */ false);
    if (place == order->count || order->rows[place] != row) return;        /* it was left out */
    order->count--;
    memmove(order->rows + place, order->rows + place + 1, (order->count - place) * sizeof(Row *));
}

/* The columns that an index names, as SQL text: "tenant, label". */
static void order_read(RowOrder *order, const TableInfo *info, const IndexInfo *index)
{
    for (Str rest = str_of(index->columns); rest.len;) {
        size_t comma = str_find(rest, ',', 0);
        Str name = str_trim(str_slice(rest, 0, comma));
        rest = str_slice(rest, comma + 1, SIZE_MAX);
        uint32_t column = 0;
        while (column < info->column_count && !str_is_text(name, info->columns[column].name)) column++;
        CHECK(column < info->column_count && order->column_count < 4);
        order->columns[order->column_count++] = (uint8_t)column;
    }
    for (uint32_t i = 0; i < order->column_count; i++) {
        if (column_is_required(&info->columns[order->columns[i]])) continue;
        order->leaves_out = true;           /* SQL never takes two nulls for equal */
        order->needed = order->columns[i];
    }
}

/* --- rows ---------------------------------------------------------------------------------------------------------- */

void rows_init(Rows *rows, Table table)
{
    *rows = (Rows){ .info = table_info(table), .order_count = 1 };
    RowOrder *key = &rows->orders[0];
    for (uint32_t i = 0; i < rows->info->key_count; i++) key->columns[key->column_count++] = (uint8_t)i;
    for (uint32_t i = 0; i < index_count; i++) {
        if (index_infos[i].table != table || !index_infos[i].is_unique) continue;
        CHECK(rows->order_count < ROW_ORDER_COUNT_MAX);
        order_read(&rows->orders[rows->order_count++], rows->info, &index_infos[i]);
    }
}

static void row_free(const Rows *rows, Row *row)
{
    for (uint32_t i = 0; i < rows->info->column_count; i++) free(row->cells[i].ptr);
    free(row);
}

void rows_deinit(Rows *rows)
{
    for (uint32_t i = 0; i < rows->orders[0].count; i++) row_free(rows, rows->orders[0].rows[i]);
    for (uint32_t i = 0; i < rows->order_count; i++) free(rows->orders[i].rows);
}

const Row *rows_find(const Rows *rows, const Cell *key) { return order_find(&rows->orders[0], key); }

static bool order_is_touched(const RowOrder *order, const RowChange *change)
{
    for (uint32_t i = 0; i < order->column_count; i++)
        if (change->mask & COLUMN_BIT(order->columns[i])) return true;
    return false;
}

/* The cells that an order will have after the change, to a row or to none; false where it leaves the row out. */
static bool order_cells(const RowOrder *order, const RowChange *change, const Row *row, Cell *out)
{
    for (uint32_t i = 0; i < order->column_count; i++) {
        uint32_t column = order->columns[i];
        out[i] = change->mask & COLUMN_BIT(column) ? change->cells[column] : row ? row_cell(row, column) : cell_int(0);
        bool is_given = row || change->mask & COLUMN_BIT(column);
        if (order->leaves_out && column == order->needed && (!is_given || out[i].kind == CELL_NULL)) return false;
    }
    return true;
}

static Status admit_unique(const Rows *rows, const RowChange *change, const Row *row, Error *err)
{
    for (uint32_t i = 1; i < rows->order_count; i++) {
        const RowOrder *order = &rows->orders[i];
        Cell cells[4];
        if ((row && !order_is_touched(order, change)) || !order_cells(order, change, row, cells)) continue;
        const Row *other = order_find(order, cells);
        if (other && other != row)
            return error_set(err, ERR_CONFLICT, "%s has another row with the same %s", rows->info->name,
                             rows->info->columns[order->columns[0]].name);
    }
    return OK;
}

/* What is never null is given, or begins with 0. */
static Status admit_required(const Rows *rows, const RowChange *change, bool is_new, Error *err)
{
    for (uint32_t i = rows->info->key_count; i < rows->info->column_count; i++) {
        const ColumnInfo *column = &rows->info->columns[i];
        if (!column_is_required(column)) continue;
        bool is_given = change->mask & COLUMN_BIT(i);
        bool is_null = is_given ? change->cells[i].kind == CELL_NULL
                                : is_new && column->type != COLUMN_INT && column->type != COLUMN_BOOL;
        if (is_null) return error_set(err, ERR_INVALID, "%s.%s is missing", rows->info->name, column->name);
    }
    return OK;
}

Status rows_admit(const Rows *rows, const RowChange *change, Error *err)
{
    Status status = change_check(change, err);
    if (status || change->op == ROW_DELETE) return status;
    const Row *row = rows_find(rows, change->cells);
    if (row && change->op == ROW_INSERT)
        return error_set(err, ERR_CONFLICT, "%s has a row with this key already", rows->info->name);
    if (!row && change->op == ROW_UPDATE)
        return error_set(err, ERR_CONFLICT, "%s has no row with this key", rows->info->name);
    if (row && change_needs_open(change->table, change->op, change->mask)
        && row->cells[table_seal(change->table)].kind != CELL_NULL)
        return error_set(err, ERR_CONFLICT, "%s has no row with this key that may be changed so", rows->info->name);
    status = admit_required(rows, change, !row, err);
    return status ? status : admit_unique(rows, change, row, err);
}

static Row *row_new(const Rows *rows, const RowChange *change)
{
    Row *row = calloc(rows->info->column_count, sizeof(StoredCell));
    CHECK(row != NULL);
    for (uint32_t i = 0; i < rows->info->column_count; i++) {
        const ColumnInfo *column = &rows->info->columns[i];
        if (i < rows->info->key_count) cell_store(&row->cells[i], change->cells[i]);
        else if (column_is_required(column) && (column->type == COLUMN_INT || column->type == COLUMN_BOOL))
            row->cells[i].kind = CELL_INT;
    }
    return row;
}

void rows_apply(Rows *rows, const RowChange *change)
{
    Row *row = order_find(&rows->orders[0], change->cells);
    bool is_new = !row;
    if (change->op == ROW_DELETE) {
        if (is_new) return;
        for (uint32_t i = 0; i < rows->order_count; i++) order_remove(&rows->orders[i], row);
        row_free(rows, row);
        return;
    }
    CHECK(is_new == (change->op == ROW_INSERT) || change->op == ROW_PUT);
    if (is_new) row = row_new(rows, change);

    uint64_t mask = change_mask(change->table, is_new ? ROW_INSERT : change->op, change->mask);
    uint32_t moved = is_new ? 1 : 0;        /* bit of each order that has to place it anew */
    for (uint32_t i = 1; i < rows->order_count; i++) {
        if (!is_new && !order_is_touched(&rows->orders[i], change)) continue;
        if (!is_new) order_remove(&rows->orders[i], row);
        moved |= 1u << i;
    }
    for (; mask; mask &= mask - 1) {
        uint32_t column = (uint32_t)__builtin_ctzll(mask);
        cell_store(&row->cells[column], change->cells[column]);
    }
    for (uint32_t i = 0; i < rows->order_count; i++)
        if (moved & (1u << i)) order_insert(&rows->orders[i], row);
}

/* --- questions ----------------------------------------------------------------------------------------------------- */

static bool condition_holds(const QueryCondition *condition, const Row *row, const Cell *params)
{
    Cell cell = row_cell(row, condition->column);
    if (condition->op == CONDITION_IS_NULL) return cell.kind == CELL_NULL;
    bool is_optional = condition->op >= CONDITION_EQ_IF && condition->op <= CONDITION_GE_IF;
    if (params[0].kind == CELL_NULL) return is_optional;
    if (cell.kind == CELL_NULL) return false;
    int compared = cell_compare(cell, params[0]);
    if ((condition->op == CONDITION_BEFORE || condition->op == CONDITION_AFTER) && !compared)
        compared = cell_compare(row_cell(row, condition->column_second), params[1]);
    for (uint32_t i = 1; condition->op == CONDITION_BEYOND && !compared && i < 4; i++)
        compared = cell_compare(row_cell(row, condition->column + i), params[i]);
    switch ((ConditionOp)condition->op) {
    case CONDITION_EQ: case CONDITION_EQ_IF: return compared == 0;
    case CONDITION_LT: case CONDITION_BEFORE: return compared < 0;
    case CONDITION_LE: case CONDITION_LE_IF: return compared <= 0;
    case CONDITION_GT: case CONDITION_AFTER: case CONDITION_BEYOND: return compared > 0;
    case CONDITION_GE: case CONDITION_GE_IF: return compared >= 0;
    case CONDITION_IS_NULL: case CONDITION_END: case CONDITION_OP_COUNT: break;
    }
    CHECK(!"a condition");
}

static bool row_answers(const Row *row, const QueryInfo *query, const Cell *params)
{
    for (const QueryCondition *condition = query->conditions; condition->op; condition++) {
        if (!condition_holds(condition, row, params)) return false;
        params += condition_param_count(condition->op);
    }
    return true;
}

/* The parameter of the condition of that kind on a column, or NULL. */
static const Cell *param_of(const QueryInfo *query, const Cell *params, uint32_t column, ConditionOp op)
{
    for (const QueryCondition *condition = query->conditions; condition->op; condition++) {
        if (condition->op == op && condition->column == column) return params;
        params += condition_param_count(condition->op);
    }
    return NULL;
}

/* Part of an order in which the answers lie. */
typedef struct Range {
    const RowOrder *order;
    uint32_t first, end;
    uint32_t equal_count;                   /* leading columns of the order that are equal in all of it */
} Range;

static Range range_find(const Rows *rows, const QueryInfo *query, const Cell *params)
{
    Range best = { &rows->orders[0], 0, rows->orders[0].count, 0 };
    Cell cells[4];
    for (uint32_t i = 0; i < rows->order_count; i++) {
        const RowOrder *order = &rows->orders[i];
        if (order->leaves_out && !param_of(query, params, order->needed, CONDITION_EQ)) continue;
        Range range = { order, 0, order->count, 0 };
        const Cell *param;
        while (range.equal_count < order->column_count
               && (param = param_of(query, params, order->columns[range.equal_count], CONDITION_EQ)))
            cells[range.equal_count++] = *param;
        if (i && range.equal_count <= best.equal_count) continue;
        if (range.equal_count) {
            range.first = order_place(order, cells, range.equal_count, /* is_after= */ false);
            range.end = order_place(order, cells, range.equal_count, /* is_after= */ true);
        }
        uint32_t next = range.equal_count;
        if (next < order->column_count) {
            static const struct { ConditionOp op; bool is_after, is_end; } bounds[] = {
                { CONDITION_GT, true, false }, { CONDITION_GE, false, false }, { CONDITION_LT, false, true },
                { CONDITION_LE, true, true },
            };
            for (uint32_t b = 0; b < 4; b++) {
                param = param_of(query, params, order->columns[next], bounds[b].op);
                if (!param) continue;
                cells[next] = *param;
                *(bounds[b].is_end ? &range.end : &range.first) = order_place(order, cells, next + 1, bounds[b].is_after);
            }
        }
        best = range;
    }
    if (best.end < best.first) best.end = best.first;
    return best;
}

/* Sorting needs to know by what; qsort_r hands it on. */
static int row_compare(const void *a, const void *b, void *context)
{
    const QueryInfo *query = context;
    const Row *row_a = *(Row *const *)a, *row_b = *(Row *const *)b;
    for (uint32_t i = 0; i < QUERY_ORDER_COUNT_MAX && query->orders[i].is_given; i++) {
        uint32_t column = query->orders[i].column;
        int compared = cell_compare(row_cell(row_a, column), row_cell(row_b, column));
        if (compared) return query->orders[i].is_down ? -compared : compared;
    }
    return 0;
}

static bool row_give(const Rows *rows, const Row *row, uint64_t columns, RowVisit visit, void *context)
{
    Cell cells[COLUMN_COUNT_MAX];
    for (uint32_t i = 0; i < rows->info->column_count; i++)
        cells[i] = columns & COLUMN_BIT(i) ? row_cell(row, i) : cell_null();
    return visit(context, cells, rows->info->column_count);
}

static void give_counts(const Rows *rows, const QueryInfo *query, const QueryAsk *ask, RowVisit visit, void *context)
{
    struct { Cell group; int64_t count; } groups[64];
    uint32_t group_count = query->kind == QUERY_COUNT_ALL ? 1 : 0;
    groups[0].count = 0;
    const RowOrder *key = &rows->orders[0];
    for (uint32_t i = 0; i < key->count; i++) {
        if (!row_answers(key->rows[i], query, ask->params)) continue;
        uint32_t g = 0;
        if (query->kind == QUERY_COUNT_BY) {
            Cell group = row_cell(key->rows[i], query->along);
            while (g < group_count && cell_compare(groups[g].group, group) < 0) g++;
            if (g == group_count || cell_compare(groups[g].group, group)) {
                CHECK(group_count < 64);
                memmove(groups + g + 1, groups + g, (group_count - g) * sizeof groups[0]);
                groups[g].group = group;
                groups[g].count = 0;
                group_count++;
            }
        }
        groups[g].count++;
    }
    for (uint32_t g = 0; g < group_count; g++) {
        Cell cells[2] = { groups[g].group, cell_int(groups[g].count) };
        bool is_all = query->kind == QUERY_COUNT_ALL;
        if (!visit(context, is_all ? cells + 1 : cells, is_all ? 1 : 2)) return;
    }
}

static void give_walk(const Rows *rows, const QueryInfo *query, const QueryAsk *ask, RowVisit visit, void *context)
{
    Cell params[QUERY_PARAM_COUNT_MAX];
    memcpy(params, ask->params, sizeof params);
    for (uint32_t left = ask->row_count_max ? ask->row_count_max : query->row_count; left; left--) {
        Range range = range_find(rows, query, params);
        if (range.first == range.end || !row_answers(range.order->rows[range.first], query, params)) return;
        const Row *row = range.order->rows[range.first];
        if (!row_give(rows, row, query->columns, visit, context)) return;
        params[0] = row_cell(row, query->along);
    }
}

void rows_select(const Rows *rows, const QueryInfo *query, const QueryAsk *ask, RowVisit visit, void *context)
{
    if (query->kind == QUERY_WALK) {
        give_walk(rows, query, ask, visit, context);
        return;
    }
    if (query->kind != QUERY_ROWS) {
        give_counts(rows, query, ask, visit, context);
        return;
    }
    Range range = range_find(rows, query, ask->params);
    uint32_t left = ask->row_count_max ? ask->row_count_max : query->row_count;
    bool is_ordered = !query->orders[0].is_given
                   || (!query->orders[1].is_given && range.equal_count < range.order->column_count
                       && range.order->columns[range.equal_count] == query->orders[0].column);
    if (is_ordered) {
        bool is_down = query->orders[0].is_down;
        for (uint32_t i = 0; i < range.end - range.first && left; i++) {
            const Row *row = range.order->rows[is_down ? range.end - 1 - i : range.first + i];
            if (!row_answers(row, query, ask->params)) continue;
            left--;
            if (!row_give(rows, row, query->columns, visit, context)) return;
        }
        return;
    }
    Row **found = malloc((range.end - range.first + 1) * sizeof *found);
    CHECK(found != NULL);
    uint32_t count = 0;
    for (uint32_t i = range.first; i < range.end; i++)
        if (row_answers(range.order->rows[i], query, ask->params)) found[count++] = range.order->rows[i];
    qsort_r(found, count, sizeof *found, row_compare, (void *)query);
    for (uint32_t i = 0; i < count && i < left; i++)
        if (!row_give(rows, found[i], query->columns, visit, context)) break;
    free(found);
}
