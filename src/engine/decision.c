/* decision.c - one command on one run: decide, apply, advance, record. */
#include "base/check.h"
#include "base/limits.h"
#include "engine/internal.h"
#include "value/json.h"

Str builtin_policy_text(void)
{
    return STR("package maestro.builtin\n\nallow := true\n");
}

/* --- what the core asks of its surroundings ---------------------------------------------------------------------------- */

typedef struct ReadValue { struct ReadValue *next; uint32_t which; Value value; } ReadValue;

static bool read_text(Surroundings *around, uint32_t which, Value *out)
{
    for (const ReadValue *read = around->values; read; read = read->next) {
        if (read->which != which) continue;
        *out = read->value;
        return true;
    }
    Str text;
    if (!resident_text(around->resident, which, &text)) return false;
    *out = value_null();
    Arena *arena = &around->engine->arena;
    Error err;
    CHECK(!text.len || json_parse(arena, text, out, &err) == OK);       /* we printed it ourselves */
    if (text.len < READ_VALUE_SIZE_MIN) return true;                    /* reading it is quicker than looking for it */
    ReadValue *read = ARENA_NEW(arena, ReadValue);
    *read = (ReadValue){ around->values, which, *out };
    around->values = read;
    return true;
}

static bool env_params(void *context, const Run *run, Value *out)
{
    Surroundings *around = context;
    (void)run;
    const Value *fresh = around->decision ? decision_params(around->decision) : NULL;
    if (fresh) *out = *fresh;
    return fresh || read_text(around, MISSING_PARAMS, out);
}

static bool env_output(void *context, const Run *run, uint32_t which, Value *out)
{
    Surroundings *around = context;
    const Plan *plan = &around->resident->plan->plan;
    const Value *fresh = around->decision ? decision_value(around->decision, plan, which) : NULL;
    if (fresh) {
        *out = *fresh;
        return true;
    }
    if (!run_value_at(run, which)) {
        *out = value_null();
        return true;
    }
    return read_text(context, which, out);
}

static ConditionAnswer env_condition(void *context, const ConditionAsk *ask, Arena *arena, ConditionResult *out)
{
    Surroundings *around = context;
    ConditionReader reader = { .context = context, .params = env_params, .output = env_output };
    ConditionAnswer answer = condition_ask(around->resident->plan->conditions, ask, &reader, arena, out);
    around->condition_step_count += out->step_count;
    return answer;
}

/* Of a step that is about to be dispatched the one that was chosen just now; of one that ended the one that had it. */
static Str executor_of(Engine *engine, Hook hook, const Run *run, uint32_t step)
{
    const Executor *executor = NULL;
    const ActiveStep *active = hook == HOOK_STEP_END ? run_active(run, step) : NULL;
    if (hook == HOOK_STEP_DISPATCH && engine->placed && engine->placed_step == step) executor = engine->placed;
    if (active) executor = holder_executor(engine, active->holder);
    return executor ? executor->name : (Str){ 0 };
}

static Verdict env_verdict(void *context, Hook hook, const Plan *plan, const Run *run, uint32_t step, Value input)
{
    Surroundings *around = context;
    Engine *engine = around->engine;
    if (!engine->options.verdict) {
        engine->meter.verdicts[hook][VERDICT_ALLOW]++;
        return (Verdict){ .kind = VERDICT_ALLOW, .policy = engine->policy_digest };
    }
    VerdictAsk ask = {
        .hook = hook, .plan = plan, .run = run, .step = step, .input = input,
        .executor = executor_of(engine, hook, run, step), .command = around->command,
        .now_ms = engine->now_ms, .built_in = engine->policy_digest, .arena = &engine->arena, .params = env_params,
        .context = context,
    };
    Verdict verdict = engine->options.verdict(engine->options.verdict_context, &ask);
    engine->meter.verdicts[hook][verdict.kind]++;
    return verdict;
}

static Place env_place(void *context, const Plan *plan, const Run *run, uint32_t step)
{
    return effect_place(((Surroundings *)context)->engine, plan, run, step);
}

static Dedupe env_dedupe(void *context, const Run *run, uint32_t step, Str domain, Str key)
{
    Surroundings *around = context;
    (void)run;
    return dedupe_ask(around->engine, around->resident, step, domain, key);
}

static Status env_schema(void *context, const Plan *plan, Value schema, Value instance, Error *err)
{
    Surroundings *around = context;
    (void)plan;
    return plan_schema_check(around->resident->plan, schema, instance, &around->engine->arena, err);
}

DecideEnv surroundings_env(Surroundings *around)
{
    return (DecideEnv){ .context = around, .params = env_params, .output = env_output, .condition = env_condition,
                        .verdict = env_verdict, .place = env_place, .dedupe = env_dedupe, .schema = env_schema };
}

/* --- consequences ------------------------------------------------------------------------------------------------------ */

