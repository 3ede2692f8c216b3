#include "api/spans.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "core/plan.h"
#include "core/run.h"
#include "engine/run_index.h"
#include "view/run_rows.h"

#define PLAN_COUNT 64u              /* plans whose steps can be named at once */
#define EXECUTOR_SIZE 64u           /* of its name, as it is told */

typedef struct SpanStep {
    uint32_t number;                /* of its step run; 0: it has not begun */
    uint32_t attempt;               /* as executors know it; 0: none is under way */
    int64_t began_ms, attempt_ms;
    bool is_open, is_undo;
    char executor[EXECUTOR_SIZE];
} SpanStep;

typedef struct SpanRun {
    struct SpanRun *older, *newer;
    uint64_t run_no, seed;
    char id[ID_SIZE + 1];
    Trace trace;                    /* of its first record */
    Digest plan;
    char *texts;                    /* tenant, definition, tracestate, one behind the other */
    Str tenant, definition, tracestate;
    uint32_t leg;                   /* how often it was settled before */
    int64_t began_ms;               /* of this leg */
    uint32_t rollback;              /* number of the newest one */
    bool is_settled;
    SpanStep *steps;
    uint32_t step_count;
    size_t size;                    /* of all of it, in bytes */
} SpanRun;

/* The names of a plan's steps: a fraction of the plan. */
typedef struct SpanPlan {
    Digest digest;
    Arena arena;                    /* of the names */
    Str *names;
    uint32_t name_count;
    uint64_t used;                  /* when it was needed last; 0: the place is free */
} SpanPlan;

struct SpanBook {
    Store *store;
    SpanOut out;
    void *context;
    RunIndex runs;
    SpanRun *newest, *oldest;
    size_t run_size;                /* bytes of what is kept of them */
    SpanPlan plans[PLAN_COUNT];
    size_t plan_size;
    uint64_t use;                   /* counts how often a name was asked for */
    bool is_silent;                 /* what is read again was told before */
};

void span_add_text(Span *span, const char *name, Str text)
{
    if (text.len && span->attribute_count < SPAN_ATTRIBUTE_COUNT_MAX) span->attributes[span->attribute_count++] = (SpanAttribute){ name, text, 0 };
}

void span_add_number(Span *span, const char *name, int64_t number)
{
    if (span->attribute_count < SPAN_ATTRIBUTE_COUNT_MAX) span->attributes[span->attribute_count++] = (SpanAttribute){ name, { 0 }, number };
}

/* --- what is known of runs ---------------------------------------------------------------------------------------------- */

static void unlink_run(SpanBook *book, SpanRun *run)
{
    *(run->older ? &run->older->newer : &book->oldest) = run->newer;
    *(run->newer ? &run->newer->older : &book->newest) = run->older;
    run->older = run->newer = NULL;
}

static void link_run(SpanBook *book, SpanRun *run)
{
    run->older = book->newest;
    *(book->newest ? &book->newest->newer : &book->oldest) = run;
    book->newest = run;
}

static void forget(SpanBook *book, SpanRun *run)
{
    run_index_remove(&book->runs, run->run_no);
    unlink_run(book, run);
    book->run_size -= run->size;
    free(run->texts);
    free(run->steps);
    free(run);
}

static SpanRun *run_make(SpanBook *book, uint64_t run_no, const Record *record, const Event *created)
{
    SpanRun *run = calloc(1, sizeof *run);
    CHECK(run);
    const Str given[] = { created->tenant, created->name, record->head.tracestate };
    Str *const kept[] = { &run->tenant, &run->definition, &run->tracestate };
    size_t text_size = given[0].len + given[1].len + given[2].len + 1;
    run->texts = malloc(text_size);
    CHECK(run->texts);
    run->size = sizeof *run + text_size;
    book->run_size += run->size;
    for (size_t i = 0, used = 0; i < 3; used += given[i].len, i++) {
        if (given[i].len) memcpy(run->texts + used, given[i].ptr, given[i].len);
        *kept[i] = (Str){ run->texts + used, given[i].len };
    }
    run->run_no = run_no;
    run->seed = created->seed;
    memcpy(run->id, record->head.run_id.ptr, record->head.run_id.len < ID_SIZE ? record->head.run_id.len : ID_SIZE);
    if (created->digest) run->plan = *created->digest;
    if (!trace_read(record->head.trace, &run->trace)) run->trace = trace_make(run->seed);
    run->began_ms = record->head.now_ms;
    if (book->runs.count >= HERALD_RUN_COUNT_MAX) forget(book, book->oldest);
    run_index_put(&book->runs, run_no, run);
    link_run(book, run);
    return run;
}

