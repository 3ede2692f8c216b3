#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "cli/load.h"
#include "lang/migrate.h"
#include "os/file.h"

static const Option options[] = {
    { "output", 'o', "FILE", NULL, "Writes the result to this file instead of standard output." },
    { "force", 'f', NULL, NULL, "Overwrites the file if it exists." },
    { NULL },
};

/* The file to write, or NULL for standard output. */
static const char *output_path(const Args *args)
{
    const char *path = args_value(args, "output");
    return path && strcmp(path, "-") != 0 ? path : NULL;
}

static ExitCode write_result(const Args *args, const Buf *yaml)
{
    const char *path = output_path(args);
    Error err;
    if (!path) {
        print_file(yaml);
        return EXIT_CODE_OK;
    }
    return file_write(path, buf_peek(yaml), &err) ? fail(&err) : EXIT_CODE_OK;
}

/* Whether the result validates here; if it does not although nothing was left to decide, what is wrong with it. */
static ExitCode check_result(const Args *args, const Loaded *loaded, const Diagnostics *diagnostics, const Buf *yaml)
{
    if (diagnostics->error_count) {
        print_note(
            "maestro: the result is not finished: decide what its comments marked DECIDE ask, then 'maestro validate' it\n");
        return EXIT_CODE_DATA;
    }
    const char *path = output_path(args);
    Compiled compiled;
    CompileOptions compile_options = { .file = path ? str_of(path) : STR("(result)"),
                                       .format = TEXT_YAML,
                                       .catalog = loaded->catalog };
    compile(args->arena, buf_peek(yaml), &compile_options, &compiled);
    if (compiled.is_valid) return EXIT_CODE_OK;
    print_diagnostics(args, &compiled.diagnostics);
    print_note("maestro: the result does not validate here\n");
    return EXIT_CODE_DATA;
}

static ExitCode convert(const Args *args, const Loaded *loaded, Buf *yaml)
{
    Diagnostics diagnostics;
    MigrateNotes notes;
    diagnostics_init(&diagnostics, args->arena, str_of(loaded->path), loaded->text);
    migrate(args->arena, loaded->compiled.root, &diagnostics, yaml, &notes);
    print_diagnostics(args, &diagnostics);
    if (yaml->len == 0) return EXIT_CODE_DATA;
    ExitCode code = write_result(args, yaml);
    if (code) return code;
    for (uint32_t i = 0; i < notes.count; i++) print_note("maestro: note: %.*s\n", STR_ARG(notes.items[i]));
    return check_result(args, loaded, &diagnostics, yaml);
}

static ExitCode run(const Args *args)
{
    const char *path = output_path(args);
    Loaded loaded;
    if (path && file_exists(path) && !args_flag(args, "force")) {
        print_note("maestro: %s exists already; --force overwrites it\n", path);
        return EXIT_CODE_USAGE;
    }
    ExitCode code = load_definition(args, args->operands[0], &loaded);
    if (code) return code;
    if (!loaded.compiled.root) {
        print_diagnostics(args, &loaded.compiled.diagnostics);
        return EXIT_CODE_DATA;
    }
    Buf yaml;
    buf_init(&yaml, DEFINITION_SIZE_MAX);
    code = convert(args, &loaded, &yaml);
    buf_deinit(&yaml);
    return code;
}

const Verb command_migrate = {
    .name = "migrate",
    .operands = "FILE",
    .operand_count_min = 1,
    .operand_count_max = 1,
    .summary = "Converts a runbook of the old format to the new one.",
    .doc =
        "Reads a runbook with the keys connectors, analysers and execution and writes one of artifacts, as YAML. What a\n"
        "person must decide is a comment that begins with DECIDE in the result, and a warning that points at the place in\n"
        "the old file. The exit code is 65 where the result does not validate before something is decided.",
    .examples =
        "  maestro migrate old.yaml > new.yaml\n  maestro migrate old.yaml -o new.yaml && maestro validate new.yaml",
    .options = options,
    .run = run,
};
