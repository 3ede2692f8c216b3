#include "ledger/fixture_test.h"

#include "base/check.h"
#include "base/limits.h"
#include "core/command.h"
#include "core/state.h"
#include "ledger/chain.h"

#define TRACE "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

static const char *const run_ids[FIXTURE_RUN_COUNT + 1] = { "", "Abcdefgh-0123456789_1", "Abcdefgi-0123456789_2",
                                                             "Abcdefgj-0123456789_3" };
static const Digest plan_digest = { { 0xAB, 1, 2, 3 } };
static const Digest policy_digest = { { 0xCD, 4, 5, 6 } };

void fixture_init(Fixture *fixture)
{
    *fixture = (Fixture){ .head.log = FIXTURE_LOG, .now_ms = FIXTURE_NOW_MS };
    arena_init(&fixture->arena, SIZE_MAX);
    for (uint32_t i = 0; i <= FIXTURE_RUN_COUNT; i++) fixture->runs[i] = (RunHead){ .run_no = i, .run_id = str_of(run_ids[i]) };
}

void fixture_deinit(Fixture *fixture)
{
    arena_deinit(&fixture->arena);
}

void fixture_add_bytes(Fixture *fixture, uint64_t run_no, uint32_t event_count, Str record, Str payload)
{
    CHECK(fixture->row_count < FIXTURE_ROW_COUNT_MAX);
    RunHead *run = &fixture->runs[run_no];
    LedgerRow *row = &fixture->rows[fixture->row_count++];
    *row = (LedgerRow){ .position = ++fixture->head.position, .run_no = run_no, .prev_position = run->last_position,
                        .first_event = run->event_count + 1, .event_count = event_count };
    row->record = arena_copy(&fixture->arena, record);
    row->payload = arena_copy(&fixture->arena, payload);
    row->hash = run->head = chain_record(&run->head, record);
    run->last_position = row->position;
    run->event_count += event_count;
    fixture->head.head = chain_log(&fixture->head.head, &row->hash);
    fixture->now_ms += 1500;
}

void fixture_add(Fixture *fixture, uint64_t run_no, const Event *events, uint32_t event_count, const Str *texts,
                 uint32_t text_count)
{
    uint8_t salt[SALT_SIZE];
    Buf record, payload;
    for (uint32_t i = 0; i < SALT_SIZE; i++) salt[i] = (uint8_t)(fixture->head.position * 16 + i);
    RecordHead head = { .log = FIXTURE_LOG, .position = fixture->head.position + 1, .run_id = fixture->runs[run_no].run_id,
                        .first_event = fixture->runs[run_no].event_count + 1, .now_ms = fixture->now_ms,
                        .actor = run_no == 1 ? STR("user:ana") : STR("executor:local"), .trace = run_no ? STR(TRACE) : STR("") };
    if (run_no == 2) head.policy = policy_digest;
    if (run_no == 3) head.rationale = STR("the nightly one"), head.command_id = STR("c-17");
    buf_init(&record, RECORD_SIZE_MAX);
    buf_init(&payload, RECORD_PAYLOAD_SIZE_MAX);
    record_encode(&head, events, event_count, texts, text_count, salt, &record, &payload, NULL);
    fixture_add_bytes(fixture, run_no, event_count, buf_peek(&record), buf_peek(&payload));
    buf_deinit(&record);
    buf_deinit(&payload);
}

static void add_start(Fixture *fixture, uint64_t run_no)
{
    const Event events[] = {
        { .kind = EVENT_RUN_CREATED, .tenant = STR("acme"), .name = STR("nightly"), .revision = 4, .digest = &plan_digest,
          .seed = UINT64_C(0xF123456789ABCDEF), .priority = 1, .source = STR("manual"), .due_ms = fixture->now_ms + 3600000 },
        { .kind = EVENT_RUN_DISPATCHED },
        { .kind = EVENT_RUN_RUNNING },
        { .kind = EVENT_STEP_READY, .step = 0, .last = 0 },
        { .kind = EVENT_STEP_DISPATCHED, .step = 0, .number = 1, .attempt = 1, .name = STR("local"), .payload = 1 },
        { .kind = EVENT_STEP_RUNNING, .step = 0, .due_ms = fixture->now_ms + 60000, .holder = 65537 },
    };
    const Str texts[] = { STR("{\"params\":{\"day\":\"2025-11-15\"}}"), STR("{\"rows\":[1,2,3]}") };
    fixture_add(fixture, run_no, events, 6, texts, 2);
}

static void add_step(Fixture *fixture, uint64_t run_no, uint32_t step)
{
    const Event events[] = {
        { .kind = EVENT_STEP_SUCCEEDED, .step = step },
        { .kind = EVENT_JOB_MOVED, .job = step, .state = RUN_SUCCEEDED, .payload = EVENT_NO_PAYLOAD },
        { .kind = EVENT_STEP_DISPATCHED, .step = step + 1, .number = step + 2, .attempt = 1, .name = STR("local"),
          .key = STR("k-1"), .payload = EVENT_NO_PAYLOAD },
        { .kind = EVENT_STEP_RUNNING, .step = step + 1, .holder = 65537, .lease_ms = fixture->now_ms + 30000 },
    };
    const Str texts[] = { STR("{\"done\":true}") };
    fixture_add(fixture, run_no, events, 4, texts, 1);
}

static void add_end(Fixture *fixture, uint64_t run_no, uint32_t step)
{
    const Event events[] = {
        { .kind = EVENT_STEP_FAILED, .step = step, .number = step + 1, .cause = CAUSE_TIMEOUT, .class_ = CLASS_TRANSIENT,
          .text = STR("no answer in 60 s"), .payload = EVENT_NO_PAYLOAD },
        { .kind = EVENT_RUN_FAILED, .step = step, .cause = CAUSE_TIMEOUT, .class_ = CLASS_TRANSIENT,
          .resolution = RESOLUTION_AWAITING_DECISION, .text = STR("no answer in 60 s") },
    };
    fixture_add(fixture, run_no, events, 2, NULL, 0);
}

void fixture_make(Fixture *fixture)
{
    const Event owner = { .kind = EVENT_OWNER_CHANGED, .count = 1, .text = STR("first owner") };
    const Event signal = { .kind = EVENT_SIGNAL_RECEIVED, .name = STR("go"), .sort = SIGNAL_APPROVAL, .source = STR("user:ben"),
                           .count = 1, .step = UINT32_MAX };
    const Str answer = STR("{\"ok\":true}");
    fixture_init(fixture);
    fixture_add(fixture, 0, &owner, 1, NULL, 0);
    add_start(fixture, 1);
    add_start(fixture, 2);
    add_step(fixture, 1, 0);
    add_start(fixture, 3);
    fixture_add(fixture, 1, &signal, 1, &answer, 1);
    add_step(fixture, 2, 0);
    add_end(fixture, 1, 1);
    const Event erased = { .kind = EVENT_PAYLOAD_ERASED, .count = 4, .text = STR("asked for by the customer") };
    fixture_add(fixture, 0, &erased, 1, NULL, 0);
    fixture->rows[3].payload = STR("");
    add_step(fixture, 3, 0);
    add_end(fixture, 3, 1);
}
