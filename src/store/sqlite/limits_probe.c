#include "store/sqlite/limits_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "os/clock.h"
#include "store/sqlite/connection.h"

#define EVENT_COUNT_OF_COMMIT 256u
#define WINDOW_RUN_COUNT 500u
#define WINDOW_STEP_EVENTS 200u             /* events after which the window moves on by one run */
#define ROW_SIZE 300u
#define SYNC_SIZE 4096u

/* --- the bare loop ------------------------------------------------------------------------------------------------- */

typedef enum BareStatement { BARE_BEGIN, BARE_COMMIT, BARE_RECORD, BARE_NEW_RUN, BARE_RUN, BARE_STEP, BARE_COUNT } BareStatement;

static const char bare_tables[] =
    "PRAGMA wal_autocheckpoint = 4000;"
    "CREATE TABLE ledger (position INTEGER PRIMARY KEY, record BLOB NOT NULL);"
    "CREATE TABLE runs (run_no INTEGER PRIMARY KEY, state TEXT NOT NULL, position INTEGER NOT NULL, events INTEGER NOT NULL,"
    "  updated_ms INTEGER NOT NULL, rest TEXT NOT NULL);"
    "CREATE TABLE steps (step_no INTEGER PRIMARY KEY, run_no INTEGER NOT NULL, status TEXT NOT NULL,"
    "  updated_ms INTEGER NOT NULL, rest TEXT NOT NULL)";

static const char *const bare_texts[BARE_COUNT] = {
    [BARE_BEGIN] = "BEGIN IMMEDIATE",
    [BARE_COMMIT] = "COMMIT",
    [BARE_RECORD] = "INSERT INTO ledger (position, record) VALUES (?1, ?2)",
    [BARE_NEW_RUN] = "INSERT INTO runs VALUES (?1, 'RUNNING', ?2, 0, ?3, ?4)",
    [BARE_RUN] = "UPDATE runs SET position = ?2, events = events + 1, updated_ms = ?3 WHERE run_no = ?1",
    [BARE_STEP] = "INSERT INTO steps VALUES (?1, ?2, ?3, ?4, ?5)"
                  " ON CONFLICT (step_no) DO UPDATE SET status = excluded.status, updated_ms = excluded.updated_ms",
};

typedef struct Bare {
    Connection connection;
    sqlite3_stmt *statements[BARE_COUNT];
    uint64_t position, first_run, run_count, step_no, chance;
    uint64_t steps[WINDOW_RUN_COUNT];       /* by run modulo the window: its step under way; 0: none */
    char row[ROW_SIZE], text[128];
} Bare;

