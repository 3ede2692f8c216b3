#include "cli/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/server_order.h"
#include "cli/server_plan.h"
#include "cli/stand_ins.h"
#include "cli/typescript.h"
#include "lang/migrate.h"
#include "os/file.h"

#define CONFIG_SIZE_MAX (4u << 20)
#define PATH_SIZE_MAX 4096u

/* --- where things lie ------------------------------------------------------------------------------------------- */

/* "dir/name" with the directory of `path`; "name" where it has none. */
static void beside(const char *path, const char *name, char out[PATH_SIZE_MAX])
{
    const char *slash = strrchr(path, '/');
    snprintf(out, PATH_SIZE_MAX, "%.*s%s", slash ? (int)(slash - path) + 1 : 0, path, name);
}

/* $variable/rest, or $HOME/home_rest where the variable is not set; false where neither is. */
static bool in_home(const char *variable, const char *home_directory, const char *rest, char out[PATH_SIZE_MAX])
{
    const char *base = getenv(variable), *home = getenv("HOME");
    if (base && *base) snprintf(out, PATH_SIZE_MAX, "%s/%s", base, rest);
    else if (home && *home) snprintf(out, PATH_SIZE_MAX, "%s/%s/%s", home, home_directory, rest);
    else return false;
    return true;
}

/* The configuration that applies to the definition, or false where there is none. One that was named must exist. */
static bool find_config(const Args *args, const char *definition, char out[PATH_SIZE_MAX])
{
    const char *named = args_value(args, "runners");
    if (!named) named = getenv("MAESTRO_RUNNERS");
    if (named && *named) {
        snprintf(out, PATH_SIZE_MAX, "%s", named);
        return true;
    }
    beside(definition, "runners.yaml", out);
    if (file_exists(out)) return true;
    snprintf(out, PATH_SIZE_MAX, "runners.yaml");
    if (file_exists(out)) return true;
    if (in_home("XDG_CONFIG_HOME", ".config", "maestro/runners.yaml", out) && file_exists(out)) return true;
    snprintf(out, PATH_SIZE_MAX, "/etc/maestro/runners.yaml");
    return file_exists(out);
}

/* --- the catalog ------------------------------------------------------------------------------------------------ */

typedef void (*AddFile)(Catalog *catalog, Diagnostics *diagnostics, CatalogKind kind, const Node *root);

static void add_config(Catalog *catalog, Diagnostics *diagnostics, CatalogKind kind, const Node *root)
{
    (void)kind;
    catalog_add_config(catalog, diagnostics, root);
}

static ExitCode tell_mistakes(const Args *args, Diagnostics *diagnostics)
{
    if (!diagnostics->error_count) return EXIT_CODE_OK;
    diagnostics_sort(diagnostics);
    print_diagnostics(args, diagnostics);
    return EXIT_CODE_DATA;
}

ExitCode load_config(const Args *args, const char *path, const Type *type, Value *out)
{
    Diagnostics diagnostics;
    Error err;
    Node *root;
    Str text, file = arena_copy(args->arena, str_of(path));
    if (file_read(args->arena, path, CONFIG_SIZE_MAX, &text, &err)) return fail(&err);
    diagnostics_init(&diagnostics, args->arena, file, text);
    if (node_read(args->arena, text, text_format_of(file), &root, &err)) diagnose_error(&diagnostics, &err);
    else shape_check(&diagnostics, root, type);
    ExitCode code = tell_mistakes(args, &diagnostics);
    if (!code) *out = shape_value(args->arena, root, type);
    return code;
}

/* Reads a file of the configuration into the catalog; mistakes in it are printed and are a failure. */
static ExitCode add_text(const Args *args, Catalog *catalog, const char *name, Str text, AddFile add, CatalogKind kind)
{
    Diagnostics diagnostics;
    Error err;
    Node *root;
    Str file = arena_copy(args->arena, str_of(name));
    diagnostics_init(&diagnostics, args->arena, file, text);
    if (node_read(args->arena, text, text_format_of(file), &root, &err)) diagnose_error(&diagnostics, &err);
    else add(catalog, &diagnostics, kind, root);
    return tell_mistakes(args, &diagnostics);
}

