/* Evaluates policies as it is told, line by line: bench-rego CASES
 *
 * CASES is a JSON file: [{"name", "module", "query", "data", "inputs": [...]}, ...]. Each is compiled once. A line of
 * standard input is then one task, and its answer one line of standard output, so that the driver can let several
 * programs take turns and compare what was measured side by side:
 *
 *   {"do": "results", "case": NAME}                                  [the result for each input]
 *   {"do": "time", "case": NAME, "ms": N, "threads": N, "text": B}   {"per_s": N, "cpu_us": N}
 *   {"do": "memory", "case": NAME, "count": N}                       {"rss": [bytes after a tenth, a half, all]}
 *
 * The rate is that of the clock on the wall; `cpu_us` is what one evaluation took of a processor, which others that use
 * the machine change less. With "text" the input is read from JSON and the result printed as JSON each time, as a
 * server has to; otherwise both are values. Threads share the compiled policy and have each their own arena and cache.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/check.h"
#include "rego/builtins/cache.h"
#include "rego/rego.h"
#include "value/json.h"

#define THREAD_COUNT_MAX 64u
#define CASE_COUNT_MAX 64u
#define FILE_SIZE_MAX (64u << 20)
#define LINE_SIZE_MAX 4096u
#define BATCH_NS 1000000            /* evaluations between two looks at the clock take about this long */

typedef struct Case {
    Str name;
    RegoPolicy *policy;
    RegoQuery *query;
    const Value *inputs;
    Str *texts;                     /* the same as JSON */
    uint32_t input_count;
} Case;

/* --- failing ----------------------------------------------------------------------------------------------------- */

static _Noreturn void fail(const char *what, Str text)
{
    fprintf(stderr, "bench-rego: %s: %.*s\n", what, STR_ARG(text));
    exit(1);
}

static void fail_on_errors(Status status, const char *what, const RegoErrors *errors)
{
    if (!status) return;
    char storage[1024];
    Buf buf = buf_on(storage, sizeof storage);
    if (errors->count) rego_error_print(&buf, &errors->items[0]);
    fail(what, buf_peek(&buf));
}

static Value parse(Arena *arena, Str text)
{
    Value value;
    Error err;
    if (json_parse(arena, text, &value, &err)) fail("JSON", str_of(err.text));
    return value;
}

/* --- cases ------------------------------------------------------------------------------------------------------- */

static Str file_read(Arena *arena, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) fail("no such file", str_of(path));
    Buf text;
    buf_init(&text, FILE_SIZE_MAX);
    char piece[65536];
    for (size_t size; (size = fread(piece, 1, sizeof piece, file)) > 0;) buf_str(&text, (Str){ piece, size });
    fclose(file);
    if (buf_overflowed(&text)) fail("too large", str_of(path));
    Str copy = arena_copy(arena, buf_peek(&text));
    buf_deinit(&text);
    return copy;
}

static Str value_json(Arena *arena, Value value)
{
    Buf text;
    buf_init(&text, FILE_SIZE_MAX);
    CHECK(json_print(&text, value, JSON_COMPACT, NULL) == OK);
    Str copy = arena_copy(arena, buf_peek(&text));
    buf_deinit(&text);
    return copy;
}

static Case case_open(Arena *arena, Value source)
{
    RegoErrors errors;
    rego_errors_init(&errors, arena);
    Case c = { .name = value_get_string(source, "name", STR("")) };
    RegoModuleText module = { STR("policy.rego"), value_get_string(source, "module", STR("")) };
    const Value *data = value_get_text(source, "data"), *inputs = value_get_text(source, "inputs");
    CHECK(data && inputs && inputs->kind == VALUE_ARRAY && inputs->count > 0);
    fail_on_errors(rego_compile(&module, 1, *data, NULL, &c.policy, &errors), "policy", &errors);
    const RegoQueryOptions options = { .capture = true };
    Str query = value_get_string(source, "query", STR(""));
    fail_on_errors(rego_query_prepare(c.policy, query, &options, &c.query, &errors), "query", &errors);
    c.inputs = inputs->items;
    c.input_count = inputs->count;
    c.texts = ARENA_ARRAY(arena, Str, c.input_count);
    for (uint32_t i = 0; i < c.input_count; i++) c.texts[i] = value_json(arena, c.inputs[i]);
    return c;
}

