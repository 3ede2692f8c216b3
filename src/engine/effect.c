/* effect.c - what follows a commit: attempts handed to executors, ended, acknowledged; and where there is room for them. */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "core/compensation.h"
#include "core/input.h"
#include "core/poll.h"
#include "core/retry.h"
#include "engine/internal.h"
#include "engine/redact.h"
#include "ledger/record.h"
#include "value/json.h"

/* --- places ------------------------------------------------------------------------------------------------------------- */

/* Who holds a lease: the owner's epoch, and which of its executors. */
static uint64_t holder_of(const Engine *engine, uint32_t slot)
{
    return holder_make(engine->holder_epoch, slot + 1);
}

Executor *holder_executor(Engine *engine, uint64_t holder)
{
    uint32_t slot = (uint32_t)(holder & ((1u << HOLDER_SLOT_BITS) - 1)) - 1;
    if (holder_epoch(holder) != engine->holder_epoch || slot >= engine->options.executor_count) return NULL;
    return engine->options.executors[slot];
}

/* The snapshot of the pressure that one admission is decided by. */
static Pressure pressure_look(const Engine *engine, const Resident *resident, const Executor *executor, uint32_t taken)
{
    uint64_t queue = (uint64_t)resident->tenant->queue.count * 1000 / engine->options.queue_count_max;
    uint64_t in_flight = executor->capacity ? (uint64_t)taken * 1000 / executor->capacity : 0;
    uint32_t refused = 0;                                   /* whoever has nothing under way is not what presses */
    for (uint64_t left = executor->under_way ? executor->offers : 0; left; left &= left - 1) refused++;
    return (Pressure){ .queue = (uint32_t)queue, .in_flight = (uint32_t)in_flight, .refused = refused * 1000 / REFUSAL_WINDOW };
}

/* Of what undoes a step the retries are the rollback's own: each try is a task that begins anew (C-88). */
static Task task_of(const Plan *plan, const Run *run, uint32_t step, bool is_undo)
{
    if (!is_undo) return retry_task(plan, run, step);
    TaskTerms terms = { .intent = plan->terms->steps[step].intent, .spawn_budget = 1 + COOPERATIVE_COUNT_DEFAULT,
                        .cooperative_max = COOPERATIVE_COUNT_DEFAULT };
    return task_restore(&terms, 0, 0);
}

/* A step that was given a place and did not begin (it waits for a key, a policy denied it) does not keep it. */
static void unplace(Engine *engine, const Run *run)
{
    if (engine->placed && run->steps[engine->placed_step].state == STEP_QUEUED) {
        engine->placing[engine->placed->slot] -= engine->placed_count;
        engine->tenant_placing--;
    }
    engine->placed = NULL;
}

static Place unknown(Engine *engine, const Executor *executor, Str runner)
{
    if (!engine->has_place_slot) engine->place_slot = executor->slot;
    Str why = arena_format(&engine->arena, "waits for a process that knows the runner '%.*s': offer it in runners.yaml, or with --runners, "
                                             "and resume the run there", STR_ARG(runner));
    return (Place){ .kind = PLACE_DEFERRED, .rationale = why };
}

static Place not_admitted(Engine *engine, const Admission *admission)
{
    const Pressure *pressure = &admission->pressure;
    Str parts = arena_format(&engine->arena, "queue %u, in flight %u, refused %u thousandths", pressure->queue, pressure->in_flight, pressure->refused);
    if (admission->kind == ADMISSION_DEFER) return (Place){ .kind = PLACE_DEFERRED, .pressure = pressure_of(pressure), .rationale = parts };
    Str why = arena_format(&engine->arena, "dropped at its re-admission, by %s (%.*s)", drop_cause_name((DropCause)admission->drop), STR_ARG(parts));
    return (Place){ .kind = PLACE_DROPPED, .drop = admission->drop, .admission = admission_pack(admission), .rationale = why };
}

/* The cooperatives keep places free until the attempt is handed over, as far as there are any: whoever comes meanwhile finds so
 * much less room. */
static uint32_t places_for(const Executor *executor, uint32_t taken, const Admission *admission)
{
    uint32_t wanted = 1u + admission->cooperative_count, free = executor->capacity ? executor->capacity - taken : wanted;
    return wanted < free ? wanted : free;
}

