#include "store/sqlite/schema.h"

#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "store/sqlite/views_sql.h"
#include "view/sql.h"

/* The program that a file belongs to, for tools that look: "mstr". */
#define APPLICATION_ID 0x6d737472

static const char views_sql[] = VIEWS_SQL;

/* Nothing was ever written to it: no run could poll. */
#define POLLS_AGAIN \
    "DROP TABLE maestro_poll_attempts;" \
    "CREATE TABLE maestro_poll_attempts (id TEXT NOT NULL, step_run_id TEXT NOT NULL, attempt_number INTEGER NOT NULL DEFAULT 0, " \
    "job_id TEXT NOT NULL, result_complete INTEGER NOT NULL DEFAULT 0, result_continue INTEGER NOT NULL DEFAULT 0, " \
    "next_interval_ms INTEGER, executed_ms INTEGER NOT NULL, executed_at TEXT GENERATED ALWAYS AS (iif(executed_ms IS NULL, NULL, " \
    "strftime('%Y-%m-%dT%H:%M:%S', executed_ms / 1000, 'unixepoch') || printf('.%03dZ', executed_ms % 1000))) VIRTUAL, " \
    "PRIMARY KEY (id)) WITHOUT ROWID;" \
    "CREATE INDEX idx_poll_attempts_step ON maestro_poll_attempts (step_run_id, attempt_number)"

#define SECRETS_FIRST \
    "CREATE TABLE maestro_tenant_keys (tenant TEXT NOT NULL, sealed BLOB NOT NULL, created_ms INTEGER NOT NULL, " \
    "created_by TEXT NOT NULL, PRIMARY KEY (tenant)) WITHOUT ROWID;" \
    "CREATE TABLE maestro_secrets (tenant TEXT NOT NULL, name TEXT NOT NULL, sealed BLOB NOT NULL, created_ms INTEGER NOT NULL, " \
    "created_by TEXT NOT NULL, updated_ms INTEGER NOT NULL, updated_by TEXT NOT NULL, PRIMARY KEY (tenant, name)) WITHOUT ROWID"

#define SERVER_TABLES \
    "CREATE TABLE maestro_key_uses (tenant TEXT NOT NULL, id TEXT NOT NULL, used_ms INTEGER NOT NULL, source TEXT NOT NULL, " \
    "PRIMARY KEY (tenant, id)) WITHOUT ROWID;" \
    "CREATE TABLE maestro_waiting_starts (tenant TEXT NOT NULL, workflow_id TEXT NOT NULL, trigger_key TEXT NOT NULL, " \
    "since_ms INTEGER NOT NULL, due_ms INTEGER NOT NULL, event_count INTEGER NOT NULL DEFAULT 0, actor TEXT NOT NULL, trace TEXT, " \
    "payload TEXT, PRIMARY KEY (tenant, workflow_id, trigger_key, since_ms)) WITHOUT ROWID"

/* Columns hold names, records hold numbers: what the records say has not changed. */
#define SKIP_REASONS_RENAMED \
    "UPDATE maestro_step_runs SET skip_reason = 'NOT_ON_ACTIVE_BRANCH' WHERE skip_reason = 'BRANCH_NOT_TAKEN';" \
    "UPDATE maestro_step_runs SET skip_reason = 'TERMINATED_EARLY' WHERE skip_reason = 'EARLY_TERMINATION'"

#define TENANT_USE_FIRST \
    "CREATE TABLE maestro_tenant_use (tenant TEXT NOT NULL, window_ms INTEGER NOT NULL, runtime_ms INTEGER NOT NULL DEFAULT 0, " \
    "cost_micro INTEGER NOT NULL DEFAULT 0, updated_ms INTEGER NOT NULL, PRIMARY KEY (tenant)) WITHOUT ROWID"

#define DECIDED_FIRST \
    "CREATE TABLE maestro_schedule_overrides (tenant TEXT NOT NULL, workflow_id TEXT NOT NULL, trigger_no INTEGER NOT NULL DEFAULT 0, " \
    "due_ms INTEGER NOT NULL, held_by TEXT NOT NULL, reason TEXT NOT NULL, created_ms INTEGER NOT NULL, created_by TEXT NOT NULL, " \
    "PRIMARY KEY (tenant, workflow_id, trigger_no, due_ms)) WITHOUT ROWID;" \
    "CREATE TABLE maestro_policy_reviews (tenant TEXT NOT NULL, policy TEXT NOT NULL, digest TEXT NOT NULL, reviewer TEXT NOT NULL, " \
    "verdict TEXT NOT NULL, comment TEXT, created_ms INTEGER NOT NULL, created_by TEXT NOT NULL, " \
    "PRIMARY KEY (tenant, policy, digest, reviewer)) WITHOUT ROWID"

