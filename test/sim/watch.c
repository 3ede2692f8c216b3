#include "sim/watch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "core/terms.h"
#include "ledger/record.h"

/* --- life ------------------------------------------------------------------------------------------------------------------ */

Watch *watch_new(World *world)
{
    Watch *watch = calloc(1, sizeof *watch);
    CHECK(watch);
    watch->world = world;
    arena_init(&watch->scratch, SIZE_MAX);
    arena_init(&watch->arena, SIZE_MAX);
    buf_init(&watch->before, SIZE_MAX);
    buf_init(&watch->after, SIZE_MAX);
    return watch;
}

void watch_free(Watch *watch)
{
    for (uint64_t i = 0; i < watch->run_end; i++) {
        WatchRun *run = watch->runs[i];
        if (!run) continue;
        run_deinit(&run->run);
        free(run->steps);
        free(run->failures);
        free(run->rerun);
        free(run->held_jobs);
        free(run);
    }
    free(watch->runs);
    arena_deinit(&watch->scratch);
    arena_deinit(&watch->arena);
    buf_deinit(&watch->before);
    buf_deinit(&watch->after);
    free(watch);
}

WatchRun *watch_run(const Watch *watch, uint64_t run_no)
{
    return run_no < watch->run_end ? watch->runs[run_no] : NULL;
}

bool watch_is_settled(const WatchRun *run)
{
    return run_state_is_settled((RunState)run->run.state, (Resolution)run->run.resolution);
}

static const SimPlan *plan_of(const World *world, const Digest *digest)
{
    for (uint32_t i = 0; digest && i < world->plan_count; i++)
        if (memcmp(&world->plans[i].digest, digest, sizeof *digest) == 0) return &world->plans[i];
    return NULL;
}

static WatchRun *run_add(Watch *watch, uint64_t run_no, const Record *record)
{
    const SimPlan *plan = plan_of(watch->world, record->events[0].digest);
    Id id;
    if (record->events[0].kind != EVENT_RUN_CREATED || !plan || !id_read(record->head.run_id, &id)) {
        world_fail(watch->world, "run %" PRIu64 " does not begin with its creation", run_no);
        return NULL;
    }
    if (run_no >= watch->run_capacity) {
        watch->run_capacity = run_no + 64;
        watch->runs = realloc(watch->runs, watch->run_capacity * sizeof *watch->runs);
        CHECK(watch->runs);
    }
    while (watch->run_end <= run_no) watch->runs[watch->run_end++] = NULL;
    WatchRun *run = calloc(1, sizeof *run);
    CHECK(run);
    run->plan = plan;
    run->run_no = run_no;
    run->steps = calloc(plan->plan.step_count, sizeof *run->steps);
    run->failures = calloc(plan->plan.step_count, sizeof *run->failures);
    run->rerun = calloc(plan->plan.step_count, 1);
    run->held_jobs = calloc(plan->plan.job_count + 1, 1);
    CHECK(run->steps && run->failures && run->rerun && run->held_jobs);
    run_init(&run->run, &plan->plan, &id, run_no);
    watch->runs[run_no] = run;
    return run;
}

/* --- single events ----------------------------------------------------------------------------------------------------------- */

static const char *step_name(const WatchRun *run, uint32_t step)
{
    static char name[64];
    Str id = run->plan->plan.steps[step].id;
    size_t size = id.len < sizeof name - 1 ? id.len : sizeof name - 1;
    memcpy(name, id.ptr, size);
    name[size] = '\0';
    return name;
}

/* Everything it comes after has ended; of a sequence around it, it is enough that it has begun. */
static void check_needs(Watch *watch, const WatchRun *run, uint32_t step)
{
    const Plan *plan = &run->plan->plan;
    for (uint32_t e = 0; e < plan->edge_count; e++) {
        const PlanEdge *edge = &plan->edges[e];
        if (edge->to != step) continue;
        StepState state = (StepState)run->run.steps[edge->from].state;
        bool is_around = plan->steps[edge->from].kind == STEP_SEQUENCE && state == STEP_RUNNING;
        if (!step_state_is_final(state) && !is_around)
            world_fail(watch->world, "run %" PRIu64 ": step %s begins before step %u has ended", run->run_no,
                       step_name(run, step), edge->from);
        if (edge->kind == EDGE_DATA && state == STEP_FAILED)
            world_fail(watch->world, "run %" PRIu64 ": step %s begins though what it reads has failed", run->run_no,
                       step_name(run, step));
    }
}

