#include "core/notify.h"

#include "base/limits.h"
#include "core/retry.h"

Str notify_key(const Id *run, uint32_t number, Arena *arena)
{
    return arena_format(arena, "%s/notification/%u", run->text, number);
}

void notify_queue(const Settle *settle, uint32_t step, uint32_t reminder)
{
    const PauseTerms *terms = &settle->plan->terms->steps[step].pause;
    for (uint32_t i = 0; i < terms->notify_count; i++) {
        uint32_t number = settle->run->notified_count + 1 + i;
        if (number > RUN_NOTIFICATION_COUNT_MAX) return;
        Event *event = decision_event(settle->decision, EVENT_NOTIFICATION_QUEUED, step);
        event->name = value_text(terms->notify[i]);
        event->key = notify_key(&settle->run->id, number, settle->decision->arena);
        event->count = number;
        event->flags = reminder;
        event->due_ms = settle->now_ms;
    }
}

static void fail(const Settle *settle, const Notification *it, uint32_t attempt, const Failure *failure, int64_t due_ms)
{
    Event *event = decision_event(settle->decision, EVENT_NOTIFICATION_FAILED, it->step);
    event->count = it->number;
    event->attempt = attempt;
    event->cause = failure->cause;
    event->class_ = cause_class(failure->cause);
    event->text = failure->text;
    event->due_ms = due_ms;
}

void notify_withdraw(const Settle *settle, Str why)
{
    const Run *run = settle->run;
    for (uint32_t i = 0; i < run->notification_count; i++)
        fail(settle, &run->notifications[i], run->notifications[i].attempt, &(Failure){ CAUSE_CANCELLED, why, value_null() }, 0);
}

/* An attempt that was ended from outside says nothing about whoever was to be notified. */
static int64_t next_due(const Settle *settle, const Notification *it, uint32_t attempt, Cause cause)
{
    static const RetryTerms terms = { .delay_ms = NOTIFY_DELAY_MS, .delay_ms_max = NOTIFY_DELAY_MS_MAX, .is_exponential = true,
                                      .jitter_ms = NOTIFY_JITTER_MS };
    bool is_worth_it = cause == CAUSE_CANCELLED || cause_class(cause) == CLASS_TRANSIENT;
    if (!is_worth_it || attempt >= NOTIFY_ATTEMPT_COUNT_MAX) return 0;
    return settle->now_ms + retry_delay_ms(&terms, attempt, retry_seed(settle->run->seed, it->number, attempt));
}

Status notify_report(const Asked *asked, Error *err)
{
    const Settle *settle = &asked->settle;
    const Command *command = asked->command;
    const Report *report = &command->report;
    const Notification *it = run_notification(settle->run, command->step, command->attempt);
    if (!it) return error_set(err, ERR_CONFLICT, "that notification is not open: it was received, given up, or its pause has ended");
    if (report->cause >= CAUSE_COUNT) return error_set(err, ERR_INVALID, "the report has no known cause");
    uint32_t attempt = it->attempt + 1;
    if (report->cause == CAUSE_NONE) {
        Event *event = decision_event(settle->decision, EVENT_NOTIFICATION_SENT, it->step);
        event->count = it->number;
        event->attempt = attempt;
        return OK;
    }
    Failure failure = { report->cause, report->message, value_null() };
    if (failure.text.len == 0) failure.text = str_of(cause_name(report->cause));
    fail(settle, it, attempt, &failure, next_due(settle, it, attempt, report->cause));
    return OK;
}
