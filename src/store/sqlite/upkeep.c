#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "os/file.h"
#include "store/sqlite/store_parts.h"

#define PAGE_SIZE_ON_LOG 4120u              /* a page and its frame's header */
#define BACKUP_PAGE_COUNT 256               /* copied between two commits: a millisecond */

/* --- checkpoints --------------------------------------------------------------------------------------------------- */

/* Pages go back to the database beside the commits. Readers and the writer go on; what the writer adds meanwhile is left. */
void upkeep_run(void *context)
{
    SqliteStore *store = context;
    Connection connection = { 0 };
    Error ignored;
    for (;;) {
        pthread_mutex_lock(&store->mutex);
        while (!store->is_upkeep_wanted && !store->is_closing) pthread_cond_wait(&store->upkeep_has_work, &store->mutex);
        bool is_over = store->is_closing;
        store->is_upkeep_wanted = false;
        pthread_mutex_unlock(&store->mutex);
        if (is_over) break;
        if (!connection.db && connection_open(&connection, store->path, CONNECTION_WRITES, &ignored)) continue;
        /* What fails here is tried again after a later commit, and at the latest by the writer itself. */
        pthread_mutex_lock(&store->checkpoint_turn);
        if (!sqlite3_wal_checkpoint_v2(connection.db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL))
            atomic_store(&store->is_finish_wanted, true);
        pthread_mutex_unlock(&store->checkpoint_turn);
    }
    connection_close(&connection);
}

size_t wal_size(const SqliteStore *store)
{
    return (size_t)atomic_load_explicit(&store->wal_page_count, memory_order_relaxed) * PAGE_SIZE_ON_LOG;
}

/* Between two commits the writer copies the few pages that are left; the next commit then begins the log anew. Beyond its
 * bound it waits for the thread above, which may be slow, and for the readers, who are gone within STORE_READ_MS_MAX: the log has at
 * most one commit more than its bound. */
void upkeep_after_commit(SqliteStore *store, size_t size_usual)
{
    size_t size = wal_size(store);
    if (size >= STORE_WAL_SIZE_MAX) {
        store->writer.busy_ms_max = STORE_READ_MS_MAX;
        pthread_mutex_lock(&store->checkpoint_turn);
        sqlite3_wal_checkpoint_v2(store->writer.db, NULL, SQLITE_CHECKPOINT_RESTART, NULL, NULL);
        pthread_mutex_unlock(&store->checkpoint_turn);
        store->writer.busy_ms_max = STORE_BUSY_MS_MAX;
    } else if (atomic_exchange(&store->is_finish_wanted, false)) {
        sqlite3_wal_checkpoint_v2(store->writer.db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    } else if (size >= size_usual) {
        pthread_mutex_lock(&store->mutex);
        store->is_upkeep_wanted = true;
        pthread_cond_signal(&store->upkeep_has_work);
        pthread_mutex_unlock(&store->mutex);
    }
}

/* --- backup -------------------------------------------------------------------------------------------------------- */

static void remove_part(const char *part)
{
    static const char *const suffixes[] = { "", "-wal", "-shm", "-journal" };
    char name[STORE_PATH_SIZE_MAX + 32];
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        snprintf(name, sizeof name, "%s%s", part, suffixes[i]);
        (void)unlink(name);
    }
}

/* Under another name until it is whole. One that lies there was left by a copying that was killed. */
static Status backup_begin(BackupJob *job, Connection *source, Error *err)
{
    if (access(job->path, F_OK) == 0) return error_set(err, ERR_CONFLICT, "%s exists already", job->path);
    snprintf(job->part, sizeof job->part, "%s.part", job->path);
    remove_part(job->part);
    Status status = connection_open(&job->target, job->part, CONNECTION_CREATES, err);
    if (status) return status;
    job->backup = sqlite3_backup_init(job->target.db, "main", source->db, "main");
    if (!job->backup) return connection_error(&job->target, sqlite3_extended_errcode(job->target.db), err);
    return OK;
}

