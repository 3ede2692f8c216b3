/* limits_probe.h - what this machine and its disk can do at best, to hold measurements of the engine against.
 *
 * Two numbers. How many events a second a bare loop over SQLite writes: the same file settings as a store has, prepared
 * statements, one thread, 256 events a transaction, no hash, no encoding; an event inserts a 300-byte row by position,
 * updates a run by its number and inserts or updates a step. And how long it takes until 4 KiB that were appended to a file
 * are on the disk. Both leave nothing behind in the directory.
 *
 * Fails:  as SQLite does; ERR_UNAVAILABLE where a file cannot be written.     Thread: any.
 */
#ifndef STORE_SQLITE_LIMITS_PROBE_H
#define STORE_SQLITE_LIMITS_PROBE_H

#include <stdint.h>

#include "base/status.h"

MUST_USE Status limits_probe_events(const char *directory, int64_t duration_ms, double *out_events_per_s, Error *err);
MUST_USE Status limits_probe_sync(const char *directory, uint32_t count, double *out_p50_us, Error *err);

#endif
