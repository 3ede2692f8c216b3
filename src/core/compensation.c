#include "core/compensation.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "core/input.h"
#include "core/rerun.h"
#include "core/retry.h"

/* --- which steps ----------------------------------------------------------------------------------------------------------- */

static bool has_ended_badly(const StepRun *step)
{
    return step->state == STEP_FAILED || step->state == STEP_CANCELLED || step->state == STEP_TIMED_OUT;
}

/* It announced an effect, and ended without a word about it. */
static bool is_unknown(const StepRun *step)
{
    return has_ended_badly(step) && step->flags & STEP_EFFECT_INTENDED && !(step->flags & STEP_EFFECT_COMMITTED);
}

static bool is_done(const StepRun *step, uint32_t flags)
{
    if (step->attempt == 0 || step->flags & STEP_UNDONE) return false;      /* another run's result; undone already */
    if (step_is_done(step)) return true;
    if (!has_ended_badly(step)) return false;
    return step->flags & (STEP_EFFECT_COMMITTED | STEP_WORK_DONE) || (is_unknown(step) && flags & ROLLBACK_UNKNOWN_IS_DONE);
}

Str compensation_why_none(const Plan *plan, const Run *run, uint32_t step)
{
    const StepRun *state = &run->steps[step];
    if (!plan->terms->steps[step].undo.runner.len) return STR("it has no compensation");
    if (state->flags & STEP_UNDONE) return STR("it has been compensated already");
    if (has_ended_badly(state)) return STR("it failed, and no effect of it is recorded");
    if (state->state == STEP_SUCCEEDED) return STR("its result is another run's");
    return STR("it was not carried out");
}

static const uint8_t *scope_set(const Plan *plan, const Run *run, const RollbackPlan *wanted, Arena *arena)
{
    if (wanted->scope == SCOPE_PARTIAL) return wanted->named;
    if (wanted->scope == SCOPE_FULL) return NULL;
    uint8_t *set = rerun_after(plan, run, wanted->from, arena);
    set[wanted->from] = !(wanted->flags & ROLLBACK_EXCLUDES_STEP);
    return set;
}

typedef struct Ended { uint32_t step, order; } Ended;

static int by_order(const void *a, const void *b)
{
    const Ended *x = a, *y = b;
    return (x->order != y->order ? x->order > y->order : x->step > y->step) ? -1 : 1;
}

CompensationList compensation_list(const Plan *plan, const Run *run, const RollbackPlan *wanted, Arena *arena)
{
    const uint8_t *set = scope_set(plan, run, wanted, arena);
    Ended *ended = ARENA_ARRAY(arena, Ended, plan->step_count + 1);
    uint32_t *steps = ARENA_ARRAY(arena, uint32_t, plan->step_count + 1);
    CompensationList list = { .steps = steps, .unknown = STEP_NONE };
    bool is_unknown_held = !(wanted->flags & (ROLLBACK_UNKNOWN_IS_DONE | ROLLBACK_UNKNOWN_IS_NONE));
    for (uint32_t i = 0; i < plan->step_count; i++) {
        if ((set && !set[i]) || !plan->terms->steps[i].undo.runner.len) continue;
        if (is_unknown_held && is_unknown(&run->steps[i]) && list.unknown == STEP_NONE) list.unknown = i;
        if (is_done(&run->steps[i], wanted->flags)) ended[list.undo_count++] = (Ended){ i, run->steps[i].need_left };
    }
    qsort(ended, list.undo_count, sizeof *ended, by_order);
    for (uint32_t i = 0; i < list.undo_count; i++) steps[i] = ended[i].step;
    list.count = list.undo_count;
    /* Who is named is answered, even where there is nothing to do (F-167, C-60). */
    for (uint32_t i = 0; wanted->scope == SCOPE_PARTIAL && i < plan->step_count; i++) {
        bool is_undone = plan->terms->steps[i].undo.runner.len && is_done(&run->steps[i], wanted->flags);
        if (set[i] && !is_undone) steps[list.count++] = i;
    }
    return list;
}