/* What is undone was done, is undone once, and not before what came after it. */
static void check_undo(Watch *watch, const WatchRun *run, const Event *event)
{
    World *world = watch->world;
    const StepRun *step = &run->run.steps[event->step];
    const Rollback *rollback = &run->run.rollback;
    if (event->kind == EVENT_COMPENSATION_PLANNED && !(event->flags & 1)) {
        bool is_done = step_is_done(step) || step->flags & (STEP_EFFECT_INTENDED | STEP_EFFECT_COMMITTED | STEP_WORK_DONE);
        if (!is_done || !step->attempt || !step_state_is_final((StepState)step->state))
            world_fail(world, "run %" PRIu64 ": step %s is to be undone, which has done nothing", run->run_no, step_name(run, event->step));
        bool is_unknown = !step_is_done(step) && !(step->flags & (STEP_EFFECT_COMMITTED | STEP_WORK_DONE));
        if (is_unknown && !(rollback->flags & ROLLBACK_UNKNOWN_IS_DONE))
            world_fail(world, "I3: run %" PRIu64 ": step %s is to be undone, and what it did is not known", run->run_no,
                       step_name(run, event->step));
        if (step->flags & STEP_UNDONE)
            world_fail(world, "run %" PRIu64 ": step %s is to be undone twice", run->run_no, step_name(run, event->step));
        const Compensation *last = rollback->count ? &rollback->items[rollback->count - 1] : NULL;
        if (last && run->run.steps[last->step].need_left < step->need_left)
            world_fail(world, "run %" PRIu64 ": step %s is to be undone after an older one", run->run_no, step_name(run, event->step));
    }
    if (event->kind == EVENT_COMPENSATION_RUNNING) {
        const Compensation *item = run_compensation(&run->run);
        if (!item || item->step != event->step || !rollback->is_planned || event->attempt > item->attempt_max)
            world_fail(world, "run %" PRIu64 ": the compensation of step %s begins out of turn", run->run_no, step_name(run, event->step));
    }
    if (event->kind == EVENT_COMPENSATION_SUCCEEDED && step->flags & STEP_UNDONE)
        world_fail(world, "I23: run %" PRIu64 ": step %s was undone twice", run->run_no, step_name(run, event->step));
    if (event->kind == EVENT_RUN_COMPENSATED && run_compensation(&run->run))
        world_fail(world, "run %" PRIu64 " is compensated, and a compensation is left", run->run_no);
}

/* What an attempt says once counts once, also where nobody knew for a while whether it had been kept. */
static void check_said(Watch *watch, const WatchRun *run, const Event *event)
{
    Str prefix = STR("said-");
    uint64_t number = event->kind == EVENT_COST_REPORTED ? event->count : 0;
    if (event->kind == EVENT_SIGNAL_RECEIVED && str_starts(event->name, prefix))
        for (size_t i = prefix.len; i < event->name.len; i++) number = number * 10 + (uint64_t)(event->name.ptr[i] - '0');
    if (!number) return;
    if (number >= SAID_MAX || watch->said[number])
        world_fail(watch->world, "run %" PRIu64 ": %s %" PRIu64 " of an attempt counts twice", run->run_no,
                   event_name(event->kind), number);
    else watch->said[number] = true;
}

/* I17: an execution counts as lost where another owner says so; what an owner itself gives back does not count. */
static void check_lost(Watch *watch, WatchRun *run, const Event *event)
{
    bool is_undo = event->kind == EVENT_COMPENSATION_ORPHANED;
    const Compensation *item = run_compensation(&run->run);
    uint64_t before = !is_undo ? step_lost(&run->run.steps[event->step]) : item ? item->lost : 0;
    bool is_given_back = holder_epoch(event->holder) >= watch->world->holder_epoch;
    uint64_t want = is_given_back || before == LOST_COUNT_MAX ? before : before + 1;
    if (event->count != want)
        world_fail(watch->world, "I17: run %" PRIu64 ": of step %s %" PRIu64 " executions were lost, and not %" PRIu64, run->run_no,
                   step_name(run, event->step), want, event->count);
    if (is_given_back && !is_undo) run->steps[event->step].execution_count--;
}

/* Each poll has its own tries. */
static uint32_t first_of(const WatchRun *run, uint32_t step)
{
    const StepTerms *terms = &run->plan->plan.terms->steps[step];
    return step_polls(terms) ? run->run.polls[terms->poll.slot].attempt_first : 0;
}

