#include "ledger/record.h"

#include <inttypes.h>
#include <sodium/crypto_generichash.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "ledger/hex.h"

/* --- tables -------------------------------------------------------------------------------------------------------- */

typedef enum FieldType { TYPE_NONE, TYPE_U32, TYPE_U64, TYPE_I64, TYPE_TEXT, TYPE_DIGEST, TYPE_PAYLOAD } FieldType;

typedef struct FieldRow { uint8_t type; uint16_t offset; } FieldRow;
typedef struct KindRow { const char *name; uint64_t fields; } KindRow;      /* a bit for each field */

static const FieldRow field_rows[FIELD_END] = {
#define FIELD(number, member, type, name) [number] = { TYPE_##type, offsetof(Event, member) },
#include "../spec/events.def"
};
static_assert(EVENT_KIND_END <= 128, "a kind is one byte, and a number too");
static_assert(FIELD_END <= 64, "the fields of a kind are bits of one word");

#define F(member) (UINT64_C(1) << FIELD_##member)
static const KindRow kind_rows[EVENT_KIND_END] = {
#define EVENT(number, NAME, name, fields) [number] = { name, fields },
#include "../spec/events.def"
};
#undef F

typedef enum HeadField { HEAD_ACTOR = 1, HEAD_RATIONALE, HEAD_TRACE, HEAD_COMMAND, HEAD_POLICY, HEAD_STATE, HEAD_END } HeadField;

static const uint16_t head_offsets[HEAD_END] = {
    [HEAD_ACTOR] = offsetof(RecordHead, actor),     [HEAD_RATIONALE] = offsetof(RecordHead, rationale),
    [HEAD_TRACE] = offsetof(RecordHead, trace),     [HEAD_COMMAND] = offsetof(RecordHead, command_id),
    [HEAD_POLICY] = offsetof(RecordHead, policy),   [HEAD_STATE] = offsetof(RecordHead, tracestate),
};

/* What follows a tag. */
typedef enum Wire { WIRE_NUMBER, WIRE_BYTES } Wire;

/* A traceparent of version 00, as text and as bytes: version, trace id, span id, flags. */
#define TRACE_TEXT_SIZE 55u
#define TRACE_SIZE 26u

const char *event_name(uint8_t kind)
{
    return kind < EVENT_KIND_END ? kind_rows[kind].name : NULL;
}

bool event_has(uint8_t kind, EventField field)
{
    return kind < EVENT_KIND_END && (kind_rows[kind].fields >> field & 1);
}

/* --- numbers ------------------------------------------------------------------------------------------------------- */

static inline uint64_t zigzag(uint64_t number) { return number << 1 ^ (0 - (number >> 63)); }
static inline uint64_t zigzag_back(uint64_t number) { return number >> 1 ^ (0 - (number & 1)); }

/* Small things are gathered here and given to the buffer together: a record is some forty numbers, and asking the buffer
 * for room at every byte would cost more than hashing them. */
typedef struct Pen {
    Buf *buf;
    size_t len;
    char bytes[256];
} Pen;

#define NUMBER_SIZE_MAX 10u         /* 64 bits in groups of seven */

static void pen_flush(Pen *pen)
{
    buf_bytes(pen->buf, pen->bytes, pen->len);
    pen->len = 0;
}

static inline void put_number(Pen *pen, uint64_t number)
{
    if (pen->len > sizeof pen->bytes - NUMBER_SIZE_MAX) pen_flush(pen);
    size_t len = pen->len;
    for (; number > 127; number >>= 7) pen->bytes[len++] = (char)(number | 128);
    pen->bytes[len++] = (char)number;
    pen->len = len;
}

static inline void put_tag(Pen *pen, uint32_t field, Wire wire)
{
    put_number(pen, (uint64_t)field << 1 | wire);
}

