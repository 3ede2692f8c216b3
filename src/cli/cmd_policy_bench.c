#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "cli/policy_report.h"
#include "cli/policy_run.h"
#include "os/clock.h"

#define BENCH_NS_DEFAULT UINT64_C(1000000000)       /* how long each thread works where no count was given */
#define WARM_COUNT 100u                             /* evaluations before the first one that counts */
#define SAMPLE_COUNT_FIRST 4096u

static const char *const formats[] = { "pretty", "json", NULL };

static const Option options[] = {
    { "data", 'd', "PATH", NULL, "A policy or data file, or a directory of them.", .repeats = true },
    { "bundle", 'b', "PATH", NULL, "A bundle: a directory or a .tar.gz.", .repeats = true },
    { "input", 'i', "FILE", NULL, "The input document, JSON or YAML." },
    { "count", 0, "N", NULL, "Evaluations of each thread; as many as fit one second if not given." },
    { "threads", 0, "N", NULL, "Threads that evaluate at the same time." },
    { "format", 'f', "FORM", formats, "How results are printed: pretty or json." },
    { "v0", 0, NULL, NULL, "Reads the old syntax, before Rego v1." },
    { NULL },
};

/* One thread and what it measured. */
typedef struct Worker {
    const RegoQuery *query;
    Value input;
    uint64_t count_wanted;          /* 0: until the time is over */
    pthread_t thread;
    PolicyRun run;
    uint64_t *samples_ns;
    size_t count, capacity;
    uint64_t elapsed_ns, bytes, step_count;
    Status status;
    RegoEvalError error;
} Worker;

typedef struct Bench {
    const Args *args;
    PolicySet set;
    RegoPolicy *policy;
    RegoQuery *query;
    Value input;
    uint64_t count, thread_count, compile_ns;
    Worker *workers;
} Bench;

/* --- one thread --------------------------------------------------------------------------------------------------- */

static bool evaluate(Worker *worker)
{
    RegoResult result;
    arena_reset(&worker->run.arena);
    worker->status = rego_eval(worker->query, worker->input, &worker->run.context, &result, &worker->error);
    if (worker->status) return false;
    worker->step_count = result.step_count;
    return true;
}

static void keep_sample(Worker *worker, uint64_t ns)
{
    if (worker->count == worker->capacity) {
        worker->capacity = worker->capacity ? 2 * worker->capacity : SAMPLE_COUNT_FIRST;
        worker->samples_ns = realloc(worker->samples_ns, worker->capacity * sizeof *worker->samples_ns);
        CHECK(worker->samples_ns);
    }
    worker->samples_ns[worker->count++] = ns;
}

/* One reading of the clock an evaluation: the end of one is the beginning of the next. */
static void *work(void *context)
{
    Worker *worker = context;
    for (unsigned i = 0; i < WARM_COUNT; i++)
        if (!evaluate(worker)) return NULL;
    worker->bytes = worker->run.arena.size - (size_t)(worker->run.arena.end - worker->run.arena.free);
    uint64_t begin = clock_monotonic_ns(), now = begin;
    for (;;) {
        if (!evaluate(worker)) return NULL;
        uint64_t after = clock_monotonic_ns();
        keep_sample(worker, after - now);
        now = after;
        bool is_over = worker->count_wanted ? worker->count == worker->count_wanted : now - begin >= BENCH_NS_DEFAULT;
        if (is_over || worker->count == BENCH_COUNT_MAX) break;
    }
    worker->elapsed_ns = now - begin;
    return NULL;
}

static void run_workers(Bench *bench)
{
    bench->workers = ARENA_ARRAY(bench->args->arena, Worker, bench->thread_count);
    for (uint64_t i = 0; i < bench->thread_count; i++) {
        Worker *worker = &bench->workers[i];
        *worker = (Worker){ .query = bench->query, .input = bench->input, .count_wanted = bench->count };
        policy_run_init(&worker->run);
        CHECK(pthread_create(&worker->thread, NULL, work, worker) == 0);
    }
    for (uint64_t i = 0; i < bench->thread_count; i++) CHECK(pthread_join(bench->workers[i].thread, NULL) == 0);
}

static void free_workers(Bench *bench)
{
    for (uint64_t i = 0; i < bench->thread_count; i++) {
        policy_run_deinit(&bench->workers[i].run);
        free(bench->workers[i].samples_ns);
    }
}

/* --- the report --------------------------------------------------------------------------------------------------- */

typedef struct Figures {
    uint64_t count, p50_ns, p99_ns, max_ns, mean_ns;
    uint64_t per_second;            /* of all threads together */
    uint64_t bytes, steps, compile_ns, threads;
} Figures;

