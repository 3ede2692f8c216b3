#include "core/poll.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/civil.h"
#include "base/limits.h"
#include "core/retry.h"
#include "value/json.h"
#include "value/number.h"

static const PollTerms *terms_of(const Settle *settle, uint32_t step)
{
    return &settle->plan->terms->steps[step].poll;
}

static const PollRun *poll_of(const Settle *settle, uint32_t step)
{
    return &settle->run->polls[terms_of(settle, step)->slot];
}

/* --- times -------------------------------------------------------------------------------------------------------------- */

int64_t poll_interval_ms(const PollTerms *terms, uint32_t count)
{
    RetryTerms delay = { .delay_ms = terms->interval_ms, .delay_ms_max = terms->interval_ms_max,
                         .is_exponential = terms->is_exponential };
    if (!terms->is_exponential) delay.delay_ms_max = terms->interval_ms;
    return retry_delay_ms(&delay, count, 0);
}

/* When all polls are over. */
static int64_t end_ms(const Settle *settle, uint32_t step)
{
    return poll_of(settle, step)->started_ms + terms_of(settle, step)->duration_ms;
}

/* Attempts have numbers of 16 bits; each poll takes one at least. */
static bool is_exhausted(const Settle *settle, uint32_t step, uint32_t count)
{
    return count >= terms_of(settle, step)->count_max || settle->run->steps[step].attempt > UINT16_MAX - ATTEMPT_COUNT_MAX;
}

bool poll_is_over(const Settle *settle, uint32_t step)
{
    return settle->run->steps[step].state == STEP_POLLING && settle->now_ms >= end_ms(settle, step);
}

bool poll_is_offered(const Plan *plan, const Run *run, uint32_t step)
{
    const StepTerms *terms = &plan->terms->steps[step];
    return run->steps[step].state == STEP_POLLING && step_polls(terms) && run->steps[step].flags & STEP_IN_ACTIVE
        && run->polls[terms->poll.slot].due_ms == 0;
}

/* --- how polls end ------------------------------------------------------------------------------------------------------- */

/* The step ends as its definition says for this case. */
static Status give_up(const Settle *settle, uint32_t step, PollAction action, Str text, Error *err)
{
    const PollTerms *terms = terms_of(settle, step);
    InputResult filled = { .value = value_null() };
    if (action == POLL_CONTINUES) {
        InputAnswer answer = settle_fill(settle, step, terms->otherwise, terms->otherwise_has_paths, &filled);
        if (answer == INPUT_MISSING) {
            settle->decision->missing = filled.missing;
            settle->decision->missing_is_key = false;
            return error_set(err, ERR_UNAVAILABLE, "the default output needs a value that is not at hand");
        }
        if (answer == INPUT_WRONG) {
            settle_fail(settle, step, &(Failure){ CAUSE_INPUT_INVALID, filled.text, value_null() });
            return OK;
        }
    }
    /* C-66: running, polling, timed out, in one record. */
    if (settle->run->steps[step].state == STEP_RUNNING)
        decision_event(settle->decision, EVENT_STEP_POLLING, step)->due_ms = settle->now_ms;
    uint32_t payload = decision_payload(settle->decision, filled.value);
    Cause cause = action == POLL_CONTINUES ? CAUSE_NONE : CAUSE_TIMEOUT;
    Event *event = decision_event(settle->decision, EVENT_POLL_TIMED_OUT, step);
    event->flags = action;
    event->cause = cause;
    event->class_ = cause_class(cause);
    event->text = text;
    event->payload = payload;
    return OK;
}

Status poll_time_out(const Settle *settle, uint32_t step, Error *err)
{
    const PollTerms *terms = terms_of(settle, step);
    uint32_t count = poll_of(settle, step)->count;
    Str text = settle->now_ms >= end_ms(settle, step)
                 ? arena_format(settle->decision->arena, "it was not complete within %" PRId64 " ms, after %" PRIu32 " polls",
                                terms->duration_ms, count)
                 : arena_format(settle->decision->arena, "it was not complete after %" PRIu32 " polls", count);
    return give_up(settle, step, terms->on_timeout, text, err);
}

/* --- what a poll answers --------------------------------------------------------------------------------------------------- */

