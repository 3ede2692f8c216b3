/* dedupe.c - declared idempotency keys: a step whose key has a result takes that, one whose key is under way waits for it.
 *
 * The store knows the keys of durable records: key -> step run -> its state and output. What was decided since is kept here
 * until it is durable, so that two runs of one turn do not both begin. A run that waits is woken when the run that has the
 * key ends that step; where the store does not show the end yet, it asks again.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "engine/internal.h"
#include "value/json.h"

typedef struct FreshKey {
    struct FreshKey *next;
    Str tenant, domain, key;
    uint32_t generation, step;
    uint64_t run_no, seq;               /* the batch that says so */
    Id run_id;
    bool is_done;
    Str output;                         /* JSON; empty: null */
    char bytes[];
} FreshKey;

/* A step that waits until the run that has its key is done with it; till then nobody is asked again. */
typedef struct KeyWaiter { struct KeyWaiter *next; uint64_t waiter, holder; uint32_t step; Id source; } KeyWaiter;

/* What the store is being asked for one step of a run, and what it has answered. */
struct KeyQuestion {
    uint32_t step;
    bool is_asked, is_answered;
    uint64_t holder;                    /* the run that has the key ... */
    int64_t holder_step;                /* ... and which of its step runs */
    int64_t offset, size;               /* of its output */
    Dedupe answer;
    Id source;
    Str output;                         /* malloc'ed, or empty */
    Str domain, key;
    char bytes[];
};

/* --- keys that are not durable yet ----------------------------------------------------------------------------------------- */

static FreshKey *fresh_find(Engine *engine, Str tenant, Str domain, Str key, uint32_t generation)
{
    for (FreshKey *fresh = engine->fresh_keys; fresh; fresh = fresh->next)
        if (fresh->generation == generation && str_is(fresh->key, key) && str_is(fresh->domain, domain)
            && str_is(fresh->tenant, tenant))
            return fresh;
    return NULL;
}

static Str pack(char **place, Str text)
{
    if (text.len) memcpy(*place, text.ptr, text.len);
    Str copy = { *place, text.len };
    *place += text.len;
    return copy;
}

void dedupe_begun(Engine *engine, Resident *resident, const Event *event, uint64_t seq)
{
    const StepTerms *terms = &resident->plan->plan.terms->steps[event->step];
    if (!terms->key.len || !event->key.len || resident->plan->plan.steps[event->step].strategy != STRATEGY_DEDUPE_KEY) return;
    Str tenant = resident->run.tenant;
    FreshKey *fresh = malloc(sizeof *fresh + tenant.len + terms->domain.len + event->key.len);
    CHECK(fresh);
    *fresh = (FreshKey){ .next = engine->fresh_keys, .generation = (uint32_t)event->count, .step = event->step,
                         .run_no = resident->run_no, .run_id = resident->id, .seq = seq };
    char *place = fresh->bytes;
    fresh->tenant = pack(&place, tenant);
    fresh->domain = pack(&place, terms->domain);
    fresh->key = pack(&place, event->key);
    engine->fresh_keys = fresh;
}

static void fresh_free(FreshKey *fresh)
{
    free((char *)fresh->output.ptr);
    free(fresh);
}

static void wake(Engine *engine, uint64_t holder)
{
    for (KeyWaiter **place = &engine->key_waiters; *place;) {
        KeyWaiter *waiter = *place;
        if (waiter->holder != holder) {
            place = &waiter->next;
            continue;
        }
        *place = waiter->next;
        Resident *resident = resident_find(engine, waiter->waiter);
        if (resident && resident->plan) {
            effect_forget_waiting(engine, resident);
            queue_work(engine, resident);
        }
        free(waiter);
    }
}

/* A step with a declared key has ended: with an output, or so that another may try. */
void dedupe_ended(Engine *engine, Resident *resident, uint32_t step, bool is_done, Str output, uint64_t seq)
{
    if (!resident->plan->plan.terms->steps[step].key.len) return;
    for (FreshKey **place = &engine->fresh_keys; *place;) {
        FreshKey *fresh = *place;
        /* What an earlier run of the step gave, under an earlier generation of the key, stays as it is. */
        if (fresh->run_no != resident->run_no || fresh->step != step || fresh->is_done) {
            place = &fresh->next;
        } else if (is_done) {
            fresh->is_done = true;
            fresh->seq = seq;
            if (output.len) {
                char *copy = malloc(output.len);
                CHECK(copy);
                fresh->output = (Str){ memcpy(copy, output.ptr, output.len), output.len };
            }
            place = &fresh->next;
        } else {
            *place = fresh->next;
            fresh_free(fresh);
        }
    }
    wake(engine, resident->run_no);
}

/* What is durable the store knows; but not while an older answer of it may be on its way. */
void dedupe_purge(Engine *engine)
{
    if (engine->key_read_count) return;
    for (FreshKey **place = &engine->fresh_keys; *place;) {
        FreshKey *fresh = *place;
        if (!batch_is_durable(engine, fresh->seq)) {
            place = &fresh->next;
            continue;
        }
        *place = fresh->next;
        fresh_free(fresh);
    }
}

