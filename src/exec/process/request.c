#include "exec/process/request.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "engine/attempt.h"
#include "lang/shape.h"
#include "value/json.h"
#include "value/number.h"

#define DOCUMENT_SIZE_MAX (4 * (size_t)OUTPUT_SIZE_MAX)
#define CORE_COUNT_MAX 1024

static Status args_write(Request *request, const Attempt *attempt);
static Status variables_write(Request *request, const Attempt *attempt);
static void limits_read(Request *request, const Attempt *attempt);

Request *request_make(const Attempt *attempt, const char *output_path)
{
    size_t path_size = strlen(output_path) + 1;
    Request *request = calloc(1, sizeof *request + path_size);
    CHECK(request != NULL);
    request->id = attempt->id;
    memcpy(request->output_path, output_path, path_size);
    buf_init(&request->texts, PROCESS_REQUEST_SIZE_MAX);
    buf_init(&request->document, DOCUMENT_SIZE_MAX);
    limits_read(request, attempt);

    Status status = args_write(request, attempt);
    if (!status) status = variables_write(request, attempt);
    if (!status && buf_overflowed(&request->texts))
        status = error_set(&request->error, ERR_LIMIT, "its arguments and variables exceed PROCESS_REQUEST_SIZE_MAX (%u bytes)",
                           PROCESS_REQUEST_SIZE_MAX);
    if (!status) status = attempt_document(&request->document, attempt, &request->error);
    if (status && !request->cause) request->cause = CAUSE_INPUT_INVALID;
    request->spawn.texts = buf_peek(&request->texts);
    return request;
}

void request_free(Request *request)
{
    if (!request) return;
    buf_deinit(&request->texts);
    buf_deinit(&request->document);
    free(request);
}

/* What else the executor needs stands under `settings` of the runner. */
static const Value *setting(const Attempt *attempt, const char *name)
{
    const Value *settings = value_get_text(attempt->settings, "settings");
    const Value *found = settings ? value_get_text(*settings, name) : NULL;
    return found ? found : value_get_text(attempt->settings, name);
}

/* --- arguments --------------------------------------------------------------------------------------------------- */

static Status text_add(Request *request, uint32_t *count, Str text, const char *what)
{
    if (memchr(text.ptr ? text.ptr : "", '\0', text.len))
        return error_set(&request->error, ERR_INVALID, "%s holds a zero byte, which no program can be given", what);
    if (++*count > PROCESS_ARG_COUNT_MAX)
        return error_set(&request->error, ERR_LIMIT, "there are more than PROCESS_ARG_COUNT_MAX (%u) of %s",
                         PROCESS_ARG_COUNT_MAX, what);
    buf_str(&request->texts, text);
    buf_char(&request->texts, '\0');
    return OK;
}

static Status arg_add(Request *request, Str text)
{
    return text_add(request, &request->spawn.arg_count, text, "its arguments");
}

/* Texts as they are, anything else as JSON. */
static Status arg_add_value(Request *request, Value value)
{
    if (value.kind == VALUE_STRING) return arg_add(request, value_text(value));
    Buf printed;
    buf_init(&printed, PROCESS_REQUEST_SIZE_MAX);
    Status status = json_print(&printed, value, JSON_COMPACT, &request->error);
    if (!status) status = arg_add(request, buf_peek(&printed));
    buf_deinit(&printed);
    return status;
}

static Status args_add_list(Request *request, Value list)
{
    Status status = OK;
    for (uint32_t i = 0; list.kind == VALUE_ARRAY && i < list.count && !status; i++)
        status = arg_add_value(request, list.items[i]);
    return status;
}

/* /bin/sh -c LINE NAME: what follows are $1, $2, ... */
static Status shell_add(Request *request, Str line, Str behind, Str name)
{
    Buf whole;
    buf_init(&whole, PROCESS_REQUEST_SIZE_MAX);
    buf_str(&whole, line);
    buf_str(&whole, behind);
    const Str parts[] = { STR("/bin/sh"), STR("-c"), buf_peek(&whole), name };
    Status status = buf_overflowed(&whole) ? error_set(&request->error, ERR_LIMIT, "its command is too long") : OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !status; i++) status = arg_add(request, parts[i]);
    buf_deinit(&whole);
    return status;
}

static Status shell_args(Request *request, const Attempt *attempt)
{
    const Value *command = attempt->input.kind == VALUE_STRING ? &attempt->input : value_get_text(attempt->input, "command");
    if (!command) command = value_get_text(attempt->input, "script");
    if (command && command->kind == VALUE_STRING)
        return shell_add(request, value_text(*command), STR(""), STR("shell"));
    return command ? args_add_list(request, *command) : OK;
}

