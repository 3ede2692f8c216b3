#include "api/route.h"

#include <string.h>

#include "api/routes.h"

const Route routes[] = {
#define ROUTE(name, METHOD, pattern, ACCESS, verb, summary, query, body, answer, status, problems) \
    { #name, METHOD_##METHOD, pattern, ROUTE_##ACCESS, verb, route_##name, summary, query, body, answer, status, problems },
#include "api/routes.def"
};
const uint32_t route_count = sizeof routes / sizeof *routes;
static_assert(sizeof routes / sizeof *routes <= METRIC_ROUTE_COUNT_MAX, "every route is counted");

/* Segment by segment; a {name} stands for one that is not empty. */
static bool fits(const char *pattern, Str path, Str *segments)
{
    Str wanted = str_of(pattern);
    size_t at = 0, from = 0;
    uint32_t count = 0;
    for (;;) {
        size_t end = str_find(wanted, '/', at), stop = str_find(path, '/', from);
        Str part = str_slice(wanted, at, end), segment = str_slice(path, from, stop);
        bool is_name = part.len && part.ptr[0] == '{';
        if (is_name && (!segment.len || count == CALL_SEGMENT_COUNT_MAX)) return false;
        if (is_name) segments[count++] = segment;
        else if (!str_is(part, segment)) return false;
        if ((end == wanted.len) != (stop == path.len)) return false;
        if (end == wanted.len) return true;
        at = end + 1;
        from = stop + 1;
    }
}

const Route *route_find(Call *call, uint32_t *out_allowed)
{
    *out_allowed = 0;
    for (uint32_t i = 0; i < route_count; i++) {
        Str segments[CALL_SEGMENT_COUNT_MAX] = { 0 };
        if (!fits(routes[i].pattern, call->path, segments)) continue;
        if (routes[i].method == call->method) {
            memcpy(call->segments, segments, sizeof segments);
            return &routes[i];
        }
        *out_allowed |= 1u << routes[i].method;
    }
    return NULL;
}
