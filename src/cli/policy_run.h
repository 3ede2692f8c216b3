/* policy_run.h - what an evaluation at the command line is given: time, chance, zones and memory.
 *
 * The clock is read once, when the command begins: everything that one command evaluates happens at one moment.
 *
 * Owns:   its arena, zones and cache, until policy_run_deinit().     Thread: one for each run.
 */
#ifndef CLI_POLICY_RUN_H
#define CLI_POLICY_RUN_H

#include "os/zone.h"
#include "rego/builtins/cache.h"
#include "rego/rego.h"

typedef struct PolicyRun {
    Arena arena;                    /* of one evaluation */
    Zones *zones;
    ZoneSource source;
    BuiltinCache cache;
    RegoEvalContext context;        /* points into the above: a run is not moved */
} PolicyRun;

void policy_run_init(PolicyRun *run);
void policy_run_deinit(PolicyRun *run);

#endif
