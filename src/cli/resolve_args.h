/* resolve_args.h - the options of commands that decide about runs which have failed, read into a command and its errand.
 *
 * One reading serves 'resolve', 'retry-from', 'compensate', 'skip-compensation' and 'cancel': each has those of the options that
 * fit it. The errand says the same in words, for the process that owns the store (cli/control.h).
 *
 * Owns:   texts live in the arena of the arguments.
 * Fails:  false after printing what is wrong.     Thread: the main one.
 */
#ifndef CLI_RESOLVE_ARGS_H
#define CLI_RESOLVE_ARGS_H

#include "api/petition.h"
#include "cli/errand.h"

bool resolve_args(const Args *args, Command *command, Errand *errand);
/* Whether --decision takes the options that are there beside it. */
bool resolve_fits(const Args *args);
/* What a command says, in the words of its errand: for commands that were made otherwise. */
void resolve_put(Errand *errand, const Command *command);
/* Gives that order: the whole of a command whose options say all. */
ExitCode resolve_order(const Args *args, CommandKind kind, const char *verb);

extern const char *const scope_words[];
extern const char *const mode_words[];

#define SCOPE_OPTION \
    { "scope", 0, "SCOPE", scope_words, "What is undone: full (by default), partial (--step) or from-step (--from)." }
#define STEP_OPTION { "step", 0, "STEP", NULL, "A step that is undone; means --scope partial.", .repeats = true }
#define FROM_OPTION { "from", 0, "STEP", NULL, "The step from which on; without --scope, means --scope from-step." }
#define MODE_OPTION \
    { "mode", 0, "MODE", mode_words, "retry-only (by default), or compensate-then-retry: undoes what comes after it first." }
#define REVISION_OPTION \
    { "revision", 0, "N", NULL, "Goes on with this revision of the workflow, which has to have the same shape: see 'maestro revisions'." }
#define UNKNOWN_OPTION \
    { "unknown-effects", 0, "WORD", petition_unknown_words, "What to do about effects of which nobody knows whether they took place." }

#endif
