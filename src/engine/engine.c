#include "engine/engine.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/limits.h"
#include "engine/internal.h"

/* --- make ---------------------------------------------------------------------------------------------------------------- */

static bool take_one(void *context, const Cell *cells, uint32_t count)
{
    (void)cells, (void)count;
    *(bool *)context = true;
    return false;
}

/* What a file says is not trusted: a head that its own log contradicts would lead to records that nobody could read. */
static Status check_head(Engine *engine, const LogHead *head, int64_t now_ms, Error *err)
{
    bool is_behind = false;
    QueryAsk ask = { .query = QUERY_RECORD_HASHES, .params = { cell_int((int64_t)head->position + 1) }, .param_count = 1 };
    Status status = head->position < INT64_MAX ? store_select(engine->store, &ask, take_one, &is_behind, err) : OK;
    bool is_possible = head->position < LOG_POSITION_MAX && head->next_run_no < LOG_POSITION_MAX && head->next_step_run_no < LOG_POSITION_MAX
                    && head->now_ms >= 0 && head->now_ms <= now_ms + DURATION_MS_MAX;
    if (!status && (is_behind || !is_possible))
        status = error_set(err, ERR_CORRUPT, "the head of the log does not fit its records: the store is damaged; `maestro store verify` tells more");
    return status;
}

Status engine_take_log(Engine *engine, int64_t now_ms, Error *err)
{
    LogHead head;
    Status status = store_own(engine->store, engine->options.log, &head, err);
    if (!status) status = check_head(engine, &head, now_ms, err);
    if (!status) status = log_chain_read(engine, err);
    if (status) return status;
    engine->epoch = head.epoch;
    engine->position = head.position;
    engine->head = head.head;
    engine->durable_position = head.position;
    engine->durable_head = head.head;
    engine->next_run_no = head.next_run_no ? head.next_run_no : 1;
    engine->next_step_run_no = head.next_step_run_no ? head.next_step_run_no : 1;
    engine->now_ms = now_ms > head.now_ms ? now_ms : head.now_ms;       /* I13 */
    log_note_add(engine, &(LogNote){ .kind = EVENT_OWNER_CHANGED, .count = head.epoch });
    return OK;
}

static bool take_line_no(void *context, const Cell *cells, uint32_t count)
{
    (void)count;
    *(uint64_t *)context = (uint64_t)cells[LOGS_line_no].integer + 1;
    return false;
}

/* Each gets its place among all of them, and its lanes theirs. */
static void take_executors(Engine *engine)
{
    const EngineOptions *options = &engine->options;
    for (uint32_t i = 0; i < options->executor_count; i++) {
        Executor *executor = options->executors[i];
        if (!executor->lane_count) executor->lane_count = 1;
        executor->slot = i;
        executor->lane_first = engine->lane_count;
        executor->under_way = executor->inherited = 0;
        engine->lane_count += executor->lane_count;
    }
    engine->room_tenants = calloc(engine->lane_count + 1, sizeof *engine->room_tenants);
    engine->lane_slots = calloc(engine->lane_count + 1, sizeof *engine->lane_slots);
    CHECK(engine->room_tenants && engine->lane_slots);
    for (uint32_t i = 0; i < options->executor_count; i++)
        for (uint32_t n = 0; n < options->executors[i]->lane_count; n++) engine->lane_slots[options->executors[i]->lane_first + n] = i;
}

Status engine_open(const EngineOptions *options, const EngineClock *clock, Engine **out_engine, Error *err)
{
    int64_t now_ms = clock->wall_ms;
    Engine *engine = calloc(1, sizeof *engine);
    CHECK(engine);
    engine->options = *options;
    if (!engine->options.run_count_max) engine->options.run_count_max = ENGINE_RUN_COUNT_MAX;
    if (!engine->options.queue_count_max) engine->options.queue_count_max = ENGINE_QUEUE_COUNT_MAX;
    if (!engine->options.size_max) engine->options.size_max = ENGINE_SIZE_MAX;
    engine->store = options->store;
    engine->wall_ms = now_ms;
    engine->steady_ms = clock->steady_ms;
    engine->gates_due = INT64_MAX;
    engine->envelopes_due = INT64_MAX;
    engine->policy_digest = digest_of(builtin_policy_text());
    arena_init(&engine->arena, SIZE_MAX);
    buf_init(&engine->record_buf, RECORD_SIZE_MAX);
    buf_init(&engine->payload_buf, RECORD_PAYLOAD_SIZE_MAX);
    heap_init(&engine->timers);
    engine->placing = calloc(options->executor_count + 1, sizeof *engine->placing);
    CHECK(engine->placing);
    take_executors(engine);
    engine->next_line_no = 1;
    Status status = engine_take_log(engine, now_ms, err);
    if (!status && now_ms < engine->now_ms) log_note_jump(engine, now_ms - engine->now_ms);
    if (!status)
        status = store_select(engine->store, &(QueryAsk){ .query = QUERY_LOG_LINE_LAST }, take_line_no, &engine->next_line_no,
                              err);
    if (status) {
        engine_close(engine);
        return status;
    }
    status = envelopes_open(engine, err);
    if (status) {
        engine_close(engine);
        return status;
    }
    engine->first_own_run_no = engine->next_run_no;
    engine->holder_epoch = engine->epoch;
    engine->state = ENGINE_RECOVERING;
    recover_begin(engine, /* is_rescan= */ false);
    *out_engine = engine;
    return OK;
}

