#include "api/schedules.h"

#include <inttypes.h>

#include "api/agenda.h"
#include "base/civil.h"
#include "base/limits.h"
#include "view/revision_row.h"
#include "view/run_rows.h"

static const Value *find_named(void *context, bool is_calendar, Str name)
{
    const CatalogEntry *entry = catalog_find(context, is_calendar ? CATALOG_CALENDAR : CATALOG_WINDOWS, name);
    return entry ? &entry->settings : NULL;
}

ScheduleNames schedule_names(const ScheduleDesk *desk)
{
    return (ScheduleNames){ find_named, (void *)(uintptr_t)desk->catalog, desk->zones };
}

bool schedule_of_triggers(Value triggers, uint32_t from, uint32_t *out_trigger, Value *out_settings)
{
    for (uint32_t i = from; i < triggers.count; i++) {
        const Value *settings = value_get_text(triggers.items[i], "schedule");
        if (!settings) continue;
        *out_trigger = i;
        *out_settings = *settings;
        return true;
    }
    return false;
}

/* --- overrides --------------------------------------------------------------------------------------------------------------------------- */

static void add(MemberList *members, const char *name, Value value) { member_list_add(members, str_of(name), value); }

Status override_find(Arena *arena, Store *store, const OverrideWish *of, const Cell **out_row, Error *err)
{
    QueryAsk ask = { .query = QUERY_OVERRIDE, .param_count = 4,
                     .params = { cell_text(of->tenant), cell_text(of->workflow), cell_int(of->trigger), cell_int(of->at_ms) } };
    return row_select(arena, store, &ask, out_row, err);
}

/* "freeze,blackout" as a list. */
static Value held_list(Arena *arena, Str text)
{
    ValueList list = { .arena = arena };
    for (size_t at = 0; at < text.len;) {
        size_t end = str_find(text, ',', at);
        value_list_add(&list, value_string(str_slice(text, at, end)));
        at = end + 1;
    }
    return value_list_array(&list);
}

static void add_decision(Arena *arena, MemberList *members, const Cell *row)
{
    add(members, "reason", cell_value(&row[OVERRIDES_reason]));
    add(members, "createdAt", cell_time(arena, &row[OVERRIDES_created_ms]));
    add(members, "createdBy", cell_value(&row[OVERRIDES_created_by]));
}

Value override_value(Arena *arena, const Cell *row)
{
    MemberList members = { .arena = arena };
    add(&members, "namespace", cell_value(&row[OVERRIDES_tenant]));
    add(&members, "workflowId", cell_value(&row[OVERRIDES_workflow_id]));
    add(&members, "trigger", cell_value(&row[OVERRIDES_trigger_no]));
    add(&members, "at", cell_time(arena, &row[OVERRIDES_due_ms]));
    add(&members, "heldBy", held_list(arena, row[OVERRIDES_held_by].text));
    add_decision(arena, &members, row);
    return member_list_object(&members);
}

/* --- documents --------------------------------------------------------------------------------------------------------------------------- */

static Value hold_value(Arena *arena, const ScheduleHold *hold)
{
    MemberList members = { .arena = arena };
    add(&members, "by", value_string(str_of(schedule_bar_name(hold->bar))));
    add(&members, "name", hold->name.len ? value_string(hold->name) : value_null());
    add(&members, "window", hold->window.len ? value_string(hold->window) : value_null());
    return member_list_object(&members);
}

