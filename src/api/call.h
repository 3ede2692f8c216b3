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

#include "api/key_limits.h"
#include "api/problem.h"
#include "api/shares.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/trace.h"
#include "value/value.h"

#define CALL_SEGMENT_COUNT_MAX 8u
#define CALL_HEADER_COUNT_MAX 16u
#define CALL_QUERY_COUNT_MAX 32u
#define CALL_ID_SIZE_MAX 64u        /* of an X-Request-Id; a longer one is not taken */

typedef enum Method { METHOD_GET, METHOD_POST, METHOD_PUT, METHOD_DELETE, METHOD_OTHER } Method;

typedef struct CallPair { Str name, value; } CallPair;

typedef struct Call Call;

/* Who calls. Empty: nobody is known. */
typedef struct Caller {
    Str key;                        /* the part of the key that names it */
    Str tenant;                     /* "*": every one */
    Str role;
    Str actor;                      /* as the ledger tells it: "key:ab12cd34", "attempt:RUN/STEP/1" */
    Str run;                        /* of an attempt: the only run that it reaches; empty: it is a key */
    uint64_t run_no;                /* of the same */
    KeyLimits limits;               /* what a worker's key is for */
    bool is_use_due;                /* that the key was used has not been told for a while */
} Caller;

/* What is sent piece by piece, as long as there is something: an event stream. */
typedef struct CallSource {
    /* Writes what there is now; nothing: the call waits until call_wake(). False: it has ended. */
    bool (*next)(void *context, Buf *out);
    void (*end)(void *context);     /* the client has gone, or it has ended */
    void *context;
} CallSource;

/* Of a request about many things: that the caller may not have one of them. */
typedef struct CallRefusal { const struct CallRefusal *next; Str why; unsigned status; } CallRefusal;

/* What the access policy has said of what is shown of a tenant: see access_shows(). */
typedef struct CallShown { const struct CallShown *next; const char *verb; Str tenant; bool is_shown; } CallShown;

struct Call {
    struct Api *api;
    void *connection;               /* http.c's */
    Arena arena;
    Method method;
    Str path;                       /* as it was sent, without the query */
    Str source;                     /* the client's address */
    const CallPair *headers, *query;
    uint32_t header_count, query_count;
    Buf body;
    bool is_read;                   /* the body, by call_parse(): `read`, or what is wrong with it */
    Value read;
    const Error *read_error;        /* NULL: nothing */
    Arena read_arena;               /* of what is read of a large one, and in a copy: moved from there to the call ... */
    ShareHold reading;              /* ... and what that takes; given back when the call is freed */
    Str segments[CALL_SEGMENT_COUNT_MAX];       /* what the route's {names} stand for */
    const struct Route *route;      /* NULL until one is found */
    Caller caller;
    const CallShown *shown;         /* in the arena */
    Str linked_tenant;              /* whose executions were linked last; empty: none were */
    uint32_t link_mask;             /* of those: what the caller may do, see document.c */
    Trace trace;                    /* the caller's, or one of its own; its span is this call's */
    uint8_t parent[8];              /* the caller's span */
    bool has_parent;
    Str tracestate;                 /* the caller's; empty: none */
    Str run_id;                     /* the execution that it is about, as far as that is known */
    Str tenant;                     /* the same of the tenant, which may be any where the caller is of all; empty: not known */
    const struct TriggerProof *proof;           /* of a trigger that was let in; NULL: it is none */
    Str asked;                      /* a digest of its words, where it was made already: api_asked(); empty: it is made when it is wanted */
    struct PlanEntry *plan;         /* of a definition that was sent, on its way to the engine: definition_hand_over(); NULL: none */
    bool is_done;                   /* the engine has done what it asked for */
    bool is_cut;                    /* a stream whose reader was too slow */
    bool is_copy;                   /* worked on by another thread (aside.h): it is not what waits */
    bool is_repeat;                 /* of a trigger: what it starts was there already */
    bool is_own_run;                /* what is asked for belongs to the caller's run */
    char id[CALL_ID_SIZE_MAX + 1];                    /* correlation: X-Request-Id, the logs and problems have it */
    uint64_t began_ns;
    int64_t now_ms;                 /* when its head came */

