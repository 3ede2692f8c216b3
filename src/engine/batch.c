/* batch.c - what is committed together: records and rows going out, replies and effects waiting for them. */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "core/rationale.h"
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

/* What one run or one tenant may take of a batch while others wait for it: no more than is written in the time that the
 * sync takes anyway, so that on a fast disk it stays fast for the others, and on a slow one few syncs carry much. */
static uint32_t share(const Engine *engine)
{
    int64_t share = BATCH_SHARE_MIN + BATCH_SHARE_MIN * (engine->commit_ms_x8 / 8) / 4;
    return share < BATCH_SHARE_MAX ? (uint32_t)share : BATCH_SHARE_MAX;
}

static bool has_other_tenants(const Engine *engine)
{
    return engine->tenants_seq + BATCH_OTHERS_COUNT >= engine->next_seq;
}

bool batch_is_large(const Engine *engine)
{
    size_t share = engine->options.size_max / ENGINE_BATCH_SHARE;
    return engine->open && engine->open->size >= (share < BATCH_SIZE_MAX ? share : BATCH_SIZE_MAX);
}

bool batch_is_full(const Engine *engine)
{
    const EngineBatch *open = engine->open;
    if (!open) return false;
    bool has_other_runs = engine->runs_seq + BATCH_OTHERS_COUNT >= open->seq;
    /* Of many runs that all take much, none keeps the others waiting. */
    bool is_one_runs = open->run_weight_max >= share(engine) && open->run_weight_max >= open->weight / 2;
    return open->weight >= BATCH_EVENT_COUNT_MAX || batch_is_large(engine) || (has_other_runs && is_one_runs);
}

/* It has had its share of the open batch; others still find room in it. */
bool batch_is_full_for(const Engine *engine, const Tenant *tenant)
{
    if (!engine->open) return false;
    if (batch_is_full(engine)) return true;
    return has_other_tenants(engine) && tenant->batch_seq == engine->open->seq && tenant->batch_weight >= share(engine);
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
    resident->batch_weight = 0;
    GROW(batch, touched, touched_count, touched_capacity);
    batch->touched[batch->touched_count++] = resident->run_no;
}

uint32_t decision_weight(const Decision *decision, uint32_t first)
{
    uint32_t weight = decision->event_count - first;
    for (uint32_t i = first; i < decision->event_count; i++)
        if (decision->events[i].kind == EVENT_STEP_SKIPPED) weight += decision->events[i].last - decision->events[i].step;
    return weight;
}

/* Who takes up how much of the batch, and whether others are at work beside it: see batch_is_full(). */
static void weigh(Engine *engine, EngineBatch *batch, Resident *resident, const Decision *decision)
{
    uint32_t weight = decision_weight(decision, 0);
    Tenant *tenant = resident->tenant;
    if (tenant->batch_seq != batch->seq) {
        tenant->batch_seq = batch->seq;
        tenant->batch_weight = 0;
    }
    resident->batch_weight += weight;
    tenant->batch_weight += weight;
    batch->weight += weight;
    engine->weight += weight;
    if (resident->batch_weight > batch->run_weight_max) batch->run_weight_max = resident->batch_weight;
    if (engine->last_run_no && engine->last_run_no != resident->run_no) engine->runs_seq = batch->seq;
    if (engine->last_tenant && engine->last_tenant != tenant) engine->tenants_seq = batch->seq;
    engine->last_run_no = resident->run_no;
    engine->last_tenant = tenant;
}

/* --- recording a decision ------------------------------------------------------------------------------------------------ */

static void add_effect(EngineBatch *batch, uint64_t run_no, Effect effect)
{
    GROW(batch, effects, effect_count, effect_capacity);
    batch->effects[batch->effect_count++] = (EffectEntry){ effect, run_no };
}

