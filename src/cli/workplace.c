#include "cli/workplace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "os/entropy.h"
#include "view/tables.h"

/* --- which store ------------------------------------------------------------------------------------------------------- */

Str store_url(const Args *args)
{
    const char *given = args_value(args, "store");
    if (!given) given = getenv("MAESTRO_STORE");
    if (given && given[0]) return str_of(given);
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (state && state[0] == '/') return arena_format(args->arena, "sqlite:%s/maestro/store.db", state);
    return arena_format(args->arena, "sqlite:%s/.local/state/maestro/store.db", home ? home : "");
}

const char *store_path(Arena *arena, Str url)
{
    if (str_starts(url, STR("memory:"))) return NULL;
    Str path = str_starts(url, STR("sqlite:")) ? str_slice(url, 7, url.len) : url;
    return arena_copy(arena, path).ptr;
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

ExitCode store_open_existing(const Args *args, Store **out_store)
{
    Error err;
    Status status = adapters.store_open(store_url(args), /* is_created= */ false, out_store, &err);
    if (status == ERR_NOT_FOUND)
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

ExitCode workplace_open(const Args *args, const Catalog *catalog, Workplace *out, bool *out_busy)
{
    *out = (Workplace){ .url = store_url(args) };
    *out_busy = false;
    const char *path = store_path(args->arena, out->url);
    if (path) make_parents(args->arena, path);
    CrewOptions options = { .catalog = catalog,
                            .lock_path = path ? arena_format(args->arena, "%s.spawner", path).ptr : NULL };
    Error err;
    Status status = adapters.crew_open(&options, &out->crew, &err);     /* forks: before the store has threads */
    out->has_crew = !status;
    if (!status) status = adapters.store_open(out->url, /* is_created= */ true, &out->store, &err);
    if (!status) {
        HostOptions host = {
            .engine = { .store = out->store, .log = 1, .executors = out->crew.executors, .executor_count = out->crew.count,
                        .runner = adapters.crew_runner, .random = random_bytes, .context = &out->crew },
            .notices = out->crew.notices,
        };
        status = host_open(&host, &out->host, &err);
    }
    if (!status) return EXIT_CODE_OK;
    workplace_close(out);
    if (status == ERR_CONFLICT) {
        *out_busy = true;
        return EXIT_CODE_TEMPORARY;
    }
    return fail(&err);
}

void workplace_close(Workplace *workplace)
{
    host_close(workplace->host);
    if (workplace->has_crew) adapters.crew_close(&workplace->crew);
    if (workplace->store) store_close(workplace->store);
    *workplace = (Workplace){ 0 };
}

/* --- runs by name ------------------------------------------------------------------------------------------------------ */

static bool take_id(void *context, const Cell *cells, uint32_t count)
{
    (void)count;
    return !id_read(cells[RUNS_id].text, context);
}

bool find_run(Store *store, const char *text, Id *out_id, ExitCode *out_code)
{
    Error err = { 0 };
    Id id = { { 0 } };
    Status status = store_select(store, &(QueryAsk){ .query = QUERY_RUN_BY_ID, .params = { cell_text(str_of(text)) },
                                                     .param_count = 1 }, take_id, &id, &err);
    if (!status && id.text[0]) {
        *out_id = id;
        return true;
    }
    if (!status) status = error_set(&err, ERR_NOT_FOUND, "there is no run '%s' in this store; 'maestro runs' lists them", text);
    *out_code = fail(&err);
    return false;
}
