/* vault.h - the secrets of a store's tenants, opened where they are needed and nowhere else.
 *
 * Two use it: the engine when it hands an attempt over, and whoever authenticates a trigger. It reads one row at a time, opens
 * it into memory that is locked and left out of dumps, and keeps no value: the next call wipes the last. What it keeps are keys
 * of tenants, which never change once they are there. So a secret that was set or removed counts from its commit on, and
 * nothing has to be told.
 *
 * It also seals, for whoever sets a secret: the value never leaves the process that was given it, but sealed.
 *
 * Owns:   keys and the last value, wiped by vault_free(). Borrows the store.
 * Fails:  ERR_NOT_FOUND: no such secret, the text says how it is set; the key file's reasons; ERR_CORRUPT where it does not open;
 *         ERR_UNAVAILABLE: the store cannot be read now.
 * Bounds: VAULT_TENANT_COUNT_MAX keys at hand.     Thread: one at a time, as store_select() of the store.
 */
#ifndef SECRET_VAULT_H
#define SECRET_VAULT_H

#include "secret/seal.h"
#include "view/store.h"

typedef struct Vault Vault;

/* `key_path` may be NULL: then there are no secrets. Nothing is read before it is needed. */
Vault *vault_new(Store *store, const char *key_path);
void   vault_free(Vault *vault);        /* NULL is permitted */

/* The value of a secret, valid until the next call; `vault` is a Vault: see EngineOptions.secret. */
MUST_USE Status vault_secret(void *vault, Str tenant, Str name, Str *out, Error *err);
/* The bearer token of a trigger. */
MUST_USE Status vault_token(void *vault, Str tenant, Str run_id, Str trigger, TriggerToken *out, Error *err);

/* The seal of a text in the name of a tenant, with the key file alone: the store is not asked. */
MUST_USE Status vault_sign(Vault *vault, Str tenant, Str text, TriggerToken *out, Error *err);

/* The key of the tokens of attempts. It makes the key file where no tenant has a key yet; without a path: a key by chance, of this process
 * alone. */
MUST_USE Status vault_token_key(Vault *vault, SealKey *out, Error *err);

/* What is stored of a secret. `tenant_key` goes with it, for the store to keep where the tenant has no key yet. */
typedef struct Sealed { Str bytes, tenant_key; } Sealed;
/* Makes the key of a tenant that has none, and the key file where no tenant has one. Without a name: the key alone. */
MUST_USE Status vault_seal(Vault *vault, Arena *arena, Str tenant, Str name, Str value, Sealed *out, Error *err);
/* The tenant's key may be another by now: it is read again. */
void            vault_forget(Vault *vault);

#endif
