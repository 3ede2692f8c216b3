#include "rego/eval.h"

#include <string.h>

#include "base/limits.h"
#include "rego/builtins/format.h"

/* How an evaluation tells of itself. A watched evaluation runs its blocks here rather than in run_block(): the same
 * loop, which also knows which statements hold for now, so that going back from a failure can name each of them.
 *
 * Readers of traces know an order in which a complete rule, or a function, goes on only when the statement that needed
 * it is asked for a further answer. Here it has gone on before, or never will: what happens behind its first answer is
 * put off, and told at that moment. */

/* An event that is told later. */
typedef struct Later {
    RegoTraceEvent event;
    struct Later *next;
} Later;

typedef struct LaterList {
    Later *first, *last;
} LaterList;

/* A statement that holds, or a rule or body that was left with an answer. */
typedef struct Passed Passed;
struct Passed {
    const RegoPlace *place;
    Passed *before;             /* the one that held before it; or the next free one */
    Passed *inner;              /* rules it needed, the last one first; of such a rule, what holds in it */
    LaterList later;            /* of such a rule: what it did behind its answer */
    const Value *values;
    uint64_t query_id, parent_id;
    uint32_t depth;
    bool has_answered;
    bool is_silent;             /* a negation has one answer, and is not asked again */
};

/* One rule or body under way. */
typedef struct Activity {
    struct Activity *outer;
    const Value *values;
    const Value *values_kept;   /* a copy of them, until an instruction writes to them */
    uint32_t value_count;
    uint64_t query_id;
    uint32_t depth;
    Passed *current;            /* the statement under way, and those that hold before it */
    LaterList later;
} Activity;

typedef struct Watch {
    const RegoTracer *tracer;   /* one of the two may be NULL */
    const RegoProfile *profile;
    uint64_t id_count, order;
    Activity *activity;
    LaterList *later;           /* where events go for now; NULL: they are told at once */
    Passed *free;
    const RegoPlace *timed;     /* what the time since then belongs to */
    uint64_t timed_ns;
} Watch;

/* --- times and counts -------------------------------------------------------------------------------------------- */

/* NULL where nobody counts. */
static RegoPlaceStats *stats_of(const Watch *watch, const RegoPlace *place)
{
    if (!place) return NULL;
    RegoPlaceStats *stats = place->is_query ? watch->profile->query_stats : watch->profile->stats;
    return stats ? &stats[place->index] : NULL;
}

static void time_take(Watch *watch, const RegoPlace *next)
{
    if (!watch->profile->clock_ns) return;
    uint64_t now_ns = watch->profile->clock_ns(watch->profile->context);
    RegoPlaceStats *stats = stats_of(watch, watch->timed);
    if (stats && now_ns > watch->timed_ns) stats->time_ns += now_ns - watch->timed_ns;
    watch->timed = next;
    watch->timed_ns = now_ns;
}

static void count_event(Watch *watch, RegoTraceKind kind, const RegoPlace *place)
{
    bool is_expr = place->kind == REGO_PLACE_EXPR;
    RegoPlaceStats *stats = stats_of(watch, place);
    if (!stats) return;
    if (is_expr && (kind == REGO_TRACE_EVAL || kind == REGO_TRACE_REDO)) {
        time_take(watch, place);
        if (!stats->order) stats->order = ++watch->order;
        if (kind == REGO_TRACE_EVAL) stats->eval_count++;
        else stats->redo_count++;
    } else if (!is_expr && kind == REGO_TRACE_EXIT) {
        stats->eval_count++;
    }
}

/* --- events ------------------------------------------------------------------------------------------------------ */

/* The registers of a rule are used again once it is left. */
static const Value *values_keep(Eval *e, Activity *activity)
{
    if (activity->values_kept) return activity->values_kept;
    Value *copy = eval_alloc(e, (activity->value_count + 1u) * sizeof *copy);
    if (copy) memcpy(copy, activity->values, activity->value_count * sizeof *copy);
    activity->values_kept = copy;
    return copy;
}

