/* park.c - runs that wait leave memory with the commit that parks them, and runs whose commit failed are read again. */
#include "base/check.h"
#include "base/limits.h"
#include "engine/internal.h"

static void put_snapshot(Engine *engine, EngineBatch *batch, Resident *resident)
{
    Buf state;
    buf_init(&state, SIZE_MAX);
    run_encode(&resident->run, &state);
    Str bytes = arena_copy(&batch->batch.arena, buf_peek(&state));
    buf_deinit(&state);
    Digest digest = digest_of(bytes);
    const TableInfo *info = table_info(TABLE_SNAPSHOTS);
    Cell *cells = ARENA_ARRAY(&batch->batch.arena, Cell, info->column_count);
    cells[SNAPSHOTS_run_no] = cell_int((int64_t)resident->run_no);
    cells[SNAPSHOTS_event_count] = cell_int((int64_t)resident->run.event_count);
    cells[SNAPSHOTS_position] = cell_int((int64_t)resident->last_position);
    cells[SNAPSHOTS_digest] = cell_blob(arena_copy(&batch->batch.arena, (Str){ (const char *)digest.bytes, DIGEST_SIZE }));
    cells[SNAPSHOTS_state] = cell_blob(bytes);
    projection_row(batch->projection, TABLE_SNAPSHOTS, ROW_PUT, table_mask(info), cells);
    resident->snapshot_event = resident->run.event_count;
    (void)engine;
}

static void put_timer(EngineBatch *batch, Resident *resident, int64_t due_ms)
{
    Cell *cells = ARENA_ARRAY(&batch->batch.arena, Cell, 2);
    cells[TIMERS_run_no] = cell_int((int64_t)resident->run_no);
    cells[TIMERS_due_ms] = cell_int(due_ms);
    RowOp op = due_ms == INT64_MAX ? ROW_DELETE : ROW_PUT;
    projection_row(batch->projection, TABLE_TIMERS, op, table_mask(table_info(TABLE_TIMERS)), cells);
    resident->has_timer_row = op == ROW_PUT;
}

/* After each record: does the run wait for something that is not soon? Then its snapshot and its next time are rows of the
 * same commit. A run that goes on gets a snapshot now and then, so that it is soon read again. */
void batch_park(Engine *engine, EngineBatch *batch, Resident *resident)
{
    const Run *run = &resident->run;
    bool is_over = run_is_terminal(run);
    resident->is_parking = false;
    if (!is_over && run_is_parked(run)) {
        int64_t due = run_due_ms(run);
        if (due != INT64_MAX && due <= engine->now_ms + PARK_MS_MIN) return;
        put_snapshot(engine, batch, resident);
        if (due != INT64_MAX || resident->has_timer_row) put_timer(batch, resident, due);
        resident->is_parking = true;
        return;
    }
    if (resident->has_timer_row) put_timer(batch, resident, INT64_MAX);
    uint64_t interval = run->step_count > SNAPSHOT_EVENT_COUNT ? run->step_count : SNAPSHOT_EVENT_COUNT;
    if (!is_over && run->event_count - resident->snapshot_event >= interval) put_snapshot(engine, batch, resident);
}

/* Everything it did is durable: does it have to stay? */
void resident_leave(Engine *engine, Resident *resident)
{
    if (!batch_is_durable(engine, resident->batch_seq)) return;
    if (resident->start_key) start_key_durable(engine, resident);
    bool is_over = run_is_terminal(&resident->run);
    if (!is_over && !resident->is_parking) return;
    if (resident->is_working || resident->is_waiting || resident->inbox.count || resident->loader
        || resident->fetching != STEP_NONE)
        return;
    resident_remove(engine, resident);
}

/* Its commit failed: what is in memory never happened. It is read again when something is asked of it, and at the latest by
 * the recovery that follows. */
void resident_discard(Engine *engine, Resident *resident)
{
    if (resident->start_key) run_index_remove(&engine->start_keys, resident->start_key);
    effect_forget_waiting(engine, resident);
    queue_forget_work(resident);
    for (Mail *mail; (mail = mail_list_take(&resident->inbox));)
        queue_mail(engine, resident->tenant ? resident->tenant : tenant_of(engine, (Str){ 0 }), mail);
    resident_remove(engine, resident);
}
