/* fixture_test.h - plans for the tests of this folder: read from golden documents, or made by rule.
 *
 * Made plans have jobs named j0, j1, ... of one task each (t0, t1, ...), so that a test finds them in a drawing.
 *
 * Owns:   everything lives in the fixture's arena until fixture_end().
 * Fails:  as failed expectations of the running test.     Thread: one at a time.
 */
#ifndef CLI_DRAW_FIXTURE_TEST_H
#define CLI_DRAW_FIXTURE_TEST_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/draw/draw.h"

typedef struct Fixture {
    Arena arena, scratch;
    Buf json, out;
    Plan plan;
} Fixture;

/* A made plan: jobs, and what leads to them. */
typedef struct FixtureShape {
    uint32_t job_count;
    uint32_t need_count_max;            /* for each job, at most so many of those before it */
    uint32_t reach;                     /* how far back those are */
    uint32_t loop_count;
    bool has_branches;                  /* every third job is a branch */
    uint64_t seed;
} FixtureShape;

void fixture_begin(Fixture *fixture);
void fixture_end(Fixture *fixture);

bool fixture_read(Fixture *fixture, Str json);
/* The same of a text with single quotes, which become double ones. */
bool fixture_text(Fixture *fixture, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool fixture_golden(Fixture *fixture, const char *name);            /* test/golden/draw/NAME.json */
bool fixture_random(Fixture *fixture, const FixtureShape *shape);
bool fixture_chain(Fixture *fixture, uint32_t count);
bool fixture_fan(Fixture *fixture, uint32_t count);                 /* one job, `count` after it, one after those */
bool fixture_deep(Fixture *fixture, uint32_t count);                /* a step tree of sequences inside of one another */

/* The drawing, valid until the next one; empty and a failed expectation where it fails. */
Str fixture_draw(Fixture *fixture, const DrawOptions *options);

#endif