static ExitCode add_file(const Args *args, Catalog *catalog, const char *path, AddFile add, CatalogKind kind)
{
    Str text;
    Error err;
    if (file_read(args->arena, path, CONFIG_SIZE_MAX, &text, &err)) return fail(&err);
    return add_text(args, catalog, path, text, add, kind);
}

/* The manifests of both groups below one directory. */
static ExitCode add_components(const Args *args, Catalog *catalog, const char *directory)
{
    for (unsigned kind = 0; kind < CATALOG_KIND_COUNT; kind++) {
        const char *group = catalog_group((CatalogKind)kind);
        char path[PATH_SIZE_MAX];
        Str *names;
        size_t count;
        Error err;
        if (!group) continue;
        snprintf(path, sizeof path, "%s/%s", directory, group);
        if (directory_list(args->arena, path, STR(".yaml"), &names, &count, &err)) return fail(&err);
        for (size_t i = 0; i < count; i++) {
            snprintf(path, sizeof path, "%s/%s/%.*s", directory, group, STR_ARG(names[i]));
            ExitCode code = add_file(args, catalog, path, catalog_add_component, (CatalogKind)kind);
            if (code) return code;
        }
    }
    return EXIT_CODE_OK;
}

static ExitCode add_all_components(const Args *args, Catalog *catalog, const char *definition)
{
    char path[PATH_SIZE_MAX];
    beside(definition, "components", path);
    ExitCode code = add_components(args, catalog, path);
    const char *list = getenv("MAESTRO_COMPONENTS");
    while (!code && list && *list) {
        size_t size = strcspn(list, ":");
        snprintf(path, sizeof path, "%.*s", (int)size, list);
        if (size) code = add_components(args, catalog, path);
        list += size + (list[size] == ':');
    }
    if (!code && in_home("XDG_DATA_HOME", ".local/share", "maestro/components", path))
        code = add_components(args, catalog, path);
    if (!code) code = add_components(args, catalog, "/usr/share/maestro/components");
    return code;
}

/* What is found beside `definition` or for everybody; false where there is no configuration at all. */
static bool add_found(const Args *args, const char *definition, Catalog *catalog, ExitCode *out_code)
{
    char path[PATH_SIZE_MAX];
    bool is_found = find_config(args, definition, path);
    *out_code = is_found ? add_file(args, catalog, path, add_config, CATALOG_RUNNER) : EXIT_CODE_OK;
    return is_found;
}

ExitCode load_catalog(const Args *args, const char *definition, const Catalog **out)
{
    Catalog *catalog = ARENA_NEW(args->arena, Catalog);
    ExitCode code;
    catalog_init(catalog, args->arena);
    if (!add_found(args, definition, catalog, &code)) {
        code = add_text(args, catalog, "built-in stand-ins", STR(STAND_INS), add_config, CATALOG_RUNNER);
        catalog->origin = STR("");
    }
    if (!code) code = add_all_components(args, catalog, definition);
    *out = catalog;
    return code;
}

ExitCode load_serving_catalog(const Args *args, const Catalog **out)
{
    Catalog *catalog = ARENA_NEW(args->arena, Catalog);
    ExitCode code;
    catalog_init(catalog, args->arena);
    if (!args_flag(args, "shell"))
        catalog_withhold_runner(catalog, STR("shell"), STR("it is off, since it runs anything as the user of this process; "
                                                           "'maestro server --shell' (shell: true in its --config) or 'maestro worker "
                                                           "--shell' turns it on"));
    (void)add_found(args, "", catalog, &code);
    if (!code) code = add_all_components(args, catalog, "");
    *out = catalog;
    return code;
}

/* --- definitions ------------------------------------------------------------------------------------------------ */

static ExitCode compile_text(const Args *args, Loaded *loaded, CompileOptions *options)
{
    options->catalog = loaded->catalog;
    loaded->format = options->format;
    if (loaded->is_servers) return server_compile(args, loaded->text, options, &loaded->compiled);
    compile(args->arena, loaded->text, options, &loaded->compiled);
    return EXIT_CODE_OK;
}