Place effect_place(Engine *engine, const Plan *plan, const Run *run, uint32_t step)
{
    Resident *resident = resident_find(engine, run->run_no);
    bool is_undo = run->state == RUN_COMPENSATING;          /* then nothing else begins */
    const RunnerOffer *offer = is_undo ? &resident->plan->undo_offers[step] : &resident->plan->offers[step];
    if (!offer->executor) return (Place){ .kind = PLACE_NEVER };
    Executor *executor = offer->executor;
    Str runner = is_undo ? plan->terms->steps[step].undo.runner : plan->steps[step].runner;
    unplace(engine, run);
    if (offer->is_unknown) return unknown(engine, executor, runner);
    uint32_t taken = executor->under_way + executor->reserved + engine->placing[executor->slot];
    uint32_t ceiling = engine->options.tenant_running_max;
    engine->place_slot = executor->slot;
    engine->has_place_slot = true;
    if (engine->state == ENGINE_DRAINING) return (Place){ .kind = PLACE_LATER };
    if (executor->capacity && taken >= executor->capacity) return (Place){ .kind = PLACE_LATER };
    if (ceiling && resident->tenant->running_count + engine->tenant_placing >= ceiling) return (Place){ .kind = PLACE_LATER };
    if (executor->ops->has_room && !executor->ops->has_room(executor, run->tenant, runner, taken)) return (Place){ .kind = PLACE_LATER };
    Place held;
    if (!gate_permits(engine, run->tenant, runner, offer->settings, &held)) return held;
    Task task = task_of(plan, run, step, is_undo);
    Pressure pressure = pressure_look(engine, resident, executor, taken);
    Admission admission = task_admit(&task, &pressure);
    if (admission.kind != ADMISSION_ADMIT) return not_admitted(engine, &admission);
    engine->placed_admission = admission;
    engine->placed_count = places_for(executor, taken, &admission);
    engine->placing[executor->slot] += engine->placed_count;
    engine->tenant_placing++;
    engine->placed = executor;
    engine->placed_step = step;
    /* Of an executor of this process the lease is the owner's own: it ends with the epoch. */
    return (Place){ .kind = PLACE_HERE, .executor = executor->name, .holder = holder_of(engine, executor->slot),
                    .lease_ms = executor->lease_ms, .admission = admission_pack(&admission) };
}

/* --- what is out ------------------------------------------------------------------------------------------------------------ */

/* Decisions know an attempt by its number alone: an id without a serial is of whichever has it. */
static bool out_is(const OutEntry *entry, const AttemptId *id)
{
    return entry->step == id->step && entry->attempt == id->attempt && entry->holder == id->holder
        && (!id->serial || entry->serial == id->serial);
}

static OutEntry *out_find(Engine *engine, const AttemptId *id, bool is_reported)
{
    OutEntry *entry = run_index_find(&engine->outs, id->run_no);
    while (entry && !(out_is(entry, id) && entry->is_reported == is_reported && !entry->is_stray)) entry = entry->next;
    return entry;
}

static OutEntry *stray_find(Engine *engine, const AttemptId *id)
{
    OutEntry *entry = run_index_find(&engine->outs, id->run_no);
    while (entry && !(out_is(entry, id) && entry->is_stray)) entry = entry->next;
    return entry;
}

/* Tells the executor that has it; where none has it, there is nothing to end. */
static void handed_end(Engine *engine, Executor *executor, AttemptId id)
{
    for (const OutEntry *entry = run_index_find(&engine->outs, id.run_no), *next; entry; entry = next) {
        next = entry->next;                                 /* it may report at once */
        if (!out_is(entry, &id) || !entry->is_handed || entry->is_reported) continue;
        id.serial = entry->serial;
        executor->ops->end(executor, &id);
        return;
    }
}

Tenant *effect_tenant(Engine *engine, uint64_t run_no)
{
    const OutEntry *entry = run_index_find(&engine->outs, run_no);
    while (entry && entry->is_reported) entry = entry->next;        /* that one no longer keeps its tenant in memory */
    return entry ? entry->tenant : NULL;
}

bool effect_is_out(Engine *engine, uint64_t run_no, uint32_t step, uint32_t nth, Effect *out)
{
    for (const OutEntry *entry = run_index_find(&engine->outs, run_no); entry; entry = entry->next)
        if (entry->step == step && !entry->is_reported && nth-- == 0) {
            *out = (Effect){ EFFECT_END, step, entry->attempt, entry->holder };
            return true;
        }
    return false;
}

static void out_remove(Engine *engine, uint64_t run_no, OutEntry *entry)
{
    OutEntry *first = run_index_find(&engine->outs, run_no), **place = &first;
    while (*place != entry) place = &(*place)->next;
    *place = entry->next;
    if (first) run_index_put(&engine->outs, run_no, first);
    else run_index_remove(&engine->outs, run_no);
    redaction_free(entry->secrets);
    free(entry);
}

