/* store_port_test.c - the contract of view/store.h, held against every adapter. */
#include <string.h>

#include "store_case.h"

static bool cell_is_text(Cell cell, const char *text) { return cell.kind == CELL_TEXT && str_is_text(cell.text, text); }

/* --- commits ------------------------------------------------------------------------------------------------------- */

STORE_CASE(a_new_log_is_empty_and_each_owner_raises_its_epoch, "")
{
    EXPECT_INT(it->head.epoch, 1);
    EXPECT_INT(it->head.position, 0);
    EXPECT_INT(it->head.next_run_no, 1);
    EXPECT_INT(it->head.next_step_run_no, 1);
    Error err;
    REQUIRE_OK(store_own(it->store, 1, &it->head, &err), &err);
    EXPECT_INT(it->head.epoch, 2);
}

STORE_CASE(what_is_durable_can_be_read_and_the_head_follows, "proves: R-065 R-066 R-067")
{
    it->head.next_run_no = 2;
    it->head.next_step_run_no = 3;
    RowChange changes[] = { run_row(it, 1, "default", "orders", 7), step_row(it, 1, 0, 1, "first"), step_row(it, 1, 1, 2, "second") };
    Batch *batch = batch_make(it, &(BatchPlan){ .record_count = 3, .run_no = 1, .payload = STR("0123456789abcdef{\"a\":1}"),
                                                .changes = changes, .change_count = 3 });
    Error err;
    REQUIRE(batch_commit(it, batch, &err) == STORE_DURABLE);

    Answer run = ASK(it, QUERY_RUN_BY_ID, cell_text(run_id(it, 1)));
    REQUIRE(run.row_count == 1);
    EXPECT_INT(answer_cell(&run, 0, RUNS_definition_version).integer, 7);
    EXPECT_INT(answer_cell(&run, 0, RUNS_auto_retry_count).integer, 0);
    EXPECT_INT(answer_cell(&run, 0, RUNS_completed_ms).kind, CELL_NULL);
    Answer steps = ASK(it, QUERY_STEP_RUNS, cell_int(1), cell_int(0));
    REQUIRE(steps.row_count == 2);
    EXPECT(cell_is_text(answer_cell(&steps, 1, STEP_RUNS_step_key), "second"));
    Answer record = ASK(it, QUERY_RECORD, cell_int(2));
    REQUIRE(record.row_count == 1);
    EXPECT_STR(answer_cell(&record, 0, LEDGER_record).text, STR("record 2"));
    EXPECT_STR(answer_cell(&record, 0, LEDGER_payload).text, STR("0123456789abcdef{\"a\":1}"));
    Answer head = ASK(it, QUERY_LOG_HEAD, cell_int(1));
    REQUIRE(head.row_count == 1);
    EXPECT_INT(answer_cell(&head, 0, LOG_HEADS_position).integer, 3);
    EXPECT_INT(answer_cell(&head, 0, LOG_HEADS_next_run_no).integer, 2);
    EXPECT_INT(answer_cell(&head, 0, LOG_HEADS_next_step_run_no).integer, 3);
    EXPECT_INT(answer_cell(&head, 0, LOG_HEADS_now_ms).integer, it->now_ms);

    LogHead again;
    REQUIRE_OK(store_own(it->store, 1, &again, &err), &err);
    EXPECT_INT(again.position, 3);
    EXPECT(!memcmp(&again.head, &it->head.head, sizeof again.head));
    EXPECT_INT(again.next_step_run_no, 3);
}

STORE_CASE(batches_in_flight_complete_in_order, "")
{
    Batch *batches[STORE_BATCH_COUNT_MAX];
    for (uint32_t i = 0; i < STORE_BATCH_COUNT_MAX; i++) {
        RowChange *change = ARENA_NEW(&it->arena, RowChange);
        *change = run_row(it, i + 1, "default", "orders", 1);
        batches[i] = batch_make(it, &(BatchPlan){ .record_count = 1, .run_no = i + 1, .changes = change, .change_count = 1 });
        EXPECT(store_submit(it->store, batches[i]));
    }
    Batch *beyond = batch_make(it, &(BatchPlan){ .record_count = 1 });
    ROW("beyond STORE_BATCH_COUNT_MAX nothing is taken");
    EXPECT(!store_submit(it->store, beyond));
    ROW("");
    for (uint32_t i = 0; i < STORE_BATCH_COUNT_MAX; i++) {
        Completion completion;
        REQUIRE(completion_wait(it, &completion));
        EXPECT(completion.batch == batches[i]);
        EXPECT_INT(completion.outcome, STORE_DURABLE);
    }
    EXPECT_INT(ASK(it, QUERY_RUNS_OPEN, cell_int(0)).row_count, STORE_BATCH_COUNT_MAX);
    Completion none;
    EXPECT(!store_poll(it->store, &none));
}

