/* key.h - public, private and secret keys in the forms in which policies give them: PEM, DER, JSON Web Keys.
 *
 * Owns:   a Key owns memory of the cryptographic library until key_deinit(); its texts are slices of what it was read from
 *         or live in the arena.
 * Fails:  ERR_INVALID with the reason.
 * Bounds: CRYPTO_CERTIFICATE_COUNT_MAX keys in one text.     Thread: one at a time for each key.
 */
#ifndef REGO_CRYPTO_KEY_H
#define REGO_CRYPTO_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"
#include "value/value.h"

typedef enum KeyKind {
    KEY_RSA,
    KEY_EC,
    KEY_ED25519,
    KEY_SECRET,             /* bytes, for message authentication codes */
    KEY_OTHER,
} KeyKind;

typedef struct Key {
    KeyKind kind;
    bool is_private;
    void *handle;           /* of the library; NULL for a secret */
    Str secret;
    Str algorithm, id;      /* "alg" and "kid" of a JSON Web Key; empty where it has none */
} Key;

typedef struct Keys {
    Key *keys;
    size_t count;
} Keys;

void key_deinit(Key *key);
void keys_deinit(Keys *keys);

/* A SubjectPublicKeyInfo. */
MUST_USE Status key_read_public(Str der, Key *out_key, Error *err);
/* Of the type that a PEM block names: "RSA PRIVATE KEY", "EC PRIVATE KEY" or "PRIVATE KEY". */
MUST_USE Status key_read_private(Str pem_type, Str der, Key *out_key, Error *err);
/* One JSON Web Key, or a set of them under "keys". */
MUST_USE Status keys_read_jwk(Arena *arena, Value jwk, Keys *out_keys, Error *err);

/* A private key as Go's encoding of rsa.PrivateKey and its like shows it, and as a JSON Web Key. */
MUST_USE Status key_value(Arena *arena, const Key *key, Value *out_value, Error *err);
MUST_USE Status key_jwk_value(Arena *arena, const Key *key, Value *out_value, Error *err);

/* Whether the private key belongs to the public one. */
bool key_matches(const Key *public_key, const Key *private_key);

#endif
