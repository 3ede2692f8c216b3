#include "cli/schedule_read.h"

#include <inttypes.h>

#include "base/civil.h"
#include "base/limits.h"
#include "cli/deed.h"
#include "cli/human.h"
#include "cli/load.h"
#include "cli/server_order.h"
#include "os/zone.h"
#include "view/revision_row.h"
#include "view/run_rows.h"

/* --- of a server ----------------------------------------------------------------------------------------------------------------- */

static Value without_links(Arena *arena, Value item)
{
    MemberList members = { .arena = arena };
    for (uint32_t i = 0; i < item.count; i++)
        if (!str_is_text(value_text(item.members[i].key), "_links"))
            member_list_add(&members, value_text(item.members[i].key), item.members[i].value);
    return member_list_object(&members);
}

/* Every page of a list. */
static ExitCode list_of_server(const Args *args, Str path, Value *out_items)
{
    ValueList list = { .arena = args->arena };
    Str cursor = STR("");
    do {
        Value answer;
        Str page = arena_format(args->arena, "%.*s%s%.*s", STR_ARG(path), cursor.len ? "&cursor=" : "", STR_ARG(cursor));
        ExitCode code = server_order(args, &(ServerCall){ .method = "GET", .path = page }, &answer);
        if (code) return code;
        const Value *items = value_get_text(answer, "items");
        for (uint32_t i = 0; items && i < items->count; i++) value_list_add(&list, without_links(args->arena, items->items[i]));
        cursor = value_get_string(answer, "nextCursor", STR(""));
    } while (cursor.len);
    *out_items = value_list_array(&list);
    return EXIT_CODE_OK;
}

/* --- of a store ------------------------------------------------------------------------------------------------------------------ */

typedef struct Desk { ScheduleDesk desk; Zones *zones; } Desk;

static ExitCode desk_open(const Args *args, Desk *out)
{
    *out = (Desk){ 0 };
    ExitCode code = load_catalog(args, "", &out->desk.catalog);
    if (!code) code = store_open_existing(args, &out->desk.store);
    if (code) return code;
    out->zones = zones_open(NULL);
    out->desk.zones = zones_source(out->zones);
    return EXIT_CODE_OK;
}

static void desk_close(Desk *desk)
{
    zones_close(desk->zones);
    store_close(desk->desk.store);
}

typedef struct Listing { const Args *args; const ScheduleDesk *desk; Str tenant; uint64_t time_count; ValueList items; } Listing;

static Status add_workflow(Listing *listing, Str workflow, Error *err)
{
    Arena *arena = listing->args->arena;
    const Cell *row = NULL;
    uint32_t trigger;
    Value triggers, settings;
    Status status = revision_triggers(arena, listing->desk->store, listing->tenant, workflow, &row, &triggers, err);
    for (uint32_t from = 0; !status && row && schedule_of_triggers(triggers, from, &trigger, &settings); from = trigger + 1) {
        MemberList members = { .arena = arena };
        status = schedule_describe(listing->desk, row, trigger, settings, human_now_ms(), listing->time_count, &members, err);
        if (!status) value_list_add(&listing->items, member_list_object(&members));
    }
    return status;
}

static Status add_all(Listing *listing, Error *err)
{
    Str name = STR("");
    for (;;) {
        Status status = revision_workflow_after(listing->args->arena, listing->desk->store, listing->tenant, name, &name, err);
        if (!status && name.len) status = add_workflow(listing, name, err);
        if (status || !name.len) return status;
    }
}

ExitCode schedule_list(const Args *args, Str tenant, Str workflow, uint64_t time_count, Value *out_items)
{
    Desk desk;
    Error err;
    if (server_is_meant(args)) {
        Str path = arena_format(args->arena, "/api/schedules?limit=%u&count=%" PRIu64 "&namespace=%.*s%s%.*s", API_PAGE_COUNT_MAX, time_count,
                                STR_ARG(server_word(args->arena, tenant)), workflow.len ? "&workflowId=" : "",
                                STR_ARG(server_word(args->arena, workflow)));
        return list_of_server(args, path, out_items);
    }
    ExitCode code = desk_open(args, &desk);
    if (code) return code;
    Listing listing = { .args = args, .desk = &desk.desk, .tenant = tenant, .time_count = time_count, .items.arena = args->arena };
    Status status = workflow.len ? add_workflow(&listing, workflow, &err) : add_all(&listing, &err);
    desk_close(&desk);
    *out_items = value_list_array(&listing.items);
    return status ? fail(&err) : EXIT_CODE_OK;
}

typedef struct OverrideScan { const Args *args; Str tenant; ValueList items; Cell cursor[4]; bool is_over; uint32_t seen; } OverrideScan;

static bool take_override(void *context, const Cell *cells, uint32_t count)
{
    OverrideScan *scan = context;
    const Cell *row = row_copy(scan->args->arena, cells, count);
    scan->is_over = !str_is(row[OVERRIDES_tenant].text, scan->tenant);
    if (scan->is_over) return false;
    for (uint32_t i = 0; i < 4; i++) scan->cursor[i] = row[i];
    scan->seen++;
    value_list_add(&scan->items, override_value(scan->args->arena, row));
    return true;
}

