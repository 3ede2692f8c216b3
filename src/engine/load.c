/* load.c - a run from its rows: the snapshot, then the records behind it; and single payloads that a decision misses.
 *
 * The run's row says where it ends. Its plan, its snapshot and the records are asked for; when all are there the run is
 * built, and checked against the row: the hash of its last record and the number of its last event must be those that the
 * row states, or the run is set aside and the rest goes on.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "engine/internal.h"
#include "ledger/chain.h"
#include "ledger/record.h"
#include "value/json.h"

typedef enum LoadPart { PART_PLAN, PART_SNAPSHOT, PART_RECORDS, PART_START } LoadPart;

struct Loader {
    Arena arena;                        /* copies of what was answered */
    uint64_t last_position, event_count;
    Digest head, plan_digest;
    Str tenant;
    PlanEntry *plan;
    Str snapshot;                       /* empty: none */
    uint64_t snapshot_event, snapshot_position;
    BatchRecord *records;               /* newest first */
    uint32_t record_count;
    size_t record_capacity;
    Str start, start_payload;           /* the record of its creation: its trace, and its parameters */
    uint32_t left;                      /* answers that are still to come */
    int64_t moved_ms;                   /* when the newest of the records that are folded changed its state; 0: none did */
    Error error;                        /* the first thing that went wrong */
};

void loader_free(Loader *loader)
{
    if (!loader) return;
    if (loader->plan) plan_let_go(loader->plan);
    arena_deinit(&loader->arena);
    free(loader);
}

static Digest digest_cell(const Cell *cell)
{
    Digest digest = { 0 };
    if (cell->text.len == sizeof digest) memcpy(&digest, cell->text.ptr, sizeof digest);
    return digest;
}

/* --- asking -------------------------------------------------------------------------------------------------------------- */

static void ask_part(Engine *engine, Resident *resident, LoadPart part, const QueryAsk *ask)
{
    Loader *loader = resident->loader;
    if (read_begin(engine, ask, &(PendingRead){ .kind = READ_LOAD, .run_no = resident->run_no, .part = part })) loader->left++;
    else error_set(&loader->error, ERR_UNAVAILABLE, "the store takes no more questions now");
}

/* The records from that position back to the one behind the snapshot, a page at a time. */
static void ask_records(Engine *engine, Resident *resident, uint64_t position)
{
    ask_part(engine, resident, PART_RECORDS,
             &(QueryAsk){ .query = QUERY_RUN_TAIL, .param_count = 2, .row_count_max = LOAD_RECORD_COUNT,
                          .params = { cell_int((int64_t)position), cell_int((int64_t)resident->loader->snapshot_event) } });
}

/* Large parameters are read when a decision asks for them: many runs may be read at a time. */
static void ask_start(Engine *engine, Resident *resident, const Cell *row)
{
    bool is_large = row[RUNS_params_size].kind == CELL_INT && row[RUNS_params_size].integer > LOAD_PARAMS_SIZE_MAX;
    if (is_large || hot_is_full(engine))
        ask_part(engine, resident, PART_START,
                 &(QueryAsk){ .query = QUERY_RUN_TAIL, .params = { row[RUNS_params_at], cell_int(0) }, .param_count = 2, .row_count_max = 1 });
    else
        ask_part(engine, resident, PART_START,
                 &(QueryAsk){ .query = QUERY_RECORD, .params = { row[RUNS_params_at] }, .param_count = 1 });
    if (is_large) resident->params.size = (uint32_t)row[RUNS_params_size].integer;
}

