/* effect_notice.c - what executors say, as commands; and what they and observers are told once it is durable. */
#include "base/check.h"
#include "engine/effect_parts.h"
#include "engine/redact.h"
#include "ledger/record.h"

/* A command of it, for the step run that its attempt is of. */
static Mail *queue_notice(Engine *engine, const Notice *notice, Str teller, uint32_t step_run, uint64_t number)
{
    Mail *mail = mail_of_notice(notice, teller);
    mail->command.step_run = step_run;
    mail->command.notice = number;
    queue_mail(engine, tenant_of_run(engine, notice->id.run_no), mail);
    return mail;
}

/* Of an attempt of this owner only the executor that has it speaks, and only for the tenant whose it is: whatever an executor makes of
 * tokens, the engine holds it to that. Of an earlier owner's attempts the decision looks at the tenant. */
static bool may_tell(Engine *engine, const Notice *notice)
{
    const Executor *executor = holder_executor(engine, notice->id.holder);
    if (!notice->teller || notice->kind == NOTICE_ROOM || !executor) return true;
    if (executor != notice->teller) return false;
    const OutEntry *out = out_find(engine, &notice->id, /* is_reported= */ false);
    return !out || !notice->tenant.len || str_is(notice->tenant, out->tenant->name);
}

/* An attempt whose time, or what its tenant may have, is over: told to end, and not at its end yet. NULL: it is not. */
static const ActiveStep *overdue(const Resident *resident, const AttemptId *id)
{
    bool is_held = resident && !resident->loader && !attempt_rollback(id->attempt) && run_holds(&resident->run, id->step, id->attempt, id->holder);
    const ActiveStep *active = is_held ? run_active(&resident->run, id->step) : NULL;
    return active && active->is_overdue ? active : NULL;
}

/* Whatever it says in the end, it was too slow. */
static bool is_late(const Resident *resident, const AttemptId *id)
{
    const ActiveStep *active = overdue(resident, id);
    return active && !active->is_spent;
}

/* Whoever is alive with an attempt that was given up, or that an earlier owner gave out and that is to end, is told so. */
static bool is_for_nothing(Engine *engine, const Resident *resident, const Notice *notice)
{
    const AttemptId *id = &notice->id;
    if (attempt_is_notification(id->attempt) || engine->is_recovering || (resident && resident->loader)) return false;
    if (!resident || !run_holds(&resident->run, id->step, id->attempt, id->holder)) return true;
    if (attempt_rollback(id->attempt)) return resident->run.rollback.active.is_overdue;
    return overdue(resident, id) || resident->run.steps[id->step].flags & STEP_ENDING;
}

/* The secrets that its attempt got are not in memory any more: where they cannot be told yet, the line is left out. */
static void log_line_earlier(Engine *engine, Resident *resident, const Notice *notice)
{
    Notice clean = *notice;
    Command said = { .step = notice->id.step, .attempt = notice->id.attempt, .value = value_null(), .name = notice->text,
                     .report.output = value_null() };
    InputResult filled;
    if (effect_redact_earlier(engine, resident, &said, &filled) == INPUT_MISSING) {
        load_fetch(engine, resident, filled.missing);
        return;
    }
    clean.text = said.name;
    log_line_add(engine, &clean);
}

/* Of what nothing is recorded for: whoever said it is told at once. */
static void receive(const Notice *notice, bool is_taken)
{
    Executor *teller = notice->teller;
    if (!teller) return;
    if (notice->receipt) teller->ops->received(teller, notice->receipt, is_taken);
    else if (!is_taken && notice->kind == NOTICE_EFFECT && teller->ops->refuse) teller->ops->refuse(teller, &notice->id);
}

/* The same of whatever it is: a report of it is settled, too. */
static void refuse_notice(const Notice *notice)
{
    receive(notice, /* is_taken= */ false);
    if (notice->kind == NOTICE_REPORT && notice->teller && notice->teller->ops->settled)
        notice->teller->ops->settled(notice->teller, &notice->id, /* is_taken= */ false);
}