void engine_close(Engine *engine)
{
    if (!engine) return;
    batches_deinit(engine);
    residents_deinit(engine);
    queues_deinit(engine);
    log_lines_deinit(engine);
    late_effects_deinit(engine);
    for (uint32_t i = 0; engine->reads && i < ENGINE_READ_COUNT_MAX; i++)
        if (engine->reads[i].is_asked && engine->reads[i].mail) mail_free(engine->reads[i].mail);
    free(engine->reads);
    gates_deinit(engine);
    places_deinit(engine);
    outs_deinit(engine);
    envelopes_deinit(engine);
    dedupe_deinit(engine);
    requests_deinit(engine);
    revisions_deinit(engine);
    secrets_deinit(engine);
    plan_cache_deinit(engine);              /* after the mails that hold plans */
    run_index_deinit(&engine->start_keys);
    for (uint32_t i = 0; i < 2; i++) run_index_deinit(&engine->durable_keys[i]);
    timers_deinit(engine);
    recover_deinit(engine);
    buf_deinit(&engine->record_buf);
    buf_deinit(&engine->payload_buf);
    arena_deinit(&engine->arena);
    free(engine->placing);
    free(engine->room_tenants);
    free(engine->lane_slots);
    free(engine);
}

/* --- the loop ------------------------------------------------------------------------------------------------------------ */

/* The log's time never goes back. Where the clock was set back it goes on from where it was, as fast as time passes, so that
 * nobody waits until the clock has caught up. */
static void take_time(Engine *engine, const EngineClock *clock)
{
    int64_t before_ms = engine->now_ms;
    int64_t passed = clock->steady_ms > engine->steady_ms ? clock->steady_ms - engine->steady_ms : 0;
    int64_t jump_ms = clock->wall_ms - engine->wall_ms - passed;
    if (engine->now_ms > engine->wall_ms || jump_ms < 0) engine->now_ms += passed;
    engine->wall_ms = clock->wall_ms;
    engine->steady_ms = clock->steady_ms;
    if (engine->wall_ms > engine->now_ms) engine->now_ms = engine->wall_ms;     /* I13 */
    if (engine->now_ms - before_ms - passed > LEASE_SKIP_MS) engine_keep_leases(engine);
    log_note_jump(engine, jump_ms);
}

static void take_completions(Engine *engine)
{
    Completion completion;
    while (store_poll(engine->store, &completion)) {
        if (completion.kind == COMPLETION_READ) read_answered(engine, completion.read_id, completion.answer);
        else batch_completed(engine, &completion);
    }
}

static bool turn(Engine *engine, const EngineClock *clock)
{
    take_completions(engine);
    if (engine->state == ENGINE_FENCED) return false;
    batch_retry(engine);
    load_fetch_more(engine);
    recover_more(engine);
    timer_turn(engine);
    request_purge(engine);
    late_effects_perform(engine);
    gates_turn(engine);
    envelopes_turn(engine);
    effect_stir(engine);
    for (uint32_t i = 0; i < engine->options.executor_count; i++) {
        Executor *executor = engine->options.executors[i];
        if (executor->ops->turn) executor->ops->turn(executor, clock->steady_ms);
    }
    log_notes_record(engine);
    if (engine->state != ENGINE_STALLED) queue_serve(engine);
    else queue_refuse(engine);
    recover_leave(engine);
    log_lines_store(engine);
    batch_submit(engine);
    bool is_held = engine->open && engine->open->seq == engine->held_seq && engine->handed_turn == engine->turn;
    return engine->state != ENGINE_STALLED && (is_held || queue_has_more(engine));
}

void engine_tick(Engine *engine, const EngineClock *clock)
{
    if (engine->state != ENGINE_FENCED) take_time(engine, clock);
}

bool engine_turn(Engine *engine, const EngineClock *clock)
{
    if (engine->state == ENGINE_FENCED) return false;
    engine->turn++;
    engine->is_turning = true;
    take_time(engine, clock);
    queue_stamp(engine);
    plan_cache_trim(engine);
    bool has_more = turn(engine, clock);
    engine->is_turning = false;
    return has_more;
}

