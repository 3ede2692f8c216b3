#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/adapters.h"
#include "cli/bearer.h"
#include "cli/load.h"
#include "cli/workplace.h"

static const Option options[] = {
    { "server", 0, "URL", NULL, "The server that has the work, as http://HOST:PORT; $MAESTRO_SERVER where it is left out." },
    { "executor", 0, "ID", NULL, "Its worker executor; 'workers' where it is left out." },
    { "queue", 0, "NAME", NULL, "A queue to take work from; all of the executor where none is given.", .repeats = true },
    { "capacity", 0, "N", NULL, "How many attempts it carries out at a time; 4 where it is left out." },
    { "name", 0, "NAME", NULL, "What this worker is called; machine and process where it is left out." },
    SHELL_OPTION,
    { "token-file", 0, "FILE", NULL, "The credential; $MAESTRO_TOKEN where it is left out." },
    { NULL },
};

static void print_told(void *context, Str line)
{
    (void)context;
    print_note("%.*s\n", STR_ARG(line));
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
    print_note("maestro: %s\n", err->text);
    return exit_code_of(err->status);
}

static ExitCode run(const Args *args)
{
    uint64_t capacity;
    if (!args_number(args, "capacity", 4, 1, WORKER_ITEM_COUNT_MAX, &capacity)) return EXIT_CODE_USAGE;
    if (!args_value(args, "server") && !str_of(getenv("MAESTRO_SERVER")).len) {
        print_note("maestro: which server has the work? Say --server URL, as http://127.0.0.1:8080, or set $MAESTRO_SERVER\n");
        return EXIT_CODE_USAGE;
    }
    Error err;
    const Catalog *catalog;
    ExitCode code = load_serving_catalog(args, &catalog);
    if (code) return code;
    Str queues[WORKER_QUEUE_COUNT_MAX];
    WorkerErrand errand = { .server = store_url(args),
                            .executor = str_of(args_value(args, "executor") ? args_value(args, "executor") : "workers"),
                            .worker = args_value(args, "name") ? str_of(args_value(args, "name")) : default_name(args),
                            .queues = queues, .capacity = (uint32_t)capacity, .told = print_told };
    errand.queue_count = queues_read(args, queues);
    Status status = bearer_read(args, &errand.bearer, &err);
    if (status) return give_up(&err);
    errand.stop_fd = watch_signals();
    Crew crew;
    status = adapters.crew_open(&(CrewOptions){ .catalog = catalog, .is_bench = true }, &crew, &err);
    if (status) return give_up(&err);
    print_note("pulls from %.*s, executor %.*s, %u at a time\n", STR_ARG(errand.server), STR_ARG(errand.executor), errand.capacity);
    status = adapters.worker_run(&errand, &crew, &err);
    adapters.crew_close(&crew);
    close(errand.stop_fd);
    return status ? give_up(&err) : EXIT_CODE_OK;
}

const Verb command_worker = {
    .name = "worker", .operands = "",
    .summary = "Carries out work of a server: pulls it, runs it here, reports.",
    .doc = "Asks the server's worker executor for attempts of its queues and carries them out by the runners of its own\n"
           "runners.yaml: programs, services, what is built in, and bench/native, which does nothing and is there to measure the\n"
           "rest. Several at a time, and as many workers as you like, on any\n"
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
