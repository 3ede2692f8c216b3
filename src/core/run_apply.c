/* run_apply.c - the fold: what each kind of event makes of a run. Nothing is decided here. */
#include <stdlib.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "core/placement.h"
#include "core/run_apply.h"

/* --- the setters ------------------------------------------------------------------------------------------------------ */

void apply_run_move(Run *run, RunState to)
{
    CHECK(run_can((RunState)run->state, to));                                                                  /* I9 */
    run->state = (uint8_t)to;
}

/* The sequence around it may have come to its end with it. */
static void count_ended(const Apply *apply, uint32_t index)
{
    Run *run = apply->run;
    run->open_count--;
    uint32_t around = apply->plan->steps[index].sequence;
    StepRun *sequence = around != PLAN_NONE ? &run->steps[around] : NULL;
    if (sequence && sequence->state == STEP_RUNNING && --sequence->need_left == 0 && !run_is_winding(run))
        reached_add(run, around);
}

void apply_step_move(const Apply *apply, uint32_t index, StepState to)
{
    Run *run = apply->run;
    const PlanStep *plan_step = &apply->plan->steps[index];
    StepRun *step = &run->steps[index];
    StepState from = (StepState)step->state;
    CHECK(step_can(from, to));                                                                                 /* I9 */
    step->state = (uint8_t)to;
    if (step_works(plan_step)) run->running_count += (uint32_t)step_is_under_way(to) - (uint32_t)step_is_under_way(from);
    run->waiting_count += (uint32_t)(to == STEP_WAITING_SIGNAL) - (uint32_t)(from == STEP_WAITING_SIGNAL);
    run->polling_count += (uint32_t)(to == STEP_POLLING) - (uint32_t)(from == STEP_POLLING);
    bool is_held = run_holds_poll(run, apply->plan, index);
    if (step_state_is_final(to) && !is_held) count_ended(apply, index);
    if (plan_step->job != PLAN_NONE) apply_job_note(run, plan_step->job, step, from, is_held);
}

void apply_step_closed(const Apply *apply, uint32_t index)
{
    Run *run = apply->run;
    uint32_t job = apply->plan->steps[index].job;
    count_ended(apply, index);
    if (job == PLAN_NONE) return;
    apply_job_step_closed(run, &run->jobs[job]);
    run->jobs[job].flags |= JOB_FAILED;
    apply_job_update(run, job);
}

/* How old the run is. Seconds are enough for who waits, and last longer than any run. */
static uint32_t run_age_s(const Apply *apply)
{
    int64_t age_ms = apply->place->now_ms - apply->run->created_ms;
    return age_ms < 0 ? 0 : (uint32_t)(age_ms / 1000);
}

/* --- runs ------------------------------------------------------------------------------------------------------------- */

void apply_text(Str *text, Str value)
{
    char *old = (char *)text->ptr;
    *text = run_copy(value);                /* `value` may be the old one */
    free(old);
}

static void set_failure_of(const Apply *apply, uint32_t step, Cause cause)
{
    Run *run = apply->run;
    run->failed_step = step;
    run->cause = (uint8_t)cause;
    apply_text(&run->failure, utf8_head(apply->event->text, FAILURE_TEXT_SIZE_MAX));
}

void apply_failure(const Apply *apply)
{
    const Event *event = apply->event;
    set_failure_of(apply, event->kind == EVENT_LOOP_LEFT ? event->last : event->step, (Cause)event->cause);
}

static void run_created(const Apply *apply)
{
    Run *run = apply->run;
    const Event *event = apply->event;
    CHECK(run->event_count == 0);
    apply_text(&run->tenant, event->tenant);
    apply_text(&run->definition, event->name);
    apply_text(&run->key, event->key);
    apply_text(&run->source, event->source);
    apply_text(&run->parent, event->parent);
    apply_text(&run->directory, event->directory);
    if (event->digest) run->plan_digest = *event->digest;
    run->revision = event->revision;
    run->key_generation = (uint32_t)event->count;
    run->seed = event->seed;
    run->created_ms = apply->place->now_ms;
    run->deadline_ms = event->due_ms;
    run->priority = (uint8_t)event->priority;
    run->params_at = event->payload != EVENT_NO_PAYLOAD ? apply->place->position : 0;
}

