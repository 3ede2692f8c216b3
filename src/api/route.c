#include "api/route.h"

#include <string.h>

#include "api/head.h"
#include "api/routes.h"

const Route routes[] = {
#define ROUTE(name, METHOD, pattern, ACCESS, verb, summary, query, body, answer, status, problems) \
    { #name, METHOD_##METHOD, pattern, ROUTE_##ACCESS, verb, route_##name, summary, query, body, answer, status, problems },
#include "api/routes.def"
};
const uint32_t route_count = sizeof routes / sizeof *routes;
static_assert(sizeof routes / sizeof *routes <= METRIC_ROUTE_COUNT_MAX, "every route is counted");

/* Segment by segment; a {name} stands for one that is not empty, a {name*} for all that is left. */
static bool fits(Arena *arena, const char *pattern, Str path, Str *segments)
{
    Str wanted = str_of(pattern);
    size_t at = 0, from = 0;
    uint32_t count = 0;
    for (;;) {
        size_t end = str_find(wanted, '/', at), stop = str_find(path, '/', from);
        Str part = str_slice(wanted, at, end), segment = str_slice(path, from, stop);
        bool is_name = part.len && part.ptr[0] == '{';
        if (is_name && part.ptr[part.len - 2] == '*') {
            stop = path.len;
            segment = str_slice(path, from, stop);
        }
        if (str_find(segment, '%', 0) < segment.len) segment = head_decode(arena, segment);
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
        if (!fits(&call->arena, routes[i].pattern, call->path, segments)) continue;
        if (routes[i].method == call->method) {
            memcpy(call->segments, segments, sizeof segments);
            return &routes[i];
        }
        *out_allowed |= 1u << routes[i].method;
    }
    return NULL;
}

static bool has_condition(const Route *route) { return strstr(route->problems, "412") != NULL; }

bool route_takes_match(const Route *route) { return has_condition(route) && route->method != METHOD_PUT; }

bool route_takes_new(const Route *route) { return has_condition(route) && route->method == METHOD_PUT; }

bool route_is_read(const Route *route)
{
    Str verb = str_of(route->verb);
    return route->method == METHOD_GET || str_ends(verb, STR(".read")) || str_ends(verb, STR(".validate"));
}

bool route_reads_json(const Route *route)
{
    return *route->body && strcmp(route->body, "Definition") != 0 && strcmp(route->body, "Payload") != 0;
}

bool route_takes(const Route *route, Str name)
{
    Str names = str_of(route->query);
    for (size_t at = 0; at < names.len;) {
        size_t end = str_find(names, ' ', at);
        if (str_is(str_slice(names, at, end), name)) return true;
        at = end + 1;
    }
    return false;
}
