#include "api/metrics.h"

#include <inttypes.h>

#include "api/api.h"
#include "api/herald.h"
#include "api/stream.h"
#include "base/check.h"
#include "os/usage.h"

typedef enum MetricKind {
#define METRIC(NAME, name, type, help) METRIC_##NAME,
#include "api/metrics.def"
    METRIC_KIND_COUNT
} MetricKind;

typedef struct MetricInfo { const char *name, *type, *help; } MetricInfo;
static const MetricInfo infos[METRIC_KIND_COUNT] = {
#define METRIC(NAME, name, type, help) { name, type, help },
#include "api/metrics.def"
};

void metrics_count(Metrics *metrics, const Call *call, uint64_t took_ns)
{
    size_t index = call->route ? (size_t)(call->route - routes) : METRIC_ROUTE_COUNT_MAX;
    CHECK(index <= METRIC_ROUTE_COUNT_MAX);
    metrics->requests[index][call->status / 100 < 6 ? call->status / 100 : 5]++;
    if (!call->stream.next) spread_add(&metrics->latency[index], spread_us, took_ns / 1000);
}

/* --- as text -------------------------------------------------------------------------------------------------------------------- */

static void head(Buf *out, MetricKind kind)
{
    const MetricInfo *info = &infos[kind];
    buf_format(out, "# HELP %s %s\n# TYPE %s %s\n", info->name, info->help, info->name, info->type);
}

static void value(Buf *out, MetricKind kind, const char *labels, double number)
{
    buf_format(out, *labels ? "%s{%s} %.17g\n" : "%s%s %.17g\n", infos[kind].name, labels, number);
}

static void plain(Buf *out, MetricKind kind, double number)
{
    head(out, kind);
    value(out, kind, "", number);
}

