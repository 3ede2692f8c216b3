/* aside.h - work that takes long, beside the server's thread.
 *
 * There is one thread that answers, and what takes long in it keeps everybody waiting. Compiling a definition, comparing two plans and making a
 * run again out of its events read and compute, and change nothing: they are carried out here, on a copy of their call, in one thread of their
 * own. The call waits meanwhile like one that waits for a commit. The copy has what was asked, an arena and an answer of its own, and an Api with a
 * snapshot of the store that is renewed for each: so a handler of a route works on it as on the call itself. What it must not do is what the
 * server's thread alone may: authorise (it may ask what is shown to the caller, api_shows()), petition, wait.
 *
 * What nobody waits for any more, since its client's connection is broken, is not begun. What is answered is packed here, too, where it is. Nothing
 * comes of it where the key that it was asked with was revoked meanwhile.
 *
 * What no request waits for, but the server itself, comes as an errand: its copy is of no call.
 *
 * One thing is done at a time, so the memory for it is that of one (API_COMPILE_SIZE_MAX for a definition). Tenants have turns: who asks for
 * much waits behind itself and not before others.
 *
 * Owns:   its thread, its snapshot, and copies until their `done` has returned. The call is held by a use until then.
 * Fails:  aside_begin() by answers: 429 where the tenant has API_ASIDE_SHARE_MAX of them waiting, 503 where all have API_ASIDE_COUNT_MAX, and where
 *         the server is about to end: what was begun before is done first.
 * Bounds: these two; a call that has waited API_ANSWER_MS_MAX is answered with 503, and what comes of it is thrown away.
 * Thread: the server's; AsideWork the aside's.
 */
#ifndef API_ASIDE_H
#define API_ASIDE_H

#include "api/call.h"
#include "lang/catalog.h"
#include "policy/guard.h"
#include "secret/vault.h"
#include "view/store.h"

typedef struct Aside Aside;

typedef struct AsideOptions {
    Store *store;                   /* a snapshot of it is taken */
    Str store_path;                 /* as of Api */
    const Catalog *catalog;
    Guard *guard;                   /* its thread's own */
    Vault *vault;                   /* the same */
    struct Access *access;          /* the same: what is shown to the caller is asked of it */
    struct PlanFacts *facts;
} AsideOptions;

/* In the aside's thread. It reads what belongs to the call, may write to its `state`, at which nobody else looks meanwhile, and allocates and
 * answers in the copy alone. */
typedef void (*AsideWork)(Call *copy);
/* In the server's thread, where the work has not answered, and there is still somebody to answer. The copy's arena ends with it; what it has read of
 * the body is the call's. */
typedef void (*AsideDone)(Call *call, Call *copy);

MUST_USE Status aside_open(const AsideOptions *options, Aside **out_aside, Error *err);
/* Ends what is under way; after the server's thread has ended. NULL is permitted for both. */
void aside_stop(Aside *aside);          /* before the store is closed */
void aside_free(Aside *aside);          /* after http_close(): calls are let go of */

/* The answer of the work becomes that of the call; `done`: NULL where the work always answers. */
void aside_begin(Call *call, AsideWork work, AsideDone done);
/* The same; false where there is no room, and nothing is answered. */
bool aside_try(Call *call, AsideWork work, AsideDone done);
/* An errand, whose turn is that of this tenant. The copy's `state` is the context. False where there is no room, and nothing is done. */
typedef void (*AsideErrandDone)(void *context, Call *copy);
bool aside_send(Aside *aside, Str tenant, AsideWork work, AsideErrandDone done, void *context);
int  aside_fd(const Aside *aside);      /* readable when there is something to take */
void aside_take(Aside *aside);          /* answers what is done */
bool aside_is_busy(const Aside *aside); /* something waits, is under way, or is not taken yet */

#endif
