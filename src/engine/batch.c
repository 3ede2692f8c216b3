/* batch.c - what is committed together: records and rows going out, replies and effects waiting for them. */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "engine/internal.h"
#include "ledger/chain.h"
#include "ledger/record.h"

/* --- the open batch ------------------------------------------------------------------------------------------------------ */

static EngineBatch *batch_make(Engine *engine)
{
    EngineBatch *batch = engine->spare;
    if (batch) {
        engine->spare = batch->next;
        Arena arena = batch->batch.arena;
        *batch = (EngineBatch){ .batch.arena = arena };
        arena_reset(&batch->batch.arena);
        return batch;
    }
    batch = calloc(1, sizeof *batch);
    CHECK(batch);
    arena_init(&batch->batch.arena, SIZE_MAX);
    return batch;
}

EngineBatch *batch_open(Engine *engine)
{
    if (engine->open) return engine->open;
    EngineBatch *batch = batch_make(engine);
    batch->seq = ++engine->next_seq;
    batch->batch.log = engine->options.log;
    batch->batch.epoch = engine->epoch;
    batch->batch.first_position = engine->position + 1;
    batch->batch.head_before = engine->head;
    batch->batch.context = batch;
    batch->projection = projection_make(&batch->batch.arena);
    engine->open = batch;
    return batch;
}

bool batch_is_full(const Engine *engine)
{
    return engine->open && engine->open->event_count >= BATCH_EVENT_COUNT_MAX;
}

bool batch_is_durable(const Engine *engine, uint64_t seq)
{
    return seq <= engine->durable_seq;
}

#define GROW(batch, array, count, capacity) \
    ((batch)->array = arena_grow(&(batch)->batch.arena, (batch)->array, sizeof *(batch)->array, (batch)->count, &(batch)->capacity))

static void touch(EngineBatch *batch, Resident *resident)
{
    if (resident->batch_seq == batch->seq) return;
    resident->batch_seq = batch->seq;
    GROW(batch, touched, touched_count, touched_capacity);
    batch->touched[batch->touched_count++] = resident->run_no;
}

/* --- recording a decision ------------------------------------------------------------------------------------------------ */

static Str *print_payloads(EngineBatch *batch, const Decision *decision)
{
    if (!decision->payload_count) return NULL;
    Str *texts = ARENA_ARRAY(&batch->batch.arena, Str, decision->payload_count);
    for (uint32_t i = 0; i < decision->payload_count; i++) {
        Buf buf;
        buf_init(&buf, PAYLOAD_SIZE_MAX);
        Error err;
        CHECK(canonical_print(&buf, decision->payloads[i], &err) == OK && !buf_overflowed(&buf));
        texts[i] = arena_copy(&batch->batch.arena, buf_peek(&buf));
        buf_deinit(&buf);
    }
    return texts;
}

static void add_effect(EngineBatch *batch, uint64_t run_no, Effect effect)
{
    GROW(batch, effects, effect_count, effect_capacity);
    batch->effects[batch->effect_count++] = (EffectEntry){ effect, run_no };
}

/* The effects that follow from these events, in their order; payloads that are needed again soon are kept at hand. */
static void collect(Engine *engine, EngineBatch *batch, Resident *resident, const Decision *decision, const Str *texts)
{
    for (uint32_t i = 0; i < decision->event_count; i++) {
        const Event *event = &decision->events[i];
        Str text = event->payload != EVENT_NO_PAYLOAD && texts ? texts[event->payload] : (Str){ 0 };
        const StepRun *step = &resident->run.steps[event->step < resident->run.step_count ? event->step : 0];
        switch (event->kind) {
        case EVENT_RUN_CREATED: resident_keep(resident, MISSING_PARAMS, text); break;
        case EVENT_STEP_DISPATCHED: dedupe_begun(engine, resident, event, batch->seq); break;
        case EVENT_STEP_RUNNING:
            if (event->holder) {
                Effect effect = { EFFECT_EXECUTE, event->step, step->attempt, event->holder };
                effect_given(engine, resident, &effect);
                add_effect(batch, resident->run_no, effect);
            }
            break;
        case EVENT_STEP_SUCCEEDED:
            if (event->payload != EVENT_NO_PAYLOAD) resident_keep(resident, event->step, text);
            dedupe_ended(engine, resident, event->step, /* is_done= */ true, text, batch->seq);
            break;
        case EVENT_STEP_SKIPPED:        /* one that was to be tried again has its key no longer */
            for (uint32_t s = event->step; s <= event->last; s++)
                dedupe_ended(engine, resident, s, /* is_done= */ false, (Str){ 0 }, batch->seq);
            break;
        case EVENT_STEP_CANCELLING:
        case EVENT_STEP_CANCELLED:
        case EVENT_ATTEMPT_FAILED:
        case EVENT_STEP_FAILED: {
            Effect effect;              /* who reported is no longer out; whoever is was given up */
            if (effect_is_out(engine, resident->run_no, event->step, &effect))
                add_effect(batch, resident->run_no, effect);
            if (event->kind == EVENT_STEP_FAILED || event->kind == EVENT_STEP_CANCELLED)
                dedupe_ended(engine, resident, event->step, /* is_done= */ false, (Str){ 0 }, batch->seq);
            break;
        }
        default: break;
        }
        if (event->due_ms) timer_note(engine, resident->run_no, event->due_ms);
    }
}

