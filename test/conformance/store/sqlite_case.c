#include "sqlite_case.h"

#include <sqlite3.h>
#include <stdarg.h>
#include <string.h>

#include "store/sqlite/sqlite_store.h"

/* Runs a statement as a stranger with the sqlite3 shell would; the first cell of the first row, or the error, as text. */
Str sql(StoreCase *it, const char *format, ...)
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

bool is_error(Str answer) { return str_starts(answer, STR("error: ")); }

/* A run with a completed, a failed and a skipped step, with payloads. */
void make_results(StoreCase *it)
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

bool has(Str text, const char *part) { return memmem(text.ptr, text.len, part, strlen(part)) != NULL; }

Status try_open(const char *path, bool is_created, Error *err)
{
    Store *store;
    Status status = sqlite_store_open(&(SqliteOptions){ .path = path, .is_created = is_created }, &store, err);
    if (!status) store_close(store);
    return status;
}

void note_finding(void *context, Str text)
{
    (void)text;
    ++*(uint32_t *)context;
}
