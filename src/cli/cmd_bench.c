#include <inttypes.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/limits.h"
#include "cli/guardrails.h"
#include "cli/workplace.h"
#include "lang/compile.h"
#include "os/clock.h"

static const char *const runners[] = { "native", "process", "noop", NULL };
static const Option options[] = {
    { "shape", 0, "SHAPE", NULL, "one-step, chain:N, fanout:N or parked:N; by default one-step." },
    { "runs", 0, "N", NULL, "How many runs; by default 1000." },
    { "inflight", 0, "N", NULL, "Runs under way at a time; by default 256." },
    { "preload", 0, "N", NULL, "Ended runs that the store holds before." },
    { "runner", 0, "WORD", runners, "What carries out the steps: native, process or noop; by default native." },
    STORE_OPTION,
    POLICY_OPTION,
    { "limits", 0, NULL, NULL, "Measures this machine and its disk instead." },
    { "json", 0, NULL, NULL, "Prints the figures as JSON." },
    { NULL },
};

typedef enum LoadShape { SHAPE_ONE, SHAPE_CHAIN, SHAPE_FANOUT, SHAPE_PARKED } LoadShape;

/* What the process runner starts, and how many at a time. */
#define BENCH_PROGRAM "/bin/true"
#define BENCH_PROGRAM_COUNT 64
#define SPAWN_MEASURE_US 2000000            /* how long starting them alone is measured */

typedef struct Bench {
    const Args *args;
    Guard *guard;
    Digest policy;                          /* of those that apply; zeros: none */
    Workplace place;
    Engine *engine;
    Digest plan;
    LoadShape shape;
    uint32_t width;                         /* N of the shape */
    uint64_t run_count, inflight;
    uint64_t started, settled, answered, refused;
    int64_t *begun_us;                      /* by order of start */
    double *latencies_ms;
    uint64_t latency_count;
    Id *parked;                             /* ids of parked runs */
    uint64_t parked_count;
    uint64_t first_run_no;
} Bench;

typedef struct Figures {
    double seconds, cpu_s;
    uint64_t written, disk;
    EngineStats stats;
    uint64_t verdict_count;
    long rss;
} Figures;

/* --- the definition ------------------------------------------------------------------------------------------------------- */

static const char config_text[] =
    "executors:\n"
    "  bench: { kind: native, runners: { bench/native: {} } }\n"
    "  programs: { kind: process, capacity: 64, runners: { bench/process: { command: [" BENCH_PROGRAM "] } } }\n";
static_assert(BENCH_PROGRAM_COUNT == 64, "the capacity above");

static bool read_shape(Bench *bench, const char *text)
{
    static const struct { const char *name; LoadShape shape; bool has_width; } shapes[] = {
        { "one-step", SHAPE_ONE, false }, { "chain", SHAPE_CHAIN, true }, { "fanout", SHAPE_FANOUT, true },
        { "parked", SHAPE_PARKED, true },
    };
    Str word = str_of(text);
    size_t colon = str_find(word, ':', 0);
    uint64_t width = 1;
    if (colon < word.len && !str_to_u64(str_slice(word, colon + 1, word.len), &width)) return false;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (str_is_text(str_slice(word, 0, colon), shapes[i].name) && (colon < word.len) == shapes[i].has_width && width
            && width <= PLAN_STEP_COUNT_MAX) {
            bench->shape = shapes[i].shape;
            bench->width = (uint32_t)width;
            return true;
        }
    return false;
}

