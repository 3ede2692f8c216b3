#include <stdlib.h>

#include "base/check.h"
#include "store/sqlite/store_parts.h"

/* A reading connection of its own, in one transaction from the first question on until it is renewed. Beginning a read costs two locks
 * on the file and, where somebody has committed since, every page that the connection had at hand. */
typedef struct Snapshot {
    Store port;
    SqliteStore *store;
    PooledReader *reader;               /* NULL: nothing was asked yet */
    bool is_begun;
} Snapshot;

static Status begin(Snapshot *snapshot, Error *err)
{
    Status status = snapshot->reader ? OK : pool_take(snapshot->store, &snapshot->reader, err);
    if (status) return status;
    Connection *connection = &snapshot->reader->connection;
    if (!connection->begin) status = connection_prepare(connection, "BEGIN", &connection->begin, err);
    if (!status && !connection->commit) status = connection_prepare(connection, "COMMIT", &connection->commit, err);
    if (status) return status;
    int code = statement_step(connection->begin);
    if (code) return connection_error(connection, code, err);
    snapshot->is_begun = true;
    return OK;
}

static Status snapshot_select(Store *port, const QueryAsk *ask, RowVisit visit, void *context, Error *err)
{
    Snapshot *snapshot = (Snapshot *)port;
    /* A question inside of the same question has the statement in use: it reads elsewhere. */
    if (snapshot->is_begun && connection_is_asking(&snapshot->reader->connection, ask->query))
        return reader_select(snapshot->store, ask, visit, context, err);
    Status status = snapshot->is_begun ? OK : begin(snapshot, err);
    return status ? status : connection_query(&snapshot->reader->connection, ask, visit, context, err);
}

static void snapshot_renew(Store *port)
{
    Snapshot *snapshot = (Snapshot *)port;
    if (!snapshot->is_begun) return;
    if (statement_step(snapshot->reader->connection.commit)) connection_roll_back(&snapshot->reader->connection);
    snapshot->is_begun = false;
}

static void snapshot_commit_times(Store *port, Histogram *out) { *out = store_commit_times(&((Snapshot *)port)->store->port); }

static void snapshot_close(Store *port)
{
    Snapshot *snapshot = (Snapshot *)port;
    snapshot_renew(port);
    if (snapshot->reader) pool_give(snapshot->store, snapshot->reader);
    free(snapshot);
}

static const StoreOps snapshot_ops = {
    .select = snapshot_select, .renew = snapshot_renew, .commit_times = snapshot_commit_times, .close = snapshot_close,
};

Store *snapshot_new(SqliteStore *store)
{
    Snapshot *snapshot = calloc(1, sizeof *snapshot);
    CHECK(snapshot != NULL);
    *snapshot = (Snapshot){ .port = { &snapshot_ops }, .store = store };
    return &snapshot->port;
}
