#include "api/agenda.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/herald.h"
#include "base/check.h"
#include "base/civil.h"
#include "base/limits.h"
#include "base/map.h"
#include "ledger/record.h"
#include "os/clock.h"
#include "view/revision_row.h"

typedef struct Entries {
    Arena arena;                    /* they, and what they refer to */
    AgendaEntry *items;             /* sorted */
    size_t count, capacity;
    size_t stale_count;             /* that were replaced or could not be used: the arena still has them */
    bool is_crowded;                /* there are more than it may have, of a tenant or of all */
    Str crowded;                    /* the tenant of which that was told last */
} Entries;

struct Agenda {
    Api *api;
    Entries entries;
    int64_t position;               /* of the newest record of the log that is in them; -1: they have to be read */
};

Agenda *agenda_new(Api *api)
{
    Agenda *agenda = calloc(1, sizeof *agenda);
    CHECK(agenda);
    *agenda = (Agenda){ .api = api, .position = -1 };
    arena_init(&agenda->entries.arena, SIZE_MAX);
    return agenda;
}

AgendaEntry *agenda_entries(Agenda *agenda, size_t *out_count)
{
    *out_count = agenda->entries.count;
    return agenda->entries.items;
}

/* --- telling ------------------------------------------------------------------------------------------------------------------------- */

void agenda_tell(const Api *api, LogLevel level, const AgendaEntry *entry, int64_t at_s, const char *message, Str why)
{
    LogLine line = log_begin(level, clock_realtime_ms(), message);
    log_text(&line, "tenant", entry->tenant);
    log_text(&line, "workflow", entry->workflow);
    if (entry->trigger != SCHEDULE_TRIGGER_ANY) log_number(&line, "trigger", entry->trigger);
    if (at_s) {
        char storage[64];
        Buf due = buf_on(storage, sizeof storage);
        civil_print_ms(&due, at_s * 1000);
        log_text(&line, "due", buf_peek(&due));
    }
    log_text(&line, "why", why);
    herald_line(api->herald, &line);
}

/* --- one workflow ----------------------------------------------------------------------------------------------------------------------- */

/* Where its entries begin, or would. */
static size_t place_of(const Entries *entries, Str tenant, Str workflow)
{
    size_t low = 0, high = entries->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = str_compare(entries->items[middle].tenant, tenant);
        if (!order) order = str_compare(entries->items[middle].workflow, workflow);
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* How many it has of a tenant, behind the place where they begin. */
static size_t count_of(const Entries *entries, Str tenant)
{
    size_t first = place_of(entries, tenant, STR("")), low = first, high = entries->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (str_is(entries->items[middle].tenant, tenant)) low = middle + 1;
        else high = middle;
    }
    return low - first;
}

/* Why there is no room for one more of the tenant; NULL: there is. */
static const char *fullness(const Entries *entries, Str tenant)
{
    if (count_of(entries, tenant) >= API_SCHEDULE_TENANT_MAX) return "its tenant has more than API_SCHEDULE_TENANT_MAX";
    return entries->count >= API_SCHEDULE_COUNT_MAX ? "there are more than API_SCHEDULE_COUNT_MAX" : NULL;
}

bool agenda_leaves_out(const Agenda *agenda, Str tenant, Str workflow, uint32_t trigger)
{
    const Entries *entries = &agenda->entries;
    if (!entries->is_crowded || !fullness(entries, tenant)) return false;
    for (size_t i = place_of(entries, tenant, workflow); i < entries->count && str_is(entries->items[i].tenant, tenant)
                                                         && str_is(entries->items[i].workflow, workflow); i++)
        if (entries->items[i].trigger == trigger) return false;
    return true;
}

static void remove_workflow(Entries *entries, Str tenant, Str workflow)
{
    size_t at = place_of(entries, tenant, workflow), end = at;
    while (end < entries->count && str_is(entries->items[end].tenant, tenant) && str_is(entries->items[end].workflow, workflow)) end++;
    if (end == at) return;
    memmove(&entries->items[at], &entries->items[end], (entries->count - end) * sizeof *entries->items);
    entries->count -= end - at;
    entries->stale_count += end - at;
}

static void insert(Entries *entries, size_t at, const AgendaEntry *entry)
{
    if (entries->count == entries->capacity)
        entries->items = arena_grow(&entries->arena, entries->items, sizeof *entries->items, entries->count, &entries->capacity);
    memmove(&entries->items[at + 1], &entries->items[at], (entries->count - at) * sizeof *entries->items);
    entries->items[at] = *entry;
    entries->count++;
}

