/* Measures what runs have to bear from others: bench-fairness [--json] [--dir DIR] [SECONDS]
 *
 * One tenant keeps a few one-step runs under way, each replaced when it has ended, and the time from a start to its end is
 * taken: first with nobody else there, then beside a run of a hundred thousand steps that is started and carried out, one that
 * fails and one that is cancelled, then beside a tenant that offers fifty times as many runs. What counts are the ratios of
 * the 99th percentiles to the first one, all measured in the same run in the same directory. The real engine, the SQLite store
 * and native functions that do nothing; one loop.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "engine/host.h"
#include "exec/native/native.h"
#include "os/clock.h"
#include "os/entropy.h"
#include "store/sqlite/sqlite_store.h"

#define SMALL_COUNT 4u                      /* runs of the measured tenant under way */
#define FLOOD_COUNT (SMALL_COUNT * 50)      /* of the one that offers too many */
#define BIG_STEP_COUNT 100000u
#define SAMPLE_COUNT_MAX (1u << 22)

typedef struct Load {
    Host *host;
    Engine *engine;
    Executor *executors[1];
    Digest small, flood, big;
    int64_t begun_us[SMALL_COUNT + FLOOD_COUNT];
    uint64_t run_nos[SMALL_COUNT + FLOOD_COUNT];    /* by slot; 0: none under way */
    uint64_t flood_ended;
    double *samples_ms;
    uint32_t sample_count;
    bool is_failing;                                /* the big one's steps fail */
    bool is_big_over;
    Id big_id;
    uint64_t big_no;
} Load;

static void stop(const Error *err)
{
    fprintf(stderr, "bench-fairness: %s\n", err->text);
    exit(1);
}

static int64_t now_us(void)
{
    return (int64_t)(clock_monotonic_ns() / 1000);
}

/* --- what is run ----------------------------------------------------------------------------------------------------------- */

static Status work(void *context, NativeCall *call, const Attempt *attempt, Arena *arena, Report *out_report)
{
    Load *load = context;
    (void)call;
    (void)arena;
    if (load->is_failing && attempt->id.run_no == load->big_no) out_report->cause = CAUSE_PERMANENT;
    return OK;
}

static bool find_runner(void *context, Str tenant, Str runner, uint32_t nth, RunnerOffer *out)
{
    if (nth) return false;
    (void)tenant;
    (void)runner;
    *out = (RunnerOffer){ .executor = ((Load *)context)->executors[0], .settings = value_null() };
    return true;
}

static void random_bytes(void *context, uint8_t *bytes, size_t size)
{
    (void)context;
    entropy_bytes(bytes, size);
}

static Digest add_plan(Load *load, const char *id, uint32_t step_count)
{
    Buf text;
    Error err;
    Digest digest;
    buf_init(&text, SIZE_MAX);
    buf_format(&text, "{\"config\":{\"max_concurrency\":256},\"edges\":[],\"format\":1,\"id\":\"%s\",\"kind\":\"workflow\",", id);
    buf_text(&text, "\"steps\":[");
    for (uint32_t i = 0; i < step_count; i++)
        buf_format(&text, "%s{\"id\":\"s%u\",\"kind\":\"task\",\"name\":\"s%u\",\"run\":\"noop\"}", i ? "," : "", i, i);
    buf_format(&text, "],\"tenant\":\"%s\"}", id);
    if (engine_plan_add(load->engine, buf_peek(&text), &digest, &err)) stop(&err);
    buf_deinit(&text);
    return digest;
}

/* --- the load -------------------------------------------------------------------------------------------------------------- */

typedef struct Slot { Load *load; uint32_t index; } Slot;
static Slot slots[SMALL_COUNT + FLOOD_COUNT];

static void take_start(void *context, const EngineReply *reply)
{
    Slot *slot = context;
    CHECK(!reply->status);
    if (slot->load->run_nos[slot->index] != UINT64_MAX) slot->load->run_nos[slot->index] = reply->run_no;
}

