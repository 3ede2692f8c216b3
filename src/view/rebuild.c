#include "view/rebuild.h"

#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "view/change.h"
#include "view/projection.h"
#include "view/row_key.h"

#define SLOT_COUNT_FIRST 64u

void rebuild_init(Rebuild *rebuild, const RebuildOptions *options)
{
    *rebuild = (Rebuild){ .options = *options, .due_ms = INT64_MAX, .slot_count = SLOT_COUNT_FIRST };
    arena_init(&rebuild->arena, SIZE_MAX);
    arena_init(&rebuild->scratch, SIZE_MAX);
    rebuild->slots = ARENA_ARRAY(&rebuild->arena, uint32_t, SLOT_COUNT_FIRST);
    rebuild->step_numbers = ARENA_ARRAY(&rebuild->arena, uint32_t, options->plan->step_count + 1);
    replay_init(&rebuild->replay, options->plan, &options->id, options->run_no, REPLAY_ALL);
}

void rebuild_deinit(Rebuild *rebuild)
{
    replay_deinit(&rebuild->replay);
    arena_deinit(&rebuild->scratch);
    arena_deinit(&rebuild->arena);
}

/* --- rows by key --------------------------------------------------------------------------------------------------- */

static uint32_t slot_of(const Rebuild *rebuild, uint64_t hash, Table table, const Cell *key)
{
    uint32_t at = (uint32_t)hash & (rebuild->slot_count - 1);
    for (; rebuild->slots[at]; at = (at + 1) & (rebuild->slot_count - 1)) {
        const RebuiltRow *row = &rebuild->rows[rebuild->slots[at] - 1];
        if (row->hash == hash && row->table == table && row_key_is(table, row->cells, key)) break;
    }
    return at;
}

static void grow_slots(Rebuild *rebuild)
{
    rebuild->slot_count *= 4;
    rebuild->slots = ARENA_ARRAY(&rebuild->arena, uint32_t, rebuild->slot_count);
    for (uint32_t i = 0; i < rebuild->row_count; i++) {
        uint32_t at = (uint32_t)rebuild->rows[i].hash & (rebuild->slot_count - 1);
        while (rebuild->slots[at]) at = (at + 1) & (rebuild->slot_count - 1);
        rebuild->slots[at] = i + 1;
    }
}

static bool is_mine(const Rebuild *rebuild, uint64_t hash)
{
    return rebuild->options.pass_count <= 1 || (hash >> 32) % rebuild->options.pass_count == rebuild->options.pass;
}

bool rebuild_is_mine(const Rebuild *rebuild, Table table, const Cell *key) { return is_mine(rebuild, row_key_hash(table, key)); }

const Cell *rebuild_find(Rebuild *rebuild, Table table, const Cell *key)
{
    uint32_t at = rebuild->slots[slot_of(rebuild, row_key_hash(table, key), table, key)];
    if (!at) return NULL;
    rebuild->rows[at - 1].is_seen = true;
    return rebuild->rows[at - 1].cells;
}

void rebuild_rest(const Rebuild *rebuild, void (*visit)(void *context, Table table, const Cell *cells), void *context)
{
    for (uint32_t i = 0; i < rebuild->row_count; i++)
        if (!rebuild->rows[i].is_seen) visit(context, (Table)rebuild->rows[i].table, rebuild->rows[i].cells);
}

/* --- changes ------------------------------------------------------------------------------------------------------- */

/* Into the same bytes where they fit: the row of a run changes with every record, and a run may have a million. */
static void assign(Arena *arena, Cell *cell, Cell value)
{
    bool has_text = value.kind == CELL_TEXT || value.kind == CELL_BLOB;
    bool had_text = cell->kind == CELL_TEXT || cell->kind == CELL_BLOB;
    if (has_text && had_text && cell->text.len == value.text.len) {
        memcpy((char *)cell->text.ptr, value.text.ptr, value.text.len);
        cell->kind = value.kind;
        return;
    }
    *cell = value;
    if (has_text) cell->text = arena_copy(arena, value.text);
}

