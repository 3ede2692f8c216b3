/* trigger.h - a trigger from outside on its way to its run: the handler behind POST /maestro/trigger/{run_id}/{trigger}.
 *
 * First it is proved who sends it: as the definition says of the trigger that the address names. That reads, and changes nothing; of a large
 * body or plan it takes long, and is done wherever there is time. Then it is admitted: once, and as often as its pause permits. What comes out is
 * a command for whoever owns the log, with who sent it and from where, which lacks its payload: nobody reads a body before its sender is known.
 * Whether the run takes it, and whether the payload meets its schema, is decided there, and recorded there. A request that is refused here leaves
 * the run as it was and writes nothing: strangers do not fill the ledger.
 *
 * What a run was sent is in its store, and a rate_limit is held against that and against what was let in and is not settled yet: several
 * requests at once are as many as they would be one after the other.
 *
 * Owns:   a desk borrows everything but its signatures. What is made lives in the arena given.
 * Fails:  ERR_NOT_FOUND: no such run, or it has no such trigger; ERR_DENIED: not authenticated, with the reason for the log;
 *         ERR_LIMIT: the pause's rate_limit is used up, and *out_wait_ms says for how long; that and ERR_UNAVAILABLE as of
 *         trigger_auth.h.
 * Bounds: TRIGGER_BODY_SIZE_MAX.     Thread: one at a time of a desk, as store_select() of the store. One that only proves may be another's.
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

/* How many are taken in which time: of several pauses of one key, the least. */
typedef struct TriggerRate { uint64_t count; int64_t per_ms; } TriggerRate;

/* What to ask of the engine. */
typedef struct TriggerOrder {
    Id run_id;
    Str tenant;
    Command command;                    /* COMMAND_TRIGGER: name, actor, origin; its id where the request has one */
    TriggerProof proof;
    int64_t run_no;
    TriggerRate rate;
    TriggerFlight flight;
} TriggerOrder;

/* `run`: its row; NULL: there is none. `plan`: that of the run, where it is at hand; NULL: it is read. */
MUST_USE Status trigger_prove(const TriggerDesk *desk, Arena *arena, const TriggerRequest *request, const Cell *run, const Plan *plan,
                              TriggerOrder *out, Error *err);
/* What was proved in an arena that ends before the order does. */
TriggerOrder trigger_order_copy(Arena *arena, const TriggerOrder *order);
/* *out_wait_ms: of one whose rate is used up, after how long it is not; 0: that cannot be told. */
MUST_USE Status trigger_admit(TriggerDesk *desk, Arena *arena, const TriggerOrder *order, int64_t now_ms, int64_t *out_wait_ms, Error *err);
/* What triggers are authenticated with, of those that start something, too. */
TriggerAuthority trigger_authority(const TriggerDesk *desk);
/* The order is on its way to the engine: it counts until it is settled, and stays where it is. */
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
