/* What differs between two states of a run, for people: tables of members, each with the way it is shown. */
#include <inttypes.h>
#include <string.h>

#include "base/civil.h"
#include "ledger/replay.h"

/* Prints a number that a member holds; `item` is what the member belongs to. */
typedef void (*ShowNumber)(Buf *lines, const Plan *plan, const void *item, uint64_t number);

typedef struct DiffRow {
    const char *name;
    uint16_t offset;
    uint8_t size;
    ShowNumber show;                /* NULL: as a number */
} DiffRow;

#define MEMBER(Type, member) offsetof(Type, member), sizeof(((Type *)0)->member)

/* --- how numbers are shown ------------------------------------------------------------------------------------------- */

static void show_run_state(Buf *lines, const Plan *plan, const void *item, uint64_t number)
{
    buf_text(lines, run_state_name((RunState)number));
}

static void show_step_state(Buf *lines, const Plan *plan, const void *item, uint64_t number)
{
    buf_text(lines, step_state_name((StepState)number));
}

static void show_resolution(Buf *lines, const Plan *plan, const void *item, uint64_t number)
{
    buf_text(lines, number ? resolution_name((Resolution)number) : "none");
}

static void show_cause(Buf *lines, const Plan *plan, const void *item, uint64_t number)
{
    buf_text(lines, number ? cause_name((Cause)number) : "none");
}

static void show_step_cause(Buf *lines, const Plan *plan, const void *item, uint64_t number)
{
    const StepRun *step = item;
    if (step->state == STEP_SKIPPED) buf_text(lines, skip_reason_name((SkipReason)number));
    else show_cause(lines, plan, item, number);
}

static void show_bool(Buf *lines, const Plan *plan, const void *item, uint64_t number)
{
    buf_text(lines, number ? "yes" : "no");
}

static void show_time(Buf *lines, const Plan *plan, const void *item, uint64_t number)
{
    if (number == 0) buf_text(lines, "none");
    else civil_print_ms(lines, (int64_t)number);
}

static void show_step(Buf *lines, const Plan *plan, const void *item, uint64_t number)
{
    if (number < plan->step_count) buf_str(lines, plan->steps[number].id);
    else buf_text(lines, "none");
}

static void show_position(Buf *lines, const Plan *plan, const void *item, uint64_t number)
{
    if (number == 0) buf_text(lines, "none");
    else buf_format(lines, "record %" PRIu64, number);
}

typedef struct FlagName { uint16_t flag; const char *name; } FlagName;

static void show_flags(Buf *lines, uint64_t number, const FlagName *names, size_t count)
{
    buf_char(lines, '{');
    for (size_t i = 0, shown = 0; i < count; i++)
        if (number & names[i].flag) buf_format(lines, "%s%s", shown++ ? " " : "", names[i].name);
    buf_char(lines, '}');
}

static void show_job_flags(Buf *lines, const Plan *plan, const void *item, uint64_t number)
{
    static const FlagName names[] = { { JOB_BEGAN, "began" }, { JOB_RAN, "ran" }, { JOB_FAILED, "failed" }, { JOB_CUT, "cut" },
                                      { JOB_IN_MOVED, "moved" }, { JOB_PAUSED, "paused" }, { JOB_CANCELLED, "cancelled" } };
    show_flags(lines, number, names, sizeof names / sizeof *names);
}

static void show_step_flags(Buf *lines, const Plan *plan, const void *item, uint64_t number)
{
    static const FlagName names[] = {
        { STEP_LIVE, "live" }, { STEP_DOOMED, "doomed" }, { STEP_HAS_OUTPUT, "has-output" },
        { STEP_EFFECT_INTENDED, "effect-intended" }, { STEP_EFFECT_COMMITTED, "effect-committed" }, { STEP_ENDING, "ending" },
        { STEP_DEFER_NOTED, "deferred" }, { STEP_IN_REACHED, "reached" }, { STEP_IN_READY, "ready" },
        { STEP_IN_ACTIVE, "active" },
    };
    show_flags(lines, number, names, sizeof names / sizeof *names);
}

/* --- what is compared -------------------------------------------------------------------------------------------------- */

static const DiffRow run_rows[] = {
    { "state", MEMBER(Run, state), show_run_state },
    { "resolution", MEMBER(Run, resolution), show_resolution },
    { "cause", MEMBER(Run, cause), show_cause },
    { "failed step", MEMBER(Run, failed_step), show_step },
    { "cancel requested", MEMBER(Run, cancel_requested), show_bool },
    { "failing", MEMBER(Run, is_failing), show_bool },
    { "cancelling", MEMBER(Run, is_cancelling), show_bool },
    { "events", MEMBER(Run, event_count), NULL },
    { "cost in millionths", MEMBER(Run, cost_micro), NULL },
    { "created", MEMBER(Run, created_ms), show_time },
    { "started", MEMBER(Run, started_ms), show_time },
    { "ended", MEMBER(Run, ended_ms), show_time },
    { "updated", MEMBER(Run, updated_ms), show_time },
    { "deadline", MEMBER(Run, deadline_ms), show_time },
    { "parameters", MEMBER(Run, params_at), show_position },
    { "revision", MEMBER(Run, revision), NULL },
    { "seed", MEMBER(Run, seed), NULL },
    { "steps open", MEMBER(Run, open_count), NULL },
    { "step runs begun", MEMBER(Run, begun_count), NULL },
    { "attempts under way", MEMBER(Run, running_count), NULL },
    { "steps waiting", MEMBER(Run, waiting_count), NULL },
    { "signals", MEMBER(Run, signal_count), NULL },
    { "signals consumed", MEMBER(Run, use_count), NULL },
};

