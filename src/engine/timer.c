/* timer.c - times that have come: of runs in memory as they are decided, of parked ones from the store.
 *
 * A run has at most one entry, its earliest time; when it has come the run is looked at, and its next time noted. Parked runs
 * have a row; the rows of the next minute are brought into memory once a minute, so that a restart, a jump of the clock or a
 * lost entry is made good within a minute.
 */
#include <stdlib.h>

#include "base/check.h"
#include "base/limits.h"
#include "engine/internal.h"

/* Runs get small numbers while they have a time, since the heap moves entries by them. */
static uint32_t slot_of(Engine *engine, uint64_t run_no)
{
    TimerSlots *slots = &engine->timer_slots;
    uintptr_t known = (uintptr_t)run_index_find(&slots->by_run, run_no);
    if (known) return (uint32_t)(known - 1);
    if (!slots->free_count) {
        uint32_t old = slots->capacity;
        slots->capacity = old ? old * 2 : 64;
        slots->runs = realloc(slots->runs, slots->capacity * sizeof *slots->runs);
        slots->free = realloc(slots->free, slots->capacity * sizeof *slots->free);
        CHECK(slots->runs && slots->free);
        for (uint32_t slot = slots->capacity; slot-- > old;) slots->free[slots->free_count++] = slot;
    }
    uint32_t slot = slots->free[--slots->free_count];
    slots->runs[slot] = run_no;
    run_index_put(&slots->by_run, run_no, (void *)(uintptr_t)(slot + 1));
    return slot;
}

static void forget_slot(Engine *engine, uint32_t slot)
{
    TimerSlots *slots = &engine->timer_slots;
    heap_remove(&engine->timers, slot);
    run_index_remove(&slots->by_run, slots->runs[slot]);
    slots->free[slots->free_count++] = slot;
}

void timer_note(Engine *engine, uint64_t run_no, int64_t due_ms)
{
    TimerSlots *slots = &engine->timer_slots;
    uintptr_t known = (uintptr_t)run_index_find(&slots->by_run, run_no);
    if (known && slots->dues[known - 1] <= due_ms) return;
    uint32_t slot = slot_of(engine, run_no);
    if (slot >= slots->due_capacity) {
        slots->due_capacity = slots->capacity;
        slots->dues = realloc(slots->dues, slots->due_capacity * sizeof *slots->dues);
        CHECK(slots->dues);
    }
    slots->dues[slot] = due_ms;
    heap_put(&engine->timers, slot, due_ms);
}

void timer_forget(Engine *engine, uint64_t run_no)
{
    uintptr_t known = (uintptr_t)run_index_find(&engine->timer_slots.by_run, run_no);
    if (known) forget_slot(engine, (uint32_t)(known - 1));
}

int64_t timer_first(const Engine *engine)
{
    HeapItem first;
    return heap_peek(&engine->timers, &first) ? first.due : INT64_MAX;
}

void timers_deinit(Engine *engine)
{
    heap_deinit(&engine->timers);
    run_index_deinit(&engine->timer_slots.by_run);
    free(engine->timer_slots.runs);
    free(engine->timer_slots.dues);
    free(engine->timer_slots.free);
}

/* --- the turn ------------------------------------------------------------------------------------------------------------ */

static void sweep(Engine *engine)
{
    QueryAsk ask = { .query = QUERY_TIMERS_DUE, .params = { cell_int(engine->now_ms + TIMER_SWEEP_MS) }, .param_count = 1,
                     .row_count_max = TIMER_SWEEP_COUNT_MAX };
    engine->is_sweeping = read_begin(engine, &ask, &(PendingRead){ .kind = READ_TIMERS });
    engine->sweep_at = engine->now_ms + (engine->is_sweeping ? TIMER_SWEEP_MS : TIMER_SWEEP_AGAIN_MS);
}

void timer_turn(Engine *engine)
{
    if (engine->now_ms >= engine->sweep_at && !engine->is_sweeping) sweep(engine);
    for (HeapItem first; heap_peek(&engine->timers, &first) && first.due <= engine->now_ms;) {
        uint64_t run_no = engine->timer_slots.runs[first.slot];
        forget_slot(engine, first.slot);
        Resident *resident = resident_find(engine, run_no);
        Tenant *tenant = resident && resident->tenant ? resident->tenant : tenant_of(engine, (Str){ 0 });
        queue_mail(engine, tenant, mail_of_engine(run_no, &(Command){ .kind = COMMAND_TIMER, .actor = STR("timer") }));
    }
}

void timer_swept(Engine *engine, const ReadAnswer *answer)
{
    engine->is_sweeping = false;
    if (answer->status) return;                 /* the next sweep finds them */
    for (uint32_t i = 0; i < answer->row_count; i++) {
        const Cell *row = answer->cells + (size_t)i * answer->cell_count;
        uint64_t run_no = (uint64_t)row[TIMERS_run_no].integer;
        if (!resident_find(engine, run_no)) timer_note(engine, run_no, row[TIMERS_due_ms].integer);
    }
    if (answer->row_count < TIMER_SWEEP_COUNT_MAX) return;
    /* More than one answer holds: the next is asked for when these have had their time. */
    int64_t last = answer->cells[(size_t)(answer->row_count - 1) * answer->cell_count + TIMERS_due_ms].integer;
    engine->sweep_at = last > engine->now_ms ? last : engine->now_ms + TIMER_SWEEP_AGAIN_MS;
}
