/* access.h - what a caller may do: the access policy, asked for every request.
 *
 * A policy in Rego decides by verb, role and tenant; the one that is built in (access.rego) can be replaced. It is given
 *
 *   {"verb":"execution.cancel","tenant":"acme","caller":{"key":"Xq3hT9aB","role":"operator","tenant":"acme"},"address":"..."}
 *
 * (of an attempt's credential, whose role is "attempt", with the run that it belongs to as "run") and has to permit as policies
 * at hooks do (policy/policy.h). What is not clearly allowed is denied: so one that has no rule `allow`, and would let everybody do all
 * that its `deny` does not name, is none. Answers of the built-in policy depend on role and verb alone, and are remembered.
 *
 * Owns:   the policy, until access_close().     Fails: access_open() with the first mistake of the policy; ERR_INVALID without `allow`.
 * Bounds: those of policies.     Thread: one.
 */
#ifndef API_ACCESS_H
#define API_ACCESS_H

#include "api/call.h"

typedef struct Access Access;

MUST_USE Status access_open(const char *path, Access **out_access, Error *err);     /* NULL: the one that is built in */
void access_close(Access *access);          /* NULL is permitted */

/* Asks it for each role and some verbs. Where it gives no clear answer (it cannot be evaluated, or `allow` is neither true nor false), which is a
 * denial to every such caller, ERR_INVALID says so with the place. */
MUST_USE Status access_try(Access *access, Error *err);

/* Why it does not permit, in the call's arena: the whole reason, for ledger and log, and what the caller is told of it, which names no file of
 * the server. */
typedef struct Denial { Str why, told; } Denial;
bool access_permits(Access *access, Call *call, const char *verb, Str tenant, Denial *out_denial);
/* The same, of what is only shown to the caller: members of answers, links. It is asked once a call for a verb and a tenant, and not counted. */
bool access_shows(Access *access, Call *call, const char *verb, Str tenant);
/* What it says of a verb and a role it says of every tenant: so of a thing of any of them nobody has to ask again. */
bool access_is_built_in(const Access *access);
uint64_t access_count(const Access *access, bool is_denial);

#endif