void batch_record(Engine *engine, Resident *resident, const Command *command, const Decision *decision)
{
    EngineBatch *batch = batch_open(engine);
    uint64_t first_event = resident->run.event_count - decision->event_count + 1;
    Str *texts = print_payloads(batch, decision);
    RecordHead head = {
        .log = engine->options.log, .position = ++engine->position, .run_id = id_peek(&resident->id),
        .first_event = first_event, .now_ms = engine->now_ms, .actor = command->actor, .rationale = command->rationale,
        .trace = command->trace, .command_id = command->id, .policy = decision->policy,
    };
    uint8_t salt[SALT_SIZE] = { 0 };
    if (texts) engine->options.random(engine->options.context, salt, sizeof salt);
    Payload *payloads = ARENA_ARRAY(&batch->batch.arena, Payload, decision->payload_count + 1);
    buf_clear(&engine->record_buf);
    buf_clear(&engine->payload_buf);
    record_encode(&head, decision->events, decision->event_count, texts, decision->payload_count, salt, &engine->record_buf,
                  &engine->payload_buf, payloads);
    CHECK(!buf_overflowed(&engine->record_buf) && !buf_overflowed(&engine->payload_buf));

    GROW(batch, records, batch.record_count, record_capacity);
    BatchRecord *record = &batch->records[batch->batch.record_count++];
    *record = (BatchRecord){
        .position = engine->position, .run_no = resident->run_no, .prev_position = resident->last_position,
        .first_event = first_event, .event_count = decision->event_count,
        .record = arena_copy(&batch->batch.arena, buf_peek(&engine->record_buf)),
        .payload = texts ? arena_copy(&batch->batch.arena, buf_peek(&engine->payload_buf)) : (Str){ 0 },
    };
    record->hash = chain_record(&resident->head, record->record);
    resident->head = record->hash;
    resident->last_position = engine->position;
    engine->head = chain_log(&engine->head, &record->hash);

    touch(batch, resident);
    batch->event_count += decision->event_count;
    engine->stats.record_count++;
    engine->stats.event_count += decision->event_count;
    collect(engine, batch, resident, decision, texts);
    projection_record(batch->projection, &(ProjectionInput){
        .plan = &resident->plan->plan, .run = &resident->run, .head = &head, .events = decision->events,
        .event_count = decision->event_count, .payloads = payloads, .record = record,
        .begun_count = &resident->begun_count, .step_numbers = resident->step_numbers, .next_step_run_no = &engine->next_step_run_no });
    batch_park(engine, batch, resident);
}

/* --- replies ------------------------------------------------------------------------------------------------------------- */

static void answer(const ReplyEntry *entry)
{
    EngineReply reply = entry->reply;
    if (reply.status) reply.error = &entry->error;
    if (entry->mail->reply) entry->mail->reply(entry->mail->context, &reply);
}

/* The batch of that number, which is open, under way, or has failed and is about to be thrown away. */
static EngineBatch *batch_find(Engine *engine, uint64_t seq)
{
    if (engine->open && engine->open->seq == seq) return engine->open;
    EngineBatch *lists[] = { engine->under_way, engine->failed };
    for (uint32_t i = 0; i < 2; i++)
        for (EngineBatch *batch = lists[i]; batch; batch = batch->next)
            if (batch->seq == seq) return batch;
    CHECK(!"a batch of that number");
}