static void write_definition(const Bench *bench, const char *runner, Buf *out)
{
    buf_text(out, "workflow: bench\nconfig: { max_concurrency: 1000000 }\njobs:\n");
    switch (bench->shape) {
    case SHAPE_ONE: buf_format(out, "  a: { tasks: [{ name: s, run: %s }] }\n", runner); break;
    case SHAPE_CHAIN:
        buf_text(out, "  a:\n    tasks:\n");
        for (uint32_t i = 0; i < bench->width; i++) buf_format(out, "      - { name: s%u, run: %s }\n", i, runner);
        break;
    case SHAPE_FANOUT:
        buf_format(out, "  first: { tasks: [{ name: s, run: %s }] }\n", runner);
        for (uint32_t i = 0; i < bench->width; i++)
            buf_format(out, "  w%u: { needs: first, tasks: [{ name: s, run: %s }] }\n", i, runner);
        buf_format(out, "  last:\n    tasks: [{ name: s, run: %s }]\n    needs: [", runner);
        for (uint32_t i = 0; i < bench->width; i++) buf_format(out, "%sw%u", i ? ", " : "", i);
        buf_text(out, "]\n");
        break;
    case SHAPE_PARKED:
        buf_format(out, "  a: { tasks: [{ name: s, run: %s, wait_for_signal: { signal: go, when: before } }] }\n", runner);
        break;
    }
}

static uint64_t steps_of(const Bench *bench)
{
    return bench->shape == SHAPE_CHAIN ? bench->width : bench->shape == SHAPE_FANOUT ? bench->width + 2 : 1;
}

static const Catalog *make_catalog(Arena *arena)
{
    Catalog *catalog = ARENA_NEW(arena, Catalog);
    catalog_init(catalog, arena);
    Node *root;
    Error err;
    CHECK(node_read(arena, str_of(config_text), TEXT_YAML, &root, &err) == OK);
    Diagnostics diagnostics;
    diagnostics_init(&diagnostics, arena, STR("bench"), str_of(config_text));
    catalog_add_config(catalog, &diagnostics, root);
    CHECK(!diagnostics.error_count);
    return catalog;
}

static Status add_plan(Bench *bench, const Catalog *catalog, Error *err)
{
    const char *word = args_value(bench->args, "runner");
    const char *runner = !word || strcmp(word, "native") == 0 ? "bench/native"
                       : strcmp(word, "noop") == 0            ? "noop"
                                                              : "bench/process";
    Buf text;
    buf_init(&text, DEFINITION_SIZE_MAX);
    write_definition(bench, runner, &text);
    Str copy = arena_copy(bench->args->arena, buf_peek(&text));
    Compiled compiled;
    compile(bench->args->arena, copy, &(CompileOptions){ .file = STR("bench.yaml"), .format = TEXT_YAML, .catalog = catalog },
            &compiled);
    CHECK(compiled.is_valid);
    buf_clear(&text);
    bench->policy = guard_digest(bench->guard, compiled.plan.document);
    Status status = canonical_print(&text, compiled.plan.document, err);
    if (!status) status = engine_plan_add(bench->engine, buf_peek(&text), &bench->plan, err);
    buf_deinit(&text);
    return status;
}

/* --- the load ------------------------------------------------------------------------------------------------------------- */

static int64_t now_us(void)
{
    return (int64_t)(clock_monotonic_ns() / 1000);
}

static void take_reply(void *context, const EngineReply *reply)
{
    Bench *bench = context;
    bench->answered++;
    if (reply->status) bench->refused++;
    if (bench->parked && !reply->status) bench->parked[bench->parked_count++] = reply->run_id;
}

static void take_observation(void *context, const Observation *observation)
{
    Bench *bench = context;
    if (observation->kind != OBSERVE_EVENTS || observation->run->run_no < bench->first_run_no) return;
    for (uint32_t i = 0; i < observation->event_count; i++) {
        uint8_t kind = observation->events[i].kind;
        if (kind == EVENT_STEP_WAITING) bench->settled++;
        if (kind != EVENT_RUN_SUCCEEDED && kind != EVENT_RUN_FAILED) continue;
        bench->settled++;
        uint64_t order = observation->run->run_no - bench->first_run_no;
        if (bench->begun_us && order < bench->run_count)
            bench->latencies_ms[bench->latency_count++] = (double)(now_us() - bench->begun_us[order]) / 1000;
    }
}

static void load(Bench *bench, uint64_t count)
{
    bench->started = bench->settled = bench->latency_count = bench->refused = 0;
    while (bench->settled + bench->refused < count) {
        while (bench->started < count && bench->started - bench->settled < bench->inflight) {
            EngineStart start = { .plan = bench->plan, .tenant = STR("default"), .command.actor = STR("user:bench"),
                                  .request.source = STR("manual"), .reply = take_reply, .context = bench };
            if (!engine_start(bench->engine, &start)) break;
            if (bench->begun_us) bench->begun_us[bench->started] = now_us();
            bench->started++;
        }
        host_turn(bench->place.host, -1);
    }
}

