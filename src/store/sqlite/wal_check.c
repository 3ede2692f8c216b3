#include "store/sqlite/wal_check.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/limits.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/lock.h"

#define WAL_HEADER_SIZE 32

typedef struct Hashes {
    int64_t end;                        /* of the log */
    Digest first, last;                 /* of the first row, and of that at `last_position` */
    bool has_first, has_last;
} Hashes;

static bool take_end(void *context, const Cell *cells, uint32_t count)
{
    (void)count;
    *(int64_t *)context = cells[LOG_HEADS_position].integer;
    return false;
}

typedef struct HashVisit { Digest *hash; bool *is_there; } HashVisit;

static bool take_hash(void *context, const Cell *cells, uint32_t count)
{
    const HashVisit *visit = context;
    (void)count;
    *visit->is_there = cells[LEDGER_hash].kind == CELL_BLOB && cells[LEDGER_hash].text.len == sizeof *visit->hash;
    if (*visit->is_there) memcpy(visit->hash, cells[LEDGER_hash].text.ptr, sizeof *visit->hash);
    return false;
}

/* What the file says, read in that way; of the end the position is 0 where it is to be its own. */
static Status read_hashes(const char *path, ConnectionRole role, int64_t last_position, Hashes *out, Error *err)
{
    Connection connection;
    *out = (Hashes){ 0 };
    Status status = connection_open(&connection, path, role, err);
    if (status) return status;
    QueryAsk ask = { .query = QUERY_LOG_HEAD, .params = { cell_int(1) }, .param_count = 1 };
    status = connection_query(&connection, &ask, take_end, &out->end, err);
    HashVisit first = { &out->first, &out->has_first }, last = { &out->last, &out->has_last };
    ask = (QueryAsk){ .query = QUERY_RECORD_HASHES, .params = { cell_int(1) }, .param_count = 1, .row_count_max = 1 };
    if (!status) status = connection_query(&connection, &ask, take_hash, &first, err);
    ask.params[0] = cell_int(last_position ? last_position : out->end);
    if (!status) status = connection_query(&connection, &ask, take_hash, &last, err);
    connection_close(&connection);
    return status;
}

static bool is_same(const Hashes *alone, const Hashes *through)
{
    bool is_first_same = through->has_first && memcmp(&alone->first, &through->first, sizeof alone->first) == 0;
    bool is_last_same = through->has_last && memcmp(&alone->last, &through->last, sizeof alone->last) == 0;
    return (is_first_same || !alone->has_first) && (is_last_same || !alone->has_last) && through->end >= alone->end;
}

Status wal_check(const char *path, Error *err)
{
    char wal[STORE_PATH_SIZE_MAX + 16];
    struct stat info;
    Hashes alone, through;
    Error why;
    snprintf(wal, sizeof wal, "%s-wal", path);
    if (stat(wal, &info) || info.st_size <= WAL_HEADER_SIZE || lock_is_held(path)) return OK;
    if (read_hashes(path, CONNECTION_READS_FILE, 0, &alone, &why) || !alone.end) return OK;
    Status status = read_hashes(path, CONNECTION_READS, alone.end, &through, &why);
    if (status && status != ERR_CORRUPT) return OK;             /* whoever opens it is told */
    if (!status && is_same(&alone, &through)) return OK;
    return error_set(err, ERR_CORRUPT, "%s: %s is the log of another store, or damaged; nothing was written. Put its own in its place, "
                     "or move it away: the store is then as it was when its log was last written back", path, wal);
}
