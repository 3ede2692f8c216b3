#include "cli/live/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/utf8.h"
#include "cli/live/pen.h"
#include "core/run.h"
#include "core/terms.h"

typedef struct Fold {
    LiveModel *model;
    const Event *event;
    int64_t now_ms;
} Fold;

typedef void (*FoldKind)(const Fold *fold);

/* --- make and end -------------------------------------------------------------------------------------------------------- */

static void *zeroed(size_t count, size_t size)
{
    void *items = calloc(count ? count : 1, size);
    CHECK(items);
    return items;
}

void model_init(LiveModel *model, const Plan *plan)
{
    *model = (LiveModel){ .plan = plan, .failed_step = PLAN_NONE };
    arena_init(&model->scratch, SIZE_MAX);
    model->steps = zeroed(plan->step_count, sizeof *model->steps);
    model->jobs = zeroed(plan->job_count, sizeof *model->jobs);
    model->active = zeroed(plan->step_count, sizeof *model->active);
    for (uint32_t i = 0; i < plan->step_count; i++) {
        model->steps[i].active_at = PLAN_NONE;
        model->steps[i].thousandths = -1;
        model->total += model_counts(model, i);
    }
    model->counts[STEP_QUEUED] = model->total;
}

static void tail_drop(LiveStep *step)
{
    if (!step->tail) return;
    for (uint32_t i = 0; i < LIVE_TAIL_COUNT; i++) free(step->tail->lines[i].text);
    free(step->tail);
    step->tail = NULL;
}

void model_deinit(LiveModel *model)
{
    if (!model->plan) return;
    for (uint32_t i = 0; i < model->plan->step_count; i++) {
        tail_drop(&model->steps[i]);
        free(model->steps[i].text);
        free(model->steps[i].news);
    }
    free(model->steps);
    free(model->jobs);
    free(model->active);
    free(model->failed);
    free(model->failure);
    free(model->awaited.trigger);
    free(model->ending);
    arena_deinit(&model->scratch);
    *model = (LiveModel){ 0 };
}

/* --- texts --------------------------------------------------------------------------------------------------------------- */

/* A clean copy of one line, no longer than LIVE_LINE_SIZE_MAX. */
static char *line_copy(LiveModel *model, Str text, size_t *out_size)
{
    arena_reset(&model->scratch);
    Str clean = text_clean(&model->scratch, str_slice(text, 0, (size_t)LIVE_LINE_SIZE_MAX * 4), false);
    size_t size = utf8_head(clean, LIVE_LINE_SIZE_MAX).len;
    char *copy = malloc(size + 1);
    CHECK(copy);
    if (size) memcpy(copy, clean.ptr, size);
    copy[size] = '\0';
    *out_size = size;
    return copy;
}

static void set_text(LiveModel *model, char **text, Str value)
{
    size_t size;
    char *copy = value.len ? line_copy(model, value, &size) : NULL;
    free(*text);
    *text = copy;
}

uint32_t tail_count(const LiveTail *tail)
{
    if (!tail) return 0;
    return tail->line_count < LIVE_TAIL_COUNT ? tail->line_count : LIVE_TAIL_COUNT;
}

Str tail_line(const LiveTail *tail, uint32_t index)
{
    uint32_t at = (tail->line_count - tail_count(tail) + index) % LIVE_TAIL_COUNT;
    return (Str){ tail->lines[at].text, tail->lines[at].size };
}

void model_tail(LiveModel *model, uint32_t index, Str text, bool is_error)
{
    LiveStep *step = &model->steps[index];
    if (!step->tail) step->tail = zeroed(1, sizeof *step->tail);
    LiveTail *tail = step->tail;
    uint32_t at = tail->line_count++ % LIVE_TAIL_COUNT;
    size_t size;
    free(tail->lines[at].text);
    tail->lines[at].text = line_copy(model, text, &size);
    tail->lines[at].size = (uint32_t)size;
    tail->lines[at].is_error = is_error;
    model->version++;
}

void model_line(LiveModel *model, uint32_t index, Str text, bool is_error)
{
    model->line_count++;
    if (!step_state_is_final((StepState)model->steps[index].state)) model_tail(model, index, text, is_error);
}

