/* command.h - what a command of the command line is, a verb: a row of one table, from which usage, help, man page and
 * completion come.
 *
 * Adding a command is a file cmd_<verb>.c, a declaration below, and a row in commands.c. A command may have commands of its
 * own ("policy eval"): its row has a table of them, mostly instead of a function, and each is a row as any other, under its full
 * name.
 *
 * Owns:   rows are constant process data; an Args borrows argv.
 * Fails:  args_parse() prints what is wrong and how it is right, and the program exits with EXIT_CODE_USAGE.
 * Thread: the main one.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "cli/exit.h"
#include "cli/print.h"

#define ARGS_OPTION_COUNT_MAX 24u
#define ARGS_OPERAND_COUNT_MAX 4096u
#define ARGS_GIVEN_COUNT_MAX 1024u          /* options with a value, each time they are given */

typedef struct Option {
    const char *name;           /* "format" for --format */
    char letter;                /* 'f' for -f; 0 without one */
    const char *value;          /* "FILE": what it takes; NULL for a flag */
    const char *const *words;   /* the values it accepts, ended by NULL; NULL where any is fine */
    const char *doc;
    bool repeats;               /* may be given several times, see Args.given; otherwise the last one counts */
} Option;

typedef struct Args Args;

typedef struct Verb Verb;

struct Verb {
    const char *name;           /* "plan", or with the command it belongs to: "policy eval" */
    const char *operands;       /* "FILE..." */
    unsigned operand_count_min, operand_count_max;
    const char *summary;        /* one line */
    const char *doc;            /* paragraphs, for help and the man page */
    const char *examples;       /* lines, or NULL */
    const Option *options;      /* ended by a NULL name; those every command has come on top */
    ExitCode (*run)(const Args *args);
    const Verb *const *commands;     /* its own, ended by NULL; `run` is for what is none of them, where there is such a thing */
};

typedef struct ArgsGiven {
    const Option *option;
    const char *value;
} ArgsGiven;

struct Args {
    const Verb *command;
    Arena *arena;               /* of the process */
    const char *values[ARGS_OPTION_COUNT_MAX];      /* by the option's row; "" for a flag that was given */
    const char *common[ARGS_OPTION_COUNT_MAX];      /* the same for the options every command has */
    const char *operands[ARGS_OPERAND_COUNT_MAX];
    unsigned operand_count;
    ArgsGiven given[ARGS_GIVEN_COUNT_MAX];          /* options with a value, in the order of the command line */
    unsigned given_count;
};

extern const Verb *const commands[];         /* ended by NULL */
extern const Option common_options[];

const Verb *command_find(const Verb *const *table, Str word);     /* NULL where there is none */
const char *command_word(const Verb *command);                       /* the last word of its name */
/* Every command, those of commands behind the one they belong to; NULL beyond the last. */
const Verb *command_at(size_t index);
const char *args_value(const Args *args, const char *option);      /* NULL where it was not given */
static inline bool args_flag(const Args *args, const char *option) { return args_value(args, option) != NULL; }
/* A whole number; the default where the option was not given. False after printing what is wrong. */
bool args_number(const Args *args, const char *option, uint64_t otherwise, uint64_t min, uint64_t max, uint64_t *out_number);
/* As if that option had been typed with that value ("" for a flag); it is one of the command's, and there is room. */
void args_add(Args *args, const char *option, const char *value);
/* False after printing what is wrong. */
bool args_parse(const Verb *command, int argc, char **argv, Args *out);
void command_usage(const Verb *command, Buf *out);       /* "maestro plan [--json] FILE" */
void command_help(const Verb *command, Buf *out);
void program_help(Buf *out);

/* --- what commands say ------------------------------------------------------------------------------------------ */

bool args_color(const Args *args, int fd);          /* --color, else whether that descriptor is a terminal that wants it */

extern const Verb command_diff, command_doctor, command_worker, command_replay, command_store, command_store_archive, command_store_backup,
    command_store_verify;
extern const Verb command_ledger, command_ledger_anchor, command_ledger_erase, command_ledger_export, command_ledger_show,
    command_ledger_verify;
extern const Verb command_cancel, command_inspect, command_logs, command_pause, command_resume, command_runs, command_show,
    command_signal, command_watch;
extern const Verb command_approve, command_rebind, command_trigger;
extern const Verb command_check_trigger_timeouts, command_dispatch_polls, command_process_auto_retries,
    command_process_scheduled_resumes, command_recover_polls;
extern const Verb command_revisions, command_revisions_activate, command_revisions_deactivate, command_revisions_remove, command_revisions_store;
extern const Verb command_schedule, command_schedule_list, command_schedule_next, command_schedule_override;
extern const Verb command_key, command_key_create, command_key_list, command_key_revoke, command_server;
extern const Verb command_secret, command_secret_list, command_secret_remove, command_secret_set, command_trigger_token;
extern const Verb command_compensate, command_resolve, command_retry_compensation, command_retry_from, command_skip_compensation;
extern const Verb command_bench, command_check, command_completion, command_help_verb, command_migrate, command_plan,
    command_policy, command_run, command_validate, command_validate_runbook, command_version, command_visualize;
extern const Verb command_policy_bench, command_policy_check, command_policy_eval, command_policy_fmt, command_policy_review,
    command_policy_test;

#endif
