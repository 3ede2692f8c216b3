/* run_apply.c - the fold: what each kind of event makes of a run. Nothing is decided here. */
#include <stdlib.h>

#include "base/check.h"
#include "base/limits.h"
#include "core/run_lists.h"
#include "core/terms.h"

typedef struct Apply {
    Run *run;
    const Plan *plan;
    const Event *event;
    const EventPlace *place;
} Apply;

/* --- the setters ------------------------------------------------------------------------------------------------------ */

static void run_move(Run *run, RunState to)
{
    CHECK(run_can((RunState)run->state, to));                                                                  /* I9 */
    run->state = (uint8_t)to;
}

static bool is_under_way(StepState state)
{
    return state == STEP_DISPATCHED || state == STEP_RUNNING;
}

static void job_update(Run *run, uint32_t index)
{
    JobRun *job = &run->jobs[index];
    bool is_moved = job_target(job) != (RunState)job->state;
    if (is_moved && !(job->flags & JOB_IN_MOVED)) moved_add(run, index);
    else if (!is_moved && job->flags & JOB_IN_MOVED) moved_leave(run, index);
}

static void job_note(Run *run, uint32_t index, const StepRun *step, StepState from)
{
    JobRun *job = &run->jobs[index];
    StepState to = (StepState)step->state;
    job->under_way += (uint32_t)is_under_way(to) - (uint32_t)is_under_way(from);
    job->waiting += (uint32_t)(to == STEP_WAITING_SIGNAL) - (uint32_t)(from == STEP_WAITING_SIGNAL);
    if (to == STEP_DISPATCHED) job->flags |= JOB_BEGAN;
    if (to == STEP_RUNNING) job->flags |= JOB_RAN;
    if (to == STEP_FAILED) job->flags |= JOB_FAILED;
    bool is_cut = to == STEP_CANCELLED
               || (to == STEP_SKIPPED && (step->cause == SKIP_RUN_CANCELLED || step->cause == SKIP_PREDECESSOR_FAILED));
    if (is_cut) job->flags |= JOB_CUT;
    if (step_state_is_final(to)) job->open--;
    job_update(run, index);
}

static void step_move(const Apply *apply, uint32_t index, StepState to)
{
    Run *run = apply->run;
    const PlanStep *plan_step = &apply->plan->steps[index];
    StepRun *step = &run->steps[index];
    StepState from = (StepState)step->state;
    CHECK(step_can(from, to));                                                                                 /* I9 */
    step->state = (uint8_t)to;
    if (step_works(plan_step)) run->running_count += (uint32_t)is_under_way(to) - (uint32_t)is_under_way(from);
    run->waiting_count += (uint32_t)(to == STEP_WAITING_SIGNAL) - (uint32_t)(from == STEP_WAITING_SIGNAL);
    if (step_state_is_final(to)) {
        run->open_count--;
        uint32_t around = plan_step->sequence;
        StepRun *sequence = around != PLAN_NONE ? &run->steps[around] : NULL;
        if (sequence && sequence->state == STEP_RUNNING && --sequence->need_left == 0 && !run_is_winding(run))
            reached_add(run, around);
    }
    if (plan_step->job != PLAN_NONE) job_note(run, plan_step->job, step, from);
}

/* --- edges ------------------------------------------------------------------------------------------------------------ */

typedef enum EdgeFate { EDGE_DEAD, EDGE_LIVE, EDGE_DOOMED } EdgeFate;

