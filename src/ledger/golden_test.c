/* Bytes that were written once and have to be read for ever: test/golden/ledger. No file there is ever changed; a kind of
 * event that is new gets a line of its own, which the failing test prints. */
#include <string.h>

#include "base/limits.h"
#include "harness/test.h"
#include "ledger/anchor.h"
#include "ledger/export.h"
#include "ledger/fixture_test.h"
#include "ledger/hex.h"
#include "value/json.h"

#define GOLDEN_DIR "test/golden/ledger/"

static const uint8_t salt[SALT_SIZE] = { 1, 2, 3 };
static const Digest digest = { { 7, 7, 7 } };

/* An event of that kind with everything that it may carry. */
static Event full_event(uint8_t kind)
{
    Event event = { .kind = kind, .payload = EVENT_NO_PAYLOAD };
#define FILL_U32(number, member) event.member = number == FIELD_step ? 7 : number == FIELD_last ? 9 : 1;
#define FILL_U64(number, member) event.member = (UINT64_C(1) << 33) + number;
#define FILL_I64(number, member) event.member = FIXTURE_NOW_MS + number * 1000;
#define FILL_TEXT(number, member) event.member = STR("text of " #number);
#define FILL_DIGEST(number, member) event.member = &digest;
#define FILL_PAYLOAD(number, member) event.member = 0;
#define FIELD(number, member, type, name) if (event_has(kind, number)) { FILL_##type(number, member) }
#include "../spec/events.def"
    return event;
}

/* {"event":"step-ready","record":"hex","shown":{...}} */
static void print_line(Arena *arena, Buf *line, Str bytes)
{
    Record record;
    Error err;
    REQUIRE_OK(record_decode(arena, bytes, &record, &err), &err);
    buf_format(line, "{\"event\":\"%s\",\"record\":\"", event_name(record.events[0].kind));
    buf_hex(line, (const uint8_t *)bytes.ptr, bytes.len);
    buf_text(line, "\",\"shown\":");
    REQUIRE_OK(json_print(line, record_to_value(arena, &record), JSON_COMPACT, &err), &err);
    buf_text(line, "}");
}

static void encode_kind(uint8_t kind, Buf *record, Buf *payload)
{
    const Event event = full_event(kind);
    const Str text = STR("{\"a\":1}");
    RecordHead head = { .log = 1, .position = kind, .run_id = STR("Abcdefgh-0123456789_1"), .first_event = 5,
                        .now_ms = FIXTURE_NOW_MS, .actor = STR("user:ana"), .rationale = STR("why"), .trace = STR("no traceparent"),
                        .command_id = STR("c-1"), .policy = digest };
    record_encode(&head, &event, 1, &text, 1, salt, record, payload, NULL);
}

TEST(every_kind_of_event_is_written_as_it_was_in_format_1, "proves: F-097")
{
    Str file = test_read_file(test_source_path(GOLDEN_DIR "events-1.jsonl"));
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    for (uint32_t kind = 1; kind < EVENT_KIND_END; kind++) {
        Buf record, payload, line;
        if (!event_name((uint8_t)kind)) continue;
        buf_init(&record, RECORD_SIZE_MAX);
        buf_init(&payload, RECORD_SIZE_MAX);
        buf_init(&line, RECORD_SIZE_MAX);
        encode_kind((uint8_t)kind, &record, &payload);
        print_line(&arena, &line, buf_peek(&record));
        test_expect(memmem(file.ptr, file.len, line.ptr, line.len) != NULL, __FILE__, __LINE__, "not a line of the file: %.*s",
                    STR_ARG(buf_peek(&line)));
        buf_deinit(&record);
        buf_deinit(&payload);
        buf_deinit(&line);
    }
    arena_deinit(&arena);
}

/* Also those of kinds that got fields since, which the other test would write differently today. */
TEST(every_golden_record_is_read_as_it_was_shown, "proves: F-097")
{
    Str file = test_read_file(test_source_path(GOLDEN_DIR "events-1.jsonl"));
    Arena arena;
    Error err;
    uint32_t count = 0;
    arena_init(&arena, SIZE_MAX);
    for (size_t at = 0, end; at < file.len; at = end + 1, count++) {
        Value value;
        Record record;
        end = str_find(file, '\n', at);
        REQUIRE_OK(json_parse(&arena, str_slice(file, at, end), &value, &err), &err);
        Str hex = value_get_string(value, "record", STR(""));
        uint8_t *bytes = arena_alloc(&arena, hex.len);
        REQUIRE(hex_read(hex, bytes, hex.len / 2));
        REQUIRE_OK(record_decode(&arena, (Str){ (const char *)bytes, hex.len / 2 }, &record, &err), &err);
        EXPECT(value_equals(record_to_value(&arena, &record), *value_get_text(value, "shown")));
    }
    EXPECT(count >= 39);
    arena_deinit(&arena);
}

TEST(the_ledger_of_format_1_is_written_as_it_was_and_verifies, "proves: F-097")
{
    Str file = test_read_file(test_source_path(GOLDEN_DIR "ledger-1.jsonl"));
    Fixture fixture;
    Exporter exporter;
    ExportCheck check;
    VerifyReport report;
    Error err;
    Buf again;
    fixture_make(&fixture);
    buf_init(&again, SIZE_MAX);
    export_init(&exporter);
    export_header(&exporter, &(ExportHeader){ .head = fixture.head, .now_ms = fixture.now_ms }, &again);
    for (uint32_t i = 0; i < fixture.row_count; i++) export_row(&exporter, &fixture.rows[i], &again);
    for (uint32_t i = 1; i <= FIXTURE_RUN_COUNT; i++) export_run(&exporter, &fixture.runs[i], &again);
    export_end(&exporter, &again);
    EXPECT_STR(file, buf_peek(&again));

    Anchor anchor;
    REQUIRE_OK(anchor_read(test_read_file(test_source_path(GOLDEN_DIR "anchor-1.json")), &anchor, &err), &err);
    EXPECT_OK(anchor_check(&anchor, NULL, &err), &err);
    export_check_init(&check, &(VerifyOptions){ .anchors = &anchor.at, .anchor_count = 1 });
    for (size_t at = 0, end; at < file.len; at = end + 1) {
        end = str_find(file, '\n', at);
        REQUIRE_OK(export_check_line(&check, str_slice(file, at, end), &err), &err);
    }
    REQUIRE_OK(export_check_end(&check, &report, &err), &err);
    EXPECT_INT(report.damage_count, 0);
    EXPECT_INT(report.record_count, 11);
    export_check_deinit(&check);
    export_deinit(&exporter);
    buf_deinit(&again);
    fixture_deinit(&fixture);
}