/* The payload of a trigger is an output from then on. That of a signal which ended a pause is fetched where it is needed. */
static void keep_answer(Engine *engine, Resident *resident, const Event *event, Str text)
{
    const PlanTerms *terms = resident->plan->plan.terms;
    for (uint32_t i = 0; i < terms->pause_count; i++) {
        if (!str_is(terms->steps[terms->pauses[i]].pause.trigger, event->name)) continue;
        uint32_t which = resident->run.step_count + i;
        if (event->kind == EVENT_TRIGGER_RECEIVED && event->flags & TRIGGER_IS_UNMET) continue;
        if (event->payload != EVENT_NO_PAYLOAD) resident_keep(engine, resident, which, text);
        else if (event->kind == EVENT_TRIGGER_RECEIVED || !event->count) resident_forget(engine, resident, which);
    }
}

/* The effects that follow from these events, in their order; payloads that are needed again soon are kept at hand. */
static void collect(Engine *engine, EngineBatch *batch, Resident *resident, const Decision *decision, const Str *texts)
{
    uint32_t cooperatives = 0;              /* of the dispatch that a start follows */
    for (uint32_t i = 0; i < decision->event_count; i++) {
        const Event *event = &decision->events[i];
        Str text = event->payload != EVENT_NO_PAYLOAD && texts ? texts[event->payload] : (Str){ 0 };
        const StepRun *step = &resident->run.steps[event->step < resident->run.step_count ? event->step : 0];
        switch (event->kind) {
        case EVENT_PARAMS_CHANGED:
        case EVENT_RUN_CREATED: resident_keep(engine, resident, MISSING_PARAMS, text); break;
        case EVENT_STEP_DISPATCHED:
            cooperatives = admission_unpack(event->flags).cooperative_count;
            dedupe_begun(engine, resident, event, batch->seq);
            break;
        case EVENT_STEP_RUNNING:
            if (event->holder) {
                Effect effect = { EFFECT_EXECUTE, event->step, step->attempt, event->holder };
                effect_given(engine, resident, &effect, cooperatives);
                add_effect(batch, resident->run_no, effect);
                cooperatives = 0;
            }
            break;
        case EVENT_STEP_DEFERRED: engine->stats.defer_count++; break;
        case EVENT_COST_REPORTED: envelope_pay(engine, batch, resident, event); break;
        case EVENT_STEP_DROPPED: engine->stats.drop_counts[drop_cause_find(event->name)]++; break;
        case EVENT_STEP_SUCCEEDED:
            if (event->payload != EVENT_NO_PAYLOAD) resident_keep(engine, resident, event->step, text);
            dedupe_ended(engine, resident, event->step, /* is_done= */ true, text, batch->seq);
            break;
        case EVENT_POLL_ATTEMPTED:
            resident_keep(engine, resident, event->step, text);
            if (event->flags & 2) dedupe_ended(engine, resident, event->step, /* is_done= */ false, (Str){ 0 }, batch->seq);
            break;
        case EVENT_POLL_TIMED_OUT:
            if (event->payload != EVENT_NO_PAYLOAD) resident_keep(engine, resident, event->step, text);
            else resident_forget(engine, resident, event->step);
            dedupe_ended(engine, resident, event->step, /* is_done= */ false, (Str){ 0 }, batch->seq);
            break;
        case EVENT_TRIGGER_RECEIVED:
        case EVENT_TRIGGER_ENDED: keep_answer(engine, resident, event, text); break;
        case EVENT_STEP_SKIPPED:        /* one that was to be tried again has its key no longer */
            for (uint32_t s = event->step; s <= event->last; s++)
                dedupe_ended(engine, resident, s, /* is_done= */ false, (Str){ 0 }, batch->seq);
            break;
        case EVENT_COMPENSATION_RUNNING:
            if (event->holder) {
                Effect effect = { EFFECT_EXECUTE, event->step, rollback_attempt(&resident->run, event->attempt), event->holder };
                effect_given(engine, resident, &effect, admission_unpack(event->flags).cooperative_count);
                add_effect(batch, resident->run_no, effect);
            }
            break;
        case EVENT_NOTIFICATION_FAILED: {
            Effect effect;              /* withdrawn while somebody has it; who reported is no longer out */
            for (uint32_t nth = 0; !event->due_ms && effect_is_out(engine, resident->run_no, event->step, nth, &effect); nth++) {
                bool is_of_it = attempt_is_notification(effect.attempt)
                             && attempt_notification(effect.attempt) == (event->count & NOTIFICATION_NUMBER_MASK);
                if (is_of_it) add_effect(batch, resident->run_no, effect);
            }
            break;
        }
        case EVENT_STEP_SUPERSEDED: resident_forget(engine, resident, event->step); break;
        case EVENT_STEP_CANCELLING:
        case EVENT_STEP_OVERDUE:
        case EVENT_COMPENSATION_OVERDUE:
        case EVENT_STEP_CANCELLED:
        case EVENT_ATTEMPT_FAILED:
        case EVENT_COMPENSATION_ATTEMPT_FAILED:
        case EVENT_STEP_FAILED: {
            Effect effect;              /* who reported is no longer out; whoever is was given up */
            for (uint32_t nth = 0; effect_is_out(engine, resident->run_no, event->step, nth, &effect); nth++)
                add_effect(batch, resident->run_no, effect);
            if (event->kind != EVENT_STEP_FAILED && event->kind != EVENT_STEP_CANCELLED) break;
            dedupe_ended(engine, resident, event->step, /* is_done= */ false, (Str){ 0 }, batch->seq);
            resident_forget(engine, resident, event->step);
            break;
        }
        default: break;
        }
        if (event->due_ms) timer_note(engine, resident->run_no, event->due_ms);
        if (event->lease_ms) timer_note(engine, resident->run_no, event->lease_ms);
    }
}

