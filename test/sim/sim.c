/* sim.c - runs simulated worlds, one seed after another: sim --seed N --runs M [--verbose]. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/simulate.h"

static int usage(void)
{
    fprintf(stderr, "usage: sim [--seed N] [--runs M] [--verbose]\n"
                    "Simulates worlds from seed N on until M runs were started. --verbose shows what happens.\n");
    return 2;
}

int main(int argc, char **argv)
{
    SimOptions options = { .seed = 1, .run_count = 1000 };
    for (int i = 1; i < argc; i++) {
        char *end = NULL;
        if (strcmp(argv[i], "--verbose") == 0) {
            options.is_verbose = true;
            continue;
        }
        bool is_seed = strcmp(argv[i], "--seed") == 0;
        if ((!is_seed && strcmp(argv[i], "--runs") != 0) || i + 1 == argc) return usage();
        uint64_t number = strtoull(argv[++i], &end, 10);
        if (*end) return usage();
        if (is_seed) options.seed = number;
        else options.run_count = number;
    }
    clock_t begin = clock();
    SimResult result = simulate(&options);
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    printf("%" PRIu64 " runs in %" PRIu64 " worlds, %" PRIu64 " events in %" PRIu64 " records, %" PRIu64 " attempts, %" PRIu64 " revised, %" PRIu64
           " owners, %" PRIu64 " turns: %.1f s, %.0f runs/s\n", result.run_count, result.world_count, result.event_count,
           result.record_count, result.attempt_count, result.revised_count, result.engine_count, result.turn_count, seconds,
           (double)result.run_count / (seconds > 0 ? seconds : 1));
    if (result.is_good) return 0;
    printf("FAILED: %s\nrepeat: sim --seed %" PRIu64 " --runs 1 --verbose\n", result.failure, result.seed);
    return 1;
}
