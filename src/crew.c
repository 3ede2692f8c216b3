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
#include "exec/worker/edge.h"
#include "exec/worker/puller.h"
#include "exec/worker/worker.h"
#include "os/file.h"
#include "store/memory/memory_store.h"
#include "store/remote/remote_store.h"
#include "store/sqlite/limits_probe.h"
#include "store/sqlite/lock.h"
#include "store/sqlite/sqlite_store.h"
#include "value/number.h"

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
    if (remote_is_url(url)) return remote_store_open(&(RemoteOptions){ url, str_of(getenv("MAESTRO_TOKEN")), getenv("MAESTRO_CA") }, out_store, err);
    Status status = path_of(url, path, err);
    return status ? status : sqlite_store_open(&(SqliteOptions){ .path = path, .is_created = is_created }, out_store, err);
}

static Status store_look(Str url, Error *err)
{
    char path[STORE_PATH_SIZE_MAX + 1];
    Status status = path_of(url, path, err);
    return status ? status : sqlite_store_look(path, err);
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

/* Where its executors say what they have to: the engine's inbox, or of a cell whoever looks at it before. */
static NoticeSink crew_sink(const Crew *crew) { return crew->edge ? edge_sink(crew->edge) : notice_ring_sink(crew->notices); }

/* The crew has it from now on; one that it has no place for is closed. */
static Status crew_add(Crew *crew, Executor *executor, Error *err)
{
    if (crew->count == CREW_COUNT_MAX - 1) {           /* one is the cell's own */
        executor->ops->close(executor);
        return error_set(err, ERR_LIMIT, "more than %u executors", CREW_COUNT_MAX - 1);
    }
    crew->executors[crew->count++] = executor;
    return OK;
}

static Value list_of(Value settings, const char *key)
{
    const Value *list = value_get_text(settings, key);
    return list && list->kind == VALUE_ARRAY && list->count ? *list : value_null();
}

/* The one that was added last is declared in runners.yaml, which says where it works. */
static Status declared(Crew *crew, Status added, Value settings)
{
    if (added) return added;
    Site *site = ARENA_NEW(crew->catalog->arena, Site);
    *site = (Site){ .region = value_get_string(settings, "region", STR("")), .cloud = value_get_string(settings, "cloud", STR("")),
                    .is_dedicated = str_is_text(value_get_string(settings, "tenancy", STR("shared")), "dedicated"),
                    .capabilities = list_of(settings, "capabilities"), .tenants = list_of(settings, "tenants"),
                    .cost_micro = value_get_int(settings, "cost_micro", 0) };
    crew->executors[crew->count - 1]->site = site;
    return OK;
}

static Status add_process(Crew *crew, Str name, Value settings, const char *lock_path, Error *err)
{
    int64_t capacity = value_get_int(settings, "capacity", PROCESS_CAPACITY_DEFAULT);
    Executor *executor;
    Status status = process_executor_open(&(ProcessOptions){ .name = name, .capacity = (uint32_t)capacity, .lock_path = lock_path,
                                                             .sink = crew_sink(crew) }, &executor, err);
    return status ? status : crew_add(crew, executor, err);
}

static Status add_http(Crew *crew, Str name, Value settings, Error *err)
{
    Executor *executor;
    Str callback = value_get_string(settings, "callback", STR(""));
    Status status = http_executor_open(&(HttpOptions){ .name = name, .sink = crew_sink(crew),
                                                       .capacity = (uint32_t)value_get_int(settings, "capacity", 0),
                                                       .callback = callback, .lease_ms = value_get_int(settings, "lease_ms", 0),
                                                       .token_key = &crew->token_key }, &executor, err);
    crew->gives_tokens |= callback.len > 0;
    return status ? status : crew_add(crew, executor, err);
}

static Status add_worker(Crew *crew, Str name, Value settings, Error *err)
{
    const Value *runners = value_get_text(settings, "runners");
    Executor *executor;
    Status status = worker_executor_open(&(WorkerOptions){ .name = name, .runners = runners ? *runners : value_null(),
                                                           .capacity = (uint32_t)value_get_int(settings, "capacity", 0),
                                                           .lease_ms = value_get_int(settings, "lease_ms", 0),
                                                           .token_key = &crew->token_key, .sink = crew_sink(crew) }, &executor, err);
    crew->gives_tokens = true;
    return status ? status : crew_add(crew, executor, err);
}

static Status add_builtin(Crew *crew, Error *err)
{
    Executor *executor;
    Status status = builtin_executor_open(&(BuiltinOptions){ .name = STR("built-in"), .sink = crew_sink(crew) },
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
                              .sink = crew_sink(crew) };
    Status status = native_executor_open(&options, &executor, err);
    return status ? status : crew_add(crew, executor, err);
}

/* The spawner of each is forked before any of them has a thread. */
static Status add_processes(Crew *crew, Value executors, const char *lock_path, Error *err)
{
    uint32_t first = crew->count;
    Status status = OK;
    for (uint32_t i = 0; !status && i < executors.count; i++)
        if (str_is_text(value_get_string(executors.members[i].value, "kind", STR("")), "process"))
            status = declared(crew, add_process(crew, value_text(executors.members[i].key), executors.members[i].value,
                                                NULL, err), executors.members[i].value);
    if (!status) status = add_process(crew, STR("processes"), value_null(), lock_path, err);
    for (uint32_t i = first; !status && i < crew->count; i++) status = process_executor_start(crew->executors[i], err);
    return status;
}

/* --- what tenants are held to ------------------------------------------------------------------------------------------------ */

static bool read_quota(Value terms, QuotaTerms *out)
{
    const Value *cpu = value_get_text(terms, "cpu"), *cost = value_get_text(terms, "cost_micro");
    *out = (QuotaTerms){
        .running_max = value_get_int(terms, "max_concurrency", 0), .memory_mb_max = value_get_int(terms, "memory_mb", 0),
        .cpu_milli_max = cpu && value_is_number(*cpu) ? number_milli(*cpu) : 0, .runtime_ms_max = value_get_int(terms, "runtime_ms", 0),
        .has_cost_max = cost != NULL, .cost_micro_max = value_get_int(terms, "cost_micro", 0),
        .window_ms = value_get_int(terms, "window_ms", QUOTA_WINDOW_MS_DEFAULT),
    };
    return out->running_max || out->memory_mb_max || out->cpu_milli_max || out->runtime_ms_max || out->has_cost_max;
}

/* Who has nothing but a share is held to nothing. */
static void read_quotas(Crew *crew)
{
    Value tenants = crew->catalog ? crew->catalog->tenants : value_null();
    if (tenants.kind != VALUE_OBJECT || !tenants.count) return;
    crew->quotas = calloc(tenants.count, sizeof *crew->quotas);
    CHECK(crew->quotas);
    for (uint32_t i = 0; i < tenants.count; i++) {
        TenantQuota *quota = &crew->quotas[crew->quota_count];
        if (!read_quota(tenants.members[i].value, &quota->terms)) continue;
        quota->tenant = value_text(tenants.members[i].key);
        crew->quota_count++;
    }
}

static void offer_all(Crew *crew)
{
    for (uint32_t i = 0; i < crew->count; i++) crew->offered[i] = crew->edge ? edge_wrap(crew->edge, crew->executors[i]) : crew->executors[i];
    crew->offered_count = crew->count;
    if (crew->edge) crew->offered[crew->offered_count++] = edge_reporter(crew->edge);
}

/* The spawners of processes are forked first, while this process has one thread. */
static Status crew_open(const CrewOptions *options, Crew *out_crew, Error *err)
{
    *out_crew = (Crew){ .catalog = options->catalog };
    seal_key_make(&out_crew->token_key);                    /* until whoever has the store says which it is */
    read_quotas(out_crew);
    Status status = notice_ring_open(/* count_max= */ 0, &out_crew->notices, err);
    if (!status && options->is_cell) status = edge_new(notice_ring_sink(out_crew->notices), &out_crew->edge, err);
    if (!status) status = add_absent(out_crew, err);
    if (options->is_absent) {
        offer_all(out_crew);
        return status;
    }
    Value executors = options->catalog ? options->catalog->executors : value_null();
    if (!status && !options->is_embedded) status = add_processes(out_crew, executors, options->lock_path, err);
    for (uint32_t i = 0; !status && i < executors.count; i++) {
        Value settings = executors.members[i].value;
        Str kind = value_get_string(settings, "kind", STR("")), name = value_text(executors.members[i].key);
        if (str_is_text(kind, "http")) status = declared(out_crew, add_http(out_crew, name, settings, err), settings);
        if (str_is_text(kind, "worker")) status = declared(out_crew, add_worker(out_crew, name, settings, err), settings);
    }
    if (!status) status = add_http(out_crew, STR("requests"), value_null(), err);
    if (!status) status = add_builtin(out_crew, err);
    if (!status && options->is_bench) status = add_bench(out_crew, err);
    if (status) adapters.crew_close(out_crew);
    else offer_all(out_crew);
    return status;
}

static void crew_close(Crew *crew)
{
    for (uint32_t i = 0; i < crew->count; i++) crew->executors[i]->ops->close(crew->executors[i]);
    edge_free(crew->edge);
    if (crew->notices) notice_ring_close(crew->notices);
    free(crew->quotas);
    seal_key_wipe(&crew->token_key);
    *crew = (Crew){ 0 };
}

/* --- who does what -------------------------------------------------------------------------------------------------------- */

static Executor *crew_find(const Crew *crew, Str name)
{
    for (uint32_t i = 0; i < crew->count; i++)
        if (str_is(crew->executors[i]->name, name)) return crew->executors[i];
    return NULL;
}

/* The nth executor of runners.yaml that offers it, from 0, of those that this process has. */
static bool declared_runner(const Crew *crew, Str runner, uint32_t nth, RunnerOffer *out)
{
    Value executors = crew->catalog->executors;
    for (uint32_t i = 0; executors.kind == VALUE_OBJECT && i < executors.count; i++) {
        const Value *runners = value_get_text(executors.members[i].value, "runners");
        const Value *settings = runners ? value_get(*runners, runner) : NULL;
        Executor *executor = settings ? crew_find(crew, value_text(executors.members[i].key)) : NULL;
        if (!executor || nth-- > 0) continue;
        *out = (RunnerOffer){ .executor = executor, .settings = *settings };
        return true;
    }
    return false;
}

static bool known_runner(const Crew *crew, Str runner, uint32_t nth, RunnerOffer *out)
{
    Executor *bench = str_is(runner, bench_functions[0].runner) ? crew_find(crew, STR("bench")) : NULL;
    if (bench) {
        *out = (RunnerOffer){ .executor = bench, .settings = value_null() };
        return !nth;
    }
    const CatalogEntry *entry = crew->catalog ? catalog_find(crew->catalog, CATALOG_RUNNER, runner) : NULL;
    Str name = entry ? entry->origin : STR("built in");
    if (entry && value_get(crew->catalog->executors, name)) return declared_runner(crew, runner, nth, out);
    if (nth) return false;
    if (crew->catalog && catalog_withheld(crew->catalog, runner).len) return false;
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

static bool crew_runner(void *context, Str tenant, Str runner, uint32_t nth, RunnerOffer *out)
{
    const Crew *crew = context;
    (void)tenant;
    if (crew->edge && str_is_text(runner, EDGE_REPORT_RUNNER)) {
        *out = (RunnerOffer){ .executor = edge_reporter(crew->edge), .settings = value_null() };
        return nth == 0;
    }
    if (known_runner(crew, runner, nth, out)) {
        if (crew->edge) out->executor = edge_wrap(crew->edge, out->executor);
        return true;
    }
    if (nth) return false;
    if (is_component(crew->catalog, runner)) return false;
    Str withheld = crew->catalog ? catalog_withheld(crew->catalog, runner) : STR("");
    Str help = withheld.len ? withheld : STR("register it in runners.yaml, below `runners` of an executor");
    /* Whoever carries out nothing at all knows nothing of runners either. */
    *out = (RunnerOffer){ .executor = crew->edge ? crew->offered[0] : crew->executors[0], .settings = value_null(),
                          .is_unknown = crew->catalog != NULL, .help = help };
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

/* What a cell works with. */
typedef struct CellWork { const Crew *crew; CellErrand errand; } CellWork;

static bool find_here(void *context, Str runner, Executor **out_executor, Value *out_settings)
{
    RunnerOffer offer;
    uint32_t nth = 0;
    do if (!known_runner(context, runner, nth++, &offer)) return false;
    while (executor_is_worker(offer.executor));
    *out_executor = offer.executor;
    *out_settings = offer.settings;
    return true;
}

static Status worker_run(const WorkerErrand *errand, Crew *crew, Error *err)
{
    return puller_run(&(PullerOptions){ .server = errand->server, .executor = errand->executor,
                                        .worker = errand->worker, .bearer = errand->bearer, .ca = getenv("MAESTRO_CA"),
                                        .queues = errand->queues, .queue_count = errand->queue_count,
                                        .capacity = errand->capacity, .executors = crew->executors,
                                        .executor_count = crew->count, .notices = crew->notices, .find = find_here,
                                        .context = crew, .stop_fd = errand->stop_fd, .told = errand->told }, err);
}

static bool cell_knows(void *context, Str runner)
{
    RunnerOffer offer;
    return known_runner(((const CellWork *)context)->crew, runner, /* nth= */ 0, &offer);
}

static Status cell_plan(void *context, Arena *arena, Str tenant, Str runner, Str *out_document, Str *out_text, Error *err)
{
    const CellErrand *errand = &((const CellWork *)context)->errand;
    return errand->plan(errand->context, arena, tenant, runner, out_document, out_text, err);
}

static void cell_told(void *context, Str line)
{
    const CellErrand *errand = &((const CellWork *)context)->errand;
    errand->told(errand->context, line);
}

static Status cell_start(const CellErrand *errand, Crew *crew, Error *err)
{
    static CellWork work;                       /* a process is one cell */
    work = (CellWork){ crew, *errand };
    return edge_start(crew->edge, &(EdgeOptions){ .name = errand->name, .server = errand->server, .executor = errand->executor,
                                                  .bearer = errand->bearer, .ca = getenv("MAESTRO_CA"), .queues = errand->queues,
                                                  .queue_count = errand->queue_count, .capacity = errand->capacity, .host = errand->host,
                                                  .store = errand->store, .key = errand->key, .knows = cell_knows, .plan = cell_plan,
                                                  .told = cell_told, .context = &work }, err);
}

static void cell_stop(Crew *crew) { edge_stop(crew->edge); }

static Status crew_exchange(void *context, const ExchangeAsk *ask, void (*done)(void *context, Value answer), void *done_context,
                            Error *err)
{
    const Crew *crew = context;
    for (uint32_t i = 0; ask->token.len && i < crew->count; i++)
        if (executor_is_http(crew->executors[i]) && str_is(crew->executors[i]->name, ask->executor))
            return http_callback(crew->executors[i], ask->token, ask->request, done, done_context, err);
    if (ask->token.len) return error_set(err, ERR_NOT_FOUND, "there is no http executor '%.*s'", STR_ARG(ask->executor));
    WorkerCredential credential = { .worker = ask->worker, .tenant = ask->tenant, .queues = ask->queues };
    for (uint32_t i = 0; i < crew->count; i++)
        if (executor_is_worker(crew->executors[i]) && str_is(crew->executors[i]->name, ask->executor))
            return worker_exchange(crew->executors[i], &credential, ask->request, done, done_context, err);
    return error_set(err, ERR_NOT_FOUND, EXCHANGE_NO_EXECUTOR, STR_ARG(ask->executor));
}

static void crew_withdraw(void *context, const void *done_context)
{
    const Crew *crew = context;
    for (uint32_t i = 0; i < crew->count; i++)
        if (executor_is_worker(crew->executors[i])) worker_exchange_withdraw(crew->executors[i], done_context);
}

static void crew_give_back(void *context, Str executor, Value answer)
{
    const Crew *crew = context;
    for (uint32_t i = 0; i < crew->count; i++)
        if (executor_is_worker(crew->executors[i]) && str_is(crew->executors[i]->name, executor))
            worker_exchange_give_back(crew->executors[i], answer);
}

static Status server_ask(Str url, Arena *arena, Value request, Value *out_answer, Error *err)
{
    return remote_petition(&(RemoteOptions){ url, str_of(getenv("MAESTRO_TOKEN")), getenv("MAESTRO_CA") }, arena, request, out_answer, err);
}

static Status server_call(Str url, Arena *arena, const ServerCall *call, Value *out_answer, Error *err)
{
    RemoteCall sent = { .method = call->method, .path = call->path, .id = call->id, .body = call->body };
    return remote_call(&(RemoteOptions){ url, str_of(getenv("MAESTRO_TOKEN")), getenv("MAESTRO_CA") }, arena, &sent, out_answer, err);
}

static Status server_lines(Str url, const ServerLines *lines, Error *err)
{
    RemoteLines wanted = { lines->run_id, lines->after, lines->step, lines->visit, lines->away, lines->context };
    return remote_lines(&(RemoteOptions){ url, str_of(getenv("MAESTRO_TOKEN")), getenv("MAESTRO_CA") }, &wanted, err);
}

/* --- measuring -------------------------------------------------------------------------------------------------------------- */

static Status limits(const char *directory, double *out_events_per_s, double *out_sync_us, Error *err)
{
    Status status = limits_probe_sync(directory, 500, out_sync_us, err);
    return status ? status : limits_probe_events(directory, 5000, out_events_per_s, err);
}

const Adapters adapters = {
    .limits = limits,       .store_open = store_open,   .store_look = store_look,   .store_claim = store_claim, .store_unclaim = store_unclaim,
    .crew_open = crew_open, .crew_close = crew_close,   .crew_runner = crew_runner, .crew_weight = crew_weight,
    .worker_run = worker_run, .cell_start = cell_start, .cell_stop = cell_stop,
    .crew_exchange = crew_exchange, .crew_withdraw = crew_withdraw, .crew_give_back = crew_give_back,
    .server_ask = server_ask, .server_call = server_call, .server_lines = server_lines,
};