static void edge_decide(const Apply *apply, const PlanEdge *edge, EdgeFate fate)
{
    Run *run = apply->run;
    StepRun *to = &run->steps[edge->to];
    if (fate == EDGE_LIVE && edge->decides) to->flags |= STEP_LIVE;
    if (fate == EDGE_DOOMED) to->flags |= STEP_DOOMED;
    CHECK(to->need_left > 0);
    if (--to->need_left == 0 && to->state == STEP_QUEUED) reached_add(run, edge->to);
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
    if (step->state == STEP_SUCCEEDED) return EDGE_LIVE;
    if (step->state != STEP_SKIPPED) return EDGE_DOOMED;
    if (step->cause == SKIP_CONDITION_FALSE) return EDGE_LIVE;
    return step->cause == SKIP_PREDECESSOR_FAILED ? EDGE_DOOMED : EDGE_DEAD;
}

/* The end of a loop's tail leads to a question. */
static void tail_ended(const Apply *apply, uint32_t index)
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

/* --- runs ------------------------------------------------------------------------------------------------------------- */

static void set_text(Str *text, Str value)
{
    char *old = (char *)text->ptr;
    *text = run_copy(value);                /* `value` may be the old one */
    free(old);
}

static void set_failure(const Apply *apply)
{
    Run *run = apply->run;
    const Event *event = apply->event;
    run->failed_step = event->kind == EVENT_LOOP_LEFT ? event->last : event->step;
    run->cause = (uint8_t)event->cause;
    Str text = event->text;
    if (text.len > FAILURE_TEXT_SIZE_MAX) {
        size_t size = FAILURE_TEXT_SIZE_MAX;
        while (size && ((uint8_t)text.ptr[size] & 0xc0) == 0x80) size--;        /* no character is cut in two */
        text = str_slice(text, 0, size);
    }
    set_text(&run->failure, text);
}

static void run_created(const Apply *apply)
{
    Run *run = apply->run;
    const Event *event = apply->event;
    CHECK(run->event_count == 0);
    set_text(&run->tenant, event->tenant);
    set_text(&run->definition, event->name);
    set_text(&run->key, event->key);
    set_text(&run->source, event->source);
    set_text(&run->parent, event->parent);
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
    run_move(apply->run, RUN_DISPATCHED);
}

static void run_running(const Apply *apply)
{
    Run *run = apply->run;
    bool is_begin = run->state == RUN_DISPATCHED;
    run_move(run, RUN_RUNNING);
    if (!is_begin) return;
    run->started_ms = apply->place->now_ms;
    for (uint32_t i = 0; i < run->step_count; i++)
        if (apply->plan->steps[i].need_count == 0) reached_add(run, i);
}

static void run_paused(const Apply *apply)
{
    run_move(apply->run, RUN_PAUSED);
}

static void run_waiting(const Apply *apply)
{
    run_move(apply->run, RUN_WAITING_SIGNAL);
}

static void run_end(const Apply *apply, RunState state)
{
    run_move(apply->run, state);
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
    set_failure(apply);
}

static void run_cancelled(const Apply *apply)
{
    run_end(apply, RUN_CANCELLED);
}

static void run_cancelling(const Apply *apply)
{
    Run *run = apply->run;
    run->cancel_requested = true;
    if (run->state == RUN_COMPENSATING || run->state == RUN_COMPENSATION_FAILED) return;
    run->is_cancelling = true;
    lists_drop(run);
}

static void run_failing(const Apply *apply)
{
    apply->run->is_failing = true;
    set_failure(apply);
    lists_drop(apply->run);
}

static void job_moved(const Apply *apply)
{
    JobRun *job = &apply->run->jobs[apply->event->job];
    CHECK(job_can((RunState)job->state, (RunState)apply->event->state));                                       /* I9 */
    job->state = (uint8_t)apply->event->state;
    job_update(apply->run, apply->event->job);
}

/* --- steps ------------------------------------------------------------------------------------------------------------ */

static void set_number(Run *run, StepRun *step, uint32_t number)
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

static void step_ready(const Apply *apply)
{
    for (uint32_t i = apply->event->step; i <= apply->event->last; i++) {
        CHECK(apply->run->steps[i].state == STEP_QUEUED);
        lists_leave(apply->run, apply->plan, i);
        ready_add(apply->run, apply->plan, i);
    }
}