ExitCode schedule_overrides(const Args *args, Str tenant, Value *out_items)
{
    Store *store;
    Status status;
    Error err;
    OverrideScan scan = { .args = args, .tenant = tenant, .items.arena = args->arena,
                          .cursor = { cell_text(tenant), cell_text(STR("")), cell_int(0), cell_int(0) } };
    if (server_is_meant(args))
        return list_of_server(args, arena_format(args->arena, "/api/schedules/override?limit=%u&namespace=%.*s", API_PAGE_COUNT_MAX,
                                                 STR_ARG(server_word(args->arena, tenant))), out_items);
    ExitCode code = store_open_existing(args, &store);
    if (code) return code;
    do {
        QueryAsk ask = { .query = QUERY_OVERRIDES, .param_count = 4, .params = { scan.cursor[0], scan.cursor[1], scan.cursor[2], scan.cursor[3] } };
        scan.seen = 0;
        status = store_select(store, &ask, take_override, &scan, &err);
    } while (!status && scan.seen && !scan.is_over);
    store_close(store);
    *out_items = value_list_array(&scan.items);
    return status ? fail(&err) : EXIT_CODE_OK;
}

/* --- overriding ------------------------------------------------------------------------------------------------------------------- */

static Value at_value(const Args *args, const OverrideWish *wish)
{
    Cell at = cell_int(wish->at_ms);
    return cell_time(args->arena, &at);
}

static ExitCode override_at_server(const Args *args, const OverrideWish *wish, bool is_removal, Value *out_item)
{
    MemberList body = { .arena = args->arena };
    Str at = value_text(at_value(args, wish)), trigger = STR("");
    bool has_trigger = wish->trigger != SCHEDULE_TRIGGER_ANY;
    Value answer;
    if (is_removal) {
        if (has_trigger) trigger = arena_format(args->arena, "&trigger=%" PRIu32, wish->trigger);
        Str path = arena_format(args->arena, "/api/schedules/override?namespace=%.*s&workflowId=%.*s&at=%.*s%.*s",
                                STR_ARG(server_word(args->arena, wish->tenant)), STR_ARG(server_word(args->arena, wish->workflow)),
                                STR_ARG(server_word(args->arena, at)), STR_ARG(trigger));
        return server_order(args, &(ServerCall){ .method = "DELETE", .path = server_reason(args, path) }, &answer);
    }
    member_list_add(&body, STR("namespace"), value_string(wish->tenant));
    member_list_add(&body, STR("workflowId"), value_string(wish->workflow));
    member_list_add(&body, STR("at"), value_string(at));
    if (has_trigger) member_list_add(&body, STR("trigger"), value_int(wish->trigger));
    server_add_reason(args, &body);
    ExitCode code = server_order(args, &(ServerCall){ .method = "POST", .path = STR("/api/schedules/override"),
                                                      .body = member_list_object(&body) }, &answer);
    if (!code) *out_item = without_links(args->arena, answer);
    return code;
}

static bool send(Engine *engine, const void *keep) { return engine_keep(engine, keep); }

static ExitCode carry(const Args *args, const OverrideWish *wish, bool is_removal)
{
    Str reason = str_of(args_value(args, "reason"));
    EngineKeep keep;
    Deed deed = { .args = args, .errand = errand_begin(args, is_removal ? "remove-override" : "override-schedule"), .send = send, .what = &keep };
    keep = (EngineKeep){
        .kind = is_removal ? KEEP_OVERRIDE_GONE : KEEP_OVERRIDE, .tenant = wish->tenant, .name = wish->workflow, .text = wish->held_by,
        .due_ms = wish->at_ms, .count = wish->trigger, .reply = deed_reply, .context = &deed,
        .command = { .id = deed.errand.id, .actor = deed.errand.actor, .rationale = reason, .trace = deed.errand.trace, .value = value_null(),
                     .report.output = value_null() },
    };
    errand_add(&deed.errand, "tenant", value_string(wish->tenant));
    errand_add(&deed.errand, "workflow", value_string(wish->workflow));
    errand_add(&deed.errand, "trigger", value_int(wish->trigger));
    errand_add(&deed.errand, "at", at_value(args, wish));
    if (!is_removal) errand_add(&deed.errand, "held", value_string(wish->held_by));
    if (reason.len) errand_add(&deed.errand, "reason", value_string(reason));
    ExitCode code = deed_do(&deed);
    return code || !deed.status ? code : problem_report(deed.problem, &deed.error);
}

/* The store is closed before anybody is asked: this process may become its owner. */
ExitCode schedule_override(const Args *args, OverrideWish *wish, bool is_removal, Value *out_item)
{
    Desk desk;
    const Cell *row = NULL;
    Error err;
    *out_item = value_null();
    if (server_is_meant(args)) return override_at_server(args, wish, is_removal, out_item);
    ExitCode code = desk_open(args, &desk);
    if (code) return code;
    Status status = (is_removal ? schedule_check_removal : schedule_check_override)(args->arena, &desk.desk, human_now_ms(), wish, &err);
    desk_close(&desk);
    if (status) return errand_refused(&err);
    code = carry(args, wish, is_removal);
    if (code || is_removal) return code;
    code = store_open_existing(args, &desk.desk.store);
    if (code) return code;
    status = override_find(args->arena, desk.desk.store, wish, &row, &err);
    store_close(desk.desk.store);
    if (status) return fail(&err);
    if (row) *out_item = override_value(args->arena, row);
    return EXIT_CODE_OK;
}
