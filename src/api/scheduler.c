#include "api/scheduler.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/agenda.h"
#include "api/api.h"
#include "api/skips.h"
#include "base/check.h"
#include "base/civil.h"
#include "base/limits.h"

/* A start that was asked for, until it is answered. */
typedef struct Starting {
    Arena arena;
    Scheduler *scheduler;
    AgendaEntry entry;
    struct Starting *next, **place;
} Starting;

struct Scheduler {
    Api *api;
    Starting *starting;
    Skips *skips;
    Agenda *agenda;
    int64_t looked_ms, wake_ms;     /* before that there is nothing to do */
    int64_t until_s;                /* what was due up to then has been started */
};

Scheduler *scheduler_new(Api *api, int64_t now_ms)
{
    Scheduler *scheduler = calloc(1, sizeof *scheduler);
    CHECK(scheduler);
    api->agenda = agenda_new(api);
    *scheduler = (Scheduler){ .api = api, .agenda = api->agenda, .skips = skips_new(api->bridge),
                              .looked_ms = INT64_MIN / 2, .until_s = floor_div(now_ms, 1000) };
    return scheduler;
}

/* --- starting ---------------------------------------------------------------------------------------------------------------------------- */

static void starting_free(Starting *starting)
{
    *starting->place = starting->next;
    if (starting->next) starting->next->place = starting->place;
    arena_deinit(&starting->arena);
    free(starting);
}

/* That it started nothing is an event of the ledger. */
static void skip(Scheduler *scheduler, const AgendaEntry *entry, const Skip *skip)
{
    Skip whole = *skip;
    if (!skip->count) return;
    whole.tenant = entry->tenant;
    whole.workflow = entry->workflow;
    whole.trigger = entry->trigger;
    if (!skips_add(scheduler->skips, &whole))
        agenda_tell(scheduler->api, LOG_ERROR, entry, skip->due_ms / 1000, "an occurrence is not recorded",
                    STR("more than SKIP_COUNT_MAX are not recorded yet"));
}

static void started(void *context, const BridgeAnswer *answer)
{
    Starting *starting = context;
    const AgendaEntry *entry = &starting->entry;
    Str why = str_of(answer->error.text);
    if (answer->status) {
        agenda_tell(starting->scheduler->api, LOG_ERROR, entry, entry->next.at_s, "a schedule was refused its run", why);
        skip(starting->scheduler, entry, &(Skip){ .due_ms = entry->next.at_s * 1000, .count = 1, .why = why,
                                                  .by = answer->is_over_quota ? STR("quota") : STR("refused") });
    }
    starting_free(starting);
}

/* `override`: why, though something holds it; NULL: nothing does. */
static void start(Scheduler *scheduler, const AgendaEntry *entry, const Cell *override)
{
    Starting *starting = calloc(1, sizeof *starting);
    CHECK(starting);
    Arena *arena = &starting->arena;
    arena_init(arena, SIZE_MAX);
    MemberList members = { .arena = arena };
    char storage[40];
    Buf at = buf_on(storage, sizeof storage);
    civil_print_ms(&at, entry->next.at_s * 1000);
    starting->scheduler = scheduler;
    starting->next = scheduler->starting;
    starting->place = &scheduler->starting;
    if (starting->next) starting->next->place = &starting->next;
    scheduler->starting = starting;
    starting->entry = *entry;
    starting->entry.tenant = arena_copy(arena, entry->tenant);
    starting->entry.workflow = arena_copy(arena, entry->workflow);
    add_member(&members, "verb", value_string(STR("start")));
    add_member(&members, "digest", value_copy(arena, entry->digest));
    add_member(&members, "tenant", value_string(starting->entry.tenant));
    add_member(&members, "revision", value_int(entry->version));
    add_member(&members, "params", (Value){ .kind = VALUE_OBJECT });
    add_member(&members, "payload", value_copy(arena, entry->payload));
    add_member(&members, "source", value_string(STR("schedule")));
    add_member(&members, "actor", value_string(arena_format(arena, "schedule:%.*s/%" PRIu32, STR_ARG(entry->workflow), entry->trigger)));
    Str reason = arena_format(arena, "due at %.*s", STR_ARG(buf_peek(&at)));
    if (override)
        reason = arena_format(arena, "%.*s; %.*s overridden by %.*s: %.*s", STR_ARG(reason), STR_ARG(override[OVERRIDES_held_by].text),
                              STR_ARG(override[OVERRIDES_created_by].text), STR_ARG(override[OVERRIDES_reason].text));
    add_member(&members, "reason", value_string(reason));
    add_member(&members, "id", value_string(arena_format(arena, "schedule/%.*s/%" PRIu32 "/%.*s", STR_ARG(entry->workflow), entry->trigger,
                                                         STR_ARG(buf_peek(&at)))));
    if (bridge_ask(scheduler->api->bridge, member_list_object(&members), started, starting)) return;
    started(starting, &(BridgeAnswer){ .status = ERR_UNAVAILABLE, .error = { .text = "the engine takes no further requests now" } });
}

/* The override of what is held, where there is one and everything that holds it yields: the newest commit counts. */
static const Cell *find_override(Scheduler *scheduler, Arena *arena, const AgendaEntry *entry)
{
    ScheduleHold holds[SCHEDULE_BAR_COUNT];
    OverrideWish of = { .tenant = entry->tenant, .workflow = entry->workflow, .trigger = entry->trigger, .at_ms = entry->next.at_s * 1000 };
    const Cell *row = NULL;
    Error err;
    for (uint32_t i = schedule_holds(&entry->schedule, entry->next.at_s, holds); i; i--)
        if (!schedule_bar_yields(holds[i - 1].bar)) return NULL;
    store_renew(scheduler->api->store);
    if (!override_find(arena, scheduler->api->store, &of, &row, &err)) return row;
    agenda_tell(scheduler->api, LOG_ERROR, entry, entry->next.at_s, "whether an occurrence is overridden cannot be read", str_of(err.text));
    return NULL;
}