RollbackPlan compensation_wanted(const Run *run, Arena *arena)
{
    const Rollback *rollback = &run->rollback;
    RollbackPlan wanted = { (CompensationScope)rollback->scope, rollback->flags, rollback->from, NULL };
    if (wanted.scope != SCOPE_PARTIAL) return wanted;
    uint8_t *named = ARENA_ARRAY(arena, uint8_t, run->step_count);
    for (uint32_t i = 0; i < run->step_count; i++) named[i] = (run->steps[i].flags & STEP_IN_SCOPE) != 0;
    wanted.named = named;
    return wanted;
}

Str compensation_names(const Plan *plan, const uint8_t *named, Arena *arena)
{
    Buf buf;
    buf_init(&buf, TEXT_SIZE_MAX);
    for (uint32_t i = 0; named && i < plan->step_count; i++) {
        if (!named[i]) continue;
        if (buf.len) buf_char(&buf, ',');
        buf_str(&buf, plan->steps[i].id);
    }
    Str text = buf_overflowed(&buf) ? STR("") : arena_copy(arena, buf_peek(&buf));
    buf_deinit(&buf);
    return text;
}

/* --- beginning and planning ------------------------------------------------------------------------------------------------- */

void compensation_start(const Settle *settle, const RollbackPlan *wanted, const CompensationList *list, Str reason)
{
    Decision *decision = settle->decision;
    const Run *run = settle->run;
    Event *event = decision_event(decision, EVENT_COMPENSATION_STARTED, wanted->scope == SCOPE_FROM_STEP ? wanted->from : STEP_NONE);
    event->sort = wanted->scope;
    event->name = compensation_names(settle->plan, wanted->named, decision->arena);
    event->flags = wanted->flags | (list->count ? 0 : ROLLBACK_IS_EMPTY);
    event->count = run->rollback.number + 1;
    event->text = reason;
}

static void plan_more(const Settle *settle, uint32_t event_count_max)
{
    const Run *run = settle->run;
    Decision *decision = settle->decision;
    RollbackPlan wanted = compensation_wanted(run, decision->arena);
    CompensationList list = compensation_list(settle->plan, run, &wanted, decision->arena);
    uint32_t first = run->rollback.count;
    for (uint32_t i = first; i < list.count && (i == first || i - first < event_count_max); i++) {
        const UndoTerms *undo = &settle->plan->terms->steps[list.steps[i]].undo;
        Event *event = decision_event(decision, EVENT_COMPENSATION_PLANNED, list.steps[i]);
        event->number = run->rollback.earlier_count + i + 1;
        event->name = undo->runner;
        event->count = undo->runner.len ? undo->retry.attempt_count_max : 0;
        event->flags = (i >= list.undo_count ? 1u : 0u) | (i + 1 == list.count ? 2u : 0u);
        if (i >= list.undo_count) event->text = compensation_why_none(settle->plan, run, list.steps[i]);
    }
}

/* --- attempts ----------------------------------------------------------------------------------------------------------------- */

static Event *item_event(const Settle *settle, EventKind kind)
{
    const Rollback *rollback = &settle->run->rollback;
    Event *event = decision_event(settle->decision, kind, rollback->items[rollback->at].step);
    event->number = rollback->earlier_count + rollback->at + 1;
    return event;
}

static Str overdue_text(const Settle *settle, uint32_t step)
{
    return arena_format(settle->decision->arena, "it did not end within %" PRId64 " ms",
                        settle->plan->terms->steps[step].undo.timeout_ms);
}

