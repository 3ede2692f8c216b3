#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/grid.h"
#include "cli/human.h"
#include "cli/ledger_read.h"
#include "cli/run_read.h"
#include "cli/workplace.h"
#include "ledger/replay.h"
#include "view/run_history.h"
#include "view/run_now.h"

static const Option options[] = {
    { "at", 0, "N", NULL, "The state after this event, or at this time (2026-11-16T01:25:00.000Z); by default after the last event." },
    { "verify", 0, NULL, NULL, "Compares what the events make with what the store shows: rows, snapshot, hashes." },
    STORE_OPTION,
    { "json", 0, NULL, NULL, "Prints JSON." },
    { NULL },
};

typedef struct Replaying {
    const Args *args;
    Store *store;
    const Cell *row;
    Plan plan;
    StepRows records;
    uint32_t difference_count;
} Replaying;

static Status fold(const Replaying *replaying, uint64_t event_max, Replay *out, Error *err)
{
    Id id = row_id(replaying->row);
    replay_init(out, &replaying->plan, &id, (uint64_t)replaying->row[RUNS_run_no].integer, event_max);
    out->find_plan = store_plan;
    out->plans = replaying->store;
    Status status = OK;
    for (size_t i = 0; !status && i < replaying->records.count; i++) {
        LedgerRow row = ledger_row_of(replaying->records.rows[i]);
        status = replay_row(out, &row, err);
    }
    return status;
}

/* --- showing ------------------------------------------------------------------------------------------------------------------ */

static void print_text(const Replaying *replaying, const Run *run)
{
    static const GridColumn columns[] = { { "#", .is_number = true }, { "STEP", .is_cut = true }, { "STATE" },
                                          { "TRIES", .is_number = true }, { "WHY" }, { NULL } };
    Grid grid = grid_begin(replaying->args->arena, columns);
    char storage[64];
    Buf cell = buf_on(storage, sizeof storage);
    printf("run %s after event %" PRIu64 " of %" PRId64 ": %s\n", run->id.text, run->event_count,
           replaying->row[RUNS_event_count].integer, run_state_name((RunState)run->state));
    if (run->failure.len) printf("why: %.*s\n", STR_ARG(run->failure));
    for (uint32_t i = 0; i < run->job_count; i++)
        if (job_is_held(&run->jobs[i]) || run->jobs[i].flags & JOB_CANCELLED)
            printf("job %.*s: %s, %s by a person\n", STR_ARG(replaying->plan.jobs[i].id), run_state_name((RunState)run->jobs[i].state),
                   run->jobs[i].flags & JOB_CANCELLED ? "cancelled" : "paused");
    for (uint32_t i = 0; i < run->step_count; i++) {
        const StepRun *step = &run->steps[i];
        StepState state = (StepState)step->state;
        bool is_skipped = state == STEP_SKIPPED;
        buf_format(&cell, "%u", i);
        grid_buf(&grid, &cell);
        grid_cell(&grid, replaying->plan.steps[i].id);
        grid_text(&grid, !step->number && !is_skipped ? "-" : step_state_name(state));
        buf_format(&cell, "%u", step->attempt);
        grid_buf(&grid, &cell);
        grid_text(&grid, is_skipped ? skip_reason_name((SkipReason)step->cause) : step->cause ? cause_name((Cause)step->cause) : "");
    }
    fflush(stdout);
    if (run->step_count) grid_print(&grid);
}

/* --- comparing ---------------------------------------------------------------------------------------------------------------- */

static void differs(Replaying *replaying, const char *what, Str step, const char *stored, const char *made)
{
    replaying->difference_count++;
    fprintf(stderr, "%s%s%.*s: the store has %s, the events make %s\n", what, step.len ? " of step " : "", STR_ARG(step), stored, made);
}

/* The row of the run and those of its step runs say what the events say. */
static Status compare_rows(Replaying *replaying, const Replay *replay, Error *err)
{
    const Run *run = &replay->run;
    const Cell *row = replaying->row;
    StepRows steps;
    char stored[32], made[32];
    if (row_state(row) != (RunState)run->state)
        differs(replaying, "state", STR(""), run_state_name(row_state(row)), run_state_name((RunState)run->state));
    if ((uint64_t)row[RUNS_event_count].integer != run->event_count) {
        snprintf(stored, sizeof stored, "%" PRId64, row[RUNS_event_count].integer);
        snprintf(made, sizeof made, "%" PRIu64, run->event_count);
        differs(replaying, "number of events", STR(""), stored, made);
    }
    RunHead head = run_head_of(row);
    if (memcmp(&head.head, &replay->hash, sizeof replay->hash) != 0)
        differs(replaying, "head of the chain", STR(""), "another hash", "the one of its last record");
    Status status = run_steps(replaying->args->arena, replaying->store, row, &steps, err);
    for (uint32_t i = 0; !status && i < run->step_count; i++) {
        const StepRun *step = &run->steps[i];
        Str id = replaying->plan.steps[i].id;
        if (!step->number) continue;
        if (step->number > steps.count) {
            differs(replaying, "step run", id, "none", "one");
            continue;
        }
        const Cell *cells = steps.rows[step->number - 1];
        if (!str_is(cells[STEP_RUNS_step_key].text, id) || step_row_state(cells) != (StepState)step->state)
            differs(replaying, "state", id, step_state_name(step_row_state(cells)), step_state_name((StepState)step->state));
        if (cells[STEP_RUNS_attempt].integer != step->attempt) {
            snprintf(stored, sizeof stored, "%" PRId64, cells[STEP_RUNS_attempt].integer);
            snprintf(made, sizeof made, "%u", step->attempt);
            differs(replaying, "tries", id, stored, made);
        }
    }
    return status;
}

