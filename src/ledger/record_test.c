#include "ledger/record.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "harness/random.h"
#include "harness/test.h"

#define TRACE "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

static const uint8_t salt[SALT_SIZE] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
static const Digest plan_digest = { { 0xAB, 1, 2, 3 } };

/* What completing step 41 of a chain records: the next one is started in the same decision. */
static const Event chain_events[] = {
    { .kind = EVENT_STEP_SUCCEEDED, .step = 41, .payload = 0 },
    { .kind = EVENT_JOB_MOVED, .job = 41, .state = 5, .payload = EVENT_NO_PAYLOAD },
    { .kind = EVENT_STEP_READY, .step = 42, .payload = EVENT_NO_PAYLOAD },
    { .kind = EVENT_JOB_MOVED, .job = 42, .state = 2, .payload = EVENT_NO_PAYLOAD },
    { .kind = EVENT_STEP_DISPATCHED, .step = 42, .number = 43, .attempt = 1, .name = STR_INIT("local"),
      .payload = EVENT_NO_PAYLOAD },
    { .kind = EVENT_STEP_RUNNING, .step = 42, .due_ms = INT64_C(1763251200123) + 60000, .holder = UINT64_C(7) << 32 | 1,
      .payload = EVENT_NO_PAYLOAD },
};
static const Str chain_texts[] = { STR_INIT("{\"rows\":1000}") };

static RecordHead chain_head(void)
{
    return (RecordHead){ .log = 1, .position = 123456, .run_id = STR("AbCdEfGh-0123456789_z"), .first_event = 250,
                         .now_ms = INT64_C(1763251200123), .actor = STR("executor:local") };
}

static void encode(const RecordHead *head, const Event *events, uint32_t count, Buf *record, Buf *payload)
{
    buf_init(record, RECORD_SIZE_MAX);
    buf_init(payload, RECORD_PAYLOAD_SIZE_MAX);
    record_encode(head, events, count, chain_texts, 1, salt, record, payload, NULL);
}

static void expect_event(const Event *got, const Event *want)
{
    EXPECT_INT(got->kind, want->kind);
#define FIELD(number, member, type, name) EXPECT_##type(member);
#define EXPECT_U32(member) EXPECT_INT(got->member, want->member);
#define EXPECT_U64(member) EXPECT_INT(got->member, want->member);
#define EXPECT_I64(member) EXPECT_INT(got->member, want->member);
#define EXPECT_PAYLOAD(member) EXPECT_INT(got->member, want->member);
#define EXPECT_TEXT(member) EXPECT_STR(got->member, want->member);
#define EXPECT_DIGEST(member) \
    EXPECT((got->member == NULL) == (want->member == NULL)); \
    if (got->member && want->member) EXPECT(memcmp(got->member, want->member, sizeof(Digest)) == 0);
#include "../spec/events.def"
}

TEST(what_is_written_is_read_back, "proves: F-085 F-205")
{
    Arena arena;
    Record record;
    Error err;
    Buf bytes, payload;
    RecordHead head = chain_head();
    head.rationale = STR("the runner answered");
    head.trace = STR(TRACE);
    head.command_id = STR("cmd-1");
    head.policy = plan_digest;
    arena_init(&arena, SIZE_MAX);
    encode(&head, chain_events, 6, &bytes, &payload);
    REQUIRE_OK(record_decode(&arena, buf_peek(&bytes), &record, &err), &err);
    EXPECT_INT(record.head.format, RECORD_FORMAT);
    EXPECT_INT(record.head.log, 1);
    EXPECT_INT(record.head.position, 123456);
    EXPECT_STR(record.head.run_id, head.run_id);
    EXPECT_INT(record.head.first_event, 250);
    EXPECT_INT(record.head.now_ms, head.now_ms);
    EXPECT_STR(record.head.actor, head.actor);
    EXPECT_STR(record.head.rationale, head.rationale);
    EXPECT_STR(record.head.trace, head.trace);
    EXPECT_STR(record.head.command_id, head.command_id);
    EXPECT(memcmp(&record.head.policy, &head.policy, sizeof head.policy) == 0);
    EXPECT_INT(record.event_count, 6);
    for (uint32_t i = 0; i < 6; i++) expect_event(&record.events[i], &chain_events[i]);
    EXPECT_INT(record.payload_count, 1);
    Str text;
    REQUIRE_OK(record_payload(&record, buf_peek(&payload), 0, &text, &err), &err);
    EXPECT_STR(text, chain_texts[0]);
    buf_deinit(&bytes);
    buf_deinit(&payload);
    arena_deinit(&arena);
}

