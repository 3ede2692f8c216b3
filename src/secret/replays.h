/* replays.h - which requests of triggers were seen, so that none of them counts twice within its window.
 *
 * A request is known by 16 bytes of a digest, and remembered until it would be too old anyway. Tenants are apart: one that sends more than is
 * remembered at a time is refused, and nobody else is. How many one trigger needs follows from its rate_limit and its replay_window, and
 * a definition that needs more than TRIGGER_REPLAY_COUNT_MAX is refused (lang/trigger.h).
 *
 * Owns:   about 48 bytes a request, until it is forgotten; trigger_replays_deinit() ends all of it.
 * Fails:  ERR_DENIED: seen before; ERR_LIMIT: TENANT_REPLAY_COUNT_MAX of the tenant are remembered already.
 * Thread: one at a time. It forgets with its process.
 */
#ifndef SECRET_REPLAYS_H
#define SECRET_REPLAYS_H

#include "base/status.h"
#include "base/str.h"

typedef struct ReplayKey { uint8_t bytes[16]; } ReplayKey;

struct TenantReplays;

/* Zero at first. */
typedef struct TriggerReplays {
    struct TenantReplays **tenants;     /* by name */
    uint32_t count, capacity;
} TriggerReplays;

void trigger_replays_deinit(TriggerReplays *replays);

/* Remembers it until `end_ms` is over, and forgets those of the tenant whose time is. */
MUST_USE Status trigger_replays_add(TriggerReplays *replays, Str tenant, const ReplayKey *key, int64_t now_ms, int64_t end_ms, Error *err);
/* It came to nothing, and may come again. */
void trigger_replays_forget(TriggerReplays *replays, Str tenant, const ReplayKey *key);
uint32_t trigger_replays_count(const TriggerReplays *replays, Str tenant);

#endif