bool load_begin(Engine *engine, Resident *resident, const Cell *row)
{
    Loader *loader = calloc(1, sizeof *loader);
    CHECK(loader);
    arena_init(&loader->arena, SIZE_MAX);
    resident->loader = loader;
    loader->last_position = (uint64_t)row[RUNS_last_position].integer;
    loader->event_count = (uint64_t)row[RUNS_event_count].integer;
    loader->head = digest_cell(&row[RUNS_head]);
    loader->plan_digest = digest_cell(&row[RUNS_plan_digest]);
    loader->tenant = arena_copy(&loader->arena, row[RUNS_tenant].text);
    loader->plan = plan_cache_find(engine, &loader->plan_digest);
    if (loader->plan) {
        plan_hold(loader->plan);
    } else {
        Str digest = { (const char *)loader->plan_digest.bytes, sizeof loader->plan_digest };
        ask_part(engine, resident, PART_PLAN,
                 &(QueryAsk){ .query = QUERY_PLAN, .params = { cell_blob(digest) }, .param_count = 1 });
    }
    ask_part(engine, resident, PART_SNAPSHOT,
             &(QueryAsk){ .query = QUERY_SNAPSHOT, .params = { cell_int((int64_t)resident->run_no) }, .param_count = 1 });
    if (row[RUNS_params_at].kind == CELL_INT) ask_start(engine, resident, row);
    if (loader->left) return true;
    load_failed(engine, resident, &loader->error);
    return false;
}

/* --- building ------------------------------------------------------------------------------------------------------------ */

static Status fold(Resident *resident, Loader *loader, Error *err)
{
    Run *run = &resident->run;
    Digest hash = { 0 };
    for (uint32_t i = loader->record_count; i-- > 0;) {
        const BatchRecord *raw = &loader->records[i];
        /* What was changed on disk never reaches the run. The record before the oldest of a tail is not at hand. */
        Digest computed = chain_record(&hash, raw->record);
        bool is_checked = i + 1 < loader->record_count || raw->first_event == 1;
        if (is_checked && memcmp(&computed, &raw->hash, sizeof computed) != 0)
            return error_set(err, ERR_CORRUPT, "the record at %llu does not have its hash: 'maestro ledger verify' tells more",
                             (unsigned long long)raw->position);
        Record record;
        Status status = record_decode(&loader->arena, raw->record, &record, err);
        if (status) return status;
        if (raw->first_event != run->event_count + 1)
            return error_set(err, ERR_CORRUPT, "the record at %llu does not follow event %llu of its run",
                             (unsigned long long)raw->position, (unsigned long long)run->event_count);
        EventPlace place = { .now_ms = record.head.now_ms, .position = raw->position };
        uint8_t before = run->state;
        for (uint32_t j = 0; j < record.event_count; j++) run_apply(run, &resident->plan->plan, &record.events[j], &place);
        if (run->state != before || raw->first_event == 1) loader->moved_ms = place.now_ms;
        hash = raw->hash;
    }
    if (loader->record_count && memcmp(&hash, &loader->head, sizeof hash) != 0)
        return error_set(err, ERR_CORRUPT, "the last record of the run does not have the hash that its row states");
    if (memcmp(&run->plan_digest, &loader->plan_digest, sizeof run->plan_digest) != 0)
        return error_set(err, ERR_CORRUPT, "the run's row names another plan than its events");
    if (run->event_count != loader->event_count)
        return error_set(err, ERR_CORRUPT, "the run has %llu events, and its row states %llu",
                         (unsigned long long)run->event_count, (unsigned long long)loader->event_count);
    return OK;
}

static bool is_wanted(const Event *event, const Plan *plan, uint32_t which)
{
    if (event->payload == EVENT_NO_PAYLOAD) return false;
    if (which == MISSING_PARAMS) return event->kind == EVENT_RUN_CREATED || event->kind == EVENT_PARAMS_CHANGED;
    if (which >= plan->step_count)                      /* what ended a pause: its own record says, or that of a signal */
        return event->kind == EVENT_TRIGGER_RECEIVED || event->kind == EVENT_SIGNAL_RECEIVED
            || (event->kind == EVENT_TRIGGER_ENDED && event->step == plan->terms->pauses[which - plan->step_count]);
    return event->step == which && (event->kind == EVENT_STEP_SUCCEEDED || event->kind == EVENT_STEP_WAITING
                                    || event->kind == EVENT_EFFECT_COMMITTED || event->kind == EVENT_EFFECT_INTENDED
                                    || event->kind == EVENT_POLL_ATTEMPTED || event->kind == EVENT_POLL_TIMED_OUT);
}

/* Its trace is the one of its creation, and its parameters are beside it; both are needed soon. An older ledger has no trace
 * there, and a payload may be erased. */
