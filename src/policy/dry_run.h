/* dry_run.h - what a start would meet: its parameters, what policies say, where steps would go, how much it could affect.
 *
 * Nothing is stored and nothing executed: no executor hears of it. The rules are asked as a start asks them (decide_start(), the
 * guard), with a run that exists nowhere. What depends on outputs is not known before they are there: a policy is asked about the
 * input of a step with what parameters fill in, and as it is written where that is not enough; whether a condition holds is not told.
 *
 * Owns:   what is told lives in the arena given.
 * Fails:  ERR_INVALID where the parameters are wrong, as a start would.
 * Bounds: DIFF_LINE_COUNT_MAX differences.     Thread: as the guard's.
 */
#ifndef POLICY_DRY_RUN_H
#define POLICY_DRY_RUN_H

#include "policy/guard.h"

typedef struct DryRunAsk {
    const Plan *plan;
    Value params;                   /* as a start gives them */
    Str actor;
    int64_t now_ms;
    const Catalog *catalog;         /* who offers runners; NULL: not told */
    const Plan *before;             /* the one in use, to be compared with; NULL: there is none */
    int64_t before_version;
} DryRunAsk;

/* {"allowed", "parameters", "key", "decisions", "steps", "blastRadius", "comparedWith", "incompatibilities", "differences"} */
MUST_USE Status dry_run(Guard *guard, const DryRunAsk *ask, Arena *arena, Value *out, Error *err);

#endif
