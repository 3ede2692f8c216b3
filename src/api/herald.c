#include "api/herald.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/log_out.h"
#include "api/route.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/ring.h"
#include "os/clock.h"
#include "os/thread.h"
#include "os/wake.h"

#define LAST_MS_MAX 2000            /* what is left at the end is sent for so long */

typedef struct Item {
    uint64_t run_no;                /* of a record */
    Span *span;                     /* of a request; NULL: of something else */
    Str record, tenant, workflow;
    Str steps;                      /* for each of its lines the id of the step that it tells of, or nothing, and a line break */
    Str line;                       /* of the log; empty: something else */
    uint32_t line_count;            /* lines of the log that this makes */
    uint32_t size;
    char bytes[];                   /* of the record and its names; of the texts of the span; of the line */
} Item;

struct Herald {
    HeraldOptions options;
    Ring ring;
    atomic_size_t waiting_size;
    atomic_ullong dropped;          /* records and requests, of which there are no spans then */
    atomic_ullong lines_missed;     /* of the log, that did not fit and `out` has not heard of */
    atomic_ullong lines_dropped;    /* by `out` */
    Wake wake, stop;
    Thread thread;
    bool has_thread;
    Otlp *otlp;
    SpanBook *book;
    Arena arena;                    /* of the record being told */
    LogOut out;                     /* the thread's */
    uint64_t refused_told;          /* spans that the collector refused, as far as the log has them */
    int64_t refused_ms, away_ms;    /* not before is that logged again */
    bool is_away_told;              /* the log has that the collector takes nothing */
    bool is_log_full;               /* something waits until standard error can be written to */
    uint8_t levels[EVENT_KIND_END]; /* of the log, by kind */
};

/* --- from other threads ------------------------------------------------------------------------------------------------------------- */

static void offer(Herald *herald, Item *item)
{
    size_t waiting = atomic_fetch_add_explicit(&herald->waiting_size, item->size, memory_order_relaxed);
    if (waiting + item->size <= HERALD_RECORD_SIZE_MAX && ring_put(&herald->ring, item)) {
        wake_raise(&herald->wake);
        return;
    }
    atomic_fetch_sub_explicit(&herald->waiting_size, item->size, memory_order_relaxed);
    atomic_fetch_add_explicit(&herald->lines_missed, item->line_count, memory_order_relaxed);
    if (herald->otlp && !item->line.len) atomic_fetch_add_explicit(&herald->dropped, 1, memory_order_relaxed);
    free(item->span);
    free(item);
}

static Str keep(Item *item, Str text)
{
    if (text.len) memcpy(item->bytes + item->size, text.ptr, text.len);
    Str kept = { item->bytes + item->size, text.len };
    item->size += (uint32_t)text.len;
    return kept;
}

static bool has_line(const Herald *herald, const Event *event)
{
    return log_wants(herald->options.log, (LogLevel)herald->levels[event->kind]);
}

/* The id of the step that a line tells of; empty where it tells of none. */
static Str step_of(const Herald *herald, const Observation *observation, const Event *event)
{
    bool has_step = has_line(herald, event) && event_has(event->kind, FIELD_step) && event->step < observation->plan->step_count;
    return has_step ? observation->plan->steps[event->step].id : (Str){ 0 };
}

void herald_record(void *context, const Observation *observation)
{
    Herald *herald = context;
    uint32_t line_count = 0;
    size_t step_size = 0;
    for (uint32_t i = 0; i < observation->event_count; i++) {
        line_count += has_line(herald, &observation->events[i]);
        step_size += step_of(herald, observation, &observation->events[i]).len + 1;
    }
    if (!herald->otlp && !line_count) return;
    Str tenant = observation->run->tenant, workflow = line_count ? observation->run->definition : (Str){ 0 };
    Item *item = malloc(sizeof *item + observation->record.len + tenant.len + workflow.len + step_size);
    CHECK(item);
    *item = (Item){ .run_no = observation->run_no, .line_count = line_count };
    item->record = keep(item, observation->record);
    item->tenant = keep(item, tenant);
    item->workflow = keep(item, workflow);
    item->steps = (Str){ item->bytes + item->size, 0 };
    for (uint32_t i = 0; i < observation->event_count && line_count; i++) {
        if (!has_line(herald, &observation->events[i])) continue;
        item->steps.len += keep(item, step_of(herald, observation, &observation->events[i])).len;
        item->steps.len += keep(item, STR("\n")).len;
    }
    offer(herald, item);
}

