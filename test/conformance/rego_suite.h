/* rego_suite.h - runs case files of the Rego conformance suite: policies with a query and the answers wanted, and policies
 * that have to be refused.
 *
 * A file is {"category": ..., "cases": [...]}, a list of cases, or one case, as JSON or YAML; a case with want_errors is
 * one for the compiler, any other is evaluated. A case counts as passed where answers, error code and error text are all
 * as wanted.
 *
 * Owns: nothing beyond a call.     Fails: a file that is no JSON or YAML counts as one case not passed.     Thread: one.
 */
#ifndef TEST_CONFORMANCE_REGO_SUITE_H
#define TEST_CONFORMANCE_REGO_SUITE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "base/timezone.h"

typedef struct RegoSuiteCount {
    uint32_t pass_count, case_count;
} RegoSuiteCount;

typedef struct RegoSuiteOptions {
    bool v0;
    int64_t now_ns;
    const ZoneSource *zones;
    bool is_yaml;
    void (*report)(void *reporter, Str category, Str id, Str note, Str why);    /* of cases that fail */
    void *reporter;
} RegoSuiteOptions;

/* The category that the file names, cut to the size and with a NUL behind it; empty where there is none. */
void rego_suite_category(Str text, const RegoSuiteOptions *options, char *out_category, size_t size);
/* False where the file is of another kind: it holds no cases. */
bool rego_suite_run(Str text, Str category, const RegoSuiteOptions *options, RegoSuiteCount *count);

#endif
