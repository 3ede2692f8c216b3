#include "cli/live/frame.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/utf8.h"
#include "cli/draw/label.h"
#include "cli/human.h"

/* --- signs --------------------------------------------------------------------------------------------------------------- */

typedef struct Sign { const char *sign, *ascii; Tint tint; } Sign;

static const Sign signs[STEP_STATE_COUNT] = {
    [STEP_QUEUED] = { "○", ".", TINT_FAINT },          [STEP_DISPATCHED] = { "●", "*", TINT_ACTIVE },
    [STEP_RUNNING] = { "●", "*", TINT_ACTIVE },        [STEP_PAUSED] = { "‖", "=", TINT_WARN },
    [STEP_WAITING_SIGNAL] = { "◆", "?", TINT_WARN },   [STEP_POLLING] = { "◍", "@", TINT_ACTIVE },
    [STEP_SUCCEEDED] = { "✓", "+", TINT_GOOD },        [STEP_FAILED] = { "✗", "x", TINT_BAD },
    [STEP_TIMED_OUT] = { "✗", "x", TINT_BAD },         [STEP_SKIPPED] = { "-", "-", TINT_FAINT },
    [STEP_SUPERSEDED] = { "«", "<", TINT_FAINT },      [STEP_CANCELLED] = { "⊘", "/", TINT_WARN },
};
static const Sign sign_retry = { "↻", "~", TINT_WARN };
static const Sign sign_default = { "✓", "+", TINT_WARN };
static const Sign sign_optional = { "✗", "x", TINT_WARN };

static const Sign *sign_of(const LiveStep *step)
{
    if (step->state == STEP_QUEUED && step->is_retrying) return &sign_retry;
    if (step->state == STEP_TIMED_OUT && step->is_default) return &sign_default;
    if ((step->state == STEP_FAILED || step->state == STEP_TIMED_OUT) && step->is_optional) return &sign_optional;
    return &signs[step->state];
}

Str  state_sign(const LiveStep *step, bool ascii) { return str_of(ascii ? sign_of(step)->ascii : sign_of(step)->sign); }
Tint state_tint(const LiveStep *step) { return sign_of(step)->tint; }

/* --- which rows ---------------------------------------------------------------------------------------------------------- */

typedef enum RowKind { ROW_JOB, ROW_STEP, ROW_ENDED /* counted */, ROW_TO_COME, ROW_MORE } RowKind;

typedef struct Row {
    uint8_t kind;
    uint16_t depth;
    uint32_t index;                 /* of a job or step; of counted ones how many */
    uint32_t lines;                 /* of its log, below it */
} Row;

typedef struct Rows {
    const LiveModel *model;
    Row items[LIVE_ROW_COUNT_MAX];
    uint32_t count, count_max;
    bool is_full;                   /* there would be more */
} Rows;

typedef enum Detail { DETAIL_ALL, DETAIL_OPEN_JOBS, DETAIL_OPEN_STEPS, DETAIL_ACTIVE } Detail;

static void rows_add(Rows *rows, Row row)
{
    if (rows->count < rows->count_max) rows->items[rows->count++] = row;
    else rows->is_full = true;
}

static bool is_active(const LiveStep *step) { return step->active_at != PLAN_NONE; }
static bool is_failure(const LiveStep *step) { return step->state == STEP_FAILED || step->state == STEP_TIMED_OUT; }

/* A job of one step is shown as that step. */
static bool job_has_row(const Plan *plan, uint32_t job) { return job != PLAN_NONE && plan->jobs[job].step_count > 1; }

static uint32_t step_depth(const Plan *plan, uint32_t index)
{
    uint32_t depth = job_has_row(plan, plan->steps[index].job);
    for (uint32_t s = plan->steps[index].parent; s != PLAN_NONE && depth < 32; s = plan->steps[s].parent) depth++;
    return depth;
}

static bool job_is_open(const LiveModel *model, uint32_t job)
{
    const LiveJob *live = &model->jobs[job];
    return live->active > 0 || (live->ended > 0 && live->ended < model->plan->jobs[job].step_count);
}

