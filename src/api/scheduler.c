#include "api/scheduler.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/skips.h"
#include "base/check.h"
#include "base/civil.h"
#include "base/limits.h"
#include "ledger/record.h"
#include "value/json.h"

typedef struct Entry {
    Str tenant, workflow;
    int64_t version;
    uint32_t trigger;
    Value digest, payload;
    Schedule schedule;
    Occurrence next;
    bool is_over;                   /* it is due no more */
} Entry;

/* A start that was asked for, until it is answered. */
typedef struct Starting {
    Arena arena;
    Scheduler *scheduler;
    Entry entry;
    struct Starting *next, **place;
} Starting;

struct Scheduler {
    Api *api;
    Starting *starting;
    Skips *skips;
    Arena arena;                    /* of the entries */
    Entry *entries;
    size_t count, capacity;
    int64_t position;               /* of the newest record of the log when they were read; -1: they were not */
    int64_t looked_ms, wake_ms;     /* before that there is nothing to do */
    int64_t until_s;                /* what was due up to then has been started */
};

Scheduler *scheduler_new(Api *api, int64_t now_ms)
{
    Scheduler *scheduler = calloc(1, sizeof *scheduler);
    CHECK(scheduler);
    *scheduler = (Scheduler){ .api = api, .skips = skips_new(api->bridge), .position = -1, .looked_ms = INT64_MIN / 2, .until_s = floor_div(now_ms, 1000) };
    arena_init(&scheduler->arena, SIZE_MAX);
    return scheduler;
}

/* --- telling ------------------------------------------------------------------------------------------------------------------------- */

#define SCHEDULE_READ_COUNT 4u      /* reads of records by which it is found out whether revisions have changed */

static void tell(const char *level, const Entry *entry, int64_t at_s, const char *message, Str why)
{
    Buf line;
    buf_init(&line, JSON_SIZE_MAX);
    buf_format(&line, "{\"level\":\"%s\",\"message\":\"%s\",\"tenant\":", level, message);
    json_print_string(&line, entry->tenant);
    buf_text(&line, ",\"workflow\":");
    json_print_string(&line, entry->workflow);
    buf_format(&line, ",\"trigger\":%" PRIu32, entry->trigger);
    if (at_s) {
        buf_text(&line, ",\"due\":\"");
        civil_print_ms(&line, at_s * 1000);
        buf_char(&line, '"');
    }
    buf_text(&line, ",\"why\":");
    json_print_string(&line, why);
    buf_text(&line, "}\n");
    (void)fwrite(line.ptr, 1, line.len, stderr);
    buf_deinit(&line);
}

/* --- which there are ------------------------------------------------------------------------------------------------------------------ */

static void add_entry(Scheduler *scheduler, const Cell *row, const Plan *plan, uint32_t trigger, Value settings)
{
    Arena *arena = &scheduler->arena;
    const Value *payload = value_get_text(settings, "payload");
    Digest digest = cell_digest(&row[REVISIONS_digest]);
    Error err;
    Entry entry = { .tenant = row[REVISIONS_tenant].text, .workflow = row[REVISIONS_workflow_id].text, .version = row[REVISIONS_version].integer,
                    .trigger = trigger, .digest = digest_value(arena, &digest), .payload = payload ? value_copy(arena, *payload) : value_null() };
    ScheduleDesk desk = api_schedules(scheduler->api);
    ScheduleNames names = schedule_names(&desk);
    if (scheduler->count >= API_SCHEDULE_COUNT_MAX) {
        if (scheduler->count == API_SCHEDULE_COUNT_MAX) tell("error", &entry, 0, "a schedule is not followed", STR("there are more than API_SCHEDULE_COUNT_MAX"));
        return;
    }
    /* The schedule outlives the plan, which is at hand for as long as there is room. */
    if (schedule_read(arena, value_copy(arena, settings), plan->id, &names, &entry.schedule, &err)) {
        tell("error", &entry, 0, "a schedule is not followed", str_of(err.text));
        return;
    }
    entry.is_over = !schedule_next(&entry.schedule, scheduler->until_s, &entry.next);
    scheduler->entries = arena_grow(arena, scheduler->entries, sizeof *scheduler->entries, scheduler->count, &scheduler->capacity);
    scheduler->entries[scheduler->count++] = entry;
}