/* Whoever makes them: the caller's thread, the store's, or both in turn. */
STORE_CASE(batches_of_a_caller_who_lends_its_thread_complete_in_order, "")
{
    enum { ROUND_COUNT = 40 };
    uint64_t run_no = 0;
    store_lend(it->store);
    for (uint32_t round = 0; round < ROUND_COUNT; round++) {
        Batch *batches[3];
        uint32_t count = 1 + round % 3;
        for (uint32_t i = 0; i < count; i++) {
            RowChange *change = ARENA_NEW(&it->arena, RowChange);
            *change = run_row(it, ++run_no, "default", "orders", 1);
            batches[i] = batch_make(it, &(BatchPlan){ .record_count = 1, .run_no = run_no, .changes = change, .change_count = 1 });
            REQUIRE(store_submit(it->store, batches[i]));
        }
        store_help(it->store, round % 2 == 0);
        for (uint32_t i = 0; i < count; i++) {
            Completion completion;
            REQUIRE(completion_wait(it, &completion));
            EXPECT(completion.batch == batches[i]);
            EXPECT_INT(completion.outcome, STORE_DURABLE);
        }
    }
    EXPECT_INT(ASK(it, QUERY_RUNS_OPEN, cell_int(0)).row_count, run_no);
}

STORE_CASE(a_batch_of_an_older_epoch_is_fenced, "")
{
    uint64_t old = it->head.epoch;
    Error err = { 0 };
    REQUIRE_OK(store_own(it->store, 1, &it->head, &err), &err);
    RowChange change = run_row(it, 1, "default", "orders", 1);
    Batch *batch = batch_make(it, &(BatchPlan){ .record_count = 1, .run_no = 1, .changes = &change, .change_count = 1, .epoch = old });
    EXPECT_INT(batch_commit(it, batch, &err), STORE_FENCED);
    EXPECT_INT(err.status, ERR_CONFLICT);
    EXPECT_INT(ASK(it, QUERY_RUN, cell_int(1)).row_count, 0);
    EXPECT_INT(ASK(it, QUERY_RECORD, cell_int(1)).row_count, 0);
}

STORE_CASE(a_batch_that_does_not_follow_is_refused, "")
{
    commit_run(it, "default", "orders");
    Error err = { 0 };
    LogHead before = it->head;
    ROW("a gap");
    Batch *batch = batch_make(it, &(BatchPlan){ .record_count = 1, .first_position = 5 });
    EXPECT_INT(batch_commit(it, batch, &err), STORE_REFUSED);
    ROW("a position that is taken");
    it->head = before;
    batch = batch_make(it, &(BatchPlan){ .record_count = 1, .first_position = 1 });
    EXPECT_INT(batch_commit(it, batch, &err), STORE_REFUSED);
    ROW("another head");
    it->head = before;
    it->head.head.bytes[0] ^= 1;
    batch = batch_make(it, &(BatchPlan){ .record_count = 1 });
    EXPECT_INT(batch_commit(it, batch, &err), STORE_REFUSED);
    ROW("the right one");
    it->head = before;
    EXPECT_INT(commit_changes(it, NULL, 0), STORE_DURABLE);
}

STORE_CASE(a_refused_batch_leaves_nothing_and_those_behind_it_are_refused, "")
{
    commit_run(it, "default", "orders");
    RowChange bad[] = { run_row(it, 2, "default", "orders", 1), run_row(it, 1, "default", "orders", 1) };
    RowChange good = run_row(it, 3, "default", "orders", 1);
    LogHead before = it->head;
    Batch *first = batch_make(it, &(BatchPlan){ .record_count = 1, .run_no = 2, .changes = bad, .change_count = 2 });
    Batch *second = batch_make(it, &(BatchPlan){ .record_count = 1, .run_no = 3, .changes = &good, .change_count = 1 });
    EXPECT(store_submit(it->store, first));
    EXPECT(store_submit(it->store, second));
    for (int i = 0; i < 2; i++) {
        Completion completion;
        REQUIRE(completion_wait(it, &completion));
        EXPECT_INT(completion.outcome, STORE_REFUSED);
        EXPECT(completion.error.text[0] != 0);
    }
    EXPECT_INT(ASK(it, QUERY_RUNS_OPEN, cell_int(0)).row_count, 1);
    EXPECT_INT(ASK(it, QUERY_RECORD, cell_int(2)).row_count, 0);
    ROW("the store goes on");
    it->head = before;
    EXPECT_INT(commit_changes(it, &good, 1), STORE_DURABLE);
    EXPECT_INT(ASK(it, QUERY_RUNS_OPEN, cell_int(0)).row_count, 2);
}

/* --- rows ---------------------------------------------------------------------------------------------------------- */

STORE_CASE(an_update_changes_the_columns_given_and_no_others, "proves: R-071")
{
    commit_run(it, "default", "orders");
    Cell *cells = cells_make(it, TABLE_RUNS);
    cells[RUNS_run_no] = cell_int(1);
    cells[RUNS_state] = text_cell("SUCCEEDED");
    cells[RUNS_completed_ms] = cell_int(it->now_ms + 5);
    cells[RUNS_priority] = text_cell("not given");
    RowChange change = row_change(TABLE_RUNS, ROW_UPDATE, COLUMN_BIT(RUNS_state) | COLUMN_BIT(RUNS_completed_ms), cells);
    EXPECT_INT(commit_changes(it, &change, 1), STORE_DURABLE);
    Answer run = ASK(it, QUERY_RUN, cell_int(1));
    REQUIRE(run.row_count == 1);
    EXPECT(cell_is_text(answer_cell(&run, 0, RUNS_state), "SUCCEEDED"));
    EXPECT(cell_is_text(answer_cell(&run, 0, RUNS_priority), "normal"));
    EXPECT_INT(answer_cell(&run, 0, RUNS_completed_ms).integer, it->now_ms + 5);
    EXPECT_INT(ASK(it, QUERY_RUNS_OPEN, cell_int(0)).row_count, 0);

    ROW("back to null");
    cells[RUNS_completed_ms] = cell_null();
    EXPECT_INT(commit_changes(it, &change, 1), STORE_DURABLE);
    EXPECT_INT(ASK(it, QUERY_RUNS_OPEN, cell_int(0)).row_count, 1);
}

