#include "core/job.h"

#include "base/limits.h"

/* --- refusals ----------------------------------------------------------------------------------------------------------- */

/* What a wish meets in each state of the job; NULL: it is granted. */
typedef struct JobRefusal { const char *why, *instead; } JobRefusal;

#define JOB_ENDED { "it has ended", "" }

static const JobRefusal pause_refusals[RUN_STATE_COUNT] = {
    [RUN_PAUSED] = { "it is paused already", "resume it, or cancel it" },
    [RUN_SUCCEEDED] = JOB_ENDED, [RUN_FAILED] = JOB_ENDED, [RUN_COMPENSATING] = JOB_ENDED, [RUN_COMPENSATED] = JOB_ENDED,
    [RUN_COMPENSATION_FAILED] = JOB_ENDED, [RUN_CANCELLED] = JOB_ENDED, [RUN_SKIPPED] = JOB_ENDED,
};

/* The others: where it was paused. */
static const JobRefusal resume_refusals[RUN_STATE_COUNT] = {
    [RUN_SUCCEEDED] = JOB_ENDED, [RUN_FAILED] = JOB_ENDED, [RUN_COMPENSATING] = JOB_ENDED, [RUN_COMPENSATED] = JOB_ENDED,
    [RUN_COMPENSATION_FAILED] = JOB_ENDED, [RUN_CANCELLED] = JOB_ENDED, [RUN_SKIPPED] = JOB_ENDED,
};

static const JobRefusal cancel_refusals[RUN_STATE_COUNT] = {
    [RUN_SUCCEEDED] = JOB_ENDED, [RUN_FAILED] = JOB_ENDED, [RUN_COMPENSATING] = JOB_ENDED, [RUN_COMPENSATED] = JOB_ENDED,
    [RUN_COMPENSATION_FAILED] = JOB_ENDED, [RUN_SKIPPED] = JOB_ENDED,
};

/* The same of the run, for all three. */
static const JobRefusal run_refusals[RUN_STATE_COUNT] = {
    [RUN_QUEUED] = { "none of its jobs has begun", "cancel it, or wait until it runs" },
    [RUN_DISPATCHED] = { "none of its jobs has begun", "cancel it, or wait until it runs" },
    [RUN_SUCCEEDED] = { "it has ended", "" },
    [RUN_FAILED] = { "all its jobs have ended", "resolve it, or cancel it" },
    [RUN_COMPENSATING] = { "all its jobs have ended", "cancel it" },
    [RUN_COMPENSATED] = { "it has ended", "" },
    [RUN_COMPENSATION_FAILED] = { "all its jobs have ended", "use retry-compensation or skip-compensation" },
    [RUN_CANCELLED] = { "it has ended", "" },
    [RUN_SKIPPED] = { "it has ended", "" },
};

static const JobRefusal *const refusals[COMMAND_KIND_COUNT] = {
    [COMMAND_PAUSE] = pause_refusals, [COMMAND_RESUME] = resume_refusals, [COMMAND_CANCEL] = cancel_refusals,
};

bool job_may(const Run *run, uint32_t index, CommandKind kind)
{
    const JobRun *job = &run->jobs[index];
    if (run_refusals[run->state].why || run_is_winding(run) || refusals[kind][job->state].why) return false;
    if (job->state == RUN_CANCELLED || job->flags & JOB_CANCELLED) return false;
    return kind == COMMAND_CANCEL || !(job->flags & JOB_PAUSED) == (kind == COMMAND_PAUSE);
}

static Status refuse(const Asked *asked, uint32_t index, const char *why, const char *instead, Error *err)
{
    const JobRun *job = &asked->settle.run->jobs[index];
    const char *what = !job->open                    ? ""
                     : job->flags & JOB_CANCELLED    ? " and being cancelled"
                     : job->flags & JOB_PAUSED && job->state != RUN_PAUSED ? " and paused before it runs"
                                                                           : "";
    return error_set(err, ERR_CONFLICT, "the job '%.*s' is %s%s: %s%s%s", STR_ARG(asked->settle.plan->jobs[index].id),
                     run_state_name((RunState)job->state), what, why, instead[0] ? "; " : "", instead);
}

static Status find(const Asked *asked, uint32_t *out_job, Error *err)
{
    const Plan *plan = asked->settle.plan;
    Str name = asked->command->job;
    for (*out_job = 0; *out_job < plan->job_count; (*out_job)++)
        if (str_is(plan->jobs[*out_job].id, name)) return OK;
    if (!plan->job_count)
        return error_set(err, ERR_NOT_FOUND, "the run has no job '%.*s': its definition has none, so %s the whole run", STR_ARG(name),
                         command_kind_name(asked->command->kind));
    return error_set(err, ERR_NOT_FOUND, "the run has no job '%.*s'", STR_ARG(name));
}

/* --- the three wishes ------------------------------------------------------------------------------------------------------ */

static Event *job_event(const Asked *asked, EventKind kind, uint32_t index)
{
    Event *event = decision_event(asked->settle.decision, kind, 0);
    event->job = index;
    event->text = asked->command->rationale;
    return event;
}

