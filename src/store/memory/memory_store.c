#include "store/memory/memory_store.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "store/memory/rows.h"

typedef struct PendingRead { QueryAsk ask; uint64_t id; } PendingRead;

typedef struct MemoryStore {
    Store port;
    MemoryOptions options;
    Rows tables[TABLE_COUNT];
    Batch *batches[STORE_BATCH_COUNT_MAX];      /* in flight; rings that begin at `first` */
    PendingRead *reads;
    uint32_t batch_first, batch_count, read_first, read_count;
    uint64_t batch_number, read_number;         /* of the oldest in flight */
    bool is_lost;                               /* an outcome was unknown: nothing is taken until own() */
    Arena answer_arena, param_arena;
    ReadAnswer answer;
} MemoryStore;

static MemoryStore *of(Store *store) { return (MemoryStore *)store; }

/* --- the log's head ------------------------------------------------------------------------------------------------ */

static Str digest_bytes(const Digest *digest) { return (Str){ (const char *)digest->bytes, DIGEST_SIZE }; }

static bool head_get(MemoryStore *memory, uint64_t log, LogHead *out)
{
    Cell key = cell_int((int64_t)log);
    const Row *row = rows_find(&memory->tables[TABLE_LOG_HEADS], &key);
    if (!row) return false;
    *out = (LogHead){
        .log = log,
        .epoch = (uint64_t)row_cell(row, LOG_HEADS_epoch).integer,
        .position = (uint64_t)row_cell(row, LOG_HEADS_position).integer,
        .now_ms = row_cell(row, LOG_HEADS_now_ms).integer,
        .next_run_no = (uint64_t)row_cell(row, LOG_HEADS_next_run_no).integer,
        .next_step_run_no = (uint64_t)row_cell(row, LOG_HEADS_next_step_run_no).integer,
    };
    memcpy(out->head.bytes, row_cell(row, LOG_HEADS_head).text.ptr, DIGEST_SIZE);
    return true;
}

static void head_put(MemoryStore *memory, const LogHead *head)
{
    Cell cells[] = {
        [LOG_HEADS_log] = cell_int((int64_t)head->log), [LOG_HEADS_epoch] = cell_int((int64_t)head->epoch),
        [LOG_HEADS_position] = cell_int((int64_t)head->position), [LOG_HEADS_head] = cell_blob(digest_bytes(&head->head)),
        [LOG_HEADS_now_ms] = cell_int(head->now_ms), [LOG_HEADS_next_run_no] = cell_int((int64_t)head->next_run_no),
        [LOG_HEADS_next_step_run_no] = cell_int((int64_t)head->next_step_run_no),
    };
    rows_apply(&memory->tables[TABLE_LOG_HEADS],
               &(RowChange){ TABLE_LOG_HEADS, ROW_PUT, COLUMN_BIT(LOG_HEADS_parent) - 1, cells });
}

static Status memory_own(Store *store, uint64_t log, LogHead *out_head, Error *err)
{
    MemoryStore *memory = of(store);
    CHECK(!memory->batch_count);
    LogHead head;
    if (!head_get(memory, log, &head)) head = (LogHead){ .log = log, .next_run_no = 1, .next_step_run_no = 1 };
    head.epoch++;
    head_put(memory, &head);
    memory->is_lost = false;
    *out_head = head;
    return OK;
}

void memory_store_usurp(Store *store, uint64_t log)
{
    LogHead head;
    CHECK(head_get(of(store), log, &head));
    head.epoch++;
    head_put(of(store), &head);
}

/* --- commits ------------------------------------------------------------------------------------------------------- */

static void record_change(const BatchRecord *record, Cell cells[LEDGER_payload + 1], RowChange *out)
{
    cells[LEDGER_position] = cell_int((int64_t)record->position);
    cells[LEDGER_run_no] = record->run_no ? cell_int((int64_t)record->run_no) : cell_null();
    cells[LEDGER_prev_position] = cell_int((int64_t)record->prev_position);
    cells[LEDGER_first_event] = cell_int((int64_t)record->first_event);
    cells[LEDGER_event_count] = cell_int(record->event_count);
    cells[LEDGER_hash] = cell_blob(digest_bytes(&record->hash));
    cells[LEDGER_record] = cell_blob(record->record);
    cells[LEDGER_payload] = record->payload.len ? cell_blob(record->payload) : cell_null();
    *out = (RowChange){ TABLE_LEDGER, ROW_INSERT, UINT64_MAX, cells };
}

