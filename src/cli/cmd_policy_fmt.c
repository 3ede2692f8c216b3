#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/line_diff.h"
#include "cli/policy_errors.h"
#include "os/file.h"
#include "rego/format.h"
#include "rego/parser.h"

#define FORMATTED_SIZE_MAX (64u << 20)      /* of one module: indentation may multiply a text that is all brackets */

static const Option options[] = {
    { "write", 'w', NULL, NULL, "Replaces each file that is not formatted." },
    { "list", 'l', NULL, NULL, "Prints the names of files that are not formatted, and nothing else." },
    { "diff", 'd', NULL, NULL, "Prints what would change." },
    { "fail", 0, NULL, NULL, "The exit code is 1 where a file is not formatted." },
    { "v0", 0, NULL, NULL, "Reads and writes the old syntax, before Rego v1." },
    { NULL },
};

typedef struct Formatting {
    const Args *args;
    unsigned changed_count, wrong_count;
    ExitCode code;
} Formatting;

/* --- one module --------------------------------------------------------------------------------------------------- */

static bool format_text(Formatting *formatting, Str name, Str text, Buf *out)
{
    const Args *args = formatting->args;
    PolicySet set;
    RegoErrors errors;
    RegoModule *module;
    RegoParseOptions parse = { .file = name, .v0 = args_flag(args, "v0") };
    rego_errors_init(&errors, args->arena);
    if (rego_parse_module(args->arena, text, &parse, &module, &errors)) {
        policy_set_init(&set, args->arena);
        policy_set_add(&set, name, text);
        policy_errors_print(args, &set, STR(""), &errors);
        return false;
    }
    rego_format_module(args->arena, module, out);
    if (buf_overflowed(out)) {
        fprintf(stderr, "maestro: %.*s: larger than %u bytes when formatted\n", STR_ARG(name), FORMATTED_SIZE_MAX);
        return false;
    }
    /* A file that is about to be replaced is worth a second look. */
    if (rego_parse_module(args->arena, buf_peek(out), &parse, &module, &errors) == OK) return true;
    fprintf(stderr, "maestro: %.*s: left as it is: what would be written does not parse; please report this\n",
            STR_ARG(name));
    return false;
}

/* What the options ask for: a list, a difference, the new file, or the new text. */
static ExitCode put_text(Formatting *formatting, const char *path, Str text, const Buf *formatted)
{
    const Args *args = formatting->args;
    bool is_changed = !str_is(text, buf_peek(formatted));
    formatting->changed_count += is_changed;
    if (args_flag(args, "list")) {
        if (is_changed) printf("%s\n", path);
        return EXIT_CODE_OK;
    }
    if (args_flag(args, "diff")) {
        Buf diff;
        buf_init(&diff, 4 * FORMATTED_SIZE_MAX);
        bool is_colored = args_color(args, STDOUT_FILENO);
        if (is_changed) line_diff(&diff, args->arena, str_of(path), text, buf_peek(formatted), is_colored);
        print_tinted(&diff);
        buf_deinit(&diff);
        return EXIT_CODE_OK;
    }
    if (!args_flag(args, "write") || strcmp(path, "-") == 0) {
        print_file(formatted);
        return EXIT_CODE_OK;
    }
    Error err;
    return is_changed && file_write(path, buf_peek(formatted), &err) ? fail(&err) : EXIT_CODE_OK;
}

static void note_code(Formatting *formatting, ExitCode code)
{
    if (!code) return;
    formatting->wrong_count++;
    if (!formatting->code) formatting->code = code;
}

static void format_file(Formatting *formatting, const char *path)
{
    Str text;
    Error err;
    Buf formatted;
    if (file_read(formatting->args->arena, path, REGO_TEXT_SIZE_MAX, &text, &err)) {
        note_code(formatting, fail(&err));
        return;
    }
    buf_init(&formatted, FORMATTED_SIZE_MAX);
    Str name = strcmp(path, "-") == 0 ? STR("standard input") : str_of(path);
    bool is_fine = format_text(formatting, name, text, &formatted);
    note_code(formatting, is_fine ? put_text(formatting, path, text, &formatted) : EXIT_CODE_DATA);
    buf_deinit(&formatted);
}

/* --- files and directories ---------------------------------------------------------------------------------------- */

static void format_directory(Formatting *formatting, const char *path)
{
    Str *names, root = str_of(path);
    while (root.len > 1 && root.ptr[root.len - 1] == '/') root.len--;
    size_t count;
    Error err;
    if (directory_walk(formatting->args->arena, path, POLICY_FILE_COUNT_MAX, &names, &count, &err)) {
        note_code(formatting, fail(&err));
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (policy_is_rego(names[i]))
            format_file(formatting,
                        arena_format(formatting->args->arena, "%.*s/%.*s", STR_ARG(root), STR_ARG(names[i])).ptr);
}

static ExitCode run(const Args *args)
{
    Formatting formatting = { .args = args };
    for (unsigned i = 0; i < args->operand_count; i++) {
        const char *path = args->operands[i];
        if (file_is_directory(path)) format_directory(&formatting, path);
        else format_file(&formatting, path);
    }
    if (formatting.code) return formatting.code;
    return args_flag(args, "fail") && formatting.changed_count ? EXIT_CODE_RUN_FAILED : EXIT_CODE_OK;
}

const Verb command_policy_fmt = {
    .name = "policy fmt", .operands = "PATH...", .operand_count_min = 1, .operand_count_max = ARGS_OPERAND_COUNT_MAX,
    .summary = "Formats policies in the style that Rego authors share.",
    .doc = "Reads modules, of a directory every *.rego below it, of - standard input, and prints them formatted: tabs,\n"
           "one expression a line, comments where they were. What was formatted is not changed again. With --write the\n"
           "files are replaced. The exit code is 65 where one cannot be read as Rego, and 1 with --fail where one is not\n"
           "formatted.",
    .examples = "  maestro policy fmt -w policies\n  maestro policy fmt --diff --fail policies",
    .options = options, .run = run,
};
