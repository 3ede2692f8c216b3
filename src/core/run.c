#include "core/run.h"

#include <stdlib.h>

#include "base/check.h"
#include "core/terms.h"

static void *make(uint32_t count, size_t size)
{
    void *items = calloc(count ? count : 1, size);
    CHECK(items != NULL);
    return items;
}

static const StepList empty_list = { STEP_NONE, STEP_NONE, 0 };

void run_init(Run *run, const Plan *plan, const Id *id, uint64_t run_no)
{
    *run = (Run){ .id = *id, .run_no = run_no, .state = RUN_QUEUED, .failed_step = STEP_NONE, .retry_from = STEP_NONE,
                   .rollback.from = STEP_NONE, .awaited.step = STEP_NONE };
    run->step_count = run->open_count = plan->step_count;
    run->job_count = plan->job_count;
    run->loop_count = plan->loop_count;
    run->reached = run->moved = empty_list;
    for (int p = 0; p < PRIORITY_COUNT; p++) run->ready[p] = empty_list;
    run->steps = make(plan->step_count, sizeof *run->steps);
    run->jobs = make(plan->job_count, sizeof *run->jobs);
    run->loops = make(plan->loop_count, sizeof *run->loops);
    run->loop_ends = make(plan->loop_count, sizeof *run->loop_ends);
    run->poll_slot_count = plan->terms->poll_count;
    run->pause_slot_count = plan->terms->pause_count;
    run->reaction_count = plan->terms->reaction_count;
    if (run->reaction_count) run->fired = make(run->reaction_count / 8 + 1, 1);
    run->end_slot_count = plan->terms->end_count;
    if (run->end_slot_count) run->ends = make(run->end_slot_count, sizeof *run->ends);
    run->has_waits = plan->terms->has_blast_max || run->end_slot_count || run->poll_slot_count || run->pause_slot_count || run->reaction_count;
    if (run->poll_slot_count) run->polls = make(run->poll_slot_count, sizeof *run->polls);
    if (run->pause_slot_count) run->answers = make(run->pause_slot_count, sizeof *run->answers);
    if (run->pause_slot_count) run->pauses = make(run->pause_slot_count, sizeof *run->pauses);
    for (uint32_t i = 0; i < plan->step_count; i++) {
        run->steps[i].need_left = plan->steps[i].need_count;
        run->steps[i].flags = plan->steps[i].need_count ? 0 : STEP_LIVE;
    }
    for (uint32_t i = 0; i < plan->job_count; i++) run->jobs[i].open = plan->jobs[i].step_count;
}

/* Few runs ever have any: the others do without the memory. */
void run_set_extras(Run *run, uint32_t step, uint32_t count)
{
    if (!run->extras && count) run->extras = make(run->step_count, sizeof *run->extras);
    if (run->extras) run->extras[step] = (uint16_t)(count < UINT16_MAX ? count : UINT16_MAX);
}

void run_set_place(Run *run, uint32_t step, uint32_t mark)
{
    if (!run->places && mark) run->places = make(run->step_count, sizeof *run->places);
    if (run->places) run->places[step] = mark;
}

void run_deinit(Run *run)
{
    Str *texts[] = { &run->tenant, &run->definition, &run->key, &run->source, &run->parent, &run->directory, &run->failure, &run->bound };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) free((char *)texts[i]->ptr);
    for (uint32_t i = 0; i < run->signal_count; i++) free((char *)run->signals[i].name.ptr);
    for (uint32_t i = 0; i < run->notification_count; i++) free((char *)run->notifications[i].target.ptr);
    free(run->notifications);
    free(run->steps);
    free(run->extras);
    free(run->places);
    free(run->active);
    free(run->jobs);
    free(run->loops);
    free(run->loop_ends);
    free(run->rollback.items);
    free(run->polls);
    free(run->answers);
    free(run->ends);
    free(run->pauses);
    free(run->fired);
    free(run->signals);
    free(run->uses);
    *run = (Run){ 0 };
}

