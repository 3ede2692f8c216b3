/* prune.c - what archived runs still have here is taken away, a little in each commit.
 *
 * A run is archived once its row names a file (`archived_to`), which is committed together with the log's event about it. From
 * then on its rows are only taking up room. They go table by table; then its ledger rows lose their bytes, its last one last:
 * as long as that one has its record, the run is not finished, and a next call begins with it again. So nothing has to be
 * remembered beside the rows themselves, and a crash anywhere leaves a store that can be verified and pruned on.
 */
#include <inttypes.h>

#include "base/check.h"
#include "base/limits.h"
#include "store/sqlite/store_parts.h"

/* Some rows of a run; ?1 is its number, ?2 how many at most. Polls name step runs and go before them. Requests are forgotten
 * by their time. */
static const char *const deletions[] = {
    "DELETE FROM maestro_poll_attempts WHERE id IN (SELECT p.id FROM maestro_step_runs AS s JOIN maestro_poll_attempts AS p"
    " ON p.step_run_id = s.step_run_no WHERE s.workflow_id = ?1 LIMIT ?2)",
    "DELETE FROM maestro_attempts WHERE workflow_id = ?1 AND (step_index, attempt) IN"
    " (SELECT step_index, attempt FROM maestro_attempts WHERE workflow_id = ?1 LIMIT ?2)",
    "DELETE FROM maestro_step_runs WHERE step_run_no IN (SELECT step_run_no FROM maestro_step_runs WHERE workflow_id = ?1 LIMIT ?2)",
    "DELETE FROM maestro_resolution_decisions WHERE id IN (SELECT id FROM maestro_resolution_decisions WHERE workflow_id = ?1 LIMIT ?2)",
    "DELETE FROM maestro_compensation_runs WHERE id IN (SELECT id FROM maestro_compensation_runs WHERE workflow_id = ?1 LIMIT ?2)",
    "DELETE FROM maestro_branch_decisions WHERE id IN (SELECT id FROM maestro_branch_decisions WHERE workflow_id = ?1 LIMIT ?2)",
    "DELETE FROM maestro_trigger_payloads WHERE id IN (SELECT id FROM maestro_trigger_payloads WHERE workflow_id = ?1 LIMIT ?2)",
    "DELETE FROM maestro_signals WHERE run_no = ?1 AND number IN (SELECT number FROM maestro_signals WHERE run_no = ?1 LIMIT ?2)",
    "DELETE FROM maestro_outbox WHERE entry_no IN (SELECT entry_no FROM maestro_outbox"
    " WHERE entry_no > (?1 << 20) AND entry_no < ((?1 + 1) << 20) LIMIT ?2)",
    "DELETE FROM maestro_logs WHERE line_no IN (SELECT line_no FROM maestro_logs WHERE run_no = ?1 LIMIT ?2)",
    "DELETE FROM maestro_snapshots WHERE run_no = ?1 AND ?2",
    "DELETE FROM maestro_timers WHERE run_no = ?1 AND ?2",
};

#define DELETION_COUNT (sizeof deletions / sizeof deletions[0])

/* Keys that steps declared have no index by run: those of all archived runs are looked at at once. What was done under a key is
 * not done again, so it stays taken; where its step has not succeeded, nothing was. */
static const char key_deletion[] =
    "DELETE FROM maestro_dedupe WHERE (tenant, domain, key, generation) IN (SELECT d.tenant, d.domain, d.key, d.generation"
    " FROM maestro_dedupe AS d JOIN maestro_workflows AS w ON w.run_no = d.run_no"
    " JOIN maestro_step_runs AS s ON s.workflow_id = d.run_no AND s.step_index = d.step_index"
    " WHERE w.archived_to IS NOT NULL AND s.status <> 'SUCCEEDED' LIMIT ?2)";

