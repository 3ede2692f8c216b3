/* command.c - what a program wants of its runs: each is a request to the engine, answered when it is durable. */
#include <string.h>

#include "base/limits.h"
#include "embed/definition.h"

/* Why the engine takes nothing now. */
static void refuse_now(Maestro *maestro, Ask *ask)
{
    Engine *engine = host_engine(maestro->host);
    Error why;
    if (engine_trouble(engine)) error_set(&why, ERR_UNAVAILABLE, "%s", engine_trouble(engine)->text);
    else if (engine_state(engine) == ENGINE_DRAINING) error_set(&why, ERR_UNAVAILABLE, "the handle is being closed");
    else error_set(&why, ERR_LIMIT, "the engine takes nothing more now: too many requests wait");
    ask_refuse(maestro, ask, &why);
}

/* --- start -------------------------------------------------------------------------------------------------------------- */

typedef struct Starting { const MaestroDefinition *definition; EngineStart start; } Starting;

static void start_begin(Maestro *maestro, Ask *ask)
{
    Starting *starting = ask->input;
    Engine *engine = host_engine(maestro->host);
    Error err;
    Value guarded = starting->definition->guarded;
    Status status = guarded.kind == VALUE_NULL ? OK : guard_admit(maestro->guard, guarded, &err);
    if (!status) status = engine_plan_add(engine, buf_peek(&starting->definition->document), &starting->start.plan, &err);
    if (status) {
        ask_refuse(maestro, ask, &err);
        return;
    }
    starting->start.reply = ask_reply;
    starting->start.context = ask;
    if (engine_start(engine, &starting->start)) ask_taken(maestro, ask);
    else refuse_now(maestro, ask);
}

static Status submit(Maestro *maestro, Arena *arena, const MaestroDefinition *definition, const MaestroSubmit *given,
                     MaestroSubmitted *out_run, Error *err)
{
    Str id = { 0 };
    StartRequest wanted = { .params = value_null(), .payload = value_null(), .source = STR("program") };
    Status status = given && given->params ? take_json(arena, given->params, "params", &wanted.params, err) : OK;
    if (!status && given && given->key) status = take_text(given->key, "the key", EMBED_KEY_SIZE_MAX, &wanted.key, err);
    if (!status && given && given->id) status = take_text(given->id, "the id", REQUEST_ID_SIZE_MAX, &id, err);
    if (status) return status;
    wanted.is_again = given && given->is_again;
    Starting starting = { definition, { .tenant = buf_peek(&definition->tenant), .request = wanted,
                                        .command = { .kind = COMMAND_START, .id = id, .actor = maestro->actor,
                                                     .value = value_null(), .report.output = value_null() } } };
    Ask ask = { .begin = start_begin, .input = &starting };
    status = ask_send(maestro, &ask, err);
    if (status) return status;
    memcpy(out_run->id, ask.reply.run_id.text, sizeof out_run->id);
    out_run->is_repeat = ask.reply.is_repeat;
    return OK;
}

MaestroStatus maestro_submit(Maestro *maestro, const MaestroDefinition *definition, const MaestroSubmit *given,
                             MaestroSubmitted *out_run, MaestroError *err)
{
    Arena arena;
    Error error;
    Status status = enter(maestro, &error);
    if (status) return give_error(&error, err);
    arena_init(&arena, SIZE_MAX);
    status = submit(maestro, &arena, definition, given, out_run, &error);
    arena_deinit(&arena);
    leave(maestro);
    return status ? give_error(&error, err) : MAESTRO_OK;
}

/* --- runs that are there ------------------------------------------------------------------------------------------------ */

static void send_begin(Maestro *maestro, Ask *ask)
{
    EngineRequest *wanted = ask->input;
    wanted->reply = ask_reply;
    wanted->context = ask;
    if (engine_request(host_engine(maestro->host), wanted)) ask_taken(maestro, ask);
    else refuse_now(maestro, ask);
}

/* The command has its kind and what belongs to that; who sends it, to which run and why is filled in here. */
static Status send_command(Maestro *maestro, const char *run_id, const char *reason, Command *command, Error *err)
{
    EngineRequest wanted = { 0 };
    Status status = take_run_id(run_id, &wanted.run_id, err);
    if (!status && reason) status = take_text(reason, "the reason", TEXT_SIZE_MAX, &command->rationale, err);
    if (!status) status = enter(maestro, err);
    if (status) return status;
    command->actor = maestro->actor;
    command->report.output = value_null();
    wanted.command = *command;
    Ask ask = { .begin = send_begin, .input = &wanted };
    status = ask_send(maestro, &ask, err);
    leave(maestro);
    return status;
}

static MaestroStatus send_plain(Maestro *maestro, CommandKind kind, const char *run_id, const char *reason, MaestroError *err)
{
    Error error;
    Command command = { .kind = kind, .value = value_null() };
    return send_command(maestro, run_id, reason, &command, &error) ? give_error(&error, err) : MAESTRO_OK;
}

MaestroStatus maestro_pause(Maestro *maestro, const char *run_id, const char *reason, MaestroError *err)
{
    return send_plain(maestro, COMMAND_PAUSE, run_id, reason, err);
}

MaestroStatus maestro_resume(Maestro *maestro, const char *run_id, const char *reason, MaestroError *err)
{
    return send_plain(maestro, COMMAND_RESUME, run_id, reason, err);
}

MaestroStatus maestro_cancel(Maestro *maestro, const char *run_id, const char *reason, MaestroError *err)
{
    return send_plain(maestro, COMMAND_CANCEL, run_id, reason, err);
}

static Status read_signal(Arena *arena, const MaestroSignal *signal, Command *out, Error *err)
{
    Str kind = STR("operator");
    *out = (Command){ .kind = COMMAND_SIGNAL, .value = value_null(), .is_denial = signal->is_denial };
    Status status = take_text(signal->name, "the name of the signal", NAME_SIZE_MAX, &out->name, err);
    if (!status && signal->kind) status = take_text(signal->kind, "the kind of the signal", NAME_SIZE_MAX, &kind, err);
    if (!status && !signal_kind_find(kind, &out->sort))
        status = error_set(err, ERR_INVALID, "there is no kind of signal '%.*s'", STR_ARG(kind));
    if (!status && signal->id) status = take_text(signal->id, "the id", REQUEST_ID_SIZE_MAX, &out->id, err);
    if (!status && signal->payload) status = take_json(arena, signal->payload, "payload", &out->value, err);
    return status;
}

MaestroStatus maestro_signal(Maestro *maestro, const char *run_id, const MaestroSignal *signal, MaestroError *err)
{
    Arena arena;
    Error error;
    Command command;
    arena_init(&arena, SIZE_MAX);
    Status status = read_signal(&arena, signal, &command, &error);
    if (!status) status = send_command(maestro, run_id, signal->reason, &command, &error);
    arena_deinit(&arena);
    return status ? give_error(&error, err) : MAESTRO_OK;
}
