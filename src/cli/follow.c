#include "cli/follow.h"

#include <string.h>
#include <time.h>

#include "base/limits.h"
#include "cli/run_read.h"
#include "ledger/record.h"

Status follow_open(Follow *follow, Store *store, const Cell *row, bool has_logs, Error *err)
{
    *follow = (Follow){ .store = store, .has_logs = has_logs };
    arena_init(&follow->arena, SIZE_MAX);
    Status status = run_plan(&follow->arena, store, row, &follow->plan, err);
    if (status) {
        arena_deinit(&follow->arena);
        *follow = (Follow){ 0 };
        return status;
    }
    Id id = row_id(row);
    replay_init(&follow->replay, &follow->plan, &id, (uint64_t)row[RUNS_run_no].integer, REPLAY_ALL);
    follow->replay.find_plan = store_plan;
    follow->replay.plans = store;
    return OK;
}

void follow_close(Follow *follow)
{
    if (!follow->store) return;
    replay_deinit(&follow->replay);
    arena_deinit(&follow->arena);
    *follow = (Follow){ 0 };
}

static bool take_line_no(void *context, const Cell *cells, uint32_t count)
{
    (void)count;
    *(int64_t *)context = cells[LOGS_line_no].integer;
    return false;
}

Status follow_last_line(Store *store, int64_t *out_line_no, Error *err)
{
    int64_t line_no = 0;
    Status status = store_select(store, &(QueryAsk){ .query = QUERY_LOG_LINE_LAST }, take_line_no, &line_no, err);
    if (!status) *out_line_no = line_no;
    return status;
}

/* --- one look -------------------------------------------------------------------------------------------------------------- */

typedef struct Look {
    Follow *follow;
    Arena arena;
    Observe observe;
    void *context;
    StepRows lines;                     /* of logs, not given on yet */
    size_t line_next;
    uint32_t count;
} Look;

static bool take_line(void *context, const Cell *cells, uint32_t count)
{
    Look *look = context;
    StepRows *lines = &look->lines;
    if (lines->count == lines->capacity)
        lines->rows = arena_grow(&look->arena, lines->rows, sizeof *lines->rows, lines->count, &lines->capacity);
    lines->rows[lines->count++] = row_copy(&look->arena, cells, count);
    look->follow->line_no = cells[LOGS_line_no].integer;
    return true;
}

static Status read_lines(Look *look, Error *err)
{
    const Follow *follow = look->follow;
    Status status = OK;
    for (size_t seen = 1; !status && follow->has_logs && seen != look->lines.count;) {
        seen = look->lines.count;
        QueryAsk ask = { .query = QUERY_LOG_LINES, .param_count = 3,
                         .params = { cell_int((int64_t)follow->replay.run.run_no), cell_int(follow->line_no), cell_null() } };
        status = store_select(follow->store, &ask, take_line, look, err);
        if (look->lines.count == seen) break;
    }
    return status;
}

/* The step of a line: its row names the step run by its number. False where that has not begun yet. */
static bool step_of_line(const Follow *follow, const Cell *line, uint32_t *out_step)
{
    const Run *run = &follow->replay.run;
    int64_t number = line[LOGS_step_index].kind == CELL_INT ? line[LOGS_step_index].integer + 1 : 0;
    *out_step = 0;
    for (uint32_t i = 0; number && i < run->step_count; i++) {
        if (run->steps[i].number != number) continue;
        *out_step = i;
        return true;
    }
    return !number;
}

/* Of one millisecond are often the beginning of a step, what it says, and its end: what it says comes in between. */
static void give_lines(Look *look, int64_t until_ms)
{
    const Follow *follow = look->follow;
    for (; look->line_next < look->lines.count; look->line_next++) {
        const Cell *line = look->lines.rows[look->line_next];
        int64_t time_ms = line[LOGS_time_ms].integer;
        uint32_t step;
        bool has_begun = step_of_line(follow, line, &step);
        if (time_ms > until_ms || (time_ms == until_ms && !has_begun)) return;
        Observation observation = { .kind = OBSERVE_LOG, .plan = &follow->plan, .run = &follow->replay.run,
                                    .step = step, .now_ms = line[LOGS_time_ms].integer,
                                    .text = line[LOGS_text].text, .is_error = str_is_text(line[LOGS_stream].text, "stderr") };
        look->observe(look->context, &observation);
        look->count++;
    }
}

static Status give_record(Look *look, const Cell *cells, Error *err)
{
    Follow *follow = look->follow;
    LedgerRow row = {
        .position = (uint64_t)cells[LEDGER_position].integer, .run_no = follow->replay.run.run_no,
        .prev_position = (uint64_t)cells[LEDGER_prev_position].integer,
            .first_event = (uint64_t)cells[LEDGER_first_event].integer,
        .event_count = (uint32_t)cells[LEDGER_event_count].integer, .record = cells[LEDGER_record].text,
    };
    Record record;
    if (cells[LEDGER_hash].text.len == sizeof row.hash) memcpy(&row.hash, cells[LEDGER_hash].text.ptr, sizeof row.hash);
    Status status = record_decode(&look->arena, row.record, &record, err);
    if (status) return status;
    give_lines(look, record.head.now_ms);
    status = replay_row(&follow->replay, &row, err);
    if (status) return status;
    look->observe(look->context, &(Observation){ .kind = OBSERVE_EVENTS, .plan = &follow->plan, .run = &follow->replay.run,
                                                 .events = record.events, .event_count = record.event_count,
                                                 .first_event = row.first_event, .now_ms = record.head.now_ms });
    look->count++;
    return OK;
}

/* Lines are stored a moment after their step has ended: where the run has ended, too, nobody looks again. */
static Status read_last_lines(Look *look, Error *err)
{
    nanosleep(&(struct timespec){ .tv_nsec = 2 * LOG_DELAY_MS * 1000000L }, NULL);
    return read_lines(look, err);
}

/* The lines that are there, then the row, then its records: what the row does not show yet comes with the next look. */
static Status look_once(Look *look, Error *err)
{
    Follow *follow = look->follow;
    const Cell *row;
    StepRows records;
    Status status = read_lines(look, err);
    if (!status) status = run_row(&look->arena, follow->store, id_peek(&follow->replay.run.id), &row, err);
    if (!status && row && follow->has_logs && !follow->is_settled && row_is_settled(row)) status = read_last_lines(look, err);
    if (!status && !row) status = error_set(err, ERR_NOT_FOUND, "run %s is no longer in the store", follow->replay.run.id.text);
    if (!status) status = run_records(&look->arena, follow->store, row, follow->replay.run.event_count, false, &records, err);
    for (size_t i = 0; !status && i < records.count; i++) status = give_record(look, records.rows[i], err);
    if (status) return status;
    give_lines(look, INT64_MAX);
    follow->is_settled = row_is_settled(row);
    return OK;
}

Status follow_look(Follow *follow, Observe observe, void *context, uint32_t *out_count, Error *err)
{
    Look look = { .follow = follow, .observe = observe, .context = context };
    arena_init(&look.arena, SIZE_MAX);
    Status status = look_once(&look, err);
    /* What was read and not given on is read again by the next look. */
    if (status && look.line_next < look.lines.count) follow->line_no = look.lines.rows[look.line_next][LOGS_line_no].integer - 1;
    arena_deinit(&look.arena);
    *out_count = look.count;
    return status;
}
