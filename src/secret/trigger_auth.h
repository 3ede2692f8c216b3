/* trigger_auth.h - who sends a trigger: the one place that decides whether a request from outside may resume a run.
 *
 * A pause says how its trigger is authenticated (`auth`), and there is no trigger without:
 *
 *   {hmac: NAME}                a signature with the secret NAME of the tenant
 *   {hmac_of_definition: true}  the same with the secret definition/ID of the workflow: what is meant where nothing is written
 *   {bearer: true}              the token of this trigger of this run: maestro trigger-token RUN KEY
 *   {api_key: true}             whom the caller has authenticated by credentials of its own
 *   {policy: NAME}              a policy decides, by what it is told of the request
 *
 * A signature is HMAC-SHA256 over the timestamp, a point and the raw body:
 *
 *   X-Maestro-Timestamp: 1766000000                 seconds since 1970
 *   X-Maestro-Signature: sha256=<64 hex digits>     of "1766000000." and the body as it was sent
 *   Authorization: Bearer <43 characters>
 *
 * A signed request that is older than the window, or as far ahead, is refused, and so is one whose signature was seen within it.
 * Signatures are remembered in a TriggerReplays, once they have proved right; it forgets with its process. The id that a proof
 * has is made of the signature: as the id of a command it makes the ledger's owner answer a repeated one as the first, also
 * later.
 *
 * Everything that is compared with something secret is compared in constant time.
 *
 * Owns:   a TriggerReplays is the caller's. What a proof has lives in the arena given.
 * Fails:  ERR_DENIED with the exact reason, which is for the log and not for the sender; ERR_UNAVAILABLE where a secret cannot be
 *         read now; ERR_LIMIT where too many signatures would have to be remembered.
 * Bounds: TRIGGER_REPLAY_COUNT_MAX signatures, TRIGGER_HEADER_COUNT_MAX headers.     Thread: one at a time.
 */
#ifndef SECRET_TRIGGER_AUTH_H
#define SECRET_TRIGGER_AUTH_H

#include "secret/seal.h"
#include "value/value.h"

typedef struct TriggerHeader { Str name, value; } TriggerHeader;        /* names in any case */

typedef struct TriggerRequest {
    Str run_id, trigger;            /* of its address: POST /maestro/trigger/{run_id}/{trigger} */
    const TriggerHeader *headers;
    uint32_t header_count;
    Str body;                       /* as it was sent */
    Str source;                     /* the address it came from */
    Str identity;                   /* whom the caller has authenticated already; empty: nobody */
    int64_t now_ms;
} TriggerRequest;

/* What is known of the trigger. */
typedef struct TriggerSubject {
    Str tenant, workflow, run_id, trigger;
    Value auth;
    int64_t window_ms;              /* 0: TRIGGER_WINDOW_MS */
} TriggerSubject;

/* Signatures that were seen. Zero at first. */
typedef struct TriggerSeen { uint8_t mac[32]; int64_t end_ms; } TriggerSeen;
typedef struct TriggerReplays { TriggerSeen *seen; uint32_t count, capacity; } TriggerReplays;
void trigger_replays_deinit(TriggerReplays *replays);

/* What it may ask. */
typedef struct TriggerAuthority {
    Status (*secret)(void *context, Str tenant, Str name, Str *out, Error *err);        /* vault_secret() */
    Status (*token)(void *context, Str tenant, Str run_id, Str trigger, TriggerToken *out, Error *err);    /* vault_token() */
    void *vault;                    /* of these two */
    /* Whether the policy of that name permits what the input describes; else why. NULL: there are no policies. */
    bool (*permits)(void *context, Str name, Value input, int64_t now_ms, Arena *arena, Str *out_why);
    void *policies;                 /* of this one */
    TriggerReplays *replays;
} TriggerAuthority;

typedef struct TriggerProof {
    Str identity;                   /* "hmac:NAME", "bearer", whom the caller knows, "policy:NAME": recorded as the actor */
    Str id;                         /* of a signed request; else empty */
} TriggerProof;

MUST_USE Status trigger_authenticate(const TriggerAuthority *authority, const TriggerSubject *subject,
                                     const TriggerRequest *request, Arena *arena, TriggerProof *out, Error *err);

/* What a sender puts into X-Maestro-Signature, for tests and tools. */
Str trigger_sign(Arena *arena, Str secret, Str timestamp, Str body);

#endif
