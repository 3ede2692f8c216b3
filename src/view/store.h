/* store.h - the port to durable storage: append to a log, change rows, read by named queries.
 *
 * A batch carries records of one log and the row changes that follow from them, and becomes durable as a whole, in order.
 * Submitting does not block; completions are collected by store_poll(). Reads are named queries with parameters and a
 * cursor (queries.def), answered from a committed snapshot. What many machines need is here from the start: a log has one
 * owner with an epoch, and every commit checks it. SQLite has one log, number 1.
 *
 * An adapter implements StoreOps; main.c alone knows which one there is.
 *
 * Functions are called through the table: store->ops->submit(store, batch); store_submit() and its siblings below do that.
 *
 * Owns:   store_submit() takes the batch until its completion returns it. Rows given to a RowVisit live until it returns.
 * Fails:  a commit completes as STORE_FENCED (another owner), STORE_REFUSED (nothing was written: disk full, read-only,
 *         damaged), STORE_UNKNOWN (it may or may not be there: read the tail again); reads fail with ERR_UNAVAILABLE or
 *         ERR_CORRUPT.
 * Bounds: STORE_BATCH_COUNT_MAX commits and STORE_READ_COUNT_MAX reads in flight: submit and read beyond that answer false.
 *         A read ends within STORE_READ_MS_MAX (ERR_LIMIT); longer lists are paged by cursor.
 * Thread: own, submit, read and poll: the engine's thread. select, check and backup: any thread, each at a time.
 */
#ifndef VIEW_STORE_H
#define VIEW_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/histogram.h"
#include "base/limits.h"
#include "base/status.h"
#include "base/str.h"
#include "value/canonical.h"
#include "view/tables.h"

/* --- cells and rows ------------------------------------------------------------------------------------------------ */

typedef enum CellKind { CELL_NULL, CELL_INT, CELL_TEXT, CELL_BLOB } CellKind;

typedef struct Cell {
    uint8_t kind;                   /* a CellKind */
    union { int64_t integer; Str text; };
} Cell;

static inline Cell cell_null(void) { return (Cell){ .kind = CELL_NULL }; }
static inline Cell cell_int(int64_t integer) { return (Cell){ .kind = CELL_INT, .integer = integer }; }
static inline Cell cell_text(Str text) { return (Cell){ .kind = CELL_TEXT, .text = text }; }
static inline Cell cell_blob(Str bytes) { return (Cell){ .kind = CELL_BLOB, .text = bytes }; }

typedef enum RowOp {
    ROW_INSERT,                     /* a new row; columns that are not given are null, counters and flags 0 */
    ROW_UPDATE,                     /* the columns of `mask`, of the row with this key; no such row: refused */
    ROW_PUT,                        /* inserts, or replaces the columns of `mask` where the key exists */
    ROW_DELETE,                     /* the row with this key; none: nothing happens */
    ROW_OP_COUNT
} RowOp;

/* A change of one row: cells[RUNS_state] is that column's cell. Those of the key are always given; of the others those in
 * `mask`, and no more are looked at. */
typedef struct RowChange {
    uint8_t table, op;
    uint64_t mask;                  /* bit n: column n is given; the bits of the key do not matter */
    const Cell *cells;              /* by column: as many as the table has, or as the highest bit of `mask` needs */
} RowChange;

/* --- batches ------------------------------------------------------------------------------------------------------- */

typedef struct BatchRecord {
    uint64_t position;
    uint64_t run_no;                /* 0: of the log itself */
    uint64_t prev_position;         /* of the run's record before this one; 0: its first. Walks back through a run. */
    uint64_t first_event;
    uint32_t event_count;
    Digest hash;                    /* of ledger/chain.h */
    Str record, payload;            /* payload may be empty: stored as NULL */
} BatchRecord;

typedef struct Batch {
    uint64_t log, epoch;
    uint64_t first_position;        /* records follow without a gap */
    Digest head_before, head_after; /* of the log's chain */
    uint64_t next_run_no, next_step_run_no;     /* after it */
    int64_t now_ms;
    const BatchRecord *records;
    const RowChange *changes;
    uint32_t record_count, change_count;
    Arena arena;                    /* holds all of it; reset by its owner when the batch comes back */
    void *context;                  /* the submitter's */
} Batch;

typedef enum CommitOutcome { STORE_DURABLE, STORE_FENCED, STORE_REFUSED, STORE_UNKNOWN } CommitOutcome;

/* --- queries ------------------------------------------------------------------------------------------------------- */

typedef enum Query {
#define QUERY(NAME, table, kind, columns, where, order, row_count) QUERY_##NAME,
#include "view/queries.def"
    QUERY_COUNT
} Query;

typedef struct QueryAsk {
    Query query;
    Cell params[QUERY_PARAM_COUNT_MAX];
    uint32_t param_count;
    uint32_t row_count_max;         /* 0: the query's own default */
} QueryAsk;

/* One row: cells by column of the query's table (those it does not give are null); of a count, its one or two cells. False
 * ends the query. */
typedef bool (*RowVisit)(void *context, const Cell *cells, uint32_t count);

typedef struct ReadAnswer {
    Status status;
    Error error;
    const Cell *cells;              /* row_count times cell_count */
    uint32_t row_count, cell_count;
} ReadAnswer;

/* --- completions --------------------------------------------------------------------------------------------------- */