void model_progress(LiveModel *model, uint32_t index, uint64_t thousandths, Str text)
{
    LiveStep *step = &model->steps[index];
    step->thousandths = (int16_t)(thousandths < 1000 ? thousandths : 1000);
    set_text(model, &step->news, text);
    model->version++;
}

/* --- steps --------------------------------------------------------------------------------------------------------------- */

static bool is_active(const LiveStep *step)
{
    StepState state = (StepState)step->state;
    return state == STEP_QUEUED ? step->is_retrying : !step_state_is_final(state);
}

static bool is_failure(const LiveStep *step)
{
    return step->state == STEP_FAILED || step->state == STEP_TIMED_OUT;
}

/* Adds what a step in its present state is to its job and to the whole (or takes it away again). */
static void count_step(LiveModel *model, uint32_t index, bool is_added)
{
    const LiveStep *step = &model->steps[index];
    uint32_t by = is_added ? 1 : UINT32_MAX, job = model->plan->steps[index].job;
    if (model_counts(model, index)) {
        model->counts[step->state] += by;
        if (is_failure(step) && step->is_optional) model->optional_failed += by;
        if (step->state == STEP_TIMED_OUT && step->is_default) model->default_count += by;
    }
    if (job == PLAN_NONE) return;
    if (is_active(step)) model->jobs[job].active += by;
    if (step_state_is_final((StepState)step->state)) model->jobs[job].ended += by;
    if (is_failure(step) && !step->is_default) model->jobs[job].failed += by;
    if (step->state == STEP_SKIPPED) model->jobs[job].skipped += by;
}

static void active_update(LiveModel *model, uint32_t index)
{
    LiveStep *step = &model->steps[index];
    bool is_in = step->active_at != PLAN_NONE;
    if (is_active(step) == is_in) return;
    if (!is_in) {
        step->active_at = model->active_count;
        model->active[model->active_count++] = index;
        return;
    }
    uint32_t last = model->active[--model->active_count];
    model->active[step->active_at] = last;
    model->steps[last].active_at = step->active_at;
    step->active_at = PLAN_NONE;
}

/* A sequence fails with what is in it, which has been named then. */
static void failed_add(LiveModel *model, uint32_t index)
{
    if (model->failed_count == LIVE_FAILED_COUNT_MAX || (model->failed_count && !model_counts(model, index))) return;
    for (uint32_t i = 0; i < model->failed_count; i++)
        if (model->failed[i] == index) return;
    if (model->failed_count == model->failed_capacity) {
        model->failed_capacity = model->failed_capacity ? 2 * model->failed_capacity : 8;
        model->failed = realloc(model->failed, model->failed_capacity * sizeof *model->failed);
        CHECK(model->failed);
    }
    model->failed[model->failed_count++] = index;
}

static void failed_leave(LiveModel *model, uint32_t index)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < model->failed_count; i++)
        if (model->failed[i] != index) model->failed[kept++] = model->failed[i];
    model->failed_count = kept;
}

/* What an ended step has to say is said by its state, unless it failed. */
static void step_end(LiveModel *model, uint32_t index, int64_t now_ms)
{
    LiveStep *step = &model->steps[index];
    uint32_t job = model->plan->steps[index].job;
    step->ended_ms = now_ms;
    step->is_retrying = step->is_ending = false;
    if (job != PLAN_NONE) model->jobs[job].ended_ms = now_ms;
    if (is_failure(step)) return;
    tail_drop(step);
    set_text(model, &step->text, (Str){ 0 });
    set_text(model, &step->news, (Str){ 0 });
}

/* The one setter: states, counters and lists agree. `is_retrying` belongs to the state. */
static void step_set(const Fold *fold, uint32_t index, StepState state, bool is_retrying)
{
    LiveModel *model = fold->model;
    LiveStep *step = &model->steps[index];
    uint32_t job = model->plan->steps[index].job;
    bool was_failure = is_failure(step);
    count_step(model, index, false);
    step->state = (uint8_t)state;
    step->is_retrying = is_retrying;
    if (state == STEP_RUNNING && !step->started_ms) step->started_ms = fold->now_ms;
    if (job != PLAN_NONE && state == STEP_RUNNING && !model->jobs[job].started_ms) model->jobs[job].started_ms = fold->now_ms;
    if (step_state_is_final(state)) step_end(model, index, fold->now_ms);
    count_step(model, index, true);
    active_update(model, index);
    if (is_failure(step) && !step->is_optional) failed_add(model, index);
    else if (was_failure) failed_leave(model, index);
}

