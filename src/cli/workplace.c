#include "cli/workplace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/entropy.h"
#include "os/file.h"
#include "os/user.h"
#include "secret/credential.h"
#include "secret/key_file.h"

/* --- which store ------------------------------------------------------------------------------------------------------- */

static bool starts_in_any_case(Str text, const char *prefix)
{
    size_t i = 0;
    while (prefix[i] && i < text.len && ascii_to_lower(text.ptr[i]) == prefix[i]) i++;
    return !prefix[i];
}

bool store_is_server(Str url) { return starts_in_any_case(url, "http://") || starts_in_any_case(url, "https://"); }

/* As everybody writes it: what a server prints of itself ends in /api. */
static Str address_of(Arena *arena, Str url)
{
    while (str_ends(url, STR("/"))) url.len--;
    if (str_ends(url, STR("/api"))) url.len -= 4;
    while (str_ends(url, STR("/"))) url.len--;
    char *address = arena_bytes(arena, url.len + 1);
    size_t scheme = str_find(url, ':', 0);
    for (size_t i = 0; i < url.len; i++) address[i] = i < scheme ? ascii_to_lower(url.ptr[i]) : url.ptr[i];
    address[url.len] = '\0';
    return (Str){ address, url.len };
}

/* http://HOST:PORT, and maybe a path, where it is not the only one at that address. */
static bool is_address(Str url)
{
    size_t host = str_find(url, '/', 0) + 2;
    if (!store_is_server(url) || host >= url.len || url.ptr[host] == '/' || url.ptr[host] == ':') return false;
    for (size_t i = 0; i < url.len; i++)
        if (ascii_is_space(url.ptr[i]) || url.ptr[i] == '?' || url.ptr[i] == '#') return false;
    return true;
}

static bool has_option(const Verb *command, const char *name)
{
    for (const Option *option = command->options; option && option->name; option++)
        if (strcmp(option->name, name) == 0) return true;
    return false;
}

ExitCode store_check_server(const Args *args)
{
    const char *given = args_value(args, "store"), *server = args_value(args, "server"), *name = "--server";
    if (server && given) {
        print_note("maestro: --server names a server and --store a store on this machine: say one of them\n");
        return EXIT_CODE_USAGE;
    }
    if (!server && !given && (has_option(args->command, "store") || has_option(args->command, "server"))) {
        server = getenv("MAESTRO_SERVER");
        name = "$MAESTRO_SERVER";
        if (server && !*server) return EXIT_CODE_OK;
    }
    if (!server || is_address(str_of(server))) return EXIT_CODE_OK;
    print_note("maestro: %s wants the address of a server, http://HOST:PORT or https://HOST:PORT, and not '%s'\n", name, server);
    return EXIT_CODE_USAGE;
}

Str store_url(const Args *args)
{
    const char *given = args_value(args, "store"), *server = args_value(args, "server");
    if (!server && !given) server = getenv("MAESTRO_SERVER");
    if (server && *server) return address_of(args->arena, str_of(server));
    if (!given) given = getenv("MAESTRO_STORE");
    if (given && given[0]) return store_is_server(str_of(given)) ? address_of(args->arena, str_of(given)) : str_of(given);
    if (args_value(args, "store")) return STR("");
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (state && state[0] == '/') return arena_format(args->arena, "sqlite:%s/maestro/store.db", state);
    return arena_format(args->arena, "sqlite:%s/.local/state/maestro/store.db", home ? home : "");
}

const char *store_path(Arena *arena, Str url)
{
    if (str_starts(url, STR("memory:")) || store_is_server(url)) return NULL;
    Str path = str_starts(url, STR("sqlite:")) ? str_slice(url, 7, url.len) : url;
    const char *named = arena_copy(arena, path).ptr;
    char file[STORE_PATH_SIZE_MAX + 1];
    return file_follow(named, file, sizeof file) ? arena_copy(arena, str_of(file)).ptr : named;
}

/* A word and a colon before any slash is a kind of store: who means a file of that name writes ./foo:bar. */
bool store_has_kind(Str url)
{
    size_t colon = str_find(url, ':', 0);
    return colon < url.len && colon && ascii_is_alpha(url.ptr[0]) && str_find(url, '/', 0) > colon;
}