/* What an entry keeps is copied: the row and its triggers are of one look. */
static bool make_entry(Agenda *agenda, Arena *arena, const Cell *row, uint32_t trigger, Value settings, int64_t after_s, AgendaEntry *out)
{
    const Value *payload = value_get_text(settings, "payload");
    Digest digest = cell_digest(&row[REVISIONS_digest]);
    ScheduleDesk desk = api_schedules(agenda->api);
    ScheduleNames names = schedule_names(&desk);
    Error err;
    *out = (AgendaEntry){ .tenant = arena_copy(arena, row[REVISIONS_tenant].text), .workflow = arena_copy(arena, row[REVISIONS_workflow_id].text),
                          .version = row[REVISIONS_version].integer, .trigger = trigger, .digest = digest_value(arena, &digest),
                          .payload = payload ? value_copy(arena, *payload) : value_null() };
    if (schedule_read(arena, value_copy(arena, settings), out->workflow, &names, &out->schedule, &err)) {
        agenda_tell(agenda->api, LOG_ERROR, out, 0, "a schedule is not followed", str_of(err.text));
        return false;
    }
    out->is_over = !schedule_next(&out->schedule, after_s, &out->next);
    return true;
}

/* Where all are read, in their order, the first of each tenant is told: see take_in(). */
static void leave_out(const Agenda *agenda, Entries *entries, const AgendaEntry *entry, const char *why)
{
    bool is_first = entries != &agenda->entries && (!entries->is_crowded || !str_is(entries->crowded, entry->tenant));
    entries->is_crowded = true;
    if (!is_first) return;
    entries->crowded = arena_copy(&entries->arena, entry->tenant);
    agenda_tell(agenda->api, LOG_ERROR, entry, 0, "a schedule is not followed", str_of(why));
}

/* In the place of what was there of it. What a row says that is damaged is told, and the others are followed. */
static Status read_workflow(Agenda *agenda, Entries *entries, Arena *scratch, Str tenant, Str workflow, int64_t after_s, Error *err)
{
    const Cell *row = NULL;
    Value triggers, settings;
    uint32_t trigger;
    AgendaEntry entry = { .tenant = tenant, .workflow = workflow, .trigger = SCHEDULE_TRIGGER_ANY };
    Status status = revision_triggers(scratch, agenda->api->store, tenant, workflow, &row, &triggers, err);
    if (status && status != ERR_CORRUPT) return status;
    remove_workflow(entries, tenant, workflow);
    if (status) agenda_tell(agenda->api, LOG_ERROR, &entry, 0, "the schedules of a workflow are not followed", str_of(err->text));
    if (status || !row) return OK;
    size_t at = place_of(entries, tenant, workflow);
    for (uint32_t from = 0; schedule_of_triggers(triggers, from, &trigger, &settings); from = trigger + 1) {
        const char *why = fullness(entries, tenant);
        if (why) {
            leave_out(agenda, entries, &(AgendaEntry){ .tenant = tenant, .workflow = workflow, .trigger = trigger }, why);
            return OK;
        }
        if (make_entry(agenda, &entries->arena, row, trigger, settings, after_s, &entry)) insert(entries, at++, &entry);
        else entries->stale_count++;
    }
    return OK;
}

/* --- all of them ------------------------------------------------------------------------------------------------------------------------- */

static Status read_all(Agenda *agenda, int64_t after_s, Error *err)
{
    Cell tenant = cell_text(STR("")), workflow = cell_text(STR(""));
    const Cell *row;
    Entries fresh = { 0 };
    Arena names, scratch;
    Status status;
    arena_init(&fresh.arena, SIZE_MAX);
    arena_init(&names, SIZE_MAX);
    arena_init(&scratch, SIZE_MAX);
    do {
        QueryAsk ask = { .query = QUERY_WORKFLOW_AFTER, .params = { tenant, workflow }, .param_count = 2 };
        row = NULL;
        status = row_select(&names, agenda->api->store, &ask, &row, err);
        if (status || !row) break;
        tenant = row[REVISIONS_tenant];
        workflow = row[REVISIONS_workflow_id];
        arena_reset(&scratch);
        status = read_workflow(agenda, &fresh, &scratch, tenant.text, workflow.text, after_s, err);
    } while (!status);
    arena_deinit(&names);
    arena_deinit(&scratch);
    Entries *gone = status ? &fresh : &agenda->entries;
    arena_deinit(&gone->arena);
    if (!status) agenda->entries = fresh;
    return status;
}