static void wake_parked(Bench *bench)
{
    uint64_t sent = 0;
    bench->settled = 0;
    while (bench->settled < bench->parked_count) {
        while (sent < bench->parked_count && sent - bench->settled < bench->inflight) {
            EngineRequest request = { .run_id = bench->parked[sent],
                                      .command = { .kind = COMMAND_SIGNAL, .actor = STR("user:bench"), .name = STR("go"),
                                                   .sort = SIGNAL_MILESTONE, .value = value_null() } };
            if (!engine_request(bench->engine, &request)) break;
            sent++;
        }
        host_turn(bench->place.host, -1);
    }
}

/* --- figures -------------------------------------------------------------------------------------------------------------- */

static uint64_t written_bytes(void)
{
    char text[512];
    uint64_t written = 0;
    FILE *file = fopen("/proc/self/io", "r");
    while (file && fgets(text, sizeof text, file)) sscanf(text, "write_bytes: %" SCNu64, &written);
    if (file) fclose(file);
    return written;
}

static uint64_t disk_bytes(const Bench *bench)
{
    const char *path = store_path(bench->args->arena, bench->place.url);
    uint64_t total = 0;
    struct stat info;
    if (path && stat(path, &info) == 0) total += (uint64_t)info.st_size;
    if (path && stat(arena_format(bench->args->arena, "%s-wal", path).ptr, &info) == 0) total += (uint64_t)info.st_size;
    return total;
}

