/* schema_suite.h - runs the cases of the JSON Schema Test Suite.
 *
 * A file is a list of groups {description, schema, tests: [{description, data, valid}]}. A case passes where checking
 * the data gives what `valid` says. Where the schema needs a document from the suite's web server, which is never
 * asked, the right answer is the refusal that names it: such a case passes by being refused and is counted apart.
 */
#ifndef TEST_CONFORMANCE_SCHEMA_SUITE_H
#define TEST_CONFORMANCE_SCHEMA_SUITE_H

#include <stdint.h>

#include "base/str.h"

typedef struct SuiteCount {
    uint32_t case_count, pass_count;
    uint32_t remote_count;              /* of the passed ones, those that were refused by name */
} SuiteCount;

/* Called for each case that does not pass. */
typedef void (*SuiteFailure)(const char *file, Str group, Str test, Str why);

/* Adds the cases of one file, whose text is given, to `count`. */
void schema_suite_run(const char *file, Str text, SuiteFailure failure, SuiteCount *count);

#endif
