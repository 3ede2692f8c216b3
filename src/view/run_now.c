#include "view/run_now.h"

/* Behind its snapshot, where it has one that can be read; else from its first record. */
static Status seed(Replay *replay, Arena *arena, Store *store, const Cell *row, Error *err)
{
    const Cell *snapshot = NULL, *record = NULL;
    QueryAsk ask = { .query = QUERY_SNAPSHOT, .params = { row[RUNS_run_no] }, .param_count = 1 };
    Status status = row_select(arena, store, &ask, &snapshot, err);
    if (status || !snapshot) return status;
    ask = (QueryAsk){ .query = QUERY_RECORD, .params = { snapshot[SNAPSHOTS_position] }, .param_count = 1 };
    status = row_select(arena, store, &ask, &record, err);
    if (status || !record) return status;
    LedgerRow last = ledger_row_of(record);
    Error why;
    if (replay_from(replay, snapshot[SNAPSHOTS_state].text, &last, &why) == OK) return OK;
    Id id = replay->run.id;
    uint64_t run_no = replay->run.run_no;
    const Plan *plan = replay->plan;
    replay_deinit(replay);
    replay_init(replay, plan, &id, run_no, REPLAY_ALL);         /* a cache that cannot be used is none */
    return OK;
}

Status run_now_open(Replay *out, Arena *arena, Store *store, const Cell *row, const Plan *plan, Error *err)
{
    Id id = row_id(row);
    StepRows records = { 0 };
    replay_init(out, plan, &id, (uint64_t)row[RUNS_run_no].integer, REPLAY_ALL);
    Status status = run_is_here(row, err);
    if (!status) status = seed(out, arena, store, row, err);
    out->find_plan = store_plan;
    out->plans = store;
    if (!status) status = run_records(arena, store, row, out->run.event_count, /* has_payloads= */ false, &records, err);
    for (size_t i = 0; i < records.count && !status; i++) {
        LedgerRow record = ledger_row_of(records.rows[i]);
        status = replay_row(out, &record, err);
    }
    if (status) replay_deinit(out);
    return status;
}

bool job_is_held(const JobRun *job) { return job->flags & JOB_PAUSED && job->open; }

void run_job_members(const Plan *plan, const Run *run, uint32_t job, MemberList *members)
{
    const JobRun *it = &run->jobs[job];
    member_list_add(members, STR("job"), value_string(plan->jobs[job].id));
    member_list_add(members, STR("state"), value_string(str_of(run_state_name((RunState)it->state))));
    member_list_add(members, STR("paused"), value_bool(job_is_held(it)));
    member_list_add(members, STR("cancelling"), value_bool(job_is_cutting(it)));
}
