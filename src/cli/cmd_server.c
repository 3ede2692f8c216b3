#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "api/key.h"
#include "api/log.h"
#include "api/server.h"
#include "base/limits.h"
#include "cli/cell.h"
#include "cli/guardrails.h"
#include "cli/human.h"
#include "cli/key_order.h"
#include "cli/load.h"
#include "cli/server_file.h"
#include "cli/server_order.h"
#include "cli/service.h"
#include "cli/workplace.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/usage.h"

#define TURN_MS 1000
#define DESCRIPTOR_COUNT_OWN 1024u      /* for all but connections: the store, runners, pipes of programs */

static const Option options[] = {
    { "config", 0, "FILE", NULL, "Where these options are written down; what is given here wins. See docs/server.md." },
    { "check-config", 0, NULL, NULL, "Only looks at what it is given, starts nothing, and says what is wrong." },
    { "listen", 0, "ADDRESS:PORT", NULL, "Where to listen; by default 127.0.0.1:8080. Port 0 takes a free one." },
    { "tls-cert", 0, "FILE", NULL, "Certificate chain as PEM: HTTPS is served." },
    { "tls-key", 0, "FILE", NULL, "Its private key as PEM." },
    { "public", 0, "URL", NULL, "Where others reach it, as https://maestro.example; steps are told so. By default where it listens." },
    { "access", 0, "PATH", NULL, "A policy that decides who may do what, in place of the built-in one." },
    SHELL_OPTION,
    { "rate", 0, "NUMBER", NULL, "Requests a second that one key may send, and two seconds' worth at once; by default 20000." },
    { "tenant-rate", 0, "NUMBER", NULL, "The same of all keys of a tenant together; four times --rate where it is left out." },
    { "max-executions", 0, "NUMBER", NULL, "Executions in memory at a time; from four fifths of it on new ones are refused: 429." },
    { "max-memory", 0, "MB", NULL, "Memory for executions and what waits for them; from four fifths of it on new ones are refused: 429." },
    { "log-level", 0, "LEVEL", NULL, "What is logged: error, warning (by default: refusals and runs that fail, too), info (requests and every "
                                     "state of runs), debug (every event)." },
    { "log-requests", 0, NULL, NULL, "Logs every request, and not only those that are refused or fail." },
    { "otlp", 0, "URL", NULL, "Sends traces to this collector: OTLP over HTTP, as http://collector:4318; by default $OTEL_EXPORTER_OTLP_ENDPOINT, "
                              "or nothing is sent." },
    STORE_OPTION,
    POLICY_OPTION,
    CELL_OPTIONS,
    { NULL },
};

/* What steps are told: of a socket that listens everywhere, the machine's own address. Empty: it has none. */
static Str public_url(const Args *args, int fd)
{
    const char *given = args_value(args, "public"), *scheme = args_value(args, "tls-cert") ? "https" : "http";
    if (given) return str_of(given);
    Str address = service_address(args->arena, fd);
    if (!address.len) return address;
    if (str_starts(address, STR("0.0.0.0:")))
        return arena_format(args->arena, "%s://127.0.0.1%.*s", scheme, STR_ARG(str_slice(address, 7, address.len)));
    if (str_starts(address, STR("[::]:"))) return arena_format(args->arena, "%s://[::1]%.*s", scheme, STR_ARG(str_slice(address, 4, address.len)));
    return arena_format(args->arena, "%s://%.*s", scheme, STR_ARG(address));
}

/* A connection takes a descriptor. */
static void raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) return;
    rlim_t wanted = API_CONNECTION_COUNT_MAX + DESCRIPTOR_COUNT_OWN;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* Whoever connects takes none of those that steps are carried out with: of few descriptors connections have a quarter. */
static uint32_t count_connections(uint64_t *out_descriptor_count)
{
    struct rlimit limit;
    *out_descriptor_count = API_CONNECTION_COUNT_MAX + DESCRIPTOR_COUNT_OWN;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= *out_descriptor_count) return API_CONNECTION_COUNT_MAX;
    *out_descriptor_count = limit.rlim_cur;
    uint64_t count = limit.rlim_cur / 4;
    if (limit.rlim_cur > DESCRIPTOR_COUNT_OWN + count) count = limit.rlim_cur - DESCRIPTOR_COUNT_OWN;
    return (uint32_t)count;
}

static void warn(const char *message, Str detail)
{
    LogLine line = log_begin(LOG_WARNING, human_now_ms(), message);
    log_text(&line, "detail", detail);
    Str text = log_close(&line);                /* nobody else writes lines yet */
    (void)fwrite(text.ptr, 1, text.len, stderr);
    log_free(&line);
}