static void take_start(Engine *engine, Resident *resident, Loader *loader)
{
    Record record;
    Error err;
    Str text;
    resident->trace = trace_make(resident->run.seed);
    if (!loader->start.len || record_decode(&loader->arena, loader->start, &record, &err)) return;
    trace_read(record.head.trace, &resident->trace);
    resident_keep_tracestate(resident, record.head.tracestate);
    if (resident->run.params_at != record.head.position) return;        /* they were changed since */
    for (uint32_t i = 0; i < record.event_count; i++)
        if (is_wanted(&record.events[i], &loader->plan->plan, MISSING_PARAMS)
            && record_payload(&record, loader->start_payload, record.events[i].payload, &text, &err) == OK)
            resident_keep(engine, resident, MISSING_PARAMS, text);
}

void leases_renew(const Engine *engine, Run *run)
{
    const Compensation *item = run_compensation(run);
    for (uint32_t i = 0; i < run->active_count; i++) {
        const ActiveStep *active = &run->active[i];
        if (active->lease_ms)
            run_renew(run, active->step, run->steps[active->step].attempt, active->holder, engine->now_ms + holder_lease_ms(engine, active->holder),
                      RENEWAL_BY_OWNER);
    }
    uint64_t holder = run->rollback.active.holder;
    if (item && run->rollback.active.lease_ms)
        run_renew(run, item->step, rollback_attempt(run, item->attempt), holder, engine->now_ms + holder_lease_ms(engine, holder),
                  RENEWAL_BY_OWNER);
}

/* Since when it is in its state, as far as what was read tells; 0: it does not. Of a run that is paused by somebody, or waits for a
 * signal, the last record is the one that parked it, unless something was told it in vain meanwhile. */
static int64_t state_since_ms(const Run *run, const Loader *loader)
{
    if (loader->moved_ms) return loader->moved_ms;
    if (run->ended_ms) return run->ended_ms;
    if (run->state == RUN_PAUSED && run->awaited.step != STEP_NONE) return run->awaited.since_ms;
    return run->state == RUN_PAUSED || run->state == RUN_WAITING_SIGNAL ? run->updated_ms : 0;
}

static void build(Engine *engine, Resident *resident)
{
    Loader *loader = resident->loader;
    Error err = loader->error;
    Status status = err.status;
    if (!status) {
        resident_bind(engine, resident, loader->plan, loader->tenant);
        if (loader->snapshot.len) status = run_decode(&resident->run, &loader->plan->plan, loader->snapshot, &err);
        if (!status) status = fold(resident, loader, &err);
    }
    if (status) {
        load_failed(engine, resident, &err);
        return;
    }
    resident->last_position = loader->last_position;
    resident->head = loader->head;
    resident->snapshot_event = loader->snapshot_event;
    resident->has_timer_row = loader->snapshot.len != 0;        /* it was parked once: there may be one */
    /* Its last record parked it: snapshot and timer are rows, and it may leave as it came. */
    resident->is_parking = loader->snapshot.len && loader->snapshot_event == resident->run.event_count && run_is_parked(&resident->run)
                        && !resident->run.notification_count;
    meter_loaded(engine, resident, state_since_ms(&resident->run, loader));
    take_start(engine, resident, loader);
    loader_free(loader);
    resident->loader = NULL;
    resident->begun_count = resident->run.begun_count;
    if (resident->step_numbers) projection_numbers(&resident->run, resident->step_numbers);
    leases_renew(engine, &resident->run);       /* heartbeats are no events and were forgotten with the memory */
    inherit_load(engine, resident);
    int64_t due = run_due_ms(&resident->run);
    if (due != INT64_MAX) timer_note(engine, resident->run_no, due);
    effect_resume(engine, resident);
    queue_work(engine, resident);
    decide_inbox(engine, resident);
}

/* A run that cannot be read is set aside: who asked is told why, and nothing else is touched. Where the store just does not
 * answer, it is tried again: what executors and timers say is kept, and every open run is looked for after a while. */