/* True while there is more to copy. */
static bool backup_go_on(BackupJob *job, Connection *source)
{
    if (!job->backup) job->status = backup_begin(job, source, &job->error);
    if (!job->status) {
        int code = sqlite3_backup_step(job->backup, BACKUP_PAGE_COUNT);
        if (code == SQLITE_OK || code == SQLITE_BUSY || code == SQLITE_LOCKED) return true;
        if (code != SQLITE_DONE) job->status = connection_error(&job->target, code, &job->error);
    }
    int code = sqlite3_backup_finish(job->backup);
    if (!job->status && code) job->status = connection_error(&job->target, code, &job->error);
    /* All of it into the file itself: what closing could not write would be told to nobody. */
    if (!job->status) code = sqlite3_wal_checkpoint_v2(job->target.db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    if (!job->status && code) job->status = connection_error(&job->target, code, &job->error);
    connection_close(&job->target);
    if (!job->status) job->status = file_publish(job->part, job->path, &job->error);
    if (job->part[0]) remove_part(job->part);               /* a part of a store is no store */
    return false;
}

/* Through the writer's own connection, so that what it commits meanwhile is in the copy, too, and nothing begins anew. */
void upkeep_backup_step(SqliteStore *store, BackupJob *job)
{
    if (backup_go_on(job, &store->writer)) return;
    pthread_mutex_lock(&store->mutex);
    job->is_done = true;
    store->backup = NULL;
    pthread_cond_broadcast(&store->writer_is_idle);
    pthread_mutex_unlock(&store->mutex);
}

static void backup_by_writer(SqliteStore *store, BackupJob *job)
{
    pthread_mutex_lock(&store->mutex);
    while (store->backup) pthread_cond_wait(&store->writer_is_idle, &store->mutex);
    store->backup = job;
    pthread_cond_signal(&store->writer_has_work);
    while (!job->is_done) pthread_cond_wait(&store->writer_is_idle, &store->mutex);
    pthread_mutex_unlock(&store->mutex);
}

/* Who does not own the file copies a snapshot of it. */
static Status backup_by_reader(SqliteStore *store, BackupJob *job, Error *err)
{
    PooledReader *reader;
    Status status = pool_take(store, &reader, err);
    if (status) return status;
    status = connection_run(&reader->connection, "BEGIN; SELECT 1 FROM maestro_schema", err);
    while (!status && backup_go_on(job, &reader->connection)) { }
    connection_roll_back(&reader->connection);
    pool_give(store, reader);
    return status;
}

Status upkeep_backup(SqliteStore *store, Str path, Error *err)
{
    char text[STORE_PATH_SIZE_MAX + 1];
    if (path.len > STORE_PATH_SIZE_MAX)
        return error_set(err, ERR_LIMIT, "a path has at most STORE_PATH_SIZE_MAX (%u) bytes", STORE_PATH_SIZE_MAX);
    memcpy(text, path.ptr, path.len);
    text[path.len] = 0;
    BackupJob job = { .path = text };
    pthread_mutex_lock(&store->mutex);
    bool is_owner = store->is_owner;
    pthread_mutex_unlock(&store->mutex);
    if (is_owner) {
        backup_by_writer(store, &job);
    } else {
        Status status = backup_by_reader(store, &job, err);
        if (status) return status;
    }
    if (job.status && err) *err = job.error;
    return job.status;
}

/* --- check --------------------------------------------------------------------------------------------------------- */

typedef struct Checking {
    Connection *connection;
    void (*finding)(void *context, Str text);
    void *context;
} Checking;

/* Runs a statement whose rows are findings; "ok" is none. */
static Status check_by(const Checking *checking, const char *sql, Error *err)
{
    sqlite3_stmt *statement;
    Status status = connection_prepare(checking->connection, sql, &statement, err);
    if (status) return status;
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(statement, 0);
        if (!text) checking->finding(checking->context, STR("a row cannot be read"));
        else if (strcmp(text, "ok") != 0) checking->finding(checking->context, str_of(text));
    }
    if (code != SQLITE_DONE) {
        Error found;
        status = connection_error(checking->connection, code, &found);
        if (status == ERR_CORRUPT) {
            checking->finding(checking->context, str_of(found.text));
            status = OK;                    /* that is what was looked for */
        } else if (err) {
            *err = found;
        }
    }
    sqlite3_finalize(statement);
    return status;
}

/* References between tables, which are not declared to SQLite because looking them up at every insert would cost as much
 * as the insert. */
