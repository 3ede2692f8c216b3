/* run_jobs.c - the fold of jobs: what their steps make of them, and what people do to them. */
#include "base/check.h"
#include "core/run_apply.h"

/* --- what steps make of a job ---------------------------------------------------------------------------------------------- */

void apply_job_update(Run *run, uint32_t index)
{
    JobRun *job = &run->jobs[index];
    bool is_moved = job_target(job) != (RunState)job->state;
    if (is_moved && !(job->flags & JOB_IN_MOVED)) moved_add(run, index);
    else if (!is_moved && job->flags & JOB_IN_MOVED) moved_leave(run, index);
}

void apply_job_step_closed(Run *run, JobRun *job)
{
    bool was_cutting = job_is_cutting(job);
    job->open--;
    run->cutting_count -= was_cutting && !job_is_cutting(job);
}

void apply_job_note(Run *run, uint32_t index, const StepRun *step, StepState from, bool is_held)
{
    JobRun *job = &run->jobs[index];
    StepState to = (StepState)step->state;
    job->under_way += (uint32_t)step_is_under_way(to) - (uint32_t)step_is_under_way(from);
    job->waiting += (uint32_t)(to == STEP_WAITING_SIGNAL) - (uint32_t)(from == STEP_WAITING_SIGNAL);
    if (to == STEP_DISPATCHED) job->flags |= JOB_BEGAN;
    if (to == STEP_RUNNING) job->flags |= JOB_RAN;
    bool is_failed = to == STEP_FAILED || (to == STEP_TIMED_OUT && step->cause != CAUSE_NONE && !is_held);
    if (is_failed) job->flags |= JOB_FAILED;
    bool is_cut = to == STEP_CANCELLED
               || (to == STEP_SKIPPED && (step->cause == SKIP_RUN_CANCELLED || step->cause == SKIP_PREDECESSOR_FAILED));
    if (is_cut) job->flags |= JOB_CUT;
    if (step_state_is_final(to) && !is_held) apply_job_step_closed(run, job);
    apply_job_update(run, index);
}

/* --- events -------------------------------------------------------------------------------------------------------------- */

void apply_job_moved(const Apply *apply)
{
    JobRun *job = &apply->run->jobs[apply->event->job];
    CHECK(job_can((RunState)job->state, (RunState)apply->event->state));                                       /* I9 */
    job->state = (uint8_t)apply->event->state;
    apply_job_update(apply->run, apply->event->job);
}

/* A flag that people set or took away; its steps that are ready are counted with it. */
static void job_hold(const Apply *apply, bool is_paused)
{
    Run *run = apply->run;
    const PlanJob *job = &apply->plan->jobs[apply->event->job];
    JobRun *job_run = &run->jobs[apply->event->job];
    uint32_t ready_count = 0;
    for (uint32_t s = 0; s < job->step_count; s++) ready_count += !!(run->steps[job->step_first + s].flags & STEP_IN_READY);
    bool was_paused = job_run->flags & JOB_PAUSED;
    run->paused_ready_count += is_paused && !was_paused ? ready_count : 0;
    run->paused_ready_count -= was_paused && !is_paused ? ready_count : 0;
    job_run->flags = (uint8_t)(is_paused ? job_run->flags | JOB_PAUSED : job_run->flags & ~JOB_PAUSED);
    apply_job_update(run, apply->event->job);
}

void apply_job_paused(const Apply *apply)
{
    job_hold(apply, true);
}

void apply_job_resumed(const Apply *apply)
{
    job_hold(apply, false);
}

/* What is left of it ends by further events. A poll that timed out has ended before: nobody decides about it any more. */
void apply_job_cancelling(const Apply *apply)
{
    Run *run = apply->run;
    const PlanJob *plan_job = &apply->plan->jobs[apply->event->job];
    JobRun *job = &run->jobs[apply->event->job];
    job_hold(apply, false);
    CHECK(!(job->flags & JOB_CANCELLED) && job->open);
    job->flags |= JOB_CANCELLED;
    run->cutting_count++;
    for (uint32_t i = plan_job->step_first; run->held_count && i < plan_job->step_first + plan_job->step_count; i++) {
        if (!run_holds_poll(run, apply->plan, i)) continue;
        run->polls[apply->plan->terms->steps[i].poll.slot].is_held = false;
        run->held_count--;
        job->flags |= JOB_CUT;
        apply_step_closed(apply, i);
        apply_step_cut(apply, i);
    }
    apply_job_update(run, apply->event->job);
}
