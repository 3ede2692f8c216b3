/* sqlite_test.c - what a SQLite file promises beyond the port: its rules, its plans, its troubles. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "failing_vfs.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sqlite_store.h"
#include "store_case.h"
#include "view/sql.h"

#define SQLITE_CASE(name, proves) \
    static void sqlite_##name(StoreCase *it); \
    TEST(name, proves) { store_case_run(ADAPTER_SQLITE, sqlite_##name); } \
    static void sqlite_##name(StoreCase *it)

/* --- by plain SQL -------------------------------------------------------------------------------------------------- */

/* Runs a statement as a stranger with the sqlite3 shell would; the first cell of the first row, or the error, as text. */
static Str sql(StoreCase *it, const char *format, ...) __attribute__((format(printf, 2, 3)));
static Str sql(StoreCase *it, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    Str text = arena_format_args(&it->arena, format, args);
    va_end(args);
    sqlite3 *db;
    sqlite3_stmt *statement = NULL;
    Str answer = STR("");
    sqlite3_open_v2(it->path, &db, SQLITE_OPEN_READWRITE, NULL);
    int code = sqlite3_prepare_v2(db, text.ptr, -1, &statement, NULL);
    if (!code) code = sqlite3_step(statement);
    if (code == SQLITE_ROW) answer = arena_copy(&it->arena, str_of((const char *)sqlite3_column_text(statement, 0)));
    else if (code != SQLITE_DONE) answer = arena_format(&it->arena, "error: %s", sqlite3_errmsg(db));
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return answer;
}

static bool is_error(Str answer) { return str_starts(answer, STR("error: ")); }

/* A run with a completed, a failed and a skipped step, with payloads. */
static void make_results(StoreCase *it)
{
    /* Salt, then parameters, then an output: offsets count behind the salt. */
    Str payload = STR("0123456789abcdef{\"params\":{\"order\":7},\"payload\":null}{\"ok\":true}");
    RowChange changes[] = { run_row(it, 1, "acme", "orders", 3), step_row(it, 1, 0, 1, "pay"), step_row(it, 1, 1, 2, "ship"),
                            step_row(it, 1, 2, 3, "mail") };
    Cell *run = (Cell *)changes[0].cells, *done = (Cell *)changes[1].cells, *failed = (Cell *)changes[2].cells,
         *skipped = (Cell *)changes[3].cells;
    run[RUNS_params_at] = cell_int(1), run[RUNS_params_offset] = cell_int(0), run[RUNS_params_size] = cell_int(37);
    run[RUNS_state] = text_cell("FAILED"), run[RUNS_resolution] = text_cell("AWAITING_DECISION");
    run[RUNS_error_message] = text_cell("no stock"), run[RUNS_completed_ms] = cell_int(it->now_ms + 1500);
    changes[0].mask |= COLUMN_BIT(RUNS_params_at) | COLUMN_BIT(RUNS_params_offset) | COLUMN_BIT(RUNS_params_size)
        | COLUMN_BIT(RUNS_resolution) | COLUMN_BIT(RUNS_error_message) | COLUMN_BIT(RUNS_completed_ms);
    done[STEP_RUNS_status] = text_cell("SUCCEEDED"), done[STEP_RUNS_result] = text_cell("COMPLETED");
    done[STEP_RUNS_output_at] = cell_int(1), done[STEP_RUNS_output_offset] = cell_int(37), done[STEP_RUNS_output_size] = cell_int(11);
    failed[STEP_RUNS_status] = text_cell("FAILED"), failed[STEP_RUNS_result] = text_cell("FAILED");
    failed[STEP_RUNS_error_message] = text_cell("no stock"), failed[STEP_RUNS_error_cause] = text_cell("permanent");
    failed[STEP_RUNS_error_class] = text_cell("permanent");
    skipped[STEP_RUNS_status] = text_cell("SKIPPED"), skipped[STEP_RUNS_result] = text_cell("SKIPPED");
    for (int i = 1; i < 4; i++) {
        ((Cell *)changes[i].cells)[STEP_RUNS_finished_ms] = cell_int(it->now_ms + i);
        changes[i].mask |= COLUMN_BIT(STEP_RUNS_finished_ms) | COLUMN_BIT(STEP_RUNS_result);
    }
    changes[1].mask |= COLUMN_BIT(STEP_RUNS_output_at) | COLUMN_BIT(STEP_RUNS_output_offset) | COLUMN_BIT(STEP_RUNS_output_size);
    changes[2].mask |= COLUMN_BIT(STEP_RUNS_error_message) | COLUMN_BIT(STEP_RUNS_error_cause) | COLUMN_BIT(STEP_RUNS_error_class);
    Error err;
    Batch *batch = batch_make(it, &(BatchPlan){ .record_count = 1, .run_no = 1, .payload = payload, .changes = changes, .change_count = 4 });
    EXPECT_INT(batch_commit(it, batch, &err), STORE_DURABLE);
}

/* --- what was written stays ---------------------------------------------------------------------------------------- */

SQLITE_CASE(the_ledger_cannot_be_changed_by_anyone, "")
{
    make_results(it);
    static const char *const refused[] = {
        "DELETE FROM maestro_ledger", "UPDATE maestro_ledger SET record = x'00'", "UPDATE maestro_ledger SET position = 9",
        "UPDATE maestro_ledger SET payload = x'00'", "UPDATE maestro_ledger SET hash = hash",
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        ROW(refused[i]);
        EXPECT(is_error(sql(it, "%s", refused[i])));
    }
    ROW("a payload can be erased");
    EXPECT_STR(sql(it, "UPDATE maestro_ledger SET payload = NULL"), STR(""));
    EXPECT_STR(sql(it, "SELECT count(*) FROM maestro_ledger WHERE payload IS NULL"), STR("1"));
    ROW("nor by the adapter itself");
    Cell *cells = cells_make(it, TABLE_LEDGER);
    cells[LEDGER_position] = cell_int(1);
    cells[LEDGER_record] = cell_blob(STR("x"));
    RowChange change = row_change(TABLE_LEDGER, ROW_UPDATE, COLUMN_BIT(LEDGER_record), cells);
    EXPECT_INT(commit_changes(it, &change, 1), STORE_REFUSED);
    change = row_change(TABLE_LEDGER, ROW_DELETE, 0, cells);
    EXPECT_INT(commit_changes(it, &change, 1), STORE_REFUSED);
}

