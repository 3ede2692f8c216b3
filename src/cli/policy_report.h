/* policy_report.h - what the policy commands say of an evaluation: tables, times, errors.
 *
 * Owns:   values and texts live in the arena given.     Thread: one at a time.
 */
#ifndef CLI_POLICY_REPORT_H
#define CLI_POLICY_REPORT_H

#include "cli/policy_errors.h"

/* --- a policy from what was loaded -------------------------------------------------------------------------------- */

ExitCode policy_compile(const Args *args, const PolicySet *set, RegoCompileOptions options, RegoPolicy **out_policy);
/* The first operand, prepared so that its values are part of the result. */
ExitCode policy_prepare(const Args *args, const PolicySet *set, const RegoPolicy *policy, Str package,
                        RegoQuery **out_query);
/* In the form that --format asks for; returns the exit code. */
ExitCode policy_refuse_eval(const Args *args, const RegoEvalError *error);
Value    policy_eval_error_value(Arena *arena, const RegoEvalError *error);
void     policy_eval_error_print(Buf *out, const RegoEvalError *error);     /* with its details, and a newline */

/* --- results ------------------------------------------------------------------------------------------------------ */

Value    policy_decimal(Arena *arena, double number);
/* A table with lines around it; `cells` row by row, the head first. */
void     policy_table(Buf *out, const Str *cells, size_t row_count, size_t column_count);
void     policy_duration(Buf *out, uint64_t ns);    /* "1.234ms" */

#endif