static void run_dispatched(const Apply *apply)
{
    apply_run_move(apply->run, RUN_DISPATCHED);
}

static void run_running(const Apply *apply)
{
    Run *run = apply->run;
    bool is_begin = run->state == RUN_DISPATCHED;
    apply_run_move(run, RUN_RUNNING);
    if (!is_begin) return;
    if (!run->started_ms) run->started_ms = apply->place->now_ms;
    apply_begin_steps(apply);
}

static void run_paused(const Apply *apply)
{
    apply_run_move(apply->run, RUN_PAUSED);
    apply->run->paused_for = (uint8_t)(apply->event->flags < PAUSED_FOR_COUNT ? apply->event->flags : PAUSED_BY_PERSON);
}

static void run_waiting(const Apply *apply)
{
    apply_run_move(apply->run, RUN_WAITING_SIGNAL);
}

static void run_end(const Apply *apply, RunState state)
{
    apply_run_move(apply->run, state);
    apply->run->ended_ms = apply->place->now_ms;
    apply->run->resolution = (uint8_t)apply->event->resolution;
}

static void run_succeeded(const Apply *apply)
{
    run_end(apply, RUN_SUCCEEDED);
}

static void run_failed(const Apply *apply)
{
    run_end(apply, RUN_FAILED);
    apply->run->is_cancelling = apply->run->is_rolling_back = false;
    apply->run->auto_retry_ms = 0;
    apply_failure(apply);
}

static void run_cancelled(const Apply *apply)
{
    run_end(apply, RUN_CANCELLED);
}

void apply_wind_down(const Apply *apply)
{
    apply->run->awaited = (Awaited){ .step = STEP_NONE };
    apply_drop_held(apply);
    lists_drop(apply->run);
}

static void run_cancelling(const Apply *apply)
{
    Run *run = apply->run;
    run->cancel_requested = true;
    if (run->state == RUN_COMPENSATING || run->state == RUN_COMPENSATION_FAILED) return;
    run->is_cancelling = true;
    if (run->is_rerunning) run->sweep_next = 0;                 /* what it was about to run anew is skipped */
    run->is_rerunning = false;
    if (apply->event->flags & 1) {
        run->rollback.scope = SCOPE_FULL;
        run->rollback.flags = 0;
        run->rollback.from = STEP_NONE;
        run->is_rolling_back = true;
    }
    apply_wind_down(apply);
}

static void run_failing(const Apply *apply)
{
    apply->run->is_failing = true;
    apply_failure(apply);
    apply_wind_down(apply);
}

void apply_step_cut(const Apply *apply, uint32_t index)
{
    Run *run = apply->run;
    if (run_is_winding(run)) return;
    bool is_optional = apply->plan->terms->steps[index].is_optional;
    if (run->failed_step == STEP_NONE && !is_optional) set_failure_of(apply, index, CAUSE_CANCELLED);
    for (uint32_t s = apply->plan->steps[index].sequence; s != PLAN_NONE; s = apply->plan->steps[s].sequence)
        run->steps[s].flags |= STEP_DOOMED;
    apply_edges_decide(apply, index, EDGE_DOOMED);
    apply_tail_ended(apply, index);
}

/* --- steps ------------------------------------------------------------------------------------------------------------ */

void apply_number(Run *run, StepRun *step, uint32_t number)
{
    if (number == 0) return;
    step->number = number;
    if (number > run->begun_count) run->begun_count = number;
}

static void forget_output(StepRun *step)
{
    step->flags &= (uint16_t)~STEP_HAS_OUTPUT;
    step->output_at = 0;
}