TEST(the_record_of_a_chain_step_is_small, "")
{
    Buf bytes, payload;
    RecordHead head = chain_head();
    encode(&head, chain_events, 6, &bytes, &payload);
    EXPECT_INT(bytes.len, 137);         /* of these, 32 are the digest of the payload and 22 the id of the run */
    buf_deinit(&bytes);
    buf_deinit(&payload);
}

/* --- what is kept exactly ------------------------------------------------------------------------------------------------ */

static Str any_text(Random *random, char *storage)
{
    static const char letters[] = "ab\0\xC3\xBC\n\"\x80z";
    uint32_t size = random_below(random, 4) ? random_below(random, 12) : random_below(random, 300);
    for (uint32_t i = 0; i < size; i++) storage[i] = letters[random_below(random, sizeof letters - 1)];
    return (Str){ storage, size };
}

static uint64_t any_number(Random *random)
{
    return random_next(random) >> random_below(random, 64);
}

static Event any_event(Random *random, Arena *arena, uint32_t payload_count)
{
    Event event = { .payload = EVENT_NO_PAYLOAD };
    do event.kind = (uint8_t)random_below(random, EVENT_KIND_END); while (!event_name(event.kind));
#define ANY_U32(member) event.member = (uint32_t)any_number(random);
#define ANY_U64(member) event.member = any_number(random);
#define ANY_I64(member) event.member = (int64_t)any_number(random);
#define ANY_TEXT(member) event.member = any_text(random, arena_bytes(arena, 300));
#define ANY_DIGEST(member) event.member = &plan_digest;
#define ANY_PAYLOAD(member) if (payload_count) event.member = random_below(random, payload_count);
#define FIELD(number, member, type, name) if (event_has(event.kind, number) && random_below(random, 3)) { ANY_##type(member) }
#include "../spec/events.def"
    return event;
}

TEST(whatever_events_hold_is_read_back, "proves: F-085")
{
    Random random = { 20251116 };
    for (uint32_t round = 0; round < 2000; round++) {
        Arena arena;
        Record record;
        Error err;
        Buf bytes, payload;
        Event events[20];
        Str texts[5];
        Payload payloads[5];
        arena_init(&arena, SIZE_MAX);
        uint32_t count = 1 + random_below(&random, 20), text_count = random_below(&random, 6);
        for (uint32_t i = 0; i < text_count; i++) texts[i] = any_text(&random, arena_bytes(&arena, 300));
        for (uint32_t i = 0; i < count; i++) events[i] = any_event(&random, &arena, text_count);
        RecordHead head = { .log = any_number(&random), .position = 1 + any_number(&random) / 4, .now_ms = (int64_t)any_number(&random),
                            .first_event = 1 + any_number(&random) / 4, .actor = any_text(&random, arena_bytes(&arena, 300)),
                            .trace = random_below(&random, 2) ? STR(TRACE) : STR("") };
        buf_init(&bytes, RECORD_SIZE_MAX);
        buf_init(&payload, RECORD_PAYLOAD_SIZE_MAX);
        record_encode(&head, events, count, texts, text_count, salt, &bytes, &payload, payloads);
        REQUIRE_OK(record_decode(&arena, buf_peek(&bytes), &record, &err), &err);
        EXPECT_INT(record.head.log, head.log);
        EXPECT_INT(record.head.now_ms, head.now_ms);
        EXPECT_STR(record.head.actor, head.actor);
        EXPECT_STR(record.head.trace, head.trace);
        REQUIRE(record.event_count == count && record.payload_count == text_count);
        for (uint32_t i = 0; i < count; i++) expect_event(&record.events[i], &events[i]);
        for (uint32_t i = 0; i < text_count; i++) {
            Str text;
            EXPECT(memcmp(&record.payloads[i], &payloads[i], sizeof payloads[i]) == 0);
            EXPECT_OK(record_payload(&record, buf_peek(&payload), i, &text, &err), &err);
            EXPECT_STR(text, texts[i]);
        }
        buf_deinit(&bytes);
        buf_deinit(&payload);
        arena_deinit(&arena);
    }
}