    /* The answer. */
    unsigned status;                /* 0: none yet */
    Buf out;
    const char *type;
    CallPair answer[CALL_HEADER_COUNT_MAX];
    uint32_t answer_count;
    bool is_packed;                 /* `out` is in the form that is sent: of call_pack() */
    bool is_bare;                   /* of a 304: what it stands for was not made, and its size is not told */
    CallSource stream;              /* next: instead of `out` */
    ProblemKind problem;
    Str hidden;                     /* the whole reason, where the caller is not told all of it: for the log */
    uint64_t retry_s;               /* when to come again, of 429 and 503; 0: in a second */
    Str refused;                    /* why the caller may not, for the ledger and not for the caller; empty: it may, as far as is known */
    Str refused_tenant;             /* of whom it wanted something; empty: of nobody that is known */
    const CallRefusal *refused_parts;           /* the same of one thing of many each, whatever the whole is answered */
    ShareOwner let_in;              /* by whose trigger, and as whom: of call_let_in(); of no tenant: it was let in by its key, or was not */
    Str claimed;                    /* the id of the key that was sent, where nobody is known by it; empty: it does not look like one */

    /* Waiting. */
    bool is_waiting;
    bool is_woken;                  /* before it could be suspended */
    bool is_gone;                   /* sent, or the client went; freed with the last use */
    bool is_bridged;                /* it is about a run of another tenant, whose ids of requests are told apart from its own */
    uint32_t use_count;             /* petitions that will still answer to it */
    ShareHold hold;                 /* of call_hold(); given back when it waits no more */
    int64_t deadline_ms;            /* of the monotonic clock; then `late` is called */
    void (*late)(Call *call);
    void (*woken)(Call *call);      /* looks again after call_wake(); may answer, or go on waiting */
    void (*left)(Call *call, bool is_broken);   /* of call_watch(); NULL: it is not watched */
    void (*over)(Call *call);       /* its connection ends before it is answered: whoever has something in its arena lets go of that; may be NULL */
    void (*settled)(Call *call);    /* the engine has answered its petition, or was not asked: also where its client has gone; may be NULL */
    Call *next, *prev;              /* of those that wait */
    void *state;                    /* of its handler, in the arena */
};

/* --- what was asked ---------------------------------------------------------------------------------------------------- */

/* Whether path, query and headers are text (UTF-8), as everything that becomes JSON has to be; false after answering. */
bool call_is_text(Call *call);
bool call_is_name(Str name, const char *text);              /* of a header, or a media type: by any case */
Str  call_header(const Call *call, const char *name);       /* by any case, the first; empty where there is none */
bool call_has_header(const Call *call, const char *name);
uint32_t call_header_count(const Call *call, const char *name);
Str  call_list(Call *call, const char *name);               /* all that a header which is a list says, on however many lines */
/* Whether a header that lists what is taken (Accept, Accept-Encoding) has this word, with another weight than 0. */
bool call_takes(Call *call, const char *name, const char *word);
Str  call_query(const Call *call, const char *name);        /* empty where there is none */
/* Whether a header that lists entity tags (If-Match, If-None-Match) has this one, or is "*". A weak one is the same to If-None-Match,
 * and none to If-Match (RFC 9110, 13.1). */
bool call_has_tag(Call *call, const char *name, Str tag, bool is_weak_enough);
bool call_has_query(const Call *call, const char *name);
bool call_is_json(const Call *call);                    /* what is sent is said to be JSON, or nothing is said of it */
/* Whether the body was sent as it is, and not packed; false after answering. */
bool call_is_plain(Call *call);
/* The body as a JSON value of any kind, read once; ERR_LIMIT where its values take more than API_BODY_READ_SIZE_MAX. Of a large one it takes
 * long: any thread, of a copy, from which call_take_read() has it. */
