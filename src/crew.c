/* crew.c - with main.c the composition root: the executors of this process, and who of them carries out which runner. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "cli/adapters.h"
#include "exec/builtin/builtin.h"
#include "exec/http/http.h"
#include "exec/native/native.h"
#include "exec/process/process.h"
#include "exec/worker/puller.h"
#include "exec/worker/worker.h"
#include "os/file.h"
#include "store/memory/memory_store.h"
#include "store/remote/remote_store.h"
#include "store/sqlite/limits_probe.h"
#include "store/sqlite/lock.h"
#include "store/sqlite/sqlite_store.h"

#define PROCESS_CAPACITY_DEFAULT 64u        /* programs at a time where runners.yaml does not say */

/* The path of a SQLite file. */
static Status path_of(Str url, char out[STORE_PATH_SIZE_MAX + 1], Error *err)
{
    Str path = str_starts(url, STR("sqlite:")) ? str_slice(url, 7, url.len) : url;
    size_t colon = str_find(url, ':', 0);
    bool is_other = path.len == url.len && colon + 2 < url.len && url.ptr[colon + 1] == '/' && url.ptr[colon + 2] == '/';
    if (is_other) return error_set(err, ERR_UNAVAILABLE, "there is no store of the kind '%.*s': sqlite:PATH is known", STR_ARG(url));
    if (!path.len || path.len > STORE_PATH_SIZE_MAX)
        return error_set(err, ERR_INVALID, "'%.*s' names no file", STR_ARG(url));
    char named[STORE_PATH_SIZE_MAX + 1];
    snprintf(named, sizeof named, "%.*s", STR_ARG(path));
    if (!file_follow(named, out, STORE_PATH_SIZE_MAX + 1))
        return error_set(err, ERR_INVALID, "'%s' is a symbolic link that leads to no file", named);
    return OK;
}

static bool is_in_memory(Str url) { return str_starts(url, STR("memory:")); }

static Status store_open(Str url, bool is_created, Store **out_store, Error *err)
{
    char path[STORE_PATH_SIZE_MAX + 1];
    if (is_in_memory(url)) {
        *out_store = memory_store_new(NULL);
        return OK;
    }
    if (remote_is_url(url)) return remote_store_open(&(RemoteOptions){ url, str_of(getenv("MAESTRO_TOKEN")) }, out_store, err);
    Status status = path_of(url, path, err);
    return status ? status : sqlite_store_open(&(SqliteOptions){ .path = path, .is_created = is_created }, out_store, err);
}

static Status store_claim(Str url, Claim *out_claim, Error *err)
{
    char path[STORE_PATH_SIZE_MAX + 1];
    Lock lock = LOCK_NONE;
    if (remote_is_url(url)) return error_set(err, ERR_CONFLICT, "the server %.*s owns its store", STR_ARG(url));
    Status status = is_in_memory(url) ? OK : path_of(url, path, err);
    if (!status && !is_in_memory(url)) status = lock_take(&lock, path, 0, err);
    if (!status) *out_claim = (Claim){ lock.fd };
    return status;
}

static void store_unclaim(Claim *claim)
{
    lock_release(&(Lock){ claim->fd });
    *claim = CLAIM_NONE;
}

/* --- executors ------------------------------------------------------------------------------------------------------------ */

static Status noop_run(void *context, NativeCall *call, const Attempt *attempt, Arena *arena, Report *out_report)
{
    (void)context;
    (void)call;
    (void)attempt;
    (void)arena;
    (void)out_report;
    return OK;
}

static const NativeFunction bench_functions[] = { { .runner = STR_INIT("bench/native"), .run = noop_run, .is_quick = true } };

/* The crew has it from now on; one that it has no place for is closed. */
static Status crew_add(Crew *crew, Executor *executor, Error *err)
{
    if (crew->count == CREW_COUNT_MAX) {
        executor->ops->close(executor);
        return error_set(err, ERR_LIMIT, "more than %u executors", CREW_COUNT_MAX);
    }
    crew->executors[crew->count++] = executor;
    return OK;
}

static Status add_process(Crew *crew, Str name, Value settings, const char *lock_path, Error *err)
{
    int64_t capacity = value_get_int(settings, "capacity", PROCESS_CAPACITY_DEFAULT);
    Executor *executor;
    Status status = process_executor_open(&(ProcessOptions){ .name = name, .capacity = (uint32_t)capacity, .lock_path = lock_path,
                                                             .sink = notice_ring_sink(crew->notices) }, &executor, err);
    return status ? status : crew_add(crew, executor, err);
}

static Status add_http(Crew *crew, Str name, Value settings, Error *err)
{
    Executor *executor;
    Status status = http_executor_open(&(HttpOptions){ .name = name, .sink = notice_ring_sink(crew->notices),
                                                       .capacity = (uint32_t)value_get_int(settings, "capacity", 0),
                                                       .callback = value_get_string(settings, "callback", STR("")) },
                                       &executor, err);
    return status ? status : crew_add(crew, executor, err);
}

