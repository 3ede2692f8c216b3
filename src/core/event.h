/* event.h - what happened: the facts that are recorded, and nothing else is true.
 *
 * One flat struct for all kinds: which members a kind uses is in spec/events.def, from which codec, printer and documents
 * are made. Texts and values are borrowed for the time of a decision.
 *
 * Owns: nothing.     Fails: never.     Thread: pure, any.
 */
#ifndef CORE_EVENT_H
#define CORE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "value/canonical.h"
#include "value/value.h"

typedef enum EventKind {
#define EVENT(number, NAME, name, fields) EVENT_##NAME = number,
#include "../spec/events.def"
    EVENT_KIND_END = 128
} EventKind;

typedef enum EventField {
#define FIELD(number, member, type, name) FIELD_##member = number,
#include "../spec/events.def"
    FIELD_END
} EventField;

#define EVENT_NO_PAYLOAD UINT32_MAX

typedef struct Event {
    uint8_t kind;                       /* an EventKind */
    uint32_t step, last, number, attempt, job, state, cause, class_, reason, resolution, flags, priority, sort, revision;
    uint32_t payload;                   /* index among the payloads of its record, or EVENT_NO_PAYLOAD */
    uint64_t count, seed, holder, notice;
    int64_t due_ms, lease_ms, span_ms;
    Str name, text, key, source, tenant, parent, directory;
    const Digest *digest;               /* NULL where the kind has none */
} Event;

#endif