static bool step_has_row(const LiveModel *model, uint32_t index, Detail detail)
{
    const LiveStep *step = &model->steps[index];
    uint32_t job = model->plan->steps[index].job;
    if (detail == DETAIL_ALL || is_active(step) || is_failure(step)) return true;
    if (!job_has_row(model->plan, job)) return true;
    return detail == DETAIL_OPEN_JOBS && job_is_open(model, job);
}

static void rows_tree(Rows *rows, Detail detail)
{
    const Plan *plan = rows->model->plan;
    uint32_t job = PLAN_NONE;
    for (uint32_t i = 0; i < plan->step_count && !rows->is_full; i++) {
        if (plan->steps[i].job != job) {
            job = plan->steps[i].job;
            if (job_has_row(plan, job)) rows_add(rows, (Row){ .kind = ROW_JOB, .index = job });
        }
        if (step_has_row(rows->model, i, detail))
            rows_add(rows, (Row){ .kind = ROW_STEP, .index = i, .depth = (uint16_t)step_depth(plan, i) });
    }
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Steps that are to be seen, in the order of the plan: failed ones, then those under way, each up to a number. */
static uint32_t chosen(const LiveModel *model, uint32_t failed_max, uint32_t active_max, uint32_t *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < model->failed_count && count < failed_max; i++) out[count++] = model->failed[i];
    uint32_t first = count, active = model->active_count < LIVE_TREE_COUNT_MAX ? model->active_count : LIVE_TREE_COUNT_MAX;
    for (uint32_t i = 0; i < active; i++) out[count++] = model->active[i];
    qsort(out + first, count - first, sizeof *out, by_number);
    if (count - first > active_max) count = first + active_max;
    qsort(out, count, sizeof *out, by_number);
    return count;
}

typedef struct Choice {
    uint32_t failed_max, active_max;
    bool has_jobs;                  /* jobs have rows of their own; else each step has its whole id */
    bool has_counts;                /* of what has ended and what is to come */
} Choice;

/* What is active or has failed, and the rest counted. */
static void rows_active(Rows *rows, const Choice *choice)
{
    const LiveModel *model = rows->model;
    const Plan *plan = model->plan;
    uint32_t *steps = malloc((LIVE_TREE_COUNT_MAX + LIVE_FAILED_COUNT_MAX) * sizeof *steps), job = PLAN_NONE;
    CHECK(steps);
    rows->count = 0;
    rows->is_full = false;
    uint32_t count = chosen(model, choice->failed_max, choice->active_max, steps), done = model_done(model), shown_done = 0,
             shown_open = 0;
    for (uint32_t i = 0; i < count; i++)
        *(is_failure(&model->steps[steps[i]]) ? &shown_done : &shown_open) += model_counts(model, steps[i]);
    if (choice->has_counts && done > shown_done) rows_add(rows, (Row){ .kind = ROW_ENDED, .index = done - shown_done });
    for (uint32_t i = 0; i < count; i++) {
        uint32_t own = plan->steps[steps[i]].job;
        bool is_below = choice->has_jobs && job_has_row(plan, own);
        if (own != job && is_below) rows_add(rows, (Row){ .kind = ROW_JOB, .index = own });
        job = own;
        rows_add(rows, (Row){ .kind = ROW_STEP, .index = steps[i], .depth = is_below });
    }
    uint32_t active = model->active_count < choice->active_max ? model->active_count : choice->active_max;
    if (model->active_count > active) rows_add(rows, (Row){ .kind = ROW_MORE, .index = model->active_count - active });
    uint32_t open = model->total - done, hidden = model->active_count - active;
    if (choice->has_counts && open > shown_open + hidden)
        rows_add(rows, (Row){ .kind = ROW_TO_COME, .index = open - shown_open - hidden });
    free(steps);
}