static bool asks_wait(const Engine *engine)
{
    const Tenant *tenant = engine->tenant;
    for (uint32_t i = 0; i < engine->tenant_count; i++, tenant = tenant->next)
        for (const Mail *mail = tenant->queue.first; mail; mail = mail->next)
            if (mail->reply && !mail->revising) return true;
    return false;
}

/* What came since the last turn, unless it has to wait for the store anyway. */
static bool has_mail(const Engine *engine)
{
    if (engine->state == ENGINE_STALLED) return engine->mail_count && asks_wait(engine);
    return engine->note_count || (engine->mail_count && engine->read_count < ENGINE_READ_COUNT_MAX && queue_has_more(engine));
}

int64_t engine_due_ms(const Engine *engine)
{
    if (has_mail(engine)) return engine->wall_ms;
    int64_t due = timer_first(engine);
    if (engine->sweep_at < due) due = engine->sweep_at;
    if (engine->gates_due < due) due = engine->gates_due;
    if (engine->envelopes_due < due && engine->state != ENGINE_STALLED) due = engine->envelopes_due;
    bool can_rescan = engine->rescan_at && !engine->is_recovering && engine->state != ENGINE_STALLED;
    if (can_rescan && engine->rescan_at < due) due = engine->rescan_at;
    if (engine->lines && engine->state != ENGINE_STALLED && !batch_is_large(engine) && engine->lines_due < due) due = engine->lines_due;
    if (engine->state == ENGINE_STALLED && engine->retry_at < due) due = engine->retry_at;
    return due == INT64_MAX ? due : due - (engine->now_ms - engine->wall_ms);       /* from the log's time to the clock's */
}

EngineState engine_state(const Engine *engine)
{
    return engine->state;
}

bool engine_is_ready(const Engine *engine)
{
    return engine->state == ENGINE_RUNNING || (engine->state == ENGINE_RECOVERING && recover_is_full(engine));
}

const Error *engine_trouble(const Engine *engine)
{
    return engine->state == ENGINE_STALLED || engine->state == ENGINE_FENCED ? &engine->trouble : NULL;
}

bool engine_waits_for_store(const Engine *engine)
{
    return engine->under_way || engine->read_count;
}

bool engine_is_idle(const Engine *engine)
{
    if (engine->open || engine->under_way || engine->mail_count || engine->note_count || engine->read_count
        || engine->fetches.count || engine->is_recovering || engine->lines || engine->stats.attempt_under_way || engine->late_count)
        return false;
    const Tenant *tenant = engine->tenant;
    for (uint32_t i = 0; i < engine->tenant_count; i++, tenant = tenant->next)
        if (tenant->work.count) return false;
    return true;
}

void engine_keep_leases(Engine *engine)
{
    for (Resident *resident = engine->newest; resident; resident = resident->older)
        if (!resident->loader) leases_renew(engine, &resident->run);
    for (uint32_t i = 0; i < engine->options.executor_count; i++) {
        Executor *executor = engine->options.executors[i];
        if (executor->ops->keep) executor->ops->keep(executor, engine->steady_ms);
    }
}

/* Nobody hears those that have attempts elsewhere while the process ends: that is not their silence. */
static void keep_leases_draining(Engine *engine)
{
    if (engine->now_ms < engine->renew_at) return;
    engine->renew_at = engine->now_ms + DRAIN_RENEW_MS;
    engine_keep_leases(engine);
}

/* Attempts that do not end with this process. */
static uint32_t elsewhere(const Engine *engine)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < engine->options.executor_count; i++) {
        Executor *executor = engine->options.executors[i];
        if (executor->ops->drain) count += executor->ops->drain(executor);
    }
    return count;
}

bool engine_drain(Engine *engine)
{
    if (engine->state == ENGINE_RUNNING || engine->state == ENGINE_RECOVERING) engine->state = ENGINE_DRAINING;
    keep_leases_draining(engine);
    return engine->stats.attempt_under_way <= elsewhere(engine) && !engine->open && !engine->under_way && !engine->mail_count;
}

/* --- what comes in ------------------------------------------------------------------------------------------------------- */

Status engine_plan_add(Engine *engine, Str document, Digest *out_digest, Error *err)
{
    PlanEntry *entry;
    Status status = plan_cache_add(engine, document, &entry, err);
    if (status) return status;
    entry->is_expected = true;
    *out_digest = entry->digest;
    return OK;
}

void engine_plan_take(Engine *engine, EnginePlan *plan, Digest *out_digest)
{
    PlanEntry *entry = plan_cache_take(engine, plan);
    entry->is_expected = true;
    *out_digest = entry->digest;
}

