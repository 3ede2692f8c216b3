/* maestro.c - the life of a handle: open, the engine's thread, close. */
#include <stdlib.h>

#include <sodium.h>

#include "base/check.h"
#include "base/limits.h"
#include "embed/embed.h"
#include "lang/compile.h"
#include "os/clock.h"
#include "os/entropy.h"
#include "os/file.h"
#include "os/zone.h"
#include "secret/key_file.h"

/* --- the engine's thread --------------------------------------------------------------------------------------------------- */

static bool is_closing(Maestro *maestro, int64_t *out_drain_ms)
{
    pthread_mutex_lock(&maestro->lock);
    bool is_closing = maestro->is_closing;
    *out_drain_ms = maestro->drain_ms;
    pthread_mutex_unlock(&maestro->lock);
    return is_closing;
}

static bool is_fenced(const Maestro *maestro) { return engine_state(host_engine(maestro->host)) == ENGINE_FENCED; }

/* What is under way may end; nothing new begins. */
static void drain(Maestro *maestro, int64_t drain_ms)
{
    int64_t begun_ms = clock_monotonic_ms(), left;
    while (!engine_drain(host_engine(maestro->host)) && !is_fenced(maestro) && (left = begun_ms + drain_ms - clock_monotonic_ms()) > 0)
        host_turn(maestro->host, left);
}

/* Whoever waits for a run is told when the store refuses for the second time in a row: the first may have been a hiccup. */
static void note_stall(Maestro *maestro)
{
    const Engine *engine = host_engine(maestro->host);
    uint32_t count = engine_stats(engine).stall_count;
    if (count < 2 && !maestro->is_stalled) return;
    if (count >= 2 && maestro->is_stalled) return;
    if (count && !engine_trouble(engine)) return;               /* it is being tried just now */
    maestro->is_stalled = count >= 2;
    pthread_mutex_lock(&maestro->lock);
    maestro->stall = maestro->is_stalled ? *engine_trouble(engine) : (Error){ 0 };
    if (maestro->is_stalled) maestro->stall.status = ERR_UNAVAILABLE;
    pthread_mutex_unlock(&maestro->lock);
    if (maestro->is_stalled) waiters_wake(maestro);
}

/* Replies come until the host is closed and never after that, so what is left then is answered here. */
static void run_engine(void *context)
{
    Maestro *maestro = context;
    int64_t drain_ms;
    Error why;
    while (!is_closing(maestro, &drain_ms) && !is_fenced(maestro)) {
        host_turn(maestro->host, -1);
        note_stall(maestro);
    }
    if (!is_fenced(maestro)) drain(maestro, drain_ms);
    if (is_fenced(maestro)) {
        why = *engine_trouble(host_engine(maestro->host));
        why.status = ERR_CONFLICT;
        error_prefix(&why, "the engine has stopped: ");
    } else {
        error_set(&why, ERR_UNAVAILABLE, "the handle is being closed; what was asked may have happened or not");
    }
    host_close(maestro->host);
    ask_stop(maestro, &why);
    waiters_wake(maestro);
}

/* --- open ------------------------------------------------------------------------------------------------------------------- */

static void random_bytes(void *context, uint8_t *bytes, size_t size)
{
    (void)context;
    entropy_bytes(bytes, size);
}

static Status read_config(Maestro *maestro, const char *text, Error *err)
{
    Str given, name = STR("config");
    Node *root;
    Diagnostics diagnostics;
    Status status = take_text(text, "the config", DEFINITION_SIZE_MAX, &given, err);
    if (status) return status;
    given = arena_copy(&maestro->arena, given);
    diagnostics_init(&diagnostics, &maestro->arena, name, given);
    status = node_read(&maestro->arena, given, TEXT_YAML, &root, err);
    if (status) {
        error_prefix(err, "config: ");
        return status;
    }
    catalog_add_config(&maestro->catalog, &diagnostics, root);
    if (!diagnostics.error_count) return OK;
    diagnostics_sort(&diagnostics);
    const Diagnostic *first = diagnostics.items;
    while (first->severity != SEVERITY_ERROR) first++;
    return error_at(err, ERR_INVALID, first->line, first->column, "config: %.*s", STR_ARG(first->message));
}

static Status open_catalog(Maestro *maestro, const MaestroOptions *options, Error *err)
{
    Str actor = STR("program");
    Status status = options->actor ? take_text(options->actor, "the actor", NAME_SIZE_MAX, &actor, err) : OK;
    maestro->actor = arena_copy(&maestro->arena, actor);
    catalog_init(&maestro->catalog, &maestro->arena);
    if (!status) status = runners_offer(maestro, options, err);
    if (!status && options->config) status = read_config(maestro, options->config, err);
    return status;
}

/* Also where no policy is given: definitions may name those of the config. */
static Status open_guard(Maestro *maestro, const MaestroOptions *options, Error *err)
{
    Str path;
    Status status = OK;
    for (uint32_t i = 0; !status && i < options->policy_count; i++)
        status = take_text(options->policies[i], "the path of a policy", STORE_PATH_SIZE_MAX, &path, err);
    if (status) return status;
    GuardOptions guard = { .catalog = &maestro->catalog, .paths = options->policies, .path_count = options->policy_count,
                           .zone_directory = ZONE_DIRECTORY };
    return guard_open(&guard, &maestro->guard, err);
}

