#include "store/sqlite/sqlite_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "os/clock.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/store_parts.h"
#include "store/sqlite/wal_check.h"

#define UPGRADE_WAIT_MS 5000                /* for another process that makes the tables at the same time */
#define UPGRADE_LOOK_MS 20

static SqliteStore *of(Store *store) { return (SqliteStore *)store; }

/* --- commits ------------------------------------------------------------------------------------------------------- */

static Status sqlite_own(Store *port, uint64_t log, LogHead *out_head, Error *err)
{
    SqliteStore *store = of(port);
    pthread_mutex_lock(&store->mutex);
    CHECK(!store->flight_count);
    while (store->is_writing || store->backup) pthread_cond_wait(&store->writer_is_idle, &store->mutex);
    bool was_owner = store->is_owner, was_lost = store->is_lost;
    pthread_mutex_unlock(&store->mutex);
    Status status = OK;
    if (!was_owner) status = lock_take(&store->lock, store->path, 0, err);
    if (!status && (!store->writer.db || was_lost)) status = writer_open(store, err);
    if (!status) status = writer_own(store, log, out_head, err);
    if (status) {
        if (!was_owner) lock_release(&store->lock);
        return status;
    }
    pthread_mutex_lock(&store->mutex);
    store->is_owner = true;
    store->epoch = out_head->epoch;
    store->is_lost = false;
    pthread_mutex_unlock(&store->mutex);
    return OK;
}

static bool sqlite_submit(Store *port, Batch *batch)
{
    SqliteStore *store = of(port);
    pthread_mutex_lock(&store->mutex);
    CHECK(store->is_owner);
    bool has_room = store->flight_count < STORE_BATCH_COUNT_MAX;
    if (has_room) {
        store->waiting[(store->waiting_first + store->waiting_count++) % STORE_BATCH_COUNT_MAX] = batch;
        store->flight_count++;
        if (!store->is_lent) pthread_cond_signal(&store->writer_has_work);
    }
    pthread_mutex_unlock(&store->mutex);
    return has_room;
}

static void sqlite_lend(Store *port)
{
    of(port)->is_lent = true;           /* of the thread that submits, and asked by it alone */
}

static bool sqlite_help(Store *port, bool is_idle)
{
    return writer_help(of(port), is_idle);
}

static void sqlite_commit_times(Store *port, Histogram *out)
{
    SqliteStore *store = of(port);
    pthread_mutex_lock(&store->mutex);
    *out = store->commit_times;
    pthread_mutex_unlock(&store->mutex);
}

/* --- reads --------------------------------------------------------------------------------------------------------- */

static bool sqlite_read(Store *port, const QueryAsk *ask, uint64_t read_id)
{
    SqliteStore *store = of(port);
    pthread_mutex_lock(&store->mutex);
    bool has_room = store->read_count < STORE_READ_COUNT_MAX;
    if (has_room) store->read_count++;
    pthread_mutex_unlock(&store->mutex);
    if (!has_room) return false;
    ReadJob *job = read_job_new(ask, read_id);
    pthread_mutex_lock(&store->mutex);
    read_list_add(&store->asked, job);
    pthread_cond_signal(&store->reader_has_work);
    pthread_mutex_unlock(&store->mutex);
    return true;
}

static Status sqlite_select(Store *port, const QueryAsk *ask, RowVisit visit, void *context, Error *err)
{
    return reader_select(of(port), ask, visit, context, err);
}

static Store *sqlite_snapshot(Store *port) { return snapshot_new(of(port)); }

/* --- completions --------------------------------------------------------------------------------------------------- */

static bool take_commit(SqliteStore *store, Completion *out)
{
    if (!store->done_count) return false;
    DoneBatch *done = &store->done[store->done_first];
    out->kind = COMPLETION_COMMIT;
    out->batch = done->batch;
    out->outcome = done->outcome;
    if (done->outcome != STORE_DURABLE) out->error = done->error;
    store->done_first = (store->done_first + 1) % STORE_BATCH_COUNT_MAX;
    store->done_count--;
    store->flight_count--;
    return true;
}

static bool take_answer(SqliteStore *store, Completion *out)
{
    ReadJob *job = read_list_take(&store->answered);
    if (!job) return false;
    store->read_count--;
    store->given = job;
    out->kind = COMPLETION_READ;
    out->read_id = job->id;
    out->answer = &job->answer;
    return true;
}

