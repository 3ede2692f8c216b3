/* effect_attempt.c - an attempt as its executor gets it: input, secrets, context, credential. */
#include "base/check.h"
#include "base/limits.h"
#include "core/compensation.h"
#include "core/input.h"
#include "core/poll.h"
#include "engine/effect_parts.h"
#include "engine/redact.h"
#include "value/json.h"

typedef struct SecretScope { Engine *engine; Str tenant; Redaction **filled; } SecretScope;

static Status find_secret(void *context, Str name, Str *out, Error *err)
{
    SecretScope *scope = context;
    const EngineOptions *options = &scope->engine->options;
    if (!options->secret) return error_set(err, ERR_NOT_FOUND, "this process has no secrets");
    Status status = options->secret(options->secret_context, scope->tenant, name, out, err);
    if (!status) redaction_add(scope->filled, *out);
    return status;
}

/* One of input, args and key with its paths filled in. Secrets are filled in here and nowhere else: no record holds them. */
InputAnswer effect_fill(Engine *engine, Resident *resident, uint32_t step, Value written, Redaction **filled, InputResult *out)
{
    Surroundings around = { engine, resident, NULL, NULL, NULL };
    DecideEnv env = surroundings_env(&around);
    SecretScope secrets = { engine, resident->run.tenant, filled };
    InputScope scope = { .env = &env, .plan = &resident->plan->plan, .run = &resident->run, .step = step,
                         .arena = &engine->arena, .secret = find_secret, .secret_context = &secrets };
    *out = (InputResult){ .value = value_null() };
    return written.kind == VALUE_NULL ? INPUT_OK : input_fill(&scope, written, out);
}

/* What an attempt of an earlier owner was given is filled in once more, for the secrets in it: they are taken out of what it says, as
 * they would have been by that owner. A secret that was set anew meanwhile is not found. */
InputAnswer effect_redact_earlier(Engine *engine, Resident *resident, Command *command, InputResult *result)
{
    if (command->step >= resident->run.step_count || attempt_is_notification(command->attempt)) return INPUT_OK;
    const StepTerms *terms = &resident->plan->plan.terms->steps[command->step];
    bool is_undo = attempt_rollback(command->attempt) != 0;
    const Value written[] = { is_undo ? terms->undo.input : terms->input, is_undo ? terms->undo.args : terms->args };
    Redaction *secrets = NULL;
    InputAnswer answer = INPUT_OK;
    for (size_t i = 0; i < 2 && answer != INPUT_MISSING; i++)
        answer = effect_fill(engine, resident, command->step, written[i], &secrets, result);
    if (answer != INPUT_MISSING && secrets) {
        command->name = redact_text(secrets, &engine->arena, command->name);
        command->value = redact_value(secrets, &engine->arena, command->value);
        command->report.message = redact_text(secrets, &engine->arena, command->report.message);
        command->report.output = redact_value(secrets, &engine->arena, command->report.output);
    }
    redaction_free(secrets);
    return answer;
}

/* {"params": ..., "payload": ...} of the run. */
static InputAnswer read_params(Engine *engine, Resident *resident, Value *out_params, InputResult *result)
{
    Str text;
    Error err;
    Value start = value_null();
    if (!resident_text(resident, MISSING_PARAMS, &text)) {
        result->missing = MISSING_PARAMS;
        return INPUT_MISSING;
    }
    CHECK(!text.len || json_parse(&engine->arena, text, &start, &err) == OK);
    const Value *params = value_get_text(start, "params");
    *out_params = params ? *params : value_null();
    return INPUT_OK;
}

/* What differs between an attempt of a step and one of what undoes it. */
typedef struct Work {
    Str runner;
    Value settings, step, input, args, key, context;
    int64_t due_ms;
    bool is_undo, is_effect_recorded;
} Work;

static Work work_of(Resident *resident, const Effect *effect, const Executor *executor)
{
    const PlanStep *step = &resident->plan->plan.steps[effect->step];
    const StepTerms *terms = &resident->plan->plan.terms->steps[effect->step];
    bool is_undo = attempt_rollback(effect->attempt) != 0;
    const RunnerOffer *offer = place_offer(effect_offers(resident, effect->step, is_undo), executor);
    Value key = terms->key.len ? value_string(terms->key) : value_null();
    if (is_undo)
        return (Work){ .runner = terms->undo.runner, .settings = offer->settings,
                       .step = terms->undo.settings, .input = terms->undo.input, .args = terms->undo.args, .key = key,
                       .context = value_null(), .due_ms = resident->run.rollback.active.due_ms, .is_undo = true };
    return (Work){ .runner = step->runner, .settings = offer->settings, .step = step->settings,
                   .input = terms->input, .args = terms->args, .key = key, .context = value_null(),
                   .due_ms = run_active(&resident->run, effect->step)->due_ms,
                   .is_effect_recorded = step->strategy == STRATEGY_EFFECT_RECORDED };
}

