/* record.h - one decision as bytes: what is hashed, kept for ever, and read by every later version.
 *
 * A record states once what its events share, then the events in the numbered encoding of spec/events.def:
 *
 *   format, log, position, run id, number of the first event, time
 *   head fields, each as (tag, value): 1 actor, 2 rationale, 3 trace context, 4 command id, 5 policy digest,
 *               6 trace state; then 0
 *   payload table: how many, then for each its size and salted digest
 *   events up to the end: kind, then the fields it has as (tag, value) in the order of their numbers; then 0
 *
 * Integers are little-endian base-128, in their shortest form, signed ones zigzag; texts and digests have their length before
 * them. A tag is twice the field's number, plus one where bytes follow instead of an integer: whoever does not know a field
 * can skip it. Fields that are zero or empty are not written. Times of events are written as their distance from the record's
 * time. A traceparent of version 00 is written as its 26 bytes. docs/ledger.md has all of it byte by byte.
 *
 * Unknown fields are skipped; an unknown kind is ERR_UNAVAILABLE ("written by a newer maestro"): its run is set aside.
 *
 * Payload bytes lie beside the record: 16 bytes of salt, then the payloads one behind the other. A payload's digest is
 * BLAKE2b-256 keyed by the salt, so that bytes that were erased cannot be guessed from what remains.
 *
 * Owns:   decoded texts point into the bytes given (a trace context into the arena); arrays live in the arena.
 * Fails:  ERR_CORRUPT with the offset; ERR_UNAVAILABLE for a newer format or kind.
 * Bounds: RECORD_SIZE_MAX, RECORD_EVENT_COUNT_MAX, RECORD_PAYLOAD_COUNT_MAX, RECORD_PAYLOAD_SIZE_MAX.   Thread: pure, any.
 * Invariant I15: numbers of kinds and fields are never reused.
 */
#ifndef LEDGER_RECORD_H
#define LEDGER_RECORD_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/id.h"
#include "base/status.h"
#include "core/event.h"

#define RECORD_FORMAT 1u
#define SALT_SIZE 16u

typedef struct RecordHead {
    uint32_t format;                /* set by record_decode(); written is always RECORD_FORMAT */
    uint64_t log, position;
    Str run_id;                     /* empty: of the log itself */
    uint64_t first_event;           /* numbers of events in a run begin with 1 */
    int64_t now_ms;
    Str actor, rationale;
    Str trace;                      /* a W3C traceparent */
    Str tracestate;                 /* of the record of a start: what came with that; empty: nothing did */
    Str command_id;
    Digest policy;                  /* of the policies that allowed it; zeros take no space */
} RecordHead;

typedef struct Payload { uint32_t offset, size; Digest digest; } Payload;      /* offset behind the salt */

typedef struct Record {
    RecordHead head;
    Event *events;
    Payload *payloads;
    uint32_t event_count, payload_count;
    uint8_t newer_kind;             /* the first kind that this version does not know; 0: it knows all */
} Record;

/* Writes the record into `record` and salt and payloads into `payload` (untouched where there are none). `texts` are the
 * payloads as they are to be kept: canonical JSON. `out_payloads` (text_count) may be NULL. Overflow of a buffer shows in it.
 * CHECKs that events set no field that their kind does not have: it would be lost. */
void record_encode(const RecordHead *head, const Event *events, uint32_t event_count, const Str *texts, uint32_t text_count,
                   const uint8_t salt[SALT_SIZE], Buf *record, Buf *payload, Payload *out_payloads);
MUST_USE Status record_decode(Arena *arena, Str bytes, Record *out_record, Error *err);
/* The same for whoever shows or verifies: kinds that are not known are kept, with the fields that are (`newer_kind`). */
MUST_USE Status record_decode_any(Arena *arena, Str bytes, Record *out_record, Error *err);

/* The bytes of one payload. ERR_CORRUPT where they do not have the digest the record states; ERR_NOT_FOUND where the
 * payload column is empty: erased. */
MUST_USE Status record_payload(const Record *record, Str payload, uint32_t index, Str *out_text, Error *err);
size_t record_payload_size(const Record *record);      /* of the whole column, salt included; 0: the record has none */

/* --- what a kind is ------------------------------------------------------------------------------------------------ */

const char *event_name(uint8_t kind);       /* "step-succeeded"; NULL for a number that is not in use */
bool event_has(uint8_t kind, EventField field);         /* may such an event carry it? */

/* An event as people and programs see it: {"event": "step-succeeded", "number": 17, "step": 3, ...}. States, causes, classes
 * and the like by name, times as UTC text, digests as text; what is not set is left out. */
Value event_to_value(Arena *arena, const Event *event, uint64_t number);
/* Adds the names that users are promised for such an event (spec/emitted.def), where it has any: "emits": ["PollTimedOut"]. It is
 * no part of the above, which is how an exported ledger shows an event for ever. */
void event_emits(MemberList *list, const Event *event);
/* What a record states once, and its events: {"time", "actor", "rationale", "trace", "command", "policy", "events": [...]}. */
Value record_to_value(Arena *arena, const Record *record);

#endif
