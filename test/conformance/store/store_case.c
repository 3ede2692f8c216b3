#include "store_case.h"

#include <ftw.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/memory/memory_store.h"
#include "store/sqlite/sqlite_store.h"

/* --- stores -------------------------------------------------------------------------------------------------------- */

static bool open_store(StoreCase *it)
{
    Error err;
    if (it->adapter == ADAPTER_MEMORY) {
        it->store = memory_store_new(NULL);
    } else if (!EXPECT_OK(sqlite_store_open(&(SqliteOptions){ .path = it->path, .is_created = true }, &it->store, &err), &err)) {
        it->store = NULL;
        return false;
    }
    return EXPECT_OK(store_own(it->store, 1, &it->head, &err), &err);
}

bool store_case_begin(StoreCase *it, Adapter adapter)
{
    *it = (StoreCase){ .adapter = adapter, .now_ms = 1700000000000 };
    arena_init(&it->arena, SIZE_MAX);
    const char *base = getenv("TMPDIR");
    snprintf(it->directory, sizeof it->directory, "%.30s/maestro-store-XXXXXX", base ? base : P_tmpdir);
    if (!EXPECT(mkdtemp(it->directory) != NULL)) return false;
    snprintf(it->path, sizeof it->path, "%s/store.db", it->directory);
    return open_store(it);
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info, (void)kind, (void)place;
    return remove(path);
}