static const char *const reference_checks[] = {
    "SELECT 'maestro_ledger: the record before ' || min(position) || ' is missing' FROM maestro_ledger"
    " HAVING count(*) <> max(position)",
    "SELECT 'maestro_workflows: run ' || run_no || ' ends at a record that is not there' FROM maestro_workflows"
    " WHERE last_position NOT IN (SELECT position FROM maestro_ledger) LIMIT 100",
    "SELECT 'maestro_log_heads: log ' || log || ' ends at ' || position || ', the ledger at '"
    " || (SELECT ifnull(max(position), 0) FROM maestro_ledger) FROM maestro_log_heads"
    " WHERE position <> (SELECT ifnull(max(position), 0) FROM maestro_ledger)",
    "SELECT 'maestro_poll_attempts: the row ' || p.id || ' belongs to no poll of a step run' FROM maestro_poll_attempts AS p"
    " LEFT JOIN maestro_step_runs AS s ON s.id = p.step_run_id"
    " WHERE p.attempt_number > ifnull(s.poll_attempt_count, 0) LIMIT 100",
    "SELECT 'maestro_outbox: the row ' || entry_no || ' is not numbered after its run' FROM maestro_outbox"
    " WHERE run_no IS NOT entry_no >> 20 LIMIT 100",
    "SELECT 'maestro_log_heads: a file has one log, and here is log ' || log FROM maestro_log_heads WHERE log <> 1",
};

/* Tables whose rows belong to a run, and the column that names it. */
static const struct { uint8_t table, column; } run_references[] = {
    { TABLE_STEP_RUNS, STEP_RUNS_workflow_id }, { TABLE_ATTEMPTS, ATTEMPTS_workflow_id },
    { TABLE_DECISIONS, DECISIONS_workflow_id }, { TABLE_COMPENSATIONS, COMPENSATIONS_workflow_id },
    { TABLE_BRANCHES, BRANCHES_workflow_id },   { TABLE_TRIGGER_PAYLOADS, TRIGGER_PAYLOADS_workflow_id },
    { TABLE_SIGNALS, SIGNALS_run_no },          { TABLE_OUTBOX, OUTBOX_run_no },
    { TABLE_LOGS, LOGS_run_no },                { TABLE_SNAPSHOTS, SNAPSHOTS_run_no },
    { TABLE_TIMERS, TIMERS_run_no },            { TABLE_DEDUPE, DEDUPE_run_no },
};

/* Tables that no record makes rows of: what is in them was put there by somebody else. */
static const uint8_t unused_tables[] = { TABLE_LEASES, TABLE_BLOBS };

static Status check_references(const Checking *checking, Error *err)
{
    char sql[512];
    Status status = OK;
    for (size_t i = 0; i < sizeof reference_checks / sizeof reference_checks[0] && !status; i++)
        status = check_by(checking, reference_checks[i], err);
    for (size_t i = 0; i < sizeof run_references / sizeof run_references[0] && !status; i++) {
        const TableInfo *info = table_info((Table)run_references[i].table);
        const char *column = info->columns[run_references[i].column].name;
        snprintf(sql, sizeof sql, "SELECT '%s: a row belongs to run number ' || %s || ', which there is not' FROM %s"
                 " WHERE %s NOT IN (SELECT run_no FROM maestro_workflows) LIMIT 100", info->name, column, info->name, column);
        status = check_by(checking, sql, err);
    }
    for (size_t i = 0; i < sizeof unused_tables && !status; i++) {
        const TableInfo *info = table_info((Table)unused_tables[i]);
        snprintf(sql, sizeof sql, "SELECT '%s: the row ' || %s || ' follows from no record' FROM %s LIMIT 100", info->name,
                 info->columns[0].name, info->name);
        status = check_by(checking, sql, err);
    }
    return status;
}

Status upkeep_check(SqliteStore *store, void (*finding)(void *context, Str text), void *context, Error *err)
{
    PooledReader *reader;
    Status status = pool_take(store, &reader, err);
    if (status) return status;
    Checking checking = { &reader->connection, finding, context };
    for (uint32_t i = 0; i < TABLE_COUNT && !status; i++) {       /* table by table: snapshots stay short */
        char sql[128];
        snprintf(sql, sizeof sql, "PRAGMA integrity_check(%s)", table_info((Table)i)->name);
        status = check_by(&checking, sql, err);
    }
    if (!status) status = check_references(&checking, err);
    pool_give(store, reader);
    return status;
}
