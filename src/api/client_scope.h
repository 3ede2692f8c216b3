/* client_scope.h - what a command that is a client may ask of the store and the engine: by its key, and never by what it says of itself.
 *
 * A key of every tenant reads what the store holds. That of one tenant asks the same questions (queries.def) and gets the rows that are
 * its own: each query says how they are told (its tenant is the first parameter, the run is, each row names one), and one that does not
 * say it needs a key of every tenant. What belongs to another is answered as what is not there. The credential of an attempt reaches
 * its own run alone. Petitions are given the tenant of the key, and each is authorised by the verb that the same request has as a route;
 * a start is held to the same rules as POST /api/executions. Of their members those are passed on that a client may say.
 *
 * Owns:   nothing.     Fails: by answering: false.     Thread: the server's.
 */
#ifndef API_CLIENT_SCOPE_H
#define API_CLIENT_SCOPE_H

#include "api/api.h"

typedef struct ClientRows {
    Call *call;
    uint8_t kind;                   /* a way to tell whose a row is */
    uint8_t column;                 /* by which */
    bool is_empty;                  /* what was asked for is another's: there is nothing */
    bool is_filtered;
    bool is_list;                   /* several rows: those of others are passed over, and nobody has asked for one of them */
    uint32_t left;                  /* rows that may still be given */
    int64_t run_no;                 /* whose rows were looked at last ... */
    bool is_own;                    /* ... and whether they are the caller's */
} ClientRows;

/* Whether the caller may ask this; the ask may become that of its tenant. */
bool client_may_select(Call *call, QueryAsk *ask, ClientRows *out);
/* Whether the row is given. */
bool client_sees_row(ClientRows *rows, const Cell *cells);

/* A petition on its way. A start, or a definition to be stored, brings a plan, which may be large: it is read beside the server's thread. */
typedef struct ClientPetition {
    Value body;                     /* as it was sent */
    bool is_start;                  /* it brings a plan: client_read_plan() and client_may_start() come before it is sent */
    bool may_store;                 /* the caller may store and activate it, so that its text is worth compiling */
    Str tenant;                     /* whose it is; empty: what it is about says so */
    const Plan *plan;               /* as it was read, of the copy of the call */
    Digest digest;                  /* of that */
    bool is_right;                  /* its text was compiled here, to the same plan */
    Str source;                     /* what starts it */
} ClientPetition;

/* Whether the caller may ask this at all; only `body` is given. False after answering. */
bool client_may_ask(Call *call, ClientPetition *petition);
/* Reads the plan, and compiles the text where no revision is that plan yet; answers what is no plan. The copy has the plan until
 * definition_hand_over(). Thread: any, of a copy. */
void client_read_plan(Call *copy, ClientPetition *petition);
/* Whether that plan may be started, or stored, by the caller. False after answering. */
bool client_may_start(Call *call, ClientPetition *petition);
/* As it is sent to the engine, with the caller's tenant and actor. */
Value client_petition(Call *call, const ClientPetition *petition);

#endif
