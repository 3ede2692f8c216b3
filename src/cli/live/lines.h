/* lines.h - how a run goes as lines for files and other programs, in the format of runbook logs.
 *
 *   [INFO] Starting artifacts: db_findings, log_findings (parallel)
 *   [INFO] Completed artifact: db_findings (1.2s)
 *   [ERROR] Failed artifact: log_findings - ConnectionError
 *   [WARN] Skipping artifact: combined_findings (dependency failed)
 *
 *   [INFO] Polling step: wait.payment (poll 3 of 576, next in 5m00s)
 *   [INFO] Run awaits trigger: manager-approval until 2026-11-23 02:15:07 UTC; maestro approve 0FqABCDEFGHIJKLMNOPQR
 *
 * Steps of workflows and step trees are "step" in place of "artifact". Steps that start in the same turn share a line. Names
 * and texts from outside are cleaned: a line is one line, and moves no cursor.
 *
 * Owns:   the names of steps that start, until lines_flush().     Fails: never.     Thread: the main one.
 */
#ifndef CLI_LIVE_LINES_H
#define CLI_LIVE_LINES_H

#include "cli/live/model.h"

typedef struct Lines {
    Str run_id;                     /* for what to type; empty: left out */
    uint32_t starts[LIVE_NAME_COUNT_MAX];
    uint32_t start_count;           /* may be more than are named */
} Lines;

/* Before the event is folded: how long a step took is in the model. */
void lines_event(Lines *lines, Buf *out, const LiveModel *model, const Event *event, int64_t now_ms);
/* What an event says of the run itself, as a sentence: "Trigger received: manager-approval from user:ana". False: nothing. A
 * warning where *out_is_warning. */
bool lines_run_words(Buf *out, const LiveModel *model, const Event *event, bool *out_is_warning);
void lines_log(Lines *lines, Buf *out, const LiveModel *model, uint32_t step, Str text, bool is_error);
void lines_flush(Lines *lines, Buf *out, const LiveModel *model);       /* of a turn */
/* "Execution complete: 3 succeeded, 1 failed, 1 skipped", the last words of every run. */
void lines_complete(Buf *out, const LiveModel *model);

#endif
