/* resolve_ask.h - a decision about a failed run, asked of the person at the terminal.
 *
 * Shown are the failure, the last lines of the step that failed, and each decision that the run permits with what it would do:
 * which steps are run anew, which are undone and in what order. Then the decision is asked for, where it needs one its step, why,
 * and whether it is meant. Nothing is changed before the last answer.
 *
 * Where nobody can be asked, the same is told with the options that say it.
 *
 * Owns:   nothing that outlives the call.
 * Fails:  with the exit code after printing the reason; 1 where the run waits for no decision, or nothing was decided.
 * Thread: the main one.
 */
#ifndef CLI_RESOLVE_ASK_H
#define CLI_RESOLVE_ASK_H

#include "cli/command.h"

/* 'maestro resolve RUN' without a decision. */
ExitCode resolve_ask(const Args *args);
/* 'maestro retry-from RUN' without a step: the one that was chosen. */
ExitCode resolve_ask_step(const Args *args, Str *out_step);

#endif