/* A reply rests on everything its run has seen: it waits for the newest batch that the run is part of. */
void batch_reply(Engine *engine, Resident *resident, Mail *mail, Status status, const Error *error, bool is_noop)
{
    ReplyEntry entry = { .mail = mail, .reply = { .status = status, .is_noop = is_noop } };
    if (error) entry.error = *error;
    if (resident) {
        entry.reply.run_id = resident->id;
        entry.reply.run_no = resident->run_no;
        entry.reply.run_state = resident->run.state;
        entry.reply.resolution = resident->run.resolution;
        entry.reply.is_repeat = mail->is_start && is_noop;
    }
    uint64_t seq = resident ? resident->batch_seq : 0;
    mail->is_refused = status != OK;
    if (batch_is_durable(engine, seq)) {
        answer(&entry);
        if (mail->is_notice) effect_report_over(engine, mail);
        mail_free(mail);
        return;
    }
    EngineBatch *batch = batch_find(engine, seq);
    if (mail->is_notice) {
        mail_list_add(&batch->notices, mail);
        return;
    }
    GROW(batch, replies, reply_count, reply_capacity);
    batch->replies[batch->reply_count++] = entry;
}

/* A start whose key has a run that is only in the store. */
void batch_reply_row(Engine *engine, Mail *mail, const Cell *row)
{
    (void)engine;
    EngineReply reply = { .run_no = (uint64_t)row[RUNS_run_no].integer, .is_repeat = true, .is_noop = true };
    RunState state;
    CHECK(id_read(row[RUNS_id].text, &reply.run_id));
    if (run_state_find(row[RUNS_state].text, &state)) reply.run_state = (uint8_t)state;
    if (mail->reply) mail->reply(mail->context, &reply);
    mail_free(mail);
}

/* --- going out and coming back ------------------------------------------------------------------------------------------- */

void batch_submit(Engine *engine)
{
    EngineBatch *batch = engine->open;
    if (!batch || engine->under_way_count >= ENGINE_BATCH_COUNT_MAX || engine->state == ENGINE_STALLED) return;
    Batch *out = &batch->batch;
    out->now_ms = engine->now_ms;
    out->head_after = engine->head;
    out->next_run_no = engine->next_run_no;
    out->next_step_run_no = engine->next_step_run_no;
    out->records = batch->records;
    projection_finish(batch->projection, &out->changes, &out->change_count);
    if (!engine->store->ops->submit(engine->store, out)) return;     /* it takes no more now: more is decided into it */
    engine->open = NULL;
    batch->next = NULL;
    *(engine->under_way_last ? &engine->under_way_last->next : &engine->under_way) = batch;
    engine->under_way_last = batch;
    engine->under_way_count++;
    engine->stats.batch_count++;
}

static void retire(Engine *engine, EngineBatch *batch)
{
    for (Mail *mail; (mail = mail_list_take(&batch->notices));) {
        effect_report_over(engine, mail);
        mail_free(mail);
    }
    for (uint32_t i = 0; i < batch->reply_count; i++) mail_free(batch->replies[i].mail);
    batch->reply_count = 0;
    batch->next = engine->spare;
    engine->spare = batch;
}

static void release(Engine *engine, EngineBatch *batch)
{
    engine->durable_seq = batch->seq;                           /* I11: only now does anything leave the process */
    if (engine->observe) effect_observe(engine, batch);
    for (uint32_t i = 0; i < batch->reply_count; i++) answer(&batch->replies[i]);
    for (uint32_t i = 0; i < batch->effect_count; i++) effect_perform(engine, &batch->effects[i]);
    effect_acknowledge(engine, batch);
    dedupe_purge(engine);
    for (uint32_t i = 0; i < batch->touched_count; i++) {
        Resident *resident = resident_find(engine, batch->touched[i]);
        if (resident) resident_leave(engine, resident);
    }
}

/* --- when a commit fails -------------------------------------------------------------------------------------------------- */

