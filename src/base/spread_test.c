#include "base/spread.h"

#include "harness/test.h"

TEST(a_spread_counts_each_value_below_the_first_bound_that_is_not_under_it, "")
{
    static const struct { uint64_t value; unsigned bound; } rows[] = {
        { 0, 0 }, { 100, 0 }, { 101, 1 }, { 1000, 3 }, { 86400000000u, 17 }, { 86400000001u, SPREAD_BOUND_COUNT },
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        Spread spread = { 0 };
        spread_add(&spread, spread_us, rows[i].value);
        EXPECT_INT(spread.count, 1);
        EXPECT_INT(spread.sum, rows[i].value);
        for (unsigned k = 0; k < SPREAD_BOUND_COUNT; k++) EXPECT_INT(spread.counts[k], k == rows[i].bound);
    }
}

TEST(a_histogram_becomes_a_spread_to_within_one_of_its_buckets, "")
{
    Histogram histogram = { 0 };
    for (uint64_t value = 1; value <= 2000; value++) histogram_add(&histogram, value);
    histogram_add(&histogram, UINT64_MAX / 2);
    Spread spread = spread_of_histogram(&histogram, spread_us);
    EXPECT_INT(spread.count, 2001);
    uint64_t below = 0;
    for (unsigned i = 0; i < SPREAD_BOUND_COUNT; i++) {
        below += spread.counts[i];
        uint64_t right = spread_us[i] < 2000 ? spread_us[i] : 2000;
        EXPECT(below <= right && below >= right - right / 16 - 1);
    }
    EXPECT_INT(below, 2000);
}