/* Its cooperatives are gone, whatever became of it. */
static void unreserve(Engine *engine, Executor *executor, OutEntry *entry)
{
    uint32_t count = entry->reserved;
    CHECK(executor->reserved >= count);
    executor->reserved -= count;
    entry->reserved = 0;
    if (count) effect_room(engine, executor->slot, count);
}

static void out_end(Engine *engine, const AttemptId *id, OutEntry *entry, bool is_reported)
{
    Executor *executor = holder_executor(engine, id->holder);
    unreserve(engine, executor, entry);
    if (gate_end(entry->gate)) effect_room(engine, executor->slot, UINT32_MAX);
    entry->gate = NULL;
    CHECK(executor->under_way && entry->tenant->running_count && engine->stats.attempt_under_way);
    executor->under_way--;
    executor->offers <<= 1;                                 /* room that came to be counts like an offer that was taken */
    entry->tenant->running_count--;
    engine->stats.attempt_under_way--;
    if (is_reported) entry->is_reported = true;
    else out_remove(engine, id->run_no, entry);
    /* Of pulled work, who asks for more says that there is room; the end of one that others had no place beside does, too. */
    bool was_full = executor->capacity && executor->under_way + executor->reserved + 1 >= executor->capacity;
    if (!executor->ops->has_room || was_full) effect_room(engine, executor->slot, 1);
    /* With a ceiling a tenant may wait at one executor for what it has at another. */
    for (uint32_t i = 0; engine->options.tenant_running_max && i < engine->options.executor_count; i++)
        effect_room(engine, i, 1);
}

/* It reported, or was never handed over: its place is free. False where it was not out: a report that came twice. */
static bool take_back(Engine *engine, const AttemptId *id, bool is_reported)
{
    OutEntry *entry = out_find(engine, id, /* is_reported= */ false);
    if (entry) out_end(engine, id, entry, is_reported);
    return entry != NULL;
}

/* It counts from now on, wherever attempts are counted. */
static OutEntry *out_add(Engine *engine, Resident *resident, const Effect *effect)
{
    OutEntry *entry = malloc(sizeof *entry);
    CHECK(entry);
    *entry = (OutEntry){ .next = run_index_find(&engine->outs, resident->run_no), .step = effect->step,
                         .attempt = effect->attempt, .holder = effect->holder, .serial = ++engine->out_serial, .tenant = resident->tenant,
                         .seq = resident->batch_seq };
    if (!attempt_rollback(effect->attempt)) entry->step_run = resident->run.steps[effect->step].number;
    run_index_put(&engine->outs, resident->run_no, entry);
    holder_executor(engine, effect->holder)->under_way++;
    resident->tenant->running_count++;
    engine->stats.attempt_under_way++;
    return entry;
}

/* An attempt was decided for this executor: it counts from now on, so that later decisions do not give the place twice. It is
 * known by its run's number and not by the run in memory, which may be read anew while the attempt is out. */
void effect_given(Engine *engine, Resident *resident, const Effect *effect, uint32_t cooperative_count)
{
    Executor *executor = holder_executor(engine, effect->holder);
    CHECK(executor);
    /* A step that is run anew counts its attempts from 1: one of its earlier run may still be on its way out. */
    AttemptId id = { resident->run_no, effect->step, effect->attempt, effect->holder };
    OutEntry *earlier = out_find(engine, &id, /* is_reported= */ false);
    if (earlier && earlier->is_handed) earlier->is_stray = true;
    else if (earlier) out_end(engine, &id, earlier, /* is_reported= */ false);
    OutEntry *entry = out_add(engine, resident, effect);
    resident->is_woken = false;
    uint32_t taken = executor->under_way + executor->reserved;
    uint32_t free = !executor->capacity ? cooperative_count : taken < executor->capacity ? executor->capacity - taken : 0;
    bool is_undo = attempt_rollback(effect->attempt) != 0;
    const RunnerOffer *offer = is_undo ? &resident->plan->undo_offers[effect->step] : &resident->plan->offers[effect->step];
    entry->gate = gate_begin(engine, resident->run.tenant, is_undo ? resident->plan->plan.terms->steps[effect->step].undo.runner
                                                                   : resident->plan->plan.steps[effect->step].runner, offer->settings);
    entry->group = group_spawn(cooperative_count);
    entry->reserved = cooperative_count < free ? cooperative_count : free;
    executor->reserved += entry->reserved;
}

