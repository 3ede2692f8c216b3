#include "base/histogram.h"

#include "harness/test.h"

TEST(histogram_knows_small_values_exactly_and_large_ones_to_a_sixteenth, "")
{
    static const uint64_t values[] = { 0, 1, 15, 16, 17, 31, 32, 33, 1000, 65535, 65536, 1000000007, UINT64_C(1) << 63, UINT64_MAX };
    for (uint32_t i = 0; i < sizeof values / sizeof *values; i++) {
        Histogram histogram = { 0 };
        histogram_add(&histogram, values[i]);
        uint64_t got = histogram_quantile(&histogram, 0.5);
        EXPECT(got >= values[i]);
        EXPECT(got - values[i] <= values[i] / 16);
        if (values[i] < 32) EXPECT_INT(got, values[i]);
    }
}

TEST(histogram_gives_quantiles_of_many, "")
{
    Histogram histogram = { 0 };
    EXPECT_INT(histogram_quantile(&histogram, 0.99), 0);
    for (uint64_t value = 1; value <= 10000; value++) histogram_add(&histogram, value);
    EXPECT_INT(histogram.count, 10000);
    EXPECT_INT(histogram.sum, 50005000);
    static const struct { double share; uint64_t value; } rows[] = { { 0, 1 }, { 0.5, 5000 }, { 0.99, 9900 }, { 1, 10000 } };
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t got = histogram_quantile(&histogram, rows[i].share);
        EXPECT(got >= rows[i].value && got <= rows[i].value + rows[i].value / 16 + 1);
    }
}