/* As if it had not begun. */
static void step_reset(const Fold *fold, uint32_t index)
{
    LiveStep *step = &fold->model->steps[index];
    uint32_t job = fold->model->plan->steps[index].job;
    step_set(fold, index, STEP_QUEUED, false);
    tail_drop(step);
    set_text(fold->model, &step->text, (Str){ 0 });
    set_text(fold->model, &step->news, (Str){ 0 });
    step->started_ms = step->ended_ms = step->due_ms = 0;
    step->attempt = step->poll_count = 0;
    step->thousandths = -1;
    if (job != PLAN_NONE && fold->model->jobs[job].ended == 0) fold->model->jobs[job].started_ms = 0;
}

static void step_ready(const Fold *fold) { (void)fold; }

static void step_dispatched(const Fold *fold)
{
    LiveStep *step = &fold->model->steps[fold->event->step];
    step->attempt = fold->event->attempt;
    step->thousandths = -1;
    set_text(fold->model, &step->news, (Str){ 0 });
    tail_drop(step);
    step_set(fold, fold->event->step, STEP_DISPATCHED, false);
}

static void step_running(const Fold *fold) { step_set(fold, fold->event->step, STEP_RUNNING, false); }
static void step_succeeded(const Fold *fold) { step_set(fold, fold->event->step, STEP_SUCCEEDED, false); }

static void note_failure(const Fold *fold)
{
    LiveStep *step = &fold->model->steps[fold->event->step];
    step->cause = (uint8_t)fold->event->cause;
    step->class_ = (uint8_t)fold->event->class_;
    set_text(fold->model, &step->text, fold->event->text);
}

/* How a step is counted depends on what its failure means. */
static void set_meaning(const Fold *fold, bool is_optional, bool is_default)
{
    LiveStep *step = &fold->model->steps[fold->event->step];
    count_step(fold->model, fold->event->step, false);
    step->is_optional = is_optional;
    step->is_default = is_default;
    count_step(fold->model, fold->event->step, true);
}

static void step_failed(const Fold *fold)
{
    note_failure(fold);
    set_meaning(fold, fold->event->flags & 1, false);
    step_set(fold, fold->event->step, STEP_FAILED, false);
}

static void poll_attempted(const Fold *fold) { fold->model->steps[fold->event->step].poll_count = (uint32_t)fold->event->count; }

static void step_polling(const Fold *fold)
{
    LiveStep *step = &fold->model->steps[fold->event->step];
    step->due_ms = fold->event->due_ms;
    set_text(fold->model, &step->text, (Str){ 0 });
    step_set(fold, fold->event->step, STEP_POLLING, false);
}

/* Only where the run fails by it is it a failure (C-84). */
static void poll_timed_out(const Fold *fold)
{
    note_failure(fold);
    set_meaning(fold, fold->event->flags != POLL_FAILS, fold->event->flags == POLL_CONTINUES);
    step_set(fold, fold->event->step, STEP_TIMED_OUT, false);
}

static void attempt_failed(const Fold *fold)
{
    note_failure(fold);
    fold->model->steps[fold->event->step].attempt = fold->event->attempt;
}

static void step_requeued(const Fold *fold)
{
    fold->model->steps[fold->event->step].due_ms = fold->event->due_ms;
    step_set(fold, fold->event->step, STEP_QUEUED, true);
}

static void step_skipped(const Fold *fold)
{
    const Event *event = fold->event;
    uint32_t last = event->last > event->step ? event->last : event->step;
    for (uint32_t i = event->step; i <= last; i++) {
        fold->model->steps[i].reason = (uint8_t)event->reason;
        step_set(fold, i, STEP_SKIPPED, false);
    }
}

static void step_cancelled(const Fold *fold) { step_set(fold, fold->event->step, STEP_CANCELLED, false); }

static void step_waiting(const Fold *fold)
{
    set_text(fold->model, &fold->model->steps[fold->event->step].text, fold->event->name);
    step_set(fold, fold->event->step, STEP_WAITING_SIGNAL, false);
}

static void step_cancelling(const Fold *fold) { fold->model->steps[fold->event->step].is_ending = true; }