static Status args_write(Request *request, const Attempt *attempt)
{
    const Value *command = value_get_text(attempt->settings, "command");
    Status status = OK;
    if (command && command->kind == VALUE_STRING)
        status = shell_add(request, value_text(*command), STR(" \"$@\""), attempt->runner);
    else if (command) status = args_add_list(request, *command);
    else if (str_is(attempt->runner, STR("shell"))) status = shell_args(request, attempt);
    else {
        request->cause = CAUSE_PERMANENT;
        return error_set(&request->error, ERR_INVALID, "the runner %.*s has no `command` in runners.yaml",
                         STR_ARG(attempt->runner));
    }
    if (!status) status = args_add_list(request, attempt->args);
    if (status || request->spawn.arg_count > 0) return status;
    return error_set(&request->error, ERR_INVALID, "there is nothing to run: give `input.command`, `input.script` or `args`");
}

/* --- variables --------------------------------------------------------------------------------------------------- */

static Status variable_add(Request *request, Str name, Str value)
{
    buf_str(&request->texts, name);
    buf_char(&request->texts, '=');
    return text_add(request, &request->spawn.variable_count, value, "its variables");
}

static Status variable_pass(Request *request, Str name)
{
    char copy[NAME_SIZE_MAX + 1];
    if (name.len > NAME_SIZE_MAX)
        return error_set(&request->error, ERR_LIMIT, "`env`: a name exceeds NAME_SIZE_MAX (%u bytes)", NAME_SIZE_MAX);
    memcpy(copy, name.ptr, name.len);
    copy[name.len] = '\0';
    const char *value = getenv(copy);
    return value ? variable_add(request, name, str_of(value)) : OK;
}

/* One of `env`: a name to pass on, or with a value. What maestro itself says is not to be contradicted. */
static Status variable_declared(Request *request, Str name, const Str *value)
{
    if (str_starts(name, STR("MAESTRO_")))
        return error_set(&request->error, ERR_INVALID, "`env`: %.*s is maestro's own to set", STR_ARG(name));
    if (name.len == 0 || memchr(name.ptr, '=', name.len))
        return error_set(&request->error, ERR_INVALID, "`env`: '%.*s' is no name of a variable", STR_ARG(name));
    return value ? variable_add(request, name, *value) : variable_pass(request, name);
}

/* `env` is a list of names to pass on or NAME=value, or a mapping of names to values. */
static Status variables_declared(Request *request, const Value *env)
{
    Status status = OK;
    for (uint32_t i = 0; env && env->kind == VALUE_ARRAY && i < env->count && !status; i++) {
        if (env->items[i].kind != VALUE_STRING)
            return error_set(&request->error, ERR_INVALID, "`env`: expected names of variables");
        Str item = value_text(env->items[i]);
        size_t equals = str_find(item, '=', 0);
        Str value = str_slice(item, equals + 1, item.len);
        status = variable_declared(request, str_slice(item, 0, equals), equals < item.len ? &value : NULL);
    }
    for (uint32_t i = 0; env && env->kind == VALUE_OBJECT && i < env->count && !status; i++) {
        Str name = value_text(env->members[i].key), value = value_text(env->members[i].value);
        if (env->members[i].value.kind != VALUE_STRING)
            return error_set(&request->error, ERR_INVALID, "`env`: expected a text for '%.*s'", STR_ARG(name));
        status = variable_declared(request, name, &value);
    }
    return status;
}

/* Of equal names programs take the first or the last: there are to be none. */
static bool is_declared(const Value *env, Str name)
{
    if (env && env->kind == VALUE_OBJECT) return value_get(*env, name) != NULL;
    for (uint32_t i = 0; env && env->kind == VALUE_ARRAY && i < env->count; i++) {
        Str item = env->items[i].kind == VALUE_STRING ? value_text(env->items[i]) : STR("");
        if (str_is(str_slice(item, 0, str_find(item, '=', 0)), name)) return true;
    }
    return false;
}

/* Values that are too large for a variable are on standard input alone. */
static Status variable_add_json(Request *request, Str name, Value value)
{
    Buf printed;
    buf_init(&printed, PROCESS_VARIABLE_SIZE_MAX);
    Error ignored;
    Status status = json_print(&printed, value, JSON_COMPACT, &ignored) ? OK : variable_add(request, name, buf_peek(&printed));
    buf_deinit(&printed);
    return status;
}

