/* progress.h - how a run goes, for the person who started it or watches it.
 *
 * Fed with what the engine observes, or what was read from a store as if it had been observed. What comes out of it:
 *
 *   on a terminal     a tree of jobs and steps that is drawn in place (live/frame.h, live/screen.h). Lines that steps write are
 *                     seen below them while they run, the last few of each. When a try ends, its last lines
 *                     (LIVE_TAIL_COUNT) move above the tree and stay in the terminal's history; those of a step that failed
 *                     for good are kept for the summary instead. Earlier lines are counted, with the command that shows them:
 *                     the store has all.
 *   otherwise         lines in the format of runbook logs (live/lines.h); every line that a step writes is one
 *   --json            an object for each event and each line of a log, and one for the result
 *   --quiet           the run's id; what went wrong goes to standard error
 *
 * At the end comes a summary with what to type next (progress_result.h). While `is_quiet` is set and `is_json` is not, what is
 * taken is counted and not told: callers set that for what happened before they came.
 *
 * Owns:   its own memory and the terminal, until progress_end() or progress_free(). `plan` outlives it; so does `store` until the last take.
 * Fails:  never; what cannot be written shows in standard output's state.
 * Bounds: a frame each LIVE_FRAME_MS; LIVE_ABOVE_COUNT_MAX lines above the tree for each, further ones are counted.
 * Thread: the main one.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "cli/command.h"
#include "cli/live/model.h"
#include "cli/live/pen.h"
#include "cli/live/screen.h"
#include "cli/live/lines.h"
#include "engine/engine.h"

typedef struct Progress {
    const Args *args;
    const Plan *plan;                   /* of the caller: the file's; the model has that of the run */
    Store *store;                       /* may be NULL: then lines of earlier times are not found */
    Id run_id;
    bool is_json, is_quiet, has_run, is_over;
    bool is_terminal;                   /* a tree is drawn ... */
    bool is_left;                       /* ... and will not be drawn again */
    bool is_elsewhere;                  /* another process carries out the run, or a server */
    bool is_changed;                    /* the run is pinned to another plan than the caller's */
    uint32_t revision;                  /* that one; 0: not known */
    PenStyle style;
    LiveModel model;                    /* zero until the first events are taken */
    Screen screen;
    Lines lines;
    Buf out;                            /* of this turn */
    uint32_t above_count, above_left;   /* lines above the tree since the last frame; those that were too many */
    uint64_t drawn_version;
    int64_t drawn_ms;
    Str note;
} Progress;

void     progress_init(Progress *progress, const Args *args, const Plan *plan, Store *store);
void     progress_begin(Progress *progress, const EngineReply *reply);
void     progress_take(Progress *progress, const Observation *observation);
bool     progress_is_over(const Progress *progress);
int64_t  progress_wait_ms(const Progress *progress);        /* until it has to be drawn again; negative: not by itself */
void     progress_draw(Progress *progress);
/* Says something about the process, not the run: below the tree, or on standard error. Stays until the next one. */
void     progress_note(Progress *progress, const char *format, ...) PRINTF_LIKE(2, 3);
/* Gives the terminal back, so that others can write to it; the tree stays as it is. Harmless where there is none. */
void     progress_leave(Progress *progress);
ExitCode progress_end(Progress *progress, bool is_repeat, bool is_interrupted);
void     progress_free(Progress *progress);                 /* of one that comes to no end */

#endif