static void step_dispatched(const Apply *apply)
{
    Run *run = apply->run;
    const Event *event = apply->event;
    StepRun *step = &run->steps[event->step];
    lists_leave(run, apply->plan, event->step);
    step_move(apply, event->step, STEP_DISPATCHED);
    set_number(run, step, event->number);
    step->attempt = (uint16_t)event->attempt;
    step->generation = (uint32_t)event->count;
    step->flags &= (uint16_t)~(STEP_EFFECT_INTENDED | STEP_EFFECT_COMMITTED | STEP_ENDING | STEP_DEFER_NOTED);
    if (step_works(&apply->plan->steps[event->step])) active_add(run, event->step)->due_ms = event->due_ms;
}

static void step_running(const Apply *apply)
{
    Run *run = apply->run;
    const Event *event = apply->event;
    StepRun *step = &run->steps[event->step];
    const PlanStep *plan_step = &apply->plan->steps[event->step];
    if (step->state != STEP_RUNNING) step_move(apply, event->step, STEP_RUNNING);
    if (step_works(plan_step)) {
        ActiveStep *active = active_of(run, event->step);
        CHECK(active->holder == 0);                             /* L1: a live lease is never overwritten */
        active->holder = event->holder;
        active->due_ms = event->due_ms;
        active->lease_ms = event->lease_ms;
        active->renewed_ms = 0;
    } else if (plan_step->kind == STEP_SEQUENCE) {
        step->need_left = plan_step->child_count;
        edges_decide(apply, event->step, EDGE_LIVE);
    }
}

static void step_succeeded(const Apply *apply)
{
    Run *run = apply->run;
    const Event *event = apply->event;
    StepRun *step = &run->steps[event->step];
    uint8_t kind = apply->plan->steps[event->step].kind;
    uint64_t kept_at = step->flags & STEP_IN_ACTIVE ? active_of(run, event->step)->kept_at : 0;
    step->output_at = event->payload != EVENT_NO_PAYLOAD ? apply->place->position : event->flags & 1 ? kept_at : 0;
    step->flags &= (uint16_t)~STEP_HAS_OUTPUT;
    if (step->output_at) step->flags |= STEP_HAS_OUTPUT;
    lists_leave(run, apply->plan, event->step);
    step_move(apply, event->step, STEP_SUCCEEDED);
    /* A branch has decided its edges by what it took, a sequence when it began. */
    if (kind != STEP_BRANCH && kind != STEP_SEQUENCE) edges_decide(apply, event->step, EDGE_LIVE);
    tail_ended(apply, event->step);
}

static void step_failed(const Apply *apply)
{
    Run *run = apply->run;
    const Event *event = apply->event;
    StepRun *step = &run->steps[event->step];
    const PlanStep *plan_step = &apply->plan->steps[event->step];
    bool is_open_sequence = plan_step->kind == STEP_SEQUENCE && step->state == STEP_RUNNING;
    lists_leave(run, apply->plan, event->step);
    set_number(run, step, event->number);
    step->cause = (uint8_t)event->cause;
    forget_output(step);
    for (uint32_t s = plan_step->sequence; s != PLAN_NONE; s = apply->plan->steps[s].sequence)
        run->steps[s].flags |= STEP_DOOMED;
    step_move(apply, event->step, STEP_FAILED);
    if (run->failed_step == STEP_NONE && !(event->flags & 1) && !is_open_sequence && !run_is_winding(run))
        set_failure(apply);
    if (is_open_sequence && run_is_winding(run)) run->sweep_next = event->step + 1;
    if (!is_open_sequence) edges_decide(apply, event->step, EDGE_DOOMED);
    tail_ended(apply, event->step);
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
    if (step->state != STEP_QUEUED) step_move(apply, event->step, STEP_QUEUED);
    step->attempt = (uint16_t)event->attempt;
    step->flags &= (uint16_t)~(STEP_EFFECT_INTENDED | STEP_EFFECT_COMMITTED | STEP_ENDING);
    if (event->due_ms > apply->place->now_ms || run_is_winding(run)) active_add(run, event->step)->due_ms = event->due_ms;
    else ready_add(run, apply->plan, event->step);
}

