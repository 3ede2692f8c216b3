#include "store/sqlite/connection.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "os/clock.h"
#include "store/sqlite/lock.h"
#include "view/change.h"
#include "view/sql.h"

#define PROGRESS_STEP_COUNT 20000           /* of SQLite's machine between two looks at the clock: about a millisecond */

/* --- errors -------------------------------------------------------------------------------------------------------- */

/* The first row whose code matches, extended ones before their primary code. */
static const struct { int code; Status status; const char *text; } answers[] = {
    { SQLITE_IOERR_WRITE, ERR_UNAVAILABLE, "it cannot be written; is the disk full, or a limit on the size of files reached?" },
    { SQLITE_FULL, ERR_UNAVAILABLE, "the disk is full; free some space and try again" },
    { SQLITE_READONLY_CANTINIT, ERR_DENIED, "its log cannot be read without writing beside it" },
    { SQLITE_READONLY, ERR_DENIED, "it cannot be written: the file or its directory is read-only" },
    { SQLITE_NOTADB, ERR_INVALID, "it is not a SQLite database" },
    { SQLITE_CORRUPT, ERR_CORRUPT, "it is damaged; `maestro store verify` says where; a backup of it is a store that can be used in its place" },
    { SQLITE_CANTOPEN, ERR_DENIED, "it cannot be opened; look at the permissions of the file and its directory" },
    { SQLITE_PERM, ERR_DENIED, "access is denied" },
    { SQLITE_AUTH, ERR_DENIED, "access is denied" },
    { SQLITE_BUSY, ERR_UNAVAILABLE, "another program keeps it locked" },
    { SQLITE_LOCKED, ERR_UNAVAILABLE, "another program keeps it locked" },
    { SQLITE_CONSTRAINT, ERR_CONFLICT, "a rule of the tables forbids it" },
    { SQLITE_INTERRUPT, ERR_LIMIT, "the answer takes longer than STORE_READ_MS_MAX; ask for fewer rows" },
    { SQLITE_TOOBIG, ERR_LIMIT, "a value is too large" },
    { SQLITE_IOERR, ERR_UNAVAILABLE, "it cannot be read or written" },
};

Status connection_error(const Connection *connection, int code, Error *err)
{
    int primary = code & 0xff, system = connection->db ? sqlite3_system_errno(connection->db) : 0;
    const char *detail = connection->db ? sqlite3_errmsg(connection->db) : sqlite3_errstr(code);
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        if (answers[i].code != primary && answers[i].code != code) continue;
        if (primary == SQLITE_IOERR && system)
            return error_set(err, answers[i].status, "%s: %s: %s (%d)", connection->path, answers[i].text, strerror(system), code);
        return error_set(err, answers[i].status, "%s: %s (%s, %d)", connection->path, answers[i].text, detail, code);
    }
    return error_set(err, ERR_UNAVAILABLE, "%s: %s (%d)", connection->path, detail, code);
}

/* --- waiting ------------------------------------------------------------------------------------------------------- */

/* Someone has the file locked: short naps at first, longer ones later. */
static int wait_while_busy(void *context, int count)
{
    Connection *connection = context;
    uint64_t now_ns = clock_monotonic_ns();
    if (!count) connection->busy_until_ns = now_ns + (uint64_t)connection->busy_ms_max * 1000000;
    if (now_ns >= connection->busy_until_ns) return 0;
    struct timespec nap = { 0, count < 10 ? 200000 : count < 100 ? 2000000 : 20000000 };
    nanosleep(&nap, NULL);
    return 1;
}

static int is_out_of_time(void *context)
{
    const Connection *connection = context;
    return connection->read_until_ns && clock_monotonic_ns() > connection->read_until_ns;
}

/* --- opening ------------------------------------------------------------------------------------------------------- */

static const int open_flags[] = {
    /* Not SQLITE_OPEN_READONLY: a reader of a write-ahead log may have to repair its index; query_only forbids the rest. */
    [CONNECTION_READS] = SQLITE_OPEN_READWRITE,
    [CONNECTION_READS_FILE] = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
    [CONNECTION_READS_ALONE] = SQLITE_OPEN_READWRITE,
    [CONNECTION_WRITES] = SQLITE_OPEN_READWRITE,
    [CONNECTION_CREATES] = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
};

/* The name of the file alone, without its log: for files that nobody writes. */
static void print_uri(Buf *buf, const char *path)
{
    buf_text(buf, "file:");
    for (; *path; path++) {
        if (strchr("?#%", *path)) buf_format(buf, "%%%02X", (unsigned char)*path);
        else buf_char(buf, *path);
    }
    buf_text(buf, "?immutable=1");
    buf_char(buf, 0);
}

