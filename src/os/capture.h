/* capture.h - another program run to its end, with what it printed.
 *
 * For commands that ask a program and go on with its answer. It has nothing to read, one time limit over everything, and
 * one bound for each of its two outputs; a program that crosses one of them is killed with all that it started.
 *
 * Owns:   what was printed lives in the arena.
 * Fails:  as process_start(); ERR_LIMIT by time or size, the text says which; ERR_UNAVAILABLE without descriptors.
 * Bounds: those of CaptureLimits.     Thread: as process_start().
 */
#ifndef OS_CAPTURE_H
#define OS_CAPTURE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"
#include "os/process.h"

typedef struct CaptureLimits {
    uint64_t timeout_ms;
    size_t out_size_max, err_size_max;
} CaptureLimits;

typedef struct Captured {
    int exit_status;                /* 128 and the signal's number where one ended it */
    Str out, err;
} Captured;

/* `spec` says everything but the descriptors. */
MUST_USE Status capture_run(Arena *arena, const ProcessSpec *spec, const CaptureLimits *limits, Captured *out, Error *err);

#endif