STORE_CASE(refusals_of_single_rows, "")
{
    commit_run(it, "default", "orders");
    Cell *cells = cells_make(it, TABLE_RUNS);
    cells[RUNS_run_no] = cell_int(9);
    cells[RUNS_state] = text_cell("RUNNING");
    RowChange change = row_change(TABLE_RUNS, ROW_UPDATE, COLUMN_BIT(RUNS_state), cells);
    ROW("an update of no row");
    EXPECT_INT(commit_changes(it, &change, 1), STORE_REFUSED);
    ROW("an insert of a row that is there");
    change = run_row(it, 1, "default", "orders", 1);
    EXPECT_INT(commit_changes(it, &change, 1), STORE_REFUSED);
    ROW("an insert that leaves out what is required");
    change = run_row(it, 2, "default", "orders", 1);
    change.mask &= ~COLUMN_BIT(RUNS_tenant);
    EXPECT_INT(commit_changes(it, &change, 1), STORE_REFUSED);
    ROW("a null in a required column");
    cells = cells_make(it, TABLE_RUNS);
    cells[RUNS_run_no] = cell_int(1);
    change = row_change(TABLE_RUNS, ROW_UPDATE, COLUMN_BIT(RUNS_state), cells);
    EXPECT_INT(commit_changes(it, &change, 1), STORE_REFUSED);
    ROW("an id that another run has");
    change = run_row(it, 2, "default", "orders", 1);
    ((Cell *)change.cells)[RUNS_id] = cell_text(run_id(it, 1));
    EXPECT_INT(commit_changes(it, &change, 1), STORE_REFUSED);
    ROW("nothing of these is there");
    EXPECT_INT(ASK(it, QUERY_RUNS_OPEN, cell_int(0)).row_count, 1);
}

STORE_CASE(a_start_key_belongs_to_one_run_of_a_generation, "")
{
    RowChange changes[3];
    for (uint32_t i = 0; i < 3; i++) {
        changes[i] = run_row(it, i + 1, "default", "orders", 1);
        Cell *cells = (Cell *)changes[i].cells;
        cells[RUNS_idempotency_key] = text_cell("order-7");
        cells[RUNS_key_generation] = cell_int(i == 2 ? 0 : i);
        changes[i].mask |= COLUMN_BIT(RUNS_idempotency_key) | COLUMN_BIT(RUNS_key_generation);
    }
    EXPECT_INT(commit_changes(it, changes, 2), STORE_DURABLE);
    EXPECT_INT(commit_changes(it, changes + 2, 1), STORE_REFUSED);
    Answer newest = ASK(it, QUERY_RUN_BY_KEY, text_cell("default"), text_cell("orders"), text_cell("order-7"));
    REQUIRE(newest.row_count == 1);
    EXPECT_INT(answer_cell(&newest, 0, RUNS_run_no).integer, 2);
    EXPECT_INT(ASK(it, QUERY_RUN_BY_KEY, text_cell("other"), text_cell("orders"), text_cell("order-7")).row_count, 0);
    ROW("runs without a key do not stand in one another's way");
    it->head.next_run_no = 3;
    commit_run(it, "default", "orders");
    commit_run(it, "default", "orders");
}

STORE_CASE(put_inserts_or_replaces_and_delete_removes, "")
{
    Cell *cells = cells_make(it, TABLE_TIMERS);
    cells[TIMERS_run_no] = cell_int(4);
    cells[TIMERS_due_ms] = cell_int(100);
    RowChange put = row_change(TABLE_TIMERS, ROW_PUT, COLUMN_BIT(TIMERS_due_ms), cells);
    EXPECT_INT(commit_changes(it, &put, 1), STORE_DURABLE);
    cells[TIMERS_due_ms] = cell_int(50);
    EXPECT_INT(commit_changes(it, &put, 1), STORE_DURABLE);
    Answer timers = ASK(it, QUERY_TIMERS_DUE, cell_int(1000));
    REQUIRE(timers.row_count == 1);
    EXPECT_INT(answer_cell(&timers, 0, TIMERS_due_ms).integer, 50);
    RowChange gone = row_change(TABLE_TIMERS, ROW_DELETE, 0, cells);
    EXPECT_INT(commit_changes(it, &gone, 1), STORE_DURABLE);
    EXPECT_INT(ASK(it, QUERY_TIMERS_DUE, cell_int(1000)).row_count, 0);
    ROW("deleting what is not there does nothing");
    EXPECT_INT(commit_changes(it, &gone, 1), STORE_DURABLE);
}