static bool has_other_kind(Str url)
{
    return store_has_kind(url) && !str_starts(url, STR("sqlite:")) && !str_starts(url, STR("memory:")) && !store_is_server(url);
}

Status store_check_url(Arena *arena, Str url, Error *err)
{
    const char *path = store_path(arena, url);
    if (has_other_kind(url))
        return error_set(err, ERR_INVALID, "there is no store of the kind '%.*s': sqlite:PATH, the path of a file, and memory: are known",
                         STR_ARG(str_slice(url, 0, str_find(url, ':', 0) + 1)));
    if (path && !*path)
        return error_set(err, ERR_INVALID, "--store '%.*s' names no file; a store is sqlite:PATH, or the path of a file",
                         STR_ARG(url));
    if (path && file_is_directory(path))
        return error_set(err, ERR_INVALID, "%s is a directory; a store is a file in one: sqlite:%s/store.db", path, path);
    return OK;
}

/* The directories of a store that is made for the first time; they are the user's own. */
static void make_parents(Arena *arena, const char *path)
{
    char *copy = (char *)arena_copy(arena, str_of(path)).ptr;
    for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(copy, 0700) < 0 && errno != EEXIST) return;       /* opening the file says what is wrong */
        *slash = '/';
    }
}

bool store_is_named(const Args *args)
{
    if (args_value(args, "store")) return true;
    const char *given = getenv("MAESTRO_STORE"), *path = given && *given ? store_path(args->arena, store_url(args)) : NULL;
    return path && file_exists(path);
}

ExitCode store_open_existing(const Args *args, Store **out_store)
{
    Error err;
    Status status = store_check_url(args->arena, store_url(args), &err);
    bool is_gone = !status && !store_path(args->arena, store_url(args)) && !store_is_server(store_url(args));
    if (is_gone)
        status = error_set(&err, ERR_NOT_FOUND, "a store in memory belongs to one 'maestro run' and ends with it; what is to be looked "
                           "at later needs a file: --store sqlite:PATH");
    if (!status) status = adapters.store_open(store_url(args), /* is_created= */ false, out_store, &err);
    if (status == ERR_NOT_FOUND && !is_gone)
        error_set(&err, ERR_NOT_FOUND, "there is no store at %.*s: nothing has been run there; 'maestro run FILE' makes one",
                  STR_ARG(store_url(args)));
    return status ? fail(&err) : EXIT_CODE_OK;
}

/* --- all of it --------------------------------------------------------------------------------------------------------- */

static void random_bytes(void *context, uint8_t *bytes, size_t size)
{
    (void)context;
    entropy_bytes(bytes, size);
}

/* A new file gets its tables before anybody claims it: making them takes the same lock. */
static Status make_store(const Args *args, Str url, Error *err)
{
    const char *path = store_path(args->arena, url);
    Store *store;
    Status checked = store_check_url(args->arena, url, err);
    if (checked || !path || file_exists(path)) return checked;
    make_parents(args->arena, path);
    Status status = adapters.store_open(url, /* is_created= */ true, &store, err);
    if (!status) store_close(store);
    return status;
}

ExitCode store_open_or_make(const Args *args, Store **out_store)
{
    Error err;
    Str url = store_url(args);
    Status status = make_store(args, url, &err);
    /* Another process may be making its tables just now: opening waits for it. */
    if (!status) status = adapters.store_open(url, /* is_created= */ true, out_store, &err);
    return status ? fail(&err) : EXIT_CODE_OK;
}

Vault *store_vault(const Args *args, Store *store)
{
    return vault_new(store, key_file_path(args->arena, store_path(args->arena, store_url(args))));
}

Str owner_text(Arena *arena)
{
    char host[256] = "";
    if (gethostname(host, sizeof host - 1)) host[0] = '\0';
    return arena_format(arena, "user:%.*s, process %ld on %s", STR_ARG(user_name(arena)), (long)getpid(),
                        host[0] ? host : "unknown");
}

