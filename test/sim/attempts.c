/* attempts.c - executors of a simulated world: slow, full, forgetful, late, talking twice. */
#include <inttypes.h>
#include <string.h>

#include "sim/watch.h"

/* --- the port -------------------------------------------------------------------------------------------------------------------- */

static SimAttempt *attempt_find(World *world, const AttemptId *id)
{
    for (uint32_t i = 0; i < world->attempt_count; i++) {
        SimAttempt *attempt = &world->attempts[i];
        bool is_same = attempt->id.run_no == id->run_no && attempt->id.step == id->step && attempt->id.attempt == id->attempt
                    && attempt->id.holder == id->holder;
        if (attempt->is_there && is_same) return attempt;
    }
    return NULL;
}

static SimAttempt *attempt_add(World *world)
{
    uint32_t i = 0;
    while (i < world->attempt_count && world->attempts[i].is_there) i++;
    if (i == ATTEMPTS_MAX) return NULL;
    if (i == world->attempt_count) world->attempt_count++;
    return &world->attempts[i];
}

static uint32_t count_of(const World *world, uint8_t executor)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < world->attempt_count; i++)
        count += world->attempts[i].is_there && !world->attempts[i].is_ghost && world->attempts[i].executor == executor;
    return count;
}

static Cause pick_cause(World *world)
{
    static const Cause causes[] = { CAUSE_ERROR, CAUSE_TRANSIENT, CAUSE_TRANSIENT, CAUSE_PERMANENT };
    return chance(world, world->weather.fail) ? causes[below(world, 4)] : CAUSE_NONE;
}

/* I16: of one step, or what undoes it, no two attempts live at once; nor is one handed over twice, which I8 says of its group. What an
 * owner that is gone had is ended with it: ghosts only speak. */
static void check_alone(World *world, const AttemptId *id)
{
    for (uint32_t i = 0; i < world->attempt_count; i++) {
        const SimAttempt *other = &world->attempts[i];
        if (attempt_is_notification(other->id.attempt)) continue;
        if (other->is_there && !other->is_ghost && other->id.run_no == id->run_no && other->id.step == id->step)
            world_fail(world, "I16: attempt %u of step %u of run %" PRIu64 " begins while attempt %u lives", id->attempt, id->step,
                       id->run_no, other->id.attempt);
    }
}

/* F-111: where its tenant has a ceiling, so many live at once, the one that is handed over included. Notifications are no work of it, and
 * a commit that was written without anybody knowing may bring one back whose place was given away. */
static void check_ceiling(World *world, const Attempt *given)
{
    uint32_t ceiling = world_ceiling(world, given->tenant), count = 1;
    for (uint32_t i = 0; ceiling && i < world->attempt_count; i++) {
        const SimAttempt *other = &world->attempts[i];
        const WatchRun *run = other->is_there && !other->is_ghost ? watch_run(world->watch, other->id.run_no) : NULL;
        count += run && !attempt_is_notification(other->id.attempt) && str_is(run->run.tenant, given->tenant);
    }
    if (ceiling && count > ceiling && !world->weather.keep)
        world_fail(world, "F-111: %u attempts of the tenant %.*s live at once", count, STR_ARG(given->tenant));
}