static long resident_bytes(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
    if (file) fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

/* Six digits that say something, and whole numbers whole: bytes are never 1.7e+07. */
static int digits_of(double value)
{
    int digits = value == floor(value) ? 0 : 6;
    for (double bound = 1; digits && bound <= fabs(value); bound *= 10) digits--;
    return digits;
}

static Figures figures_now(Bench *bench)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (Figures){ .seconds = (double)now_us() / 1e6, .written = written_bytes(), .disk = disk_bytes(bench),
                      .cpu_s = (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6
                               + (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6,
                      .stats = engine_stats(bench->engine), .verdict_count = guard_verdict_count(bench->guard),
                      .rss = resident_bytes() };
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double percentile(const Bench *bench, double share)
{
    if (!bench->latency_count) return 0;
    return bench->latencies_ms[(uint64_t)((double)(bench->latency_count - 1) * share)];
}

static void print_policy(const Bench *bench, bool is_json)
{
    static const Digest none;
    char storage[DIGEST_TEXT_SIZE];
    Buf text = buf_on(storage, sizeof storage);
    if (memcmp(&bench->policy, &none, sizeof none) == 0) return;
    digest_print(&text, &bench->policy);
    printf(is_json ? ",\"policy_digest\":\"%.*s\"" : "policy                     %.*s\n", STR_ARG(buf_peek(&text)));
}

static void print_figures(Bench *bench, const Figures *before, const Figures *after, double wake_per_s)
{
    double seconds = after->seconds - before->seconds, steps = (double)bench->run_count * (double)steps_of(bench);
    Histogram times = store_commit_times(bench->place.store);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    qsort(bench->latencies_ms, bench->latency_count, sizeof(double), compare_doubles);
    struct { const char *key, *what; double value; } rows[] = {
        { "runs_per_s", "runs a second", (double)bench->run_count / seconds },
        { "steps_per_s", "steps a second", steps / seconds },
        { "latency_ms_p50", "latency p50, ms", percentile(bench, 0.5) },
        { "latency_ms_p99", "latency p99, ms", percentile(bench, 0.99) },
        { "cpu_s_per_1000_steps", "CPU seconds a 1000 steps", (after->cpu_s - before->cpu_s) * 1000 / steps },
        { "disk_bytes_per_step", "bytes on disk a step", (double)(after->disk - before->disk) / steps },
        { "rss_peak_bytes", "peak memory, bytes", (double)usage.ru_maxrss * 1024 },
        { "records_per_step", "records a step", (double)(after->stats.record_count - before->stats.record_count) / steps },
        { "commits_per_step", "commits a step", (double)(after->stats.batch_count - before->stats.batch_count) / steps },
        { "written_bytes_per_step", "bytes written a step", (double)(after->written - before->written) / steps },
        { "commit_ms_p50", "a commit, p50, ms", (double)histogram_quantile(&times, 0.5) / 1000 },
        { "commit_ms_p99", "a commit, p99, ms", (double)histogram_quantile(&times, 0.99) / 1000 },
        { "verdicts_per_step", "verdicts a step", (double)(after->verdict_count - before->verdict_count) / steps },
        { "inflight", "runs at a time", (double)bench->inflight },
        { "rss_bytes_per_run", "memory a run", (double)(after->rss - before->rss) / (double)bench->run_count },
        { "woken_per_s", "woken a second", wake_per_s },
    };
    size_t count = sizeof rows / sizeof *rows - (bench->shape == SHAPE_PARKED ? 0 : 2);
    bool is_json = args_flag(bench->args, "json");
    printf(is_json ? "{\"shape\":\"%s\"" : "shape                      %s\n",
           args_value(bench->args, "shape") ? args_value(bench->args, "shape") : "one-step");
    for (size_t i = 0; i < count; i++)
        printf(is_json ? ",\"%s\":%.*f" : "%-26s %.*f\n", is_json ? rows[i].key : rows[i].what, digits_of(rows[i].value), rows[i].value);
    print_policy(bench, is_json);
    if (is_json) puts("}");
}

/* --- limits --------------------------------------------------------------------------------------------------------------- */

static Status spawn_one(Error *err)
{
    static char program[] = BENCH_PROGRAM;
    char *const arguments[] = { program, NULL }, *const variables[] = { NULL };
    pid_t pid;
    int failed = posix_spawn(&pid, BENCH_PROGRAM, NULL, NULL, arguments, variables);
    return failed ? error_set(err, ERR_UNAVAILABLE, "%s cannot be started: %s", BENCH_PROGRAM, strerror(failed)) : OK;
}

/* What the process runner is held against: the same program, as many at a time, and nothing else. */
static Status spawns_per_second(double *out, Error *err)
{
    const int64_t begun = now_us(), end = begun + SPAWN_MEASURE_US;
    uint64_t ended = 0;
    int alive = 0;
    Status status = OK;
    while (!status && now_us() < end) {
        for (; !status && alive < BENCH_PROGRAM_COUNT; alive += !status) status = spawn_one(err);
        if (!status && waitpid(-1, NULL, 0) > 0) alive--, ended++;
    }
    double seconds = (double)(now_us() - begun) / 1e6;
    while (alive > 0 && waitpid(-1, NULL, 0) > 0) alive--;
    if (!status) *out = (double)ended / seconds;
    return status;
}

static ExitCode print_limits(const Args *args)
{
    const char *path = store_path(args->arena, store_url(args));
    char *directory = strdup(path ? path : ".");
    CHECK(directory);
    char *slash = strrchr(directory, '/');
    if (slash) *slash = '\0';
    double events, sync_us, spawns;
    Error err;
    Status status = adapters.limits(slash ? directory : ".", &events, &sync_us, &err);
    free(directory);
    if (!status) status = spawns_per_second(&spawns, &err);
    if (status) return fail(&err);
    printf(args_flag(args, "json") ? "{\"fdatasync_us_p50\":%.6g,\"events_per_s\":%.6g,\"spawns_per_s\":%.6g}\n"
                                   : "fdatasync p50, us          %.6g\nevents a second            %.6g\n"
                                     "programs a second          %.6g\n",
           sync_us, events, spawns);
    return EXIT_CODE_OK;
}

/* --- the command ---------------------------------------------------------------------------------------------------------- */

static ExitCode measure(Bench *bench, uint64_t preload)
{
    engine_observe(bench->engine, take_observation, bench);
    uint64_t inflight = bench->inflight;
    if (preload) {
        bench->inflight = 4096;
        load(bench, preload);
        bench->inflight = inflight;
    }
    bench->first_run_no = preload + 1;
    bench->begun_us = calloc(bench->run_count, sizeof *bench->begun_us);
    bench->latencies_ms = calloc(bench->run_count, sizeof *bench->latencies_ms);
    if (bench->shape == SHAPE_PARKED) bench->parked = calloc(bench->run_count, sizeof *bench->parked);
    CHECK(bench->begun_us && bench->latencies_ms);
    memset(bench->begun_us, 1, bench->run_count * sizeof *bench->begun_us);
    memset(bench->latencies_ms, 1, bench->run_count * sizeof *bench->latencies_ms);
    if (bench->parked) memset(bench->parked, 1, bench->run_count * sizeof *bench->parked);
    Figures before = figures_now(bench);
    load(bench, bench->run_count);
    while (!engine_is_idle(bench->engine)) host_turn(bench->place.host, 10);
    Figures after = figures_now(bench);
    double wake_per_s = 0;
    if (bench->shape == SHAPE_PARKED) {
        int64_t begun = now_us();
        wake_parked(bench);
        wake_per_s = (double)bench->parked_count * 1e6 / (double)(now_us() - begun);
    }
    print_figures(bench, &before, &after, wake_per_s);
    free(bench->begun_us);
    free(bench->latencies_ms);
    free(bench->parked);
    return bench->refused ? EXIT_CODE_TEMPORARY : EXIT_CODE_OK;
}

static ExitCode bench_at(Bench *bench, const Catalog *catalog, uint64_t preload)
{
    bool is_busy;
    bench->place = (Workplace){ .is_bench = true, .guard = bench->guard };
    ExitCode code = workplace_open(bench->args, catalog, &bench->place, &is_busy);
    if (is_busy) print_note("maestro bench: another process works on this store\n");
    if (code) return code;
    bench->engine = host_engine(bench->place.host);
    Error err;
    Status status = add_plan(bench, catalog, &err);
    code = status ? fail(&err) : measure(bench, preload);
    workplace_close(&bench->place);
    return code;
}

static ExitCode bench_run(const Args *args)
{
    if (args_flag(args, "limits")) return print_limits(args);
    Bench bench = { .args = args };
    const char *shape = args_value(args, "shape");
    if (!read_shape(&bench, shape ? shape : "one-step")) {
        print_note("maestro bench: '%s' is no shape: one-step, chain:N, fanout:N, parked:N\n", shape);
        return EXIT_CODE_USAGE;
    }
    uint64_t preload;
    uint64_t otherwise = bench.shape == SHAPE_PARKED ? bench.width : 1000;
    if (!args_number(args, "runs", otherwise, 1, BENCH_COUNT_MAX, &bench.run_count)
        || !args_number(args, "inflight", 256, 1, 1000000, &bench.inflight)
        || !args_number(args, "preload", 0, 0, BENCH_COUNT_MAX, &preload))
        return EXIT_CODE_USAGE;
    const Catalog *catalog = make_catalog(args->arena);
    ExitCode code = guardrails_open(args, catalog, /* plan= */ NULL, &bench.guard);
    if (code) return code;
    code = bench_at(&bench, catalog, preload);
    guard_close(bench.guard);
    return code;
}

const Verb command_bench = {
    .name = "bench", .operands = "", .summary = "Measures how fast runs go on this machine.",
    .doc = "Runs a shape of workflow many times, durably, with the ledger on, and prints what it took. Use a store of its own:\n"
           "the runs stay there. --policy measures them with that policy asked at every hook. --limits measures the disk\n"
           "(appending 4 KiB and syncing), a bare loop of SQLite transactions, and how many programs a second are started\n"
           "and waited for, 64 at a time, to hold the figures against.",
    .examples = "maestro bench --shape chain:100 --runs 200 --inflight 200 --store sqlite:./bench.db\n"
                "maestro bench --shape chain:100 --runs 200 --policy bench/policies/rbac.rego --store sqlite:./bench.db\n"
                "maestro bench --limits --store sqlite:./bench.db",
    .options = options, .run = bench_run,
};
