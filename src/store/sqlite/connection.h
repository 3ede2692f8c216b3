/* connection.h - one connection to a SQLite file, with its prepared statements.
 *
 * Everything that SQLite answers is translated here, once: codes become a Status and a text that names the file and says
 * what to do. A file that someone else has locked for a moment is waited for; SQLITE_BUSY leaves this file only after
 * STORE_BUSY_MS_MAX.
 *
 * Owns:   the connection and its statements, until connection_close().
 * Fails:  see sqlite_store.h.     Bounds: STORE_STATEMENT_COUNT_MAX.     Thread: one at a time.
 */
#ifndef STORE_SQLITE_CONNECTION_H
#define STORE_SQLITE_CONNECTION_H

#include <sqlite3.h>
#include <stdatomic.h>

#include "view/queries.h"

typedef enum ConnectionRole {
    CONNECTION_READS,               /* never writes; where nothing may be written beside the file, as the next */
    CONNECTION_READS_FILE,          /* reads the file alone, which nobody may be writing to */
    CONNECTION_READS_ALONE,         /* reads without the file that readers and owner share, for which a full disk has no room; one
                                     * at a time */
    CONNECTION_WRITES,
    CONNECTION_CREATES,             /* writes, and makes the file where there is none */
} ConnectionRole;

typedef struct ChangeStatement { uint64_t mask; sqlite3_stmt *statement; uint8_t table, op; } ChangeStatement;

typedef struct Connection {
    sqlite3 *db;
    const char *path;
    uint64_t busy_until_ns;         /* a lock of others is waited for until then; 0: no wait has begun */
    uint64_t read_until_ns;         /* the read under way ends then; 0: none, or without end */
    int64_t busy_ms_max;
    sqlite3_stmt *begin, *commit;   /* of one that writes batches or holds a snapshot; else NULL */
    sqlite3_stmt *queries[QUERY_COUNT];
    ChangeStatement *changes;       /* hashed */
    uint32_t change_count;
} Connection;

MUST_USE Status connection_open(Connection *connection, const char *path, ConnectionRole role, Error *err);
void connection_close(Connection *connection);              /* harmless on one that is zero */

MUST_USE Status connection_run(Connection *connection, const char *sql, Error *err);    /* statements without answers */
/* One integer, or `otherwise` where there is no row. */
MUST_USE Status connection_int(Connection *connection, const char *sql, int64_t otherwise, int64_t *out, Error *err);
MUST_USE Status connection_prepare(Connection *connection, const char *sql, sqlite3_stmt **out, Error *err);

int statement_step(sqlite3_stmt *statement);                /* one without an answer; SQLite's code, OK where it is done */
void connection_roll_back(Connection *connection);          /* harmless where no transaction is open */

/* What the last call on this connection said, as a status and a text. */
Status connection_error(const Connection *connection, int code, Error *err);

/* Changes one row. ERR_CONFLICT where the key or a unique index forbids it, or an update finds no row. */
MUST_USE Status connection_change(Connection *connection, const RowChange *change, Error *err);
bool connection_is_asking(const Connection *connection, Query query);      /* it is being answered */
/* Answers a question. ERR_LIMIT beyond STORE_READ_MS_MAX. */
MUST_USE Status connection_query(Connection *connection, const QueryAsk *ask, RowVisit visit, void *context, Error *err);

#endif