static bool sqlite_poll(Store *port, Completion *out)
{
    SqliteStore *store = of(port);
    read_job_free(store->given);
    store->given = NULL;
    wake_lower(&store->wake);
    pthread_mutex_lock(&store->mutex);
    bool is_there = take_commit(store, out) || take_answer(store, out);
    bool has_more = store->done_count || store->answered.count;
    pthread_mutex_unlock(&store->mutex);
    if (has_more) wake_raise(&store->wake);
    return is_there;
}

static int sqlite_wake_fd(Store *port) { return wake_fd(&of(port)->wake); }

/* --- opening and closing ------------------------------------------------------------------------------------------- */

static Status sqlite_check(Store *port, void (*finding)(void *context, Str text), void *context, Error *err)
{
    return upkeep_check(of(port), finding, context, err);
}

static Status sqlite_backup(Store *port, Str path, Error *err) { return upkeep_backup(of(port), path, err); }

static Status sqlite_prune(Store *port, uint64_t *out_run_count, Error *err) { return prune(of(port), out_run_count, err); }

static void sqlite_close(Store *port)
{
    SqliteStore *store = of(port);
    pthread_mutex_lock(&store->mutex);
    store->is_closing = true;
    pthread_cond_broadcast(&store->writer_has_work);
    pthread_cond_broadcast(&store->reader_has_work);
    pthread_cond_broadcast(&store->upkeep_has_work);
    pthread_mutex_unlock(&store->mutex);
    thread_join(&store->writer_thread);     /* after what was submitted */
    thread_join(&store->reader_thread);
    thread_join(&store->upkeep_thread);

    for (ReadJob *job; (job = read_list_take(&store->answered));) read_job_free(job);
    read_job_free(store->given);
    pool_close(store);
    connection_close(&store->writer);       /* the last one: pages go back to the database */
    lock_release(&store->lock);
    wake_close(&store->wake);
    pthread_cond_destroy(&store->writer_has_work);
    pthread_cond_destroy(&store->writer_is_idle);
    pthread_cond_destroy(&store->reader_has_work);
    pthread_cond_destroy(&store->pool_has_room);
    pthread_cond_destroy(&store->upkeep_has_work);
    pthread_mutex_destroy(&store->checkpoint_turn);
    pthread_mutex_destroy(&store->mutex);
    free(store);
}

static const StoreOps sqlite_ops = {
    .own = sqlite_own, .submit = sqlite_submit, .lend = sqlite_lend, .help = sqlite_help, .read = sqlite_read, .poll = sqlite_poll,
    .wake_fd = sqlite_wake_fd, .select = sqlite_select, .snapshot = sqlite_snapshot, .commit_times = sqlite_commit_times, .check = sqlite_check,
    .backup = sqlite_backup, .prune = sqlite_prune, .close = sqlite_close,
};

/* SQLite counts the memory of the whole process under a lock that every allocation takes; nobody reads the count. */
static void configure(void) { sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

/* The file, for its owner alone: what workflows are given is nobody else's business. */
static Status make_file(const char *path, bool is_created, Error *err)
{
    struct stat info;
    if (stat(path, &info) == 0) {
        if (!S_ISREG(info.st_mode))
            return error_set(err, ERR_INVALID, "%s: it is a %s, and a store is a file", path,
                             S_ISDIR(info.st_mode) ? "directory" : "special file");
        if (!info.st_size && !is_created) return error_set(err, ERR_NOT_FOUND, "%s: it is empty: no store was made in it", path);
        return OK;
    }
    if (errno != ENOENT) return error_set(err, ERR_DENIED, "%s: %s", path, strerror(errno));
    if (!is_created) return error_set(err, ERR_NOT_FOUND, "%s: there is no such store", path);
    int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) return error_set(err, ERR_DENIED, "%s cannot be made: %s", path, strerror(errno));
    close(fd);
    return OK;
}

/* A file without tables that is nothing but the beginning of a store: anything longer has lost them. */
static Status check_empty(Connection *connection, bool is_created, Error *err)
{
    int64_t page_count = 0;
    Status status = connection_int(connection, "PRAGMA page_count", 0, &page_count, err);
    if (status) return status;
    if (page_count > 1)
        return error_set(err, ERR_CORRUPT, "%s: it is damaged: its tables are gone; a backup of it is a store that can be used in its place",
                         connection->path);
    return is_created ? OK : error_set(err, ERR_NOT_FOUND, "%s: it is empty: no store was made in it", connection->path);
}

