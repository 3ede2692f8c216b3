/* herald.h - committed records told to others: as lines of the log, as spans to a collector of traces.
 *
 * The engine's thread hands over copies of what is durable, the server's its lines of the log, by a ring that is bounded in number and
 * size, and both go on; a thread of the herald's own reads them, in their order, and writes to standard error as far as somebody reads
 * it (log_out.h). A collector that is away, or a log that nobody reads, costs nobody anything: what does not fit is dropped and counted.
 * It wakes at most every HERALD_TURN_MS.
 *
 * What is logged, by level: warning: runs that fail; info: every state of runs; debug: every event.
 *
 * Owns:   its thread and what waits for it, until herald_close(), which tells what there is, for two seconds at most where it is not
 *         taken. Borrows store and log.
 * Fails:  herald_open() with the reasons of otlp.h, or ERR_LIMIT where there is no room for a thread.
 * Bounds: HERALD_RECORD_COUNT_MAX records, HERALD_RECORD_SIZE_MAX bytes; those of log_out.h, spans.h and otlp.h.
 * Thread: herald_record() the engine's; herald_call() the server's; herald_line(), herald_stats() any; the others whoever owns it.
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

typedef struct HeraldStats {
    OtlpStats spans;                /* dropped: records and requests that did not fit included */
    uint64_t lines_dropped;         /* of the log */
} HeraldStats;

MUST_USE Status herald_open(const HeraldOptions *options, Herald **out_herald, Error *err);
void herald_close(Herald *herald);              /* NULL is permitted */

/* As BridgeOptions.record; `herald` is a Herald. */
void herald_record(void *herald, const Observation *observation);
/* A request is over; of one that the engine did something for there is a span. */
void herald_call(Herald *herald, const Call *call, uint64_t took_ns);
/* Ends the line and has it written. Without a herald (NULL) it is written at once. */
void herald_line(Herald *herald, LogLine *line);
HeraldStats herald_stats(const Herald *herald);

#endif