/* Each column that tables.def calls fixed or sealed is protected in the file, too. */
SQLITE_CASE(what_is_fixed_or_sealed_cannot_be_changed_by_anyone, "proves: R-041 R-046")
{
    make_results(it);
    Cell *plan = cells_make(it, TABLE_PLANS);
    plan[PLANS_digest] = cell_blob(STR("d"));
    plan[PLANS_document] = text_cell("{}");
    plan[PLANS_created_ms] = cell_int(1);
    RowChange change = row_change(TABLE_PLANS, ROW_PUT, UINT64_MAX, plan);
    EXPECT_INT(commit_changes(it, &change, 1), STORE_DURABLE);
    ROW("putting the same plan again changes nothing");
    EXPECT_INT(commit_changes(it, &change, 1), STORE_DURABLE);
    EXPECT_STR(sql(it, "INSERT INTO maestro_revisions (tenant, workflow_id, version, digest, active, name, parameters, steps, text,"
                       " created_ms, updated_ms) VALUES ('t', 'w', 1, x'00', 1, 'n', '[]', '[]', '', 1, 1)"), STR(""));
    uint32_t checked = 0;
    for (uint32_t t = 0; t < TABLE_COUNT; t++) {
        const TableInfo *info = table_info((Table)t);
        uint64_t kept = table_fixed((Table)t) | table_sealed((Table)t);
        for (uint32_t c = 0; c < info->column_count; c++) {
            if (!(kept & COLUMN_BIT(c))) continue;
            ROW(arena_format(&it->arena, "%s.%s", info->name, info->columns[c].name).ptr);
            EXPECT(is_error(sql(it, "UPDATE %s SET %s = %s", info->name, info->columns[c].name, info->columns[c].name)));
            checked++;
        }
    }
    EXPECT(checked > 30);
    ROW("what may change");
    EXPECT_STR(sql(it, "UPDATE maestro_revisions SET active = 0"), STR(""));
    EXPECT_STR(sql(it, "UPDATE maestro_step_runs SET status = 'SUPERSEDED', superseded_at = '1970-01-01T00:00:00.005Z'"), STR(""));
    EXPECT(is_error(sql(it, "DELETE FROM maestro_step_runs")));
    EXPECT_STR(sql(it, "SELECT created_at FROM maestro_revisions"), STR("1970-01-01T00:00:00.001Z"));
}

SQLITE_CASE(a_result_is_sealed_for_the_adapter_too, "proves: R-046")
{
    make_results(it);
    Cell *cells = cells_make(it, TABLE_STEP_RUNS);
    cells[STEP_RUNS_workflow_id] = cell_int(1);
    cells[STEP_RUNS_step_index] = cell_int(0);
    cells[STEP_RUNS_error_message] = text_cell("other");
    cells[STEP_RUNS_status] = text_cell("SUPERSEDED");
    RowChange change = row_change(TABLE_STEP_RUNS, ROW_UPDATE, COLUMN_BIT(STEP_RUNS_error_message), cells);
    EXPECT_INT(commit_changes(it, &change, 1), STORE_REFUSED);
    change = row_change(TABLE_STEP_RUNS, ROW_UPDATE, COLUMN_BIT(STEP_RUNS_status), cells);
    EXPECT_INT(commit_changes(it, &change, 1), STORE_DURABLE);
    EXPECT_STR(sql(it, "SELECT status FROM execution_step_results WHERE step_index = 0"), STR("COMPLETED"));
}

/* --- shapes -------------------------------------------------------------------------------------------------------- */

SQLITE_CASE(tables_and_views_have_the_columns_that_the_documents_name, "proves: A-218 A-219 A-220 A-281 R-074 R-075 R-117")
{
    static const struct { const char *table, *columns; } shapes[] = {
        { "workflows", "namespace workflow_id version name description parameters steps active created_at updated_at" },
        { "workflow_executions", "execution_id namespace workflow_id version input_parameters status error_message started_at"
          " completed_at last_updated_at" },
        { "execution_step_results", "result_id execution_id step_index step_id step_type status input_data output_data"
          " error_message error_details started_at completed_at" },
        { "maestro_workflows", "id definition_key definition_version state current_step failure_resolution_strategy"
          " auto_retry_count compensation_started_at compensated_at awaiting_trigger_key trigger_timeout_at"
          " trigger_registered_at scheduled_resume_at resolution cancel_requested auto_retry_at deadline_at" },
        { "maestro_step_runs", "id workflow_id step_key status superseded_by_id superseded_at retry_source skip_reason"
          " branch_key poll_attempt_count next_poll_at poll_started_at" },
        { "maestro_resolution_decisions", "id workflow_id decision_type decided_by reason retry_from_step_key"
          " compensate_step_keys created_at" },
        { "maestro_compensation_runs", "id workflow_id step_key compensation_job_class status attempt max_attempts started_at"
          " finished_at failure_message failure_trace created_at updated_at" },
        { "maestro_branch_decisions", "id workflow_id branch_point_key condition_class selected_branches evaluated_at input_summary" },
        { "maestro_poll_attempts", "id step_run_id attempt_number job_id result_complete result_continue next_interval_ms executed_at" },
        { "maestro_trigger_payloads", "id workflow_id trigger_key payload_class payload received_at source_ip source_identifier" },
        { "maestro_jobs", "id workflow_id step_run_no attempt executor status dispatched_at" },
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        ROW(shapes[i].table);
        for (Str rest = str_of(shapes[i].columns); rest.len;) {
            size_t space = str_find(rest, ' ', 0);
            Str name = str_slice(rest, 0, space);
            rest = str_slice(rest, space + 1, SIZE_MAX);
            Str count = sql(it, "SELECT count(*) FROM pragma_table_xinfo('%s') WHERE name = '%.*s'", shapes[i].table, STR_ARG(name));
            if (!str_is_text(count, "1")) EXPECT_STR(name, STR("(a column that is there)"));
        }
    }
}

