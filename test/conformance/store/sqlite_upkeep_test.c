/* sqlite_upkeep_test.c - what looks after a SQLite file: archived runs, backups, its log, readers that take too long. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/limits.h"
#include "sqlite_case.h"
#include "store/sqlite/sqlite_store.h"

/* --- archived runs ------------------------------------------------------------------------------------------------- */

/* The column by which the rows of a table belong to a run; NULL where they do not, or stay. */
static const char *run_column(const TableInfo *info)
{
    if (info == table_info(TABLE_RUNS) || info == table_info(TABLE_LEDGER) || info == table_info(TABLE_DEDUPE)) return NULL;
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
        bool is_entry = table == TABLE_OUTBOX && i == OUTBOX_entry_no;
        cells[i] = is_entry ? cell_int(run_no << NOTIFICATION_SHIFT | (number + 1))
                   : column->type == COLUMN_TEXT ? cell_text(arena_format(&it->arena, "%lld", (long long)(run_no * 100000 + number)))
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

SQLITE_CASE(who_no_longer_owns_the_file_takes_nothing_away, "")
{
    Error err = { 0 };
    uint64_t count;
    make_many(it, 1);
    archive_run(it, 1);
    EXPECT_STR(sql(it, "UPDATE maestro_log_heads SET epoch = epoch + 1"), STR(""));
    EXPECT_INT(store_prune(it->store, &count, &err), ERR_CONFLICT);
    EXPECT(has(str_of(err.text), "another process owns it"));
    EXPECT_INT(count, 0);
    expect_pruned(it, 1, false);
}

/* What was done under a key is not done again; where nothing was done, the key is free. */
SQLITE_CASE(keys_of_steps_that_succeeded_stay_taken, "")
{
    Error err = { 0 };
    uint64_t count;
    make_many(it, 1);
    EXPECT_STR(sql(it, "UPDATE maestro_step_runs SET status = iif(step_index = 100000, 'SUCCEEDED', 'FAILED')"), STR(""));
    EXPECT_STR(sql(it, "INSERT INTO maestro_dedupe SELECT 't', 'd', 'k' || step_index, 0, workflow_id, step_index FROM maestro_step_runs"), STR(""));
    EXPECT_STR(sql(it, "SELECT count(*) FROM maestro_dedupe"), STR("3"));
    archive_run(it, 1);
    EXPECT_OK(store_prune(it->store, &count, &err), &err);
    EXPECT_STR(sql(it, "SELECT group_concat(key) FROM maestro_dedupe"), STR("k100000"));
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