/* A snapshot is of some event: the run as it was then. */
static Status compare_snapshot(Replaying *replaying, bool *out_has_snapshot, Error *err)
{
    const Cell *row;
    Replay replay;
    Error why;
    QueryAsk ask = { .query = QUERY_SNAPSHOT, .params = { replaying->row[RUNS_run_no] }, .param_count = 1 };
    Status status = row_select(replaying->args->arena, replaying->store, &ask, &row, err);
    *out_has_snapshot = !status && row;
    if (!*out_has_snapshot) return status;
    uint64_t event = (uint64_t)row[SNAPSHOTS_event_count].integer;
    if (event > (uint64_t)replaying->row[RUNS_event_count].integer) return OK;      /* the run has gone on since its row was read */
    status = fold(replaying, event, &replay, err);
    if (!status && replay_verify(&replay, row[SNAPSHOTS_state].text, &why)) {
        replaying->difference_count++;
        fprintf(stderr, "snapshot of event %" PRIu64 ": %s\n", event, why.text);
    }
    replay_deinit(&replay);
    return status;
}

static Status verify(Replaying *replaying, Error *err)
{
    Replay replay;
    bool has_snapshot = false;
    Status status = fold(replaying, REPLAY_ALL, &replay, err);
    if (!status) status = compare_rows(replaying, &replay, err);
    if (!status) status = compare_snapshot(replaying, &has_snapshot, err);
    if (!status && !replaying->difference_count)
        printf("ok: %" PRIu64 " events in %" PRIu64 " records make what the store shows%s\n", replay.run.event_count, replay.record_count,
               has_snapshot ? ", snapshot included" : "");
    replay_deinit(&replay);
    return status;
}

/* --- the command -------------------------------------------------------------------------------------------------------------- */

static Status show(Replaying *replaying, uint64_t at, Error *err)
{
    RunHistory history;
    Status status = run_history_open(&history, replaying->args->arena, replaying->store, replaying->row, at, err);
    if (status) return status;
    if (args_flag(replaying->args, "json")) status = print_json(run_state_value(&history), err);
    else print_text(replaying, &history.replay.run);
    run_history_close(&history);
    return status;
}

static ExitCode run(const Args *args)
{
    Replaying replaying = { .args = args };
    uint64_t at = REPLAY_ALL;
    Error err;
    ExitCode code = store_open_existing(args, &replaying.store);
    if (code) return code;
    code = find_row(args, replaying.store, args->operands[0], &replaying.row);
    if (!code) {
        Status status = run_plan(args->arena, replaying.store, replaying.row, &replaying.plan, &err);
        if (!status && args_flag(args, "at"))
            status = run_event_at(args->arena, replaying.store, replaying.row, str_of(args_value(args, "at")), &at, &err);
        if (!status) status = run_records(args->arena, replaying.store, replaying.row, 0, false, &replaying.records, &err);
        if (!status && (at != REPLAY_ALL || !args_flag(args, "verify"))) status = show(&replaying, at, &err);
        if (!status && args_flag(args, "verify")) status = verify(&replaying, &err);
        if (status) code = fail(&err);
        if (status == ERR_CORRUPT || replaying.difference_count) code = EXIT_CODE_DATA;
    }
    store_close(replaying.store);
    return code;
}

const Verb command_replay = {
    .name = "replay", .operands = "RUN", .operand_count_min = 1, .operand_count_max = 1,
    .summary = "Makes a run again from its events, up to any of them.",
    .doc = "Nothing is executed: the events of the ledger are folded as they were when the run went on, their hashes checked, and the\n"
           "state of the run and its steps is shown as it was after the event, or at the time. 'maestro show RUN --events' has their numbers.\n"
           "With --verify, what the events make is compared with the rows and the snapshot that the store holds.\n"
           "\n"
           "RUN is the id of a run, its beginning, 'last', or the file of a definition for its newest run. Exit code 65: the store\n"
           "shows something else than the events make, or the ledger is damaged.",
    .examples = "maestro replay last --at 12\n"
                "maestro replay last --verify",
    .options = options, .run = run,
};
