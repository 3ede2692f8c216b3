/* routes.h - private: the functions behind routes.def, and what they share.
 *
 * Owns: nothing.     Fails: by answers.     Thread: the server's.
 */
#ifndef API_ROUTES_H
#define API_ROUTES_H

#include "api/api.h"

#define ROUTE(name, METHOD, pattern, ACCESS, verb, summary, query, body, answer, status, problems) void route_##name(Call *call);
#include "api/routes.def"

/* A member of a body; of VALUE_NULL any kind is right. */
typedef struct BodyMember { const char *name; ValueKind kind; bool is_required; } BodyMember;
/* False after answering what is wrong. */
bool check_members(Call *call, Value body, const BodyMember *known, uint32_t count);

typedef struct StartWish {
    Value params, payload;
    Str key, source, reason;
    Str id;                         /* of the request; empty: its Idempotency-Key */
    ApiDone done;                   /* answers; NULL: the execution is the answer */
    bool is_again;
    int64_t wait_ms;
} StartWish;
/* Starts a revision and answers; authorised before. */
void start_execution(Call *call, Str tenant, const Cell *revision, const StartWish *wish);

#endif