/* Without its length. */
static void put_raw(Pen *pen, const void *bytes, size_t size)
{
    if (size > sizeof pen->bytes - pen->len) pen_flush(pen);
    if (size > sizeof pen->bytes) {
        buf_bytes(pen->buf, bytes, size);
    } else if (size > 0) {
        memcpy(pen->bytes + pen->len, bytes, size);
        pen->len += size;
    }
}

static void put_bytes(Pen *pen, Str bytes)
{
    put_number(pen, bytes.len);
    put_raw(pen, bytes.ptr, bytes.len);
}

/* --- traceparents -------------------------------------------------------------------------------------------------- */

/* False where the text is anything else than a traceparent of version 00: it is kept as it is then. */
static bool trace_pack(Str text, uint8_t out[TRACE_SIZE])
{
    static const char form[] = "00-................................-................-..";
    if (text.len != TRACE_TEXT_SIZE) return false;
    uint32_t digit_count = 0;
    memset(out, 0, TRACE_SIZE);
    for (uint32_t i = 0; i < TRACE_TEXT_SIZE; i++) {
        int digit = hex_digit(text.ptr[i]);
        if (form[i] != '.' && text.ptr[i] != form[i]) return false;
        if (form[i] == '-') continue;
        if (digit < 0) return false;
        out[digit_count / 2] = (uint8_t)(out[digit_count / 2] << 4 | digit);
        digit_count++;
    }
    return true;
}

static Str trace_unpack(Arena *arena, const uint8_t *bytes)
{
    char *text = arena_bytes(arena, TRACE_TEXT_SIZE);
    Buf buf = buf_on(text, TRACE_TEXT_SIZE);
    static const uint8_t part_ends[] = { 1, 17, 25, 26 };
    for (uint32_t part = 0, at = 0; part < 4; at = part_ends[part++]) {
        if (part > 0) buf_char(&buf, '-');
        buf_hex(&buf, bytes + at, part_ends[part] - at);
    }
    return buf_peek(&buf);
}

/* --- writing ------------------------------------------------------------------------------------------------------- */

static void put_head_text(Pen *pen, HeadField field, Str text)
{
    if (text.len == 0) return;
    put_tag(pen, field, WIRE_BYTES);
    put_bytes(pen, text);
}

static void put_head(Pen *pen, const RecordHead *head)
{
    static const Digest none = { { 0 } };
    uint8_t trace[TRACE_SIZE];
    put_number(pen, RECORD_FORMAT);
    put_number(pen, head->log);
    put_number(pen, head->position);
    put_bytes(pen, head->run_id);
    put_number(pen, head->first_event);
    put_number(pen, zigzag((uint64_t)head->now_ms));
    put_head_text(pen, HEAD_ACTOR, head->actor);
    put_head_text(pen, HEAD_RATIONALE, head->rationale);
    put_head_text(pen, HEAD_TRACE, trace_pack(head->trace, trace) ? (Str){ (const char *)trace, sizeof trace } : head->trace);
    put_head_text(pen, HEAD_COMMAND, head->command_id);
    if (memcmp(&head->policy, &none, sizeof none) != 0)
        put_head_text(pen, HEAD_POLICY, (Str){ (const char *)head->policy.bytes, DIGEST_SIZE });
    put_head_text(pen, HEAD_STATE, head->tracestate);
    put_number(pen, 0);
}

static Digest payload_digest(Str text, const uint8_t salt[SALT_SIZE])
{
    Digest digest;
    crypto_generichash(digest.bytes, DIGEST_SIZE, (const uint8_t *)text.ptr, text.len, salt, SALT_SIZE);
    return digest;
}