static void skip_one(const Apply *apply, uint32_t index)
{
    Run *run = apply->run;
    const Event *event = apply->event;
    StepRun *step = &run->steps[index];
    const PlanStep *plan_step = &apply->plan->steps[index];
    bool is_swept = run_is_winding(run) && !(step->flags & STEP_IN_ACTIVE);
    lists_leave(run, apply->plan, index);
    set_number(run, step, event->number ? event->number + (index - event->step) : 0);
    step->cause = (uint8_t)event->reason;
    forget_output(step);
    step_move(apply, index, STEP_SKIPPED);
    if (is_swept) run->sweep_next = index + 1;
    if (run_is_winding(run)) return;
    if (plan_step->kind == STEP_BRANCH && event->reason == SKIP_CONDITION_FALSE) {
        /* It takes no case, but what comes behind its cases goes on as behind any skipped step. */
        if (plan_step->converge != PLAN_NONE) run->steps[plan_step->converge].flags |= STEP_LIVE;
        keys_decide(apply, index, NULL);
    } else {
        edges_decide(apply, index, fate_of(step));
    }
    tail_ended(apply, index);
}

static void step_skipped(const Apply *apply)
{
    for (uint32_t i = apply->event->step; i <= apply->event->last; i++) skip_one(apply, i);
}

static void step_cancelled(const Apply *apply)
{
    Run *run = apply->run;
    uint32_t index = apply->event->step;
    lists_leave(run, apply->plan, index);
    set_number(run, &run->steps[index], apply->event->number);
    run->steps[index].cause = CAUSE_CANCELLED;
    forget_output(&run->steps[index]);
    step_move(apply, index, STEP_CANCELLED);
    if (!step_works(&apply->plan->steps[index])) run->sweep_next = index + 1;
}

static void step_waiting(const Apply *apply)
{
    const Event *event = apply->event;
    step_move(apply, event->step, STEP_WAITING_SIGNAL);
    ActiveStep *active = active_of(apply->run, event->step);
    *active = (ActiveStep){ .step = event->step, .due_ms = event->due_ms };
    if (event->payload != EVENT_NO_PAYLOAD) active->kept_at = apply->place->position;
}

static void step_resumed(const Apply *apply)
{
    Run *run = apply->run;
    step_move(apply, apply->event->step, STEP_RUNNING);
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
        *step = (StepRun){ .need_left = member->need_count, .generation = step->generation + 1, .output_at = step->output_at,
                           .flags = (uint16_t)((step->flags & STEP_HAS_OUTPUT) | (member->is_live ? STEP_LIVE : 0)) };
        run->open_count++;
        uint32_t job = plan->steps[member->step].job;
        if (job == PLAN_NONE) continue;
        CHECK(!(run->jobs[job].flags & JOB_IN_MOVED));
        run->jobs[job] = (JobRun){ .state = RUN_QUEUED };
        for (uint32_t s = 0; s < plan->jobs[job].step_count; s++)
            run->jobs[job].open += !step_state_is_final((StepState)run->steps[plan->jobs[job].step_first + s].state);
    }
    for (uint32_t l = 0; l < plan->loop_count; l++) {
        bool is_inside = l != index && plan->loops[l].body_count < loop->body_count;
        for (uint32_t i = 0; is_inside && i < loop->body_count; i++)
            if (loop->body[i].step == plan->loops[l].tail) run->loops[l] = 0;
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
}

