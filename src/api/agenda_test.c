#include "api/agenda.h"

#include <stdlib.h>

#include "api/api.h"
#include "base/check.h"
#include "base/limits.h"
#include "harness/test.h"
#include "ledger/record.h"

#define DAY_S 86400

/* A store that has workflows and a log, and counts what it is asked. */
typedef struct FakeWorkflow { Str tenant, name, triggers; int64_t version; } FakeWorkflow;       /* no version: none is active */
typedef struct Fake {
    Store port;
    Arena arena;
    Api *api;
    FakeWorkflow *workflows;            /* in their order */
    uint32_t workflow_count;
    Str *records;                       /* by position, from 1 */
    size_t record_count, record_capacity;
    uint32_t asked[QUERY_COUNT];
    bool is_broken;
} Fake;

static bool is_behind(const FakeWorkflow *it, Str tenant, Str name)
{
    int order = str_compare(it->tenant, tenant);
    return order ? order > 0 : str_compare(it->name, name) > 0;
}

static void give_workflow(const Fake *fake, const QueryAsk *ask, RowVisit visit, void *context)
{
    for (uint32_t i = 0; i < fake->workflow_count; i++) {
        const FakeWorkflow *it = &fake->workflows[i];
        Cell row[COLUMN_COUNT_MAX] = { [REVISIONS_tenant] = cell_text(it->tenant), [REVISIONS_workflow_id] = cell_text(it->name) };
        if (ask->query == QUERY_WORKFLOW_AFTER ? !is_behind(it, ask->params[0].text, ask->params[1].text)
                                               : !it->version || !str_is(it->tenant, ask->params[0].text)
                                                 || !str_is(it->name, ask->params[1].text))
            continue;
        row[REVISIONS_version] = cell_int(it->version);
        row[REVISIONS_triggers] = cell_text(it->triggers);
        (void)visit(context, row, COLUMN_COUNT_MAX);
        return;
    }
}

static Status fake_select(Store *store, const QueryAsk *ask, RowVisit visit, void *context, Error *err)
{
    Fake *fake = (Fake *)store;
    fake->asked[ask->query]++;
    if (fake->is_broken && ask->query == QUERY_REVISION_TRIGGERS) return error_set(err, ERR_UNAVAILABLE, "it does not answer");
    if (ask->query == QUERY_LOG_RECORD_LAST || ask->query == QUERY_LOG_RECORDS) {
        bool is_last = ask->query == QUERY_LOG_RECORD_LAST;
        size_t from = is_last ? fake->record_count - (fake->record_count > 0) : (size_t)ask->params[0].integer;
        for (size_t i = from, given = 0; i < fake->record_count && given < 256; i++, given++) {
            Cell row[COLUMN_COUNT_MAX] = { [LEDGER_position] = cell_int((int64_t)i + 1), [LEDGER_record] = cell_blob(fake->records[i]) };
            if (!visit(context, row, COLUMN_COUNT_MAX)) break;
        }
        return OK;
    }
    CHECK(ask->query == QUERY_WORKFLOW_AFTER || ask->query == QUERY_REVISION_TRIGGERS);       /* nothing else: no plan, no whole row */
    give_workflow(fake, ask, visit, context);
    return OK;
}

static const StoreOps fake_ops = { .select = fake_select };

static void fake_init(Fake *fake, uint32_t count)
{
    *fake = (Fake){ .port.ops = &fake_ops, .workflow_count = count, .api = calloc(1, sizeof *fake->api) };
    CHECK(fake->api);
    arena_init(&fake->arena, SIZE_MAX);
    *fake->api = (Api){ .store = &fake->port, .zones = zones_open(NULL) };
    fake->workflows = ARENA_ARRAY(&fake->arena, FakeWorkflow, count);
    for (uint32_t i = 0; i < count; i++)
        fake->workflows[i] = (FakeWorkflow){ STR("acme"), arena_format(&fake->arena, "w%05u", i),
                                             STR("[{\"manual\":true},{\"schedule\":\"0 1 * * *\"}]"), 1 };
}