static void rows_choose(Rows *rows)
{
    const Plan *plan = rows->model->plan;
    for (Detail detail = DETAIL_ALL; detail < DETAIL_ACTIVE && plan->step_count <= LIVE_TREE_COUNT_MAX; detail++) {
        rows->count = 0;
        rows->is_full = false;
        rows_tree(rows, detail);
        if (!rows->is_full) return;
    }
    Choice choice = { .failed_max = LIVE_FAILED_COUNT_MAX, .active_max = LIVE_TREE_COUNT_MAX, .has_jobs = true,
                      .has_counts = true };
    rows_active(rows, &choice);
    choice.has_jobs = false;
    if (rows->is_full) rows_active(rows, &choice);
    if (!rows->is_full) return;
    /* Failed steps have a third of the room; the rows that count take three, unless there are hardly more. */
    choice.has_counts = rows->count_max > 5;
    choice.failed_max = rows->count_max / 3 < rows->model->failed_count ? rows->count_max / 3 : rows->model->failed_count;
    uint32_t taken = choice.failed_max + (choice.has_counts ? 3 : 1);
    choice.active_max = rows->count_max > taken ? rows->count_max - taken : 0;
    rows_active(rows, &choice);
}

/* Room that is left goes to the logs of what runs, line by line in turn. */
static void rows_give_lines(Rows *rows, uint32_t room)
{
    for (uint32_t turn = 1; turn <= LIVE_TAIL_SHOWN_COUNT && room; turn++) {
        for (uint32_t i = 0; i < rows->count && room; i++) {
            Row *row = &rows->items[i];
            if (row->kind != ROW_STEP) continue;
            const LiveStep *step = &rows->model->steps[row->index];
            if (!is_active(step) || step->state == STEP_QUEUED || tail_count(step->tail) < turn) continue;
            row->lines++;
            room--;
        }
    }
}

/* --- what stands in them ------------------------------------------------------------------------------------------------- */

typedef struct Draw {
    const LiveModel *model;
    const FrameOptions *options;
    Arena *arena;
    Pen pen;
    uint32_t name_width;            /* column at which durations end, less their width */
} Draw;

#define DURATION_WIDTH 7u
#define NAME_WIDTH_MIN 16u

static Str label_of(const Draw *draw, const Row *row)
{
    const Plan *plan = draw->model->plan;
    if (row->kind == ROW_JOB) return label_clean(draw->arena, plan->jobs[row->index].id, draw->options->style.ascii);
    const PlanStep *step = &plan->steps[row->index];
    bool is_below = row->depth > 0 || step->parent != PLAN_NONE;
    Str name = is_below && step->name.len ? step->name : step->id;
    return label_clean(draw->arena, name, draw->options->style.ascii);
}

static uint32_t name_width(const Draw *draw, const Rows *rows)
{
    size_t width = NAME_WIDTH_MIN;
    for (uint32_t i = 0; i < rows->count; i++) {
        const Row *row = &rows->items[i];
        if (row->kind > ROW_STEP) continue;
        size_t own = 2u * row->depth + 2 + utf8_width(label_of(draw, row));
        if (own > width) width = own;
    }
    width = (width + 3) / 4 * 4;                            /* in steps, so that it does not change with every row */
    size_t most = draw->options->width / 2;
    return (uint32_t)(width < most ? width : most);
}

static void put_duration(Draw *draw, int64_t ms, bool is_going)
{
    char storage[32];
    Buf text = buf_on(storage, sizeof storage);
    if (is_going) duration_going(&text, ms);
    else human_duration(&text, ms);
    uint32_t size = (uint32_t)text.len, end = draw->name_width + DURATION_WIDTH;
    pen_pad(&draw->pen, end > size ? end - size : 0);
    pen_text(&draw->pen, TINT_PLAIN, buf_peek(&text));
}

static void put_details(Draw *draw) { pen_pad(&draw->pen, draw->name_width + DURATION_WIDTH + 2); }

static void put_foreign(Draw *draw, Tint tint, const char *text)
{
    if (text) pen_text(&draw->pen, tint, draw->options->style.ascii ? label_clean(draw->arena, str_of(text), true)
                       : str_of(text));
}

