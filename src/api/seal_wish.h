/* seal_wish.h - a secret that the server is given to keep: sealed here, and stored by the engine as everything else is.
 *
 * The value came in a request and leaves this thread sealed alone: neither a petition nor an answer nor the log has it, and what held it
 * is wiped when the request is answered. Where two make the first key of a tenant at the same time, the one who was late seals again.
 *
 * Owns:   nothing; a wish is the call's `state` and lives in its arena.     Fails: by answers.
 * Bounds: SECRET_SIZE_MAX, SEAL_TRY_COUNT_MAX.     Thread: the server's.
 */
#ifndef API_SEAL_WISH_H
#define API_SEAL_WISH_H

#include "api/api.h"

typedef struct SealWish {
    Str tenant;
    Str name;                       /* empty: the tenant gets its key, where it has none */
    Str value, reason;
    bool is_new;                    /* it is stored only where there is none of that name; else refused as stale */
    ApiDone done;                   /* answers */
    ApiRefused refused;             /* NULL: refusals are answered as they are */
    uint32_t try_count;             /* 0 at first */
    void *state;                    /* of its handler */
} SealWish;

/* Stores it; authorised before. */
void seal_wish_send(Call *call, SealWish *wish);
/* Removes the secret; the wish has no value. */
void seal_wish_remove(Call *call, SealWish *wish);

#endif
