/* Measures the SQLite store against what the machine can do at best: bench-store [--json] [--dir DIR] [SECONDS]
 *
 * The baseline is the bare loop of store/sqlite/limits_probe.h, measured in the same run in the same directory. Against it
 * stands the adapter under the load of an engine: chains of steps that a native executor carries out at once, each step one
 * record (its end, and the beginning of the next) with its payloads, encoded and hashed, and the rows that the projection
 * makes of it; two batches in flight. With 200 chains a batch holds a step of each; with one chain it holds a single step.
 * Bytes are what the process gave to the disk, the pages that were copied back included.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "core/run.h"
#include "ledger/chain.h"
#include "ledger/record.h"
#include "os/clock.h"
#include "store/sqlite/limits_probe.h"
#include "store/sqlite/sqlite_store.h"
#include "value/json.h"
#include "view/projection.h"

#define STEP_COUNT 100u                     /* of a chain; then a new run takes its place */
#define IN_FLIGHT_COUNT 2u

static void stop(const Error *err)
{
    fprintf(stderr, "bench-store: %s\n", err->text);
    exit(1);
}

/* --- the load ------------------------------------------------------------------------------------------------------ */

typedef struct Chain { Run run; uint64_t last_position; Digest head; uint32_t begun_count, step; bool is_begun; } Chain;

typedef struct Load {
    Store *store;
    LogHead log;
    Plan plan;
    Arena plan_arena;
    Chain *chains;
    uint32_t chain_count;
    Batch batches[IN_FLIGHT_COUNT];
    bool is_out[IN_FLIGHT_COUNT];
    BatchRecord *records[IN_FLIGHT_COUNT];
    Buf record, payload;
    uint64_t step_count;
    int64_t now_ms;
} Load;

static void plan_make(Load *load)
{
    Buf text;
    buf_init(&text, SIZE_MAX);
    buf_text(&text, "{\"format\":1,\"kind\":\"workflow\",\"id\":\"chain\",\"tenant\":\"default\",\"jobs\":[],\"steps\":[");
    for (uint32_t i = 0; i < STEP_COUNT; i++)
        buf_format(&text, "%s{\"id\":\"chain.step-%u\",\"kind\":\"task\",\"name\":\"step-%u\",\"run\":\"noop\"}", i ? "," : "", i, i);
    buf_text(&text, "],\"edges\":[");
    for (uint32_t i = 1; i < STEP_COUNT; i++) buf_format(&text, "%s[%u,%u,\"order\"]", i > 1 ? "," : "", i - 1, i);
    buf_text(&text, "],\"loops\":[]}");
    arena_init(&load->plan_arena, SIZE_MAX);
    Value document;
    Error err;
    Str copy = arena_copy(&load->plan_arena, buf_peek(&text));
    if (json_parse(&load->plan_arena, copy, &document, &err) || plan_read(&load->plan_arena, document, &load->plan, &err)) stop(&err);
    buf_deinit(&text);
}

static Event event_of(EventKind kind, uint32_t step)
{
    return (Event){ .kind = (uint8_t)kind, .step = step, .last = kind == EVENT_STEP_READY ? step : 0, .payload = EVENT_NO_PAYLOAD };
}

/* What one decision on a chain records: the start, or the end of a step; and what follows. */
static uint32_t decide(Load *load, Chain *chain, Event *events)
{
    uint32_t count = 0;
    if (!chain->is_begun) {
        events[count] = event_of(EVENT_RUN_CREATED, 0);
        events[count].tenant = STR("default");
        events[count].name = STR("chain");
        events[count].digest = &load->plan.digest;
        events[count].seed = 42;
        events[count].priority = PRIORITY_NORMAL;
        events[count++].payload = 0;
        events[count++] = event_of(EVENT_RUN_DISPATCHED, 0);
        events[count++] = event_of(EVENT_RUN_RUNNING, 0);
    } else {
        events[count] = event_of(EVENT_STEP_SUCCEEDED, chain->step++);
        events[count++].payload = 0;
    }
    if (chain->step == STEP_COUNT) {
        events[count++] = event_of(EVENT_RUN_SUCCEEDED, 0);
        return count;
    }
    events[count++] = event_of(EVENT_STEP_READY, chain->step);
    events[count] = event_of(EVENT_STEP_DISPATCHED, chain->step);
    events[count].number = chain->step + 1;
    events[count].attempt = 1;
    events[count].name = STR("local");
    events[count++].payload = 1;
    events[count] = event_of(EVENT_STEP_RUNNING, chain->step);
    events[count].holder = load->log.epoch << 32 | 1;
    events[count++].due_ms = load->now_ms + 30000;
    return count;
}

static void chain_begin(Load *load, Chain *chain)
{
    uint8_t chance[ID_SIZE];
    for (uint32_t i = 0; i < ID_SIZE; i++) chance[i] = (uint8_t)(load->log.next_run_no >> (i % 10 * 6) & 63);
    Id id = id_make_run((uint64_t)load->now_ms, chance);
    run_deinit(&chain->run);
    *chain = (Chain){ 0 };
    run_init(&chain->run, &load->plan, &id, load->log.next_run_no++);
}