static SpanStep *step_of(SpanBook *book, SpanRun *run, uint32_t step)
{
    if (step >= PLAN_STEP_COUNT_MAX) return NULL;
    if (step >= run->step_count) {
        uint32_t count = step + 1 < 2 * run->step_count ? 2 * run->step_count : step + 1;
        run->steps = realloc(run->steps, count * sizeof *run->steps);
        CHECK(run->steps);
        memset(run->steps + run->step_count, 0, (count - run->step_count) * sizeof *run->steps);
        run->size += (count - run->step_count) * sizeof *run->steps;
        book->run_size += (count - run->step_count) * sizeof *run->steps;
        run->step_count = count;
    }
    return &run->steps[step];
}

static void plan_leave(SpanBook *book, SpanPlan *plan)
{
    book->plan_size -= plan->arena.size;
    arena_deinit(&plan->arena);
    *plan = (SpanPlan){ 0 };
}

/* A free place, or that of the plan whose names were not needed for longest. */
static SpanPlan *plan_place(SpanBook *book)
{
    SpanPlan *place = &book->plans[0];
    for (uint32_t i = 1; i < PLAN_COUNT; i++)
        if (book->plans[i].used < place->used) place = &book->plans[i];
    if (place->used) plan_leave(book, place);
    return place;
}

/* `newest` stays, however large it is: else its names were read anew for each of its steps. */
static void plans_trim(SpanBook *book, const SpanPlan *newest)
{
    while (book->plan_size > HERALD_NAME_SIZE_MAX) {
        SpanPlan *oldest = NULL;
        for (uint32_t i = 0; i < PLAN_COUNT; i++) {
            SpanPlan *plan = &book->plans[i];
            if (plan->used && plan != newest && (!oldest || plan->used < oldest->used)) oldest = plan;
        }
        if (!oldest) return;
        plan_leave(book, oldest);
    }
}

/* NULL where the plan cannot be read. */
static SpanPlan *names_read(SpanBook *book, const Digest *digest)
{
    Arena arena;
    Plan whole;
    Error err;
    SpanPlan *plan = NULL;
    arena_init(&arena, SIZE_MAX);
    if (!store_plan(book->store, &arena, digest, &whole, &err)) {
        plan = plan_place(book);
        plan->digest = *digest;
        arena_init(&plan->arena, SIZE_MAX);
        plan->names = ARENA_ARRAY(&plan->arena, Str, whole.step_count + 1);
        plan->name_count = whole.step_count;
        for (uint32_t i = 0; i < whole.step_count; i++) plan->names[i] = arena_copy(&plan->arena, whole.steps[i].id);
        book->plan_size += plan->arena.size;
    }
    arena_deinit(&arena);
    return plan;
}

/* The id of a step, as its plan has it; empty where the plan cannot be read. */
static Str step_name(SpanBook *book, const SpanRun *run, uint32_t step)
{
    SpanPlan *plan = NULL;
    for (uint32_t i = 0; i < PLAN_COUNT && !plan; i++)
        if (book->plans[i].used && memcmp(&book->plans[i].digest, &run->plan, sizeof run->plan) == 0) plan = &book->plans[i];
    bool is_known = plan != NULL;
    if (!is_known) plan = names_read(book, &run->plan);
    if (!plan) return (Str){ 0 };
    plan->used = ++book->use;
    if (!is_known) plans_trim(book, plan);
    return step < plan->name_count ? plan->names[step] : (Str){ 0 };
}

/* --- giving out ------------------------------------------------------------------------------------------------------------- */

static Span span_begin(const SpanRun *run, SpanSort sort, uint64_t number, uint32_t attempt, int64_t began_ms, int64_t ended_ms)
{
    Span span = { .trace = trace_span(&run->trace, run->seed, sort, number, attempt), .tracestate = run->tracestate, .kind = SPAN_INTERNAL,
                  .began_ns = began_ms * 1000000, .ended_ns = ended_ms * 1000000 };
    span_add_text(&span, "maestro.run.id", str_of(run->id));
    span_add_text(&span, "maestro.tenant", run->tenant);
    span_add_text(&span, "maestro.workflow", run->definition);
    return span;
}

static void set_parent(Span *span, const Trace *parent) { memcpy(span->parent, parent->span, sizeof span->parent); }

/* Whoever began the trace decides whether it is collected. */
static void give(SpanBook *book, const SpanRun *run, const Span *span)
{
    if (!book->is_silent && run->trace.flags & TRACE_SAMPLED) book->out(book->context, span);
}

typedef struct Ending { const Event *event; int64_t now_ms; SpanStatus status; } Ending;

static void say_why(Span *span, const Ending *ending)
{
    span->status = ending->status;
    if (ending->status != SPAN_ERROR) return;
    span->message = ending->event->text;
    if (ending->event->cause) span_add_text(span, "maestro.cause", str_of(cause_name((Cause)ending->event->cause)));
}

