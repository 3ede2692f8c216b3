/* progress.h - how a run goes, for the person who started it.
 *
 * Fed with what the engine observes. On a terminal it will be a tree that is drawn in place; otherwise each event is a line in
 * the format of runbook logs, "[INFO] Starting step: build"; with --json each event is an object.
 *
 * Owns:   its own memory, until progress_end().     Fails: never; what cannot be written shows in standard output's state.
 * Thread: the main one.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "cli/command.h"
#include "engine/engine.h"

typedef struct Progress {
    const Args *args;
    const Plan *plan;
    Store *store;
    Id run_id;
    bool is_json, is_quiet, has_run, is_over;
    uint8_t run_state;
    int64_t started_ms, ended_ms;
    uint32_t done_count, failed_count, skipped_count;
    Str failure;                    /* in the arena of the arguments */
} Progress;

void     progress_init(Progress *progress, const Args *args, const Plan *plan, Store *store);
void     progress_begin(Progress *progress, const EngineReply *reply);
void     progress_take(Progress *progress, const Observation *observation);
bool     progress_is_over(const Progress *progress);
int64_t  progress_wait_ms(const Progress *progress);        /* until it has to be drawn again; negative: not by itself */
void     progress_draw(Progress *progress);
ExitCode progress_end(Progress *progress, bool is_repeat, bool is_interrupted);

#endif
