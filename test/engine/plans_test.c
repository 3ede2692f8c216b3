/* The plans that an engine has in memory: bounded by their bytes, and never taken from whoever uses them. */
#include "engine/house.h"

#include "base/buf.h"
#include "base/limits.h"
#include "engine/internal.h"
#include "harness/test.h"

enum { PLAN_COUNT = 48, STEP_COUNT = 1500 };

/* After its first step it waits for somebody, and leaves the memory. */
static void print_large(Buf *out, int number)
{
    buf_format(out, "workflow: large%d\njobs:\n  a:\n    tasks:\n      - { name: ask, run: noop, pause_after: { trigger: boss } }\n", number);
    for (int i = 1; i < STEP_COUNT; i++) buf_format(out, "      - { name: t%d, run: noop }\n", i);
    buf_char(out, '\0');
}

TEST(plans_that_no_run_in_memory_uses_leave_beyond_their_bytes_and_are_read_again_when_their_runs_go_on, "")
{
    House house;
    uint64_t runs[PLAN_COUNT];
    house_open(&house);
    const PlanCache *plans = &house.engine->plans;
    for (int i = 0; i < PLAN_COUNT; i++) {
        Buf text;
        buf_init(&text, SIZE_MAX);
        print_large(&text, i);
        runs[i] = house_start(&house, text.ptr);
        buf_deinit(&text);
    }
    EXPECT_INT(house.taken_count, PLAN_COUNT);
    EXPECT_INT(plans->count, PLAN_COUNT);                   /* each has an attempt under way: none is given up */
    EXPECT(plans->size > ENGINE_PLAN_SIZE_MAX);
    for (int i = 0; i < PLAN_COUNT; i++) house_report(&house, CAUSE_NONE, NULL);
    EXPECT(plans->size <= ENGINE_PLAN_SIZE_MAX);
    EXPECT(plans->count > 0 && plans->count < PLAN_COUNT);
    for (int i = 0; i < PLAN_COUNT; i++) {
        house_expect(&house, runs[i], "PAUSED", "boss");
        EXPECT_INT(house_command(&house, runs[i], (Command){ .kind = COMMAND_RESUME }, NULL), OK);
        house_expect(&house, runs[i], "RUNNING", "");
    }
    EXPECT_INT(house.taken_count, 2 * PLAN_COUNT);
    EXPECT_INT(plans->count, PLAN_COUNT);
    house_close(&house);
}
