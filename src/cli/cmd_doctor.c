#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/human.h"
#include "cli/load.h"
#include "cli/server_order.h"
#include "cli/workplace.h"
#include "os/file.h"
#include "value/json.h"
#include "view/run_rows.h"

#define DISK_FREE_FAIL (UINT64_C(100) << 20)        /* a store that cannot grow stalls every run */
#define DISK_FREE_WARN (UINT64_C(1) << 30)
#define CHECK_SIZE_MAX (UINT64_C(256) << 20)        /* larger stores take minutes: 'store verify' does that */
#define CLOCK_LATE_MS 60000                         /* the ledger's time ahead of the clock by more is worth a word */
#define CLOCK_SANE_MS INT64_C(1767225600000)        /* 2026: an earlier clock was never set */

static const Option options[] = {
    STORE_OPTION,
    { "json", 0, NULL, NULL, "Prints an object a line." },
    { NULL },
};

typedef enum Health { HEALTH_OK, HEALTH_WARN, HEALTH_FAIL } Health;

typedef struct Doctor {
    const Args *args;
    const char *path;               /* of the store's file; NULL where it has none */
    Store *store;
    uint32_t counts[HEALTH_FAIL + 1];
} Doctor;

/* --- one line each -------------------------------------------------------------------------------------------------------- */

static void print_finding(const char *health, const char *subject, Str text)
{
    Buf out;
    buf_init(&out, 1u << 16);
    buf_format(&out, "{\"check\":\"%s\",\"health\":\"%s\",\"text\":", subject, health);
    json_print_string(&out, text);
    buf_text(&out, "}\n");
    print_out(&out);
    buf_deinit(&out);
}

static void tell(Doctor *doctor, Health health, const char *subject, const char *format, ...) PRINTF_LIKE(4, 5);

static void tell(Doctor *doctor, Health health, const char *subject, const char *format, ...)
{
    static const char *const names[] = { "ok", "warn", "fail" };
    va_list args;
    va_start(args, format);
    Str text = arena_format_args(doctor->args->arena, format, args);
    va_end(args);
    doctor->counts[health]++;
    if (args_flag(doctor->args, "json")) print_finding(names[health], subject, text);
    else print_format("%-5s %-9s %.*s\n", names[health], subject, STR_ARG(text));
}

static const char *size_text(Doctor *doctor, uint64_t size)
{
    char storage[32];
    Buf buf = buf_on(storage, sizeof storage);
    human_size(&buf, size);
    return arena_copy(doctor->args->arena, buf_peek(&buf)).ptr;
}

/* --- the store ------------------------------------------------------------------------------------------------------------ */

/* From outside: whether it takes requests, and whether this command's key is one that it knows. */
static void look_at_server(Doctor *doctor, Str url)
{
    Value answer = value_null();
    Error err;
    if (adapters.server_call(url, doctor->args->arena, &(ServerCall){ .method = "GET", .path = STR("/readyz") }, &answer, &err)) {
        tell(doctor, HEALTH_FAIL, "server", "%.*s takes no requests: %s", STR_ARG(url), err.text);
        return;
    }
    tell(doctor, HEALTH_OK, "server", "%.*s: it takes requests; 'maestro doctor --store URL' on its machine looks at its store", STR_ARG(url));
    bool is_refused = adapters.server_call(url, doctor->args->arena, &(ServerCall){ .method = "GET", .path = STR("/api") }, &answer, &err);
    if (!is_refused) tell(doctor, HEALTH_OK, "key", "the server knows it");
    /* That of a worker looks at nothing, not even at this: whom the server does not know it answers otherwise. */
    else if (value_get_int(answer, "status", 0) == 403)
        tell(doctor, HEALTH_OK, "key", "the server knows it, for what it permits: %.*s", STR_ARG(value_get_string(answer, "detail", STR(""))));
    else tell(doctor, HEALTH_FAIL, "key", "%s", err.text);
}

static void look_at_store(Doctor *doctor)
{
    struct stat info;
    Error err;
    Str url = store_url(doctor->args);
    if (store_is_server(url)) {
        look_at_server(doctor, url);
        return;
    }
    if (!doctor->path) {
        tell(doctor, HEALTH_WARN, "store", "%.*s is gone with its process; name a file: --store sqlite:PATH", STR_ARG(url));
        return;
    }
    if (stat(doctor->path, &info) < 0) {
        if (errno == ENOENT) tell(doctor, HEALTH_OK, "store", "%s is not there yet; the first 'maestro run' makes it",
                                  doctor->path);
        else tell(doctor, HEALTH_FAIL, "store", "%s cannot be reached: %s; name another one with --store", doctor->path,
                  strerror(errno));
        return;
    }
    Status status = adapters.store_open(url, /* is_created= */ false, &doctor->store, &err);
    if (status) {
        tell(doctor, HEALTH_FAIL, "store", "%s; restore a backup, or name another store", err.text);
        return;
    }
    if (info.st_mode & 077)
        tell(doctor, HEALTH_WARN, "store", "%s (%s) can be read by others: chmod 600 %s", doctor->path,
             size_text(doctor, (uint64_t)info.st_size), doctor->path);
    else tell(doctor, HEALTH_OK, "store", "%s, %s", doctor->path, size_text(doctor, (uint64_t)info.st_size));
}