void engine_plan_text(Engine *engine, const Digest *plan, Str text)
{
    PlanEntry *entry = plan_cache_find(engine, plan);
    if (entry) plan_keep_text(engine, entry, text);
}

static const struct { const char *name, *text; } full_causes[FULL_CAUSE_COUNT] = {
    [FULL_NOT] = { "", "" },
    [FULL_QUEUE] = { "queue", "the queue of the tenant is filled to four fifths" },
    [FULL_RUNS] = { "executions", "as many executions are in memory as may be (--max-executions), to four fifths" },
    [FULL_MEMORY] = { "memory", "the memory for executions (--max-memory) is filled to four fifths" },
    [FULL_ENDING] = { "ending", "this process is about to end" },
};

const char *full_cause_name(FullCause cause) { return full_causes[cause].name; }

const char *engine_full_text(const Engine *engine) { return full_causes[engine->full].text; }

/* At a fill of ENGINE_FILL_MAX. */
static FullCause full_cause(const Engine *engine, const Tenant *tenant)
{
    const EngineOptions *options = &engine->options;
    if (engine->state >= ENGINE_DRAINING) return FULL_ENDING;
    if (tenant->queue.count >= (uint64_t)options->queue_count_max * ENGINE_FILL_MAX / 1000) return FULL_QUEUE;
    if (engine->run_count >= (uint64_t)options->run_count_max * ENGINE_FILL_MAX / 1000) return FULL_RUNS;
    return engine_size(engine) >= options->size_max / 1000 * ENGINE_FILL_MAX ? FULL_MEMORY : FULL_NOT;
}

/* What was expected has come: from here on its mail holds the plan. */
static PlanEntry *take_expected(Engine *engine, const Digest *digest)
{
    PlanEntry *entry = plan_cache_find(engine, digest);
    if (!entry) return NULL;
    plan_hold(entry);
    entry->is_expected = false;
    return entry;
}

bool engine_start(Engine *engine, const EngineStart *start)
{
    Tenant *tenant = tenant_of(engine, start->tenant);
    PlanEntry *entry = take_expected(engine, &start->plan);
    engine->full = full_cause(engine, tenant);
    if (engine->full) {
        if (entry) plan_let_go(entry);
        engine->stats.refused_count++;
        engine->stats.full_counts[engine->full]++;
        return false;
    }
    Mail *mail = mail_of_start(start);
    mail->entry = entry;
    queue_mail(engine, tenant, mail);
    return true;
}

bool engine_request(Engine *engine, const EngineRequest *request)
{
    Resident *resident = request->run_no ? resident_find(engine, request->run_no) : resident_of_id(engine, &request->run_id);
    Tenant *tenant = resident && resident->tenant ? resident->tenant : tenant_of(engine, request->tenant);
    if (tenant->queue.count >= engine->options.queue_count_max || engine->state == ENGINE_FENCED) {
        engine->stats.refused_count++;
        return false;
    }
    queue_mail(engine, tenant, mail_of_request(request));
    return true;
}

bool engine_revise(Engine *engine, const EngineRevision *revision)
{
    Tenant *tenant = tenant_of(engine, revision->tenant);
    if (tenant->queue.count >= engine->options.queue_count_max || engine->state == ENGINE_FENCED) {
        engine->stats.refused_count++;
        return false;
    }
    queue_mail(engine, tenant, mail_of_revision(revision));
    return true;
}

bool engine_secret(Engine *engine, const EngineSecret *secret)
{
    Tenant *tenant = tenant_of(engine, secret->tenant);
    if (tenant->queue.count >= engine->options.queue_count_max || engine->state == ENGINE_FENCED) {
        engine->stats.refused_count++;
        return false;
    }
    queue_mail(engine, tenant, mail_of_secret(secret));
    return true;
}

/* In the queue of nobody: a tenant whose own is full is refused all the same, and that is recorded. */
bool engine_keep(Engine *engine, const EngineKeep *keep)
{
    Tenant *tenant = tenant_of(engine, (Str){ 0 });
    if (tenant->queue.count >= engine->options.queue_count_max || engine->state == ENGINE_FENCED) {
        engine->stats.refused_count++;
        return false;
    }
    queue_mail(engine, tenant, mail_of_keep(keep));
    return true;
}

/* --- look ---------------------------------------------------------------------------------------------------------------- */

void engine_observe(Engine *engine, Observe observe, void *context)
{
    engine->observe = observe;
    engine->observe_context = context;
}

EngineStats engine_stats(const Engine *engine)
{
    EngineStats stats = engine->stats;
    stats.run_count = engine->run_count;
    stats.size = engine_size(engine);
    stats.size_max = engine->options.size_max;
    stats.hot_size = engine->hot_size;
    stats.batch_under_way = engine->under_way_count;
    stats.stall_count = engine->stall_count;
    return stats;
}
