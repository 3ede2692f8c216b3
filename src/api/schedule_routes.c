/* schedule_routes.c - the schedules of active revisions, when each is due next, and occurrences that start though something holds them. */
#include <inttypes.h>

#include "api/page.h"
#include "api/routes.h"
#include "api/schedules.h"
#include "base/civil.h"
#include "base/limits.h"
#include "os/clock.h"
#include "view/revision_row.h"

/* --- which there are ---------------------------------------------------------------------------------------------------------------------- */

typedef struct Listing { Page page; ScheduleDesk desk; Str tenant; int64_t from_ms; uint64_t time_count; } Listing;

static bool add_schedule(Listing *listing, const Cell *row, uint32_t trigger, Value settings)
{
    Call *call = listing->page.call;
    MemberList members = { .arena = &call->arena }, links = { .arena = &call->arena };
    Str workflow = row[REVISIONS_workflow_id].text;
    Error err;
    if (schedule_describe(&listing->desk, row, trigger, settings, listing->from_ms, listing->time_count, &members, &err)) {
        call_error(call, &err);
        return false;
    }
    add_member(&links, "workflow", api_link(call, "/api/workflows/%.*s/%.*s", STR_ARG(listing->tenant), STR_ARG(workflow)));
    add_member(&links, "revision", api_link(call, "/api/workflows/%.*s/%.*s/revisions/%" PRId64, STR_ARG(listing->tenant), STR_ARG(workflow),
                                            row[REVISIONS_version].integer));
    add_member(&links, "override", api_link(call, "/api/schedules/override"));
    add_member(&members, "_links", member_list_object(&links));
    page_add(&listing->page, member_list_object(&members), workflow, (int64_t)trigger + 1, 0);
    return true;
}

/* The schedules of one workflow, from that trigger on; false: the page is full, or an error was answered. */
static bool add_workflow(Listing *listing, Str workflow, uint32_t first)
{
    Call *call = listing->page.call;
    const Cell *row;
    uint32_t trigger;
    Value triggers, settings;
    Error err;
    if (revision_triggers(&call->arena, call->api->store, listing->tenant, workflow, &row, &triggers, &err)) {
        call_error(call, &err);
        return false;
    }
    for (uint32_t from = first; row && schedule_of_triggers(triggers, from, &trigger, &settings); from = trigger + 1)
        if (!page_has_room(&listing->page) || !add_schedule(listing, row, trigger, settings)) return false;
    return true;
}

#define TIME_DETAIL "is a time such as 2026-11-16T01:25:00.000Z"

static bool read_time(Call *call, const char *name, Str given, int64_t *out_ms)
{
    if (civil_read_time(given, out_ms)) return true;
    call_problem(call, PROBLEM_INVALID, "'%s' of the query " TIME_DETAIL, name);
    return false;
}

static bool read_from(Call *call, int64_t *out_ms)
{
    Str given = call_query(call, "from");
    *out_ms = clock_realtime_ms();
    return !call_has_query(call, "from") || read_time(call, "from", given, out_ms);
}

void route_schedules(Call *call)
{
    Listing listing = { .desk = api_schedules(call->api), .tenant = api_tenant(call, call_query(call, "namespace")) };
    Str only = call_query(call, "workflowId"), name;
    if (!api_may(call, listing.tenant, PROBLEM_NOT_FOUND) || !page_begin(&listing.page, call) || !read_from(call, &listing.from_ms)
        || !call_query_number(call, "count", API_TIME_COUNT_DEFAULT, API_TIME_COUNT_MAX, &listing.time_count)) return;
    Str after = listing.page.text;
    bool is_going_on = true;
    if (only.len) is_going_on = add_workflow(&listing, only, (uint32_t)listing.page.number) && false;
    else if (after.len) is_going_on = add_workflow(&listing, after, (uint32_t)listing.page.number);
    while (is_going_on) {
        if (!workflow_after(call, listing.tenant, after, &name)) return;
        if (!name.len) break;
        is_going_on = add_workflow(&listing, name, 0);
        after = name;
    }
    if (call->status) return;
    add_member(&listing.page.links, "overrides", api_link(call, "/api/schedules/override"));
    page_answer(&listing.page);
}

/* --- overrides ----------------------------------------------------------------------------------------------------------------------------- */

static Value linked(Call *call, const Cell *row)
{
    Value document = override_value(&call->arena, row);
    MemberList members = { .arena = &call->arena }, links = { .arena = &call->arena };
    for (uint32_t i = 0; i < document.count; i++) member_list_add(&members, value_text(document.members[i].key), document.members[i].value);
    add_member(&links, "workflow", api_link(call, "/api/workflows/%.*s/%.*s", STR_ARG(row[OVERRIDES_tenant].text),
                                            STR_ARG(row[OVERRIDES_workflow_id].text)));
    add_member(&members, "_links", member_list_object(&links));
    return member_list_object(&members);
}

typedef struct OverrideScan { Page *page; Str tenant; } OverrideScan;

static bool take_override(void *context, const Cell *cells, uint32_t count)
{
    OverrideScan *scan = context;
    Call *call = scan->page->call;
    const Cell *row = row_copy(&call->arena, cells, count);
    if (!str_is(row[OVERRIDES_tenant].text, scan->tenant) || !page_has_room(scan->page)) return false;
    page_add(scan->page, linked(call, row), row[OVERRIDES_workflow_id].text, row[OVERRIDES_trigger_no].integer, row[OVERRIDES_due_ms].integer);
    return true;
}