size_t run_size(const Run *run)
{
    size_t size = sizeof *run + run->step_count * sizeof *run->steps + run->job_count * sizeof *run->jobs
                + run->loop_count * (sizeof *run->loops + sizeof *run->loop_ends)
                + run->rollback.capacity * sizeof *run->rollback.items + run->active_capacity * sizeof *run->active
                + (run->reaction_count ? run->reaction_count / 8 + 1 : 0) + run->poll_slot_count * sizeof *run->polls
                + run->end_slot_count * sizeof *run->ends
                + run->pause_slot_count * (sizeof *run->answers + sizeof *run->pauses)
                + run->signal_capacity * sizeof *run->signals + run->use_capacity * sizeof *run->uses
                + run->tenant.len + run->definition.len + run->key.len + run->source.len + run->parent.len + run->directory.len
                + run->failure.len + (run->extras ? run->step_count * sizeof *run->extras : 0)
                + run->bound.len + (run->places ? run->step_count * sizeof *run->places : 0);
    size += run->notification_capacity * sizeof *run->notifications;
    for (uint32_t i = 0; i < run->notification_count; i++) size += run->notifications[i].target.len;
    for (uint32_t i = 0; i < run->signal_count; i++) size += run->signals[i].name.len;
    return size;
}

/* --- time ----------------------------------------------------------------------------------------------------------- */

static int64_t lease_end(const ActiveStep *active)
{
    return active->renewed_ms > active->lease_ms ? active->renewed_ms : active->lease_ms;
}

int64_t active_due_ms(const Run *run, const ActiveStep *active)
{
    int64_t due = INT64_MAX;
    bool is_ending = run->steps[active->step].flags & STEP_ENDING || active->is_overdue;
    if (active->due_ms && !is_ending) due = active->due_ms;     /* who was told to end will report, or lose its lease */
    if (active->lease_ms && lease_end(active) < due) due = lease_end(active);
    return due;
}

/* What is undone is not held to the run's own deadline. */
static int64_t compensation_due_ms(const Run *run)
{
    const ActiveStep *active = &run->rollback.active;
    if (!run_compensation(run)) return INT64_MAX;
    int64_t due = active->due_ms && !active->is_overdue ? active->due_ms : INT64_MAX;
    return active->lease_ms && lease_end(active) < due ? lease_end(active) : due;
}

Notification *run_notification(const Run *run, uint32_t step, uint32_t attempt)
{
    for (uint32_t i = 0; i < run->notification_count; i++) {
        Notification *it = &run->notifications[i];
        if (it->step == step && notification_attempt(it) == attempt) return it;
    }
    return NULL;
}

int64_t run_due_ms(const Run *run)
{
    int64_t due = run_wait_due_ms(run);
    for (uint32_t i = 0; i < run->notification_count; i++)
        if (run->notifications[i].due_ms < due) due = run->notifications[i].due_ms;
    return due;
}

int64_t run_wait_due_ms(const Run *run)
{
    if (run_state_is_settled((RunState)run->state, (Resolution)run->resolution)) return INT64_MAX;
    if (run->state == RUN_FAILED) return run->auto_retry_ms;
    if (run->state == RUN_COMPENSATING) return compensation_due_ms(run);
    int64_t due = INT64_MAX;
    if (run->deadline_ms && !run_is_winding(run)) due = run->deadline_ms;
    bool is_awaiting = run->awaited.step != STEP_NONE && !run_is_winding(run);
    if (is_awaiting && run->awaited.due_ms && run->awaited.due_ms < due) due = run->awaited.due_ms;
    for (uint32_t i = 0; i < run->active_count; i++) {
        int64_t one = active_due_ms(run, &run->active[i]);
        if (one < due) due = one;
    }
    return due;
}

bool run_renew(Run *run, uint32_t step, uint32_t attempt, uint64_t holder, int64_t lease_ms, Renewal renewal)
{
    if (!run_holds(run, step, attempt, holder)) return false;
    ActiveStep *active = attempt_rollback(attempt) ? &run->rollback.active : &run->active[run->steps[step].next];
    bool is_ending = active->is_overdue || (!attempt_rollback(attempt) && run->steps[step].flags & STEP_ENDING);
    if (active->lease_ms == 0 || (is_ending && renewal == RENEWAL_BY_HOLDER)) return false;     /* who does not end when told loses its lease */
    if (lease_ms > active->renewed_ms) active->renewed_ms = lease_ms;
    return true;
}

bool run_holds(const Run *run, uint32_t step, uint32_t attempt, uint64_t holder)
{
    if (step >= run->step_count || holder == 0) return false;
    if (attempt_rollback(attempt)) {
        const Compensation *item = run_compensation(run);
        return item && item->state == COMPENSATION_RUNNING && item->step == step
            && rollback_attempt(run, item->attempt) == attempt && run->rollback.active.holder == holder;
    }
    const ActiveStep *active = run_active(run, step);
    return active && run->steps[step].state == STEP_RUNNING && run->steps[step].attempt == attempt && active->holder == holder;
}