static bool sim_execute(Executor *executor, const Attempt *given)
{
    SimExecutor *self = (SimExecutor *)executor;
    World *world = self->world;
    if (world->is_failed) return true;
    if (!world->is_calm && below(world, 100) < self->refuse_chance) return false;
    if (attempt_find(world, &given->id)) world_fail(world, "an attempt of run %" PRIu64 " is handed over twice", given->id.run_no);
    if (executor->capacity && count_of(world, (uint8_t)executor->slot) >= executor->capacity) {
        /* After a commit that was written without anybody knowing, an attempt may be found that takes a place given away. */
        if (!world->weather.keep) world_fail(world, "executor %u gets more than its %u attempts", executor->slot, executor->capacity);
        return false;
    }
    world->handed_count++;
    if (!attempt_is_notification(given->id.attempt)) {
        check_alone(world, &given->id);
        check_ceiling(world, given);
        watch_attempt(world->watch, given);
    } else {
        watch_notification(world->watch, given);
    }
    SimAttempt *attempt = attempt_add(world);
    if (!attempt) return false;
    const WatchRun *run = watch_run(world->watch, given->id.run_no);
    *attempt = (SimAttempt){ .id = given->id, .is_there = true, .is_recorded = given->is_effect_recorded && below(world, 8),
                             .executor = (uint8_t)executor->slot, .cause = pick_cause(world),
                             .repeats = chance(world, world->weather.repeat),
                             .generation = run ? run->run.steps[given->id.step].generation : 0,
                             .superseded_count = run ? run->steps[given->id.step].superseded_count : 0 };
    bool hangs = !world->is_calm && chance(world, world->weather.hang);
    attempt->due_ms = hangs ? INT64_MAX : world->now_ms + below(world, (uint32_t)world->weather.slow_ms + 1);
    world_note(world, "handed over: run %" PRIu64 " step %u attempt %u holder %" PRIx64 "%s", given->id.run_no, given->id.step,
               given->id.attempt, given->id.holder, hangs ? ", which hangs" : "");
    return true;
}

static void sim_end(Executor *executor, const AttemptId *id)
{
    World *world = ((SimExecutor *)executor)->world;
    SimAttempt *attempt = attempt_find(world, id);
    world_note(world, "to be ended: run %" PRIu64 " step %u attempt %u", id->run_no, id->step, id->attempt);
    if (!attempt || attempt->is_ended) return;
    attempt->is_ended = true;
    attempt->phase = PHASE_ENDS;
    if (below(world, 4)) attempt->cause = CAUSE_CANCELLED;      /* else it was just about to report something else */
    attempt->due_ms = world->now_ms + below(world, (uint32_t)world->weather.linger_ms);
}

/* I11: what is acknowledged is in the store. */
static void sim_acknowledge(Executor *executor, const AttemptId *id)
{
    World *world = ((SimExecutor *)executor)->world;
    SimAttempt *attempt = attempt_find(world, id);
    watch_sync(world->watch);
    const WatchRun *run = watch_run(world->watch, id->run_no);
    if (!attempt || !run) return;
    const WatchStep *step = &run->steps[id->step];
    if (attempt->superseded_count != step->superseded_count) return;        /* it was, and its step has begun anew since */
    uint32_t generation = attempt->generation + 1;
    bool is_intended = step->intended_generation == generation && step->intended_attempt == id->attempt;
    if (attempt->has_acted ? step->effect_generation != generation : attempt->has_announced && !is_intended)
        world_fail(world, "I11: an effect of step %u of run %" PRIu64 " is acknowledged and not recorded", id->step, id->run_no);
    if (attempt->is_ended) return;
    attempt->phase = attempt->phase == PHASE_ANNOUNCED ? PHASE_ACTED : PHASE_ENDS;
    attempt->due_ms = world->now_ms + below(world, 20);
}

static void sim_close(Executor *executor) { (void)executor; }

static const ExecutorOps sim_ops = { .execute = sim_execute, .end = sim_end, .acknowledge = sim_acknowledge, .close = sim_close };

void attempts_init(World *world)
{
    static const char *const names[EXECUTORS] = { "first", "second" };
    Value *ability = ARENA_NEW(&world->arena, Value), all = value_array(ability, 1);
    *ability = value_string(STR("all"));
    world->is_shared = world->seed % 3 == 0;
    for (uint32_t i = 0; i < EXECUTORS; i++) {
        world->executors[i] = (SimExecutor){ .world = world, .refuse_chance = below(world, 3) ? 0 : below(world, 40) };
        world->executors[i].port = (Executor){ .ops = &sim_ops, .name = str_of(names[i]), .kind = STR("native"),
                                               .capacity = below(world, 2) ? 0 : 1 + below(world, 5) };
        world->ports[i] = &world->executors[i].port;
        world->sites[i] = (Site){ .region = str_of(names[i]), .capabilities = all, .tenants = value_null(), .cost_micro = i * 5000 };
        world->executors[i].port.site = &world->sites[i];
    }
}

