#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "api/key.h"
#include "api/server.h"
#include "base/limits.h"
#include "cli/guardrails.h"
#include "cli/human.h"
#include "cli/key_order.h"
#include "cli/load.h"
#include "cli/workplace.h"

#define SOCKET_FIRST 3              /* sd_listen_fds(3): the first descriptor that is handed over */
#define TURN_MS 1000

static const Option options[] = {
    { "listen", 0, "ADDRESS:PORT", NULL, "Where to listen; by default 127.0.0.1:8080. Port 0 takes a free one." },
    { "tls-cert", 0, "FILE", NULL, "Certificate chain as PEM: HTTPS is served." },
    { "tls-key", 0, "FILE", NULL, "Its private key as PEM." },
    { "access", 0, "PATH", NULL, "A policy that decides who may do what, in place of the built-in one." },
    { "rate", 0, "NUMBER", NULL, "Requests a second that one key, and one tenant, may send." },
    { "log-requests", 0, NULL, NULL, "Logs every request, and not only those that are refused or fail." },
    STORE_OPTION,
    POLICY_OPTION,
    { NULL },
};

/* --- the socket ------------------------------------------------------------------------------------------------------------------- */

/* The one that systemd has made for this process; -1 where there is none. */
static int inherited_socket(void)
{
    const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    if (!pid || !count || strtol(pid, NULL, 10) != (long)getpid() || strtol(count, NULL, 10) < 1) return -1;
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    (void)fcntl(SOCKET_FIRST, F_SETFD, FD_CLOEXEC);
    (void)fcntl(SOCKET_FIRST, F_SETFL, fcntl(SOCKET_FIRST, F_GETFL) | O_NONBLOCK);
    return SOCKET_FIRST;
}

static Status split_address(Arena *arena, const char *text, const char **out_host, const char **out_port, Error *err)
{
    Str whole = str_of(text);
    size_t colon = whole.len;
    while (colon && text[colon - 1] != ':') colon--;
    if (!colon || colon == whole.len)
        return error_set(err, ERR_INVALID, "--listen takes ADDRESS:PORT, as 127.0.0.1:8080 or [::1]:8080, and not '%s'", text);
    Str host = str_slice(whole, 0, colon - 1);
    if (host.len > 1 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']') host = str_slice(host, 1, host.len - 1);
    *out_host = arena_copy(arena, host).ptr;
    *out_port = arena_copy(arena, str_slice(whole, colon, whole.len)).ptr;
    return OK;
}

static Status listen_on(Arena *arena, const char *text, int *out_fd, Error *err)
{
    const char *host = "", *port = "";
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV }, *found = NULL;
    Status status = split_address(arena, text, &host, &port, err);
    if (status) return status;
    int failed = getaddrinfo(*host ? host : NULL, port, &hints, &found);
    if (failed) return error_set(err, ERR_INVALID, "--listen %s: %s", text, gai_strerror(failed));
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1;
    if (fd >= 0) (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen) || listen(fd, SOMAXCONN)) {
        status = error_set(err, ERR_UNAVAILABLE, "cannot listen on %s: %s; --listen takes another address", text, strerror(errno));
        if (fd >= 0) close(fd);
    } else {
        *out_fd = fd;
    }
    freeaddrinfo(found);
    return status;
}

static Str address_of(Arena *arena, int fd)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
    if (getsockname(fd, (struct sockaddr *)&address, &size)
        || getnameinfo((struct sockaddr *)&address, size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV))
        return STR("a socket");
    return arena_format(arena, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

/* Tells the one who started it how it stands: sd_notify(3), by hand. */
static void tell_manager(const char *text)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    if (!path || strlen(path) >= sizeof address.sun_path) return;
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return;
    (void)sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&address,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path)));
    close(fd);
}

/* A connection takes a descriptor. */
static void raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) return;
    rlim_t wanted = API_CONNECTION_COUNT_MAX + 1024u;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* --- at work -------------------------------------------------------------------------------------------------------------------------- */

typedef struct Serving {
    const Args *args;
    const Catalog *catalog;
    Workplace place;
    Guard *guard, *api_guard;
    Vault *vault;
    Server *server;
    int fd, signal_fd;
    uint32_t interrupt_count;
} Serving;

static void take_signal(void *context, int fd)
{
    Serving *serving = context;
    struct signalfd_siginfo info;
    while (read(fd, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM) serving->interrupt_count++;
        else if (serving->server) server_reload(serving->server);
}

static Status watch_signals(Serving *serving, Error *err)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);         /* before any thread is made */
    (void)signal(SIGXFSZ, SIG_IGN);             /* a limit on the size of files is a full disk: the store says so */
    (void)signal(SIGPIPE, SIG_IGN);
    serving->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return serving->signal_fd < 0 ? error_set(err, ERR_LIMIT, "signals cannot be waited for") : OK;
}