BatchRecord *batch_append(Engine *engine, EngineBatch *batch, const BatchRecord *shape, Digest *head)
{
    Arena *arena = &batch->batch.arena;
    GROW(batch, records, batch.record_count, record_capacity);
    BatchRecord *record = &batch->records[batch->batch.record_count++];
    *record = *shape;
    record->position = ++engine->position;
    record->record = arena_copy(arena, buf_peek(&engine->record_buf));
    record->payload = engine->payload_buf.len ? arena_copy(arena, buf_peek(&engine->payload_buf)) : (Str){ 0 };
    batch->size += record->record.len + record->payload.len;
    engine->stats.record_count++;
    engine->stats.event_count += record->event_count;
    record->hash = *head = chain_record(head, record->record);
    engine->head = chain_log(&engine->head, &record->hash);
    return record;
}

/* --- traces: a run has the trace of its start, each attempt a span of its own, everything else one a record ----------------- */

/* `step_run` 0: the one that the step has now. */
Trace batch_span(const Resident *resident, uint32_t step, uint32_t step_run, uint32_t attempt)
{
    uint32_t number = step_run ? step_run : resident->run.steps[step].number;
    return trace_span(&resident->trace, resident->run.seed, SPAN_ATTEMPT, number, attempt);
}

/* A command that brings a trace is recorded with that; of what executors report the span is the attempt's. */
static Str record_trace(Resident *resident, const Command *command, uint64_t first_event, char text[TRACE_TEXT_SIZE])
{
    Trace trace;
    char fitted[TRACE_STATE_SIZE_MAX];
    bool is_given = command->trace.len && trace_read(command->trace, &trace);
    if (first_event == 1) {
        if (!is_given) trace = trace_make(resident->run.seed);
        resident->trace = trace;
        if (is_given) resident_keep_tracestate(resident, trace_state_fit(command->tracestate, fitted));     /* whoever brings it */
    } else if (!is_given) {
        bool is_of_attempt = command->holder && command->attempt && command->step < resident->run.step_count;
        trace = is_of_attempt ? batch_span(resident, command->step, command->step_run, command->attempt)
                              : trace_span(&resident->trace, resident->run.seed, SPAN_RECORD, first_event, 0);
    }
    return trace_print(&trace, text);
}