/* --- what they say ------------------------------------------------------------------------------------------------------------------ */

static void report(World *world, SimAttempt *attempt)
{
    arena_reset(&world->scratch);
    Notice notice = { .kind = NOTICE_REPORT, .id = attempt->id };
    notice.report.cause = attempt->cause;
    if (attempt->cause) notice.report.message = STR("it did not work");
    const WatchRun *owner = watch_run(world->watch, attempt->id.run_no);
    bool is_poll = owner && !attempt_rollback(attempt->id.attempt) && step_polls(&owner->plan->plan.terms->steps[attempt->id.step]);
    if (!attempt->cause && is_poll) notice.report.output = people_poll(world, &world->scratch);
    else if (!attempt->cause || below(world, 4) == 0) notice.report.output = people_output(world, &world->scratch);
    world_note(world, "reports: run %" PRIu64 " step %u attempt %u: %s%s", attempt->id.run_no, attempt->id.step,
               attempt->id.attempt, attempt->cause ? cause_name(attempt->cause) : "success", attempt->is_ghost ? " (ghost)" : "");
    WatchRun *run = watch_run(world->watch, attempt->id.run_no);
    if (run && attempt->cause && attempt->cause != CAUSE_CANCELLED && !attempt_rollback(attempt->id.attempt)
        && run->steps[attempt->id.step].acted_generation == attempt->generation + 1)
        run->steps[attempt->id.step].acted_generation = 0;          /* it says itself that it may be tried again */
    attempt->is_there = false;
    if (!world->is_calm && chance(world, 200)) {                    /* somebody else speaks for it first */
        Notice forged = notice;
        if (below(world, 2)) forged.id.attempt++;
        else forged.id.holder++;
        engine_notice(world->engine, &forged);
    }
    engine_notice(world->engine, &notice);
    if (attempt->repeats) engine_notice(world->engine, &notice);
    world->echoes[world->echo_count++ % ECHOES_MAX] = attempt->id;
}

/* One that has reported long ago does so once more, when its step may be under way anew. */
static void echo(World *world)
{
    uint32_t count = world->echo_count < ECHOES_MAX ? world->echo_count : ECHOES_MAX;
    if (!count) return;
    Notice notice = { .kind = NOTICE_REPORT, .id = world->echoes[below(world, count)] };
    notice.report.cause = CAUSE_PERMANENT;
    notice.report.message = STR("an echo");
    engine_notice(world->engine, &notice);
}

static void announce(World *world, SimAttempt *attempt, bool is_committed)
{
    arena_reset(&world->scratch);
    Notice notice = { .kind = NOTICE_EFFECT, .id = attempt->id, .is_committed = is_committed,
                      .value = people_output(world, &world->scratch) };
    world_note(world, "%s: run %" PRIu64 " step %u attempt %u", is_committed ? "has acted" : "will act", attempt->id.run_no,
               attempt->id.step, attempt->id.attempt);
    attempt->due_ms = INT64_MAX;                                    /* until it is acknowledged, or ended */
    attempt->has_announced = true;
    attempt->has_acted = is_committed;
    engine_notice(world->engine, &notice);
}

