/* sqlite_case.h - what the cases of a SQLite file share: SQL as a stranger would type it, a run with results.
 *
 * Owns: answers live in the case's arena.     Thread: one at a time.
 */
#ifndef TEST_CONFORMANCE_STORE_SQLITE_CASE_H
#define TEST_CONFORMANCE_STORE_SQLITE_CASE_H

#include "store_case.h"

#define SQLITE_CASE(name, proves) \
    static void sqlite_##name(StoreCase *it); \
    TEST(name, proves) { store_case_run(ADAPTER_SQLITE, sqlite_##name); } \
    static void sqlite_##name(StoreCase *it)

/* The first cell of the first row, or "error: ...", as text. */
Str sql(StoreCase *it, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool is_error(Str answer);
bool has(Str text, const char *part);
/* A run with a completed, a failed and a skipped step, with payloads. */
void make_results(StoreCase *it);
/* Opens and closes it. */
MUST_USE Status try_open(const char *path, bool is_created, Error *err);
/* Counts, as a callback of store_check(). */
void note_finding(void *count, Str text);

#endif