void herald_call(Herald *herald, const Call *call, uint64_t took_ns)
{
    static const char *const methods[] = { "GET", "POST", "PUT", "DELETE", "OTHER" };
    if (!herald->otlp || !call->is_done || !(call->trace.flags & TRACE_SAMPLED)) return;
    Str tenant = call->tenant.len ? call->tenant : call->caller.tenant;
    Item *item = malloc(sizeof *item + call->run_id.len + call->tracestate.len + tenant.len + sizeof call->id);
    Span *span = calloc(1, sizeof *span);
    CHECK(item && span);
    *item = (Item){ .span = span };
    int64_t now_ns = clock_realtime_ns();
    *span = (Span){ .trace = call->trace, .kind = SPAN_SERVER, .began_ns = now_ns - (int64_t)took_ns, .ended_ns = now_ns,
                    .name = str_of(call->route ? call->route->name : "request"), .status = call->status >= 500 ? SPAN_ERROR : SPAN_UNSET,
                    .tracestate = keep(item, call->tracestate) };
    if (call->has_parent) memcpy(span->parent, call->parent, sizeof span->parent);
    span_add_text(span, "http.request.method", str_of(methods[call->method]));
    if (call->route) span_add_text(span, "http.route", str_of(call->route->pattern));
    span_add_number(span, "http.response.status_code", call->status);
    span_add_text(span, "maestro.run.id", keep(item, call->run_id));
    span_add_text(span, "maestro.tenant", keep(item, tenant));
    span_add_text(span, "maestro.request.id", keep(item, str_of(call->id)));
    offer(herald, item);
}

void herald_line(Herald *herald, LogLine *line)
{
    Str text = log_close(line);
    if (!herald) {
        (void)!write(STDERR_FILENO, text.ptr, text.len);
    } else if (text.len) {
        Item *item = malloc(sizeof *item + text.len);
        CHECK(item);
        *item = (Item){ .line_count = 1 };
        item->line = keep(item, text);
        offer(herald, item);
    }
    log_free(line);
}

HeraldStats herald_stats(const Herald *herald)
{
    HeraldStats stats = { 0 };
    if (!herald) return stats;
    if (herald->otlp) stats.spans = otlp_stats(herald->otlp);
    stats.spans.dropped += atomic_load_explicit(&herald->dropped, memory_order_relaxed);
    stats.lines_dropped = atomic_load_explicit(&herald->lines_dropped, memory_order_relaxed)
                        + atomic_load_explicit(&herald->lines_missed, memory_order_relaxed);
    return stats;
}

/* --- telling ---------------------------------------------------------------------------------------------------------------------------- */

/* `steps` begins with the one of this line, if it has one. */
static void log_event(Herald *herald, const Item *item, const Record *record, uint32_t index, Str *steps)
{
    const Event *event = &record->events[index];
    LogLevel level = event->kind < EVENT_KIND_END ? (LogLevel)herald->levels[event->kind] : LOG_DEBUG;
    const char *name = event_name(event->kind);
    Trace trace;
    if (!log_wants(herald->options.log, level) || !name) return;
    size_t step_end = str_find(*steps, '\n', 0);
    Str step = str_slice(*steps, 0, step_end);
    *steps = str_slice(*steps, step_end < steps->len ? step_end + 1 : steps->len, steps->len);
    LogLine line = log_begin(level, record->head.now_ms, name);
    log_text(&line, "tenant", item->tenant);
    log_text(&line, "run", record->head.run_id);
    if (trace_read(record->head.trace, &trace)) log_trace(&line, &trace);
    log_number(&line, "event", (int64_t)(record->head.first_event + index));
    log_text(&line, "actor", record->head.actor);
    log_text(&line, "command", record->head.command_id);
    log_text(&line, "workflow", item->workflow);
    log_text(&line, "step", step);
    if (step.len) log_number(&line, "stepIndex", event->step);
    if (event->attempt) log_number(&line, "attempt", event->attempt);
    if (event->cause) log_text(&line, "cause", str_of(cause_name((Cause)event->cause)));
    log_text(&line, "detail", event->text);
    log_out_add(&herald->out, log_close(&line));
    log_free(&line);
}

