/* Events and records as values for people and programs: numbers become the names they stand for. */
#include <inttypes.h>
#include <string.h>

#include "base/civil.h"
#include "base/utf8.h"
#include "core/command.h"
#include "core/decide.h"
#include "core/plan.h"
#include "core/state.h"
#include "ledger/record.h"
#include "value/number.h"

/* --- names of numbers: NULL for what a newer maestro may have meant ------------------------------------------------ */

#define NAMED(number, count, name, Type) ((number) < (count) ? name((Type)(number)) : NULL)

static const char *state_text(const Event *event) { return NAMED(event->state, RUN_STATE_COUNT, run_state_name, RunState); }
static const char *cause_text(const Event *event) { return NAMED(event->cause, CAUSE_COUNT, cause_name, Cause); }
static const char *reason_text(const Event *event)
{
    return NAMED(event->reason, SKIP_REASON_COUNT, skip_reason_name, SkipReason);
}
static const char *class_text(const Event *event)
{
    return NAMED(event->class_, CLASS_COUNT, failure_class_name, FailureClass);
}
static const char *resolution_text(const Event *event)
{
    return NAMED(event->resolution, RESOLUTION_COUNT, resolution_name, Resolution);
}
static const char *priority_text(const Event *event)
{
    return NAMED(event->priority, PRIORITY_COUNT, priority_name, Priority);
}
static const char *sort_text(const Event *event)
{
    if (event->kind == EVENT_VERDICT) return NAMED(event->sort, HOOK_COUNT, hook_name, Hook);
    if (event->kind == EVENT_DECISION_MADE) return NAMED(event->sort, DECISION_KIND_COUNT, decision_kind_name, DecisionKind);
    if (event->kind == EVENT_RUN_REQUEUED || event->kind == EVENT_STEP_SUPERSEDED)
        return NAMED(event->sort, RETRY_SOURCE_COUNT, retry_source_name, RetrySource);
    if (event->kind == EVENT_COMPENSATION_STARTED || event->kind == EVENT_RUN_ROLLING_BACK)
        return NAMED(event->sort, COMPENSATION_SCOPE_COUNT, compensation_scope_name, CompensationScope);
    if (event->kind == EVENT_TRIGGER_ENDED) return NAMED(event->sort, TRIGGER_OUTCOME_COUNT, trigger_outcome_name, TriggerOutcome);
    return NAMED(event->sort, SIGNAL_KIND_COUNT, signal_kind_name, SignalKind);
}

/* Fields that have a name, and those of which zero is a value like others. The rest is shown where it is not zero. */
static const struct { const char *(*text)(const Event *event); bool is_shown_zero; } looks[FIELD_END] = {
    [FIELD_step] = { .is_shown_zero = true },           [FIELD_job] = { .is_shown_zero = true },
    [FIELD_state] = { state_text, true },               [FIELD_priority] = { priority_text, true },
    [FIELD_sort] = { sort_text, true },                 [FIELD_cause] = { cause_text, false },
    [FIELD_class_] = { class_text, false },             [FIELD_reason] = { reason_text, false },
    [FIELD_resolution] = { resolution_text, false },
};

/* --- values -------------------------------------------------------------------------------------------------------- */

typedef struct Adder {
    MemberList list;
    const Event *event;
} Adder;

/* Exact, however large. */
static Value number_value(Arena *arena, uint64_t number)
{
    if (number <= INT64_MAX) return value_int((int64_t)number);
    return number_make(arena, arena_format(arena, "%" PRIu64, number));
}

/* Records hold what a runner said byte by byte; a value holds UTF-8. */
static Str text_mended(Arena *arena, Str text)
{
    if (utf8_valid_size(text) == text.len) return text;
    size_t size = text.len * 3;
    Buf buf = buf_on(arena_bytes(arena, size), size);
    while (text.len > 0) {
        size_t valid = utf8_valid_size(text);
        buf_str(&buf, str_slice(text, 0, valid));
        if (valid < text.len) buf_text(&buf, "\xEF\xBF\xBD");
        text = str_slice(text, valid + 1, text.len);
    }
    return buf_peek(&buf);
}

