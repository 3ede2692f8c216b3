#include <string.h>

#include "cli/command.h"
#include "lang/suggest.h"

static const Option options[] = {
    { "man", 0, NULL, NULL, "Prints the manual page, in the form that man reads." },
    { NULL },
};

/* --- the manual page: the same rows in another form ------------------------------------------------------------- */

/* Text for roff: a backslash, and a point or quote at the start of a line, would be read as commands. */
static void roff_text(Buf *out, const char *text)
{
    bool at_start = true;
    for (; *text; text++) {
        if (at_start && (*text == '.' || *text == '\'')) buf_text(out, "\\&");
        if (*text == '\\') buf_text(out, "\\e");
        else if (*text == '-') buf_text(out, "\\-");
        else buf_char(out, *text);
        at_start = *text == '\n';
    }
}

static void roff_options(Buf *out, const Option *rows)
{
    for (const Option *option = rows; option && option->name; option++) {
        buf_text(out, ".TP\n");
        if (option->letter) buf_format(out, "\\fB\\-%c\\fR, ", option->letter);
        buf_text(out, "\\fB\\-\\-");
        roff_text(out, option->name);
        buf_format(out, "\\fR%s%s%s%s\n", option->value ? " \\fI" : "", option->value ? option->value : "",
                   option->value ? "\\fR" : "", "");
        roff_text(out, option->doc);
        buf_char(out, '\n');
    }
}

static void roff_command(Buf *out, const Verb *command)
{
    char storage[1024];
    Buf usage = buf_on(storage, sizeof storage - 1);
    command_usage(command, &usage);
    buf_char(&usage, '\0');
    buf_text(out, ".SS ");
    roff_text(out, usage.ptr);
    buf_char(out, '\n');
    roff_text(out, command->doc);
    buf_char(out, '\n');
    roff_options(out, command->options);
    if (!command->examples) return;
    buf_text(out, ".PP\nExamples:\n.nf\n");
    roff_text(out, command->examples);
    buf_text(out, "\n.fi\n");
}

static void manual(Buf *out)
{
    buf_text(out,
             ".TH MAESTRO 1 \"\" \"maestro " MAESTRO_VERSION
             "\" \"User commands\"\n.SH NAME\nmaestro \\- runs workflows durably\n"
             ".SH SYNOPSIS\n\\fBmaestro\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]... [\\fIOPERAND\\fR]...\n.SH COMMANDS\n");
    const Verb *command;
    for (size_t i = 0; (command = command_at(i)); i++) roff_command(out, command);
    buf_text(out, ".SH OPTIONS OF EVERY COMMAND\n");
    roff_options(out, common_options);
    buf_text(out, ".SH EXIT STATUS\n");
    for (size_t i = 0; i < EXIT_CODE_COUNT; i++) buf_format(out, ".TP\n%d\n%s\n", exit_meanings[i].code, exit_meanings[i].text);
    buf_text(
        out,
        ".SH ENVIRONMENT\n.TP\nMAESTRO_RUNNERS\nThe file that registers runners, policies, windows and calendars.\n"
        ".TP\nMAESTRO_COMPONENTS\nDirectories of plug\\-in components, with colons between them.\n.TP\nNO_COLOR\nNo colour, if "
        "it is set.\n");
}

/* --- help ------------------------------------------------------------------------------------------------------- */

/* `owner` is the command whose own command was asked for, or NULL. */
static ExitCode refuse_verb(const Verb *owner, const char *verb)
{
    Suggestion suggestion = suggest_begin(str_of(verb));
    for (const Verb *const *command = owner ? owner->commands : commands; command && *command; command++)
        suggest_offer(&suggestion, str_of(command_word(*command)));
    const char *before = owner ? owner->name : "", *space = owner ? " " : "";
    print_note("maestro: there is no command '%s%s%s'", before, space, verb);
    if (suggestion.best.len) print_note("; did you mean '%s%s%.*s'?", before, space, STR_ARG(suggestion.best));
    print_note("\nTry 'maestro help%s%s'.\n", space, before);
    return EXIT_CODE_USAGE;
}

static ExitCode run(const Args *args)
{
    const Verb *command = NULL;
    for (unsigned i = 0; i < args->operand_count; i++) {
        const Verb *found = command_find(i ? command->commands : commands, str_of(args->operands[i]));
        if (!found) return refuse_verb(command, args->operands[i]);
        command = found;
    }
    Buf out;
    buf_init(&out, 1u << 20);
    if (args_flag(args, "man")) manual(&out);
    else if (command) command_help(command, &out);
    else program_help(&out);
    print_out(&out);
    buf_deinit(&out);
    return EXIT_CODE_OK;
}

const Verb command_help_verb = {
    .name = "help", .operands = "[COMMAND]...", .operand_count_max = 2,
    .summary = "Tells about the commands, or about one of them.",
    .doc = "Without a command it lists all of them.",
    .options = options, .run = run,
};