STORE_CASE(texts_and_bytes_come_back_as_they_were, "")
{
    char bytes[256], *large = arena_bytes(&it->arena, 100000);
    for (int i = 0; i < 256; i++) bytes[i] = (char)i;
    memset(large, 'x', 100000);
    Cell *cells = cells_make(it, TABLE_SNAPSHOTS);
    cells[SNAPSHOTS_run_no] = cell_int(INT64_MAX);
    cells[SNAPSHOTS_event_count] = cell_int(INT64_MIN);
    cells[SNAPSHOTS_digest] = cell_blob((Str){ bytes, 256 });
    cells[SNAPSHOTS_state] = cell_blob((Str){ large, 100000 });
    RowChange change = row_change(TABLE_SNAPSHOTS, ROW_PUT, UINT64_MAX & ~COLUMN_BIT(SNAPSHOTS_position), cells);
    EXPECT_INT(commit_changes(it, &change, 1), STORE_DURABLE);
    Answer snapshot = ASK(it, QUERY_SNAPSHOT, cell_int(INT64_MAX));
    REQUIRE(snapshot.row_count == 1);
    EXPECT_INT(answer_cell(&snapshot, 0, SNAPSHOTS_event_count).integer, INT64_MIN);
    EXPECT_STR(answer_cell(&snapshot, 0, SNAPSHOTS_digest).text, ((Str){ bytes, 256 }));
    EXPECT_STR(answer_cell(&snapshot, 0, SNAPSHOTS_state).text, ((Str){ large, 100000 }));
    ROW("an empty text is no null");
    cells[SNAPSHOTS_state] = cell_blob((Str){ NULL, 0 });
    EXPECT_INT(commit_changes(it, &change, 1), STORE_DURABLE);
    snapshot = ASK(it, QUERY_SNAPSHOT, cell_int(INT64_MAX));
    EXPECT_INT(answer_cell(&snapshot, 0, SNAPSHOTS_state).kind, CELL_BLOB);
    EXPECT_INT(answer_cell(&snapshot, 0, SNAPSHOTS_state).text.len, 0);
}

/* --- questions ----------------------------------------------------------------------------------------------------- */

/* Twelve runs of two tenants, two definitions, two versions, in three states. */
static void many_runs(StoreCase *it)
{
    static const char *const states[] = { "RUNNING", "SUCCEEDED", "FAILED" };
    RowChange changes[12];
    for (uint32_t i = 0; i < 12; i++) {
        it->now_ms += i % 3 ? 10 : 0;
        changes[i] = run_row(it, i + 1, i % 4 == 3 ? "other" : "default", i % 2 ? "orders" : "bills", i < 6 ? 1 : 2);
        ((Cell *)changes[i].cells)[RUNS_state] = text_cell(states[i % 3]);
    }
    it->head.next_run_no = 13;
    EXPECT_INT(commit_changes(it, changes, 12), STORE_DURABLE);
}

static void expect_runs(const Answer *answer, const int64_t *numbers, uint32_t count)
{
    EXPECT_INT(answer->row_count, count);
    for (uint32_t i = 0; i < count && i < answer->row_count; i++) EXPECT_INT(answer_cell(answer, i, RUNS_run_no).integer, numbers[i]);
}

#define RUNS_ARE(answer, ...) \
    expect_runs(&answer, (const int64_t[]){ __VA_ARGS__ }, sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))

STORE_CASE(runs_are_listed_newest_first_and_filtered, "proves: R-068 R-069")
{
    many_runs(it);
    Cell any = cell_null(), end = cell_int(INT64_MAX);
    ROW("of a tenant");
    Answer answer = ASK(it, QUERY_RUNS_OF_TENANT, text_cell("other"), end, any);
    RUNS_ARE(answer, 12, 8, 4);
    ROW("of a definition, all versions");
    answer = ASK(it, QUERY_RUNS_OF_DEFINITION, text_cell("default"), text_cell("orders"), end, any, any);
    RUNS_ARE(answer, 10, 6, 2);
    ROW("of a definition, in a state");
    answer = ASK(it, QUERY_RUNS_OF_DEFINITION, text_cell("default"), text_cell("orders"), end, text_cell("FAILED"), any);
    RUNS_ARE(answer, 6);
    ROW("of a revision, by the time of start");
    answer = ASK(it, QUERY_RUNS_OF_REVISION, text_cell("default"), text_cell("bills"), cell_int(1), end, end, any);
    RUNS_ARE(answer, 5, 3, 1);
    ROW("in a state");
    answer = ASK(it, QUERY_RUNS_IN_STATE, text_cell("default"), text_cell("RUNNING"), end, any, any);
    RUNS_ARE(answer, 10, 7, 1);
    ROW("since");
    answer = ASK(it, QUERY_RUNS, end, any, cell_int(it->now_ms - 10));
    RUNS_ARE(answer, 12, 11);
    ROW("of nobody");
    EXPECT_INT(ASK(it, QUERY_RUNS_OF_TENANT, text_cell("nobody"), end, any).row_count, 0);
}