static void chain_step(Load *load, Chain *chain, Batch *batch, BatchRecord *record, Projection *projection)
{
    if (!chain->run.steps || chain->step == STEP_COUNT) chain_begin(load, chain);
    Event events[8];
    uint32_t event_count = decide(load, chain, events);
    EventPlace place = { load->now_ms, ++load->log.position };
    uint64_t first_event = chain->run.event_count + 1;
    for (uint32_t i = 0; i < event_count; i++) run_apply(&chain->run, &load->plan, &events[i], &place);

    RecordHead head = { .log = 1, .position = place.position, .run_id = id_peek(&chain->run.id), .first_event = first_event,
                        .now_ms = load->now_ms, .actor = STR("executor:local") };
    Str texts[] = { STR("{\"params\":{\"order\":\"A-1\"},\"ok\":true,\"count\":12345}"), STR("{\"order\":\"A-1\"}") };
    uint8_t salt[SALT_SIZE] = { 1, 2, 3 };
    Payload *payloads = ARENA_ARRAY(&batch->arena, Payload, 2);
    buf_clear(&load->record);
    buf_clear(&load->payload);
    record_encode(&head, events, event_count, texts, 2, salt, &load->record, &load->payload, payloads);
    *record = (BatchRecord){ .position = place.position, .run_no = chain->run.run_no, .prev_position = chain->last_position,
                             .first_event = first_event, .event_count = event_count,
                             .record = arena_copy(&batch->arena, buf_peek(&load->record)),
                             .payload = arena_copy(&batch->arena, buf_peek(&load->payload)) };
    record->hash = chain->head = chain_record(&chain->head, record->record);
    load->log.head = chain_log(&load->log.head, &record->hash);
    chain->last_position = place.position;
    chain->is_begun = true;
    projection_record(projection, &(ProjectionInput){
        .plan = &load->plan, .run = &chain->run, .head = &head, .events = events, .event_count = event_count,
        .payloads = payloads, .record = record, .begun_count = &chain->begun_count,
        .next_step_run_no = &load->log.next_step_run_no });
    load->step_count++;
}

static void batch_fill(Load *load, uint32_t slot)
{
    Batch *batch = &load->batches[slot];
    Arena arena = batch->arena;
    arena_reset(&arena);
    *batch = (Batch){ .log = 1, .epoch = load->log.epoch, .first_position = load->log.position + 1,
                      .head_before = load->log.head, .arena = arena, .context = (void *)(uintptr_t)slot };
    Projection *projection = projection_make(&batch->arena);
    load->now_ms++;
    for (uint32_t i = 0; i < load->chain_count; i++)
        chain_step(load, &load->chains[i], batch, &load->records[slot][i], projection);
    projection_finish(projection, &batch->changes, &batch->change_count);
    batch->records = load->records[slot];
    batch->record_count = load->chain_count;
    batch->head_after = load->log.head;
    batch->next_run_no = load->log.next_run_no;
    batch->next_step_run_no = load->log.next_step_run_no;
    batch->now_ms = load->now_ms;
}

static void collect(Load *load)
{
    Completion completion;
    while (!store_poll(load->store, &completion)) {
        struct pollfd wait = { .fd = store_wake_fd(load->store), .events = POLLIN };
        poll(&wait, 1, 1000);
    }
    if (completion.outcome != STORE_DURABLE) stop(&completion.error);
    load->is_out[(uintptr_t)completion.batch->context] = false;
}

/* --- measuring ----------------------------------------------------------------------------------------------------- */

typedef struct Figures { double steps_per_s, bytes_per_step, cpu_us_per_step, build_us_per_step; } Figures;

static uint64_t written_bytes(void)
{
    FILE *file = fopen("/proc/self/io", "r");
    unsigned long long bytes = 0;
    char line[128];
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "write_bytes: %llu", &bytes) == 1) break;
    if (file) fclose(file);
    return bytes;
}