/* Its commit failed: it was never handed over, and whoever has the number before it still has it rightly. */
void effect_not_given(Engine *engine, const EffectEntry *entry)
{
    AttemptId id = { entry->run_no, entry->effect.step, entry->effect.attempt, entry->effect.holder };
    take_back(engine, &id, /* is_reported= */ false);
    OutEntry *stray = stray_find(engine, &id);
    if (stray) stray->is_stray = false;
}

void effect_report_over(Engine *engine, const Mail *mail)
{
    if (mail->command.kind != COMMAND_REPORT) return;
    AttemptId id = { mail->run_no, mail->command.step, mail->command.attempt, mail->command.holder, mail->serial };
    OutEntry *entry = out_find(engine, &id, /* is_reported= */ true);
    if (entry) out_remove(engine, id.run_no, entry);
    if (mail->teller && mail->teller->ops->settled) mail->teller->ops->settled(mail->teller, &id, !mail->is_refused);
}

void outs_deinit(Engine *engine)
{
    for (uint32_t i = 0; i < engine->outs.capacity; i++)
        for (OutEntry *entry = engine->outs.slots[i].number ? engine->outs.slots[i].item : NULL, *next; entry; entry = next) {
            next = entry->next;
            redaction_free(entry->secrets);
            free(entry);
        }
    run_index_deinit(&engine->outs);
}

void effect_placed(Engine *engine)
{
    memset(engine->placing, 0, engine->options.executor_count * sizeof *engine->placing);
    engine->tenant_placing = 0;
    engine->placed = NULL;
    engine->decision_no++;
    engine->has_place_slot = false;
}

/* --- waiting for room --------------------------------------------------------------------------------------------------- */

/* The last try that its budget permits is the more urgent (E-049): by one level, though never critical by that. */
static uint8_t urgency(const Plan *plan, const Run *run, uint32_t step, uint8_t level)
{
    if (!run->steps[step].retry || level >= PRIORITY_HIGH) return level;
    Task task = retry_task(plan, run, step);
    uint32_t count = cooperative_count(task.terms.intent, /* pressure= */ 0, task.retry_depth, task.terms.cooperative_max);
    return task_is_last(&task, count) ? (uint8_t)(level + 1) : level;
}

/* F-021: that of its most urgent step that may begin; of what undoes steps the run's own. */
static uint8_t wait_level(const Plan *plan, const Run *run)
{
    for (int level = PRIORITY_COUNT - 1; level >= 0; level--)
        if (run->ready[level].count) return urgency(plan, run, run->ready[level].first, (uint8_t)level);
    return run->priority < PRIORITY_COUNT ? run->priority : PRIORITY_NORMAL;
}

void effect_wait(Engine *engine, Resident *resident)
{
    uint8_t level = wait_level(&resident->plan->plan, &resident->run);
    if (resident->is_waiting && level <= resident->wait_level) return;
    effect_forget_waiting(engine, resident);                    /* something more urgent has come up */
    /* It was its turn, and somebody else had the room: its tenant has that turn good. */
    if (resident->is_woken && resident->tenant->room_owed < resident->tenant->weight) resident->tenant->room_owed++;
    resident->is_woken = false;
    ResidentList *list = &resident->tenant->waiting[engine->place_slot][level];
    resident->is_waiting = true;
    resident->wait_slot = engine->place_slot;
    resident->wait_level = level;
    resident->wait_since = engine->now_ms;
    resident->wait_next = NULL;
    *(list->last ? &list->last->wait_next : &list->first) = resident;
    list->last = resident;
    list->count++;
    resident->tenant->waiting_count++;
    engine->waiting_count++;
}

static void stop_waiting(Engine *engine, Tenant *tenant, ResidentList *list)
{
    Resident *resident = list->first;
    list->first = resident->wait_next;
    if (!list->first) list->last = NULL;
    list->count--;
    resident->is_waiting = false;
    resident->is_woken = true;
    tenant->waiting_count--;
    engine->waiting_count--;
    queue_work(engine, resident);
}

/* The list whose first run goes first: the highest level, where one that has waited long counts as one level higher, though
 * never as critical. */
static ResidentList *first_list(Engine *engine, Tenant *tenant, uint32_t slot)
{
    ResidentList *best = NULL;
    int best_level = -1;
    for (int level = PRIORITY_COUNT - 1; level >= 0; level--) {
        ResidentList *list = &tenant->waiting[slot][level];
        if (!list->first) continue;
        bool is_old = engine->now_ms - list->first->wait_since >= PRIORITY_AGE_MS;
        int counted = is_old && level < PRIORITY_HIGH ? level + 1 : level;
        bool is_older = best && counted == best_level && list->first->wait_since < best->first->wait_since;
        if (counted > best_level || is_older) {
            best = list;
            best_level = counted;
        }
    }
    return best;
}