static void event_put_off(Eval *e, const RegoTraceEvent *event)
{
    LaterList *list = e->watch->later;
    Later *later = eval_alloc(e, sizeof *later);
    if (!later) return;
    later->event = *event;
    if (event->values == e->watch->activity->values) later->event.values = values_keep(e, e->watch->activity);
    if (event->message.len) later->event.message = arena_copy(e->arena, event->message);
    if (list->last) list->last->next = later;
    else list->first = later;
    list->last = later;
}

static void event_send(Eval *e, RegoTraceEvent *event)
{
    Watch *watch = e->watch;
    const RegoPlace *place = event->place;
    if (watch->profile) count_event(watch, event->kind, place);
    if (!watch->tracer) return;
    bool holds = event->kind == REGO_TRACE_EXIT || event->kind == REGO_TRACE_REDO;
    event->file = place->file;
    event->loc = place->loc;
    event->locals = !event->values ? NULL : holds ? place->locals_after : place->locals;
    if (watch->later) event_put_off(e, event);
    else watch->tracer->event(watch->tracer->context, event);
}

static void later_send(Eval *e, const LaterList *list)
{
    for (const Later *later = list->first; later; later = later->next) {
        if (e->watch->later) event_put_off(e, &later->event);
        else e->watch->tracer->event(e->watch->tracer->context, &later->event);
    }
}

static uint64_t parent_of(const Activity *activity)
{
    return activity->outer ? activity->outer->query_id : 0;
}

static void activity_send(Eval *e, RegoTraceKind kind, const RegoPlace *place, const char *message)
{
    const Activity *activity = e->watch->activity;
    if (!place) return;
    event_send(e, &(RegoTraceEvent){ .kind = kind, .query_id = activity->query_id, .parent_id = parent_of(activity),
                                         .depth = activity->depth, .place = place, .message = str_of(message),
                                         .values = activity->values });
}

void trace_index(Eval *e, const RuleGroup *group, uint32_t rule_count, bool exits_early)
{
    const Activity *activity = e->watch->activity;
    const Passed *current = activity->current;
    if (!e->watch->tracer || !current) return;
    char storage[64];
    Buf message = buf_on(storage, sizeof storage);
    buf_format(&message, "(matched %u rule%s%s)", rule_count, rule_count == 1 ? "" : "s",
               exits_early ? ", early exit" : "");
    event_send(e, &(RegoTraceEvent){ .kind = REGO_TRACE_INDEX, .query_id = activity->query_id,
                                     .parent_id = parent_of(activity), .depth = activity->depth,
                                     .place = current->place, .message = buf_peek(&message), .path = group->path,
                                     .path_count = group->path_count, .values = activity->values });
}

/* print(...) has each operand as the set of its values, none where it is undefined. */
void trace_note(Eval *e, const Frame *frame, const Op *op)
{
    if (!e->tracer) return;
    const Activity *activity = e->watch ? e->watch->activity : NULL;
    Buf buf;
    buf_init(&buf, REGO_NOTE_SIZE_MAX);
    for (uint32_t i = 0; i < op->count; i++) {
        Value value = operand_value(frame, op->operands[i]);
        if (i) buf_char(&buf, ' ');
        if (!op->is_text && value.kind == VALUE_SET && value.count == 0) buf_text(&buf, "<undefined>");
        else format_value(&buf, !op->is_text && value.kind == VALUE_SET ? value.items[0] : value);
    }
    RegoTraceEvent event = { .kind = REGO_TRACE_NOTE, .is_print = !op->is_text, .file = frame->unit->file,
                             .loc = frame->unit->locs[op->row], .message = buf_peek(&buf), .depth = 1 };
    if (activity) {
        event.query_id = activity->query_id;
        event.parent_id = parent_of(activity);
        event.depth = activity->depth;
    }
    if (e->watch && e->watch->later && !event.is_print) event_put_off(e, &event);
    else e->tracer->event(e->tracer->context, &event);
    buf_deinit(&buf);
}

/* --- what holds for now ------------------------------------------------------------------------------------------ */