static void put_waiting(Draw *draw, const LiveStep *step)
{
    int64_t left = step->due_ms - draw->options->now_ms;
    char storage[32];
    Buf text = buf_on(storage, sizeof storage);
    duration_going(&text, left > 0 ? left + 999 : 0);
    pen_format(&draw->pen, TINT_WARN, "attempt %u failed", step->attempt);
    if (draw->model->state != RUN_PAUSED) pen_format(&draw->pen, TINT_WARN, ", again in %.*s", STR_ARG(buf_peek(&text)));
    pen_put(&draw->pen, TINT_PLAIN, ": ");
    put_foreign(draw, TINT_PLAIN, step->text);
}

/* "poll 3 of 576": the one that is under way, or comes next. */
static void put_poll(Draw *draw, uint32_t index, uint32_t number)
{
    uint32_t max = model_poll_max(draw->model, index);
    pen_format(&draw->pen, TINT_PLAIN, "poll %u", number);
    if (max) pen_format(&draw->pen, TINT_PLAIN, " of %u", max);
}

static void put_polling(Draw *draw, uint32_t index)
{
    const LiveStep *step = &draw->model->steps[index];
    int64_t left = step->due_ms - draw->options->now_ms;
    char storage[32];
    Buf text = buf_on(storage, sizeof storage);
    duration_going(&text, left > 0 ? left + 999 : 0);
    put_poll(draw, index, step->poll_count);
    if (draw->model->state == RUN_PAUSED) pen_put(&draw->pen, TINT_WARN, ", held by the pause");
    else pen_format(&draw->pen, TINT_ACTIVE, ", next in %.*s", STR_ARG(buf_peek(&text)));
}

static void put_going(Draw *draw, uint32_t index)
{
    Pen *pen = &draw->pen;
    const LiveStep *step = &draw->model->steps[index];
    if (step->poll_count || model_poll_max(draw->model, index)) {
        put_poll(draw, index, step->poll_count + 1);
        pen_put(pen, TINT_PLAIN, "  ");
    } else if (step->attempt > 1) pen_format(pen, TINT_WARN, "attempt %u  ", step->attempt);
    if (step->is_ending) pen_put(pen, TINT_WARN, "ending  ");
    if (step->thousandths >= 0) pen_format(pen, TINT_PLAIN, "%d%%  ", step->thousandths / 10);
    put_foreign(draw, TINT_PLAIN, step->news);
}

static void put_timed_out(Draw *draw, const LiveStep *step)
{
    pen_format(&draw->pen, state_tint(step), "timed out after %u poll%s", step->poll_count, step->poll_count == 1 ? "" : "s");
    if (step->is_default) pen_put(&draw->pen, TINT_PLAIN, ", done with the default");
    else if (step->is_optional) pen_put(&draw->pen, TINT_PLAIN, ", the run is paused for it");
}

static void put_step_details(Draw *draw, uint32_t index)
{
    Pen *pen = &draw->pen;
    const LiveStep *step = &draw->model->steps[index];
    put_details(draw);
    switch ((StepState)step->state) {
    case STEP_QUEUED:
        if (step->is_retrying) put_waiting(draw, step);
        break;
    case STEP_DISPATCHED: case STEP_RUNNING: case STEP_PAUSED: put_going(draw, index); break;
    case STEP_POLLING: put_polling(draw, index); break;
    case STEP_TIMED_OUT: put_timed_out(draw, step); break;
    case STEP_WAITING_SIGNAL:
        pen_put(pen, TINT_WARN, "waits for signal ");
        put_foreign(draw, TINT_STRONG, step->text);
        break;
    case STEP_FAILED:
        pen_format(pen, state_tint(step), "%s", step->is_optional ? "failed (optional)" : "failed");
        if (step->attempt > 1) pen_format(pen, TINT_PLAIN, " after %u attempts", step->attempt);
        pen_put(pen, TINT_PLAIN, ": ");
        put_foreign(draw, TINT_PLAIN, step->text);
        break;
    case STEP_SKIPPED: pen_format(pen, TINT_FAINT, "skipped: %s", skip_words((SkipReason)step->reason)); break;
    case STEP_CANCELLED: pen_put(pen, TINT_WARN, "cancelled"); break;
    case STEP_SUCCEEDED:
        if (step->poll_count) pen_format(pen, TINT_FAINT, "%u poll%s", step->poll_count, step->poll_count == 1 ? "" : "s");
        else if (step->attempt > 1) pen_format(pen, TINT_WARN, "attempt %u", step->attempt);
        break;
    case STEP_SUPERSEDED: case STEP_STATE_COUNT: break;
    }
    if (step->undo) pen_format(pen, step->undo == COMPENSATION_FAILED + 1 ? TINT_BAD : TINT_WARN, "  %s", undo_words(step));
}

