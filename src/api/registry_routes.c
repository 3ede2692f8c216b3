/* registry_routes.c - what this server has been given: executors, and the workers that ask for their work. */
#include <string.h>

#include "api/page.h"
#include "api/routes.h"
#include "base/limits.h"
#include "os/clock.h"

/* A list that is at hand as a whole: a page of it, by the place of its items. */
static void answer_list(Call *call, Value items)
{
    Page page;
    if (!page_begin(&page, call)) return;
    for (uint32_t i = (uint32_t)(page.number < items.count ? page.number : items.count); i < items.count && page_has_room(&page); i++)
        page_add(&page, items.items[i], (Str){ 0 }, i + 1, 0);
    page_answer(&page);
}

/* --- workers ------------------------------------------------------------------------------------------------------------------------------ */

static void put(char out[NAME_SIZE_MAX + 1], Str text)
{
    size_t size = text.len < NAME_SIZE_MAX ? text.len : NAME_SIZE_MAX;
    if (size) memcpy(out, text.ptr, size);
    out[size] = 0;
}

/* Of a tenant that has its share, its own that was silent longest gives way, and nobody else's. */
void worker_seen(Call *call, Str executor, Str worker)
{
    WorkerSeen *place = &call->api->workers[0], *own = NULL;
    uint32_t own_count = 0;
    for (uint32_t i = 0; i < API_WORKER_COUNT_MAX; i++) {
        WorkerSeen *seen = &call->api->workers[i];
        bool is_own = seen->last_ms && str_is_text(call->caller.tenant, seen->tenant);
        if (is_own && str_is_text(executor, seen->executor) && str_is_text(worker, seen->worker)) {
            seen->last_ms = call->now_ms;
            return;
        }
        own_count += is_own;
        if (is_own && (!own || seen->last_ms < own->last_ms)) own = seen;
        if (seen->last_ms < place->last_ms) place = seen;
    }
    if (own_count >= API_WORKER_TENANT_COUNT_MAX) place = own;
    put(place->executor, executor);
    put(place->worker, worker);
    put(place->tenant, call->caller.tenant);
    place->last_ms = call->now_ms;
}

/* Those that the caller may know of, and whether one that works for it has asked lately: its own, and those of every tenant. */
static Value workers_of(Call *call, Str executor, bool *out_is_up)
{
    ValueList list = { .arena = &call->arena };
    *out_is_up = false;
    for (uint32_t i = 0; i < API_WORKER_COUNT_MAX; i++) {
        const WorkerSeen *seen = &call->api->workers[i];
        MemberList members = { .arena = &call->arena };
        Cell last = cell_int(seen->last_ms);
        if (!seen->last_ms || !str_is_text(executor, seen->executor)) continue;
        bool is_up = call->now_ms - seen->last_ms <= API_WORKER_SILENT_MS;
        bool is_shown = api_shows(call, call->route->verb, str_of(seen->tenant));
        *out_is_up |= is_up && (is_shown || strcmp(seen->tenant, "*") == 0);
        if (!is_shown) continue;
        add_member(&members, "worker", value_string(str_of(seen->worker)));
        add_member(&members, "lastSeenAt", cell_time(&call->arena, &last));
        add_member(&members, "health", value_string(is_up ? STR("up") : STR("silent")));
        value_list_add(&list, member_list_object(&members));
    }
    return value_list_array(&list);
}

/* --- executors ------------------------------------------------------------------------------------------------------------------------------ */

static void add_setting(MemberList *members, Value settings, const char *key, Value otherwise)
{
    const Value *found = value_get_text(settings, key);
    add_member(members, key, found ? *found : otherwise);
}

/* What this process carries out itself is as well as it is; of workers it is known when they asked last. */
static Value executor_value(Call *call, Str name, Value settings)
{
    MemberList members = { .arena = &call->arena }, links = { .arena = &call->arena };
    ValueList runners = { .arena = &call->arena };
    const Value *offered = value_get_text(settings, "runners");
    bool is_up, is_pulled = str_is_text(value_get_string(settings, "kind", STR("")), "worker");
    for (uint32_t i = 0; offered && offered->kind == VALUE_OBJECT && i < offered->count; i++) value_list_add(&runners, offered->members[i].key);
    Value workers = workers_of(call, name, &is_up);
    add_member(&members, "name", value_string(name));
    add_setting(&members, settings, "kind", value_null());
    add_setting(&members, settings, "region", value_null());
    add_setting(&members, settings, "cloud", value_null());
    add_setting(&members, settings, "capabilities", value_array(NULL, 0));
    add_setting(&members, settings, "labels", (Value){ .kind = VALUE_OBJECT });
    add_member(&members, "runners", value_list_array(&runners));
    add_member(&members, "health", value_string(!is_pulled || is_up ? STR("up") : STR("silent")));
    add_member(&members, "workers", workers);
    Str escaped = api_escape(call, name);
    add_member(&links, "executors", api_link(call, "/api/executors"));
    if (is_pulled && api_shows(call, "executor.exchange", call->caller.tenant))
        add_member(&links, "exchange", api_link(call, "/api/executors/%.*s/exchange", STR_ARG(escaped)));
    if (value_get_text(settings, "callback")) add_member(&links, "callback", api_link(call, "/maestro/callbacks/%.*s", STR_ARG(escaped)));
    add_member(&members, "_links", member_list_object(&links));
    return member_list_object(&members);
}

void route_executors(Call *call)
{
    ValueList list = { .arena = &call->arena };
    Value executors = call->api->catalog->executors;
    if (!api_may(call, call->caller.tenant, PROBLEM_NOT_FOUND)) return;
    for (uint32_t i = 0; executors.kind == VALUE_OBJECT && i < executors.count; i++)
        if (catalog_is_for(executors.members[i].value, call->caller.tenant))
            value_list_add(&list, executor_value(call, value_text(executors.members[i].key), executors.members[i].value));
    answer_list(call, value_list_array(&list));
}
