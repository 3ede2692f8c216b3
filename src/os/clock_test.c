#include "os/clock.h"

#include "harness/test.h"
#include "os/entropy.h"

TEST(clocks_go_forward, "")
{
    int64_t year_2024_ns = INT64_C(1704067200) * 1000000000;
    EXPECT(clock_realtime_ns() > year_2024_ns);
    uint64_t before = clock_monotonic_ns();
    EXPECT(clock_monotonic_ns() >= before);
}

TEST(seeds_differ, "")
{
    EXPECT(entropy_seed() != entropy_seed());
}
