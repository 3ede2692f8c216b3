/* hash.h - digests and message authentication codes.
 *
 * Owns: nothing.     Fails: never.     Thread: pure, any.
 */
#ifndef REGO_CRYPTO_HASH_H
#define REGO_CRYPTO_HASH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

typedef enum HashKind {
    HASH_MD5,
    HASH_SHA1,
    HASH_SHA256,
    HASH_SHA384,
    HASH_SHA512,
} HashKind;

#define HASH_SIZE_MAX 64u

typedef struct Hash {
    uint8_t bytes[HASH_SIZE_MAX];
    uint32_t size;
} Hash;

static inline Str hash_peek(const Hash *hash) { return (Str){ (const char *)hash->bytes, hash->size }; }

Hash hash_of(HashKind kind, Str message);
Hash hash_hmac(HashKind kind, Str key, Str message);
/* Takes equally long wherever two texts of one size differ. */
bool hash_equals(Str a, Str b);

#endif