/* tried again while attempts remain, unless the failure says that no attempt can help. */
static void attempt_failed(const Settle *settle, uint32_t attempt, const Failure *failure)
{
    const Compensation *item = run_compensation(settle->run);
    const RetryTerms *retry = &settle->plan->terms->steps[item->step].undo.retry;
    Failure overdue;
    if (settle->run->rollback.active.is_overdue) {                  /* F-016: whatever it says now, it is late */
        overdue = (Failure){ CAUSE_TIMEOUT, overdue_text(settle, item->step), value_null() };
        failure = &overdue;
    }
    bool is_tried_again = attempt < item->attempt_max && retry->on >> failure->cause & 1;
    uint32_t payload = decision_payload(settle->decision, failure->details);
    Event *event = item_event(settle, EVENT_COMPENSATION_ATTEMPT_FAILED);
    event->attempt = attempt;
    event->cause = failure->cause;
    event->class_ = cause_class(failure->cause);
    event->text = failure->text;
    event->payload = payload;
    if (!is_tried_again) return;
    uint64_t seed = retry_seed(settle->run->seed, item->step, rollback_attempt(settle->run, attempt));
    event->due_ms = settle->now_ms + retry_delay_ms(retry, attempt, seed);
    if (event->due_ms == 0) event->due_ms = 1;                      /* 0 would mean: not again */
}

Str compensation_key(const Plan *plan, const Run *run, uint32_t step, Str declared, Arena *arena)
{
    Str key = step_key(plan, run, step, declared, arena);           /* F-090: the domain of the step that it undoes */
    return arena_format(arena, "%.*s/compensation", STR_ARG(key));
}

typedef enum Filled { FILLED, FILL_MISSING, FILL_FAILED } Filled;

static Filled fill(const Settle *settle, uint32_t step, Value written, bool has_paths, Value *out, Str *out_text)
{
    InputResult result;
    InputAnswer answer = settle_fill(settle, step, written, has_paths, &result);
    *out = result.value;
    *out_text = result.text;
    settle->decision->missing = answer == INPUT_MISSING ? result.missing : STEP_NONE;
    settle->decision->missing_is_key = false;
    return answer == INPUT_OK ? FILLED : answer == INPUT_MISSING ? FILL_MISSING : FILL_FAILED;
}

static Advance begin_attempt(const Settle *settle, const Compensation *item)
{
    const UndoTerms *undo = &settle->plan->terms->steps[item->step].undo;
    bool is_again = item->state == COMPENSATION_RUNNING;            /* its holder was lost: the same attempt once more */
    uint32_t attempt = is_again ? item->attempt : item->attempt + 1u;
    Value input = value_null(), args;
    Str text = STR("");
    Filled filled = fill(settle, item->step, undo->args, undo->args_have_paths, &args, &text);
    if (filled == FILLED) filled = fill(settle, item->step, undo->input, undo->input_has_paths, &input, &text);
    if (filled == FILL_MISSING) return ADVANCE_MISSING;
    if (filled == FILL_FAILED) {
        attempt_failed(settle, attempt, &(Failure){ CAUSE_INPUT_INVALID, text, value_null() });
        return ADVANCE_EVENTS;
    }
    Place place = settle->env->place(settle->env->context, settle->plan, settle->run, item->step);
    bool is_noted = settle->run->steps[item->step].flags & STEP_DEFER_NOTED;
    if (place.kind == PLACE_LATER || (place.kind == PLACE_DEFERRED && is_noted)) return ADVANCE_LATER;
    if (place.kind == PLACE_DEFERRED) {
        Event *deferred = decision_event(settle->decision, EVENT_STEP_DEFERRED, item->step);
        deferred->count = place.pressure;
        deferred->text = place.rationale;
        return ADVANCE_EVENTS;
    }
    if (place.kind == PLACE_DROPPED) {
        attempt_failed(settle, attempt, &(Failure){ CAUSE_DROPPED, place.rationale, value_null() });
        return ADVANCE_EVENTS;
    }
    if (place.kind == PLACE_NEVER) {
        text = arena_format(settle->decision->arena, "no executor offers the runner '%.*s'", STR_ARG(undo->runner));
        attempt_failed(settle, attempt, &(Failure){ CAUSE_PERMANENT, text, value_null() });
        return ADVANCE_EVENTS;
    }
    Verdict verdict = settle->env->verdict(settle->env->context, HOOK_STEP_DISPATCH, settle->plan, settle->run, item->step, input);
    if (verdict.kind == VERDICT_LATER) return ADVANCE_LATER;
    if (verdict.kind == VERDICT_MISSING) {
        settle->decision->missing = MISSING_PARAMS;
        settle->decision->missing_is_key = false;
        return ADVANCE_MISSING;
    }
    if (verdict.kind == VERDICT_DENY) {
        decision_verdict(settle->decision, HOOK_STEP_DISPATCH, item->step, &verdict);
        text = arena_format(settle->decision->arena, "a policy does not permit it: %.*s", STR_ARG(verdict.text));
        attempt_failed(settle, attempt, &(Failure){ CAUSE_POLICY, text, value_null() });
        return ADVANCE_EVENTS;
    }
    settle->decision->policy = verdict.policy;
    uint32_t payload = is_again ? EVENT_NO_PAYLOAD : decision_payload(settle->decision, input);
    bool is_here = place.kind == PLACE_HERE;
    Event *event = item_event(settle, EVENT_COMPENSATION_RUNNING);
    event->attempt = attempt;
    event->name = place.executor;
    event->text = place.rationale;
    event->payload = payload;
    event->flags = place.admission;
    event->due_ms = !is_here ? settle->now_ms + ACCEPT_MS_DEFAULT : undo->timeout_ms ? settle->now_ms + undo->timeout_ms : 0;
    event->lease_ms = is_here && place.lease_ms ? settle->now_ms + place.lease_ms : 0;
    event->holder = is_here ? place.holder : 0;
    return ADVANCE_EVENTS;
}

