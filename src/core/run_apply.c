/* run_apply.c - the fold: what each kind of event makes of a run. Nothing is decided here. */
#include <stdlib.h>

#include "base/check.h"
#include "base/limits.h"
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

/* --- edges ------------------------------------------------------------------------------------------------------------ */

typedef enum EdgeFate { EDGE_DEAD, EDGE_LIVE, EDGE_DOOMED } EdgeFate;

static void edge_decide(const Apply *apply, const PlanEdge *edge, EdgeFate fate)
{
    Run *run = apply->run;
    StepRun *to = &run->steps[edge->to];
    if (step_state_is_final((StepState)to->state)) return;      /* skipped with its job, or done before its sequence was run anew */
    if (fate == EDGE_LIVE && edge->decides) to->flags |= STEP_LIVE;
    if (fate == EDGE_DOOMED) to->flags |= STEP_DOOMED;
    CHECK(to->need_left > 0);
    if (--to->need_left == 0) reached_add(run, edge->to);
}

/* While a run winds down nothing is reached any more: the sweep finds what is left. */
static void edges_decide(const Apply *apply, uint32_t index, EdgeFate fate)
{
    const PlanStep *step = &apply->plan->steps[index];
    if (run_is_winding(apply->run)) return;
    for (uint32_t e = 0; e < step->edge_count; e++) {
        const PlanEdge *edge = &apply->plan->edges[step->edge_first + e];
        if (edge->loop == PLAN_NONE) edge_decide(apply, edge, fate);
    }
}

/* How a step that has ended leaves the edges behind it. */
static EdgeFate fate_of(const StepRun *step)
{
    if (step_is_done(step)) return EDGE_LIVE;
    if (step->state != STEP_SKIPPED) return EDGE_DOOMED;
    if (step->cause == SKIP_CONDITION_FALSE) return EDGE_LIVE;
    bool is_cut = step->cause == SKIP_PREDECESSOR_FAILED || step->cause == SKIP_RUN_CANCELLED;
    return is_cut ? EDGE_DOOMED : EDGE_DEAD;
}

/* The end of a loop's tail leads to a question. */
void apply_tail_ended(const Apply *apply, uint32_t index)
{
    if (apply->plan->steps[index].is_tail && !run_is_winding(apply->run)) reached_add(apply->run, index);
}

static bool keys_have(Str keys, Str key)
{
    for (size_t at = 0; at <= keys.len;) {
        size_t end = str_find(keys, ',', at);
        if (str_is(str_slice(keys, at, end), key)) return true;
        at = end + 1;
    }
    return false;
}

/* The edges behind a branch: those of cases by the keys it took (NULL: none), others as behind any step. */
static void keys_decide(const Apply *apply, uint32_t index, const Str *keys)
{
    const PlanStep *step = &apply->plan->steps[index];
    if (run_is_winding(apply->run)) return;
    for (uint32_t e = 0; e < step->edge_count; e++) {
        const PlanEdge *edge = &apply->plan->edges[step->edge_first + e];
        bool is_live = edge->kind != EDGE_BRANCH || (keys && keys_have(*keys, edge->key));
        if (edge->loop == PLAN_NONE) edge_decide(apply, edge, is_live ? EDGE_LIVE : EDGE_DEAD);
    }
}

/* --- beginnings --------------------------------------------------------------------------------------------------------- */

/* How an edge behind a step that is not run anew was decided. Which keys a branch took is known by where they led. */
static EdgeFate fate_before(const Apply *apply, const PlanEdge *edge)
{
    const Run *run = apply->run;
    const StepRun *from = &run->steps[edge->from];
    if (edge->loop != PLAN_NONE && run->loop_ends[edge->loop] == LOOP_HAS_FAILED) return EDGE_DOOMED;
    if (edge->kind != EDGE_BRANCH) return fate_of(from);
    if (!step_is_done(from)) return from->cause == SKIP_PREDECESSOR_FAILED ? EDGE_DOOMED : EDGE_DEAD;
    return run->steps[edge->to].flags & STEP_LIVE ? EDGE_LIVE : EDGE_DEAD;
}

static bool is_decided(const Run *run, const PlanEdge *edge)
{
    if (!step_state_is_final((StepState)run->steps[edge->from].state) || run->steps[edge->to].state != STEP_QUEUED) return false;
    return edge->loop == PLAN_NONE || run->loop_ends[edge->loop] != LOOP_GOES_ON;
}

