#include <stdlib.h>

#include "base/check.h"
#include "store/sqlite/store_parts.h"

/* --- jobs ---------------------------------------------------------------------------------------------------------- */

static Cell copy_cell(Arena *arena, Cell cell)
{
    if (cell.kind == CELL_TEXT || cell.kind == CELL_BLOB) cell.text = arena_copy(arena, cell.text);
    return cell;
}

ReadJob *read_job_new(const QueryAsk *ask, uint64_t id)
{
    ReadJob *job = calloc(1, sizeof *job);
    CHECK(job != NULL);
    arena_init(&job->arena, SIZE_MAX);
    job->ask = *ask;
    job->id = id;
    for (uint32_t i = 0; i < ask->param_count; i++) job->ask.params[i] = copy_cell(&job->arena, ask->params[i]);
    return job;
}

void read_job_free(ReadJob *job)
{
    if (!job) return;
    arena_deinit(&job->arena);
    free(job);
}

void read_list_add(ReadList *list, ReadJob *job)
{
    job->next = NULL;
    if (list->last) list->last->next = job;
    else list->first = job;
    list->last = job;
    list->count++;
}

ReadJob *read_list_take(ReadList *list)
{
    ReadJob *job = list->first;
    if (!job) return NULL;
    list->first = job->next;
    if (!list->first) list->last = NULL;
    list->count--;
    return job;
}

/* --- the pool ------------------------------------------------------------------------------------------------------ */

Status pool_take(SqliteStore *store, PooledReader **out_reader, Error *err)
{
    pthread_mutex_lock(&store->mutex);
    while (!store->pool && store->pool_count == STORE_READER_COUNT_MAX)
        pthread_cond_wait(&store->pool_has_room, &store->mutex);
    PooledReader *reader = store->pool;
    if (reader) store->pool = reader->next;
    else store->pool_count++;
    pthread_mutex_unlock(&store->mutex);
    if (!reader) {
        reader = calloc(1, sizeof *reader);
        CHECK(reader != NULL);
        Status status = connection_open(&reader->connection, store->path, CONNECTION_READS, err);
        if (status) {
            free(reader);
            pthread_mutex_lock(&store->mutex);
            store->pool_count--;
            pthread_cond_signal(&store->pool_has_room);
            pthread_mutex_unlock(&store->mutex);
            return status;
        }
    }
    *out_reader = reader;
    return OK;
}

void pool_give(SqliteStore *store, PooledReader *reader)
{
    pthread_mutex_lock(&store->mutex);
    reader->next = store->pool;
    store->pool = reader;
    pthread_cond_signal(&store->pool_has_room);
    pthread_mutex_unlock(&store->mutex);
}

void pool_close(SqliteStore *store)
{
    while (store->pool) {
        PooledReader *reader = store->pool;
        store->pool = reader->next;
        connection_close(&reader->connection);
        free(reader);
        store->pool_count--;
    }
    CHECK(!store->pool_count);          /* nobody reads from a store that is being closed */
}

Status reader_select(SqliteStore *store, const QueryAsk *ask, RowVisit visit, void *context, Error *err)
{
    PooledReader *reader;
    Status status = pool_take(store, &reader, err);
    if (status) return status;
    status = connection_query(&reader->connection, ask, visit, context, err);
    pool_give(store, reader);
    return status;
}

/* --- the thread ---------------------------------------------------------------------------------------------------- */

typedef struct Gathering { Arena *arena; Cell *cells; size_t count, capacity; uint32_t row_count; } Gathering;

static bool gather(void *context, const Cell *cells, uint32_t count)
{
    Gathering *it = context;
    for (uint32_t i = 0; i < count; i++) {
        it->cells = arena_grow(it->arena, it->cells, sizeof(Cell), it->count, &it->capacity);
        it->cells[it->count++] = copy_cell(it->arena, cells[i]);
    }
    it->row_count++;
    return true;
}

static void answer(SqliteStore *store, ReadJob *job)
{
    Gathering gathering = { .arena = &job->arena };
    job->answer.status = reader_select(store, &job->ask, gather, &gathering, &job->answer.error);
    if (job->answer.status) return;
    job->answer.cells = gathering.cells;
    job->answer.row_count = gathering.row_count;
    job->answer.cell_count = query_cell_count(query_info(job->ask.query));
}

void reader_run(void *context)
{
    SqliteStore *store = context;
    for (;;) {
        pthread_mutex_lock(&store->mutex);
        while (!store->asked.count && !store->is_closing) pthread_cond_wait(&store->reader_has_work, &store->mutex);
        ReadJob *job = read_list_take(&store->asked);
        pthread_mutex_unlock(&store->mutex);
        if (!job) return;
        answer(store, job);
        pthread_mutex_lock(&store->mutex);
        read_list_add(&store->answered, job);
        pthread_mutex_unlock(&store->mutex);
        wake_raise(&store->wake);
    }
}