void load_failed(Engine *engine, Resident *resident, const Error *why)
{
    Error err = *why;
    bool is_for_now = err.status == ERR_UNAVAILABLE;
    error_prefix(&err, "run %s cannot be loaded: ", resident->id.text);
    for (Mail *mail; (mail = mail_list_take(&resident->inbox));) {
        if (is_for_now && !mail->reply) queue_mail(engine, tenant_of_run(engine, mail->run_no), mail);
        else batch_reply(engine, NULL, mail, err.status, &err, /* is_noop= */ false);
    }
    if (is_for_now) recover_later(engine);
    resident_remove(engine, resident);
}

/* --- answers ------------------------------------------------------------------------------------------------------------- */

static void take_plan(Engine *engine, Loader *loader, const ReadAnswer *answer)
{
    Error err;
    if (!answer->row_count)
        error_set(&loader->error, ERR_CORRUPT, "the plan it is pinned to is not in the store");
    else if (plan_cache_add(engine, answer->cells[PLANS_document].text, &loader->plan, &err))
        loader->error = err;
    else if (memcmp(&loader->plan->digest, &loader->plan_digest, sizeof(Digest)) != 0)
        error_set(&loader->error, ERR_CORRUPT, "its plan is not the one it was pinned to");
    else loader->plan->is_stored = true;
    if (loader->error.status) loader->plan = NULL;
    else plan_hold(loader->plan);
}

static void take_records(Engine *engine, Resident *resident, const ReadAnswer *answer)
{
    Loader *loader = resident->loader;
    uint64_t before = 0;
    for (uint32_t i = 0; i < answer->row_count; i++) {
        const Cell *row = answer->cells + (size_t)i * answer->cell_count;
        loader->records = arena_grow(&loader->arena, loader->records, sizeof *loader->records, loader->record_count,
                                     &loader->record_capacity);
        loader->records[loader->record_count++] = (BatchRecord){
            .position = (uint64_t)row[LEDGER_position].integer, .first_event = (uint64_t)row[LEDGER_first_event].integer,
            .hash = digest_cell(&row[LEDGER_hash]), .record = arena_copy(&loader->arena, row[LEDGER_record].text),
        };
        before = (uint64_t)row[LEDGER_prev_position].integer;
    }
    if (before && answer->row_count == LOAD_RECORD_COUNT) ask_records(engine, resident, before);
}

void load_answer(Engine *engine, Resident *resident, uint32_t part, const ReadAnswer *answer)
{
    Loader *loader = resident->loader;
    loader->left--;
    if (answer->status && !loader->error.status) loader->error = answer->error;
    if (!loader->error.status) {
        if (part == PART_PLAN) take_plan(engine, loader, answer);
        if (part == PART_RECORDS) take_records(engine, resident, answer);
        if (part == PART_START && answer->row_count) {
            loader->start = arena_copy(&loader->arena, answer->cells[LEDGER_record].text);
            loader->start_payload = arena_copy(&loader->arena, answer->cells[LEDGER_payload].text);
        }
        if (part == PART_SNAPSHOT) {
            if (answer->row_count) {
                loader->snapshot = arena_copy(&loader->arena, answer->cells[SNAPSHOTS_state].text);
                loader->snapshot_event = (uint64_t)answer->cells[SNAPSHOTS_event_count].integer;
            }
            if (loader->snapshot_event < loader->event_count) ask_records(engine, resident, loader->last_position);
        }
    }
    if (!loader->left) build(engine, resident);
}

/* --- single payloads ----------------------------------------------------------------------------------------------------- */

static uint64_t payload_at(const Resident *resident, uint32_t which)
{
    return which == MISSING_PARAMS ? resident->run.params_at : run_value_at(&resident->run, which);
}

/* Of those that miss a payload as many are served as may have theirs at hand beside the ones that wait; one always is. */
static bool may_fetch(const Engine *engine, const Resident *resident)
{
    size_t size = resident_text_size(resident, resident->fetching);
    if (!engine->fetch_count) return true;
    return engine->fetch_count < ENGINE_FETCH_COUNT_MAX
        && engine->hot_size + engine->fetch_size + size <= 2 * (engine->options.size_max / ENGINE_HOT_SHARE);
}