static void apply_from(Engine *engine, Resident *resident, Decision *decision, uint32_t first)
{
    decision_cut_texts(decision, first);
    EventPlace place = { .now_ms = engine->now_ms, .position = engine->position + 1 };
    for (uint32_t i = first; i < decision->event_count; i++) {
        MeterMark mark;
        meter_before(resident, &decision->events[i], &mark);
        run_apply(&resident->run, &resident->plan->plan, &decision->events[i], &place);
        meter_after(engine, resident, &decision->events[i], &mark);
    }
}

/* Decides what follows from the run's state and applies it, up to the bound of one decision. */
static Advance advance_all(Engine *engine, Resident *resident, const Command *command, Decision *decision)
{
    Surroundings around = { engine, resident, decision, command, NULL };
    DecideEnv env = surroundings_env(&around);
    uint32_t weight = decision_weight(decision, 0);
    for (;;) {
        bool is_long = around.condition_step_count >= CONDITION_STEP_COUNT_MAX;          /* others have their turn between */
        if (weight >= DECISION_WEIGHT_MAX || decision_is_heavy(decision) || is_long) return ADVANCE_EVENTS;
        uint32_t first = decision->event_count;
        Advance answer = advance(&env, &resident->plan->plan, &resident->run, engine->now_ms,
                                 DECISION_WEIGHT_MAX - weight, decision);
        apply_from(engine, resident, decision, first);
        weight += decision_weight(decision, first);
        if (answer != ADVANCE_EVENTS) return answer;
        CHECK(decision->event_count > first);       /* else this would go on for ever */
    }
}

/* What becomes of the run after a decision: more at once, a value to fetch, room to wait for, a time to note. */
static void follow(Engine *engine, Resident *resident, Advance answer, const Decision *decision)
{
    if (answer == ADVANCE_EVENTS) queue_work(engine, resident);
    else if (answer == ADVANCE_MISSING && decision->missing_is_key) dedupe_fetch(engine, resident);
    else if (answer == ADVANCE_MISSING) load_fetch(engine, resident, decision->missing);
    else if (answer == ADVANCE_LATER) effect_wait(engine, resident);
}

static void finish(Engine *engine, Resident *resident, const Command *command, Decision *decision)
{
    Advance answer = advance_all(engine, resident, command, decision);
    if (decision->event_count) batch_record(engine, resident, command, decision);
    follow(engine, resident, answer, decision);
    effect_placed(engine);
    inherit_settle(engine, resident);
}

Status decide_begin(Engine *engine, Resident *resident, const StartRequest *request, const Command *command, Error *err)
{
    Decision decision;
    decision_init(&decision, &engine->arena);
    Surroundings around = { engine, resident, &decision, command, NULL };
    DecideEnv env = surroundings_env(&around);
    Status status =
        decide_start(&env, &resident->plan->plan, &resident->run, request, command, engine->now_ms, &decision, err);
    if (status) return status;
    apply_from(engine, resident, &decision, 0);
    finish(engine, resident, command, &decision);
    return OK;
}

void decide_more(Engine *engine, Resident *resident)
{
    if (resident->fetching != STEP_NONE) return;            /* what it waits for brings it back */
    decide_inbox(engine, resident);                         /* of which a store that did not answer left something */
    if (resident->fetching != STEP_NONE) return;
    arena_reset(&engine->arena);
    Decision decision;
    decision_init(&decision, &engine->arena);
    finish(engine, resident, &(Command){ .actor = STR("engine"), .rationale = STR("it follows from the state of the run") }, &decision);
}

/* --- commands ---------------------------------------------------------------------------------------------------------- */

/* These are bounded: sent again until they find nothing. Then the run's next time is noted. */
static void follow_time(Engine *engine, Resident *resident, const Mail *mail, bool found_nothing)
{
    if (!found_nothing) {
        Command again = { .kind = mail->command.kind, .actor = mail->command.actor, .holder = mail->command.holder };
        queue_mail(engine, resident->tenant, mail_of_engine(resident->run_no, &again));
        return;
    }
    notify_due(engine, resident);
    int64_t due = run_wait_due_ms(&resident->run), next = notify_next_ms(resident);
    if (next < due) due = next;
    if (due != INT64_MAX) timer_note(engine, resident->run_no, due);
}

static const char *outcome_of(const Decision *decision)
{
    for (uint32_t i = 0; i < decision->event_count; i++)
        if (decision->events[i].kind == EVENT_TRIGGER_RECEIVED) return trigger_flags_name(decision->events[i].flags);
    return NULL;
}

/* A report of an attempt that is over may be one that counted. */
static void refuse_report(Engine *engine, Resident *resident, Mail *mail, Status status, const Error *err)
{
    if (attempt_rollback(mail->command.attempt) && recall_compensation(&resident->run, &mail->command)) {
        batch_reply(engine, resident, mail, OK, NULL, /* is_noop= */ true);
        return;
    }
    mail->recalls = true;
    batch_reply(engine, resident, mail, status, err, /* is_noop= */ false);
}

