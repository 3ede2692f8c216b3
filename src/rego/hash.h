/* hash.h - numbers out of values, for tables that live as long as one evaluation or one policy.
 *
 * Nothing that an author can see depends on them: a table that is asked by hash compares what it finds.
 *
 * Owns:   nothing.     Fails:  never.     Thread: pure, any.
 */
#ifndef REGO_HASH_H
#define REGO_HASH_H

#include <stdint.h>
#include <string.h>

#include "base/str.h"

static inline uint64_t hash_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static inline uint64_t hash_text(uint64_t hash, Str text)
{
    for (size_t i = 0; i < text.len; i += 8) {
        uint64_t word = 0;
        memcpy(&word, text.ptr + i, text.len - i < 8 ? text.len - i : 8);
        hash = hash_mix(hash, word);
    }
    return hash;
}

#endif
