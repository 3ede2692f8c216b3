/* signature.h - signing and verifying, by the names of JSON Web Algorithms (RFC 7518).
 *
 * Signatures that need chance take it from a seed: the nonce of ECDSA from the key and the message (RFC 6979), the salt of
 * RSA-PSS from the seed and the message. So a token signed while a policy is replayed is the token that was signed at first.
 *
 * Owns:   nothing.
 * Fails:  signature_make() with ERR_INVALID where the key does not suit the algorithm; verifying answers no.
 * Bounds: RSA keys of fewer than 1024 bits are not accepted.     Thread: pure, any; a key at one place at a time.
 */
#ifndef REGO_CRYPTO_SIGNATURE_H
#define REGO_CRYPTO_SIGNATURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"
#include "rego/crypto/hash.h"
#include "rego/crypto/key.h"

typedef enum SignatureScheme {
    SIGNATURE_RSA,          /* RS: RSASSA-PKCS1-v1_5 */
    SIGNATURE_PSS,          /* PS: RSASSA-PSS */
    SIGNATURE_EC,           /* ES: ECDSA, both numbers one behind the other */
    SIGNATURE_EDWARDS,      /* EdDSA: Ed25519 */
    SIGNATURE_SECRET,       /* HS: HMAC */
} SignatureScheme;

typedef struct SignatureAlgorithm {
    const char *name;
    SignatureScheme scheme;
    HashKind hash;
} SignatureAlgorithm;

/* NULL where there is none of that name. */
const SignatureAlgorithm *signature_algorithm_find(Str name);

bool signature_is_valid(const SignatureAlgorithm *algorithm, const Key *key, Str message, Str signature);
MUST_USE Status signature_make(Arena *arena, const SignatureAlgorithm *algorithm, const Key *key, Str message,
                               uint64_t seed, Str *out_signature, Error *err);

#endif