/* Which of the run's work ended before which: what is undone is undone the other way round. */
static void set_done(const Apply *apply, uint32_t index)
{
    if (step_works(&apply->plan->steps[index])) apply->run->steps[index].need_left = ++apply->run->done_count;
}

/* The output goes with the failure. What the step may have done to the world stays known: it may have to be undone. */
static void keep_effect(const Apply *apply, uint32_t index)
{
    Run *run = apply->run;
    StepRun *step = &run->steps[index];
    const ActiveStep *active = run_active(run, index);
    bool is_known = active && step->flags & (STEP_EFFECT_INTENDED | STEP_EFFECT_COMMITTED | STEP_WORK_DONE);
    forget_output(step);
    if (is_known) step->output_at = active->kept_at ? active->kept_at : active->intended_at;
}

static void step_ready(const Apply *apply)
{
    for (uint32_t i = apply->event->step; i <= apply->event->last; i++) {
        CHECK(apply->run->steps[i].state == STEP_QUEUED || apply->run->steps[i].state == STEP_POLLING);
        lists_leave(apply->run, apply->plan, i);
        ready_add(apply->run, apply->plan, i, run_age_s(apply));
    }
}

static void step_dispatched(const Apply *apply)
{
    Run *run = apply->run;
    const Event *event = apply->event;
    StepRun *step = &run->steps[event->step];
    bool is_again = step->state == STEP_RUNNING;                /* its owner died: it goes on, and nothing begins by it */
    bool is_held = run_holds_job(run, apply->plan, event->step), is_cut = run_cuts_job(run, apply->plan, event->step);
    CHECK(run->awaited.step == STEP_NONE && !is_held);                                                        /* I18, I27 */
    CHECK(is_again || !(run_is_winding(run) || is_cut));                                                      /* I21, I27 */
    CHECK(!is_again || active_of(run, event->step)->holder == 0);                                                 /* I16 */
    if (!is_again) lists_leave(run, apply->plan, event->step);
    const StepTerms *terms = &apply->plan->terms->steps[event->step];
    bool is_new = step->number == 0 || step->flags & STEP_RENEWED;              /* given back and begun again, it counts once */
    if (apply->plan->terms->has_blast_max && is_new) run->blast_used += terms->weight;
    if (step_polls(terms)) {
        PollRun *poll = &run->polls[terms->poll.slot];
        poll->due_ms = 0;
        if (!poll->started_ms) poll->started_ms = apply->place->now_ms;
    }
    /* The next poll is offered: the step is polling until somebody takes it. */
    if (step->state != STEP_POLLING && !is_again) apply_step_move(apply, event->step, STEP_DISPATCHED);
    apply_number(run, step, event->number);
    step->attempt = (uint16_t)event->attempt;
    run_set_extras(run, event->step, run_extras(run, event->step) + admission_unpack(event->flags).cooperative_count);
    if (event->text.len) run_set_place(run, event->step, placement_mark(event->name));
    step->generation = (uint32_t)event->count;
    step->flags &= (uint16_t)~(STEP_EFFECT_INTENDED | STEP_EFFECT_COMMITTED | STEP_ENDING | STEP_DEFER_NOTED | STEP_RENEWED
                               | STEP_WORK_DONE);
    if (step_works(&apply->plan->steps[event->step]) && !is_again) active_add(run, event->step)->due_ms = event->due_ms;
}

static void step_running(const Apply *apply)
{
    Run *run = apply->run;
    const Event *event = apply->event;
    StepRun *step = &run->steps[event->step];
    const PlanStep *plan_step = &apply->plan->steps[event->step];
    if (step->state != STEP_RUNNING) apply_step_move(apply, event->step, STEP_RUNNING);
    if (step_works(plan_step)) {
        ActiveStep *active = active_of(run, event->step);
        CHECK(active->holder == 0);                             /* I16, L1: a live lease is never overwritten */
        active->holder = event->holder;
        active->is_overdue = active->is_spent = false;
        active->notice = 0;                                     /* another owner counts anew */
        active->due_ms = event->due_ms;
        active->lease_ms = event->lease_ms;
        active->renewed_ms = 0;
    } else if (plan_step->kind == STEP_SEQUENCE) {
        step->need_left = run_open_children(run, apply->plan, event->step);
        apply_edges_decide(apply, event->step, EDGE_LIVE);
    }
}

