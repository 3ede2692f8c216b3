/* key.h - API keys: how one looks, what is kept of it, and who calls with it.
 *
 *   mk.acme.Xq3hT9aB.<43 characters>        tenant, the id that names it in lists and logs, the secret
 *
 * A key is shown once, when it is made. Kept is the hash of its secret with role and end, sealed as a secret of its tenant
 * (api-key/ID), so that making and revoking one are events of the ledger. "*" as tenant reaches every one. A key that was revoked
 * counts for API_KEY_FRESH_MS at most after its commit.
 *
 * Every key, and every tenant, has a rate: so many requests a second, and a burst of API_RATE_BURST_S seconds.
 *
 * Owns:   a KeyRing owns what it remembers. Borrows the vault.
 * Fails:  ERR_DENIED, with a reason for the log and not for the caller; ERR_LIMIT where the rate is used up; ERR_UNAVAILABLE.
 * Bounds: API_KEY_COUNT_MAX remembered; the oldest is forgotten for the next.     Thread: one.
 */
#ifndef API_KEY_H
#define API_KEY_H

#include "api/call.h"
#include "secret/vault.h"

#define KEY_SECRET_PREFIX "api-key/"
#define KEY_ID_SIZE 8u

typedef enum KeyRole { ROLE_VIEWER, ROLE_OPERATOR, ROLE_AUTHOR, ROLE_ADMIN, ROLE_WORKER, ROLE_COUNT } KeyRole;
extern const char *const key_role_names[];      /* ended by NULL, in that order */

typedef struct KeyFacts {
    char id[KEY_ID_SIZE + 1];
    KeyRole role;
    int64_t expires_ms;             /* 0: never */
} KeyFacts;

/* A new key: the text to show once, and the document to seal as KEY_SECRET_PREFIX and its id. */
void key_make(Arena *arena, Str tenant, const KeyFacts *facts, Str *out_id, Str *out_key, Str *out_document);
MUST_USE Status key_read_document(Arena *arena, Str document, KeyFacts *out, Error *err);

typedef struct KeyRing KeyRing;

KeyRing *keyring_new(Vault *vault, uint64_t rate_per_s);
void     keyring_free(KeyRing *ring);           /* NULL is permitted */
/* Who has that key. *out_wait_s is after how long to come again, of ERR_LIMIT. The caller's texts live in `arena`. */
MUST_USE Status keyring_find(KeyRing *ring, Arena *arena, Str key, int64_t now_ms, Caller *out, uint64_t *out_wait_s, Error *err);

#endif
