#include "api/metrics.h"

#include <inttypes.h>

#include "api/api.h"
#include "base/check.h"

static const double bounds[METRIC_BUCKET_COUNT] = { 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
                                                    1, 5 };

void spread_add(Spread *spread, uint64_t took_ns)
{
    double seconds = (double)took_ns / 1e9;
    spread->count++;
    spread->sum += seconds;
    for (unsigned i = 0; i < METRIC_BUCKET_COUNT; i++)
        if (seconds <= bounds[i]) {
            spread->buckets[i]++;
            return;
        }
}

void metrics_count(Metrics *metrics, const Route *route, unsigned status, uint64_t took_ns)
{
    size_t index = route ? (size_t)(route - routes) : METRIC_ROUTE_COUNT_MAX;
    CHECK(index <= METRIC_ROUTE_COUNT_MAX);
    metrics->requests[index][status / 100 < 6 ? status / 100 : 5]++;
    spread_add(&metrics->latency[index], took_ns);
}

/* --- as text -------------------------------------------------------------------------------------------------------------------- */

static void head(Buf *out, const char *name, const char *type, const char *help)
{
    buf_format(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void plain(Buf *out, const char *name, const char *type, const char *help, double value)
{
    head(out, name, type, help);
    buf_format(out, "%s %.17g\n", name, value);
}

/* `label` is "" or name="value" and a comma. */
static void print_spread(Buf *out, const char *name, const char *label, const Spread *spread)
{
    uint64_t below = 0;
    size_t size = str_of(label).len;
    for (unsigned i = 0; i < METRIC_BUCKET_COUNT; i++) {
        below += spread->buckets[i];
        buf_format(out, "%s_bucket{%sle=\"%g\"} %" PRIu64 "\n", name, label, bounds[i], below);
    }
    buf_format(out, "%s_bucket{%sle=\"+Inf\"} %" PRIu64 "\n", name, label, spread->count);
    if (size) buf_format(out, "%s_sum{%.*s} %.9f\n%s_count{%.*s} %" PRIu64 "\n", name, (int)size - 1, label, spread->sum, name,
                         (int)size - 1, label, spread->count);
    else buf_format(out, "%s_sum %.9f\n%s_count %" PRIu64 "\n", name, spread->sum, name, spread->count);
}

static void print_http(const Api *api, Buf *out)
{
    const Metrics *metrics = &api->metrics;
    char label[128];
    head(out, "maestro_http_requests_total", "counter", "Requests by route and status");
    for (uint32_t i = 0; i <= METRIC_ROUTE_COUNT_MAX; i++)
        for (unsigned status = 1; status < 6; status++)
            if (metrics->requests[i][status])
                buf_format(out, "maestro_http_requests_total{route=\"%s\",status=\"%uxx\"} %" PRIu64 "\n",
                           i < route_count ? routes[i].name : "none", status, metrics->requests[i][status]);
    head(out, "maestro_http_request_duration_seconds", "histogram", "From the head of a request to the end of its answer");
    for (uint32_t i = 0; i <= METRIC_ROUTE_COUNT_MAX; i++) {
        if (!metrics->latency[i].count) continue;
        Buf text = buf_on(label, sizeof label - 1);
        buf_format(&text, "route=\"%s\",", i < route_count ? routes[i].name : "none");
        label[text.len] = '\0';
        print_spread(out, "maestro_http_request_duration_seconds", label, &metrics->latency[i]);
    }
    HttpStats stats = http_stats(api->http);
    plain(out, "maestro_http_connections", "gauge", "Open connections", stats.connection_count);
    plain(out, "maestro_http_connections_total", "counter", "Connections that were accepted", (double)stats.accepted);
    plain(out, "maestro_http_requests_waiting", "gauge", "Requests that wait for a commit, an execution or an event", stats.waiting_count);
    plain(out, "maestro_http_body_bytes", "gauge", "Bodies held in memory", (double)stats.body_size);
    plain(out, "maestro_event_streams", "gauge", "Event streams", api->stream_count);
    plain(out, "maestro_keys_refused_total", "counter", "Requests whose credentials were refused", (double)metrics->refused_keys);
    plain(out, "maestro_requests_limited_total", "counter", "Requests beyond the rate of their key or tenant", (double)metrics->limited);
}

static bool take_state(void *context, const Cell *cells, uint32_t count)
{
    Buf *out = context;
    RunState state;
    if (count < 2 || !run_state_find(cells[0].text, &state)) return true;
    buf_format(out, "maestro_executions{state=\"%s\"} %" PRId64 "\n", run_state_name(state), cells[1].integer);
    return true;
}

static void print_store(Api *api, Buf *out)
{
    Histogram times = store_commit_times(api->store);
    static const double shares[] = { 0.5, 0.9, 0.99 };
    Error err;
    head(out, "maestro_executions", "gauge", "Executions in the store by state");
    if (store_select(api->store, &(QueryAsk){ .query = QUERY_COUNT_BY_STATE }, take_state, out, &err)) {
        /* A store that cannot be read now has no lines here; /readyz says why. */
    }
    head(out, "maestro_store_commit_seconds", "summary", "How long commits took, syncing included");
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        buf_format(out, "maestro_store_commit_seconds{quantile=\"%g\"} %.6f\n", shares[i],
                   (double)histogram_quantile(&times, shares[i]) / 1e6);
    buf_format(out, "maestro_store_commit_seconds_sum %.6f\nmaestro_store_commit_seconds_count %" PRIu64 "\n",
               (double)times.sum / 1e6, times.count);
}

static void print_engine(const Api *api, Buf *out)
{
    BridgeState state = bridge_state(api->bridge);
    const EngineStats *stats = &state.stats;
    plain(out, "maestro_engine_records_total", "counter", "Records of the ledger", (double)stats->record_count);
    plain(out, "maestro_engine_events_total", "counter", "Events of the ledger", (double)stats->event_count);
    plain(out, "maestro_engine_batches_total", "counter", "Commits", (double)stats->batch_count);
    plain(out, "maestro_engine_attempts_total", "counter", "Attempts that were handed to executors", (double)stats->attempt_count);
    plain(out, "maestro_engine_starts_total", "counter", "Executions that were started", (double)stats->start_count);
    plain(out, "maestro_engine_refused_total", "counter", "Requests that were refused", (double)stats->refused_count);
    plain(out, "maestro_engine_runs", "gauge", "Executions in memory", stats->run_count);
    plain(out, "maestro_engine_attempts", "gauge", "Attempts under way", stats->attempt_under_way);
    plain(out, "maestro_engine_batches", "gauge", "Commits under way", stats->batch_under_way);
    plain(out, "maestro_engine_stalls", "gauge", "How often in a row the store has refused a commit", stats->stall_count);
    plain(out, "maestro_dispatch_deferrals_total", "counter", "Attempts that stayed queued for want of room, by a circuit or a rate", (double)stats->defer_count);
    head(out, "maestro_dispatch_drops_total", "counter", "Tasks that were dropped, by cause");
    for (unsigned cause = DROP_NONE + 1; cause < DROP_CAUSE_COUNT; cause++)
        buf_format(out, "maestro_dispatch_drops_total{cause=\"%s\"} %" PRIu64 "\n", drop_cause_name((DropCause)cause), stats->drop_counts[cause]);
    plain(out, "maestro_circuits_opened_total", "counter", "How often a circuit of a runner was opened", (double)stats->circuit_open_count);
    head(out, "maestro_circuits", "gauge", "Circuits of runners that are not closed, by state");
    for (unsigned i = BREAKER_CLOSED + 1; i < BREAKER_STATE_COUNT; i++)
        buf_format(out, "maestro_circuits{state=\"%s\"} %" PRIu32 "\n", breaker_state_name((BreakerState)i), stats->circuit_counts[i]);
    head(out, "maestro_petition_duration_seconds", "histogram", "From a request to the engine to its durable answer");
    print_spread(out, "maestro_petition_duration_seconds", "", &api->metrics.petition);
}

void metrics_print(Api *api, Buf *out)
{
    plain(out, "maestro_up", "gauge", "1 while the server runs", 1);
    print_engine(api, out);
    print_store(api, out);
    print_http(api, out);
    head(out, "maestro_access_decisions_total", "counter", "Answers of the access policy");
    buf_format(out, "maestro_access_decisions_total{verdict=\"allow\"} %" PRIu64 "\n", access_count(api->access, false));
    buf_format(out, "maestro_access_decisions_total{verdict=\"deny\"} %" PRIu64 "\n", access_count(api->access, true));
}
