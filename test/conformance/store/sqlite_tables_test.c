/* sqlite_tables_test.c - what the tables of a SQLite file forbid and show, and how its questions are answered. */
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "sqlite_case.h"
#include "view/sql.h"

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
    EXPECT_STR(sql(it, "INSERT INTO maestro_revisions (tenant, workflow_id, version, digest, active, name, triggers, parameters, steps, text,"
                       " created_ms, updated_ms) VALUES ('t', 'w', 1, x'00', 1, 'n', '[]', '[]', '[]', '', 1, 1)"), STR(""));
    EXPECT_STR(sql(it, "INSERT INTO maestro_tenant_keys VALUES ('t', x'00', 1, 'u')"), STR(""));
    EXPECT_STR(sql(it, "INSERT INTO maestro_secrets VALUES ('t', 'n', x'00', 1, 'u', 1, 'u')"), STR(""));
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
    EXPECT_STR(sql(it, "UPDATE maestro_secrets SET sealed = x'01', updated_ms = 2, updated_by = 'v'"), STR(""));
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

/* What reads a whole table or index on purpose, and ends after the first row or counts them all. */
static bool may_scan(Query query)
{
    return query == QUERY_COUNT_BY_STATE || query == QUERY_LOG_LINE_LAST || query == QUERY_TIMER_NEXT
        || query == QUERY_COUNT_OF_REVISIONS;
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