/* Looks at everything before anything is changed: a refusal leaves nothing half-written. */
static CommitOutcome batch_admit(MemoryStore *memory, const Batch *batch, Error *err)
{
    LogHead head;
    if (!head_get(memory, batch->log, &head) || head.epoch != batch->epoch) {
        error_set(err, ERR_CONFLICT, "another process owns log %" PRIu64 " now", batch->log);
        return STORE_FENCED;
    }
    if (memory->is_lost) {
        error_set(err, ERR_UNAVAILABLE, "the outcome of an earlier commit is not known");
        return STORE_REFUSED;
    }
    if (head.position + 1 != batch->first_position || memcmp(&head.head, &batch->head_before, sizeof head.head)) {
        error_set(err, ERR_CONFLICT, "the log ends at %" PRIu64 ", and the batch begins at %" PRIu64, head.position,
                  batch->first_position);
        return STORE_REFUSED;
    }
    for (uint32_t i = 0; i < batch->change_count; i++)
        if (rows_admit(&memory->tables[batch->changes[i].table], &batch->changes[i], err)) return STORE_REFUSED;
    return STORE_DURABLE;
}

static CommitOutcome batch_write(MemoryStore *memory, const Batch *batch, Error *err)
{
    CommitOutcome outcome = batch_admit(memory, batch, err);
    if (outcome != STORE_DURABLE) return outcome;
    for (uint32_t i = 0; i < batch->record_count; i++) {
        CHECK(batch->records[i].position == batch->first_position + i);
        Cell cells[LEDGER_payload + 1];
        RowChange change;
        record_change(&batch->records[i], cells, &change);
        rows_apply(&memory->tables[TABLE_LEDGER], &change);
    }
    for (uint32_t i = 0; i < batch->change_count; i++)
        rows_apply(&memory->tables[batch->changes[i].table], &batch->changes[i]);
    head_put(memory, &(LogHead){
        .log = batch->log, .epoch = batch->epoch, .position = batch->first_position + batch->record_count - 1,
        .head = batch->head_after, .now_ms = batch->now_ms, .next_run_no = batch->next_run_no,
        .next_step_run_no = batch->next_step_run_no });
    return STORE_DURABLE;
}

static bool memory_submit(Store *store, Batch *batch)
{
    MemoryStore *memory = of(store);
    if (memory->batch_count == STORE_BATCH_COUNT_MAX) return false;
    memory->batches[(memory->batch_first + memory->batch_count++) % STORE_BATCH_COUNT_MAX] = batch;
    return true;
}

static Batch *batch_take(MemoryStore *memory)
{
    Batch *batch = memory->batches[memory->batch_first];
    memory->batch_first = (memory->batch_first + 1) % STORE_BATCH_COUNT_MAX;
    memory->batch_count--;
    memory->batch_number++;
    return batch;
}

static MemoryFault fault_of(MemoryStore *memory, bool is_read, uint64_t number)
{
    return memory->options.fault ? memory->options.fault(memory->options.context, is_read, number) : MEMORY_FAULT_NONE;
}

static bool poll_commit(MemoryStore *memory, Completion *out)
{
    if (!memory->batch_count) return false;
    MemoryFault fault = fault_of(memory, /* is_read= */ false, memory->batch_number);
    if (fault == MEMORY_FAULT_HOLD) return false;
    Batch *batch = batch_take(memory);
    out->kind = COMPLETION_COMMIT;
    out->batch = batch;
    if (fault == MEMORY_FAULT_FENCE) memory_store_usurp(&memory->port, batch->log);
    if (fault == MEMORY_FAULT_REFUSE || fault == MEMORY_FAULT_LOSE) out->outcome = batch_admit(memory, batch, &out->error);
    else out->outcome = batch_write(memory, batch, &out->error);
    if (out->outcome != STORE_DURABLE) return true;
    if (fault == MEMORY_FAULT_REFUSE) {
        out->outcome = STORE_REFUSED;
        error_set(&out->error, ERR_UNAVAILABLE, "the disk is full");
    } else if (fault == MEMORY_FAULT_LOSE || fault == MEMORY_FAULT_KEEP) {
        out->outcome = STORE_UNKNOWN;
        error_set(&out->error, ERR_UNAVAILABLE, "the disk did not answer");
        memory->is_lost = true;
    }
    return true;
}

uint32_t memory_store_crash(Store *store, uint32_t written_count)
{
    MemoryStore *memory = of(store);
    uint32_t count = memory->batch_count;
    for (uint32_t i = 0; memory->batch_count; i++) {
        Batch *batch = batch_take(memory);
        Error err;
        if (i < written_count) (void)batch_write(memory, batch, &err);
    }
    memory->read_number += memory->read_count;
    memory->read_count = 0;
    arena_reset(&memory->param_arena);
    return count;
}

/* --- reads --------------------------------------------------------------------------------------------------------- */

static Status memory_select(Store *store, const QueryAsk *ask, RowVisit visit, void *context, Error *err)
{
    const QueryInfo *query = query_info(ask->query);
    CHECK(ask->param_count == query_param_count(query));
    rows_select(&of(store)->tables[query->table], query, ask, visit, context);
    return OK;
}