TEST(times_at_their_ends_and_before_the_record_are_kept, "")
{
    static const int64_t times[] = { INT64_MIN, INT64_MIN + 1, -1, 1, INT64_C(1763251200123), INT64_MAX };
    for (uint32_t i = 0; i < 6; i++) {
        for (uint32_t j = 0; j < 6; j++) {
            Arena arena;
            Record record;
            Error err;
            Buf bytes, payload;
            RecordHead head = chain_head();
            Event event = { .kind = EVENT_STEP_RUNNING, .due_ms = times[i], .lease_ms = times[5 - i] };
            head.now_ms = times[j];
            arena_init(&arena, SIZE_MAX);
            encode(&head, &event, 1, &bytes, &payload);
            REQUIRE_OK(record_decode(&arena, buf_peek(&bytes), &record, &err), &err);
            EXPECT_INT(record.events[0].due_ms, times[i]);
            EXPECT_INT(record.events[0].lease_ms, times[5 - i]);
            buf_deinit(&bytes);
            buf_deinit(&payload);
            arena_deinit(&arena);
        }
    }
}

TEST(a_trace_context_is_kept_as_it_was_given, "proves: F-085")
{
    static const struct { const char *name, *text; size_t size; } cases[] = {
        { "a traceparent takes 26 bytes", TRACE, 26 },
        { "of zeros", "00-00000000000000000000000000000000-0000000000000000-00", 26 },
        { "with capital letters", "00-4BF92F3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", 55 },
        { "of another version", "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", 55 },
        { "with a dash at the wrong place", "00-4bf92f3577b34da6a3ce929d0e0e47-3600f067aa0ba902b7-01", 55 },
        { "with something behind it", TRACE "-x", 57 },
        { "another text", "not a traceparent", 17 },
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena arena;
        Record record;
        Error err;
        Buf plain, bytes, payload;
        RecordHead head = chain_head();
        ROW(cases[i].name);
        arena_init(&arena, SIZE_MAX);
        encode(&head, chain_events, 6, &plain, &payload);
        buf_deinit(&payload);
        head.trace = str_of(cases[i].text);
        encode(&head, chain_events, 6, &bytes, &payload);
        EXPECT_INT(bytes.len - plain.len, cases[i].size + 2);
        REQUIRE_OK(record_decode(&arena, buf_peek(&bytes), &record, &err), &err);
        EXPECT_STR(record.head.trace, head.trace);
        buf_deinit(&plain);
        buf_deinit(&bytes);
        buf_deinit(&payload);
        arena_deinit(&arena);
    }
}

/* --- refusals ------------------------------------------------------------------------------------------------------------- */

static Status decode(const void *bytes, size_t size, Error *err)
{
    Arena arena;
    Record record;
    *err = (Error){ 0 };
    arena_init(&arena, SIZE_MAX);
    Status status = record_decode(&arena, (Str){ bytes, size }, &record, err);
    arena_deinit(&arena);
    return status;
}