static void draw_lines(Draw *draw, const Row *row)
{
    const LiveTail *tail = draw->model->steps[row->index].tail;
    uint32_t count = tail_count(tail);
    for (uint32_t i = count - row->lines; i < count; i++) {
        Str line = tail_line(tail, i);
        pen_pad(&draw->pen, 2u * row->depth + 2);
        pen_put(&draw->pen, TINT_FAINT, draw->options->style.ascii ? "| " : "│ ");
        pen_text(&draw->pen, TINT_FAINT, draw->options->style.ascii ? label_clean(draw->arena, line, true) : line);
        pen_end(&draw->pen);
    }
}

static void draw_name(Draw *draw, const Row *row, Str sign, Tint tint)
{
    Pen *pen = &draw->pen;
    bool is_quiet = tint == TINT_FAINT, is_active = tint == TINT_ACTIVE || row->kind == ROW_JOB;
    pen_pad(pen, 2u * row->depth);
    pen_text(pen, tint, sign);
    pen_put(pen, TINT_PLAIN, " ");
    uint32_t room = draw->name_width > pen->used ? draw->name_width - pen->used : 0;
    pen_cut(pen, is_quiet ? TINT_FAINT : is_active ? TINT_STRONG : TINT_PLAIN, label_of(draw, row), room);
}

static void draw_step(Draw *draw, const Row *row)
{
    const LiveStep *step = &draw->model->steps[row->index];
    bool ascii = draw->options->style.ascii;
    draw_name(draw, row, state_sign(step, ascii), state_tint(step));
    if (step->started_ms && step->state != STEP_SKIPPED)
        put_duration(draw, step_took_ms(step, draw->options->now_ms), !step_state_is_final((StepState)step->state));
    put_step_details(draw, row->index);
    pen_end(&draw->pen);
    if (row->lines) draw_lines(draw, row);
}

/* The state of a job, as that of a step which is what its steps make of it. */
static LiveStep job_as_step(const LiveModel *model, uint32_t job)
{
    const LiveJob *live = &model->jobs[job];
    uint32_t count = model->plan->jobs[job].step_count;
    LiveStep step = { .state = STEP_QUEUED, .started_ms = live->started_ms };
    bool is_over = live->ended == count && !live->active;
    if (is_over) step.ended_ms = live->ended_ms;
    if (live->failed && !live->active) step.state = STEP_FAILED;
    else if (is_over) step.state = live->skipped == count ? STEP_SKIPPED : STEP_SUCCEEDED;
    else if (live->ended && !live->active && (model->state == RUN_PAUSED || live->is_paused)) step.state = STEP_PAUSED;
    else if (live->active || live->ended) step.state = STEP_RUNNING;
    return step;
}

static void draw_job(Draw *draw, const Row *row)
{
    const LiveJob *live = &draw->model->jobs[row->index];
    uint32_t count = draw->model->plan->jobs[row->index].step_count;
    LiveStep step = job_as_step(draw->model, row->index);
    draw_name(draw, row, state_sign(&step, draw->options->style.ascii), state_tint(&step));
    if (step.started_ms) put_duration(draw, step_took_ms(&step, draw->options->now_ms), !step.ended_ms);
    put_details(draw);
    if (step.state == STEP_QUEUED) pen_format(&draw->pen, TINT_FAINT, "%u steps", count);
    else if (step.state == STEP_SKIPPED) pen_format(&draw->pen, TINT_FAINT, "%u steps skipped", count);
    else pen_format(&draw->pen, TINT_PLAIN, "%u/%u", live->ended, count);
    if (live->is_paused && !step.ended_ms) pen_put(&draw->pen, TINT_WARN, ", paused");
    pen_end(&draw->pen);
}

