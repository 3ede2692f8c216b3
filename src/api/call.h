/* call.h - one request of HTTP, from its head to the last byte of its answer.
 *
 * A handler reads what was asked (path, query, headers, body) and answers once: by call_json(), call_problem() and their siblings.
 * Where the answer has to wait, for a commit, a run or an event, it calls call_wait() and whoever brings the answer calls
 * call_wake(). A call knows nothing of sockets: http.h does.
 *
 * Owns:   everything of a call lives in its arena and its two buffers, until the answer was sent or the client has gone.
 * Fails:  by answers.     Bounds: API_BODY_SIZE_MAX, API_HEAD_SIZE_MAX, CALL_HEADER_COUNT_MAX of an answer.
 * Thread: the server's.
 */
#ifndef API_CALL_H
#define API_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "api/problem.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/trace.h"
#include "value/value.h"

#define CALL_SEGMENT_COUNT_MAX 8u
#define CALL_HEADER_COUNT_MAX 12u
#define CALL_QUERY_COUNT_MAX 32u

typedef enum Method { METHOD_GET, METHOD_POST, METHOD_PUT, METHOD_DELETE, METHOD_OTHER } Method;

typedef struct CallPair { Str name, value; } CallPair;

typedef struct Call Call;

/* Who calls. Empty: nobody is known. */
typedef struct Caller {
    Str key;                        /* the part of the key that names it */
    Str tenant;                     /* "*": every one */
    Str role;
    Str actor;                      /* as the ledger tells it: "key:ab12cd34" */
} Caller;

/* What is sent piece by piece, as long as there is something: an event stream. */
typedef struct CallSource {
    /* Writes what there is now; nothing: the call waits until call_wake(). False: it has ended. */
    bool (*next)(void *context, Buf *out);
    void (*end)(void *context);     /* the client has gone, or it has ended */
    void *context;
} CallSource;

struct Call {
    struct Api *api;
    void *connection;               /* http.c's */
    Arena arena;
    Method method;
    Str path;                       /* decoded, without the query */
    Str source;                     /* the client's address */
    const CallPair *headers, *query;
    uint32_t header_count, query_count;
    Buf body;
    Str segments[CALL_SEGMENT_COUNT_MAX];       /* what the route's {names} stand for */
    const struct Route *route;      /* NULL until one is found */
    Caller caller;
    Trace trace;                    /* the caller's, or one of its own */
    char id[32];                    /* correlation: X-Request-Id, the logs and problems have it */
    uint64_t began_ns;
    int64_t now_ms;                 /* when its head came */

    /* The answer. */
    unsigned status;                /* 0: none yet */
    Buf out;
    const char *type;
    CallPair answer[CALL_HEADER_COUNT_MAX];
    uint32_t answer_count;
    CallSource stream;              /* next: instead of `out` */
    ProblemKind problem;

    /* Waiting. */
    bool is_waiting;
    bool is_woken;                  /* before it could be suspended */
    bool is_gone;                   /* sent, or the client went; freed with the last use */
    uint32_t use_count;             /* petitions that will still answer to it */
    int64_t deadline_ms;            /* of the monotonic clock; then `late` is called */
    void (*late)(Call *call);
    void (*woken)(Call *call);      /* looks again after call_wake(); may answer, or go on waiting */
    Call *next, *prev;              /* of those that wait */
    void *state;                    /* of its handler, in the arena */
};

/* --- what was asked ---------------------------------------------------------------------------------------------------- */

Str  call_header(const Call *call, const char *name);       /* by any case; empty where there is none */
Str  call_query(const Call *call, const char *name);        /* the first; empty where there is none */
bool call_has_query(const Call *call, const char *name);
/* The body as JSON; an empty one is an empty object. False after answering what is wrong with it. */
bool call_read_json(Call *call, Value *out_value);
/* A whole number of the query; false after answering. */
bool call_query_number(Call *call, const char *name, uint64_t otherwise, uint64_t max, uint64_t *out_number);

/* --- answers ------------------------------------------------------------------------------------------------------------- */

void call_add_header(Call *call, const char *name, Str value);         /* the value is copied */
void call_value(Call *call, unsigned status, Value value);
void call_text(Call *call, unsigned status, const char *type, Str text);
void call_empty(Call *call, unsigned status);
void call_stream(Call *call, const char *type, CallSource source);
void call_problem(Call *call, ProblemKind kind, const char *format, ...) PRINTF_LIKE(3, 4);
void call_problem_fields(Call *call, ProblemKind kind, Str detail, const ProblemField *fields, uint32_t count);
void call_error(Call *call, const Error *err);             /* by its Status */

/* --- waiting ------------------------------------------------------------------------------------------------------------- */

/* The answer comes later. After `ms` `late` is called, which answers. */
void call_wait(Call *call, int64_t ms, void (*late)(Call *call), void (*woken)(Call *call));
void call_wake(Call *call);             /* there is an answer, or something to look at */
/* A petition of a call that may be gone by now has been answered. */
void call_release(Call *call);

#endif