static Status add_workflow(Scheduler *scheduler, const Cell *key, Error *err)
{
    const Cell *row;
    const Plan *plan;
    QueryAsk ask = { .query = QUERY_REVISION_ACTIVE, .param_count = 3,
                     .params = { key[REVISIONS_tenant], key[REVISIONS_workflow_id], cell_int(1) } };
    Status status = row_select(&scheduler->arena, scheduler->api->store, &ask, &row, err);
    if (status || !row) return status;
    Digest digest = cell_digest(&row[REVISIONS_digest]);
    status = api_plan(scheduler->api, &digest, &plan, err);
    if (status) return status;
    uint32_t trigger;
    Value settings;
    for (uint32_t from = 0; schedule_of_plan(plan, from, &trigger, &settings); from = trigger + 1) add_entry(scheduler, row, plan, trigger, settings);
    return OK;
}

static Status read_entries(Scheduler *scheduler, Error *err)
{
    Cell tenant = cell_text(STR("")), workflow = cell_text(STR(""));
    arena_reset(&scheduler->arena);
    scheduler->entries = NULL;
    scheduler->count = scheduler->capacity = 0;
    for (;;) {
        const Cell *row;
        QueryAsk ask = { .query = QUERY_WORKFLOW_AFTER, .params = { tenant, workflow }, .param_count = 2 };
        Status status = row_select(&scheduler->arena, scheduler->api->store, &ask, &row, err);
        if (!status && row) status = add_workflow(scheduler, row, err);
        if (status || !row) return status;
        tenant = row[REVISIONS_tenant];
        workflow = row[REVISIONS_workflow_id];
    }
}

typedef struct Changes { Arena *arena; int64_t position; uint32_t seen; bool is_revised; } Changes;

static bool take_change(void *context, const Cell *cells, uint32_t count)
{
    Changes *changes = context;
    Record record;
    Error err;
    (void)count;
    changes->position = cells[LEDGER_position].integer;
    changes->seen++;
    if (record_decode_any(changes->arena, cells[LEDGER_record].text, &record, &err)) changes->is_revised = true;
    for (uint32_t i = 0; !changes->is_revised && i < record.event_count; i++) {
        uint8_t kind = record.events[i].kind;
        changes->is_revised = kind == EVENT_REVISION_STORED || kind == EVENT_REVISION_ACTIVATED || kind == EVENT_REVISION_DEACTIVATED
                              || kind == EVENT_REVISION_REMOVED;
    }
    return !changes->is_revised;
}

/* Changes of revisions are records of the log itself, among others: skips of schedules are some. Of very many nobody asks which. */
static bool is_revised(Scheduler *scheduler, Arena *arena, int64_t newest)
{
    Changes changes = { .arena = arena, .position = scheduler->position, .seen = 1 };
    Error err;
    if (changes.position < 0 || newest < changes.position) return true;
    for (uint32_t reads = 0; changes.seen && !changes.is_revised && changes.position < newest; reads++) {
        QueryAsk ask = { .query = QUERY_LOG_RECORDS, .params = { cell_int(changes.position) }, .param_count = 1 };
        changes.seen = 0;
        if (reads == SCHEDULE_READ_COUNT || store_select(scheduler->api->store, &ask, take_change, &changes, &err)) return true;
    }
    return changes.is_revised;
}

