#include "cli/policy_run.h"

#include "os/clock.h"
#include "os/entropy.h"

void policy_run_init(PolicyRun *run)
{
    *run = (PolicyRun){ .zones = zones_open(NULL) };
    arena_init(&run->arena, SIZE_MAX);
    builtin_cache_init(&run->cache);
    run->source = zones_source(run->zones);
    run->context = (RegoEvalContext){ .arena = &run->arena, .now_ns = clock_realtime_ns(), .seed = entropy_seed(),
                                      .zones = &run->source, .cache = &run->cache };
}

void policy_run_deinit(PolicyRun *run)
{
    builtin_cache_deinit(&run->cache);
    arena_deinit(&run->arena);
    zones_close(run->zones);
}