static Status occurrence_value(Arena *arena, const ScheduleDesk *desk, const OverrideWish *of, const Schedule *schedule, Value *out, Error *err)
{
    MemberList members = { .arena = arena }, decision = { .arena = arena };
    ValueList list = { .arena = arena };
    ScheduleHold holds[SCHEDULE_BAR_COUNT];
    const Cell *row = NULL;
    Cell at = cell_int(of->at_ms);
    uint32_t count = schedule_holds(schedule, of->at_ms / 1000, holds);
    Status status = count ? override_find(arena, desk->store, of, &row, err) : OK;
    if (status) return status;
    for (uint32_t i = 0; i < count; i++) value_list_add(&list, hold_value(arena, &holds[i]));
    if (row) add_decision(arena, &decision, row);
    add(&members, "at", cell_time(arena, &at));
    add(&members, "barred", count ? value_string(str_of(schedule_bar_name(holds[0].bar))) : value_null());
    add(&members, "held", value_list_array(&list));
    add(&members, "override", row ? member_list_object(&decision) : value_null());
    *out = member_list_object(&members);
    return OK;
}

Status schedule_describe(const ScheduleDesk *desk, const Cell *revision, uint32_t trigger, Value settings, int64_t from_ms,
                         uint64_t time_count, MemberList *members, Error *err)
{
    Arena *arena = members->arena;
    Schedule schedule;
    ScheduleNames names = schedule_names(desk);
    ValueList times = { .arena = arena };
    Occurrence occurrence = { .at_s = floor_div(from_ms, 1000) };
    OverrideWish of = { .tenant = revision[REVISIONS_tenant].text, .workflow = revision[REVISIONS_workflow_id].text, .trigger = trigger };
    Error why;
    Status status = OK;
    bool is_usable = !schedule_read(arena, settings, of.workflow, &names, &schedule, &why);
    for (uint64_t i = 0; is_usable && !status && i < time_count && schedule_next(&schedule, occurrence.at_s, &occurrence); i++) {
        Value time;
        of.at_ms = occurrence.at_s * 1000;
        status = occurrence_value(arena, desk, &of, &schedule, &time, err);
        if (!status) value_list_add(&times, time);
    }
    if (status) return status;
    if (is_usable && desk->agenda && agenda_leaves_out(desk->agenda, of.tenant, of.workflow, trigger)) {
        is_usable = false;
        error_set(&why, ERR_LIMIT, "it is not followed: there are more than API_SCHEDULE_TENANT_MAX (%u) of its tenant, or "
                  "API_SCHEDULE_COUNT_MAX (%u) in all", API_SCHEDULE_TENANT_MAX, API_SCHEDULE_COUNT_MAX);
    }
    add(members, "namespace", value_string(of.tenant));
    add(members, "workflowId", value_string(of.workflow));
    add(members, "version", cell_value(&revision[REVISIONS_version]));
    add(members, "trigger", value_int(trigger));
    add(members, "cron", value_string(settings.kind == VALUE_STRING ? value_text(settings) : value_get_string(settings, "cron", STR(""))));
    add(members, "timezone", value_string(value_get_string(settings, "timezone", STR("UTC"))));
    add(members, "critical", value_bool(value_get_bool(settings, "critical", false)));
    add(members, "next", value_list_array(&times));
    add(members, "unusable", is_usable ? value_null() : value_string(arena_copy(arena, str_of(why.text))));
    return OK;
}

/* --- what can be overridden ---------------------------------------------------------------------------------------------------------------- */

/* The schedule that is meant; the only one where no trigger is named. */
static Status find_trigger(Value triggers, OverrideWish *wish, Value *out_settings, Error *err)
{
    uint32_t trigger, other;
    Value unused;
    bool is_any = wish->trigger == SCHEDULE_TRIGGER_ANY;
    if (!schedule_of_triggers(triggers, is_any ? 0 : wish->trigger, &trigger, out_settings) || (!is_any && trigger != wish->trigger)) {
        if (is_any) return error_set(err, ERR_NOT_FOUND, "workflow '%.*s' has no schedule", STR_ARG(wish->workflow));
        return error_set(err, ERR_NOT_FOUND, "trigger %" PRIu32 " of workflow '%.*s' is no schedule", wish->trigger, STR_ARG(wish->workflow));
    }
    if (is_any && schedule_of_triggers(triggers, trigger + 1, &other, &unused))
        return error_set(err, ERR_INVALID, "workflow '%.*s' has several schedules: say which trigger is meant, %" PRIu32 " or %" PRIu32,
                         STR_ARG(wish->workflow), trigger, other);
    wish->trigger = trigger;
    return OK;
}

