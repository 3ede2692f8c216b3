/* policy_profile.h - which statements of policies were evaluated, how often and for how long.
 *
 * Coverage and profiles are made from the same counts, which an evaluation of an instrumented policy writes. Both have
 * the shape of other Rego tools: coverage in ranges of the text and in lines, a profile in one row for each line.
 *
 * Owns:   values and texts live in the arena given.     Thread: one at a time.
 */
#ifndef CLI_POLICY_PROFILE_H
#define CLI_POLICY_PROFILE_H

#include "cli/policy_load.h"

/* Zeroed counts for a policy and a query, which may be NULL; with the machine's clock if `timed`. */
RegoProfile policy_profile_make(Arena *arena, const RegoPolicy *policy, const RegoQuery *query, bool timed);

/* {"files": {...}, "covered_lines", "not_covered_lines", "coverage"} */
Value policy_coverage(Arena *arena, const PolicySet *set, const RegoPolicy *policy, const RegoProfile *profile,
                      double *out_percent);

/* The statements of one line together. */
typedef struct ProfileRow {
    Str file;                       /* empty for the query */
    RegoLoc loc;                    /* of the one that was tried first */
    RegoPlaceStats stats;
    uint64_t expr_count;            /* statements that the line became */
} ProfileRow;

extern const char *const policy_profile_orders[];           /* what --profile-sort takes */
/* Lines that were evaluated, sorted by the words of `orders` (NULL at its end), the largest first. */
ProfileRow *policy_profile_rows(Arena *arena, const RegoPolicy *policy, const RegoQuery *query,
                                const RegoProfile *profile, const char *const *orders, size_t *out_count);

#endif
