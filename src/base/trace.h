/* trace.h - trace context as W3C Trace Context has it: whose trace something belongs to, and which span caused it.
 *
 *   00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01      version, trace id, parent span, flags
 *
 * A caller's trace is taken where it is well-formed and ignored otherwise; a version above 00 is read as far as 00 goes. What is
 * written is version 00, with the flags that it knows.
 *
 * Owns: nothing; a Trace is a plain value.     Fails: trace_read() and trace_of_headers() answer false.     Thread: pure, any.
 */
#ifndef BASE_TRACE_H
#define BASE_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/str.h"

#define TRACE_TEXT_SIZE 55u

typedef enum TraceFlag { TRACE_SAMPLED = 1, TRACE_RANDOM = 2 } TraceFlag;

typedef struct Trace {
    uint8_t id[16], span[8];
    uint8_t version, flags;             /* as read: what is written is version 00 and the flags of TraceFlag */
} Trace;

typedef struct TraceHeader { Str name, value; } TraceHeader;

/* One traceparent; spaces and tabs around it are no part of it. */
bool trace_read(Str text, Trace *out_trace);
/* The traceparent among the headers of a request, by its name in any case; two count as none. */
bool trace_of_headers(const TraceHeader *headers, uint32_t count, Trace *out_trace);
Str  trace_print(const Trace *trace, char out[TRACE_TEXT_SIZE]);        /* the text, in `out` */

/* What is passed on of a tracestate; empty: nothing. It has members key=value between commas, with the characters that the recommendation
 * permits, at most TRACE_STATE_COUNT_MAX of them and no key twice, or it counts as none. In TRACE_STATE_SIZE_MAX bytes it stays as it is;
 * of a longer one whole members are left out as the recommendation says: those of more than TRACE_MEMBER_SIZE_MAX first, the last one
 * first. `out` has what is given back then. */
Str trace_state_fit(Str text, char out[TRACE_STATE_SIZE_MAX]);

/* A trace out of a number, always the same one; and a span within a trace, which is never all zeros. */
Trace trace_make(uint64_t seed);
Trace trace_child(const Trace *trace, uint64_t number);
/* The spans of a run. `trace` is that of its first record; its seed keeps runs of one trace apart. They follow from what they are of, so
 * that records, executors and whoever tells of a run name the same ones, before a restart and after it:
 *
 *   whoever started it ──▶ the run ──▶ a step run ──▶ an attempt ──▶ what its executor does
 *
 * `number`: how often the run was settled before; of the step run; of the first event of a record. `attempt` as executors know it. */
typedef enum SpanSort { SPAN_RUN = 1, SPAN_STEP, SPAN_ATTEMPT, SPAN_RECORD } SpanSort;
Trace trace_span(const Trace *trace, uint64_t seed, SpanSort sort, uint64_t number, uint32_t attempt);

#endif