static void fake_deinit(Fake *fake)
{
    zones_close(fake->api->zones);
    free(fake->api);
    arena_deinit(&fake->arena);
}

/* A record of the log that says so. */
static void note(Fake *fake, EventKind kind, uint32_t workflow)
{
    static const uint8_t salt[SALT_SIZE];
    Buf record, payload;
    Event event = { .kind = (uint8_t)kind, .tenant = fake->workflows[workflow].tenant, .name = fake->workflows[workflow].name,
                    .revision = (uint32_t)fake->workflows[workflow].version, .payload = EVENT_NO_PAYLOAD };
    RecordHead head = { .log = 1, .position = fake->record_count + 1, .first_event = 1, .actor = STR("user:ana") };
    if (kind == EVENT_OCCURRENCE_SKIPPED) event.revision = 0;
    buf_init(&record, RECORD_SIZE_MAX);
    buf_init(&payload, RECORD_SIZE_MAX);
    record_encode(&head, &event, 1, NULL, 0, salt, &record, &payload, NULL);
    if (fake->record_count == fake->record_capacity)
        fake->records = arena_grow(&fake->arena, fake->records, sizeof *fake->records, fake->record_count, &fake->record_capacity);
    fake->records[fake->record_count++] = arena_copy(&fake->arena, buf_peek(&record));
    buf_deinit(&record);
    buf_deinit(&payload);
}

/* How many rows of workflows a look reads. */
static uint32_t look(Fake *fake, Agenda *agenda)
{
    uint32_t before = fake->asked[QUERY_REVISION_TRIGGERS];
    agenda_look(agenda, DAY_S);
    return fake->asked[QUERY_REVISION_TRIGGERS] - before;
}

/* "w00000@1/1 w00002@3/0": which entries it has, with version and trigger. */
static Str list(Fake *fake, Agenda *agenda)
{
    Buf text;
    size_t count;
    const AgendaEntry *entries = agenda_entries(agenda, &count);
    buf_init(&text, SIZE_MAX);
    for (size_t i = 0; i < count; i++)
        buf_format(&text, "%s%.*s@%d/%u", i ? " " : "", STR_ARG(entries[i].workflow), (int)entries[i].version, entries[i].trigger);
    Str copy = arena_copy(&fake->arena, buf_peek(&text));
    buf_deinit(&text);
    return copy;
}

TEST(only_workflows_that_have_changed_are_read_again, "")
{
    Fake fake;
    size_t count;
    fake_init(&fake, 4);
    Agenda *agenda = agenda_new(fake.api);
    fake.workflows[2].version = 0;
    note(&fake, EVENT_REVISION_ACTIVATED, 0);
    EXPECT_INT(look(&fake, agenda), 4);
    EXPECT_STR(list(&fake, agenda), STR("w00000@1/1 w00001@1/1 w00003@1/1"));
    agenda_entries(agenda, &count)[0].next.at_s = 77;             /* where it has come to */
    ROW("nothing happened");
    EXPECT_INT(look(&fake, agenda), 0);
    ROW("something else happened");
    note(&fake, EVENT_OCCURRENCE_SKIPPED, 0);
    EXPECT_INT(look(&fake, agenda), 0);
    ROW("one is activated, one deactivated, one has another revision, told twice");
    fake.workflows[1].version = 0;
    note(&fake, EVENT_REVISION_DEACTIVATED, 1);
    fake.workflows[2].version = 1;
    note(&fake, EVENT_REVISION_ACTIVATED, 2);
    fake.workflows[3].version = 2;
    fake.workflows[3].triggers = STR("[{\"schedule\":\"0 2 * * *\"},{\"schedule\":{\"cron\":\"0 3 * * *\"}}]");
    note(&fake, EVENT_REVISION_STORED, 3);
    note(&fake, EVENT_REVISION_ACTIVATED, 3);
    EXPECT_INT(look(&fake, agenda), 3);
    EXPECT_STR(list(&fake, agenda), STR("w00000@1/1 w00002@1/1 w00003@2/0 w00003@2/1"));
    EXPECT_INT(agenda_entries(agenda, &count)[0].next.at_s, 77);
    EXPECT_INT(agenda_entries(agenda, &count)[3].next.at_s, DAY_S + 3 * 3600);
    ROW("the last of a workflow is removed");
    fake.workflows[0].version = 0;
    note(&fake, EVENT_REVISION_REMOVED, 0);
    EXPECT_INT(look(&fake, agenda), 1);
    EXPECT_STR(list(&fake, agenda), STR("w00002@1/1 w00003@2/0 w00003@2/1"));
    ROW("what cannot be used is left out, and what is damaged: not the others");
    fake.workflows[2].triggers = STR("[{\"schedule\":\"no cron\"},{\"schedule\":\"0 4 * * *\"}]");
    note(&fake, EVENT_REVISION_ACTIVATED, 2);
    fake.workflows[3].triggers = STR("{");
    note(&fake, EVENT_REVISION_ACTIVATED, 3);
    EXPECT_INT(look(&fake, agenda), 2);
    EXPECT_STR(list(&fake, agenda), STR("w00002@1/1"));
    agenda_free(agenda);
    fake_deinit(&fake);
}