static void look(Scheduler *scheduler, int64_t now_ms)
{
    Arena arena;
    const Cell *row = NULL;
    Error err;
    QueryAsk ask = { .query = QUERY_LOG_RECORD_LAST };
    scheduler->looked_ms = now_ms;
    arena_init(&arena, SIZE_MAX);
    Status status = row_select(&arena, scheduler->api->store, &ask, &row, &err);
    int64_t position = !status && row ? row[LEDGER_position].integer : 0;
    if (!status && position != scheduler->position) {
        if (is_revised(scheduler, &arena, position)) status = read_entries(scheduler, &err);
        scheduler->position = status ? -1 : position;
    }
    arena_deinit(&arena);
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
static void skip(Scheduler *scheduler, const Entry *entry, const Skip *skip)
{
    Skip whole = *skip;
    if (!skip->count) return;
    whole.tenant = entry->tenant;
    whole.workflow = entry->workflow;
    whole.trigger = entry->trigger;
    if (!skips_add(scheduler->skips, &whole))
        tell("error", entry, skip->due_ms / 1000, "an occurrence is not recorded", STR("more than SKIP_COUNT_MAX are not recorded yet"));
}

static void started(void *context, const BridgeAnswer *answer)
{
    Starting *starting = context;
    const Entry *entry = &starting->entry;
    Str why = str_of(answer->error.text);
    if (answer->status) {
        tell("error", entry, entry->next.at_s, "a schedule was refused its run", why);
        skip(starting->scheduler, entry, &(Skip){ .due_ms = entry->next.at_s * 1000, .count = 1, .why = why,
                                                  .by = answer->is_over_quota ? STR("quota") : STR("refused") });
    }
    starting_free(starting);
}

/* `override`: why, though something holds it; NULL: nothing does. */
static void start(Scheduler *scheduler, const Entry *entry, const Cell *override)
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
static const Cell *find_override(Scheduler *scheduler, Arena *arena, const Entry *entry)
{
    ScheduleHold holds[SCHEDULE_BAR_COUNT];
    OverrideWish of = { .tenant = entry->tenant, .workflow = entry->workflow, .trigger = entry->trigger, .at_ms = entry->next.at_s * 1000 };
    const Cell *row = NULL;
    Error err;
    for (uint32_t i = schedule_holds(&entry->schedule, entry->next.at_s, holds); i; i--)
        if (!schedule_bar_yields(holds[i - 1].bar)) return NULL;
    store_renew(scheduler->api->store);
    if (!override_find(arena, scheduler->api->store, &of, &row, &err)) return row;
    tell("error", entry, entry->next.at_s, "whether an occurrence is overridden cannot be read", str_of(err.text));
    return NULL;
}

/* "the blackout 'nights', Mon-Sun 22:00-04:00, holds it back": the first of what does. */
static Str bar_text(Arena *arena, const Entry *entry)
{
    ScheduleHold holds[SCHEDULE_BAR_COUNT];
    if (!schedule_holds(&entry->schedule, entry->next.at_s, holds)) return str_of(schedule_bar_name(entry->next.bar));
    Str name = holds[0].name.len ? arena_format(arena, " '%.*s'", STR_ARG(holds[0].name)) : (Str){ 0 };
    Str window = holds[0].window.len ? arena_format(arena, ", %.*s,", STR_ARG(holds[0].window)) : (Str){ 0 };
    return arena_format(arena, "the %s%.*s%.*s holds it back", schedule_bar_name(holds[0].bar), STR_ARG(name), STR_ARG(window));
}

/* Starts it, or says by what it was kept from starting. */
static Skip be_due(Scheduler *scheduler, Arena *arena, const Entry *entry, int64_t now_s)
{
    Skip skipped = { .due_ms = entry->next.at_s * 1000, .count = 1 };
    const Cell *override = entry->next.bar ? find_override(scheduler, arena, entry) : NULL;
    if (entry->next.bar && !override) {
        skipped.by = str_of(schedule_bar_name(entry->next.bar));
        tell("info", entry, entry->next.at_s, "a schedule was barred", skipped.by);
    } else if (now_s - entry->next.at_s > API_SCHEDULE_LATE_S) {
        skipped.by = STR("missed");
        skipped.why = STR("nobody was there to start its run");
        tell("error", entry, entry->next.at_s, "a schedule was missed", skipped.why);
    } else {
        start(scheduler, entry, override);
        skipped.count = 0;
    }
    return skipped;
}

/* Those that have passed since it looked last, for one reason, are told as one: there are many where the clock was put on. */
static void turn_entry(Scheduler *scheduler, Entry *entry, int64_t now_s)
{
    Skip before = { 0 };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    while (!entry->is_over && entry->next.at_s <= now_s) {
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
}

int64_t scheduler_turn(Scheduler *scheduler, int64_t now_ms)
{
    int64_t now_s = floor_div(now_ms, 1000), wait_ms = API_SCHEDULE_LOOK_MS;
    bool is_behind = now_ms < scheduler->looked_ms;             /* the clock was put back */
    if (now_ms < scheduler->wake_ms && !is_behind) return scheduler->wake_ms - now_ms;
    if (is_behind || now_ms - scheduler->looked_ms >= API_SCHEDULE_LOOK_MS) {
        look(scheduler, now_ms);
        skips_turn(scheduler->skips);
    }
    for (size_t i = 0; i < scheduler->count; i++) {
        Entry *entry = &scheduler->entries[i];
        turn_entry(scheduler, entry, now_s);
        int64_t until_ms = entry->next.at_s * 1000 - now_ms;
        if (!entry->is_over && until_ms < wait_ms) wait_ms = until_ms;
    }
    if (now_s > scheduler->until_s) scheduler->until_s = now_s;
    scheduler->wake_ms = now_ms + wait_ms;
    return wait_ms;
}

void scheduler_free(Scheduler *scheduler)
{
    if (!scheduler) return;
    while (scheduler->starting) starting_free(scheduler->starting);
    skips_free(scheduler->skips);
    arena_deinit(&scheduler->arena);
    free(scheduler);
}