/* Nothing of this batch happened: its runs are read again, what executors said is decided again, who asked is told why. */
static void discard(Engine *engine, EngineBatch *batch)
{
    for (uint32_t i = 0; i < batch->reply_count; i++) {
        ReplyEntry *entry = &batch->replies[i];
        entry->reply.status = ERR_UNAVAILABLE;
        entry->error = engine->trouble;
        answer(entry);
    }
    for (uint32_t i = 0; i < batch->plan_count; i++) batch->plans[i]->is_stored = false;
    for (Mail *mail; (mail = mail_list_take(&batch->notices));) queue_mail(engine, tenant_of(engine, (Str){ 0 }), mail);
    for (uint32_t i = 0; i < batch->effect_count; i++)
        if (batch->effects[i].effect.kind == EFFECT_EXECUTE) effect_not_given(engine, &batch->effects[i]);
    for (uint32_t i = 0; i < batch->touched_count; i++) {
        Resident *resident = resident_find(engine, batch->touched[i]);
        if (resident) resident_discard(engine, resident);
    }
    retire(engine, batch);
}

/* All that the store had has come back: what it did not take is thrown away, together with what was decided on top of it. */
static void discard_all(Engine *engine)
{
    engine->durable_seq = engine->next_seq;             /* nothing waits for these batches any more */
    while (engine->failed) {
        EngineBatch *batch = engine->failed;
        engine->failed = batch->next;
        discard(engine, batch);
    }
    engine->failed_last = NULL;
    if (engine->open) {
        EngineBatch *batch = engine->open;
        engine->open = NULL;
        discard(engine, batch);
    }
    engine->position = engine->durable_position;
    engine->head = engine->durable_head;
}

static void fail(Engine *engine, EngineBatch *batch, const Completion *completion)
{
    if (engine->state != ENGINE_STALLED) engine->trouble = completion->error;      /* the first reason is the reason */
    engine->state = completion->outcome == STORE_FENCED ? ENGINE_FENCED : ENGINE_STALLED;
    engine->retry_at = engine->now_ms + STORE_RETRY_MS;
    engine->must_own = engine->must_own || completion->outcome == STORE_UNKNOWN;
    batch->next = NULL;
    *(engine->failed_last ? &engine->failed_last->next : &engine->failed) = batch;
    engine->failed_last = batch;
    if (!engine->under_way) discard_all(engine);
}

/* A store that refused is tried again after a while. Where it could not say what became of a commit, it says first where the
 * log ends. Runs that were thrown away are read again; what executors have under way goes on. */
void batch_retry(Engine *engine)
{
    if (engine->state != ENGINE_STALLED || engine->now_ms < engine->retry_at || engine->under_way || engine->read_count) return;
    Error err;
    if (engine->must_own) discard_all(engine);          /* what was decided since rests on a log that may have gone on */
    Status status = engine->must_own ? engine_take_log(engine, engine->now_ms, &err) : OK;
    if (status) {
        engine->trouble = err;
        engine->state = status == ERR_CONFLICT ? ENGINE_FENCED : ENGINE_STALLED;
        engine->retry_at = engine->now_ms + STORE_RETRY_MS;
        return;
    }
    engine->must_own = false;
    engine->state = ENGINE_RUNNING;
    recover_begin(engine, /* is_rescan= */ true);
}

void batch_completed(Engine *engine, const Completion *completion)
{
    EngineBatch *batch = completion->batch->context;
    CHECK(batch == engine->under_way);                  /* in the order of submission */
    engine->under_way = batch->next;
    if (!engine->under_way) engine->under_way_last = NULL;
    engine->under_way_count--;
    if (completion->outcome != STORE_DURABLE || engine->failed) {
        fail(engine, batch, completion);
        return;
    }
    engine->durable_position = batch->batch.first_position + batch->batch.record_count - 1;
    engine->durable_head = batch->batch.head_after;
    release(engine, batch);
    retire(engine, batch);
}

/* --- end ------------------------------------------------------------------------------------------------------------------ */

static void batch_free(EngineBatch *batch)
{
    for (Mail *mail; (mail = mail_list_take(&batch->notices));) mail_free(mail);
    for (uint32_t i = 0; i < batch->reply_count; i++) mail_free(batch->replies[i].mail);
    arena_deinit(&batch->batch.arena);
    free(batch);
}

/* What the store still has is waited for by whoever closes the store; here it has come back or never went out. */
void batches_deinit(Engine *engine)
{
    EngineBatch **lists[] = { &engine->open, &engine->under_way, &engine->failed, &engine->spare };
    for (uint32_t i = 0; i < 4; i++)
        while (*lists[i]) {
            EngineBatch *batch = *lists[i];
            *lists[i] = batch->next;
            if (i == 3) batch->reply_count = 0;         /* answered and freed when it was retired */
            batch_free(batch);
        }
}