TEST(what_cannot_be_read_stays_and_is_read_by_the_next_look, "")
{
    Fake fake;
    fake_init(&fake, 3);
    Agenda *agenda = agenda_new(fake.api);
    ROW("from the beginning");
    fake.is_broken = true;
    EXPECT_INT(look(&fake, agenda), 1);
    EXPECT_STR(list(&fake, agenda), STR(""));
    fake.is_broken = false;
    EXPECT_INT(look(&fake, agenda), 3);
    ROW("a change");
    fake.is_broken = true;
    fake.workflows[1].version = 2;
    note(&fake, EVENT_REVISION_ACTIVATED, 1);
    EXPECT_INT(look(&fake, agenda), 1);
    EXPECT_STR(list(&fake, agenda), STR("w00000@1/1 w00001@1/1 w00002@1/1"));
    fake.is_broken = false;
    EXPECT_INT(look(&fake, agenda), 3);
    EXPECT_STR(list(&fake, agenda), STR("w00000@1/1 w00001@2/1 w00002@1/1"));
    ROW("a record that cannot be read could have told anything");
    note(&fake, EVENT_OCCURRENCE_SKIPPED, 0);
    fake.records[fake.record_count - 1] = STR("x");
    EXPECT_INT(look(&fake, agenda), 3);
    EXPECT_INT(look(&fake, agenda), 0);
    agenda_free(agenda);
    fake_deinit(&fake);
}

TEST(of_very_many_changes_nobody_asks_which, "")
{
    Fake fake;
    fake_init(&fake, 3);
    Agenda *agenda = agenda_new(fake.api);
    EXPECT_INT(look(&fake, agenda), 3);
    for (uint32_t i = 0; i < 256 * API_SCHEDULE_READ_COUNT; i++) note(&fake, EVENT_OCCURRENCE_SKIPPED, 1);
    ROW("as many as are looked at");
    EXPECT_INT(look(&fake, agenda), 0);
    for (uint32_t i = 0; i <= 256 * API_SCHEDULE_READ_COUNT; i++) note(&fake, EVENT_OCCURRENCE_SKIPPED, 1);
    ROW("one more");
    EXPECT_INT(look(&fake, agenda), 3);
    agenda_free(agenda);
    fake_deinit(&fake);
}

TEST(what_was_replaced_does_not_pile_up, "")
{
    Fake fake;
    fake_init(&fake, 2);
    Agenda *agenda = agenda_new(fake.api);
    uint32_t read = look(&fake, agenda), all = 0;
    EXPECT_INT(read, 2);
    for (uint32_t i = 0; i < 10 * API_SCHEDULE_STALE_COUNT; i++) {
        fake.workflows[1].version++;
        note(&fake, EVENT_REVISION_ACTIVATED, 1);
        all += look(&fake, agenda) == 2;
    }
    EXPECT(all >= 8 && all <= 10);
    EXPECT_STR(list(&fake, agenda), arena_format(&fake.arena, "w00000@1/1 w00001@%d/1", (int)fake.workflows[1].version));
    agenda_free(agenda);
    fake_deinit(&fake);
}

