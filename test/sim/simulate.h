/* simulate.h - many worlds, one after another.
 *
 * Owns: nothing.     Fails: the first world that goes wrong ends it; its seed repeats it.     Thread: one.
 */
#ifndef TEST_SIM_SIMULATE_H
#define TEST_SIM_SIMULATE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct SimOptions {
    uint64_t seed;                  /* of the first world; the next has the next number */
    uint64_t run_count;             /* no world begins once so many runs were started */
    bool is_verbose;
} SimOptions;

typedef struct SimResult {
    uint64_t run_count, world_count, event_count, record_count, attempt_count, engine_count, turn_count, revised_count;
    uint64_t seed;                  /* of the last world */
    bool is_good;
    char failure[1024];
} SimResult;

SimResult simulate(const SimOptions *options);

#endif