/* The commits that said so came to nothing, or nobody knows: the store is asked again. */
void dedupe_discard(Engine *engine)
{
    for (FreshKey **place = &engine->fresh_keys; *place;) {
        FreshKey *fresh = *place;
        if (batch_is_durable(engine, fresh->seq)) {
            place = &fresh->next;
            continue;
        }
        *place = fresh->next;
        wake(engine, fresh->run_no);
        fresh_free(fresh);
    }
}

void dedupe_deinit(Engine *engine)
{
    while (engine->fresh_keys) {
        FreshKey *fresh = engine->fresh_keys;
        engine->fresh_keys = fresh->next;
        fresh_free(fresh);
    }
    while (engine->key_waiters) {
        KeyWaiter *waiter = engine->key_waiters;
        engine->key_waiters = waiter->next;
        free(waiter);
    }
}

/* --- asking ---------------------------------------------------------------------------------------------------------------- */

/* For an event of the decision being made: what it is copied from may be gone before the event is recorded. */
static Str source_text(Engine *engine, const Id *id)
{
    return arena_copy(&engine->arena, id_peek(id));
}

static KeyWaiter *waiter_find(Engine *engine, uint64_t run_no, uint32_t step)
{
    KeyWaiter *known = engine->key_waiters;
    while (known && !(known->waiter == run_no && known->step == step)) known = known->next;
    return known;
}

static Dedupe wait_for(Engine *engine, uint64_t run_no, uint32_t step, uint64_t holder, const Id *source)
{
    KeyWaiter *entry = malloc(sizeof *entry);
    CHECK(entry);
    *entry = (KeyWaiter){ engine->key_waiters, run_no, holder, step, *source };
    engine->key_waiters = entry;
    return (Dedupe){ .kind = DEDUPE_UNDER_WAY, .source = source_text(engine, source) };
}

static Value output_value(Engine *engine, Str text)
{
    Value value = value_null();
    Error err;
    CHECK(!text.len || json_parse(&engine->arena, text, &value, &err) == OK);
    return value;
}

void key_question_free(KeyQuestion *question)
{
    if (!question) return;
    free((char *)question->output.ptr);
    free(question);
}

Dedupe dedupe_ask(Engine *engine, Resident *resident, uint32_t step, Str domain, Str key)
{
    uint32_t generation = resident->run.steps[step].generation;
    FreshKey *fresh = fresh_find(engine, resident->run.tenant, domain, key, generation);
    if (fresh && fresh->run_no == resident->run_no && fresh->step == step) return (Dedupe){ .kind = DEDUPE_NONE };
    if (fresh && fresh->is_done)
        return (Dedupe){ .kind = DEDUPE_DONE, .source = source_text(engine, &fresh->run_id), .output = output_value(engine, fresh->output) };
    const KeyWaiter *waiter = waiter_find(engine, resident->run_no, step);
    if (waiter) return (Dedupe){ .kind = DEDUPE_UNDER_WAY, .source = source_text(engine, &waiter->source) };
    if (fresh) return wait_for(engine, resident->run_no, step, fresh->run_no, &fresh->run_id);
    KeyQuestion *question = resident->key_question;
    if (question && question->is_answered && question->step == step) {
        Dedupe answer = question->answer;
        if (answer.kind == DEDUPE_UNDER_WAY)
            return wait_for(engine, resident->run_no, step, question->holder, &question->source);
        answer.source = source_text(engine, &question->source);
        if (answer.kind == DEDUPE_DONE) answer.output = output_value(engine, question->output);
        return answer;
    }
    if (question && question->is_asked) return (Dedupe){ .kind = DEDUPE_MISSING };
    key_question_free(question);
    question = calloc(1, sizeof *question + domain.len + key.len);
    CHECK(question);
    question->step = step;
    char *place = question->bytes;
    question->domain = pack(&place, domain);
    question->key = pack(&place, key);
    resident->key_question = question;
    return (Dedupe){ .kind = DEDUPE_MISSING };
}

/* --- the store's answer: the key's row, then its run and step run, then the record with the output ----------------------------------- */

enum { PART_KEY, PART_RUN, PART_STEP_RUN, PART_OUTPUT };

static void ask_part(Engine *engine, Resident *resident, uint32_t part, const QueryAsk *ask)
{
    if (read_begin(engine, ask, &(PendingRead){ .kind = READ_DEDUPE, .run_no = resident->run_no, .part = part })) {
        engine->key_read_count++;
        resident->key_question->is_asked = true;
    } else {
        queue_work(engine, resident);           /* asked again in a later turn */
    }
}

