/* random.h - chance for property tests: a named seed gives the same numbers on every machine.
 *
 * A test begins with a fixed seed and reports the round that failed, so that each failure can be run again.
 */
#ifndef TEST_HARNESS_RANDOM_H
#define TEST_HARNESS_RANDOM_H

#include <stdint.h>

typedef struct Random {
    uint64_t state;                     /* not 0 */
} Random;

/* xorshift64*: no secret depends on it. */
static inline uint64_t random_next(Random *random)
{
    random->state ^= random->state >> 12;
    random->state ^= random->state << 25;
    random->state ^= random->state >> 27;
    return random->state * UINT64_C(2685821657736338717);
}

static inline uint32_t random_below(Random *random, uint32_t limit)
{
    return (uint32_t)((random_next(random) >> 32) * limit >> 32);
}

#endif