SQLITE_CASE(the_views_show_runs_and_results_as_the_api_does, "proves: R-040 R-042 R-043 R-045 R-048 R-049 C-25")
{
    make_results(it);
    static const struct { const char *query, *want; } rows[] = {
        { "SELECT execution_id FROM workflow_executions", "run000000000000000001" },
        { "SELECT namespace || '/' || workflow_id || '/' || version FROM workflow_executions", "acme/orders/3" },
        { "SELECT input_parameters FROM workflow_executions", "{\"order\":7}" },
        { "SELECT status || ': ' || error_message FROM workflow_executions", "FAILED: no stock" },
        { "SELECT started_at FROM workflow_executions", "2023-11-14T22:13:20.000Z" },
        { "SELECT completed_at FROM workflow_executions", "2023-11-14T22:13:21.500Z" },
        { "SELECT group_concat(step_index || step_id || status, ' ') FROM execution_step_results",
          "0payCOMPLETED 1shipFAILED 2mailSKIPPED" },
        { "SELECT output_data FROM execution_step_results WHERE step_index = 0", "{\"ok\":true}" },
        { "SELECT count(*) FROM execution_step_results WHERE output_data IS NOT NULL", "1" },
        { "SELECT error_message || error_details FROM execution_step_results WHERE step_index = 1",
          "no stock{\"cause\":\"permanent\",\"class\":\"permanent\"}" },
        { "SELECT count(*) FROM execution_step_results WHERE error_message IS NOT NULL", "1" },
        { "SELECT completed_at FROM execution_step_results WHERE step_index = 2", "2023-11-14T22:13:20.003Z" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].query);
        EXPECT_STR(sql(it, "%s", rows[i].query), str_of(rows[i].want));
    }
    ROW("nobody writes through a view");
    EXPECT(is_error(sql(it, "UPDATE workflow_executions SET status = 'COMPLETED'")));
    EXPECT(is_error(sql(it, "DELETE FROM execution_step_results")));
    EXPECT(is_error(sql(it, "INSERT INTO workflows (namespace) VALUES ('x')")));
}

SQLITE_CASE(the_status_of_a_run_follows_from_its_state, "proves: A-233")
{
    make_results(it);
    static const struct { const char *state, *resolution; int cancelled; const char *status; } rows[] = {
        { "PENDING", "NULL", 0, "PENDING" }, { "DISPATCHED", "NULL", 0, "PENDING" }, { "RUNNING", "NULL", 0, "RUNNING" },
        { "PAUSED", "NULL", 0, "RUNNING" }, { "WAITING_SIGNAL", "NULL", 0, "RUNNING" }, { "SUCCEEDED", "NULL", 0, "COMPLETED" },
        { "FAILED", "'AUTO_RETRY_SCHEDULED'", 0, "RUNNING" }, { "FAILED", "'AWAITING_DECISION'", 0, "FAILED" },
        { "FAILED", "'RESOLVED'", 0, "FAILED" }, { "COMPENSATING", "NULL", 0, "RUNNING" }, { "COMPENSATED", "NULL", 0, "FAILED" },
        { "COMPENSATED", "NULL", 1, "CANCELLED" }, { "COMPENSATION_FAILED", "NULL", 0, "FAILED" }, { "CANCELLED", "NULL", 0, "CANCELLED" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].state);
        sql(it, "UPDATE maestro_workflows SET state = '%s', resolution = %s, cancel_requested = %d", rows[i].state,
            rows[i].resolution, rows[i].cancelled);
        EXPECT_STR(sql(it, "SELECT status FROM workflow_executions"), str_of(rows[i].status));
        bool has_message = !str_is_text(sql(it, "SELECT count(error_message) FROM workflow_executions"), "0");
        EXPECT(has_message == !strcmp(rows[i].status, "FAILED"));
    }
}

SQLITE_CASE(json_columns_hold_json, "proves: C-54")
{
    EXPECT(is_error(sql(it, "INSERT INTO maestro_branch_decisions (id, workflow_id, branch_point_key, condition_class,"
                            " selected_branches, evaluated_ms) VALUES ('a', 1, 'b', 'c', 'not json', 1)")));
    EXPECT_STR(sql(it, "INSERT INTO maestro_branch_decisions (id, workflow_id, branch_point_key, condition_class,"
                       " selected_branches, evaluated_ms) VALUES ('a', 1, 'b', 'c', '[\"x\"]', 1)"), STR(""));
}

SQLITE_CASE(every_dispatched_try_is_a_job, "proves: A-276")
{
    make_results(it);
    sql(it, "INSERT INTO maestro_attempts (workflow_id, step_index, attempt, error_cause, finished_ms) VALUES (1, 0, 1, 'timeout', 7)");
    sql(it, "INSERT INTO maestro_attempts (workflow_id, step_index, attempt, executor, dispatched_ms) VALUES (1, 0, 2, 'far', 8)");
    sql(it, "UPDATE maestro_step_runs SET attempt = 2 WHERE step_index = 0");
    EXPECT_STR(sql(it, "SELECT group_concat(step_index || '.' || attempt || status, ' ') FROM"
                       " (SELECT * FROM maestro_jobs ORDER BY step_index, attempt)"),
               STR("0.1FAILED 0.2SUCCEEDED 1.1FAILED 2.1SKIPPED"));
    EXPECT_STR(sql(it, "SELECT count(DISTINCT id) FROM maestro_jobs"), STR("4"));
}

/* --- plans --------------------------------------------------------------------------------------------------------- */

static Str plan_of(StoreCase *it, const char *text)
{
    sqlite3 *db;
    sqlite3_stmt *statement = NULL;
    Str plan = STR("");
    sqlite3_open_v2(it->path, &db, SQLITE_OPEN_READONLY, NULL);
    Str explain = arena_format(&it->arena, "EXPLAIN QUERY PLAN %s", text);
    if (!EXPECT(sqlite3_prepare_v2(db, explain.ptr, -1, &statement, NULL) == SQLITE_OK)) fprintf(stderr, "%s\n", text);
    while (statement && sqlite3_step(statement) == SQLITE_ROW)
        plan = arena_format(&it->arena, "%.*s%s; ", STR_ARG(plan), (const char *)sqlite3_column_text(statement, 3));
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return plan;
}

static bool has(Str text, const char *part) { return memmem(text.ptr, text.len, part, strlen(part)) != NULL; }

/* What reads a whole table or index on purpose, and ends after the first row or counts them all. */
static bool may_scan(Query query)
{
    return query == QUERY_COUNT_BY_STATE || query == QUERY_LOG_LINE_LAST || query == QUERY_TIMER_NEXT;
}

