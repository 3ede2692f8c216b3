/* policy_trace.h - the way to a result, as --explain shows it.
 *
 * Keeps the events of an evaluation that the filter lets through, each with the rules and bodies that lead to it. The
 * text is a line for each event: its place, a bar for each rule around it, a word and the statement. The JSON is that of
 * other Rego tools.
 *
 * Owns:   events live in the arena given, their values in that of the evaluation.
 * Bounds: TRACE_SIZE_MAX bytes, what showing the events will take included: each event is charged before it is kept, and
 *         those that no longer fit are counted. That some are missing is said.     Thread: one at a time.
 */
#ifndef CLI_POLICY_TRACE_H
#define CLI_POLICY_TRACE_H

#include "cli/policy_errors.h"

typedef enum TraceFilter { TRACE_OFF, TRACE_FULL, TRACE_NOTES, TRACE_FAILS } TraceFilter;

typedef struct TraceLocal {
    const RegoLocal *local;
    Value value;
} TraceLocal;

typedef struct TraceEvent {
    RegoTraceEvent event;           /* without its values */
    TraceLocal *locals;
    uint32_t local_count;
} TraceEvent;

/* Room for the variables of an event. */
typedef struct TraceLocals {
    TraceLocal *items;
    uint32_t capacity;
} TraceLocals;

/* A rule or body that was begun, and that some later event may want to be told of. Its memory is used again. */
typedef struct TraceOpen {
    TraceEvent begun;               /* depth 0: none */
    TraceLocals locals;
    char message[32];
} TraceOpen;

typedef enum TraceForm { TRACE_AS_TEXT, TRACE_AS_JSON } TraceForm;

/* Pass &trace->tracer to an evaluation. */
typedef struct PolicyTrace {
    RegoTracer tracer;
    Arena *arena;
    TraceFilter filter;
    TraceForm form;                 /* how it will be shown: JSON has all values in full */
    bool prints;                    /* what print() writes goes to standard error at once */
    TraceEvent *events;
    size_t count, capacity;
    uint64_t size_left;             /* of TRACE_SIZE_MAX */
    uint64_t dropped;               /* events that did not fit */
    TraceLocals locals;             /* of the present event */
    TraceOpen *open;                /* by depth: what leads to an event, and was not kept yet */
    size_t open_count, open_capacity;
    Buf notes;                      /* what print() wrote, line by line; empty where it goes to standard error */
    /* Called before the filter, may be NULL: a command's own look at the events. */
    void (*observe)(void *context, const RegoTraceEvent *event);
    void *observer;
} PolicyTrace;

void  policy_trace_init(PolicyTrace *trace, Arena *arena, TraceFilter filter, TraceForm form, bool prints);
void  policy_trace_deinit(PolicyTrace *trace);
extern const char *const policy_trace_words[];              /* what --explain takes */
TraceFilter policy_trace_filter(const char *word);          /* of --explain; NULL is off */
/* `with_values`: a column of the variables of each statement. */
void  policy_trace_print(const PolicyTrace *trace, const char *margin, bool with_values, Buf *out);
Value policy_trace_value(Arena *arena, const PolicyTrace *trace);
/* "(12 further events beyond TRACE_SIZE_MAX (... bytes))", or nothing where all are there. */
void  policy_trace_print_missing(const PolicyTrace *trace, const char *margin, Buf *out);

#endif
