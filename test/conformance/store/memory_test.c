/* memory_test.c - the faults that the memory store has on demand. */
#include <string.h>

#include "store/memory/memory_store.h"
#include "store_case.h"

typedef struct Script { MemoryFault fault; uint64_t at; bool is_read; uint32_t held; } Script;

static MemoryFault scripted(void *context, bool is_read, uint64_t number)
{
    Script *script = context;
    if (is_read != script->is_read || number != script->at) return MEMORY_FAULT_NONE;
    if (script->fault == MEMORY_FAULT_HOLD && script->held++ >= 3) return MEMORY_FAULT_NONE;
    return script->fault;
}

static void begin(StoreCase *it, Script *script)
{
    *it = (StoreCase){ .adapter = ADAPTER_MEMORY, .now_ms = 1000 };
    arena_init(&it->arena, SIZE_MAX);
    it->store = memory_store_new(&(MemoryOptions){ scripted, script });
    Error err;
    EXPECT_OK(store_own(it->store, 1, &it->head, &err), &err);
}

static void end(StoreCase *it)
{
    store_close(it->store);
    arena_deinit(&it->arena);
}

/* Submits three batches, one run each, and collects how they end. */
static void three_batches(StoreCase *it, CommitOutcome outcomes[3])
{
    for (uint32_t i = 0; i < 3; i++) {
        RowChange *change = ARENA_NEW(&it->arena, RowChange);
        *change = run_row(it, i + 1, "default", "orders", 1);
        Batch *batch = batch_make(it, &(BatchPlan){ .record_count = 1, .run_no = i + 1, .changes = change, .change_count = 1 });
        EXPECT(store_submit(it->store, batch));
    }
    for (uint32_t i = 0; i < 3; i++) {
        Completion completion = { 0 };
        while (!store_poll(it->store, &completion)) { }
        outcomes[i] = completion.outcome;
        if (completion.outcome != STORE_DURABLE) EXPECT(completion.error.text[0] != 0);
    }
}

TEST(faults_of_commits_happen_where_they_are_wanted, "")
{
    static const struct { const char *name; MemoryFault fault; CommitOutcome want[3]; uint32_t there; } rows[] = {
        { "none", MEMORY_FAULT_NONE, { STORE_DURABLE, STORE_DURABLE, STORE_DURABLE }, 3 },
        { "held back", MEMORY_FAULT_HOLD, { STORE_DURABLE, STORE_DURABLE, STORE_DURABLE }, 3 },
        { "refused, and what stands on it", MEMORY_FAULT_REFUSE, { STORE_DURABLE, STORE_REFUSED, STORE_REFUSED }, 1 },
        { "unknown and lost", MEMORY_FAULT_LOSE, { STORE_DURABLE, STORE_UNKNOWN, STORE_REFUSED }, 1 },
        { "unknown and kept", MEMORY_FAULT_KEEP, { STORE_DURABLE, STORE_UNKNOWN, STORE_REFUSED }, 2 },
        { "fenced", MEMORY_FAULT_FENCE, { STORE_DURABLE, STORE_FENCED, STORE_FENCED }, 1 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        StoreCase it;
        Script script = { .fault = rows[i].fault, .at = 2 };
        begin(&it, &script);
        CommitOutcome outcomes[3];
        three_batches(&it, outcomes);
        for (int j = 0; j < 3; j++) EXPECT_INT(outcomes[j], rows[i].want[j]);
        EXPECT_INT(ASK(&it, QUERY_RUNS_OPEN, cell_int(0)).row_count, rows[i].there);
        Error err;
        EXPECT_OK(store_own(it.store, 1, &it.head, &err), &err);
        EXPECT_INT(it.head.position, rows[i].there);
        RowChange change = run_row(&it, 9, "default", "orders", 1);
        EXPECT_INT(commit_changes(&it, &change, 1), STORE_DURABLE);
        end(&it);
    }
}

TEST(a_crash_keeps_what_was_written_and_loses_the_rest, "")
{
    for (uint32_t written = 0; written <= 4; written++) {
        StoreCase it;
        Script script = { 0 };
        begin(&it, &script);
        for (uint32_t i = 0; i < 3; i++) {
            RowChange *change = ARENA_NEW(&it.arena, RowChange);
            *change = run_row(&it, i + 1, "default", "orders", 1);
            EXPECT(store_submit(it.store, batch_make(&it, &(BatchPlan){ .record_count = 1, .changes = change, .change_count = 1 })));
        }
        EXPECT(store_read(it.store, &(QueryAsk){ QUERY_RUN, { cell_int(1) }, 1, 0 }, 1));
        EXPECT_INT(memory_store_crash(it.store, written), 3);
        Completion none;
        EXPECT(!store_poll(it.store, &none));
        Error err;
        EXPECT_OK(store_own(it.store, 1, &it.head, &err), &err);
        EXPECT_INT(it.head.position, written < 3 ? written : 3);
        EXPECT_INT(it.head.epoch, 2);
        end(&it);
    }
}

TEST(a_read_can_fail_or_be_held_back, "")
{
    StoreCase it;
    Script script = { .fault = MEMORY_FAULT_REFUSE, .at = 1, .is_read = true };
    begin(&it, &script);
    EXPECT(store_read(it.store, &(QueryAsk){ QUERY_RUN, { cell_int(1) }, 1, 0 }, 5));
    Completion completion;
    REQUIRE(store_poll(it.store, &completion));
    EXPECT_INT(completion.read_id, 5);
    EXPECT_INT(completion.answer->status, ERR_UNAVAILABLE);
    script = (Script){ .fault = MEMORY_FAULT_HOLD, .at = 2, .is_read = true };
    EXPECT(store_read(it.store, &(QueryAsk){ QUERY_RUN, { cell_int(1) }, 1, 0 }, 6));
    for (int i = 0; i < 3; i++) EXPECT(!store_poll(it.store, &completion));
    EXPECT(store_poll(it.store, &completion));
    EXPECT_INT(completion.answer->status, OK);
    ROW("there is no file to copy");
    Error err;
    EXPECT_INT(store_backup(it.store, STR("copy.db"), &err), ERR_UNAVAILABLE);
    end(&it);
}