/* Tenants in turn, from call to call: each that waits gets as many of its runs looked at as it weighs, then the next. A
 * turn that came to nothing is had good once. So between two turns of a tenant that waits lie at most twice the weights of the
 * others that wait, and no turn is spent on one that does not. */
void effect_room(Engine *engine, uint32_t slot, uint32_t count)
{
    if (!engine->room_tenant) engine->room_tenant = engine->tenant;
    for (uint32_t idle = 0; engine->waiting_count && count && idle < engine->tenant_count;) {
        Tenant *tenant = engine->room_tenant;
        ResidentList *list = tenant->waiting_count ? first_list(engine, tenant, slot) : NULL;
        if (!list) {
            idle++;
            tenant->room_left = 0;
            engine->room_tenant = tenant->next;
            continue;
        }
        idle = 0;
        count--;
        if (!tenant->room_left) {
            tenant->room_left = tenant->weight + tenant->room_owed;
            tenant->room_owed = 0;
        }
        if (--tenant->room_left == 0) engine->room_tenant = tenant->next;
        stop_waiting(engine, tenant, list);
    }
}

/* Who waits at an executor that has nothing to report is woken by no report: what kept it back was the queue. */
void effect_stir(Engine *engine)
{
    for (uint32_t i = 0; engine->waiting_count && !engine->mail_count && i < engine->options.executor_count; i++)
        if (!engine->options.executors[i]->under_way) effect_room(engine, i, 1);
}

void effect_forget_waiting(Engine *engine, Resident *resident)
{
    if (!resident->is_waiting) return;
    ResidentList *list = &resident->tenant->waiting[resident->wait_slot][resident->wait_level];
    Resident **place = &list->first, *before = NULL;
    while (*place != resident) {
        before = *place;
        place = &before->wait_next;
    }
    *place = resident->wait_next;
    if (list->last == resident) list->last = before;
    list->count--;
    resident->is_waiting = false;
    resident->tenant->waiting_count--;
    engine->waiting_count--;
}

/* --- performing --------------------------------------------------------------------------------------------------------- */

/* A later decision may have given it up before it was handed over. */
static bool is_still_held(const Run *run, const Effect *effect)
{
    return run_holds(run, effect->step, effect->attempt, effect->holder);
}

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
    Surroundings around = { engine, resident, NULL, NULL };
    DecideEnv env = surroundings_env(&around);
    SecretScope secrets = { engine, resident->run.tenant, filled };
    InputScope scope = { .env = &env, .plan = &resident->plan->plan, .run = &resident->run, .step = step,
                         .arena = &engine->arena, .secret = find_secret, .secret_context = &secrets };
    *out = (InputResult){ .value = value_null() };
    return written.kind == VALUE_NULL ? INPUT_OK : input_fill(&scope, written, out);
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