/* I7: a dispatch spawns a primary and its cooperatives; what nobody was given, the engine carries out itself. */
static void check_spawned(Watch *watch, WatchRun *run, const Event *event)
{
    uint32_t count = run->steps[event->step].spawn_count += 1u + admission_unpack(event->flags).cooperative_count;
    if (count > run->plan->plan.terms->steps[event->step].retry.spawn_count_max)
        world_fail(watch->world, "I7: run %" PRIu64 ": %u sub-routines are spawned for step %s", run->run_no, count, step_name(run, event->step));
}

/* I7, I17: executions after an owner's end are dispatches, too, and there are few of them. */
static void check_executions(Watch *watch, WatchRun *run, uint32_t step)
{
    uint32_t count = ++run->steps[step].execution_count, attempt = run->run.steps[step].attempt - first_of(run, step);
    if (count > run->plan->plan.terms->steps[step].retry.spawn_count_max)
        world_fail(watch->world, "I7: run %" PRIu64 ": step %s is executed for the %u. time", run->run_no, step_name(run, step), count);
    if (count >= attempt + LOST_COUNT_MAX)
        world_fail(watch->world, "I17: run %" PRIu64 ": attempt %u of step %s is executed for the %u. time", run->run_no, attempt,
                   step_name(run, step), count);
}

/* I26: who carries an attempt meets what its run is bound to; executors are named after their regions. */
static void check_bound(World *world, const WatchRun *run, const Event *event)
{
    Str bound = run->run.bound, name = event->name;
    bool is_region = name.len && bound.len && memmem(bound.ptr, bound.len, "regions", 7);
    if (is_region && !memmem(bound.ptr, bound.len, name.ptr, name.len))
        world_fail(world, "I26: run %" PRIu64 " is bound to %.*s, and step %s goes to %.*s", run->run_no,
                   STR_ARG(bound), step_name(run, event->step), STR_ARG(name));
}

static void before_event(Watch *watch, WatchRun *run, const Event *event)
{
    World *world = watch->world;
    check_said(watch, run, event);
    waits_before(watch, run, event);
    if (str_is_text(event->text, "an echo"))
        world_fail(world, "run %" PRIu64 ": step %s ends by the report of an earlier attempt", run->run_no, step_name(run, event->step));
    if (event->kind >= EVENT_COMPENSATION_STARTED && event->kind <= EVENT_COMPENSATION_ORPHANED && event->step < run->run.step_count)
        check_undo(watch, run, event);
    run->has_other_params = run->has_other_params || event->kind == EVENT_PARAMS_CHANGED;
    if (event->kind == EVENT_STEP_SUPERSEDED) {                 /* somebody has decided that it may happen again */
        WatchStep *seen = &run->steps[event->step];
        seen->effect_generation = seen->acted_generation = 0;
        seen->superseded_count++;
        if (run->has_other_params) seen->key_generation = 0;
        seen->execution_count = seen->spawn_count = 0;
        run->failures[event->step] = 0;
    }
    if (event->kind == EVENT_STEP_DISPATCHED) {
        const StepRun *step = &run->run.steps[event->step];
        const StepTerms *terms = &run->plan->plan.terms->steps[event->step];
        check_needs(watch, run, event->step);
        check_bound(world, run, event);
        if (event->name.len) check_spawned(watch, run, event);
        if (step_works(&run->plan->plan.steps[event->step]) && event->attempt - first_of(run, event->step) > terms->retry.spawn_count_max)
            world_fail(world, "I7: run %" PRIu64 ": step %s is dispatched for the %u. time", run->run_no,
                       step_name(run, event->step), event->attempt);
        if (run->steps[event->step].effect_generation == step->generation + 1)
            world_fail(world, "run %" PRIu64 ": step %s begins again though its effect was committed", run->run_no,
                       step_name(run, event->step));
    }
    if (event->kind == EVENT_STEP_RUNNING && event->holder
        && run->steps[event->step].effect_generation == run->run.steps[event->step].generation + 1)
        world_fail(world, "run %" PRIu64 ": step %s runs again though its effect was committed", run->run_no,
                   step_name(run, event->step));
    if (event->kind == EVENT_STEP_POLLING && run->run.steps[event->step].state == STEP_RUNNING)
        run->failures[event->step] = run->steps[event->step].execution_count = run->steps[event->step].spawn_count = 0;
    if (event->kind == EVENT_LOOP_REPEATED)
        for (uint32_t i = 0; i < run->run.step_count; i++) {        /* checked per round */
            run->failures[i] = run->steps[i].execution_count = run->steps[i].spawn_count = 0;
        }
    if (event->kind == EVENT_LEASE_EXPIRED || event->kind == EVENT_COMPENSATION_ORPHANED) check_lost(watch, run, event);
    if (event->kind == EVENT_STEP_RUNNING && event->holder) check_executions(watch, run, event->step);
    if (event->kind == EVENT_ATTEMPT_FAILED
        && ++run->failures[event->step] >= run->plan->plan.terms->steps[event->step].retry.attempt_count_max)
        world_fail(world, "I7: run %" PRIu64 ": step %s is tried again after %u failures", run->run_no,
                   step_name(run, event->step), run->failures[event->step]);
}