static void draw_count(Draw *draw, const Row *row)
{
    bool ascii = draw->options->style.ascii;
    const LiveModel *model = draw->model;
    char storage[32];
    Buf number = buf_on(storage, sizeof storage);
    label_count(&number, row->index);
    Str text = buf_peek(&number);
    if (row->kind == ROW_ENDED) {
        pen_text(&draw->pen, TINT_GOOD, str_of(ascii ? signs[STEP_SUCCEEDED].ascii : signs[STEP_SUCCEEDED].sign));
        pen_format(&draw->pen, TINT_PLAIN, " %.*s ended", STR_ARG(text));
        if (model->counts[STEP_SKIPPED]) pen_format(&draw->pen, TINT_FAINT, ", %u of them skipped", model->counts[STEP_SKIPPED]);
    } else if (row->kind == ROW_TO_COME) {
        pen_format(&draw->pen, TINT_FAINT, "%s %.*s to come", ascii ? "." : "○", STR_ARG(text));
    } else {
        pen_format(&draw->pen, TINT_ACTIVE, "%s %.*s more under way", ascii ? "*" : "●", STR_ARG(text));
    }
    pen_end(&draw->pen);
}

static Tint run_tint(const LiveModel *model)
{
    if (model->state == RUN_SUCCEEDED) return TINT_GOOD;
    if (model->state == RUN_FAILED || model->is_failing) return TINT_BAD;
    return model->state == RUN_RUNNING ? TINT_ACTIVE : TINT_WARN;
}

static void draw_head(Draw *draw)
{
    const LiveModel *model = draw->model;
    Str id = label_clean(draw->arena, model->plan->id, draw->options->style.ascii);
    pen_cut(&draw->pen, TINT_STRONG, id, draw->options->width / 2);
    if (draw->options->width >= 60) {
        pen_put(&draw->pen, TINT_FAINT, "  run ");
        pen_text(&draw->pen, TINT_FAINT, draw->options->run_id);
    }
    pen_put(&draw->pen, TINT_PLAIN, "  ");
    bool is_going = model->state == RUN_RUNNING || model->state == RUN_PAUSED;
    const char *word = is_going && model->is_cancelling ? "cancelling"
                     : is_going && model->is_failing  ? "failing"
                                                       : run_state_name((RunState)model->state);
    pen_put(&draw->pen, run_tint(model), model->ending && !model->is_settled ? "ending early" : word);
    if (model->state == RUN_PAUSED && model->awaited.trigger) {
        pen_put(&draw->pen, run_tint(model), ": ");
        put_foreign(draw, run_tint(model), model->awaited.trigger);
    }
    pen_end(&draw->pen);
}

#define BAR_WIDTH_MAX 40u

static void put_repeated(Draw *draw, Tint tint, const char *sign, uint32_t count)
{
    char storage[BAR_WIDTH_MAX * 4];
    Buf text = buf_on(storage, sizeof storage);
    for (uint32_t i = 0; i < count; i++) buf_text(&text, sign);
    pen_text(&draw->pen, tint, buf_peek(&text));
}

