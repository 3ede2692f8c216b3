/* hash.h - a number for a text, for tables in memory: FNV-1a.
 *
 * Whoever chooses the texts can make them meet: a table that uses it holds few of them, or compares them all the same.
 *
 * Owns: nothing.     Fails: never.     Thread: any.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define HASH_SEED UINT64_C(0xcbf29ce484222325)

static inline uint64_t hash_number(uint64_t hash, uint64_t number) { return (hash ^ number) * UINT64_C(0x100000001b3); }

static inline uint64_t hash_text(uint64_t hash, Str text)
{
    for (size_t i = 0; i < text.len; i++) hash = hash_number(hash, (uint8_t)text.ptr[i]);
    return hash;
}

/* Several texts one after the other: where one ends counts, too. */
static inline uint64_t hash_part(uint64_t hash, Str text) { return hash_number(hash_text(hash, text), 0xff); }

/* As a key of tables whose free places are 0. */
static inline uint64_t hash_key(uint64_t hash) { return hash ? hash : 1; }

#endif