/* `unit` is how many of the spread's numbers make one of the metric's; `labels` is "" or name="value", without a comma at its end. */
static void print_spread(Buf *out, MetricKind kind, const char *labels, const Spread *spread, const uint64_t *bounds, double unit)
{
    const char *name = infos[kind].name, *comma = *labels ? "," : "";
    uint64_t below = 0;
    for (unsigned i = 0; i < SPREAD_BOUND_COUNT; i++) {
        below += spread->counts[i];
        buf_format(out, "%s_bucket{%s%sle=\"%.10g\"} %" PRIu64 "\n", name, labels, comma, (double)bounds[i] / unit, below);
    }
    buf_format(out, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", name, labels, comma, spread->count);
    buf_format(out, *labels ? "%s_sum{%s} %.9g\n" : "%s_sum%s %.9g\n", name, labels, (double)spread->sum / unit);
    buf_format(out, *labels ? "%s_count{%s} %" PRIu64 "\n" : "%s_count%s %" PRIu64 "\n", name, labels, spread->count);
}

static void print_times(Buf *out, MetricKind kind, const char *labels, const Spread *spread)
{
    print_spread(out, kind, labels, spread, spread_us, 1e6);
}

/* Labels whose values may hold anything. */
typedef struct Labels { char text[1024]; } Labels;

static void add_label(Buf *text, const char *name, Str given)
{
    if (text->len) buf_char(text, ',');
    buf_format(text, "%s=\"", name);
    for (size_t i = 0; i < given.len; i++) {
        char c = given.ptr[i];
        if (c == '"' || c == '\\') buf_char(text, '\\');
        buf_char(text, c == '\n' || c == '\r' ? ' ' : c);
    }
    buf_char(text, '"');
}

static const char *labels_of(Labels *labels, const char *name, Str first, const char *other, Str second)
{
    Buf text = buf_on(labels->text, sizeof labels->text - 1);
    add_label(&text, name, first);
    if (other) add_label(&text, other, second);
    labels->text[text.len] = '\0';
    return labels->text;
}

static const char *label(Labels *labels, const char *name, const char *first)
{
    return labels_of(labels, name, str_of(first), NULL, (Str){ 0 });
}

/* --- executions ------------------------------------------------------------------------------------------------------------------ */

static const char *run_word(unsigned state) { return run_state_name((RunState)state); }
static const char *step_word(unsigned state) { return step_state_name((StepState)state); }

/* What an alert looks at has a line before it happens: a counter that begins with what it counts has not increased. */
static bool run_may(unsigned from, unsigned to) { return to == RUN_FAILED && run_can((RunState)from, (RunState)to); }

static void print_moves(Buf *out, const Moves *moves, const char *(*word)(unsigned), bool (*may)(unsigned, unsigned), MetricKind counts,
                        MetricKind times, unsigned state_count)
{
    Labels labels;
    for (unsigned pass = 0; pass < 2; pass++) {
        head(out, pass ? times : counts);
        for (unsigned from = 0; from < state_count; from++)
            for (unsigned to = 0; to < state_count; to++) {
                bool is_zero = !(pass ? moves->times[from][to].count : moves->counts[from][to]);
                if (is_zero && (pass || !may || !may(from, to))) continue;
                const char *text = labels_of(&labels, "from", str_of(word(from)), "to", str_of(word(to)));
                if (pass) print_times(out, times, text, &moves->times[from][to]);
                else value(out, counts, text, (double)moves->counts[from][to]);
            }
    }
}

static void print_executions(Buf *out, const Survey *survey)
{
    Labels labels;
    head(out, METRIC_EXECUTIONS);
    for (unsigned state = 0; survey->has_run_counts && state < RUN_STATE_COUNT; state++)
        if (state != RUN_SKIPPED) value(out, METRIC_EXECUTIONS, label(&labels, "state", run_word(state)), (double)survey->run_counts[state]);
}

static void print_runs(Buf *out, const EngineMeter *meter)
{
    Labels labels;
    print_moves(out, &meter->runs, run_word, run_may, METRIC_EXECUTION_MOVES, METRIC_EXECUTION_TIMES, RUN_STATE_COUNT);
    print_moves(out, &meter->steps, step_word, /* may= */ NULL, METRIC_STEP_MOVES, METRIC_STEP_TIMES, STEP_STATE_COUNT);
    head(out, METRIC_EXECUTION_DURATION);
    for (unsigned state = 0; state < RUN_STATE_COUNT; state++)
        if (meter->durations[state].count)
            print_times(out, METRIC_EXECUTION_DURATION, label(&labels, "state", run_word(state)), &meter->durations[state]);
    head(out, METRIC_RETRIES);
    value(out, METRIC_RETRIES, "of=\"step\"", (double)meter->step_retries);
    value(out, METRIC_RETRIES, "of=\"execution\"", (double)meter->run_retries);
    value(out, METRIC_RETRIES, "of=\"compensation\"", (double)meter->compensation_retries);
}

/* --- queues and executors ---------------------------------------------------------------------------------------------------------- */

static double gauge_of(const QueueGauge *queue, bool is_age) { return is_age ? (double)queue->oldest_ms / 1e3 : queue->depth; }

static void queue_join(QueueGauge *all, const QueueGauge *queue)
{
    all->depth += queue->depth;
    if (queue->oldest_ms > all->oldest_ms) all->oldest_ms = queue->oldest_ms;
}

/* All of them are told as those that have no name of their own. */
static void gauge_join_tenants(EngineGauge *gauge)
{
    TenantGauge *all = &gauge->tenants[METER_TENANT_COUNT_MAX];
    for (uint32_t i = 0; i < gauge->named_count; i++) {
        const TenantGauge *tenant = &gauge->tenants[i];
        all->running += tenant->running;
        queue_join(&all->commands, &tenant->commands);
        queue_join(&all->waiting, &tenant->waiting);
    }
    gauge->named_count = 0;
}

/* Executors that are for certain tenants alone are told as one without a name. */
static void gauge_join_executors(EngineGauge *gauge, Value declared)
{
    ExecutorGauge all = { .name = STR("*"), .kind = STR("*") };
    uint32_t count = 0;
    for (uint32_t i = 0; i < gauge->executor_count; i++) {
        const ExecutorGauge *executor = &gauge->executors[i];
        const Value *settings = declared.kind == VALUE_OBJECT ? value_get(declared, executor->name) : NULL;
        if (!settings || catalog_is_for(*settings, STR(""))) {
            gauge->executors[count++] = *executor;
            continue;
        }
        all.under_way += executor->under_way;
        all.capacity += executor->capacity;
        queue_join(&all.waiting, &executor->waiting);
    }
    if (count < gauge->executor_count) gauge->executors[count++] = all;
    gauge->executor_count = count;
}

static void print_queues(Buf *out, const EngineGauge *gauge)
{
    Labels labels;
    for (unsigned pass = 0; pass < 2; pass++) {
        MetricKind kind = pass ? METRIC_QUEUE_OLDEST : METRIC_QUEUE_DEPTH;
        head(out, kind);
        value(out, kind, "queue=\"commands\"", gauge_of(&gauge->commands, pass));
        value(out, kind, "queue=\"consequences\"", gauge_of(&gauge->work, pass));
        value(out, kind, "queue=\"log-lines\"", gauge_of(&gauge->lines, pass));
        value(out, kind, "queue=\"room\",executor=\"(several)\"", gauge_of(&gauge->several, pass));
        value(out, kind, "queue=\"room\",executor=\"(nobody)\"", gauge_of(&gauge->nowhere, pass));
        for (uint32_t i = 0; i < gauge->executor_count; i++)
            value(out, kind, labels_of(&labels, "queue", STR("room"), "executor", gauge->executors[i].name),
                  gauge_of(&gauge->executors[i].waiting, pass));
    }
    for (unsigned pass = 0; pass < 2; pass++) {
        MetricKind kind = pass ? METRIC_TENANT_OLDEST : METRIC_TENANT_DEPTH;
        head(out, kind);
        for (uint32_t i = 0; i <= gauge->named_count; i++) {
            const TenantGauge *tenant = &gauge->tenants[i < gauge->named_count ? i : METER_TENANT_COUNT_MAX];
            value(out, kind, labels_of(&labels, "tenant", str_of(tenant->name), "queue", STR("commands")), gauge_of(&tenant->commands, pass));
            value(out, kind, labels_of(&labels, "tenant", str_of(tenant->name), "queue", STR("room")), gauge_of(&tenant->waiting, pass));
        }
    }
    head(out, METRIC_TENANT_ATTEMPTS);
    for (uint32_t i = 0; i <= gauge->named_count; i++) {
        const TenantGauge *tenant = &gauge->tenants[i < gauge->named_count ? i : METER_TENANT_COUNT_MAX];
        value(out, METRIC_TENANT_ATTEMPTS, label(&labels, "tenant", tenant->name), tenant->running);
    }
    plain(out, METRIC_TENANTS, gauge->tenant_count);
}

static void print_queue_waits(Buf *out, const EngineMeter *meter)
{
    Labels labels;
    head(out, METRIC_QUEUE_WAIT);
    for (unsigned queue = 0; queue < METER_QUEUE_COUNT; queue++)
        print_times(out, METRIC_QUEUE_WAIT, label(&labels, "queue", meter_queue_name((MeterQueue)queue)), &meter->queue_waits[queue]);
}

static void print_executors(Buf *out, const Survey *survey, const EngineGauge *gauge)
{
    const EngineMeter *meter = &survey->meter;
    Labels labels;
    for (unsigned pass = 0; pass < 2; pass++) {
        MetricKind kind = pass ? METRIC_EXECUTOR_CAPACITY : METRIC_EXECUTOR_ATTEMPTS;
        head(out, kind);
        for (uint32_t i = 0; i < gauge->executor_count; i++) {
            const ExecutorGauge *executor = &gauge->executors[i];
            value(out, kind, labels_of(&labels, "executor", executor->name, "kind", executor->kind),
                  pass ? executor->capacity : executor->under_way);
        }
    }
    plain(out, METRIC_LEASES_GRANTED, (double)meter->leases_granted);
    plain(out, METRIC_LEASES_EXPIRED, (double)meter->leases_expired);
    plain(out, METRIC_LEASES, gauge->live_leases);
    plain(out, METRIC_LATE_REPORTS, (double)meter->late_reports);
    head(out, METRIC_EXCHANGES);
    value(out, METRIC_EXCHANGES, "outcome=\"answered\"", (double)survey->exchanges.answered);
    value(out, METRIC_EXCHANGES, "outcome=\"refused\"", (double)survey->exchanges.refused);
    plain(out, METRIC_EXCHANGES_WAITING, survey->exchanges.waiting);
    plain(out, METRIC_EXCHANGE_REPORTS, (double)survey->exchanges.reports);
    plain(out, METRIC_TOKENS_REFUSED, (double)gauge->tokens_refused);
    plain(out, METRIC_EXCHANGE_LEASES, (double)survey->exchanges.leases);
}

/* --- the engine -------------------------------------------------------------------------------------------------------------------- */

static void print_policies(Buf *out, const Survey *survey)
{
    static const char *const verdicts[] = { "allow", "deny", "later", "missing" };
    Labels labels;
    head(out, METRIC_POLICY_DECISIONS);
    for (unsigned hook = 0; hook < HOOK_COUNT; hook++)
        for (unsigned kind = 0; kind < sizeof verdicts / sizeof *verdicts; kind++)
            value(out, METRIC_POLICY_DECISIONS,
                  labels_of(&labels, "hook", str_of(hook_name((Hook)hook)), "verdict", str_of(verdicts[kind])),
                  (double)survey->meter.verdicts[hook][kind]);
    head(out, METRIC_POLICY_TIME);
    for (unsigned hook = 0; hook < HOOK_COUNT; hook++)
        if (survey->policy_times[hook].count)
            print_times(out, METRIC_POLICY_TIME, label(&labels, "hook", hook_name((Hook)hook)), &survey->policy_times[hook]);
}

static void print_dispatch(Buf *out, const EngineStats *stats)
{
    Labels labels;
    plain(out, METRIC_DEFERRALS, (double)stats->defer_count);
    plain(out, METRIC_OVER_QUOTA, (double)stats->quota_refused_count);
    head(out, METRIC_DROPS);
    for (unsigned cause = DROP_NONE + 1; cause < DROP_CAUSE_COUNT; cause++)
        value(out, METRIC_DROPS, label(&labels, "cause", drop_cause_name((DropCause)cause)), (double)stats->drop_counts[cause]);
    plain(out, METRIC_CIRCUITS_OPENED, (double)stats->circuit_open_count);
    head(out, METRIC_CIRCUITS);
    for (unsigned i = BREAKER_CLOSED + 1; i < BREAKER_STATE_COUNT; i++)
        value(out, METRIC_CIRCUITS, label(&labels, "state", breaker_state_name((BreakerState)i)), stats->circuit_counts[i]);
}

static void print_engine(Buf *out, const Survey *survey)
{
    const EngineStats *stats = &survey->stats;
    plain(out, METRIC_RECORDS, (double)stats->record_count);
    plain(out, METRIC_EVENTS, (double)stats->event_count);
    plain(out, METRIC_BATCHES, (double)stats->batch_count);
    plain(out, METRIC_ATTEMPTS, (double)stats->attempt_count);
    plain(out, METRIC_STARTS, (double)stats->start_count);
    plain(out, METRIC_REFUSED, (double)stats->refused_count);
    plain(out, METRIC_RUNS, stats->run_count);
    Labels labels;
    head(out, METRIC_STARTS_REFUSED);
    for (unsigned cause = FULL_NOT + 1; cause < FULL_CAUSE_COUNT; cause++)
        value(out, METRIC_STARTS_REFUSED, label(&labels, "cause", full_cause_name((FullCause)cause)), (double)stats->full_counts[cause]);
    plain(out, METRIC_MEMORY_HELD, (double)stats->size);
    plain(out, METRIC_MEMORY_MAX, (double)stats->size_max);
    plain(out, METRIC_MEMORY_PAYLOADS, (double)stats->hot_size);
    plain(out, METRIC_ATTEMPTS_NOW, stats->attempt_under_way);
    plain(out, METRIC_BATCHES_NOW, stats->batch_under_way);
    plain(out, METRIC_READS_NOW, survey->gauge.reads);
    plain(out, METRIC_STALLS, stats->stall_count);
    plain(out, METRIC_LOG_LINES, (double)survey->meter.log_lines);
    plain(out, METRIC_LOG_LINES_DROPPED, (double)survey->meter.log_lines_dropped);
}

static void print_store(Api *api, Buf *out, const EngineMeter *meter)
{
    Histogram times = store_commit_times(api->store);
    Spread spread = spread_of_histogram(&times, spread_us);
    head(out, METRIC_COMMIT_TIME);
    print_times(out, METRIC_COMMIT_TIME, "", &spread);
    if (!meter) return;
    const struct { MetricKind kind; const Spread *spread; } sizes[] = {
        { METRIC_BATCH_EVENTS, &meter->batch_events }, { METRIC_BATCH_RECORDS, &meter->batch_records }, { METRIC_BATCH_BYTES, &meter->batch_bytes },
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        head(out, sizes[i].kind);
        print_spread(out, sizes[i].kind, "", sizes[i].spread, spread_sizes, 1);
    }
    plain(out, METRIC_COMMIT_FAILURES, (double)meter->commit_failures);
}

static void print_survey(const Api *api, const Survey *survey, bool has_tenants, Buf *out)
{
    EngineGauge gauge = survey->gauge;
    if (!has_tenants) {
        gauge_join_tenants(&gauge);
        gauge_join_executors(&gauge, api->catalog->executors);
    }
    print_executions(out, survey);
    print_runs(out, &survey->meter);
    print_queues(out, &gauge);
    print_queue_waits(out, &survey->meter);
    print_executors(out, survey, &gauge);
    print_dispatch(out, &survey->stats);
    print_policies(out, survey);
    print_engine(out, survey);
}

/* --- HTTP and the process ------------------------------------------------------------------------------------------------------------ */

static bool is_served(uint32_t route) { return route < route_count || route == METRIC_ROUTE_COUNT_MAX; }

static void print_http(const Api *api, Buf *out)
{
    const Metrics *metrics = &api->metrics;
    Labels labels;
    static const char *const statuses[] = { "left", "1xx", "2xx", "3xx", "4xx", "5xx" };
    head(out, METRIC_HTTP_REQUESTS);
    for (uint32_t i = 0; i <= METRIC_ROUTE_COUNT_MAX; i++)
        for (unsigned status = 0; status < 6; status++)
            if (metrics->requests[i][status] || (status == 5 && is_served(i)))
                value(out, METRIC_HTTP_REQUESTS,
                      labels_of(&labels, "route", str_of(i < route_count ? routes[i].name : "none"), "status", str_of(statuses[status])),
                      (double)metrics->requests[i][status]);
    head(out, METRIC_HTTP_TIME);
    for (uint32_t i = 0; i <= METRIC_ROUTE_COUNT_MAX; i++)
        if (metrics->latency[i].count)
            print_times(out, METRIC_HTTP_TIME, label(&labels, "route", i < route_count ? routes[i].name : "none"), &metrics->latency[i]);
    HttpStats stats = http_stats(api->http);
    plain(out, METRIC_HTTP_CONNECTIONS, stats.connection_count);
    plain(out, METRIC_HTTP_ACCEPTED, (double)stats.accepted);
    plain(out, METRIC_HTTP_WAITING, stats.waiting_count - api->survey_count);
    plain(out, METRIC_HTTP_ANSWERS, (double)share_taken(api->shares, SHARE_ANSWERS));
    plain(out, METRIC_HTTP_BODIES, (double)share_taken(api->shares, SHARE_BODIES));
    FeedStats feed = streams_stats(api->streams);
    plain(out, METRIC_STREAM_READS, (double)feed.read_count);
    plain(out, METRIC_STREAM_RECORDS, (double)feed.record_count);
    plain(out, METRIC_STREAMS, (double)share_taken(api->shares, SHARE_STREAMS));
    plain(out, METRIC_STREAMS_CUT, (double)stats.cut_count);
    plain(out, METRIC_KEYS_REFUSED, (double)metrics->refused_keys);
    plain(out, METRIC_LIMITED, (double)metrics->limited);
    head(out, METRIC_PETITIONS);
    print_times(out, METRIC_PETITIONS, "", &metrics->petition);
}

static void print_traces(const Api *api, Buf *out)
{
    HeraldStats told = herald_stats(api->herald);
    OtlpStats stats = told.spans;
    plain(out, METRIC_OWN_LINES_DROPPED, (double)told.lines_dropped);
    head(out, METRIC_SPANS);
    value(out, METRIC_SPANS, "outcome=\"sent\"", (double)stats.sent);
    value(out, METRIC_SPANS, "outcome=\"refused\"", (double)stats.refused);
    value(out, METRIC_SPANS, "outcome=\"dropped\"", (double)stats.dropped);
    plain(out, METRIC_SPANS_WAITING, (double)stats.waiting);
    head(out, METRIC_EXPORTS);
    value(out, METRIC_EXPORTS, "outcome=\"ok\"", (double)stats.exports);
    value(out, METRIC_EXPORTS, "outcome=\"failed\"", (double)stats.export_failures);
}

static void print_process(Buf *out)
{
    Usage usage = usage_read();
    plain(out, METRIC_CPU, usage.cpu_s);
    plain(out, METRIC_MEMORY, (double)usage.resident_size);
    plain(out, METRIC_VIRTUAL, (double)usage.virtual_size);
    plain(out, METRIC_FDS, usage.fd_count);
    plain(out, METRIC_FDS_MAX, usage.fd_count_max);
    plain(out, METRIC_THREADS, usage.thread_count);
    plain(out, METRIC_BEGAN, usage.began_s);
}

void metrics_print(Api *api, const Survey *survey, bool has_tenants, Buf *out)
{
    plain(out, METRIC_UP, 1);
    plain(out, METRIC_READY, api_is_ready(api));
    head(out, METRIC_BUILD);
    value(out, METRIC_BUILD, "version=\"" MAESTRO_VERSION "\"", 1);
    if (survey) print_survey(api, survey, has_tenants, out);
    print_store(api, out, survey ? &survey->meter : NULL);
    print_http(api, out);
    print_traces(api, out);
    head(out, METRIC_ACCESS);
    value(out, METRIC_ACCESS, "verdict=\"allow\"", (double)access_count(api->access, false));
    value(out, METRIC_ACCESS, "verdict=\"deny\"", (double)access_count(api->access, true));
    print_process(out);
}