/* Where it begins: in the directory that its runner's settings name, which may be below that of its run; else in that one. */
static Status directory_add(Request *request, const Attempt *attempt)
{
    const Value *own = setting(attempt, "directory");
    Str directory = own && own->kind == VALUE_STRING ? value_text(*own) : attempt->directory;
    if (!directory.len) return OK;
    char path[PATH_MAX];
    if (directory.ptr != attempt->directory.ptr && directory.ptr[0] != '/' && attempt->directory.len) {
        Buf joined = buf_on(path, sizeof path);
        buf_str(&joined, attempt->directory);
        buf_char(&joined, '/');
        buf_str(&joined, directory);
        if (buf_overflowed(&joined)) return error_set(&request->error, ERR_LIMIT, "the name of its directory is too long");
        directory = buf_peek(&joined);
    }
    uint32_t ignored = 0;
    request->spawn.has_directory = true;
    return text_add(request, &ignored, directory, "its directory");
}

static Status variables_write(Request *request, const Attempt *attempt)
{
    static const Str passed[] = { STR_INIT("PATH"), STR_INIT("HOME"), STR_INIT("LANG"), STR_INIT("TZ") };
    const Value *env = setting(attempt, "env");
    Status status = variables_declared(request, env);
    for (size_t i = 0; i < sizeof passed / sizeof *passed && !status; i++)
        if (!is_declared(env, passed[i])) status = variable_pass(request, passed[i]);

    char number[2][24];
    Buf count = buf_on(number[0], sizeof number[0]), deadline = buf_on(number[1], sizeof number[1]);
    buf_u64(&count, attempt_number(attempt->id.attempt));
    if (attempt->deadline_ms) buf_i64(&deadline, attempt->deadline_ms);
    const struct { Str name, value; } texts[] = {
        { STR("MAESTRO_RUN"), attempt->run_id },          { STR("MAESTRO_TENANT"), attempt->tenant },
        { STR("MAESTRO_DEFINITION"), attempt->definition }, { STR("MAESTRO_STEP"), attempt->step_id },
        { STR("MAESTRO_RUNNER"), attempt->runner },       { STR("MAESTRO_ATTEMPT"), buf_peek(&count) },
        { STR("MAESTRO_IDEMPOTENCY_KEY"), attempt->key }, { STR("MAESTRO_DEADLINE"), buf_peek(&deadline) },
        { STR("MAESTRO_TRACEPARENT"), attempt->traceparent }, { STR("MAESTRO_TRACESTATE"), attempt->tracestate },
        { STR("MAESTRO_OUTPUT"), str_of(request->output_path) },
        { STR("MAESTRO_EVENTS"), STR("3") },              { STR("MAESTRO_ACKS"), STR("4") },
    };
    static_assert(PROCESS_EVENTS_FD == 3 && PROCESS_ACKS_FD == 4, "the numbers that programs are told");
    for (size_t i = 0; i < sizeof texts / sizeof *texts && !status; i++)
        status = variable_add(request, texts[i].name, texts[i].value);
    if (!status && attempt->server.len) status = variable_add(request, STR("MAESTRO_SERVER"), attempt->server);
    if (!status && attempt->credential.len) status = variable_add(request, STR("MAESTRO_TOKEN"), attempt->credential);
    const struct { Str name; Value value; } values[] = {
        { STR("MAESTRO_INPUT"), attempt->input }, { STR("MAESTRO_PARAMS"), attempt->params },
        { STR("MAESTRO_CONTEXT"), attempt->context },
    };
    for (size_t i = 0; i < sizeof values / sizeof *values && !status; i++)
        status = variable_add_json(request, values[i].name, values[i].value);

    return status ? status : directory_add(request, attempt);
}

/* --- limits ------------------------------------------------------------------------------------------------------ */

/* A plan has runtime_ms; what was given by hand has a duration as authors write it. */
static int64_t runtime_ms(Value resources)
{
    int64_t ms = value_get_int(resources, "runtime_ms", 0);
    if (ms <= 0 && !duration_read(value_get_string(resources, "runtime", STR("")), &ms)) ms = 0;
    return ms > 0 ? ms : 0;
}

/* Whole cores times the longest time: only both together bound processor time. */
static uint64_t cpu_s(Value resources, int64_t ms)
{
    const Value *cpu = value_get_text(resources, "cpu");
    if (ms == 0 || !cpu || !value_is_number(*cpu)) return 0;
    int64_t cores = 1;
    while (cores < CORE_COUNT_MAX && number_compare(*cpu, value_int(cores)) > 0) cores++;
    return (uint64_t)((ms + 999) / 1000 * cores);
}

static void limits_read(Request *request, const Attempt *attempt)
{
    int64_t memory_mb = value_get_int(attempt->resources, "memory_mb", 0);
    if (memory_mb > 0) request->spawn.memory_size_max = (uint64_t)memory_mb << 20;
    int64_t runtime = runtime_ms(attempt->resources);
    request->spawn.cpu_s_max = cpu_s(attempt->resources, runtime);
    request->left_ms = attempt_left_ms(attempt, INT64_MAX);
    if (runtime > 0 && runtime < request->left_ms) {
        request->left_ms = runtime;
        request->is_runtime = true;
    }
}
