/* key.h - API keys: how one looks, what is kept of it, and who calls with it.
 *
 *   mk.acme.Xq3hT9aB.<43 characters>        tenant, the id that names it in lists and logs, the secret
 *   mk.@all.Xq3hT9aB.<43 characters>        of every tenant: "*" everywhere else, which shells would take for something else
 *
 * A key is shown once, when it is made. Kept is the hash of its secret with role and end, sealed as a secret of its tenant
 * (api-key/ID) with what it is limited to (api/key_limits.h), so that making and revoking one are events of the ledger. A key is
 * remembered until a secret was changed, which whoever owns the store is told before the change is answered (keyring_refresh()):
 * so one that was revoked is refused from then on. For changes that nobody told, the store is asked again after API_KEY_FRESH_MS.
 *
 * Every key, and every tenant, has a rate of its own: so many requests a second, and a burst of API_RATE_BURST_S seconds. What is remembered
 * of them, and what becomes of who is forgotten, is api/known.h.
 *
 * Owns:   a KeyRing owns what it remembers. Borrows the vault.
 * Fails:  ERR_DENIED, with a reason for the log and not for the caller; ERR_LIMIT where the rate is used up; ERR_UNAVAILABLE.
 * Bounds: those of api/known.h; a key beyond them is looked up in the store at each request.     Thread: one.
 */
#ifndef API_KEY_H
#define API_KEY_H

#include "api/call.h"
#include "api/key_limits.h"
#include "secret/vault.h"

#define KEY_SECRET_PREFIX "api-key/"
#define KEY_ID_SIZE 8u
#define KEY_TENANT_ALL "@all"           /* how "*" is written in a key, and may be in a command */

typedef enum KeyRole { ROLE_VIEWER, ROLE_OPERATOR, ROLE_AUTHOR, ROLE_ADMIN, ROLE_WORKER, ROLE_COUNT } KeyRole;
extern const char *const key_role_names[];      /* ended by NULL, in that order */

bool key_role_find(Str name, KeyRole *out);
/* Whether somebody of that role makes keys of the other: none makes more than it has itself. */
bool key_role_may_make(Str own, KeyRole role);

typedef struct KeyFacts {
    char id[KEY_ID_SIZE + 1];
    KeyRole role;
    int64_t expires_ms;             /* 0: never */
    KeyLimits limits;               /* of a worker's */
} KeyFacts;

/* A new key: the text to show once, and the document to seal as KEY_SECRET_PREFIX and its id. */
void key_make(Arena *arena, Str tenant, const KeyFacts *facts, Str *out_id, Str *out_key, Str *out_document);
/* What it says lives in the arena. */
MUST_USE Status key_read_document(Arena *arena, Str document, KeyFacts *out, Error *err);

/* The id that a key names, whoever has it, for logs; empty where the text does not look like a key. */
Str key_claimed(Str key);

/* The secret that a key is kept as. */
Str key_secret_name(Arena *arena, Str id);
/* ERR_INVALID where it is one: keys are no secrets that people set. */
MUST_USE Status key_check_other_secret(Str name, Error *err);
/* Whether it is the name of a tenant, as definitions have them, or "*". */
MUST_USE Status key_check_tenant(Str tenant, Error *err);

typedef struct KeyRing KeyRing;

typedef struct KeyRates { uint64_t key_per_s, tenant_per_s; } KeyRates;      /* requests a second of one key; of a tenant, all its keys together */
KeyRing *keyring_new(Vault *vault, KeyRates rates);
void     keyring_free(KeyRing *ring);           /* NULL is permitted */
/* What is remembered holds as long as the version is the same: see bridge_secret_version(). */
void     keyring_refresh(KeyRing *ring, uint64_t version);
/* Who has that key, also where its rate is used up. *out_wait_s is after how long to come again, of ERR_LIMIT. The caller's texts live in `arena`. */
MUST_USE Status keyring_find(KeyRing *ring, Arena *arena, Str key, int64_t now_ms, Caller *out, uint64_t *out_wait_s, Error *err);
/* Whether that key still lets in, by the same rules; of no rate. */
MUST_USE Status keyring_check(KeyRing *ring, Arena *arena, Str key, int64_t now_ms, Error *err);
/* One request of somebody of the tenant who has no key: of its rate. */
MUST_USE Status keyring_take(KeyRing *ring, Str tenant, uint64_t *out_wait_s, Error *err);

#endif
