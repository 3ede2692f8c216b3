/* client_scope.h - what a command that is a client may ask of the store and the engine: by its key, and never by what it says of itself.
 *
 * A key of every tenant reads what the store holds, as far as an access policy that was given lets it: that is asked with the tenant of what is
 * wanted, or of each row. That of one tenant asks the same questions (queries.def) and gets the rows that are
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
    Call *call;                     /* or its copy, where they are looked at beside the server's thread */
    uint8_t kind;                   /* a way to tell whose a row is */
    uint8_t column;                 /* by which */
    const char *verb;               /* what the caller has to be permitted */
    bool is_empty;                  /* what was asked for is another's: there is nothing */
    bool is_filtered;
    bool is_list;                   /* several rows */
    bool is_whole;                  /* of the store as it is: nothing of it is passed over */
    bool is_of_log;                 /* records: one of no run may tell of a tenant */
    uint32_t left;                  /* rows that may still be given */
    int64_t run_no;                 /* whose rows were looked at last ... */
    Str tenant;                     /* ... and of which tenant that is, of a key of every one */
    const int64_t *runs;            /* of one of these it has to be; NULL: that is known */
    uint32_t run_count;
} ClientRows;

/* Whether the caller may ask this; the ask may become that of its tenant. */
bool client_may_select(Call *call, QueryAsk *ask, ClientRows *out);
/* Whether there is what was asked for, and it is the caller's, as far as `step_count_max` steps of runs tell: false and *out_is_cut: there are more.
 * Thread of this and the next one: any, of a copy. */
bool client_finds(ClientRows *rows, const QueryAsk *ask, uint32_t step_count_max, bool *out_is_cut);
/* What becomes of a row. Where it is the last, the call may be answered: the caller may not have what was asked for. */
typedef enum ClientSight { CLIENT_SEES, CLIENT_PASSES_OVER, CLIENT_IS_DONE } ClientSight;
ClientSight client_sight(ClientRows *rows, const Cell *cells);

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
