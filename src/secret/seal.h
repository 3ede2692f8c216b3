/* seal.h - bytes that only the holder of a key can read, and a name that they cannot be taken away from.
 *
 * Three layers: the key file has the master key; with it the key of each tenant is sealed; with that the secrets of that
 * tenant. So the key of one tenant opens nothing of another, and the store alone opens nothing at all. Sealing is
 * XChaCha20-Poly1305 with a random nonce. What a thing is (a tenant's key, a secret), whose, and its name are additional data:
 * a row that is put under another name or tenant does not open.
 *
 *   sealed = nonce of 24 bytes, bytes under the key, tag of 16 bytes
 *
 * Owns:   nothing; whoever holds a key or an opened value wipes it.
 * Fails:  opening, with ERR_CORRUPT: another key, another name, or changed bytes; it cannot tell which. Names with ERR_INVALID.
 * Bounds: SECRET_SIZE_MAX, SECRET_NAME_SIZE_MAX.     Thread: any.
 */
#ifndef SECRET_SEAL_H
#define SECRET_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"

#define SEAL_KEY_SIZE 32u
#define SEAL_EXTRA_SIZE 40u             /* what sealing adds */
#define SEAL_CODE_SIZE 16u              /* of a code of authentication: 128 bits */
#define TRIGGER_TOKEN_SIZE 43u          /* characters */

typedef struct SealKey { uint8_t bytes[SEAL_KEY_SIZE]; } SealKey;
typedef struct TriggerToken { char text[TRIGGER_TOKEN_SIZE + 1]; } TriggerToken;

void seal_key_make(SealKey *out);       /* by chance */
void seal_key_wipe(SealKey *key);

Str             tenant_key_seal(Arena *arena, const SealKey *master, Str tenant, const SealKey *key);
MUST_USE Status tenant_key_open(const SealKey *master, Str tenant, Str sealed, SealKey *out, Error *err);

Str             secret_seal(Arena *arena, const SealKey *key, Str tenant, Str name, Str value);
/* `out` has room for as many bytes as are sealed. */
MUST_USE Status secret_open(const SealKey *key, Str tenant, Str name, Str sealed, char *out, size_t *out_size, Error *err);

/* Sealed bytes as requests carry them: base64. */
Str             sealed_text(Arena *arena, Str sealed);

/* The bearer token of one trigger of one run: nobody makes it without the key of the tenant. */
void trigger_token_make(const SealKey *key, Str run_id, Str trigger, TriggerToken *out);

/* The seal of a text in the name of a tenant: nobody makes it without the master key. */
void tenant_sign(const SealKey *master, Str tenant, Str text, TriggerToken *out);

/* The key of the tokens of attempts (engine/token.h), which is no other key that is made of the same master key. */
void token_key_make(const SealKey *master, SealKey *out);
/* A code that nobody makes without the key. It allocates nothing: it is made for every attempt that is handed out. */
void code_make(const SealKey *key, Str bytes, uint8_t out[SEAL_CODE_SIZE]);
bool code_is(const uint8_t right[SEAL_CODE_SIZE], const uint8_t given[SEAL_CODE_SIZE]);     /* in constant time */

/* Letters, digits, and _ - . / behind the first. */
MUST_USE Status secret_check_name(Str name, Error *err);
/* UTF-8, not empty: it becomes a text of JSON. */
MUST_USE Status secret_check_value(Str value, Error *err);

#endif
