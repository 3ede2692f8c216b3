#include "sim/simulate.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "sim/watch.h"

/* Our own mistakes end the process (base/check.h): the seed is told all the same. */
static uint64_t seed_now;

static void tell_seed(int sign)
{
    char text[96];
    int size = snprintf(text, sizeof text, "repeat: sim --seed %" PRIu64 " --runs 1 --verbose\n", seed_now);
    if (size > 0 && write(STDERR_FILENO, text, (size_t)size) < 0) _exit(3);
    signal(sign, SIG_DFL);
    raise(sign);
}

SimResult simulate(const SimOptions *options)
{
    signal(SIGABRT, tell_seed);
    signal(SIGSEGV, tell_seed);
    SimResult result = { .seed = options->seed, .is_good = true };
    World *world = malloc(sizeof *world);
    CHECK(world);
    for (uint64_t seed = options->seed; result.is_good && result.run_count < options->run_count; seed++) {
        world_init(world, seed, options->is_verbose);
        result.seed = seed_now = seed;
        result.is_good = world_run(world);
        result.world_count++;
        result.run_count += world->started_count;
        result.record_count += world->watch->record_count;
        result.revised_count += world->watch->revised_count;
        result.event_count += world->watch->event_count;
        result.engine_count += world->engine_count;
        result.turn_count += world->turn_count;
        result.attempt_count += world->handed_count;
        memcpy(result.failure, world->failure, sizeof result.failure);
        world_deinit(world);
    }
    free(world);
    return result;
}
