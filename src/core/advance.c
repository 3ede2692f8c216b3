/* advance.c - what follows from a state: one thing at a time, so that each rests on a state that holds all before it. */
#include "base/limits.h"
#include "core/begin.h"
#include "core/decide.h"

typedef struct Advancing {
    Settle settle;
    uint32_t event_count_max;           /* of the decision, not only of this call */
} Advancing;

static bool has_room(const Advancing *advancing, uint32_t event_count)
{
    return advancing->settle.decision->event_count + event_count <= advancing->event_count_max;
}

/* --- jobs ----------------------------------------------------------------------------------------------------------------- */

/* A job follows its steps; it passes the states between by the table. */
static void move_jobs(const Advancing *advancing)
{
    const Run *run = advancing->settle.run;
    Decision *decision = advancing->settle.decision;
    bool is_first = true;
    for (uint32_t j = run->moved.first; j != STEP_NONE && (is_first || has_room(advancing, 4)); j = run->jobs[j].next) {
        RunState state = (RunState)run->jobs[j].state, target = job_target(&run->jobs[j]);
        is_first = false;
        while (state != target) {
            state = job_hop(state, target);
            Event *event = decision_event(decision, EVENT_JOB_MOVED, 0);
            event->job = j;
            event->state = state;
            if (state == RUN_SKIPPED) event->reason = run->steps[advancing->settle.plan->jobs[j].step_first].cause;
        }
    }
}

/* --- winding down ---------------------------------------------------------------------------------------------------------- */

static bool must_end(const Advancing *advancing)
{
    const Run *run = advancing->settle.run;
    bool is_late = run->deadline_ms && run->deadline_ms <= advancing->settle.now_ms;
    return run->is_cancelling || advancing->settle.plan->terms->ends_running || run->cause == CAUSE_DEADLINE || is_late;
}

static void give_up_retry(const Advancing *advancing, uint32_t step)
{
    const Settle *settle = &advancing->settle;
    const StepRun *state = &settle->run->steps[step];
    if (settle->run->is_cancelling) {
        Event *event = decision_event(settle->decision, EVENT_STEP_SKIPPED, step);
        event->last = step;
        event->reason = SKIP_RUN_CANCELLED;
        return;
    }
    Cause cause = state->cause ? (Cause)state->cause : CAUSE_NOT_ACCEPTED;
    settle_fail(settle, step, &(Failure){ cause, STR("it is not tried again, since the run fails"), value_null() });
}

/* Waiting, offered and to be retried: over at once. Running: told to end, or left to finish. True where there were any. */
static bool end_active(const Advancing *advancing)
{
    const Run *run = advancing->settle.run;
    Decision *decision = advancing->settle.decision;
    uint32_t before = decision->event_count;
    bool ends_running = must_end(advancing);
    for (uint32_t i = 0; i < run->active_count; i++) {
        uint32_t step = run->active[i].step;
        StepState state = (StepState)run->steps[step].state;
        if (decision->event_count > before && !has_room(advancing, 1)) break;
        if (state == STEP_QUEUED) give_up_retry(advancing, step);
        else if (state != STEP_RUNNING) decision_event(decision, EVENT_STEP_CANCELLED, step);
        else if (ends_running && !(run->steps[step].flags & STEP_ENDING)) decision_event(decision, EVENT_STEP_CANCELLING, step);
    }
    return decision->event_count > before;
}

/* The next steps that have not begun, as one range; or a sequence that is still open. */
static void sweep(const Advancing *advancing)
{
    const Settle *settle = &advancing->settle;
    const Run *run = settle->run;
    uint32_t step = run->sweep_next;
    while (step_state_is_final((StepState)run->steps[step].state)) step++;      /* open_count says there is one */
    if (run->steps[step].state == STEP_RUNNING) {
        bool is_failed = run->steps[step].flags & STEP_DOOMED && !run->is_cancelling;
        Failure failure = { (Cause)run->cause, STR("a step in it failed"), value_null() };
        if (is_failed) settle_fail(settle, step, &failure);
        else decision_event(settle->decision, EVENT_STEP_CANCELLED, step);
        return;
    }
    bool is_begun = run->steps[step].number != 0;
    if (is_begun && run->steps[step].retry && !run->is_cancelling) {
        give_up_retry(advancing, step);
        return;
    }
    uint32_t last = step;
    while (!is_begun && last + 1 < run->step_count && run->steps[last + 1].state == STEP_QUEUED
           && run->steps[last + 1].number == 0)
        last++;
    Event *event = decision_event(settle->decision, EVENT_STEP_SKIPPED, step);
    event->last = last;
    event->number = is_begun ? 0 : run->begun_count + 1;
    event->reason = run->is_cancelling ? SKIP_RUN_CANCELLED : SKIP_PREDECESSOR_FAILED;
}