static bool memory_read(Store *store, const QueryAsk *ask, uint64_t read_id)
{
    MemoryStore *memory = of(store);
    if (memory->read_count == STORE_READ_COUNT_MAX) return false;
    if (!memory->read_count) arena_reset(&memory->param_arena);
    PendingRead *read = &memory->reads[(memory->read_first + memory->read_count++) % STORE_READ_COUNT_MAX];
    *read = (PendingRead){ *ask, read_id };
    for (uint32_t i = 0; i < ask->param_count; i++)
        if (ask->params[i].kind == CELL_TEXT || ask->params[i].kind == CELL_BLOB)
            read->ask.params[i].text = arena_copy(&memory->param_arena, ask->params[i].text);
    return true;
}

typedef struct Gathering { Arena *arena; Cell *cells; size_t count, capacity; uint32_t row_count, cell_count; } Gathering;

static bool gather(void *context, const Cell *cells, uint32_t count)
{
    Gathering *it = context;
    for (uint32_t i = 0; i < count; i++) {
        Cell cell = cells[i];
        it->cells = arena_grow(it->arena, it->cells, sizeof(Cell), it->count, &it->capacity);
        if (cell.kind == CELL_TEXT || cell.kind == CELL_BLOB) cell.text = arena_copy(it->arena, cell.text);
        it->cells = arena_grow(it->arena, it->cells, sizeof(Cell), it->count, &it->capacity);
        it->cells[it->count++] = cell;
    }
    it->row_count++;
    it->cell_count = count;
    return true;
}

static bool poll_read(MemoryStore *memory, Completion *out)
{
    if (!memory->read_count) return false;
    MemoryFault fault = fault_of(memory, /* is_read= */ true, memory->read_number);
    if (fault == MEMORY_FAULT_HOLD) return false;
    PendingRead *read = &memory->reads[memory->read_first];
    memory->read_first = (memory->read_first + 1) % STORE_READ_COUNT_MAX;
    memory->read_count--;
    memory->read_number++;

    ReadAnswer *answer = &memory->answer;
    *answer = (ReadAnswer){ .status = OK };
    if (fault != MEMORY_FAULT_NONE) {
        answer->status = error_set(&answer->error, ERR_UNAVAILABLE, "the disk did not answer");
    } else {
        Gathering gathering = { .arena = &memory->answer_arena };
        answer->status = memory_select(&memory->port, &read->ask, gather, &gathering, &answer->error);
        answer->cells = gathering.cells;
        answer->row_count = gathering.row_count;
        answer->cell_count = query_cell_count(query_info(read->ask.query));
    }
    out->kind = COMPLETION_READ;
    out->read_id = read->id;
    out->answer = answer;
    return true;
}

static bool memory_poll(Store *store, Completion *out)
{
    MemoryStore *memory = of(store);
    arena_reset(&memory->answer_arena);
    return poll_commit(memory, out) || poll_read(memory, out);
}

static int memory_wake_fd(Store *store) { return -1; }

/* --- the rest ------------------------------------------------------------------------------------------------------ */

typedef struct Checking { void (*finding)(void *context, Str text); void *context; uint64_t expected; } Checking;

static bool check_record(void *context, const Cell *cells, uint32_t count)
{
    Checking *checking = context;
    if ((uint64_t)cells[LEDGER_position].integer != checking->expected)
        checking->finding(checking->context, STR("maestro_ledger has a gap"));
    checking->expected = (uint64_t)cells[LEDGER_position].integer + 1;
    return true;
}

static Status memory_check(Store *store, void (*finding)(void *context, Str text), void *context, Error *err)
{
    Checking checking = { finding, context, 1 };
    QueryAsk ask = { QUERY_RECORD_HASHES, { cell_int(0) }, 1, UINT32_MAX };
    return memory_select(store, &ask, check_record, &checking, err);
}

static Status memory_backup(Store *store, Str path, Error *err)
{
    return error_set(err, ERR_UNAVAILABLE, "a store in memory has no file to copy; use --store sqlite:PATH");
}

static void memory_close(Store *store)
{
    MemoryStore *memory = of(store);
    for (uint32_t i = 0; i < TABLE_COUNT; i++) rows_deinit(&memory->tables[i]);
    arena_deinit(&memory->answer_arena);
    arena_deinit(&memory->param_arena);
    free(memory->reads);
    free(memory);
}

static const StoreOps memory_ops = {
    .own = memory_own, .submit = memory_submit, .read = memory_read, .poll = memory_poll, .wake_fd = memory_wake_fd,
    .select = memory_select, .check = memory_check, .backup = memory_backup, .close = memory_close,
};

Store *memory_store_new(const MemoryOptions *options)
{
    MemoryStore *memory = calloc(1, sizeof *memory);
    CHECK(memory != NULL);
    memory->port.ops = &memory_ops;
    if (options) memory->options = *options;
    memory->reads = calloc(STORE_READ_COUNT_MAX, sizeof *memory->reads);
    CHECK(memory->reads != NULL);
    memory->batch_number = memory->read_number = 1;
    for (uint32_t i = 0; i < TABLE_COUNT; i++) rows_init(&memory->tables[i], (Table)i);
    arena_init(&memory->answer_arena, SIZE_MAX);
    arena_init(&memory->param_arena, SIZE_MAX);
    return &memory->port;
}
