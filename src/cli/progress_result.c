#include "cli/progress_result.h"

#include <string.h>

#include "base/civil.h"
#include "cli/draw/label.h"
#include "cli/human.h"
#include "cli/live/frame.h"
#include "cli/shell_word.h"
#include "core/terms.h"

typedef struct Writer {
    const LiveModel *model;
    const ResultOptions *options;
    Arena arena;
    Pen pen;
} Writer;

static Str clean(Writer *writer, Str text) { return label_clean(&writer->arena, text, writer->options->style.ascii); }

/* --- what to type -------------------------------------------------------------------------------------------------------- */

/* A command that is cut is none: it may be longer than a line. What it does is said where there is room. */
static void put_command_line(Writer *writer, Str command, const char *why)
{
    Pen *pen = &writer->pen;
    uint32_t width = pen->width;
    pen->width = UINT32_MAX;
    pen_text(pen, TINT_STRONG, clean(writer, command));
    pen->width = width;
    if (pen->used + 3 + strlen(why) <= width) pen_format(pen, TINT_FAINT, "   %s", why);
    pen_end(pen);
}

/* A line "  maestro show 0Fq…    what it does", unless there is no such command. */
static void put_command(Writer *writer, const char *verb, Str operand, const char *why)
{
    const Args *args = writer->options->args;
    char storage[1024];
    Buf line = buf_on(storage, sizeof storage);
    if (!command_find(commands, str_of(verb))) return;
    buf_format(&line, "  maestro %s %.*s", verb, STR_ARG(writer->options->run_id));
    if (operand.len) {
        buf_char(&line, ' ');
        shell_word(&line, operand);
    }
    shell_store(&line, args);
    put_command_line(writer, buf_peek(&line), why);
}

/* The command that was typed, and --again. */
static void put_again(Writer *writer)
{
    const Args *args = writer->options->args;
    if (strcmp(args->command->name, "run") != 0 || !args->operand_count) return;
    char storage[4096];
    Buf line = buf_on(storage, sizeof storage);
    buf_text(&line, "  maestro run ");
    shell_word(&line, str_of(args->operands[0]));
    for (unsigned i = 0; i < args->given_count; i++)
        if (strcmp(args->given[i].option->name, "color") != 0)
            shell_option(&line, args->given[i].option->name, args->given[i].value);
    buf_text(&line, " --again");
    put_command_line(writer, buf_peek(&line), "a new run");
}

/* What answers the trigger that is awaited. */
static void put_awaited(Writer *writer)
{
    const LiveModel *model = writer->model;
    Str key = str_of(model->awaited.trigger);
    char storage[1024];
    Buf line = buf_on(storage, sizeof storage);
    put_command(writer, "approve", STR(""), "answers it with {\"approved\": true}");
    buf_format(&line, "  maestro trigger %.*s ", STR_ARG(writer->options->run_id));
    shell_word(&line, key);
    buf_text(&line, " --payload JSON");
    shell_store(&line, writer->options->args);
    put_command_line(writer, buf_peek(&line), "answers it with a payload");
}

#define SIGNAL_HINT_COUNT_MAX 3         /* commands that are shown; 'show' has the rest */

/* What lets the steps go on that wait for a signal; of several with one signal, once. */
static void put_signals(Writer *writer)
{
    const LiveModel *model = writer->model;
    const StepTerms *steps = model->plan->terms->steps;
    Str shown[SIGNAL_HINT_COUNT_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < model->plan->step_count && count < SIGNAL_HINT_COUNT_MAX; i++) {
        bool is_new = model->steps[i].state == STEP_WAITING_SIGNAL && steps[i].gate.signal.len;
        for (uint32_t s = 0; s < count; s++) is_new = is_new && !str_is(shown[s], steps[i].gate.signal);
        if (!is_new) continue;
        put_command(writer, "signal", steps[i].gate.signal, "lets it go on");
        shown[count++] = steps[i].gate.signal;
    }
}

/* A job that somebody has paused keeps the run from its end. */
static void put_job(Writer *writer, uint32_t job)
{
    char storage[1024];
    Buf line = buf_on(storage, sizeof storage);
    buf_format(&line, "  maestro resume %.*s --job ", STR_ARG(writer->options->run_id));
    shell_word(&line, writer->model->plan->jobs[job].id);
    shell_store(&line, writer->options->args);
    put_command_line(writer, buf_peek(&line), "lets that job go on, which is paused");
}

