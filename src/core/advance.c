/* advance.c - what follows from a state: one thing at a time, so that each rests on a state that holds all before it. */
#include "base/limits.h"
#include "core/begin.h"
#include "core/compensation.h"
#include "core/job.h"
#include "core/pause.h"
#include "core/resolve.h"
#include "core/run_lists.h"
#include "core/terminate.h"

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

/* What has not begun is skipped as cancelled, not as behind a failure. */
static bool is_called_off(const Run *run)
{
    return run->is_cancelling || run->is_rolling_back;
}

/* What is to be retried is not, and has not failed by that. */
static bool skips_rest(const Run *run)
{
    return is_called_off(run) || run->is_terminating;
}

static SkipReason why_swept(const Run *run)
{
    if (is_called_off(run)) return SKIP_RUN_CANCELLED;
    return run->is_terminating ? SKIP_TERMINATED_EARLY : SKIP_PREDECESSOR_FAILED;
}

static bool must_end(const Advancing *advancing)
{
    const Run *run = advancing->settle.run;
    bool is_late = run->deadline_ms && run->deadline_ms <= advancing->settle.now_ms;
    return is_called_off(run) || run->is_terminating || advancing->settle.plan->terms->ends_running || run->cause == CAUSE_DEADLINE || is_late;
}

static void give_up_retry(const Advancing *advancing, uint32_t step)
{
    const Settle *settle = &advancing->settle;
    const StepRun *state = &settle->run->steps[step];
    if (skips_rest(settle->run)) {
        Event *event = decision_event(settle->decision, EVENT_STEP_SKIPPED, step);
        event->last = step;
        event->reason = why_swept(settle->run);
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
        bool is_failed = run->steps[step].flags & STEP_DOOMED && !skips_rest(run);
        Failure failure = { (Cause)run->cause, STR("a step in it failed"), value_null() };
        if (is_failed) settle_fail(settle, step, &failure);
        else decision_event(settle->decision, EVENT_STEP_CANCELLED, step);
        return;
    }
    if (run->steps[step].state == STEP_POLLING) {               /* its next poll was due, and had not begun */
        decision_event(settle->decision, EVENT_STEP_CANCELLED, step);
        return;
    }
    bool is_begun = run->steps[step].number != 0;               /* or took the place of another: it has a number, too */
    if (is_begun && run->steps[step].retry && !skips_rest(run)) {
        give_up_retry(advancing, step);
        return;
    }
    uint32_t last = step;
    while (!is_begun && last + 1 < run->step_count && last + 1 - step < SKIP_RANGE_COUNT_MAX
           && run->steps[last + 1].state == STEP_QUEUED && run->steps[last + 1].number == 0)
        last++;
    Event *event = decision_event(settle->decision, EVENT_STEP_SKIPPED, step);
    event->last = last;
    event->number = is_begun ? 0 : run->begun_count + 1;
    event->reason = why_swept(run);
}

static Advance wind_down(const Advancing *advancing)
{
    const Run *run = advancing->settle.run;
    if (end_active(advancing)) return ADVANCE_EVENTS;
    if (run->active_count) return ADVANCE_DONE;                     /* they will report */
    if (run->open_count) sweep(advancing);
    else if (is_called_off(run)) resolve_wound_down(&advancing->settle);
    else if (run->is_terminating) terminate_run(&advancing->settle);
    else resolve_failure(&advancing->settle);
    return ADVANCE_EVENTS;
}

static void begin_failing(const Advancing *advancing)
{
    const Run *run = advancing->settle.run;
    pause_cancel(&advancing->settle);
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
    if (!(flags & STEP_LIVE)) return SKIP_NOT_ON_ACTIVE_BRANCH;
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
    if (run_asks_end(run, advancing->settle.plan, step))
        return terminate_ask(&advancing->settle, step) == BEGIN_MISSING ? ADVANCE_MISSING : ADVANCE_EVENTS;
    if (step_state_is_final(state))
        return begin_round(&advancing->settle, step) == BEGIN_MISSING ? ADVANCE_MISSING : ADVANCE_EVENTS;
    if (state == STEP_RUNNING) {
        end_sequence(advancing, step);
        return ADVANCE_EVENTS;
    }
    SkipReason reason = why_skipped(advancing, step);
    bool has_number = run->steps[step].number != 0;             /* it took the place of another */
    for (uint32_t next = run->steps[last].next; next == last + 1 && run->steps[next].state == STEP_QUEUED
                                                && (run->steps[next].number != 0) == has_number
                                                && why_skipped(advancing, next) == reason
                                                && (!reason || next - step < SKIP_RANGE_COUNT_MAX);
         next = run->steps[last].next)
        last = next;
    Event *event = decision_event(advancing->settle.decision, reason ? EVENT_STEP_SKIPPED : EVENT_STEP_READY, step);
    event->last = last;
    if (!reason) return ADVANCE_EVENTS;
    event->number = has_number ? 0 : run->begun_count + 1;
    event->reason = reason;
    return ADVANCE_EVENTS;
}

/* --- steps that are ready ------------------------------------------------------------------------------------------------------ */