static int bare_run(Bare *bare, BareStatement which)
{
    int code = sqlite3_step(bare->statements[which]);
    sqlite3_reset(bare->statements[which]);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

static int bare_new_run(Bare *bare)
{
    sqlite3_stmt *statement = bare->statements[BARE_NEW_RUN];
    bare->run_count++;
    sqlite3_bind_int64(statement, 1, (int64_t)(bare->first_run + WINDOW_RUN_COUNT - 1));
    sqlite3_bind_int64(statement, 2, (int64_t)bare->position);
    sqlite3_bind_int64(statement, 3, INT64_C(1700000000000) + (int64_t)bare->position);
    sqlite3_bind_text(statement, 4, bare->text, sizeof bare->text, SQLITE_STATIC);
    return bare_run(bare, BARE_NEW_RUN);
}

static int bare_event(Bare *bare)
{
    int64_t now_ms = INT64_C(1700000000000) + (int64_t)bare->position;
    bare->chance = bare->chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t run_no = bare->first_run + (bare->chance >> 33) % WINDOW_RUN_COUNT;
    uint64_t *step = &bare->steps[run_no % WINDOW_RUN_COUNT];
    bool is_new = !*step;
    uint64_t step_no = is_new ? ++bare->step_no : *step;
    *step = is_new ? step_no : 0;           /* each step has two events: it begins, it ends */

    sqlite3_stmt *statement = bare->statements[BARE_RECORD];
    sqlite3_bind_int64(statement, 1, (int64_t)++bare->position);
    sqlite3_bind_blob(statement, 2, bare->row, sizeof bare->row, SQLITE_STATIC);
    int code = bare_run(bare, BARE_RECORD);
    if (code) return code;

    statement = bare->statements[BARE_RUN];
    sqlite3_bind_int64(statement, 1, (int64_t)run_no);
    sqlite3_bind_int64(statement, 2, (int64_t)bare->position);
    sqlite3_bind_int64(statement, 3, now_ms);
    code = bare_run(bare, BARE_RUN);
    if (code) return code;

    statement = bare->statements[BARE_STEP];
    sqlite3_bind_int64(statement, 1, (int64_t)step_no);
    sqlite3_bind_int64(statement, 2, (int64_t)run_no);
    sqlite3_bind_text(statement, 3, is_new ? "RUNNING" : "SUCCEEDED", -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 4, now_ms);
    sqlite3_bind_text(statement, 5, bare->text, sizeof bare->text, SQLITE_STATIC);
    return bare_run(bare, BARE_STEP);
}

static int bare_commit(Bare *bare)
{
    int code = bare_run(bare, BARE_BEGIN);
    while (!code && bare->run_count < WINDOW_RUN_COUNT) {       /* the first window; later one run at a time */
        bare->first_run++;
        code = bare_new_run(bare);
    }
    for (uint32_t i = 0; i < EVENT_COUNT_OF_COMMIT && !code; i++) {
        if (bare->position % WINDOW_STEP_EVENTS == WINDOW_STEP_EVENTS - 1) {
            bare->steps[bare->first_run % WINDOW_RUN_COUNT] = 0;
            bare->first_run++;
            code = bare_new_run(bare);
        }
        if (!code) code = bare_event(bare);
    }
    return code ? code : bare_run(bare, BARE_COMMIT);
}

static Status bare_open(Bare *bare, const char *path, Error *err)
{
    Status status = connection_open(&bare->connection, path, CONNECTION_CREATES, err);
    if (!status) status = connection_run(&bare->connection, bare_tables, err);
    for (uint32_t i = 0; i < BARE_COUNT && !status; i++)
        status = connection_prepare(&bare->connection, bare_texts[i], &bare->statements[i], err);
    memset(bare->row, 'r', sizeof bare->row);
    memset(bare->text, 't', sizeof bare->text);
    return status;
}

static void remove_with(const char *path, const char *suffix)
{
    char name[STORE_PATH_SIZE_MAX + 96];
    snprintf(name, sizeof name, "%s%s", path, suffix);
    unlink(name);
}

Status limits_probe_events(const char *directory, int64_t duration_ms, double *out_events_per_s, Error *err)
{
    if (strlen(directory) > STORE_PATH_SIZE_MAX) return error_set(err, ERR_LIMIT, "the path of the directory is too long");
    char path[STORE_PATH_SIZE_MAX + 64];
    snprintf(path, sizeof path, "%s/limits-%ld.db", directory, (long)getpid());
    Bare *bare = calloc(1, sizeof *bare);
    CHECK(bare != NULL);
    Status status = bare_open(bare, path, err);
    uint64_t begin_ns = clock_monotonic_ns(), now_ns = begin_ns;
    while (!status && now_ns - begin_ns < (uint64_t)duration_ms * 1000000) {
        int code = bare_commit(bare);
        if (code) status = connection_error(&bare->connection, code, err);
        now_ns = clock_monotonic_ns();
    }
    if (!status) *out_events_per_s = (double)bare->position * 1e9 / (double)(now_ns - begin_ns);
    for (uint32_t i = 0; i < BARE_COUNT; i++) sqlite3_finalize(bare->statements[i]);
    connection_close(&bare->connection);
    free(bare);
    remove_with(path, "");
    remove_with(path, "-wal");
    remove_with(path, "-shm");
    return status;
}

/* --- syncing ------------------------------------------------------------------------------------------------------- */

static int compare_times(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

Status limits_probe_sync(const char *directory, uint32_t count, double *out_p50_us, Error *err)
{
    CHECK(count > 0);
    if (strlen(directory) > STORE_PATH_SIZE_MAX) return error_set(err, ERR_LIMIT, "the path of the directory is too long");
    char path[STORE_PATH_SIZE_MAX + 64];
    snprintf(path, sizeof path, "%s/limits-%ld.sync", directory, (long)getpid());
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0) return error_set(err, ERR_UNAVAILABLE, "%s cannot be made: %s", path, strerror(errno));
    uint64_t *times = calloc(count, sizeof *times);
    CHECK(times != NULL);
    static const char page[SYNC_SIZE];
    Status status = OK;
    for (uint32_t i = 0; i < count && !status; i++) {
        uint64_t begin_ns = clock_monotonic_ns();
        if (write(fd, page, sizeof page) != (ssize_t)sizeof page || fdatasync(fd))
            status = error_set(err, ERR_UNAVAILABLE, "%s cannot be written: %s", path, strerror(errno));
        times[i] = clock_monotonic_ns() - begin_ns;
    }
    qsort(times, count, sizeof *times, compare_times);
    if (!status) *out_p50_us = (double)times[count / 2] / 1000;
    free(times);
    close(fd);
    unlink(path);
    return status;
}