static void loop_repeated(const Fold *fold)
{
    const Plan *plan = fold->model->plan;
    for (uint32_t l = 0; l < plan->loop_count; l++) {
        const PlanLoop *loop = &plan->loops[l];
        if (loop->head != fold->event->step || loop->tail != fold->event->last) continue;
        for (uint32_t i = 0; i < loop->body_count; i++) step_reset(fold, loop->body[i].step);
        return;
    }
}

/* --- runs ---------------------------------------------------------------------------------------------------------------- */

static void run_created(const Fold *fold) { fold->model->created_ms = fold->now_ms; }

static void run_running(const Fold *fold)
{
    if (!fold->model->started_ms) fold->model->started_ms = fold->now_ms;
    fold->model->state = RUN_RUNNING;
}

static void run_dispatched(const Fold *fold) { fold->model->state = RUN_DISPATCHED; }

static void run_paused(const Fold *fold)
{
    fold->model->state = RUN_PAUSED;
    fold->model->paused_for = (uint8_t)fold->event->flags;
}

static void job_paused(const Fold *fold)
{
    if (fold->event->job < fold->model->plan->job_count)
        fold->model->jobs[fold->event->job].is_paused = fold->event->kind == EVENT_JOB_PAUSED;
}

/* --- pauses --------------------------------------------------------------------------------------------------------------- */

static void trigger_awaited(const Fold *fold)
{
    LiveModel *model = fold->model;
    set_text(model, &model->awaited.trigger, fold->event->name);
    model->awaited.since_ms = fold->now_ms;
    model->awaited.due_ms = fold->event->due_ms;
    model->awaited.is_scheduled = fold->event->flags & 1;
    model->awaited.reminder_count = 0;
}

static void trigger_reminded(const Fold *fold)
{
    fold->model->awaited.due_ms = fold->event->due_ms;
    fold->model->awaited.reminder_count = (uint32_t)fold->event->count;
}

static void notification_queued(const Fold *fold) { fold->model->notifying_count++; }

/* Its first try is over: or it was withdrawn before that. */
static void notification_tried(const Fold *fold)
{
    bool is_late = fold->event->attempt > 1 || (fold->event->kind == EVENT_NOTIFICATION_FAILED && fold->event->cause == CAUSE_CANCELLED
                                                && fold->event->attempt && !fold->event->due_ms);
    if (!is_late && fold->model->notifying_count) fold->model->notifying_count--;
}

static void trigger_ended(const Fold *fold) { set_text(fold->model, &fold->model->awaited.trigger, (Str){ 0 }); }
static void run_terminating(const Fold *fold)
{
    set_text(fold->model, &fold->model->ending, fold->event->text.len ? fold->event->text : STR("as its definition says"));
}

static void run_waiting(const Fold *fold) { fold->model->state = RUN_WAITING_SIGNAL; }

static void run_end(const Fold *fold, RunState state)
{
    LiveModel *model = fold->model;
    model->state = (uint8_t)state;
    model->resolution = (uint8_t)fold->event->resolution;
    model->ended_ms = fold->now_ms;
    model->is_settled = run_state_is_settled(state, (Resolution)model->resolution);
}

static void run_succeeded(const Fold *fold) { run_end(fold, RUN_SUCCEEDED); }
static void run_cancelled(const Fold *fold) { run_end(fold, RUN_CANCELLED); }

static void run_failing(const Fold *fold)
{
    LiveModel *model = fold->model;
    model->is_failing = true;
    model->failed_step = fold->event->step;
    model->cause = (uint8_t)fold->event->cause;
    model->class_ = (uint8_t)fold->event->class_;
    set_text(model, &model->failure, fold->event->text);
}

static void run_failed(const Fold *fold)
{
    run_failing(fold);
    run_end(fold, RUN_FAILED);
}

static void run_cancelling(const Fold *fold) { fold->model->is_cancelling = true; }

/* --- retries and compensation ---------------------------------------------------------------------------------------------- */

static void go_on(const Fold *fold, RunState state)
{
    LiveModel *model = fold->model;
    model->state = (uint8_t)state;
    model->resolution = RESOLUTION_NONE;
    model->is_settled = model->is_cancelling = false;
    model->ended_ms = 0;
}

static void run_requeued(const Fold *fold)
{
    LiveModel *model = fold->model;
    go_on(fold, RUN_QUEUED);
    model->is_failing = false;
    set_text(model, &model->ending, (Str){ 0 });
    model->failed_step = PLAN_NONE;
    model->cause = model->class_ = 0;
    set_text(model, &model->failure, (Str){ 0 });
}

