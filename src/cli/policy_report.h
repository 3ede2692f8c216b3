/* policy_report.h - what the policy commands say of an evaluation: traces, coverage and tables.
 *
 * Owns:   values and texts live in the arena given.     Thread: one at a time.
 */
#ifndef CLI_POLICY_REPORT_H
#define CLI_POLICY_REPORT_H

#include "cli/policy_errors.h"

/* --- a policy from what was loaded ----------------------------------------------------------------------------------- */

ExitCode policy_compile(const Args *args, const PolicySet *set, RegoCompileOptions options, RegoPolicy **out_policy);
Value    policy_eval_error_value(Arena *arena, const RegoEvalError *error);

/* --- results ----------------------------------------------------------------------------------------------------------- */

Value    policy_decimal(Arena *arena, double number);
/* {"files": {...}, "covered_lines", "not_covered_lines", "coverage"} */
Value    policy_coverage(Arena *arena, const PolicySet *set, const RegoPolicy *policy, const uint64_t *eval_counts,
                         double *out_percent);
/* A table with lines around it; `cells` row by row, the head first. */
void     policy_table(Buf *out, const Str *cells, size_t row_count, size_t column_count);
void     policy_duration(Buf *out, uint64_t ns);    /* "1.234ms" */

/* --- traces ------------------------------------------------------------------------------------------------------------- */

typedef enum TraceFilter { TRACE_OFF, TRACE_FULL, TRACE_NOTES, TRACE_FAILS } TraceFilter;

/* Keeps the events of an evaluation; pass &trace->tracer to it. */
typedef struct PolicyTrace {
    RegoTracer tracer;
    Arena *arena;
    TraceFilter filter;
    bool prints;                    /* notes go to standard error at once */
    RegoTraceEvent *events;
    size_t count, capacity;
    RegoTraceEvent *open;           /* Enter events that were not kept yet, by depth */
    size_t open_count, open_capacity;
    Buf notes;                      /* what was printed, line by line; empty where it goes to standard error */
} PolicyTrace;

void  policy_trace_init(PolicyTrace *trace, Arena *arena, TraceFilter filter, bool prints);
void  policy_trace_deinit(PolicyTrace *trace);
TraceFilter policy_trace_filter(const char *word);          /* of --explain; NULL is off */
void  policy_trace_print(const PolicyTrace *trace, const char *margin, Buf *out);
Value policy_trace_value(Arena *arena, const PolicyTrace *trace);

#endif
