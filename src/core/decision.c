#include "core/decide.h"

#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "value/canonical.h"

void decision_init(Decision *decision, Arena *arena)
{
    *decision = (Decision){ .arena = arena, .missing = STEP_NONE };
}

Event *decision_event(Decision *decision, EventKind kind, uint32_t step)
{
    size_t capacity = decision->event_capacity;
    decision->events =
        arena_grow(decision->arena, decision->events, sizeof *decision->events, decision->event_count, &capacity);
    decision->event_capacity = (uint32_t)capacity;
    Event *event = &decision->events[decision->event_count++];
    *event = (Event){ .kind = (uint8_t)kind, .step = step, .payload = EVENT_NO_PAYLOAD };
    return event;
}

/* --- payloads -------------------------------------------------------------------------------------------------------------- */

Status decision_payload_try(Decision *decision, const char *what, Value value, uint32_t *out_payload, Error *err)
{
    *out_payload = EVENT_NO_PAYLOAD;
    if (value.kind == VALUE_NULL) return OK;
    Buf buf;
    buf_init(&buf, PAYLOAD_SIZE_MAX);
    Status status = canonical_print(&buf, value, err);
    if (!status && buf_overflowed(&buf))
        status = error_set(err, ERR_LIMIT, "%s exceeds PAYLOAD_SIZE_MAX (%u bytes as JSON)", what, PAYLOAD_SIZE_MAX);
    if (status) {
        buf_deinit(&buf);
        return status;
    }
    size_t capacity = decision->payload_capacity, text_capacity = capacity;
    decision->payloads =
        arena_grow(decision->arena, decision->payloads, sizeof *decision->payloads, decision->payload_count, &capacity);
    decision->texts = arena_grow(decision->arena, decision->texts, sizeof *decision->texts, decision->payload_count, &text_capacity);
    decision->payload_capacity = (uint32_t)(capacity < text_capacity ? capacity : text_capacity);
    decision->payloads[decision->payload_count] = value;
    decision->texts[decision->payload_count] = arena_copy(decision->arena, buf_peek(&buf));
    decision->payload_size += buf.len;
    *out_payload = decision->payload_count++;
    buf_deinit(&buf);
    return OK;
}

uint32_t decision_payload(Decision *decision, Value value)
{
    uint32_t payload;
    Error err;
    CHECK(decision_payload_try(decision, "a payload", value, &payload, &err) == OK);
    return payload;
}

bool decision_is_heavy(const Decision *decision)
{
    return decision->payload_size >= DECISION_PAYLOAD_SIZE;
}

void decision_cut_texts(Decision *decision, uint32_t first)
{
    for (uint32_t i = first; i < decision->event_count; i++) {
        Str *text = &decision->events[i].text;
        if (text->len > TEXT_SIZE_MAX) *text = str_slice(*text, 0, utf8_valid_size(str_slice(*text, 0, TEXT_SIZE_MAX)));
    }
}

const char *hook_name(Hook hook)
{
    static const char *const names[HOOK_COUNT] = {
        [HOOK_RUN_START] = "run-start",   [HOOK_STEP_DISPATCH] = "step-dispatch", [HOOK_STEP_END] = "step-end",
        [HOOK_RUN_RESUME] = "run-resume", [HOOK_SIGNAL] = "signal",
    };
    return names[hook];
}

static bool is_told(const Digest *digest)
{
    static const Digest untold;
    return memcmp(digest, &untold, sizeof untold) != 0;
}

void decision_verdict(Decision *decision, Hook hook, uint32_t step, const Verdict *verdict)
{
    MemberList members = { .arena = decision->arena };
    if (verdict->name.len) member_list_add(&members, STR("policy"), value_string(verdict->name));
    if (is_told(&verdict->input)) {
        Buf text = buf_on(arena_bytes(decision->arena, DIGEST_TEXT_SIZE), DIGEST_TEXT_SIZE);
        digest_print(&text, &verdict->input);
        member_list_add(&members, STR("input"), value_string(buf_peek(&text)));
    }
    uint32_t payload = decision_payload(decision, members.count ? member_list_object(&members) : value_null());
    Digest *policy = ARENA_NEW(decision->arena, Digest);
    *policy = is_told(&verdict->denier) ? verdict->denier : verdict->policy;
    decision->policy = verdict->policy;
    Event *event = decision_event(decision, EVENT_VERDICT, step);
    event->sort = hook;
    event->digest = policy;
    event->flags = verdict->kind;
    event->text = verdict->text;
    event->payload = payload;
}

/* The newest payload of such an event of a step. */
static const Value *find(const Decision *decision, EventKind kind, uint32_t step)
{
    for (uint32_t i = decision->event_count; i-- > 0;) {
        const Event *event = &decision->events[i];
        if (event->kind != kind || event->step != step || event->payload == EVENT_NO_PAYLOAD) continue;
        return &decision->payloads[event->payload];
    }
    return NULL;
}

/* The payload that ended a pause: of its trigger or of a signal, or the one that stood in for it. */
static const Value *find_answer(const Decision *decision, uint32_t step)
{
    const Value *payload = find(decision, EVENT_TRIGGER_ENDED, step);
    for (uint32_t i = decision->event_count; !payload && i-- > 0;) {
        const Event *ended = &decision->events[i];
        if (ended->kind != EVENT_TRIGGER_ENDED || ended->step != step) continue;
        for (uint32_t s = i; s-- > 0;) {
            const Event *event = &decision->events[s];
            bool is_signal = event->kind == EVENT_TRIGGER_RECEIVED || event->kind == EVENT_SIGNAL_RECEIVED;
            if (is_signal && event->count == ended->count && event->payload != EVENT_NO_PAYLOAD)
                return &decision->payloads[event->payload];
        }
    }
    return payload;
}

const Value *decision_value(const Decision *decision, const Plan *plan, uint32_t which)
{
    if (which >= plan->step_count) return find_answer(decision, plan->terms->pauses[which - plan->step_count]);
    const Value *output = find(decision, EVENT_STEP_SUCCEEDED, which);
    return output ? output : find(decision, EVENT_POLL_TIMED_OUT, which);
}

const Value *decision_params(const Decision *decision)
{
    const Value *changed = find(decision, EVENT_PARAMS_CHANGED, 0);
    return changed ? changed : find(decision, EVENT_RUN_CREATED, 0);
}