static Passed *passed_new(Eval *e, const RegoPlace *place, Passed *before)
{
    Watch *watch = e->watch;
    Passed *passed = watch->free;
    if (passed) watch->free = passed->before;
    else passed = eval_alloc(e, sizeof *passed);
    if (!passed) return NULL;
    const Activity *activity = watch->activity;
    *passed = (Passed){ .place = place, .before = before, .values = activity->values, .query_id = activity->query_id,
                        .parent_id = parent_of(activity), .depth = activity->depth };
    return passed;
}

static void passed_unwind(Eval *e, Passed *passed);

/* Tells that it is asked for a further answer, and what it needed is. */
static void passed_redo(Eval *e, Passed *passed)
{
    if (passed->place && !passed->is_silent)
        event_send(e, &(RegoTraceEvent){ .kind = REGO_TRACE_REDO, .query_id = passed->query_id,
                                         .parent_id = passed->parent_id, .depth = passed->depth, .place = passed->place,
                                         .values = passed->values });
    later_send(e, &passed->later);
    passed->later = (LaterList){ 0 };
    passed_unwind(e, passed->inner);
    passed->inner = NULL;
}

/* Rules inside rules are as deep as the evaluation is. */
static void passed_unwind(Eval *e, Passed *passed)
{
    while (passed) {
        Passed *before = passed->before;
        passed_redo(e, passed);
        passed->before = e->watch->free;
        e->watch->free = passed;
        passed = before;
    }
}

/* --- a block ----------------------------------------------------------------------------------------------------- */

static bool statement_begin(Eval *e, const RegoPlace *place)
{
    Activity *activity = e->watch->activity;
    if (activity->current) activity->current->has_answered = true;
    Passed *passed = passed_new(e, place, activity->current);
    if (!passed) return false;
    passed->is_silent = place && value_get_bool(place->node, "negated", false);
    activity->current = passed;
    activity_send(e, REGO_TRACE_EVAL, place, "");
    return true;
}

/* Leaves statements until `place` is the one under way, NULL: all. */
static void statements_leave(Eval *e, const RegoPlace *place)
{
    Activity *activity = e->watch->activity;
    Passed *current = activity->current;
    if (!current || current->place == place) return;
    passed_unwind(e, current->inner);
    current->inner = NULL;
    if (!current->has_answered) activity_send(e, REGO_TRACE_FAIL, current->place, "");
    current->is_silent = true;          /* that it failed, or was asked again, has been told */
    while (activity->current && activity->current->place != place) {
        Passed *left = activity->current;
        activity->current = left->before;
        left->before = NULL;
        passed_unwind(e, left);
    }
    if (activity->current) passed_redo(e, activity->current);
}

static bool is_single(const Frame *frame, const Block *block)
{
    if (!block->place || block->place->kind != REGO_PLACE_RULE) return false;
    uint8_t kind = frame->rule->group->kind;
    return kind == GROUP_COMPLETE || kind == GROUP_FUNCTION;
}

static bool exits_early(const Frame *frame, const Block *block)
{
    return is_single(frame, block) && frame->exits_early;
}

/* A rule that is left at its first answer is told to go on by nobody; neither are the rules that it needed. */
static void rest_silence(Passed *rest)
{
    for (Passed *passed = rest; passed; passed = passed->before)
        for (Passed *inner = passed->inner; inner; inner = inner->before) {
            inner->is_silent = true;
            Later *first = inner->later.first;
            if (first && first->event.place == inner->place) inner->later.first = first->next;
        }
}