/* Costs differ, and of signals those that no gate waits for: none may be counted twice. */
static void chatter(World *world, const SimAttempt *attempt)
{
    arena_reset(&world->scratch);
    uint32_t number = ++world->said_count;
    Str name = below(world, 2) ? STR("go") : arena_format(&world->scratch, "said-%u", number);
    Notice notice = { .id = attempt->id, .text = STR("a line"), .number = number, .name = name };
    static const NoticeKind kinds[] = { NOTICE_COST, NOTICE_SIGNAL, NOTICE_PROGRESS, NOTICE_HEARTBEAT, NOTICE_LOG, NOTICE_LOG,
                                        NOTICE_ROOM };
    notice.kind = kinds[below(world, 7)];
    engine_notice(world->engine, &notice);
}

static void attempt_goes_on(World *world, SimAttempt *attempt)
{
    if (!attempt->is_ghost && below(world, 12) == 0 && world->said_count + 1 < SAID_MAX) chatter(world, attempt);
    if (attempt->phase == PHASE_WORKS && attempt->is_recorded) {
        attempt->phase = PHASE_ANNOUNCED;
        announce(world, attempt, /* is_committed= */ false);
    } else if (attempt->phase == PHASE_ACTED) {
        watch_acts(world->watch, attempt);
        announce(world, attempt, /* is_committed= */ true);
    } else {
        report(world, attempt);
    }
}

void attempts_deliver(World *world)
{
    if (!world->is_calm && chance(world, world->weather.repeat)) echo(world);
    uint32_t count = world->attempt_count, first = count ? below(world, count) : 0;
    for (uint32_t i = 0; i < count && !world->is_failed; i++) {
        SimAttempt *attempt = &world->attempts[(first + i) % count];
        if (attempt->is_there && attempt->due_ms <= world->now_ms) attempt_goes_on(world, attempt);
    }
    while (world->attempt_count && !world->attempts[world->attempt_count - 1].is_there) world->attempt_count--;
}

int64_t attempts_due_ms(const World *world)
{
    int64_t due = INT64_MAX;
    for (uint32_t i = 0; i < world->attempt_count; i++)
        if (world->attempts[i].is_there && world->attempts[i].due_ms < due) due = world->attempts[i].due_ms;
    return due;
}

/* --- the end of a process, and of the storm ---------------------------------------------------------------------------------------------- */

void attempts_crash(World *world)
{
    for (uint32_t i = 0; i < world->attempt_count; i++) {
        SimAttempt *attempt = &world->attempts[i];
        if (!attempt->is_there) continue;
        attempt->is_there = attempt->phase != PHASE_ANNOUNCED && chance(world, world->weather.ghost);
        attempt->is_ghost = true;
        attempt->phase = PHASE_ENDS;
        if (attempt->due_ms == INT64_MAX) attempt->due_ms = world->now_ms + below(world, 500);
    }
}

/* Who should have been told to end has been told; who hangs for a reason of its own comes to an end. */
void attempts_calm(World *world)
{
    for (uint32_t i = 0; i < world->attempt_count; i++) {
        SimAttempt *attempt = &world->attempts[i];
        if (!attempt->is_there || attempt->due_ms != INT64_MAX) continue;
        const WatchRun *run = watch_run(world->watch, attempt->id.run_no);
        const AttemptId *id = &attempt->id;
        bool is_undo = attempt_rollback(id->attempt) != 0;
        bool is_held = run && run_holds(&run->run, id->step, id->attempt, id->holder)
                    && (is_undo || !(run->run.steps[id->step].flags & STEP_ENDING));
        is_held = is_held || (run && run_notification(&run->run, id->step, id->attempt));
        if (!is_held && !attempt->is_ghost) {
            world_fail(world, "attempt %u of step %u of run %" PRIu64 " is no longer wanted, and nobody has told it",
                       attempt->id.attempt, attempt->id.step, attempt->id.run_no);
            return;
        }
        if (attempt->phase == PHASE_WORKS || attempt->phase == PHASE_ENDS) attempt->due_ms = world->now_ms;
        else world_fail(world, "step %u of run %" PRIu64 " waits in vain for an acknowledgement", attempt->id.step,
                        attempt->id.run_no);
    }
}
