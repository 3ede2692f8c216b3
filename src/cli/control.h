/* control.h - commands to the process that owns a store, from others on the same machine.
 *
 * The owner listens on PATH.sock (its user's alone). A caller sends one JSON object a line and gets one back:
 *
 *   {"verb":"pause","run":"...","id":"...","actor":"user:ana","reason":"..."}      a petition: api/petition.h
 *   {"status":"ok","run":"...","state":"paused","noop":false}   or   {"status":"conflict","error":"..."}
 *
 * The answer comes when what it says is durable. A request has an id: a caller whose owner died before it answered sends the same
 * to the next one, and gets the first answer where it was done (cli/errand.h).
 * A start says by a digest with which runners and under which policies it is to go (cli/offers.h); an owner that knows them by
 * others does not take it. A connection that is kept open tells by its end that the owner has gone.
 *
 * Owns:   a ControlServer owns its socket and connections, until control_free(). Between control_stop(), which hangs up, and
 *         that, the engine is closed: answers that it still gives find their caller gone.
 * Fails:  ERR_UNAVAILABLE where nobody owns the store, or the owner went away before it answered, or takes nothing now;
 *         ERR_CONFLICT where it does not answer.
 * Bounds: CONTROL_CLIENT_COUNT_MAX connections, CONTROL_LINE_SIZE_MAX a line.     Thread: the main one.
 */
#ifndef CLI_CONTROL_H
#define CLI_CONTROL_H

#include "api/problem.h"
#include "cli/offers.h"
#include "engine/host.h"

typedef struct ControlServer ControlServer;

/* `scope` is the owner's: starts that mean other runners or other policies are not taken. */
MUST_USE Status control_listen(const char *path, Host *host, const OfferScope *scope, ControlServer **out_server, Error *err);
bool control_is_quiet(const ControlServer *server);     /* every request is answered */
void control_stop(ControlServer *server);           /* NULL is permitted */
void control_free(ControlServer *server);           /* NULL is permitted */

typedef struct ControlAnswer {
    Status status;
    Error error;                    /* unless OK */
    Id run_id;
    RunState state;
    bool is_noop, is_repeat;
    bool was_asked;                 /* the same request came before, by its id: this is the answer of then */
    ProblemKind problem;            /* what kind of refusal it is, unless OK */
    bool is_stalled;                /* the owner cannot write the store: asking again helps nobody */
} ControlAnswer;

/* The descriptor is the caller's. Of a server, whose address `path` is, it tells by its end that the server has gone, and no more. */
MUST_USE Status control_connect(const char *path, int *out_fd, Error *err);
void            control_read_answer(Value answer, ControlAnswer *out_answer);   /* of an owner that was asked otherwise */
/* Sends one request and waits for its answer. */
MUST_USE Status control_ask(Arena *arena, int fd, Value request, ControlAnswer *out_answer, Error *err);

#endif