static bool is_set(const Digest *digest)
{
    static const Digest none = { { 0 } };
    return memcmp(digest, &none, sizeof none) != 0;
}

/* What applies to a plan is asked once: it does not change while this engine lives. */
static Digest policies_of(const Engine *engine, PlanEntry *entry)
{
    if (!is_set(&entry->policies) && engine->options.policies)
        entry->policies = engine->options.policies(engine->options.verdict_context, &entry->plan);
    if (!is_set(&entry->policies)) entry->policies = engine->policy_digest;
    return entry->policies;
}

/* I1: who, why, under which policies and in which trace, together with what happened. */
void batch_record(Engine *engine, Resident *resident, const Command *command, const Decision *decision)
{
    EngineBatch *batch = batch_open(engine);
    uint64_t first_event = resident->run.event_count - decision->event_count + 1;
    const Str *texts = decision->texts;
    char trace[TRACE_TEXT_SIZE];
    RecordHead head = {
        .log = engine->options.log, .position = engine->position + 1, .run_id = id_peek(&resident->id),
        .first_event = first_event, .now_ms = engine->now_ms, .actor = command->actor,
        .rationale = rationale_of(&engine->arena, command, decision->events[0].kind),
        .trace = record_trace(resident, command, first_event, trace), .command_id = command->id,
        .tracestate = first_event == 1 ? resident->tracestate : (Str){ 0 },
        .policy = is_set(&decision->policy) ? decision->policy : policies_of(engine, resident->plan),
    };
    uint8_t salt[SALT_SIZE] = { 0 };
    if (texts) engine->options.random(engine->options.context, salt, sizeof salt);
    Payload *payloads = ARENA_ARRAY(&batch->batch.arena, Payload, decision->payload_count + 1);
    buf_clear(&engine->record_buf);
    buf_clear(&engine->payload_buf);
    record_encode(&head, decision->events, decision->event_count, texts, decision->payload_count, salt, &engine->record_buf,
                  &engine->payload_buf, payloads);
    CHECK(!buf_overflowed(&engine->record_buf) && !buf_overflowed(&engine->payload_buf));

    BatchRecord shape = { .run_no = resident->run_no, .prev_position = resident->last_position, .first_event = first_event,
                          .event_count = decision->event_count };
    BatchRecord *record = batch_append(engine, batch, &shape, &resident->head);
    resident->last_position = engine->position;

    touch(batch, resident);
    weigh(engine, batch, resident, decision);
    collect(engine, batch, resident, decision, texts);
    projection_record(batch->projection, &(ProjectionInput){
        .plan = &resident->plan->plan, .run = &resident->run, .head = &head, .events = decision->events,
        .event_count = decision->event_count, .payloads = payloads, .record = record,
        .begun_count = &resident->begun_count, .step_numbers = resident->step_numbers, .next_step_run_no = &engine->next_step_run_no });
    batch_park(engine, batch, resident);
}

/* --- replies ------------------------------------------------------------------------------------------------------------- */

