/* run_rollback.c - the fold of what follows a failure: retries, and compensations. */
#include "base/check.h"
#include "core/name.h"
#include "core/placement.h"
#include "core/run_apply.h"

/* --- retries ------------------------------------------------------------------------------------------------------------ */

void apply_retry_scheduled(const Apply *apply)
{
    apply->run->auto_retry_count = apply->event->attempt;
    apply->run->auto_retry_ms = apply->event->due_ms;
}

/* What it failed of is past: the ledger has it, and the run starts with a clean sheet. */
void apply_requeued(const Apply *apply)
{
    Run *run = apply->run;
    const Event *event = apply->event;
    apply_run_move(run, RUN_QUEUED);
    run->resolution = RESOLUTION_NONE;
    run->is_failing = run->is_cancelling = run->is_rolling_back = run->cancel_requested = false;
    /* F-035: who decides to go on all the same has approved that step. */
    bool is_approval = run->cause == CAUSE_BLAST_RADIUS && event->sort != RETRY_SOURCE_AUTO_RETRY && run->failed_step != STEP_NONE;
    if (is_approval) run->blast_approved += apply->plan->terms->steps[run->failed_step].weight;
    run->failed_step = STEP_NONE;
    run->cause = CAUSE_NONE;
    apply_text(&run->failure, (Str){ 0 });
    run->ended_ms = run->auto_retry_ms = 0;
    run->deadline_ms = event->due_ms;
    run->sweep_next = 0;
    run->is_rerunning = true;
    run->retry_source = (uint8_t)event->sort;
    run->retry_from = event->sort == RETRY_SOURCE_RETRY_FROM_STEP ? event->step : STEP_NONE;
}

/* C-87: what was done, or undone, is executed under the next generation of its key; what failed, under the same. */
void apply_superseded(const Apply *apply)
{
    Run *run = apply->run;
    const Event *event = apply->event;
    StepRun *step = &run->steps[event->step];
    CHECK(step_can((StepState)step->state, STEP_SUPERSEDED) && step_state_is_final((StepState)step->state));          /* I9 */
    bool was_done = step_is_done(step) || step->flags & STEP_UNDONE || step_polls(&apply->plan->terms->steps[event->step]);
    bool was_held = run_holds_poll(run, apply->plan, event->step);
    CHECK(run->is_rerunning || was_held);                                                                     /* I22 */
    apply_polls_renewed(apply, event->step);
    apply_pause_renewed(apply, event->step);
    run_set_extras(run, event->step, 0);                            /* a new task: C-34 */
    *step = (StepRun){ .generation = step->generation + was_done, .flags = (uint16_t)((was_held ? 0 : STEP_RENEWED) | (step->flags & STEP_LIVE)) };
    apply_number(run, step, event->number);
    if (was_held) {                                             /* C-84: it polls anew, as a step that has not ended */
        run->held_count--;
        if (!run_is_winding(run)) reached_add(run, event->step);
        return;
    }
    run->open_count++;
    uint32_t job = apply->plan->steps[event->step].job;
    if (job != PLAN_NONE && run->jobs[job].open++ == 0) {       /* it begins again; how far it is, is found when the run runs */
        run->jobs[job].state = RUN_QUEUED;
        run->jobs[job].flags = (uint8_t)((run->jobs[job].flags & (JOB_IN_MOVED | JOB_PAUSED)) | JOB_BEGAN | JOB_RAN);
    }
    run->sweep_next = event->step + 1;
    for (uint32_t l = 0; l < apply->plan->loop_count; l++) {
        const PlanLoop *loop = &apply->plan->loops[l];
        if (loop->tail == event->step || loop->head == event->step) run->loop_ends[l] = LOOP_GOES_ON;
        if (loop->head == event->step) run->loops[l] = 0;
    }
}

/* --- what is undone ----------------------------------------------------------------------------------------------------- */

static void mark_scope(const Apply *apply)
{
    Run *run = apply->run;
    const Event *event = apply->event;
    for (uint32_t i = 0; i < run->step_count; i++) {
        run->steps[i].flags &= (uint16_t)~STEP_IN_SCOPE;
        bool is_named = event->flags & ROLLBACK_AS_DECLARED && apply->plan->terms->steps[i].is_undone_on_failure;
        if (event->sort == SCOPE_PARTIAL && is_named) run->steps[i].flags |= STEP_IN_SCOPE;
    }
    if (event->sort != SCOPE_PARTIAL || event->flags & ROLLBACK_AS_DECLARED) return;
    for (size_t at = 0; event->name.len && at <= event->name.len;) {
        size_t end = str_find(event->name, ',', at);
        uint32_t step;
        if (name_find_step(apply->plan, str_slice(event->name, at, end), &step)) run->steps[step].flags |= STEP_IN_SCOPE;
        at = end + 1;
    }
}

static void set_scope(const Apply *apply)
{
    Rollback *rollback = &apply->run->rollback;
    const Event *event = apply->event;
    rollback->scope = (uint8_t)event->sort;
    rollback->flags = (uint8_t)event->flags;
    rollback->from = event->sort == SCOPE_FROM_STEP ? event->step : STEP_NONE;
    mark_scope(apply);
}

void apply_rolling_back(const Apply *apply)
{
    set_scope(apply);
    apply->run->is_rolling_back = true;
    apply_wind_down(apply);
}

void apply_compensation_started(const Apply *apply)
{
    Run *run = apply->run;
    Rollback *rollback = &run->rollback;
    apply_run_move(run, RUN_COMPENSATING);
    run->resolution = RESOLUTION_NONE;
    run->ended_ms = run->auto_retry_ms = 0;
    run->is_rolling_back = run->is_cancelling = false;
    set_scope(apply);
    rollback->number = (uint32_t)apply->event->count;
    rollback->earlier_count += rollback->count;
    rollback->count = rollback->at = 0;
    rollback->is_planned = apply->event->flags & ROLLBACK_IS_EMPTY;
    rollback->is_stuck = false;
    rollback->active = (ActiveStep){ 0 };
}