static Work work_of(Resident *resident, const Effect *effect)
{
    const PlanStep *step = &resident->plan->plan.steps[effect->step];
    const StepTerms *terms = &resident->plan->plan.terms->steps[effect->step];
    bool is_undo = attempt_rollback(effect->attempt) != 0;
    Value key = terms->key.len ? value_string(terms->key) : value_null();
    if (is_undo)
        return (Work){ .runner = terms->undo.runner, .settings = resident->plan->undo_offers[effect->step].settings,
                       .step = terms->undo.settings, .input = terms->undo.input, .args = terms->undo.args, .key = key,
                       .context = value_null(), .due_ms = resident->run.rollback.active.due_ms, .is_undo = true };
    return (Work){ .runner = step->runner, .settings = resident->plan->offers[effect->step].settings, .step = step->settings,
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
static InputAnswer make_attempt(Engine *engine, Resident *resident, const Effect *effect, char trace[TRACE_TEXT_SIZE],
                                Redaction **filled_secrets, Attempt *out, InputResult *result)
{
    const Plan *plan = &resident->plan->plan;
    const PlanStep *step = &plan->steps[effect->step];
    Work work = work_of(resident, effect);
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
    Trace span = batch_span(resident, effect->step, effect->attempt);
    const Value *resources = step->job == PLAN_NONE ? NULL : value_get_text(plan->jobs[step->job].settings, "resources");
    Str declared = work.key.kind == VALUE_STRING ? value_text(work.key) : (Str){ 0 };
    *out = (Attempt){
        .id = { resident->run_no, effect->step, effect->attempt, effect->holder }, .run_id = id_peek(&resident->id),
        .tenant = resident->run.tenant, .definition = resident->run.definition, .step_id = step->id, .runner = work.runner,
        .settings = work.settings, .step = work.step, .resources = resources ? *resources : value_null(), .input = work.input,
        .args = work.args, .params = params, .context = work.context,
        .key = work.is_undo ? compensation_key(plan, &resident->run, effect->step, declared, &engine->arena)
                            : step_key(plan, &resident->run, effect->step, declared, &engine->arena),
        .traceparent = trace_print(&span, trace), .directory = resident->run.directory, .now_ms = engine->wall_ms,
        .deadline_ms = work.due_ms ? work.due_ms - (engine->now_ms - engine->wall_ms) : 0,
        .is_effect_recorded = work.is_effect_recorded,
    };
    return INPUT_OK;
}

/* What its executor would say, had it got the attempt. */
static void report_failure(Engine *engine, const AttemptId *id, Cause cause, Str why)
{
    engine_notice(engine, &(Notice){ .kind = NOTICE_REPORT, .id = *id, .value = value_null(),
                                     .report = { .cause = cause, .message = why, .output = value_null() } });
}

static bool carry(void *executor, const void *attempt)
{
    return ((Executor *)executor)->ops->execute(executor, attempt);
}

/* The dispatch: one group, one call; nothing of what becomes of the attempt comes back by it. */
static void hand_over(Engine *engine, Executor *executor, const EffectEntry *entry, OutEntry *out, const Attempt *attempt)
{
    unreserve(engine, executor, out);
    SubRoutineGroup group = out->group;
    out->is_handed = true;                                  /* it may report before execute() returns: then `out` is gone */
    bool is_issued = group_dispatch(&group, carry, executor, attempt);
    executor->offers = executor->offers << 1 | !is_issued;
    if (is_issued) {
        engine->stats.attempt_count++;
        engine->handed_turn = engine->turn;
        return;
    }
    out->group = group;
    out->is_handed = false;
    effect_retry_later(engine, entry);
}

bool effect_carry(Engine *engine, Resident *resident, Executor *executor, Attempt *attempt, Redaction *secrets)
{
    uint32_t taken = executor->under_way + executor->reserved;
    bool has_room = (!executor->capacity || taken < executor->capacity)
                 && (!executor->ops->has_room || executor->ops->has_room(executor, attempt->tenant, attempt->runner, taken));
    if (!has_room) {
        redaction_free(secrets);
        return false;
    }
    attempt->id.holder = holder_of(engine, executor->slot);
    OutEntry *out = out_add(engine, resident, &(Effect){ EFFECT_NOTIFY, attempt->id.step, attempt->id.attempt, attempt->id.holder });
    out->secrets = secrets;
    out->is_handed = true;
    attempt->id.serial = out->serial;
    AttemptId id = attempt->id;
    SubRoutineGroup group = group_spawn(/* cooperative_count= */ 0);
    if (group_dispatch(&group, carry, executor, attempt)) {
        engine->stats.attempt_count++;
        engine->handed_turn = engine->turn;
        return true;
    }
    take_back(engine, &id, /* is_reported= */ false);
    return false;
}

bool effect_is_carried(Engine *engine, uint64_t run_no, uint32_t step, uint32_t attempt)
{
    const OutEntry *entry = run_index_find(&engine->outs, run_no);
    while (entry && (entry->step != step || entry->attempt != attempt)) entry = entry->next;
    return entry != NULL;
}

void effect_give_up(Engine *engine, uint64_t run_no, uint32_t step, uint32_t attempt, Str why)
{
    const OutEntry *entry = run_index_find(&engine->outs, run_no);
    while (entry && (entry->step != step || entry->attempt != attempt || entry->is_reported)) entry = entry->next;
    if (!entry) return;
    AttemptId id = { run_no, step, attempt, entry->holder, entry->serial };
    Executor *executor = holder_executor(engine, id.holder);
    if (executor->lease_ms) report_failure(engine, &id, CAUSE_TIMEOUT, why);       /* one elsewhere may never say anything */
    executor->ops->end(executor, &id);
}

void effect_perform(Engine *engine, const EffectEntry *entry)
{
    if (entry->effect.kind == EFFECT_NOTIFY) {
        notify_perform(engine, entry);
        return;
    }
    Executor *executor = holder_executor(engine, entry->effect.holder);
    Resident *resident = resident_find(engine, entry->run_no);
    AttemptId id = { entry->run_no, entry->effect.step, entry->effect.attempt, entry->effect.holder };
    if (!executor) return;
    if (entry->effect.kind == EFFECT_END) {
        handed_end(engine, executor, id);
        return;
    }
    bool is_reading = engine->is_recovering || engine->rescan_at || engine->state == ENGINE_STALLED;
    if (resident ? resident->loader != NULL : is_reading) {
        effect_retry_later(engine, entry);                  /* its run is being read again */
        return;
    }
    bool is_held = resident && is_still_held(&resident->run, &entry->effect);
    bool is_undo = attempt_rollback(entry->effect.attempt) != 0;
    bool is_ending = is_held && !is_undo && resident->run.steps[entry->effect.step].flags & STEP_ENDING;
    if (resident && (!is_held || is_ending) && !batch_is_durable(engine, resident->batch_seq)) {
        effect_retry_later(engine, entry);                  /* what gave it up may come to nothing */
        return;
    }
    if (!is_held) {
        take_back(engine, &id, /* is_reported= */ false);
        return;
    }
    OutEntry *out = out_find(engine, &id, /* is_reported= */ false);
    if (!out || out->is_handed) return;                     /* an earlier effect of the same name has done it */
    if (stray_find(engine, &id) || !batch_is_durable(engine, out->seq)) {
        effect_retry_later(engine, entry);                  /* the executor could not tell the two apart */
        return;
    }
    if (is_ending) {
        report_failure(engine, &id, CAUSE_CANCELLED, STR("it was ended before it began"));
        return;
    }
    arena_reset(&engine->arena);
    Attempt attempt;
    InputResult result = { .missing = STEP_NONE };
    char trace[TRACE_TEXT_SIZE];
    redaction_free(out->secrets);                           /* of a time that its executor did not take it */
    out->secrets = NULL;
    switch (make_attempt(engine, resident, &entry->effect, trace, &out->secrets, &attempt, &result)) {
    case INPUT_WRONG:
        report_failure(engine, &id, result.is_transient ? CAUSE_TRANSIENT : CAUSE_PERMANENT, result.text);
        break;
    case INPUT_MISSING:
        load_fetch(engine, resident, result.missing);
        effect_retry_later(engine, entry);
        break;
    case INPUT_OK:
        attempt.id.serial = out->serial;
        hand_over(engine, executor, entry, out, &attempt);
        break;
    }
}

/* A run that has attempts under way is in memory. One that is not has ended without their being told. */
void effect_end_strays(Engine *engine)
{
    for (uint32_t i = 0; i < engine->outs.capacity; i++) {
        uint64_t run_no = engine->outs.slots[i].number;
        if (!run_no || resident_find(engine, run_no)) continue;
        for (const OutEntry *entry = engine->outs.slots[i].item; entry; entry = entry->next) {
            AttemptId id = { run_no, entry->step, entry->attempt, entry->holder, entry->serial };
            Executor *executor = holder_executor(engine, entry->holder);
            if (executor && !entry->is_reported) executor->ops->end(executor, &id);
        }
    }
}

typedef struct Resuming { Engine *engine; Resident *resident; } Resuming;

static void resume_effect(void *context, const Effect *effect)
{
    Resuming *resuming = context;
    Engine *engine = resuming->engine;
    AttemptId id = { resuming->resident->run_no, effect->step, effect->attempt, effect->holder };
    Executor *executor = holder_executor(engine, effect->holder);
    const OutEntry *reported = out_find(engine, &id, /* is_reported= */ true);
    bool is_out = out_find(engine, &id, /* is_reported= */ false);
    bool is_coming = reported && (!reported->step_run || reported->step_run == resuming->resident->run.steps[effect->step].number);
    if (!executor || is_coming) return;                     /* of an earlier owner: recovery decides; or its report is coming */
    if (effect->kind == EFFECT_END) {
        handed_end(engine, executor, id);
    } else if (!is_out) {
        effect_given(engine, resuming->resident, effect, /* cooperative_count= */ 0);
        effect_retry_later(engine, &(EffectEntry){ *effect, id.run_no });
    }
}

/* A commit whose outcome was unknown may have been written without its effects being performed: they are now. */
void effect_resume(Engine *engine, Resident *resident)
{
    const Run *run = &resident->run;
    for (OutEntry *entry = run_index_find(&engine->outs, run->run_no); entry; entry = entry->next) {
        Effect effect = { EFFECT_END, entry->step, entry->attempt, entry->holder };
        AttemptId id = { run->run_no, entry->step, entry->attempt, entry->holder, entry->serial };
        Executor *executor = holder_executor(engine, entry->holder);
        bool is_wanted = is_still_held(run, &effect) || run_notification(run, entry->step, entry->attempt);
        if (executor && !entry->is_reported && !is_wanted) executor->ops->end(executor, &id);
    }
    pending(&resident->plan->plan, run, resume_effect, &(Resuming){ engine, resident });
}

/* --- what comes back ---------------------------------------------------------------------------------------------------- */

/* A command of it, for the step run that its attempt is of. */
static void queue_notice(Engine *engine, const Notice *notice, Str teller, uint32_t step_run, uint64_t number)
{
    Mail *mail = mail_of_notice(notice, teller);
    mail->command.step_run = step_run;
    mail->command.notice = number;
    queue_mail(engine, tenant_of_run(engine, notice->id.run_no), mail);
}

static void take_notice(Engine *engine, const Notice *notice)
{
    Resident *resident = resident_find(engine, notice->id.run_no);
    Executor *executor = holder_executor(engine, notice->id.holder);
    OutEntry *stray = notice->kind <= NOTICE_SIGNAL ? stray_find(engine, &notice->id) : NULL;
    if (stray) {                            /* it was given up: whatever it says, it is the last of it that counts */
        if (notice->kind != NOTICE_REPORT) return;
        out_end(engine, &notice->id, stray, /* is_reported= */ false);
        return;
    }
    const OutEntry *out = out_find(engine, &notice->id, /* is_reported= */ false);
    uint32_t step_run = out ? out->step_run : 0;
    /* Whatever a remote attempt says, it is alive; the lease of an executor of this process ends with the process. */
    if (notice->kind != NOTICE_ROOM && notice->teller && notice->teller->lease_ms && resident && !resident->loader)
        run_renew(&resident->run, notice->id.step, notice->id.attempt, notice->id.holder, engine->now_ms + notice->teller->lease_ms);
    switch (notice->kind) {
    case NOTICE_REPORT:
        if (out) gate_outcome(engine, out->gate, notice->report.cause);
        /* Of an attempt that an earlier owner of the log gave to a remote executor the core knows whether it is under way. */
        if (take_back(engine, &notice->id, /* is_reported= */ true) || (notice->teller && holder_epoch(notice->id.holder) < engine->holder_epoch))
            queue_notice(engine, notice, notice->teller ? notice->teller->name : executor->name, step_run, /* number= */ 0);
        else if (notice->teller && notice->teller->ops->settled)
            notice->teller->ops->settled(notice->teller, &notice->id, /* is_taken= */ false);
        break;
    case NOTICE_EFFECT:
    case NOTICE_COST:
    case NOTICE_SIGNAL:
        if (!out) break;                                    /* it has ended, by its own word */
        queue_notice(engine, notice, executor->name, step_run, ++engine->notice_number);    /* kept when it is decided again */
        break;
    case NOTICE_LOG: log_line_add(engine, notice); break;
    case NOTICE_PROGRESS:
        if (engine->observe && resident)
            engine->observe(engine->observe_context,
                            &(Observation){ .kind = OBSERVE_PROGRESS, .plan = &resident->plan->plan, .run = &resident->run,
                                            .step = notice->id.step, .text = notice->text, .number = notice->number,
                                            .now_ms = engine->now_ms });
        break;
    case NOTICE_HEARTBEAT: break;
    case NOTICE_ROOM:
        if (notice->teller) executor = notice->teller;
        if (executor) effect_room(engine, executor->slot, notice->number ? (uint32_t)notice->number : UINT32_MAX);
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

/* Effects that became durable are acknowledged to the attempts that wait for it. */
void effect_acknowledge(Engine *engine, const EngineBatch *batch)
{
    for (const Mail *mail = batch->notices.first; mail; mail = mail->next) {
        if (mail->command.kind != COMMAND_EFFECT || mail->is_refused) continue;
        Executor *executor = holder_executor(engine, mail->command.holder);
        AttemptId id = { mail->run_no, mail->command.step, mail->command.attempt, mail->command.holder, mail->serial };
        if (executor && executor->ops->acknowledge) executor->ops->acknowledge(executor, &id);
    }
}

void effect_observe(Engine *engine, const EngineBatch *batch)
{
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
                        &(Observation){ .kind = OBSERVE_EVENTS, .plan = &resident->plan->plan, .run = &resident->run,
                                        .events = record.events, .event_count = record.event_count,
                                        .first_event = raw->first_event, .now_ms = record.head.now_ms, .payloads = texts });
    }
}