/* A file may be called ":memory:" or "file:x", which mean something else to SQLite unless a directory stands before them. */
static void print_name(Buf *buf, const char *path)
{
    if (path[0] != '/') buf_text(buf, "./");
    buf_text(buf, path);
    buf_char(buf, 0);
}

static Status open_as(Connection *connection, const char *path, ConnectionRole role, Error *err)
{
    bool is_reader = role == CONNECTION_READS || role == CONNECTION_READS_FILE || role == CONNECTION_READS_ALONE;
    char storage[STORE_PATH_SIZE_MAX * 3 + 64];
    Buf name = buf_on(storage, sizeof storage);
    if (role == CONNECTION_READS_FILE) print_uri(&name, path);
    else print_name(&name, path);
    CHECK(!buf_overflowed(&name));
    *connection = (Connection){ .path = path, .busy_ms_max = STORE_BUSY_MS_MAX };
    int code = sqlite3_open_v2(storage, &connection->db,
                               open_flags[role] | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    if (code) {
        Status status = connection_error(connection, code, err);
        connection_close(connection);
        return status;
    }
    connection->changes = calloc(STORE_STATEMENT_COUNT_MAX * 2, sizeof *connection->changes);
    CHECK(connection->changes != NULL);
    sqlite3_busy_handler(connection->db, wait_while_busy, connection);
    sqlite3_progress_handler(connection->db, PROGRESS_STEP_COUNT, is_out_of_time, connection);
    sqlite3_db_config(connection->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);          /* nobody writes pages by hand */
    /* Our own changes are held against the same rules by view/change.h; a trigger a row would cost a tenth of all. */
    sqlite3_db_config(connection->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(connection->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, is_reader, NULL);

    char pragmas[320];
    Buf buf = buf_on(pragmas, sizeof pragmas - 1);
    if (role == CONNECTION_READS_ALONE) buf_text(&buf, "PRAGMA locking_mode = EXCLUSIVE;");
    if (role == CONNECTION_CREATES) buf_text(&buf, "PRAGMA page_size = 4096; PRAGMA journal_mode = WAL;");
    buf_format(&buf, "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA temp_store = MEMORY;"
               "PRAGMA cache_size = -%u; PRAGMA query_only = %d", STORE_CACHE_SIZE / 1024 / (is_reader ? 8 : 1),
               is_reader);
    /* What stands in the way shows with the first read. */
    if (is_reader) buf_text(&buf, "; SELECT 1 FROM sqlite_schema LIMIT 1");
    CHECK(!buf_overflowed(&buf));
    pragmas[buf.len] = 0;
    Status status = connection_run(connection, pragmas, err);
    if (status) connection_close(connection);
    return status;
}

static bool has_log(const char *path)
{
    char name[STORE_PATH_SIZE_MAX + 16];
    struct stat info;
    snprintf(name, sizeof name, "%s-wal", path);
    return stat(name, &info) == 0 && info.st_size > 0;
}

/* Where the log of a file cannot be opened because nothing may be written beside it: without one, and without an owner, the file
 * is all there is, and does not change. */
static Status open_unwritable(Connection *connection, const char *path, bool is_full, Error *err)
{
    if (has_log(path) && is_full)
        return open_as(connection, path, CONNECTION_READS_ALONE, err);
    if (has_log(path))
        return error_set(err, ERR_DENIED, "%s: what was committed last lies in %s-wal, and reading that needs to write "
                         "beside it; copy both into a directory that can be written, or make this one writable", path, path);
    if (lock_is_held(path))
        return error_set(err, ERR_DENIED, "%s: a process is using it, and reading it meanwhile needs to write beside it; "
                         "make its directory writable", path);
    return open_as(connection, path, CONNECTION_READS_FILE, err);
}

Status connection_open(Connection *connection, const char *path, ConnectionRole role, Error *err)
{
    Error why = { 0 };
    Status status = open_as(connection, path, role, &why);
    bool is_unwritable = status == ERR_DENIED && role == CONNECTION_READS && access(path, R_OK) == 0;
    if (is_unwritable) return open_unwritable(connection, path, /* is_full= */ false, err);
    if (status == ERR_UNAVAILABLE && role == CONNECTION_READS && !lock_is_held(path)
        && !open_unwritable(connection, path, /* is_full= */ true, NULL))
        return OK;
    if (status && err) *err = why;
    return status;
}

static void forget_changes(Connection *connection)
{
    for (uint32_t i = 0; connection->changes && i < STORE_STATEMENT_COUNT_MAX * 2; i++) {
        sqlite3_finalize(connection->changes[i].statement);
        connection->changes[i] = (ChangeStatement){ 0 };
    }
    connection->change_count = 0;
}

void connection_close(Connection *connection)
{
    sqlite3_finalize(connection->begin);
    sqlite3_finalize(connection->commit);
    for (uint32_t i = 0; i < QUERY_COUNT; i++) sqlite3_finalize(connection->queries[i]);
    forget_changes(connection);
    free(connection->changes);
    sqlite3_close(connection->db);
    *connection = (Connection){ .path = connection->path };
}

/* --- statements ---------------------------------------------------------------------------------------------------- */

Status connection_run(Connection *connection, const char *sql, Error *err)
{
    int code = sqlite3_exec(connection->db, sql, NULL, NULL, NULL);
    return code ? connection_error(connection, code, err) : OK;
}

int statement_step(sqlite3_stmt *statement)
{
    int code = sqlite3_step(statement);
    sqlite3_reset(statement);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

void connection_roll_back(Connection *connection)
{
    /* An error here changes nothing: whoever opens the file next finds the transaction undone. */
    if (connection->db && !sqlite3_get_autocommit(connection->db)) sqlite3_exec(connection->db, "ROLLBACK", NULL, NULL, NULL);
}

Status connection_prepare(Connection *connection, const char *sql, sqlite3_stmt **out, Error *err)
{
    int code = sqlite3_prepare_v3(connection->db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL);
    return code ? connection_error(connection, code, err) : OK;
}

Status connection_int(Connection *connection, const char *sql, int64_t otherwise, int64_t *out, Error *err)
{
    sqlite3_stmt *statement;
    Status status = connection_prepare(connection, sql, &statement, err);
    if (status) return status;
    int code = sqlite3_step(statement);
    if (code == SQLITE_ROW) *out = sqlite3_column_int64(statement, 0);
    else if (code == SQLITE_DONE) *out = otherwise;
    else status = connection_error(connection, code, err);
    sqlite3_finalize(statement);
    return status;
}

static Status prepare_generated(Connection *connection, Buf *buf, sqlite3_stmt **out, Error *err)
{
    buf_char(buf, 0);
    CHECK(!buf_overflowed(buf));
    return connection_prepare(connection, buf->ptr, out, err);
}

/* SQLite's code: a value that is too large is refused, and must not become null. */
static int bind(sqlite3_stmt *statement, int param, Cell cell)
{
    switch ((CellKind)cell.kind) {
    case CELL_NULL: break;
    case CELL_INT: return sqlite3_bind_int64(statement, param, cell.integer);
    case CELL_TEXT:
        return sqlite3_bind_text64(statement, param, cell.text.len ? cell.text.ptr : "", cell.text.len, SQLITE_STATIC,
                                   SQLITE_UTF8);
    case CELL_BLOB:
        return sqlite3_bind_blob64(statement, param, cell.text.len ? cell.text.ptr : "", cell.text.len, SQLITE_STATIC);
    }
    return sqlite3_bind_null(statement, param);
}

/* --- changes ------------------------------------------------------------------------------------------------------- */

static Status change_statement(Connection *connection, const RowChange *change, uint64_t mask, sqlite3_stmt **out, Error *err)
{
    uint64_t hash = (mask * 31 + change->table * 4u + change->op) * UINT64_C(0x9E3779B97F4A7C15);
    uint32_t at = (uint32_t)(hash >> 40) % (STORE_STATEMENT_COUNT_MAX * 2);
    ChangeStatement *slot;
    for (;; at = (at + 1) % (STORE_STATEMENT_COUNT_MAX * 2)) {
        slot = &connection->changes[at];
        if (!slot->statement) break;
        if (slot->mask == mask && slot->table == change->table && slot->op == change->op) {
            *out = slot->statement;
            return OK;
        }
    }
    if (connection->change_count == STORE_STATEMENT_COUNT_MAX) {
        forget_changes(connection);
        return change_statement(connection, change, mask, out, err);
    }
    char text[8192];
    Buf buf = buf_on(text, sizeof text);
    sql_change(&buf, SQL_SQLITE, change->table, change->op, mask);
    sqlite3_stmt *statement;
    Status status = prepare_generated(connection, &buf, &statement, err);
    if (status) return status;
    *slot = (ChangeStatement){ mask, statement, change->table, change->op };
    connection->change_count++;
    *out = statement;
    return OK;
}

Status connection_change(Connection *connection, const RowChange *change, Error *err)
{
    const TableInfo *info = table_info(change->table);
    uint64_t key_mask = table_key_mask(info);
    uint64_t mask = change->op == ROW_DELETE ? key_mask : (change->mask & table_mask(info)) | key_mask;
    sqlite3_stmt *statement;
    Status status = change_check(change, err);
    if (!status) status = change_statement(connection, change, mask, &statement, err);
    if (status) return status;
    int param = 1, code = SQLITE_OK;
    for (uint64_t left = mask; left && !code; left &= left - 1) code = bind(statement, param++, change->cells[__builtin_ctzll(left)]);
    if (!code) code = sqlite3_step(statement);
    if (code != SQLITE_DONE) status = connection_error(connection, code, err);
    sqlite3_reset(statement);
    if (status) {
        error_prefix(err, "%s: ", info->name);
    } else if ((change->op == ROW_UPDATE || change_needs_open(change->table, change->op, mask))
               && !sqlite3_changes(connection->db)) {
        status = error_set(err, ERR_CONFLICT, "%s: %s has no row with this key that may be changed so", connection->path, info->name);
    }
    return status;
}

/* --- questions ----------------------------------------------------------------------------------------------------- */

static Cell column_cell(sqlite3_stmt *statement, int column)
{
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER: return cell_int(sqlite3_column_int64(statement, column));
    case SQLITE_TEXT: {
        const char *text = (const char *)sqlite3_column_text(statement, column);
        return cell_text((Str){ text, (size_t)sqlite3_column_bytes(statement, column) });
    }
    case SQLITE_BLOB: {
        const char *bytes = sqlite3_column_blob(statement, column);
        return cell_blob((Str){ bytes, (size_t)sqlite3_column_bytes(statement, column) });
    }
    default: return cell_null();
    }
}

static uint32_t row_cells(sqlite3_stmt *statement, const QueryInfo *query, Cell *cells)
{
    uint32_t count = query_cell_count(query);
    uint64_t mask = query->kind == QUERY_ROWS || query->kind == QUERY_WALK ? query->columns : UINT64_MAX;
    int column = 0;
    for (uint32_t i = 0; i < count; i++)
        cells[i] = mask & COLUMN_BIT(i) ? column_cell(statement, column++) : cell_null();
    return count;
}

static Status query_statement(Connection *connection, Query query, sqlite3_stmt **out, Error *err)
{
    if (!connection->queries[query]) {
        char text[8192];
        Buf buf = buf_on(text, sizeof text);
        sql_query(&buf, SQL_SQLITE, query);
        Status status = prepare_generated(connection, &buf, &connection->queries[query], err);
        if (status) return status;
    }
    *out = connection->queries[query];
    return OK;
}

Status connection_query(Connection *connection, const QueryAsk *ask, RowVisit visit, void *context, Error *err)
{
    const QueryInfo *query = query_info(ask->query);
    CHECK(ask->param_count == query_param_count(query));
    sqlite3_stmt *statement;
    Status status = query_statement(connection, ask->query, &statement, err);
    if (status) return status;

    int bound = SQLITE_OK;
    for (uint32_t i = 0; i < ask->param_count && !bound; i++) bound = bind(statement, (int)i + 1, ask->params[i]);
    uint32_t row_count = ask->row_count_max ? ask->row_count_max : query->row_count;
    if (!bound) bound = bind(statement, (int)ask->param_count + 1, cell_int(row_count));
    if (bound) return connection_error(connection, bound, err);
    uint64_t until_ns = connection->read_until_ns;          /* of the question that this one is inside of */
    connection->read_until_ns = clock_monotonic_ns() + (uint64_t)STORE_READ_MS_MAX * 1000000;
    for (;;) {
        int code = sqlite3_step(statement);
        if (code == SQLITE_DONE) break;
        if (code == SQLITE_ROW && is_out_of_time(connection)) code = SQLITE_INTERRUPT;
        if (code != SQLITE_ROW) {
            status = connection_error(connection, code, err);
            break;
        }
        Cell cells[COLUMN_COUNT_MAX];
        uint32_t count = row_cells(statement, query, cells);
        if (!visit(context, cells, count)) break;
    }
    connection->read_until_ns = until_ns;
    sqlite3_reset(statement);               /* ends the snapshot, too, outside of a transaction */
    return status;
}

bool connection_is_asking(const Connection *connection, Query query)
{
    return connection->queries[query] && sqlite3_stmt_busy(connection->queries[query]);
}