/* --- what has changed -------------------------------------------------------------------------------------------------------------------- */

typedef struct Name { Str tenant, workflow; } Name;
typedef struct Changes { Arena *arena; int64_t position; uint32_t seen; Map known; Name *names; size_t count, capacity; bool is_unreadable; } Changes;

static void add_name(Changes *changes, const Event *event)
{
    Str key = arena_format(changes->arena, "%.*s/%.*s", STR_ARG(event->tenant), STR_ARG(event->name));
    if (!map_add(&changes->known, key, 0, NULL)) return;
    if (changes->count == changes->capacity)
        changes->names = arena_grow(changes->arena, changes->names, sizeof *changes->names, changes->count, &changes->capacity);
    changes->names[changes->count++] = (Name){ arena_copy(changes->arena, event->tenant), arena_copy(changes->arena, event->name) };
}

static bool take_change(void *context, const Cell *cells, uint32_t count)
{
    Changes *changes = context;
    Record record;
    Error err;
    (void)count;
    changes->position = cells[LEDGER_position].integer;
    changes->seen++;
    changes->is_unreadable = record_decode_any(changes->arena, cells[LEDGER_record].text, &record, &err) != OK;
    for (uint32_t i = 0; !changes->is_unreadable && i < record.event_count; i++) {
        uint8_t kind = record.events[i].kind;
        if (kind == EVENT_REVISION_STORED || kind == EVENT_REVISION_ACTIVATED || kind == EVENT_REVISION_DEACTIVATED || kind == EVENT_REVISION_REMOVED)
            add_name(changes, &record.events[i]);
    }
    return !changes->is_unreadable;
}

/* Changes of revisions are records of the log itself, among others: skips of schedules are some. False where that cannot be told, or they are
 * very many. */
static bool find_changes(const Agenda *agenda, int64_t newest, Changes *changes)
{
    Error err;
    if (agenda->position < 0 || newest < agenda->position) return false;
    changes->position = agenda->position;
    for (uint32_t reads = 0; changes->position < newest; reads++) {
        QueryAsk ask = { .query = QUERY_LOG_RECORDS, .params = { cell_int(changes->position) }, .param_count = 1 };
        changes->seen = 0;
        if (reads == API_SCHEDULE_READ_COUNT || store_select(agenda->api->store, &ask, take_change, changes, &err)
            || changes->is_unreadable || !changes->seen)
            return false;
    }
    return true;
}

/* Which of too many are followed depends on all of them. */
static Status take_in(Agenda *agenda, Arena *arena, int64_t newest, int64_t after_s, Error *err)
{
    Entries *entries = &agenda->entries;
    Changes changes = { .arena = arena };
    map_init(&changes.known, arena, 0);
    if (!find_changes(agenda, newest, &changes)) return read_all(agenda, after_s, err);
    if (!changes.count) return OK;
    if (entries->is_crowded || entries->stale_count > entries->count + API_SCHEDULE_STALE_COUNT) return read_all(agenda, after_s, err);
    for (size_t i = 0; i < changes.count; i++) {
        Status status = read_workflow(agenda, entries, arena, changes.names[i].tenant, changes.names[i].workflow, after_s, err);
        if (status) return status;
    }
    return entries->is_crowded ? read_all(agenda, after_s, err) : OK;
}

void agenda_look(Agenda *agenda, int64_t after_s)
{
    Arena arena;
    const Cell *row = NULL;
    Error err;
    QueryAsk ask = { .query = QUERY_LOG_RECORD_LAST };
    arena_init(&arena, SIZE_MAX);
    Status status = row_select(&arena, agenda->api->store, &ask, &row, &err);
    int64_t newest = !status && row ? row[LEDGER_position].integer : 0;
    if (!status && newest != agenda->position) agenda->position = take_in(agenda, &arena, newest, after_s, &err) ? -1 : newest;
    arena_deinit(&arena);
}

void agenda_free(Agenda *agenda)
{
    if (!agenda) return;
    arena_deinit(&agenda->entries.arena);
    free(agenda);
}