/* The steps that are run anew, as the others have left them. */
static void link_again(const Apply *apply)
{
    Run *run = apply->run;
    const Plan *plan = apply->plan;
    /* Being live is forgotten, but for steps that a branch which is not asked again has chosen. */
    for (uint32_t e = 0; e < plan->edge_count; e++)
        if (plan->edges[e].kind == EDGE_BRANCH && is_decided(run, &plan->edges[e])) run->steps[plan->edges[e].to].need_left = 1;
    for (uint32_t i = 0; i < run->step_count; i++) {
        StepRun *step = &run->steps[i];
        if (step->state != STEP_QUEUED) continue;
        bool is_live = plan->steps[i].need_count == 0 || (step->need_left && step->flags & STEP_LIVE);
        step->flags = (uint16_t)((step->flags & ~(STEP_LIVE | STEP_DOOMED)) | (is_live ? STEP_LIVE : 0));
        step->need_left = plan->steps[i].need_count;
    }
    for (uint32_t e = 0; e < plan->edge_count; e++) {
        const PlanEdge *edge = &plan->edges[e];
        if (!is_decided(run, edge)) continue;
        EdgeFate fate = fate_before(apply, edge);
        StepRun *to = &run->steps[edge->to];
        if (fate == EDGE_LIVE && edge->decides) to->flags |= STEP_LIVE;
        if (fate == EDGE_DOOMED) to->flags |= STEP_DOOMED;
        to->need_left--;
    }
    for (uint32_t i = 0; i < run->step_count; i++) {
        uint32_t converge = plan->steps[i].kind == STEP_BRANCH ? plan->steps[i].converge : PLAN_NONE;
        bool is_passed = run->steps[i].state == STEP_SKIPPED && run->steps[i].cause == SKIP_CONDITION_FALSE;
        if (converge != PLAN_NONE && is_passed && run->steps[converge].state == STEP_QUEUED)
            run->steps[converge].flags |= STEP_LIVE;
    }
}

/* Jobs with steps that are run anew begin again, silently: their steps take them on. */
static void link_jobs(const Apply *apply)
{
    Run *run = apply->run;
    for (uint32_t j = 0; j < run->job_count; j++) {
        JobRun *job = &run->jobs[j];
        const PlanJob *plan_job = &apply->plan->jobs[j];
        if (job->open == 0) continue;
        uint8_t flags = job->flags & (JOB_IN_MOVED | JOB_PAUSED);
        for (uint32_t s = 0; s < plan_job->step_count; s++)
            if (step_is_done(&run->steps[plan_job->step_first + s])) flags |= JOB_BEGAN | JOB_RAN;
        job->flags = flags;
        job->state = RUN_QUEUED;
        apply_job_update(run, j);
    }
}

/* Loops and ends whose question was lost when the run began to fail are asked again. */
static void link_questions(const Apply *apply)
{
    Run *run = apply->run;
    for (uint32_t i = 0; run->end_slot_count && i < run->step_count; i++)
        if (run_asks_end(run, apply->plan, i)) reached_add(run, i);
    for (uint32_t l = 0; l < run->loop_count; l++) {
        uint32_t tail = apply->plan->loops[l].tail;
        bool is_open = run->loop_ends[l] == LOOP_GOES_ON && step_state_is_final((StepState)run->steps[tail].state);
        if (is_open && !(run->steps[tail].flags & STEP_IN_REACHED)) reached_add(run, tail);
    }
}

static void begin_steps(const Apply *apply)
{
    Run *run = apply->run;
    if (run->is_rerunning) link_again(apply);
    for (uint32_t i = 0; i < run->step_count; i++)
        if (run->steps[i].state == STEP_QUEUED && run->steps[i].need_left == 0) reached_add(run, i);
    if (!run->is_rerunning) return;
    link_jobs(apply);
    link_questions(apply);
    run->is_rerunning = false;
    run->sweep_next = 0;
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
    Str text = apply->event->text;
    if (text.len > FAILURE_TEXT_SIZE_MAX) {
        size_t size = FAILURE_TEXT_SIZE_MAX;
        while (size && ((uint8_t)text.ptr[size] & 0xc0) == 0x80) size--;        /* no character is cut in two */
        text = str_slice(text, 0, size);
    }
    apply_text(&run->failure, text);
}