TEST(every_record_cut_short_is_refused_or_has_fewer_events, "")
{
    Arena arena;
    Record record;
    Error err;
    Buf bytes, payload;
    RecordHead head = chain_head();
    arena_init(&arena, SIZE_MAX);
    encode(&head, chain_events, 6, &bytes, &payload);
    uint32_t whole = 0;
    for (size_t size = 0; size < bytes.len; size++) {
        Status status = record_decode(&arena, str_slice(buf_peek(&bytes), 0, size), &record, &err);
        EXPECT(status == OK ? record.event_count < 6 : status == ERR_CORRUPT);
        whole += status == OK;
    }
    EXPECT_INT(whole, 5);               /* after each event but the last: the chain finds that, not the codec */
    buf_deinit(&bytes);
    buf_deinit(&payload);
    arena_deinit(&arena);
}

#define RECORD_START "\x01\x01\x01\x00\x01\x02"      /* format, log, position, no run, first event, time */

TEST(bytes_that_are_no_record_are_refused_with_the_place, "")
{
    static const struct { const char *name, *bytes; size_t size; Status want; const char *says; } cases[] = {
#define CASE(name, bytes, want, says) { name, bytes, sizeof(bytes) - 1, want, says }
        CASE("nothing", "", ERR_CORRUPT, "damaged at byte 0: it ends inside a number"),
        CASE("no format", "\x00\x01", ERR_CORRUPT, "damaged at byte 1: it has no format"),
        CASE("a newer format", "\x02\x01", ERR_UNAVAILABLE, "format 2: written by a newer maestro"),
        CASE("a position of 0", "\x01\x01\x00\x00\x01\x02\x00\x00\x02\x00", ERR_CORRUPT, "its position is out of range"),
        CASE("a first event of 0", "\x01\x01\x01\x00\x00\x02\x00\x00\x02\x00", ERR_CORRUPT, "its first event is out of range"),
        CASE("a run without an id", "\x01\x01\x01\x03\x61\x62\x63\x01\x02\x00\x00\x02\x00", ERR_CORRUPT, "its run has no valid id"),
        CASE("no events", RECORD_START "\x00\x00", ERR_CORRUPT, "it has no events"),
        CASE("a longer number than needed", "\x01\x81\x00", ERR_CORRUPT, "not in its shortest form"),
        CASE("a number beyond 64 bits", "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", ERR_CORRUPT, "a number is too large"),
        CASE("a number without an end", "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", ERR_CORRUPT, "a number is too large"),
        CASE("a text longer than the record", RECORD_START "\x03\x7f\x61", ERR_CORRUPT, "it ends inside a text"),
        CASE("an actor that is a number", RECORD_START "\x02\x05\x00\x00\x02\x00", ERR_CORRUPT, "a field has the wrong type"),
        CASE("a policy of 2 bytes", RECORD_START "\x0b\x02\x61\x62\x00\x00\x02\x00", ERR_CORRUPT, "does not have 32 bytes"),
        CASE("fields out of order", RECORD_START "\x05\x00\x03\x00\x00\x00\x02\x00", ERR_CORRUPT, "its fields are not in order"),
        CASE("a field twice", RECORD_START "\x03\x00\x03\x00\x00\x00\x02\x00", ERR_CORRUPT, "its fields are not in order"),
        CASE("more payloads than bytes", RECORD_START "\x00\x7f\x02\x00", ERR_CORRUPT, "it has too many payloads"),
        CASE("an event without a kind", RECORD_START "\x00\x00\x00\x00", ERR_CORRUPT, "an event has no kind"),
        CASE("a kind beyond 127", RECORD_START "\x00\x00\xff\x00", ERR_CORRUPT, "an event has no kind"),
        CASE("a kind of a newer maestro", RECORD_START "\x00\x00\x7f\x02\x05\x00", ERR_UNAVAILABLE, "an event of kind 127"),
        CASE("a step that is a text", RECORD_START "\x00\x00\x1e\x03\x00\x00", ERR_CORRUPT, "a field has the wrong type"),
        CASE("a step beyond 32 bits", RECORD_START "\x00\x00\x1e\x02\xff\xff\xff\xff\x7f\x00", ERR_CORRUPT, "too large"),
        CASE("a payload that is not there", RECORD_START "\x00\x00\x06\x26\x00\x00", ERR_CORRUPT, "a payload that is not there"),
        CASE("an event without an end", RECORD_START "\x00\x00\x02", ERR_CORRUPT, "it ends inside a number"),
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Error err;
        ROW(cases[i].name);
        EXPECT_INT(decode(cases[i].bytes, cases[i].size, &err), cases[i].want);
        EXPECT(strstr(err.text, cases[i].says) != NULL);
    }
}

