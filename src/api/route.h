/* route.h - every address of the server, as one table: what answers it, who may use it, and how it is described.
 *
 * The router and /openapi.json come from routes.def, so that what is served is what is described.
 *
 * Owns:   rows are constant.     Fails: never.     Thread: any.
 */
#ifndef API_ROUTE_H
#define API_ROUTE_H

#include "api/call.h"

typedef enum RouteAccess {
    ROUTE_OPEN,                     /* no credentials */
    ROUTE_KEY,                      /* an API key; the handler authorises */
    ROUTE_TRIGGER,                  /* as the trigger that it names says; a key counts where one is sent */
    ROUTE_TOKEN,                    /* the token of an attempt (engine/token.h) */
} RouteAccess;

typedef struct Route {
    const char *name;               /* operationId */
    Method method;
    const char *pattern;            /* "/api/executions/{executionId}" */
    RouteAccess access;
    const char *verb;               /* what the access policy is asked */
    void (*handle)(Call *call);
    const char *summary;
    const char *query;              /* names, separated by spaces; "" */
    const char *body;               /* schema of the request; "" for none */
    const char *answer;             /* schema of the answer; "" for none; a type with a slash is no JSON */
    unsigned status;                /* of a success */
    const char *problems;           /* statuses beside those that every route may answer: "404 409" */
} Route;

extern const Route routes[];
extern const uint32_t route_count;

/* The route of a path; fills call->segments. NULL: none; *out_allowed then has the methods that the path knows, as a mask. */
const Route *route_find(Call *call, uint32_t *out_allowed);
/* Whether its query may have this name. */
bool route_takes(const Route *route, Str name);
/* Conditions that it looks at: If-Match, which names what the caller has seen, and If-None-Match: *, which makes only what is not there. */
bool route_takes_match(const Route *route);
bool route_takes_new(const Route *route);
/* Whether it changes nothing, so that it can be asked again at will. */
bool route_is_read(const Route *route);
/* Whether its handler reads the body as a JSON object, whoever sends it. Not of a definition, which is read where it is compiled, and of what is sent
 * to a trigger, which is read when it is known who sent it. */
bool route_reads_json(const Route *route);
/* The document, OpenAPI 3.1. */
void openapi_print(Buf *out);

#endif