static void after_event(WatchRun *run, const Event *event)
{
    if (event->kind == EVENT_EFFECT_INTENDED) {
        run->steps[event->step].intended_generation = run->run.steps[event->step].generation + 1;
        run->steps[event->step].intended_attempt = run->run.steps[event->step].attempt;
    }
    if (event->kind == EVENT_EFFECT_COMMITTED)
        run->steps[event->step].effect_generation = run->run.steps[event->step].generation + 1;
}

/* --- the state after a record -------------------------------------------------------------------------------------------------- */

static void check_steps(Watch *watch, const WatchRun *run, const uint8_t *before, bool has_repeated)
{
    for (uint32_t i = 0; i < run->run.step_count; i++) {
        const StepRun *step = &run->run.steps[i];
        bool was_final = step_state_is_final((StepState)before[i]);
        if (was_final && step->state != before[i] && !has_repeated)
            world_fail(watch->world, "run %" PRIu64 ": step %s had ended and goes on", run->run_no, step_name(run, i));
        if (step->state == STEP_FAILED && step->flags & STEP_HAS_OUTPUT)
            world_fail(watch->world, "I5: run %" PRIu64 ": failed step %s keeps its output", run->run_no, step_name(run, i));
        if (step->state == STEP_RUNNING && step_works(&run->plan->plan.steps[i])) {
            const ActiveStep *active = run_active(&run->run, i);
            if (!active || !active->holder)
                world_fail(watch->world, "I2: run %" PRIu64 ": step %s runs and nobody holds it", run->run_no,
                           step_name(run, i));
        }
    }
}

typedef struct EffectSet { Effect items[256]; uint32_t count; } EffectSet;

static void effect_collect(void *context, const Effect *effect)
{
    EffectSet *set = context;
    if (set->count < 256) set->items[set->count++] = *effect;
}

static bool effect_has(const EffectSet *set, const Effect *effect)
{
    for (uint32_t i = 0; i < set->count; i++) {
        const Effect *item = &set->items[i];
        if (item->kind == effect->kind && item->step == effect->step && item->attempt == effect->attempt
            && item->holder == effect->holder)
            return true;
    }
    return false;
}

/* I10: what is pending now and was not before is exactly what the events say was begun. */
static void check_effects(Watch *watch, const WatchRun *run, const EffectSet *before, const Record *record)
{
    static EffectSet after;
    after.count = 0;
    pending(&run->plan->plan, &run->run, effect_collect, &after);
    for (uint32_t i = 0; i < after.count; i++) {
        const Effect *effect = &after.items[i];
        if (effect_has(before, effect)) continue;
        bool is_note = effect->kind == EFFECT_NOTIFY;
        bool is_undo = !is_note && attempt_rollback(effect->attempt), is_end = effect->kind == EFFECT_END;
        EventKind kind = is_undo ? (is_end ? EVENT_COMPENSATION_OVERDUE : EVENT_COMPENSATION_RUNNING)
                       : is_note ? EVENT_NOTIFICATION_QUEUED : is_end ? EVENT_STEP_CANCELLING : EVENT_STEP_RUNNING;
        EventKind other = is_note ? EVENT_NOTIFICATION_FAILED : is_end && !is_undo ? EVENT_STEP_OVERDUE : kind;
        bool is_told = false;
        for (uint32_t e = 0; e < record->event_count && !is_told; e++)
            is_told = (record->events[e].kind == kind || record->events[e].kind == other) && record->events[e].step == effect->step;
        if (!is_told)
            world_fail(watch->world, "I10: run %" PRIu64 ": an effect on step %s follows from no event", run->run_no,
                       step_name(run, effect->step));
    }
}

