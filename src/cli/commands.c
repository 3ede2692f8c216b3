/* The one table of commands, and what is said about them. */
#include <string.h>

#include "cli/command.h"

const Verb *const commands[] = {
    &command_run, &command_validate, &command_validate_runbook, &command_plan, &command_visualize, &command_check,
        &command_migrate,
    &command_runs, &command_revisions, &command_schedule, &command_show, &command_inspect, &command_logs, &command_watch, &command_pause,
        &command_resume, &command_cancel, &command_rebind,
    &command_signal, &command_approve, &command_trigger, &command_resolve, &command_retry_from, &command_compensate,
        &command_retry_compensation, &command_skip_compensation,
    &command_dispatch_polls, &command_recover_polls, &command_process_auto_retries, &command_check_trigger_timeouts,
        &command_process_scheduled_resumes,
    &command_server, &command_key, &command_secret, &command_trigger_token,
    &command_ledger, &command_replay, &command_diff, &command_store, &command_doctor, &command_worker, &command_policy,
    &command_bench, &command_help_verb,
        &command_completion, &command_version, NULL,
};

const char *command_word(const Verb *command)
{
    const char *space = strrchr(command->name, ' ');
    return space ? space + 1 : command->name;
}

const Verb *command_find(const Verb *const *table, Str word)
{
    for (const Verb *const *command = table; command && *command; command++)
        if (str_is_text(word, command_word(*command))) return *command;
    return NULL;
}

const Verb *command_at(size_t index)
{
    for (const Verb *const *command = commands; *command; command++) {
        if (index-- == 0) return *command;
        for (const Verb *const *inner = (*command)->commands; inner && *inner; inner++)
            if (index-- == 0) return *inner;
    }
    return NULL;
}

static void option_usage(const Option *option, Buf *out)
{
    buf_format(out, " [--%s", option->name);
    if (option->words) {
        buf_char(out, ' ');
        for (const char *const *word = option->words; *word; word++)
            buf_format(out, "%s%s", word == option->words ? "" : "|", *word);
    } else if (option->value) {
        buf_format(out, " %s", option->value);
    }
    buf_text(out, option->repeats ? "]..." : "]");
}

void command_usage(const Verb *command, Buf *out)
{
    buf_format(out, "maestro %s", command->name);
    for (const Option *option = command->options; option && option->name; option++) option_usage(option, out);
    if (command->operands[0]) buf_format(out, " %s", command->operands);
}

static void options_help(const Option *options, Buf *out)
{
    for (const Option *option = options; option && option->name; option++) {
        char storage[64];
        Buf left = buf_on(storage, sizeof storage);
        if (option->letter) buf_format(&left, "-%c, ", option->letter);
        else buf_text(&left, "    ");
        buf_format(&left, "--%s%s%s", option->name, option->value ? " " : "", option->value ? option->value : "");
        buf_format(out, "  %-24.*s %s\n", STR_ARG(buf_peek(&left)), option->doc);
    }
}

static void commands_help(const Verb *const *table, Buf *out)
{
    if (table) buf_text(out, "\ncommands:\n");
    for (const Verb *const *command = table; command && *command; command++)
        buf_format(out, "  %-25s %s\n", command_word(*command), (*command)->summary);
}

static void exit_codes_help(Buf *out)
{
    buf_text(out, "\nexit codes:\n");
    for (size_t i = 0; i < EXIT_CODE_COUNT; i++) buf_format(out, "  %3d  %s\n", exit_meanings[i].code, exit_meanings[i].text);
}

void command_help(const Verb *command, Buf *out)
{
    buf_format(out, "%s\n\nusage: ", command->summary);
    command_usage(command, out);
    buf_char(out, '\n');
    buf_format(out, "\n%s\n", command->doc);
    commands_help(command->commands, out);
    buf_text(out, "\noptions:\n");
    options_help(command->options, out);
    options_help(common_options, out);
    exit_codes_help(out);
    if (command->examples) buf_format(out, "\nexamples:\n%s\n", command->examples);
}

void program_help(Buf *out)
{
    buf_text(
        out,
        "Maestro runs workflows durably: policy-aware, auditable, from one binary.\n\nusage: maestro COMMAND [OPTION]... "
        "[OPERAND]...\n");
    commands_help(commands, out);
    buf_text(out, "\n'maestro help COMMAND' tells more about one of them.\n");
    exit_codes_help(out);
}