/* A new row: columns that are not given are null, counters and flags 0. */
static Cell *row_add(Rebuild *rebuild, uint64_t hash, uint32_t slot, const RowChange *change)
{
    const TableInfo *info = table_info(change->table);
    Cell *cells = ARENA_ARRAY(&rebuild->arena, Cell, info->column_count);
    for (uint32_t i = 0; i < info->column_count; i++) {
        const ColumnInfo *column = &info->columns[i];
        if (i < info->key_count) assign(&rebuild->arena, &cells[i], change->cells[i]);
        else if (column_is_required(column) && (column->type == COLUMN_INT || column->type == COLUMN_BOOL))
            cells[i] = cell_int(0);
    }
    rebuild->rows = arena_grow(&rebuild->arena, rebuild->rows, sizeof *rebuild->rows, rebuild->row_count, &rebuild->row_capacity);
    rebuild->rows[rebuild->row_count++] = (RebuiltRow){ .hash = hash, .cells = cells, .table = change->table };
    rebuild->slots[slot] = rebuild->row_count;
    if (rebuild->row_count * 2 > rebuild->slot_count) grow_slots(rebuild);
    return cells;
}

static void apply(Rebuild *rebuild, const RowChange *change)
{
    uint64_t hash = row_key_hash(change->table, change->cells);
    if (!is_mine(rebuild, hash)) return;
    uint32_t slot = slot_of(rebuild, hash, change->table, change->cells);
    bool is_new = !rebuild->slots[slot];
    CHECK(change->op != ROW_DELETE);            /* the fold takes nothing away */
    if (is_new && change->op == ROW_UPDATE) return;         /* of a row that the records do not begin; it will be missed */
    Cell *cells = is_new ? row_add(rebuild, hash, slot, change) : rebuild->rows[rebuild->slots[slot] - 1].cells;
    uint64_t mask = change_mask(change->table, is_new ? ROW_INSERT : change->op, change->mask);
    for (; mask; mask &= mask - 1) {
        uint32_t column = (uint32_t)__builtin_ctzll(mask);
        assign(&rebuild->arena, &cells[column], change->cells[column]);
    }
}

/* --- records ------------------------------------------------------------------------------------------------------- */

/* As the engine parks a run: what is due soon leaves the row as it was. */
static void note_due(Rebuild *rebuild, int64_t now_ms)
{
    const Run *run = &rebuild->replay.run;
    int64_t due_ms = INT64_MAX;
    if (!run_is_terminal(run) && run_is_parked(run)) {
        due_ms = run_due_ms(run);
        if (due_ms != INT64_MAX && due_ms <= now_ms + PARK_MS_MIN) return;
    }
    rebuild->due_ms = due_ms;
}

Status rebuild_record(Rebuild *rebuild, const LedgerRow *row, Error *err)
{
    Status status = replay_row(&rebuild->replay, row, err);
    if (status) return status;
    const Record *record = &rebuild->replay.record;
    BatchRecord raw = { .position = row->position, .run_no = row->run_no, .prev_position = row->prev_position,
                        .first_event = row->first_event, .event_count = row->event_count, .hash = row->hash,
                        .record = row->record, .payload = row->payload };
    uint64_t next_step_run_no = 1;              /* what the log counts is not known here */
    arena_reset(&rebuild->scratch);
    Projection *projection = projection_make(&rebuild->scratch);
    projection_record(projection, &(ProjectionInput){
        .plan = rebuild->options.plan, .run = &rebuild->replay.run, .head = &record->head, .events = record->events,
        .event_count = record->event_count, .payloads = record->payloads, .record = &raw, .begun_count = &rebuild->begun_count,
        .step_numbers = rebuild->step_numbers, .next_step_run_no = &next_step_run_no });
    const RowChange *changes;
    uint32_t count;
    projection_finish(projection, &changes, &count);
    for (uint32_t i = 0; i < count; i++) apply(rebuild, &changes[i]);
    note_due(rebuild, record->head.now_ms);
    return OK;
}
