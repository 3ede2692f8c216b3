/* rego_suite.h - runs case files of the Rego conformance suite: policies with a query and the answers wanted, and policies
 * that have to be refused.
 *
 * A file is {"category": ..., "cases": [...]}; a case with want_errors is one for the compiler, any other is evaluated. A
 * case counts as passed where answers, error code and error text are all as wanted.
 *
 * Owns: nothing beyond a call.     Fails: a file that cannot be read counts as one case not passed.     Thread: one.
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
    void (*report)(Str category, Str id, Str note, Str why);    /* of cases that fail; may be NULL */
} RegoSuiteOptions;

void rego_suite_run(Str text, const RegoSuiteOptions *options, RegoSuiteCount *count);

#endif
