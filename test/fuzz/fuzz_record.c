/* Reads any bytes as a record. What is accepted is written again as the same record, shows itself as JSON, and has payloads
 * and events within their bounds; what is refused says why. */
#include <string.h>

#include "base/limits.h"
#include "fuzz/fuzz.h"
#include "ledger/record.h"
#include "value/json.h"

/* A record that knows fields which we do not, or was written by another encoder, may lose something; never a second time. */
static void check_again(Arena *arena, const Record *record)
{
    Record again, third;
    Buf bytes, more;
    buf_init(&bytes, SIZE_MAX);
    buf_init(&more, SIZE_MAX);
    static const uint8_t salt[SALT_SIZE];
    Str texts[4] = { STR("1"), STR("2"), STR("3"), STR("4") };
    if (record->payload_count <= 4) {
        Buf payload;
        buf_init(&payload, SIZE_MAX);
        record_encode(&record->head, record->events, record->event_count, texts, record->payload_count, salt, &bytes, &payload,
                      NULL);
        FUZZ_HOLDS(record_decode(arena, buf_peek(&bytes), &again, NULL) == OK);
        FUZZ_HOLDS(again.event_count == record->event_count);
        FUZZ_HOLDS(again.head.now_ms == record->head.now_ms);
        FUZZ_HOLDS(str_is(again.head.trace, record->head.trace));
        FUZZ_HOLDS(record_payload_size(&again) == payload.len);
        for (uint32_t i = 0; i < again.payload_count; i++) {
            Str text;
            FUZZ_HOLDS(record_payload(&again, buf_peek(&payload), i, &text, NULL) == OK);
            FUZZ_HOLDS(str_is(text, texts[i]));
        }
        buf_clear(&payload);
        record_encode(&again.head, again.events, again.event_count, texts, again.payload_count, salt, &more, &payload, NULL);
        FUZZ_HOLDS(record_decode(arena, buf_peek(&more), &third, NULL) == OK);
        FUZZ_HOLDS(str_is(buf_peek(&bytes), buf_peek(&more)));
        buf_deinit(&payload);
    }
    buf_deinit(&bytes);
    buf_deinit(&more);
}

/* Only fields of their kinds can be written again; others were put there by somebody else. */
static bool is_plain(const Record *record)
{
    for (uint32_t i = 0; i < record->event_count; i++) {
        const Event *event = &record->events[i];
#define STRAY_U32(member) (event->member != 0)
#define STRAY_U64(member) (event->member != 0)
#define STRAY_I64(member) (event->member != 0)
#define STRAY_TEXT(member) (event->member.len != 0)
#define STRAY_DIGEST(member) (event->member != NULL)
#define STRAY_PAYLOAD(member) (event->member != EVENT_NO_PAYLOAD)
#define FIELD(number, member, type, name) if (!event_has(event->kind, number) && STRAY_##type(member)) return false;
#include "../spec/events.def"
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str bytes = { (const char *)data, size };
    Arena arena;
    Record record, strict;
    Error err = { 0 };
    arena_init(&arena, SIZE_MAX);
    Status status = record_decode_any(&arena, bytes, &record, &err);
    if (status != OK) {
        FUZZ_HOLDS(err.text[0] != '\0');
        FUZZ_HOLDS(status == ERR_CORRUPT || status == ERR_UNAVAILABLE);
        FUZZ_HOLDS(record_decode(&arena, bytes, &strict, NULL) == status);
    } else {
        FUZZ_HOLDS(record.event_count > 0);
        FUZZ_HOLDS(record.event_count <= RECORD_EVENT_COUNT_MAX);
        FUZZ_HOLDS(record_payload_size(&record) <= RECORD_PAYLOAD_SIZE_MAX);
        FUZZ_HOLDS((record_decode(&arena, bytes, &strict, NULL) == OK) == (record.newer_kind == 0));
        Buf text;
        buf_init(&text, SIZE_MAX);
        FUZZ_HOLDS(json_print(&text, record_to_value(&arena, &record), JSON_COMPACT, &err) == OK);
        buf_deinit(&text);
        if (record.newer_kind == 0 && is_plain(&record)) check_again(&arena, &record);
    }
    arena_deinit(&arena);
    return 0;
}
