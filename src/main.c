/* The composition root: the only file that knows every part. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "cli/command.h"
#include "cli/workplace.h"
#include "os/usage.h"

static void print_help(void (*print)(Buf *), FILE *file)
{
    Buf out;
    buf_init(&out, 1u << 20);
    print(&out);
    if (file == stdout) print_out(&out);
    else print_err(&out);
    buf_deinit(&out);
}

/* A command that has commands, without one of them. */
static ExitCode lack_command(const Verb *command)
{
    Buf out;
    buf_init(&out, 1u << 20);
    command_help(command, &out);
    print_err(&out);
    buf_deinit(&out);
    return EXIT_CODE_USAGE;
}

static ExitCode run_command(const Verb *command, int argc, char **argv)
{
    static Args args;               /* large: operands of a whole shell pattern */
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    args.arena = &arena;
    ExitCode code = EXIT_CODE_USAGE;
    if (args_parse(command, argc, argv, &args)) {
        if (args_flag(&args, "json")) print_want_json();
        /* As the key is: for whoever of this process talks to a server. */
        if (args_value(&args, "ca")) (void)setenv("MAESTRO_CA", args_value(&args, "ca"), /* overwrite= */ 1);
        if (args_flag(&args, "help")) {
            Buf out;
            buf_init(&out, 1u << 20);
            command_help(command, &out);
            print_out(&out);
            buf_deinit(&out);
            code = EXIT_CODE_OK;
        } else if (!command->run) {
            code = lack_command(command);
        } else {
            code = store_check_server(&args);
            if (!code) code = command->run(&args);
        }
    }
    arena_deinit(&arena);
    return code;
}

int main(int argc, char **argv)
{
    print_begin();
    if (sodium_init() < 0) return EXIT_CODE_INTERNAL;       /* it also finds the fastest code for this processor */
    usage_return_large();
    if (argc < 2) {
        print_help(program_help, stderr);
        return EXIT_CODE_USAGE;
    }
    const char *verb = argv[1];
    if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0) {
        print_help(program_help, stdout);
        return (int)print_end(EXIT_CODE_OK);
    }
    if (strcmp(verb, "--version") == 0 || strcmp(verb, "-V") == 0) verb = "version";
    int used = 2;
    const Verb *command = command_find(commands, str_of(verb));
    const Verb *const *inner = command ? command->commands : NULL;
    if (inner && argc > 2 && argv[2][0] != '-') {
        const Verb *found = command_find(inner, str_of(argv[2]));
        if (found || !command->run) {
            command = found;
            used = 3;
        }
    }
    /* What does not exist is refused by the command that lists what does. */
    if (!command) return (int)print_end(run_command(&command_help_verb, used - 1, argv + 1));
    return (int)print_end(run_command(command, argc - used, argv + used));
}