/* --- evaluating -------------------------------------------------------------------------------------------------- */

/* What one thread needs. Padded by its size: threads write to their own lines of the cache. */
typedef struct Worker {
    const Case *c;
    Arena arena;
    BuiltinCache cache;
    RegoEvalContext context;
    Buf out;
    bool is_text;
    uint64_t budget_ns;
    double per_s, cpu_us;
    pthread_t thread;
    pthread_barrier_t *start;
} Worker;

static void worker_open(Worker *worker, const Case *c, bool is_text)
{
    *worker = (Worker){ .c = c, .is_text = is_text };
    arena_init(&worker->arena, SIZE_MAX);
    builtin_cache_init(&worker->cache);
    worker->context = (RegoEvalContext){ .arena = &worker->arena, .cache = &worker->cache };
    buf_init(&worker->out, FILE_SIZE_MAX);
}

static void worker_close(Worker *worker)
{
    builtin_cache_deinit(&worker->cache);
    arena_deinit(&worker->arena);
    buf_deinit(&worker->out);
}

static Value evaluate(Worker *worker, uint32_t index)
{
    Value input = worker->is_text ? parse(&worker->arena, worker->c->texts[index]) : worker->c->inputs[index];
    RegoResult result;
    RegoEvalError error;
    if (rego_eval(worker->c->query, input, &worker->context, &result, &error))
        fail("evaluation", str_of(error.error.text));
    Value value = rego_result_value(&result);
    CHECK(rego_is_defined(value));
    if (worker->is_text) {
        buf_clear(&worker->out);
        CHECK(json_print(&worker->out, rego_value_to_json(&worker->arena, value), JSON_COMPACT, NULL) == OK);
    }
    return value;
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void evaluate_many(Worker *worker, uint64_t count, uint32_t *index)
{
    for (uint64_t i = 0; i < count; i++) {
        evaluate(worker, *index);
        arena_reset(&worker->arena);
        if (++*index == worker->c->input_count) *index = 0;
    }
}

static void *worker_time(void *context)
{
    Worker *worker = context;
    uint32_t index = 0;
    uint64_t batch = worker->c->input_count, count = 0;
    evaluate_many(worker, batch, &index);                       /* fills the cache */
    uint64_t begin = clock_ns(CLOCK_MONOTONIC);
    evaluate_many(worker, batch, &index);
    uint64_t took = clock_ns(CLOCK_MONOTONIC) - begin;
    batch *= 1 + BATCH_NS / (took + 1);
    pthread_barrier_wait(worker->start);
    uint64_t cpu_begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    begin = clock_ns(CLOCK_MONOTONIC);
    do {
        evaluate_many(worker, batch, &index);
        count += batch;
        took = clock_ns(CLOCK_MONOTONIC) - begin;
    } while (took < worker->budget_ns);
    worker->per_s = (double)count * 1e9 / (double)took;
    worker->cpu_us = (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_begin) / 1e3 / (double)count;
    return NULL;
}

/* --- tasks ------------------------------------------------------------------------------------------------------- */

static void do_results(const Case *c, Value task)
{
    Worker worker;
    worker_open(&worker, c, false);
    printf("[");
    for (uint32_t i = 0; i < c->input_count; i++) {
        Value result = rego_value_to_json(&worker.arena, evaluate(&worker, i));
        printf("%s%.*s", i ? "," : "", STR_ARG(value_json(&worker.arena, result)));
    }
    printf("]\n");
    worker_close(&worker);
}

static void do_time(const Case *c, Value task)
{
    uint32_t count = (uint32_t)value_get_int(task, "threads", 1);
    CHECK(count >= 1 && count <= THREAD_COUNT_MAX);
    Worker *workers = calloc(count, sizeof *workers);
    CHECK(workers);
    pthread_barrier_t start;
    CHECK(pthread_barrier_init(&start, NULL, count) == 0);
    for (uint32_t i = 0; i < count; i++) {
        worker_open(&workers[i], c, value_get_bool(task, "text", false));
        workers[i].budget_ns = (uint64_t)value_get_int(task, "ms", 500) * 1000000u;
        workers[i].start = &start;
        CHECK(pthread_create(&workers[i].thread, NULL, worker_time, &workers[i]) == 0);
    }
    double per_s = 0, cpu_us = 0;
    for (uint32_t i = 0; i < count; i++) {
        pthread_join(workers[i].thread, NULL);
        per_s += workers[i].per_s;
        cpu_us += workers[i].cpu_us / count;
        worker_close(&workers[i]);
    }
    pthread_barrier_destroy(&start);
    free(workers);
    printf("{\"per_s\":%.3f,\"cpu_us\":%.3f}\n", per_s, cpu_us);
}

static size_t rss_size(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    size_t pages = 0;
    if (!file || fscanf(file, "%*u %zu", &pages) != 1) fail("no such file", STR("/proc/self/statm"));
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void do_memory(const Case *c, Value task)
{
    uint64_t count = (uint64_t)value_get_int(task, "count", 0), tenth = count / 10;
    CHECK(tenth > 0);
    Worker worker;
    worker_open(&worker, c, false);
    uint32_t index = 0;
    rss_size();                     /* the pages that asking takes are there before the first answer counts */
    evaluate_many(&worker, tenth, &index);
    size_t first = rss_size();
    evaluate_many(&worker, 4 * tenth, &index);
    size_t middle = rss_size();
    evaluate_many(&worker, count - 5 * tenth, &index);
    printf("{\"rss\":[%zu,%zu,%zu]}\n", first, middle, rss_size());
    worker_close(&worker);
}

static const struct {
    const char *name;
    void (*run)(const Case *c, Value task);
} tasks[] = {
    { "results", do_results },
    { "time", do_time },
    { "memory", do_memory },
};

static void task_run(const Case *cases, uint32_t case_count, Value task)
{
    Str what = value_get_string(task, "do", STR("")), name = value_get_string(task, "case", STR(""));
    const Case *c = NULL;
    for (uint32_t i = 0; i < case_count; i++)
        if (str_is(cases[i].name, name)) c = &cases[i];
    if (!c) fail("no such case", name);
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        if (!str_is_text(what, tasks[i].name)) continue;
        tasks[i].run(c, task);
        fflush(stdout);
        return;
    }
    fail("no such task", what);
}

int main(int argc, char **argv)
{
    if (argc != 2) fail("usage", STR("bench-rego CASES"));
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Value sources = parse(&arena, file_read(&arena, argv[1]));
    CHECK(sources.kind == VALUE_ARRAY && sources.count <= CASE_COUNT_MAX);
    Case cases[CASE_COUNT_MAX];
    for (uint32_t i = 0; i < sources.count; i++) cases[i] = case_open(&arena, sources.items[i]);

    for (char line[LINE_SIZE_MAX]; fgets(line, sizeof line, stdin);) {
        Arena task_arena;
        arena_init(&task_arena, SIZE_MAX);
        task_run(cases, sources.count, parse(&task_arena, str_of(line)));
        arena_deinit(&task_arena);
    }
    for (uint32_t i = 0; i < sources.count; i++) {
        rego_query_free(cases[i].query);
        rego_policy_free(cases[i].policy);
    }
    arena_deinit(&arena);
    return 0;
}