static void look_at_owner(Doctor *doctor)
{
    Claim claim = CLAIM_NONE;
    Error err, why;
    int fd;
    if (!doctor->store) return;
    Status status = adapters.store_claim(store_url(doctor->args), &claim, &err);
    adapters.store_unclaim(&claim);
    if (!status) tell(doctor, HEALTH_OK, "owner", "none: the next 'maestro run' or 'resume' carries out what is open");
    else if (status != ERR_CONFLICT)
        tell(doctor, HEALTH_FAIL, "owner", "%s; runs need a directory that this user may write to", err.text);
    else if (control_connect(control_path(doctor->args), &fd, &why))
        tell(doctor, HEALTH_WARN, "owner", "%s; it takes no requests of others (%s)", err.text, why.text);
    else {
        close(fd);
        tell(doctor, HEALTH_OK, "owner", "%s", err.text);
    }
}

static void look_at_log(Doctor *doctor)
{
    struct stat info;
    if (!doctor->store) return;
    const char *path = arena_format(doctor->args->arena, "%s-wal", doctor->path).ptr;
    uint64_t size = stat(path, &info) == 0 ? (uint64_t)info.st_size : 0;
    if (size > 4 * (uint64_t)STORE_WAL_SIZE_MAX)
        tell(doctor, HEALTH_WARN, "wal", "%s is %s: some program has read the store for long; end it", path,
             size_text(doctor, size));
    else tell(doctor, HEALTH_OK, "wal", "%s of commits that are not in the file yet", size_text(doctor, size));
}

/* The directory of the store, or the nearest one above it that exists. */
static const char *directory_of(Doctor *doctor)
{
    char *path = (char *)arena_copy(doctor->args->arena, str_of(doctor->path)).ptr;
    for (;;) {
        char *slash = strrchr(path, '/');
        if (!slash) return ".";
        if (slash == path) return "/";
        *slash = '\0';
        if (file_is_directory(path)) return path;
    }
}

static void look_at_disk(Doctor *doctor)
{
    struct statvfs info;
    if (!doctor->path) return;
    const char *directory = directory_of(doctor);
    if (statvfs(directory, &info) < 0) {
        tell(doctor, HEALTH_FAIL, "disk", "%s cannot be looked at: %s", directory, strerror(errno));
        return;
    }
    uint64_t left = (uint64_t)info.f_bavail * info.f_frsize;
    const char *size = size_text(doctor, left);
    if (access(directory, W_OK) < 0) tell(doctor, HEALTH_FAIL, "disk", "%s cannot be written to: %s", directory, strerror(errno));
    else if (left < DISK_FREE_FAIL) tell(doctor, HEALTH_FAIL, "disk", "%s left at %s: runs will stall; make room", size,
                                         directory);
    else if (left < DISK_FREE_WARN) tell(doctor, HEALTH_WARN, "disk", "%s left at %s: make room soon", size, directory);
    else tell(doctor, HEALTH_OK, "disk", "%s left at %s", size, directory);
}

static void count_finding(void *context, Str text)
{
    (void)text;
    ++*(uint64_t *)context;
}

static void look_at_pages(Doctor *doctor)
{
    struct stat info;
    Error err;
    uint64_t finding_count = 0;
    if (!doctor->store || stat(doctor->path, &info) < 0) return;
    if ((uint64_t)info.st_size > CHECK_SIZE_MAX) {
        tell(doctor, HEALTH_OK, "integrity", "not looked at, since the store is large; 'maestro store verify' does it");
        return;
    }
    if (store_check(doctor->store, count_finding, &finding_count, &err))
        tell(doctor, HEALTH_FAIL, "integrity", "%s", err.text);
    else if (finding_count)
        tell(doctor, HEALTH_FAIL, "integrity", "%" PRIu64 " findings; 'maestro store verify' tells them, then restore a backup",
             finding_count);
    else tell(doctor, HEALTH_OK, "integrity", "pages, keys and references; 'maestro ledger verify' looks at the ledger");
}

