/* sqlite_file_test.c - one owner, files that are no store, files of older versions. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "sqlite_case.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sqlite_store.h"

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

#define NEXT_VERSION (SCHEMA_VERSION + 1)

SQLITE_CASE(an_older_file_is_upgraded_step_by_step_or_left_as_it_was, "proves: A-273")
{
    make_results(it);
    store_close(it->store);
    it->store = NULL;
    Error err = { 0 };
    Connection connection;
    REQUIRE_OK(connection_open(&connection, it->path, CONNECTION_WRITES, &err), &err);
    const Migration broken[] = { [SCHEMA_VERSION] = { NEXT_VERSION, "ALTER TABLE maestro_timers ADD COLUMN a; ALTER TABLE nothing ADD COLUMN b" } };
    EXPECT(schema_upgrade(&connection, broken, NEXT_VERSION, 5, &err) != OK);
    char named[32];
    snprintf(named, sizeof named, "version %d", NEXT_VERSION);
    EXPECT(has(str_of(err.text), named));
    int64_t version = 0;
    EXPECT_OK(schema_version(&connection, &version, &err), &err);
    EXPECT_INT(version, SCHEMA_VERSION);
    EXPECT_STR(sql(it, "SELECT count(*) FROM pragma_table_info('maestro_timers') WHERE name = 'a'"), STR("0"));
    const Migration good[] = { [SCHEMA_VERSION] = { NEXT_VERSION, "ALTER TABLE maestro_timers ADD COLUMN a" },
                               { NEXT_VERSION + 1, "CREATE TABLE more (b)" } };
    EXPECT_OK(schema_upgrade(&connection, good, NEXT_VERSION + 1, 5, &err), &err);
    EXPECT_OK(schema_version(&connection, &version, &err), &err);
    EXPECT_INT(version, NEXT_VERSION + 1);
    EXPECT_STR(sql(it, "SELECT count(*) FROM maestro_schema"), STR("3"));
    EXPECT_STR(sql(it, "SELECT status FROM workflow_executions"), STR("FAILED"));
    ROW("doing it again changes nothing");
    EXPECT_OK(schema_upgrade(&connection, good, NEXT_VERSION + 1, 6, &err), &err);
    EXPECT_STR(sql(it, "SELECT count(*) FROM maestro_schema"), STR("3"));
    connection_close(&connection);
}
