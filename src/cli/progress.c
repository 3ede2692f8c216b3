#include "cli/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/civil.h"
#include "base/utf8.h"
#include "cli/draw/label.h"
#include "cli/human.h"
#include "cli/live/frame.h"
#include "cli/progress_result.h"
#include "cli/workplace.h"
#include "core/run.h"
#include "core/terms.h"
#include "ledger/record.h"
#include "value/json.h"
#include "view/run_rows.h"

/* --- make ---------------------------------------------------------------------------------------------------------------- */

/* A locale that was chosen and has no UTF-8; where none was chosen the terminal is taken for a modern one. */
static bool is_ascii_locale(void)
{
    static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value) return !strcasestr(value, "utf-8") && !strcasestr(value, "utf8");
    }
    return false;
}

static bool is_drawable(void)
{
    const char *kind = getenv("TERM");
    return isatty(STDOUT_FILENO) && kind && *kind && strcmp(kind, "dumb") != 0;
}

void progress_init(Progress *progress, const Args *args, const Plan *plan, Store *store)
{
    *progress = (Progress){ .args = args, .plan = plan, .store = store, .is_json = args_flag(args, "json"),
                            .is_quiet = args_flag(args, "quiet"),
                            .style = { .color = args_color(args, STDOUT_FILENO), .ascii = is_ascii_locale() } };
    progress->is_terminal = !progress->is_json && !progress->is_quiet && is_drawable();
    buf_init(&progress->out, SIZE_MAX);
}

static void out_flush(Progress *progress)
{
    if (progress->out.len) print_tinted(&progress->out);
    buf_clear(&progress->out);
}

void progress_begin(Progress *progress, const EngineReply *reply)
{
    progress->run_id = reply->run_id;
    progress->has_run = true;
    progress->lines.run_id = id_peek(&progress->run_id);
    progress->is_over = run_state_is_settled(reply->run_state, reply->resolution);
    if (progress->is_json || progress->is_terminal) return;
    buf_format(&progress->out, progress->is_quiet ? "%s\n" : "run %s\n", reply->run_id.text);
    out_flush(progress);
}

/* The plan of a run that is pinned to another than the caller's: a copy, since its owner may go before the summary. */
static const Plan *plan_copy(Progress *progress, const Plan *plan)
{
    Arena *arena = progress->args->arena;
    Plan *copy = ARENA_NEW(arena, Plan);
    Error err;
    CHECK(plan_read(arena, value_copy(arena, plan->document), copy, &err) == OK);       /* it was read before */
    return copy;
}

static uint32_t revision_of(const Progress *progress)
{
    const Cell *row = NULL;
    Error err;
    if (!progress->store || run_row(progress->args->arena, progress->store, id_peek(&progress->run_id), &row, &err) || !row)
        return 0;
    return (uint32_t)row[RUNS_definition_version].integer;
}

static void model_begin(Progress *progress, const Plan *plan)
{
    bool is_same = progress->plan && memcmp(&progress->plan->digest, &plan->digest, sizeof plan->digest) == 0;
    progress->is_changed = progress->plan && !is_same;
    if (progress->is_changed) progress->revision = revision_of(progress);
    model_init(&progress->model, is_same ? progress->plan : plan_copy(progress, plan));
}

/* --- JSON ---------------------------------------------------------------------------------------------------------------- */

static void put_json(Progress *progress, Value value)
{
    Error err;
    size_t before = progress->out.len;
    if (json_print(&progress->out, value, JSON_COMPACT, &err) == OK) buf_char(&progress->out, '\n');
    else progress->out.len = before;
}

static void add_place(MemberList *members, const Plan *plan, const Event *event, int64_t now_ms)
{
    char storage[40];
    Buf time = buf_on(storage, sizeof storage);
    civil_print_ms(&time, now_ms);
    member_list_add(members, STR("time"), value_string(arena_copy(members->arena, buf_peek(&time))));
    bool is_of_step = event->kind >= EVENT_STEP_READY && event->kind < EVENT_SIGNAL_RECEIVED;
    if (is_of_step && event->step < plan->step_count)
        member_list_add(members, STR("stepId"), value_string(plan->steps[event->step].id));
    if (event->kind == EVENT_BRANCH_TAKEN && event->step < plan->step_count)
        member_list_add(members, STR("condition"), value_string(terms_branch_condition(plan->terms, event->step)));
}

