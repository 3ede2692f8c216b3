#include "view/change.h"

#include "base/check.h"

uint64_t change_mask(Table table, RowOp op, uint64_t mask)
{
    const TableInfo *info = table_info(table);
    mask &= table_mask(info) & ~table_key_mask(info);
    return op == ROW_PUT ? mask & ~table_fixed(table) : mask;
}

bool change_needs_open(Table table, RowOp op, uint64_t mask)
{
    return (op == ROW_UPDATE || op == ROW_PUT) && change_mask(table, op, mask) & table_sealed(table);
}

uint32_t table_seal(Table table)
{
    CHECK(table == TABLE_STEP_RUNS);        /* the only one with sealed columns */
    return STEP_RUNS_result;
}

Status change_check(const RowChange *change, Error *err)
{
    const char *name = table_info(change->table)->name;
    uint64_t mask = change_mask(change->table, change->op, change->mask);
    if (change->op == ROW_INSERT) return OK;
    if (change->op == ROW_DELETE) {
        if (!table_sealed(change->table) && !table_erasable(change->table)) return OK;
        return error_set(err, ERR_DENIED, "rows of %s are never deleted", name);
    }
    if (mask & table_fixed(change->table))
        return error_set(err, ERR_DENIED, "%s: a column that never changes was to be changed", name);
    for (uint64_t left = mask & table_erasable(change->table); left; left &= left - 1)
        if (change->cells[__builtin_ctzll(left)].kind != CELL_NULL)
            return error_set(err, ERR_DENIED, "%s: what can be erased cannot be changed", name);
    return OK;
}