SQLITE_CASE(every_question_is_answered_by_a_key_or_an_index, "proves: A-232 R-098")
{
    for (uint32_t i = 0; i < QUERY_COUNT; i++) {
        char text[8192];
        Buf buf = buf_on(text, sizeof text);
        sql_query(&buf, SQL_SQLITE, (Query)i);
        buf_char(&buf, 0);
        Str plan = plan_of(it, text);
        ROW(arena_format(&it->arena, "%s: %.*s", query_info((Query)i)->name, STR_ARG(plan)).ptr);
        EXPECT(has(plan, "SEARCH") || may_scan((Query)i));
        if (query_info((Query)i)->kind != QUERY_WALK) EXPECT(!has(plan, "SCAN maestro") || may_scan((Query)i));
        EXPECT(!has(plan, "TEMP B-TREE FOR ORDER BY"));
    }
}

SQLITE_CASE(the_indexes_that_are_asked_for_are_there_and_used, "proves: A-222 A-223 A-224 A-225 A-226 A-227 A-228 A-229 A-230 A-231 R-076 R-077")
{
    static const struct { const char *index, *query; } rows[] = {
        { "idx_workflows_awaiting_trigger", "SELECT * FROM maestro_workflows WHERE awaiting_trigger_key = 'x'" },
        { "idx_workflows_trigger_timeout", "SELECT * FROM maestro_workflows WHERE state = 'PAUSED' AND trigger_timeout_at <= '2026'" },
        { "idx_workflows_scheduled_resume", "SELECT * FROM maestro_workflows WHERE state = 'PAUSED' AND scheduled_resume_at <= '2026'" },
        { "idx_workflows_auto_retry", "SELECT * FROM maestro_workflows WHERE state = 'FAILED' AND auto_retry_at <= '2026'" },
        { "idx_workflows_state_compensation", "SELECT * FROM maestro_workflows WHERE state = 'COMPENSATING'" },
        { "idx_step_runs_branch", "SELECT * FROM maestro_step_runs WHERE workflow_id = 1 AND branch_key = 'x'" },
        { "idx_step_runs_next_poll", "SELECT * FROM maestro_step_runs WHERE status = 'POLLING' AND next_poll_at <= '2026'" },
        { "idx_step_runs_superseded", "SELECT * FROM maestro_step_runs WHERE superseded_by_id = 'x'" },
        { "idx_decisions_workflow", "SELECT * FROM maestro_resolution_decisions WHERE workflow_id = 1 ORDER BY created_ms" },
        { "idx_compensations_workflow", "SELECT * FROM maestro_compensation_runs WHERE workflow_id = 1 AND status = 'PENDING'" },
        { "idx_poll_attempts_step", "SELECT * FROM maestro_poll_attempts WHERE step_run_id = 1 ORDER BY attempt_number" },
        { "idx_workflows_id", "SELECT * FROM workflow_executions WHERE execution_id = 'x'" },
        { "idx_workflows_history", "SELECT * FROM maestro_workflows WHERE tenant = 'a' AND definition_key = 'b'"
          " AND definition_version = 1 ORDER BY started_ms DESC" },
        { "idx_workflows_history", "SELECT execution_id FROM workflow_executions WHERE namespace = 'a' AND workflow_id = 'b' AND version = 1" },
        { "(workflow_id=?", "SELECT * FROM execution_step_results WHERE execution_id = 'x' ORDER BY step_index" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Str plan = plan_of(it, rows[i].query);
        ROW(arena_format(&it->arena, "%s: %.*s", rows[i].query, STR_ARG(plan)).ptr);
        EXPECT(has(plan, rows[i].index));
        EXPECT(!has(plan, "SCAN"));
        EXPECT(!has(plan, "TEMP B-TREE"));
    }
}

/* --- one owner ----------------------------------------------------------------------------------------------------- */

SQLITE_CASE(a_second_process_may_read_and_not_own, "")
{
    commit_run(it, "default", "orders");
    Store *second;
    Error err = { 0 };
    REQUIRE_OK(sqlite_store_open(&(SqliteOptions){ .path = it->path }, &second, &err), &err);
    LogHead head;
    EXPECT_INT(store_own(second, 1, &head, &err), ERR_CONFLICT);
    EXPECT(has(str_of(err.text), arena_format(&it->arena, "process %ld", (long)getpid()).ptr));
    StoreCase other = { .store = second };
    arena_init(&other.arena, SIZE_MAX);
    EXPECT_INT(ASK(&other, QUERY_RUN, cell_int(1)).row_count, 1);
    ROW("when the first has gone, the second takes over with the next epoch");
    store_close(it->store);
    it->store = NULL;
    EXPECT_OK(store_own(second, 1, &head, &err), &err);
    EXPECT_INT(head.epoch, it->head.epoch + 1);
    EXPECT_INT(head.position, it->head.position);
    store_close(second);
    arena_deinit(&other.arena);
}

SQLITE_CASE(a_raised_epoch_in_the_file_fences, "")
{
    commit_run(it, "default", "orders");
    EXPECT_STR(sql(it, "UPDATE maestro_log_heads SET epoch = epoch + 1"), STR(""));
    RowChange change = run_row(it, 2, "default", "orders", 1);
    EXPECT_INT(commit_changes(it, &change, 1), STORE_FENCED);
    EXPECT_INT(ASK(it, QUERY_RUN, cell_int(2)).row_count, 0);
}

SQLITE_CASE(a_file_is_for_its_owner_alone, "")
{
    struct stat info;
    REQUIRE(stat(it->path, &info) == 0);
    EXPECT_INT(info.st_mode & 077, 0);
}

/* --- files that are no store --------------------------------------------------------------------------------------- */

static Status try_open(const char *path, bool is_created, Error *err)
{
    Store *store;
    Status status = sqlite_store_open(&(SqliteOptions){ .path = path, .is_created = is_created }, &store, err);
    if (!status) store_close(store);
    return status;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (!EXPECT(file != NULL)) return;
    fputs(text, file);
    fclose(file);
}

SQLITE_CASE(what_is_no_store_is_refused_with_a_reason, "")
{
    store_close(it->store);
    it->store = NULL;
    Error err = { 0 };
    char path[256];
    snprintf(path, sizeof path, "%s/other", it->directory);
    ROW("nothing there");
    EXPECT_INT(try_open(path, false, &err), ERR_NOT_FOUND);
    ROW("a text");
    char text[2048];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    write_file(path, text);
    EXPECT_INT(try_open(path, true, &err), ERR_INVALID);
    EXPECT(has(str_of(err.text), "not a SQLite database"));
    ROW("a directory");
    EXPECT_INT(try_open(it->directory, true, &err), ERR_INVALID);
    ROW("no directory");
    EXPECT_INT(try_open("/nonexistent/store.db", true, &err), ERR_DENIED);
    ROW("another program's database");
    unlink(path);
    StoreCase other = { .adapter = ADAPTER_SQLITE };
    arena_init(&other.arena, SIZE_MAX);
    snprintf(other.path, sizeof other.path, "%.120s", path);
    write_file(path, "");
    EXPECT_STR(sql(&other, "CREATE TABLE things (a)"), STR(""));
    EXPECT_INT(try_open(path, true, &err), ERR_INVALID);
    EXPECT(has(str_of(err.text), "another program"));
    EXPECT_STR(sql(&other, "SELECT count(*) FROM sqlite_schema"), STR("1"));
    arena_deinit(&other.arena);
    ROW("a newer maestro's");
    EXPECT_STR(sql(it, "INSERT INTO maestro_schema VALUES (99, 0)"), STR(""));
    EXPECT_INT(try_open(it->path, true, &err), ERR_UNAVAILABLE);
    EXPECT(has(str_of(err.text), "newer maestro"));
}

/* --- upgrades ------------------------------------------------------------------------------------------------------ */

SQLITE_CASE(an_older_file_is_upgraded_step_by_step_or_left_as_it_was, "proves: A-273")
{
    make_results(it);
    store_close(it->store);
    it->store = NULL;
    Error err = { 0 };
    Connection connection;
    REQUIRE_OK(connection_open(&connection, it->path, CONNECTION_WRITES, &err), &err);
    const Migration broken[] = { { 1, "" }, { 2, "" }, { 3, "ALTER TABLE maestro_timers ADD COLUMN a; ALTER TABLE nothing ADD COLUMN b" } };
    EXPECT(schema_upgrade(&connection, broken, 3, 5, &err) != OK);
    EXPECT(has(str_of(err.text), "version 3"));
    int64_t version = 0;
    EXPECT_OK(schema_version(&connection, &version, &err), &err);
    EXPECT_INT(version, SCHEMA_VERSION);
    EXPECT_STR(sql(it, "SELECT count(*) FROM pragma_table_info('maestro_timers') WHERE name = 'a'"), STR("0"));
    const Migration good[] = { { 1, "" }, { 2, "" }, { 3, "ALTER TABLE maestro_timers ADD COLUMN a" }, { 4, "CREATE TABLE more (b)" } };
    EXPECT_OK(schema_upgrade(&connection, good, 4, 5, &err), &err);
    EXPECT_OK(schema_version(&connection, &version, &err), &err);
    EXPECT_INT(version, 4);
    EXPECT_STR(sql(it, "SELECT count(*) FROM maestro_schema"), STR("3"));
    EXPECT_STR(sql(it, "SELECT status FROM workflow_executions"), STR("FAILED"));
    ROW("doing it again changes nothing");
    EXPECT_OK(schema_upgrade(&connection, good, 4, 6, &err), &err);
    EXPECT_STR(sql(it, "SELECT count(*) FROM maestro_schema"), STR("3"));
    connection_close(&connection);
}

/* --- archived runs ------------------------------------------------------------------------------------------------- */

/* The column by which the rows of a table belong to a run; NULL where they do not, or stay. */
static const char *run_column(const TableInfo *info)
{
    if (info == table_info(TABLE_RUNS) || info == table_info(TABLE_LEDGER) || info == table_info(TABLE_OUTBOX)) return NULL;
    for (uint32_t i = 0; i < info->column_count; i++)
        if (info->columns[i].type == COLUMN_INT && (!strcmp(info->columns[i].name, "workflow_id") || !strcmp(info->columns[i].name, "run_no")))
            return info->columns[i].name;
    return info == table_info(TABLE_POLLS) ? "step_run_id" : NULL;
}

/* A row with all that is required; numbers that are given twice for one key are made to differ by `number`. */
static RowChange any_row(StoreCase *it, Table table, int64_t run_no, int64_t number)
{
    static const char zeros[DIGEST_SIZE];
    const TableInfo *info = table_info(table);
    Cell *cells = cells_make(it, table);
    uint64_t mask = 0;
    for (uint32_t i = 0; i < info->column_count; i++) {
        const ColumnInfo *column = &info->columns[i];
        bool is_run = run_column(info) && !strcmp(column->name, run_column(info)) && table != TABLE_POLLS;
        if (!column_is_required(column) && !is_run) continue;
        mask |= COLUMN_BIT(i);
        cells[i] = column->type == COLUMN_TEXT ? cell_text(arena_format(&it->arena, "%lld", (long long)(run_no * 100000 + number)))
                   : column->type == COLUMN_JSON ? text_cell("{}")
                   : column->type == COLUMN_BLOB ? cell_blob((Str){ zeros, sizeof zeros })
                   : column->type == COLUMN_BOOL ? cell_int(1)
                   : cell_int(is_run ? run_no : run_no * 100000 + number);
    }
    return row_change(table, ROW_INSERT, mask, cells);
}

/* Two runs with rows in every table; of the log lines more than one commit takes away. */
static void make_many(StoreCase *it, uint64_t run_no)
{
    size_t count = 0;
    RowChange *changes = ARENA_ARRAY(&it->arena, RowChange, PRUNE_ROW_COUNT + 4 * TABLE_COUNT);
    RowChange run = run_row(it, run_no, "acme", "orders", 3);
    ((Cell *)run.cells)[RUNS_last_position] = cell_int((int64_t)it->head.position + 3);
    changes[count++] = run;
    for (uint32_t table = 0; table < TABLE_COUNT; table++)
        for (uint32_t i = 0; run_column(table_info((Table)table)) && i < (table == TABLE_LOGS ? PRUNE_ROW_COUNT + 1 : 3); i++) {
            if ((table == TABLE_SNAPSHOTS || table == TABLE_TIMERS) && i) break;        /* one a run */
            changes[count++] = any_row(it, (Table)table, (int64_t)run_no, i);
        }
    Error err;
    Batch *batch = batch_make(it, &(BatchPlan){ .record_count = 3, .run_no = run_no, .payload = STR("0123456789abcdef{}"),
                                                .changes = changes, .change_count = (uint32_t)count });
    EXPECT_INT(batch_commit(it, batch, &err), STORE_DURABLE);
}

static void archive_run(StoreCase *it, int64_t run_no)
{
    Cell *cells = cells_make(it, TABLE_RUNS);
    cells[RUNS_run_no] = cell_int(run_no);
    cells[RUNS_archived_to] = text_cell("/old.jsonl");
    RowChange change = row_change(TABLE_RUNS, ROW_UPDATE, COLUMN_BIT(RUNS_archived_to), cells);
    Error err;
    Batch *batch = batch_make(it, &(BatchPlan){ .record_count = 1, .changes = &change, .change_count = 1 });
    EXPECT_INT(batch_commit(it, batch, &err), STORE_DURABLE);
}

static void expect_pruned(StoreCase *it, int64_t run_no, bool is_pruned)
{
    for (uint32_t table = 0; table < TABLE_COUNT; table++) {
        const TableInfo *info = table_info((Table)table);
        if (!run_column(info)) continue;
        int64_t low = table == TABLE_POLLS ? run_no * 100000 : run_no, high = table == TABLE_POLLS ? low + 99999 : run_no;
        Str count = sql(it, "SELECT count(*) FROM %s WHERE %s BETWEEN %lld AND %lld", info->name, run_column(info), (long long)low, (long long)high);
        test_expect(str_is_text(count, "0") == is_pruned, __FILE__, __LINE__, "%s has %.*s rows of run %lld", info->name, STR_ARG(count),
                    (long long)run_no);
    }
    EXPECT_STR(sql(it, "SELECT count(*) FROM maestro_ledger WHERE run_no = %lld AND length(hash) = 32", (long long)run_no), STR("3"));
    EXPECT_STR(sql(it, "SELECT count(*) FROM maestro_ledger WHERE run_no = %lld AND length(record) = 0 AND payload IS NULL",
                   (long long)run_no), is_pruned ? STR("3") : STR("0"));
    EXPECT_STR(sql(it, "SELECT count(*) FROM maestro_workflows WHERE run_no = %lld", (long long)run_no), STR("1"));
}

SQLITE_CASE(what_archived_runs_have_left_is_taken_away_from_every_table, "")
{
    Error err = { 0 };
    uint64_t count = 7;
    make_many(it, 1);
    make_many(it, 2);
    EXPECT_OK(store_prune(it->store, &count, &err), &err);
    EXPECT_INT(count, 0);
    expect_pruned(it, 1, false);
    archive_run(it, 1);
    EXPECT_OK(store_prune(it->store, &count, &err), &err);
    EXPECT_INT(count, 1);
    expect_pruned(it, 1, true);
    expect_pruned(it, 2, false);
    ROW("again there is nothing to do, and the store goes on");
    EXPECT_OK(store_prune(it->store, &count, &err), &err);
    EXPECT_INT(count, 0);
    make_many(it, 3);
    expect_pruned(it, 3, false);
    expect_pruned(it, 1, true);
}

SQLITE_CASE(taking_away_goes_on_where_it_was_interrupted, "")
{
    Error err = { 0 };
    uint64_t count;
    make_many(it, 1);
    archive_run(it, 1);
    ROW("after a commit in its midst: some tables, the first records");
    sql(it, "DROP TRIGGER maestro_ledger_keeps_records");
    sql(it, "DELETE FROM maestro_attempts WHERE workflow_id = 1");
    sql(it, "UPDATE maestro_ledger SET record = x'', payload = NULL WHERE position = 2");
    EXPECT_OK(store_prune(it->store, &count, &err), &err);
    EXPECT_INT(count, 1);
    expect_pruned(it, 1, true);
    ROW("after the commit that marks it, by a next owner");
    make_many(it, 2);
    archive_run(it, 2);
    EXPECT(store_case_reopen(it));
    EXPECT_OK(store_prune(it->store, &count, &err), &err);
    EXPECT_INT(count, 1);
    EXPECT_STR(sql(it, "SELECT length(record) FROM maestro_ledger WHERE position = 7"), STR("0"));
}

/* --- trouble ------------------------------------------------------------------------------------------------------- */

SQLITE_CASE(a_full_disk_refuses_and_writes_nothing_half, "")
{
    commit_run(it, "default", "orders");
    struct rlimit before, tight;
    getrlimit(RLIMIT_FSIZE, &before);
    char wal[256];
    snprintf(wal, sizeof wal, "%s-wal", it->path);
    struct stat info;
    REQUIRE(stat(wal, &info) == 0);
    tight = (struct rlimit){ (rlim_t)info.st_size + 20000, before.rlim_max };
    char *large = arena_bytes(&it->arena, 1000000);
    memset(large, 'x', 1000000);
    RowChange change = run_row(it, 2, "default", "orders", 1);
    Batch *batch = batch_make(it, &(BatchPlan){ .record_count = 3, .run_no = 2, .payload = { large, 1000000 },
                                                .changes = &change, .change_count = 1 });
    setrlimit(RLIMIT_FSIZE, &tight);
    Error err = { 0 };
    CommitOutcome outcome = batch_commit(it, batch, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_INT(outcome, STORE_REFUSED);
    EXPECT(has(str_of(err.text), "the disk full"));
    EXPECT_INT(ASK(it, QUERY_RUN, cell_int(2)).row_count, 0);
    ROW("with room again it goes on");
    EXPECT_INT(commit_changes(it, &change, 1), STORE_DURABLE);
    REQUIRE(store_case_reopen(it));
    EXPECT_INT(ASK(it, QUERY_RUN, cell_int(2)).row_count, 1);
}

SQLITE_CASE(a_sync_that_fails_is_an_unknown_outcome_until_it_is_owned_again, "")
{
    commit_run(it, "default", "orders");
    RowChange change = run_row(it, 2, "default", "orders", 1);
    failing_vfs_fail_syncs(true);
    CommitOutcome outcome = commit_changes(it, &change, 1);
    failing_vfs_fail_syncs(false);
    EXPECT_INT(outcome, STORE_UNKNOWN);
    ROW("until then everything is refused");
    EXPECT_INT(commit_changes(it, &change, 1), STORE_REFUSED);
    Error err;
    REQUIRE_OK(store_own(it->store, 1, &it->head, &err), &err);
    Answer there = ASK(it, QUERY_RUN, cell_int(2));
    EXPECT_INT(it->head.position, there.row_count ? 2 : 1);         /* either way head and rows agree */
    change = run_row(it, 3, "default", "orders", 1);
    EXPECT_INT(commit_changes(it, &change, 1), STORE_DURABLE);
    ROW("and after the next start it is still so");
    REQUIRE(store_case_reopen(it));
    EXPECT_INT(ASK(it, QUERY_RUN, cell_int(2)).row_count, there.row_count);
    EXPECT_INT(ASK(it, QUERY_RUN, cell_int(3)).row_count, 1);
}

/* In a process that is not root, whom permissions do not bind. */
SQLITE_CASE(a_read_only_file_is_a_refusal_that_says_so, "")
{
    commit_run(it, "default", "orders");
    store_close(it->store);
    it->store = NULL;
    chmod(it->path, 0444);
    char lock[256];
    snprintf(lock, sizeof lock, "%s.lock", it->path);
    chmod(lock, 0666);
    chmod(it->directory, 0755);
    pid_t child = fork();
    if (!child) {
        if (!geteuid() && (setgid(65534) || setuid(65534))) _exit(9);
        Error err = { 0 };
        Store *store;
        LogHead head;
        Status status = sqlite_store_open(&(SqliteOptions){ .path = it->path }, &store, &err);
        if (!status) status = store_own(store, 1, &head, &err);
        if (status != ERR_DENIED) fprintf(stderr, "status %d: %s\n", status, err.text);
        _exit(status == ERR_DENIED ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT_INT(WEXITSTATUS(status), 0);
    chmod(it->path, 0600);
}

static bool ignore_row(void *context, const Cell *cells, uint32_t count)
{
    (void)context, (void)cells, (void)count;
    return true;
}

static void note_finding(void *context, Str text)
{
    (void)text;
    ++*(uint32_t *)context;
}

SQLITE_CASE(damaged_pages_are_found_and_reported_as_damage, "")
{
    char *large = arena_bytes(&it->arena, 3000);
    memset(large, 'x', 3000);
    Batch *batch = batch_make(it, &(BatchPlan){ .record_count = 200, .run_no = 1, .payload = { large, 3000 } });
    Error err = { 0 };
    EXPECT_INT(batch_commit(it, batch, &err), STORE_DURABLE);
    store_close(it->store);
    it->store = NULL;
    int fd = open(it->path, O_RDWR);
    struct stat info;
    REQUIRE(fd >= 0 && fstat(fd, &info) == 0);
    /* Everything from the middle on; the tables' descriptions at the beginning stay. */
    char garbage[4096];
    memset(garbage, 0x5a, sizeof garbage);
    for (off_t at = info.st_size / 2 / 4096 * 4096; at < info.st_size; at += 4096) EXPECT(pwrite(fd, garbage, 4096, at) == 4096);
    close(fd);
    REQUIRE_OK(sqlite_store_open(&(SqliteOptions){ .path = it->path }, &it->store, &err), &err);
    uint32_t count = 0;
    EXPECT_OK(store_check(it->store, note_finding, &count, &err), &err);
    EXPECT(count > 0);
    ROW("reading what is damaged says so");
    uint32_t corrupt = 0;
    for (int64_t i = 1; i <= 200; i++) {
        QueryAsk asked = { QUERY_RECORD, { cell_int(i) }, 1, 0 };
        Status status = store_select(it->store, &asked, ignore_row, NULL, &err);
        EXPECT(status == OK || status == ERR_CORRUPT);
        if (status == ERR_CORRUPT && !corrupt++) EXPECT(has(str_of(err.text), "damaged"));
    }
    EXPECT(corrupt > 0);
}

/* --- being killed -------------------------------------------------------------------------------------------------- */

/* Commits runs without end and says which are durable. */
static _Noreturn void commit_until_killed(StoreCase *it, int out)
{
    if (!store_case_reopen(it)) _exit(1);
    for (;;) {
        Batch *batches[4];
        for (int i = 0; i < 4; i++) {
            uint64_t run_no = it->head.next_run_no++;
            RowChange *changes = ARENA_ARRAY(&it->arena, RowChange, 2);
            changes[0] = run_row(it, run_no, "default", "orders", 1);
            changes[1] = step_row(it, run_no, 0, it->head.next_step_run_no++, "a");
            batches[i] = batch_make(it, &(BatchPlan){ .record_count = 2, .run_no = run_no, .payload = STR("0123456789abcdef{}"),
                                                      .changes = changes, .change_count = 2 });
            if (!store_submit(it->store, batches[i])) _exit(2);
        }
        for (int i = 0; i < 4; i++) {
            Completion completion;
            if (!completion_wait(it, &completion) || completion.outcome != STORE_DURABLE) _exit(3);
            uint64_t run_no = completion.batch->records[0].run_no;
            if (write(out, &run_no, sizeof run_no) != sizeof run_no) _exit(4);
        }
    }
}

SQLITE_CASE(kill_9_loses_nothing_that_was_acknowledged, "proves: R-005")
{
    store_close(it->store);
    it->store = NULL;
    uint64_t acknowledged = 0;
    for (int round = 0; round < 6; round++) {
        int pipe_ends[2];
        REQUIRE(pipe(pipe_ends) == 0);
        pid_t child = fork();
        if (!child) {
            close(pipe_ends[0]);
            commit_until_killed(it, pipe_ends[1]);
        }
        close(pipe_ends[1]);
        nanosleep(&(struct timespec){ 0, (60 + 37 * round) * 1000000 }, NULL);
        kill(child, SIGKILL);
        int status;
        waitpid(child, &status, 0);
        EXPECT(WIFSIGNALED(status));
        uint64_t run_no;
        while (read(pipe_ends[0], &run_no, sizeof run_no) == sizeof run_no) {
            EXPECT_INT(run_no, acknowledged + 1);
            acknowledged = run_no;
        }
        close(pipe_ends[0]);

        REQUIRE(store_case_reopen(it));
        EXPECT(it->head.next_run_no > acknowledged);
        uint64_t there = it->head.next_run_no - 1;
        EXPECT_INT(it->head.position, 2 * there);                   /* whole batches: two records each */
        Answer count = ASK(it, QUERY_COUNT_OF_DEFINITION, text_cell("default"), text_cell("orders"), cell_null(), cell_null());
        EXPECT_INT(answer_cell(&count, 0, 0).integer, there);
        uint32_t findings = 0;
        Error err;
        EXPECT_OK(store_check(it->store, note_finding, &findings, &err), &err);
        EXPECT_INT(findings, 0);
        acknowledged = there;
        store_close(it->store);
        it->store = NULL;
    }
    EXPECT(acknowledged > 0);
}

/* --- looking after it ---------------------------------------------------------------------------------------------- */

SQLITE_CASE(a_backup_is_made_while_commits_go_on, "")
{
    for (int i = 0; i < 50; i++) commit_run(it, "default", "orders");
    char path[256];
    snprintf(path, sizeof path, "%s/copy.db", it->directory);
    RowChange change = run_row(it, 1000, "default", "orders", 1);
    Batch *batch = batch_make(it, &(BatchPlan){ .record_count = 1, .run_no = 1000, .changes = &change, .change_count = 1 });
    EXPECT(store_submit(it->store, batch));
    Error err = { 0 };
    REQUIRE_OK(store_backup(it->store, str_of(path), &err), &err);
    Completion completion;
    EXPECT(completion_wait(it, &completion) && completion.outcome == STORE_DURABLE);
    ROW("over a file that is there it is refused");
    EXPECT_INT(store_backup(it->store, str_of(path), &err), ERR_CONFLICT);

    StoreCase copy = { .adapter = ADAPTER_SQLITE };
    arena_init(&copy.arena, SIZE_MAX);
    REQUIRE_OK(sqlite_store_open(&(SqliteOptions){ .path = path }, &copy.store, &err), &err);
    EXPECT_OK(store_own(copy.store, 1, &copy.head, &err), &err);
    EXPECT(copy.head.position >= 50);
    uint32_t findings = 0;
    EXPECT_OK(store_check(copy.store, note_finding, &findings, &err), &err);
    EXPECT_INT(findings, 0);
    store_close(copy.store);
    arena_deinit(&copy.arena);
}

SQLITE_CASE(who_only_reads_can_make_a_backup_too, "")
{
    commit_run(it, "default", "orders");
    store_close(it->store);
    it->store = NULL;
    Error err = { 0 };
    REQUIRE_OK(sqlite_store_open(&(SqliteOptions){ .path = it->path }, &it->store, &err), &err);
    char path[256];
    snprintf(path, sizeof path, "%s/copy.db", it->directory);
    REQUIRE_OK(store_backup(it->store, str_of(path), &err), &err);
    EXPECT_OK(try_open(path, false, &err), &err);
    ROW("where it cannot be written");
    EXPECT(store_backup(it->store, STR("/nonexistent/copy.db"), &err) != OK);
}

static void *make_copy(void *context)
{
    StoreCase *it = context;
    char path[256];
    Error err = { 0 };
    snprintf(path, sizeof path, "%s/copy.db", it->directory);
    return store_backup(it->store, str_of(path), &err) ? it : NULL;
}

/* The commit is there when help() returns; a backup by the store's thread meanwhile takes turns with it. */
SQLITE_CASE(a_lent_thread_makes_small_commits_itself_and_a_backup_goes_on_beside_it, "")
{
    enum { COMMIT_COUNT = 200 };
    pthread_t copier;
    void *failed;
    uint32_t own_count = 0;
    store_lend(it->store);
    ROW("idle");
    Batch *batch = batch_make(it, &(BatchPlan){ .record_count = 1 });
    Completion completion;
    EXPECT(store_submit(it->store, batch) && store_help(it->store, true));
    EXPECT(store_poll(it->store, &completion) && completion.batch == batch && completion.outcome == STORE_DURABLE);
    ROW("not idle, then too large");
    for (uint32_t i = 0; i < 2; i++) {
        batch = batch_make(it, &(BatchPlan){ .record_count = i ? STORE_HELP_RECORD_COUNT_MAX + 1 : 1 });
        EXPECT(store_submit(it->store, batch) && !store_help(it->store, i == 1));
        EXPECT(completion_wait(it, &completion) && completion.batch == batch);
    }
    ROW("beside a backup");
    REQUIRE(pthread_create(&copier, NULL, make_copy, it) == 0);
    for (uint32_t i = 0; i < COMMIT_COUNT; i++) {
        batch = batch_make(it, &(BatchPlan){ .record_count = 1 });
        REQUIRE(store_submit(it->store, batch));
        own_count += store_help(it->store, true);
        REQUIRE(completion_wait(it, &completion));
        EXPECT(completion.batch == batch && completion.outcome == STORE_DURABLE);
    }
    pthread_join(copier, &failed);
    EXPECT(!failed);
    EXPECT(own_count > 0);
}

SQLITE_CASE(the_write_ahead_log_does_not_grow_without_end, "")
{
    char *large = arena_bytes(&it->arena, 1000000), wal[256];
    memset(large, 'x', 1000000);
    snprintf(wal, sizeof wal, "%s-wal", it->path);
    struct stat info = { 0 };
    off_t largest = 0;
    for (int i = 0; i < 150; i++) {
        Batch *batch = batch_make(it, &(BatchPlan){ .record_count = 1, .payload = { large, 1000000 } });
        Error err;
        EXPECT_INT(batch_commit(it, batch, &err), STORE_DURABLE);
        if (stat(wal, &info) == 0 && info.st_size > largest) largest = info.st_size;
    }
    EXPECT(largest <= (off_t)STORE_WAL_SIZE_MAX + 4000000);
}

static bool dawdle(void *context, const Cell *cells, uint32_t count)
{
    (void)context, (void)cells, (void)count;
    nanosleep(&(struct timespec){ 0, 300000000 }, NULL);
    return true;
}

SQLITE_CASE(a_reader_who_takes_too_long_is_ended, "")
{
    for (int i = 0; i < 10; i++) commit_run(it, "default", "orders");
    QueryAsk asked = { QUERY_RUNS_OPEN, { cell_int(0) }, 1, 0 };
    Error err = { 0 };
    EXPECT_INT(store_select(it->store, &asked, dawdle, NULL, &err), ERR_LIMIT);
    EXPECT(has(str_of(err.text), "STORE_READ_MS_MAX"));
    EXPECT_INT(ASK(it, QUERY_RUNS_OPEN, cell_int(0)).row_count, 10);
}
