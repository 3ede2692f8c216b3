/* routes.h - private: the functions behind routes.def, and what they share.
 *
 * Owns: nothing.     Fails: by answers.     Thread: the server's.
 */
#ifndef API_ROUTES_H
#define API_ROUTES_H

#include "api/api.h"
#include "api/body.h"
#include "lang/compatibility.h"

#define ROUTE(name, METHOD, pattern, ACCESS, verb, summary, query, body, answer, status, problems) void route_##name(Call *call);
#include "api/routes.def"

/* A trigger that was refused is answered so that strangers learn nothing, and told to the ledger. */
void trigger_refuse(Call *call, Str tenant, const Error *err);
/* What is proved of the call, be it a copy of one. */
TriggerRequest trigger_request(Call *call);
/* After that: a stranger who is not let in has to have had the same work done for him as any other, and who is has his body read, if that is done
 * beside the server's thread. */
void trigger_end_proof(Call *call, Status status, const TriggerRequest *request);
/* Whoever sends a key is of that tenant; false after answering as where there is none. */
bool trigger_is_seen(Call *call, Str tenant);
/* By which id of two it is known: `alias` is empty afterwards where it is that. */
MUST_USE Status trigger_settle_id(Call *call, Str tenant, Str *id, Str *alias, Error *err);

typedef struct StartWish {
    Value params, payload;
    Str key, source, reason;
    Str id;                         /* of the request; empty: its Idempotency-Key */
    Str alias;                      /* a second one; may be empty */
    ApiDone done;                   /* answers; NULL: the execution is the answer */
    bool is_again;
    int64_t wait_ms;
} StartWish;
/* Starts a revision and answers; authorised before. */
/* Where the definition declares a manual trigger, what it says of who may start it, and how often, holds for every start that a person
 * asks for. False after answering; *out_source becomes that trigger's, or stays. */
bool start_enter_manual(Call *call, Str tenant, Str workflow, Value triggers, Str *out_source);
void start_execution(Call *call, Str tenant, const Cell *revision, const StartWish *wish);
/* Starts what the members name (a plan, or the digest of one), with what else the wish says. */
void start_named(Call *call, MemberList *members, Str tenant, const StartWish *wish);
/* Whether a start may have these parameters where those are declared; false after answering each wrong one with its pointer. */
bool params_fit(Call *call, Value declared, Value params);

/* The revision that the address names; false after answering. */
bool revision_of_address(Call *call, const Cell **out_row);
/* The revision that a start means: of that version, or with 0 the active one; as much of its row as revision_triggers() has. False after
 * answering that there is none, or that it is not active. */
bool revision_to_start(Call *call, Str tenant, Str workflow, int64_t version, const Cell **out_row);
/* The next workflow behind that name; empty: there is none. False after answering. */
bool workflow_after(Call *call, Str tenant, Str after, Str *out_name);
MUST_USE Status plan_of_revision(Call *call, const Cell *row, const Plan **out_plan, Error *err);
/* Whether who relies on revision_relied_on() gets along with `after`, in the arena of the call; false after answering that it cannot be told. */
typedef struct RevisionCheck {
    const Cell *before;             /* what it was compared with; NULL: nobody relies on any */
    const Compatibility *found;
} RevisionCheck;
bool revision_compare_with(Call *call, const Plan *after, RevisionCheck *out);
/* False after answering what breaks, and how it is done all the same. */
bool revision_check(Call *call, const RevisionCheck *check, const char *how);
/* Tells the engine which one it was compared with. */
void revision_add_against(MemberList *members, const RevisionCheck *check);
/* Whether what is sent beside a callback is the token of an attempt that was given to that executor, under way or not; false after answering. */
bool callback_has_token(Call *call);
/* A worker has asked for work. */
void worker_seen(Call *call, Str executor, Str worker);

#endif
