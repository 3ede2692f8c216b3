/* order.h - a command about one run, given to whoever owns its store and answered to the person who typed it.
 *
 * The owner is asked over its socket. Where nobody owns the store, this process does for a moment: it commits what was
 * ordered, carries out no step, and says which runs wait for a process that does.
 *
 * Owns:   nothing that outlives the call.
 * Fails:  with the exit code after printing the reason: 1 where the state of the run does not permit it.
 * Thread: the main one; no other may exist before.
 */
#ifndef CLI_ORDER_H
#define CLI_ORDER_H

#include "cli/errand.h"
#include "cli/workplace.h"
#include "core/command.h"

/* `command` and `errand` say the same, for either way; its operand 0 names the run. */
ExitCode order(const Args *args, Errand *errand, Command command);

/* Of every such command. */
#define REASON_OPTION { "reason", 'm', "TEXT", NULL, "Why; it is recorded in the ledger." }

#define ID_OPTION { "id", 0, "ID", NULL, "Sent again with the same id it gets the first answer, and nothing is done." }
/* All that a command has which is about one run and nothing else. */
#define ORDER_OPTIONS REASON_OPTION, ID_OPTION, STORE_OPTION, { "json", 0, NULL, NULL, "Prints the result as JSON." }

#endif
