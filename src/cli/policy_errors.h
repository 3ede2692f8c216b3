/* policy_errors.h - what is wrong with policies, and results as JSON.
 *
 * Mistakes have two forms: for people, with the line of the source and a mark under it, on standard error; for programs,
 * the JSON that other Rego tools print: {"errors": [{"message", "code", "location": {"file", "row", "col"},
 * "details"}]}.
 *
 * Owns:   values live in the arena given.     Thread: one at a time.
 */
#ifndef CLI_POLICY_ERRORS_H
#define CLI_POLICY_ERRORS_H

#include "cli/policy_load.h"

Value    policy_location_value(Arena *arena, Str file, RegoLoc loc);
/* `details` may be null. */
Value    policy_error_at(Arena *arena, Str text, const char *code, Str file, RegoLoc loc, Value details);
Value    policy_error_value(Arena *arena, const char *message);                 /* a list of one, without a place */
/* A list; the texts of the modules and of the query are shown beside what cannot be read. */
Value    policy_errors_value(Arena *arena, const PolicySet *set, Str query, const RegoErrors *errors);
Value    policy_errors_document(Arena *arena, Value errors);                    /* {"errors": errors} */
void     policy_errors_print(const Args *args, const PolicySet *set, Str query, const RegoErrors *errors);

bool     policy_wants_json(const Args *args);           /* by --format, of whose words the first is the default */
/* In the form that --format asks for; both return the exit code. */
ExitCode policy_refuse(const Args *args, const PolicySet *set, Str query, const RegoErrors *errors);
ExitCode policy_refuse_load(const Args *args, const Error *err);

#endif
