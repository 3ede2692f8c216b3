#include "base/histogram.h"

#define PART_COUNT (1u << HISTOGRAM_PART_BITS)

/* The power of two says which group of buckets, the bits behind the first one which of them. */
static uint32_t bucket_of(uint64_t value)
{
    if (value < PART_COUNT) return (uint32_t)value;
    uint32_t power = 63u - (uint32_t)__builtin_clzll(value), shift = power - HISTOGRAM_PART_BITS;
    return ((shift + 1) << HISTOGRAM_PART_BITS) + (uint32_t)(value >> shift) - PART_COUNT;
}

uint64_t histogram_bucket_top(uint32_t bucket)
{
    if (bucket < PART_COUNT) return bucket;
    uint32_t shift = (bucket >> HISTOGRAM_PART_BITS) - 1;
    uint64_t first = (uint64_t)(PART_COUNT + (bucket & (PART_COUNT - 1))) << shift;
    return first + ((UINT64_C(1) << shift) - 1);
}

void histogram_add(Histogram *histogram, uint64_t value)
{
    histogram->count++;
    histogram->sum += value;
    histogram->buckets[bucket_of(value)]++;
}

uint64_t histogram_quantile(const Histogram *histogram, double share)
{
    uint64_t seen = 0;
    if (!histogram->count) return 0;
    uint64_t rank = (uint64_t)(share * (double)(histogram->count - 1)) + 1;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKET_COUNT; i++) {
        seen += histogram->buckets[i];
        if (seen >= rank) return histogram_bucket_top(i);
    }
    return histogram_bucket_top(HISTOGRAM_BUCKET_COUNT - 1);
}
