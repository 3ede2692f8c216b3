/* credential.h - what an attempt shows to the server: who it is, for as long as it is under way.
 *
 *   ma.<what it says>.<43 characters>       base64 of {"attempt","expires","holder","number","run","step","tenant"}, and its seal
 *
 * The engine makes one when it hands an attempt over; it is in no record, and is taken out of what the attempt says (engine/redact.h).
 * It is sealed with a key that is made of the key file and the tenant: nobody makes one for another tenant, run or attempt, and
 * whoever checks it needs nothing but the key file. That it was made is not stored. That its attempt is still under way, the store
 * says: so it ends with the attempt, and with its lease at the latest; at the moment that stands in it it ends in any case.
 *
 * Owns:   what is made lives in the arena given.
 * Fails:  ERR_DENIED with the reason, which is for the log; the reasons of the key file.
 * Bounds: CREDENTIAL_SIZE_MAX, CREDENTIAL_MS_MAX.     Thread: that of the vault.
 */
#ifndef SECRET_CREDENTIAL_H
#define SECRET_CREDENTIAL_H

#include "secret/vault.h"

#define CREDENTIAL_PREFIX "ma."

typedef struct Credential {
    Str tenant, run_id, step;
    uint64_t run_no, holder;
    uint32_t attempt;               /* as of AttemptId */
    int64_t expires_ms;             /* since 1970 */
} Credential;

MUST_USE Status credential_make(Vault *vault, Arena *arena, const Credential *facts, Str *out_text, Error *err);
/* What it says, where it is genuine and its time is not over. */
MUST_USE Status credential_read(Vault *vault, Arena *arena, Str text, int64_t now_ms, Credential *out, Error *err);

#endif
