/* hook_rates.h - how often each start trigger was sent lately: what its rate_limit is held against.
 *
 * A window begins with the first request and lasts as long as the rate_limit says; within it so many are taken. A window is forgotten when
 * it has run out and never before: so no trigger is taken more often because others are sent, too. Tenants are apart. One that has more
 * triggers under way than are remembered at a time is refused for those beyond, and nobody else is.
 *
 * Owns:   about 56 bytes a window, until a tenant needs its place; hook_rates_deinit() ends all of it.
 * Fails:  ERR_LIMIT: the rate is used up, or TENANT_HOOK_COUNT_MAX windows of the tenant are open; *out_wait_ms says for how long.
 * Bounds: TENANT_HOOK_COUNT_MAX for each tenant. Only who was authenticated is counted: tenants are those that have definitions.
 * Thread: one at a time. It forgets with its process.
 */
#ifndef API_HOOK_RATES_H
#define API_HOOK_RATES_H

#include "base/status.h"
#include "base/str.h"

struct TenantRates;

/* Zero at first. */
typedef struct HookRates {
    struct TenantRates *tenants;        /* by name */
    uint32_t count, capacity;
} HookRates;

void hook_rates_deinit(HookRates *rates);

typedef struct HookLimit { int64_t count, per_ms; } HookLimit;

/* One more request of a trigger, which is told from the others of its tenant by its name. */
MUST_USE Status hook_rates_take(HookRates *rates, Str tenant, Str name, const HookLimit *limit, int64_t now_ms, int64_t *out_wait_ms, Error *err);

#endif