static Status add_worker(Crew *crew, Str name, Value settings, Error *err)
{
    const Value *runners = value_get_text(settings, "runners");
    Executor *executor;
    Status status = worker_executor_open(&(WorkerOptions){ .name = name, .runners = runners ? *runners : value_null(),
                                                           .capacity = (uint32_t)value_get_int(settings, "capacity", 0),
                                                           .lease_ms = value_get_int(settings, "lease_ms", 0),
                                                           .sink = notice_ring_sink(crew->notices) }, &executor, err);
    return status ? status : crew_add(crew, executor, err);
}

static Status add_builtin(Crew *crew, Error *err)
{
    Executor *executor;
    Status status = builtin_executor_open(&(BuiltinOptions){ .name = STR("built-in"), .sink = notice_ring_sink(crew->notices) },
                                          &executor, err);
    return status ? status : crew_add(crew, executor, err);
}

/* --- work that this process does not do ----------------------------------------------------------------------------------- */

static bool absent_execute(Executor *executor, const Attempt *attempt)
{
    (void)executor;
    (void)attempt;
    return false;
}

static void absent_end(Executor *executor, const AttemptId *id)
{
    (void)executor;
    (void)id;
}

static void absent_close(Executor *executor) { free(executor); }

static const ExecutorOps absent_ops = { .execute = absent_execute, .end = absent_end, .acknowledge = absent_end, .close = absent_close };

/* Its one place is taken for ever, so that whatever is meant for it stays where it is. */
static Status add_absent(Crew *crew, Error *err)
{
    Executor *executor = calloc(1, sizeof *executor);
    CHECK(executor);
    *executor = (Executor){ .ops = &absent_ops, .name = STR("(absent)"), .kind = STR("absent"), .capacity = 1, .under_way = 1 };
    return crew_add(crew, executor, err);
}

static Status add_bench(Crew *crew, Error *err)
{
    Executor *executor;
    NativeOptions options = { .name = STR("bench"), .functions = bench_functions, .function_count = 1, .capacity = UINT32_MAX,
                              .sink = notice_ring_sink(crew->notices) };
    Status status = native_executor_open(&options, &executor, err);
    return status ? status : crew_add(crew, executor, err);
}

static Status add_processes(Crew *crew, Value executors, const char *lock_path, Error *err)
{
    Status status = OK;
    for (uint32_t i = 0; !status && i < executors.count; i++)
        if (str_is_text(value_get_string(executors.members[i].value, "kind", STR("")), "process"))
            status = add_process(crew, value_text(executors.members[i].key), executors.members[i].value, NULL, err);
    return status ? status : add_process(crew, STR("processes"), value_null(), lock_path, err);
}

/* The spawners of processes are forked first, while this process has one thread. */
static Status crew_open(const CrewOptions *options, Crew *out_crew, Error *err)
{
    *out_crew = (Crew){ .catalog = options->catalog };
    Status status = notice_ring_open(/* count_max= */ 0, &out_crew->notices, err);
    if (!status) status = add_absent(out_crew, err);
    if (options->is_absent) return status;
    Value executors = options->catalog ? options->catalog->executors : value_null();
    if (!status && !options->is_embedded) status = add_processes(out_crew, executors, options->lock_path, err);
    for (uint32_t i = 0; !status && i < executors.count; i++) {
        Str kind = value_get_string(executors.members[i].value, "kind", STR("")), name = value_text(executors.members[i].key);
        if (str_is_text(kind, "http")) status = add_http(out_crew, name, executors.members[i].value, err);
        if (str_is_text(kind, "worker")) status = add_worker(out_crew, name, executors.members[i].value, err);
    }
    if (!status) status = add_http(out_crew, STR("requests"), value_null(), err);
    if (!status) status = add_builtin(out_crew, err);
    if (!status && options->is_bench) status = add_bench(out_crew, err);
    if (status) adapters.crew_close(out_crew);
    return status;
}

static void crew_close(Crew *crew)
{
    for (uint32_t i = 0; i < crew->count; i++) crew->executors[i]->ops->close(crew->executors[i]);
    if (crew->notices) notice_ring_close(crew->notices);
    *crew = (Crew){ 0 };
}

/* --- who does what -------------------------------------------------------------------------------------------------------- */

static Executor *crew_find(const Crew *crew, Str name)
{
    for (uint32_t i = 0; i < crew->count; i++)
        if (str_is(crew->executors[i]->name, name)) return crew->executors[i];
    return NULL;
}

