/* command.h - what a command is: a row of one table, from which usage, help, man page and completion come.
 *
 * Adding a command is a file cmd_<verb>.c, a declaration below, and a row in commands.c.
 *
 * Owns:   rows are constant process data; an Args borrows argv.
 * Fails:  args_parse() prints what is wrong and how it is right, and the program exits with EXIT_CODE_USAGE.
 * Thread: the main one.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "cli/exit.h"

#define ARGS_OPTION_COUNT_MAX 24u
#define ARGS_OPERAND_COUNT_MAX 4096u

typedef struct Option {
    const char *name;           /* "format" for --format */
    char letter;                /* 'f' for -f; 0 without one */
    const char *value;          /* "FILE": what it takes; NULL for a flag */
    const char *const *words;   /* the values it accepts, ended by NULL; NULL where any is fine */
    const char *doc;
} Option;

typedef struct Args Args;

typedef struct Command {
    const char *name;
    const char *alias;          /* another name, or NULL */
    const char *operands;       /* "FILE..." */
    unsigned operand_count_min, operand_count_max;
    const char *summary;        /* one line */
    const char *doc;            /* paragraphs, for help and the man page */
    const char *examples;       /* lines, or NULL */
    const Option *options;      /* ended by a NULL name; those every command has come on top */
    ExitCode (*run)(const Args *args);
} Command;

struct Args {
    const Command *command;
    Arena *arena;               /* of the process */
    const char *values[ARGS_OPTION_COUNT_MAX];      /* by the option's row; "" for a flag that was given */
    const char *common[ARGS_OPTION_COUNT_MAX];      /* the same for the options every command has */
    const char *operands[ARGS_OPERAND_COUNT_MAX];
    unsigned operand_count;
};

extern const Command *const commands[];         /* ended by NULL */
extern const Option common_options[];

const Command *command_find(Str name);
const char *args_value(const Args *args, const char *option);      /* NULL where it was not given */
static inline bool args_flag(const Args *args, const char *option) { return args_value(args, option) != NULL; }
/* False after printing what is wrong. */
bool args_parse(const Command *command, int argc, char **argv, Args *out);
void command_usage(const Command *command, Buf *out);       /* "maestro plan [--json] FILE" */
void command_help(const Command *command, Buf *out);
void program_help(Buf *out);

/* --- what commands say ------------------------------------------------------------------------------------------ */

bool args_color(const Args *args, int fd);          /* --color, else whether that descriptor is a terminal that wants it */
void print_out(const Buf *buf);                     /* to standard output, whole */
void print_err(const Buf *buf);
/* "maestro: text" on standard error; returns the exit code of the status. */
ExitCode fail(const Error *err);

extern const Command command_check, command_completion, command_help_verb, command_migrate, command_plan, command_validate,
    command_version, command_visualize;

#endif