static void step_succeeded(const Apply *apply)
{
    Run *run = apply->run;
    const Event *event = apply->event;
    StepRun *step = &run->steps[event->step];
    uint64_t kept_at = step->flags & STEP_IN_ACTIVE ? active_of(run, event->step)->kept_at : 0;
    step->output_at = event->payload != EVENT_NO_PAYLOAD ? apply->place->position : event->flags & 1 ? kept_at : 0;
    step->flags &= (uint16_t)~STEP_HAS_OUTPUT;
    if (step->output_at) step->flags |= STEP_HAS_OUTPUT;
    lists_leave(run, apply->plan, event->step);
    apply_step_ended(apply, event->step, STEP_SUCCEEDED);
}

void apply_step_ended(const Apply *apply, uint32_t index, StepState to)
{
    Run *run = apply->run;
    StepRun *step = &run->steps[index];
    const StepTerms *terms = &apply->plan->terms->steps[index];
    uint8_t kind = apply->plan->steps[index].kind;
    apply_step_move(apply, index, to);
    set_done(apply, index);
    if (run_holds_poll(run, apply->plan, index)) return;        /* what is behind it waits for a decision */
    bool is_done = step_is_done(step);
    if (!is_done && run->failed_step == STEP_NONE && !terms->is_optional && !run_is_winding(run)) apply_failure(apply);
    if (is_done && !run_is_winding(run)) {
        if (step_pauses(terms)) apply_pause_reached(apply, index);
        if (step_terminates(terms)) {                           /* asked before anything behind it */
            run->ends[terms->end_slot] = true;
            reached_add(run, index);
        }
    }
    /* A branch has decided its edges by what it took, a sequence when it began. */
    if (kind != STEP_BRANCH && kind != STEP_SEQUENCE) apply_edges_decide(apply, index, apply_edge_fate(step));
    if (!run_asks_end(run, apply->plan, index)) apply_tail_ended(apply, index);
}

static void step_failed(const Apply *apply)
{
    Run *run = apply->run;
    const Event *event = apply->event;
    StepRun *step = &run->steps[event->step];
    const PlanStep *plan_step = &apply->plan->steps[event->step];
    bool is_open_sequence = plan_step->kind == STEP_SEQUENCE && step->state == STEP_RUNNING;
    if (step->state == STEP_RUNNING && event->cause == CAUSE_SIGNAL_DENIED) step->flags |= STEP_WORK_DONE;
    keep_effect(apply, event->step);
    CHECK(!(step->flags & STEP_HAS_OUTPUT));                                                                       /* I5 */
    lists_leave(run, apply->plan, event->step);
    apply_number(run, step, event->number);
    step->cause = (uint8_t)event->cause;
    for (uint32_t s = plan_step->sequence; s != PLAN_NONE; s = apply->plan->steps[s].sequence)
        run->steps[s].flags |= STEP_DOOMED;
    apply_step_move(apply, event->step, STEP_FAILED);
    set_done(apply, event->step);
    if (run->failed_step == STEP_NONE && !(event->flags & 1) && !is_open_sequence && !run_is_winding(run))
        apply_failure(apply);
    if (is_open_sequence && run_is_winding(run)) run->sweep_next = event->step + 1;
    if (!is_open_sequence) apply_edges_decide(apply, event->step, EDGE_DOOMED);
    apply_tail_ended(apply, event->step);
}

static void attempt_failed(const Apply *apply)
{
    StepRun *step = &apply->run->steps[apply->event->step];
    step->attempt = (uint16_t)apply->event->attempt;
    step->cause = (uint8_t)apply->event->cause;
    step->retry++;
}