static void put_payloads(Pen *pen, Buf *payload, const Str *texts, uint32_t count, const uint8_t salt[SALT_SIZE],
                         Payload *out_payloads)
{
    uint32_t offset = 0;
    put_number(pen, count);
    if (count > 0) buf_bytes(payload, salt, SALT_SIZE);
    for (uint32_t i = 0; i < count; i++) {
        CHECK(texts[i].len <= RECORD_PAYLOAD_SIZE_MAX - SALT_SIZE - offset);
        Payload entry = { offset, (uint32_t)texts[i].len, payload_digest(texts[i], salt) };
        put_number(pen, entry.size);
        put_raw(pen, entry.digest.bytes, DIGEST_SIZE);
        buf_str(payload, texts[i]);
        offset += entry.size;
        if (out_payloads) out_payloads[i] = entry;
    }
}

static inline const void *event_member(const Event *event, uint32_t field)
{
    return (const char *)event + field_rows[field].offset;
}

/* The fields that hold something a reader would miss, a bit each. Zero and empty need not be written; UINT32_MAX is "no
 * step", written only by kinds that have one; a zeroed event names payload 0 without meaning it, so the kind decides. */
static uint64_t event_fields_set(const Event *event)
{
    uint64_t set = 0;
#define SET_U32(member) (event->member != 0)
#define SET_U64(member) (event->member != 0)
#define SET_I64(member) (event->member != 0)
#define SET_TEXT(member) (event->member.len != 0)
#define SET_DIGEST(member) (event->member != NULL)
#define SET_PAYLOAD(member) (event->member != EVENT_NO_PAYLOAD)
#define FIELD(number, member, type, name) set |= (uint64_t)SET_##type(member) << number;
#include "../spec/events.def"
    return set;
}

/* Fields that the kind does not have, and that nothing was meant to be in. */
static bool event_field_is_idle(const Event *event, uint32_t field)
{
    return field == FIELD_payload || (field == FIELD_step && event->step == UINT32_MAX);
}

static void put_field(Pen *pen, const Event *event, uint32_t field, int64_t now_ms)
{
    const void *member = event_member(event, field);
    switch ((FieldType)field_rows[field].type) {
    case TYPE_U32:
    case TYPE_PAYLOAD:
        put_tag(pen, field, WIRE_NUMBER);
        put_number(pen, *(const uint32_t *)member);
        break;
    case TYPE_U64:
        put_tag(pen, field, WIRE_NUMBER);
        put_number(pen, *(const uint64_t *)member);
        break;
    case TYPE_I64:
        put_tag(pen, field, WIRE_NUMBER);
        put_number(pen, zigzag((uint64_t)*(const int64_t *)member - (uint64_t)now_ms));
        break;
    case TYPE_TEXT:
        put_tag(pen, field, WIRE_BYTES);
        put_bytes(pen, *(const Str *)member);
        break;
    case TYPE_DIGEST:
        put_tag(pen, field, WIRE_BYTES);
        put_bytes(pen, (Str){ *(const char *const *)member, DIGEST_SIZE });
        break;
    case TYPE_NONE: break;
    }
}

static void put_event(Pen *pen, const Event *event, uint32_t text_count, int64_t now_ms)
{
    CHECK(event_name(event->kind) != NULL);
    uint64_t has = kind_rows[event->kind].fields, set = event_fields_set(event);
    for (uint64_t extra = set & ~has; extra; extra &= extra - 1)
        CHECK(event_field_is_idle(event, (uint32_t)__builtin_ctzll(extra)));
    set &= has;
    CHECK(!(set >> FIELD_payload & 1) || event->payload < text_count);
    put_number(pen, event->kind);
    for (; set; set &= set - 1) put_field(pen, event, (uint32_t)__builtin_ctzll(set), now_ms);
    put_number(pen, 0);
}

void record_encode(const RecordHead *head, const Event *events, uint32_t event_count, const Str *texts, uint32_t text_count,
                   const uint8_t salt[SALT_SIZE], Buf *record, Buf *payload, Payload *out_payloads)
{
    CHECK(event_count > 0);
    CHECK(event_count <= RECORD_EVENT_COUNT_MAX);
    CHECK(text_count <= RECORD_PAYLOAD_COUNT_MAX);
    CHECK(head->run_id.len == 0 || id_is_valid(head->run_id));
    CHECK(head->position > 0);
    CHECK(head->first_event > 0);
    Pen pen;
    pen.buf = record;
    pen.len = 0;
    put_head(&pen, head);
    put_payloads(&pen, payload, texts, text_count, salt, out_payloads);
    for (uint32_t i = 0; i < event_count; i++) put_event(&pen, &events[i], text_count, head->now_ms);
    pen_flush(&pen);
}