static Status pause(const Asked *asked, uint32_t index, Error *err)
{
    const JobRun *job = &asked->settle.run->jobs[index];
    if (job->flags & JOB_CANCELLED) return refuse(asked, index, "nothing of it begins any more", "", err);
    if (job->flags & JOB_PAUSED) return refuse(asked, index, "it is paused already", "resume it, or cancel it", err);
    job_event(asked, EVENT_JOB_PAUSED, index);
    return OK;
}

static Status resume(const Asked *asked, uint32_t index, Error *err)
{
    const JobRun *job = &asked->settle.run->jobs[index];
    if (job->flags & JOB_CANCELLED) return refuse(asked, index, "nothing of it begins any more", "", err);
    if (!(job->flags & JOB_PAUSED)) return refuse(asked, index, "it is not paused", "pause it first, or cancel it", err);
    Status status = decide_ask_policy(asked, HOOK_RUN_RESUME, value_null(), err);                             /* F-080 */
    if (status) return status;
    job_event(asked, EVENT_JOB_RESUMED, index);
    return OK;
}

static Str cancelled_text(const Settle *settle, uint32_t job)
{
    return arena_format(settle->decision->arena, "the job '%.*s' was cancelled", STR_ARG(settle->plan->jobs[job].id));
}

static Status cancel(const Asked *asked, uint32_t index, Error *err)
{
    if (asked->command->undo != CANCEL_AS_DEFINED)
        return error_set(err, ERR_INVALID, "what a job has done is undone with its run: compensate that, once it has failed");
    Str text = cancelled_text(&asked->settle, index), why = asked->command->rationale;
    if (why.len) text = arena_format(asked->settle.decision->arena, "%.*s: %.*s", STR_ARG(text), STR_ARG(why));
    job_event(asked, EVENT_JOB_CANCELLING, index)->text = text;
    return OK;
}

Status job_decide(const Asked *asked, Error *err)
{
    const Run *run = asked->settle.run;
    CommandKind kind = asked->command->kind;
    uint32_t index;
    if (!refusals[kind]) return error_set(err, ERR_INVALID, "a job by itself is paused, resumed or cancelled, and nothing else");
    Status status = find(asked, &index, err);
    if (status) return status;
    const JobRun *job = &run->jobs[index];
    bool is_cancelled = job->state == RUN_CANCELLED || job_is_cutting(job);
    if (kind == COMMAND_CANCEL && is_cancelled) return OK;                          /* F-083: done, nothing to record */
    const JobRefusal *refusal = &run_refusals[run->state];
    if (refusal->why) return decide_refuse(asked, err, refusal->why, refusal->instead);
    refusal = &refusals[kind][job->state];
    if (refusal->why) return refuse(asked, index, refusal->why, refusal->instead, err);
    if (run_is_winding(run)) return decide_refuse(asked, err, "nothing new starts", run->is_cancelling ? "" : "cancel it");
    if (kind == COMMAND_PAUSE) return pause(asked, index, err);
    return kind == COMMAND_RESUME ? resume(asked, index, err) : cancel(asked, index, err);
}

/* --- what follows from a cancel ---------------------------------------------------------------------------------------------- */

void job_cancel_step(const Settle *settle, uint32_t step)
{
    Str text = cancelled_text(settle, settle->plan->steps[step].job);
    decision_event(settle->decision, EVENT_STEP_CANCELLED, step)->text = text;
}

/* From `step` on, those that have not begun, as one range; the last of them. */
static uint32_t skip(const Settle *settle, uint32_t step, uint32_t end, uint32_t *number)
{
    const Run *run = settle->run;
    bool has_number = run->steps[step].number != 0;             /* it was begun, or took the place of another */
    uint32_t last = step;
    while (!has_number && last + 1 < end && last + 1 - step < SKIP_RANGE_COUNT_MAX && run->steps[last + 1].state == STEP_QUEUED
           && !run->steps[last + 1].number)
        last++;
    Str text = cancelled_text(settle, settle->plan->steps[step].job);
    Event *event = decision_event(settle->decision, EVENT_STEP_SKIPPED, step);
    event->last = last;
    event->reason = SKIP_RUN_CANCELLED;
    event->text = text;
    if (has_number) return last;
    event->number = *number + 1;
    *number += last - step + 1;
    return last;
}

bool job_cut(const Settle *settle, uint32_t event_count_max)
{
    const Run *run = settle->run;
    Decision *decision = settle->decision;
    uint32_t before = decision->event_count, number = run->begun_count, left = run->cutting_count;
    for (uint32_t j = 0; left && j < run->job_count; j++) {
        const PlanJob *job = &settle->plan->jobs[j];
        uint32_t end = job->step_first + job->step_count;
        if (!job_is_cutting(&run->jobs[j])) continue;
        left--;
        for (uint32_t s = job->step_first; s < end; s++) {
            StepState state = (StepState)run->steps[s].state;
            if (decision->event_count > before && decision->event_count >= event_count_max) return true;
            if (step_state_is_final(state)) continue;
            if (state == STEP_QUEUED) s = skip(settle, s, end, &number);
            else if (state != STEP_RUNNING || !step_works(&settle->plan->steps[s])) job_cancel_step(settle, s);
            else if (!(run->steps[s].flags & STEP_ENDING)) decision_event(decision, EVENT_STEP_CANCELLING, s);
        }
    }
    return decision->event_count > before;
}
