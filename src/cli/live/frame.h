/* frame.h - a model as lines of text for a terminal of some size: what is drawn, and nothing of how.
 *
 *   order-fulfillment  run 0Fq…  running
 *   ✓ validate.validate-order      1.2s
 *   ● build                          4s   1/3
 *     ✓ compile                    2.1s
 *     ● test                         2s   attempt 2
 *       │ 14 of 80
 *     ○ package
 *   [██████████░░░░░░░░░░░░░░░░░░░░] 2/5   1 running   4s
 *
 * A tree that is too tall gives way in this order, each only as far as needed: lines of logs; the steps of jobs that have
 * ended or not begun; in the other jobs the steps that have ended or not begun; jobs that have ended or not begun, which are
 * counted in one line each; then steps under way are counted, and failed ones have a third of the room.
 *
 * Owns:   nothing; the lines are written to the buffer given.     Fails: never.
 * Bounds: never more lines than the height less one, so that drawing does not scroll, and never more columns than the width.
 *         A frame costs its rows and the steps under way; whole trees are tried up to LIVE_TREE_COUNT_MAX.
 * Thread: pure, any.
 */
#ifndef CLI_LIVE_FRAME_H
#define CLI_LIVE_FRAME_H

#include "cli/live/model.h"
#include "cli/live/pen.h"

typedef struct FrameOptions {
    uint32_t width, height;         /* of the terminal */
    PenStyle style;
    int64_t now_ms;
    Str run_id;
    Str note;                       /* a line below all; empty for none */
} FrameOptions;

/* Appends the lines, each ended by a line feed; returns how many. */
uint32_t frame_print(const LiveModel *model, const FrameOptions *options, Buf *out);

/* The sign and the tint of a step's state. */
Str  state_sign(const LiveStep *step, bool ascii);
Tint state_tint(const LiveStep *step);

#endif