static void add_U64(Adder *adder, uint32_t field, const char *key, uint64_t number)
{
    if (number == 0 && !looks[field].is_shown_zero) return;
    const char *text = looks[field].text ? looks[field].text(adder->event) : NULL;
    member_list_add(&adder->list, str_of(key), text ? value_string(str_of(text)) : number_value(adder->list.arena, number));
}

static void add_U32(Adder *adder, uint32_t field, const char *key, uint32_t number)
{
    if (number == UINT32_MAX) return;                   /* no step, no payload */
    if (field == FIELD_last && number <= adder->event->step) return;
    add_U64(adder, field, key, number);
}

static void add_PAYLOAD(Adder *adder, uint32_t field, const char *key, uint32_t index)
{
    if (index != EVENT_NO_PAYLOAD) member_list_add(&adder->list, str_of(key), value_int(index));
}

static Value time_value(Arena *arena, int64_t ms)
{
    char storage[40];
    Buf buf = buf_on(storage, sizeof storage);
    civil_print_ms(&buf, ms);
    return value_string(arena_copy(arena, buf_peek(&buf)));
}

static void list_add_text(MemberList *list, const char *key, Str text)
{
    if (text.len > 0) member_list_add(list, str_of(key), value_string(text_mended(list->arena, text)));
}

static void add_I64(Adder *adder, uint32_t field, const char *key, int64_t ms)
{
    if (ms != 0) member_list_add(&adder->list, str_of(key), time_value(adder->list.arena, ms));
}

static void add_TEXT(Adder *adder, uint32_t field, const char *key, Str text)
{
    list_add_text(&adder->list, key, text);
}

static void add_DIGEST(Adder *adder, uint32_t field, const char *key, const Digest *digest)
{
    if (digest) member_list_add(&adder->list, str_of(key), digest_value(adder->list.arena, digest));
}

void event_emits(MemberList *list, const Event *event)
{
    ValueList names = { .arena = list->arena };
#define EMITTED(NAME, name, holds) if (event->kind == EVENT_##NAME && (holds)) value_list_add(&names, value_string(STR(name)));
#include "../spec/emitted.def"
    if (names.count) member_list_add(list, STR("emits"), value_list_array(&names));
}

Value event_to_value(Arena *arena, const Event *event, uint64_t number)
{
    Adder adder = { { .arena = arena }, event };
    const char *name = event_name(event->kind);
    Str text = name ? str_of(name) : arena_format(arena, "kind-%u", event->kind);
    member_list_add(&adder.list, STR("event"), value_string(text));
    member_list_add(&adder.list, STR("number"), number_value(arena, number));
#define FIELD(number_, member, type, key) if (event_has(event->kind, number_)) add_##type(&adder, number_, key, event->member);
#include "../spec/events.def"
    return member_list_object(&adder.list);
}

Value record_to_value(Arena *arena, const Record *record)
{
    static const Digest none = { { 0 } };
    const RecordHead *head = &record->head;
    MemberList list = { .arena = arena };
    ValueList events = { .arena = arena };
    member_list_add(&list, STR("time"), time_value(arena, head->now_ms));
    list_add_text(&list, "actor", head->actor);
    list_add_text(&list, "rationale", head->rationale);
    list_add_text(&list, "trace", head->trace);
    list_add_text(&list, "tracestate", head->tracestate);
    list_add_text(&list, "command", head->command_id);
    if (memcmp(&head->policy, &none, sizeof none) != 0)
        member_list_add(&list, STR("policy"), digest_value(arena, &head->policy));
    for (uint32_t i = 0; i < record->event_count; i++)
        value_list_add(&events, event_to_value(arena, &record->events[i], head->first_event + i));
    member_list_add(&list, STR("events"), value_list_array(&events));
    return member_list_object(&list);
}
