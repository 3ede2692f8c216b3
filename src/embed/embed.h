/* embed.h - the inside of a Maestro handle: what its files share.
 *
 * A handle is a store, a crew of executors and an engine whose host turns on a thread of the library. Threads of the program
 * reach the engine by requests in a bounded ring; each waits for the answer to its own. Whoever waits for a run leaves a
 * Waiter and is woken when an observation says that the run is settled.
 *
 *   enter() ── ask_send() ──▶ ring + wake ──▶ the engine's thread: begin() ──▶ engine ──▶ reply ──▶ ask_done()
 *           ── wait_settled() ─▶ waiters ◀── observation
 *   leave()
 *
 * Ending: maestro_close() sets is_closing. The engine's thread drains, closes the host (the last replies come by that), sets
 * is_stopped under the lock and answers what is left; nothing is put into the ring after that. When the last caller has left,
 * crew and store are closed.
 *
 * Owns:   everything in the handle, until maestro_close().
 * Fails:  as include/maestro.h says.
 * Bounds: EMBED_REQUEST_COUNT_MAX requests; a Waiter and an Ask lie on the stack of who waits.
 * Thread: stated at each member.
 */
#ifndef EMBED_EMBED_H
#define EMBED_EMBED_H

#include <pthread.h>

#include <maestro.h>

#include "base/ring.h"
#include "cli/adapters.h"
#include "engine/host.h"
#include "os/thread.h"
#include "os/wake.h"
#include "policy/guard.h"
#include "secret/vault.h"

typedef struct Waiter {
    struct Waiter *next;
    Id run_id;
    pthread_cond_t news;
    bool is_woken;
} Waiter;

typedef struct Ask {
    /* On the engine's thread: answers by ask_done(), at once or later. */
    void (*begin)(Maestro *maestro, struct Ask *ask);
    void *input;                        /* of begin() */
    Maestro *maestro;                   /* set by ask_send() */
    struct Ask *next, *before;      /* of those that the engine has; the engine's thread */
    pthread_cond_t answered;
    bool is_done;                       /* under the lock */
    EngineReply reply;                  /* once it is done; its error is `error` */
    Error error;
} Ask;

struct Maestro {
    /* Fixed before a second thread exists. */
    Arena arena;                        /* of the catalog and the runners */
    Catalog catalog;
    Str actor;
    Store *store;
    Crew crew;
    Thread thread;
    bool has_lock, has_wake, has_crew;
    bool is_read_aside;                 /* the store may be read beside the engine's thread */
    /* Of all threads. */
    pthread_mutex_t lock;
    pthread_cond_t has_left;
    Wake wake;
    Ring ring;                          /* put under the lock, so that nothing follows is_stopped */
    /* Under the lock. */
    uint32_t caller_count;              /* inside a function of the library */
    bool is_closing, is_stopped;
    int64_t drain_ms;
    Error end;                          /* why, once it is stopped */
    Error stall;                        /* why the store cannot be written; OK: it can */
    Waiter *waiters;
    /* Of the engine's thread. */
    Host *host;
    Guard *guard;
    Vault *vault;
    Ask *asked;
    bool is_stalled;                    /* as `stall` says */
};

/* --- runner.c: the functions of the program ---------------------------------------------------------------------------- */

/* Puts them into the catalog, before the crew is opened; then makes executors of them. */
MUST_USE Status runners_offer(Maestro *maestro, const MaestroOptions *options, Error *err);
MUST_USE Status runners_open(Maestro *maestro, const MaestroOptions *options, Error *err);
/* What of this handle the calling thread carries out: no runner, one on a worker's thread, one on the engine's. */
typedef enum RunnerPlace { RUNNER_NONE, RUNNER_WORKER, RUNNER_QUICK } RunnerPlace;
RunnerPlace runner_place(const Maestro *maestro);

/* --- ask.c: from any thread to the engine's ------------------------------------------------------------------------ */

/* Every public function that uses the engine or the store stands between these. Refused by a quick runner, for which nobody
 * could answer, and once the handle is being closed. */
MUST_USE Status enter(Maestro *maestro, Error *err);
void leave(Maestro *maestro);

/* Waits for the answer. The status is that of the reply, the reason in *err. */
MUST_USE Status ask_send(Maestro *maestro, Ask *ask, Error *err);
/* On the engine's thread: */
void ask_begin_all(void *maestro, int fd);              /* a HostWatch */
void ask_taken(Maestro *maestro, Ask *ask);     /* the engine has it: its reply comes by ask_reply() */
void ask_reply(void *ask_pointer, const EngineReply *reply);        /* a ReplyTo whose context is the Ask */
void ask_refuse(Maestro *maestro, Ask *ask, const Error *why);
void ask_stop(Maestro *maestro, const Error *why);      /* nothing more is taken, and what is left is answered so */

/* A read of the store on whichever thread may do it. */
typedef Status (*ReadStore)(Store *store, void *context, Error *err);
MUST_USE Status store_look(Maestro *maestro, ReadStore read, void *context, Error *err);

/* --- wait.c ------------------------------------------------------------------------------------------------------------ */

void waiters_observe(void *maestro, const Observation *observation);
void waiters_wake(Maestro *maestro);                        /* all of them: something has ended */

/* --- texts at the edge -------------------------------------------------------------------------------------------------- */

/* The public status of a call that failed, with its reason; err may be NULL. */
MaestroStatus give_error(const Error *error, MaestroError *err);
/* A text of the caller as a slice; ERR_INVALID where it is NULL though needed or no UTF-8, ERR_LIMIT where it is too long. */
MUST_USE Status take_text(const char *text, const char *what, size_t size_max, Str *out, Error *err);
MUST_USE Status take_run_id(const char *text, Id *out_id, Error *err);
MUST_USE Status take_json(Arena *arena, const char *text, const char *what, Value *out, Error *err);
/* A value as a text that the caller owns. */
MUST_USE Status give_json(Value value, char **out_json, Error *err);

#endif
