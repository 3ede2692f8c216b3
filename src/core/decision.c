#include "core/decide.h"

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

uint32_t decision_payload(Decision *decision, Value value)
{
    if (value.kind == VALUE_NULL) return EVENT_NO_PAYLOAD;
    size_t capacity = decision->payload_capacity;
    decision->payloads =
        arena_grow(decision->arena, decision->payloads, sizeof *decision->payloads, decision->payload_count, &capacity);
    decision->payload_capacity = (uint32_t)capacity;
    decision->payloads[decision->payload_count] = value;
    return decision->payload_count++;
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

const Value *decision_output(const Decision *decision, uint32_t step)
{
    return find(decision, EVENT_STEP_SUCCEEDED, step);
}

const Value *decision_params(const Decision *decision)
{
    return find(decision, EVENT_RUN_CREATED, 0);
}
