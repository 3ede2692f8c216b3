#include "cli/live/stand_test.h"

#include <string.h>

static void stand_model(Stand *stand)
{
    buf_init(&stand->out, SIZE_MAX);
    model_init(&stand->model, &stand->plan);
    stand->now = 1000000;
    stand->number = 0;
    stand_event(stand, (Event){ .kind = EVENT_RUN_CREATED });
    stand_event(stand, (Event){ .kind = EVENT_RUN_RUNNING });
}

static void add_step(Stand *stand, Str job, uint32_t job_index, Str name)
{
    PlanStep *steps = (PlanStep *)stand->plan.steps;
    PlanStep *step = &steps[stand->plan.step_count];
    bool is_inside = name.len && name.ptr[0] == '>';
    if (is_inside) name = str_slice(name, 1, name.len);
    *step = (PlanStep){ .name = name, .job = job_index, .parent = PLAN_NONE, .sequence = PLAN_NONE, .converge = PLAN_NONE };
    step->id = job_index == PLAN_NONE ? name : arena_format(&stand->arena, "%.*s.%.*s", STR_ARG(job), STR_ARG(name));
    if (is_inside) {
        uint32_t around = stand->plan.step_count;
        while (around > 0 && steps[around - 1].parent != PLAN_NONE) around--;
        step->parent = step->sequence = around - 1;
        steps[around - 1].kind = STEP_SEQUENCE;
    }
    stand->plan.step_count++;
}

static void add_job(Stand *stand, Str text)
{
    PlanJob *jobs = (PlanJob *)stand->plan.jobs;
    size_t colon = str_find(text, ':', 0);
    if (colon == text.len) {
        add_step(stand, STR(""), PLAN_NONE, str_trim(text));
        return;
    }
    Str names = str_trim(str_slice(text, colon + 1, text.len));
    uint32_t job = stand->plan.job_count++, first = stand->plan.step_count;
    jobs[job].id = str_trim(str_slice(text, 0, colon));
    for (size_t at = 0; at < names.len;) {
        size_t end = str_find(names, ' ', at);
        add_step(stand, jobs[job].id, job, str_slice(names, at, end));
        at = end + 1;
    }
    jobs[job].step_first = first;
    jobs[job].step_count = stand->plan.step_count - first;
}

void stand_begin(Stand *stand, const char *jobs)
{
    *stand = (Stand){ .plan = { .kind = PLAN_WORKFLOW, .id = STR("nightly") } };
    arena_init(&stand->arena, SIZE_MAX);
    Str text = str_of(jobs);
    stand->plan.steps = ARENA_ARRAY(&stand->arena, PlanStep, text.len + 1);
    stand->plan.jobs = ARENA_ARRAY(&stand->arena, PlanJob, text.len + 1);
    for (size_t at = 0; at < text.len;) {
        size_t end = str_find(text, ';', at);
        add_job(stand, str_slice(text, at, end));
        at = end + 1;
    }
    stand_model(stand);
}

void stand_many(Stand *stand, uint32_t job_count, uint32_t step_count)
{
    *stand = (Stand){ .plan = { .kind = PLAN_RUNBOOK, .id = STR("many") } };
    arena_init(&stand->arena, SIZE_MAX);
    uint32_t each = step_count ? step_count : 1;
    PlanJob *jobs = ARENA_ARRAY(&stand->arena, PlanJob, job_count);
    stand->plan.steps = ARENA_ARRAY(&stand->arena, PlanStep, (size_t)job_count * each);
    stand->plan.jobs = jobs;
    for (uint32_t i = 0; i < job_count; i++) {
        Str id = arena_format(&stand->arena, "job-%u", i);
        for (uint32_t k = 0; k < each; k++)
            add_step(stand, id, step_count ? i : PLAN_NONE, step_count ? arena_format(&stand->arena, "task-%u", k) : id);
        if (step_count) jobs[i] = (PlanJob){ .id = id, .step_first = i * each, .step_count = each };
    }
    stand->plan.job_count = step_count ? job_count : 0;
    stand_model(stand);
}

void stand_end(Stand *stand)
{
    model_deinit(&stand->model);
    buf_deinit(&stand->out);
    arena_deinit(&stand->arena);
}

void stand_event(Stand *stand, Event event) { model_event(&stand->model, &event, ++stand->number, stand->now); }
void stand_step(Stand *stand, EventKind kind, uint32_t step)
{
    stand_event(stand, (Event){ .kind = (uint8_t)kind, .step = step });
}

void stand_start(Stand *stand, uint32_t step)
{
    stand_event(stand, (Event){ .kind = EVENT_STEP_DISPATCHED, .step = step, .attempt = 1, .number = step + 1 });
    stand_step(stand, EVENT_STEP_RUNNING, step);
}

void stand_fail(Stand *stand, uint32_t step, const char *why)
{
    stand_event(stand, (Event){ .kind = EVENT_STEP_FAILED, .step = step, .cause = CAUSE_ERROR, .class_ = CLASS_TRANSIENT,
                                .text = str_of(why) });
}

void stand_log(Stand *stand, uint32_t step, const char *text) { model_line(&stand->model, step, str_of(text), false); }

Str stand_frame(Stand *stand, uint32_t width, uint32_t height, PenStyle style)
{
    FrameOptions options = { .width = width, .height = height, .style = style, .now_ms = stand->now,
                             .run_id = STR("0FqABCDEFGHIJKLMNOPQR") };
    buf_clear(&stand->out);
    frame_print(&stand->model, &options, &stand->out);
    return buf_peek(&stand->out);
}