static Status open_threads(Maestro *maestro, Error *err)
{
    CHECK(pthread_mutex_init(&maestro->lock, NULL) == 0);
    CHECK(pthread_cond_init(&maestro->has_left, NULL) == 0);
    maestro->has_lock = true;
    ring_init(&maestro->ring, EMBED_REQUEST_COUNT_MAX);
    Status status = wake_open(&maestro->wake, err);
    maestro->has_wake = !status;
    return status;
}

/* $MAESTRO_KEY_FILE, or beside the store: as the commands have it, which set the secrets. */
static Vault *open_vault(Maestro *maestro, Str url)
{
    Str path = str_starts(url, STR("sqlite:")) ? str_slice(url, 7, url.len) : url;
    const char *named = arena_copy(&maestro->arena, path).ptr;
    char file[STORE_PATH_SIZE_MAX + 1];
    if (str_starts(url, STR("memory:"))) return vault_new(maestro->store, key_file_path(&maestro->arena, NULL));
    return vault_new(maestro->store, key_file_path(&maestro->arena, file_follow(named, file, sizeof file) ? file : named));
}

/* The store is the first that another process may refuse; who is refused has started nothing. */
static Status open_engine(Maestro *maestro, const MaestroOptions *options, Error *err)
{
    Str url;
    Status status = take_text(options->store, "the store", STORE_PATH_SIZE_MAX, &url, err);
    if (!status) status = adapters.store_open(url, /* is_created= */ true, &maestro->store, err);
    if (status) return status;
    maestro->is_read_aside = !str_starts(url, STR("memory:"));
    status = adapters.crew_open(&(CrewOptions){ .catalog = &maestro->catalog, .is_embedded = true }, &maestro->crew, err);
    if (status) return status;
    maestro->has_crew = true;
    status = runners_open(maestro, options, err);
    if (status) return status;
    maestro->vault = open_vault(maestro, url);
    HostOptions host = {
        .engine = { .store = maestro->store, .log = 1, .owner = maestro->actor, .executors = maestro->crew.executors,
                    .executor_count = maestro->crew.count, .runner = adapters.crew_runner,
                    .weight = adapters.crew_weight, .quotas = maestro->crew.quotas,
                    .quota_count = maestro->crew.quota_count, .random = random_bytes,
                    .context = &maestro->crew, .secret = vault_secret, .secret_context = maestro->vault,
                    .verdict = guard_verdict, .policies = guard_policies, .verdict_context = maestro->guard },
        .notices = maestro->crew.notices,
    };
    status = host_open(&host, &maestro->host, err);
    if (status) return status;
    engine_observe(host_engine(maestro->host), waiters_observe, maestro);
    return host_watch(maestro->host, wake_fd(&maestro->wake), ask_begin_all, maestro, err);
}

static void close_parts(Maestro *maestro)
{
    if (maestro->has_crew) adapters.crew_close(&maestro->crew);
    vault_free(maestro->vault);
    if (maestro->store) store_close(maestro->store);
    guard_close(maestro->guard);
    if (maestro->has_wake) wake_close(&maestro->wake);
    if (maestro->has_lock) {
        ring_deinit(&maestro->ring);
        pthread_cond_destroy(&maestro->has_left);
        pthread_mutex_destroy(&maestro->lock);
    }
    arena_deinit(&maestro->arena);
    free(maestro);
}

MaestroStatus maestro_open(const MaestroOptions *options, Maestro **out_maestro, MaestroError *err)
{
    Error error;
    CHECK(sodium_init() >= 0);
    Maestro *maestro = calloc(1, sizeof *maestro);
    CHECK(maestro != NULL);
    arena_init(&maestro->arena, SIZE_MAX);
    Status status = open_catalog(maestro, options, &error);
    if (!status) status = open_guard(maestro, options, &error);
    if (!status) status = open_threads(maestro, &error);
    if (!status) status = open_engine(maestro, options, &error);
    if (!status) status = thread_start(&maestro->thread, "maestro", run_engine, maestro, &error);
    if (status) {
        host_close(maestro->host);
        close_parts(maestro);
        return give_error(&error, err);
    }
    *out_maestro = maestro;
    return MAESTRO_OK;
}

/* --- close ------------------------------------------------------------------------------------------------------------------ */

MaestroStatus maestro_close(Maestro *maestro, int64_t drain_ms, MaestroError *err)
{
    Error error;
    if (!maestro) return MAESTRO_OK;
    if (runner_place(maestro) != RUNNER_NONE) {
        error_set(&error, ERR_CONFLICT, "a runner cannot close the handle that it is called by");
        return give_error(&error, err);
    }
    pthread_mutex_lock(&maestro->lock);
    maestro->is_closing = true;
    maestro->drain_ms = drain_ms > 0 ? drain_ms : 0;
    pthread_mutex_unlock(&maestro->lock);
    waiters_wake(maestro);
    wake_raise(&maestro->wake);
    thread_join(&maestro->thread);
    pthread_mutex_lock(&maestro->lock);
    while (maestro->caller_count) pthread_cond_wait(&maestro->has_left, &maestro->lock);
    pthread_mutex_unlock(&maestro->lock);
    close_parts(maestro);
    return MAESTRO_OK;
}