static void step_requeued(const Apply *apply)
{
    Run *run = apply->run;
    const Event *event = apply->event;
    StepRun *step = &run->steps[event->step];
    lists_leave(run, apply->plan, event->step);
    if (step->state != STEP_QUEUED) apply_step_move(apply, event->step, STEP_QUEUED);
    step->attempt = (uint16_t)event->attempt;
    if (event->count) run_set_extras(run, event->step, (uint32_t)event->count);
    step->flags &= (uint16_t)~(STEP_EFFECT_INTENDED | STEP_EFFECT_COMMITTED | STEP_ENDING);
    if (event->due_ms > apply->place->now_ms || run_is_winding(run)) active_add(run, event->step)->due_ms = event->due_ms;
    else ready_add(run, apply->plan, event->step, run_age_s(apply));
}

static void skip_one(const Apply *apply, uint32_t index)
{
    Run *run = apply->run;
    const Event *event = apply->event;
    StepRun *step = &run->steps[index];
    const PlanStep *plan_step = &apply->plan->steps[index];
    bool is_swept = run_is_winding(run) && !(step->flags & STEP_IN_ACTIVE);
    lists_leave(run, apply->plan, index);
    apply_number(run, step, event->number ? event->number + (index - event->step) : 0);
    step->cause = (uint8_t)event->reason;
    forget_output(step);
    apply_step_move(apply, index, STEP_SKIPPED);
    if (is_swept) run->sweep_next = index + 1;
    if (run_is_winding(run)) return;
    if (event->reason == SKIP_RUN_CANCELLED) {                  /* with its job */
        apply_step_cut(apply, index);
        return;
    }
    if (plan_step->kind == STEP_BRANCH && event->reason == SKIP_CONDITION_FALSE) {
        /* It takes no case, but what comes behind its cases goes on as behind any skipped step. */
        if (plan_step->converge != PLAN_NONE) run->steps[plan_step->converge].flags |= STEP_LIVE;
        apply_keys_decide(apply, index, NULL);
    } else {
        apply_edges_decide(apply, index, apply_edge_fate(step));
    }
    apply_tail_ended(apply, index);
}

static void step_skipped(const Apply *apply)
{
    for (uint32_t i = apply->event->step; i <= apply->event->last; i++) skip_one(apply, i);
}

static void step_cancelled(const Apply *apply)
{
    Run *run = apply->run;
    uint32_t index = apply->event->step;
    keep_effect(apply, index);
    lists_leave(run, apply->plan, index);
    apply_number(run, &run->steps[index], apply->event->number);
    run->steps[index].cause = CAUSE_CANCELLED;
    apply_step_move(apply, index, STEP_CANCELLED);
    set_done(apply, index);
    if (!run_is_winding(run)) apply_step_cut(apply, index);
    else if (!step_works(&apply->plan->steps[index])) run->sweep_next = index + 1;
}

static void step_waiting(const Apply *apply)
{
    const Event *event = apply->event;
    apply_step_move(apply, event->step, STEP_WAITING_SIGNAL);
    ActiveStep *active = active_of(apply->run, event->step);
    *active = (ActiveStep){ .step = event->step, .due_ms = event->due_ms, .intended_at = active->intended_at };
    if (!apply->plan->terms->steps[event->step].gate.is_before) apply->run->steps[event->step].flags |= STEP_WORK_DONE;
    if (event->payload != EVENT_NO_PAYLOAD) active->kept_at = apply->place->position;
}

static void step_resumed(const Apply *apply)
{
    Run *run = apply->run;
    apply_step_move(apply, apply->event->step, STEP_RUNNING);
    ActiveStep *active = active_of(run, apply->event->step);
    active->due_ms = apply->event->due_ms;
    if (active->signal) run->satisfied_count--;
    active->signal = 0;
}

static void step_cancelling(const Apply *apply)
{
    apply->run->steps[apply->event->step].flags |= STEP_ENDING;
}