static const char unfinished[] =
    "SELECT w.run_no, w.last_position FROM maestro_workflows AS w JOIN maestro_ledger AS l ON l.position = w.last_position"
    " WHERE w.archived_to IS NOT NULL AND w.run_no > ?1 AND length(l.record) > 0 ORDER BY w.run_no LIMIT 1";

typedef struct Pruning {
    SqliteStore *store;
    Connection *writer;
    sqlite3_stmt *deletions[DELETION_COUNT], *epoch, *keys, *unfinished, *back, *empty;
    uint32_t change_count;              /* in the transaction that is open */
    Error *err;
} Pruning;

static Status prepare(Pruning *pruning)
{
    Connection *writer = pruning->writer;
    Status status = connection_prepare(writer, "SELECT epoch FROM maestro_log_heads WHERE log = 1", &pruning->epoch, pruning->err);
    if (!status) status = connection_prepare(writer, key_deletion, &pruning->keys, pruning->err);
    for (uint32_t i = 0; i < DELETION_COUNT && !status; i++)
        status = connection_prepare(writer, deletions[i], &pruning->deletions[i], pruning->err);
    if (!status) status = connection_prepare(writer, unfinished, &pruning->unfinished, pruning->err);
    if (!status)
        status = connection_prepare(writer, "SELECT prev_position, length(record) FROM maestro_ledger WHERE position = ?1",
                                    &pruning->back, pruning->err);
    if (!status)
        status = connection_prepare(writer, "UPDATE maestro_ledger SET record = x'', payload = NULL WHERE position = ?1",
                                    &pruning->empty, pruning->err);
    return status;
}

static void finalize(Pruning *pruning)
{
    for (uint32_t i = 0; i < DELETION_COUNT; i++) sqlite3_finalize(pruning->deletions[i]);
    sqlite3_finalize(pruning->epoch);
    sqlite3_finalize(pruning->keys);
    sqlite3_finalize(pruning->unfinished);
    sqlite3_finalize(pruning->back);
    sqlite3_finalize(pruning->empty);
}

/* --- transactions -------------------------------------------------------------------------------------------------- */

/* Q2: inside the transaction, as every commit. */
static Status check_epoch(Pruning *pruning)
{
    int code = sqlite3_step(pruning->epoch);
    uint64_t epoch = code == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(pruning->epoch, 0) : 0;
    sqlite3_reset(pruning->epoch);
    if (code != SQLITE_ROW && code != SQLITE_DONE) return connection_error(pruning->writer, code, pruning->err);
    if (epoch == pruning->store->epoch) return OK;
    return error_set(pruning->err, ERR_CONFLICT, "%s: another process owns it now (epoch %" PRIu64 ", ours was %" PRIu64 ")",
                     pruning->writer->path, epoch, pruning->store->epoch);
}

static Status begin(Pruning *pruning)
{
    pruning->change_count = 0;
    int code = statement_step(pruning->writer->begin);
    return code ? connection_error(pruning->writer, code, pruning->err) : check_epoch(pruning);
}

static Status commit(Pruning *pruning)
{
    int code = statement_step(pruning->writer->commit);
    if (code) return connection_error(pruning->writer, code, pruning->err);
    upkeep_after_commit(pruning->store, STORE_WAL_SIZE_USUAL);
    return OK;
}

/* One statement, bound to these; a commit where enough has come together. */
static Status change(Pruning *pruning, sqlite3_stmt *statement, int64_t key, uint32_t *out_count)
{
    int code = sqlite3_bind_int64(statement, 1, key);
    if (!code && sqlite3_bind_parameter_count(statement) > 1) code = sqlite3_bind_int64(statement, 2, PRUNE_ROW_COUNT);
    if (!code) code = statement_step(statement);
    if (code) return connection_error(pruning->writer, code, pruning->err);
    *out_count = (uint32_t)sqlite3_changes(pruning->writer->db);
    pruning->change_count += *out_count;
    if (pruning->change_count < PRUNE_ROW_COUNT) return OK;
    Status status = commit(pruning);
    return status ? status : begin(pruning);
}

