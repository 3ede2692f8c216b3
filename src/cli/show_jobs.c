#include "cli/show_jobs.h"

#include <string.h>

#include "cli/draw/plain.h"
#include "cli/print.h"
#include "cli/shell_word.h"

Status show_jobs_read(ShowJobs *it, Store *store, Error *err)
{
    const Plan *plan = it->plan;
    Arena *arena = it->args->arena;
    Replay replay;
    if (!plan->job_count || it->row[RUNS_archived_to].kind == CELL_TEXT) return OK;
    Status status = run_now_open(&replay, arena, store, it->row, plan, err);
    if (status) return status;
    ValueList list = { .arena = arena };
    it->jobs = arena_copy_items(arena, replay.run.jobs, plan->job_count * sizeof *it->jobs);
    for (uint32_t i = 0; i < plan->job_count; i++) {
        MemberList members = { .arena = arena };
        run_job_members(plan, &replay.run, i, &members);
        value_list_add(&list, member_list_object(&members));
    }
    it->list = value_list_array(&list);
    replay_deinit(&replay);
    return OK;
}

/* The newest event of that kind about the job; NULL: it is too long ago. */
static const StoryEvent *last_of(const ShowJobs *it, uint32_t job, EventKind kind)
{
    for (size_t i = it->story->count; i > 0; i--)
        if (it->story->events[i - 1].kind == kind && it->story->events[i - 1].job == job) return &it->story->events[i - 1];
    return NULL;
}

static void print_job(const ShowJobs *it, uint32_t job)
{
    const JobRun *state = &it->jobs[job];
    bool is_cancelled = state->flags & JOB_CANCELLED;
    const StoryEvent *event = last_of(it, job, is_cancelled ? EVENT_JOB_CANCELLING : EVENT_JOB_PAUSED);
    const char *what = job_is_cutting(state) ? ", being cancelled"
                     : job_is_held(state) && state->state != RUN_PAUSED ? ", paused before it runs" : "";
    Arena *arena = it->args->arena;
    print_format("%-11s %.*s is %s%s", "job", STR_ARG(plain_text(arena, it->plan->jobs[job].id, PLAIN_LINE)),
                 run_state_name((RunState)state->state), what);
    if (event) print_format(" (%.*s%s%.*s)", STR_ARG(plain_text(arena, event->actor, PLAIN_LINE)), event->rationale.len ? ": " : "",
                            STR_ARG(plain_text(arena, event->rationale, PLAIN_LINE)));
    print_format("\n");
}

void show_jobs_state(const ShowJobs *it)
{
    for (uint32_t i = 0; it->jobs && i < it->plan->job_count; i++)
        if (job_is_held(&it->jobs[i]) || it->jobs[i].flags & JOB_CANCELLED) print_job(it, i);
}

bool show_jobs_next(const ShowJobs *it)
{
    uint32_t job = 0;
    bool is_going = row_state(it->row) == RUN_RUNNING || row_state(it->row) == RUN_WAITING_SIGNAL;
    while (it->jobs && job < it->plan->job_count && !job_is_held(&it->jobs[job])) job++;
    if (!it->jobs || job == it->plan->job_count || !is_going) return false;
    Arena *arena = it->args->arena;
    const char *operands = arena_format(arena, "%.*s --job %.*s", STR_ARG(it->row[RUNS_id].text), STR_ARG(it->plan->jobs[job].id)).ptr;
    print_format("\nnext: %.*s\n", STR_ARG(shell_command(it->args, "resume", operands)));
    return true;
}

void show_jobs_add(const ShowJobs *it, MemberList *members)
{
    if (it->jobs) member_list_add(members, STR("jobs"), it->list);
}
