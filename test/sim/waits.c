/* waits.c - what the watch knows of polls, pauses, early ends and retries, and the invariants about them. */
#include <inttypes.h>
#include <string.h>

#include "base/civil.h"
#include "core/rerun.h"
#include "core/terms.h"
#include "sim/watch.h"
#include "value/json.h"

static const StepTerms *terms_of(const WatchRun *run, uint32_t step) { return &run->plan->plan.terms->steps[step]; }

/* --- pauses --------------------------------------------------------------------------------------------------------------------- */

/* I18: a pause ends once. */
static void check_pause(Watch *watch, WatchRun *run, const Event *event)
{
    if (event->kind == EVENT_TRIGGER_AWAITED && run->awaited_count++)
        world_fail(watch->world, "I18: run %" PRIu64 " awaits a second trigger", run->run_no);
    if (event->kind == EVENT_TRIGGER_ENDED && (!run->awaited_count-- || run->run.awaited.step != event->step))
        world_fail(watch->world, "I18: run %" PRIu64 ": a pause ends that was not awaited, or had ended", run->run_no);
    bool is_answer = event->kind == EVENT_TRIGGER_ENDED && event->count;
    if (is_answer && event->count > run->run.signal_count)
        world_fail(watch->world, "I18: run %" PRIu64 ": a pause is answered by a trigger that is not recorded", run->run_no);
}

/* --- polls ---------------------------------------------------------------------------------------------------------------------- */

static void check_poll(Watch *watch, WatchRun *run, const Event *event)
{
    World *world = watch->world;
    WatchStep *seen = &run->steps[event->step];
    if (event->kind == EVENT_STEP_SUPERSEDED) seen->poll_count = 0;
    if (event->kind != EVENT_POLL_ATTEMPTED) return;
    uint32_t generation = run->run.steps[event->step].generation + 1, most = terms_of(run, event->step)->poll.count_max;
    if (event->count != ++seen->poll_count || event->count > most)
        world_fail(world, "I19: run %" PRIu64 ": poll %" PRIu64 " of step %u is recorded as the %u., of at most %u", run->run_no, event->count,
                   event->step, seen->poll_count, most);
    if (generation <= seen->polled_generation)
        world_fail(world, "I20: run %" PRIu64 ": two polls of step %u have the key of generation %u", run->run_no, event->step, generation - 1);
    seen->polled_generation = generation;
}

/* --- beginnings ----------------------------------------------------------------------------------------------------------------- */

static void check_begin(Watch *watch, const WatchRun *run, const Event *event)
{
    World *world = watch->world;
    if (event->kind != EVENT_STEP_DISPATCHED) return;
    bool is_again = run->run.steps[event->step].state == STEP_RUNNING;      /* its owner died: it has begun before */
    if (run->run.awaited.step != STEP_NONE)
        world_fail(world, "I18: run %" PRIu64 ": step %u begins while a trigger is awaited", run->run_no, event->step);
    if (run->run.state != RUN_RUNNING && run->run.state != RUN_WAITING_SIGNAL)
        world_fail(world, "I19: run %" PRIu64 ": step %u begins, and the run is %s", run->run_no, event->step,
                   run_state_name((RunState)run->run.state));
    if (run_is_winding(&run->run) && !is_again)
        world_fail(world, "I21: run %" PRIu64 ": step %u begins, and the run %s", run->run_no, event->step,
                   run->run.is_terminating ? "ends early" : "winds down");
    uint32_t job = run->plan->plan.steps[event->step].job;
    if (job != PLAN_NONE && run->held_jobs[job] && !(is_again && run->held_jobs[job] & 2))
        world_fail(world, "I27: run %" PRIu64 ": step %u begins, and its job is %s", run->run_no, event->step,
                   run->held_jobs[job] & 2 ? "cancelled" : "paused");
}

/* What people did to jobs, in their own words: not as the engine's fold has it. */
static void note_jobs(WatchRun *run, const Event *event)
{
    if (event->kind == EVENT_JOB_PAUSED) run->held_jobs[event->job] |= 1;
    if (event->kind == EVENT_JOB_RESUMED || event->kind == EVENT_JOB_CANCELLING) run->held_jobs[event->job] &= 2;
    if (event->kind == EVENT_JOB_CANCELLING) run->held_jobs[event->job] |= 2;
    for (uint32_t j = 0; event->kind == EVENT_RUN_REQUEUED && j < run->run.job_count; j++) run->held_jobs[j] &= 1;
}

/* --- retries -------------------------------------------------------------------------------------------------------------------- */

/* I22: the steps that are run anew are those that the state before the retry gives, whole, and in whatever pieces they are named. */
static void check_rerun(Watch *watch, WatchRun *run, const Event *event)
{
    const Plan *plan = &run->plan->plan;
    if (event->kind == EVENT_RUN_REQUEUED) {
        uint32_t from = event->sort == RETRY_SOURCE_RETRY_FROM_STEP ? event->step : STEP_NONE;
        memcpy(run->rerun, rerun_set(plan, &run->run, from, &watch->scratch), plan->step_count);
        run->is_rerunning = true;
    }
    if (event->kind == EVENT_STEP_SUPERSEDED && run->is_rerunning) {
        if (!run->rerun[event->step])
            world_fail(watch->world, "I22: run %" PRIu64 ": step %u is run anew, which the retry does not touch", run->run_no, event->step);
        run->rerun[event->step] = 0;
    }
    if (event->kind == EVENT_RUN_DISPATCHED && run->is_rerunning) {
        run->is_rerunning = false;
        if (rerun_count(run->rerun, plan->step_count))
            world_fail(watch->world, "I22: run %" PRIu64 ": not all steps of the retry are run anew", run->run_no);
    }
}

