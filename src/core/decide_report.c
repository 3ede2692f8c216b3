/* decide_report.c - what the holder of an attempt says: taken, about to act, has acted, cost, ended. */
#include <inttypes.h>

#include "core/compensation.h"
#include "core/notify.h"
#include "core/poll.h"

/* Only who holds the attempt that is under way may speak of it. */
static Status check_holder(const Asked *asked, Error *err)
{
    const Settle *settle = &asked->settle;
    const Command *command = asked->command;
    if (command->step >= settle->run->step_count)
        return error_set(err, ERR_NOT_FOUND, "the run has no step %" PRIu32, command->step);
    if (attempt_rollback(command->attempt)) return compensation_check_holder(asked, err);
    const StepRun *step = &settle->run->steps[command->step];
    Str id = settle->plan->steps[command->step].id;
    if (step->state != STEP_RUNNING || command->attempt != step->attempt)
        return error_set(err, ERR_CONFLICT, "attempt %" PRIu32 " of step '%.*s' is not under way: the step is %s, attempt %u",
                         command->attempt, STR_ARG(id), step_state_name((StepState)step->state), step->attempt);
    /* A step that is run anew counts its attempts from 1: what was said by one of its earlier run, and is decided again after a
     * commit of which nobody knew whether it was kept, is not taken for the later one's. */
    if (command->step_run && command->step_run != step->number)
        return error_set(err, ERR_CONFLICT, "attempt %" PRIu32 " of step '%.*s' was of an earlier run of it", command->attempt, STR_ARG(id));
    const ActiveStep *active = run_active(settle->run, command->step);
    if (!active || active->holder == 0 || active->holder != command->holder)
        return error_set(err, ERR_CONFLICT, "attempt %" PRIu32 " of step '%.*s' is held by another executor",
                         command->attempt, STR_ARG(id));
    return OK;
}

Status decide_accept(const Asked *asked, Error *err)
{
    const Settle *settle = &asked->settle;
    const Command *command = asked->command;
    if (command->step >= settle->run->step_count)
        return error_set(err, ERR_NOT_FOUND, "the run has no step %" PRIu32, command->step);
    if (attempt_rollback(command->attempt)) return compensation_accept(asked, err);
    const StepRun *step = &settle->run->steps[command->step];
    bool is_offered = step->state == STEP_DISPATCHED || poll_is_offered(settle->plan, settle->run, command->step);
    if (!is_offered || step->attempt != command->attempt || command->holder == 0)
        return error_set(err, ERR_CONFLICT, "attempt %" PRIu32 " of step '%.*s' is not offered: the step is %s, attempt %u",
                         command->attempt, STR_ARG(settle->plan->steps[command->step].id),
                         step_state_name((StepState)step->state), step->attempt);
    int64_t lease = command->lease_ms > 0 ? command->lease_ms : settle->plan->terms->lease_ms;
    Event *event = decision_event(settle->decision, EVENT_STEP_RUNNING, command->step);
    event->due_ms = settle_deadline(settle, command->step);
    event->lease_ms = settle->now_ms + lease;
    event->holder = command->holder;
    return OK;
}

Status decide_report(const Asked *asked, Error *err)
{
    const Command *command = asked->command;
    const Report *report = &command->report;
    if (attempt_is_notification(command->attempt)) return notify_report(asked, err);
    Status status = check_holder(asked, err);
    if (status) return status;
    if (attempt_rollback(command->attempt)) return compensation_report(asked, err);
    if (report->cause >= CAUSE_COUNT) return error_set(err, ERR_INVALID, "the report has no known cause");
    if (report->cause == CAUSE_NONE && step_polls(&asked->settle.plan->terms->steps[command->step]))
        return poll_report(&asked->settle, command->step, report->output, err);
    if (report->cause == CAUSE_NONE) return settle_success(&asked->settle, command->step, report->output, err);
    Failure failure = { report->cause, report->message, report->output };
    if (failure.text.len == 0) failure.text = str_of(cause_name(report->cause));        /* there is always one */
    settle_attempt(&asked->settle, command->step, command->attempt, &failure);
    return OK;
}

Status decide_effect(const Asked *asked, Error *err)
{
    const Settle *settle = &asked->settle;
    const Command *command = asked->command;
    Status status = check_holder(asked, err);
    if (status) return status;
    if (attempt_rollback(command->attempt))
        return error_set(err, ERR_CONFLICT, "what compensates step '%.*s' has no effects of its own: it is carried out until it succeeds",
                         STR_ARG(settle->plan->steps[command->step].id));
    uint16_t flags = settle->run->steps[command->step].flags;
    bool is_about_one = command->is_committed || command->is_withdrawn;
    if (is_about_one && (!(flags & STEP_EFFECT_INTENDED) || (command->is_withdrawn && flags & STEP_EFFECT_COMMITTED)))
        return error_set(err, ERR_CONFLICT, "step '%.*s' has announced no effect that it could have committed, or not",
                         STR_ARG(settle->plan->steps[command->step].id));
    if (command->is_withdrawn) {
        decision_event(settle->decision, EVENT_EFFECT_WITHDRAWN, command->step);
        return OK;
    }
    uint32_t payload = decision_payload(settle->decision, command->value);
    EventKind kind = command->is_committed ? EVENT_EFFECT_COMMITTED : EVENT_EFFECT_INTENDED;
    decision_event(settle->decision, kind, command->step)->payload = payload;
    return OK;
}

Status decide_cost(const Asked *asked, Error *err)
{
    Status status = check_holder(asked, err);
    if (status) return status;
    const Command *command = asked->command;
    const Run *run = asked->settle.run;
    const ActiveStep *active = attempt_rollback(command->attempt) ? &run->rollback.active : run_active(run, command->step);
    if (command->notice && command->notice <= active->notice) return OK;        /* said again, and counted already */
    Event *event = decision_event(asked->settle.decision, EVENT_COST_REPORTED, command->step);
    event->count = command->number;
    event->notice = command->notice;
    return OK;
}