static void effect_committed(const Apply *apply)
{
    apply->run->steps[apply->event->step].flags |= STEP_EFFECT_COMMITTED;
    if (apply->event->payload != EVENT_NO_PAYLOAD)
        active_of(apply->run, apply->event->step)->kept_at = apply->place->position;
}

static void lease_expired(const Apply *apply)
{
    ActiveStep *active = active_of(apply->run, apply->event->step);
    active->holder = 0;
    active->lease_ms = active->renewed_ms = 0;
}

static void cost_reported(const Apply *apply)
{
    uint64_t cost = apply->run->cost_micro + apply->event->count;
    apply->run->cost_micro = cost < apply->event->count ? UINT64_MAX : cost;
}

static void signal_received(const Apply *apply)
{
    Run *run = apply->run;
    const Event *event = apply->event;
    run->signals = run_grow(run->signals, sizeof *run->signals, run->signal_count, &run->signal_capacity);
    run->signals[run->signal_count++] = (RunSignal){ .number = (uint32_t)event->count, .sort = (uint8_t)event->sort,
                                                     .is_denial = event->flags & 1, .name = run_copy(event->name),
                                                     .at = apply->place->position };
    if (run->waiting_count == 0) return;
    for (uint32_t i = 0; i < run->active_count; i++) {
        ActiveStep *active = &run->active[i];
        if (run->steps[active->step].state != STEP_WAITING_SIGNAL || active->signal) continue;
        if (!str_is(apply->plan->terms->steps[active->step].gate.signal, event->name)) continue;
        active->signal = (uint32_t)event->count;
        run->satisfied_count++;
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
    [EVENT_JOB_MOVED] = job_moved,           [EVENT_STEP_READY] = step_ready,
    [EVENT_STEP_DISPATCHED] = step_dispatched, [EVENT_STEP_RUNNING] = step_running,
    [EVENT_STEP_SUCCEEDED] = step_succeeded, [EVENT_STEP_FAILED] = step_failed,
    [EVENT_ATTEMPT_FAILED] = attempt_failed, [EVENT_STEP_REQUEUED] = step_requeued,
    [EVENT_STEP_SKIPPED] = step_skipped,     [EVENT_STEP_CANCELLED] = step_cancelled,
    [EVENT_STEP_WAITING] = step_waiting,     [EVENT_STEP_RESUMED] = step_resumed,
    [EVENT_STEP_CANCELLING] = step_cancelling, [EVENT_STEP_DEFERRED] = step_noted,
    [EVENT_BRANCH_TAKEN] = branch_taken,     [EVENT_LOOP_REPEATED] = loop_repeated,
    [EVENT_LOOP_LEFT] = loop_left,           [EVENT_EFFECT_INTENDED] = effect_intended,
    [EVENT_EFFECT_COMMITTED] = effect_committed, [EVENT_LEASE_EXPIRED] = lease_expired,
    [EVENT_COST_REPORTED] = cost_reported,   [EVENT_REPORT_REFUSED] = nothing,
    [EVENT_DEDUPE_WAITING] = step_noted,     [EVENT_SIGNAL_RECEIVED] = signal_received,
    [EVENT_SIGNAL_CONSUMED] = signal_consumed, [EVENT_VERDICT] = nothing,
    [EVENT_PAYLOAD_ERASED] = nothing,
};

void run_apply(Run *run, const Plan *plan, const Event *event, const EventPlace *place)
{
    Apply apply = { run, plan, event, place };
    CHECK(event->kind < EVENT_KIND_END && apply_kinds[event->kind]);
    bool is_of_step = event->kind >= EVENT_STEP_READY && event->kind < EVENT_SIGNAL_RECEIVED;
    CHECK(!is_of_step || (event->step < run->step_count && event->last < run->step_count));
    CHECK(event->kind != EVENT_JOB_MOVED || (event->job < run->job_count && event->state < RUN_STATE_COUNT));
    apply_kinds[event->kind](&apply);
    run->event_count++;
    run->updated_ms = place->now_ms;
}