/* What the SDK's compiler makes of a .ts file; its mistakes are shown as those of any definition. */
static ExitCode compile_typescript(const Args *args, Loaded *out)
{
    TypeScript script;
    Str source = out->text;
    ExitCode code = typescript_read(args, out->path, out->catalog, &script);
    if (code) return code;
    if (script.mistakes) {
        diagnostics_init(&out->compiled.diagnostics, args->arena, str_of(out->path), source);
        typescript_diagnose(&script, &out->compiled.diagnostics);
        return EXIT_CODE_OK;
    }
    CompileOptions options = { .file = str_of(out->path), .format = TEXT_JSON, .source = source, .places = script.places };
    out->text = script.definition;
    return compile_text(args, out, &options);
}

static ExitCode load(const Args *args, const char *path, bool is_servers, Loaded *out)
{
    Error err;
    *out = (Loaded){ .path = path, .is_servers = is_servers };
    if (file_read(args->arena, path, DEFINITION_SIZE_MAX, &out->text, &err)) {
        if (err.status == ERR_LIMIT)
            error_set(&err, ERR_LIMIT, "%s: larger than DEFINITION_SIZE_MAX (%u bytes)", path, DEFINITION_SIZE_MAX);
        return fail(&err);
    }
    ExitCode code = is_servers && !typescript_is(path) ? EXIT_CODE_OK : load_catalog(args, path, &out->catalog);
    if (code) return code;
    if (typescript_is(path)) return compile_typescript(args, out);
    CompileOptions options = { .file = str_of(path), .format = text_format_of(str_of(path)) };
    return compile_text(args, out, &options);
}

ExitCode load_definition(const Args *args, const char *path, Loaded *out) { return load(args, path, /* is_servers= */ false, out); }

/* Where the conversion leaves nothing to decide; otherwise the definition stays refused as what it is. */
static ExitCode take_migrated(const Args *args, Loaded *loaded)
{
    ExitCode code = EXIT_CODE_OK;
    Diagnostics diagnostics;
    MigrateNotes notes;
    Buf yaml;
    diagnostics_init(&diagnostics, args->arena, str_of(loaded->path), loaded->text);
    buf_init(&yaml, DEFINITION_SIZE_MAX);
    migrate(args->arena, loaded->compiled.root, &diagnostics, &yaml, &notes);
    if (yaml.len && !diagnostics.error_count) {
        CompileOptions options = { .file = arena_format(args->arena, "%s (migrated)", loaded->path) };
        loaded->text = arena_copy(args->arena, buf_peek(&yaml));
        code = compile_text(args, loaded, &options);
        Diagnostic *diagnostic = diagnose(&loaded->compiled.diagnostics, SEVERITY_WARNING, NULL,
                                          "a runbook of the old format, taken as it would be migrated");
        diagnostic_help(&loaded->compiled.diagnostics, diagnostic, "maestro migrate %s -o NEW.yaml", loaded->path);
        diagnostics_sort(&loaded->compiled.diagnostics);
    }
    buf_deinit(&yaml);
    return code;
}

static ExitCode load_new(const Args *args, const char *path, bool is_servers, Loaded *out)
{
    ExitCode code = load(args, path, is_servers, out);
    return !code && out->compiled.is_old_runbook && out->compiled.root ? take_migrated(args, out) : code;
}

ExitCode load_current(const Args *args, const char *path, Loaded *out) { return load_new(args, path, /* is_servers= */ false, out); }

void print_diagnostics(const Args *args, const Diagnostics *diagnostics)
{
    Buf buf;
    buf_init(&buf, 64u << 20);
    diagnostics_print(diagnostics, args_color(args, STDERR_FILENO), &buf);
    print_err_tinted(&buf);
    buf_deinit(&buf);
}

static ExitCode load_right(const Args *args, const char *path, bool is_servers, Loaded *out)
{
    ExitCode code = load_new(args, path, is_servers, out);
    if (code) return code;
    print_diagnostics(args, &out->compiled.diagnostics);
    if (out->compiled.is_config) {
        print_note("maestro: %s is a configuration, no definition: there is nothing to run in it\n", path);
        return EXIT_CODE_DATA;
    }
    return out->compiled.is_valid ? EXIT_CODE_OK : EXIT_CODE_DATA;
}

ExitCode load_plan(const Args *args, const char *path, Loaded *out) { return load_right(args, path, /* is_servers= */ false, out); }
ExitCode load_plan_to_run(const Args *args, const char *path, Loaded *out) { return load_right(args, path, server_is_meant(args), out); }