static void step_noted(const Apply *apply)
{
    apply->run->steps[apply->event->step].flags |= STEP_DEFER_NOTED;
}

/* --- effects, leases, signals ------------------------------------------------------------------------------------------ */

static void effect_intended(const Apply *apply)
{
    apply->run->steps[apply->event->step].flags |= STEP_EFFECT_INTENDED;
    if (apply->event->payload != EVENT_NO_PAYLOAD)
        active_of(apply->run, apply->event->step)->intended_at = apply->place->position;
}

static void effect_committed(const Apply *apply)
{
    apply->run->steps[apply->event->step].flags |= STEP_EFFECT_COMMITTED;
    if (apply->event->payload != EVENT_NO_PAYLOAD)
        active_of(apply->run, apply->event->step)->kept_at = apply->place->position;
}

static void effect_withdrawn(const Apply *apply)
{
    apply->run->steps[apply->event->step].flags &= (uint16_t)~STEP_EFFECT_INTENDED;
    active_of(apply->run, apply->event->step)->intended_at = 0;
}

static void lease_expired(const Apply *apply)
{
    ActiveStep *active = active_of(apply->run, apply->event->step);
    active->holder = 0;
    active->lease_ms = active->renewed_ms = 0;
    StepRun *step = &apply->run->steps[apply->event->step];
    CHECK(apply->event->count <= LOST_COUNT_MAX);                                                              /* I17 */
    step->flags = (uint16_t)((step->flags & ~(unsigned)STEP_LOST) | (unsigned)apply->event->count << STEP_LOST_SHIFT);
}

static void step_overdue(const Apply *apply)
{
    ActiveStep *active = active_of(apply->run, apply->event->step);
    active->is_overdue = true;
    active->is_spent = apply->event->cause == CAUSE_BUDGET_EXCEEDED;
}

static void cost_reported(const Apply *apply)
{
    uint64_t cost = apply->run->cost_micro + apply->event->count;
    apply->run->cost_micro = cost < apply->event->count ? UINT64_MAX : cost;
    bool is_of_step = apply->run->steps[apply->event->step].flags & STEP_IN_ACTIVE;     /* else of what undoes it */
    (is_of_step ? active_of(apply->run, apply->event->step) : &apply->run->rollback.active)->notice = apply->event->notice;
}

static void signal_received(const Apply *apply)
{
    Run *run = apply->run;
    const Event *event = apply->event;
    run->signals = run_grow(run->signals, sizeof *run->signals, run->signal_count, &run->signal_capacity);
    run->signals[run->signal_count++] = (RunSignal){ .number = (uint32_t)event->count, .sort = (uint8_t)event->sort,
                                                     .is_denial = event->flags & 1, .name = run_copy(event->name),
                                                     .at = apply->place->position, .holder = event->holder,
                                                     .notice = event->notice, .is_trigger = event->kind == EVENT_TRIGGER_RECEIVED };
    if (run->waiting_count == 0) return;
    for (uint32_t i = 0; i < run->active_count; i++) {
        ActiveStep *active = &run->active[i];
        if (run->steps[active->step].state != STEP_WAITING_SIGNAL || active->signal) continue;
        if (!str_is(apply->plan->terms->steps[active->step].gate.signal, event->name)) continue;
        active->signal = (uint32_t)event->count;
        run->satisfied_count++;
    }
}

/* C-29: a resume trigger is a signal of kind approval. One that comes before its pause is kept for it (C-99). */
static void trigger_received(const Apply *apply)
{
    Event signal = *apply->event;
    signal.sort = SIGNAL_APPROVAL;
    signal_received(&(Apply){ apply->run, apply->plan, &signal, apply->place });
    const PlanTerms *terms = apply->plan->terms;
    for (uint32_t i = 0; signal.flags & TRIGGER_IS_KEPT && i < terms->pause_count; i++) {
        const PauseTerms *pause = &terms->steps[terms->pauses[i]].pause;
        if (str_is(pause->trigger, signal.name))
            apply->run->answers[i] = signal.payload != EVENT_NO_PAYLOAD ? apply->place->position : 0;
    }
}

