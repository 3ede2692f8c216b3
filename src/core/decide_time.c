/* decide_time.c - what is due, and attempts whose holder is gone. */
#include <inttypes.h>

#include "base/limits.h"
#include "core/compensation.h"
#include "core/pause.h"
#include "core/poll.h"
#include "core/resolve.h"

/* --- timers -------------------------------------------------------------------------------------------------------------- */

static Status time_out(const Settle *settle, const ActiveStep *active, Error *err)
{
    const StepRun *step = &settle->run->steps[active->step];
    const StepTerms *terms = &settle->plan->terms->steps[active->step];
    Arena *arena = settle->decision->arena;
    if (step->state == STEP_QUEUED) {                                               /* its retry is due */
        if (run_is_winding(settle->run)) return OK;
        decision_event(settle->decision, EVENT_STEP_READY, active->step)->last = active->step;
    } else if (step->state == STEP_POLLING) {
        return poll_timer(settle, active->step, err);
    } else if (step->state == STEP_DISPATCHED) {
        Failure failure = { CAUSE_NOT_ACCEPTED, STR("no executor accepted it in time"), value_null() };
        settle_attempt(settle, active->step, step->attempt, &failure);
    } else if (step->state == STEP_WAITING_SIGNAL) {
        Str text = arena_format(arena, "the signal '%.*s' did not come within %" PRId64 " ms", STR_ARG(terms->gate.signal),
                                terms->gate.timeout_ms);
        settle_fail(settle, active->step, &(Failure){ CAUSE_TIMEOUT, text, value_null() });
    } else if (active->due_ms && active->due_ms <= settle->now_ms && !active->is_overdue && !(step->flags & STEP_ENDING)) {
        settle_overdue(settle, active->step);
    } else {
        settle_orphan(settle, active->step, LOSS_OF_LEASE, STR("its lease ran out"));                                             /* I2 */
    }
    return OK;
}

/* Everything that is due, up to the bound of one decision; what is left is due still. */
Status decide_timer(const Asked *asked, Error *err)
{
    const Settle *settle = &asked->settle;
    const Run *run = settle->run;
    if (run_state_is_settled((RunState)run->state, (Resolution)run->resolution)) return OK;
    if (run->state == RUN_FAILED) {
        if (run->auto_retry_ms <= settle->now_ms) resolve_auto_retry(settle);
        return OK;
    }
    if (run->state == RUN_COMPENSATING) {
        compensation_timer(settle);
        return OK;
    }
    if (run->deadline_ms && run->deadline_ms <= settle->now_ms && !run_is_winding(run)) {
        pause_cancel(settle);
        Event *event = decision_event(settle->decision, EVENT_RUN_FAILING, STEP_NONE);
        event->cause = CAUSE_DEADLINE;
        event->class_ = cause_class(CAUSE_DEADLINE);
        event->text = arena_format(settle->decision->arena, "the run did not end within %" PRId64 " ms",
                                   settle->plan->terms->timeout_ms);
        return OK;                                                                  /* what runs is ended by what follows */
    }
    bool is_awaiting = run->awaited.step != STEP_NONE && !run_is_winding(run);
    if (is_awaiting && run->awaited.due_ms && run->awaited.due_ms <= settle->now_ms) return pause_timer(settle, err);
    for (uint32_t i = 0; i < run->active_count; i++) {
        bool is_full = settle->decision->event_count + ADVANCE_EVENT_COUNT_MIN > DECISION_EVENT_COUNT_MAX;
        if (is_full || decision_is_heavy(settle->decision)) break;
        if (active_due_ms(run, &run->active[i]) > settle->now_ms) continue;
        Status status = time_out(settle, &run->active[i], err);
        if (status) return status;
    }
    return OK;
}

/* --- lost holders ----------------------------------------------------------------------------------------------------------- */

Status decide_orphaned(const Asked *asked, Error *err)
{
    const Settle *settle = &asked->settle;
    const Command *command = asked->command;
    if (command->step >= settle->run->step_count)
        return error_set(err, ERR_NOT_FOUND, "the run has no step %" PRIu32, command->step);
    if (!run_holds(settle->run, command->step, command->attempt, command->holder))
        return error_set(err, ERR_CONFLICT, "attempt %" PRIu32 " of step '%.*s' is not held by that executor",
                         attempt_number(command->attempt), STR_ARG(settle->plan->steps[command->step].id));
    Str why = command->rationale.len ? command->rationale : STR("its holder is gone");
    if (attempt_rollback(command->attempt)) compensation_orphan(settle, LOSS_OF_LEASE, why);
    else settle_orphan(settle, command->step, LOSS_OF_LEASE, why);
    return OK;
}

/* Who is ended already has been told; what undoes something is not held to it. */
Status decide_spent(const Asked *asked, Error *err)
{
    const Settle *settle = &asked->settle;
    const Command *command = asked->command;
    if (!run_holds(settle->run, command->step, command->attempt, command->holder) || attempt_rollback(command->attempt))
        return error_set(err, ERR_CONFLICT, "attempt %" PRIu32 " of step %" PRIu32 " is not under way, or undoes something",
                         attempt_number(command->attempt), command->step);
    bool is_ending = settle->run->steps[command->step].flags & STEP_ENDING || run_active(settle->run, command->step)->is_overdue;
    if (!is_ending) settle_spent(settle, command->step, command->rationale);
    return OK;
}

/* In a process of its own, before the one that `holder` is of; or in that one, which gives it back. */
static bool is_lost(const ActiveStep *active, uint64_t holder, Loss loss)
{
    if (!active->holder || active->lease_ms) return false;
    uint64_t had = holder_epoch(active->holder), now = holder_epoch(holder);
    return loss == LOSS_BY_RELEASE ? had == now : had < now;
}

/* Bounded: sent again until it has no events. */
static void orphan_all(const Asked *asked, Loss loss, Str why)
{
    const Settle *settle = &asked->settle;
    const Run *run = settle->run;
    const Compensation *item = run_compensation(run);
    if (item && item->state == COMPENSATION_RUNNING && is_lost(&run->rollback.active, asked->command->holder, loss))
        compensation_orphan(settle, loss, why);
    for (uint32_t i = 0; i < run->active_count; i++) {
        const ActiveStep *active = &run->active[i];
        if (run->steps[active->step].state != STEP_RUNNING || !is_lost(active, asked->command->holder, loss)) continue;
        if (settle->decision->event_count + ADVANCE_EVENT_COUNT_MIN > DECISION_EVENT_COUNT_MAX) break;
        settle_orphan(settle, active->step, loss, why);
    }
}

/* Attempts that an earlier owner of the log had in its own process, and did not give back. */
Status decide_recover(const Asked *asked, Error *err)
{
    (void)err;
    orphan_all(asked, LOSS_OF_OWNER, STR("its process has ended"));
    return OK;
}

/* Attempts that the owner has in its process, which ends. */
Status decide_release(const Asked *asked, Error *err)
{
    (void)err;
    orphan_all(asked, LOSS_BY_RELEASE, STR("its process ends, and gives it back"));
    return OK;
}
