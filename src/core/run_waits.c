/* run_waits.c - the fold of what runs wait for by themselves: polls, pauses for triggers, and ends before the end. */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "core/run_apply.h"

/* --- polls ------------------------------------------------------------------------------------------------------------- */

static PollRun *poll_of(const Apply *apply)
{
    const StepTerms *terms = &apply->plan->terms->steps[apply->event->step];
    CHECK(step_polls(terms));
    return &apply->run->polls[terms->poll.slot];
}

/* What it found is kept for the next one. It is no output: that comes when the polls are over. */
void apply_poll_attempted(const Apply *apply)
{
    PollRun *poll = poll_of(apply);
    CHECK(apply->run->steps[apply->event->step].state == STEP_RUNNING && apply->event->count == poll->count + 1);     /* I19 */
    poll->count = (uint32_t)apply->event->count;
    if (apply->event->payload != EVENT_NO_PAYLOAD) apply->run->steps[apply->event->step].output_at = apply->place->position;
}

/* Between two polls; or the next one was offered, and nobody took it. C-87, C-88: each poll has its own key and its own tries. */
void apply_step_polling(const Apply *apply)
{
    Run *run = apply->run;
    const Event *event = apply->event;
    StepRun *step = &run->steps[event->step];
    PollRun *poll = poll_of(apply);
    lists_leave(run, apply->plan, event->step);
    if (step->state == STEP_RUNNING) {
        apply_step_move(apply, event->step, STEP_POLLING);
        step->generation++;                                     /* I20: whatever is begun from now on has another key */
        step->retry = 0;
        poll->attempt_first = step->attempt;
        run_set_extras(run, event->step, 0);                        /* each poll is a task of its own: C-88 */
        /* A poll that gave an answer is not what ends its owner (I17). */
        step->flags &= (uint16_t)~(STEP_EFFECT_INTENDED | STEP_EFFECT_COMMITTED | STEP_DEFER_NOTED | STEP_LOST);
    }
    CHECK(step->state == STEP_POLLING);
    poll->due_ms = event->due_ms;
    active_add(run, event->step)->due_ms = event->due_ms;
}

/* The limits of its polls are reached, or it gave up. C-84: where the run goes on with a default, the step counts as done. */
void apply_poll_timed_out(const Apply *apply)
{
    Run *run = apply->run;
    const Event *event = apply->event;
    StepRun *step = &run->steps[event->step];
    bool is_done = event->flags == POLL_CONTINUES;
    step->output_at = 0;
    step->flags &= (uint16_t)~STEP_HAS_OUTPUT;
    if (is_done && event->payload != EVENT_NO_PAYLOAD) {
        step->output_at = apply->place->position;
        step->flags |= STEP_HAS_OUTPUT;
    }
    lists_leave(run, apply->plan, event->step);
    step->cause = (uint8_t)event->cause;
    if (event->flags == POLL_PAUSES && !run_is_winding(run)) {
        poll_of(apply)->is_held = true;
        run->held_count++;
    }
    apply_step_ended(apply, event->step, STEP_TIMED_OUT);
}

/* A run that winds down is no longer paused for its polls: their steps have failed. */
void apply_drop_held(const Apply *apply)
{
    Run *run = apply->run;
    for (uint32_t i = 0; run->held_count && i < run->step_count; i++) {
        if (!run_holds_poll(run, apply->plan, i)) continue;
        run->polls[apply->plan->terms->steps[i].poll.slot].is_held = false;
        run->held_count--;
        apply_step_closed(apply, i);
    }
}

/* --- pauses ------------------------------------------------------------------------------------------------------------ */

static void pause_remove(Run *run, uint32_t step)
{
    for (uint32_t i = 0; i < run->pause_count; i++) {
        if (run->pauses[i] != step) continue;
        memmove(&run->pauses[i], &run->pauses[i + 1], (--run->pause_count - i) * sizeof *run->pauses);
        return;
    }
}

/* C-89: awaited one after the other, in the order in which their steps ended. */
void apply_pause_reached(const Apply *apply, uint32_t step)
{
    Run *run = apply->run;
    CHECK(run->pause_count < run->pause_slot_count);
    run->pauses[run->pause_count++] = step;
}

/* What was asked behind the step run before is asked no more. */
void apply_polls_renewed(const Apply *apply, uint32_t step)
{
    const StepTerms *terms = &apply->plan->terms->steps[step];
    if (step_terminates(terms)) apply->run->ends[terms->end_slot] = false;
    if (step_polls(terms)) apply->run->polls[terms->poll.slot] = (PollRun){ 0 };
}

/* The step is run anew: so is its pause. */
void apply_pause_renewed(const Apply *apply, uint32_t step)
{
    Run *run = apply->run;
    const StepTerms *terms = &apply->plan->terms->steps[step];
    if (!step_pauses(terms)) return;
    pause_remove(run, step);
    run->answers[terms->pause.slot] = 0;
}

void apply_trigger_awaited(const Apply *apply)
{
    CHECK(apply->run->pause_count && apply->run->pauses[0] == apply->event->step);
    CHECK(apply->run->awaited.step == STEP_NONE);                                                              /* I18 */
    apply->run->awaited = (Awaited){ .step = apply->event->step, .since_ms = apply->place->now_ms,
                                     .due_ms = apply->event->due_ms };
}

