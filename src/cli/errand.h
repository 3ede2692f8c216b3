/* errand.h - a request that is carried to whoever owns a store, and to the next owner where that one dies before it answers.
 *
 * An owner that is killed may have committed what it was asked and not have said so. The request has an id, by which every
 * owner knows what was answered: it is simply asked again, of the next one or by becoming the owner. So nothing is done twice,
 * and nothing is lost. The id is the one given with --id, or one of its own.
 *
 *   Errand errand = errand_begin(args, "pause");
 *   errand_add(&errand, "run", ...);
 *   errand_ask(&errand, path, &answer, &fd, err)                ERR_UNAVAILABLE: nobody is there; try again, or become the owner
 *
 * Owns:   everything lives in the arena of the arguments; the descriptor of a connection is the caller's.
 * Fails:  ERR_UNAVAILABLE as above; ERR_CONFLICT where the owner does not answer; what is refused is in the answer.
 * Thread: the main one.
 */
#ifndef CLI_ERRAND_H
#define CLI_ERRAND_H

#include "cli/control.h"
#include "cli/command.h"

typedef struct Errand {
    const Args *args;
    MemberList members;
    Str id;
    Str actor;                      /* "user:ana" */
    Str trace;                      /* a W3C traceparent: $TRACEPARENT; empty where there is none */
    Str tracestate;                 /* what comes with it: $TRACESTATE; empty where there is none */
} Errand;

Errand errand_begin(const Args *args, const char *verb);
/* One of many of the same command: with `part` behind the id that was given. Empty: as above. */
Errand errand_begin_as(const Args *args, const char *verb, Str part);
/* On behalf of somebody, who is recorded beside the user. Empty: as above. */
Errand errand_begin_for(const Args *args, const char *verb, Str who);
void   errand_add(Errand *errand, const char *name, Value value);

/* Asks the owner who listens at `path`. *out_fd is the open connection, -1 where it is not wanted (NULL) or not there. */
MUST_USE Status errand_ask(Errand *errand, const char *path, ControlAnswer *out_answer, int *out_fd, Error *err);

/* The exit code of a refusal: 1 where the state of the run does not permit it. */
ExitCode errand_refused(const Error *err);

#endif