/* What works, and not as whoever runs it may think. */
static void warn_of_surroundings(const Args *args, int fd, Str address)
{
    uint64_t descriptor_count;
    uint32_t connection_count = count_connections(&descriptor_count);
    if (!address.len && !args_value(args, "public"))
        warn("steps are not told where the server is",
             arena_format(args->arena, "the socket %.*s has no URL: give --public", STR_ARG(service_path(args->arena, fd))));
    if (!args_value(args, "tls-cert") && !service_is_loopback(fd))
        warn("keys and data cross the network in the clear",
             arena_format(args->arena, "%.*s is served without TLS: give --tls-cert and --tls-key, or have a proxy in front of it "
                          "and listen on the loopback", STR_ARG(address)));
    if (connection_count < API_CONNECTION_COUNT_MAX)
        warn("fewer connections can be open than are permitted",
             arena_format(args->arena, "%" PRIu64 " files may be open: %" PRIu32 " connections are taken at a time, and not %u; "
                          "raise LimitNOFILE= or 'ulimit -Hn'", descriptor_count, connection_count, API_CONNECTION_COUNT_MAX));
}

/* --- at work -------------------------------------------------------------------------------------------------------------------------- */

typedef struct Serving {
    const Args *args;
    const Catalog *catalog;
    Workplace place;
    Guard *guard, *api_guard, *aside_guard;
    Vault *vault, *aside_vault;
    Server *server;
    int fd, signal_fd;
    KeyRates rates;
    uint64_t count_max;                         /* executions in memory */
    uint64_t memory_mb;                         /* for them and what waits for them */
    Log log;
    uint32_t interrupt_count;
} Serving;

static void take_signal(void *context, int fd)
{
    Serving *serving = context;
    struct signalfd_siginfo info;
    while (read(fd, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM) serving->interrupt_count++;
        else if (serving->server) service_tell_reloading(), server_reload(serving->server);
}

static Status watch_signals(Serving *serving, Error *err)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);         /* before any thread is made */
    serving->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return serving->signal_fd < 0 ? error_set(err, ERR_LIMIT, "signals cannot be waited for") : OK;
}

static void tell_ready(void) { service_tell("READY=1\nSTATUS=serving\n"); }

/* --- what it tells others ---------------------------------------------------------------------------------------------------------------- */

static bool read_log(const Args *args, Log *out)
{
    const char *word = args_value(args, "log-level");
    *out = (Log){ .level = LOG_WARNING, .has_requests = args_flag(args, "log-requests") };
    if (!word) return true;
    for (unsigned i = 0; log_level_names[i]; i++)
        if (strcmp(word, log_level_names[i]) == 0) {
            out->level = (LogLevel)i;
            return true;
        }
    print_note("maestro: --log-level takes error, warning, info or debug, and not '%s'\n", word);
    return false;
}

static Str variable(const char *name)
{
    const char *text = getenv(name);
    return text ? str_of(text) : (Str){ 0 };
}

/* As OpenTelemetry names these: an address of traces is taken as it is, a general one has their path behind it. */
static OtlpOptions read_otlp(const Args *args)
{
    const char *given = args_value(args, "otlp");
    Str url = given ? str_of(given) : variable("OTEL_EXPORTER_OTLP_ENDPOINT"), path = STR("/v1/traces");
    Str own = variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), headers = variable("OTEL_EXPORTER_OTLP_TRACES_HEADERS");
    Str service = variable("OTEL_SERVICE_NAME");
    while (url.len && url.ptr[url.len - 1] == '/') url.len--;
    if (url.len && !str_ends(url, path)) url = arena_format(args->arena, "%.*s%.*s", STR_ARG(url), STR_ARG(path));
    if (!given && own.len) url = own;
    if (!given && str_is_text(variable("OTEL_SDK_DISABLED"), "true")) url = (Str){ 0 };
    return (OtlpOptions){ .url = url, .headers = headers.len ? headers : variable("OTEL_EXPORTER_OTLP_HEADERS"),
                          .service = service.len ? service : STR("maestro"), .instance = owner_text(args->arena) };
}