/* --- looking ---------------------------------------------------------------------------------------------------------- */

const Compensation *run_compensation(const Run *run)
{
    const Rollback *rollback = &run->rollback;
    bool is_under_way = run->state == RUN_COMPENSATING || run->state == RUN_COMPENSATION_FAILED;
    return is_under_way && rollback->at < rollback->count ? &rollback->items[rollback->at] : NULL;
}

bool run_holds_poll(const Run *run, const Plan *plan, uint32_t step)
{
    const StepTerms *terms = &plan->terms->steps[step];
    return step_polls(terms) && run->polls[terms->poll.slot].is_held;
}

bool run_asks_end(const Run *run, const Plan *plan, uint32_t step)
{
    const StepTerms *terms = &plan->terms->steps[step];
    return step_terminates(terms) && run->ends[terms->end_slot];
}

uint64_t run_value_at(const Run *run, uint32_t which)
{
    if (which >= run->step_count) return run->answers[which - run->step_count];
    return run->steps[which].output_at;
}

const ActiveStep *run_active(const Run *run, uint32_t step)
{
    return run->steps[step].flags & STEP_IN_ACTIVE ? &run->active[run->steps[step].next] : NULL;
}

uint32_t run_open_children(const Run *run, const Plan *plan, uint32_t sequence)
{
    if (run->retry_source == RETRY_SOURCE_NONE) return plan->steps[sequence].child_count;
    uint32_t count = 0;
    for (uint32_t i = 0; i < run->step_count; i++)
        count += plan->steps[i].sequence == sequence && !step_state_is_final((StepState)run->steps[i].state);
    return count;
}

static bool is_used(const Run *run, uint32_t number, uint32_t step)
{
    for (uint32_t i = 0; i < run->use_count; i++)
        if (run->uses[i].number == number && run->uses[i].step == step) return true;
    return false;
}

const RunSignal *run_signal_for(const Run *run, uint32_t step, Str name)
{
    for (uint32_t i = 0; i < run->signal_count; i++)
        if (str_is(run->signals[i].name, name) && !is_used(run, run->signals[i].number, step)) return &run->signals[i];
    return NULL;
}

bool run_is_parked(const Run *run)
{
    RunState state = (RunState)run->state;
    if (run->moved.count) return false;
    if (run_state_is_settled(state, (Resolution)run->resolution) || state == RUN_FAILED) return true;
    if (state == RUN_COMPENSATING) {                    /* between two attempts alone */
        const Compensation *item = run_compensation(run);
        return item && run->rollback.is_planned && item->state == COMPENSATION_FAILED && !run->rollback.is_stuck
            && run->rollback.active.due_ms;
    }
    if (run->running_count || run->reached.count || run->satisfied_count) return false;
    if (run_is_winding(run)) return false;
    if (state == RUN_PAUSED) return true;
    uint32_t ready_count = 0;
    for (int p = 0; p < PRIORITY_COUNT; p++) ready_count += run->ready[p].count;
    if (ready_count != run->paused_ready_count) return false;
    return run->active_count || ready_count;            /* signals, retries and paused jobs alone */
}

/* --- jobs ------------------------------------------------------------------------------------------------------------- */

RunState job_target(const JobRun *job)
{
    if (job->open == 0) {
        if (job->flags & JOB_CANCELLED && job->flags & JOB_CUT) return RUN_CANCELLED;
        if (job->flags & JOB_FAILED) return RUN_FAILED;
        if (!(job->flags & JOB_BEGAN)) return RUN_SKIPPED;
        return job->flags & JOB_CUT ? RUN_CANCELLED : RUN_SUCCEEDED;
    }
    if (job->flags & JOB_PAUSED && job->flags & JOB_RAN) return RUN_PAUSED;
    if (job->waiting && !job->under_way) return RUN_WAITING_SIGNAL;
    if (job->flags & JOB_RAN) return RUN_RUNNING;
    return job->under_way ? RUN_DISPATCHED : RUN_QUEUED;
}

RunState job_hop(RunState from, RunState target)
{
    if (job_can(from, target)) return target;
    return from == RUN_QUEUED ? RUN_DISPATCHED : RUN_RUNNING;
}