/* Under no id: what was asked was not done, and whoever looks for its record must not find this one. */
static void record_denial(Engine *engine, Resident *resident, const Command *command, Decision *decision)
{
    Command denied = *command;
    denied.id = STR("");
    apply_from(engine, resident, decision, 0);
    finish(engine, resident, &denied, decision);
}

/* F-114: the tenant that sent the signal finds it in the log, in the commit in which the other one's run has it. */
static void record_bridge(Engine *engine, Resident *resident, const Command *command)
{
    Event event = { .kind = EVENT_SIGNAL_BRIDGED, .tenant = command->bridge, .name = command->name, .parent = id_peek(&resident->id),
                    .text = resident->run.tenant, .payload = EVENT_NO_PAYLOAD };
    log_event_record(engine, batch_open(engine), &event, command);
}

static void decide_one(Engine *engine, Resident *resident, Mail *mail)
{
    arena_reset(&engine->arena);
    Decision decision;
    decision_init(&decision, &engine->arena);
    Command command;
    Surroundings around = { engine, resident, &decision, &command, NULL };
    DecideEnv env = surroundings_env(&around);
    Error err = { 0 };
    Status status = mail_open(mail, &engine->arena, &command, &err);
    if (!status && mail->tenant.len && !str_is(mail->tenant, resident->run.tenant)) {
        error_set(&err, ERR_NOT_FOUND, "there is no run %s", resident->id.text);
        batch_reply(engine, /* resident= */ NULL, mail, ERR_NOT_FOUND, &err, /* is_noop= */ false);    /* nor is anything told of it */
        return;
    }
    if (!status && mail->is_repeat) {
        error_set(&err, ERR_CONFLICT, "attempt %u of step %u is not under way", attempt_number(command.attempt), command.step);
        refuse_report(engine, resident, mail, ERR_CONFLICT, &err);
        return;
    }
    InputResult filled;
    if (!status && mail->is_notice && holder_epoch(command.holder) < engine->holder_epoch
        && effect_redact_earlier(engine, resident, &command, &filled) == INPUT_MISSING) {
        mail_list_put_back(&resident->inbox, mail);
        load_fetch(engine, resident, filled.missing);
        return;
    }
    PlanEntry *before = resident->plan, *target = before;
    if (!status && command.revision && command.revision != resident->run.revision) {
        target = target_find(engine, mail);
        if (!target) {
            mail_list_put_back(&resident->inbox, mail);
            target_fetch(engine, resident, command.revision);
            return;
        }
        command.before = &before->plan;
        status = plan_check_offers(target, &err);
    }
    resident->plan = target;                /* everything that the core asks for is of the plan that it is given */
    if (!status)
        status = decide(&env, &target->plan, &resident->run, &command, engine->now_ms, &decision, &err);
    if (status) resident->plan = before;
    else if (target != before) resident_revised(engine, resident, before);
    if (status == ERR_UNAVAILABLE && decision.missing != STEP_NONE) {
        mail_list_put_back(&resident->inbox, mail);
        load_fetch(engine, resident, decision.missing);
        return;
    }
    if (status) {
        bool is_recorded = status == ERR_DENIED || status == ERR_INVALID;
        if (is_recorded && decision.event_count) record_denial(engine, resident, &command, &decision);
        if (status == ERR_CONFLICT && recall_is_due(mail)) refuse_report(engine, resident, mail, status, &err);
        else batch_reply(engine, resident, mail, status, &err, /* is_noop= */ false);
        return;
    }
    bool is_noop = !decision.event_count;
    if (command.kind == COMMAND_TRIGGER) mail->outcome = outcome_of(&decision);
    if (command.kind == COMMAND_REBIND) effect_forget_waiting(engine, resident);     /* what it waits for may be another place now */
    apply_from(engine, resident, &decision, 0);
    effect_lost(engine, resident, &decision);
    finish(engine, resident, &command, &decision);
    if (command.bridge.len && !is_noop) record_bridge(engine, resident, &command);
    bool is_bounded = command.kind == COMMAND_TIMER || command.kind == COMMAND_RECOVER || command.kind == COMMAND_RELEASE;
    if (is_bounded) follow_time(engine, resident, mail, is_noop);
    batch_reply(engine, resident, mail, OK, NULL, is_noop && !decision.event_count);
}

void decide_inbox(Engine *engine, Resident *resident)
{
    while (!resident->loader && resident->fetching == STEP_NONE && resident->inbox.count)
        decide_one(engine, resident, mail_list_take(&resident->inbox));
}

void decide_mail(Engine *engine, Resident *resident, Mail *mail)
{
    resident_touch(engine, resident);
    mail_list_add(&resident->inbox, mail);
    decide_inbox(engine, resident);
}