/* --- what follows ---------------------------------------------------------------------------------------------------------------- */

static void end_rollback(const Settle *settle)
{
    const Run *run = settle->run;
    Decision *decision = settle->decision;
    Str failure = arena_copy(decision->arena, run->failure);            /* the run changes its own */
    if (!(run->rollback.flags & ROLLBACK_THEN_RETRIES)) {
        decision_event(decision, EVENT_RUN_COMPENSATED, 0)->text = failure.len ? failure : STR("the run was rolled back");
        return;
    }
    Event *event = decision_event(decision, EVENT_RUN_FAILED, run->failed_step);                                /* C-58 */
    event->cause = run->cause;
    event->class_ = cause_class((Cause)run->cause);
    event->text = failure;
    settle_requeue(settle, RETRY_SOURCE_RETRY_FROM_STEP, run->rollback.from);
}

Advance compensation_advance(const Settle *settle, uint32_t event_count_max)
{
    const Run *run = settle->run;
    const Rollback *rollback = &run->rollback;
    const ActiveStep *active = &rollback->active;
    if (!rollback->is_planned) {
        plan_more(settle, event_count_max);
        return ADVANCE_EVENTS;
    }
    const Compensation *item = run_compensation(run);
    if (!item) {
        end_rollback(settle);
        return ADVANCE_EVENTS;
    }
    if (rollback->is_stuck) {
        Event *event = decision_event(settle->decision, EVENT_RUN_COMPENSATION_FAILED, item->step);
        event->cause = CAUSE_PERMANENT;
        event->class_ = CLASS_PERMANENT;
        event->text = arena_format(settle->decision->arena, "the compensation of step '%.*s' failed after %u of %u attempts",
                                   STR_ARG(settle->plan->steps[item->step].id), item->attempt, item->attempt_max);
        return ADVANCE_EVENTS;
    }
    if (item->state == COMPENSATION_RUNNING && (active->holder || active->due_ms)) return ADVANCE_DONE;
    if (item->state == COMPENSATION_FAILED && active->due_ms) return ADVANCE_DONE;          /* the timer ends its wait */
    return begin_attempt(settle, item);
}

/* --- reports, time, lost holders ---------------------------------------------------------------------------------------------------- */

Status compensation_check_holder(const Asked *asked, Error *err)
{
    const Command *command = asked->command;
    if (run_holds(asked->settle.run, command->step, command->attempt, command->holder)) return OK;
    return error_set(err, ERR_CONFLICT, "attempt %" PRIu32 " to compensate step '%.*s' is not under way, or held by another executor",
                     attempt_number(command->attempt), STR_ARG(asked->settle.plan->steps[command->step].id));
}