void waits_before(Watch *watch, WatchRun *run, const Event *event)
{
    check_pause(watch, run, event);
    if (event->step < run->run.step_count) check_poll(watch, run, event);
    if (event->kind == EVENT_LOOP_REPEATED)
        for (uint32_t i = 0; i < run->run.step_count; i++) run->steps[i].is_repeating = step_polls(terms_of(run, i));
    check_begin(watch, run, event);
    note_jobs(run, event);
    check_rerun(watch, run, event);
    bool is_delicate = (event->kind >= EVENT_POLL_ATTEMPTED && event->kind <= EVENT_POLL_ABORTED)
                    || (event->kind >= EVENT_TRIGGER_AWAITED && event->kind <= EVENT_TRIGGER_ENDED)
                    || (event->kind >= EVENT_COMPENSATION_STARTED && event->kind <= EVENT_COMPENSATION_ORPHANED)
                    || (event->kind >= EVENT_JOB_PAUSED && event->kind <= EVENT_JOB_CANCELLING)
                    || event->kind == EVENT_RUN_REQUEUED || event->kind == EVENT_RUN_TERMINATING;
    watch->is_delicate = watch->is_delicate || is_delicate;
}

void waits_after(Watch *watch, WatchRun *run)
{
    const Run *now = &run->run;
    for (uint32_t i = 0; i < now->step_count; i++) {
        if (!step_polls(terms_of(run, i))) continue;
        const PollRun *poll = &now->polls[terms_of(run, i)->poll.slot];
        if (run->steps[i].is_repeating && poll->count == 0) run->steps[i].poll_count = 0;       /* it is in the loop that went round */
        run->steps[i].is_repeating = false;
        if (poll->count != run->steps[i].poll_count)
            world_fail(watch->world, "I19: run %" PRIu64 ": step %u has %u polls, and %u are recorded", run->run_no, i, poll->count,
                       run->steps[i].poll_count);
    }
    bool is_awaiting = now->awaited.step != STEP_NONE;
    if (is_awaiting != (run->awaited_count == 1) || (is_awaiting && now->state != RUN_PAUSED))
        world_fail(watch->world, "I24: run %" PRIu64 " is %s and %s a trigger", run->run_no, run_state_name((RunState)now->state),
                   is_awaiting ? "awaits" : "does not await");
}

/* --- rows ----------------------------------------------------------------------------------------------------------------------- */

typedef struct RowCheck { Watch *watch; const WatchRun *run; bool is_there; } RowCheck;

static bool time_is(const Cell *cell, int64_t ms)
{
    char storage[64];
    Buf text = buf_on(storage, sizeof storage);
    civil_print_ms(&text, ms);
    return ms ? cell->kind == CELL_TEXT && str_is(cell->text, buf_peek(&text)) : cell->kind == CELL_NULL;
}

/* I24: the row of a run says what the run awaits, and nothing where it awaits nothing. */
static bool check_row(void *context, const Cell *cells, uint32_t count)
{
    RowCheck *check = context;
    const Run *run = &check->run->run;
    World *world = check->watch->world;
    (void)count;
    check->is_there = true;
    if ((uint64_t)cells[RUNS_event_count].integer != run->event_count) return false;     /* more was committed since */
    bool is_awaiting = run->awaited.step != STEP_NONE;
    const Cell *key = &cells[RUNS_awaiting_trigger_key];
    Str want = is_awaiting ? terms_of(check->run, run->awaited.step)->pause.trigger : (Str){ 0 };
    if (is_awaiting ? key->kind == CELL_NULL || !str_is(key->text, want) : key->kind != CELL_NULL)
        world_fail(world, "I24: run %" PRIu64 " awaits '%.*s', and its row says otherwise", check->run->run_no, STR_ARG(want));
    if (!time_is(&cells[RUNS_trigger_registered_at], run->awaited.since_ms))
        world_fail(world, "I24: run %" PRIu64 ": its row says another time since which it awaits its trigger", check->run->run_no);
    return false;
}

void waits_row(Watch *watch, const WatchRun *run)
{
    RowCheck check = { watch, run, false };
    Error err;
    QueryAsk ask = { .query = QUERY_RUN, .params = { cell_int((int64_t)run->run_no) }, .param_count = 1 };
    if (store_select(watch->world->store, &ask, check_row, &check, &err)) world_fail(watch->world, "%s", err.text);
    if (!check.is_there) world_fail(watch->world, "run %" PRIu64 " has no row", run->run_no);
}

/* --- parameters ----------------------------------------------------------------------------------------------------------------- */

/* I25: what is carried out from a retry on has the parameters that it was given. */
void waits_params(Watch *watch, WatchRun *run, Str text)
{
    Value start = value_null();
    Error err;
    if (json_parse(&watch->arena, text, &start, &err)) world_fail(watch->world, "parameters that are no JSON: %s", err.text);
    const Value *params = value_get_text(start, "params");
    run->params = params ? *params : value_null();
}

void waits_attempt(Watch *watch, const WatchRun *run, const Attempt *attempt)
{
    if (value_compare(attempt->params, run->params))
        world_fail(watch->world, "I25: an attempt of step %u of run %" PRIu64 " has other parameters than its run", attempt->id.step, run->run_no);
    bool is_poll = !attempt_rollback(attempt->id.attempt) && step_polls(terms_of(run, attempt->id.step));
    const Value *poll = value_get_text(attempt->context, "poll"), *number = poll ? value_get_text(*poll, "attempt") : NULL;
    if (is_poll && (!number || number->kind != VALUE_INT || number->integer != run->steps[attempt->id.step].poll_count + 1))
        world_fail(watch->world, "I19: a poll of step %u of run %" PRIu64 " does not know which one it is", attempt->id.step, run->run_no);
}
