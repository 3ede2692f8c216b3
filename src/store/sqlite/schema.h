/* schema.h - the tables of a SQLite file: made once, upgraded forward, never back.
 *
 * The table maestro_schema has a row for each version that a file has reached. A new file is made at the current one from
 * view/tables.def; an older one passes through the migrations between, each in a transaction of its own; a newer one is
 * refused. Triggers and views are dropped before an upgrade and made anew behind its last step.
 *
 * Fails:  ERR_UNAVAILABLE for a file of a newer maestro, ERR_INVALID for another program's.
 * Thread: whoever holds the file's lock.
 */
#ifndef STORE_SQLITE_SCHEMA_H
#define STORE_SQLITE_SCHEMA_H

#include "store/sqlite/connection.h"

#define SCHEMA_VERSION 8

typedef struct Migration { int64_t version; const char *sql; } Migration;       /* to that version, from the one before */

/* 0 for a file without tables. */
MUST_USE Status schema_version(Connection *connection, int64_t *out_version, Error *err);
/* Makes or upgrades the tables. `migrations` are in order and end with the current version. */
MUST_USE Status schema_upgrade(Connection *connection, const Migration *migrations, uint32_t count, int64_t now_ms, Error *err);
/* Of a version that is ahead of the last migration. */
MUST_USE Status schema_refuse_newer(const char *path, int64_t version, int64_t known, Error *err);
const Migration *schema_migrations(uint32_t *out_count);

#endif