/* The part that failed comes first: it is seen even if there is little of it. What was passed over is no success. */
static void draw_bar_fill(Draw *draw, uint32_t width)
{
    const LiveModel *model = draw->model;
    bool ascii = draw->options->style.ascii;
    uint32_t total = model->total ? model->total : 1;
    uint32_t failed = model->counts[STEP_FAILED] + model->counts[STEP_TIMED_OUT] - model->optional_failed;
    uint32_t passed = model->counts[STEP_SKIPPED] + model->counts[STEP_CANCELLED];
    uint32_t full = (uint32_t)((uint64_t)model_done(model) * width / total), bad = (uint32_t)((uint64_t)failed * width / total);
    if (failed && !bad && full) bad = 1;
    uint32_t over = (uint32_t)((uint64_t)passed * width / total);
    if (passed && !over && full > bad + 1) over = 1;
    if (over > full - bad) over = full - bad;
    pen_put(&draw->pen, TINT_FAINT, "[");
    put_repeated(draw, TINT_BAD, ascii ? "x" : "▒", bad);
    put_repeated(draw, TINT_GOOD, ascii ? "#" : "█", full - bad - over);
    put_repeated(draw, TINT_FAINT, ascii ? "-" : "▓", over);
    put_repeated(draw, TINT_FAINT, ascii ? "." : "░", width - full);
    pen_put(&draw->pen, TINT_FAINT, "]");
}

static void draw_bar(Draw *draw)
{
    const LiveModel *model = draw->model;
    uint32_t failed = model_failed(model);
    uint32_t going = model->counts[STEP_DISPATCHED] + model->counts[STEP_RUNNING];
    char storage[128];
    Buf took = buf_on(storage, sizeof storage);
    if (model->is_settled) human_duration(&took, model_took_ms(model, draw->options->now_ms));
    else duration_going(&took, model_took_ms(model, draw->options->now_ms));
    uint32_t width = draw->options->width > 60 ? draw->options->width - 50 : draw->options->width > 34 ? 10 : 0;
    if (width) draw_bar_fill(draw, width < BAR_WIDTH_MAX ? width : BAR_WIDTH_MAX);
    if (width) pen_put(&draw->pen, TINT_PLAIN, " ");
    pen_format(&draw->pen, TINT_STRONG, "%u/%u", model_done(model), model->total);
    pen_format(&draw->pen, TINT_PLAIN, "  %.*s", STR_ARG(buf_peek(&took)));
    if (going) pen_format(&draw->pen, TINT_ACTIVE, "  %u running", going);
    if (model->counts[STEP_POLLING]) pen_format(&draw->pen, TINT_ACTIVE, "  %u polling", model->counts[STEP_POLLING]);
    if (failed) pen_format(&draw->pen, TINT_BAD, "  %u failed", failed);
    if (model->counts[STEP_SKIPPED]) pen_format(&draw->pen, TINT_FAINT, "  %u skipped", model->counts[STEP_SKIPPED]);
    pen_end(&draw->pen);
}

/* --- the frame ----------------------------------------------------------------------------------------------------------- */

uint32_t frame_print(const LiveModel *model, const FrameOptions *options, Buf *out)
{
    uint32_t around = options->note.len ? 3 : 2;                    /* head, bar, note */
    uint32_t room = options->height > around + 1 ? options->height - 1 - around : 0;
    Rows *rows = malloc(sizeof *rows);
    CHECK(rows);
    rows->model = model;
    rows->count = 0;
    rows->is_full = false;
    rows->count_max = room < LIVE_ROW_COUNT_MAX ? room : LIVE_ROW_COUNT_MAX;
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Draw draw = { .model = model, .options = options, .arena = &arena,
                  .pen = { .out = out, .style = options->style,
                           .width = options->width < LIVE_WIDTH_MAX ? options->width : LIVE_WIDTH_MAX } };
    if (rows->count_max) rows_choose(rows);
    rows_give_lines(rows, rows->count_max - rows->count);
    draw.name_width = name_width(&draw, rows);
    uint32_t count = rows->count;
    if (options->height > 2) draw_head(&draw);
    for (uint32_t i = 0; i < rows->count; i++) {
        const Row *row = &rows->items[i];
        if (row->kind == ROW_JOB) draw_job(&draw, row);
        else if (row->kind == ROW_STEP) draw_step(&draw, row);
        else draw_count(&draw, row);
        count += row->lines;
    }
    draw_bar(&draw);
    if (options->note.len && options->height > 3) {
        pen_text(&draw.pen, TINT_WARN, options->note);
        pen_end(&draw.pen);
        count++;
    }
    arena_deinit(&arena);
    free(rows);
    return count + 1 + (options->height > 2);
}
