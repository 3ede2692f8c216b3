/* recover.c - a new owner: every run that is not parked goes on where its record ends.
 *
 * Runs are looked at page by page, in the order of their creation. What executors of the earlier owner had under way is
 * orphaned; each step's strategy decides what becomes of it. Requests are taken meanwhile: a run that somebody asks about
 * before its turn is loaded first, and recovered when its turn comes. What was parked leaves memory again.
 *
 * An owner that ends in order leaves nothing to be recovered: it gives back what its executors have.
 */
#include <stdlib.h>

#include "base/check.h"
#include "base/limits.h"
#include "engine/internal.h"

void recover_begin(Engine *engine, bool is_rescan)
{
    engine->is_recovering = true;
    engine->is_recover_read = false;
    engine->is_rescan = is_rescan;
    engine->recover_cursor = 0;
}

/* Some run could not be read: after a while all that are open and not in memory are looked for. */
void recover_later(Engine *engine)
{
    if (!engine->rescan_at) engine->rescan_at = engine->now_ms + STORE_RETRY_MS;
}

/* As long as nothing may be given away that has to share a bound with what is not read yet, everything is read: waiting until runs
 * leave memory would be to wait for runs that wait for this. */
bool recover_is_full(const Engine *engine)
{
    bool is_shared = engine->envelope_count || engine->options.tenant_running_max;
    for (uint32_t i = 0; i < engine->options.executor_count && !is_shared; i++) is_shared = engine->options.executors[i]->lease_ms != 0;
    bool is_all = is_shared && !engine->is_recovered && engine->options.run_count_max > ENGINE_RECOVER_RUN_COUNT;
    return engine->run_count >= (is_all ? engine->options.run_count_max : ENGINE_RECOVER_RUN_COUNT);
}

bool recover_is_blind(const Engine *engine)
{
    return !engine->is_recovered && !recover_is_full(engine);
}

static bool is_reading(Engine *engine)
{
    for (uint32_t i = 0; i < engine->recover_run_count; i++) {
        const Resident *resident = resident_find(engine, engine->recover_runs[i]);
        if (resident && resident->loader) return true;
    }
    return false;
}

void recover_leave(Engine *engine)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < engine->recover_run_count; i++) {
        Resident *resident = resident_find(engine, engine->recover_runs[i]);
        if (!resident) continue;
        bool is_busy = resident->loader || resident->is_working || resident->fetching != STEP_NONE || resident->inbox.count;
        if (is_busy) engine->recover_runs[kept++] = engine->recover_runs[i];
        else resident_leave(engine, resident);
    }
    engine->recover_run_count = kept;
}

void recover_deinit(Engine *engine)
{
    free(engine->recover_runs);
}

static void keep_in_view(Engine *engine, uint64_t run_no)
{
    if (engine->recover_run_count == engine->recover_run_capacity) {
        engine->recover_run_capacity = engine->recover_run_capacity ? 2 * engine->recover_run_capacity : 256;
        engine->recover_runs = realloc(engine->recover_runs, engine->recover_run_capacity * sizeof *engine->recover_runs);
        CHECK(engine->recover_runs);
    }
    engine->recover_runs[engine->recover_run_count++] = run_no;
}

static void end(Engine *engine)
{
    engine->is_recovering = false;
    engine->is_recovered = true;
    if (!engine->rescan_at) effect_end_strays(engine);          /* else some run could not be read yet */
    if (engine->state == ENGINE_RECOVERING) engine->state = ENGINE_RUNNING;
    engine->envelopes_due = engine->now_ms;                     /* what tenants hold is known now, and what executors have: */
    for (uint32_t i = 0; i < engine->options.executor_count; i++)
        if (engine->options.executors[i]->lease_ms || engine->options.tenant_running_max)
            effect_room(engine, engine->options.executors[i], UINT32_MAX);
}

