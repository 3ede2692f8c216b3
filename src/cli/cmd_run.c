#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/check.h"
#include "base/limits.h"
#include "cli/load.h"
#include "cli/progress.h"
#include "cli/workplace.h"
#include "value/json.h"
#include "view/tables.h"

static const Option options[] = {
    { "param", 'p', "NAME=VALUE", NULL, "A parameter of the run: a text, or JSON of the type it is declared with.",
      .repeats = true },
    { "key", 0, "KEY", NULL, "The idempotency key, in place of the definition's." },
    { "again", 0, NULL, NULL, "A new run, though one with the same key exists." },
    STORE_OPTION,
    { "runners", 0, "FILE", NULL, "What the definition finds by name." },
    { "json", 0, NULL, NULL, "Prints events as JSON, one a line, and the result." },
    { "quiet", 'q', NULL, NULL, "Prints nothing but the run's id and what went wrong." },
    { NULL },
};

typedef struct RunCommand {
    const Args *args;
    Loaded loaded;
    Workplace place;
    Progress progress;
    bool is_answered, is_over, is_interrupted;
    EngineReply reply;
    Error error;
} RunCommand;

/* --- parameters ---------------------------------------------------------------------------------------------------------- */

static Str declared_type(Value document, Str name)
{
    const Value *params = value_get_text(document, "params");
    for (uint32_t i = 0; params && i < params->count; i++)
        if (str_is(value_get_string(params->items[i], "name", STR("")), name))
            return value_get_string(params->items[i], "type", STR("string"));
    return STR("string");
}

/* A text is taken as it stands; anything else has to be JSON. What is wrong with it the engine says. */
static Value param_value(Arena *arena, Str type, Str text)
{
    Value value;
    Error err;
    if (str_is_text(type, "string") || json_parse(arena, text, &value, &err)) return value_string(text);
    return value;
}

static bool read_params(RunCommand *run, Value *out)
{
    MemberList members = { .arena = run->args->arena };
    for (unsigned i = 0; i < run->args->given_count; i++) {
        const ArgsGiven *given = &run->args->given[i];
        if (strcmp(given->option->name, "param") != 0) continue;
        Str text = str_of(given->value);
        size_t equals = str_find(text, '=', 0);
        if (equals == text.len || equals == 0) {
            fprintf(stderr, "maestro run: --param needs NAME=VALUE, and '%s' has none\n", given->value);
            return false;
        }
        Str name = str_slice(text, 0, equals);
        Str type = declared_type(run->loaded.compiled.plan.document, name);
        member_list_add(&members, name, param_value(run->args->arena, type, str_slice(text, equals + 1, text.len)));
    }
    *out = member_list_object(&members);
    return true;
}

/* --- what happens -------------------------------------------------------------------------------------------------------- */

static void take_reply(void *context, const EngineReply *reply)
{
    RunCommand *run = context;
    run->is_answered = true;
    run->reply = *reply;
    if (reply->error) run->error = *reply->error;
}

static void take_observation(void *context, const Observation *observation)
{
    RunCommand *run = context;
    progress_take(&run->progress, observation);
}

static void take_signal(void *context, int fd)
{
    RunCommand *run = context;
    struct signalfd_siginfo info;
    if (read(fd, &info, sizeof info) == (ssize_t)sizeof info) run->is_interrupted = true;
}

static Status start(RunCommand *run, Value params, Error *err)
{
    Buf document;
    buf_init(&document, PLAN_SIZE_MAX);
    Digest digest;
    Status status = canonical_print(&document, run->loaded.compiled.plan.document, err);
    if (!status) status = engine_plan_add(host_engine(run->place.host), buf_peek(&document), &digest, err);
    buf_deinit(&document);
    if (status) return status;
    const char *key = args_value(run->args, "key"), *user = getenv("USER");
    EngineStart request = {
        .plan = digest, .tenant = run->loaded.compiled.plan.tenant,
        .request = { .params = params, .key = key ? str_of(key) : (Str){ 0 }, .is_again = args_flag(run->args, "again"),
                     .source = STR("manual") },
        .command = { .actor = arena_format(run->args->arena, "user:%s", user ? user : "unknown") },
        .reply = take_reply, .context = run,
    };
    if (!engine_start(host_engine(run->place.host), &request))
        return error_set(err, ERR_LIMIT, "the engine takes no further runs now");
    return OK;
}

/* --- the command --------------------------------------------------------------------------------------------------------- */

static Status watch_signals(RunCommand *run, Error *err)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0) return error_set(err, ERR_LIMIT, "signals cannot be waited for");
    return host_watch(run->place.host, fd, take_signal, run, err);
}

/* Until the run is settled: it has ended, or it waits for a decision. */
static void carry_out(RunCommand *run)
{
    while (!run->is_answered && !run->is_interrupted) host_turn(run->place.host, -1);
    if (run->reply.status) return;
    progress_begin(&run->progress, &run->reply);
    while (!progress_is_over(&run->progress) && !run->is_interrupted && engine_state(host_engine(run->place.host)) != ENGINE_FENCED) {
        host_turn(run->place.host, progress_wait_ms(&run->progress));
        progress_draw(&run->progress);
    }
}

static ExitCode run_file(const Args *args)
{
    static RunCommand run;
    run = (RunCommand){ .args = args };
    ExitCode code = load_plan(args, args->operands[0], &run.loaded);
    Value params;
    if (code) return code;
    if (!read_params(&run, &params)) return EXIT_CODE_USAGE;
    bool is_busy;
    code = workplace_open(args, run.loaded.catalog, &run.place, &is_busy);
    if (is_busy) {
        fprintf(stderr, "maestro run: another process works on %.*s\n", STR_ARG(store_url(args)));
        return code;
    }
    if (code) return code;
    progress_init(&run.progress, args, &run.loaded.compiled.plan, run.place.store);
    engine_observe(host_engine(run.place.host), take_observation, &run);
    Error err;
    Status status = watch_signals(&run, &err);
    if (!status) status = start(&run, params, &err);
    if (!status) {
        carry_out(&run);
        if (run.reply.status) {
            status = run.reply.status;
            err = run.error;
        }
    }
    if (status) code = fail(&err);
    else code = progress_end(&run.progress, run.reply.is_repeat, run.is_interrupted);
    workplace_close(&run.place);
    return code;
}

const Verb command_run = {
    .name = "run", .operands = "FILE", .operand_count_min = 1, .operand_count_max = 1,
    .summary = "Runs a definition, and shows how it goes.",
    .doc = "Starts a run of the definition and carries it out, step by step. Everything that happens is durable before the next\n"
           "step begins: after a crash, or Ctrl-C, the same command goes on where it was. On a terminal the steps are shown as a\n"
           "tree; otherwise as lines. Where the definition has an idempotency key, the same command again continues that run, or\n"
           "shows its result if it has ended; --again starts a new one.",
    .examples = "maestro run hello.yaml --param who=Ana\n"
                "maestro run order.yaml -p order_id=17 --store sqlite:./orders.db",
    .options = options, .run = run_file,
};
