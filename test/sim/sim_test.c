/* The simulated worlds of every `make test`: many in a plain build, a few under sanitizers. test/long has more. */
#include <stdlib.h>

#include "harness/test.h"
#include "sim/simulate.h"

static uint64_t run_count(void)
{
    return getenv("MAESTRO_SANITIZED") ? 3000 : 100000;
}

TEST(whatever_fails_every_simulated_run_ends_and_its_books_are_right, "proves: R-005 F-005 C-22")
{
    SimResult result = simulate(&(SimOptions){ .seed = 1, .run_count = run_count() });
    if (!test_expect(result.is_good, __FILE__, __LINE__, "seed %llu: %s", (unsigned long long)result.seed, result.failure)) return;
    EXPECT(result.run_count >= run_count());
    EXPECT(result.engine_count > result.world_count * 2);           /* owners died and others took over */
    EXPECT(result.attempt_count > result.run_count);
    EXPECT(result.revised_count > 0);
}

TEST(a_seed_repeats_its_world_exactly, "")
{
    SimResult first = simulate(&(SimOptions){ .seed = 77, .run_count = 200 });
    SimResult second = simulate(&(SimOptions){ .seed = 77, .run_count = 200 });
    EXPECT_INT(first.event_count, second.event_count);
    EXPECT_INT(first.record_count, second.record_count);
    EXPECT_INT(first.turn_count, second.turn_count);
    EXPECT_INT(first.attempt_count, second.attempt_count);
}