/* The lists of ready steps, the one whose first goes first at the front: by level, where one that has waited long counts as
 * one level higher, though never as critical (G-16); of equals the one that has waited longer. */
static void ready_order(const Run *run, int64_t now_ms, uint8_t out_levels[PRIORITY_COUNT])
{
    int counted[PRIORITY_COUNT];
    int64_t since[PRIORITY_COUNT];
    for (int level = PRIORITY_COUNT - 1, n = 0; level >= 0; level--, n++) {
        uint32_t first = run->ready[level].first;
        since[level] = first == STEP_NONE ? INT64_MAX : ready_since_ms(run, first);
        bool is_old = first != STEP_NONE && now_ms - since[level] >= PRIORITY_AGE_MS;
        counted[level] = is_old && level < PRIORITY_HIGH ? level + 1 : level;
        int at = n;
        for (; at > 0; at--) {
            uint8_t before = out_levels[at - 1];
            bool is_later = counted[before] == counted[level] && since[before] > since[level];
            if (counted[before] > counted[level] || (counted[before] == counted[level] && !is_later)) break;
            out_levels[at] = before;
        }
        out_levels[at] = (uint8_t)level;
    }
}

/* The most urgent one that can begin. One whose executor has no room does not keep those behind it from another one. */
static Advance begin_ready(const Advancing *advancing)
{
    const Run *run = advancing->settle.run;
    uint32_t look_left = READY_LOOK_COUNT_MAX;
    bool may_work = run->running_count < advancing->settle.plan->terms->running_count_max;
    Advance answer = ADVANCE_DONE;
    uint8_t levels[PRIORITY_COUNT];
    ready_order(run, advancing->settle.now_ms, levels);
    for (int i = 0; i < PRIORITY_COUNT; i++) {
        for (uint32_t s = run->ready[levels[i]].first; s != STEP_NONE; s = run->steps[s].next) {
            if (run_holds_job(run, advancing->settle.plan, s)) continue;    /* not even looked at: they may be many */
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

/* --- pauses ------------------------------------------------------------------------------------------------------------------ */

/* A pause is to be awaited, unless the run ends behind its step. */
static bool must_pause(const Run *run, const Plan *plan)
{
    bool may_pause = run->state != RUN_PAUSED || run->paused_for == PAUSED_FOR_TRIGGER;
    return run->pause_count && run->awaited.step == STEP_NONE && may_pause && !run_asks_end(run, plan, run->pauses[0]);
}

static void pause_for_poll(const Advancing *advancing)
{
    Decision *decision = advancing->settle.decision;
    if (advancing->settle.run->state == RUN_WAITING_SIGNAL) decision_event(decision, EVENT_RUN_RUNNING, 0);
    Event *event = decision_event(decision, EVENT_RUN_PAUSED, 0);
    event->flags = PAUSED_FOR_POLL;
    event->text = STR("a poll timed out");
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
    if (state == RUN_COMPENSATING) return compensation_advance(&advancing.settle, event_count_max);
    if (state == RUN_QUEUED && run->is_rerunning && !run->is_cancelling) {
        resolve_rerun(&advancing.settle, event_count_max);
        return ADVANCE_EVENTS;
    }
    bool is_under_way = state == RUN_RUNNING || state == RUN_PAUSED || state == RUN_WAITING_SIGNAL;
    if (run->is_cancelling && (is_under_way || state == RUN_QUEUED || state == RUN_DISPATCHED)) return wind_down(&advancing);
    if (!is_under_way) return ADVANCE_DONE;
    if (run_is_winding(run)) return wind_down(&advancing);
    if (run->cutting_count && job_cut(&advancing.settle, advancing.event_count_max)) return ADVANCE_EVENTS;
    if (run->failed_step != STEP_NONE && plan->terms->is_fail_fast) {
        begin_failing(&advancing);
        return ADVANCE_EVENTS;
    }
    if (must_pause(run, plan)) return pause_begin(&advancing.settle) == BEGIN_MISSING ? ADVANCE_MISSING : ADVANCE_EVENTS;
    if (run->held_count && state != RUN_PAUSED) {
        pause_for_poll(&advancing);
        return ADVANCE_EVENTS;
    }
    if (run->satisfied_count) {
        resume_waiting(&advancing);
        return ADVANCE_EVENTS;
    }
    if (run->reached.count) return take_reached(&advancing);

    bool is_idle = ready_count(run) == run->paused_ready_count && !run->running_count && !run->polling_count;
    bool is_waiting = run->waiting_count && is_idle;                                                          /* C-08 */
    bool is_awaited = run->paused_for == PAUSED_FOR_TRIGGER ? run->awaited.step != STEP_NONE
                    : run->paused_for == PAUSED_FOR_POLL    ? run->held_count != 0 : true;
    if (state == RUN_PAUSED && !is_awaited) {
        decision_event(decision, EVENT_RUN_RUNNING, 0);         /* after the last of its pauses; or the job of its poll was cancelled */
        return ADVANCE_EVENTS;
    }
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
    if (run->failed_step != STEP_NONE) resolve_failure(&advancing.settle);
    else decision_event(decision, EVENT_RUN_SUCCEEDED, 0);
    return ADVANCE_EVENTS;
}