static void fail_run(const Advancing *advancing)
{
    const Run *run = advancing->settle.run;
    Event *event = decision_event(advancing->settle.decision, EVENT_RUN_FAILED, run->failed_step);
    bool is_final = run->cause == CAUSE_DEADLINE && advancing->settle.plan->terms->timeout_is_final;
    event->cause = run->cause;
    event->class_ = cause_class((Cause)run->cause);
    event->resolution = is_final ? RESOLUTION_RESOLVED : RESOLUTION_AWAITING_DECISION;
    event->text = arena_copy(advancing->settle.decision->arena, run->failure);       /* the run changes its own */
}

static Advance wind_down(const Advancing *advancing)
{
    const Run *run = advancing->settle.run;
    if (end_active(advancing)) return ADVANCE_EVENTS;
    if (run->active_count) return ADVANCE_DONE;                     /* they will report */
    if (run->open_count) sweep(advancing);
    else if (run->is_cancelling) decision_event(advancing->settle.decision, EVENT_RUN_CANCELLED, 0);
    else fail_run(advancing);
    return ADVANCE_EVENTS;
}

static void begin_failing(const Advancing *advancing)
{
    const Run *run = advancing->settle.run;
    Event *event = decision_event(advancing->settle.decision, EVENT_RUN_FAILING, run->failed_step);
    event->cause = run->cause;
    event->class_ = cause_class((Cause)run->cause);
    event->text = arena_copy(advancing->settle.decision->arena, run->failure);       /* the run changes its own */
}

/* --- steps that were reached -------------------------------------------------------------------------------------------------- */

/* Steps whose signal came: as many as fit. */
static void resume_waiting(const Advancing *advancing)
{
    const Run *run = advancing->settle.run;
    Decision *decision = advancing->settle.decision;
    uint32_t before = decision->event_count;
    for (uint32_t i = 0; i < run->active_count; i++) {
        if (!run->active[i].signal) continue;
        if (decision->event_count > before && !has_room(advancing, 3)) break;
        settle_signal(&advancing->settle, run->active[i].step, &run->signals[run->active[i].signal - 1]);
    }
}

/* Why a step that was reached does not become ready; SKIP_NONE: it does. */
static SkipReason why_skipped(const Advancing *advancing, uint32_t step)
{
    const Run *run = advancing->settle.run;
    uint16_t flags = run->steps[step].flags;
    uint32_t around = advancing->settle.plan->steps[step].sequence;
    if (flags & STEP_DOOMED) return SKIP_PREDECESSOR_FAILED;
    if (!(flags & STEP_LIVE)) return SKIP_BRANCH_NOT_TAKEN;
    bool is_around_skipped = around != PLAN_NONE && run->steps[around].state == STEP_SKIPPED;
    return is_around_skipped ? SKIP_CONDITION_FALSE : SKIP_NONE;
}

static void end_sequence(const Advancing *advancing, uint32_t step)
{
    const Run *run = advancing->settle.run;
    Failure failure = { (Cause)run->cause, STR("a step in it failed"), value_null() };
    if (run->steps[step].flags & STEP_DOOMED) settle_fail(&advancing->settle, step, &failure);
    else decision_event(advancing->settle.decision, EVENT_STEP_SUCCEEDED, step);
}

