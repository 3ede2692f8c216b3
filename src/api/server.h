/* server.h - the server: HTTP in a thread of its own, beside the engine in its caller's.
 *
 * server_start() begins to answer; the caller goes on turning the host, which carries out what is asked. Each request is
 * authenticated, authorised, counted and, as the level says, told in the log (api/log.h), with the id that its answer carries as
 * X-Request-Id. What became durable is told by a herald (api/herald.h): in the log, and to a collector of traces.
 *
 * To end: server_drain() takes no further connections and answers what has begun; then server_stop(), after which nothing here reads the
 * store any more, then host and store are closed, then server_free().
 *
 * Owns:   its thread, connections and what it was given to own. Borrows store, host, vault, catalog and guard.
 * Fails:  server_start() with the reason for people.     Bounds: those of http.h.
 * Thread: the engine's, for all functions.
 */
#ifndef API_SERVER_H
#define API_SERVER_H

#include "api/bridge.h"
#include "api/key.h"
#include "api/log.h"
#include "api/otlp.h"
#include "engine/host.h"
#include "lang/catalog.h"
#include "policy/guard.h"
#include "secret/vault.h"

typedef struct Server Server;

typedef struct ServerOptions {
    Host *host;
    Store *store;
    Str store_path;                 /* of its file: no answer has it; empty: it has none */
    Vault *vault;                   /* for this thread alone: not the engine's */
    const SealKey *token_key;       /* of the tokens of attempts */
    Guard *guard;                   /* the same */
    Vault *aside_vault;             /* both of the thread beside it */
    Guard *aside_guard;
    const Guard *engine_guard;      /* the engine's, for what it has counted; NULL: none */
    const Catalog *catalog;
    int fd;                         /* listens; taken */
    uint32_t connection_count_max;  /* API_CONNECTION_COUNT_MAX, or what descriptors permit */
    const char *certificate, *key;  /* PEM; NULL: without TLS */
    ExchangeWith exchange;          /* with workers that pull their work; NULL: there are none */
    ExchangeWithdraw withdraw;      /* of the same */
    ExchangeGiveBack give_back;
    void *exchange_context;
    const char *access;             /* a policy in place of the built-in one; NULL */
    KeyRates rates;
    Log log;
    OtlpOptions otlp;               /* url empty: no spans are sent */
    void (*reloaded)(void);         /* what server_reload() wanted is done; in the server's thread; may be NULL */
} ServerOptions;

/* Whether a server could start with these files: a certificate and its key, an access policy; each may be NULL. */
MUST_USE Status server_check(const char *certificate, const char *key, const char *access, Error *err);
/* Whether the access policy has a clear answer for every role. A server starts with one that has not, and denies what is not clear. */
MUST_USE Status server_check_access(const char *path, Error *err);
MUST_USE Status server_start(const ServerOptions *options, Server **out_server, Error *err);
void server_turn(Server *server);           /* after each turn of the host */
void server_drain(Server *server);          /* begins to */
/* What takes long and was begun before the drain has come as far as to the engine, which has to take it still: it drains after its next turn. */
bool server_is_settled(const Server *server);
bool server_is_drained(const Server *server);
/* Certificate and key are read again, for connections from now on; what is wrong with them is logged. */
void server_reload(Server *server);
void server_stop(Server *server);           /* NULL is permitted; ends the threads, and tells what is left to tell */
void server_free(Server *server);           /* NULL is permitted; after the host was closed */

#endif
