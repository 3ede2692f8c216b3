#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "os/clock.h"
#include "os/file.h"
#include "store/sqlite/store_parts.h"

/* --- the log's head ------------------------------------------------------------------------------------------------ */

typedef struct HeadVisit { LogHead head; bool is_there, is_sound; } HeadVisit;

static bool visit_head(void *context, const Cell *cells, uint32_t count)
{
    HeadVisit *visit = context;
    visit->is_there = true;
    visit->is_sound = cells[LOG_HEADS_head].kind == CELL_BLOB && cells[LOG_HEADS_head].text.len == DIGEST_SIZE;
    if (!visit->is_sound) return false;
    visit->head = (LogHead){
        .log = (uint64_t)cells[LOG_HEADS_log].integer,
        .epoch = (uint64_t)cells[LOG_HEADS_epoch].integer,
        .position = (uint64_t)cells[LOG_HEADS_position].integer,
        .now_ms = cells[LOG_HEADS_now_ms].integer,
        .next_run_no = (uint64_t)cells[LOG_HEADS_next_run_no].integer,
        .next_step_run_no = (uint64_t)cells[LOG_HEADS_next_step_run_no].integer,
    };
    memcpy(visit->head.head.bytes, cells[LOG_HEADS_head].text.ptr, DIGEST_SIZE);
    return true;
}

static Status head_read(Connection *connection, uint64_t log, LogHead *out_head, bool *out_is_there, Error *err)
{
    HeadVisit visit = { .is_sound = true };
    QueryAsk ask = { QUERY_LOG_HEAD, { cell_int((int64_t)log) }, 1, 1 };
    Status status = connection_query(connection, &ask, visit_head, &visit, err);
    if (status) return status;
    if (!visit.is_sound) return error_set(err, ERR_CORRUPT, "%s: the head of log %" PRIu64 " is damaged", connection->path, log);
    *out_is_there = visit.is_there;
    *out_head = visit.head;
    return OK;
}

static Status head_write(Connection *connection, const LogHead *head, RowOp op, Error *err)
{
    Cell cells[] = {
        [LOG_HEADS_log] = cell_int((int64_t)head->log), [LOG_HEADS_epoch] = cell_int((int64_t)head->epoch),
        [LOG_HEADS_position] = cell_int((int64_t)head->position),
        [LOG_HEADS_head] = cell_blob((Str){ (const char *)head->head.bytes, DIGEST_SIZE }),
        [LOG_HEADS_now_ms] = cell_int(head->now_ms), [LOG_HEADS_next_run_no] = cell_int((int64_t)head->next_run_no),
        [LOG_HEADS_next_step_run_no] = cell_int((int64_t)head->next_step_run_no),
    };
    return connection_change(connection, &(RowChange){ TABLE_LOG_HEADS, (uint8_t)op, COLUMN_BIT(LOG_HEADS_parent) - 1, cells }, err);
}

/* --- owning -------------------------------------------------------------------------------------------------------- */

static int note_wal_size(void *context, sqlite3 *db, const char *name, int page_count)
{
    SqliteStore *store = context;
    atomic_store_explicit(&store->wal_page_count, (unsigned)page_count, memory_order_relaxed);
    return SQLITE_OK;
}

Status writer_open(SqliteStore *store, Error *err)
{
    connection_close(&store->writer);
    Status status = connection_open(&store->writer, store->path, CONNECTION_WRITES, err);
    if (!status) status = connection_prepare(&store->writer, "BEGIN IMMEDIATE", &store->writer.begin, err);
    if (!status) status = connection_prepare(&store->writer, "COMMIT", &store->writer.commit, err);
    if (!status) sqlite3_wal_hook(store->writer.db, note_wal_size, store);
    return status;
}

/* Raising the epoch is a commit: it overwrites what a failed one may have left at the end of the write-ahead log, so that
 * what was found not to be there does not come back after a crash. */
Status writer_own(SqliteStore *store, uint64_t log, LogHead *out_head, Error *err)
{
    Connection *writer = &store->writer;
    Status status = connection_run(writer, "BEGIN IMMEDIATE", err);
    if (status) return status;
    LogHead head;
    bool is_there;
    status = head_read(writer, log, &head, &is_there, err);
    if (!status) {
        if (!is_there) head = (LogHead){ .log = log, .next_run_no = 1, .next_step_run_no = 1 };
        head.epoch++;
        status = head_write(writer, &head, ROW_PUT, err);
    }
    if (!status) status = connection_run(writer, "COMMIT", err);
    if (status) connection_roll_back(writer);
    else *out_head = head;
    return status;
}

/* --- one batch inside a transaction -------------------------------------------------------------------------------- */

