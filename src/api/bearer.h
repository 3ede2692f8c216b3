/* bearer.h - who calls, by what stands behind Authorization: Bearer: an API key, or the credential of an attempt.
 *
 * Owns:   the caller's texts live in the call's arena.
 * Fails:  bearer_find() with ERR_DENIED and a reason for the ledger, which is not for the caller; ERR_LIMIT where the rate is used up;
 *         ERR_UNAVAILABLE.     Thread: the server's.
 */
#ifndef API_BEARER_H
#define API_BEARER_H

#include "api/api.h"

/* What was sent; empty where it is no bearer. */
Str  bearer_text(const Call *call);
bool bearer_is_key(Str text);           /* by its looks: a trigger's own credentials have others */
/* Fills call->caller; of ERR_LIMIT too. *out_wait_s as of keyring_find(). */
MUST_USE Status bearer_find(Call *call, Str text, uint64_t *out_wait_s, Error *err);
/* Whether what let the caller in would do so still: a key that was revoked or has expired, and an attempt that has ended, do not. Of a
 * call that goes on after its first answer; `arena` is for the while. A store that cannot be read leaves it as it was. */
bool bearer_holds(const Call *call, Arena *arena, int64_t now_ms);
/* The same of a call that has waited, or came slowly, before it is carried out or told something: whoever was let in by the secret of a trigger
 * has nothing that could end meanwhile. False after answering; what was done before that stays done. */
bool bearer_check(Call *call);

#endif