static void check_head(Watch *watch, const Record *record, uint64_t position)
{
    World *world = watch->world;
    if (record->head.now_ms < watch->log_ms) world_fail(world, "I13: the time of record %" PRIu64 " goes back", position);
    watch->log_ms = record->head.now_ms;
    if (!record->head.actor.len) world_fail(world, "I1: record %" PRIu64 " has no actor", position);
    Str id = record->head.command_id;
    uint64_t number;
    if (!id.len) return;
    if (id.ptr[0] != 'c' || !str_to_u64(str_slice(id, 1, id.len), &number) || number >= world->ask_count)
        world_fail(world, "record %" PRIu64 " has a command id that nobody sent", position);
    else if (++watch->recorded[number] > 1)
        world_fail(world, "command c%" PRIu64 " was carried out twice", number);
}

/* Revisions of a workflow are numbered without a gap, and a plan is one of them and no other. */
static void check_revision(Watch *watch, const Event *event, uint64_t position)
{
    World *world = watch->world;
    uint32_t newest = 0, which = world->plan_count;
    for (uint32_t i = 0; i < world->plan_count; i++) {
        const SimPlan *plan = &world->plans[i];
        if (!str_is(plan->definition, event->name) || !str_is(plan->plan.tenant, event->tenant)) continue;
        if (watch->revisions[i] > newest) newest = watch->revisions[i];
        bool is_it = event->kind == EVENT_REVISION_STORED ? event->digest && !memcmp(event->digest, &plan->digest, sizeof plan->digest)
                                                          : watch->revisions[i] == event->revision;
        if (is_it) which = i;
    }
    if (which == world->plan_count) world_fail(world, "record %" PRIu64 " tells of a revision of no plan", position);
    else if (event->kind != EVENT_REVISION_STORED) return;
    else if (watch->revisions[which] || event->revision != newest + 1)
        world_fail(world, "record %" PRIu64 " tells of revision %" PRIu32 " after %" PRIu32, position, event->revision, newest);
    else watch->revisions[which] = event->revision;
}

/* Each owner is told once, with a higher epoch; each jump of the clock once, in order. A new owner may find that the clock is
 * behind the log. */
static void check_log_event(Watch *watch, const Event *event, uint64_t position)
{
    World *world = watch->world;
    if (event->kind == EVENT_OWNER_CHANGED) {
        if (event->count <= watch->owner_epoch || !str_is_text(event->text, "sim"))
            world_fail(world, "I14: record %" PRIu64 " tells of owner %" PRIu64 " after %" PRIu64, position, event->count, watch->owner_epoch);
        watch->owner_epoch = event->count;
        watch->is_opening = true;
        return;
    }
    if (event->kind >= EVENT_REVISION_STORED && event->kind <= EVENT_REVISION_REMOVED) {
        check_revision(watch, event, position);
        return;
    }
    int64_t by = event->flags ? -(int64_t)event->count : (int64_t)event->count;
    bool is_expected = world->jump_count && world->jumps[0] == by, is_behind = watch->is_opening && by < 0;
    if (event->kind != EVENT_CLOCK_JUMPED || !(is_expected || is_behind))
        world_fail(world, "record %" PRIu64 " tells of a jump of the clock by %" PRId64 " ms that was none", position, by);
    if (is_expected) memmove(world->jumps, world->jumps + 1, --world->jump_count * sizeof *world->jumps);
    watch->is_opening = false;
}

/* F-017, F-085: whatever a run does belongs to the trace that it was started in, and says by which policies it was allowed. */
static void check_trace(Watch *watch, WatchRun *run, Str trace, const char *what)
{
    if (trace.len != 55) {
        world_fail(watch->world, "F-017: %s of run %" PRIu64 " has no trace", what, run->run_no);
        return;
    }
    if (!run->trace[0]) memcpy(run->trace, trace.ptr + 3, sizeof run->trace);
    if (memcmp(run->trace, trace.ptr + 3, sizeof run->trace) != 0)
        world_fail(watch->world, "F-017: %s of run %" PRIu64 " belongs to another trace", what, run->run_no);
}

static void note_record(Watch *watch, const WatchRun *run, const Record *record, uint64_t position)
{
    char text[512];
    Buf buf = buf_on(text, sizeof text - 1);
    for (uint32_t i = 0; i < record->event_count && buf.len + 60 < sizeof text; i++)
        buf_format(&buf, " %s(%u)", event_name(record->events[i].kind), record->events[i].step);
    text[buf.len] = '\0';
    world_note(watch->world, "record %" PRIu64 " of run %" PRIu64 " by %.*s:%s", position, run->run_no,
               STR_ARG(record->head.actor), text);
}