static void step_superseded(const Fold *fold)
{
    step_reset(fold, fold->event->step);
    fold->model->steps[fold->event->step].undo = 0;
}

static void compensation_begins(const Fold *fold) { go_on(fold, RUN_COMPENSATING); }
static void run_compensated(const Fold *fold) { run_end(fold, RUN_COMPENSATED); }

static void run_compensation_failed(const Fold *fold)
{
    set_text(fold->model, &fold->model->failure, fold->event->text);
    run_end(fold, RUN_COMPENSATION_FAILED);
}

static void compensation_moves(const Fold *fold)
{
    static const uint8_t states[EVENT_KIND_END] = {
        [EVENT_COMPENSATION_PLANNED] = COMPENSATION_PENDING + 1, [EVENT_COMPENSATION_RUNNING] = COMPENSATION_RUNNING + 1,
        [EVENT_COMPENSATION_ATTEMPT_FAILED] = COMPENSATION_FAILED + 1,
        [EVENT_COMPENSATION_SUCCEEDED] = COMPENSATION_SUCCEEDED + 1,
        [EVENT_COMPENSATION_SKIPPED] = COMPENSATION_SKIPPED + 1,
    };
    const Event *event = fold->event;
    if (event->step >= fold->model->plan->step_count) return;
    bool is_nothing = event->kind == EVENT_COMPENSATION_PLANNED && event->flags & 1;
    fold->model->steps[event->step].undo = is_nothing ? 0 : states[event->kind];
}

const char *undo_words(const LiveStep *step)
{
    static const char *const words[COMPENSATION_STATE_COUNT + 1] = {
        "", "to be undone", "is being undone", "undone", "could not be undone", "left as it is",
    };
    return words[step->undo];
}

/* --- the fold ------------------------------------------------------------------------------------------------------------ */

static const FoldKind fold_kinds[EVENT_KIND_END] = {
    [EVENT_RUN_CREATED] = run_created,         [EVENT_RUN_DISPATCHED] = run_dispatched,
    [EVENT_RUN_RUNNING] = run_running,         [EVENT_RUN_PAUSED] = run_paused,
    [EVENT_RUN_WAITING_SIGNAL] = run_waiting,  [EVENT_RUN_SUCCEEDED] = run_succeeded,
    [EVENT_RUN_FAILED] = run_failed,           [EVENT_RUN_CANCELLED] = run_cancelled,
    [EVENT_RUN_CANCELLING] = run_cancelling,   [EVENT_RUN_FAILING] = run_failing,
    [EVENT_JOB_PAUSED] = job_paused,           [EVENT_JOB_RESUMED] = job_paused,
    [EVENT_JOB_CANCELLING] = job_paused,
    [EVENT_STEP_READY] = step_ready,           [EVENT_STEP_DISPATCHED] = step_dispatched,
    [EVENT_STEP_RUNNING] = step_running,       [EVENT_STEP_SUCCEEDED] = step_succeeded,
    [EVENT_STEP_FAILED] = step_failed,         [EVENT_ATTEMPT_FAILED] = attempt_failed,
    [EVENT_STEP_REQUEUED] = step_requeued,     [EVENT_STEP_SKIPPED] = step_skipped,
    [EVENT_STEP_CANCELLED] = step_cancelled,   [EVENT_STEP_WAITING] = step_waiting,
    [EVENT_STEP_RESUMED] = step_running,       [EVENT_STEP_CANCELLING] = step_cancelling,
    [EVENT_STEP_OVERDUE] = step_cancelling,
    [EVENT_LOOP_REPEATED] = loop_repeated,     [EVENT_RUN_ROLLING_BACK] = run_cancelling,
    [EVENT_RUN_REQUEUED] = run_requeued,       [EVENT_STEP_SUPERSEDED] = step_superseded,
    [EVENT_COMPENSATION_STARTED] = compensation_begins, [EVENT_COMPENSATION_RESUMED] = compensation_begins,
    [EVENT_COMPENSATION_PLANNED] = compensation_moves, [EVENT_COMPENSATION_RUNNING] = compensation_moves,
    [EVENT_COMPENSATION_ATTEMPT_FAILED] = compensation_moves, [EVENT_COMPENSATION_SUCCEEDED] = compensation_moves,
    [EVENT_COMPENSATION_SKIPPED] = compensation_moves, [EVENT_RUN_COMPENSATED] = run_compensated,
    [EVENT_RUN_COMPENSATION_FAILED] = run_compensation_failed,
    [EVENT_POLL_ATTEMPTED] = poll_attempted,   [EVENT_STEP_POLLING] = step_polling,
    [EVENT_POLL_TIMED_OUT] = poll_timed_out,   [EVENT_TRIGGER_AWAITED] = trigger_awaited,
    [EVENT_TRIGGER_REMINDED] = trigger_reminded, [EVENT_TRIGGER_ENDED] = trigger_ended,
    [EVENT_NOTIFICATION_QUEUED] = notification_queued, [EVENT_NOTIFICATION_SENT] = notification_tried,
    [EVENT_NOTIFICATION_FAILED] = notification_tried,
    [EVENT_RUN_TERMINATING] = run_terminating,
};

