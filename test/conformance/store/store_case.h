/* store_case.h - what the cases of the store suite share: a store of each adapter, batches that are quickly made.
 *
 *   STORE_CASE(a_batch_is_seen_once_it_is_durable, "proves: R-066")
 *   {
 *       commit_run(it, "default", "orders");
 *       ...
 *   }
 *
 * A case is written once and run for every adapter, as a test of its own: a_batch..._on_memory, a_batch..._on_sqlite.
 *
 * Owns: a StoreCase owns its store, its directory and its memory; store_case_end() removes them.     Thread: one at a time.
 */
#ifndef TEST_CONFORMANCE_STORE_STORE_CASE_H
#define TEST_CONFORMANCE_STORE_STORE_CASE_H

#include "base/arena.h"
#include "harness/test.h"
#include "view/store.h"

typedef enum Adapter { ADAPTER_MEMORY, ADAPTER_SQLITE, ADAPTER_COUNT } Adapter;

typedef struct StoreCase {
    Adapter adapter;
    Store *store;
    char directory[64], path[128];      /* of a SQLite file */
    LogHead head;                       /* where the next batch begins */
    int64_t now_ms;
    Arena arena;
} StoreCase;

#define STORE_CASE(name, proves) \
    static void store_##name(StoreCase *it); \
    TEST(name##_on_memory, proves) { store_case_run(ADAPTER_MEMORY, store_##name); } \
    TEST(name##_on_sqlite, proves) { store_case_run(ADAPTER_SQLITE, store_##name); } \
    static void store_##name(StoreCase *it)

void store_case_run(Adapter adapter, void (*run)(StoreCase *it));
bool store_case_begin(StoreCase *it, Adapter adapter);      /* opened and owned; false: a failed expectation was reported */
void store_case_end(StoreCase *it);
bool store_case_reopen(StoreCase *it);                      /* SQLite: closed, opened and owned again */

/* --- batches --- */
typedef struct BatchPlan {
    uint32_t record_count;
    uint64_t run_no;                    /* of its records */
    Str payload;                        /* of each record */
    const RowChange *changes;
    uint32_t change_count;
    uint64_t epoch;                     /* 0: ours */
    uint64_t first_position;            /* 0: where the log ends */
} BatchPlan;

/* In the case's arena. The head moves on as if it were durable. */
Batch *batch_make(StoreCase *it, const BatchPlan *plan);
/* Submits and waits. */
CommitOutcome batch_commit(StoreCase *it, Batch *batch, Error *err);
CommitOutcome commit_changes(StoreCase *it, const RowChange *changes, uint32_t count);
/* Waits for the next completion; false after some seconds. */
bool completion_wait(StoreCase *it, Completion *out);

/* --- rows --- */
/* Cells are by column and begin as null. */
Cell *cells_make(StoreCase *it, Table table);
RowChange row_change(Table table, RowOp op, uint64_t mask, const Cell *cells);
/* A run with all that is required, of that tenant and definition, started at it->now_ms. */
RowChange run_row(StoreCase *it, uint64_t run_no, const char *tenant, const char *definition, uint32_t version);
RowChange step_row(StoreCase *it, uint64_t run_no, uint32_t step_index, uint64_t step_run_no, const char *key);
Str run_id(StoreCase *it, uint64_t run_no);                 /* 21 characters */
uint64_t commit_run(StoreCase *it, const char *tenant, const char *definition);     /* its run_no */

/* --- questions --- */
typedef struct Answer { Status status; Error error; const Cell *cells; uint32_t row_count, cell_count; } Answer;

Answer ask(StoreCase *it, Query query, const Cell *params, uint32_t param_count, uint32_t row_count_max);
#define ASK(it, query, ...) \
    ask(it, query, (const Cell[]){ __VA_ARGS__ }, sizeof((const Cell[]){ __VA_ARGS__ }) / sizeof(Cell), 0)
static inline Cell answer_cell(const Answer *answer, uint32_t row, uint32_t column)
{
    return answer->cells[(size_t)row * answer->cell_count + column];
}
static inline Cell text_cell(const char *text) { return cell_text(str_of(text)); }

#endif