static int by_size(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static Figures figure(const Bench *bench)
{
    Figures figures = { .compile_ns = bench->compile_ns, .threads = bench->thread_count,
                        .bytes = bench->workers[0].bytes, .steps = bench->workers[0].step_count };
    double per_second = 0;
    uint64_t sum = 0, at = 0;
    for (uint64_t i = 0; i < bench->thread_count; i++) {
        figures.count += bench->workers[i].count;
        sum += bench->workers[i].elapsed_ns;
        per_second += (double)bench->workers[i].count / ((double)bench->workers[i].elapsed_ns / 1e9);
    }
    uint64_t *all = calloc(figures.count, sizeof *all);
    CHECK(all);
    for (uint64_t i = 0; i < bench->thread_count; i++) {
        memcpy(all + at, bench->workers[i].samples_ns, bench->workers[i].count * sizeof *all);
        at += bench->workers[i].count;
    }
    qsort(all, figures.count, sizeof *all, by_size);
    figures.p50_ns = all[figures.count / 2];
    figures.p99_ns = all[figures.count - 1 - figures.count / 100];
    figures.max_ns = all[figures.count - 1];
    figures.mean_ns = sum / figures.count;
    figures.per_second = (uint64_t)per_second;
    free(all);
    return figures;
}

static ExitCode report(const Bench *bench)
{
    Figures figures = figure(bench);
    const struct { const char *title, *name; uint64_t number; } rows[] = {
        { "samples", "samples", figures.count },
        { "threads", "threads", figures.threads },
        { "evals/s", "evals_per_second", figures.per_second },
        { "ns/op", "ns_per_op", figures.mean_ns },
        { "ns/op p50", "p50_ns", figures.p50_ns },
        { "ns/op p99", "p99_ns", figures.p99_ns },
        { "ns/op max", "max_ns", figures.max_ns },
        { "B/op", "bytes_per_op", figures.bytes },
        { "steps/op", "steps_per_op", figures.steps },
        { "compile ns", "compile_ns", figures.compile_ns },
    };
    enum { ROW_COUNT = sizeof rows / sizeof *rows };
    Arena *arena = bench->args->arena;
    MemberList members = { .arena = arena };
    Str cells[2 * ROW_COUNT];
    for (size_t i = 0; i < ROW_COUNT; i++) {
        member_list_add(&members, str_of(rows[i].name), value_int((int64_t)rows[i].number));
        cells[2 * i] = str_of(rows[i].title);
        cells[2 * i + 1] = arena_format(arena, "%llu", (unsigned long long)rows[i].number);
    }
    if (policy_wants_json(bench->args)) return print_document(member_list_object(&members));
    Buf out;
    buf_init(&out, 64u * 1024);
    policy_table(&out, cells, ROW_COUNT, 2);
    print_out(&out);
    buf_deinit(&out);
    return EXIT_CODE_OK;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

static ExitCode make(Bench *bench)
{
    const Args *args = bench->args;
    Error err;
    const char *input = args_value(args, "input");
    policy_set_init(&bench->set, args->arena);
    bench->input = rego_undefined();
    Status status = policy_add_options(&bench->set, args, &err);
    if (!status && input) status = policy_read_document(args->arena, input, &bench->input, &err);
    if (status) return policy_refuse_load(args, &err);
    RegoCompileOptions compile = { .v0 = args_flag(args, "v0"), .check_data = true };
    uint64_t begin = clock_monotonic_ns();
    ExitCode code = policy_compile(args, &bench->set, compile, &bench->policy);
    if (code) return code;
    code = policy_prepare(args, &bench->set, bench->policy, STR(""), &bench->query);
    if (code) return code;
    bench->compile_ns = clock_monotonic_ns() - begin;
    return EXIT_CODE_OK;
}

static ExitCode run(const Args *args)
{
    Bench bench = { .args = args };
    if (!args_number(args, "count", 0, 1, BENCH_COUNT_MAX, &bench.count)) return EXIT_CODE_USAGE;
    if (!args_number(args, "threads", 1, 1, BENCH_THREAD_COUNT_MAX, &bench.thread_count)) return EXIT_CODE_USAGE;
    ExitCode code = make(&bench);
    if (!code) {
        run_workers(&bench);
        for (uint64_t i = 0; !code && i < bench.thread_count; i++)
            if (bench.workers[i].status) code = policy_refuse_eval(args, &bench.workers[i].error);
        if (!code) code = report(&bench);
        free_workers(&bench);
    }
    rego_query_free(bench.query);
    rego_policy_free(bench.policy);
    return code;
}

const Verb command_policy_bench = {
    .name = "policy bench", .operands = "QUERY", .operand_count_min = 1, .operand_count_max = 1,
    .summary = "Measures how fast a query is evaluated.",
    .doc = "Compiles once, then evaluates the query again and again, and reports evaluations a second, the time of one\n"
           "(mean, median, the slowest of a hundred, the slowest), the memory and the steps of its budget that it takes,\n"
           "and the time of compiling.",
    .examples = "  maestro policy bench -d policies -i input.json data.deploy.allow\n"
                "  maestro policy bench --threads 4 --format json 'data.deploy.allow' -d policies",
    .options = options, .run = run,
};