/* Until its deadline at the latest; before that it ends with the attempt. */
static Status make_credential(void *vault, const Attempt *attempt, Arena *arena, Str *out, Error *err)
{
    Credential facts = { .tenant = attempt->tenant, .run_id = attempt->run_id, .step = attempt->step_id, .run_no = attempt->id.run_no,
                         .holder = attempt->id.holder, .attempt = attempt->id.attempt,
                         .expires_ms = attempt->deadline_ms ? attempt->deadline_ms : attempt->now_ms + CREDENTIAL_MS_MAX };
    return credential_make(vault, arena, &facts, out, err);
}

static Status open_parts(const Args *args, const Catalog *catalog, Workplace *out, Error *err)
{
    const char *path = store_path(args->arena, out->url);
    CrewOptions options = { .catalog = catalog, .is_bench = out->is_bench, .is_absent = out->is_absent, .is_cell = out->is_cell,
                            .lock_path = path ? arena_format(args->arena, "%s.spawner", path).ptr : NULL };
    Claim claim = CLAIM_NONE;
    Status status = make_store(args, out->url, err);
    if (!status) status = adapters.store_claim(out->url, &claim, err);
    if (!status) {
        status = adapters.crew_open(&options, &out->crew, err);         /* forks: before the store has threads */
        out->has_crew = !status;
    }
    adapters.store_unclaim(&claim);         /* for the store to take; who comes between is the owner, and this one is late */
    if (!status) status = adapters.store_open(out->url, /* is_created= */ true, &out->store, err);
    if (status) return status;
    out->vault = store_vault(args, out->store);
    if (out->crew.gives_tokens) status = vault_token_key(out->vault, &out->crew.token_key, err);
    if (status) return status;
    HostOptions host = {
        .engine = { .store = out->store, .log = 1, .owner = owner_text(args->arena), .executors = out->crew.offered,
                    .executor_count = out->crew.offered_count, .runner = adapters.crew_runner,
                    .weight = adapters.crew_weight, .quotas = out->crew.quotas, .quota_count = out->crew.quota_count,
                    .random = random_bytes, .context = &out->crew, .secret = vault_secret, .secret_context = out->vault,
                    .verdict = out->guard ? guard_verdict : NULL, .policies = out->guard ? guard_policies : NULL,
                    .credential = out->server.len ? make_credential : NULL, .credential_context = out->vault,
                    .server = out->server, .verdict_context = out->guard, .run_count_max = out->run_count_max,
                    .size_max = out->size_max },
        .notices = out->crew.notices,
    };
    return host_open(&host, &out->host, err);
}

ExitCode workplace_open(const Args *args, const Catalog *catalog, Workplace *out, bool *out_busy)
{
    *out = (Workplace){ .url = store_url(args), .guard = out->guard, .server = out->server, .is_bench = out->is_bench, .is_absent = out->is_absent,
                        .run_count_max = out->run_count_max, .size_max = out->size_max, .is_cell = out->is_cell };
    *out_busy = false;
    Error err;
    Status status = open_parts(args, catalog, out, &err);
    if (!status) return EXIT_CODE_OK;
    workplace_close(out);
    if (status == ERR_CONFLICT) {
        *out_busy = true;
        return EXIT_CODE_TEMPORARY;
    }
    return fail(&err);
}

const char *control_path(const Args *args)
{
    const char *path = store_path(args->arena, store_url(args));
    if (store_is_server(store_url(args))) return arena_copy(args->arena, store_url(args)).ptr;
    return path ? arena_format(args->arena, "%s.sock", path).ptr : NULL;
}

void workplace_listen(const Args *args, const Catalog *catalog, Workplace *workplace)
{
    const char *path = control_path(args);
    Error err;
    if (path && control_listen(path, workplace->host, &(OfferScope){ catalog, workplace->guard }, &workplace->control, &err))
        print_note("maestro: other processes cannot reach this one: %s\n", err.text);
}

void workplace_close(Workplace *workplace)
{
    control_stop(workplace->control);
    host_close(workplace->host);
    control_free(workplace->control);
    if (workplace->has_crew) adapters.crew_close(&workplace->crew);
    vault_free(workplace->vault);
    if (workplace->store) store_close(workplace->store);
    *workplace = (Workplace){ 0 };
}