STORE_CASE(lists_are_paged_by_a_cursor_without_loss_or_repetition, "proves: R-070")
{
    many_runs(it);
    int64_t expected = 12, last = INT64_MAX;
    for (uint32_t page = 0; page < 4; page++) {
        Cell params[] = { cell_int(last), cell_null(), cell_null() };
        Answer answer = ask(it, QUERY_RUNS, params, 3, 5);
        EXPECT_INT(answer.row_count, page < 2 ? 5 : page == 2 ? 2 : 0);
        for (uint32_t i = 0; i < answer.row_count; i++) EXPECT_INT(last = answer_cell(&answer, i, RUNS_run_no).integer, expected--);
    }
    EXPECT_INT(expected, 0);

    ROW("a pair as cursor, of runs that started at the same time");
    int64_t started = INT64_MAX, run_no = INT64_MAX;
    int64_t found = 0;
    for (;;) {
        Cell params[] = { text_cell("default"), text_cell("bills"), cell_int(2), cell_int(started), cell_int(run_no), cell_null() };
        Answer answer = ask(it, QUERY_RUNS_OF_REVISION, params, 6, 1);
        if (!answer.row_count) break;
        started = answer_cell(&answer, 0, RUNS_started_ms).integer;
        EXPECT(answer_cell(&answer, 0, RUNS_run_no).integer < run_no || found == 0);
        run_no = answer_cell(&answer, 0, RUNS_run_no).integer;
        found++;
    }
    EXPECT_INT(found, 3);
    ROW("how many there are in all");
    Answer count = ASK(it, QUERY_COUNT_OF_REVISION, text_cell("default"), text_cell("bills"), cell_int(2), cell_null());
    EXPECT_INT(answer_cell(&count, 0, 0).integer, 3);
    count = ASK(it, QUERY_COUNT_OF_DEFINITION, text_cell("default"), text_cell("bills"), cell_null(), cell_null());
    EXPECT_INT(answer_cell(&count, 0, 0).integer, 6);
    count = ASK(it, QUERY_COUNT_OF_DEFINITION, text_cell("nobody"), text_cell("bills"), cell_null(), cell_null());
    EXPECT_INT(answer_cell(&count, 0, 0).integer, 0);
}

STORE_CASE(runs_are_counted_by_state, "")
{
    many_runs(it);
    Answer answer = ASK(it, QUERY_COUNT_OF_TENANT_BY_STATE, text_cell("default"));
    REQUIRE(answer.row_count == 3);
    static const struct { const char *state; int64_t count; } want[] = { { "FAILED", 3 }, { "RUNNING", 3 }, { "SUCCEEDED", 3 } };
    for (uint32_t i = 0; i < 3; i++) {
        EXPECT(cell_is_text(answer_cell(&answer, i, 0), want[i].state));
        EXPECT_INT(answer_cell(&answer, i, 1).integer, want[i].count);
    }
    answer = ask(it, QUERY_COUNT_BY_STATE, NULL, 0, 0);
    EXPECT_INT(answer_cell(&answer, 0, 1).integer, 4);
    int64_t all = 0, parts = 0, run_count = 0;
    for (uint32_t i = 0; i < answer.row_count; i++) all += answer_cell(&answer, i, 1).integer;
    for (int64_t from = 1; from <= all; from += 4) {
        answer = ASK(it, QUERY_COUNT_OF_STRETCH_BY_STATE, cell_int(from), cell_int(from + 3));
        for (uint32_t i = 0; i < answer.row_count; i++) parts += answer_cell(&answer, i, 1).integer;
        run_count += 4;
    }
    EXPECT_INT(parts, all);
    EXPECT(run_count >= all && all > 4);
}

STORE_CASE(steps_are_found_by_run_index_and_key, "proves: R-072")
{
    commit_run(it, "default", "orders");
    commit_run(it, "default", "orders");
    RowChange changes[] = { step_row(it, 2, 0, 1, "a"), step_row(it, 1, 0, 2, "a"), step_row(it, 1, 1, 3, "b"),
                            step_row(it, 1, 2, 4, "a") };
    EXPECT_INT(commit_changes(it, changes, 4), STORE_DURABLE);
    Answer steps = ASK(it, QUERY_STEP_RUNS, cell_int(1), cell_int(1));
    REQUIRE(steps.row_count == 2);
    EXPECT_INT(answer_cell(&steps, 0, STEP_RUNS_step_index).integer, 1);
    EXPECT_INT(answer_cell(&steps, 1, STEP_RUNS_step_index).integer, 2);
    Answer newest = ASK(it, QUERY_STEP_RUN_BY_KEY, cell_int(1), text_cell("a"));
    REQUIRE(newest.row_count == 1);
    EXPECT_INT(answer_cell(&newest, 0, STEP_RUNS_step_run_no).integer, 4);
    Answer count = ASK(it, QUERY_COUNT_OF_STEP_RUNS, cell_int(1));
    EXPECT_INT(answer_cell(&count, 0, 0).integer, 3);
    Answer last = ASK(it, QUERY_STEP_RUN_LAST, cell_int(1));
    REQUIRE(last.row_count == 1);
    EXPECT_INT(answer_cell(&last, 0, STEP_RUNS_step_index).integer, 2);
    EXPECT_INT(ASK(it, QUERY_STEP_RUN_LAST, cell_int(9)).row_count, 0);

    ROW("an update by run and index");
    Cell *cells = cells_make(it, TABLE_STEP_RUNS);
    cells[STEP_RUNS_workflow_id] = cell_int(1);
    cells[STEP_RUNS_step_index] = cell_int(1);
    cells[STEP_RUNS_status] = text_cell("SUCCEEDED");
    RowChange change = row_change(TABLE_STEP_RUNS, ROW_UPDATE, COLUMN_BIT(STEP_RUNS_status), cells);
    EXPECT_INT(commit_changes(it, &change, 1), STORE_DURABLE);
    Answer step = ASK(it, QUERY_STEP_RUN, cell_int(1), cell_int(1));
    EXPECT(cell_is_text(answer_cell(&step, 0, STEP_RUNS_status), "SUCCEEDED"));
    EXPECT_INT(answer_cell(&step, 0, STEP_RUNS_step_run_no).integer, 3);
    ROW("an index is given once in a run");
    change = step_row(it, 1, 1, 9, "b");
    EXPECT_INT(commit_changes(it, &change, 1), STORE_REFUSED);
}