static Status write_record(Connection *writer, const BatchRecord *record, Error *err)
{
    Cell cells[] = {
        [LEDGER_position] = cell_int((int64_t)record->position),
        [LEDGER_run_no] = record->run_no ? cell_int((int64_t)record->run_no) : cell_null(),
        [LEDGER_prev_position] = cell_int((int64_t)record->prev_position),
        [LEDGER_first_event] = cell_int((int64_t)record->first_event),
        [LEDGER_event_count] = cell_int(record->event_count),
        [LEDGER_hash] = cell_blob((Str){ (const char *)record->hash.bytes, DIGEST_SIZE }),
        [LEDGER_record] = cell_blob(record->record),
        [LEDGER_payload] = record->payload.len ? cell_blob(record->payload) : cell_null(),
    };
    return connection_change(writer, &(RowChange){ TABLE_LEDGER, ROW_INSERT, UINT64_MAX, cells }, err);
}

/* `head` is where the log ends inside the transaction, and follows. */
static CommitOutcome write_batch(Connection *writer, const Batch *batch, LogHead *head, Error *err)
{
    if (head->epoch != batch->epoch) {
        error_set(err, ERR_CONFLICT, "%s: another process owns it now (epoch %" PRIu64 ", ours was %" PRIu64 ")",
                  writer->path, head->epoch, batch->epoch);
        return STORE_FENCED;
    }
    if (head->position + 1 != batch->first_position || memcmp(&head->head, &batch->head_before, sizeof head->head)) {
        error_set(err, ERR_CONFLICT, "%s: the log ends at %" PRIu64 ", and the batch begins at %" PRIu64, writer->path,
                  head->position, batch->first_position);
        return STORE_REFUSED;
    }
    for (uint32_t i = 0; i < batch->record_count; i++) {
        CHECK(batch->records[i].position == batch->first_position + i);
        if (write_record(writer, &batch->records[i], err)) return STORE_REFUSED;
    }
    for (uint32_t i = 0; i < batch->change_count; i++)
        if (connection_change(writer, &batch->changes[i], err)) return STORE_REFUSED;
    *head = (LogHead){ .log = batch->log, .epoch = batch->epoch, .position = batch->first_position + batch->record_count - 1,
                       .head = batch->head_after, .now_ms = batch->now_ms, .next_run_no = batch->next_run_no,
                       .next_step_run_no = batch->next_step_run_no };
    return STORE_DURABLE;
}

/* --- a group of batches: one transaction --------------------------------------------------------------------------- */

/* The last step. An error of writing pages leaves nothing that could ever be taken for a commit, since the frame that
 * makes it one is the last; an error of syncing leaves it open whether the disk has it. */
static CommitOutcome commit(Connection *writer, Error *err)
{
    int code = statement_step(writer->commit);
    if (code == SQLITE_OK) return STORE_DURABLE;
    Status status = connection_error(writer, code, err);
    bool is_known = (code & 0xff) != SQLITE_IOERR || code == SQLITE_IOERR_WRITE || status == ERR_CONFLICT;
    return is_known ? STORE_REFUSED : STORE_UNKNOWN;
}

/* Writes all or none; answers how the first that was not written failed. */
static CommitOutcome write_group(Connection *writer, Batch **batches, uint32_t count, Error *err)
{
    CommitOutcome outcome = STORE_REFUSED;
    int code = statement_step(writer->begin);
    if (code) {
        connection_error(writer, code, err);
    } else {
        LogHead head;
        bool is_there;
        outcome = head_read(writer, batches[0]->log, &head, &is_there, err) ? STORE_REFUSED : STORE_DURABLE;
        if (outcome == STORE_DURABLE && !is_there) head = (LogHead){ 0 };       /* never owned: fenced by its epoch */
        for (uint32_t i = 0; i < count && outcome == STORE_DURABLE; i++) {
            CHECK(batches[i]->log == batches[0]->log);      /* a SQLite file has one log */
            outcome = write_batch(writer, batches[i], &head, err);
        }
        if (outcome == STORE_DURABLE && head_write(writer, &head, ROW_UPDATE, err)) outcome = STORE_REFUSED;
        if (outcome == STORE_DURABLE) outcome = commit(writer, err);
    }
    if (outcome != STORE_DURABLE) connection_roll_back(writer);
    return outcome;
}

static void finish(SqliteStore *store, Batch *batch, CommitOutcome outcome, const Error *error)
{
    pthread_mutex_lock(&store->mutex);
    DoneBatch *done = &store->done[(store->done_first + store->done_count++) % STORE_BATCH_COUNT_MAX];
    done->batch = batch;
    done->outcome = outcome;
    if (outcome != STORE_DURABLE) done->error = *error;
    if (outcome == STORE_UNKNOWN) store->is_lost = true;
    pthread_mutex_unlock(&store->mutex);
}

/* One transaction, and how long it took. What a commit that did not fit leaves free would take a smaller one, and the next was refused
 * again: so a store that had no room takes nothing until there is some to spare. */
