/* spans.h - committed records as the spans of a trace: of runs, of their steps, of the attempts.
 *
 *   the request ──▶ run order ──▶ step a.charge ──▶ attempt 1 ──▶ what the service does
 *
 * A span is given out when what it tells of has ended, with the ids that the records have (base/trace.h). A run that goes on after it had
 * failed, retried or undone, has a further span from there. What a record needs to be understood (when its step began, in which trace its
 * run is) is kept from the records before; where it is not there, since this process did not see them, it is read from the store.
 *
 * Owns:   what it keeps of runs, until span_book_free(). A Span borrows for the time of the call.
 * Fails:  never; of a run that cannot be read there are no spans.
 * Bounds: HERALD_RUN_COUNT_MAX runs and HERALD_RUN_SIZE_MAX bytes of them at a time; the one that is longest without news is forgotten
 *         for the next, and read again. HERALD_NAME_SIZE_MAX bytes of the names of steps. The run and the plan in use stay, however large.
 * Thread: one.
 */
#ifndef API_SPANS_H
#define API_SPANS_H

#include "base/trace.h"
#include "ledger/record.h"
#include "view/store.h"

typedef enum SpanKind { SPAN_INTERNAL = 1, SPAN_SERVER, SPAN_CLIENT } SpanKind;     /* as OTLP numbers them */
typedef enum SpanStatus { SPAN_UNSET, SPAN_OK, SPAN_ERROR } SpanStatus;

#define SPAN_ATTRIBUTE_COUNT_MAX 12u
typedef struct SpanAttribute { const char *name; Str text; int64_t number; } SpanAttribute;     /* without a text it is the number */

typedef struct Span {
    Str name;
    Trace trace;                    /* the id of the trace, and of the span */
    uint8_t parent[8];              /* zeros: none */
    Str tracestate;
    SpanKind kind;
    int64_t began_ns, ended_ns;     /* since 1970 */
    SpanStatus status;
    Str message;                    /* of an error */
    SpanAttribute attributes[SPAN_ATTRIBUTE_COUNT_MAX];
    uint32_t attribute_count;
} Span;

void span_add_text(Span *span, const char *name, Str text);         /* an empty one is left out */
void span_add_number(Span *span, const char *name, int64_t number);

typedef void (*SpanOut)(void *context, const Span *span);
typedef struct SpanBook SpanBook;

SpanBook *span_book_new(Store *store, SpanOut out, void *context);
void span_book_free(SpanBook *book);            /* NULL is permitted */
void span_book_take(SpanBook *book, uint64_t run_no, const Record *record);
size_t span_book_size(const SpanBook *book);    /* bytes that it keeps */

#endif