static void put_next(Writer *writer)
{
    const LiveModel *model = writer->model;
    const ResultOptions *options = writer->options;
    bool is_awaiting = !model->is_settled && model->awaited.trigger;
    if (options->is_forgotten) {                /* its store has ended with it, and no command finds it */
        if (model->state != RUN_SUCCEEDED) put_again(writer);
        return;
    }
    if (is_awaiting) put_awaited(writer);
    if (model->state == RUN_WAITING_SIGNAL) put_signals(writer);
    if (!model->is_settled && model_paused_job(model) != PLAN_NONE) put_job(writer, model_paused_job(model));
    bool is_resumed = model->state == RUN_PAUSED || !options->is_elsewhere;
    /* Who waits for a signal needs no resumption, but somebody to carry it out once that comes. */
    const char *resumed = model->state == RUN_WAITING_SIGNAL ? "carries it out, as no process does now" : "goes on";
    if (options->is_interrupted && !model->is_settled && !is_awaiting && is_resumed) put_command(writer, "resume", STR(""), resumed);
    if (model->state == RUN_FAILED && model->resolution == RESOLUTION_AWAITING_DECISION)
        put_command(writer, "resolve", STR(""), "retry it, compensate it, or close it");
    if (model->state == RUN_FAILED && model->resolution == RESOLUTION_AWAITING_DECISION
        && model->failed_step < model->plan->step_count)
        put_command(writer, "retry-from", model->plan->steps[model->failed_step].id, "anew from there, or from an earlier step");
    if (model->state == RUN_COMPENSATION_FAILED) {
        put_command(writer, "retry-compensation", STR(""), "tries once more to undo it");
        put_command(writer, "skip-compensation", STR(""), "goes on with the rest");
    }
    put_command(writer, "show", STR(""), "every step of it");
    if (model->is_settled && (options->is_repeat || model->state != RUN_SUCCEEDED)) put_again(writer);
}

/* --- what went wrong ----------------------------------------------------------------------------------------------------- */

static void put_tail(Writer *writer, const LiveTail *tail)
{
    Pen *pen = &writer->pen;
    uint32_t count = tail_count(tail);
    if (!count) return;
    if (tail->line_count > count) {
        pen_format(pen, TINT_FAINT, "    %s %u earlier lines", writer->options->style.ascii ? "|" : "│",
                   tail->line_count - count);
        pen_end(pen);
    }
    for (uint32_t i = 0; i < count; i++) {
        pen_put(pen, TINT_FAINT, writer->options->style.ascii ? "    | " : "    │ ");
        pen_text(pen, TINT_PLAIN, clean(writer, tail_line(tail, i)));
        pen_end(pen);
    }
}

static void put_class(Writer *writer, const LiveStep *step)
{
    Pen *pen = &writer->pen;
    const char *class_ = step->class_ ? failure_class_name((FailureClass)step->class_) : NULL;
    const char *cause = step->cause ? cause_name((Cause)step->cause) : NULL;
    pen_put(pen, TINT_FAINT, "    ");
    if (class_) pen_put(pen, TINT_FAINT, class_);
    if (cause && (!class_ || strcmp(cause, class_) != 0)) pen_format(pen, TINT_FAINT, "%s%s", class_ ? ", " : "", cause);
    if (step->attempt) pen_format(pen, TINT_FAINT, "; %u attempt%s", step->attempt, step->attempt == 1 ? "" : "s");
    if (step->started_ms) {
        char storage[32];
        Buf took = buf_on(storage, sizeof storage);
        human_duration(&took, step_took_ms(step, writer->options->now_ms));
        pen_format(pen, TINT_FAINT, ", %.*s", STR_ARG(buf_peek(&took)));
    }
    pen_end(pen);
}

static void put_failure(Writer *writer, uint32_t index)
{
    const LiveStep *step = &writer->model->steps[index];
    Pen *pen = &writer->pen;
    Str id = writer->model->plan->steps[index].id;
    uint32_t width = pen->width;
    pen->width = UINT32_MAX;                            /* what failed, and why, is told whole */
    pen_text(pen, state_tint(step), state_sign(step, writer->options->style.ascii));
    pen_put(pen, TINT_PLAIN, " ");
    pen_text(pen, TINT_STRONG, clean(writer, id));
    pen_put(pen, TINT_PLAIN, ": ");
    pen_text(pen, TINT_PLAIN, step->text ? clean(writer, str_of(step->text)) : str_of(cause_name((Cause)step->cause)));
    pen->width = width;
    pen_end(pen);
    put_class(writer, step);
    put_tail(writer, step->tail);
    if (step->tail) put_command(writer, "logs", id, "all that it wrote");
}

/* Failures that no step of the list explains: a deadline, a policy, a compensation. */
static bool is_explained(const LiveModel *model)
{
    if (model->failure && model->state == RUN_COMPENSATION_FAILED) return false;
    if (!model->failure || model->state != RUN_FAILED) return true;
    for (uint32_t i = 0; i < model->failed_count; i++)
        if (model->failed[i] == model->failed_step) return true;
    return false;
}