static void print_start(const Serving *serving, Str address, Str path, Str key_file)
{
    const Args *args = serving->args;
    const char *scheme = args_value(args, "tls-cert") ? "https" : "http";
    Str keys = key_file.len ? arena_format(args->arena, "the first key is in %.*s", STR_ARG(key_file)) : STR("'maestro key create' makes a key");
    if (address.len)
        print_format("maestro serves %s://%.*s/api on %.*s; %.*s; a browser finds its pages at %s://%.*s/\n", scheme, STR_ARG(address),
                     STR_ARG(serving->place.url), STR_ARG(keys), scheme, STR_ARG(address));
    else
        print_format("maestro serves the socket %.*s on %.*s; %.*s; curl --unix-socket %.*s %s://localhost/api asks it\n", STR_ARG(path),
                     STR_ARG(serving->place.url), STR_ARG(keys), STR_ARG(path), scheme);
}

static ExitCode begin(Serving *serving, Str key_file)
{
    const Args *args = serving->args;
    Error err;
    const char *certificate = args_value(args, "tls-cert"), *key = args_value(args, "tls-key");
    serving->vault = store_vault(args, serving->place.store);
    serving->aside_vault = store_vault(args, serving->place.store);
    const char *path = store_path(args->arena, store_url(args));
    ServerOptions server = { .host = serving->place.host, .store = serving->place.store,
                             .store_path = str_of(path ? path : ""), .vault = serving->vault, .token_key = &serving->place.crew.token_key,
                             .guard = serving->api_guard, .engine_guard = serving->guard,
                             .aside_vault = serving->aside_vault, .aside_guard = serving->aside_guard,
                             .catalog = serving->catalog,
                             .fd = serving->fd, .certificate = certificate,
                             .key = key, .access = args_value(args, "access"), .rates = serving->rates,
                             .exchange = adapters.crew_exchange, .withdraw = adapters.crew_withdraw,
                             .give_back = adapters.crew_give_back, .exchange_context = &serving->place.crew,
                             .log = serving->log, .otlp = read_otlp(args), .reloaded = tell_ready };
    uint64_t descriptor_count;
    server.connection_count_max = count_connections(&descriptor_count);
    Str address = service_address(args->arena, serving->fd), socket_path = service_path(args->arena, serving->fd);
    warn_of_surroundings(args, serving->fd, address);
    if (host_watch(serving->place.host, serving->signal_fd, take_signal, serving, &err)
        || server_start(&server, &serving->server, &err))
        return fail(&err);
    serving->fd = -1;
    print_start(serving, address, socket_path, key_file);
    tell_ready();
    return EXIT_CODE_OK;
}

/* First what was asked is answered, then what is under way may end; a second signal ends it. What takes long beside the server's thread was asked
 * before, and is for the engine: that begins to drain once it has come there, and was taken in the turn after. */
static ExitCode serve(Serving *serving)
{
    Host *host = serving->place.host;
    Engine *engine = host_engine(host);
    while (!serving->interrupt_count && engine_state(engine) != ENGINE_FENCED) {
        host_turn(host, TURN_MS);
        server_turn(serving->server);
    }
    service_tell("STOPPING=1\n");
    server_drain(serving->server);
    /* Twice in a row: the last answer of the server may give something back to the engine. */
    bool is_settled = false;
    int64_t end_ms = clock_monotonic_ms() + API_DRAIN_MS_MAX;
    for (uint32_t quiet = 0; quiet < 2 && clock_monotonic_ms() < end_ms && serving->interrupt_count < 2;) {
        quiet = is_settled && engine_drain(engine) && server_is_drained(serving->server) ? quiet + 1 : 0;
        is_settled = server_is_settled(serving->server);
        host_turn(host, quiet ? 0 : DRAIN_NOTE_MS / 20);
        server_turn(serving->server);
    }
    const Error *trouble = engine_trouble(engine);
    return engine_state(engine) == ENGINE_FENCED && trouble ? fail(trouble) : EXIT_CODE_OK;
}

static void end(Serving *serving)
{
    server_stop(serving->server);
    if (serving->place.host) adapters.cell_stop(&serving->place.crew);
    workplace_close(&serving->place);
    server_free(serving->server);
    vault_free(serving->vault);
    vault_free(serving->aside_vault);
    guard_close(serving->guard);
    guard_close(serving->api_guard);
    guard_close(serving->aside_guard);
    if (serving->fd >= 0) close(serving->fd);
    if (serving->signal_fd >= 0) close(serving->signal_fd);
}

