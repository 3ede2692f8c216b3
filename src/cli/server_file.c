#include "cli/server_file.h"

#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "cli/load.h"
#include "cli/workplace.h"
#include "lang/shapes.h"

typedef enum Meaning { PLAIN, A_FILE, A_STORE } Meaning;

/* Which option a key is; an inner key is below its outer one. */
static const struct { const char *outer, *inner, *option; Meaning meaning; } rows[] = {
    { "listen", NULL, "listen", PLAIN },
    { "store", NULL, "store", A_STORE },
    { "runners", NULL, "runners", A_FILE },
    { "policy", NULL, "policy", A_FILE },
    { "public", NULL, "public", PLAIN },
    { "access", NULL, "access", A_FILE },
    { "shell", NULL, "shell", PLAIN },
    { "rate", NULL, "rate", PLAIN },
    { "tenant_rate", NULL, "tenant-rate", PLAIN },
    { "max_executions", NULL, "max-executions", PLAIN },
    { "max_memory", NULL, "max-memory", PLAIN },
    { "tls", "cert", "tls-cert", A_FILE },
    { "tls", "key", "tls-key", A_FILE },
    { "log", "level", "log-level", PLAIN },
    { "log", "requests", "log-requests", PLAIN },
    { "otlp", NULL, "otlp", PLAIN },
    { "cell", "name", "cell", PLAIN },
    { "cell", "central", "central", PLAIN },
    { "cell", "executor", "executor", PLAIN },
    { "cell", "queues", "queue", PLAIN },
    { "cell", "capacity", "capacity", PLAIN },
    { "cell", "token_file", "token-file", A_FILE },
};

static Str in_folder(Arena *arena, const char *file, Str path)
{
    const char *slash = strrchr(file, '/');
    if (!slash || !path.len || path.ptr[0] == '/') return path;
    return arena_format(arena, "%.*s%.*s", (int)(slash - file) + 1, file, STR_ARG(path));
}

static Str text_of(Arena *arena, const char *file, Value value, Meaning meaning)
{
    if (value.kind == VALUE_BOOL) return STR("");
    if (value.kind != VALUE_STRING) return arena_format(arena, "%lld", (long long)value.integer);
    Str text = value_text(value);
    bool is_sqlite = meaning == A_STORE && str_starts(text, STR("sqlite:"));
    if (is_sqlite) return arena_format(arena, "sqlite:%.*s", STR_ARG(in_folder(arena, file, str_slice(text, 7, text.len))));
    return meaning == A_FILE || (meaning == A_STORE && !store_has_kind(text)) ? in_folder(arena, file, text) : text;
}

static void add(Args *out, const char *file, const char *option, Value value, Meaning meaning)
{
    if (value.kind == VALUE_BOOL && !value_is_true(value)) return;
    args_add(out, option, arena_copy(out->arena, text_of(out->arena, file, value, meaning)).ptr);
}

ExitCode server_file_read(const Args *args, Args *out)
{
    const char *file = args_value(args, "config");
    Value config;
    *out = *args;
    if (!file) return EXIT_CODE_OK;
    ExitCode code = load_config(args, file, &type_server, &config);
    for (size_t i = 0; !code && i < sizeof rows / sizeof *rows; i++) {
        const Value *value = value_get_text(config, rows[i].outer);
        if (value && rows[i].inner) value = value_get_text(*value, rows[i].inner);
        if (!value || value->kind == VALUE_NULL || args_value(args, rows[i].option)) continue;
        if (value->kind != VALUE_ARRAY) add(out, file, rows[i].option, *value, rows[i].meaning);
        for (uint32_t j = 0; value->kind == VALUE_ARRAY && j < value->count; j++) add(out, file, rows[i].option, value->items[j], rows[i].meaning);
    }
    return code;
}