static void end_attempt(SpanBook *book, SpanRun *run, uint32_t index, const Ending *ending)
{
    SpanStep *step = step_of(book, run, index);
    char name[NAME_SIZE_MAX * 3 + 32];
    if (!step || !step->attempt) return;
    Span span = span_begin(run, SPAN_ATTEMPT, step->number, step->attempt, step->attempt_ms, ending->now_ms);
    Trace parent = step->is_undo ? trace_span(&run->trace, run->seed, SPAN_RUN, run->leg, 0)
                                 : trace_span(&run->trace, run->seed, SPAN_STEP, step->number, 0);
    Str id = step_name(book, run, index);
    Buf text = buf_on(name, sizeof name);
    buf_format(&text, "%s %.*s #%u", step->is_undo ? "compensation" : "attempt", STR_ARG(id), (unsigned)attempt_number(step->attempt));
    span.name = buf_peek(&text);
    span.kind = SPAN_CLIENT;
    set_parent(&span, &parent);
    span_add_text(&span, "maestro.step.id", id);
    span_add_number(&span, "maestro.attempt", attempt_number(step->attempt));
    span_add_text(&span, "maestro.executor", str_of(step->executor));
    say_why(&span, ending);
    give(book, run, &span);
    step->attempt = 0;
}

static void end_step(SpanBook *book, SpanRun *run, uint32_t index, const Ending *ending)
{
    SpanStep *step = step_of(book, run, index);
    char name[NAME_SIZE_MAX * 3 + 32];
    if (!step || !step->is_open) return;
    end_attempt(book, run, index, ending);
    Span span = span_begin(run, SPAN_STEP, step->number, 0, step->began_ms, ending->now_ms);
    Trace parent = trace_span(&run->trace, run->seed, SPAN_RUN, run->leg, 0);
    Str id = step_name(book, run, index);
    Buf text = buf_on(name, sizeof name);
    buf_format(&text, "step %.*s", STR_ARG(id));
    span.name = buf_peek(&text);
    set_parent(&span, &parent);
    span_add_text(&span, "maestro.step.id", id);
    span_add_number(&span, "maestro.step.run", step->number);
    say_why(&span, ending);
    give(book, run, &span);
    step->is_open = false;
}

static void end_run(SpanBook *book, SpanRun *run, const Ending *ending, const char *state)
{
    char name[NAME_SIZE_MAX + 16];
    Span span = span_begin(run, SPAN_RUN, run->leg, 0, run->began_ms, ending->now_ms);
    Buf text = buf_on(name, sizeof name);
    buf_format(&text, "run %.*s", STR_ARG(run->definition));
    span.name = buf_peek(&text);
    set_parent(&span, &run->trace);
    span_add_text(&span, "maestro.state", str_of(state));
    say_why(&span, ending);
    give(book, run, &span);
    run->is_settled = true;
}

/* --- records --------------------------------------------------------------------------------------------------------------------- */

static void begin_attempt(SpanBook *book, SpanRun *run, const Event *event, int64_t now_ms)
{
    SpanStep *step = step_of(book, run, event->step);
    if (!step) return;
    if (!step->is_open || (event->number && step->number != event->number)) {
        step->is_open = true;
        step->began_ms = now_ms;
    }
    if (event->number) step->number = event->number;
    step->attempt = event->attempt ? event->attempt : 1;
    step->attempt_ms = now_ms;
    step->is_undo = false;
    Buf name = buf_on(step->executor, sizeof step->executor - 1);
    buf_str(&name, str_slice(event->name, 0, event->name.len < sizeof step->executor - 1 ? event->name.len : sizeof step->executor - 1));
    step->executor[name.len] = '\0';
}

static void begin_undo(SpanBook *book, SpanRun *run, const Event *event, int64_t now_ms)
{
    SpanStep *step = step_of(book, run, event->step);
    if (!step) return;
    step->attempt = run->rollback << ROLLBACK_SHIFT | event->attempt;
    step->attempt_ms = now_ms;
    step->is_undo = true;
}

/* Settled as it was, it goes on: a further leg of it begins. */
static void go_on(SpanRun *run, int64_t now_ms)
{
    if (!run->is_settled) return;
    run->is_settled = false;
    run->leg++;
    run->began_ms = now_ms;
}