static void set_failure(const Apply *apply)
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
    begin_steps(apply);
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
    set_failure(apply);
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
    set_failure(apply);
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
    edges_decide(apply, index, EDGE_DOOMED);
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
        edges_decide(apply, event->step, EDGE_LIVE);
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
    if (!is_done && run->failed_step == STEP_NONE && !terms->is_optional && !run_is_winding(run)) set_failure(apply);
    if (is_done && !run_is_winding(run)) {
        if (step_pauses(terms)) apply_pause_reached(apply, index);
        if (step_terminates(terms)) {                           /* asked before anything behind it */
            run->ends[terms->end_slot] = true;
            reached_add(run, index);
        }
    }
    /* A branch has decided its edges by what it took, a sequence when it began. */
    if (kind != STEP_BRANCH && kind != STEP_SEQUENCE) edges_decide(apply, index, fate_of(step));
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
        set_failure(apply);
    if (is_open_sequence && run_is_winding(run)) run->sweep_next = event->step + 1;
    if (!is_open_sequence) edges_decide(apply, event->step, EDGE_DOOMED);
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
        keys_decide(apply, index, NULL);
    } else {
        edges_decide(apply, index, fate_of(step));
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

static void branch_taken(const Apply *apply)
{
    keys_decide(apply, apply->event->step, &apply->event->name);
}

/* --- loops ------------------------------------------------------------------------------------------------------------ */

static uint32_t loop_of(const Plan *plan, const Event *event)
{
    uint32_t l = 0;
    while (l < plan->loop_count && (plan->loops[l].head != event->step || plan->loops[l].tail != event->last)) l++;
    CHECK(l < plan->loop_count);
    return l;
}

/* The body's step runs are replaced by new ones: outputs of the last round stay readable until there are others. */
static void loop_repeated(const Apply *apply)
{
    Run *run = apply->run;
    const Plan *plan = apply->plan;
    uint32_t index = loop_of(plan, apply->event);
    const PlanLoop *loop = &plan->loops[index];
    lists_leave(run, plan, loop->tail);
    for (uint32_t i = 0; i < loop->body_count; i++) {
        const LoopStep *member = &loop->body[i];
        StepRun *step = &run->steps[member->step];
        CHECK(step_state_is_final((StepState)step->state));
        apply_polls_renewed(apply, member->step);           /* a pause behind it is awaited all the same */
        *step = (StepRun){ .need_left = member->need_count, .generation = step->generation + 1, .output_at = step->output_at,
                           .flags = (uint16_t)((step->flags & STEP_HAS_OUTPUT) | (member->is_live ? STEP_LIVE : 0)) };
        run_set_extras(run, member->step, 0);
        run->open_count++;
        uint32_t job = plan->steps[member->step].job;
        if (job == PLAN_NONE) continue;
        CHECK(!(run->jobs[job].flags & JOB_IN_MOVED));
        bool was_cutting = job_is_cutting(&run->jobs[job]);
        run->jobs[job] = (JobRun){ .state = RUN_QUEUED, .flags = run->jobs[job].flags & (JOB_PAUSED | JOB_CANCELLED) };
        for (uint32_t s = 0; s < plan->jobs[job].step_count; s++)
            run->jobs[job].open += !step_state_is_final((StepState)run->steps[plan->jobs[job].step_first + s].state);
        run->cutting_count += job_is_cutting(&run->jobs[job]) && !was_cutting;
    }
    for (uint32_t l = 0; l < plan->loop_count; l++) {
        bool is_inside = l != index && plan->loops[l].body_count < loop->body_count;
        for (uint32_t i = 0; is_inside && i < loop->body_count; i++)
            if (loop->body[i].step == plan->loops[l].tail) {
                run->loops[l] = 0;
                run->loop_ends[l] = LOOP_GOES_ON;
            }
    }
    run->loops[index] = (uint32_t)apply->event->count - 1;
    reached_add(run, loop->head);
}

static void loop_left(const Apply *apply)
{
    Run *run = apply->run;
    const Plan *plan = apply->plan;
    uint32_t index = loop_of(plan, apply->event);
    const PlanLoop *loop = &plan->loops[index];
    if (loop->is_outermost) lists_leave(run, plan, loop->tail);
    bool is_failed = apply->event->cause != CAUSE_NONE;
    run->loop_ends[index] = is_failed ? LOOP_HAS_FAILED : LOOP_IS_LEFT;
    if (is_failed && run->failed_step == STEP_NONE) set_failure(apply);
    if (run_is_winding(run)) return;
    for (uint32_t i = 0; i < loop->body_count; i++) {
        const PlanStep *step = &plan->steps[loop->body[i].step];
        EdgeFate fate = is_failed ? EDGE_DOOMED : fate_of(&run->steps[loop->body[i].step]);
        for (uint32_t e = 0; e < step->edge_count; e++)
            if (plan->edges[step->edge_first + e].loop == index) edge_decide(apply, &plan->edges[step->edge_first + e], fate);
    }
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
    [EVENT_BRANCH_TAKEN] = branch_taken,     [EVENT_LOOP_REPEATED] = loop_repeated,
    [EVENT_LOOP_LEFT] = loop_left,           [EVENT_EFFECT_INTENDED] = effect_intended,
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
