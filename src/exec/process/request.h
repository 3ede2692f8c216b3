/* request.h - an attempt made ready for a process: its arguments, variables, limits, and the document it reads.
 *
 * This is the contract of a process runner on the way in (docs/runners.md has it whole):
 *
 *   program      settings.command, a list, with the task's args behind it; a text is a line for /bin/sh, args being "$@"
 *                the runner `shell`: input.command or input.script (or input, a text) for /bin/sh, args as $1, $2, ...;
 *                a list is a program and its arguments; with neither, args are
 *   variables    PATH HOME LANG TZ of the engine, those that `env` of the settings names or sets, and MAESTRO_*
 *   limits       resources.memory_mb; resources.cpu times resources.runtime of processor time; runtime
 *   document     attempt_document(), on standard input
 *
 * Owns:   one heap block a request, freed by request_free().
 * Fails:  never by itself: a request that cannot be made says why in `error`, and the attempt fails with it.
 * Bounds: PROCESS_REQUEST_SIZE_MAX, PROCESS_ARG_COUNT_MAX, PROCESS_VARIABLE_SIZE_MAX.     Thread: the engine's.
 */
#ifndef EXEC_PROCESS_REQUEST_H
#define EXEC_PROCESS_REQUEST_H

#include "base/buf.h"
#include "engine/executor.h"
#include "exec/process/spawner.h"

#define PROCESS_EVENTS_FD 3
#define PROCESS_ACKS_FD 4

typedef struct Request {
    AttemptId id;
    SpawnRequest spawn;                 /* its texts point into `texts` */
    Buf texts, document;
    int64_t left_ms;                    /* until it has to be ended; INT64_MAX: never */
    bool is_runtime;                    /* ... by the job's runtime, and not by its deadline */
    Cause cause;                        /* CAUSE_NONE; else it cannot be carried out: `error` says why */
    Error error;
    char output_path[];                 /* where the program may write its output */
} Request;

Request *request_make(const Attempt *attempt, const char *output_path);
void     request_free(Request *request);

#endif
