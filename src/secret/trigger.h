/* trigger.h - a trigger from outside on its way to its run: the handler behind POST /maestro/trigger/{run_id}/{trigger}.
 *
 * What the address names is looked up, and the request is authenticated as the definition says; only then its body is read, by the caller, since
 * it may be large. What comes out is a command for whoever owns the log, with who sent it and from where; whether the run takes it, and whether the
 * payload meets its schema, is decided there, and recorded there. A request that is refused here leaves the run as it was and
 * writes nothing: strangers do not fill the ledger.
 *
 * What a run was sent is in its store, and a rate_limit is held against that and against what was let in and is not settled yet: several
 * requests at once are as many as they would be one after the other.
 *
 * Owns:   a desk borrows everything but its signatures. What is made lives in the arena given.
 * Fails:  ERR_NOT_FOUND: no such run, or it has no such trigger; ERR_DENIED: not authenticated, with the reason for the log;
 *         ERR_LIMIT: the pause's rate_limit is used up, and *out_wait_ms says for how long; that and ERR_UNAVAILABLE as of
 *         trigger_auth.h.
 * Bounds: TRIGGER_BODY_SIZE_MAX.     Thread: one at a time, as store_select() of the store.
 */
#ifndef SECRET_TRIGGER_H
#define SECRET_TRIGGER_H

#include "base/id.h"
#include "core/command.h"
#include "policy/guard.h"
#include "secret/trigger_auth.h"
#include "secret/vault.h"

/* A trigger that was let in, until what the engine did with it is durable. */
typedef struct TriggerFlight { struct TriggerFlight *next, *prev; Str run_id, trigger; } TriggerFlight;

typedef struct TriggerDesk {
    Store *store;
    Vault *vault;                       /* NULL: no secrets, so that nothing signed is taken */
    Guard *guard;                       /* NULL: no policies */
    TriggerReplays replays;             /* zero at first; ended by trigger_replays_deinit() */
    TriggerFlight *flights;             /* of orders that are not settled */
} TriggerDesk;

/* What to ask of the engine. */
typedef struct TriggerOrder {
    Id run_id;
    Str tenant;
    Command command;                    /* COMMAND_TRIGGER: name, actor, origin; its id where the request has one. The caller adds the body */
    TriggerProof proof;
    TriggerFlight flight;
} TriggerOrder;

/* What pauses of that key permit: of several, the least. */
typedef struct TriggerTerms { Value auth; int64_t window_ms, rate_ms; uint64_t rate_count; } TriggerTerms;
/* What a plan says of it, which `auth` lives in. ERR_NOT_FOUND, ERR_DENIED as below. */
MUST_USE Status trigger_find_terms(const Plan *plan, Str trigger, TriggerTerms *out, Error *err);

/* `terms`: where they are known; NULL: the plan of the run is read, which may be large. *out_wait_ms: of one whose rate is used up, after how
 * long it is not. */
MUST_USE Status trigger_handle(TriggerDesk *desk, Arena *arena, const TriggerRequest *request, const TriggerTerms *terms, TriggerOrder *out,
                               int64_t *out_wait_ms, Error *err);
/* The order was let in and is on its way to the engine: it counts until it is settled, and stays where it is. */
void trigger_depart(TriggerDesk *desk, TriggerOrder *order);
void trigger_settle(TriggerDesk *desk, TriggerOrder *order);

/* What the token of a trigger is bound to (vault_token()). Of a run: its id and the trigger, where its plan has one that takes a token;
 * else ERR_INVALID. */
MUST_USE Status trigger_check_bearer(const Plan *plan, Str run_id, Str trigger, Error *err);
/* The same of a webhook that starts a workflow, among the triggers of its plan. */
MUST_USE Status trigger_check_webhook(Value triggers, Str workflow, Str key, Error *err);
/* Of a webhook that starts a workflow: in the place of run and trigger. */
Str trigger_workflow_bound(Arena *arena, Str workflow);
Str trigger_webhook_name(Arena *arena, Str key);

#endif
