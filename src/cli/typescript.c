#include "cli/typescript.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/print.h"
#include "os/capture.h"
#include "os/file.h"

#define COMPILER "dist/compile.js"

bool typescript_is(const char *path)
{
    return str_ends(str_of(path), STR(".ts"));
}

/* --- what is needed ----------------------------------------------------------------------------------------------- */

/* The directory of this program, without the '/' behind it; "." where the system does not say. */
static void own_directory(char out[PATH_MAX])
{
    ssize_t size = readlink("/proc/self/exe", out, PATH_MAX - 1);
    if (size < 0) size = 0;
    out[size] = '\0';
    char *slash = strrchr(out, '/');
    if (slash) *slash = '\0';
    else snprintf(out, PATH_MAX, ".");
}

static bool find_compiler(char out[PROCESS_PATH_SIZE_MAX])
{
    static const char *const places[] = { "../share/maestro/sdk", "../sdk/typescript" };
    const char *named = getenv("MAESTRO_SDK");
    if (named && *named) {
        snprintf(out, PROCESS_PATH_SIZE_MAX, "%s/" COMPILER, named);
        return file_exists(out);
    }
    char own[PATH_MAX];
    own_directory(own);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int size = snprintf(out, PROCESS_PATH_SIZE_MAX, "%s/%s/" COMPILER, own, places[i]);
        if (size > 0 && (size_t)size < PROCESS_PATH_SIZE_MAX && file_exists(out)) return true;
    }
    return false;
}

static ExitCode refuse_without_sdk(const char *path)
{
    const char *named = getenv("MAESTRO_SDK");
    print_note("maestro: %s: a .ts definition is compiled by Maestro's TypeScript SDK, which is not there%s%s.\n"
               "It is made by 'npm ci && npm run build' in sdk/typescript of Maestro's sources; MAESTRO_SDK names the folder\n"
               "where it lies elsewhere. The same definition as YAML or JSON needs nothing.\n",
               path, named && *named ? ": MAESTRO_SDK is " : "", named && *named ? named : "");
    return EXIT_CODE_UNAVAILABLE;
}

static ExitCode refuse_without_node(const char *path, const Error *err)
{
    print_note("maestro: %s: a .ts definition is compiled under Node.js: %s.\n"
               "Install Node.js 18 or later (on Debian: apt install nodejs npm), or name it by MAESTRO_NODE.\n",
               path, err->text);
    return EXIT_CODE_UNAVAILABLE;
}

/* --- the compiler ------------------------------------------------------------------------------------------------- */

static char *variable(Arena *arena, const char *name)
{
    const char *value = getenv(name);
    return (char *)arena_format(arena, "%s=%s", name, value ? value : "").ptr;
}

/* node --max-old-space-size=... compile.js FILE --window NAME ... */
static char **arguments(const Args *args, const char *compiler, const char *path, const Catalog *catalog)
{
    const char *node = getenv("MAESTRO_NODE");
    size_t window_count = catalog->counts[CATALOG_WINDOWS], count = 0;
    char **list = ARENA_ARRAY(args->arena, char *, 5 + 2 * window_count);
    list[count++] = (char *)(node && *node ? node : "node");
    list[count++] = (char *)"--max-old-space-size=2048";
    list[count++] = (char *)compiler;
    list[count++] = (char *)path;
    for (size_t i = 0; i < window_count; i++) {
        list[count++] = (char *)"--window";
        list[count++] = (char *)arena_copy(args->arena, catalog->entries[CATALOG_WINDOWS][i].name).ptr;
    }
    list[count] = NULL;
    return list;
}

static ExitCode refuse_failed(const char *path, const Captured *captured)
{
    Str text = captured->err;
    while (text.len && text.ptr[text.len - 1] == '\n') text.len--;
    print_note("maestro: %s: the TypeScript SDK's compiler ended with status %d: %.*s\n", path, captured->exit_status,
               STR_ARG(text));
    return captured->exit_status == EXIT_CODE_UNAVAILABLE ? EXIT_CODE_UNAVAILABLE : EXIT_CODE_INTERNAL;
}

/* Success is two lines, the definition and its places; mistakes are one. */
static Status take(const Args *args, const Captured *captured, TypeScript *out, Error *err)
{
    Node *root;
    size_t end = str_find(captured->out, '\n', 0);
    Str first = str_slice(captured->out, 0, end);
    if (captured->exit_status == EXIT_CODE_DATA) {
        Status status = node_read(args->arena, first, TEXT_JSON, &root, err);
        if (!status) out->mistakes = root;
        return status;
    }
    Str rest = end < captured->out.len ? str_slice(captured->out, end + 1, captured->out.len) : STR("");
    Status status = node_read(args->arena, rest, TEXT_JSON, &root, err);
    if (status) return status;
    out->definition = first;
    out->places = root;
    return OK;
}

ExitCode typescript_read(const Args *args, const char *path, const Catalog *catalog, TypeScript *out)
{
    static const CaptureLimits limits = { SDK_COMPILE_MS_MAX, SDK_OUTPUT_SIZE_MAX, SDK_MESSAGE_SIZE_MAX };
    char compiler[PROCESS_PATH_SIZE_MAX];
    char *variables[] = { variable(args->arena, "PATH"), variable(args->arena, "HOME"), NULL };
    Captured captured;
    Error err;
    *out = (TypeScript){ 0 };
    if (!find_compiler(compiler)) return refuse_without_sdk(path);
    ProcessSpec spec = { .args = arguments(args, compiler, path, catalog), .variables = variables,
                         .search_path = getenv("PATH"), .cpu_s_max = SDK_COMPILE_MS_MAX / 1000 };
    Status status = capture_run(args->arena, &spec, &limits, &captured, &err);
    if (status == ERR_NOT_FOUND || status == ERR_DENIED || status == ERR_INVALID) return refuse_without_node(path, &err);
    if (!status && captured.exit_status != EXIT_CODE_OK && captured.exit_status != EXIT_CODE_DATA)
        return refuse_failed(path, &captured);
    if (!status) status = take(args, &captured, out, &err);
    if (!status) return EXIT_CODE_OK;
    print_note("maestro: %s: the TypeScript SDK's compiler: %s\n", path, err.text);
    return exit_code_of(status);
}

/* --- mistakes ----------------------------------------------------------------------------------------------------- */

static uint32_t number_of(const Node *mistake, const char *key)
{
    const Node *node = node_get(mistake, key);
    uint64_t number;
    if (!node || node->kind != NODE_NUMBER || !str_to_u64(node_text(node), &number)) return 0;
    return number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
}

void typescript_diagnose(const TypeScript *script, Diagnostics *diagnostics)
{
    const Node *mistakes = script->mistakes;
    for (uint32_t i = 0; mistakes->kind == NODE_LIST && i < mistakes->count; i++) {
        const Node *message = node_get(&mistakes->items[i], "message");
        Node at = { .line = number_of(&mistakes->items[i], "line"), .column = number_of(&mistakes->items[i], "column"),
                    .width = number_of(&mistakes->items[i], "width") };
        Str text = message && message->kind == NODE_TEXT ? node_text(message) : STR("a mistake without words");
        diagnose(diagnostics, SEVERITY_ERROR, at.line ? &at : NULL, "%.*s", STR_ARG(text));
    }
    diagnostics_sort(diagnostics);
}
