/* progress_result.h - how a run ended: for people, with what to type next, and as JSON.
 *
 * Each failed step comes with its reason, its class and cause, how often it was tried, the last lines that it wrote, and the
 * command that shows all of them. Commands are whole: they have the store and the parameters that this one was given.
 *
 * Owns:   nothing.     Fails: never.     Bounds: LIVE_FAILED_COUNT_MAX failed steps are told one by one.
 * Thread: the main one.
 */
#ifndef CLI_PROGRESS_RESULT_H
#define CLI_PROGRESS_RESULT_H

#include "cli/command.h"
#include "cli/live/model.h"
#include "cli/live/pen.h"

typedef struct ResultOptions {
    const Args *args;
    Str run_id;
    PenStyle style;
    uint32_t width;                 /* UINT32_MAX: no end */
    int64_t now_ms;
    bool is_repeat;                 /* it had ended before it was started this time */
    bool is_changed;                /* the file is no longer what the run is pinned to */
    uint32_t revision;              /* the one that it is pinned to; 0: not known */
    bool is_interrupted;            /* it has not ended */
    bool is_elsewhere;              /* somebody else carries it out: who resumes it is refused unless it is paused */
    bool is_forgotten;              /* its store ends with this process */
    bool is_brief;                  /* what went wrong, and nothing else */
} ResultOptions;

void  result_print(const LiveModel *model, const ResultOptions *options, Buf *out);
Value result_value(Arena *arena, const LiveModel *model, const ResultOptions *options);

#endif
