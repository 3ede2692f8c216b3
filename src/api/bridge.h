/* bridge.h - the way from the server's thread to the engine's and back.
 *
 * Petitions (api/petition.h) go over in a ring; their answers come back in another, each with one wake-up however many there are:
 * so all requests that one commit answered are resumed together. A third ring carries news: which runs have new events or log
 * lines that are durable, for requests that wait for a run and for event streams. It may overflow: then everybody looks.
 *
 * What the engine has counted is surveyed when somebody asks: a copy, made in the engine's thread between two turns, so that counting
 * needs no lock. How the engine is (bridge_state()) is published after a turn that changed it.
 *
 * Owns:   petitions that are under way. Borrows the host, which must be closed before bridge_free().
 * Fails:  bridge_ask() answers false where API_RING_COUNT petitions are under way, and after bridge_close().
 * Thread: bridge_new(), bridge_turn(), bridge_close(): the engine's; all others: the server's.
 */
#ifndef API_BRIDGE_H
#define API_BRIDGE_H

#include "api/problem.h"
#include "engine/host.h"
#include "engine/meter.h"
#include "policy/guard.h"

typedef struct Bridge Bridge;

typedef struct BridgeAnswer {
    Status status;
    Error error;                    /* unless OK */
    ProblemKind problem;            /* what kind it is, unless OK */
    Id run_id;
    uint64_t run_no;
    RunState state;
    Resolution resolution;
    bool is_repeat, is_noop, is_other_request;
    bool was_asked;                 /* the same request came before: this is the answer of then */
    const char *outcome;            /* of a trigger that was taken; else NULL */
    bool is_over_quota;             /* the tenant has used up what it may have */
    int64_t quota_ms;               /* of that: when it has again */
    bool is_other_start;            /* the key of a start belongs to a run with other parameters: run_id */
    bool is_stale;                  /* the revision is not as it was seen, or the secret is not new */
    bool is_overtaken;              /* another revision is active than it was compared with: compare again */
} BridgeAnswer;

typedef void (*BridgeDone)(void *context, const BridgeAnswer *answer);
/* A run has new events, or log lines that are stored; 0: any of them may have. `is_still`: as far as the engine knows, nothing more happens to it by
 * itself, and it may be further than what is durable. */
typedef struct BridgeItem { uint64_t run_no; bool is_log, is_still; } BridgeItem;
typedef void (*BridgeNews)(void *context, const BridgeItem *item);

/* Exchanges of workers that pull their work. The engine's side of them is an adapter, which this folder does not know: the composition
 * root hands it in. `done` is called in the engine's thread, once, unless the function fails. */
typedef struct ExchangeAsk {
    Str executor;                   /* its name */
    Str worker;                     /* who asks: at most one exchange of it waits */
    Str tenant;                     /* whose work alone it gets; empty: everybody's */
    Value queues;                   /* a list of those that its key is for; null: all */
    Value request;
    Str token;                      /* of a callback: a service reports to an http executor; empty: an exchange */
} ExchangeAsk;
/* What is answered where there is no such executor, and where its key is not for it: the same words, so that it learns nothing. */
#define EXCHANGE_NO_EXECUTOR "there is no worker executor '%.*s'; runners.yaml declares them"
typedef Status (*ExchangeWith)(void *context, const ExchangeAsk *ask, void (*done)(void *context, Value answer), void *done_context,
                               Error *err);
/* An exchange, by its `done_context`: no lease is wanted by it any more, and it is answered as soon as what it said is durable. */
typedef void (*ExchangeWithdraw)(void *context, const void *done_context);
/* Nobody was given that answer of an exchange with the executor: its leases and cancels are as if they had not been told. */
typedef void (*ExchangeGiveBack)(void *context, Str executor, Value answer);
/* `answer` is JSON; empty where `status` says why there is none. */
typedef void (*ExchangeDone)(void *context, Status status, const Error *err, Str answer);

typedef struct BridgeOptions {
    Host *host;
    Store *store;                   /* whose runs are counted */
    ExchangeWith exchange;          /* NULL: there are no workers */
    ExchangeWithdraw withdraw;
    ExchangeGiveBack give_back;
    void *exchange_context;
    const Guard *guard;             /* the engine's; NULL: none */
    /* A record is durable. In the engine's thread: it has to be quick. NULL: nobody wants them. */
    void (*record)(void *context, const Observation *observation);
    void *record_context;
} BridgeOptions;

MUST_USE Status bridge_new(const BridgeOptions *options, Bridge **out_bridge, Error *err);
void bridge_close(Bridge *bridge);      /* takes nothing more; before the host is closed */
void bridge_free(Bridge *bridge);       /* NULL is permitted; after the host and the server */

bool bridge_ask(Bridge *bridge, Value request, BridgeDone done, void *context);
/* The same with the plan of a start, which was read before; taken, also where this is refused. NULL: without one. */
bool bridge_ask_plan(Bridge *bridge, Value request, EnginePlan *plan, BridgeDone done, void *context);
/* One that is under way; valid until its `done` has returned. */
typedef struct Job BridgeExchange;
BridgeExchange *bridge_exchange(Bridge *bridge, const ExchangeAsk *ask, ExchangeDone done, void *context);     /* NULL as false above */
/* Whoever asked is not there any more, or nobody may wait now: see ExchangeWithdraw. May be called again. */
void bridge_withdraw(Bridge *bridge, BridgeExchange *exchange);
/* In `done`: how many leases and cancels the answer has, which are told once; and that nobody is told: they are given back. */
uint32_t bridge_order_count(const BridgeExchange *exchange);
void bridge_give_back(BridgeExchange *exchange);
/* Tenants as the engine has them now, of one, or with an empty name of all: as engine_tenants() shows them. */
bool bridge_tenants(Bridge *bridge, Str tenant, ExchangeDone done, void *context);
/* What the server keeps in the ledger and belongs to no run: engine/engine.h. `keep->reply` is not used. */
bool bridge_keep(Bridge *bridge, const EngineKeep *keep, BridgeDone done, void *context);
/* Changes whenever a secret, and with it a key, was set or removed: before whoever did it is answered. */
uint64_t bridge_secret_version(const Bridge *bridge);
int  bridge_fd(const Bridge *bridge);   /* readable when there is something to take */
/* All that there is by now is taken before anything of it is told: what is read from then on has what it tells of. */
void bridge_take(Bridge *bridge, BridgeNews news, void *context);
/* News are wanted by one more, or one less. True where nobody wanted any before: what happened until now was told to nobody. */
bool bridge_listen(Bridge *bridge, int change);
void bridge_turn(Bridge *bridge);       /* after each turn of the engine */
/* How the engine is. `trouble` says why, where it is stalled or fenced. */
typedef struct BridgeState { EngineState state; bool is_ready; Error trouble; } BridgeState;
BridgeState bridge_state(Bridge *bridge);

typedef struct ExchangeCounts { uint64_t answered, refused, reports, leases; uint32_t waiting; } ExchangeCounts;
/* What has been counted up to now. */
typedef struct Survey {
    EngineStats stats;
    EngineMeter meter;
    EngineGauge gauge;
    Spread policy_times[HOOK_COUNT];
    ExchangeCounts exchanges;
    uint64_t run_counts[RUN_STATE_COUNT];   /* in the store */
    bool has_run_counts;
} Survey;
typedef void (*SurveyDone)(void *context, const Survey *survey);
bool bridge_survey(Bridge *bridge, SurveyDone done, void *context);

#endif
