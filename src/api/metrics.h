/* metrics.h - what is counted, as Prometheus reads it.
 *
 * The server counts its own requests here; what the engine has counted comes by a survey (bridge.h), which is taken when somebody asks.
 * metrics.def names all of them.
 *
 * Owns:   nothing; plain memory.     Fails: never.     Thread: the server's.
 */
#ifndef API_METRICS_H
#define API_METRICS_H

#include "api/route.h"
#include "base/spread.h"

#define METRIC_ROUTE_COUNT_MAX 128u

typedef struct Metrics {
    uint64_t requests[METRIC_ROUTE_COUNT_MAX + 1][6];      /* by route, the last for what has none, and by hundreds of the status */
    Spread latency[METRIC_ROUTE_COUNT_MAX + 1];             /* microseconds, as all times here */
    Spread petition;                /* from the server to the engine and back, commit included */
    uint64_t refused_keys, limited;
} Metrics;

void metrics_count(Metrics *metrics, const Call *call, uint64_t took_ns);
struct Api;
struct Survey;
/* `survey` may be NULL: then nothing is said of the engine. Without `has_tenants` all tenants are told together,
 * and so are the executors that are for certain tenants alone. */
void metrics_print(struct Api *api, const struct Survey *survey, bool has_tenants, Buf *out);

#endif