/* What the step gave, or the effect that it recorded, for whoever undoes it: see core/compensation.h. */
static InputAnswer fill_undo(Engine *engine, Resident *resident, const Effect *effect, Work *work, InputResult *result)
{
    const Run *run = &resident->run;
    const StepRun *step = &run->steps[effect->step];
    Str text = { 0 };
    Error err;
    Value given = value_null();
    if (step->output_at && !resident_text(resident, effect->step, &text)) {
        result->missing = effect->step;
        return INPUT_MISSING;
    }
    CHECK(!text.len || json_parse(&engine->arena, text, &given, &err) == OK);
    bool has_output = step->flags & STEP_HAS_OUTPUT;
    MemberList about = { .arena = &engine->arena }, context = { .arena = &engine->arena };
    member_list_add(&about, STR("step"), value_string(resident->plan->plan.steps[effect->step].id));
    member_list_add(&about, STR("output"), has_output ? given : value_null());
    member_list_add(&about, STR("effect"), has_output ? value_null() : given);
    member_list_add(&about, STR("attempt"), value_int(attempt_number(effect->attempt)));
    member_list_add(&about, STR("maxAttempts"), value_int(run->rollback.items[run->rollback.at].attempt_max));
    member_list_add(&about, STR("reason"), run->failure.len ? value_string(run->failure) : value_null());
    member_list_add(&context, STR("compensation"), member_list_object(&about));
    work->context = member_list_object(&context);
    if (work->input.kind == VALUE_NULL) work->input = given;
    return INPUT_OK;
}

/* {"poll": {attempt, max_attempts, started_at, results}}: what the polls before this one gave, the newest at the end. */
static InputAnswer fill_poll(Engine *engine, Resident *resident, uint32_t step, Work *work, InputResult *result)
{
    Str text = { 0 };
    Error err;
    Value results = value_null();
    if (run_value_at(&resident->run, step) && !resident_text(resident, step, &text)) {
        result->missing = step;
        return INPUT_MISSING;
    }
    CHECK(!text.len || json_parse(&engine->arena, text, &results, &err) == OK);
    Value poll = poll_value(&resident->plan->plan, &resident->run, step, &engine->arena);
    MemberList members = { .arena = &engine->arena }, context = { .arena = &engine->arena };
    for (uint32_t i = 0; i < poll.count; i++) member_list_add(&members, value_text(poll.members[i].key), poll.members[i].value);
    member_list_add(&members, STR("results"), results.kind == VALUE_ARRAY ? results : value_array(NULL, 0));
    member_list_add(&context, STR("poll"), member_list_object(&members));
    work->context = member_list_object(&context);
    return INPUT_OK;
}

/* The attempt as its executor gets it. INPUT_MISSING: a value has to be fetched first. */
InputAnswer effect_make_attempt(Engine *engine, Resident *resident, const Effect *effect, char trace[TRACE_TEXT_SIZE],
                                Redaction **filled_secrets, Attempt *out, InputResult *result)
{
    const Plan *plan = &resident->plan->plan;
    const PlanStep *step = &plan->steps[effect->step];
    Work work = work_of(resident, effect, holder_executor(engine, effect->holder));
    Value params = value_null();
    Value *filled[] = { &work.input, &work.args, &work.key };
    InputAnswer answer = INPUT_OK;
    for (size_t i = 0; i < 3 && answer == INPUT_OK; i++) {
        answer = effect_fill(engine, resident, effect->step, *filled[i], filled_secrets, result);
        *filled[i] = result->value;
    }
    if (answer == INPUT_OK) answer = read_params(engine, resident, &params, result);
    /* What was given is passed on as it is: it is not scanned for paths. */
    if (answer == INPUT_OK && work.is_undo) answer = fill_undo(engine, resident, effect, &work, result);
    bool is_poll = !work.is_undo && step_polls(&plan->terms->steps[effect->step]);
    if (answer == INPUT_OK && is_poll) answer = fill_poll(engine, resident, effect->step, &work, result);
    if (answer != INPUT_OK) return answer;
    Trace span = batch_span(resident, effect->step, /* step_run= */ 0, effect->attempt);
    const Value *resources = step->job == PLAN_NONE ? NULL : value_get_text(plan->jobs[step->job].settings, "resources");
    Str declared = work.key.kind == VALUE_STRING ? value_text(work.key) : (Str){ 0 };
    *out = (Attempt){
        .id = { resident->run_no, effect->step, effect->attempt, effect->holder }, .run_id = id_peek(&resident->id),
        .tenant = resident->run.tenant, .definition = resident->run.definition, .step_id = step->id, .runner = work.runner,
        .settings = work.settings, .step = work.step, .resources = resources ? *resources : value_null(), .input = work.input,
        .args = work.args, .params = params, .context = work.context,
        .key = work.is_undo ? compensation_key(plan, &resident->run, effect->step, declared, &engine->arena)
                            : step_key(plan, &resident->run, effect->step, declared, &engine->arena),
        .traceparent = trace_print(&span, trace), .tracestate = resident->tracestate, .directory = resident->run.directory, .now_ms = engine->wall_ms,
        .steady_ms = engine->steady_ms,
        .deadline_ms = work.due_ms ? work.due_ms - (engine->now_ms - engine->wall_ms) : 0,
        .is_effect_recorded = work.is_effect_recorded,
    };
    return INPUT_OK;
}

/* What its runner shows to the server; like a secret it is in no record, and is taken out of what the runner says. */
Status effect_give_credential(Engine *engine, const Executor *executor, Redaction **secrets, Attempt *attempt, Error *err)
{
    const EngineOptions *options = &engine->options;
    if (!options->credential || !executor->is_outside) return OK;
    Status status = options->credential(options->credential_context, attempt, &engine->arena, &attempt->credential, err);
    if (status) return status;
    attempt->server = options->server;
    redaction_add(secrets, attempt->credential);
    return OK;
}