MUST_USE Status call_parse(Call *call, Value *out_value, Error *err);
void call_refuse_json(Call *call, const Error *err);      /* answers what call_parse() has said */
bool call_take_read(Call *call, Call *copy);             /* false after answering: the values of bodies take all that they may */
/* The body as JSON; an empty one is an empty object. False after answering what is wrong with it. */
bool call_read_json(Call *call, Value *out_value);
/* A whole number of the query; false after answering. */
bool call_query_number(Call *call, const char *name, uint64_t otherwise, uint64_t max, uint64_t *out_number);

/* --- answers ------------------------------------------------------------------------------------------------------------- */

/* A 304 is answered with what it stands for: only its head is sent, which tells the size of that; or without, which call_unchanged() says. */
void call_answer(Call *call, unsigned status, const char *type);        /* what is in `out`; NULL: nothing is */
void call_add_header(Call *call, const char *name, Str value);         /* the value is copied */
void call_value(Call *call, unsigned status, Value value);
void call_text(Call *call, unsigned status, const char *type, Str text);
void call_empty(Call *call, unsigned status);
void call_unchanged(Call *call);                            /* 304, where making what it stands for would take long */
/* Packs what is answered, where it is large enough and its receiver takes that; once. Of a large answer it takes long: any thread, of a copy. */
void call_pack(Call *call);
void call_take_back(Call *call);                            /* there is no answer yet, and its memory is free: another one follows */
void call_stream(Call *call, const char *type, CallSource source);
void call_problem(Call *call, ProblemKind kind, const char *format, ...) PRINTF_LIKE(3, 4);
void call_problem_fields(Call *call, ProblemKind kind, Str detail, const ProblemField *fields, uint32_t count);
void call_error(Call *call, const Error *err);             /* by its Status */
/* What a caller is told of a reason: not where a store lies, nor in which words its library failed. */
Str  call_public(Call *call, Str reason);
/* The caller is refused, whatever it is answered: for the ledger. The reason is copied, and names no secret. */
void call_refuse(Call *call, Str tenant, Str why);
/* The same of one of many things that it is about: `status` is what of that alone would be answered. */
void call_refuse_part(Call *call, unsigned status, Str why);

/* --- shares -------------------------------------------------------------------------------------------------------------- */

/* Whose share it takes of: its caller's; of a trigger that was let in, that of its tenant; of a stranger, that of its address. */
ShareOwner call_sharer(const Call *call);
/* A stranger has proved that the trigger of a tenant is for it: what it holds, and takes from now on, is of that tenant's share and of no other
 * stranger's. False after answering: there is nothing left of that. */
bool call_let_in(Call *call, Str tenant, Str who);

/* --- waiting ------------------------------------------------------------------------------------------------------------- */

/* It is about to wait for something that may take long, be it the end of a run: that takes of the share of its key, of its tenant and of
 * the server, which a mere commit does not. False after answering: there is nothing left of one of them. */
bool call_hold(Call *call, ShareKind kind);
bool call_try_hold(Call *call, ShareKind kind, ShareBound *out_bound);      /* the same; answers nothing */
void call_refuse_share(Call *call, ShareKind kind, ShareBound bound);       /* answers that this bound is reached */
/* The answer comes later. After `ms` `late` is called, which answers. */
void call_wait(Call *call, int64_t ms, void (*late)(Call *call), void (*woken)(Call *call));
void call_wake(Call *call);             /* there is an answer, or something to look at */
/* Whoever asked may go before the answer comes. `left` is called when it has closed its side: more is not seen of a client that is gone,
 * though one that still reads looks the same. And it is called with `is_broken` when the connection cannot carry an answer any more. When
 * the server is about to end, as in the first case. For a call that waits, or streams. */
void call_watch(Call *call, void (*left)(Call *call, bool is_broken));
bool call_has_left(const Call *call);   /* by now it has closed its side, or the connection is broken */
/* A petition of a call that may be gone by now has been answered. */
void call_release(Call *call);

#endif