static void look_at_clock(Doctor *doctor)
{
    const Cell *row = NULL;
    Error err;
    int64_t now_ms = human_now_ms();
    char storage[64];
    Buf text = buf_on(storage, sizeof storage);
    human_time(&text, now_ms);
    QueryAsk ask = { .query = QUERY_LOG_HEAD, .params = { cell_int(1) }, .param_count = 1 };
    if (doctor->store && row_select(doctor->args->arena, doctor->store, &ask, &row, &err)) row = NULL;
    if (now_ms < CLOCK_SANE_MS) tell(doctor, HEALTH_FAIL, "clock", "%.*s UTC: it was never set", STR_ARG(buf_peek(&text)));
    else if (row && row[LOG_HEADS_now_ms].integer > now_ms + CLOCK_LATE_MS)
        tell(doctor, HEALTH_WARN, "clock", "%.*s UTC is before the last event: times of new ones stay there until the clock has "
                                           "come up",
             STR_ARG(buf_peek(&text)));
    else tell(doctor, HEALTH_OK, "clock", "%.*s UTC", STR_ARG(buf_peek(&text)));
}

/* --- what carries out steps ----------------------------------------------------------------------------------------------- */

static bool program_exists(Doctor *doctor, Str program)
{
    const char *path = getenv("PATH");
    const char *name = arena_copy(doctor->args->arena, program).ptr;
    if (strchr(name, '/')) return access(name, X_OK) == 0;
    while (path && *path) {
        size_t size = strcspn(path, ":");
        if (access(arena_format(doctor->args->arena, "%.*s/%s", (int)size, path, name).ptr, X_OK) == 0) return true;
        path += size + (path[size] == ':');
    }
    return false;
}

static void look_at_runners(Doctor *doctor)
{
    const Catalog *catalog;
    uint32_t program_count = 0;
    if (load_catalog(doctor->args, "", &catalog)) {
        tell(doctor, HEALTH_FAIL, "runners", "the configuration has mistakes, see above; correct them");
        return;
    }
    if (catalog->origin.len) tell(doctor, HEALTH_OK, "runners", "%.*s", STR_ARG(catalog->origin));
    else tell(doctor, HEALTH_WARN, "runners", "no runners.yaml was found: what is built in, and stand-ins that only say what "
                                              "they would do");
    for (size_t i = 0; i < catalog->counts[CATALOG_RUNNER]; i++) {
        const CatalogEntry *entry = &catalog->entries[CATALOG_RUNNER][i];
        const Value *command = value_get_text(entry->settings, "command");
        if (!command || command->kind != VALUE_ARRAY || !command->count || command->items[0].kind != VALUE_STRING) continue;
        Str program = value_text(command->items[0]);
        program_count++;
        if (!program_exists(doctor, program))
            tell(doctor, HEALTH_FAIL, "program", "%.*s, of runner %.*s, is not there; install it, or correct its path",
                 STR_ARG(program),
                 STR_ARG(entry->name));
    }
    if (!program_exists(doctor, STR("/bin/sh"))) tell(doctor, HEALTH_FAIL, "program", "/bin/sh, of runner shell, is not there");
    else tell(doctor, HEALTH_OK, "programs", "looked for those of %u runners, and /bin/sh", program_count);
}

/* --- the command ---------------------------------------------------------------------------------------------------------- */

static ExitCode run(const Args *args)
{
    Doctor doctor = { .args = args, .path = store_path(args->arena, store_url(args)) };
    look_at_store(&doctor);
    look_at_owner(&doctor);
    look_at_log(&doctor);
    look_at_disk(&doctor);
    look_at_pages(&doctor);
    look_at_clock(&doctor);
    look_at_runners(&doctor);
    if (doctor.store) store_close(doctor.store);
    if (!args_flag(args, "json"))
        print_format("%s: %u ok, %u to look at, %u to repair\n", doctor.counts[HEALTH_FAIL] ? "not well" : "well",
                     doctor.counts[HEALTH_OK],
               doctor.counts[HEALTH_WARN], doctor.counts[HEALTH_FAIL]);
    return doctor.counts[HEALTH_FAIL] ? EXIT_CODE_UNAVAILABLE : EXIT_CODE_OK;
}

const Verb command_doctor = {
    .name = "doctor", .operands = "",
    .summary = "Looks at this machine and the store, and says what to do.",
    .doc = "A line for each thing: whether the store (or with --server the server) can be reached and who owns it, how much waits to be written back, how\n"
           "much room the disk has, whether the file is sound, the clock, runners.yaml and the programs that it names. It\n"
           "changes nothing.\n"
           "\n"
           "Exit code 69: something has to be repaired before runs can be carried out.",
    .examples = "maestro doctor\n"
                "maestro doctor --store sqlite:orders.db --runners runners.yaml",
    .options = options, .run = run,
};