/* --- reading ------------------------------------------------------------------------------------------------------- */

/* The first thing that is wrong is remembered; what is read after it is zero and empty. */
typedef struct Reader {
    const uint8_t *bytes;
    size_t at, size;
    const char *wrong;              /* NULL: nothing so far */
    size_t wrong_at;
} Reader;

static void reader_refuse(Reader *reader, const char *wrong)
{
    if (reader->wrong) return;
    reader->wrong = wrong;
    reader->wrong_at = reader->at;
    reader->at = reader->size;
}

static uint64_t take_number(Reader *reader)
{
    uint64_t number = 0;
    for (uint32_t shift = 0; shift < 64; shift += 7) {
        if (reader->at == reader->size) {
            reader_refuse(reader, "it ends inside a number");
            return 0;
        }
        uint8_t byte = reader->bytes[reader->at++];
        if (shift == 63 && byte > 1) break;
        number |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            if (byte != 0 || shift == 0) return number;
            reader_refuse(reader, "a number is not in its shortest form");
            return 0;
        }
    }
    reader_refuse(reader, "a number is too large");
    return 0;
}

static uint32_t take_u32(Reader *reader)
{
    uint64_t number = take_number(reader);
    if (number <= UINT32_MAX) return (uint32_t)number;
    reader_refuse(reader, "a number is too large");
    return 0;
}

static Str take_size(Reader *reader, uint64_t size)
{
    if (size > reader->size - reader->at) {
        reader_refuse(reader, "it ends inside a text");
        return (Str){ NULL, 0 };
    }
    Str bytes = { (const char *)reader->bytes + reader->at, (size_t)size };
    reader->at += (size_t)size;
    return bytes;
}

static Str take_bytes(Reader *reader)
{
    return take_size(reader, take_number(reader));
}

/* The next tag of a list, which has to be above the one before; false at its end. */
static bool take_tag(Reader *reader, uint64_t *field, Wire *out_wire)
{
    uint64_t tag = take_number(reader);
    if (tag == 0) return false;
    if (tag >> 1 <= *field) {
        reader_refuse(reader, "its fields are not in order");
        return false;
    }
    *field = tag >> 1;
    *out_wire = (Wire)(tag & 1);
    return true;
}

static void skip_field(Reader *reader, Wire wire)
{
    if (wire == WIRE_BYTES) take_bytes(reader);
    else take_number(reader);
}

static void take_head_field(Reader *reader, Arena *arena, RecordHead *head, HeadField field)
{
    Str bytes = take_bytes(reader);
    if (reader->wrong) return;
    if (field == HEAD_POLICY) {
        if (bytes.len == DIGEST_SIZE) memcpy(&head->policy, bytes.ptr, DIGEST_SIZE);
        else reader_refuse(reader, "a digest does not have 32 bytes");
        return;
    }
    if (field == HEAD_TRACE && bytes.len == TRACE_SIZE && bytes.ptr[0] == 0)
        bytes = trace_unpack(arena, (const uint8_t *)bytes.ptr);
    *(Str *)((char *)head + head_offsets[field]) = bytes;
}

