/* store_parts.h - what the files of this adapter share: the store and its threads.
 *
 *   the engine's thread   submit ──► waiting ──► writer thread ──► done ──► poll       small commits: its own thread, by help
 *                         read   ──► asked   ──► reader thread ──► answered ──► poll
 *   any thread            select ──► a connection of the pool
 *
 * One mutex guards the rings and lists; no thread holds it while it talks to SQLite. Batches complete in the order of their
 * submission because one thread at a time writes them in that order.
 */
#ifndef STORE_SQLITE_STORE_PARTS_H
#define STORE_SQLITE_STORE_PARTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "os/thread.h"
#include "os/wake.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/lock.h"

typedef struct DoneBatch { Batch *batch; CommitOutcome outcome; Error error; } DoneBatch;

typedef struct ReadJob {
    struct ReadJob *next;
    QueryAsk ask;
    uint64_t id;
    Arena arena;                        /* parameters, then the answer */
    ReadAnswer answer;
} ReadJob;

typedef struct ReadList { ReadJob *first, *last; uint32_t count; } ReadList;

typedef struct BackupJob {
    const char *path;
    char part[STORE_PATH_SIZE_MAX + 8];
    Connection target;
    sqlite3_backup *backup;
    Status status;
    Error error;
    bool is_done;
} BackupJob;

/* A connection that some thread reads by, or that waits for one. */
typedef struct PooledReader { struct PooledReader *next; Connection connection; } PooledReader;

typedef struct SqliteStore {
    Store port;
    char path[STORE_PATH_SIZE_MAX + 1];
    Lock lock;
    Wake wake;
    pthread_mutex_t mutex;
    bool is_closing, is_owner;
    uint64_t epoch;                     /* that own() raised last */
    /* --- commits --- */
    pthread_cond_t writer_has_work, writer_is_idle;
    bool is_writing;                    /* the writer's connection is in use by its thread ... */
    bool is_helped;                     /* ... or by the one that submits */
    bool is_lent;                       /* commits are begun by help() */
    Thread writer_thread;
    Connection writer;                  /* of the writer thread; of own() while nothing is in flight */
    Batch *waiting[STORE_BATCH_COUNT_MAX];
    DoneBatch done[STORE_BATCH_COUNT_MAX];
    uint32_t waiting_first, waiting_count, done_first, done_count;
    uint32_t flight_count;              /* waiting, being written, or done and not yet polled */
    bool is_lost;                       /* an outcome was unknown: everything is refused until own() */
    bool is_full;                       /* the last commit could not be written; of who writes commits */
    Histogram commit_times;             /* in microseconds */
    BackupJob *backup;                  /* wanted or under way, by the writer */
    /* --- reads --- */
    pthread_cond_t reader_has_work, pool_has_room;
    Thread reader_thread;
    ReadList asked, answered;
    uint32_t read_count;                /* asked, under way, or answered and not yet polled */
    ReadJob *given;                     /* the answer that the last poll gave */
    PooledReader *pool;                 /* free ones */
    uint32_t pool_count;                /* all of them */
    /* --- checkpoints --- */
    pthread_cond_t upkeep_has_work;
    Thread upkeep_thread;
    pthread_mutex_t checkpoint_turn;    /* held while pages go back: SQLite refuses a second one, and does not let it wait */
    atomic_uint wal_page_count;         /* after the last commit */
    bool is_upkeep_wanted;
    atomic_bool is_finish_wanted;       /* most pages are back: the writer does the rest between two commits */
} SqliteStore;

/* writer.c */
void writer_run(void *store);           /* of the thread */
bool writer_help(SqliteStore *store, bool is_idle);                 /* on the thread that submits */
MUST_USE Status writer_open(SqliteStore *store, Error *err);        /* opens its connection, anew where it was open */
MUST_USE Status writer_own(SqliteStore *store, uint64_t log, LogHead *out_head, Error *err);

/* reader.c */
void reader_run(void *store);           /* of the thread */
MUST_USE Status reader_select(SqliteStore *store, const QueryAsk *ask, RowVisit visit, void *context, Error *err);
ReadJob *read_job_new(const QueryAsk *ask, uint64_t id);
void read_job_free(ReadJob *job);       /* NULL is permitted */
void read_list_add(ReadList *list, ReadJob *job);
ReadJob *read_list_take(ReadList *list);
MUST_USE Status pool_take(SqliteStore *store, PooledReader **out_reader, Error *err);
void pool_give(SqliteStore *store, PooledReader *reader);
void pool_close(SqliteStore *store);

/* snapshot.c */
Store *snapshot_new(SqliteStore *store);

/* upkeep.c */
void upkeep_run(void *store);           /* of the thread */
size_t wal_size(const SqliteStore *store);                          /* of the write-ahead log after the last commit */
/* By whoever commits: pages go back from the size that is usual at this load on. */
void upkeep_after_commit(SqliteStore *store, size_t size_usual);
void upkeep_backup_step(SqliteStore *store, BackupJob *job);        /* on the writer's thread */
MUST_USE Status upkeep_backup(SqliteStore *store, Str path, Error *err);
MUST_USE Status upkeep_check(SqliteStore *store, void (*finding)(void *context, Str text), void *context, Error *err);

/* prune.c */
MUST_USE Status prune(SqliteStore *store, uint64_t *out_run_count, Error *err);     /* on the owner's thread */

#endif