TEST(what_a_newer_maestro_added_is_passed_over, "")
{
    /* A head field 9 of bytes and a number 10; in the event, a field 60 of bytes and a number 61; then a known step 5. */
    static const char bytes[] = RECORD_START "\x13\x01\x61\x14\x07\x00\x00\x1e\x02\x05\x79\x02\x61\x62\x7a\x09\x00";
    Arena arena;
    Record record;
    Error err;
    arena_init(&arena, SIZE_MAX);
    REQUIRE_OK(record_decode(&arena, (Str){ bytes, sizeof bytes - 1 }, &record, &err), &err);
    EXPECT_INT(record.event_count, 1);
    EXPECT_INT(record.events[0].kind, EVENT_STEP_READY);
    EXPECT_INT(record.events[0].step, 5);
    arena_deinit(&arena);
}

TEST(a_kind_of_a_newer_maestro_is_kept_for_those_who_show, "")
{
    static const char bytes[] = RECORD_START "\x00\x00\x7f\x02\x05\x00\x1e\x02\x06\x00";
    Arena arena;
    Record record;
    Error err;
    arena_init(&arena, SIZE_MAX);
    REQUIRE_OK(record_decode_any(&arena, (Str){ bytes, sizeof bytes - 1 }, &record, &err), &err);
    EXPECT_INT(record.newer_kind, 127);
    EXPECT_INT(record.event_count, 2);
    EXPECT_STR(value_get_string(event_to_value(&arena, &record.events[0], 1), "event", STR("")), STR("kind-127"));
    EXPECT_STR(value_get_string(event_to_value(&arena, &record.events[1], 2), "event", STR("")), STR("step-ready"));
    arena_deinit(&arena);
}

TEST(more_events_or_bytes_than_the_limit_are_refused, "")
{
    Error err;
    size_t size = RECORD_SIZE_MAX + 1;
    char *bytes = calloc(1, size);
    REQUIRE(bytes != NULL);
    memcpy(bytes, RECORD_START "\x00\x00", sizeof RECORD_START + 1);
    EXPECT_INT(decode(bytes, size, &err), ERR_CORRUPT);
    EXPECT(strstr(err.text, "RECORD_SIZE_MAX") != NULL);
    for (uint32_t i = 0; i <= RECORD_EVENT_COUNT_MAX; i++) memcpy(bytes + sizeof RECORD_START + 1 + 2 * i, "\x02", 2);
    EXPECT_INT(decode(bytes, sizeof RECORD_START + 1 + 2 * RECORD_EVENT_COUNT_MAX, &err), OK);
    EXPECT_INT(decode(bytes, sizeof RECORD_START + 1 + 2 * (RECORD_EVENT_COUNT_MAX + 1), &err), ERR_CORRUPT);
    EXPECT(strstr(err.text, "too many events") != NULL);
    free(bytes);
}