static void take_head(Reader *reader, Arena *arena, RecordHead *head)
{
    head->log = take_number(reader);
    head->position = take_number(reader);
    head->run_id = take_bytes(reader);
    if (head->run_id.len != 0 && !id_is_valid(head->run_id)) reader_refuse(reader, "its run has no valid id");
    head->first_event = take_number(reader);
    head->now_ms = (int64_t)zigzag_back(take_number(reader));
    if (head->position == 0 || head->position > INT64_MAX) reader_refuse(reader, "its position is out of range");
    if (head->first_event == 0 || head->first_event > INT64_MAX) reader_refuse(reader, "its first event is out of range");
    uint64_t field = 0;
    Wire wire;
    while (take_tag(reader, &field, &wire)) {
        if (field < HEAD_END && wire == WIRE_BYTES) take_head_field(reader, arena, head, (HeadField)field);
        else if (field < HEAD_END) reader_refuse(reader, "a field has the wrong type");
        else skip_field(reader, wire);
    }
}

static void take_payloads(Reader *reader, Arena *arena, Record *record)
{
    uint64_t count = take_number(reader), offset = 0;
    if (count > RECORD_PAYLOAD_COUNT_MAX || count > (reader->size - reader->at) / (1 + DIGEST_SIZE)) {
        reader_refuse(reader, "it has too many payloads");
        return;
    }
    record->payloads = ARENA_ARRAY(arena, Payload, (size_t)count);
    record->payload_count = (uint32_t)count;
    for (uint32_t i = 0; i < count; i++) {
        Payload *payload = &record->payloads[i];
        payload->offset = (uint32_t)offset;
        payload->size = take_u32(reader);
        Str digest = take_size(reader, DIGEST_SIZE);
        if (digest.len == DIGEST_SIZE) memcpy(&payload->digest, digest.ptr, DIGEST_SIZE);
        offset += payload->size;
        if (offset > RECORD_PAYLOAD_SIZE_MAX - SALT_SIZE) reader_refuse(reader, "its payloads are too large");
    }
}

static void take_field(Reader *reader, Arena *arena, const Record *record, Event *event, uint32_t field)
{
    void *member = (char *)event + field_rows[field].offset;
    switch ((FieldType)field_rows[field].type) {
    case TYPE_U32: *(uint32_t *)member = take_u32(reader); break;
    case TYPE_U64: *(uint64_t *)member = take_number(reader); break;
    case TYPE_I64:
        *(int64_t *)member = (int64_t)(zigzag_back(take_number(reader)) + (uint64_t)record->head.now_ms);
        break;
    case TYPE_TEXT: *(Str *)member = take_bytes(reader); break;
    case TYPE_DIGEST: {
        Str bytes = take_bytes(reader);
        if (bytes.len == DIGEST_SIZE) *(const Digest **)member = arena_copy_items(arena, bytes.ptr, DIGEST_SIZE);
        else reader_refuse(reader, "a digest does not have 32 bytes");
        break;
    }
    case TYPE_PAYLOAD:
        *(uint32_t *)member = take_u32(reader);
        if (!reader->wrong && *(uint32_t *)member >= record->payload_count)
            reader_refuse(reader, "an event names a payload that is not there");
        break;
    case TYPE_NONE: break;
    }
}

static Wire field_wire(uint32_t field)
{
    FieldType type = (FieldType)field_rows[field].type;
    return type == TYPE_TEXT || type == TYPE_DIGEST ? WIRE_BYTES : WIRE_NUMBER;
}

static void take_event(Reader *reader, Arena *arena, Record *record, Event *event)
{
    event->kind = (uint8_t)take_size(reader, 1).ptr[0];
    event->payload = EVENT_NO_PAYLOAD;
    if (event->kind == 0 || event->kind >= EVENT_KIND_END) reader_refuse(reader, "an event has no kind");
    if (!event_name(event->kind) && !record->newer_kind) record->newer_kind = event->kind;
    uint64_t field = 0;
    Wire wire;
    while (take_tag(reader, &field, &wire)) {
        if (field >= FIELD_END || field_rows[field].type == TYPE_NONE) skip_field(reader, wire);
        else if (field_wire((uint32_t)field) != wire) reader_refuse(reader, "a field has the wrong type");
        else take_field(reader, arena, record, event, (uint32_t)field);
    }
}