static Figures measure(const char *directory, uint32_t chain_count, double seconds)
{
    Load load = { .chain_count = chain_count, .now_ms = 1700000000000 };
    char path[4096];
    snprintf(path, sizeof path, "%s/bench-%ld.db", directory, (long)getpid());
    Error err;
    if (sqlite_store_open(&(SqliteOptions){ .path = path, .is_created = true }, &load.store, &err)) stop(&err);
    if (store_own(load.store, 1, &load.log, &err)) stop(&err);
    plan_make(&load);
    load.chains = calloc(chain_count, sizeof *load.chains);
    CHECK(load.chains != NULL);
    buf_init(&load.record, SIZE_MAX);
    buf_init(&load.payload, SIZE_MAX);
    for (uint32_t i = 0; i < IN_FLIGHT_COUNT; i++) {
        arena_init(&load.batches[i].arena, SIZE_MAX);
        load.records[i] = calloc(chain_count, sizeof(BatchRecord));
        CHECK(load.records[i] != NULL);
    }
    uint64_t bytes = written_bytes(), begin_ns = clock_monotonic_ns(), build_ns = 0;
    clock_t cpu = clock();
    for (uint32_t slot = 0; clock_monotonic_ns() - begin_ns < (uint64_t)(seconds * 1e9); slot = (slot + 1) % IN_FLIGHT_COUNT) {
        if (load.is_out[slot]) collect(&load);
        uint64_t build_begin_ns = clock_monotonic_ns();
        batch_fill(&load, slot);
        build_ns += clock_monotonic_ns() - build_begin_ns;
        load.is_out[slot] = true;
        CHECK(store_submit(load.store, &load.batches[slot]));
        if (chain_count == 1) collect(&load);           /* a lone step waits for its commit */
    }
    for (uint32_t i = 0; i < IN_FLIGHT_COUNT; i++)
        if (load.is_out[i]) collect(&load);
    double elapsed = (double)(clock_monotonic_ns() - begin_ns) / 1e9, steps = (double)load.step_count;
    Figures figures = { steps / elapsed, 0, (double)(clock() - cpu) / CLOCKS_PER_SEC * 1e6 / steps, (double)build_ns / 1e3 / steps };
    store_close(load.store);
    figures.bytes_per_step = (double)(written_bytes() - bytes) / steps;

    char lock[sizeof path + 8];
    snprintf(lock, sizeof lock, "%s.lock", path);
    unlink(path);
    unlink(lock);
    for (uint32_t i = 0; i < chain_count; i++) run_deinit(&load.chains[i].run);
    for (uint32_t i = 0; i < IN_FLIGHT_COUNT; i++) {
        arena_deinit(&load.batches[i].arena);
        free(load.records[i]);
    }
    free(load.chains);
    buf_deinit(&load.record);
    buf_deinit(&load.payload);
    arena_deinit(&load.plan_arena);
    return figures;
}

typedef struct Options { const char *directory; double seconds; bool is_json, has_bare, has_many, has_one; } Options;

static Options options_read(int argc, char **argv)
{
    Options options = { .directory = ".", .seconds = 5, .has_bare = true, .has_many = true, .has_one = true };
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--json")) options.is_json = true;
        else if (!strcmp(argv[i], "--dir") && i + 1 < argc) options.directory = argv[++i];
        else if (!strcmp(argv[i], "--only") && i + 1 < argc) {
            const char *part = argv[++i];
            options.has_bare = !strcmp(part, "bare");
            options.has_many = !strcmp(part, "many");
            options.has_one = !strcmp(part, "one");
        } else options.seconds = strtod(argv[i], NULL);
    }
    return options;
}

int main(int argc, char **argv)
{
    Options options = options_read(argc, argv);
    Error err;
    double bare = 0, bare_cpu_us = 0, sync_us = 0;
    if (options.has_bare) {
        if (limits_probe_sync(options.directory, 200, &sync_us, &err)) stop(&err);
        clock_t cpu = clock();
        if (limits_probe_events(options.directory, (int64_t)(options.seconds * 1000), &bare, &err)) stop(&err);
        bare_cpu_us = (double)(clock() - cpu) / CLOCKS_PER_SEC * 1e6 / (bare * options.seconds);
    }
    Figures many = { 0 }, one = { 0 };
    if (options.has_many) many = measure(options.directory, 200, options.seconds);
    if (options.has_one) one = measure(options.directory, 1, options.seconds);
    double ratio = bare > 0 ? many.steps_per_s / bare : 0;
    if (options.is_json) {
        printf("{\"fdatasync_p50_us\":%.0f,\"bare_events_per_s\":%.0f,\"steps_per_s\":%.0f,\"ratio\":%.3f,"
               "\"bytes_per_step\":%.0f,\"single_steps_per_s\":%.0f,\"single_bytes_per_step\":%.0f}\n",
               sync_us, bare, many.steps_per_s, ratio, many.bytes_per_step, one.steps_per_s, one.bytes_per_step);
        return 0;
    }
    printf("append 4 KiB and fdatasync       %9.0f us (p50)\n", sync_us);
    printf("bare loop                        %9.0f events/s, %.2f us CPU an event\n", bare, bare_cpu_us);
    printf("200 chains                       %9.0f steps/s, %.2f of the bare loop\n", many.steps_per_s, ratio);
    printf("                                 %9.0f bytes written a step\n", many.bytes_per_step);
    printf("                                 %9.2f us CPU a step in all threads, %.2f us of them to make records and rows\n",
           many.cpu_us_per_step, many.build_us_per_step);
    printf("one chain                        %9.0f steps/s, %.0f bytes written a step\n", one.steps_per_s, one.bytes_per_step);
    return 0;
}
