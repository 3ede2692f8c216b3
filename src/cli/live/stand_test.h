/* stand_test.h - a plan and a model for the tests of this folder, without a compiler and an engine.
 *
 * Owns:   everything lives in the stand until stand_end().     Fails: never.     Thread: one at a time.
 */
#ifndef CLI_LIVE_STAND_TEST_H
#define CLI_LIVE_STAND_TEST_H

#include "cli/live/frame.h"

typedef struct Stand {
    Arena arena;
    Plan plan;
    LiveModel model;
    Buf out;
    int64_t now;
    uint64_t number;                    /* of the last event */
} Stand;

/* Jobs as "fetch: one two; build: flaky": a job without a colon is a step without a job. A name that begins with '>' is inside
 * the sequence before it. */
void stand_begin(Stand *stand, const char *jobs);
void stand_many(Stand *stand, uint32_t job_count, uint32_t step_count);     /* of each job; 0: one step without a job each */
void stand_end(Stand *stand);

void stand_event(Stand *stand, Event event);
void stand_step(Stand *stand, EventKind kind, uint32_t step);
void stand_start(Stand *stand, uint32_t step);          /* dispatched and running, attempt 1 */
void stand_fail(Stand *stand, uint32_t step, const char *why);
void stand_log(Stand *stand, uint32_t step, const char *text);
Str  stand_frame(Stand *stand, uint32_t width, uint32_t height, PenStyle style);

#endif