void recover_more(Engine *engine)
{
    if (engine->rescan_at && engine->now_ms >= engine->rescan_at && !engine->is_recovering && engine->state != ENGINE_STALLED) {
        engine->rescan_at = 0;
        recover_begin(engine, /* is_rescan= */ true);
    }
    /* While the store refuses, runs that were thrown away are not in memory either: all are looked for when it takes something again. */
    bool is_read = engine->is_recovering && engine->is_recover_read && engine->state != ENGINE_STALLED;
    if (is_read && !is_reading(engine)) end(engine);
    if (!engine->is_recovering || engine->is_recover_asked || engine->is_recover_read || recover_is_full(engine)) return;
    /* No more runs than there is room for their questions: one that finds none is looked for again only after a while. */
    uint32_t free_count = ENGINE_READ_COUNT_MAX - engine->read_count;
    if (free_count < ENGINE_READ_COUNT_MAX / 2) return;
    QueryAsk ask = { .query = QUERY_RUNS_OPEN, .params = { cell_int((int64_t)engine->recover_cursor) }, .param_count = 1,
                     .row_count_max = free_count / LOAD_READ_COUNT };
    engine->is_recover_asked = read_begin(engine, &ask, &(PendingRead){ .kind = READ_RECOVER });
}

void recover_answered(Engine *engine, const ReadAnswer *answer)
{
    engine->is_recover_asked = false;
    if (answer->status) {
        engine->trouble = answer->error;            /* asked again in the next turn */
        return;
    }
    for (uint32_t i = 0; i < answer->row_count; i++) {
        const Cell *row = answer->cells + (size_t)i * answer->cell_count;
        uint64_t run_no = (uint64_t)row[RUNS_run_no].integer;
        engine->recover_cursor = run_no;
        if (!engine->is_rescan && run_no >= engine->first_own_run_no) continue;     /* started by this owner */
        Resident *resident = resident_find(engine, run_no);
        if (!resident) {
            Id id;
            CHECK(id_read(row[RUNS_id].text, &id));
            resident = resident_add(engine, run_no, &id);
            if (!load_begin(engine, resident, row)) continue;   /* it is looked for again after a while */
        }
        keep_in_view(engine, run_no);
        /* Its own runs go on by themselves once they are read; of an earlier owner's the recovery may not be durable yet. */
        if (run_no >= engine->first_own_run_no) continue;
        Command recover = { .kind = COMMAND_RECOVER, .actor = STR("engine"), .holder = holder_make(engine->holder_epoch, 0) };
        decide_mail(engine, resident, mail_of_engine(run_no, &recover));
    }
    engine->is_recover_read = !answer->row_count;
}

/* --- the end of an owner ------------------------------------------------------------------------------------------------ */

/* Something of that run is out in this process, and its run says so, too. Elsewhere it goes on, under its lease. */
static bool is_held(Engine *engine, const Resident *resident, const OutEntry *entry)
{
    for (; entry; entry = entry->next) {
        const Executor *executor = holder_executor(engine, entry->holder);
        bool is_here = executor && !executor->lease_ms && !entry->is_reported;
        if (is_here && run_holds(&resident->run, entry->step, entry->attempt, entry->holder)) return true;
    }
    return false;
}

bool engine_release(Engine *engine)
{
    engine_drain(engine);
    if (engine->open || engine->under_way || engine->mail_count) return false;
    bool is_left = false;
    for (uint32_t i = 0; i < engine->outs.capacity; i++) {
        uint64_t run_no = engine->outs.slots[i].number;
        Resident *resident = run_no ? resident_find(engine, run_no) : NULL;
        if (!resident || resident->loader || !is_held(engine, resident, engine->outs.slots[i].item)) continue;
        is_left = true;
        if (resident->inbox.count) continue;                        /* it waits for a value */
        Command release = { .kind = COMMAND_RELEASE, .actor = STR("engine"), .holder = holder_make(engine->holder_epoch, 0) };
        queue_mail(engine, resident->tenant, mail_of_engine(run_no, &release));
    }
    return !is_left;
}