STORE_CASE(a_run_is_walked_back_record_by_record, "")
{
    Batch *batch = batch_make(it, &(BatchPlan){ .record_count = 6, .run_no = 1 });
    BatchRecord *records = (BatchRecord *)batch->records;
    for (uint32_t i = 0; i < 6; i++)            /* two runs take turns: 1, 3, 5 and 2, 4, 6 */
        records[i].run_no = i % 2 + 1, records[i].prev_position = i < 2 ? 0 : i - 1, records[i].first_event = i / 2 * 10 + 1;
    Error err;
    REQUIRE(batch_commit(it, batch, &err) == STORE_DURABLE);
    Answer tail = ASK(it, QUERY_RUN_TAIL, cell_int(6), cell_int(0));
    REQUIRE(tail.row_count == 3);
    for (uint32_t i = 0; i < 3; i++) EXPECT_INT(answer_cell(&tail, i, LEDGER_position).integer, 6 - 2 * (int64_t)i);
    ROW("only what is newer than an event");
    tail = ASK(it, QUERY_RUN_TAIL, cell_int(5), cell_int(10));
    REQUIRE(tail.row_count == 2);
    EXPECT_INT(answer_cell(&tail, 1, LEDGER_position).integer, 3);
    EXPECT_STR(answer_cell(&tail, 1, LEDGER_record).text, STR("record 3"));
    ROW("at most so many");
    Cell params[] = { cell_int(6), cell_int(0) };
    EXPECT_INT(ask(it, QUERY_RUN_TAIL, params, 2, 1).row_count, 1);
    EXPECT_INT(ASK(it, QUERY_RUN_TAIL, cell_int(99), cell_int(0)).row_count, 0);
    ROW("forward, in a stretch of the log");
    Answer stretch = ASK(it, QUERY_RUN_STRETCH, cell_int(2), cell_int(5), cell_int(1));
    REQUIRE(stretch.row_count == 2);
    EXPECT_INT(answer_cell(&stretch, 0, LEDGER_position).integer, 3);
    EXPECT_INT(answer_cell(&stretch, 1, LEDGER_position).integer, 5);
    ROW("the whole ledger from a position on");
    EXPECT_INT(ASK(it, QUERY_RECORDS, cell_int(3)).row_count, 4);
    Answer bare = ASK(it, QUERY_RECORDS_BARE, cell_int(3));
    REQUIRE(bare.row_count == 4);
    EXPECT_INT(answer_cell(&bare, 0, LEDGER_record).kind, CELL_BLOB);
    EXPECT_INT(answer_cell(&bare, 0, LEDGER_payload).kind, CELL_NULL);
    Answer hashes = ASK(it, QUERY_RECORD_HASHES, cell_int(1));
    EXPECT_INT(hashes.row_count, 6);
    EXPECT_INT(answer_cell(&hashes, 0, LEDGER_record).kind, CELL_NULL);
    EXPECT_INT(answer_cell(&hashes, 0, LEDGER_hash).text.len, DIGEST_SIZE);
}

