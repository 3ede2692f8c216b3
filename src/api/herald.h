/* herald.h - committed records told to others: as lines of the log, as spans to a collector of traces.
 *
 * The engine's thread hands over copies of what is durable, by a ring that is bounded in number and size, and goes on; a thread of the
 * herald's own reads them. A collector that is away, or a log that nobody reads, costs the engine nothing: what does not fit is dropped
 * and counted. It wakes at most every HERALD_TURN_MS.
 *
 * What is logged, by level: warning: runs that fail; info: every state of runs; debug: every event.
 *
 * Owns:   its thread and what waits for it, until herald_close(), which sends what there is as far as a collector takes it at once.
 *         Borrows store and log.
 * Fails:  herald_open() with the reasons of otlp.h, or ERR_LIMIT where there is no room for a thread.
 * Bounds: HERALD_RECORD_COUNT_MAX records, HERALD_RECORD_SIZE_MAX bytes; those of spans.h and otlp.h.
 * Thread: herald_record() the engine's; herald_call() the server's; herald_stats() any; the others whoever owns it.
 */
#ifndef API_HERALD_H
#define API_HERALD_H

#include "api/call.h"
#include "api/log.h"
#include "api/otlp.h"
#include "engine/engine.h"

typedef struct Herald Herald;

typedef struct HeraldOptions {
    Store *store;
    const Log *log;
    OtlpOptions otlp;               /* url empty: no spans are made */
} HeraldOptions;

typedef OtlpStats HeraldStats;      /* dropped: records that did not fit included */

MUST_USE Status herald_open(const HeraldOptions *options, Herald **out_herald, Error *err);
void herald_close(Herald *herald);              /* NULL is permitted */

/* As BridgeOptions.record; `herald` is a Herald. */
void herald_record(void *herald, const Observation *observation);
/* A request is over; of one that the engine did something for there is a span. */
void herald_call(Herald *herald, const Call *call, uint64_t took_ns);
HeraldStats herald_stats(const Herald *herald);

#endif