/* How many events follow: found before they are read, so that their array is made once. */
static uint32_t count_events(Reader reader)
{
    uint32_t count = 0;
    while (reader.at < reader.size) {
        reader.at++;
        uint64_t field = 0;
        Wire wire;
        while (take_tag(&reader, &field, &wire)) skip_field(&reader, wire);
        if (++count > RECORD_EVENT_COUNT_MAX) break;
    }
    return count;
}

static void take_events(Reader *reader, Arena *arena, Record *record)
{
    uint32_t count = count_events(*reader);
    if (count > RECORD_EVENT_COUNT_MAX) reader_refuse(reader, "it has too many events");
    else if (count == 0) reader_refuse(reader, "it has no events");
    if (reader->wrong) return;
    record->events = ARENA_ARRAY(arena, Event, count);
    while (reader->at < reader->size) take_event(reader, arena, record, &record->events[record->event_count++]);
}

Status record_decode_any(Arena *arena, Str bytes, Record *out_record, Error *err)
{
    Record record = { 0 };
    if (bytes.len > RECORD_SIZE_MAX)
        return error_set(err, ERR_CORRUPT, "the record has %zu bytes, more than RECORD_SIZE_MAX (%u)", bytes.len,
                         RECORD_SIZE_MAX);
    Reader reader = { .bytes = (const uint8_t *)bytes.ptr, .size = bytes.len };
    record.head.format = take_u32(&reader);
    if (!reader.wrong && record.head.format > RECORD_FORMAT)
        return error_set(err, ERR_UNAVAILABLE, "the record has format %" PRIu32 ": written by a newer maestro",
                         record.head.format);
    if (record.head.format == 0) reader_refuse(&reader, "it has no format");
    take_head(&reader, arena, &record.head);
    take_payloads(&reader, arena, &record);
    take_events(&reader, arena, &record);
    if (reader.wrong)
        return error_set(err, ERR_CORRUPT, "the record is damaged at byte %zu: %s", reader.wrong_at, reader.wrong);
    *out_record = record;
    return OK;
}

Status record_decode(Arena *arena, Str bytes, Record *out_record, Error *err)
{
    Record record;
    Status status = record_decode_any(arena, bytes, &record, err);
    if (status) return status;
    if (record.newer_kind)
        return error_set(err, ERR_UNAVAILABLE, "the record has an event of kind %u: written by a newer maestro",
                         record.newer_kind);
    *out_record = record;
    return OK;
}

/* --- payloads ------------------------------------------------------------------------------------------------------ */

size_t record_payload_size(const Record *record)
{
    if (record->payload_count == 0) return 0;
    const Payload *last = &record->payloads[record->payload_count - 1];
    return SALT_SIZE + (size_t)last->offset + last->size;
}

Status record_payload(const Record *record, Str payload, uint32_t index, Str *out_text, Error *err)
{
    CHECK(index < record->payload_count);
    if (payload.len == 0)
        return error_set(err, ERR_NOT_FOUND, "the payloads of record %" PRIu64 " were erased", record->head.position);
    if (payload.len != record_payload_size(record))
        return error_set(err, ERR_CORRUPT, "the payloads of record %" PRIu64 " have %zu bytes instead of %zu",
                         record->head.position, payload.len, record_payload_size(record));
    const Payload *entry = &record->payloads[index];
    Str text = str_slice(payload, SALT_SIZE + (size_t)entry->offset, SALT_SIZE + (size_t)entry->offset + entry->size);
    Digest digest = payload_digest(text, (const uint8_t *)payload.ptr);
    if (memcmp(&digest, &entry->digest, sizeof digest) != 0)
        return error_set(err, ERR_CORRUPT, "payload %" PRIu32 " of record %" PRIu64 " does not have the digest that the record "
                         "states", index, record->head.position);
    *out_text = text;
    return OK;
}