static void json_event(Progress *progress, const Event *event, uint64_t number, int64_t now_ms)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Value value = event_to_value(&arena, event, number);
    MemberList members = { .arena = &arena };
    for (uint32_t i = 0; i < value.count; i++)
        member_list_add(&members, value_text(value.members[i].key), value.members[i].value);
    event_emits(&members, event);
    add_place(&members, progress->model.plan, event, now_ms);
    put_json(progress, member_list_object(&members));
    arena_deinit(&arena);
}

static void json_log(Progress *progress, const Observation *observation)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Str text = observation->text;
    if (utf8_valid_size(text) != text.len) text = label_clean(&arena, text, false);
    MemberList members = { .arena = &arena };
    member_list_add(&members, STR("event"), value_string(STR("log")));
    member_list_add(&members, STR("step"), value_int(observation->step));
    member_list_add(&members, STR("stream"), value_string(observation->is_error ? STR("stderr") : STR("stdout")));
    member_list_add(&members, STR("message"), value_string(text));
    add_place(&members, progress->model.plan, &(Event){ .kind = EVENT_STEP_RUNNING, .step = observation->step },
              observation->now_ms);
    put_json(progress, member_list_object(&members));
    arena_deinit(&arena);
}

/* --- what stays above the tree ------------------------------------------------------------------------------------------- */

static uint32_t drawing_width(const Progress *progress)
{
    uint32_t width = progress->screen.is_open ? progress->screen.width : DRAW_WIDTH_DEFAULT;
    return width > 1 ? width - 1 : 1;               /* behind the last column terminals differ */
}

static void above_head(Progress *progress, Pen *pen, const Event *event, int64_t now_ms)
{
    const LiveModel *model = &progress->model;
    LiveStep step = model->steps[event->step];
    bool is_try = event->kind == EVENT_ATTEMPT_FAILED;
    step.state = is_try ? STEP_QUEUED : event->kind == EVENT_STEP_SUCCEEDED ? STEP_SUCCEEDED
               : event->kind == EVENT_STEP_FAILED                          ? STEP_FAILED
                                                                           : STEP_CANCELLED;
    step.is_retrying = is_try;
    step.is_optional = event->flags & 1;
    char storage[32];
    Buf took = buf_on(storage, sizeof storage);
    human_duration(&took, step_took_ms(&step, now_ms));
    pen_text(pen, state_tint(&step), state_sign(&step, progress->style.ascii));
    pen_put(pen, TINT_PLAIN, " ");
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    pen_text(pen, TINT_STRONG, label_clean(&arena, model->plan->steps[event->step].id, progress->style.ascii));
    if (is_try) pen_format(pen, TINT_WARN, "  attempt %u failed: ", event->attempt);
    else pen_format(pen, TINT_PLAIN, "  %.*s", STR_ARG(buf_peek(&took)));
    if (event->kind == EVENT_STEP_FAILED) pen_put(pen, TINT_WARN, "  failed (optional): ");
    if (event->text.len) pen_text(pen, TINT_PLAIN, text_clean(&arena, event->text, progress->style.ascii));
    pen_end(pen);
    arena_deinit(&arena);
}

static void above_lines(Progress *progress, Pen *pen, const LiveTail *tail, uint32_t index)
{
    const char *bar = progress->style.ascii ? "  | " : "  │ ";
    uint32_t count = tail_count(tail);
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    if (tail && tail->line_count > count) {
        Str id = label_clean(&arena, progress->model.plan->steps[index].id, progress->style.ascii);
        pen_format(pen, TINT_FAINT, "%s%u earlier lines: maestro logs %s %.*s", bar, tail->line_count - count,
                   progress->run_id.text, STR_ARG(id));
        pen_end(pen);
    }
    for (uint32_t i = 0; i < count; i++) {
        pen_put(pen, TINT_FAINT, bar);
        pen_text(pen, TINT_PLAIN, progress->style.ascii ? label_clean(&arena, tail_line(tail, i), true) : tail_line(tail, i));
        pen_end(pen);
    }
    arena_deinit(&arena);
}