static void signal_consumed(const Apply *apply)
{
    Run *run = apply->run;
    run->uses = run_grow(run->uses, sizeof *run->uses, run->use_count, &run->use_capacity);
    run->uses[run->use_count++] = (SignalUse){ (uint32_t)apply->event->count, apply->event->step };
}

static void nothing(const Apply *apply)
{
    (void)apply;
}

/* --- the table -------------------------------------------------------------------------------------------------------- */

typedef void (*ApplyKind)(const Apply *apply);

static const ApplyKind apply_kinds[EVENT_KIND_END] = {
    [EVENT_RUN_CREATED] = run_created,       [EVENT_RUN_DISPATCHED] = run_dispatched,
    [EVENT_RUN_RUNNING] = run_running,       [EVENT_RUN_PAUSED] = run_paused,
    [EVENT_RUN_WAITING_SIGNAL] = run_waiting, [EVENT_RUN_SUCCEEDED] = run_succeeded,
    [EVENT_RUN_FAILED] = run_failed,         [EVENT_RUN_CANCELLED] = run_cancelled,
    [EVENT_RUN_CANCELLING] = run_cancelling, [EVENT_RUN_FAILING] = run_failing,
    [EVENT_JOB_PAUSED] = apply_job_paused,   [EVENT_JOB_RESUMED] = apply_job_resumed,
    [EVENT_JOB_CANCELLING] = apply_job_cancelling,
    [EVENT_JOB_MOVED] = apply_job_moved,     [EVENT_STEP_READY] = step_ready,
    [EVENT_STEP_DISPATCHED] = step_dispatched, [EVENT_STEP_RUNNING] = step_running,
    [EVENT_STEP_SUCCEEDED] = step_succeeded, [EVENT_STEP_FAILED] = step_failed,
    [EVENT_ATTEMPT_FAILED] = attempt_failed, [EVENT_STEP_REQUEUED] = step_requeued,
    [EVENT_STEP_SKIPPED] = step_skipped,     [EVENT_STEP_CANCELLED] = step_cancelled,
    [EVENT_STEP_WAITING] = step_waiting,     [EVENT_STEP_RESUMED] = step_resumed,
    [EVENT_STEP_CANCELLING] = step_cancelling, [EVENT_STEP_DEFERRED] = step_noted,
    [EVENT_BRANCH_TAKEN] = apply_branch_taken, [EVENT_LOOP_REPEATED] = apply_loop_repeated,
    [EVENT_LOOP_LEFT] = apply_loop_left,     [EVENT_EFFECT_INTENDED] = effect_intended,
    [EVENT_EFFECT_COMMITTED] = effect_committed, [EVENT_EFFECT_WITHDRAWN] = effect_withdrawn, [EVENT_LEASE_EXPIRED] = lease_expired,
    [EVENT_COST_REPORTED] = cost_reported,   [EVENT_REPORT_REFUSED] = nothing, [EVENT_STEP_DROPPED] = nothing,
    [EVENT_DEDUPE_WAITING] = step_noted,     [EVENT_SIGNAL_RECEIVED] = signal_received,
    [EVENT_SIGNAL_CONSUMED] = signal_consumed, [EVENT_VERDICT] = nothing,
    [EVENT_PAYLOAD_ERASED] = nothing,        [EVENT_RUN_ROLLING_BACK] = apply_rolling_back,
    [EVENT_AUTO_RETRY_SCHEDULED] = apply_retry_scheduled, [EVENT_AUTO_RETRY_EXHAUSTED] = nothing,
    [EVENT_DECISION_MADE] = nothing,         [EVENT_RUN_REQUEUED] = apply_requeued,
    [EVENT_STEP_SUPERSEDED] = apply_superseded, [EVENT_STEP_OVERDUE] = step_overdue,
    [EVENT_COMPENSATION_OVERDUE] = apply_compensation_overdue,
    [EVENT_COMPENSATION_STARTED] = apply_compensation_started,
    [EVENT_COMPENSATION_PLANNED] = apply_compensation_planned,
    [EVENT_COMPENSATION_DUE] = apply_compensation_due,
    [EVENT_COMPENSATION_RUNNING] = apply_compensation_running,
    [EVENT_COMPENSATION_ATTEMPT_FAILED] = apply_compensation_attempt_failed,
    [EVENT_COMPENSATION_SUCCEEDED] = apply_compensation_succeeded,
    [EVENT_COMPENSATION_SKIPPED] = apply_compensation_skipped, [EVENT_RUN_COMPENSATED] = apply_compensated,
    [EVENT_RUN_COMPENSATION_FAILED] = apply_compensation_failed,
    [EVENT_COMPENSATION_RESUMED] = apply_compensation_resumed,
    [EVENT_COMPENSATION_ORPHANED] = apply_compensation_orphaned,
    [EVENT_RUN_TERMINATING] = apply_terminating, [EVENT_TERMINATION_DECLINED] = apply_termination_declined,
    [EVENT_POLL_ATTEMPTED] = apply_poll_attempted, [EVENT_STEP_POLLING] = apply_step_polling,
    [EVENT_POLL_TIMED_OUT] = apply_poll_timed_out, [EVENT_POLL_COMPLETED] = nothing, [EVENT_POLL_ABORTED] = nothing,
    [EVENT_TRIGGER_AWAITED] = apply_trigger_awaited, [EVENT_TRIGGER_RECEIVED] = trigger_received,
    [EVENT_TRIGGER_REFUSED] = nothing,       [EVENT_TRIGGER_TIMED_OUT] = nothing,
    [EVENT_REACTION_FIRED] = apply_reaction_fired, [EVENT_PARAMS_CHANGED] = apply_params_changed,
    [EVENT_RUN_REBOUND] = apply_rebound,
    [EVENT_RUN_REVISED] = apply_revised,
    [EVENT_TRIGGER_REMINDED] = apply_trigger_reminded, [EVENT_TRIGGER_ENDED] = apply_trigger_ended,
    [EVENT_NOTIFICATION_QUEUED] = apply_notification_queued, [EVENT_NOTIFICATION_SENT] = apply_notification_ended,
    [EVENT_NOTIFICATION_FAILED] = apply_notification_failed,
};

