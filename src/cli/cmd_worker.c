#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/adapters.h"
#include "cli/load.h"
#include "os/file.h"

#define TOKEN_FILE_SIZE_MAX 4096u

static const Option options[] = {
    { "server", 0, "URL", NULL, "The server that has the work." },
    { "executor", 0, "ID", NULL, "Its worker executor; 'workers' where it is left out." },
    { "queue", 0, "NAME", NULL, "A queue to take work from; all of the executor where none is given.", .repeats = true },
    { "capacity", 0, "N", NULL, "How many attempts it carries out at a time; 4 where it is left out." },
    { "name", 0, "NAME", NULL, "What this worker is called; machine and process where it is left out." },
    { "token-file", 0, "FILE", NULL, "The credential; $MAESTRO_TOKEN where it is left out." },
    { NULL },
};

static void print_told(void *context, Str line)
{
    (void)context;
    print_note("%.*s", STR_ARG(line));
}

static Status read_bearer(const Args *args, Str *out, Error *err)
{
    const char *path = args_value(args, "token-file"), *variable = getenv("MAESTRO_TOKEN");
    *out = variable ? str_of(variable) : STR("");
    if (!path) return OK;
    Status status = file_read(args->arena, path, TOKEN_FILE_SIZE_MAX, out, err);
    while (!status && out->len && (out->ptr[out->len - 1] == '\n' || out->ptr[out->len - 1] == '\r')) out->len--;
    return status;
}

/* Signals are waited for with everything else: the first stops it in order. */
static int watch_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);             /* before any thread is made */
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static Str default_name(const Args *args)
{
    char host[65] = "worker";
    if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
    return arena_format(args->arena, "%s-%ld", host, (long)getpid());
}

static ExitCode give_up(const Error *err)
{
    print_note("%s", err->text);
    return exit_code_of(err->status);
}

static ExitCode run(const Args *args)
{
    uint64_t capacity;
    if (!args_number(args, "capacity", 4, 1, WORKER_ITEM_COUNT_MAX, &capacity)) return EXIT_CODE_USAGE;
    if (!args_value(args, "server")) {
        print_note("which server has the work? Say --server URL, as http://127.0.0.1:8080");
        return EXIT_CODE_USAGE;
    }
    Error err;
    const Catalog *catalog;
    ExitCode code = load_catalog(args, "", &catalog);
    if (code) return code;
    Str queues[WORKER_QUEUE_COUNT_MAX];
    WorkerErrand errand = { .server = str_of(args_value(args, "server")), .executor = str_of(args_value(args, "executor") ? args_value(args, "executor") : "workers"),
                            .worker = args_value(args, "name") ? str_of(args_value(args, "name")) : default_name(args), .queues = queues,
                            .capacity = (uint32_t)capacity, .told = print_told };
    for (unsigned i = 0; i < args->given_count; i++) {
        if (str_is_text(str_of(args->given[i].option->name), "queue") && errand.queue_count < WORKER_QUEUE_COUNT_MAX)
            queues[errand.queue_count++] = str_of(args->given[i].value);
    }
    Status status = read_bearer(args, &errand.bearer, &err);
    if (status) return give_up(&err);
    errand.stop_fd = watch_signals();
    Crew crew;
    status = adapters.crew_open(&(CrewOptions){ .catalog = catalog }, &crew, &err);
    if (status) return give_up(&err);
    print_note("pulls from %.*s, executor %.*s, %u at a time", STR_ARG(errand.server), STR_ARG(errand.executor), errand.capacity);
    status = adapters.worker_run(&errand, &crew, &err);
    adapters.crew_close(&crew);
    close(errand.stop_fd);
    return status ? give_up(&err) : EXIT_CODE_OK;
}

const Verb command_worker = {
    .name = "worker", .operands = "",
    .summary = "Carries out work of a server: pulls it, runs it here, reports.",
    .doc = "Asks the server's worker executor for attempts of its queues and carries them out by the runners of its own\n"
           "runners.yaml: programs, services, what is built in. Several at a time, and as many workers as you like, on any\n"
           "machines that reach the server; the server reaches none of them.\n"
           "\n"
           "A server that is away is asked again; what runs goes on and is reported when it is back. The first Ctrl-C or TERM\n"
           "takes no more work and ends when what runs has ended. A worker that vanishes is noticed by the server when the leases of\n"
           "its attempts run out.\n"
           "\n"
           "docs/worker-protocol.md is the protocol, for workers in other languages.",
    .examples = "maestro worker --server http://127.0.0.1:8080 --queue builds --capacity 8 --runners runners.yaml",
    .options = options, .run = run,
};