/* A run goes on with the plan that its record names: one of the same workflow and tenant, by the number that it says. */
static void follow_revision(Watch *watch, WatchRun *run, const Record *record)
{
    World *world = watch->world;
    for (uint32_t i = 0; i < record->event_count; i++) {
        const Event *event = &record->events[i];
        if (event->kind != EVENT_RUN_REVISED) continue;
        uint32_t which = 0;
        while (which < world->plan_count && (!event->digest || memcmp(event->digest, &world->plans[which].digest, DIGEST_SIZE) != 0)) which++;
        if (which == world->plan_count || watch->revisions[which] != event->revision || run->run.state != RUN_FAILED
            || !str_is(world->plans[which].definition, run->plan->definition)
            || !str_is(world->plans[which].plan.tenant, run->plan->plan.tenant)) {
            world_fail(world, "run %" PRIu64 " goes on with revision %" PRIu32 ", which is none of its workflow", run->run_no, event->revision);
            return;
        }
        run->plan = &world->plans[which];
        watch->revised_count++;
    }
}

/* What denies that the run goes on with another revision are the policies of that one. */
static bool is_policy_of(const World *world, const WatchRun *run, const Record *record)
{
    bool is_denial = record->event_count == 1 && record->events[0].kind == EVENT_VERDICT;
    for (uint32_t i = 0; i < world->plan_count; i++) {
        const SimPlan *plan = &world->plans[i];
        bool may_be = plan == run->plan || (is_denial && str_is(plan->definition, run->plan->definition)
                                            && str_is(plan->plan.tenant, run->plan->plan.tenant));
        if (may_be && memcmp(&record->head.policy, &plan->digest, DIGEST_SIZE) == 0) return true;
    }
    return false;
}

static bool see_record(void *context, const Cell *cells, uint32_t count)
{
    Watch *watch = context;
    World *world = watch->world;
    (void)count;
    uint64_t position = (uint64_t)cells[LEDGER_position].integer, run_no = (uint64_t)cells[LEDGER_run_no].integer;
    Record record;
    Error err;
    arena_reset(&watch->scratch);
    if (position != watch->position + 1) world_fail(world, "record %" PRIu64 " follows %" PRIu64, position, watch->position);
    watch->position = position;
    if (record_decode(&watch->scratch, cells[LEDGER_record].text, &record, &err)) {
        world_fail(world, "I15: record %" PRIu64 ": %s", position, err.text);
        return false;
    }
    check_head(watch, &record, position);
    if (!record.head.actor.len || !record.head.rationale.len)
        world_fail(world, "F-085: record %" PRIu64 " does not say who or why", position);
    if (cells[LEDGER_run_no].kind == CELL_NULL) {                               /* of the log itself */
        for (uint32_t i = 0; i < record.event_count; i++) check_log_event(watch, &record.events[i], position);
        return !world->is_failed;
    }
    WatchRun *run = watch_run(watch, run_no);
    if (!run) run = run_add(watch, run_no, &record);
    if (!run) return false;
    note_record(watch, run, &record, position);
    check_trace(watch, run, record.head.trace, "a record");
    follow_revision(watch, run, &record);
    if (world->is_failed) return false;
    if (!is_policy_of(world, run, &record))
        world_fail(world, "F-085: record %" PRIu64 " has the policy digest of another run", position);
    if (record.head.first_event != run->run.event_count + 1)
        world_fail(world, "record %" PRIu64 " of run %" PRIu64 " begins with another event than the next", position, run_no);

    static EffectSet effects;
    effects.count = 0;
    pending(&run->plan->plan, &run->run, effect_collect, &effects);
    uint8_t *before = arena_alloc(&watch->scratch, run->run.step_count);
    for (uint32_t i = 0; i < run->run.step_count; i++) before[i] = run->run.steps[i].state;
    bool has_repeated = false;
    EventPlace place = { record.head.now_ms, position };
    for (uint32_t i = 0; i < record.event_count && !world->is_failed; i++) {
        before_event(watch, run, &record.events[i]);
        run_apply(&run->run, &run->plan->plan, &record.events[i], &place);
        after_event(run, &record.events[i]);
        bool has_params = record.events[i].kind == EVENT_RUN_CREATED || record.events[i].kind == EVENT_PARAMS_CHANGED;
        Str params;
        if (has_params && record.events[i].payload != EVENT_NO_PAYLOAD
            && record_payload(&record, cells[LEDGER_payload].text, record.events[i].payload, &params, &err) == OK)
            waits_params(watch, run, params);
        has_repeated = has_repeated || record.events[i].kind == EVENT_LOOP_REPEATED || record.events[i].kind == EVENT_STEP_SUPERSEDED;
    }
    run->last_position = position;
    watch->record_count++;
    watch->event_count += record.event_count;
    check_steps(watch, run, before, has_repeated);
    check_effects(watch, run, &effects, &record);
    waits_after(watch, run);
    run->is_touched = true;
    return !world->is_failed;
}