/* What is said of the run itself stays in the terminal's history; what it awaits the frame says. */
static void tell_run_above(Progress *progress, const Event *event)
{
    char storage[LIVE_LINE_SIZE_MAX];
    Buf words = buf_on(storage, sizeof storage);
    bool is_warning;
    if (event->kind == EVENT_TRIGGER_AWAITED || !lines_run_words(&words, &progress->model, event, &is_warning)) return;
    Pen pen = { .out = &progress->out, .style = progress->style, .width = drawing_width(progress) };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    pen_text(&pen, is_warning ? TINT_WARN : TINT_FAINT, label_clean(&arena, buf_peek(&words), progress->style.ascii));
    pen_end(&pen);
    arena_deinit(&arena);
    progress->above_count++;
}

/* Before the event is folded. A step that failed for good is told by the tree, and by the summary with its lines. */
static void tell_above(Progress *progress, const Event *event, int64_t now_ms)
{
    tell_run_above(progress, event);
    bool is_failed_try = event->kind == EVENT_ATTEMPT_FAILED || (event->kind == EVENT_STEP_FAILED && event->flags & 1);
    bool is_end = event->kind == EVENT_STEP_SUCCEEDED || event->kind == EVENT_STEP_CANCELLED;
    if ((!is_failed_try && !is_end) || event->step >= progress->model.plan->step_count) return;
    const LiveTail *tail = progress->model.steps[event->step].tail;
    if (!is_failed_try && !tail) return;
    uint32_t count = 1 + tail_count(tail) + (tail && tail->line_count > tail_count(tail));
    if (progress->above_count + count > LIVE_ABOVE_COUNT_MAX) {
        progress->above_left += count;
        return;
    }
    progress->above_count += count;
    Pen pen = { .out = &progress->out, .style = progress->style, .width = drawing_width(progress) };
    above_head(progress, &pen, event, now_ms);
    above_lines(progress, &pen, tail, event->step);
}

/* --- taking -------------------------------------------------------------------------------------------------------------- */

/* A run that ended before: its steps' last lines are in the store. */
typedef struct TailRead { LiveModel *model; uint32_t step; int64_t line_no; uint32_t count; } TailRead;

#define TAIL_PAGE_COUNT_MAX 64
#define TAIL_STEP_COUNT_MAX 8u

static bool take_line(void *context, const Cell *cells, uint32_t count)
{
    TailRead *read = context;
    (void)count;
    read->line_no = cells[LOGS_line_no].integer;
    read->count++;
    model_tail(read->model, read->step, cells[LOGS_text].text, str_is_text(cells[LOGS_stream].text, "stderr"));
    return true;
}

static void read_tail(Progress *progress, const Run *run, uint32_t step)
{
    TailRead read = { .model = &progress->model, .step = step };
    uint32_t number = run->steps[step].number, before;
    Error err;
    if (!number || progress->model.steps[step].tail) return;
    for (int page = 0; page < TAIL_PAGE_COUNT_MAX; page++) {
        before = read.count;
        QueryAsk ask = { .query = QUERY_LOG_LINES, .param_count = 3,
                         .params = { cell_int((int64_t)run->run_no), cell_int(read.line_no), cell_int(number - 1) } };
        if (store_select(progress->store, &ask, take_line, &read, &err) || read.count == before) return;
    }
}

static void read_tails(Progress *progress, const Run *run)
{
    const LiveModel *model = &progress->model;
    for (uint32_t i = 0; progress->store && run->steps && i < model->failed_count && i < TAIL_STEP_COUNT_MAX; i++)
        read_tail(progress, run, model->failed[i]);
}

static void take_event(Progress *progress, const Observation *observation, uint32_t index)
{
    LiveModel *model = &progress->model;
    const Event *event = &observation->events[index];
    uint64_t number = observation->first_event + index;
    int64_t now_ms = observation->now_ms;
    if (number <= model->event_count) return;
    if (progress->is_json) json_event(progress, event, number, now_ms);
    else if (progress->is_terminal && !progress->is_quiet) tell_above(progress, event, now_ms);
    else if (!progress->is_quiet) lines_event(&progress->lines, &progress->out, model, event, now_ms);
    model_event(model, event, number, now_ms);
}

