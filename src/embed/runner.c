/* runner.c - functions of the program as runners: two native executors, one that has threads and one that has none. */
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "embed/embed.h"
#include "engine/message.h"
#include "exec/native/native.h"
#include "value/json.h"

#define EXECUTOR_WORKERS STR("native")
#define EXECUTOR_QUICK STR("native-quick")

struct MaestroCall {
    NativeCall *native;
    Arena *arena;                       /* until the report is delivered */
    Report *report;
    bool is_quick, is_output_wrong;
};

typedef struct Runner { const Maestro *maestro; MaestroRunner given; } Runner;

/* What this thread carries out. A quick runner asks nothing of its own engine, so runners of one handle never nest. */
static _Thread_local struct { const Maestro *maestro; bool is_quick; } under_way;

RunnerPlace runner_place(const Maestro *maestro)
{
    if (under_way.maestro != maestro) return RUNNER_NONE;
    return under_way.is_quick ? RUNNER_QUICK : RUNNER_WORKER;
}

/* --- one call ------------------------------------------------------------------------------------------------------------ */

static const char *text_of(Arena *arena, Str text) { return arena_copy(arena, text).ptr; }

static const char *json_of(Arena *arena, Value value)
{
    Buf buf;
    Error err;
    buf_init(&buf, SIZE_MAX);
    Status status = json_print(&buf, value, JSON_COMPACT, &err);
    CHECK(status == OK);                /* it came from JSON, and was bounded there */
    const char *text = text_of(arena, buf_peek(&buf));
    buf_deinit(&buf);
    return text;
}

static MaestroAttempt attempt_of(Arena *arena, const Attempt *attempt)
{
    return (MaestroAttempt){
        .run_id = text_of(arena, attempt->run_id), .tenant = text_of(arena, attempt->tenant),
        .definition = text_of(arena, attempt->definition), .step = text_of(arena, attempt->step_id),
        .runner = text_of(arena, attempt->runner), .input = json_of(arena, attempt->input),
        .params = json_of(arena, attempt->params), .key = text_of(arena, attempt->key), .number = attempt->id.attempt,
        .deadline_ms = attempt->deadline_ms,
    };
}

/* What the function says becomes the report. The causes of the usual statuses are known to the executor. */
static Status report_of(MaestroCall *call, MaestroStatus status)
{
    if (call->is_output_wrong && (status == MAESTRO_OK || status == MAESTRO_INVALID)) {
        call->report->cause = CAUSE_OUTPUT_INVALID;
        return ERR_INVALID;
    }
    if (status == MAESTRO_OK) call->report->message = (Str){ 0 };       /* it failed, and then did not */
    if ((unsigned)status < STATUS_COUNT) return (Status)status;
    call->report->cause = status == MAESTRO_TIMEOUT ? CAUSE_TIMEOUT : CAUSE_ERROR;
    if (!call->report->message.len)
        call->report->message = arena_format(call->arena, "it answered %s", maestro_status_name(status));
    return ERR_UNAVAILABLE;
}

/* A function that is left behind when its handle is closed comes back here: nothing of the handle is touched any more. */
static Status run_here(void *context, NativeCall *native, const Attempt *attempt, Arena *arena, Report *out_report)
{
    const Runner *runner = context;
    MaestroAttempt given = attempt_of(arena, attempt);
    MaestroCall call = { .native = native, .arena = arena, .report = out_report, .is_quick = runner->given.is_quick };
    under_way.maestro = runner->maestro;
    under_way.is_quick = runner->given.is_quick;
    MaestroStatus status = runner->given.run(runner->given.context, &given, &call);
    under_way.maestro = NULL;
    return report_of(&call, status);
}

/* --- for functions while they run ----------------------------------------------------------------------------------------- */

MaestroStatus maestro_call_output(MaestroCall *call, const char *json)
{
    Error err;
    Value output;
    Status status = take_json(call->arena, json, "the output", &output, &err);
    if (!status && strlen(json) > OUTPUT_SIZE_MAX)
        status = error_set(&err, ERR_LIMIT, "the output exceeds OUTPUT_SIZE_MAX (%u bytes)", OUTPUT_SIZE_MAX);
    call->is_output_wrong = status != OK;
    if (status) call->report->message = arena_copy(call->arena, str_of(err.text));
    else call->report->output = output;
    return (MaestroStatus)status;
}

/* As much of a text of the program as the report may have, cut where it is no UTF-8. */
static Str text_within(const char *text, size_t size_max)
{
    Str all = { text, strnlen(text, size_max) };
    return str_slice(all, 0, utf8_valid_size(all));
}