static void start_small(Load *load, uint32_t index)
{
    slots[index] = (Slot){ load, index };
    load->run_nos[index] = 0;
    load->begun_us[index] = now_us();
    bool is_flood = index >= SMALL_COUNT;
    EngineStart start = { .plan = is_flood ? load->flood : load->small, .tenant = is_flood ? STR("flood") : STR("small"),
                          .command.actor = STR("user:bench"), .request.source = STR("manual"), .reply = take_start,
                          .context = &slots[index] };
    CHECK(engine_start(load->engine, &start));
}

static void take_big(void *context, const EngineReply *reply)
{
    Load *load = context;
    CHECK(!reply->status);
    load->big_id = reply->run_id;
}

static bool ends_run(uint8_t kind)
{
    return kind == EVENT_RUN_SUCCEEDED || kind == EVENT_RUN_FAILED || kind == EVENT_RUN_CANCELLED;
}

static void take_observation(void *context, const Observation *observation)
{
    Load *load = context;
    if (observation->kind != OBSERVE_EVENTS) return;
    if (observation->first_event == 1 && observation->plan->step_count > 1) load->big_no = observation->run->run_no;
    if (!ends_run(observation->events[observation->event_count - 1].kind)) return;
    uint64_t run_no = observation->run->run_no;
    if (run_no == load->big_no) load->is_big_over = true;
    for (uint32_t i = 0; i < SMALL_COUNT + FLOOD_COUNT; i++) {
        if (load->run_nos[i] != run_no) continue;
        if (i < SMALL_COUNT && load->sample_count < SAMPLE_COUNT_MAX)
            load->samples_ms[load->sample_count++] = (double)(now_us() - load->begun_us[i]) / 1000;
        if (i >= SMALL_COUNT) load->flood_ended++;
        load->run_nos[i] = UINT64_MAX;              /* over: the slot is taken again */
        return;
    }
}

/* Until the time is over, or, beside a big run, until that has ended. */
static void go_on(Load *load, bool has_flood, double seconds, bool is_until_big)
{
    int64_t end_us = now_us() + (int64_t)(seconds * 1e6);
    uint32_t count = has_flood ? SMALL_COUNT + FLOOD_COUNT : SMALL_COUNT;
    while (is_until_big ? !load->is_big_over : now_us() < end_us) {
        for (uint32_t i = 0; i < count; i++)
            if (load->run_nos[i] == UINT64_MAX) start_small(load, i);
        host_turn(load->host, 100);
    }
}

static void start_big(Load *load, bool is_failing)
{
    load->is_failing = is_failing;
    load->is_big_over = false;
    load->big_no = 0;
    EngineStart start = { .plan = load->big, .tenant = STR("big"), .command.actor = STR("user:bench"),
                          .request.source = STR("manual"), .reply = take_big, .context = load };
    CHECK(engine_start(load->engine, &start));
}

static void cancel_big(Load *load)
{
    EngineRequest request = { .run_no = load->big_no,
                              .command = { .kind = COMMAND_CANCEL, .actor = STR("user:bench"), .value = value_null() } };
    CHECK(engine_request(load->engine, &request));
}