static bool fetch(Engine *engine, Resident *resident)
{
    QueryAsk ask = { .query = QUERY_RECORD, .params = { cell_int((int64_t)payload_at(resident, resident->fetching)) }, .param_count = 1 };
    PendingRead read = { .kind = READ_VALUE, .run_no = resident->run_no, .part = resident->fetching,
                         .size = resident_text_size(resident, resident->fetching) };
    if (!read_begin(engine, &ask, &read)) return false;
    resident->is_fetch_asked = true;
    engine->fetch_count++;
    engine->fetch_size += read.size;
    return true;
}

static void queue_fetch(Engine *engine, Resident *resident)
{
    ResidentList *list = &engine->fetches;
    resident->fetch_next = NULL;
    *(list->last ? &list->last->fetch_next : &list->first) = resident;
    list->last = resident;
    list->count++;
}

void load_fetch(Engine *engine, Resident *resident, uint32_t which)
{
    if (resident->fetching != STEP_NONE) return;
    resident->fetching = which;
    bool is_stored = payload_at(resident, which) <= engine->durable_position;   /* else its own commit brings it there first */
    if (engine->fetches.count || !is_stored || !may_fetch(engine, resident) || !fetch(engine, resident)) queue_fetch(engine, resident);
}

/* In their order, so that what is large comes to its turn; one whose commit is on its way keeps nobody waiting. */
void load_fetch_more(Engine *engine)
{
    Resident *last = engine->fetches.last;
    for (bool is_last = !last; !is_last;) {
        Resident *resident = engine->fetches.first;
        bool is_stored = payload_at(resident, resident->fetching) <= engine->durable_position;
        if (is_stored && !may_fetch(engine, resident)) return;
        is_last = resident == last;
        load_unqueue(engine, resident);
        if (!is_stored || !fetch(engine, resident)) queue_fetch(engine, resident);
    }
}

void load_unqueue(Engine *engine, Resident *resident)
{
    if (resident->fetching == STEP_NONE || resident->fetching == MISSING_TARGET || resident->is_fetch_asked) return;
    ResidentList *list = &engine->fetches;
    Resident **place = &list->first, *before = NULL;
    while (*place && *place != resident) {
        before = *place;
        place = &before->fetch_next;
    }
    if (!*place) return;
    *place = resident->fetch_next;
    if (list->last == resident) list->last = before;
    list->count--;
}

static Status find_payload(Arena *arena, const Plan *plan, const Cell *row, uint32_t which, Str *out, Error *err)
{
    Record record;
    Status status = record_decode(arena, row[LEDGER_record].text, &record, err);
    if (status) return status;
    for (uint32_t i = record.event_count; i-- > 0;)
        if (is_wanted(&record.events[i], plan, which))
            return record_payload(&record, row[LEDGER_payload].text, record.events[i].payload, out, err);
    return error_set(err, ERR_CORRUPT, "the record at %lld has no such payload", (long long)row[LEDGER_position].integer);
}

void load_fetched(Engine *engine, Resident *resident, uint32_t which, const ReadAnswer *answer)
{
    resident->fetching = STEP_NONE;
    resident->is_fetch_asked = false;
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Error err = answer->error;
    Status status = answer->status;
    Str text = { 0 };
    if (!status && !answer->row_count) status = error_set(&err, ERR_CORRUPT, "a record of the run is missing");
    if (!status) status = find_payload(&arena, &resident->plan->plan, answer->cells, which, &text, &err);
    /* An erased payload is null from now on; that it was erased is in the ledger. */
    if (!status || status == ERR_NOT_FOUND) resident_keep(engine, resident, which, text);
    arena_deinit(&arena);
    if (status && status != ERR_NOT_FOUND && status != ERR_UNAVAILABLE) {
        /* What it needs is damaged. The run stays as it is; who asks is told why. */
        error_prefix(&err, "run %s cannot go on: ", resident->id.text);
        for (Mail *mail; (mail = mail_list_take(&resident->inbox));)
            batch_reply(engine, resident, mail, err.status, &err, /* is_noop= */ false);
        return;
    }
    queue_work(engine, resident);               /* a store that did not answer is asked again */
    if (!status) decide_inbox(engine, resident);
}