static ExitCode open_place(Serving *serving)
{
    bool is_busy;
    ExitCode code = guardrails_open(serving->args, serving->catalog, /* plan= */ NULL, &serving->guard);
    if (!code) code = guardrails_open(serving->args, serving->catalog, /* plan= */ NULL, &serving->api_guard);
    if (!code) code = guardrails_open(serving->args, serving->catalog, /* plan= */ NULL, &serving->aside_guard);
    if (code) return code;
    serving->place.guard = serving->guard;
    serving->place.run_count_max = (uint32_t)serving->count_max;
    serving->place.size_max = (size_t)serving->memory_mb << 20;
    serving->place.is_cell = args_flag(serving->args, "cell");
    serving->place.server = public_url(serving->args, serving->fd);
    code = workplace_open(serving->args, serving->catalog, &serving->place, &is_busy);
    if (is_busy)
        print_note("maestro: another process owns the store %.*s: end it, or give another --store\n", STR_ARG(store_url(serving->args)));
    if (!code) workplace_listen(serving->args, serving->catalog, &serving->place);
    return code;
}

/* What can be wrong before anything is made. */
static ExitCode check(Serving *serving)
{
    const Args *args = serving->args;
    const char *certificate = args_value(args, "tls-cert"), *key = args_value(args, "tls-key");
    if (!args_number(args, "rate", API_RATE_PER_S_DEFAULT, 1, API_RATE_PER_S_MAX, &serving->rates.key_per_s)
        || !args_number(args, "tenant-rate", API_TENANT_RATE_FACTOR * serving->rates.key_per_s, 1, API_TENANT_RATE_FACTOR * API_RATE_PER_S_MAX,
                        &serving->rates.tenant_per_s)
        || !args_number(args, "max-executions", ENGINE_RUN_COUNT_MAX, 5, 1u << 24, &serving->count_max)
        || !args_number(args, "max-memory", ENGINE_SIZE_MAX >> 20, ENGINE_SIZE_MB_MIN, ENGINE_SIZE_MB_MAX, &serving->memory_mb)
        || !read_log(args, &serving->log)) return EXIT_CODE_USAGE;
    if (!certificate != !key) {
        print_note("maestro: --tls-cert and --tls-key go together\n");
        return EXIT_CODE_USAGE;
    }
    if (!store_path(args->arena, store_url(args))) {
        print_note("maestro: a server needs a store with a file: --store sqlite:PATH\n");
        return EXIT_CODE_USAGE;
    }
    ExitCode code = load_serving_catalog(args, &serving->catalog);
    return code ? code : cell_check(args, (Catalog *)(uintptr_t)serving->catalog);      /* nobody reads it yet */
}

/* What cannot be served with. */
static Status check_parts(const Args *args, Error *err)
{
    const char *public = args_value(args, "public");
    OtlpOptions traces = read_otlp(args);
    Otlp *otlp = NULL;
    Status status = server_check(args_value(args, "tls-cert"), args_value(args, "tls-key"), args_value(args, "access"), err);
    if (!status && public && !store_is_server(str_of(public)))
        status = error_set(err, ERR_INVALID, "--public takes an address as https://maestro.example, and not '%s'", public);
    if (!status && traces.url.len) status = otlp_open(&traces, &otlp, err);
    otlp_close(otlp);
    return status;
}

/* What lies beside a store, such as its lock, is made in its folder, and so is the folder where it is missing. */
static Status check_folder(const Args *args, Error *err)
{
    char *path = (char *)arena_copy(args->arena, str_of(store_path(args->arena, store_url(args)))).ptr;
    for (char *slash = strrchr(path, '/'); slash; slash = strrchr(path, '/')) {
        slash[slash == path] = '\0';
        if (!file_exists(path) && slash != path) continue;
        if (!file_is_directory(path)) return error_set(err, ERR_DENIED, "a store cannot be made below %s, which is no directory", path);
        return access(path, W_OK | X_OK) ? error_set(err, ERR_DENIED, "a store cannot be kept in %s: %s", path, strerror(errno)) : OK;
    }
    return access(".", W_OK | X_OK) ? error_set(err, ERR_DENIED, "a store cannot be kept here: %s", strerror(errno)) : OK;
}

/* One that is there is looked at: it may be no store, or that of a newer maestro. */
static Status check_store(const Args *args, bool *out_is_there, Error *err)
{
    Status status = store_check_url(args->arena, store_url(args), err);
    if (!status) status = check_folder(args, err);
    if (status) return status;
    status = adapters.store_look(store_url(args), err);
    *out_is_there = !status;
    return status == ERR_NOT_FOUND ? OK : status;
}

/* The rest of what can be wrong with what it was given; nothing is made, and nothing is listened on. Who owns the store, and whether the
 * port is free, is not asked: this is called beside a server that runs. */