static void tell(Herald *herald, const Item *item)
{
    Record record;
    Error err;
    if (item->span) {
        otlp_add(herald->otlp, item->span);
        return;
    }
    if (item->line.len) {
        log_out_add(&herald->out, item->line);
        return;
    }
    arena_reset(&herald->arena);
    if (record_decode_any(&herald->arena, item->record, &record, &err)) return;
    Str steps = item->steps;
    for (uint32_t i = 0; i < record.event_count; i++) log_event(herald, item, &record, i, &steps);
    if (herald->book) span_book_take(herald->book, item->run_no, &record);
}

static void tell_all(Herald *herald)
{
    for (Item *item; (item = ring_take(&herald->ring));) {
        atomic_fetch_sub_explicit(&herald->waiting_size, item->size, memory_order_relaxed);
        tell(herald, item);
        free(item->span);
        free(item);
    }
}

static void log_turn(Herald *herald)
{
    log_out_miss(&herald->out, atomic_exchange_explicit(&herald->lines_missed, 0, memory_order_relaxed));
    herald->is_log_full = log_out_turn(&herald->out, clock_realtime_ms());
    atomic_store_explicit(&herald->lines_dropped, herald->out.dropped_count, memory_order_relaxed);
}

/* --- the collector of traces, in the log: whoever set it up has to know -------------------------------------------------------------------- */

static LogLine collector_line(const char *message, uint64_t count)
{
    LogLine line = log_begin(LOG_WARNING, clock_realtime_ms(), message);
    log_number(&line, "count", (int64_t)count);
    return line;
}

static void log_collector(Herald *herald, LogLine *line)
{
    if (log_wants(herald->options.log, LOG_WARNING)) log_out_add(&herald->out, log_close(line));
    log_free(line);
    log_turn(herald);
}

static void log_refused(Herald *herald, const OtlpStats *stats, bool is_last)
{
    if (stats->refused == herald->refused_told || (!is_last && clock_monotonic_ms() < herald->refused_ms)) return;
    LogLine line = collector_line("the collector of traces refused spans: they are lost", stats->refused - herald->refused_told);
    log_number(&line, "status", stats->refusal_status);
    log_collector(herald, &line);
    herald->refused_told = stats->refused;
    herald->refused_ms = clock_monotonic_ms() + OTLP_TOLD_MS;
}

static void log_away(Herald *herald, const OtlpStats *stats)
{
    bool is_away = stats->away_why;
    if (is_away == herald->is_away_told || (is_away && clock_monotonic_ms() < herald->away_ms)) return;
    LogLine line = collector_line(is_away ? "the collector of traces takes nothing: spans wait" : "the collector of traces takes spans again",
                                  stats->waiting);
    if (stats->away_status) log_number(&line, "status", stats->away_status);
    log_text(&line, "detail", str_of(stats->away_why));
    log_collector(herald, &line);
    herald->is_away_told = is_away;
    herald->away_ms = clock_monotonic_ms() + OTLP_TOLD_MS;
}

static void log_traces(Herald *herald, bool is_last)
{
    OtlpStats stats = otlp_stats(herald->otlp);
    log_refused(herald, &stats, is_last);
    log_away(herald, &stats);
    if (!is_last || !stats.waiting) return;
    LogLine line = collector_line("the collector of traces did not take all spans before the end: they are lost", stats.waiting);
    log_collector(herald, &line);
}

/* `count` of the first two are waited for. */
static void wait_for(Herald *herald, uint32_t count, int64_t timeout_ms)
{
    struct pollfd fds[3] = { { .fd = wake_fd(&herald->stop), .events = POLLIN }, { .fd = wake_fd(&herald->wake), .events = POLLIN } };
    if (herald->is_log_full) fds[count++] = (struct pollfd){ .fd = herald->out.fd, .events = POLLOUT };
    if (herald->otlp) otlp_wait(herald->otlp, fds, count, timeout_ms);
    else (void)poll(fds, count, timeout_ms > INT32_MAX ? INT32_MAX : (int)timeout_ms);
}

/* What is left, as far as it is taken. */
static void end(Herald *herald)
{
    int64_t end_ms = clock_monotonic_ms() + LAST_MS_MAX;
    tell_all(herald);
    do {
        if (herald->otlp) (void)otlp_turn(herald->otlp, clock_monotonic_ms(), /* is_last= */ true);
        log_turn(herald);
        if (!herald->is_log_full && (!herald->otlp || otlp_is_empty(herald->otlp))) break;
        wait_for(herald, /* count= */ 0, HERALD_TURN_MS);
    } while (clock_monotonic_ms() < end_ms);
    if (herald->otlp) log_traces(herald, /* is_last= */ true);
}