/* The block is over. What holds in a rule, and what it did behind its answer, waits for the statement that asked. */
static bool block_leave(Eval *e, const Frame *frame, const Block *block, bool has_answer)
{
    Activity *activity = e->watch->activity, *outer = activity->outer;
    Passed *rest = activity->current;
    bool waits = has_answer && is_single(frame, block) && outer && outer->current;
    activity->current = NULL;
    if (!waits) {
        if (has_answer && rest) activity_send(e, REGO_TRACE_REDO, block->place, "");
        passed_unwind(e, rest);
        return true;
    }
    if (exits_early(frame, block)) rest_silence(rest);
    Passed *whole = passed_new(e, block->place, outer->current->inner);
    const Value *values = e->watch->tracer ? values_keep(e, activity) : NULL;
    if (!whole || (e->watch->tracer && !values)) return false;
    whole->values = values;
    for (Passed *passed = rest; passed; passed = passed->before) passed->values = values;
    whole->inner = rest;
    whole->later = activity->later;
    whole->is_silent = activity->later.first != NULL;       /* its going on is the first of what was put off */
    outer->current->inner = whole;
    return true;
}

/* An answer, and whether more are wanted. */
static Run answer_take(Eval *e, Frame *frame, const Block *block, const Op *op, Yield *yield)
{
    Activity *activity = e->watch->activity;
    if (activity->current) activity->current->has_answered = true;
    activity_send(e, REGO_TRACE_EXIT, block->place, exits_early(frame, block) ? "early" : "");
    if (!yield) return RUN_ANSWER;
    Run run = yield->take(e, frame, op, yield);
    if (run != RUN_END) return run;
    if (is_single(frame, block) && e->watch->tracer && activity->outer && activity->outer->current)
        e->watch->later = &activity->later;
    activity_send(e, REGO_TRACE_REDO, block->place, "");
    if (activity->current) passed_redo(e, activity->current);
    return RUN_END;
}

static Run watched_loop(Eval *e, Frame *frame, const Block *block, Yield *yield, bool *has_answer)
{
    const Op *ops = block->ops;
    bool again = false;
    for (uint32_t at = 0;;) {
        const Op *op = &ops[at];
        Run run;
        if (!eval_spend(e, 1)) return block_failed(e, frame, op);
        if (op->code == OP_MARK) {
            if (!statement_begin(e, frame->unit->places[op->row])) return RUN_ERROR;
            run = RUN_ANSWER;
        } else if (op->code == OP_YIELD) {
            *has_answer = true;
            run = answer_take(e, frame, block, op, yield);
            if (run != RUN_END) return run;
        } else {
            run = op_run(e, frame, op, again);
            e->watch->activity->values_kept = NULL;
        }
        if (run == RUN_ERROR) return block_failed(e, frame, op);
        if (run == RUN_ANSWER) {
            at++;
            again = false;
            continue;
        }
        statements_leave(e, op->fail == OP_NO_CHOICE ? NULL : frame->unit->places[ops[op->fail].row]);
        if (op->fail == OP_NO_CHOICE) return RUN_END;
        at = op->fail;
        again = true;
    }
}

Run trace_block(Eval *e, Frame *frame, const Block *block, Yield *yield)
{
    Watch *watch = e->watch;
    LaterList *later = watch->later;
    Activity activity = { .outer = watch->activity, .values = frame->registers,
                          .value_count = frame->unit->register_count, .query_id = watch->id_count++,
                          .depth = watch->activity ? watch->activity->depth + 1 : 1 };
    bool has_answer = false;
    watch->activity = &activity;
    activity_send(e, REGO_TRACE_ENTER, block->place, "");
    Run run = watched_loop(e, frame, block, yield, &has_answer);
    watch->later = later;
    if (run != RUN_ERROR && !block_leave(e, frame, block, has_answer)) run = RUN_ERROR;
    watch->activity = activity.outer;
    return run;
}

/* --- an evaluation ----------------------------------------------------------------------------------------------- */

bool trace_begin(Eval *e, const RegoEvalContext *context)
{
    bool is_wanted = context->tracer || context->profile;
    if (!is_wanted || !e->policy->options.instrument) return true;
    e->watch = eval_alloc(e, sizeof *e->watch);
    if (!e->watch) return false;
    *e->watch = (Watch){ .tracer = context->tracer, .profile = context->profile };
    return true;
}

void trace_end(Eval *e)
{
    if (e->watch && e->watch->profile) time_take(e->watch, NULL);
}
