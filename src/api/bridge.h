/* bridge.h - the way from the server's thread to the engine's and back.
 *
 * Petitions (api/petition.h) go over in a ring; their answers come back in another, each with one wake-up however many there are:
 * so all requests that one commit answered are resumed together. A third ring carries news: which runs have new events or log
 * lines that are durable, for requests that wait for a run and for event streams. It may overflow: then everybody looks.
 *
 * Owns:   petitions that are under way. Borrows the host, which must be closed before bridge_free().
 * Fails:  bridge_ask() answers false where API_RING_COUNT petitions are under way.
 * Thread: bridge_new(), bridge_close(): the engine's; bridge_ask(), bridge_take() and bridge_fd(): the server's.
 */
#ifndef API_BRIDGE_H
#define API_BRIDGE_H

#include "engine/host.h"

typedef struct Bridge Bridge;

typedef struct BridgeAnswer {
    Status status;
    Error error;                    /* unless OK */
    Id run_id;
    uint64_t run_no;
    RunState state;
    Resolution resolution;
    bool is_repeat, is_noop, is_other_request;
} BridgeAnswer;

typedef void (*BridgeDone)(void *context, const BridgeAnswer *answer);
/* A run has new events, or log lines; 0: any of them may have. */
typedef void (*BridgeNews)(void *context, uint64_t run_no, bool is_log);

/* Exchanges of workers that pull their work. The engine's side of them is an adapter, which this folder does not know: the composition
 * root hands it in. `done` is called in the engine's thread, once, unless the function fails. */
typedef struct ExchangeAsk {
    Str executor;                   /* its name */
    Str worker;                     /* who asks: at most one exchange of it waits */
    Str tenant;                     /* whose work alone it gets; empty: everybody's */
    Value request;
    Str token;                      /* of a callback: a service reports to an http executor; empty: an exchange */
} ExchangeAsk;
typedef Status (*ExchangeWith)(void *context, const ExchangeAsk *ask, void (*done)(void *context, Value answer), void *done_context,
                               Error *err);
/* `answer` is JSON; empty where `status` says why there is none. */
typedef void (*ExchangeDone)(void *context, Status status, const Error *err, Str answer);

typedef struct BridgeOptions {
    Host *host;
    ExchangeWith exchange;          /* NULL: there are no workers */
    void *exchange_context;
} BridgeOptions;

MUST_USE Status bridge_new(const BridgeOptions *options, Bridge **out_bridge, Error *err);
void bridge_close(Bridge *bridge);      /* takes nothing more; before the host is closed */
void bridge_free(Bridge *bridge);       /* NULL is permitted; after the host and the server */

bool bridge_ask(Bridge *bridge, Value request, BridgeDone done, void *context);
bool bridge_exchange(Bridge *bridge, const ExchangeAsk *ask, ExchangeDone done, void *context);
int  bridge_fd(const Bridge *bridge);   /* readable when there is something to take */
void bridge_take(Bridge *bridge, BridgeNews news, void *context);
/* News are wanted by one more, or one less. */
void bridge_listen(Bridge *bridge, int change);
/* How the engine is, as of its last turn that had something to say. */
typedef struct BridgeState { EngineStats stats; EngineState state; } BridgeState;
BridgeState bridge_state(Bridge *bridge);

#endif