/* What is announced is left lying for a moment, so that many announcements cost one look; a stop ends the wait. */
static void run(void *context)
{
    Herald *herald = context;
    int64_t gathered_ms = 0;
    while (!wake_is_raised(&herald->stop)) {
        int64_t due_ms = herald->otlp ? otlp_turn(herald->otlp, clock_monotonic_ms(), /* is_last= */ false) : -1;
        if (herald->otlp) log_traces(herald, /* is_last= */ false);
        int64_t left_ms = gathered_ms ? gathered_ms - clock_monotonic_ms() : -1;
        if (gathered_ms && left_ms < 0) left_ms = 0;
        if (gathered_ms && (due_ms < 0 || left_ms < due_ms)) due_ms = left_ms;
        wait_for(herald, gathered_ms ? 1 : 2, due_ms);
        if (herald->is_log_full) log_turn(herald);
        if (!gathered_ms && wake_is_raised(&herald->wake)) gathered_ms = clock_monotonic_ms() + HERALD_TURN_MS;
        if (!gathered_ms || clock_monotonic_ms() < gathered_ms) continue;
        gathered_ms = 0;
        wake_lower(&herald->wake);
        tell_all(herald);
        log_turn(herald);
    }
    end(herald);
}

/* --- make ---------------------------------------------------------------------------------------------------------------------------------- */

static void set_levels(Herald *herald)
{
    static const uint8_t failures[] = { EVENT_RUN_FAILED, EVENT_RUN_COMPENSATION_FAILED, EVENT_STEP_DROPPED };
    static const uint8_t states[] = { EVENT_RUN_CREATED, EVENT_RUN_DISPATCHED, EVENT_RUN_RUNNING, EVENT_RUN_PAUSED, EVENT_RUN_WAITING_SIGNAL,
                                      EVENT_RUN_SUCCEEDED, EVENT_RUN_CANCELLED, EVENT_RUN_CANCELLING, EVENT_RUN_FAILING, EVENT_RUN_REQUEUED,
                                      EVENT_RUN_COMPENSATED, EVENT_COMPENSATION_STARTED, EVENT_RUN_TERMINATING, EVENT_RUN_REVISED };
    memset(herald->levels, LOG_DEBUG, sizeof herald->levels);
    for (size_t i = 0; i < sizeof failures; i++) herald->levels[failures[i]] = LOG_WARNING;
    for (size_t i = 0; i < sizeof states; i++) herald->levels[states[i]] = LOG_INFO;
}

static void take_span(void *context, const Span *span) { otlp_add(((Herald *)context)->otlp, span); }

Status herald_open(const HeraldOptions *options, Herald **out_herald, Error *err)
{
    Herald *herald = calloc(1, sizeof *herald);
    CHECK(herald);
    herald->options = *options;
    herald->wake.fd = herald->stop.fd = -1;
    ring_init(&herald->ring, HERALD_RECORD_COUNT_MAX);
    arena_init(&herald->arena, SIZE_MAX);
    log_out_init(&herald->out, STDERR_FILENO);
    set_levels(herald);
    Status status = wake_open(&herald->wake, err);
    if (!status) status = wake_open(&herald->stop, err);
    if (!status && options->otlp.url.len) status = otlp_open(&options->otlp, &herald->otlp, err);
    if (!status && herald->otlp) herald->book = span_book_new(options->store, take_span, herald);
    if (!status) status = thread_start(&herald->thread, "maestro-herald", run, herald, err);
    herald->has_thread = !status;
    if (status) herald_close(herald);
    else *out_herald = herald;
    return status;
}

void herald_close(Herald *herald)
{
    if (!herald) return;
    if (herald->has_thread) {
        wake_raise(&herald->stop);
        thread_join(&herald->thread);
    }
    for (Item *item; (item = ring_take(&herald->ring));) {
        free(item->span);
        free(item);
    }
    span_book_free(herald->book);
    otlp_close(herald->otlp);
    ring_deinit(&herald->ring);
    arena_deinit(&herald->arena);
    log_out_deinit(&herald->out);
    if (herald->wake.fd >= 0) wake_close(&herald->wake);
    if (herald->stop.fd >= 0) wake_close(&herald->stop);
    free(herald);
}