TEST(of_too_many_of_a_tenant_the_first_are_followed_whichever_came_last, "")
{
    Fake fake;
    size_t count;
    fake_init(&fake, API_SCHEDULE_TENANT_MAX + 2);
    Agenda *agenda = agenda_new(fake.api);
    fake.workflows[0].version = fake.workflows[5].version = 0;
    (void)look(&fake, agenda);
    AgendaEntry *entries = agenda_entries(agenda, &count);
    EXPECT_INT(count, API_SCHEDULE_TENANT_MAX);
    EXPECT_STR(entries[count - 1].workflow, fake.workflows[API_SCHEDULE_TENANT_MAX + 1].name);
    ROW("one more, before the others: the last has no place any more");
    fake.workflows[0].version = 1;
    note(&fake, EVENT_REVISION_ACTIVATED, 0);
    (void)look(&fake, agenda);
    entries = agenda_entries(agenda, &count);
    EXPECT_INT(count, API_SCHEDULE_TENANT_MAX);
    EXPECT_STR(entries[0].workflow, fake.workflows[0].name);
    EXPECT_STR(entries[count - 1].workflow, fake.workflows[API_SCHEDULE_TENANT_MAX].name);
    ROW("where one makes room, it has it again");
    fake.workflows[7].version = 0;
    note(&fake, EVENT_REVISION_DEACTIVATED, 7);
    (void)look(&fake, agenda);
    entries = agenda_entries(agenda, &count);
    EXPECT_INT(count, API_SCHEDULE_TENANT_MAX);
    EXPECT_STR(entries[count - 1].workflow, fake.workflows[API_SCHEDULE_TENANT_MAX + 1].name);
    agenda_free(agenda);
    fake_deinit(&fake);
}

/* The first tenants have as many schedules as one may have and more, the last one has one. */
TEST(a_tenant_with_too_many_leaves_the_others_theirs, "F-109")
{
    enum { EACH = 64, FULL = API_SCHEDULE_TENANT_MAX / EACH };
    static const struct { const char *name; uint32_t crowds; size_t want; bool has_late; } rows[] = {
        { "one has too many", 1, API_SCHEDULE_TENANT_MAX + 1, true },
        { "so many have that the server has too many", API_SCHEDULE_COUNT_MAX / API_SCHEDULE_TENANT_MAX, API_SCHEDULE_COUNT_MAX, false },
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        Fake fake;
        Buf many;
        size_t count;
        ROW(rows[r].name);
        fake_init(&fake, rows[r].crowds * (FULL + 1) + 1);
        buf_init(&many, SIZE_MAX);
        for (uint32_t i = 0; i < EACH; i++) buf_text(&many, i ? ",{\"schedule\":\"0 1 * * *\"}" : "[{\"schedule\":\"0 1 * * *\"}");
        buf_char(&many, ']');
        for (uint32_t i = 0; i + 1 < fake.workflow_count; i++) {
            fake.workflows[i].tenant = arena_format(&fake.arena, "a%u", i / (FULL + 1));
            fake.workflows[i].triggers = buf_peek(&many);
        }
        fake.workflows[fake.workflow_count - 1].tenant = STR("late");
        Agenda *agenda = agenda_new(fake.api);
        (void)look(&fake, agenda);
        const AgendaEntry *entries = agenda_entries(agenda, &count);
        EXPECT_INT(count, rows[r].want);
        EXPECT_STR(entries[count - 1].tenant, rows[r].has_late ? STR("late") : entries[count - 1].tenant);
        Str first = fake.workflows[0].name, beyond = fake.workflows[FULL].name, last = fake.workflows[fake.workflow_count - 1].name;
        EXPECT(!agenda_leaves_out(agenda, STR("a0"), first, 0));
        EXPECT(agenda_leaves_out(agenda, STR("a0"), beyond, 0));
        EXPECT(agenda_leaves_out(agenda, STR("late"), last, 1) == !rows[r].has_late);
        agenda_free(agenda);
        buf_deinit(&many);
        fake_deinit(&fake);
    }
}
