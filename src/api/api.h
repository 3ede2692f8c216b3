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
#include "api/herald.h"
#include "api/hook_rates.h"
#include "api/http.h"
#include "api/key.h"
#include "api/log.h"
#include "api/log_share.h"
#include "api/metrics.h"
#include "api/route.h"
#include "api/schedules.h"
#include "api/shares.h"
#include "lang/catalog.h"
#include "os/zone.h"
#include "secret/trigger.h"
#include "view/run_rows.h"

typedef struct ApiPlan { Digest digest; Arena arena; Plan plan; uint64_t asked; bool is_used; } ApiPlan;

/* Who asked for work lately. */
typedef struct WorkerSeen { char executor[NAME_SIZE_MAX + 1], worker[NAME_SIZE_MAX + 1], tenant[NAME_SIZE_MAX + 1]; int64_t last_ms; } WorkerSeen;
/* A run that a command which is a client has looked at lately, and with which key. */
typedef struct ClientRun { char key[KEY_ID_SIZE]; int64_t run_no; } ClientRun;

typedef struct Api {
    Str store_path;                 /* what errors of the store begin with, for the log alone */
    Store *store;                   /* a snapshot, renewed for every request and every round of answers */
    Bridge *bridge;
    Http *http;
    Shares *shares;                 /* of what can be held for long */
    struct Aside *aside;
    struct PlanFacts *facts;        /* the aside's, too */
    KeyRing *keys;
    const SealKey *token_key;       /* of the tokens of attempts */
    Access *access;
    struct Refusals *refusals;
    struct Debounces *debounces;
    const Catalog *catalog;
    Guard *guard;                   /* the server thread's own */
    TriggerDesk triggers;
    Metrics metrics;
    Log *log;
    Herald *herald;                 /* tells committed records to others */
    uint32_t survey_count;          /* requests that wait for what the engine has counted: they do not count themselves */
    LogShares log_shares;           /* of requests that are refused or fail */
    EngineState seen_state;         /* of the engine, as was logged last */
    HookRates hook_rates;
    WorkerSeen workers[API_WORKER_COUNT_MAX];
    Zones *zones;                   /* for schedules */
    struct Agenda *agenda;          /* those that are followed */
    ApiPlan plans[API_PLAN_COUNT_MAX];
    Buf openapi;                    /* made when it is asked for first */
    uint64_t plan_asked;            /* how often one was asked for: the least is the oldest */
    size_t plan_size;               /* bytes of all of them */
    struct Follower *followers[API_FOLLOW_BUCKET_COUNT];       /* that wait for news of a run: see follow.h */
    struct Follower *due_first, *due_last;                      /* those of them that have news */
    struct Streams *streams;        /* see stream.h */
    ClientRun client_runs[API_CLIENT_RUN_COUNT];
    uint32_t client_run_next;
    size_t freed_size;              /* about so much since memory was given back to the system */
    int64_t freed_ms;               /* when the last of it was */
    uint64_t closed_count;          /* connections, as far as they are counted in it */
    bool is_draining;
    const char *public_url;         /* before paths of links; "" */
} Api;

/* Whether the caller may; where not, answered: as `hidden` where the tenant is another's, as denied where the policy says so. */
bool api_may(Call *call, Str tenant, ProblemKind hidden);
/* The same of another verb than the route's. */
bool api_may_do(Call *call, const char *verb, Str tenant, ProblemKind hidden);
void api_deny(Call *call, Str tenant, const Denial *denial);     /* answers what the access policy does not permit */
/* Whose a definition is that was sent with no namespace beside it: with a key of every tenant, whose it says itself. False after answering. */
bool api_may_own(Call *call, Str named, Str *tenant);
/* Whether the caller may do this, for what it is shown: it answers nothing, and nobody is told. */
bool api_shows(Call *call, const char *verb, Str tenant);
/* Whether what a key of every tenant is shown has to be asked about tenant by tenant: a policy that was given may tell them apart. */
bool api_shows_by_tenant(const Call *call);
void api_refuse_foreign(Call *call, Str tenant);        /* notes for the ledger that it is another's; answers nothing */
bool api_sees(const Call *call, Str tenant);            /* the tenant is the caller's, or it has all */
/* The tenant of a query or body: `given`, else the caller's; of a key for every tenant 'default'. */
Str  api_tenant(const Call *call, Str given);

/* The row of the execution that the address names, and that the caller may see; false after answering. */
bool api_execution(Call *call, const Cell **out_row);
/* The same of any execution that the request names. */
bool api_execution_of(Call *call, Str id, const Cell **out_row);
/* Its Idempotency-Key was heard before, in that tenant. The engine answers it as the first, or refuses it as another one; so what it was about
 * then, which may be gone by now, is not looked for. */
bool api_is_repeat(Call *call, Str tenant);
/* What was answered to the request of that id; NULL: nothing, or it has none. */
MUST_USE Status api_request_row(Call *call, Str tenant, Str id, const Cell **out_row, Error *err);

/* A request is the same again by its words: the digest of method, address, body. Of a large body it takes long: any thread, of a copy. */
Str  api_asked(Call *call);

/* The trace context of the request, with which its events are recorded; a petition that is sent otherwise than below adds it itself. */
void api_add_trace(Call *call, MemberList *members);
/* Sends a petition: actor, id (Idempotency-Key), trace are added. `done` answers. */
typedef void (*ApiDone)(Call *call, const BridgeAnswer *answer);
void api_petition(Call *call, MemberList *members, const char *verb, ApiDone done);
/* The same; `refused` is asked first about what the engine refuses: false: it is answered as it is. NULL is permitted. */
typedef bool (*ApiRefused)(Call *call, const BridgeAnswer *answer);
void api_petition_or(Call *call, MemberList *members, const char *verb, ApiDone done, ApiRefused refused);
/* A request that is asked of the engine in parts is known first, as a whole, by its Idempotency-Key: one with other words, or that was sent
 * elsewhere, is refused before anything of it is done. `done` asks for the parts, under ids of their own (api_request_id() and the part)
 * with the words of the whole (api_asked()): so one that comes again, after a crash too, gets the answers that there are and does the rest.
 * Without a key it is called at once; its answer says nothing. */
void api_petition_whole(Call *call, Str tenant, ApiDone done);
Str   api_request_id(Call *call);               /* the id of its petition; empty: it has none */
void api_refuse(Call *call, const BridgeAnswer *answer);        /* what the engine refused, as a problem */

/* It takes work: it has recovered what there was, the store takes commits, and it is not about to end. */
bool api_is_ready(const Api *api);

/* The plan with that digest, kept at hand: it and the one that was asked for before it stay until the request is carried out. What
 * outlives that, or a third one, is copied. */
MUST_USE Status api_plan(Api *api, const Digest *digest, const Plan **out_plan, Error *err);
void api_plans_trim(Api *api);          /* between requests: what is beyond API_PLAN_SIZE_MAX is given up, the oldest first */
void api_plans_deinit(Api *api);

/* What schedules are read with. */
ScheduleDesk api_schedules(const Api *api);

/* News of the engine are wanted by one more; what is read from now on has all that was not told. */
void  api_listen(Api *api);

/* Members of answers. */
void  add_member(MemberList *members, const char *name, Value value);          /* null as null */
Value api_link(Call *call, const char *format, ...) PRINTF_LIKE(2, 3);          /* {"href": ...} */
/* For a part of a path or a value of a query: what could end it, or mean something else there, becomes %XX. In the call's arena. */
Str   api_escape(Call *call, Str text);

#endif