typedef struct PollAnswer {
    bool is_complete, goes_on;
    int64_t next_ms;                    /* 0: as the definition says */
    Value output;
} PollAnswer;

static bool read_interval(const Value *value, int64_t *out_ms)
{
    *out_ms = 0;
    if (!value || value->kind == VALUE_NULL) return true;
    if (!value_is_number(*value)) return false;
    char storage[64];
    Buf text = buf_on(storage, sizeof storage - 1);
    number_print_canonical(&text, *value);
    if (buf_overflowed(&text)) return false;
    storage[text.len] = '\0';
    double ms = strtod(storage, NULL) * 1000;
    if (!(ms >= 1) || ms > (double)DURATION_MS_MAX) return false;
    *out_ms = (int64_t)(ms + 0.5);
    return true;
}

static const char *read_answer(Value value, PollAnswer *out)
{
    *out = (PollAnswer){ .goes_on = true, .output = value_null() };
    if (value.kind != VALUE_OBJECT) return "it is no object";
    const Value *complete = value_get_text(value, "complete"), *goes_on = value_get_text(value, "continue");
    const Value *output = value_get_text(value, "output");
    if (!complete && !goes_on) return "neither 'complete' nor 'continue' is there";
    if (complete && complete->kind != VALUE_BOOL) return "'complete' is neither true nor false";
    if (goes_on && goes_on->kind != VALUE_BOOL) return "'continue' is neither true nor false";
    if (!read_interval(value_get_text(value, "nextInterval"), &out->next_ms)) return "'nextInterval' is no number of seconds above 0";
    out->is_complete = value_get_bool(value, "complete", false);
    out->goes_on = !out->is_complete && value_get_bool(value, "continue", true);
    if (output) out->output = *output;
    return NULL;
}

/* {attempt, at, complete, continue, nextInterval, output} of one poll. */
static Value result_of(const Settle *settle, uint32_t count, const PollAnswer *answer)
{
    Arena *arena = settle->decision->arena;
    char storage[64];
    Buf at = buf_on(storage, sizeof storage);
    civil_print_ms(&at, settle->now_ms);
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("attempt"), value_int(count));
    member_list_add(&members, STR("at"), value_string(arena_copy(arena, buf_peek(&at))));
    member_list_add(&members, STR("complete"), value_bool(answer->is_complete));
    member_list_add(&members, STR("continue"), value_bool(answer->goes_on));
    if (answer->next_ms) member_list_add(&members, STR("nextIntervalMs"), value_int(answer->next_ms));
    member_list_add(&members, STR("output"), answer->output);
    return member_list_object(&members);
}

/* Up to the bound of all results, and one more for what is larger. */
static size_t text_size(Value value)
{
    Buf buf;
    Error err;
    buf_init(&buf, POLL_RESULTS_SIZE_MAX + 1);
    bool is_larger = json_print(&buf, value, JSON_COMPACT, &err) != OK || buf_overflowed(&buf);
    size_t size = is_larger ? POLL_RESULTS_SIZE_MAX + 1 : buf.len;
    buf_deinit(&buf);
    return size;
}

/* The last results, the newest at the end: as many as POLL_RESULT*_MAX permit. What one poll gave is cut off before the others
 * are, where it alone is too large. */
static Status gather_results(const Settle *settle, uint32_t step, uint32_t count, const PollAnswer *answer, Value *out, Error *err)
{
    Arena *arena = settle->decision->arena;
    Value before = value_null();
    if (settle->run->steps[step].output_at && !settle->env->output(settle->env->context, settle->run, step, &before)) {
        settle->decision->missing = step;
        settle->decision->missing_is_key = false;
        return error_set(err, ERR_UNAVAILABLE, "the results of earlier polls are not at hand");
    }
    Value newest = result_of(settle, count, answer);
    if (text_size(newest) > POLL_RESULTS_SIZE_MAX / 2) {
        PollAnswer bare = *answer;
        bare.output = value_null();
        newest = result_of(settle, count, &bare);
    }
    size_t size = text_size(newest);
    uint32_t kept = 0, old = before.kind == VALUE_ARRAY ? before.count : 0;
    while (kept < old && kept + 1 < POLL_RESULT_COUNT_MAX) {
        size += text_size(before.items[old - kept - 1]) + 1;
        if (size > POLL_RESULTS_SIZE_MAX) break;
        kept++;
    }
    Value *items = ARENA_ARRAY(arena, Value, kept + 1);
    for (uint32_t i = 0; i < kept; i++) items[i] = before.items[old - kept + i];
    items[kept] = newest;
    *out = value_array(items, kept + 1);
    return OK;
}

