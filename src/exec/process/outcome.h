/* outcome.h - what an attempt came to, from how its process ended and what it left.
 *
 *   exit 0    success; the output is what MAESTRO_OUTPUT holds, null where there is none
 *   exit 65   the input is wrong            exit 75   try again             exit 77   a policy forbids it
 *   other     failed; the retries of the task say what that means
 *
 * Owns:   the report borrows from `arena`.     Fails: never; what is wrong is the report.
 * Bounds: OUTPUT_SIZE_MAX.     Thread: one at a time.
 */
#ifndef EXEC_PROCESS_OUTCOME_H
#define EXEC_PROCESS_OUTCOME_H

#include "base/arena.h"
#include "core/command.h"
#include "exec/process/spawner.h"

typedef struct Outcome {
    const SpawnAnswer *answer;
    const char *output_path;        /* read, and removed */
    Cause ended_by;                 /* CAUSE_NONE, or why it was ended by us */
    bool is_runtime;                /* CAUSE_TIMEOUT: by the runtime of its job */
    Str said;                       /* the last lines of its standard error */
} Outcome;

Report outcome_report(Arena *arena, const Outcome *outcome);

#endif