/* Counted here, where nobody decides again: of what a commit that failed takes back each request is answered once all the same. */
static void answer(Engine *engine, const ReplyEntry *entry)
{
    EngineReply reply = entry->reply;
    if (reply.status) reply.error = &entry->error;
    if (!entry->mail->reply) return;
    engine->stats.refused_count += reply.status != OK;
    entry->mail->reply(entry->mail->context, &reply);
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

/* What became of it is told, by the store's word where that may know better. */
static void notice_over(Engine *engine, Mail *mail)
{
    if (recall_begin(engine, mail)) return;
    effect_report_over(engine, mail);
    mail_free(mail);
}

void batch_reply_with(Engine *engine, uint64_t seq, const ReplyEntry *entry)
{
    Mail *mail = entry->mail;
    if (batch_is_durable(engine, seq)) {
        answer(engine, entry);
        if (mail->is_notice) effect_answer(engine, mail);
        if (mail->is_notice) notice_over(engine, mail);
        else mail_free(mail);
        return;
    }
    EngineBatch *batch = batch_find(engine, seq);
    if (mail->is_notice) {
        mail_list_add(&batch->notices, mail);
        return;
    }
    GROW(batch, replies, reply_count, reply_capacity);
    batch->replies[batch->reply_count++] = *entry;
}

/* The answer to a request with an id is kept, and given once it is; whoever sent it again meanwhile gets the same. */
static void reply(Engine *engine, uint64_t seq, const ReplyEntry *entry)
{
    bool is_kept = request_keep(engine, entry->mail, &entry->reply, &entry->error);
    if (!is_kept) request_share(engine, seq, entry);
    else seq = engine->open->seq;
    batch_reply_with(engine, seq, entry);           /* where it is kept, the mail lives on in the batch */
    if (is_kept) request_share(engine, seq, entry);
}

/* A reply rests on everything its run has seen: it waits for the newest batch that the run is part of. */
void batch_reply(Engine *engine, Resident *resident, Mail *mail, Status status, const Error *error, bool is_noop)
{
    ReplyEntry entry = { .mail = mail, .reply = { .status = status, .is_noop = is_noop, .is_over_quota = mail->is_over_quota,
                                               .quota_ms = mail->quota_ms, .is_stale = mail->is_stale,
                                               .is_overtaken = mail->is_overtaken, .is_inactive = mail->is_inactive,
                                               .is_other_start = mail->is_other_start, .is_of_params = mail->is_of_params,
                                               .outcome = status ? NULL : mail->outcome } };
    if (error) entry.error = *error;
    if (resident) {
        entry.reply.run_id = resident->id;
        entry.reply.run_no = resident->run_no;
        entry.reply.run_state = resident->run.state;
        entry.reply.resolution = resident->run.resolution;
        entry.reply.is_repeat = mail->is_start && is_noop;
    }
    mail->is_refused = status != OK;
    reply(engine, resident ? resident->batch_seq : 0, &entry);
}

void batch_reply_stored(Engine *engine, Mail *mail, RunState state, Status status, const Error *error)
{
    ReplyEntry entry = { .mail = mail,
                         .reply = { .status = status, .run_id = mail->run_id, .run_no = mail->run_no, .run_state = (uint8_t)state,
                                    .is_repeat = !status, .is_noop = !status, .is_other_start = mail->is_other_start } };
    if (status) entry.error = *error;
    mail->is_refused = status != OK;
    reply(engine, /* seq= */ 0, &entry);
}

void batch_reply_open(Engine *engine, Mail *mail)
{
    reply(engine, batch_open(engine)->seq, &(ReplyEntry){ .mail = mail });
}

/* --- going out and coming back ------------------------------------------------------------------------------------------- */

/* Attempts that were handed over in this turn may have ended already, on this thread. While tenants share the log the open batch
 * lets one turn pass, so that they are in it: else each of them would wait for one more commit of the others than it needs. */
static bool is_held(Engine *engine, const EngineBatch *batch)
{
    if (!has_other_tenants(engine) || engine->handed_turn != engine->turn || engine->held_seq == batch->seq) return false;
    engine->held_seq = batch->seq;
    return true;
}

/* False: the store takes no more now, and more is decided into it. */
static bool hand_over(Engine *engine, EngineBatch *batch)
{
    Batch *out = &batch->batch;
    out->now_ms = engine->now_ms;
    batch->submitted_ms = engine->steady_ms;
    out->head_after = engine->head;
    batch->chain_after = engine->chain;
    out->next_run_no = engine->next_run_no;
    out->next_step_run_no = engine->next_step_run_no;
    out->records = batch->records;
    if (engine->envelope_count) envelopes_store(engine, batch);
    projection_finish(batch->projection, &out->changes, &out->change_count);
    if (!engine->store->ops->submit(engine->store, out)) return false;
    engine->open = NULL;
    batch->next = NULL;
    *(engine->under_way_last ? &engine->under_way_last->next : &engine->under_way) = batch;
    engine->under_way_last = batch;
    engine->under_way_count++;
    engine->stats.batch_count++;
    meter_batch(engine, batch);
    return true;
}

void batch_submit(Engine *engine)
{
    EngineBatch *batch = engine->open;
    /* While tenants share the log, a batch stays open until the one before it is durable: who comes meanwhile is in it. */
    uint32_t count_max = has_other_tenants(engine) ? 1 : ENGINE_BATCH_COUNT_MAX;
    if (!batch || engine->under_way_count >= count_max || engine->state == ENGINE_STALLED || is_held(engine, batch)) return;
    (void)hand_over(engine, batch);
}

static void retire(Engine *engine, EngineBatch *batch)
{
    for (Mail *mail; (mail = mail_list_take(&batch->notices));) notice_over(engine, mail);
    for (uint32_t i = 0; i < batch->reply_count; i++) {
        request_forget(engine, batch->replies[i].mail);
        mail_free(batch->replies[i].mail);
    }
    batch->reply_count = 0;
    batch->next = engine->spare;
    engine->spare = batch;
}

static void release(Engine *engine, EngineBatch *batch)
{
    engine->durable_seq = batch->seq;                           /* I11: only now does anything leave the process */
    meter_durable(engine, batch);
    if (engine->observe) effect_observe(engine, batch);
    secrets_observe(engine);
    for (uint32_t i = 0; i < batch->reply_count; i++) answer(engine, &batch->replies[i]);
    for (uint32_t i = 0; i < batch->effect_count; i++) effect_perform(engine, &batch->effects[i]);
    effect_acknowledge(engine, batch);
    dedupe_purge(engine);
    if (engine->revising) revisions_durable(engine);
    secrets_durable(engine);
    for (uint32_t i = 0; i < batch->touched_count; i++) {
        Resident *resident = resident_find(engine, batch->touched[i]);
        if (!resident) continue;
        resident_cool(engine, resident);
        resident_leave(engine, resident);
    }
}

/* --- when a commit fails -------------------------------------------------------------------------------------------------- */

/* Nothing of this batch happened: its runs are read again, what executors said is decided again, who asked is told why. */
static void discard(Engine *engine, EngineBatch *batch)
{
    for (uint32_t i = 0; i < batch->reply_count; i++) {
        ReplyEntry *entry = &batch->replies[i];
        entry->reply = (EngineReply){ .status = ERR_UNAVAILABLE };
        entry->error = engine->trouble;
        answer(engine, entry);
    }
    for (uint32_t i = 0; i < batch->plan_count; i++) plan_discarded(batch->plans[i]);
    for (Mail *mail; (mail = mail_list_take(&batch->notices));) queue_mail(engine, tenant_of_run(engine, mail->run_no), mail);
    for (uint32_t i = 0; i < batch->effect_count; i++)
        if (batch->effects[i].effect.kind == EFFECT_EXECUTE) effect_not_given(engine, &batch->effects[i]);
    for (uint32_t i = 0; i < batch->touched_count; i++) {
        Resident *resident = resident_find(engine, batch->touched[i]);
        if (resident) resident_discard(engine, resident);
    }
    envelope_unpay(batch);
    log_notes_back(engine, batch);
    retire(engine, batch);
}

/* All that the store had has come back: what it did not take is thrown away, together with what was decided on top of it. */
static void discard_all(Engine *engine)
{
    dedupe_discard(engine);
    engine->durable_seq = engine->next_seq;             /* nothing waits for these batches any more */
    revisions_discard(engine);
    secrets_durable(engine);
    envelopes_discard(engine);
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
    engine->chain = engine->durable_chain;
}

/* Tried again ever more rarely: what a full disk lacks, a person has to give. */
static void stall(Engine *engine, const Error *why)
{
    engine->trouble = *why;
    error_prefix(&engine->trouble, "the store cannot be written: ");
    engine->state = ENGINE_STALLED;
    engine->retry_at = engine->now_ms + ((int64_t)STORE_RETRY_MS << (engine->stall_count < STORE_RETRY_SHIFT_MAX ? engine->stall_count
                                                                                                  : STORE_RETRY_SHIFT_MAX));
    engine->stall_count++;
}

/* I14: another owner is never forgotten: whatever else comes back, this engine does nothing more. */
static void fence(Engine *engine, const Error *why)
{
    engine->trouble = *why;
    engine->state = ENGINE_FENCED;
}

static void fail(Engine *engine, EngineBatch *batch, const Completion *completion)
{
    engine->meter.commit_failures++;
    if (completion->outcome == STORE_FENCED && engine->state != ENGINE_FENCED) fence(engine, &completion->error);
    /* The first reason is the reason, until it is tried again. */
    bool is_first = engine->state != ENGINE_STALLED || engine->is_probing;
    if (engine->state != ENGINE_FENCED && is_first) stall(engine, &completion->error);
    engine->is_probing = false;
    engine->must_own = engine->must_own || completion->outcome == STORE_UNKNOWN;
    batch->next = NULL;
    *(engine->failed_last ? &engine->failed_last->next : &engine->failed) = batch;
    engine->failed_last = batch;
    if (!engine->under_way) discard_all(engine);
}

/* It takes commits again: runs that were thrown away are read again; what executors have under way goes on. */
static void resume(Engine *engine)
{
    engine->is_probing = false;
    engine->state = ENGINE_RUNNING;
    recover_begin(engine, /* is_rescan= */ true);
}

/* A store that refused is tried again after a while. Where it could not say what became of a commit, it says first where the
 * log ends. That it takes something is shown by a commit alone: of what was decided since, or of nothing but the log's head. */
void batch_retry(Engine *engine)
{
    if (engine->state != ENGINE_STALLED || engine->now_ms < engine->retry_at || engine->under_way || engine->read_count) return;
    Error err;
    if (engine->must_own) discard_all(engine);          /* what was decided since rests on a log that may have gone on */
    engine->meter.log_takes += engine->must_own;
    Status status = engine->must_own ? engine_take_log(engine, engine->now_ms, &err) : OK;
    if (status) {
        if (status == ERR_CONFLICT) fence(engine, &err);
        else stall(engine, &err);
        return;
    }
    engine->must_own = false;
    engine->is_probing = hand_over(engine, batch_open(engine));
    engine->retry_at = engine->now_ms + STORE_RETRY_MS;         /* where it took no batch; else its outcome decides */
}

void batch_completed(Engine *engine, const Completion *completion)
{
    EngineBatch *batch = completion->batch->context;
    CHECK(batch == engine->under_way);                  /* in the order of submission */
    engine->under_way = batch->next;
    if (!engine->under_way) engine->under_way_last = NULL;
    engine->under_way_count--;
    engine->commit_ms_x8 += engine->steady_ms - batch->submitted_ms - engine->commit_ms_x8 / 8;
    if (completion->outcome != STORE_DURABLE) {
        fail(engine, batch, completion);
        return;
    }
    if (!engine->failed) engine->stall_count = 0;
    engine->durable_position = batch->batch.first_position + batch->batch.record_count - 1;
    engine->durable_head = batch->batch.head_after;
    engine->durable_chain = batch->chain_after;
    if (engine->is_probing) resume(engine);
    release(engine, batch);
    retire(engine, batch);
    /* Behind a refused batch that had rows and no records the log goes on where it should: what followed was written. */
    if (engine->failed && !engine->under_way) discard_all(engine);
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