static void take_notice(Engine *engine, const Notice *notice)
{
    if (!may_tell(engine, notice)) {
        refuse_notice(notice);
        return;
    }
    Resident *resident = resident_find(engine, notice->id.run_no);
    Executor *executor = holder_executor(engine, notice->id.holder);
    OutEntry *stray = notice->kind <= NOTICE_SIGNAL ? out_find_stray(engine, &notice->id) : NULL;
    if (stray) {                            /* it was given up: whatever it says, it is the last of it that counts */
        refuse_notice(notice);
        if (notice->kind == NOTICE_REPORT) out_end(engine, &notice->id, stray, /* is_reported= */ false);
        return;
    }
    OutEntry *out = out_find(engine, &notice->id, /* is_reported= */ false);
    uint32_t step_run = out ? out->step_run : attempt_step_run(notice->id.serial);
    /* Whatever a remote attempt says, it is alive; the lease of an executor of this process ends with the process. */
    bool is_its_own = !notice->tenant.len || !resident || !resident->tenant || str_is(notice->tenant, resident->tenant->name);
    if (notice->kind != NOTICE_ROOM && notice->teller && notice->teller->lease_ms && resident && !resident->loader && is_its_own)
        run_renew(&resident->run, notice->id.step, notice->id.attempt, notice->id.holder,
                  engine->now_ms + notice->teller->lease_ms, RENEWAL_BY_HOLDER);
    /* Of an attempt that an earlier owner of the log gave to a remote executor the core knows whether it is under way. */
    bool is_earlier = notice->teller && holder_epoch(notice->id.holder) < engine->holder_epoch;
    bool is_held = is_earlier && is_its_own && resident && !resident->loader
                && run_holds(&resident->run, notice->id.step, notice->id.attempt, notice->id.holder);
    switch (notice->kind) {
    case NOTICE_REPORT: {
        Notice ended = *notice;
        const Hold *hold = out ? out->hold : is_held ? inherit_hold(engine, &notice->id) : NULL;
        if (envelope_ended(engine, hold, &ended.report.message)) {      /* whatever it says: it was its tenant's envelope that ended it */
            ended.report.cause = CAUSE_BUDGET_EXCEEDED;
            ended.report.output = value_null();
            notice = &ended;
        }
        if (out && out->is_handed && !out->is_lost)
            gate_outcome(engine, out->pass, is_late(resident, &notice->id) ? CAUSE_TIMEOUT : notice->report.cause);
        if (out) place_measured(engine, out, notice->report.cause);
        if (out_take_back(engine, &notice->id, /* is_reported= */ true) || is_earlier)
            queue_notice(engine, notice, notice->teller ? notice->teller->name : executor->name, step_run, /* number= */ 0);
        else if (notice->teller && notice->teller->answers_again)       /* said before: the store knows what was answered */
            queue_notice(engine, notice, notice->teller->name, step_run, /* number= */ 0)->is_repeat = true;
        else refuse_notice(notice);
        break;
    }
    case NOTICE_EFFECT:
    case NOTICE_COST:
    case NOTICE_SIGNAL:
        if (out) queue_notice(engine, notice, executor->name, step_run, ++engine->notice_number);   /* kept when it is decided again */
        else if (is_earlier && (notice->kind != NOTICE_SIGNAL || is_held))      /* numbers of an earlier epoch are below these */
            queue_notice(engine, notice, notice->teller->name, step_run, engine->holder_epoch << 32 | ++engine->notice_number);
        else receive(notice, /* is_taken= */ false);                                                /* it has ended, by its own word */
        break;
    case NOTICE_LOG:
        if (is_held) log_line_earlier(engine, resident, notice);
        else if (out || !notice->teller || out_find(engine, &notice->id, /* is_reported= */ true)) log_line_add(engine, notice);
        break;
    case NOTICE_PROGRESS:
        if (engine->observe && resident)
            engine->observe(engine->observe_context,
                            &(Observation){ .kind = OBSERVE_PROGRESS, .run_no = notice->id.run_no,
                                            .plan = &resident->plan->plan, .run = &resident->run,
                                            .step = notice->id.step, .text = notice->text, .number = notice->number,
                                            .now_ms = engine->now_ms });
        receive(notice, out || !is_for_nothing(engine, resident, notice));
        break;
    case NOTICE_HEARTBEAT:
        receive(notice, is_its_own && (out || !is_for_nothing(engine, resident, notice)));
        if (!out && notice->teller && is_its_own && is_for_nothing(engine, resident, notice)) notice->teller->ops->end(notice->teller, &notice->id);
        break;
    case NOTICE_ROOM:
        if (notice->teller) executor = notice->teller;
        if (executor) effect_take_room(engine, executor, notice);
        break;
    }
}

