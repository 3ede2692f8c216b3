/* histogram.h - how a quantity is spread over many orders of magnitude, in fixed space.
 *
 * Counts fall into buckets that grow with the value: sixteen for each power of two, so that a quantile is known to within a
 * sixteenth of itself, from one to the largest number there is. Values below sixteen are exact.
 *
 * Owns: nothing; a Histogram is plain memory, zeroed before its first use, and may be copied.
 * Fails: never.     Thread: one at a time.
 */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_PART_BITS 4
#define HISTOGRAM_BUCKET_COUNT ((64 - HISTOGRAM_PART_BITS + 1) << HISTOGRAM_PART_BITS)

typedef struct Histogram {
    uint64_t count, sum;
    uint64_t buckets[HISTOGRAM_BUCKET_COUNT];
} Histogram;

void histogram_add(Histogram *histogram, uint64_t value);
/* The value below or at which that share (0..1) of all lie: the upper end of its bucket; 0 where there are none. */
uint64_t histogram_quantile(const Histogram *histogram, double share);
uint64_t histogram_bucket_top(uint32_t bucket);         /* the largest value that falls into it */

#endif
