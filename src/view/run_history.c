#include "view/run_history.h"

#include <inttypes.h>

#include "base/civil.h"
#include "view/run_now.h"

/* --- making it again ------------------------------------------------------------------------------------------------- */

Status run_history_open(RunHistory *it, Arena *arena, Store *store, const Cell *row, uint64_t event_max, Error *err)
{
    StepRows records;
    *it = (RunHistory){ .arena = arena, .store = store, .row = row };
    Status status = run_plan(arena, store, row, &it->plan, err);
    if (!status) status = run_records(arena, store, row, 0, /* has_payloads= */ false, &records, err);
    if (!status) status = run_steps(arena, store, row, &it->steps, err);
    if (status) return status;
    Id id = row_id(row);
    replay_init(&it->replay, &it->plan, &id, (uint64_t)row[RUNS_run_no].integer, event_max);
    it->replay.find_plan = store_plan;
    it->replay.plans = store;
    history_init(&it->history, arena, it->plan.step_count);
    for (size_t i = 0; !status && i < records.count; i++) {
        LedgerRow record = ledger_row_of(records.rows[i]);
        status = replay_row(&it->replay, &record, err);
        if (!status) history_note(&it->history, &it->replay);
    }
    if (status) replay_deinit(&it->replay);
    return status;
}

void run_history_close(RunHistory *it) { replay_deinit(&it->replay); }

/* --- which event ------------------------------------------------------------------------------------------------------ */

Status run_event_at(Arena *arena, Store *store, const Cell *row, Str at, uint64_t *out_event, Error *err)
{
    uint64_t count = (uint64_t)row[RUNS_event_count].integer;
    int64_t until_ms;
    StepRows records;
    if (str_to_u64(at, out_event) && *out_event) {
        if (*out_event <= count) return OK;
        return error_set(err, ERR_INVALID, "the run has %" PRIu64 " events; 'at' takes 1 to %" PRIu64, count, count);
    }
    if (!civil_read_time(at, &until_ms))
        return error_set(err, ERR_INVALID, "'%.*s' is neither the number of an event, from 1, nor a time such as "
                         "2026-11-16T01:25:00.000Z", STR_ARG(at));
    *out_event = 0;
    Status status = run_records(arena, store, row, 0, /* has_payloads= */ false, &records, err);
    for (size_t i = 0; !status && i < records.count; i++) {
        Record record;
        status = record_decode_any(arena, records.rows[i][LEDGER_record].text, &record, err);
        if (!status && record.head.now_ms <= until_ms) *out_event = record.head.first_event + record.event_count - 1;
    }
    if (!status && !*out_event) status = error_set(err, ERR_INVALID, "the run did not exist at %.*s yet", STR_ARG(at));
    return status;
}

/* --- its state --------------------------------------------------------------------------------------------------------- */

Value run_state_value(const RunHistory *it)
{
    const Run *run = &it->replay.run;
    MemberList members = { .arena = it->arena };
    ValueList steps = { .arena = it->arena };
    for (uint32_t i = 0; i < run->step_count; i++) {
        const StepRun *step = &run->steps[i];
        MemberList shown = { .arena = it->arena };
        member_list_add(&shown, STR("step"), value_string(it->plan.steps[i].id));
        member_list_add(&shown, STR("state"), value_string(str_of(step_state_name((StepState)step->state))));
        member_list_add(&shown, STR("begun"), value_bool(step->number > 0));
        member_list_add(&shown, STR("attempts"), value_int(step->attempt));
        if (step->state == STEP_SKIPPED) member_list_add(&shown, STR("why"), value_string(str_of(skip_reason_name((SkipReason)step->cause))));
        else if (step->cause) member_list_add(&shown, STR("why"), value_string(str_of(cause_name((Cause)step->cause))));
        value_list_add(&steps, member_list_object(&shown));
    }
    ValueList jobs = { .arena = it->arena };
    for (uint32_t i = 0; i < run->job_count; i++) {
        MemberList shown = { .arena = it->arena };
        run_job_members(&it->plan, run, i, &shown);
        value_list_add(&jobs, member_list_object(&shown));
    }
    if (run->job_count) member_list_add(&members, STR("jobs"), value_list_array(&jobs));
    member_list_add(&members, STR("run"), value_string(arena_copy(it->arena, id_peek(&run->id))));
    member_list_add(&members, STR("event"), value_int((int64_t)run->event_count));
    member_list_add(&members, STR("eventCount"), cell_value(&it->row[RUNS_event_count]));
    member_list_add(&members, STR("state"), value_string(str_of(run_state_name((RunState)run->state))));
    if (run->failure.len) member_list_add(&members, STR("failure"), value_string(arena_copy(it->arena, run->failure)));
    member_list_add(&members, STR("steps"), value_list_array(&steps));
    return member_list_object(&members);
}