static const DiffRow step_rows[] = {
    { "state", MEMBER(StepRun, state), show_step_state },
    { "cause", MEMBER(StepRun, cause), show_step_cause },
    { "attempt", MEMBER(StepRun, attempt), NULL },
    { "retries", MEMBER(StepRun, retry), NULL },
    { "step run", MEMBER(StepRun, number), NULL },
    { "key generation", MEMBER(StepRun, generation), NULL },
    { "needs left", MEMBER(StepRun, need_left), NULL },
    { "output", MEMBER(StepRun, output_at), show_position },
    { "flags", MEMBER(StepRun, flags), show_step_flags },
};

static const DiffRow active_rows[] = {
    { "holder", MEMBER(ActiveStep, holder), NULL },
    { "due", MEMBER(ActiveStep, due_ms), show_time },
    { "lease", MEMBER(ActiveStep, lease_ms), show_time },
    { "output kept", MEMBER(ActiveStep, kept_at), show_position },
    { "signal", MEMBER(ActiveStep, signal), NULL },
    { "notice", MEMBER(ActiveStep, notice), NULL },
    { "overdue", MEMBER(ActiveStep, is_overdue), show_bool },
    { "spent", MEMBER(ActiveStep, is_spent), show_bool },
};

static const DiffRow job_rows[] = {
    { "state", MEMBER(JobRun, state), show_run_state },
    { "flags", MEMBER(JobRun, flags), show_job_flags },
};

/* --- comparing ---------------------------------------------------------------------------------------------------------- */

static uint64_t member_read(const void *item, const DiffRow *row)
{
    uint64_t number = 0;
    uint8_t small;
    uint16_t medium;
    uint32_t large;
    const char *at = (const char *)item + row->offset;
    switch (row->size) {
    case 1: memcpy(&small, at, 1); return small;
    case 2: memcpy(&medium, at, 2); return medium;
    case 4: memcpy(&large, at, 4); return large;
    default: memcpy(&number, at, 8); return number;
    }
}

/* "step build.compile: state running -> succeeded" for each member that differs. */
static void diff_rows(Buf *lines, const Plan *plan, const char *what, Str name, const DiffRow *rows, uint32_t row_count,
                      const void *before, const void *after)
{
    for (uint32_t i = 0; i < row_count; i++) {
        uint64_t old = member_read(before, &rows[i]), new = member_read(after, &rows[i]);
        if (old == new) continue;
        buf_format(lines, "%s%s%.*s: %s ", what, name.len ? " " : "", STR_ARG(name), rows[i].name);
        if (rows[i].show) rows[i].show(lines, plan, before, old);
        else buf_u64(lines, old);
        buf_text(lines, " -> ");
        if (rows[i].show) rows[i].show(lines, plan, after, new);
        else buf_u64(lines, new);
        buf_char(lines, '\n');
    }
}

#define DIFF(what, name, rows, before, after) \
    diff_rows(lines, plan, what, name, rows, (uint32_t)(sizeof(rows) / sizeof *(rows)), before, after)

static void diff_text(Buf *lines, const char *name, Str before, Str after)
{
    if (!str_is(before, after))
        buf_format(lines, "run: %s \"%.*s\" -> \"%.*s\"\n", name, STR_ARG(before), STR_ARG(after));
}

static void diff_steps(Buf *lines, const Plan *plan, const Run *before, const Run *after)
{
    static const ActiveStep none = { 0 };
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const ActiveStep *old = run_active(before, i), *new = run_active(after, i);
        Str id = plan->steps[i].id;
        DIFF("step", id, step_rows, &before->steps[i], &after->steps[i]);
        if (old || new) DIFF("step", id, active_rows, old ? old : &none, new ? new : &none);
    }
}

void run_diff(const Plan *plan, const Run *before, const Run *after, Buf *lines)
{
    DIFF("run", STR(""), run_rows, before, after);
    diff_text(lines, "tenant", before->tenant, after->tenant);
    diff_text(lines, "definition", before->definition, after->definition);
    diff_text(lines, "key", before->key, after->key);
    diff_text(lines, "source", before->source, after->source);
    diff_text(lines, "parent", before->parent, after->parent);
    diff_text(lines, "failure", before->failure, after->failure);
    for (uint32_t i = 0; i < plan->job_count; i++) DIFF("job", plan->jobs[i].id, job_rows, &before->jobs[i], &after->jobs[i]);
    diff_steps(lines, plan, before, after);
    for (uint32_t i = 0; i < plan->loop_count; i++)
        if (before->loops[i] != after->loops[i])
            buf_format(lines, "loop %.*s: rounds %" PRIu32 " -> %" PRIu32 "\n", STR_ARG(plan->steps[plan->loops[i].head].id),
                       before->loops[i] + 1, after->loops[i] + 1);
}