static void put_failures(Writer *writer)
{
    const LiveModel *model = writer->model;
    uint32_t failed = model->counts[STEP_FAILED] + model->counts[STEP_TIMED_OUT] - model->optional_failed;
    for (uint32_t i = 0; i < model->failed_count; i++) put_failure(writer, model->failed[i]);
    if (failed > model->failed_count && model->failed_count == LIVE_FAILED_COUNT_MAX) {
        pen_format(&writer->pen, TINT_BAD, "%u further steps failed", failed - model->failed_count);
        pen_end(&writer->pen);
    }
    if (!is_explained(model)) {
        pen_put(&writer->pen, TINT_BAD, "why: ");
        pen_text(&writer->pen, TINT_PLAIN, clean(writer, str_of(model->failure)));
        if (model->cause && model->state == RUN_FAILED) pen_format(&writer->pen, TINT_FAINT, " (%s)", cause_name((Cause)model->cause));
        pen_end(&writer->pen);
    }
}

/* --- the whole ----------------------------------------------------------------------------------------------------------- */

static void put_headline(Writer *writer)
{
    const LiveModel *model = writer->model;
    const ResultOptions *options = writer->options;
    Pen *pen = &writer->pen;
    Tint tint = model->state == RUN_SUCCEEDED ? TINT_GOOD : model->state == RUN_FAILED ? TINT_BAD : TINT_WARN;
    char storage[32];
    Buf took = buf_on(storage, sizeof storage);
    human_duration(&took, model_took_ms(model, options->now_ms));
    bool is_stopped = options->is_interrupted && !model->is_settled && model->state != RUN_PAUSED && model->state != RUN_WAITING_SIGNAL;
    is_stopped = is_stopped && model_paused_job(model) == PLAN_NONE;
    pen_put(pen, tint, is_stopped ? "interrupted" : run_state_name((RunState)model->state));
    if (model->ending && model->is_settled) pen_put(pen, tint, " early");
    pen_format(pen, TINT_PLAIN, " %s %.*s: %u succeeded, %u failed, %u skipped", model->is_settled ? "in" : "after",
               STR_ARG(buf_peek(&took)), model_succeeded(model), model_failed(model), model->counts[STEP_SKIPPED]);
    if (model->counts[STEP_CANCELLED]) pen_format(pen, TINT_PLAIN, ", %u cancelled", model->counts[STEP_CANCELLED]);
    uint32_t open = model->total - model_done(model);
    if (open) pen_format(pen, TINT_PLAIN, ", %u to come", open);
    pen_end(pen);
}

/* "awaits manager-approval since ... until ..."; why it ended early. */
static void put_waiting(Writer *writer)
{
    const LiveModel *model = writer->model;
    Pen *pen = &writer->pen;
    char storage[64];
    Buf time = buf_on(storage, sizeof storage);
    if (model->ending) {
        pen_put(pen, TINT_WARN, "ended early: ");
        pen_text(pen, TINT_PLAIN, clean(writer, str_of(model->ending)));
        pen_end(pen);
    }
    if (model->is_settled || !model->awaited.trigger) return;
    pen_put(pen, TINT_WARN, "awaits ");
    pen_text(pen, TINT_STRONG, clean(writer, str_of(model->awaited.trigger)));
    human_time_short(&time, model->awaited.since_ms, writer->options->now_ms);
    pen_format(pen, TINT_PLAIN, " since %.*s", STR_ARG(buf_peek(&time)));
    buf_clear(&time);
    human_time_short(&time, model->awaited.due_ms, writer->options->now_ms);
    if (model->awaited.due_ms)
        pen_format(pen, TINT_PLAIN, model->awaited.is_scheduled ? ", goes on at %.*s" : ", until %.*s", STR_ARG(buf_peek(&time)));
    pen_put(pen, TINT_PLAIN, " UTC");
    pen_end(pen);
}

static void put_repeat(Writer *writer)
{
    const ResultOptions *options = writer->options;
    if (!options->is_repeat) return;
    pen_put(&writer->pen, TINT_WARN, "This is the result of an earlier run with the same key; nothing was run again.");
    pen_end(&writer->pen);
}

static void put_changed(Writer *writer)
{
    if (!writer->options->is_changed) return;
    pen_put(&writer->pen, TINT_WARN, "The file has changed since that run began; the run keeps to ");
    if (writer->options->revision) pen_format(&writer->pen, TINT_WARN, "revision %u, ", writer->options->revision);
    pen_put(&writer->pen, TINT_WARN, "what the file was then.");
    pen_end(&writer->pen);
    if (writer->model->is_settled) return;
    pen_put(&writer->pen, TINT_WARN, "What the file says now is a run of its own: --again starts it.");
    pen_end(&writer->pen);
}

