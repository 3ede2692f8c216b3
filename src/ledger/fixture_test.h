/* fixture_test.h - a small ledger for the tests of this folder: three runs and the log itself, taking turns.
 *
 * Everything in it is fixed, so that its bytes are the same on every machine. It may be changed by a test, and made again.
 */
#ifndef LEDGER_FIXTURE_TEST_H
#define LEDGER_FIXTURE_TEST_H

#include "base/arena.h"
#include "ledger/record.h"
#include "ledger/verify.h"

#define FIXTURE_LOG 1u
#define FIXTURE_ROW_COUNT_MAX 32u
#define FIXTURE_RUN_COUNT 3u
#define FIXTURE_NOW_MS INT64_C(1763251200123)

typedef struct Fixture {
    Arena arena;
    LedgerRow rows[FIXTURE_ROW_COUNT_MAX];
    uint32_t row_count;
    RunHead runs[FIXTURE_RUN_COUNT + 1];        /* by number; 0 is the log itself and has no row */
    LedgerHead head;
    int64_t now_ms;                             /* of the next record */
} Fixture;

void fixture_init(Fixture *fixture);            /* without records */
void fixture_make(Fixture *fixture);            /* with its records: one of them has lost its payload, as an event says */
void fixture_deinit(Fixture *fixture);

/* Appends a record of that run. */
void fixture_add(Fixture *fixture, uint64_t run_no, const Event *events, uint32_t event_count, const Str *texts,
                 uint32_t text_count);
/* Appends a record that is already bytes, with a hash that fits. */
void fixture_add_bytes(Fixture *fixture, uint64_t run_no, uint32_t event_count, Str record, Str payload);

#endif