#define REMOVALS_FIRST \
    "CREATE TABLE IF NOT EXISTS maestro_removed_revisions (tenant TEXT NOT NULL, workflow_id TEXT NOT NULL, version INTEGER NOT NULL DEFAULT 0, " \
    "PRIMARY KEY (tenant, workflow_id)) WITHOUT ROWID"

/* A column among others needs the table anew: behind the large ones it would lie at the end of thousands of pages. What it holds follows
 * from the plan, which is canonical, and so is a part of it; of a plan that is not there or damaged there is nothing to read, and verify
 * tells that. */
#define REVISION_TIME(stem) \
    stem "_at TEXT GENERATED ALWAYS AS (iif(" stem "_ms IS NULL, NULL, strftime('%Y-%m-%dT%H:%M:%S', " stem "_ms / 1000, 'unixepoch') || " \
    "printf('.%03dZ', " stem "_ms % 1000))) VIRTUAL"
#define REVISION_TRIGGERS \
    "ALTER TABLE maestro_revisions RENAME TO maestro_revisions_before;" \
    "CREATE TABLE maestro_revisions (tenant TEXT NOT NULL, workflow_id TEXT NOT NULL, version INTEGER NOT NULL, label TEXT, " \
    "digest BLOB NOT NULL, active INTEGER NOT NULL DEFAULT 0, name TEXT NOT NULL, description TEXT, " \
    "triggers TEXT NOT NULL CHECK (triggers IS NULL OR json_valid(triggers)), " \
    "parameters TEXT NOT NULL CHECK (parameters IS NULL OR json_valid(parameters)), " \
    "steps TEXT NOT NULL CHECK (steps IS NULL OR json_valid(steps)), text TEXT NOT NULL, " \
    "created_ms INTEGER NOT NULL, " REVISION_TIME("created") ", updated_ms INTEGER NOT NULL, " REVISION_TIME("updated") ", " \
    "PRIMARY KEY (tenant, workflow_id, version));" \
    "INSERT INTO maestro_revisions (tenant, workflow_id, version, label, digest, active, name, description, triggers, parameters, steps, " \
    "text, created_ms, updated_ms) SELECT tenant, workflow_id, version, label, digest, active, name, description, coalesce((SELECT " \
    "iif(json_valid(document) AND json_type(document, '$.triggers') = 'array', json_extract(document, '$.triggers'), NULL) FROM maestro_plans AS plan WHERE plan.digest = it.digest), '[]'), " \
    "parameters, steps, text, created_ms, updated_ms FROM maestro_revisions_before AS it ORDER BY it.rowid;" \
    "DROP TABLE maestro_revisions_before;" \
    "CREATE UNIQUE INDEX idx_revisions_label ON maestro_revisions (tenant, workflow_id, label) WHERE label IS NOT NULL"

/* What leads from one version to the next. The first is made of tables.def and has no text. */
static const Migration migrations_known[] = {
    { 1, "" },
    { 2, "ALTER TABLE maestro_workflows ADD COLUMN archived_to TEXT;"
         "CREATE INDEX IF NOT EXISTS idx_ledger_log ON maestro_ledger (run_no) WHERE run_no IS NULL" },
    { 3, POLLS_AGAIN ";" SECRETS_FIRST },
    { 4, SKIP_REASONS_RENAMED },        /* triggers are made anew with it: a run may go on with another revision */
    { 5, TENANT_USE_FIRST ";" REMOVALS_FIRST },
    { 6, SERVER_TABLES },
    { 7, DECIDED_FIRST },
    { 8, REVISION_TRIGGERS },
};

const Migration *schema_migrations(uint32_t *out_count)
{
    *out_count = sizeof migrations_known / sizeof migrations_known[0];
    return migrations_known;
}

Status schema_version(Connection *connection, int64_t *out_version, Error *err)
{
    int64_t is_ours = 0, table_count = 0;
    Status status = connection_int(connection, "SELECT count(*) FROM sqlite_schema WHERE name = 'maestro_schema'", 0, &is_ours, err);
    if (status) return status;
    if (is_ours) return connection_int(connection, "SELECT max(version) FROM maestro_schema", 0, out_version, err);
    status = connection_int(connection, "SELECT count(*) FROM sqlite_schema", 0, &table_count, err);
    if (status) return status;
    if (table_count)
        return error_set(err, ERR_INVALID, "%s: it is a database of another program", connection->path);
    *out_version = 0;
    return OK;
}

