/* otlp.h - spans to a collector: OTLP over HTTP, as JSON.
 *
 * A span is printed when it comes and waits for others: at most SPAN_BATCH_COUNT are sent at a time, SPAN_DELAY_MS after the first of them
 * at the latest. A collector that is away, slow or overloaded (429, 5xx) is tried again ever more rarely, and not before it says itself
 * (Retry-After); what waits meanwhile is bounded, and what comes beyond is dropped and counted. What it refuses (3xx, 4xx, or a part of what
 * it took) is not sent again.
 *
 * Nothing here blocks: the caller's loop polls with otlp_wait() and calls otlp_turn().
 *
 * Owns:   spans that wait, its connection, until otlp_close(). Copies its options.
 * Fails:  otlp_open() with ERR_INVALID for an address or headers that are none.
 * Bounds: SPAN_COUNT_MAX spans that wait, OTLP_HEADER_COUNT_MAX headers.     Thread: one; otlp_stats() any.
 */
#ifndef API_OTLP_H
#define API_OTLP_H

#include "api/spans.h"

typedef struct OtlpOptions {
    Str url;                        /* of the traces: http://collector:4318/v1/traces */
    Str authorities;                /* a file of certificates that it is believed by, as PEM; empty: those of the machine */
    Str headers;                    /* name=value between commas, values percent-encoded: as OTEL_EXPORTER_OTLP_HEADERS has them */
    Str service;                    /* service.name */
    Str instance;                   /* service.instance.id */
} OtlpOptions;

typedef struct OtlpStats {
    uint64_t sent, refused, dropped, waiting, exports, export_failures;
    int refusal_status;             /* of the answer that refused some last */
    const char *away_why;           /* of a collector that takes nothing now; NULL: it did, when something was sent to it last */
    int away_status;                /* of its answer; 0: there was none */
} OtlpStats;

typedef struct Otlp Otlp;

MUST_USE Status otlp_open(const OtlpOptions *options, Otlp **out_otlp, Error *err);
void otlp_close(Otlp *otlp);                    /* NULL is permitted */
void otlp_add(Otlp *otlp, const Span *span);
/* Waits for the collector, these descriptors, or so long; -1: without end. */
struct pollfd;
void otlp_wait(Otlp *otlp, const struct pollfd *fds, uint32_t fd_count, int64_t timeout_ms);
/* Sends what is due; with `is_last` all that there is. Says after how long it has to be called again; -1: not before something comes. */
int64_t otlp_turn(Otlp *otlp, int64_t now_ms, bool is_last);
bool otlp_is_empty(const Otlp *otlp);           /* nothing waits, or the collector is away */
OtlpStats otlp_stats(const Otlp *otlp);

#endif