void watch_sync(Watch *watch)
{
    Error err;
    uint64_t seen;
    do {
        seen = watch->position;
        QueryAsk ask = { .query = QUERY_RECORDS, .params = { cell_int((int64_t)watch->position + 1) }, .param_count = 1 };
        if (store_select(watch->world->store, &ask, see_record, watch, &err)) world_fail(watch->world, "%s", err.text);
    } while (watch->position >= seen + 256 && !watch->world->is_failed);
    for (uint64_t i = 0; i < watch->run_end && !watch->world->is_failed; i++) {
        WatchRun *run = watch->runs[i];
        if (run && run->is_touched) waits_row(watch, run);
        if (run) run->is_touched = false;
    }
}

/* --- what leaves the engine ------------------------------------------------------------------------------------------------------ */

/* F-059: of two step runs with one declared key the second one begins only when the first has failed. */
static void check_key(Watch *watch, const WatchRun *run, const Attempt *attempt)
{
    uint32_t step = attempt->id.step, generation = run->run.steps[step].generation;
    const StepTerms *terms = &run->plan->plan.terms->steps[step];
    if (!terms->key.len || run->plan->plan.steps[step].strategy != STRATEGY_DEDUPE_KEY) return;
    arena_reset(&watch->scratch);
    Digest key = digest_of(arena_format(&watch->scratch, "%.*s|%.*s|%.*s", STR_ARG(run->run.tenant), STR_ARG(terms->domain),
                                        STR_ARG(attempt->key)));
    WatchKey *known = NULL;
    for (size_t i = 0; i < watch->key_count && !known; i++)
        if (memcmp(&watch->keys[i].key, &key, sizeof key) == 0) known = &watch->keys[i];
    if (!known) {
        watch->keys = arena_grow(&watch->arena, watch->keys, sizeof *watch->keys, watch->key_count, &watch->key_capacity);
        known = &watch->keys[watch->key_count++];
    } else if (known->run_no && (known->run_no != run->run_no || known->step != step || known->generation != generation)) {
        const StepRun *other = &watch_run(watch, known->run_no)->run.steps[known->step];
        bool is_same = other->generation == known->generation;
        if (is_same && (other->state == STEP_RUNNING || other->state == STEP_SUCCEEDED))
            world_fail(watch->world, "F-059: step %u of run %" PRIu64 " begins with a key that step %u of run %" PRIu64
                       " has, which is %s", step, run->run_no, known->step, known->run_no, step_state_name((StepState)other->state));
    }
    /* A step whose run got other parameters has another key from then on, and the one that it had no longer. */
    for (size_t i = 0; i < watch->key_count; i++)
        if (watch->keys[i].run_no == run->run_no && watch->keys[i].step == step) watch->keys[i].run_no = 0;
    *known = (WatchKey){ key, run->run_no, step, generation };
}

/* F-090: its key is that of the step, and a word more; it is the same in every attempt. */
static void watch_undo(Watch *watch, const WatchRun *run, const Attempt *attempt)
{
    static const char suffix[] = "/compensation";
    const WatchStep *seen = &run->steps[attempt->id.step];
    size_t size = attempt->key.len - (sizeof suffix - 1);
    bool fits = attempt->key.len > sizeof suffix && str_is_text(str_slice(attempt->key, size, attempt->key.len), suffix);
    Digest key = digest_of(str_slice(attempt->key, 0, fits ? size : 0));
    /* Between two polls the next one's key is the step's: none of its attempts has had it. */
    bool is_known = seen->key_generation == run->run.steps[attempt->id.step].generation + 1;
    if (!fits || (is_known && memcmp(&key, &seen->key, sizeof key) != 0))
        world_fail(watch->world, "I4: what undoes step %s of run %" PRIu64 " has a key of another domain", step_name(run, attempt->id.step),
                   run->run_no);
    if (!value_get_text(attempt->context, "compensation")) world_fail(watch->world, "A-097: a compensation does not know what it undoes");
}