Status compensation_accept(const Asked *asked, Error *err)
{
    const Settle *settle = &asked->settle;
    const Command *command = asked->command;
    const Compensation *item = run_compensation(settle->run);
    const ActiveStep *active = &settle->run->rollback.active;
    bool is_offered = item && item->state == COMPENSATION_RUNNING && item->step == command->step && !active->holder && active->due_ms
                   && rollback_attempt(settle->run, item->attempt) == command->attempt && command->holder;
    if (!is_offered)
        return error_set(err, ERR_CONFLICT, "attempt %" PRIu32 " to compensate step '%.*s' is not offered",
                         attempt_number(command->attempt), STR_ARG(settle->plan->steps[command->step].id));
    const UndoTerms *undo = &settle->plan->terms->steps[item->step].undo;
    int64_t lease = command->lease_ms > 0 ? command->lease_ms : settle->plan->terms->lease_ms;
    Event *event = item_event(settle, EVENT_COMPENSATION_RUNNING);
    event->attempt = item->attempt;
    event->due_ms = undo->timeout_ms ? settle->now_ms + undo->timeout_ms : 0;
    event->lease_ms = settle->now_ms + lease;
    event->holder = command->holder;
    return OK;
}

Status compensation_report(const Asked *asked, Error *err)
{
    const Settle *settle = &asked->settle;
    const Report *report = &asked->command->report;
    Status status = compensation_check_holder(asked, err);
    if (status) return status;
    if (report->cause >= CAUSE_COUNT) return error_set(err, ERR_INVALID, "the report has no known cause");
    if (report->cause == CAUSE_NONE && !settle->run->rollback.active.is_overdue) {
        uint32_t payload = decision_payload(settle->decision, report->output);
        item_event(settle, EVENT_COMPENSATION_SUCCEEDED)->payload = payload;
        return OK;
    }
    Failure failure = { report->cause, report->message, report->output };
    if (failure.text.len == 0) failure.text = str_of(cause_name(report->cause));
    attempt_failed(settle, attempt_number(asked->command->attempt), &failure);
    return OK;
}

void compensation_timer(const Settle *settle)
{
    const Run *run = settle->run;
    const ActiveStep *active = &run->rollback.active;
    const Compensation *item = run_compensation(run);
    if (!item || run_due_ms(run) > settle->now_ms) return;
    if (item->state == COMPENSATION_FAILED) item_event(settle, EVENT_COMPENSATION_DUE);
    if (item->state != COMPENSATION_RUNNING) return;
    if (!active->holder) {
        Failure failure = { CAUSE_NOT_ACCEPTED, STR("no executor accepted it in time"), value_null() };
        attempt_failed(settle, item->attempt, &failure);
    } else if (active->due_ms && active->due_ms <= settle->now_ms && !active->is_overdue) {
        Event *event = item_event(settle, EVENT_COMPENSATION_OVERDUE);                                               /* I16 */
        event->attempt = item->attempt;
        event->text = overdue_text(settle, item->step);
    } else {
        compensation_orphan(settle, LOSS_OF_LEASE, STR("its lease ran out"));
    }
}

/* In this process: once more, under the same number and the same key, though not for ever. Remote: an attempt that failed. */
void compensation_orphan(const Settle *settle, Loss loss, Str why)
{
    const ActiveStep *active = &settle->run->rollback.active;
    const Compensation *item = run_compensation(settle->run);
    if (active->lease_ms) {
        attempt_failed(settle, item->attempt, &(Failure){ CAUSE_LEASE_EXPIRED, why, value_null() });
        return;
    }
    uint32_t lost = settle_lost(item->lost, /* is_remote= */ false, loss);
    Event *event = item_event(settle, EVENT_COMPENSATION_ORPHANED);
    event->attempt = item->attempt;
    event->holder = active->holder;
    event->text = why;
    event->count = lost;
    if (active->is_overdue) {
        attempt_failed(settle, item->attempt, &(Failure){ CAUSE_TIMEOUT, why, value_null() });
    } else if (lost >= LOST_COUNT_MAX && loss != LOSS_BY_RELEASE) {
        Str text = STR("maestro ended three times and more while this was carried out: it may be what ends it");
        attempt_failed(settle, item->attempt, &(Failure){ CAUSE_LOST, text, value_null() });
    }
}