Status poll_report(const Settle *settle, uint32_t step, Value value, Error *err)
{
    Decision *decision = settle->decision;
    PollAnswer answer;
    if (run_active(settle->run, step)->is_overdue) return settle_success(settle, step, value, err);     /* it came too late */
    const char *wrong = read_answer(value, &answer);
    uint32_t count = poll_of(settle, step)->count + 1;
    if (wrong) {
        Str text = arena_format(decision->arena, "a poll answers {complete, continue, output, nextInterval}: %s", wrong);
        settle_attempt(settle, step, settle->run->steps[step].attempt, &(Failure){ CAUSE_OUTPUT_INVALID, text, value_null() });
        return OK;
    }
    Value results;
    Status status = gather_results(settle, step, count, &answer, &results, err);
    if (status) return status;
    uint32_t payload = decision_payload(decision, results);
    Event *event = decision_event(decision, EVENT_POLL_ATTEMPTED, step);
    event->attempt = settle->run->steps[step].attempt;
    event->count = count;
    event->flags = (uint32_t)answer.is_complete | (uint32_t)answer.goes_on << 1;
    event->span_ms = answer.next_ms;
    event->payload = payload;
    if (settle->run->steps[step].flags & STEP_ENDING) {
        settle_told(settle, step);
        return OK;
    }
    if (answer.is_complete) {
        decision_event(decision, EVENT_POLL_COMPLETED, step)->count = count;
        return settle_success(settle, step, answer.output, err);
    }
    if (!answer.goes_on) {
        decision_event(decision, EVENT_POLL_ABORTED, step)->count = count;
        PollAction action = terms_of(settle, step)->on_abort;
        Str text = arena_format(decision->arena, "its poll gave up, after %" PRIu32 " polls", count);
        if (action != POLL_FAILS) return give_up(settle, step, action, text, err);
        settle_fail(settle, step, &(Failure){ CAUSE_PERMANENT, text, answer.output });                              /* G-19 */
        return OK;
    }
    int64_t end = end_ms(settle, step);
    int64_t due = settle->now_ms + (answer.next_ms ? answer.next_ms : poll_interval_ms(terms_of(settle, step), count));
    if (is_exhausted(settle, step, count) || settle->now_ms >= end) {
        Str text = arena_format(decision->arena, "it was not complete after %" PRIu32 " polls", count);
        return give_up(settle, step, terms_of(settle, step)->on_timeout, text, err);
    }
    decision_event(decision, EVENT_STEP_POLLING, step)->due_ms = due < end ? due : end;
    return OK;
}

/* --- what is due ------------------------------------------------------------------------------------------------------------ */

Status poll_timer(const Settle *settle, uint32_t step, Error *err)
{
    if (poll_is_offered(settle->plan, settle->run, step)) {
        decision_event(settle->decision, EVENT_STEP_POLLING, step)->due_ms =
            settle->now_ms + settle->plan->terms->steps[step].retry.delay_ms;
        return OK;
    }
    if (poll_is_over(settle, step)) return poll_time_out(settle, step, err);
    decision_event(settle->decision, EVENT_STEP_READY, step)->last = step;
    return OK;
}

Value poll_value(const Plan *plan, const Run *run, uint32_t step, Arena *arena)
{
    const StepTerms *terms = &plan->terms->steps[step];
    if (!step_polls(terms)) return value_null();
    const PollRun *poll = &run->polls[terms->poll.slot];
    bool is_ended = step_state_is_final((StepState)run->steps[step].state);
    char storage[64];
    Buf started = buf_on(storage, sizeof storage);
    civil_print_ms(&started, poll->started_ms);
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("attempt"), value_int(poll->count + !is_ended));
    member_list_add(&members, STR("max_attempts"), value_int(terms->poll.count_max));
    member_list_add(&members, STR("started_at"), poll->started_ms ? value_string(arena_copy(arena, buf_peek(&started))) : value_null());
    return member_list_object(&members);
}