MaestroStatus maestro_call_fail(MaestroCall *call, MaestroStatus status, const char *text)
{
    if (text) call->report->message = arena_copy(call->arena, text_within(text, REPORT_TEXT_SIZE_MAX));
    return status;
}

bool maestro_call_is_ended(const MaestroCall *call) { return !call->is_quick && native_call_is_ended(call->native); }

void maestro_call_log(MaestroCall *call, const char *line)
{
    if (!line) return;
    for (const char *end; *line; line = *end ? end + 1 : end) {
        end = strchrnul(line, '\n');
        size_t size = (size_t)(end - line);
        native_call_log(call->native, text_within(line, size < LOG_LINE_SIZE_MAX ? size : LOG_LINE_SIZE_MAX), false);
    }
}

static Status say(MaestroCall *call, Arena *arena, const char *json, Error *err)
{
    Notice notice;
    Str text;
    Status status = take_text(json, "the message", RUNNER_LINE_SIZE_MAX, &text, err);
    if (!status) status = message_read(arena, text, &notice, err);
    if (status) return status;
    bool is_effect = notice.kind == NOTICE_EFFECT;
    if (is_effect && call->is_quick) return error_set(err, ERR_CONFLICT, "a quick runner has no way to wait for its effects");
    bool is_heard = is_effect ? native_call_effect(call->native, &notice) : native_call_notice(call->native, &notice);
    return is_heard ? OK : error_set(err, ERR_CONFLICT, "it was ended, and is not heard any more");
}

MaestroStatus maestro_call_message(MaestroCall *call, const char *json, MaestroError *err)
{
    Arena arena;
    Error error;
    arena_init(&arena, SIZE_MAX);
    Status status = say(call, &arena, json, &error);
    arena_deinit(&arena);
    return status ? give_error(&error, err) : MAESTRO_OK;
}

/* --- make ------------------------------------------------------------------------------------------------------------------ */

Status runners_offer(Maestro *maestro, const MaestroOptions *options, Error *err)
{
    for (uint32_t i = 0; i < options->runner_count; i++) {
        const MaestroRunner *given = &options->runners[i];
        Str name;
        Status status = take_text(given->name, "the name of a runner", NAME_SIZE_MAX, &name, err);
        if (status) return status;
        if (!name.len || !given->run) return error_set(err, ERR_INVALID, "runner %u '%s' has no name or no function", i, given->name);
        if (!catalog_add_runner(&maestro->catalog, arena_copy(&maestro->arena, name),
                                given->is_quick ? EXECUTOR_QUICK : EXECUTOR_WORKERS))
            return error_set(err, ERR_CONFLICT, "there is a runner '%s' already", given->name);
    }
    return OK;
}

static Status open_group(Maestro *maestro, const MaestroOptions *options, bool is_quick, uint32_t thread_count, Error *err)
{
    NativeFunction *functions = ARENA_ARRAY(&maestro->arena, NativeFunction, options->runner_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < options->runner_count; i++) {
        if (options->runners[i].is_quick != is_quick) continue;
        Runner *runner = ARENA_NEW(&maestro->arena, Runner);
        *runner = (Runner){ maestro, options->runners[i] };
        functions[count++] = (NativeFunction){ .runner = arena_copy(&maestro->arena, str_of(options->runners[i].name)),
                                               .run = run_here, .context = runner, .is_quick = is_quick };
    }
    if (!count) return OK;
    CHECK(maestro->crew.count < CREW_COUNT_MAX);
    /* A worker's attempt waits for its turn in the run, not behind others in the executor: its time has not begun. */
    NativeOptions native = { .name = is_quick ? EXECUTOR_QUICK : EXECUTOR_WORKERS, .functions = functions,
                             .function_count = count, .thread_count = thread_count, .capacity = thread_count,
                             .sink = notice_ring_sink(maestro->crew.notices) };
    Status status = native_executor_open(&native, &maestro->crew.executors[maestro->crew.count], err);
    if (!status) maestro->crew.count++;
    return status;
}

Status runners_open(Maestro *maestro, const MaestroOptions *options, Error *err)
{
    if (maestro->crew.count + 2 > CREW_COUNT_MAX) return error_set(err, ERR_LIMIT, "more than %u executors", CREW_COUNT_MAX);
    Status status = open_group(maestro, options, /* is_quick= */ true, /* thread_count= */ 0, err);
    if (status) return status;
    return open_group(maestro, options, /* is_quick= */ false,
                      options->thread_count ? options->thread_count : EMBED_THREAD_COUNT_DEFAULT, err);
}