static ExitCode check_only(Serving *serving)
{
    const Args *args = serving->args;
    bool is_there;
    Error err;
    const char *address = args_value(args, "listen");
    Status status = check_store(args, &is_there, &err);
    if (!status && address) status = service_check_address(args->arena, address, &err);
    if (!status) status = check_parts(args, &err);
    if (!status) status = server_check_access(args_value(args, "access"), &err);
    if (status) return fail(&err);
    ExitCode code = guardrails_open(args, serving->catalog, /* plan= */ NULL, &serving->guard);
    if (!code) print_format("nothing is wrong with these settings: store %.*s, %s\n", STR_ARG(store_url(args)),
                            is_there ? "which is there" : "which is made when a server starts");
    return code;
}

static ExitCode start(Serving *serving)
{
    const Args *args = serving->args;
    Error err;
    Str key_file;
    const char *address = args_value(args, "listen");
    raise_descriptors();
    usage_return_all();
    if (service_begin(&serving->fd, &err)
        || (serving->fd < 0 && service_listen(args->arena, address ? address : "127.0.0.1:8080", &serving->fd, &err)))
        return fail(&err);
    /* What cannot be served with is told before a store and its first key are made. */
    if (check_parts(args, &err)) return fail(&err);
    ExitCode code = key_first(args, &key_file);
    if (!code && watch_signals(serving, &err)) code = fail(&err);
    if (!code) code = open_place(serving);
    if (!code) code = cell_begin(args, serving->catalog, &serving->place);
    if (!code) code = begin(serving, key_file);
    usage_return_large();
    return code ? code : serve(serving);
}

static ExitCode run(const Args *args)
{
    static Serving serving;
    static Args whole;                          /* large: operands of a whole shell pattern */
    serving = (Serving){ .args = &whole, .fd = -1, .signal_fd = -1 };
    ExitCode code = server_file_read(args, &whole);
    if (!code) code = server_refuse(&whole, "a server is started");
    if (!code) code = check(&serving);
    if (!code) code = args_flag(args, "check-config") ? check_only(&serving) : start(&serving);
    end(&serving);
    return code;
}

const Verb command_server = {
    .name = "server", .operands = "",
    .summary = "Serves the API over HTTP and carries out the runs of a store.",
    .doc = "Owns the store and carries out its runs, as 'maestro run' does, and answers the REST API: revisions, executions,\n"
           "events as they happen, triggers, metrics. GET /api has links to everything, /openapi.json describes it. Other\n"
           "commands on the same store go on working beside it. A browser finds pages for operators at its address.\n"
           "\n"
           "The first start writes a key of the role admin to the file PATH.admin-key, which its owner alone may read;\n"
           "'maestro key' makes others. It listens on the loopback address unless --listen says otherwise; whoever serves a\n"
           "network gives --tls-cert and --tls-key, or has a proxy in front that does.\n"
           "\n"
           "--config FILE is YAML with the same names: listen, store, runners, policy, access, shell, rate, tenant_rate, tls, log, cell;\n"
           "what is given as an option wins. --check-config looks at all of it, starts nothing and says what is wrong.\n"
           "\n"
           "With --cell NAME it is a cell: it pulls leases from the queues of a central server, keeps them in its own store, has its\n"
           "own executors and workers carry them out, and reports; also while the central server is away. See docs/cells.md.\n"
           "\n"
           "SIGTERM and Ctrl-C: no further connection is taken, requests that have begun are answered, steps under way may\n"
           "end; a second one ends these, too. What workers have goes on, and is reported to the next process. SIGHUP reads\n"
           "certificate and key again. systemd may hand over the socket and is told when requests are taken: see\n"
           "deploy/maestro.service.\n"
           "\n"
           "The log is JSON on standard error, one object a line. Traces go to a collector of OpenTelemetry with --otlp, or as\n"
           "OTEL_EXPORTER_OTLP_ENDPOINT, _TRACES_ENDPOINT, _HEADERS and OTEL_SERVICE_NAME say; see docs/observability.md.",
    .examples = "maestro server --store sqlite:/var/lib/maestro/store.db\n"
                "maestro server --listen 0.0.0.0:8443 --tls-cert cert.pem --tls-key key.pem\n"
                "maestro server --config /etc/maestro/server.yaml --check-config\n"
                "maestro server --cell eu-west --central https://maestro.example:8443 --token-file token --store sqlite:cell.db",
    .options = options, .run = run,
};