static void take_log(Progress *progress, const Observation *observation)
{
    if (observation->step >= progress->model.plan->step_count) return;
    model_line(&progress->model, observation->step, observation->text, observation->is_error);
    if (progress->is_json) json_log(progress, observation);
    else if (!progress->is_terminal && !progress->is_quiet)
        lines_log(&progress->lines, &progress->out, &progress->model, observation->step, observation->text,
                  observation->is_error);
}

void progress_take(Progress *progress, const Observation *observation)
{
    if (!progress->has_run || memcmp(observation->run->id.text, progress->run_id.text, ID_SIZE) != 0) return;
    if (!progress->model.plan) model_begin(progress, observation->plan);
    LiveModel *model = &progress->model;
    if (observation->kind == OBSERVE_LOG) take_log(progress, observation);
    if (observation->kind == OBSERVE_PROGRESS && observation->step < model->plan->step_count)
        model_progress(model, observation->step, observation->number, observation->text);
    if (observation->kind != OBSERVE_EVENTS) return;
    for (uint32_t i = 0; i < observation->event_count; i++) take_event(progress, observation, i);
    progress->is_over = model->is_settled;
    if (model->is_settled) read_tails(progress, observation->run);
}

/* --- drawing ------------------------------------------------------------------------------------------------------------- */

bool progress_is_over(const Progress *progress) { return progress->is_over; }

static bool is_tree(const Progress *progress) { return progress->is_terminal && progress->model.plan; }
static bool is_changed(const Progress *progress)
{
    return progress->model.version != progress->drawn_version || progress->out.len || progress->above_left;
}

int64_t progress_wait_ms(const Progress *progress)
{
    if (!is_tree(progress) || progress->is_over) return -1;
    int64_t since = human_now_ms() - progress->drawn_ms, pause = is_changed(progress) ? LIVE_FRAME_MS : LIVE_TICK_MS;
    return since < 0 || since >= pause ? 0 : pause - since;
}

static void give_above(Progress *progress)
{
    if (progress->above_left) {
        Pen pen = { .out = &progress->out, .style = progress->style, .width = drawing_width(progress) };
        pen_format(&pen, TINT_FAINT, "%u further lines: maestro logs %s", progress->above_left, progress->run_id.text);
        pen_end(&pen);
    }
    screen_above(&progress->screen, buf_peek(&progress->out));
    buf_clear(&progress->out);
    progress->above_count = progress->above_left = 0;
}

/* What a paused run waits for, and what to type. */
static Str pause_note(Progress *progress)
{
    const LiveModel *model = &progress->model;
    const char *id = progress->run_id.text;
    char storage[32];
    Buf left = buf_on(storage, sizeof storage);
    int64_t left_ms = model->awaited.due_ms - human_now_ms();
    duration_going(&left, left_ms > 0 ? left_ms + 999 : 0);
    Arena *arena = &progress->model.scratch;
    if (!model->awaited.trigger)
        return arena_format(arena, model->paused_for == PAUSED_FOR_POLL ? "paused; polls anew with: maestro resume %s"
                                                                        : "paused; goes on with: maestro resume %s", id);
    if (model->awaited.is_scheduled) return arena_format(arena, "paused; goes on by itself in %.*s", STR_ARG(buf_peek(&left)));
    if (!model->awaited.due_ms) return arena_format(arena, "paused; goes on with: maestro approve %s", id);
    return arena_format(arena, "paused, %.*s left; goes on with: maestro approve %s", STR_ARG(buf_peek(&left)), id);
}

static void draw_frame(Progress *progress)
{
    Buf frame;
    buf_init(&frame, SIZE_MAX);
    progress->drawn_ms = human_now_ms();
    progress->drawn_version = progress->model.version;
    Str note = progress->note;
    if (!note.len && progress->model.state == RUN_PAUSED && !progress->is_left)
        note = pause_note(progress);
    FrameOptions options = { .width = drawing_width(progress), .height = progress->screen.height, .style = progress->style,
                             .now_ms = progress->drawn_ms, .run_id = id_peek(&progress->run_id), .note = note };
    frame_print(&progress->model, &options, &frame);
    give_above(progress);
    screen_draw(&progress->screen, buf_peek(&frame));
    buf_deinit(&frame);
}

