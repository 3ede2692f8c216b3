/* spread.h - how many of something lie below each of a few bounds: what a histogram of Prometheus shows.
 *
 * Cheap enough for what happens a hundred thousand times a second: one comparison a bound, no lock, no division. Whoever counts owns the
 * memory; whoever shows it copies it.
 *
 * Owns: nothing; a Spread is plain memory, zeroed before its first use, and may be copied.
 * Fails: never.     Thread: one at a time.
 */
#ifndef BASE_SPREAD_H
#define BASE_SPREAD_H

#include <stdint.h>

#include "base/histogram.h"

#define SPREAD_BOUND_COUNT 18u

/* counts[i]: above the bound before the i-th and not above the i-th. What is above all is in `count` alone. */
typedef struct Spread { uint64_t counts[SPREAD_BOUND_COUNT], count, sum; } Spread;

extern const uint64_t spread_us[SPREAD_BOUND_COUNT];        /* times in microseconds: from a tenth of a millisecond to a day */
extern const uint64_t spread_sizes[SPREAD_BOUND_COUNT];     /* from 1 in powers of two */

/* `bounds` is one of those above, the same one every time. */
static inline void spread_add(Spread *spread, const uint64_t *bounds, uint64_t value)
{
    unsigned i = 0;
    while (i < SPREAD_BOUND_COUNT && value > bounds[i]) i++;
    if (i < SPREAD_BOUND_COUNT) spread->counts[i]++;
    spread->count++;
    spread->sum += value;
}

/* The same of what a histogram has counted: right to within one of its buckets. */
Spread spread_of_histogram(const Histogram *histogram, const uint64_t *bounds);

#endif
