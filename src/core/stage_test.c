#include "core/stage_test.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "core/retry.h"
#include "harness/test.h"
#include "value/json.h"

/* --- what events may carry ------------------------------------------------------------------------------------------------ */

#define F(member) (UINT32_C(1) << FIELD_##member)
static const uint32_t kind_fields[EVENT_KIND_END] = {
#define EVENT(number, NAME, name, fields) [number] = fields,
#include "../spec/events.def"
};
#undef F

/* The event with its declared fields alone, in the stage's own memory; a field set beyond them is a mistake. */
static Event declared(Stage *stage, const Event *event)
{
    Event copy = { .kind = event->kind, .payload = EVENT_NO_PAYLOAD };
    uint32_t fields = kind_fields[event->kind];
#define SET_U32(m) (event->m != 0)
#define SET_U64(m) (event->m != 0)
#define SET_I64(m) (event->m != 0)
#define SET_TEXT(m) (event->m.len != 0)
#define SET_DIGEST(m) (event->m != NULL)
#define SET_PAYLOAD(m) (event->m != EVENT_NO_PAYLOAD)
#define TAKE_U32(m) copy.m = event->m
#define TAKE_U64(m) copy.m = event->m
#define TAKE_I64(m) copy.m = event->m
#define TAKE_TEXT(m) copy.m = arena_copy(&stage->log_arena, event->m)
#define TAKE_DIGEST(m) copy.m = event->m ? arena_copy_items(&stage->log_arena, event->m, sizeof *event->m) : NULL
#define TAKE_PAYLOAD(m) copy.m = event->m
#define FIELD(number, member, type, name) \
    if (fields >> number & 1) { TAKE_##type(member); } \
    else test_expect(!SET_##type(member), __FILE__, __LINE__, "event %u has no field %s", event->kind, name);
#include "../spec/events.def"
    return copy;
}

/* --- the world --------------------------------------------------------------------------------------------------------------- */

static bool world_params(void *context, const Run *run, Value *out)
{
    Stage *stage = context;
    (void)run;
    *out = stage->params;
    return stage->hidden != MISSING_PARAMS;
}

static bool world_output(void *context, const Run *run, uint32_t step, Value *out)
{
    Stage *stage = context;
    (void)run;
    *out = stage->outputs[step];
    return stage->hidden != step;
}

static ConditionAnswer world_condition(void *context, const ConditionAsk *ask, Arena *arena, ConditionResult *out)
{
    Stage *stage = context;
    Str text = ask->plan->terms->conditions[ask->condition].text;
    size_t space = str_find(text, ' ', 0);
    Str word = str_slice(text, 0, space), rest = str_slice(text, space + 1, text.len);
    const Value *params = value_get_text(stage->params, "params");
    stage->condition_count++;
    out->text = text;
    if (str_is(word, STR("yes"))) return CONDITION_TRUE;
    if (str_is(word, STR("no"))) return CONDITION_FALSE;
    if (str_is(word, STR("error"))) return CONDITION_ERROR;
    if (str_is(word, STR("hidden"))) {
        out->missing = stage->hidden;
        return stage->hidden == STEP_NONE ? CONDITION_TRUE : CONDITION_MISSING;
    }
    if (str_is(word, STR("is"))) {
        const Value *value = params ? value_get(*params, rest) : NULL;
        return !value ? CONDITION_UNDEFINED : value_is_true(*value) ? CONDITION_TRUE : CONDITION_FALSE;
    }
    if (str_is(word, STR("payload")) || str_is(word, STR("output"))) {
        const Value *from = str_is(word, STR("payload")) ? ask->payload : ask->output;
        const Value *value = from ? value_get(*from, rest) : NULL;
        return !value ? CONDITION_UNDEFINED : value_is_true(*value) ? CONDITION_TRUE : CONDITION_FALSE;
    }
    if (str_is(word, STR("param"))) {
        const Value *value = params ? value_get(*params, rest) : NULL;
        if (!value) return CONDITION_UNDEFINED;
        out->value = *value;
        return CONDITION_TRUE;
    }
    if (str_is(word, STR("pick"))) {
        ValueList list = { .arena = arena };
        for (size_t at = 0; at <= rest.len;) {
            size_t end = str_find(rest, ',', at);
            value_list_add(&list, value_string(str_slice(rest, at, end)));
            at = end + 1;
        }
        out->value = list.count == 1 ? list.items[0] : value_list_array(&list);
        return CONDITION_TRUE;
    }
    if (str_is(word, STR("rounds"))) {
        Value run = run_value(ask->plan, ask->run, ask->step, arena);
        uint64_t wanted;
        return str_to_u64(rest, &wanted) && (uint64_t)value_get_int(run, "iteration", 0) < wanted ? CONDITION_TRUE
                                                                                                   : CONDITION_FALSE;
    }
    return CONDITION_UNDEFINED;
}

static Verdict world_verdict(void *context, Hook hook, const Plan *plan, const Run *run, uint32_t step, Value input)
{
    Stage *stage = context;
    (void)plan, (void)run, (void)step, (void)input;
    return (Verdict){ .kind = stage->verdicts[hook], .text = STR("the policy says no") };
}

static Place world_place(void *context, const Plan *plan, const Run *run, uint32_t step)
{
    Stage *stage = context;
    Place place = { .kind = stage->place, .executor = STR("local"), .rationale = stage->place_text };
    if (stage->room == 0) place.kind = PLACE_LATER;
    if (place.kind == PLACE_HERE) place.holder = holder_make(stage->epoch, 1);
    if (place.kind != PLACE_HERE) return place;
    TaskTerms undo = { .intent = plan->terms->steps[step].intent, .spawn_budget = 1u + plan->terms->cooperative_max,
                       .cooperative_max = plan->terms->cooperative_max };
    bool is_undo = run->state == RUN_COMPENSATING;
    Task task = is_undo ? task_restore(&undo, TASK_ACCEPTED, 0, 0) : retry_task(plan, run, step, TASK_ACCEPTED);
    Admission admission = task_admit(&task, &stage->pressure);
    place.admission = admission_pack(&admission);
    place.drop = admission.drop;
    if (admission.kind == ADMISSION_DROP) place.kind = PLACE_DROPPED;
    if (admission.kind == ADMISSION_DEFER) place.kind = PLACE_DEFERRED;
    return place;
}

static Dedupe world_dedupe(void *context, const Run *run, uint32_t step, Str domain, Str key)
{
    Stage *stage = context;
    (void)run, (void)step, (void)domain, (void)key;
    return stage->dedupe;
}

static Status world_schema(void *context, const Plan *plan, Value schema, Value instance, Error *err)
{
    Stage *stage = context;
    (void)plan, (void)schema, (void)instance;
    return stage->schema_error ? error_set(err, ERR_INVALID, "%s", stage->schema_error) : OK;
}

DecideEnv stage_world(Stage *stage)
{
    return (DecideEnv){ stage, world_params, world_output, world_condition, world_verdict, world_place, world_dedupe,
                        world_schema };
}

/* --- life ----------------------------------------------------------------------------------------------------------------------- */

bool stage_open_str(Stage *stage, Str plan_json)
{
    *stage = (Stage){ .now = 1000000, .epoch = 1, .room = UINT32_MAX, .hidden = STEP_NONE };
    arena_init(&stage->plan_arena, SIZE_MAX);
    arena_init(&stage->arena, SIZE_MAX);
    arena_init(&stage->log_arena, SIZE_MAX);
    Value document;
    Status status = json_parse(&stage->plan_arena, plan_json, &document, &stage->err);
    if (!status) status = plan_read(&stage->plan_arena, document, &stage->plan, &stage->err);
    if (!test_expect_ok(status, &stage->err, "the plan", __FILE__, __LINE__)) return false;
    static const Id id = { "abcdefghijklmnopqrstu" };
    run_init(&stage->run, &stage->plan, &id, 7);
    run_init(&stage->fold, &stage->plan, &id, 7);
    stage->outputs = ARENA_ARRAY(&stage->log_arena, Value, run_value_count(&stage->run) + 1);
    stage->kept = ARENA_ARRAY(&stage->log_arena, Value, stage->plan.step_count + 1);
    return true;
}

bool stage_open(Stage *stage, const char *plan_json)
{
    return stage_open_str(stage, str_of(plan_json));
}

void stage_close(Stage *stage)
{
    run_deinit(&stage->run);
    run_deinit(&stage->fold);
    free(stage->is_number_given);
    arena_deinit(&stage->plan_arena);
    arena_deinit(&stage->arena);
    arena_deinit(&stage->log_arena);
}

/* --- checks ------------------------------------------------------------------------------------------------------------------------ */

/* Member by member, so that what the snapshot forgets is noticed: equal bytes alone would not show it. */
static void check_same(const Run *a, const Run *b)
{
    for (uint32_t i = 0; i < a->step_count; i++) {
        StepRun x = a->steps[i], y = b->steps[i];
        if (!(x.flags & (STEP_IN_REACHED | STEP_IN_READY | STEP_IN_ACTIVE))) x.next = y.next;      /* left over */
        EXPECT(memcmp(&x, &y, sizeof x) == 0);
    }
    for (uint32_t i = 0; i < a->active_count && i < b->active_count; i++) {
        const ActiveStep *x = &a->active[i], *y = &b->active[i];
        EXPECT(x->step == y->step && x->holder == y->holder && x->due_ms == y->due_ms && x->lease_ms == y->lease_ms
               && x->kept_at == y->kept_at && x->intended_at == y->intended_at && x->signal == y->signal);
    }
    for (uint32_t i = 0; i < a->job_count; i++) {
        const JobRun *x = &a->jobs[i], *y = &b->jobs[i];
        EXPECT(x->open == y->open && x->under_way == y->under_way && x->waiting == y->waiting && x->flags == y->flags
               && x->state == y->state);
    }
    for (uint32_t i = 0; i < a->signal_count && i < b->signal_count; i++) {
        const RunSignal *x = &a->signals[i], *y = &b->signals[i];
        EXPECT(x->number == y->number && x->sort == y->sort && x->is_denial == y->is_denial
               && x->is_trigger == y->is_trigger && x->at == y->at && str_is(x->name, y->name));
    }
    for (uint32_t i = 0; i < a->use_count && i < b->use_count; i++)
        EXPECT(a->uses[i].number == b->uses[i].number && a->uses[i].step == b->uses[i].step);
    for (uint32_t i = 0; i < a->loop_count; i++) EXPECT_INT(a->loops[i], b->loops[i]);
    for (uint32_t i = 0; i < a->poll_slot_count; i++) {
        const PollRun *x = &a->polls[i], *y = &b->polls[i];
        EXPECT(x->count == y->count && x->attempt_first == y->attempt_first && x->started_ms == y->started_ms && x->due_ms == y->due_ms
               && x->is_held == y->is_held);
    }
    for (uint32_t i = 0; i < a->end_slot_count; i++) EXPECT_INT(a->ends[i], b->ends[i]);
    for (uint32_t i = 0; i < a->pause_slot_count; i++) EXPECT_INT(a->answers[i], b->answers[i]);
    EXPECT_INT(a->pause_count, b->pause_count);
    for (uint32_t i = 0; i < a->pause_count && i < b->pause_count; i++) EXPECT_INT(a->pauses[i], b->pauses[i]);
    EXPECT(a->awaited.step == b->awaited.step && a->awaited.since_ms == b->awaited.since_ms && a->awaited.due_ms == b->awaited.due_ms
           && a->awaited.reminder_count == b->awaited.reminder_count);
    EXPECT(a->notified_count == b->notified_count && a->notification_count == b->notification_count);
    for (uint32_t i = 0; i < a->notification_count && i < b->notification_count; i++) {
        const Notification *x = &a->notifications[i], *y = &b->notifications[i];
        EXPECT(x->number == y->number && x->step == y->step && x->reminder == y->reminder && x->attempt == y->attempt && x->due_ms == y->due_ms
               && str_is(x->target, y->target));
    }
    EXPECT(a->is_terminating == b->is_terminating && a->ends_well == b->ends_well && a->paused_for == b->paused_for);
    EXPECT(a->blast_used == b->blast_used && a->blast_approved == b->blast_approved);
    EXPECT(!a->reaction_count || memcmp(a->fired, b->fired, a->reaction_count / 8 + 1) == 0);
    EXPECT(a->polling_count == b->polling_count && a->held_count == b->held_count);
    EXPECT(a->paused_ready_count == b->paused_ready_count && a->cutting_count == b->cutting_count);
    const Rollback *p = &a->rollback, *q = &b->rollback;
    for (uint32_t i = 0; i < p->count && i < q->count; i++) {
        const Compensation *x = &p->items[i], *y = &q->items[i];
        EXPECT(x->step == y->step && x->attempt == y->attempt && x->attempt_max == y->attempt_max && x->state == y->state);
    }
    EXPECT(p->scope == q->scope && p->flags == q->flags && p->is_planned == q->is_planned && p->is_stuck == q->is_stuck);
    EXPECT(p->from == q->from && p->number == q->number && p->earlier_count == q->earlier_count && p->count == q->count && p->at == q->at);
    EXPECT(p->active.step == q->active.step && p->active.holder == q->active.holder && p->active.due_ms == q->active.due_ms
           && p->active.lease_ms == q->active.lease_ms);
    EXPECT(a->is_rolling_back == b->is_rolling_back && a->is_rerunning == b->is_rerunning && a->retry_source == b->retry_source);
    EXPECT(a->retry_from == b->retry_from && a->auto_retry_count == b->auto_retry_count && a->auto_retry_ms == b->auto_retry_ms);
    for (uint32_t i = 0; i < a->loop_count; i++) EXPECT_INT(a->loop_ends[i], b->loop_ends[i]);
    EXPECT_INT(a->done_count, b->done_count);
    EXPECT(a->open_count == b->open_count && a->running_count == b->running_count && a->waiting_count == b->waiting_count);
    EXPECT(a->satisfied_count == b->satisfied_count && a->begun_count == b->begun_count && a->sweep_next == b->sweep_next);
    EXPECT(a->active_count == b->active_count && a->signal_count == b->signal_count && a->use_count == b->use_count);
    EXPECT(a->state == b->state && a->resolution == b->resolution && a->cause == b->cause && a->failed_step == b->failed_step);
    EXPECT(a->cancel_requested == b->cancel_requested && a->is_failing == b->is_failing && a->is_cancelling == b->is_cancelling);
    EXPECT(a->event_count == b->event_count && a->cost_micro == b->cost_micro && a->seed == b->seed && a->params_at == b->params_at);
    EXPECT(a->created_ms == b->created_ms && a->deadline_ms == b->deadline_ms && a->started_ms == b->started_ms);
    EXPECT(a->ended_ms == b->ended_ms && a->updated_ms == b->updated_ms && a->priority == b->priority && a->revision == b->revision);
    EXPECT(str_is(a->tenant, b->tenant) && str_is(a->definition, b->definition) && str_is(a->key, b->key));
    EXPECT(str_is(a->source, b->source) && str_is(a->parent, b->parent) && str_is(a->failure, b->failure));
    EXPECT(memcmp(&a->plan_digest, &b->plan_digest, sizeof a->plan_digest) == 0);
}

static void check_bytes(Stage *stage)
{
    Buf live, folded, again;
    buf_init(&live, SIZE_MAX);
    buf_init(&folded, SIZE_MAX);
    buf_init(&again, SIZE_MAX);
    run_encode(&stage->run, &live);
    run_encode(&stage->fold, &folded);
    EXPECT(str_is(buf_peek(&live), buf_peek(&folded)));                                                        /* I12 */
    Run read;
    run_init(&read, &stage->plan, &stage->run.id, stage->run.run_no);
    Error err;
    if (EXPECT_OK(run_decode(&read, &stage->plan, buf_peek(&live), &err), &err)) {
        run_encode(&read, &again);
        EXPECT(str_is(buf_peek(&live), buf_peek(&again)));
        check_same(&read, &stage->run);
        check_same(&stage->fold, &stage->run);
        EXPECT(run_due_ms(&read) == run_due_ms(&stage->run));
    }
    run_deinit(&read);
    buf_deinit(&live);
    buf_deinit(&folded);
    buf_deinit(&again);
}

static void check_lists(Stage *stage)
{
    const Run *run = &stage->run;
    uint32_t reached = 0, ready = 0, active = 0;
    for (uint32_t i = 0; i < run->step_count; i++) {
        uint16_t flags = run->steps[i].flags;
        int lists = !!(flags & STEP_IN_REACHED) + !!(flags & STEP_IN_READY) + !!(flags & STEP_IN_ACTIVE);
        StepState state = (StepState)run->steps[i].state;
        EXPECT(lists <= 1);
        reached += !!(flags & STEP_IN_REACHED);
        ready += !!(flags & STEP_IN_READY);
        active += !!(flags & STEP_IN_ACTIVE);
        if (flags & STEP_IN_READY) EXPECT(state == STEP_QUEUED || state == STEP_POLLING);
        if (state == STEP_POLLING && !run_is_winding(run)) EXPECT(flags & (STEP_IN_READY | STEP_IN_ACTIVE));
        bool is_out = step_works(&stage->plan.steps[i])
                   && (state == STEP_DISPATCHED || state == STEP_RUNNING || state == STEP_WAITING_SIGNAL);
        if (is_out) EXPECT(flags & STEP_IN_ACTIVE);
    }
    EXPECT_INT(run->reached.count, reached);
    EXPECT_INT(run->active_count, active);
    for (int p = 0; p < PRIORITY_COUNT; p++) ready -= run->ready[p].count;
    EXPECT_INT(ready, 0);
    uint32_t paused_ready = 0, cutting = 0;
    for (uint32_t i = 0; i < run->step_count; i++)
        paused_ready += run->steps[i].flags & STEP_IN_READY && run_holds_job(run, &stage->plan, i);
    for (uint32_t j = 0; j < run->job_count; j++) cutting += job_is_cutting(&run->jobs[j]);
    EXPECT_INT(run->paused_ready_count, paused_ready);
    EXPECT_INT(run->cutting_count, cutting);
    EXPECT(run->running_count <= stage->plan.terms->running_count_max);                                /* C-45 */
    if (stage->answer == ADVANCE_EVENTS) return;
    bool is_paused_for = run->state == RUN_PAUSED && run->paused_for == PAUSED_FOR_TRIGGER && !run_is_winding(run);
    if (stage->answer != ADVANCE_MISSING) EXPECT_INT(run->awaited.step != STEP_NONE, is_paused_for);             /* */
    for (uint32_t i = 0; i < run->notification_count; i++) EXPECT_INT(run->notifications[i].step, run->awaited.step);
    EXPECT_INT(run->moved.count, 0);
    for (uint32_t j = 0; j < run->job_count; j++) EXPECT_INT(run->jobs[j].state, job_target(&run->jobs[j]));
    uint32_t ready_count = 0;
    for (int p = 0; p < PRIORITY_COUNT; p++) ready_count += run->ready[p].count;
    if (run_is_winding(run) || (run->state != RUN_RUNNING && run->state != RUN_WAITING_SIGNAL)) return;
    bool waits = run->waiting_count && ready_count == paused_ready && !run->running_count
              && !run->polling_count;                                   /* C-08 */
    EXPECT_INT(run->state == RUN_WAITING_SIGNAL, waits);
}

static void note_number(Stage *stage, uint32_t number)
{
    if (number >= stage->number_capacity) {
        uint32_t capacity = number * 2 + 64;
        stage->is_number_given = realloc(stage->is_number_given, capacity);
        CHECK(stage->is_number_given != NULL);
        memset(stage->is_number_given + stage->number_capacity, 0, capacity - stage->number_capacity);
        stage->number_capacity = capacity;
    }
    stage->is_number_given[number] = 1;
}

/* the numbers given out so far are 1 .. begun_count, and each belongs to one step run. */
static void check_numbers(Stage *stage)
{
    for (uint32_t n = 1; n <= stage->run.begun_count; n++)
        if (!EXPECT(n < stage->number_capacity && stage->is_number_given[n])) return;
}

typedef struct Pendings { Effect items[256]; uint32_t count; } Pendings;

static void collect(void *context, const Effect *effect)
{
    Pendings *pendings = context;
    if (pendings->count < 256) pendings->items[pendings->count++] = *effect;
}

static bool has_effect(const Pendings *pendings, const Effect *effect)
{
    for (uint32_t i = 0; i < pendings->count; i++) {
        const Effect *one = &pendings->items[i];
        if (one->kind == effect->kind && one->step == effect->step && one->attempt == effect->attempt
            && one->holder == effect->holder)
            return true;
    }
    return false;
}

/* I10: what is pending now and was not before was decided in between, and the other way round. */
static void check_effects(Stage *stage, const Pendings *before)
{
    Pendings after = { .count = 0 };
    pending(&stage->plan, &stage->run, collect, &after);
    if (after.count >= 256 || before->count >= 256) return;
    for (uint32_t i = 0; i < after.count; i++) {
        if (has_effect(before, &after.items[i])) continue;
        bool is_note = after.items[i].kind == EFFECT_NOTIFY;
        bool is_undo = !is_note && attempt_rollback(after.items[i].attempt), is_end = after.items[i].kind == EFFECT_END;
        EventKind wanted = is_undo ? (is_end ? EVENT_COMPENSATION_OVERDUE : EVENT_COMPENSATION_RUNNING)
                         : is_note ? EVENT_NOTIFICATION_QUEUED : is_end ? EVENT_STEP_CANCELLING : EVENT_STEP_RUNNING;
        EventKind other = is_note ? EVENT_NOTIFICATION_FAILED : is_end && !is_undo ? EVENT_STEP_OVERDUE : wanted;
        bool is_decided = false;
        for (size_t e = stage->first; e < stage->log_count; e++)
            is_decided = is_decided || ((stage->log[e].kind == wanted || stage->log[e].kind == other) && stage->log[e].step == after.items[i].step);
        EXPECT(is_decided);
    }
    for (size_t e = stage->first; e < stage->log_count; e++) {
        const Event *event = &stage->log[e];
        if (event->kind == EVENT_COMPENSATION_RUNNING && event->holder) {
            Effect undo = { EFFECT_EXECUTE, event->step, rollback_attempt(&stage->run, event->attempt), event->holder };
            if (run_holds(&stage->run, event->step, undo.attempt, event->holder)) EXPECT(has_effect(&after, &undo));
        }
        if (event->kind != EVENT_STEP_RUNNING || !event->holder) continue;
        const StepRun *step = &stage->run.steps[event->step];
        Effect effect = { EFFECT_EXECUTE, event->step, step->attempt, event->holder };
        const ActiveStep *active = run_active(&stage->run, event->step);
        if (step->state == STEP_RUNNING && active && active->holder == event->holder) EXPECT(has_effect(&after, &effect));
    }
}

/* --- deciding ------------------------------------------------------------------------------------------------------------------------ */

static void keep(Stage *stage, const Decision *decision, const Event *event)
{
    Value payload = event->payload != EVENT_NO_PAYLOAD ? value_copy(&stage->log_arena, decision->payloads[event->payload])
                                                       : value_null();
    if (event->payload != EVENT_NO_PAYLOAD) stage->last_payload = payload;
    if (event->kind == EVENT_RUN_CREATED || event->kind == EVENT_PARAMS_CHANGED) stage->params = payload;
    if (event->kind == EVENT_STEP_WAITING || event->kind == EVENT_EFFECT_COMMITTED) stage->kept[event->step] = payload;
    if (event->kind == EVENT_POLL_ATTEMPTED || event->kind == EVENT_POLL_TIMED_OUT) stage->outputs[event->step] = payload;
    bool is_signal = event->kind == EVENT_TRIGGER_RECEIVED || event->kind == EVENT_SIGNAL_RECEIVED;
    if (is_signal && event->count < STAGE_SIGNALS) stage->signals[event->count] = payload;
    for (uint32_t i = 0; i < stage->plan.terms->pause_count; i++) {
        uint32_t step = stage->plan.terms->pauses[i];
        Value *answer = &stage->outputs[stage->plan.step_count + i];
        bool is_kept = event->kind == EVENT_TRIGGER_RECEIVED && event->flags & TRIGGER_IS_KEPT
                    && str_is(event->name, stage->plan.terms->steps[step].pause.trigger);
        if (is_kept) *answer = payload;
        if (event->kind == EVENT_TRIGGER_ENDED && event->step == step && event->sort <= TRIGGER_AUTO_APPROVED)
            *answer = event->count && event->count < STAGE_SIGNALS ? stage->signals[event->count] : payload;
    }
    if (event->kind == EVENT_STEP_SUCCEEDED)
        stage->outputs[event->step] = event->payload != EVENT_NO_PAYLOAD ? payload : stage->kept[event->step];
    bool is_given = event->kind == EVENT_STEP_RUNNING || event->kind == EVENT_COMPENSATION_RUNNING;
    if (is_given && event->holder && stage->room != UINT32_MAX) stage->room--;
    uint32_t count = event->kind == EVENT_STEP_SKIPPED ? event->last - event->step + 1 : 1;
    bool is_of_undo = event->kind >= EVENT_COMPENSATION_OVERDUE && event->kind <= EVENT_COMPENSATION_ORPHANED;
    bool has_number = !is_of_undo && kind_fields[event->kind] >> FIELD_number & 1;
    for (uint32_t i = 0; has_number && event->number && i < count; i++) note_number(stage, event->number + i);
}

static void apply_from(Stage *stage, const Decision *decision, uint32_t first)
{
    EventPlace place = { .now_ms = stage->now, .position = stage->position };
    for (uint32_t i = first; i < decision->event_count; i++) {
        run_apply(&stage->run, &stage->plan, &decision->events[i], &place);
        if (stage->is_fast) continue;
        Event event = declared(stage, &decision->events[i]);
        stage->log = arena_grow(&stage->log_arena, stage->log, sizeof event, stage->log_count, &stage->log_capacity);
        stage->log[stage->log_count++] = event;
        run_apply(&stage->fold, &stage->plan, &event, &place);
        keep(stage, decision, &event);
    }
}

static void finish(Stage *stage, Decision *decision, const Pendings *before)
{
    DecideEnv env = stage_world(stage);
    for (;;) {
        uint32_t first = decision->event_count;
        if (first >= DECISION_EVENT_COUNT_MAX) {
            stage->answer = ADVANCE_EVENTS;
            break;
        }
        stage->answer = advance(&env, &stage->plan, &stage->run, stage->now, DECISION_EVENT_COUNT_MAX - first, decision);
        stage->missing = decision->missing;
        apply_from(stage, decision, first);
        if (stage->answer != ADVANCE_EVENTS) break;
        CHECK(decision->event_count > first);
    }
    if (stage->is_fast) return;
    EXPECT(decision->event_count <= DECISION_EVENT_COUNT_MAX + ADVANCE_EVENT_COUNT_MIN);
    check_bytes(stage);
    check_lists(stage);
    check_numbers(stage);
    check_effects(stage, before);
}

typedef struct Deciding { Decision decision; Pendings before; } Deciding;

static void begin(Stage *stage, Deciding *deciding)
{
    arena_reset(&stage->arena);
    decision_init(&deciding->decision, &stage->arena);
    deciding->before.count = 0;
    if (!stage->is_fast) pending(&stage->plan, &stage->run, collect, &deciding->before);
    stage->first = (uint32_t)stage->log_count;
    stage->position++;
}

/* Further decisions, until the state has nothing more to say. */
static void finish_all(Stage *stage, Deciding *deciding)
{
    finish(stage, &deciding->decision, &deciding->before);
    uint32_t first = stage->first;
    while (stage->answer == ADVANCE_EVENTS) stage_more(stage);
    stage->first = first;
}

void stage_more(Stage *stage)
{
    Deciding deciding;
    begin(stage, &deciding);
    finish(stage, &deciding.decision, &deciding.before);
}

Status stage_start(Stage *stage, const char *params_json)
{
    Deciding deciding;
    begin(stage, &deciding);
    DecideEnv env = stage_world(stage);
    Value params;
    CHECK(json_parse(&stage->log_arena, str_of(params_json), &params, &stage->err) == OK);
    const Value *given = value_get_text(params, "params"), *payload = value_get_text(params, "payload");
    StartRequest request = { .params = given ? *given : params, .payload = payload ? *payload : value_null(), .seed = 42,
                             .revision = 3, .source = STR("manual"), .directory = STR("/srv/orders") };
    Status status = decide_start(&env, &stage->plan, &stage->run, &request, &(Command){ .kind = COMMAND_START }, stage->now,
                                 &deciding.decision, &stage->err);
    if (status) return status;
    apply_from(stage, &deciding.decision, 0);
    finish_all(stage, &deciding);
    return OK;
}

Status stage_do(Stage *stage, const Command *command)
{
    Deciding deciding;
    begin(stage, &deciding);
    DecideEnv env = stage_world(stage);
    Status status = decide(&env, &stage->plan, &stage->run, command, stage->now, &deciding.decision, &stage->err);
    if (status) return status;
    apply_from(stage, &deciding.decision, 0);
    finish_all(stage, &deciding);
    return OK;
}

Status stage_kind(Stage *stage, CommandKind kind)
{
    return stage_do(stage, &(Command){ .kind = kind });
}

static Command report_on(Stage *stage, uint32_t step)
{
    const ActiveStep *active = run_active(&stage->run, step);
    return (Command){ .kind = COMMAND_REPORT, .step = step, .attempt = stage->run.steps[step].attempt,
                      .holder = active ? active->holder : 1 };
}

Status stage_succeed(Stage *stage, const char *step, const char *output_json)
{
    Command command = report_on(stage, stage_index(stage, step));
    if (output_json)
        CHECK(json_parse(&stage->log_arena, str_of(output_json), &command.report.output, &stage->err) == OK);
    return stage_do(stage, &command);
}

Status stage_fail(Stage *stage, const char *step, Cause cause)
{
    Command command = report_on(stage, stage_index(stage, step));
    command.report = (Report){ .cause = cause, .message = STR("it broke") };
    return stage_do(stage, &command);
}

Command stage_undo_report(Stage *stage)
{
    const Compensation *item = run_compensation(&stage->run);
    if (!item) return (Command){ .kind = COMMAND_REPORT, .attempt = 1u << ROLLBACK_SHIFT, .holder = 1 };
    return (Command){ .kind = COMMAND_REPORT, .step = item->step, .attempt = rollback_attempt(&stage->run, item->attempt),
                      .holder = stage->run.rollback.active.holder, .value = value_null() };
}

Status stage_undo(Stage *stage, const char *step, Cause cause)
{
    Command command = stage_undo_report(stage);
    EXPECT_INT(command.step, stage_index(stage, step));
    command.report = (Report){ .cause = cause, .message = cause ? STR("it cannot be undone") : STR(""), .output = value_null() };
    return stage_do(stage, &command);
}

Status stage_trigger(Stage *stage, const char *name, const char *payload_json, bool is_denial)
{
    Value payload = value_null();
    if (payload_json) CHECK(json_parse(&stage->log_arena, str_of(payload_json), &payload, &stage->err) == OK);
    Command command = { .kind = COMMAND_TRIGGER, .name = str_of(name), .value = payload, .is_denial = is_denial,
                        .actor = STR("user:ana"), .origin = STR("127.0.0.1") };
    return stage_do(stage, &command);
}

Status stage_signal(Stage *stage, const char *name, bool is_denial)
{
    return stage_do(stage, &(Command){ .kind = COMMAND_SIGNAL, .name = str_of(name), .sort = SIGNAL_APPROVAL,
                                       .is_denial = is_denial, .value = value_null() });
}

void stage_wait(Stage *stage, int64_t ms)
{
    int64_t until = stage->now + ms;
    while (run_due_ms(&stage->run) <= until) {
        stage->now = run_due_ms(&stage->run) > stage->now ? run_due_ms(&stage->run) : stage->now;
        int64_t due = run_due_ms(&stage->run);
        CHECK(stage_kind(stage, COMMAND_TIMER) == OK);
        if (run_due_ms(&stage->run) == due && due <= stage->now) break;
    }
    stage->now = until;
}

/* --- looking --------------------------------------------------------------------------------------------------------------------------- */

uint32_t stage_index(const Stage *stage, const char *step)
{
    for (uint32_t i = 0; i < stage->plan.step_count; i++)
        if (str_is_text(stage->plan.steps[i].id, step)) return i;
    CHECK(!"a step of that name");
    return 0;
}

const StepRun *stage_step(const Stage *stage, const char *step)
{
    return &stage->run.steps[stage_index(stage, step)];
}

StepState stage_state(const Stage *stage, const char *step)
{
    return (StepState)stage_step(stage, step)->state;
}

size_t stage_count(const Stage *stage, EventKind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < stage->log_count; i++) count += stage->log[i].kind == kind;
    return count;
}

size_t stage_count_last(const Stage *stage, EventKind kind)
{
    size_t count = 0;
    for (size_t i = stage->first; i < stage->log_count; i++) count += stage->log[i].kind == kind;
    return count;
}

const Event *stage_last(const Stage *stage, EventKind kind)
{
    for (size_t i = stage->log_count; i-- > 0;)
        if (stage->log[i].kind == kind) return &stage->log[i];
    return NULL;
}
