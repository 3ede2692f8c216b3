/* log_note.c - what the log says of itself: who owns it from now on, and that the clock was set.
 *
 * These are records without a run, and form a chain of their own. A note whose commit fails is written again; where a commit of
 * unknown outcome had been kept after all, the chain is longer than was known, and notes within it need not be written again.
 * What people do to the log's own things is recorded here, too, and is no note: where its commit fails they are told.
 */
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "engine/internal.h"
#include "ledger/record.h"

static bool take_end(void *context, const Cell *cells, uint32_t count)
{
    LogChain *chain = context;
    (void)count;
    chain->position = (uint64_t)cells[LEDGER_position].integer;
    chain->event_count = (uint64_t)(cells[LEDGER_first_event].integer + cells[LEDGER_event_count].integer - 1);
    if (cells[LEDGER_hash].text.len == sizeof chain->head) memcpy(&chain->head, cells[LEDGER_hash].text.ptr, sizeof chain->head);
    return false;
}

Status log_chain_read(Engine *engine, Error *err)
{
    LogChain chain = { 0 };
    Status status = store_select(engine->store, &(QueryAsk){ .query = QUERY_LOG_RECORD_LAST }, take_end, &chain, err);
    if (status) return status;
    uint32_t kept = 0;
    while (kept < engine->note_count && engine->notes[kept].number && engine->notes[kept].number <= chain.event_count) kept++;
    engine->note_count -= kept;
    memmove(engine->notes, engine->notes + kept, engine->note_count * sizeof *engine->notes);
    for (uint32_t i = 0; i < engine->note_count; i++) engine->notes[i].number = 0;
    engine->chain = engine->durable_chain = chain;
    return OK;
}

/* Where one comes back from a commit that failed, newer ones may be waiting already. Beyond the bound the newest are not told: a
 * clock that is set so often tells nothing any more. */
static void note_put(Engine *engine, const LogNote *note)
{
    uint32_t at = engine->note_count;
    if (at == LOG_NOTE_COUNT_MAX) return;
    for (; at && engine->notes[at - 1].order > note->order; at--) engine->notes[at] = engine->notes[at - 1];
    engine->notes[at] = *note;
    engine->note_count++;
}

void log_note_add(Engine *engine, const LogNote *note)
{
    LogNote ordered = *note;
    ordered.order = ++engine->note_order;
    note_put(engine, &ordered);
}

void log_note_jump(Engine *engine, int64_t by_ms)
{
    if (by_ms <= CLOCK_JUMP_MS && by_ms >= -CLOCK_JUMP_MS) return;
    log_note_add(engine, &(LogNote){ .kind = EVENT_CLOCK_JUMPED, .count = (uint64_t)(by_ms < 0 ? -by_ms : by_ms),
                                     .due_ms = engine->wall_ms, .flags = by_ms < 0 });
}

/* Why, where whoever did it said nothing. */
static Str log_reason(const Event *event, const Command *command)
{
    static const char *const reasons[EVENT_KIND_END] = {
        [EVENT_CLOCK_JUMPED] = "the wall clock was set",
        [EVENT_OWNER_CHANGED] = "another owner took the log",
        [EVENT_SECRET_SET] = "to set it was asked for",
        [EVENT_SECRET_REMOVED] = "to remove it was asked for",
        [EVENT_TENANT_KEY_MADE] = "the tenant had no key",
        [EVENT_SIGNAL_BRIDGED] = "a bridge permits it",
        [EVENT_ACCESS_REFUSED] = "it is not allowed",
        [EVENT_START_DEFERRED] = "the trigger declares debouncing",
        [EVENT_START_SETTLED] = "the time of its debouncing is over",
        [EVENT_OCCURRENCE_SKIPPED] = "it was kept from starting a run",
        [EVENT_OVERRIDE_REMOVED] = "to remove it was asked for",
        [EVENT_POLICY_REVIEWED] = "a review was recorded",
        [EVENT_REVISION_STORED] = "to store it was asked for",
        [EVENT_REVISION_ACTIVATED] = "to activate it was asked for",
        [EVENT_REVISION_DEACTIVATED] = "to deactivate it was asked for",
        [EVENT_REVISION_REMOVED] = "to remove it was asked for",
    };
    return command->rationale.len ? command->rationale : str_of(reasons[event->kind]);
}

void log_event_record(Engine *engine, EngineBatch *batch, const Event *event, const Command *command)
{
    RecordHead head = { .log = engine->options.log, .position = engine->position + 1, .first_event = engine->chain.event_count + 1,
                        .now_ms = engine->now_ms, .actor = command->actor,
                        .rationale = log_reason(event, command),
                        .command_id = command->id, .policy = engine->policy_digest };
    buf_clear(&engine->record_buf);
    buf_clear(&engine->payload_buf);
    record_encode(&head, event, 1, NULL, 0, NULL, &engine->record_buf, &engine->payload_buf, NULL);
    CHECK(!buf_overflowed(&engine->record_buf));
    BatchRecord record = { .prev_position = engine->chain.position, .first_event = head.first_event, .event_count = 1 };
    batch_append(engine, batch, &record, &engine->chain.head);
    engine->chain.position = engine->position;
    engine->chain.event_count++;
}

static void record_note(Engine *engine, EngineBatch *batch, const LogNote *note)
{
    Str who = note->kind == EVENT_OWNER_CHANGED ? engine->options.owner : (Str){ 0 };
    Event event = { .kind = note->kind, .count = note->count, .due_ms = note->due_ms, .flags = note->flags, .text = who,
                    .payload = EVENT_NO_PAYLOAD };
    log_event_record(engine, batch, &event, &(Command){ .actor = STR("engine") });
}

void log_notes_record(Engine *engine)
{
    if (!engine->note_count || engine->state == ENGINE_STALLED) return;
    EngineBatch *batch = batch_open(engine);
    if (batch->note_count + engine->note_count > LOG_NOTE_COUNT_MAX) return;      /* the next batch takes them */
    for (uint32_t i = 0; i < engine->note_count; i++) {
        record_note(engine, batch, &engine->notes[i]);
        batch->notes[batch->note_count] = engine->notes[i];
        batch->notes[batch->note_count++].number = engine->chain.event_count;
    }
    engine->note_count = 0;
}

void log_notes_back(Engine *engine, const EngineBatch *batch)
{
    for (uint32_t i = 0; i < batch->note_count; i++) {
        LogNote note = batch->notes[i];
        if (!engine->must_own) note.number = 0;             /* it was refused: the number is given to another event */
        note_put(engine, &note);
    }
}