/* --- figures --------------------------------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double percentile(Load *load, double share)
{
    qsort(load->samples_ms, load->sample_count, sizeof *load->samples_ms, by_size);
    return load->sample_count ? load->samples_ms[(uint32_t)((double)(load->sample_count - 1) * share)] : 0;
}

static void print(Load *load, const char *name, bool is_json, double *first_p99)
{
    double p50 = percentile(load, 0.5), p99 = percentile(load, 0.99);
    if (*first_p99 == 0) *first_p99 = p99;
    const char *form = is_json ? "{\"beside\":\"%s\",\"runs\":%u,\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"p99_ratio\":%.2f}\n"
                               : "%-32s %8u runs   p50 %8.3f ms   p99 %8.3f ms   %6.2f\n";
    printf(form, name, load->sample_count, p50, p99, p99 / *first_p99);
    fflush(stdout);
    load->sample_count = 0;
}

static void measure(Load *load, double seconds, bool is_json)
{
    double first = 0;
    go_on(load, false, seconds / 4, false);         /* the first ones are not counted */
    load->sample_count = 0;
    go_on(load, false, seconds, false);
    print(load, "nobody", is_json, &first);
    start_big(load, /* is_failing= */ false);
    go_on(load, false, 0, true);
    print(load, "a run of 100,000 steps", is_json, &first);
    start_big(load, /* is_failing= */ true);
    go_on(load, false, 0, true);
    print(load, "one that fails", is_json, &first);
    start_big(load, /* is_failing= */ false);
    while (!load->big_no) go_on(load, false, 0.001, false);
    go_on(load, false, 0.02, false);
    cancel_big(load);
    go_on(load, false, 0, true);
    print(load, "one that is cancelled", is_json, &first);
    go_on(load, false, seconds, false);
    print(load, "nobody, afterwards", is_json, &first);
    go_on(load, true, seconds / 4, false);
    load->sample_count = 0;
    go_on(load, true, seconds, false);
    print(load, "a tenant with 50 times as many", is_json, &first);
}

int main(int argc, char **argv)
{
    double seconds = 3;
    const char *directory = "/tmp";
    bool is_json = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) is_json = true;
        else if (strcmp(argv[i], "--dir") == 0 && i + 1 < argc) directory = argv[++i];
        else seconds = strtod(argv[i], NULL);
    }
    if (!(seconds > 0)) {
        (void)fprintf(stderr, "usage: bench-fairness [--json] [--dir DIR] [SECONDS]\n");
        return 2;
    }
    static Load load;
    char folder[512], path[600];
    Error err;
    Store *store;
    NoticeRing *ring;
    snprintf(folder, sizeof folder, "%s/bench-fairness-XXXXXX", directory);
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/store.db", folder);
    if (sqlite_store_open(&(SqliteOptions){ .path = path, .is_created = true }, &store, &err)) stop(&err);
    if (notice_ring_open(0, &ring, &err)) stop(&err);
    NativeFunction function = { .runner = STR_INIT("noop"), .run = work, .context = &load, .is_quick = true };
    NativeOptions native = { .name = STR("bench"), .functions = &function, .function_count = 1, .capacity = UINT32_MAX,
                             .sink = notice_ring_sink(ring) };
    if (native_executor_open(&native, &load.executors[0], &err)) stop(&err);
    HostOptions options = { .notices = ring, .engine = { .store = store, .log = 1, .executors = load.executors,
                                                         .executor_count = 1, .runner = find_runner, .random = random_bytes,
                                                         .context = &load } };
    if (host_open(&options, &load.host, &err)) stop(&err);
    load.engine = host_engine(load.host);
    load.samples_ms = calloc(SAMPLE_COUNT_MAX, sizeof *load.samples_ms);
    CHECK(load.samples_ms);
    for (uint32_t i = 0; i < SMALL_COUNT + FLOOD_COUNT; i++) load.run_nos[i] = UINT64_MAX;
    load.small = add_plan(&load, "small", 1);
    load.flood = add_plan(&load, "flood", 1);
    load.big = add_plan(&load, "big", BIG_STEP_COUNT);
    engine_observe(load.engine, take_observation, &load);
    measure(&load, seconds, is_json);
    host_close(load.host);
    load.executors[0]->ops->close(load.executors[0]);
    notice_ring_close(ring);
    store_close(store);
    free(load.samples_ms);
    static const char *const ends[] = { "", "-wal", "-shm", ".lock" };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char name[620];
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        unlink(name);
    }
    rmdir(folder);
    return 0;
}