STORE_CASE(revisions_are_found_by_version_flag_and_name, "")
{
    RowChange changes[4];
    for (uint32_t i = 0; i < 4; i++) {
        Cell *cells = cells_make(it, TABLE_REVISIONS);
        cells[REVISIONS_tenant] = text_cell("default");
        cells[REVISIONS_workflow_id] = text_cell(i == 3 ? "bills" : "orders");
        cells[REVISIONS_version] = cell_int(i == 3 ? 1 : i + 1);
        cells[REVISIONS_label] = i == 1 ? text_cell("2.0.0") : cell_null();
        cells[REVISIONS_digest] = cell_blob(STR("digest"));
        cells[REVISIONS_active] = cell_int(i < 2);
        cells[REVISIONS_name] = cells[REVISIONS_text] = text_cell("orders");
        cells[REVISIONS_triggers] = text_cell(i == 1 ? "[{\"manual\":true}]" : "[]");
        cells[REVISIONS_parameters] = cells[REVISIONS_steps] = text_cell("[]");
        cells[REVISIONS_created_ms] = cells[REVISIONS_updated_ms] = cell_int(it->now_ms);
        changes[i] = row_change(TABLE_REVISIONS, ROW_INSERT, UINT64_MAX, cells);
    }
    EXPECT_INT(commit_changes(it, changes, 4), STORE_DURABLE);
    Answer answer = ASK(it, QUERY_REVISION_ACTIVE, text_cell("default"), text_cell("orders"), cell_int(1));
    EXPECT_INT(answer_cell(&answer, 0, REVISIONS_version).integer, 2);
    answer = ASK(it, QUERY_REVISION_TRIGGERS, text_cell("default"), text_cell("orders"), cell_int(1));
    REQUIRE(answer.row_count == 1);
    EXPECT_INT(answer_cell(&answer, 0, REVISIONS_version).integer, 2);
    EXPECT(cell_is_text(answer_cell(&answer, 0, REVISIONS_triggers), "[{\"manual\":true}]"));
    EXPECT_INT(answer_cell(&answer, 0, REVISIONS_digest).kind, CELL_BLOB);
    EXPECT_INT(answer_cell(&answer, 0, REVISIONS_steps).kind, CELL_NULL);       /* what grows with the plan is not read */
    EXPECT_INT(answer_cell(&answer, 0, REVISIONS_text).kind, CELL_NULL);
    EXPECT(cell_is_text(answer_cell(&answer, 0, REVISIONS_parameters), "[]"));
    EXPECT_INT(answer_cell(&answer, 0, REVISIONS_active).integer, 1);
    EXPECT_INT(ASK(it, QUERY_REVISION_TRIGGERS, text_cell("default"), text_cell("bills"), cell_int(1)).row_count, 0);
    answer = ASK(it, QUERY_WORKFLOW_NEWEST, text_cell("default"), text_cell("orders"));
    REQUIRE(answer.row_count == 1);
    EXPECT_INT(answer_cell(&answer, 0, REVISIONS_version).integer, 3);
    EXPECT_INT(answer_cell(&answer, 0, REVISIONS_created_ms).kind, CELL_NULL);  /* nor what lies behind it */
    answer = ASK(it, QUERY_WORKFLOW_ACTIVE, text_cell("default"), text_cell("orders"), cell_int(1));
    REQUIRE(answer.row_count == 1);
    EXPECT_INT(answer_cell(&answer, 0, REVISIONS_version).integer, 2);
    EXPECT(cell_is_text(answer_cell(&answer, 0, REVISIONS_name), "orders"));
    EXPECT_INT(ASK(it, QUERY_WORKFLOW_ACTIVE, text_cell("default"), text_cell("bills"), cell_int(1)).row_count, 0);
    answer = ASK(it, QUERY_REVISION_HEAD, text_cell("default"), text_cell("orders"), cell_int(3));
    REQUIRE(answer.row_count == 1);
    EXPECT_INT(answer_cell(&answer, 0, REVISIONS_updated_ms).integer, it->now_ms);
    EXPECT_INT(answer_cell(&answer, 0, REVISIONS_steps).kind, CELL_NULL);
    answer = ASK(it, QUERY_REVISION, text_cell("default"), text_cell("orders"), cell_int(3));
    EXPECT(cell_is_text(answer_cell(&answer, 0, REVISIONS_steps), "[]"));
    answer = ASK(it, QUERY_REVISION_NEWEST, text_cell("default"), text_cell("orders"));
    EXPECT_INT(answer_cell(&answer, 0, REVISIONS_version).integer, 3);
    answer = ASK(it, QUERY_REVISIONS_OF_WORKFLOW, text_cell("default"), text_cell("orders"), cell_int(3));
    EXPECT_INT(answer.row_count, 2);
    answer = ASK(it, QUERY_REVISIONS_OF_TENANT, text_cell("default"), text_cell(""), cell_int(0));
    REQUIRE(answer.row_count == 4);
    EXPECT(cell_is_text(answer_cell(&answer, 0, REVISIONS_workflow_id), "bills"));
    answer = ASK(it, QUERY_REVISIONS_OF_TENANT, text_cell("default"), text_cell("orders"), cell_int(2));
    EXPECT_INT(answer.row_count, 1);
    ROW("a label belongs to one version");
    Cell *cells = (Cell *)changes[2].cells;
    cells[REVISIONS_version] = cell_int(4);
    cells[REVISIONS_label] = text_cell("2.0.0");
    EXPECT_INT(commit_changes(it, changes + 2, 1), STORE_REFUSED);
}

STORE_CASE(timers_signals_requests_and_lines_are_found_in_order, "")
{
    RowChange changes[12];
    uint32_t count = 0;
    for (uint32_t i = 0; i < 3; i++) {
        Cell *timer = cells_make(it, TABLE_TIMERS);
        timer[TIMERS_run_no] = cell_int(i + 1);
        timer[TIMERS_due_ms] = cell_int(300 - 100 * (int64_t)i);
        changes[count++] = row_change(TABLE_TIMERS, ROW_PUT, UINT64_MAX, timer);
        Cell *signal = cells_make(it, TABLE_SIGNALS);
        signal[SIGNALS_run_no] = cell_int(1);
        signal[SIGNALS_number] = cell_int(i + 1);
        signal[SIGNALS_name] = text_cell("go");
        signal[SIGNALS_kind] = text_cell("approval");
        signal[SIGNALS_received_ms] = cell_int(it->now_ms);
        changes[count++] = row_change(TABLE_SIGNALS, ROW_INSERT, UINT64_MAX, signal);
        Cell *line = cells_make(it, TABLE_LOGS);
        line[LOGS_line_no] = cell_int(i + 1);
        line[LOGS_run_no] = cell_int(i == 2 ? 2 : 1);
        line[LOGS_step_index] = cell_int(i);
        line[LOGS_time_ms] = cell_int(it->now_ms);
        line[LOGS_stream] = text_cell("stdout");
        line[LOGS_text] = text_cell("hello");
        changes[count++] = row_change(TABLE_LOGS, ROW_INSERT, UINT64_MAX, line);
        Cell *request = cells_make(it, TABLE_REQUESTS);
        request[REQUESTS_tenant] = text_cell("default");
        request[REQUESTS_key] = cell_text(arena_format(&it->arena, "key-%u", i));
        request[REQUESTS_digest] = cell_blob(STR("digest"));
        request[REQUESTS_answer] = text_cell("{}");
        request[REQUESTS_expires_ms] = cell_int(10 + i);
        changes[count++] = row_change(TABLE_REQUESTS, ROW_INSERT, UINT64_MAX, request);
    }
    EXPECT_INT(commit_changes(it, changes, count), STORE_DURABLE);
    Answer answer = ASK(it, QUERY_TIMERS_DUE, cell_int(200));
    REQUIRE(answer.row_count == 2);
    EXPECT_INT(answer_cell(&answer, 0, TIMERS_run_no).integer, 3);
    answer = ask(it, QUERY_TIMER_NEXT, NULL, 0, 0);
    EXPECT_INT(answer_cell(&answer, 0, TIMERS_due_ms).integer, 100);
    EXPECT_INT(ASK(it, QUERY_SIGNALS, cell_int(1), cell_int(1)).row_count, 2);
    EXPECT_INT(ASK(it, QUERY_LOG_LINES, cell_int(1), cell_int(0), cell_null()).row_count, 2);
    EXPECT_INT(ASK(it, QUERY_LOG_LINES, cell_int(1), cell_int(0), cell_int(1)).row_count, 1);
    answer = ask(it, QUERY_LOG_LINE_LAST, NULL, 0, 0);
    EXPECT_INT(answer_cell(&answer, 0, LOGS_line_no).integer, 3);
    EXPECT_INT(answer_cell(&answer, 0, LOGS_text).kind, CELL_NULL);
    EXPECT_INT(ASK(it, QUERY_REQUEST, text_cell("default"), text_cell("key-1")).row_count, 1);
    EXPECT_INT(ASK(it, QUERY_REQUESTS_EXPIRED, cell_int(11)).row_count, 2);
}

