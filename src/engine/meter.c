#include "engine/meter.h"

#include <string.h>

#include "engine/internal.h"

const EngineMeter *engine_meter(const Engine *engine) { return &engine->meter; }

const char *meter_queue_name(MeterQueue queue)
{
    static const char *const names[METER_QUEUE_COUNT] = { "commands", "room", "consequences", "log-lines" };
    return names[queue];
}

void meter_left(Engine *engine, MeterQueue queue, int64_t since_ms)
{
    int64_t waited_ms = engine->now_ms - since_ms;
    spread_add(&engine->meter.queue_waits[queue], spread_us, waited_ms > 0 ? (uint64_t)waited_ms * 1000 : 0);
}

/* --- transitions ----------------------------------------------------------------------------------------------------- */

static void moved(Moves *moves, unsigned from, unsigned to, uint64_t count, int64_t took_ms)
{
    moves->counts[from][to] += count;
    if (took_ms >= 0) spread_add(&moves->times[from][to], spread_us, (uint64_t)took_ms * 1000);
}

/* Milliseconds since `since_base`, from 1; 0 is not known. */
static uint32_t stamp(const Engine *engine, const Resident *resident)
{
    int64_t passed = engine->now_ms - resident->since_base + 1;
    return passed < 1 ? 1 : passed < UINT32_MAX ? (uint32_t)passed : UINT32_MAX;
}

static int64_t stayed(uint32_t now, uint32_t since) { return since ? (int64_t)(now - since) : -1; }

void meter_before(const Resident *resident, const Event *event, MeterMark *out)
{
    const Run *run = &resident->run;
    out->run_state = run->state;
    out->step_state = event->step < run->step_count ? run->steps[event->step].state : STEP_STATE_COUNT;
}

static void step_moved(Engine *engine, Resident *resident, const Event *event, unsigned before)
{
    const Run *run = &resident->run;
    uint32_t now = stamp(engine, resident), *since = &resident->since[event->step];
    unsigned after = run->steps[event->step].state;
    bool is_range = event->kind == EVENT_STEP_READY || event->kind == EVENT_STEP_SKIPPED;
    uint32_t count = is_range && event->last > event->step && event->last < run->step_count ? event->last - event->step + 1 : 1;
    if (event->kind == EVENT_STEP_READY) {                  /* it waits from now on: what came before was not its turn */
        for (uint32_t i = 0; i < count; i++) since[i] = now;
        return;
    }
    if (before == after) return;
    moved(&engine->meter.steps, before, after, count, count == 1 ? stayed(now, *since) : -1);
    *since = now;
}

static void run_moved(Engine *engine, Resident *resident, unsigned before)
{
    const Run *run = &resident->run;
    EngineBatch *batch = batch_open(engine);
    batch->run_changes[before]--;
    batch->run_changes[run->state]++;
    uint32_t now = stamp(engine, resident);
    moved(&engine->meter.runs, before, run->state, 1, stayed(now, resident->run_since));
    resident->run_since = now;
    if (run_state_is_settled((RunState)run->state, (Resolution)run->resolution) && engine->now_ms >= run->created_ms)
        spread_add(&engine->meter.durations[run->state], spread_us, (uint64_t)(engine->now_ms - run->created_ms) * 1000);
}

/* Stamps count from then on: none is there yet. */
void meter_loaded(const Engine *engine, Resident *resident, int64_t since_ms)
{
    if (!since_ms || since_ms > engine->now_ms) return;
    resident->since_base = since_ms;
    resident->run_since = 1;
}

void meter_after(Engine *engine, Resident *resident, const Event *event, const MeterMark *mark)
{
    EngineMeter *meter = &engine->meter;
    if (mark->step_state != STEP_STATE_COUNT) step_moved(engine, resident, event, mark->step_state);
    if (event->kind == EVENT_RUN_CREATED) batch_open(engine)->run_changes[mark->run_state]++;
    if (mark->run_state != resident->run.state) run_moved(engine, resident, mark->run_state);
    switch ((int)event->kind) {
    case EVENT_RUN_CREATED: resident->run_since = stamp(engine, resident); break;
    case EVENT_STEP_RUNNING: meter->leases_granted += event->lease_ms != 0; break;
    case EVENT_LEASE_EXPIRED: meter->leases_expired++; break;
    case EVENT_STEP_REQUEUED: meter->step_retries++; break;
    case EVENT_RUN_REQUEUED: meter->run_retries++; break;
    case EVENT_COMPENSATION_ATTEMPT_FAILED: meter->compensation_retries += event->due_ms != 0; break;
    case EVENT_REPORT_REFUSED: meter->late_reports++; break;
    default: break;
    }
}

void meter_batch(Engine *engine, const EngineBatch *batch)
{
    EngineMeter *meter = &engine->meter;
    uint64_t events = 0, size = 0;
    for (uint32_t i = 0; i < batch->batch.record_count; i++) {
        events += batch->records[i].event_count;
        size += batch->records[i].record.len + batch->records[i].payload.len;
    }
    spread_add(&meter->batch_events, spread_sizes, events);
    spread_add(&meter->batch_records, spread_sizes, batch->batch.record_count);
    spread_add(&meter->batch_bytes, spread_sizes, size);
}