static ExitCode begin(Serving *serving, Str key_file)
{
    const Args *args = serving->args;
    Error err;
    uint64_t rate;
    const char *certificate = args_value(args, "tls-cert"), *key = args_value(args, "tls-key");
    if (!args_number(args, "rate", API_RATE_PER_S_DEFAULT, 1, 1000000, &rate)) return EXIT_CODE_USAGE;
    if (!certificate != !key) {
        print_note("maestro: --tls-cert and --tls-key go together\n");
        return EXIT_CODE_USAGE;
    }
    serving->vault = store_vault(args, serving->place.store);
    ServerOptions server = { .host = serving->place.host, .store = serving->place.store, .vault = serving->vault,
                             .guard = serving->api_guard, .catalog = serving->catalog, .fd = serving->fd, .certificate = certificate,
                             .key = key, .access = args_value(args, "access"), .rate_per_s = rate,
                             .exchange = adapters.crew_exchange, .exchange_context = &serving->place.crew,
                             .logs_all = args_flag(args, "log-requests") };
    Str address = address_of(args->arena, serving->fd);
    if (host_watch(serving->place.host, serving->signal_fd, take_signal, serving, &err)
        || server_start(&server, &serving->server, &err))
        return fail(&err);
    serving->fd = -1;
    print_format("maestro serves %s://%.*s/api on %.*s; the first key is in %.*s\n", certificate ? "https" : "http", STR_ARG(address),
                 STR_ARG(serving->place.url), STR_ARG(key_file));
    tell_manager("READY=1\nSTATUS=serving\n");
    return EXIT_CODE_OK;
}

/* First what was asked is answered, then what is under way may end; a second signal ends it. */
static ExitCode serve(Serving *serving)
{
    Host *host = serving->place.host;
    Engine *engine = host_engine(host);
    while (!serving->interrupt_count && engine_state(engine) != ENGINE_FENCED) host_turn(host, TURN_MS);
    tell_manager("STOPPING=1\n");
    server_drain(serving->server);
    for (int64_t end_ms = human_now_ms() + API_DRAIN_MS_MAX; human_now_ms() < end_ms && serving->interrupt_count < 2;) {
        bool is_drained = engine_drain(engine);
        if (is_drained && server_is_drained(serving->server)) break;
        host_turn(host, DRAIN_NOTE_MS / 20);
    }
    const Error *trouble = engine_trouble(engine);
    return engine_state(engine) == ENGINE_FENCED && trouble ? fail(trouble) : EXIT_CODE_OK;
}

static void end(Serving *serving)
{
    server_stop(serving->server);
    workplace_close(&serving->place);
    server_free(serving->server);
    vault_free(serving->vault);
    guard_close(serving->guard);
    guard_close(serving->api_guard);
    if (serving->fd >= 0) close(serving->fd);
    if (serving->signal_fd >= 0) close(serving->signal_fd);
}

static ExitCode open_place(Serving *serving)
{
    bool is_busy;
    ExitCode code = guardrails_open(serving->args, serving->catalog, /* plan= */ NULL, &serving->guard);
    if (!code) code = guardrails_open(serving->args, serving->catalog, /* plan= */ NULL, &serving->api_guard);
    if (code) return code;
    serving->place.guard = serving->guard;
    code = workplace_open(serving->args, serving->catalog, &serving->place, &is_busy);
    if (is_busy)
        print_note("maestro: another process owns the store %.*s: end it, or give another --store\n", STR_ARG(store_url(serving->args)));
    if (!code) workplace_listen(serving->args, serving->catalog, &serving->place);
    return code;
}

static ExitCode run(const Args *args)
{
    static Serving serving;
    Error err;
    Str key_file;
    const char *address = args_value(args, "listen");
    serving = (Serving){ .args = args, .fd = inherited_socket(), .signal_fd = -1 };
    if (!store_path(args->arena, store_url(args))) {
        print_note("maestro: a server needs a store with a file: --store sqlite:PATH\n");
        return EXIT_CODE_USAGE;
    }
    raise_descriptors();
    if (serving.fd < 0 && listen_on(args->arena, address ? address : "127.0.0.1:8080", &serving.fd, &err)) return fail(&err);
    ExitCode code = load_catalog(args, "", &serving.catalog);
    if (!code) code = key_first(args, &key_file);
    if (!code && watch_signals(&serving, &err)) code = fail(&err);
    if (!code) code = open_place(&serving);
    if (!code) code = begin(&serving, key_file);
    if (!code) code = serve(&serving);
    end(&serving);
    return code;
}

const Verb command_server = {
    .name = "server", .operands = "",
    .summary = "Serves the API over HTTP and carries out the runs of a store.",
    .doc = "Owns the store and carries out its runs, as 'maestro run' does, and answers the REST API: revisions, executions,\n"
           "events as they happen, triggers, metrics. GET /api has links to everything, /openapi.json describes it. Other\n"
           "commands on the same store go on working beside it.\n"
           "\n"
           "The first start writes a key of the role admin to the file PATH.admin-key, which its owner alone may read;\n"
           "'maestro key' makes others. It listens on the loopback address unless --listen says otherwise; whoever serves a\n"
           "network gives --tls-cert and --tls-key, or has a proxy in front that does.\n"
           "\n"
           "SIGTERM and Ctrl-C: no further connection is taken, requests that have begun are answered, steps under way may\n"
           "end; a second one ends these, too. SIGHUP reads certificate and key again. systemd may hand over the socket and is told when requests are taken: see\n"
           "deploy/maestro.service. The log is JSON on standard error, one object a line.",
    .examples = "maestro server --store sqlite:/var/lib/maestro/store.db\n"
                "maestro server --listen 0.0.0.0:8443 --tls-cert cert.pem --tls-key key.pem",
    .options = options, .run = run,
};