/* What the tables are like: their version, 0 for none where a store may be made. Changes nothing. */
static Status look_at_tables(const char *path, bool is_created, int64_t *out_version, Error *err)
{
    Connection connection;
    struct stat info;
    if (stat(path, &info) == 0 && !info.st_size) {
        *out_version = 0;               /* made a moment ago, by this process or another one */
        return OK;
    }
    Status status = connection_open(&connection, path, CONNECTION_READS, err);
    if (status) return status;
    status = schema_version(&connection, out_version, err);
    if (!status && !*out_version) status = check_empty(&connection, is_created, err);
    connection_close(&connection);
    return status;
}

Status sqlite_store_look(const char *path, Error *err)
{
    int64_t version;
    uint32_t count;
    const Migration *migrations = schema_migrations(&count);
    Status status = make_file(path, /* is_created= */ false, err);
    if (!status) status = wal_check(path, err);
    if (!status) status = look_at_tables(path, /* is_created= */ false, &version, err);
    if (status || version <= migrations[count - 1].version) return status;
    return schema_refuse_newer(path, version, migrations[count - 1].version, err);
}

/* Makes or upgrades the tables where that is needed, under the lock. Who finds them in order needs no lock. */
static Status prepare_tables(const char *path, bool is_created, Error *err)
{
    uint32_t count;
    const Migration *migrations = schema_migrations(&count);
    Connection connection;
    Lock lock = LOCK_NONE;
    Status status;
    int64_t version;
    /* Who makes the tables may keep the lock as the owner afterwards: they are looked at again while it is waited for. */
    for (int64_t left_ms = UPGRADE_WAIT_MS;; left_ms -= UPGRADE_LOOK_MS) {
        status = look_at_tables(path, is_created, &version, err);
        if (status || version == migrations[count - 1].version) return status;
        status = lock_take(&lock, path, UPGRADE_LOOK_MS, err);
        if (!status) break;
        if (status == ERR_DENIED && version) error_prefix(err, "its tables are of an older maestro and have to be upgraded: ");
        if (status != ERR_CONFLICT || left_ms <= 0) return status;
    }
    status = connection_open(&connection, path, CONNECTION_CREATES, err);
    if (!status) status = schema_upgrade(&connection, migrations, count, clock_realtime_ms(), err);
    connection_close(&connection);
    lock_release(&lock);
    return status;
}

static Status start_threads(SqliteStore *store, Error *err)
{
    Status status = thread_start(&store->writer_thread, "store-writer", writer_run, store, err);
    if (status) return status;
    status = thread_start(&store->reader_thread, "store-reader", reader_run, store, err);
    bool has_reader = !status;
    if (!status) {
        status = thread_start(&store->upkeep_thread, "store-upkeep", upkeep_run, store, err);
        if (!status) return OK;
    }
    pthread_mutex_lock(&store->mutex);
    store->is_closing = true;
    pthread_cond_broadcast(&store->writer_has_work);
    pthread_cond_broadcast(&store->reader_has_work);
    pthread_mutex_unlock(&store->mutex);
    thread_join(&store->writer_thread);
    if (has_reader) thread_join(&store->reader_thread);
    return status;
}

Status sqlite_store_open(const SqliteOptions *options, Store **out_store, Error *err)
{
    size_t size = strlen(options->path);
    if (size > STORE_PATH_SIZE_MAX)
        return error_set(err, ERR_LIMIT, "the path of a store has at most STORE_PATH_SIZE_MAX (%u) bytes", STORE_PATH_SIZE_MAX);
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, configure);
    Status status = make_file(options->path, options->is_created, err);
    if (!status) status = wal_check(options->path, err);
    if (!status) status = prepare_tables(options->path, options->is_created, err);
    if (status) return status;

    SqliteStore *store = calloc(1, sizeof *store);
    CHECK(store != NULL);
    store->port.ops = &sqlite_ops;
    store->lock = LOCK_NONE;
    memcpy(store->path, options->path, size + 1);
    pthread_mutex_init(&store->mutex, NULL);
    pthread_mutex_init(&store->checkpoint_turn, NULL);
    pthread_cond_init(&store->writer_has_work, NULL);
    pthread_cond_init(&store->writer_is_idle, NULL);
    pthread_cond_init(&store->reader_has_work, NULL);
    pthread_cond_init(&store->pool_has_room, NULL);
    pthread_cond_init(&store->upkeep_has_work, NULL);
    status = wake_open(&store->wake, err);
    if (!status) {
        status = start_threads(store, err);
        if (status) wake_close(&store->wake);
    }
    if (status) {
        free(store);
        return status;
    }
    *out_store = &store->port;
    return OK;
}