/* "the blackout 'nights', Mon-Sun 22:00-04:00, holds it back": the first of what does. */
static Str bar_text(Arena *arena, const AgendaEntry *entry)
{
    ScheduleHold holds[SCHEDULE_BAR_COUNT];
    if (!schedule_holds(&entry->schedule, entry->next.at_s, holds)) return str_of(schedule_bar_name(entry->next.bar));
    Str name = holds[0].name.len ? arena_format(arena, " '%.*s'", STR_ARG(holds[0].name)) : (Str){ 0 };
    Str window = holds[0].window.len ? arena_format(arena, ", %.*s,", STR_ARG(holds[0].window)) : (Str){ 0 };
    return arena_format(arena, "the %s%.*s%.*s holds it back", schedule_bar_name(holds[0].bar), STR_ARG(name), STR_ARG(window));
}

/* Starts it, or says by what it was kept from starting. */
static Skip be_due(Scheduler *scheduler, Arena *arena, const AgendaEntry *entry, int64_t now_s)
{
    Skip skipped = { .due_ms = entry->next.at_s * 1000, .count = 1 };
    const Cell *override = entry->next.bar ? find_override(scheduler, arena, entry) : NULL;
    if (entry->next.bar && !override) {
        skipped.by = str_of(schedule_bar_name(entry->next.bar));
        agenda_tell(scheduler->api, LOG_INFO, entry, entry->next.at_s, "a schedule was barred", skipped.by);
    } else if (now_s - entry->next.at_s > API_SCHEDULE_LATE_S) {
        skipped.by = STR("missed");
        skipped.why = STR("nobody was there to start its run");
        agenda_tell(scheduler->api, LOG_ERROR, entry, entry->next.at_s, "a schedule was missed", skipped.why);
    } else {
        start(scheduler, entry, override);
        skipped.count = 0;
    }
    return skipped;
}

/* Where the clock was put on by months, nobody goes through all that would have been due meanwhile: the first of it tells of the rest. */
static void leave_behind(Scheduler *scheduler, AgendaEntry *entry, int64_t now_s)
{
    int64_t from_s = now_s - API_SCHEDULE_BEHIND_S;
    if (entry->is_over || entry->next.at_s >= from_s) return;
    Skip missed = { .due_ms = entry->next.at_s * 1000, .count = 1, .by = STR("missed"),
                    .why = STR("nobody was there to start its run, nor those of all that followed until a day ago, which are not counted") };
    agenda_tell(scheduler->api, LOG_ERROR, entry, entry->next.at_s, "a schedule was missed", missed.why);
    skip(scheduler, entry, &missed);
    entry->is_over = !schedule_next(&entry->schedule, from_s - 1, &entry->next);
}

/* Those that have passed since it looked last, for one reason, are told as one: there are many where the clock was put on. How many they are. */
static uint32_t turn_entry(Scheduler *scheduler, AgendaEntry *entry, int64_t now_s)
{
    Skip before = { 0 };
    uint32_t count = 0;
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    leave_behind(scheduler, entry, now_s);
    for (; !entry->is_over && entry->next.at_s <= now_s; count++) {
        Skip now = be_due(scheduler, &arena, entry, now_s);
        if (now.count && before.count && str_is(now.by, before.by)) {
            before.count++;
        } else {
            skip(scheduler, entry, &before);
            before = now;
            if (now.count && entry->next.bar && !now.why.len) before.why = bar_text(&arena, entry);
        }
        entry->is_over = !schedule_next(&entry->schedule, entry->next.at_s, &entry->next);
    }
    skip(scheduler, entry, &before);
    arena_deinit(&arena);
    return count;
}

int64_t scheduler_turn(Scheduler *scheduler, int64_t now_ms)
{
    int64_t now_s = floor_div(now_ms, 1000), wait_ms = API_SCHEDULE_LOOK_MS;
    bool is_behind = now_ms < scheduler->looked_ms;             /* the clock was put back */
    if (now_ms < scheduler->wake_ms && !is_behind) return scheduler->wake_ms - now_ms;
    if (is_behind || now_ms - scheduler->looked_ms >= API_SCHEDULE_LOOK_MS) {
        scheduler->looked_ms = now_ms;
        agenda_look(scheduler->agenda, scheduler->until_s);
        skips_turn(scheduler->skips);
    }
    size_t count;
    uint32_t due_count = 0;
    AgendaEntry *entries = agenda_entries(scheduler->agenda, &count);
    for (size_t i = 0; i < count; i++) {
        AgendaEntry *entry = &entries[i];
        if (due_count < API_SCHEDULE_TURN_COUNT) due_count += turn_entry(scheduler, entry, now_s);
        int64_t until_ms = entry->next.at_s * 1000 - now_ms;
        if (!entry->is_over && until_ms < wait_ms) wait_ms = until_ms;
    }
    if (wait_ms < 0) wait_ms = 0;                                /* this turn did not come to all of them */
    if (now_s > scheduler->until_s) scheduler->until_s = now_s;
    scheduler->wake_ms = now_ms + wait_ms;
    return wait_ms;
}

void scheduler_free(Scheduler *scheduler)
{
    if (!scheduler) return;
    while (scheduler->starting) starting_free(scheduler->starting);
    skips_free(scheduler->skips);
    agenda_free(scheduler->agenda);
    free(scheduler);
}