static CommitOutcome commit_group(SqliteStore *store, Batch **batches, uint32_t count, Error *err)
{
    uint64_t begun_ns = clock_monotonic_ns();
    CommitOutcome outcome = STORE_REFUSED;
    if (!store->is_full || !file_room(store->path, STORE_ROOM_SIZE, err)) outcome = write_group(&store->writer, batches, count, err);
    store->is_full = outcome == STORE_REFUSED && err->status != ERR_CONFLICT;
    uint64_t took_us = (clock_monotonic_ns() - begun_ns) / 1000;
    pthread_mutex_lock(&store->mutex);
    if (outcome == STORE_DURABLE) histogram_add(&store->commit_times, took_us);
    pthread_mutex_unlock(&store->mutex);
    return outcome;
}

static void write_alone(SqliteStore *store, Batch *batch)
{
    Error err = { 0 };
    CommitOutcome outcome = STORE_REFUSED;
    if (store->is_lost) error_set(&err, ERR_UNAVAILABLE, "%s: the outcome of an earlier commit is not known", store->path);
    else outcome = commit_group(store, &batch, 1, &err);
    finish(store, batch, outcome, &err);
}

/* Several share a transaction; where one of them cannot be written, each gets its own, so that only that one fails. */
static void write_together(SqliteStore *store, Batch **batches, uint32_t count)
{
    Error err = { 0 };
    if (count > 1 && !store->is_lost) {
        CommitOutcome outcome = commit_group(store, batches, count, &err);
        if (outcome == STORE_DURABLE || outcome == STORE_UNKNOWN) {
            for (uint32_t i = 0; i < count; i++) finish(store, batches[i], outcome, &err);
            return;
        }
    }
    for (uint32_t i = 0; i < count; i++) write_alone(store, batches[i]);
}

/* --- the thread ---------------------------------------------------------------------------------------------------- */

static size_t batch_size(const Batch *batch)
{
    size_t size = 0;
    for (uint32_t i = 0; i < batch->record_count; i++) size += batch->records[i].record.len + batch->records[i].payload.len;
    return size;
}

/* What waits, up to a size, under the lock. */
static uint32_t take_group(SqliteStore *store, Batch **out)
{
    uint32_t count = 0;
    for (size_t size = 0; store->waiting_count; store->waiting_count--) {
        Batch *batch = store->waiting[store->waiting_first];
        size += batch_size(batch);
        if (count && size > STORE_GROUP_SIZE_MAX) break;
        out[count++] = batch;
        store->waiting_first = (store->waiting_first + 1) % STORE_BATCH_COUNT_MAX;
    }
    return count;
}

/* A commit so small that handing it to another thread would cost more than making it, and nothing that could keep it. */
static bool is_small(const SqliteStore *store)
{
    return store->waiting_count == 1 && !store->is_writing && !store->backup
           && store->waiting[store->waiting_first]->record_count <= STORE_HELP_RECORD_COUNT_MAX
           && wal_size(store) < STORE_WAL_SIZE_USUAL;
}

bool writer_help(SqliteStore *store, bool is_idle)
{
    Batch *batch;
    pthread_mutex_lock(&store->mutex);
    bool is_mine = is_idle && is_small(store);
    if (is_mine) {
        store->is_helped = true;
        take_group(store, &batch);
    } else if (store->waiting_count) {
        pthread_cond_signal(&store->writer_has_work);
    }
    pthread_mutex_unlock(&store->mutex);
    if (!is_mine) return false;

    write_alone(store, batch);
    upkeep_after_commit(store, STORE_WAL_SIZE_LIGHT);
    pthread_mutex_lock(&store->mutex);
    store->is_helped = false;
    if (store->backup) pthread_cond_signal(&store->writer_has_work);
    pthread_mutex_unlock(&store->mutex);
    return true;
}

void writer_run(void *context)
{
    SqliteStore *store = context;
    Batch *batches[STORE_BATCH_COUNT_MAX];
    for (;;) {
        pthread_mutex_lock(&store->mutex);
        store->is_writing = false;
        pthread_cond_broadcast(&store->writer_is_idle);
        while (store->is_helped || (!store->waiting_count && !store->backup && !store->is_closing))
            pthread_cond_wait(&store->writer_has_work, &store->mutex);
        store->is_writing = true;
        uint32_t count = take_group(store, batches);
        BackupJob *backup = store->backup;
        bool is_over = !count && !backup && store->is_closing;
        pthread_mutex_unlock(&store->mutex);
        if (is_over) return;

        if (count) {
            write_together(store, batches, count);
            wake_raise(&store->wake);
            upkeep_after_commit(store, STORE_WAL_SIZE_USUAL);
        }
        if (backup) upkeep_backup_step(store, backup);
    }
}