void result_print(const LiveModel *model, const ResultOptions *options, Buf *out)
{
    Writer writer = { .model = model, .options = options,
                      .pen = { .out = out, .style = options->style, .width = options->width } };
    arena_init(&writer.arena, SIZE_MAX);
    if (!options->is_brief) {
        pen_end(&writer.pen);
        put_headline(&writer);
    }
    put_repeat(&writer);
    put_changed(&writer);
    put_waiting(&writer);
    if (model->state == RUN_FAILED || model->failed_count) put_failures(&writer);
    if (!options->is_brief || model->state != RUN_SUCCEEDED || options->is_repeat) put_next(&writer);
    arena_deinit(&writer.arena);
}

/* --- as JSON ------------------------------------------------------------------------------------------------------------- */

static void add_text(MemberList *members, Str name, const char *text)
{
    if (text && *text) member_list_add(members, name, value_string(str_of(text)));
}

static void add_moment(MemberList *members, Str name, int64_t ms)
{
    char storage[40];
    Buf text = buf_on(storage, sizeof storage);
    if (!ms) return;
    civil_print_ms(&text, ms);
    member_list_add(members, name, value_string(arena_copy(members->arena, buf_peek(&text))));
}

static Value failure_value(Arena *arena, const LiveModel *model, uint32_t index)
{
    const LiveStep *step = &model->steps[index];
    MemberList members = { .arena = arena };
    uint32_t count = tail_count(step->tail);
    Value *lines = ARENA_ARRAY(arena, Value, count + 1);
    for (uint32_t i = 0; i < count; i++) lines[i] = value_string(tail_line(step->tail, i));
    member_list_add(&members, STR("step"), value_string(model->plan->steps[index].id));
    add_text(&members, STR("message"), step->text);
    if (step->class_) add_text(&members, STR("class"), failure_class_name((FailureClass)step->class_));
    if (step->cause) add_text(&members, STR("cause"), cause_name((Cause)step->cause));
    member_list_add(&members, STR("attempts"), value_int(step->attempt));
    member_list_add(&members, STR("log"), value_array(lines, count));
    return member_list_object(&members);
}

Value result_value(Arena *arena, const LiveModel *model, const ResultOptions *options)
{
    MemberList members = { .arena = arena };
    Value *failures = ARENA_ARRAY(arena, Value, model->failed_count + 1);
    for (uint32_t i = 0; i < model->failed_count; i++) failures[i] = failure_value(arena, model, model->failed[i]);
    member_list_add(&members, STR("run"), value_string(options->run_id));
    member_list_add(&members, STR("definition"), value_string(model->plan->id));
    member_list_add(&members, STR("state"), value_string(str_of(run_state_name((RunState)model->state))));
    if (model->resolution) add_text(&members, STR("resolution"), resolution_name((Resolution)model->resolution));
    member_list_add(&members, STR("durationMs"), value_int(model_took_ms(model, options->now_ms)));
    member_list_add(&members, STR("steps"), value_int(model->total));
    member_list_add(&members, STR("succeeded"), value_int(model_succeeded(model)));
    member_list_add(&members, STR("failed"), value_int(model_failed(model)));
    member_list_add(&members, STR("skipped"), value_int(model->counts[STEP_SKIPPED]));
    member_list_add(&members, STR("cancelled"), value_int(model->counts[STEP_CANCELLED]));
    member_list_add(&members, STR("repeat"), value_bool(options->is_repeat));
    member_list_add(&members, STR("definitionChanged"), value_bool(options->is_changed));
    if (options->revision) member_list_add(&members, STR("revision"), value_int(options->revision));
    member_list_add(&members, STR("interrupted"), value_bool(options->is_interrupted && !model->is_settled));
    if (model->state == RUN_FAILED) add_text(&members, STR("message"), model->failure);
    if (model->state == RUN_FAILED && model->cause) add_text(&members, STR("cause"), cause_name((Cause)model->cause));
    if (!model->is_settled && model->awaited.trigger) {
        MemberList awaited = { .arena = arena };
        add_text(&awaited, STR("trigger"), model->awaited.trigger);
        add_moment(&awaited, STR("since"), model->awaited.since_ms);
        add_moment(&awaited, model->awaited.is_scheduled ? STR("resumesAt") : STR("until"), model->awaited.due_ms);
        member_list_add(&members, STR("awaiting"), member_list_object(&awaited));
    }
    add_text(&members, STR("endedEarly"), model->ending);
    member_list_add(&members, STR("failures"), value_array(failures, model->failed_count));
    MemberList result = { .arena = arena };
    member_list_add(&result, STR("result"), member_list_object(&members));
    return member_list_object(&result);
}