/* The first that was reached, and those behind it that have the next indices and the same fate. */
static Advance take_reached(const Advancing *advancing)
{
    const Run *run = advancing->settle.run;
    uint32_t step = run->reached.first, last = step;
    StepState state = (StepState)run->steps[step].state;
    if (step_state_is_final(state))
        return begin_round(&advancing->settle, step) == BEGIN_MISSING ? ADVANCE_MISSING : ADVANCE_EVENTS;
    if (state == STEP_RUNNING) {
        end_sequence(advancing, step);
        return ADVANCE_EVENTS;
    }
    SkipReason reason = why_skipped(advancing, step);
    for (uint32_t next = run->steps[last].next; next == last + 1 && run->steps[next].state == STEP_QUEUED
                                                && why_skipped(advancing, next) == reason;
         next = run->steps[last].next)
        last = next;
    Event *event = decision_event(advancing->settle.decision, reason ? EVENT_STEP_SKIPPED : EVENT_STEP_READY, step);
    event->last = last;
    if (!reason) return ADVANCE_EVENTS;
    event->number = run->begun_count + 1;
    event->reason = reason;
    return ADVANCE_EVENTS;
}

/* --- steps that are ready ------------------------------------------------------------------------------------------------------ */

/* The most urgent one that can begin. One whose executor has no room does not keep those behind it from another one. */
static Advance begin_ready(const Advancing *advancing)
{
    const Run *run = advancing->settle.run;
    uint32_t look_left = READY_LOOK_COUNT_MAX;
    bool may_work = run->running_count < advancing->settle.plan->terms->running_count_max;
    Advance answer = ADVANCE_DONE;
    for (int priority = PRIORITY_COUNT; priority-- > 0;) {
        for (uint32_t s = run->ready[priority].first; s != STEP_NONE; s = run->steps[s].next) {
            if (look_left-- == 0) return answer;
            if (!may_work && step_works(&advancing->settle.plan->steps[s])) continue;   /* its report brings us back */
            Begin begin = begin_step(&advancing->settle, s);
            if (begin == BEGIN_MISSING) return ADVANCE_MISSING;
            if (begin == BEGIN_DONE) return ADVANCE_EVENTS;
            answer = ADVANCE_LATER;
        }
    }
    return answer;
}

/* --- the run itself -------------------------------------------------------------------------------------------------------------- */

static uint32_t ready_count(const Run *run)
{
    uint32_t count = 0;
    for (int p = 0; p < PRIORITY_COUNT; p++) count += run->ready[p].count;
    return count;
}

Advance advance(const DecideEnv *env, const Plan *plan, const Run *run, int64_t now_ms, uint32_t event_count_max,
                Decision *decision)
{
    Advancing advancing = { { env, plan, run, now_ms, decision }, decision->event_count + event_count_max };
    RunState state = (RunState)run->state;
    decision->missing = STEP_NONE;
    if (run->moved.count) {
        move_jobs(&advancing);
        return ADVANCE_EVENTS;
    }
    bool is_under_way = state == RUN_RUNNING || state == RUN_PAUSED || state == RUN_WAITING_SIGNAL;
    if (run->is_cancelling && (is_under_way || state == RUN_QUEUED || state == RUN_DISPATCHED)) return wind_down(&advancing);
    if (!is_under_way) return ADVANCE_DONE;
    if (run->is_failing) return wind_down(&advancing);
    if (run->failed_step != STEP_NONE && plan->terms->is_fail_fast) {
        begin_failing(&advancing);
        return ADVANCE_EVENTS;
    }
    if (run->satisfied_count) {
        resume_waiting(&advancing);
        return ADVANCE_EVENTS;
    }
    if (run->reached.count) return take_reached(&advancing);

    bool is_waiting = run->waiting_count && !ready_count(run) && !run->running_count;                        /* C-08 */
    if (state == RUN_PAUSED) return ADVANCE_DONE;
    if (state == RUN_WAITING_SIGNAL && !is_waiting) {
        decision_event(decision, EVENT_RUN_RUNNING, 0);
        return ADVANCE_EVENTS;
    }
    if (state == RUN_RUNNING && is_waiting) {
        decision_event(decision, EVENT_RUN_WAITING_SIGNAL, 0);
        return ADVANCE_EVENTS;
    }
    if (run->open_count) return state == RUN_RUNNING ? begin_ready(&advancing) : ADVANCE_DONE;
    if (run->failed_step != STEP_NONE) fail_run(&advancing);
    else decision_event(decision, EVENT_RUN_SUCCEEDED, 0);
    return ADVANCE_EVENTS;
}