static bool known_runner(const Crew *crew, Str runner, RunnerOffer *out)
{
    if (str_is_text(runner, "bench/native")) {
        *out = (RunnerOffer){ .executor = crew_find(crew, STR("bench")), .settings = value_null() };
        return out->executor != NULL;
    }
    const CatalogEntry *entry = crew->catalog ? catalog_find(crew->catalog, CATALOG_RUNNER, runner) : NULL;
    Str name = entry ? entry->origin : STR("built in");
    if (str_is_text(name, "built in"))
        name = str_is_text(runner, "shell") ? STR("processes") : str_is_text(runner, "http") ? STR("requests") : STR("built-in");
    if (str_is_text(name, "built-in") && !builtin_executor_offers(runner)) return false;
    *out = (RunnerOffer){ .executor = crew_find(crew, name), .settings = entry ? entry->settings : value_null() };
    return out->executor != NULL;
}

/* Runbooks name their connectors and analysers where workflows name runners; no process carries these out. */
static bool is_component(const Catalog *catalog, Str runner)
{
    return catalog && (catalog_find(catalog, CATALOG_CONNECTOR, runner) || catalog_find(catalog, CATALOG_ANALYSER, runner));
}

static bool crew_runner(void *context, Str tenant, Str runner, RunnerOffer *out)
{
    const Crew *crew = context;
    (void)tenant;
    if (known_runner(crew, runner, out)) return true;
    if (is_component(crew->catalog, runner)) return false;
    /* Whoever carries out nothing at all knows nothing of runners either. */
    *out = (RunnerOffer){ .executor = crew->executors[0], .settings = value_null(), .is_unknown = crew->catalog != NULL };
    return true;
}

static uint32_t crew_weight(void *context, Str tenant)
{
    const Crew *crew = context;
    const Value *terms = crew->catalog && crew->catalog->tenants.kind == VALUE_OBJECT ? value_get(crew->catalog->tenants, tenant) : NULL;
    int64_t weight = terms ? value_get_int(*terms, "weight", 1) : 1;
    return weight < TENANT_WEIGHT_MAX ? (uint32_t)weight : TENANT_WEIGHT_MAX;
}

/* --- for a server ------------------------------------------------------------------------------------------------------------ */

static bool find_here(void *context, Str runner, Executor **out_executor, Value *out_settings)
{
    RunnerOffer offer;
    if (!known_runner(context, runner, &offer) || executor_is_worker(offer.executor)) return false;
    *out_executor = offer.executor;
    *out_settings = offer.settings;
    return true;
}

static Status worker_run(const WorkerErrand *errand, Crew *crew, Error *err)
{
    return puller_run(&(PullerOptions){ .server = errand->server, .executor = errand->executor, .worker = errand->worker, .bearer = errand->bearer,
                                        .queues = errand->queues, .queue_count = errand->queue_count, .capacity = errand->capacity,
                                        .executors = crew->executors, .executor_count = crew->count, .notices = crew->notices,
                                        .find = find_here, .context = crew, .stop_fd = errand->stop_fd, .told = errand->told }, err);
}

static Status crew_exchange(void *context, const ExchangeAsk *ask, void (*done)(void *context, Value answer), void *done_context,
                            Error *err)
{
    const Crew *crew = context;
    for (uint32_t i = 0; ask->token.len && i < crew->count; i++)
        if (executor_is_http(crew->executors[i]) && str_is(crew->executors[i]->name, ask->executor))
            return http_callback(crew->executors[i], ask->token, ask->request, done, done_context, err);
    if (ask->token.len) return error_set(err, ERR_NOT_FOUND, "there is no http executor '%.*s'", STR_ARG(ask->executor));
    WorkerCredential credential = { .worker = ask->worker, .tenant = ask->tenant, .queues = value_null() };
    for (uint32_t i = 0; i < crew->count; i++)
        if (executor_is_worker(crew->executors[i]) && str_is(crew->executors[i]->name, ask->executor))
            return worker_exchange(crew->executors[i], &credential, ask->request, done, done_context, err);
    return error_set(err, ERR_NOT_FOUND, "there is no worker executor '%.*s'; runners.yaml declares them", STR_ARG(ask->executor));
}

static Status server_ask(Str url, Arena *arena, Value request, Value *out_answer, Error *err)
{
    return remote_petition(&(RemoteOptions){ url, str_of(getenv("MAESTRO_TOKEN")) }, arena, request, out_answer, err);
}

/* --- measuring -------------------------------------------------------------------------------------------------------------- */

static Status limits(const char *directory, double *out_events_per_s, double *out_sync_us, Error *err)
{
    Status status = limits_probe_sync(directory, 500, out_sync_us, err);
    return status ? status : limits_probe_events(directory, 5000, out_events_per_s, err);
}

const Adapters adapters = {
    .limits = limits,       .store_open = store_open,   .store_claim = store_claim, .store_unclaim = store_unclaim,
    .crew_open = crew_open, .crew_close = crew_close,   .crew_runner = crew_runner, .crew_weight = crew_weight,
    .worker_run = worker_run, .crew_exchange = crew_exchange, .server_ask = server_ask,
};
