#include "view/row_pen.h"

#include "base/civil.h"
#include "view/row_key.h"

typedef struct Pending { uint64_t hash; Cell *cells; } Pending;        /* cells: ours to write to, or NULL */

struct Projection {
    Arena *arena;
    RowChange *changes;
    Pending *pendings;              /* beside the changes */
    uint32_t count;
    size_t change_capacity, pending_capacity;
    uint32_t *slots;                /* hash -> index + 1 */
    uint32_t slot_count;            /* a power of two */
};

/* --- rows by key --------------------------------------------------------------------------------------------------- */

#define SLOT_COUNT_FIRST 64u

Projection *projection_make(Arena *arena)
{
    Projection *projection = ARENA_NEW(arena, Projection);
    projection->arena = arena;
    projection->slot_count = SLOT_COUNT_FIRST;
    projection->slots = ARENA_ARRAY(arena, uint32_t, SLOT_COUNT_FIRST);
    return projection;
}

static void grow_slots(Projection *projection)
{
    projection->slot_count *= 4;
    projection->slots = ARENA_ARRAY(projection->arena, uint32_t, projection->slot_count);
    for (uint32_t i = 0; i < projection->count; i++) {
        uint32_t at = (uint32_t)projection->pendings[i].hash & (projection->slot_count - 1);
        while (projection->slots[at]) at = (at + 1) & (projection->slot_count - 1);
        projection->slots[at] = i + 1;
    }
}

/* The change of the row with this key, or a new one with an empty mask; `out_is_new` tells which. */
static uint32_t row_at(Projection *projection, Table table, const Cell *key, bool *out_is_new)
{
    uint64_t hash = row_key_hash(table, key);
    uint32_t at = (uint32_t)hash & (projection->slot_count - 1);
    for (; projection->slots[at]; at = (at + 1) & (projection->slot_count - 1)) {
        uint32_t index = projection->slots[at] - 1;
        const RowChange *change = &projection->changes[index];
        if (projection->pendings[index].hash != hash || change->table != table || !row_key_is(table, change->cells, key)) continue;
        *out_is_new = false;
        return index;
    }
    uint32_t index = projection->count++;
    projection->changes = arena_grow(projection->arena, projection->changes, sizeof(RowChange), index, &projection->change_capacity);
    projection->pendings = arena_grow(projection->arena, projection->pendings, sizeof(Pending), index, &projection->pending_capacity);
    projection->changes[index] = (RowChange){ .table = (uint8_t)table };
    projection->pendings[index] = (Pending){ .hash = hash };
    projection->slots[at] = index + 1;
    if (projection->count * 2 > projection->slot_count) grow_slots(projection);
    *out_is_new = true;
    return index;
}

/* Cells of that change that may be written to. */
static Cell *own_cells(Projection *projection, uint32_t index, const Cell *key)
{
    Pending *pending = &projection->pendings[index];
    RowChange *change = &projection->changes[index];
    if (pending->cells) return pending->cells;
    const TableInfo *info = table_info(change->table);
    Cell *cells = ARENA_ARRAY(projection->arena, Cell, info->column_count);
    for (uint32_t i = 0; i < info->key_count; i++) cells[i] = key[i];
    for (uint64_t left = change->mask; left; left &= left - 1) {
        uint32_t column = (uint32_t)__builtin_ctzll(left);
        cells[column] = change->cells[column];
    }
    pending->cells = cells;
    change->cells = cells;
    return cells;
}

/* What two operations on a row are together. */
static const uint8_t together[ROW_OP_COUNT][ROW_OP_COUNT] = {      /* [before][then] */
    [ROW_INSERT] = { ROW_INSERT, ROW_INSERT, ROW_INSERT, ROW_DELETE },
    [ROW_UPDATE] = { ROW_UPDATE, ROW_UPDATE, ROW_UPDATE, ROW_DELETE },
    [ROW_PUT]    = { ROW_PUT,    ROW_PUT,    ROW_PUT,    ROW_DELETE },
    [ROW_DELETE] = { ROW_PUT,    ROW_PUT,    ROW_PUT,    ROW_DELETE },
};

void projection_row(Projection *projection, Table table, RowOp op, uint64_t mask, const Cell *cells)
{
    const TableInfo *info = table_info(table);
    mask &= table_mask(info);
    bool is_new;
    uint32_t index = row_at(projection, table, cells, &is_new);
    RowChange *change = &projection->changes[index];
    if (is_new || op == ROW_DELETE) {
        *change = (RowChange){ (uint8_t)table, (uint8_t)op, op == ROW_DELETE ? 0 : mask, cells };
        projection->pendings[index].cells = NULL;
        return;
    }
    Cell *own = own_cells(projection, index, cells);
    for (uint64_t left = mask; left; left &= left - 1) {
        uint32_t column = (uint32_t)__builtin_ctzll(left);
        own[column] = cells[column];
    }
    change = &projection->changes[index];
    change->mask |= mask;
    change->op = together[change->op][op];
}

void projection_finish(Projection *projection, const RowChange **out_changes, uint32_t *out_count)
{
    *out_changes = projection->changes;
    *out_count = projection->count;
}

/* --- a row being written ------------------------------------------------------------------------------------------- */

RowPen pen_at(Projection *projection, Table table, RowOp op, const Cell *key)
{
    bool is_new;
    uint32_t index = row_at(projection, table, key, &is_new);
    if (is_new) {
        projection->changes[index].op = (uint8_t)op;
        own_cells(projection, index, key);
    } else {
        own_cells(projection, index, key);
        projection->changes[index].op = together[projection->changes[index].op][op];
    }
    return (RowPen){ projection, index };
}

void put(RowPen pen, uint32_t column, Cell cell)
{
    pen.projection->pendings[pen.index].cells[column] = cell;
    pen.projection->changes[pen.index].mask |= COLUMN_BIT(column);
}

void put_int(RowPen pen, uint32_t column, uint64_t number) { put(pen, column, cell_int((int64_t)number)); }
void put_name(RowPen pen, uint32_t column, const char *name) { put(pen, column, cell_text(str_of(name))); }
void put_null(RowPen pen, uint32_t column) { put(pen, column, cell_null()); }

void put_time(RowPen pen, uint32_t column, int64_t ms)
{
    if (ms) put(pen, column, cell_int(ms));
}

/* A time as text: 24 bytes. */
void put_moment(RowPen pen, uint32_t column, int64_t ms)
{
    if (!ms) return;
    char text[32];
    Buf buf = buf_on(text, sizeof text);
    civil_print_ms(&buf, ms);
    put(pen, column, cell_text(arena_copy(pen.projection->arena, buf_peek(&buf))));
}

/* Texts of plans and runs outlive the batch; those of events do not. */
void put_borrowed(RowPen pen, uint32_t column, Str text)
{
    if (text.len) put(pen, column, cell_text(text));
}

void put_copied(RowPen pen, uint32_t column, Str text)
{
    if (text.len) put(pen, column, cell_text(arena_copy(pen.projection->arena, text)));
}

Arena *pen_arena(RowPen pen) { return pen.projection->arena; }