void route_overrides(Call *call)
{
    Page page;
    OverrideScan scan = { .page = &page, .tenant = api_tenant(call, call_query(call, "namespace")) };
    Error err;
    if (!api_may(call, scan.tenant, PROBLEM_NOT_FOUND) || !page_begin(&page, call)) return;
    QueryAsk ask = { .query = QUERY_OVERRIDES, .param_count = 4, .row_count_max = page.limit + 1u,
                     .params = { cell_text(scan.tenant), cell_text(page.text), cell_int(page.number), cell_int(page.second) } };
    if (store_select(call->api->store, &ask, take_override, &scan, &err)) call_error(call, &err);
    else page_answer(&page);
}

static void add_wish(const Call *call, const OverrideWish *wish, MemberList *members)
{
    Cell at = cell_int(wish->at_ms);
    add_member(members, "tenant", value_string(wish->tenant));
    add_member(members, "workflow", value_string(wish->workflow));
    add_member(members, "trigger", value_int(wish->trigger));
    add_member(members, "at", cell_time((Arena *)&call->arena, &at));
}

/* What was committed is answered as it is in the store. */
static void overridden(Call *call, const BridgeAnswer *answer)
{
    const OverrideWish *wish = call->state;
    const Cell *row = NULL;
    Error err;
    (void)answer;
    store_renew(call->api->store);
    if (override_find(&call->arena, call->api->store, wish, &row, &err)) call_error(call, &err);
    else if (!row) call_problem(call, PROBLEM_CONFLICT, "it was overridden, and the override was removed since");
    else if (wish->at_ms <= clock_realtime_ms())
        call_problem(call, PROBLEM_CONFLICT,
                     "the override was recorded when the occurrence was due already: /api/executions tells whether it was started");
    else call_value(call, 201, linked(call, row));
}

/* The trigger of a body: a number from 0, or nothing. */
static bool read_trigger(Call *call, Value body, uint32_t *out)
{
    int64_t given = value_get_int(body, "trigger", SCHEDULE_TRIGGER_ANY);
    *out = SCHEDULE_TRIGGER_ANY;
    if (!value_get_text(body, "trigger")) return true;
    if (given < 0 || given >= SCHEDULE_TRIGGER_ANY) return body_refuse(call, "trigger", "is the place of a trigger in its definition, from 0");
    *out = (uint32_t)given;
    return true;
}

void route_override_create(Call *call)
{
    static const BodyMember known[] = { { "namespace", VALUE_STRING, false }, { "workflowId", VALUE_STRING, true }, { "trigger", VALUE_INT, false },
                                        { "at", VALUE_STRING, true }, { "reason", VALUE_STRING, true } };
    MemberList members = { .arena = &call->arena };
    ScheduleDesk desk = api_schedules(call->api);
    Value body;
    Error err;
    if (!call_read_json(call, &body) || !body_check(call, body, known, sizeof known / sizeof *known)) return;
    Str reason = value_get_string(body, "reason", STR(""));
    OverrideWish *wish = ARENA_NEW(&call->arena, OverrideWish);
    wish->tenant = api_tenant(call, value_get_string(body, "namespace", STR("")));
    wish->workflow = value_get_string(body, "workflowId", STR(""));
    if (!api_may(call, wish->tenant, PROBLEM_NOT_FOUND) || !read_trigger(call, body, &wish->trigger)
        || !(civil_read_time(value_get_string(body, "at", STR("")), &wish->at_ms) || body_refuse(call, "at", TIME_DETAIL))
        || !(str_trim(reason).len || body_refuse(call, "reason", "says nothing: an override needs a reason"))) return;
    if (reason.len > TEXT_SIZE_MAX) {
        (void)error_set(&err, ERR_LIMIT, "'reason' has more than TEXT_SIZE_MAX (%u) bytes", TEXT_SIZE_MAX);
        body_error(call, "reason", &err);
        return;
    }
    if (schedule_check_override(&call->arena, &desk, clock_realtime_ms(), wish, &err)) {
        call_error(call, &err);
        return;
    }
    call->state = wish;
    add_wish(call, wish, &members);
    add_member(&members, "held", value_string(wish->held_by));
    add_member(&members, "reason", value_string(reason));
    api_petition(call, &members, "override-schedule", overridden);
}

static void removed(Call *call, const BridgeAnswer *answer)
{
    (void)answer;
    call_empty(call, 204);
}

void route_override_remove(Call *call)
{
    MemberList members = { .arena = &call->arena };
    OverrideWish wish = { .tenant = api_tenant(call, call_query(call, "namespace")), .workflow = call_query(call, "workflowId") };
    ScheduleDesk desk = api_schedules(call->api);
    Str reason = call_query(call, "reason");
    uint64_t trigger;
    Error err;
    if (!api_may(call, wish.tenant, PROBLEM_NOT_FOUND) || !read_time(call, "at", call_query(call, "at"), &wish.at_ms)
        || !call_query_number(call, "trigger", SCHEDULE_TRIGGER_ANY, SCHEDULE_TRIGGER_ANY, &trigger)) return;
    wish.trigger = (uint32_t)trigger;
    if (schedule_check_removal(&call->arena, &desk, clock_realtime_ms(), &wish, &err)) {
        call_error(call, &err);
        return;
    }
    add_wish(call, &wish, &members);
    if (reason.len) add_member(&members, "reason", value_string(reason));
    api_petition(call, &members, "remove-override", removed);
}