/* The terminal is taken with the first frame; one that cannot be taken gets lines. */
static bool take_screen(Progress *progress)
{
    if (progress->screen.is_open) return true;
    progress->is_terminal = screen_open(&progress->screen, STDOUT_FILENO);
    return progress->is_terminal;
}

static void draw_tree(Progress *progress)
{
    if (progress->is_over || progress->is_left || !take_screen(progress)) return;
    int64_t since = human_now_ms() - progress->drawn_ms;
    bool is_touched = screen_look(&progress->screen);
    bool is_due = since < 0 || since >= (is_changed(progress) ? LIVE_FRAME_MS : LIVE_TICK_MS);
    if (is_touched || is_due) draw_frame(progress);
}

void progress_draw(Progress *progress)
{
    if (is_tree(progress)) {
        draw_tree(progress);
        return;
    }
    if (progress->model.plan && !progress->is_terminal) lines_flush(&progress->lines, &progress->out, &progress->model);
    out_flush(progress);
}

void progress_note(Progress *progress, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    progress->note = arena_format_args(progress->args->arena, format, args);
    va_end(args);
    if (!progress->screen.is_open) {
        progress_draw(progress);
        print_note("maestro: %.*s\n", STR_ARG(progress->note));
    }
    progress->model.version++;
}

void progress_leave(Progress *progress)
{
    progress->is_left = true;
    progress->note = (Str){ 0 };
    if (progress->screen.is_open) draw_frame(progress);
    screen_close(&progress->screen);
}

/* --- the end ------------------------------------------------------------------------------------------------------------- */

static void draw_last(Progress *progress)
{
    progress->note = (Str){ 0 };
    if (take_screen(progress)) draw_frame(progress);
    screen_close(&progress->screen);
}

static void say_result(Progress *progress, const ResultOptions *options)
{
    Buf out;
    buf_init(&out, SIZE_MAX);
    if (progress->is_json) {
        Arena arena;
        arena_init(&arena, SIZE_MAX);
        put_json(progress, result_value(&arena, &progress->model, options));
        arena_deinit(&arena);
    } else {
        if (!progress->is_quiet && !progress->is_terminal && progress->is_over) lines_complete(&progress->out, &progress->model);
        result_print(&progress->model, options, &out);
    }
    out_flush(progress);
    bool is_aside = progress->is_quiet || (options->is_interrupted && !progress->is_terminal);
    if (is_aside) print_err_tinted(&out);
    else print_tinted(&out);
    buf_deinit(&out);
}

void progress_free(Progress *progress)
{
    model_deinit(&progress->model);
    buf_deinit(&progress->out);
}

ExitCode progress_end(Progress *progress, bool is_repeat, bool is_interrupted)
{
    if (!progress->model.plan && progress->plan) model_init(&progress->model, progress->plan);
    CHECK(progress->model.plan);
    bool is_tree_drawn = progress->is_terminal;
    if (is_tree_drawn && !progress->is_left) draw_last(progress);
    else progress_draw(progress);
    is_interrupted = is_interrupted && !progress->is_over;
    Str url = store_url(progress->args);
    bool is_forgotten = !store_path(progress->args->arena, url) && !store_is_server(url);
    ResultOptions options = { .args = progress->args, .is_forgotten = is_forgotten, .run_id = id_peek(&progress->run_id), .style = progress->style,
                              .width = is_tree_drawn ? drawing_width(progress) : UINT32_MAX, .now_ms = human_now_ms(),
                              .is_repeat = is_repeat, .is_changed = progress->is_changed, .revision = progress->revision,
                              .is_interrupted = is_interrupted, .is_elsewhere = progress->is_elsewhere,
                              .is_brief = !is_tree_drawn && !is_interrupted };
    if (!is_tree_drawn) options.style.color = args_color(progress->args, progress->is_quiet ? STDERR_FILENO : STDOUT_FILENO);
    say_result(progress, &options);
    bool is_success = progress->model.state == RUN_SUCCEEDED;
    progress_free(progress);
    if (is_interrupted) return EXIT_CODE_TEMPORARY;
    return is_success ? EXIT_CODE_OK : EXIT_CODE_RUN_FAILED;
}
