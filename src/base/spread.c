#include "base/spread.h"

const uint64_t spread_us[SPREAD_BOUND_COUNT] = { 100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000,
                                                 5000000, 30000000, 300000000, 3600000000, 86400000000 };
const uint64_t spread_sizes[SPREAD_BOUND_COUNT] = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536,
                                                    131072 };

Spread spread_of_histogram(const Histogram *histogram, const uint64_t *bounds)
{
    Spread spread = { .count = histogram->count, .sum = histogram->sum };
    unsigned i = 0;
    for (uint32_t bucket = 0; bucket < HISTOGRAM_BUCKET_COUNT; bucket++) {
        if (!histogram->buckets[bucket]) continue;
        uint64_t value = histogram_bucket_top(bucket);
        while (i < SPREAD_BOUND_COUNT && value > bounds[i]) i++;
        if (i == SPREAD_BOUND_COUNT) break;
        spread.counts[i] += histogram->buckets[bucket];
    }
    return spread;
}