/* --- making -------------------------------------------------------------------------------------------------------- */

static Status run_generated(Connection *connection, Buf *buf, Error *err)
{
    buf_char(buf, 0);
    CHECK(!buf_overflowed(buf));
    Status status = connection_run(connection, buf->ptr, err);
    buf_clear(buf);
    return status;
}

static Status make_tables(Connection *connection, Error *err)
{
    Buf buf;
    buf_init(&buf, SQL_TEXT_SIZE_MAX);
    Status status = OK;
    for (uint32_t i = 0; i < TABLE_COUNT && !status; i++) {
        sql_create_table(&buf, SQL_SQLITE, (Table)i);
        status = run_generated(connection, &buf, err);
    }
    for (uint32_t i = 0; i < index_count && !status; i++) {
        sql_create_index(&buf, &index_infos[i]);
        status = run_generated(connection, &buf, err);
    }
    buf_deinit(&buf);
    return status;
}

/* Every trigger and view. */
static Status drop_views(Connection *connection, Error *err)
{
    for (;;) {
        sqlite3_stmt *statement;
        Status status = connection_prepare(connection,
            "SELECT 'DROP ' || type || ' ' || name FROM sqlite_schema WHERE type IN ('trigger', 'view') LIMIT 1",
            &statement, err);
        if (status) return status;
        char sql[256] = "";
        int code = sqlite3_step(statement);
        if (code == SQLITE_ROW) snprintf(sql, sizeof sql, "%s", (const char *)sqlite3_column_text(statement, 0));
        sqlite3_finalize(statement);
        if (code == SQLITE_DONE) return OK;
        if (code != SQLITE_ROW) return connection_error(connection, code, err);
        status = connection_run(connection, sql, err);
        if (status) return status;
    }
}

static Status note_version(Connection *connection, int64_t version, int64_t now_ms, Error *err)
{
    char sql[256];
    snprintf(sql, sizeof sql, "INSERT INTO maestro_schema (version, applied_ms) VALUES (%" PRId64 ", %" PRId64 ")", version, now_ms);
    return connection_run(connection, sql, err);
}

static Status make(Connection *connection, int64_t version, int64_t now_ms, Error *err)
{
    char sql[256];
    snprintf(sql, sizeof sql, "PRAGMA application_id = %d;"
             "CREATE TABLE maestro_schema (version INTEGER PRIMARY KEY NOT NULL, applied_ms INTEGER NOT NULL)", APPLICATION_ID);
    Status status = connection_run(connection, sql, err);
    if (!status) status = make_tables(connection, err);
    if (!status) status = connection_run(connection, views_sql, err);
    return status ? status : note_version(connection, version, now_ms, err);
}

/* Views and triggers are those of today: they stand on the tables of the last version. Those of the file stand on tables that change. */
static Status migrate(Connection *connection, const Migration *migration, bool is_last, int64_t now_ms, Error *err)
{
    Status status = drop_views(connection, err);
    if (!status) status = connection_run(connection, migration->sql, err);
    if (!status && is_last) status = connection_run(connection, views_sql, err);
    if (!status) status = note_version(connection, migration->version, now_ms, err);
    if (status) error_prefix(err, "upgrade to version %" PRId64 " of the tables: ", migration->version);
    return status;
}

Status schema_refuse_newer(const char *path, int64_t version, int64_t known, Error *err)
{
    return error_set(err, ERR_UNAVAILABLE, "%s: it was written by a newer maestro (version %" PRId64 " of the tables, this one knows %" PRId64
                     "); nothing was changed", path, version, known);
}

Status schema_upgrade(Connection *connection, const Migration *migrations, uint32_t count, int64_t now_ms, Error *err)
{
    int64_t current = migrations[count - 1].version;
    for (;;) {
        int64_t version;
        Status status = schema_version(connection, &version, err);
        if (status) return status;
        if (version == current) return OK;
        if (version > current) return schema_refuse_newer(connection->path, version, current, err);
        status = connection_run(connection, "BEGIN IMMEDIATE", err);
        if (status) return status;
        if (!version) status = make(connection, current, now_ms, err);
        else status = migrate(connection, &migrations[version], version + 1 == current, now_ms, err);   /* they count from 1 */
        if (!status) status = connection_run(connection, "COMMIT", err);
        if (status) {
            connection_roll_back(connection);
            return status;
        }
    }
}