static void pass_over(Rollback *rollback)
{
    while (rollback->at < rollback->count
           && (rollback->items[rollback->at].state == COMPENSATION_SUCCEEDED || rollback->items[rollback->at].state == COMPENSATION_SKIPPED))
        rollback->at++;
}

void apply_compensation_planned(const Apply *apply)
{
    Rollback *rollback = &apply->run->rollback;
    const Event *event = apply->event;
    const StepRun *step = &apply->run->steps[event->step];
    bool is_known = step_is_done(step) || step->flags & (STEP_EFFECT_COMMITTED | STEP_WORK_DONE);
    CHECK(event->flags & 1 || is_known || rollback->flags & ROLLBACK_UNKNOWN_IS_DONE);                             /* I3 */
    rollback->items = run_grow(rollback->items, sizeof *rollback->items, rollback->count, &rollback->capacity);
    rollback->items[rollback->count++] = (Compensation){
        .step = event->step, .attempt_max = (uint16_t)event->count,
        .state = event->flags & 1 ? COMPENSATION_SKIPPED : COMPENSATION_PENDING };
    if (event->flags & 2) rollback->is_planned = true;
    pass_over(rollback);
}

/* The compensation that the event is about. */
static Compensation *item_of(const Apply *apply)
{
    Rollback *rollback = &apply->run->rollback;
    uint32_t index = apply->event->number - rollback->earlier_count - 1;
    CHECK(index < rollback->count && rollback->items[index].step == apply->event->step);
    return &rollback->items[index];
}

static void item_move(Compensation *item, CompensationState to)
{
    CHECK(compensation_can((CompensationState)item->state, to));                                                  /* I9 */
    item->state = (uint8_t)to;
}

/* From now on it waits for nothing but a place. */
void apply_compensation_due(const Apply *apply)
{
    CHECK(item_of(apply)->state == COMPENSATION_FAILED);
    apply->run->rollback.active.due_ms = 0;
}

void apply_compensation_running(const Apply *apply)
{
    const Event *event = apply->event;
    Compensation *item = item_of(apply);
    ActiveStep *active = &apply->run->rollback.active;
    CHECK(active->holder == 0);                                 /* I16, L1: a live lease is never overwritten */
    if (item->state != COMPENSATION_RUNNING) item_move(item, COMPENSATION_RUNNING);
    item->attempt = (uint16_t)event->attempt;
    apply->run->steps[event->step].flags &= (uint16_t)~STEP_DEFER_NOTED;
    if (event->text.len) run_set_place(apply->run, event->step, placement_mark(event->name));
    *active = (ActiveStep){ .step = event->step, .holder = event->holder, .due_ms = event->due_ms, .lease_ms = event->lease_ms };
}

void apply_compensation_attempt_failed(const Apply *apply)
{
    const Event *event = apply->event;
    Compensation *item = item_of(apply);
    if (item->state == COMPENSATION_PENDING) item_move(item, COMPENSATION_RUNNING);     /* it could not even begin */
    if (item->state == COMPENSATION_RUNNING) item_move(item, COMPENSATION_FAILED);
    item->attempt = (uint16_t)event->attempt;
    apply->run->rollback.active = (ActiveStep){ .step = event->step, .due_ms = event->due_ms };
    apply->run->rollback.is_stuck = event->due_ms == 0;
}

void apply_compensation_succeeded(const Apply *apply)
{
    item_move(item_of(apply), COMPENSATION_SUCCEEDED);
    CHECK(!(apply->run->steps[apply->event->step].flags & STEP_UNDONE));                                       /* I23 */
    apply->run->steps[apply->event->step].flags |= STEP_UNDONE;
    uint32_t weight = apply->plan->terms->has_blast_max ? apply->plan->terms->steps[apply->event->step].weight : 0;
    apply->run->blast_used -= weight < apply->run->blast_used ? weight : apply->run->blast_used;
    apply->run->rollback.active = (ActiveStep){ 0 };
    pass_over(&apply->run->rollback);
}

void apply_compensation_skipped(const Apply *apply)
{
    item_move(item_of(apply), COMPENSATION_SKIPPED);
    pass_over(&apply->run->rollback);
}

void apply_compensation_resumed(const Apply *apply)
{
    Run *run = apply->run;
    apply_run_move(run, RUN_COMPENSATING);
    run->ended_ms = 0;
    run->rollback.is_stuck = false;
    run->rollback.active = (ActiveStep){ 0 };
    if (apply->event->count) item_of(apply)->attempt_max = (uint16_t)apply->event->count;
}

/* It is handed over again, under the same number. */
void apply_compensation_orphaned(const Apply *apply)
{
    CHECK(item_of(apply)->state == COMPENSATION_RUNNING);
    item_of(apply)->lost = (uint8_t)apply->event->count;
    apply->run->rollback.active = (ActiveStep){ .step = apply->event->step };
}

void apply_compensation_overdue(const Apply *apply)
{
    CHECK(item_of(apply)->state == COMPENSATION_RUNNING);
    apply->run->rollback.active.is_overdue = true;
}

void apply_compensated(const Apply *apply)
{
    apply_run_move(apply->run, RUN_COMPENSATED);
    apply->run->ended_ms = apply->place->now_ms;
}

void apply_compensation_failed(const Apply *apply)
{
    apply_run_move(apply->run, RUN_COMPENSATION_FAILED);
    apply->run->ended_ms = apply->place->now_ms;
}