bool model_event(LiveModel *model, const Event *event, uint64_t number, int64_t now_ms)
{
    if (number <= model->event_count) return false;
    model->event_count = number;
    bool is_of_step = event->kind >= EVENT_STEP_READY && event->kind < EVENT_SIGNAL_RECEIVED;
    if (event->kind >= EVENT_KIND_END || !fold_kinds[event->kind]) return true;
    if (is_of_step && (event->step >= model->plan->step_count || event->last >= model->plan->step_count)) return true;
    fold_kinds[event->kind](&(Fold){ model, event, now_ms });
    model->version++;
    return true;
}

/* --- what people ask ----------------------------------------------------------------------------------------------------- */

uint32_t model_succeeded(const LiveModel *model) { return model->counts[STEP_SUCCEEDED] + model->default_count; }

uint32_t model_failed(const LiveModel *model)
{
    return model->counts[STEP_FAILED] + model->counts[STEP_TIMED_OUT] - model->default_count;
}

uint32_t model_poll_max(const LiveModel *model, uint32_t step)
{
    const PlanTerms *terms = model->plan->terms;
    return terms && step_polls(&terms->steps[step]) ? terms->steps[step].poll.count_max : 0;
}

uint32_t model_done(const LiveModel *model)
{
    uint32_t done = 0;
    for (int state = 0; state < STEP_STATE_COUNT; state++)
        if (step_state_is_final((StepState)state)) done += model->counts[state];
    return done;
}

uint32_t model_paused_job(const LiveModel *model)
{
    for (uint32_t i = 0; i < model->plan->job_count; i++)
        if (model->jobs[i].is_paused && model->jobs[i].ended < model->plan->jobs[i].step_count) return i;
    return PLAN_NONE;
}

uint32_t model_under_way(const LiveModel *model)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < model->active_count; i++) {
        uint8_t state = model->steps[model->active[i]].state;
        bool is_out = state == STEP_DISPATCHED || state == STEP_RUNNING;
        count += is_out && step_works(&model->plan->steps[model->active[i]]);
    }
    return count;
}

int64_t step_took_ms(const LiveStep *step, int64_t now_ms)
{
    if (!step->started_ms) return 0;
    int64_t end = step->ended_ms ? step->ended_ms : now_ms;
    return end > step->started_ms ? end - step->started_ms : 0;
}

int64_t model_took_ms(const LiveModel *model, int64_t now_ms)
{
    int64_t begin = model->started_ms ? model->started_ms : model->created_ms;
    int64_t end = model->is_settled && model->ended_ms ? model->ended_ms : now_ms;
    return begin && end > begin ? end - begin : 0;
}

const char *skip_words(SkipReason reason)
{
    static const char *const words[SKIP_REASON_COUNT] = {
        [SKIP_NONE] = "skipped",
        [SKIP_CONDITION_FALSE] = "condition is false",
        [SKIP_NOT_ON_ACTIVE_BRANCH] = "branch not taken",
        [SKIP_TERMINATED_EARLY] = "ended early",
        [SKIP_PREDECESSOR_FAILED] = "dependency failed",
        [SKIP_RUN_CANCELLED] = "run cancelled",
    };
    return reason < SKIP_REASON_COUNT ? words[reason] : words[SKIP_NONE];
}