void run_apply(Run *run, const Plan *plan, const Event *event, const EventPlace *place)
{
    Apply apply = { run, plan, event, place };
    CHECK(event->kind < EVENT_KIND_END && apply_kinds[event->kind]);
    bool is_of_step = event->kind >= EVENT_STEP_READY && event->kind < EVENT_SIGNAL_RECEIVED;
    bool is_of_compensation = event->kind >= EVENT_COMPENSATION_PLANNED && event->kind <= EVENT_COMPENSATION_ORPHANED
                           && event->kind != EVENT_RUN_COMPENSATED && event->kind != EVENT_RUN_COMPENSATION_FAILED;
    is_of_compensation = is_of_compensation || event->kind == EVENT_COMPENSATION_DUE
                       || event->kind == EVENT_COMPENSATION_OVERDUE;
    CHECK(!is_of_compensation || event->step < run->step_count);
    bool is_of_pause = event->kind == EVENT_TRIGGER_AWAITED || event->kind == EVENT_TRIGGER_ENDED;
    CHECK(!is_of_pause || (event->step < run->step_count && step_pauses(&plan->terms->steps[event->step])));
    CHECK(!is_of_step || (event->step < run->step_count && event->last < run->step_count));
    bool is_of_job = event->kind >= EVENT_JOB_MOVED && event->kind <= EVENT_JOB_CANCELLING;
    CHECK(!is_of_job || (event->job < run->job_count && event->state < RUN_STATE_COUNT));
    apply_kinds[event->kind](&apply);
    run->event_count++;
    run->updated_ms = place->now_ms;
}