/* An executor may speak while it is being given an attempt, whose values lie in the engine's arena: this has its own. */
void engine_notice(Engine *engine, const Notice *notice)
{
    const OutEntry *entry = run_index_find(&engine->outs, notice->id.run_no);
    while (entry && !(entry->secrets && out_is(entry, &notice->id))) entry = entry->next;
    if (!entry) {
        take_notice(engine, notice);
        return;
    }
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Notice clean = redact_notice(entry->secrets, &arena, notice);
    take_notice(engine, &clean);
    arena_deinit(&arena);
}

/* An attempt that waits to act is told whether what it announced is durable. */
void effect_answer(Engine *engine, const Mail *mail)
{
    if (mail->receipt) mail->teller->ops->received(mail->teller, mail->receipt, !mail->is_refused);
    if (mail->command.kind != COMMAND_EFFECT || mail->receipt) return;
    Executor *executor = mail->teller ? mail->teller : holder_executor(engine, mail->command.holder);
    AttemptId id = { mail->run_no, mail->command.step, mail->command.attempt, mail->command.holder, mail->serial };
    void (*tell)(Executor *, const AttemptId *) = !executor ? NULL : mail->is_refused ? executor->ops->refuse : executor->ops->acknowledge;
    if (tell) tell(executor, &id);
}

void effect_acknowledge(Engine *engine, const EngineBatch *batch)
{
    for (const Mail *mail = batch->notices.first; mail; mail = mail->next) effect_answer(engine, mail);
}

void effect_observe(Engine *engine, const EngineBatch *batch)
{
    for (uint32_t i = 0; i < batch->line_run_count; i++)
        engine->observe(engine->observe_context, &(Observation){ .kind = OBSERVE_LINES, .run_no = batch->line_runs[i], .now_ms = engine->now_ms });
    for (uint32_t i = 0; i < batch->batch.record_count; i++) {
        const BatchRecord *raw = &batch->records[i];
        Resident *resident = raw->run_no ? resident_find(engine, raw->run_no) : NULL;
        if (!resident) continue;
        arena_reset(&engine->arena);
        Record record;
        Error err;
        CHECK(record_decode(&engine->arena, raw->record, &record, &err) == OK);     /* we wrote it a moment ago */
        Str *texts = ARENA_ARRAY(&engine->arena, Str, record.payload_count + 1);
        for (uint32_t j = 0; j < record.payload_count; j++)
            CHECK(record_payload(&record, raw->payload, j, &texts[j], &err) == OK);
        engine->observe(engine->observe_context,
                        &(Observation){ .kind = OBSERVE_EVENTS, .run_no = raw->run_no, .record = raw->record,
                                        .plan = &resident->plan->plan, .run = &resident->run, .events = record.events,
                                        .event_count = record.event_count, .first_event = raw->first_event,
                                        .now_ms = record.head.now_ms, .payloads = texts });
    }
}
