/* api.h - what all handlers of the server share: the store, the way to the engine, and who may do what.
 *
 * A handler answers one route (routes.def). It authorises first: api_may() where the tenant is known from the address, or from
 * what the address names. A thing of another tenant is answered as one that does not exist. Commands go to the engine by
 * api_petition() and answer when it is durable; everything else is read from the store.
 *
 * Owns:   nothing: server.c makes and ends it.     Fails: by answers.     Thread: the server's.
 */
#ifndef API_API_H
#define API_API_H

#include "api/access.h"
#include "api/bridge.h"
#include "api/call.h"
#include "api/http.h"
#include "api/key.h"
#include "api/metrics.h"
#include "api/route.h"
#include "lang/catalog.h"
#include "secret/trigger.h"
#include "view/run_rows.h"

typedef struct ApiPlan { Digest digest; Arena arena; Plan plan; bool is_used; } ApiPlan;

/* How often a webhook was sent lately. */
typedef struct HookRate { char name[3 * (NAME_SIZE_MAX + 1)]; int64_t begin_ms, used_ms, count; bool is_used; } HookRate;

typedef struct Api {
    Store *store;
    Bridge *bridge;
    Http *http;
    KeyRing *keys;
    Access *access;
    const Catalog *catalog;
    Guard *guard;                   /* the server thread's own */
    TriggerDesk triggers;
    Metrics metrics;
    HookRate hooks[API_HOOK_COUNT_MAX];
    ApiPlan plans[API_PLAN_COUNT_MAX];
    uint32_t plan_next;
    struct Follower *followers[API_FOLLOW_BUCKET_COUNT];       /* that wait for news of a run: see follow.h */
    struct Stream *streams;
    uint32_t stream_count;
    bool is_draining;
    bool logs_all;                  /* every request, and not only those that are refused or fail */
    const char *public_url;         /* before paths of links; "" */
} Api;

/* Whether the caller may; where not, answered: as `hidden` where the tenant is another's, as denied where the policy says so. */
bool api_may(Call *call, Str tenant, ProblemKind hidden);
bool api_sees(const Call *call, Str tenant);            /* the tenant is the caller's, or it has all */
/* The tenant of a query or body: `given`, else the caller's; of a key for every tenant 'default'. */
Str  api_tenant(const Call *call, Str given);

/* The row of the execution that the address names, and that the caller may see; false after answering. */
bool api_execution(Call *call, const Cell **out_row);

/* Sends a petition: actor, id (Idempotency-Key), trace are added. `done` answers. */
typedef void (*ApiDone)(Call *call, const BridgeAnswer *answer);
void api_petition(Call *call, MemberList *members, const char *verb, ApiDone done);
void api_refuse(Call *call, const BridgeAnswer *answer);        /* what the engine refused, as a problem */

/* The plan with that digest, kept at hand. */
MUST_USE Status api_plan(Api *api, const Digest *digest, const Plan **out_plan, Error *err);

/* Members of answers. */
void  add_member(MemberList *members, const char *name, Value value);          /* null as null */
Value api_link(Call *call, const char *format, ...) PRINTF_LIKE(2, 3);          /* {"href": ...} */

#endif