static Status change_all(Pruning *pruning, sqlite3_stmt *statement, int64_t key)
{
    uint32_t count;
    Status status;
    do {
        status = change(pruning, statement, key, &count);
    } while (!status && count >= PRUNE_ROW_COUNT);
    return status;
}

/* --- one run ------------------------------------------------------------------------------------------------------- */

/* Where the run's record before that one lies, and whether this one still has its bytes. */
static Status look_back(Pruning *pruning, int64_t position, int64_t *out_before, bool *out_has_record)
{
    sqlite3_bind_int64(pruning->back, 1, position);
    int code = sqlite3_step(pruning->back);
    *out_before = code == SQLITE_ROW ? sqlite3_column_int64(pruning->back, 0) : 0;
    *out_has_record = code == SQLITE_ROW && sqlite3_column_int64(pruning->back, 1) > 0;
    sqlite3_reset(pruning->back);
    if (code != SQLITE_ROW && code != SQLITE_DONE) return connection_error(pruning->writer, code, pruning->err);
    if (*out_before < position) return OK;
    return error_set(pruning->err, ERR_CORRUPT, "%s: record %" PRId64 " follows one behind it", pruning->writer->path, position);
}

static Status empty_records(Pruning *pruning, int64_t last)
{
    int64_t position;
    bool has_record;
    uint32_t count;
    Status status = look_back(pruning, last, &position, &has_record);
    while (!status && position > 0) {
        int64_t at = position;
        status = look_back(pruning, at, &position, &has_record);
        if (!status && has_record) status = change(pruning, pruning->empty, at, &count);
    }
    return status ? status : change(pruning, pruning->empty, last, &count);
}

static Status prune_run(Pruning *pruning, int64_t run_no, int64_t last)
{
    Status status = OK;
    for (uint32_t i = 0; i < DELETION_COUNT && !status; i++) status = change_all(pruning, pruning->deletions[i], run_no);
    return status ? status : empty_records(pruning, last);
}

static Status prune_runs(Pruning *pruning, uint64_t *out_run_count)
{
    Status status = change_all(pruning, pruning->keys, 0);
    for (int64_t run_no = 0; !status; ++*out_run_count) {
        sqlite3_bind_int64(pruning->unfinished, 1, run_no);
        int code = sqlite3_step(pruning->unfinished);
        int64_t last = code == SQLITE_ROW ? sqlite3_column_int64(pruning->unfinished, 1) : 0;
        if (code == SQLITE_ROW) run_no = sqlite3_column_int64(pruning->unfinished, 0);
        sqlite3_reset(pruning->unfinished);
        if (code == SQLITE_DONE) break;
        status = code == SQLITE_ROW ? prune_run(pruning, run_no, last) : connection_error(pruning->writer, code, pruning->err);
        if (status) break;
    }
    return status;
}

/* On the caller's thread, while the writer's has nothing to do: its connection is free, and nobody else is the owner. */
Status prune(SqliteStore *store, uint64_t *out_run_count, Error *err)
{
    pthread_mutex_lock(&store->mutex);
    CHECK(store->is_owner);
    CHECK(!store->flight_count);
    while (store->is_writing || store->backup) pthread_cond_wait(&store->writer_is_idle, &store->mutex);
    store->is_helped = true;            /* the writer's thread stays away */
    pthread_mutex_unlock(&store->mutex);

    Pruning pruning = { .store = store, .writer = &store->writer, .err = err };
    uint64_t count = 0;
    Status status = prepare(&pruning);
    if (!status) status = begin(&pruning);
    if (!status) status = prune_runs(&pruning, &count);
    if (!status) status = commit(&pruning);
    if (status) connection_roll_back(&store->writer);
    finalize(&pruning);

    pthread_mutex_lock(&store->mutex);
    store->is_helped = false;
    pthread_cond_signal(&store->writer_has_work);
    pthread_mutex_unlock(&store->mutex);
    if (!status) *out_run_count = count;
    return status;
}