typedef struct Completion {
    enum { COMPLETION_COMMIT, COMPLETION_READ } kind;
    Batch *batch;                   /* of a commit */
    CommitOutcome outcome;
    Error error;                    /* why, unless durable */
    uint64_t read_id;               /* of a read */
    const ReadAnswer *answer;       /* valid until the next store_poll() */
} Completion;

/* --- the port ------------------------------------------------------------------------------------------------------ */

typedef struct Store Store;

typedef struct LogHead {
    uint64_t log, epoch;
    uint64_t position;              /* of the last record; 0: none */
    Digest head;
    int64_t now_ms;                 /* of the last batch */
    uint64_t next_run_no, next_step_run_no;
} LogHead;

typedef struct StoreOps {
    /* Becomes the owner: raises the epoch and says where the log ends. ERR_CONFLICT where another process is. Called again by
     * the owner it does the same, and that is how one goes on after STORE_UNKNOWN: from there to the next own(), everything
     * submitted is refused. Not while batches are in flight. */
    Status (*own)(Store *store, uint64_t log, LogHead *out_head, Error *err);
    /* A batch that does not begin where the log ends (because the one before it was not written) is refused. */
    bool (*submit)(Store *store, Batch *batch);
    /* The caller lends its thread: from now on what it submits is begun by help(), which it calls after every submit(). A
     * small commit of a caller that has nothing else to do (`is_idle`) is then made by help() itself, so that a lone run pays
     * for no change of threads; every other one by the store's thread, while the caller goes on. True where completions are
     * there. Both are NULL in adapters that have no thread for commits. */
    void (*lend)(Store *store);
    bool (*help)(Store *store, bool is_idle);
    /* Answers later by a completion with the same id. */
    bool (*read)(Store *store, const QueryAsk *ask, uint64_t read_id);
    /* Takes at most one completion; false where there is none. Commits complete in the order of submission. */
    bool (*poll)(Store *store, Completion *out);
    /* A file descriptor that is readable while there are completions; -1 for adapters that complete at once. */
    int (*wake_fd)(Store *store);
    /* Reads at once, on the caller's thread, from a snapshot of its own. */
    Status (*select)(Store *store, const QueryAsk *ask, RowVisit visit, void *context, Error *err);
    /* A store that only selects, for one thread: from the first select() after renew() on all of them read one snapshot, so that what
     * is read together fits together and begins but once. Whoever has it renews it before it waits for anything. It is closed
     * before the store. NULL in adapters that begin a read for nothing. */
    Store *(*snapshot)(Store *store);
    void (*renew)(Store *snapshot);
    /* How long its commits took, in microseconds, since it was opened. NULL in adapters whose commits take no time. */
    void (*commit_times)(Store *store, Histogram *out);
    /* Looks at everything: pages, keys, references. Calls back for each finding. */
    Status (*check)(Store *store, void (*finding)(void *context, Str text), void *context, Error *err);
    Status (*backup)(Store *store, Str path, Error *err);       /* while others go on writing */
    /* Takes away what runs with an `archived_to` still have here: their rows in other tables, the bytes of their records and
     * payloads. The row of the run and the ledger's rows with their hashes stay. In many small commits; what was interrupted
     * goes on with the next call. Says how many runs were finished. By the owner, with nothing in flight. NULL in adapters
     * whose rows do not outlive them. */
    Status (*prune)(Store *store, uint64_t *out_run_count, Error *err);
    void (*close)(Store *store);    /* after what was submitted has completed */
} StoreOps;

struct Store { const StoreOps *ops; };

static inline MUST_USE Status store_own(Store *store, uint64_t log, LogHead *out_head, Error *err)
{
    return store->ops->own(store, log, out_head, err);
}
static inline MUST_USE bool store_submit(Store *store, Batch *batch) { return store->ops->submit(store, batch); }
static inline void store_lend(Store *store)
{
    if (store->ops->lend) store->ops->lend(store);
}
static inline bool store_help(Store *store, bool is_idle) { return store->ops->help && store->ops->help(store, is_idle); }
static inline MUST_USE bool store_read(Store *store, const QueryAsk *ask, uint64_t read_id)
{
    return store->ops->read(store, ask, read_id);
}
static inline bool store_poll(Store *store, Completion *out) { return store->ops->poll(store, out); }
static inline int  store_wake_fd(Store *store) { return store->ops->wake_fd(store); }
static inline MUST_USE Status store_select(Store *store, const QueryAsk *ask, RowVisit visit, void *context, Error *err)
{
    return store->ops->select(store, ask, visit, context, err);
}
/* The store itself where the adapter has no snapshots. */
static inline Store *store_snapshot(Store *store) { return store->ops->snapshot ? store->ops->snapshot(store) : store; }
static inline void store_renew(Store *snapshot)
{
    if (snapshot->ops->renew) snapshot->ops->renew(snapshot);
}
static inline Histogram store_commit_times(Store *store)
{
    Histogram times = { 0 };
    if (store->ops->commit_times) store->ops->commit_times(store, &times);
    return times;
}
static inline MUST_USE Status store_check(Store *store, void (*finding)(void *context, Str text), void *context, Error *err)
{
    return store->ops->check(store, finding, context, err);
}
static inline MUST_USE Status store_backup(Store *store, Str path, Error *err) { return store->ops->backup(store, path, err); }
static inline MUST_USE Status store_prune(Store *store, uint64_t *out_run_count, Error *err)
{
    *out_run_count = 0;
    return store->ops->prune ? store->ops->prune(store, out_run_count, err) : OK;
}
static inline void store_close(Store *store) { store->ops->close(store); }

#endif