static void take_event(SpanBook *book, SpanRun *run, const Event *event, int64_t now_ms)
{
    Ending ending = { event, now_ms, SPAN_OK };
    Ending failing = { event, now_ms, SPAN_ERROR }, leaving = { event, now_ms, SPAN_UNSET };
    switch ((int)event->kind) {
    case EVENT_STEP_DISPATCHED: begin_attempt(book, run, event, now_ms); break;
    case EVENT_STEP_RUNNING: {
        SpanStep *step = step_of(book, run, event->step);
        if (step && step->attempt) step->attempt_ms = now_ms;
        break;
    }
    case EVENT_POLL_ATTEMPTED:
    case EVENT_STEP_WAITING: end_attempt(book, run, event->step, &ending); break;
    case EVENT_ATTEMPT_FAILED:
    case EVENT_LEASE_EXPIRED:
    case EVENT_COMPENSATION_ATTEMPT_FAILED:
    case EVENT_COMPENSATION_ORPHANED: end_attempt(book, run, event->step, &failing); break;
    case EVENT_COMPENSATION_SUCCEEDED: end_attempt(book, run, event->step, &ending); break;
    case EVENT_STEP_SUCCEEDED: end_step(book, run, event->step, &ending); break;
    case EVENT_STEP_FAILED: end_step(book, run, event->step, &failing); break;
    case EVENT_STEP_CANCELLED:
    case EVENT_STEP_SKIPPED: end_step(book, run, event->step, &leaving); break;
    case EVENT_COMPENSATION_STARTED:
        go_on(run, now_ms);
        run->rollback = (uint32_t)event->count;
        break;
    case EVENT_COMPENSATION_RUNNING: begin_undo(book, run, event, now_ms); break;
    case EVENT_RUN_REQUEUED: go_on(run, now_ms); break;
    case EVENT_RUN_REVISED:
        if (event->digest) run->plan = *event->digest;
        break;
    case EVENT_RUN_SUCCEEDED: end_run(book, run, &ending, "succeeded"); break;
    case EVENT_RUN_FAILED: end_run(book, run, &failing, "failed"); break;
    case EVENT_RUN_CANCELLED: end_run(book, run, &leaving, "cancelled"); break;
    case EVENT_RUN_COMPENSATED: end_run(book, run, &ending, "compensated"); break;
    case EVENT_RUN_COMPENSATION_FAILED: end_run(book, run, &failing, "compensation-failed"); break;
    default: break;
    }
}

static SpanRun *take_record(SpanBook *book, SpanRun *run, uint64_t run_no, const Record *record)
{
    for (uint32_t i = 0; i < record->event_count; i++) {
        const Event *event = &record->events[i];
        if (event->kind == EVENT_RUN_CREATED && !run) run = run_make(book, run_no, record, event);
        else if (run) take_event(book, run, event, record->head.now_ms);
    }
    return run;
}

/* What this process did not see of it, or has forgotten. */
static SpanRun *read_again(SpanBook *book, uint64_t run_no, uint64_t position)
{
    Arena arena;
    Error err;
    const Cell *row = NULL;
    StepRows records = { 0 };
    SpanRun *run = NULL;
    QueryAsk ask = { .query = QUERY_RUN, .params = { cell_int((int64_t)run_no) }, .param_count = 1 };
    arena_init(&arena, SIZE_MAX);
    Status status = row_select(&arena, book->store, &ask, &row, &err);
    if (!status && row) status = run_records(&arena, book->store, row, 0, /* has_payloads= */ false, &records, &err);
    book->is_silent = true;
    for (size_t i = 0; !status && i < records.count; i++) {
        Record record;
        if ((uint64_t)records.rows[i][LEDGER_position].integer >= position) break;
        if (record_decode_any(&arena, records.rows[i][LEDGER_record].text, &record, &err)) break;
        run = take_record(book, run, run_no, &record);
    }
    book->is_silent = false;
    arena_deinit(&arena);
    return run;
}

void span_book_take(SpanBook *book, uint64_t run_no, const Record *record)
{
    SpanRun *run = run_index_find(&book->runs, run_no);
    if (!run && record->head.first_event > 1) run = read_again(book, run_no, record->head.position);
    if (run) {
        unlink_run(book, run);
        link_run(book, run);
    }
    run = take_record(book, run, run_no, record);
    if (run && run->is_settled) forget(book, run);
    while (book->run_size > HERALD_RUN_SIZE_MAX && book->oldest != book->newest) forget(book, book->oldest);
}

size_t span_book_size(const SpanBook *book) { return book->run_size + book->plan_size; }

/* --- make ------------------------------------------------------------------------------------------------------------------------- */

SpanBook *span_book_new(Store *store, SpanOut out, void *context)
{
    SpanBook *book = calloc(1, sizeof *book);
    CHECK(book);
    *book = (SpanBook){ .store = store, .out = out, .context = context };
    return book;
}

void span_book_free(SpanBook *book)
{
    if (!book) return;
    while (book->oldest) forget(book, book->oldest);
    run_index_deinit(&book->runs);
    for (uint32_t i = 0; i < PLAN_COUNT; i++)
        if (book->plans[i].used) plan_leave(book, &book->plans[i]);
    free(book);
}
