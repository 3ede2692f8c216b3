/* remote_store.h - the store of a server, read over its API: for commands that are its clients.
 *
 * A query is one request to POST /api/store/{query}, answered from a snapshot there; what is asked of the engine is one request to
 * POST /api/petitions. So a command reads and asks as it does beside a store of its own, and says the same. Nobody but the server
 * can own the store: store_own() is ERR_CONFLICT. A key that is over its rate is waited for, REMOTE_AWAY_MS_MAX at most.
 *
 * Owns:   its connection, until store_close(). Copies address and key.
 * Fails:  ERR_UNAVAILABLE: the server cannot be reached; ERR_DENIED: it refuses the key; else what its problem says.
 * Bounds: API_STORE_ANSWER_SIZE_MAX an answer.     Thread: one.
 */
#ifndef STORE_REMOTE_REMOTE_STORE_H
#define STORE_REMOTE_REMOTE_STORE_H

#include "view/store.h"

typedef struct RemoteOptions {
    Str url;                        /* "http://host:port" or https */
    Str key;                        /* the API key */
    const char *ca;                 /* a file with the authorities that it is believed by; NULL: those of this machine */
} RemoteOptions;

bool            remote_is_url(Str url);
MUST_USE Status remote_store_open(const RemoteOptions *options, Store **out_store, Error *err);
/* One petition (api/petition.h) and its answer, as cli/control.h has it. */
MUST_USE Status remote_petition(const RemoteOptions *options, Arena *arena, Value request, Value *out_answer, Error *err);
/* One request to a route, and its answer: null where it has none. What is refused is told in the words of its problem, which is the answer then. */
typedef struct RemoteCall {
    const char *method;
    Str path;                       /* with the query; what is in it is escaped */
    Str id;                         /* the Idempotency-Key; empty: none */
    Value body;                     /* null: none */
} RemoteCall;
MUST_USE Status remote_call(const RemoteOptions *options, Arena *arena, const RemoteCall *call, Value *out_answer, Error *err);
/* The log lines of a run behind `after`, as they are written, until the run is settled: rows of TABLE_LOGS. A connection that is lost is
 * made again, and goes on behind the last line, REMOTE_RETRY_COUNT times without one between; `away` is told each time that it is lost, and
 * with NULL that the server answers again. */
typedef void (*RemoteAway)(void *context, const Error *why);
typedef struct RemoteLines { Str run_id; int64_t after; Cell step; RowVisit visit; RemoteAway away; void *context; } RemoteLines;
MUST_USE Status remote_lines(const RemoteOptions *options, const RemoteLines *lines, Error *err);

#endif