TEST(payloads_are_erased_or_damaged_or_there, "proves: F-097")
{
    Arena arena;
    Record record;
    Error err;
    Str text = STR("untouched");
    Buf bytes, payload;
    RecordHead head = chain_head();
    arena_init(&arena, SIZE_MAX);
    encode(&head, chain_events, 6, &bytes, &payload);
    REQUIRE_OK(record_decode(&arena, buf_peek(&bytes), &record, &err), &err);
    EXPECT_INT(record_payload_size(&record), payload.len);
    EXPECT_INT(record_payload(&record, STR(""), 0, &text, &err), ERR_NOT_FOUND);
    EXPECT_STR(str_of(err.text), STR("the payloads of record 123456 were erased"));
    EXPECT_INT(record_payload(&record, str_slice(buf_peek(&payload), 0, payload.len - 1), 0, &text, &err), ERR_CORRUPT);
    for (size_t at = 0; at < payload.len; at++) {
        payload.ptr[at] ^= 4;
        EXPECT_INT(record_payload(&record, buf_peek(&payload), 0, &text, &err), ERR_CORRUPT);
        payload.ptr[at] ^= 4;
    }
    EXPECT_STR(text, STR("untouched"));
    EXPECT_INT(record_payload(&record, buf_peek(&payload), 0, &text, &err), OK);
    buf_deinit(&bytes);
    buf_deinit(&payload);
    arena_deinit(&arena);
}

/* The same payload has another digest each time: nobody can compare or guess what was erased. */
TEST(digests_of_payloads_depend_on_the_salt, "proves: F-097")
{
    static const uint8_t other[SALT_SIZE] = { 9 };
    Buf record, payload;
    Payload first, second;
    RecordHead head = chain_head();
    buf_init(&record, RECORD_SIZE_MAX);
    buf_init(&payload, RECORD_PAYLOAD_SIZE_MAX);
    record_encode(&head, chain_events, 6, chain_texts, 1, salt, &record, &payload, &first);
    record_encode(&head, chain_events, 6, chain_texts, 1, other, &record, &payload, &second);
    EXPECT(memcmp(&first.digest, &second.digest, sizeof first.digest) != 0);
    buf_deinit(&record);
    buf_deinit(&payload);
}

TEST(a_full_buffer_shows_that_a_record_did_not_fit, "")
{
    char small[64], storage[256];
    Buf record = buf_on(small, sizeof small), payload = buf_on(storage, sizeof storage);
    RecordHead head = chain_head();
    record_encode(&head, chain_events, 6, chain_texts, 1, salt, &record, &payload, NULL);
    EXPECT(buf_overflowed(&record));
    EXPECT(!buf_overflowed(&payload));
}

/* --- for readers ----------------------------------------------------------------------------------------------------------- */

TEST(texts_that_are_no_utf8_are_shown_mended, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Event event = { .kind = EVENT_RUN_PAUSED, .text = STR("a\xFFz\xC3") };
    Value value = event_to_value(&arena, &event, 1);
    EXPECT_STR(value_get_string(value, "message", STR("")), STR("a\xEF\xBF\xBDz\xEF\xBF\xBD"));
    arena_deinit(&arena);
}

TEST(numbers_without_a_name_are_shown_as_numbers, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Event failed = { .kind = EVENT_RUN_FAILED, .cause = 9999, .class_ = 99, .resolution = 99, .step = UINT32_MAX };
    Value value = event_to_value(&arena, &failed, 1);
    EXPECT_INT(value_get_int(value, "cause", 0), 9999);
    EXPECT_INT(value_get_int(value, "class", 0), 99);
    EXPECT_INT(value_get_int(value, "resolution", 0), 99);
    EXPECT(value_get_text(value, "step") == NULL);
    Event verdict = { .kind = EVENT_VERDICT, .sort = 1, .payload = EVENT_NO_PAYLOAD };
    EXPECT_STR(value_get_string(event_to_value(&arena, &verdict, 1), "kind", STR("")), STR("step-dispatch"));
    arena_deinit(&arena);
}
