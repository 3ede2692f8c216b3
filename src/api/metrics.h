/* metrics.h - what the server counts, as Prometheus reads it.
 *
 * Owns:   nothing; plain memory.     Fails: never.     Thread: the server's.
 */
#ifndef API_METRICS_H
#define API_METRICS_H

#include "api/route.h"

#define METRIC_ROUTE_COUNT_MAX 64u
#define METRIC_BUCKET_COUNT 14u

/* Of seconds, with the bounds that metrics.c has. */
typedef struct Spread { uint64_t buckets[METRIC_BUCKET_COUNT], count; double sum; } Spread;

typedef struct Metrics {
    uint64_t requests[METRIC_ROUTE_COUNT_MAX + 1][6];      /* by route, the last for what has none, and by hundreds of the status */
    Spread latency[METRIC_ROUTE_COUNT_MAX + 1];
    Spread petition;                /* from the server to the engine and back, commit included */
    uint64_t refused_keys, limited;
} Metrics;

void metrics_count(Metrics *metrics, const Route *route, unsigned status, uint64_t took_ns);
void spread_add(Spread *spread, uint64_t took_ns);
struct Api;
void metrics_print(struct Api *api, Buf *out);

#endif
