/* fuzz.h - what a fuzzer is: one function that is given bytes and must survive them.
 *
 * A target says what holds for every input by FUZZ_HOLDS; what does not hold stops the process, which keeps the input.
 * Chance beyond the bytes themselves is derived from them, so that an input always does the same.
 */
#ifndef TEST_FUZZ_FUZZ_H
#define TEST_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "base/check.h"
#include "harness/random.h"

#define FUZZ_HOLDS(condition) CHECK(condition)

/* The name that libFuzzer calls, and replay.c too. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Numbers that depend on nothing but the input (FNV-1a). */
static inline Random fuzz_random(const uint8_t *data, size_t size)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < size; i++) hash = (hash ^ data[i]) * UINT64_C(1099511628211);
    return (Random){ hash ? hash : 1 };
}

#endif