void store_case_end(StoreCase *it)
{
    if (it->store) store_close(it->store);
    nftw(it->directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    arena_deinit(&it->arena);
}

bool store_case_reopen(StoreCase *it)
{
    if (it->store) store_close(it->store);
    it->store = NULL;
    return open_store(it);
}

void store_case_run(Adapter adapter, void (*run)(StoreCase *it))
{
    StoreCase it;
    if (store_case_begin(&it, adapter)) run(&it);
    store_case_end(&it);
}

/* --- batches ------------------------------------------------------------------------------------------------------- */

static Digest digest_for(uint64_t number)
{
    Digest digest = { { 0 } };
    memcpy(digest.bytes, &number, sizeof number);
    return digest;
}

Batch *batch_make(StoreCase *it, const BatchPlan *plan)
{
    Batch *batch = ARENA_NEW(&it->arena, Batch);
    BatchRecord *records = ARENA_ARRAY(&it->arena, BatchRecord, plan->record_count + 1);
    uint64_t first = plan->first_position ? plan->first_position : it->head.position + 1;
    for (uint32_t i = 0; i < plan->record_count; i++)
        records[i] = (BatchRecord){
            .position = first + i, .run_no = plan->run_no, .prev_position = plan->run_no ? first + i - 1 : 0,
            .first_event = first + i, .event_count = 1, .hash = digest_for(first + i),
            .record = arena_format(&it->arena, "record %llu", (unsigned long long)(first + i)), .payload = plan->payload };
    uint64_t last = first + plan->record_count - 1;
    *batch = (Batch){
        .log = 1, .epoch = plan->epoch ? plan->epoch : it->head.epoch, .first_position = first, .head_before = it->head.head,
        .head_after = plan->record_count ? digest_for(last) : it->head.head, .next_run_no = it->head.next_run_no,
        .next_step_run_no = it->head.next_step_run_no, .now_ms = it->now_ms, .records = records,
        .changes = plan->changes, .record_count = plan->record_count, .change_count = plan->change_count };
    it->head.position = last;
    it->head.head = batch->head_after;
    return batch;
}

bool completion_wait(StoreCase *it, Completion *out)
{
    for (int i = 0; i < 100; i++) {
        if (store_poll(it->store, out)) return true;
        struct pollfd wait = { .fd = store_wake_fd(it->store), .events = POLLIN };
        if (wait.fd < 0) return false;
        poll(&wait, 1, 100);
    }
    return false;
}

CommitOutcome batch_commit(StoreCase *it, Batch *batch, Error *err)
{
    Completion completion = { 0 };
    LogHead before = it->head;
    if (!EXPECT(store_submit(it->store, batch)) || !EXPECT(completion_wait(it, &completion))) return STORE_UNKNOWN;
    EXPECT(completion.kind == COMPLETION_COMMIT && completion.batch == batch);
    if (completion.outcome != STORE_DURABLE) {
        it->head.position = batch->first_position - 1;
        it->head.head = batch->head_before;
        if (err) *err = completion.error;
    } else {
        it->head = before;
    }
    return completion.outcome;
}

CommitOutcome commit_changes(StoreCase *it, const RowChange *changes, uint32_t count)
{
    Error err = { 0 };
    Batch *batch = batch_make(it, &(BatchPlan){ .record_count = 1, .run_no = 1, .changes = changes, .change_count = count });
    CommitOutcome outcome = batch_commit(it, batch, &err);
    if (outcome != STORE_DURABLE && getenv("STORE_CASE_VERBOSE")) fprintf(stderr, "%s\n", err.text);
    return outcome;
}

/* --- rows ---------------------------------------------------------------------------------------------------------- */

Cell *cells_make(StoreCase *it, Table table) { return ARENA_ARRAY(&it->arena, Cell, table_info(table)->column_count); }

RowChange row_change(Table table, RowOp op, uint64_t mask, const Cell *cells)
{
    return (RowChange){ (uint8_t)table, (uint8_t)op, mask, cells };
}

Str run_id(StoreCase *it, uint64_t run_no) { return arena_format(&it->arena, "run%018llu", (unsigned long long)run_no); }

RowChange run_row(StoreCase *it, uint64_t run_no, const char *tenant, const char *definition, uint32_t version)
{
    static const char zeros[DIGEST_SIZE];
    Cell *cells = cells_make(it, TABLE_RUNS);
    cells[RUNS_run_no] = cell_int((int64_t)run_no);
    cells[RUNS_id] = cell_text(run_id(it, run_no));
    cells[RUNS_tenant] = text_cell(tenant);
    cells[RUNS_definition_key] = text_cell(definition);
    cells[RUNS_definition_version] = cell_int(version);
    cells[RUNS_plan_digest] = cells[RUNS_head] = cell_blob((Str){ zeros, sizeof zeros });
    cells[RUNS_state] = text_cell("RUNNING");
    cells[RUNS_priority] = text_cell("normal");
    cells[RUNS_last_position] = cell_int((int64_t)it->head.position + 1);
    cells[RUNS_created_ms] = cells[RUNS_started_ms] = cells[RUNS_updated_ms] = cell_int(it->now_ms);
    cells[RUNS_failure_resolution_strategy] = text_cell("AWAIT_DECISION");
    uint64_t mask = COLUMN_BIT(RUNS_id) | COLUMN_BIT(RUNS_tenant) | COLUMN_BIT(RUNS_definition_key)
        | COLUMN_BIT(RUNS_definition_version) | COLUMN_BIT(RUNS_plan_digest) | COLUMN_BIT(RUNS_head) | COLUMN_BIT(RUNS_state)
        | COLUMN_BIT(RUNS_priority) | COLUMN_BIT(RUNS_last_position) | COLUMN_BIT(RUNS_created_ms) | COLUMN_BIT(RUNS_started_ms)
        | COLUMN_BIT(RUNS_updated_ms) | COLUMN_BIT(RUNS_failure_resolution_strategy);
    return row_change(TABLE_RUNS, ROW_INSERT, mask, cells);
}

RowChange step_row(StoreCase *it, uint64_t run_no, uint32_t step_index, uint64_t step_run_no, const char *key)
{
    Cell *cells = cells_make(it, TABLE_STEP_RUNS);
    cells[STEP_RUNS_workflow_id] = cell_int((int64_t)run_no);
    cells[STEP_RUNS_step_index] = cell_int(step_index);
    cells[STEP_RUNS_step_run_no] = cell_int((int64_t)step_run_no);
    cells[STEP_RUNS_id] = cell_text(arena_format(&it->arena, "step%017llu", (unsigned long long)step_run_no));
    cells[STEP_RUNS_step_key] = text_cell(key);
    cells[STEP_RUNS_step_type] = text_cell("task");
    cells[STEP_RUNS_status] = text_cell("RUNNING");
    cells[STEP_RUNS_attempt] = cell_int(1);
    cells[STEP_RUNS_started_ms] = cell_int(it->now_ms);
    uint64_t mask = COLUMN_BIT(STEP_RUNS_step_run_no) | COLUMN_BIT(STEP_RUNS_id) | COLUMN_BIT(STEP_RUNS_step_key)
        | COLUMN_BIT(STEP_RUNS_step_type) | COLUMN_BIT(STEP_RUNS_status) | COLUMN_BIT(STEP_RUNS_attempt)
        | COLUMN_BIT(STEP_RUNS_started_ms);
    return row_change(TABLE_STEP_RUNS, ROW_INSERT, mask, cells);
}

uint64_t commit_run(StoreCase *it, const char *tenant, const char *definition)
{
    uint64_t run_no = it->head.next_run_no++;
    RowChange change = run_row(it, run_no, tenant, definition, 1);
    EXPECT_INT(commit_changes(it, &change, 1), STORE_DURABLE);
    return run_no;
}

/* --- questions ----------------------------------------------------------------------------------------------------- */

typedef struct Gathering { StoreCase *it; Answer *answer; Cell *cells; size_t count, capacity; } Gathering;

static bool gather(void *context, const Cell *cells, uint32_t count)
{
    Gathering *gathering = context;
    Arena *arena = &gathering->it->arena;
    for (uint32_t i = 0; i < count; i++) {
        Cell cell = cells[i];
        if (cell.kind == CELL_TEXT || cell.kind == CELL_BLOB) cell.text = arena_copy(arena, cell.text);
        gathering->cells = arena_grow(arena, gathering->cells, sizeof(Cell), gathering->count, &gathering->capacity);
        gathering->cells[gathering->count++] = cell;
    }
    gathering->answer->row_count++;
    gathering->answer->cell_count = count;
    return true;
}

Answer ask(StoreCase *it, Query query, const Cell *params, uint32_t param_count, uint32_t row_count_max)
{
    Answer answer = { 0 };
    Gathering gathering = { .it = it, .answer = &answer };
    QueryAsk asked = { .query = query, .param_count = param_count, .row_count_max = row_count_max };
    for (uint32_t i = 0; i < param_count; i++) asked.params[i] = params[i];
    answer.status = store_select(it->store, &asked, gather, &gathering, &answer.error);
    EXPECT_OK(answer.status, &answer.error);
    answer.cells = gathering.cells;
    return answer;
}