void watch_notification(Watch *watch, const Attempt *attempt)
{
    const AttemptId *id = &attempt->id;
    watch_sync(watch);
    WatchRun *run = watch_run(watch, id->run_no);
    const Notification *it = run && id->step < run->run.step_count ? run_notification(&run->run, id->step, id->attempt) : NULL;
    if (!it) {
        world_fail(watch->world, "I11: a notification of run %" PRIu64 " leaves that is not open in the store", id->run_no);
        return;
    }
    check_trace(watch, run, attempt->traceparent, "a notification");
    char text[64];
    int size = snprintf(text, sizeof text, "%s/notification/%" PRIu32, run->run.id.text, it->number);
    if (!str_is(attempt->key, (Str){ text, (size_t)size })) world_fail(watch->world, "I4: a notification has the key of another one");
}

void watch_attempt(Watch *watch, const Attempt *attempt)
{
    World *world = watch->world;
    const AttemptId *id = &attempt->id;
    watch_sync(watch);
    WatchRun *run = watch_run(watch, id->run_no);
    if (!run || id->step >= run->run.step_count) {
        world_fail(world, "I11: an attempt of run %" PRIu64 ", which the store does not have", id->run_no);
        return;
    }
    check_trace(watch, run, attempt->traceparent, "an attempt");
    waits_attempt(watch, run, attempt);
    const StepRun *step = &run->run.steps[id->step];
    if (!run_holds(&run->run, id->step, id->attempt, id->holder))
        world_fail(world, "I11: attempt %u of step %s of run %" PRIu64 " leaves, and the store has it %s, attempt %u",
                   id->attempt, step_name(run, id->step), id->run_no, step_state_name((StepState)step->state), step->attempt);
    if (attempt_rollback(id->attempt)) {
        watch_undo(watch, run, attempt);
        return;
    }
    WatchStep *seen = &run->steps[id->step];
    Digest key = digest_of(attempt->key);
    if (!attempt->key.len) world_fail(world, "I4: an attempt of step %s without a key", step_name(run, id->step));
    if (seen->key_generation == step->generation + 1 && memcmp(&key, &seen->key, sizeof key) != 0)
        world_fail(world, "I4: the key of step %s of run %" PRIu64 " changes between attempts", step_name(run, id->step),
                   id->run_no);
    if (seen->key_generation && seen->key_generation != step->generation + 1 && !memcmp(&key, &seen->key, sizeof key))
        world_fail(world, "I4: step %s of run %" PRIu64 " has the key of the round before", step_name(run, id->step), id->run_no);
    seen->key = key;
    seen->key_generation = step->generation + 1;
    check_key(watch, run, attempt);
    if (!str_is(attempt->run_id, id_peek(&run->run.id)) || !str_is(attempt->tenant, run->run.tenant))
        world_fail(world, "an attempt of run %" PRIu64 " says that it is another's", id->run_no);
}

void watch_acts(Watch *watch, const SimAttempt *attempt)
{
    World *world = watch->world;
    watch_sync(watch);
    WatchRun *run = watch_run(watch, attempt->id.run_no);
    if (!run) return;
    WatchStep *step = &run->steps[attempt->id.step];
    if (step->effect_generation == attempt->generation + 1)
        world_fail(world, "run %" PRIu64 ": the effect of step %s takes place again after it was committed", run->run_no,
                   step_name(run, attempt->id.step));
    if (step->acted_generation == attempt->generation + 1)
        world_fail(world, "run %" PRIu64 ": the effect of step %s takes place twice", run->run_no,
                   step_name(run, attempt->id.step));
    step->acted_generation = attempt->generation + 1;
}

/* I12, live: where the engine's run is not ahead of its records, it is what the watch has folded. */
void watch_observe(void *context, const Observation *observation)
{
    Watch *watch = context;
    World *world = watch->world;
    if (observation->kind != OBSERVE_EVENTS || world->is_failed) return;
    watch_sync(watch);
    uint64_t last = observation->first_event + observation->event_count - 1;
    WatchRun *run = watch_run(watch, observation->run->run_no);
    if (!run || run->run.event_count < last) {
        world_fail(world, "I11: events of run %" PRIu64 " are shown that the store does not have", observation->run->run_no);
        return;
    }
    if (observation->run->event_count != run->run.event_count || below(world, 4)) return;
    buf_clear(&watch->before);
    buf_clear(&watch->after);
    run_encode(observation->run, &watch->before);
    run_encode(&run->run, &watch->after);
    if (!str_is(buf_peek(&watch->before), buf_peek(&watch->after)))
        world_fail(world, "I12: run %" PRIu64 " in memory is not the fold of its events", run->run_no);
}
