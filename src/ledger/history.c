#include "ledger/history.h"

#include "base/civil.h"
#include "ledger/record.h"

const char *attempt_end_name(AttemptEnd end)
{
    static const char *const names[] = { "running", "succeeded", "failed", "cancelled", "answered" };
    return names[end];
}

void history_init(History *history, Arena *arena, uint32_t step_count)
{
    *history = (History){ .arena = arena, .step_count = step_count, .last = ARENA_ARRAY(arena, uint32_t, step_count + 1u),
                          .decisions = { .arena = arena } };
}

static PayloadPlace place_of(const Record *record, uint32_t index)
{
    if (index == EVENT_NO_PAYLOAD || index >= record->payload_count) return (PayloadPlace){ 0 };
    return (PayloadPlace){ record->head.position, record->payloads[index].offset, record->payloads[index].size };
}

static HistoryAttempt *newest(const History *history, uint32_t step)
{
    if (step >= history->step_count || !history->last[step]) return NULL;
    return &history->attempts[history->last[step] - 1];
}

/* One that is repeated after its owner's death has the input that it had. */
static PayloadPlace input_of(const History *history, const Record *record, const Event *event)
{
    const HistoryAttempt *last = newest(history, event->step);
    bool is_again = last && event->payload == EVENT_NO_PAYLOAD && last->number == event->number && last->attempt == event->attempt;
    return is_again ? last->input : place_of(record, event->payload);
}

static void begin(History *history, const Record *record, const Event *event, uint64_t number)
{
    PayloadPlace input = input_of(history, record, event);
    history->attempts = arena_grow(history->arena, history->attempts, sizeof *history->attempts, history->attempt_count,
                                   &history->attempt_capacity);
    history->attempts[history->attempt_count++] = (HistoryAttempt){
        .step = event->step, .number = event->number, .attempt = event->attempt, .generation = (uint32_t)event->count,
        .dispatched_ms = record->head.now_ms, .executor = arena_copy(history->arena, event->name),
        .placement = arena_copy(history->arena, event->text), .policy = record->head.policy, .input = input,
        .first_event = number, .events = { .arena = history->arena }, .verdicts = { .arena = history->arena },
    };
    history->last[event->step] = (uint32_t)history->attempt_count;
}

static void end(History *history, HistoryAttempt *attempt, const Record *record, const Event *event, AttemptEnd how)
{
    if (attempt->end != ATTEMPT_OPEN) return;
    attempt->end = how;
    attempt->ended_ms = record->head.now_ms;
    if (how == ATTEMPT_SUCCEEDED || how == ATTEMPT_ANSWERED) attempt->output = place_of(record, event->payload);
    if (how != ATTEMPT_FAILED) return;
    attempt->cause = (uint8_t)event->cause;
    attempt->class_ = (uint8_t)event->class_;
    attempt->message = arena_copy(history->arena, event->text);
    attempt->details = place_of(record, event->payload);
}

/* How an event ends the attempt of its step that is under way; ATTEMPT_OPEN: it does not. */
static AttemptEnd end_of(const Event *event)
{
    switch (event->kind) {
    case EVENT_STEP_SUCCEEDED: return ATTEMPT_SUCCEEDED;
    case EVENT_ATTEMPT_FAILED:
    case EVENT_STEP_FAILED:
    case EVENT_LEASE_EXPIRED: return ATTEMPT_FAILED;
    case EVENT_STEP_CANCELLED: return ATTEMPT_CANCELLED;
    case EVENT_POLL_ATTEMPTED: return ATTEMPT_ANSWERED;
    default: return ATTEMPT_OPEN;
    }
}

static void note_decision(History *history, const Record *record, const Event *event, uint64_t number)
{
    MemberList members = { .arena = history->arena };
    char storage[40];
    Buf time = buf_on(storage, sizeof storage);
    Value shown = value_copy(history->arena, event_to_value(history->arena, event, number));
    civil_print_ms(&time, record->head.now_ms);
    for (uint32_t i = 0; i < shown.count; i++) member_list_add(&members, value_text(shown.members[i].key), shown.members[i].value);
    member_list_add(&members, STR("time"), value_string(arena_copy(history->arena, buf_peek(&time))));
    member_list_add(&members, STR("actor"), value_string(arena_copy(history->arena, record->head.actor)));
    value_list_add(&history->decisions, member_list_object(&members));
}

static void note_event(History *history, const Record *record, const Event *event, uint64_t number)
{
    bool has_step = event_has(event->kind, FIELD_step) && event->step != STEP_NONE;
    if (event->kind == EVENT_STEP_DISPATCHED) begin(history, record, event, number);
    if (event->kind == EVENT_VERDICT || event->kind == EVENT_BRANCH_TAKEN || event->kind == EVENT_DECISION_MADE)
        note_decision(history, record, event, number);
    HistoryAttempt *attempt = has_step ? newest(history, event->step) : NULL;
    if (!attempt) return;
    value_list_add(&attempt->events, value_string(str_of(event_name(event->kind))));
    if (event->kind == EVENT_STEP_RUNNING && !attempt->started_ms) attempt->started_ms = record->head.now_ms;
    if (event->kind == EVENT_VERDICT)
        value_list_add(&attempt->verdicts, value_copy(history->arena, event_to_value(history->arena, event, number)));
    AttemptEnd how = end_of(event);
    if (how != ATTEMPT_OPEN) end(history, attempt, record, event, how);
}

void history_note(History *history, const Replay *replay)
{
    const Record *record = &replay->record;
    if (replay->position == history->position) return;          /* nothing was applied: it is behind the last event that counts */
    if (!history->position) {
        if (!trace_read(record->head.trace, &history->trace)) history->trace = trace_make(replay->run.seed);
        history->policy = record->head.policy;
    }
    history->position = replay->position;
    for (uint32_t i = 0; i < record->event_count && record->head.first_event + i <= replay->run.event_count; i++)
        note_event(history, record, &record->events[i], record->head.first_event + i);
}

const HistoryAttempt *history_find(const History *history, uint32_t number, uint32_t attempt)
{
    for (size_t i = 0; i < history->attempt_count; i++)
        if (history->attempts[i].number == number && history->attempts[i].attempt == attempt) return &history->attempts[i];
    return NULL;
}