void meter_durable(Engine *engine, const EngineBatch *batch)
{
    for (unsigned i = 0; i < RUN_STATE_COUNT; i++) engine->meter.run_changes[i] += batch->run_changes[i];
}

size_t engine_size(const Engine *engine)
{
    size_t size = engine->state_size + engine->hot_size + engine->mail_size + engine->out_size + engine->line_size;
    if (engine->open) size += engine->open->batch.arena.size;
    for (const EngineBatch *batch = engine->under_way; batch; batch = batch->next) size += batch->batch.arena.size;
    for (const EngineBatch *batch = engine->failed; batch; batch = batch->next) size += batch->batch.arena.size;
    return size;
}

/* --- how full it is ---------------------------------------------------------------------------------------------------- */

static void queue_add(QueueGauge *queue, uint32_t depth, int64_t waited_ms)
{
    queue->depth += depth;
    if (depth && waited_ms > queue->oldest_ms) queue->oldest_ms = waited_ms;
}

/* Where runs of that list wait: at one executor, for any of several, or for nobody that there is; NULL: at one that has no gauge. */
static QueueGauge *gauge_of(const Engine *engine, EngineGauge *out, uint32_t lane)
{
    if (lane >= engine->lane_count) return engine->groups[lane - engine->lane_count] ? &out->several : &out->nowhere;
    uint32_t slot = engine->lane_slots[lane];
    return slot < METER_EXECUTOR_COUNT_MAX ? &out->executors[slot].waiting : NULL;
}

static void gauge_tenant(const Engine *engine, const Tenant *tenant, EngineGauge *out, TenantGauge *own)
{
    const Mail *first = tenant->queue.first;
    *own = (TenantGauge){ .running = tenant->running_count + tenant->inherited_count };
    size_t size = tenant->name.len < NAME_SIZE_MAX ? tenant->name.len : NAME_SIZE_MAX;
    memcpy(own->name, tenant->name.len ? tenant->name.ptr : "", size);
    queue_add(&own->commands, tenant->queue.count, first ? engine->now_ms - first->queued_ms : 0);
    queue_add(&out->commands, own->commands.depth, own->commands.oldest_ms);
    queue_add(&out->work, tenant->work.count, tenant->work.first ? engine->now_ms - tenant->work.first->work_since : 0);
    for (uint32_t lane = 0; tenant->waiting_count && lane < engine->lane_count + engine->group_count; lane++)
        for (uint32_t level = 0; level < PRIORITY_COUNT; level++) {
            const ResidentList *list = &tenant->waiting[lane][level];
            if (!list->count) continue;
            int64_t waited_ms = engine->now_ms - list->first->wait_since;
            QueueGauge *queue = gauge_of(engine, out, lane);
            queue_add(&own->waiting, list->count, waited_ms);
            if (queue) queue_add(queue, list->count, waited_ms);
        }
}

static uint64_t business(const TenantGauge *tenant)
{
    return (uint64_t)tenant->commands.depth + tenant->waiting.depth + tenant->running;
}

/* The busiest are named; whoever has to give way to one of them is counted with the others. */
static void place_tenant(EngineGauge *out, const TenantGauge *own)
{
    TenantGauge *others = &out->tenants[METER_TENANT_COUNT_MAX], given_way = *own;
    if (!business(own) || !own->name[0]) return;
    if (out->named_count < METER_TENANT_COUNT_MAX) {
        out->tenants[out->named_count++] = *own;
        return;
    }
    TenantGauge *least = &out->tenants[0];
    for (uint32_t i = 1; i < METER_TENANT_COUNT_MAX; i++)
        if (business(&out->tenants[i]) < business(least)) least = &out->tenants[i];
    if (business(least) < business(own)) {
        given_way = *least;
        *least = *own;
    }
    others->running += given_way.running;
    queue_add(&others->commands, given_way.commands.depth, given_way.commands.oldest_ms);
    queue_add(&others->waiting, given_way.waiting.depth, given_way.waiting.oldest_ms);
}

void engine_gauge(const Engine *engine, EngineGauge *out)
{
    *out = (EngineGauge){ .reads = engine->read_count, .tenant_count = engine->tenant_count };
    queue_add(&out->lines, engine->line_count, log_lines_waited_ms(engine));
    out->tenants[METER_TENANT_COUNT_MAX].name[0] = '*';
    for (uint32_t i = 0; i < engine->options.executor_count && i < METER_EXECUTOR_COUNT_MAX; i++) {
        const Executor *executor = engine->options.executors[i];
        out->executors[i] = (ExecutorGauge){ .name = executor->name, .kind = executor->kind, .under_way = executor->under_way + executor->inherited,
                                             .capacity = executor->capacity, .is_leased = executor->lease_ms != 0 };
        out->tokens_refused += executor->token_refused_count;
        if (executor->lease_ms) out->live_leases += executor->under_way + executor->inherited;
        out->executor_count++;
    }
    const Tenant *tenant = engine->tenant;
    for (uint32_t i = 0; i < engine->tenant_count; i++, tenant = tenant->next) {
        TenantGauge own;
        gauge_tenant(engine, tenant, out, &own);
        place_tenant(out, &own);
    }
}