void apply_trigger_reminded(const Apply *apply)
{
    apply->run->awaited.due_ms = apply->event->due_ms;
    apply->run->awaited.reminder_count = (uint32_t)apply->event->count;
}

void apply_notification_queued(const Apply *apply)
{
    Run *run = apply->run;
    const Event *event = apply->event;
    CHECK(run->awaited.step == event->step && event->count == run->notified_count + 1u);
    CHECK(run->notification_count < NOTIFY_TARGET_COUNT_MAX);
    run->notifications = run_grow(run->notifications, sizeof *run->notifications, run->notification_count,
                                  &run->notification_capacity);
    run->notified_count++;
    run->notifications[run->notification_count++] = (Notification){ .number = run->notified_count, .step = event->step,
        .reminder = event->flags, .due_ms = event->due_ms, .target = run_copy(event->name) };
}

static uint32_t notification_index(const Apply *apply)
{
    const Run *run = apply->run;
    uint32_t i = 0;
    while (i < run->notification_count && run->notifications[i].number != apply->event->count) i++;
    CHECK(i < run->notification_count);
    return i;
}

/* Sent or given up: nobody has to do anything about it any more. */
void apply_notification_ended(const Apply *apply)
{
    Run *run = apply->run;
    uint32_t i = notification_index(apply);
    free((char *)run->notifications[i].target.ptr);
    memmove(&run->notifications[i], &run->notifications[i + 1], (--run->notification_count - i) * sizeof *run->notifications);
}

void apply_notification_failed(const Apply *apply)
{
    Notification *it = &apply->run->notifications[notification_index(apply)];
    if (!apply->event->due_ms) {
        apply_notification_ended(apply);
        return;
    }
    it->attempt = apply->event->attempt;
    it->due_ms = apply->event->due_ms;
    it->until_ms = 0;
}

/* Denied or out of time, the pause is still there: who retries the run awaits its trigger again. */
void apply_trigger_ended(const Apply *apply)
{
    Run *run = apply->run;
    const Event *event = apply->event;
    const PauseTerms *pause = &apply->plan->terms->steps[event->step].pause;
    CHECK(run->awaited.step == event->step && !run->notification_count);                    /* I18, I24 */
    run->awaited = (Awaited){ .step = STEP_NONE };
    if (event->sort == TRIGGER_DENIED || event->sort == TRIGGER_TIMEOUT || event->sort == TRIGGER_CANCELLED) return;
    pause_remove(run, event->step);
    bool is_signal = event->count && event->count <= run->signal_count;
    if (is_signal) run->answers[pause->slot] = run->signals[event->count - 1].at;
    else run->answers[pause->slot] = event->payload != EVENT_NO_PAYLOAD ? apply->place->position : 0;
}

const char *trigger_flags_name(uint32_t flags)
{
    if (flags & TRIGGER_IS_KEPT) return "kept";
    if (flags & TRIGGER_IS_UNMET) return "unmet";
    return flags & TRIGGER_IS_DENIAL ? "denied" : "answered";
}

/* --- parameters and revision ------------------------------------------------------------------------------------------------------------ */

/* Its plan has the same shape, so that nothing else of the run changes. */
void apply_revised(const Apply *apply)
{
    apply->run->revision = apply->event->revision;
    apply->run->plan_digest = *apply->event->digest;
}

void apply_params_changed(const Apply *apply)
{
    apply->run->params_at = apply->place->position;             /* I25 */
}

/* What could not be placed is looked at anew, and says so anew where it cannot be placed now. */
void apply_rebound(const Apply *apply)
{
    Run *run = apply->run;
    free((char *)run->bound.ptr);
    run->bound = run_copy(apply->event->text);
    for (int level = 0; level < PRIORITY_COUNT; level++)
        for (uint32_t s = run->ready[level].first; s != STEP_NONE; s = run->steps[s].next)
            run->steps[s].flags &= (uint16_t)~STEP_DEFER_NOTED;
    const Compensation *item = run_compensation(run);
    if (item) run->steps[item->step].flags &= (uint16_t)~STEP_DEFER_NOTED;
}

/* --- reactions to signals ------------------------------------------------------------------------------------------------ */

void apply_reaction_fired(const Apply *apply)
{
    CHECK(apply->event->count < apply->run->reaction_count);
    apply->run->fired[apply->event->count / 8] |= (uint8_t)(1u << apply->event->count % 8);
}

/* --- ends -------------------------------------------------------------------------------------------------------------- */

void apply_terminating(const Apply *apply)
{
    Run *run = apply->run;
    run->is_terminating = true;
    run->ends_well = apply->event->flags & 1;
    run->failed_step = apply->event->step;
    run->cause = CAUSE_TERMINATED;
    apply_text(&run->failure, apply->event->text);
    apply_wind_down(apply);
}

void apply_termination_declined(const Apply *apply)
{
    apply->run->ends[apply->plan->terms->steps[apply->event->step].end_slot] = false;
    lists_leave(apply->run, apply->plan, apply->event->step);
    apply_tail_ended(apply, apply->event->step);
}