void dedupe_fetch(Engine *engine, Resident *resident)
{
    KeyQuestion *question = resident->key_question;
    if (!question || question->is_asked) return;
    uint32_t generation = resident->run.steps[question->step].generation;
    ask_part(engine, resident, PART_KEY,
             &(QueryAsk){ .query = QUERY_DEDUPE, .param_count = 4,
                          .params = { cell_text(resident->run.tenant), cell_text(question->domain), cell_text(question->key),
                                      cell_int(generation) } });
}

static void settle_question(Engine *engine, Resident *resident, DedupeKind kind)
{
    KeyQuestion *question = resident->key_question;
    question->is_asked = false;
    question->is_answered = true;
    question->answer = (Dedupe){ .kind = kind };
    /* The store may be behind: where the holder has ended its step since, it is asked again when that is durable. */
    Resident *holder = kind == DEDUPE_UNDER_WAY ? resident_find(engine, question->holder) : NULL;
    if (holder && !batch_is_durable(engine, holder->batch_seq)) question->is_answered = false;
    if (question->is_answered) {
        decide_more(engine, resident);          /* at once, while the answer is true */
        if (!resident->key_question || !resident->key_question->is_answered) return;        /* another step asks now */
        key_question_free(resident->key_question);
        resident->key_question = NULL;
    } else {
        key_question_free(question);
        resident->key_question = NULL;
        queue_work(engine, resident);
    }
}

static void take_step_run(Engine *engine, Resident *resident, const Cell *row)
{
    KeyQuestion *question = resident->key_question;
    if (str_is_text(row[STEP_RUNS_status].text, "SUCCEEDED")) {
        question->offset = row[STEP_RUNS_output_offset].integer;
        question->size = row[STEP_RUNS_output_size].integer;
        if (row[STEP_RUNS_output_at].kind != CELL_INT) settle_question(engine, resident, DEDUPE_DONE);
        else ask_part(engine, resident, PART_OUTPUT,
                      &(QueryAsk){ .query = QUERY_RECORD, .params = { row[STEP_RUNS_output_at] }, .param_count = 1 });
        return;
    }
    bool is_over = row[STEP_RUNS_finished_ms].kind == CELL_INT;
    settle_question(engine, resident, is_over ? DEDUPE_NONE : DEDUPE_UNDER_WAY);
}

static void take_output(KeyQuestion *question, const Cell *row)
{
    Str payload = row[LEDGER_payload].text;
    size_t begin = SALT_SIZE + (size_t)question->offset, end = begin + (size_t)question->size;
    if (row[LEDGER_payload].kind != CELL_BLOB || end > payload.len || !question->size) return;     /* erased: null */
    char *copy = malloc(end - begin);
    CHECK(copy);
    memcpy(copy, payload.ptr + begin, end - begin);
    question->output = (Str){ copy, end - begin };
}

/* The step run itself has the key: it is tried again. Another step of the same run is another one. */
static bool is_own(const Resident *resident, uint32_t step, const Cell *row)
{
    uint32_t number = resident->run.steps[step].number;
    return (uint64_t)row[DEDUPE_run_no].integer == resident->run_no && number && row[DEDUPE_step_index].integer == number - 1;
}

void dedupe_answered(Engine *engine, Resident *resident, uint32_t part, const ReadAnswer *answer)
{
    KeyQuestion *question = resident->key_question;
    engine->key_read_count--;
    if (!question) return;
    question->is_asked = false;
    if (answer->status) {                       /* asked again: an answer that is not known is no answer */
        queue_work(engine, resident);
        return;
    }
    bool is_known = answer->row_count > 0;
    if (part == PART_KEY && is_known && !is_own(resident, question->step, answer->cells)) {
        question->holder = (uint64_t)answer->cells[DEDUPE_run_no].integer;
        question->holder_step = answer->cells[DEDUPE_step_index].integer;
        ask_part(engine, resident, PART_RUN,
                 &(QueryAsk){ .query = QUERY_RUN, .param_count = 1, .params = { answer->cells[DEDUPE_run_no] } });
    } else if (part == PART_RUN && is_known && answer->cells[RUNS_archived_to].kind == CELL_TEXT
               && id_read(answer->cells[RUNS_id].text, &question->source)) {
        settle_question(engine, resident, DEDUPE_DONE);         /* keys of archived runs stay taken; the output is elsewhere: null */
    } else if (part == PART_RUN && is_known && id_read(answer->cells[RUNS_id].text, &question->source)) {
        ask_part(engine, resident, PART_STEP_RUN,
                 &(QueryAsk){ .query = QUERY_STEP_RUN, .param_count = 2,
                              .params = { cell_int((int64_t)question->holder), cell_int(question->holder_step) } });
    } else if (part == PART_STEP_RUN && is_known) {
        take_step_run(engine, resident, answer->cells);
    } else if (part == PART_OUTPUT && is_known) {
        take_output(question, answer->cells);
        settle_question(engine, resident, DEDUPE_DONE);
    } else {
        settle_question(engine, resident, DEDUPE_NONE);
    }
}