static bool stop_after_two(void *context, const Cell *cells, uint32_t count)
{
    (void)cells, (void)count;
    return ++*(uint32_t *)context < 2;
}

STORE_CASE(whoever_has_enough_ends_a_question, "")
{
    many_runs(it);
    uint32_t seen = 0;
    Error err;
    QueryAsk asked = { QUERY_RUNS, { cell_int(INT64_MAX), cell_null(), cell_null() }, 3, 0 };
    REQUIRE_OK(store_select(it->store, &asked, stop_after_two, &seen, &err), &err);
    EXPECT_INT(seen, 2);
    ROW("and the store can be written as before");
    commit_run(it, "default", "orders");
}

/* --- reads that answer later --------------------------------------------------------------------------------------- */

STORE_CASE(reads_are_answered_by_their_id, "")
{
    many_runs(it);
    for (uint64_t id = 1; id <= 5; id++) {
        char text[32];                          /* parameters are taken with the question */
        Str run = run_id(it, id);
        memcpy(text, run.ptr, run.len);
        QueryAsk asked = { QUERY_RUN_BY_ID, { cell_text((Str){ text, run.len }) }, 1, 0 };
        EXPECT(store_read(it->store, &asked, id));
        memset(text, '-', sizeof text);
    }
    uint32_t answered = 0;                      /* a bit each: their order is the store's */
    for (uint32_t i = 1; i <= 5; i++) {
        Completion completion;
        REQUIRE(completion_wait(it, &completion));
        REQUIRE(completion.kind == COMPLETION_READ);
        uint64_t id = completion.read_id;
        REQUIRE(id >= 1 && id <= 5);
        answered |= 1u << id;
        EXPECT_OK(completion.answer->status, &completion.answer->error);
        REQUIRE(completion.answer->row_count == 1);
        EXPECT_INT(completion.answer->cells[RUNS_run_no].integer, id);
        EXPECT_STR(completion.answer->cells[RUNS_id].text, run_id(it, id));
        EXPECT_INT(completion.answer->cell_count, table_info(TABLE_RUNS)->column_count);
    }
    EXPECT_INT(answered, 62);
}

STORE_CASE(reads_beyond_their_bound_are_not_taken, "")
{
    QueryAsk asked = { QUERY_RUN, { cell_int(1) }, 1, 0 };
    uint32_t taken = 0;
    while (taken < STORE_READ_COUNT_MAX + 10 && store_read(it->store, &asked, taken)) taken++;
    EXPECT_INT(taken, STORE_READ_COUNT_MAX);
    Completion completion;
    for (uint32_t i = 0; i < taken; i++) REQUIRE(completion_wait(it, &completion));
    EXPECT(store_read(it->store, &asked, 1));
    EXPECT(completion_wait(it, &completion));
    EXPECT_INT(completion.answer->row_count, 0);
}

STORE_CASE(a_read_sees_what_completed_before_it_was_asked, "proves: R-063")
{
    for (uint64_t i = 1; i <= 50; i++) {
        commit_run(it, "default", "orders");
        Answer answer = ASK(it, QUERY_RUN, cell_int((int64_t)i));
        EXPECT_INT(answer.row_count, 1);
        QueryAsk asked = { QUERY_RUN, { cell_int((int64_t)i) }, 1, 0 };
        EXPECT(store_read(it->store, &asked, i));
        Completion completion;
        REQUIRE(completion_wait(it, &completion) && completion.kind == COMPLETION_READ);
        EXPECT_INT(completion.answer->row_count, 1);
    }
}

/* --- looking after it ---------------------------------------------------------------------------------------------- */

static void count_finding(void *context, Str text)
{
    (void)text;
    ++*(uint32_t *)context;
}

STORE_CASE(a_sound_store_has_no_findings, "")
{
    it->head.next_run_no = 2;
    RowChange changes[] = { run_row(it, 1, "default", "orders", 1), step_row(it, 1, 0, 1, "a") };
    EXPECT_INT(commit_changes(it, changes, 2), STORE_DURABLE);
    uint32_t count = 0;
    Error err;
    REQUIRE_OK(store_check(it->store, count_finding, &count, &err), &err);
    EXPECT_INT(count, 0);
}
