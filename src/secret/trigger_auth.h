/* trigger_auth.h - who sends a trigger: the one place that decides whether a request from outside may resume a run.
 *
 * A pause says how its trigger is authenticated (`auth`), and there is no trigger without:
 *
 *   {hmac: NAME}                a signature with the secret NAME of the tenant
 *   {hmac_of_definition: true}  the same with the secret definition/ID of the workflow: what is meant where nothing is written
 *   {hub_signature: NAME}       a signature as code forges make it, X-Hub-Signature-256, with the secret NAME of the tenant
 *   {bearer: true}              the token of this trigger of this run: maestro trigger-token RUN KEY
 *   {api_key: true}             whom the caller has authenticated by credentials of its own
 *   {policy: NAME}              a policy decides, by what it is told of the request
 *
 * A signature is HMAC-SHA256 over the timestamp, the method, the path and the raw body, a line break behind each of the first three. So
 * what was signed for one trigger is good for no other, even where both have the same secret:
 *
 *   X-Maestro-Timestamp: 1766000000                 seconds since 1970
 *   X-Maestro-Signature: sha256=<64 hex digits>     of "1766000000\nPOST\n/maestro/trigger/RUN/KEY\n" and the body as it was sent
 *   Authorization: Bearer <43 characters>
 *
 * A forge signs the body and nothing else: X-Hub-Signature-256: sha256=<64 hex digits>. What was signed for one trigger is good for every
 * other that has the same secret, and however old it is. A body is taken once by each trigger within the window.
 *
 * A signed request that is older than the window, or as far ahead, is refused, and so is one whose signature was seen within it. Whoever
 * signs it anew and sends the Idempotency-Key of the first has its id; its signature is an id of it as well, so that nobody who has seen
 * it makes another request of it by another key. What a forge signed has the id of its body, whatever its key.
 *
 * The same holds for what is authenticated otherwise, as far as its sender says what tells one request from another:
 *
 *   X-Maestro-Timestamp         where it is there, it has to be within the window
 *   Idempotency-Key             its sender's word that a second one is the first, come again: it is let in, and has the id of the first, by
 *                               which it is answered as that and does nothing
 *   Webhook-Id, X-GitHub-Delivery, X-Gitlab-Event-UUID
 *                               names the delivery: a second one is refused
 *   a timestamp alone           then body and timestamp are the delivery
 *
 * Who sends none of these sends something new each time. What was seen is remembered in a TriggerReplays, once it has proved right; it
 * forgets with its process. The id that a proof has is made of the same: as the id of a command it makes the ledger's owner answer a
 * repeated one as the first, also later.
 *
 * Everything that is compared with something secret is compared in constant time. Whether there is a trigger is a secret, too: where none lets
 * a stranger in, his body was gone through as often as where one is that refuses him (trigger_waste()).
 *
 * To authenticate goes through the body, which takes long where that is large, and changes nothing: any thread does it that has an authority of
 * its own. What is known of a request counts once it is remembered.
 *
 * Owns:   a TriggerReplays is the caller's. What a proof has lives in the arena given, or is the subject's.
 * Fails:  ERR_DENIED with the exact reason, which is for the log and not for the sender; ERR_UNAVAILABLE where a secret cannot be
 *         read now; ERR_LIMIT where too many requests would have to be remembered.
 * Bounds: as replays.h; TRIGGER_HEADER_COUNT_MAX headers.     Thread: one at a time, of an authority and of a TriggerReplays.
 */
#ifndef SECRET_TRIGGER_AUTH_H
#define SECRET_TRIGGER_AUTH_H

#include "secret/replays.h"
#include "secret/seal.h"
#include "value/canonical.h"

/* What a token is bound to in the place of a run, where the trigger starts one: this and the id of the workflow. */
#define TRIGGER_WORKFLOW_PREFIX "workflow/"

typedef struct TriggerHeader { Str name, value; } TriggerHeader;        /* names in any case */

typedef struct TriggerRequest {
    Str method, path;               /* of the request: what it was signed for. The path is decoded and without the query */
    Str run_id, trigger;            /* of its address, where it resumes a run: POST /maestro/trigger/{run_id}/{trigger} */
    const TriggerHeader *headers;
    uint32_t header_count;
    Str body;                       /* as it was sent */
    Str source;                     /* the address it came from */
    Str identity;                   /* whom the caller has authenticated already; empty: nobody */
    int64_t now_ms;
    bool *is_passed;                /* becomes true where its body is gone through; may be NULL */
} TriggerRequest;

/* What is known of the trigger. */
typedef struct TriggerSubject {
    Str tenant, workflow, run_id, trigger;
    Value auth;
    int64_t window_ms;              /* 0: TRIGGER_WINDOW_MS */
} TriggerSubject;

/* What it may ask. */
typedef struct TriggerAuthority {
    Status (*secret)(void *context, Str tenant, Str name, Str *out, Error *err);        /* vault_secret() */
    Status (*token)(void *context, Str tenant, Str run_id, Str trigger, TriggerToken *out, Error *err);    /* vault_token() */
    void *vault;                    /* of these two */
    /* Whether the policy of that name permits what the input describes; else why. NULL: there are no policies. */
    bool (*permits)(void *context, Str name, Value input, int64_t now_ms, Arena *arena, Str *out_why);
    void *policies;                 /* of this one */
} TriggerAuthority;

typedef struct TriggerProof {
    Str identity;                   /* "hmac:NAME", "hub_signature:NAME", "bearer", whom the caller knows, "policy:NAME": recorded as the actor */
    Str id;                         /* of a request that can be told from others; else empty */
    Str alias;                      /* of one that is signed and has an Idempotency-Key: the id by its signature; else empty */
    Str tenant;
    ReplayKey replay;               /* by which it is remembered ... */
    int64_t replay_end_ms;          /* ... and until when; 0: it is not */
} TriggerProof;

MUST_USE Status trigger_authenticate(const TriggerAuthority *authority, const TriggerSubject *subject,
                                     const TriggerRequest *request, Arena *arena, TriggerProof *out, Error *err);

/* Goes through the body of a request that was refused, unless that was done (`is_passed`). */
void trigger_waste(const TriggerRequest *request);

/* ERR_DENIED: it was seen before. */
MUST_USE Status trigger_remember(TriggerReplays *replays, const TriggerProof *proof, int64_t now_ms, Error *err);
/* It came to nothing, for reasons that pass, and may come again. */
void trigger_withdraw(TriggerReplays *replays, const TriggerProof *proof);
TriggerProof trigger_proof_copy(Arena *arena, const TriggerProof *proof);

/* What a sender puts into X-Maestro-Signature, for tests and tools: of method, path and body. */
Str trigger_sign(Arena *arena, Str secret, Str timestamp, const TriggerRequest *request);

#endif
