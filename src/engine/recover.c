/* recover.c - a new owner: every run that is not parked goes on where its record ends.
 *
 * Runs are looked at page by page, in the order of their creation. What executors of the earlier owner had under way is
 * orphaned; each step's strategy decides what becomes of it. Requests are taken meanwhile: a run that somebody asks about
 * before its turn is loaded first, and recovered when its turn comes.
 */
#include "base/check.h"
#include "base/limits.h"
#include "engine/internal.h"

void recover_begin(Engine *engine, bool is_rescan)
{
    engine->is_recovering = true;
    engine->is_rescan = is_rescan;
    engine->recover_cursor = 0;
}

/* Some run could not be read: after a while all that are open and not in memory are looked for. */
void recover_later(Engine *engine)
{
    if (!engine->rescan_at) engine->rescan_at = engine->now_ms + STORE_RETRY_MS;
}

void recover_more(Engine *engine)
{
    if (engine->rescan_at && engine->now_ms >= engine->rescan_at && !engine->is_recovering && engine->state != ENGINE_STALLED) {
        engine->rescan_at = 0;
        recover_begin(engine, /* is_rescan= */ true);
    }
    if (!engine->is_recovering || engine->is_recover_asked || engine->run_count >= ENGINE_RECOVER_RUN_COUNT) return;
    QueryAsk ask = { .query = QUERY_RUNS_OPEN, .params = { cell_int((int64_t)engine->recover_cursor) }, .param_count = 1 };
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
            load_begin(engine, resident, row);
            if (!resident_find(engine, run_no)) continue;       /* it could not be read and was set aside */
        }
        /* Its own runs go on by themselves once they are read; of an earlier owner's the recovery may not be durable yet. */
        if (run_no >= engine->first_own_run_no) continue;
        Mail *mail = mail_of_engine(run_no, COMMAND_RECOVER, STR("engine"));
        mail->command.holder = holder_make(engine->holder_epoch, 0);
        decide_mail(engine, resident, mail);
    }
    if (!answer->row_count) {
        engine->is_recovering = false;
        if (!engine->rescan_at) effect_end_strays(engine);      /* else some run could not be read yet */
        if (engine->state == ENGINE_RECOVERING) engine->state = ENGINE_RUNNING;
    }
}