static Status read_schedule(Arena *arena, const ScheduleDesk *desk, OverrideWish *wish, Schedule *out, Error *err)
{
    const Cell *row = NULL;
    Value triggers, settings;
    ScheduleNames names = schedule_names(desk);
    Status status = revision_triggers(arena, desk->store, wish->tenant, wish->workflow, &row, &triggers, err);
    if (!status && !row) return error_set(err, ERR_NOT_FOUND, "there is no active workflow '%.*s'", STR_ARG(wish->workflow));
    if (!status) status = find_trigger(triggers, wish, &settings, err);
    return status ? status : schedule_read(arena, settings, wish->workflow, &names, out, err);
}

static Str at_text(Arena *arena, const OverrideWish *wish)
{
    Cell at = cell_int(wish->at_ms);
    return value_text(cell_time(arena, &at));
}

static Status refuse_past(Arena *arena, const OverrideWish *wish, Error *err)
{
    return error_set(err, ERR_CONFLICT, "%.*s has passed: what was due then was started or is not started any more", STR_ARG(at_text(arena, wish)));
}

Status schedule_check_override(Arena *arena, const ScheduleDesk *desk, int64_t now_ms, OverrideWish *wish, Error *err)
{
    Schedule schedule;
    ScheduleHold holds[SCHEDULE_BAR_COUNT];
    char storage[64];
    Buf held = buf_on(storage, sizeof storage);
    Status status = read_schedule(arena, desk, wish, &schedule, err);
    if (status) return status;
    Str at = at_text(arena, wish), workflow = wish->workflow;
    if (wish->at_ms % 1000 || !schedule_has(&schedule, wish->at_ms / 1000))
        return error_set(err, ERR_INVALID, "%.*s is no occurrence of trigger %" PRIu32 " of workflow '%.*s'",
                         STR_ARG(at), wish->trigger, STR_ARG(workflow));
    if (wish->at_ms <= now_ms) return refuse_past(arena, wish, err);
    uint32_t count = schedule_holds(&schedule, wish->at_ms / 1000, holds);
    if (!count)
        return error_set(err, ERR_CONFLICT, "nothing holds %.*s of workflow '%.*s': it starts without an override",
                         STR_ARG(at), STR_ARG(workflow));
    for (uint32_t i = 0; i < count; i++) {
        if (!schedule_bar_yields(holds[i].bar))
            return error_set(err, ERR_CONFLICT,
                             "the calendar '%.*s' leaves %.*s out: what yields to an override is a freeze, a blackout or a release window",
                             STR_ARG(holds[i].name), STR_ARG(at));
        buf_format(&held, "%s%s", i ? "," : "", schedule_bar_name(holds[i].bar));
    }
    wish->held_by = arena_copy(arena, buf_peek(&held));
    return OK;
}

/* The schedule may be another one by now: an override that is there can be removed all the same. */
Status schedule_check_removal(Arena *arena, const ScheduleDesk *desk, int64_t now_ms, OverrideWish *wish, Error *err)
{
    Schedule schedule;
    const Cell *row = NULL;
    Status status = wish->trigger == SCHEDULE_TRIGGER_ANY ? read_schedule(arena, desk, wish, &schedule, err) : OK;
    if (!status) status = override_find(arena, desk->store, wish, &row, err);
    if (status) return status;
    if (!row)
        return error_set(err, ERR_NOT_FOUND, "%.*s of workflow '%.*s' is not overridden", STR_ARG(at_text(arena, wish)), STR_ARG(wish->workflow));
    return wish->at_ms <= now_ms ? refuse_past(arena, wish, err) : OK;
}
