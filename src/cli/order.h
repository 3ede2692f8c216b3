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

/* For many orders, one after another: where nobody owns the store, this process does until order_desk_close(). Zero at first. */
typedef struct OrderDesk {
    Workplace place;
    Guard *guard;
    bool is_open;
} OrderDesk;

typedef struct OrderAnswer {
    Id run_id;
    Status status;                  /* of the run's: a refusal is no failure of the call */
    Error error;
    RunState before, after;
    bool is_noop;                   /* nothing was done, now */
    bool is_repeat;                 /* because it was asked before: this is the answer of then */
} OrderAnswer;

/* The same as order(), for whoever tells what came of it in words of its own. */
ExitCode order_untold(const Args *args, Errand *errand, Command command, OrderAnswer *out);

/* The same about the run of a row, without a word about its answer. */
ExitCode order_row(OrderDesk *desk, Store *store, const Cell *row, Errand *errand, Command command, OrderAnswer *out);
void     order_desk_close(OrderDesk *desk);             /* harmless on one that is zero */

/* Which runs wait for a process to carry them out: where nobody owns the store. */
void     order_tell_waiting(Store *store);

/* Of every such command. */
#define REASON_OPTION { "reason", 'm', "TEXT", NULL, "Why; it is recorded in the ledger." }

/* Whether --reason says something, which an approval and a denial need; false after saying so. */
bool reason_is_given(const Args *args);

#define ID_OPTION { "id", 0, "ID", NULL, "Sent again with the same id it gets the first answer, 'repeat' in --json, and nothing is done." }
#define JOB_OPTION(text) { "job", 0, "JOB", NULL, text }
/* --job of a command that may be about one job of the run alone. */
void order_job(const Args *args, Errand *errand, Command *command);

/* All that a command has which is about one run and nothing else. */
#define ORDER_OPTIONS REASON_OPTION, ID_OPTION, STORE_OPTION, { "json", 0, NULL, NULL, "Prints the result as JSON." }

#endif
