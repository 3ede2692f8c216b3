#include "ledger/replay.h"

#include <inttypes.h>
#include <string.h>

#include "base/limits.h"
#include "core/revise.h"
#include "ledger/chain.h"
#include "ledger/record.h"

void replay_init(Replay *replay, const Plan *plan, const Id *id, uint64_t run_no, uint64_t event_max)
{
    *replay = (Replay){ .plan = plan, .event_max = event_max, .next_event = 1 };
    arena_init(&replay->scratch, SIZE_MAX);
    run_init(&replay->run, plan, id, run_no);
}

void replay_deinit(Replay *replay)
{
    run_deinit(&replay->run);
    arena_deinit(&replay->scratch);
}

Status replay_from(Replay *replay, Str snapshot, const LedgerRow *last, Error *err)
{
    Status status = run_decode(&replay->run, replay->plan, snapshot, err);
    if (status) return status;
    replay->hash = last->hash;
    replay->position = last->position;
    replay->next_event = last->first_event + last->event_count;
    if (replay->run.event_count + 1 == replay->next_event) return OK;
    return error_set(err, ERR_CORRUPT, "the snapshot of the run is of event %" PRIu64 ", and record %" PRIu64 " ends with event %" PRIu64,
                     replay->run.event_count, last->position, replay->next_event - 1);
}

static Status check_follows(const Replay *replay, const LedgerRow *row, const Record *record, Error *err)
{
    Digest hash = chain_record(&replay->hash, row->record);
    if (row->prev_position != replay->position || row->first_event != replay->next_event)
        return error_set(err, ERR_CORRUPT, "record %" PRIu64 " does not follow record %" PRIu64 " of the run", row->position,
                         replay->position);
    if (memcmp(&hash, &row->hash, sizeof hash) != 0)
        return error_set(err, ERR_CORRUPT, "record %" PRIu64 " does not have its hash", row->position);
    if (record->head.position != row->position || record->head.first_event != row->first_event
        || record->event_count != row->event_count || !str_is(record->head.run_id, id_peek(&replay->run.id)))
        return error_set(err, ERR_CORRUPT, "record %" PRIu64 " says something else than its row", row->position);
    return OK;
}

/* A plan that the run was pinned to, once or now: its events mean the same under both. */
static Status check_plan(Replay *replay, const Digest *digest, Error *err)
{
    Plan earlier;
    Error why;
    if (!digest || memcmp(digest, &replay->plan->digest, sizeof *digest) == 0) return OK;
    if (!replay->find_plan) return error_set(err, ERR_CONFLICT, "the plan is not the one that the run was created with");
    Status status = replay->find_plan(replay->plans, &replay->scratch, digest, &earlier, err);
    if (status) return status;
    if (!revise_check_shape(&earlier, replay->plan, &why)) return OK;
    return error_set(err, ERR_CONFLICT, "the plan is not the one that the run was created with, nor one of the same shape: %s", why.text);
}

/* apply() trusts its events: what they name has to exist. */
static Status check_event(Replay *replay, const Event *event, uint64_t number, Error *err)
{
    const Plan *plan = replay->plan;
    bool has_step = event_has(event->kind, FIELD_step) && event->step != STEP_NONE;
    bool has_last = event_has(event->kind, FIELD_last);
    if ((event->kind == EVENT_RUN_CREATED) != (number == 1))
        return error_set(err, ERR_CORRUPT, "event %" PRIu64 " is %s", number, event_name(event->kind));
    if (event->kind == EVENT_RUN_REVISED && !event->digest)
        return error_set(err, ERR_CORRUPT, "event %" PRIu64 " names no plan", number);
    if (event->kind == EVENT_RUN_CREATED || event->kind == EVENT_RUN_REVISED) {
        Status status = check_plan(replay, event->digest, err);
        if (status) return status;
    }
    if ((has_step && event->step >= plan->step_count) || (has_last && event->last >= plan->step_count))
        return error_set(err, ERR_CORRUPT, "event %" PRIu64 " names a step that the plan does not have", number);
    if (event_has(event->kind, FIELD_job) && event->job >= plan->job_count)
        return error_set(err, ERR_CORRUPT, "event %" PRIu64 " names a job that the plan does not have", number);
    return OK;
}

Status replay_row(Replay *replay, const LedgerRow *row, Error *err)
{
    Record *record = &replay->record;
    arena_reset(&replay->scratch);
    if (replay->run.event_count >= replay->event_max) return OK;
    Status status = record_decode(&replay->scratch, row->record, record, err);
    if (!status) status = check_follows(replay, row, record, err);
    if (status) return status;
    EventPlace place = { record->head.now_ms, record->head.position };
    for (uint32_t i = 0; i < record->event_count && replay->run.event_count < replay->event_max; i++) {
        status = check_event(replay, &record->events[i], record->head.first_event + i, err);
        if (status) return status;
        run_apply(&replay->run, replay->plan, &record->events[i], &place);
    }
    replay->hash = row->hash;
    replay->position = row->position;
    replay->next_event = row->first_event + row->event_count;
    replay->record_count++;
    return OK;
}

/* Of lines, the first; without its end. */
static Str first_line(const Buf *lines)
{
    return str_slice(buf_peek(lines), 0, str_find(buf_peek(lines), '\n', 0));
}

Status replay_verify(const Replay *replay, Str snapshot, Error *err)
{
    Buf bytes, lines;
    Run stored;
    Status status = OK;
    buf_init(&bytes, SIZE_MAX);
    run_encode_like(&replay->run, replay->plan, snapshot, &bytes);
    bool is_equal = str_is(buf_peek(&bytes), snapshot);
    buf_deinit(&bytes);
    if (is_equal) return OK;
    run_init(&stored, replay->plan, &replay->run.id, replay->run.run_no);
    status = run_decode(&stored, replay->plan, snapshot, err);
    if (status) {
        run_deinit(&stored);
        return status;
    }
    buf_init(&lines, REPLAY_DIFF_SIZE_MAX);
    run_diff(replay->plan, &stored, &replay->run, &lines);
    Str line = lines.len > 0 ? first_line(&lines) : STR("parts that are not shown");
    status = error_set(err, ERR_CORRUPT, "the stored state is not what the events make (stored -> made): %.*s", STR_ARG(line));
    buf_deinit(&lines);
    run_deinit(&stored);
    return status;
}
